//! The log of a backup, as the log file it came from.
//!
//! ```text
//! MSTL, a block for each VLF of a log file of the source
//! 60           68           76        80           82                92: the VLF
//! +------------+------------+---------+------------+--------+- ... --+----------+----------+-----------+------+--------+----------+--------+
//! | log in the | its end    | id of   | size of    | where  |        | sequence | bytes    | offset in | id   | parity | create   | format |
//! | backup:    | in the     | the log | what fol-  | it is: |        | u32      | of the   | the file  | u16  | u8     | LSN 10 B | u16    |
//! | offset u64 | file u64   | file u32| lows u16   | 92 u16 |        |          | VLF u64  | u64       |      | at 114 | at 116   | at 126 |
//! +------------+------------+---------+------------+--------+- ... --+----------+----------+-----------+------+--------+----------+--------+
//! ```
//!
//! Measured on 14 backups: the VLFs of the blocks MSTL, put in order of their offsets, fill the log file from its page 0 to its size in the
//! set's own list of files, and the log of the streams begins at `offset` with the block that says so of itself. A VLF of which the backup has nothing has
//! 0 at 60 and 68.
//!
//! [`LogImage`] answers for the log file: headers of VLFs are made from these fields, the log of the backup lies where it came from, and
//! everything else is zeros. So what reads log files (`vlf::walk`) reads the log of a backup too. [`LogImage::is_present`] says which bytes are the backup's.
//!
//! **Several files.** How a log of more than 64 KB is dealt to stripes is not known. A stream of log of a striped backup is put where the first of its log
//! blocks says that it belongs; one that does not begin with a log block is left out, and [`LogImage::left_out_bytes`] counts it.

use super::{Backup, LogPiece};
use crate::bytes::u32_at;
use crate::fault::{Fault, Result};
use std::collections::BTreeMap;
use std::ops::Range;
use vlf::{
    FIRST_VLF_OFFSET, Lsn, PAGE_BYTES, ReadAt, ReadFault, SECTOR_BYTES, VLF_HEADER_BYTES, VlfBlocks, VlfHeader,
    VlfSequence, WalkStep,
};

/// Log comes in pieces of so many bytes.
const UNIT_BYTES: u64 = 65_536;

/// Bytes of the backup that are bytes of the log file.
#[derive(Clone, Copy, Debug)]
struct Piece {
    media: usize,
    offset: u64,
    bytes: u64,
}

/// One log file of a backup set.
pub struct LogImage<'b, S> {
    backup: &'b Backup<S>,
    file: u32,
    bytes: u64,
    page_zero: Vec<u8>,
    vlfs: BTreeMap<u64, VlfHeader>,
    /// Where the log of a VLF ends in the log file, by the offset of the VLF; only of those that the backup has log of.
    ends: BTreeMap<u64, u64>,
    /// By offset in the log file; they do not overlap.
    pieces: BTreeMap<u64, Piece>,
    left_out_bytes: u64,
}

impl<S: ReadAt> Backup<S> {
    /// The log files of set `set`, by id. Empty if the set has no log.
    ///
    /// # Errors
    /// There is no such set, the VLFs of a file do not lie one behind the other, or a source cannot be read.
    pub fn logs(&self, set: usize) -> Result<Vec<LogImage<'_, S>>> {
        let set = self
            .sets
            .get(set)
            .ok_or_else(|| Fault::whole(format!("it has no backup set number {}", set + 1)))?;
        let mut pieces: BTreeMap<u32, Vec<&LogPiece>> = BTreeMap::new();
        for piece in &set.log {
            pieces.entry(piece.file).or_default().push(piece);
        }
        pieces
            .into_iter()
            .map(|(file, pieces)| LogImage::new(self, file, &pieces))
            .collect()
    }
}

impl<'b, S: ReadAt> LogImage<'b, S> {
    fn new(backup: &'b Backup<S>, file: u32, pieces: &[&LogPiece]) -> Result<LogImage<'b, S>> {
        let mut vlfs = BTreeMap::new();
        for piece in pieces {
            let before = vlfs.insert(piece.vlf.start_offset, piece.vlf);
            if before.is_some_and(|before| before != piece.vlf) {
                return Err(Fault::whole(format!(
                    "it describes the VLF at offset {} of the log file in two ways",
                    piece.vlf.start_offset
                )));
            }
        }
        let mut bytes = FIRST_VLF_OFFSET;
        for vlf in vlfs.values() {
            let follows = vlf.start_offset == bytes && vlf.vlf_bytes >= VLF_HEADER_BYTES;
            bytes = follows
                .then(|| bytes.checked_add(vlf.vlf_bytes))
                .flatten()
                .ok_or_else(|| {
                    Fault::whole(format!(
                        "its list of VLFs has a gap: one begins at offset {} of the log file, where {bytes} was expected",
                        vlf.start_offset
                    ))
                })?;
        }
        let mut ends = BTreeMap::new();
        for piece in pieces.iter().filter(|piece| piece.from < piece.to) {
            let end = ends.entry(piece.vlf.start_offset).or_insert(piece.to);
            *end = piece.to.max(*end);
        }
        let mut image = LogImage {
            backup,
            file,
            bytes,
            page_zero: page_zero(),
            vlfs,
            ends,
            pieces: BTreeMap::new(),
            left_out_bytes: 0,
        };
        for piece in pieces {
            image.add(piece)?;
        }
        Ok(image)
    }

    /// The log file's id in its database.
    pub fn file_id(&self) -> u32 {
        self.file
    }

    /// Whether the byte at `offset` of the log file is in the backup.
    pub fn is_present(&self, offset: u64) -> bool {
        let piece = self.pieces.range(..=offset).next_back();
        piece.is_some_and(|(start, piece)| offset - start < piece.bytes)
    }

    /// Bytes of log whose place is not known.
    pub fn left_out_bytes(&self) -> u64 {
        self.left_out_bytes
    }

    /// The log that the backup says it has is there, block behind block.
    ///
    /// # Errors
    /// Of the first part that is missing or damaged; a source cannot be read.
    pub fn check_whole(&self) -> Result<()> {
        for vlf in self.vlfs.values() {
            let all = vlf.start_offset..vlf.start_offset.saturating_add(vlf.vlf_bytes);
            let pieces = self.pieces.range(all);
            let parts = joined(pieces.map(|(start, piece)| *start..start + piece.bytes));
            if let Some(end) = self.ends.get(&vlf.start_offset) {
                self.check_vlf(vlf, &parts, *end)?;
            }
        }
        Ok(())
    }

    /// The VLFs of which the backup has log, by sequence number, and where that log ends within each.
    pub fn ends(&self) -> impl Iterator<Item = (VlfSequence, u64)> {
        let ends = self.ends.iter();
        ends.filter_map(|(start, end)| Some((self.vlfs.get(start)?.sequence, end - start)))
    }

    /// `parts` of a VLF are blocks that follow one another, up to `end`.
    fn check_vlf(&self, vlf: &VlfHeader, parts: &[Range<u64>], end: u64) -> Result<()> {
        let mut blocks = VlfBlocks::new(self, vlf);
        loop {
            match blocks.next_step()? {
                WalkStep::Block(_) => {}
                WalkStep::Gap { offset, bytes, .. } => {
                    let hit = |part: &&Range<u64>| match bytes {
                        // A block that does not follow the one before it may begin a part, and nothing else.
                        0 => part.start < offset && offset < part.end,
                        _ => part.start < offset + bytes && offset < part.end,
                    };
                    if parts.iter().any(|part| hit(&part)) {
                        return Err(missing(vlf, offset, "no log block is"));
                    }
                }
                WalkStep::End { offset, .. } if offset < end => return Err(missing(vlf, offset, "no log block is")),
                WalkStep::End { .. } => return Ok(()),
            }
        }
    }

    fn add(&mut self, piece: &LogPiece) -> Result<()> {
        let is_striped = self.backup.media.iter().filter(|media| !media.is_mirror).count() > 1
            || self.backup.missing_families().0 > 1;
        let mut place = piece.from;
        for (offset, bytes) in &piece.streams {
            if !is_striped {
                self.put(piece, place, *offset, *bytes);
                place = place.saturating_add(*bytes);
                continue;
            }
            for unit in (0..*bytes).step_by(UNIT_BYTES as usize) {
                let unit_bytes = UNIT_BYTES.min(bytes - unit);
                match self.place_of(piece, offset + unit)? {
                    Some(place) => self.put(piece, place, offset + unit, unit_bytes),
                    None => self.left_out_bytes += unit_bytes,
                }
            }
        }
        Ok(())
    }

    /// Puts `bytes` at `place`, as far as the block MSTL says that there is log.
    fn put(&mut self, piece: &LogPiece, place: u64, offset: u64, bytes: u64) {
        let end = piece.to.min(piece.vlf.span().end()).min(self.bytes);
        let bytes = bytes.min(end.saturating_sub(place));
        if place < piece.vlf.start_offset + VLF_HEADER_BYTES || bytes == 0 {
            return;
        }
        let media = piece.media;
        let overlaps = self
            .pieces
            .range(..place + bytes)
            .next_back()
            .is_some_and(|(start, other)| start + other.bytes > place);
        match overlaps {
            true => self.left_out_bytes += bytes,
            false => {
                self.pieces.insert(place, Piece { media, offset, bytes });
            }
        }
    }

    /// Where the log block at `offset` of the backup belongs by its own LSN.
    fn place_of(&self, piece: &LogPiece, offset: u64) -> Result<Option<u64>> {
        let mut sector = [0; SECTOR_BYTES];
        self.backup.media[piece.media].stream.read_at(offset, &mut sector)?;
        let lsn = Lsn::read(&sector, 12).unwrap_or(Lsn::ZERO);
        let is_of_vlf = VlfSequence(lsn.vlf) == piece.vlf.sequence && u32_at(&sector, 0) != Some(0);
        Ok(is_of_vlf.then(|| piece.vlf.start_offset.saturating_add(lsn.offset_in_vlf())))
    }
}

/// Ranges that touch, as one.
fn joined(ranges: impl Iterator<Item = Range<u64>>) -> Vec<Range<u64>> {
    let mut all: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match all.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => all.push(range),
        }
    }
    all
}

fn missing(vlf: &VlfHeader, offset: u64, what: &str) -> Fault {
    Fault::whole(format!(
        "{what} at offset {offset} of the log file, in VLF {}, where the backup set has log",
        vlf.sequence.0
    ))
}

/// A file header page that says nothing but what it is.
fn page_zero() -> Vec<u8> {
    let mut page = vec![0; PAGE_BYTES as usize];
    page[0] = 1;
    page[1] = 15;
    page
}

impl<S: ReadAt> ReadAt for LogImage<'_, S> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> std::result::Result<(), ReadFault> {
        let end = offset
            .checked_add(buffer.len() as u64)
            .filter(|end| *end <= self.bytes)
            .ok_or_else(|| ReadFault {
                offset,
                reason: "beyond the end of the log file".to_owned(),
            })?;
        buffer.fill(0);
        lay_over(buffer, offset, 0, &self.page_zero);
        for (start, vlf) in self.vlfs.range(..end).rev() {
            lay_over(buffer, offset, *start, &vlf.encode());
            if *start < offset {
                break;
            }
        }
        for (start, piece) in self.pieces.range(..end).rev() {
            let from = offset.max(*start);
            let to = end.min(start + piece.bytes);
            if from >= to {
                break;
            }
            let target = &mut buffer[(from - offset) as usize..(to - offset) as usize];
            self.backup.media[piece.media]
                .stream
                .read_at(piece.offset + (from - start), target)?;
        }
        Ok(())
    }

    fn len(&self) -> u64 {
        self.bytes
    }

    fn next_data(&self, offset: u64) -> u64 {
        if self.is_present(offset) || offset < FIRST_VLF_OFFSET {
            return offset;
        }
        // A header of a VLF that `offset` is within counts as data.
        let header = self.vlfs.range(..=offset).next_back();
        if header.is_some_and(|(start, _)| offset < start + VLF_HEADER_BYTES) {
            return offset;
        }
        let piece = self.pieces.range(offset..).next().map(|(start, _)| *start);
        let vlf = self.vlfs.range(offset..).next().map(|(start, _)| *start);
        [piece, vlf].into_iter().flatten().min().unwrap_or(self.bytes)
    }
}

/// Copies what of `bytes`, which lie at `start`, falls into `buffer`, which lies at `offset`.
fn lay_over(buffer: &mut [u8], offset: u64, start: u64, bytes: &[u8]) {
    let end = offset + buffer.len() as u64;
    let from = offset.max(start);
    let to = end.min(start + bytes.len() as u64);
    if from < to {
        let source = &bytes[(from - start) as usize..(to - start) as usize];
        buffer[(from - offset) as usize..(to - offset) as usize].copy_from_slice(source);
    }
}
