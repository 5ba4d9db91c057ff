//! Joining FROM: the join order and the join methods.
//!
//! ```text
//! relations   FROM taken apart: relations, conditions between them
//! places      the relation to which a position of the wide row belongs
//! classes     columns that equal each other through a third
//! partners    how many rows have a match in a semi join
//! cost        the cost of a subquery that runs row by row
//! order       the cheapest join tree
//! merge       the equalities of a merge join, and its sorts
//! build       the operators: conditions as low as possible, equal pairs as keys
//! ```

mod build;
mod classes;
mod cost;
mod merge;
mod order;
mod partners;
mod places;
mod relations;

use engine::error::Result;

use super::estimate::Estimator;
use super::shown::show_from;
use crate::messages;
use crate::plan::{Condition, Expr, FilterNode, FromNode, FromUnit, JoinKind, JoinMethods, JoinNode, Node, OuterJoin};
use crate::state::Rule;
use build::Builder;
pub(super) use build::rule_of;
use order::Order;
use places::Places;
pub(super) use relations::RELATIONS_MAX;
use relations::{Relations, Set};

/// Rows for which conditions hold.
fn filtered(node: Node, conditions: Vec<Condition>) -> Node {
    if conditions.is_empty() {
        return node;
    }
    Node::Filter(FilterNode {
        input: Box::new(node),
        condition: Condition::all(conditions),
    })
}

/// Joins all of a FROM.
///
/// # Errors
/// 8622 when hints leave no way to join; 3617 when the batch was cancelled.
pub(super) fn combine(mut from: FromNode, estimator: &Estimator<'_>) -> Result<Node> {
    let whole = Frame {
        width: from.width,
        is_forced: from.is_forced,
        methods: from.methods,
    };
    let mut counts = Vec::with_capacity(from.units.len());
    for unit in &mut from.units {
        counts.push(shorten(&mut unit.node, whole, estimator)?);
    }
    while counts.iter().sum::<usize>() > RELATIONS_MAX {
        first_part(&mut from, &mut counts, estimator)?;
    }
    if !estimator.allows(Rule::HashJoin) {
        from.methods = JoinMethods::UNHASHED_IF_POSSIBLE.at_join(from.methods);
    }
    let is_forced = from.is_forced || !estimator.allows(Rule::OrderJoins);
    let before = estimator.rules().before(|| show_from(&from));
    let mut all = Relations::of(from, estimator);
    let once = std::mem::take(&mut all.once);
    let order = Order::of(&all, is_forced)?;
    let steps = order.steps();
    let node = Builder::new(all, estimator, is_forced).build(&steps)?;
    let ordered_by = |_: &Node| (!order::are_as_written(&steps)).then_some(Rule::OrderJoins);
    estimator.rules().chosen(&before, &node, ordered_by);
    if once.is_empty() {
        return Ok(node);
    }
    let gate = filtered(Node::Single, once);
    let always = Condition::Constant(Some(true));
    Ok(Node::Join(Box::new(JoinNode::looped(
        JoinKind::Inner,
        gate,
        node,
        always,
    ))))
}

/// What a part of a FROM has of the whole.
#[derive(Clone, Copy)]
struct Frame {
    width: usize,
    is_forced: bool,
    methods: JoinMethods,
}

/// Joins the lower part of a unit of many relations by itself, which is one relation then: what is ordered together is at most half of what
/// can be. How many relations the unit has afterwards.
fn shorten(node: &mut Node, whole: Frame, estimator: &Estimator<'_>) -> Result<usize> {
    crate::stack::require()?;
    let (count, count_joined, joined) = if let Node::Outer(outer) = node {
        if !outer.kind.extends_left() {
            return Ok(1);
        }
        (shorten(&mut outer.left, whole, estimator)? + 1, 2, &mut outer.left)
    } else if let Node::From(from) = node {
        let mut count = 0;
        for unit in &mut from.units {
            count += shorten(&mut unit.node, whole, estimator)?;
        }
        (count, 1, node)
    } else {
        return Ok(1);
    };
    if count <= RELATIONS_MAX / 2 {
        return Ok(count);
    }
    let part = match joined.take_from() {
        Some(from) => from,
        None => FromNode {
            units: vec![FromUnit {
                node: std::mem::replace(joined, Node::Empty),
                lateral: false,
                methods: JoinMethods::ANY,
            }],
            conjuncts: Vec::new(),
            width: whole.width,
            is_forced: whole.is_forced,
            methods: whole.methods,
        },
    };
    *joined = combine(part, estimator)?;
    Ok(count_joined)
}

/// Joins as many of the first units as are ordered together; they are one unit from then on.
fn first_part(from: &mut FromNode, counts: &mut Vec<usize>, estimator: &Estimator<'_>) -> Result<()> {
    let mut relations = 0;
    let fits = |count: &&usize| {
        relations += **count;
        relations <= RELATIONS_MAX
    };
    let units_taken = counts.iter().take_while(fits).count();
    let rest = from.units.split_off(units_taken);
    counts.splice(..units_taken, [1]);
    let units = std::mem::replace(&mut from.units, rest);
    let places = Places::of(units.iter().map(|unit| &unit.node));
    let is_own = |condition: &Condition| {
        let (mut reads, mut only_own) = (false, true);
        condition.for_each_column(&mut |place| {
            reads = true;
            only_own = only_own && places.relation(place).is_some();
        });
        reads && only_own
    };
    let (conjuncts, others) = std::mem::take(&mut from.conjuncts).into_iter().partition(is_own);
    from.conjuncts = others;
    let part = FromNode {
        units,
        conjuncts,
        width: from.width,
        is_forced: from.is_forced,
        methods: from.methods,
    };
    let node = combine(part, estimator)?;
    let first = FromUnit {
        node,
        lateral: false,
        methods: JoinMethods::ANY,
    };
    from.units.insert(0, first);
    Ok(())
}

/// An outer join of both sides, which stays as it is written.
///
/// # Errors
/// 8622 when hints leave no method for it: rows of both sides without partner are found by a hash table, or by merging both sides.
pub(super) fn outer(join: OuterJoin, estimator: &Estimator<'_>) -> Result<Node> {
    let OuterJoin {
        left,
        right,
        kind,
        conjuncts,
        methods,
        ..
    } = join;
    let places = Places::of([&left, &right].into_iter());
    let (keys, residual) = split_keys(conjuncts, Set::of(0), Set::of(1), &places);
    let hashes = methods.is_wish || methods.hashes && (methods.loops || !keys.is_empty());
    let sides = merge::Sides {
        left,
        right,
        kind,
        pairs: keys,
        residual,
    };
    let is_ordered = methods.merges && estimator.allows(Rule::MergeJoin) && sides.are_ordered();
    if is_ordered || methods.sorts && methods.merges && !hashes {
        return Ok(sides.merged(true, estimator));
    }
    if !hashes {
        return Err(messages::no_plan_for_hints());
    }
    let merge::Sides {
        left,
        right,
        pairs: keys,
        residual,
        ..
    } = sides;
    Ok(build::hashed(left, right, kind, keys, residual))
}

/// Equal pairs, left expression first, and what is left.
fn split_keys(
    conditions: Vec<Condition>,
    left_set: Set,
    right_set: Set,
    places: &Places,
) -> (Vec<(Expr, Expr)>, Vec<Condition>) {
    let (mut keys, mut residual) = (Vec::new(), Vec::new());
    for condition in conditions {
        let sides = relations::sides(&condition, places);
        match (condition, sides) {
            (Condition::Compare { left, right, .. }, Some((first, second)))
                if left_set.contains(first) && right_set.contains(second) =>
            {
                keys.push((left, right));
            }
            (Condition::Compare { left, right, .. }, Some((first, second)))
                if left_set.contains(second) && right_set.contains(first) =>
            {
                keys.push((right, left));
            }
            (other, _) => residual.push(other),
        }
    }
    (keys, residual)
}
