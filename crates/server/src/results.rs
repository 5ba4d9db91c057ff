//! The sink that turns results into tokens and sends them while the request runs.
//!
//! ```text
//! a statement of a batch              DONE
//! triggers of such a statement        DONEINPROC of each statement inside
//! an EXECUTE of a batch               DONEINPROC of each statement inside, RETURNSTATUS, DONEPROC
//! an EXECUTE inside of what is called DONEINPROC of each statement inside, DONEINPROC
//! a call by the client                DONEINPROC of each statement inside, RETURNSTATUS, RETURNVALUE of each output, DONEPROC
//! ```
//! ([MS-TDS] 2.2.7.6 to 2.2.7.8 and 2.2.7.18; how deep a RETURNSTATUS goes is what Babelfish's `tdsresponse.c` does.)
//! Invariant: a DONE is held back until it is known whether anything follows it, since its MORE bit says so.

use std::io::Write;

use engine::error::Error;
use engine::types::Value;
use tds::token::{Done, DoneKind, EnvironmentChange, ServerMessage, TokenWriter};
use tsql::session::{CallEnd, DoneKind as Finished, Message, ResultColumn, ResultSink, SinkClosed, TransactionEvent};
use tsql::sink::OutputParameter;

use crate::inbox::Signals;
use crate::notices;
use crate::sql::{Announced, Returned};

/// Bytes collected before they are written to the socket.
const WRITE_BYTES: usize = 32 * 1024;

/// From so many columns on, rows carry a bitmap of their NULLs.
const BITMAP_COLUMNS_MIN: usize = 8;

/// The results of one request.
pub(crate) struct Results<'a> {
    tokens: &'a mut TokenWriter,
    stream: &'a mut dyn Write,
    signals: &'a Signals,
    server_name: &'a str,
    announced: &'a mut Announced,
    kind: DoneKind,
    held: Option<(DoneKind, Done)>,
    failed: bool,
    fatal: bool,
    broken: bool,
    bitmap_rows: bool,
    open_row: Option<usize>,
    /// Part of the open row has left.
    row_has_left: bool,
    /// Why the row that was refused last could not be read.
    row_error: Option<Error>,
    /// A call by the client is under way.
    open_call: bool,
    /// A call by the client was answered.
    has_calls: bool,
    /// The client of the call under way knows its columns.
    knows_columns: bool,
    /// What the call under way returns.
    returned: Returned,
}

impl<'a> Results<'a> {
    pub(crate) fn new(
        tokens: &'a mut TokenWriter,
        stream: &'a mut dyn Write,
        signals: &'a Signals,
        server_name: &'a str,
        announced: &'a mut Announced,
    ) -> Self {
        Self {
            tokens,
            stream,
            signals,
            server_name,
            announced,
            kind: DoneKind::Done,
            held: None,
            failed: false,
            fatal: false,
            broken: false,
            bitmap_rows: false,
            open_row: None,
            row_has_left: false,
            row_error: None,
            open_call: false,
            has_calls: false,
            knows_columns: false,
            returned: Returned::default(),
        }
    }

    /// Statements from now on are inside a procedure call, until its `procedure_done`.
    pub(crate) fn enter_procedure(&mut self) {
        (self.open_call, self.has_calls) = (true, true);
        self.kind = DoneKind::DoneInProc;
        self.returned = Returned::default();
    }

    /// What the call under way has returned.
    pub(crate) fn take_returned(&mut self) -> Returned {
        std::mem::take(&mut self.returned)
    }

    /// Sends an error of the server's own. Whether the client still listens does not matter: the next token finds out.
    pub(crate) fn tell(&mut self, error: &Error) {
        let _ = self.message(&Message::new(error, 1, ""));
    }

    /// The columns of the call under way need not be sent.
    pub(crate) fn leave_out_columns(&mut self) {
        self.knows_columns = true;
    }

    /// The token writer, with everything held back written first.
    pub(crate) fn tokens(&mut self) -> &mut TokenWriter {
        self.release();
        self.tokens
    }

    /// The session must end after this request: a severe error, or the client is gone.
    pub(crate) fn ends_session(&self) -> bool {
        self.fatal || self.broken
    }

    /// Removes what a panic left of a row. What has left cannot be removed: nothing that follows it could be read.
    pub(crate) fn drop_open_row(&mut self) {
        if let Some(length) = self.open_row.take() {
            self.broken |= self.row_has_left;
            let kept = if self.row_has_left { 0 } else { length };
            self.tokens.packets().payload().truncate(kept);
        }
    }

    /// Ends a procedure call with its DONEPROC; `more` when another call of the message follows.
    pub(crate) fn procedure_done(&mut self, more: bool) {
        self.release();
        (self.open_call, self.knows_columns) = (false, false);
        let done = Done {
            more,
            rpc_in_batch: more,
            error: std::mem::take(&mut self.failed),
            fatal: self.fatal,
            command: Done::EXECUTE,
            ..Done::default()
        };
        self.tokens.done(DoneKind::DoneProc, &done);
    }

    /// Ends the message with the last DONE of a batch; a cancelled request ends in an error. False when the session must
    /// end with it.
    pub(crate) fn finish(mut self, cancelled: bool) -> bool {
        self.failed |= cancelled;
        if self.open_call {
            self.procedure_done(false);
        }
        if !self.has_calls {
            let (kind, last) = match self.held.take() {
                Some(held) if !self.failed && held.0 != DoneKind::DoneInProc => held,
                held => {
                    self.held = held;
                    self.release();
                    let failed = Done {
                        error: self.failed,
                        fatal: self.fatal,
                        ..Done::default()
                    };
                    (DoneKind::Done, failed)
                }
            };
            self.tokens.done(kind, &Done { more: false, ..last });
        } else if self.tokens.pending() == 0 {
            // A message must not be empty: an RPC message without a single call is answered by a bare DONE.
            self.tokens.done(DoneKind::Done, &Done::default());
        }
        // What is left of a row that broke off is nothing that a client could read.
        let sent = !self.broken && self.tokens.finish(self.stream).is_ok();
        sent && !self.ends_session()
    }

    /// Answers a request that its client cancelled while it was sending it. False when the session must end.
    pub(crate) fn refuse_ignored(mut self) -> bool {
        self.failed = true;
        self.finish(false)
    }

    fn release(&mut self) {
        if let Some((kind, held)) = self.held.take() {
            self.tokens.done(kind, &Done { more: true, ..held });
        }
    }

    fn hold(&mut self, kind: DoneKind, row_count: Option<u64>, command: u16) {
        self.release();
        let done = Done {
            error: std::mem::take(&mut self.failed),
            fatal: self.fatal,
            row_count,
            command,
            ..Done::default()
        };
        self.held = Some((kind, done));
    }

    fn after_token(&mut self) -> Result<(), SinkClosed> {
        if self.tokens.pending() >= WRITE_BYTES && !self.broken {
            self.broken = self.tokens.write_full(self.stream).is_err();
        }
        if self.broken {
            // Nobody reads any more: the rest need not pile up.
            self.tokens.packets().payload().clear();
        }
        if self.broken || self.signals.should_stop() {
            Err(SinkClosed)
        } else {
            Ok(())
        }
    }
}

impl ResultSink for Results<'_> {
    fn columns(&mut self, columns: &[ResultColumn]) -> Result<(), SinkClosed> {
        self.release();
        self.bitmap_rows = columns.len() >= BITMAP_COLUMNS_MIN;
        let columns = self.announced.wire(columns);
        match self.knows_columns {
            true => self.tokens.known_columns(columns),
            false => self.tokens.columns(columns),
        }
        self.after_token()
    }

    /// A row that does not match its columns is left out, and the client gets an error instead.
    fn row(&mut self, row: &[Value]) -> Result<(), SinkClosed> {
        if row.iter().any(|value| matches!(value, Value::Held(_))) {
            return self.row_in_pieces(row);
        }
        (self.open_row, self.row_has_left) = (Some(self.tokens.pending()), false);
        let mut writer = if self.bitmap_rows {
            self.tokens.null_bitmap_row()
        } else {
            self.tokens.row()
        };
        self.announced.write_row(&mut writer, row);
        let written = writer.finish();
        self.open_row = None;
        match written {
            Ok(()) => self.after_token(),
            Err(reason) => self.message(&Message::new(&notices::row_mismatch(&reason.to_string()), 1, "")),
        }
    }

    fn takes_held(&self) -> bool {
        true
    }

    fn take_row_error(&mut self) -> Option<Error> {
        self.row_error.take()
    }

    fn done(&mut self, row_count: Option<u64>, kind: Finished) -> Result<(), SinkClosed> {
        self.hold(self.kind, row_count, command(kind));
        self.after_token()
    }

    fn message(&mut self, message: &Message) -> Result<(), SinkClosed> {
        self.release();
        self.failed |= message.severity > 10;
        self.fatal |= message.severity >= 20;
        write_message(self.tokens, self.server_name, message);
        self.after_token()
    }

    fn database_changed(&mut self, from: &str, to: &str) {
        self.release();
        self.tokens.environment(EnvironmentChange::Database(to, from));
    }

    fn transaction_changed(&mut self, event: TransactionEvent) {
        self.release();
        self.tokens.environment(match event {
            TransactionEvent::Begun(id) => EnvironmentChange::BeginTransaction(id),
            TransactionEvent::Committed(id) => EnvironmentChange::CommitTransaction(id),
            TransactionEvent::RolledBack(id) => EnvironmentChange::RollbackTransaction(id),
        });
    }

    fn return_status(&mut self, status: i32) {
        self.returned.status = status;
    }

    fn call_begun(&mut self) {
        self.kind = DoneKind::DoneInProc;
    }

    fn call_ended(&mut self, end: CallEnd) -> Result<(), SinkClosed> {
        if self.open_call {
            return Ok(());
        }
        self.kind = DoneKind::Done;
        if matches!(end, CallEnd::Failed | CallEnd::Triggers) {
            return Ok(());
        }
        self.release();
        if let CallEnd::Returned(status) = end {
            self.tokens.return_status(status);
        }
        self.hold(DoneKind::DoneProc, None, Done::EXECUTE);
        self.after_token()
    }

    fn flush(&mut self) -> Result<(), SinkClosed> {
        self.release();
        self.broken |= self.tokens.flush_partial(self.stream).is_err();
        self.after_token()
    }

    fn output_parameter(&mut self, output: OutputParameter<'_>) {
        self.returned.add(output);
    }
}

/// The codes of statements in DONE tokens: Microsoft's JDBC driver lists those of definitions (`StreamDone.java`), its test server those
/// of SET (`TDSDoneTokenCommandType`), its .NET driver those of transactions (`TdsEnums`).
fn command(kind: Finished) -> u16 {
    match kind {
        // Assignments count one row as a SELECT does; drivers look for columns before they take it for a result.
        Finished::Select | Finished::Assign => Done::SELECT,
        Finished::SelectInto => 0xC2,
        Finished::Insert => 0xC3,
        Finished::Delete => 0xC4,
        Finished::Update => 0xC5,
        Finished::Merge => 0x117,
        Finished::BulkLoad => 0xF0,
        Finished::Execute => Done::EXECUTE,
        Finished::CreateTable => 0xC6,
        Finished::DropTable => 0xC7,
        Finished::AlterTable => 0xD8,
        Finished::CreateIndex => 0xC8,
        Finished::DropIndex => 0xC9,
        Finished::AlterIndex => 0x151,
        Finished::DropStatistics => 0x100,
        Finished::CreateView => 0xCF,
        Finished::DropView => 0xD0,
        Finished::CreateTrigger => 0xDD,
        Finished::DropTrigger => 0xE0,
        Finished::CreateProcedure => 0xDE,
        Finished::DropProcedure => 0xDF,
        Finished::CreateFunction => 0xB2,
        Finished::DropFunction => 0xB3,
        Finished::CreateSchema => 0x14A,
        Finished::DropSchema => 0xB0,
        Finished::CreateType => 0x111,
        Finished::DropType => 0x110,
        Finished::CreateDatabase => 0xCB,
        Finished::AlterDatabase => 0xD7,
        Finished::DropDatabase => 0xCC,
        Finished::Grant => 0xCD,
        Finished::Deny => 0x99,
        Finished::Revoke => 0xCE,
        Finished::Dbcc => 0xE6,
        Finished::Shutdown => 0xBF,
        Finished::SetOn => 0xB9,
        Finished::SetOff => 0xBA,
        Finished::BeginTransaction => 0xD4,
        Finished::CommitTransaction => 0xD5,
        Finished::RollbackTransaction => 0xD2,
        Finished::Other => 0,
    }
}

/// The severity that clients see: 10 is sent as 0 (SQL Server docs, "Database Engine error severities": "for compatibility reasons").
/// Drivers take anything above for an error.
fn wire_severity(severity: u8) -> u8 {
    if severity == 10 { 0 } else { severity }
}

/// Writes an ERROR or INFO token.
pub(crate) fn write_message(tokens: &mut TokenWriter, server_name: &str, message: &Message) {
    tokens.message(&ServerMessage {
        number: message.number,
        state: message.state,
        severity: wire_severity(message.severity),
        text: &message.text,
        server: server_name,
        procedure: &message.procedure,
        line: message.line,
    });
}

mod pieces;
#[cfg(test)]
mod tests;
