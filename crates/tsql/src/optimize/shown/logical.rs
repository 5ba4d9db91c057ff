//! Logical FROM and outer joins, which are shown only under the trace flags for the stages of a plan.

use super::ShownOperator;
use super::expression::condition;
use super::names::Names;
use super::operator::{Around, Shown, above, alone, operator};
use crate::optimize::estimate::ByNode;
use crate::plan::{Condition, FromNode, JoinKind, Node, OuterJoin};

/// A FROM by itself.
pub(in crate::optimize) fn show_from(from: &FromNode) -> ShownOperator {
    joined_units(from, &alone(&ByNode::default())).0
}

/// What some conditions leave of something.
pub(in crate::optimize) fn show_where(node: &Node, conditions: &[Condition]) -> ShownOperator {
    let (shown, names) = operator(node, &alone(&ByNode::default()));
    match conditions.is_empty() {
        true => shown,
        false => conditioned("Select", conditions, vec![shown], &names),
    }
}

/// A join that there is no operator for yet.
pub(in crate::optimize) fn show_join(left: &Node, right: &Node, kind: JoinKind, on: &[Condition]) -> ShownOperator {
    join((left, right), kind, on, &alone(&ByNode::default())).0
}

/// The units of a FROM, put together.
pub(super) fn joined_units(from: &FromNode, around: &Around<'_>) -> Shown {
    let mut names = Names::default();
    let mut inputs = Vec::with_capacity(from.units.len());
    for unit in &from.units {
        let (shown, own) = source(&unit.node, &around.right_of(&names));
        names.extend(own);
        inputs.push(shown);
    }
    let name = match (inputs.len(), from.conjuncts.is_empty()) {
        (1, true) => return (inputs.swap_remove(0), names),
        (1, false) => "Select",
        (2, _) => "Join",
        _ => "NAry Join",
    };
    (conditioned(name, &from.conjuncts, inputs, &names), names)
}

pub(super) fn outer_join(outer: &OuterJoin, around: &Around<'_>) -> Shown {
    join((&outer.left, &outer.right), outer.kind, &outer.conjuncts, around)
}

fn join((left, right): (&Node, &Node), kind: JoinKind, on: &[Condition], around: &Around<'_>) -> Shown {
    let (left, mut names) = source(left, around);
    let (right, own) = source(right, &around.right_of(&names));
    names.extend(own);
    let name = match kind {
        JoinKind::Left => "Left Outer Join",
        JoinKind::Full => "Full Outer Join",
        JoinKind::Semi => "Left Semi Join",
        JoinKind::Anti => "Left Anti Semi Join",
        _ => "Join",
    };
    (conditioned(name, on, vec![left, right], &names), names)
}

/// A source. A query in FROM is seen as one, whatever its columns are computed by.
fn source(node: &Node, around: &Around<'_>) -> Shown {
    const PROJECT: &str = "Compute Scalar";
    let (shown, names) = operator(node, around);
    if matches!(node, Node::Derived(_)) && shown.logical != PROJECT {
        return (above(PROJECT, PROJECT, 0.0, vec![shown]), names);
    }
    (shown, names)
}

fn conditioned(name: &str, conjuncts: &[Condition], inputs: Vec<ShownOperator>, names: &Names) -> ShownOperator {
    let conditions: Vec<String> = conjuncts.iter().map(|one| condition(one, names)).collect();
    ShownOperator {
        argument: conditions.join(" AND "),
        ..above(name, name, 0.0, inputs)
    }
}
