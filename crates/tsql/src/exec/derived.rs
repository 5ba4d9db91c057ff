//! The small operators: no rows, one row, VALUES, table variables, queries in FROM, filter, project.

use std::rc::Rc;
use std::sync::Arc;

use engine::cancel;
use engine::error::Result;
use engine::lock::LockOwner;
use engine::types::Value;

use super::key_bitmap::KeyBitmap;
use super::subquery::capture;
use super::{Operator, evaluate, holds, measured, scan};
use crate::context::Context;
use crate::plan::{Condition, DerivedNode, Expr, FilterNode, Node, ProjectNode, QueryPlan, ValuesNode, VariableNode};

/// One row without columns.
#[derive(Default)]
pub(super) struct Single {
    done: bool,
}

impl Operator for Single {
    fn next(&mut self, _context: &Context<'_>, _row: &mut [Value]) -> Result<bool> {
        cancel::spend(1)?;
        Ok(!std::mem::replace(&mut self.done, true))
    }

    fn rewind(&mut self) -> bool {
        self.done = false;
        true
    }
}

/// No row.
pub(super) struct Empty;

impl Operator for Empty {
    fn next(&mut self, _context: &Context<'_>, _row: &mut [Value]) -> Result<bool> {
        Ok(false)
    }

    fn rewind(&mut self) -> bool {
        true
    }
}

/// Copies values into a range of a row.
pub(super) fn place(row: &mut [Value], offset: usize, values: impl IntoIterator<Item = Value>) {
    for (target, value) in row.iter_mut().skip(offset).zip(values) {
        *target = value;
    }
}

/// `VALUES`.
pub(super) struct ValueRows<'p> {
    all: &'p [Vec<Expr>],
    rows: std::slice::Iter<'p, Vec<Expr>>,
    offset: usize,
}

impl<'p> ValueRows<'p> {
    pub(super) fn new(node: &'p ValuesNode) -> ValueRows<'p> {
        ValueRows {
            all: &node.rows,
            rows: node.rows.iter(),
            offset: node.offset,
        }
    }
}

impl Operator for ValueRows<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        let Some(expressions) = self.rows.next() else {
            return Ok(false);
        };
        cancel::spend(1)?;
        for (index, expression) in expressions.iter().enumerate() {
            let value = evaluate(expression, row, context)?.into_owned();
            place(row, self.offset + index, [value]);
        }
        Ok(true)
    }

    fn rewind(&mut self) -> bool {
        self.rows = self.all.iter();
        true
    }
}

/// A table variable's rows, those that were there when the scan reached them.
pub(super) struct VariableRows {
    slot: usize,
    width: usize,
    offset: usize,
    locator: Option<usize>,
    next: usize,
    end: Option<usize>,
}

impl VariableRows {
    pub(super) fn new(node: &VariableNode) -> VariableRows {
        VariableRows {
            slot: node.slot,
            width: node.width,
            offset: node.offset,
            locator: node.locator,
            next: 0,
            end: None,
        }
    }
}

impl Operator for VariableRows {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        let tables = context.variables.tables.borrow();
        let Some(table) = tables.get(self.slot) else {
            return Ok(false);
        };
        // Rows that the statement itself adds are not among those it reads.
        let end = *self.end.get_or_insert(table.rows.len());
        while self.next < end {
            cancel::spend(1)?;
            let number = self.next;
            self.next += 1;
            if let Some(Some(values)) = table.rows.get(number) {
                place(row, self.offset, values.iter().take(self.width).cloned());
                if let Some(locator) = self.locator {
                    place(row, locator, [Value::BigInt(number as i64)]);
                }
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// A query that runs, with the values it captured.
type Running<'p> = (Box<dyn Operator + 'p>, Rc<Vec<Value>>);

/// A query in FROM.
pub(super) struct Derived<'p> {
    plan: &'p Arc<QueryPlan>,
    captures: &'p [Expr],
    offset: usize,
    locks: &'p LockOwner,
    buffer: Vec<Value>,
    running: Option<Running<'p>>,
}

impl<'p> Derived<'p> {
    pub(super) fn new(node: &'p DerivedNode, locks: &'p LockOwner) -> Derived<'p> {
        Derived {
            plan: &node.plan,
            captures: &node.captures,
            offset: node.offset,
            locks,
            buffer: vec![Value::Null; node.plan.width],
            running: None,
        }
    }

    /// Without captures the query belongs to the level around it and sees what that one captured.
    fn within<T>(captures: &[Expr], values: &Rc<Vec<Value>>, context: &Context<'_>, work: impl FnOnce() -> T) -> T {
        if captures.is_empty() {
            work()
        } else {
            context.with_parameters(values.clone(), work)
        }
    }
}

impl Operator for Derived<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        if self.running.is_none() {
            let values = capture(self.captures, row, context)?;
            let operator = Self::within(self.captures, &values, context, || {
                super::open(&self.plan.root, self.locks, context)
            })?;
            self.running = Some((operator, values));
        }
        let Some((operator, values)) = &mut self.running else {
            return Ok(false);
        };
        // A row that has nothing beside its columns is made where it is wanted.
        let columns = self.offset..self.offset + self.plan.columns.len();
        if self.plan.width == self.plan.columns.len()
            && let Some(own) = row.get_mut(columns)
        {
            return Self::within(self.captures, values, context, || operator.next(context, own));
        }
        let buffer = &mut self.buffer;
        if !Self::within(self.captures, values, context, || operator.next(context, buffer))? {
            return Ok(false);
        }
        place(
            row,
            self.offset,
            self.buffer.iter().take(self.plan.columns.len()).cloned(),
        );
        Ok(true)
    }
}

/// Rows for which a condition holds.
struct Filter<'p> {
    input: Box<dyn Operator + 'p>,
    condition: &'p Condition,
}

/// Opens a filter; a scan below it may test its rows itself.
pub(super) fn open_filter<'p>(
    node: &'p FilterNode,
    locks: &'p LockOwner,
    context: &Context<'_>,
) -> Result<Box<dyn Operator + 'p>> {
    let condition = &node.condition;
    if let Node::Scan(scan) = &*node.input
        && scan::can_test(scan, condition, context)
        && !context.session.counts_rows()
    {
        return measured::open_testing(scan, condition, locks, context);
    }
    let input = super::open(&node.input, locks, context)?;
    Ok(Box::new(Filter { input, condition }))
}

impl Operator for Filter<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        while self.input.next(context, row)? {
            if holds(self.condition, row, context)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn rewind(&mut self) -> bool {
        self.input.rewind()
    }

    fn leave_out(&mut self, bitmap: &Rc<KeyBitmap>) -> bool {
        self.input.leave_out(bitmap)
    }
}

/// Computes a new row from the input's.
struct Project<'p> {
    input: Box<dyn Operator + 'p>,
    buffer: Vec<Value>,
    expressions: &'p [Expr],
}

/// Opens a projection.
pub(super) fn open_project<'p>(
    node: &'p ProjectNode,
    locks: &'p LockOwner,
    context: &Context<'_>,
) -> Result<Box<dyn Operator + 'p>> {
    Ok(Box::new(Project {
        input: super::open(&node.input, locks, context)?,
        buffer: vec![Value::Null; node.input_width],
        expressions: &node.expressions,
    }))
}

impl Operator for Project<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        if !self.input.next(context, &mut self.buffer)? {
            return Ok(false);
        }
        for (target, expression) in row.iter_mut().zip(self.expressions) {
            *target = evaluate(expression, &self.buffer, context)?.into_owned();
        }
        Ok(true)
    }

    fn rewind(&mut self) -> bool {
        self.input.rewind()
    }
}
