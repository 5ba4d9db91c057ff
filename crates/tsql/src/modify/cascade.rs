//! ON DELETE and ON UPDATE: the actions of a foreign key on rows that refer to deleted rows or to rows with changed keys.
//!
//! ```text
//!               the referenced rows are deleted        their keys change
//! CASCADE       the referring rows are deleted, too    they get the new key
//! SET NULL      the key's columns become NULL          the same
//! SET DEFAULT   they get their defaults, or NULL       the same
//! NO ACTION     547 (station 4)                        the same
//! ```
//! The rows of each such table are changed together by a separate pipeline, so they pass the stations of their table, and the foreign keys
//! that refer to that table act in turn. Error 1785 ensures that no table is reached twice (`statements/cascades.rs`).
//!
//! Invariant: foreign keys are checked after all actions: "all CASCADE, SET NULL and SET DEFAULT actions are applied before the Database
//! Engine checks for any NO ACTION" (sql-docs, "Primary and foreign key constraints"). So a pipeline passes up the keys collected for the
//! foreign keys of its table (`References`), and the statement's pipeline checks them.
//!
//! Rows are searched for as in station 4, without keeping locks, by the index of the key if there is one. Each row found is then locked for
//! update and checked once more. A session that makes a row refer to one of the deleted rows writes first and checks then, as everywhere
//! (`reference.rs`), and finds its target gone.

use std::collections::{BTreeMap, HashSet};

use engine::cancel;
use engine::error::{Error, Result};
use engine::lock::Mode;
use engine::session::Table;
use engine::store::{ReadMode, RowLocator};
use engine::types::Value;

use super::reference::{KeyPart, key_parts};
use super::{Following, Pipeline, RowChange};
use crate::context::Context;
use crate::exec::{after_prefix, evaluate, locator_value};
use crate::grant::{Grant, row_bytes};
use crate::plan::{Cascade, CascadeAction, RowAction, Target, TargetColumns};

/// What an entry of a map takes beside its bytes and values.
const ENTRY_BYTES: u64 = 96;
/// What a search in an index comes to.
const STEPS_PER_SEARCH: usize = 8;

/// The actions of a statement's target, with the keys that were collected for them.
#[derive(Default)]
pub(super) struct Cascades<'p> {
    all: Vec<One<'p>>,
}

/// The action of one foreign key.
struct One<'p> {
    cascade: &'p Cascade,
    parts: Vec<KeyPart>,
    /// Keys that rows had, with the values that these columns of them have now; no values for rows that went.
    /// In the order of the keys: one history always changes rows in the same order.
    former: BTreeMap<Vec<u8>, Vec<Value>>,
    grant: Option<Grant>,
}

impl<'p> Cascades<'p> {
    pub(super) fn new(columns: &'p TargetColumns) -> Cascades<'p> {
        let all = columns.cascades.iter().map(|cascade| One {
            cascade,
            parts: key_parts(&cascade.reference),
            former: BTreeMap::new(),
            grant: None,
        });
        Cascades { all: all.collect() }
    }

    pub(super) fn has_any(&self) -> bool {
        !self.all.is_empty()
    }

    /// Collects the key that a row had.
    pub(super) fn note(&mut self, context: &Context<'_>, old: Option<&[Value]>, new: Option<&[Value]>) -> Result<()> {
        let Some(old) = old else { return Ok(()) };
        self.all.iter_mut().try_for_each(|one| one.note(context, old, new))
    }

    /// Carries out the actions; answers what follows from them.
    ///
    /// # Errors
    /// Those of the stations of these tables.
    pub(super) fn run(self, context: &'p Context<'p>, statement: &'static str) -> Result<Following<'p>> {
        let mut following = Following::default();
        for one in self.all.into_iter().filter(|one| !one.former.is_empty()) {
            one.run(context, statement, &mut following)?;
        }
        Ok(following)
    }
}

impl<'p> One<'p> {
    fn note(&mut self, context: &Context<'_>, old: &[Value], new: Option<&[Value]>) -> Result<()> {
        let columns = &self.cascade.reference.columns;
        let of = |row: &[Value]| -> Vec<Value> {
            let values = columns.iter().map(|column| row.get(*column).cloned());
            values.map(|value| value.unwrap_or(Value::Null)).collect()
        };
        let is_delete = self.cascade.follows == RowAction::Delete;
        if is_delete != new.is_none() || new.is_some_and(|new| of(new) == of(old)) {
            return Ok(());
        }
        let Some(key) = KeyPart::key(&self.parts, |part| old.get(part.own)) else {
            return Ok(());
        };
        let values = new.map(of).unwrap_or_default();
        let workspace = &context.session.instance.workspace;
        let grant = self.grant.get_or_insert_with(|| Grant::of(workspace));
        grant.require(key.len() as u64 + row_bytes(&values) + ENTRY_BYTES)?;
        self.former.insert(key, values);
        Ok(())
    }

    fn run(self, context: &'p Context<'p>, statement: &'static str, following: &mut Following<'p>) -> Result<()> {
        crate::stack::require()?;
        let Target::Table(bound) = &self.cascade.target else {
            return Err(Error::assertion("a foreign key of a table variable"));
        };
        let table = &bound.table;
        table.lock(&context.session.locks, Mode::IX)?;
        let mut grant = context.grant();
        let mut changes = Vec::new();
        for locator in self.locators(context, table)? {
            if let Some(change) = self.change(context, table, &locator)? {
                if let RowChange::Update { old, new, .. } = &change {
                    grant.require(row_bytes(old) + row_bytes(new))?;
                }
                changes.push(change);
            }
        }
        if changes.is_empty() {
            return Ok(());
        }
        let cascade = self.cascade;
        let mut pipeline = Pipeline::new(context, &cascade.target, &cascade.columns, statement, None)?;
        pipeline.references.judge_unchanged();
        pipeline.change_all(changes)?;
        pipeline.follow(following)
    }

    /// Where the rows are that may refer to what went, each place once, in the order they are found in.
    fn locators(&self, context: &Context<'_>, table: &Table) -> Result<Vec<RowLocator>> {
        let locks = &context.session.locks;
        let (mut found, mut known) = (Vec::new(), HashSet::new());
        let mut grant = context.grant();
        let mut take = |locator: RowLocator| -> Result<()> {
            if known.insert(locator.clone()) {
                grant.require(ENTRY_BYTES)?;
                found.push(locator);
            }
            Ok(())
        };
        match self.cascade.reference.index {
            Some(place) => {
                for key in self.former.keys() {
                    cancel::spend(STEPS_PER_SEARCH)?;
                    let end = after_prefix(key.clone());
                    let end = end.map_or(std::ops::Bound::Unbounded, std::ops::Bound::Excluded);
                    table.locators_in(place, locks, (std::ops::Bound::Included(key.clone()), end), &mut take)?;
                }
            }
            None => {
                let mut scan = table.scan_committed(locks)?;
                while scan.next_batch()? {
                    for position in 0..scan.len() {
                        cancel::spend(1)?;
                        let row = scan.row(position).unwrap_or_default();
                        if self.former_of(table, row)?.is_some()
                            && let Some(locator) = scan.locator(position)
                        {
                            take(locator)?;
                        }
                    }
                }
            }
        }
        Ok(found)
    }

    /// What the key that a stored row refers to has become, if it is one of those that went.
    fn former_of(&self, table: &Table, row: &[u8]) -> Result<Option<&Vec<Value>>> {
        let mut values = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            values.push((part.other, table.layout().column(row, part.other)?));
        }
        let key = KeyPart::key(&self.parts, |part| {
            let mut known = values.iter();
            known.find(|(column, _)| *column == part.other).map(|(_, value)| value)
        });
        Ok(key.and_then(|key| self.former.get(&key)))
    }

    /// What is to be done to a row, which is locked for it; nothing when it is gone or refers to something else by now.
    fn change(&self, context: &Context<'_>, table: &Table, locator: &RowLocator) -> Result<Option<RowChange>> {
        let mut bytes = Vec::new();
        let mode = ReadMode::Locked(Mode::U);
        if !table.fetch(&context.session.locks, mode, locator, &mut bytes)? {
            return Ok(None);
        }
        let Some(became) = self.former_of(table, &bytes)? else {
            return Ok(None);
        };
        let mut old = Vec::new();
        table.layout().decode_into(&bytes, &mut old)?;
        let locator = locator_value(locator);
        if self.cascade.action == CascadeAction::Delete {
            return Ok(Some(RowChange::Delete { locator, old }));
        }
        let mut new = old.clone();
        let reference = &self.cascade.reference;
        for (position, &column) in reference.other_columns.iter().enumerate() {
            let Some(place) = new.get_mut(column) else { continue };
            *place = self.new_value(context, position, column, became)?;
        }
        Ok(Some(RowChange::Update { locator, old, new }))
    }

    fn new_value(&self, context: &Context<'_>, position: usize, column: usize, became: &[Value]) -> Result<Value> {
        let columns = &self.cascade.columns;
        let Some(target) = columns.columns.get(column) else {
            return Ok(Value::Null);
        };
        match (self.cascade.action, &target.default) {
            (CascadeAction::Follow, _) => {
                let value = became.get(position).cloned().unwrap_or(Value::Null);
                let from = self.cascade.types.get(position).copied().unwrap_or(target.sql_type);
                target.store(value, from, &columns.table_name)
            }
            (CascadeAction::SetDefault, Some(default)) => {
                let value = evaluate(default, &[], context)?.into_owned();
                target.store(value, default.sql_type, &columns.table_name)
            }
            _ => Ok(Value::Null),
        }
    }
}
