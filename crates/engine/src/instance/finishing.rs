//! Databases that were opened before the end of their recovery: a thread completes it, one database after another.
//!
//! Without background threads, recovery completes before [`Instance::start`] returns. Tests that examine the state in between call
//! [`Instance::open`] and [`Instance::finish_recoveries`].

use super::registry::DatabaseState;
use super::{Instance, worker};
use crate::database::Database;
use crate::error::{Error, Result};
use crate::errorlog::ErrorLog;
use crate::seams::Background;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// The thread, and how it is stopped.
pub(super) struct Finisher {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Finisher {
    /// Stops undo after the change it is at; the next start goes on from there.
    pub(super) fn stop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
            && thread.join().is_err()
        {
            // It died of a panic; the next start undoes what is left.
        }
    }
}

impl Drop for Finisher {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Instance {
    /// Starts what works in the background: the lazy writer, memory ahead, automatic checkpoints, and the end of recoveries. Without
    /// background threads only the last is done, and here.
    pub(super) fn begin_background(self: &Arc<Instance>) -> Result<()> {
        if self.env.background == Background::Inline {
            return self.finish_recoveries();
        }
        let failed = |what: &str, error: std::io::Error| Error::operating_system(what, &error.to_string());
        self.pool.start_lazy_writer();
        self.pool.start_memory_ahead();
        let worker = worker::Worker::start(self).map_err(|error| failed("starting the checkpoint thread", error))?;
        *self.worker.lock() = Some(worker);
        let unfinished = self.unfinished();
        if unfinished.is_empty() {
            say_complete(&self.env.errorlog);
            return Ok(());
        }
        let stop = Arc::new(AtomicBool::new(false));
        let (stopping, weak) = (stop.clone(), Arc::downgrade(self));
        let errorlog = self.env.errorlog.clone();
        let thread = std::thread::Builder::new().name("recovery".to_string()).spawn(move || {
            for database in unfinished {
                match database.finish_recovery(&|| !stopping.load(Ordering::Relaxed)) {
                    Ok(true) => {}
                    Ok(false) => return,
                    Err(_) if stopping.load(Ordering::Relaxed) => return,
                    Err(error) => {
                        let Some(instance) = weak.upgrade() else { return };
                        instance.give_up(&database, &error);
                    }
                }
            }
            say_complete(&errorlog);
        });
        let thread = thread.map_err(|error| failed("starting the recovery thread", error))?;
        *self.finisher.lock() = Some(Finisher {
            stop,
            thread: Some(thread),
        });
        Ok(())
    }

    /// Ends the recovery of every database that was opened before it was over.
    pub fn finish_recoveries(&self) -> Result<()> {
        for database in self.unfinished() {
            if let Err(error) = database.finish_recovery(&|| true) {
                self.give_up(&database, &error);
            }
        }
        say_complete(&self.env.errorlog);
        Ok(())
    }

    fn unfinished(&self) -> Vec<Arc<Database>> {
        self.online().filter(|database| database.is_recovering()).collect()
    }

    /// Undo cannot go on: the database is SUSPECT. What was not undone stays locked for those who are in it, and nothing more is
    /// logged.
    fn give_up(&self, database: &Database, error: &Error) {
        let source = format!("spid{}s", 8 + database.id);
        self.env.errorlog.write_error(&source, error);
        let failed = Error::recovery_failed(&database.name(), database.id);
        self.env.errorlog.write_error(&source, &failed);
        // One whose log has failed is RECOVERY_PENDING already: what its files hold is not in doubt. Another one that has its id by
        // now has nothing to do with it.
        if let Some(slot) = self
            .registry
            .by_id(database.id)
            .filter(|_| !database.storage.log.is_broken())
        {
            slot.set_state_of(database, DatabaseState::Suspect);
        }
        // Before the log closes: then those who wait for what is not undone are answered, as after a failed write.
        let closed = Error::log_not_available(&database.name());
        self.locks.refuse(database.id, closed);
        database.storage.log.close();
        database.abandon_recovery();
    }
}

fn say_complete(errorlog: &ErrorLog) {
    let text = "Recovery is complete. This is an informational message only. No user action is required.";
    errorlog.write("spid8s", text);
}
