//! Slow operations: a test holds one and observes what others do meanwhile.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::OperationKind;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Waiting,
    Reached,
    Released,
}

#[derive(Debug)]
struct Place {
    stage: Mutex<Stage>,
    changed: Condvar,
}

/// One operation that waits until this is dropped. See [`super::SimDisk::hold_next`].
#[derive(Debug)]
pub struct Held(Arc<Place>);

impl Held {
    /// Whether the operation is there and waits; answers no after `patience`.
    pub fn is_reached_within(&self, patience: Duration) -> bool {
        let mut stage = self.0.stage.lock();
        let is_waiting = |stage: &mut Stage| *stage == Stage::Waiting;
        self.0.changed.wait_while_for(&mut stage, is_waiting, patience);
        *stage == Stage::Reached
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        *self.0.stage.lock() = Stage::Released;
        self.0.changed.notify_all();
    }
}

/// What the disk knows of one.
#[derive(Debug, Clone)]
pub(super) struct Hold {
    kind: OperationKind,
    path_part: String,
    place: Arc<Place>,
}

impl Hold {
    pub(super) fn new(kind: OperationKind, path_part: &str) -> (Hold, Held) {
        let place = Arc::new(Place {
            stage: Mutex::new(Stage::Waiting),
            changed: Condvar::new(),
        });
        let hold = Hold {
            kind,
            path_part: path_part.to_owned(),
            place: place.clone(),
        };
        (hold, Held(place))
    }

    pub(super) fn matches(&self, kind: OperationKind, path: &Path) -> bool {
        self.kind == kind && path.to_string_lossy().contains(&self.path_part)
    }

    /// Returns when the test lets the operation go on. The disk is not locked meanwhile.
    pub(super) fn wait(self) {
        let mut stage = self.place.stage.lock();
        if *stage == Stage::Waiting {
            *stage = Stage::Reached;
            self.place.changed.notify_all();
        }
        let is_held = |stage: &mut Stage| *stage != Stage::Released;
        self.place.changed.wait_while(&mut stage, is_held);
    }
}
