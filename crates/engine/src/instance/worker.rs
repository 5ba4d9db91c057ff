//! The instance's background thread for automatic checkpoints and for the ghost cleaner (`store::ghosts`), which runs in each database at
//! every wake-up.
//!
//! In each database it also takes back what marked transactions have changed (`crate::marked`), a turn at every wake-up.
//!
//! The thread wakes up every [`LOOK_EVERY`], at once while marked transactions are left, and at once when a log becomes nearly full ([`Bell`]).
//!
//! A checkpoint is due when recovery would take longer than `recovery interval (min)` (0 counts as one minute), estimated at
//! [`REDO_BYTES_PER_SECOND`]; or, in a database whose log is reused after checkpoints, when the log is 70 % full (sql-docs,
//! transaction log architecture guide) and a checkpoint would free a good part of it
//! ([`Database::is_truncation_due`]). It writes every page that is dirty.
//!
//! If the policy is by log volume and no recovery interval is configured, an indirect checkpoint is due every [`INDIRECT_EVERY_BYTES`] of
//! log. Analysis then reads at most about that much, and redo twice as much, however old the last full checkpoint is. In a database with
//! commits it is also due every [`INDIRECT_EVERY_MICROS`]: redo begins at the checkpoint before the last, so two intervals are SQL Server's
//! target recovery time (60 seconds by default since 2016; sql-docs, "Database checkpoints"), and log that nothing else holds is reused
//! after that time. An indirect checkpoint writes only pages whose first change is older than the previous checkpoint, the oldest first,
//! within a budget: as many bytes of pages as bytes of log were written (a bulk load fills just as many), and in quiet times an amount that
//! a disk does not notice. If random changes exceed the budget, the start of redo falls behind, until a full checkpoint.
//!
//! Under ACCELERATED_DATABASE_RECOVERY redo is all that a restart waits for, so the volume is [`ACCELERATED_EVERY_BYTES`] there: a database is
//! back within a second, whatever was under way.
//!
//! A checkpoint is *wanted* after a log backup, or after a failed request for log space (9002), if only a missing checkpoint still holds
//! the log (`log_reuse_wait_desc` CHECKPOINT). So with frequent log backups, the log is reused up to the backup before the last, instead of
//! growing to the volume between two checkpoints.
//!
//! | policy | recovery interval | log reused after checkpoints, 70 % full | since full checkpoint | since any: volume | time | wanted | due |
//! |---|---|---|---|---|---|---|---|
//! | any | any | yes | any | any | any | any | checkpoint |
//! | any | any | no | the interval's worth | any | any | any | checkpoint |
//! | log volume | 0 | no | less | the volume | any | any | indirect checkpoint |
//! | log volume | 0 | no | less | less, not nothing | the time | any | indirect checkpoint |
//! | log volume | 0 | no | less | less | a second | yes | indirect checkpoint |
//! | log volume | 0 | no | less | less | less | any | nothing |
//! | log volume | set | no | less | any | the interval | yes | checkpoint |
//! | recovery interval | any | no | less | any | the interval, at least a minute | yes | checkpoint |
//! | log volume, set; recovery interval | | no | less | any | any | no | nothing |

use super::Instance;
use crate::database::Database;
use crate::log::{CheckpointTiming, NEARLY_FULL_PERCENT};
use parking_lot::{Condvar, Mutex};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

/// Log bytes that redo is assumed to get through in a second, for deciding when a checkpoint is due.
pub const REDO_BYTES_PER_SECOND: u64 = 100 << 20;
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(100);
/// The pause after a checkpoint that panicked, so that the error log is not filled.
const AFTER_PANIC: Duration = Duration::from_secs(10);
/// Log between two indirect checkpoints. Reading it takes analysis about a tenth of a second.
pub const INDIRECT_EVERY_BYTES: u64 = 128 << 20;
/// The same under ACCELERATED_DATABASE_RECOVERY: twice as much is half a second of redo.
pub const ACCELERATED_EVERY_BYTES: u64 = 64 << 20;
/// Time between two indirect checkpoints while anything is committed: half of the target recovery time.
pub const INDIRECT_EVERY_MICROS: u64 = 30_000_000;
/// Shortest time between two checkpoints that are due by log volume.
const WANTED_EVERY_MICROS: u64 = 1_000_000;
/// Log that pays for the writing of one page by an indirect checkpoint: as much as the page.
const INDIRECT_BYTES_PER_PAGE: u64 = 8192;
/// Pages that the ghost cleaner looks at in one turn in a database: 160 MB a second at most, and a turn of some ten milliseconds.
const GHOST_PAGES_PER_LOOK: usize = 2_048;
/// Pages that an indirect checkpoint may write for each second since the last, beside those that log pays for: 32 MB.
const INDIRECT_PAGES_PER_SECOND: u64 = 4_000;

#[derive(Default, PartialEq, Eq)]
enum Call {
    #[default]
    None,
    Look,
    End,
}

/// Calls the thread. Rings while it is at work count as one.
#[derive(Default)]
pub(super) struct Bell {
    call: Mutex<Call>,
    rung: Condvar,
}

impl Bell {
    /// Asks the thread to look at once.
    fn ring(&self) {
        let mut call = self.call.lock();
        if *call == Call::None {
            *call = Call::Look;
            self.rung.notify_one();
        }
    }

    fn end(&self) {
        *self.call.lock() = Call::End;
        self.rung.notify_one();
    }

    /// Waits for a call, or for so long; false when the call is the last. A deaf thread heeds no other.
    fn wait(&self, pause: Duration, is_deaf: bool) -> bool {
        let mut call = self.call.lock();
        let waits = |call: &mut Call| *call == Call::None || is_deaf && *call == Call::Look;
        self.rung.wait_while_for(&mut call, waits, pause);
        let goes_on = *call != Call::End;
        if goes_on {
            *call = Call::None;
        }
        goes_on
    }
}

pub(super) struct Worker {
    bell: Arc<Bell>,
    thread: JoinHandle<()>,
}

impl Instance {
    /// Called when a log is nearly full.
    pub(super) fn checkpoint_alarm(&self) -> Arc<dyn Fn() + Send + Sync> {
        let bell = self.checkpoint_bell.clone();
        Arc::new(move || bell.ring())
    }
}

impl Worker {
    pub(super) fn start(instance: &Arc<Instance>) -> std::io::Result<Worker> {
        let (bell, called) = (instance.checkpoint_bell.clone(), instance.checkpoint_bell.clone());
        let weak = Arc::downgrade(instance);
        let thread = std::thread::Builder::new()
            .name("checkpoint".to_string())
            .spawn(move || {
                let mut has_panicked = false;
                while called.wait(if has_panicked { AFTER_PANIC } else { LOOK_EVERY }, has_panicked) {
                    let Some(instance) = weak.upgrade() else { return };
                    // A panic must not end the checkpoints of all databases: their logs would fill.
                    let looked = catch_unwind(AssertUnwindSafe(|| run_due_checkpoints(&instance)));
                    has_panicked = looked.is_err();
                    if has_panicked {
                        let text = "A checkpoint ended in a failed assertion; the next one is tried when it is due.";
                        instance.env.errorlog.write("spid1s", text);
                    }
                }
            })?;
        Ok(Worker { bell, thread })
    }

    /// Stops the thread and waits for it, unless it is the one that asks.
    pub(super) fn stop(self) {
        self.bell.end();
        if self.thread.thread().id() != std::thread::current().id() && self.thread.join().is_err() {
            // The thread died of a panic; there is nothing left of it to stop.
        }
    }
}

/// Checkpoints every database where one is due, and frees the pages of large values that nobody can want any more. Background work of simulated instances calls this by hand.
pub fn run_due_checkpoints(instance: &Instance) {
    instance.look_for_lost_files();
    instance.versions.clean_all();
    let interval_minutes = instance.configuration.in_use("recovery interval (min)");
    for slot in instance.slots() {
        let Ok(database) = slot.database() else { continue };
        database.explain_growth();
        if let Err(error) = database.free_large_values() {
            report_once(instance, &database, &error);
        }
        clean_ghosts(instance, &database);
        match database.take_back_in_background() {
            Ok(false) => {}
            Ok(true) => instance.checkpoint_bell.ring(),
            Err(error) => report_once(instance, &database, &error),
        }
        let situation = Situation::of(&database, interval_minutes);
        let outcome = match situation.due() {
            Due::Nothing => continue,
            Due::Checkpoint => database.checkpoint(),
            Due::IndirectCheckpoint => match database.indirect_checkpoint(situation.pages_max()) {
                // A full log gains nothing from it, and the statements that need the log have the error already.
                Err(error) if error.is_log_full() => continue,
                outcome => outcome,
            },
        };
        match outcome {
            Ok(()) => database.checkpoint_failing.store(false, Ordering::Relaxed),
            Err(error) => report_once(instance, &database, &error),
        }
    }
}

/// One turn of the ghost cleaner in a database.
fn clean_ghosts(instance: &Instance, database: &Database) {
    match database.clean_ghosts(GHOST_PAGES_PER_LOOK) {
        Ok(_) => database.cleaning_failing.store(false, Ordering::Relaxed),
        Err(error) if !database.cleaning_failing.swap(true, Ordering::Relaxed) => {
            let text = format!("The ghost cleanup task is failing in database '{}'.", database.name());
            instance.env.errorlog.write("spid2s", text);
            instance.env.errorlog.write_error("spid2s", &error);
        }
        Err(_) => {}
    }
}

/// What is due in a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    Nothing,
    Checkpoint,
    IndirectCheckpoint,
}

/// What decides whether a checkpoint is due; see the module's table.
#[derive(Debug, Clone, Copy)]
struct Situation {
    timing: CheckpointTiming,
    /// `recovery interval (min)`, 0 when not configured.
    interval_minutes: i64,
    /// Log bytes since the last checkpoint that wrote every page.
    log_bytes: u64,
    /// Log bytes and microseconds since the last one of any kind.
    log_bytes_since_any: u64,
    micros_since_any: u64,
    /// ACCELERATED_DATABASE_RECOVERY is on.
    is_accelerated: bool,
    /// Something was committed since.
    has_moved_on: bool,
    /// Reuse of the log waits for a checkpoint, and one was asked for.
    is_wanted: bool,
    /// The log is 70 % full, a checkpoint would free a good part of it, and it has moved on since the last.
    wants_truncation: bool,
}

impl Situation {
    fn of(database: &Database, interval_minutes: i64) -> Situation {
        let space = database.storage.log.space();
        let log_bytes = database.log_bytes_since_checkpoint();
        let (log_bytes_since_any, micros_since_any) = database.since_any_checkpoint();
        let is_nearly_full = space.used_bytes * 100 >= space.total_bytes * NEARLY_FULL_PERCENT;
        // One that failed is not tried again at once.
        let has_moved_far = log_bytes * 20 >= space.total_bytes;
        Situation {
            timing: database.storage.log.policy().checkpoint,
            interval_minutes,
            log_bytes,
            log_bytes_since_any,
            micros_since_any,
            is_accelerated: database.is_recovery_accelerated(),
            has_moved_on: database.has_log_since_any_checkpoint(),
            is_wanted: database.wants_checkpoint(),
            wants_truncation: is_nearly_full && has_moved_far && database.is_truncation_due(),
        }
    }

    fn due(&self) -> Due {
        let minutes = self.interval_minutes.max(1) as u64;
        if self.wants_truncation || self.log_bytes >= minutes * 60 * REDO_BYTES_PER_SECOND {
            return Due::Checkpoint;
        }
        if self.timing != CheckpointTiming::LogVolume || self.interval_minutes != 0 {
            let is_time = self.micros_since_any >= minutes * 60_000_000;
            return if self.is_wanted && is_time {
                Due::Checkpoint
            } else {
                Due::Nothing
            };
        }
        let volume_bytes = match self.is_accelerated {
            true => ACCELERATED_EVERY_BYTES,
            false => INDIRECT_EVERY_BYTES,
        };
        let is_due = self.log_bytes_since_any >= volume_bytes
            || self.has_moved_on && self.micros_since_any >= INDIRECT_EVERY_MICROS
            || self.is_wanted && self.micros_since_any >= WANTED_EVERY_MICROS;
        if is_due { Due::IndirectCheckpoint } else { Due::Nothing }
    }

    /// Pages an indirect checkpoint may write.
    fn pages_max(&self) -> usize {
        let by_volume = self.log_bytes_since_any / INDIRECT_BYTES_PER_PAGE;
        let by_time = self.micros_since_any.saturating_mul(INDIRECT_PAGES_PER_SECOND) / 1_000_000;
        usize::try_from(by_volume.saturating_add(by_time)).unwrap_or(usize::MAX)
    }
}

/// Says so at the first failure in a row of a database; the next look, a moment later, would fail for the same reason.
fn report_once(instance: &Instance, database: &Database, error: &crate::error::Error) {
    if !database.checkpoint_failing.swap(true, Ordering::Relaxed) {
        let text = format!("Automatic checkpointing is failing in database '{}'.", database.name());
        instance.env.errorlog.write("spid1s", text);
        instance.env.errorlog.write_error("spid1s", error);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE_OF_LOG: u64 = 60 * REDO_BYTES_PER_SECOND;
    const MINUTE_MICROS: u64 = 60_000_000;

    /// The module's table, written out.
    fn expected(situation: &Situation) -> Due {
        let interval = if situation.interval_minutes == 3 { 3 } else { 1 };
        let by_volume = situation.timing == CheckpointTiming::LogVolume && situation.interval_minutes == 0;
        let volume = if situation.is_accelerated { 64 << 20 } else { 128 << 20 };
        let (micros, wanted) = (situation.micros_since_any, situation.is_wanted);
        match (
            situation.wants_truncation,
            situation.log_bytes >= interval * MINUTE_OF_LOG,
        ) {
            (true, _) | (_, true) => Due::Checkpoint,
            _ if by_volume && situation.log_bytes_since_any >= volume => Due::IndirectCheckpoint,
            _ if by_volume && situation.has_moved_on && micros >= MINUTE_MICROS / 2 => Due::IndirectCheckpoint,
            _ if by_volume && wanted && micros >= 1_000_000 => Due::IndirectCheckpoint,
            _ if !by_volume && wanted && micros >= interval * MINUTE_MICROS => Due::Checkpoint,
            _ => Due::Nothing,
        }
    }

    /// The module's table, every combination.
    #[test]
    fn what_is_due_in_every_situation() {
        let volumes = [
            0,
            ACCELERATED_EVERY_BYTES,
            INDIRECT_EVERY_BYTES,
            MINUTE_OF_LOG,
            3 * MINUTE_OF_LOG,
        ];
        let times = [0, 1_000_000, MINUTE_MICROS / 2, MINUTE_MICROS, 3 * MINUTE_MICROS];
        let mut seen = [0; 3];
        for timing in [CheckpointTiming::LogVolume, CheckpointTiming::RecoveryInterval] {
            for interval_minutes in [0, 1, 3] {
                for log_bytes in volumes {
                    for log_bytes_since_any in volumes.into_iter().filter(|bytes| *bytes <= log_bytes) {
                        for micros_since_any in times {
                            for flags in 0..16 {
                                let situation = Situation {
                                    timing,
                                    interval_minutes,
                                    log_bytes,
                                    log_bytes_since_any,
                                    micros_since_any,
                                    is_accelerated: flags & 8 != 0,
                                    has_moved_on: flags & 1 != 0,
                                    is_wanted: flags & 2 != 0,
                                    wants_truncation: flags & 4 != 0,
                                };
                                assert_eq!(situation.due(), expected(&situation), "{situation:?}");
                                seen[situation.due() as usize] += 1;
                            }
                        }
                    }
                }
            }
        }
        assert!(seen.iter().all(|count| *count > 30), "{seen:?}");
    }

    #[test]
    fn the_budget_of_pages_follows_log_and_time() {
        let situation = |log_bytes_since_any, micros_since_any| Situation {
            timing: CheckpointTiming::LogVolume,
            interval_minutes: 0,
            log_bytes: log_bytes_since_any,
            log_bytes_since_any,
            micros_since_any,
            is_accelerated: false,
            has_moved_on: true,
            is_wanted: false,
            wants_truncation: false,
        };
        assert_eq!(situation(0, 0).pages_max(), 0);
        assert_eq!(situation(1 << 20, 0).pages_max(), 128);
        assert_eq!(situation(1 << 20, 500_000).pages_max(), 128 + 2_000);
        assert!(situation(u64::MAX, u64::MAX).pages_max() > 1 << 50, "no overflow");
    }
}
