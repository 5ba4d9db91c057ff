//! What the rows of an operator are to those of the operators below it. Rules that go through plans without knowing each operator ask this.

use std::convert::Infallible;

use super::{Node, Part};

/// What the rows of an operator are.
#[derive(Clone, Copy, Debug)]
pub enum Shape<'n> {
    /// Rows of its own, in places of its own.
    Source(OwnPlaces),
    /// Those of all operators directly below, put together: each writes to places of its own.
    Joined,
    /// Those of the input with all their columns: some of them, or all in another order.
    Passed(&'n Node),
    /// Those of the input, `width` wide, with columns behind.
    Extended { input: &'n Node, width: usize },
    /// Others: a place says something else above than below.
    Made,
}

/// The places that a source writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnPlaces {
    /// Where its columns begin.
    pub offset: usize,
    /// How many they are.
    pub width: usize,
    /// Where it puts the locator of a row to be changed.
    pub locator: Option<usize>,
}

impl Node {
    /// What its rows are to those below.
    pub fn shape(&self) -> Shape<'_> {
        let source = |offset: usize, width: usize| {
            Shape::Source(OwnPlaces {
                offset,
                width,
                locator: None,
            })
        };
        match self {
            Node::Single | Node::Empty => source(0, 0),
            Node::Scan(scan) => Shape::Source(OwnPlaces {
                offset: scan.offset,
                width: scan.table.table.definition().columns.len(),
                locator: scan.locator,
            }),
            Node::Variable {
                offset, width, locator, ..
            } => Shape::Source(OwnPlaces {
                offset: *offset,
                width: *width,
                locator: *locator,
            }),
            Node::View { view, offset, .. } => source(*offset, view.columns.len()),
            Node::Module { call, offset, .. } => source(*offset, call.columns()),
            Node::Values { rows, offset } => source(*offset, rows.first().map_or(0, Vec::len)),
            Node::Derived { plan, offset, .. } => source(*offset, plan.columns.len()),
            Node::Recursive { width, offset, .. } | Node::Round { width, offset, .. } => source(*offset, *width),
            Node::From(_) | Node::Outer(_) | Node::Loop { .. } | Node::Hash { .. } | Node::Merge { .. } => {
                Shape::Joined
            }
            Node::Filter { input, .. }
            | Node::Arrange { input, .. }
            | Node::Distinct { input, .. }
            | Node::Sort { input, .. }
            | Node::Top { input, .. }
            | Node::Slice { input, .. } => Shape::Passed(input),
            Node::Window { input, input_width, .. } => Shape::Extended {
                input,
                width: *input_width,
            },
            Node::Project { .. } | Node::Aggregate { .. } | Node::Append { .. } | Node::SetOperation { .. } => {
                Shape::Made
            }
        }
    }

    /// Calls `visit` for the operators directly below whose places are its own too.
    pub fn for_each_in_row<'n>(&'n self, visit: &mut dyn FnMut(&'n Node)) {
        match self.shape() {
            Shape::Source(_) | Shape::Extended { .. } | Shape::Made => return,
            Shape::Joined | Shape::Passed(_) => {}
        }
        let Ok(()) = self.parts::<Infallible>(&mut |part| {
            if let Part::Node(below) = part {
                visit(below);
            }
            Ok(())
        });
    }

    /// Has a source write so many places further behind, and a FROM be wider by as many; what is below it stays.
    pub fn move_places(&mut self, by: usize) {
        match self {
            Node::Scan(scan) => {
                scan.offset += by;
                scan.locator = scan.locator.map(|place| place + by);
            }
            Node::Variable { offset, locator, .. } => {
                *offset += by;
                *locator = locator.map(|place| place + by);
            }
            Node::View { offset, .. }
            | Node::Module { offset, .. }
            | Node::Values { offset, .. }
            | Node::Derived { offset, .. }
            | Node::Recursive { offset, .. }
            | Node::Round { offset, .. } => *offset += by,
            Node::From(from) => from.width += by,
            Node::Single
            | Node::Empty
            | Node::Outer(_)
            | Node::Loop { .. }
            | Node::Hash { .. }
            | Node::Merge { .. }
            | Node::Arrange { .. }
            | Node::Filter { .. }
            | Node::Aggregate { .. }
            | Node::Window { .. }
            | Node::Project { .. }
            | Node::Distinct { .. }
            | Node::Sort { .. }
            | Node::Top { .. }
            | Node::Slice { .. }
            | Node::Append { .. }
            | Node::SetOperation { .. } => {}
        }
    }
}
