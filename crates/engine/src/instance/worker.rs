//! The instance's one background thread: automatic checkpoints.
//!
//! A checkpoint is due when recovery would take longer than `recovery interval (min)` (0 counts as one minute), estimated at
//! [`REDO_BYTES_PER_SECOND`]; or, in a database whose log is reused after checkpoints, when the log is 70 % full (sql-docs,
//! transaction log architecture guide).

use super::Instance;
use crate::database::Database;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Log bytes that redo is assumed to get through in a second, for deciding when a checkpoint is due.
pub const REDO_BYTES_PER_SECOND: u64 = 100 << 20;
/// Share of the log in use, in percent, at which a log that checkpoints can free is checkpointed.
const LOG_FULL_PERCENT: u64 = 70;
const LOOK_EVERY: Duration = Duration::from_millis(100);

pub(super) struct Worker {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl Worker {
    /// Starts the thread.
    pub(super) fn start(instance: &Arc<Instance>) -> std::io::Result<Worker> {
        let (stop, stopped) = channel();
        let weak = Arc::downgrade(instance);
        let thread = std::thread::Builder::new()
            .name("checkpoint".to_string())
            .spawn(move || {
                while stopped.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                    let Some(instance) = weak.upgrade() else { return };
                    run_due_checkpoints(&instance);
                }
            })?;
        Ok(Worker { stop, thread })
    }

    /// Stops the thread and waits for it, unless it is the one that asks.
    pub(super) fn stop(self) {
        drop(self.stop);
        if self.thread.thread().id() != std::thread::current().id() && self.thread.join().is_err() {
            // The thread died of a panic; there is nothing left of it to stop.
        }
    }
}

/// Checkpoints every database where one is due. Background work of simulated instances calls this by hand.
pub fn run_due_checkpoints(instance: &Instance) {
    let minutes = instance.configuration.in_use("recovery interval (min)").max(1) as u64;
    for slot in instance.slots() {
        let Ok(database) = slot.database() else { continue };
        if !is_due(&database, minutes * 60 * REDO_BYTES_PER_SECOND) {
            continue;
        }
        match database.checkpoint() {
            Ok(()) => database.checkpoint_failing.store(false, Ordering::Relaxed),
            Err(error) => report_once(instance, &database, &error),
        }
    }
}

fn is_due(database: &Database, log_bytes_between: u64) -> bool {
    let since_checkpoint = database.log_bytes_since_checkpoint();
    if since_checkpoint >= log_bytes_between {
        return true;
    }
    let space = database.storage.log.space();
    let is_nearly_full = space.used_bytes * 100 >= space.total_bytes * LOG_FULL_PERCENT;
    // A second checkpoint would free nothing that the first did not, unless the log has moved on meanwhile.
    let has_moved_on = since_checkpoint * 20 >= space.total_bytes;
    !database.keeps_log_for_backup() && is_nearly_full && has_moved_on
}

/// Says so at the first failure in a row of a database; the next look, a moment later, would fail for the same reason.
fn report_once(instance: &Instance, database: &Database, error: &crate::error::Error) {
    if !database.checkpoint_failing.swap(true, Ordering::Relaxed) {
        let text = format!("Automatic checkpointing is failing in database '{}'.", database.name());
        instance.env.errorlog.write("spid1s", text);
        instance.env.errorlog.write_error("spid1s", error);
    }
}
