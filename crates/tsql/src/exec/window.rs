//! Window functions: all rows are in memory. For each call, rows are sorted by partition and order, and every partition is processed.
//! Adjacent calls with the same PARTITION BY and ORDER BY share the sort. Rows come out in the order of the last call, as in SQL Server,
//! where nothing guarantees this but many published results show it. If rows arrive by partition, `window_stream` passes them in one part
//! at a time.
//!
//! When memory is used up, ROW_NUMBER, RANK and DENSE_RANK continue as streams ([`RankStream`]); other functions fail with 701.

use engine::cancel;
use engine::error::Result;
use engine::types::Value;

use super::rank_stream::RankStream;
use super::row_store::RowStore;
use super::window_frame::push_frame_values;
use super::window_order::{Member, WindowOrder};
use super::window_percentile::percentile;
use super::{Operator, evaluate};
use crate::context::Context;
use crate::grant::{Grant, row_bytes, stored_bytes};
use crate::messages;
use crate::plan::{Expr, WindowCall, WindowFunction};

/// What sorting takes of a row beside its strings: its keys and its place, once more where vectors have doubled.
const KEYS_BYTES: u64 = 160;

/// How many rows are read ahead where they lie apart: as many as a processor fetches at once.
const ROWS_AHEAD: usize = 16;

/// Rows with one more column per call.
pub(super) struct Window<'p>(Source<'p>);

enum Source<'p> {
    Memory {
        rows: RowStore,
        order: WindowOrder,
        next: usize,
        _grant: Grant,
    },
    Stream(Box<RankStream<'p>>),
}

/// One partition of the rows, in order: what a call computes over.
pub(super) struct Partition<'r> {
    rows: &'r RowStore,
    /// The partition's rows in order.
    members: &'r [Member],
    /// For each member, the number of its peer group: members equal in ORDER BY. Empty where nobody asks.
    pub(super) peers: Vec<usize>,
}

impl<'r> Partition<'r> {
    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    /// The row at a place of the order.
    pub(super) fn row(&self, position: usize) -> Option<&'r [Value]> {
        self.members.get(position).map(|member| self.rows.row(member.row()))
    }
}

impl<'p> Window<'p> {
    /// Over the rows that an operator gives into a buffer, at which calls they come ordered (`are_ordered`, by call; none where it is empty). The
    /// order and the rows of another are given up for their memory.
    ///
    /// # Errors
    /// Those of the input and of expressions; 701 where memory is used up.
    pub(super) fn over(
        input: &mut dyn Operator,
        row: &mut [Value],
        (calls, are_ordered): (&'p [WindowCall], &[bool]),
        (mut rows, mut order): (RowStore, WindowOrder),
        context: &Context<'_>,
    ) -> Result<Window<'p>> {
        let mut grant = context.grant();
        let input_width = row.len();
        let is_ranking = calls.iter().all(WindowCall::is_ranking);
        let results = (size_of::<Value>() * calls.len()) as u64;
        while input.next(context, row)? {
            let strings = stored_bytes(row) - size_of_val(row) as u64;
            let bytes = row_bytes(row) + strings + KEYS_BYTES + results;
            if is_ranking && !grant.has_room(bytes) {
                rows.push(row.iter().cloned());
                drop(grant);
                let stream = RankStream::open(rows, input, row, calls, context)?;
                return Ok(Window(Source::Stream(Box::new(stream))));
            }
            if !is_ranking {
                grant.require(bytes)?;
            }
            rows.push(row.iter().cloned());
        }
        let mut sorted_for = None;
        for (number, call) in calls.iter().enumerate() {
            if !sorted_for.is_some_and(|other| call.has_same_order(other)) {
                order = match are_ordered.get(number) {
                    Some(true) => order.in_order_of_coming(call, &rows, context)?,
                    _ => order.sort(call, &rows, context)?,
                };
                sorted_for = Some(call);
            }
            compute(call, &order, &mut rows, input_width + number, context)?;
        }
        Ok(Window(Source::Memory {
            rows,
            order,
            next: 0,
            _grant: grant,
        }))
    }

    /// An empty store of rows and an order, with some of the memory of this one's.
    pub(super) fn into_empty(self) -> Option<(RowStore, WindowOrder)> {
        match self.0 {
            Source::Memory { mut rows, order, .. } => {
                rows.clear();
                Some((rows, order.into_empty()))
            }
            Source::Stream(_) => None,
        }
    }
}

impl Operator for Window<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        match &mut self.0 {
            Source::Memory { rows, order, next, .. } => {
                let Some(number) = order.row_at(*next) else {
                    return Ok(false);
                };
                if next.is_multiple_of(ROWS_AHEAD) {
                    let ahead = (*next..*next + ROWS_AHEAD).filter_map(|place| order.row_at(place));
                    rows.fetch(ahead);
                }
                cancel::spend(1)?;
                row.iter_mut()
                    .zip(rows.row_mut(number))
                    .for_each(|(target, value)| std::mem::swap(target, value));
                *next += 1;
                Ok(true)
            }
            Source::Stream(stream) => stream.next(context, row),
        }
    }
}

/// Writes the call's value into a column of every row.
fn compute(
    call: &WindowCall,
    order: &WindowOrder,
    rows: &mut RowStore,
    column: usize,
    context: &Context<'_>,
) -> Result<()> {
    let (mut values, mut start) = (Vec::new(), 0);
    loop {
        let members = order.partition_at(start)?;
        if members.is_empty() {
            return Ok(());
        }
        let peers = if needs_peers(call) {
            order.peer_groups(members)
        } else {
            Vec::new()
        };
        push_values(call, &Partition { rows, members, peers }, &mut values, context)?;
        for (member, value) in members.iter().zip(values.drain(..)) {
            if let Some(target) = rows.row_mut(member.row()).get_mut(column) {
                *target = value;
            }
        }
        start += members.len();
    }
}

fn needs_peers(call: &WindowCall) -> bool {
    use WindowFunction as F;
    match call.function {
        F::RowNumber | F::Tile(_) | F::Neighbour { .. } | F::Percentile { .. } => false,
        F::Rank | F::DenseRank | F::PercentRank | F::CumulativeDistribution => true,
        F::First(_) | F::Last(_) | F::Aggregate(_) => !call.frame.rows,
    }
}

/// Appends the call's values for one partition, in its order.
fn push_values(
    call: &WindowCall,
    partition: &Partition<'_>,
    values: &mut Vec<Value>,
    context: &Context<'_>,
) -> Result<()> {
    let count = partition.len();
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
    match &call.function {
        WindowFunction::RowNumber => values.extend((1..=count).map(number)),
        WindowFunction::Rank => values.extend(ranks().map(|rank| number(rank + 1))),
        WindowFunction::DenseRank => values.extend(partition.peers.iter().map(|&group| number(group + 1))),
        WindowFunction::PercentRank => {
            let divisor = (count.max(2) - 1) as f64;
            values.extend(ranks().map(|rank| Value::Float(rank as f64 / divisor)));
        }
        WindowFunction::CumulativeDistribution => {
            let up_to = |group: usize| partition.peers.partition_point(|&other| other <= group);
            let shares = partition.peers.iter().map(|&group| up_to(group) as f64 / count as f64);
            values.extend(shares.map(Value::Float));
        }
        WindowFunction::Tile(tiles) => {
            let tiles = number_of_tiles(tiles, partition, context)?;
            values.extend((0..count).map(|position| number(tile_of(position, count, tiles))));
        }
        WindowFunction::Neighbour {
            value,
            offset,
            backward,
            default,
        } => {
            for position in 0..count {
                cancel::spend(1)?;
                let row = partition.row(position).unwrap_or_default();
                let away = evaluate(offset, row, context)?.as_i64().unwrap_or(0);
                let away = usize::try_from(away).map_err(|_| messages::negative_offset())?;
                let target = if *backward {
                    position.checked_sub(away)
                } else {
                    position.checked_add(away)
                };
                let neighbour = target.and_then(|target| partition.row(target));
                values.push(match (neighbour, default) {
                    (Some(neighbour), _) => evaluate(value, neighbour, context)?.into_owned(),
                    (None, Some(default)) => evaluate(default, row, context)?.into_owned(),
                    (None, None) => Value::Null,
                });
            }
        }
        WindowFunction::Percentile { .. } => {
            let found = percentile(call, partition, context)?;
            values.extend(std::iter::repeat_n(found, count));
        }
        WindowFunction::First(_) | WindowFunction::Last(_) | WindowFunction::Aggregate(_) => {
            push_frame_values(call, partition, values, context)?;
        }
    }
    Ok(())
}

fn number_of_tiles(tiles: &Expr, partition: &Partition<'_>, context: &Context<'_>) -> Result<usize> {
    let first = partition.row(0).unwrap_or_default();
    let tiles = evaluate(tiles, first, context)?.as_i64();
    let tiles = tiles.and_then(|tiles| usize::try_from(tiles).ok());
    tiles
        .filter(|&tiles| tiles > 0)
        .ok_or_else(messages::tiles_not_positive)
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
