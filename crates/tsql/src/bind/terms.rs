//! The terms of one expression: its identifiers and constants, at most 65,535 (sql-docs, "MSSQLSERVER_8632").
//!
//! A clause counts as one expression: a select list ("select a, b + c, d + e" has one expression, according to that page), a search
//! condition, a list of keys or of assignments, a row of VALUES. Terms are counted as they are bound, after `*` is expanded; a query inside
//! has its own clauses. The constants of an IN list are one list, limited only by memory: a million of them run (F. McDaniel, "Giant IN
//! Lists of Doom", 2021).

use engine::error::Result;

use super::Binder;
use crate::ast::{Expression, ExpressionKind};
use crate::messages;
use crate::plan::{Condition, Expr};

/// Identifiers and constants of one expression.
const TERMS_MAX: usize = 65_535;

impl<'a> Binder<'a> {
    /// Binds a clause.
    ///
    /// # Errors
    /// Those of `work`.
    pub(super) fn one_expression<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let around = std::mem::take(&mut self.terms);
        let result = work(self);
        self.terms = around;
        result
    }

    /// Binds the condition of a WHERE, an ON or a HAVING.
    ///
    /// # Errors
    /// Those of binding it.
    pub(super) fn search_condition(&mut self, condition: &'a Expression) -> Result<Condition> {
        self.one_expression(|binder| binder.condition(condition))
    }

    /// Counts terms of the clause being bound.
    ///
    /// # Errors
    /// 8632 when there are too many.
    pub(super) fn count_terms(&mut self, count: usize) -> Result<()> {
        self.terms += count;
        if self.terms > TERMS_MAX {
            return Err(messages::expression_limit());
        }
        Ok(())
    }

    /// Binds the values of an IN.
    ///
    /// # Errors
    /// Those of binding them.
    pub(super) fn listed(&mut self, list: &'a [Expression]) -> Result<Vec<Expr>> {
        let bind = |item: &'a Expression| match is_written_constant(item) {
            true => self.one_expression(|binder| binder.expression(item)),
            false => self.expression(item),
        };
        list.iter().map(bind).collect()
    }
}

/// A constant, perhaps with a sign.
fn is_written_constant(expression: &Expression) -> bool {
    match &expression.kind {
        ExpressionKind::Literal(_) => true,
        ExpressionKind::Unary { operand, .. } => matches!(operand.kind, ExpressionKind::Literal(_)),
        _ => false,
    }
}
