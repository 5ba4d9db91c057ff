//! SQL Server's virtual log files as arithmetic and bytes. Pure: no I/O, no clock.
//!
//! A transaction log file (`.ldf`) is a file header page followed by virtual log files (VLFs), each of them a header and
//! a run of log blocks:
//!
//! ```text
//! 0        8192                 8192 + VLF 1 size
//! +--------+--------------------+--------------------+-- ... --+
//! | page 0 | VLF 1              | VLF 2              |         |
//! +--------+--------------------+--------------------+-- ... --+
//!          |                    |
//!          +---------+---------++-------+---- ... -----+
//!          | header  | block @16 sectors | next block   |
//!          | 8192 B  | 512..61440 B      |              |
//!          +---------+-------------------+---- ... -----+
//! ```
//!
//! The crate has three users: the engine lays out and writes its log with it, the advisor plans with it, and the
//! inspector reads real files with it.
//!
//! - [`lsn`]: log sequence numbers and their text forms
//! - [`version`], [`growth`], [`layout`]: how many VLFs of which size each server version makes
//! - [`file_header`], [`vlf_header`], [`block`], [`builder`]: the bytes
//! - [`tail`]: what each fault of a log block means for the end of the log
//! - [`own_record`]: the names of our own records
//! - [`walk`], [`record`]: reading a whole file, SQL Server's or ours, past damage
//!
//! Microsoft documents the log's architecture, not its bytes. Every field here is either taken from a published
//! description (named where it is used) or was verified on real files from SQL Server 7.0 to 2016.

pub mod block;
pub mod builder;
mod bytes;
mod checksum;
pub mod file_header;
pub mod growth;
pub mod layout;
pub mod lsn;
pub mod own_record;
pub mod record;
pub mod tail;
pub mod version;
pub mod vlf_header;
pub mod walk;

pub use block::{Block, BlockHeader, Expectations, parse_block, parse_block_in_place, peek_block_length};
pub use builder::{BlockBuilder, BlockOrigin, SealedBlock, UsedBuffer, stamp_block};
pub use file_header::{FileHeader, FileHeaderFault, RememberedGrowth};
pub use growth::{ChunkPlan, GrowthWarning, RuleError, VlfSpan, create_layout, grow_layout, percent_growth};
pub use layout::{LaidVlf, LayoutRun, LayoutSteps, LogLayout};
pub use lsn::{Lsn, LsnParseError, VlfSequence};
pub use tail::{BlockFault, TailVerdict};
pub use version::ServerVersion;
pub use vlf_header::{FormatVersion, Parity, VlfHeader, VlfHeaderFault};
pub use walk::{FileCut, FileSurvey, ReadAt, ReadFault, VlfBlocks, WalkStep, survey};

/// Bytes of a sector: the unit of LSN block numbers and of the stamps inside a log block, whatever the disk's own sector.
pub const SECTOR_BYTES: usize = 512;
/// Bytes of a page: the file header page, and the header at the start of every VLF.
pub const PAGE_BYTES: u64 = 8192;
/// Bytes of the header at the start of every VLF; its first log block follows.
pub const VLF_HEADER_BYTES: u64 = 8192;
/// Offset of the first VLF in the file.
pub const FIRST_VLF_OFFSET: u64 = 8192;
/// The largest log block, 60 KB (Remus Rusanu, "What is an LSN"; confirmed on real files).
pub const BLOCK_BYTES_MAX: usize = 61_440;
/// Block number (sectors from the VLF's start) of the first log block of a VLF.
pub const FIRST_BLOCK: u32 = 16;
