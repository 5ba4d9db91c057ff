//! The join on equal values of two sorted inputs, each read once.
//!
//! ```text
//! left keys are unique     left   1    3 4      a right row is compared with the left row at or after its key;
//!                          right  1 1 2  4      nothing is kept
//! they are not             left   1 1    4 4    the right rows of one key are a group, which is kept (spilled if it
//!                          right  1 1 2  4      outgrows the grant) and read again for each left row of the key
//! ```
//! A row with NULL in its key has no match. Rows come out in the order of the left input's keys.
//!
//! An input's rows are read directly into the output row if nothing else writes to those columns while they are needed, otherwise into a
//! separate row.
//!
//! Invariant: the keys of an input never decrease, or never increase if both descend; the optimizer guarantees this.

use std::cmp::Ordering;

use engine::error::Result;
use engine::types::Value;

use super::hash_join::{Ranges, kept, key_of, put_back, width_of};
use super::join::clear;
use super::row_spool::RowSpool;
use super::{Operator, holds};
use crate::context::Context;
use crate::plan::{Condition, Expr, JoinKind, JoinNode};

/// Where a side is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Head {
    /// Behind a row that is done with.
    Wanted,
    Row,
    /// At a row that equals none.
    Null,
    End,
}

struct Side<'p> {
    input: Box<dyn Operator + 'p>,
    ranges: Ranges<'p>,
    keys: Vec<&'p Expr>,
    /// Its own row; `None` where the row handed out is.
    own: Option<Vec<Value>>,
    head: Head,
    /// The key of the row at hand.
    key: Vec<u8>,
    /// The last key that was none of NULL: what the order is checked by where debug assertions are on.
    before: Option<Vec<u8>>,
    is_descending: bool,
}

/// How keys stand to each other in the order of the sides.
fn compare_keys(left: &[u8], right: &[u8], is_descending: bool) -> Ordering {
    match is_descending {
        true => right.cmp(left),
        false => left.cmp(right),
    }
}

impl<'p> Side<'p> {
    fn new(
        input: Box<dyn Operator + 'p>,
        ranges: Ranges<'p>,
        keys: Vec<&'p Expr>,
        is_in_place: bool,
        is_descending: bool,
    ) -> Side<'p> {
        let width = ranges.iter().map(|(start, width)| start + width).max();
        Side {
            input,
            ranges,
            keys,
            own: (!is_in_place).then(|| vec![Value::Null; width.unwrap_or(0)]),
            head: Head::Wanted,
            key: Vec::new(),
            before: None,
            is_descending,
        }
    }

    /// Turns to the next row, if the last one is done with.
    fn settle(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<()> {
        if self.head != Head::Wanted {
            return Ok(());
        }
        let row = self.own.as_deref_mut().unwrap_or(row);
        self.head = match self.input.next(context, row)? {
            false => Head::End,
            true => match key_of(self.keys.iter().copied(), row, &mut self.key, context)? {
                Some(_) => Head::Row,
                None => Head::Null,
            },
        };
        if cfg!(debug_assertions) && self.head == Head::Row {
            let order = |before: &Vec<u8>| compare_keys(before, &self.key, self.is_descending);
            let is_ordered = self.before.as_ref().is_none_or(|before| order(before).is_le());
            debug_assert!(is_ordered, "a side of a merge join out of order");
            self.before = Some(self.key.clone());
        }
        Ok(())
    }

    /// Writes the row at hand into the row handed out.
    fn show(&self, row: &mut [Value]) {
        let Some(own) = &self.own else { return };
        for &(start, width) in self.ranges {
            if let (Some(values), Some(places)) = (own.get(start..start + width), row.get_mut(start..start + width)) {
                places.clone_from_slice(values);
            }
        }
    }

    /// What is kept of the row at hand.
    fn values(&self) -> impl Iterator<Item = Value> {
        let own = self.own.as_deref().unwrap_or_default();
        kept(own, self.ranges).flatten().cloned()
    }
}

/// The right rows of one key.
struct Group {
    rows: RowSpool,
    key: Vec<u8>,
    state: GroupState,
    /// By row: whether a left row wanted it. Empty where nobody asks.
    matched: Vec<bool>,
}

/// What is being done with a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GroupState {
    /// There is none.
    None,
    /// It waits for left rows.
    Waiting,
    /// Its rows are paired with the left row at hand.
    Pairing,
    /// No other left row has its key: rows that none wanted come out.
    Leaving,
}

/// Two ordered sides joined.
pub(super) struct Merge<'p> {
    left: Side<'p>,
    right: Side<'p>,
    kind: JoinKind,
    residual: &'p Condition,
    /// Whether the left row at hand has had a partner.
    matched: bool,
    /// Where left keys are not unique.
    group: Option<Group>,
}

impl<'p> Merge<'p> {
    pub(super) fn new(
        left: Box<dyn Operator + 'p>,
        right: Box<dyn Operator + 'p>,
        node: &'p JoinNode,
        is_descending: bool,
        is_many: bool,
        context: &Context<'_>,
    ) -> Merge<'p> {
        let left_keys = node.keys.iter().map(|(left, _)| left).collect();
        let right_keys = node.keys.iter().map(|(_, right)| right).collect();
        let (kind, right_ranges) = (node.kind, node.right_ranges.as_slice());
        let is_left_in_place = !kind.keeps_right();
        let is_right_in_place = !is_many && !kind.keeps_left();
        Merge {
            left: Side::new(left, &node.left_ranges, left_keys, is_left_in_place, is_descending),
            right: Side::new(right, right_ranges, right_keys, is_right_in_place, is_descending),
            kind,
            residual: &node.residual,
            matched: false,
            group: is_many.then(|| Group {
                rows: RowSpool::new(width_of(right_ranges), context.grant()),
                key: Vec::new(),
                state: GroupState::None,
                matched: Vec::new(),
            }),
        }
    }

    /// How the rows at hand stand to each other: `Less` is a left row without partner, `Greater` a right one. `None` when nothing that is
    /// left comes out.
    fn compare(&self) -> Option<Ordering> {
        Some(match (self.left.head, self.right.head) {
            (Head::Row, Head::Row) => compare_keys(&self.left.key, &self.right.key, self.left.is_descending),
            (Head::Null, _) => Ordering::Less,
            (_, Head::Null) => Ordering::Greater,
            (Head::Row, _) => return self.kind.keeps_left().then_some(Ordering::Less),
            (_, Head::Row) => return self.kind.keeps_right().then_some(Ordering::Greater),
            _ => return None,
        })
    }

    /// Leaves the left row behind; whether it comes out by itself.
    fn leave_left(&mut self, row: &mut [Value]) -> bool {
        self.left.head = Head::Wanted;
        let is_alone = !std::mem::take(&mut self.matched);
        if is_alone && self.kind.keeps_left() {
            self.left.show(row);
            clear(row, self.right.ranges);
            return true;
        }
        false
    }

    /// Leaves the right row behind, which no left one wanted; whether it comes out by itself.
    fn leave_right(&mut self, row: &mut [Value]) -> bool {
        self.right.head = Head::Wanted;
        if self.kind.keeps_right() {
            self.right.show(row);
            clear(row, self.left.ranges);
            return true;
        }
        false
    }

    /// The next row where left keys are unique.
    fn next_of_unique(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        loop {
            self.left.settle(context, row)?;
            self.right.settle(context, row)?;
            let Some(order) = self.compare() else { return Ok(false) };
            let comes_out = match order {
                Ordering::Less => self.leave_left(row),
                Ordering::Greater => self.leave_right(row),
                Ordering::Equal => {
                    self.left.show(row);
                    self.right.show(row);
                    match holds(self.residual, row, context)? {
                        true => self.pair(),
                        false => self.leave_right(row),
                    }
                }
            };
            if comes_out {
                return Ok(true);
            }
        }
    }

    /// The two rows at hand are partners; whether one comes out.
    fn pair(&mut self) -> bool {
        (self.matched, self.right.head) = (true, Head::Wanted);
        if self.kind == JoinKind::Semi {
            (self.matched, self.left.head) = (false, Head::Wanted);
        }
        !matches!(self.kind, JoinKind::Anti | JoinKind::RightAnti)
    }

    /// The next row where groups are kept.
    fn next_of_group(&mut self, group: &mut Group, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        loop {
            match group.state {
                GroupState::Pairing => {
                    if self.next_pair(group, context, row)? {
                        return Ok(true);
                    }
                    group.state = GroupState::Waiting;
                    if self.leave_left(row) {
                        return Ok(true);
                    }
                }
                GroupState::Leaving => {
                    if self.next_unwanted(group, row)? {
                        return Ok(true);
                    }
                    group.clear();
                }
                GroupState::Waiting => {
                    self.left.settle(context, row)?;
                    if self.left.head == Head::Null {
                        if self.leave_left(row) {
                            return Ok(true);
                        }
                        continue;
                    }
                    let goes_on = self.left.head == Head::Row && self.left.key == group.key;
                    group.state = if goes_on {
                        GroupState::Pairing
                    } else {
                        GroupState::Leaving
                    };
                    group.rows.rewind()?;
                    self.left.show(row);
                }
                GroupState::None => {
                    self.left.settle(context, row)?;
                    self.right.settle(context, row)?;
                    let Some(order) = self.compare() else { return Ok(false) };
                    let comes_out = match order {
                        Ordering::Less => self.leave_left(row),
                        Ordering::Greater => self.leave_right(row),
                        Ordering::Equal => {
                            self.collect(group, context, row)?;
                            false
                        }
                    };
                    if comes_out {
                        return Ok(true);
                    }
                }
            }
        }
    }

    /// Takes in the right rows of the key at hand.
    fn collect(&mut self, group: &mut Group, context: &Context<'_>, row: &mut [Value]) -> Result<()> {
        group.key.clone_from(&self.right.key);
        let marks = self.kind.keeps_right() || self.kind == JoinKind::RightSemi;
        loop {
            group.rows.push(self.right.values(), u64::from(marks))?;
            self.right.head = Head::Wanted;
            self.right.settle(context, row)?;
            let is_next = self.right.head == Head::Row && self.right.key == group.key;
            if !is_next {
                break;
            }
        }
        if marks {
            group.matched.resize(group.rows.len(), false);
        }
        group.state = GroupState::Waiting;
        Ok(())
    }

    /// The next partner of the left row at hand that comes out.
    fn next_pair(&mut self, group: &mut Group, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        let ranges = self.right.ranges;
        while let Some(number) = group.rows.next(|values| put_back(row, ranges, values))? {
            let is_known = group.matched.get(number).copied().unwrap_or_default();
            // Of a right row it is enough to know that it has a partner.
            if is_known && matches!(self.kind, JoinKind::RightSemi | JoinKind::RightAnti) {
                continue;
            }
            if !holds(self.residual, row, context)? {
                continue;
            }
            if let Some(matched) = group.matched.get_mut(number) {
                *matched = true;
            }
            self.matched = true;
            match self.kind {
                JoinKind::RightAnti => {}
                // And so it is of a left row.
                JoinKind::Anti => return Ok(false),
                JoinKind::Semi => {
                    (self.matched, self.left.head, group.state) = (false, Head::Wanted, GroupState::Waiting);
                    return Ok(true);
                }
                _ => return Ok(true),
            }
        }
        Ok(false)
    }

    /// The next row of a group that no left row wanted, if such come out.
    fn next_unwanted(&mut self, group: &mut Group, row: &mut [Value]) -> Result<bool> {
        if !self.kind.keeps_right() {
            return Ok(false);
        }
        let ranges = self.right.ranges;
        while let Some(number) = group.rows.next(|values| put_back(row, ranges, values))? {
            if !group.matched.get(number).copied().unwrap_or_default() {
                clear(row, self.left.ranges);
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Group {
    fn clear(&mut self) {
        self.rows.clear();
        self.matched.clear();
        self.state = GroupState::None;
    }
}

impl Operator for Merge<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        let Some(mut group) = self.group.take() else {
            return self.next_of_unique(context, row);
        };
        let found = self.next_of_group(&mut group, context, row);
        self.group = Some(group);
        found
    }
}
