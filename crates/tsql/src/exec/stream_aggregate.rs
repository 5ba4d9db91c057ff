//! Aggregation of rows that arrive group by group: one group at a time is in memory, and is returned when the next one begins.
//!
//! ```text
//! rows   1 1 1 | 2 | 5 5 |        states of the current group; its keys are those of its first row
//! ```
//! Invariant: rows of one group are adjacent; the optimizer guarantees this.

use engine::error::Result;
use engine::types::Value;

use super::aggregate_state::AggregateState;
use super::distinct_values::DistinctValues;
use super::{Operator, evaluate};
use crate::context::Context;
use crate::grant::Grant;
use crate::plan::{AggregateCall, AggregateNode, Expr};
use crate::scalar::compare::push_group_key;

pub(super) struct StreamAggregate<'p> {
    input: Box<dyn Operator + 'p>,
    keys: &'p [Expr],
    aggregates: &'p [AggregateCall],
    /// Whether a column tells the grouping set: the one of all keys, which is 0.
    has_set: bool,
    /// The input's row: while a group comes out, the first one of the next.
    row: Vec<Value>,
    /// The key of the group under way, and that of the row at hand.
    key: Vec<u8>,
    next_key: Vec<u8>,
    group: Option<Group>,
    is_at_end: bool,
    grant: Grant,
}

/// The group under way.
struct Group {
    values: Vec<Value>,
    states: Vec<AggregateState>,
    /// Where an aggregate has DISTINCT.
    distinct: Option<DistinctValues>,
}

impl<'p> StreamAggregate<'p> {
    pub(super) fn new(
        input: Box<dyn Operator + 'p>,
        node: &'p AggregateNode,
        context: &Context<'_>,
    ) -> StreamAggregate<'p> {
        StreamAggregate {
            input,
            keys: &node.keys,
            aggregates: &node.aggregates,
            has_set: !node.sets.is_empty(),
            row: vec![Value::Null; node.input_width],
            key: Vec::new(),
            next_key: Vec::new(),
            group: None,
            is_at_end: false,
            grant: context.grant(),
        }
    }

    /// Reads the next row and its key; false at the end.
    fn read(&mut self, context: &Context<'_>) -> Result<bool> {
        if self.is_at_end || !self.input.next(context, &mut self.row)? {
            self.is_at_end = true;
            return Ok(false);
        }
        self.next_key.clear();
        for key in self.keys {
            let value = evaluate(key, &self.row, context)?;
            push_group_key(std::slice::from_ref(&*value), &mut self.next_key);
        }
        Ok(true)
    }

    /// Begins a group with the row at hand.
    fn begin(&mut self, context: &Context<'_>) -> Result<()> {
        std::mem::swap(&mut self.key, &mut self.next_key);
        let values = self
            .keys
            .iter()
            .map(|key| Ok(evaluate(key, &self.row, context)?.into_owned()));
        let has_distinct = self.aggregates.iter().any(|call| call.distinct);
        self.group = Some(Group {
            values: values.collect::<Result<_>>()?,
            states: self.aggregates.iter().map(AggregateState::new).collect(),
            distinct: has_distinct.then(|| DistinctValues::new(self.aggregates.len(), context)),
        });
        self.add(context)
    }

    /// Takes the row at hand into the group.
    fn add(&mut self, context: &Context<'_>) -> Result<()> {
        let Some(group) = &mut self.group else { return Ok(()) };
        for (number, (state, call)) in group.states.iter_mut().zip(self.aggregates).enumerate() {
            match &mut group.distinct {
                Some(seen) if call.distinct => seen.add((number, 0), (state, call), &self.row, context)?,
                _ => state.add(call, &self.row, &mut self.grant, context)?,
            }
        }
        Ok(())
    }

    /// Writes the group that is complete.
    fn finish(&mut self, mut group: Group, context: &Context<'_>, row: &mut [Value]) -> Result<()> {
        let aggregates = self.aggregates;
        if let Some(distinct) = group.distinct.take() {
            let states = &mut group.states;
            distinct.finish(context, |(number, _), value| {
                match (states.get_mut(number), aggregates.get(number)) {
                    (Some(state), Some(call)) => state.take(call, value),
                    _ => Ok(()),
                }
            })?;
        }
        let mut targets = row.iter_mut();
        for (value, target) in group.values.into_iter().zip(&mut targets) {
            *target = value;
        }
        for ((state, call), target) in group.states.iter().zip(aggregates).zip(&mut targets) {
            *target = state.finish(call)?;
        }
        if let (true, Some(target)) = (self.has_set, targets.next()) {
            *target = Value::BigInt(0);
        }
        self.grant.clear();
        Ok(())
    }
}

impl Operator for StreamAggregate<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        // The first row of all, else the one that ended the group before has begun one.
        if self.group.is_none() {
            if !self.read(context)? {
                return Ok(false);
            }
            self.begin(context)?;
        }
        while self.read(context)? {
            if self.next_key == self.key {
                self.add(context)?;
                continue;
            }
            if let Some(group) = self.group.take() {
                self.finish(group, context, row)?;
            }
            self.begin(context)?;
            return Ok(true);
        }
        match self.group.take() {
            Some(group) => self.finish(group, context, row).map(|()| true),
            None => Ok(false),
        }
    }
}

/// The first of rows that are the same in their first columns, where these follow each other.
pub(super) struct StreamDistinct<'p> {
    input: Box<dyn Operator + 'p>,
    columns: usize,
    key: Vec<u8>,
    next_key: Vec<u8>,
    has_row: bool,
}

impl<'p> StreamDistinct<'p> {
    pub(super) fn new(input: Box<dyn Operator + 'p>, columns: usize) -> StreamDistinct<'p> {
        StreamDistinct {
            input,
            columns,
            key: Vec::new(),
            next_key: Vec::new(),
            has_row: false,
        }
    }
}

impl Operator for StreamDistinct<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        while self.input.next(context, row)? {
            self.next_key.clear();
            push_group_key(row.get(..self.columns).unwrap_or_default(), &mut self.next_key);
            if !self.has_row || self.next_key != self.key {
                std::mem::swap(&mut self.key, &mut self.next_key);
                self.has_row = true;
                return Ok(true);
            }
        }
        Ok(false)
    }
}
