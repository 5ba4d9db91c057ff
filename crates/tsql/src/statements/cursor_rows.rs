//! How keyset and dynamic cursors find their rows again.
//!
//! ```text
//! keyset     OPEN runs the query and keeps the locators of its tables' rows: the key in a clustered index, else a row identifier and the
//!            values of a unique key. FETCH reads these rows by their locators, without the conditions of the query. -2 for one that is gone, or
//!            whose key is another one
//! dynamic    OPEN reads nothing. FETCH runs the query from the place of the row fetched last, in the order of the index or the heap that its
//!            plan reads, up to the next row. A plan that has to sort, and one of several tables, gives a keyset cursor instead
//! ```
//! (SQL Server walks joins as well.) A row of a heap that is deleted and inserted again is another one here, whatever its key is.
//!
//! *Locks.* FETCH locks as a SELECT of the same level does, and gives back what that gives back at the end of the statement: READ COMMITTED
//! waits for a row that another transaction is changing, and REPEATABLE READ and SERIALIZABLE keep their locks. Between two FETCHes nothing is
//! locked, unless SCROLL_LOCKS asks for it: then the row that is fetched gets a U lock, kept to the end of the transaction. Outside of one it
//! ends with the FETCH (SQL Server keeps it up to the next FETCH). So a change through the cursor compares the row as under OPTIMISTIC.
//!
//! *Costs.* A FETCH opens a plan: a descent to the row for each table of a keyset cursor, a descent and a page for a dynamic one. The plans
//! are made once for a cursor, by DECLARE and the first FETCH, and again when a definition of the database has changed. If it is one of the
//! cursor's tables, FETCH fails (16943). A keyset takes memory for each row, and is refused (701) without it.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use engine::cancel;
use engine::error::{Error, Result};
use engine::types::{SqlType, Value};

use super::cursor::wanted_place;
use super::executor::Executor;
use crate::ast::{FetchDirection, Identifier};
use crate::bind::{BoundCursor, CursorForm};
use crate::context::{Context, TableVariable, Variables};
use crate::exec::{open, read_for_change};
use crate::grant::{KeptRows, stored_bytes};
use crate::messages;
use crate::plan::{CursorScan, IndexSeek, Node, Part, QueryPlan, ScanNode, SeekRange};
use crate::prepared::CompiledBatch;
use crate::scalar::convert::convert;
use crate::sink::ResultColumn;
use crate::state::{
    CurrentRow, Cursor, CursorConcurrency, CursorDeclaration, CursorModel, CursorPlace, CursorReading, Dependencies,
    TableRow,
};

/// Where a dynamic cursor is: before its rows, among them, behind them.
const BEFORE: i64 = 0;
const AMONG: i64 = 1;
const BEHIND: i64 = 2;

/// The batch that declared a cursor, with the values that its variables had then. They are elsewhere while something is done with them.
pub(super) struct DeclaredIn {
    batch: Rc<CompiledBatch>,
    values: RefCell<Vec<Value>>,
}

impl DeclaredIn {
    /// A text without variables.
    pub(super) fn of_text(batch: &Rc<CompiledBatch>) -> DeclaredIn {
        DeclaredIn {
            batch: batch.clone(),
            values: RefCell::default(),
        }
    }

    /// What runs now.
    pub(super) fn of(executor: &Executor<'_>) -> DeclaredIn {
        DeclaredIn {
            batch: executor.batch.clone(),
            values: executor.variables.values.clone(),
        }
    }

    /// About what the values take.
    pub(super) fn bytes(&self) -> u64 {
        stored_bytes(&self.values.borrow())
    }
}

/// The plans of a cursor whose rows are found again.
pub(super) struct CursorPlans {
    /// What it becomes.
    pub(super) model: CursorModel,
    /// Finds its rows.
    pub(super) members: BoundCursor,
    dependencies: Dependencies,
    /// Reads one of them.
    row: OnceCell<(BoundCursor, Dependencies)>,
}

impl CursorPlans {
    /// 207 for a column of FOR UPDATE OF that no table has.
    pub(super) fn require_columns(&self, columns: &[Identifier]) -> Result<()> {
        let is_there = |name: &Identifier| {
            let mut tables = self.members.tables.iter();
            tables.any(|table| {
                let mut columns = table.table.table.definition().columns.iter();
                columns.any(|column| name.is(&column.name))
            })
        };
        match columns.iter().find(|name| !is_there(name)) {
            Some(missing) => Err(messages::invalid_column_name(&missing.text)),
            None => Ok(()),
        }
    }

    /// Whether the tables are as they were when the plans were made.
    pub(super) fn has_same_tables(&self, session: u16) -> bool {
        let mut tables = self.members.tables.iter();
        tables.all(|table| table.table.table.is_current(session))
    }

    /// What of a row of the members tells where the rows of the tables are.
    fn locators<'r>(&'r self, kept: &'r [Value]) -> impl Iterator<Item = Value> + 'r {
        let locator = |place: usize| kept.get(place - self.members.shown).cloned().unwrap_or(Value::Null);
        self.members.tables.iter().map(move |table| locator(table.locator))
    }

    /// Whether the keys of a row that was read are those of the member that it was read for.
    fn has_same_keys(&self, kept: &[Value], read: &[Value]) -> bool {
        let mut places = self.members.tables.iter().flat_map(|table| table.key.clone());
        places.all(|place| kept.get(place - self.members.shown) == read.get(place))
    }
}

/// What a FETCH comes to.
pub(super) enum Fetched {
    Row(Vec<Value>),
    /// The row is there no more.
    Gone,
    /// There is none in this direction.
    Nothing,
}

/// The scan of a plan that reads one table in an order of its own and hands on its rows as they come.
fn walked(node: &mut Node) -> Option<&mut ScanNode> {
    if let Node::Scan(scan) = node {
        let is_ordered = scan.seek.as_ref().is_none_or(|seek| seek.union.is_empty());
        return (is_ordered && scan.text_row.is_none()).then_some(scan);
    }
    if let Node::Filter(filter) = node {
        return walked(&mut filter.input);
    }
    if let Node::Project(project) = node {
        return walked(&mut project.input);
    }
    None
}

/// What a query makes of a cursor; a dynamic one's plan is made a walk.
fn model_of(asked: CursorModel, members: &mut BoundCursor) -> CursorModel {
    let is_one_table = members.tables.len() == 1 && !members.is_limited;
    if asked == CursorModel::Dynamic
        && is_one_table
        && let Some(scan) = walked(&mut members.query.plan.root)
        // A walk goes on behind a key or a place of one heap or tree.
        && !scan.table.table.is_partitioned()
    {
        scan.cursor = Some(CursorScan::Walk);
        let mut indexes = scan.table.table.definition().indexes.iter();
        let clustered = indexes.position(|index| index.index_id == 1);
        if let (None, Some(clustered)) = (&scan.seek, clustered) {
            scan.seek = Some(IndexSeek::of(clustered, SeekRange::whole()));
        }
        return CursorModel::Dynamic;
    }
    match members.has_keys() {
        true => CursorModel::Keyset,
        false => CursorModel::Static,
    }
}

/// What FETCH has of a row that is gone: NULL, and where a column has no NULL the zero of its type (notes of the SqlServerSimulator
/// project on "Cursors").
pub(super) fn empty_row(columns: &[ResultColumn]) -> Result<Vec<Value>> {
    columns.iter().map(empty_value).collect()
}

fn empty_value(column: &ResultColumn) -> Result<Value> {
    let sql_type = column.sql_type;
    if column.nullable {
        return Ok(Value::Null);
    }
    if sql_type.is_character() {
        return convert(
            &Value::from(""),
            SqlType::VarChar(engine::types::Length::Limited(1)),
            sql_type,
            None,
        );
    }
    let zero = convert(&Value::Int(0), SqlType::Int, sql_type, None);
    zero.or(Ok(Value::Null))
}

impl Executor<'_> {
    /// Whether the batch that runs is the one that has declared a cursor.
    pub(super) fn has_declared(&self, declaration: &CursorDeclaration) -> bool {
        let declared = declaration.declared_in.downcast_ref::<DeclaredIn>();
        declared.is_some_and(|declared| Rc::ptr_eq(&declared.batch, &self.batch))
    }

    /// Does something with the variables that a cursor's query was declared with.
    ///
    /// # Errors
    /// Those of `work`.
    pub(super) fn as_declared<T>(
        &mut self,
        declaration: &CursorDeclaration,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let Some(declared) = declaration.declared_in.downcast_ref::<DeclaredIn>() else {
            return Err(Error::assertion("a cursor that no batch has declared"));
        };
        // A query changes no variable, so the values come back as they were.
        if Rc::ptr_eq(&declared.batch, &self.batch) {
            self.variables.values.swap(&declared.values);
            let result = work(self);
            self.variables.values.swap(&declared.values);
            return result;
        }
        let shapes = declared.batch.scope.shapes().iter();
        let tables = shapes.map(|shape| TableVariable::new(shape.clone())).collect();
        let variables = Variables::new(declared.values.take(), tables);
        let variables = std::mem::replace(&mut self.variables, variables);
        let batch = std::mem::replace(&mut self.batch, declared.batch.clone());
        let result = work(self);
        self.batch = batch;
        let variables = std::mem::replace(&mut self.variables, variables);
        declared.values.replace(variables.values.take());
        result
    }

    /// Plans the query of a cursor, and decides what it becomes.
    ///
    /// # Errors
    /// Those of binding and planning.
    pub(super) fn plan_cursor(&mut self, declaration: &CursorDeclaration) -> Result<CursorPlans> {
        let asked = declaration.model;
        let is_soon = asked == CursorModel::Dynamic;
        self.as_declared(declaration, |executor| {
            let bound = executor.bound(&*declaration.query, |binder, query| {
                binder.cursor_query(query, CursorForm::Members, is_soon)
            })?;
            let (mut members, dependencies) = bound.into_parts();
            Ok(CursorPlans {
                model: model_of(asked, &mut members),
                members,
                dependencies,
                row: OnceCell::new(),
            })
        })
    }

    /// The plans of a cursor, held for this statement; made again if a definition has changed that is none of its tables'.
    ///
    /// # Errors
    /// 16943 when one of its tables has changed, or the cursor would become another one.
    fn current_plans(&mut self, cursor: &mut Cursor) -> Result<Rc<CursorPlans>> {
        let plans = Self::plans_of(cursor).ok_or_else(|| Error::assertion("a cursor without plans"))?;
        self.session.hold_all(&plans.dependencies, true)?;
        let row = plans.row.get();
        row.map_or(Ok(()), |(_, of_row)| self.session.hold_all(of_row, true))?;
        let are_current = plans.dependencies.are_current(self.session)
            && row.is_none_or(|(_, of_row)| of_row.are_current(self.session));
        if are_current {
            return Ok(plans);
        }
        if !plans.has_same_tables(self.session.id) {
            return Err(messages::cursor_table_redefined());
        }
        let renewed = self.plan_cursor(&cursor.declaration)?;
        if renewed.model != plans.model || order_of(&renewed.members) != order_of(&plans.members) {
            return Err(messages::cursor_table_redefined());
        }
        let renewed = Rc::new(renewed);
        cursor.plans = Some(renewed.clone());
        Ok(renewed)
    }

    /// The columns of a cursor that is opened, and what its rows are found by.
    ///
    /// # Errors
    /// 16943; those of the query; 701.
    pub(super) fn members_of(&mut self, cursor: &mut Cursor) -> Result<(Vec<ResultColumn>, KeptRows)> {
        let plans = match self.current_plans(cursor) {
            // Nothing of it is open: it may be planned for the tables as they are.
            Err(error) if error.number == messages::cursor_table_redefined().number => {
                let plans = Rc::new(self.plan_cursor(&cursor.declaration)?);
                if plans.model != cursor.declaration.model {
                    return Err(error);
                }
                cursor.plans = Some(plans.clone());
                plans
            }
            plans => plans?,
        };
        let plan = &plans.members.query.plan;
        let shown = plans.members.shown;
        let columns = plan.columns.get(..shown).unwrap_or_default().to_vec();
        let mut kept = KeptRows::default();
        if plans.model == CursorModel::Keyset {
            kept = self.as_declared(&cursor.declaration, |executor| {
                executor.atomically(false, |executor| {
                    let context = Context::new(executor.session, &executor.variables);
                    let workspace = &executor.session.instance.workspace;
                    let mut kept = KeptRows::default();
                    crate::exec::run(plan, &context, &mut |row| {
                        kept.push(row.get(shown..).unwrap_or_default().to_vec(), workspace)
                    })?;
                    Ok(kept)
                })
            })?;
        }
        Ok((columns, kept))
    }

    /// The row that a direction leads to, at which the cursor is then.
    ///
    /// # Errors
    /// 16943; those of the query.
    pub(super) fn row_of_cursor(
        &mut self,
        cursor: &mut Cursor,
        direction: &FetchDirection,
        amount: i64,
    ) -> Result<Fetched> {
        let plans = self.current_plans(cursor)?;
        match plans.model {
            CursorModel::Dynamic => self.row_of_walk(cursor, &plans, direction, amount),
            CursorModel::Keyset | CursorModel::Static | CursorModel::FastForward => {
                let rows = cursor.rows.as_ref().map_or(&[][..], |kept| kept.rows.as_slice());
                let count = rows.len() as i64;
                let wanted = wanted_place(direction, amount, cursor.position, count);
                let member = usize::try_from(wanted - 1)
                    .ok()
                    .and_then(|index| rows.get(index).cloned());
                // A FETCH that fails leaves the cursor at its place, and at no row.
                cursor.row = CurrentRow::Nothing;
                let fetched = match member {
                    Some(member) => self.row_of_member(cursor, &plans, &member)?,
                    None => Fetched::Nothing,
                };
                cursor.position = wanted.clamp(0, count + 1);
                Ok(fetched)
            }
        }
    }

    /// Reads the rows of a member.
    fn row_of_member(&mut self, cursor: &mut Cursor, plans: &CursorPlans, member: &[Value]) -> Result<Fetched> {
        let reading = Rc::new(CursorReading::of_rows(plans.locators(member)));
        let declaration = &cursor.declaration;
        let row = self.as_declared(declaration, |executor| {
            let plan = executor.row_plan(plans, declaration)?;
            executor.atomically(false, |executor| executor.first_row(&plan.query.plan, &reading))
        })?;
        let row = row.filter(|row| !reading.is_missing() && plans.has_same_keys(member, row));
        let Some(mut row) = row else {
            cursor.row = CurrentRow::Gone;
            return Ok(Fetched::Gone);
        };
        row.truncate(plans.members.shown);
        cursor.row = CurrentRow::Fetched(reading.take_rows());
        Ok(Fetched::Row(row))
    }

    /// The plan that reads one row of a cursor.
    fn row_plan<'p>(&mut self, plans: &'p CursorPlans, declaration: &CursorDeclaration) -> Result<&'p BoundCursor> {
        if let Some((plan, _)) = plans.row.get() {
            return Ok(plan);
        }
        let form = CursorForm::Row(declaration.concurrency == CursorConcurrency::ScrollLocks);
        let bound = self.bound(&*declaration.query, |binder, query| {
            binder.cursor_query(query, form, false)
        })?;
        Ok(&plans.row.get_or_init(|| bound.into_parts()).0)
    }

    /// The first row of a plan that reads for a cursor.
    fn first_row(&self, plan: &QueryPlan, reading: &Rc<CursorReading>) -> Result<Option<Vec<Value>>> {
        self.nth_row(plan, reading, 1)
    }

    /// The row of a number, from 1; with each row before it the cursor comes one on.
    fn nth_row(&self, plan: &QueryPlan, reading: &Rc<CursorReading>, number: u64) -> Result<Option<Vec<Value>>> {
        let context = Context::new(self.session, &self.variables).at_cursor(Some(reading.clone()));
        let mut operator = open(&plan.root, context.locks(), &context)?;
        let mut row = vec![Value::Null; plan.width];
        for _ in 0..number {
            cancel::spend(1)?;
            if !operator.next(&context, &mut row)? {
                return Ok(None);
            }
        }
        Ok(Some(row))
    }

    /// The row that a direction leads a dynamic cursor to.
    fn row_of_walk(
        &mut self,
        cursor: &mut Cursor,
        plans: &CursorPlans,
        direction: &FetchDirection,
        amount: i64,
    ) -> Result<Fetched> {
        let place = cursor.place.clone();
        let (from, is_backward, number) = match (direction, cursor.position) {
            (FetchDirection::First, _) => (None, false, 1),
            (FetchDirection::Last, _) => (None, true, 1),
            (FetchDirection::Next, BEHIND) => return Ok(Fetched::Nothing),
            (FetchDirection::Next, _) => (place, false, 1),
            (FetchDirection::Prior, BEFORE) => return Ok(Fetched::Nothing),
            (FetchDirection::Prior, _) => (place, true, 1),
            (FetchDirection::Absolute(_) | FetchDirection::Relative(_), position) => match (amount, position) {
                (0, AMONG) => return self.row_again(cursor, plans),
                (0, _) => return Ok(Fetched::Nothing),
                (1.., BEHIND) | (..=-1, BEFORE) => return Ok(Fetched::Nothing),
                (amount, _) => (place, amount < 0, amount.unsigned_abs()),
            },
        };
        cursor.row = CurrentRow::Nothing;
        let row = self.walk(cursor, plans, (from, is_backward), number)?;
        match row {
            Some(row) => Ok(Fetched::Row(row)),
            None => {
                cursor.position = if is_backward { BEFORE } else { BEHIND };
                cursor.place = None;
                cursor.row = CurrentRow::Nothing;
                Ok(Fetched::Nothing)
            }
        }
    }

    /// Walks to a row, and locks it under SCROLL_LOCKS.
    fn walk(
        &mut self,
        cursor: &mut Cursor,
        plans: &CursorPlans,
        (from, is_backward): (Option<CursorPlace>, bool),
        number: u64,
    ) -> Result<Option<Vec<Value>>> {
        let plan = &plans.members.query.plan;
        loop {
            let reading = Rc::new(CursorReading::of_walk(from.clone(), is_backward));
            let is_locked = cursor.declaration.concurrency == CursorConcurrency::ScrollLocks;
            let row = self.as_declared(&cursor.declaration, |executor| {
                executor.atomically(false, |executor| {
                    let Some(row) = executor.nth_row(plan, &reading, number)? else {
                        return Ok(None);
                    };
                    let rows = reading.take_rows();
                    let is_same = !is_locked || executor.lock_as_read(plans, &rows)?;
                    Ok(Some((row, rows, is_same)))
                })
            })?;
            let Some((mut row, rows, is_same)) = row else {
                return Ok(None);
            };
            if !is_same {
                // It has changed between the reading and the lock.
                cancel::look()?;
                continue;
            }
            row.truncate(plans.members.shown);
            cursor.position = AMONG;
            cursor.place = reading.place();
            cursor.row = CurrentRow::Fetched(rows);
            return Ok(Some(row));
        }
    }

    /// Locks the row that was read for a change to come; false when it is another one by then.
    fn lock_as_read(&self, plans: &CursorPlans, rows: &[TableRow]) -> Result<bool> {
        let (Some(scan), Some(row)) = (walk_of(&plans.members), rows.first()) else {
            return Err(Error::assertion("a walk without a row"));
        };
        let context = Context::new(self.session, &self.variables);
        let mut bytes = Vec::new();
        let found = read_for_change(scan, &row.locator, &context, &mut bytes)?;
        Ok(found && bytes == row.bytes)
    }

    /// The row that a dynamic cursor is at, once more.
    fn row_again(&mut self, cursor: &mut Cursor, plans: &CursorPlans) -> Result<Fetched> {
        let CurrentRow::Fetched(rows) = &cursor.row else {
            return Ok(Fetched::Gone);
        };
        // Its key is not compared: it is the row that the cursor is at, whatever its key has become.
        let locators: Vec<Value> = rows.iter().map(|row| row.locator.clone()).collect();
        let reading = Rc::new(CursorReading::of_rows(locators.into_iter()));
        let declaration = &cursor.declaration;
        let row = self.as_declared(declaration, |executor| {
            let plan = executor.row_plan(plans, declaration)?;
            executor.atomically(false, |executor| executor.first_row(&plan.query.plan, &reading))
        })?;
        match row {
            Some(mut row) => {
                row.truncate(plans.members.shown);
                cursor.row = CurrentRow::Fetched(reading.take_rows());
                Ok(Fetched::Row(row))
            }
            None => {
                cursor.row = CurrentRow::Gone;
                Ok(Fetched::Gone)
            }
        }
    }
}

/// The scan that walks through the table of a dynamic cursor.
fn walk_of(members: &BoundCursor) -> Option<&ScanNode> {
    fn scan_of(node: &Node) -> Option<&ScanNode> {
        if let Node::Filter(filter) = node {
            return scan_of(&filter.input);
        }
        if let Node::Project(project) = node {
            return scan_of(&project.input);
        }
        let Node::Scan(scan) = node else { return None };
        scan.cursor.is_some().then_some(scan)
    }
    scan_of(&members.query.plan.root)
}

/// The index whose order a dynamic cursor follows.
fn order_of(members: &BoundCursor) -> Option<(usize, bool)> {
    let seek = walk_of(members)?.seek.as_ref()?;
    Some((seek.index, seek.is_backward))
}

/// Whether a plan reads table variables.
pub(super) fn reads_table_variables(node: &Node) -> bool {
    matches!(node, Node::Variable(_))
        || node.has_part(&mut |part| match part {
            Part::Node(below) | Part::Apart(below) => reads_table_variables(below),
            Part::Plan(plan) => reads_table_variables(&plan.root),
            Part::Expression(_) | Part::Condition(_) | Part::Written(_) => false,
        })
}
