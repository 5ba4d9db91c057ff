//! Choosing a search in an index over a scan of the whole table.
//!
//! The conditions stay as filters above the search, which only has to find no fewer rows than they accept. Those are left out
//! that a search in the clustered index decides by itself: a key column of a whole number's type equals a value of the same
//! type. (Rows found by another index are read later, when they may have changed.)

use engine::types::Value;

use crate::ast::ComparisonOperator as Op;
use crate::plan::{Access, Condition, Expr, ExprKind, IndexSeek, Node, ScanNode, SeekEnd, SeekKey, SeekRange};

/// A condition `column operator value`, where the value does not depend on the table's row.
struct Bound<'c> {
    condition: usize,
    column: usize,
    operator: Op,
    value: &'c Expr,
}

/// Gives a scan the best search that the conditions on it allow; answers the conditions that are still to be tested.
///
/// `is_known` says which columns of other sources stand in the row when the search begins.
pub(super) fn choose(
    node: Node,
    mut conditions: Vec<Condition>,
    is_known: &dyn Fn(usize) -> bool,
) -> (Node, Vec<Condition>) {
    let Node::Scan(mut scan) = node else {
        return (node, conditions);
    };
    let bounds: Vec<Bound<'_>> = conditions
        .iter()
        .enumerate()
        .filter_map(|(place, condition)| bound_of(place, condition, &scan, is_known))
        .collect();
    scan.seek = best_seek(&scan, &bounds);
    let mut decided = decided_by_search(&scan, &bounds);
    decided.sort_unstable();
    for place in decided.into_iter().rev() {
        conditions.remove(place);
    }
    (Node::Scan(scan), conditions)
}

/// The conditions that every row found by the scan's search fulfils, whatever the row.
fn decided_by_search(scan: &ScanNode, bounds: &[Bound<'_>]) -> Vec<usize> {
    let definition = scan.table.table.definition();
    let index = scan.seek.as_ref().and_then(|seek| definition.indexes.get(seek.index));
    let (Some(seek), Some(index)) = (&scan.seek, index.filter(|index| index.index_id == 1)) else {
        return Vec::new();
    };
    let [range] = seek.ranges.as_slice() else {
        return Vec::new();
    };
    let keys = index.keys.iter().take(range.equal.len());
    let decided = keys.filter_map(|&(column, _)| {
        let bound = equal_bound(column, bounds)?;
        let sql_type = definition.columns.get(column)?.sql_type;
        (sql_type.is_integer() && bound.value.sql_type == sql_type).then_some(bound.condition)
    });
    decided.collect()
}

/// The condition that a search takes for a key column.
fn equal_bound<'b, 'c>(column: usize, bounds: &'b [Bound<'c>]) -> Option<&'b Bound<'c>> {
    let mut of_column = bounds.iter().filter(|bound| bound.column == column);
    of_column.find(|bound| bound.operator == Op::Equal)
}

fn bound_of<'c>(
    place: usize,
    condition: &'c Condition,
    scan: &ScanNode,
    is_known: &dyn Fn(usize) -> bool,
) -> Option<Bound<'c>> {
    let Condition::Compare { operator, left, right } = condition else {
        return None;
    };
    let column_of = |expression: &Expr| match expression.kind {
        ExprKind::Column(index) => {
            let count = scan.table.table.definition().columns.len();
            index.checked_sub(scan.offset).filter(|column| *column < count)
        }
        _ => None,
    };
    let usable = |value: &Expr| {
        let mut is_free = true;
        value.for_each_column(&mut |place| is_free = is_free && is_known(place));
        is_free
            && !matches!(
                value.kind,
                ExprKind::Subquery(_) | ExprKind::Module { .. } | ExprKind::Constant(Value::Null)
            )
    };
    match (column_of(left), column_of(right)) {
        (Some(column), _) if usable(right) => Some(Bound {
            condition: place,
            column,
            operator: *operator,
            value: right,
        }),
        (_, Some(column)) if usable(left) => Some(Bound {
            condition: place,
            column,
            operator: mirrored(*operator),
            value: left,
        }),
        _ => None,
    }
}

fn mirrored(operator: Op) -> Op {
    match operator {
        Op::Less => Op::Greater,
        Op::LessOrEqual => Op::GreaterOrEqual,
        Op::Greater => Op::Less,
        Op::GreaterOrEqual => Op::LessOrEqual,
        same => same,
    }
}

fn best_seek(scan: &ScanNode, bounds: &[Bound<'_>]) -> Option<IndexSeek> {
    let definition = scan.table.table.definition();
    let mut best: Option<(usize, IndexSeek)> = None;
    for (place, index) in definition.indexes.iter().enumerate() {
        let is_allowed = match scan.access {
            Access::Any | Access::Seek => true,
            Access::Scan => false,
            Access::Index(wanted) => wanted == place,
        };
        if !is_allowed {
            continue;
        }
        let range = range_in(&index.keys, bounds);
        let has_range = matches!(range.end, SeekEnd::Between { .. });
        // Every row of a nonclustered index costs a visit to the table: a range alone does not pay.
        let is_clustered = index.index_id == 1;
        let is_forced = scan.access != Access::Any && has_range;
        if range.equal.is_empty() && !(is_clustered && has_range) && !is_forced {
            continue;
        }
        let score = range.equal.len() * 4 + usize::from(has_range) * 2 + usize::from(is_clustered);
        if best.as_ref().is_none_or(|(other, _)| score > *other) {
            best = Some((score, IndexSeek::of(place, range)));
        }
    }
    best.map(|(_, seek)| seek)
}

fn range_in(keys: &[(usize, bool)], bounds: &[Bound<'_>]) -> SeekRange {
    let mut range = SeekRange::whole();
    for &(column, _) in keys {
        let of_column = || bounds.iter().filter(|bound| bound.column == column);
        if let Some(equal) = equal_bound(column, bounds) {
            range.equal.push(SeekKey::Value(equal.value.clone()));
            continue;
        }
        let first = |wanted: [Op; 2]| {
            let found = of_column().find(|bound| wanted.contains(&bound.operator))?;
            Some((
                found.value.clone(),
                matches!(found.operator, Op::LessOrEqual | Op::GreaterOrEqual),
            ))
        };
        let low = first([Op::Greater, Op::GreaterOrEqual]);
        let high = first([Op::Less, Op::LessOrEqual]);
        if low.is_some() || high.is_some() {
            range.end = SeekEnd::Between { low, high };
        }
        break;
    }
    range
}
