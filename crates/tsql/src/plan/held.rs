//! Which columns of a table a query hands on unread, so that a value of gigabytes takes no memory on its way to the client.
//!
//! ```text
//! SELECT id, doc, DATALENGTH(doc), SUBSTRING(doc, 1, 100) FROM t WHERE id = 5      doc is held
//! SELECT UPPER(doc) FROM t                                                         doc is read whole: UPPER asks for all of it
//! SELECT doc FROM t WHERE doc LIKE '%x%'      ... ORDER BY doc      ... a join     the same
//! ```
//! A column is held where the plan is a projection over the scan of one table, with a filter or TOP at most, and the projection shows the
//! column itself or has it as the first argument of a function that reads parts ([`READS_PARTS`]).
//!
//! Invariant: no other operator, condition or function meets a held value.

use super::{Expr, ExprKind, Node, QueryPlan};

/// Functions that take a held value as their first argument.
const READS_PARTS: [&str; 2] = ["datalength", "substring"];

/// Marks the columns of a query for a client that are handed on unread.
pub fn hold_long_columns(plan: &mut QueryPlan) {
    let mut node = &mut plan.root;
    while let Node::Top(top) = node {
        // Both keep rows until they know how many there are.
        if top.top.ties.is_some() || top.top.percent {
            return;
        }
        node = &mut top.input;
    }
    let Node::Project(project) = node else { return };
    let mut is_read = vec![false; project.input_width];
    for shown in &project.expressions {
        if !matches!(shown.kind, ExprKind::Column(_)) {
            mark_read(shown, &mut is_read);
        }
    }
    let mut input = &mut *project.input;
    while let Node::Filter(filter) = input {
        filter.condition.mark_columns(&mut is_read);
        input = &mut filter.input;
    }
    if let Node::Scan(scan) = input
        && scan.virtual_columns.is_empty()
    {
        let layout = scan.table.table.layout();
        let is_held = |column: &usize| {
            let is_read = is_read.get(scan.offset + column).copied().unwrap_or(true);
            !is_read && layout.column_type(*column).is_some_and(|own| own.is_max())
        };
        scan.held = scan.columns.iter().copied().filter(is_held).collect();
    }
}

/// Marks the columns that an expression wants whole.
fn mark_read(expression: &Expr, is_read: &mut [bool]) {
    let mark = |below: &Expr, is_read: &mut [bool]| match below.kind {
        ExprKind::Column(_) => below.mark_columns(is_read),
        _ => mark_read(below, is_read),
    };
    if let ExprKind::Function { name, arguments, .. } = &expression.kind
        && READS_PARTS.contains(name)
        && let Some((first, others)) = arguments.split_first()
        && matches!(first.kind, ExprKind::Column(_))
    {
        others.iter().for_each(|other| mark(other, is_read));
        return;
    }
    expression.for_each_child(&mut |child| mark(child, is_read));
}
