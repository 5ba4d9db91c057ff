//! Exact numbers of up to 38 digits.

use std::cmp::Ordering;
use std::fmt;

/// Powers of ten up to 10^38, the largest that a 128 bit integer holds.
pub const POWERS_OF_TEN: [i128; 39] = {
    let mut powers = [1i128; 39];
    let mut index = 1;
    while index < 39 {
        powers[index] = powers[index - 1] * 10;
        index += 1;
    }
    powers
};

/// One `decimal(precision, scale)`: `coefficient / 10^scale`, with at most `precision` digits.
///
/// The coefficient is kept in two halves, so that a value aligns to 8 bytes and not to 16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    high: i64,
    low: u64,
    /// Digits in total, 1 to 38.
    pub precision: u8,
    /// Digits after the point, 0 to 38.
    pub scale: u8,
}

impl Decimal {
    /// A decimal of the given coefficient. The caller has checked that it has at most `precision` digits.
    pub fn new(coefficient: i128, precision: u8, scale: u8) -> Decimal {
        Decimal {
            high: (coefficient >> 64) as i64,
            low: coefficient as u64,
            precision,
            scale: scale.min(38),
        }
    }

    /// The number without its point.
    pub fn coefficient(self) -> i128 {
        (i128::from(self.high) << 64) | i128::from(self.low)
    }

    /// Whether a coefficient fits into so many digits.
    pub fn fits(coefficient: i128, precision: u8) -> bool {
        POWERS_OF_TEN
            .get(usize::from(precision))
            .is_some_and(|&limit| coefficient > -limit && coefficient < limit)
    }

    /// The same number at another scale and precision, rounded half away from zero; `None` when it does not fit.
    pub fn rescaled(self, precision: u8, scale: u8) -> Option<Decimal> {
        let coefficient = rescale(self.coefficient(), self.scale, scale)?;
        Decimal::fits(coefficient, precision).then(|| Decimal::new(coefficient, precision, scale))
    }

    /// Whether nothing but zeros is behind the digits of a scale.
    pub fn keeps_digits(self, scale: u8) -> bool {
        let lost = usize::from(self.scale.saturating_sub(scale));
        match POWERS_OF_TEN.get(lost) {
            Some(power) => self.coefficient() % power == 0,
            None => self.coefficient() == 0,
        }
    }

    /// Compares two numbers of any scales.
    pub fn compare(self, other: Decimal) -> Ordering {
        if self.scale == other.scale {
            return self.coefficient().cmp(&other.coefficient());
        }
        let scale = self.scale.max(other.scale);
        let left = rescale(self.coefficient(), self.scale, scale);
        let right = rescale(other.coefficient(), other.scale, scale);
        match (left, right) {
            (Some(left), Some(right)) => left.cmp(&right),
            // A side that overflows at the larger scale is larger in size than any side that does not.
            (None, _) => self.coefficient().cmp(&0),
            (_, None) => 0.cmp(&other.coefficient()),
        }
    }

    /// The nearest `f64`.
    pub fn to_f64(self) -> f64 {
        // Parsing the digits rounds once; dividing by a power of ten would round twice.
        self.to_string().parse().unwrap_or(0.0)
    }
}

/// Moves a coefficient from one scale to another, rounding half away from zero; `None` on overflow.
fn rescale(coefficient: i128, from: u8, to: u8) -> Option<i128> {
    if to >= from {
        coefficient.checked_mul(*POWERS_OF_TEN.get(usize::from(to - from))?)
    } else {
        let divisor = *POWERS_OF_TEN.get(usize::from(from - to))?;
        let (quotient, remainder) = (coefficient / divisor, coefficient % divisor);
        let round = i128::from(remainder.unsigned_abs() * 2 >= divisor.unsigned_abs());
        Some(quotient + round * coefficient.signum())
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let coefficient = self.coefficient();
        if self.scale == 0 {
            return write!(formatter, "{coefficient}");
        }
        let divisor = POWERS_OF_TEN[usize::from(self.scale.min(38))].unsigned_abs();
        let magnitude = coefficient.unsigned_abs();
        let sign = if coefficient < 0 { "-" } else { "" };
        let width = usize::from(self.scale);
        write!(
            formatter,
            "{sign}{}.{:0width$}",
            magnitude / divisor,
            magnitude % divisor
        )
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn numbers_round_half_away_from_zero_and_refuse_overflow() {
        let number = |text: i128, scale| Decimal::new(text, 38, scale);
        assert_eq!(number(125, 2).rescaled(10, 1).unwrap().to_string(), "1.3");
        assert_eq!(number(-125, 2).rescaled(10, 1).unwrap().to_string(), "-1.3");
        assert_eq!(number(-5, 2).to_string(), "-0.05");
        assert_eq!(number(99_995, 3).rescaled(4, 2), None);
        assert_eq!(number(i128::MAX, 0).coefficient(), i128::MAX);
        assert_eq!(number(-1, 0).coefficient(), -1);
        assert_eq!(number(POWERS_OF_TEN[37], 0).compare(number(1, 30)), Ordering::Greater);
        assert_eq!(number(-POWERS_OF_TEN[37], 0).compare(number(1, 30)), Ordering::Less);
        assert_eq!(number(10, 1).compare(number(1, 0)), Ordering::Equal);
    }
}
