//! CREATE and ALTER of procedures, functions and views; what refers to them.

use engine::catalog::{CatalogObject, ModuleDefinition, ModuleKind, ObjectDefinition};
use engine::database::Database;
use engine::error::{Error, Result};

use super::executor::{Executor, Flow, Outcome};
use crate::ast::{CreateFunction, CreateView, DefinitionKind, FunctionBody, Name, QueryBody, SelectItem};
use crate::bind::Binder;
use crate::failure::Failure;
use crate::messages;
use crate::modules::{VariableScope, check_function, declared, dependent_on_object, one_part_source};
use crate::sink::DoneKind;

impl Executor<'_> {
    /// CREATE and ALTER FUNCTION. What is refused in its text has a line of its own.
    pub(super) fn create_function(&mut self, function: &CreateFunction, line: u32) -> Outcome<Flow> {
        let own_name = function.name.object();
        check_function(function).map_err(|(line, error)| Box::new(Failure::new(error, line, own_name)))?;
        let created = self
            .check_function_names(function)
            .and_then(|()| {
                self.create_module(
                    &function.name,
                    ModuleKind::Function,
                    function.definition,
                    &function.text,
                )
            })
            .and_then(|()| {
                self.session.set_row_count(0);
                self.done(None, DoneKind::Other)
            });
        created
            .map(|()| Flow::Next)
            .map_err(|error| Box::new(Failure::new(error, line, own_name)))
    }

    /// CREATE and ALTER VIEW. WITH SCHEMABINDING it is bound when it is created: what it names must be there, and in two parts.
    pub(super) fn create_view(&mut self, view: &CreateView) -> Result<()> {
        if is_schema_bound(&view.options) {
            let scope = VariableScope::default();
            let bound = Binder::new(self.session, &scope)
                .bound_to_schema(true)
                .inline(&view.query);
            bound.map_err(|error| named(error, "view", &view.name))?;
            if has_star(&view.query.body) {
                return Err(messages::star_in_schema_bound());
            }
        }
        self.create_module(&view.name, ModuleKind::View, view.definition, &view.text)
    }

    /// An inline function is bound when it is created: the tables it names must be there, and its columns must have
    /// names. The statements of others are looked at for names alone, and only
    /// WITH SCHEMABINDING.
    fn check_function_names(&self, function: &CreateFunction) -> Result<()> {
        let is_bound = is_schema_bound(&function.options);
        let FunctionBody::InlineTable(query) = &function.body else {
            let name = is_bound.then(|| one_part_source(&function.text)).flatten();
            return match name {
                Some(name) => Err(messages::cannot_schema_bind(
                    "function",
                    &function.name.to_string(),
                    &name,
                )),
                None => Ok(()),
            };
        };
        let (scope, _) = declared(function.parameters.clone())?;
        let mut binder = Binder::new(self.session, &scope).bound_to_schema(is_bound);
        let bound = binder.inline(query);
        let (plan, _) = bound.map_err(|error| named(error, "function", &function.name))?;
        if is_bound && has_star(&query.body) {
            return Err(messages::star_in_schema_bound());
        }
        match plan.columns.iter().position(|column| column.name.is_empty()) {
            Some(position) => Err(messages::module_column_without_name(position + 1)),
            None => Ok(()),
        }
    }

    /// Stores a module. ALTER makes no object of another kind out of one.
    pub(super) fn create_module(
        &mut self,
        name: &Name,
        kind: ModuleKind,
        how: DefinitionKind,
        text: &str,
    ) -> Result<()> {
        self.redefining(|executor| executor.store_module(name, kind, how, text))
    }

    fn store_module(&mut self, name: &Name, kind: ModuleKind, how: DefinitionKind, text: &str) -> Result<()> {
        let own_name = name.object();
        if name.database().is_some() {
            return Err(messages::database_prefix(statement_of(kind)));
        }
        if own_name.starts_with('#') && kind == ModuleKind::View {
            return Err(messages::temporary_view());
        }
        let database = self.session.database_of(name)?;
        let former = self.session.find_object(name)?;
        let schema = crate::state::schema_of(name);
        self.check_schema(&database, schema)?;
        let former_name = former
            .as_ref()
            .and_then(|(_, object)| object.definition.qualified_name());
        let stored = match former_name {
            Some((_, stored)) => stored.to_owned(),
            None => self.session.name_to_store(&database, own_name)?,
        };
        let created = self.session.now_ticks();
        let object_id = match &former {
            Some((_, object)) => object.definition.object_id(),
            None => database.new_object_id()?,
        };
        let definition = ObjectDefinition::Module(ModuleDefinition {
            object_id,
            schema: schema.to_owned(),
            name: stored,
            kind,
            text: text.to_owned(),
            uses_ansi_nulls: self.session.options().ansi_nulls,
            uses_quoted_identifier: self.session.options().quoted_identifier,
            created: (created.days, created.ticks),
        });
        match (former, how) {
            (Some(_), DefinitionKind::Create) => Err(messages::object_exists(name.object())),
            (None, DefinitionKind::Alter) => Err(messages::invalid_object_name(&name.to_string())),
            (Some((_, object)), _) => {
                if crate::views::type_code(&object.definition) != crate::views::type_code(&definition) {
                    return Err(messages::incompatible_object_type(&name.to_string()));
                }
                self.session.engine.borrow().lock_definition(&database, &object)?;
                self.check_not_named(&database, &object, "ALTER", &name.to_string())?;
                let mut engine = self.session.engine.borrow_mut();
                engine.replace_object(&database, &object, definition).map(|_| ())
            }
            (None, _) => {
                let mut engine = self.session.engine.borrow_mut();
                let object = engine.create_object(&database, definition)?;
                drop(engine);
                self.session.note_temporary(own_name, &object);
                Ok(())
            }
        }
    }

    /// 3729 for a function that a CHECK or DEFAULT calls, and for whatever a schema-bound module names.
    pub(super) fn check_not_named(
        &self,
        database: &Database,
        object: &CatalogObject,
        statement: &str,
        written: &str,
    ) -> Result<()> {
        match dependent_on_object(database, self.session.id, object) {
            Some(by) => Err(messages::referenced_by_object(statement, written, &by)),
            None => Ok(()),
        }
    }
}

fn statement_of(kind: ModuleKind) -> &'static str {
    match kind {
        ModuleKind::View => "CREATE/ALTER VIEW",
        ModuleKind::Procedure => "CREATE/ALTER PROCEDURE",
        ModuleKind::Function => "CREATE/ALTER FUNCTION",
    }
}

fn is_schema_bound(options: &[String]) -> bool {
    options.iter().any(|option| option == "SCHEMABINDING")
}

/// 4512 with the name of the module that is bound.
fn named(error: Error, kind: &str, module: &Name) -> Error {
    let nameless = messages::cannot_schema_bind("", "", "");
    if error.number != nameless.number {
        return error;
    }
    let message = error
        .message
        .replacen(" '' because", &format!("{kind} '{module}' because"), 1);
    Error { message, ..error }
}

/// Whether a select list of a query is written with `*`.
fn has_star(body: &QueryBody) -> bool {
    match body {
        QueryBody::Select(select) => select
            .items
            .iter()
            .any(|item| matches!(item, SelectItem::Wildcard { .. })),
        QueryBody::SetOperations { first, others } => {
            has_star(first) || others.iter().any(|(_, other)| has_star(other))
        }
    }
}
