//! Running plans: evaluation of expressions, and one file per operator.
//!
//! Rows are pulled: [`Operator::next`] writes the next row into a buffer that its caller owns and reuses. Opening a plan
//! builds the operators' state; the plan itself is only read.

mod aggregate;
mod aggregate_state;
mod arrange;
mod derived;
mod distinct_values;
mod evaluate;
mod exchange;
pub(crate) mod gather;
mod hash_join;
mod join;
mod kept_rows;
mod key_bitmap;
mod key_range;
mod key_table;
mod measured;
mod merge_join;
mod merge_sort;
mod module_rows;
mod numbering;
mod partial_sort;
mod partitions;
mod rank_stream;
mod recursive;
mod row_bytes;
mod row_spool;
mod row_store;
mod scan;
mod search;
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
mod window_stream;

pub use evaluate::{Surroundings, evaluate, holds, test};
pub(crate) use key_range::after_prefix;
pub(crate) use scan::check_isolation;
pub use scan::locator_of;
pub(crate) use scan::locator_value;

use std::rc::Rc;

use engine::error::{Error, Result};
use engine::lock::LockOwner;
use engine::types::Value;

use crate::context::Context;
use crate::plan::{Node, QueryPlan, WindowCall};
pub use key_bitmap::KeyBitmap;

/// A source of rows.
pub trait Operator {
    /// Writes the next row into `row`; false when there is none.
    ///
    /// Invariant: whoever makes rows (reads them from a table, a variable, a spill file, memory) spends a step for each, so that
    /// operators which only pass rows on, or look for one in vain, need not account for time. Loops over what an operator keeps
    /// spend for themselves.
    ///
    /// Invariant: an operator is handed the same buffer at every call, as it has left it: a join writes the columns of its left
    /// side once for all rows of its right side.
    ///
    /// # Errors
    /// Whatever the statement fails with.
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool>;

    /// Goes back to before the first row, for a row around it with other values; whatever depends on that is evaluated anew, in the
    /// row given to [`Operator::next`]. False when the operator cannot, and is to be opened anew instead.
    fn rewind(&mut self) -> bool {
        false
    }

    /// Takes a bitmap before the first row is asked for: rows that have none of its keys need not come. False when it was not taken:
    /// what it says is a help, and whoever hands it down tests the rows that come.
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

/// Builds the operators of a plan; nothing is counted of the first one.
fn open_bare<'p>(node: &'p Node, locks: &'p LockOwner, context: &Context<'_>) -> Result<Box<dyn Operator + 'p>> {
    crate::stack::require_for_operator()?;
    let input = |input: &'p Node| open(input, locks, context);
    Ok(match node {
        Node::Filter { input: rows, condition } => match &**rows {
            Node::Scan(scan) if scan::can_test(scan, condition, context) && !context.session.counts_rows() => {
                measured::open_testing(scan, condition, locks, context)?
            }
            _ => Box::new(derived::Filter {
                input: input(rows)?,
                condition,
            }),
        },
        Node::Project {
            input: rows,
            input_width,
            expressions,
        } => Box::new(derived::Project {
            input: input(rows)?,
            buffer: vec![Value::Null; *input_width],
            expressions,
        }),
        Node::Sort {
            input: rows,
            width,
            keys,
            presorted,
        } => match presorted {
            0 => Box::new(sort::Sort::new(input(rows)?, *width, keys)),
            _ => Box::new(partial_sort::PartialSort::new(input(rows)?, *width, keys, *presorted)),
        },
        Node::Top {
            input: rows,
            top,
            width,
        } => Box::new(top::Top::open(rows, top, *width, locks, context)?),
        Node::Slice {
            input: rows,
            offset,
            fetch,
        } => Box::new(top::Slice::open(rows, offset, fetch.as_ref(), locks, context)?),
        Node::Aggregate { .. } | Node::Distinct { .. } => return open_groups(node, locks, context),
        Node::Window { .. } => return open_window(node, locks, context),
        Node::Arrange {
            input: rows,
            ranges,
            keys,
        } => Box::new(arrange::Arrange::new(input(rows)?, ranges, keys)),
        Node::Loop { .. } | Node::Hash { .. } | Node::Merge { .. } | Node::SetOperation { .. } => {
            return open_pair(node, locks, context);
        }
        source => return open_source(source, locks, context),
    })
}

/// Builds the operators of window functions.
fn open_window<'p>(node: &'p Node, locks: &'p LockOwner, context: &Context<'_>) -> Result<Box<dyn Operator + 'p>> {
    let Node::Window {
        input,
        input_width,
        calls,
        arrival,
    } = node
    else {
        return Ok(Box::new(derived::Empty));
    };
    let input = open(input, locks, context)?;
    let are_ordered = arrival
        .as_ref()
        .is_some_and(|arrival| arrival.are_ordered.iter().all(|&is| is));
    if numbering::is_in_any_order(calls) {
        return Ok(Box::new(numbering::Numbering::new(input, *input_width)));
    }
    if are_ordered && calls.iter().all(WindowCall::is_ranking) {
        return Ok(Box::new(rank_stream::OrderedRanks::new(input, *input_width, calls)));
    }
    let stream = window_stream::WindowStream::new(input, *input_width, calls, arrival.as_ref());
    Ok(Box::new(stream))
}

/// Builds the operators that give one row for several that are the same.
fn open_groups<'p>(node: &'p Node, locks: &'p LockOwner, context: &Context<'_>) -> Result<Box<dyn Operator + 'p>> {
    let input = |input: &'p Node| open(input, locks, context);
    Ok(match node {
        Node::Distinct {
            input: rows,
            columns,
            is_stream: true,
            ..
        } => Box::new(stream_aggregate::StreamDistinct::new(input(rows)?, *columns)),
        Node::Distinct {
            input: rows, columns, ..
        } => Box::new(set_operation::Distinct::new(input(rows)?, *columns)),
        Node::Aggregate {
            input: rows,
            input_width,
            keys,
            sets,
            aggregates,
            is_stream: true,
        } => {
            let (rows, width, keys) = (input(rows)?, *input_width, (keys.as_slice(), !sets.is_empty()));
            let grouped = stream_aggregate::StreamAggregate::new(rows, width, keys, aggregates, context);
            Box::new(grouped)
        }
        Node::Aggregate {
            input,
            input_width,
            keys,
            sets,
            aggregates,
            ..
        } => {
            let grouped = aggregate::Aggregate::open(input, *input_width, (keys, sets), aggregates, context)?;
            Box::new(grouped)
        }
        _ => Box::new(derived::Empty),
    })
}

/// Builds the operators that have two others below them.
fn open_pair<'p>(node: &'p Node, locks: &'p LockOwner, context: &Context<'_>) -> Result<Box<dyn Operator + 'p>> {
    let input = |input: &'p Node| open(input, locks, context);
    Ok(match node {
        Node::Loop {
            left,
            right,
            right_ranges,
            kind,
            condition,
        } => {
            let left = input(left)?;
            Box::new(join::Loop::new(left, right, right_ranges, *kind, condition, locks))
        }
        Node::Hash {
            left,
            right,
            left_ranges,
            right_ranges,
            kind,
            keys,
            residual,
            has_bitmap,
        } => {
            let (left, ranges) = (input(left)?, (left_ranges.as_slice(), right_ranges.as_slice()));
            let joined = hash_join::Hash::open(left, right, ranges, *kind, (keys, residual, *has_bitmap), context)?;
            Box::new(joined)
        }
        Node::Merge {
            left,
            right,
            left_ranges,
            right_ranges,
            kind,
            keys,
            is_descending,
            residual,
            is_many,
        } => {
            let sides = ((input(left)?, &**left_ranges), (input(right)?, &**right_ranges));
            let (on, how) = ((keys.as_slice(), residual), (*is_descending, *is_many));
            Box::new(merge_join::Merge::new(sides.0, sides.1, *kind, on, how, context))
        }
        Node::SetOperation {
            kind,
            left,
            right,
            width,
        } => {
            let (left, right) = (input(left)?, input(right)?);
            Box::new(set_operation::SetOperation::new(*kind, left, right, *width))
        }
        _ => Box::new(derived::Empty),
    })
}

/// Builds the operators that have no other below them.
fn open_source<'p>(node: &'p Node, locks: &'p LockOwner, context: &Context<'_>) -> Result<Box<dyn Operator + 'p>> {
    Ok(match node {
        Node::Append { inputs, .. } => Box::new(set_operation::Append::new(inputs, locks)),
        Node::Single => Box::new(derived::Single::default()),
        Node::Scan(scan) => scan::open(scan, None, locks, context)?,
        Node::View {
            view,
            database_id,
            arguments,
            offset,
        } => Box::new(scan::ViewRows::new(view, *database_id, arguments, *offset)),
        Node::Module {
            call,
            arguments,
            offset,
        } => Box::new(module_rows::ModuleRows::new(call, arguments, *offset)),
        Node::Values { rows, offset } => Box::new(derived::ValueRows::new(rows, *offset)),
        Node::Variable {
            slot,
            width,
            offset,
            locator,
        } => Box::new(derived::VariableRows::new(*slot, *width, *offset, *locator)),
        Node::Derived {
            plan,
            captures,
            offset,
            common,
        } => {
            let shared = common
                .as_ref()
                .and_then(|common| Some((common, common.table.shared()?)));
            match shared {
                Some((common, plan)) => Box::new(kept_rows::KeptRows::new(&common.table, plan, *offset)),
                None => Box::new(derived::Derived::new(plan, captures, *offset, locks)),
            }
        }
        Node::Round { id, offset, .. } => Box::new(recursive::RoundRows::new(*id, *offset)),
        Node::Recursive {
            anchor,
            step,
            one_by_one,
            width,
            id,
            offset,
            rounds_max,
        } => {
            let (one_by_one, width, id, offset, rounds_max) = (*one_by_one, *width, *id, *offset, *rounds_max);
            let parts = recursive::RecursiveParts {
                anchor,
                step,
                one_by_one,
                width,
                id,
                offset,
                rounds_max,
            };
            Box::new(recursive::Recursive::new(parts, locks))
        }
        Node::From(_) | Node::Outer(_) => return Err(Error::assertion("a logical operator is executed")),
        _ => Box::new(derived::Empty),
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
