//! Where a column of a plan comes from, if it is passed on as it is.

use super::{DerivedNode, ExprKind, Node, Part, Shape};

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
        match self.shape() {
            Shape::Source(own) => {
                let own_column = column.checked_sub(own.offset).filter(|column| *column < own.width)?;
                self.origin_in_source(own_column, joins)
            }
            Shape::Passed(input) => input.origin_within(column, joins),
            Shape::Extended(below) => match column < below.width {
                true => below.input.origin_within(column, joins),
                false => None,
            },
            Shape::Joined => self.origin_in_join(column, joins),
            Shape::Computed(below) => {
                let Node::Project(project) = self else { return None };
                match project.expressions.get(column)?.kind {
                    ExprKind::Column(index) => below.input.origin_within(index, joins),
                    _ => None,
                }
            }
            Shape::United => None,
        }
    }

    /// The same of a column of a source. Only rows that are stored are origins.
    fn origin_in_source(&self, column: usize, joins: bool) -> Option<Origin<'_>> {
        if let Node::Derived(DerivedNode { plan, captures, .. }) = self {
            return match captures.is_empty() {
                true => plan.root.origin_within(column, joins),
                false => None,
            };
        }
        let is_stored = matches!(self, Node::Scan(_) | Node::Variable(_));
        is_stored.then_some(Origin { source: self, column })
    }

    /// The same of a place of several sources, of which a FROM of one is none.
    fn origin_in_join(&self, column: usize, joins: bool) -> Option<Origin<'_>> {
        let is_only = matches!(self, Node::From(from) if from.units.len() == 1);
        let is_logical = matches!(self, Node::From(_) | Node::Outer(_));
        if !(is_only || joins && is_logical) {
            return None;
        }
        let mut found = None;
        self.for_each_in_row(&mut |below| found = found.or_else(|| below.origin_within(column, joins)));
        found
    }

    /// Whether a window function is computed anywhere in the plan; those of subqueries do not count, nor those of another recursion.
    pub fn has_window(&self) -> bool {
        if matches!(self, Node::Recursive(_)) {
            return false;
        }
        matches!(self, Node::Window(_))
            || self.has_part(&mut |part| match part {
                Part::Node(below) => below.has_window(),
                Part::Plan(plan) => plan.root.has_window(),
                Part::Apart(_) | Part::Expression(_) | Part::Condition(_) | Part::Written(_) => false,
            })
    }
}
