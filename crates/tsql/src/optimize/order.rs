//! Uses existing orders: removes unnecessary sorts, and finds first rows, minimum and maximum at the end of an index.
//!
//! ```text
//! ORDER BY b DESC      where a = 1 searched in an index (a, b): backward, no sort
//! TOP 10 ... ORDER BY  an index in that order, read until ten rows have passed the conditions
//! ORDER BY a, b        rows that arrive in the order of a: the rows of each a are sorted separately
//! MIN(a), MAX(b)       one row from the low end of an index on a, one from the high end of an index on b
//! ```
//! Rows of a search arrive in index order, rows of a table with a clustered index in the order of that index. Filters and the left input of
//! a loop preserve the order. Columns that a condition sets equal to a value do not count in an order, and neither do columns after a
//! complete unique key.

use engine::types::{SqlType, Value};

use super::estimate::Estimator;
use super::wish::{OrderColumn, Wish};
use super::{numbered, ordered, reverse};
use crate::ast::ComparisonOperator as Op;
use crate::plan::{
    AggregateFunction, AggregateNode, AppendNode, ArrangeNode, Condition, Expr, ExprKind, Node, ProjectNode, SliceNode,
    SortKey, SortNode, TopCount, TopNode,
};
use crate::state::Rule;

/// How many rows are wanted where that is not known before the statement runs.
const GOAL_UNKNOWN: f64 = 100.0;

/// Takes a sort away whose input comes in its order, or may come so at no cost.
pub(super) fn sort(node: &mut Node, estimator: &Estimator<'_>) {
    unsort(node, None, estimator);
}

/// The same for the sort below a TOP, or an OFFSET with FETCH, which wants the first rows alone.
pub(super) fn first_rows(node: &mut Node, estimator: &Estimator<'_>) {
    let wanted = |count: &Expr| {
        let count = estimator.known(count).and_then(|value| value.as_i64());
        count.map_or(GOAL_UNKNOWN, |count| count.max(0) as f64)
    };
    if let Node::Top(TopNode { input, top, .. }) = node
        && !top.percent
    {
        let goal = wanted(&top.count);
        unsort(input, Some(goal).filter(|_| estimator.has_goals), estimator);
    } else if let Node::Slice(SliceNode {
        input,
        offset,
        fetch: Some(fetch),
    }) = node
    {
        let goal = wanted(offset) + wanted(fetch);
        unsort(input, Some(goal).filter(|_| estimator.has_goals), estimator);
    }
}

/// The same for the sort of a whole statement of which so many rows are wanted soon: FAST.
pub(super) fn soon(root: &mut Node, goal: f64, estimator: &Estimator<'_>) {
    unsort(root, Some(goal), estimator);
}

fn unsort(node: &mut Node, goal: Option<f64>, estimator: &Estimator<'_>) {
    let rules = estimator.rules();
    if rules.choosing(Rule::SortFromOrder, node, unsort_ordered) == Some(true) {
        return;
    }
    let found = |node: &mut Node| unsort_found(node, goal, estimator);
    if rules.choosing(Rule::SortFromIndex, node, found) != Some(true) {
        rules.choosing(Rule::PartialSort, node, sort_by_groups);
    }
}

/// Takes a sort away whose input joins or groups give its order. False where they do not.
fn unsort_ordered(node: &mut Node) -> bool {
    let Node::Sort(SortNode { input, keys, .. }) = node else {
        return false;
    };
    if is_found(input) || !comes_in(input, keys) {
        return false;
    }
    leave_out(node);
    true
}

/// Takes a sort away whose input an index may give in its order, if that costs less. False where none does; then an index may give the order of
/// its first keys.
fn unsort_found(node: &mut Node, goal: Option<f64>, estimator: &Estimator<'_>) -> bool {
    let Node::Sort(SortNode { input, keys, .. }) = node else {
        return false;
    };
    let is_ordered = find_in_order(input, keys, goal, estimator);
    if is_ordered {
        leave_out(node);
    }
    is_ordered
}

/// Puts what is below a sort in its place.
fn leave_out(node: &mut Node) {
    if let Node::Sort(SortNode { input, .. }) = std::mem::replace(node, Node::Empty) {
        *node = *input;
    }
}

/// Whether rows come in the order of a sort, or may come so the other way round. They keep that order then.
fn comes_in(input: &mut Node, keys: &[SortKey]) -> bool {
    let is_all = |count: usize| count == keys.len();
    let is_numbered = |key: &SortKey| !key.descending && numbered::row_numbers(input).contains(&key.column);
    // No two rows have one number: what stands behind it does not count.
    let is_ordered = keys.first().is_some_and(is_numbered)
        || is_all(ordered::leading(input, keys))
        || is_all(ordered::leading(input, &turned(keys))) && reverse::reverse(input);
    if is_ordered {
        ordered::rely_on(input);
    }
    is_ordered
}

/// The keys of the reverse of an order.
fn turned(keys: &[SortKey]) -> Vec<SortKey> {
    let turned = keys.iter().map(|key| SortKey {
        descending: !key.descending,
        ..*key
    });
    turned.collect()
}

/// Has a sort put in order only what is equal in its first keys, where rows come in the order of these.
pub(super) fn sort_by_groups(node: &mut Node) {
    let Node::Sort(SortNode {
        input, keys, presorted, ..
    }) = node
    else {
        return;
    };
    // All of them: the rule that leaves out such a sort is off.
    *presorted = Some(ordered::leading(input, keys))
        .filter(|count| *count < keys.len())
        .unwrap_or(0);
    if *presorted > 0 {
        ordered::rely_on(input);
    }
}

/// Has the rows below a sort found by an index that gives its order, or that of its first keys, where that pays. Whether it gives all of it.
fn find_in_order(input: &mut Node, keys: &[SortKey], goal: Option<f64>, estimator: &Estimator<'_>) -> bool {
    let Some(columns) = columns_below(input, keys) else {
        return false;
    };
    let wish = Wish {
        together: &[],
        columns: &columns,
        goal,
        without_null: false,
        is_partly_welcome: estimator.allows(Rule::PartialSort),
        estimator,
    };
    // The columns were found in a projection.
    let Node::Project(project) = input else {
        return false;
    };
    wish.arrange(&mut project.input, &mut Vec::new()) == Some(columns.len())
}

/// Whether rows come from one table, or from searches for rows that come so: what [`Rule::SortFromIndex`] is about.
pub(super) fn is_found(node: &Node) -> bool {
    let passes = matches!(node, Node::Filter(_) | Node::Project(_) | Node::Join(_));
    matches!(node, Node::Scan(_)) || passes && node.driving().is_some_and(is_found)
}

/// The columns of the wide row that the keys of a sort are, below its projection.
fn columns_below(input: &Node, keys: &[SortKey]) -> Option<Vec<OrderColumn>> {
    let Node::Project(ProjectNode { expressions, .. }) = input else {
        return None;
    };
    let columns = keys.iter().map(|key| match expressions.get(key.column)?.kind {
        ExprKind::Column(place) => Some(OrderColumn {
            place,
            descending: key.descending,
        }),
        _ => None,
    });
    columns.collect()
}

/// Lets MIN and MAX without GROUP BY read one row each from the ends of indexes, where each of them can.
pub(super) fn extremes(node: &mut Node, estimator: &Estimator<'_>) {
    let Node::Aggregate(AggregateNode {
        input,
        input_width,
        keys,
        sets,
        aggregates,
        ..
    }) = node
    else {
        return;
    };
    let is_whole = keys.is_empty() && sets.is_empty() && !aggregates.is_empty();
    if !is_whole || input.filtered_scan().is_none() {
        return;
    }
    let mut ends: Vec<Node> = Vec::with_capacity(aggregates.len());
    for aggregate in aggregates.iter() {
        let descending = match aggregate.function {
            AggregateFunction::Minimum => false,
            AggregateFunction::Maximum => true,
            _ => return,
        };
        let Some(ExprKind::Column(place)) = aggregate.argument.as_ref().map(|argument| &argument.kind) else {
            return;
        };
        let wish = Wish {
            together: &[],
            columns: &[OrderColumn {
                place: *place,
                descending,
            }],
            goal: Some(1.0),
            without_null: true,
            is_partly_welcome: false,
            estimator,
        };
        let mut end = Node::clone(input);
        if wish.arrange(&mut end, &mut Vec::new()).is_none() {
            return;
        }
        ends.push(Node::Top(TopNode {
            input: Box::new(end),
            top: TopCount {
                count: Expr::constant(Value::BigInt(1), SqlType::BigInt),
                percent: false,
                ties: None,
            },
            width: *input_width,
        }));
    }
    // Rows from the other ends do no harm: they are rows of the input.
    **input = match ends.pop() {
        Some(only) if ends.is_empty() => only,
        last => Node::Append(AppendNode {
            inputs: ends.into_iter().chain(last).collect(),
            width: *input_width,
        }),
    };
}

/// Puts the rows of a tree of FROM into the order of expressions, NULL first: by an index where one gives it at less cost, else by a sort.
pub(super) fn arrange(mut node: Node, keys: Vec<Expr>, estimator: &Estimator<'_>) -> Node {
    let columns = keys.iter().map(|key| {
        let place = ordered::place_of(key).filter(|_| !ordered::counts_zeros(key.sql_type));
        place.map(|place| OrderColumn {
            place,
            descending: false,
        })
    });
    if let Some(columns) = columns.collect::<Option<Vec<_>>>() {
        let wish = Wish {
            together: &[],
            columns: &columns,
            goal: None,
            without_null: false,
            is_partly_welcome: false,
            estimator,
        };
        if !columns.is_empty() && node.filtered_scan().is_some() && wish.arrange(&mut node, &mut Vec::new()).is_some() {
            return node;
        }
    }
    if keys.is_empty() {
        return node;
    }
    Node::Arrange(ArrangeNode {
        input: Box::new(node),
        ranges: Vec::new(),
        keys,
    })
}

/// The column of a scan that a condition sets equal to something that no row changes.
pub(super) fn fixed_column(condition: &Condition, offset: usize) -> Option<usize> {
    let Condition::Compare {
        operator: Op::Equal,
        left,
        right,
    } = condition
    else {
        return None;
    };
    match (&left.kind, &right.kind) {
        (ExprKind::Column(place), _) if right.is_same_for_every_row() => place.checked_sub(offset),
        (_, ExprKind::Column(place)) if left.is_same_for_every_row() => place.checked_sub(offset),
        _ => None,
    }
}
