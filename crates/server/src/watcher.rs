//! One thread that checks the sockets of all connections with a long-running request.
//!
//! A request that ends before the next check costs nothing here. Cancellation takes effect within two [`LOOK_INTERVAL`]s.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::inbox::Inbox;

/// Between two looks.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// A connection and the request it ran at the last look.
struct Watched {
    inbox: Arc<Inbox>,
    running: Option<u64>,
}

#[derive(Default)]
struct State {
    watched: Vec<Watched>,
    stopping: bool,
}

/// The connections looked at.
#[derive(Default)]
pub(crate) struct Watcher {
    state: Mutex<State>,
    changed: Condvar,
}

/// Ends the looks at a connection when dropped.
pub(crate) struct Watching<'a> {
    watcher: &'a Watcher,
    inbox: Arc<Inbox>,
}

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        let others = |watched: &Watched| !Arc::ptr_eq(&watched.inbox, &self.inbox);
        self.watcher.state.lock().watched.retain(others);
    }
}

impl Watcher {
    /// Starts the thread; it ends after [`Watcher::stop`].
    pub(crate) fn start(self: &Arc<Self>) -> io::Result<JoinHandle<()>> {
        let watcher = Arc::clone(self);
        thread::Builder::new()
            .name("tds-watcher".to_owned())
            .spawn(move || watcher.run())
    }

    /// Looks at a connection until the answer is dropped.
    pub(crate) fn watch<'a>(&'a self, inbox: &Arc<Inbox>) -> Watching<'a> {
        let inbox = Arc::clone(inbox);
        self.state.lock().watched.push(Watched {
            inbox: Arc::clone(&inbox),
            running: None,
        });
        self.changed.notify_one();
        Watching { watcher: self, inbox }
    }

    pub(crate) fn stop(&self) {
        self.state.lock().stopping = true;
        self.changed.notify_one();
    }

    fn run(&self) {
        let mut state = self.state.lock();
        while !state.stopping {
            if state.watched.is_empty() {
                self.changed.wait(&mut state);
                continue;
            }
            for watched in &mut state.watched {
                let running = watched.inbox.running();
                if running.is_some() && running == watched.running {
                    watched.inbox.look();
                }
                watched.running = running;
            }
            // Added and ended connections wake it early, which does no harm.
            self.changed.wait_for(&mut state, LOOK_INTERVAL);
        }
    }
}
