//! The estimates for each operator of a plan: recorded when the plan is compiled, by the estimator that chose the operator, and kept with
//! the plan. Code that shows a plan later, in any session, uses only these.
//!
//! A plan moves in memory after it was compiled. So the estimates are kept in the order in which a walk visits the operators, and found by
//! address once the plan has its final place.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;

use super::{Estimator, Sources, UNKNOWN_ROWS, column_of};
use crate::measure::NodeAddress;
use crate::plan::{
    Condition, Expr, ExprKind, JoinKind, JoinMethod, Node, Part, QueryPlan, RecursiveNode, ScanNode, Shape, TopCount,
};

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
        if let Node::Scan(scan) = node {
            expected.table_rows = self.estimator.table_rows(&scan.table);
            expected.table_pages = self.estimator.table_pages(&scan.table);
        }
        expected.rows = self.rows(node);
        self.found.insert(address, expected);
        expected.rows
    }

    /// The same, of what no rows are known of.
    fn rows(&mut self, node: &Node) -> f64 {
        match node.shape() {
            Shape::Source(_) => self.given(node),
            Shape::Joined => self.joined(node),
            Shape::Passed(input) => self.passed(node, input),
            Shape::Extended(below) => self.expect(below.input),
            Shape::Computed(below) => self.computed(node, below.input),
            Shape::United => self.united(node),
        }
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
        let Node::Join(join) = node else { return UNKNOWN_ROWS };
        let mut sources = Sources::default();
        sources.add(node);
        let (left, right) = (self.expect(&join.left), self.expect(&join.right));
        let each = join
            .keys
            .iter()
            .map(|(left, right)| self.estimator.equality(left, right, &sources));
        let of_keys = each.product::<f64>();
        let of_others = match join.method {
            JoinMethod::Loop => {
                let tested = without_sought(&join.residual, &join.right);
                self.estimator.selectivity(&tested, &sources)
            }
            JoinMethod::Hash { .. } | JoinMethod::Merge { .. } => self.estimator.selectivity(&join.residual, &sources),
        };
        join_rows(join.kind, left, right, of_keys * of_others)
    }

    /// Rows of a source.
    fn given(&mut self, node: &Node) -> f64 {
        if let Node::Scan(scan) = node {
            return self.scanned(scan, None);
        }
        if let Node::Derived(derived) = node {
            return self.expect(&derived.plan.root);
        }
        if let Node::Recursive(RecursiveNode { anchor, step, .. }) = node {
            return self.expect(&anchor.root) + self.expect(step);
        }
        self.estimator.source_rows(node)
    }

    /// Rows that an operator passes on of those of its input.
    fn passed(&mut self, node: &Node, input: &Node) -> f64 {
        let rows = self.expect(input);
        if let Node::Filter(filter) = node {
            if let Node::Scan(scan) = input {
                return self.scanned(scan, Some(&filter.condition));
            }
            return rows * self.selectivity(&filter.condition, input);
        }
        if let Node::Distinct(_) = node {
            return (rows * 0.5).max(1.0);
        }
        if let Node::Top(top) = node {
            return top_rows(&top.top, rows);
        }
        if let Node::Slice(slice) = node {
            return slice.fetch.as_ref().and_then(known_count).unwrap_or(rows).min(rows);
        }
        rows
    }

    /// Groups, or as many rows as there are below.
    fn computed(&mut self, node: &Node, input: &Node) -> f64 {
        let rows = self.expect(input);
        if let Node::Serialize(_) = node {
            return 1.0;
        }
        let Node::Aggregate(aggregate) = node else { return rows };
        if aggregate.keys.is_empty() {
            return 1.0;
        }
        let mut sources = Sources::default();
        sources.add(&aggregate.input);
        let places: Vec<usize> = aggregate.keys.iter().filter_map(column_of).collect();
        self.estimator.groups(&places, rows, &sources)
    }

    /// Rows of several queries: all of them, or of a set operation at most those of the first.
    fn united(&mut self, node: &Node) -> f64 {
        let rows: Vec<f64> = node.inputs().into_iter().map(|input| self.expect(input)).collect();
        match matches!(node, Node::SetOperation(_)) {
            true => rows.first().copied().unwrap_or_default(),
            false => rows.iter().sum(),
        }
    }
}

/// What a loop tests of the pairs that a search on its right has not decided: that compares columns with the left row, and the rows it finds
/// for one are expected of it.
fn without_sought(condition: &Condition, right: &Node) -> Condition {
    let Some(scan) = right.filtered_scan() else {
        return condition.clone();
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
