//! The lock manager: grants, waits, and deadlock victims.
//!
//! ```text
//! LockOwner (a transaction) --lock(resource, mode)--> LockManager: 64 shards, each resource -> granted [..] waiting [..]
//! ```
//! Requests are granted first come, first served; a conversion (an owner strengthening its own lock) goes before newcomers. A request that
//! must wait searches for a cycle of waiters at once; the cheapest member of a cycle becomes the victim and gets error 1205. An owner
//! remembers its locks, so a repeated request never reaches the shared tables.
//!
//! Invariants:
//! - Two granted locks on one resource are compatible or belong to one owner.
//! - A waiting request waits for a granted lock or for a request ahead of it in the same queue.
//! - An owner waits for at most one resource at a time.
//! - A nested owner ([`LockOwner::beside`]) waits in place of its outer owner, which keeps its locks and does nothing in the meantime.
//! - Owners with range locks are counted ([`LockManager::has_ranges`]).
//! - Row locks on objects up to [`LAST_SYSTEM_OBJECT`] never escalate to an object lock.
//! - In a closed database (its log has failed) no more locks are granted; held locks stay.

mod application;
mod hasher;
mod held;
mod manager;
mod mode;
mod owner;
mod ranges;
mod write_lock;

pub use application::{Account, ApplicationName, ApplicationRow};
pub use manager::{LockManager, LockRow};
pub use mode::Mode;
pub use owner::{ESCALATION_THRESHOLD, LockOwner, RowTaken};
pub use write_lock::WriteLock;

/// The highest id of an object that is the system's own, as the catalog is; as in SQL Server, whose system tables have ids below 100.
pub const LAST_SYSTEM_OBJECT: u32 = 99;

/// What can be locked. Ordered from the whole to the part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Resource {
    /// A database; every session that uses it holds S.
    Database(u16),
    /// A table or other object, by its id.
    Object(u16, u32),
    /// A name about to be created or looked up, by the hash of its folded text.
    Name(u16, u64),
    /// A row: of a heap by page and slot, of a tree by the hash of its key.
    Row(u16, u32, u64),
    /// A name that applications have agreed on, by its hash.
    Application(u16, u64),
}

impl Resource {
    /// The resource of a tree row: two keys with one hash lock each other out, which is safe and rare.
    pub fn tree_row(database: u16, object: u32, key: &[u8]) -> Resource {
        Resource::Row(database, object, hash_bytes(key))
    }

    /// The resource of the end of a tree: the gap behind its last key.
    pub fn tree_end(database: u16, object: u32) -> Resource {
        Resource::Row(database, object, u64::MAX)
    }

    /// The resource of a name, which must be folded to one case already.
    pub fn name(database: u16, folded_name: &str) -> Resource {
        Resource::Name(database, hash_bytes(folded_name.as_bytes()))
    }

    /// The database it is, or is in.
    pub fn database(&self) -> u16 {
        match *self {
            Resource::Database(database)
            | Resource::Object(database, _)
            | Resource::Name(database, _)
            | Resource::Application(database, _)
            | Resource::Row(database, ..) => database,
        }
    }

    /// The name in `sys.dm_tran_locks.resource_type`.
    pub fn type_name(&self) -> &'static str {
        match self {
            Resource::Database(_) => "DATABASE",
            Resource::Object(..) => "OBJECT",
            Resource::Name(..) => "METADATA",
            Resource::Row(..) => "RID",
            Resource::Application(..) => "APPLICATION",
        }
    }
}

/// FNV-1a, 64 bits: stable across runs, so that histories replay.
fn hash_bytes(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
