//! Growing log files: automatically when the log needs room, or to a size on request.
//!
//! A growth reaches the disk in this order, so that a power cut at any point leaves a log that opens:
//!
//! 1. the file gets its new length (and zeros, if so initialized)
//! 2. the headers of the new VLFs, if they have any; the file is synced
//! 3. page 0 with the new size and layout: one copy durably, then the other
//!
//! Until the first copy of step 3 is durable, at least one copy of page 0 has the old size, and opening truncates the file to it. Page 0
//! describes the new VLFs, so they need no headers: space that reads as zeros, because it is reserved or was zeroed, shows that they were
//! never entered. So a growth costs the same however many VLFs it adds:
//!
//! | | headers when entered | headers when created |
//! |---|---|---|
//! | a growth in reserved space | 1 reservation, 1 sync, 2 writes of 4 KB of which 1 is durable | the same, and a write of 8 KB per VLF |
//! | a growth with zeros | the zeros, 1 sync, 2 writes of 4 KB of which 1 is durable | the same, a write of 8 KB per VLF, and a second sync |
//!
//! A growth still writes headers under a policy that requires them, or if its layout does not fit into page 0. The directory of VLF states
//! has the **create LSNs** of VLFs without a header, and page 0 has those of the last growths. The directory is saved before page 0 drops
//! one that only page 0 has.
//!
//! Before step 2 the growth also writes zeros over reserved space that the log will reach before the background thread can zero it
//! ([`super::worker`] says why and how much).
//!
//! New VLFs lie after the old end of the file, so a growth does not disturb log writes. The mutex is free during a growth, and only
//! sessions that need the new space wait.

use super::LogManager;
use super::counters::add;
use super::directory::SAVE_EVERY_GROWTHS;
use super::files::write_page;
use super::hold::Held;
use super::policy::{DiscoveryMode, Initialization, VlfHeaders};
use super::state::{Claim, LogState};
use super::table::{FileGrowth, Vlf, unused_vlfs};
use super::write::header_page;
use crate::cancel;
use crate::error::{Error, Result};
use crate::seams::{Background, Environment, GrowthCause, LogEventKind};
use crate::waits::WaitType;
use disk::{DiskError, DiskErrorKind, File, zeros};
use std::sync::Arc;
use vlf::growth::{FILE_BYTES_MAX, PERCENT_GROWTH_BYTES_MIN, VLF_BYTES_MIN};
use vlf::{FIRST_VLF_OFFSET, FileHeader, LayoutSteps, PAGE_BYTES, ServerVersion};

/// One write of zeros over new space.
const ZERO_WRITE_BYTES: u64 = 1 << 20;
/// What a log that may not grow grows by when a rollback would fail otherwise.
const EMERGENCY_GROWTH_BYTES: u64 = 1 << 20;
/// Since SQL Server 2022, automatic growths of a log up to this size need no zeros (SQL Server docs, instant file
/// initialization).
const INSTANT_GROWTH_BYTES_MAX: u64 = 64 << 20;

/// A growth as planned under the mutex.
struct Growth {
    file_id: u16,
    handle: Arc<dyn File>,
    from_bytes: u64,
    page: FileHeader,
    layout: LayoutSteps,
    added: Vec<Vlf>,
    zeroed: bool,
    /// Of space that is only reserved, what is written all the same, from its start.
    near_bytes: u64,
    headers: VlfHeaders,
}

impl LogManager {
    /// The log needs room now: grows the first file that can. 9002 when none can.
    pub(super) fn grow_when_full(&self, state: &mut Held<'_>, claim: Claim) -> Result<()> {
        let forced = claim == Claim::Promised;
        if self.grow_any(state, forced, GrowthCause::Full) {
            return Ok(());
        }
        cancel::look()?;
        if forced {
            let what = "The log space set aside for a rollback is used up and the log cannot grow";
            self.env
                .errorlog
                .write("Server", format!("{what} (database '{}').", self.database));
            self.break_down();
            return Err(Error::log_not_available(&self.database));
        }
        let full = Error::log_full(&self.database, state.reuse_wait);
        self.env.errorlog.write_error("Server", &full);
        self.journal.tell(LogEventKind::Full {
            reuse_wait: state.reuse_wait,
        });
        Err(full)
    }

    /// The last free VLF was entered: grows before anyone has to wait. A log that may not grow stays as it is.
    pub(super) fn grow_ahead(&self, state: &mut Held<'_>) {
        self.grow_any(state, false, GrowthCause::Ahead);
    }

    /// Grows the first file, in the order of their ids, whose settings and disk allow it.
    fn grow_any(&self, state: &mut Held<'_>, forced: bool, cause: GrowthCause) -> bool {
        let ids: Vec<u16> = state.table.files.keys().copied().collect();
        for id in ids {
            let Some(target) = state.automatic_target(id, forced) else {
                continue;
            };
            let Some(growth) = state.plan_growth(id, target, true) else {
                continue;
            };
            let started = self.env.clock.now_micros();
            match self.carry_out(state, growth, cause) {
                Ok(()) => {
                    add(&self.counters.growths_for_room, 1);
                    self.note_slow_growth(state, id, started);
                    return true;
                }
                Err(error) if error.kind == DiskErrorKind::Cancelled => {
                    self.report_cancelled_growth(state, id, started);
                    return false;
                }
                Err(error) if cause == GrowthCause::Full => self.report_failed_growth(&error),
                Err(_) => {}
            }
        }
        false
    }

    fn report_failed_growth(&self, error: &DiskError) {
        let path = error.path.display().to_string();
        let cause = Error::cause(error);
        self.env
            .errorlog
            .write_error("Server", &Error::operating_system(&path, &cause));
        self.env
            .errorlog
            .write_error("Server", &Error::cannot_grow_file(&path, &cause));
    }

    fn report_cancelled_growth(&self, state: &LogState, id: u16, started_micros: u64) {
        let micros = self.env.clock.now_micros().saturating_sub(started_micros);
        if let Some(file) = state.table.files.get(&id) {
            let message = Error::cancelled_growth(&file.logical_name, &self.database, micros / 1000);
            self.env.errorlog.write_error("Server", &message);
        }
    }

    fn note_slow_growth(&self, state: &LogState, id: u16, started_micros: u64) {
        const SLOW_MICROS: u64 = 10_000_000;
        let micros = self.env.clock.now_micros().saturating_sub(started_micros);
        if let Some(file) = state.table.files.get(&id).filter(|_| micros >= SLOW_MICROS) {
            let message = Error::slow_growth(&file.logical_name, &self.database, micros / 1000);
            self.env.errorlog.write_error("Server", &message);
        }
    }

    /// Grows a file to `bytes` (`ALTER DATABASE ... MODIFY FILE (SIZE = ...)`), by the rules of one growth.
    ///
    /// # Errors
    /// 5039 when the file is that large already, 5149 when the disk refuses, 5150 above 2 TB, 5020 for an unknown file.
    pub fn grow_file(&self, file_id: u16, bytes: u64) -> Result<()> {
        let mut state = self.hold();
        self.wait_until_resizable(&mut state)?;
        let file = state
            .table
            .files
            .get(&file_id)
            .ok_or_else(|| Error::no_such_log_file(file_id))?;
        let (current, path) = (file.bytes(), file.path.display().to_string());
        let bytes = bytes.next_multiple_of(PAGE_BYTES);
        if bytes <= current {
            return Err(Error::size_not_larger());
        }
        if bytes > FILE_BYTES_MAX {
            return Err(Error::log_file_too_large());
        }
        let target = bytes.max(current + VLF_BYTES_MIN);
        let growth = state
            .plan_growth(file_id, target, false)
            .ok_or_else(Error::log_file_too_large)?;
        let grown = self.carry_out(&mut state, growth, GrowthCause::Request);
        grown.map_err(|error| match error.kind {
            DiskErrorKind::Cancelled => Error::cancelled(),
            _ => Error::cannot_grow_file(&path, &Error::cause(&error)),
        })
    }

    pub(super) fn wait_until_resizable(&self, state: &mut Held<'_>) -> Result<()> {
        while state.resizing || state.warming.is_some() || state.directory.saving {
            self.wait_for_change(state)?;
        }
        Ok(())
    }

    /// Waits until something has changed about the room in the log, or a moment.
    ///
    /// # Errors
    /// 3617 when the request is to stop, 9001 when what it waits for will never be.
    pub(super) fn wait_for_change(&self, state: &mut Held<'_>) -> Result<()> {
        Held::wait_for(state, &self.room, cancel::LOOK_EVERY);
        if self.has_panicked() {
            self.check_usable()?;
        }
        cancel::look()
    }

    /// Does the planned growth on disk with the mutex released, then takes the new VLFs over.
    fn carry_out(
        &self,
        state: &mut Held<'_>,
        mut growth: Growth,
        cause: GrowthCause,
    ) -> std::result::Result<(), DiskError> {
        let started = self.env.clock.now_micros();
        // Without background threads no zeros are written ahead of the log.
        if self.env.background == Background::Threads && !growth.zeroed {
            growth.note_near(state.near_bytes(growth.page.file_bytes - growth.from_bytes));
        }
        state.resizing = true;
        let done = Held::unlocked(state, || growth.carry_out(&self.env, &self.database));
        state.resizing = false;
        self.room.notify_all();
        done?;
        add(&self.counters.growths, 1);
        self.journal.tell(LogEventKind::Grown {
            file_id: growth.file_id,
            from_bytes: growth.from_bytes,
            to_bytes: growth.page.file_bytes,
            vlfs_added: growth.added.len() as u32, // a file of 2 TB has room for 8.6 million VLFs
            micros: self.env.clock.now_micros().saturating_sub(started),
            cause,
            zeroed: growth.zeroed,
        });
        state
            .table
            .grown(growth.file_id, growth.page, growth.layout, growth.added);
        self.note_fullness(state);
        state.directory.note_growth();
        let keeps_directory = state.policy.discovery == DiscoveryMode::Directory;
        if keeps_directory && state.directory.growths_since_save() >= SAVE_EVERY_GROWTHS {
            Held::unlocked(state, || self.save_directory());
        }
        Ok(())
    }
}

impl LogState {
    /// Size the file grows to by itself; `None` when its settings forbid it. `forced` = they do not count.
    fn automatic_target(&self, id: u16, forced: bool) -> Option<u64> {
        let file = self.table.files.get(&id)?;
        let current = file.bytes();
        let target = match file.growth {
            FileGrowth::Bytes(bytes) => current + bytes.next_multiple_of(PAGE_BYTES).max(PERCENT_GROWTH_BYTES_MIN),
            FileGrowth::Percent(percent) => vlf::percent_growth(current, percent).ok()?,
            FileGrowth::None if forced => current + EMERGENCY_GROWTH_BYTES,
            FileGrowth::None => return None,
        };
        let limit = if forced {
            FILE_BYTES_MAX
        } else {
            file.max_bytes.min(FILE_BYTES_MAX) / PAGE_BYTES * PAGE_BYTES
        };
        let target = target.min(limit);
        (target >= current + VLF_BYTES_MIN).then_some(target)
    }

    fn plan_growth(&self, id: u16, target_bytes: u64, automatic: bool) -> Option<Growth> {
        let file = self.table.files.get(&id)?;
        let from_bytes = file.bytes();
        let growth_bytes = target_bytes.checked_sub(from_bytes)?;
        let mut layout = file.layout.clone();
        layout.set_version(self.version);
        let spans = layout.grow(growth_bytes).ok()?;
        let instant = automatic && self.version >= ServerVersion::V2022 && growth_bytes <= INSTANT_GROWTH_BYTES_MAX;
        let zeroed = self.policy.initialization == Initialization::Zeroed && !instant;
        let create_lsn = self.tail.as_ref().map_or(vlf::Lsn::ZERO, |tail| tail.next_lsn());
        let mut page = file.page.clone();
        page.server_version = self.version;
        page.generation += 1;
        let headers = match page.set_layout(&layout) {
            true => self.policy.vlf_headers,
            false => VlfHeaders::WhenCreated,
        };
        page.headers_when_entered |= headers == VlfHeaders::WhenEntered;
        page.remember_growth(from_bytes, create_lsn);
        let added = unused_vlfs(spans, create_lsn, zeroed, headers);
        Some(Growth {
            file_id: id,
            handle: file.handle.clone(),
            from_bytes,
            page,
            layout,
            added,
            zeroed,
            near_bytes: 0,
            headers,
        })
    }
}

impl Growth {
    /// The first `bytes` of the new space are to be written.
    fn note_near(&mut self, bytes: u64) {
        self.near_bytes = bytes;
        let end = self.from_bytes + bytes;
        for vlf in &mut self.added {
            let written = end.saturating_sub(vlf.header.start_offset).min(vlf.header.vlf_bytes);
            vlf.written_bytes = vlf.written_bytes.max(written);
        }
    }

    fn carry_out(&self, env: &Environment, database: &str) -> std::result::Result<(), DiskError> {
        let result = self
            .extend(env, database)
            .and_then(|()| write_page(&*self.handle, &self.page));
        if result
            .as_ref()
            .is_err_and(|error| matches!(error.kind, DiskErrorKind::DiskFull | DiskErrorKind::Cancelled))
        {
            // What was added is given back; should that fail too, opening the file does it.
            let _ = self.handle.set_len(self.from_bytes);
        }
        result
    }

    /// Reserves the new space, and writes zeros where the log will come before the background could.
    fn write_near(&self, env: &Environment) -> std::result::Result<(), DiskError> {
        let clock = &*env.clock;
        let reserve = || self.handle.grow_reserved(self.page.file_bytes);
        env.waits.time(clock, WaitType::PreemptiveFileOps, reserve)?;
        let near = self.from_bytes..self.from_bytes + self.near_bytes;
        env.waits.time(clock, WaitType::PreemptiveWriteFileGather, || {
            write_zeros(&*self.handle, near, |_| ())
        })
    }

    fn extend(&self, env: &Environment, database: &str) -> std::result::Result<(), DiskError> {
        let range = self.from_bytes..self.page.file_bytes;
        if self.near_bytes > 0 {
            self.write_near(env)?;
        }
        let how = (self.zeroed, self.headers);
        initialize_vlfs(env, database, &*self.handle, range, &self.added, how)
    }
}

/// Makes room for new VLFs durably: the space of `range`, the file's last bytes, zeroed or not, and their headers if they have
/// any.
pub(super) fn initialize_vlfs(
    env: &Environment,
    database: &str,
    file: &dyn File,
    range: std::ops::Range<u64>,
    vlfs: &[Vlf],
    (zeroed, headers): (bool, VlfHeaders),
) -> std::result::Result<(), DiskError> {
    initialize(env, database, file, range, zeroed)?;
    match headers {
        VlfHeaders::WhenCreated => write_headers(env, file, vlfs, zeroed),
        VlfHeaders::WhenEntered if zeroed => Ok(()),
        VlfHeaders::WhenEntered => file.sync(),
    }
}

/// Gives the file the space of `range`, its last bytes: zeros written over all of it and flushed, or reserved by the file
/// system.
fn initialize(
    env: &Environment,
    database: &str,
    file: &dyn File,
    range: std::ops::Range<u64>,
    zeroed: bool,
) -> std::result::Result<(), DiskError> {
    let clock = &*env.clock;
    if !zeroed {
        return env
            .waits
            .time(clock, WaitType::PreemptiveFileOps, || file.grow_reserved(range.end));
    }
    env.waits
        .time(clock, WaitType::PreemptiveFileOps, || file.set_len(range.end))?;
    let zeroing = env.begin_zeroing(database, file.path(), range.clone());
    env.waits.time(clock, WaitType::PreemptiveWriteFileGather, || {
        // Page 0 says whose file it is, at every moment.
        let space = range.start.max(FIRST_VLF_OFFSET)..range.end;
        write_zeros(file, space, |reached| zeroing.reached(reached))
    })?;
    env.waits
        .time(clock, WaitType::PreemptiveFlushFileBuffers, || file.sync())?;
    zeroing.completed();
    Ok(())
}

/// Writes zeros over a range of whole pages; `reached` is called with the progress, in bytes from the start of the
/// file.
fn write_zeros(
    file: &dyn File,
    range: std::ops::Range<u64>,
    reached: impl Fn(u64),
) -> std::result::Result<(), DiskError> {
    let mut offset = range.start;
    while offset < range.end {
        check_wanted(file)?;
        let bytes = ZERO_WRITE_BYTES.min(range.end - offset);
        file.write_at(offset, zeros(bytes as usize))?;
        offset += bytes;
        reached(offset);
    }
    Ok(())
}

/// Fails when the request for which a file is made larger is to stop.
fn check_wanted(file: &dyn File) -> std::result::Result<(), DiskError> {
    match cancel::is_asked_to_stop() {
        true => Err(DiskError::new(DiskErrorKind::Cancelled, "extend", file.path())),
        false => Ok(()),
    }
}

/// Writes the headers of new VLFs and makes them durable. Classic waits for the flush under its wait type's name.
fn write_headers(
    env: &Environment,
    file: &dyn File,
    vlfs: &[Vlf],
    classic: bool,
) -> std::result::Result<(), DiskError> {
    for vlf in vlfs {
        check_wanted(file)?;
        file.write_at(vlf.header.start_offset, &header_page(&vlf.header))?;
    }
    if classic {
        return env
            .waits
            .time(&*env.clock, WaitType::PreemptiveFlushFileBuffers, || file.sync());
    }
    file.sync()
}
