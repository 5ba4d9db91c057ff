//! The columns of a table that a query passes on unread, so that a value of gigabytes takes no memory on its way to the client.
//!
//! ```text
//! SELECT id, doc, DATALENGTH(doc), SUBSTRING(doc, 1, 100) FROM t WHERE id = 5      doc is held
//! SELECT UPPER(doc) FROM t                                                         doc is read whole: UPPER needs all of it
//! SELECT doc FROM t WHERE doc LIKE '%x%'      CHARINDEX('x', doc) > 0              doc is held
//! SELECT doc FROM t WHERE doc = 'x'           ... ORDER BY doc      ... a join     doc is read whole
//! ```
//! A column is held if the plan is a projection over the scan of one table, with at most a filter or TOP in between, and the projection returns the
//! column itself or passes it to a function that reads parts ([`READS_PARTS`]), and the filter does so or compares it by LIKE or with NULL; below an
//! aggregation, if the filter alone looks at it. The same holds in an INSERT from a query, and in an UPDATE, whose rows pass no station except the
//! write, into a table without filtered indexes on long columns ([`super::Target::compares_long_values`]). A variable of a call is held wherever it
//! is assigned to a column unchanged; where it is needed whole, it is read once and is in memory from then on.
//!
//! Invariant: no other operator, condition or function gets a held value. LIKE reads one in parts for `%x%`, else whole.

use super::{AggregateNode, Condition, Expr, ExprKind, Node, QueryPlan};

/// Functions that take held values, and as which of their arguments: `write` is `.WRITE` of UPDATE, whose arguments are the new part, the offset,
/// the length, and behind the name of the column its value; `updatetext` is UPDATETEXT, likewise.
const READS_PARTS: [(&str, &[usize]); 10] = [
    ("charindex", &[1]),
    ("datalength", &[0]),
    ("hashbytes", &[1]),
    ("len", &[0]),
    ("patindex", &[1]),
    ("readtext", &[0]),
    ("substring", &[0]),
    ("textptr", &[0]),
    ("updatetext", &[0, 4]),
    ("write", &[0, 4]),
];

/// The arguments of a function that may be held.
pub fn arguments_in_parts(name: &str) -> &'static [usize] {
    let found = READS_PARTS.iter().find(|(own, _)| *own == name);
    found.map_or(&[], |(_, places)| places)
}

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
    if let Node::Aggregate(aggregate) = node {
        return hold_columns_of_filter(aggregate);
    }
    let Node::Project(project) = node else { return };
    if let Node::Aggregate(aggregate) = &mut *project.input {
        return hold_columns_of_filter(aggregate);
    }
    let mut is_read = vec![false; project.input_width];
    for shown in &project.expressions {
        if !matches!(shown.kind, ExprKind::Column(_)) {
            mark_read(shown, &mut is_read);
        }
    }
    hold_unread(&mut project.input, &mut is_read);
}

/// Marks the columns of a table's rows that an UPDATE hands on unread: as they are to where they stay, or into the columns that it sets.
pub fn hold_long_columns_of_update(node: &mut Node, width: usize, values: &[(usize, Expr)]) {
    let mut is_read = vec![false; width];
    for (_, value) in values {
        mark_unless_held(value, &mut is_read);
    }
    hold_unread(node, &mut is_read);
}

/// Marks the columns that only the filter below an aggregation looks at: `SELECT COUNT(*) FROM t WHERE doc LIKE '%x%'`.
fn hold_columns_of_filter(aggregate: &mut AggregateNode) {
    let mut is_read = vec![false; aggregate.input_width];
    aggregate.keys.iter().for_each(|key| key.mark_columns(&mut is_read));
    for call in &aggregate.aggregates {
        let order = call.order.iter().map(|(key, _)| key);
        let read = call.argument.iter().chain(&call.separator).chain(order);
        read.for_each(|expression| expression.mark_columns(&mut is_read));
    }
    hold_unread(&mut aggregate.input, &mut is_read);
}

/// Has the scan below filters hold the long columns that nothing reads.
fn hold_unread(mut input: &mut Node, is_read: &mut [bool]) {
    while let Node::Filter(filter) = input {
        mark_read_by(&filter.condition, is_read);
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

/// Marks the columns that a value to be written wants whole: not those that it is, or is put together from.
fn mark_unless_held(value: &Expr, is_read: &mut [bool]) {
    match &value.kind {
        ExprKind::Column(_) => {}
        ExprKind::Arithmetic { left, right, .. } if value.is_long_string() => {
            mark_unless_held(left, is_read);
            mark_unless_held(right, is_read);
        }
        _ => mark_read(value, is_read),
    }
}

/// Marks the columns that a condition wants whole: not one that is compared by LIKE or with NULL, or read in parts by a function.
fn mark_read_by(condition: &Condition, is_read: &mut [bool]) {
    let mark = |expression: &Expr, is_read: &mut [bool]| match expression.kind {
        ExprKind::Column(_) => expression.mark_columns(is_read),
        _ => mark_read(expression, is_read),
    };
    let in_parts = |expression: &Expr, is_read: &mut [bool]| match expression.kind {
        ExprKind::Column(_) => {}
        _ => mark_read(expression, is_read),
    };
    match condition {
        Condition::Constant(_) => {}
        Condition::And(parts) | Condition::Or(parts) => parts.iter().for_each(|part| mark_read_by(part, is_read)),
        Condition::Not(inner) => mark_read_by(inner, is_read),
        Condition::Compare { left, right, .. } | Condition::IsDistinct(left, right) => {
            mark(left, is_read);
            mark(right, is_read);
        }
        Condition::Like {
            operand,
            pattern,
            escape,
        } => {
            in_parts(operand, is_read);
            mark(pattern, is_read);
            escape.iter().for_each(|escape| mark(escape, is_read));
        }
        Condition::IsNull(operand) => in_parts(operand, is_read),
        Condition::In { .. } | Condition::Exists(_) | Condition::Quantified { .. } => condition.mark_columns(is_read),
    }
}

/// Marks the columns that an expression wants whole.
fn mark_read(expression: &Expr, is_read: &mut [bool]) {
    let mark = |below: &Expr, is_read: &mut [bool]| match below.kind {
        ExprKind::Column(_) => below.mark_columns(is_read),
        _ => mark_read(below, is_read),
    };
    if let ExprKind::Function { name, arguments, .. } = &expression.kind {
        let in_parts = arguments_in_parts(name);
        for (place, argument) in arguments.iter().enumerate() {
            if !(in_parts.contains(&place) && matches!(argument.kind, ExprKind::Column(_))) {
                mark(argument, is_read);
            }
        }
        return;
    }
    expression.for_each_child(&mut |child| mark(child, is_read));
}
