//! Draws that a seed repeats.

/// SplitMix64 (Steele, Lea, Flood 2014): one seed, one sequence.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The sequence of `seed`.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next 64 bits.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`, which must not be 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.draw() % limit
    }

    /// True in `percent` of 100 draws.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of `choices`, which must not be empty.
    pub fn choose<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len() as u64) as usize]
    }

    /// A number from 1 to `max`, small ones as likely as large ones: every doubling has the same chance.
    pub fn of_any_magnitude(&mut self, max: u64) -> u64 {
        let doublings = u64::from(u64::BITS - max.leading_zeros());
        let limit = max.min((1 << self.below(doublings + 1)).max(1));
        1 + self.below(limit)
    }

    /// A sequence of its own, so that draws of one thread do not depend on the pace of another.
    pub fn fork(&mut self) -> Random {
        Random(self.draw())
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn numbers_of_any_magnitude_stay_in_range_and_reach_both_ends() {
        let mut random = Random::new(1);
        let drawn: Vec<u64> = (0..20_000).map(|_| random.of_any_magnitude(1_000)).collect();
        assert!(drawn.iter().all(|number| (1..=1_000).contains(number)));
        assert!(drawn.contains(&1) && drawn.iter().any(|number| *number > 900));
        assert!(drawn.iter().filter(|number| **number < 10).count() > 2_000);
    }
}
