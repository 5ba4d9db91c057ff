//! Rows in the order of a window function: sorted by the keys of PARTITION BY and ORDER BY, as bytes.
//!
//! ```text
//! keys      | partition, order of row 0 | partition, order of row 1 | ..     parts delimit themselves
//! members   sorted: the first 16 bytes of the key, the row's number, the bytes that PARTITION BY has of the key
//! ```
//! The first bytes decide nearly every comparison, so sorting and finding partitions rarely read the keys. Rows with equal keys keep their
//! input order.

use std::cmp::Ordering;

use engine::cancel;
use engine::error::{Error, Result};
use engine::types::KeyDirection;

use super::evaluate;
use super::merge_sort;
use super::row_store::RowStore;
use super::sort::direction;
use crate::context::Context;
use crate::plan::WindowCall;
use crate::scalar::compare::push_order_key;

/// Bytes of keys and members that an order keeps room for when it is emptied.
const KEPT_BYTES: usize = 64 << 10;

/// Bytes of a key that are kept beside its row's number.
const HEAD_BYTES: usize = 16;

/// A row in its place.
#[derive(Clone, Copy)]
pub(super) struct Member {
    /// The first bytes of the key as big-endian numbers, zeros behind its end.
    head: [u64; HEAD_BYTES / 8],
    row: u32,
    partition_bytes: u32,
}

impl Member {
    /// The row's number.
    pub(super) fn row(self) -> usize {
        self.row as usize
    }
}

/// The rows of a window's order.
#[derive(Default)]
pub(super) struct WindowOrder {
    keys: Vec<u8>,
    /// By row: where its key ends.
    ends: Vec<usize>,
    members: Vec<Member>,
}

impl WindowOrder {
    /// An order of no rows, with some of the memory of this one.
    pub(super) fn into_empty(mut self) -> WindowOrder {
        self.keys.clear();
        self.keys.shrink_to(KEPT_BYTES);
        self.ends.clear();
        self.ends.shrink_to(KEPT_BYTES / size_of::<usize>());
        self.members.clear();
        self.members.shrink_to(KEPT_BYTES / size_of::<Member>());
        self
    }

    /// Sorts the rows as a call wants them; memory is that of another order, which is given up.
    ///
    /// # Errors
    /// Those of the keys' expressions; 701 for more rows than there are numbers.
    pub(super) fn sort(self, call: &WindowCall, rows: &RowStore, context: &Context<'_>) -> Result<WindowOrder> {
        let mut order = self.in_order_of_coming(call, rows, context)?;
        let mut members = std::mem::take(&mut order.members);
        merge_sort::sort(&mut members, |left, right| order.compare(left, right))?;
        order.members = members;
        Ok(order)
    }

    /// The order of rows that come as a call wants them, in memory of another.
    ///
    /// # Errors
    /// As [`WindowOrder::sort`].
    pub(super) fn in_order_of_coming(
        self,
        call: &WindowCall,
        rows: &RowStore,
        context: &Context<'_>,
    ) -> Result<WindowOrder> {
        let mut order = self;
        order.keys.clear();
        order.ends.clear();
        order.members.clear();
        for number in 0..rows.len() {
            cancel::spend(1)?;
            let (row, start) = (rows.row(number), order.keys.len());
            for part in &call.partition {
                push_order_key(
                    &*evaluate(part, row, context)?,
                    KeyDirection::Ascending,
                    &mut order.keys,
                );
            }
            let partition_bytes = order.keys.len() - start;
            for (part, descending) in &call.order {
                push_order_key(&*evaluate(part, row, context)?, direction(*descending), &mut order.keys);
            }
            let (row, partition_bytes) = (u32::try_from(number), u32::try_from(partition_bytes));
            let (Ok(row), Ok(partition_bytes)) = (row, partition_bytes) else {
                return Err(Error::insufficient_memory());
            };
            order.ends.push(order.keys.len());
            order.members.push(Member {
                head: head_of(order.keys.get(start..).unwrap_or_default()),
                row,
                partition_bytes,
            });
        }
        Ok(order)
    }

    /// The number of the row at a place of the order; `None` behind the last one.
    pub(super) fn row_at(&self, place: usize) -> Option<usize> {
        self.members.get(place).map(|member| member.row())
    }

    fn key(&self, member: &Member) -> &[u8] {
        let row = member.row();
        let start = row.checked_sub(1).and_then(|before| self.ends.get(before));
        let end = self.ends.get(row).copied().unwrap_or_default();
        self.keys
            .get(start.copied().unwrap_or_default()..end)
            .unwrap_or_default()
    }

    fn compare(&self, left: &Member, right: &Member) -> Ordering {
        let rest = |member| self.key(member).get(HEAD_BYTES..).unwrap_or_default();
        left.head.cmp(&right.head).then_with(|| rest(left).cmp(rest(right)))
    }

    fn is_same_partition(&self, left: &Member, right: &Member) -> bool {
        let bytes = left.partition_bytes as usize;
        if bytes != right.partition_bytes as usize {
            return false;
        }
        if bytes > HEAD_BYTES {
            let partition = |member| self.key(member).get(..bytes);
            return partition(left) == partition(right);
        }
        let number = |[high, low]: [u64; 2]| u128::from(high) << 64 | u128::from(low);
        // Without PARTITION BY all rows are of one.
        let differing = number(left.head) ^ number(right.head);
        differing
            .checked_shr((8 * (HEAD_BYTES - bytes)) as u32)
            .unwrap_or_default()
            == 0
    }

    /// The rows of the partition that begins at a place of the order; none behind the last row.
    ///
    /// # Errors
    /// 3617 when the request is to stop.
    pub(super) fn partition_at(&self, start: usize) -> Result<&[Member]> {
        let rest = self.members.get(start..).unwrap_or_default();
        let Some(first) = rest.first() else { return Ok(rest) };
        let count = rest
            .iter()
            .take_while(|member| self.is_same_partition(first, member))
            .count();
        cancel::spend(count)?;
        Ok(rest.get(..count).unwrap_or_default())
    }

    /// For each row of a partition, the number of its peer group: rows equal in ORDER BY.
    pub(super) fn peer_groups(&self, members: &[Member]) -> Vec<usize> {
        let mut group = 0;
        let differ = |pair: &[Member]| match pair {
            [before, member] => self.compare(before, member).is_ne(),
            _ => false,
        };
        let later = members.windows(2).map(|pair| {
            group += usize::from(differ(pair));
            group
        });
        members.first().map(|_| 0).into_iter().chain(later).collect()
    }
}

fn head_of(key: &[u8]) -> [u64; HEAD_BYTES / 8] {
    let mut filled = [0; HEAD_BYTES];
    let count = key.len().min(HEAD_BYTES);
    filled[..count].copy_from_slice(&key[..count]);
    let number = u128::from_be_bytes(filled);
    [(number >> 64) as u64, number as u64]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An order of keys that are given, each with the length of its partition's part.
    fn order_of(keys: &[(&[u8], usize)]) -> WindowOrder {
        let mut order = WindowOrder::default();
        for (number, (key, partition_bytes)) in keys.iter().enumerate() {
            order.keys.extend_from_slice(key);
            order.ends.push(order.keys.len());
            order.members.push(Member {
                head: head_of(key),
                row: number as u32,
                partition_bytes: *partition_bytes as u32,
            });
        }
        order
    }

    #[test]
    fn partitions_and_peers_are_told_apart_by_short_and_by_long_keys() {
        let long = [7; 30];
        let longer = [&long[..], &[1]].concat();
        let other = [&long[..29], &[8, 1]].concat();
        for (keys, partitions, peers) in [
            (
                vec![(&[1, 1][..], 1), (&[1, 2], 1), (&[1, 2], 1), (&[2, 1], 1)],
                vec![3, 1],
                vec![0, 1, 1],
            ),
            (
                vec![(&long[..], 30), (&longer, 30), (&other, 30)],
                vec![2, 1],
                vec![0, 1],
            ),
            (
                vec![(&[1; 16][..], 16), (&[1; 17], 16), (&[2; 16], 16)],
                vec![2, 1],
                vec![0, 1],
            ),
            (vec![(&[][..], 0), (&[], 0)], vec![2], vec![0, 0]),
            (vec![(&[5][..], 0), (&[6], 0)], vec![2], vec![0, 1]),
        ] {
            let order = order_of(&keys);
            let (mut found, mut start) = (Vec::new(), 0);
            while start < keys.len() {
                let members = order.partition_at(start).unwrap_or_default();
                if start == 0 {
                    assert_eq!(order.peer_groups(members), peers);
                }
                found.push(members.len());
                start += members.len();
            }
            assert_eq!(found, partitions);
        }
    }
}
