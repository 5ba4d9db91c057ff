//! Which places of the wide row a tree of FROM reads.

use super::{Condition, Expr, IndexSeek, Node};

impl Node {
    /// Marks what the expressions inside a tree of FROM read of the wide row. Queries in FROM read what they capture.
    pub fn mark_columns(&self, used: &mut [bool]) {
        let mut mark_all = |expressions: &[Expr]| expressions.iter().for_each(|one| one.mark_columns(used));
        match self {
            Node::Filter { input, condition } => {
                condition.mark_columns(used);
                input.mark_columns(used);
            }
            Node::From(from) => {
                from.units.iter().for_each(|unit| unit.node.mark_columns(used));
                mark_conditions(&from.conjuncts, used);
            }
            Node::Outer(join) => {
                join.left.mark_columns(used);
                join.right.mark_columns(used);
                mark_conditions(&join.conjuncts, used);
            }
            Node::Loop {
                left, right, condition, ..
            } => {
                condition.mark_columns(used);
                left.mark_columns(used);
                right.mark_columns(used);
            }
            Node::Hash {
                left,
                right,
                keys,
                residual,
                ..
            } => {
                for (left, right) in keys {
                    left.mark_columns(used);
                    right.mark_columns(used);
                }
                residual.mark_columns(used);
                left.mark_columns(used);
                right.mark_columns(used);
            }
            Node::Derived {
                captures: expressions, ..
            }
            | Node::View {
                arguments: expressions, ..
            }
            | Node::Module {
                arguments: expressions, ..
            } => mark_all(expressions),
            Node::Scan(scan) => {
                if let Some(seek) = &scan.seek {
                    seek.mark_columns(used);
                }
            }
            _ => {}
        }
    }
}

impl IndexSeek {
    /// Marks what the values searched for read of the row around.
    pub fn mark_columns(&self, used: &mut [bool]) {
        self.for_each_expression(&mut |value| value.mark_columns(used));
    }
}

fn mark_conditions(conditions: &[Condition], used: &mut [bool]) {
    conditions.iter().for_each(|condition| condition.mark_columns(used));
}
