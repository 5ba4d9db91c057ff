//! Index searches: the keys of a search in a plan, before their values are known.
//!
//! ```text
//! where a = 1 and b in (2, 3) and c < 9, index (a, b, c):     ranges   a = 1, b = 2, c < 9
//!                                                                     a = 1, b = 3, c < 9
//! ```

use engine::catalog::TableDefinition;

use super::{Condition, Expr, ScanNode};
use crate::scalar::widening::widens;

/// The way to a table's rows through an index instead of a scan of the table. Its expressions are evaluated in the row that the search
/// writes into: on the right of nested loops they may use the left side's columns.
#[derive(Clone, Debug)]
pub struct IndexSeek {
    /// Place of the index in the table's list.
    pub index: usize,
    /// Ranges of its keys, in any order; what several have in common is read once. One that is [`SeekRange::whole`] reads the index
    /// from end to end.
    pub ranges: Vec<SeekRange>,
    /// From the last key to the first.
    pub is_backward: bool,
    /// An operator above relies on the rows coming in the order of the index.
    pub keeps_order: bool,
    /// Rows that these searches find count as well, each row once. Then the rows come in no order.
    pub union: Vec<IndexSeek>,
}

/// A range of the keys of an index.
#[derive(Clone, Debug, Default)]
pub struct SeekRange {
    /// What the leading key columns are equal to.
    pub equal: Vec<SeekKey>,
    /// What holds of the next key column.
    pub end: SeekEnd,
}

/// What a key column is equal to.
#[derive(Clone, Debug)]
pub enum SeekKey {
    /// A value of the column's type, or of one that [`widens`] it; NULL equals nothing.
    Value(Expr),
    /// NULL: `IS NULL`.
    Null,
}

/// What holds of the key column behind those that are equal to something.
#[derive(Clone, Debug, Default)]
pub enum SeekEnd {
    #[default]
    All,
    NotNull,
    /// It lies between two bounds, each with whether the value itself counts. NULL does not.
    Between {
        /// The lower bound.
        low: Option<(Expr, bool)>,
        /// The upper bound.
        high: Option<(Expr, bool)>,
    },
    /// It begins with the characters that a pattern of LIKE begins with.
    Prefix {
        pattern: Expr,
        /// The escape character.
        escape: Option<Expr>,
    },
}

impl SeekRange {
    /// All keys.
    pub fn whole() -> SeekRange {
        SeekRange::default()
    }

    /// Whether it is that.
    pub fn is_whole(&self) -> bool {
        self.equal.is_empty() && matches!(self.end, SeekEnd::All)
    }
}

impl IndexSeek {
    /// A search of one range, forward.
    pub fn of(index: usize, range: SeekRange) -> IndexSeek {
        IndexSeek {
            index,
            ranges: vec![range],
            is_backward: false,
            keeps_order: false,
            union: Vec::new(),
        }
    }

    /// Whether the key of an index that it reads, or its filter, has a column.
    pub fn reads_key_of(&self, definition: &TableDefinition, column: usize) -> bool {
        let index = definition.indexes.get(self.index);
        index.is_none_or(|index| {
            let is_key = index.keys.iter().any(|(key, _)| *key == column);
            is_key || index.filter.as_ref().is_some_and(|filter| filter.reads(column))
        }) || self.union.iter().any(|other| other.reads_key_of(definition, column))
    }
}

impl ScanNode {
    /// What a search looks for, as conditions on the table's columns.
    pub fn seek_conditions(&self) -> Vec<Condition> {
        let Some(seek) = &self.seek else {
            return Vec::new();
        };
        let definition = self.table.table.definition();
        let keys = &definition.indexes[seek.index].keys;
        let column = |position: usize| {
            let (column, _) = keys.get(position)?;
            let defined = &definition.columns[*column];
            Some(Expr::column(self.offset + column, defined.sql_type, defined.nullable))
        };
        let of_range = |range: &SeekRange| {
            let equal = range.equal.iter().enumerate().filter_map(|(position, key)| {
                let column = column(position)?;
                Some(match key {
                    SeekKey::Null => Condition::IsNull(column),
                    SeekKey::Value(value) => compared(crate::ast::ComparisonOperator::Equal, column, value),
                })
            });
            let mut all: Vec<Condition> = equal.collect();
            if let Some(column) = column(range.equal.len()) {
                end_of(&range.end, &column, &mut all);
            }
            Condition::all(all)
        };
        let mut ranges: Vec<Condition> = seek.ranges.iter().map(of_range).collect();
        ranges.retain(|one| !matches!(one, Condition::Constant(Some(true))));
        match ranges.len() {
            0 => Vec::new(),
            1 => ranges.remove(0).into_conjuncts(),
            _ => vec![Condition::Or(ranges)],
        }
    }
}

fn compared(operator: crate::ast::ComparisonOperator, left: Expr, right: &Expr) -> Condition {
    let is_wider = widens(left.sql_type, right.sql_type);
    Condition::Compare {
        operator,
        left: if is_wider { left.converted(right.sql_type) } else { left },
        right: right.clone(),
    }
}

fn end_of(end: &SeekEnd, column: &Expr, all: &mut Vec<Condition>) {
    use crate::ast::ComparisonOperator as Op;
    match end {
        SeekEnd::All => {}
        SeekEnd::NotNull => all.push(Condition::Not(Box::new(Condition::IsNull(column.clone())))),
        SeekEnd::Between { low, high } => {
            if let Some((value, is_in)) = low {
                let operator = if *is_in { Op::GreaterOrEqual } else { Op::Greater };
                all.push(compared(operator, column.clone(), value));
            }
            if let Some((value, is_in)) = high {
                let operator = if *is_in { Op::LessOrEqual } else { Op::Less };
                all.push(compared(operator, column.clone(), value));
            }
        }
        SeekEnd::Prefix { pattern, escape } => all.push(Condition::Like {
            operand: column.clone(),
            pattern: pattern.clone(),
            escape: escape.clone(),
        }),
    }
}
