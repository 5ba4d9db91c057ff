//! Conditions.

use engine::error::Result;
use engine::types::{Length, SqlType, Value};

use super::Binder;
use super::case::meeting_type;
use super::implicit;
use crate::ast::{Between, ComparisonOperator, Expression, ExpressionKind, Like, Query};
use crate::messages;
use crate::plan::{Condition, Expr, Quantifier, label_of, unified};
use crate::scalar::arithmetic::comparison_type;
use crate::scalar::data_type::text_units;

impl<'a> Binder<'a> {
    /// Binds a condition.
    pub(super) fn condition(&mut self, condition: &'a Expression) -> Result<Condition> {
        self.line = condition.line;
        // It is moved from list to list on its way down to the sources: up to three hold it at once.
        self.deeper(3 * size_of::<Condition>())?;
        match &condition.kind {
            ExpressionKind::And(parts) => Ok(Condition::And(self.conditions(parts)?)),
            ExpressionKind::Or(parts) => Ok(Condition::Or(self.conditions(parts)?)),
            ExpressionKind::Not(inner) => Ok(Condition::Not(Box::new(self.condition(inner)?))),
            ExpressionKind::Comparison { left, operator, right } => {
                let left = self.expression(left)?;
                let right = self.expression(right)?;
                self.line = condition.line;
                comparison(*operator, left, right)
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
                let found = self.in_list(operand, list)?;
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
                let found = Condition::IsNull(self.expression(operand)?);
                Ok(negate_if(*negated, found))
            }
            ExpressionKind::IsDistinct { left, right, negated } => {
                let (left, right) = (self.expression(left)?, self.expression(right)?);
                let (left, right) = comparable(left, right, "is distinct from")?;
                Ok(negate_if(*negated, Condition::IsDistinct(left, right)))
            }
            ExpressionKind::Exists(query) => Ok(Condition::Exists(self.subquery(query)?)),
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
        let operand = self.expression(&between.operand)?;
        let low = self.expression(&between.low)?;
        let high = self.expression(&between.high)?;
        let above = comparison(ComparisonOperator::GreaterOrEqual, operand.clone(), low)?;
        let below = comparison(ComparisonOperator::LessOrEqual, operand, high)?;
        Ok(negate_if(between.negated, Condition::And(vec![above, below])))
    }

    fn in_list(&mut self, operand: &'a Expression, list: &'a [Expression]) -> Result<Condition> {
        let operand = self.expression(operand)?;
        let list = self.expressions(list)?;
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
        let operand = as_text(self.expression(&like.operand)?);
        let pattern = as_text(self.expression(&like.pattern)?);
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
    let target = SqlType::VarChar(match text_units(expression.sql_type) {
        Length::Max => Length::Max,
        limited => limited,
    });
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
    if left.sql_type.is_character() && right.sql_type.is_character() {
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

/// `left operator right`
pub(super) fn comparison(operator: ComparisonOperator, left: Expr, right: Expr) -> Result<Condition> {
    let (left, right) = comparable(left, right, operator_name(operator))?;
    Ok(Condition::Compare { operator, left, right })
}
