//! Determines the columns that scans decode: those that operators above them read. This is the last step, after all operators are chosen.

use std::convert::Infallible;

use crate::plan::{DistinctNode, JoinMethod, JoinNode, Node, PartMut, ScanNode, Shape, SortNode, TopNode};

/// Tells the scans of a tree what to decode, when the places `used` of the tree's own rows are read above it.
pub(super) fn decode(node: &mut Node, mut used: Vec<bool>) {
    match node.shape() {
        Shape::Source(_) | Shape::Joined => return decode_tree(node, used),
        Shape::Passed(_) if matches!(node, Node::Arrange(_)) => return decode_tree(node, used),
        Shape::Passed(_) | Shape::United => {}
        Shape::Computed(below) => used = vec![false; below.width],
        Shape::Extended(below) => used.resize(below.width, false),
    }
    mark_read(node, &mut used);
    // No operator but these has parts of both kinds: its expressions are seen before what is below it.
    let Ok(()) = node.parts_mut::<Infallible>(&mut |part| {
        match part {
            PartMut::Expression(expression) => expression.mark_columns(&mut used),
            PartMut::Condition(condition) | PartMut::Written(condition) => condition.mark_columns(&mut used),
            PartMut::Node(input) => decode(input, used.clone()),
            PartMut::Apart(_) | PartMut::Plan(_) => {}
        }
        Ok(())
    });
}

/// Marks the columns that an operator reads by their numbers rather than by expressions.
fn mark_read(node: &Node, used: &mut Vec<bool>) {
    if let Node::SetOperation(operation) = node {
        *used = vec![true; operation.width];
    } else if let Node::Distinct(DistinctNode { columns, .. }) = node {
        used.iter_mut().take(*columns).for_each(|flag| *flag = true);
    } else if let Node::Sort(SortNode { keys, .. }) = node {
        keys.iter().for_each(|key| mark(used, key.column));
    } else if let Node::Top(TopNode { top, .. }) = node {
        let ties = top.ties.iter().flatten();
        ties.for_each(|key| mark(used, key.column));
    }
}

fn mark(used: &mut [bool], column: usize) {
    if let Some(flag) = used.get_mut(column) {
        *flag = true;
    }
}

/// The same for a tree of FROM, whose operators share a row.
fn decode_tree(node: &mut Node, mut used: Vec<bool>) {
    node.mark_columns(&mut used);
    set(node, &used);
}

/// Tells every scan of a tree of FROM what to decode, and every join what to keep of its rows.
fn set(node: &mut Node, used: &[bool]) {
    if let Node::Scan(scan) = node {
        let count = scan.table.table.definition().columns.len();
        let offset = scan.offset;
        scan.columns = (0..count)
            .filter(|column| used.get(offset + column).copied().unwrap_or(false))
            .collect();
        if !scan.virtual_columns.is_empty() {
            compute(scan, count);
        }
        // What reads it is there from the start: a place that is not read now is not read later.
        let is_read = |place: &usize| used.get(*place) != Some(&false);
        scan.row_place = scan.row_place.filter(is_read);
        if !scan.locking.is_target {
            scan.locator = scan.locator.filter(is_read);
        }
    } else if let Node::Join(join) = node {
        set_ranges(join, used);
    } else if let Node::Arrange(arrange) = node {
        arrange.ranges = arrange.input.used_ranges(used);
    }
    node.for_each_in_row_mut(&mut |below| set(below, used));
}

/// Has a scan read what its computed columns are made of, and compute those that are asked for.
fn compute(scan: &mut ScanNode, count: usize) {
    let virtual_columns = scan.virtual_columns.iter().enumerate();
    let asked = virtual_columns.filter(|(_, one)| scan.columns.contains(&one.column));
    let asked: Vec<usize> = asked.map(|(place, _)| place).collect();
    let mut read = vec![false; count];
    scan.columns.iter().for_each(|column| mark(&mut read, *column));
    for one in asked.iter().filter_map(|place| scan.virtual_columns.get(*place)) {
        one.expression.mark_columns(&mut read);
    }
    for one in &scan.virtual_columns {
        if let Some(flag) = read.get_mut(one.column) {
            *flag = false;
        }
    }
    scan.columns = (0..count).filter(|column| read[*column]).collect();
    scan.computed = asked;
}

fn set_ranges(join: &mut JoinNode, used: &[bool]) {
    let shows_left = match join.method {
        JoinMethod::Loop => false,
        JoinMethod::Hash { .. } => join.kind.keeps_right(),
        JoinMethod::Merge { .. } => true,
    };
    if shows_left {
        join.left_ranges = join.left.used_ranges(used);
    }
    join.right_ranges = join.right.used_ranges(used);
}
