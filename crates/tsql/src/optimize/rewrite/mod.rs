//! Rewrites FROM into an equivalent, cheaper form before any choice is made.
//!
//! ```text
//! outer           LEFT and FULL JOIN whose unmatched rows WHERE removes become inner joins; an unused join is removed
//! merge           a query in FROM that only joins, filters and computes becomes part of the surrounding FROM
//! contradiction   sources of false conditions are not read
//! drawn           conditions on one source are derived from every branch of an OR
//! infer           conditions on a column are applied to columns equal to it
//! push            conditions on a query's rows move into the query
//! ```
//! A query is rewritten from the top; a query that stays separate in FROM is rewritten when it is planned itself.
//!
//! Merging and dropping replace columns of the wide row by expressions ([`Change`]). The reader of the row (a projection, an aggregation)
//! uses these expressions, and new positions are added at the row's end, so all other positions stay the same.
//!
//! Invariant: if a rule cannot guarantee the same results, including NULLs, duplicates and errors, it leaves FROM unchanged.
//!
//! Invariant: a query in FROM is merged only if every used column has the same value wherever and however often it is computed. So a query
//! is not merged if a column has a value without a row (`0 as is_missing` on the right of LEFT JOIN), if it calls a function without
//! arguments (NEWID), or if it contains a query.

mod captured;
mod change;
mod contradiction;
mod drawn;
mod infer;
mod merge;
mod nulls;
mod outer;
mod places;
mod push;

use engine::cancel;
use engine::error::Result;

use super::applied::Rules;
use crate::plan::{AggregateNode, FromNode, Node, Part, PartMut, ProjectNode, QueryPlan, Shape, WindowNode};
use crate::state::Rule;

use change::{Change, Uses};
pub(super) use infer::{equal_columns, is_alike};

/// Rewrites a query, but for those below it in FROM and in expressions.
///
/// # Errors
/// 8631 when it is nested deeper than there is stack; 3617 when the batch was cancelled.
pub(super) fn query(plan: &mut QueryPlan, rules: Rules<'_>) -> Result<()> {
    node(&mut plan.root, None, rules).map(|_| ())
}

/// Rewrites what rows to change are found in, whose places are all kept.
///
/// # Errors
/// As for [`query`].
pub(super) fn keeping_places(node: &mut Node, rules: Rules<'_>) -> Result<()> {
    let Node::From(from) = node else { return Ok(()) };
    match from.is_forced {
        true => Ok(()),
        false => within_places(from, rules),
    }
}

/// Rewrites an operator and those below it. `above` counts the readers of its rows, if a change can reach all of them.
fn node(node: &mut Node, above: Option<Uses>, rules: Rules<'_>) -> Result<Option<Change>> {
    crate::stack::require()?;
    cancel::spend(1)?;
    if let Node::From(_) = node {
        return from(node, above, rules);
    }
    let uses = match node.shape() {
        Shape::Computed(_) => Some(Uses::default()),
        Shape::Extended(_) => above,
        Shape::Passed(_) => above.filter(|_| matches!(node, Node::Filter(_))),
        Shape::Source(_) | Shape::Joined | Shape::United => None,
    };
    match uses {
        Some(uses) => reader(node, uses, rules),
        None => {
            node.parts_mut(&mut |part| match part {
                PartMut::Node(below) | PartMut::Apart(below) => self::node(below, None, rules).map(|_| ()),
                PartMut::Plan(_) | PartMut::Expression(_) | PartMut::Condition(_) | PartMut::Written(_) => Ok(()),
            })?;
            Ok(None)
        }
    }
}

/// Rewrites an operator that can follow changes of the rows it reads.
fn reader(node: &mut Node, mut uses: Uses, rules: Rules<'_>) -> Result<Option<Change>> {
    if let Node::Window(WindowNode { input_width, .. }) = node {
        uses.truncate(*input_width);
    }
    let Ok(()) = node.parts::<std::convert::Infallible>(&mut |part| {
        match part {
            Part::Expression(expression) => uses.add_expression(expression, 1),
            Part::Condition(condition) | Part::Written(condition) => uses.add_condition(condition, 1),
            Part::Node(_) | Part::Apart(_) | Part::Plan(_) => {}
        }
        Ok(())
    });
    let mut uses = Some(uses);
    let mut change = None;
    node.parts_mut(&mut |part| {
        if let PartMut::Node(input) = part {
            change = self::node(input, uses.take(), rules)?;
        }
        Ok::<_, engine::error::Error>(())
    })?;
    let Some(change) = change else { return Ok(None) };
    node.parts_mut(&mut |part| match part {
        PartMut::Expression(expression) => change.expression(expression),
        PartMut::Condition(condition) | PartMut::Written(condition) => change.condition(condition),
        PartMut::Node(_) | PartMut::Apart(_) | PartMut::Plan(_) => Ok(()),
    })?;
    if let Node::Project(ProjectNode { input_width, .. }) | Node::Aggregate(AggregateNode { input_width, .. }) = node {
        *input_width = change.width();
        return Ok(None);
    }
    if let Node::Window(WindowNode { input_width, calls, .. }) = node {
        let before = std::mem::replace(input_width, change.width());
        return Ok(Some(change.with_places_behind(before, calls.len())));
    }
    Ok(Some(change))
}

/// Rewrites FROM.
fn from(node: &mut Node, above: Option<Uses>, rules: Rules<'_>) -> Result<Option<Change>> {
    let Node::From(from) = node else { return Ok(None) };
    if from.is_forced {
        return Ok(None);
    }
    let Some(mut above) = above else {
        return within_places(from, rules).map(|()| None);
    };
    let width = from.width;
    let mut total = Change::of_width(width);
    loop {
        simplify(from, rules)?;
        let merged = rules.rewriting(Rule::MergeQueries, &mut **from, |from| merge::queries(from, &above));
        let mut change = merged.transpose()?.flatten();
        if change.is_none() {
            let dropped = rules.rewriting(Rule::DropOuterJoins, &mut **from, outer::without_partner);
            change = dropped.transpose()?.flatten();
        }
        let Some(change) = change else { break };
        above.follow(&change);
        total.then(change)?;
    }
    within_places(from, rules)?;
    let dropped = rules.rewriting(Rule::DropOuterJoins, &mut **from, |from| {
        outer::drop_unread(from, &above)
    });
    dropped.transpose()?;
    rules.rewriting(Rule::SettleConditions, node, |node| {
        if matches!(node, Node::From(from) if contradiction::is_contradictory(from)) {
            *node = Node::Empty;
        }
    });
    // Sources may have come of which nothing is read.
    Ok(Some(total).filter(|total| total.is_any() || total.width() != width))
}

/// The rules that leave every column where it is.
fn within_places(from: &mut FromNode, rules: Rules<'_>) -> Result<()> {
    simplify(from, rules)?;
    let factored = rules.rewriting(Rule::FactorAlternatives, from, |from| {
        super::alternatives::take_out(&mut from.conjuncts)
    });
    factored.transpose()?;
    let drawn = rules.rewriting(Rule::DrawFromAlternatives, from, drawn::from_alternatives);
    drawn.transpose()?;
    if let Some(inferred) = rules.rewriting(Rule::InferEqualities, from, infer::equalities) {
        inferred?;
        simplify(from, rules)?;
    }
    let pushed = rules.rewriting(Rule::PushConditions, from, push::into_queries);
    pushed.transpose().map(|_| ())
}

fn simplify(from: &mut FromNode, rules: Rules<'_>) -> Result<()> {
    let settled = rules.rewriting(Rule::SettleConditions, from, contradiction::settle);
    settled.transpose()?;
    let inner = rules.rewriting(Rule::InnerFromOuter, from, outer::to_inner);
    inner.transpose().map(|_| ())
}
