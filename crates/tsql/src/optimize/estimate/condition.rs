//! The fraction of rows that a condition leaves.
//!
//! ```text
//! column = value, <, >, IN, LIKE 'x%'   by the histogram
//! column > a AND column < b             as one range of the histogram
//! column = variable                     as its value if that is used; else 1 / distinct values
//! column = column                       by both histograms; by one, and the remaining rows of a small table (`small`)
//! all columns of a unique key = those of another table     1 / rows
//! AND of conditions on one table        the most selective, times the root of the next, the fourth root, the eighth root of the two after it
//! AND of conditions on several tables   the product
//! OR                                    the sum where all say what one column equals; else as of independent conditions
//! ```
//! (Exponential backoff and the four that count: the white paper "Optimizing Your Query Plans with the SQL Server 2014 Cardinality
//! Estimator".) For columns without statistics, and for values that are unknown when the plan is compiled, the guesses of the module above
//! apply.

use engine::statistics::Column;
use engine::types::Value;

use super::{EQUALITY_POWER, Estimator, INEQUALITY, LIKE, Sources, UNKNOWN_ROWS, column_of};
use crate::ast::ComparisonOperator as Op;
use crate::plan::{Condition, Expr, ExprKind};
use crate::scalar::convert::convert;
use crate::scalar::like::{Blanks, Pattern};

/// Conditions on one table that count, the most selective first.
const COUNTED_MAX: usize = 4;

/// `column operator value`; the value is in the column's type, and `None` while it is not known.
struct Bound {
    place: usize,
    operator: Op,
    value: Option<Value>,
}

/// What conditions are about: the tables of the columns they read, by their place among the sources.
pub(super) type Subject = (Option<usize>, Option<usize>);

impl Estimator<'_> {
    /// The part of rows for which all conditions hold.
    pub fn selectivity_of_all(&self, conditions: &[Condition], sources: &Sources<'_>) -> f64 {
        let mut conjuncts = Vec::new();
        conditions.iter().for_each(|one| flatten(one, &mut conjuncts));
        let mut parts: Vec<(Subject, f64)> = self.keys_joined(&mut conjuncts, sources);
        parts.extend(self.filtered_parts(&mut conjuncts, sources));
        let mut ranges: Vec<(usize, Vec<Bound>)> = Vec::new();
        for condition in conjuncts {
            let bound = self.bound_of(condition, sources);
            match bound.filter(|bound| !matches!(bound.operator, Op::Equal | Op::NotEqual)) {
                Some(bound) => match ranges.iter_mut().find(|(place, _)| *place == bound.place) {
                    Some((_, bounds)) => bounds.push(bound),
                    None => ranges.push((bound.place, vec![bound])),
                },
                None => parts.push((subject_of(condition, sources), self.selectivity(condition, sources))),
            }
        }
        for (place, bounds) in ranges {
            let subject = (sources.position(place), None);
            parts.push((subject, self.range(place, &bounds, sources)));
        }
        backed_off(parts)
    }

    /// The part of rows, from 0 to 1, for which a condition holds.
    pub fn selectivity(&self, condition: &Condition, sources: &Sources<'_>) -> f64 {
        let part = match condition {
            Condition::Constant(truth) => f64::from(u8::from(*truth == Some(true))),
            Condition::And(parts) => self.selectivity_of_all(parts, sources),
            Condition::Or(parts) => self.any(parts, sources),
            Condition::Not(inner) => 1.0 - self.selectivity(inner, sources),
            Condition::Compare { operator, left, right } => {
                self.comparison(condition, (*operator, left, right), sources)
            }
            Condition::In { operand, list } => {
                let one = |value: &Expr| self.equality(operand, value, sources);
                list.iter().map(one).sum::<f64>()
            }
            Condition::Like {
                operand,
                pattern,
                escape: None,
            } => self.like(operand, pattern, sources),
            Condition::IsNull(operand) => match column_of(operand) {
                Some(place) => self.with_column(place, sources, |column| column.null()).unwrap_or(LIKE),
                None => LIKE,
            },
            Condition::Like { .. } => LIKE,
            _ => INEQUALITY,
        };
        part.clamp(0.0, 1.0)
    }

    fn comparison(
        &self,
        condition: &Condition,
        (operator, left, right): (Op, &Expr, &Expr),
        sources: &Sources<'_>,
    ) -> f64 {
        match operator {
            Op::Equal => self.equality(left, right, sources),
            Op::NotEqual => {
                let place = column_of(left).or(column_of(right));
                let known = place.and_then(|place| self.with_column(place, sources, |column| column.known()));
                known.unwrap_or(1.0) - self.equality(left, right, sources)
            }
            _ => match self.bound_of(condition, sources) {
                Some(bound) => self.range(bound.place, std::slice::from_ref(&bound), sources),
                None => INEQUALITY,
            },
        }
    }

    /// Rows for which one of several holds.
    fn any(&self, parts: &[Condition], sources: &Sources<'_>) -> f64 {
        let place_of = |part: &Condition| match self.bound_of(part, sources) {
            Some(Bound {
                place,
                operator: Op::Equal,
                ..
            }) => Some(place),
            _ => None,
        };
        let first = parts.first().and_then(place_of);
        let is_one_column = first.is_some() && parts.iter().all(|part| place_of(part) == first);
        let each = parts.iter().map(|part| self.selectivity(part, sources));
        match is_one_column {
            true => each.sum(),
            false => 1.0 - each.map(|part| 1.0 - part).product::<f64>(),
        }
    }

    /// The part of rows, or of pairs of rows, for which two expressions are equal.
    pub fn equality(&self, left: &Expr, right: &Expr, sources: &Sources<'_>) -> f64 {
        if let (Some(left), Some(right)) = (column_of(left), column_of(right)) {
            return self.columns_equal(left, right, sources);
        }
        let (place, other) = match (column_of(left), column_of(right)) {
            (Some(place), _) => (place, right),
            (_, Some(place)) => (place, left),
            // Neither side is a column: as if each were one of ten values.
            _ => return 0.1,
        };
        let value = self.value_of(other, place, sources);
        let by_value = value.and_then(|value| self.with_column(place, sources, |column| column.equal(&value)));
        let known = self.with_column(place, sources, |column| column.known()).unwrap_or(1.0);
        by_value.unwrap_or_else(|| known / self.distinct(place, sources).max(1.0))
    }

    /// Pairs of rows with one value.
    fn columns_equal(&self, left: usize, right: usize, sources: &Sources<'_>) -> f64 {
        if let Some(part) = self.part_of_left(left, right, sources) {
            return part;
        }
        let joined = self.with_column(left, sources, |left| {
            self.with_column(right, sources, |right| left.joined(right))
        });
        let by_count = || 1.0 / self.distinct(left, sources).max(self.distinct(right, sources)).max(1.0);
        let is_alike = match (sources.column(left), sources.column(right)) {
            (Some((one, first)), Some((other, second))) => {
                let type_of = |table: &crate::plan::ScanNode, column: usize| {
                    let column = &table.table.table.definition().columns[column];
                    (column.sql_type, column.collation)
                };
                type_of(one, first) == type_of(other, second)
            }
            _ => false,
        };
        // Values of two types have keys that say nothing of each other.
        joined.flatten().filter(|_| is_alike).unwrap_or_else(by_count)
    }

    /// Bounds of one column, taken together.
    fn range(&self, place: usize, bounds: &[Bound], sources: &Sources<'_>) -> f64 {
        let guess = INEQUALITY.powi(bounds.len().min(2) as i32);
        if bounds.iter().any(|bound| bound.value.is_none()) {
            return guess;
        }
        let of_column = |column: Column<'_>| {
            let (mut low, mut high) = (0.0f64, column.known());
            for (operator, value) in bounds
                .iter()
                .filter_map(|bound| Some((bound.operator, bound.value.as_ref()?)))
            {
                match operator {
                    Op::Less => high = high.min(column.below(value, false)),
                    Op::LessOrEqual => high = high.min(column.below(value, true)),
                    Op::Greater => low = low.max(column.below(value, true)),
                    Op::GreaterOrEqual => low = low.max(column.below(value, false)),
                    Op::Equal | Op::NotEqual => {}
                }
            }
            (high - low).max(0.0)
        };
        self.with_column(place, sources, of_column).unwrap_or(guess)
    }

    fn like(&self, operand: &Expr, pattern: &Expr, sources: &Sources<'_>) -> f64 {
        let (Some(place), Some(Value::Text(text))) = (column_of(operand), self.known(pattern)) else {
            return LIKE;
        };
        let text = &text;
        let prefix: String = text.chars().take_while(|c| !"%_[".contains(*c)).collect();
        let part = self.with_column(place, sources, |column| {
            let compiled = Pattern::new(text, None, column.collation);
            let matching = column.matching(|value| {
                value
                    .as_str()
                    .is_some_and(|own| compiled.matches(own, Blanks::LeftOver).unwrap_or(false))
            });
            match prefix
                .chars()
                .next_back()
                .and_then(|last| char::from_u32(last as u32 + 1))
            {
                None => matching,
                Some(next) => {
                    let mut end = prefix.clone();
                    end.pop();
                    end.push(next);
                    let bound = |text: String| Value::text(text).collated(column.collation);
                    let range = column.below(&bound(end), false) - column.below(&bound(prefix.clone()), false);
                    let is_prefix_alone = text[prefix.len()..] == *"%";
                    if is_prefix_alone {
                        range.max(0.0)
                    } else {
                        matching.min(range.max(0.0))
                    }
                }
            }
        });
        // What no step's end matches may be in a range all the same.
        part.map_or(LIKE, |part| part.max(1e-6))
    }

    /// Takes out the conditions that join a unique key of one table to columns of another, and answers their parts.
    fn keys_joined(&self, conjuncts: &mut Vec<&Condition>, sources: &Sources<'_>) -> Vec<(Subject, f64)> {
        let mut parts = Vec::new();
        let pairs: Vec<(usize, usize)> = conjuncts.iter().filter_map(|one| places_joined(one)).collect();
        if pairs.len() < 2 {
            return parts;
        }
        for (at, scan) in sources.scans.iter().enumerate() {
            let definition = scan.table.table.definition();
            for index in definition
                .indexes
                .iter()
                .filter(|index| index.is_unique_of_all() && index.keys.len() > 1)
            {
                let is_key = |place: usize| {
                    let column = place.checked_sub(scan.offset);
                    column.is_some_and(|column| index.keys.iter().any(|(key, _)| *key == column))
                };
                let own = |&(left, right): &(usize, usize)| match (is_key(left), is_key(right)) {
                    (true, false) => Some((left, sources.position(right)?)),
                    (false, true) => Some((right, sources.position(left)?)),
                    _ => None,
                };
                let joined: Vec<(usize, usize)> = pairs.iter().filter_map(own).collect();
                let Some(&(_, other)) = joined.first() else { continue };
                let is_whole = index.keys.iter().all(|(key, _)| {
                    let mut joined = joined.iter();
                    joined.any(|(place, to)| *place == scan.offset + key && *to == other)
                });
                if is_whole {
                    conjuncts.retain(|one| {
                        places_joined(one).is_none_or(|pair| own(&pair).is_none_or(|(_, to)| to != other))
                    });
                    parts.push(((Some(at), Some(other)), 1.0 / self.table_rows(&scan.table)));
                    return parts;
                }
            }
        }
        parts
    }

    /// A condition as a bound of a column.
    fn bound_of(&self, condition: &Condition, sources: &Sources<'_>) -> Option<Bound> {
        let Condition::Compare { operator, left, right } = condition else {
            return None;
        };
        let (place, operator, other) = match (column_of(left), column_of(right)) {
            (Some(place), None) => (place, *operator, right),
            (None, Some(place)) => (place, mirrored(*operator), left),
            _ => return None,
        };
        other.is_same_for_every_row().then(|| Bound {
            place,
            operator,
            value: self.value_of(other, place, sources),
        })
    }

    /// The value of an expression, in the type of the column at a place, if it is known when the plan is made.
    fn value_of(&self, expression: &Expr, place: usize, sources: &Sources<'_>) -> Option<Value> {
        // Nothing equals NULL: a parameter that is NULL now says nothing of the others.
        let is_constant = matches!(expression.kind, ExprKind::Constant(_));
        let value = self.known(expression).filter(|value| is_constant || !value.is_null())?;
        let (scan, column) = sources.column(place)?;
        let column = &scan.table.table.definition().columns[column];
        let value = convert(&value, expression.sql_type, column.sql_type, None).ok()?;
        Some(value.collated(column.collation))
    }

    /// Asks the statistics of the column at a place.
    pub(super) fn with_column<T>(
        &self,
        place: usize,
        sources: &Sources<'_>,
        ask: impl FnOnce(Column<'_>) -> T,
    ) -> Option<T> {
        let (scan, column) = sources.column(place)?;
        let table = &scan.table.table;
        let filtered = self.filtered_content(place);
        let content = filtered.or_else(|| self.knowledge.content(table, column))?;
        let collation = table.definition().columns[column].collation;
        Some(ask(Column {
            content: &content,
            collation,
        }))
    }

    /// Distinct values of the column at a place of the wide row.
    pub fn distinct(&self, place: usize, sources: &Sources<'_>) -> f64 {
        let Some((scan, column)) = sources.column(place) else {
            return UNKNOWN_ROWS.powf(1.0 - EQUALITY_POWER);
        };
        let table = &scan.table.table;
        let rows = self.table_rows(&scan.table);
        let mut indexes = table.definition().indexes.iter();
        let is_unique = indexes
            .any(|index| index.is_unique_of_all() && matches!(index.keys.as_slice(), [(key, _)] if *key == column));
        match self.knowledge.content(table, column) {
            _ if is_unique => rows,
            Some(content) => scaled(content.distinct(1), content.rows, rows),
            None => rows.powf(1.0 - EQUALITY_POWER),
        }
    }

    /// Groups of so many rows by the columns at some places; others are taken for functions of them.
    pub fn groups(&self, places: &[usize], rows: f64, sources: &Sources<'_>) -> f64 {
        let mut by_table: Vec<(usize, Vec<usize>)> = Vec::new();
        for &place in places {
            let Some(at) = sources.position(place) else { continue };
            let column = place - sources.scans[at].offset;
            match by_table.iter_mut().find(|(other, _)| *other == at) {
                Some((_, columns)) if columns.contains(&column) => {}
                Some((_, columns)) => columns.push(column),
                None => by_table.push((at, vec![column])),
            }
        }
        let distinct = by_table.into_iter().map(|(at, columns)| {
            let scan = sources.scans[at];
            let table_rows = self.table_rows(&scan.table);
            let together = self.knowledge.distinct_of(&scan.table.table, &columns);
            let each = || {
                let mut counts: Vec<f64> = columns
                    .iter()
                    .map(|column| self.distinct(scan.offset + column, sources))
                    .collect();
                counts.sort_by(|left, right| right.total_cmp(left));
                backed_off_product(&counts)
            };
            let all = together.unwrap_or_else(each).min(table_rows);
            // Of so many values drawn so often, how many are drawn at all.
            all * (1.0 - (1.0 - 1.0 / all.max(1.0)).powf(rows)).max(0.0)
        });
        distinct.product::<f64>().clamp(1.0_f64.min(rows), rows.max(1.0))
    }
}

/// Distinct values now, when there were some among fewer or more rows then: a value for each row stays that, few values stay few.
fn scaled(distinct: f64, rows_then: u64, rows: f64) -> f64 {
    let then = (rows_then as f64).max(1.0);
    if distinct > 0.5 * then {
        distinct * rows / then
    } else {
        distinct.min(rows)
    }
}

fn flatten<'c>(condition: &'c Condition, conjuncts: &mut Vec<&'c Condition>) {
    match condition {
        Condition::And(parts) => parts.iter().for_each(|part| flatten(part, conjuncts)),
        other => conjuncts.push(other),
    }
}

fn places_joined(condition: &Condition) -> Option<(usize, usize)> {
    match condition {
        Condition::Compare {
            operator: Op::Equal,
            left,
            right,
        } => Some((column_of(left)?, column_of(right)?)),
        _ => None,
    }
}

/// The first two tables whose columns a condition reads.
pub(super) fn subject_of(condition: &Condition, sources: &Sources<'_>) -> Subject {
    let mut found = (None, None);
    condition.for_each_expression(&mut |expression| note_tables(expression, sources, &mut found));
    found
}

fn note_tables(expression: &Expr, sources: &Sources<'_>, found: &mut Subject) {
    if let ExprKind::Column(place) = expression.kind {
        let table = sources.position(place);
        match found {
            (None, _) => found.0 = table,
            (Some(first), None) if Some(*first) != table => found.1 = table,
            _ => {}
        }
    }
    expression.for_each_child(&mut |child| note_tables(child, sources, found));
}

/// Parts on one subject with exponential backoff, those on several multiplied.
fn backed_off(mut parts: Vec<(Subject, f64)>) -> f64 {
    let mut product = 1.0;
    while let Some(subject) = parts.first().map(|first| first.0) {
        let (same, others): (Vec<_>, Vec<_>) = parts.into_iter().partition(|part| part.0 == subject);
        parts = others;
        let mut same: Vec<f64> = same.into_iter().map(|part| part.1).collect();
        same.sort_by(f64::total_cmp);
        product *= backed_off_product(&same);
    }
    product
}

pub(super) fn backed_off_product(numbers: &[f64]) -> f64 {
    let powers = [1.0, 0.5, 0.25, 0.125];
    numbers
        .iter()
        .take(COUNTED_MAX)
        .zip(powers)
        .map(|(number, power)| number.powf(power))
        .product()
}

fn mirrored(operator: Op) -> Op {
    match operator {
        Op::Less => Op::Greater,
        Op::LessOrEqual => Op::GreaterOrEqual,
        Op::Greater => Op::Less,
        Op::GreaterOrEqual => Op::LessOrEqual,
        same => same,
    }
}
