//! Binding: from syntax to typed plans.
//!
//! Names are resolved against a stack of levels. A SELECT pushes its columns; a subquery pushes a boundary first, and what it
//! uses of the levels below becomes a *capture*: an expression of the row around it, handed over when the subquery runs. So a
//! plan never reaches out of itself.
//!
//! Invariant: after binding, every stack is as it was before.

mod aggregate;
mod case;
mod condition;
mod constant;
mod cte;
mod expression;
mod from;
mod function;
mod grouping;
mod hints;
mod join;
mod manipulation;
mod query;
mod scope;
mod seek;
mod select;
mod source;
mod target;
mod variables;
mod window;

pub use manipulation::{
    Assignment, BoundDelete, BoundInsert, BoundOutput, BoundUpdate, InsertRows, OutputTarget, Target, TargetColumn,
    TargetColumns,
};
pub use query::BoundQuery;
pub use scope::ScopeColumn;
pub use variables::{TableVariableShape, VariableColumn, VariableScope};

use engine::error::{Error, Result};
use engine::types::SqlType;

use crate::ast;
use crate::plan::{Condition, Expr};
use crate::session::SessionState;
use aggregate::aggregate_of;
use scope::Level;

/// A common table expression that can be seen from where binding is.
struct VisibleCte<'a> {
    definition: &'a ast::CommonTableExpression,
    /// How many others it can see itself: those before it.
    sees: usize,
    /// While its own recursive part is bound: the number of its rounds, and its columns.
    round: Option<(usize, Vec<(String, SqlType)>)>,
}

/// Binds the statements of a batch.
pub struct Binder<'a> {
    session: &'a SessionState,
    variables: &'a VariableScope,
    levels: Vec<Level>,
    ctes: Vec<VisibleCte<'a>>,
    /// Views being expanded, to end those that contain themselves.
    view_depth: usize,
    /// Line of the statement part being bound, for errors.
    line: u32,
    /// Recursive common table expressions bound so far.
    recursions: usize,
    /// MAXRECURSION of the statement.
    rounds_max: u32,
    /// MAXDOP of the statement.
    degree_max: Option<usize>,
    /// Whether a table or view was bound.
    reads_tables: bool,
    /// Hints at the views and common table expressions around.
    inherited_hints: Vec<ast::TableHint>,
}

impl<'a> Binder<'a> {
    /// A binder that sees a batch's variables.
    pub fn new(session: &'a SessionState, variables: &'a VariableScope) -> Binder<'a> {
        Binder {
            session,
            variables,
            levels: Vec::new(),
            ctes: Vec::new(),
            view_depth: 0,
            line: 0,
            recursions: 0,
            rounds_max: 100,
            degree_max: None,
            reads_tables: false,
            inherited_hints: Vec::new(),
        }
    }

    /// The line of what was bound last.
    pub fn line(&self) -> u32 {
        self.line
    }

    /// Binds a scalar expression that sees no columns.
    ///
    /// # Errors
    /// Those of binding.
    pub fn scalar(&mut self, expression: &'a ast::Expression) -> Result<Expr> {
        self.expression(expression)
    }

    /// Binds a scalar expression and converts it to a type.
    ///
    /// # Errors
    /// Those of binding, and of conversions that are not allowed.
    pub fn scalar_as(&mut self, expression: &'a ast::Expression, sql_type: SqlType) -> Result<Expr> {
        let bound = self.expression(expression)?;
        implicit(bound, sql_type)
    }

    /// Binds what is assigned to a variable, by `=` or a compound operator.
    ///
    /// # Errors
    /// Those of binding, and of conversions that are not allowed.
    pub fn assigned(
        &mut self,
        variable: &str,
        operator: Option<ast::BinaryOperator>,
        value: &'a ast::Expression,
    ) -> Result<Expr> {
        let target = self.variable(variable)?;
        let sql_type = target.sql_type;
        let value = self.expression(value)?;
        let value = match operator {
            Some(operator) => expression::binary(operator, target, value)?,
            None => value,
        };
        implicit(value, sql_type)
    }

    /// Binds a condition that sees no columns.
    ///
    /// # Errors
    /// Those of binding.
    pub fn truth(&mut self, condition: &'a ast::Expression) -> Result<Condition> {
        self.condition(condition)
    }
}

/// An expression in another type, if that needs no CAST.
///
/// # Errors
/// 206, 257 when it does.
pub fn implicit(expression: Expr, sql_type: SqlType) -> Result<Expr> {
    if !expression.is_null_constant() {
        crate::scalar::data_type::check_conversion(expression.sql_type, sql_type, false)?;
    }
    Ok(expression.converted(sql_type))
}

/// The error for syntax that is known and not executed.
pub(crate) fn not_supported(what: &str) -> Error {
    crate::messages::not_supported(what)
}
