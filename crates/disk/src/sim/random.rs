//! The generator behind every choice of the simulated disk: SplitMix64, so that one seed gives one outcome everywhere.

/// A deterministic stream of numbers (SplitMix64 of Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", 2014).
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number in `0..=max`; the bias of the remainder does not matter for choosing faults.
    pub(super) fn up_to(&mut self, max: usize) -> usize {
        (self.next() % (max as u64).saturating_add(1)) as usize
    }

    pub(super) fn coin(&mut self) -> bool {
        self.next() & 1 == 1
    }

    pub(super) fn fill(&mut self, bytes: &mut [u8]) {
        for part in bytes.chunks_mut(8) {
            let word = self.next().to_le_bytes();
            part.copy_from_slice(&word[..part.len()]);
        }
    }
}
