//! Unused columns are not computed: `select count(*) from (select 1/0 x) q` divides nothing, and neither does EXISTS.
//!
//! What is left out is the expression of a projection; NULL takes its place, so that the places of the others stay. In the place of an
//! aggregate rows are counted; window functions go when none of them is used. The columns of DISTINCT and of set operators other than UNION
//! ALL are all used: they decide which rows there are.

use std::sync::Arc;

use engine::types::{SqlType, Value};

use crate::plan::{AggregateCall, AggregateFunction, Expr, Node, SortKey, Subquery};

/// Leaves out what a subquery's rows hold: only whether there are any counts.
pub(super) fn leave_out_all(subquery: &mut Subquery) {
    let Some(plan) = Arc::get_mut(&mut subquery.plan) else {
        return;
    };
    let mut node = &mut plan.root;
    while let Node::Distinct { input, .. } = node {
        node = input;
    }
    leave_out(node, &vec![false; plan.width]);
}

/// Leaves out the columns of a row that are not among those `used`.
pub(super) fn leave_out(node: &mut Node, used: &[bool]) {
    let is_used = |index: usize| used.get(index).copied().unwrap_or(true);
    match node {
        Node::Derived {
            plan, offset, common, ..
        } => {
            let read = common.iter_mut().flat_map(|common| common.read.iter_mut().enumerate());
            read.for_each(|(column, read)| *read = *read && is_used(*offset + column));
            let Some(plan) = Arc::get_mut(plan) else { return };
            // Columns behind the result columns belong to the part that added them.
            let is_used = |index| index >= plan.columns.len() || is_used(*offset + index);
            let used: Vec<bool> = (0..plan.width).map(is_used).collect();
            leave_out(&mut plan.root, &used);
        }
        Node::Project {
            input,
            input_width,
            expressions,
        } => {
            for (index, expression) in expressions.iter_mut().enumerate() {
                if !is_used(index) {
                    *expression = Expr::constant(Value::Null, expression.sql_type);
                }
            }
            let mut needed = with_inside(&vec![false; *input_width], input);
            expressions.iter().for_each(|one| one.mark_columns(&mut needed));
            leave_out(input, &needed);
        }
        Node::Sort { input, keys, .. } => leave_out(input, &with_keys(used, keys)),
        Node::Top { input, top, .. } => {
            leave_out(input, &with_keys(used, top.ties.as_deref().unwrap_or_default()));
        }
        Node::Slice { input, .. } => leave_out(input, used),
        Node::Filter { input, condition } => {
            let mut needed = used.to_vec();
            condition.mark_columns(&mut needed);
            leave_out(input, &needed);
        }
        Node::Aggregate {
            input,
            input_width,
            keys,
            aggregates,
            ..
        } => {
            let calls = aggregates.iter_mut().enumerate();
            let unread = calls.filter(|(index, _)| !is_used(keys.len() + index));
            unread.for_each(|(_, call)| *call = counted());
            let mut needed = with_inside(&vec![false; *input_width], input);
            keys.iter().for_each(|key| key.mark_columns(&mut needed));
            aggregates.iter().for_each(|call| mark_call(call, &mut needed));
            leave_out(input, &needed);
        }
        Node::Window { input, input_width, .. }
            if used.len() > *input_width && !(*input_width..used.len()).any(is_used) =>
        {
            *node = std::mem::replace(&mut **input, Node::Empty);
            let needed = with_inside(used, node);
            leave_out(node, &needed);
        }
        Node::Append { inputs, .. } => inputs.iter_mut().for_each(|input| leave_out(input, used)),
        Node::From(from) => from.units.iter_mut().for_each(|unit| leave_out(&mut unit.node, used)),
        Node::Outer(join) => {
            leave_out(&mut join.left, used);
            leave_out(&mut join.right, used);
        }
        _ => {}
    }
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
