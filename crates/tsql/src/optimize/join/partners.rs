//! Matches in a semi join: whether a row can have several, and how many rows have one.

use super::relations::Relation;
use crate::optimize::estimate::{Estimator, Sources, column_of};
use crate::plan::{AggregateNode, Condition, DerivedNode, DistinctNode, Expr, ExprKind, Node, ProjectNode, Shape};

/// However sure an estimate is, some rows have a partner and some have none.
const PART_MIN: f64 = 0.001;

/// Whether no row meets two rows of a right side by these conditions: they give every column of a unique key, or of what the right side
/// is grouped by, one value.
pub(super) fn are_unique(right: &Node, on: &[Condition]) -> bool {
    if on.iter().any(Condition::can_fail) {
        return false;
    }
    if let Node::Scan(scan) = right {
        let definition = scan.table.table.definition();
        let own = scan.offset..scan.offset + definition.columns.len();
        let is_own = |place: usize| own.contains(&place);
        let mut unique = definition.indexes.iter().filter(|index| index.is_unique_of_all());
        return unique.any(|index| {
            let mut keys = index.keys.iter();
            keys.all(|(column, _)| is_given(scan.offset + column, on, &is_own))
        });
    }
    let Node::Derived(DerivedNode {
        plan, captures, offset, ..
    }) = right
    else {
        return false;
    };
    let own = *offset..offset + plan.columns.len();
    let is_own = |place: usize| own.contains(&place);
    let unique = unique_columns(&plan.root, plan.columns.len()).filter(|_| captures.is_empty());
    unique.is_some_and(|unique| unique.into_iter().all(|column| is_given(offset + column, on, &is_own)))
}

/// Whether a column equals something that no other column of its source has a part in.
fn is_given(place: usize, on: &[Condition], is_own: &dyn Fn(usize) -> bool) -> bool {
    let is_column = |expression: &Expr| matches!(expression.kind, ExprKind::Column(other) if other == place);
    let is_others = |expression: &Expr| {
        let mut reads_own = false;
        expression.for_each_column(&mut |place| reads_own = reads_own || is_own(place));
        !reads_own
    };
    let mut equalities = on.iter().filter_map(Condition::equal_sides);
    equalities.any(|(left, right)| is_column(left) && is_others(right) || is_column(right) && is_others(left))
}

/// Columns of a query's rows that no two rows have in common.
fn unique_columns(node: &Node, columns: usize) -> Option<Vec<usize>> {
    if let Node::Distinct(DistinctNode { columns, .. }) = node {
        return Some((0..*columns).collect());
    }
    if let Shape::Passed(input) = node.shape() {
        return unique_columns(input, columns);
    }
    if let Node::Aggregate(AggregateNode { keys, sets, .. }) = node {
        return sets.is_empty().then(|| (0..keys.len()).collect());
    }
    let Node::Project(ProjectNode { input, expressions, .. }) = node else {
        return None;
    };
    let below = unique_columns(input, columns)?;
    let shown = below.into_iter().map(|wanted| {
        let mut shown = expressions.iter().take(columns);
        shown.position(|one| matches!(one.kind, ExprKind::Column(place) if place == wanted))
    });
    shown.collect()
}

/// How many partners rows before a semi join have among those of its relation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Partners {
    /// The part of the rows that have one: as many of the distinct values that they have as there are distinct ones in the relation.
    pub(super) part: f64,
    /// Partners of a row that has any.
    pub(super) each: f64,
}

/// Estimates the partners among so many rows of a relation.
pub(super) fn of(relation: &Relation, rows: f64, sources: &Sources<'_>, estimator: &Estimator<'_>) -> Partners {
    let mut own = Vec::new();
    let (mut values_before, mut others) = (1.0_f64, 1.0_f64);
    for condition in &relation.on {
        let pair = condition
            .equal_sides()
            .and_then(|(left, right)| column_of(left).zip(column_of(right)));
        let is_own = |place: usize| {
            let mut is_own = false;
            relation.node.for_each_range(&mut |(start, width)| {
                is_own = is_own || (start..start + width).contains(&place);
            });
            is_own
        };
        let Some((left, right)) = pair else {
            others *= estimator.selectivity(condition, sources);
            continue;
        };
        let (of_relation, before) = if is_own(left) { (left, right) } else { (right, left) };
        own.push(of_relation);
        values_before *= estimator.distinct(before, sources);
    }
    let values = match own.iter().all(|place| sources.column(*place).is_some()) {
        _ if own.is_empty() => 1.0,
        true => estimator.groups(&own, rows, sources).max(1.0),
        false => rows.max(1.0),
    };
    let partners = (rows / values).max(1.0);
    let by_others = 1.0 - (1.0 - others.clamp(0.0, 1.0)).powf(partners);
    Partners {
        part: ((values / values_before.max(1.0)).min(1.0) * by_others).clamp(PART_MIN, 1.0 - PART_MIN),
        each: (partners * others).max(1.0),
    }
}
