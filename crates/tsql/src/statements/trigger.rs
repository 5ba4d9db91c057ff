//! CREATE, ALTER and DROP TRIGGER, ENABLE and DISABLE TRIGGER.
//!
//! A trigger consists of two things in the catalog: a module with the text, and an entry in its table or view with the events that fire it.
//! Both change in one unit.

use std::cell::Cell;
use std::sync::Arc;

use engine::catalog::{
    CatalogObject, ForeignKey, ModuleDefinition, ModuleKind, ObjectDefinition, ReferentialAction, TriggerAction,
    TriggerEntry, TriggerEvent, TriggerOrder,
};
use engine::database::Database;
use engine::error::{Error, Result};

use super::body_check::BodyCheck;
use super::bound_parts::PartBinder;
use super::executor::{Executor, Flow, Outcome};
use crate::ast::{self, CreateTrigger, DefinitionKind, Name, StatementKind, SwitchTriggers};
use crate::bind::VariableScope;
use crate::messages;
use crate::modules::{ModuleBody, TableVariableShape, UserTypes, VariableColumn};
use crate::security::check_new_module;
use crate::sink::DoneKind;
use crate::state::{RunningTrigger, TriggerFrame};

/// A database with an object of it.
type Found = (Arc<Database>, Arc<CatalogObject>);

impl Executor<'_> {
    /// CREATE and ALTER TRIGGER. What is wrong in its body has a line of its own.
    pub(super) fn create_trigger(&mut self, kind: &StatementKind, trigger: &CreateTrigger, line: u32) -> Outcome<Flow> {
        let line = Cell::new(line);
        let created = self.redefining_by(kind, 0, |executor| executor.store_trigger(trigger, &line));
        let done = created.and_then(|()| {
            self.session.set_row_count(0);
            self.done(None, DoneKind::Other)
        });
        done.map(|()| Flow::Next)
            .map_err(|error| self.failure_of_module(error, line.get(), trigger.name.object()))
    }

    fn store_trigger(&mut self, trigger: &CreateTrigger, line: &Cell<u32>) -> Result<()> {
        let (database, parent) = self.parent_of(trigger)?;
        let (schema, former) = self.named_trigger(trigger, &database, &parent)?;
        self.session.engine.borrow().lock_definition(&database, &parent)?;
        let object_id = match &former {
            Some(former) => former.definition.object_id(),
            None => database.new_object_id()?,
        };
        if let ObjectDefinition::Table(table) = &parent.definition
            && (table.history_of.is_some() || table.versioning.is_some() && trigger.is_instead_of)
        {
            let name = super::versioning::full_name(&database, table);
            return Err(messages::trigger_of_versioned(&name));
        }
        if trigger.is_instead_of {
            self.check_instead_of(trigger, (&database, &parent), object_id)?;
        }
        self.check_body(trigger, (&database, &parent), object_id, line)?;
        let created = self.session.now_ticks();
        let definition = ObjectDefinition::Module(ModuleDefinition {
            object_id,
            schema,
            name: trigger.name.object().to_owned(),
            kind: ModuleKind::Trigger,
            text: trigger.text.clone(),
            uses_ansi_nulls: self.session.options().ansi_nulls,
            uses_quoted_identifier: self.session.options().quoted_identifier,
            columns: Vec::new(),
            parent: parent.definition.object_id(),
            triggers: Vec::new(),
            rows: None,
            definition_trigger: None,
            created: (created.days, created.ticks),
        });
        check_new_module(&database, self.session.id, &definition)?;
        let mut engine = self.session.engine.borrow_mut();
        match &former {
            Some(former) => engine.replace_object(&database, former, definition)?,
            None => engine.create_object(&database, definition)?,
        };
        // "If an ALTER TRIGGER statement changes a first or last trigger, the first or last attribute originally set on the modified trigger
        // is dropped" (sql-docs, "ALTER TRIGGER").
        let entry = entry_of(trigger, object_id);
        let mut triggers = parent.definition.triggers().to_vec();
        match triggers.iter_mut().find(|other| other.object_id == object_id) {
            Some(own) => {
                *own = TriggerEntry {
                    is_disabled: own.is_disabled,
                    ..entry
                }
            }
            None => triggers.push(entry),
        }
        let definition = parent.definition.with_triggers(triggers);
        engine.replace_object(&database, &parent, definition).map(|_| ())
    }

    /// The table or view that a trigger is for.
    ///
    /// # Errors
    /// 8197 for what is none, for a temporary table, and for a view unless the trigger is INSTEAD OF; 2108 in another database.
    fn parent_of(&self, trigger: &CreateTrigger) -> Result<Found> {
        let name = &trigger.parent;
        let invalid = || messages::invalid_trigger_parent(&name.to_string());
        if trigger.name.database().is_some() {
            return Err(messages::database_prefix("CREATE/ALTER TRIGGER"));
        }
        if name.object().starts_with('#') {
            return Err(invalid());
        }
        let (database, parent) = self.session.find_object(name)?.ok_or_else(invalid)?;
        if !self.session.is_in(&database) {
            return Err(messages::trigger_in_other_database(&name.to_string()));
        }
        match &parent.definition {
            ObjectDefinition::Table(_) => Ok((database, parent)),
            ObjectDefinition::Module(module) if module.kind == ModuleKind::View && trigger.is_instead_of => {
                Ok((database, parent))
            }
            _ => Err(invalid()),
        }
    }

    /// The schema of a trigger, which is its parent's, and the trigger that has its name, if it is altered.
    ///
    /// # Errors
    /// 2103 for another schema, 2714 and 208 for a name that is taken or not there, 2010 for one of something else, 2110 for another parent's
    /// trigger.
    fn named_trigger(
        &self,
        trigger: &CreateTrigger,
        database: &Database,
        parent: &CatalogObject,
    ) -> Result<(String, Option<Arc<CatalogObject>>)> {
        let own_name = trigger.name.object();
        let schema = parent.definition.qualified_name().map_or("dbo", |(schema, _)| schema);
        if trigger
            .name
            .schema()
            .is_some_and(|own| !own.eq_ignore_ascii_case(schema))
        {
            let verb = if trigger.definition == DefinitionKind::Alter {
                "alter"
            } else {
                "create"
            };
            return Err(messages::trigger_schema(verb, &trigger.name.to_string()));
        }
        let found = database.catalog.find(schema, own_name, self.session.id);
        let former = match (found, trigger.definition) {
            (Some(_), DefinitionKind::Create) => return Err(messages::object_exists(own_name)),
            (None, DefinitionKind::Alter) => return Err(messages::invalid_object_name(&trigger.name.to_string())),
            (found, _) => found,
        };
        if let Some(former) = &former {
            let ObjectDefinition::Module(ModuleDefinition {
                kind: ModuleKind::Trigger,
                parent: own,
                ..
            }) = &former.definition
            else {
                return Err(messages::incompatible_object_type(&trigger.name.to_string()));
            };
            if *own != parent.definition.object_id() {
                let names = (trigger.name.to_string(), trigger.parent.to_string());
                return Err(messages::trigger_of_other_object(&names.0, &names.1));
            }
        }
        Ok((schema.to_owned(), former))
    }

    /// Binds the statements of a trigger as those of a procedure are, with the tables that it sees.
    fn check_body(
        &self,
        trigger: &CreateTrigger,
        (database, parent): (&Arc<Database>, &CatalogObject),
        object_id: u32,
        line: &Cell<u32>,
    ) -> Result<()> {
        let types = UserTypes::of(database, self.session.id, self.session.version());
        let mut scope = VariableScope::default();
        scope.declare_trigger_tables()?;
        scope.collect(&trigger.body, types).map_err(|(_, error)| error)?;
        let columns = crate::views::columns_of(parent).iter().map(|column| {
            let types = (column.sql_type, column.collation);
            VariableColumn::of_target(&column.name, types, column.nullable, column.is_hidden())
        });
        let shape = Arc::new(TableVariableShape::of_target(columns));
        let _frame = TriggerFrame::enter(
            self.session,
            RunningTrigger {
                database: database.clone(),
                object_id,
                is_instead_of: trigger.is_instead_of,
                set: vec![true; shape.columns.len()],
                shape,
                event: None,
            },
        );
        let check = BodyCheck {
            session: self.session,
            scope: &scope,
            line,
        };
        let schema = parent.definition.qualified_name().map(|(schema, _)| schema);
        self.session.within_schema(schema, || check.statements(&trigger.body))
    }

    /// 2111 for a second INSTEAD OF trigger of an action, 2113 where a foreign key of the table acts on its rows, 2112 on a view WITH CHECK
    /// OPTION.
    fn check_instead_of(
        &self,
        trigger: &CreateTrigger,
        (database, parent): (&Database, &Arc<CatalogObject>),
        object_id: u32,
    ) -> Result<()> {
        let (own_name, parent_name) = (trigger.name.object(), trigger.parent.object());
        let kind = if matches!(&parent.definition, ObjectDefinition::Table(_)) {
            "table"
        } else {
            "view"
        };
        let others = parent.definition.triggers();
        let is_other = |other: &&TriggerEntry| other.is_instead_of && other.object_id != object_id;
        for event in &trigger.events {
            let action = action_of(*event);
            let mut taken = others.iter().filter(is_other);
            if taken.any(|other| other.order_of(action).is_some()) {
                return Err(messages::instead_of_exists(
                    own_name,
                    kind,
                    parent_name,
                    action.shown().1,
                ));
            }
            if let ObjectDefinition::Table(table) = &parent.definition
                && table.foreign_keys.iter().any(|key| acts(key, action))
            {
                return Err(messages::instead_of_with_cascade(own_name, parent_name));
            }
        }
        if !matches!(&parent.definition, ObjectDefinition::Module(_)) {
            return Ok(());
        }
        match &self.session.module(database, parent)?.body {
            ModuleBody::View(view) if view.check_option => {
                Err(messages::instead_of_with_check_option(own_name, parent_name))
            }
            _ => Ok(()),
        }
    }

    /// DROP TRIGGER of one name: the module goes, and the entry of its table or view.
    pub(super) fn drop_trigger(&mut self, name: &Name, if_exists: bool) -> Result<()> {
        let found = self.session.find_object(name)?;
        let found = found.filter(|(_, object)| parent_id(object).is_some());
        let Some((database, object)) = found else {
            return match if_exists {
                true => Ok(()),
                false => Err(messages::cannot_drop("trigger", &name.to_string())),
            };
        };
        let parent = self.locked_parent(&database, &object)?;
        let mut triggers = parent.definition.triggers().to_vec();
        triggers.retain(|trigger| trigger.object_id != object.definition.object_id());
        let mut engine = self.session.engine.borrow_mut();
        engine.replace_object(&database, &parent, parent.definition.with_triggers(triggers))?;
        engine.drop_object(&database, &object)
    }

    /// The table or view of a trigger, locked against everybody else.
    fn locked_parent(&self, database: &Arc<Database>, trigger: &CatalogObject) -> Result<Arc<CatalogObject>> {
        let id = parent_id(trigger).unwrap_or_default();
        let parent = database.catalog.by_id(id, self.session.id);
        let parent = parent.ok_or_else(|| Error::assertion("a trigger of nothing"))?;
        self.session.engine.borrow().lock_definition(database, &parent)?;
        Ok(parent)
    }

    /// ENABLE and DISABLE TRIGGER, and the same of ALTER TABLE.
    pub(super) fn switch_triggers(&mut self, switch: &SwitchTriggers) -> Result<()> {
        let Some(parent_name) = &switch.parent else {
            return self.switch_database_triggers(switch);
        };
        let missing = || messages::cannot_find_object(&parent_name.to_string());
        let (database, parent) = self.session.find_object(parent_name)?.ok_or_else(missing)?;
        if !matches!(crate::views::type_code(&parent.definition), "U" | "V") {
            return Err(missing());
        }
        self.session.engine.borrow().lock_definition(&database, &parent)?;
        let mut triggers = parent.definition.triggers().to_vec();
        let schema = parent.definition.qualified_name().map_or("dbo", |(schema, _)| schema);
        for name in &switch.names {
            let found = database
                .catalog
                .find(name.schema().unwrap_or(schema), name.object(), self.session.id);
            let id = found.map(|found| found.definition.object_id());
            let own = triggers.iter_mut().find(|trigger| Some(trigger.object_id) == id);
            let own = own.ok_or_else(|| messages::cannot_find_object(&name.to_string()))?;
            own.is_disabled = !switch.enable;
        }
        if switch.names.is_empty() {
            triggers
                .iter_mut()
                .for_each(|trigger| trigger.is_disabled = !switch.enable);
        }
        let definition = parent.definition.with_triggers(triggers);
        let mut engine = self.session.engine.borrow_mut();
        engine.replace_object(&database, &parent, definition).map(|_| ())
    }
}

/// The table or view that a trigger belongs to; `None` for anything else.
pub(super) fn parent_id(object: &CatalogObject) -> Option<u32> {
    match &object.definition {
        ObjectDefinition::Module(module) if module.kind == ModuleKind::Trigger => Some(module.parent),
        _ => None,
    }
}

fn action_of(event: ast::TriggerEvent) -> TriggerAction {
    match event {
        ast::TriggerEvent::Insert => TriggerAction::Insert,
        ast::TriggerEvent::Update => TriggerAction::Update,
        ast::TriggerEvent::Delete => TriggerAction::Delete,
    }
}

fn entry_of(trigger: &CreateTrigger, object_id: u32) -> TriggerEntry {
    let event = |event: &ast::TriggerEvent| TriggerEvent {
        action: action_of(*event),
        order: TriggerOrder::None,
    };
    TriggerEntry {
        object_id,
        events: trigger.events.iter().map(event).collect(),
        is_instead_of: trigger.is_instead_of,
        is_disabled: false,
        is_not_for_replication: trigger.is_not_for_replication,
    }
}

fn acts(key: &ForeignKey, action: TriggerAction) -> bool {
    match action {
        TriggerAction::Insert => false,
        TriggerAction::Update => key.on_update != ReferentialAction::NoAction,
        TriggerAction::Delete => key.on_delete != ReferentialAction::NoAction,
    }
}
