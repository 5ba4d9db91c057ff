//! CHECK constraints and defaults from the catalog, bound over a row of their table's columns.

use engine::catalog::{CheckConstraint, ColumnDefinition, TableDefinition};
use engine::error::Result;
use engine::types::SqlType;

use super::scope::{Level, SelectLevel};
use super::source::table_columns;
use super::{Binder, ScopeColumn};
use crate::messages;
use crate::plan::{Check, Condition, Expr, ExprKind};

impl Binder<'_> {
    /// The CHECKs of a table that are meant.
    ///
    /// # Errors
    /// Those of binding a condition.
    pub(crate) fn checks_of(
        &self,
        definition: &TableDefinition,
        is_meant: &dyn Fn(&CheckConstraint) -> bool,
    ) -> Result<Vec<Check>> {
        let visible = table_columns(definition, &definition.name, None, 0);
        let meant = definition.checks.iter().filter(|check| is_meant(check));
        let bound = meant.map(|check| {
            let condition = self.stored_check(&check.text, visible.clone())?;
            let column = match columns_of(definition, &condition).as_slice() {
                [column] => definition.columns.get(*column).map(|column| column.name.clone()),
                _ => None,
            };
            Ok(Check {
                name: check.name.clone(),
                calls_module: condition.calls_module(),
                condition,
                column,
            })
        });
        bound.collect()
    }

    /// The columns that a condition over the rows of a table reads.
    ///
    /// # Errors
    /// Those of binding it.
    pub(crate) fn columns_of_check(&self, definition: &TableDefinition, text: &str) -> Result<Vec<usize>> {
        let visible = table_columns(definition, &definition.name, None, 0);
        Ok(columns_of(definition, &self.stored_check(text, visible)?))
    }

    /// A default out of the catalog.
    pub(super) fn stored_default(&self, text: Option<&str>) -> Result<Option<Expr>> {
        let Some(text) = text else { return Ok(None) };
        let parsed = crate::parser::parse_expression(text).map_err(messages::syntax)?;
        let mut binder = Binder::new(self.session, self.variables);
        binder.forbid_subqueries();
        binder.is_without_columns = true;
        let bound = binder.with_next_value(|binder| binder.expression(&parsed))?;
        Ok(Some(bound))
    }

    /// Judges a default when it is made for a column: what it names must be there, and its type must be one that the column takes. Whether
    /// its value fits is seen when a row takes it.
    ///
    /// # Errors
    /// 128, 206, 257, 1046, 1754, 1755; those of binding.
    pub(crate) fn check_default(&self, table: &str, column: &ColumnDefinition, text: &str) -> Result<()> {
        if column.identity.is_some() {
            return Err(messages::default_of_identity(table, &column.name));
        }
        if column.sql_type == SqlType::RowVersion {
            return Err(messages::default_of_row_version(table, &column.name));
        }
        match self.stored_default(Some(text))?.map(Expr::assignable).transpose()? {
            Some(value) if !value.is_null_constant() => {
                crate::scalar::data_type::check_conversion(value.sql_type, column.sql_type, false)
            }
            _ => Ok(()),
        }
    }

    fn stored_check(&self, text: &str, visible: Vec<ScopeColumn>) -> Result<Condition> {
        let parsed = crate::parser::parse_condition(text).map_err(messages::syntax)?;
        let mut binder = Binder::new(self.session, self.variables);
        binder.forbid_subqueries();
        let level = Level::Select(SelectLevel {
            columns: visible,
            ..SelectLevel::default()
        });
        let condition = binder.within(level, |binder| binder.search_condition(&parsed))?.0;
        match asks_for_partition(&condition) {
            // Rows would be judged by boundaries that SPLIT and MERGE change.
            true => Err(messages::not_supported("$PARTITION in a CHECK constraint")),
            false => Ok(condition),
        }
    }
}

/// Whether a condition asks a partition function for the number of a partition.
fn asks_for_partition(condition: &Condition) -> bool {
    fn expression_asks(expression: &Expr) -> bool {
        let mut asks = match &expression.kind {
            ExprKind::Function { name, .. } => *name == crate::ast::PARTITION_SCOPE,
            ExprKind::Case { branches, .. } => branches.iter().any(|(condition, _)| asks_for_partition(condition)),
            _ => false,
        };
        expression.for_each_child(&mut |child| asks = asks || expression_asks(child));
        asks
    }
    let mut asks = match condition {
        Condition::And(parts) | Condition::Or(parts) => parts.iter().any(asks_for_partition),
        Condition::Not(inner) => asks_for_partition(inner),
        _ => false,
    };
    condition.for_each_expression(&mut |expression| asks = asks || expression_asks(expression));
    asks
}

/// The columns of a table that a condition over its rows reads.
fn columns_of(definition: &TableDefinition, condition: &Condition) -> Vec<usize> {
    let mut used = vec![false; definition.columns.len()];
    condition.mark_columns(&mut used);
    let places = used.into_iter().enumerate();
    places.filter_map(|(place, is_used)| is_used.then_some(place)).collect()
}
