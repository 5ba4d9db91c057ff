//! Moves a subquery's FROM into the surrounding row: its positions follow those of that row, and captures become columns again.

use engine::error::{Error, Result};

use crate::plan::{Condition, DerivedNode, Expr, ExprKind, Node, Part, PartMut};

/// Where a subquery's expressions go.
pub(super) struct Moved<'c> {
    /// How far its places move.
    pub(super) by: usize,
    /// What its parameters are in the row around it.
    pub(super) captures: &'c [Expr],
}

impl Moved<'_> {
    pub(super) fn expression(&self, expression: &mut Expr) -> Result<()> {
        crate::stack::require()?;
        match &mut expression.kind {
            ExprKind::Column(place) => *place += self.by,
            ExprKind::Parameter(number) => {
                if let Some(capture) = self.captures.get(*number) {
                    *expression = capture.clone();
                }
            }
            _ => expression.change_children(&mut |child| self.expression(child))?,
        }
        Ok(())
    }

    pub(super) fn condition(&self, condition: &mut Condition) -> Result<()> {
        condition.change_expressions(&mut |expression| self.expression(expression))
    }

    /// Moves a tree of FROM for which [`is_movable`] holds.
    pub(super) fn node(&self, node: &mut Node) -> Result<()> {
        crate::stack::require()?;
        node.move_places(self.by);
        node.parts_mut(&mut |part| match part {
            PartMut::Expression(expression) => self.expression(expression),
            PartMut::Condition(condition) | PartMut::Written(condition) => self.condition(condition),
            PartMut::Node(below) => self.node(below),
            // Their rows are their own.
            PartMut::Apart(_) | PartMut::Plan(_) => Ok(()),
        })
    }
}

/// Whether a tree of FROM can be moved, uses nothing of the row around its query, and cannot fail: then it has the same rows for every
/// reader, and reading them needlessly does no harm.
pub(super) fn is_movable(node: &Node) -> Result<bool> {
    crate::stack::require()?;
    let is_known = matches!(
        node,
        Node::Single
            | Node::Empty
            | Node::Scan(_)
            | Node::Variable(_)
            | Node::View(_)
            | Node::Values(_)
            | Node::Derived(_)
            | Node::From(_)
            | Node::Outer(_)
    );
    Ok(is_known && is_fixed(node)?)
}

/// Whether what stands below a FROM is the same for every reader, and cannot fail.
fn is_fixed(node: &Node) -> Result<bool> {
    crate::stack::require()?;
    if is_other_each_time(node) {
        return Ok(false);
    }
    // A query in FROM without captures of its own sees those of the query around it.
    let has_own = matches!(node, Node::Derived(DerivedNode { captures, .. }) if !captures.is_empty());
    let is_loose = node.has_part_that::<Error>(&mut |part| {
        Ok(match part {
            Part::Expression(expression) => expression.can_fail() || uses_outside(expression),
            Part::Condition(condition) => condition.can_fail() || reads_outside(condition),
            // The join is asked about in its place: the condition holds a query, and would count as failing. Not so what it captures.
            Part::Written(condition) => reads_outside(condition),
            Part::Node(below) | Part::Apart(below) => !is_fixed(below)?,
            Part::Plan(plan) if has_own => !cannot_fail(&plan.root)?,
            Part::Plan(plan) => !is_fixed(&plan.root)?,
        })
    })?;
    Ok(!is_loose)
}

/// Whether running a query with captures of its own cannot fail.
fn cannot_fail(node: &Node) -> Result<bool> {
    crate::stack::require()?;
    if is_other_each_time(node) {
        return Ok(false);
    }
    let can_fail = node.has_part_that::<Error>(&mut |part| {
        Ok(match part {
            Part::Expression(expression) => expression.can_fail(),
            Part::Condition(condition) => condition.can_fail(),
            Part::Written(_) => false,
            Part::Node(below) | Part::Apart(below) => !cannot_fail(below)?,
            Part::Plan(plan) => !cannot_fail(&plan.root)?,
        })
    })?;
    Ok(!can_fail)
}

/// Whether rows may be others each time they are asked for: functions of the user, and rounds of a recursion.
fn is_other_each_time(node: &Node) -> bool {
    matches!(node, Node::Module(_) | Node::Recursive(_) | Node::Round(_))
}

/// Whether an expression uses what its query captured.
fn uses_outside(expression: &Expr) -> bool {
    let mut uses = matches!(expression.kind, ExprKind::Parameter(_));
    expression.for_each_child(&mut |child| uses = uses || uses_outside(child));
    uses
}

fn reads_outside(condition: &Condition) -> bool {
    let mut reads = false;
    condition.for_each_expression(&mut |expression| reads = reads || uses_outside(expression));
    reads
}
