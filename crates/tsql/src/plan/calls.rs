//! Whether a plan calls functions of the user: what they read is not seen in the plan, so it may be anything.

use super::{Condition, Expr, ExprKind, Node};

impl Node {
    /// Whether running this may call a function of the user.
    pub fn calls_module(&self) -> bool {
        let any = |expressions: &[Expr]| expressions.iter().any(Expr::calls_module);
        match self {
            Node::Module { .. } => true,
            Node::Single | Node::Empty | Node::Variable { .. } | Node::Round { .. } => false,
            Node::Scan(scan) => scan.seek.as_ref().is_some_and(|seek| {
                let mut calls = false;
                seek.for_each_expression(&mut |expression| calls = calls || expression.calls_module());
                calls
            }),
            Node::From(from) => {
                let in_units = from.units.iter().any(|unit| unit.node.calls_module());
                in_units || from.conjuncts.iter().any(Condition::calls_module)
            }
            Node::Outer(join) => {
                let on = join.conjuncts.iter().any(Condition::calls_module);
                on || join.left.calls_module() || join.right.calls_module()
            }
            Node::View { arguments, .. } => any(arguments),
            Node::Values { rows, .. } => rows.iter().any(|row| any(row)),
            Node::Derived { plan, captures, .. } => any(captures) || plan.root.calls_module(),
            Node::Recursive { anchor, step, .. } => anchor.root.calls_module() || step.calls_module(),
            Node::Loop {
                left, right, condition, ..
            } => condition.calls_module() || left.calls_module() || right.calls_module(),
            Node::Hash {
                left,
                right,
                keys,
                residual,
                ..
            }
            | Node::Merge {
                left,
                right,
                keys,
                residual,
                ..
            } => {
                let in_keys = keys
                    .iter()
                    .any(|(left, right)| left.calls_module() || right.calls_module());
                in_keys || residual.calls_module() || left.calls_module() || right.calls_module()
            }
            Node::Arrange { input, keys, .. } => any(keys) || input.calls_module(),
            Node::SetOperation { left, right, .. } => left.calls_module() || right.calls_module(),
            Node::Append { inputs, .. } => inputs.iter().any(Node::calls_module),
            Node::Filter { input, condition } => condition.calls_module() || input.calls_module(),
            Node::Project { input, expressions, .. } => any(expressions) || input.calls_module(),
            // These take all of their input in before they answer the first row, or add no expression of rows to it.
            Node::Aggregate { input, .. }
            | Node::Window { input, .. }
            | Node::Distinct { input, .. }
            | Node::Sort { input, .. }
            | Node::Top { input, .. }
            | Node::Slice { input, .. } => input.calls_module(),
        }
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
