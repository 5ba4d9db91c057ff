//! Columns that equal each other through a third: of `a.k = b.k and b.k = c.k`, a and c may be joined first.
//!
//! ```text
//! given     a.k = b.k   b.k = c.k
//! implied                           a.k = c.k
//! ```
//! The three columns are a class. When two sets are joined, one condition of the class between them is enough, because the conditions
//! inside each set were tested when the set was built. So one is tested, and one counts in estimates.
//!
//! Invariant: a class has a condition for every two of its relations, and one column of each; all its relations are joined by inner joins.

use std::collections::BTreeSet;

use super::relations::{Predicate, Relation, Set};
use crate::optimize::estimate::column_of;
use crate::optimize::rewrite;
use crate::plan::{Condition, Expr, JoinKind};

/// Columns of a class, at most: every two of them have a condition.
const MEMBERS_MAX: usize = 8;
/// Classes of a FROM, at most.
const CLASSES_MAX: usize = 64;

/// Classes whose conditions were met already.
#[derive(Default)]
pub(super) struct Met(u64);

impl Met {
    /// Whether a condition is the first of its class, or of none.
    pub(super) fn is_first(&mut self, predicate: &Predicate) -> bool {
        let bit = predicate.class.map_or(0, |class| 1 << class);
        let is_first = self.0 & bit == 0;
        self.0 |= bit;
        is_first
    }
}

/// A column of a class: its relation, and the column.
type Member = (usize, Expr);

/// Adds the conditions that follow from others through a third column, and marks all of a class. `relation_of` knows places of the wide row.
pub(super) fn close(
    predicates: &mut Vec<Predicate>,
    relations: &[Relation],
    relation_of: &dyn Fn(usize) -> Option<usize>,
    selectivity: &dyn Fn(&Condition) -> f64,
) {
    if predicates.len() < 2 {
        return;
    }
    let is_joined = |relation: usize| {
        let relation = relations.get(relation);
        relation.is_some_and(|one| one.kind == JoinKind::Inner && !one.lateral)
    };
    let member = |column: &Expr| {
        let relation = relation_of(column_of(column)?)?;
        is_joined(relation).then(|| (relation, column.clone()))
    };
    let pair = |predicate: &Predicate| {
        let (left, right) = rewrite::equal_columns(&predicate.condition)?;
        Some((member(left)?, member(right)?))
    };
    let mut classes: Vec<Vec<Member>> = Vec::new();
    for (left, right) in predicates.iter().filter_map(pair) {
        unite(&mut classes, left, right);
    }
    classes.retain(|class| is_sound(class));
    classes.truncate(CLASSES_MAX);
    for (number, class) in classes.iter().enumerate() {
        let number = u8::try_from(number).ok();
        let mut given = BTreeSet::new();
        for predicate in predicates.iter_mut() {
            let places = pair(predicate).and_then(|(left, right)| Some((place(&left)?, place(&right)?)));
            let Some((left, right)) = places else { continue };
            if class.iter().any(|member| place(member) == Some(left)) {
                predicate.class = number;
                given.insert((left.min(right), left.max(right)));
            }
        }
        for (at, left) in class.iter().enumerate() {
            for right in &class[at + 1..] {
                let (Some(one), Some(other)) = (place(left), place(right)) else {
                    continue;
                };
                if !given.contains(&(one.min(other), one.max(other))) {
                    predicates.push(implied(left, right, number, selectivity));
                }
            }
        }
    }
}

fn place(member: &Member) -> Option<usize> {
    column_of(&member.1)
}

fn implied(left: &Member, right: &Member, class: Option<u8>, selectivity: &dyn Fn(&Condition) -> f64) -> Predicate {
    let condition = Condition::Compare {
        operator: crate::ast::ComparisonOperator::Equal,
        left: left.1.clone(),
        right: right.1.clone(),
    };
    Predicate {
        of: Set::of(left.0).with(Set::of(right.0)),
        selectivity: selectivity(&condition),
        sides: Some((Set::of(left.0), Set::of(right.0))),
        condition,
        class,
    }
}

/// Puts two columns into one class.
fn unite(classes: &mut Vec<Vec<Member>>, left: Member, right: Member) {
    let of = |classes: &[Vec<Member>], member: &Member| {
        let mut all = classes.iter();
        all.position(|class| class.iter().any(|other| place(other) == place(member)))
    };
    match (of(classes, &left), of(classes, &right)) {
        (None, None) => classes.push(vec![left, right]),
        (Some(class), None) => classes[class].push(right),
        (None, Some(class)) => classes[class].push(left),
        (Some(first), Some(second)) if first != second => {
            let (first, second) = (first.min(second), first.max(second));
            let moved = classes.swap_remove(second);
            classes[first].extend(moved);
        }
        _ => {}
    }
}

/// Whether a class of several has one column of each of its relations.
fn is_sound(class: &[Member]) -> bool {
    let relations = class
        .iter()
        .fold(Set::default(), |set, (relation, _)| set.with(Set::of(*relation)));
    (3..=MEMBERS_MAX).contains(&class.len()) && relations.len() as usize == class.len()
}
