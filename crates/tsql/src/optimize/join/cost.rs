//! The cost of a plan that runs repeatedly: a subquery, row by row. In rows read, as joins are priced.

use crate::optimize::access;
use crate::optimize::estimate::{Estimator, Sources};
use crate::optimize::prices;
use crate::plan::{Condition, IndexSeek, JoinMethod, JoinNode, Node, ScanNode, SeekEnd, Shape, Subquery};

/// What it costs to ask a condition with a subquery for one row.
pub(super) fn of_asking(condition: &Condition, estimator: &Estimator<'_>) -> f64 {
    match condition {
        Condition::Not(inner) => of_asking(inner, estimator),
        // The first row is enough.
        Condition::Exists(Subquery { plan, .. }) => {
            let (rows, cost) = of(&plan.root, estimator);
            prices::OPENING + (cost / rows.max(1.0)).max(prices::SEARCH)
        }
        Condition::Quantified { subquery, .. } => prices::OPENING + of(&subquery.plan.root, estimator).1,
        _ => f64::INFINITY,
    }
}

/// How many rows a plan has, and what it costs.
pub(super) fn of(node: &Node, estimator: &Estimator<'_>) -> (f64, f64) {
    if let Node::Scan(scan) = node {
        return scanned(scan, &[], estimator);
    }
    if let Node::Derived(derived) = node {
        return of(&derived.plan.root, estimator);
    }
    if let Node::Join(join) = node {
        return joined(node, join, estimator);
    }
    match node.shape() {
        Shape::Passed(input) => passed(node, input, estimator),
        Shape::Extended(below) => of(below.input, estimator),
        Shape::Computed(below) => match matches!(node, Node::Aggregate(_)) {
            true => gathered(node, below.input, estimator),
            false => of(below.input, estimator),
        },
        Shape::Source(_) | Shape::Joined | Shape::United => {
            let rows = estimator.node_rows(node);
            (rows, rows)
        }
    }
}

/// The same of rows that are passed on.
fn passed(node: &Node, input: &Node, estimator: &Estimator<'_>) -> (f64, f64) {
    if let (Node::Filter(filter), Node::Scan(scan)) = (node, input) {
        return scanned(scan, std::slice::from_ref(&filter.condition), estimator);
    }
    if let Node::Distinct(_) | Node::Sort(_) = node {
        return gathered(node, input, estimator);
    }
    let (rows, cost) = of(input, estimator);
    if let Node::Filter(filter) = node {
        let mut sources = Sources::default();
        sources.add(input);
        return (rows * estimator.selectivity(&filter.condition, &sources), cost + rows);
    }
    match matches!(node, Node::Arrange(_)) {
        true => (rows, cost + prices::sorting(rows)),
        false => (rows, cost),
    }
}

/// The same of rows that are all taken in before the first comes out.
fn gathered(node: &Node, input: &Node, estimator: &Estimator<'_>) -> (f64, f64) {
    let (rows, cost) = of(input, estimator);
    (estimator.node_rows(node).min(rows), cost + rows * prices::BUILD)
}

fn joined(node: &Node, join: &JoinNode, estimator: &Estimator<'_>) -> (f64, f64) {
    let mut sources = Sources::default();
    sources.add(node);
    let (left, right) = (of(&join.left, estimator), of(&join.right, estimator));
    let each = join
        .keys
        .iter()
        .map(|(left, right)| estimator.equality(left, right, &sources));
    let part = each.product::<f64>() * estimator.selectivity(&join.residual, &sources);
    let cost = match join.method {
        JoinMethod::Loop => left.1 + left.0 * right.1,
        JoinMethod::Hash { .. } => left.1 + right.1 + right.0 * prices::BUILD + left.0 * prices::PROBE,
        JoinMethod::Merge { .. } => left.1 + right.1 + (left.0 + right.0) * prices::MERGE,
    };
    (left.0 * right.0 * part, cost)
}

fn scanned(scan: &ScanNode, above: &[Condition], estimator: &Estimator<'_>) -> (f64, f64) {
    let rows = estimator.rows(scan, above);
    let Some(seek) = &scan.seek else {
        return (rows, estimator.table_rows(&scan.table));
    };
    let found = found_by(scan, seek, estimator);
    let index = scan.table.table.definition().indexes.get(seek.index);
    let each = index.map_or(prices::FETCH, |index| access::price_each(scan, index));
    // What the search decides by itself stands in no condition above it.
    (rows.min(found), prices::SEARCH + found * each)
}

/// The rows that a search finds.
fn found_by(scan: &ScanNode, seek: &IndexSeek, estimator: &Estimator<'_>) -> f64 {
    let all = estimator.table_rows(&scan.table);
    let Some(index) = scan.table.table.definition().indexes.get(seek.index) else {
        return all;
    };
    let sources = Sources::of_scan(scan);
    let of_range = seek.ranges.iter().map(|range| {
        if index.unique && range.equal.len() == index.keys.len() {
            return 1.0;
        }
        let given = index.keys.iter().take(range.equal.len());
        let part = given.map(|(column, _)| 1.0 / estimator.distinct(scan.offset + column, &sources));
        let bounded = if matches!(range.end, SeekEnd::All) {
            1.0
        } else {
            BOUNDED
        };
        (all * part.product::<f64>() * bounded).max(1.0)
    });
    of_range.sum::<f64>().min(all)
}

/// Part of the keys that a range with a bound holds.
const BOUNDED: f64 = 0.3;
