//! A T-SQL session's sink that passes everything on to the protocol's.

use engine::types::{SqlType, Value};
use tds::{Collation, Column, RpcParameter};
use tsql::session::{DoneKind, Message, ResultColumn, ResultSink as SessionSink, SinkClosed, TransactionEvent};

use super::values;
use crate::backend::{Notice, Outcome, ResultSink, SessionChange, StatementKind, Stop};

/// The message of USE.
const CONTEXT_CHANGED: i32 = 5701;

/// The severity that clients are told: 10 is sent as 0 (SQL Server docs, "Database Engine error severities": "for
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
        let kind = match kind {
            DoneKind::Select => StatementKind::Select,
            DoneKind::Insert => StatementKind::Insert,
            DoneKind::Update => StatementKind::Update,
            DoneKind::Delete => StatementKind::Delete,
            DoneKind::BulkLoad => StatementKind::BulkLoad,
            DoneKind::Assign | DoneKind::Other => StatementKind::Other,
        };
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

    fn return_status(&mut self, status: i32) {
        self.outcome.return_status = status;
    }

    fn output_parameter(&mut self, name: &str, sql_type: SqlType, value: &Value) {
        if let Some(index) = self.argument(name) {
            self.outcome.outputs.push((index, values::to_wire(value, sql_type)));
        }
    }
}

fn closed(_: Stop) -> SinkClosed {
    SinkClosed
}
