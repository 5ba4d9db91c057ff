//! The generator behind every drawn value of a sample: SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
//! generators", 2014). One seed gives one sample on every machine.

/// A deterministic stream of numbers.
pub(super) struct Random(u64);

impl Random {
    /// The stream of a seed; streams of one seed and different names have nothing in common.
    pub(super) fn new(seed: u64, stream: u64) -> Random {
        Random(seed.wrapping_mul(0xA076_1D64_78BD_642F) ^ stream.wrapping_mul(0xE703_7ED1_A0B4_28DB))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// At least 0 and below 1.
    pub(super) fn unit(&mut self) -> f64 {
        const BITS: u32 = 53;
        (self.next() >> (u64::BITS - BITS)) as f64 / (1u64 << BITS) as f64
    }

    /// From 0 to `limit`, without it; 0 when `limit` is 0.
    pub(super) fn below(&mut self, limit: u32) -> u32 {
        ((u128::from(self.next()) * u128::from(limit)) >> u64::BITS) as u32
    }
}
