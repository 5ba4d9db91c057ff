//! Column statistics: the distribution of values, described by few numbers.
//!
//! ```text
//! rows, one key each ---> Collector --sort--> Counts ---> densities    1 / distinct values, of the first 1, 2, .. columns
//!  (all, or a sample)                             \---> histogram    at most 200 steps of the first column
//!
//! step     RANGE_HI_KEY   a value that is there, the step's upper end; NULL, if there are any, is the first step
//!          EQ_ROWS        rows with that value
//!          RANGE_ROWS     rows between the step before and this value, both excluded
//!          DISTINCT_RANGE_ROWS   how many values they have
//! ```
//! The names, the limit of 200, and how steps come about (every value is a step at first; beyond 200 the two neighbours that lose least
//! become one; the smallest value is a step) are SQL Server's: "Statistics" (learn.microsoft.com, relational databases) describes the
//! histogram's three stages, "DBCC SHOW_STATISTICS" its columns. The loss of a merger is measured as the squared error of assuming that all
//! values of a range are equally frequent, plus the square of the range's rows, so that ranges of equal frequencies become equally deep.
//!
//! Strings and binaries count by their first [`PREFIX_LENGTH`] characters or bytes.
//!
//! Invariant: the steps of a histogram ascend in key order, and each except that of NULL has an existing value.
//!
//! Invariant: numbers of a sample are scaled to all rows; the rows of all steps add up to the number of rows, except for rounding.

mod collector;
mod fraction;
mod histogram;
mod stored;

pub use collector::{Collector, Plan, rows_to_sample};
pub use fraction::Column;
pub use stored::StoredContent;

use crate::types::Value;

/// The most steps of a histogram.
pub const STEPS_MAX: usize = 200;
/// The characters of a string, and bytes of a binary, that count.
pub const PREFIX_LENGTH: usize = 200;

/// One step of a histogram.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// RANGE_HI_KEY.
    pub high: Value,
    pub range_rows: f64,
    /// EQ_ROWS.
    pub equal_rows: f64,
    pub distinct_range_rows: f64,
}

impl Step {
    /// AVG_RANGE_ROWS: 1 where the range is empty ("DBCC SHOW_STATISTICS").
    pub fn average_range_rows(&self) -> f64 {
        if self.distinct_range_rows > 0.0 {
            self.range_rows / self.distinct_range_rows
        } else {
            1.0
        }
    }
}

/// What statistics say.
#[derive(Debug, Clone, PartialEq)]
pub struct Content {
    /// When it was counted: days and ticks.
    pub updated: (i32, u32),
    /// Rows of the table then, for which the filter of the statistics holds.
    pub rows: u64,
    /// Rows that were looked at.
    pub rows_sampled: u64,
    /// All rows of the table then: more than `rows` where the statistics have a filter.
    pub unfiltered_rows: u64,
    /// For the first column, the first two, and so on: 1 / how many different ones there are.
    pub densities: Vec<f64>,
    /// For the same: bytes of their values, on average.
    pub average_lengths: Vec<f64>,
    /// Rows whose first column is NULL.
    pub null_rows: f64,
    /// The histogram of the first column.
    pub steps: Vec<Step>,
}

impl Content {
    /// How many different ones of the first `columns` columns there are; NULL is one of them.
    pub fn distinct(&self, columns: usize) -> f64 {
        let density = columns.checked_sub(1).and_then(|place| self.densities.get(place));
        density.map_or(1.0, |density| if *density > 0.0 { 1.0 / density } else { 1.0 })
    }
}
