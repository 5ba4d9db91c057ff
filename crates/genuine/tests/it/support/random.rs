//! Random numbers from a seed, and damage made with them.

/// A linear congruential generator (Knuth's constants).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit.max(1)
    }

    /// Changes a few bytes, writes an extreme value over a field, moves a run of bytes, or cuts the end off.
    pub fn damage(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..1 + self.below(4) {
            let at = self.below(bytes.len());
            match self.below(5) {
                0 => bytes[at] ^= 1 << self.below(8),
                1 => bytes[at] = self.below(256) as u8,
                2 => {
                    let end = (at + [1, 2, 4, 8][self.below(4)]).min(bytes.len());
                    bytes[at..end].fill(if self.below(2) == 0 { 0xFF } else { 0 });
                }
                3 => {
                    let from = self.below(bytes.len());
                    let count = self.below(600).min(bytes.len() - from).min(bytes.len() - at);
                    bytes.copy_within(from..from + count, at);
                }
                _ => {
                    if self.below(8) == 0 {
                        bytes.truncate(at.max(64));
                    }
                }
            }
        }
    }
}
