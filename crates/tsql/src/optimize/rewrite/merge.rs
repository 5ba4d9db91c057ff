//! Queries in FROM that only join, filter and compute become part of the FROM around them: derived tables, views, common table
//! expressions, inline functions, and those of APPLY.
//!
//! ```text
//! from t join (select u.k, u.a + 1 as b from u join v on p(u, v)) d on d.k = t.k where d.b > 5
//! from t, u, v where p(u, v) and u.k = t.k and u.a + 1 > 5
//! ```
//! Captures of the query (APPLY, arguments of functions) replace its parameters.
//!
//! A query is not merged
//! - if it groups, orders, counts or combines rows, or if its joins have hints;
//! - on the optional side of an outer join, if a used column would not be NULL there: `0 as is_missing`;
//! - if a used column may differ between two evaluations, or the expressions would become large;
//! - if a surrounding condition may fail, and would be tested for rows that the query's own conditions and joins filter out.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::cancel;
use engine::error::Result;

use super::change::{Change, Replacing, Uses, is_condition_repeatable, is_repeatable, size};
use super::{captured, nulls, places};
use crate::optimize::join::RELATIONS_MAX;
use crate::plan::{
    Condition, DerivedNode, Expr, ExprKind, FromNode, JoinKind, JoinMethods, Node, OuterJoin, Part, ProjectNode,
    QueryPlan,
};

/// How many nodes of expressions may be added because a column is read several times.
const ADDED_NODES_MAX: usize = 1_000;
/// Nodes of an expression that is captured.
const CAPTURE_NODES_MAX: usize = 32;

/// Where a query in FROM stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// All rows of FROM have a row of it.
    Whole,
    /// A side of an outer join whose rows are all kept.
    Kept,
    /// A side of an outer join that may be without a row.
    Optional,
    /// The right side of OUTER APPLY, which may be without a row as well.
    Applied,
}

/// One round through a FROM.
struct Merging {
    uses: Uses,
    /// Places that conditions read, and those that conditions read which may fail.
    tested: Uses,
    risky: Uses,
    methods: JoinMethods,
    relations: usize,
    width: usize,
    replaced: BTreeMap<usize, Expr>,
    /// Places that what was merged in this round captured.
    captured: Uses,
}

/// Merges what can be; none if there is nothing.
///
/// # Errors
/// 8631 and 3617.
pub(super) fn queries(from: &mut FromNode, above: &Uses) -> Result<Option<Change>> {
    if !from.units.iter().any(|unit| has_query(&unit.node)) {
        return Ok(None);
    }
    let mut merging = Merging {
        uses: above.clone(),
        tested: Uses::default(),
        risky: Uses::default(),
        methods: from.methods,
        relations: from.units.iter().map(|unit| relations_of(&unit.node)).sum(),
        width: from.width,
        replaced: BTreeMap::new(),
        captured: Uses::default(),
    };
    merging.count(from)?;
    merging.from(from, Side::Whole)?;
    if merging.replaced.is_empty() && merging.width == from.width {
        return Ok(None);
    }
    let change = Change::new(merging.replaced, merging.width);
    for unit in &mut from.units {
        change.tree(&mut unit.node)?;
    }
    from.conjuncts.iter_mut().try_for_each(|one| change.condition(one))?;
    from.width = change.width();
    Ok(Some(change))
}

/// Whether a query stands anywhere in a tree of FROM.
fn has_query(node: &Node) -> bool {
    if matches!(node, Node::Derived(_)) {
        return true;
    }
    let mut has = false;
    node.for_each_in_row(&mut |below| has = has || has_query(below));
    has
}

fn relations_of(node: &Node) -> usize {
    if !matches!(node, Node::From(_) | Node::Outer(_)) {
        return 1;
    }
    let mut relations = 0;
    node.for_each_in_row(&mut |below| relations += relations_of(below));
    relations
}

impl Merging {
    /// Counts what FROM itself reads.
    fn count(&mut self, from: &FromNode) -> Result<()> {
        for unit in &from.units {
            self.uses.add_tree(&unit.node)?;
            self.count_conditions(&unit.node)?;
        }
        from.conjuncts.iter().for_each(|one| self.uses.add_condition(one, 1));
        from.conjuncts.iter().for_each(|one| self.note_condition(one));
        Ok(())
    }

    fn note_condition(&mut self, condition: &Condition) {
        self.tested.add_condition(condition, 1);
        if condition.can_fail() {
            self.risky.add_condition(condition, 1);
        }
    }

    fn count_conditions(&mut self, node: &Node) -> Result<()> {
        crate::stack::require()?;
        if !matches!(node, Node::From(_) | Node::Outer(_)) {
            return Ok(());
        }
        node.parts(&mut |part| match part {
            Part::Condition(condition) => {
                self.note_condition(condition);
                Ok(())
            }
            Part::Node(below) => self.count_conditions(below),
            Part::Written(_) | Part::Expression(_) | Part::Apart(_) | Part::Plan(_) => Ok(()),
        })
    }

    fn from(&mut self, from: &mut FromNode, side: Side) -> Result<()> {
        if from.is_forced {
            return Ok(());
        }
        let mut units = Vec::with_capacity(from.units.len());
        let mut conjuncts = Vec::new();
        for mut unit in std::mem::take(&mut from.units) {
            cancel::spend(1)?;
            match self.opened(&mut unit.node, side)? {
                Some(inner) => {
                    units.extend(inner.units);
                    conjuncts.extend(inner.conjuncts);
                }
                None => {
                    self.below(&mut unit.node, side)?;
                    units.push(unit);
                }
            }
        }
        // Those of the query stand first: what may fail behind them was not tested for rows that they leave out.
        conjuncts.append(&mut from.conjuncts);
        (from.units, from.conjuncts) = (units, conjuncts);
        Ok(())
    }

    fn below(&mut self, node: &mut Node, side: Side) -> Result<()> {
        crate::stack::require()?;
        let of_left = |kind: JoinKind| match (side, kind) {
            (Side::Whole | Side::Kept, JoinKind::Left) => Some(Side::Kept),
            (Side::Optional | Side::Applied, JoinKind::Left) | (_, JoinKind::Full) => Some(Side::Optional),
            _ => None,
        };
        if let Node::From(from) = node {
            return self.from(from, side);
        }
        let Node::Outer(outer) = node else { return Ok(()) };
        let Some(left) = of_left(outer.kind) else { return Ok(()) };
        self.below(&mut outer.left, left)?;
        // What was inside of it is looked at in the next round, when its columns are counted.
        match self.applied(outer)? {
            true => Ok(()),
            false => self.below(&mut outer.right, Side::Optional),
        }
    }

    /// The right side of OUTER APPLY: conditions that read the row around it become ON.
    fn applied(&mut self, outer: &mut OuterJoin) -> Result<bool> {
        if outer.kind != JoinKind::Left || !matches!(outer.right, Node::Derived(_)) {
            return Ok(false);
        }
        let begin = self.width;
        let Some(mut inner) = self.opened(&mut outer.right, Side::Applied)? else {
            return Ok(false);
        };
        let (on, own) = std::mem::take(&mut inner.conjuncts).into_iter().partition(|condition| {
            let mut reads = false;
            condition.for_each_column(&mut |place| reads = reads || place < begin);
            reads
        });
        outer.conjuncts.splice(0..0, Vec::<Condition>::from_iter(on));
        inner.conjuncts = own;
        outer.right = Node::From(Box::new(inner));
        outer.lateral = false;
        Ok(true)
    }

    /// Takes a query's FROM out of it, its places behind all others; none if it has to stay a query.
    fn opened(&mut self, node: &mut Node, side: Side) -> Result<Option<FromNode>> {
        let Node::Derived(DerivedNode {
            plan, captures, offset, ..
        }) = node
        else {
            return Ok(None);
        };
        let Some(count) = self.admits(plan, captures, *offset, side)? else {
            return Ok(None);
        };
        let plan = Arc::make_mut(plan);
        let (captures, offset) = (std::mem::take(captures), *offset);
        let Node::Project(ProjectNode { input, expressions, .. }) = &mut plan.root else {
            return Ok(None);
        };
        let (shown, mut expressions) = (plan.columns.len(), std::mem::take(expressions));
        let Node::From(inner) = std::mem::replace(&mut **input, Node::Single) else {
            return Ok(None);
        };
        let mut inner = *inner;
        self.settle_in(&mut inner, &mut expressions, &captures)?;
        captures
            .iter()
            .for_each(|capture| self.captured.add_expression(capture, 1));
        for (column, expression) in expressions.into_iter().take(shown).enumerate() {
            if self.uses.of(offset + column) > 0 {
                self.replaced.insert(offset + column, expression);
            }
        }
        self.relations = self.relations + count - 1;
        self.width += inner.width;
        Ok(Some(inner))
    }

    /// Moves a FROM and what is computed from it behind the places of this one, and puts what is captured where it is used.
    fn settle_in(&self, inner: &mut FromNode, expressions: &mut [Expr], captures: &[Expr]) -> Result<()> {
        let by = self.width;
        let replacing = Replacing {
            column: &|place, expression| {
                Some(Expr {
                    kind: ExprKind::Column(place + by),
                    ..expression.clone()
                })
            },
            parameter: &|number| captures.get(number).cloned(),
        };
        for unit in &mut inner.units {
            replacing.tree(&mut unit.node)?;
            places::move_by(&mut unit.node, by)?;
            unit.lateral |= captured::hand_down(&mut unit.node, captures)?;
        }
        let mut conditions = inner.conjuncts.iter_mut();
        conditions.try_for_each(|one| replacing.condition(one))?;
        expressions.iter_mut().try_for_each(|one| replacing.expression(one))
    }

    /// Whether a query can be merged: how many relations it brings.
    fn admits(&self, plan: &QueryPlan, captures: &[Expr], offset: usize, side: Side) -> Result<Option<usize>> {
        let QueryPlan { root, columns, .. } = plan;
        let Node::Project(ProjectNode { input, expressions, .. }) = root else {
            return Ok(None);
        };
        let Node::From(inner) = &**input else {
            return Ok(None);
        };
        let count: usize = inner.units.iter().map(|unit| relations_of(&unit.node)).sum();
        let is_fit = !inner.is_forced
            && inner.methods == self.methods
            && (count < 2 || self.relations + count <= RELATIONS_MAX)
            && (count > 0 || side == Side::Whole)
            && inner.conjuncts.iter().all(is_condition_repeatable)
            && self.admits_captures(captures)
            && (0..columns.len()).all(|column| self.captured.of(offset + column) == 0);
        if !is_fit {
            return Ok(None);
        }
        let is_filter = captures.is_empty() && is_filter(inner);
        let mut added = 0_usize;
        for (column, shown) in columns.iter().enumerate() {
            let (place, expression) = (offset + column, &expressions[column]);
            let uses = self.uses.of(place);
            if uses == 0 {
                continue;
            }
            added = added.saturating_add((uses - 1).saturating_mul(size(expression, ADDED_NODES_MAX) - 1));
            let is_tested_early = self.risky.of(place) > 0 || self.tested.of(place) > 0 && expression.can_fail();
            let is_without_row = || nulls::is_null(expression, &|_| true) && !expression.can_fail();
            if added > ADDED_NODES_MAX
                || !is_repeatable(expression)
                || expression.sql_type != shown.sql_type
                || is_tested_early && !is_filter
                || matches!(side, Side::Optional | Side::Applied) && !is_without_row()
            {
                return Ok(None);
            }
        }
        let is_given = captures.is_empty()
            || match side {
                Side::Applied => !captured::is_read_by_sources(inner)?,
                _ => captured::can_be_handed_down(inner)?,
            };
        Ok(is_given.then_some(count))
    }

    /// Whether captured expressions can stand wherever the query uses them.
    fn admits_captures(&self, captures: &[Expr]) -> bool {
        captures.iter().all(|capture| {
            let mut is_known = true;
            capture.for_each_column(&mut |place| is_known = is_known && !self.replaced.contains_key(&place));
            let is_small = size(capture, CAPTURE_NODES_MAX) < CAPTURE_NODES_MAX;
            is_known && is_small && is_repeatable(capture) && !capture.can_fail()
        })
    }
}

/// Whether what a FROM leaves out is decided by conditions on one source, which are tested in turn with others on it.
fn is_filter(from: &FromNode) -> bool {
    match from.units.as_slice() {
        [] => from.conjuncts.is_empty(),
        [unit] => {
            !matches!(unit.node, Node::From(_) | Node::Outer(_))
                && !from.conjuncts.iter().any(Condition::contains_query)
        }
        _ => false,
    }
}
