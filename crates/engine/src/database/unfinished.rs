//! The end of recovery: undo of the guarded transactions, the checkpoint, the last line in the error log.
//!
//! ```text
//! analysis, redo | undo of changed definitions | open | undo of the others | checkpoint      Opening::AfterRedo
//! analysis, redo | undo                              | checkpoint | open                           Opening::AfterUndo
//! ```
//! Between opening and the end of undo, each transaction to be undone holds its locks like any open transaction: its rows cannot be read
//! under READ COMMITTED or changed, the log is kept for it, checkpoints list it, and the database cannot be dropped. After a crash in
//! between, recovery works as after any other. SQL Server calls this fast recovery.

use super::open::{RecoveryReport, tell_phase, tell_taken_back, undo_progress_text};
use super::{Database, OpenContext};
use crate::cancel::{self, LOOK_EVERY};
use crate::catalog::CATALOG_UNIT;
use crate::error::{Error, Result};
use crate::lock::{LockOwner, Mode, Resource, WriteLock};
use crate::log::TransactionChain;
use crate::marked::Marked;
use crate::recovery::{Guard, Loser, Purpose};
use crate::seams::RecoveryPhase;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use vlf::Lsn;

/// Seconds between two progress lines, in microseconds.
const PROGRESS_EVERY_MICROS: u64 = 20_000_000;

/// A transaction to be undone, and the owner of its locks.
pub(super) struct Undoing {
    pub loser: Loser,
    pub locks: Arc<LockOwner>,
}

/// The remaining work of a recovery.
pub(super) struct Unfinished {
    /// The next one to be undone is the last.
    guarded: Vec<(TransactionChain, Arc<LockOwner>)>,
    /// Those that are undone page by page.
    marked: Vec<Arc<Marked>>,
    rolled_back: u64,
    /// Extents without an owner are still to be looked for.
    orphans: bool,
    /// Keeps the database from being dropped until recovery is over.
    in_use: Arc<LockOwner>,
    /// When startup of the database began.
    pub started_micros: u64,
    /// As whom the error log's lines are written.
    pub source: String,
}

impl Unfinished {
    /// `rolled_back` transactions are undone already.
    pub fn new(
        context: &OpenContext,
        rolled_back: u64,
        orphans: bool,
        started_micros: u64,
        source: String,
    ) -> Unfinished {
        Unfinished {
            in_use: context.lock_owner(),
            guarded: Vec::new(),
            marked: Vec::new(),
            rolled_back,
            orphans,
            started_micros,
            source,
        }
    }
}

impl Database {
    /// What startup did and how long it took; grows while [`Database::is_recovering`].
    pub fn recovery(&self) -> RecoveryReport {
        *self.recovery.lock()
    }

    /// True from the opening until every transaction of before the crash is undone.
    pub fn is_recovering(&self) -> bool {
        self.recovering.load(Ordering::Acquire)
    }

    /// Whether transactions of before the crash are to be undone in order, and have locks until then.
    pub fn has_guarded_transactions(&self) -> bool {
        self.is_recovering() && self.has_guarded.load(Ordering::Acquire)
    }

    /// Gives each transaction its locks back and leaves it to [`Database::finish_recovery`]. No session uses the database yet. A
    /// transaction whose locks are not available is undone at once.
    pub(super) fn leave_unfinished(
        &self,
        guarded: Vec<Undoing>,
        marked: Vec<Arc<Marked>>,
        mut unfinished: Unfinished,
    ) -> Result<()> {
        unfinished.marked = marked;
        let tables = self.tables_by_unit();
        unfinished.in_use.lock(Resource::Database(self.id), Mode::S)?;
        for Undoing { mut loser, locks } in guarded.into_iter().rev() {
            let guard = loser.guard.take().unwrap_or_default();
            self.storage.log.restore_reserve(&mut loser.chain, guard.reserve_bytes);
            if self.take_locks(&locks, &guard, &tables) {
                unfinished.guarded.push((loser.chain, locks));
            } else {
                let last = loser.chain.last;
                self.transactions
                    .roll_back(&self.storage, &self.space, &mut loser.chain)?;
                tell_taken_back(&self.storage, &loser.chain, last, unfinished.rolled_back);
                unfinished.rolled_back += 1;
            }
        }
        self.has_guarded
            .store(!unfinished.guarded.is_empty(), Ordering::Release);
        self.recovering.store(true, Ordering::Release);
        *self.unfinished.lock() = Some(unfinished);
        Ok(())
    }

    /// The table that owns each heap and tree.
    fn tables_by_unit(&self) -> HashMap<u32, u32> {
        let mut tables = HashMap::new();
        for object in self.catalog.objects(0) {
            if let Some(table) = object.definition.table() {
                tables.extend(table.storage_roots().map(|root| (root.unit, table.object_id)));
            }
        }
        tables
    }

    fn take_locks(&self, owner: &LockOwner, guard: &Guard, tables: &HashMap<u32, u32>) -> bool {
        // As every transaction does, to keep the database from being dropped.
        if !owner.try_lock(Resource::Database(self.id), Mode::S) {
            return false;
        }
        // The catalog's rows were changed by transactions of the engine's own, which are over or undone.
        let is_catalog = |lock: &&WriteLock| matches!(lock, WriteLock::Row { unit, .. } if *unit == CATALOG_UNIT);
        let listed = guard.locks.iter().filter(|lock| !is_catalog(lock));
        if !listed.copied().all(|lock| owner.try_write_lock(self.id, lock)) {
            return false;
        }
        // A heap or tree without a table was dropped since, so its rows cannot be reached.
        let owned = guard
            .rows
            .iter()
            .filter_map(|(unit, rows)| Some((*tables.get(unit)?, *unit, rows)));
        owned.into_iter().all(|(table, unit, rows)| match rows {
            None => owner.try_write_lock(self.id, WriteLock::Table(table)),
            Some(rows) => rows
                .iter()
                .all(|row| owner.try_write_lock(self.id, WriteLock::Row { table, unit, row: *row })),
        })
    }

    /// Returns when nothing is left to recover or to take back: ends that, or waits for the thread that is ending it. The background
    /// thread that ends recoveries meets the same failures and reports them.
    ///
    /// # Errors
    /// 3617 when the request is to stop before that.
    pub fn wait_for_recovery(&self) -> Result<()> {
        if self.is_recovering() {
            let request = cancel::served();
            let goes_on = || !request.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed));
            let ended = cancel::shield(|| self.finish_recovery(&goes_on));
            if let Ok(false) = ended {
                return Err(Error::cancelled());
            }
        }
        // What fails here the background meets, too, and who comes across the page.
        match self.take_back_all_marked() {
            Err(error) if error == Error::cancelled() => Err(error),
            _ => Ok(()),
        }
    }

    /// Recovery has failed: the database may be dropped or restored, but what was not undone stays locked.
    pub(crate) fn abandon_recovery(&self) {
        if let Some(unfinished) = self.unfinished.lock().as_ref() {
            let owners = unfinished.guarded.iter().map(|(_, locks)| locks);
            owners
                .chain([&unfinished.in_use])
                .for_each(|owner| owner.unlock(Resource::Database(self.id)));
        }
    }

    /// Ends the recovery of a database that is open already: undo, the checkpoint, the error log. Stops after a change when
    /// `goes_on` says no, and answers false then; a later call, or the next start, goes on from there.
    ///
    /// # Errors
    /// 823, 824, 9001, 9004: the transactions not undone keep their locks.
    pub fn finish_recovery(&self, goes_on: &dyn Fn() -> bool) -> Result<bool> {
        let mut place = loop {
            match self.unfinished.try_lock_for(LOOK_EVERY) {
                Some(place) => break place,
                None if goes_on() => {}
                None => return Ok(false),
            }
        };
        let Some(unfinished) = place.as_mut() else {
            return Ok(true);
        };
        let clock = &self.storage.env.clock;
        let (started, device) = (clock.now_micros(), clock.device_micros());
        let outcome = self.undo_guarded(unfinished, goes_on);
        let undo_ms = (clock.now_micros() - started) / 1_000;
        {
            let mut report = self.recovery.lock();
            report.undo_ms += undo_ms;
            if let (Some(started), Some(now), Some(times)) = (device, clock.device_micros(), &mut report.device) {
                times.undo_us += now - started;
            }
            report.rolled_back = unfinished.rolled_back;
        }
        if !outcome? {
            return Ok(false);
        }
        let name = &self.storage.name;
        let say = |text: String| self.storage.env.errorlog.write(&unfinished.source, text);
        if unfinished.rolled_back > 0 {
            say(format!(
                "{} transactions rolled back in database '{name}' ({}:0). This is an informational message only. No user action is required.",
                unfinished.rolled_back, self.id
            ));
        }
        say(format!(
            "Recovery is writing a checkpoint in database '{name}' ({}). This is an informational message only. No user action is required.",
            self.id
        ));
        // The checkpoint comes first: after a crash with a full log it is what makes room for everything else.
        {
            let _one_at_a_time = self.checkpointing.lock();
            self.checkpoint_locked(false, Purpose::EndOfRecovery)?;
        }
        if unfinished.orphans {
            self.free_orphans()?;
        }
        let total_micros = self.storage.env.clock.now_micros() - unfinished.started_micros;
        self.recovery.lock().total_ms = total_micros / 1_000;
        let nothing_read = (Lsn::ZERO, Lsn::ZERO);
        let undone = unfinished.rolled_back;
        tell_phase(&self.storage, RecoveryPhase::Whole, nothing_read, undone, total_micros);
        if let Some(text) = self.device_times_text() {
            say(text);
        }
        say(self.completion_text());
        *place = None;
        self.has_guarded.store(false, Ordering::Release);
        self.recovering.store(false, Ordering::Release);
        Ok(true)
    }

    /// False when stopped.
    fn undo_guarded(&self, unfinished: &mut Unfinished, goes_on: &dyn Fn() -> bool) -> Result<bool> {
        let Unfinished {
            guarded,
            marked,
            source,
            ..
        } = unfinished;
        if guarded.is_empty() && marked.is_empty() {
            return Ok(true);
        }
        let (clock, errorlog) = (&self.storage.env.clock, &self.storage.env.errorlog);
        let reserved = |chains: &[(TransactionChain, Arc<LockOwner>)]| -> u64 {
            chains.iter().map(|(chain, _)| chain.reserved_bytes).sum()
        };
        let (total, started) = (reserved(guarded).max(1), clock.now_micros());
        let mut said = started;
        errorlog.write(source, undo_progress_text(&self.storage, 99, 0));
        while let Some((mut chain, locks)) = guarded.pop() {
            let (others, last) = (reserved(guarded), chain.last);
            let mut report = |chain: &TransactionChain| {
                let now = clock.now_micros();
                if now - said >= PROGRESS_EVERY_MICROS {
                    said = now;
                    let left = others + chain.reserved_bytes;
                    let done = total.saturating_sub(left).max(1);
                    let seconds = u128::from(now - started) * u128::from(left) / u128::from(done) / 1_000_000;
                    let percent = (done * 100 / total).min(99);
                    errorlog.write(source, undo_progress_text(&self.storage, percent, seconds as u64));
                }
                goes_on()
            };
            let undone = self
                .transactions
                .roll_back_while(&self.storage, &self.space, &mut chain, &mut report);
            if !undone.as_ref().is_ok_and(|undone| undone.is_complete) {
                guarded.push((chain, locks));
                return undone.map(|_| false);
            }
            tell_taken_back(&self.storage, &chain, last, unfinished.rolled_back);
            unfinished.rolled_back += 1;
        }
        let mut outcome = Ok(true);
        for one in marked.iter() {
            let last = one.chain().last;
            let taken_back =
                self.transactions
                    .take_back_marked((&self.storage, &self.space), one, one.place(), &mut |_| goes_on());
            match taken_back {
                Ok(true) => {
                    tell_taken_back(&self.storage, &one.chain(), last, unfinished.rolled_back);
                    unfinished.rolled_back += 1;
                }
                Ok(false) => return Ok(false),
                // The others can be ended.
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
        marked.retain(|one| one.chain().end.under_way().is_some());
        outcome
    }

    /// Frees extents that a crash left without an owner. With a full log they stay for the next start. Nobody may be creating
    /// anything meanwhile.
    pub(super) fn free_orphans(&self) -> Result<()> {
        match self.space.reconcile(&self.storage, &self.owned_roots()) {
            Err(error) if !error.is_log_full() => Err(error),
            _ => Ok(()),
        }
    }

    /// What of a recovery a modelled device took; SQL Server has no such line.
    fn device_times_text(&self) -> Option<String> {
        let times = self.recovery().device?;
        let ms = |micros: u64| micros as f64 / 1_000.0;
        Some(format!(
            "The modelled device's part of the recovery of database '{}' ({}): discovery {} ms, analysis {} ms, redo {} ms, undo {} ms.",
            self.storage.name,
            self.id,
            ms(times.discovery_us),
            ms(times.analysis_us),
            ms(times.redo_us),
            ms(times.undo_us)
        ))
    }

    fn completion_text(&self) -> String {
        // Discovery is named apart: SQL Server is silent about it, which is the pause of the published experiment.
        let report = self.recovery();
        format!(
            "Recovery completed for database {} (database ID {}) in {} second(s) (discovery {} ms of {} VLFs, analysis {} ms, redo {} ms, undo {} ms.) This is an informational message only. No user action is required.",
            self.storage.name,
            self.id,
            report.total_ms.div_ceil(1_000),
            report.discovery_ms,
            report.vlf_count,
            report.analysis_ms,
            report.redo_ms,
            report.undo_ms
        )
    }
}

impl OpenContext {
    /// A lock owner without a session.
    pub(super) fn lock_owner(&self) -> Arc<LockOwner> {
        Arc::new(self.internal_locks())
    }
}
