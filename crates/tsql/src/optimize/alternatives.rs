//! Factors out conditions that all branches of an OR share, and derives conditions on single sources from the branches.
//!
//! ```text
//! (p.id = l.part and x) or (p.id = l.part and y)      p.id = l.part and (x or y)
//! (p.a = 1 and l.b = 2) or (p.a = 3 and l.b = 4)      the same, and p.a = 1 or p.a = 3, and l.b = 2 or l.b = 4
//! ```
//! The first two are equivalent in three-valued logic, and the comparison can then be a join key. The condition derived for a source holds
//! wherever the OR holds, and filters rows of the source before the join. Estimates do not count redundant conditions twice
//! (`join/relations.rs`).
//!
//! Invariant: an OR with a part that may fail stays unchanged, because a comparison in its branch may prevent that part from being
//! evaluated.

use engine::cancel;
use engine::error::Result;

use crate::plan::Condition;

/// Takes what the branches of each OR have in common out of it, to stand beside it.
///
/// # Errors
/// 3617 when the batch was cancelled.
pub(super) fn take_out(conjuncts: &mut Vec<Condition>) -> Result<()> {
    let mut common = Vec::new();
    for conjunct in conjuncts.iter_mut() {
        if matches!(conjunct, Condition::Or(_)) && !conjunct.can_fail() {
            let alternatives = std::mem::replace(conjunct, Condition::Constant(Some(true)));
            *conjunct = without_common(alternatives, &mut common)?;
        }
    }
    if !common.is_empty() {
        conjuncts.retain(|conjunct| !matches!(conjunct, Condition::Constant(Some(true))));
        conjuncts.append(&mut common);
    }
    Ok(())
}

fn without_common(alternatives: Condition, common: &mut Vec<Condition>) -> Result<Condition> {
    let Condition::Or(branches) = alternatives else {
        return Ok(alternatives);
    };
    let mut branches: Vec<Vec<Condition>> = branches.into_iter().map(Condition::into_conjuncts).collect();
    let mut place = 0;
    while let Some(candidate) = branches.first().and_then(|first| first.get(place)).cloned() {
        let mut places = Vec::with_capacity(branches.len());
        for branch in &branches {
            cancel::spend(branch.len())?;
            places.extend(branch.iter().position(|other| is_same(&candidate, other)));
        }
        if places.len() < branches.len() {
            place += 1;
            continue;
        }
        for (branch, place) in branches.iter_mut().zip(places) {
            branch.remove(place);
        }
        common.push(candidate);
    }
    if branches.iter().any(Vec::is_empty) {
        return Ok(Condition::Constant(Some(true)));
    }
    Ok(Condition::Or(branches.into_iter().map(Condition::all).collect()))
}

/// Whether two conditions are the same, or one equality with its sides exchanged.
fn is_same(one: &Condition, other: &Condition) -> bool {
    let is_exchanged = match (one.equal_sides(), other.equal_sides()) {
        (Some((left, right)), Some((other_left, other_right))) => {
            left.same_as(other_right) && right.same_as(other_left)
        }
        _ => false,
    };
    is_exchanged || one.same_as(other)
}

/// Expressions in an OR of which something is drawn, at most.
const EXPRESSIONS_MAX: usize = 1_000;

/// What an OR says of some of the rows it reads, by its conditions that read these alone: of several branches each has to say something.
/// None for conditions without OR, those that say nothing of them, and those that may fail.
///
/// # Errors
/// 8631 when it is nested deeper than there is stack; 3617 when the batch was cancelled.
pub(super) fn drawn(condition: &Condition, is_own: &dyn Fn(&Condition) -> bool) -> Result<Option<Condition>> {
    if !matches!(condition, Condition::Or(_)) || condition.can_fail() {
        return Ok(None);
    }
    let mut expressions = 0;
    condition.for_each_expression(&mut |_| expressions += 1);
    cancel::spend(expressions)?;
    match expressions <= EXPRESSIONS_MAX {
        true => said(condition, is_own),
        false => Ok(None),
    }
}

fn said(condition: &Condition, is_own: &dyn Fn(&Condition) -> bool) -> Result<Option<Condition>> {
    crate::stack::require()?;
    match condition {
        Condition::And(parts) => {
            let mut own = Vec::new();
            for part in parts {
                own.extend(said(part, is_own)?);
            }
            Ok((!own.is_empty()).then(|| Condition::all(own)))
        }
        Condition::Or(branches) => {
            let mut all: Vec<Condition> = Vec::new();
            for branch in branches {
                let Some(own) = said(branch, is_own)? else {
                    return Ok(None);
                };
                cancel::spend(all.len())?;
                if !all.iter().any(|other| is_same(&own, other)) {
                    all.push(own);
                }
            }
            Ok(Some(Condition::any(all)))
        }
        other => Ok(is_own(other).then(|| other.clone())),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use engine::types::SqlType;

    use super::*;
    use crate::ast::ComparisonOperator;
    use crate::plan::Expr;

    fn equal(left: usize, right: usize) -> Condition {
        Condition::Compare {
            operator: ComparisonOperator::Equal,
            left: Expr::column(left, SqlType::Int, true),
            right: Expr::column(right, SqlType::Int, true),
        }
    }

    fn taken_out(conjunct: Condition) -> String {
        let mut conjuncts = vec![conjunct];
        take_out(&mut conjuncts).unwrap();
        format!("{conjuncts:?}")
    }

    #[test]
    fn what_all_branches_ask_for_stands_beside_the_or() {
        let both = Condition::Or(vec![
            Condition::And(vec![equal(1, 2), equal(3, 4)]),
            Condition::And(vec![equal(5, 6), equal(2, 1)]),
        ]);
        let expected = vec![Condition::Or(vec![equal(3, 4), equal(5, 6)]), equal(1, 2)];
        assert_eq!(taken_out(both), format!("{expected:?}"));
    }

    #[test]
    fn a_branch_that_asks_for_nothing_else_leaves_only_what_is_common() {
        let absorbed = Condition::Or(vec![equal(1, 2), Condition::And(vec![equal(1, 2), equal(3, 4)])]);
        assert_eq!(taken_out(absorbed), format!("{:?}", vec![equal(1, 2)]));
    }

    /// What an OR says of the places below ten.
    fn drawn_below_ten(condition: &Condition) -> Option<String> {
        let is_own = |one: &Condition| {
            let mut only = true;
            one.for_each_column(&mut |place| only = only && place < 10);
            only
        };
        drawn(condition, &is_own).unwrap().map(|one| format!("{one:?}"))
    }

    #[test]
    fn what_every_branch_says_of_a_source_is_drawn() {
        let branch = |parts: &[Condition]| Condition::And(parts.to_vec());
        let inner = Condition::Or(vec![branch(&[equal(5, 6), equal(11, 12)]), equal(7, 8)]);
        let both = Condition::Or(vec![
            branch(&[equal(1, 2), equal(3, 4), equal(10, 1)]),
            branch(&[inner, equal(13, 14)]),
            branch(&[equal(5, 6), equal(15, 16)]),
        ]);
        let expected = Condition::Or(vec![
            branch(&[equal(1, 2), equal(3, 4)]),
            Condition::Or(vec![equal(5, 6), equal(7, 8)]),
            equal(5, 6),
        ]);
        assert_eq!(drawn_below_ten(&both), Some(format!("{expected:?}")));
    }

    #[test]
    fn nothing_is_drawn_where_a_branch_says_nothing_or_a_part_may_fail() {
        let says_nothing = Condition::Or(vec![equal(1, 2), equal(11, 12)]);
        assert_eq!(drawn_below_ten(&says_nothing), None);
        assert_eq!(drawn_below_ten(&equal(1, 2)), None);
        let (one, other) = (
            Expr::column(1, SqlType::Int, true),
            Expr::column(11, SqlType::Int, true),
        );
        let quotient = crate::plan::ExprKind::Arithmetic {
            operator: crate::ast::BinaryOperator::Divide,
            left: Box::new(one.clone()),
            right: Box::new(other),
        };
        let fails = Condition::Compare {
            operator: ComparisonOperator::Equal,
            left: one,
            right: Expr::new(quotient, SqlType::Int),
        };
        let guarded = Condition::Or(vec![Condition::And(vec![equal(1, 2), fails]), equal(3, 4)]);
        assert_eq!(drawn_below_ten(&guarded), None);
    }

    #[test]
    fn what_one_branch_does_not_ask_for_stays() {
        let apart = Condition::Or(vec![Condition::And(vec![equal(1, 2), equal(3, 4)]), equal(5, 6)]);
        assert_eq!(taken_out(apart.clone()), format!("{:?}", vec![apart]));
    }
}
