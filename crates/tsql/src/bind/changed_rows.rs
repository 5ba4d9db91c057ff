//! An INSERT of the OUTPUT rows of another change: `INSERT ... SELECT items FROM (UPDATE ... OUTPUT ...) AS d WHERE condition`.
//!
//! The nested change is bound as a separate statement. The columns of its OUTPUT are the input of the SELECT, which is only a condition and
//! expressions over one such row: the parser refuses all other clauses.

use engine::error::Result;

use super::scope::{Level, SelectLevel};
use super::{Binder, BoundDelete, BoundInsert, BoundMerge, BoundUpdate, ScopeColumn};
use crate::ast::{self, Identifier, Insert, NestedChange, Query, QueryBody, Select, TableSource};
use crate::messages;
use crate::plan::{BoundOutput, Condition, Expr, Target, TargetColumns};
use crate::sink::ResultColumn;

/// A change that is the source of an INSERT. Its OUTPUT goes to the INSERT.
pub enum Nested {
    Insert(Box<BoundInsert>),
    Update(Box<BoundUpdate>),
    Delete(Box<BoundDelete>),
    Merge(Box<BoundMerge>),
}

impl Nested {
    /// What it puts out.
    pub fn output(&self) -> Option<&BoundOutput> {
        match self {
            Nested::Insert(insert) => insert.output.as_ref(),
            Nested::Update(update) => update.search.output.as_ref(),
            Nested::Delete(delete) => delete.search.output.as_ref(),
            Nested::Merge(merge) => merge.search.output.as_ref(),
        }
    }
}

/// The rows that a change puts out, as an INSERT takes them.
pub struct ChangedRows {
    pub change: Nested,
    /// Which of them, over the columns of OUTPUT.
    pub condition: Option<Condition>,
    /// What of them, over the same, with names and types.
    pub items: Vec<(Expr, ResultColumn)>,
}

/// The parts of a query that takes the rows of a change: its SELECT and the source, with its alias and the names of its columns.
type Taker<'q> = (&'q Select, &'q NestedChange, &'q Identifier, &'q [Identifier]);

/// The change whose rows the query of an INSERT takes, if there is one.
pub(super) fn change_in(query: &Query) -> Option<Taker<'_>> {
    let QueryBody::Select(select) = &query.body else {
        return None;
    };
    match select.from.as_slice() {
        [
            TableSource::Change {
                change, alias, columns, ..
            },
        ] => Some((select, change, alias, columns)),
        _ => None,
    }
}

impl<'a> Binder<'a> {
    /// The rows of an INSERT that a change puts out.
    ///
    /// # Errors
    /// Those of the change; 334 when its target has triggers; 353, 5321, 5322, 5323 and 11734 for what may not stand in the SELECT.
    pub(super) fn rows_of_change(&mut self, query: &'a Query) -> Result<ChangedRows> {
        let Some((select, change, alias, names)) = change_in(query) else {
            return Err(messages::column_count_mismatch());
        };
        if super::query::assigns(&query.body) {
            return Err(messages::assignment_in_insert());
        }
        self.obey_query_hints(&query.hints)?;
        let change = match change {
            NestedChange::Insert(insert) => Nested::Insert(Box::new(self.insert(insert)?)),
            NestedChange::Update(update) => Nested::Update(Box::new(self.update(update)?)),
            NestedChange::Delete(delete) => Nested::Delete(Box::new(self.delete(delete)?)),
            NestedChange::Merge(merge) => Nested::Merge(Box::new(self.merge(merge)?)),
        };
        let shown = change.output().map_or(&[][..], |output| output.columns.as_slice());
        let visible = visible(shown, alias, names)?;
        let level = Level::Select(SelectLevel {
            columns: visible,
            aggregates: Some(Vec::new()),
            windows: Some(Vec::new()),
            ..SelectLevel::default()
        });
        let (condition, popped) = self.within(level, |binder| match &select.selection {
            None => Ok((None, binder.output_items(&select.items)?)),
            Some(selection) => {
                let condition = binder.search_condition(selection)?;
                Ok((Some(condition), binder.output_items(&select.items)?))
            }
        })?;
        let (condition, items) = condition;
        check_level(&popped)?;
        if condition.as_ref().is_some_and(Condition::contains_query) {
            return Err(messages::subquery_beside_change("WHERE"));
        }
        if items.iter().any(|(item, _)| item.contains_query()) {
            return Err(messages::subquery_beside_change("SELECT"));
        }
        Ok(ChangedRows {
            change,
            condition,
            items,
        })
    }

    /// Whether the target of an INSERT may take the rows of a change.
    ///
    /// # Errors
    /// 354 for a view or common table expression, 355 for a table with triggers, 356 for one with foreign keys; 10718 for OUTPUT INTO.
    pub(super) fn require_taker(
        &self,
        insert: &Insert,
        target: &Target,
        columns: &TargetColumns,
        is_query: bool,
    ) -> Result<()> {
        let written = match &insert.target {
            ast::Target::Table(name) => name.to_string(),
            ast::Target::Variable(name) => name.clone(),
        };
        if insert.top.is_some() {
            return Err(messages::clause_beside_change("TOP or OFFSET"));
        }
        if insert.output.as_ref().is_some_and(|output| output.into.is_some()) {
            return Err(messages::clause_beside_change("OUTPUT INTO"));
        }
        if is_query || matches!(target, Target::View(_)) {
            return Err(messages::change_into_query(&written));
        }
        if columns.firing.is_some() {
            return Err(messages::change_into_triggers(&written));
        }
        match self.first_reference(target) {
            Some(key) => Err(messages::change_into_foreign_key(&written, &key)),
            None => Ok(()),
        }
    }
}

/// What OUTPUT shows, as columns of the alias.
fn visible(shown: &[ResultColumn], alias: &Identifier, names: &[Identifier]) -> Result<Vec<ScopeColumn>> {
    if !names.is_empty() && names.len() != shown.len() {
        return Err(match names.len() < shown.len() {
            true => messages::column_list_too_short(&alias.text),
            false => messages::column_list_too_long(&alias.text),
        });
    }
    let column = |(index, column): (usize, &ResultColumn)| -> Result<ScopeColumn> {
        let name = names.get(index).map_or(&column.name, |name| &name.text);
        if name.is_empty() {
            return Err(messages::column_without_name(index + 1, &alias.text));
        }
        Ok(ScopeColumn {
            qualifier: alias.text.clone(),
            name: name.clone(),
            sql_type: column.sql_type,
            label: column.label,
            nullable: column.nullable,
            index,
            ..ScopeColumn::plain()
        })
    };
    shown.iter().enumerate().map(column).collect()
}

/// 5321 and 5322 for functions over several rows.
fn check_level(level: &Level) -> Result<()> {
    let Level::Select(level) = level else { return Ok(()) };
    if level.aggregates.as_ref().is_some_and(|found| !found.is_empty()) {
        return Err(messages::aggregate_beside_change("SELECT"));
    }
    match &level.windows {
        Some(found) if !found.is_empty() => Err(messages::function_beside_change("OVER", "SELECT")),
        _ => Ok(()),
    }
}
