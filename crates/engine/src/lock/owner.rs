//! One transaction's side: its locks, its waits, and lock escalation.

use super::held::Held;
use super::manager::{Answer, Price, Verdict, Waiter};
use super::ranges::LocksRanges;
use super::{LockManager, Mode, Resource};
use crate::error::{Error, Result};
use crate::seams::Clock;
use crate::waits::{WaitStatistics, WaitType};
use parking_lot::{Mutex, MutexGuard};
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI8, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

/// Row locks on one table after which one table lock is tried instead (sql-docs: "Lock escalation", 5,000 locks).
pub const ESCALATION_THRESHOLD: u32 = 5_000;
/// How often a waiter looks up to see whether its batch was cancelled.
const CANCEL_CHECK: Duration = Duration::from_millis(20);

/// Holds locks for one transaction (or one session between transactions). Dropping it releases them all.
pub struct LockOwner {
    manager: Arc<LockManager>,
    clock: Arc<dyn Clock>,
    waits: Arc<WaitStatistics>,
    id: u64,
    /// The owner whose thread waits when this one does: itself, or the one it was made beside.
    waits_for: u64,
    session: u16,
    pub(super) held: Mutex<Held>,
    timeout_ms: AtomicI64,
    priority: AtomicI8,
    log_bytes: AtomicU64,
    cancel: Arc<AtomicBool>,
    /// What a statement holds beside locks, by database; see [`LockOwner::keep_reading`].
    reading: Mutex<Vec<(u16, Box<dyn Any + Send>)>>,
    /// Whether it holds any.
    has_reading: AtomicBool,
    pub(super) locks_ranges: LocksRanges,
}

/// How a row came to be locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowTaken {
    /// By this request: nothing of the owner's covered it before, and nothing else of it relies on the lock.
    New,
    /// It was locked before, by itself or with its table; or it is now with its table.
    Before,
    /// It is not: another owner is in the way, and the request does not wait.
    Refused,
}

static NEXT_OWNER: AtomicU64 = AtomicU64::new(1);

impl LockOwner {
    /// An owner that holds nothing. `cancel` set by anyone ends its waits with error 3617.
    pub fn new(
        manager: Arc<LockManager>,
        clock: Arc<dyn Clock>,
        waits: Arc<WaitStatistics>,
        session: u16,
        cancel: Arc<AtomicBool>,
    ) -> LockOwner {
        let id = NEXT_OWNER.fetch_add(1, Ordering::Relaxed);
        LockOwner {
            manager,
            clock,
            waits,
            id,
            waits_for: id,
            session,
            held: Mutex::new(Held::default()),
            timeout_ms: AtomicI64::new(-1),
            priority: AtomicI8::new(0),
            log_bytes: AtomicU64::new(0),
            cancel,
            reading: Mutex::new(Vec::new()),
            has_reading: AtomicBool::new(false),
            locks_ranges: LocksRanges::default(),
        }
    }

    /// Another owner for work of the engine's own: it holds nothing, and never waits.
    pub(crate) fn another(&self) -> LockOwner {
        let (manager, clock) = (self.manager.clone(), self.clock.clone());
        let another = LockOwner::new(manager, clock, self.waits.clone(), 0, Arc::default());
        another.set_timeout_ms(0);
        another
    }

    /// Another owner for work of the engine's own that this one's thread does in the middle of its transaction: it holds nothing, and waits
    /// as this one would. Its waits end by the same time-out and the same cancellation, are listed as this one's, and are this one's
    /// in a cycle: should it ever wait for what this one holds, that is a deadlock (1205).
    pub(crate) fn beside(&self) -> LockOwner {
        let (manager, clock) = (self.manager.clone(), self.clock.clone());
        let mut beside = LockOwner::new(manager, clock, self.waits.clone(), self.session, self.cancel.clone());
        beside.waits_for = self.waits_for;
        beside.set_timeout_ms(self.timeout_ms());
        beside.set_priority(self.priority.load(Ordering::Relaxed));
        beside.set_log_bytes(self.log_bytes.load(Ordering::Relaxed));
        beside
    }

    /// The id shown in lock listings.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// SET LOCK_TIMEOUT: milliseconds, -1 forever, 0 not at all.
    pub fn set_timeout_ms(&self, timeout_ms: i64) {
        self.timeout_ms.store(timeout_ms, Ordering::Relaxed);
    }

    /// SET DEADLOCK_PRIORITY: -10 to 10, the lowest gives way first.
    pub fn set_priority(&self, priority: i8) {
        self.priority.store(priority, Ordering::Relaxed);
    }

    /// How long it waits.
    pub fn timeout_ms(&self) -> i64 {
        self.timeout_ms.load(Ordering::Relaxed)
    }

    /// Tells the manager how much this transaction has logged: the cheaper one is the victim.
    pub fn set_log_bytes(&self, log_bytes: u64) {
        self.log_bytes.store(log_bytes, Ordering::Relaxed);
    }

    /// Locks `resource` in `mode` at least, waiting for as long as the timeout allows.
    ///
    /// # Errors
    /// 1205 as a deadlock's victim, 1222 at the timeout, 3617 when cancelled.
    pub fn lock(&self, resource: Resource, mode: Mode) -> Result<()> {
        self.acquire(resource, mode, true).map(|_| ())
    }

    /// Locks without waiting; false when someone is in the way.
    pub fn try_lock(&self, resource: Resource, mode: Mode) -> bool {
        self.acquire(resource, mode, false).unwrap_or(false)
    }

    /// Locks a row and the intent on its table; skips what a table lock covers; escalates past the threshold.
    pub fn lock_row(&self, database: u16, object: u32, row: Resource, mode: Mode) -> Result<()> {
        self.acquire_row(database, object, row, mode, true).map(|_| ())
    }

    /// As [`LockOwner::lock_row`], or without waiting. The caller may find that there is no row to lock and then gives the lock
    /// back ([`LockOwner::unlock_row`]).
    pub fn take_row(&self, database: u16, object: u32, row: Resource, mode: Mode, wait: bool) -> Result<RowTaken> {
        self.acquire_row(database, object, row, mode, wait)
    }

    /// Gives back the lock of a row that was [`RowTaken::New`]. The intent on its table stays.
    pub fn unlock_row(&self, database: u16, object: u32, row: Resource) {
        let mut held = self.held.lock();
        if let Some(locks) = held.rows_by_object.get_mut(&(database, object)) {
            // It was taken a moment ago: it is the last, or near.
            if let Some(place) = locks.rows.iter().rposition(|other| *other == row) {
                locks.rows.remove(place);
            }
        }
        held.modes.remove(&row);
        self.manager.set(self.id, row, None);
    }

    /// As [`LockOwner::lock_row`], but never waits: false when another owner is in the way. For callers that hold a
    /// page's latch.
    pub fn try_lock_row(&self, database: u16, object: u32, row: Resource, mode: Mode) -> bool {
        let taken = self.acquire_row(database, object, row, mode, false);
        taken.is_ok_and(|taken| taken != RowTaken::Refused)
    }

    /// Looks at everything it may hold already under one lock of its own table: a statement locks a row more than once.
    fn acquire_row(&self, database: u16, object: u32, row: Resource, mode: Mode, wait: bool) -> Result<RowTaken> {
        let table = Resource::Object(database, object);
        let mut held = self.held.lock();
        let mut table_mode = held.modes.get(&table);
        if !table_mode.is_some_and(|held| held.covers(mode.intent())) {
            match self.acquire_holding(held, table, mode.intent(), wait)? {
                Some(still_held) => held = still_held,
                None => return Ok(RowTaken::Refused),
            }
            table_mode = held.modes.get(&table);
        }
        if table_mode.is_some_and(|held| held.covers_rows_in(mode)) {
            return Ok(RowTaken::Before);
        }
        if held.is_escalation_due(database, object) {
            drop(held);
            if self.escalate(database, object, mode) {
                return Ok(RowTaken::Before);
            }
            held = self.held.lock();
        }
        let before = held.modes.get(&row);
        let Some(mut held) = self.acquire_beyond(held, row, (before, mode), wait)? else {
            return Ok(RowTaken::Refused);
        };
        if before.is_some() {
            return Ok(RowTaken::Before);
        }
        held.list_row((database, object), row);
        Ok(RowTaken::New)
    }

    /// The mode held on `resource`.
    pub fn mode_of(&self, resource: &Resource) -> Option<Mode> {
        self.held.lock().modes.get(resource)
    }

    /// Gives back one resource.
    pub fn unlock(&self, resource: Resource) {
        self.restore(resource, None);
    }

    /// Ends what one statement has locked an object for: gives back a lock that nothing has been added to, down to what was held before
    /// it. The intent of a table stays while one of its rows is locked.
    pub fn end_of_statement(&self, resource: Resource, taken: Mode, before: Option<Mode>) {
        let mut held = self.held.lock();
        if held.modes.get(&resource) != Some(taken) {
            return;
        }
        let is_bare = before.is_none_or(|before| before == Mode::SchS);
        let left = match is_bare && held.has_rows_of(resource) {
            true => Some(Mode::IS),
            false => before,
        };
        self.restore_holding(&mut held, resource, left);
    }

    /// Holds what `begin` answers until the statement that reads in this database ends; nothing if it holds such a thing already.
    pub fn keep_reading(&self, database: u16, begin: impl FnOnce() -> Box<dyn Any + Send>) {
        let mut reading = self.reading.lock();
        if !reading.iter().any(|(other, _)| *other == database) {
            reading.push((database, begin()));
            self.has_reading.store(true, Ordering::Release);
        }
    }

    /// The statement has read.
    pub fn end_of_reading(&self) {
        if self.has_reading.load(Ordering::Acquire) && self.has_reading.swap(false, Ordering::AcqRel) {
            let ended = std::mem::take(&mut *self.reading.lock());
            drop(ended);
        }
    }

    /// Gives back everything.
    pub fn release_all(&self) {
        self.end_of_reading();
        let held = std::mem::take(&mut *self.held.lock());
        for (resource, _) in held.modes.iter() {
            self.manager.set(self.id, resource, None);
            if matches!(resource, Resource::Application(..)) {
                self.manager.applications.forget(resource, self.id);
            }
        }
        self.locks_ranges.end(&self.manager);
    }

    /// Gives back everything but what belongs to the session rather than to its transaction: the locks on databases in use, and
    /// application locks on the session's account.
    pub fn release_transaction(&self, is_used: impl Fn(u16) -> bool) {
        self.end_of_reading();
        let mut held = self.held.lock();
        held.forget_rows();
        held.modes.retain(|resource, mode| {
            if matches!(resource, Resource::Application(..)) {
                let left = self.manager.applications.end_of_transaction(resource, self.id);
                self.manager.set(self.id, resource, left);
                *mode = left.unwrap_or(*mode);
                return left.is_some();
            }
            let stays = matches!(resource, Resource::Database(id) if is_used(id));
            if !stays {
                self.manager.set(self.id, resource, None);
            }
            stays
        });
        self.locks_ranges.end(&self.manager);
    }

    /// What this owner holds in a database becomes the answer's: locks of a transaction that could not end there, which stay as
    /// long as the answer lives. The lock on the database itself says who uses it, and is not among them.
    pub fn hand_over(&self, database: u16) -> LockOwner {
        let heir = LockOwner::new(
            self.manager.clone(),
            self.clock.clone(),
            self.waits.clone(),
            0,
            Arc::default(),
        );
        let (mut held, mut inherited) = (self.held.lock(), heir.held.lock());
        held.modes.retain(|resource, &mut mode| {
            let stays = resource.database() != database
                || matches!(resource, Resource::Database(_) | Resource::Application(..));
            if !stays {
                self.manager.hand_over(self.id, heir.id, resource);
                inherited.modes.insert(resource, mode);
            }
            stays
        });
        let rows = std::mem::take(&mut held.rows_by_object);
        for (object, rows) in rows {
            let owner = if object.0 == database {
                &mut inherited
            } else {
                &mut held
            };
            owner.list_rows(object, rows);
        }
        self.locks_ranges.count_heir(&self.manager, &heir.locks_ranges);
        drop((held, inherited));
        heir
    }

    /// True when this owner may skip row locks on the table because its table lock covers them.
    pub fn covers_table(&self, database: u16, object: u32, mode: Mode) -> bool {
        self.mode_of(&Resource::Object(database, object))
            .is_some_and(|held| held.covers_rows_in(mode))
    }

    /// The accounts of application locks.
    pub(super) fn applications(&self) -> &super::application::Applications {
        &self.manager.applications
    }

    /// What the accounts add up to is what is held.
    pub(super) fn set_application(&self, resource: Resource, mode: Option<Mode>) {
        self.restore(resource, mode);
    }

    /// Whether a request would be granted at once.
    pub(super) fn could_lock(&self, resource: Resource, mode: Mode) -> bool {
        self.manager.could_grant(self.id, resource, mode)
    }

    pub(super) fn restore(&self, resource: Resource, mode: Option<Mode>) {
        self.restore_holding(&mut self.held.lock(), resource, mode);
    }

    fn restore_holding(&self, held: &mut Held, resource: Resource, mode: Option<Mode>) {
        match mode {
            Some(mode) => held.modes.insert(resource, mode),
            None => held.modes.remove(&resource),
        }
        self.manager.set(self.id, resource, mode);
    }

    /// The locks of everybody.
    pub fn manager(&self) -> &LockManager {
        &self.manager
    }

    /// Tries the table lock in place of the row locks.
    fn escalate(&self, database: u16, object: u32, mode: Mode) -> bool {
        if !self.manager.escalates(database, object) {
            return false;
        }
        let table_mode = if mode.intent() == Mode::IS { Mode::S } else { Mode::X };
        if !self.try_lock(Resource::Object(database, object), table_mode) {
            return false;
        }
        let mut held = self.held.lock();
        let rows = held.rows_by_object.remove(&(database, object)).unwrap_or_default().rows;
        for row in rows {
            held.modes.remove(&row);
            self.manager.set(self.id, row, None);
        }
        true
    }

    fn acquire(&self, resource: Resource, mode: Mode, wait: bool) -> Result<bool> {
        let granted = self.acquire_holding(self.held.lock(), resource, mode, wait)?;
        Ok(granted.is_some())
    }

    /// Gives the guard back when the lock was granted, `None` when it was refused. While the request waits, the guard is let go.
    fn acquire_holding<'h>(
        &'h self,
        held: MutexGuard<'h, Held>,
        resource: Resource,
        mode: Mode,
        wait: bool,
    ) -> Result<Option<MutexGuard<'h, Held>>> {
        let before = held.modes.get(&resource);
        self.acquire_beyond(held, resource, (before, mode), wait)
    }

    /// The same for a caller that knows in which mode the resource is held before.
    fn acquire_beyond<'h>(
        &'h self,
        mut held: MutexGuard<'h, Held>,
        resource: Resource,
        (before, mode): (Option<Mode>, Mode),
        wait: bool,
    ) -> Result<Option<MutexGuard<'h, Held>>> {
        self.manager.check_granting(resource.database())?;
        let wanted = match before {
            Some(before) if before.covers(mode) => return Ok(Some(held)),
            Some(before) => before.joined_with(mode),
            None => mode,
        };
        let timeout_ms = self.timeout_ms.load(Ordering::Relaxed);
        let price = Price {
            priority: self.priority.load(Ordering::Relaxed),
            log_bytes: self.log_bytes.load(Ordering::Relaxed),
        };
        match self.manager.request(
            (self.id, self.waits_for),
            resource,
            wanted,
            price,
            wait && timeout_ms != 0,
        ) {
            Answer::Granted => {
                held.modes.insert(resource, wanted);
                Ok(Some(held))
            }
            Answer::Refused if wait => Err(Error::lock_timeout()),
            Answer::Refused => Ok(None),
            Answer::Wait(waiter) => {
                drop(held);
                self.wait(resource, &waiter, timeout_ms)?;
                held = self.held.lock();
                held.modes.insert(resource, wanted);
                Ok(Some(held))
            }
        }
    }

    fn wait(&self, resource: Resource, waiter: &Arc<Waiter>, timeout_ms: i64) -> Result<()> {
        let start = self.clock.now_micros();
        self.manager.break_cycles(self.waits_for);
        let failure = loop {
            let mut verdict = waiter.verdict.lock();
            if *verdict == Verdict::Waiting {
                waiter.wake.wait_for(&mut verdict, CANCEL_CHECK);
            }
            match *verdict {
                Verdict::Granted => break None,
                Verdict::Victim => break Some(Error::deadlock_victim(self.session)),
                Verdict::Waiting => {}
            }
            let waited_ms = self.clock.now_micros().saturating_sub(start) / 1_000;
            if let Err(refused) = self.manager.check_granting(resource.database()) {
                break Some(refused);
            }
            if self.cancel.load(Ordering::Relaxed) {
                break Some(Error::cancelled());
            }
            if timeout_ms >= 0 && waited_ms >= timeout_ms as u64 {
                break Some(Error::lock_timeout());
            }
        };
        let waited = self.clock.now_micros().saturating_sub(start);
        self.waits.record(wait_type(waiter.mode), waited, 0);
        match failure {
            // A grant may have come between the decision to give up and the giving up: then the lock is ours after all.
            Some(error) if self.manager.abandon(&resource, waiter) != Verdict::Granted => Err(error),
            _ => Ok(()),
        }
    }
}

impl Drop for LockOwner {
    fn drop(&mut self) {
        self.release_all();
    }
}

fn wait_type(mode: Mode) -> WaitType {
    match mode {
        Mode::SchS => WaitType::LockMSchemaStability,
        Mode::IS => WaitType::LockMIntentShared,
        Mode::IX => WaitType::LockMIntentExclusive,
        Mode::S => WaitType::LockMShared,
        Mode::U => WaitType::LockMUpdate,
        Mode::SIX => WaitType::LockMSharedIntentExclusive,
        Mode::X => WaitType::LockMExclusive,
        Mode::SchM => WaitType::LockMSchemaModification,
        Mode::RangeSS => WaitType::LockMRangeSharedShared,
        Mode::RangeSU => WaitType::LockMRangeSharedUpdate,
        Mode::RangeIN => WaitType::LockMRangeInsertNone,
        Mode::RangeIS => WaitType::LockMRangeInsertShared,
        Mode::RangeIU => WaitType::LockMRangeInsertUpdate,
        Mode::RangeIX => WaitType::LockMRangeInsertExclusive,
        Mode::RangeXS => WaitType::LockMRangeExclusiveShared,
        Mode::RangeXU => WaitType::LockMRangeExclusiveUpdate,
        Mode::RangeXX => WaitType::LockMRangeExclusiveExclusive,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::lock::LAST_SYSTEM_OBJECT;
    use crate::seams::SystemClock;

    const TABLE: u32 = LAST_SYSTEM_OBJECT + 1;
    const ROW_A: Resource = Resource::Row(5, TABLE, 10);
    const ROW_B: Resource = Resource::Row(5, TABLE, 11);

    fn owner(manager: &Arc<LockManager>, session: u16) -> Arc<LockOwner> {
        let clock = Arc::new(SystemClock::new());
        let waits = Arc::new(WaitStatistics::new());
        Arc::new(LockOwner::new(
            manager.clone(),
            clock,
            waits,
            session,
            Arc::new(AtomicBool::new(false)),
        ))
    }

    #[test]
    fn a_writer_waits_for_a_reader_and_gets_its_turn() {
        let manager = Arc::new(LockManager::new());
        let (reader, writer) = (owner(&manager, 51), owner(&manager, 52));
        reader.lock_row(5, TABLE, ROW_A, Mode::S).unwrap();
        assert!(!writer.try_lock(ROW_A, Mode::X));
        let thread = std::thread::spawn(move || {
            writer.lock_row(5, TABLE, ROW_A, Mode::X).unwrap();
            writer
        });
        while manager.rows().iter().all(|row| row.granted) {
            std::thread::yield_now();
        }
        reader.release_all();
        let writer = thread.join().unwrap();
        assert_eq!(writer.mode_of(&ROW_A), Some(Mode::X));
        assert_eq!(manager.rows().len(), 2, "row and intent, both the writer's");
    }

    #[test]
    fn of_two_that_wait_for_each_other_the_cheaper_one_gives_way() {
        let manager = Arc::new(LockManager::new());
        let (dear, cheap) = (owner(&manager, 51), owner(&manager, 52));
        dear.set_log_bytes(1_000_000);
        cheap.set_log_bytes(10);
        dear.lock_row(5, TABLE, ROW_A, Mode::X).unwrap();
        cheap.lock_row(5, TABLE, ROW_B, Mode::X).unwrap();
        let waiting = cheap.clone();
        let thread = std::thread::spawn(move || {
            let outcome = waiting.lock_row(5, TABLE, ROW_A, Mode::X);
            waiting.release_all();
            outcome
        });
        while manager.rows().iter().all(|row| row.granted) {
            std::thread::yield_now();
        }
        dear.lock_row(5, TABLE, ROW_B, Mode::X).unwrap();
        let error = thread.join().unwrap().unwrap_err();
        assert_eq!((error.number, error.severity), (1205, 13));
        assert!(error.message.contains("Process ID 52"));
    }

    #[test]
    fn two_readers_that_both_want_to_write_are_a_deadlock() {
        let manager = Arc::new(LockManager::new());
        let owners = [owner(&manager, 51), owner(&manager, 52)];
        for one in &owners {
            one.lock(ROW_A, Mode::S).unwrap();
        }
        let threads = owners.map(|one| {
            std::thread::spawn(move || {
                let outcome = one.lock(ROW_A, Mode::X);
                one.release_all();
                outcome
            })
        });
        let outcomes = threads.map(|thread| thread.join().unwrap());
        let victims = outcomes.iter().filter(|outcome| outcome.is_err()).count();
        assert_eq!(victims, 1, "{outcomes:?}");
    }

    /// The writer closes a circle with each reader. One victim is not enough: the other reader would wait for the writer for good,
    /// and the writer for it.
    #[test]
    fn who_closes_two_circles_at_once_breaks_both() {
        let manager = Arc::new(LockManager::new());
        let writer = owner(&manager, 51);
        writer.set_log_bytes(1_000_000);
        writer.set_timeout_ms(20_000);
        writer.lock(ROW_A, Mode::X).unwrap();
        let readers = [owner(&manager, 52), owner(&manager, 53)].map(|reader| {
            reader.lock(ROW_B, Mode::S).unwrap();
            std::thread::spawn(move || {
                let outcome = reader.lock(ROW_A, Mode::S);
                reader.release_all();
                outcome
            })
        });
        while manager.rows().iter().filter(|row| !row.granted).count() < 2 {
            std::thread::yield_now();
        }
        writer.lock(ROW_B, Mode::X).unwrap();
        writer.release_all();
        for reader in readers {
            assert_eq!(reader.join().unwrap().unwrap_err().number, 1205);
        }
    }

    #[test]
    fn a_timeout_of_zero_does_not_wait_and_a_cancel_ends_a_wait() {
        let manager = Arc::new(LockManager::new());
        let holder = owner(&manager, 51);
        holder.lock(ROW_A, Mode::X).unwrap();
        let hasty = owner(&manager, 52);
        hasty.set_timeout_ms(0);
        assert_eq!(hasty.lock(ROW_A, Mode::S).unwrap_err().number, 1222);
        let cancelled = owner(&manager, 53);
        cancelled.cancel.store(true, Ordering::Relaxed);
        assert_eq!(cancelled.lock(ROW_A, Mode::S).unwrap_err().number, 3617);
        assert_eq!(
            manager.rows().len(),
            1,
            "requests that were given up leave nothing behind"
        );
    }

    #[test]
    fn many_row_locks_become_one_table_lock_unless_someone_is_in_the_way() {
        let manager = Arc::new(LockManager::new());
        let (writer, reader) = (owner(&manager, 51), owner(&manager, 52));
        reader
            .lock_row(5, TABLE, Resource::Row(5, TABLE, u64::MAX), Mode::S)
            .unwrap();
        for row in 0..u64::from(ESCALATION_THRESHOLD) + 10 {
            writer
                .lock_row(5, TABLE, Resource::Row(5, TABLE, row), Mode::X)
                .unwrap();
        }
        assert!(
            !writer.covers_table(5, TABLE, Mode::X),
            "the reader's intent lock forbids it"
        );
        reader.release_all();
        for row in 10_000..12_000 {
            writer
                .lock_row(5, TABLE, Resource::Row(5, TABLE, row), Mode::X)
                .unwrap();
        }
        assert!(writer.covers_table(5, TABLE, Mode::X));
        assert_eq!(manager.rows().len(), 1);
    }

    #[test]
    fn row_locks_of_a_table_that_does_not_escalate_stay() {
        let manager = Arc::new(LockManager::new());
        let writer = owner(&manager, 51);
        let rows = u64::from(ESCALATION_THRESHOLD) + 10;
        let lock_all = |object: u32| {
            (0..rows).for_each(|row| {
                writer
                    .lock_row(5, object, Resource::Row(5, object, row), Mode::X)
                    .unwrap()
            });
            writer.covers_table(5, object, Mode::X)
        };
        let another = TABLE + 1;
        manager.set_escalation(5, TABLE, false);
        assert!(!lock_all(TABLE));
        assert!(lock_all(another), "another table escalates");
        writer.release_all();
        manager.set_escalation(5, TABLE, true);
        assert!(lock_all(TABLE));
    }

    /// The memory of a transaction's lists is used again by the next one; what was in them, and how far the first was from
    /// escalation, is not.
    #[test]
    fn a_transaction_knows_nothing_of_the_locks_of_the_one_before() {
        let manager = Arc::new(LockManager::new());
        let (writer, reader) = (owner(&manager, 51), owner(&manager, 52));
        reader
            .lock_row(5, TABLE, Resource::Row(5, TABLE, u64::MAX), Mode::S)
            .unwrap();
        let lock = |rows: std::ops::Range<u64>| {
            rows.for_each(|row| {
                writer
                    .lock_row(5, TABLE, Resource::Row(5, TABLE, row), Mode::X)
                    .unwrap()
            });
        };
        lock(0..3);
        writer.release_transaction(|_| false);
        assert_eq!(writer.write_locks(5), Some(Vec::new()));
        lock(7..8);
        let expected = crate::lock::WriteLock::Row {
            table: TABLE,
            unit: TABLE,
            row: 7,
        };
        assert_eq!(writer.write_locks(5), Some(vec![expected]));
        writer.release_transaction(|_| false);
        // A large one whose escalation failed, so that the next attempt was put off.
        lock(0..u64::from(ESCALATION_THRESHOLD) + 10);
        writer.release_transaction(|_| false);
        reader.release_all();
        assert!(writer.held.lock().modes.capacity() < ESCALATION_THRESHOLD as usize);
        lock(0..u64::from(ESCALATION_THRESHOLD) + 1);
        assert!(writer.covers_table(5, TABLE, Mode::X), "at the threshold again");
        writer.release_all();
        assert!(manager.rows().is_empty());
    }

    /// A user table escalates; the catalog never does: everyone shares it, and a transaction with thousands of definitions would keep all
    /// others from making one.
    #[test]
    fn row_locks_of_the_catalog_stay_row_locks() {
        let manager = Arc::new(LockManager::new());
        let writer = owner(&manager, 51);
        for row in 0..2 * u64::from(ESCALATION_THRESHOLD) {
            let catalog = Resource::Row(5, LAST_SYSTEM_OBJECT, row);
            writer.lock_row(5, LAST_SYSTEM_OBJECT, catalog, Mode::X).unwrap();
        }
        assert!(!writer.covers_table(5, LAST_SYSTEM_OBJECT, Mode::X));
        assert_eq!(manager.rows().len(), 2 * ESCALATION_THRESHOLD as usize + 1);
        assert!(owner(&manager, 52).try_lock(Resource::Object(5, LAST_SYSTEM_OBJECT), Mode::IX));
    }

    #[test]
    fn a_row_that_is_not_there_is_given_back_unless_it_was_locked_before() {
        let manager = Arc::new(LockManager::new());
        let reader = owner(&manager, 51);
        let take = |mode, wait| reader.take_row(5, TABLE, ROW_A, mode, wait).unwrap();
        assert_eq!(take(Mode::S, true), RowTaken::New);
        assert_eq!([take(Mode::S, true), take(Mode::U, true)], [RowTaken::Before; 2]);
        reader.unlock_row(5, TABLE, ROW_A);
        assert_eq!(manager.rows().len(), 1, "the intent on the table");
        assert!(!reader.held.lock().has_rows_of(Resource::Object(5, TABLE)));
        let other = owner(&manager, 52);
        other.lock_row(5, TABLE, ROW_A, Mode::X).unwrap();
        assert_eq!(take(Mode::S, false), RowTaken::Refused);
        reader.lock_row(5, TABLE, ROW_B, Mode::S).unwrap();
        assert_eq!(reader.held.lock().rows_by_object[&(5, TABLE)].rows, [ROW_B]);
    }

    /// The thread of a transaction that does system work on the side would wait only for itself here: no other owner waits, so no thread
    /// would ever wake it up.
    #[test]
    fn who_waits_for_himself_is_a_deadlock() {
        let manager = Arc::new(LockManager::new());
        let user = owner(&manager, 51);
        user.lock(ROW_A, Mode::X).unwrap();
        let beside = user.beside();
        beside.set_timeout_ms(20_000);
        assert_eq!(beside.lock(ROW_A, Mode::X).unwrap_err().number, 1205);
        assert_eq!(manager.rows().len(), 1);
    }

    #[test]
    fn work_beside_a_transaction_waits_as_the_transaction_would() {
        let manager = Arc::new(LockManager::new());
        let (user, other) = (owner(&manager, 51), owner(&manager, 52));
        other.lock(ROW_A, Mode::X).unwrap();
        user.set_timeout_ms(0);
        assert_eq!(user.beside().lock(ROW_A, Mode::S).unwrap_err().number, 1222);
        user.set_timeout_ms(-1);
        let beside = user.beside();
        let waiter = std::thread::spawn(move || beside.lock(ROW_A, Mode::S));
        let is_listed = || manager.rows().iter().any(|row| !row.granted && row.owner == user.id());
        while !is_listed() {
            std::thread::yield_now();
        }
        user.cancel.store(true, Ordering::Relaxed);
        assert_eq!(waiter.join().unwrap().unwrap_err().number, 3617);
    }

    #[test]
    fn hammered_by_threads_no_two_hold_one_row_exclusively() {
        let manager = Arc::new(LockManager::new());
        let inside = Arc::new([const { AtomicU64::new(0) }; 4]);
        let threads: Vec<_> = (0..4u64)
            .map(|seed| {
                let (one, inside) = (owner(&manager, 51 + seed as u16), inside.clone());
                std::thread::spawn(move || {
                    let mut random = seed * 7 + 1;
                    for _ in 0..2_000 {
                        random = random
                            .wrapping_mul(6_364_136_223_846_793_005)
                            .wrapping_add(1_442_695_040_888_963_407);
                        let row = (random >> 33) % 4;
                        if one.lock_row(5, TABLE, Resource::Row(5, TABLE, row), Mode::X).is_ok() {
                            assert_eq!(inside[row as usize].fetch_add(1, Ordering::SeqCst), 0);
                            inside[row as usize].fetch_sub(1, Ordering::SeqCst);
                        }
                        one.release_transaction(|_| false);
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert!(manager.rows().is_empty());
    }
}
