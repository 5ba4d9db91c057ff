//! Joins: nested loops for any condition, a hash table for equal values.

use std::collections::HashMap;

use engine::error::Result;
use engine::lock::LockOwner;
use engine::types::Value;

use super::derived::place;
use super::{Context, Operator, evaluate, holds, open};
use crate::plan::{Condition, Expr, JoinKind, Node};
use crate::scalar::compare::GroupKey;

/// Makes a range of the wide row NULL.
fn clear(row: &mut [Value], (offset, width): (usize, usize)) {
    row.iter_mut()
        .skip(offset)
        .take(width)
        .for_each(|value| *value = Value::Null);
}

/// For every left row all right rows, opened anew.
pub(super) struct Loop<'p> {
    left: Box<dyn Operator + 'p>,
    right_node: &'p Node,
    right: Option<Box<dyn Operator + 'p>>,
    right_range: (usize, usize),
    kind: JoinKind,
    condition: &'p Condition,
    locks: &'p LockOwner,
    matched: bool,
}

impl<'p> Loop<'p> {
    pub(super) fn new(
        left: Box<dyn Operator + 'p>,
        right_node: &'p Node,
        right_range: (usize, usize),
        kind: JoinKind,
        condition: &'p Condition,
        locks: &'p LockOwner,
    ) -> Loop<'p> {
        Loop {
            left,
            right_node,
            right: None,
            right_range,
            kind,
            condition,
            locks,
            matched: false,
        }
    }
}

impl Operator for Loop<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        loop {
            let Some(right) = &mut self.right else {
                if !self.left.next(context, row)? {
                    return Ok(false);
                }
                self.matched = false;
                self.right = Some(open(self.right_node, self.locks, context)?);
                continue;
            };
            while right.next(context, row)? {
                if holds(self.condition, row, context)? {
                    self.matched = true;
                    return Ok(true);
                }
            }
            self.right = None;
            if self.kind != JoinKind::Inner && !self.matched {
                clear(row, self.right_range);
                return Ok(true);
            }
        }
    }
}

/// A row of the hash table.
struct BuiltRow {
    values: Vec<Value>,
    matched: bool,
}

/// Right rows in a hash table, probed by left rows.
pub(super) struct Hash<'p> {
    left: Box<dyn Operator + 'p>,
    left_range: (usize, usize),
    right_range: (usize, usize),
    kind: JoinKind,
    keys: &'p [(Expr, Expr)],
    residual: &'p Condition,
    rows: Vec<BuiltRow>,
    table: HashMap<GroupKey, Vec<usize>>,
    /// Right rows still to be paired with the current left row.
    candidates: Vec<usize>,
    has_left: bool,
    matched: bool,
    /// After the last left row: the next right row to look at.
    leftover: Option<usize>,
}

impl<'p> Hash<'p> {
    pub(super) fn open(
        left: Box<dyn Operator + 'p>,
        right: &Node,
        (left_range, right_range): ((usize, usize), (usize, usize)),
        kind: JoinKind,
        keys: &'p [(Expr, Expr)],
        residual: &'p Condition,
        context: &Context<'_>,
    ) -> Result<Hash<'p>> {
        let mut hash = Hash {
            left,
            left_range,
            right_range,
            kind,
            keys,
            residual,
            rows: Vec::new(),
            table: HashMap::new(),
            candidates: Vec::new(),
            has_left: false,
            matched: false,
            leftover: None,
        };
        hash.build(right, context)?;
        Ok(hash)
    }

    fn build(&mut self, right: &Node, context: &Context<'_>) -> Result<()> {
        let (offset, width) = self.right_range;
        let mut row = vec![Value::Null; offset + width];
        let mut operator = open(right, context.locks(), context)?;
        while operator.next(context, &mut row)? {
            let key = key_of(self.keys.iter().map(|(_, right)| right), &row, context)?;
            if let Some(key) = key {
                self.table.entry(key).or_default().push(self.rows.len());
            } else if self.kind != JoinKind::Full {
                continue;
            }
            let values = row.get(offset..offset + width).unwrap_or_default().to_vec();
            self.rows.push(BuiltRow { values, matched: false });
        }
        Ok(())
    }

    /// The next pairing of the current left row.
    fn next_pair(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        while let Some(index) = self.candidates.pop() {
            let Some(built) = self.rows.get_mut(index) else {
                continue;
            };
            place(row, self.right_range.0, built.values.iter().cloned());
            if holds(self.residual, row, context)? {
                built.matched = true;
                self.matched = true;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Right rows that no left row wanted, for FULL.
    fn next_leftover(&mut self, row: &mut [Value]) -> bool {
        let Some(next) = &mut self.leftover else { return false };
        while let Some(built) = self.rows.get(*next) {
            *next += 1;
            if !built.matched {
                clear(row, self.left_range);
                place(row, self.right_range.0, built.values.iter().cloned());
                return true;
            }
        }
        false
    }
}

/// The key of a row; `None` when a part is NULL, which equals nothing.
fn key_of<'e>(
    expressions: impl Iterator<Item = &'e Expr>,
    row: &[Value],
    context: &Context<'_>,
) -> Result<Option<GroupKey>> {
    let mut values = Vec::new();
    for expression in expressions {
        let value = evaluate(expression, row, context)?.into_owned();
        if value.is_null() {
            return Ok(None);
        }
        values.push(value);
    }
    Ok(Some(GroupKey(values)))
}

impl Operator for Hash<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        loop {
            if self.leftover.is_some() {
                return Ok(self.next_leftover(row));
            }
            if self.has_left {
                if self.next_pair(context, row)? {
                    return Ok(true);
                }
                self.has_left = false;
                if self.kind != JoinKind::Inner && !self.matched {
                    clear(row, self.right_range);
                    return Ok(true);
                }
            }
            if !self.left.next(context, row)? {
                if self.kind != JoinKind::Full {
                    return Ok(false);
                }
                self.leftover = Some(0);
                continue;
            }
            self.has_left = true;
            self.matched = false;
            let key = key_of(self.keys.iter().map(|(left, _)| left), row, context)?;
            let found = key.and_then(|key| self.table.get(&key));
            self.candidates.clear();
            self.candidates.extend(found.into_iter().flatten().rev());
        }
    }
}
