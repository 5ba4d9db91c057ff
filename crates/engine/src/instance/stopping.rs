//! The end of an instance.
//!
//! | | running statements | running rollbacks | dirty pages |
//! |---|---|---|---|
//! | SHUTDOWN | finish | finish | written, however long it takes |
//! | [`Instance::stop_work`] (a signal) | stopped | left to the next startup | written until the deadline, then left to the next startup |
//! | SHUTDOWN WITH NOWAIT | stopped | left to the next startup | left to the next startup |
//!
//! Invariant: everything acknowledged is in the durable log, so recovery does whatever is skipped here.

use super::Instance;
use crate::error::Result;
use std::sync::atomic::Ordering;

impl Instance {
    /// True once everything that runs was asked to stop.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Tells everything that runs to stop, and all that would take longer than until `write_until_micros` of the instance's clock
    /// to leave itself to the next start. Returns at once; [`Instance::shutdown`] follows, or is under way.
    pub fn stop_work(&self, write_until_micros: u64) {
        self.pool.write_until(write_until_micros);
        self.stopping.store(true, Ordering::SeqCst);
        self.online().for_each(|database| database.transactions.leave_undone());
        self.sessions
            .lock()
            .values()
            .for_each(|session| session.cancel.store(true, Ordering::Relaxed));
    }

    /// Stops the instance. Without `nowait` every database gets a checkpoint and is closed cleanly; with it, nothing more is
    /// written and the next start recovers. Sessions are asked to stop in both cases.
    ///
    /// # Errors
    /// The first that a database could not be closed for.
    pub fn shutdown(&self, nowait: bool) -> Result<()> {
        if self.shut_down.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        let text = if nowait {
            "SHUTDOWN WITH NOWAIT was issued."
        } else {
            "SQL Server is terminating because of a system shutdown."
        };
        self.env.errorlog.end();
        self.env.errorlog.write("Server", text);
        if nowait {
            self.stop_work(0);
        }
        self.stopping.store(true, Ordering::SeqCst);
        self.sessions
            .lock()
            .values()
            .for_each(|session| session.cancel.store(true, Ordering::Relaxed));
        if let Some(worker) = self.worker.lock().take() {
            worker.stop();
        }
        if let Some(mut finisher) = self.finisher.lock().take() {
            finisher.stop();
        }
        let aside = self.aside.lock().take();
        if let Some(aside) = aside {
            aside.stop();
        }
        let broken = self.registry.all().into_iter().filter_map(|slot| slot.broken());
        broken.for_each(|database| database.storage.log.close());
        if nowait {
            self.online().for_each(|database| database.storage.log.close());
            self.pool.unlock_files();
            return Ok(());
        }
        let mut outcome = Ok(());
        for database in self.online() {
            let closed = match database.close_cleanly() {
                Err(error) if error.is_shutdown_in_progress() => {
                    let text = format!(
                        "The pages of database '{}' could not all be written in the time that was left; it will be recovered at the next start.",
                        database.name()
                    );
                    self.env.errorlog.write("Server", text);
                    database.storage.log.close();
                    Ok(())
                }
                closed => closed,
            };
            if let Err(error) = &closed {
                self.env.errorlog.write_error("Server", error);
            }
            outcome = outcome.and(closed);
        }
        self.pool.unlock_files();
        outcome
    }
}
