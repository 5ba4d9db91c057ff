//! The header at the start of every VLF: 8192 bytes, of which the first 512 carry data.
//!
//! ```text
//! 0x00  u8   0xAB
//! 0x01  u8   parity: 0x00 never used, 0x40 / 0x80 toggling with each use
//! 0x02  u16  format version: 2 (7.0 to 2005), 4 (2008, 2008 R2), 5 (2012 and later), 0x5603 (ours)
//! 0x04  u32  sequence number (FSeqNo), 0 = never used
//! 0x08  u32  0
//! 0x0C  u32  number of uses since the header was made; in ours parity is 0x40 when odd, 0x80 when even
//! 0x10  u64  size of the VLF in bytes, this header included
//! 0x18  u64  offset of the VLF in the file
//! 0x20  LSN  (10 bytes) of the growth that made it, 0 when made with the file
//! 0x2C  u32  ours only: CRC32C of the first 512 bytes, this field as 0
//! 0x30  LSN  (10 bytes) ours only: the place below which the log was durable when the write of this header began
//! ```
//!
//! Signature, parity, format version, sequence and size are published (Bob Ward's inside-the-log demos; a parser project for .ldf files);
//! use count, start offset and create LSN were derived here and hold for every VLF of 270 real files. A change of the header is one aligned
//! 512-byte write, so it is never half written.
//!
//! **Parity does not follow from the use count.** It toggles with every use of the VLF, for as long as the file exists. The count restarts
//! when a server recreates the headers: in real logs of 14 VLFs, the VLFs 1 to 7 have gone through 64, 128 and 64 again, the VLFs 8 to 14
//! through 64 and 128, and all of them count the last of these uses as their first. (We infer that an upgrade recreated the headers: the
//! log continues in the order of its last uses.) So in SQL Server's files any parity can occur with any count.

use std::fmt;

use crate::bytes::{put, u16_at, u32_at, u64_at};
use crate::checksum::crc_without;
use crate::growth::VlfSpan;
use crate::lsn::{Lsn, VlfSequence};
use crate::{PAGE_BYTES, SECTOR_BYTES, VLF_HEADER_BYTES};

const SIGNATURE: u8 = 0xAB;
const CRC_OFFSET: usize = 0x2C;
const DURABLE_BEFORE_OFFSET: usize = 0x30;

/// Which use of a VLF its blocks belong to: bits 0xC0 of every sector's first byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Parity {
    /// 0x00: the VLF was never used.
    #[default]
    Unused,
    /// 0x40 (64 in `DBCC LOGINFO`): first, third, fifth ... use of a file's life.
    Odd,
    /// 0x80 (128): second, fourth ... use.
    Even,
}

impl Parity {
    /// The byte in headers and stamps, and the value `DBCC LOGINFO` shows.
    pub fn byte(self) -> u8 {
        match self {
            Parity::Unused => 0x00,
            Parity::Odd => 0x40,
            Parity::Even => 0x80,
        }
    }

    /// The parity of a byte whose other bits are 0.
    pub fn from_byte(byte: u8) -> Option<Parity> {
        match byte {
            0x00 => Some(Parity::Unused),
            0x40 => Some(Parity::Odd),
            0x80 => Some(Parity::Even),
            _ => None,
        }
    }

    /// The parity of the use that follows one of this parity.
    pub fn next(self) -> Parity {
        match self {
            Parity::Unused | Parity::Even => Parity::Odd,
            Parity::Odd => Parity::Even,
        }
    }

    /// The parity of a VLF of ours used `use_count` times.
    pub fn of_use_count(use_count: u32) -> Parity {
        match (use_count, use_count % 2) {
            (0, _) => Parity::Unused,
            (_, 1) => Parity::Odd,
            _ => Parity::Even,
        }
    }
}

/// The format of a VLF header or of a log block, named after the first server that writes it.
///
/// Both have a number, and they need not agree: a VLF header keeps the number of the server that made it, a block has that of the server
/// that wrote it. Which server writes which was found in the checkpoint records of 269 real files, which hold the version of the database:
///
/// | number | VLF headers | blocks | database versions seen with such blocks |
/// |---|---|---|---|
/// | 2 | 7.0 to 2005 | 7.0, 2000 | |
/// | 3 | | 2005 | 611 |
/// | 4 | 2008, 2008 R2 | 2008, 2008 R2 | 655, 661 |
/// | 5 | 2012 and later | 2012 to 2017 | 706, 782, 852, 869; 625 while 2012 upgrades a database |
/// | 6 | | 2019 and later | 904 |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FormatVersion {
    /// 2: SQL Server 7.0 and 2000; VLF headers of 2005 too.
    SqlServer2000,
    /// 3: SQL Server 2005, in blocks.
    SqlServer2005,
    /// 4: SQL Server 2008 and 2008 R2.
    SqlServer2008,
    /// 5: SQL Server 2012 to 2017; VLF headers of later ones too.
    SqlServer2012,
    /// 6: SQL Server 2019 and later, in blocks.
    SqlServer2019,
    /// 0x5603: ours. The high byte is beyond any version SQL Server has used, so neither takes the other's file for its
    /// own: same block envelope, other records.
    Vlflab,
}

impl FormatVersion {
    /// Every known version.
    pub const ALL: [FormatVersion; 6] = [
        FormatVersion::SqlServer2000,
        FormatVersion::SqlServer2005,
        FormatVersion::SqlServer2008,
        FormatVersion::SqlServer2012,
        FormatVersion::SqlServer2019,
        FormatVersion::Vlflab,
    ];
    /// A block with a higher number is none of SQL Server's: it has come from 2 to 6 in 21 years.
    const BLOCK_NUMBER_MAX: u16 = 15;

    /// The number in VLF headers, and in the first two bytes of a log block once its stamps are undone.
    pub fn number(self) -> u16 {
        match self {
            FormatVersion::SqlServer2000 => 2,
            FormatVersion::SqlServer2005 => 3,
            FormatVersion::SqlServer2008 => 4,
            FormatVersion::SqlServer2012 => 5,
            FormatVersion::SqlServer2019 => 6,
            FormatVersion::Vlflab => 0x5603,
        }
    }

    /// The version of a number.
    pub fn from_number(number: u16) -> Option<FormatVersion> {
        FormatVersion::ALL
            .into_iter()
            .find(|version| version.number() == number)
    }

    /// The format of a block with `number` in a VLF of this format; `None` when no such block belongs into such a VLF. A number that
    /// is not known yet is read as the newest one that is.
    pub fn of_block(self, number: u16) -> Option<FormatVersion> {
        if self == FormatVersion::Vlflab {
            return (number == self.number()).then_some(self);
        }
        let known = FormatVersion::ALL.into_iter().rev();
        let mut known = known.filter(|format| *format != FormatVersion::Vlflab);
        known.find(|format| format.number() <= number && number <= FormatVersion::BLOCK_NUMBER_MAX)
    }

    /// Bytes of a block's header.
    pub fn block_header_bytes(self) -> usize {
        match self {
            FormatVersion::SqlServer2000 => 24,
            FormatVersion::SqlServer2005 => 28,
            FormatVersion::SqlServer2008 => 40,
            FormatVersion::SqlServer2012 => 48,
            FormatVersion::SqlServer2019 | FormatVersion::Vlflab => 72,
        }
    }

    /// The programs that write blocks of this format.
    pub fn block_writers(self) -> &'static str {
        match self {
            FormatVersion::SqlServer2000 => "SQL Server 7.0, 2000",
            FormatVersion::SqlServer2005 => "SQL Server 2005",
            FormatVersion::SqlServer2008 => "SQL Server 2008, 2008 R2",
            FormatVersion::SqlServer2012 => "SQL Server 2012 to 2017",
            FormatVersion::SqlServer2019 => "SQL Server 2019 and later",
            FormatVersion::Vlflab => "vlflab",
        }
    }
}

/// As the format of a VLF header.
impl fmt::Display for FormatVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FormatVersion::SqlServer2000 => "2 (SQL Server 7.0 to 2005)",
            FormatVersion::SqlServer2005 => "3 (SQL Server 2005)",
            FormatVersion::SqlServer2008 => "4 (SQL Server 2008, 2008 R2)",
            FormatVersion::SqlServer2012 => "5 (SQL Server 2012 and later)",
            FormatVersion::SqlServer2019 => "6 (SQL Server 2019 and later)",
            FormatVersion::Vlflab => "0x5603 (vlflab)",
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VlfHeader {
    /// Its format. Blocks of SQL Server may have another one.
    pub format: FormatVersion,
    /// Parity of the current (or last) use.
    pub parity: Parity,
    /// Sequence number of the current (or last) use.
    pub sequence: VlfSequence,
    /// How often the log has entered this VLF since its header was made.
    pub use_count: u32,
    /// Size of the VLF, header included.
    pub vlf_bytes: u64,
    /// Offset of the VLF in its file.
    pub start_offset: u64,
    /// LSN of the growth that made it; [`Lsn::ZERO`] when made with its file.
    pub create_lsn: Lsn,
    /// The place below which the log was durable when the write began that put this header on disk. [`Lsn::ZERO`] = it says
    /// nothing. Formats of SQL Server do not have it.
    pub durable_before: Lsn,
}

/// Why bytes are no VLF header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VlfHeaderFault {
    /// Fewer than 512 bytes.
    Short,
    /// The first byte is not 0xAB.
    Signature {
        /// The byte found.
        found: u8,
    },
    /// An unknown format version.
    UnknownFormat {
        /// The number found.
        found: u16,
    },
    /// Parity is none of its three values, or it contradicts the use count of a VLF of ours.
    Parity {
        /// The byte found.
        found: u8,
    },
    /// A size that is not a whole number of pages or leaves no room for a block.
    Size {
        /// The size found.
        found: u64,
    },
    /// Our checksum does not match.
    Checksum,
    /// The header names another place in the file than the one it was read from.
    Offset {
        /// The offset found.
        found: u64,
    },
}

impl fmt::Display for VlfHeaderFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VlfHeaderFault::Short => f.write_str("the VLF header is cut off"),
            VlfHeaderFault::Signature { found } => {
                write!(f, "no VLF header: first byte 0x{found:02x} instead of 0xab")
            }
            VlfHeaderFault::UnknownFormat { found } => {
                write!(f, "unknown log format version {found}")
            }
            VlfHeaderFault::Parity { found } => {
                write!(f, "impossible VLF parity 0x{found:02x}")
            }
            VlfHeaderFault::Size { found } => write!(f, "impossible VLF size of {found} bytes"),
            VlfHeaderFault::Checksum => f.write_str("the VLF header's checksum is wrong"),
            VlfHeaderFault::Offset { found } => {
                write!(f, "the VLF header belongs to file offset {found}")
            }
        }
    }
}

impl std::error::Error for VlfHeaderFault {}

impl VlfHeader {
    /// The header of a VLF of ours that was never used.
    pub fn unused(span: VlfSpan, create_lsn: Lsn) -> VlfHeader {
        VlfHeader {
            format: FormatVersion::Vlflab,
            parity: Parity::Unused,
            sequence: VlfSequence::UNUSED,
            use_count: 0,
            vlf_bytes: span.bytes,
            start_offset: span.offset,
            create_lsn,
            durable_before: Lsn::ZERO,
        }
    }

    /// The header once the log enters the VLF under `sequence`: one more use, the other parity.
    pub fn entered(self, sequence: VlfSequence) -> VlfHeader {
        // Past 2^32 - 1 uses the count steps back by one, which keeps the parity toggling.
        let use_count = self.use_count.checked_add(1).unwrap_or(u32::MAX - 1);
        VlfHeader {
            sequence,
            use_count,
            parity: self.parity.next(),
            durable_before: Lsn::ZERO,
            ..self
        }
    }

    /// The log has entered this VLF: there are blocks in it.
    pub fn is_used(&self) -> bool {
        self.parity != Parity::Unused && self.sequence != VlfSequence::UNUSED
    }

    /// Where the VLF lies.
    pub fn span(&self) -> VlfSpan {
        VlfSpan {
            offset: self.start_offset,
            bytes: self.vlf_bytes,
        }
    }

    /// Bytes the VLF has for log blocks.
    pub fn body_bytes(&self) -> u64 {
        self.vlf_bytes.saturating_sub(VLF_HEADER_BYTES)
    }

    /// The header as the 512 bytes that carry its data. The rest of its 8192 bytes stays zero.
    pub fn encode(&self) -> [u8; SECTOR_BYTES] {
        let mut out = [0; SECTOR_BYTES];
        out[0] = SIGNATURE;
        out[1] = self.parity.byte();
        put(&mut out, 0x02, &self.format.number().to_le_bytes());
        put(&mut out, 0x04, &self.sequence.0.to_le_bytes());
        put(&mut out, 0x0C, &self.use_count.to_le_bytes());
        put(&mut out, 0x10, &self.vlf_bytes.to_le_bytes());
        put(&mut out, 0x18, &self.start_offset.to_le_bytes());
        put(&mut out, 0x20, &self.create_lsn.to_bytes());
        if self.format == FormatVersion::Vlflab {
            put(&mut out, DURABLE_BEFORE_OFFSET, &self.durable_before.to_bytes());
            let crc = crc_without(&out, CRC_OFFSET..CRC_OFFSET + 4);
            put(&mut out, CRC_OFFSET, &crc.to_le_bytes());
        }
        out
    }

    /// Reads the header from (at least) its first 512 bytes.
    ///
    /// # Errors
    /// Names the first thing that is wrong. The caller compares `start_offset` with where it read, or uses
    /// [`VlfHeader::decode_at`].
    pub fn decode(bytes: &[u8]) -> Result<VlfHeader, VlfHeaderFault> {
        let sector = bytes.get(..SECTOR_BYTES).ok_or(VlfHeaderFault::Short)?;
        let short = VlfHeaderFault::Short;
        if sector[0] != SIGNATURE {
            return Err(VlfHeaderFault::Signature { found: sector[0] });
        }
        let number = u16_at(sector, 0x02).ok_or(short)?;
        let format = FormatVersion::from_number(number).ok_or(VlfHeaderFault::UnknownFormat { found: number })?;
        if format == FormatVersion::Vlflab
            && u32_at(sector, CRC_OFFSET) != Some(crc_without(sector, CRC_OFFSET..CRC_OFFSET + 4))
        {
            return Err(VlfHeaderFault::Checksum);
        }
        let use_count = u32_at(sector, 0x0C).ok_or(short)?;
        let parity = Parity::from_byte(sector[1])
            .filter(|parity| format != FormatVersion::Vlflab || *parity == Parity::of_use_count(use_count))
            .ok_or(VlfHeaderFault::Parity { found: sector[1] })?;
        let vlf_bytes = u64_at(sector, 0x10).ok_or(short)?;
        if vlf_bytes <= VLF_HEADER_BYTES
            || !vlf_bytes.is_multiple_of(PAGE_BYTES)
            || vlf_bytes > crate::growth::FILE_BYTES_MAX
        {
            return Err(VlfHeaderFault::Size { found: vlf_bytes });
        }
        let durable_before = match format {
            FormatVersion::Vlflab => Lsn::read(sector, DURABLE_BEFORE_OFFSET).ok_or(short)?,
            _ => Lsn::ZERO,
        };
        Ok(VlfHeader {
            format,
            parity,
            sequence: VlfSequence(u32_at(sector, 0x04).ok_or(short)?),
            use_count,
            vlf_bytes,
            start_offset: u64_at(sector, 0x18).ok_or(short)?,
            create_lsn: Lsn::read(sector, 0x20).ok_or(short)?,
            durable_before,
        })
    }

    /// [`VlfHeader::decode`], and the header must belong to `offset` of the file.
    ///
    /// # Errors
    /// As [`VlfHeader::decode`], or [`VlfHeaderFault::Offset`].
    pub fn decode_at(bytes: &[u8], offset: u64) -> Result<VlfHeader, VlfHeaderFault> {
        let header = VlfHeader::decode(bytes)?;
        if header.start_offset != offset {
            return Err(VlfHeaderFault::Offset {
                found: header.start_offset,
            });
        }
        Ok(header)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn header() -> VlfHeader {
        let span = VlfSpan {
            offset: 262_144,
            bytes: 253_952,
        };
        VlfHeader::unused(span, Lsn::new(20, 217, 747)).entered(VlfSequence(21))
    }

    #[test]
    fn fields_lie_where_sql_server_has_them() {
        let bytes = VlfHeader {
            format: FormatVersion::SqlServer2012,
            ..header()
        }
        .encode();
        assert_eq!(bytes[..8], [0xAB, 0x40, 5, 0, 21, 0, 0, 0]);
        assert_eq!(bytes[0x0C..0x10], [1, 0, 0, 0]);
        assert_eq!(bytes[0x10..0x18], 253_952u64.to_le_bytes());
        assert_eq!(bytes[0x18..0x20], 262_144u64.to_le_bytes());
        assert_eq!(bytes[0x20..0x2A], Lsn::new(20, 217, 747).to_bytes());
        assert!(bytes[0x2A..].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn every_format_round_trips_and_parity_toggles() {
        for format in FormatVersion::ALL {
            let mut header = VlfHeader {
                format,
                use_count: 0,
                parity: Parity::Unused,
                ..header()
            };
            for (sequence, parity) in [
                (5, Parity::Odd),
                (9, Parity::Even),
                (13, Parity::Odd),
                (14, Parity::Even),
            ] {
                header = header.entered(VlfSequence(sequence));
                assert_eq!(header.parity, parity);
                assert_eq!(VlfHeader::decode_at(&header.encode(), 262_144), Ok(header));
            }
        }
        let joined = VlfHeader {
            durable_before: Lsn::new(20, 480, 1),
            ..header()
        };
        assert_eq!(VlfHeader::decode(&joined.encode()), Ok(joined));
        let entered_again = joined.entered(VlfSequence(22));
        assert_eq!(entered_again.durable_before, Lsn::ZERO, "of that use only");
        let worn = VlfHeader {
            use_count: u32::MAX,
            parity: Parity::Odd,
            ..header()
        };
        assert_eq!(worn.entered(VlfSequence(1)).parity, Parity::Even);
        assert_eq!(worn.entered(VlfSequence(1)).entered(VlfSequence(2)).parity, Parity::Odd);
    }

    /// No single flipped bit of our header passes.
    #[test]
    fn every_flipped_bit_of_ours_is_noticed() {
        let good = header().encode();
        for bit in 0..SECTOR_BYTES * 8 {
            let mut bytes = good;
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(VlfHeader::decode(&bytes).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn each_fault_has_its_name() {
        let good = VlfHeader {
            format: FormatVersion::SqlServer2008,
            ..header()
        }
        .encode();
        let broken = |offset: usize, value: u8| {
            let mut bytes = good;
            bytes[offset] = value;
            VlfHeader::decode_at(&bytes, 262_144).unwrap_err()
        };
        assert_eq!(VlfHeader::decode(&good[..511]), Err(VlfHeaderFault::Short));
        assert_eq!(broken(0, 0xC0), VlfHeaderFault::Signature { found: 0xC0 });
        assert_eq!(broken(2, 9), VlfHeaderFault::UnknownFormat { found: 9 });
        assert_eq!(broken(1, 0xC0), VlfHeaderFault::Parity { found: 0xC0 });
        assert!(matches!(broken(0x10, 1), VlfHeaderFault::Size { .. }));
        assert!(matches!(broken(0x17, 1), VlfHeaderFault::Size { .. }));
        assert!(matches!(broken(0x1A, 0), VlfHeaderFault::Offset { .. }));
    }

    /// Two real logs had VLFs with a first use of parity 128 and a second one of 64, and were called damaged for it.
    #[test]
    fn any_parity_goes_with_any_count_in_files_of_sql_server() {
        for (parity, use_count) in [(Parity::Even, 1), (Parity::Odd, 2), (Parity::Odd, 1), (Parity::Even, 2)] {
            let header = VlfHeader {
                format: FormatVersion::SqlServer2012,
                parity,
                use_count,
                ..header()
            };
            assert_eq!(VlfHeader::decode_at(&header.encode(), 262_144), Ok(header));
            assert!(header.is_used());
            assert_eq!(
                header.entered(VlfSequence(70)).parity,
                parity.next(),
                "parity goes on toggling"
            );
            let ours = VlfHeader {
                format: FormatVersion::Vlflab,
                ..header
            };
            let fits = parity == Parity::of_use_count(use_count);
            assert_eq!(VlfHeader::decode(&ours.encode()).is_ok(), fits, "{ours:?}");
        }
    }

    #[test]
    fn a_block_may_have_a_later_number_than_its_vlf() {
        let of_block = |vlf: FormatVersion, number| vlf.of_block(number);
        let (two, five) = (FormatVersion::SqlServer2000, FormatVersion::SqlServer2012);
        assert_eq!(of_block(two, 2), Some(two));
        assert_eq!(of_block(two, 3), Some(FormatVersion::SqlServer2005));
        assert_eq!(of_block(five, 4), Some(FormatVersion::SqlServer2008));
        assert_eq!(of_block(five, 6), Some(FormatVersion::SqlServer2019));
        assert_eq!(
            of_block(five, 9),
            Some(FormatVersion::SqlServer2019),
            "a later server's"
        );
        for number in [0, 1, 16, 0x105, 0x5603] {
            assert_eq!(of_block(five, number), None, "{number}");
            assert_eq!(of_block(FormatVersion::Vlflab, number).is_some(), number == 0x5603);
        }
    }
}
