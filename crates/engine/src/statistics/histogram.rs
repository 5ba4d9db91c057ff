//! The histogram: every value a step, until there are too many.

use super::collector::scaled_distinct;
use super::{STEPS_MAX, Step};
use crate::types::Value;

/// The weight of a range's rows, squared, beside the squared error of its frequencies.
const DEPTH_WEIGHT: f64 = 0.01;

/// A step while it is made; counts are those of the sample.
struct Open {
    high: Value,
    equal: u64,
    range: u64,
    distinct: u64,
    /// Values of the range that are there once.
    single: u64,
    /// The squares of their frequencies, added up.
    squares: f64,
}

impl Open {
    fn error(&self) -> f64 {
        match self.distinct {
            0 => 0.0,
            distinct => self.squares - (self.range as f64).powi(2) / distinct as f64,
        }
    }

    /// The range of `next` when this step becomes part of it.
    fn merged(&self, next: &Open) -> Open {
        Open {
            high: Value::Null,
            equal: next.equal,
            range: self.range + self.equal + next.range,
            distinct: self.distinct + 1 + next.distinct,
            single: self.single + u64::from(self.equal == 1) + next.single,
            squares: self.squares + (self.equal as f64).powi(2) + next.squares,
        }
    }

    /// What that loses.
    fn cost(&self, next: &Open) -> f64 {
        let merged = self.merged(next);
        merged.error() - self.error() - next.error() + DEPTH_WEIGHT * (merged.range as f64).powi(2)
    }
}

/// Takes values in their order, and makes steps of them.
pub(super) struct Histogram {
    sampled: u64,
    rows: u64,
    steps: Vec<Open>,
    /// For each step but the last, what it costs to make it part of the next.
    costs: Vec<f64>,
    /// Steps that stay: NULL and the smallest value.
    fixed: usize,
}

impl Histogram {
    pub(super) fn new(sampled: u64, rows: u64) -> Histogram {
        Histogram {
            sampled,
            rows,
            steps: Vec::with_capacity(STEPS_MAX + 1),
            costs: Vec::with_capacity(STEPS_MAX + 1),
            fixed: 1,
        }
    }

    /// The next value, with its rows in the sample.
    pub(super) fn add(&mut self, value: &Value, rows: u64) {
        if value.is_null() {
            self.fixed = 2;
        }
        let step = Open {
            high: value.clone(),
            equal: rows,
            range: 0,
            distinct: 0,
            single: 0,
            squares: 0.0,
        };
        if let Some(last) = self.steps.last() {
            self.costs.push(last.cost(&step));
        }
        self.steps.push(step);
        if self.steps.len() > STEPS_MAX {
            self.merge_cheapest();
        }
    }

    fn merge_cheapest(&mut self) {
        let candidates = self.costs.iter().enumerate().skip(self.fixed);
        let Some((place, _)) = candidates.min_by(|left, right| left.1.total_cmp(right.1)) else {
            return;
        };
        let removed = self.steps.remove(place);
        self.costs.remove(place);
        let next = &mut self.steps[place];
        let merged = removed.merged(next);
        let high = std::mem::replace(&mut next.high, Value::Null);
        self.steps[place] = Open { high, ..merged };
        for at in [place.wrapping_sub(1), place] {
            if let (Some(left), Some(right)) = (self.steps.get(at), self.steps.get(at.wrapping_add(1))) {
                self.costs[at] = left.cost(right);
            }
        }
    }

    /// The steps, scaled to all rows; `density` is that of the column. A value that the sample has once stands for others that it does not
    /// have: it is taken for as frequent as values are on average, and what is left over is its range's.
    pub(super) fn finish(self, density: f64) -> Vec<Step> {
        let (sampled, rows) = (self.sampled as f64, self.rows as f64);
        let scale = if sampled > 0.0 { rows / sampled } else { 1.0 };
        let mut left_over = 0.0;
        let steps = self.steps.into_iter().enumerate().map(|(place, step)| {
            let scaled = step.equal as f64 * scale;
            let is_seen_once = step.equal == 1 && scale > 1.0;
            let equal_rows = if is_seen_once {
                scaled.min(rows * density)
            } else {
                scaled
            };
            left_over += scaled - equal_rows;
            let mut range_rows = step.range as f64 * scale;
            if range_rows > 0.0 {
                range_rows += std::mem::take(&mut left_over);
            }
            let seen = (step.distinct as f64, step.single as f64, step.range as f64);
            let mut distinct = scaled_distinct(seen.0, seen.1, seen.2, step.range as f64 * scale);
            if place == 0 || step.range == 0 {
                distinct = 0.0;
            }
            Step {
                high: step.high,
                range_rows,
                equal_rows,
                distinct_range_rows: distinct.round(),
            }
        });
        steps.collect()
    }
}
