//! Comparisons that stand in every branch of an OR are taken out of it.
//!
//! ```text
//! (p.id = l.part and x) or (p.id = l.part and y)      p.id = l.part and (x or y)
//! ```
//! The two are the same in three-valued logic, and the comparison can then be the key of a join.
//!
//! Invariant: an OR of which a part may fail stays as it is: a comparison in its branch may be what keeps that part from being tested.

use engine::cancel;
use engine::error::Result;

use crate::ast::ComparisonOperator;
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

/// Whether two conditions are one comparison of the same two expressions.
fn is_same(one: &Condition, other: &Condition) -> bool {
    let (
        Condition::Compare { operator, left, right },
        Condition::Compare {
            operator: other_operator,
            left: other_left,
            right: other_right,
        },
    ) = (one, other)
    else {
        return false;
    };
    let is_exchanged = *operator == ComparisonOperator::Equal && left.same_as(other_right) && right.same_as(other_left);
    operator == other_operator && (is_exchanged || left.same_as(other_left) && right.same_as(other_right))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use engine::types::SqlType;

    use super::*;
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

    #[test]
    fn what_one_branch_does_not_ask_for_stays() {
        let apart = Condition::Or(vec![Condition::And(vec![equal(1, 2), equal(3, 4)]), equal(5, 6)]);
        assert_eq!(taken_out(apart.clone()), format!("{:?}", vec![apart]));
    }
}
