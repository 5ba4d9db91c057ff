//! Compiles a text to its shared parts: statements, variables, parameters.

use std::sync::Arc;

use engine::catalog::ModuleDefinition;
use engine::error::{Error, Result};
use engine::memory::Charge;
use engine::types::SqlType;

use super::user_types::{Declared, UserTypes};
use super::variables::{TableVariableShape, VariableScope};
use crate::ast::{
    CreateFunction, CreateProcedure, CreateView, DataType, Expression, FunctionBody, Parameter, Query, Statement,
    StatementKind,
};
use crate::messages;
use crate::parser::{ParsedBatch, text_of_definitions};
use crate::scalar::xml::XmlCollectionName;

/// Statements with the variables they see: the same for everybody who runs them.
pub struct Code {
    pub statements: Vec<Statement>,
    pub scope: VariableScope,
    /// How many of them are parameters: the first ones.
    pub parameters: usize,
    /// What the tree takes, in bytes, estimated.
    bytes: u64,
    /// The text in which the statements stand, if one of them may change definitions; else empty.
    pub(crate) definitions_text: Arc<str>,
    _charge: Charge,
}

impl Code {
    /// Parsed statements; `scope` holds the parameters they see.
    ///
    /// # Errors
    /// Those of the declarations, with their line.
    pub(crate) fn new(
        parsed: ParsedBatch,
        mut scope: VariableScope,
        types: UserTypes<'_>,
    ) -> std::result::Result<Code, (u32, Error)> {
        let ParsedBatch {
            statements,
            bytes,
            charge,
            text,
        } = parsed;
        let parameters = scope.types().len();
        scope.collect(&statements, types)?;
        Ok(Code {
            statements,
            scope,
            parameters,
            bytes,
            definitions_text: text,
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
    /// Its type; of no meaning for a table.
    pub sql_type: SqlType,
    /// What it looks like, if it is a table: READONLY, and one of the callee's first table variables.
    pub table: Option<Arc<TableVariableShape>>,
    /// Whether its final value is for the caller.
    pub output: bool,
    pub default: Option<Expression>,
    /// It gives the caller a cursor; it has no value.
    pub is_cursor: bool,
    /// The schema collection of typed xml.
    pub xml_collection: Option<Arc<XmlCollectionName>>,
}

/// Parameters with the scope they are the first variables of.
pub(super) type Parametrised = (VariableScope, Arc<[ModuleParameter]>);

/// Declares parameters.
///
/// # Errors
/// 134, and those of unknown types; 346 and 352 for READONLY that is too much or missing.
pub(crate) fn declared(parameters: Vec<Parameter>, types: UserTypes<'_>) -> Result<Parametrised> {
    let mut scope = VariableScope::default();
    let mut list = Vec::with_capacity(parameters.len());
    for (position, parameter) in parameters.into_iter().enumerate() {
        let xml_collection = types.xml_collection(&parameter.data_type);
        let (declared, id) = types.declared(&parameter.data_type, position + 1)?;
        scope.note_user_type(id);
        let (sql_type, table) = match declared {
            Declared::Scalar(sql_type) if parameter.is_cursor => {
                scope.declare_cursor_parameter(&parameter.name)?;
                (sql_type, None)
            }
            Declared::Scalar(_) if parameter.read_only => return Err(messages::read_only_value(&parameter.name)),
            Declared::Scalar(sql_type) => {
                scope.declare(&parameter.name, sql_type)?;
                scope.note_xml_collection(xml_collection.clone());
                (sql_type, None)
            }
            Declared::Table(_) if !parameter.read_only => {
                return Err(messages::table_parameter_not_read_only(&parameter.name));
            }
            Declared::Table(_) if parameter.output => return Err(messages::incorrect_syntax_near("OUTPUT")),
            Declared::Table(_) if parameter.default.is_some() => return Err(messages::incorrect_syntax_near("=")),
            Declared::Table(shape) => {
                let shape = scope.declare_table_parameter(&parameter.name, &shape)?;
                (SqlType::Int, Some(shape))
            }
        };
        list.push(ModuleParameter {
            name: parameter.name,
            sql_type,
            table,
            output: parameter.output,
            default: parameter.default,
            is_cursor: parameter.is_cursor,
            xml_collection,
        });
    }
    Ok((scope, list.into()))
}

/// What a module does.
pub enum ModuleBody {
    Procedure(Arc<Code>),
    View(Box<CreateView>),
    /// Its first table variables are `inserted` and `deleted`, unless it is a trigger of the database.
    Trigger(Arc<Code>),
    /// `RETURNS type`.
    Scalar {
        returns: SqlType,
        /// The schema collection of the typed xml that is returned.
        returned_collection: Option<Arc<XmlCollectionName>>,
        code: Arc<Code>,
        /// RETURNS NULL ON NULL INPUT.
        null_on_null: bool,
    },
    /// `RETURNS TABLE`: a query over the parameters.
    Inline {
        scope: Box<VariableScope>,
        query: Box<Query>,
    },
    /// `RETURNS @table TABLE (...)`.
    Table {
        /// The table returned: the first table variable behind those that are parameters.
        shape: Arc<TableVariableShape>,
        code: Arc<Code>,
    },
}

/// The SET options that a module keeps from its creation, for every caller (SQL Server docs, CREATE PROCEDURE).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModuleSettings {
    pub ansi_nulls: bool,
    pub quoted_identifier: bool,
}

/// A procedure, view, function or trigger, ready to be bound and run.
pub struct Module {
    /// `schema.name`, as errors name it.
    pub name: String,
    /// Unique within its database.
    pub object_id: u32,
    /// The whole CREATE statement.
    pub text: Arc<str>,
    /// Its parameters in order.
    pub parameters: Arc<[ModuleParameter]>,
    pub body: ModuleBody,
    /// ANSI_NULLS and QUOTED_IDENTIFIER as they were when it was created.
    pub settings: ModuleSettings,
    /// A procedure WITH RECOMPILE.
    pub is_recompiled: bool,
    /// `execute_as_principal_id` of `sys.sql_modules`.
    pub execute_as: Option<i32>,
    bytes: u64,
    /// The tree's charge, where it is not with the code.
    _charge: Charge,
}

/// The principal that EXECUTE AS names: -2 for OWNER, the one who creates it for SELF, who is `dbo` here; none for CALLER (sql-docs,
/// "sys.sql_modules").
fn executes_as(option: &str) -> Option<i32> {
    match option
        .strip_prefix("EXECUTE AS ")
        .or_else(|| option.strip_prefix("EXEC AS "))?
    {
        "CALLER" => None,
        "OWNER" => Some(-2),
        _ => Some(1),
    }
}

/// Whether a module runs as its owner. A text that does not parse any more does not run.
pub(crate) fn runs_as_owner(definition: &ModuleDefinition) -> bool {
    let parsed = crate::parser::parse_to_keep(&definition.text, definition.uses_quoted_identifier);
    let statement = parsed.ok().and_then(|parsed| parsed.statements.into_iter().next());
    statement.is_some_and(|statement| {
        let mut options = options_of(&statement.kind).iter();
        options.find_map(|option| executes_as(option)) == Some(-2)
    })
}

/// The options of a module behind WITH.
fn options_of(statement: &StatementKind) -> &[String] {
    match statement {
        StatementKind::CreateProcedure(procedure) => &procedure.options,
        StatementKind::CreateFunction(function) => &function.options,
        StatementKind::CreateTrigger(trigger) => &trigger.options,
        StatementKind::CreateDatabaseTrigger(trigger) => &trigger.options,
        _ => &[],
    }
}

impl Module {
    /// The module that a text in the catalog defines.
    ///
    /// # Errors
    /// Those of a text that does not parse as a module any more.
    pub(crate) fn parse(definition: &ModuleDefinition, types: UserTypes<'_>) -> Result<Module> {
        let parsed = crate::parser::parse_to_keep(&definition.text, definition.uses_quoted_identifier)
            .map_err(messages::syntax)?;
        let (bytes, charge) = (parsed.bytes, parsed.charge);
        let none = || Error::assertion("the text of a module defines none");
        let statement = parsed.statements.into_iter().next().ok_or_else(none)?;
        let part = |statements: Vec<Statement>| ParsedBatch {
            text: text_of_definitions(&statements, &definition.text),
            statements,
            bytes,
            charge: Charge::default(),
        };
        let options = options_of(&statement.kind);
        let is_recompiled = options.iter().any(|option| option == "RECOMPILE");
        let execute_as = options.iter().find_map(|option| executes_as(option));
        let (parameters, body) = match statement.kind {
            StatementKind::CreateView(view) => (Arc::default(), ModuleBody::View(view)),
            StatementKind::CreateProcedure(procedure) => {
                let CreateProcedure { parameters, body, .. } = *procedure;
                let (scope, parameters) = declared(parameters, types)?;
                (parameters, ModuleBody::Procedure(code(part(body), scope, types)?))
            }
            StatementKind::CreateFunction(function) => function_body(*function, part, types)?,
            StatementKind::CreateTrigger(trigger) => {
                let mut scope = VariableScope::default();
                scope.declare_trigger_tables()?;
                let body = ModuleBody::Trigger(code(part(trigger.body), scope, types)?);
                (Arc::default(), body)
            }
            StatementKind::CreateDatabaseTrigger(trigger) => {
                let code = code(part(trigger.body), VariableScope::default(), types)?;
                (Arc::default(), ModuleBody::Trigger(code))
            }
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
            execute_as,
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

    /// The ids in the catalog of the types that it declares anything with, beside the system's.
    pub(crate) fn user_types(&self) -> &[u32] {
        match &self.body {
            ModuleBody::Procedure(code)
            | ModuleBody::Trigger(code)
            | ModuleBody::Scalar { code, .. }
            | ModuleBody::Table { code, .. } => code.scope.user_types(),
            ModuleBody::Inline { scope, .. } => scope.user_types(),
            ModuleBody::View(_) => &[],
        }
    }

    /// How many of its parameters are tables: those are its first table variables.
    pub(crate) fn table_parameters(&self) -> usize {
        self.parameters
            .iter()
            .filter(|parameter| parameter.table.is_some())
            .count()
    }

    /// Its statements, if it has any.
    pub fn code(&self) -> Option<&Arc<Code>> {
        match &self.body {
            ModuleBody::Procedure(code)
            | ModuleBody::Trigger(code)
            | ModuleBody::Scalar { code, .. }
            | ModuleBody::Table { code, .. } => Some(code),
            ModuleBody::View(_) | ModuleBody::Inline { .. } => None,
        }
    }
}

fn code(parsed: ParsedBatch, scope: VariableScope, types: UserTypes<'_>) -> Result<Arc<Code>> {
    Code::new(parsed, scope, types)
        .map(Arc::new)
        .map_err(|(_, error)| error)
}

/// The type that a scalar function returns.
fn returned(data_type: &DataType, scope: &mut VariableScope, types: UserTypes<'_>) -> Result<SqlType> {
    let (sql_type, id) = types.scalar(data_type, 1)?;
    scope.note_user_type(id);
    Ok(sql_type)
}

/// Whether a new scalar function may return a type.
///
/// # Errors
/// 2715 for a type that does not exist, 2733 for `text`, `ntext`, `image` and `timestamp` (sql-docs, CREATE FUNCTION).
pub(crate) fn check_returned(data_type: &DataType, types: UserTypes<'_>) -> Result<()> {
    let (_, id) = types.scalar(data_type, 1)?;
    let name = data_type.name.object().to_ascii_lowercase();
    let is_refused = matches!(name.as_str(), "text" | "ntext" | "image" | "timestamp" | "rowversion");
    match id.is_none() && is_refused {
        true => Err(messages::invalid_return_type(&name)),
        false => Ok(()),
    }
}

type Body = (Arc<[ModuleParameter]>, ModuleBody);

fn function_body(
    function: CreateFunction,
    part: impl FnOnce(Vec<Statement>) -> ParsedBatch,
    types: UserTypes<'_>,
) -> Result<Body> {
    let (mut scope, parameters) = declared(function.parameters, types)?;
    let body = match function.body {
        FunctionBody::Scalar { returns, statements } => ModuleBody::Scalar {
            returned_collection: types.xml_collection(&returns),
            returns: returned(&returns, &mut scope, types)?,
            code: code(part(statements), scope, types)?,
            null_on_null: function
                .options
                .iter()
                .any(|option| option == "RETURNS NULL ON NULL INPUT"),
        },
        FunctionBody::InlineTable(query) => ModuleBody::Inline {
            scope: Box::new(scope),
            query,
        },
        FunctionBody::Table {
            variable,
            elements,
            statements,
        } => {
            scope.declare_table(&variable, &elements, types)?;
            let shape = scope.shapes().last().cloned().unwrap_or_default();
            ModuleBody::Table {
                shape,
                code: code(part(statements), scope, types)?,
            }
        }
    };
    Ok((parameters, body))
}
