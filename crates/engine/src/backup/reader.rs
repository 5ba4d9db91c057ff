//! Reading media: which sets there are, and the chunks of one of them.
//!
//! | what does not hold | error |
//! |---|---|
//! | the file cannot be opened | 3201 |
//! | the label | 3241 |
//! | a set's header or description | 3242 |
//! | a chunk: checksum, order, length; padding | 3189; what and where is in the error log |

use super::description::SetDescription;
use super::format::{
    CHUNK_HEADER_BYTES, ChunkHeader, ChunkKind, LABEL_BYTES, MediaLabel, SET_HEADER_BYTES, SetHeader, Unreadable,
};
use crate::error::{Error, Result};
use crate::seams::Environment;
use crate::waits::WaitType;
use disk::{Access, DiskError, File};
use std::path::Path;
use std::sync::Arc;

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
    /// Opens a media file and finds its sets. Errors: see the module.
    pub fn open(env: &Environment, device: &str, path: &Path) -> Result<MediaReader> {
        let cannot_open = |error: DiskError| Error::cannot_open_device(device, &Error::cause(&error));
        let file = env.disk.open(path, Access::Buffered).map_err(cannot_open)?;
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
            let header = SetHeader::decode(&bytes).map_err(|_| Error::invalid_set(device))?;
            let end = media.end.checked_add(header.set_bytes).filter(|end| *end <= file_bytes);
            let follows = header.position as usize == media.sets.len() + 1 && header.set_bytes >= LABEL_BYTES;
            let end = end.filter(|_| follows).ok_or_else(|| Error::invalid_set(device))?;
            media.sets.push((media.end, header));
            media.end = end;
        }
        Ok(media)
    }

    /// Its label.
    pub fn label(&self) -> &MediaLabel {
        &self.label
    }

    /// Its whole sets.
    pub fn sets(&self) -> Vec<SetHeader> {
        self.sets.iter().map(|(_, header)| *header).collect()
    }

    /// Where the last whole set ends.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// The set at `position` (from 1; 0 counts as 1) with its description. Errors: 3287 when there is none, 3242 when its
    /// description is damaged.
    pub fn set(&self, position: u32) -> Result<(SetReader, SetDescription)> {
        let position = position.max(1);
        let found = self.sets.get(position as usize - 1);
        let &(start, header) = found.ok_or_else(|| Error::no_such_set(position, &self.device))?;
        let mut reader = SetReader {
            env: self.env.clone(),
            device: self.device.clone(),
            file: self.file.clone(),
            start,
            header,
            at: start.saturating_add(header.description_offset),
            next: header.chunk_count.saturating_sub(1),
            headers_crc: 0,
            stored: Vec::new(),
            plain: Vec::new(),
        };
        let invalid = || Error::invalid_set(&self.device);
        let chunk = reader.read_chunk().map_err(|_| invalid())?;
        if chunk.kind != ChunkKind::Description {
            return Err(invalid());
        }
        let description: SetDescription = serde_json::from_slice(reader.payload(&chunk)).map_err(|_| invalid())?;
        reader.at = start + SET_HEADER_BYTES as u64;
        (reader.next, reader.headers_crc) = (0, 0);
        Ok((reader, description))
    }
}

/// A chunk that was read and checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// What it holds.
    pub kind: ChunkKind,
    /// What its payload is of.
    pub address: u64,
    /// Bytes it takes in the file.
    pub stored_bytes: u64,
    compressed: bool,
}

/// One set, read chunk by chunk.
pub struct SetReader {
    env: Environment,
    device: String,
    file: Arc<dyn File>,
    start: u64,
    header: SetHeader,
    at: u64,
    next: u32,
    headers_crc: u32,
    stored: Vec<u8>,
    plain: Vec<u8>,
}

impl SetReader {
    /// The set's header.
    pub fn header(&self) -> &SetHeader {
        &self.header
    }

    /// The next chunk; `None` behind the last one, once everything about the set has been checked.
    ///
    /// Errors: 3189 for damage, 3203 when the file cannot be read.
    pub fn next_chunk(&mut self) -> Result<Option<Chunk>> {
        if self.next >= self.header.chunk_count {
            return Ok(None);
        }
        let chunk = self.read_chunk()?;
        if chunk.kind != ChunkKind::Description {
            return Ok(Some(chunk));
        }
        let is_last = self.next == self.header.chunk_count && self.headers_crc == self.header.headers_crc;
        if !is_last || !self.padding_is_clear()? {
            return Err(self.damaged(Unreadable("the backup set does not end as it should")));
        }
        Ok(None)
    }

    /// The payload of the chunk just read.
    pub fn payload(&self, chunk: &Chunk) -> &[u8] {
        if chunk.compressed { &self.plain } else { &self.stored }
    }

    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let read = || self.file.read_at(offset, buffer);
        let read = self.env.waits.time(&*self.env.clock, WaitType::BackupIo, read);
        read.map_err(|error| Error::read_failed(&self.device, &Error::cause(&error)))
    }

    fn read_chunk(&mut self) -> Result<Chunk> {
        let end = self.start + self.header.set_bytes;
        let mut bytes = [0; CHUNK_HEADER_BYTES];
        self.read(self.at, &mut bytes)?;
        let header = ChunkHeader::decode(&bytes).map_err(|what| self.damaged(what))?;
        let payload_at = self.at + CHUNK_HEADER_BYTES as u64;
        let next_at = payload_at + u64::from(header.stored_bytes);
        if header.number != self.next || header.set[..] != self.header.guid[..8] || next_at > end {
            return Err(self.damaged(Unreadable("a chunk of a backup set is not the one that belongs there")));
        }
        let mut stored = std::mem::take(&mut self.stored);
        stored.resize(header.stored_bytes as usize, 0);
        self.read(payload_at, &mut stored)?;
        self.stored = stored;
        if crc32c::crc32c(&self.stored) != header.payload_crc {
            return Err(self.damaged(Unreadable("a chunk of a backup set has a wrong checksum")));
        }
        if header.compressed {
            let plain = zstd::bulk::decompress(&self.stored, header.plain_bytes as usize);
            let plain = plain.ok().filter(|plain| plain.len() == header.plain_bytes as usize);
            self.plain = plain.ok_or_else(|| self.damaged(Unreadable("a chunk cannot be decompressed")))?;
        }
        self.headers_crc = crc32c::crc32c_append(self.headers_crc, &bytes);
        self.at = next_at;
        self.next += 1;
        Ok(Chunk {
            kind: header.kind,
            address: header.address,
            stored_bytes: (CHUNK_HEADER_BYTES + self.stored.len()) as u64,
            compressed: header.compressed,
        })
    }

    fn padding_is_clear(&self) -> Result<bool> {
        let end = self.start + self.header.set_bytes;
        if end - self.at >= LABEL_BYTES {
            return Ok(false);
        }
        let mut padding = vec![0; (end - self.at) as usize];
        self.read(self.at, &mut padding)?;
        Ok(padding.iter().all(|byte| *byte == 0))
    }

    fn damaged(&self, what: Unreadable) -> Error {
        let text = format!("{what} ('{}', byte {})", self.device, self.at);
        self.env.errorlog.write("Backup", text);
        Error::damaged_set()
    }
}
