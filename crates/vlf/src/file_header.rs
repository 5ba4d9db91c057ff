//! Page 0 of a log file.
//!
//! SQL Server's page 0 is a file header page like that of a data file: header version 1, page type 15. Ours begins the same
//! way, so that tools that look at the first bytes of a page see what they expect, and continues with our own fields:
//!
//! ```text
//! 0x000  u8   1, page header version
//! 0x001  u8   15, page type: file header
//! 0x004  u16  0x0200, flag: the page has a checksum
//! 0x020  u32  page number 0, u16 file id
//! 0x03C  u32  CRC32C of the page, this field as 0 (where SQL Server keeps its page checksum)
//! 0x060  8 B  "VLFLABLF"
//! 0x068  u16  format version of this page, 1
//! 0x06A  u16  bit 0: directory overflow
//! 0x06C  u16  server version whose growth rules the file follows (major byte, minor byte)
//! 0x06E  u16  sector bytes, 512 or 4096
//! 0x070  16 B database id
//! 0x080  u64  created, ticks the writer chooses
//! 0x088  u64  file bytes the directory describes
//! 0x090  u32  runs in the directory
//! 0x094  u64  generation: one more with each rewrite of the page
//! 0x0A0  24 B per run: u32 VLFs of a step, u32 repeat, u64 VLF bytes, u64 last VLF bytes
//! 0x1F80      end of the directory; zeros to the end
//! ```
//!
//! The directory tells a starting server where every VLF is without walking the headers. A layout of more runs than fit
//! sets "directory overflow" and leaves the directory empty: the reader then walks. The directory is a hint with a
//! checksum: the VLF headers stay the truth.

use std::fmt;

use crate::PAGE_BYTES;
use crate::bytes::{array_at, put, u16_at, u32_at, u64_at};
use crate::checksum::crc_without;
use crate::layout::{LayoutRun, LayoutSteps, LogLayout};
use crate::version::ServerVersion;

const PAGE: usize = PAGE_BYTES as usize;
const CRC_OFFSET: usize = 0x3C;
const MAGIC: [u8; 8] = *b"VLFLABLF";
const PAGE_FORMAT: u16 = 1;
const FLAG_OVERFLOW: u16 = 1;
const DIRECTORY_OFFSET: usize = 0xA0;
const DIRECTORY_END: usize = 0x1F80;
const RUN_BYTES: usize = 24;

/// Runs that fit into the directory.
pub const DIRECTORY_RUNS_MAX: usize = (DIRECTORY_END - DIRECTORY_OFFSET) / RUN_BYTES;

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
    /// Size of the file the directory describes.
    pub file_bytes: u64,
    /// The layout as runs; `None` = directory overflow, walk the headers.
    pub directory: Option<Vec<LayoutRun>>,
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
    /// A field has a value we do not write.
    Field {
        /// Its name.
        name: &'static str,
    },
}

impl fmt::Display for FileHeaderFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileHeaderFault::Short => f.write_str("the file header page is cut off"),
            FileHeaderFault::NotAFileHeader { found: [version, kind] } => {
                write!(f, "page 0 is no file header page (version {version}, type {kind})")
            }
            FileHeaderFault::Foreign => f.write_str("the file header page was not written by vlflab"),
            FileHeaderFault::Checksum => f.write_str("the file header page's checksum is wrong"),
            FileHeaderFault::Field { name } => {
                write!(f, "the file header page's {name} is impossible")
            }
        }
    }
}

impl std::error::Error for FileHeaderFault {}

impl FileHeader {
    /// Takes `layout` over into the directory, or marks it as overflown.
    pub fn set_layout(&mut self, layout: &LogLayout) {
        let runs = layout.runs();
        self.file_bytes = layout.file_bytes();
        self.directory = (runs.len() <= DIRECTORY_RUNS_MAX).then_some(runs);
    }

    /// As [`FileHeader::set_layout`], for a layout without a list of VLFs.
    pub fn set_steps(&mut self, steps: &LayoutSteps) {
        self.file_bytes = steps.file_bytes();
        self.directory = (steps.runs().len() <= DIRECTORY_RUNS_MAX).then(|| steps.runs().to_vec());
    }

    /// As [`FileHeader::layout`], without a list of VLFs.
    pub fn steps(&self) -> Option<LayoutSteps> {
        LayoutSteps::from_runs(self.server_version, self.file_bytes, self.directory.clone()?)
    }

    /// The layout of the directory. `None` when it overflowed, or does not add up to `file_bytes`.
    pub fn layout(&self) -> Option<LogLayout> {
        LogLayout::from_runs(self.server_version, self.file_bytes, self.directory.as_deref()?)
    }

    /// Writes the page. More runs than fit are written as directory overflow.
    pub fn encode(&self) -> Vec<u8> {
        let mut page = vec![0; PAGE];
        let runs = self
            .directory
            .as_deref()
            .filter(|runs| runs.len() <= DIRECTORY_RUNS_MAX);
        put(&mut page, 0x00, &[1, 15]);
        put(&mut page, 0x04, &0x0200u16.to_le_bytes());
        put(&mut page, 0x24, &self.file_id.to_le_bytes());
        put(&mut page, 0x60, &MAGIC);
        put(&mut page, 0x68, &PAGE_FORMAT.to_le_bytes());
        let flags = if runs.is_none() { FLAG_OVERFLOW } else { 0 };
        put(&mut page, 0x6A, &flags.to_le_bytes());
        put(&mut page, 0x6C, &self.server_version.code().to_le_bytes());
        put(&mut page, 0x6E, &self.sector_bytes.to_le_bytes());
        put(&mut page, 0x70, &self.database_id);
        put(&mut page, 0x80, &self.created_ticks.to_le_bytes());
        put(&mut page, 0x88, &self.file_bytes.to_le_bytes());
        let runs = runs.unwrap_or(&[]);
        put(&mut page, 0x90, &(runs.len() as u32).to_le_bytes());
        put(&mut page, 0x94, &self.generation.to_le_bytes());
        for (index, run) in runs.iter().enumerate() {
            let offset = DIRECTORY_OFFSET + index * RUN_BYTES;
            put(&mut page, offset, &run.vlf_count.to_le_bytes());
            put(&mut page, offset + 4, &run.repeat.to_le_bytes());
            put(&mut page, offset + 8, &run.vlf_bytes.to_le_bytes());
            put(&mut page, offset + 16, &run.last_vlf_bytes.to_le_bytes());
        }
        let crc = crc_without(&page, CRC_OFFSET..CRC_OFFSET + 4);
        put(&mut page, CRC_OFFSET, &crc.to_le_bytes());
        page
    }

    /// Reads the page.
    ///
    /// # Errors
    /// Names the first thing that is wrong; [`FileHeaderFault::Foreign`] for SQL Server's own files.
    pub fn decode(bytes: &[u8]) -> Result<FileHeader, FileHeaderFault> {
        let page = bytes.get(..PAGE).ok_or(FileHeaderFault::Short)?;
        let kind = array_at::<2>(page, 0).ok_or(FileHeaderFault::Short)?;
        if kind != [1, 15] {
            return Err(FileHeaderFault::NotAFileHeader { found: kind });
        }
        if array_at(page, 0x60) != Some(MAGIC) {
            return Err(FileHeaderFault::Foreign);
        }
        if u32_at(page, CRC_OFFSET) != Some(crc_without(page, CRC_OFFSET..CRC_OFFSET + 4)) {
            return Err(FileHeaderFault::Checksum);
        }
        decode_fields(page).ok_or(FileHeaderFault::Short)?
    }
}

/// `None` = a field lies beyond the page, which its length rules out.
fn decode_fields(page: &[u8]) -> Option<Result<FileHeader, FileHeaderFault>> {
    let impossible = |name| Some(Err(FileHeaderFault::Field { name }));
    if u16_at(page, 0x68)? != PAGE_FORMAT {
        return impossible("format version");
    }
    let Some(server_version) = ServerVersion::from_code(u16_at(page, 0x6C)?) else {
        return impossible("server version");
    };
    let sector_bytes = u16_at(page, 0x6E)?;
    if ![512, 4096].contains(&sector_bytes) {
        return impossible("sector size");
    }
    let run_count = u32_at(page, 0x90)? as usize;
    if run_count > DIRECTORY_RUNS_MAX {
        return impossible("directory length");
    }
    let overflow = u16_at(page, 0x6A)? & FLAG_OVERFLOW != 0;
    let mut runs = Vec::with_capacity(run_count);
    for index in 0..run_count {
        let offset = DIRECTORY_OFFSET + index * RUN_BYTES;
        runs.push(LayoutRun {
            vlf_count: u32_at(page, offset)?,
            repeat: u32_at(page, offset + 4)?,
            vlf_bytes: u64_at(page, offset + 8)?,
            last_vlf_bytes: u64_at(page, offset + 16)?,
        });
    }
    Some(Ok(FileHeader {
        file_id: u16_at(page, 0x24)?,
        database_id: array_at(page, 0x70)?,
        created_ticks: u64_at(page, 0x80)?,
        server_version,
        sector_bytes,
        generation: u64_at(page, 0x94)?,
        file_bytes: u64_at(page, 0x88)?,
        directory: (!overflow).then_some(runs),
    }))
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
            directory: None,
        };
        header.set_layout(layout);
        header
    }

    #[test]
    fn twenty_thousand_vlfs_are_two_runs() {
        let mut layout = LogLayout::create(ServerVersion::V2012, MB).unwrap();
        layout.grow_until(5 * 1024 * MB, MB).unwrap();
        layout.set_version(ServerVersion::V2022);
        let header = header(&layout);
        assert_eq!(header.directory.as_deref().unwrap().len(), 2);
        let again = FileHeader::decode(&header.encode()).unwrap();
        assert_eq!(again, header);
        assert_eq!(again.layout().unwrap(), layout);
        assert_eq!(layout.vlf_count(), 20_480);
    }

    #[test]
    fn too_many_runs_overflow() {
        let mut layout = LogLayout::create(ServerVersion::V2022, MB).unwrap();
        for step in 0..DIRECTORY_RUNS_MAX as u64 - 1 {
            layout.grow(MB + step % 2 * 8192).unwrap();
        }
        assert!(header(&layout).directory.is_some());
        layout.grow(2 * MB).unwrap();
        let full = header(&layout);
        assert_eq!(full.directory, None);
        let again = FileHeader::decode(&full.encode()).unwrap();
        assert_eq!(again, full);
        assert_eq!(again.layout(), None);
        assert_eq!(again.file_bytes, layout.file_bytes());
    }

    #[test]
    fn each_fault_has_its_name() {
        let layout = LogLayout::create(ServerVersion::V2022, MB).unwrap();
        let good = header(&layout).encode();
        let broken = |offset: usize, value: u8, sealed: bool| {
            let mut page = good.clone();
            page[offset] = value;
            if sealed {
                let crc = crc_without(&page, CRC_OFFSET..CRC_OFFSET + 4);
                put(&mut page, CRC_OFFSET, &crc.to_le_bytes());
            }
            FileHeader::decode(&page).unwrap_err()
        };
        assert_eq!(FileHeader::decode(&good[..8191]), Err(FileHeaderFault::Short));
        assert_eq!(broken(1, 1, true), FileHeaderFault::NotAFileHeader { found: [1, 1] });
        assert_eq!(broken(0x60, 0, true), FileHeaderFault::Foreign);
        assert_eq!(broken(8191, 1, false), FileHeaderFault::Checksum);
        assert_eq!(broken(0x68, 9, true), FileHeaderFault::Field { name: "format version" });
        assert_eq!(
            broken(0x6C, 99, true),
            FileHeaderFault::Field { name: "server version" }
        );
        assert_eq!(broken(0x6E, 99, true), FileHeaderFault::Field { name: "sector size" });
        assert_eq!(
            broken(0x92, 1, true),
            FileHeaderFault::Field {
                name: "directory length"
            }
        );
    }

    /// A directory that does not add up is not believed.
    #[test]
    fn a_directory_of_another_size_is_no_layout() {
        let layout = LogLayout::create(ServerVersion::V2022, MB).unwrap();
        let wrong = FileHeader {
            file_bytes: 2 * MB,
            ..header(&layout)
        };
        assert_eq!(FileHeader::decode(&wrong.encode()).unwrap().layout(), None);
    }
}
