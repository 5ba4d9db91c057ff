//! Rows of one width, stored as values in a few large blocks of memory and found by number.
//!
//! ```text
//! chunk 0   | row 0 | row 1 | .. | row 255 |      copying a value costs at most a reference count for strings;
//! chunk 1   | row 256 | ..                        rows have no separate allocations
//! ```
//! The owner of the rows charges them ([`stored_bytes`](crate::grant::stored_bytes)).

use engine::types::Value;

const ROWS_PER_CHUNK: usize = 256;

/// Values in a line of a processor's cache, 64 bytes.
const VALUES_PER_LINE: usize = 64 / size_of::<Value>();

/// Rows in the order in which they came.
#[derive(Default)]
pub(super) struct RowStore {
    width: usize,
    count: usize,
    chunks: Vec<Vec<Value>>,
}

impl RowStore {
    pub(super) fn new(width: usize) -> RowStore {
        RowStore {
            width,
            count: 0,
            chunks: Vec::new(),
        }
    }

    /// Forgets all rows; the first piece of memory stays for others.
    pub(super) fn clear(&mut self) {
        self.count = 0;
        self.chunks.truncate(1);
        self.chunks.iter_mut().for_each(Vec::clear);
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Adds a row of the width; values beyond it are left out, and missing ones are NULL.
    pub(super) fn push(&mut self, row: impl IntoIterator<Item = Value>) {
        if self.chunks.len() * ROWS_PER_CHUNK <= self.count {
            // The first chunk grows as rows come: most sets of rows are small.
            let rows = if self.count == 0 { 1 } else { ROWS_PER_CHUNK };
            self.chunks.push(Vec::with_capacity(rows * self.width));
        }
        self.count += 1;
        if let Some(chunk) = self.chunks.last_mut() {
            let end = chunk.len() + self.width;
            chunk.extend(row.into_iter().take(self.width));
            chunk.resize(end, Value::Null);
        }
    }

    /// A row; empty when there are not so many.
    #[inline]
    pub(super) fn row(&self, number: usize) -> &[Value] {
        let start = number % ROWS_PER_CHUNK * self.width;
        let chunk = self.chunks.get(number / ROWS_PER_CHUNK);
        chunk
            .and_then(|chunk| chunk.get(start..start + self.width))
            .unwrap_or_default()
    }

    /// Brings rows into the processor's cache that are asked for next. Rows that lie apart are waited for one after another where each is used before the
    /// next one is known; read side by side they come at once.
    pub(super) fn fetch(&self, numbers: impl Iterator<Item = usize>) {
        let values = numbers.flat_map(|number| self.row(number).iter().step_by(VALUES_PER_LINE));
        std::hint::black_box(values.filter(|value| value.is_null()).count());
    }

    /// As [`RowStore::row`], to be changed or taken.
    pub(super) fn row_mut(&mut self, number: usize) -> &mut [Value] {
        let start = number % ROWS_PER_CHUNK * self.width;
        let chunk = self.chunks.get_mut(number / ROWS_PER_CHUNK);
        chunk
            .and_then(|chunk| chunk.get_mut(start..start + self.width))
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_their_numbers() {
        let mut rows = RowStore::new(2);
        for number in 0..1_000 {
            rows.push([Value::Int(number), "x".into(), Value::Int(7)]);
        }
        assert_eq!(rows.len(), 1_000);
        for number in 0..1_000 {
            assert_eq!(rows.row(number as usize), [Value::Int(number), "x".into()]);
        }
        assert!(rows.row(1_024).is_empty());
        rows.row_mut(300)[0] = Value::Null;
        assert_eq!(rows.row(300), [Value::Null, "x".into()]);
    }

    #[test]
    fn rows_without_columns_are_counted() {
        let mut rows = RowStore::new(0);
        (0..300).for_each(|_| rows.push([]));
        assert_eq!((rows.len(), rows.row(5).len()), (300, 0));
    }
}
