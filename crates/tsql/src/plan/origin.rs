//! Where a column of a plan comes from, if it is passed on as it is.

use super::{ExprKind, Node};

/// A column of a source.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'p> {
    /// A [`Node::Scan`] or [`Node::Variable`].
    pub source: &'p Node,
    /// The column's number there.
    pub column: usize,
}

impl Origin<'_> {
    /// Whether both are one column of one source.
    pub fn is_same(&self, other: &Origin<'_>) -> bool {
        std::ptr::eq(self.source, other.source) && self.column == other.column
    }
}

impl Node {
    /// The source's column that a column of this node's rows is: none for what is computed, grouped, joined, or comes from several queries.
    pub fn origin(&self, column: usize) -> Option<Origin<'_>> {
        self.origin_within(column, false)
    }

    /// As [`Node::origin`], of a plan as it is bound, through joins as well.
    pub fn origin_through_joins(&self, column: usize) -> Option<Origin<'_>> {
        self.origin_within(column, true)
    }

    fn origin_within(&self, column: usize, joins: bool) -> Option<Origin<'_>> {
        let of_source = |offset: usize, width: usize| {
            let own = column.checked_sub(offset).filter(|own| *own < width)?;
            Some(Origin {
                source: self,
                column: own,
            })
        };
        match self {
            Node::Scan(scan) => of_source(scan.offset, scan.table.table.definition().columns.len()),
            Node::Variable { offset, width, .. } => of_source(*offset, *width),
            Node::Derived {
                plan, captures, offset, ..
            } if captures.is_empty() => {
                let own = column.checked_sub(*offset).filter(|own| *own < plan.columns.len())?;
                plan.root.origin_within(own, joins)
            }
            Node::Project { input, expressions, .. } => match expressions.get(column)?.kind {
                ExprKind::Column(index) => input.origin_within(index, joins),
                _ => None,
            },
            Node::Window { input, input_width, .. } if column < *input_width => input.origin_within(column, joins),
            Node::From(from) => match from.units.as_slice() {
                [unit] => unit.node.origin_within(column, joins),
                units if joins => units.iter().find_map(|unit| unit.node.origin_within(column, joins)),
                _ => None,
            },
            Node::Outer(join) if joins => {
                let left = join.left.origin_within(column, joins);
                left.or_else(|| join.right.origin_within(column, joins))
            }
            Node::Filter { input, .. }
            | Node::Arrange { input, .. }
            | Node::Distinct { input, .. }
            | Node::Sort { input, .. }
            | Node::Top { input, .. }
            | Node::Slice { input, .. } => input.origin_within(column, joins),
            _ => None,
        }
    }

    /// Whether a window function is computed anywhere in the plan; those of subqueries do not count.
    pub fn has_window(&self) -> bool {
        match self {
            Node::Window { .. } => true,
            Node::Derived { plan, .. } => plan.root.has_window(),
            Node::Append { inputs, .. } => inputs.iter().any(Node::has_window),
            Node::From(from) => from.units.iter().any(|unit| unit.node.has_window()),
            Node::Outer(join) => join.left.has_window() || join.right.has_window(),
            Node::Loop { left, right, .. }
            | Node::Hash { left, right, .. }
            | Node::Merge { left, right, .. }
            | Node::SetOperation { left, right, .. } => left.has_window() || right.has_window(),
            Node::Filter { input, .. }
            | Node::Arrange { input, .. }
            | Node::Aggregate { input, .. }
            | Node::Project { input, .. }
            | Node::Distinct { input, .. }
            | Node::Sort { input, .. }
            | Node::Top { input, .. }
            | Node::Slice { input, .. } => input.has_window(),
            Node::Single
            | Node::Empty
            | Node::Scan(_)
            | Node::View { .. }
            | Node::Module { .. }
            | Node::Values { .. }
            | Node::Variable { .. }
            | Node::Recursive { .. }
            | Node::Round { .. } => false,
        }
    }
}
