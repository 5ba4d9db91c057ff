//! What a plan costs that is run again and again: a subquery, asked row by row. In rows read, as joins are priced.

use crate::optimize::access;
use crate::optimize::estimate::{Estimator, Sources};
use crate::optimize::prices;
use crate::plan::{Condition, IndexSeek, Node, ScanNode, SeekEnd, Subquery};

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
    match node {
        Node::Scan(scan) => scanned(scan, &[], estimator),
        Node::Filter { input, condition } => match &**input {
            Node::Scan(scan) => scanned(scan, std::slice::from_ref(condition), estimator),
            _ => {
                let mut sources = Sources::default();
                sources.add(input);
                let (rows, cost) = of(input, estimator);
                (rows * estimator.selectivity(condition, &sources), cost + rows)
            }
        },
        Node::Loop {
            left, right, condition, ..
        } => {
            let (left, right) = (of(left, estimator), of(right, estimator));
            let mut sources = Sources::default();
            sources.add(node);
            let rows = left.0 * right.0 * estimator.selectivity(condition, &sources);
            (rows, left.1 + left.0 * right.1)
        }
        Node::Hash {
            left,
            right,
            keys,
            residual,
            ..
        }
        | Node::Merge {
            left,
            right,
            keys,
            residual,
            ..
        } => {
            let mut sources = Sources::default();
            sources.add(node);
            let (left, right) = (of(left, estimator), of(right, estimator));
            let each = keys
                .iter()
                .map(|(left, right)| estimator.equality(left, right, &sources));
            let part = each.product::<f64>() * estimator.selectivity(residual, &sources);
            let own = match node {
                Node::Merge { .. } => (left.0 + right.0) * prices::MERGE,
                _ => right.0 * prices::BUILD + left.0 * prices::PROBE,
            };
            (left.0 * right.0 * part, left.1 + right.1 + own)
        }
        Node::Derived { plan, .. } => of(&plan.root, estimator),
        Node::Project { input, .. } | Node::Window { input, .. } => of(input, estimator),
        Node::Arrange { input, .. } => {
            let (rows, cost) = of(input, estimator);
            (rows, cost + prices::sorting(rows))
        }
        Node::Distinct { input, .. } | Node::Sort { input, .. } | Node::Aggregate { input, .. } => {
            let (rows, cost) = of(input, estimator);
            (estimator.node_rows(node).min(rows), cost + rows * prices::BUILD)
        }
        Node::Top { input, .. } | Node::Slice { input, .. } => of(input, estimator),
        other => {
            let rows = estimator.node_rows(other);
            (rows, rows)
        }
    }
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
