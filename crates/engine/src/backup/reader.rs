//! Reading a media file: the list of its sets, and the chunks that it has of one set.
//!
//! | what fails | error |
//! |---|---|
//! | the file cannot be measured | 3201 |
//! | the label | 3241 |
//! | a set's format | 3169 |
//! | a set's header or description | 3242 |
//! | a chunk: checksum, order, length; padding | 3189; the error log has the details |
//!
//! ```text
//! [ reads of 1 MB: three in flight ] -> chunks in order -> [ checksum, decompression: a thread per core ] -> next_chunk
//! ```
//! An error is reported when its chunk is due, after all earlier chunks have been returned.

use super::description::SetDescription;
use super::format::{
    CHUNK_HEADER_BYTES, ChunkHeader, ChunkKind, LABEL_BYTES, MediaLabel, SET_FORMAT, SET_HEADER_BYTES, SetHeader,
    Unreadable,
};
use crate::error::{Error, Result};
use crate::ordered::Ordered;
use crate::seams::Environment;
use crate::waits::WaitType;
use disk::{AlignedBuffer, DiskError, DiskErrorKind, File};
use std::sync::Arc;

const READ_BYTES: u64 = 1 << 20;
/// Reads in flight, and windows read before they are wanted.
const READS_AHEAD: usize = 3;
/// Threads that check and decompress.
const DECODERS: usize = 2;
/// Chunks given to them before the first is wanted back.
const CHUNKS_AHEAD: usize = 4;

/// Files that are each read as far ahead as a single one; of more, each is read less far ahead, so that memory and threads stay bounded.
const FAMILIES_READ_AHEAD: usize = 2;

/// How much of a file is read and decoded before it is wanted.
#[derive(Debug, Clone, Copy)]
struct Ahead {
    reads: usize,
    decoders: usize,
    chunks: usize,
}

impl Ahead {
    /// For each of so many files.
    fn of(families: usize) -> Ahead {
        match families <= FAMILIES_READ_AHEAD {
            true => Ahead {
                reads: READS_AHEAD,
                decoders: DECODERS,
                chunks: CHUNKS_AHEAD,
            },
            false => Ahead {
                reads: 1,
                decoders: 1,
                chunks: 1,
            },
        }
    }
}

/// An open media file.
pub struct MediaReader {
    env: Environment,
    device: String,
    file: Arc<dyn File>,
    label: MediaLabel,
    sets: Vec<(u64, SetHeader)>,
    end: u64,
}

impl MediaReader {
    /// Finds the sets of an open media file.
    ///
    /// # Errors
    /// See the module.
    pub fn open(env: &Environment, device: &str, file: Arc<dyn File>) -> Result<MediaReader> {
        let cannot_open = |error: DiskError| Error::cannot_open_device(device, &Error::cause(&error));
        let file_bytes = file.len().map_err(cannot_open)?;
        let mut label = vec![0; LABEL_BYTES as usize];
        if file_bytes < LABEL_BYTES {
            return Err(Error::incorrect_media(device));
        }
        let read_failed = |error: DiskError| Error::read_failed(device, &Error::cause(&error));
        file.read_at(0, &mut label).map_err(read_failed)?;
        let label = MediaLabel::decode(&label).map_err(|_| Error::incorrect_media(device))?;
        let mut media = MediaReader {
            env: env.clone(),
            device: device.to_string(),
            file,
            label,
            sets: Vec::new(),
            end: LABEL_BYTES,
        };
        while media.end + SET_HEADER_BYTES as u64 <= file_bytes {
            let mut bytes = [0; SET_HEADER_BYTES];
            media.file.read_at(media.end, &mut bytes).map_err(read_failed)?;
            if bytes.iter().all(|byte| *byte == 0) {
                break;
            }
            let header = SetHeader::decode(&bytes).map_err(|_| match SetHeader::format(&bytes) {
                Some(format) if format != SET_FORMAT => Error::set_of_another_format(format, SET_FORMAT),
                _ => Error::invalid_set(device),
            })?;
            let end = media.end.checked_add(header.set_bytes).filter(|end| *end <= file_bytes);
            let follows = header.position as usize == media.sets.len() + 1 && header.set_bytes >= LABEL_BYTES;
            let end = end.filter(|_| follows).ok_or_else(|| Error::invalid_set(device))?;
            media.sets.push((media.end, header));
            media.end = end;
        }
        Ok(media)
    }

    pub fn label(&self) -> &MediaLabel {
        &self.label
    }

    pub fn sets(&self) -> Vec<SetHeader> {
        self.sets.iter().map(|(_, header)| *header).collect()
    }

    /// Where the last whole set ends.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// The path as the statement gives it.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// Where the set behind the first `count` sets begins.
    pub fn end_of(&self, count: usize) -> u64 {
        self.sets.get(count).map_or(self.end, |(start, _)| *start)
    }

    /// What the file has of the set at `position` (from 1; 0 counts as 1), with the set's description. `families` files are read at once.
    ///
    /// # Errors
    /// 3287 when there is none, 3242 when its description is damaged.
    pub fn set(&self, position: u32, families: usize) -> Result<(FamilyReader, SetDescription)> {
        let position = position.max(1);
        let found = self.sets.get(position as usize - 1);
        let &(start, header) = found.ok_or_else(|| Error::no_such_set(position, &self.device))?;
        let ahead = Ahead::of(families);
        let mut reader = FamilyReader {
            env: self.env.clone(),
            device: self.device.clone(),
            file: self.file.clone(),
            start,
            header,
            at: start.saturating_add(header.description_offset),
            next: header.chunk_count.saturating_sub(1),
            headers_crc: 0,
            stream: Stream::new(
                &self.env,
                (&self.file, ahead),
                start,
                start.saturating_add(header.set_bytes),
            ),
            decoders: Ordered::new(self.env.background, "restore-decode", ahead.decoders, || decode),
            ahead,
            fault: None,
            payload: AlignedBuffer::with_len(0),
            payload_bytes: 0,
            spare: Vec::new(),
        };
        let invalid = || Error::invalid_set(&self.device);
        reader.stream.seek(reader.at);
        reader.submit_chunk().map_err(|_| invalid())?;
        let chunk = reader.take_chunk().map_err(|_| invalid())?.ok_or_else(invalid)?;
        if chunk.kind != ChunkKind::Description {
            return Err(invalid());
        }
        let description: SetDescription = serde_json::from_slice(reader.payload(&chunk)).map_err(|_| invalid())?;
        reader.at = start + SET_HEADER_BYTES as u64;
        (reader.next, reader.headers_crc) = (0, 0);
        reader.stream.seek(reader.at);
        Ok((reader, description))
    }
}

/// A chunk that was read and checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    pub kind: ChunkKind,
    /// What its payload is of.
    pub address: u64,
    /// Bytes it takes in the file.
    pub stored_bytes: u64,
}

/// A chunk as it lies in the file.
struct Stored {
    header: ChunkHeader,
    at: u64,
    bytes: AlignedBuffer,
}

/// A chunk with its payload as it was before compression.
struct Decoded {
    header: ChunkHeader,
    at: u64,
    bytes: AlignedBuffer,
    outcome: std::result::Result<(), Unreadable>,
}

fn decode(stored: Stored) -> Decoded {
    let Stored { header, at, bytes } = stored;
    let used = bytes.get(..header.stored_bytes as usize).unwrap_or_default();
    let mut decoded = Decoded {
        header,
        at,
        bytes: AlignedBuffer::with_len(0),
        outcome: Ok(()),
    };
    if crc32c::crc32c(used) != header.payload_crc {
        decoded.outcome = Err(Unreadable("a chunk of a backup set has a wrong checksum"));
    } else if header.compressed {
        let mut plain = AlignedBuffer::with_len(header.plain_bytes as usize);
        let size = zstd::bulk::decompress_to_buffer(used, &mut plain[..]).ok();
        if size != Some(header.plain_bytes as usize) {
            decoded.outcome = Err(Unreadable("a chunk cannot be decompressed"));
        }
        decoded.bytes = plain;
        return decoded;
    }
    decoded.bytes = bytes;
    decoded
}

/// Part of a file read from front to back, ahead of need.
struct Stream {
    file: Arc<dyn File>,
    reads: Ordered<(u64, AlignedBuffer), Window>,
    reads_ahead: usize,
    /// Nothing behind this is read.
    end: u64,
    /// Where the next read begins.
    next_read: u64,
    window: Option<Window>,
    spare: Vec<AlignedBuffer>,
}

/// A part of the file in memory.
struct Window {
    start: u64,
    bytes: AlignedBuffer,
    outcome: std::result::Result<(), DiskError>,
}

impl Stream {
    fn new(env: &Environment, (file, ahead): (&Arc<dyn File>, Ahead), start: u64, end: u64) -> Stream {
        let source = file.clone();
        let reads = Ordered::new(env.background, "restore-read", ahead.reads, move || {
            let source = source.clone();
            move |(start, mut bytes): (u64, AlignedBuffer)| {
                let outcome = source.read_at(start, &mut bytes);
                Window { start, bytes, outcome }
            }
        });
        Stream {
            file: file.clone(),
            reads,
            reads_ahead: ahead.reads,
            end,
            next_read: start,
            window: None,
            spare: Vec::new(),
        }
    }

    /// The next byte wanted is at `offset`.
    fn seek(&mut self, offset: u64) {
        while self.reads.next().is_some() {}
        self.window = None;
        self.next_read = offset / LABEL_BYTES * LABEL_BYTES;
    }

    /// Fills `buffer` with the bytes at `offset`, which is where the bytes filled before ended.
    fn fill(&mut self, mut offset: u64, mut buffer: &mut [u8]) -> std::result::Result<(), DiskError> {
        while !buffer.is_empty() {
            let held = self.window.as_ref().and_then(|window| {
                let from = usize::try_from(offset.checked_sub(window.start)?).ok()?;
                window.bytes.get(from..).filter(|bytes| !bytes.is_empty())
            });
            let Some(held) = held else {
                self.next_window(offset)?;
                continue;
            };
            let count = held.len().min(buffer.len());
            let (now, later) = buffer.split_at_mut(count);
            now.copy_from_slice(&held[..count]);
            (offset, buffer) = (offset + count as u64, later);
        }
        Ok(())
    }

    fn next_window(&mut self, offset: u64) -> std::result::Result<(), DiskError> {
        let ended = || DiskError::new(DiskErrorKind::UnexpectedEnd, "read", self.file.path()).at(offset);
        if let Some(done) = self.window.take()
            && done.bytes.len() as u64 == READ_BYTES
        {
            self.spare.push(done.bytes);
        }
        while self.reads.under_way() < self.reads_ahead && self.next_read < self.end {
            let len = READ_BYTES.min(self.end - self.next_read);
            let spare = self.spare.pop().filter(|_| len == READ_BYTES);
            let bytes = spare.unwrap_or_else(|| AlignedBuffer::with_len(len as usize));
            self.reads.submit((self.next_read, bytes));
            self.next_read += len;
        }
        let window = self.reads.next().ok_or_else(ended)?;
        window.outcome?;
        self.window = Some(Window {
            outcome: Ok(()),
            ..window
        });
        Ok(())
    }
}

/// What one file has of a set, read chunk by chunk.
pub struct FamilyReader {
    env: Environment,
    device: String,
    file: Arc<dyn File>,
    start: u64,
    header: SetHeader,
    at: u64,
    next: u32,
    headers_crc: u32,
    stream: Stream,
    decoders: Ordered<Stored, Decoded>,
    ahead: Ahead,
    /// What is wrong with the chunk behind those being decoded.
    fault: Option<Error>,
    /// Of the chunk handed out last.
    payload: AlignedBuffer,
    payload_bytes: usize,
    spare: Vec<AlignedBuffer>,
}

impl FamilyReader {
    pub fn header(&self) -> &SetHeader {
        &self.header
    }

    /// The next chunk; `None` behind the last one, once everything about the set has been checked.
    ///
    /// # Errors
    /// 3189 for damage, 3203 when the file cannot be read.
    pub fn next_chunk(&mut self) -> Result<Option<Chunk>> {
        while self.fault.is_none()
            && self.decoders.under_way() < self.ahead.chunks
            && self.next < self.header.chunk_count
        {
            self.fault = self.submit_chunk().err();
        }
        let Some(chunk) = self.take_chunk()? else {
            return self.fault.take().map_or(Ok(None), Err);
        };
        if chunk.kind != ChunkKind::Description {
            return Ok(Some(chunk));
        }
        let is_last = self.next == self.header.chunk_count && self.headers_crc == self.header.headers_crc;
        if !is_last || !self.padding_is_clear()? {
            return Err(self.damaged(Unreadable("the backup set does not end as it should"), self.at));
        }
        Ok(None)
    }

    /// The payload of the chunk just read.
    pub fn payload(&self, _chunk: &Chunk) -> &[u8] {
        &self.payload[..self.payload_bytes]
    }

    fn read_failed(&self, error: &DiskError) -> Error {
        Error::read_failed(&self.device, &Error::cause(error))
    }

    fn fill(&mut self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let (env, stream) = (&self.env, &mut self.stream);
        let filled = env
            .waits
            .time(&*env.clock, WaitType::BackupIo, || stream.fill(offset, buffer));
        filled.map_err(|error| self.read_failed(&error))
    }

    /// Reads the next chunk from the file and gives it to the decoders.
    fn submit_chunk(&mut self) -> Result<()> {
        let end = self.start + self.header.set_bytes;
        let mut bytes = [0; CHUNK_HEADER_BYTES];
        self.fill(self.at, &mut bytes)?;
        let header = ChunkHeader::decode(&bytes).map_err(|what| self.damaged(what, self.at))?;
        let payload_at = self.at + CHUNK_HEADER_BYTES as u64;
        let next_at = payload_at + u64::from(header.stored_bytes);
        if header.number != self.next || header.set[..] != self.header.guid[..8] || next_at > end {
            let what = "a chunk of a backup set is not the one that belongs there";
            return Err(self.damaged(Unreadable(what), self.at));
        }
        let stored_bytes = header.stored_bytes as usize;
        let fits = |spare: &AlignedBuffer| spare.len() >= stored_bytes;
        let spare = self.spare.pop().filter(fits);
        let mut stored = spare.unwrap_or_else(|| AlignedBuffer::with_len(stored_bytes));
        self.fill(payload_at, &mut stored[..stored_bytes])?;
        self.decoders.submit(Stored {
            header,
            at: self.at,
            bytes: stored,
        });
        self.headers_crc = crc32c::crc32c_append(self.headers_crc, &bytes);
        self.at = next_at;
        self.next += 1;
        Ok(())
    }

    /// The oldest chunk given to the decoders becomes the current one.
    fn take_chunk(&mut self) -> Result<Option<Chunk>> {
        let Some(decoded) = self.decoders.next() else {
            return Ok(None);
        };
        decoded.outcome.map_err(|what| self.damaged(what, decoded.at))?;
        let header = decoded.header;
        self.payload_bytes = header.plain_bytes as usize;
        let former = std::mem::replace(&mut self.payload, decoded.bytes);
        self.spare.push(former);
        Ok(Some(Chunk {
            kind: header.kind,
            address: header.address,
            stored_bytes: CHUNK_HEADER_BYTES as u64 + u64::from(header.stored_bytes),
        }))
    }

    fn padding_is_clear(&self) -> Result<bool> {
        let end = self.start + self.header.set_bytes;
        if end - self.at >= LABEL_BYTES {
            return Ok(false);
        }
        let mut padding = vec![0; (end - self.at) as usize];
        let read = self.file.read_at(self.at, &mut padding);
        read.map_err(|error| self.read_failed(&error))?;
        Ok(padding.iter().all(|byte| *byte == 0))
    }

    fn damaged(&self, what: Unreadable, at: u64) -> Error {
        let text = format!("{what} ('{}', byte {at})", self.device);
        self.env.errorlog.write("Backup", text);
        Error::damaged_set()
    }
}
