//! The collation labels of expressions: collation precedence of operands ([`Label`]).

use engine::error::Result;

use super::{Expr, ExprKind};
use crate::messages;
use crate::scalar::convert::recollated;
use crate::scalar::{Conflict, Label};
use crate::sink::ResultColumn;

impl ResultColumn {
    /// The column as an expression over the rows that it is a column of.
    pub(crate) fn expression(&self, index: usize) -> Expr {
        Expr::column(index, self.sql_type, self.nullable).labelled(self.label.of_column())
    }
}

impl Expr {
    /// The same with another label, whose collation its strings already have.
    #[must_use]
    pub fn labelled(self, label: Label) -> Expr {
        Expr { label, ..self }
    }

    /// The same under another label: its strings are given the label's collation.
    #[must_use]
    pub fn collated(self, label: Label) -> Expr {
        if !self.sql_type.is_character() || matches!(label, Label::Conflict(_)) {
            return self.labelled(label);
        }
        let collation = label.collation();
        if !matches!(self.label, Label::Conflict(_)) && self.label.collation() == collation {
            return self.labelled(label);
        }
        if let ExprKind::Constant(value) = &self.kind {
            let kind = ExprKind::Constant(recollated(value.clone(), self.sql_type, collation));
            return Expr { kind, label, ..self };
        }
        Expr {
            sql_type: self.sql_type,
            nullable: self.nullable,
            kind: ExprKind::Collate(Box::new(self)),
            label,
        }
    }

    /// The same, if its strings have a collation to be shown, sorted or grouped by.
    ///
    /// # Errors
    /// 451, naming the clause and the place in it (from 1).
    pub fn with_collation_for(self, clause: &str, place: usize) -> Result<Expr> {
        match self.label {
            Label::Conflict(Conflict { left, right, operator }) if self.sql_type.is_character() => Err(
                messages::collation_conflict_in_list(right.name(), left.name(), operator, clause, place),
            ),
            _ => Ok(self),
        }
    }

    /// The same, if its values can be compared with each other, as grouping and sorting do.
    ///
    /// # Errors
    /// 305 for `xml`, 306 for `text`, `ntext` and `image`, 13636 for `json`, 249 for `geometry` and `geography`; those of [`Expr::with_collation_for`].
    pub fn sortable_for(self, clause: &str, place: usize) -> Result<Expr> {
        if self.sql_type.is_large_object() {
            return Err(messages::not_comparable());
        }
        if self.sql_type.is_spatial() {
            return Err(messages::clause_needs_order(self.sql_type.name(), clause));
        }
        if self.sql_type == engine::types::SqlType::Json {
            return Err(messages::json_not_sortable());
        }
        if self.sql_type == engine::types::SqlType::XML {
            return Err(messages::xml_not_comparable());
        }
        self.with_collation_for(clause, place)
    }

    /// The same, if its strings have a collation to be stored from.
    ///
    /// # Errors
    /// 457 when they have none.
    pub fn assignable(self) -> Result<Expr> {
        match self.label {
            Label::Conflict(Conflict { left, right, operator }) if self.sql_type.is_character() => {
                let own = self.sql_type.name();
                Err(messages::collation_unresolved(own, right.name(), left.name(), operator))
            }
            _ => Ok(self),
        }
    }
}

/// The label that several expressions have together; those that are no strings have no part in it.
///
/// # Errors
/// As [`Label::meet`].
pub fn label_of<'e>(expressions: impl IntoIterator<Item = &'e Expr>, operator: &'static str) -> Result<Label> {
    let mut strings = expressions
        .into_iter()
        .filter(|expression| expression.sql_type.is_character());
    let first = strings.next().map_or_else(Label::default, |first| first.label);
    strings.try_fold(first, |label, next| label.meet(next.label, operator))
}

/// Gives expressions that are compared with each other one collation.
///
/// # Errors
/// 468 and 446 when there is none for all of them.
pub fn unified(expressions: Vec<Expr>, operation: &'static str) -> Result<Vec<Expr>> {
    let label = label_of(&expressions, operation)?.for_operation(operation)?;
    let collated = expressions
        .into_iter()
        .map(|expression| match expression.sql_type.is_character() {
            true => expression.collated(label),
            false => expression,
        });
    Ok(collated.collect())
}
