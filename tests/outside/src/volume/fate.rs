//! What a power cut leaves of the changes that no sync had made durable, drawn by a seed.
//!
//! | fate | of each unsynced change |
//! |---|---|
//! | `AllLost` | nothing is left |
//! | `AllKept` | everything is left, as after a kill |
//! | `Sectors` | each sector of 512 bytes is left or not by itself: torn and reordered |
//! | `Blocks` | the same with blocks of 4096 bytes |
//! | `Writes` | each write is left whole or not at all, in any combination: reordered |
//! | `Prefix` | what was changed before a moment is left, nothing after it, and the write at that moment is torn |
//!
//! What was durable stays, whatever is drawn.

use crate::random::Random;

const SECTOR_BYTES: usize = 512;
const BLOCK_BYTES: usize = 4096;

/// The kind of loss of one power cut; see the module's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    AllLost,
    AllKept,
    /// With the chance in percent that one sector is left.
    Sectors(u64),
    /// With the chance in percent that one block is left.
    Blocks(u64),
    /// With the chance in percent that one write is left.
    Writes(u64),
    /// With the moment, as number of the last change that is left whole.
    Prefix(u64),
}

/// The draws of one power cut.
#[derive(Debug, Clone)]
pub struct Draws {
    fate: Fate,
    random: Random,
}

impl Draws {
    /// Draws the kind of loss for changes with numbers from `first` to `last`.
    pub fn new(mut random: Random, first: u64, last: u64) -> Draws {
        let chance = *random.choose(&[10, 50, 90]);
        let fate = match random.below(10) {
            0 => Fate::AllLost,
            1 => Fate::AllKept,
            2 | 3 => Fate::Sectors(chance),
            4 => Fate::Blocks(chance),
            5 | 6 => Fate::Writes(chance),
            _ => Fate::Prefix(first + random.below(last.saturating_sub(first) + 1)),
        };
        Draws { fate, random }
    }

    /// The kind of loss drawn.
    pub fn fate(&self) -> Fate {
        self.fate
    }

    /// Nothing unsynced is left.
    pub fn all_lost() -> Draws {
        Draws {
            fate: Fate::AllLost,
            random: Random::new(0),
        }
    }

    /// Draws of a given kind.
    #[cfg(test)]
    pub fn of(fate: Fate, random: Random) -> Draws {
        Draws { fate, random }
    }

    /// Whether a change that cannot be torn (of a name or a length) is left.
    pub fn keeps_change(&mut self, number: u64) -> bool {
        match self.fate {
            Fate::AllLost => false,
            Fate::AllKept => true,
            Fate::Sectors(chance) | Fate::Blocks(chance) | Fate::Writes(chance) => self.random.percent(chance),
            Fate::Prefix(last) => number <= last,
        }
    }

    /// The parts of a write of `length` bytes at `offset` that are left, as ranges of its bytes.
    pub fn kept_parts(&mut self, number: u64, offset: u64, length: usize) -> Vec<std::ops::Range<usize>> {
        let whole = 0..length;
        match self.fate {
            Fate::AllLost => Vec::new(),
            Fate::AllKept => vec![whole],
            Fate::Sectors(chance) => self.drawn_parts(offset, length, SECTOR_BYTES, chance),
            Fate::Blocks(chance) => self.drawn_parts(offset, length, BLOCK_BYTES, chance),
            Fate::Writes(chance) if self.random.percent(chance) => vec![whole],
            Fate::Writes(_) => Vec::new(),
            Fate::Prefix(last) if number < last => vec![whole],
            Fate::Prefix(last) if number == last => self.drawn_parts(offset, length, SECTOR_BYTES, 50),
            Fate::Prefix(_) => Vec::new(),
        }
    }

    fn drawn_parts(&mut self, offset: u64, length: usize, unit: usize, chance: u64) -> Vec<std::ops::Range<usize>> {
        let mut parts = Vec::new();
        let mut at = 0;
        while at < length {
            // Units lie at multiples of their size in the file, so the first part of a write may be short.
            let into_unit = ((offset + at as u64) % unit as u64) as usize;
            let end = length.min(at + unit - into_unit);
            if self.random.percent(chance) {
                parts.push(at..end);
            }
            at = end;
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::{Draws, Fate};
    use crate::random::Random;

    #[test]
    fn torn_parts_begin_and_end_at_sectors_of_the_file() {
        let mut draws = Draws::of(Fate::Sectors(50), Random::new(3));
        let mut seen = 0;
        for _ in 0..100 {
            for part in draws.kept_parts(1, 1000, 2000) {
                assert!(part.start == 0 || (1000 + part.start).is_multiple_of(512));
                assert!(part.end == 2000 || (1000 + part.end).is_multiple_of(512));
                seen += 1;
            }
        }
        assert!(seen > 100);
    }

    #[test]
    fn every_kind_of_loss_is_drawn() {
        let kinds: std::collections::BTreeSet<u8> = (0..200)
            .map(|seed| match Draws::new(Random::new(seed), 5, 9).fate() {
                Fate::AllLost => 0,
                Fate::AllKept => 1,
                Fate::Sectors(_) => 2,
                Fate::Blocks(_) => 3,
                Fate::Writes(_) => 4,
                Fate::Prefix(last) => {
                    assert!((5..=9).contains(&last));
                    5
                }
            })
            .collect();
        assert_eq!(kinds.len(), 6);
    }
}
