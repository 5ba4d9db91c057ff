//! Join order and join methods: finds the cheapest tree.
//!
//! ```text
//! up to EXHAUSTIVE_MAX relations   every tree of connected sets (dynamic programming over subsets); any sets if these do not cover FROM
//! more                             repeatedly the two parts whose join has the fewest rows; or, if it is cheaper, one relation after another,
//!                                  keeping the cheapest sets of each size
//! FORCE ORDER, FORCEPLAN, hints    as written
//! ```
//! Sets without a connecting condition are joined only when nothing else is left.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use engine::cancel;
use engine::error::Result;

use super::classes::Met;
use super::merge::{self, Pair};
use super::relations::{Predicate, Relation, Relations, Set};
use crate::messages;
use crate::optimize::ordered::{self, Order as RowOrder, place_of};
use crate::optimize::prices;
use crate::plan::{Condition, JoinKind, JoinMethods};

/// Relations of which all trees are looked at: 3 to this power is what it comes to at most.
const EXHAUSTIVE_MAX: usize = 10;
/// Pairs of a set and a relation that are looked at for more relations: 11 relations have fewer sets than that leaves, so all are.
const PAIRS_MAX: usize = 60_000;
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
    /// For each left row the right rows again.
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
    Join { left: Set, right: Set, method: Method },
}

/// Whether relations are joined one after the other as they are written.
pub(super) fn are_as_written(steps: &[Step]) -> bool {
    steps.iter().all(|step| match step {
        Step::Relation(_) => true,
        Step::Join { left, right, .. } => right.single().is_some_and(|position| *left == Set::before(position)),
    })
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
            order.improve()?;
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

    /// The steps to the whole, each after those it is made from. A relation that is searched row by row is not a step
    /// of its own.
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

    /// The relation, if a set is one that extends what is joined before it, or is found again for each row of it.
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
        let way = self.way(left, right, has_key, rows)?;
        Some(Tree {
            set: left.set.with(right.set),
            rows,
            cost: way.cost + rows * prices::OUTPUT,
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
    fn way(&self, left: &Tree, right: &Tree, has_key: bool, rows: f64) -> Option<Way> {
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
            self.hashed(left, right, has_key, rows).for_each(&mut offer);
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
    fn hashed(&self, left: &Tree, right: &Tree, has_key: bool, rows: f64) -> impl Iterator<Item = Way> {
        let both = left.cost + right.cost;
        let pairs = if has_key {
            0.0
        } else {
            left.rows * right.rows * prices::PAIR
        };
        let kind = self.extension(right.set).map_or(JoinKind::Inner, |one| one.kind);
        let way = |method, build: f64, probe: &Tree, kind: JoinKind| {
            // What a bitmap leaves out is not looked for.
            let kept = match has_key && !kind.keeps_left() && self.is_probed(probe.set) {
                true => rows.min(probe.rows),
                false => probe.rows,
            };
            let probing = kept * prices::PROBE + (probe.rows - kept) * prices::PASSED_OVER;
            Way {
                method,
                cost: both + build * prices::BUILD + probing + pairs,
                order: self.unordered.clone(),
            }
        };
        let build_left = way(Method::BuildLeft, left.rows, right, kind.exchanged());
        let build_right = way(Method::BuildRight, right.rows, left, kind);
        std::iter::once(build_right).chain((!self.is_forced).then_some(build_left))
    }

    /// Whether a set is a table that is scanned, which tests its rows by a bitmap of what it is joined with.
    fn is_probed(&self, set: Set) -> bool {
        let relation = set.single().and_then(|position| self.all.relations.get(position));
        self.all.may_probe && relation.is_some_and(|one| one.is_scanned)
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
        let mut cost = left.cost + right.cost + (left.rows + right.rows) * prices::MERGE;
        if chosen.is_empty() {
            let unsorted = prices::sorting(left.rows) + prices::sorting(right.rows);
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
            cost += right.rows * prices::KEEP;
        }
        let kind = extension.map_or(JoinKind::Inner, |one| one.kind);
        let order = merge::order_of_merged(&left.order, &right.order, &keys, kind, is_left_unique);
        Some(Way {
            method: Method::Merge,
            cost,
            order: Rc::new(order),
        })
    }

    /// The places of the sides of all equalities between two sets, the left one's first; None for sides that are not
    /// columns.
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

    /// Looks for a cheaper tree than the one that was found part by part: relations joined one after the other, and of the sets of each
    /// size those that cost least are gone on with. A part that costs as much as the known whole is not part of a better one.
    fn improve(&mut self) -> Result<()> {
        let count = self.all.relations.len();
        let whole = self.whole();
        let Some(found) = self.tree(whole).map(|tree| tree.cost) else {
            return Ok(());
        };
        // Apart from those found so far: a tree that is merged goes by the order of those it was made of.
        let mut other = Order {
            all: self.all,
            trees: HashMap::new(),
            is_forced: false,
            unordered: self.unordered.clone(),
        };
        let leaves: Vec<Tree> = (0..count).map(|position| other.leaf(position)).collect();
        let mut sets: Vec<Set> = leaves.iter().map(|tree| tree.set).collect();
        other.trees.extend(leaves.into_iter().map(|tree| (tree.set, tree)));
        let sets_max = (PAIRS_MAX / (count * count)).max(1);
        for _ in 1..count {
            let mut larger = HashSet::new();
            for &set in &sets {
                for one in (0..count).map(Set::of).filter(|one| !set.meets(*one)) {
                    cancel::spend(1)?;
                    other.try_pair(set, one, Products::Never);
                    other.try_pair(one, set, Products::Never);
                    larger.insert(set.with(one));
                }
            }
            let known = larger.into_iter().filter_map(|set| other.tree(set));
            let mut cheap: Vec<(f64, Set)> = known.map(|tree| (tree.cost, tree.set)).collect();
            cheap.retain(|(cost, _)| *cost < found);
            cheap.sort_unstable_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
            cheap.truncate(sets_max);
            sets = cheap.into_iter().map(|(_, set)| set).collect();
        }
        if other.tree(whole).is_some_and(|tree| tree.cost < found) {
            self.trees = other.trees;
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

#[cfg(test)]
mod tests {
    use super::super::places::Places;
    use super::super::relations::Search;
    use super::*;
    use crate::plan::Node;

    /// Tables of 1 to 100,000 rows that are connected as a tree, with an index here and there.
    fn drawn(count: usize, seed: u64) -> Relations {
        let mut state = seed;
        let mut draw = |limit: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % limit
        };
        let mut relations = Vec::new();
        let mut predicates = Vec::new();
        for position in 0..count {
            let rows = 10_f64.powf(draw(50) as f64 / 10.0);
            let partner = draw(position.max(1) as u64) as usize;
            let mut searches = Vec::new();
            if position > 0 {
                let (one, two) = (Set::of(partner), Set::of(position));
                predicates.push(Predicate {
                    condition: Condition::Constant(Some(true)),
                    of: one.with(two),
                    selectivity: 10_f64.powf(-(draw(50) as f64) / 10.0),
                    sides: Some((one, two)),
                    class: None,
                });
                if draw(2) == 1 {
                    let cost = 4.0 + draw(100) as f64;
                    searches.push(Search { needs: one, cost });
                }
            }
            relations.push(Relation {
                node: Node::Single,
                own: Vec::new(),
                kind: JoinKind::Inner,
                on: Vec::new(),
                needs: Set::default(),
                lateral: false,
                methods: JoinMethods::ANY,
                rows,
                cost: rows * 2.0,
                order: Rc::default(),
                is_scanned: false,
                searches,
                factor: 1.0,
                written: None,
            });
        }
        Relations {
            relations,
            predicates,
            once: Vec::new(),
            places: Places::of([].into_iter()),
            methods: JoinMethods::ANY,
            may_merge: false,
            may_probe: true,
        }
    }

    fn cost(order: &Order<'_>) -> f64 {
        order.tree(order.whole()).map_or(f64::INFINITY, |tree| tree.cost)
    }

    fn leaves(all: &Relations) -> (Order<'_>, Vec<Tree>) {
        let mut order = Order {
            all,
            trees: HashMap::new(),
            is_forced: false,
            unordered: Rc::default(),
        };
        let parts: Vec<Tree> = (0..all.relations.len()).map(|position| order.leaf(position)).collect();
        order.trees.extend(parts.iter().map(|tree| (tree.set, tree.clone())));
        (order, parts)
    }

    /// Joins of eleven tables were ordered part by part alone, some at twenty times the cost that they could have had.
    #[test]
    fn an_order_found_part_by_part_is_improved() {
        let (mut improved, mut best) = (0, 0);
        for seed in 0..200 {
            let all = drawn(8, seed);
            let (mut order, parts) = leaves(&all);
            assert!(order.greedy(parts).is_ok());
            let greedy = cost(&order);
            assert!(order.improve().is_ok());
            let after = cost(&order);
            let (mut every, _) = leaves(&all);
            assert!(every.exhaustive(8, Products::Never).is_ok());
            let least = cost(&every);
            assert!(after <= greedy, "{seed}: {after}, {greedy}");
            improved += usize::from(after < greedy);
            best += usize::from(after <= least * 1.1);
        }
        assert!(
            improved > 50 && best > 150,
            "{improved} of 200 improved, {best} nearly the best"
        );
    }

    #[test]
    fn many_relations_are_ordered_within_the_bound() {
        for count in [11, 12, 40, 128] {
            let all = drawn(count, 7);
            let order = Order::of(&all, false);
            assert!(order.is_ok_and(|order| order.steps().len() >= count));
        }
    }
}
