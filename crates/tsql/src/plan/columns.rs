//! Which places of the wide row a tree of FROM reads.

use super::{Condition, Expr, ExprKind, IndexSeek, Node, Ranges};

impl Node {
    /// Marks what the expressions inside a tree of FROM read of the wide row. Queries in FROM read what they capture.
    pub fn mark_columns(&self, used: &mut [bool]) {
        let mut mark_all = |expressions: &[Expr]| expressions.iter().for_each(|one| one.mark_columns(used));
        match self {
            Node::Filter { input, condition } => {
                condition.mark_columns(used);
                input.mark_columns(used);
            }
            Node::Arrange { input, keys, .. } => {
                mark_all(keys);
                input.mark_columns(used);
            }
            Node::From(from) => {
                from.units.iter().for_each(|unit| unit.node.mark_columns(used));
                mark_conditions(&from.conjuncts, used);
            }
            Node::Outer(join) => {
                join.left.mark_columns(used);
                join.right.mark_columns(used);
                mark_conditions(&join.conjuncts, used);
                join.written.iter().for_each(|written| written.mark_columns(used));
            }
            Node::Loop {
                left, right, condition, ..
            } => {
                condition.mark_columns(used);
                left.mark_columns(used);
                right.mark_columns(used);
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
                for (left, right) in keys {
                    left.mark_columns(used);
                    right.mark_columns(used);
                }
                residual.mark_columns(used);
                left.mark_columns(used);
                right.mark_columns(used);
            }
            Node::Derived {
                captures: expressions, ..
            }
            | Node::View {
                arguments: expressions, ..
            }
            | Node::Module {
                arguments: expressions, ..
            } => mark_all(expressions),
            Node::Scan(scan) => {
                if let Some(seek) = &scan.seek {
                    seek.mark_columns(used);
                }
            }
            _ => {}
        }
    }
}

impl Node {
    /// Calls `visit` for the ranges of places that a tree of FROM writes to.
    pub fn for_each_range(&self, visit: &mut dyn FnMut((usize, usize))) {
        match self {
            Node::Filter { input, .. } | Node::Arrange { input, .. } => input.for_each_range(visit),
            Node::From(from) => from.units.iter().for_each(|unit| unit.node.for_each_range(visit)),
            Node::Outer(join) => {
                join.left.for_each_range(visit);
                join.right.for_each_range(visit);
            }
            Node::Loop { left, right, .. } | Node::Hash { left, right, .. } | Node::Merge { left, right, .. } => {
                left.for_each_range(visit);
                right.for_each_range(visit);
            }
            Node::Scan(scan) => {
                visit((scan.offset, scan.table.table.definition().columns.len()));
                scan.locator.iter().for_each(|place| visit((*place, 1)));
            }
            Node::View { view, offset, .. } => visit((*offset, view.columns.len())),
            Node::Module { call, offset, .. } => visit((*offset, call.columns())),
            Node::Values { rows, offset } => visit((*offset, rows.first().map_or(0, Vec::len))),
            Node::Variable {
                width, offset, locator, ..
            } => {
                visit((*offset, *width));
                locator.iter().for_each(|place| visit((*place, 1)));
            }
            Node::Derived { plan, offset, .. } => visit((*offset, plan.columns.len())),
            Node::Recursive { width, offset, .. } | Node::Round { width, offset, .. } => visit((*offset, *width)),
            _ => {}
        }
    }

    /// The places a tree of FROM writes to and that are among those `used`, as ranges in order.
    pub fn used_ranges(&self, used: &[bool]) -> Ranges {
        let mut places = Vec::new();
        self.for_each_range(&mut |(start, width)| {
            places.extend((start..start + width).filter(|place| used.get(*place).copied().unwrap_or(false)));
        });
        places.sort_unstable();
        let mut ranges: Ranges = Vec::new();
        for place in places {
            match ranges.last_mut() {
                Some((start, width)) if *start + *width == place => *width += 1,
                Some((start, width)) if place < *start + *width => {}
                _ => ranges.push((place, 1)),
            }
        }
        ranges
    }
}

impl Expr {
    /// Calls `visit` for every column of the current row that this expression reads.
    pub fn for_each_column(&self, visit: &mut dyn FnMut(usize)) {
        if let ExprKind::Column(place) = self.kind {
            visit(place);
        }
        self.for_each_child(&mut |child| child.for_each_column(visit));
    }
}

impl Condition {
    /// Calls `visit` for every column of the current row that this condition reads.
    pub fn for_each_column(&self, visit: &mut dyn FnMut(usize)) {
        self.for_each_expression(&mut |expression| expression.for_each_column(visit));
    }
}

impl IndexSeek {
    /// Marks what the values searched for read of the row around.
    pub fn mark_columns(&self, used: &mut [bool]) {
        self.for_each_expression(&mut |value| value.mark_columns(used));
    }
}

fn mark_conditions(conditions: &[Condition], used: &mut [bool]) {
    conditions.iter().for_each(|condition| condition.mark_columns(used));
}
