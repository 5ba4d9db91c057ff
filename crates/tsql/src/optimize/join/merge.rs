//! Merge joins: the equalities by which two inputs are merged, their order, and the necessary sorts.
//!
//! ```text
//! both inputs arrive in an order that begins with the same equalities    merged by these, ascending or descending; the others are tested on pairs
//! one input does                                                         the other is sorted alike, or read by an index in that order
//! neither does                                                           both are sorted, by all equalities
//! ```
//! An input with unique keys becomes the left one, unless the written join order is forced: then no rows of the other input are buffered.

use crate::ast::ComparisonOperator;
use crate::optimize::estimate::Estimator;
use crate::optimize::order;
use crate::optimize::ordered::{self, Order, OrderedBy, place_of};
use crate::plan::{Condition, Expr, JoinKind, JoinMethod, JoinNode, Node};

/// The places that the sides of an equality are.
pub(super) type Pair = (usize, usize);

/// Which of the pairs two orders begin with, in their order: all of them least first, or all greatest first.
pub(super) fn common(left: &[OrderedBy], right: &[OrderedBy], pairs: &[Option<Pair>]) -> Vec<usize> {
    let mut found: Vec<usize> = Vec::new();
    let is_descending = descends(left);
    let alike = |by: &(&OrderedBy, &OrderedBy)| by.0.descending == is_descending && by.1.descending == is_descending;
    for (left, right) in left.iter().zip(right).take_while(alike) {
        let (left, right) = (&left.places, &right.places);
        let mut fitting = pairs.iter().enumerate();
        let fits = |pair: &Option<Pair>| pair.is_some_and(|(one, other)| left.contains(&one) && right.contains(&other));
        match fitting.find(|(place, pair)| !found.contains(place) && fits(pair)) {
            Some((place, _)) => found.push(place),
            None => break,
        }
    }
    found
}

/// Whether the first column of an order comes greatest first.
fn descends(order: &[OrderedBy]) -> bool {
    order.first().is_some_and(|by| by.descending)
}

/// Which of the pairs the order of one side begins with.
fn of_one_side(order: &[OrderedBy], pairs: &[Option<Pair>], side: fn(Pair) -> usize) -> Vec<usize> {
    let mut found: Vec<usize> = Vec::new();
    // What the other side is sorted by comes least first.
    for column in order.iter().take_while(|by| !by.descending).map(|by| &by.places) {
        let mut fitting = pairs.iter().enumerate();
        let fits = |pair: &Option<Pair>| pair.is_some_and(|pair| column.contains(&side(pair)));
        match fitting.find(|(place, pair)| !found.contains(place) && fits(pair)) {
            Some((place, _)) => found.push(place),
            None => break,
        }
    }
    found
}

/// Two sides that are joined by equalities.
pub(super) struct Sides {
    pub(super) left: Node,
    pub(super) right: Node,
    pub(super) kind: JoinKind,
    /// Equal pairs, left expression first.
    pub(super) pairs: Vec<(Expr, Expr)>,
    pub(super) residual: Vec<Condition>,
}

impl Sides {
    /// Whether both sides come in an order that they can be merged by as they are.
    pub(super) fn are_ordered(&self) -> bool {
        let (left, right) = (ordered::of(&self.left), ordered::of(&self.right));
        !common(&left, &right, &self.places()).is_empty()
    }

    fn places(&self) -> Vec<Option<Pair>> {
        let places = self
            .pairs
            .iter()
            .map(|(left, right)| place_of(left).zip(place_of(right)));
        places.collect()
    }

    /// The merge join.
    pub(super) fn merged(mut self, may_exchange: bool, estimator: &Estimator<'_>) -> Node {
        let places = self.places();
        let (left_order, right_order) = (ordered::of(&self.left), ordered::of(&self.right));
        let mut chosen = common(&left_order, &right_order, &places);
        let is_descending = !chosen.is_empty() && descends(&left_order);
        let (mut sorts_left, mut sorts_right) = (false, false);
        if chosen.is_empty() {
            let by_left = of_one_side(&left_order, &places, |(left, _)| left);
            let by_right = of_one_side(&right_order, &places, |(_, right)| right);
            (sorts_left, sorts_right) = (by_left.is_empty(), true);
            chosen = by_left;
            if by_right.len() > chosen.len() {
                (sorts_left, sorts_right, chosen) = (true, false, by_right);
            }
            if chosen.is_empty() {
                chosen = (0..self.pairs.len()).collect();
            }
        }
        let keys: Vec<(Expr, Expr)> = chosen.iter().filter_map(|&at| self.pairs.get(at).cloned()).collect();
        for (at, (left, right)) in self.pairs.drain(..).enumerate() {
            if !chosen.contains(&at) {
                let operator = ComparisonOperator::Equal;
                self.residual.push(Condition::Compare { operator, left, right });
            }
        }
        let left = put_in_order(self.left, keys.iter().map(|(left, _)| left), sorts_left, estimator);
        let right = put_in_order(self.right, keys.iter().map(|(_, right)| right), sorts_right, estimator);
        let is_unique = |node: &Node, side: fn(&(Expr, Expr)) -> &Expr| {
            let places: Vec<usize> = keys.iter().filter_map(|key| place_of(side(key))).collect();
            ordered::are_unique(node, &places)
        };
        let is_left_unique = is_unique(&left, |(left, _)| left);
        let is_exchanged = may_exchange && !is_left_unique && is_unique(&right, |(_, right)| right);
        let (left, right) = if is_exchanged { (right, left) } else { (left, right) };
        let keys = match is_exchanged {
            true => keys.into_iter().map(|(left, right)| (right, left)).collect(),
            false => keys,
        };
        let method = JoinMethod::Merge {
            is_descending,
            is_many: !is_left_unique && !is_exchanged,
        };
        let kind = if is_exchanged { self.kind.exchanged() } else { self.kind };
        let residual = Condition::all(self.residual);
        Node::Join(Box::new(JoinNode::new(method, kind, left, right, keys, residual)))
    }
}

/// A side in the order of its keys.
fn put_in_order<'k>(
    mut node: Node,
    keys: impl Iterator<Item = &'k Expr>,
    is_to_sort: bool,
    estimator: &Estimator<'_>,
) -> Node {
    if !is_to_sort {
        ordered::rely_on(&mut node);
        return node;
    }
    order::arrange(node, keys.cloned().collect(), estimator)
}

/// The order of what two sides are merged to: that of the side whose rows are passed one by one. Columns that are equal are one.
pub(super) fn order_of_merged(
    left: &Order,
    right: &Order,
    keys: &[Pair],
    kind: JoinKind,
    is_left_unique: bool,
) -> Order {
    match kind {
        JoinKind::Inner => {
            let mut order = if is_left_unique { right.clone() } else { left.clone() };
            for (by, &(left, right)) in order.iter_mut().zip(keys) {
                by.places.push(if is_left_unique { left } else { right });
            }
            order
        }
        _ => left.iter().take(keys.len()).cloned().collect(),
    }
}
