//! Window functions over rows that arrive by partition, and in order: they need no sort, or a smaller one, and buffer one partition at a
//! time.
//!
//! ```text
//! PARTITION BY a ORDER BY b       rows by a, b                 no sort; ranks are counted as rows pass
//!                                 rows by a                    a partition at a time is sorted
//! PARTITION BY a, PARTITION BY a, c                            parts of rows that are equal in a, which both have in common
//! ```
//! PARTITION BY has no direction, and its columns may be in any sequence. If the rows have no useful order, the optimizer looks for an
//! index with the order of the first call.

use super::estimate::Estimator;
use super::order::is_found;
use super::ordered::{self, place_of};
use super::wish::{OrderColumn, Wish};
use crate::plan::{Expr, Node, WindowArrival, WindowCall, WindowNode};

/// Has window functions go by the order that rows come in.
pub(super) fn by_arrival(node: &mut Node, estimator: &Estimator<'_>) {
    let Node::Window(WindowNode {
        input, calls, arrival, ..
    }) = node
    else {
        return;
    };
    *arrival = of(input, calls);
    let is_ordered = arrival
        .as_ref()
        .is_some_and(|arrival| arrival.are_ordered.iter().any(|&is| is));
    if !is_ordered && find(input, calls, estimator) {
        *arrival = of(input, calls);
    }
    if arrival.is_some() {
        ordered::rely_on(input);
    }
}

/// What the order of rows is worth to calls, if it is worth anything.
fn of(input: &Node, calls: &[WindowCall]) -> Option<WindowArrival> {
    let (first, others) = calls.split_first()?;
    let is_common = |key: &&Expr| {
        let mut others = others.iter();
        others.all(|call| call.partition.iter().any(|other| other.same_as(key)))
    };
    let common: Vec<Expr> = first.partition.iter().filter(is_common).cloned().collect();
    let together = ordered::come_by(input, &common);
    let ordered = |call: &WindowCall| ordered::come_in_partitions(input, &call.partition, &call.order);
    let are_ordered: Vec<bool> = calls.iter().map(ordered).collect();
    let is_of_use = !together.is_empty() || are_ordered.contains(&true);
    is_of_use.then_some(WindowArrival { together, are_ordered })
}

/// Looks for an index that gives the order of the first call, at less than sorting costs.
fn find(input: &mut Node, calls: &[WindowCall], estimator: &Estimator<'_>) -> bool {
    let Some(first) = calls.first().filter(|_| is_found(input)) else {
        return false;
    };
    let variable = |key: &&Expr| !key.is_same_for_every_row();
    let together: Option<Vec<usize>> = first.partition.iter().filter(variable).map(place_of).collect();
    let columns = first
        .order
        .iter()
        .filter(|(key, _)| variable(&key))
        .map(|(key, descending)| {
            Some(OrderColumn {
                place: place_of(key)?,
                descending: *descending,
            })
        });
    let (Some(together), Some(columns)) = (together, columns.collect::<Option<Vec<_>>>()) else {
        return false;
    };
    if together.is_empty() && columns.is_empty() {
        return false;
    }
    let wish = Wish {
        together: &together,
        columns: &columns,
        goal: None,
        without_null: false,
        is_partly_welcome: !together.is_empty(),
        estimator,
    };
    wish.arrange(input, &mut Vec::new()).is_some()
}
