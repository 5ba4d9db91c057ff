//! GROUP BY and DISTINCT: by a hash table of keys, or as a stream if the rows of a group are adjacent. DISTINCT of rows that are already
//! distinct is removed.
//!
//! ```text
//! rows arrive in an order that begins with the grouping columns      stream
//! ORDER GROUP                                                        sorted, then a stream
//! others, HASH GROUP                                                 a hash table of keys
//! ```
//! (SQL Server docs, "Query hints": HASH GROUP and ORDER GROUP are for GROUP BY and DISTINCT.) Grouping sets always use a hash table.

use engine::error::Result;

use super::estimate::Estimator;
use super::order;
use super::ordered::{self, place_of};
use crate::messages;
use crate::plan::{AggregateNode, DistinctNode, GroupMethod, Node, ProjectNode, SortKey, SortNode};
use crate::state::Rule;

/// Chooses how groups are made.
///
/// # Errors
/// 8622 for ORDER GROUP of grouping sets.
pub(super) fn aggregate(node: &mut Node, method: GroupMethod, estimator: &Estimator<'_>) -> Result<()> {
    let Node::Aggregate(AggregateNode {
        input,
        keys,
        sets,
        is_stream,
        ..
    }) = node
    else {
        return Ok(());
    };
    // One set of all keys, in parentheses, is what they are without.
    let are_sets = !matches!(sets.as_slice(), [] | [_]) || sets.iter().flatten().any(|kept| !kept);
    if are_sets && method == GroupMethod::Order {
        return Err(messages::no_plan_for_hints());
    }
    if keys.is_empty() || are_sets || method == GroupMethod::Hash {
        return Ok(());
    }
    let is_wanted = method == GroupMethod::Order || estimator.allows(Rule::StreamAggregate);
    if is_wanted && ordered::brings_together(input, keys) {
        ordered::rely_on(input);
        *is_stream = true;
    } else if method == GroupMethod::Order {
        let below = std::mem::replace(&mut **input, Node::Empty);
        **input = order::arrange(below, keys.clone(), estimator);
        *is_stream = true;
    }
    Ok(())
}

/// Leaves out a DISTINCT of rows that differ in what they show. False where they may not.
pub(super) fn leave_out_distinct(node: &mut Node) -> bool {
    let Node::Distinct(DistinctNode { input, columns, .. }) = node else {
        return false;
    };
    let Node::Project(ProjectNode {
        input: below,
        expressions,
        ..
    }) = &**input
    else {
        return false;
    };
    let shown = expressions.get(..*columns).unwrap_or_default();
    let places: Vec<usize> = shown.iter().filter_map(place_of).collect();
    let is_left_out = ordered::are_unique(below, &places);
    if is_left_out {
        let input = std::mem::replace(&mut **input, Node::Empty);
        *node = input;
    }
    is_left_out
}

/// Chooses how a DISTINCT finds rows that are the same.
pub(super) fn distinct(node: &mut Node, method: GroupMethod, estimator: &Estimator<'_>) {
    let Node::Distinct(DistinctNode {
        input,
        columns,
        width,
        is_stream,
    }) = node
    else {
        return;
    };
    let Node::Project(ProjectNode {
        input: below,
        expressions,
        ..
    }) = &mut **input
    else {
        return;
    };
    let shown = expressions.get(..*columns).unwrap_or_default();
    let is_wanted = method == GroupMethod::Order || estimator.allows(Rule::StreamAggregate);
    if method != GroupMethod::Hash && is_wanted && ordered::brings_together(below, shown) {
        ordered::rely_on(below);
        *is_stream = true;
    } else if method == GroupMethod::Order {
        let keys = (0..*columns).map(|column| SortKey {
            column,
            descending: false,
        });
        let unsorted = std::mem::replace(&mut **input, Node::Empty);
        let mut sort = Node::Sort(SortNode {
            input: Box::new(unsorted),
            width: *width,
            keys: keys.collect(),
            presorted: 0,
        });
        estimator
            .rules()
            .choosing(Rule::PartialSort, &mut sort, order::sort_by_groups);
        **input = sort;
        *is_stream = true;
    }
}
