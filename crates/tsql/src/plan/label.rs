//! Which collation an expression has, and how strongly: collation precedence (sql-docs, "Collation precedence").
//!
//! | | explicit X | implicit X | coercible-default | no collation |
//! |---|---|---|---|---|
//! | explicit Y | error | explicit Y | explicit Y | explicit Y |
//! | implicit Y | explicit X | no collation | implicit Y | no collation |
//! | coercible-default | explicit X | implicit X | coercible-default | no collation |
//! | no collation | explicit X | no collation | no collation | no collation |
//!
//! Two that have the same collation never conflict. What has no collation may be computed, and is an error where it is compared,
//! sorted, stored or sent.
//!
//! Invariant: the strings that an expression computes carry the collation of its label, unless it has none
//! ([`engine::types::Text::collation`]).

use engine::error::Result;
use engine::types::Collation;

use super::{Expr, ExprKind};
use crate::messages;
use crate::scalar::convert::recollated;

/// The label of an expression. Without meaning for one that is no string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// A constant, variable or function without strings: takes whatever the other side has.
    CoercibleDefault(Collation),
    /// A column.
    Implicit(Collation),
    /// COLLATE was written.
    Explicit(Collation),
    /// Columns of two collations met in an operator.
    Conflict(Conflict),
}

/// Two collations that met, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// That of the left side.
    pub left: Collation,
    /// That of the right side.
    pub right: Collation,
    /// `add`, `CASE`, `UNION ALL`.
    pub operator: &'static str,
}

impl Default for Label {
    fn default() -> Label {
        Label::CoercibleDefault(Collation::default())
    }
}

impl Label {
    /// The collation; the left one of two that conflict.
    pub fn collation(self) -> Collation {
        match self {
            Label::CoercibleDefault(collation) | Label::Implicit(collation) | Label::Explicit(collation) => collation,
            Label::Conflict(conflict) => conflict.left,
        }
    }

    /// The label of a column that an expression became: of a derived table, a view, a subquery.
    #[must_use]
    pub fn of_column(self) -> Label {
        match self {
            Label::Explicit(collation) => Label::Implicit(collation),
            other => other,
        }
    }

    /// The label of two expressions together.
    ///
    /// # Errors
    /// 468 when both were given a collation by COLLATE, and not the same.
    pub fn meet(self, right: Label, operator: &'static str) -> Result<Label> {
        use Label::{CoercibleDefault, Conflict as NoCollation, Explicit, Implicit};
        Ok(match (self, right) {
            (Explicit(left), Explicit(right)) if left != right => {
                return Err(messages::collation_conflict(right.name(), left.name(), operator));
            }
            (Explicit(_), _) => self,
            (_, Explicit(_)) => right,
            (NoCollation(_), _) => self,
            (_, NoCollation(_)) => right,
            (Implicit(left), Implicit(right)) if left != right => NoCollation(Conflict { left, right, operator }),
            (Implicit(_), _) => self,
            (_, Implicit(_)) => right,
            (CoercibleDefault(_), CoercibleDefault(_)) => self,
        })
    }

    /// The label, if it has a collation to compare by.
    ///
    /// # Errors
    /// 468 when the conflict is that of this very operation, 446 when it came up further down.
    pub fn for_operation(self, operation: &str) -> Result<Label> {
        match self {
            Label::Conflict(Conflict { left, right, operator }) if operator == operation => {
                Err(messages::collation_conflict(right.name(), left.name(), operation))
            }
            Label::Conflict(Conflict { left, right, operator }) => Err(messages::collation_conflict_below(
                right.name(),
                left.name(),
                operator,
                operation,
            )),
            other => Ok(other),
        }
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// The table of the contract, every combination; the collations of both sides differ.
    #[test]
    fn labels_meet_as_the_documentation_says() {
        let (x, y) = (Collation::CsAs, Collation::Bin2);
        let conflict = |left, right, operator| Label::Conflict(Conflict { left, right, operator });
        let former = conflict(Collation::CiAs, Collation::CsAi, "CASE");
        let labels = |collation| {
            [
                Label::Explicit(collation),
                Label::Implicit(collation),
                Label::CoercibleDefault(collation),
                former,
            ]
        };
        let (left, right) = (labels(x), labels(y));
        let expected = [
            [None, Some(left[0]), Some(left[0]), Some(left[0])],
            [Some(right[0]), Some(conflict(x, y, "add")), Some(left[1]), Some(former)],
            [Some(right[0]), Some(right[1]), Some(left[2]), Some(former)],
            [Some(right[0]), Some(former), Some(former), Some(former)],
        ];
        for (row, left) in left.into_iter().enumerate() {
            for (column, right) in right.into_iter().enumerate() {
                match (left.meet(right, "add"), expected[row][column]) {
                    (Ok(found), Some(expected)) => assert_eq!(found, expected, "{left:?} and {right:?}"),
                    (Err(error), None) => assert_eq!(error.number, 468),
                    (found, expected) => panic!("{left:?} and {right:?}: {found:?}, not {expected:?}"),
                }
            }
        }
        for label in labels(x) {
            let same = label.meet(Label::Explicit(x), "add").unwrap();
            assert_eq!(same, Label::Explicit(x), "{label:?}");
            assert_eq!(label.for_operation("like").is_err(), label == former);
        }
    }
}
