//! Exact numbers of up to 77 digits, for intermediate results of decimals with 38 digits.
//!
//! The product of two decimals has up to 76 digits, and so has a decimal that is moved to the scale of another. SQL Server
//! rounds the exact result once (sql-docs, "Precision, scale, and length"); so the exact result is needed first.

use std::cmp::Ordering;

/// An unsigned number of 256 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Wide {
    high: u128,
    low: u128,
}

const HALF: u32 = 64;
const LOW_HALF: u128 = u64::MAX as u128;
/// The largest power of ten below 2^64: what a number is divided by in one step.
const DIGITS_PER_STEP: u32 = 19;

impl Wide {
    pub(super) const ZERO: Wide = Wide { high: 0, low: 0 };

    /// `left * right`
    pub(super) fn product(left: u128, right: u128) -> Wide {
        let (left_high, left_low) = (left >> HALF, left & LOW_HALF);
        let (right_high, right_low) = (right >> HALF, right & LOW_HALF);
        let low = left_low * right_low;
        let middle = left_high * right_low + (low >> HALF);
        let (middle, carry) = middle.overflowing_add(left_low * right_high);
        let high = left_high * right_high + (middle >> HALF) + (u128::from(carry) << HALF);
        Wide {
            high,
            low: (middle << HALF) | (low & LOW_HALF),
        }
    }

    /// `self + other`, for numbers of at most 76 digits each: their sum has 77 at most, which is below 2^256.
    pub(super) fn plus(self, other: Wide) -> Wide {
        let (low, carry) = self.low.overflowing_add(other.low);
        Wide {
            high: self.high + other.high + u128::from(carry),
            low,
        }
    }

    /// `self - other`, where `other` is not larger.
    pub(super) fn minus(self, other: Wide) -> Wide {
        let (low, borrow) = self.low.overflowing_sub(other.low);
        Wide {
            high: self.high - other.high - u128::from(borrow),
            low,
        }
    }

    /// Without its last digits, rounded half up.
    pub(super) fn without_digits(self, digits: u32) -> Wide {
        let Some(cut) = digits.checked_sub(1) else { return self };
        let mut number = self;
        let mut left = cut;
        while left > 0 {
            let step = left.min(DIGITS_PER_STEP);
            number = number.divided(10u64.pow(step)).0;
            left -= step;
        }
        // Digits cut off before the last say nothing about rounding: half or more begins with 5.
        let (quotient, last) = number.divided(10);
        if last >= 5 {
            quotient.plus(Wide { high: 0, low: 1 })
        } else {
            quotient
        }
    }

    fn divided(self, divisor: u64) -> (Wide, u64) {
        let divisor = u128::from(divisor);
        let mut quotient = Wide::ZERO;
        let mut remainder = 0u128;
        for (part, into) in [(self.high, &mut quotient.high), (self.low, &mut quotient.low)] {
            for half in [part >> HALF, part & LOW_HALF] {
                let current = (remainder << HALF) | half;
                *into = (*into << HALF) | (current / divisor);
                remainder = current % divisor;
            }
        }
        (quotient, remainder as u64)
    }

    /// `self % other`; `other` is not zero.
    pub(super) fn remainder(self, other: Wide) -> Wide {
        if self < other {
            return self;
        }
        let mut remainder = Wide::ZERO;
        for bit in (0..256u32).rev() {
            let part = if bit >= 128 { self.high } else { self.low };
            // Below 10^76, the double of a remainder does not leave 256 bits.
            remainder = remainder.plus(remainder).plus(Wide {
                high: 0,
                low: (part >> (bit % 128)) & 1,
            });
            if remainder.cmp(&other) != Ordering::Less {
                remainder = remainder.minus(other);
            }
        }
        remainder
    }

    /// As a number of 128 bits with a sign; `None` when it is none.
    pub(super) fn signed(self, negative: bool) -> Option<i128> {
        let magnitude = i128::try_from(self.low).ok().filter(|_| self.high == 0)?;
        Some(if negative { -magnitude } else { magnitude })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NINES: u128 = 99_999_999_999_999_999_999_999_999_999_999_999_999;

    #[test]
    fn products_of_the_largest_decimals_are_exact() {
        // (10^38 - 1)^2 = 10^76 - 2 * 10^38 + 1
        let product = Wide::product(NINES, NINES);
        let expected = Wide::product(10u128.pow(38), 10u128.pow(38))
            .minus(Wide::product(2, 10u128.pow(38)))
            .plus(Wide { high: 0, low: 1 });
        assert_eq!(product, expected);
        assert_eq!(product.without_digits(38).signed(false), Some(NINES as i128 - 1));
        assert_eq!(product.signed(false), None);
        assert_eq!(product.remainder(Wide::product(NINES, 1)), Wide::ZERO);
        assert_eq!(
            product
                .plus(Wide { high: 0, low: 7 })
                .remainder(Wide::product(NINES, 1))
                .signed(true),
            Some(-7)
        );
    }

    #[test]
    fn digits_go_with_one_rounding() {
        let number = |low| Wide { high: 0, low };
        assert_eq!(number(1_449).without_digits(2), number(14));
        assert_eq!(number(1_450).without_digits(2), number(15));
        assert_eq!(number(1_450).without_digits(0), number(1_450));
        assert_eq!(Wide::product(5, 10u128.pow(37)).without_digits(38), number(1));
        assert_eq!(Wide::product(NINES, 10u128.pow(38)).without_digits(76), number(1));
    }
}
