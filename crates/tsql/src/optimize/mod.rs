//! The optimizer: bound plans become physical plans.
//!
//! ```text
//! bind       logical: FROM is a set of units and a set of conditions ([`Node::From`], [`Node::Outer`])
//! optimize   rewrite       equivalent, cheaper queries: queries in FROM merged, outer joins made inner, conditions pushed down
//!            unnest        subqueries as joins
//!            alternatives  common conditions of all branches of an OR, and derived conditions on one source
//!            join      join order and join methods
//!            anti      outer joins that only return rows without a match
//!            access    how the rows of a table are found
//!            ordered   the order in which rows arrive
//!            groups    how groups are computed
//!            bitmaps   scans that drop rows whose key is not in a hash table
//!            kept      queries computed once for several places
//!            order     sorts that are not needed, or only in part
//!            windows   window functions that need no sort
//!            numbered  rows that arrive in ROW_NUMBER order, and limits on the number
//!            wish      the index that gives an order
//!            reverse   rows in reverse order
//!            columns   the columns that scans decode
//!            prices    the costs of the steps of a plan
//!            applied   the rules that may be used, and their changes
//!            trees     the stages of a plan, for trace flags
//!            estimate  row counts, on which all choices depend
//! exec       physical: no [`Node::From`], no [`Node::Outer`]
//! ```
//! A column's id is its position in the wide row of its SELECT: every source has its own range of positions there, and keeps it wherever it
//! is joined. So changing the join order moves nothing, and operators above FROM are not affected. New positions are added at the end.
//!
//! Queries inside a query (in FROM, as values and as sets) are made physical one by one, each once. A query that several expressions share
//! is still shared afterwards, because its result is kept by its identity.
//!
//! Invariant: after [`Optimizer`] has processed a statement, no logical operator is left in it.
//!
//! Rules can be switched off per session (`state/rules.rs`, DBCC RULEOFF). That changes plans but not results, and the differential test
//! does it at random. The estimator that chose an operator records its estimates, and they are kept with the plan. Statistics that planning
//! stores are stored in a separate transaction with its own locks, and skipped if a lock is not available.
//!
//! Invariant: code that binds something containing queries and runs it outside `Executor::plan` first passes it to the `Optimizer`.
//! Invariant: an order that a plan relies on holds while other sessions change the tables, because searches are built to keep it
//! (`ordered::rely_on`). Invariant: rows are kept for several places only if they are the same whenever they are computed within the
//! statement.

mod access;
mod alternatives;
mod anti;
mod applied;
mod bitmaps;
mod columns;
pub mod estimate;
mod filtered;
mod groups;
mod join;
mod kept;
mod numbered;
mod order;
mod ordered;
mod prices;
mod restriction;
mod reverse;
mod rewrite;
pub mod shown;
mod statement;
mod trees;
mod unnest;
mod windows;
mod wish;

pub use statement::Logical;

use std::sync::Arc;

use engine::cancel;
use engine::error::Result;

use crate::bind::PlanAdvice;
use crate::plan::{
    Condition, DerivedNode, Expr, ExprKind, FromNode, GroupMethod, Node, OuterJoin, PartMut, QueryPlan, RecursiveNode,
    Subquery,
};
use crate::state::{Rule, SessionState};
use estimate::{Estimator, Expectations, Peeked};
use shown::show;
use trees::Stage;

/// Makes the plan of one statement physical.
pub struct Optimizer<'s> {
    estimator: Estimator<'s>,
    /// Queries that several expressions share, as they were bound and as they are planned.
    shared: Vec<(Arc<QueryPlan>, Arc<QueryPlan>)>,
    /// How many rows are wanted soon: FAST.
    first_rows: Option<f64>,
    /// Queries around the one that is planned.
    depth: usize,
    /// How hints let groups be made.
    groups: GroupMethod,
    /// Whether the statement assigns variables while it runs.
    assigns_variables: bool,
}

impl<'s> Optimizer<'s> {
    /// An optimizer for a statement of this session.
    pub fn new(session: &'s SessionState) -> Optimizer<'s> {
        Optimizer {
            estimator: Estimator::new(session),
            shared: Vec::new(),
            first_rows: None,
            depth: 0,
            groups: GroupMethod::Any,
            assigns_variables: false,
        }
    }

    /// The same as the statement's hints advise it, with what it may know of variables.
    pub fn advised(mut self, advice: &PlanAdvice, peeked: Peeked) -> Optimizer<'s> {
        self.estimator.peek(peeked);
        self.estimator.age(advice.aging);
        self.estimator.has_goals = !advice.is_without_goals;
        self.first_rows = advice.first_rows;
        self.groups = advice.groups;
        self
    }

    /// Plans the query of a SELECT statement.
    fn statement_query(&mut self, plan: &mut QueryPlan) -> Result<()> {
        self.query(plan)?;
        if let Some(goal) = self.first_rows {
            order::soon(&mut plan.root, goal, &self.estimator);
        }
        Ok(())
    }

    /// What answers how many rows there will be.
    pub fn estimator(&self) -> &Estimator<'s> {
        &self.estimator
    }

    /// Plans a query with all below it.
    ///
    /// # Errors
    /// 8631 when it is nested deeper than there is stack; 3617 when the batch was cancelled.
    pub fn query(&mut self, plan: &mut QueryPlan) -> Result<()> {
        self.draw(Stage::Bound, &plan.root);
        rewrite::query(plan, self.estimator.rules())?;
        self.draw(Stage::Rewritten, &plan.root);
        unnest::query(plan, &self.estimator)?;
        self.draw(Stage::Unnested, &plan.root);
        // What scans have to decode decides which indexes hold all of it; and less of it may be left when searches are chosen.
        columns::decode(&mut plan.root, vec![true; plan.width]);
        self.inside(|optimizer| optimizer.node(&mut plan.root))?;
        columns::decode(&mut plan.root, vec![true; plan.width]);
        self.draw(Stage::Physical, &plan.root);
        Ok(())
    }

    /// Plans a query that others may share.
    fn shared_query(&mut self, plan: &mut Arc<QueryPlan>) -> Result<()> {
        if let Some(own) = Arc::get_mut(plan) {
            return self.query(own);
        }
        let mut known = self.shared.iter();
        if let Some((_, planned)) = known.find(|(bound, _)| Arc::ptr_eq(bound, plan)) {
            *plan = planned.clone();
            return Ok(());
        }
        let mut own = QueryPlan::clone(plan);
        self.query(&mut own)?;
        let planned = Arc::new(own);
        self.shared.push((std::mem::replace(plan, planned.clone()), planned));
        Ok(())
    }

    /// Plans a tree of operators from its leaves up.
    fn node(&mut self, node: &mut Node) -> Result<()> {
        crate::stack::require()?;
        cancel::spend(1)?;
        let rules = self.estimator.rules();
        if let Node::From(from) = node {
            let anti_joins = rules.rewriting(Rule::AntiFromOuter, &mut **from, anti::from_outer);
            anti_joins.transpose()?;
            self.units(from)?;
            self.estimator.prepare(from)?;
            *node = join::combine(std::mem::take(&mut **from), &self.estimator)?;
            let placed = rules.choosing(Rule::ProbeBitmaps, node, bitmaps::place);
            placed.transpose()?;
            self.end_early(node);
            return Ok(());
        }
        self.parts(node)?;
        if let Node::Outer(_) = node {
            let before = rules.before(|| show(node, &Expectations::default()));
            if let Node::Outer(outer) = std::mem::replace(node, Node::Empty) {
                *node = join::outer(*outer, &self.estimator)?;
            }
            rules.chosen(&before, node, join::rule_of);
        } else if let Node::Recursive(RecursiveNode { step, width, .. }) = node {
            columns::decode(step, vec![true; *width]);
        } else if let Node::Window(_) = node {
            rules.choosing(Rule::WindowFromOrder, node, |node| {
                windows::by_arrival(node, &self.estimator);
            });
        }
        self.end_early(node);
        self.order_and_groups(node)
    }

    /// Has a filter by row numbers read no more rows than it leaves.
    fn end_early(&self, node: &mut Node) {
        if let Node::Filter(_) = node {
            self.estimator
                .rules()
                .choosing(Rule::TopFromNumber, node, numbered::end_early);
        }
    }

    /// Chooses how rows are sorted, cut off and grouped.
    fn order_and_groups(&mut self, node: &mut Node) -> Result<()> {
        let rules = self.estimator.rules();
        if let Node::Sort(_) = node {
            order::sort(node, &self.estimator);
        } else if let Node::Top(_) | Node::Slice(_) = node {
            order::first_rows(node, &self.estimator);
        } else if let Node::Aggregate(_) = node {
            rules.choosing(Rule::ExtremeFromIndex, node, |node| {
                order::extremes(node, &self.estimator);
            });
            rules.used(Rule::StreamAggregate, node, |node| {
                groups::aggregate(node, self.groups, &self.estimator)
            })?;
        } else if let Node::Distinct(_) = node {
            let is_left_out = rules.choosing(Rule::DistinctFromKey, node, groups::leave_out_distinct);
            if is_left_out != Some(true) {
                rules.used(Rule::StreamAggregate, node, |node| {
                    groups::distinct(node, self.groups, &self.estimator);
                });
            }
        }
        Ok(())
    }

    /// Plans everything directly inside an operator.
    fn parts(&mut self, node: &mut Node) -> Result<()> {
        if let Node::Derived(DerivedNode { common: Some(_), .. }) = node {
            return self.common_table(node);
        }
        node.parts_mut(&mut |part| match part {
            PartMut::Node(below) | PartMut::Apart(below) => self.node(below),
            PartMut::Plan(plan) => self.shared_query(plan),
            PartMut::Expression(expression) => self.expression(expression),
            PartMut::Condition(condition) | PartMut::Written(condition) => self.condition(condition),
        })
    }

    /// Plans what is inside the units of a FROM, which stay apart.
    fn units(&mut self, from: &mut FromNode) -> Result<()> {
        from.conjuncts
            .iter_mut()
            .try_for_each(|condition| self.condition(condition))?;
        let factored = self
            .estimator
            .rules()
            .rewriting(Rule::FactorAlternatives, from, |from| {
                alternatives::take_out(&mut from.conjuncts)
            });
        factored.transpose()?;
        from.units.iter_mut().try_for_each(|unit| {
            // In parentheses, where the order is kept.
            match matches!(&unit.node, Node::From(inner) if inner.is_forced) {
                true => self.node(&mut unit.node),
                false => self.unit(&mut unit.node),
            }
        })
    }

    fn unit(&mut self, node: &mut Node) -> Result<()> {
        crate::stack::require()?;
        if let Node::From(from) = node {
            return self.units(from);
        }
        if let Node::Outer(outer) = node
            && outer.kind.extends_left()
        {
            return self.extension(outer);
        }
        self.node(node)
    }

    /// Plans what is inside an outer join that may be joined before or after others.
    fn extension(&mut self, outer: &mut OuterJoin) -> Result<()> {
        let mut conditions = outer.conjuncts.iter_mut().chain(&mut outer.written);
        conditions.try_for_each(|condition| self.condition(condition))?;
        self.unit(&mut outer.left)?;
        if let Node::From(from) = &mut outer.right
            && from.only_source().is_some()
        {
            return self.units(from);
        }
        self.node(&mut outer.right)
    }

    /// Plans the queries inside an expression.
    ///
    /// # Errors
    /// As for [`Optimizer::query`].
    pub fn expression(&mut self, expression: &mut Expr) -> Result<()> {
        crate::stack::require()?;
        match &mut expression.kind {
            ExprKind::Subquery(subquery) => self.subquery(subquery),
            // The conditions of CASE may hold queries that are no expressions.
            ExprKind::Case { branches, otherwise } => {
                for (condition, value) in branches {
                    self.condition(condition)?;
                    self.expression(value)?;
                }
                otherwise.iter_mut().try_for_each(|value| self.expression(value))
            }
            _ => expression.change_children(&mut |child| self.expression(child)),
        }
    }

    /// Plans the queries inside a condition.
    ///
    /// # Errors
    /// As for [`Optimizer::query`].
    pub fn condition(&mut self, condition: &mut Condition) -> Result<()> {
        crate::stack::require()?;
        match condition {
            Condition::And(parts) | Condition::Or(parts) => parts.iter_mut().try_for_each(|part| self.condition(part)),
            Condition::Not(inner) => self.condition(inner),
            Condition::Exists(subquery) => self.subquery(subquery),
            Condition::Quantified { operand, subquery, .. } => {
                self.expression(operand)?;
                self.subquery(subquery)
            }
            other => other.change_expressions(&mut |expression| self.expression(expression)),
        }
    }

    fn subquery(&mut self, subquery: &mut Subquery) -> Result<()> {
        subquery
            .captures
            .iter_mut()
            .try_for_each(|capture| self.expression(capture))?;
        self.shared_query(&mut subquery.plan)
    }
}
