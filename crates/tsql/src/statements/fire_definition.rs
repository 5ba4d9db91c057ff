//! Runs the DDL triggers of a database after a statement that changed a definition, in the statement's unit and before its result is sent.
//!
//! ```text
//! which fire     triggers that exist and are enabled both before and after the statement: none for its own CREATE or DROP
//! in what order  the first of the event, triggers without an order by age, the last
//! what they see  EVENTDATA(), and the changed definition
//! ROLLBACK       3609 with state 2, the batch ends; nothing of the definition is left
//! ```
//! Everything else works as for triggers of tables (`fire`), including nesting and recursion (sql-docs, "DDL triggers", "CREATE TRIGGER").
//!
//! Invariant: in a database that never had such a trigger, a statement only checks the boot record.

use std::sync::Arc;

use engine::catalog::{CatalogObject, ObjectDefinition, TableDefinition, TriggerOrder};
use engine::database::Database;
use engine::error::Result;
use engine::types::Value;

use super::definition_event::{Elements, Subject, action_list, document, event_of_procedure};
use super::executor::Executor;
use crate::ast::StatementKind;
use crate::grammar::EventType;
use crate::state::Reading;

/// An event that a statement is about to be.
pub(super) struct Expected {
    database: Arc<Database>,
    event: &'static EventType,
    elements: Elements,
    /// Those that fire, in their order.
    triggers: Vec<Arc<CatalogObject>>,
    /// The table that ALTER TABLE is about to change.
    table: Option<TableDefinition>,
    /// How many changes of the catalog there were before.
    changes: usize,
}

impl Executor<'_> {
    /// As [`Executor::redefining`], by a statement that triggers of the database may fire for; `place` is that of the object among those
    /// that it names.
    pub(super) fn redefining_by(
        &mut self,
        kind: &StatementKind,
        place: usize,
        work: impl Fn(&mut Self) -> Result<()>,
    ) -> Result<()> {
        self.redefining(|executor| {
            let subject = Subject::of(kind, place, executor.session);
            let expected = subject.and_then(|subject| executor.expected(&subject));
            work(executor)?;
            executor.fire_expected(Some(kind), expected)
        })
    }

    /// The event that a statement is about to be; `None` where nothing would fire.
    pub(super) fn expected(&self, subject: &Subject<'_>) -> Option<Expected> {
        let session = self.session;
        let database = match subject.place() {
            // What cannot be found fails without an event.
            Some(name) => session.database_of(name).ok()?,
            None => session.database(),
        };
        let known = database.database_triggers(session.id);
        if known.is_empty() || subject.is_temporary() {
            return None;
        }
        let event = EventType::named(&subject.event)?;
        let elements = subject.elements(session, &database, |class, name| self.securable(class, name).ok());
        let table = match event.name {
            "ALTER_TABLE" => subject.place().and_then(|name| self.find_table(name).ok()),
            _ => None,
        };
        let table = table.map(|(_, _, definition)| definition);
        self.firing_for(database, event, (known, elements, table))
    }

    /// The same for a procedure of the system that is given these values.
    pub(super) fn expected_of_procedure(&self, procedure: &str, values: &[Value]) -> Option<Expected> {
        let database = self.session.database();
        let known = database.database_triggers(self.session.id);
        if known.is_empty() {
            return None;
        }
        let (event, elements) = event_of_procedure(self.session, procedure, values)?;
        self.firing_for(database, EventType::named(event)?, (known, elements, None))
    }

    fn firing_for(
        &self,
        database: Arc<Database>,
        event: &'static EventType,
        (known, elements, table): (Vec<Arc<CatalogObject>>, Elements, Option<TableDefinition>),
    ) -> Option<Expected> {
        let place_of = |trigger: &Arc<CatalogObject>| {
            let own = trigger.definition.definition_trigger()?;
            let fires = !own.is_disabled && own.fires_for.iter().any(|named| event.is_within(*named));
            fires.then(|| match own.order_of(event.number) {
                TriggerOrder::First => 0,
                TriggerOrder::None => 1,
                TriggerOrder::Last => 2,
            })
        };
        let mut placed: Vec<(i32, Arc<CatalogObject>)> = known
            .into_iter()
            .filter_map(|trigger| Some((place_of(&trigger)?, trigger)))
            .collect();
        if placed.is_empty() {
            return None;
        }
        placed.sort_by_key(|(place, trigger)| (*place, trigger.definition.object_id()));
        Some(Expected {
            changes: database.catalog.mark(self.session.id),
            database,
            event,
            elements,
            triggers: placed.into_iter().map(|(_, trigger)| trigger).collect(),
            table,
        })
    }

    /// Fires for what a statement has done. One that has dropped nothing was no event.
    pub(super) fn fire_expected(&mut self, kind: Option<&StatementKind>, expected: Option<Expected>) -> Result<()> {
        let Some(expected) = expected else { return Ok(()) };
        let session = self.session;
        let is_drop = expected.event.name.starts_with("DROP_");
        if is_drop && expected.database.catalog.mark(session.id) == expected.changes {
            return Ok(());
        }
        let actions = expected.table.as_ref().map(|before| {
            let after = expected.database.catalog.by_id(before.object_id, session.id);
            match after.as_deref().map(|after| &after.definition) {
                Some(ObjectDefinition::Table(after)) => action_list(kind, before, after),
                _ => String::new(),
            }
        });
        let command = match kind {
            Some(StatementKind::CreateProcedure(procedure)) => procedure.text.clone(),
            Some(StatementKind::CreateFunction(function)) => function.text.clone(),
            Some(StatementKind::CreateView(view)) => view.text.clone(),
            Some(StatementKind::CreateTrigger(trigger)) => trigger.text.clone(),
            Some(StatementKind::CreateDatabaseTrigger(trigger)) => trigger.text.clone(),
            _ => self.statement_text(),
        };
        let parts = (&expected.elements, actions.as_deref().unwrap_or_default());
        let data: Arc<str> = document(session, &expected.database, expected.event.name, parts, &command).into();
        let mut triggers = Vec::with_capacity(expected.triggers.len());
        for trigger in expected.triggers {
            if expected.database.catalog.is_current(&trigger, session.id) {
                session.hold(&expected.database, &trigger, Reading::default())?;
                triggers.push(trigger.definition.object_id());
            }
        }
        self.fire_for_definition(&expected.database, &triggers, &data)
    }

    /// The text of the statement under way, as far as it is known.
    fn statement_text(&self) -> String {
        let (start, end) = self.statement.span;
        let batch = self.whole.as_ref().unwrap_or(&self.batch);
        let text = batch.definitions_text.get(start as usize..end as usize);
        let text = text.filter(|text| !text.is_empty()).map(str::to_owned);
        text.or_else(|| self.session.request_text()).unwrap_or_default()
    }
}
