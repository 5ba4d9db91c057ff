//! Aggregates whose argument is a column of an outer query are aggregates of that query.
//!
//! `SELECT (SELECT MAX(x) FROM (VALUES (AVG(t.a)), (MAX(t.a))) AS v (x)) FROM t` has one row: AVG and MAX are computed over `t`, and the
//! subquery captures their results, as it would capture a column (Itzik Ben-Gan, "Aggregates with an Outer Reference", ITPro Today, 27
//! April 2011; also for 8124).
//!
//! Such an argument is bound where it stands. Then its captures are removed, and the captured expressions take their
//! place.

use engine::error::{Error, Result};

use super::Binder;
use super::aggregate::{Arguments, collected, typed_call};
use super::scope::{Level, refused_in};
use crate::ast::FunctionCall;
use crate::messages;
use crate::plan::{AggregateFunction, Expr, ExprKind};

/// How many captures each boundary had, with the boundary's place among the levels, outermost first.
pub(super) type CaptureCounts = Vec<(usize, usize)>;

/// The one column of a query further out that an argument is over.
pub(super) struct OuterColumn {
    /// The place of its SELECT among the levels.
    pub(super) level: usize,
    /// What it is there: a column, or an aggregate.
    pub(super) expression: Expr,
}

impl Binder<'_> {
    /// What the boundaries have captured so far.
    pub(super) fn capture_counts(&self) -> CaptureCounts {
        let levels = self.levels.iter().enumerate();
        let counts = levels.filter_map(|(position, level)| match level {
            Level::Boundary(captures) => Some((position, captures.len())),
            _ => None,
        });
        counts.collect()
    }

    /// The column of a query further out that an aggregate is over; `None` for an aggregate of the query it stands in.
    ///
    /// # Errors
    /// 8124 for several columns of which one belongs to a query further out.
    pub(super) fn outer_column<'e>(&self, arguments: impl Iterator<Item = &'e Expr>) -> Result<Option<OuterColumn>> {
        let (mut outer, mut own) = (Vec::new(), 0);
        for argument in arguments {
            self.find_columns(argument, &mut outer, &mut own)?;
        }
        let Some(first) = outer.pop() else { return Ok(None) };
        let is_first = |other: &OuterColumn| other.level == first.level && other.expression.same_as(&first.expression);
        match own == 0 && outer.iter().all(is_first) {
            true => Ok(Some(first)),
            false => Err(messages::aggregate_of_several_queries()),
        }
    }

    /// Collects the columns of queries further out, and counts those of the query at hand.
    fn find_columns(&self, expression: &Expr, outer: &mut Vec<OuterColumn>, own: &mut usize) -> Result<()> {
        crate::stack::require()?;
        match expression.kind {
            ExprKind::Column(_) => *own += 1,
            ExprKind::Parameter(_) => outer.extend(self.captured_from(expression)),
            _ => {
                let mut found = Ok(());
                expression.for_each_child(&mut |child| {
                    if found.is_ok() {
                        found = self.find_columns(child, outer, own);
                    }
                });
                found?;
            }
        }
        Ok(())
    }

    /// What a capture is where it was captured first; `None` for a parameter of an inline function.
    pub(super) fn captured_from(&self, capture: &Expr) -> Option<OuterColumn> {
        let mut found = capture;
        for (position, level) in self.levels.iter().enumerate().rev() {
            match (level, &found.kind) {
                (Level::Boundary(captures), ExprKind::Parameter(index)) => found = captures.get(*index)?,
                (Level::Select(_), ExprKind::Column(_) | ExprKind::Aggregate(_)) => {
                    return Some(OuterColumn {
                        level: position,
                        expression: found.clone(),
                    });
                }
                (Level::Opaque, _) => return None,
                _ => {}
            }
        }
        None
    }

    /// Hands an aggregate to the query that its column belongs to. `captured` is what the boundaries had captured without it.
    ///
    /// # Errors
    /// Those of the aggregate, and 130, 144, 147, 4101 where that query may have none.
    pub(super) fn outer_aggregate(
        &mut self,
        name: &str,
        function: AggregateFunction,
        call: &FunctionCall,
        (mut arguments, mut order): Arguments,
        (outer, captured): (&OuterColumn, &CaptureCounts),
    ) -> Result<Expr> {
        let boundaries = captured.iter().rev().filter(|(position, _)| *position > outer.level);
        let boundaries: Vec<(usize, usize)> = boundaries.copied().collect();
        for expression in arguments.iter_mut().chain(order.iter_mut().map(|(key, _)| key)) {
            self.lower(expression, outer)?;
        }
        for &(position, count) in &boundaries {
            if let Some(Level::Boundary(captures)) = self.levels.get_mut(position) {
                captures.truncate(count);
            }
        }
        let aggregate = typed_call(name, function, call, arguments, order)?;
        let Some(Level::Select(level)) = self.levels.get_mut(outer.level) else {
            return Err(Error::assertion("a column was captured from no SELECT"));
        };
        if matches!(outer.expression.kind, ExprKind::Aggregate(_)) {
            return Err(messages::aggregate_of_aggregate());
        }
        let Some(list) = level.aggregates.as_mut() else {
            return Err(refused_in(level.place));
        };
        let value = collected(list, aggregate);
        let positions: Vec<usize> = boundaries.into_iter().map(|(position, _)| position).collect();
        Ok(self.captured(value, &positions))
    }

    /// An argument as the query that its column belongs to sees it.
    fn lower(&self, expression: &mut Expr, outer: &OuterColumn) -> Result<()> {
        crate::stack::require()?;
        if matches!(expression.kind, ExprKind::Parameter(_)) {
            if self.captured_from(expression).is_some() {
                expression.kind = outer.expression.kind.clone();
                return Ok(());
            }
            return self.lower_variable(expression, outer.level);
        }
        expression.change_children(&mut |child| self.lower(child, outer))
    }

    /// A parameter of an inline function, as a query further out captures it.
    fn lower_variable(&self, expression: &mut Expr, level: usize) -> Result<()> {
        let above = self.levels.iter().enumerate().skip(level).rev();
        for (_, boundary) in above {
            if let (Level::Boundary(captures), ExprKind::Parameter(index)) = (boundary, &expression.kind) {
                let captured = captures.get(*index);
                let captured = captured.ok_or_else(|| Error::assertion("a capture that its boundary has not"))?;
                expression.kind = captured.kind.clone();
            }
        }
        Ok(())
    }
}
