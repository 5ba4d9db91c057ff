//! What is expected of each operator of a plan: written down when the plan is made, by the estimator that chose it, and kept with it. What
//! shows a plan later, in whatever session, asks nothing else.
//!
//! A plan moves into its place after it was made, so what is expected is kept in the order in which a walk meets the operators, and found by
//! their addresses once the plan stands still.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;

use super::{Estimator, Sources, UNKNOWN_ROWS, column_of};
use crate::measure::NodeAddress;
use crate::plan::{Condition, Expr, ExprKind, JoinKind, Node, Part, QueryPlan, ScanNode, TopCount};

/// Rows left by TOP whose count is not known.
const TOP_ROWS_GUESS: f64 = 100.0;

/// What is expected of one execution of an operator.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Expected {
    pub rows: f64,
    /// Rows and pages of the table, where it reads one.
    pub table_rows: f64,
    pub table_pages: f64,
}

/// What is expected of a plan's operators, in the order of [`operators`].
#[derive(Clone, Debug, Default)]
pub struct Expectations(Vec<Expected>);

/// What is expected of the operators of a plan that stands still.
#[derive(Debug, Default)]
pub struct ByNode(HashMap<NodeAddress, Expected>);

impl Expectations {
    /// Of a plan that was made just now.
    pub fn of(root: &Node, estimator: &Estimator<'_>) -> Expectations {
        let mut walk = Walk {
            estimator,
            found: HashMap::new(),
        };
        walk.expect(root);
        let found = |node: &Node| walk.found.get(&NodeAddress::of(node)).copied().unwrap_or_default();
        Expectations(operators(root).into_iter().map(found).collect())
    }

    /// By the operators of the same plan where it stands.
    pub fn by_node(&self, root: &Node) -> ByNode {
        let nodes = operators(root);
        if nodes.len() != self.0.len() {
            return ByNode::default();
        }
        let addresses = nodes.into_iter().map(NodeAddress::of);
        ByNode(addresses.zip(self.0.iter().copied()).collect())
    }
}

impl ByNode {
    /// Of an operator; nothing of one that the plan has not.
    pub fn of(&self, node: &Node) -> Expected {
        self.0.get(&NodeAddress::of(node)).copied().unwrap_or_default()
    }
}

/// All operators of a plan, those of queries in its expressions too, each once and before those below it.
pub fn operators(root: &Node) -> Vec<&Node> {
    fn visit<'p>(node: &'p Node, seen: &mut HashSet<NodeAddress>, found: &mut Vec<&'p Node>) {
        if crate::stack::require().is_err() || !seen.insert(NodeAddress::of(node)) {
            return;
        }
        found.push(node);
        for query in queries_of_node(node) {
            visit(&query.root, seen, found);
        }
        for input in node.inputs() {
            visit(input, seen, found);
        }
    }
    let (mut seen, mut found) = (HashSet::new(), Vec::new());
    visit(root, &mut seen, &mut found);
    found
}

/// The queries that the expressions of an operator ask.
pub fn queries_of_node(node: &Node) -> Vec<&QueryPlan> {
    let mut found = Vec::new();
    let Ok(()) = node.parts::<Infallible>(&mut |part| {
        match part {
            Part::Expression(expression) => queries_of(expression, &mut found),
            Part::Condition(condition) => queries_of_condition(condition, &mut found),
            // The join stands in its place.
            Part::Written(_) | Part::Node(_) | Part::Apart(_) | Part::Plan(_) => {}
        }
        Ok(())
    });
    found
}

/// The queries that a condition asks.
pub fn queries_of_condition<'c>(given: &'c Condition, found: &mut Vec<&'c QueryPlan>) {
    if crate::stack::require().is_err() {
        return;
    }
    match given {
        Condition::And(parts) | Condition::Or(parts) => parts.iter().for_each(|part| queries_of_condition(part, found)),
        Condition::Not(inner) => queries_of_condition(inner, found),
        Condition::Exists(subquery) => found.push(&subquery.plan),
        Condition::Quantified { operand, subquery, .. } => {
            queries_of(operand, found);
            found.push(&subquery.plan);
        }
        other => other.for_each_expression(&mut |expression| queries_of(expression, found)),
    }
}

/// The queries that an expression asks.
pub fn queries_of<'e>(given: &'e Expr, found: &mut Vec<&'e QueryPlan>) {
    if crate::stack::require().is_err() {
        return;
    }
    match &given.kind {
        ExprKind::Subquery(subquery) => found.push(&subquery.plan),
        ExprKind::Case { branches, otherwise } => {
            for (when, value) in branches {
                queries_of_condition(when, found);
                queries_of(value, found);
            }
            otherwise.iter().for_each(|value| queries_of(value, found));
        }
        _ => given.for_each_child(&mut |child| queries_of(child, found)),
    }
}

/// A walk that says of each operator what is expected of it.
struct Walk<'w, 's> {
    estimator: &'w Estimator<'s>,
    found: HashMap<NodeAddress, Expected>,
}

impl Walk<'_, '_> {
    /// Rows of an operator.
    fn expect(&mut self, node: &Node) -> f64 {
        let address = NodeAddress::of(node);
        if let Some(known) = self.found.get(&address) {
            return known.rows;
        }
        if crate::stack::require().is_err() {
            return UNKNOWN_ROWS;
        }
        for query in queries_of_node(node) {
            self.expect(&query.root);
        }
        let mut expected = Expected::default();
        expected.rows = match node {
            Node::Scan(scan) => {
                expected.table_rows = self.estimator.table_rows(&scan.table);
                expected.table_pages = self.estimator.table_pages(&scan.table);
                self.scanned(scan, None)
            }
            Node::Filter { input, condition } => {
                let rows = self.expect(input);
                match &**input {
                    Node::Scan(scan) => self.scanned(scan, Some(condition)),
                    _ => rows * self.selectivity(condition, input),
                }
            }
            Node::Loop { .. } | Node::Hash { .. } | Node::Merge { .. } => self.joined(node),
            other => self.made(other),
        };
        self.found.insert(address, expected);
        expected.rows
    }

    fn selectivity(&self, condition: &Condition, input: &Node) -> f64 {
        let mut sources = Sources::default();
        sources.add(input);
        self.estimator.selectivity(condition, &sources)
    }

    /// Rows of a table that a search finds and the condition above it leaves. What a search decides by itself is in no condition; what it
    /// leaves above it counts once.
    fn scanned(&self, scan: &ScanNode, above: Option<&Condition>) -> f64 {
        let mut all = scan.seek_conditions();
        if let Some(above) = above {
            let mut tested = vec![false; scan.offset + scan.table.table.definition().columns.len()];
            above.mark_columns(&mut tested);
            all.retain(|searched| {
                let mut used = vec![false; tested.len()];
                searched.mark_columns(&mut used);
                !used.iter().zip(&tested).any(|(used, tested)| *used && *tested)
            });
            all.push(above.clone());
        }
        self.estimator.look_at(scan, &all);
        self.estimator.rows(scan, &all)
    }

    fn joined(&mut self, node: &Node) -> f64 {
        let mut sources = Sources::default();
        sources.add(node);
        match node {
            Node::Loop {
                left,
                right,
                kind,
                condition,
                ..
            } => {
                let tested = without_sought(condition, right);
                let (left, right) = (self.expect(left), self.expect(right));
                join_rows(*kind, left, right, self.estimator.selectivity(&tested, &sources))
            }
            Node::Hash {
                left,
                right,
                kind,
                keys,
                residual,
                ..
            }
            | Node::Merge {
                left,
                right,
                kind,
                keys,
                residual,
                ..
            } => {
                let (left, right) = (self.expect(left), self.expect(right));
                let each = keys
                    .iter()
                    .map(|(left, right)| self.estimator.equality(left, right, &sources));
                let selectivity = each.product::<f64>() * self.estimator.selectivity(residual, &sources);
                join_rows(*kind, left, right, selectivity)
            }
            _ => UNKNOWN_ROWS,
        }
    }

    /// Rows of what makes rows of its own.
    fn made(&mut self, node: &Node) -> f64 {
        match node {
            Node::Single => 1.0,
            Node::Empty => 0.0,
            Node::Values { rows, .. } => rows.len() as f64,
            Node::Derived { plan, .. } => self.expect(&plan.root),
            Node::Project { input, .. }
            | Node::Arrange { input, .. }
            | Node::Sort { input, .. }
            | Node::Window { input, .. } => self.expect(input),
            Node::Distinct { input, .. } => (self.expect(input) * 0.5).max(1.0),
            Node::Aggregate { input, keys, .. } => {
                let rows = self.expect(input);
                let mut sources = Sources::default();
                sources.add(input);
                let places: Vec<usize> = keys.iter().filter_map(column_of).collect();
                match keys.is_empty() {
                    true => 1.0,
                    false => self.estimator.groups(&places, rows, &sources),
                }
            }
            Node::Top { input, top, .. } => top_rows(top, self.expect(input)),
            Node::Slice { input, fetch, .. } => {
                let rows = self.expect(input);
                fetch.as_ref().and_then(known_count).unwrap_or(rows).min(rows)
            }
            Node::Append { inputs, .. } => inputs.iter().map(|input| self.expect(input)).sum(),
            Node::SetOperation { left, right, .. } => {
                self.expect(right);
                self.expect(left)
            }
            Node::Recursive { anchor, step, .. } => self.expect(&anchor.root) + self.expect(step),
            _ => UNKNOWN_ROWS,
        }
    }
}

/// What a loop tests of the pairs that a search on its right has not decided: that compares columns with the left row, and the rows it finds
/// for one are expected of it.
fn without_sought(condition: &Condition, right: &Node) -> Condition {
    let scan = match right {
        Node::Scan(scan) => scan,
        Node::Filter { input, .. } => match &**input {
            Node::Scan(scan) => scan,
            _ => return condition.clone(),
        },
        _ => return condition.clone(),
    };
    let own = scan.offset..scan.offset + scan.table.table.definition().columns.len();
    let mut sought = vec![false; own.end];
    for searched in scan.seek_conditions() {
        let columns = columns_of(&searched);
        if columns.iter().any(|column| !own.contains(column)) {
            for column in columns.into_iter().filter(|column| own.contains(column)) {
                sought[column] = true;
            }
        }
    }
    let mut tested = condition.clone().into_conjuncts();
    tested.retain(|one| {
        !columns_of(one)
            .into_iter()
            .any(|column| sought.get(column) == Some(&true))
    });
    Condition::all(tested)
}

/// The places that a condition reads.
fn columns_of(condition: &Condition) -> Vec<usize> {
    fn of_expression(expression: &Expr, found: &mut Vec<usize>) {
        if crate::stack::require().is_err() {
            return;
        }
        if let ExprKind::Column(place) = expression.kind {
            found.push(place);
        }
        expression.for_each_child(&mut |child| of_expression(child, found));
    }
    let mut found = Vec::new();
    condition.for_each_expression(&mut |expression| of_expression(expression, &mut found));
    found
}

/// A count that stands in the plan.
fn known_count(count: &Expr) -> Option<f64> {
    match &count.kind {
        ExprKind::Constant(value) => match value {
            engine::types::Value::Float(percent) => Some(*percent),
            other => other.as_i64().map(|count| count as f64),
        },
        _ => None,
    }
}

fn top_rows(top: &TopCount, rows: f64) -> f64 {
    let known = known_count(&top.count).unwrap_or(TOP_ROWS_GUESS);
    match top.percent {
        true => rows * known / 100.0,
        false => known.min(rows),
    }
}

/// Rows of a join of so many left and right rows.
fn join_rows(kind: JoinKind, left: f64, right: f64, selectivity: f64) -> f64 {
    let pairs = left * right * selectivity;
    match kind {
        JoinKind::Inner => pairs,
        JoinKind::Left => pairs.max(left),
        JoinKind::Right => pairs.max(right),
        JoinKind::Full => pairs.max(left + right),
        JoinKind::Semi => pairs.min(left),
        JoinKind::Anti => (left - pairs).max(1.0),
        JoinKind::RightSemi => pairs.min(right),
        JoinKind::RightAnti => (right - pairs).max(1.0),
    }
}
