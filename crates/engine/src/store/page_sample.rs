//! Which pages of a table a sample has: each page is in it or not by a number that the seed and the page's place alone decide.
//!
//! So the same seed gives the same pages in every scan, as long as the rows stay where they are.

use crate::page::PageId;

/// A sample of pages, of about a given share of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageSample {
    seed: u64,
    /// Pages whose number is below it are in the sample.
    below: u128,
}

impl PageSample {
    /// A sample of a share of all pages: 0 of none, 1 of all.
    pub fn new(seed: u64, share: f64) -> PageSample {
        // A float of a share has 53 bits, so 64 hold it with its fraction; a cast of what is out of range ends at its bounds.
        let below = (share.clamp(0.0, 1.0) * 18_446_744_073_709_551_616.0) as u128;
        PageSample { seed, below }
    }

    /// Whether it has this page.
    pub fn has(self, page: PageId) -> bool {
        let place = u64::from(page.file) << 32 | u64::from(page.page);
        u128::from(mixed(self.seed ^ mixed(place))) < self.below
    }
}

/// All bits of a number in all bits of another: the finalizer of SplitMix64 (Steele, Lea, Flood 2014).
fn mixed(number: u64) -> u64 {
    let mut bits = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(seed: u64, share: f64) -> Vec<u32> {
        let sample = PageSample::new(seed, share);
        let has = |page: &u32| sample.has(PageId { file: 1, page: *page });
        (0..10_000).filter(has).collect()
    }

    #[test]
    fn a_sample_has_about_its_share_of_the_pages_and_the_same_ones_again() {
        for share in [0.01, 0.1, 0.5, 0.9] {
            let pages = chosen(42, share);
            let (count, wanted) = (pages.len() as f64, share * 10_000.0);
            // Six standard deviations of so many draws.
            let far = 6.0 * (wanted * (1.0 - share)).sqrt();
            assert!((count - wanted).abs() < far, "{share}: {count}");
            assert_eq!(pages, chosen(42, share));
            assert_ne!(pages, chosen(43, share));
        }
        assert!(chosen(42, 0.0).is_empty());
        assert_eq!(chosen(42, 1.0).len(), 10_000);
    }

    #[test]
    fn a_larger_share_has_the_pages_of_a_smaller_one() {
        let (few, many) = (chosen(7, 0.2), chosen(7, 0.4));
        assert!(few.iter().all(|page| many.contains(page)));
    }
}
