//! T-SQL on a folder, without a server: the engine runs in this process.

use super::channel::{Channel, Twin};
use super::options::SqlOptions;
use crate::arguments::DEFAULT_DATA;
use crate::exit::Failure;
use crate::instance::{self, Choices};
use engine::instance::Instance;
use engine::types::{Length, SqlType, Value};
use lab::client::{Alignment, ClientError, ColumnKind, Event, Heading, ServerMessage};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tsql::scalar::convert;
use tsql::session::{BatchOutcome, DoneKind, Login, Message, ResultColumn, ResultSink, Session, SinkClosed};
use tsql::stack;

/// An instance of this process's own, with one session in it.
struct Embedded {
    instance: Arc<Instance>,
    session: Session,
    folder: PathBuf,
    /// Whether the instance is this channel's to shut down.
    is_owner: bool,
}

/// Opens the folder; its databases are recovered before this returns.
pub(super) fn open(options: &SqlOptions) -> Result<Box<dyn Channel>, Failure> {
    let folder = options.data.clone().unwrap_or_else(|| DEFAULT_DATA.into());
    let choices = Choices {
        folder: folder.clone(),
        version: options.sql_version,
        policy: options.log_policy,
        memory_mb: None,
        instant_file_initialization: true,
        allowed_paths: options.allow_path.clone(),
        modelled: None,
        in_memory: false,
    };
    let instance = instance::open_embedded(choices)?;
    let database = options.login.database.clone();
    let session = session(&instance, "vlflab sql", database).map_err(|error| Failure::CannotConnect(error.message))?;
    Ok(Box::new(Embedded {
        instance,
        session,
        folder,
        is_owner: true,
    }))
}

fn session(instance: &Arc<Instance>, application: &str, database: Option<String>) -> engine::error::Result<Session> {
    let login = Login {
        login: "sa".into(),
        host: instance.options.server_name.clone(),
        application: application.into(),
        database,
        ..Login::default()
    };
    Session::new(Arc::clone(instance), login)
}

impl Channel for Embedded {
    fn cancel_flag(&self) -> Arc<AtomicBool> {
        self.session.cancel_flag()
    }

    fn run(&mut self, batch: &str, on_event: &mut dyn FnMut(Event<'_>)) -> Result<(), ClientError> {
        let mut adapter = Adapter {
            on_event,
            types: Vec::new(),
            server: self.instance.options.server_name.clone(),
        };
        self.session.cancel_flag().store(false, Ordering::Relaxed);
        match self.session.execute(batch, &mut adapter) {
            BatchOutcome::Disconnected => Err(ClientError::Lost("the session was ended".into())),
            BatchOutcome::Shutdown(_) => Err(ClientError::Lost("the instance was shut down".into())),
            BatchOutcome::Cancelled => Err(ClientError::Interrupted),
            BatchOutcome::Completed | BatchOutcome::Failed => Ok(()),
        }
    }

    fn about(&self) -> Vec<String> {
        let version = self.instance.options.version;
        vec![
            format!(
                "The instance in {}, in this process: SQL Server {version}.",
                self.folder.display()
            ),
            format!("Database {}.", self.session.database()),
        ]
    }

    fn database(&self) -> String {
        self.session.database()
    }

    fn is_local(&self) -> bool {
        true
    }

    fn twin(&self) -> Twin {
        let (instance, folder) = (Arc::clone(&self.instance), self.folder.clone());
        Box::new(move || {
            stack::begin_thread(stack::THREAD_BYTES);
            let session = session(&instance, "vlflab sql, names for completion", None).ok()?;
            Some(Box::new(Embedded {
                instance,
                session,
                folder,
                is_owner: false,
            }))
        })
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        if !self.is_owner {
            return;
        }
        // What fails here is in the error log, and the next start recovers it.
        let _ = self.instance.shutdown(false);
    }
}

/// Turns a session's answers into the client's events.
struct Adapter<'a> {
    on_event: &'a mut dyn FnMut(Event<'_>),
    types: Vec<SqlType>,
    server: String,
}

impl ResultSink for Adapter<'_> {
    fn columns(&mut self, columns: &[ResultColumn]) -> Result<(), SinkClosed> {
        self.types = columns.iter().map(|column| column.sql_type).collect();
        let headings: Vec<Heading> = columns.iter().map(heading).collect();
        (self.on_event)(Event::Columns(&headings));
        Ok(())
    }

    fn row(&mut self, row: &[Value]) -> Result<(), SinkClosed> {
        let values: Vec<Option<String>> = row
            .iter()
            .zip(&self.types)
            .map(|(value, sql_type)| shown(value, *sql_type))
            .collect();
        (self.on_event)(Event::Row(&values));
        Ok(())
    }

    fn done(&mut self, row_count: Option<u64>, kind: DoneKind) -> Result<(), SinkClosed> {
        let rows = row_count.filter(|_| kind != DoneKind::Assign);
        (self.on_event)(Event::Done { rows });
        Ok(())
    }

    fn message(&mut self, message: &Message) -> Result<(), SinkClosed> {
        let message = ServerMessage {
            number: message.number,
            severity: message.severity,
            state: message.state,
            line: i32::try_from(message.line).unwrap_or(i32::MAX),
            server: self.server.clone(),
            procedure: message.procedure.clone(),
            text: message.text.clone(),
        };
        let is_error = message.severity > 10;
        (self.on_event)(if is_error {
            Event::Error(&message)
        } else {
            Event::Information(&message)
        });
        Ok(())
    }
}

fn heading(column: &ResultColumn) -> Heading {
    let alignment = if is_numeric(column.sql_type) {
        Alignment::Right
    } else {
        Alignment::Left
    };
    Heading {
        name: column.name.clone(),
        width: width(column.sql_type),
        alignment,
        kind: kind(column.sql_type),
    }
}

fn kind(sql_type: SqlType) -> ColumnKind {
    use SqlType::*;
    match sql_type {
        Bit => ColumnKind::Bit,
        other if is_numeric(other) => ColumnKind::Number,
        Json => ColumnKind::LargeText,
        VarChar(_) | NVarChar(_) if sql_type.is_max() => ColumnKind::LargeText,
        VarBinary(_) if sql_type.is_max() => ColumnKind::LargeBinary,
        Char(_) | NChar(_) | VarChar(_) | NVarChar(_) => ColumnKind::Text,
        Geometry | Geography => ColumnKind::LargeBinary,
        Binary(_) | VarBinary(_) | RowVersion | HierarchyId => ColumnKind::Binary,
        SqlVariant => ColumnKind::Variant,
        _ => ColumnKind::Other,
    }
}

fn is_numeric(sql_type: SqlType) -> bool {
    use SqlType::*;
    matches!(
        sql_type,
        Bit | TinyInt | SmallInt | Int | BigInt | Decimal { .. } | Money | SmallMoney | Real | Float
    )
}

/// Display width by type, as `sqlcmd` has it; 256 for types without a limit.
fn width(sql_type: SqlType) -> usize {
    use SqlType::*;
    let units = |length: Length| match length {
        Length::Limited(units) => usize::from(units),
        Length::Max | Length::LargeObject | Length::Xml => 256,
    };
    match sql_type {
        Bit => 1,
        TinyInt => 3,
        SmallInt => 6,
        Int => 11,
        BigInt => 20,
        Decimal { precision, .. } => usize::from(precision) + 2,
        SmallMoney => 12,
        Money => 21,
        Real => 14,
        Float => 24,
        Date => 16,
        Time { .. } => 22,
        SmallDateTime => 19,
        DateTime => 23,
        DateTime2 { .. } => 38,
        DateTimeOffset { .. } => 45,
        Char(units) | NChar(units) => usize::from(units),
        VarChar(length) | NVarChar(length) => units(length),
        Binary(bytes) => usize::from(bytes) * 2 + 2,
        VarBinary(length) => units(length) * 2 + 2,
        RowVersion => 18,
        UniqueIdentifier => 36,
        SqlVariant => 256,
        HierarchyId => 2 * 892 + 2,
        Json => 256,
        Geometry | Geography => 2 * 256 + 2,
    }
}

/// The value's text; `None` for NULL.
fn shown(value: &Value, sql_type: SqlType) -> Option<String> {
    use SqlType::*;
    /// ODBC canonical with fractions; money with four decimals; float with all digits; binary with 0x.
    const CANONICAL: i32 = 121;
    if let Value::Variant(variant) = value {
        return shown(&variant.value, variant.sql_type);
    }
    let style = match sql_type {
        Date | Time { .. } | SmallDateTime | DateTime | DateTime2 { .. } | DateTimeOffset { .. } => Some(CANONICAL),
        Money | SmallMoney => Some(2),
        Float | Real => Some(3),
        Binary(_) | VarBinary(_) | RowVersion | HierarchyId | Geometry | Geography => Some(1),
        _ => None,
    };
    if value.is_null() {
        return None;
    }
    // Its bytes are shown, as a client shows them that does not know the type.
    let sql_type = match sql_type {
        HierarchyId | Geometry | Geography => VarBinary(Length::Max),
        other => other,
    };
    let text = convert::convert(value, sql_type, NVarChar(Length::Max), style).ok()?;
    let text = text.as_str()?.to_string();
    Some(match sql_type {
        Decimal { .. } | Money | SmallMoney => without_leading_zero(text),
        _ => text,
    })
}

/// `0.50` is shown as `.50`.
fn without_leading_zero(text: String) -> String {
    match (text.strip_prefix("0."), text.strip_prefix("-0.")) {
        (Some(fraction), _) => format!(".{fraction}"),
        (_, Some(fraction)) => format!("-.{fraction}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::types::Variant;

    #[test]
    fn values_look_as_they_do_from_a_server() {
        let (value, sql_type) = (Value::Money(5_000), SqlType::Money);
        let variant = Value::Variant(Arc::new(Variant { sql_type, value }));
        assert_eq!(shown(&variant, SqlType::SqlVariant).as_deref(), Some(".5000"));
        for (value, sql_type, text) in [
            (Value::Int(-2), SqlType::Int, "-2"),
            (Value::Bit(true), SqlType::Bit, "1"),
            (Value::Money(5_000), SqlType::Money, ".5000"),
            (Value::Money(-10_000), SqlType::Money, "-1.0000"),
            (
                Value::DateTime { days: 0, ticks: 1 },
                SqlType::DateTime,
                "1900-01-01 00:00:00.003",
            ),
            (Value::binary([0xCA, 0xFE]), SqlType::VarBinary(Length::Max), "0xCAFE"),
            (Value::text("é"), SqlType::NVarChar(Length::Limited(5)), "é"),
        ] {
            assert_eq!(shown(&value, sql_type).as_deref(), Some(text));
        }
        assert_eq!(shown(&Value::Null, SqlType::Int), None);
    }
}
