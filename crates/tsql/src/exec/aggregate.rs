//! GROUP BY: one hash table of groups; without GROUP BY one group, even of no rows.
//!
//! ```text
//! rows --> group in memory?  yes: into its state
//!                            no, and room:  a new group
//!                            no, no room:   put aside by the hash of its keys, worked on when the groups in memory are out
//! ```
//! The values of DISTINCT aggregates that do not fit are put aside likewise, and taken in after the last row.

use std::collections::{HashMap, HashSet};

use engine::cancel;
use engine::error::Result;
use engine::types::Value;

use super::aggregate_state::AggregateState;
use super::partitions::{LEVELS_MAX, PartitionRows, Partitions, hash_of};
use super::{Operator, evaluate, open};
use crate::context::Context;
use crate::grant::{Grant, row_bytes};
use crate::plan::{AggregateCall, Expr, Node};
use crate::scalar::compare::GroupKey;

/// Groups of rows.
pub(super) struct Aggregate<'p> {
    aggregates: &'p [AggregateCall],
    key_count: usize,
    /// Values before the input row in a row put aside: the keys, and the set's number and place where there are sets.
    kept_count: usize,
    input_width: usize,
    groups: std::vec::IntoIter<Group>,
    grant: Grant,
    pending: Vec<PartitionRows>,
}

type Group = (Vec<Value>, Vec<AggregateState>);

impl<'p> Aggregate<'p> {
    /// Reads all rows; the groups come out in the order in which they were first met, as far as they fit into memory.
    pub(super) fn open(
        input: &Node,
        input_width: usize,
        (keys, sets): (&[Expr], &[Vec<bool>]),
        aggregates: &'p [AggregateCall],
        context: &Context<'_>,
    ) -> Result<Aggregate<'p>> {
        let mut grouping = Grouping::new(aggregates, 0, context);
        if keys.is_empty() && sets.is_empty() {
            grouping.add_group(GroupKey(Vec::new()));
        }
        let mut operator = open(input, context.locks(), context)?;
        let mut row = vec![Value::Null; input_width];
        while operator.next(context, &mut row)? {
            let values = keys
                .iter()
                .map(|key| Ok(evaluate(key, &row, context)?.into_owned()))
                .collect::<Result<Vec<_>>>()?;
            if sets.is_empty() {
                grouping.add(values, &row, context)?;
                continue;
            }
            for (place, set) in sets.iter().enumerate() {
                // A key that a set leaves out is NULL in its rows; the columns behind the keys tell sets apart, and the same set
                // written twice: both have their rows (SQL Server docs).
                let mut kept: Vec<Value> = values
                    .iter()
                    .zip(set)
                    .map(|(value, &kept)| if kept { value.clone() } else { Value::Null })
                    .collect();
                kept.push(Value::BigInt(set_number(set)));
                kept.push(Value::BigInt(place as i64));
                grouping.add(kept, &row, context)?;
            }
        }
        drop(operator);
        let finished = grouping.finish(context)?;
        Ok(Aggregate {
            aggregates,
            key_count: keys.len(),
            kept_count: keys.len() + if sets.is_empty() { 0 } else { 2 },
            input_width,
            groups: finished.groups.into_iter(),
            grant: finished.grant,
            pending: finished.put_aside,
        })
    }

    /// Works on the next partition of rows put aside; false when there is none.
    fn next_partition(&mut self, context: &Context<'_>) -> Result<bool> {
        let Some(mut rows) = self.pending.pop() else {
            return Ok(false);
        };
        self.groups = Vec::new().into_iter();
        self.grant.clear();
        let mut grouping = Grouping::new(self.aggregates, rows.level, context);
        let mut kept = vec![Value::Null; self.kept_count + self.input_width];
        while rows.next(&mut kept)? {
            let (key, row) = kept.split_at(self.kept_count);
            grouping.add(key.to_vec(), row, context)?;
        }
        let finished = grouping.finish(context)?;
        self.groups = finished.groups.into_iter();
        self.grant = finished.grant;
        self.pending.extend(finished.put_aside);
        Ok(true)
    }
}

impl Operator for Aggregate<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        loop {
            if let Some((mut group, states)) = self.groups.next() {
                cancel::spend(1)?;
                let set = group.get(self.key_count).cloned();
                group.truncate(self.key_count);
                for (state, call) in states.into_iter().zip(self.aggregates) {
                    group.push(state.finish(call)?);
                }
                group.extend(set);
                super::derived::place(row, 0, group);
                return Ok(true);
            }
            if !self.next_partition(context)? {
                return Ok(false);
            }
        }
    }
}

/// GROUPING_ID of a set: one bit per key left out, the first key's highest.
fn set_number(set: &[bool]) -> i64 {
    set.iter().fold(0, |number, &kept| number * 2 + i64::from(!kept))
}

/// One pass over rows: all of the input, or a partition.
struct Grouping<'p> {
    aggregates: &'p [AggregateCall],
    grant: Grant,
    /// What the values of DISTINCT take.
    distinct_grant: Grant,
    index: HashMap<GroupKey, usize>,
    groups: Vec<Group>,
    level: u32,
    put_aside: Option<Partitions>,
    /// Number of the aggregate, number of the group, value.
    distinct: Option<Partitions>,
}

/// What a pass leaves.
struct Finished {
    groups: Vec<Group>,
    grant: Grant,
    put_aside: Vec<PartitionRows>,
}

impl<'p> Grouping<'p> {
    fn new(aggregates: &'p [AggregateCall], level: u32, context: &Context<'_>) -> Grouping<'p> {
        Grouping {
            aggregates,
            grant: context.grant(),
            distinct_grant: context.grant(),
            index: HashMap::new(),
            groups: Vec::new(),
            level,
            put_aside: None,
            distinct: None,
        }
    }

    fn add_group(&mut self, key: GroupKey) -> usize {
        let states = self.aggregates.iter().map(AggregateState::new).collect();
        self.groups.push((key.0.clone(), states));
        self.index.insert(key, self.groups.len() - 1);
        self.groups.len() - 1
    }

    fn add(&mut self, key: Vec<Value>, row: &[Value], context: &Context<'_>) -> Result<()> {
        let key = GroupKey(key);
        let index = match self.index.get(&key) {
            Some(&index) => index,
            None => {
                let states = size_of::<AggregateState>() * self.aggregates.len();
                let bytes = 2 * row_bytes(&key.0) + states as u64;
                if self.level >= LEVELS_MAX {
                    self.grant.require(bytes)?;
                } else if !self.grant.has_room(bytes) {
                    return self.put_aside(&key, row);
                }
                self.add_group(key)
            }
        };
        let Some((_, states)) = self.groups.get_mut(index) else {
            return Ok(());
        };
        for (number, (state, call)) in states.iter_mut().zip(self.aggregates).enumerate() {
            if let Some(value) = state.add(call, row, (&mut self.grant, &mut self.distinct_grant), context)? {
                let row = [Value::BigInt(number as i64), Value::BigInt(index as i64), value];
                let partitions = match &mut self.distinct {
                    Some(partitions) => partitions,
                    None => self.distinct.insert(Partitions::new(&self.grant, 0)?),
                };
                partitions.push(hash_of(&GroupKey(row.to_vec())), &row)?;
            }
        }
        Ok(())
    }

    fn put_aside(&mut self, key: &GroupKey, row: &[Value]) -> Result<()> {
        let partitions = match &mut self.put_aside {
            Some(partitions) => partitions,
            None => self.put_aside.insert(Partitions::new(&self.grant, self.level)?),
        };
        partitions.push(hash_of(key), &[key.0.as_slice(), row].concat())
    }

    fn finish(mut self, context: &Context<'_>) -> Result<Finished> {
        if let Some(partitions) = self.distinct.take() {
            self.take_distinct(partitions.finish()?, context)?;
        }
        let put_aside = self.put_aside.map_or(Ok(Vec::new()), Partitions::finish)?;
        Ok(Finished {
            groups: self.groups,
            grant: self.grant,
            put_aside: put_aside.into_iter().filter(|rows| !rows.is_empty()).collect(),
        })
    }

    /// Takes in the values of DISTINCT that were put aside, each once. None of them is among those seen before.
    fn take_distinct(&mut self, mut pending: Vec<PartitionRows>, context: &Context<'_>) -> Result<()> {
        let states = self.groups.iter_mut().flat_map(|(_, states)| states);
        states.for_each(AggregateState::forget_distinct);
        self.distinct_grant.clear();
        let mut row = vec![Value::Null; 3];
        while let Some(mut rows) = pending.pop() {
            let mut grant = context.grant();
            let mut seen = HashSet::new();
            let mut aside: Option<Partitions> = None;
            while rows.next(&mut row)? {
                let key = GroupKey(row.clone());
                if seen.contains(&key) {
                    continue;
                }
                let has_room = aside.is_none() && grant.has_room(row_bytes(&row));
                if !has_room && rows.level < LEVELS_MAX {
                    let partitions = match &mut aside {
                        Some(partitions) => partitions,
                        None => aside.insert(Partitions::new(&grant, rows.level)?),
                    };
                    partitions.push(hash_of(&key), &row)?;
                    continue;
                }
                if !has_room {
                    grant.require(row_bytes(&row))?;
                }
                self.take_value(&row)?;
                seen.insert(key);
            }
            if let Some(aside) = aside {
                pending.extend(aside.finish()?.into_iter().filter(|rows| !rows.is_empty()));
            }
        }
        Ok(())
    }

    fn take_value(&mut self, row: &[Value]) -> Result<()> {
        let [number, index, value] = row else { return Ok(()) };
        let number_of = |value: &Value| value.as_i64().and_then(|number| usize::try_from(number).ok());
        let (Some(number), Some(index)) = (number_of(number), number_of(index)) else {
            return Ok(());
        };
        let state = self
            .groups
            .get_mut(index)
            .and_then(|(_, states)| states.get_mut(number));
        match (state, self.aggregates.get(number)) {
            (Some(state), Some(call)) => state.take_distinct(call, value),
            _ => Ok(()),
        }
    }
}
