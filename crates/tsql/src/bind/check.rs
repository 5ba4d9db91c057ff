//! CHECK constraints, rules and defaults from the catalog, bound over a row of their table's columns.

use engine::catalog::{Bindings, CheckConstraint, ColumnDefinition, TableDefinition};
use engine::error::Result;
use engine::types::{Length, SqlType};
use syntax::lexer::{Lexer, TokenKind};

use super::scope::{Level, SelectLevel};
use super::sequence::Barred;
use super::source::table_columns;
use super::{Binder, ScopeColumn};
use crate::messages;
use crate::plan::{Check, Condition, Expr, ExprKind, Label};

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
                rule_of: None,
            })
        });
        bound.collect()
    }

    /// What the rows of a table must satisfy: the rules of its columns, then its CHECKs that are on.
    ///
    /// # Errors
    /// Those of binding a condition.
    pub(super) fn conditions_of(&self, definition: &TableDefinition) -> Result<Vec<Check>> {
        let mut conditions = Vec::new();
        for (place, column) in definition.columns.iter().enumerate() {
            let Some(rule) = &column.bound.rule else { continue };
            conditions.push(Check {
                name: column.name.clone(),
                condition: self.stored_rule(&rule.expression, place, column)?,
                column: None,
                calls_module: false,
                rule_of: Some(place),
            });
        }
        conditions.extend(self.checks_of(definition, &|check| !check.is_disabled)?);
        Ok(conditions)
    }

    /// A rule out of the catalog for a column at a place: its variable, a name in brackets, is the column.
    fn stored_rule(&self, text: &str, place: usize, column: &ColumnDefinition) -> Result<Condition> {
        let visible = variables_of_rule(text).into_iter().map(|name| ScopeColumn {
            name,
            sql_type: column.sql_type,
            label: Label::Implicit(column.collation),
            index: place,
            from_table: true,
            ..ScopeColumn::plain()
        });
        let parsed = crate::parser::parse_condition(text).map_err(messages::syntax)?;
        let mut binder = Binder::new(self.session, self.variables);
        binder.forbid_subqueries();
        binder.is_without_columns = true;
        binder.next_value_place.here = Barred::Inside;
        let level = Level::Select(SelectLevel {
            columns: visible.collect(),
            ..SelectLevel::default()
        });
        binder
            .within(level, |binder| binder.search_condition(&parsed))
            .map(|(condition, _)| condition)
    }

    /// Judges a rule when it is made. The type of its variable is not known yet, so what depends on that is found by the statement that
    /// writes to a column that has it (sql-docs, "CREATE RULE": "an error message when a value is inserted, but not when the rule is bound").
    ///
    /// # Errors
    /// 128, 174, 189, 195, 1046, 4105.
    pub(crate) fn check_rule(&self, text: &str) -> Result<()> {
        const TRIED: [SqlType; 3] = [
            SqlType::NVarChar(Length::Limited(4000)),
            SqlType::Int,
            SqlType::DateTime,
        ];
        let mut first = None;
        for sql_type in TRIED {
            let column = ColumnDefinition {
                name: String::new(),
                sql_type,
                collation: self.collation,
                alias_type: None,
                nullable: true,
                identity: None,
                default: None,
                is_row_guid: false,
                computed: None,
                generated: None,
                mask: None,
                bound: Bindings::default(),
            };
            match self.stored_rule(text, 0, &column) {
                Ok(condition) if condition.calls_module() => return Err(messages::user_function_not_allowed()),
                Ok(_) => return Ok(()),
                Err(error) => first = first.or(Some(error)),
            }
        }
        match first {
            Some(error) if error.number == NO_SUCH_FUNCTION => Err(messages::user_function_not_allowed()),
            Some(error) if OF_ANY_TYPE.contains(&error.number) => Err(error),
            _ => Ok(()),
        }
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

    /// Judges a default that is made as an object. "User-defined functions can't be used" in it (sql-docs, "CREATE DEFAULT").
    ///
    /// # Errors
    /// 128, 137, 1046, 4105, 11719; those of binding.
    pub(crate) fn check_default_object(&self, text: &str) -> Result<()> {
        let parsed = crate::parser::parse_expression(text).map_err(messages::syntax)?;
        let mut binder = Binder::new(self.session, self.variables);
        binder.forbid_subqueries();
        binder.is_without_columns = true;
        binder.next_value_place.here = Barred::Inside;
        match binder.expression(&parsed) {
            Ok(bound) if bound.calls_module() => Err(messages::user_function_not_allowed()),
            Err(error) if error.number == NO_SUCH_FUNCTION => Err(messages::user_function_not_allowed()),
            other => other.map(|_| ()),
        }
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

/// 4121: no function of the user has that name.
const NO_SUCH_FUNCTION: i32 = 4121;
/// Errors of a condition that it has whatever the type of its variable.
const OF_ANY_TYPE: [i32; 5] = [128, 174, 189, 195, 1046];

/// The names that a rule's text has in place of its variables: those that begin with `@`.
fn variables_of_rule(text: &str) -> Vec<String> {
    let (mut lexer, mut names) = (Lexer::new(text, true), Vec::new());
    while let Ok(token) = lexer.next_token() {
        let own = text.get(token.start..token.end).unwrap_or_default();
        match token.kind {
            TokenKind::End => break,
            TokenKind::Bracketed if own.starts_with("[@") => {
                let name = own.trim_start_matches('[').trim_end_matches(']').to_owned();
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            _ => {}
        }
    }
    names
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
