//! Ctrl-C, and batches with a time limit.
//!
//! While a batch runs, the first Ctrl-C cancels it and the second ends the program. Between two batches of a script the first one ends it;
//! at the prompt, the line editor handles the key. While a shell command or an editor runs, Ctrl-C goes to that program.

use signal_hook::SigId;
use signal_hook::consts::SIGINT;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

pub(super) struct Interrupts {
    /// Set by Ctrl-C; where it is set, Ctrl-C ends the program.
    pressed: Arc<AtomicBool>,
    /// What stops the running batch.
    cancel: Arc<AtomicBool>,
    registered: Option<SigId>,
    is_interactive: bool,
}

/// Exit code of a program that was interrupted.
const INTERRUPTED: i32 = 130;

impl Interrupts {
    /// # Errors
    /// The system does not let signals be handled.
    pub(super) fn new() -> io::Result<Interrupts> {
        let pressed = Arc::new(AtomicBool::new(true));
        // What is registered first is done first: the flag of now decides, not the one that is set below.
        signal_hook::flag::register_conditional_shutdown(SIGINT, INTERRUPTED, Arc::clone(&pressed))?;
        signal_hook::flag::register(SIGINT, Arc::clone(&pressed))?;
        Ok(Interrupts {
            pressed,
            cancel: Arc::default(),
            registered: None,
            is_interactive: false,
        })
    }

    /// Has Ctrl-C set this flag, no longer the one before.
    ///
    /// # Errors
    /// The system does not let signals be handled.
    pub(super) fn cancel_by(&mut self, flag: Arc<AtomicBool>) -> io::Result<()> {
        if let Some(registered) = self.registered.take() {
            signal_hook::low_level::unregister(registered);
        }
        self.registered = Some(signal_hook::flag::register(SIGINT, Arc::clone(&flag))?);
        self.cancel = flag;
        Ok(())
    }

    pub(super) fn become_interactive(&mut self) {
        self.is_interactive = true;
        self.pressed.store(false, Ordering::SeqCst);
    }

    pub(super) fn begin(&self) {
        self.pressed.store(false, Ordering::SeqCst);
        self.cancel.store(false, Ordering::SeqCst);
    }

    pub(super) fn end(&self) {
        self.pressed.store(!self.is_interactive, Ordering::SeqCst);
    }

    /// Whether Ctrl-C was pressed since the batch began.
    pub(super) fn is_interrupted(&self) -> bool {
        self.pressed.load(Ordering::SeqCst)
    }

    /// Runs something that has its own ways with Ctrl-C.
    pub(super) fn left_to_child<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = self.pressed.swap(false, Ordering::SeqCst);
        let result = work();
        self.pressed.store(before && !self.is_interactive, Ordering::SeqCst);
        result
    }

    /// Has the batch that begins cancelled after a while.
    pub(super) fn timeout(&self, limit: Option<Duration>) -> Option<Timeout> {
        limit.map(|limit| Timeout::new(Arc::clone(&self.cancel), limit))
    }
}

/// Cancels a batch unless it is dropped before.
pub(super) struct Timeout {
    _alive: Sender<()>,
    passed: Arc<AtomicBool>,
}

impl Timeout {
    /// Sets `cancel` after `limit`.
    pub(super) fn new(cancel: Arc<AtomicBool>, limit: Duration) -> Timeout {
        let (alive, ended) = mpsc::channel::<()>();
        let passed = Arc::new(AtomicBool::new(false));
        let set = Arc::clone(&passed);
        thread::spawn(move || {
            if ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                set.store(true, Ordering::SeqCst);
                cancel.store(true, Ordering::SeqCst);
            }
        });
        Timeout { _alive: alive, passed }
    }

    pub(super) fn has_passed(&self) -> bool {
        self.passed.load(Ordering::SeqCst)
    }
}
