//! One file: what is on the platter, what programs read, and the changes in between.
//!
//! ```text
//!   durable  --- pending[0] --- pending[1] --- ... --- pending[n] ---> current
//! ```
//!
//! Invariant: `current` is `durable` with every pending change applied in order. A durable write over older pending
//! changes stands in their list, so that what a power cut leaves of those cannot lie over it.

use super::content::Content;
use super::fate::Draws;

#[derive(Debug, Clone)]
enum Change {
    Write { offset: u64, bytes: Vec<u8> },
    ExtendTo(u64),
    SetLength(u64),
}

#[derive(Debug, Clone)]
struct Pending {
    change: Change,
    number: u64,
    durable: bool,
}

#[derive(Debug, Clone, Default)]
pub struct StoredFile {
    current: Content,
    durable: Content,
    pending: Vec<Pending>,
}

impl Change {
    fn apply(&self, content: &mut Content) {
        match self {
            Change::Write { offset, bytes } => content.write(*offset, bytes),
            Change::ExtendTo(length) => content.extend_to(*length),
            Change::SetLength(length) => content.set_length(*length),
        }
    }
}

impl StoredFile {
    pub fn current(&self) -> &Content {
        &self.current
    }

    /// Number of the first change that is not durable.
    pub fn first_pending(&self) -> Option<u64> {
        self.pending
            .iter()
            .find(|pending| !pending.durable)
            .map(|pending| pending.number)
    }

    fn change(&mut self, change: Change, number: u64, durable: bool) {
        change.apply(&mut self.current);
        if durable && self.pending.is_empty() {
            change.apply(&mut self.durable);
        } else {
            self.pending.push(Pending {
                change,
                number,
                durable,
            });
        }
    }

    /// Writes `bytes`; `durable` as with O_DSYNC.
    pub fn write(&mut self, offset: u64, bytes: &[u8], number: u64, durable: bool) {
        let bytes = bytes.to_vec();
        self.change(Change::Write { offset, bytes }, number, durable);
    }

    /// Reserves space up to `length`.
    pub fn extend_to(&mut self, length: u64, number: u64) {
        self.change(Change::ExtendTo(length), number, false);
    }

    /// Cuts or grows.
    pub fn set_length(&mut self, length: u64, number: u64) {
        self.change(Change::SetLength(length), number, false);
    }

    /// Makes everything so far durable.
    pub fn sync(&mut self) {
        for pending in self.pending.drain(..) {
            pending.change.apply(&mut self.durable);
        }
    }

    /// The file as a power cut leaves it: durable changes, and what is drawn of the others.
    pub fn after_power_cut(&self, draws: &mut Draws) -> StoredFile {
        let mut content = self.durable.clone();
        // A journal replays changes of a file's length in order, so those that survive are a prefix.
        let mut lengths_survive = true;
        for Pending {
            change,
            number,
            durable,
        } in &self.pending
        {
            match change {
                change if *durable => change.apply(&mut content),
                Change::Write { offset, bytes } => {
                    for part in draws.kept_parts(*number, *offset, bytes.len()) {
                        content.write(offset + part.start as u64, &bytes[part]);
                    }
                }
                Change::ExtendTo(_) | Change::SetLength(_) => {
                    lengths_survive = lengths_survive && draws.keeps_change(*number);
                    if lengths_survive {
                        change.apply(&mut content);
                    }
                }
            }
        }
        StoredFile {
            current: content.clone(),
            durable: content,
            pending: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fate::{Draws, Fate};
    use super::StoredFile;
    use crate::random::Random;

    fn after(file: &StoredFile, fate: Fate) -> Vec<u8> {
        let mut draws = Draws::of(fate, Random::new(1));
        file.after_power_cut(&mut draws).current().read(0, 100)
    }

    #[test]
    fn synced_bytes_stay_and_others_go() {
        let mut file = StoredFile::default();
        file.write(0, b"aaaa", 1, false);
        assert_eq!(after(&file, Fate::AllLost), b"");
        file.sync();
        file.write(2, b"bbbb", 2, false);
        assert_eq!(after(&file, Fate::AllLost), b"aaaa");
        assert_eq!(after(&file, Fate::AllKept), b"aabbbb");
        assert_eq!(file.current().read(0, 100), b"aabbbb");
    }

    #[test]
    fn a_durable_write_lies_over_what_is_left_of_older_ones() {
        let mut file = StoredFile::default();
        file.write(0, b"older", 1, false);
        file.write(1, b"new", 2, true);
        assert_eq!(after(&file, Fate::AllLost), b"\0new");
        assert_eq!(after(&file, Fate::AllKept), b"onewr");
    }

    #[test]
    fn the_write_at_the_border_of_a_prefix_is_torn_and_later_ones_are_gone() {
        let mut file = StoredFile::default();
        file.write(0, b"a", 1, false);
        file.set_length(10, 2);
        file.set_length(20, 3);
        assert_eq!(after(&file, Fate::Prefix(2)).len(), 10);
        assert_eq!(after(&file, Fate::Prefix(2))[0], b'a');
    }
}
