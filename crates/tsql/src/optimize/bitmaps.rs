//! Which scans test their rows by a bitmap of the keys of a hash join, before they decode what else is asked for.
//!
//! ```text
//! Hash Match  (keys s.k = b.k)           the right side is in the table before the first left row is read:
//!   right: s where s.x = 1               what it has no key of, the scan of b leaves out
//!   left:  Hash Match, Nested Loops, Filter, ... b PROBE(b.k)
//! ```
//! For joins that answer no left row without a partner, by keys that are columns of one table which is scanned. A bitmap that leaves out
//! few rows is not asked any more after some thousands (`exec/scan.rs`), so nothing is estimated here.
//!
//! Invariant: no condition that may fail stands between the join and the scan: whether it fails does not hang on a bitmap, which may let
//! rows through that have no partner.

use engine::cancel;
use engine::error::Result;

use crate::plan::{Condition, ExprKind, JoinKind, Node};

/// Has scans below the hash joins of a tree test their rows by what is in the tables.
///
/// # Errors
/// 8631 when it is nested deeper than there is stack; 3617 when the batch was cancelled.
pub(super) fn place(node: &mut Node) -> Result<()> {
    crate::stack::require()?;
    cancel::spend(1)?;
    match node {
        Node::Filter { input, .. } => place(input),
        Node::Loop { left, right, .. } => {
            place(left)?;
            place(right)
        }
        Node::Hash {
            left,
            right,
            kind,
            keys,
            has_bitmap,
            ..
        } => {
            let places = keys.iter().map(|(left, _)| match left.kind {
                ExprKind::Column(place) => Some(place),
                _ => None,
            });
            let places = places.collect::<Option<Vec<usize>>>();
            if !kind.keeps_left()
                && !keys.is_empty()
                && let Some(places) = places
            {
                *has_bitmap = given_to_scan(left, &places)?;
            }
            place(left)?;
            place(right)
        }
        _ => Ok(()),
    }
}

/// Gives a bitmap of these places to the scan that they are of. False where there is none, or its rows are not those of the tree. The
/// operators take it along the same way (`Operator::leave_out`).
fn given_to_scan(node: &mut Node, places: &[usize]) -> Result<bool> {
    crate::stack::require()?;
    match node {
        Node::Filter { input, condition } if !condition.can_fail_by_row() => given_to_scan(input, places),
        Node::Loop {
            left, kind, condition, ..
        } if kind.extends_left() || *kind == JoinKind::Inner => match condition.can_fail_by_row() {
            false => given_to_scan(left, places),
            true => Ok(false),
        },
        Node::Hash {
            left,
            kind,
            keys,
            residual,
            ..
        } if kind.extends_left() || *kind == JoinKind::Inner => {
            let mut can_fail = Condition::can_fail_by_row(residual);
            keys.iter()
                .for_each(|(left, _)| can_fail = can_fail || left.can_fail_by_row());
            match can_fail {
                false => given_to_scan(left, places),
                true => Ok(false),
            }
        }
        Node::Scan(scan) if scan.seek.is_none() => {
            let own = scan.offset..scan.offset + scan.table.table.definition().columns.len();
            let is_own = places.iter().all(|place| own.contains(place));
            if is_own {
                scan.bitmaps.push(places.to_vec());
            }
            Ok(is_own)
        }
        _ => Ok(false),
    }
}
