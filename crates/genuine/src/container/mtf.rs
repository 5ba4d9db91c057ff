//! Microsoft Tape Format: the chain of descriptor blocks and streams that a media file is.
//!
//! ```text
//! descriptor block, 52 bytes, then what its type has, then its streams
//! 0       4            8               10  11  12            20        28        36          40        48     49  50
//! +-------+------------+---------------+---+---+-------------+---------+---------+-----------+---------+------+---+----------+
//! | type  | attributes | offset of the | o | v | displayable | logical | ...     | number of | ...     | text | . | checksum |
//! | 4 x A | u32        | first stream  | s | e | size u64    | address |         | the block |         | type |   | u16      |
//! |       |            | u16           |   | r |             | u64     |         | u32       |         | u8   |   |          |
//! +-------+------------+---------------+---+---+-------------+---------+---------+-----------+---------+------+---+----------+
//!
//! stream, its header of 22 bytes at a multiple of 4, then its content
//! 0       4           6           8            16           18            20         22
//! +-------+-----------+-----------+------------+------------+-------------+----------+---- ... ----+
//! | id    | attributes| attributes| length u64 | encryption | compression | checksum | content     |
//! | 4 x A | u16       | of the    |            | u16        | u16         | u16      |             |
//! |       |           | media u16 |            |            |             |          |             |
//! +-------+-----------+-----------+------------+------------+-------------+----------+---- ... ----+
//! ```
//!
//! A checksum is the words of 16 bits before it, XORed together: 25 of a block, 10 of a stream. A stream `SPAD` is the last of its block; the
//! next block begins where its content ends. A block `SFMB` (a file mark) has no streams, and its field at 8 is the size of a physical
//! block. Text lies anywhere in a block; a field of u16 size and u16 offset leads to it. Source: Microsoft Tape Format Specification 1.00a.
//! The chains of 14 backups of SQL Server 2005 to 2022 end at the end of their files (measured).
//!
//! A date has five bytes, the first bit first: year 14, month 4, day 5, hour 5, minute 6, second 6; all zero is none.

use crate::bytes::{array_at, u16_at, u64_at, utf16_text};
use crate::fault::{Fault, Result};
use std::fmt;
use vlf::ReadAt;

/// Bytes of a descriptor block's header.
const BLOCK_HEADER_BYTES: usize = 52;
/// Bytes of a stream's header.
const STREAM_HEADER_BYTES: usize = 22;
/// Bytes of a block that are read: all of its fields and texts. The first stream's offset is a u16.
const BLOCK_BYTES_MAX: usize = 65_536;
/// Blocks and streams of one file. A set of a thousand data files and a thousand VLFs has a few thousand.
const PARTS_MAX: usize = 4 << 20;

/// A type of block, or the id of a stream: four letters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tag(pub [u8; 4]);

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.escape_ascii())
    }
}

impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A moment of a media file, by the clock of the server that wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TapeDate {
    pub year: u16,
    pub month: u8,
    pub day: u8,
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
}

impl TapeDate {
    /// The date at `offset`; `None` for zeros, and for bytes that are no date.
    pub fn read(bytes: &[u8], offset: usize) -> Option<TapeDate> {
        let raw: [u8; 5] = array_at(bytes, offset)?;
        let value = raw.iter().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
        let field = |shift: u32, bits: u32| (value >> shift & ((1 << bits) - 1)) as u8;
        let date = TapeDate {
            year: (value >> 26) as u16,
            month: field(22, 4),
            day: field(17, 5),
            hour: field(12, 5),
            minute: field(6, 6),
            second: field(0, 6),
        };
        let possible = (1..=12).contains(&date.month)
            && (1..=31).contains(&date.day)
            && date.hour < 24
            && date.minute < 60
            && date.second < 60;
        possible.then_some(date)
    }
}

impl fmt::Display for TapeDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TapeDate { year, month, day, .. } = self;
        let TapeDate {
            hour, minute, second, ..
        } = self;
        write!(f, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
    }
}

/// A descriptor block.
#[derive(Clone, Debug)]
pub struct Block {
    pub tag: Tag,
    /// In the stream of the media file.
    pub offset: u64,
    /// Its bytes up to its first stream.
    pub bytes: Vec<u8>,
}

impl Block {
    /// The text that the size and offset at `field` lead to; empty when they lead out of the block.
    pub fn text(&self, field: usize) -> String {
        text_at(&self.bytes, field, self.bytes.get(48) == Some(&1))
    }
}

/// The text that the u16 size and u16 offset at `field` lead to: UTF-16, or bytes of one letter each.
pub fn text_at(bytes: &[u8], field: usize, single_bytes: bool) -> String {
    let place = u16_at(bytes, field).zip(u16_at(bytes, field + 2));
    let text = place.and_then(|(size, offset)| {
        let start = usize::from(offset);
        bytes.get(start..start + usize::from(size))
    });
    match text {
        Some(text) if single_bytes => text.iter().map(|byte| char::from(*byte)).collect(),
        Some(text) => utf16_text(text),
        None => String::new(),
    }
}

/// Where a stream's content lies.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    pub tag: Tag,
    /// Where the content begins.
    pub offset: u64,
    pub bytes: u64,
}

/// One part of the chain.
#[derive(Clone, Debug)]
pub enum Part {
    Block(Block),
    Stream(Stream),
}

/// Walks the chain. Every step goes forward, so it ends; what does not fit ends it with one fault.
pub struct Chain<'s, S: ?Sized> {
    source: &'s S,
    next: Next,
    parts: usize,
}

#[derive(Clone, Copy)]
enum Next {
    Block(u64),
    Stream(u64),
    Nothing,
}

impl<'s, S: ReadAt + ?Sized> Chain<'s, S> {
    /// The chain from the first block of `source` on.
    pub fn new(source: &'s S) -> Chain<'s, S> {
        Chain {
            source,
            next: Next::Block(0),
            parts: 0,
        }
    }

    /// The next part; `None` at the end of the file, or where zeros follow the last block.
    ///
    /// # Errors
    /// The source cannot be read, a checksum does not match, or a length leads out of the file.
    pub fn next_part(&mut self) -> Result<Option<Part>> {
        self.parts += 1;
        if self.parts > PARTS_MAX {
            self.next = Next::Nothing;
            return Err(Fault::whole(format!(
                "it has more than {PARTS_MAX} blocks and streams, which no backup has"
            )));
        }
        let part = match self.next {
            Next::Nothing => Ok(None),
            Next::Block(offset) => self.block(offset),
            Next::Stream(offset) => self.stream(offset).map(Some),
        };
        if !matches!(part, Ok(Some(_))) {
            self.next = Next::Nothing;
        }
        part
    }

    fn block(&mut self, offset: u64) -> Result<Option<Part>> {
        let left = self.source.len().saturating_sub(offset);
        if left == 0 {
            return Ok(None);
        }
        let head = read(self.source, offset, left.min(BLOCK_HEADER_BYTES as u64) as usize)?;
        if head.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let tag = Tag(array_at(&head, 0).unwrap_or_default());
        if !has_checksum(&head, BLOCK_HEADER_BYTES - 2) {
            return Err(Fault::at_offset(
                offset,
                format!("a descriptor block should begin here; '{tag}' and its checksum are none"),
            ));
        }
        let first = u64::from(u16_at(&head, 8).unwrap_or(0));
        if first < BLOCK_HEADER_BYTES as u64 || first > left {
            return Err(Fault::at_offset(
                offset,
                format!("the block {tag} has its first stream at {first}, which is not in it"),
            ));
        }
        let bytes = read(self.source, offset, (first as usize).min(BLOCK_BYTES_MAX))?;
        let end = offset + first;
        self.next = match tag == SFMB {
            true => Next::Block(end),
            false => Next::Stream(end),
        };
        Ok(Some(Part::Block(Block { tag, offset, bytes })))
    }

    fn stream(&mut self, offset: u64) -> Result<Part> {
        let head = read(self.source, offset, STREAM_HEADER_BYTES)?;
        let tag = Tag(array_at(&head, 0).unwrap_or_default());
        if !has_checksum(&head, STREAM_HEADER_BYTES - 2) {
            return Err(Fault::at_offset(
                offset,
                format!("a stream should begin here; '{tag}' and its checksum are none"),
            ));
        }
        let bytes = u64_at(&head, 8).unwrap_or(0);
        let start = offset + STREAM_HEADER_BYTES as u64;
        let end = start.checked_add(bytes).filter(|end| *end <= self.source.len());
        let Some(end) = end else {
            return Err(Fault::at_offset(
                offset,
                format!("the stream {tag} has {bytes} bytes, more than the file has behind it: the file was cut off"),
            ));
        };
        self.next = match tag == SPAD {
            true => Next::Block(end),
            false => Next::Stream(end.next_multiple_of(4)),
        };
        Ok(Part::Stream(Stream {
            tag,
            offset: start,
            bytes,
        }))
    }
}

pub const TAPE: Tag = Tag(*b"TAPE");
pub const SFMB: Tag = Tag(*b"SFMB");
pub const SSET: Tag = Tag(*b"SSET");
pub const ESET: Tag = Tag(*b"ESET");
/// Ours to read: SQL Server's blocks of configuration, pages and log.
pub const MSCI: Tag = Tag(*b"MSCI");
pub const MSDA: Tag = Tag(*b"MSDA");
pub const MSTL: Tag = Tag(*b"MSTL");
pub const MSLS: Tag = Tag(*b"MSLS");
pub const RAID: Tag = Tag(*b"RAID");
pub const SPAD: Tag = Tag(*b"SPAD");
pub const MQCI: Tag = Tag(*b"MQCI");
pub const MQDA: Tag = Tag(*b"MQDA");
pub const MQTL: Tag = Tag(*b"MQTL");

/// Whether the words before `field` XOR to the word at it.
fn has_checksum(bytes: &[u8], field: usize) -> bool {
    let Some(words) = bytes.get(..field) else { return false };
    let sum = words
        .chunks_exact(2)
        .fold(0, |sum, pair| sum ^ u16::from_le_bytes([pair[0], pair[1]]));
    u16_at(bytes, field) == Some(sum)
}

/// `bytes` bytes at `offset`, an amount that the caller has bounded.
pub fn read<S: ReadAt + ?Sized>(source: &S, offset: u64, bytes: usize) -> Result<Vec<u8>> {
    let mut buffer = vec![0; bytes];
    source.read_at(offset, &mut buffer)?;
    Ok(buffer)
}

/// The media that a file is a part of.
///
/// ```text
/// TAPE    52 family u32 | 60 number in the family u16 | 68, 72, 80 name, description, software | 84 u16 1024 | 88 date
/// RAID    0 GUID of the media set | 20 families u16 | 22 mirrors u16 (inferred) | 24 this family u16, from 1
/// ```
#[derive(Clone, Debug, Default)]
pub struct MediaHeader {
    /// What all files of one media set have in common.
    pub set_guid: [u8; 16],
    pub name: String,
    pub description: String,
    /// What wrote it.
    pub software: String,
    pub written: Option<TapeDate>,
    /// Of how many files (stripes) the media set has one copy.
    pub families: u16,
    /// Which of them this is, from 1.
    pub family: u16,
}

impl MediaHeader {
    /// The fields of a block TAPE.
    pub fn of_tape(block: &Block) -> MediaHeader {
        MediaHeader {
            name: block.text(68),
            description: block.text(72),
            software: block.text(80),
            written: TapeDate::read(&block.bytes, 88),
            families: 1,
            family: 1,
            ..MediaHeader::default()
        }
    }

    /// Adds what a stream RAID has.
    pub fn add_raid(&mut self, content: &[u8]) {
        self.set_guid = array_at(content, 0).unwrap_or_default();
        self.families = u16_at(content, 20).unwrap_or(1).max(1);
        self.family = u16_at(content, 24).unwrap_or(1);
    }
}
