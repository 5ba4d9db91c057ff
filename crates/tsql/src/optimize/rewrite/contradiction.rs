//! Conditions with the same outcome for all rows: true ones are removed, and the sources of false ones are not read.
//!
//! ```text
//! a.x = 1 and 1 = 1            a.x = 1
//! a.x > 5 and a.x < 3          false
//! a.x = 1 and a.x = 2          false
//! a.x is null and a.x > 1      false
//! ```
//! FROM with a false condition has no rows (SQL Server's plan has a Constant Scan there).

use std::cmp::Ordering;
use std::collections::BTreeMap;

use engine::cancel;
use engine::error::Result;
use engine::types::Value;

use super::nulls;
use crate::ast::ComparisonOperator as Op;
use crate::bind::settled;
use crate::optimize::restriction::mirrored;
use crate::plan::{Condition, Expr, ExprKind, FromNode, JoinKind, Node};
use crate::scalar::compare::{compare, satisfies};

/// Settles the conditions of a FROM and of its outer joins.
///
/// # Errors
/// 8631 and 3617.
pub(super) fn settle(from: &mut FromNode) -> Result<()> {
    crate::stack::require()?;
    settle_all(&mut from.conjuncts)?;
    let mut is_empty = false;
    for unit in &mut from.units {
        is_empty |= settle_below(&mut unit.node)?;
    }
    if is_empty {
        from.conjuncts = vec![Condition::Constant(Some(false))];
    }
    Ok(())
}

/// Whether no row of FROM can be.
pub(super) fn is_contradictory(from: &FromNode) -> bool {
    let is_false = |one: &Condition| matches!(one, Condition::Constant(truth) if *truth != Some(true));
    from.conjuncts.iter().any(is_false)
}

/// True if there is no row.
fn settle_below(node: &mut Node) -> Result<bool> {
    if let Node::From(from) = node {
        return settle(from).map(|()| is_contradictory(from));
    }
    let Node::Outer(outer) = node else { return Ok(false) };
    let is_left_empty = settle_below(&mut outer.left)?;
    settle_below(&mut outer.right)?;
    settle_all(&mut outer.conjuncts)?;
    Ok(is_left_empty && outer.kind == JoinKind::Left)
}

fn settle_all(conjuncts: &mut Vec<Condition>) -> Result<()> {
    for conjunct in conjuncts.iter_mut() {
        cancel::spend(1)?;
        if may_settle(conjunct) {
            let condition = std::mem::replace(conjunct, Condition::Constant(None));
            *conjunct = folded(condition)?;
        }
    }
    if conjuncts.iter().any(|one| matches!(one, Condition::And(_))) {
        *conjuncts = std::mem::take(conjuncts)
            .into_iter()
            .flat_map(Condition::into_conjuncts)
            .collect();
    }
    conjuncts.retain(|one| !matches!(one, Condition::Constant(Some(true))));
    if are_contradictory(conjuncts) {
        *conjuncts = vec![Condition::Constant(Some(false))];
    }
    Ok(())
}

/// Whether something in a condition may be settled: all that is not a comparison of a column with something else.
fn may_settle(condition: &Condition) -> bool {
    match condition {
        Condition::Compare { left, right, .. } => is_constant(left) || is_constant(right),
        Condition::IsNull(operand) | Condition::In { operand, .. } => is_constant(operand),
        Condition::And(_) | Condition::Or(_) | Condition::Not(_) => true,
        _ => false,
    }
}

fn is_constant(expression: &Expr) -> bool {
    let mut is_constant = matches!(
        expression.kind,
        ExprKind::Constant(_) | ExprKind::Convert { .. } | ExprKind::Negate(_) | ExprKind::Arithmetic { .. }
    );
    expression.for_each_child(&mut |child| is_constant = is_constant && self::is_constant(child));
    is_constant
}

/// A condition with what is settled in it in place of what settles it.
fn folded(condition: Condition) -> Result<Condition> {
    crate::stack::require()?;
    let is =
        |condition: &Condition, truth: bool| matches!(condition, Condition::Constant(found) if *found == Some(truth));
    let parts_of = |parts: Vec<Condition>, neutral: bool| -> Result<Vec<Condition>> {
        let mut kept = Vec::with_capacity(parts.len());
        for part in parts {
            let part = folded(part)?;
            if !is(&part, neutral) {
                kept.push(part);
            }
        }
        Ok(kept)
    };
    let condition = match condition {
        Condition::And(parts) => match parts_of(parts, true)? {
            parts if parts.len() < 2 => Condition::all(parts),
            parts => Condition::And(parts),
        },
        Condition::Or(parts) => {
            let mut parts = parts_of(parts, false)?;
            match parts.len() {
                0 => Condition::Constant(Some(false)),
                1 => parts.remove(0),
                _ => Condition::Or(parts),
            }
        }
        Condition::Not(inner) => Condition::Not(Box::new(folded(*inner)?)),
        other => other,
    };
    Ok(settled(condition))
}

/// What conditions say about the values of one column.
#[derive(Default)]
struct Bounds<'c> {
    equal: Option<&'c Value>,
    low: Option<(&'c Value, Op)>,
    high: Option<(&'c Value, Op)>,
}

impl<'c> Bounds<'c> {
    /// Takes one more in. False if no value is left.
    fn narrow(&mut self, operator: Op, value: &'c Value) -> bool {
        let is_tighter = |known: Option<(&Value, Op)>, towards: Ordering| match known {
            None => true,
            Some((known, _)) => compare(value, known) == Some(towards),
        };
        match operator {
            Op::Equal => {
                if self
                    .equal
                    .is_some_and(|known| compare(known, value) != Some(Ordering::Equal))
                {
                    return false;
                }
                self.equal = Some(value);
            }
            Op::NotEqual => {
                return self
                    .equal
                    .is_none_or(|known| compare(known, value) != Some(Ordering::Equal));
            }
            Op::Greater | Op::GreaterOrEqual if is_tighter(self.low, Ordering::Greater) => {
                self.low = Some((value, operator))
            }
            Op::Less | Op::LessOrEqual if is_tighter(self.high, Ordering::Less) => self.high = Some((value, operator)),
            _ => {}
        }
        self.has_value()
    }

    fn has_value(&self) -> bool {
        let holds = |value: &Value, bound: Option<(&Value, Op)>| {
            bound.is_none_or(|(bound, operator)| compare(value, bound).is_none_or(|order| satisfies(operator, order)))
        };
        if let Some(value) = self.equal {
            return holds(value, self.low) && holds(value, self.high);
        }
        let (Some((low, low_operator)), Some((high, high_operator))) = (self.low, self.high) else {
            return true;
        };
        match compare(low, high) {
            Some(Ordering::Greater) => false,
            Some(Ordering::Equal) => low_operator == Op::GreaterOrEqual && high_operator == Op::LessOrEqual,
            _ => true,
        }
    }
}

/// Whether conditions on single columns exclude each other.
fn are_contradictory(conjuncts: &[Condition]) -> bool {
    if conjuncts.len() < 2 {
        return false;
    }
    let mut bounds: BTreeMap<usize, Bounds<'_>> = BTreeMap::new();
    for conjunct in conjuncts {
        if let Some((place, operator, value)) = bound_of(conjunct)
            && !bounds.entry(place).or_default().narrow(operator, value)
        {
            return true;
        }
        if let Condition::IsNull(Expr {
            kind: ExprKind::Column(place),
            ..
        }) = conjunct
            && conjuncts
                .iter()
                .any(|other| nulls::rejects(other, &|other| other == *place))
        {
            return true;
        }
    }
    false
}

/// A comparison of a column with a constant.
fn bound_of(condition: &Condition) -> Option<(usize, Op, &Value)> {
    let Condition::Compare { operator, left, right } = condition else {
        return None;
    };
    match (&left.kind, &right.kind) {
        (ExprKind::Column(place), ExprKind::Constant(value)) => Some((*place, *operator, value)),
        (ExprKind::Constant(value), ExprKind::Column(place)) => Some((*place, mirrored(*operator), value)),
        _ => None,
    }
}
