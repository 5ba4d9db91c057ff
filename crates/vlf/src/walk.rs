//! Reading whole log files, SQL Server's or ours, past damage.
//!
//! [`survey`] walks the VLF headers: each one's size leads to the next, and one that leads beyond the end of the file, with no header
//! behind it, shows that the file was cut; where our page 0 says that a VLF has no header because
//! the log never entered it, page 0 has its size. [`VlfBlocks`] walks the blocks of one VLF. Where
//! something does not fit, both look for the next place that does (every page for a header, every sector for a block),
//! report what they skipped, and read on. Both read through [`ReadAt`], so that the inspector can give them a file and a
//! test a byte slice.
//!
//! This is the careful reader of a file at rest. A starting server makes its own large reads and uses
//! [`crate::block::parse_block_in_place`] and the table of [`crate::tail`] directly.

use std::fmt;

use crate::block::{Block, BlockHeader, Expectations, parse_block, peek_block_length};
use crate::file_header::{FileHeader, FileHeaderFault, server_file_bytes};
use crate::growth::VlfSpan;
use crate::tail::BlockFault;
use crate::vlf_header::{VlfHeader, VlfHeaderFault};
use crate::{FIRST_VLF_OFFSET, PAGE_BYTES, SECTOR_BYTES, VLF_HEADER_BYTES};

/// Bytes asked for at once by the first read in a VLF. A log of very many VLFs has few blocks in each.
const FIRST_WINDOW_BYTES: u64 = 4 * 1024;
/// Bytes asked for at once in the end: each read asks for four times as many as the one before.
const WINDOW_BYTES: u64 = 256 * 1024;
/// Where file systems begin their holes.
const HOLE_ALIGNMENT_BYTES: u64 = 4096;

/// A source of bytes: a file, or a slice of memory.
pub trait ReadAt {
    /// Fills `buffer` from `offset` on.
    ///
    /// # Errors
    /// The bytes cannot all be read.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ReadFault>;

    /// Bytes in the source.
    fn len(&self) -> u64;

    /// No bytes at all.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first offset from `offset` on that may hold anything but zeros: a source that knows its holes (a sparse file)
    /// lets a reader step over them.
    fn next_data(&self, offset: u64) -> u64 {
        offset
    }
}

/// A read that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadFault {
    /// Where the read began.
    pub offset: u64,
    /// What the source says about it.
    pub reason: String,
}

impl fmt::Display for ReadFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "reading at offset {}: {}", self.offset, self.reason)
    }
}

impl std::error::Error for ReadFault {}

impl ReadAt for [u8] {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ReadFault> {
        let bytes = usize::try_from(offset)
            .ok()
            .and_then(|start| self.get(start..start.checked_add(buffer.len())?))
            .ok_or_else(|| ReadFault {
                offset,
                reason: "beyond the end".to_owned(),
            })?;
        buffer.copy_from_slice(bytes);
        Ok(())
    }

    fn len(&self) -> u64 {
        <[u8]>::len(self) as u64
    }
}

impl ReadAt for Vec<u8> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ReadFault> {
        self.as_slice().read_at(offset, buffer)
    }

    fn len(&self) -> u64 {
        ReadAt::len(self.as_slice())
    }
}

impl<T: ReadAt + ?Sized> ReadAt for &T {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ReadFault> {
        (**self).read_at(offset, buffer)
    }

    fn len(&self) -> u64 {
        (**self).len()
    }

    fn next_data(&self, offset: u64) -> u64 {
        (**self).next_data(offset)
    }
}

/// A part of the file where a VLF header was expected and none was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderGap {
    pub offset: u64,
    /// How far the walk skipped: to the next VLF header, or to the end of the file.
    pub bytes: u64,
    /// What was wrong at its beginning.
    pub fault: VlfHeaderFault,
}

/// What a walk over a file's headers found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSurvey {
    /// Size of the file.
    pub file_bytes: u64,
    /// Page 0; [`FileHeaderFault::Foreign`] in SQL Server's files.
    pub file_header: Result<FileHeader, FileHeaderFault>,
    /// Every VLF, in file order: its header, or what stands for the header of one that was never entered.
    pub vlfs: Vec<VlfHeader>,
    /// What the walk had to skip. Empty in a sound file.
    pub gaps: Vec<HeaderGap>,
    /// The file ends too early: its VLFs or page 0 reach further than it does.
    pub cut: Option<FileCut>,
}

/// A file that ends before its log does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileCut {
    /// Bytes the file should have; at least so many where `is_exact` is false.
    pub whole_bytes: u64,
    /// Page 0 says how many.
    pub is_exact: bool,
}

impl FileSurvey {
    /// The used VLFs in the order the log ran through them.
    pub fn in_sequence(&self) -> Vec<VlfHeader> {
        let mut used: Vec<VlfHeader> = self.vlfs.iter().copied().filter(VlfHeader::is_used).collect();
        used.sort_by_key(|vlf| vlf.sequence);
        used
    }

    /// Where every VLF lies.
    pub fn spans(&self) -> impl Iterator<Item = VlfSpan> {
        self.vlfs.iter().map(VlfHeader::span)
    }
}

/// Reads page 0 and every VLF header of `source`.
///
/// # Errors
/// Only when the source cannot be read; damage is part of the answer.
pub fn survey<S: ReadAt + ?Sized>(source: &S) -> Result<FileSurvey, ReadFault> {
    let file_bytes = source.len();
    let mut page = vec![0; file_bytes.min(PAGE_BYTES) as usize];
    source.read_at(0, &mut page)?;
    let mut found = FileSurvey {
        file_bytes,
        file_header: FileHeader::decode(&page),
        vlfs: Vec::new(),
        gaps: Vec::new(),
        cut: None,
    };
    let named = found.file_header.as_ref().ok().and_then(FileHeader::named);
    let mut spans = named.iter().flat_map(|named| named.spans()).peekable();
    let mut offset = FIRST_VLF_OFFSET;
    while offset < file_bytes {
        while spans.next_if(|span| span.offset < offset).is_some() {}
        let named = spans.peek().copied().filter(|span| span.offset == offset);
        let fault = match read_vlf(source, found.file_header.as_ref().ok().zip(named), offset)? {
            Ok(vlf) if vlf.vlf_bytes <= file_bytes - offset => {
                offset += vlf.vlf_bytes;
                found.vlfs.push(vlf);
                continue;
            }
            // Either its size is wrong, or the file ends in the middle of it.
            Ok(vlf) if next_header(source, offset)? == file_bytes => {
                found.vlfs.push(vlf);
                break;
            }
            Ok(vlf) => VlfHeaderFault::Size { found: vlf.vlf_bytes },
            Err(fault) => fault,
        };
        let next = next_header(source, offset)?;
        found.gaps.push(HeaderGap {
            offset,
            bytes: next - offset,
            fault,
        });
        offset = next;
    }
    found.cut = cut_of(&found, &page);
    Ok(found)
}

/// Whether the file is shorter than its last VLF or than page 0 says.
fn cut_of(found: &FileSurvey, page: &[u8]) -> Option<FileCut> {
    let told_bytes = match &found.file_header {
        Ok(header) => Some(header.file_bytes),
        Err(FileHeaderFault::Foreign) => server_file_bytes(page),
        Err(_) => None,
    };
    let walked_bytes = found.vlfs.last().map_or(0, |vlf| vlf.span().end());
    let whole_bytes = told_bytes.unwrap_or(0).max(walked_bytes);
    (whole_bytes > found.file_bytes).then_some(FileCut {
        whole_bytes,
        is_exact: told_bytes == Some(whole_bytes),
    })
}

fn read_header<S: ReadAt + ?Sized>(source: &S, offset: u64) -> Result<Result<VlfHeader, VlfHeaderFault>, ReadFault> {
    let left = source.len() - offset;
    let mut sector = [0; SECTOR_BYTES];
    if left < SECTOR_BYTES as u64 {
        return Ok(Err(VlfHeaderFault::Short));
    }
    source.read_at(offset, &mut sector)?;
    Ok(VlfHeader::decode_at(&sector, offset))
}

/// The VLF at `offset`, which page 0 may name and say that it needs no header.
fn read_vlf<S: ReadAt + ?Sized>(
    source: &S,
    named: Option<(&FileHeader, VlfSpan)>,
    offset: u64,
) -> Result<Result<VlfHeader, VlfHeaderFault>, ReadFault> {
    let header = read_header(source, offset)?;
    if let (Err(VlfHeaderFault::Signature { found: 0 }), Some((page, span))) = (&header, named) {
        let mut sector = [0; SECTOR_BYTES];
        source.read_at(offset, &mut sector)?;
        return Ok(page.never_entered(span, &sector).map_or(header, Ok));
    }
    Ok(header)
}

/// The next page behind `offset` that is a VLF header, or the end of the file.
fn next_header<S: ReadAt + ?Sized>(source: &S, offset: u64) -> Result<u64, ReadFault> {
    let file_bytes = source.len();
    let mut candidate = (offset + 1).next_multiple_of(PAGE_BYTES);
    while candidate < file_bytes {
        // A header's first byte is never zero, so none can begin in a hole.
        let data = source.next_data(candidate);
        if data >= candidate + PAGE_BYTES {
            candidate = data / PAGE_BYTES * PAGE_BYTES;
            continue;
        }
        if read_header(source, candidate)?.is_ok() {
            return Ok(candidate);
        }
        candidate += PAGE_BYTES;
    }
    Ok(file_bytes)
}

/// One step of [`VlfBlocks`].
#[derive(Debug)]
pub enum WalkStep<'a> {
    Block(Block<'a>),
    /// Bytes that are no block, with a block of the same use behind them. `bytes` is 0 when a block is sound in itself but
    /// does not follow the one before; it comes with the next step.
    Gap {
        /// Offset in the file.
        offset: u64,
        /// Bytes skipped.
        bytes: u64,
        /// What was wrong at their beginning.
        fault: BlockFault,
    },
    /// No further block of this use. `fault` is what ended the walk; `None` when the VLF is full or was never used.
    End {
        /// Offset in the file.
        offset: u64,
        /// What stands there instead of a block.
        fault: Option<BlockFault>,
    },
}

/// Walks the log blocks of one VLF.
pub struct VlfBlocks<'s, S: ?Sized> {
    source: &'s S,
    vlf: VlfHeader,
    expected: Expectations,
    window: Vec<u8>,
    /// File offset of the window's first byte.
    window_offset: u64,
    /// Bytes the next read asks for.
    read_bytes: u64,
    scratch: Vec<u8>,
}

impl<'s, S: ReadAt + ?Sized> VlfBlocks<'s, S> {
    /// A walk from the VLF's first block, whose predecessor is not checked. It ends where the file ends.
    pub fn new(source: &'s S, vlf: &VlfHeader) -> VlfBlocks<'s, S> {
        let whole = Expectations::first_of(vlf);
        let present = source.len().saturating_sub(vlf.start_offset + VLF_HEADER_BYTES);
        VlfBlocks {
            source,
            vlf: *vlf,
            expected: Expectations {
                bytes_max: whole.bytes_max.min(present),
                ..whole
            },
            window: Vec::new(),
            window_offset: 0,
            read_bytes: FIRST_WINDOW_BYTES,
            scratch: Vec::new(),
        }
    }

    /// Also checks that the first block follows `previous`, the last block of the VLF before it in sequence.
    pub fn following(mut self, previous: &BlockHeader) -> VlfBlocks<'s, S> {
        self.expected = Expectations {
            bytes_max: self.expected.bytes_max,
            ..Expectations::first_of_after(&self.vlf, previous)
        };
        self
    }

    /// The next step. After [`WalkStep::End`] it answers the same again.
    ///
    /// # Errors
    /// Only when the source cannot be read.
    pub fn next_step(&mut self) -> Result<WalkStep<'_>, ReadFault> {
        let offset = self.file_offset(&self.expected);
        if !self.vlf.is_used() || self.expected.bytes_max < SECTOR_BYTES as u64 {
            return Ok(WalkStep::End { offset, fault: None });
        }
        match self.parse(self.expected)? {
            Ok(header) => {
                self.expected = self.expected.after(&header);
                Ok(WalkStep::Block(Block::checked(header, &self.scratch)))
            }
            Err(fault) if fault.is_link_fault() => {
                self.expected = self.expected.skip(0);
                Ok(WalkStep::Gap {
                    offset,
                    bytes: 0,
                    fault,
                })
            }
            Err(fault) => match self.find_block()? {
                Some(bytes) => {
                    self.expected = self.expected.skip(bytes);
                    Ok(WalkStep::Gap { offset, bytes, fault })
                }
                None => Ok(WalkStep::End {
                    offset,
                    fault: Some(fault),
                }),
            },
        }
    }

    fn file_offset(&self, expected: &Expectations) -> u64 {
        self.vlf.start_offset + u64::from(expected.block) * SECTOR_BYTES as u64
    }

    /// Parses the expected block into `scratch`.
    fn parse(&mut self, expected: Expectations) -> Result<Result<BlockHeader, BlockFault>, ReadFault> {
        let offset = self.file_offset(&expected);
        let first_sector = self.load(offset, SECTOR_BYTES as u64)?;
        let length = peek_block_length(first_sector).unwrap_or(SECTOR_BYTES) as u64;
        self.load(offset, expected.bytes_max.min(length))?;
        let start = usize::try_from(offset - self.window_offset).unwrap_or(usize::MAX);
        let bytes = self.window.get(start..).unwrap_or(&[]);
        Ok(parse_block(bytes, &expected, &mut self.scratch).map(|block| *block.header()))
    }

    /// Bytes from the expected block to the next place where a block of this use parses.
    fn find_block(&mut self) -> Result<Option<u64>, ReadFault> {
        let sector_bytes = SECTOR_BYTES as u64;
        let origin = self.file_offset(&self.expected);
        let mut skipped = sector_bytes;
        while skipped + sector_bytes <= self.expected.bytes_max {
            // A block's first byte is never zero, so none can begin in a hole. Holes begin at multiples of 4 KB.
            let position = origin + skipped;
            if position.is_multiple_of(HOLE_ALIGNMENT_BYTES) {
                let hole_bytes = self.source.next_data(position).saturating_sub(position);
                if hole_bytes >= sector_bytes {
                    skipped = skipped.saturating_add(hole_bytes / sector_bytes * sector_bytes);
                    continue;
                }
            }
            if self.parse(self.expected.skip(skipped))?.is_ok() {
                return Ok(Some(skipped));
            }
            skipped += sector_bytes;
        }
        Ok(None)
    }

    /// Makes sure the window holds `bytes` from `offset` on, as far as the file and the VLF reach. Answers what it holds.
    fn load(&mut self, offset: u64, bytes: u64) -> Result<&[u8], ReadFault> {
        let end = self.vlf.span().end().min(self.source.len());
        let wanted_end = (offset + bytes).min(end);
        let window_end = self.window_offset + self.window.len() as u64;
        if offset < self.window_offset || wanted_end > window_end {
            let window_bytes = end.saturating_sub(offset).min(self.read_bytes.max(bytes));
            self.read_bytes = WINDOW_BYTES.min(self.read_bytes * 4);
            self.window.resize(usize::try_from(window_bytes).unwrap_or(0), 0);
            self.window_offset = offset;
            self.source.read_at(offset, &mut self.window)?;
        }
        let start = usize::try_from(offset - self.window_offset).unwrap_or(usize::MAX);
        Ok(self.window.get(start..).unwrap_or(&[]))
    }
}
