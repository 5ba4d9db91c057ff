//! From text to what is shared: statements, variables, parameters.

use std::sync::Arc;

use engine::catalog::ModuleDefinition;
use engine::error::{Error, Result};
use engine::memory::Charge;
use engine::types::SqlType;

use super::variables::{TableVariableShape, VariableScope};
use crate::ast::{
    CreateFunction, CreateProcedure, CreateView, Expression, FunctionBody, Parameter, Query, Statement, StatementKind,
};
use crate::messages;
use crate::parser::ParsedBatch;
use crate::scalar::data_type::{TypePlace, resolve};

/// Statements with the variables they see: the same for everybody who runs them.
pub struct Code {
    pub statements: Vec<Statement>,
    /// Its variables.
    pub scope: VariableScope,
    /// How many of them are parameters: the first ones.
    pub parameters: usize,
    /// What the tree takes, in bytes, estimated.
    bytes: u64,
    _charge: Charge,
}

impl Code {
    /// Parsed statements; `scope` holds the parameters they see.
    ///
    /// # Errors
    /// Those of the declarations, with their line.
    pub(crate) fn new(parsed: ParsedBatch, mut scope: VariableScope) -> std::result::Result<Code, (u32, Error)> {
        let ParsedBatch {
            statements,
            bytes,
            charge,
        } = parsed;
        let parameters = scope.types().len();
        scope.collect(&statements)?;
        Ok(Code {
            statements,
            scope,
            parameters,
            bytes,
            _charge: charge,
        })
    }

    /// What the tree takes, in bytes, estimated.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[derive(Clone, Debug)]
pub struct ModuleParameter {
    /// Its name, with the `@`.
    pub name: String,
    pub sql_type: SqlType,
    /// Whether its final value is for the caller.
    pub output: bool,
    pub default: Option<Expression>,
}

/// Parameters with the scope they are the first variables of.
pub(super) type Parametrised = (VariableScope, Arc<[ModuleParameter]>);

/// Declares parameters.
///
/// # Errors
/// 134, and those of unknown types.
pub(crate) fn declared(parameters: Vec<Parameter>) -> Result<Parametrised> {
    let mut scope = VariableScope::default();
    let mut list = Vec::with_capacity(parameters.len());
    for (position, parameter) in parameters.into_iter().enumerate() {
        let sql_type = resolve(&parameter.data_type, TypePlace::Declaration, position + 1)?;
        scope.declare(&parameter.name, sql_type)?;
        list.push(ModuleParameter {
            name: parameter.name,
            sql_type,
            output: parameter.output,
            default: parameter.default,
        });
    }
    Ok((scope, list.into()))
}

/// What a module does.
pub enum ModuleBody {
    Procedure(Arc<Code>),
    View(Box<CreateView>),
    /// `RETURNS type`.
    Scalar {
        /// The type returned.
        returns: SqlType,
        /// Its statements.
        code: Arc<Code>,
        /// RETURNS NULL ON NULL INPUT.
        null_on_null: bool,
    },
    /// `RETURNS TABLE`: a query over the parameters.
    Inline {
        /// The parameters.
        scope: VariableScope,
        query: Box<Query>,
    },
    /// `RETURNS @table TABLE (...)`.
    Table {
        /// The table returned: the first table variable.
        shape: Arc<TableVariableShape>,
        /// Its statements.
        code: Arc<Code>,
    },
}

/// The SET options that a module has from its creation, whoever calls it (SQL Server docs, CREATE PROCEDURE).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModuleSettings {
    pub ansi_nulls: bool,
    pub quoted_identifier: bool,
}

/// A procedure, view or function, ready to be bound and run.
pub struct Module {
    /// `schema.name`, as errors name it.
    pub name: String,
    /// Unique within its database.
    pub object_id: u32,
    /// The whole CREATE statement.
    pub text: Arc<str>,
    /// Its parameters in order.
    pub parameters: Arc<[ModuleParameter]>,
    /// What it does.
    pub body: ModuleBody,
    /// ANSI_NULLS and QUOTED_IDENTIFIER as they were when it was created.
    pub settings: ModuleSettings,
    /// A procedure WITH RECOMPILE.
    pub is_recompiled: bool,
    bytes: u64,
    /// The tree's charge, where it is not with the code.
    _charge: Charge,
}

impl Module {
    /// The module that a text in the catalog defines.
    ///
    /// # Errors
    /// Those of a text that is no module any more.
    pub(crate) fn parse(definition: &ModuleDefinition) -> Result<Module> {
        let parsed = crate::parser::parse_to_keep(&definition.text, definition.uses_quoted_identifier)
            .map_err(messages::syntax)?;
        let (bytes, charge) = (parsed.bytes, parsed.charge);
        let none = || Error::assertion("the text of a module defines none");
        let statement = parsed.statements.into_iter().next().ok_or_else(none)?;
        let part = |statements| ParsedBatch {
            statements,
            bytes,
            charge: Charge::default(),
        };
        let is_recompiled = match &statement.kind {
            StatementKind::CreateProcedure(procedure) => procedure.options.iter().any(|option| option == "RECOMPILE"),
            _ => false,
        };
        let (parameters, body) = match statement.kind {
            StatementKind::CreateView(view) => (Arc::default(), ModuleBody::View(view)),
            StatementKind::CreateProcedure(procedure) => {
                let CreateProcedure { parameters, body, .. } = *procedure;
                let (scope, parameters) = declared(parameters)?;
                (parameters, ModuleBody::Procedure(code(part(body), scope)?))
            }
            StatementKind::CreateFunction(function) => function_body(*function, part)?,
            _ => return Err(none()),
        };
        Ok(Module {
            name: format!("{}.{}", definition.schema, definition.name),
            object_id: definition.object_id,
            text: definition.text.as_str().into(),
            parameters,
            body,
            settings: ModuleSettings {
                ansi_nulls: definition.uses_ansi_nulls,
                quoted_identifier: definition.uses_quoted_identifier,
            },
            is_recompiled,
            bytes: bytes + 2 * definition.text.len() as u64,
            _charge: charge,
        })
    }

    /// What it takes, in bytes, estimated.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether a NULL among the arguments is the answer.
    pub(crate) fn is_null_on_null(&self) -> bool {
        matches!(self.body, ModuleBody::Scalar { null_on_null: true, .. })
    }

    /// Its statements, if it has any.
    pub fn code(&self) -> Option<&Arc<Code>> {
        match &self.body {
            ModuleBody::Procedure(code) | ModuleBody::Scalar { code, .. } | ModuleBody::Table { code, .. } => {
                Some(code)
            }
            ModuleBody::View(_) | ModuleBody::Inline { .. } => None,
        }
    }
}

fn code(parsed: ParsedBatch, scope: VariableScope) -> Result<Arc<Code>> {
    Code::new(parsed, scope).map(Arc::new).map_err(|(_, error)| error)
}

type Body = (Arc<[ModuleParameter]>, ModuleBody);

fn function_body(function: CreateFunction, part: impl FnOnce(Vec<Statement>) -> ParsedBatch) -> Result<Body> {
    let (mut scope, parameters) = declared(function.parameters)?;
    let body = match function.body {
        FunctionBody::Scalar { returns, statements } => ModuleBody::Scalar {
            returns: resolve(&returns, TypePlace::Declaration, 1)?,
            code: code(part(statements), scope)?,
            null_on_null: function
                .options
                .iter()
                .any(|option| option == "RETURNS NULL ON NULL INPUT"),
        },
        FunctionBody::InlineTable(query) => ModuleBody::Inline { scope, query },
        FunctionBody::Table {
            variable,
            elements,
            statements,
        } => {
            scope.declare_table(&variable, &elements)?;
            let shape = scope.shapes().first().cloned().unwrap_or_default();
            ModuleBody::Table {
                shape,
                code: code(part(statements), scope)?,
            }
        }
    };
    Ok((parameters, body))
}
