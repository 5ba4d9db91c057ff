//! Ids of allocation units and of objects: no database gives one out twice.
//!
//! ```text
//!   given out            promised             nobody has promised these
//!   |--------------------|--------------------|------------------------->   numbers
//!                        next (in memory)     counters (boot record, log)
//!
//! payload of an IdRange record, and bytes 168 to 176 of the boot record:   u32 unit | u32 object     little-endian
//! ```
//! Pages carry the id of their allocation unit and keep it when their extent is freed. So an id that came again would make pages
//! of a dropped table part of a new one. Ids are therefore promised in ranges, outside any transaction: a rollback does not give
//! them back. A range is logged and then written to the boot record, durably, before its first id is used. An opening goes on
//! where the promised range ends. Log that is restored promises what it promised where it was written.
//!
//! Constraints are objects (`sys.objects` lists them), so their ids come from the objects' range.
//!
//! Invariant: every id on a page, in the catalog or in the log of a database is below its counters, unless the database has
//! still to be upgraded from format 2, whose ids were not promised.

/// Ids promised at a time.
pub const IDS_PER_RANGE: u32 = 1_000;

/// The next ids that nobody has promised yet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IdCounters {
    /// Of allocation units: the `object` field of pages.
    pub unit: u32,
    /// Of objects: tables, views, constraints, and every other row of the catalog.
    pub object: u32,
}

impl IdCounters {
    /// Of a new database. Units below are the catalog's; 245,575,913 is the first object id of user objects in recent versions of
    /// SQL Server.
    pub const FIRST: IdCounters = IdCounters {
        unit: 1_000,
        object: 245_575_913,
    };
    /// Bytes of the encoded form.
    pub const BYTES: usize = 8;

    /// The counters that are past whatever either has promised.
    pub fn max(self, other: IdCounters) -> IdCounters {
        IdCounters {
            unit: self.unit.max(other.unit),
            object: self.object.max(other.object),
        }
    }

    pub fn to_bytes(self) -> [u8; IdCounters::BYTES] {
        let [a, b, c, d] = self.unit.to_le_bytes();
        let [e, f, g, h] = self.object.to_le_bytes();
        [a, b, c, d, e, f, g, h]
    }

    /// Reads [`IdCounters::to_bytes`]; `None` when there are too few bytes. What follows them is not looked at.
    pub fn from_bytes(bytes: &[u8]) -> Option<IdCounters> {
        let [a, b, c, d, e, f, g, h] = *bytes.first_chunk()?;
        Some(IdCounters {
            unit: u32::from_le_bytes([a, b, c, d]),
            object: u32::from_le_bytes([e, f, g, h]),
        })
    }
}
