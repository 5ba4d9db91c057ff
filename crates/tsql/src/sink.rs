//! The receiver of a session's answers: result sets, row counts, messages, environment changes.
//!
//! The order of calls is the order in which a client sees them: `columns`, then any number of `row`, then `done`. A message may come at any
//! time. A sink that returns [`SinkClosed`] has lost its client, and the batch ends.

use std::rc::Rc;
use std::sync::Arc;

use engine::error::Error;
use engine::types::{Length, SqlType, Value};

pub use crate::ast::DoneKind;
use crate::scalar::Label;
pub use crate::scalar::xml::XmlCollectionName;

/// The client is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SinkClosed;

/// One column of a result set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultColumn {
    /// Its name; empty when it has none.
    pub name: String,
    /// The type of all its values.
    pub sql_type: SqlType,
    /// The collation of its strings, and how strongly they have it.
    pub label: Label,
    /// Whether a value may be NULL.
    pub nullable: bool,
    /// Whether it is an identity column of a table.
    pub identity: bool,
    /// Whether it is a column of a table rather than an expression.
    pub from_table: bool,
    /// The schema collection of typed xml, where it is the column of a table or a variable.
    pub xml_collection: Option<Arc<XmlCollectionName>>,
}

impl ResultColumn {
    /// A column that may be NULL and belongs to no table.
    pub fn new(name: &str, sql_type: SqlType) -> ResultColumn {
        ResultColumn {
            name: name.to_owned(),
            sql_type,
            label: Label::default(),
            nullable: true,
            identity: false,
            from_table: false,
            xml_collection: None,
        }
    }
}

/// The column of a table that a column of a result shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnSource {
    pub database: String,
    pub schema: String,
    pub table: String,
    pub column: String,
    /// Whether it is part of the key that identifies the table's rows: the primary key, else the first unique one.
    pub is_key: bool,
}

impl ResultColumn {
    /// Whether its values need no conversion to be those of another column.
    pub(crate) fn is_like(&self, other: &ResultColumn) -> bool {
        let is_collated = !self.sql_type.is_character() || self.label.collation() == other.label.collation();
        self.sql_type == other.sql_type && is_collated
    }
}

/// An error, or the text of PRINT and the like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// SQL Server's number; 0 for PRINT, 50000 for ad hoc messages.
    pub number: i32,
    /// 0 to 10 is information, above is an error.
    pub severity: u8,
    /// SQL Server's state.
    pub state: u8,
    /// Line in the batch or procedure, from 1.
    pub line: u32,
    /// The procedure it comes from; empty in a batch.
    pub procedure: String,
    pub text: String,
}

impl Message {
    /// What a client receives of an error, met at a line of a procedure, or of a batch where that has no name. What follows the error is
    /// not part of it.
    pub fn new(error: &Error, line: u32, procedure: &str) -> Message {
        Message {
            number: error.number,
            severity: error.severity,
            state: error.state,
            line,
            procedure: procedure.to_owned(),
            text: error.message.clone(),
        }
    }
}

/// How an EXECUTE of a batch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEnd {
    /// A procedure or text returned this status.
    Returned(i32),
    /// A scalar function, which has no status.
    Finished,
    /// The EXECUTE failed: it ends as a statement of the batch does.
    Failed,
    /// The triggers of a statement have run: the statement itself ends them.
    Triggers,
}

/// What happened to the session's transaction; TDS tells the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionEvent {
    /// A transaction of this descriptor began.
    Begun(u64),
    Committed(u64),
    /// It was rolled back.
    RolledBack(u64),
}

/// The final value of an OUTPUT parameter.
#[derive(Clone, Copy, Debug)]
pub struct OutputParameter<'o> {
    /// As it is declared, with its `@`.
    pub name: &'o str,
    pub sql_type: SqlType,
    pub value: &'o Value,
    /// The schema collection of typed xml.
    pub xml_collection: Option<&'o Arc<XmlCollectionName>>,
}

impl<'o> OutputParameter<'o> {
    /// One of a type that has no schema collection.
    pub fn new(name: &'o str, sql_type: SqlType, value: &'o Value) -> OutputParameter<'o> {
        OutputParameter {
            name,
            sql_type,
            value,
            xml_collection: None,
        }
    }
}

/// Receives what a session says.
pub trait ResultSink {
    /// A result set of these columns is about to be computed. A sink that takes rows of one shape only refuses others here, before
    /// an error of the first row.
    fn columns_to_come(&mut self, _columns: &[ResultColumn]) -> Result<(), SinkClosed> {
        Ok(())
    }
    /// A result set begins.
    fn columns(&mut self, columns: &[ResultColumn]) -> Result<(), SinkClosed>;
    /// One row of it.
    fn row(&mut self, row: &[Value]) -> Result<(), SinkClosed>;
    /// A statement is finished. The count is absent under NOCOUNT, and for statements that count nothing.
    fn done(&mut self, row_count: Option<u64>, kind: DoneKind) -> Result<(), SinkClosed>;
    /// An error or an information message.
    fn message(&mut self, message: &Message) -> Result<(), SinkClosed>;
    /// USE went from one database to another.
    fn database_changed(&mut self, _from: &str, _to: &str) {}
    /// A transaction began or ended.
    fn transaction_changed(&mut self, _event: TransactionEvent) {}
    /// A procedure called by the client returned this status.
    fn return_status(&mut self, _status: i32) {}
    /// An EXECUTE of a batch begins: the statements that end from here on are those of what it calls.
    fn call_begun(&mut self) {}
    /// That EXECUTE is over.
    fn call_ended(&mut self, _end: CallEnd) -> Result<(), SinkClosed> {
        Ok(())
    }
    /// The client is to have now what was said so far, though the batch goes on (RAISERROR WITH NOWAIT).
    fn flush(&mut self) -> Result<(), SinkClosed> {
        Ok(())
    }
    /// Whether rows may have long values that are still to be read ([`Value::Held`]). Others get them whole.
    fn takes_held(&self) -> bool {
        false
    }
    /// Why the last row was refused, if that was not the client: a value that is read while it is sent could not be read, and nothing of the row has
    /// left. The statement fails by it.
    fn take_row_error(&mut self) -> Option<engine::error::Error> {
        None
    }
    /// Whether it wants to know where the columns of results come from; sent before the columns.
    fn wants_sources(&self) -> bool {
        false
    }
    /// Where the columns of the next result come from, and columns of the keys of their tables that are not among them.
    fn sources(&mut self, _columns: Vec<Option<ColumnSource>>, _hidden: Vec<(ResultColumn, ColumnSource)>) {}
    /// An OUTPUT parameter of a procedure or parametrised batch called by the client.
    fn output_parameter(&mut self, _output: OutputParameter<'_>) {}
}

/// A column of rows that a client sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientColumn {
    /// Its name; a table-valued parameter's have none.
    pub name: String,
    /// The type its values are sent as.
    pub sql_type: SqlType,
    /// Whether it is sent as one that may be NULL.
    pub nullable: bool,
    /// No values are sent for it: every row has its default.
    pub is_default: bool,
}

impl ClientColumn {
    /// What a client would announce of a column: "XMLTYPE is to be sent as NVARCHAR(N) or NVARCHAR(MAX)" ([MS-TDS] 2.2.6.1, note on INSERT BULK).
    pub(crate) fn of_column(name: &str, sql_type: SqlType, nullable: bool) -> ClientColumn {
        let is_xml = sql_type == SqlType::XML;
        ClientColumn {
            name: name.to_owned(),
            sql_type: if is_xml {
                SqlType::NVarChar(Length::Max)
            } else {
                sql_type
            },
            nullable,
            is_default: false,
        }
    }
}

/// Rows that a client sends with a request, one after the other.
pub trait ClientRows {
    fn columns(&self) -> &[ClientColumn];
    /// The next row: a value for each column, NULL for those that are left to their default. False behind the last.
    ///
    /// # Errors
    /// When what was sent is not a row; 701.
    fn next(&mut self, row: &mut Vec<Value>) -> engine::error::Result<bool>;
}

/// A table that a client passes as a parameter.
pub trait ClientTable: std::fmt::Debug {
    /// Database, schema and name of its type, each empty where the client leaves it out.
    fn type_name(&self) -> [&str; 3];
    /// Its rows, from the first on; `None` when it is passed as NULL, which is an empty table.
    fn rows(&self) -> Option<Box<dyn ClientRows + '_>>;
}

/// One parameter of a call by the client.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// With its `@`; empty when passed by position.
    pub name: String,
    /// The type the client sent it as.
    pub sql_type: SqlType,
    /// Its value; NULL for a table.
    pub value: Value,
    /// Whether the client wants it back.
    pub output: bool,
    /// The client asks for the parameter's default.
    pub is_default: bool,
    /// The table, in place of a value.
    pub table: Option<Rc<dyn ClientTable>>,
}

/// How a batch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchOutcome {
    /// Every statement ran, or failed without ending the batch.
    Completed,
    /// An error ended the batch; its message has been sent.
    Failed,
    /// The client cancelled; nothing has been sent for that.
    Cancelled,
    /// The session must end: an error of severity 20 or above, or KILL.
    Disconnected,
    /// SHUTDOWN; true with NOWAIT. The server ends the process.
    Shutdown(bool),
}
