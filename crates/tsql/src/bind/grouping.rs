//! Grouping: expressions over the rows of FROM become expressions over groups.

use engine::error::Result;
use engine::types::{SqlType, Value};

use super::Binder;
use super::scope::Place;
use crate::ast::{BinaryOperator, GroupItem};
use crate::messages;
use crate::plan::{Condition, Expr, ExprKind, WindowCall, WindowFunction};

/// GROUP BY, bound.
#[derive(Default)]
pub(super) struct GroupBy {
    pub(super) keys: Vec<Expr>,
    /// With GROUPING SETS: the keys each set keeps.
    pub(super) sets: Vec<Vec<bool>>,
}

/// Stands for the column of the set's number until the number of aggregates is known.
const SET_NUMBER: usize = usize::MAX;

/// Grouping sets of one GROUP BY (sql-docs, "SELECT - GROUP BY": "the maximum number of grouping sets is 4,096").
const SETS_MAX: usize = 4_096;
/// Different keys of a GROUP BY with grouping sets (sql-docs, "SELECT - GROUP BY": "the maximum number of expressions is 32").
const KEYS_MAX: usize = 32;

/// 10703 for more grouping sets than there may be; asked before they are made.
fn check_sets(count: usize) -> Result<()> {
    match count > SETS_MAX {
        true => Err(messages::too_many_grouping_sets()),
        false => Ok(()),
    }
}

/// GROUPING() of a key: its bit in the set's number.
pub(super) fn set_bit(key_count: usize, position: usize) -> Result<Expr> {
    let number = Expr {
        nullable: false,
        ..Expr::new(ExprKind::Aggregate(SET_NUMBER), SqlType::BigInt)
    };
    let divisor = 1i64 << (key_count - 1 - position).min(62);
    let divided = super::expression::binary(
        BinaryOperator::Divide,
        number,
        Expr::constant(Value::BigInt(divisor), SqlType::BigInt),
    )?;
    let bit = super::expression::binary(
        BinaryOperator::Modulo,
        divided,
        Expr::constant(Value::BigInt(2), SqlType::BigInt),
    )?;
    Ok(bit.converted(SqlType::Int))
}

impl<'a> Binder<'a> {
    /// Binds GROUP BY.
    pub(super) fn group_by(&mut self, items: &'a [GroupItem]) -> Result<GroupBy> {
        let mut keys: Vec<Expr> = Vec::new();
        let is_plain = items.iter().all(|item| matches!(item, GroupItem::Expression(_)));
        let mut sets: Vec<Vec<usize>> = vec![Vec::new()];
        for item in items {
            let item_sets = self.in_place(Place::Group, |binder| binder.item_sets(item, &mut keys))?;
            check_sets(sets.len() * item_sets.len())?;
            let crossed = sets.iter().flat_map(|set| {
                item_sets
                    .iter()
                    .map(move |more| set.iter().chain(more).copied().collect::<Vec<usize>>())
            });
            sets = crossed.collect();
        }
        if is_plain {
            return Ok(GroupBy { keys, sets: Vec::new() });
        }
        if keys.len() > KEYS_MAX {
            return Err(messages::too_many_grouping_expressions());
        }
        let flags = sets
            .iter()
            .map(|set| (0..keys.len()).map(|key| set.contains(&key)).collect())
            .collect();
        Ok(GroupBy { keys, sets: flags })
    }

    /// The grouping sets of one item, as numbers of keys.
    fn item_sets(&mut self, item: &'a GroupItem, keys: &mut Vec<Expr>) -> Result<Vec<Vec<usize>>> {
        Ok(match item {
            GroupItem::Expression(expression) => {
                let key = self.expression(expression)?.sortable_for("GROUP BY", keys.len() + 1)?;
                vec![vec![key_number(keys, key)]]
            }
            GroupItem::Empty => vec![Vec::new()],
            GroupItem::Composite(expressions) => {
                let mut set = Vec::new();
                for expression in expressions {
                    let key = self.expression(expression)?.sortable_for("GROUP BY", keys.len() + 1)?;
                    set.push(key_number(keys, key));
                }
                vec![set]
            }
            GroupItem::Rollup(items) => {
                let parts = self.part_sets(items, keys)?;
                check_sets(parts.len() + 1)?;
                (0..=parts.len()).rev().map(|count| parts[..count].concat()).collect()
            }
            GroupItem::Cube(items) => {
                let parts = self.part_sets(items, keys)?;
                let count = 1usize.checked_shl(parts.len() as u32).unwrap_or(usize::MAX);
                check_sets(count)?;
                let chosen = |mask: usize| {
                    let kept = parts
                        .iter()
                        .enumerate()
                        .filter(move |(index, _)| mask >> index & 1 == 1);
                    kept.flat_map(|(_, part)| part.clone()).collect()
                };
                (0..count).rev().map(chosen).collect()
            }
            GroupItem::GroupingSets(items) => {
                let mut sets = Vec::new();
                for item in items {
                    sets.extend(self.item_sets(item, keys)?);
                    check_sets(sets.len())?;
                }
                sets
            }
        })
    }

    fn part_sets(&mut self, items: &'a [GroupItem], keys: &mut Vec<Expr>) -> Result<Vec<Vec<usize>>> {
        let mut parts = Vec::new();
        for item in items {
            parts.push(self.item_sets(item, keys)?.concat());
        }
        Ok(parts)
    }
}

fn key_number(keys: &mut Vec<Expr>, key: Expr) -> usize {
    if let Some(known) = keys.iter().position(|other| other.same_as(&key)) {
        return known;
    }
    keys.push(key);
    keys.len() - 1
}

/// Turns an expression over the rows of FROM into one over groups.
pub(super) struct GroupRewriter<'g> {
    pub(super) keys: &'g [Expr],
    pub(super) aggregate_count: usize,
    /// Names of the columns of FROM, for the error.
    pub(super) columns: &'g [super::ScopeColumn],
    /// What is rewritten, for the error.
    pub(super) clause: Clause,
}

/// The parts of a SELECT above its groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clause {
    SelectList,
    Having,
    OrderBy,
}

impl GroupRewriter<'_> {
    /// # Errors
    /// 8120, 8121, 8127 for a column that is neither grouped nor aggregated.
    pub(super) fn rewrite(&self, expression: &mut Expr) -> Result<()> {
        if let Some(position) = self.keys.iter().position(|key| key.same_as(expression)) {
            expression.kind = ExprKind::Column(position);
            return Ok(());
        }
        match expression.kind {
            ExprKind::Aggregate(SET_NUMBER) => {
                expression.kind = ExprKind::Column(self.keys.len() + self.aggregate_count);
                Ok(())
            }
            ExprKind::Aggregate(number) => {
                expression.kind = ExprKind::Column(self.keys.len() + number);
                Ok(())
            }
            ExprKind::Column(index) => Err(match self.clause {
                Clause::SelectList => messages::not_grouped(&self.name_of(index)),
                Clause::Having => messages::not_grouped_in_having(&self.name_of(index)),
                Clause::OrderBy => messages::not_grouped_in_order_by(&self.name_of(index)),
            }),
            _ => expression.change_children(&mut |child| self.rewrite(child)),
        }
    }

    /// # Errors
    /// As [`GroupRewriter::rewrite`].
    pub(super) fn rewrite_condition(&self, condition: &mut Condition) -> Result<()> {
        condition.change_expressions(&mut |expression| self.rewrite(expression))
    }

    /// # Errors
    /// As [`GroupRewriter::rewrite`].
    pub(super) fn rewrite_window(&self, call: &mut WindowCall) -> Result<()> {
        for_each_window_expression(call, &mut |expression| self.rewrite(expression))
    }

    fn name_of(&self, index: usize) -> String {
        let column = self.columns.iter().find(|column| column.index == index);
        column.map_or_else(String::new, |column| format!("{}.{}", column.qualifier, column.name))
    }
}

/// Calls `change` for every expression of a window call.
pub(super) fn for_each_window_expression(
    call: &mut WindowCall,
    change: &mut dyn FnMut(&mut Expr) -> Result<()>,
) -> Result<()> {
    call.partition.iter_mut().try_for_each(&mut *change)?;
    call.order
        .iter_mut()
        .try_for_each(|(expression, _)| change(expression))?;
    match &mut call.function {
        WindowFunction::Tile(expression) | WindowFunction::First(expression) | WindowFunction::Last(expression) => {
            change(expression)
        }
        WindowFunction::Percentile { fraction, value, .. } => {
            change(fraction)?;
            change(value)
        }
        WindowFunction::Neighbour {
            value, offset, default, ..
        } => {
            change(value)?;
            change(offset)?;
            default.iter_mut().try_for_each(change)
        }
        WindowFunction::Aggregate(aggregate) => aggregate.argument.iter_mut().try_for_each(change),
        _ => Ok(()),
    }
}

/// Puts columns of the window operator in place of window functions.
pub(super) fn place_windows(expression: &mut Expr, first: usize) -> Result<()> {
    if let ExprKind::Window(number) = expression.kind {
        expression.kind = ExprKind::Column(first + number);
        return Ok(());
    }
    expression.change_children(&mut |child| place_windows(child, first))
}
