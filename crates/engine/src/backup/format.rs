//! The bytes of a media file. Everything is little-endian; reserved bytes are zero, and are checked to be.
//!
//! ```text
//! label (4096)      0 "VLFLABBK" | 8 u32 format 1 | 12 media guid (16) | 28 i32,u32 created | 36 u16 name length, name (UTF-8)
//!                   of one of several families: 8 u32 format 2, 4084 u16 family from 1, u16 families
//!                   4092 u32 CRC32C of the bytes before
//! set header (512)  0 "VLFLABBS" | 8 u32 format 4 | 12 u32 position from 1 | 16 set guid (16) | 32 u64 bytes of the set
//!                   40 u64 description's offset in the set | 48 u32 chunks | 52 u32 CRC32C over all chunk headers
//!                   508 u32 CRC32C of the bytes before
//! chunk header (48) 0 "VBCK" | 4 u16 kind | 6 u16 flags: 1 = Zstandard | 8 u32 bytes stored | 12 u32 bytes plain
//!                   16 u64 address | 24 u32 number in the set from 0 | 28 first 8 bytes of the set guid | 36 u32 CRC32C of the
//!                   payload as stored | 40 u32 zero | 44 u32 CRC32C of the bytes before
//! ```
//! | kind | payload | address |
//! |---|---|---|
//! | 1 | consecutive pages of a data file | file << 32, first page |
//! | 2 | the log files' page 0 and VLF headers | 0 |
//! | 3 | consecutive log blocks, of several VLFs if the log continues in the next | VLF sequence << 32, block, of the first |
//! | 4 | the set's description, JSON | 0 |
//!
//! A media set of several families has a file for each, all with the same media guid. A set lies in all of them, in each with a header that has the
//! same position and guid, with chunks that are counted from 0, and with the description. Its chunks are dealt out in turn: chunk n of the set
//! is chunk n / families of family n % families + 1. A label of format 2 is refused by releases that know only single files (3241).

use crate::seams::DateTimeTicks;
use std::fmt;

/// Bytes of the label; sets begin on multiples of it.
pub const LABEL_BYTES: u64 = 4096;
pub const SET_HEADER_BYTES: usize = 512;
pub const CHUNK_HEADER_BYTES: usize = 48;
/// The longest payload of a chunk, before compression.
pub const CHUNK_BYTES_MAX: usize = 1 << 20;
/// The longest description.
pub const DESCRIPTION_BYTES_MAX: usize = 16 << 20;
const LABEL_FORMAT: u32 = 1;
/// The format of a label of one of several families.
const FAMILY_LABEL_FORMAT: u32 = 2;
const AT_FAMILY: usize = 4084;
/// Files of a media set (SQL Server docs, "BACKUP": "up to 64 backup devices").
pub const FAMILIES_MAX: u16 = 64;
/// The format of sets that is written: their boot record and log are of a database of format 3.
pub const SET_FORMAT: u32 = 4;
/// The oldest format read: sets of a database of format 2, laid out alike. Those of before the first release are refused: sets of
/// format 1 do not tell recovery forks apart, sets of format 2 have a page 0 of one copy.
pub const OLDEST_SET_FORMAT: u32 = 3;
const LABEL_MAGIC: &[u8; 8] = b"VLFLABBK";
const SET_MAGIC: &[u8; 8] = b"VLFLABBS";
const CHUNK_MAGIC: &[u8; 4] = b"VBCK";
const NAME_BYTES_MAX: usize = 2048;

/// Why bytes of a media file cannot be what they should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreadable(pub &'static str);

impl fmt::Display for Unreadable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0)
    }
}

/// What RESTORE LABELONLY shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediaLabel {
    /// MediaSetId.
    pub guid: [u8; 16],
    /// When the file was begun.
    pub created: DateTimeTicks,
    /// MediaName.
    pub name: String,
    /// FamilySequenceNumber: which of the media set's files this is, from 1.
    pub family: u16,
    /// FamilyCount: how many files the media set has.
    pub families: u16,
}

fn put(bytes: &mut [u8], offset: usize, part: &[u8]) {
    bytes[offset..offset + part.len()].copy_from_slice(part);
}

fn array<const N: usize>(bytes: &[u8], offset: usize) -> [u8; N] {
    let part = bytes.get(offset..).and_then(|rest| rest.first_chunk());
    *part.expect("the caller has checked that the header is whole")
}

fn number(bytes: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(array(bytes, offset))
}

fn seal(bytes: &mut [u8]) {
    let end = bytes.len() - 4;
    let crc = crc32c::crc32c(&bytes[..end]);
    put(bytes, end, &crc.to_le_bytes());
}

fn is_sealed(bytes: &[u8]) -> bool {
    let end = bytes.len() - 4;
    crc32c::crc32c(&bytes[..end]) == number(bytes, end)
}

/// Whether these bytes begin a media file; damage behind them is not looked for.
pub fn is_media(begin: &[u8]) -> bool {
    begin.starts_with(LABEL_MAGIC)
}

impl MediaLabel {
    /// MediaFamilyId: of a single file the media set's, of several the same but for a byte.
    pub fn family_guid(&self, family: u16) -> [u8; 16] {
        let mut guid = self.guid;
        if self.families > 1 {
            guid[0] ^= family as u8; // at most 64
        }
        guid
    }

    /// The label as bytes. A name longer than 2,048 bytes is cut at a character.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; LABEL_BYTES as usize];
        let cut = self.name.floor_char_boundary(NAME_BYTES_MAX);
        let name = &self.name.as_bytes()[..cut];
        put(&mut bytes, 0, LABEL_MAGIC);
        match self.families {
            0 | 1 => put(&mut bytes, 8, &LABEL_FORMAT.to_le_bytes()),
            families => {
                put(&mut bytes, 8, &FAMILY_LABEL_FORMAT.to_le_bytes());
                put(&mut bytes, AT_FAMILY, &self.family.to_le_bytes());
                put(&mut bytes, AT_FAMILY + 2, &families.to_le_bytes());
            }
        }
        put(&mut bytes, 12, &self.guid);
        put(&mut bytes, 28, &self.created.days.to_le_bytes());
        put(&mut bytes, 32, &self.created.ticks.to_le_bytes());
        put(&mut bytes, 36, &(name.len() as u16).to_le_bytes());
        put(&mut bytes, 38, name);
        seal(&mut bytes);
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Result<MediaLabel, Unreadable> {
        if bytes.len() != LABEL_BYTES as usize || !bytes.starts_with(LABEL_MAGIC) {
            return Err(Unreadable("the file is not a backup of ours"));
        }
        let short = |offset| u16::from_le_bytes(array(bytes, offset));
        let (family, families) = match number(bytes, 8) {
            LABEL_FORMAT => (1, 1),
            FAMILY_LABEL_FORMAT => (short(AT_FAMILY), short(AT_FAMILY + 2)),
            _ => (0, 0),
        };
        let is_possible = (1..=families).contains(&family) && families <= FAMILIES_MAX;
        if !is_sealed(bytes) || !is_possible {
            return Err(Unreadable("the label is damaged"));
        }
        let length = usize::from(u16::from_le_bytes(array(bytes, 36)));
        let name = bytes.get(38..38 + length).ok_or(Unreadable("the label is damaged"))?;
        Ok(MediaLabel {
            guid: array(bytes, 12),
            created: DateTimeTicks {
                days: i32::from_le_bytes(array(bytes, 28)),
                ticks: number(bytes, 32),
            },
            name: String::from_utf8_lossy(name).into_owned(),
            family,
            families,
        })
    }
}

/// A finished set's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetHeader {
    /// Its place among the sets of the file, from 1.
    pub position: u32,
    /// Tells it from every other.
    pub guid: [u8; 16],
    /// Its length, header and padding included.
    pub set_bytes: u64,
    /// Where its description begins, from the set's begin.
    pub description_offset: u64,
    pub chunk_count: u32,
    /// CRC32C over all chunk headers, in order.
    pub headers_crc: u32,
}

impl SetHeader {
    /// The header as bytes.
    pub fn encode(&self) -> [u8; SET_HEADER_BYTES] {
        let mut bytes = [0; SET_HEADER_BYTES];
        put(&mut bytes, 0, SET_MAGIC);
        put(&mut bytes, 8, &SET_FORMAT.to_le_bytes());
        put(&mut bytes, 12, &self.position.to_le_bytes());
        put(&mut bytes, 16, &self.guid);
        put(&mut bytes, 32, &self.set_bytes.to_le_bytes());
        put(&mut bytes, 40, &self.description_offset.to_le_bytes());
        put(&mut bytes, 48, &self.chunk_count.to_le_bytes());
        put(&mut bytes, 52, &self.headers_crc.to_le_bytes());
        seal(&mut bytes);
        bytes
    }

    /// The format of the set whose header this is; `None` when it is damaged or none.
    pub fn format(bytes: &[u8; SET_HEADER_BYTES]) -> Option<u32> {
        (bytes.starts_with(SET_MAGIC) && is_sealed(bytes)).then(|| number(bytes, 8))
    }

    pub fn decode(bytes: &[u8; SET_HEADER_BYTES]) -> Result<SetHeader, Unreadable> {
        let is_readable = (OLDEST_SET_FORMAT..=SET_FORMAT).contains(&number(bytes, 8));
        if !bytes.starts_with(SET_MAGIC) || !is_readable || !is_sealed(bytes) {
            return Err(Unreadable("the header of a backup set is damaged"));
        }
        Ok(SetHeader {
            position: number(bytes, 12),
            guid: array(bytes, 16),
            set_bytes: u64::from_le_bytes(array(bytes, 32)),
            description_offset: u64::from_le_bytes(array(bytes, 40)),
            chunk_count: number(bytes, 48),
            headers_crc: number(bytes, 52),
        })
    }
}

/// What a chunk holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum ChunkKind {
    /// Pages of a data file.
    Pages = 1,
    /// The layout of the log files.
    LogLayout = 2,
    LogBlocks = 3,
    Description = 4,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkHeader {
    pub kind: ChunkKind,
    /// Its payload is compressed.
    pub compressed: bool,
    /// Payload bytes in the file.
    pub stored_bytes: u32,
    /// Payload bytes once decompressed.
    pub plain_bytes: u32,
    /// What the payload is of; see the module.
    pub address: u64,
    /// Its number in the set, from 0.
    pub number: u32,
    /// The first 8 bytes of the set's guid.
    pub set: [u8; 8],
    /// CRC32C of the payload as stored.
    pub payload_crc: u32,
}

impl ChunkHeader {
    /// The header as bytes.
    pub fn encode(&self) -> [u8; CHUNK_HEADER_BYTES] {
        let mut bytes = [0; CHUNK_HEADER_BYTES];
        put(&mut bytes, 0, CHUNK_MAGIC);
        put(&mut bytes, 4, &(self.kind as u16).to_le_bytes());
        put(&mut bytes, 6, &u16::from(self.compressed).to_le_bytes());
        put(&mut bytes, 8, &self.stored_bytes.to_le_bytes());
        put(&mut bytes, 12, &self.plain_bytes.to_le_bytes());
        put(&mut bytes, 16, &self.address.to_le_bytes());
        put(&mut bytes, 24, &self.number.to_le_bytes());
        put(&mut bytes, 28, &self.set);
        put(&mut bytes, 36, &self.payload_crc.to_le_bytes());
        seal(&mut bytes);
        bytes
    }

    pub fn decode(bytes: &[u8; CHUNK_HEADER_BYTES]) -> Result<ChunkHeader, Unreadable> {
        let damaged = Unreadable("a chunk of a backup set is damaged");
        if !bytes.starts_with(CHUNK_MAGIC) || !is_sealed(bytes) {
            return Err(damaged);
        }
        let kind = match u16::from_le_bytes(array(bytes, 4)) {
            1 => ChunkKind::Pages,
            2 => ChunkKind::LogLayout,
            3 => ChunkKind::LogBlocks,
            4 => ChunkKind::Description,
            _ => return Err(damaged),
        };
        let header = ChunkHeader {
            kind,
            compressed: u16::from_le_bytes(array(bytes, 6)) & 1 != 0,
            stored_bytes: number(bytes, 8),
            plain_bytes: number(bytes, 12),
            address: u64::from_le_bytes(array(bytes, 16)),
            number: number(bytes, 24),
            set: array(bytes, 28),
            payload_crc: number(bytes, 36),
        };
        let limit = match kind {
            ChunkKind::Description => DESCRIPTION_BYTES_MAX,
            _ => CHUNK_BYTES_MAX,
        };
        let fits = header.plain_bytes as usize <= limit && header.stored_bytes as usize <= limit;
        if fits && (header.compressed || header.plain_bytes == header.stored_bytes) {
            Ok(header)
        } else {
            Err(damaged)
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// No single flipped bit of any header goes unnoticed.
    #[test]
    fn headers_come_back_as_they_went_and_notice_every_bit() {
        let label = MediaLabel {
            guid: *b"0123456789abcdef",
            created: DateTimeTicks { days: 46_000, ticks: 7 },
            name: "weekly \u{e9}".into(),
            family: 1,
            families: 1,
        };
        let striped = MediaLabel {
            family: 2,
            families: 64,
            ..label.clone()
        };
        let set = SetHeader {
            position: 3,
            guid: *b"fedcba9876543210",
            set_bytes: 8192,
            description_offset: 700,
            chunk_count: 4,
            headers_crc: 99,
        };
        let chunk = ChunkHeader {
            kind: ChunkKind::LogBlocks,
            compressed: true,
            stored_bytes: 100,
            plain_bytes: 200,
            address: 20 << 32 | 16,
            number: 2,
            set: *b"fedcba98",
            payload_crc: 5,
        };
        assert_eq!(MediaLabel::decode(&label.encode()).unwrap(), label);
        assert_eq!(MediaLabel::decode(&striped.encode()).unwrap(), striped);
        for (family, families) in [(0, 2), (3, 2), (1, 65)] {
            let impossible = MediaLabel {
                family,
                families,
                ..label.clone()
            };
            assert!(
                MediaLabel::decode(&impossible.encode()).is_err(),
                "{family} of {families}"
            );
        }
        assert_eq!(SetHeader::decode(&set.encode()).unwrap(), set);
        assert_eq!(ChunkHeader::decode(&chunk.encode()).unwrap(), chunk);
        for label in [label, striped] {
            for bit in 0..LABEL_BYTES as usize * 8 {
                let mut bytes = label.encode();
                bytes[bit / 8] ^= 1 << (bit % 8);
                assert!(MediaLabel::decode(&bytes).is_err(), "label bit {bit}");
            }
        }
        for bit in 0..SET_HEADER_BYTES * 8 {
            let mut bytes = set.encode();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(SetHeader::decode(&bytes).is_err(), "set bit {bit}");
        }
        for bit in 0..CHUNK_HEADER_BYTES * 8 {
            let mut bytes = chunk.encode();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(ChunkHeader::decode(&bytes).is_err(), "chunk bit {bit}");
        }
    }
}
