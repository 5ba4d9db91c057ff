//! Keys of rows, gathered and counted.

use super::histogram::Histogram;
use super::{Content, PREFIX_LENGTH};
use crate::cancel;
use crate::error::Result;
use crate::memory::Charge;
use crate::types::{Collation, KeyDirection, RowLayout, Value, encode_stored_key_part};

/// Tables of so many pages or fewer are counted whole, unless a sample is asked for: 8 MB ("Statistics": smaller tables are scanned).
const WHOLE_PAGES_MAX: u64 = 1_024;

/// The default number of sampled rows: a share that decreases as tables grow.
pub fn rows_to_sample(rows: u64, pages: u64) -> u64 {
    if pages <= WHOLE_PAGES_MAX {
        return rows;
    }
    let sample = 15.0 * (rows as f64).powf(0.55) + 20_000.0;
    (sample as u64).min(rows)
}

/// Which columns statistics are wanted of: the first has the histogram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Ordinals.
    pub columns: Vec<usize>,
}

impl Plan {
    pub fn of(columns: Vec<usize>) -> Plan {
        Plan { columns }
    }
}

/// The keys of some rows.
pub struct Collector {
    columns: Vec<(usize, Collation)>,
    /// All keys: for each row those of its columns, one after the other.
    keys: Vec<u8>,
    /// For each row and column, where its key ends; the first begins at 0.
    ends: Vec<usize>,
    /// The first column's values.
    values: Vec<Value>,
    value_bytes: Vec<u64>,
    charge: Charge,
}

impl Collector {
    /// Of some columns of rows of a layout.
    pub fn new(plan: &Plan, layout: &RowLayout) -> Collector {
        let columns = plan.columns.iter();
        let columns: Vec<_> = columns
            .map(|&column| (column, layout.column_collation(column)))
            .collect();
        Collector {
            value_bytes: vec![0; columns.len()],
            columns,
            keys: Vec::new(),
            ends: Vec::new(),
            values: Vec::new(),
            charge: Charge::default(),
        }
    }

    /// How many rows were added.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether none was.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Adds a row.
    ///
    /// # Errors
    /// 824 when the row contradicts itself; 701 when there is no memory for its key.
    pub fn add(&mut self, layout: &RowLayout, row: &[u8]) -> Result<()> {
        for place in 0..self.columns.len() {
            let (column, collation) = self.columns[place];
            let value = shortened(layout.column(row, column)?);
            self.value_bytes[place] += layout.stored_bytes(row, column)?;
            encode_stored_key_part(&value, collation, KeyDirection::Ascending, &mut self.keys);
            self.ends.push(self.keys.len());
            if place == 0 {
                self.values.push(value);
            }
        }
        if self.values.len().is_multiple_of(1_024) {
            self.charge.grow_to(self.bytes())?;
        }
        Ok(())
    }

    /// What the keys take twice over, since vectors double, and the order that sorting makes.
    fn bytes(&self) -> u64 {
        let rows = self.values.len() * (size_of::<Value>() + 2 * size_of::<u32>());
        (2 * (self.keys.len() + self.ends.len() * size_of::<usize>()) + 2 * rows) as u64
    }

    fn key(&self, row: u32, columns: usize) -> &[u8] {
        let first = row as usize * self.columns.len();
        let start = first.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.keys[start..self.ends[first + columns - 1]]
    }

    /// Counts what was gathered of a table with `rows` rows.
    ///
    /// # Errors
    /// 3617 when the request is to stop.
    pub fn finish(self, rows: u64, updated: (i32, u32)) -> Result<Content> {
        let width = self.columns.len();
        let sampled = self.values.len();
        let order = self.sorted()?;
        let mut histogram = Histogram::new(sampled as u64, rows);
        // Of each prefix: different keys, and those that are there once.
        let mut distinct = vec![0u64; width];
        let mut single = vec![0u64; width];
        let mut begun = vec![0usize; width];
        let mut null_rows = 0u64;
        for (place, &row) in order.iter().enumerate() {
            cancel::spend(1)?;
            let next = order.get(place + 1);
            for columns in 1..=width {
                let goes_on = next.is_some_and(|&next| self.key(next, columns) == self.key(row, columns));
                if goes_on {
                    continue;
                }
                let count = place + 1 - begun[columns - 1];
                begun[columns - 1] = place + 1;
                distinct[columns - 1] += 1;
                single[columns - 1] += u64::from(count == 1);
                if columns == 1 {
                    let value = &self.values[row as usize];
                    null_rows += if value.is_null() { count as u64 } else { 0 };
                    histogram.add(value, count as u64);
                }
            }
        }
        let scale = if sampled == 0 {
            1.0
        } else {
            rows as f64 / sampled as f64
        };
        let counts = distinct.iter().zip(&single);
        let densities = counts.map(|(&distinct, &single)| {
            1.0 / scaled_distinct(distinct as f64, single as f64, sampled as f64, rows as f64).max(1.0)
        });
        let densities: Vec<f64> = densities.collect();
        let mut bytes = 0;
        let lengths = self.value_bytes.iter().map(|&more| {
            bytes += more;
            bytes as f64 / sampled.max(1) as f64
        });
        Ok(Content {
            updated,
            rows,
            rows_sampled: sampled as u64,
            unfiltered_rows: rows,
            average_lengths: lengths.collect(),
            null_rows: null_rows as f64 * scale,
            steps: histogram.finish(densities.first().copied().unwrap_or(1.0)),
            densities,
        })
    }

    /// The rows in the order of their keys: runs, then mergers of two, so that each pass can be stopped.
    fn sorted(&self) -> Result<Vec<u32>> {
        const RUN: usize = 512;
        let width = self.columns.len();
        let mut order: Vec<u32> = (0..self.values.len() as u32).collect();
        for run in order.chunks_mut(RUN) {
            cancel::spend(run.len())?;
            run.sort_unstable_by(|&left, &right| self.key(left, width).cmp(self.key(right, width)));
        }
        let mut merged = vec![0; order.len()];
        let mut run = RUN;
        while run < order.len() {
            for start in (0..order.len()).step_by(2 * run) {
                let end = (start + 2 * run).min(order.len());
                let (mut left, middle) = (start, (start + run).min(end));
                let mut right = middle;
                for target in &mut merged[start..end] {
                    cancel::spend(1)?;
                    let takes_left = left < middle
                        && (right == end || self.key(order[left], width) <= self.key(order[right], width));
                    let taken = if takes_left { &mut left } else { &mut right };
                    *target = order[*taken];
                    *taken += 1;
                }
            }
            std::mem::swap(&mut order, &mut merged);
            run *= 2;
        }
        Ok(order)
    }
}

/// How many different values all rows have, when a sample of `sampled` rows has `distinct`, `single` of them once. (Haas and Stokes,
/// "Estimating the number of classes in a finite population", 1998: their estimator D_uj1.)
pub(super) fn scaled_distinct(distinct: f64, single: f64, sampled: f64, rows: f64) -> f64 {
    if sampled <= 0.0 || sampled >= rows {
        return distinct;
    }
    let unseen = sampled - single + single * sampled / rows;
    (sampled * distinct / unseen.max(f64::MIN_POSITIVE)).clamp(distinct, rows)
}

fn shortened(value: Value) -> Value {
    match &value {
        Value::Text(text) if text.len() > PREFIX_LENGTH => {
            let end = text.char_indices().nth(PREFIX_LENGTH).map(|(place, _)| place);
            match end {
                Some(end) => Value::text(&text[..end]).collated(text.collation()),
                None => value,
            }
        }
        Value::Binary(bytes) if bytes.len() > PREFIX_LENGTH => Value::binary(bytes[..PREFIX_LENGTH].to_vec()),
        _ => value,
    }
}
