//! Page 0 of a log file: two copies of the file header, 4096 bytes each.
//!
//! SQL Server's page 0 is a file header page like that of a data file: header version 1, page type 15. Each copy of ours
//! begins the same way, so that tools that look at the first bytes of a page see what they expect, and continues with our own
//! fields:
//!
//! ```text
//! 0x000  u8   1, page header version
//! 0x001  u8   15, page type: file header
//! 0x004  u16  0x0200, flag: the page has a checksum
//! 0x020  u32  page number 0, u16 file id
//! 0x03C  u32  CRC32C of the copy, this field as 0 (where SQL Server keeps its page checksum)
//! 0x060  8 B  "VLFLABLF"
//! 0x068  u16  format version of this page, 2
//! 0x06A  u16  bit 0: headers when entered
//! 0x06C  u16  server version whose growth rules the file follows (major byte, minor byte)
//! 0x06E  u16  sector bytes, 512 or 4096
//! 0x070  16 B database id
//! 0x080  u64  created, ticks the writer chooses
//! 0x088  u64  file bytes
//! 0x090  u32  runs
//! 0x094  u64  generation: one more with each rewrite of the page
//! 0x09C  u32  growths listed
//! 0x0A0  16 B per growth: u32 page where it begins, create LSN (10), u16 0
//! 0x1A0  16 B per run: u32 VLFs of a step, u32 repeat, u32 pages of a VLF, u32 pages of the last VLF (8 KB each)
//! 0xFC0      end of the runs; zeros to the end of the copy
//! ```
//!
//! **Two copies.** A rewrite makes the first copy durable before it touches the second, so after a power cut at least one of them is valid,
//! with the old or the new state. The valid copy with the higher generation counts; if both have the same generation, the first. Once both
//! are written, either is enough.
//!
//! **The runs** describe the VLFs from the first on, so at startup the server knows where they are without reading each header. A layout
//! that needs more runs than fit keeps its first ones. They then describe only the first VLFs, up to [`FileHeader::named_end`].
//!
//! **Headers when entered.** With this flag, a VLF that the runs describe may have no header: 512 zero bytes in its place mean that the log
//! has never entered it. A VLF after the described ones always has a header. Without the flag, every VLF has one.
//!
//! **The growths** are the last ones, oldest first. They hold the create LSNs of VLFs that have no header yet.

use std::fmt;

use crate::bytes::{array_at, put, u16_at, u32_at, u64_at};
use crate::checksum::crc_without;
use crate::growth::VlfSpan;
use crate::layout::{LayoutRun, LayoutSteps, LogLayout};
use crate::lsn::Lsn;
use crate::version::ServerVersion;
use crate::vlf_header::VlfHeader;
use crate::{FIRST_VLF_OFFSET, PAGE_BYTES, SECTOR_BYTES};

/// Bytes of one copy.
pub const COPY_BYTES: usize = PAGE_BYTES as usize / 2;
const CRC_OFFSET: usize = 0x3C;
const MAGIC: [u8; 8] = *b"VLFLABLF";
const PAGE_FORMAT: u16 = 2;
/// The format of one copy of 8192 bytes, of before the first release.
const SINGLE_COPY_FORMAT: u16 = 1;
const FLAG_HEADERS_WHEN_ENTERED: u16 = 1;
const GROWTHS_OFFSET: usize = 0xA0;
const GROWTH_BYTES: usize = 16;
const RUNS_OFFSET: usize = GROWTHS_OFFSET + GROWTHS_MAX * GROWTH_BYTES;
const RUNS_END: usize = 0xFC0;
const RUN_BYTES: usize = 16;

/// Runs that fit.
pub const RUNS_MAX: usize = (RUNS_END - RUNS_OFFSET) / RUN_BYTES;
/// Growths that are remembered.
pub const GROWTHS_MAX: usize = 16;

/// A growth that page 0 remembers. Its VLFs reach to the next growth, or to the end of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RememberedGrowth {
    /// Where its first VLF begins in the file.
    pub offset: u64,
    pub create_lsn: Lsn,
}

/// Where the one record of SQL Server's file header page begins, right behind the page header.
const SERVER_RECORD_OFFSET: usize = 96;
/// The variable-length column of that record, from 0, that holds the size of the file.
const SERVER_SIZE_COLUMN: usize = 4;

/// The size of the file as SQL Server's page 0 tells it; `None` where the page tells none.
///
/// The page holds one row in the format of table rows: a fixed part whose length is at 2, the number of columns, a bitmap of NULLs, the
/// number of variable-length columns, the end of each, and the columns. The fifth of these is the size in pages, 4 bytes (`Size` of `DBCC
/// FILEHEADER`); found in 273 real files of SQL Server 2000 to 2019, and right in all of them. The place of the row is not looked up
/// in the slot array: torn-page detection keeps two of its bits elsewhere.
pub fn server_file_bytes(page: &[u8]) -> Option<u64> {
    let row = page.get(SERVER_RECORD_OFFSET..)?;
    let columns_at = usize::from(u16_at(row, 2)?);
    let columns = usize::from(u16_at(row, columns_at)?);
    let variable_at = columns_at + 2 + columns.div_ceil(8);
    let variable_columns = usize::from(u16_at(row, variable_at)?);
    // A long column has the highest bit set in its end.
    let end_of = |column: usize| u16_at(row, variable_at + 2 + 2 * column).map(|end| usize::from(end & 0x7FFF));
    let (start, end) = (end_of(SERVER_SIZE_COLUMN - 1)?, end_of(SERVER_SIZE_COLUMN)?);
    let is_size = row.first() == Some(&0x30) && variable_columns > SERVER_SIZE_COLUMN && end == start + 4;
    let pages = u32_at(row, start).filter(|pages| is_size && *pages > 0)?;
    Some(u64::from(pages) * PAGE_BYTES)
}

/// Page 0 of a log file of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileHeader {
    /// The file's number in its database; 2 for the first log file.
    pub file_id: u16,
    /// The database the file belongs to.
    pub database_id: [u8; 16],
    /// When the file was created, in the writer's ticks.
    pub created_ticks: u64,
    /// Whose growth rules the file follows.
    pub server_version: ServerVersion,
    /// 512 or 4096: what log block lengths are rounded to.
    pub sector_bytes: u16,
    /// One more with each rewrite of the page.
    pub generation: u64,
    /// Size of the file.
    pub file_bytes: u64,
    /// VLFs that the runs name may have no header as long as the log has not entered them.
    pub headers_when_entered: bool,
    /// The layout of the first VLFs, of all of them unless it needed more than [`RUNS_MAX`] runs.
    pub runs: Vec<LayoutRun>,
    /// The last growths, oldest first, [`GROWTHS_MAX`] at most.
    pub growths: Vec<RememberedGrowth>,
}

/// Why bytes are no file header of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileHeaderFault {
    /// Fewer than 8192 bytes.
    Short,
    /// Not a file header page at all.
    NotAFileHeader {
        /// Page header version and page type found.
        found: [u8; 2],
    },
    /// A file header page without our magic: SQL Server's own, or another program's.
    Foreign,
    /// The checksum does not match.
    Checksum,
    /// Written in another format than ours.
    Format { found: u16 },
    /// A field has a value we do not write.
    Field { name: &'static str },
}

impl fmt::Display for FileHeaderFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileHeaderFault::Short => f.write_str("the file header page is cut off"),
            FileHeaderFault::NotAFileHeader { found: [version, kind] } => {
                write!(f, "page 0 is not a file header page (version {version}, type {kind})")
            }
            FileHeaderFault::Foreign => f.write_str("the file header page was not written by vlflab"),
            FileHeaderFault::Checksum => f.write_str("the file header page's checksum is wrong"),
            FileHeaderFault::Format { found } => {
                write!(
                    f,
                    "the file header page has format {found}, and this vlflab reads format {PAGE_FORMAT}"
                )
            }
            FileHeaderFault::Field { name } => {
                write!(f, "the file header page's {name} is impossible")
            }
        }
    }
}

impl std::error::Error for FileHeaderFault {}

impl FileHeader {
    /// Takes the layout of a whole file over. Answers whether the runs name every VLF of it; if not, those behind
    /// [`FileHeader::named_end`] must have their headers before this page is written.
    ///
    /// Runs that are there already are never given up for others: a VLF they name may have no header.
    pub fn set_layout(&mut self, layout: &LayoutSteps) -> bool {
        let (file_bytes, is_growth) = (layout.file_bytes(), layout.file_bytes() > self.file_bytes);
        let is_new = self.runs.is_empty();
        // A cut in the middle of a run leaves two, so growth leaves one place free for it.
        let runs_max = if is_growth { RUNS_MAX - 1 } else { RUNS_MAX };
        if (is_new || self.named_end() == self.file_bytes) && layout.runs().len() <= runs_max {
            self.runs = layout.runs().to_vec();
        } else if is_new {
            self.runs = layout.runs().iter().take(runs_max).copied().collect();
        } else if let Some(mut named) = self.named().filter(|named| file_bytes < named.file_bytes()) {
            let kept = named.spans().take_while(|span| span.end() <= file_bytes).count();
            named.truncate(kept);
            self.runs = named.runs().to_vec();
        }
        self.file_bytes = file_bytes;
        self.growths.retain(|growth| growth.offset < file_bytes);
        self.named_end() == file_bytes
    }

    /// Remembers a growth whose first VLF is at `offset`, in place of the oldest one when there are too many.
    pub fn remember_growth(&mut self, offset: u64, create_lsn: Lsn) {
        self.growths.push(RememberedGrowth { offset, create_lsn });
        let surplus = self.growths.len().saturating_sub(GROWTHS_MAX);
        self.growths.drain(..surplus);
    }

    /// Where the VLFs end that the runs name.
    pub fn named_end(&self) -> u64 {
        let bytes = self.runs.iter().filter_map(|run| run.checked_bytes());
        bytes.fold(FIRST_VLF_OFFSET, u64::saturating_add)
    }

    /// The layout of the VLFs that the runs name; `None` when the runs are impossible or go beyond the file.
    pub fn named(&self) -> Option<LayoutSteps> {
        LayoutSteps::from_runs(self.server_version, self.named_end(), self.runs.clone())
            .filter(|named| named.file_bytes() <= self.file_bytes)
    }

    /// The layout of the file; `None` when the runs do not name every VLF.
    pub fn steps(&self) -> Option<LayoutSteps> {
        self.named().filter(|named| named.file_bytes() == self.file_bytes)
    }

    /// As [`FileHeader::steps`], as a list of VLFs.
    pub fn layout(&self) -> Option<LogLayout> {
        LogLayout::from_runs(self.server_version, self.file_bytes, &self.runs)
    }

    /// The header that a VLF named by the runs has without having one on disk. `None` = `sector`, the 512 bytes at its place,
    /// must be its header.
    pub fn never_entered(&self, span: VlfSpan, sector: &[u8]) -> Option<VlfHeader> {
        let is_zero = sector.get(..SECTOR_BYTES)?.iter().all(|byte| *byte == 0);
        let may_be = self.headers_when_entered && span.end() <= self.named_end();
        (may_be && is_zero).then(|| VlfHeader::unused(span, self.create_lsn_at(span.offset)))
    }

    /// The create LSN of a VLF without a header, as far as its growth is remembered; otherwise [`Lsn::ZERO`].
    pub fn create_lsn_at(&self, offset: u64) -> Lsn {
        let made_by = self.growths.iter().rev().find(|growth| growth.offset <= offset);
        made_by.map_or(Lsn::ZERO, |growth| growth.create_lsn)
    }

    /// The page as a new file has it: both copies.
    pub fn encode(&self) -> Vec<u8> {
        self.encode_copy().repeat(2)
    }

    /// The database whose log file begins with these bytes; `None` when they begin none. Damage elsewhere is not looked for.
    pub fn owner(begin: &[u8]) -> Option<[u8; 16]> {
        begin.get(0x60..)?.strip_prefix(&MAGIC)?;
        array_at(begin, 0x70)
    }

    /// One copy. Runs and growths beyond what fits are left out.
    pub fn encode_copy(&self) -> Vec<u8> {
        let mut copy = vec![0; COPY_BYTES];
        let runs = self.runs.get(..RUNS_MAX).unwrap_or(&self.runs);
        let growths = self.growths.get(..GROWTHS_MAX).unwrap_or(&self.growths);
        put(&mut copy, 0x00, &[1, 15]);
        put(&mut copy, 0x04, &0x0200u16.to_le_bytes());
        put(&mut copy, 0x24, &self.file_id.to_le_bytes());
        put(&mut copy, 0x60, &MAGIC);
        put(&mut copy, 0x68, &PAGE_FORMAT.to_le_bytes());
        let flags = if self.headers_when_entered {
            FLAG_HEADERS_WHEN_ENTERED
        } else {
            0
        };
        put(&mut copy, 0x6A, &flags.to_le_bytes());
        put(&mut copy, 0x6C, &self.server_version.code().to_le_bytes());
        put(&mut copy, 0x6E, &self.sector_bytes.to_le_bytes());
        put(&mut copy, 0x70, &self.database_id);
        put(&mut copy, 0x80, &self.created_ticks.to_le_bytes());
        put(&mut copy, 0x88, &self.file_bytes.to_le_bytes());
        put(&mut copy, 0x90, &(runs.len() as u32).to_le_bytes());
        put(&mut copy, 0x94, &self.generation.to_le_bytes());
        put(&mut copy, 0x9C, &(growths.len() as u32).to_le_bytes());
        for (index, growth) in growths.iter().enumerate() {
            let offset = GROWTHS_OFFSET + index * GROWTH_BYTES;
            put(&mut copy, offset, &pages(growth.offset));
            put(&mut copy, offset + 4, &growth.create_lsn.to_bytes());
        }
        for (index, run) in runs.iter().enumerate() {
            let offset = RUNS_OFFSET + index * RUN_BYTES;
            put(&mut copy, offset, &run.vlf_count.to_le_bytes());
            put(&mut copy, offset + 4, &run.repeat.to_le_bytes());
            put(&mut copy, offset + 8, &pages(run.vlf_bytes));
            put(&mut copy, offset + 12, &pages(run.last_vlf_bytes));
        }
        let crc = crc_without(&copy, CRC_OFFSET..CRC_OFFSET + 4);
        put(&mut copy, CRC_OFFSET, &crc.to_le_bytes());
        copy
    }

    /// Reads the page: the copy that counts.
    ///
    /// # Errors
    /// When neither copy is sound, names what is wrong with the first; [`FileHeaderFault::Foreign`] for SQL Server's own files.
    pub fn decode(bytes: &[u8]) -> Result<FileHeader, FileHeaderFault> {
        let [first, second] = FileHeader::decode_copies(bytes);
        match (first, second) {
            (Ok(first), Ok(second)) if second.generation > first.generation => Ok(second),
            (Err(_), Ok(header)) | (Ok(header), _) => Ok(header),
            (Err(fault), Err(_)) => Err(fault),
        }
    }

    /// Reads both copies; errors as [`FileHeader::decode`].
    pub fn decode_copies(bytes: &[u8]) -> [Result<FileHeader, FileHeaderFault>; 2] {
        let Some((first, second)) = bytes.get(..PAGE_BYTES as usize).map(|page| page.split_at(COPY_BYTES)) else {
            return [Err(FileHeaderFault::Short), Err(FileHeaderFault::Short)];
        };
        let is_single = u16_at(first, 0x68) == Some(SINGLE_COPY_FORMAT);
        let first = match decode_copy(first) {
            Err(FileHeaderFault::Checksum) if is_single && checksum_holds(&bytes[..PAGE_BYTES as usize]) => {
                Err(FileHeaderFault::Format {
                    found: SINGLE_COPY_FORMAT,
                })
            }
            decoded => decoded,
        };
        [first, decode_copy(second)]
    }
}

fn pages(bytes: u64) -> [u8; 4] {
    // A file has 2 TB at most.
    ((bytes / PAGE_BYTES) as u32).to_le_bytes()
}

fn checksum_holds(bytes: &[u8]) -> bool {
    u32_at(bytes, CRC_OFFSET) == Some(crc_without(bytes, CRC_OFFSET..CRC_OFFSET + 4))
}

fn decode_copy(copy: &[u8]) -> Result<FileHeader, FileHeaderFault> {
    let kind = array_at::<2>(copy, 0).ok_or(FileHeaderFault::Short)?;
    if kind != [1, 15] {
        return Err(FileHeaderFault::NotAFileHeader { found: kind });
    }
    if array_at(copy, 0x60) != Some(MAGIC) {
        return Err(FileHeaderFault::Foreign);
    }
    if !checksum_holds(copy) {
        return Err(FileHeaderFault::Checksum);
    }
    decode_fields(copy).ok_or(FileHeaderFault::Short)?
}

/// `None` = a field lies beyond the copy, which its length rules out.
fn decode_fields(copy: &[u8]) -> Option<Result<FileHeader, FileHeaderFault>> {
    let impossible = |name| Some(Err(FileHeaderFault::Field { name }));
    let format = u16_at(copy, 0x68)?;
    if format != PAGE_FORMAT {
        return Some(Err(FileHeaderFault::Format { found: format }));
    }
    let Some(server_version) = ServerVersion::from_code(u16_at(copy, 0x6C)?) else {
        return impossible("server version");
    };
    let sector_bytes = u16_at(copy, 0x6E)?;
    if ![512, 4096].contains(&sector_bytes) {
        return impossible("sector size");
    }
    let (run_count, growth_count) = (u32_at(copy, 0x90)? as usize, u32_at(copy, 0x9C)? as usize);
    if run_count > RUNS_MAX {
        return impossible("number of runs");
    }
    if growth_count > GROWTHS_MAX {
        return impossible("number of growths");
    }
    let bytes_at = |offset| Some(u64::from(u32_at(copy, offset)?) * PAGE_BYTES);
    let growth = |index: usize| {
        let offset = GROWTHS_OFFSET + index * GROWTH_BYTES;
        Some(RememberedGrowth {
            offset: bytes_at(offset)?,
            create_lsn: Lsn::read(copy, offset + 4)?,
        })
    };
    let run = |index: usize| {
        let offset = RUNS_OFFSET + index * RUN_BYTES;
        Some(LayoutRun {
            vlf_count: u32_at(copy, offset)?,
            repeat: u32_at(copy, offset + 4)?,
            vlf_bytes: bytes_at(offset + 8)?,
            last_vlf_bytes: bytes_at(offset + 12)?,
        })
    };
    let header = FileHeader {
        file_id: u16_at(copy, 0x24)?,
        database_id: array_at(copy, 0x70)?,
        created_ticks: u64_at(copy, 0x80)?,
        server_version,
        sector_bytes,
        generation: u64_at(copy, 0x94)?,
        file_bytes: u64_at(copy, 0x88)?,
        headers_when_entered: u16_at(copy, 0x6A)? & FLAG_HEADERS_WHEN_ENTERED != 0,
        runs: (0..run_count).map(run).collect::<Option<_>>()?,
        growths: (0..growth_count).map(growth).collect::<Option<_>>()?,
    };
    if header.named().is_none() {
        return impossible("layout");
    }
    Some(Ok(header))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const MB: u64 = 1024 * 1024;

    fn header(layout: &LogLayout) -> FileHeader {
        let mut header = FileHeader {
            file_id: 2,
            database_id: *b"0123456789abcdef",
            created_ticks: 77,
            server_version: ServerVersion::V2022,
            sector_bytes: 4096,
            generation: 3,
            file_bytes: 0,
            headers_when_entered: true,
            runs: Vec::new(),
            growths: Vec::new(),
        };
        header.set_layout(&LayoutSteps::of(layout));
        header
    }

    #[test]
    fn twenty_thousand_vlfs_are_two_runs() {
        let mut layout = LogLayout::create(ServerVersion::V2012, MB).unwrap();
        layout.grow_until(5 * 1024 * MB, MB).unwrap();
        layout.set_version(ServerVersion::V2022);
        let header = header(&layout);
        assert_eq!(header.runs.len(), 2);
        let again = FileHeader::decode(&header.encode()).unwrap();
        assert_eq!(again, header);
        assert_eq!(again.layout().unwrap(), layout);
        assert_eq!(layout.vlf_count(), 20_480);
    }

    /// More runs than fit: those that are there stay, whatever is grown and cut behind them, and go only when they are cut
    /// themselves.
    #[test]
    fn runs_that_do_not_fit_leave_the_first_vlfs_named() {
        let mut layout = LogLayout::create(ServerVersion::V2022, MB).unwrap();
        let mut page = header(&layout);
        for step in 0..RUNS_MAX as u64 - 2 {
            layout.grow(MB + step % 2 * 8192).unwrap();
            assert!(page.set_layout(&LayoutSteps::of(&layout)), "growth {step}");
        }
        let (runs, named_end) = (page.runs.clone(), page.named_end());
        assert_eq!((runs.len(), named_end), (RUNS_MAX - 1, layout.file_bytes()));
        let last = layout.vlfs().last().unwrap().span;
        for _ in 0..3 {
            layout.grow(2 * MB).unwrap();
            layout.grow(3 * MB).unwrap();
            assert!(!page.set_layout(&LayoutSteps::of(&layout)));
            assert_eq!((&page.runs, page.named_end()), (&runs, named_end));
        }
        let again = FileHeader::decode(&page.encode()).unwrap();
        assert_eq!((&again, again.layout(), again.steps()), (&page, None, None));
        assert_eq!(again.file_bytes, layout.file_bytes());
        let behind = layout.vlfs().last().unwrap().span;
        let zeros = [0; SECTOR_BYTES];
        assert_eq!(
            page.never_entered(last, &zeros),
            Some(VlfHeader::unused(last, Lsn::ZERO))
        );
        assert_eq!(page.never_entered(behind, &zeros), None, "has a header");
        for vlf_count in (2..layout.vlf_count()).rev() {
            layout.truncate(vlf_count);
            let is_named = page.set_layout(&LayoutSteps::of(&layout));
            assert_eq!(is_named, layout.file_bytes() <= named_end, "{vlf_count} VLFs");
            assert_eq!(page.layout().is_some(), is_named);
            assert_eq!(page.named_end(), named_end.min(layout.file_bytes()));
        }
    }

    /// A cut in a run of equal growths leaves one run more than there were.
    #[test]
    fn a_cut_finds_a_place_for_its_run() {
        let mut layout = LogLayout::create(ServerVersion::V2012, MB).unwrap();
        let mut page = header(&layout);
        for step in 0..RUNS_MAX as u64 - 2 {
            layout.grow(MB + step % 2 * 65_536).unwrap();
            assert!(page.set_layout(&LayoutSteps::of(&layout)));
        }
        layout.grow(MB + (RUNS_MAX as u64 - 3) % 2 * 65_536).unwrap();
        assert!(page.set_layout(&LayoutSteps::of(&layout)), "the same step once more");
        layout.truncate(layout.vlf_count() - 1);
        assert!(page.set_layout(&LayoutSteps::of(&layout)));
        assert_eq!((page.runs.len(), page.file_bytes), (RUNS_MAX, layout.file_bytes()));
        layout.grow(MB).unwrap();
        assert!(!page.set_layout(&LayoutSteps::of(&layout)), "and growth keeps it free");
    }

    #[test]
    fn the_last_growths_are_remembered() {
        let mut layout = LogLayout::create(ServerVersion::V2022, MB).unwrap();
        let mut page = header(&layout);
        let mut offsets = Vec::new();
        for growth in 0..GROWTHS_MAX as u32 + 3 {
            offsets.push(layout.file_bytes());
            page.remember_growth(layout.file_bytes(), Lsn::new(growth + 1, 16, 1));
            layout.grow(MB).unwrap();
            page.set_layout(&LayoutSteps::of(&layout));
        }
        let page = FileHeader::decode(&page.encode()).unwrap();
        assert_eq!(page.create_lsn_at(offsets[2]), Lsn::ZERO, "forgotten");
        assert_eq!(page.create_lsn_at(offsets[3]), Lsn::new(4, 16, 1));
        assert_eq!(
            page.create_lsn_at(offsets[4] - 8192),
            Lsn::new(4, 16, 1),
            "any VLF of the growth"
        );
        assert_eq!(page.create_lsn_at(offsets[18] + 8192), Lsn::new(19, 16, 1));
        let mut shrunk = page.clone();
        layout.truncate(5);
        shrunk.set_layout(&LayoutSteps::of(&layout));
        assert_eq!(shrunk.growths, []);
    }

    /// Only where the flag says so, only where the runs name a VLF, and only zeros.
    #[test]
    fn zeros_are_a_header_only_where_page_zero_says_so() {
        let layout = LogLayout::create(ServerVersion::V2022, MB).unwrap();
        let (page, span) = (header(&layout), layout.vlfs()[3].span);
        let mut sector = [0; SECTOR_BYTES];
        assert_eq!(
            page.never_entered(span, &sector),
            Some(VlfHeader::unused(span, Lsn::ZERO))
        );
        assert_eq!(page.never_entered(span, &sector[..511]), None);
        let eager = FileHeader {
            headers_when_entered: false,
            ..page.clone()
        };
        assert_eq!(eager.never_entered(span, &sector), None);
        sector[511] = 1;
        assert_eq!(page.never_entered(span, &sector), None);
    }

    /// However a rewrite of the first copy is torn, the second is still the former page; and the other way round.
    #[test]
    fn the_sound_copy_of_the_higher_generation_counts() {
        let mut layout = LogLayout::create(ServerVersion::V2022, MB).unwrap();
        let former = header(&layout);
        (1..20).for_each(|step| {
            layout.grow(step * MB).unwrap();
        });
        let newer = FileHeader {
            generation: 4,
            ..header(&layout)
        };
        let mut page = former.encode();
        page[..512].copy_from_slice(&newer.encode_copy()[..512]);
        assert_eq!(FileHeader::decode(&page), Ok(former.clone()));
        page[..COPY_BYTES].copy_from_slice(&newer.encode_copy());
        assert_eq!(FileHeader::decode(&page), Ok(newer.clone()));
        page[COPY_BYTES..][..512].copy_from_slice(&newer.encode_copy()[..512]);
        assert_eq!(FileHeader::decode(&page), Ok(newer.clone()));
        page[..512].fill(0);
        assert_eq!(
            FileHeader::decode(&page),
            Err(FileHeaderFault::NotAFileHeader { found: [0, 0] })
        );
        page[COPY_BYTES..].copy_from_slice(&newer.encode_copy());
        assert_eq!(FileHeader::decode(&page), Ok(newer));
    }

    #[test]
    fn each_fault_has_its_name() {
        let layout = LogLayout::create(ServerVersion::V2022, MB).unwrap();
        let good = header(&layout).encode_copy();
        let broken = |offset: usize, value: u8, sealed: bool| {
            let mut copy = good.clone();
            copy[offset] = value;
            if sealed {
                let crc = crc_without(&copy, CRC_OFFSET..CRC_OFFSET + 4);
                put(&mut copy, CRC_OFFSET, &crc.to_le_bytes());
            }
            FileHeader::decode(&copy.repeat(2)).unwrap_err()
        };
        let field = |name| FileHeaderFault::Field { name };
        assert_eq!(FileHeader::decode(&good), Err(FileHeaderFault::Short));
        assert_eq!(broken(1, 1, true), FileHeaderFault::NotAFileHeader { found: [1, 1] });
        assert_eq!(broken(0x60, 0, true), FileHeaderFault::Foreign);
        assert_eq!(broken(4095, 1, false), FileHeaderFault::Checksum);
        assert_eq!(broken(0x68, 9, true), FileHeaderFault::Format { found: 9 });
        assert_eq!(broken(0x6C, 99, true), field("server version"));
        assert_eq!(broken(0x6E, 99, true), field("sector size"));
        assert_eq!(broken(0x92, 1, true), field("number of runs"));
        assert_eq!(broken(0x9C, 17, true), field("number of growths"));
        assert_eq!(
            broken(0x88 + 2, 0, true),
            field("layout"),
            "runs beyond the end of the file"
        );
    }

    /// The page of the format before this one had one copy of 8192 bytes. Such a log is refused by the number of its format.
    #[test]
    fn the_former_format_is_refused_by_name() {
        let layout = LogLayout::create(ServerVersion::V2022, MB).unwrap();
        let mut page = header(&layout).encode();
        page[COPY_BYTES..].fill(0);
        put(&mut page, 0x68, &SINGLE_COPY_FORMAT.to_le_bytes());
        let crc = crc_without(&page, CRC_OFFSET..CRC_OFFSET + 4);
        put(&mut page, CRC_OFFSET, &crc.to_le_bytes());
        let fault = FileHeader::decode(&page).unwrap_err();
        assert_eq!(fault, FileHeaderFault::Format { found: 1 });
        assert!(fault.to_string().contains("format 1"), "{fault}");
        page[8191] ^= 1;
        assert_eq!(FileHeader::decode(&page), Err(FileHeaderFault::Checksum));
    }
}
