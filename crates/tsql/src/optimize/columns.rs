//! Which columns scans decode: those that something above them reads. The last step, when it is settled what stands above them.

use crate::plan::{Node, PartMut};

/// Tells the scans of a tree what to decode, when the places `used` of the tree's own rows are read above it.
pub(super) fn decode(node: &mut Node, mut used: Vec<bool>) {
    match node {
        Node::Project { input_width, .. } | Node::Aggregate { input_width, .. } => {
            used = vec![false; *input_width];
        }
        Node::Window { input_width, .. } => used.resize(*input_width, false),
        Node::SetOperation { width, .. } => used = vec![true; *width],
        Node::Distinct { columns, .. } => used.iter_mut().take(*columns).for_each(|flag| *flag = true),
        Node::Sort { keys, .. } => keys.iter().for_each(|key| mark(&mut used, key.column)),
        Node::Top { top, .. } => {
            let ties = top.ties.iter().flatten();
            ties.for_each(|key| mark(&mut used, key.column));
        }
        Node::Filter { .. } | Node::Slice { .. } | Node::Append { .. } => {}
        source => {
            source.mark_columns(&mut used);
            set(source, &used);
            return;
        }
    }
    // No operator but these has parts of both kinds: its expressions are seen before what is below it.
    let Ok(()) = node.parts_mut::<std::convert::Infallible>(&mut |part| {
        match part {
            PartMut::Expression(expression) => expression.mark_columns(&mut used),
            PartMut::Condition(condition) | PartMut::Written(condition) => condition.mark_columns(&mut used),
            PartMut::Node(input) => decode(input, used.clone()),
            PartMut::Apart(_) | PartMut::Plan(_) => {}
        }
        Ok(())
    });
}

fn mark(used: &mut [bool], column: usize) {
    if let Some(flag) = used.get_mut(column) {
        *flag = true;
    }
}

/// Tells every scan of a tree of FROM what to decode, and every join what to keep of its rows.
fn set(node: &mut Node, used: &[bool]) {
    match node {
        Node::Filter { input, .. } => set(input, used),
        Node::Loop {
            left,
            right,
            right_ranges,
            ..
        } => {
            *right_ranges = right.used_ranges(used);
            set(left, used);
            set(right, used);
        }
        Node::Hash {
            left,
            right,
            left_ranges,
            right_ranges,
            kind,
            ..
        } => {
            if kind.keeps_right() {
                *left_ranges = left.used_ranges(used);
            }
            *right_ranges = right.used_ranges(used);
            set(left, used);
            set(right, used);
        }
        Node::Merge {
            left,
            right,
            left_ranges,
            right_ranges,
            ..
        } => {
            *left_ranges = left.used_ranges(used);
            *right_ranges = right.used_ranges(used);
            set(left, used);
            set(right, used);
        }
        Node::Arrange { input, ranges, .. } => {
            *ranges = input.used_ranges(used);
            set(input, used);
        }
        Node::From(from) => from.units.iter_mut().for_each(|unit| set(&mut unit.node, used)),
        Node::Outer(join) => {
            set(&mut join.left, used);
            set(&mut join.right, used);
        }
        Node::Scan(scan) => {
            let count = scan.table.table.definition().columns.len();
            let offset = scan.offset;
            scan.columns = (0..count)
                .filter(|column| used.get(offset + column).copied().unwrap_or(false))
                .collect();
        }
        _ => {}
    }
}
