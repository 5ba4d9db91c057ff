//! GROUP BY: one hash table of groups; without GROUP BY one group, even of no rows.

use std::collections::HashMap;

use engine::error::Result;
use engine::types::Value;

use super::aggregate_state::AggregateState;
use super::{Context, Operator, evaluate, open};
use crate::plan::{AggregateCall, Expr, Node};
use crate::scalar::compare::GroupKey;

/// Groups of rows.
pub(super) struct Aggregate {
    groups: std::vec::IntoIter<Vec<Value>>,
}

impl Aggregate {
    /// Reads all rows; the groups come out in the order in which they were first met.
    pub(super) fn open(
        input: &Node,
        input_width: usize,
        keys: &[Expr],
        sets: &[Vec<bool>],
        aggregates: &[AggregateCall],
        context: &Context<'_>,
    ) -> Result<Aggregate> {
        let mut grouping = Grouping {
            aggregates,
            index: HashMap::new(),
            groups: Vec::new(),
        };
        if keys.is_empty() && sets.is_empty() {
            grouping.group(GroupKey(Vec::new()));
        }
        let mut operator = open(input, context.locks(), context)?;
        let mut row = vec![Value::Null; input_width];
        let mut count = 0u64;
        while operator.next(context, &mut row)? {
            count += 1;
            if count.is_multiple_of(1024) {
                context.check_cancelled()?;
            }
            let values = keys
                .iter()
                .map(|key| Ok(evaluate(key, &row, context)?.into_owned()))
                .collect::<Result<Vec<_>>>()?;
            if sets.is_empty() {
                grouping.add(values, &row, context)?;
                continue;
            }
            for set in sets {
                // A key that a set leaves out is NULL in its rows; the last column tells sets apart.
                let mut kept: Vec<Value> = values
                    .iter()
                    .zip(set)
                    .map(|(value, &kept)| if kept { value.clone() } else { Value::Null })
                    .collect();
                kept.push(Value::BigInt(set_number(set)));
                grouping.add(kept, &row, context)?;
            }
        }
        Ok(Aggregate {
            groups: grouping.finish(keys.len())?.into_iter(),
        })
    }
}

/// GROUPING_ID of a set: one bit per key left out, the first key's highest.
fn set_number(set: &[bool]) -> i64 {
    set.iter().fold(0, |number, &kept| number * 2 + i64::from(!kept))
}

struct Grouping<'p> {
    aggregates: &'p [AggregateCall],
    index: HashMap<GroupKey, usize>,
    groups: Vec<(Vec<Value>, Vec<AggregateState>)>,
}

impl Grouping<'_> {
    fn group(&mut self, key: GroupKey) -> usize {
        if let Some(&index) = self.index.get(&key) {
            return index;
        }
        let states = self.aggregates.iter().map(AggregateState::new).collect();
        self.groups.push((key.0.clone(), states));
        self.index.insert(key, self.groups.len() - 1);
        self.groups.len() - 1
    }

    fn add(&mut self, key: Vec<Value>, row: &[Value], context: &Context<'_>) -> Result<()> {
        let index = self.group(GroupKey(key));
        let Some((_, states)) = self.groups.get_mut(index) else {
            return Ok(());
        };
        for (state, call) in states.iter_mut().zip(self.aggregates) {
            state.add(call, row, context)?;
        }
        Ok(())
    }

    fn finish(self, key_count: usize) -> Result<Vec<Vec<Value>>> {
        let mut rows = Vec::with_capacity(self.groups.len());
        for (mut row, states) in self.groups {
            let set = row.get(key_count).cloned();
            row.truncate(key_count);
            for (state, call) in states.into_iter().zip(self.aggregates) {
                row.push(state.finish(call)?);
            }
            row.extend(set);
            rows.push(row);
        }
        Ok(rows)
    }
}

impl Operator for Aggregate {
    fn next(&mut self, _context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        let Some(group) = self.groups.next() else {
            return Ok(false);
        };
        super::derived::place(row, 0, group);
        Ok(true)
    }
}
