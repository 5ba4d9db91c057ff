//! Passes a query's captures on to queries in its own FROM when it is merged, because those could use them inside it.

use engine::error::Result;

use crate::plan::{Condition, DerivedNode, Expr, ExprKind, FromNode, Node, Part};

/// Whether what the sources of a FROM read of what is captured around it can be given to them: they are units of it themselves, which may
/// use what is before them. Both sides of an outer join are put together by themselves.
pub(super) fn can_be_handed_down(from: &FromNode) -> Result<bool> {
    for unit in &from.units {
        let may_use_others = matches!(
            unit.node,
            Node::Derived(_) | Node::View(_) | Node::Module(_) | Node::Function(_)
        );
        if !may_use_others && reads(&unit.node)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a source of a FROM reads what is captured around it.
pub(super) fn is_read_by_sources(from: &FromNode) -> Result<bool> {
    for unit in &from.units {
        if reads(&unit.node)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Gives a query in FROM that reads what was captured around it captures of its own. True if it has them now.
pub(super) fn hand_down(node: &mut Node, captures: &[Expr]) -> Result<bool> {
    let is_inside = matches!(node, Node::Derived(DerivedNode { captures, .. }) if captures.is_empty());
    if captures.is_empty() || !is_inside || !reads(node)? {
        return Ok(false);
    }
    if let Node::Derived(DerivedNode { captures: own, .. }) = node {
        *own = captures.to_vec();
    }
    Ok(true)
}

/// Whether anything in an operator or below reads what is captured around it.
fn reads(node: &Node) -> Result<bool> {
    crate::stack::require()?;
    let has_own = matches!(node, Node::Derived(DerivedNode { captures, .. }) if !captures.is_empty());
    node.has_part_that(&mut |part| {
        Ok(match part {
            Part::Expression(expression) => of_expression(expression),
            Part::Condition(condition) | Part::Written(condition) => reads_captured(condition),
            Part::Node(below) | Part::Apart(below) => reads(below)?,
            Part::Plan(plan) => !has_own && reads(&plan.root)?,
        })
    })
}

fn of_expression(expression: &Expr) -> bool {
    let mut found = matches!(expression.kind, ExprKind::Parameter(_));
    expression.for_each_child(&mut |child| found = found || of_expression(child));
    found
}

/// Whether a condition reads what is captured around it.
pub(super) fn reads_captured(condition: &Condition) -> bool {
    let mut found = false;
    condition.for_each_expression(&mut |expression| found = found || of_expression(expression));
    found
}
