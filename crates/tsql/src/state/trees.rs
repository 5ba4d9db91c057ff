//! What a session is to be told of how a plan comes about (trace flags 8605, 8606, 8607), and what is to be told so far.

use std::cell::{Cell, RefCell};

/// The flags, each of which asks for other trees.
const FLAGS: [u16; 3] = [8605, 8606, 8607];

/// Which trees are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TreesWanted(u8);

impl TreesWanted {
    /// By the trace flags that are on.
    pub(crate) fn by_flags(is_on: impl Fn(u16) -> bool) -> TreesWanted {
        let bits = FLAGS.iter().enumerate().filter(|(_, flag)| is_on(**flag));
        TreesWanted(bits.map(|(place, _)| 1 << place).sum())
    }

    /// Whether any is asked for.
    pub(crate) fn any(self) -> bool {
        self != TreesWanted::default()
    }

    fn has(self, flag: u16) -> bool {
        FLAGS
            .iter()
            .position(|one| *one == flag)
            .is_some_and(|place| self.0 >> place & 1 == 1)
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Trees {
    wanted: Cell<TreesWanted>,
    drawn: RefCell<Vec<String>>,
}

impl Trees {
    /// Has the plans made while `make` runs drawn; answers what was drawn.
    pub(crate) fn of<T>(&self, wanted: TreesWanted, make: impl FnOnce() -> T) -> Vec<String> {
        self.wanted.set(wanted);
        make();
        self.wanted.take();
        self.drawn.take()
    }

    /// Draws a tree that this flag asks for, if it is on.
    pub(crate) fn draw(&self, flag: u16, draw: impl FnOnce() -> String) {
        if self.wanted.get().has(flag) {
            self.drawn.borrow_mut().push(draw());
        }
    }

    /// Whether plans made now are drawn.
    pub(crate) fn is_wanted(&self) -> bool {
        self.wanted.get().any()
    }
}
