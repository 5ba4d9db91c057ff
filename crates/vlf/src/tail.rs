//! What is wrong with a log block, and what that means for the end of the log.
//!
//! A reader walks blocks until one does not fit. Whether that is the log's end or damage depends on the fault and on
//! whether the log is *known* to reach at least this far (a checkpoint, a data page's LSN, or a backup names an LSN at or
//! behind the block):
//!
//! | fault | beyond what is known | inside what is known |
//! |---|---|---|
//! | short: the buffer ends inside the block | read more | read more |
//! | not a block, stale parity, wrong sequence, wrong offset | end of log | damage |
//! | wrong previous length, broken chain | end of log | damage |
//! | length, torn sector, checksum, CRC | torn tail | damage |
//! | wrong format, slot array | damage | damage |
//!
//! *End of log*: the bytes are those of an earlier use, of an earlier block in the same place, or never written. A block
//! whose link to its predecessor fails was written before a crash that ended the log earlier, and belongs to nothing.
//! *Torn tail*: the last write was under way when the machine stopped. Nothing in it was ever acknowledged, because an
//! acknowledgement waits for the whole block and for all blocks before it. The log ends here just the same, but a reader
//! may want to say so. *Damage*: the log lost something it had promised to keep. A wrong format or a wrong slot array is
//! damage anywhere, since it is only looked at once every checksum fits: no interrupted write explains it.

use std::fmt;

/// Why bytes are not the log block that was expected. The checks run in the order of the variants, so each fault says that
/// all checks above it passed (only [`BlockFault::Short`] can also come later, once the block's length is known).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockFault {
    /// The bytes given end before the block does.
    Short {
        /// Bytes the block needs.
        bytes_needed: usize,
    },
    /// The first byte is not the stamp of a block's first sector.
    NotABlock {
        /// The byte found: 0x00 or 0xC0 in log space that was never written.
        stamp: u8,
    },
    /// A block of another use of this VLF.
    StaleParity {
        /// The stamp found.
        stamp: u8,
    },
    /// A block of another VLF sequence.
    WrongSequence {
        /// The sequence found.
        found: u32,
    },
    /// A block that belongs elsewhere in the VLF.
    WrongOffset {
        /// The block number found.
        found: u32,
    },
    /// Length, used bytes and slot count contradict each other, exceed 60 KB or leave the VLF.
    Length {
        /// The block length found.
        found: u16,
    },
    /// A sector that was not written with the others.
    Torn {
        /// Index of the first such sector.
        sector: u16,
    },
    /// SQL Server's XOR checksum does not match.
    Checksum,
    /// Our CRC32C does not match.
    Crc,
    /// The block's format version is none of those that belong into such a VLF.
    WrongFormat {
        /// The number found.
        found: u16,
    },
    /// The block before had another length.
    WrongPreviousLength {
        /// The length this block names.
        found: u16,
    },
    /// The block before had another CRC32C.
    Chain {
        /// The CRC this block names.
        found: u32,
    },
    /// The offsets of the records do not rise or leave the block.
    SlotArray {
        /// The first slot (from 1) whose offset is wrong.
        slot: u16,
    },
}

/// What a fault means for the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TailVerdict {
    /// Give the parser more bytes.
    ReadMore,
    /// The log ends before this block.
    EndOfLog,
    /// The log ends before this block, whose write was interrupted.
    TornTail,
    /// The log is damaged here.
    Damage,
}

impl BlockFault {
    /// The table of the module. `known` = the log is known to reach this block.
    pub fn verdict(self, known: bool) -> TailVerdict {
        let beyond = match self {
            BlockFault::Short { .. } => return TailVerdict::ReadMore,
            BlockFault::NotABlock { .. }
            | BlockFault::StaleParity { .. }
            | BlockFault::WrongSequence { .. }
            | BlockFault::WrongOffset { .. }
            | BlockFault::WrongPreviousLength { .. }
            | BlockFault::Chain { .. } => TailVerdict::EndOfLog,
            BlockFault::Length { .. } | BlockFault::Torn { .. } | BlockFault::Checksum | BlockFault::Crc => {
                TailVerdict::TornTail
            }
            BlockFault::WrongFormat { .. } | BlockFault::SlotArray { .. } => TailVerdict::Damage,
        };
        if known { TailVerdict::Damage } else { beyond }
    }

    /// The block is sound in itself; only its link to the block before fails.
    pub fn is_link_fault(self) -> bool {
        matches!(self, BlockFault::WrongPreviousLength { .. } | BlockFault::Chain { .. })
    }
}

impl fmt::Display for BlockFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BlockFault::Short { bytes_needed } => {
                write!(f, "the block is cut off, it needs {bytes_needed} bytes")
            }
            BlockFault::NotABlock { stamp } => {
                write!(f, "no log block begins here (first byte 0x{stamp:02x})")
            }
            BlockFault::StaleParity { stamp } => {
                write!(f, "a block of an earlier use of this VLF (first byte 0x{stamp:02x})")
            }
            BlockFault::WrongSequence { found } => {
                write!(f, "a block of VLF sequence {found}")
            }
            BlockFault::WrongOffset { found } => write!(f, "a block that belongs to block {found}"),
            BlockFault::Length { found } => write!(f, "impossible block length of {found} bytes"),
            BlockFault::Torn { sector } => {
                write!(f, "sector {sector} was not written with the rest of the block")
            }
            BlockFault::Checksum => f.write_str("the block's checksum is wrong"),
            BlockFault::Crc => f.write_str("the block's CRC32C is wrong"),
            BlockFault::WrongFormat { found } => {
                write!(
                    f,
                    "the block has format version 0x{found:x}, which no block of such a VLF has"
                )
            }
            BlockFault::WrongPreviousLength { found } => {
                write!(
                    f,
                    "the block follows one of {found} bytes, which is not the one before it"
                )
            }
            BlockFault::Chain { found } => {
                write!(
                    f,
                    "the block follows one with CRC32C {found:08x}, which is not the one before it"
                )
            }
            BlockFault::SlotArray { slot } => write!(f, "the offset of slot {slot} is wrong"),
        }
    }
}

impl std::error::Error for BlockFault {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every fault, beyond and inside what is known of the log: the whole table of the module.
    #[test]
    fn the_whole_table() {
        use TailVerdict::{Damage, EndOfLog, ReadMore, TornTail};
        let table = [
            (BlockFault::Short { bytes_needed: 512 }, ReadMore, ReadMore),
            (BlockFault::NotABlock { stamp: 0 }, EndOfLog, Damage),
            (BlockFault::StaleParity { stamp: 0x90 }, EndOfLog, Damage),
            (BlockFault::WrongSequence { found: 1 }, EndOfLog, Damage),
            (BlockFault::WrongOffset { found: 1 }, EndOfLog, Damage),
            (BlockFault::Length { found: 1 }, TornTail, Damage),
            (BlockFault::Torn { sector: 1 }, TornTail, Damage),
            (BlockFault::Checksum, TornTail, Damage),
            (BlockFault::Crc, TornTail, Damage),
            (BlockFault::WrongFormat { found: 1 }, Damage, Damage),
            (BlockFault::WrongPreviousLength { found: 1 }, EndOfLog, Damage),
            (BlockFault::Chain { found: 1 }, EndOfLog, Damage),
            (BlockFault::SlotArray { slot: 1 }, Damage, Damage),
        ];
        for (fault, beyond, inside) in table {
            assert_eq!(fault.verdict(false), beyond, "{fault:?} beyond");
            assert_eq!(fault.verdict(true), inside, "{fault:?} inside");
            assert!(!fault.to_string().is_empty());
        }
    }
}
