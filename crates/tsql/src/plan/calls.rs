//! Checks whether a plan calls user-defined functions. The plan does not show what they read, so they may read anything.

use super::{Condition, Expr, ExprKind, Node, Part};

impl Node {
    /// Whether running this may call a function of the user.
    pub fn calls_module(&self) -> bool {
        matches!(self, Node::Module(_))
            || self.has_part(&mut |part| match part {
                Part::Expression(expression) => expression.calls_module(),
                Part::Condition(condition) | Part::Written(condition) => condition.calls_module(),
                Part::Node(below) | Part::Apart(below) => below.calls_module(),
                Part::Plan(plan) => plan.root.calls_module(),
            })
    }
}

impl Expr {
    /// Whether evaluating this may call a function of the user.
    pub fn calls_module(&self) -> bool {
        let mut calls = match &self.kind {
            ExprKind::Module { .. } => true,
            ExprKind::Subquery(query) => query.plan.root.calls_module(),
            _ => false,
        };
        self.for_each_child(&mut |child| calls = calls || child.calls_module());
        calls
    }
}

impl Expr {
    /// Whether this runs a query: one of its own, or those of a function of the user.
    pub fn contains_query(&self) -> bool {
        let mut found = match &self.kind {
            ExprKind::Subquery(_) | ExprKind::Module { .. } => true,
            ExprKind::Case { branches, .. } => branches.iter().any(|(condition, _)| condition.contains_query()),
            _ => false,
        };
        self.for_each_child(&mut |child| found = found || child.contains_query());
        found
    }
}

impl Condition {
    /// Whether this runs a query, as [`Expr::contains_query`] says.
    pub fn contains_query(&self) -> bool {
        let mut found = match self {
            Condition::Exists(_) | Condition::Quantified { .. } => true,
            Condition::And(parts) | Condition::Or(parts) => parts.iter().any(Condition::contains_query),
            Condition::Not(inner) => inner.contains_query(),
            _ => false,
        };
        self.for_each_expression(&mut |expression| found = found || expression.contains_query());
        found
    }

    /// Whether testing this may call a function of the user.
    pub fn calls_module(&self) -> bool {
        let mut calls = match self {
            Condition::Exists(query) | Condition::Quantified { subquery: query, .. } => query.plan.root.calls_module(),
            Condition::And(parts) | Condition::Or(parts) => parts.iter().any(Condition::calls_module),
            Condition::Not(inner) => inner.calls_module(),
            _ => false,
        };
        self.for_each_expression(&mut |expression| calls = calls || expression.calls_module());
        calls
    }
}
