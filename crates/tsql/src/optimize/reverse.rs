//! Rows in the reverse of the order that they come in: scans are read the other way, and what passes their order on passes on its reverse.
//!
//! ```text
//! ORDER BY a DESC    groups by a, streamed from an index on a           the index backward
//!                    a merge join of two tables by a                    both backward
//! ```

use super::order::is_single;
use crate::plan::{Access, IndexSeek, Node, ScanNode, SeekRange};

/// Turns the order of a tree around; false, and nothing changed, where that cannot be.
pub(super) fn reverse(node: &mut Node) -> bool {
    let can = can_reverse(node);
    if can {
        turn(node);
    }
    can
}

fn can_reverse(node: &Node) -> bool {
    match node {
        Node::Filter { input, .. }
        | Node::Project { input, .. }
        | Node::Aggregate {
            input, is_stream: true, ..
        }
        | Node::Distinct {
            input, is_stream: true, ..
        } => can_reverse(input),
        Node::Loop { left, right, .. } if is_single(left) => can_reverse(right),
        Node::Loop { left, .. } => can_reverse(left),
        Node::Merge { left, right, .. } => can_reverse(left) && can_reverse(right),
        Node::Scan(scan) => can_read_backward(scan),
        _ => false,
    }
}

/// Whether a table is read by one index, whichever way.
fn can_read_backward(scan: &ScanNode) -> bool {
    scan.bitmaps.is_empty()
        && match &scan.seek {
            Some(seek) => seek.union.is_empty(),
            None => scan.access != Access::Scan && scan.table.table.definition().clustered().is_some(),
        }
}

fn turn(node: &mut Node) {
    match node {
        Node::Filter { input, .. }
        | Node::Project { input, .. }
        | Node::Aggregate { input, .. }
        | Node::Distinct { input, .. } => turn(input),
        Node::Loop { left, right, .. } if is_single(left) => turn(right),
        Node::Loop { left, .. } => turn(left),
        Node::Merge {
            left,
            right,
            is_descending,
            ..
        } => {
            *is_descending = !*is_descending;
            turn(left);
            turn(right);
        }
        Node::Scan(scan) => {
            let seek = scan.seek.get_or_insert_with(|| IndexSeek::of(0, SeekRange::whole()));
            (seek.is_backward, seek.keeps_order) = (!seek.is_backward, true);
        }
        _ => {}
    }
}
