//! Values over the frame of each row: aggregates, FIRST_VALUE, LAST_VALUE.
//!
//! A frame that starts at the partition's start only ever grows, so its aggregate is carried from row to row; any other
//! frame is summed up anew.

use engine::cancel;
use engine::error::{Error, Result};
use engine::types::Value;

use super::aggregate_state::AggregateState;
use super::evaluate;
use super::window::Partition;
use crate::context::Context;
use crate::plan::{WindowBound, WindowCall, WindowFunction};

/// The call's values for one partition, in its order.
pub(super) fn frame_values(call: &WindowCall, partition: &Partition<'_>, context: &Context<'_>) -> Result<Vec<Value>> {
    let mut frames = Vec::with_capacity(partition.members.len());
    for position in 0..partition.members.len() {
        cancel::spend(1)?;
        frames.push(frame_of(call, partition, position));
    }
    match &call.function {
        WindowFunction::First(value) => edge_values(value, partition, &frames, |start, _| start, context),
        WindowFunction::Last(value) => edge_values(value, partition, &frames, |_, end| end - 1, context),
        WindowFunction::Aggregate(aggregate) => {
            let mut values = Vec::with_capacity(frames.len());
            let mut state = AggregateState::new(aggregate);
            let (mut texts, mut values_seen) = (context.grant(), context.grant());
            let (mut start, mut end) = (0, 0);
            for &(frame_start, frame_end) in &frames {
                if frame_start != start || frame_end < end {
                    state = AggregateState::new(aggregate);
                    (start, end) = (frame_start, frame_start);
                }
                for &member in partition.members.get(end..frame_end).unwrap_or_default() {
                    cancel::spend(1)?;
                    let put_aside = state.add(
                        aggregate,
                        &partition.rows[member],
                        (&mut texts, &mut values_seen),
                        context,
                    )?;
                    if put_aside.is_some() {
                        return Err(Error::insufficient_memory());
                    }
                }
                end = end.max(frame_end);
                values.push(state.clone().finish(aggregate)?);
            }
            Ok(values)
        }
        _ => Ok(Vec::new()),
    }
}

fn edge_values(
    value: &crate::plan::Expr,
    partition: &Partition<'_>,
    frames: &[(usize, usize)],
    edge: impl Fn(usize, usize) -> usize,
    context: &Context<'_>,
) -> Result<Vec<Value>> {
    let mut values = Vec::with_capacity(frames.len());
    for &(start, end) in frames {
        cancel::spend(1)?;
        let member = if start < end {
            partition.members.get(edge(start, end))
        } else {
            None
        };
        values.push(match member {
            Some(&member) => evaluate(value, &partition.rows[member], context)?.into_owned(),
            None => Value::Null,
        });
    }
    Ok(values)
}

/// Start (inclusive) and end (exclusive) of the frame of the row at a position.
fn frame_of(call: &WindowCall, partition: &Partition<'_>, position: usize) -> (usize, usize) {
    let count = partition.members.len();
    let group = partition.peers[position];
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
