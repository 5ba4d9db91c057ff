//! RAND and the random bits of NEWID.
//!
//! RAND is L'Ecuyer's combined generator: two multiplicative sequences, whose difference is the number. A seed is the first sequence's
//! state; the second always begins at 67890, and a seed of 0 or NULL is 12345, which are the states that the generator was published with
//! ("Efficient and portable combined random number generators", CACM 31, 1988). Published numbers show that this is SQL Server's generator:
//! RAND(100), RAND(), RAND() is 0.715436657367485, 0.28463380767982, 0.0131039082850364 there and here.
//!
//! A call whose seed is the same for all rows is computed once in a statement ("runtime constants", sql-docs on RAND:
//! "Repetitive calls of RAND() with the same seed value return the same results").

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

const FIRST_MODULUS: u64 = 2_147_483_563;
const FIRST_FACTOR: u64 = 40_014;
const FIRST_START: u64 = 12_345;
const SECOND_MODULUS: u64 = 2_147_483_399;
const SECOND_FACTOR: u64 = 40_692;
const SECOND_START: u64 = 67_890;
/// The reciprocal of the first modulus, with the digits that the published generator has.
const UNIT: f64 = 4.656_613e-10;

/// The random numbers of a session.
#[derive(Debug)]
pub struct RandomNumbers {
    /// The states of RAND's two sequences.
    states: Cell<(u64, u64)>,
    /// The state of the bits for identifiers, which a seed of RAND must not make predictable.
    bits: Cell<u64>,
    /// What RAND answered in this statement, by the place of the call.
    answered: RefCell<HashMap<i64, f64>>,
    places: Cell<i64>,
}

impl RandomNumbers {
    /// Sequences that begin anywhere.
    pub(super) fn new(entropy: u64) -> RandomNumbers {
        // Marsaglia's xorshift64*; its state must not be zero.
        let numbers = RandomNumbers {
            states: Cell::default(),
            bits: Cell::new(entropy.max(1)),
            answered: RefCell::default(),
            places: Cell::default(),
        };
        let start = 1 + numbers.next_bits() % (FIRST_MODULUS - 1);
        numbers.states.set((start, SECOND_START));
        numbers
    }

    /// Another statement begins: calls answer again.
    pub(super) fn begin_statement(&self) {
        self.answered.borrow_mut().clear();
    }

    /// A number for a place in a statement where RAND is called.
    pub fn new_place(&self) -> i64 {
        self.places.set(self.places.get() + 1);
        self.places.get()
    }

    /// RAND without a seed, above 0 and below 1; at one place the same for a whole statement.
    pub fn next(&self, place: Option<i64>) -> f64 {
        let known = place.and_then(|place| self.answered.borrow().get(&place).copied());
        known.unwrap_or_else(|| {
            let number = self.step();
            if let Some(place) = place {
                self.answered.borrow_mut().insert(place, number);
            }
            number
        })
    }

    /// RAND with a seed. The sign of a seed counts for nothing.
    pub fn seeded(&self, seed: i32) -> f64 {
        let start = match u64::from(seed.unsigned_abs()) {
            0 => FIRST_START,
            seed => seed,
        };
        self.states.set((start, SECOND_START));
        self.step()
    }

    fn step(&self) -> f64 {
        let (first, second) = self.states.get();
        let first = first * FIRST_FACTOR % FIRST_MODULUS;
        let second = second * SECOND_FACTOR % SECOND_MODULUS;
        self.states.set((first, second));
        let number = if first > second {
            first - second
        } else {
            first + FIRST_MODULUS - 1 - second
        };
        number as f64 * UNIT
    }

    /// 64 random bits.
    pub fn next_bits(&self) -> u64 {
        let mut state = self.bits.get();
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        self.bits.set(state);
        state.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Published results: sql-docs ("RAND(100), RAND(), RAND()" always the same), database.guide on RAND, and RAND(0), RAND(1),
    /// RAND(2), RAND(5) as many pages print them; all to fifteen digits.
    #[test]
    fn seeds_answer_what_sql_server_answers() {
        let numbers = RandomNumbers::new(7);
        let cases = [
            (100, "0.715436657367485"),
            (0, "0.943597390424144"),
            (1, "0.713591993212924"),
            (2, "0.713610626184182"),
            (5, "0.713666525097956"),
            (-5, "0.713666525097956"),
        ];
        for (seed, text) in cases {
            assert_eq!(format!("{:.15}", numbers.seeded(seed)), text, "RAND({seed})");
        }
        numbers.seeded(100);
        assert_eq!(format!("{:.14}", numbers.next(None)), "0.28463380767982");
        assert_eq!(format!("{:.16}", numbers.next(None)), "0.0131039082850364");
    }

    #[test]
    fn a_place_answers_once_in_a_statement() {
        let numbers = RandomNumbers::new(7);
        let (place, other) = (numbers.new_place(), numbers.new_place());
        let first = numbers.next(Some(place));
        assert!(first > 0.0 && first < 1.0);
        assert_eq!(numbers.next(Some(place)), first);
        assert_ne!(numbers.next(Some(other)), first);
        numbers.begin_statement();
        assert_ne!(numbers.next(Some(place)), first);
    }
}
