//! The collation of an expression and its precedence (sql-docs, "Collation precedence").
//!
//! | | explicit X | implicit X | coercible-default | no collation |
//! |---|---|---|---|---|
//! | explicit Y | error | explicit Y | explicit Y | explicit Y |
//! | implicit Y | explicit X | no collation | implicit Y | no collation |
//! | coercible-default | explicit X | implicit X | coercible-default | no collation |
//! | no collation | explicit X | no collation | no collation | no collation |
//!
//! Two labels with the same collation never conflict. A string without a collation may be computed, but comparing, sorting, storing or
//! sending it is an error.
//!
//! Invariant: the strings that an expression computes carry the collation of its label, unless it has none
//! ([`engine::types::Text::collation`]).

use engine::error::Result;
use engine::types::Collation;

use crate::messages;

/// The label of an expression. Without meaning for one that is not a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// A constant, variable or function without strings: takes whatever the other side has.
    CoercibleDefault(Collation),
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
