//! A subquery's FROM in the row around it: its places move behind those of that row, and what it captured is a column again.

use engine::error::{Error, Result};

use crate::plan::{Condition, Expr, ExprKind, Node, Part};

/// Where a subquery's expressions go.
pub(super) struct Moved<'c> {
    /// How far its places move.
    pub(super) by: usize,
    /// What its parameters are in the row around it.
    pub(super) captures: &'c [Expr],
}

impl Moved<'_> {
    /// Moves an expression.
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

    /// Moves a condition.
    pub(super) fn condition(&self, condition: &mut Condition) -> Result<()> {
        condition.change_expressions(&mut |expression| self.expression(expression))
    }

    /// Moves a tree of FROM for which [`is_movable`] holds.
    pub(super) fn node(&self, node: &mut Node) -> Result<()> {
        crate::stack::require()?;
        match node {
            Node::Scan(scan) => {
                scan.offset += self.by;
                scan.locator.iter_mut().for_each(|place| *place += self.by);
            }
            Node::Variable { offset, locator, .. } => {
                *offset += self.by;
                locator.iter_mut().for_each(|place| *place += self.by);
            }
            Node::View { offset, .. }
            | Node::Module { offset, .. }
            | Node::Values { offset, .. }
            | Node::Derived { offset, .. } => *offset += self.by,
            Node::From(from) => from.width += self.by,
            _ => {}
        }
        node.change_parts(&mut |part| match part {
            Part::Expression(expression) => self.expression(expression),
            Part::Condition(condition) => self.condition(condition),
            Part::Node(below) => self.node(below),
            // Its rows are its own.
            Part::Plan(_) => Ok(()),
        })
    }
}

/// Whether a tree of FROM can be moved, uses nothing of the row around its query, and cannot fail: then it has the same rows whoever asks,
/// and it does no harm to read them though nobody does.
pub(super) fn is_movable(node: &mut Node) -> Result<bool> {
    crate::stack::require()?;
    let is_known = matches!(
        node,
        Node::Single
            | Node::Empty
            | Node::Scan(_)
            | Node::Variable { .. }
            | Node::View { .. }
            | Node::Values { .. }
            | Node::Derived { .. }
            | Node::From(_)
            | Node::Outer(_)
    );
    Ok(is_known && is_fixed(node)?)
}

/// Whether what stands below a FROM is the same whoever asks, and cannot fail.
fn is_fixed(node: &mut Node) -> Result<bool> {
    crate::stack::require()?;
    let mut is_fixed = !matches!(node, Node::Module { .. } | Node::Recursive { .. } | Node::Round { .. });
    // A query in FROM without captures of its own sees those of the query around it.
    let has_own = matches!(node, Node::Derived { captures, .. } if !captures.is_empty());
    // What a condition became is asked about instead of the condition, which holds a query and counts as failing; not so what it captures.
    let written = match node {
        Node::Outer(join) => join.written.take(),
        _ => None,
    };
    is_fixed = is_fixed && !written.as_ref().is_some_and(reads_outside);
    node.change_parts(&mut |part| {
        is_fixed = is_fixed
            && match part {
                Part::Expression(expression) => !expression.can_fail() && !uses_outside(expression),
                Part::Condition(condition) => !condition.can_fail() && !reads_outside(condition),
                Part::Node(below) => self::is_fixed(below)?,
                Part::Plan(plan) if has_own => cannot_fail(&mut plan.root.clone())?,
                Part::Plan(plan) => self::is_fixed(&mut plan.root.clone())?,
            };
        Ok::<(), Error>(())
    })?;
    if let Node::Outer(join) = node {
        join.written = written;
    }
    Ok(is_fixed)
}

/// Whether running a query with captures of its own cannot fail.
fn cannot_fail(node: &mut Node) -> Result<bool> {
    crate::stack::require()?;
    let mut cannot = !matches!(node, Node::Module { .. } | Node::Recursive { .. } | Node::Round { .. });
    if let Node::Outer(join) = node {
        join.written = None;
    }
    node.change_parts(&mut |part| {
        cannot = cannot
            && match part {
                Part::Expression(expression) => !expression.can_fail(),
                Part::Condition(condition) => !condition.can_fail(),
                Part::Node(below) => cannot_fail(below)?,
                Part::Plan(plan) => cannot_fail(&mut plan.root.clone())?,
            };
        Ok::<(), Error>(())
    })?;
    Ok(cannot)
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
