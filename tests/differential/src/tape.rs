//! The draws a statement is made of, kept so that it can be made smaller.
//!
//! A generator asks the tape for every choice. A fresh tape draws and remembers; a replayed one answers what it remembers, and
//! 0 behind its end. Generators give 0 to the simplest choice, so a tape with parts cut out or set to 0 is a smaller statement,
//! and every tape is a statement that is valid: shrinking needs to know nothing of statements.
//!
//! Invariant: the same tape makes the same statement of the same schema.

use outside::random::Random;

/// What a part of the tape makes; a part may stand in for another of its sort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// An element of a list.
    Item,
    Query,
    /// A source of FROM.
    Source,
    Condition,
    Expression,
}

/// A part of the tape: the draws `begin..end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub sort: Sort,
    /// Its first draw.
    pub begin: usize,
    /// The draw after its last.
    pub end: usize,
}

#[derive(Debug)]
pub struct Tape {
    draws: Vec<u64>,
    next: usize,
    fresh: Option<Random>,
    spans: Vec<Span>,
}

impl Tape {
    /// A tape that draws.
    pub fn fresh(seed: u64) -> Tape {
        Tape {
            draws: Vec::new(),
            next: 0,
            fresh: Some(Random::new(seed)),
            spans: Vec::new(),
        }
    }

    /// A tape that repeats `draws`.
    pub fn replay(draws: Vec<u64>) -> Tape {
        Tape {
            draws,
            next: 0,
            fresh: None,
            spans: Vec::new(),
        }
    }

    /// A number below `limit`, which must not be 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        let drawn = match &mut self.fresh {
            Some(random) => random.below(limit),
            None => self.draws.get(self.next).map_or(0, |draw| (*draw).min(limit - 1)),
        };
        if self.next < self.draws.len() {
            self.draws[self.next] = drawn;
        } else {
            self.draws.push(drawn);
        }
        self.next += 1;
        drawn
    }

    /// True in `percent` of 100 draws; false for 0.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) >= 100 - percent
    }

    /// One of `choices`, which must not be empty; the first for 0.
    pub fn choose<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize].clone()
    }

    /// Begins a part; [`Tape::close`] ends it.
    pub fn open(&self) -> usize {
        self.next
    }

    /// Ends the part that began at `begin`.
    pub fn close(&mut self, sort: Sort, begin: usize) {
        self.spans.push(Span {
            sort,
            begin,
            end: self.next,
        });
    }

    /// The draws that were asked for, and the parts among them.
    pub fn into_parts(mut self) -> (Vec<u64>, Vec<Span>) {
        self.draws.truncate(self.next);
        (self.draws, self.spans)
    }
}

#[cfg(test)]
mod tests {
    use super::Tape;

    #[test]
    fn a_tape_repeats_what_it_drew_and_is_0_behind_its_end() {
        let mut fresh = Tape::fresh(7);
        let drawn: Vec<u64> = (0..20).map(|_| fresh.below(9)).collect();
        let mut again = Tape::replay(fresh.into_parts().0);
        assert_eq!((0..20).map(|_| again.below(9)).collect::<Vec<_>>(), drawn);
        assert_eq!((again.below(9), again.percent(99)), (0, false));
    }
}
