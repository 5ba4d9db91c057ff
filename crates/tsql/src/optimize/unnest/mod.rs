//! Subqueries as joins: a test of a row against a subquery becomes a semi join with the subquery's FROM, or an anti
//! join.
//!
//! ```text
//! exists (select ... from i where i.k = o.k and q)     o semi join i on i.k = o.k, i where q
//! not exists (...)                                     o anti join ...
//! o.x in (select i.y from i ...), = any                o semi join i on o.x = i.y
//! o.x < any (...), not (o.x < all (...))               o semi join i on o.x < i.y, on not o.x < i.y
//! o.x not in (...), <> all, < all                      o anti join i on o.x = i.y, on not o.x < i.y; where neither side may be NULL
//! ```
//! This applies only to conjuncts of WHERE, and of ON of inner joins: a subquery below OR, in CASE or in a select list stays a subquery. An
//! uncorrelated subquery, such as an uncorrelated EXISTS, runs once, and stays a subquery as well.
//!
//! [`form`] separates a subquery's FROM from the join condition. Its positions are added after those of the surrounding FROM ([`moved`]).
//! The join keeps its original condition: if few rows need it and an index answers each of them, the subquery runs row by row
//! (`join/order.rs` compares the costs).
//!
//! Invariant: parts of the subquery that may fail are tested only for pairs that satisfy all parts that cannot fail; and a condition after
//! the subquery that may fail is tested only for the rows that the subquery accepts. A subquery with a source that may fail stays a
//! subquery. Invariant: a query that several expressions share stays a query.

mod form;
mod moved;

use std::sync::Arc;

use engine::cancel;
use engine::error::Result;

use super::estimate::Estimator;
use super::rewrite;
use super::shown::show_from;
use crate::plan::{
    AggregateNode, Condition, FromNode, FromUnit, JoinKind, JoinMethods, Node, OuterJoin, PartMut, ProjectNode,
    QueryPlan, Shape,
};
use crate::state::Rule;
use form::Around;
pub(super) use form::never_null;

/// Sources of one FROM with those of its subqueries: beyond these, subqueries stay what they are.
const SOURCES_MAX: usize = 64;

/// Makes joins of subqueries in a query, not in the queries that it reads from or that are values.
///
/// # Errors
/// 8631 when it is nested deeper than there is stack; 3617 when the batch was cancelled.
pub(super) fn query(plan: &mut QueryPlan, estimator: &Estimator<'_>) -> Result<()> {
    below(&mut plan.root, estimator)
}

/// Makes joins of subqueries in the FROM and WHERE of a statement that changes what they find, in a row of a width.
///
/// # Errors
/// As [`query`].
pub(super) fn target(node: &mut Node, width: &mut usize, estimator: &Estimator<'_>) -> Result<()> {
    if let Node::From(from) = node {
        from.width = from.width.max(*width);
        conjuncts(from, estimator)?;
        *width = from.width;
    }
    Ok(())
}

/// Goes down to the FROMs whose rows are no wider than what stands above them says.
fn below(node: &mut Node, estimator: &Estimator<'_>) -> Result<()> {
    crate::stack::require()?;
    cancel::spend(1)?;
    if let Node::Project(ProjectNode { input, input_width, .. })
    | Node::Aggregate(AggregateNode { input, input_width, .. }) = node
    {
        return match matches!(**input, Node::From(_)) {
            true => target(input, input_width, estimator),
            false => below(input, estimator),
        };
    }
    match node.shape() {
        Shape::Source(_) | Shape::Joined => Ok(()),
        Shape::Passed(_) | Shape::Extended(_) | Shape::Computed(_) | Shape::United => {
            node.parts_mut(&mut |part| match part {
                PartMut::Node(input) => below(input, estimator),
                PartMut::Apart(_) | PartMut::Plan(_) => Ok(()),
                PartMut::Expression(_) | PartMut::Condition(_) | PartMut::Written(_) => Ok(()),
            })
        }
    }
}

/// Makes joins of the conjuncts that can be some. Of the others, those that may fail stand behind the joins that they are written behind.
fn conjuncts(from: &mut FromNode, estimator: &Estimator<'_>) -> Result<()> {
    if from.is_forced || from.units.is_empty() || !from.conjuncts.iter().any(is_question) {
        return Ok(());
    }
    let mut sources: usize = from.units.iter().map(|unit| count(&unit.node)).sum();
    let written = std::mem::take(&mut from.conjuncts);
    let all = Around::of(from, &written);
    for mut condition in written {
        if let Some(plan) = question(&mut condition) {
            rewrite::query(plan, estimator.rules())?;
            query(plan, estimator)?;
            if let Some(join) = form::of(&condition, &all, from.width)? {
                let added = count(&join.right);
                let rule = if join.kind == JoinKind::Semi {
                    Rule::SemiJoin
                } else {
                    Rule::AntiJoin
                };
                if sources + added <= SOURCES_MAX && estimator.allows(rule) {
                    sources += added;
                    from.width = join.width;
                    from.conjuncts.push(condition);
                    let before = estimator.rules().before(|| show_from(from));
                    if let Some(condition) = from.conjuncts.pop() {
                        wrap(from, join, condition);
                    }
                    estimator.rules().rewritten(rule, &before, from);
                    continue;
                }
            }
        }
        from.conjuncts.push(condition);
    }
    Ok(())
}

/// Joins what a FROM has so far with the right side made of a condition. What may fail, and is written before, stays before.
fn wrap(from: &mut FromNode, join: form::Join, condition: Condition) {
    let before = std::mem::take(&mut from.conjuncts);
    let (before, anywhere) = before.into_iter().partition(Condition::can_fail_by_row);
    from.conjuncts = anywhere;
    let left = FromNode {
        units: std::mem::take(&mut from.units),
        conjuncts: before,
        width: from.width,
        is_forced: false,
        methods: from.methods,
    };
    let node = Node::Outer(Box::new(OuterJoin {
        left: Node::From(Box::new(left)),
        right: join.right,
        kind: join.kind,
        conjuncts: join.on,
        lateral: false,
        methods: from.methods,
        written: join.is_correlated.then_some(condition),
    }));
    from.units.push(FromUnit {
        node,
        lateral: false,
        methods: JoinMethods::ANY,
    });
}

/// Whether a condition asks something of a subquery.
fn is_question(condition: &Condition) -> bool {
    match condition {
        Condition::Not(inner) => is_question(inner),
        Condition::Exists(_) | Condition::Quantified { .. } => true,
        _ => false,
    }
}

/// The subquery that a condition asks, if nothing else does.
fn question(condition: &mut Condition) -> Option<&mut QueryPlan> {
    match condition {
        Condition::Not(inner) => question(inner),
        Condition::Exists(subquery) | Condition::Quantified { subquery, .. } => Arc::get_mut(&mut subquery.plan),
        _ => None,
    }
}

/// The sources of a tree of FROM.
fn count(node: &Node) -> usize {
    if !matches!(node, Node::From(_) | Node::Outer(_)) {
        return 1;
    }
    let mut sources = 0;
    node.for_each_in_row(&mut |below| sources += count(below));
    sources
}
