//! Reading the log forward: for recovery, to the end of the log, and online, to the end of the durable log.
//!
//! Records are handed out in place, from a window of the file: read ahead in pieces of 1 MB and across VLF borders (native) or one log block's
//! 60 KB within its VLF (classic). A classic log backup reads ahead in pieces of 1 MB that end with their VLF: SQL Server's backups have
//! buffers of that size, several of which are being filled at once (sources: `device::practice`).
//!
//! When a reader finds no block that fits, [`super::end`] decides whether the log ends there or is damaged. Online, everything before the
//! durable end must fit; otherwise it is damage.

use super::LogManager;
use super::end::{Durable, Evidence, Found, Reached, Then, judge};
use super::flight::WRITES_MAX;
use super::policy::ScanMode;
use super::read_ahead::{Ahead, PIECE_BYTES, ReadAhead, Window};
use super::record::LogRecord;
use super::state::LogPosition;
use super::table::{LogFile, VlfPlace};
use super::write::{VLFS_ENTERED_MAX, WRITE_BYTES_MAX};
use crate::error::{Error, Result};
use crate::waits::WaitType;
use disk::{AlignedBuffer, DiskError, File};
use std::sync::Arc;
use vlf::block::{BlockHeader, FLAG_WRITE_START};
use vlf::{
    BLOCK_BYTES_MAX, BlockFault, Expectations, FIRST_BLOCK, Lsn, SECTOR_BYTES, TailVerdict, VlfHeader, VlfSequence,
    parse_block_in_place,
};

/// One read of a native scan.
const LARGE_READ_BYTES: u64 = PIECE_BYTES;
/// VLFs that the write of some place and those under way with it enter at most, and the first write behind them.
const VLFS_REACHED_MAX: u32 = ((WRITES_MAX + 1) * VLFS_ENTERED_MAX) as u32;
/// Where the first write behind them begins at the latest, from that place on: each is followed by less than a block that did
/// not fit into its VLF any more.
pub(crate) const REACH_OF_WRITES: u64 = (WRITES_MAX * (WRITE_BYTES_MAX + BLOCK_BYTES_MAX) + BLOCK_BYTES_MAX) as u64;
/// Reads are aligned to this: the unit of direct reads.
const READ_UNIT: u64 = 4096;

/// Where the log was found to end: everything needed to go on writing there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndOfLog {
    /// LSN the next record gets.
    pub next: Lsn,
    /// Why the log ends there; `None` when its VLF is full or the durable end is reached.
    pub fault: Option<BlockFault>,
    /// Length of the last block, 0 when the log has none.
    pub previous_block_bytes: u16,
    /// CRC of the last block, 0 when the log has none.
    pub previous_crc: u32,
}

impl EndOfLog {
    /// The machine stopped in the middle of a write. Nothing acknowledged is lost by that.
    pub fn is_torn(&self) -> bool {
        let verdict = self.fault.map(|fault| fault.verdict(false));
        verdict == Some(vlf::TailVerdict::TornTail)
    }
}

/// What the reader must know of a VLF.
#[derive(Clone)]
struct Route {
    header: VlfHeader,
    file_id: u16,
    file: Arc<dyn File>,
    file_bytes: u64,
    large_reads: bool,
}

/// The block whose records are being handed out; its bytes are in the window.
struct CurrentBlock {
    header: BlockHeader,
    file_offset: u64,
    next_slot: u16,
}

/// A log block as it lies in its file.
#[derive(Debug, Clone, Copy)]
pub struct RawBlock<'a> {
    /// LSN of its first record.
    pub lsn: Lsn,
    /// All its bytes, sector stamps included.
    pub bytes: &'a [u8],
}

/// A forward reader; see [`LogManager::scan`].
pub struct LogScan {
    log: Arc<LogManager>,
    online: bool,
    route: Route,
    expected: Expectations,
    window: Window,
    ahead: ReadAhead,
    is_backup: bool,
    /// VLFs that are free are read as well, as long as they hold what they held.
    reads_free: bool,
    /// Where the VLFs of the reader's file end, once a classic log backup has asked.
    borders: Option<(u16, Vec<u64>)>,
    block: Option<CurrentBlock>,
    last: Option<BlockHeader>,
    first_slot: u16,
    /// The VLF before the reader's, and where in it no block was found any more.
    left: Option<(Route, Expectations)>,
    end: Option<EndOfLog>,
}

impl LogManager {
    /// Reads records from `from` on, inclusive. Before the log is resumed the reader goes on until it finds the log's end,
    /// see [`LogScan::end`]; afterwards it stops at what is durable, and can be asked again when more is.
    ///
    /// # Errors
    /// 9003 when the log does not hold `from`.
    pub fn scan(self: &Arc<Self>, from: Lsn) -> Result<LogScan> {
        self.scan_from(from, false)
    }

    /// As [`LogManager::scan`], in VLFs too that are free and hold the log that they held ([`LogManager::oldest_kept`]). Nothing keeps
    /// them from being entered again meanwhile: what is read of one that is no longer what it was, is an error.
    ///
    /// # Errors
    /// As [`LogManager::scan`].
    pub fn scan_kept(self: &Arc<Self>, from: Lsn) -> Result<LogScan> {
        self.scan_from(from, true)
    }

    fn scan_from(self: &Arc<Self>, from: Lsn, reads_free: bool) -> Result<LogScan> {
        let route = self
            .route(from.vlf, reads_free)
            .ok_or_else(|| Error::log_position_invalid(&from.to_string(), &self.database))?;
        let in_vlf = from.block >= FIRST_BLOCK && from.offset_in_vlf() <= route.header.vlf_bytes;
        if !in_vlf {
            return Err(Error::log_position_invalid(&from.to_string(), &self.database));
        }
        let skipped = from.offset_in_vlf() - Lsn::new(0, FIRST_BLOCK, 0).offset_in_vlf();
        Ok(LogScan {
            log: self.clone(),
            online: self.is_resumed(),
            expected: Expectations::first_of(&route.header).skip(skipped),
            window: Window::empty(),
            ahead: ReadAhead::new(self.env.background),
            is_backup: false,
            reads_free,
            borders: None,
            route,
            block: None,
            last: None,
            first_slot: from.slot.max(1),
            left: None,
            end: None,
        })
    }

    /// As [`LogManager::scan`], reading as a log backup does.
    ///
    /// # Errors
    /// As [`LogManager::scan`].
    pub fn scan_for_backup(self: &Arc<Self>, from: Lsn) -> Result<LogScan> {
        let scan = self.scan(from)?;
        Ok(LogScan {
            is_backup: true,
            ..scan
        })
    }

    /// Where the VLFs of a file end, in ascending order.
    fn borders(&self, file_id: u16) -> Vec<u64> {
        let state = self.hold();
        let vlfs = state.table.files.get(&file_id).map_or(&[][..], |file| &file.vlfs);
        vlfs.iter().map(|vlf| vlf.header.span().end()).collect()
    }

    /// One read of the log, with its wait.
    fn read_for_scan(&self, file: &dyn File, offset: u64, buffer: &mut [u8]) -> std::result::Result<(), DiskError> {
        let env = &self.env;
        let read = || file.read_at(offset, buffer);
        env.waits.time(&*env.clock, WaitType::IoCompletion, read)
    }

    /// 9001 for a read that failed; the error log has the reason.
    fn scan_failed(&self, error: &DiskError) -> Error {
        let what = format!("LogReader: read of '{}'", error.path.display());
        let reason = Error::operating_system(&what, &Error::cause(error));
        self.env.errorlog.write_error("Server", &reason);
        Error::log_not_available(&self.database)
    }

    /// The bytes of a file as of now; 0 if the log has it no more.
    fn bytes_of_file(&self, file_id: u16) -> u64 {
        self.hold().table.files.get(&file_id).map_or(0, LogFile::bytes)
    }

    fn route(&self, sequence: u32, even_free: bool) -> Option<Route> {
        let state = self.hold();
        let active = state.table.of_sequence(sequence);
        let place = match even_free {
            true => active.or_else(|| state.table.free_of_sequence(sequence)),
            false => active,
        }?;
        let file = state.table.files.get(&place.file)?;
        Some(Route {
            header: state.table.vlf(place)?.header,
            file_id: place.file,
            file: file.handle.clone(),
            file_bytes: file.bytes(),
            large_reads: state.policy.scan == ScanMode::LargeReads,
        })
    }
}

impl LogManager {
    /// The VLF the log would have entered after that of `sequence`, as if it had, if it needs no header before that. VLFs that a
    /// later growth has made were not there then, and of those that were entered later the headers say so.
    fn route_without_header(&self, sequence: u32) -> Option<Route> {
        let state = self.hold();
        let was_there = |place: &VlfPlace| {
            let created = state.table.vlf(*place).map(|vlf| vlf.header.create_lsn.vlf);
            created <= Some(sequence) && !state.table.left_over.contains(place)
        };
        let next = state.table.ring().find(was_there)?;
        let file = state.table.files.get(&next.file)?;
        let header = state.table.vlf(next)?.header;
        let may_lack_header = file.page.headers_when_entered && header.use_count == 0;
        may_lack_header.then(|| Route {
            header: header.entered(VlfSequence(sequence.saturating_add(1))),
            file_id: next.file,
            file: file.handle.clone(),
            file_bytes: file.bytes(),
            large_reads: state.policy.scan == ScanMode::LargeReads,
        })
    }
}

impl LogScan {
    /// The next record; `None` at the end of the log, or of what is durable.
    ///
    /// # Errors
    /// 9004 when the log is damaged, 9001 when it cannot be read.
    #[allow(
        clippy::should_implement_trait,
        reason = "records borrow the reader's window, which Iterator cannot express"
    )]
    pub fn next(&mut self) -> Result<Option<LogRecord<'_>>> {
        match self.has_next()? {
            true => self.current_record().map(Some),
            false => Ok(None),
        }
    }

    /// Goes to the next record, which [`LogScan::next`] then answers; false where it would answer `None`.
    ///
    /// # Errors
    /// As [`LogScan::next`].
    pub fn has_next(&mut self) -> Result<bool> {
        while self
            .block
            .as_ref()
            .is_none_or(|block| block.next_slot > block.header.slot_count)
        {
            if self.end.is_some() || !self.next_block()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Where the log ends, once [`LogScan::next`] has answered `None`. While the log is online: where the reader stands.
    pub fn end(&self) -> EndOfLog {
        self.end.unwrap_or_else(|| self.here(None))
    }

    /// LSN of the first record not read yet, if the log goes on at the reader's place.
    pub fn position(&self) -> Lsn {
        match &self.block {
            Some(block) if block.next_slot <= block.header.slot_count => block.header.lsn.with_slot(block.next_slot),
            _ => Lsn::new(self.expected.sequence.0, self.expected.block, 1),
        }
    }

    /// The next whole block as it lies in the file; records of a block that were not handed out are passed over. For copying
    /// the log: errors as [`LogScan::next`].
    pub fn next_raw_block(&mut self) -> Result<Option<RawBlock<'_>>> {
        if self.end.is_some() || !self.next_block()? {
            return Ok(None);
        }
        let Some(block) = self.block.take() else {
            return Err(Error::assertion("a log scan stands in a block"));
        };
        let length = usize::from(block.header.block_bytes);
        let bytes = self.window.at(self.route.file_id, block.file_offset);
        let bytes = bytes.and_then(|bytes| bytes.get_mut(..length));
        let bytes = bytes.ok_or_else(|| Error::assertion("a block that was parsed is in memory"))?;
        // Parsing has undone the stamps in the window.
        vlf::stamp_block(bytes, block.header.parity);
        Ok(Some(RawBlock {
            lsn: block.header.lsn,
            bytes,
        }))
    }

    fn current_record(&mut self) -> Result<LogRecord<'_>> {
        let Some(block) = &mut self.block else {
            return Err(Error::assertion("a log scan stands in a block"));
        };
        let slot = block.next_slot;
        block.next_slot += 1;
        let lsn = block.header.lsn.with_slot(slot);
        let (header, offset) = (block.header, block.file_offset);
        let bytes = self.window.at(self.route.file_id, offset).map(|bytes| &*bytes);
        let record = bytes
            .and_then(|bytes| header.record(bytes, slot))
            .and_then(|bytes| LogRecord::decode(lsn, bytes));
        record.ok_or_else(|| Error::log_damaged(&self.log.database, &format!("record {lsn} cannot be read")))
    }

    /// Steps to the next block; false at the end.
    fn next_block(&mut self) -> Result<bool> {
        self.block = None;
        loop {
            let position = LogPosition::new(self.expected.sequence.0, self.expected.block);
            if self.online && position >= self.log.durable() {
                return Ok(false);
            }
            if self.expected.bytes_max < SECTOR_BYTES as u64 {
                if !self.leave_vlf(None)? {
                    return Ok(false);
                }
                continue;
            }
            match self.read_block(position)? {
                Ok(header) => {
                    self.block = Some(CurrentBlock {
                        header,
                        file_offset: self.file_offset(),
                        next_slot: std::mem::replace(&mut self.first_slot, 1),
                    });
                    self.last = Some(header);
                    self.expected = self.expected.after(&header);
                    return Ok(true);
                }
                Err(fault) if !self.leave_vlf(Some(fault))? => return Ok(false),
                Err(_) => {}
            }
        }
    }

    fn file_offset(&self) -> u64 {
        self.route.header.start_offset + u64::from(self.expected.block) * SECTOR_BYTES as u64
    }

    /// Parses the block at the reader's place, reading the file when the window does not reach.
    fn read_block(&mut self, position: LogPosition) -> Result<std::result::Result<BlockHeader, BlockFault>> {
        let (file_id, offset) = (self.route.file_id, self.file_offset());
        let current = !self.online || position < self.window.durable;
        if let Some(bytes) = self.window.at(file_id, offset).filter(|_| current) {
            match parse_block_in_place(bytes, &self.expected) {
                Err(BlockFault::Short { .. }) => {}
                parsed => return Ok(parsed.map(|block| *block.header())),
            }
        }
        if !current || !self.advance_window(offset) {
            self.fill_window(offset)?;
        }
        let Some(bytes) = self.window.at(file_id, offset) else {
            return Ok(Err(BlockFault::Short {
                bytes_needed: SECTOR_BYTES,
            }));
        };
        Ok(parse_block_in_place(bytes, &self.expected).map(|block| *block.header()))
    }

    /// Moves the window on to what was read ahead, when the reader has come to its end.
    fn advance_window(&mut self, offset: u64) -> bool {
        let route = &self.route;
        if !(route.large_reads || self.is_backup) || route.file_id != self.window.file_id {
            return false;
        }
        if !route.large_reads
            && self
                .borders
                .as_ref()
                .is_none_or(|(file_id, _)| *file_id != route.file_id)
        {
            self.borders = Some((route.file_id, self.log.borders(route.file_id)));
        }
        let who = match &self.borders {
            Some((_, ends)) if !route.large_reads => Ahead::Backup(ends),
            _ => Ahead::Scan,
        };
        let (env, start) = (&self.log.env, offset / READ_UNIT * READ_UNIT);
        let (ahead, window, durable) = (&mut self.ahead, &mut self.window, self.log.durable());
        let place = (&route.file, start, route.file_bytes);
        let advance = || ahead.advance(window, place, durable, who);
        env.waits.time(&*env.clock, WaitType::IoCompletion, advance)
    }

    /// Reads the window anew. A large read goes beyond the VLF, into ones that are not needed: a shrink may take them away while it is
    /// under way, from the table of VLFs first and from the file then, and what is left is read again.
    fn fill_window(&mut self, offset: u64) -> Result<()> {
        loop {
            let failed = match self.try_to_fill_window(offset) {
                Ok(()) => return Ok(()),
                Err(failed) => failed,
            };
            let now = self.log.bytes_of_file(self.route.file_id);
            if now >= self.route.file_bytes {
                return Err(self.log.scan_failed(&failed));
            }
            self.route.file_bytes = now;
        }
    }

    fn try_to_fill_window(&mut self, offset: u64) -> std::result::Result<(), DiskError> {
        let route = &self.route;
        let vlf_end = route.header.span().end();
        let (bytes, limit) = match (route.large_reads, self.is_backup) {
            (true, _) => (LARGE_READ_BYTES, route.file_bytes),
            (false, true) => (LARGE_READ_BYTES, vlf_end.min(route.file_bytes)),
            (false, false) => (BLOCK_BYTES_MAX as u64, vlf_end.min(route.file_bytes)),
        };
        let start = offset / READ_UNIT * READ_UNIT;
        let end = (offset + bytes).next_multiple_of(READ_UNIT).min(limit);
        let len = usize::try_from(end.saturating_sub(start)).unwrap_or(0);
        let window = &mut self.window;
        window.durable = self.log.durable();
        (window.file_id, window.start) = (route.file_id, start);
        self.log.read_for_scan(&*route.file, start, window.room(len))?;
        window.len = len;
        Ok(())
    }

    /// No block fits at the reader's place: goes on to the next VLF, or ends.
    fn leave_vlf(&mut self, fault: Option<BlockFault>) -> Result<bool> {
        let next = self.next_route(1);
        let then = match fault {
            Some(fault) if self.online => self.judge_online(fault),
            Some(fault) => self.judge(fault, next.is_some())?,
            None => Then::GoOn,
        };
        let next = match (then, next, fault) {
            (Then::Damage, _, Some(fault)) => return Err(self.damage(fault)),
            (Then::EndWhereLeft, ..) => {
                if let Some((route, expected)) = self.left.take() {
                    (self.route, self.expected) = (route, expected);
                }
                None
            }
            (Then::EndHere, ..) => None,
            (_, next, _) => next,
        };
        let Some(route) = next else {
            if !self.online {
                self.check_next_was_not_entered()?;
            }
            self.end = Some(self.here(fault));
            return Ok(false);
        };
        let expected = match &self.last {
            Some(last) => Expectations::first_of_after(&route.header, last),
            None => Expectations::first_of(&route.header),
        };
        let former = std::mem::replace(&mut self.expected, expected);
        self.left = Some((std::mem::replace(&mut self.route, route), former));
        self.first_slot = 1;
        Ok(true)
    }

    /// The VLF that was entered so many VLFs after the reader's.
    fn next_route(&self, distance: u32) -> Option<Route> {
        let sequence = self.expected.sequence.0.checked_add(distance)?;
        self.log.route(sequence, self.reads_free)
    }

    /// The reader stands at the first block of a VLF, having read blocks of the VLF before.
    fn entered_here(&self) -> bool {
        let VlfSequence(sequence) = self.expected.sequence;
        self.expected.block == FIRST_BLOCK && self.last.is_some_and(|last| last.lsn.vlf != sequence)
    }

    /// What is durable must fit.
    fn judge_online(&self, fault: BlockFault) -> Then {
        let torn = fault.verdict(false) != TailVerdict::EndOfLog;
        // A reader may have begun in the unused rest of a VLF that the log has left since.
        let is_lost = torn || self.entered_here() || self.log.durable().sequence() == self.expected.sequence.0;
        if is_lost { Then::Damage } else { Then::GoOn }
    }

    /// What the reader does, by the tables of [`super::end`].
    fn judge(&self, fault: BlockFault, next_entered: bool) -> Result<Then> {
        let found = match fault.verdict(false) {
            TailVerdict::EndOfLog if fault.is_link_fault() => Found::OtherPredecessor,
            TailVerdict::EndOfLog => Found::NoBlock,
            _ => Found::Torn,
        };
        let reached = match (self.last.is_none(), self.entered_here()) {
            (true, _) => Reached::Began,
            (false, false) => Reached::Inside,
            (false, true) => Reached::First,
        };
        let evidence = |durable| Evidence {
            found,
            reached,
            durable: self.seen_from_here(reached, durable),
            next_entered,
        };
        let by_headers = self.durable_by_headers(reached);
        match judge(evidence(by_headers)) {
            // Before anything is given up, what takes longer to find is asked as well.
            Then::EndHere | Then::EndWhereLeft => Ok(judge(evidence(by_headers.max(self.durable_by_blocks(reached)?)))),
            then => Ok(then),
        }
    }

    /// The highest place that the headers of the next VLFs call durable.
    fn durable_by_headers(&self, reached: Reached) -> Lsn {
        let first = u32::from(reached != Reached::First);
        let headers = (first..=VLFS_REACHED_MAX).map_while(|distance| self.next_route(distance));
        headers
            .map(|route| route.header.durable_before)
            .max()
            .unwrap_or(Lsn::ZERO)
    }

    /// Where a place that was durable lies, from the reader's.
    fn seen_from_here(&self, reached: Reached, durable: Lsn) -> Durable {
        let VlfSequence(sequence) = self.expected.sequence;
        let place = Lsn::new(sequence, self.expected.block, 1);
        let read_to = match &self.left {
            Some((_, left)) if reached == Reached::First => Lsn::new(left.sequence.0, left.block, 1),
            _ => place,
        };
        match durable {
            durable if durable <= read_to => Durable::AsRead,
            durable if durable.vlf < sequence => Durable::InVlfBefore,
            durable if durable <= place => Durable::ToStartOfVlf,
            durable if durable.vlf == sequence => Durable::Here,
            _ => Durable::Beyond,
        }
    }

    /// The highest place that a first block of a write calls durable, of those that follow what was read, as far as the writes
    /// under way with the one that belongs there can reach.
    fn durable_by_blocks(&self, reached: Reached) -> Result<Lsn> {
        let (mut route, mut expected) = match &self.left {
            Some((route, expected)) if reached == Reached::First => (route.clone(), *expected),
            _ => (self.route.clone(), self.expected),
        };
        let (mut durable, mut reach) = (Lsn::ZERO, REACH_OF_WRITES);
        loop {
            let bytes = expected.bytes_max.min(reach);
            durable = durable.max(self.durable_by_blocks_of(&route, &expected, bytes)?);
            reach -= bytes;
            let next = expected
                .sequence
                .next()
                .and_then(|VlfSequence(next)| self.log.route(next, self.reads_free));
            let Some(next) = next.filter(|_| reach > 0) else {
                return Ok(durable);
            };
            expected = Expectations::first_of(&next.header);
            route = next;
        }
    }

    /// The log ends here by the headers. The VLF it would enter next may have been entered all the same, and its header lost: where
    /// VLFs have headers only once they are entered, zeros at its start say that it was not. A block in it whose write knew that
    /// the log was durable behind the VLF's start says that it was, for the header is durable then.
    fn check_next_was_not_entered(&self) -> Result<()> {
        let VlfSequence(sequence) = self.expected.sequence;
        let Some(route) = self.log.route_without_header(sequence) else {
            return Ok(());
        };
        let mut start = AlignedBuffer::with_len(READ_UNIT as usize);
        self.log
            .read_for_scan(&*route.file, route.header.start_offset, &mut start)
            .map_err(|failed| self.log.scan_failed(&failed))?;
        let expected = Expectations::first_of(&route.header);
        let bytes = expected.bytes_max.min(REACH_OF_WRITES);
        let is_lost = start[..SECTOR_BYTES].iter().all(|byte| *byte == 0)
            && self.durable_by_blocks_of(&route, &expected, bytes)? > Lsn::new(expected.sequence.0, 0, 1);
        match is_lost {
            true => Err(Error::log_damaged(
                &self.log.database,
                &format!(
                    "the VLF header at byte {} of '{}' is gone, and log blocks behind it show that the log has entered the VLF",
                    route.header.start_offset,
                    route.file.path().display()
                ),
            )),
            false => Ok(()),
        }
    }

    /// The same for the next `bytes` of one VLF.
    fn durable_by_blocks_of(&self, route: &Route, expected: &Expectations, bytes: u64) -> Result<Lsn> {
        let place = route.header.start_offset + u64::from(expected.block) * SECTOR_BYTES as u64;
        let start = place / READ_UNIT * READ_UNIT;
        let end = (place + bytes)
            .next_multiple_of(READ_UNIT)
            .min(route.header.span().end());
        let len = usize::try_from(end.saturating_sub(start)).unwrap_or(0);
        let mut buffer = AlignedBuffer::with_len(len);
        let read = self.log.read_for_scan(&*route.file, start, &mut buffer);
        read.map_err(|failed| self.log.scan_failed(&failed))?;
        let (mut offset, mut durable) = ((place - start) as usize, Lsn::ZERO);
        while offset < len {
            let expected = expected.skip(start + offset as u64 - place);
            let block = parse_block_in_place(&mut buffer[offset..], &expected);
            let header = block.ok().map(|block| *block.header());
            let starts_write = header.filter(|header| header.flags & FLAG_WRITE_START != 0);
            durable = durable.max(starts_write.map_or(Lsn::ZERO, |header| header.durable_before));
            offset += header.map_or(SECTOR_BYTES, |header| usize::from(header.block_bytes));
        }
        Ok(durable)
    }

    fn damage(&self, fault: BlockFault) -> Error {
        let (offset, path) = (self.file_offset(), self.route.file.path().display());
        let lsn = Lsn::new(self.expected.sequence.0, self.expected.block, 1);
        Error::log_damaged(
            &self.log.database,
            &format!("log block {lsn} at byte {offset} of '{path}': {fault}"),
        )
    }

    fn here(&self, fault: Option<BlockFault>) -> EndOfLog {
        let VlfSequence(sequence) = self.expected.sequence;
        EndOfLog {
            next: Lsn::new(sequence, self.expected.block, 1),
            fault,
            previous_block_bytes: self.last.map_or(0, |last| last.block_bytes),
            previous_crc: self.last.map_or(0, |last| last.crc),
        }
    }
}
