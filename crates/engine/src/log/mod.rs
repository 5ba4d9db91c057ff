//! The transaction log: records in log blocks, log blocks in VLFs, VLFs in log files, as SQL Server lays them out.
//!
//! ```text
//! append ──> open block ──seal──> queue ──leaders──> VLF ──full──> next free VLF ──none──> growth
//!            one short mutex          durable writes, some at once               9002 when refused
//! ```
//! The life of a log begins with [`LogManager::create`], or with [`LogManager::open`] (finds the VLFs), [`LogManager::scan`] (recovery
//! reads forward and finds the end) and [`LogManager::resume`] (continues writing there). Then come [`LogManager::append`],
//! [`LogManager::flush_to`] and [`LogManager::truncate`] in any order, and [`LogManager::close`] before the files are opened again.
//!
//! Promises to the rooms above:
//!
//! - The LSN of a record is known when it is appended, and LSNs rise in the order of appending.
//! - Log that [`LogManager::flush_to`] has acknowledged survives a power cut at any later moment. After a power cut, the log is a prefix of
//!   the appended records.
//! - A rollback never fails for lack of log space (how: [`state`]).
//! - After the first failed write, and after a panic in the middle of a change, every call answers 9001. Nothing is retried.
//! - With `Background::Inline` the same calls make the same bytes.
//!
//! | file | what it decides |
//! |---|---|
//! | [`record`] | a record's bytes |
//! | `mark` | the bytes of Commit records, and the marks in them |
//! | [`policy`] | which mechanisms work the classic and which the native way |
//! | [`table`] | free and active VLFs, and which comes next |
//! | [`state`] | the open block, and whether a record may be appended |
//! | `append` | what to do if it may not |
//! | `flush`, `gate` | which thread writes, what one write covers, how threads wait for its end |
//! | `flight` | which writes are in flight, what is durable, when another begins |
//! | `write` | how blocks become writes |
//! | [`room`] | the alarm before the log is full, and when a growth waits for a checkpoint |
//! | `grow`, `files`, `shrink` | growing, adding, removing and shrinking files |
//! | [`stored`] | the VLFs of a file at rest |
//! | [`fork`] | the recovery path to which a section of log belongs |
//! | `discover`, `page_zero` | finding the VLFs of an existing log |
//! | `directory`, `follow` | finding VLF states without reading a header per VLF |
//! | `scan`, `read_ahead`, `read` | reading forward, reading one record |
//! | `end` | where a forward reader stops, and when that is damage |
//! | `worker` | work in the background |
//! | `observe` | the log's current state, for monitoring |

mod append;
mod atomic_lsn;
mod counters;
mod directory;
mod discover;
mod end;
mod files;
mod flight;
mod flush;
mod follow;
mod fork;
mod gate;
mod grow;
mod hold;
pub mod lsn_text;
mod mark;
mod observe;
mod page_zero;
mod policy;
mod read;
mod read_ahead;
mod record;
mod room;
mod runs;
mod scan;
mod shrink;
mod state;
mod stored;
mod table;
mod worker;
mod write;

#[cfg(test)]
mod tests;

pub use atomic_lsn::AtomicLsn;
pub use counters::{FLUSH_BOUNDS_MICROS, FlushTimes, LogCounters};
pub use directory::{delete_directory, directory_path, recorded_create_lsns, write_directory};
pub use discover::Discovery;
pub(crate) use files::write_page;
pub use files::{LogFileImage, LogFileInfo, LogFileSpec};
pub(crate) use files::{create_owned, create_restored};
pub use fork::{Continuation, ForkId, ForkOrigin, LogPath};
pub use mark::{LogMark, MARK_DESCRIPTION_CHARACTERS_MAX, end_time};
pub use observe::LogPulse;
pub use policy::{
    CheckpointTiming, CommitFlush, DiscoveryMode, GrowthTiming, Initialization, LogPolicy, LogVolume, MECHANISMS,
    Opening, PolicyError, ScanMode, VlfHeaders, VlfSwitch,
};
pub use record::{
    COMPENSATION_HEADER_BYTES, ChainEnd, Links, LogRecord, OwnedRecord, PAYLOAD_BYTES_MAX, RECORD_HEADER_BYTES,
    RecordHeader, RecordKind, ToCarry, TransactionChain, TransactionId, UNDONE_FIRST_MAX, Undoing,
};
pub(crate) use record::{Trailer, UndoneFirst, undo_reserve_bytes};
pub use room::NEARLY_FULL_PERCENT;
pub(crate) use scan::REACH_OF_WRITES;
pub use scan::{EndOfLog, LogScan, RawBlock};
pub use shrink::ShrinkOutcome;
pub use stored::{StoredLog, StoredVlf};
pub use table::FileGrowth;

use crate::error::{Error, Result};
use crate::seams::{Background, Environment, Journal, LogEventKind};
use counters::{Counters, FlushHistogram, add};
use discover::Discoverer;
use disk::{AlignedBuffer, DiskError, zeros};
use flight::GATES;
use gate::Gate;
use parking_lot::{Condvar, Mutex};
use state::{LogPosition, LogState, Tail};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use table::VlfTable;
use vlf::{FIRST_BLOCK, Lsn, SECTOR_BYTES, ServerVersion, VLF_HEADER_BYTES};

/// The log of one database.
pub struct LogManager {
    env: Environment,
    database: String,
    journal: Journal,
    state: Mutex<LogState>,
    /// Buffers came back, a growth ended, or a chunk was warmed.
    room: Condvar,
    /// Ends of writes, by [`flight::gate_of`] their number.
    done: [Gate; GATES],
    /// A [`LogPosition`]: everything before it is durable.
    durable: AtomicU64,
    /// Closed, whether in good order or by a failure.
    failed: AtomicBool,
    /// Closed by a failure: see [`LogManager::check_intact`].
    broken: AtomicBool,
    /// See [`hold`].
    panicked: AtomicBool,
    on_failure: OnceLock<Box<dyn Fn() + Send + Sync>>,
    on_nearly_full: OnceLock<Box<dyn Fn() + Send + Sync>>,
    on_growth_ahead: OnceLock<Box<dyn Fn() -> bool + Send + Sync>>,
    /// See [`LogManager::follow`].
    former: OnceLock<read::FormerLog>,
    /// See [`LogManager::short_of_room`].
    short_of_room: AtomicU32,
    resumed: AtomicBool,
    counters: Counters,
    flush_times: FlushHistogram,
    read_cache: Mutex<read::ReadCache>,
    worker: Arc<worker::Worker>,
    end_reserve_bytes: u64,
}

/// One VLF as `DBCC LOGINFO` and `sys.dm_db_log_info` show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VlfInfo {
    pub file_id: u16,
    /// Offset of its header in the file, in bytes.
    pub offset: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its sequence number; 0 = never used.
    pub sequence: u32,
    /// 2 = active; 0 = reusable, or never used.
    pub status: u8,
    /// 0 = never used, 64 and 128 alternate with each use.
    pub parity: u8,
    /// LSN of the growth that made it, [`Lsn::ZERO`] when made with its file.
    pub create_lsn: Lsn,
    /// LSN of its first record, [`Lsn::ZERO`] when never used.
    pub first_lsn: Lsn,
}

/// How full the log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogSpace {
    /// All VLFs, in bytes: what `DBCC SQLPERF(LOGSPACE)` calls the log's size (without the 8 KB of each file's page 0).
    pub total_bytes: u64,
    /// From the oldest log still needed to the end of the log, in bytes.
    pub used_bytes: u64,
    /// Set aside for rollbacks, in bytes.
    pub reserved_bytes: u64,
    /// VLFs that hold log still needed.
    pub active_vlfs: usize,
    pub vlf_count: usize,
}

impl LogSpace {
    /// `Log Space Used (%)`.
    pub fn used_percent(&self) -> f64 {
        100.0 * self.used_bytes as f64 / self.total_bytes.max(1) as f64
    }
}

impl LogManager {
    /// Creates the log files of a new database and opens the log for appending. `first_sequence` numbers its first VLF: one
    /// more than the highest of the model database (Paul Randal, "Initial VLF sequence numbers").
    ///
    /// # Errors
    /// 5123 when a file cannot be created, 5150 and 5174 for its size.
    pub fn create(
        env: &Environment,
        database: &str,
        files: &[LogFileSpec],
        version: ServerVersion,
        policy: LogPolicy,
        first_sequence: u32,
    ) -> Result<Arc<LogManager>> {
        let mut table = VlfTable::default();
        for spec in files {
            let file = files::create_file(env, database, spec, version, policy, Lsn::ZERO)?;
            table.add_file(spec.file_id, file);
        }
        let log = LogManager::with_table(env, database, table, version, policy);
        log.enter_first_vlf(first_sequence.max(1))?;
        log.resume(EndOfLog {
            next: Lsn::new(first_sequence.max(1), FIRST_BLOCK, 1),
            fault: None,
            previous_block_bytes: 0,
            previous_crc: 0,
        })?;
        log.hold().to_clear = 0;
        Ok(log)
    }

    /// Opens the files of an existing log and finds its VLFs. Every used VLF counts as active until
    /// [`LogManager::truncate`] is called with what recovery needs. Records can be read; appending takes
    /// [`LogManager::resume`].
    ///
    /// # Errors
    /// 5120 when a file cannot be opened, 9004 when the log is damaged.
    pub fn open(
        env: &Environment,
        database: &str,
        files: &[LogFileSpec],
        version: ServerVersion,
        policy: LogPolicy,
    ) -> Result<(Arc<LogManager>, Discovery)> {
        let (started, device) = (env.clock.now_micros(), env.clock.device_micros());
        let mode = policy.discovery;
        let discoverer = Discoverer {
            env,
            database,
            mode,
            version,
        };
        let found = discoverer.open(files)?;
        let table = found.table;
        if table.active_count() == 0 {
            return Err(Error::log_damaged(database, "no VLF was ever used"));
        }
        let micros = env.clock.now_micros().saturating_sub(started);
        let discovery = Discovery {
            vlf_count: table.active_count() + table.free_count(),
            headers_read: found.headers_read,
            ms: micros / 1000,
            micros,
            device_micros: env.clock.device_micros().zip(device).map(|(now, then)| now - then),
        };
        let log = LogManager::with_table(env, database, table, version, policy);
        log.hold().directory = found.directory;
        Ok((log, discovery))
    }

    fn with_table(
        env: &Environment,
        database: &str,
        table: VlfTable,
        version: ServerVersion,
        policy: LogPolicy,
    ) -> Arc<LogManager> {
        let sector_bytes = table
            .files
            .values()
            .map(|file| file.page.sector_bytes)
            .max()
            .unwrap_or(4096);
        let journal = env.journal(database);
        let state = LogState::new(table, policy, version, sector_bytes, journal.clone());
        Arc::new(LogManager {
            env: env.clone(),
            database: database.to_string(),
            journal,
            end_reserve_bytes: state.end_reserve_bytes(),
            state: Mutex::new(state),
            room: Condvar::new(),
            done: Default::default(),
            durable: AtomicU64::new(0),
            failed: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            panicked: AtomicBool::new(false),
            on_failure: OnceLock::new(),
            on_nearly_full: OnceLock::new(),
            on_growth_ahead: OnceLock::new(),
            former: OnceLock::new(),
            short_of_room: AtomicU32::new(0),
            resumed: AtomicBool::new(false),
            counters: Counters::default(),
            flush_times: FlushHistogram::default(),
            read_cache: Mutex::default(),
            worker: Arc::default(),
        })
    }

    fn enter_first_vlf(&self, sequence: u32) -> Result<()> {
        let mut state = self.hold();
        let first = state.table.places().next();
        let entered = first.and_then(|place| Some((place.file, state.table.enter(place, sequence)?)));
        let (file_id, header) = entered.ok_or_else(|| Error::log_damaged(&self.database, "the log has no VLF"))?;
        let file = state.table.files.get(&file_id).map(|file| file.handle.clone());
        let file = file.ok_or_else(|| Error::log_damaged(&self.database, "the log has no file"))?;
        let page = write::header_page(&header);
        file.write_durable_at(header.start_offset, &page)
            .map_err(|error| self.latch(&error))
    }

    /// Opens the log for appending right behind its last good block. What the writes cut off left behind that place is
    /// overwritten with zeros, so that it can never follow a block written from now on; VLFs behind it whose headers those writes
    /// had brought to disk are free again.
    ///
    /// # Errors
    /// 9003 when `end` is not a place in this log, 9001 when the zeros cannot be written.
    pub fn resume(self: &Arc<Self>, end: EndOfLog) -> Result<()> {
        let invalid = || Error::log_position_invalid(&end.next.to_string(), &self.database);
        let mut state = self.hold();
        let place = state.table.of_sequence(end.next.vlf).ok_or_else(invalid)?;
        let header = state.table.vlf(place).ok_or_else(invalid)?.header;
        let file = state.table.files.get(&place.file).ok_or_else(invalid)?.handle.clone();
        let block_offset = end.next.offset_in_vlf();
        if end.next.block < FIRST_BLOCK || block_offset > header.vlf_bytes {
            return Err(invalid());
        }
        let zero_bytes = (header.vlf_bytes - block_offset).min(write::REACHED_BYTES_MAX as u64) as usize;
        if zero_bytes > 0 {
            let written = file.write_durable_at(header.start_offset + block_offset, zeros(zero_bytes));
            written.map_err(|error| self.latch(&error))?;
        }
        self.leave_what_was_not_written(&mut state, end.next.vlf)
            .map_err(|error| self.latch(&error))?;
        let tail = Tail {
            place,
            sequence: end.next.vlf,
            parity: header.parity,
            file,
            vlf_offset: header.start_offset,
            vlf_bytes: header.vlf_bytes,
            block_offset,
            previous_block_bytes: end.previous_block_bytes,
            open: None,
            entered: None,
        };
        let position = tail.position();
        state.link = end.previous_crc;
        state.flight.start_at(position);
        state.tail = Some(tail);
        self.durable.store(position.0, Ordering::Release);
        drop(state);
        let first = !self.resumed.swap(true, Ordering::SeqCst);
        if first {
            self.renew_directory()?;
        }
        if first && self.env.background == Background::Threads {
            worker::start(self)?;
            self.worker.ask(false);
        }
        Ok(())
    }

    /// Frees the VLFs behind the one in which the log ends, and says so in their headers: the log need not enter them next, for
    /// others may become free before them. What lies in their first blocks is cleared with that.
    fn leave_what_was_not_written(&self, state: &mut LogState, last: u32) -> std::result::Result<(), DiskError> {
        state.table.take_back_behind(last);
        for place in std::mem::take(&mut state.table.left_over) {
            let header = state.table.vlf(place).map(|vlf| vlf.header);
            let file = state.table.files.get(&place.file).map(|file| &file.handle);
            if let (Some(header), Some(file)) = (header, file) {
                let mut cleared = AlignedBuffer::with_len(VLF_HEADER_BYTES as usize + write::CLEARED_BYTES);
                cleared[..SECTOR_BYTES].copy_from_slice(&header.encode());
                file.write_durable_at(header.start_offset, &cleared)?;
            }
        }
        Ok(())
    }

    /// Before the log is resumed: makes durable what its files hold, so that pages which show it may be written.
    ///
    /// # Errors
    /// 9001 when a file cannot be synced.
    pub fn sync(&self) -> Result<()> {
        let handles: Vec<_> = {
            let state = self.hold();
            state.table.files.values().map(|file| file.handle.clone()).collect()
        };
        let synced = handles.iter().try_for_each(|handle| handle.sync());
        synced.map_err(|error| self.latch(&error))
    }

    /// Whether the log holds the VLF of `lsn`, and with it every later one.
    ///
    /// # Errors
    /// 9004 when it does not: the VLF's header was lost, or reads as that of a VLF that was never entered.
    pub fn require(&self, lsn: Lsn) -> Result<()> {
        let is_held = self.hold().table.of_sequence(lsn.vlf).is_some();
        let what = || {
            format!(
                "no VLF has the sequence number {}, and log from {lsn} on is needed",
                lsn.vlf
            )
        };
        is_held
            .then_some(())
            .ok_or_else(|| Error::log_damaged(&self.database, &what()))
    }

    fn is_resumed(&self) -> bool {
        self.resumed.load(Ordering::SeqCst)
    }

    fn check_usable(&self) -> Result<()> {
        if self.failed.load(Ordering::SeqCst) {
            return Err(Error::log_not_available(&self.database));
        }
        Ok(())
    }

    /// Whether what memory holds can still become durable. Once it cannot, nobody may see the database as memory has it: a
    /// commit that was not acknowledged may be on disk or not, and only recovery can tell.
    ///
    /// # Errors
    /// 9001 after a failed write, and after a rollback that found no log space; not after [`LogManager::close`].
    pub fn check_intact(&self) -> Result<()> {
        match self.is_broken() {
            true => Err(Error::log_not_available(&self.database)),
            false => Ok(()),
        }
    }

    /// Closed by a failure; see [`LogManager::check_intact`].
    pub fn is_broken(&self) -> bool {
        self.broken.load(Ordering::SeqCst)
    }

    /// `tell` is called once when the log fails, before anybody hears 9001. It runs under the log's mutex: it must not use the log
    /// and must not wait. Only the first registration counts.
    pub fn on_failure(&self, tell: impl Fn() + Send + Sync + 'static) {
        // A second one would be a second owner of this log, which there is none.
        let _ = self.on_failure.set(Box::new(tell));
    }

    /// The log is of no use from now on.
    fn break_down(&self) {
        if self.broken.swap(true, Ordering::SeqCst) {
            return;
        }
        if let Some(tell) = self.on_failure.get() {
            tell();
        }
        self.failed.store(true, Ordering::SeqCst);
    }

    fn durable(&self) -> LogPosition {
        LogPosition(self.durable.load(Ordering::Acquire))
    }

    /// Every record below this LSN is durable.
    pub fn flushed(&self) -> Lsn {
        self.durable().lsn(0)
    }

    /// LSN the next record gets, unless it does not fit where the log stands; every record so far is below it.
    pub fn end(&self) -> Lsn {
        self.hold().tail.as_ref().map_or(Lsn::ZERO, Tail::next_lsn)
    }

    /// Frees every VLF wholly before `min`, for reuse. Answers how many there were. What lies in them may be gone from then
    /// on, so `min` must be durable wherever recovery would read it from.
    pub fn truncate(&self, min: Lsn) -> usize {
        let mut state = self.hold();
        let sequence = if self.is_resumed() {
            min.vlf.min(self.durable().sequence())
        } else {
            min.vlf
        };
        let freed = state.table.free_before(sequence);
        if freed > 0 {
            add(&self.counters.truncations, 1);
            self.journal.tell(LogEventKind::Truncated {
                freed: u32::try_from(freed).unwrap_or(u32::MAX),
                needed_from: min,
            });
        }
        self.note_truncation(state);
        freed
    }

    /// How full the log is.
    pub fn space(&self) -> LogSpace {
        self.pulse().space
    }

    /// Bytes of log space from `lsn` to the end of the log.
    pub fn used_since(&self, lsn: Lsn) -> u64 {
        let state = self.hold();
        let used = state.used_bytes();
        let Some((first, last)) = state.table.active_sequences() else {
            return 0;
        };
        let before = state.table.bytes_before(lsn.vlf.min(last.saturating_add(1)));
        let inside = if lsn.vlf < first {
            0
        } else {
            u64::from(lsn.block) * SECTOR_BYTES as u64
        };
        used.saturating_sub(before + inside)
    }

    /// Every VLF, by file and offset.
    pub fn vlfs(&self) -> Vec<VlfInfo> {
        self.hold().vlf_infos()
    }

    /// Tells what happened to this log.
    pub fn tell(&self, kind: LogEventKind) {
        self.journal.tell(kind);
    }

    /// The session whose request this thread serves, for [`LogManager::tell`].
    pub fn teller(&self) -> Option<u16> {
        self.journal.session()
    }

    pub fn counters(&self) -> LogCounters {
        LogCounters {
            cold_bytes: self.hold().cold_bytes,
            ..self.counters.read()
        }
    }

    /// How long its durable writes took, by the classes of [`FLUSH_BOUNDS_MICROS`].
    pub fn flush_times(&self) -> FlushTimes {
        self.flush_times.read()
    }

    /// The policy in force.
    pub fn policy(&self) -> LogPolicy {
        self.hold().policy
    }

    /// Changes the policy; what is under way ends under the former one.
    pub fn set_policy(&self, policy: LogPolicy) {
        self.hold().policy = policy;
    }

    /// Changes the server version whose growth rules further growths follow.
    pub fn set_version(&self, version: ServerVersion) {
        self.hold().version = version;
    }

    /// What 9002 shall name as the reason: the name in `log_reuse_wait_desc`.
    pub fn set_reuse_wait(&self, reason: &'static str) {
        self.hold().reuse_wait = reason;
    }
}

impl Drop for LogManager {
    fn drop(&mut self) {
        self.worker.stop();
    }
}
