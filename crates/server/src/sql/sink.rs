//! A T-SQL session's sink that passes everything on to the protocol's.

use engine::types::{SqlType, Value};
use tds::token::Done;
use tds::{Collation, Column, RpcParameter};
use tsql::session::{DoneKind, Message, ResultColumn, ResultSink as SessionSink, SinkClosed, TransactionEvent};

use super::values;
use crate::backend::{CallEnd, Notice, Outcome, ResultSink, SessionChange, StatementKind, Stop};
use crate::notices;

/// The message of USE.
const CONTEXT_CHANGED: i32 = 5701;

/// The UserType of TIMESTAMP columns, which are binary(8) else ([MS-TDS] 2.2.7.4). Clients know by it that they cannot be written.
const USER_TYPE_TIMESTAMP: u32 = 0x50;

/// The severity on the wire: 10 is sent as 0 (SQL Server docs, "Database Engine error severities": "for
/// compatibility reasons"). Drivers take anything above for an error.
fn wire_severity(severity: u8) -> u8 {
    if severity == 10 { 0 } else { severity }
}

/// The columns that a session announced last, in both worlds' words: a statement that is sent again announces the same.
#[derive(Default)]
pub struct Announced {
    columns: Vec<ResultColumn>,
    wire: Vec<Column>,
}

impl Announced {
    /// The wire's words for `columns`.
    fn wire(&mut self, columns: &[ResultColumn]) -> &[Column] {
        if self.columns != columns {
            self.columns = columns.to_vec();
            let wire = |column: &ResultColumn| Column {
                nullable: column.nullable,
                identity: column.identity,
                collation: column
                    .sql_type
                    .is_character()
                    .then(|| Collation(column.label.collation().wire_bytes())),
                user_type: match column.sql_type {
                    SqlType::RowVersion => USER_TYPE_TIMESTAMP,
                    _ => 0,
                },
                ..Column::new(column.name.as_str(), values::column_type(column.sql_type))
            };
            self.wire = columns.iter().map(wire).collect();
        }
        &self.wire
    }
}

/// Stands between a T-SQL session and the protocol for one request.
pub struct Bridge<'a> {
    sink: &'a mut dyn ResultSink,
    arguments: &'a [RpcParameter],
    announced: &'a mut Announced,
    outcome: Outcome,
}

impl<'a> Bridge<'a> {
    /// A bridge for a request with these arguments; a batch has none.
    pub fn new(sink: &'a mut dyn ResultSink, arguments: &'a [RpcParameter], announced: &'a mut Announced) -> Self {
        Self {
            sink,
            arguments,
            announced,
            outcome: Outcome::default(),
        }
    }

    /// The return status and output parameters, once the request is over.
    pub fn into_outcome(self) -> Outcome {
        self.outcome
    }

    /// The argument an output parameter belongs to: by its name, or the next output argument without one.
    fn argument(&self, name: &str) -> Option<usize> {
        let taken = |index: usize| self.outcome.outputs.iter().any(|(other, _)| *other == index);
        let free = || {
            self.arguments
                .iter()
                .enumerate()
                .filter(|(index, sent)| sent.output && !taken(*index))
        };
        free()
            .find(|(_, sent)| !sent.name.is_empty() && sent.name.eq_ignore_ascii_case(name))
            .or_else(|| free().find(|(_, sent)| sent.name.is_empty()))
            .map(|(index, _)| index)
    }
}

impl SessionSink for Bridge<'_> {
    fn columns(&mut self, columns: &[ResultColumn]) -> Result<(), SinkClosed> {
        self.sink.columns(self.announced.wire(columns)).map_err(closed)
    }

    fn row(&mut self, row: &[Value]) -> Result<(), SinkClosed> {
        let columns = &self.announced.columns;
        let mut fill = |writer: &mut tds::RowWriter<'_>| {
            for (value, column) in row.iter().zip(columns) {
                values::write(writer, column.sql_type, value);
            }
        };
        self.sink.row(&mut fill).map_err(closed)
    }

    fn done(&mut self, row_count: Option<u64>, kind: DoneKind) -> Result<(), SinkClosed> {
        let kind = StatementKind::Command(command(kind));
        self.sink.done(kind, row_count).map_err(closed)
    }

    fn message(&mut self, message: &Message) -> Result<(), SinkClosed> {
        if message.number == CONTEXT_CHANGED {
            // The server says so itself when the database changes.
            return Ok(());
        }
        let notice = Notice {
            number: message.number,
            severity: wire_severity(message.severity),
            state: message.state,
            text: message.text.clone(),
            procedure: message.procedure.clone(),
            line: message.line,
        };
        self.sink.notice(&notice).map_err(closed)
    }

    fn database_changed(&mut self, from: &str, to: &str) {
        // A client that is gone shows at the next row or done.
        let _ = self.sink.changed(SessionChange::Database(to, from));
    }

    fn transaction_changed(&mut self, event: TransactionEvent) {
        let change = match event {
            TransactionEvent::Begun(id) => SessionChange::TransactionBegun(id),
            TransactionEvent::Committed(id) => SessionChange::TransactionCommitted(id),
            TransactionEvent::RolledBack(id) => SessionChange::TransactionRolledBack(id),
        };
        let _ = self.sink.changed(change);
    }

    fn call_begun(&mut self) {
        let _ = self.sink.call_begun();
    }

    fn call_ended(&mut self, end: tsql::session::CallEnd) -> Result<(), SinkClosed> {
        let end = match end {
            tsql::session::CallEnd::Returned(status) => CallEnd::Returned(status),
            tsql::session::CallEnd::Finished => CallEnd::Finished,
            tsql::session::CallEnd::Failed => CallEnd::Failed,
        };
        self.sink.call_ended(end).map_err(closed)
    }

    fn flush(&mut self) -> Result<(), SinkClosed> {
        self.sink.flush().map_err(closed)
    }

    fn return_status(&mut self, status: i32) {
        self.outcome.return_status = status;
    }

    fn output_parameter(&mut self, name: &str, sql_type: SqlType, value: &Value) {
        let Some((index, sent)) = self
            .argument(name)
            .and_then(|index| Some((index, self.arguments.get(index)?)))
        else {
            return;
        };
        match values::returned(value, sql_type, sent) {
            Ok(value) => self.outcome.outputs.push((index, value)),
            // Nobody who has asked for the value may take it for NULL. Whether the client still listens does not matter.
            Err(error) => {
                let _ = self.sink.notice(&notices::of_error(&error));
            }
        }
    }
}

fn closed(_: Stop) -> SinkClosed {
    SinkClosed
}

/// The codes of statements in DONE tokens: Microsoft's JDBC driver lists those of definitions (`StreamDone.java`), its test server those
/// of SET (`TDSDoneTokenCommandType`), its .NET driver those of transactions (`TdsEnums`).
fn command(kind: DoneKind) -> u16 {
    match kind {
        // Assignments count one row as a SELECT does; drivers look for columns before they take it for a result.
        DoneKind::Select | DoneKind::Assign => Done::SELECT,
        DoneKind::SelectInto => 0xC2,
        DoneKind::Insert => 0xC3,
        DoneKind::Delete => 0xC4,
        DoneKind::Update => 0xC5,
        DoneKind::BulkLoad => 0xF0,
        DoneKind::Execute => Done::EXECUTE,
        DoneKind::CreateTable => 0xC6,
        DoneKind::DropTable => 0xC7,
        DoneKind::AlterTable => 0xD8,
        DoneKind::CreateIndex => 0xC8,
        DoneKind::DropIndex => 0xC9,
        DoneKind::AlterIndex => 0x151,
        DoneKind::DropStatistics => 0x100,
        DoneKind::CreateView => 0xCF,
        DoneKind::DropView => 0xD0,
        DoneKind::CreateProcedure => 0xDE,
        DoneKind::DropProcedure => 0xDF,
        DoneKind::CreateFunction => 0xB2,
        DoneKind::DropFunction => 0xB3,
        DoneKind::CreateSchema => 0x14A,
        DoneKind::DropSchema => 0xB0,
        DoneKind::CreateType => 0x111,
        DoneKind::DropType => 0x110,
        DoneKind::CreateDatabase => 0xCB,
        DoneKind::AlterDatabase => 0xD7,
        DoneKind::DropDatabase => 0xCC,
        DoneKind::Grant => 0xCD,
        DoneKind::Deny => 0x99,
        DoneKind::Revoke => 0xCE,
        DoneKind::Dbcc => 0xE6,
        DoneKind::Shutdown => 0xBF,
        DoneKind::SetOn => 0xB9,
        DoneKind::SetOff => 0xBA,
        DoneKind::BeginTransaction => 0xD4,
        DoneKind::CommitTransaction => 0xD5,
        DoneKind::RollbackTransaction => 0xD2,
        DoneKind::Other => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Drivers tell a rowversion column from binary(8) by the user type alone: bulk copies leave such columns out.
    #[test]
    fn a_row_version_is_a_binary_of_eight_bytes_with_its_own_user_type() {
        let columns = [
            ResultColumn::new("r", SqlType::RowVersion),
            ResultColumn::new("b", SqlType::Binary(8)),
        ];
        let mut announced = Announced::default();
        let told: Vec<_> = announced
            .wire(&columns)
            .iter()
            .map(|column| (column.column_type, column.user_type))
            .collect();
        assert_eq!(
            told,
            [(tds::ColumnType::Binary(8), 80), (tds::ColumnType::Binary(8), 0)]
        );
    }
}
