//! The relation to which a position of the wide row belongs.

use super::relations::Set;
use crate::plan::{Condition, Expr, Node};

/// The relations by place.
pub(super) struct Places {
    relations: Vec<Option<u8>>,
}

impl Places {
    /// Of relations in their order, no more than a [`Set`] holds.
    pub(super) fn of<'n>(nodes: impl Iterator<Item = &'n Node>) -> Places {
        let mut relations = Vec::new();
        for (relation, node) in nodes.enumerate() {
            node.for_each_range(&mut |(start, width)| {
                relations.resize(relations.len().max(start + width), None);
                let own = relations.iter_mut().skip(start).take(width);
                own.for_each(|place| *place = u8::try_from(relation).ok());
            });
        }
        Places { relations }
    }

    /// The relation of a place.
    pub(super) fn relation(&self, place: usize) -> Option<usize> {
        self.relations.get(place).copied().flatten().map(usize::from)
    }

    fn add(&self, set: &mut Set, place: usize) {
        if let Some(relation) = self.relation(place) {
            *set = set.with(Set::of(relation));
        }
    }

    /// The relations that an expression reads.
    pub(super) fn of_expression(&self, expression: &Expr) -> Set {
        let mut set = Set::default();
        expression.for_each_column(&mut |place| self.add(&mut set, place));
        set
    }

    /// The relations that the operators of a tree read.
    pub(super) fn of_inside(&self, node: &Node) -> Set {
        let mut used = vec![false; self.relations.len()];
        node.mark_columns(&mut used);
        let mut set = Set::default();
        let places = used.iter().enumerate().filter(|(_, is_used)| **is_used);
        places.for_each(|(place, _)| self.add(&mut set, place));
        set
    }

    /// The relations that a condition reads.
    pub(super) fn of_condition(&self, condition: &Condition) -> Set {
        let mut set = Set::default();
        condition.for_each_column(&mut |place| self.add(&mut set, place));
        set
    }
}
