//! A row as it lies in a page.
//!
//! ```text
//! 0        1        2           4              fixed end                                       ends array        data
//! +--------+--------+-----------+--------------+---------+-------------+------------+----------+---+---+---------+---------+
//! | status | status | fixed end | values of    | columns | null bitmap | variable   | end of the first, of the    | values  |
//! | A u8   | B u8   | u16       | fixed length | u16     | 1 bit each  | values u16 | second ... u16 each         | of them |
//! +--------+--------+-----------+--------------+---------+-------------+------------+-----------------------------+---------+
//! ```
//!
//! Status A: bits 1 to 3 are the kind, 0x10 there is a null bitmap, 0x20 there are variable values, 0x40 a version tag of 14 bytes follows
//! the data. An end with its top bit set belongs to a *complex* value: a pointer to where the value is, a sparse vector, or the way back
//! from a forwarded row. (Delaney and others, "SQL Server 2008 Internals", chapter 5; Randal, "Inside the Storage Engine: Anatomy of a
//! record".)
//!
//! - Trailing variable values that are NULL or empty are left out.
//! - A row of a table that had nothing but sparse columns has neither the number of columns nor a null bitmap: what follows its fixed part is the
//!   number of variable values. Columns that are not sparse and were added later are missing in it. (Rasmussen, "The null bitmap is not always
//!   present in data records", 2011.)
//! - A column that was added later is missing in older rows: their number of columns says so.
//! - A stub in a heap leads to the row that moved, and the row at the other end is of the kind `Forwarded`. A scan of all pages meets both,
//!   so it takes the one and skips the other.
//! - A ghost is a deleted row that was not yet removed.

pub mod compressed;
pub mod lob;
pub mod scsu;

use crate::bytes::u16_at;

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// A row.
    Primary,
    /// A row that a stub elsewhere leads to.
    Forwarded,
    /// Leads to a row that moved to another page.
    Stub,
    /// An entry of an index.
    Index,
    /// A piece of a large value.
    Blob,
    /// A deleted entry of an index.
    GhostIndex,
    /// A deleted row.
    GhostData,
    /// A version of a row that only its tag is left of.
    GhostVersion,
}

const KINDS: [RecordKind; 8] = [
    RecordKind::Primary,
    RecordKind::Forwarded,
    RecordKind::Stub,
    RecordKind::Index,
    RecordKind::Blob,
    RecordKind::GhostIndex,
    RecordKind::GhostData,
    RecordKind::GhostVersion,
];

impl RecordKind {
    /// The kind in a status byte A.
    pub fn of_status(status: u8) -> RecordKind {
        KINDS[usize::from(status >> 1 & 7)]
    }

    /// A row that a reader of the table sees.
    pub fn is_row(self) -> bool {
        matches!(self, RecordKind::Primary | RecordKind::Forwarded)
    }
}

const HAS_NULL_BITMAP: u8 = 0x10;
const HAS_VARIABLE: u8 = 0x20;
const COMPLEX: u16 = 0x8000;

/// A value of variable length, or what stands for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable<'p> {
    pub bytes: &'p [u8],
    /// The bytes are a pointer, or a structure of their own.
    pub is_complex: bool,
}

/// A record taken apart. It borrows from its page.
#[derive(Clone, Copy, Debug)]
pub struct Record<'p> {
    bytes: &'p [u8],
    fixed_end: usize,
    column_count: u16,
    nulls: Option<&'p [u8]>,
    ends: &'p [u8],
    data_start: usize,
}

impl<'p> Record<'p> {
    /// Takes apart the record at the beginning of `bytes`, which may go on behind it.
    ///
    /// # Errors
    /// A clause that says which part leads out of `bytes`.
    pub fn parse(bytes: &'p [u8]) -> Result<Record<'p>, String> {
        let status = *bytes.first().ok_or("it is empty")?;
        let fixed_end = usize::from(u16_at(bytes, 2).ok_or("it has no room for its header")?);
        if fixed_end < 4 {
            return Err(format!("its fixed part ends at byte {fixed_end}"));
        }
        let mut at = fixed_end;
        let (mut column_count, mut nulls) = (0, None);
        if bytes.len() < at {
            return Err("its fixed part leads out of the page".to_owned());
        }
        if status & HAS_NULL_BITMAP != 0 {
            column_count = u16_at(bytes, at).ok_or("its fixed part leads out of the page")?;
            at += 2;
            let bitmap_bytes = usize::from(column_count).div_ceil(8);
            nulls = Some(
                bytes
                    .get(at..at + bitmap_bytes)
                    .ok_or("its null bitmap leads out of the page")?,
            );
            at += bitmap_bytes;
        }
        let mut ends: &[u8] = &[];
        if status & HAS_VARIABLE != 0 {
            let count = usize::from(u16_at(bytes, at).ok_or("its variable part leads out of the page")?);
            ends = bytes
                .get(at + 2..at + 2 + 2 * count)
                .ok_or("the ends of its variable values lead out of the page")?;
            at += 2 + 2 * count;
        }
        let record = Record {
            bytes,
            fixed_end,
            column_count,
            nulls,
            ends,
            data_start: at,
        };
        match RecordKind::of_status(status) {
            RecordKind::Forwarded => Ok(record.without_way_back()),
            _ => Ok(record),
        }
    }

    /// The last variable value of a forwarded row leads back to its stub.
    fn without_way_back(mut self) -> Record<'p> {
        if self.ends.len() >= 2 && u16_at(self.ends, self.ends.len() - 2).is_some_and(|end| end & COMPLEX != 0) {
            self.ends = &self.ends[..self.ends.len() - 2];
        }
        self
    }

    /// How many columns that are not sparse the table had when the row was written.
    pub fn column_count(&self) -> u16 {
        self.column_count
    }

    /// The column with this number in the null bitmap, counted from 1, is NULL. `None` if the row is older than the column.
    pub fn is_null(&self, null_bit: u16) -> Option<bool> {
        if null_bit == 0 {
            return Some(false);
        }
        if null_bit > self.column_count {
            return None;
        }
        let bit = usize::from(null_bit - 1);
        self.nulls?.get(bit / 8).map(|byte| byte >> (bit % 8) & 1 == 1)
    }

    /// `length` bytes of the fixed part.
    pub fn fixed(&self, offset: usize, length: usize) -> Option<&'p [u8]> {
        let end = offset.checked_add(length)?;
        if offset < 4 || end > self.fixed_end {
            return None;
        }
        self.bytes.get(offset..end)
    }

    /// The last variable value; `None` if the row has none.
    ///
    /// # Errors
    /// As [`Record::variable`].
    pub fn last_variable(&self) -> Result<Option<Variable<'p>>, String> {
        match (self.ends.len() / 2).checked_sub(1) {
            Some(last) => self.variable(last),
            None => Ok(None),
        }
    }

    /// The variable value `number`, counted from 0; `None` if the row has fewer.
    ///
    /// # Errors
    /// A clause: its ends lead out of the page, or backward.
    pub fn variable(&self, number: usize) -> Result<Option<Variable<'p>>, String> {
        let Some(end) = u16_at(self.ends, 2 * number) else {
            return Ok(None);
        };
        let start = match number {
            0 => self.data_start,
            _ => usize::from(u16_at(self.ends, 2 * (number - 1)).unwrap_or(0) & !COMPLEX),
        };
        let stop = usize::from(end & !COMPLEX);
        if start < self.data_start {
            return Err(format!("its variable value {number} begins within its header"));
        }
        let bytes = self
            .bytes
            .get(start..stop)
            .ok_or_else(|| format!("its variable value {number} lies at bytes {start} to {stop}"))?;
        Ok(Some(Variable {
            bytes,
            is_complex: end & COMPLEX != 0,
        }))
    }
}

/// Bytes of the record that `bytes` begin with; `None` for one in the format of compressed rows, which does not say.
pub fn record_bytes(bytes: &[u8]) -> Option<usize> {
    const COMPRESSED: u8 = 0x01;
    const HAS_VERSION_TAG: u8 = 0x40;
    const VERSION_TAG_BYTES: usize = 14;
    const STUB_BYTES: usize = 9;
    let status = *bytes.first()?;
    if status & COMPRESSED != 0 {
        return None;
    }
    let without_tag = match RecordKind::of_status(status) {
        RecordKind::Stub => STUB_BYTES,
        // Its fixed part is all of it.
        RecordKind::Blob => usize::from(u16_at(bytes, 2)?),
        RecordKind::Index | RecordKind::GhostIndex => return None,
        _ => {
            let record = Record::parse(bytes).ok()?;
            // The end of the last value, or of the way back of a forwarded row, is what the data follow.
            let last = match status & HAS_VARIABLE {
                0 => 0,
                _ => usize::from(u16_at(bytes, record.data_start - 2)? & !COMPLEX),
            };
            last.max(record.data_start)
        }
    };
    let tag = if status & HAS_VERSION_TAG != 0 {
        VERSION_TAG_BYTES
    } else {
        0
    };
    Some(without_tag + tag)
}

/// The value of column `column_id` in a sparse vector; `None` if it has none, which is NULL.
///
/// ```text
/// 0       2       4                      4 + 2n                     4 + 4n
/// +-------+-------+----------------------+--------------------------+------+
/// | 5 u16 | n u16 | n column ids u16     | n ends u16 in the vector | data |
/// +-------+-------+----------------------+--------------------------+------+
/// ```
///
/// Source: Rasmussen, "Sparse column storage: the sparse vector" (2011).
///
/// # Errors
/// A clause: it does not begin as a sparse vector does, or leads out of its bytes.
pub fn sparse_value(vector: &[u8], column_id: u16) -> Result<Option<&[u8]>, String> {
    if u16_at(vector, 0) != Some(5) {
        return Err("its sparse vector does not begin with 5".to_owned());
    }
    let count = usize::from(u16_at(vector, 2).ok_or("its sparse vector is too short")?);
    let Some(at) = (0..count).find(|at| u16_at(vector, 4 + 2 * at) == Some(column_id)) else {
        return Ok(None);
    };
    let end_of = |at: usize| u16_at(vector, 4 + 2 * count + 2 * at).map(usize::from);
    let start = match at {
        0 => Some(4 + 4 * count),
        _ => end_of(at - 1),
    };
    let value = start.zip(end_of(at)).and_then(|(start, end)| vector.get(start..end));
    value
        .map(Some)
        .ok_or_else(|| format!("column {column_id} leads out of its sparse vector"))
}
