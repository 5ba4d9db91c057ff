//! `sp_describe_undeclared_parameters`: the types of a batch's undeclared parameters, without executing it (sql-docs, the page of this
//! name).
//!
//! Every statement of the batch is bound, including both branches of IF and the bodies of loops; `bind/deduce.rs` deduces the types.
//! Arguments of EXECUTE have the types of the procedure's parameters. A parameter for which no statement requires a type is 11502.

use std::cell::RefCell;
use std::collections::HashSet;

use engine::catalog::{ModuleKind, ObjectDefinition};
use engine::error::{Error, Result};
use engine::types::{Length, SqlType, Value};
use syntax::lexer::{Lexer, TokenKind};

use super::bound_parts::PartBinder;
use super::cursor_procedures::CursorProcedure;
use super::describe::{argument, not_analyzed, tells_case, type_name, wire_type};
use super::execute::{CallResult, GivenArgument, only_statement};
use super::executor::{BINDINGS_MAX, Executor, Flow, Outcome, closed};
use crate::ast::{Execute, ExecuteModule, ExpressionKind, Name, QueryBody, Statement, StatementKind};
use crate::bind::{Binder, Deduced, Deduction, VariableScope, not_deducible};
use crate::messages;
use crate::modules::ModuleParameter;
use crate::sink::{DoneKind, ResultColumn};
use crate::state::SessionState;

/// The procedure's name in lower case.
pub(super) const NAME: &str = "sp_describe_undeclared_parameters";

const SYSNAME: SqlType = SqlType::SYSNAME;
const INT: SqlType = SqlType::Int;
const BIT: SqlType = SqlType::Bit;
const TINYINT: SqlType = SqlType::TinyInt;
const LONG: SqlType = SqlType::NVarChar(Length::Max);

/// The columns of the answer, and whether each may be NULL.
const COLUMNS: [(&str, SqlType, bool); 24] = [
    ("parameter_ordinal", INT, false),
    ("name", SYSNAME, false),
    ("suggested_system_type_id", INT, false),
    (
        "suggested_system_type_name",
        SqlType::NVarChar(Length::Limited(256)),
        true,
    ),
    ("suggested_max_length", SqlType::SmallInt, false),
    ("suggested_precision", TINYINT, false),
    ("suggested_scale", TINYINT, false),
    ("suggested_user_type_id", INT, true),
    ("suggested_user_type_database", SYSNAME, true),
    ("suggested_user_type_schema", SYSNAME, true),
    ("suggested_user_type_name", SYSNAME, true),
    (
        "suggested_assembly_qualified_type_name",
        SqlType::NVarChar(Length::Limited(4000)),
        true,
    ),
    ("suggested_xml_collection_id", INT, true),
    ("suggested_xml_collection_database", SYSNAME, true),
    ("suggested_xml_collection_schema", SYSNAME, true),
    ("suggested_xml_collection_name", SYSNAME, true),
    ("suggested_is_xml_document", BIT, false),
    ("suggested_is_case_sensitive", BIT, false),
    ("suggested_is_fixed_length_clr_type", BIT, false),
    ("suggested_is_input", BIT, false),
    ("suggested_is_output", BIT, false),
    ("formal_parameter_name", SYSNAME, true),
    ("suggested_tds_type_id", INT, false),
    ("suggested_tds_length", INT, false),
];

/// 11525
fn uses_temporary_table(statement: &str) -> Error {
    let text = format!(
        "The metadata could not be determined because statement '{statement}' uses a temp table. Metadata discovery only supports temp tables when analyzing a single-statement batch."
    );
    Error::new(11_525, 16, 1, text)
}

/// A row of the answer.
fn described(deduced: &Deduced, ordinal: i32, is_case_sensitive: bool) -> Vec<Value> {
    let sql_type = deduced.sql_type;
    let (wire_type_id, wire_length) = wire_type(sql_type, true);
    let null = || Value::Null;
    let mut row: Vec<Value> = vec![
        ordinal.into(),
        deduced.name.as_str().into(),
        i32::from(sql_type.system_type_id()).into(),
        type_name(sql_type).into(),
        Value::SmallInt(sql_type.max_length()),
        Value::TinyInt(sql_type.precision()),
        Value::TinyInt(sql_type.scale()),
    ];
    // No alias type is suggested but the type below it, no CLR type and no XML schema.
    row.extend((0..9).map(|_| null()));
    row.extend([
        false.into(),
        (sql_type.is_character() && is_case_sensitive).into(),
        false.into(),
        deduced.is_input.into(),
        deduced.is_output.into(),
        deduced.formal_name.as_deref().into(),
        wire_type_id.into(),
        wire_length.into(),
    ]);
    row
}

/// A parameter of a procedure: its name and its type.
type Formal = (String, SqlType);

/// Binds the statements of a batch, and keeps what is found of its parameters.
struct Walk<'w> {
    session: &'w SessionState,
    scope: &'w VariableScope,
    text: &'w str,
    deduction: &'w RefCell<Deduction>,
    /// What is written like a parameter and is none, in lower case: names before `=` in EXECUTE, cursors.
    others: RefCell<HashSet<String>>,
}

impl<'w> PartBinder<'w> for Walk<'w> {
    fn bind<T>(&self, bind: impl Fn(&mut Binder<'w>) -> Result<T>) -> Result<()> {
        for _ in 0..BINDINGS_MAX {
            self.session.take_dependencies();
            let mut binder = Binder::new(self.session, self.scope).deducing(self.deduction);
            match bind(&mut binder) {
                Err(error) if error.number == Error::DEFINITION_CHANGED => {}
                outcome => return outcome.map(drop),
            }
        }
        Err(Error::definition_changed(NAME))
    }

    fn begin(&self, statement: &'w Statement) -> Result<()> {
        if !makes_temporary_table(&statement.kind) {
            return Ok(());
        }
        let (start, end) = statement.span;
        let text = self.text.get(start as usize..end as usize).unwrap_or_default();
        Err(uses_temporary_table(text))
    }

    fn cursor_declared(&self, variable: &'w str) {
        self.others.borrow_mut().insert(variable.to_lowercase());
    }

    /// Arguments have the types of the procedure's parameters.
    fn execute(&self, execute: &'w Execute) -> Result<()> {
        let formals = match &execute.module {
            ExecuteModule::Procedure(name) => self.formals(name)?,
            ExecuteModule::Variable(_) => Vec::new(),
            ExecuteModule::Text(text) => return self.bind(|binder| binder.scalar_as(text, LONG)),
        };
        if let Some(status) = execute
            .return_variable
            .as_ref()
            .filter(|status| self.is_undeclared(status))
        {
            self.deduction.borrow_mut().note(Deduced::written(status, INT))?;
        }
        for (place, argument) in execute.arguments.iter().enumerate() {
            let formal = match &argument.name {
                Some(name) => {
                    self.others.borrow_mut().insert(name.to_lowercase());
                    formals.iter().find(|(formal, _)| formal.eq_ignore_ascii_case(name))
                }
                None => formals.get(place),
            };
            if let (ExpressionKind::Variable(name), Some((formal, sql_type))) = (&argument.value.kind, formal)
                && self.is_undeclared(name)
            {
                let deduced = Deduced::argument(name, *sql_type, formal, argument.output);
                self.deduction.borrow_mut().note(deduced)?;
            }
        }
        Ok(())
    }
}

impl Walk<'_> {
    /// The parameters of a procedure that are no tables, up to the first table.
    fn formals(&self, name: &Name) -> Result<Vec<Formal>> {
        let own_name = name.object().to_lowercase();
        if own_name == "sp_executesql" {
            return Ok(["@stmt", "@params"].map(|name| (name.to_owned(), LONG)).into());
        }
        if let Some((database, object)) = self.session.find_in_module(name)?
            && let ObjectDefinition::Module(definition) = &object.definition
            && !matches!(
                definition.kind,
                ModuleKind::View | ModuleKind::Trigger | ModuleKind::DatabaseTrigger
            )
        {
            let module = self.session.module(&database, &object)?;
            let scalars = module
                .parameters
                .iter()
                .take_while(|parameter| parameter.table.is_none());
            let formal = |parameter: &ModuleParameter| (parameter.name.clone(), parameter.sql_type);
            return Ok(scalars.map(formal).collect());
        }
        if let Some(procedure) = crate::system::procedures::find(&own_name) {
            let parameters = procedure.parameters.iter();
            return Ok(parameters
                .map(|(name, sql_type, _)| ((*name).to_owned(), *sql_type))
                .collect());
        }
        match [NAME, super::describe::NAME].contains(&own_name.as_str()) || CursorProcedure::of(&own_name).is_some() {
            true => Ok(Vec::new()),
            false => Err(messages::procedure_not_found(&name.to_string())),
        }
    }

    fn is_undeclared(&self, name: &str) -> bool {
        self.scope.scalar(name).is_none() && self.scope.table(name).is_none()
    }

    /// What was found, in the order of the text.
    ///
    /// # Errors
    /// 11502 for a parameter that no statement gave a type.
    fn in_order(&self) -> Result<Vec<Deduced>> {
        let mut found = self.deduction.take().into_found();
        let (mut lexer, mut ordered, mut seen) = (Lexer::new(self.text, true), Vec::new(), HashSet::new());
        loop {
            let token = lexer.next_token().map_err(messages::syntax)?;
            if token.kind == TokenKind::End {
                return Ok(ordered);
            }
            let name = self.text.get(token.start..token.end).unwrap_or_default();
            let key = name.to_lowercase();
            if token.kind != TokenKind::Variable || !self.is_undeclared(name) || !seen.insert(key.clone()) {
                continue;
            }
            match found.remove(&key) {
                Some(deduced) => ordered.push(deduced),
                None if self.others.borrow().contains(&key) => {}
                None => return Err(not_deducible(name)),
            }
        }
    }
}

/// Whether a statement makes a temporary table.
fn makes_temporary_table(kind: &StatementKind) -> bool {
    match kind {
        StatementKind::CreateTable(create) => create.name.object().starts_with('#'),
        StatementKind::Select(query) => match &query.body {
            QueryBody::Select(select) => select.into.as_ref().is_some_and(|into| into.object().starts_with('#')),
            _ => false,
        },
        _ => false,
    }
}

impl Executor<'_> {
    /// `sp_describe_undeclared_parameters @tsql [, @params]`
    pub(super) fn describe_undeclared_parameters(
        &mut self,
        given: &[GivenArgument<'_>],
        line: u32,
    ) -> Outcome<CallResult> {
        let result = self.undeclared(given).and_then(|parameters| {
            let shape = COLUMNS.map(|(name, sql_type, nullable)| ResultColumn {
                nullable,
                ..ResultColumn::new(name, sql_type)
            });
            let is_case_sensitive = tells_case(self.session.database_collation());
            self.sink.columns(&shape).map_err(closed)?;
            for (parameter, ordinal) in parameters.iter().zip(1..) {
                let row = described(parameter, ordinal, is_case_sensitive);
                self.sink.row(&row).map_err(closed)?;
            }
            self.session.set_row_count(parameters.len() as i64);
            self.done(Some(parameters.len() as u64), DoneKind::Select)
        });
        result.map_err(|error| only_statement(self.failure(error, line)))?;
        Ok(CallResult {
            flow: Flow::Next,
            status: 0,
            value: None,
            outputs: Vec::new(),
        })
    }

    fn undeclared(&mut self, given: &[GivenArgument<'_>]) -> Result<Vec<Deduced>> {
        let statement = argument(given, "@tsql", 0, LONG)?;
        let statement = statement.ok_or_else(|| messages::parameter_not_supplied(NAME, "@tsql"))?;
        let declarations = argument(given, "@params", 1, LONG)?;
        let text = statement.as_str().unwrap_or("");
        let declarations = declarations.as_ref().and_then(Value::as_str).unwrap_or("");
        match self.deduced(text, declarations) {
            Err(error) if !(11_502..=11_528).contains(&error.number) => Err(error.followed_by(not_analyzed())),
            outcome => outcome,
        }
    }

    /// The names and types of the undeclared parameters of a text.
    pub(super) fn undeclared_types(&mut self, text: &str, declarations: &str) -> Result<Vec<(String, SqlType)>> {
        let found = self.deduced(text, declarations)?;
        Ok(found
            .into_iter()
            .map(|deduced| (deduced.name, deduced.sql_type))
            .collect())
    }

    fn deduced(&mut self, text: &str, declarations: &str) -> Result<Vec<Deduced>> {
        let callable = self.text(declarations, text).map_err(|failure| failure.error())?;
        let batch = callable.batch.clone();
        let deduction = RefCell::default();
        let walk = Walk {
            session: self.session,
            scope: &batch.scope,
            text,
            deduction: &deduction,
            others: RefCell::default(),
        };
        let walked = self.session.within_schema(None, || walk.statements(&batch.statements));
        walked.and_then(|()| walk.in_order())
    }
}
