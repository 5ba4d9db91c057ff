//! Station 3: rows into tables, and into table variables.
//!
//! A table variable is outside the transaction: dropping its writer undoes the changes of a failed statement.

use std::cell::RefCell;

use engine::cancel;
use engine::error::{Error, Result};
use engine::lock::Mode;
use engine::session::{Table, TableFill};
use engine::store::{Placement, RowLocator};
use engine::types::{EncodedRows, Value, key_text};

use crate::context::{Context, TableVariable};
use crate::exec::locator_of;
use crate::grant::{Grant, kept_bytes};
use crate::messages;
use crate::plan::Target;

/// Rows of a table variable whose keys are compared in the time of a step.
const KEYS_PER_STEP: usize = 32;

/// When pages are filled at once instead of rows written one by one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fill {
    /// Rows that go one by one first, so that small statements do not lock the table.
    pub(crate) after_rows: u64,
    /// TABLOCK at the target, or a table that nobody else can see.
    pub(crate) has_table_lock: bool,
}

pub(super) enum Writer<'p> {
    Table(TableWriter<'p>),
    Variable(VariableWriter<'p>),
    /// A view, whose rows its trigger writes.
    Nothing,
}

impl<'p> Writer<'p> {
    pub(super) fn new(context: &'p Context<'p>, target: &'p Target) -> Writer<'p> {
        match target {
            Target::Table(bound) => Writer::Table(TableWriter {
                context,
                table: &bound.table,
                allowed: None,
                fill: None,
                placement: Placement::AtEnd,
            }),
            Target::Variable(slot, _) => Writer::Variable(VariableWriter::new(context, *slot)),
            Target::View(_) => Writer::Nothing,
        }
    }

    pub(super) fn allow_fill(&mut self, fill: Fill) {
        if let Writer::Table(writer) = self {
            writer.allowed = Some(fill);
        }
    }

    pub(super) fn fill_holes(&mut self) {
        if let Writer::Table(writer) = self {
            writer.placement = Placement::Anywhere;
        }
    }

    pub(super) fn change_columns(&mut self, locator: &RowLocator, columns: &[usize], values: &[Value]) -> Result<bool> {
        let Writer::Table(TableWriter { context, table, .. }) = self else {
            return Err(Error::assertion(
                "columns of a table variable are changed with their row",
            ));
        };
        table.change(&mut context.session.engine.borrow_mut(), locator, columns, values)
    }

    /// The first half of an update whose keys are judged with others'. False when the row is not there any more.
    pub(super) fn leave_keys(&mut self, locator: &Value, old: &[Value], new: &[Value]) -> Result<bool> {
        match self {
            Writer::Table(TableWriter { context, table, .. }) => {
                let session = &mut context.session.engine.borrow_mut();
                table.leave_keys(session, &locator_of(locator)?, old, new)
            }
            Writer::Variable(writer) => Ok(writer.delete(locator)),
            Writer::Nothing => Err(super::written_to_view()),
        }
    }

    /// The second half.
    pub(super) fn enter_keys(&mut self, locator: &Value, old: &[Value], new: &[Value]) -> Result<()> {
        match self {
            Writer::Table(TableWriter { context, table, .. }) => {
                let session = &mut context.session.engine.borrow_mut();
                table.enter_keys(session, &locator_of(locator)?, old, new)
            }
            Writer::Variable(writer) => {
                writer.require_new_key(new)?;
                writer.replace(locator, Some(new.to_vec()));
                Ok(())
            }
            Writer::Nothing => Err(super::written_to_view()),
        }
    }

    pub(super) fn keep_row(&mut self, row: Vec<Value>) -> Result<()> {
        match self {
            Writer::Variable(writer) => writer.push(row),
            Writer::Table(_) | Writer::Nothing => Err(Error::assertion("a table keeps bytes")),
        }
    }

    /// Writes what is not written yet.
    pub(super) fn flush(&mut self) -> Result<()> {
        match self {
            Writer::Table(TableWriter { context, fill, .. }) => match fill.take() {
                Some(fill) => fill.finish(&mut context.session.engine.borrow_mut()),
                None => Ok(()),
            },
            Writer::Variable(_) | Writer::Nothing => Ok(()),
        }
    }

    /// The statement has succeeded.
    pub(super) fn keep(&mut self) {
        if let Writer::Variable(writer) = self {
            writer.former.clear();
            writer.is_kept = true;
        }
    }
}

/// Writes to a table.
pub(super) struct TableWriter<'p> {
    context: &'p Context<'p>,
    table: &'p Table,
    allowed: Option<Fill>,
    fill: Option<Box<TableFill<'p>>>,
    /// Where rows go one by one.
    placement: Placement,
}

impl TableWriter<'_> {
    /// Writes a new row; `count` is how many there were before.
    pub(super) fn insert(&mut self, row: &[Value], count: u64) -> Result<()> {
        if self.allowed.is_some_and(|allowed| allowed.after_rows == count) {
            self.begin_fill()?;
        }
        let session = &mut self.context.session.engine.borrow_mut();
        match &mut self.fill {
            Some(fill) => fill.push(session, row),
            None => self.table.insert(session, row, self.placement),
        }
    }

    /// Writes a new row, which an index that ignores duplicates may leave out: then false.
    pub(super) fn insert_unless_ignored(&mut self, row: &[Value]) -> Result<bool> {
        let session = &mut self.context.session.engine.borrow_mut();
        self.table.insert_unless_ignored(session, row, self.placement)
    }

    pub(super) fn insert_encoded(&mut self, rows: &EncodedRows, count: u64) -> Result<()> {
        let is_due = |allowed: Fill| count + rows.len() as u64 > allowed.after_rows;
        if self.fill.is_none() && self.allowed.is_some_and(is_due) {
            self.begin_fill()?;
        }
        let session = &mut self.context.session.engine.borrow_mut();
        if let Some(fill) = &mut self.fill {
            return fill.push_rows(session, rows);
        }
        let mut values = Vec::new();
        for index in 0..rows.len() {
            match rows.values_apart(self.table.layout(), index)? {
                Some(apart) => values = apart,
                None => {
                    let row = rows.get(index).unwrap_or_default();
                    self.table.layout().decode_into(row, &mut values)?;
                }
            }
            self.table.insert(session, &values, self.placement)?;
        }
        Ok(())
    }

    pub(super) fn update(&mut self, locator: &RowLocator, old: &[Value], new: &[Value]) -> Result<bool> {
        let session = &mut self.context.session.engine.borrow_mut();
        self.table.update(session, locator, old, new)
    }

    pub(super) fn delete(&mut self, locator: &RowLocator, old: &[Value]) -> Result<bool> {
        let session = &mut self.context.session.engine.borrow_mut();
        self.table.delete(session, locator, old)
    }

    /// Begins to fill pages, if the table can be filled: it is locked exclusively from then on. Others that have locked it, a row of it
    /// even, are not waited for, unless the statement asks for the whole table: rows go on one by one.
    fn begin_fill(&mut self) -> Result<()> {
        let has_table_lock = self.allowed.is_some_and(|allowed| allowed.has_table_lock);
        if !self.table.may_fill(has_table_lock)? {
            return Ok(());
        }
        let locks = &self.context.session.locks;
        if has_table_lock {
            self.table.lock(locks, Mode::X)?;
        } else if !self.table.try_lock(locks, Mode::X) {
            self.allowed = None;
            return Ok(());
        }
        self.fill = Some(Box::new(self.table.fill()?));
        Ok(())
    }
}

/// Writes to a table variable, and remembers how to put it back.
pub(super) struct VariableWriter<'p> {
    context: &'p Context<'p>,
    slot: usize,
    /// Rows there were at the beginning.
    row_count: usize,
    /// What stood where rows were changed, in order.
    former: Vec<(usize, Option<Vec<Value>>)>,
    is_kept: bool,
}

impl<'p> VariableWriter<'p> {
    fn new(context: &'p Context<'p>, slot: usize) -> VariableWriter<'p> {
        let row_count = context
            .variables
            .tables
            .borrow()
            .get(slot)
            .map_or(0, |table| table.rows.len());
        VariableWriter {
            context,
            slot,
            row_count,
            former: Vec::new(),
            is_kept: false,
        }
    }

    fn tables(&self) -> &'p RefCell<Vec<TableVariable>> {
        &self.context.variables.tables
    }

    /// Gives a row other values. A source that sets key columns sends its rows together ([`Writer::leave_keys`]).
    pub(super) fn update(&mut self, locator: &Value, new: &[Value]) -> bool {
        self.delete(locator) && self.replace(locator, Some(new.to_vec()))
    }

    pub(super) fn delete(&mut self, locator: &Value) -> bool {
        self.replace(locator, None)
    }

    /// Puts something in the place of a row; false when there is no such place, or nothing to be deleted in it.
    fn replace(&mut self, locator: &Value, row: Option<Vec<Value>>) -> bool {
        let mut tables = self.tables().borrow_mut();
        let number = locator.as_i64().and_then(|number| usize::try_from(number).ok());
        let Some((table, number)) = tables.get_mut(self.slot).zip(number) else {
            return false;
        };
        match table.rows.get_mut(number) {
            Some(place) if place.is_some() || row.is_some() => {
                self.former.push((number, std::mem::replace(place, row)));
                true
            }
            _ => false,
        }
    }

    /// 2627 when a row has the keys of a new one.
    pub(super) fn require_new_key(&self, row: &[Value]) -> Result<()> {
        match self.key_met(row)? {
            None => Ok(()),
            Some((_, refusal)) => Err(refusal),
        }
    }

    /// As [`VariableWriter::require_new_key`], but false when the first key met is one that ignores duplicates.
    pub(super) fn has_new_key(&self, row: &[Value]) -> Result<bool> {
        match self.key_met(row)? {
            None => Ok(true),
            Some((true, _)) => Ok(false),
            Some((false, refusal)) => Err(refusal),
        }
    }

    /// The first key of a row that another row has: whether it ignores duplicates, and how it refuses them otherwise.
    fn key_met(&self, row: &[Value]) -> Result<Option<(bool, Error)>> {
        let tables = self.tables().borrow();
        let Some(table) = tables.get(self.slot) else {
            return Ok(None);
        };
        for key in &table.shape.keys {
            cancel::spend(table.rows.len() / KEYS_PER_STEP)?;
            let same = |other: &Vec<Value>| {
                key.columns
                    .iter()
                    .all(|&column| crate::scalar::compare::same(&row[column], &other[column]))
            };
            if table.rows.iter().flatten().any(same) {
                let kind = if key.is_primary { "PRIMARY KEY" } else { "UNIQUE KEY" };
                let shape = &table.shape.columns;
                let values = key_text(key.columns.iter().map(|&column| (&row[column], shape[column].sql_type)));
                let refusal = messages::duplicate_key(kind, "PK__table_variable", &table.shape.name, &values);
                return Ok(Some((key.ignores_duplicates, refusal)));
            }
        }
        Ok(None)
    }

    fn push(&mut self, row: Vec<Value>) -> Result<()> {
        let workspace = &self.context.session.instance.workspace;
        let mut tables = self.tables().borrow_mut();
        let Some(table) = tables.get_mut(self.slot) else {
            return Ok(());
        };
        let grant = table.grant.get_or_insert_with(|| Grant::of(workspace));
        grant.require(kept_bytes(&row))?;
        table.rows.push(Some(row));
        Ok(())
    }
}

impl Drop for VariableWriter<'_> {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        if let Some(table) = self.tables().borrow_mut().get_mut(self.slot) {
            for (number, row) in self.former.drain(..).rev() {
                table.rows[number] = row;
            }
            table.rows.truncate(self.row_count);
        }
    }
}
