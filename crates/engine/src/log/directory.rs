//! The directory of VLF states: startup reads it instead of one header per VLF.
//!
//! It is a file beside the first log file, `<log file>.vlfs`. VLF headers are written with or without a directory: they are authoritative,
//! and the directory is a checked shortcut to them. It holds one fact that no header has: the create LSN of a VLF without a header (never
//! entered), once page 0 has dropped its growth. If the directory is lost, such a VLF shows 0 as its create LSN, as if it had been created
//! with its file.
//!
//! ```text
//! 0      header, copy A (4096)   two alternating copies: the sound one with the higher generation counts
//! 4096   header, copy B (4096)
//! 8192   part 0 | part 1 | ...   4096 bytes each, 169 VLFs each, over all log files in the order of file ids
//!
//! header 0 "VLFLABDR" | 8 u32 format 2 | 12 u32 log files | 16 u64 generation | 24 u32 oldest needed sequence
//!        28 u32 sequence last entered | 32 per file: u16 file id, u16 0, u32 VLFs, u64 created | 4092 u32 CRC32C before
//! part   0 u32 CRC32C of the rest | 4 u32 number | 8 u64 generation | 16 u64 0
//!        24 per VLF: u32 pages of 8 KB, u32 sequence, u32 uses, u16 0, create LSN (10)
//! ```
//! **Guarantees.** The directory describes one moment of the log: the state of every VLF on disk, and the VLF that was entered last. Every
//! VLF below the oldest needed sequence was free at that moment. A VLF becomes needed again only by being entered, so the VLFs entered
//! since can be found from their neighbours ([`super::follow`]).
//!
//! **When it is written.** When a log is opened for appending without a trusted directory; after checkpoints; after every eighth growth;
//! when the log is closed; by RESTORE. It is never written in the path of a commit. A save writes only parts with a changed VLF, syncs
//! them, and then writes a header. A part with a higher generation than the header comes from an interrupted save: startup reads the
//! headers of its VLFs. A shrink deletes the directory first.
//!
//! | directory | what startup does |
//! |---|---|
//! | missing, or neither header sound | reads every VLF header |
//! | belongs to other files: id, creation or order differ, or it has more VLFs than page 0 | the same |
//! | a part torn, damaged or newer than the header | reads the headers of its VLFs |
//! | lacks VLFs that page 0 has (a later growth) | reads their headers |
//! | contradicts the headers of the VLFs that were entered last | reads every VLF header |
//! | the VLFs entered since cannot be followed from it without a gap | reads every VLF header |
//! | none of these | trusts it |
//!
//! With classic discovery there is no directory; startup deletes an existing one.

use super::LogManager;
use super::files::LogFileImage;
use super::hold::Held;
use super::policy::DiscoveryMode;
use super::state::LogState;
use super::table::{VlfPlace, VlfTable};
use crate::error::{Error, Result};
use disk::{Access, AlignedBuffer, Disk, DiskError, DiskErrorKind, File};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use vlf::file_header::GROWTHS_MAX;
use vlf::{Lsn, PAGE_BYTES, VlfHeader};

const MAGIC: &[u8; 8] = b"VLFLABDR";
/// Under format 1 the log went through its VLFs in the order of the file: such a directory cannot be followed.
const FORMAT: u32 = 2;
const PART_BYTES: usize = 4096;
const PART_HEADER_BYTES: usize = 24;
const ENTRY_BYTES: usize = 24;
/// Growths after which the directory is saved, so that page 0 still remembers those since the last save.
pub(super) const SAVE_EVERY_GROWTHS: usize = GROWTHS_MAX / 2;
/// VLFs of one part.
pub(super) const ENTRIES_PER_PART: usize = (PART_BYTES - PART_HEADER_BYTES) / ENTRY_BYTES;
/// Where part 0 begins: behind the two headers.
const PARTS_OFFSET: usize = 2 * PART_BYTES;
const FILE_BYTES: usize = 16;
const FILES_OFFSET: usize = 32;
const CRC_OFFSET: usize = PART_BYTES - 4;
const FILES_MAX: usize = (CRC_OFFSET - FILES_OFFSET) / FILE_BYTES;
/// Parts that lie one after another and become one write.
const JOINED_PARTS_MAX: usize = 256;

/// The directory's path, given the path of the first log file.
pub fn directory_path(log_file: &Path) -> PathBuf {
    let mut path = log_file.as_os_str().to_os_string();
    path.push(".vlfs");
    PathBuf::from(path)
}

/// Deletes the directory beside a log file, if there is one.
///
/// # Errors
/// Those of deleting.
pub fn delete_directory(disk: &dyn Disk, log_file: &Path) -> std::result::Result<(), DiskError> {
    match disk.delete(&directory_path(log_file)) {
        Err(error) if error.kind != DiskErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A log file as the directory knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DirectoryFile {
    pub(super) id: u16,
    pub(super) created: u64,
    pub(super) vlf_count: u32,
}

/// A VLF as the directory knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) vlf_bytes: u64,
    pub(super) sequence: u32,
    pub(super) use_count: u32,
    pub(super) create_lsn: Lsn,
}

/// What a directory says, as far as its checksums hold.
pub(super) struct Recorded {
    header: Header,
    /// Copy that holds the header.
    slot: usize,
    /// Higher than that of any part.
    next_generation: u64,
    /// The parts as they were read: entries are decoded when they are asked for.
    parts: AlignedBuffer,
    /// Which parts can be used.
    usable: Vec<bool>,
    handle: Arc<dyn File>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Header {
    generation: u64,
    needed: u32,
    last: u32,
    files: Vec<DirectoryFile>,
}

fn put(bytes: &mut [u8], offset: usize, part: &[u8]) {
    bytes[offset..offset + part.len()].copy_from_slice(part);
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    bytes
        .get(offset..)?
        .first_chunk()
        .map(|bytes| u32::from_le_bytes(*bytes))
}

fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    bytes
        .get(offset..)?
        .first_chunk()
        .map(|bytes| u64::from_le_bytes(*bytes))
}

impl Header {
    fn encode(&self) -> AlignedBuffer {
        let mut bytes = AlignedBuffer::with_len(PART_BYTES);
        put(&mut bytes, 0, MAGIC);
        put(&mut bytes, 8, &FORMAT.to_le_bytes());
        put(&mut bytes, 12, &(self.files.len() as u32).to_le_bytes());
        put(&mut bytes, 16, &self.generation.to_le_bytes());
        put(&mut bytes, 24, &self.needed.to_le_bytes());
        put(&mut bytes, 28, &self.last.to_le_bytes());
        for (index, file) in self.files.iter().take(FILES_MAX).enumerate() {
            let offset = FILES_OFFSET + index * FILE_BYTES;
            put(&mut bytes, offset, &file.id.to_le_bytes());
            put(&mut bytes, offset + 4, &file.vlf_count.to_le_bytes());
            put(&mut bytes, offset + 8, &file.created.to_le_bytes());
        }
        let crc = crc32c::crc32c(&bytes[..CRC_OFFSET]);
        put(&mut bytes, CRC_OFFSET, &crc.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Header> {
        let sound = bytes.starts_with(MAGIC)
            && u32_at(bytes, 8)? == FORMAT
            && u32_at(bytes, CRC_OFFSET)? == crc32c::crc32c(bytes.get(..CRC_OFFSET)?);
        let count = u32_at(bytes, 12).filter(|count| sound && *count as usize <= FILES_MAX)?;
        let file = |index: usize| {
            let offset = FILES_OFFSET + index * FILE_BYTES;
            Some(DirectoryFile {
                id: u16::from_le_bytes(*bytes.get(offset..)?.first_chunk()?),
                vlf_count: u32_at(bytes, offset + 4)?,
                created: u64_at(bytes, offset + 8)?,
            })
        };
        Some(Header {
            generation: u64_at(bytes, 16)?,
            needed: u32_at(bytes, 24)?,
            last: u32_at(bytes, 28)?,
            files: (0..count as usize).map(file).collect::<Option<_>>()?,
        })
    }
}

impl Entry {
    /// `former` = the sequence to record for a VLF that was entered in memory only.
    fn of(header: &VlfHeader, former: Option<u32>) -> Entry {
        Entry {
            vlf_bytes: header.vlf_bytes,
            sequence: former.unwrap_or(header.sequence.0),
            use_count: header.use_count - u32::from(former.is_some()),
            create_lsn: header.create_lsn,
        }
    }

    fn encode(&self, bytes: &mut [u8]) {
        put(bytes, 0, &((self.vlf_bytes / PAGE_BYTES) as u32).to_le_bytes());
        put(bytes, 4, &self.sequence.to_le_bytes());
        put(bytes, 8, &self.use_count.to_le_bytes());
        put(bytes, 14, &self.create_lsn.to_bytes());
    }

    fn decode(bytes: &[u8]) -> Option<Entry> {
        Some(Entry {
            vlf_bytes: u64::from(u32_at(bytes, 0)?) * PAGE_BYTES,
            sequence: u32_at(bytes, 4)?,
            use_count: u32_at(bytes, 8)?,
            create_lsn: Lsn::read(bytes, 14)?,
        })
    }
}

/// The generation of a sound part.
fn part_generation(bytes: &[u8], number: usize) -> Option<u64> {
    let sound = u32_at(bytes, 0)? == crc32c::crc32c(bytes.get(4..)?) && u32_at(bytes, 4)? as usize == number;
    u64_at(bytes, 8).filter(|_| sound)
}

impl Recorded {
    /// Reads the directory beside a log file in one read. `None` = there is none that has a sound header.
    ///
    /// # Errors
    /// Those of reading.
    pub(super) fn read(disk: &dyn Disk, log_file: &Path) -> std::result::Result<Option<Recorded>, DiskError> {
        let handle = match disk.open(&directory_path(log_file), Access::Direct) {
            Err(error) if error.kind == DiskErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let len = usize::try_from(handle.len()?).unwrap_or(0) / PART_BYTES * PART_BYTES;
        if len < PARTS_OFFSET {
            return Ok(None);
        }
        let mut bytes = AlignedBuffer::with_len(len);
        handle.read_at(0, &mut bytes)?;
        Ok(Recorded::decode(bytes, handle))
    }

    fn decode(bytes: AlignedBuffer, handle: Arc<dyn File>) -> Option<Recorded> {
        let copies = bytes.get(..PARTS_OFFSET)?.chunks_exact(PART_BYTES).enumerate();
        let sound = copies.filter_map(|(slot, copy)| Some((slot, Header::decode(copy)?)));
        let (slot, header) = sound.max_by_key(|(_, header)| header.generation)?;
        let vlf_count: u64 = header.files.iter().map(|file| u64::from(file.vlf_count)).sum();
        let parts = bytes.get(PARTS_OFFSET..)?;
        if vlf_count > (parts.len() / PART_BYTES * ENTRIES_PER_PART) as u64 {
            return None;
        }
        let mut usable = Vec::with_capacity(parts.len() / PART_BYTES);
        let mut newest = header.generation;
        for (number, part) in parts.chunks_exact(PART_BYTES).enumerate() {
            let generation = part_generation(part, number);
            newest = newest.max(generation.unwrap_or(0));
            usable.push(generation.is_some_and(|generation| generation <= header.generation));
        }
        Some(Recorded {
            header,
            slot,
            next_generation: newest.saturating_add(1),
            parts: bytes,
            usable,
            handle,
        })
    }

    /// The VLF at an index of the order of files and places; `None` where the part cannot be used.
    pub(super) fn entry(&self, index: usize) -> Option<Entry> {
        let (part, place) = (index / ENTRIES_PER_PART, index % ENTRIES_PER_PART);
        let offset = PARTS_OFFSET + part * PART_BYTES + PART_HEADER_BYTES + place * ENTRY_BYTES;
        let is_usable = self.usable.get(part) == Some(&true);
        let bytes = self.parts.get(offset..offset + ENTRY_BYTES).filter(|_| is_usable)?;
        Entry::decode(bytes)
    }

    /// Oldest sequence that was needed.
    pub(super) fn needed(&self) -> u32 {
        self.header.needed
    }

    /// Sequence of the VLF that was entered last.
    pub(super) fn last(&self) -> u32 {
        self.header.last
    }

    pub(super) fn files(&self) -> &[DirectoryFile] {
        &self.header.files
    }
}

/// The create LSN of every VLF of a log file that the directory beside it knows, by the VLF's offset. Empty when there is no directory,
/// or one of other files.
///
/// # Errors
/// Those of reading.
pub fn recorded_create_lsns(
    disk: &dyn Disk,
    log_file: &Path,
    file_id: u16,
    created_ticks: u64,
) -> std::result::Result<BTreeMap<u64, Lsn>, DiskError> {
    let Some(recorded) = Recorded::read(disk, log_file)? else {
        return Ok(BTreeMap::new());
    };
    let files = recorded.files();
    let Some(position) = files
        .iter()
        .position(|file| (file.id, file.created) == (file_id, created_ticks))
    else {
        return Ok(BTreeMap::new());
    };
    let vlfs_before = files
        .iter()
        .take(position)
        .map(|file| file.vlf_count as usize)
        .sum::<usize>();
    let vlf_count = files.get(position).map_or(0, |file| file.vlf_count as usize);
    // After an unusable part, the position of a VLF is unknown.
    let entries = (vlfs_before..vlfs_before.saturating_add(vlf_count)).map_while(|index| recorded.entry(index));
    let placed = entries.scan(vlf::FIRST_VLF_OFFSET, |offset, entry| {
        let start = *offset;
        *offset = offset.checked_add(entry.vlf_bytes)?;
        Some((start, entry.create_lsn))
    });
    Ok(placed.collect())
}

/// What the log remembers of its directory between two saves.
#[derive(Default)]
pub(super) struct DirectoryState {
    handle: Option<Arc<dyn File>>,
    /// The header on disk; `None` = there is no directory, or it must be written again.
    saved: Option<Header>,
    slot: usize,
    generation: u64,
    /// VLFs entered since the last save, with their sequence before.
    changed: Vec<(VlfPlace, u32)>,
    growths_since_save: usize,
    /// Parts to be written whatever has changed.
    unusable: BTreeSet<usize>,
    /// A thread is writing it.
    pub(super) saving: bool,
}

impl DirectoryState {
    /// After a start that trusted what was recorded. `read` = places whose headers were read, which the directory did not
    /// know or may not know.
    pub(super) fn trusted(recorded: Recorded, read: &[usize]) -> DirectoryState {
        DirectoryState {
            handle: Some(recorded.handle),
            saved: Some(recorded.header),
            slot: recorded.slot,
            generation: recorded.next_generation,
            changed: Vec::new(),
            growths_since_save: 0,
            unusable: read.iter().map(|index| index / ENTRIES_PER_PART).collect(),
            saving: false,
        }
    }

    /// A VLF is entered in memory. `former` = its sequence before.
    pub(super) fn note_entered(&mut self, place: VlfPlace, former: u32) {
        self.changed.push((place, former));
    }

    /// A growth is on disk.
    pub(super) fn note_growth(&mut self) {
        self.growths_since_save += 1;
    }

    /// Growths that only page 0 knows.
    pub(super) fn growths_since_save(&self) -> usize {
        self.growths_since_save
    }

    /// True when there is a directory on disk that this log's start did trust.
    pub(super) fn is_saved(&self) -> bool {
        self.saved.is_some()
    }

    /// What a save has to write; `None` when nothing has changed.
    fn plan(&mut self, table: &VlfTable, durable_sequence: u32) -> Option<Save> {
        let (needed, last) = table.active_sequences()?;
        let header = Header {
            generation: self.generation,
            needed,
            last: last.min(durable_sequence),
            files: table.directory_files(),
        };
        if header.files.len() > FILES_MAX {
            return None;
        }
        let former: HashMap<VlfPlace, u32> = self
            .changed
            .iter()
            .filter(|(place, _)| table.vlf(*place).is_some_and(|vlf| vlf.header.sequence.0 > header.last))
            .copied()
            .collect();
        let parts = self.parts_to_write(&header.files);
        let same = |saved: &Header| {
            Header {
                generation: header.generation,
                ..saved.clone()
            } == header
        };
        if parts.is_empty() && self.saved.as_ref().is_some_and(same) {
            return None;
        }
        let part = |number: usize| {
            let first = number * ENTRIES_PER_PART;
            let places = (first..first + ENTRIES_PER_PART).map_while(|index| table.place_at(index));
            let vlfs =
                places.filter_map(|place| Some(Entry::of(&table.vlf(place)?.header, former.get(&place).copied())));
            (number, encode_part(number, header.generation, vlfs))
        };
        let parts = parts.into_iter().map(part).collect();
        self.changed.retain(|(place, _)| former.contains_key(place));
        self.unusable.clear();
        self.growths_since_save = 0;
        Some(Save { header, parts })
    }

    fn parts_to_write(&self, files: &[DirectoryFile]) -> BTreeSet<usize> {
        let mut starts = HashMap::new();
        let mut vlf_count = 0;
        for file in files {
            starts.insert(file.id, vlf_count);
            vlf_count += file.vlf_count as usize;
        }
        let known = self
            .saved
            .as_ref()
            .map_or(0, |saved| unchanged_places(&saved.files, files));
        let part_count = vlf_count.div_ceil(ENTRIES_PER_PART);
        let mut parts: BTreeSet<usize> = (known / ENTRIES_PER_PART..part_count).collect();
        if known == vlf_count {
            parts.clear();
        }
        let place = |(place, _): &(VlfPlace, u32)| Some((starts.get(&place.file)? + place.index) / ENTRIES_PER_PART);
        parts.extend(self.changed.iter().filter_map(place));
        parts.extend(self.unusable.iter().filter(|part| **part < part_count));
        parts
    }
}

/// Places, from the first on, that are the same VLFs in both.
fn unchanged_places(before: &[DirectoryFile], now: &[DirectoryFile]) -> usize {
    let mut places = 0;
    for (before, now) in before.iter().zip(now) {
        if (before.id, before.created) != (now.id, now.created) {
            break;
        }
        places += before.vlf_count.min(now.vlf_count) as usize;
        if before.vlf_count != now.vlf_count {
            break;
        }
    }
    places
}

fn encode_part(number: usize, generation: u64, vlfs: impl Iterator<Item = Entry>) -> AlignedBuffer {
    let mut bytes = AlignedBuffer::with_len(PART_BYTES);
    put(&mut bytes, 4, &(number as u32).to_le_bytes());
    put(&mut bytes, 8, &generation.to_le_bytes());
    for (place, entry) in bytes[PART_HEADER_BYTES..].chunks_exact_mut(ENTRY_BYTES).zip(vlfs) {
        entry.encode(place);
    }
    let crc = crc32c::crc32c(&bytes[4..]);
    put(&mut bytes, 0, &crc.to_le_bytes());
    bytes
}

/// One save, ready to be written.
struct Save {
    header: Header,
    parts: Vec<(usize, AlignedBuffer)>,
}

impl Save {
    fn write(&self, file: &dyn File, slot: usize) -> std::result::Result<(), DiskError> {
        let adjacent = |a: &(usize, AlignedBuffer), b: &(usize, AlignedBuffer)| a.0 + 1 == b.0;
        for run in self
            .parts
            .chunk_by(adjacent)
            .flat_map(|run| run.chunks(JOINED_PARTS_MAX))
        {
            let Some((first, _)) = run.first() else { continue };
            let bytes: Vec<&[u8]> = run.iter().map(|(_, bytes)| &bytes[..]).collect();
            file.write_vectored_at((PARTS_OFFSET + first * PART_BYTES) as u64, &bytes)?;
        }
        if !self.parts.is_empty() {
            file.sync()?;
        }
        file.write_durable_at((slot * PART_BYTES) as u64, &self.header.encode())
    }
}

/// Writes the directory of log files that are not open as a log, in the order of their ids. Nothing is written when no VLF
/// was entered, or there are more files than a directory lists.
///
/// # Errors
/// Those of creating and writing; the directory is then missing, or has no sound header.
pub fn write_directory(
    disk: &dyn Disk,
    log_file: &Path,
    files: &[&LogFileImage],
) -> std::result::Result<(), DiskError> {
    let headers = || files.iter().flat_map(|file| &file.headers);
    let mut used: Vec<u32> = headers()
        .map(|header| header.sequence.0)
        .filter(|used| *used > 0)
        .collect();
    used.sort_unstable();
    let Some(last) = used.last().copied().filter(|_| files.len() <= FILES_MAX) else {
        return Ok(());
    };
    let connected = used
        .iter()
        .rev()
        .zip(0..)
        .take_while(|(used, distance)| **used == last - distance);
    let listed = |file: &&LogFileImage| DirectoryFile {
        id: file.page.file_id,
        created: file.page.created_ticks,
        vlf_count: file.headers.len() as u32, // a file of 2 TB has room for 8.6 million VLFs
    };
    let header = Header {
        generation: 1,
        needed: connected.last().map_or(last, |(used, _)| *used),
        last,
        files: files.iter().map(listed).collect(),
    };
    let entries: Vec<Entry> = headers().map(|header| Entry::of(header, None)).collect();
    let parts = entries.chunks(ENTRIES_PER_PART).enumerate();
    let save = Save {
        parts: parts
            .map(|(number, part)| (number, encode_part(number, 1, part.iter().copied())))
            .collect(),
        header,
    };
    delete_directory(disk, log_file)?;
    let file = disk.create(&directory_path(log_file), Access::Direct)?;
    save.write(&*file, 0)
}

impl LogManager {
    /// Before anything is appended: a directory that this start did not trust must not be trusted by the next one.
    pub(super) fn renew_directory(&self) -> Result<()> {
        let state = self.hold();
        let path = state.table.first_file_path();
        let keeps = state.policy.discovery == DiscoveryMode::Directory && state.directory.is_saved();
        drop(state);
        if let Some(path) = path.filter(|_| !keeps) {
            delete_directory(&*self.env.disk, &path).map_err(|error| self.latch(&error))?;
        }
        self.save_directory();
        Ok(())
    }

    /// Brings the directory up to date with what is durable in the log. A failure goes into the error log and has no other
    /// consequence: the next start reads more headers.
    pub fn save_directory(&self) {
        let mut state = self.hold();
        if !self.is_resumed() || self.check_usable().is_err() || state.directory.saving || state.resizing {
            return;
        }
        let Some(path) = state.table.first_file_path() else {
            return;
        };
        if state.policy.discovery == DiscoveryMode::Walk {
            if state.directory.is_saved() {
                state.directory = DirectoryState::default();
                let deleted = delete_directory(&*self.env.disk, &path);
                self.tell_directory_failure(deleted);
            }
            state.directory.changed.clear();
            return;
        }
        let durable = self.durable().sequence();
        let LogState { table, directory, .. } = &mut *state;
        let Some(save) = directory.plan(table, durable) else {
            return;
        };
        let (handle, slot) = (directory.handle.clone(), 1 - directory.slot);
        directory.saving = true;
        let written = Held::unlocked(&mut state, || {
            let handle = match handle {
                Some(handle) => handle,
                None => self.create_directory(&path)?,
            };
            save.write(&*handle, slot).map(|()| handle)
        });
        let directory = &mut state.directory;
        directory.saving = false;
        self.room.notify_all();
        match written {
            Ok(handle) => {
                directory.generation = save.header.generation + 1;
                (directory.handle, directory.slot) = (Some(handle), slot);
                directory.saved = Some(save.header);
            }
            Err(error) => {
                // Everything is written at the next try, under a higher generation than any part may have now.
                directory.generation = save.header.generation + 1;
                directory.saved = None;
                if error.kind == DiskErrorKind::Deleted {
                    directory.handle = None;
                }
                self.tell_directory_failure(Err(error));
            }
        }
    }

    fn create_directory(&self, log_file: &Path) -> std::result::Result<Arc<dyn File>, DiskError> {
        delete_directory(&*self.env.disk, log_file)?;
        self.env.disk.create(&directory_path(log_file), Access::Direct)
    }

    fn tell_directory_failure(&self, outcome: std::result::Result<(), DiskError>) {
        if let Err(error) = outcome {
            let what = format!("writing the VLF directory '{}'", error.path.display());
            let cause = Error::operating_system(&what, &Error::cause(&error));
            self.env.errorlog.write_error("Server", &cause);
        }
    }
}
