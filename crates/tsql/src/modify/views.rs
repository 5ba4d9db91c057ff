//! Indexed views of the target: their stored rows follow the rows that a statement changes.
//!
//! ```text
//! a statement's rows       for each view, by the key of its row                           the view's rows
//! old rows     \  the view's query over the changed rows      a group: rows and sums      found by key and locked U, then
//! new rows     /  in place of the target, not yet grouped  -> a row: goes, comes       -> added to, replaced, deleted, inserted
//! ```
//! A group to which rows come is added to, a group from which rows go is subtracted from, and one without rows goes. Sums are exact: a view
//! may sum neither `float` nor what may be NULL (1966, 8662).
//!
//! *Order.* The views of a target follow when all of its rows are written and before the actions of foreign keys change rows of other
//! tables. So while the parts of a row of the view are computed, every other table is as it was before or after its own change in this
//! transaction, and that change is seen by its own turn in the same way: a combination of two changed rows is counted once.
//!
//! *Other sessions.* SQL Server keeps views right under locks, ranges of keys among them, whatever the level of the session is (E. Darling,
//! "Range locks on multi-table indexed views"). Here the other tables of the view are read by locks under READ COMMITTED at every level, as
//! for foreign keys, and changed rows of the view stay locked to the end of the transaction. The view is always what its definition says:
//!
//! 1. A transaction writes rows first, which it keeps locked, and then reads the other tables, waiting for rows that others have locked,
//!    deleted ones too. Of two transactions whose changed rows meet in a row of the view, the later writer finds the other's row locked or
//!    ended. It waits, and counts the combination if the other commits. The earlier one cannot have counted it unless the later one had
//!    ended. If each waits for the other, one is the victim of the deadlock (1205). Who only moves a row in an index of its table, where a
//!    scan of that might miss it, looks at the other tables as well (`bind::kept_views`).
//!    An update that leaves a row as it is does not write it: nothing on its page tells others that it is locked, so they read it without waiting.
//!    The views are right without it and skip it.
//! 2. Two transactions that change one row of the view wait for each other at that row, or at its key if it is not there yet
//!    (`engine::session`, `view_rows`). So no sum is computed from one that may be rolled back.
//! 3. Under SNAPSHOT a row of the view that was changed since the snapshot is a conflict (3960), as in a table.
//!
//! The rows of the view are changed in one order, that of their groups or keys, so that statements wait for each other in one direction.
//!
//! Invariant: rows that exchange unique keys of the view give up all old keys before any takes a new one.

use std::collections::BTreeMap;

use engine::cancel;
use engine::error::{Error, Result};
use engine::lock::Mode;
use engine::session::Table;
use engine::store::{ReadMode, RowLocator};
use engine::types::Value;

use crate::context::{Context, TableVariable, Variables};
use crate::exec::{exact, exact_value};
use crate::grant::{Grant, KeptRows, row_bytes};
use crate::messages;
use crate::plan::{KeptColumn, KeptView};

/// Changed rows that are kept before the views take them in.
const ROWS_MAX: usize = 16_384;
/// What an entry of a map takes beside its bytes and values.
const ENTRY_BYTES: u64 = 160;
/// What a search in an index comes to.
const STEPS_PER_SEARCH: usize = 8;

/// What becomes of the rows of the views of a statement's target.
pub(super) struct ViewChanges<'p> {
    context: &'p Context<'p>,
    views: Vec<OneView<'p>>,
    /// Rows that the views have not taken in yet: as they were, and as they are.
    deleted: KeptRows,
    inserted: KeptRows,
}

/// What becomes of the rows of one view.
struct OneView<'p> {
    kept: &'p KeptView,
    /// The columns that tell its rows apart: those of the group, or of the clustered index.
    key: Vec<usize>,
    changes: BTreeMap<Vec<u8>, Change>,
    grant: Option<Grant>,
}

/// What becomes of one row of a view.
enum Change {
    /// Rows of the tables come to a group or go from it: how many more, and by how much each column that is summed is more.
    Group {
        values: Vec<Value>,
        count: i128,
        sums: Vec<i128>,
    },
    /// A row that is there goes, another one comes, or both.
    Row {
        gone: Option<Vec<Value>>,
        come: Option<Vec<Value>>,
    },
}

/// What is still to be done to a row when all rows have given up their keys.
enum Later {
    Enter {
        locator: RowLocator,
        old: Vec<Value>,
        new: Vec<Value>,
    },
    Insert(Vec<Value>),
}

/// The view's rows are not what its definition says: what a change found there cannot be.
fn not_right() -> Error {
    Error::assertion("a row of an indexed view is not there that its definition has")
}

impl<'p> ViewChanges<'p> {
    pub(super) fn new(context: &'p Context<'p>, views: &'p [KeptView]) -> ViewChanges<'p> {
        ViewChanges {
            context,
            views: views.iter().map(OneView::new).collect(),
            deleted: KeptRows::default(),
            inserted: KeptRows::default(),
        }
    }

    pub(super) fn has_any(&self) -> bool {
        !self.views.is_empty()
    }

    /// Takes in a row that was changed, with all of its columns.
    pub(super) fn note(&mut self, old: Option<&[Value]>, new: Option<&[Value]>) -> Result<()> {
        let is_left = || matches!((old, new), (Some(old), Some(new)) if is_left_as_it_is(old, new));
        if self.views.is_empty() || is_left() {
            return Ok(());
        }
        let workspace = &self.context.session.instance.workspace;
        if let Some(old) = old {
            self.deleted.push(whole(old)?, workspace)?;
        }
        if let Some(new) = new {
            self.inserted.push(whole(new)?, workspace)?;
        }
        match self.deleted.rows.len() + self.inserted.rows.len() >= ROWS_MAX {
            true => self.take_in(),
            false => Ok(()),
        }
    }

    /// Finds what the rows that were noted are in each view.
    fn take_in(&mut self) -> Result<()> {
        let Some(shape) = self.views.first().map(|view| view.kept.changed.clone()) else {
            return Ok(());
        };
        for (noted, sign) in [(&mut self.deleted, -1), (&mut self.inserted, 1)] {
            let mut noted = std::mem::take(noted);
            if noted.rows.is_empty() {
                continue;
            }
            let table = TableVariable {
                rows: std::mem::take(&mut noted.rows).into_iter().map(Some).collect(),
                ..TableVariable::new(shape.clone())
            };
            let variables = Variables::new(Vec::new(), vec![table]);
            let context = Context::new(self.context.session, &variables);
            self.views
                .iter_mut()
                .try_for_each(|view| view.take_in(&context, sign))?;
        }
        Ok(())
    }

    /// Changes the rows of the views.
    ///
    /// # Errors
    /// 2601 when two rows would have one key; 8115 for a sum that has no room; those of waiting and of writing.
    pub(super) fn settle(&mut self) -> Result<()> {
        self.take_in()?;
        for view in &mut self.views {
            view.settle(self.context)?;
        }
        Ok(())
    }
}

/// Whether a row is stored as it was, to the last bit.
fn is_left_as_it_is(old: &[Value], new: &[Value]) -> bool {
    let mut pairs = old.iter().zip(new);
    old.len() == new.len()
        && pairs.all(|pair| match pair {
            (Value::Float(old), Value::Float(new)) => old.to_bits() == new.to_bits(),
            (Value::Real(old), Value::Real(new)) => old.to_bits() == new.to_bits(),
            (old, new) => old == new,
        })
}

/// A row without held values: it is kept beyond the change.
fn whole(row: &[Value]) -> Result<Vec<Value>> {
    row.iter().map(|value| value.clone().whole()).collect()
}

impl<'p> OneView<'p> {
    fn new(kept: &'p KeptView) -> OneView<'p> {
        let clustered = kept.rows.table.definition().clustered();
        let of_index = clustered.map_or_else(Vec::new, |index| index.keys.iter().map(|(column, _)| *column).collect());
        let values = kept.columns.iter().enumerate();
        let of_group = values.filter(|(_, column)| **column == KeptColumn::Value);
        OneView {
            kept,
            key: match kept.is_grouped() {
                true => of_group.map(|(place, _)| place).collect(),
                false => of_index,
            },
            changes: BTreeMap::new(),
            grant: None,
        }
    }

    fn table(&self) -> &'p Table {
        &self.kept.rows.table
    }

    /// Runs the view's query over changed rows, which come or go.
    fn take_in(&mut self, context: &Context<'_>, sign: i128) -> Result<()> {
        let kept = self.kept;
        crate::exec::run(&kept.parts, context, &mut |row| {
            cancel::spend(1)?;
            let row = whole(row)?;
            let key = self.table().bytes_of_columns(&self.key, &row);
            if !self.changes.contains_key(&key) {
                let workspace = &context.session.instance.workspace;
                let grant = self.grant.get_or_insert_with(|| Grant::of(workspace));
                grant.require(key.len() as u64 + 2 * row_bytes(&row) + ENTRY_BYTES)?;
            }
            match kept.is_grouped() {
                true => self.add_to_group(key, row, sign),
                false => self.add_row(key, row, sign),
            }
        })?;
        Ok(())
    }

    fn add_to_group(&mut self, key: Vec<u8>, row: Vec<Value>, sign: i128) -> Result<()> {
        let columns = &self.kept.columns;
        let change = self.changes.entry(key).or_insert_with(|| Change::Group {
            values: Vec::new(),
            count: 0,
            sums: vec![0; columns.len()],
        });
        let Change::Group { values, count, sums } = change else {
            return Err(Error::assertion("a group among rows that are not grouped"));
        };
        for ((place, column), sum) in columns.iter().enumerate().zip(sums) {
            let value = row.get(place).filter(|value| !value.is_null());
            if let (KeptColumn::Sum, Some(value)) = (column, value) {
                let added = exact(value).and_then(|number| sum.checked_add(sign * number));
                *sum = added.ok_or_else(|| overflow(self.kept, place))?;
            }
        }
        *count += sign;
        if values.is_empty() {
            *values = row;
        }
        Ok(())
    }

    fn add_row(&mut self, key: Vec<u8>, row: Vec<Value>, sign: i128) -> Result<()> {
        let table = self.table();
        let change = self
            .changes
            .entry(key)
            .or_insert(Change::Row { gone: None, come: None });
        let Change::Row { gone, come } = change else {
            return Err(Error::assertion("a row among groups"));
        };
        let place = if sign < 0 { gone } else { come };
        match place.replace(row) {
            // Two rows of the tables are one row of the view.
            Some(row) => Err(table.duplicate_row(&row)),
            None => Ok(()),
        }
    }

    fn settle(&mut self, context: &Context<'_>) -> Result<()> {
        let mut later = Vec::new();
        for change in std::mem::take(&mut self.changes).into_values() {
            cancel::spend(STEPS_PER_SEARCH)?;
            match change {
                Change::Group { count: 0, sums, .. } if sums.iter().all(|sum| *sum == 0) => {}
                Change::Group { values, count, sums } => {
                    later.extend(self.settle_group(context, &values, count, &sums)?);
                }
                Change::Row { gone, come } => later.extend(self.settle_row(context, gone, come)?),
            }
        }
        for one in later {
            cancel::spend(STEPS_PER_SEARCH)?;
            match one {
                Later::Enter { locator, old, new } => {
                    let session = &mut context.session.engine.borrow_mut();
                    self.table().enter_keys(session, &locator, &old, &new)?;
                }
                Later::Insert(row) => self.insert(context, &row)?,
            }
        }
        Ok(())
    }

    /// The first half of a group's change.
    fn settle_group(
        &self,
        context: &Context<'_>,
        values: &[Value],
        count: i128,
        sums: &[i128],
    ) -> Result<Option<Later>> {
        let locator = self.table().locator_of(values)?;
        match self.fetch(context, &locator)? {
            Some(old) if self.is_same(&old, values) => {
                let new = self.added(&old, count, sums)?;
                self.replace(context, locator, old, new)
            }
            // What stands under this key is another group's, which goes or is in the way.
            _ => {
                let empty = self.empty_group(values);
                self.added(&empty, count, sums)?
                    .map(Later::Insert)
                    .map(Some)
                    .ok_or_else(not_right)
            }
        }
    }

    /// The first half of the change of a row that is not of a group.
    fn settle_row(
        &self,
        context: &Context<'_>,
        gone: Option<Vec<Value>>,
        come: Option<Vec<Value>>,
    ) -> Result<Option<Later>> {
        let Some(gone) = gone else {
            return Ok(come.map(Later::Insert));
        };
        if come.as_ref().is_some_and(|come| self.is_stored_alike(&gone, come)) {
            return Ok(None);
        }
        let locator = self.table().locator_of(&gone)?;
        let old = self.fetch(context, &locator)?.ok_or_else(not_right)?;
        self.replace(context, locator, old, come)
    }

    /// Deletes a row, or has it give up the keys that it does not keep.
    fn replace(
        &self,
        context: &Context<'_>,
        locator: RowLocator,
        old: Vec<Value>,
        new: Option<Vec<Value>>,
    ) -> Result<Option<Later>> {
        let session = &mut context.session.engine.borrow_mut();
        let (is_there, later) = match new {
            None => (self.table().delete(session, &locator, &old)?, None),
            Some(new) => {
                let is_there = self.table().leave_keys(session, &locator, &old, &new)?;
                (is_there, Some(Later::Enter { locator, old, new }))
            }
        };
        match is_there {
            true => Ok(later),
            false => Err(not_right()),
        }
    }

    /// Inserts a row. Another transaction may have inserted one of the same group since this one was looked for.
    fn insert(&self, context: &Context<'_>, row: &[Value]) -> Result<()> {
        let table = self.table();
        if table.insert_new(&mut context.session.engine.borrow_mut(), row)? {
            return Ok(());
        }
        let locator = table.locator_of(row)?;
        let old = self.fetch(context, &locator)?.ok_or_else(not_right)?;
        if !self.kept.is_grouped() || !self.is_same(&old, row) {
            return Err(table.duplicate_row(row));
        }
        let numbers: Vec<i128> = row.iter().map(|value| exact(value).unwrap_or(0)).collect();
        let new = self.added(&old, self.count_of(row)?, &numbers)?.ok_or_else(not_right)?;
        let session = &mut context.session.engine.borrow_mut();
        match table.update(session, &locator, &old, &new)? {
            true => Ok(()),
            false => Err(not_right()),
        }
    }

    /// A row of the view, locked for its change.
    fn fetch(&self, context: &Context<'_>, locator: &RowLocator) -> Result<Option<Vec<Value>>> {
        let mut bytes = Vec::new();
        let (table, mode) = (self.table(), ReadMode::Locked(Mode::U));
        if !table.fetch(&context.session.locks, mode, locator, &mut bytes)? {
            return Ok(None);
        }
        let mut values = Vec::new();
        table.layout().decode_into(&bytes, &mut values)?;
        Ok(Some(values))
    }

    /// Whether two rows have the same values in the columns that tell rows apart.
    fn is_same(&self, left: &[Value], right: &[Value]) -> bool {
        let table = self.table();
        table.bytes_of_columns(&self.key, left) == table.bytes_of_columns(&self.key, right)
    }

    /// Whether two rows are stored as the same bytes: values that are equal need not be.
    fn is_stored_alike(&self, left: &[Value], right: &[Value]) -> bool {
        let layout = self.table().layout();
        let encoded = [left, right].map(|row| {
            let mut bytes = Vec::new();
            layout.encode(row, &mut bytes).map(|()| bytes)
        });
        matches!(encoded, [Ok(left), Ok(right)] if left == right)
    }

    /// A group without rows.
    fn empty_group(&self, values: &[Value]) -> Vec<Value> {
        let columns = self.kept.columns.iter().zip(values).enumerate();
        let value = |(place, (column, value)): (usize, (&KeptColumn, &Value))| match column {
            KeptColumn::Value => value.clone(),
            KeptColumn::Count => Value::BigInt(0),
            KeptColumn::Sum => exact_value(0, self.sql_type(place)).unwrap_or(Value::Null),
        };
        columns.map(value).collect()
    }

    fn sql_type(&self, place: usize) -> engine::types::SqlType {
        let columns = &self.table().definition().columns;
        columns
            .get(place)
            .map_or(engine::types::SqlType::BigInt, |column| column.sql_type)
    }

    fn count_of(&self, row: &[Value]) -> Result<i128> {
        let place = self.kept.columns.iter().position(|column| *column == KeptColumn::Count);
        let count = place.and_then(|place| row.get(place)).and_then(exact);
        count.ok_or_else(not_right)
    }

    /// A group with so many rows more, and sums that are so much more; `None` when no row is left.
    ///
    /// # Errors
    /// 8115 for a sum that has no room; 3624 for a group that would have less than no rows.
    fn added(&self, old: &[Value], count: i128, sums: &[i128]) -> Result<Option<Vec<Value>>> {
        let count = self.count_of(old)? + count;
        if count < 0 {
            return Err(not_right());
        }
        let columns = self.kept.columns.iter().zip(old).zip(sums).enumerate();
        let value = |(place, ((column, value), more)): (usize, ((&KeptColumn, &Value), &i128))| match column {
            KeptColumn::Value => Ok(value.clone()),
            KeptColumn::Count => exact_value(count, self.sql_type(place)).ok_or_else(|| overflow(self.kept, place)),
            KeptColumn::Sum => {
                let sum = exact(value).and_then(|sum| sum.checked_add(*more));
                let sum = sum.and_then(|sum| exact_value(sum, self.sql_type(place)));
                sum.ok_or_else(|| overflow(self.kept, place))
            }
        };
        match count {
            0 => Ok(None),
            _ => columns.map(value).collect::<Result<_>>().map(Some),
        }
    }
}

fn overflow(kept: &KeptView, place: usize) -> Error {
    let columns = &kept.rows.table.definition().columns;
    let name = columns
        .get(place)
        .map_or("bigint", |column| messages::type_name(column.sql_type));
    messages::overflow_converting("expression", name)
}
