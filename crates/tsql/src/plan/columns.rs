//! The positions of the wide row that a FROM tree reads and writes.

use std::convert::Infallible;

use super::{Condition, Expr, ExprKind, IndexSeek, Node, Part, Ranges, Shape};

impl Node {
    /// Marks what the expressions inside a tree of FROM read of the wide row. Queries in FROM read what they capture; what makes another row
    /// reads nothing of this one.
    pub fn mark_columns(&self, used: &mut [bool]) {
        match self.shape() {
            Shape::Source(_) | Shape::Joined | Shape::Passed(_) => {}
            Shape::Extended(_) | Shape::Computed(_) | Shape::United => return,
        }
        let Ok(()) = self.parts::<Infallible>(&mut |part| {
            match part {
                Part::Expression(expression) => expression.mark_columns(used),
                Part::Condition(condition) | Part::Written(condition) => condition.mark_columns(used),
                Part::Node(below) => below.mark_columns(used),
                Part::Apart(_) | Part::Plan(_) => {}
            }
            Ok(())
        });
    }

    /// Calls `visit` for the ranges of places that a tree of FROM writes to.
    pub fn for_each_range(&self, visit: &mut dyn FnMut((usize, usize))) {
        if let Shape::Source(own) = self.shape() {
            visit((own.offset, own.width));
            let beside = own.locator.iter().chain(&own.row_place);
            beside.for_each(|place| visit((*place, 1)));
        }
        self.for_each_in_row(&mut |below| below.for_each_range(visit));
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
