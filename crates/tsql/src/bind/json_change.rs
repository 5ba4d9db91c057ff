//! `modify('path', value)` of json behind SET (sql-docs, "JSON data type", "The modify method"): JSON_MODIFY of the column or variable, which must
//! not be NULL.
//!
//! Which types the arguments may have, and the words of 5302, 8116 and 8144, are those that the SqlServerSimulator project has seen of SQL
//! Server 2025.

use engine::error::Result;
use engine::types::{SqlType, Value};

use super::Binder;
use super::deduce::Asked;
use super::serialized::is_json;
use crate::ast::{Expression, ExpressionKind, FunctionCall, JSON_CHANGE};
use crate::functions;
use crate::messages;
use crate::plan::{Expr, ExprKind};

/// The name in messages.
const METHOD: &str = "modify";

/// The call of `modify` that the parser makes of `modify('path', value)`.
pub(super) fn json_change(written: &Expression) -> Option<&FunctionCall> {
    match &written.kind {
        ExpressionKind::Function(call) if call.is_method && call.name.parts.len() == 1 => {
            Some(&**call).filter(|call| call.name.object() == JSON_CHANGE)
        }
        _ => None,
    }
}

impl<'a> Binder<'a> {
    /// What the change makes of a json, which errors call by a name.
    ///
    /// # Errors
    /// 258 for another type; 8116 and 8144 for other arguments; those of binding them.
    pub(super) fn json_changed(&mut self, (name, own): (&str, Expr), call: &'a FunctionCall) -> Result<Expr> {
        if own.sql_type != SqlType::Json {
            return Err(messages::no_methods(&own.sql_type.to_string()));
        }
        let [path, value] = call.arguments.as_slice() else {
            return Err(messages::too_many_arguments(METHOD));
        };
        self.deduce(path, Asked::Nothing)?;
        let path = self.expression(path)?;
        let value = self.expression(value)?;
        let refused = |sql_type: SqlType, place| messages::invalid_argument_type(sql_type.name(), place, METHOD);
        if path.is_null_constant() || !path.sql_type.is_character() {
            return Err(refused(path.sql_type, 2));
        }
        let is_taken = value.is_null_constant()
            || value.sql_type == SqlType::Json
            || value.sql_type.is_character()
            || value.sql_type.is_numeric();
        if !is_taken {
            return Err(refused(value.sql_type, 3));
        }
        let implementation = match is_json(&value) {
            true => functions::change_with,
            false => functions::change_json,
        };
        let (nullable, label) = (own.nullable, own.label);
        let name = Expr::constant(Value::text(name), SqlType::SYSNAME);
        let kind = ExprKind::Function {
            name: METHOD,
            implementation,
            arguments: vec![own, path, value, name],
        };
        Ok(Expr {
            kind,
            sql_type: SqlType::Json,
            nullable,
            label,
        })
    }
}
