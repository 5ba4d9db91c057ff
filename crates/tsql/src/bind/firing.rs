//! The triggers that a statement fires, and views whose INSTEAD OF triggers run in place of a change.
//!
//! A statement in an INSTEAD OF trigger that changes the trigger's own view "is resolved as modifications against the base tables
//! underlying the view" (sql-docs, "CREATE TRIGGER"): it is bound as if the view had no trigger. Everywhere else the view itself is the
//! target ([`Target::View`]), and its query need not be updatable.

use std::sync::Arc;

use engine::catalog::{ModuleKind, ObjectDefinition, TriggerEntry};
use engine::error::Result;

use super::from::{FromBuilder, FromClause};
use super::target::Found;
use super::{Binder, ScopeColumn};
use crate::ast::{self, Name, TableHint, TableSource};
use crate::messages;
use crate::modules::{TableVariableShape, VariableColumn};
use crate::plan::{BoundOutput, FiredEvent, Firing, RowAction, Target, TargetColumn, TargetColumns, ViewTarget};

impl<'a> Binder<'a> {
    /// What a statement fires that does these things to rows of a target, each with the columns that it sets. `None` where nothing fires.
    pub(super) fn firing(
        &self,
        target: &Target,
        columns: &TargetColumns,
        actions: &[(RowAction, &[usize])],
    ) -> Option<Arc<Firing>> {
        let held;
        let (database_id, triggers): (_, &[TriggerEntry]) = match target {
            Target::Table(table) => (table.table.database().id, &table.table.definition().triggers),
            Target::Variable(..) => return None,
            Target::View(view) => {
                let database = self.session.instance.database_by_id(view.database_id)?;
                held = database.catalog.by_id(view.object_id, self.session.id)?;
                (view.database_id, held.definition.triggers())
            }
        };
        if triggers.is_empty() {
            return None;
        }
        let count = columns.columns.len();
        let event = |&(action, set): &(RowAction, &[usize])| {
            let is_set = |column: usize| match action {
                RowAction::Insert => true,
                RowAction::Update => set.contains(&column),
                RowAction::Delete => false,
            };
            FiredEvent::of(triggers, action, (0..count).map(is_set).collect())
        };
        let events: Vec<FiredEvent> = actions.iter().filter_map(event).collect();
        if events.is_empty() {
            return None;
        }
        let shown = columns.columns.iter().map(|column| {
            let types = (column.sql_type, column.collation);
            VariableColumn::of_target(&column.name, types, column.nullable, column.is_hidden)
        });
        Some(Arc::new(Firing {
            database_id,
            shape: Arc::new(TableVariableShape::of_target(shown)),
            events,
        }))
    }

    /// 334 for OUTPUT to the client from a target whose triggers fire.
    pub(super) fn require_no_triggers(&self, columns: &TargetColumns, output: Option<&BoundOutput>) -> Result<()> {
        let to_client = output.is_some_and(BoundOutput::goes_to_client);
        match &columns.firing {
            Some(_) if to_client => {
                let name = columns.table_name.rsplit('.').next().unwrap_or_default();
                Err(messages::output_with_triggers(name))
            }
            _ => Ok(()),
        }
    }

    /// 331 for a table with enabled triggers as the target of OUTPUT INTO.
    pub(super) fn require_no_enabled_triggers(&self, target: &Target) -> Result<()> {
        let Target::Table(table) = target else { return Ok(()) };
        let definition = table.table.definition();
        match definition.triggers.iter().any(|trigger| !trigger.is_disabled) {
            true => Err(messages::output_into_triggers(&definition.name)),
            false => Ok(()),
        }
    }

    /// The view that a target names, if an INSTEAD OF trigger runs for this action in place of a change of it. The target of UPDATE and
    /// DELETE may be an alias of FROM.
    pub(super) fn instead_view(
        &self,
        target: &ast::Target,
        from: &[TableSource],
        action: RowAction,
    ) -> Result<Option<ViewTarget>> {
        let ast::Target::Table(written) = target else {
            return Ok(None);
        };
        let name = match written.parts.len() {
            1 => aliased(written, from).unwrap_or(written),
            _ => written,
        };
        let is_common_table = self.ctes.iter().any(|cte| cte.definition.name.is(name.object()));
        if name.parts.len() == 1 && (is_common_table || self.variables.trigger_table(name.object()).is_some()) {
            return Ok(None);
        }
        let Some((database, object)) = self.session.find_source(name)? else {
            return Ok(None);
        };
        let ObjectDefinition::Module(module) = &object.definition else {
            return Ok(None);
        };
        let event = FiredEvent::of(&module.triggers, action, Vec::new());
        let Some(trigger) = event.and_then(|event| event.instead_of) else {
            return Ok(None);
        };
        let is_own = self.variables.has_trigger_tables() && !self.session.may_run_instead(database.id, trigger);
        let is_view = module.kind == ModuleKind::View && !is_own;
        Ok(is_view.then(|| ViewTarget {
            database_id: database.id,
            object_id: module.object_id,
            name: module.name.clone(),
        }))
    }

    /// A view as the target of INSERT: its columns, of a query that is not run.
    pub(super) fn insert_into_view(
        &mut self,
        target: &ast::Target,
        view: ViewTarget,
    ) -> Result<(Target, TargetColumns)> {
        let mut clause = FromClause::default();
        let sources = self.sources.len();
        self.own_source(target, &[], &mut FromBuilder::default(), &mut clause)?;
        self.sources.truncate(sources);
        let columns = columns_of_view(&clause.columns, &view);
        Ok((Target::View(Arc::new(view)), columns))
    }

    /// A view as the target of UPDATE or DELETE within its FROM. Its rows have no place: nothing is written.
    pub(super) fn find_view(
        &mut self,
        target: &ast::Target,
        hints: &[TableHint],
        from: &'a [TableSource],
        view: ViewTarget,
    ) -> Result<Found> {
        let mut builder = FromBuilder::default();
        let links = from.iter().map(super::select::links_of).sum();
        let mut clause = self.in_chain(links, |binder| binder.sources(from, &mut builder))?;
        let own_name = match target {
            ast::Target::Table(name) => name.object().to_owned(),
            ast::Target::Variable(name) => name.clone(),
        };
        let is_exposed = |name: &str| name.eq_ignore_ascii_case(&own_name);
        if !clause.names.iter().any(|exposed| is_exposed(&exposed.name)) {
            self.own_source(target, hints, &mut builder, &mut clause)?;
        }
        let own: Vec<ScopeColumn> = clause
            .columns
            .iter()
            .filter(|column| is_exposed(&column.qualifier))
            .cloned()
            .collect();
        let offset = own.first().map_or(0, |column| column.index);
        let columns = Arc::new(columns_of_view(&own, &view));
        // A place that nothing writes: it is always NULL.
        let locator = builder.take(1);
        let is_single = clause.names.len() == 1;
        Ok(Found {
            clause,
            target: Target::View(Arc::new(view)),
            columns,
            offset,
            locator,
            width: builder.width,
            is_single,
            no_wait: false,
            shown: None,
            names: [own_name.clone(), own_name],
        })
    }
}

/// The source of FROM with this alias.
fn aliased<'f>(alias: &Name, from: &'f [TableSource]) -> Option<&'f Name> {
    from.iter().find_map(|source| match source {
        TableSource::Table(reference) => {
            let is_it = reference.alias.as_ref().is_some_and(|own| own.is(alias.object()));
            is_it.then_some(&reference.name)
        }
        TableSource::Join(join) => aliased(alias, std::slice::from_ref(&join.left))
            .or_else(|| aliased(alias, std::slice::from_ref(&join.right))),
        _ => None,
    })
}

/// The columns of a view's rows: whatever its trigger makes of them, they take NULL, have no defaults and no identity.
fn columns_of_view(shown: &[ScopeColumn], view: &ViewTarget) -> TargetColumns {
    let column = |column: &ScopeColumn| TargetColumn {
        name: column.name.clone(),
        sql_type: column.sql_type,
        collation: column.label.collation(),
        nullable: true,
        identity: false,
        default: None,
        computed: None,
        is_generated: false,
        is_hidden: column.is_hidden,
    };
    TargetColumns {
        columns: shown.iter().map(column).collect(),
        table_name: view.name.clone(),
        ..TargetColumns::default()
    }
}
