//! The path of every row that a statement changes: stations in one order, for every source of changes.
//!
//! ```text
//! source                              station                                                            file
//! INSERT VALUES, SELECT, EXECUTE  \   1 the row: given values, defaults, identity, row version, computed   build
//! SELECT INTO, OUTPUT INTO        |   2 NULL, CHECK                                                      check
//! UPDATE, DELETE                  +-> 3 write: the row, then its keys; duplicates are found here         write
//!                                 |     a row that a temporal table loses goes to its history               history
//! rows with an action each        /   4 foreign keys, at the end of the statement                        reference
//! (MERGE)                             5 triggers get all rows of the statement                           this file, statements/fire
//!                                     6 OUTPUT                                                           output
//! indexed views of the target follow after station 3, before the actions of foreign keys                 views
//! actions of foreign keys change rows of other tables after that, before station 4                       cascade
//! ```
//! *CHECK constraints with user-defined functions* are checked after their row is written: such a function may query the table, and must
//! see the new row (sql-docs, "Unique constraints and check constraints": a function that must return at least 1 admits the first row of an
//! empty table).
//!
//! *Triggers* are batches: they run after all stations, in `statements`, with the rows that a pipeline passes to them ([`Changed::fired`]).
//! If an INSTEAD OF trigger runs in place of the change, rows only pass station 1: nothing is checked or written.
//!
//! A source creates a [`Pipeline`] for its target, sends rows with [`Pipeline::insert`], [`Pipeline::update`], [`Pipeline::delete`] or
//! [`Pipeline::change_all`], and calls [`Pipeline::finish`]. If a station refuses a row, the statement fails, and its unit
//! (`Executor::as_unit`) undoes the previous rows; changes of a table variable are undone here.
//!
//! *Unique keys* are checked at the end of the statement: `UPDATE t SET id = id + 1` and a swap of two keys cause no duplicates. A source
//! whose rows may exchange keys sends them together ([`Pipeline::change_all`]): all rows give up their old keys before any takes its new
//! one, so any remaining duplicate is real. INSERT takes no existing keys and checks at once.
//!
//! *Foreign keys* are checked after the write, for two reasons. Rows of one statement may refer to each other. And if one transaction
//! inserts a row and another deletes the referenced row, each writes first and then checks: the second to check waits for the other's lock.
//! If both checked first, both could pass. The checks are READ COMMITTED under every isolation level, and wait for ghosts.
//!
//! *Specialisations* skip stations and ask [`TargetColumns::needs_row_path`] first: rows as bytes ([`Pipeline::insert_encoded`]), columns
//! without their row ([`Pipeline::change_columns`]), deletes without the old row. Filling whole pages is not one of them: those rows pass
//! all stations.
//!
//! Invariant: outside of ALTER TABLE's rewriting, `Table::insert`, `update`, `change`, `delete` and `fill` are called from here only.
//!
//! Invariant: rows that may exchange keys give up all old keys before any takes a new one (`Table::leave_keys`, `enter_keys`). Invariant:
//! code that fills pages without the stations, such as the sample (`cli/src/sample`), disables constraints first and checks the rows
//! afterwards.

mod build;
mod cascade;
pub(crate) mod check;
mod encoded;
mod history;
mod output;
mod reference;
mod views;
mod write;

use engine::error::{Error, Result};
use engine::lock::Mode;
use engine::types::{SqlType, Value};

use crate::context::Context;
use crate::exec::locator_of;
use crate::grant::KeptRows;
use crate::messages;
use crate::plan::{Assignment, BoundOutput, ChangedRows, Fired, PeriodTarget, RowAction, Target, TargetColumns};
use crate::state::SessionState;
pub(crate) use build::identity_value;
use cascade::Cascades;
use history::Period;
use reference::References;
pub(crate) use reference::check_stored_references;
use views::ViewChanges;
pub(crate) use write::Fill;
use write::Writer;

/// A row with what is to be done to it. Rows are values of all columns of the target; a locator is one of the wide row's.
#[derive(Debug, Clone)]
pub enum RowChange {
    /// A new row.
    Insert(Vec<Value>),
    /// Other values for a row that is there.
    Update {
        locator: Value,
        old: Vec<Value>,
        /// As it will be.
        new: Vec<Value>,
    },
    /// A row that goes.
    Delete { locator: Value, old: Vec<Value> },
}

/// What a statement has done, when its rows are written and judged.
pub(crate) struct Changed {
    /// Rows changed.
    pub(crate) count: u64,
    pub(crate) output: KeptRows,
    /// The rows that triggers are for, in the order in which they fire. Empty for a target without triggers.
    pub(crate) fired: Vec<Fired>,
}

/// Makes sure that a target, whose lock is held, and the tables of its foreign keys are what the statement was bound to, and that they stay
/// it. Else the statement would write past a new index, or past a foreign key.
///
/// # Errors
/// 2801 when one is not: the statement is to be bound again. Those of waiting for a lock.
pub(crate) fn require_current(session: &SessionState, target: &Target, columns: &TargetColumns) -> Result<()> {
    let Target::Table(target) = target else { return Ok(()) };
    let others = columns.references.iter().chain(&columns.referenced_by);
    for other in others.clone() {
        other.table.table.lock(&session.locks, Mode::IS)?;
    }
    let history = columns.period.as_ref().and_then(PeriodTarget::history_table);
    if let Some(history) = history {
        history.table.lock(&session.locks, Mode::IX)?;
    }
    let views = columns.views.iter().map(|view| &view.rows);
    for view in views.clone() {
        view.table.lock(&session.locks, Mode::IX)?;
    }
    let others = others.map(|other| &other.table).chain(history).chain(views);
    let mut tables = std::iter::once(target).chain(others);
    match tables.find(|bound| !bound.table.is_current(session.id)) {
        Some(bound) => Err(Error::definition_changed(&bound.full_name)),
        None => Ok(()),
    }
}

/// Rows of a history table are its temporal table's to write, and may go while they are cleaned up. The binder refuses the others: a plan
/// that was bound for the clean-up comes here.
fn require_own_rows(session: &SessionState, target: &Target) -> Result<()> {
    match target {
        Target::Table(bound) if bound.table.definition().history_of.is_some() && !session.cleans_history() => {
            Err(messages::delete_from_history(&bound.full_name))
        }
        _ => Ok(()),
    }
}

/// What follows from the actions of foreign keys: what the keys of the tables changed so are to be judged by, and the rows that their
/// triggers are for.
#[derive(Default)]
struct Following<'p> {
    pending: Vec<References<'p>>,
    fired: Vec<Fired>,
}

/// The rows of a view are its trigger's to write.
fn written_to_view() -> Error {
    Error::assertion("rows of a view are written")
}

/// The stations of one statement's rows.
pub struct Pipeline<'p> {
    context: &'p Context<'p>,
    target: &'p Target,
    columns: &'p TargetColumns,
    output: Option<&'p BoundOutput>,
    /// What errors call the statement: INSERT, UPDATE, DELETE, MERGE.
    statement: &'static str,
    writer: Writer<'p>,
    references: References<'p>,
    cascades: Cascades<'p>,
    views: ViewChanges<'p>,
    /// For each event of the triggers the rows it has to do with.
    changed: Vec<ChangedRows>,
    /// A trigger runs in place of the change.
    is_instead: bool,
    kept: KeptRows,
    /// The row that the change under way comes from, where OUTPUT may show it.
    beside: Vec<Value>,
    count: u64,
    /// Whether there are computed columns that rows have.
    has_computed: bool,
    /// Whether there are computed columns of which rows have nothing.
    has_virtual: bool,
    row_version: Option<usize>,
    /// The period SYSTEM_TIME of the target.
    period: Option<Box<Period<'p>>>,
    /// Whether a station besides the write looks at new rows of an INSERT and of an UPDATE, or the write compares long values of them.
    looks_at_rows: [bool; 2],
}

impl<'p> Pipeline<'p> {
    /// Stations for a statement that writes to a target. The caller holds the target's lock.
    ///
    /// # Errors
    /// Those of [`require_current`]; 1934.
    pub fn new(
        context: &'p Context<'p>,
        target: &'p Target,
        columns: &'p TargetColumns,
        statement: &'static str,
        output: Option<&'p BoundOutput>,
    ) -> Result<Pipeline<'p>> {
        require_current(context.session, target, columns)?;
        require_own_rows(context.session, target)?;
        if columns.needs_settings {
            context.session.require_index_settings(statement)?;
        }
        let cascades = Cascades::new(columns);
        let mut references = References::new(columns, statement);
        if cascades.has_any() {
            references.look_at_end();
        }
        let facts = columns.facts(target);
        let firing = columns.firing.as_deref();
        let events = firing.map_or(&[][..], |firing| &firing.events);
        let is_instead = firing.is_some_and(|firing| {
            let mut instead_of = events.iter().filter_map(|event| event.instead_of);
            instead_of.any(|trigger| context.session.may_run_instead(firing.database_id, trigger))
        });
        Ok(Pipeline {
            context,
            target,
            columns,
            output,
            statement,
            writer: Writer::new(context, target),
            references,
            cascades,
            views: ViewChanges::new(context, &columns.views),
            changed: events.iter().map(|_| ChangedRows::default()).collect(),
            is_instead,
            kept: KeptRows::default(),
            beside: Vec::new(),
            count: 0,
            has_computed: facts.has_computed,
            has_virtual: facts.has_virtual,
            row_version: facts.row_version,
            period: Period::new(context, columns)?.map(Box::new),
            looks_at_rows: facts.looks_at_rows.map(|looks| looks || output.is_some()),
        })
    }

    /// Lets the pipeline fill pages, if the target can be filled: the table is locked exclusively when that begins.
    pub(crate) fn fill(&mut self, fill: Fill) {
        // Rows of pages that are being filled are not there yet for a function that looks for them.
        if !self.columns.checks.iter().any(|check| check.calls_module) {
            self.writer.allow_fill(fill);
        }
    }

    /// Lets new rows go wherever a page has room: no scan that is still to go on may meet them. Otherwise they go behind all others.
    pub(crate) fn fill_holes(&mut self) {
        self.writer.fill_holes();
    }

    /// Inserts a row made of source columns, defaults and the identity. `given` answers for [`Assignment::Source`].
    ///
    /// # Errors
    /// Those of the stations: 515, 547, 2601, 2627, 2628, 8115, those of writing.
    pub fn insert(
        &mut self,
        assignments: &[Assignment],
        sets_identity: bool,
        given: &dyn Fn(usize) -> Option<(Value, SqlType)>,
    ) -> Result<()> {
        let row = self.built_row(assignments, given)?;
        self.insert_built(row, sets_identity)
    }

    /// Tells the row of FROM that the next changes come from, which OUTPUT may show.
    pub(crate) fn come_from(&mut self, row: Vec<Value>) {
        self.beside = row;
    }

    /// A row made of source columns, defaults and the identity, to be changed with others ([`Pipeline::change_beside`]).
    ///
    /// # Errors
    /// Those of station 1.
    pub(crate) fn new_row(
        &self,
        assignments: &[Assignment],
        given: &dyn Fn(usize) -> Option<(Value, SqlType)>,
    ) -> Result<Vec<Value>> {
        self.built_row(assignments, given)
    }

    /// Inserts a row whose columns have their values, computed columns excepted.
    ///
    /// # Errors
    /// As for [`Pipeline::insert`].
    pub fn insert_built(&mut self, mut row: Vec<Value>, sets_identity: bool) -> Result<()> {
        self.read_held(RowAction::Insert, &mut row)?;
        if self.is_instead {
            self.compute(&mut row, true)?;
            self.tell(RowAction::Insert, None, Some(&row))?;
            self.count += 1;
            return Ok(());
        }
        self.judge_new(&mut row)?;
        if sets_identity {
            self.note_identity(&row)?;
        }
        if self.columns.ignores_duplicates {
            return self.write_unless_ignored(row);
        }
        self.write_new(row)?;
        self.count += 1;
        Ok(())
    }

    /// Writes a row that is left out when an index that ignores duplicates has its key: it is not counted then, and no station behind the
    /// write hears of it. The statement says so once, when it is done. Only INSERT comes here: UPDATE fails, and "if IGNORE_DUP_KEY is set
    /// to ON for any unique indexes on the target table, MERGE ignores this setting" (sql-docs, MERGE).
    fn write_unless_ignored(&mut self, row: Vec<Value>) -> Result<()> {
        let is_new = match &mut self.writer {
            Writer::Table(writer) => writer.insert_unless_ignored(&row)?,
            Writer::Variable(writer) => writer.has_new_key(&row)?,
            Writer::Nothing => return Err(written_to_view()),
        };
        if !is_new {
            self.context.session.warn_of_ignored_duplicate();
            return Ok(());
        }
        self.count += 1;
        match self.writer {
            Writer::Variable(_) => {
                self.tell(RowAction::Insert, None, Some(&row))?;
                self.writer.keep_row(row)
            }
            _ => {
                self.judge_written(&row)?;
                self.tell(RowAction::Insert, None, Some(&row))
            }
        }
    }

    /// Inserts a row of a table as it is, for callers that have asked and do not need the row path, and for SELECT INTO, which copies even row
    /// versions (sql-docs, rowversion: "duplicate rowversion values can be generated" so).
    ///
    /// # Errors
    /// As for [`Pipeline::insert`].
    pub(crate) fn insert_as_it_is(&mut self, row: &[Value], sets_identity: bool) -> Result<()> {
        check::row(self.columns, row, self.statement, self.context)?;
        if sets_identity {
            self.note_identity(row)?;
        }
        let Writer::Table(writer) = &mut self.writer else {
            return Err(Error::assertion("a table variable keeps its rows"));
        };
        writer.insert(row, self.count)?;
        self.count += 1;
        Ok(())
    }

    /// As [`Pipeline::insert_as_it_is`], with the next identity value at a place of the row.
    ///
    /// # Errors
    /// As for [`Pipeline::insert`].
    pub(crate) fn insert_numbered(&mut self, row: &[Value], place: usize) -> Result<()> {
        let mut row = row.to_vec();
        if let (Some(value), Some(column)) = (row.get_mut(place), self.columns.columns.get(place)) {
            *value = self.next_identity(column.sql_type)?;
        }
        self.insert_as_it_is(&row, false)
    }

    /// Gives a row other values. False when it is not there any more.
    ///
    /// # Errors
    /// As for [`Pipeline::insert`].
    pub fn update(&mut self, locator: &Value, old: &[Value], mut new: Vec<Value>) -> Result<bool> {
        self.read_held(RowAction::Update, &mut new)?;
        if self.is_instead {
            self.compute(&mut new, true)?;
            self.tell(RowAction::Update, Some(old), Some(&new))?;
            self.count += 1;
            return Ok(true);
        }
        self.judge_new(&mut new)?;
        let is_there = match &mut self.writer {
            Writer::Table(writer) => writer.update(&locator_of(locator)?, old, &new)?,
            Writer::Variable(writer) => writer.update(locator, &new),
            Writer::Nothing => return Err(written_to_view()),
        };
        if is_there {
            self.judge_written(&new)?;
            self.tell(RowAction::Update, Some(old), Some(&new))?;
            self.count += 1;
        }
        Ok(is_there)
    }

    /// Gives some columns of a row other values, without the row: for callers that have asked and do not need the row
    /// path.
    ///
    /// # Errors
    /// As for [`Pipeline::insert`].
    pub(crate) fn change_columns(&mut self, locator: &Value, columns: &[usize], values: &[Value]) -> Result<bool> {
        check::nulls_of(self.columns, columns, values, self.statement)?;
        let is_there = self.writer.change_columns(&locator_of(locator)?, columns, values)?;
        self.count += u64::from(is_there);
        Ok(is_there)
    }

    /// Deletes a row. False when it is not there any more. `old` may be of no meaning when the row path is not needed.
    ///
    /// # Errors
    /// 547, those of writing.
    pub fn delete(&mut self, locator: &Value, old: &[Value]) -> Result<bool> {
        let is_there = match &mut self.writer {
            _ if self.is_instead => true,
            Writer::Table(writer) => writer.delete(&locator_of(locator)?, old)?,
            Writer::Variable(writer) => writer.delete(locator),
            Writer::Nothing => return Err(written_to_view()),
        };
        if is_there {
            self.tell(RowAction::Delete, Some(old), None)?;
            self.count += 1;
        }
        Ok(is_there)
    }

    /// Carries out changes whose unique keys are judged together: every row gives up its old keys before one takes a new one. Each row
    /// of the target is named once at most. Changes of rows that are not there any more are left out.
    ///
    /// # Errors
    /// As for [`Pipeline::insert`].
    pub fn change_all(&mut self, changes: Vec<RowChange>) -> Result<()> {
        self.change_beside(changes, Vec::new(), false)
    }

    /// The same, each change with the row it comes from, which OUTPUT may show; without such rows there are none. Identity values of new rows
    /// are remembered if they were given.
    ///
    /// # Errors
    /// As for [`Pipeline::insert`].
    pub(crate) fn change_beside(
        &mut self,
        mut changes: Vec<RowChange>,
        beside: Vec<Vec<Value>>,
        sets_identity: bool,
    ) -> Result<()> {
        let mut beside = beside.into_iter();
        if self.is_instead {
            return self.tell_all(changes, beside);
        }
        self.references.look_at_end();
        for change in &mut changes {
            let (action, new) = match change {
                RowChange::Insert(new) => (RowAction::Insert, new),
                RowChange::Update { new, .. } => (RowAction::Update, new),
                RowChange::Delete { .. } => continue,
            };
            self.read_held(action, new)?;
            self.judge_new(new)?;
        }
        let mut found = Vec::with_capacity(changes.len());
        for change in changes {
            let source = beside.next().unwrap_or_default();
            let is_there = match &change {
                RowChange::Insert(_) => true,
                RowChange::Update { locator, old, new } => self.writer.leave_keys(locator, old, new)?,
                RowChange::Delete { locator, old } => match &mut self.writer {
                    Writer::Table(writer) => writer.delete(&locator_of(locator)?, old)?,
                    Writer::Variable(writer) => writer.delete(locator),
                    Writer::Nothing => return Err(written_to_view()),
                },
            };
            if is_there {
                found.push((change, source));
            }
        }
        for (change, source) in found {
            self.beside = source;
            match change {
                RowChange::Insert(row) => {
                    if sets_identity {
                        self.note_identity(&row)?;
                    }
                    self.write_new(row)?;
                }
                RowChange::Update { locator, old, new } => {
                    self.writer.enter_keys(&locator, &old, &new)?;
                    self.judge_written(&new)?;
                    self.tell(RowAction::Update, Some(&old), Some(&new))?;
                }
                RowChange::Delete { old, .. } => self.tell(RowAction::Delete, Some(&old), None)?,
            }
            self.count += 1;
        }
        Ok(())
    }

    /// The changes that a trigger makes in their place.
    fn tell_all(&mut self, changes: Vec<RowChange>, mut beside: impl Iterator<Item = Vec<Value>>) -> Result<()> {
        for change in changes {
            self.beside = beside.next().unwrap_or_default();
            match change {
                RowChange::Insert(row) => self.insert_built(row, false)?,
                RowChange::Update { locator, old, new } => self.update(&locator, &old, new).map(|_| ())?,
                RowChange::Delete { locator, old } => self.delete(&locator, &old).map(|_| ())?,
            }
        }
        Ok(())
    }

    /// Counts a row that is left as it is.
    pub(crate) fn count_unchanged(&mut self) {
        self.count += 1;
    }

    /// Rows changed so far.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Whether a trigger runs in place of the change: the rows need not be locked or found for good.
    pub(crate) fn is_instead(&self) -> bool {
        self.is_instead
    }

    /// Writes what is not written yet, judges foreign keys, and hands over what triggers are to see. Those of tables that actions of foreign
    /// keys have changed come first, the last one reached before the others: "these triggers fire in opposite order of the cascading action"
    /// (sql-docs, "Primary and foreign key constraints").
    ///
    /// # Errors
    /// 547, those of writing.
    pub(crate) fn finish(mut self) -> Result<Changed> {
        self.writer.flush()?;
        self.views.settle()?;
        let cascades = std::mem::take(&mut self.cascades);
        let Following { mut pending, mut fired } = cascades.run(self.context, self.statement)?;
        self.references.judge(self.context)?;
        pending
            .iter_mut()
            .try_for_each(|references| references.judge(self.context))?;
        self.writer.keep();
        let (count, output) = (self.count, std::mem::take(&mut self.kept));
        self.fire_into(&mut fired);
        Ok(Changed { count, output, fired })
    }

    /// As [`Pipeline::finish`], for rows that the statement changes by the action of a foreign key: what its own foreign keys are to be judged
    /// by is left to the statement.
    fn follow(mut self, following: &mut Following<'p>) -> Result<()> {
        self.writer.flush()?;
        self.views.settle()?;
        let cascades = std::mem::take(&mut self.cascades);
        let inner = cascades.run(self.context, self.statement)?;
        following.pending.extend(inner.pending);
        following.fired.extend(inner.fired);
        let references = std::mem::replace(&mut self.references, References::new(self.columns, self.statement));
        following.pending.push(references);
        self.fire_into(&mut following.fired);
        Ok(())
    }

    /// Hands over the rows that triggers are for. The target of a statement has its triggers fired for no rows as well.
    fn fire_into(&mut self, fired: &mut Vec<Fired>) {
        let Some(firing) = &self.columns.firing else { return };
        for (event, rows) in std::mem::take(&mut self.changed).into_iter().enumerate() {
            fired.push(Fired {
                firing: firing.clone(),
                event,
                is_instead: self.is_instead,
                rows,
            });
        }
    }

    /// Reads held values of a row where a station looks at them, or keeps them beyond the statement: where only a table's rows are written they
    /// stay held.
    fn read_held(&self, action: RowAction, row: &mut [Value]) -> Result<()> {
        let [insert, update] = self.looks_at_rows;
        let looks = if action == RowAction::Insert { insert } else { update };
        let is_written_only = matches!(self.writer, Writer::Table(_)) && !looks;
        if is_written_only || !row.iter().any(|value| matches!(value, Value::Held(_))) {
            return Ok(());
        }
        for value in row.iter_mut() {
            *value = std::mem::replace(value, Value::Null).whole()?;
        }
        Ok(())
    }

    /// Stations 1 and 2 for a row whose given values are in place.
    fn judge_new(&self, row: &mut [Value]) -> Result<()> {
        if let Some(place) = self.row_version.and_then(|column| row.get_mut(column)) {
            *place = self.next_row_version()?;
        }
        if let Some(period) = &self.period {
            period.stamp(row);
        }
        if self.has_computed {
            self.compute(row, true)?;
        }
        check::row(self.columns, row, self.statement, self.context)
    }

    /// The rest of station 2, for what a row must satisfy among the others.
    fn judge_written(&self, row: &[Value]) -> Result<()> {
        check::written(self.columns, row, self.statement, self.context)
    }

    fn write_new(&mut self, row: Vec<Value>) -> Result<()> {
        match &mut self.writer {
            Writer::Table(writer) => {
                writer.insert(&row, self.count)?;
                self.judge_written(&row)?;
                self.tell(RowAction::Insert, None, Some(&row))
            }
            Writer::Variable(writer) => {
                writer.require_new_key(&row)?;
                self.tell(RowAction::Insert, None, Some(&row))?;
                self.writer.keep_row(row)
            }
            Writer::Nothing => Err(written_to_view()),
        }
    }

    /// Tells the stations behind the write of a row.
    fn tell(&mut self, action: RowAction, old: Option<&[Value]>, new: Option<&[Value]>) -> Result<()> {
        if let (Some(old), false) = (old, self.is_instead) {
            self.keep_former(old)?;
        }
        if self.references.has_any() && !self.is_instead {
            self.references.note(self.context, old, new)?;
        }
        if self.cascades.has_any() && !self.is_instead {
            self.cascades.note(self.context, old, new)?;
        }
        if self.columns.firing.is_none() && self.output.is_none() && !self.views.has_any() {
            return Ok(());
        }
        if !self.has_virtual {
            return self.show(action, old, new);
        }
        let whole = |row: Option<&[Value]>| {
            let computed = row.map(|row| {
                let mut row = row.to_vec();
                self.compute(&mut row, false).map(|()| row)
            });
            computed.transpose()
        };
        let (old, new) = (whole(old)?, whole(new)?);
        self.show(action, old.as_deref(), new.as_deref())
    }

    /// Shows a row to indexed views, to triggers and to OUTPUT, with all of its columns.
    fn show(&mut self, action: RowAction, old: Option<&[Value]>, new: Option<&[Value]>) -> Result<()> {
        if !self.is_instead {
            self.views.note(old, new)?;
        }
        if let Some(firing) = &self.columns.firing
            && let Some(event) = firing.events.iter().position(|event| event.action == action)
        {
            let workspace = &self.context.session.instance.workspace;
            let changed = &mut self.changed[event];
            if let Some(old) = old {
                changed.deleted.push(old.to_vec(), workspace)?;
            }
            if let Some(new) = new {
                changed.inserted.push(new.to_vec(), workspace)?;
            }
        }
        match self.output {
            Some(output) => self.output_row(output, action, old, new),
            None => Ok(()),
        }
    }
}
