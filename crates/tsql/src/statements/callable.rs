//! What can be called with arguments: a stored procedure, or a text with declared parameters. Parsed once per session, with
//! the plans of its statements.

use std::rc::Rc;

use engine::error::{Error, Result};
use engine::types::SqlType;

use super::batch::{CompiledBatch, compile};
use super::error::Failure;
use crate::ast::{Expression, Parameter, StatementKind};
use crate::bind::VariableScope;
use crate::parser::ParsedBatch;
use crate::scalar::data_type::{TypePlace, resolve};

/// A parameter.
pub struct CallableParameter {
    /// Its name, with the `@`.
    pub name: String,
    /// Whether its final value is for the caller.
    pub output: bool,
    /// Its default.
    pub default: Option<Expression>,
}

/// A procedure or a text, ready to be called. Its parameters are its first variables.
pub struct Callable {
    /// Its statements.
    pub batch: Rc<CompiledBatch>,
    /// Its parameters in order.
    pub parameters: Vec<CallableParameter>,
}

impl Callable {
    /// The type of a parameter.
    pub fn parameter_type(&self, position: usize) -> SqlType {
        self.batch.scope.types().get(position).copied().unwrap_or(SqlType::Int)
    }

    /// A stored procedure from the text that created it.
    ///
    /// # Errors
    /// Those of a text that is no procedure any more.
    pub fn procedure(text: &str) -> Result<Callable> {
        let parsed = crate::parser::parse_to_keep(text, true)
            .map_err(|error| Error::new(error.number, error.severity, error.state, error.message))?;
        let (bytes, charge) = (parsed.bytes, parsed.charge);
        let procedure = parsed
            .statements
            .into_iter()
            .find_map(|statement| match statement.kind {
                StatementKind::CreateProcedure(procedure) => Some(*procedure),
                _ => None,
            });
        let procedure = procedure.ok_or_else(|| Error::assertion("a stored procedure that is none"))?;
        let (scope, parameters) = declared(procedure.parameters)?;
        let parsed = ParsedBatch {
            statements: procedure.body,
            bytes,
            charge,
        };
        let batch = CompiledBatch::new(parsed, scope).map_err(|failure| failure.error())?;
        Ok(Callable {
            batch: Rc::new(batch),
            parameters,
        })
    }

    /// A text with the parameters that `declarations` name.
    ///
    /// # Errors
    /// Syntax errors of either.
    pub fn text(
        statement: &str,
        declarations: &str,
        quoted_identifier: bool,
    ) -> std::result::Result<Callable, Box<Failure>> {
        let parameters = crate::parser::parse_parameters(declarations).map_err(|error| {
            let line = error.line;
            Failure::new(
                Error::new(error.number, error.severity, error.state, error.message),
                line,
                "",
            )
        })?;
        let (scope, parameters) = declared(parameters).map_err(|error| Failure::new(error, 1, ""))?;
        let batch = compile(statement, quoted_identifier, scope)?;
        Ok(Callable {
            batch: Rc::new(batch),
            parameters,
        })
    }
}

fn declared(parameters: Vec<Parameter>) -> Result<(VariableScope, Vec<CallableParameter>)> {
    let mut scope = VariableScope::default();
    let mut list = Vec::with_capacity(parameters.len());
    for (position, parameter) in parameters.into_iter().enumerate() {
        let sql_type = resolve(&parameter.data_type, TypePlace::Declaration, position + 1)?;
        scope.declare(&parameter.name, sql_type)?;
        list.push(CallableParameter {
            name: parameter.name,
            output: parameter.output,
            default: parameter.default,
        });
    }
    Ok((scope, list))
}
