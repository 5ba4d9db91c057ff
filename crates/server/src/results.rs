//! The sink that turns results into tokens and sends them while the request runs.
//!
//! ```text
//! a statement of a batch              DONE
//! an EXECUTE of a batch               DONEINPROC of each statement inside, RETURNSTATUS, DONEPROC
//! an EXECUTE inside of what is called DONEINPROC of each statement inside, DONEINPROC
//! a call by the client                DONEINPROC of each statement inside, RETURNSTATUS, RETURNVALUE of each output, DONEPROC
//! ```
//! ([MS-TDS] 2.2.7.6 to 2.2.7.8 and 2.2.7.18; how deep a RETURNSTATUS goes is what Babelfish's `tdsresponse.c` does.)
//! Invariant: a DONE is held back until it is known whether anything follows it, since its MORE bit says so.

use std::io::Write;

use tds::token::{Done, DoneKind, EnvironmentChange, ServerMessage, TokenWriter};
use tds::{Column, RowWriter};

use crate::backend::{CallEnd, Notice, ResultSink, SessionChange, StatementKind, Stop};
use crate::inbox::Signals;
use crate::notices;

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
    kind: DoneKind,
    held: Option<(DoneKind, Done)>,
    failed: bool,
    fatal: bool,
    broken: bool,
    bitmap_rows: bool,
    open_row: Option<usize>,
    /// A call by the client is under way.
    open_call: bool,
    /// A call by the client was answered.
    has_calls: bool,
    /// The client of the call under way knows its columns.
    knows_columns: bool,
}

impl<'a> Results<'a> {
    pub(crate) fn new(
        tokens: &'a mut TokenWriter,
        stream: &'a mut dyn Write,
        signals: &'a Signals,
        server_name: &'a str,
    ) -> Self {
        Self {
            tokens,
            stream,
            signals,
            server_name,
            kind: DoneKind::Done,
            held: None,
            failed: false,
            fatal: false,
            broken: false,
            bitmap_rows: false,
            open_row: None,
            open_call: false,
            has_calls: false,
            knows_columns: false,
        }
    }

    /// Statements from now on are inside a procedure call, until its `procedure_done`.
    pub(crate) fn enter_procedure(&mut self) {
        (self.open_call, self.has_calls) = (true, true);
        self.kind = DoneKind::DoneInProc;
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

    /// Removes what a panic left of a row.
    pub(crate) fn drop_open_row(&mut self) {
        if let Some(length) = self.open_row.take() {
            self.tokens.packets().payload().truncate(length);
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
        let sent = self.tokens.finish(self.stream).is_ok();
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

    fn after_token(&mut self) -> Result<(), Stop> {
        if self.tokens.pending() >= WRITE_BYTES && !self.broken {
            self.broken = self.tokens.write_full(self.stream).is_err();
        }
        if self.broken {
            // Nobody reads any more: the rest need not pile up.
            self.tokens.packets().payload().clear();
        }
        if self.broken || self.signals.should_stop() {
            Err(Stop)
        } else {
            Ok(())
        }
    }
}

impl ResultSink for Results<'_> {
    fn columns(&mut self, columns: &[Column]) -> Result<(), Stop> {
        self.release();
        self.bitmap_rows = columns.len() >= BITMAP_COLUMNS_MIN;
        match self.knows_columns {
            true => self.tokens.known_columns(columns),
            false => self.tokens.columns(columns),
        }
        self.after_token()
    }

    fn row(&mut self, fill: &mut dyn FnMut(&mut RowWriter<'_>)) -> Result<(), Stop> {
        self.open_row = Some(self.tokens.pending());
        let mut row = if self.bitmap_rows {
            self.tokens.null_bitmap_row()
        } else {
            self.tokens.row()
        };
        fill(&mut row);
        let written = row.finish();
        self.open_row = None;
        match written {
            Ok(()) => self.after_token(),
            Err(reason) => self.notice(&notices::row_mismatch(&reason)),
        }
    }

    fn done(&mut self, kind: StatementKind, row_count: Option<u64>) -> Result<(), Stop> {
        self.hold(self.kind, row_count, command(kind));
        self.after_token()
    }

    fn notice(&mut self, notice: &Notice) -> Result<(), Stop> {
        self.release();
        self.failed |= notice.severity > 10;
        self.fatal |= notice.severity >= 20;
        write_notice(self.tokens, self.server_name, notice);
        self.after_token()
    }

    fn changed(&mut self, change: SessionChange<'_>) -> Result<(), Stop> {
        self.release();
        match change {
            SessionChange::Database(new, old) => {
                self.tokens.environment(EnvironmentChange::Database(new, old));
                write_notice(self.tokens, self.server_name, &notices::database_context(new, 1));
            }
            SessionChange::TransactionBegun(id) => {
                self.tokens.environment(EnvironmentChange::BeginTransaction(id));
            }
            SessionChange::TransactionCommitted(id) => {
                self.tokens.environment(EnvironmentChange::CommitTransaction(id));
            }
            SessionChange::TransactionRolledBack(id) => {
                self.tokens.environment(EnvironmentChange::RollbackTransaction(id));
            }
        }
        self.after_token()
    }

    fn call_begun(&mut self) -> Result<(), Stop> {
        self.kind = DoneKind::DoneInProc;
        self.after_token()
    }

    fn call_ended(&mut self, end: CallEnd) -> Result<(), Stop> {
        if self.open_call {
            return Ok(());
        }
        self.kind = DoneKind::Done;
        if end == CallEnd::Failed {
            return Ok(());
        }
        self.release();
        if let CallEnd::Returned(status) = end {
            self.tokens.return_status(status);
        }
        self.hold(DoneKind::DoneProc, None, Done::EXECUTE);
        self.after_token()
    }

    fn flush(&mut self) -> Result<(), Stop> {
        self.release();
        self.broken |= self.tokens.flush_partial(self.stream).is_err();
        self.after_token()
    }
}

/// The command code drivers look at to tell update counts from the rest.
fn command(kind: StatementKind) -> u16 {
    match kind {
        StatementKind::Select => Done::SELECT,
        StatementKind::Insert => 0xC3,
        StatementKind::Delete => 0xC4,
        StatementKind::Update => 0xC5,
        StatementKind::Merge => 0x117,
        StatementKind::BulkLoad => 0xF0,
        StatementKind::Execute => Done::EXECUTE,
        StatementKind::Command(code) => code,
        StatementKind::Other => 0,
    }
}

/// Writes an ERROR or INFO token.
pub(crate) fn write_notice(tokens: &mut TokenWriter, server_name: &str, notice: &Notice) {
    tokens.message(&ServerMessage {
        number: notice.number,
        state: notice.state,
        severity: notice.severity,
        text: &notice.text,
        server: server_name,
        procedure: &notice.procedure,
        line: notice.line,
    });
}
