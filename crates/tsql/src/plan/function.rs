//! Calls of built-in functions in plans: the code and its arguments.

use std::sync::Arc;

use engine::error::Result;
use engine::types::{Collation, SqlType, Value};

use super::Expr;
use crate::context::Context;
use crate::data_file::FileRowset;
use crate::sink::ResultColumn;

/// A call under way.
pub struct Call<'c> {
    /// Session and variables.
    pub context: &'c Context<'c>,
    /// The arguments' values.
    pub values: &'c [Value],
    /// The arguments as bound: their types.
    pub expressions: &'c [Expr],
    pub result: SqlType,
}

/// The code of a function.
pub type Implementation = fn(&Call<'_>) -> Result<Value>;

/// The rows of a call of a table-valued function, made one by one.
pub trait FunctionRows {
    /// The next row, as wide as the function has columns; `None` behind the last.
    ///
    /// # Errors
    /// Whatever a row fails with.
    fn next(&mut self) -> Result<Option<Vec<Value>>>;
}

/// The code of a table-valued function: begins with the first row.
pub type RowFunction = fn(&[Value]) -> Result<Box<dyn FunctionRows>>;

/// What makes the rows of a source of FROM that is not a table.
#[derive(Clone, Debug)]
pub enum RowSource {
    /// A table-valued function.
    Called(RowFunction),
    /// A file: OPENROWSET(BULK ...).
    File(Arc<FileRowset>),
}

/// A call of a table-valued function whose columns its arguments decide.
pub struct RowCall {
    /// In lower case.
    pub name: &'static str,
    pub implementation: RowSource,
    pub arguments: Vec<Expr>,
    pub columns: Vec<ResultColumn>,
}

impl Call<'_> {
    /// An argument; NULL beyond the last.
    pub fn value(&self, index: usize) -> &Value {
        self.values.get(index).unwrap_or(&Value::Null)
    }

    /// An argument as text; `None` for NULL.
    pub fn text(&self, index: usize) -> Option<&str> {
        self.value(index).as_str()
    }

    /// An argument as a whole number; `None` for NULL.
    pub fn integer(&self, index: usize) -> Option<i64> {
        self.value(index).as_i64()
    }

    /// The collation that its strings compare by: binding has given all of them the same.
    pub fn collation(&self) -> Collation {
        let mut strings = self
            .expressions
            .iter()
            .filter(|argument| argument.sql_type.is_character());
        strings
            .next()
            .map_or_else(Collation::default, |first| first.label.collation())
    }

    pub fn argument_type(&self, index: usize) -> SqlType {
        self.expressions
            .get(index)
            .map_or(SqlType::Int, |expression| expression.sql_type)
    }

    /// Whether any argument is NULL.
    pub fn any_null(&self) -> bool {
        self.values.iter().any(Value::is_null)
    }
}
