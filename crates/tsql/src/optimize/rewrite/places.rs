//! Positions of the wide row: their sources, and moving sources.

use engine::error::Result;

use crate::plan::{Condition, Expr, Node, PartMut};

/// A set of places.
#[derive(Clone, Debug, Default)]
pub(super) struct Places(Vec<bool>);

impl Places {
    /// The places that a tree of FROM writes to.
    pub(super) fn of(node: &Node) -> Places {
        let mut places = Places::default();
        places.add(node);
        places
    }

    pub(super) fn add(&mut self, node: &Node) {
        node.for_each_range(&mut |(first, width)| (first..first + width).for_each(|place| self.insert(place)));
    }

    pub(super) fn insert(&mut self, place: usize) {
        if place >= self.0.len() {
            self.0.resize(place + 1, false);
        }
        self.0[place] = true;
    }

    pub(super) fn contains(&self, place: usize) -> bool {
        self.0.get(place).copied().unwrap_or(false)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let places = self.0.iter().enumerate();
        places.filter(|(_, is_in)| **is_in).map(|(place, _)| place)
    }

    /// Whether a condition reads columns, and none but these.
    pub(super) fn are_all_of(&self, condition: &Condition) -> bool {
        let (mut reads, mut only) = (false, true);
        condition.for_each_column(&mut |place| {
            reads = true;
            only = only && self.contains(place);
        });
        reads && only
    }

    /// Whether an expression reads one of these.
    pub(super) fn meet(&self, expression: &Expr) -> bool {
        let mut meets = false;
        expression.for_each_column(&mut |place| meets = meets || self.contains(place));
        meets
    }

    /// Whether a condition reads one of these.
    pub(super) fn meet_condition(&self, condition: &Condition) -> bool {
        let mut meets = false;
        condition.for_each_column(&mut |place| meets = meets || self.contains(place));
        meets
    }
}

/// Has the sources of a tree of FROM write so many places further behind.
pub(super) fn move_by(node: &mut Node, by: usize) -> Result<()> {
    crate::stack::require()?;
    node.move_places(by);
    node.parts_mut(&mut |part| match part {
        PartMut::Node(below) => move_by(below, by),
        PartMut::Apart(_) | PartMut::Plan(_) | PartMut::Expression(_) | PartMut::Condition(_) | PartMut::Written(_) => {
            Ok(())
        }
    })
}
