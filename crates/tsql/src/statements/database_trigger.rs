//! CREATE, ALTER and DROP TRIGGER ... ON DATABASE; ENABLE and DISABLE of these (sql-docs, "CREATE TRIGGER", "DISABLE TRIGGER").
//!
//! Such a trigger is a module in the schema with the empty name. The schema has nothing else, so its name cannot conflict with a table's.

use std::cell::Cell;
use std::sync::Arc;

use engine::catalog::{CatalogObject, DefinitionTrigger, ModuleDefinition, ModuleKind, ObjectDefinition};
use engine::database::Database;
use engine::error::Result;

use super::body_check::BodyCheck;
use super::bound_parts::PartBinder;
use super::executor::{Executor, Flow, Outcome};
use crate::ast::{CreateDatabaseTrigger, DefinitionKind, Name, StatementKind, SwitchTriggers};
use crate::bind::VariableScope;
use crate::grammar::EventType;
use crate::messages;
use crate::modules::UserTypes;
use crate::sink::DoneKind;

impl Executor<'_> {
    /// CREATE and ALTER TRIGGER ... ON DATABASE. What is wrong in its body has a line of its own.
    pub(super) fn create_database_trigger(
        &mut self,
        kind: &StatementKind,
        trigger: &CreateDatabaseTrigger,
        line: u32,
    ) -> Outcome<Flow> {
        let line = Cell::new(line);
        let created = self.redefining_by(kind, 0, |executor| executor.store_database_trigger(trigger, &line));
        let done = created.and_then(|()| {
            self.session.set_row_count(0);
            self.done(None, DoneKind::Other)
        });
        done.map(|()| Flow::Next)
            .map_err(|error| self.failure_of_module(error, line.get(), trigger.name.object()))
    }

    fn store_database_trigger(&mut self, trigger: &CreateDatabaseTrigger, line: &Cell<u32>) -> Result<()> {
        let database = self.session.database();
        let own_name = own_name(&trigger.name)?;
        let found = database.catalog.find("", own_name, self.session.id);
        let former = match (found, trigger.definition) {
            (Some(_), DefinitionKind::Create) => return Err(messages::object_exists(own_name)),
            (None, DefinitionKind::Alter) => return Err(messages::invalid_object_name(own_name)),
            (found, _) => found,
        };
        if let Some(former) = &former {
            self.session.engine.borrow().lock_definition(&database, former)?;
        }
        self.check_database_trigger(trigger, &database, line)?;
        let object_id = match &former {
            Some(former) => former.definition.object_id(),
            None => database.new_object_id()?,
        };
        let own = former
            .as_ref()
            .and_then(|former| former.definition.definition_trigger());
        let events = trigger.events.iter();
        let mut fires_for: Vec<u16> = Vec::new();
        for event in events.filter_map(|event| EventType::named(&event.text)) {
            if !fires_for.contains(&event.number) {
                fires_for.push(event.number);
            }
        }
        let created = self.session.now_ticks();
        let definition = ObjectDefinition::Module(ModuleDefinition {
            object_id,
            schema: String::new(),
            name: own_name.to_owned(),
            kind: ModuleKind::DatabaseTrigger,
            text: trigger.text.clone(),
            uses_ansi_nulls: self.session.options().ansi_nulls,
            uses_quoted_identifier: self.session.options().quoted_identifier,
            columns: Vec::new(),
            parent: 0,
            triggers: Vec::new(),
            // "If an ALTER TRIGGER statement changes a first or last trigger, the first or last attribute ... is dropped" (sql-docs,
            // "ALTER TRIGGER").
            rows: None,
            definition_trigger: Some(DefinitionTrigger {
                fires_for,
                first_for: Vec::new(),
                last_for: Vec::new(),
                is_disabled: own.is_some_and(|own| own.is_disabled),
            }),
            created: (created.days, created.ticks),
        });
        let mut engine = self.session.engine.borrow_mut();
        match &former {
            Some(former) => engine.replace_object(&database, former, definition),
            None => engine.create_object(&database, definition),
        }
        .map(|_| ())
    }

    /// Binds the statements of a trigger as those of a procedure are.
    fn check_database_trigger(
        &self,
        trigger: &CreateDatabaseTrigger,
        database: &Database,
        line: &Cell<u32>,
    ) -> Result<()> {
        let types = UserTypes::of(database, self.session.id, self.session.version());
        let mut scope = VariableScope::default();
        scope.collect(&trigger.body, types).map_err(|(_, error)| error)?;
        let check = BodyCheck {
            session: self.session,
            scope: &scope,
            line,
        };
        self.session.within_schema(None, || check.statements(&trigger.body))
    }

    /// A trigger of the current database by its name.
    fn database_trigger(&self, name: &Name) -> Result<Option<(Arc<Database>, Arc<CatalogObject>)>> {
        let database = self.session.database();
        let found = database.catalog.find("", own_name(name)?, self.session.id);
        Ok(found.map(|found| (database, found)))
    }

    /// DROP TRIGGER of one name.
    pub(super) fn drop_database_trigger(&mut self, name: &Name, if_exists: bool) -> Result<()> {
        match self.database_trigger(name)? {
            Some((database, trigger)) => self.session.engine.borrow_mut().drop_object(&database, &trigger),
            None if if_exists => Ok(()),
            None => Err(messages::cannot_drop("trigger", &name.to_string())),
        }
    }

    /// ENABLE and DISABLE TRIGGER ... ON DATABASE.
    pub(super) fn switch_database_triggers(&mut self, switch: &SwitchTriggers) -> Result<()> {
        let database = self.session.database();
        let mut chosen = Vec::new();
        for name in &switch.names {
            let found = self.database_trigger(name)?;
            let (_, trigger) = found.ok_or_else(|| messages::cannot_find_trigger(&name.to_string()))?;
            chosen.push(trigger);
        }
        if switch.names.is_empty() {
            chosen = database.database_triggers(self.session.id);
        }
        let mut engine = self.session.engine.borrow_mut();
        for trigger in chosen {
            let mut definition = trigger.definition.clone();
            if let ObjectDefinition::Module(module) = &mut definition
                && let Some(own) = &mut module.definition_trigger
            {
                own.is_disabled = !switch.enable;
            }
            engine.replace_object(&database, &trigger, definition)?;
        }
        Ok(())
    }
}

/// The name of a trigger of the database, which stands alone.
///
/// # Errors
/// 1094 for one with a schema.
fn own_name(name: &Name) -> Result<&str> {
    match name.parts.len() {
        1 => Ok(name.object()),
        _ => Err(messages::schema_of_database_trigger()),
    }
}
