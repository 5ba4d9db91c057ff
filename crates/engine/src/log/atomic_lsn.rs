//! An LSN that threads share.

use std::sync::atomic::{AtomicU64, Ordering};
use vlf::Lsn;

/// An LSN shared between threads, rounded down to its log block: good for "is everything before this over?", where too old an
/// answer is merely careful.
#[derive(Debug, Default)]
pub struct AtomicLsn(AtomicU64);

impl AtomicLsn {
    /// Holds `lsn` without its slot.
    pub fn new(lsn: Lsn) -> AtomicLsn {
        AtomicLsn(AtomicU64::new(AtomicLsn::pack(lsn)))
    }

    fn pack(lsn: Lsn) -> u64 {
        u64::from(lsn.vlf) << 32 | u64::from(lsn.block)
    }

    /// The LSN held; its slot is 0.
    pub fn load(&self) -> Lsn {
        let packed = self.0.load(Ordering::SeqCst);
        Lsn::new((packed >> 32) as u32, packed as u32, 0)
    }

    /// Replaces the LSN held.
    pub fn store(&self, lsn: Lsn) {
        self.0.store(AtomicLsn::pack(lsn), Ordering::SeqCst);
    }
}
