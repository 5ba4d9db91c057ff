//! Statistics as stored in a row of the catalog.
//!
//! Values are the bytes of a stored row of one column, in hexadecimal, with the type that the catalog names. So they stay readable if the
//! form of values in memory changes.

use super::{Content, Step};
use crate::types::{Collation, RowLayout, SqlType};
use serde::{Deserialize, Serialize};

/// The stored form of [`Content`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredContent {
    updated: (i32, u32),
    rows: u64,
    rows_sampled: u64,
    /// Absent where it is `rows`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unfiltered_rows: Option<u64>,
    densities: Vec<f64>,
    average_lengths: Vec<f64>,
    null_rows: f64,
    /// Upper end, rows of the range, rows of the end, values of the range.
    steps: Vec<(String, f64, f64, f64)>,
}

impl StoredContent {
    /// The stored form of what was counted of a column of a type.
    pub fn new(content: &Content, sql_type: SqlType, collation: Collation) -> StoredContent {
        let layout = RowLayout::new(&[sql_type]).with_collations(vec![collation]);
        let step = |step: &Step| {
            let mut row = Vec::new();
            // A value that its own type does not take is none of this column: the step says so by having no bytes.
            let encoded = layout.encode(std::slice::from_ref(&step.high), &mut row);
            let text = encoded.map_or_else(|_| String::new(), |()| hexadecimal(&row));
            (text, step.range_rows, step.equal_rows, step.distinct_range_rows)
        };
        StoredContent {
            updated: content.updated,
            rows: content.rows,
            rows_sampled: content.rows_sampled,
            unfiltered_rows: (content.unfiltered_rows != content.rows).then_some(content.unfiltered_rows),
            densities: content.densities.clone(),
            average_lengths: content.average_lengths.clone(),
            null_rows: content.null_rows,
            steps: content.steps.iter().map(step).collect(),
        }
    }

    /// What is stored, of a column of a type.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn content(&self, sql_type: SqlType, collation: Collation) -> Result<Content, String> {
        let layout = RowLayout::new(&[sql_type]).with_collations(vec![collation]);
        let step = |(high, range_rows, equal_rows, distinct): &(String, f64, f64, f64)| {
            let row = bytes(high).ok_or("a value that is not a row")?;
            Ok(Step {
                high: layout.column(&row, 0).map_err(|error| error.to_string())?,
                range_rows: *range_rows,
                equal_rows: *equal_rows,
                distinct_range_rows: *distinct,
            })
        };
        Ok(Content {
            updated: self.updated,
            rows: self.rows,
            rows_sampled: self.rows_sampled,
            unfiltered_rows: self.unfiltered_rows.unwrap_or(self.rows),
            densities: self.densities.clone(),
            average_lengths: self.average_lengths.clone(),
            null_rows: self.null_rows,
            steps: self.steps.iter().map(step).collect::<Result<_, String>>()?,
        })
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}
