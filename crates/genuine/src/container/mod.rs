//! Backups: media files in Microsoft Tape Format, compressed or not, one or several that belong together, with one or several sets.
//!
//! ```text
//!   file ---- plain ----+                     +-- SSET: set 1 -- configuration, pieces of pages, pieces of log
//!   file -- compressed -+--> chain of blocks -+-- SSET: set 2
//!                            and streams      +-- ...
//!
//!   TAPE  SFMB | SSET  VOLB  MSCI{MQCI}  MSDA{APAD MQDA}  MSDA{..}  MSTL{APAD MQTL}  MSTL{..}  MSLS{MQCI}  SFMB  ESET{..}  ESET  SFMB | SSET ...
//!
//!   MQDA  two bytes, then extents of 64 KB in ascending order, those that are allocated; each page says in its header which it is
//!   MQTL  two bytes, then log blocks as they are in the log file, sector by sector, with zeros up to 64 KB
//! ```
//!
//! **A second MSDA** of the same files has the extents that changed while the first was written (file header, boot page, allocation maps): a
//! page in a later one overrides those before it. **MSTL** describes one VLF of the log, and what of it is in the backup
//! ([`log_image`]).
//!
//! **Several files.** `BACKUP ... TO DISK = a, DISK = b` deals the extents to the files in turn (stripes); the stream RAID of each says how many there
//! are and which it is. Every file has a chain of its own, with the same sets. That the MSDA of the same number belong together in all of them is
//! inferred. Two files with the same number are a mirror and its original: the first of them is read.
//!
//! Measured: the order of blocks, MQDA, MQTL and the overriding on 14 backups of SQL Server 2005 to 2022, of which one is a single stripe of two.

mod compressed;
mod extents;
pub mod huffman;
pub mod log_image;
mod mtf;
mod set;

pub use compressed::{Expanded, MAGIC};
pub use extents::{BackupPages, Pass};
pub use log_image::LogImage;
pub use mtf::{MediaHeader, TapeDate};
pub use set::{BackedUpFile, Configuration, SetHeader, SetKind};

use crate::bytes::{array_at, u16_at, u32_at, u64_at};
use crate::fault::{Fault, Result};
use mtf::{Block, Chain, Part, Stream, Tag, read};
use vlf::{FormatVersion, Lsn, Parity, ReadAt, ReadFault, VlfHeader, VlfSequence};

/// The largest stream of configuration that is read: a thousand files take 1 MB.
const CONFIGURATION_BYTES_MAX: u64 = 64 << 20;
/// Bytes of pages or log that a stream has behind its first two.
const CONTENT_PREFIX_BYTES: u64 = 2;

/// Whether a file begins as a backup does: its first 8 bytes.
pub fn is_backup(first_bytes: &[u8]) -> bool {
    first_bytes.starts_with(b"TAPE") || first_bytes.starts_with(MAGIC)
}

/// The chain of one file, expanded where it is compressed.
pub enum MediaStream<S> {
    Plain(S),
    Compressed(Expanded<S>),
}

impl<S: ReadAt> MediaStream<S> {
    fn open(source: S) -> Result<MediaStream<S>> {
        let bytes = source.len().min(8) as usize;
        match read(&source, 0, bytes)?.starts_with(MAGIC) {
            true => Ok(MediaStream::Compressed(Expanded::open(source)?)),
            false => Ok(MediaStream::Plain(source)),
        }
    }
}

impl<S: ReadAt> ReadAt for MediaStream<S> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> std::result::Result<(), ReadFault> {
        match self {
            MediaStream::Plain(source) => source.read_at(offset, buffer),
            MediaStream::Compressed(expanded) => expanded.read_at(offset, buffer),
        }
    }

    fn len(&self) -> u64 {
        match self {
            MediaStream::Plain(source) => source.len(),
            MediaStream::Compressed(expanded) => expanded.len(),
        }
    }
}

/// One file of a backup.
pub struct Media<S> {
    pub header: MediaHeader,
    stream: MediaStream<S>,
    /// It has the same family number as a file before it.
    is_mirror: bool,
}

impl<S: ReadAt> Media<S> {
    /// Its chain is in compressed chunks.
    pub fn is_compressed(&self) -> bool {
        matches!(self.stream, MediaStream::Compressed(_))
    }
}

/// Extents of a set, in one file.
#[derive(Clone, Copy, Debug)]
struct PagePiece {
    media: usize,
    /// Which MSDA of the set: later ones override.
    ordinal: usize,
    offset: u64,
    bytes: u64,
}

/// A VLF of the source, and the log of it that one file has.
#[derive(Clone, Debug)]
struct LogPiece {
    media: usize,
    /// The log file's id.
    file: u32,
    vlf: VlfHeader,
    /// Where what the backup has of it lies in the log file; equal if nothing.
    from: u64,
    to: u64,
    /// Where it lies in this file, 64 KB at a time.
    streams: Vec<(u64, u64)>,
}

/// What one BACKUP statement wrote, from its header SSET to its end ESET.
#[derive(Clone, Debug, Default)]
pub struct BackupSet {
    pub header: SetHeader,
    /// As it was at the end of the backup, or at its beginning where the end is missing.
    pub configuration: Configuration,
    /// The end of the set was found.
    pub is_complete: bool,
    /// Bytes of pages in the set, the doubled ones too.
    pub page_bytes: u64,
    /// Bytes of log in the set, with the zeros behind it.
    pub log_bytes: u64,
    pages: Vec<PagePiece>,
    log: Vec<LogPiece>,
}

/// A backup: the files that belong together, and their sets.
pub struct Backup<S> {
    media: Vec<Media<S>>,
    sets: Vec<BackupSet>,
    faults: Vec<Fault>,
}

impl<S: ReadAt> Backup<S> {
    /// Reads the chain of each file of a backup. One file is the usual case; several are its stripes and mirrors, in any order.
    ///
    /// # Errors
    /// A file cannot be read or does not begin as a backup does, or the files do not belong together. Damage behind the first set header is in
    /// [`Backup::faults`] instead.
    pub fn open(sources: Vec<S>) -> Result<Backup<S>> {
        let mut backup = Backup::default();
        for source in sources {
            if !backup.add(source)? {
                return Err(Fault::whole(
                    "the files are of different media sets: they do not belong together",
                ));
            }
        }
        Ok(backup)
    }

    /// Reads the chain of one more file. `false` if it does not belong to those that are there, and then it is left out.
    ///
    /// # Errors
    /// As [`Backup::open`].
    pub fn add(&mut self, source: S) -> Result<bool> {
        self.add_stream(MediaStream::open(source)?)
    }

    /// The files.
    pub fn media(&self) -> &[Media<S>] {
        &self.media
    }

    /// The sets, in the order they were written.
    pub fn sets(&self) -> &[BackupSet] {
        &self.sets
    }

    /// What of the chains could not be read.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// How many files the media set has, and which of them are missing, from 1.
    pub fn missing_families(&self) -> (u16, Vec<u16>) {
        let families = self.media.iter().map(|media| media.header.families).max().unwrap_or(1);
        let has = |family: u16| self.media.iter().any(|media| media.header.family == family);
        (families, (1..=families).filter(|family| !has(*family)).collect())
    }

    fn check_complete(&self) -> Result<()> {
        match self.missing_families() {
            (_, missing) if missing.is_empty() => Ok(()),
            (families, missing) => {
                let numbers: Vec<String> = missing.iter().map(u16::to_string).collect();
                Err(Fault::whole(format!(
                    "a backup in {families} files (stripes), which is read with all of them: number {} is missing",
                    numbers.join(", ")
                )))
            }
        }
    }

    fn add_stream(&mut self, stream: MediaStream<S>) -> Result<bool> {
        let number = self.media.len();
        let mut reader = ChainReader::new(number);
        let mut chain = Chain::new(&stream);
        loop {
            match chain.next_part() {
                Ok(Some(part)) => reader.take(&stream, part)?,
                Ok(None) => break,
                // Nothing is known of the file yet.
                Err(fault) if reader.media.is_none() => return Err(fault),
                Err(fault) => {
                    self.faults.push(fault);
                    break;
                }
            }
        }
        if let MediaStream::Compressed(expanded) = &stream {
            self.faults.extend(expanded.cut().cloned());
        }
        let Some(header) = reader.media.take() else {
            return Err(Fault::at_offset(
                0,
                "no backup: it does not begin with a media header (TAPE)",
            ));
        };
        let sets = reader.finish();
        let of_others = self
            .media
            .first()
            .is_some_and(|first| first.header.set_guid != header.set_guid);
        if of_others || !self.has_same_sets(&sets) {
            return Ok(false);
        }
        let is_mirror = self.media.iter().any(|media| media.header.family == header.family);
        if !is_mirror {
            self.merge(sets);
        }
        self.media.push(Media {
            header,
            stream,
            is_mirror,
        });
        Ok(true)
    }

    fn has_same_sets(&self, sets: &[BackupSet]) -> bool {
        let pairs = self.sets.iter().zip(sets);
        pairs
            .map(|(mine, other)| (mine.header.guid, other.header.guid))
            .all(|(mine, other)| mine == other)
    }

    /// Adds the parts that another file has of the sets.
    fn merge(&mut self, sets: Vec<BackupSet>) {
        if self.sets.is_empty() {
            self.sets = sets;
            return;
        }
        for (mine, other) in self.sets.iter_mut().zip(&sets) {
            mine.pages.extend_from_slice(&other.pages);
            mine.log.extend_from_slice(&other.log);
            mine.page_bytes += other.page_bytes;
            mine.log_bytes += other.log_bytes;
            mine.is_complete &= other.is_complete;
        }
        if sets.len() != self.sets.len() {
            self.faults
                .push(Fault::whole("its files have different numbers of backup sets"));
        }
    }
}

impl<S> Default for Backup<S> {
    fn default() -> Backup<S> {
        Backup {
            media: Vec::new(),
            sets: Vec::new(),
            faults: Vec::new(),
        }
    }
}

/// What a walk over one file has found.
struct ChainReader {
    number: usize,
    media: Option<MediaHeader>,
    sets: Vec<BackupSet>,
    /// The block whose streams are being read.
    block: Option<Tag>,
    /// MSDA of the current set so far.
    data_blocks: usize,
}

impl ChainReader {
    fn new(number: usize) -> ChainReader {
        ChainReader {
            number,
            media: None,
            sets: Vec::new(),
            block: None,
            data_blocks: 0,
        }
    }

    fn take<S: ReadAt>(&mut self, source: &S, part: Part) -> Result<()> {
        match part {
            Part::Block(block) => self.block(&block),
            Part::Stream(stream) => self.stream(source, stream)?,
        }
        Ok(())
    }

    fn block(&mut self, block: &Block) {
        self.block = Some(block.tag);
        match block.tag {
            mtf::TAPE if self.media.is_none() => self.media = Some(MediaHeader::of_tape(block)),
            mtf::SSET => {
                self.data_blocks = 0;
                self.sets.push(BackupSet {
                    header: SetHeader::of(block),
                    ..BackupSet::default()
                });
            }
            mtf::MSDA => self.data_blocks += 1,
            mtf::MSTL => {
                let number = self.number;
                if let (Some(set), Some(piece)) = (self.sets.last_mut(), log_piece(block, number)) {
                    set.log.push(piece);
                }
            }
            mtf::ESET => {
                if let Some(set) = self.sets.last_mut() {
                    set.is_complete = true;
                }
            }
            _ => {}
        }
    }

    fn stream<S: ReadAt>(&mut self, source: &S, stream: Stream) -> Result<()> {
        let content = stream
            .bytes
            .checked_sub(CONTENT_PREFIX_BYTES)
            .filter(|bytes| *bytes > 0);
        match (self.block, stream.tag) {
            (Some(mtf::TAPE), mtf::RAID) => {
                let head = read(source, stream.offset, stream.bytes.min(64) as usize)?;
                if let Some(media) = &mut self.media {
                    media.add_raid(&head);
                }
            }
            (Some(mtf::MSCI | mtf::MSLS), mtf::MQCI) if stream.bytes <= CONFIGURATION_BYTES_MAX => {
                let bytes = read(source, stream.offset, stream.bytes as usize)?;
                if let (Some(set), Some(found)) = (self.sets.last_mut(), Configuration::read(&bytes)) {
                    set.header.kind = SetKind::of_letter(found.letter).unwrap_or(set.header.kind);
                    set.configuration = found;
                }
            }
            (Some(mtf::MSDA), mtf::MQDA) => {
                let ordinal = self.data_blocks;
                if let (Some(set), Some(bytes)) = (self.sets.last_mut(), content) {
                    set.page_bytes += bytes;
                    set.pages.push(PagePiece {
                        media: self.number,
                        ordinal,
                        offset: stream.offset + CONTENT_PREFIX_BYTES,
                        bytes,
                    });
                }
            }
            (Some(mtf::MSTL), mtf::MQTL) => {
                if let (Some(set), Some(bytes)) = (self.sets.last_mut(), content) {
                    set.log_bytes += bytes;
                    if let Some(piece) = set.log.last_mut() {
                        piece.streams.push((stream.offset + CONTENT_PREFIX_BYTES, bytes));
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(self) -> Vec<BackupSet> {
        self.sets
    }
}

/// The fields of a block MSTL; see [`log_image`].
fn log_piece(block: &Block, media: usize) -> Option<LogPiece> {
    let bytes = &block.bytes;
    let file = u32_at(bytes, 76)?;
    let vlf = usize::from(u16_at(bytes, 82)?);
    let vlf = bytes.get(vlf..)?;
    let sequence = VlfSequence(u32_at(vlf, 0)?);
    let header = VlfHeader {
        format: FormatVersion::from_number(u16_at(vlf, 34)?)?,
        parity: Parity::from_byte(array_at::<1>(vlf, 22)?[0] & 0xC0)?,
        sequence,
        use_count: u32::from(sequence != VlfSequence::UNUSED),
        vlf_bytes: u64_at(vlf, 4)?,
        start_offset: u64_at(vlf, 12)?,
        create_lsn: Lsn::read(vlf, 24)?,
        durable_before: Lsn::ZERO,
    };
    Some(LogPiece {
        media,
        file,
        vlf: header,
        from: u64_at(bytes, 60)?,
        to: u64_at(bytes, 68)?,
        streams: Vec::new(),
    })
}
