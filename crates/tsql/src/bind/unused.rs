//! Unused columns are not computed: `select count(*) from (select 1/0 x) q` divides nothing, and neither does EXISTS.
//!
//! NULL replaces the unused expression of a projection, so that the positions of the others stay. A row count replaces an unused aggregate.
//! Window functions are removed if none of them is used. The columns of DISTINCT and of set operators other than UNION ALL are all used,
//! because they determine the rows.

use std::sync::Arc;

use engine::types::{SqlType, Value};

use crate::plan::{
    AggregateCall, AggregateFunction, AggregateNode, DerivedNode, DistinctNode, Expr, FilterNode, Node, ProjectNode,
    SortKey, SortNode, Subquery, TopNode, WindowNode,
};

/// Leaves out what a subquery's rows hold: only whether there are any counts.
pub(super) fn leave_out_all(subquery: &mut Subquery) {
    let Some(plan) = Arc::get_mut(&mut subquery.plan) else {
        return;
    };
    let mut node = &mut plan.root;
    while let Node::Distinct(DistinctNode { input, .. }) = node {
        node = input;
    }
    leave_out(node, &vec![false; plan.width]);
}

/// Leaves out the columns of a row that are not among those `used`.
pub(super) fn leave_out(node: &mut Node, used: &[bool]) {
    let is_used = |index: usize| used.get(index).copied().unwrap_or(true);
    if let Node::Derived(derived) = node {
        return leave_out_of_query(derived, used);
    }
    if let Node::Project(ProjectNode {
        input,
        input_width,
        expressions,
    }) = node
    {
        for (index, expression) in expressions.iter_mut().enumerate() {
            if !is_used(index) {
                *expression = Expr::constant(Value::Null, expression.sql_type);
            }
        }
        let mut needed = with_inside(&vec![false; *input_width], input);
        expressions.iter().for_each(|one| one.mark_columns(&mut needed));
        return leave_out(input, &needed);
    }
    if let Node::Aggregate(aggregate) = node {
        return leave_out_of_groups(aggregate, used);
    }
    if let Node::Window(WindowNode { input, input_width, .. }) = node {
        if used.len() > *input_width && !(*input_width..used.len()).any(is_used) {
            *node = std::mem::replace(&mut **input, Node::Empty);
            let needed = with_inside(used, node);
            leave_out(node, &needed);
        }
        return;
    }
    if let Node::Sort(SortNode { input, keys, .. }) = node {
        return leave_out(input, &with_keys(used, keys));
    }
    if let Node::Top(TopNode { input, top, .. }) = node {
        return leave_out(input, &with_keys(used, top.ties.as_deref().unwrap_or_default()));
    }
    if let Node::Filter(FilterNode { input, condition }) = node {
        let mut needed = used.to_vec();
        condition.mark_columns(&mut needed);
        return leave_out(input, &needed);
    }
    if let Node::Append(append) = node {
        append.inputs.iter_mut().for_each(|input| leave_out(input, used));
    }
    if let Node::Slice(_) | Node::From(_) | Node::Outer(_) = node {
        node.for_each_in_row_mut(&mut |below| leave_out(below, used));
    }
}

/// The same of a query in FROM, whose columns are places of the row.
fn leave_out_of_query(derived: &mut DerivedNode, used: &[bool]) {
    let DerivedNode {
        plan, offset, common, ..
    } = derived;
    let is_used = |index: usize| used.get(index).copied().unwrap_or(true);
    let read = common.iter_mut().flat_map(|common| common.read.iter_mut().enumerate());
    read.for_each(|(column, read)| *read = *read && is_used(*offset + column));
    let Some(plan) = Arc::get_mut(plan) else { return };
    // Columns behind the result columns belong to the part that added them.
    let is_used = |index| index >= plan.columns.len() || is_used(*offset + index);
    let used: Vec<bool> = (0..plan.width).map(is_used).collect();
    leave_out(&mut plan.root, &used);
}

/// The same of groups: aggregates that nobody reads are not computed.
fn leave_out_of_groups(aggregate: &mut AggregateNode, used: &[bool]) {
    let AggregateNode {
        input,
        input_width,
        keys,
        aggregates,
        ..
    } = aggregate;
    let is_used = |index: usize| used.get(index).copied().unwrap_or(true);
    let calls = aggregates.iter_mut().enumerate();
    let unread = calls.filter(|(index, _)| !is_used(keys.len() + index));
    unread.for_each(|(_, call)| *call = counted());
    let mut needed = with_inside(&vec![false; *input_width], input);
    keys.iter().for_each(|key| key.mark_columns(&mut needed));
    aggregates.iter().for_each(|call| mark_call(call, &mut needed));
    leave_out(input, &needed);
}

/// The cheapest aggregate, in the place of one that nobody reads.
fn counted() -> AggregateCall {
    AggregateCall {
        function: AggregateFunction::CountRows,
        argument: None,
        separator: None,
        distinct: false,
        sql_type: SqlType::BigInt,
        order: Vec::new(),
    }
}

fn mark_call(call: &AggregateCall, needed: &mut [bool]) {
    let order = call.order.iter().map(|(key, _)| key);
    let read = call.argument.iter().chain(&call.separator).chain(order);
    read.for_each(|expression| expression.mark_columns(needed));
}

/// What a tree of FROM reads itself, too.
fn with_inside(used: &[bool], node: &Node) -> Vec<bool> {
    let mut used = used.to_vec();
    node.mark_columns(&mut used);
    used
}

fn with_keys(used: &[bool], keys: &[SortKey]) -> Vec<bool> {
    let mut used = used.to_vec();
    for key in keys {
        if let Some(column) = used.get_mut(key.column) {
            *column = true;
        }
    }
    used
}
