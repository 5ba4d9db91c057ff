//! Putting the units of FROM together: conditions go as far down as they can, equal pairs make hash joins.
//!
//! Units are joined in the order they are written; what is smaller is not known here.

use super::access;
use crate::ast::ComparisonOperator;
use crate::plan::{Condition, Expr, FromNode, JoinKind, Node, OuterJoin};

/// The columns a condition reads.
fn columns_of(condition: &Condition, width: usize) -> Vec<bool> {
    let mut used = vec![false; width];
    condition.mark_columns(&mut used);
    used
}

/// Whether all columns that are used lie in a range.
fn within(used: &[bool], (start, end): (usize, usize)) -> bool {
    used.iter()
        .enumerate()
        .all(|(index, &used)| !used || (start..end).contains(&index))
}

/// Takes those conditions out of the pool that a test accepts.
fn take(pool: &mut Vec<Condition>, test: impl Fn(&Condition) -> bool) -> Vec<Condition> {
    let (taken, left) = std::mem::take(pool).into_iter().partition(test);
    *pool = left;
    taken
}

fn filtered(node: Node, conditions: Vec<Condition>) -> Node {
    if conditions.is_empty() {
        return node;
    }
    Node::Filter {
        input: Box::new(node),
        condition: Condition::all(conditions),
    }
}

/// Joins all units under all conditions.
pub(super) fn combine(from: FromNode) -> Node {
    let FromNode {
        units,
        conjuncts: mut pool,
        width,
    } = from;
    // Conditions without columns are tested once, before anything is read.
    let once = take(&mut pool, |condition| !columns_of(condition, width).contains(&true));
    let mut joined: Option<(Node, (usize, usize))> = None;
    for unit in units {
        let own = take(&mut pool, |condition| within(&columns_of(condition, width), unit.range));
        let (node, own) = access::choose(unit.node, own);
        let node = filtered(node, own);
        joined = Some(match joined {
            None => (node, unit.range),
            Some((left, left_range)) => {
                let range = (left_range.0.min(unit.range.0), left_range.1.max(unit.range.1));
                let conditions = take(&mut pool, |condition| within(&columns_of(condition, width), range));
                let right_range = (unit.range.0, unit.range.1 - unit.range.0);
                let node = if unit.lateral {
                    looped(left, node, right_range, JoinKind::Inner, conditions)
                } else {
                    inner(left, node, left_range, unit.range, conditions, width)
                };
                (node, range)
            }
        });
    }
    let node = joined.map_or(Node::Single, |(node, _)| filtered(node, pool));
    if once.is_empty() {
        return node;
    }
    let gate = filtered(Node::Single, once);
    looped(gate, node, (0, 0), JoinKind::Inner, Vec::new())
}

fn looped(left: Node, right: Node, right_range: (usize, usize), kind: JoinKind, conditions: Vec<Condition>) -> Node {
    Node::Loop {
        left: Box::new(left),
        right: Box::new(right),
        right_range,
        kind,
        condition: Condition::all(conditions),
    }
}

fn inner(
    left: Node,
    right: Node,
    left_range: (usize, usize),
    right_range: (usize, usize),
    conditions: Vec<Condition>,
    width: usize,
) -> Node {
    let (keys, residual) = split_keys(conditions, left_range, right_range, width);
    Node::Hash {
        left: Box::new(left),
        right: Box::new(right),
        left_range: (left_range.0, left_range.1 - left_range.0),
        right_range: (right_range.0, right_range.1 - right_range.0),
        kind: JoinKind::Inner,
        keys,
        residual: Condition::all(residual),
    }
}

/// An outer join under its ON condition. All of it belongs to the join; none may filter the preserved side.
pub(super) fn outer(join: OuterJoin) -> Node {
    let OuterJoin {
        left,
        right,
        left_range,
        right_range,
        kind,
        conjuncts,
        lateral,
        width,
    } = join;
    if lateral {
        let right_range = (right_range.0, right_range.1 - right_range.0);
        return looped(left, right, right_range, kind, conjuncts);
    }
    let (keys, residual) = split_keys(conjuncts, left_range, right_range, width);
    Node::Hash {
        left: Box::new(left),
        right: Box::new(right),
        left_range: (left_range.0, left_range.1 - left_range.0),
        right_range: (right_range.0, right_range.1 - right_range.0),
        kind,
        keys,
        residual: Condition::all(residual),
    }
}

/// Equal pairs, left expression first, and what is left.
fn split_keys(
    conditions: Vec<Condition>,
    left_range: (usize, usize),
    right_range: (usize, usize),
    width: usize,
) -> (Vec<(Expr, Expr)>, Vec<Condition>) {
    let (mut keys, mut residual) = (Vec::new(), Vec::new());
    for condition in conditions {
        match condition {
            Condition::Compare {
                operator: ComparisonOperator::Equal,
                left,
                right,
            } => {
                let used = |expression: &Expr| {
                    let mut used = vec![false; width];
                    expression.mark_columns(&mut used);
                    used
                };
                let (left_used, right_used) = (used(&left), used(&right));
                let both = left_used.contains(&true) && right_used.contains(&true);
                if both && within(&left_used, left_range) && within(&right_used, right_range) {
                    keys.push((left, right));
                } else if both && within(&left_used, right_range) && within(&right_used, left_range) {
                    keys.push((right, left));
                } else {
                    residual.push(Condition::Compare {
                        operator: ComparisonOperator::Equal,
                        left,
                        right,
                    });
                }
            }
            other => residual.push(other),
        }
    }
    (keys, residual)
}
