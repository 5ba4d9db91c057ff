//! CREATE and ALTER of procedures, functions and views; what refers to them.

use engine::catalog::{CatalogObject, ModuleDefinition, ModuleKind, ObjectDefinition};
use engine::database::Database;
use engine::error::Result;

use super::executor::{Executor, Flow, Outcome};
use crate::ast::{CreateFunction, DefinitionKind, FunctionBody, Name};
use crate::bind::Binder;
use crate::failure::Failure;
use crate::messages;
use crate::modules::{check_function, declared, dependent_on_object};
use crate::sink::DoneKind;

impl Executor<'_> {
    /// CREATE and ALTER FUNCTION. What is refused in its text has a line of its own.
    pub(super) fn create_function(&mut self, function: &CreateFunction, line: u32) -> Outcome<Flow> {
        let own_name = function.name.object();
        check_function(function).map_err(|(line, error)| Box::new(Failure::new(error, line, own_name)))?;
        let created = self
            .check_inline(function)
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

    /// An inline function is bound when it is created: the tables it names must be there, and its columns must have names.
    fn check_inline(&self, function: &CreateFunction) -> Result<()> {
        let FunctionBody::InlineTable(query) = &function.body else {
            return Ok(());
        };
        let (scope, _) = declared(function.parameters.clone())?;
        let (plan, _) = Binder::new(self.session, &scope).inline(query)?;
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
