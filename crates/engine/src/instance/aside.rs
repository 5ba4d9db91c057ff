//! Background work for statements: a thread of the instance does it, one piece after another, while the statement continues.
//!
//! Without background threads the work is done before the statement continues. Work is dropped if the instance stops, if the queue is full,
//! or after a panic. So it must be work that will be requested again.
//!
//! Each piece of work is named by the statistics that it counts. Every plan made before they are counted requests the same statistics
//! again, so
//!
//! Invariant: no name is queued or processed twice, and at most [`NAMES_MAX`] names are.

use super::Instance;
use crate::cancel;
use crate::memory;
use crate::seams::Background;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// What is worked on: a database, and an object of it.
pub type WorkName = (u16, u32);

/// How many wait at most. Each holds what its work needs: a table's definition, above all.
const NAMES_MAX: usize = 1_000;

type Job = Box<dyn FnOnce() + Send>;

/// The names of all work that waits or is under way.
#[derive(Default)]
pub(super) struct Names(Mutex<HashSet<WorkName>>);

impl Names {
    /// Takes those of `wanted` that are not queued yet, as far as there is room.
    fn take(self: &Arc<Names>, wanted: impl IntoIterator<Item = WorkName>) -> Taken {
        let mut names = self.0.lock();
        let room = NAMES_MAX.saturating_sub(names.len());
        let free = wanted.into_iter().filter(|name| names.insert(*name)).take(room);
        let taken = free.collect();
        drop(names);
        Taken(taken, self.clone())
    }
}

/// Names that are given back when their work is done, or dropped undone.
struct Taken(Vec<WorkName>, Arc<Names>);

impl Drop for Taken {
    fn drop(&mut self) {
        let mut names = self.1.0.lock();
        for name in &self.0 {
            names.remove(name);
        }
    }
}

/// The thread, and the channel that hands it work and stops it.
pub(super) struct Aside {
    jobs: Sender<Job>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Aside {
    fn start(instance: &Instance) -> std::io::Result<Aside> {
        let (jobs, waiting) = channel::<Job>();
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, workspace) = (stop.clone(), instance.workspace.clone());
        let thread = std::thread::Builder::new().name("aside".to_string()).spawn(move || {
            let _working = memory::enter(workspace);
            let _serving = cancel::serve(Some(stopped.clone()));
            while let Ok(job) = waiting.recv()
                && !stopped.load(Ordering::Relaxed)
            {
                job();
            }
        })?;
        Ok(Aside { jobs, stop, thread })
    }

    /// Stops the piece of work under way and waits for that.
    pub(super) fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        drop(self.jobs);
        if self.thread.thread().id() != std::thread::current().id() && self.thread.join().is_err() {
            // It died of a panic; what it was to do is asked for again.
        }
    }
}

impl Instance {
    /// Has work done while the caller goes on: that of those names of which none is waiting or under way. See the module.
    pub fn leave(&self, names: impl IntoIterator<Item = WorkName>, work: impl FnOnce(&[WorkName]) + Send + 'static) {
        let taken = self.names_aside.take(names);
        if taken.0.is_empty() {
            return;
        }
        let work = move || work(&taken.0);
        if self.env.background == Background::Inline {
            return work();
        }
        let mut aside = self.aside.lock();
        if self.stopping.load(Ordering::SeqCst) {
            return;
        }
        // A panic has ended the thread, and what waited for it is dropped.
        if aside.as_ref().is_none_or(|aside| aside.thread.is_finished()) {
            // Where no thread can be had the work is left undone.
            *aside = Aside::start(self).ok();
        }
        if let Some(aside) = &*aside {
            // Dropped if the thread has just died.
            let _ = aside.jobs.send(Box::new(work));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Every plan that was made while statistics were being counted had them counted once more, and the queue had no end.
    #[test]
    fn no_name_is_taken_twice_and_no_more_than_there_is_room_for() {
        let names = Arc::new(Names::default());
        let first = names.take([(5, 1), (5, 2), (5, 1)]);
        assert_eq!(first.0, [(5, 1), (5, 2)]);
        let second = names.take([(5, 2), (6, 2), (5, 3)]);
        assert_eq!(second.0, [(6, 2), (5, 3)]);
        assert!(names.take([(5, 1), (6, 2)]).0.is_empty());
        drop(first);
        assert_eq!(
            names.take([(5, 1), (6, 2)]).0,
            [(5, 1)],
            "what is done may be asked for again"
        );
        let many = names.take((0..5_000).map(|object| (7, object)));
        assert_eq!(many.0.len(), NAMES_MAX - 2);
        assert!(names.take([(8, 1)]).0.is_empty());
        drop((many, second));
        assert!(names.0.lock().is_empty());
        assert_eq!(names.take([(8, 1)]).0, [(8, 1)]);
    }
}
