//! The values that DISTINCT aggregates have seen, for all groups together: one key table per aggregate, with the group's number and the
//! value as key. A value that may be new but does not fit is spilled, and processed once after the last row.

use engine::error::{Error, Result};
use engine::types::Value;

use super::aggregate_state::AggregateState;
use super::evaluate;
use super::key_table::{KeyTable, key_bytes};
use super::partitions::{LEVELS_MAX, PartitionRows, Partitions, hash_of};
use crate::context::Context;
use crate::grant::Grant;
use crate::plan::AggregateCall;
use crate::scalar::compare::push_group_key;

/// An aggregate's number, and a group's.
type Place = (usize, usize);

/// What DISTINCT aggregates have seen.
pub(super) struct DistinctValues {
    seen: Vec<KeyTable>,
    grant: Grant,
    /// The key of the value at hand.
    key: Vec<u8>,
    /// Number of the aggregate, number of the group, value.
    aside: Option<Partitions>,
}

impl DistinctValues {
    pub(super) fn new(aggregate_count: usize, context: &Context<'_>) -> DistinctValues {
        DistinctValues {
            seen: (0..aggregate_count).map(|_| KeyTable::default()).collect(),
            grant: context.grant(),
            key: Vec::new(),
            aside: None,
        }
    }

    /// Takes a row's value into an aggregate's state of a group, unless it was seen there or is put aside.
    ///
    /// # Errors
    /// Those of the expression, of the aggregate and of spilling.
    pub(super) fn add(
        &mut self,
        (number, group): Place,
        (state, call): (&mut AggregateState, &AggregateCall),
        row: &[Value],
        context: &Context<'_>,
    ) -> Result<()> {
        let (Some(argument), Some(seen)) = (&call.argument, self.seen.get_mut(number)) else {
            return Err(Error::assertion("DISTINCT without a value"));
        };
        let value = evaluate(argument, row, context)?;
        if value.is_null() {
            return Ok(());
        }
        self.key.clear();
        self.key.extend_from_slice(&(group as u32).to_le_bytes());
        push_group_key(std::slice::from_ref(&*value), &mut self.key);
        if seen.find(&self.key).is_some() {
            return Ok(());
        }
        // Once something was put aside, a value that is not in memory may lie there.
        if self.aside.is_none() && self.grant.has_room(key_bytes(&self.key)) {
            seen.add(&self.key)?;
            return state.take(call, &value);
        }
        let row = [
            Value::BigInt(number as i64),
            Value::BigInt(group as i64),
            value.into_owned(),
        ];
        let partitions = match &mut self.aside {
            Some(partitions) => partitions,
            None => self.aside.insert(Partitions::new(&self.grant, 0)?),
        };
        self.key.clear();
        push_group_key(&row, &mut self.key);
        partitions.push(hash_of(&self.key), &row)
    }

    /// Hands over the values that were put aside, each once; none of them was seen before.
    ///
    /// # Errors
    /// Those of `take` and of reading; 701 when further partitioning does not separate the values.
    pub(super) fn finish(
        mut self,
        context: &Context<'_>,
        mut take: impl FnMut(Place, &Value) -> Result<()>,
    ) -> Result<()> {
        let Some(aside) = self.aside.take() else {
            return Ok(());
        };
        let mut pending = aside.finish()?;
        self.seen = Vec::new();
        self.grant.clear();
        while let Some(rows) = pending.pop() {
            pending.extend(finish_partition(rows, context, &mut take)?);
        }
        Ok(())
    }
}

/// The same of one partition; what does not fit is parted again and comes back.
fn finish_partition(
    mut rows: PartitionRows,
    context: &Context<'_>,
    take: &mut impl FnMut(Place, &Value) -> Result<()>,
) -> Result<Vec<PartitionRows>> {
    let (mut grant, mut seen, mut key) = (context.grant(), KeyTable::default(), Vec::new());
    let mut aside: Option<Partitions> = None;
    let mut row = [Value::Null, Value::Null, Value::Null];
    while rows.next(&mut row)? {
        key.clear();
        push_group_key(&row, &mut key);
        if seen.find(&key).is_some() {
            continue;
        }
        let has_room = aside.is_none() && grant.has_room(key_bytes(&key));
        if !has_room && rows.level < LEVELS_MAX {
            let partitions = match &mut aside {
                Some(partitions) => partitions,
                None => aside.insert(Partitions::new(&grant, rows.level)?),
            };
            partitions.push(hash_of(&key), &row)?;
            continue;
        }
        if !has_room {
            grant.require(key_bytes(&key))?;
        }
        let [number, group, value] = &row;
        let number_of = |value: &Value| value.as_i64().and_then(|number| usize::try_from(number).ok());
        if let (Some(number), Some(group)) = (number_of(number), number_of(group)) {
            take((number, group), value)?;
        }
        seen.add(&key)?;
    }
    let parted = aside.map_or(Ok(Vec::new()), Partitions::finish)?;
    Ok(parted.into_iter().filter(|rows| !rows.is_empty()).collect())
}
