//! The filter of an index or of statistics, from its syntax to the tests that the engine applies to each row.
//!
//! ```text
//! column compared with                        becomes
//! a constant of the column's type             a key of the column
//! one that converts to it                     the same; if the conversion loses information, the equivalent comparison
//! one of a type to which the column converts  10611
//! one that cannot be converted                10612
//! NULL                                        10620
//! anything but a constant                     10735
//! ```
//! (sql-docs, "CREATE INDEX", WHERE: "Filtered index predicates [...] use simple comparison logic".) The numbers are those of the errors list in
//! sql-docs, and what the SqlServerSimulator project has probed on SQL Server 2025.

use engine::catalog::{FilterKey, FilterOperator, FilterTerm, FilterTest, IndexFilter, TableDefinition};
use engine::error::{Error, Result};
use engine::types::{SqlType, Value};
use std::cmp::Ordering;

use super::executor::Executor;
use crate::ast::{self, ComparisonOperator, Expression, ExpressionKind, UnaryOperator};
use crate::bind::Binder;
use crate::messages;
use crate::plan::Expr;
use crate::scalar::compare::compare;
use crate::scalar::convert::convert;
use crate::scalar::data_type::{check_conversion, common_type, precedence};

/// The filter of an index that is made, with what errors call it and its table.
struct Reader<'f> {
    table: &'f TableDefinition,
    /// `index` or `statistics`.
    kind: &'static str,
    index: &'f str,
    /// As the statement names it.
    table_name: &'f str,
}

impl Executor<'_> {
    /// The filter of an index of a table that the statement names `table_name`.
    ///
    /// # Errors
    /// See the module; 207 for a column that the table does not have.
    pub(super) fn index_filter(
        &self,
        table: &TableDefinition,
        names: (&str, &str),
        filter: &ast::IndexFilter,
    ) -> Result<IndexFilter> {
        self.filter_of("index", table, names, filter)
    }

    /// The filter of statistics, by the rules of those of indexes (sql-docs, "CREATE STATISTICS": "The filter predicate uses simple comparison
    /// logic").
    ///
    /// # Errors
    /// As for an index.
    pub(super) fn statistics_filter(
        &self,
        table: &TableDefinition,
        names: (&str, &str),
        filter: &ast::IndexFilter,
    ) -> Result<IndexFilter> {
        self.filter_of("statistics", table, names, filter)
    }

    fn filter_of(
        &self,
        kind: &'static str,
        table: &TableDefinition,
        (index, table_name): (&str, &str),
        filter: &ast::IndexFilter,
    ) -> Result<IndexFilter> {
        let reader = Reader {
            table,
            kind,
            index,
            table_name,
        };
        let mut terms = Vec::new();
        let parts = match &filter.condition.kind {
            ExpressionKind::And(parts) => parts.as_slice(),
            _ => std::slice::from_ref(&filter.condition),
        };
        for part in parts {
            self.filter_terms(&reader, part, &mut terms)?;
        }
        Ok(IndexFilter {
            text: filter.text.clone(),
            terms,
        })
    }

    fn filter_terms(&self, reader: &Reader<'_>, part: &Expression, terms: &mut Vec<FilterTerm>) -> Result<()> {
        crate::stack::require()?;
        let (column, test) = match &part.kind {
            ExpressionKind::And(parts) => {
                return parts.iter().try_for_each(|part| self.filter_terms(reader, part, terms));
            }
            ExpressionKind::IsNull { operand, negated } => {
                let test = if *negated {
                    FilterTest::NotNull
                } else {
                    FilterTest::Null
                };
                (reader.column(operand)?, test)
            }
            ExpressionKind::Comparison { left, operator, right } => {
                let column = reader.column(left)?;
                (
                    column,
                    self.filter_test(reader, column, engine_operator(*operator), right)?,
                )
            }
            ExpressionKind::InList { operand, list, .. } => {
                let column = reader.column(operand)?;
                let mut keys = Vec::new();
                for item in list {
                    // To one that is none of the type, no value is equal.
                    if let FilterTest::Compared(_, key) =
                        self.filter_test(reader, column, FilterOperator::Equal, item)?
                    {
                        keys.push(key);
                    }
                }
                (column, FilterTest::In(keys))
            }
            _ => return Err(reader.incorrect()),
        };
        terms.push(FilterTerm { column, test });
        Ok(())
    }

    /// A comparison of a column with a constant.
    fn filter_test(
        &self,
        reader: &Reader<'_>,
        column: usize,
        operator: FilterOperator,
        written: &Expression,
    ) -> Result<FilterTest> {
        if !is_constant(written) {
            return Err(reader.incorrect());
        }
        let own = &reader.table.columns[column];
        let named = (reader.kind, reader.index, reader.table_name, own.name.as_str());
        let mut bound = Binder::new(self.session, &self.batch.scope).scalar(written)?;
        crate::optimize::Optimizer::new(self.session).expression(&mut bound)?;
        if bound.is_null_constant() {
            return Err(messages::filter_compares_null(
                reader.kind,
                reader.index,
                reader.table_name,
            ));
        }
        let value = crate::exec::evaluate(&bound, &[], &self.context())?.into_owned();
        require_own_type(&bound, own.sql_type, named)?;
        let refused = || messages::filter_not_convertible(named.0, named.1, named.2, named.3);
        check_conversion(bound.sql_type, own.sql_type, false).map_err(|_| refused())?;
        let are_numbers = bound.sql_type.is_numeric() && own.sql_type.is_numeric();
        let converted = match convert(&value, bound.sql_type, own.sql_type, None) {
            Err(_) if are_numbers => {
                let zero = convert(&Value::Int(0), SqlType::Int, bound.sql_type, None)?;
                return Ok(beyond(operator, compare(&value, &zero) == Some(Ordering::Greater)));
            }
            converted => converted.map_err(|_| refused())?,
        };
        let key = FilterKey::of(&converted.clone().collated(own.collation), own.collation);
        if are_numbers {
            let meeting = common_type(bound.sql_type, own.sql_type);
            let there = convert(&converted, own.sql_type, meeting, None)?;
            let order = compare(&there, &convert(&value, bound.sql_type, meeting, None)?);
            if let Some(order) = order.filter(|order| order.is_ne()) {
                return Ok(beside(operator, key, order));
            }
        }
        Ok(FilterTest::Compared(operator, key))
    }
}

/// 10611 for a constant whose type the column would be converted to: a literal number is one of the column's.
fn require_own_type(bound: &Expr, own: SqlType, (kind, index, table, column): (&str, &str, &str, &str)) -> Result<()> {
    let is_other = std::mem::discriminant(&bound.sql_type) != std::mem::discriminant(&own);
    let is_number = bound.sql_type.is_numeric() && own.is_numeric();
    match is_other && !is_number && precedence(bound.sql_type) > precedence(own) {
        true => Err(messages::filter_of_higher_type(kind, index, table, column)),
        false => Ok(()),
    }
}

/// A comparison of a column of numbers with one that is none of its type: what is left of it for those that are.
fn beside(operator: FilterOperator, key: FilterKey, order: Ordering) -> FilterTest {
    let is_above = order.is_gt();
    match operator {
        FilterOperator::Equal => FilterTest::In(Vec::new()),
        FilterOperator::NotEqual => FilterTest::NotNull,
        // The nearest number of the type is above the constant: it is not among those below, and is among those above.
        FilterOperator::Less | FilterOperator::LessOrEqual if is_above => {
            FilterTest::Compared(FilterOperator::Less, key)
        }
        FilterOperator::Less | FilterOperator::LessOrEqual => FilterTest::Compared(FilterOperator::LessOrEqual, key),
        FilterOperator::Greater | FilterOperator::GreaterOrEqual if is_above => {
            FilterTest::Compared(FilterOperator::GreaterOrEqual, key)
        }
        FilterOperator::Greater | FilterOperator::GreaterOrEqual => FilterTest::Compared(FilterOperator::Greater, key),
    }
}

/// The same with a number beyond all of the type: above them, or below.
fn beyond(operator: FilterOperator, is_above: bool) -> FilterTest {
    let holds = match operator {
        FilterOperator::Equal => false,
        FilterOperator::NotEqual => true,
        FilterOperator::Less | FilterOperator::LessOrEqual => is_above,
        FilterOperator::Greater | FilterOperator::GreaterOrEqual => !is_above,
    };
    match holds {
        true => FilterTest::NotNull,
        false => FilterTest::In(Vec::new()),
    }
}

/// Whether an expression is a constant: a literal with or without a sign, or one that CAST or CONVERT gives another type.
fn is_constant(expression: &Expression) -> bool {
    match &expression.kind {
        ExpressionKind::Literal(_) => true,
        ExpressionKind::Unary { operator, operand } => {
            *operator != UnaryOperator::BitNot && matches!(operand.kind, ExpressionKind::Literal(_))
        }
        ExpressionKind::Cast(cast) => is_constant(&cast.operand),
        ExpressionKind::Convert(convert) => {
            is_constant(&convert.operand) && convert.style.as_ref().is_none_or(is_constant)
        }
        _ => false,
    }
}

fn engine_operator(operator: ComparisonOperator) -> FilterOperator {
    match operator {
        ComparisonOperator::Equal => FilterOperator::Equal,
        ComparisonOperator::NotEqual => FilterOperator::NotEqual,
        ComparisonOperator::Less => FilterOperator::Less,
        ComparisonOperator::LessOrEqual => FilterOperator::LessOrEqual,
        ComparisonOperator::Greater => FilterOperator::Greater,
        ComparisonOperator::GreaterOrEqual => FilterOperator::GreaterOrEqual,
    }
}

impl Reader<'_> {
    fn incorrect(&self) -> Error {
        messages::filter_incorrect(self.kind, self.index, self.table_name)
    }

    /// The column that a term tests.
    fn column(&self, operand: &Expression) -> Result<usize> {
        let ExpressionKind::Column(name) = &operand.kind else {
            return Err(self.incorrect());
        };
        let place = self.table.column(name.object()).filter(|_| name.parts.len() == 1);
        let place = place.ok_or_else(|| messages::invalid_column_name(name.object()))?;
        let column = &self.table.columns[place];
        match (&column.computed, column.sql_type) {
            (Some(_), _) => Err(messages::filter_of_computed(
                self.kind,
                self.index,
                self.table_name,
                &column.name,
            )),
            (None, SqlType::SqlVariant | SqlType::HierarchyId | SqlType::Json | SqlType::XML) => Err(self.incorrect()),
            (None, own) if own.is_spatial() => Err(self.incorrect()),
            (None, own) if own.is_large_object() => Err(self.incorrect()),
            _ => Ok(place),
        }
    }
}
