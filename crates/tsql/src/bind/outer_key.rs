//! GROUP BY keys in subqueries: an expression that equals a key of an outer query refers to that key, not to its columns.
//!
//! `SELECT (SELECT COUNT(*) FROM u WHERE u.b = t.a + 1) FROM t GROUP BY t.a + 1` refers to groups: `t.a` itself would be 8120. An
//! expression over columns of one outer query is compared with the keys of that query. If it equals one, the subquery captures the key, as
//! it would capture a column, instead of the columns in the expression.

use engine::error::Result;

use super::Binder;
use super::outer_aggregate::CaptureCounts;
use super::scope::Level;
use crate::plan::{Expr, ExprKind};

impl Binder<'_> {
    /// Whether a query around the one at hand has a key that is more than a column.
    pub(super) fn groups_outside(&self) -> bool {
        let mut around = self.levels.iter().rev().skip(1);
        around.any(|level| match level {
            Level::Select(level) => level.group_keys.iter().any(|key| !is_column(key)),
            Level::Boundary(_) | Level::Opaque => false,
        })
    }

    /// An expression, or what stands for it where it is a key of a query further out. `before` is what the boundaries had captured without
    /// it.
    pub(super) fn as_outer_key(&mut self, expression: Expr, before: &CaptureCounts) -> Expr {
        if is_column(&expression) {
            return expression;
        }
        let (mut key, mut level) = (expression.clone(), None);
        if !self.lower_to_one(&mut key, &mut level) {
            return expression;
        }
        let Some(position) = level else { return expression };
        let is_key = matches!(&self.levels[position], Level::Select(level) if level.group_keys.iter().any(|own| own.same_as(&key)));
        if !is_key {
            return expression;
        }
        let boundaries: Vec<(usize, usize)> = before.iter().rev().filter(|(at, _)| *at > position).copied().collect();
        for &(at, count) in &boundaries {
            if let Some(Level::Boundary(captures)) = self.levels.get_mut(at) {
                captures.truncate(count);
            }
        }
        let positions: Vec<usize> = boundaries.into_iter().map(|(at, _)| at).collect();
        self.captured(key, &positions)
    }

    /// Makes an expression what it is in the query further out that all of its columns belong to. False, and half done, where it has a
    /// column of its own query, or columns of several.
    fn lower_to_one(&self, expression: &mut Expr, level: &mut Option<usize>) -> bool {
        match expression.kind {
            ExprKind::Column(_) => false,
            ExprKind::Parameter(_) => {
                let Some(outer) = self.captured_from(expression) else {
                    return false;
                };
                expression.kind = outer.expression.kind;
                *level.get_or_insert(outer.level) == outer.level
            }
            _ => {
                let mut is_one = crate::stack::require().is_ok();
                let visited: Result<()> = expression.change_children(&mut |child| {
                    is_one = is_one && self.lower_to_one(child, level);
                    Ok(())
                });
                is_one && visited.is_ok()
            }
        }
    }
}

fn is_column(expression: &Expr) -> bool {
    matches!(expression.kind, ExprKind::Column(_) | ExprKind::Parameter(_))
}
