//! The filter of an index: which rows have an entry in it.
//!
//! ```text
//! filter  term AND term ...
//! term    column IS [NOT] NULL
//!         column operator constant
//!         column IN (constant, ...)
//! ```
//! "The column data type must match the data type of the constant" (sql-docs, "CREATE INDEX", WHERE). So each term compares the bytes of
//! two key parts, whose order is that of the values. NULL satisfies no comparison.
//!
//! Invariant: the keys of a filter use the same version of collation weights as the index.

use crate::error::{Error, Result};
use crate::types::{Collation, KeyDirection, RowLayout, Value, encode_stored_key_part};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// A filter. All of its terms hold for the rows that have an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexFilter {
    /// The predicate, T-SQL text as it was written.
    pub text: String,
    /// What it consists of.
    pub terms: Vec<FilterTerm>,
}

/// A test of one column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilterTerm {
    /// The column, by its place in the table.
    pub column: usize,
    pub test: FilterTest,
}

/// What a column is to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FilterTest {
    Null,
    NotNull,
    Compared(FilterOperator, FilterKey),
    /// It equals a key of a list.
    In(Vec<FilterKey>),
}

/// How a column compares with a constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FilterOperator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl FilterOperator {
    /// Whether it holds for two values in this order.
    pub fn holds(self, order: Ordering) -> bool {
        match self {
            FilterOperator::Equal => order.is_eq(),
            FilterOperator::NotEqual => order.is_ne(),
            FilterOperator::Less => order.is_lt(),
            FilterOperator::LessOrEqual => order.is_le(),
            FilterOperator::Greater => order.is_gt(),
            FilterOperator::GreaterOrEqual => order.is_ge(),
        }
    }
}

/// A constant in the type of its column, as a part of a key has it. Keys compare as the values do.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FilterKey(Vec<u8>);

impl FilterKey {
    /// The key of a value in memory in a column of this collation.
    pub fn of(value: &Value, collation: Collation) -> FilterKey {
        let mut key = Vec::new();
        encode_stored_key_part(value, collation, KeyDirection::Ascending, &mut key);
        FilterKey(key)
    }
}

impl IndexFilter {
    /// Whether a row has an entry: `values` are all of its columns. Those that it compares are in memory.
    ///
    /// # Errors
    /// An assertion where one that it compares is held.
    pub fn holds(&self, values: &[Value], layout: &RowLayout) -> Result<bool> {
        for term in &self.terms {
            let value = values.get(term.column).unwrap_or(&Value::Null);
            if !term.test.holds(value, layout.column_collation(term.column))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether it compares the values of a column, for which it needs them in memory: a test for NULL does not.
    pub fn compares(&self, column: usize) -> bool {
        let is_compared = |test: &FilterTest| matches!(test, FilterTest::Compared(..) | FilterTest::In(_));
        self.terms
            .iter()
            .any(|term| term.column == column && is_compared(&term.test))
    }

    /// Whether it reads a column.
    pub fn reads(&self, column: usize) -> bool {
        self.terms.iter().any(|term| term.column == column)
    }
}

impl FilterTest {
    fn holds(&self, value: &Value, collation: Collation) -> Result<bool> {
        let key_of = |value: &Value| match value {
            Value::Held(_) => Err(Error::assertion("the filter of an index compares a held value")),
            value => Ok(FilterKey::of(value, collation)),
        };
        Ok(match self {
            FilterTest::Null => value.is_null(),
            FilterTest::NotNull => !value.is_null(),
            _ if value.is_null() => false,
            FilterTest::Compared(operator, key) => operator.holds(key_of(value)?.cmp(key)),
            FilterTest::In(keys) => keys.contains(&key_of(value)?),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::types::SqlType;

    #[test]
    fn every_test_holds_for_the_values_that_it_says_and_for_no_others() {
        let layout = RowLayout::new(&[SqlType::Int]);
        let key = |number| FilterKey::of(&Value::Int(number), Collation::default());
        let holds = |test: FilterTest| -> Vec<Option<i32>> {
            let term = FilterTerm { column: 0, test };
            let filter = IndexFilter {
                text: String::new(),
                terms: vec![term],
            };
            let values = [None, Some(-1), Some(0), Some(1), Some(2)];
            let is_in = |value: &Option<i32>| filter.holds(&[value.map_or(Value::Null, Value::Int)], &layout).unwrap();
            values.into_iter().filter(is_in).collect()
        };
        let compared = |operator| holds(FilterTest::Compared(operator, key(0)));
        assert_eq!(holds(FilterTest::Null), [None]);
        assert_eq!(holds(FilterTest::NotNull), [Some(-1), Some(0), Some(1), Some(2)]);
        assert_eq!(holds(FilterTest::In(vec![key(2), key(-1)])), [Some(-1), Some(2)]);
        assert_eq!(compared(FilterOperator::Equal), [Some(0)]);
        assert_eq!(compared(FilterOperator::NotEqual), [Some(-1), Some(1), Some(2)]);
        assert_eq!(compared(FilterOperator::Less), [Some(-1)]);
        assert_eq!(compared(FilterOperator::LessOrEqual), [Some(-1), Some(0)]);
        assert_eq!(compared(FilterOperator::Greater), [Some(1), Some(2)]);
        assert_eq!(compared(FilterOperator::GreaterOrEqual), [Some(0), Some(1), Some(2)]);
    }

    #[test]
    fn a_filter_survives_its_stored_form() {
        let filter = IndexFilter {
            text: "a = 1 AND b IS NULL".into(),
            terms: vec![
                FilterTerm {
                    column: 0,
                    test: FilterTest::Compared(
                        FilterOperator::Equal,
                        FilterKey::of(&Value::Int(1), Collation::default()),
                    ),
                },
                FilterTerm {
                    column: 1,
                    test: FilterTest::Null,
                },
            ],
        };
        let text = serde_json::to_string(&filter).unwrap();
        assert_eq!(serde_json::from_str::<IndexFilter>(&text).unwrap(), filter);
    }
}
