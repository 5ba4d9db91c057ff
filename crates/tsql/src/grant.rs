//! Memory limits of a query: every operator that buffers rows has a [`Grant`] and charges each row to it.
//!
//! ```text
//! operator --charges--> its grant --1 MB at a time--> the query's account --> the instance's workspace
//! ```
//! Long strings and parse trees are charged separately, by the code that creates them ([`engine::memory`]), to the same workspace. The
//! first 256 KB of every operator are free, so that small statements touch nothing shared. An operator that can spill to a file asks with
//! [`Grant::has_room`], which keeps the query within its share. An operator that cannot spill asks with [`Grant::require`], which fails
//! with 701 when the whole workspace is used up.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use engine::error::{Error, Result};
use engine::memory::{Charge, FREE_BYTES, STEP_BYTES};
use engine::types::Value;
use engine::workspace::{SpillFile, SpillKind, Spilling, Workspace};

/// An operator may have one part in so many of the query's share even when others have used it up.
const OPERATOR_SHARE_DIVISOR: u64 = 8;
/// A map's own bytes per entry, beside key and value: control byte, load factor, the vector of the key.
const ENTRY_BYTES: u64 = 48;

/// The memory that the operators of one query have taken together.
#[derive(Debug, Default)]
pub struct Account {
    bytes: Cell<u64>,
}

/// The memory of one operator. Gives everything back when dropped.
pub struct Grant {
    workspace: Arc<Workspace>,
    account: Rc<Account>,
    used: u64,
    taken: u64,
}

impl Grant {
    /// A grant of a query, whose operators share the account.
    pub(crate) fn new(workspace: Arc<Workspace>, account: Rc<Account>) -> Grant {
        Grant {
            workspace,
            account,
            used: 0,
            taken: 0,
        }
    }

    /// A grant of a workspace, for what outlives a query or belongs to none.
    pub(crate) fn of(workspace: &Arc<Workspace>) -> Grant {
        Grant::new(workspace.clone(), Rc::default())
    }

    /// A file for what has no room any more; `level` says how often the rows will have gone to one: 1 the first time.
    ///
    /// # Errors
    /// 1105 for tempdb when the disk is full, 823 for other failures.
    pub(crate) fn spill_file(&self, kind: SpillKind, level: u32) -> Result<SpillFile> {
        self.workspace.spill_file(Spilling {
            kind,
            level,
            granted_bytes: self.taken + FREE_BYTES,
            used_bytes: self.used,
        })
    }

    /// Bytes charged.
    pub(crate) fn used(&self) -> u64 {
        self.used
    }

    /// Charges bytes; false, and nothing charged, when they are beyond the query's share: time to spill.
    pub(crate) fn has_room(&mut self, bytes: u64) -> bool {
        self.charge(bytes, Some(self.workspace.query_limit_bytes()))
    }

    /// Charges bytes that there is no way to do without.
    ///
    /// # Errors
    /// 701 when the workspace is used up.
    pub(crate) fn require(&mut self, bytes: u64) -> Result<()> {
        if self.charge(bytes, None) {
            Ok(())
        } else {
            Err(Error::insufficient_memory())
        }
    }

    fn charge(&mut self, bytes: u64, query_limit: Option<u64>) -> bool {
        let wanted = self.used.saturating_add(bytes);
        if wanted > self.taken + FREE_BYTES {
            let more = (wanted - self.taken - FREE_BYTES).next_multiple_of(STEP_BYTES);
            let is_taken = match query_limit {
                None => self.workspace.take(more),
                Some(limit) => {
                    let is_in_share = self.account.bytes.get().saturating_add(more) <= limit;
                    let is_in_minimum = self.taken + more <= limit / OPERATOR_SHARE_DIVISOR;
                    (is_in_share || is_in_minimum) && self.workspace.take_to_spill_later(more)
                }
            };
            if !is_taken {
                return false;
            }
            self.taken += more;
            self.account.bytes.set(self.account.bytes.get() + more);
        }
        self.used = wanted;
        true
    }

    pub(crate) fn clear(&mut self) {
        if self.taken > 0 {
            self.workspace.give_back(self.taken);
            self.account
                .bytes
                .set(self.account.bytes.get().saturating_sub(self.taken));
        }
        (self.used, self.taken) = (0, 0);
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        self.clear();
    }
}

impl fmt::Debug for Grant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} bytes", self.used)
    }
}

/// Rows kept because there is no way to do without them.
#[derive(Debug, Default)]
pub(crate) struct KeptRows {
    pub(crate) rows: Vec<Vec<Value>>,
    grant: Option<Grant>,
}

impl KeptRows {
    /// Keeps one more.
    ///
    /// # Errors
    /// 701 when the workspace is used up.
    pub(crate) fn push(&mut self, row: Vec<Value>, workspace: &Arc<Workspace>) -> Result<()> {
        let grant = self.grant.get_or_insert_with(|| Grant::of(workspace));
        grant.require(kept_bytes(&row))?;
        self.rows.push(row);
        Ok(())
    }
}

impl KeptRows {
    /// Their share of every operator's free memory. An operator that keeps many of them charges it with a [`Tally`].
    pub(crate) fn free_bytes(&self) -> u64 {
        self.grant.as_ref().map_or(0, |grant| grant.used().min(FREE_BYTES))
    }
}

/// What a session keeps in many pieces for as long as it likes, charged together: each of them may be too small to be charged by itself.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    bytes: Cell<u64>,
    charge: RefCell<Charge>,
}

/// One piece of a [`Tally`]; is taken off when dropped.
#[derive(Debug)]
pub(crate) struct Share {
    of: Rc<Tally>,
    bytes: u64,
}

impl Tally {
    /// Charges one more piece.
    ///
    /// # Errors
    /// 701 when there is no memory for it.
    pub(crate) fn share(self: &Rc<Self>, bytes: u64) -> Result<Share> {
        let wanted = self.bytes.get().saturating_add(bytes);
        self.charge.borrow_mut().grow_to(wanted)?;
        self.bytes.set(wanted);
        Ok(Share {
            of: self.clone(),
            bytes,
        })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let left = self.of.bytes.get().saturating_sub(self.bytes);
        self.of.bytes.set(left);
        self.of.charge.borrow_mut().shrink_to(left);
    }
}

/// About what a row takes in memory.
pub(crate) fn row_bytes(row: &[Value]) -> u64 {
    stored_bytes(row) + ENTRY_BYTES
}

/// About what a row takes in memory that many rows share.
pub(crate) fn stored_bytes(row: &[Value]) -> u64 {
    let beside = |value: &Value| match value {
        Value::Text(text) => text.len() as u64 + ENTRY_BYTES,
        Value::Binary(bytes) => bytes.len() as u64 + ENTRY_BYTES,
        _ => 0,
    };
    size_of_val(row) as u64 + row.iter().map(beside).sum::<u64>()
}

/// About what a row takes in memory beside its long strings, which carry their own charges: for rows that nothing spills.
pub(crate) fn kept_bytes(row: &[Value]) -> u64 {
    let charged = |value: &Value| match value {
        Value::Text(text) if text.is_charged() => text.len() as u64,
        Value::Binary(bytes) if bytes.is_charged() => bytes.len() as u64,
        _ => 0,
    };
    row_bytes(row) - row.iter().map(charged).sum::<u64>()
}
