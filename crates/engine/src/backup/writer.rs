//! Writing a set: the media file is created or opened, chunks are appended, and the header comes last.
//!
//! ```text
//! append -> [ checksum, compression: a thread per core ] -> in order -> 1 MB buffer -> [ writes: four in flight ]
//! ```
//! The caller keeps reading; it waits only when [`CHUNKS_AHEAD`] chunks or [`WRITES_AHEAD`] writes are in flight.
//!
//! INIT and FORMAT write a new file under a temporary name and rename it at the end; until then the old file is intact. The old file is
//! kept open across the rename and closed in the background, because freeing the space of a large file takes the file system long. NOINIT
//! appends after the last complete set; leftovers of a crash are cut off first.
//!
//! The null device takes the same path, but the bytes are discarded instead of written.

use super::description::SetDescription;
use super::format::{CHUNK_BYTES_MAX, ChunkHeader, ChunkKind, LABEL_BYTES, MediaLabel, SET_HEADER_BYTES, SetHeader};
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
/// Writes given to the system before the caller waits.
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

/// What a set is written to.
struct Media {
    /// `None` is the null device.
    file: Option<Arc<dyn File>>,
    /// For a new file: the name it has meanwhile, and the one it gets at the end.
    rename: Option<(PathBuf, PathBuf)>,
    /// The file that the new one replaces.
    former: Option<Arc<dyn File>>,
    /// What a file that is there says of itself.
    label: Option<MediaLabel>,
    /// The set's place among those of the file, from 1.
    position: u32,
    set_start: u64,
}

impl Media {
    fn null() -> Media {
        Media {
            file: None,
            rename: None,
            former: None,
            label: None,
            position: 1,
            set_start: LABEL_BYTES,
        }
    }

    /// Opens the media behind its last whole set, or makes a new file.
    fn open(env: &Environment, device: &str, place: MediaPlace, options: &MediaOptions<'_>) -> Result<Media> {
        let cannot_open = |error: DiskError| Error::cannot_open_device(device, &Error::cause(&error));
        match place {
            MediaPlace::Null => Ok(Media::null()),
            MediaPlace::Existing(file) => {
                let media = MediaReader::open(env, device, file.clone())?;
                file.set_len(media.end()).map_err(cannot_open)?;
                Ok(Media {
                    file: Some(file),
                    position: media.sets().len() as u32 + 1,
                    set_start: media.end(),
                    label: Some(media.label().clone()),
                    ..Media::null()
                })
            }
            MediaPlace::New {
                temporary,
                path,
                former,
            } => {
                if let Some(former) = former.as_ref().filter(|_| !options.format) {
                    MediaReader::open(env, device, former.clone())?;
                }
                Ok(Media {
                    file: Some(env.disk.create(&temporary, Access::Direct).map_err(cannot_open)?),
                    rename: Some((temporary, path)),
                    former,
                    ..Media::null()
                })
            }
        }
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

/// A set being written. Dropped before [`SetWriter::finish`], it leaves the media as it was.
pub struct SetWriter {
    env: Environment,
    /// As the statement gives it, for messages.
    device: String,
    media: Media,
    label: MediaLabel,
    /// What is not written yet, and its place in the file. Whole buffers are written past the page cache.
    buffer: AlignedBuffer,
    filled: usize,
    buffer_at: u64,
    guid: [u8; 16],
    chunk_count: u32,
    headers_crc: u32,
    encoders: Ordered<Job, Encoded>,
    writes: Ordered<WriteJob, Written>,
    spare_payloads: Vec<Payload>,
    spare_buffers: Vec<AlignedBuffer>,
    reserved_to: u64,
    finished: bool,
}

impl SetWriter {
    /// Opens the media for one more set. `device` is the path as the statement gives it.
    ///
    /// # Errors
    /// 3201 when the file cannot be made, 3241 and its kin when one that is there is damaged and FORMAT is not asked for.
    pub fn open(env: &Environment, device: &str, place: MediaPlace, options: &MediaOptions<'_>) -> Result<SetWriter> {
        let media = Media::open(env, device, place, options)?;
        let (is_new, known) = (media.rename.is_some(), media.label.clone());
        let mut writer = SetWriter::of(env, device, media);
        writer.guid = options.set_guid;
        writer.encoders = encoders(env, options.compression);
        writer.label = known.unwrap_or_else(|| MediaLabel {
            guid: options.set_guid,
            created: env.clock.wall_ticks(),
            name: options.media_name.to_string(),
        });
        if is_new {
            let label = writer.label.encode();
            writer.call(|file| file.write_at(0, &label))?;
        }
        Ok(writer)
    }

    fn of(env: &Environment, device: &str, media: Media) -> SetWriter {
        let (target, set_start) = (media.file.clone(), media.set_start);
        let writes = Ordered::new(env.background, "backup-write", WRITES_AHEAD, move || {
            let target = target.clone();
            move |job: WriteJob| Written {
                outcome: target
                    .as_ref()
                    .map_or(Ok(()), |file| file.write_at(job.offset, &job.buffer[..job.len])),
                buffer: job.buffer,
            }
        });
        SetWriter {
            env: env.clone(),
            device: device.to_string(),
            media,
            label: MediaLabel {
                guid: [0; 16],
                created: Default::default(),
                name: String::new(),
            },
            // The place of the header stays zero until everything else is durable.
            buffer: AlignedBuffer::with_len(WRITE_BYTES),
            filled: SET_HEADER_BYTES,
            buffer_at: set_start,
            guid: [0; 16],
            chunk_count: 0,
            headers_crc: 0,
            encoders: encoders(env, false),
            writes,
            spare_payloads: Vec::new(),
            spare_buffers: Vec::new(),
            reserved_to: set_start,
            finished: false,
        }
    }

    /// The set's place in its file, from 1.
    pub fn position(&self) -> u32 {
        self.media.position
    }

    /// What the media file says of itself; the null device has a name that nothing else has.
    pub fn label(&self) -> &MediaLabel {
        &self.label
    }

    fn end(&self) -> u64 {
        self.buffer_at + self.filled as u64
    }

    /// Bytes written so far.
    pub fn stored_bytes(&self) -> u64 {
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
        if self.writes.under_way() >= WRITES_AHEAD {
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

    /// Puts the oldest chunk that is being encoded into the set; false when there is none.
    fn put_encoded(&mut self) -> Result<bool> {
        let Some(chunk) = self.encoders.next() else {
            return Ok(false);
        };
        let stored = chunk.compressed.as_deref().unwrap_or(chunk.payload.bytes());
        let mut set = [0; 8];
        set.copy_from_slice(&self.guid[..8]);
        let header = ChunkHeader {
            kind: chunk.kind,
            compressed: chunk.compressed.is_some(),
            stored_bytes: stored.len() as u32,
            plain_bytes: chunk.payload.len as u32,
            address: chunk.address,
            number: self.chunk_count,
            set,
            payload_crc: chunk.crc,
        };
        let header = header.encode();
        self.put(&header)?;
        self.put(stored)?;
        self.chunk_count += 1;
        self.headers_crc = crc32c::crc32c_append(self.headers_crc, &header);
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

    /// Makes everything durable, then the set whole. `description` gets its size filled in. Answers the bytes it takes.
    ///
    /// # Errors
    /// 3202; the media is then as it was before.
    pub fn finish(mut self, description: &mut SetDescription) -> Result<u64> {
        while self.put_encoded()? {}
        let description_offset = self.stored_bytes();
        description.position = self.position();
        description.stored_bytes = description_offset;
        let text = serde_json::to_vec(description);
        let text = text.map_err(|error| Error::assertion(&format!("a backup's description: {error}")))?;
        let mut buffer = AlignedBuffer::with_len(text.len());
        buffer.copy_from_slice(&text);
        let payload = Payload {
            buffer,
            len: text.len(),
        };
        self.append(ChunkKind::Description, 0, payload)?;
        self.put_encoded()?;
        let end = self.end().next_multiple_of(LABEL_BYTES);
        self.put(&vec![0; (end - self.end()) as usize])?;
        self.flush()?;
        while self.writes.under_way() > 0 {
            self.end_write()?;
        }
        self.call(|file| file.set_len(end))?;
        self.call(|file| file.sync())?;
        let header = SetHeader {
            position: self.position(),
            guid: self.guid,
            set_bytes: end - self.media.set_start,
            description_offset,
            chunk_count: self.chunk_count,
            headers_crc: self.headers_crc,
        };
        self.call(|file| file.write_durable_at(self.media.set_start, &header.encode()))?;
        self.call(|_| self.media.take_name(&self.env))?;
        self.finished = true;
        self.env.background.let_go(self.media.former.take());
        Ok(header.set_bytes)
    }
}

impl Drop for SetWriter {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        while self.writes.next().is_some() {}
        // What cannot be undone now is not a set to any reader, and is cut off by the next backup.
        match (&self.media.rename, &self.media.file) {
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
