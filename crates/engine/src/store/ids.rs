//! Ids of allocation units and of objects: no database assigns one twice.
//!
//! ```text
//!   assigned             promised             not promised yet
//!   |--------------------|--------------------|------------------------->   numbers
//!                        next (in memory)     counters (boot record, log)
//!
//! payload of an IdRange record, little-endian:   u32 unit | u32 object | u64 row version
//! the last is omitted if it has not changed; the boot record has the first two at 168 and the third at 192
//! ```
//! Pages carry the id of their allocation unit and keep it when their extent is freed. So reusing an id would make pages of a dropped table
//! part of a new one. Ids are therefore reserved in ranges (*promised*), outside any transaction: a rollback does not return them. A range
//! is logged and then durably written to the boot record before its first id is used. When a database opens, assignment continues after the
//! promised range. Restored log keeps the promises it made at its source.
//!
//! Values of `rowversion` columns are assigned the same way, and never twice, whatever happens to the rows. They are numerous, and skipping
//! some costs nothing, so they are reserved in larger ranges.
//!
//! Constraints are objects (`sys.objects` lists them), so their ids come from the objects' range.
//!
//! Invariant: every id on a page, in the catalog or in the log of a database is below its counters, unless the database must still be
//! upgraded from format 2, whose ids were not promised.

/// Ids promised at a time.
pub const IDS_PER_RANGE: u32 = 1_000;

/// Row versions promised at a time, at least: a promise is a durable write.
pub const ROW_VERSIONS_PER_RANGE: u64 = 10_000;

/// The next ids that nobody has promised yet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IdCounters {
    /// Of allocation units: the `object` field of pages.
    pub unit: u32,
    /// Of objects: tables, views, constraints, and every other row of the catalog.
    pub object: u32,
    /// Of row versions. 0 in databases of before there were any, whose promises begin with [`IdCounters::FIRST`].
    pub row_version: u64,
}

impl IdCounters {
    /// Of a new database. Units below are the catalog's; 245,575,913 is the first object id of user objects in recent versions of
    /// SQL Server. The last row version that nobody got is 2,000 there, too (`@@DBTS` of a new database is 0x7D0).
    pub const FIRST: IdCounters = IdCounters {
        unit: 1_000,
        object: 245_575_913,
        row_version: 2_001,
    };
    /// Bytes of the encoded form.
    pub const BYTES: usize = 16;
    /// Bytes of it without the row versions.
    pub const ID_BYTES: usize = 8;

    /// The counters that are past whatever either has promised.
    pub fn max(self, other: IdCounters) -> IdCounters {
        IdCounters {
            unit: self.unit.max(other.unit),
            object: self.object.max(other.object),
            row_version: self.row_version.max(other.row_version),
        }
    }

    pub fn to_bytes(self) -> [u8; IdCounters::BYTES] {
        let mut bytes = [0; IdCounters::BYTES];
        bytes[..4].copy_from_slice(&self.unit.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.object.to_le_bytes());
        bytes[8..].copy_from_slice(&self.row_version.to_le_bytes());
        bytes
    }

    /// Reads [`IdCounters::to_bytes`], without the row versions if they are not there; `None` when there are too few bytes. What follows
    /// them is not looked at.
    pub fn from_bytes(bytes: &[u8]) -> Option<IdCounters> {
        let ([a, b, c, d, e, f, g, h], rest) = bytes.split_first_chunk()?;
        Some(IdCounters {
            unit: u32::from_le_bytes([*a, *b, *c, *d]),
            object: u32::from_le_bytes([*e, *f, *g, *h]),
            row_version: rest.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)),
        })
    }
}
