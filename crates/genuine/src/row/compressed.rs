//! A row of a table with row or page compression: the CD format ("column descriptors").
//!
//! ```text
//! 0        1            2 or 3
//! +--------+------------+----------------+----------------------------+----------------------------------------------------+
//! | header | columns    | descriptors,   | short data                 | long data, if header & 0x20                        |
//! | u8     | u8, or u16 | 4 bits each,   | lengths of clusters u8     | flags u8, n u16, n ends u16 (0x8000 complex),      |
//! |        | big-endian | low half first | (columns - 1) / 30 of them | counts of clusters u8, values                      |
//! |        | if >= 0x80 |                | values of up to 8 bytes    |                                                    |
//! +--------+------------+----------------+----------------------------+----------------------------------------------------+
//! ```
//!
//! Header: 0x01 always set, 0x02 a version tag follows, bits 2 to 4 the kind, 0x20 there is long data. A descriptor: 0 NULL, 1 nothing
//! (zero, empty), 2 to 9 that number less one of bytes of short data, 10 long data, 11 a bit that is 1, 12 an entry of the page's
//! dictionary. (Delaney and others, "SQL Server 2008 Internals", chapter 5, "CD format".)
//!
//! A page with page compression has at byte 96, before its first record:
//!
//! ```text
//! 0       1             3                   5 (3)            7 (5)                 dictionary
//! +-------+-------------+-------------------+----------------+---------------------+--------------------------------+
//! | flags | changes u16 | dictionary at u16 | size of all u16| anchor: a CD record | n u16, n ends u16, n values    |
//! | u8    |             | if flags & 4      |                |                     |                                |
//! +-------+-------------+-------------------+----------------+---------------------+--------------------------------+
//! ```
//!
//! Flags: 2 there is an anchor, 4 there is a dictionary, 1 never (it is a record then). The anchor has for each column a value, from which
//! the rows' values take their first bytes: a row's value is the number of these bytes, and then the rest; a value of nothing is the whole
//! value of the anchor. Columns without a value in the anchor are whole in the rows. Numbers from 128 on take two bytes, the first of them
//! 0x80 (inferred, from public notes on pages of SQL Server 2017 to 2022).

use super::Variable;
use crate::bytes::u16_at;

const HAS_LONG_DATA: u8 = 0x20;
const CLUSTER_COLUMNS: usize = 30;
const COMPLEX: u16 = 0x8000;

/// What a descriptor says of its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored<'p> {
    Null,
    /// Zero, empty, or the anchor's value.
    Nothing,
    /// A bit that is 1.
    True,
    /// A value, or a pointer to it.
    Bytes(Variable<'p>),
    /// An entry of the dictionary.
    Symbol(usize),
}

/// What kind of record the header of a compressed one says it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompressedKind {
    Row,
    /// A ghost, a stub, or an entry of an index.
    Other,
}

/// A compressed record taken apart: what each column stores.
#[derive(Clone, Debug)]
pub struct CompressedRecord<'p> {
    pub kind: CompressedKind,
    pub columns: Vec<Stored<'p>>,
}

impl<'p> CompressedRecord<'p> {
    /// Takes apart the record at the beginning of `bytes`, which may go on behind it.
    ///
    /// # Errors
    /// A clause that says which part leads out of `bytes`.
    pub fn parse(bytes: &'p [u8]) -> Result<CompressedRecord<'p>, String> {
        let header = *bytes.first().ok_or("it is empty")?;
        if header & 1 == 0 {
            return Err("it is not compressed, in a compressed table".to_owned());
        }
        let first = *bytes.get(1).ok_or("it has no room for its number of columns")?;
        let (count, mut at) = match first & 0x80 {
            0 => (usize::from(first), 2),
            _ => {
                let second = *bytes.get(2).ok_or("it has no room for its number of columns")?;
                (usize::from(first & 0x7F) << 8 | usize::from(second), 3)
            }
        };
        let descriptors = bytes
            .get(at..at + count.div_ceil(2))
            .ok_or("its column descriptors lead out of the page")?;
        at += descriptors.len();
        let clusters = count.saturating_sub(1) / CLUSTER_COLUMNS;
        let mut short = bytes
            .get(at + clusters..)
            .ok_or("its short data leads out of the page")?;
        let mut columns = Vec::with_capacity(count);
        let mut long_columns = Vec::new();
        for column in 0..count {
            let stored = match descriptors[column / 2] >> (4 * (column % 2)) & 0xF {
                0 => Stored::Null,
                1 => Stored::Nothing,
                length @ 2..=9 => Stored::Bytes(plain(take(&mut short, usize::from(length - 1))?)),
                10 => {
                    long_columns.push(column);
                    Stored::Nothing
                }
                11 => Stored::True,
                12 => Stored::Symbol(usize::from(take(&mut short, 1)?[0])),
                other => return Err(format!("column {} has the descriptor {other}", column + 1)),
            };
            columns.push(stored);
        }
        if header & HAS_LONG_DATA != 0 {
            read_long(short, clusters, &long_columns, &mut columns)?;
        } else if !long_columns.is_empty() {
            return Err("a column has long data, and the record has none".to_owned());
        }
        // Kinds 0 and 4 are a row and a forwarded row.
        let kind = match header >> 2 & 7 {
            0 | 4 => CompressedKind::Row,
            _ => CompressedKind::Other,
        };
        Ok(CompressedRecord { kind, columns })
    }
}

fn plain(bytes: &[u8]) -> Variable<'_> {
    Variable {
        bytes,
        is_complex: false,
    }
}

fn take<'p>(bytes: &mut &'p [u8], length: usize) -> Result<&'p [u8], String> {
    let (taken, rest) = bytes
        .split_at_checked(length)
        .ok_or("its short data leads out of the page")?;
    *bytes = rest;
    Ok(taken)
}

fn read_long<'p>(
    long: &'p [u8],
    clusters: usize,
    long_columns: &[usize],
    columns: &mut [Stored<'p>],
) -> Result<(), String> {
    let count = usize::from(u16_at(long, 1).ok_or("its long data leads out of the page")?);
    let data = long
        .get(3 + 2 * count + clusters..)
        .ok_or("the ends of its long data lead out of the page")?;
    let mut start = 0;
    for (number, column) in long_columns.iter().enumerate() {
        if number >= count {
            return Err(format!("it has {count} long values for {} columns", long_columns.len()));
        }
        let end = u16_at(long, 3 + 2 * number).ok_or("the ends of its long data lead out of the page")?;
        let stop = usize::from(end & !COMPLEX);
        let bytes = data
            .get(start..stop)
            .ok_or_else(|| format!("its long value {number} lies at bytes {start} to {stop}"))?;
        columns[*column] = Stored::Bytes(Variable {
            bytes,
            is_complex: end & COMPLEX != 0,
        });
        start = stop;
    }
    Ok(())
}

/// Anchor and dictionary of a page.
#[derive(Clone, Debug, Default)]
pub struct PageCompression<'p> {
    anchor: Vec<Stored<'p>>,
    dictionary: Vec<&'p [u8]>,
}

impl<'p> PageCompression<'p> {
    /// What a page has between its header and its first record; `bytes` begin at byte 96. Empty for a page without it.
    ///
    /// # Errors
    /// A clause that says which part leads out of `bytes`.
    pub fn parse(bytes: &'p [u8]) -> Result<PageCompression<'p>, String> {
        const ANCHOR: u8 = 2;
        const DICTIONARY: u8 = 4;
        let flags = *bytes.first().unwrap_or(&0);
        if flags & 1 != 0 || flags & ANCHOR == 0 {
            return Ok(PageCompression::default());
        }
        let has_dictionary = flags & DICTIONARY != 0;
        let anchor_at = if has_dictionary { 7 } else { 5 };
        let anchor = bytes.get(anchor_at..).ok_or("its anchor leads out of the page")?;
        let anchor = CompressedRecord::parse(anchor).map_err(|reason| format!("its anchor: {reason}"))?;
        let mut dictionary = Vec::new();
        if has_dictionary {
            let at = usize::from(u16_at(bytes, 3).ok_or("its dictionary leads out of the page")?);
            dictionary = entries(bytes.get(at..).unwrap_or(&[]))?;
        }
        Ok(PageCompression {
            anchor: anchor.columns,
            dictionary,
        })
    }

    /// What `stored` of column `column` is, with the help of anchor and dictionary. `None` is NULL.
    ///
    /// # Errors
    /// A clause: there is no such entry in the dictionary, or the anchor is shorter than a value says.
    pub fn value(&self, column: usize, stored: Stored<'p>) -> Result<Option<Compressed<'p>>, String> {
        let anchor = match self.anchor.get(column) {
            Some(Stored::Bytes(anchor)) => Some(anchor.bytes),
            Some(Stored::Symbol(_)) => return Err("its anchor has an entry of the dictionary".to_owned()),
            _ => None,
        };
        let own = match stored {
            Stored::Null => return Ok(None),
            Stored::True => return Ok(Some(Compressed::Borrowed(plain(&[1])))),
            Stored::Nothing => return Ok(Some(Compressed::Borrowed(plain(anchor.unwrap_or(&[]))))),
            Stored::Bytes(bytes) if bytes.is_complex => return Ok(Some(Compressed::Borrowed(bytes))),
            Stored::Bytes(bytes) => bytes.bytes,
            Stored::Symbol(symbol) => self
                .dictionary
                .get(symbol)
                .ok_or_else(|| format!("column {} has entry {symbol} of the dictionary", column + 1))?,
        };
        let Some(anchor) = anchor else {
            return Ok(Some(Compressed::Borrowed(plain(own))));
        };
        let (prefix, rest) = match own {
            [0x80, prefix, rest @ ..] | [prefix, rest @ ..] => (usize::from(*prefix), rest),
            [] => return Ok(Some(Compressed::Borrowed(plain(anchor)))),
        };
        let prefix = anchor
            .get(..prefix)
            .ok_or_else(|| format!("column {} takes {prefix} bytes from its anchor", column + 1))?;
        Ok(Some(Compressed::Joined([prefix, rest].concat())))
    }
}

fn entries(bytes: &[u8]) -> Result<Vec<&[u8]>, String> {
    let count = usize::from(u16_at(bytes, 0).ok_or("its dictionary leads out of the page")?);
    let mut found = Vec::with_capacity(count.min(bytes.len()));
    let mut start = 2 + 2 * count;
    for number in 0..count {
        let end = usize::from(u16_at(bytes, 2 + 2 * number).ok_or("its dictionary leads out of the page")?);
        let entry = bytes
            .get(start..end)
            .ok_or_else(|| format!("entry {number} of its dictionary lies at bytes {start} to {end}"))?;
        found.push(entry);
        start = end;
    }
    Ok(found)
}

/// A value of a compressed row, before its type expands it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compressed<'p> {
    Borrowed(Variable<'p>),
    /// Its beginning is the anchor's.
    Joined(Vec<u8>),
}

impl Compressed<'_> {
    /// The bytes.
    pub fn as_variable(&self) -> Variable<'_> {
        match self {
            Compressed::Borrowed(variable) => *variable,
            Compressed::Joined(bytes) => plain(bytes),
        }
    }
}
