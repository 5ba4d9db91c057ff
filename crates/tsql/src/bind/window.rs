//! Window functions: collected on the level of their SELECT, computed after grouping.

use engine::error::Result;
use engine::types::{SqlType, Value};

use super::scope::Place;
use super::{Binder, implicit};
use crate::ast::{Expression, Frame, FrameBound, FunctionCall, OrderItem, Over};
use crate::messages;
use crate::plan::{AggregateFunction, Expr, ExprKind, WindowBound, WindowCall, WindowFrame, WindowFunction};

/// A window as it is written here and in the WINDOW clause.
#[derive(Clone, Copy, Default)]
struct Written<'a> {
    partition_by: &'a [Expression],
    order_by: &'a [OrderItem],
    frame: Option<&'a Frame>,
}

impl<'a> Binder<'a> {
    /// Puts a window together with those of the WINDOW clause that it goes on from.
    ///
    /// # Errors
    /// 5362 for a name that there is not, 5363 for an element that is there already, 5364 for a window that goes on from itself.
    fn written(&self, over: &'a Over) -> Result<Written<'a>> {
        let mut written = Written::default();
        let mut next = Some(over);
        for _ in 0..=self.named_windows.len() {
            let Some(over) = next else { return Ok(written) };
            let is_twice = !over.partition_by.is_empty() && !written.partition_by.is_empty()
                || !over.order_by.is_empty() && !written.order_by.is_empty()
                || over.frame.is_some() && written.frame.is_some();
            if is_twice {
                return Err(messages::window_element_twice());
            }
            if !over.partition_by.is_empty() {
                written.partition_by = &over.partition_by;
            }
            if !over.order_by.is_empty() {
                written.order_by = &over.order_by;
            }
            written.frame = written.frame.or(over.frame.as_ref());
            next = match &over.base {
                None => None,
                Some(base) => {
                    let mut named = self.named_windows.iter();
                    let found = named.find(|named| named.name.is(&base.text));
                    Some(&found.ok_or_else(|| messages::window_undefined(&base.text))?.window)
                }
            };
        }
        match next {
            None => Ok(written),
            Some(_) => Err(messages::window_cycle()),
        }
    }

    /// # Errors
    /// 5365 for two windows of one name; those of putting each together.
    pub(super) fn check_named_windows(&self) -> Result<()> {
        for (index, named) in self.named_windows.iter().enumerate() {
            if self.named_windows[..index]
                .iter()
                .any(|other| other.name.is(&named.name.text))
            {
                return Err(messages::window_twice());
            }
            self.written(&named.window)?;
        }
        Ok(())
    }

    pub(super) fn window_function(&mut self, name: &str, call: &'a FunctionCall, over: &'a Over) -> Result<Expr> {
        let allowed = self.select_level().is_some_and(|level| level.windows.is_some());
        if !allowed {
            return Err(self.window_refused());
        }
        let bound = self.in_place(Place::Window, |binder| {
            binder.allowing(true, false, |binder| binder.window_call(name, call, over))
        })?;
        let (sql_type, label) = (bound.sql_type, bound.label());
        let Some(list) = self.select_level().and_then(|level| level.windows.as_mut()) else {
            return Err(messages::windowed_function_misplaced());
        };
        list.push(bound);
        Ok(Expr::new(ExprKind::Window(list.len() - 1), sql_type).labelled(label))
    }

    fn window_call(&mut self, name: &str, call: &'a FunctionCall, over: &'a Over) -> Result<WindowCall> {
        let over = self.written(over)?;
        let partition = self.expressions(over.partition_by)?.into_iter();
        let partition = partition.map(|key| key.sortable_for("PARTITION BY", 1));
        let partition = partition.collect::<Result<Vec<_>>>()?;
        let mut order = Vec::with_capacity(over.order_by.len());
        for item in over.order_by {
            let key = self.expression(&item.expression)?.sortable_for("ORDER BY", 1)?;
            check_order_key(&key)?;
            order.push((key, item.descending));
        }
        let is_percentile = matches!(name, "percentile_cont" | "percentile_disc");
        if is_percentile {
            return self.percentile(name, call, over, partition);
        }
        if !call.within_group.is_empty() {
            return Err(messages::within_group_of_several(name));
        }
        let (function, sql_type) = self.window_kind(name, call)?;
        let needs_order = !matches!(function, WindowFunction::Aggregate(_));
        if needs_order && order.is_empty() {
            return Err(messages::ranking_needs_order(name));
        }
        if call.distinct {
            return Err(messages::window_of_distinct());
        }
        if let Some(frame) = over.frame {
            let is_framed = matches!(
                function,
                WindowFunction::Aggregate(_) | WindowFunction::First(_) | WindowFunction::Last(_)
            );
            if !is_framed {
                let is_ranking = !matches!(name, "lag" | "lead");
                return Err(messages::window_frame_not_allowed(name, if is_ranking { 3 } else { 1 }));
            }
            check_frame(frame, order.is_empty())?;
        }
        let frame = match over.frame {
            Some(frame) => WindowFrame {
                rows: frame.rows,
                start: frame_bound(&frame.start),
                end: frame_bound(&frame.end),
            },
            // Without ORDER BY the frame is the partition; with it, all up to the current row and its peers.
            None if order.is_empty() => WindowFrame {
                rows: true,
                start: WindowBound::Unbounded,
                end: WindowBound::Unbounded,
            },
            None => WindowFrame {
                rows: false,
                start: WindowBound::Unbounded,
                end: WindowBound::Current,
            },
        };
        Ok(WindowCall {
            function,
            partition,
            order,
            frame,
            sql_type,
        })
    }

    fn window_kind(&mut self, name: &str, call: &'a FunctionCall) -> Result<(WindowFunction, SqlType)> {
        let ranking = |function| Ok((function, SqlType::BigInt));
        match name {
            "row_number" => ranking(WindowFunction::RowNumber),
            "rank" => ranking(WindowFunction::Rank),
            "dense_rank" => ranking(WindowFunction::DenseRank),
            "percent_rank" => Ok((WindowFunction::PercentRank, SqlType::Float)),
            "cume_dist" => Ok((WindowFunction::CumulativeDistribution, SqlType::Float)),
            "ntile" => {
                let [tiles] = call.arguments.as_slice() else {
                    return Err(messages::function_requires("ntile", 1));
                };
                let tiles = implicit(self.expression(tiles)?, SqlType::BigInt)?;
                ranking(WindowFunction::Tile(tiles))
            }
            "lag" | "lead" => self.neighbour(name, &call.arguments),
            "first_value" | "last_value" => {
                let [value] = call.arguments.as_slice() else {
                    return Err(messages::function_requires(name, 1));
                };
                let value = self.expression(value)?;
                let sql_type = value.sql_type;
                let function = if name == "first_value" {
                    WindowFunction::First(value)
                } else {
                    WindowFunction::Last(value)
                };
                Ok((function, sql_type))
            }
            _ => {
                let function = match name {
                    "count" | "count_big" => AggregateFunction::Count,
                    "sum" => AggregateFunction::Sum,
                    "avg" => AggregateFunction::Average,
                    "min" => AggregateFunction::Minimum,
                    "max" => AggregateFunction::Maximum,
                    "stdev" => AggregateFunction::Deviation {
                        population: false,
                        root: true,
                    },
                    "stdevp" => AggregateFunction::Deviation {
                        population: true,
                        root: true,
                    },
                    "var" => AggregateFunction::Deviation {
                        population: false,
                        root: false,
                    },
                    "varp" => AggregateFunction::Deviation {
                        population: true,
                        root: false,
                    },
                    _ => return Err(crate::functions::unknown(name)),
                };
                let aggregate = self.window_aggregate(name, function, call)?;
                let sql_type = aggregate.sql_type;
                Ok((WindowFunction::Aggregate(aggregate), sql_type))
            }
        }
    }

    /// `PERCENTILE_CONT | PERCENTILE_DISC (fraction) WITHIN GROUP (ORDER BY value) OVER (PARTITION BY ...)`: the order of the window is that of
    /// WITHIN GROUP.
    ///
    /// # Errors
    /// 10754 without WITHIN GROUP, 10751 for several keys in it, 10758 for an ORDER BY in OVER, 4106 for a frame, 8116 for values that
    /// PERCENTILE_CONT cannot compute with.
    fn percentile(
        &mut self,
        name: &str,
        call: &'a FunctionCall,
        over: Written<'a>,
        partition: Vec<Expr>,
    ) -> Result<WindowCall> {
        let [fraction] = call.arguments.as_slice() else {
            return Err(messages::function_requires(name, 1));
        };
        let item = match call.within_group.as_slice() {
            [] => return Err(messages::needs_within_group(name)),
            [item] => item,
            _ => return Err(messages::within_group_of_several(name)),
        };
        if !over.order_by.is_empty() {
            return Err(messages::percentile_ordered_twice(name));
        }
        if over.frame.is_some() {
            return Err(messages::window_frame_not_allowed(name, 3));
        }
        let fraction = implicit(self.expression(fraction)?, SqlType::Float)?;
        let value = self.expression(&item.expression)?.sortable_for("ORDER BY", 1)?;
        let is_continuous = name == "percentile_cont";
        if is_continuous && !value.sql_type.is_numeric() {
            return Err(messages::invalid_argument_type(value.sql_type.name(), 1, name));
        }
        let sql_type = if is_continuous { SqlType::Float } else { value.sql_type };
        Ok(WindowCall {
            function: WindowFunction::Percentile {
                fraction,
                value: value.clone(),
                is_continuous,
            },
            partition,
            order: vec![(value, item.descending)],
            frame: WindowFrame {
                rows: true,
                start: WindowBound::Unbounded,
                end: WindowBound::Unbounded,
            },
            sql_type,
        })
    }

    /// An aggregate over a window may have an aggregate of the group as its argument: `SUM(SUM(x)) OVER ()`.
    fn window_aggregate(
        &mut self,
        name: &str,
        function: AggregateFunction,
        call: &'a FunctionCall,
    ) -> Result<crate::plan::AggregateCall> {
        if call.star {
            return self.aggregate_call(name, function, call);
        }
        let has_inner = call.arguments.iter().any(contains_call);
        if !has_inner {
            return self.aggregate_call(name, function, call);
        }
        let [argument] = call.arguments.as_slice() else {
            return Err(messages::function_requires(name, 1));
        };
        let argument = self.expression(argument)?;
        super::aggregate_of(name, function, argument)
    }

    fn neighbour(&mut self, name: &str, arguments: &'a [Expression]) -> Result<(WindowFunction, SqlType)> {
        let (value, offset, default) = match arguments {
            [value] => (value, None, None),
            [value, offset] => (value, Some(offset), None),
            [value, offset, default] => (value, Some(offset), Some(default)),
            _ => return Err(messages::function_requires_range(name, 1, 3)),
        };
        let value = self.expression(value)?;
        let sql_type = value.sql_type;
        let offset = match offset {
            Some(offset) => implicit(self.expression(offset)?, SqlType::BigInt)?,
            None => Expr::constant(Value::BigInt(1), SqlType::BigInt),
        };
        let default = match default {
            Some(default) => Some(implicit(self.expression(default)?, sql_type)?.collated(value.label)),
            None => None,
        };
        Ok((
            WindowFunction::Neighbour {
                value,
                offset,
                backward: name == "lag",
                default,
            },
            sql_type,
        ))
    }
}

fn frame_bound(bound: &FrameBound) -> WindowBound {
    // More rows than fit memory are all rows.
    let rows = |away: u64| usize::try_from(away).unwrap_or(usize::MAX);
    match bound {
        FrameBound::UnboundedPreceding | FrameBound::UnboundedFollowing => WindowBound::Unbounded,
        FrameBound::Preceding(away) => WindowBound::Preceding(rows(*away)),
        FrameBound::CurrentRow => WindowBound::Current,
        FrameBound::Following(away) => WindowBound::Following(rows(*away)),
    }
}

/// Refuses what is not a frame. An order by a constant is not one. Which of the two errors it is has been probed by the
/// SqlServerSimulator project on SQL Server 2025: a whole number above 0 looks like a place in the select list, all else is a constant.
///
/// # Errors
/// 5308 and 5309.
fn check_order_key(key: &Expr) -> Result<()> {
    match &key.kind {
        ExprKind::Constant(Value::Int(1..)) => Err(messages::window_order_by_number()),
        ExprKind::Constant(_) => Err(messages::window_order_by_constant()),
        _ => Ok(()),
    }
}

fn check_frame(frame: &Frame, is_unordered: bool) -> Result<()> {
    if is_unordered {
        return Err(messages::window_frame_needs_order());
    }
    let place = |bound: &FrameBound| match bound {
        FrameBound::UnboundedPreceding => (0, "UNBOUNDED PRECEDING"),
        FrameBound::Preceding(_) => (1, "... PRECEDING"),
        FrameBound::CurrentRow => (2, "CURRENT ROW"),
        FrameBound::Following(_) => (3, "... FOLLOWING"),
        FrameBound::UnboundedFollowing => (4, "UNBOUNDED FOLLOWING"),
    };
    let ((start, start_words), (end, end_words)) = (place(&frame.start), place(&frame.end));
    if start > end || start == 4 || end == 0 {
        let words = format!("BETWEEN {start_words} AND {end_words}");
        return Err(messages::window_frame_reversed(&words));
    }
    if !frame.rows && [start, end].iter().any(|place| matches!(place, 1 | 3)) {
        return Err(messages::range_with_distance());
    }
    Ok(())
}

/// Whether an expression contains an aggregate call in its syntax.
fn contains_call(expression: &Expression) -> bool {
    use crate::ast::ExpressionKind as K;
    match &expression.kind {
        K::Function(call) => {
            let name = call.name.object().to_ascii_lowercase();
            matches!(name.as_str(), "sum" | "count" | "count_big" | "avg" | "min" | "max") && call.over.is_none()
                || call.arguments.iter().any(contains_call)
        }
        K::Binary { left, right, .. } => contains_call(left) || contains_call(right),
        K::Unary { operand, .. } => contains_call(operand),
        K::Cast(cast) => contains_call(&cast.operand),
        K::Convert(convert) => contains_call(&convert.operand),
        _ => false,
    }
}
