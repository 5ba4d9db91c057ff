//! GROUP BY: one hash table of groups; without GROUP BY there is one group, even without rows.
//!
//! ```text
//! rows --> group in memory?  yes: into its states
//!                            no, memory left:  a new group
//!                            no memory:        spilled by the hash of its keys, processed after the groups in memory
//! ```
//! A group is a number: the index of its keys in the key table, of its first row's values, and of its states. Values of DISTINCT aggregates
//! that do not fit are spilled likewise, and processed after the last row.

use engine::cancel;
use engine::error::Result;
use engine::lock::LockOwner;
use engine::types::Value;

use super::aggregate_state::AggregateState;
use super::distinct_values::DistinctValues;
use super::key_table::{KeyTable, key_bytes};
use super::partitions::{LEVELS_MAX, PartitionRows, Partitions, hash_of};
use super::row_store::RowStore;
use super::stream_aggregate::StreamAggregate;
use super::{Operator, evaluate};
use crate::context::Context;
use crate::grant::{Grant, stored_bytes};
use crate::plan::{AggregateCall, AggregateNode};
use crate::scalar::compare::push_group_key;

/// Groups of rows.
pub(super) struct Aggregate<'p> {
    aggregates: &'p [AggregateCall],
    key_count: usize,
    /// Values before the input row in a row put aside: the keys, and the set's number and place where there are sets.
    kept_count: usize,
    input_width: usize,
    groups: Groups,
    /// The next group to come out.
    next: usize,
    grant: Grant,
    pending: Vec<PartitionRows>,
}

/// Opens GROUP BY: a stream where rows of a group follow each other, else a table of groups.
pub(super) fn open<'p>(
    node: &'p AggregateNode,
    locks: &'p LockOwner,
    context: &Context<'_>,
) -> Result<Box<dyn Operator + 'p>> {
    if node.is_stream {
        let input = super::open(&node.input, locks, context)?;
        return Ok(Box::new(StreamAggregate::new(input, node, context)));
    }
    Ok(Box::new(Aggregate::open(node, context)?))
}

impl<'p> Aggregate<'p> {
    /// Reads all rows; the groups come out in the order in which they were first met, as far as they fit into memory.
    fn open(node: &'p AggregateNode, context: &Context<'_>) -> Result<Aggregate<'p>> {
        let AggregateNode {
            input,
            input_width,
            keys,
            sets,
            aggregates,
            is_stream: _,
        } = node;
        let kept_count = keys.len() + if sets.is_empty() { 0 } else { 2 };
        let mut grouping = Grouping::new(aggregates, kept_count, 0, context);
        if keys.is_empty() && sets.is_empty() {
            grouping.add_group(&[], &[])?;
        }
        let mut operator = super::open(input, context.locks(), context)?;
        let mut row = vec![Value::Null; *input_width];
        let (mut values, mut kept) = (Vec::with_capacity(kept_count), Vec::with_capacity(kept_count));
        while operator.next(context, &mut row)? {
            values.clear();
            for key in keys {
                values.push(evaluate(key, &row, context)?.into_owned());
            }
            if sets.is_empty() {
                grouping.add(&values, &row, context)?;
                continue;
            }
            for (place, set) in sets.iter().enumerate() {
                // A key that a set leaves out is NULL in its rows; the columns behind the keys tell sets apart, and the same set
                // written twice: both have their rows (SQL Server docs).
                kept.clear();
                let values = values.iter().zip(set);
                kept.extend(values.map(|(value, &kept)| if kept { value.clone() } else { Value::Null }));
                kept.push(Value::BigInt(set_number(set)));
                kept.push(Value::BigInt(place as i64));
                grouping.add(&kept, &row, context)?;
            }
        }
        drop(operator);
        let finished = grouping.finish(context)?;
        Ok(Aggregate {
            aggregates,
            key_count: keys.len(),
            kept_count,
            input_width: *input_width,
            groups: finished.groups,
            next: 0,
            grant: finished.grant,
            pending: finished.put_aside,
        })
    }

    /// Works on the next partition of rows put aside; false when there is none.
    fn next_partition(&mut self, context: &Context<'_>) -> Result<bool> {
        let Some(mut rows) = self.pending.pop() else {
            return Ok(false);
        };
        (self.groups, self.next) = (Groups::default(), 0);
        self.grant.clear();
        let mut grouping = Grouping::new(self.aggregates, self.kept_count, rows.level, context);
        let mut kept = vec![Value::Null; self.kept_count + self.input_width];
        while rows.next(&mut kept)? {
            let (key, row) = kept.split_at(self.kept_count);
            grouping.add(key, row, context)?;
        }
        let finished = grouping.finish(context)?;
        self.groups = finished.groups;
        self.grant = finished.grant;
        self.pending.extend(finished.put_aside);
        Ok(true)
    }
}

impl Operator for Aggregate<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        while self.next >= self.groups.keys.len() {
            if !self.next_partition(context)? {
                return Ok(false);
            }
        }
        cancel::spend(1)?;
        let group = self.next;
        self.next += 1;
        let (keys, states) = self.groups.get_mut(group);
        let mut targets = row.iter_mut();
        for (value, target) in keys.iter_mut().take(self.key_count).zip(&mut targets) {
            *target = std::mem::replace(value, Value::Null);
        }
        for ((state, call), target) in states.iter().zip(self.aggregates).zip(&mut targets) {
            *target = state.finish(call)?;
        }
        // The number of the set; its place tells groups apart and is shown to nobody.
        if let (Some(set), Some(target)) = (keys.get(self.key_count), targets.next()) {
            *target = set.clone();
        }
        Ok(true)
    }
}

/// GROUPING_ID of a set: one bit per key left out, the first key's highest.
fn set_number(set: &[bool]) -> i64 {
    set.iter().fold(0, |number, &kept| number * 2 + i64::from(!kept))
}

/// Groups by their numbers.
#[derive(Default)]
struct Groups {
    keys: RowStore,
    /// As many for each group as there are aggregates.
    states: Vec<AggregateState>,
    state_count: usize,
}

impl Groups {
    fn get_mut(&mut self, group: usize) -> (&mut [Value], &mut [AggregateState]) {
        let start = group * self.state_count;
        let states = self.states.get_mut(start..start + self.state_count);
        (self.keys.row_mut(group), states.unwrap_or_default())
    }
}

/// One pass over rows: all of the input, or a partition.
struct Grouping<'p> {
    aggregates: &'p [AggregateCall],
    grant: Grant,
    numbers: KeyTable,
    groups: Groups,
    /// The key of the row at hand.
    key: Vec<u8>,
    level: u32,
    put_aside: Option<Partitions>,
    /// Where an aggregate has DISTINCT.
    distinct: Option<DistinctValues>,
}

/// What a pass leaves.
struct Finished {
    groups: Groups,
    grant: Grant,
    put_aside: Vec<PartitionRows>,
}

impl<'p> Grouping<'p> {
    fn new(aggregates: &'p [AggregateCall], kept_count: usize, level: u32, context: &Context<'_>) -> Grouping<'p> {
        let has_distinct = aggregates.iter().any(|call| call.distinct);
        Grouping {
            aggregates,
            grant: context.grant(),
            numbers: KeyTable::default(),
            groups: Groups {
                keys: RowStore::new(kept_count),
                states: Vec::new(),
                state_count: aggregates.len(),
            },
            key: Vec::new(),
            level,
            put_aside: None,
            distinct: has_distinct.then(|| DistinctValues::new(aggregates.len(), context)),
        }
    }

    fn add_group(&mut self, key: &[u8], values: &[Value]) -> Result<usize> {
        let number = self.numbers.add(key)?;
        self.groups.keys.push(values.iter().cloned());
        self.groups
            .states
            .extend(self.aggregates.iter().map(AggregateState::new));
        Ok(number)
    }

    /// Takes a row into the group that has these values for keys.
    fn add(&mut self, values: &[Value], row: &[Value], context: &Context<'_>) -> Result<()> {
        let mut key = std::mem::take(&mut self.key);
        key.clear();
        push_group_key(values, &mut key);
        let added = self.add_with_key(&key, values, row, context);
        self.key = key;
        added
    }

    fn add_with_key(&mut self, key: &[u8], values: &[Value], row: &[Value], context: &Context<'_>) -> Result<()> {
        let group = match self.numbers.find(key) {
            Some(group) => group,
            None => {
                // A vector of states that has doubled is half empty.
                let states = 2 * size_of::<AggregateState>() * self.aggregates.len();
                let bytes = stored_bytes(values) + key_bytes(key) + states as u64;
                if self.level >= LEVELS_MAX {
                    self.grant.require(bytes)?;
                } else if self.put_aside.is_some() || !self.grant.has_room(bytes) {
                    // Once rows were put aside, those of a group that is not in memory may lie there: the others go the same way.
                    return self.put_aside(key, values, row);
                }
                self.add_group(key, values)?
            }
        };
        let (_, states) = self.groups.get_mut(group);
        for (number, (state, call)) in states.iter_mut().zip(self.aggregates).enumerate() {
            match &mut self.distinct {
                Some(seen) if call.distinct => seen.add((number, group), (state, call), row, context)?,
                _ => state.add(call, row, &mut self.grant, context)?,
            }
        }
        Ok(())
    }

    fn put_aside(&mut self, key: &[u8], values: &[Value], row: &[Value]) -> Result<()> {
        let partitions = match &mut self.put_aside {
            Some(partitions) => partitions,
            None => self.put_aside.insert(Partitions::new(&self.grant, self.level)?),
        };
        partitions.push(hash_of(key), &[values, row].concat())
    }

    fn finish(mut self, context: &Context<'_>) -> Result<Finished> {
        if let Some(distinct) = self.distinct.take() {
            let (aggregates, groups) = (self.aggregates, &mut self.groups);
            distinct.finish(context, |(number, group), value| {
                let (_, states) = groups.get_mut(group);
                match (states.get_mut(number), aggregates.get(number)) {
                    (Some(state), Some(call)) => state.take(call, value),
                    _ => Ok(()),
                }
            })?;
        }
        let put_aside = self.put_aside.map_or(Ok(Vec::new()), Partitions::finish)?;
        Ok(Finished {
            groups: self.groups,
            grant: self.grant,
            put_aside: put_aside.into_iter().filter(|rows| !rows.is_empty()).collect(),
        })
    }
}
