//! Values over the frame of each row: aggregates, FIRST_VALUE, LAST_VALUE.
//!
//! A frame that starts at the partition's start only grows, so its aggregate is carried from row to row. Any other frame is aggregated
//! again.

use engine::cancel;
use engine::error::Result;
use engine::types::Value;

use super::aggregate_state::AggregateState;
use super::evaluate;
use super::window::Partition;
use crate::context::Context;
use crate::plan::{Expr, WindowBound, WindowCall, WindowFunction};

/// Appends the call's values for one partition, in its order.
pub(super) fn push_frame_values(
    call: &WindowCall,
    partition: &Partition<'_>,
    values: &mut Vec<Value>,
    context: &Context<'_>,
) -> Result<()> {
    let frames = (0..partition.len()).map(|position| frame_of(call, partition, position));
    match &call.function {
        WindowFunction::First(value) => {
            let edges = frames.map(|(start, end)| (start < end).then_some(start));
            push_edge_values(value, partition, edges, values, context)
        }
        WindowFunction::Last(value) => {
            let edges = frames.map(|(start, end)| (start < end).then(|| end - 1));
            push_edge_values(value, partition, edges, values, context)
        }
        WindowFunction::Aggregate(aggregate) => {
            let (mut state, mut grant) = (AggregateState::new(aggregate), context.grant());
            let (mut start, mut end) = (0, 0);
            for (frame_start, frame_end) in frames {
                cancel::spend(1)?;
                if frame_start != start || frame_end < end {
                    state = AggregateState::new(aggregate);
                    (start, end) = (frame_start, frame_start);
                }
                for row in (end..frame_end).filter_map(|position| partition.row(position)) {
                    cancel::spend(1)?;
                    state.add(aggregate, row, &mut grant, context)?;
                }
                end = end.max(frame_end);
                values.push(state.finish(aggregate)?);
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Appends a value of the row at each edge; NULL where the frame is empty.
fn push_edge_values(
    value: &Expr,
    partition: &Partition<'_>,
    edges: impl Iterator<Item = Option<usize>>,
    values: &mut Vec<Value>,
    context: &Context<'_>,
) -> Result<()> {
    for edge in edges {
        cancel::spend(1)?;
        values.push(match edge.and_then(|edge| partition.row(edge)) {
            Some(row) => evaluate(value, row, context)?.into_owned(),
            None => Value::Null,
        });
    }
    Ok(())
}

/// Start (inclusive) and end (exclusive) of the frame of the row at a position.
fn frame_of(call: &WindowCall, partition: &Partition<'_>, position: usize) -> (usize, usize) {
    let count = partition.len();
    let group = partition.peers.get(position).copied().unwrap_or_default();
    let start = match &call.frame.start {
        WindowBound::Unbounded => 0,
        WindowBound::Preceding(away) => position.saturating_sub(*away),
        WindowBound::Current if call.frame.rows => position,
        WindowBound::Current => partition.peers.partition_point(|&other| other < group),
        WindowBound::Following(away) => position.saturating_add(*away),
    };
    let end = match &call.frame.end {
        WindowBound::Unbounded => count,
        WindowBound::Preceding(away) => (position + 1).saturating_sub(*away),
        WindowBound::Current if call.frame.rows => position + 1,
        WindowBound::Current => partition.peers.partition_point(|&other| other <= group),
        WindowBound::Following(away) => (position + 1).saturating_add(*away),
    };
    let (start, end) = (start.min(count), end.min(count));
    (start, end.max(start))
}
