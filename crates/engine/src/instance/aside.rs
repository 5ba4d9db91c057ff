//! Work that a statement leaves to the instance: it goes on, and the work is done by a thread of the instance, one piece after the other.
//!
//! Without background threads it is done before the statement goes on. What is still to be done when the instance stops is not done at all,
//! so it has to be work that somebody will ask for again.

use super::Instance;
use crate::cancel;
use crate::memory;
use crate::seams::Background;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

type Job = Box<dyn FnOnce() + Send>;

/// The thread, and how it is told what to do and to stop.
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
    /// Has work done while the caller goes on. See the module.
    pub fn leave(&self, work: impl FnOnce() + Send + 'static) {
        if self.env.background == Background::Inline {
            return work();
        }
        let mut aside = self.aside.lock();
        if self.stopping.load(Ordering::SeqCst) {
            return;
        }
        if aside.is_none() {
            // Where no thread can be had the work is left undone.
            *aside = Aside::start(self).ok();
        }
        if let Some(aside) = &*aside {
            let _ = aside.jobs.send(Box::new(work));
        }
    }
}
