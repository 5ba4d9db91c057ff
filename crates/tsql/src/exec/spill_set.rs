//! A set of rows already seen, which may outgrow its memory: rows in memory are answered at once. A row that may be new but does not fit is
//! spilled, and answered at the end of the input.

use engine::error::Result;
use engine::types::Value;

use super::key_table::{KeyTable, key_bytes};
use super::partitions::{LEVELS_MAX, PartitionRows, Partitions, hash_of};
use crate::context::Context;
use crate::grant::Grant;
use crate::scalar::compare::push_group_key;

/// Rows seen, distinguished by their first columns.
pub(super) struct SpillSet {
    columns: usize,
    grant: Option<Grant>,
    seen: KeyTable,
    /// The key of the row at hand.
    key: Vec<u8>,
    level: u32,
    aside: Option<Partitions>,
    pending: Vec<PartitionRows>,
}

impl SpillSet {
    pub(super) fn new(columns: usize) -> SpillSet {
        SpillSet {
            columns,
            grant: None,
            seen: KeyTable::default(),
            key: Vec::new(),
            level: 0,
            aside: None,
            pending: Vec::new(),
        }
    }

    /// True when the row is the first of its kind for certain; false when it was seen, or is put aside.
    ///
    /// # Errors
    /// Those of spilling; 701 when further partitioning does not separate the rows.
    pub(super) fn insert(&mut self, row: &[Value], context: &Context<'_>) -> Result<bool> {
        let key = &mut self.key;
        key.clear();
        push_group_key(row.get(..self.columns).unwrap_or_default(), key);
        if self.seen.find(key).is_some() {
            return Ok(false);
        }
        let grant = self.grant.get_or_insert_with(|| context.grant());
        // Once something was put aside, a row not in memory may lie there: it goes the same way.
        if self.aside.is_none() && grant.has_room(key_bytes(key)) {
            self.seen.add(key)?;
            return Ok(true);
        }
        if self.level >= LEVELS_MAX {
            grant.require(key_bytes(key))?;
            self.seen.add(key)?;
            return Ok(true);
        }
        let aside = match &mut self.aside {
            Some(aside) => aside,
            None => self.aside.insert(Partitions::new(grant, self.level)?),
        };
        aside.push(hash_of(key), row)?;
        Ok(false)
    }

    /// After the input's end: the next row of those put aside that is the first of its kind.
    ///
    /// # Errors
    /// As [`SpillSet::insert`].
    pub(super) fn next_put_aside(&mut self, row: &mut [Value], context: &Context<'_>) -> Result<bool> {
        loop {
            if let Some(aside) = self.pending.last_mut() {
                if aside.next(row)? {
                    if self.insert(row, context)? {
                        return Ok(true);
                    }
                    continue;
                }
                self.pending.pop();
            }
            // What was put aside of a partition comes before the next one.
            if let Some(aside) = self.aside.take() {
                self.pending
                    .extend(aside.finish()?.into_iter().filter(|rows| !rows.is_empty()));
            }
            self.seen = KeyTable::default();
            if let Some(grant) = &mut self.grant {
                grant.clear();
            }
            match self.pending.last() {
                Some(next) => self.level = next.level,
                None => return Ok(false),
            }
        }
    }
}
