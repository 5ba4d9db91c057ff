//! Turns a LEFT JOIN that keeps only the rows without a match into an anti join.
//!
//! ```text
//! a left join b on p(a, b) where b.key is null      a anti join b on p(a, b)      key is never NULL in a match
//! ```
//! Matching rows then need not be joined, and the first match is enough. The columns of `b` are NULL, as for any row without a match.
//!
//! Invariant: a join stays unchanged if a hint applies to it, or if ON may fail.

use engine::cancel;
use engine::error::Result;

use super::unnest::never_null;
use crate::plan::{Condition, Expr, ExprKind, FromNode, JoinKind, JoinMethods, Node, OuterJoin};

/// Makes anti joins of the outer joins of a FROM whose partners its conditions leave out.
///
/// # Errors
/// 8631 and 3617.
pub(super) fn from_outer(from: &mut FromNode) -> Result<()> {
    if from.is_forced || !from.units.iter().any(|unit| matches!(unit.node, Node::Outer(_))) {
        return Ok(());
    }
    let mut kept = Vec::with_capacity(from.conjuncts.len());
    for condition in std::mem::take(&mut from.conjuncts) {
        let mut is_made = false;
        if let Condition::IsNull(Expr {
            kind: ExprKind::Column(place),
            ..
        }) = condition
        {
            for unit in &mut from.units {
                is_made = is_made || made(&mut unit.node, place)?;
            }
        }
        if !is_made {
            kept.push(condition);
        }
    }
    from.conjuncts = kept;
    Ok(())
}

/// Makes an anti join of the one that puts NULL into a place only for rows without a partner. False if there is no such
/// join.
fn made(node: &mut Node, place: usize) -> Result<bool> {
    crate::stack::require()?;
    cancel::spend(1)?;
    let Node::Outer(outer) = node else { return Ok(false) };
    if !outer.kind.extends_left() {
        return Ok(false);
    }
    let mut is_right = false;
    outer
        .right
        .for_each_range(&mut |(first, width)| is_right = is_right || (first..first + width).contains(&place));
    if !is_right {
        return made(&mut outer.left, place);
    }
    let OuterJoin {
        right,
        kind,
        conjuncts,
        lateral,
        methods,
        ..
    } = &mut **outer;
    let is_plain = *kind == JoinKind::Left && !*lateral && *methods == JoinMethods::ANY;
    let is_made =
        is_plain && !conjuncts.iter().any(Condition::can_fail) && never_null(right, conjuncts).contains(&place);
    if is_made {
        *kind = JoinKind::Anti;
    }
    Ok(is_made)
}
