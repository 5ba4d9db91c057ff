//! Reverses the order of rows: scans are read backward, and operators that preserve an order preserve its reverse.
//!
//! ```text
//! ORDER BY a DESC    groups by a, streamed from an index on a           the index backward
//!                    a merge join of two tables by a                    both backward
//! ```

use crate::plan::{Access, IndexSeek, JoinMethod, Node, ScanNode, SeekRange};

/// Turns the order of a tree around; false, and nothing changed, where that cannot be.
pub(super) fn reverse(node: &mut Node) -> bool {
    let can = can_reverse(node);
    if can {
        turn(node);
    }
    can
}

fn can_reverse(node: &Node) -> bool {
    if let Node::Scan(scan) = node {
        return can_read_backward(scan);
    }
    if let Some((left, right)) = merged_sides(node) {
        return can_reverse(left) && can_reverse(right);
    }
    // Other rows are the first from the end, or are numbered.
    let minds_direction = matches!(node, Node::Top(_) | Node::Slice(_) | Node::Window(_));
    !minds_direction && node.driving().is_some_and(can_reverse)
}

fn merged_sides(node: &Node) -> Option<(&Node, &Node)> {
    let Node::Join(join) = node else { return None };
    matches!(join.method, JoinMethod::Merge { .. }).then_some((&join.left, &join.right))
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
    if let Node::Scan(scan) = node {
        let seek = scan.seek.get_or_insert_with(|| IndexSeek::of(0, SeekRange::whole()));
        (seek.is_backward, seek.keeps_order) = (!seek.is_backward, true);
    } else if let Node::Join(join) = node
        && let JoinMethod::Merge { is_descending, .. } = &mut join.method
    {
        *is_descending = !*is_descending;
        turn(&mut join.left);
        turn(&mut join.right);
    } else if let Some(input) = node.driving_mut() {
        turn(input);
    }
}
