//! Restores log blocks to their original places. The module above gives the reason.
//!
//! 1. a directory of VLF states is deleted; the files get the set's length and page 0. New files also get empty headers if the log policy
//!    writes headers at creation; otherwise a VLF that the log never entered costs nothing
//! 2. blocks, each checked and linked to its predecessor
//! 3. headers of the VLFs that hold restored log; a VLF that the source entered later keeps the header of its previous use
//! 4. zeros after the end; everything is synced
//! 5. a directory of VLF states: startup need not read a header per VLF, and create LSNs of VLFs without a header are kept

use super::format::CHUNK_BYTES_MAX;
use super::layout::LogImage;
use super::stop::{StopPoint, Verdict};
use crate::error::{Error, Result};
use crate::log::{
    DiscoveryMode, LogFileImage, LogPolicy, LogRecord, REACH_OF_WRITES, RecordKind, StoredLog, StoredVlf, VlfHeaders,
    create_owned, delete_directory, end_time, write_directory, write_page,
};
use crate::ordered::Ordered;
use crate::seams::{DateTimeTicks, Environment};
use crate::store::IdCounters;
use disk::{Access, AlignedBuffer, DiskError, DiskErrorKind, File};
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use vlf::block::BlockHeader;
use vlf::{
    BLOCK_BYTES_MAX, Block, BlockBuilder, BlockOrigin, Expectations, FIRST_BLOCK, FIRST_VLF_OFFSET, Lsn, SECTOR_BYTES,
    VlfHeader, parse_block,
};

/// Writes of blocks given to the system before the next chunk is waited for.
const WRITES_AHEAD: usize = 3;

/// Where the log ends afterwards, and what was seen on the way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RestoredLog {
    /// First block written; redo starts here.
    pub first: Option<Lsn>,
    /// Where the next block of the chain belongs.
    pub end: Lsn,
    /// The first record that was not restored: where the log was cut, else `end`.
    pub position: Lsn,
    /// The last checkpoint that is complete in the log.
    pub checkpoint: Option<Lsn>,
    /// The highest transaction number met.
    pub transaction_max: u64,
    /// Ids below these have been promised.
    pub ids: IdCounters,
    /// The log was cut.
    pub stopped: bool,
    /// The place where it was to end was found: it is cut there, or ends there.
    pub is_reached: bool,
    /// When the newest transaction committed that was restored.
    pub newest_commit: Option<DateTimeTicks>,
}

struct LogFile {
    /// For headers, which are small and far between.
    handle: Arc<dyn File>,
    /// For blocks, past the page cache.
    blocks: Arc<dyn File>,
    image: LogFileImage,
    /// Headers as they were before; `None` = the VLF has none.
    former: Vec<Option<VlfHeader>>,
}

/// Blocks to be written.
struct WriteJob {
    file: Arc<dyn File>,
    offset: u64,
    buffer: AlignedBuffer,
    len: usize,
}

/// How it went, and the buffer back.
type Written = (std::result::Result<(), DiskError>, AlignedBuffer);

fn write(job: WriteJob) -> Written {
    let outcome = job.file.write_at(job.offset, &job.buffer[..job.len]);
    (outcome, job.buffer)
}

/// Restores the log of one set.
pub struct LogRestorer {
    env: Environment,
    policy: LogPolicy,
    files: BTreeMap<u16, LogFile>,
    places: HashMap<u32, (u16, usize)>,
    from: Lsn,
    /// Where to stop; and the first record that is looked at for that, as those before it are restored already.
    stop_at: Option<(StopPoint, Lsn)>,
    last: Option<BlockHeader>,
    restored: RestoredLog,
    scratch: Vec<u8>,
    writes: Ordered<WriteJob, Written>,
    spare: Vec<AlignedBuffer>,
}

impl LogRestorer {
    /// Step 1. Blocks before `from` are there already. `paths` has every file of the image.
    ///
    /// # Errors
    /// 5123 and 5149 for files, 3189 for an image that contradicts itself.
    pub fn begin(
        env: &Environment,
        policy: LogPolicy,
        image: LogImage,
        paths: &BTreeMap<u16, PathBuf>,
        (from, stop_at): (Lsn, Option<(StopPoint, Lsn)>),
    ) -> Result<LogRestorer> {
        let keeps_length = stop_at.is_some();
        let mut restorer = LogRestorer {
            env: env.clone(),
            policy,
            files: BTreeMap::new(),
            places: HashMap::new(),
            from,
            stop_at,
            last: None,
            restored: RestoredLog {
                end: from,
                ..RestoredLog::default()
            },
            scratch: Vec::new(),
            writes: Ordered::new(env.background, "restore-write", WRITES_AHEAD, || write),
            spare: Vec::new(),
        };
        for image in image.files {
            let id = image.page.file_id;
            let path = paths.get(&id).ok_or_else(Error::damaged_set)?;
            for (index, header) in image.headers.iter().enumerate() {
                if header.sequence.0 != 0 && restorer.places.insert(header.sequence.0, (id, index)).is_some() {
                    return Err(Error::damaged_set());
                }
            }
            let file = open_file(env, policy.vlf_headers, path, image, keeps_length)?;
            restorer.files.insert(id, file);
        }
        Ok(restorer)
    }

    /// Step 2, for the blocks of one chunk, which begin at the given address. False once the log is cut.
    ///
    /// # Errors
    /// 3189 for blocks that are damaged or do not follow; 9001 when they cannot be written.
    pub fn apply(&mut self, address: u64, bytes: &[u8]) -> Result<bool> {
        let (mut sequence, mut block, mut at) = ((address >> 32) as u32, address as u32, 0);
        while !self.restored.stopped {
            let rest = bytes.get(at..).unwrap_or_default();
            at += self.apply_in_vlf(sequence, block, rest)?;
            if at >= bytes.len() {
                break;
            }
            // What does not go on in this VLF must be the begin of the next.
            (sequence, block) = (sequence.saturating_add(1), FIRST_BLOCK);
        }
        Ok(!self.restored.stopped)
    }

    /// The blocks at the begin of `bytes` that lie in one VLF, from `first_block` on. Answers how many bytes they are.
    fn apply_in_vlf(&mut self, sequence: u32, first_block: u32, bytes: &[u8]) -> Result<usize> {
        let (file, index) = *self.places.get(&sequence).ok_or_else(Error::damaged_set)?;
        let header = self.header(file, index).ok_or_else(Error::damaged_set)?;
        if !self.follows(sequence, first_block) {
            return Err(Error::damaged_set());
        }
        let (mut at, mut keep_from, mut rebuilt) = (0, bytes.len(), None);
        let mut scratch = std::mem::take(&mut self.scratch);
        while at < bytes.len() {
            let rest = bytes.get(at..).unwrap_or_default();
            let expected = self.expectations(&header, first_block, at);
            let block = match parse_block(rest, &expected, &mut scratch) {
                Ok(block) => block,
                Err(_) if at > 0 => break,
                Err(_) => return Err(Error::damaged_set()),
            };
            let lsn = block.header().lsn;
            if lsn.with_slot(0) >= self.from.with_slot(0) {
                keep_from = keep_from.min(at);
                if let Some(slot) = self.look_at(&block)? {
                    rebuilt = shorten(&block, slot, &header);
                    self.restored.stopped = true;
                    self.restored.end = lsn;
                    self.restored.position = lsn.with_slot(slot);
                    break;
                }
                self.restored.first.get_or_insert(lsn);
                self.restored.end = lsn.next_block(usize::from(block.header().block_bytes));
            }
            self.last = Some(*block.header());
            at += usize::from(block.header().block_bytes);
        }
        self.scratch = scratch;
        let place = header.start_offset + u64::from(first_block) * SECTOR_BYTES as u64;
        if keep_from < at {
            self.write(file, place + keep_from as u64, &bytes[keep_from..at])?;
        }
        if let Some(block) = rebuilt {
            self.write(file, place + at as u64, &block)?;
            self.restored.first.get_or_insert(self.restored.end);
            self.clear(file, &header, place + at as u64 + block.len() as u64)?;
        }
        Ok(at)
    }

    fn header(&self, file: u16, index: usize) -> Option<VlfHeader> {
        self.files.get(&file)?.image.headers.get(index).copied()
    }

    fn follows(&self, sequence: u32, block: u32) -> bool {
        self.last.is_none_or(|last| {
            let next = last.lsn.next_block(usize::from(last.block_bytes));
            next.vlf == sequence && next.block == block
                || next.vlf.checked_add(1) == Some(sequence) && block == FIRST_BLOCK
        })
    }

    fn expectations(&self, header: &VlfHeader, first_block: u32, at: usize) -> Expectations {
        let base = match &self.last {
            Some(last) => Expectations::first_of_after(header, last),
            None => Expectations::first_of(header),
        };
        let block = first_block.saturating_add((at / SECTOR_BYTES) as u32);
        Expectations {
            block,
            bytes_max: header.vlf_bytes.saturating_sub(u64::from(block) * SECTOR_BYTES as u64),
            ..base
        }
    }

    /// Takes note of the records. Answers the slot of the first one that is not restored.
    fn look_at(&mut self, block: &Block<'_>) -> Result<Option<u16>> {
        for (lsn, bytes) in block.records() {
            let record = LogRecord::decode(lsn, bytes).ok_or_else(Error::damaged_set)?;
            let kind = record.header.kind;
            let verdict = match &self.stop_at {
                Some(_) if self.restored.is_reached => Verdict::Behind,
                Some((stop, position)) if lsn >= *position => stop.verdict(&record),
                Some(_) | None => Verdict::Restored,
            };
            self.restored.is_reached |= verdict != Verdict::Restored;
            if verdict == Verdict::Behind {
                return Ok(Some(lsn.slot));
            }
            self.restored.transaction_max = self.restored.transaction_max.max(record.header.transaction.0);
            match kind {
                RecordKind::Commit => self.restored.newest_commit = end_time(record.payload),
                RecordKind::CheckpointEnd => self.restored.checkpoint = Lsn::read(record.payload, 0),
                RecordKind::IdRange => {
                    let promised = IdCounters::from_bytes(record.payload).ok_or_else(Error::damaged_set)?;
                    self.restored.ids = self.restored.ids.max(promised);
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// Hands bytes to the writers; [`LogRestorer::end_writes`] says how it went.
    fn write(&mut self, file: u16, offset: u64, bytes: &[u8]) -> Result<()> {
        if self.writes.under_way() >= WRITES_AHEAD {
            self.end_write()?;
        }
        let fits = |buffer: &AlignedBuffer| buffer.len() >= bytes.len();
        let room = || AlignedBuffer::with_len(bytes.len().max(CHUNK_BYTES_MAX));
        let mut buffer = self.spare.pop().filter(fits).unwrap_or_else(room);
        buffer[..bytes.len()].copy_from_slice(bytes);
        let file = self.files.get(&file).ok_or_else(Error::damaged_set)?;
        self.writes.submit(WriteJob {
            file: file.blocks.clone(),
            offset,
            buffer,
            len: bytes.len(),
        });
        Ok(())
    }

    /// Waits for the oldest write.
    fn end_write(&mut self) -> Result<()> {
        let Some((outcome, buffer)) = self.writes.next() else {
            return Ok(());
        };
        self.spare.push(buffer);
        outcome.map_err(|error| file_error(&error))
    }

    fn end_writes(&mut self) -> Result<()> {
        while self.writes.under_way() > 0 {
            self.end_write()?;
        }
        Ok(())
    }

    /// Zeros from `offset` on, as far as recovery looks for what follows: former blocks must not speak of log that is no more.
    fn clear(&mut self, file: u16, header: &VlfHeader, offset: u64) -> Result<()> {
        let left = header.span().end().saturating_sub(offset).min(REACH_OF_WRITES);
        self.write(file, offset, &vec![0; left as usize])
    }

    /// Steps 3 to 5.
    pub fn finish(mut self) -> Result<RestoredLog> {
        if !self.restored.stopped {
            self.restored.position = self.restored.end;
        }
        self.end_writes()?;
        let last_sequence = match (self.restored.stopped, &self.last) {
            // The block that was shortened, or nothing, is the last one of the VLF where it lies.
            (true, _) => self.restored.end.vlf,
            (false, Some(last)) => last.lsn.vlf,
            (false, None) => self.from.vlf,
        };
        for file in self.files.values_mut() {
            for (header, former) in file.image.headers.iter_mut().zip(&file.former) {
                let unused = VlfHeader::unused(header.span(), header.create_lsn);
                let wanted = match former {
                    _ if header.sequence.0 <= last_sequence => *header,
                    Some(former) if former.sequence.0 <= last_sequence => *former,
                    _ => unused,
                };
                if former.unwrap_or(unused) != wanted {
                    let written = file.handle.write_at(wanted.start_offset, &wanted.encode());
                    written.map_err(|error| file_error(&error))?;
                }
                *header = wanted;
            }
        }
        if let Some(&(file, index)) = self.places.get(&self.restored.end.vlf)
            && let Some(header) = self.header(file, index)
            && !self.restored.stopped
        {
            self.clear(file, &header, header.start_offset + self.restored.end.offset_in_vlf())?;
        }
        self.end_writes()?;
        for file in self.files.values() {
            file.handle.sync().map_err(|error| file_error(&error))?;
        }
        if self.policy.discovery == DiscoveryMode::Directory {
            self.write_directory();
        }
        Ok(self.restored)
    }

    /// Without it the next start reads every header, so a failure is reported and has no other consequence.
    fn write_directory(&self) {
        let Some(first) = self.files.values().next() else {
            return;
        };
        let images: Vec<&LogFileImage> = self.files.values().map(|file| &file.image).collect();
        if let Err(error) = write_directory(&*self.env.disk, first.handle.path(), &images) {
            self.env.errorlog.write_error("Server", &file_error(&error));
        }
    }
}

/// The block again with the records before `slot`; nothing when there is none.
fn shorten(block: &Block<'_>, slot: u16, vlf: &VlfHeader) -> Option<Vec<u8>> {
    let header = block.header();
    let origin = BlockOrigin {
        lsn: header.lsn,
        parity: vlf.parity,
        previous_block_bytes: header.previous_block_bytes,
        sector_bytes: header.sector_bytes,
        bytes_max: usize::from(header.block_bytes),
    };
    let mut builder = BlockBuilder::new(vec![0; BLOCK_BYTES_MAX], origin)?;
    for kept in 1..slot {
        builder.try_push(block.record(kept)?)?;
    }
    let sealed = builder.finish(header.previous_crc, header.write_ticks);
    let mut bytes = sealed.buffer.into_bytes();
    bytes.truncate(sealed.bytes);
    Some(bytes)
}

fn file_error(error: &DiskError) -> Error {
    let path = error.path.display().to_string();
    match error.operation {
        "create" | "open" | "lock" => Error::cannot_create_file(&path, &Error::cause(error)),
        _ => Error::cannot_grow_file(&path, &Error::cause(error)),
    }
}

/// Opens or makes a file with the image's length and page 0, and headers where it is new, if VLFs have them when created. While
/// a point in time is looked for, a file is not made shorter: what the source cut off later may still be needed.
fn open_file(
    env: &Environment,
    headers: VlfHeaders,
    path: &std::path::Path,
    image: LogFileImage,
    keeps_length: bool,
) -> Result<LogFile> {
    delete_directory(&*env.disk, path).map_err(|error| file_error(&error))?;
    let handle = match env.disk.open(path, Access::Buffered) {
        Err(error) if error.kind == DiskErrorKind::NotFound => {
            create_owned(&*env.disk, path, Access::Buffered, &image.page)
        }
        other => other,
    };
    let handle = handle.and_then(|file| file.lock().map(|()| file));
    let handle = handle.map_err(|error| file_error(&error))?;
    let prepared = prepare(&*handle, headers, image, keeps_length).map_err(|error| file_error(&error))?;
    let (image, former) = prepared;
    let blocks = env
        .disk
        .open(path, Access::Direct)
        .map_err(|error| file_error(&error))?;
    Ok(LogFile {
        handle,
        blocks,
        image,
        former,
    })
}

fn prepare(
    handle: &dyn File,
    headers: VlfHeaders,
    mut image: LogFileImage,
    keeps_length: bool,
) -> std::result::Result<(LogFileImage, Vec<Option<VlfHeader>>), DiskError> {
    let StoredLog { page, vlfs } = StoredLog::read(handle)?;
    let pairs = vlfs.iter().zip(&image.headers);
    let mut same = pairs.take_while(|(vlf, header)| vlf.span == header.span()).count();
    let generation = page.as_ref().map_or(0, |page| page.generation);
    if keeps_length && same == image.headers.len() && vlfs.len() > same {
        let unused = |vlf: &StoredVlf| VlfHeader::unused(vlf.span, Lsn::ZERO);
        let kept = vlfs[same..].iter().map(|vlf| vlf.header.unwrap_or(unused(vlf)));
        image.headers.extend(kept);
        image.page = page.unwrap_or(image.page);
        same = vlfs.len();
    }
    let end = image.headers.last().map_or(FIRST_VLF_OFFSET, |last| last.span().end());
    let kept = vlfs.get(..same).unwrap_or_default();
    let kept_end = kept.last().map_or(FIRST_VLF_OFFSET, |last| last.span.end());
    if handle.len()? > kept_end {
        // What lies there was laid out in another way; new space reads as zeros.
        handle.set_len(kept_end)?;
    }
    handle.grow_reserved(end)?;
    handle.set_len(end)?;
    let mut former: Vec<Option<VlfHeader>> = kept.iter().map(|vlf| vlf.header).collect();
    image.page.headers_when_entered = headers == VlfHeaders::WhenEntered || former.contains(&None);
    image.page.file_bytes = end;
    // Higher than any copy on disk: a torn page is then the former one or this one.
    image.page.generation = image.page.generation.max(generation + 1);
    for header in image.headers.iter().skip(same) {
        let is_named = header.span().end() <= image.page.named_end();
        if headers == VlfHeaders::WhenEntered && is_named {
            former.push(None);
            continue;
        }
        let unused = VlfHeader::unused(header.span(), header.create_lsn);
        handle.write_at(unused.start_offset, &unused.encode())?;
        former.push(Some(unused));
    }
    handle.sync()?;
    write_page(handle, &image.page)?;
    handle.sync()?;
    Ok((image, former))
}
