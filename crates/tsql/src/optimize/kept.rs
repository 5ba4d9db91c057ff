//! Common table expressions that are referenced several times in a statement, and whose rows are computed once.
//!
//! ```text
//! with c as (select k, sum(x) as s from t group by k)
//! select ... from c where c.s = (select max(s) from c)      t is read and grouped once, its groups are kept for both
//! ```
//! This applies to a reference whose rows are all computed before its first row is returned (groups, sorts, windows). Then buffering costs
//! little compared to computing, and readers of few rows do not wait longer. A reference into which conditions were pushed has different
//! rows and is computed separately; so is one that was merged into the surrounding FROM (`rewrite/push.rs`, `rewrite/merge.rs`).
//!
//! SQL Server computes the expression for each reference. Plans show a Table Spool at each place.
//!
//! Invariant: expressions whose value may differ each time are still computed each time: functions without arguments (NEWID), user-defined
//! functions, system views, variables that the statement itself assigns, and captures of a query.

use engine::cancel;
use engine::error::{Error, Result};

use super::Optimizer;
use super::numbered::row_numbers;
use crate::plan::{Condition, DerivedNode, Expr, ExprKind, Node, Part, QueryPlan, Subquery};
use crate::state::Rule;

impl Optimizer<'_> {
    /// Plans a reference, and enters it among those whose rows may be kept.
    pub(super) fn common_table(&mut self, node: &mut Node) -> Result<()> {
        let Node::Derived(DerivedNode { plan, captures, .. }) = node else {
            return Ok(());
        };
        captures.iter_mut().try_for_each(|capture| self.expression(capture))?;
        let rules = self.estimator.rules();
        let is_allowed = captures.is_empty() && !self.assigns_variables && rules.allow(Rule::KeepCommonTables);
        let is_fit = is_allowed && is_same_each_time(&plan.root, true)?;
        self.shared_query(plan)?;
        rules.used(Rule::KeepCommonTables, node, |node| {
            if let Node::Derived(DerivedNode { plan, common, .. }) = node {
                *common = common.take().filter(|common| {
                    is_fit && takes_all_in(&plan.root) && common.table.enter(&common.read, plan, can_fail)
                });
            }
        });
        Ok(())
    }
}

/// Whether all rows below are read before there is a first one. Not by rows that are numbered as they pass: a reader of the first of them
/// may never ask for the others.
fn takes_all_in(node: &Node) -> bool {
    if let Node::Window(window) = node
        && window.arrival.is_some()
        && !row_numbers(node).is_empty()
    {
        return takes_all_in(&window.input);
    }
    if matches!(node, Node::Aggregate(_) | Node::Sort(_) | Node::Window(_)) {
        return true;
    }
    let goes_on = matches!(node, Node::Project(_) | Node::Filter(_) | Node::Top(_) | Node::Slice(_));
    goes_on && node.driving().is_some_and(takes_all_in)
}

/// Whether a plan has the same rows whenever it is run in one statement. It may see what is captured around it, or not.
fn is_same_each_time(node: &Node, sees_captured: bool) -> Result<bool> {
    crate::stack::require()?;
    cancel::spend(1)?;
    let is_other = matches!(
        node,
        Node::Module(_) | Node::View(_) | Node::Recursive(_) | Node::Round(_)
    );
    if is_other {
        return Ok(false);
    }
    let has_own = matches!(node, Node::Derived(DerivedNode { captures, .. }) if !captures.is_empty());
    let differs = node.has_part_that::<Error>(&mut |part| {
        let is_same = match part {
            Part::Expression(expression) => is_same_value(expression, sees_captured)?,
            Part::Condition(condition) | Part::Written(condition) => is_same_truth(condition, sees_captured)?,
            Part::Node(below) | Part::Apart(below) => is_same_each_time(below, sees_captured)?,
            Part::Plan(plan) => is_same_each_time(&plan.root, sees_captured && !has_own)?,
        };
        Ok(!is_same)
    })?;
    Ok(!differs)
}

fn is_same_value(expression: &Expr, sees_captured: bool) -> Result<bool> {
    crate::stack::require()?;
    let mut is_same = match &expression.kind {
        ExprKind::Parameter(_) => !sees_captured,
        ExprKind::Function { arguments, .. } => !arguments.iter().all(Expr::is_same_for_every_row),
        ExprKind::Module { .. } => false,
        ExprKind::Case { .. } => !expression.contains_query(),
        ExprKind::Subquery(subquery) => is_same_query(subquery, sees_captured)?,
        _ => true,
    };
    let mut failed = None;
    expression.for_each_child(&mut |child| {
        if is_same {
            match is_same_value(child, sees_captured) {
                Ok(same) => is_same = same,
                Err(error) => failed = Some(error),
            }
        }
    });
    failed.map_or(Ok(is_same), Err)
}

fn is_same_truth(condition: &Condition, sees_captured: bool) -> Result<bool> {
    crate::stack::require()?;
    match condition {
        Condition::And(parts) | Condition::Or(parts) => {
            for part in parts {
                if !is_same_truth(part, sees_captured)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        Condition::Not(inner) => is_same_truth(inner, sees_captured),
        Condition::Exists(subquery) => is_same_query(subquery, sees_captured),
        Condition::Quantified { operand, subquery, .. } => {
            Ok(is_same_value(operand, sees_captured)? && is_same_query(subquery, sees_captured)?)
        }
        other => {
            let mut expressions = Vec::new();
            other.for_each_expression(&mut |expression| expressions.push(expression));
            for expression in expressions {
                if !is_same_value(expression, sees_captured)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
    }
}

/// A subquery sees what it captures itself.
fn is_same_query(subquery: &Subquery, sees_captured: bool) -> Result<bool> {
    for capture in &subquery.captures {
        if !is_same_value(capture, sees_captured)? {
            return Ok(false);
        }
    }
    is_same_each_time(&subquery.plan.root, false)
}

/// Whether running a plan may fail for one row and not for another.
fn can_fail(plan: &QueryPlan) -> bool {
    fn can_node_fail(node: &Node) -> Result<bool> {
        crate::stack::require()?;
        node.has_part_that::<Error>(&mut |part| {
            Ok(match part {
                Part::Expression(expression) => expression.can_fail_by_row(),
                Part::Condition(condition) | Part::Written(condition) => condition.can_fail_by_row(),
                Part::Node(below) | Part::Apart(below) => can_node_fail(below)?,
                Part::Plan(plan) => can_node_fail(&plan.root)?,
            })
        })
    }
    can_node_fail(&plan.root).unwrap_or(true)
}
