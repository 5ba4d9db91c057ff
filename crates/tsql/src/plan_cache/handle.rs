//! Handles of plans and texts, as shown by `sys.dm_exec_cached_plans` and related views.
//!
//! They look like SQL Server's: `varbinary` of 44 bytes that begins with the kind (2 a text, 3 a module, 5 a plan of a module, 6 a plan of
//! a text) and the database. The rest is opaque there as well (sql-docs, "sys.dm_exec_sql_text", "sys.dm_exec_cached_plans").

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// Bytes of either handle.
const HANDLE_BYTES: usize = 44;
/// Where the number of the entry stands in a plan's handle.
const NUMBER_AT: usize = 20;

/// Stands for a text: the same for the same text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SqlHandle(pub(crate) [u8; HANDLE_BYTES]);

/// Stands for an entry of the cache, and for no other one later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PlanHandle(pub(crate) [u8; HANDLE_BYTES]);

/// What a handle's first byte says.
fn filled(first: u8, database: u16, parts: [u64; 4]) -> [u8; HANDLE_BYTES] {
    let mut handle = [0; HANDLE_BYTES];
    handle[0] = first;
    handle[2..4].copy_from_slice(&database.to_le_bytes());
    for (place, part) in parts.iter().enumerate() {
        let at = 4 + place * 8;
        handle[at..at + 8].copy_from_slice(&part.to_le_bytes());
    }
    handle
}

/// 64 bits of a text; `salt` gives others of the same one.
fn hash_of(text: &str, salt: u64) -> u64 {
    let mut hasher = DefaultHasher::new();
    (salt, text).hash(&mut hasher);
    hasher.finish()
}

impl SqlHandle {
    /// That of a text; an object's text is its own, whatever it says.
    pub(super) fn new(object: Option<u32>, database: u16, text: &str) -> SqlHandle {
        let (first, second) = (hash_of(text, 1), hash_of(text, 2));
        SqlHandle(match object {
            Some(object) => filled(3, database, [u64::from(object), first, second, 0]),
            None => filled(2, 0, [0, first, second, 0]),
        })
    }
}

impl PlanHandle {
    pub(super) fn new(object: Option<u32>, database: u16, text: &str, number: u64) -> PlanHandle {
        let first = if object.is_some() { 5 } else { 6 };
        let object = object.map_or(0, u64::from);
        PlanHandle(filled(first, database, [object, hash_of(text, 3), 0, 0])).numbered(number)
    }

    /// That of another entry of the same text: the text is not read again.
    pub(super) fn numbered(mut self, number: u64) -> PlanHandle {
        self.0[NUMBER_AT..NUMBER_AT + 8].copy_from_slice(&number.to_le_bytes());
        self
    }
}
