//! ROW_NUMBER over rows that are numbered as they pass, or that are returned in its order: rows arrive in the order of the number, and an
//! upper limit on it ends the reading.
//!
//! ```text
//! order by rn          no sort: TOP above gets its first rows at once
//! where rn <= 1000     the first 1,000 rows are read, and no more
//! where rn < len(@x)   likewise: the limit is computed when the reading begins
//! ```

use engine::types::{SqlType, Value};

use crate::ast::ComparisonOperator as Op;
use crate::bind::is_deterministic;
use crate::plan::{
    Condition, DerivedNode, Expr, ExprKind, FilterNode, Node, TopCount, TopNode, WindowArrival, WindowCall,
    WindowFunction, WindowNode, is_widening,
};

/// The places of row numbers, from 1, in whose order the rows of a node come.
pub(super) fn row_numbers(node: &Node) -> Vec<usize> {
    if let Node::Window(window) = node {
        return of_window(window);
    }
    if let Node::Derived(derived) = node {
        let shown = derived.plan.columns.len();
        let numbers = row_numbers(&derived.plan.root).into_iter();
        return numbers
            .filter(|place| *place < shown)
            .map(|place| derived.offset + place)
            .collect();
    }
    if let Node::Project(project) = node {
        let numbers = row_numbers(&project.input);
        let is_number =
            |expression: &Expr| matches!(expression.kind, ExprKind::Column(place) if numbers.contains(&place));
        let shown = project.expressions.iter().enumerate();
        return shown
            .filter(|(_, expression)| is_number(expression))
            .map(|(place, _)| place)
            .collect();
    }
    if let Node::Filter(FilterNode { input, .. }) | Node::Top(TopNode { input, .. }) = node {
        return row_numbers(input);
    }
    Vec::new()
}

/// The row numbers of window functions in whose order rows come: without partitions, and numbered as rows pass or in the order of the last
/// call, in which rows come out.
fn of_window(window: &WindowNode) -> Vec<usize> {
    let is_number = |(_, call): &(usize, &WindowCall)| {
        matches!(call.function, WindowFunction::RowNumber) && call.partition.iter().all(Expr::is_same_for_every_row)
    };
    let place = |(index, _): (usize, &WindowCall)| window.input_width + index;
    let calls = window.calls.iter().enumerate();
    let is_ordered = |arrival: &WindowArrival| arrival.are_ordered.iter().all(|&is| is);
    if window.arrival.as_ref().is_some_and(is_ordered) {
        let own = calls.filter(is_number).map(place);
        return row_numbers(&window.input).into_iter().chain(own).collect();
    }
    // Where the last call's order is the rows' own, another call may have them sorted.
    let is_last_ordered = |arrival: &WindowArrival| arrival.are_ordered.last() == Some(&true);
    if window.arrival.as_ref().is_some_and(is_last_ordered) {
        return Vec::new();
    }
    let Some(last) = window.calls.last() else {
        return Vec::new();
    };
    let sorted_alike = calls.rev().take_while(|(_, call)| call.has_same_order(last));
    sorted_alike.filter(is_number).map(place).collect()
}

/// Has no more rows read than a filter leaves of them by their number.
pub(super) fn end_early(node: &mut Node) {
    let Node::Filter(FilterNode { input, condition }) = node else {
        return;
    };
    let numbers = row_numbers(input);
    let bound = condition
        .conjuncts()
        .into_iter()
        .find_map(|one| bound_of(one, &numbers));
    let Some(count) = bound.filter(|_| !matches!(**input, Node::Top(_))) else {
        return;
    };
    let width = if let Node::Window(window) = &**input {
        window.input_width + window.calls.len()
    } else if let Node::Derived(DerivedNode { plan, offset, .. }) = &**input {
        offset + plan.columns.len()
    } else {
        return;
    };
    let below = std::mem::replace(&mut **input, Node::Empty);
    **input = Node::Top(TopNode {
        input: Box::new(below),
        top: TopCount {
            count,
            percent: false,
            ties: None,
        },
        width,
    });
}

/// Whether an expression has one value for as long as rows are read: no column has a part in it, and no function that answers twice in two ways.
fn is_steady(expression: &Expr) -> bool {
    let mut steady = match &expression.kind {
        ExprKind::Constant(_) | ExprKind::Variable(_) | ExprKind::Parameter(_) => true,
        ExprKind::Convert { operand, .. } => is_widening(operand.sql_type, expression.sql_type),
        ExprKind::Column(_) | ExprKind::Subquery(_) | ExprKind::Module { .. } => false,
        ExprKind::Aggregate(_) | ExprKind::Window(_) => false,
        _ => is_deterministic(expression),
    };
    expression.for_each_child(&mut |child| steady = steady && is_steady(child));
    steady
}

/// How many rows a condition leaves at most by a number of theirs.
fn bound_of(condition: &Condition, numbers: &[usize]) -> Option<Expr> {
    let Condition::Compare { operator, left, right } = condition else {
        return None;
    };
    let is_number = |side: &Expr| matches!(side.kind, ExprKind::Column(place) if numbers.contains(&place));
    let bound = match operator {
        Op::Less | Op::LessOrEqual if is_number(left) => right,
        Op::Greater | Op::GreaterOrEqual if is_number(right) => left,
        Op::Equal if is_number(left) => right,
        Op::Equal if is_number(right) => left,
        _ => return None,
    };
    // It is computed before the first row, where another condition may have kept it from being computed at all.
    let is_known = is_steady(bound) && !bound.contains_query() && !bound.can_fail_by_row();
    if bound.sql_type != SqlType::BigInt || !is_known {
        return None;
    }
    let number = |number: i64| Expr::constant(Value::BigInt(number), SqlType::BigInt);
    if let ExprKind::Constant(value) = &bound.kind {
        return Some(number(value.as_i64().unwrap_or_default().max(0)));
    }
    // TOP takes no negative number, and no NULL.
    let is_positive = Condition::Compare {
        operator: Op::Greater,
        left: bound.clone(),
        right: number(0),
    };
    let kind = ExprKind::Case {
        branches: vec![(is_positive, bound.clone())],
        otherwise: Some(Box::new(number(0))),
    };
    Some(Expr::new(kind, SqlType::BigInt))
}
