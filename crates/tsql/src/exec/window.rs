//! Window functions: all rows in memory; per call, rows are sorted by partition and order, and every partition is walked.
//! ROW_NUMBER, RANK and DENSE_RANK go on as streams when the memory is used up ([`RankStream`]); others fail with 701.

use std::cmp::Ordering;

use engine::cancel;
use engine::error::Result;
use engine::types::Value;

use super::merge_sort;
use super::rank_stream::RankStream;
use super::window_frame::frame_values;
use super::{Operator, evaluate, open};
use crate::context::Context;
use crate::grant::{Grant, row_bytes};
use crate::messages;
use crate::plan::{Node, WindowCall, WindowFunction};
use crate::scalar::compare::order;

/// What sorting takes of a row: its keys and its place.
const KEYS_BYTES: u64 = 160;
/// What a call's value takes until it is in its row.
const RESULT_BYTES: u64 = 64;

/// Rows with one more column per call.
pub(super) struct Window<'p>(Source<'p>);

enum Source<'p> {
    Memory {
        rows: std::vec::IntoIter<Vec<Value>>,
        _grant: Grant,
    },
    Stream(Box<RankStream<'p>>),
}

/// One partition of the rows, in order: what a call computes over.
pub(super) struct Partition<'r> {
    /// All rows.
    pub(super) rows: &'r [Vec<Value>],
    /// The partition's rows in order.
    pub(super) members: &'r [usize],
    /// For each member, the number of its peer group: members equal in ORDER BY.
    pub(super) peers: Vec<usize>,
}

impl<'p> Window<'p> {
    pub(super) fn open(
        input: &Node,
        input_width: usize,
        calls: &'p [WindowCall],
        context: &Context<'_>,
    ) -> Result<Window<'p>> {
        let mut grant = context.grant();
        let mut input = open(input, context.locks(), context)?;
        let is_ranking = calls.iter().all(RankStream::computes);
        let mut rows = Vec::new();
        let mut row = vec![Value::Null; input_width];
        while input.next(context, &mut row)? {
            let bytes = row_bytes(&row) + KEYS_BYTES + RESULT_BYTES * calls.len() as u64;
            if is_ranking && !grant.has_room(bytes) {
                rows.push(row.clone());
                drop(grant);
                let stream = RankStream::open(rows, input, row, calls, context)?;
                return Ok(Window(Source::Stream(Box::new(stream))));
            }
            if !is_ranking {
                grant.require(bytes)?;
            }
            rows.push(row.clone());
        }
        let mut results: Vec<Vec<Value>> = Vec::with_capacity(calls.len());
        for call in calls {
            results.push(compute(call, &rows, context)?);
        }
        for (row_number, row) in rows.iter_mut().enumerate() {
            cancel::spend(1)?;
            row.truncate(input_width);
            for result in &mut results {
                row.push(
                    result
                        .get_mut(row_number)
                        .map_or(Value::Null, |value| std::mem::replace(value, Value::Null)),
                );
            }
        }
        Ok(Window(Source::Memory {
            rows: rows.into_iter(),
            _grant: grant,
        }))
    }
}

impl Operator for Window<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        match &mut self.0 {
            Source::Memory { rows, .. } => {
                let Some(next) = rows.next() else { return Ok(false) };
                cancel::spend(1)?;
                super::derived::place(row, 0, next);
                Ok(true)
            }
            Source::Stream(stream) => stream.next(context, row),
        }
    }
}

/// The keys of a row: partition and order.
struct Keys {
    partition: Vec<Value>,
    order: Vec<Value>,
}

fn compare_lists(left: &[Value], right: &[Value]) -> Ordering {
    left.iter()
        .zip(right)
        .map(|(left, right)| order(left, right))
        .find(|found| found.is_ne())
        .unwrap_or(Ordering::Equal)
}

fn compare_order(call: &WindowCall, left: &[Value], right: &[Value]) -> Ordering {
    for ((left, right), (_, descending)) in left.iter().zip(right).zip(&call.order) {
        let found = order(left, right);
        if found != Ordering::Equal {
            return if *descending { found.reverse() } else { found };
        }
    }
    Ordering::Equal
}

/// The call's value for every row.
fn compute(call: &WindowCall, rows: &[Vec<Value>], context: &Context<'_>) -> Result<Vec<Value>> {
    let mut keys = Vec::with_capacity(rows.len());
    for row in rows {
        cancel::spend(1)?;
        let values = |expressions: &mut dyn Iterator<Item = &crate::plan::Expr>| -> Result<Vec<Value>> {
            expressions
                .map(|expression| Ok(evaluate(expression, row, context)?.into_owned()))
                .collect()
        };
        let partition = values(&mut call.partition.iter())?;
        let order = values(&mut call.order.iter().map(|(expression, _)| expression))?;
        keys.push(Keys { partition, order });
    }
    let mut sorted: Vec<usize> = (0..rows.len()).collect();
    merge_sort::sort(&mut sorted, |&left, &right| {
        let (left, right) = (&keys[left], &keys[right]);
        compare_lists(&left.partition, &right.partition).then_with(|| compare_order(call, &left.order, &right.order))
    })?;
    let mut results = vec![Value::Null; rows.len()];
    let mut start = 0;
    while start < sorted.len() {
        let first = &keys[sorted[start]].partition;
        let length = sorted[start..]
            .iter()
            .take_while(|&&row| compare_lists(first, &keys[row].partition).is_eq())
            .count();
        cancel::spend(length)?;
        let members = &sorted[start..start + length];
        let peers = peer_groups(call, members, &keys);
        let partition = Partition { rows, members, peers };
        for (&row, value) in members.iter().zip(partition_values(call, &partition, context)?) {
            results[row] = value;
        }
        start += length;
    }
    Ok(results)
}

fn peer_groups(call: &WindowCall, members: &[usize], keys: &[Keys]) -> Vec<usize> {
    let mut groups = Vec::with_capacity(members.len());
    let mut group = 0;
    for (position, &row) in members.iter().enumerate() {
        if position > 0 {
            let previous = &keys[members[position - 1]].order;
            group += usize::from(compare_order(call, previous, &keys[row].order).is_ne());
        }
        groups.push(group);
    }
    groups
}

/// The call's values for one partition, in its order.
fn partition_values(call: &WindowCall, partition: &Partition<'_>, context: &Context<'_>) -> Result<Vec<Value>> {
    let count = partition.members.len();
    let number = |value: usize| Value::BigInt(value as i64);
    let ranks = || {
        let mut rank = 0;
        (0..count).map(move |position| {
            if position == 0 || partition.peers[position] != partition.peers[position - 1] {
                rank = position;
            }
            rank
        })
    };
    Ok(match &call.function {
        WindowFunction::RowNumber => (1..=count).map(number).collect(),
        WindowFunction::Rank => ranks().map(|rank| number(rank + 1)).collect(),
        WindowFunction::DenseRank => partition.peers.iter().map(|&group| number(group + 1)).collect(),
        WindowFunction::PercentRank => {
            let divisor = (count.max(2) - 1) as f64;
            ranks().map(|rank| Value::Float(rank as f64 / divisor)).collect()
        }
        WindowFunction::CumulativeDistribution => {
            let up_to = |group: usize| partition.peers.partition_point(|&other| other <= group);
            partition
                .peers
                .iter()
                .map(|&group| Value::Float(up_to(group) as f64 / count as f64))
                .collect()
        }
        WindowFunction::Tile(tiles) => {
            let first = partition.members.first().map_or(&[][..], |&row| &partition.rows[row]);
            let tiles = evaluate(tiles, first, context)?
                .as_i64()
                .and_then(|tiles| usize::try_from(tiles).ok())
                .filter(|&tiles| tiles > 0)
                .ok_or_else(messages::tiles_not_positive)?;
            (0..count)
                .map(|position| number(tile_of(position, count, tiles)))
                .collect()
        }
        WindowFunction::Neighbour {
            value,
            offset,
            backward,
            default,
        } => {
            let mut values = Vec::with_capacity(count);
            for position in 0..count {
                cancel::spend(1)?;
                let row = &partition.rows[partition.members[position]];
                let away = evaluate(offset, row, context)?.as_i64().unwrap_or(0);
                let away = usize::try_from(away).map_err(|_| messages::negative_offset())?;
                let target = if *backward {
                    position.checked_sub(away)
                } else {
                    position.checked_add(away)
                };
                let neighbour = target.and_then(|target| partition.members.get(target));
                values.push(match (neighbour, default) {
                    (Some(&neighbour), _) => evaluate(value, &partition.rows[neighbour], context)?.into_owned(),
                    (None, Some(default)) => evaluate(default, row, context)?.into_owned(),
                    (None, None) => Value::Null,
                });
            }
            values
        }
        WindowFunction::First(_) | WindowFunction::Last(_) | WindowFunction::Aggregate(_) => {
            frame_values(call, partition, context)?
        }
    })
}

/// NTILE: the first groups are larger by one when the rows do not divide evenly.
fn tile_of(position: usize, count: usize, tiles: usize) -> usize {
    let (size, larger) = (count / tiles, count % tiles);
    let border = larger * (size + 1);
    if position < border {
        position / (size + 1) + 1
    } else {
        larger + (position - border) / size.max(1) + 1
    }
}
