//! A compressed backup: the stream of a plain one, in chunks.
//!
//! ```text
//! 0          8            12     16                 0x1E0
//! +----------+------------+------+------------------+-------+-------+-- .. --+-----------+-------+-- .. --+-----------+
//! | MSSQLBAK | version    | u32  | zeros, 0xFF      | chunk | chunk | rest   | file mark | chunk | rest   | file mark |
//! |          | u32        |      |                  |       |       |        | SFMB      |       |        | SFMB      |
//! +----------+------------+------+------------------+-------+-------+-- .. --+-----------+-------+-- .. --+-----------+
//!
//! chunk of version 2 (2014 and later)
//! 0      1             2              4               20      24         28
//! +------+-------------+--------------+---------------+-------+----------+---- ... ----+
//! | 0x21 | sectors of  | bytes of the | unused, stale | 0 u32 | checksum | payload     |
//! |      | 512 it      | payload u16  | memory        |       | u32      |             |
//! |      | expands to  |              |               |       |          |             |
//! +------+-------------+--------------+---------------+-------+----------+---- ... ----+
//!
//! chunk of version 1 (2008 to 2012): the first four bytes, then the checksum, then the payload
//! ```
//!
//! A payload is one piece of LZ77 and Huffman codes ([`super::huffman`]). File marks are not compressed: the bytes behind the last chunk are stale
//! up to the next physical block, which is the file mark. A physical block has 512 to 65,536 bytes, and the file mark says how many.
//!
//! Version 2 is measured on a backup of 2016, every byte of every chunk. The eight bytes of version 1 are published by a project that reads
//! backups (`mssqlbak-tests`, container specification), as one word whose upper half is the size; that its lowest bytes mean what those of
//! version 2 mean is **inferred**, and no file was at hand; a chunk is where the payload's code lengths are those of a whole code. The checksum's algorithm is not known; it is not checked.
//!
//! SQL Server 2025 can compress with Zstandard. How it frames its chunks is not published. A payload that begins with Zstandard's magic
//! number is expanded as that; **inferred**. Other algorithms (QAT_DEFLATE of 2022) end in a fault that says so.
//!
//! [`Expanded`] answers for the stream as if it had never been compressed. The index of the chunks takes 24 bytes for each 64 KB of the
//! stream, and is made from the chunks' headers alone; a few expanded chunks are kept.

use super::huffman;
use super::mtf::read;
use crate::bytes::{u16_at, u32_at};
use crate::fault::{Fault, Result};
use std::collections::VecDeque;
use std::io::Read;
use std::sync::{Mutex, PoisonError};
use vlf::{ReadAt, ReadFault, SECTOR_BYTES};

/// What a compressed backup begins with.
pub const MAGIC: &[u8; 8] = b"MSSQLBAK";
const FIRST_CHUNK_OFFSET: u64 = 0x1E0;
const CHUNK_MARK: u8 = 0x21;
const FILE_MARK: &[u8; 4] = b"SFMB";
/// Sectors of the largest chunk: 64 KB.
const CHUNK_SECTORS_MAX: u8 = 128;
/// The largest physical block.
const PHYSICAL_BLOCK_BYTES_MAX: u64 = 65_536;
/// Expanded chunks that are kept.
const KEPT_CHUNKS: usize = 8;
const ZSTANDARD_MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// Part of the expanded stream, and where it comes from.
#[derive(Clone, Copy)]
struct Span {
    /// Where it begins in the expanded stream.
    stream_offset: u64,
    /// Where its payload is in the file.
    file_offset: u64,
    payload_bytes: u32,
    /// Bytes of it in the expanded stream. A file mark is not compressed.
    stream_bytes: u32,
    is_compressed: bool,
}

/// The stream of a compressed backup.
pub struct Expanded<S> {
    source: S,
    spans: Vec<Span>,
    stream_bytes: u64,
    kept: Mutex<VecDeque<(usize, Vec<u8>)>>,
    version: u32,
    cut: Option<Fault>,
}

/// The layout of chunk headers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    Eight,
    TwentyEight,
}

impl Layout {
    fn header_bytes(self) -> u64 {
        match self {
            Layout::Eight => 8,
            Layout::TwentyEight => 28,
        }
    }
}

impl<S: ReadAt> Expanded<S> {
    /// Finds the chunks of `source`, which begins with [`MAGIC`].
    ///
    /// # Errors
    /// The source cannot be read, or there is no chunk where the first should be.
    pub fn open(source: S) -> Result<Expanded<S>> {
        let head = read(&source, 0, 16)?;
        let version = u32_at(&head, 8).unwrap_or(0);
        let layout = match version {
            0 | 1 => Layout::Eight,
            _ => Layout::TwentyEight,
        };
        let mut expanded = Expanded {
            source,
            spans: Vec::new(),
            stream_bytes: 0,
            kept: Mutex::default(),
            version,
            cut: None,
        };
        expanded.find_chunks(layout)?;
        match (expanded.spans.is_empty(), expanded.cut.take()) {
            (true, cut) => Err(cut.unwrap_or_else(|| Fault::at_offset(FIRST_CHUNK_OFFSET, "it has no chunks"))),
            (false, cut) => {
                expanded.cut = cut;
                Ok(expanded)
            }
        }
    }

    /// The version of the container: 1 or 2.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Why the chunks end before the file does.
    pub fn cut(&self) -> Option<&Fault> {
        self.cut.as_ref()
    }

    fn find_chunks(&mut self, layout: Layout) -> Result<()> {
        let mut offset = FIRST_CHUNK_OFFSET;
        let file_bytes = self.source.len();
        while offset < file_bytes {
            if let Some(next) = self.chunk(offset, layout)? {
                offset = next;
                continue;
            }
            match self.file_mark(offset)? {
                Some(next) => offset = next,
                None if self.is_zero_from(offset)? => break,
                None => {
                    self.cut = Some(Fault::at_offset(
                        offset,
                        "neither a compressed chunk nor a file mark: the file is damaged or cut off, or compressed in a way that is not known",
                    ));
                    break;
                }
            }
        }
        Ok(())
    }

    /// The chunk at `offset`, if one is there; where the next thing begins.
    fn chunk(&mut self, offset: u64, layout: Layout) -> Result<Option<u64>> {
        let left = self.source.len() - offset;
        if left <= layout.header_bytes() {
            return Ok(None);
        }
        let head = read(&self.source, offset, layout.header_bytes() as usize)?;
        let sectors = head.get(1).copied().unwrap_or(0);
        let payload_bytes = u64::from(u16_at(&head, 2).unwrap_or(0));
        let is_chunk = (1..=CHUNK_SECTORS_MAX).contains(&sectors)
            && payload_bytes > 0
            && payload_bytes <= left - layout.header_bytes()
            && match layout {
                Layout::TwentyEight => head[0] == CHUNK_MARK && u32_at(&head, 20) == Some(0),
                Layout::Eight => self.begins_with_code(offset + layout.header_bytes(), payload_bytes)?,
            };
        if !is_chunk {
            return Ok(None);
        }
        let file_offset = offset + layout.header_bytes();
        self.push(Span {
            stream_offset: self.stream_bytes,
            file_offset,
            payload_bytes: payload_bytes as u32,
            stream_bytes: u32::from(sectors) * SECTOR_BYTES as u32,
            is_compressed: true,
        });
        Ok(Some(file_offset + payload_bytes))
    }

    /// Whether a payload begins with the lengths of a whole code: what tells a chunk of version 1 from stale bytes.
    fn begins_with_code(&self, offset: u64, payload_bytes: u64) -> Result<bool> {
        if payload_bytes < huffman::TABLE_BYTES as u64 {
            return Ok(false);
        }
        Ok(huffman::is_code(&read(&self.source, offset, huffman::TABLE_BYTES)?))
    }

    /// The file mark at the next physical block, if one is there; where the next thing begins.
    fn file_mark(&mut self, offset: u64) -> Result<Option<u64>> {
        let mut candidate = offset.next_multiple_of(SECTOR_BYTES as u64);
        let end = self.source.len().min(candidate + PHYSICAL_BLOCK_BYTES_MAX);
        while candidate + SECTOR_BYTES as u64 <= end {
            let head = read(&self.source, candidate, 16)?;
            if head.starts_with(FILE_MARK) {
                let bytes = u64::from(u16_at(&head, 8).unwrap_or(0));
                if bytes < SECTOR_BYTES as u64 || bytes > self.source.len() - candidate {
                    return Ok(None);
                }
                self.push(Span {
                    stream_offset: self.stream_bytes,
                    file_offset: candidate,
                    payload_bytes: bytes as u32,
                    stream_bytes: bytes as u32,
                    is_compressed: false,
                });
                return Ok(Some(candidate + bytes));
            }
            candidate += SECTOR_BYTES as u64;
        }
        Ok(None)
    }

    /// Only zeros are left, looked at up to the size of a physical block.
    fn is_zero_from(&self, offset: u64) -> Result<bool> {
        let left = (self.source.len() - offset).min(PHYSICAL_BLOCK_BYTES_MAX);
        Ok(read(&self.source, offset, left as usize)?.iter().all(|byte| *byte == 0))
    }

    fn push(&mut self, span: Span) {
        self.stream_bytes += u64::from(span.stream_bytes);
        self.spans.push(span);
    }

    /// The bytes of span `at`.
    fn expand(&self, at: usize) -> std::result::Result<Vec<u8>, ReadFault> {
        let span = self.spans[at];
        let mut payload = vec![0; span.payload_bytes as usize];
        self.source.read_at(span.file_offset, &mut payload)?;
        if !span.is_compressed {
            return Ok(payload);
        }
        let bytes = span.stream_bytes as usize;
        let expanded = match payload.starts_with(&ZSTANDARD_MAGIC) {
            true => expand_zstandard(&payload, bytes),
            false => huffman::expand(&payload, bytes),
        };
        expanded.map_err(|reason| ReadFault {
            offset: span.file_offset,
            reason: format!("a compressed chunk of {} bytes: {reason}", span.payload_bytes),
        })
    }
}

fn expand_zstandard(payload: &[u8], output_bytes: usize) -> std::result::Result<Vec<u8>, huffman::Reason> {
    let mut output = vec![0; output_bytes];
    #[cfg(not(target_family = "wasm"))]
    let decoder = zstd::stream::read::Decoder::new(payload);
    #[cfg(target_family = "wasm")]
    let decoder = ruzstd::decoding::StreamingDecoder::new(payload);
    let mut decoder = decoder.map_err(|_| "Zstandard refuses it")?;
    decoder
        .read_exact(&mut output)
        .map_err(|_| "Zstandard finds it damaged or too short")?;
    Ok(output)
}

impl<S: ReadAt> ReadAt for Expanded<S> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> std::result::Result<(), ReadFault> {
        let end = offset.checked_add(buffer.len() as u64);
        if end.is_none_or(|end| end > self.stream_bytes) {
            return Err(ReadFault {
                offset,
                reason: "beyond the end of the compressed stream".to_owned(),
            });
        }
        // What a thread that panicked has left are whole chunks.
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut done = 0;
        while done < buffer.len() {
            let place = offset + done as u64;
            let at = self.spans.partition_point(|span| span.stream_offset <= place) - 1;
            if !kept.iter().any(|(chunk, _)| *chunk == at) {
                let expanded = self.expand(at)?;
                if kept.len() == KEPT_CHUNKS {
                    kept.pop_front();
                }
                kept.push_back((at, expanded));
            }
            let Some((_, bytes)) = kept.iter().find(|(chunk, _)| *chunk == at) else {
                continue;
            };
            let within = (place - self.spans[at].stream_offset) as usize;
            let count = (bytes.len() - within).min(buffer.len() - done);
            buffer[done..done + count].copy_from_slice(&bytes[within..within + count]);
            done += count;
        }
        Ok(())
    }

    fn len(&self) -> u64 {
        self.stream_bytes
    }
}
