//! How the pool calls one of its background threads.

use parking_lot::{Condvar, Mutex};

#[derive(Default, PartialEq, Eq)]
enum Call {
    #[default]
    None,
    Work,
    End,
}

/// A bell with one listener. Rings while the listener is at work count as one.
#[derive(Default)]
pub(super) struct Bell {
    call: Mutex<Call>,
    rung: Condvar,
}

impl Bell {
    pub fn ring(&self) {
        let mut call = self.call.lock();
        if *call == Call::None {
            *call = Call::Work;
            self.rung.notify_one();
        }
    }

    pub fn end(&self) {
        *self.call.lock() = Call::End;
        self.rung.notify_one();
    }

    /// Waits for a call; false when it is the last.
    pub fn wait(&self) -> bool {
        let mut call = self.call.lock();
        self.rung.wait_while(&mut call, |call| *call == Call::None);
        let goes_on = *call == Call::Work;
        if goes_on {
            *call = Call::None;
        }
        goes_on
    }
}
