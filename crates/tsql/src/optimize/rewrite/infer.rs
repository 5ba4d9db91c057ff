//! Applies a condition on a column to the columns equal to it.
//!
//! ```text
//! a.k = b.k and b.k = 5                      and a.k = 5
//! a.k = b.k and a.k between 5 and 9          and b.k between 5 and 9
//! a left join b on b.k = a.k where a.k = 5   on b.k = a.k and b.k = 5
//! ```
//! So the tables of both are searched. Only columns of one type and one collation are taken for each other, compared as they are; what
//! tells values apart that compare as equal (LIKE, functions) says nothing of the others.

use std::collections::BTreeMap;

use engine::cancel;
use engine::error::Result;

use super::places::Places;
use crate::plan::{Condition, Expr, ExprKind, FromNode, JoinKind, Node};

/// Conditions that are added to a FROM, at most.
const INFERRED_MAX: usize = 1_000;

/// Adds what follows from equalities of columns.
///
/// # Errors
/// 8631 and 3617.
pub(super) fn equalities(from: &mut FromNode) -> Result<()> {
    let mut classes = Classes::default();
    from.conjuncts.iter().for_each(|one| classes.add(one));
    let mut added = Vec::new();
    for said in from.conjuncts.iter().filter_map(Said::of) {
        for other in classes.of(said.place) {
            cancel::spend(1)?;
            if added.len() < INFERRED_MAX && other.place != said.place && !is_said(&from.conjuncts, &said, other.place)
            {
                added.push(said.of_other(&other.column));
            }
        }
    }
    from.conjuncts.append(&mut added);
    let FromNode { units, conjuncts, .. } = from;
    let said: Vec<Said<'_>> = conjuncts.iter().filter_map(Said::of).collect();
    if said.is_empty() {
        return Ok(());
    }
    units.iter_mut().try_for_each(|unit| partners(&mut unit.node, &said))
}

/// Says of the right sides of outer joins what their partners must be: the rest has none that is answered.
fn partners(node: &mut Node, said: &[Said<'_>]) -> Result<()> {
    crate::stack::require()?;
    if let Node::From(from) = node {
        let mut units = from.units.iter_mut();
        return units.try_for_each(|unit| partners(&mut unit.node, said));
    }
    let Node::Outer(outer) = node else { return Ok(()) };
    if outer.kind != JoinKind::Left {
        return Ok(());
    }
    let right = Places::of(&outer.right);
    let mut added = Vec::new();
    for (one, other) in outer.conjuncts.iter().filter_map(equal_columns) {
        for (own, partner) in [(one, other), (other, one)] {
            cancel::spend(said.len())?;
            let (Some(own), Some(place)) = (place_of(own), place_of(partner)) else {
                continue;
            };
            let is_partner = right.contains(place) && !right.contains(own);
            let about = said.iter().filter(|said| is_partner && said.place == own);
            let about = about.filter(|said| !is_said(&outer.conjuncts, said, place));
            added.extend(about.map(|said| said.of_other(partner)));
        }
    }
    outer.conjuncts.append(&mut added);
    partners(&mut outer.left, said)
}

/// A condition that says of one column what is the same for every row.
struct Said<'c> {
    place: usize,
    condition: &'c Condition,
}

impl<'c> Said<'c> {
    fn of(condition: &'c Condition) -> Option<Said<'c>> {
        let is_known = |value: &Expr| value.is_same_for_every_row() && !value.can_fail();
        let place = match condition {
            Condition::Compare { left, right, .. } if is_known(right) => place_of(left),
            Condition::Compare { left, right, .. } if is_known(left) => place_of(right),
            Condition::In { operand, list } if list.iter().all(is_known) => place_of(operand),
            _ => None,
        };
        Some(Said {
            place: place?,
            condition,
        })
    }

    /// The same said of another column.
    fn of_other(&self, column: &Expr) -> Condition {
        let mut condition = self.condition.clone();
        let is_own = |expression: &Expr| place_of(expression) == Some(self.place);
        match &mut condition {
            Condition::Compare { left, .. } if is_own(left) => left.clone_from(column),
            Condition::Compare { right, .. } => right.clone_from(column),
            Condition::In { operand, .. } => operand.clone_from(column),
            _ => {}
        }
        condition
    }

    /// Whether another condition says just this of a place.
    fn is_said_by(&self, other: &Condition, place: usize) -> bool {
        let same = |own: &Expr, other: &Expr| match place_of(own) {
            Some(own) if own == self.place => place_of(other) == Some(place),
            _ => own.same_as(other),
        };
        match (self.condition, other) {
            (
                Condition::Compare { operator, left, right },
                Condition::Compare {
                    operator: other_operator,
                    left: other_left,
                    right: other_right,
                },
            ) => operator == other_operator && same(left, other_left) && same(right, other_right),
            (
                Condition::In { list, .. },
                Condition::In {
                    operand,
                    list: other_list,
                },
            ) => {
                let mut pairs = list.iter().zip(other_list);
                place_of(operand) == Some(place)
                    && list.len() == other_list.len()
                    && pairs.all(|(own, other)| own.same_as(other))
            }
            _ => false,
        }
    }
}

fn is_said(conditions: &[Condition], said: &Said<'_>, place: usize) -> bool {
    conditions.iter().any(|other| said.is_said_by(other, place))
}

/// Whether one column is said to be what another one is, by conditions that are alike but for the column.
pub(in crate::optimize) fn is_alike(condition: &Condition, own: usize, other: &Condition, place: usize) -> bool {
    Said::of(condition).is_some_and(|said| said.place == own && said.is_said_by(other, place))
}

fn place_of(expression: &Expr) -> Option<usize> {
    match expression.kind {
        ExprKind::Column(place) => Some(place),
        _ => None,
    }
}

/// The columns that a condition sets equal, of one type and collation.
pub(in crate::optimize) fn equal_columns(condition: &Condition) -> Option<(&Expr, &Expr)> {
    let (left, right) = condition.equal_sides()?;
    let are_columns = place_of(left).is_some() && place_of(right).is_some();
    let is_one_collation = !left.sql_type.is_character() || left.label.collation() == right.label.collation();
    (are_columns && left.sql_type == right.sql_type && is_one_collation).then_some((left, right))
}

/// A column of a class.
struct Member {
    place: usize,
    column: Expr,
}

/// Columns that equal each other.
#[derive(Default)]
struct Classes {
    classes: Vec<Vec<Member>>,
    of_place: BTreeMap<usize, usize>,
}

impl Classes {
    fn add(&mut self, condition: &Condition) {
        let Some((left, right)) = equal_columns(condition) else {
            return;
        };
        let (left, right) = (self.class_of(left), self.class_of(right));
        if left == right {
            return;
        }
        let moved = std::mem::take(&mut self.classes[right]);
        for member in &moved {
            self.of_place.insert(member.place, left);
        }
        self.classes[left].extend(moved);
    }

    fn class_of(&mut self, column: &Expr) -> usize {
        let place = place_of(column).unwrap_or(usize::MAX);
        let (classes, of_place) = (&mut self.classes, &mut self.of_place);
        *of_place.entry(place).or_insert_with(|| {
            classes.push(vec![Member {
                place,
                column: column.clone(),
            }]);
            classes.len() - 1
        })
    }

    /// The columns that equal the one at a place, itself among them.
    fn of(&self, place: usize) -> &[Member] {
        let class = self.of_place.get(&place).and_then(|class| self.classes.get(*class));
        class.map_or(&[], Vec::as_slice)
    }
}
