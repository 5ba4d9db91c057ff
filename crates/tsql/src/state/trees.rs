//! The stages of a plan that a session wants to see (trace flags 8605, 8606, 8607, 8619, 8621), and the output so far.
//!
//! The output is limited: at [`DRAWN_BYTES_MAX`] bytes, the statement says so and shows no more trees.

use std::cell::{Cell, RefCell};

/// The flags, each of which asks for something else.
const FLAGS: [u16; 5] = [8605, 8606, 8607, 8619, 8621];
/// Text of trees that is drawn for one statement at most, shown or only compared. A rule that looks at a FROM of 64 tables draws 20
/// KB.
const DRAWN_BYTES_MAX: usize = 8 << 20;

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

/// What was drawn for a statement.
#[derive(Debug, Default)]
struct Drawn {
    told: Vec<String>,
    bytes: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Trees {
    wanted: Cell<TreesWanted>,
    drawn: RefCell<Drawn>,
}

impl Trees {
    /// Has the plans made while `make` runs drawn; answers what was drawn.
    pub(crate) fn of<T>(&self, wanted: TreesWanted, make: impl FnOnce() -> T) -> Vec<String> {
        let (outer, outer_drawn) = (self.wanted.replace(wanted), self.drawn.take());
        make();
        self.wanted.set(outer);
        self.drawn.replace(outer_drawn).told
    }

    /// Whether anything is drawn that a flag asks for.
    pub(crate) fn draws(&self, flag: u16) -> bool {
        self.wanted.get().has(flag) && self.drawn.borrow().bytes < DRAWN_BYTES_MAX
    }

    /// Notes that so many bytes were drawn.
    pub(crate) fn spend(&self, bytes: usize) {
        let mut drawn = self.drawn.borrow_mut();
        let had_room = drawn.bytes < DRAWN_BYTES_MAX;
        drawn.bytes = drawn.bytes.saturating_add(bytes);
        if had_room && drawn.bytes >= DRAWN_BYTES_MAX {
            let text = "The trees of this statement are too large: no more of them are shown.";
            drawn.told.push(text.to_owned());
        }
    }

    /// Tells something.
    pub(crate) fn tell(&self, text: String) {
        self.drawn.borrow_mut().told.push(text);
    }

    /// Whether plans made now are drawn.
    pub(crate) fn is_wanted(&self) -> bool {
        self.wanted.get().any()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_ends_at_a_bound_that_is_told_once() {
        let trees = Trees::default();
        assert!(!trees.draws(8621));
        let told = trees.of(TreesWanted::by_flags(|flag| flag == 8621), || {
            while trees.draws(8621) {
                trees.tell(String::new());
                trees.spend(DRAWN_BYTES_MAX / 4);
            }
            trees.spend(1);
            assert!(!trees.draws(8619));
            // A plan that is made within another one has trees of its own.
            let inner = trees.of(TreesWanted::by_flags(|flag| flag == 8605), || {
                assert!(trees.draws(8605))
            });
            assert!(inner.is_empty() && !trees.draws(8605));
        });
        assert_eq!(told.len(), 5);
        assert!(told[4].contains("too large"), "{told:?}");
        assert!(trees.of(TreesWanted::by_flags(|_| true), || ()).is_empty());
    }
}
