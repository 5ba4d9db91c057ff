//! DISTINCT, UNION, EXCEPT, INTERSECT: rows compared with NULL equal to NULL.

use engine::cancel;
use engine::error::Result;
use engine::lock::LockOwner;
use engine::types::Value;

use super::Operator;
use super::key_table::{KeyTable, key_bytes};
use super::spill_set::SpillSet;
use super::stream_aggregate::StreamDistinct;
use crate::context::Context;
use crate::grant::Grant;
use crate::plan::{AppendNode, DistinctNode, Node, SetKind, SetOperationNode};
use crate::scalar::compare::push_group_key;

/// The first of rows that are the same in their first columns.
pub(super) struct Distinct<'p> {
    input: Box<dyn Operator + 'p>,
    seen: SpillSet,
}

/// Opens DISTINCT: a stream where rows that are the same follow each other, else a set of those seen.
pub(super) fn open_distinct<'p>(
    node: &'p DistinctNode,
    locks: &'p LockOwner,
    context: &Context<'_>,
) -> Result<Box<dyn Operator + 'p>> {
    let input = super::open(&node.input, locks, context)?;
    Ok(match node.is_stream {
        true => Box::new(StreamDistinct::new(input, node.columns)),
        false => Box::new(Distinct::new(input, node.columns)),
    })
}

impl<'p> Distinct<'p> {
    fn new(input: Box<dyn Operator + 'p>, columns: usize) -> Distinct<'p> {
        Distinct {
            input,
            seen: SpillSet::new(columns),
        }
    }
}

impl Operator for Distinct<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        while self.input.next(context, row)? {
            if self.seen.insert(row, context)? {
                return Ok(true);
            }
        }
        self.seen.next_put_aside(row, context)
    }
}

/// The rows of several queries, one after the other; each is opened when its turn comes.
pub(super) struct Append<'p> {
    waiting: std::slice::Iter<'p, Node>,
    running: Option<Box<dyn Operator + 'p>>,
    locks: &'p LockOwner,
}

impl<'p> Append<'p> {
    pub(super) fn new(node: &'p AppendNode, locks: &'p LockOwner) -> Append<'p> {
        Append {
            waiting: node.inputs.iter(),
            running: None,
            locks,
        }
    }
}

impl Operator for Append<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        loop {
            if let Some(running) = &mut self.running
                && running.next(context, row)?
            {
                return Ok(true);
            }
            cancel::spend(1)?;
            self.running = match self.waiting.next() {
                Some(input) => Some(super::open(input, self.locks, context)?),
                None => return Ok(false),
            };
        }
    }
}

/// Two queries as sets of rows: EXCEPT and INTERSECT.
pub(super) struct SetOperation<'p> {
    kind: SetKind,
    left: Box<dyn Operator + 'p>,
    right: Box<dyn Operator + 'p>,
    width: usize,
    /// The right side's rows.
    other: Option<KeyTable>,
    /// The left side's rows that came out.
    taken: KeyTable,
    /// The key of the row at hand.
    key: Vec<u8>,
    grant: Option<Grant>,
}

/// Opens EXCEPT or INTERSECT.
pub(super) fn open<'p>(
    node: &'p SetOperationNode,
    locks: &'p LockOwner,
    context: &Context<'_>,
) -> Result<Box<dyn Operator + 'p>> {
    Ok(Box::new(SetOperation {
        kind: node.kind,
        left: super::open(&node.left, locks, context)?,
        right: super::open(&node.right, locks, context)?,
        width: node.width,
        other: None,
        taken: KeyTable::default(),
        key: Vec::new(),
        grant: None,
    }))
}

impl SetOperation<'_> {
    fn collect_right(&mut self, context: &Context<'_>) -> Result<()> {
        let mut found = KeyTable::default();
        let mut buffer = vec![Value::Null; self.width];
        let mut grant = context.grant();
        while self.right.next(context, &mut buffer)? {
            add_row(&mut found, &buffer, &mut self.key, &mut grant)?;
        }
        self.grant = Some(grant);
        self.other = Some(found);
        Ok(())
    }
}

/// Adds a row's key to a set; false when it is there.
fn add_row(set: &mut KeyTable, row: &[Value], key: &mut Vec<u8>, grant: &mut Grant) -> Result<bool> {
    key.clear();
    push_group_key(row, key);
    if set.find(key).is_some() {
        return Ok(false);
    }
    grant.require(key_bytes(key))?;
    set.add(key)?;
    Ok(true)
}

impl Operator for SetOperation<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        if self.other.is_none() {
            self.collect_right(context)?;
        }
        let (Some(other), Some(grant)) = (&self.other, &mut self.grant) else {
            return Ok(false);
        };
        while self.left.next(context, row)? {
            let values = row.get(..self.width).unwrap_or_default();
            self.key.clear();
            push_group_key(values, &mut self.key);
            let inside = other.find(&self.key).is_some();
            if inside == (self.kind == SetKind::Intersect) && add_row(&mut self.taken, values, &mut self.key, grant)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
