//! What is asked for, said in a way that can be done with less work: FROM is rewritten before anything is chosen.
//!
//! ```text
//! outer           LEFT and FULL JOIN whose rows without partner WHERE leaves out are inner joins; a join that nothing is read of goes
//! merge           a query in FROM that only joins, filters and computes becomes part of the FROM around it
//! contradiction   what cannot be true is not read
//! drawn           what every branch of an OR says of one source is said beside it
//! infer           what is said of a column is said of those that equal it
//! push            what must hold of a query's rows is asked inside of it
//! ```
//! A query is rewritten from its top; what stays a query of its own in FROM is rewritten when it is planned itself.
//!
//! Merging and dropping replace columns of the wide row by expressions ([`Change`]). Who reads the row (a projection, an aggregation)
//! takes them over, and the places that are added stand at the row's end; so all other places stay what they are.
//!
//! Invariant: a rule that cannot be sure of the answers, NULLs, duplicates and errors among them, leaves FROM as it is.

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

use crate::plan::{FromNode, Node, Part, QueryPlan};
use crate::state::{Rule, RulesOff};
use change::{Change, Uses};
pub(super) use infer::{equal_columns, is_alike};

/// Rewrites a query, but for those below it in FROM and in expressions.
///
/// # Errors
/// 8631 when it is nested deeper than there is stack; 3617 when the batch was cancelled.
pub(super) fn query(plan: &mut QueryPlan, rules: RulesOff) -> Result<()> {
    node(&mut plan.root, None, rules).map(|_| ())
}

/// Rewrites what rows to change are found in, whose places are all kept.
///
/// # Errors
/// As for [`query`].
pub(super) fn keeping_places(node: &mut Node, rules: RulesOff) -> Result<()> {
    match node {
        Node::From(from) if !from.is_forced => within_places(from, rules),
        _ => Ok(()),
    }
}

/// Rewrites an operator and those below it. `above` counts who reads its rows, where all of them can be told of a change.
fn node(node: &mut Node, above: Option<Uses>, rules: RulesOff) -> Result<Option<Change>> {
    crate::stack::require()?;
    cancel::spend(1)?;
    let uses = match node {
        Node::From(_) => return from(node, above, rules),
        Node::Project { .. } | Node::Aggregate { .. } => Some(Uses::default()),
        Node::Window { .. } | Node::Filter { .. } => above,
        _ => None,
    };
    match uses {
        Some(uses) => reader(node, uses, rules),
        None => {
            node.change_parts(&mut |part| match part {
                Part::Node(below) => self::node(below, None, rules).map(|_| ()),
                _ => Ok(()),
            })?;
            Ok(None)
        }
    }
}

/// Rewrites an operator that can be told of changes of the rows it reads.
fn reader(node: &mut Node, mut uses: Uses, rules: RulesOff) -> Result<Option<Change>> {
    if let Node::Window { input_width, .. } = node {
        uses.truncate(*input_width);
    }
    node.change_parts::<engine::error::Error>(&mut |part| {
        match part {
            Part::Expression(expression) => uses.add_expression(expression, 1),
            Part::Condition(condition) => uses.add_condition(condition, 1),
            _ => {}
        }
        Ok(())
    })?;
    let mut uses = Some(uses);
    let mut change = None;
    node.change_parts(&mut |part| {
        if let Part::Node(input) = part {
            change = self::node(input, uses.take(), rules)?;
        }
        Ok::<_, engine::error::Error>(())
    })?;
    let Some(change) = change else { return Ok(None) };
    node.change_parts(&mut |part| match part {
        Part::Expression(expression) => change.expression(expression),
        Part::Condition(condition) => change.condition(condition),
        _ => Ok(()),
    })?;
    match node {
        Node::Project { input_width, .. } | Node::Aggregate { input_width, .. } => {
            *input_width = change.width();
            Ok(None)
        }
        Node::Window { input_width, calls, .. } => {
            let before = std::mem::replace(input_width, change.width());
            Ok(Some(change.with_places_behind(before, calls.len())))
        }
        _ => Ok(Some(change)),
    }
}

/// Rewrites FROM.
fn from(node: &mut Node, above: Option<Uses>, rules: RulesOff) -> Result<Option<Change>> {
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
        let mut change = None;
        if rules.allow(Rule::MergeQueries) {
            change = merge::queries(from, &above)?;
        }
        if change.is_none() && rules.allow(Rule::DropOuterJoins) {
            change = outer::without_partner(from)?;
        }
        let Some(change) = change else { break };
        above.follow(&change);
        total.then(change)?;
    }
    within_places(from, rules)?;
    if rules.allow(Rule::DropOuterJoins) {
        outer::drop_unread(from, &above)?;
    }
    if rules.allow(Rule::SettleConditions) && contradiction::is_contradictory(from) {
        *node = Node::Empty;
    }
    // Sources may have come of which nothing is read.
    Ok(Some(total).filter(|total| total.is_any() || total.width() != width))
}

/// The rules that leave every column where it is.
fn within_places(from: &mut FromNode, rules: RulesOff) -> Result<()> {
    simplify(from, rules)?;
    if rules.allow(Rule::FactorAlternatives) {
        super::alternatives::take_out(&mut from.conjuncts)?;
    }
    if rules.allow(Rule::DrawFromAlternatives) {
        drawn::from_alternatives(from)?;
    }
    if rules.allow(Rule::InferEqualities) {
        infer::equalities(from)?;
        simplify(from, rules)?;
    }
    match rules.allow(Rule::PushConditions) {
        true => push::into_queries(from),
        false => Ok(()),
    }
}

fn simplify(from: &mut FromNode, rules: RulesOff) -> Result<()> {
    if rules.allow(Rule::SettleConditions) {
        contradiction::settle(from)?;
    }
    match rules.allow(Rule::InnerFromOuter) {
        true => outer::to_inner(from),
        false => Ok(()),
    }
}
