//! In which order relations are joined, and how: the cheapest tree.
//!
//! ```text
//! up to EXHAUSTIVE_MAX relations   every tree of connected sets (dynamic programming over subsets); of any sets where these make no whole
//! more                             the two parts whose join leaves the fewest rows, again and again
//! FORCE ORDER, FORCEPLAN, hints    as they are written
//! ```
//! A join between sets that no condition connects is made only when nothing else is left.

use std::collections::HashMap;
use std::rc::Rc;

use engine::cancel;
use engine::error::Result;

use super::classes::Met;
use super::merge::{self, Pair};
use super::relations::{Predicate, Relation, Relations, Set};
use crate::messages;
use crate::optimize::ordered::{self, Order as RowOrder, place_of};
use crate::plan::{Condition, JoinKind, JoinMethods};

/// Relations of which all trees are looked at: 3 to this power is what it comes to at most.
const EXHAUSTIVE_MAX: usize = 10;
/// What a row costs that is put into a hash table, that is looked for in one, and that comes out of a join.
pub(super) const BUILD_COST: f64 = 2.0;
pub(super) const PROBE_COST: f64 = 1.0;
pub(super) const OUTPUT_COST: f64 = 0.2;
/// What a row of either side costs that is read beside the other side's, and one that is kept for several rows of the other: 250,000 orders
/// and a million lines that take 174 ms to be read are joined in 205 ms by merging, and in 389 ms by a hash table (the example `join_methods`).
pub(super) const MERGE_COST: f64 = 0.25;
const KEEP_COST: f64 = 0.5;
/// What a row costs that is sorted, and for each doubling of their number: a million of them 214 ms in the same example, or 1.5 rows read each.
const SORT_COST: f64 = 0.6;
const DOUBLING_COST: f64 = 0.07;
/// What a pair of rows costs that is compared.
const PAIR_COST: f64 = 0.5;

/// What sorting so many rows costs.
pub(super) fn sort_cost(rows: f64) -> f64 {
    rows * (SORT_COST + DOUBLING_COST * rows.max(2.0).log2())
}

/// How two sets are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// The right rows in a hash table.
    BuildRight,
    /// The left rows in a hash table.
    BuildLeft,
    /// Both side by side in the order of equal values.
    Merge,
    /// For each left row a search in an index of the right relation.
    Search,
    /// For each left row the right rows anew.
    Loop,
    /// For each left row the subquery that the right relation was made of.
    Ask,
}

/// Whether sets are joined that no condition connects: a condition of three relations may leave nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Products {
    Never,
    Allowed,
}

/// A step towards the whole.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// A relation by itself.
    Relation(usize),
    /// Two sets made before.
    Join {
        /// The left one.
        left: Set,
        /// The right one.
        right: Set,
        /// How.
        method: Method,
    },
}

/// The cheapest tree found for a set.
#[derive(Clone, Debug)]
struct Tree {
    set: Set,
    rows: f64,
    cost: f64,
    /// The order that its rows come in.
    order: Rc<RowOrder>,
    /// How it is made of two others, or a relation.
    join: Option<(Set, Set, Method)>,
}

/// A way to join two trees.
struct Way {
    method: Method,
    cost: f64,
    order: Rc<RowOrder>,
}

/// Finds the order. Trees are looked up by their sets.
pub(super) struct Order<'r> {
    all: &'r Relations,
    trees: HashMap<Set, Tree>,
    is_forced: bool,
    /// No order.
    unordered: Rc<RowOrder>,
}

impl<'r> Order<'r> {
    /// The best order of these relations; `is_forced` keeps the one that is written.
    ///
    /// # Errors
    /// 8622 when hints leave no way to join; 3617 when the batch was cancelled.
    pub(super) fn of(all: &'r Relations, is_forced: bool) -> Result<Order<'r>> {
        let mut order = Order {
            all,
            trees: HashMap::new(),
            is_forced,
            unordered: Rc::default(),
        };
        let mut parts = Vec::new();
        for position in 0..all.relations.len() {
            let tree = order.leaf(position);
            parts.push(tree.clone());
            order.trees.insert(tree.set, tree);
        }
        if is_forced {
            order.as_written(parts)?;
        } else if parts.len() <= EXHAUSTIVE_MAX {
            order.exhaustive(parts.len(), Products::Never)?;
            if !order.trees.contains_key(&order.whole()) {
                order.exhaustive(parts.len(), Products::Allowed)?;
            }
        }
        let whole = order.whole();
        let hints_order = is_forced
            && all
                .relations
                .iter()
                .any(|one| one.methods != JoinMethods::ANY && !one.methods.is_wish);
        if !order.trees.contains_key(&whole) && !hints_order {
            let parts = (0..all.relations.len()).filter_map(|position| order.tree(Set::of(position)).cloned());
            let parts = parts.collect();
            order.greedy(parts)?;
        }
        match whole.is_empty() || order.trees.contains_key(&whole) {
            true => Ok(order),
            false => Err(messages::no_plan_for_hints()),
        }
    }

    /// All relations.
    fn whole(&self) -> Set {
        let sets = (0..self.all.relations.len()).map(Set::of);
        sets.fold(Set::default(), Set::with)
    }

    /// The steps to the whole, each after those it is made from. What is searched for row by row is no step of its own.
    pub(super) fn steps(&self) -> Vec<Step> {
        let (mut steps, mut open) = (Vec::new(), vec![self.whole()]);
        while let Some(set) = open.pop() {
            let Some(tree) = self.tree(set) else { continue };
            match tree.join {
                Some((left, right, method)) => {
                    steps.push(Step::Join { left, right, method });
                    open.push(left);
                    if !matches!(method, Method::Search | Method::Ask) {
                        open.push(right);
                    }
                }
                None => steps.extend(set.single().map(Step::Relation)),
            }
        }
        steps.reverse();
        steps
    }

    /// The tree found for a set.
    fn tree(&self, set: Set) -> Option<&Tree> {
        self.trees.get(&set)
    }

    fn leaf(&self, position: usize) -> Tree {
        let relation = &self.all.relations[position];
        Tree {
            set: Set::of(position),
            rows: relation.rows,
            cost: relation.cost,
            order: relation.order.clone(),
            join: None,
        }
    }

    /// The relation, if a set is one that extends what is joined before it, or is found anew for each row of it.
    fn extension(&self, set: Set) -> Option<&'r super::relations::Relation> {
        let relation = &self.all.relations[set.single()?];
        (relation.kind != JoinKind::Inner || relation.lateral).then_some(relation)
    }

    /// Whether two sets may be joined, the right one behind the left.
    fn may_join(&self, left: Set, right: Set) -> bool {
        if self.extension(left).is_some() {
            return false;
        }
        match self.extension(right) {
            Some(extension) => left.contains(extension.needs),
            None => true,
        }
    }

    /// The conditions that are tested when two sets are joined.
    fn is_tested(&self, predicate: &Predicate, left: Set, right: Set) -> bool {
        match self.extension(right) {
            Some(_) => left.with(right).contains(predicate.of) && !left.contains(predicate.of),
            None => predicate.joins(left, right),
        }
    }

    /// Whether a condition says which rows of two sets belong together.
    fn are_connected(&self, left: Set, right: Set) -> bool {
        if let Some(extension) = self.extension(right) {
            return !extension.needs.is_empty();
        }
        let mut predicates = self.all.predicates.iter();
        predicates.any(|predicate| predicate.joins(left, right))
    }

    /// The cheapest join of two trees, with the sides as they are.
    fn joined(&self, left: &Tree, right: &Tree) -> Option<Tree> {
        if !self.may_join(left.set, right.set) {
            return None;
        }
        let (mut has_key, mut selectivity, mut met) = (false, 1.0, Met::default());
        let mut tested = self.all.predicates.iter();
        while let Some(predicate) = tested.find(|one| self.is_tested(one, left.set, right.set)) {
            has_key |= predicate.is_key(left.set, right.set);
            if met.is_first(predicate) {
                selectivity *= predicate.selectivity;
            }
        }
        let extension = self.extension(right.set);
        let rows = match extension.map(|one| one.kind) {
            Some(JoinKind::Inner) | None => left.rows * right.rows * selectivity,
            Some(_) => left.rows * extension.map_or(1.0, |one| one.factor) * selectivity,
        };
        let rows = rows.max(1e-3);
        let way = self.way(left, right, has_key)?;
        Some(Tree {
            set: left.set.with(right.set),
            rows,
            cost: way.cost + rows * OUTPUT_COST,
            order: way.order,
            join: Some((left.set, right.set, way.method)),
        })
    }

    /// How hints let two sets be joined.
    fn methods(&self, left: Set, right: Set) -> JoinMethods {
        let of = |set: Set| set.single().map(|position| self.all.relations[position].methods);
        // Only where the order is kept do joins have hints of their own; else all are the statement's.
        of(right).or_else(|| of(left)).unwrap_or(self.all.methods)
    }

    /// The cheapest way to join two trees that hints leave.
    fn way(&self, left: &Tree, right: &Tree, has_key: bool) -> Option<Way> {
        let methods = self.methods(left.set, right.set);
        let extension = self.extension(right.set);
        let of_left = |method: Method, cost: f64| Way {
            method,
            cost,
            order: left.order.clone(),
        };
        if extension.is_some_and(|one| one.lateral) {
            let cost = left.cost + left.rows * (right.cost + 1.0);
            return methods.loops.then(|| of_left(Method::Loop, cost));
        }
        let has_key = has_key || extension.is_some_and(|one| one.on.iter().any(|on| self.is_equality(on)));
        let mut best: Option<Way> = None;
        let mut offer = |way: Way| {
            if best.as_ref().is_none_or(|best| way.cost < best.cost) {
                best = Some(way);
            }
        };
        if methods.hashes && (has_key || methods.loops) {
            self.hashed(left, right, has_key).for_each(&mut offer);
        }
        if methods.merges && has_key {
            self.merged(left, right, methods.sorts).into_iter().for_each(&mut offer);
        }
        if methods.loops && !methods.hashes {
            offer(of_left(Method::Loop, left.cost + left.rows * (right.cost + 1.0)));
        }
        if methods.loops
            && let Some(position) = right.set.single()
        {
            let searches = self.all.relations[position].searches.iter();
            let usable = searches.filter(|search| left.set.contains(search.needs));
            usable.for_each(|search| offer(of_left(Method::Search, left.cost + left.rows * search.cost)));
        }
        let written = extension.and_then(|one| one.written.as_ref());
        let asked = written.map(|written| of_left(Method::Ask, left.cost + left.rows * written.row_cost));
        match (best, asked) {
            // The hint at the join is not among the statement's.
            _ if !(methods.loops || methods.hashes || methods.merges) => None,
            // Where an index is searched, asking comes to the same, with more ado.
            (Some(best), Some(asked)) => {
                let is_better = methods.loops && best.method != Method::Search && asked.cost < best.cost;
                Some(if is_better { asked } else { best })
            }
            (best, asked) => best.or(asked),
        }
    }

    fn is_equality(&self, condition: &Condition) -> bool {
        super::relations::sides(condition, &self.all.places).is_some()
    }

    /// A hash table of the right rows, or of the left ones where the order of the text does not count.
    fn hashed(&self, left: &Tree, right: &Tree, has_key: bool) -> impl Iterator<Item = Way> {
        let both = left.cost + right.cost;
        let pairs = if has_key {
            0.0
        } else {
            left.rows * right.rows * PAIR_COST
        };
        let way = |method, build: f64, probe: f64| Way {
            method,
            cost: both + build * BUILD_COST + probe * PROBE_COST + pairs,
            order: self.unordered.clone(),
        };
        let build_left = way(Method::BuildLeft, left.rows, right.rows);
        let build_right = way(Method::BuildRight, right.rows, left.rows);
        std::iter::once(build_right).chain((!self.is_forced).then_some(build_left))
    }

    /// Both sides merged: if they come in orders that fit, or may be sorted for it.
    fn merged(&self, left: &Tree, right: &Tree, sorts: bool) -> Option<Way> {
        let are_ordered = self.all.may_merge && !left.order.is_empty() && !right.order.is_empty();
        if !are_ordered && !sorts {
            return None;
        }
        let extension = self.extension(right.set);
        let pairs = self.pairs(left.set, right.set);
        let chosen = merge::common(&left.order, &right.order, &pairs);
        let mut cost = left.cost + right.cost + (left.rows + right.rows) * MERGE_COST;
        if chosen.is_empty() {
            let unsorted = sort_cost(left.rows) + sort_cost(right.rows);
            return sorts.then(|| Way {
                method: Method::Merge,
                cost: cost + unsorted,
                order: self.unordered.clone(),
            });
        }
        let keys: Vec<Pair> = chosen
            .iter()
            .filter_map(|&at| pairs.get(at).copied().flatten())
            .collect();
        let is_left_unique = self.is_unique(left, keys.iter().map(|(left, _)| *left));
        let is_right_unique = self.is_unique(right, keys.iter().map(|(_, right)| *right));
        let is_many = !is_left_unique && (self.is_forced || !is_right_unique);
        if is_many {
            // What the other equalities leave out of a group is met again and again.
            if chosen.len() < pairs.len() && !sorts {
                return None;
            }
            cost += right.rows * KEEP_COST;
        }
        let kind = extension.map_or(JoinKind::Inner, |one| one.kind);
        let order = merge::order_of_merged(&left.order, &right.order, &keys, kind, is_left_unique);
        Some(Way {
            method: Method::Merge,
            cost,
            order: Rc::new(order),
        })
    }

    /// The places of the sides of all equalities between two sets, the left one's first; none of what is no column.
    fn pairs(&self, left: Set, right: Set) -> Vec<Option<Pair>> {
        let tested = self
            .all
            .predicates
            .iter()
            .filter(|one| self.is_tested(one, left, right));
        let of_inner = tested.map(|predicate| &predicate.condition);
        let conditions: Vec<&Condition> = match self.extension(right) {
            Some(extension) if extension.kind != JoinKind::Inner => extension.on.iter().collect(),
            _ => of_inner.collect(),
        };
        let pairs = conditions.into_iter().filter_map(|condition| {
            let (first, second) = super::relations::sides(condition, &self.all.places)?;
            let (one, other) = condition.equal_sides()?;
            if left.contains(first) && right.contains(second) {
                Some(place_of(one).zip(place_of(other)))
            } else if left.contains(second) && right.contains(first) {
                Some(place_of(other).zip(place_of(one)))
            } else {
                None
            }
        });
        pairs.collect()
    }

    /// Whether no two rows of a relation have the same in these places.
    fn is_unique(&self, tree: &Tree, places: impl Iterator<Item = usize>) -> bool {
        let relation: Option<&Relation> = tree.set.single().and_then(|at| self.all.relations.get(at));
        relation.is_some_and(|one| ordered::are_unique(&one.node, &places.collect::<Vec<_>>()))
    }

    fn keep_if_better(&mut self, tree: Tree) {
        let known = self.trees.get(&tree.set);
        if known.is_none_or(|known| tree.cost < known.cost) {
            self.trees.insert(tree.set, tree);
        }
    }

    /// Every way to make every set of two others.
    fn exhaustive(&mut self, count: usize, products: Products) -> Result<()> {
        for set in 1..1_u128 << count {
            let mut left = (set - 1) & set;
            while left != 0 {
                cancel::spend(1)?;
                self.try_pair(Set(left), Set(set & !left), products);
                left = (left - 1) & set;
            }
        }
        Ok(())
    }

    fn try_pair(&mut self, left: Set, right: Set, products: Products) {
        let (Some(left), Some(right)) = (self.trees.get(&left), self.trees.get(&right)) else {
            return;
        };
        if (products == Products::Allowed || self.are_connected(left.set, right.set))
            && let Some(tree) = self.joined(left, right)
        {
            self.keep_if_better(tree);
        }
    }

    /// Joins those two parts that leave the fewest rows, until there is one.
    fn greedy(&mut self, mut parts: Vec<Tree>) -> Result<()> {
        while parts.len() > 1 {
            let mut best: Option<(bool, f64, usize, usize, Tree)> = None;
            for (first, left) in parts.iter().enumerate() {
                cancel::spend(parts.len())?;
                for (second, right) in parts.iter().enumerate() {
                    if first == second {
                        continue;
                    }
                    let is_apart = !self.are_connected(left.set, right.set);
                    if is_apart && best.as_ref().is_some_and(|best| !best.0) {
                        continue;
                    }
                    let Some(tree) = self.joined(left, right) else { continue };
                    // Costs of the parts are spent whichever join comes first.
                    let own = tree.rows + (tree.cost - left.cost - right.cost).max(0.0);
                    let is_better =
                        |(apart, cost, ..): &(bool, f64, usize, usize, Tree)| (is_apart, own) < (*apart, *cost);
                    if best.as_ref().is_none_or(is_better) {
                        best = Some((is_apart, own, first, second, tree));
                    }
                }
            }
            let Some((_, _, first, second, tree)) = best else { break };
            self.trees.insert(tree.set, tree.clone());
            parts.swap_remove(first.max(second));
            parts.swap_remove(first.min(second));
            parts.push(tree);
        }
        Ok(())
    }

    /// One after the other, as they are written.
    fn as_written(&mut self, parts: Vec<Tree>) -> Result<()> {
        let mut parts = parts.into_iter();
        let Some(mut joined) = parts.next() else { return Ok(()) };
        for part in parts {
            cancel::spend(1)?;
            let Some(tree) = self.joined(&joined, &part) else {
                // It needs what is written behind it.
                return Ok(());
            };
            self.trees.insert(tree.set, tree.clone());
            joined = tree;
        }
        Ok(())
    }
}
