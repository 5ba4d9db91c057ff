//! Result sets of system statements.

use engine::error::Result;
use engine::types::{SqlType, Value};

use super::Host;
use crate::sink::ResultColumn;

/// A result set being put together.
pub struct Table {
    columns: Vec<ResultColumn>,
    rows: Vec<Vec<Value>>,
}

impl Table {
    /// No rows yet.
    pub fn new(columns: &[(&str, SqlType)]) -> Table {
        let columns = columns
            .iter()
            .map(|&(name, sql_type)| ResultColumn::new(name, sql_type));
        Table {
            columns: columns.collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row, which has one value for each column.
    pub fn push(&mut self, row: Vec<Value>) {
        debug_assert_eq!(row.len(), self.columns.len(), "one value for each column");
        self.rows.push(row);
    }

    /// Sends it.
    ///
    /// # Errors
    /// When the client is gone.
    pub fn send(&self, host: &mut dyn Host) -> Result<()> {
        host.result_set(&self.columns, &self.rows)
    }
}

/// A value as the text that a file name, a database name or an option is; `None` for NULL and for anything but text and
/// numbers.
pub fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.to_string()),
        other => other.as_i64().map(|number| number.to_string()),
    }
}
