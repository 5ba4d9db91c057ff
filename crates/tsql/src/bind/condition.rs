//! Conditions.

use engine::error::Result;
use engine::types::{SqlType, Value};

use super::Binder;
use super::case::meeting_type;
use super::fold::{is_written_null, settled};
use super::implicit;
use crate::ast::{Between, ComparisonOperator, Expression, ExpressionKind, Like, Query, QueryBody};
use crate::messages;
use crate::plan::{Condition, Expr, ExprKind, Quantifier, label_of, unified};
use crate::scalar::arithmetic::comparison_type;
use crate::scalar::data_type::text_units;

impl<'a> Binder<'a> {
    pub(super) fn condition(&mut self, condition: &'a Expression) -> Result<Condition> {
        Ok(settled(self.condition_as_written(condition)?))
    }

    fn condition_as_written(&mut self, condition: &'a Expression) -> Result<Condition> {
        self.line = condition.line;
        // It is moved from list to list on its way down to the sources: up to three hold it at once.
        self.deeper(3 * size_of::<Condition>())?;
        match &condition.kind {
            ExpressionKind::And(parts) => Ok(Condition::And(self.conditions(parts)?)),
            ExpressionKind::Or(parts) => Ok(any_of(self.conditions(parts)?)),
            ExpressionKind::Not(inner) => Ok(Condition::Not(Box::new(self.condition(inner)?))),
            ExpressionKind::Comparison { left, operator, right } => {
                self.deduce_beside(left, *operator, right)?;
                let left = self.expression(left)?;
                let right = self.expression(right)?;
                self.line = condition.line;
                self.comparison(*operator, left, right)
            }
            ExpressionKind::Quantified {
                left,
                operator,
                all,
                query,
            } => {
                let quantifier = if *all { Quantifier::All } else { Quantifier::Any };
                self.quantified(left, *operator, quantifier, query)
            }
            ExpressionKind::Between(between) => self.between(between),
            ExpressionKind::InList { operand, negated, list } => {
                let found = settled(self.in_list(operand, list)?);
                Ok(negate_if(*negated, found))
            }
            ExpressionKind::InQuery {
                operand,
                negated,
                query,
            } => {
                let found = self.quantified(operand, ComparisonOperator::Equal, Quantifier::Any, query)?;
                Ok(negate_if(*negated, found))
            }
            ExpressionKind::Like(like) => self.like(like),
            ExpressionKind::IsNull { operand, negated } => {
                let found = settled(Condition::IsNull(self.expression(operand)?));
                Ok(negate_if(*negated, found))
            }
            ExpressionKind::IsDistinct { left, right, negated } => {
                self.deduce_beside(left, ComparisonOperator::Equal, right)?;
                let (left, right) = (self.expression(left)?, self.expression(right)?);
                let (left, right) = comparable(left, right, "is distinct from")?;
                Ok(negate_if(*negated, Condition::IsDistinct(left, right)))
            }
            ExpressionKind::Exists(query) => {
                // EXISTS looks at no column, so `*` may stand where it is 263 elsewhere, without FROM, or 8120, under GROUP BY.
                self.stars_are_ignored = matches!(&query.body, QueryBody::Select(select)
                    if select.from.is_empty() || !select.group_by.is_empty() || select.having.is_some());
                let subquery = self.subquery(query);
                self.stars_are_ignored = false;
                let mut subquery = subquery?;
                super::unused::leave_out_all(&mut subquery);
                Ok(Condition::Exists(subquery))
            }
            _ => Err(engine::error::Error::new(
                4145,
                15,
                1,
                "An expression of non-boolean type specified in a context where a condition is expected.",
            )),
        }
    }

    fn conditions(&mut self, parts: &'a [Expression]) -> Result<Vec<Condition>> {
        parts.iter().map(|part| self.condition(part)).collect()
    }

    fn between(&mut self, between: &'a Between) -> Result<Condition> {
        self.deduce_beside(&between.operand, ComparisonOperator::GreaterOrEqual, &between.low)?;
        self.deduce_beside(&between.operand, ComparisonOperator::LessOrEqual, &between.high)?;
        let operand = self.expression(&between.operand)?;
        let low = self.expression(&between.low)?;
        let high = self.expression(&between.high)?;
        let above = self.comparison(ComparisonOperator::GreaterOrEqual, operand.clone(), low)?;
        let below = self.comparison(ComparisonOperator::LessOrEqual, operand, high)?;
        Ok(negate_if(
            between.negated,
            settled(Condition::And(vec![settled(above), settled(below)])),
        ))
    }

    fn in_list(&mut self, operand: &'a Expression, list: &'a [Expression]) -> Result<Condition> {
        self.deduce_in_list(operand, list)?;
        let operand = self.expression(operand)?;
        let list = self.listed(list)?;
        if !self.session.options().ansi_nulls && list.iter().any(may_be_the_null) {
            let equal = |item| self.comparison(ComparisonOperator::Equal, operand.clone(), item);
            return Ok(Condition::Or(list.into_iter().map(equal).collect::<Result<_>>()?));
        }
        if let Some(item) = list
            .iter()
            .find(|item| operand.sql_type.is_incomparable() || item.sql_type.is_incomparable())
        {
            comparison_type(operand.sql_type, item.sql_type, "equal to")?;
        }
        let all_text = operand.sql_type.is_character() && list.iter().all(|item| item.sql_type.is_character());
        if all_text {
            return in_condition(operand, list);
        }
        let target = meeting_type(std::iter::once(&operand).chain(&list));
        let target = comparison_type(target, target, "equal to")?;
        let list = list
            .into_iter()
            .map(|item| implicit(item, target))
            .collect::<Result<Vec<_>>>()?;
        in_condition(implicit(operand, target)?, list)
    }

    fn quantified(
        &mut self,
        operand: &'a Expression,
        operator: ComparisonOperator,
        quantifier: Quantifier,
        query: &'a Query,
    ) -> Result<Condition> {
        self.deduce_beside_query(operand, operator, query)?;
        let operand = self.expression(operand)?;
        let mut subquery = self.subquery(query)?;
        let [column] = subquery.plan.columns.as_slice() else {
            let text = "Only one expression can be specified in the select list when the subquery is not introduced with EXISTS.";
            return Err(engine::error::Error::new(116, 16, 1, text));
        };
        let both_text = operand.sql_type.is_character() && column.sql_type.is_character();
        let target = comparison_type(operand.sql_type, column.sql_type, "equal to")?;
        let target = if both_text { column.sql_type } else { target };
        let operand = if both_text { operand } else { implicit(operand, target)? };
        let value = column.expression(0).converted(target);
        let label = label_of([&operand, &value], operator_name(operator))?.for_operation(operator_name(operator))?;
        let is_collated = !target.is_character() || column.label.collation() == label.collation();
        if column.sql_type != target || !is_collated {
            let plan = std::sync::Arc::try_unwrap(subquery.plan).map_err(|_| messages::subquery_returned_many())?;
            subquery.plan = std::sync::Arc::new(super::query::convert_first_column(plan, target, label));
        }
        let operand = operand.collated(label);
        Ok(Condition::Quantified {
            operand,
            operator,
            quantifier,
            subquery,
        })
    }

    fn like(&mut self, like: &'a Like) -> Result<Condition> {
        self.deduce_like(like)?;
        let (operand, pattern) = (self.expression(&like.operand)?, self.expression(&like.pattern)?);
        for (position, side) in [&operand, &pattern].into_iter().enumerate() {
            if matches!(
                side.sql_type,
                SqlType::SqlVariant
                    | SqlType::HierarchyId
                    | SqlType::Json
                    | SqlType::XML
                    | SqlType::Geometry
                    | SqlType::Geography
            ) {
                return Err(messages::invalid_argument_type(
                    side.sql_type.name(),
                    position + 1,
                    "like",
                ));
            }
        }
        let (operand, pattern) = (as_text(operand), as_text(pattern));
        let escape = match &like.escape {
            Some(escape) => Some(as_text(self.expression(escape)?)),
            None => None,
        };
        let label = label_of([&operand, &pattern], "like")?.for_operation("like")?;
        let (operand, pattern) = (operand.collated(label), pattern.collated(label));
        Ok(negate_if(
            like.negated,
            Condition::Like {
                operand,
                pattern,
                escape,
            },
        ))
    }
}

/// `operand IN (list)`, compared by one collation.
fn in_condition(operand: Expr, list: Vec<Expr>) -> Result<Condition> {
    let mut all = unified(std::iter::once(operand).chain(list).collect(), "equal to")?.into_iter();
    let operand = all.next().unwrap_or_else(|| Expr::constant(Value::Null, SqlType::Int));
    let list = all.collect();
    Ok(Condition::In { operand, list })
}

fn as_text(expression: Expr) -> Expr {
    if expression.sql_type.is_character() {
        return expression;
    }
    let target = SqlType::VarChar(text_units(expression.sql_type));
    expression.converted(target)
}

fn negate_if(negated: bool, condition: Condition) -> Condition {
    if negated {
        Condition::Not(Box::new(condition))
    } else {
        condition
    }
}

/// The name errors give a comparison.
fn operator_name(operator: ComparisonOperator) -> &'static str {
    match operator {
        ComparisonOperator::Equal => "equal to",
        ComparisonOperator::NotEqual => "not equal to",
        ComparisonOperator::Less => "less than",
        ComparisonOperator::LessOrEqual => "less than or equal to",
        ComparisonOperator::Greater => "greater than",
        ComparisonOperator::GreaterOrEqual => "greater than or equal to",
    }
}

/// Two expressions in the type they compare in. Strings compare as they are, whatever their lengths.
fn comparable(left: Expr, right: Expr, operator: &'static str) -> Result<(Expr, Expr)> {
    let both_text = left.sql_type.is_character() && right.sql_type.is_character();
    if both_text && !left.sql_type.is_incomparable() && !right.sql_type.is_incomparable() {
        let label = label_of([&left, &right], operator)?.for_operation(operator)?;
        return Ok((left.collated(label), right.collated(label)));
    }
    let (left_type, right_type) = match (left.is_null_constant(), right.is_null_constant()) {
        (true, false) => (right.sql_type, right.sql_type),
        (false, true) => (left.sql_type, left.sql_type),
        _ => (left.sql_type, right.sql_type),
    };
    let target = comparison_type(left_type, right_type, operator)?;
    let (left, right) = (left.converted(target), right.converted(target));
    let label = label_of([&left, &right], operator)?.for_operation(operator)?;
    Ok((left.collated(label), right.collated(label)))
}

impl Binder<'_> {
    /// `left operator right`
    ///
    /// # Errors
    /// 206, 402 for types that do not compare.
    pub(super) fn comparison(&self, operator: ComparisonOperator, left: Expr, right: Expr) -> Result<Condition> {
        let (left, right) = (self.untyped_null(left), self.untyped_null(right));
        let (left, right) = comparable(left, right, operator_name(operator))?;
        let by_null = !self.session.options().ansi_nulls && (may_be_the_null(&left) || may_be_the_null(&right));
        Ok(match operator {
            ComparisonOperator::Equal if by_null => with_null(left, right, |value| value, operator),
            ComparisonOperator::NotEqual if by_null => {
                with_null(left, right, |value| Condition::Not(Box::new(value)), operator)
            }
            _ => Condition::Compare { operator, left, right },
        })
    }
}

/// As many comparisons joined by OR are a list: no shorter one is searched.
const CHAIN_MIN: usize = 16;

/// Conditions joined by OR. Where all of them compare one column with constants and variables, they become the IN that means the same.
fn any_of(parts: Vec<Condition>) -> Condition {
    let Some(Condition::Compare { left: operand, .. }) = parts.first().filter(|_| parts.len() >= CHAIN_MIN) else {
        return Condition::Or(parts);
    };
    let is_of_list = |part: &Condition| match part {
        Condition::Compare {
            operator: ComparisonOperator::Equal,
            left,
            right,
        } => left.same_as(operand) && right.sql_type == operand.sql_type && right.is_known_by_execution(),
        _ => false,
    };
    if !is_column(operand) || !parts.iter().all(is_of_list) {
        return Condition::Or(parts);
    }
    let operand = operand.clone();
    let values = parts.into_iter().filter_map(|part| match part {
        Condition::Compare { right, .. } => Some(right),
        _ => None,
    });
    Condition::In {
        operand,
        list: values.collect(),
    }
}

/// Whether an expression is a column, as it is or converted.
fn is_column(expression: &Expr) -> bool {
    match &expression.kind {
        ExprKind::Column(_) => true,
        ExprKind::Convert { operand, .. } | ExprKind::Collate(operand) => is_column(operand),
        _ => false,
    }
}

/// Whether ANSI_NULLS OFF can bear upon a comparison with this: "only if one of the operands of the comparison is either a
/// variable that is NULL or a literal NULL" (sql-docs, "SET ANSI_NULLS").
fn may_be_the_null(expression: &Expr) -> bool {
    match &expression.kind {
        ExprKind::Variable(_) => true,
        ExprKind::Convert { operand, .. } => may_be_the_null(operand),
        _ => is_written_null(expression),
    }
}

/// A comparison under ANSI_NULLS OFF: where the variable or literal is NULL, `=` asks whether the other side is NULL, too, and
/// `<>` whether it is not; elsewhere NULL compares as ever.
fn with_null(
    left: Expr,
    right: Expr,
    if_null: impl Fn(Condition) -> Condition,
    operator: ComparisonOperator,
) -> Condition {
    if may_be_the_null(&left) && may_be_the_null(&right) {
        return if_null(Condition::Not(Box::new(Condition::IsDistinct(left, right))));
    }
    let (null, other) = if may_be_the_null(&left) {
        (left.clone(), right.clone())
    } else {
        (right.clone(), left.clone())
    };
    let is_null = Condition::IsNull(null);
    let is_not_null = Condition::Not(Box::new(is_null.clone()));
    Condition::Or(vec![
        Condition::And(vec![is_null, if_null(Condition::IsNull(other))]),
        Condition::And(vec![is_not_null, Condition::Compare { operator, left, right }]),
    ])
}
