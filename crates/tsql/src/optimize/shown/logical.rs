//! FROM and outer joins as they are bound: only who asks to see how a plan came about meets them.

use super::ShownOperator;
use super::expression::condition;
use super::names::Names;
use super::operator::{Around, Shown, above, operator};
use crate::plan::{Condition, FromNode, JoinKind, Node, OuterJoin};

/// A logical operator with those below it.
pub(super) fn logical(node: &Node, around: &Around<'_>) -> Shown {
    match node {
        Node::From(from) => joined(from, around),
        Node::Outer(outer) => outer_join(outer, around),
        other => operator(other, around),
    }
}

fn joined(from: &FromNode, around: &Around<'_>) -> Shown {
    let mut names = Names::default();
    let mut inputs = Vec::with_capacity(from.units.len());
    for unit in &from.units {
        let (shown, own) = operator(&unit.node, &around.right_of(&names));
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

fn outer_join(outer: &OuterJoin, around: &Around<'_>) -> Shown {
    let (left, mut names) = operator(&outer.left, around);
    let (right, own) = operator(&outer.right, &around.right_of(&names));
    names.extend(own);
    let name = match outer.kind {
        JoinKind::Left => "Left Outer Join",
        JoinKind::Full => "Full Outer Join",
        JoinKind::Semi => "Left Semi Join",
        JoinKind::Anti => "Left Anti Semi Join",
        _ => "Join",
    };
    (conditioned(name, &outer.conjuncts, vec![left, right], &names), names)
}

fn conditioned(name: &str, conjuncts: &[Condition], inputs: Vec<ShownOperator>, names: &Names) -> ShownOperator {
    let conditions: Vec<String> = conjuncts.iter().map(|one| condition(one, names)).collect();
    ShownOperator {
        argument: conditions.join(" AND "),
        ..above(name, name, 0.0, inputs)
    }
}
