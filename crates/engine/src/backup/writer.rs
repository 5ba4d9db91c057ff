//! Writing a set: the media files are created or opened, chunks are appended, and the headers come last.
//!
//! ```text
//! append -> [ checksum, compression: a thread per core ] -> in order -> 1 MB buffer -> [ writes: four in flight ]
//!                                                        \-> in turn, one for each file of a media set of several families
//! ```
//! The caller keeps reading; it waits only when [`CHUNKS_AHEAD`] chunks or [`WRITES_AHEAD`] writes are in flight.
//!
//! Of several files, each gets its part durable before any of them gets a header, and all headers are durable before a new file gets its name. Files
//! that exist are cut back to the sets that all of them have ([`super::media_set`]). A set that INIT or FORMAT writes over another one replaces the
//! files one after the other: a power cut between two of these renames leaves files of two media sets, which a restore refuses (3258).
//!
//! INIT and FORMAT write a new file under a temporary name and rename it at the end; until then the old file is intact. The old file is
//! kept open across the rename and closed in the background, because freeing the space of a large file takes the file system long. NOINIT
//! appends after the last complete set; leftovers of a crash are cut off first.
//!
//! The null device takes the same path, but the bytes are discarded instead of written.

use super::description::SetDescription;
use super::format::{CHUNK_BYTES_MAX, ChunkHeader, ChunkKind, LABEL_BYTES, MediaLabel, SET_HEADER_BYTES, SetHeader};
use super::media_set::MediaSet;
use super::reader::MediaReader;
use crate::error::{Error, Result};
use crate::ordered::Ordered;
use crate::seams::Environment;
use crate::waits::WaitType;
use disk::{Access, AlignedBuffer, DiskError, DiskErrorKind, File};
use std::path::PathBuf;
use std::sync::Arc;

/// Zstandard's fastest level that compresses well: a backup should be bound by the disk.
const COMPRESSION_LEVEL: i32 = 1;
/// Bytes of one write: a multiple of what direct writes are aligned to.
const WRITE_BYTES: usize = 1 << 20;

/// Threads that checksum and compress.
const ENCODERS: usize = 2;
/// Chunks given to them before the caller waits.
const CHUNKS_AHEAD: usize = 4;
/// Writes given to the system before the caller waits; of more than two files, one for each file.
const WRITES_AHEAD: usize = 4;
/// The media file's space is reserved ahead, as much again as the set has, within these bounds: writing into space that a file
/// has is faster than making it longer.
const RESERVED_BYTES_MIN: u64 = 4 << 20;
const RESERVED_BYTES_MAX: u64 = 256 << 20;

/// Bytes on their way into a chunk: part of a buffer that is used again.
pub struct Payload {
    /// The bytes begin it.
    pub buffer: AlignedBuffer,
    /// How many there are.
    pub len: usize,
}

impl Payload {
    /// An empty payload with room for a chunk.
    pub fn empty() -> Payload {
        Payload {
            buffer: AlignedBuffer::with_len(CHUNK_BYTES_MAX),
            len: 0,
        }
    }

    fn bytes(&self) -> &[u8] {
        &self.buffer[..self.len]
    }
}

/// A chunk to be made.
struct Job {
    kind: ChunkKind,
    address: u64,
    payload: Payload,
}

/// A chunk but for its place in the set.
struct Encoded {
    kind: ChunkKind,
    address: u64,
    payload: Payload,
    compressed: Option<Vec<u8>>,
    crc: u32,
}

impl Encoded {
    fn of(job: Job, compressor: Option<&mut zstd::bulk::Compressor<'static>>) -> Encoded {
        let plain = job.payload.bytes();
        let compressed = compressor.and_then(|compressor| compressor.compress(plain).ok());
        let compressed = compressed.filter(|compressed| compressed.len() < plain.len());
        let crc = crc32c::crc32c(compressed.as_deref().unwrap_or(plain));
        Encoded {
            kind: job.kind,
            address: job.address,
            payload: job.payload,
            compressed,
            crc,
        }
    }
}

/// A buffer to be written at an offset.
struct WriteJob {
    offset: u64,
    buffer: AlignedBuffer,
    len: usize,
}

/// How it went, and the buffer back.
struct Written {
    outcome: std::result::Result<(), DiskError>,
    buffer: AlignedBuffer,
}

/// How the media file is to be treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MediaOptions<'a> {
    pub init: bool,
    pub format: bool,
    pub compression: bool,
    /// MEDIANAME for a new file.
    pub media_name: &'a str,
    /// A guid for the set; a new media file gets it too.
    pub set_guid: [u8; 16],
}

/// Where a set is to be written.
pub enum MediaPlace {
    /// Nowhere.
    Null,
    /// Behind the sets of this file.
    Existing(Arc<dyn File>),
    /// Into a new file.
    New {
        /// The name it has until it is whole.
        temporary: PathBuf,
        /// The name it gets then.
        path: PathBuf,
        /// The file of that name, which it replaces.
        former: Option<Arc<dyn File>>,
    },
}

/// What the devices have.
struct Looked {
    /// In the order of their families, each with the place where its part of the set begins.
    found: Vec<(Found, u64)>,
    /// Of the set, from 1.
    position: u32,
    /// Of media that are written on.
    label: Option<MediaLabel>,
}

/// A device, and what is found there.
struct Found {
    device: String,
    place: MediaPlace,
}

/// Looks at the media of all devices before any of them is changed.
///
/// # Errors
/// Those of [`MediaReader::open`] and of [`MediaSet::whole`]; 3132 when some of the files exist and others do not.
fn look(env: &Environment, places: Vec<(String, MediaPlace)>, options: &MediaOptions<'_>) -> Result<Looked> {
    let (mut existing, mut formers) = (Vec::new(), Vec::new());
    let given = places.len();
    for (device, place) in &places {
        match place {
            MediaPlace::Existing(file) => existing.push(MediaReader::open(env, device, file.clone())?),
            MediaPlace::New {
                former: Some(former), ..
            } if !options.format => formers.push(MediaReader::open(env, device, former.clone())?),
            MediaPlace::New { .. } | MediaPlace::Null => {}
        }
    }
    let (are_kept, known) = (!existing.is_empty(), existing.len() + formers.len());
    if known > 0 && known < given {
        // A single file is there or is not.
        return Err(Error::media_families_missing(given as u16, known)); // at most 64
    }
    let set = match known {
        0 => None,
        _ => Some(MediaSet::whole(existing.into_iter().chain(formers).collect())?),
    };
    let Some(set) = set.filter(|_| are_kept) else {
        let found = places
            .into_iter()
            .map(|(device, place)| (Found { device, place }, LABEL_BYTES));
        return Ok(Looked {
            found: found.collect(),
            position: 1,
            label: None,
        });
    };
    let (position, label) = (set.set_count() + 1, set.label().clone());
    let mut places = places;
    let mut found = Vec::with_capacity(given);
    for (media, end) in set.into_ends() {
        let at = places.iter().position(|(device, _)| device == media.device());
        let (device, place) = places.swap_remove(at.ok_or_else(|| Error::assertion("media without a device"))?);
        found.push((Found { device, place }, end));
    }
    Ok(Looked {
        found,
        position,
        label: Some(label),
    })
}

/// What a file's part of a set is written to.
struct Media {
    /// `None` is the null device.
    file: Option<Arc<dyn File>>,
    /// For a new file: the name it has meanwhile, and the one it gets at the end.
    rename: Option<(PathBuf, PathBuf)>,
    /// The file that the new one replaces.
    former: Option<Arc<dyn File>>,
    /// The new file has the name that it gets.
    has_name: bool,
    set_start: u64,
}

impl Media {
    /// Cuts an existing file back to where the set begins, or makes a new file.
    fn take(env: &Environment, device: &str, place: MediaPlace, set_start: u64) -> Result<Media> {
        let cannot_open = |error: DiskError| Error::cannot_open_device(device, &Error::cause(&error));
        let mut media = Media {
            file: None,
            rename: None,
            former: None,
            has_name: false,
            set_start,
        };
        match place {
            MediaPlace::Null => {}
            MediaPlace::Existing(file) => {
                file.set_len(set_start).map_err(cannot_open)?;
                media.file = Some(file);
            }
            MediaPlace::New {
                temporary,
                path,
                former,
            } => {
                media.file = Some(env.disk.create(&temporary, Access::Direct).map_err(cannot_open)?);
                media.rename = Some((temporary, path));
                media.former = former;
            }
        }
        Ok(media)
    }

    /// Gives a new file its name, in the place of the former one and of no other.
    fn take_name(&self, env: &Environment) -> std::result::Result<(), DiskError> {
        let Some((temporary, path)) = &self.rename else {
            return Ok(());
        };
        let Some(former) = &self.former else {
            return env.disk.rename_new(temporary, path);
        };
        match env.disk.look(path)? {
            Some(found) if found.identity != former.identity()? => {
                Err(DiskError::new(DiskErrorKind::InUse, "rename", path))
            }
            _ => env.disk.rename(temporary, path),
        }
    }
}

/// The part of a set that one file gets.
struct FamilyWriter {
    env: Environment,
    /// As the statement gives it, for messages.
    device: String,
    media: Media,
    /// What is not written yet, and its place in the file. Whole buffers are written past the page cache.
    buffer: AlignedBuffer,
    filled: usize,
    buffer_at: u64,
    chunk_count: u32,
    headers_crc: u32,
    writes: Ordered<WriteJob, Written>,
    writes_ahead: usize,
    spare_buffers: Vec<AlignedBuffer>,
    reserved_to: u64,
}

impl FamilyWriter {
    fn new(env: &Environment, device: String, media: Media, writes_ahead: usize) -> FamilyWriter {
        let (target, set_start) = (media.file.clone(), media.set_start);
        let writes = Ordered::new(env.background, "backup-write", writes_ahead, move || {
            let target = target.clone();
            move |job: WriteJob| Written {
                outcome: target
                    .as_ref()
                    .map_or(Ok(()), |file| file.write_at(job.offset, &job.buffer[..job.len])),
                buffer: job.buffer,
            }
        });
        FamilyWriter {
            env: env.clone(),
            device,
            media,
            // The place of the header stays zero until everything else is durable.
            buffer: AlignedBuffer::with_len(WRITE_BYTES),
            filled: SET_HEADER_BYTES,
            buffer_at: set_start,
            chunk_count: 0,
            headers_crc: 0,
            writes,
            writes_ahead,
            spare_buffers: Vec::new(),
            reserved_to: set_start,
        }
    }

    fn end(&self) -> u64 {
        self.buffer_at + self.filled as u64
    }

    /// Bytes written so far.
    fn stored_bytes(&self) -> u64 {
        self.end() - self.media.set_start
    }

    /// Something done with the file and waited for; nothing without a file.
    fn call(&self, work: impl FnOnce(&dyn File) -> std::result::Result<(), DiskError>) -> Result<()> {
        let Some(file) = &self.media.file else { return Ok(()) };
        let waits = &self.env.waits;
        let done = waits.time(&*self.env.clock, WaitType::BackupIo, || work(&**file));
        done.map_err(|error| Error::write_failed(&self.device, &Error::cause(&error)))
    }

    fn put(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(self.buffer.len() - self.filled));
            self.buffer[self.filled..self.filled + now.len()].copy_from_slice(now);
            self.filled += now.len();
            bytes = later;
            if self.filled == self.buffer.len() {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Hands the buffer to the writers.
    fn flush(&mut self) -> Result<()> {
        if self.writes.under_way() >= self.writes_ahead {
            self.end_write()?;
        }
        self.reserve_ahead();
        let room = || AlignedBuffer::with_len(WRITE_BYTES);
        let next = self.spare_buffers.pop().unwrap_or_else(room);
        let offset = self.buffer_at;
        self.buffer_at = self.end();
        self.writes.submit(WriteJob {
            offset,
            buffer: std::mem::replace(&mut self.buffer, next),
            len: std::mem::take(&mut self.filled),
        });
        Ok(())
    }

    /// What cannot be reserved is not missed: a write that finds no room says so itself.
    fn reserve_ahead(&mut self) {
        if let Some(file) = &self.media.file
            && self.end() > self.reserved_to
        {
            let ahead = self.stored_bytes().clamp(RESERVED_BYTES_MIN, RESERVED_BYTES_MAX);
            self.reserved_to = self.end() + ahead;
            let _ = file.grow_reserved(self.reserved_to);
        }
    }

    /// Waits for the oldest write.
    fn end_write(&mut self) -> Result<()> {
        let (writes, env) = (&mut self.writes, &self.env);
        let written = env.waits.time(&*env.clock, WaitType::BackupIo, || writes.next());
        let Some(written) = written else { return Ok(()) };
        self.spare_buffers.push(written.buffer);
        written
            .outcome
            .map_err(|error| Error::write_failed(&self.device, &Error::cause(&error)))
    }

    /// Pads the file's part and makes it durable, all but its header.
    fn make_durable(&mut self) -> Result<()> {
        let end = self.end().next_multiple_of(LABEL_BYTES);
        self.put(&vec![0; (end - self.end()) as usize])?;
        self.flush()?;
        while self.writes.under_way() > 0 {
            self.end_write()?;
        }
        self.call(|file| file.set_len(end))?;
        self.call(|file| file.sync())
    }

    /// What cannot be undone here is not a set to any reader, and is cut off by the next backup.
    fn undo(&mut self) {
        while self.writes.next().is_some() {}
        match (&self.media.rename, &self.media.file) {
            (Some((_, path)), _) if self.media.has_name => {
                // A file that it has replaced is gone; one that was not there before goes again.
                if self.media.former.is_none() {
                    let _ = self.env.disk.delete(path);
                }
            }
            (Some((temporary, _)), _) => {
                let _ = self.env.disk.delete(temporary);
            }
            (None, Some(file)) => {
                let _ = file.set_len(self.media.set_start);
            }
            (None, None) => {}
        }
    }
}

/// A set being written. Dropped before [`SetWriter::finish`], it leaves the media as it was.
pub struct SetWriter {
    env: Environment,
    label: MediaLabel,
    guid: [u8; 16],
    position: u32,
    encoders: Ordered<Job, Encoded>,
    /// At least one.
    families: Vec<FamilyWriter>,
    /// Which family gets the next chunk.
    turn: usize,
    spare_payloads: Vec<Payload>,
    finished: bool,
}

impl SetWriter {
    /// Opens the media for one more set. The devices are the paths as the statement gives them, with their places.
    ///
    /// # Errors
    /// 3201 when a file cannot be made; 3241 and its kin when one that is there is damaged, 3132, 3227, 3231 and 3258 when those that are there are not
    /// all files of one media set, and FORMAT is not asked for.
    pub fn open(env: &Environment, places: Vec<(String, MediaPlace)>, options: &MediaOptions<'_>) -> Result<SetWriter> {
        let Looked { found, position, label } = look(env, places, options)?;
        let (families, is_new) = (found.len() as u16, label.is_none()); // at most 64
        let label = label.unwrap_or_else(|| MediaLabel {
            guid: options.set_guid,
            created: env.clock.wall_ticks(),
            name: options.media_name.to_string(),
            family: 1,
            families,
        });
        let writes_ahead = if families > 2 { 1 } else { WRITES_AHEAD };
        let mut writer = SetWriter {
            env: env.clone(),
            label,
            guid: options.set_guid,
            position,
            encoders: encoders(env, options.compression),
            families: Vec::with_capacity(found.len()),
            turn: 0,
            spare_payloads: Vec::new(),
            finished: false,
        };
        for ((Found { device, place }, set_start), family) in found.into_iter().zip(1..) {
            let media = Media::take(env, &device, place, set_start)?;
            writer
                .families
                .push(FamilyWriter::new(env, device, media, writes_ahead));
            if is_new {
                let label = MediaLabel {
                    family,
                    ..writer.label.clone()
                };
                let bytes = label.encode();
                writer.families[usize::from(family) - 1].call(|file| file.write_at(0, &bytes))?;
            }
        }
        Ok(writer)
    }

    /// The set's place in its files, from 1.
    pub fn position(&self) -> u32 {
        self.position
    }

    /// What the first of the media's files says of itself; the null device has a name that nothing else has.
    pub fn label(&self) -> &MediaLabel {
        &self.label
    }

    /// The devices in the order of their families.
    pub fn devices(&self) -> Vec<String> {
        self.families.iter().map(|family| family.device.clone()).collect()
    }

    /// Bytes written so far.
    pub fn stored_bytes(&self) -> u64 {
        self.families.iter().map(FamilyWriter::stored_bytes).sum()
    }

    /// A payload to fill, for [`SetWriter::append`].
    pub fn payload(&mut self) -> Payload {
        let spare = self.spare_payloads.pop();
        spare.map_or_else(Payload::empty, |spare| Payload { len: 0, ..spare })
    }

    /// Appends one chunk of at most [`CHUNK_BYTES_MAX`] bytes.
    ///
    /// # Errors
    /// 3202 when the media cannot be written.
    pub fn append(&mut self, kind: ChunkKind, address: u64, payload: Payload) -> Result<()> {
        if self.encoders.under_way() >= CHUNKS_AHEAD {
            self.put_encoded()?;
        }
        self.encoders.submit(Job { kind, address, payload });
        Ok(())
    }

    /// Puts the oldest chunk that is being encoded into the file whose turn it is; false when there is none.
    fn put_encoded(&mut self) -> Result<bool> {
        let Some(chunk) = self.encoders.next() else {
            return Ok(false);
        };
        let stored = chunk.compressed.as_deref().unwrap_or(chunk.payload.bytes());
        let mut set = [0; 8];
        set.copy_from_slice(&self.guid[..8]);
        let family = &mut self.families[self.turn];
        let header = ChunkHeader {
            kind: chunk.kind,
            compressed: chunk.compressed.is_some(),
            stored_bytes: stored.len() as u32,
            plain_bytes: chunk.payload.len as u32,
            address: chunk.address,
            number: family.chunk_count,
            set,
            payload_crc: chunk.crc,
        };
        let header = header.encode();
        family.put(&header)?;
        family.put(stored)?;
        family.chunk_count += 1;
        family.headers_crc = crc32c::crc32c_append(family.headers_crc, &header);
        self.turn = (self.turn + 1) % self.families.len();
        if chunk.payload.buffer.len() == CHUNK_BYTES_MAX {
            self.spare_payloads.push(chunk.payload);
        }
        Ok(true)
    }

    /// Appends a payload of any length in as many chunks as it takes.
    pub fn append_long(&mut self, kind: ChunkKind, payload: &[u8]) -> Result<()> {
        payload.chunks(CHUNK_BYTES_MAX).try_for_each(|part| {
            let mut chunk = self.payload();
            chunk.buffer[..part.len()].copy_from_slice(part);
            chunk.len = part.len();
            self.append(kind, 0, chunk)
        })
    }

    /// Puts the description behind the chunks of every file. Answers where it begins in each.
    fn put_description(&mut self, text: &[u8]) -> Result<Vec<u64>> {
        let begins = self.families.iter().map(FamilyWriter::stored_bytes).collect();
        for family in 0..self.families.len() {
            let mut buffer = AlignedBuffer::with_len(text.len());
            buffer.copy_from_slice(text);
            let payload = Payload {
                buffer,
                len: text.len(),
            };
            self.append(ChunkKind::Description, 0, payload)?;
            self.turn = family;
            self.put_encoded()?;
        }
        Ok(begins)
    }

    /// Makes everything durable, then the set whole. `description` gets its size filled in. Answers the bytes it takes.
    ///
    /// # Errors
    /// 3202; the media is then as it was before.
    pub fn finish(mut self, description: &mut SetDescription) -> Result<u64> {
        while self.put_encoded()? {}
        description.position = self.position();
        description.stored_bytes = self.stored_bytes();
        let text = serde_json::to_vec(description);
        let text = text.map_err(|error| Error::assertion(&format!("a backup's description: {error}")))?;
        let begins = self.put_description(&text)?;
        self.families.iter_mut().try_for_each(FamilyWriter::make_durable)?;
        let mut set_bytes = 0;
        for (family, description_offset) in self.families.iter().zip(begins) {
            let header = SetHeader {
                position: self.position,
                guid: self.guid,
                set_bytes: family.stored_bytes(),
                description_offset,
                chunk_count: family.chunk_count,
                headers_crc: family.headers_crc,
            };
            family.call(|file| file.write_durable_at(family.media.set_start, &header.encode()))?;
            set_bytes += header.set_bytes;
        }
        for family in &mut self.families {
            family.call(|_| family.media.take_name(&family.env))?;
            family.media.has_name = true;
        }
        self.finished = true;
        for family in &mut self.families {
            self.env.background.let_go(family.media.former.take());
        }
        Ok(set_bytes)
    }
}

impl Drop for SetWriter {
    fn drop(&mut self) {
        if !self.finished {
            self.families.iter_mut().for_each(FamilyWriter::undo);
        }
    }
}

/// Threads that make chunks out of payloads. Where the compressor cannot be had, chunks stay as they are.
fn encoders(env: &Environment, compression: bool) -> Ordered<Job, Encoded> {
    Ordered::new(env.background, "backup-encode", ENCODERS, move || {
        let mut compressor = match compression {
            true => zstd::bulk::Compressor::new(COMPRESSION_LEVEL).ok(),
            false => None,
        };
        move |job: Job| Encoded::of(job, compressor.as_mut())
    })
}
