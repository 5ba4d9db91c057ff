//! The input of join ordering: relations, and the conditions between them.
//!
//! ```text
//! a, b join c on p(b, c) left join d on q(c, d) where r(a, b) and s(a)
//! relations    a {own: s}   b   c   d {LEFT, needs c, on: q}
//! predicates   p of {b, c}   r of {a, b}
//! ```
//! The left side of an outer join is part of the surrounding FROM: inner joins may come before or after it, as long as the columns in its
//! ON are available. The relation on its right is joined alone, and only after the relations in its ON. Conditions on it are tested above
//! that join. Semi and anti joins, made from subqueries, work the same way. Both sides of FULL stay one relation.

use std::rc::Rc;

use super::classes;
use super::places::Places;
use super::{cost, partners};
use crate::ast::ComparisonOperator;
use crate::optimize::access;
use crate::optimize::alternatives;
use crate::optimize::estimate::{Estimator, Sources, column_of};
use crate::optimize::ordered::{self, Order};
use crate::optimize::prices;
use crate::optimize::restriction::searched_place;
use crate::optimize::rewrite;
use crate::plan::{Condition, FromNode, JoinKind, JoinMethods, Node, OuterJoin};
use crate::state::Rule;

/// Relations that are ordered together. More are joined in parts.
pub(in crate::optimize) const RELATIONS_MAX: usize = 128;

/// A set of relations, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Set(pub(super) u128);

impl Set {
    pub(super) fn of(relation: usize) -> Set {
        Set(1 << relation)
    }

    /// All relations before this one.
    pub(super) fn before(relation: usize) -> Set {
        Set((1 << relation) - 1)
    }

    /// All relations up to the last one of a set.
    pub(super) fn up_to(set: Set) -> Set {
        Set(u128::MAX.checked_shr(set.0.leading_zeros()).unwrap_or(0))
    }

    pub(super) fn with(self, other: Set) -> Set {
        Set(self.0 | other.0)
    }

    pub(super) fn without(self, other: Set) -> Set {
        Set(self.0 & !other.0)
    }

    pub(super) fn contains(self, other: Set) -> bool {
        other.0 & !self.0 == 0
    }

    pub(super) fn meets(self, other: Set) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// The only relation.
    pub(super) fn single(self) -> Option<usize> {
        (self.len() == 1).then(|| self.0.trailing_zeros() as usize)
    }
}

/// What is joined as one.
pub(super) struct Relation {
    /// Its rows, found in no special way yet.
    pub(super) node: Node,
    /// What must hold of its rows alone.
    pub(super) own: Vec<Condition>,
    /// Inner, or how it extends what is joined before it.
    pub(super) kind: JoinKind,
    /// Of an extension: what makes a partner.
    pub(super) on: Vec<Condition>,
    /// What has to be joined before it.
    pub(super) needs: Set,
    /// Whether its rows are found again for each row of what it needs.
    pub(super) lateral: bool,
    /// How it may be joined with what is before it.
    pub(super) methods: JoinMethods,
    /// Rows that `own` leaves.
    pub(super) rows: f64,
    /// What reading them costs.
    pub(super) cost: f64,
    /// The order they come in.
    pub(super) order: Rc<Order>,
    /// Whether it is a table of which every row is read.
    pub(super) is_scanned: bool,
    /// Ways to search its rows for given rows of others.
    pub(super) searches: Vec<Search>,
    /// Rows of what it extends, times this, are what the extension makes of them.
    pub(super) factor: f64,
    /// Of a semi or anti join: the subquery that it was made of.
    pub(super) written: Option<Written>,
}

/// A condition with a subquery, which may be asked row by row.
pub(super) struct Written {
    pub(super) condition: Condition,
    /// What asking it for a row costs.
    pub(super) row_cost: f64,
}

/// A search in an index by columns of other relations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Search {
    /// The relations whose columns it uses.
    pub(super) needs: Set,
    /// What one search costs.
    pub(super) cost: f64,
}

impl Search {
    /// Of so many rows that fit the first one is enough.
    fn stop_at_one_of(&mut self, rows: f64) {
        self.cost = prices::SEARCH + (self.cost - prices::SEARCH) / rows.max(1.0);
    }
}

/// A condition of several relations.
pub(super) struct Predicate {
    pub(super) condition: Condition,
    /// Whose columns it reads.
    pub(super) of: Set,
    /// The part of pairs for which it holds.
    pub(super) selectivity: f64,
    /// Of an equality: whose columns each side reads.
    pub(super) sides: Option<(Set, Set)>,
    /// Of an equality of columns that several equalities are of: which.
    pub(super) class: Option<u8>,
}

impl Predicate {
    /// Whether it can be a key of a hash table between two sets.
    pub(super) fn is_key(&self, left: Set, right: Set) -> bool {
        self.sides.is_some_and(|(first, second)| {
            left.contains(first) && right.contains(second) || left.contains(second) && right.contains(first)
        })
    }

    /// Whether it can be tested as soon as two sets are joined, and not earlier.
    pub(super) fn joins(&self, left: Set, right: Set) -> bool {
        left.with(right).contains(self.of) && !left.contains(self.of) && !right.contains(self.of)
    }
}

/// One FROM, taken apart.
pub(super) struct Relations {
    pub(super) relations: Vec<Relation>,
    pub(super) predicates: Vec<Predicate>,
    /// Conditions without columns: tested once, before anything is read.
    pub(super) once: Vec<Condition>,
    pub(super) places: Places,
    /// How the statement's hints let them be joined.
    pub(super) methods: JoinMethods,
    /// Whether sides are merged that no hint asks to merge.
    pub(super) may_merge: bool,
    /// Whether scans test their rows by bitmaps of hash tables.
    pub(super) may_probe: bool,
}

/// A relation before its conditions are known.
struct Piece {
    node: Node,
    kind: JoinKind,
    conjuncts: Vec<Condition>,
    on: Vec<Condition>,
    lateral: bool,
    methods: JoinMethods,
    written: Option<Condition>,
    /// Whether it was a subquery: a condition that is written behind it and may fail is tested for the rows that it leaves.
    is_test: bool,
}

/// A condition of WHERE, or of ON of inner joins.
struct Pooled {
    condition: Condition,
    /// The subqueries before it.
    behind: Set,
}

/// Takes FROM apart; the left sides of outer joins too.
fn pieces(from: FromNode, pieces_so_far: &mut Vec<Piece>, pool: &mut Vec<Pooled>) {
    for unit in from.units {
        let first = pieces_so_far.len();
        piece(unit.node, unit.lateral, pieces_so_far, pool);
        if unit.methods != JoinMethods::ANY
            && let Some(piece) = pieces_so_far.get_mut(first)
        {
            piece.methods = unit.methods;
        }
    }
    let tests = pieces_so_far.iter().enumerate().filter(|(_, piece)| piece.is_test);
    let behind = tests.fold(Set::default(), |set, (position, _)| set.with(Set::of(position)));
    let conjuncts = from.conjuncts.into_iter();
    pool.extend(conjuncts.map(|condition| Pooled { condition, behind }));
}

fn piece(node: Node, lateral: bool, found: &mut Vec<Piece>, pool: &mut Vec<Pooled>) {
    let own = |node, conjuncts, kind, on, lateral, methods| Piece {
        node,
        kind,
        conjuncts,
        on,
        lateral,
        methods,
        written: None,
        is_test: false,
    };
    if let Node::From(from) = node {
        return pieces(*from, found, pool);
    }
    if !matches!(&node, Node::Outer(outer) if outer.kind.extends_left()) {
        let piece = own(node, Vec::new(), JoinKind::Inner, Vec::new(), lateral, JoinMethods::ANY);
        return found.push(piece);
    }
    let Node::Outer(outer) = node else { return };
    let OuterJoin {
        left,
        right,
        kind,
        conjuncts,
        lateral,
        methods,
        written,
    } = *outer;
    piece(left, false, found, pool);
    let (right, conditions) = single_source(right);
    let is_test = kind != JoinKind::Left;
    // Where no left row has two partners, the join may come at any place among the others.
    if kind == JoinKind::Semi && partners::are_unique(&right, &conjuncts) {
        let behind = Set::default();
        pool.extend(conjuncts.into_iter().map(|condition| Pooled { condition, behind }));
        found.push(Piece {
            is_test,
            ..own(right, conditions, JoinKind::Inner, Vec::new(), lateral, methods)
        });
        return;
    }
    found.push(Piece {
        is_test,
        written,
        ..own(right, conditions, kind, conjuncts, lateral, methods)
    });
}

/// The source of a FROM of one, with its conditions; anything else as it is, with none.
fn single_source(mut node: Node) -> (Node, Vec<Condition>) {
    if !matches!(&node, Node::From(from) if from.only_source().is_some()) {
        return (node, Vec::new());
    }
    match node.take_from() {
        Some(mut from) => {
            let unit = from.units.pop().map_or(Node::Single, |unit| unit.node);
            (unit, from.conjuncts)
        }
        None => (node, Vec::new()),
    }
}

impl Relations {
    /// Takes FROM apart and estimates its parts.
    pub(super) fn of(from: FromNode, estimator: &Estimator<'_>) -> Relations {
        let (mut found, mut pool, methods) = (Vec::new(), Vec::new(), from.methods);
        pieces(from, &mut found, &mut pool);
        let places = Places::of(found.iter().map(|piece| &piece.node));
        let (once, pool): (Vec<_>, Vec<_>) = pool.into_iter().partition(|pooled| {
            let mut reads = false;
            pooled.condition.for_each_column(&mut |_| reads = true);
            !reads
        });
        let once = once.into_iter().map(|pooled| pooled.condition).collect();
        let mut relations: Vec<Relation> = Vec::with_capacity(found.len());
        for (position, piece) in found.into_iter().enumerate() {
            relations.push(relation(position, piece, &places, methods));
        }
        let mut between = Vec::new();
        for Pooled { condition, behind } in pool {
            let of = places.of_condition(&condition);
            let of = match condition.can_fail_by_row() {
                true => of.with(behind),
                false => of,
            };
            match of.single() {
                Some(alone) if relations.get(alone).is_some_and(|one| one.kind == JoinKind::Inner) => {
                    if let Some(relation) = relations.get_mut(alone) {
                        relation.own.push(condition);
                    }
                }
                _ => between.push((condition, of)),
            }
        }
        let mut all = Relations {
            relations,
            predicates: Vec::new(),
            once,
            places,
            methods,
            may_merge: estimator.allows(Rule::MergeJoin),
            may_probe: estimator.allows(Rule::ProbeBitmaps),
        };
        all.estimate(between, estimator);
        all
    }

    fn estimate(&mut self, between: Vec<(Condition, Set)>, estimator: &Estimator<'_>) {
        let mut sources = Sources::default();
        self.relations.iter().for_each(|relation| sources.add(&relation.node));
        for relation in &self.relations {
            if let Node::Scan(scan) = &relation.node {
                estimator.look_at(scan, &relation.own);
            }
        }
        let selectivity = |condition: &Condition| {
            let part = |one: &Condition| estimator.selectivity(one, &sources).clamp(1e-9, 1.0);
            let said = self.said_of_both(condition, &part) * self.said_of_each(condition, &part);
            (part(condition) / said).clamp(1e-9, 1.0)
        };
        let predicates = between.into_iter().map(|(condition, of)| Predicate {
            // What may fail is tested when all that is written before it is joined, as it is written.
            of: if condition.can_fail() { Set::up_to(of) } else { of },
            selectivity: selectivity(&condition),
            sides: sides(&condition, &self.places),
            condition,
            class: None,
        });
        let mut predicates: Vec<Predicate> = predicates.collect();
        let relation_of = |place: usize| self.places.relation(place);
        if estimator.allows(Rule::InferEqualities) {
            classes::close(&mut predicates, &self.relations, &relation_of, &selectivity);
        }
        let known = |position: usize| {
            let relation = &self.relations[position];
            let read = rows_and_cost(relation, estimator);
            let rows = read.rows;
            let row_cost = relation
                .written
                .as_ref()
                .map(|written| cost::of_asking(&written.condition, estimator));
            let mut searches = searches(position, self, &predicates, estimator, &sources);
            let factor = match relation.kind {
                JoinKind::Left => (rows * relation.on.iter().map(selectivity).product::<f64>()).max(1.0),
                JoinKind::Semi | JoinKind::Anti => {
                    let partners = partners::of(relation, rows, &sources, estimator);
                    searches
                        .iter_mut()
                        .for_each(|search| search.stop_at_one_of(partners.each));
                    match relation.kind {
                        JoinKind::Semi => partners.part,
                        _ => 1.0 - partners.part,
                    }
                }
                _ => 1.0,
            };
            (read, factor, searches, row_cost)
        };
        let known: Vec<_> = (0..self.relations.len()).map(known).collect();
        for (relation, known) in self.relations.iter_mut().zip(known) {
            let (read, factor, searches, row_cost) = known;
            (relation.rows, relation.cost, relation.order) = (read.rows, read.cost, read.order);
            (relation.factor, relation.searches, relation.is_scanned) = (factor, searches, read.is_scanned);
            if let (Some(written), Some(row_cost)) = (&mut relation.written, row_cost) {
                written.row_cost = row_cost;
            }
        }
        self.predicates = predicates;
    }
}

impl Relations {
    /// What conditions leave that say of both sides of an equality the same: of the rows they leave on one side, they leave all partners.
    fn said_of_both(&self, condition: &Condition, part: &dyn Fn(&Condition) -> f64) -> f64 {
        let Some((left, right)) = rewrite::equal_columns(condition) else {
            return 1.0;
        };
        let (Some(left), Some(right)) = (column_of(left), column_of(right)) else {
            return 1.0;
        };
        let own = |place: usize| {
            let relation = self.places.relation(place);
            relation.map_or(&[][..], |relation| self.relations[relation].own.as_slice())
        };
        let is_of_both = |one: &&Condition| own(left).iter().any(|other| rewrite::is_alike(other, left, one, right));
        own(right).iter().filter(is_of_both).map(part).product()
    }

    /// What conditions leave that were drawn from an OR for single relations (`rewrite/drawn.rs`): the OR leaves so much of less.
    fn said_of_each(&self, condition: &Condition, part: &dyn Fn(&Condition) -> f64) -> f64 {
        let of = match condition {
            Condition::Or(_) => self.places.of_condition(condition),
            _ => Set::default(),
        };
        let positions = (0..self.relations.len()).filter(|position| of.contains(Set::of(*position)));
        let said = positions.filter_map(|position| {
            let is_own = |one: &Condition| self.places.of_condition(one) == Set::of(position);
            let drawn = alternatives::drawn(condition, &is_own).ok().flatten()?;
            let mut own = self.relations[position].own.iter();
            own.any(|other| other.same_as(&drawn)).then(|| part(&drawn))
        });
        said.product()
    }
}

fn relation(position: usize, piece: Piece, places: &Places, statement: JoinMethods) -> Relation {
    let Piece {
        node,
        kind,
        conjuncts: mut own,
        on,
        lateral,
        methods,
        written,
        ..
    } = piece;
    let itself = Set::of(position);
    let is_test = matches!(kind, JoinKind::Semi | JoinKind::Anti);
    let mut needs = Set::default();
    let mut between = Vec::new();
    for condition in on {
        let of = places.of_condition(&condition);
        if is_test && condition.can_fail() {
            // As it is written, it is tested for rows alone that nothing before it leaves out.
            needs = Set::before(position);
            between.push(condition);
        } else if of == itself {
            own.push(condition);
        } else {
            needs = needs.with(of.without(itself));
            between.push(condition);
        }
    }
    let lateral = lateral && places.of_inside(&node).without(itself) != Set::default();
    if lateral {
        // What it captures may fail for rows that conditions on the sources before it leave out.
        needs = Set::before(position);
    }
    Relation {
        node,
        own,
        kind,
        on: between,
        needs,
        lateral,
        methods: statement.at_join(methods),
        rows: 1.0,
        cost: 1.0,
        order: Rc::default(),
        is_scanned: false,
        searches: Vec::new(),
        factor: 1.0,
        written: written.map(|condition| Written {
            condition,
            row_cost: f64::INFINITY,
        }),
    }
}

/// Whose columns the sides of an equality read, when both read some.
pub(super) fn sides(condition: &Condition, places: &Places) -> Option<(Set, Set)> {
    let (left, right) = condition.equal_sides()?;
    let (left, right) = (places.of_expression(left), places.of_expression(right));
    (!left.is_empty() && !right.is_empty()).then_some((left, right))
}

/// A relation's rows by themselves.
struct Read {
    rows: f64,
    cost: f64,
    order: Rc<Order>,
    is_scanned: bool,
}

/// How many rows a relation has, what they cost, and the order they come in, found the best way its own conditions allow.
fn rows_and_cost(relation: &Relation, estimator: &Estimator<'_>) -> Read {
    let Node::Scan(scan) = &relation.node else {
        let rows = estimator.node_rows(&relation.node);
        let (rows, cost) = match relation.kind {
            JoinKind::Semi | JoinKind::Anti => cost::of(&relation.node, estimator),
            _ => (rows, rows),
        };
        let order = Rc::new(ordered::of(&relation.node));
        return Read {
            rows,
            cost,
            order,
            is_scanned: false,
        };
    };
    let rows = estimator.rows(scan, &relation.own);
    let all = estimator.table_rows(&scan.table);
    let (chosen, _) = access::choose(
        relation.node.clone(),
        relation.own.clone(),
        &access::Choosing {
            estimator,
            is_known: &|_| false,
        },
    );
    let whole = all * prices::SCANNED;
    let found = chosen.filtered_scan().and_then(|scan| {
        let seek = scan.seek.as_ref()?;
        let index = scan.table.table.definition().indexes.get(seek.index);
        let each = index.map_or(prices::FETCH, |index| access::price_each(scan, index));
        Some((prices::SEARCH + rows * each).min(whole))
    });
    let order = ordered::of_filtered(&chosen, &mut relation.own.iter().collect());
    Read {
        rows,
        cost: found.unwrap_or(whole),
        order: Rc::new(order),
        is_scanned: found.is_none(),
    }
}

/// A condition that gives a column of a relation by rows of others.
struct Given {
    /// The column's place.
    place: usize,
    /// Whose rows.
    of: Set,
    /// Of a bound, the part of the rows that keep it; none for an equality.
    part: Option<f64>,
    /// Of an equality with a small table, the part of the rows that have a value of one of those that are left of it.
    part_equal: Option<f64>,
}

/// What rows of others say of a relation's columns.
fn given(
    position: usize,
    all: &Relations,
    predicates: &[Predicate],
    estimator: &Estimator<'_>,
    sources: &Sources<'_>,
) -> Vec<Given> {
    let relation = &all.relations[position];
    let itself = Set::of(position);
    let of_condition = |condition: &Condition, of: Set, selectivity: f64| {
        let (place, operator) = key_place(condition, itself, &all.places)?;
        Some(Given {
            place,
            of: of.without(itself),
            part: (operator != ComparisonOperator::Equal).then_some(selectivity),
            part_equal: rewrite::equal_columns(condition)
                .and_then(|(left, right)| estimator.part_of_left(column_of(left)?, column_of(right)?, sources)),
        })
    };
    let of_on = relation.on.iter().filter_map(|condition| {
        let of = all.places.of_condition(condition);
        of_condition(condition, of, estimator.selectivity(condition, sources))
    });
    let mut found: Vec<Given> = of_on.collect();
    if relation.kind == JoinKind::Inner {
        let here = predicates.iter().filter(|predicate| predicate.of.contains(itself));
        found.extend(
            here.filter_map(|predicate| of_condition(&predicate.condition, predicate.of, predicate.selectivity)),
        );
    }
    found
}

/// The ways to find a relation's rows by an index for given rows of others.
fn searches(
    position: usize,
    all: &Relations,
    predicates: &[Predicate],
    estimator: &Estimator<'_>,
    sources: &Sources<'_>,
) -> Vec<Search> {
    let relation = &all.relations[position];
    let Node::Scan(scan) = &relation.node else {
        return Vec::new();
    };
    if !estimator.allows(Rule::IndexJoin) {
        return Vec::new();
    }
    let given = given(position, all, predicates, estimator, sources);
    let own: Vec<usize> = relation
        .own
        .iter()
        .filter_map(super::super::estimate::equal_column)
        .collect();
    let rows = estimator.table_rows(&scan.table);
    let mut found: Vec<Search> = Vec::new();
    let indexes = scan.table.table.definition().indexes.iter();
    // Whether the conditions imply a filter is seen when the way is chosen.
    for index in indexes.filter(|index| index.filter.is_none()) {
        for needs in given.iter().map(|first| first.of) {
            let (mut left, mut columns, mut is_by_others) = (rows, 0, false);
            for (column, _) in &index.keys {
                let place = scan.offset + column;
                let here = || given.iter().filter(|one| one.place == place && needs.contains(one.of));
                let is_given = here().any(|one| one.part.is_none());
                is_by_others |= is_given;
                if !is_given && !own.contains(&place) {
                    // A bound of the column behind those that are equal ends what is searched by.
                    let bounds = here().filter_map(|one| one.part);
                    is_by_others |= here().next().is_some();
                    left = (left * bounds.product::<f64>()).max(1.0);
                    break;
                }
                let part = here().find_map(|one| one.part_equal);
                left = (left * part.unwrap_or_else(|| 1.0 / estimator.distinct(place, sources))).max(1.0);
                columns += 1;
            }
            if !is_by_others {
                continue;
            }
            if index.unique && columns == index.keys.len() {
                left = 1.0;
            }
            let cost = prices::SEARCH + left * access::price_each(scan, index);
            match found.iter_mut().find(|search| search.needs == needs) {
                Some(search) => search.cost = search.cost.min(cost),
                None => found.push(Search { needs, cost }),
            }
        }
    }
    found
}

/// The place of a relation's column that a condition compares with what others say, and the comparison.
fn key_place(condition: &Condition, itself: Set, places: &Places) -> Option<(usize, ComparisonOperator)> {
    let Condition::Compare { operator, left, right } = condition else {
        return None;
    };
    if *operator == ComparisonOperator::NotEqual {
        return None;
    }
    [(left, right), (right, left)].into_iter().find_map(|(own, other)| {
        let is_own = places.of_expression(own) == itself && !places.of_expression(other).meets(itself);
        let place = searched_place(own).filter(|_| is_own)?;
        Some((place, *operator))
    })
}
