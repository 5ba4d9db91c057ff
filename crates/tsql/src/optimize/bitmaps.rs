//! Chooses scans that test their rows against a bitmap of a hash join's keys, before they decode the other columns.
//!
//! ```text
//! Hash Match  (keys s.k = b.k)           the right side is in the table before the first left row is read:
//!   right: s where s.x = 1               the scan of b drops rows whose key is not in it
//!   left:  Hash Match, Nested Loops, Filter, ... b PROBE(b.k)
//! ```
//! This applies to joins that return no left row without a match, with keys that are columns of one scanned table. A bitmap that drops few
//! rows is no longer tested after some thousands (`exec/scan.rs`), so no estimate is needed here.
//!
//! Invariant: there is no condition that may fail between the join and the scan. Otherwise its failure would depend on the bitmap, which
//! may let rows without a match pass.

use engine::cancel;
use engine::error::Result;

use crate::plan::{ExprKind, JoinKind, JoinMethod, JoinNode, Node};

/// Has scans below the hash joins of a tree test their rows by what is in the tables.
///
/// # Errors
/// 8631 when it is nested deeper than there is stack; 3617 when the batch was cancelled.
pub(super) fn place(node: &mut Node) -> Result<()> {
    crate::stack::require()?;
    cancel::spend(1)?;
    if let Node::Join(join) = node {
        place_of_join(join)?;
    }
    let mut placed = Ok(());
    node.for_each_in_row_mut(&mut |below| {
        if placed.is_ok() {
            placed = place(below);
        }
    });
    placed
}

/// Has the scan that a hash table is probed from test its rows.
fn place_of_join(join: &mut JoinNode) -> Result<()> {
    let JoinMethod::Hash { has_bitmap } = &mut join.method else {
        return Ok(());
    };
    let places = join.keys.iter().map(|(left, _)| match left.kind {
        ExprKind::Column(place) => Some(place),
        _ => None,
    });
    let places = places.collect::<Option<Vec<usize>>>();
    if let Some(places) = places.filter(|places| !places.is_empty() && !join.kind.keeps_left()) {
        *has_bitmap = given_to_scan(&mut join.left, &places)?;
    }
    Ok(())
}

/// Gives a bitmap of these places to the scan that they are of. False if there is no such scan, or its rows are not those of the
/// tree. The operators take it along the same way (`Operator::leave_out`).
fn given_to_scan(node: &mut Node, places: &[usize]) -> Result<bool> {
    crate::stack::require()?;
    if let Node::Filter(filter) = node {
        return Ok(!filter.condition.can_fail_by_row() && given_to_scan(&mut filter.input, places)?);
    }
    if let Node::Join(join) = node {
        let passes_left = join.kind.extends_left() || join.kind == JoinKind::Inner;
        let is_merged = matches!(join.method, JoinMethod::Merge { .. });
        let can_fail = join.residual.can_fail_by_row() || join.keys.iter().any(|(left, _)| left.can_fail_by_row());
        return Ok(passes_left && !is_merged && !can_fail && given_to_scan(&mut join.left, places)?);
    }
    let Node::Scan(scan) = node else { return Ok(false) };
    if scan.seek.is_some() {
        return Ok(false);
    }
    let own = scan.offset..scan.offset + scan.table.table.definition().columns.len();
    let is_own = places
        .iter()
        .all(|place| own.contains(place) && !scan.is_computed(*place));
    if is_own {
        scan.bitmaps.push(places.to_vec());
    }
    Ok(is_own)
}
