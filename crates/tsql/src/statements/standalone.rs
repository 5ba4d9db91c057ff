//! CREATE DEFAULT, CREATE RULE, and what DROP DEFAULT and DROP RULE ask. Binding: `system/procedures/bindings.rs`.

use engine::catalog::{CatalogObject, ObjectDefinition, StandaloneDefinition, StandaloneKind};
use engine::database::Database;
use engine::error::Result;

use super::executor::{Executor, Flow, Outcome};
use crate::ast::{CreateStandalone, Name, ObjectKind, StatementKind};
use crate::bind::Binder;
use crate::failure::Failure;
use crate::messages;
use crate::views::{columns_of, table_of};

impl Executor<'_> {
    /// CREATE DEFAULT and CREATE RULE. Errors have the object's name.
    pub(super) fn create_standalone(
        &mut self,
        kind: &StatementKind,
        created: &CreateStandalone,
        line: u32,
    ) -> Outcome<Flow> {
        self.define(kind, |executor| executor.store_standalone(created))
            .map(|()| Flow::Next)
            .map_err(|error| Box::new(Failure::new(error, line, created.name.object())))
    }

    /// # Errors
    /// 160, 161, 166, 2714, 2760; those of judging the expression.
    fn store_standalone(&mut self, created: &CreateStandalone) -> Result<()> {
        let name = &created.name;
        if name.database().is_some() {
            return Err(messages::database_prefix(created.statement()));
        }
        if name.object().starts_with('#') {
            return Err(messages::not_supported("temporary defaults and rules"));
        }
        let database = self.session.database_of(name)?;
        let schema = crate::state::schema_of(name);
        self.check_schema(&database, schema)?;
        let binder = Binder::new(self.session, &self.batch.scope);
        match created.is_rule {
            true => {
                binder.check_rule(&created.stored)?;
                match created.variables {
                    0 => return Err(messages::rule_without_variable()),
                    1 => {}
                    _ => return Err(messages::rule_with_several_variables()),
                }
            }
            false => binder.check_default_object(&created.stored)?,
        }
        let made = self.session.now_ticks();
        let definition = StandaloneDefinition {
            object_id: database.new_object_id()?,
            schema: schema.to_owned(),
            name: name.object().to_owned(),
            kind: match created.is_rule {
                true => StandaloneKind::Rule,
                false => StandaloneKind::Default,
            },
            text: created.text.clone(),
            expression: created.stored.clone(),
            created: (made.days, made.ticks),
        };
        let mut engine = self.session.engine.borrow_mut();
        let stored = engine.create_object(&database, ObjectDefinition::Standalone(definition));
        stored.map(|_| ())
    }

    /// 3716 for a default or rule that a column or an alias type has.
    pub(super) fn check_not_bound(&self, database: &Database, object: &CatalogObject) -> Result<()> {
        let ObjectDefinition::Standalone(own) = &object.definition else {
            return Ok(());
        };
        let has_it = |other: &CatalogObject| match &other.definition {
            ObjectDefinition::AliasType(alias) => alias.bound.has(own.object_id),
            _ => columns_of(other).iter().any(|column| column.bound.has(own.object_id)),
        };
        let is_bound = database
            .catalog
            .objects(self.session.id)
            .iter()
            .any(|other| has_it(other));
        match (is_bound, own.kind) {
            (false, _) => Ok(()),
            (true, StandaloneKind::Default) => Err(messages::bound_default_dropped(&own.name)),
            (true, StandaloneKind::Rule) => Err(messages::bound_rule_dropped(&own.name)),
        }
    }

    /// 3717 when what DROP DEFAULT names is a constraint.
    pub(super) fn check_no_default_constraint(&self, kind: ObjectKind, name: &Name) -> Result<()> {
        if kind != ObjectKind::Default {
            return Ok(());
        }
        let database = self.session.database_of(name)?;
        let schema = crate::state::schema_of(name);
        let has_it = |object: &CatalogObject| {
            let table = table_of(object).filter(|table| table.schema.eq_ignore_ascii_case(schema));
            let mut columns = table.into_iter().flat_map(|table| &table.columns);
            columns.any(|column| {
                let constraint = column.default.as_ref();
                constraint.is_some_and(|constraint| constraint.name.eq_ignore_ascii_case(name.object()))
            })
        };
        match database
            .catalog
            .objects(self.session.id)
            .iter()
            .any(|object| has_it(object))
        {
            true => Err(messages::constraint_dropped_as_default()),
            false => Ok(()),
        }
    }
}
