//! Running plans: evaluation of expressions, and one file per operator.
//!
//! Rows are pulled: [`Operator::next`] writes the next row into a buffer that its caller owns and reuses. Opening a plan
//! builds the operators' state; the plan itself is only read.

mod aggregate;
mod aggregate_state;
mod context;
mod derived;
mod evaluate;
mod join;
mod scan;
mod set_operation;
mod sort;
mod subquery;
mod top;
mod window;
mod window_frame;

pub use context::{Context, TableVariable, Variables};
pub use evaluate::{evaluate, holds, test};
pub use scan::locator_of;

use engine::error::Result;
use engine::lock::LockOwner;
use engine::types::Value;

use crate::plan::{Node, QueryPlan};

/// A source of rows.
pub trait Operator {
    /// Writes the next row into `row`; false when there is none.
    ///
    /// # Errors
    /// Whatever the statement fails with.
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool>;
}

/// Builds the operators of a plan.
///
/// # Errors
/// When a source cannot be opened.
pub fn open<'p>(node: &'p Node, locks: &'p LockOwner, context: &Context<'_>) -> Result<Box<dyn Operator + 'p>> {
    Ok(match node {
        Node::Single => Box::new(derived::Single::default()),
        Node::Empty => Box::new(derived::Empty),
        Node::Scan(scan) => scan::open(scan, locks, context)?,
        Node::View {
            view,
            database_id,
            arguments,
            offset,
        } => Box::new(scan::ViewRows::new(view, *database_id, arguments, *offset)),
        Node::Values { rows, offset } => Box::new(derived::ValueRows::new(rows, *offset)),
        Node::Variable {
            slot,
            width,
            offset,
            locator,
        } => Box::new(derived::VariableRows::new(*slot, *width, *offset, *locator)),
        Node::Derived { plan, captures, offset } => Box::new(derived::Derived::new(plan, captures, *offset, locks)),
        Node::Loop {
            left,
            right,
            right_range,
            kind,
            condition,
        } => Box::new(join::Loop::open(
            left,
            right,
            *right_range,
            *kind,
            condition,
            locks,
            context,
        )?),
        Node::Hash {
            left,
            right,
            left_range,
            right_range,
            kind,
            keys,
            residual,
        } => {
            let ranges = (*left_range, *right_range);
            Box::new(join::Hash::open(
                (left, right),
                ranges,
                *kind,
                keys,
                residual,
                locks,
                context,
            )?)
        }
        Node::Filter { input, condition } => Box::new(derived::Filter {
            input: open(input, locks, context)?,
            condition,
        }),
        Node::Aggregate {
            input,
            input_width,
            keys,
            sets,
            aggregates,
        } => Box::new(aggregate::Aggregate::open(
            input,
            *input_width,
            keys,
            sets,
            aggregates,
            context,
        )?),
        Node::Window {
            input,
            input_width,
            calls,
        } => Box::new(window::Window::open(input, *input_width, calls, context)?),
        Node::Project {
            input,
            input_width,
            expressions,
        } => Box::new(derived::Project {
            input: open(input, locks, context)?,
            buffer: vec![Value::Null; *input_width],
            expressions,
        }),
        Node::Distinct { input, columns, .. } => {
            Box::new(set_operation::Distinct::new(open(input, locks, context)?, *columns))
        }
        Node::Sort { input, width, keys } => Box::new(sort::Sort::new(open(input, locks, context)?, *width, keys)),
        Node::Top { input, top, width } => Box::new(top::Top::open(input, top, *width, locks, context)?),
        Node::Slice { input, offset, fetch } => {
            Box::new(top::Slice::open(input, offset, fetch.as_ref(), locks, context)?)
        }
        Node::SetOperation {
            kind,
            left,
            right,
            width,
        } => Box::new(set_operation::SetOperation::open(
            *kind, left, right, *width, locks, context,
        )?),
    })
}

/// Runs a plan and hands every row's result columns to `each`.
///
/// # Errors
/// Those of the plan and of `each`.
pub fn run(plan: &QueryPlan, context: &Context<'_>, each: &mut dyn FnMut(&[Value]) -> Result<()>) -> Result<u64> {
    let mut operator = open(&plan.root, context.locks(), context)?;
    let mut row = vec![Value::Null; plan.width];
    let mut count = 0;
    while operator.next(context, &mut row)? {
        count += 1;
        if count % 256 == 0 {
            context.check_cancelled()?;
        }
        each(row.get(..plan.columns.len()).unwrap_or_default())?;
    }
    Ok(count)
}
