//! Replaces columns by expressions, and counts how often columns are read.

use std::collections::BTreeMap;

use engine::cancel;
use engine::error::Result;

use crate::plan::{Condition, Expr, ExprKind, Node, Part, PartMut};

/// How often each place of a row is read.
#[derive(Clone, Debug, Default)]
pub(super) struct Uses(Vec<usize>);

impl Uses {
    /// How often a place is read.
    pub(super) fn of(&self, place: usize) -> usize {
        self.0.get(place).copied().unwrap_or(0)
    }

    fn add(&mut self, place: usize, times: usize) {
        if place >= self.0.len() {
            self.0.resize(place + 1, 0);
        }
        self.0[place] = self.0[place].saturating_add(times);
    }

    pub(super) fn truncate(&mut self, width: usize) {
        self.0.truncate(width);
    }

    pub(super) fn add_expression(&mut self, expression: &Expr, times: usize) {
        expression.for_each_column(&mut |place| self.add(place, times));
    }

    pub(super) fn add_condition(&mut self, condition: &Condition, times: usize) {
        condition.for_each_column(&mut |place| self.add(place, times));
    }

    /// Takes back what a condition read once.
    pub(super) fn remove_condition(&mut self, condition: &Condition) {
        condition.for_each_column(&mut |place| {
            if let Some(times) = self.0.get_mut(place) {
                *times = times.saturating_sub(1);
            }
        });
    }

    /// Adds what the expressions inside a tree of FROM read.
    pub(super) fn add_tree(&mut self, node: &Node) -> Result<()> {
        crate::stack::require()?;
        node.parts(&mut |part| {
            match part {
                Part::Expression(expression) => self.add_expression(expression, 1),
                Part::Condition(condition) | Part::Written(condition) => self.add_condition(condition, 1),
                Part::Node(below) => self.add_tree(below)?,
                Part::Apart(_) | Part::Plan(_) => {}
            }
            Ok(())
        })
    }

    /// Counts as it is after a change: who read a column reads what took its place.
    pub(super) fn follow(&mut self, change: &Change) {
        for (place, expression) in &change.replaced {
            let times = self.of(*place);
            if times > 0 {
                self.0[*place] = 0;
                self.add_expression(expression, times);
            }
        }
    }
}

/// What takes the place of columns and of captured values.
pub(super) struct Replacing<'r> {
    /// For a place, and the expression that reads it.
    pub(super) column: &'r dyn Fn(usize, &Expr) -> Option<Expr>,
    /// For the number of a captured value.
    pub(super) parameter: &'r dyn Fn(usize) -> Option<Expr>,
}

impl Replacing<'_> {
    pub(super) fn expression(&self, expression: &mut Expr) -> Result<()> {
        crate::stack::require()?;
        let other = match expression.kind {
            ExprKind::Column(place) => (self.column)(place, expression),
            ExprKind::Parameter(number) => (self.parameter)(number),
            _ => None,
        };
        let Some(mut other) = other else {
            return expression.change_children(&mut |child| self.expression(child));
        };
        if expression.nullable {
            make_nullable(&mut other)?;
        }
        other.nullable |= expression.nullable;
        (other.sql_type, other.label) = (expression.sql_type, expression.label);
        *expression = other;
        Ok(())
    }

    pub(super) fn condition(&self, condition: &mut Condition) -> Result<()> {
        condition.change_expressions(&mut |expression| self.expression(expression))
    }

    /// Changes the expressions inside a tree of FROM. Queries below have rows of their own.
    pub(super) fn tree(&self, node: &mut Node) -> Result<()> {
        crate::stack::require()?;
        cancel::spend(1)?;
        node.parts_mut(&mut |part| match part {
            PartMut::Expression(expression) => self.expression(expression),
            PartMut::Condition(condition) | PartMut::Written(condition) => self.condition(condition),
            PartMut::Node(below) => self.tree(below),
            PartMut::Apart(_) | PartMut::Plan(_) => Ok(()),
        })
    }
}

/// A column that may be NULL stands for its whole expression: so may all columns in it.
fn make_nullable(expression: &mut Expr) -> Result<()> {
    crate::stack::require()?;
    expression.nullable = true;
    expression.change_children(&mut make_nullable)
}

/// Columns of a wide row that expressions over the row took the place of.
#[derive(Clone, Debug, Default)]
pub(super) struct Change {
    replaced: BTreeMap<usize, Expr>,
    /// Places from this one on stand so many further.
    moved: Option<(usize, usize)>,
    /// The row's width after the change.
    width: usize,
}

impl Change {
    /// Nothing is changed in a row of that width.
    pub(super) fn of_width(width: usize) -> Change {
        Change {
            width,
            ..Change::default()
        }
    }

    /// Expressions by the place of the column that each replaces.
    pub(super) fn new(replaced: BTreeMap<usize, Expr>, width: usize) -> Change {
        Change {
            replaced,
            moved: None,
            width,
        }
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn is_any(&self) -> bool {
        !self.replaced.is_empty()
    }

    /// The same for a row with `count` places more behind this one, which began at `before`.
    pub(super) fn with_places_behind(mut self, before: usize, count: usize) -> Change {
        // Of windows above windows, the places of the lowest come first, and all move as far.
        if self.moved.is_none() {
            self.moved = Some((before, self.width - before));
            // Those of later rounds are of places that only rounds before them read, and that are others' here.
            self.replaced.split_off(&before);
        }
        self.width += count;
        self
    }

    /// One change after the other.
    pub(super) fn then(&mut self, next: Change) -> Result<()> {
        for expression in self.replaced.values_mut() {
            next.expression(expression)?;
        }
        self.width = next.width;
        for (place, expression) in next.replaced {
            self.replaced.entry(place).or_insert(expression);
        }
        Ok(())
    }

    fn other(&self, place: usize, expression: &Expr) -> Option<Expr> {
        if let Some(other) = self.replaced.get(&place) {
            return Some(other.clone());
        }
        let (_, by) = self.moved.filter(|(from, _)| place >= *from)?;
        Some(Expr {
            kind: ExprKind::Column(place + by),
            ..expression.clone()
        })
    }

    fn apply<T>(&self, work: impl FnOnce(&Replacing<'_>) -> T) -> T {
        work(&Replacing {
            column: &|place, expression| self.other(place, expression),
            parameter: &|_| None,
        })
    }

    pub(super) fn expression(&self, expression: &mut Expr) -> Result<()> {
        self.apply(|replacing| replacing.expression(expression))
    }

    pub(super) fn condition(&self, condition: &mut Condition) -> Result<()> {
        self.apply(|replacing| replacing.condition(condition))
    }

    /// Changes the expressions inside a tree of FROM.
    pub(super) fn tree(&self, node: &mut Node) -> Result<()> {
        self.apply(|replacing| replacing.tree(node))
    }
}

/// Nodes of an expression, counted no further than to `most`.
pub(super) fn size(expression: &Expr, most: usize) -> usize {
    let mut count = 1;
    expression.for_each_child(&mut |child| {
        if count < most {
            count += size(child, most - count);
        }
    });
    count
}

/// Whether an expression has the same value however often it is evaluated for one row. What a function makes of nothing (NEWID, RAND,
/// GETDATE) may be another each time; a query may be long.
pub(super) fn is_repeatable(expression: &Expr) -> bool {
    let mut is_repeatable = match &expression.kind {
        ExprKind::Function { arguments, .. } => !is_of_nothing(arguments),
        ExprKind::Module { .. } | ExprKind::Subquery(_) => false,
        ExprKind::Case { .. } => !expression.contains_query(),
        _ => true,
    };
    expression.for_each_child(&mut |child| is_repeatable = is_repeatable && self::is_repeatable(child));
    is_repeatable
}

/// Whether a condition comes out the same however often it is tested for one row. Queries in it are asked where it is tested.
pub(super) fn is_condition_repeatable(condition: &Condition) -> bool {
    fn is_same(expression: &Expr) -> bool {
        let is_volatile = match &expression.kind {
            ExprKind::Function { arguments, .. } => is_of_nothing(arguments),
            ExprKind::Module { .. } => true,
            _ => false,
        };
        let mut is_repeatable = !is_volatile;
        expression.for_each_child(&mut |child| is_repeatable = is_repeatable && is_same(child));
        is_repeatable
    }
    let mut is_repeatable = true;
    condition.for_each_expression(&mut |expression| is_repeatable = is_repeatable && is_same(expression));
    is_repeatable
}

fn is_of_nothing(arguments: &[Expr]) -> bool {
    arguments.iter().all(|one| matches!(one.kind, ExprKind::Constant(_)))
}
