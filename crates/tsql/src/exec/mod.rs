//! Running plans: evaluation of expressions, and one file per operator.
//!
//! Rows are pulled: [`Operator::next`] writes the next row into a buffer that its caller owns and reuses. Opening a plan
//! builds the operators' state; the plan itself is only read.

mod aggregate;
mod aggregate_state;
mod arrange;
mod computed;
mod cursor_row;
mod cursor_walk;
mod derived;
mod distinct_values;
mod evaluate;
mod exchange;
mod file_rows;
mod function_rows;
pub(crate) mod gather;
mod hash_join;
mod join;
mod kept_rows;
mod key_bitmap;
mod key_range;
mod key_table;
mod list_search;
mod measured;
mod merge_join;
mod merge_sort;
mod module_rows;
mod numbering;
mod partial_sort;
mod partitions;
mod pointed;
mod rank_stream;
mod recursive;
mod row_bytes;
mod row_spool;
mod row_store;
mod scan;
mod search;
mod serialize;
mod set_operation;
pub(crate) mod settle;
mod sort;
mod sorter;
mod spill_set;
mod stream_aggregate;
mod subquery;
mod top;
mod top_sort;
mod window;
mod window_frame;
mod window_order;
mod window_percentile;
mod window_stream;

pub use crate::scalar::row_place::locator_of;
pub(crate) use crate::scalar::row_place::locator_value;
pub(crate) use aggregate_state::{exact, exact_value};
pub(crate) use cursor_row::read_for_change;
pub use evaluate::{Surroundings, evaluate, evaluate_or_held, holds, test};
pub(crate) use key_range::after_prefix;
pub(crate) use scan::{check_definition, check_isolation};

use std::rc::Rc;

use engine::error::{Error, Result};
use engine::lock::LockOwner;
use engine::types::Value;

use crate::context::Context;
use crate::plan::{JoinMethod, JoinNode, Node, QueryPlan};
pub use key_bitmap::KeyBitmap;
pub(crate) use top::share_of;

/// A source of rows.
pub trait Operator {
    /// Writes the next row into `row`; false when there is none.
    ///
    /// Invariant: an operator that makes rows (reads them from a table, a variable, a spill file, memory) spends a step for
    /// each, so that operators which only pass rows on, or look for one in vain, need not account for time. Loops over what an
    /// operator keeps spend for themselves.
    ///
    /// Invariant: an operator is handed the same buffer at every call, as it has left it: a join writes the columns of its left
    /// side once for all rows of its right side.
    ///
    /// # Errors
    /// Whatever the statement fails with.
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool>;

    /// Goes back to before the first row, for a row around it with other values; whatever depends on that is evaluated again, in the
    /// row given to [`Operator::next`]. False when the operator cannot, and is to be opened again instead.
    fn rewind(&mut self) -> bool {
        false
    }

    /// Takes a bitmap before the first row is asked for: rows that have none of its keys need not come. False when it was not taken:
    /// it only saves work, and the operator that hands it down tests the rows that come.
    fn leave_out(&mut self, _bitmap: &Rc<KeyBitmap>) -> bool {
        false
    }
}

/// Builds the operators of a plan.
///
/// # Errors
/// When a source cannot be opened; 8631 when operators are nested deeper than there is stack.
pub fn open<'p>(node: &'p Node, locks: &'p LockOwner, context: &Context<'_>) -> Result<Box<dyn Operator + 'p>> {
    match context.session.measures() {
        None => open_bare(node, locks, context),
        Some(measures) => measured::open(node, locks, context, &measures),
    }
}

/// Builds the operators of a plan; nothing is counted of the first one. Each operator of the algebra has a line here.
fn open_bare<'p>(node: &'p Node, locks: &'p LockOwner, context: &Context<'_>) -> Result<Box<dyn Operator + 'p>> {
    crate::stack::require_for_operator()?;
    match node {
        Node::Single => Ok(Box::new(derived::Single::default())),
        Node::Empty => Ok(Box::new(derived::Empty)),
        Node::Scan(scan) => scan::open(scan, None, locks, context),
        Node::View(view) => Ok(Box::new(scan::ViewRows::new(view))),
        Node::Module(module) => Ok(Box::new(module_rows::ModuleRows::new(module))),
        Node::Function(function) => Ok(Box::new(function_rows::CalledRows::new(function))),
        Node::Values(values) => Ok(Box::new(derived::ValueRows::new(values))),
        Node::Variable(variable) => Ok(Box::new(derived::VariableRows::new(variable))),
        Node::Derived(derived) => Ok(kept_rows::open(derived, locks)),
        Node::Recursive(recursive) => Ok(Box::new(recursive::Recursive::new(recursive, locks))),
        Node::Round(round) => Ok(Box::new(recursive::RoundRows::new(round))),
        Node::From(_) | Node::Outer(_) => Err(Error::assertion("a logical operator is executed")),
        Node::Join(join) => open_join(join, locks, context),
        Node::Arrange(arrange) => arrange::open(arrange, locks, context),
        Node::Filter(filter) => derived::open_filter(filter, locks, context),
        Node::Aggregate(aggregate) => aggregate::open(aggregate, locks, context),
        Node::Window(window) => window_stream::open(window, locks, context),
        Node::Project(project) => derived::open_project(project, locks, context),
        Node::Distinct(distinct) => set_operation::open_distinct(distinct, locks, context),
        Node::Sort(sort) => partial_sort::open(sort, locks, context),
        Node::Top(top) => Ok(Box::new(top::Top::open(top, locks, context)?)),
        Node::Slice(slice) => Ok(Box::new(top::Slice::open(slice, locks, context)?)),
        Node::Append(append) => Ok(Box::new(set_operation::Append::new(append, locks))),
        Node::Serialize(node) => Ok(Box::new(serialize::Serialize::open(node, locks, context)?)),
        Node::SetOperation(operation) => set_operation::open(operation, locks, context),
    }
}

fn open_join<'p>(node: &'p JoinNode, locks: &'p LockOwner, context: &Context<'_>) -> Result<Box<dyn Operator + 'p>> {
    let left = open(&node.left, locks, context)?;
    Ok(match node.method {
        JoinMethod::Loop => Box::new(join::Loop::new(left, node, locks)),
        JoinMethod::Hash { has_bitmap } => Box::new(hash_join::Hash::open(left, node, has_bitmap, context)?),
        JoinMethod::Merge { is_descending, is_many } => {
            let right = open(&node.right, locks, context)?;
            Box::new(merge_join::Merge::new(
                left,
                right,
                node,
                is_descending,
                is_many,
                context,
            ))
        }
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
        each(row.get(..plan.columns.len()).unwrap_or_default())?;
    }
    Ok(count)
}
