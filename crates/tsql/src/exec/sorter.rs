//! An external merge sort of rows.
//!
//! ```text
//! rows -> | chunk | chunk | .. |  until the grant is used up
//!            sorted -> run 0      runs follow each other in one spill file
//!            sorted -> run 1
//!            ...                  merged, as many at a time as buffers fit, into one stream
//! record     key length u32, row length u32, key, row
//! ```
//! Keys are bytes in unsigned order. The sort is stable: rows with equal keys keep their order within a run by their position, and across
//! runs by the order of the runs, which merging neighbours preserves.

use std::cmp::Ordering;

use engine::cancel;
use engine::error::{Error, Result};
use engine::types::Value;
use engine::workspace::{Extent, SpillFile, SpillKind};

use super::merge_sort;
use super::row_bytes::{push_row, read_row};
use crate::context::Context;
use crate::grant::Grant;

const CHUNK_BYTES_MIN: usize = 4 << 10;
const CHUNK_BYTES_MAX: usize = 1 << 20;
/// Bytes read from or written to a spill file at a time.
const BUFFER_BYTES: usize = 128 << 10;
/// Runs merged at a time, at most.
const FAN_IN_MAX: usize = 128;
const RECORD_HEADER_BYTES: usize = 8;

/// Where a record is, with the beginning of its key so that most comparisons need no more.
#[derive(Clone, Copy)]
struct Entry {
    prefix: u64,
    chunk: u32,
    offset: u32,
}

/// A record's key and row.
#[derive(Clone, Copy, Default)]
struct Record<'b> {
    key: &'b [u8],
    row: &'b [u8],
}

fn length_at(bytes: &[u8], at: usize) -> Option<usize> {
    let length = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*length) as usize)
}

/// The record at the beginning of `bytes`, and its length; `None` when there is not all of it.
fn record_of(bytes: &[u8]) -> Option<(Record<'_>, usize)> {
    let (key_length, row_length) = (length_at(bytes, 0)?, length_at(bytes, 4)?);
    let end = RECORD_HEADER_BYTES.checked_add(key_length)?.checked_add(row_length)?;
    let (key, row) = bytes.get(RECORD_HEADER_BYTES..end)?.split_at(key_length);
    Some((Record { key, row }, end))
}

/// Takes rows in.
pub(super) struct Sorter {
    grant: Grant,
    chunks: Vec<Vec<u8>>,
    entries: Vec<Entry>,
    scratch: Vec<u8>,
    runs: Vec<Extent>,
    file: Option<SpillFile>,
    /// How often all rows have gone to a file.
    level: u32,
    count: u64,
    /// The longest record, which a run's buffer must hold.
    record_bytes_max: usize,
}

impl Sorter {
    pub(super) fn new(context: &Context<'_>) -> Sorter {
        Sorter {
            grant: context.grant(),
            chunks: Vec::new(),
            entries: Vec::new(),
            scratch: Vec::new(),
            runs: Vec::new(),
            file: None,
            level: 1,
            count: 0,
            record_bytes_max: 0,
        }
    }

    /// Rows taken in.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Takes in a row; `push_key` appends its key.
    ///
    /// # Errors
    /// Those of `push_key` and of spilling; 701 when the row alone is too much.
    pub(super) fn push(&mut self, row: &[Value], push_key: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        self.scratch.clear();
        self.scratch.extend_from_slice(&[0; RECORD_HEADER_BYTES]);
        push_key(&mut self.scratch)?;
        let key_end = self.scratch.len();
        push_row(row, &mut self.scratch);
        let lengths = [key_end - RECORD_HEADER_BYTES, self.scratch.len() - key_end];
        for (place, length) in self.scratch.chunks_exact_mut(4).zip(lengths) {
            let length = u32::try_from(length).map_err(|_| Error::insufficient_memory())?;
            place.copy_from_slice(&length.to_le_bytes());
        }
        self.keep(key_end)
    }

    fn keep(&mut self, key_end: usize) -> Result<()> {
        let length = self.scratch.len();
        let has_room = |chunk: &Vec<u8>| chunk.capacity() - chunk.len() >= length;
        if !self.chunks.last().is_some_and(has_room) {
            self.add_chunk(length)?;
        }
        let Some(chunk) = self.chunks.last_mut() else {
            return Err(Error::assertion("a sort without a chunk"));
        };
        let mut prefix = [0; 8];
        let key = self.scratch.get(RECORD_HEADER_BYTES..key_end).unwrap_or_default();
        for (place, byte) in prefix.iter_mut().zip(key) {
            *place = *byte;
        }
        let offset = u32::try_from(chunk.len()).map_err(|_| Error::insufficient_memory())?;
        chunk.extend_from_slice(&self.scratch);
        self.entries.push(Entry {
            prefix: u64::from_be_bytes(prefix),
            chunk: self.chunks.len() as u32 - 1,
            offset,
        });
        self.count += 1;
        self.record_bytes_max = self.record_bytes_max.max(length);
        Ok(())
    }

    /// Makes room for a record: one more chunk, or, when the grant is used up, a run of all there are.
    fn add_chunk(&mut self, length: usize) -> Result<()> {
        let last = self.chunks.last().map_or(0, Vec::capacity);
        let capacity = (last * 2).clamp(CHUNK_BYTES_MIN, CHUNK_BYTES_MAX).max(length);
        // The entries of a full chunk are paid for when the next one is added: a vector that has doubled is half empty. Sorting
        // needs half of them once more.
        let entries = self.entries.capacity() * size_of::<Entry>();
        let charged = self.grant.used();
        let bytes: usize = self.chunks.iter().map(Vec::capacity).sum::<usize>() + capacity + 2 * entries;
        let more = (bytes as u64).saturating_sub(charged);
        if !self.grant.has_room(more) {
            if self.entries.is_empty() {
                self.grant.require(more)?;
            } else {
                self.spill()?;
                return self.add_chunk(length);
            }
        }
        self.chunks.push(Vec::with_capacity(capacity));
        Ok(())
    }

    fn sort(&mut self) -> Result<()> {
        let chunks = &self.chunks;
        let record = |entry: &Entry| {
            let bytes = chunks
                .get(entry.chunk as usize)
                .and_then(|chunk| chunk.get(entry.offset as usize..));
            bytes.and_then(record_of).unwrap_or_default().0
        };
        merge_sort::sort(&mut self.entries, |left, right| {
            let keys = || record(left).key.cmp(record(right).key);
            left.prefix.cmp(&right.prefix).then_with(keys)
        })
    }

    /// Writes what is in memory as a run, and gives the memory back.
    fn spill(&mut self) -> Result<()> {
        self.sort()?;
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(self.grant.spill_file(SpillKind::Worktable, 1)?),
        };
        let mut writer = RunWriter::new(file);
        for entry in &self.entries {
            cancel::spend(1)?;
            let bytes = self
                .chunks
                .get(entry.chunk as usize)
                .and_then(|chunk| chunk.get(entry.offset as usize..));
            let length = bytes.and_then(record_of).map_or(0, |(_, length)| length);
            writer.write(bytes.and_then(|bytes| bytes.get(..length)).unwrap_or_default())?;
        }
        self.runs.push(writer.finish()?);
        (self.chunks, self.entries) = (Vec::new(), Vec::new());
        self.grant.clear();
        Ok(())
    }

    /// All rows in order.
    ///
    /// # Errors
    /// Those of spilling and merging.
    pub(super) fn finish(mut self) -> Result<Sorted> {
        if self.runs.is_empty() {
            self.sort()?;
            return Ok(Sorted(Source::Memory { sorter: self, next: 0 }));
        }
        self.spill()?;
        loop {
            let fan_in = self.affordable_fan_in();
            if self.runs.len() <= fan_in {
                break;
            }
            self.merge_neighbours(fan_in)?;
        }
        let Some(file) = self.file.take() else {
            return Err(Error::assertion("runs without a file"));
        };
        let merge = Merge::new(&file, &self.runs)?;
        Ok(Sorted(Source::Runs {
            merge,
            file,
            _grant: self.grant,
        }))
    }

    /// How many runs can be merged at a time, their buffers charged: two always can.
    fn affordable_fan_in(&mut self) -> usize {
        self.grant.clear();
        let mut fan_in = self.runs.len().min(FAN_IN_MAX);
        let buffer_bytes = self.record_bytes_max.max(BUFFER_BYTES);
        while fan_in > 2 && !self.grant.has_room((fan_in * buffer_bytes) as u64) {
            fan_in /= 2;
        }
        fan_in.max(2)
    }

    /// Every `fan_in` runs become one, in their order.
    fn merge_neighbours(&mut self, fan_in: usize) -> Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        self.level += 1;
        let mut target = self.grant.spill_file(SpillKind::Worktable, self.level)?;
        let mut merged = Vec::with_capacity(self.runs.len() / fan_in + 1);
        for runs in self.runs.chunks(fan_in) {
            let mut merge = Merge::new(file, runs)?;
            let mut writer = RunWriter::new(&mut target);
            while let Some(record) = merge.head() {
                cancel::spend(1)?;
                writer.write(record)?;
                merge.advance(file)?;
            }
            merged.push(writer.finish()?);
        }
        (self.file, self.runs) = (Some(target), merged);
        Ok(())
    }
}

/// Rows in order.
pub(super) struct Sorted(Source);

/// Places of entries that a sorter keeps room for when it is emptied.
const KEPT_ENTRIES: usize = 4 << 10;

enum Source {
    Memory {
        sorter: Sorter,
        next: usize,
    },
    Runs {
        merge: Merge,
        file: SpillFile,
        _grant: Grant,
    },
}

impl Sorted {
    /// Writes the next row to the beginning of `row`; false at the end.
    ///
    /// # Errors
    /// Those of reading a spill file.
    pub(super) fn next(&mut self, row: &mut [Value]) -> Result<bool> {
        self.next_with_key(row, |_| ())
    }

    /// An empty sorter for other rows, with some of the memory of this one where it had not to spill.
    pub(super) fn into_empty(self, context: &Context<'_>) -> Sorter {
        let Source::Memory { mut sorter, .. } = self.0 else {
            return Sorter::new(context);
        };
        sorter.chunks.truncate(1);
        sorter.chunks.iter_mut().for_each(Vec::clear);
        sorter.entries.clear();
        sorter.entries.shrink_to(KEPT_ENTRIES);
        sorter.grant.clear();
        (sorter.count, sorter.record_bytes_max) = (0, 0);
        sorter
    }

    /// As [`Sorted::next`], with a look at the row's key.
    ///
    /// # Errors
    /// As [`Sorted::next`].
    pub(super) fn next_with_key(&mut self, row: &mut [Value], look: impl FnOnce(&[u8])) -> Result<bool> {
        cancel::spend(1)?;
        match &mut self.0 {
            Source::Memory { sorter, next } => {
                let Some(entry) = sorter.entries.get(*next) else {
                    return Ok(false);
                };
                *next += 1;
                let chunk = sorter.chunks.get(entry.chunk as usize);
                let bytes = chunk
                    .and_then(|chunk| chunk.get(entry.offset as usize..))
                    .unwrap_or_default();
                take(bytes, row, look)?;
            }
            Source::Runs { merge, file, .. } => {
                let Some(record) = merge.head() else { return Ok(false) };
                take(record, row, look)?;
                merge.advance(file)?;
            }
        }
        Ok(true)
    }
}

fn take(bytes: &[u8], row: &mut [Value], look: impl FnOnce(&[u8])) -> Result<()> {
    let (record, _) = record_of(bytes).ok_or_else(|| Error::assertion("a sorted record ends early"))?;
    look(record.key);
    read_row(record.row, row)
}

/// Appends records to a spill file, a buffer at a time.
struct RunWriter<'f> {
    file: &'f mut SpillFile,
    buffer: Vec<u8>,
    run: Option<Extent>,
}

impl<'f> RunWriter<'f> {
    fn new(file: &'f mut SpillFile) -> RunWriter<'f> {
        RunWriter {
            file,
            buffer: Vec::with_capacity(BUFFER_BYTES),
            run: None,
        }
    }

    fn write(&mut self, record: &[u8]) -> Result<()> {
        if self.buffer.len() + record.len() > BUFFER_BYTES {
            self.flush()?;
        }
        if record.len() > BUFFER_BYTES {
            let written = self.file.append(record)?;
            self.extend(written);
        } else {
            self.buffer.extend_from_slice(record);
        }
        Ok(())
    }

    fn extend(&mut self, written: Extent) {
        let run = self.run.get_or_insert(Extent { bytes: 0, ..written });
        run.bytes += written.bytes;
    }

    fn flush(&mut self) -> Result<()> {
        let written = self.file.append(&self.buffer)?;
        self.extend(written);
        self.buffer.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<Extent> {
        self.flush()?;
        Ok(self.run.unwrap_or(Extent { offset: 0, bytes: 0 }))
    }
}

/// Reads a run from its start, a buffer at a time.
struct RunReader {
    left: Extent,
    buffer: Vec<u8>,
    position: usize,
    /// Length of the record at `position`; 0 at the end.
    length: usize,
}

impl RunReader {
    fn open(file: &SpillFile, run: Extent) -> Result<RunReader> {
        let mut reader = RunReader {
            left: run,
            buffer: Vec::new(),
            position: 0,
            length: 0,
        };
        reader.advance(file)?;
        Ok(reader)
    }

    fn record(&self) -> Option<&[u8]> {
        let end = self.position + self.length;
        (self.length > 0).then(|| self.buffer.get(self.position..end)).flatten()
    }

    fn key(&self) -> &[u8] {
        self.record().and_then(record_of).unwrap_or_default().0.key
    }

    fn advance(&mut self, file: &SpillFile) -> Result<()> {
        self.position += self.length;
        loop {
            let rest = self.buffer.get(self.position..).unwrap_or_default();
            if let Some((_, length)) = record_of(rest) {
                self.length = length;
                return Ok(());
            }
            if self.left.bytes == 0 {
                self.length = 0;
                return if rest.is_empty() {
                    Ok(())
                } else {
                    Err(Error::assertion("a run ends inside a record"))
                };
            }
            let wanted = match (length_at(rest, 0), length_at(rest, 4)) {
                (Some(key), Some(row)) => (RECORD_HEADER_BYTES + key + row).saturating_sub(rest.len()),
                _ => 0,
            };
            self.fill(file, wanted.max(BUFFER_BYTES))?;
        }
    }

    fn fill(&mut self, file: &SpillFile, wanted: usize) -> Result<()> {
        self.buffer.drain(..self.position);
        self.position = 0;
        let start = self.buffer.len();
        let bytes = self.left.bytes.min(wanted as u64);
        self.buffer.resize(start + bytes as usize, 0);
        file.read(self.left.offset, self.buffer.get_mut(start..).unwrap_or_default())?;
        self.left.offset += bytes;
        self.left.bytes -= bytes;
        Ok(())
    }
}

/// Several runs as one: a binary heap of their readers, the least record on top.
struct Merge {
    readers: Vec<RunReader>,
    heap: Vec<usize>,
}

impl Merge {
    fn new(file: &SpillFile, runs: &[Extent]) -> Result<Merge> {
        let readers = runs
            .iter()
            .map(|&run| RunReader::open(file, run))
            .collect::<Result<Vec<_>>>()?;
        let heap = (0..readers.len())
            .filter(|&reader| readers[reader].length > 0)
            .collect();
        let mut merge = Merge { readers, heap };
        for place in (0..merge.heap.len() / 2).rev() {
            merge.sift_down(place);
        }
        Ok(merge)
    }

    fn head(&self) -> Option<&[u8]> {
        self.readers.get(*self.heap.first()?)?.record()
    }

    /// Leaves the least record behind.
    fn advance(&mut self, file: &SpillFile) -> Result<()> {
        let Some(&least) = self.heap.first() else { return Ok(()) };
        let Some(reader) = self.readers.get_mut(least) else {
            return Ok(());
        };
        reader.advance(file)?;
        if reader.length == 0 {
            self.heap.swap_remove(0);
            // The run is read: its buffer may go.
            reader.buffer = Vec::new();
        }
        self.sift_down(0);
        Ok(())
    }

    fn compare(&self, left: usize, right: usize) -> Ordering {
        let key = |reader: usize| self.readers.get(reader).map(RunReader::key);
        key(left).cmp(&key(right)).then(left.cmp(&right))
    }

    fn sift_down(&mut self, mut place: usize) {
        loop {
            let children = [2 * place + 1, 2 * place + 2];
            let mut least = place;
            for child in children {
                if child < self.heap.len() && self.compare(self.heap[child], self.heap[least]).is_lt() {
                    least = child;
                }
            }
            if least == place {
                return;
            }
            self.heap.swap(place, least);
            place = least;
        }
    }
}
