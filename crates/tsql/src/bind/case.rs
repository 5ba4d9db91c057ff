//! CASE and the functions that are short forms of it: COALESCE, NULLIF, IIF, CHOOSE, ISNULL.

use engine::error::Result;
use engine::types::{SqlType, Value};

use super::deduce::Asked;
use super::fold::{possible_arguments, possible_branches, settled};
use super::{Binder, implicit};
use crate::ast::{Case, ComparisonOperator, Expression};
use crate::messages;
use crate::plan::{Condition, Expr, ExprKind, label_of};
use crate::scalar::data_type::common_type;

/// The type that several values meet in; NULL takes any.
pub(super) fn meeting_type<'e>(values: impl Iterator<Item = &'e Expr>) -> SqlType {
    let types = values
        .filter(|value| !value.is_null_constant())
        .map(|value| value.sql_type);
    types.reduce(common_type).unwrap_or(SqlType::Int)
}

impl<'a> Binder<'a> {
    pub(super) fn case(&mut self, case: &'a Case) -> Result<Expr> {
        let mut branches = Vec::with_capacity(case.branches.len());
        for branch in &case.branches {
            let condition = match &case.operand {
                Some(operand) => {
                    self.deduce_beside(operand, ComparisonOperator::Equal, &branch.when)?;
                    let left = self.expression(operand)?;
                    let right = self.expression(&branch.when)?;
                    settled(self.comparison(ComparisonOperator::Equal, left, right)?)
                }
                None => self.condition(&branch.when)?,
            };
            branches.push((condition, self.expression(&branch.then)?));
        }
        let otherwise = match &case.otherwise {
            Some(otherwise) => Some(self.expression(otherwise)?),
            None => None,
        };
        self.finished_case(branches, otherwise)
    }

    /// A CASE of bound branches.
    fn finished_case(&self, branches: Vec<(Condition, Expr)>, otherwise: Option<Expr>) -> Result<Expr> {
        if self.weighs() {
            let target = meeting_type(branches.iter().map(|(_, value)| value).chain(&otherwise));
            branches.iter().for_each(|(_, value)| self.weigh(value, target));
            otherwise.iter().for_each(|value| self.weigh(value, target));
        }
        finish_case(branches, otherwise)
    }

    pub(super) fn iif(&mut self, arguments: &'a [Expression]) -> Result<Expr> {
        let [condition, then, otherwise] = arguments else {
            return Err(messages::function_requires("iif", 3));
        };
        let condition = self.condition(condition)?;
        let then = self.expression(then)?;
        let otherwise = self.expression(otherwise)?;
        self.finished_case(vec![(condition, then)], Some(otherwise))
    }

    pub(super) fn choose(&mut self, arguments: &'a [Expression]) -> Result<Expr> {
        let [index, choices @ ..] = arguments else {
            return Err(messages::function_requires_range("choose", 2, 254));
        };
        let mut branches = Vec::with_capacity(choices.len());
        for (position, choice) in choices.iter().enumerate() {
            self.deduce(index, Asked::Assigned(SqlType::Int))?;
            let index = implicit(self.expression(index)?, SqlType::Int)?;
            let number = Expr::constant(Value::Int(position as i32 + 1), SqlType::Int);
            let condition = Condition::Compare {
                operator: ComparisonOperator::Equal,
                left: index,
                right: number,
            };
            branches.push((condition, self.expression(choice)?));
        }
        self.finished_case(branches, None)
    }

    pub(super) fn coalesce(&mut self, arguments: &'a [Expression]) -> Result<Expr> {
        if arguments.len() < 2 {
            return Err(messages::function_requires_range("coalesce", 2, 254));
        }
        let bound = self.expressions(arguments)?;
        if bound.iter().all(Expr::is_null_constant) {
            return Err(messages::coalesce_of_nulls());
        }
        let target = meeting_type(bound.iter());
        bound.iter().for_each(|argument| self.weigh(argument, target));
        let nullable = bound.iter().all(|argument| argument.nullable);
        let bound = bound
            .into_iter()
            .map(|argument| implicit(argument, target))
            .collect::<Result<Vec<_>>>()?;
        coalesced(bound, target, nullable)
    }

    /// ISNULL has the type of its first argument, where COALESCE takes the highest.
    pub(super) fn isnull(&mut self, arguments: &'a [Expression]) -> Result<Expr> {
        let [value, replacement] = arguments else {
            return Err(messages::function_requires("isnull", 2));
        };
        let value = self.expression(value)?;
        let replacement = self.expression(replacement)?;
        let target = if value.is_null_constant() {
            replacement.sql_type
        } else {
            value.sql_type
        };
        self.weigh(&value, target);
        self.weigh(&replacement, target);
        let nullable = value.nullable && replacement.nullable;
        let parts = vec![implicit(value, target)?, implicit(replacement, target)?];
        coalesced(parts, target, nullable)
    }

    pub(super) fn nullif(&mut self, arguments: &'a [Expression]) -> Result<Expr> {
        let [left, right] = arguments else {
            return Err(messages::function_requires("nullif", 2));
        };
        let value = self.expression(left)?;
        if value.is_null_constant() {
            return Err(messages::nullif_of_null());
        }
        let (left, right) = (self.expression(left)?, self.expression(right)?);
        let (sql_type, label) = (value.sql_type, value.label);
        let equal = self.comparison(ComparisonOperator::Equal, left, right)?;
        let branches = vec![(equal, Expr::constant(Value::Null, sql_type))];
        Ok(Expr::new(
            ExprKind::Case {
                branches,
                otherwise: Some(Box::new(value)),
            },
            sql_type,
        )
        .labelled(label))
    }
}

/// The first of these that is not NULL; all have been converted to the type.
fn coalesced(arguments: Vec<Expr>, sql_type: SqlType, nullable: bool) -> Result<Expr> {
    let label = label_of(&arguments, "CASE")?;
    let arguments = arguments.into_iter().map(|argument| argument.collated(label)).collect();
    let mut arguments = possible_arguments(arguments);
    if arguments.len() == 1 {
        return Ok(arguments.remove(0));
    }
    Ok(Expr {
        kind: ExprKind::Coalesce(arguments),
        sql_type,
        nullable,
        label,
    })
}

/// A NULL that is left over is not the word NULL, which takes any type: it has the type of what it is left of.
fn typed(settled: Expr) -> Expr {
    if !settled.is_null_constant() {
        return settled;
    }
    let (sql_type, label) = (settled.sql_type, settled.label);
    let kind = ExprKind::Convert {
        operand: Box::new(settled),
        style: None,
        or_null: false,
    };
    Expr::new(kind, sql_type).labelled(label)
}

fn finish_case(branches: Vec<(Condition, Expr)>, otherwise: Option<Expr>) -> Result<Expr> {
    let mut values = branches.iter().map(|(_, value)| value).chain(&otherwise);
    if values.all(Expr::is_null_constant) {
        return Err(messages::case_of_nulls());
    }
    let target = meeting_type(branches.iter().map(|(_, value)| value).chain(&otherwise));
    let nullable =
        otherwise.as_ref().is_none_or(|value| value.nullable) || branches.iter().any(|(_, value)| value.nullable);
    let branches = branches
        .into_iter()
        .map(|(condition, value)| Ok((condition, implicit(value, target)?)));
    let branches = branches.collect::<Result<Vec<_>>>()?;
    let otherwise = match otherwise {
        Some(otherwise) => Some(implicit(otherwise, target)?),
        None => None,
    };
    let values = branches.iter().map(|(_, value)| value).chain(otherwise.as_ref());
    let label = label_of(values, "CASE")?;
    let collated = |(condition, value): (Condition, Expr)| (condition, value.collated(label));
    let branches = branches.into_iter().map(collated).collect();
    let (branches, otherwise) = possible_branches(branches, otherwise.map(|value| value.collated(label)));
    if branches.is_empty() {
        return Ok(typed(otherwise.unwrap_or_else(|| Expr::constant(Value::Null, target))));
    }
    Ok(Expr {
        kind: ExprKind::Case {
            branches,
            otherwise: otherwise.map(Box::new),
        },
        sql_type: target,
        nullable,
        label,
    })
}
