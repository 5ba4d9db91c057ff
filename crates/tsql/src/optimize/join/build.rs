//! The operators of a tree of joins.

use engine::error::{Error, Result};

use super::classes::Met;
use super::merge::Sides;
use super::order::{Method, Step};
use super::relations::{Relation, Relations, Set};
use super::{filtered, split_keys};
use crate::optimize::access;
use crate::optimize::estimate::Estimator;
use crate::optimize::shown::{ShownOperator, show_join, show_where};
use crate::plan::{Condition, Expr, JoinKind, JoinMethod, JoinNode, Node};
use crate::state::Rule;

/// Takes relations and conditions and makes operators of them, each once.
pub(super) struct Builder<'e, 's> {
    estimator: &'e Estimator<'s>,
    all: Relations,
    taken: Vec<Option<Relation>>,
    /// Whether the sides of joins stay as they are written.
    is_forced: bool,
}

/// What a step has made: rows of a set.
struct Made {
    set: Set,
    node: Node,
}

impl<'e, 's> Builder<'e, 's> {
    pub(super) fn new(mut all: Relations, estimator: &'e Estimator<'s>, is_forced: bool) -> Builder<'e, 's> {
        let taken = std::mem::take(&mut all.relations).into_iter().map(Some).collect();
        Builder {
            estimator,
            all,
            taken,
            is_forced,
        }
    }

    /// Builds the last step's operators from those before it. Without a step there is one row.
    ///
    /// # Errors
    /// An assertion where a step names what no step before it made.
    pub(super) fn build(mut self, steps: &[Step]) -> Result<Node> {
        let mut made: Vec<Made> = Vec::new();
        for step in steps {
            let node = match step {
                Step::Relation(position) => Made {
                    set: Set::of(*position),
                    node: self.relation(*position)?,
                },
                Step::Join { left, right, method } => self.join(&mut made, *left, *right, *method)?,
            };
            made.push(node);
        }
        let node = made.pop().map_or(Node::Single, |last| last.node);
        // Whatever no join was there to test.
        let rest = std::mem::take(&mut self.all.predicates);
        let rest = rest.into_iter().map(|predicate| predicate.condition);
        Ok(filtered(node, rest.collect()))
    }

    fn choosing<'c>(&'c self, is_known: &'c dyn Fn(usize) -> bool) -> access::Choosing<'c, 's> {
        access::Choosing {
            estimator: self.estimator,
            is_known,
        }
    }

    /// A relation by itself, found by the best way its own conditions allow.
    fn relation(&mut self, position: usize) -> Result<Node> {
        let relation = self.taken.get_mut(position).and_then(Option::as_mut);
        let relation = relation.ok_or_else(no_such_step)?;
        let node = std::mem::replace(&mut relation.node, Node::Empty);
        let own = std::mem::take(&mut relation.own);
        let rules = self.estimator.rules();
        let before = rules.before(|| show_where(&node, &own));
        let (node, own) = access::choose(node, own, &self.choosing(&|_| false));
        let node = filtered(node, own);
        rules.chosen(&before, &node, access::rule_of);
        Ok(node)
    }

    /// The conditions that a join of two sets tests; they are tested nowhere else.
    fn tested(&mut self, left: Set, right: Set, is_extension: bool) -> Vec<Condition> {
        let whole = left.with(right);
        let predicates = std::mem::take(&mut self.all.predicates);
        let (tested, others): (Vec<_>, Vec<_>) = predicates.into_iter().partition(|predicate| match is_extension {
            true => whole.contains(predicate.of) && !left.contains(predicate.of),
            false => predicate.joins(left, right),
        });
        self.all.predicates = others;
        let mut met = Met::default();
        let first = tested.into_iter().filter(|predicate| met.is_first(predicate));
        first.map(|predicate| predicate.condition).collect()
    }

    fn join(&mut self, made: &mut Vec<Made>, left: Set, right: Set, method: Method) -> Result<Made> {
        let single = right.single().and_then(|position| self.taken.get(position)?.as_ref());
        let extension = single.filter(|one| one.kind != JoinKind::Inner || one.lateral);
        let kind = extension.map_or(JoinKind::Inner, |one| one.kind);
        let is_extension = extension.is_some();
        let tested = self.tested(left, right, is_extension);
        let (on, above) = match kind {
            JoinKind::Inner => (tested, Vec::new()),
            // A condition outside ON is tested once it is known which rows have a partner.
            _ => {
                let relation = right
                    .single()
                    .and_then(|position| self.taken.get_mut(position)?.as_mut());
                (
                    relation.map(|one| std::mem::take(&mut one.on)).unwrap_or_default(),
                    tested,
                )
            }
        };
        let mut take = |set: Set| {
            let position = made.iter().position(|one| one.set == set);
            position.map(|position| made.remove(position))
        };
        let left_rows = take(left).ok_or_else(no_such_step)?;
        let right_rows = match take(right) {
            Some(made) => made,
            // Of a relation that is searched, or whose subquery is asked, no rows were made.
            None if matches!(method, Method::Search | Method::Ask) => Made {
                set: right,
                node: Node::Empty,
            },
            None => return Err(no_such_step()),
        };
        let rules = self.estimator.rules();
        let before = rules.before(|| self.unjoined(&left_rows, &right_rows, kind, &on));
        let node = match method {
            Method::Search => self.search(left_rows, right, on, kind)?,
            Method::Ask => self.asked(left_rows.node, right),
            Method::Loop => looped(left_rows.node, right_rows.node, kind, on),
            Method::Merge => self.merged(left_rows, right_rows, kind, on),
            Method::BuildRight => self.hashed(left_rows, right_rows, kind, on),
            Method::BuildLeft => self.hashed(right_rows, left_rows, kind.exchanged(), on),
        };
        rules.chosen(&before, &node, |node| match method {
            Method::Search if is_looped(node) => Some(Rule::IndexJoin),
            _ => rule_of(node),
        });
        Ok(Made {
            set: left.with(right),
            node: filtered(node, above),
        })
    }

    /// Two sides before it is said how they are joined. Of a relation that is searched no rows were made.
    fn unjoined(&self, left: &Made, right: &Made, kind: JoinKind, on: &[Condition]) -> ShownOperator {
        let single = right.set.single();
        let single = single.and_then(|position| self.taken.get(position)?.as_ref());
        if let Some(relation) = single
            && !matches!(relation.node, Node::Empty)
        {
            let all: Vec<Condition> = relation.own.iter().chain(on).cloned().collect();
            return show_join(&left.node, &relation.node, kind, &all);
        }
        show_join(&left.node, &right.node, kind, on)
    }

    /// The subquery that a semi or anti join was made of, for each left row.
    fn asked(&mut self, left_node: Node, right: Set) -> Node {
        let relation = right.single().and_then(|at| self.taken.get_mut(at)?.as_mut());
        let written = relation.and_then(|one| one.written.take());
        filtered(
            left_node,
            written.into_iter().map(|written| written.condition).collect(),
        )
    }

    fn merged(&self, left: Made, right: Made, kind: JoinKind, on: Vec<Condition>) -> Node {
        let (pairs, residual) = split_keys(on, left.set, right.set, &self.all.places);
        let sides = Sides {
            left: left.node,
            right: right.node,
            kind,
            pairs,
            residual,
        };
        sides.merged(!self.is_forced, self.estimator)
    }

    fn hashed(&self, left: Made, right: Made, kind: JoinKind, on: Vec<Condition>) -> Node {
        let (keys, residual) = split_keys(on, left.set, right.set, &self.all.places);
        hashed(left.node, right.node, kind, keys, residual)
    }

    /// For each left row a search in the right table.
    fn search(&mut self, left: Made, right: Set, on: Vec<Condition>, kind: JoinKind) -> Result<Node> {
        let single = right.single();
        let relation = single.and_then(|position| self.taken.get_mut(position)?.as_mut());
        let relation = relation.ok_or_else(no_such_step)?;
        let node = std::mem::replace(&mut relation.node, Node::Empty);
        let (own, hashes) = (std::mem::take(&mut relation.own), relation.methods.hashes);
        let places = &self.all.places;
        let is_known = |place: usize| {
            places
                .relation(place)
                .is_some_and(|one| left.set.contains(Set::of(one)))
        };
        let wanted: Vec<Condition> = own.iter().chain(&on).cloned().collect();
        let (found, _) = access::choose(node, wanted, &self.choosing(&is_known));
        if uses_left(&found, &is_known) || !hashes {
            return Ok(looped(left.node, filtered(found, own), kind, on));
        }
        // The way that was counted on is not there: the right rows go into a table.
        let found = Made {
            set: right,
            node: filtered(found, own),
        };
        Ok(self.hashed(left, found, kind, on))
    }
}

fn no_such_step() -> Error {
    Error::assertion("a join of what no step has made")
}

/// The rule that a join is made by, if rows are not compared each with each.
pub(in crate::optimize) fn rule_of(node: &Node) -> Option<Rule> {
    let Node::Join(join) = node else { return None };
    match join.method {
        JoinMethod::Loop => None,
        JoinMethod::Hash { .. } => Some(Rule::HashJoin),
        JoinMethod::Merge { .. } => Some(Rule::MergeJoin),
    }
}

fn is_looped(node: &Node) -> bool {
    matches!(node, Node::Join(join) if join.method == JoinMethod::Loop)
}

/// Whether a search goes by columns of the left side.
fn uses_left(node: &Node, is_known: &dyn Fn(usize) -> bool) -> bool {
    let Node::Scan(scan) = node else { return false };
    let mut uses = false;
    if let Some(seek) = &scan.seek {
        seek.for_each_expression(&mut |value| value.for_each_column(&mut |place| uses = uses || is_known(place)));
    }
    uses
}

fn looped(left: Node, right: Node, kind: JoinKind, conditions: Vec<Condition>) -> Node {
    Node::Join(Box::new(JoinNode::looped(
        kind,
        left,
        right,
        Condition::all(conditions),
    )))
}

/// A join by a hash table of the right side.
pub(super) fn hashed(
    left: Node,
    right: Node,
    kind: JoinKind,
    keys: Vec<(Expr, Expr)>,
    residual: Vec<Condition>,
) -> Node {
    let method = JoinMethod::Hash { has_bitmap: false };
    let residual = Condition::all(residual);
    Node::Join(Box::new(JoinNode::new(method, kind, left, right, keys, residual)))
}
