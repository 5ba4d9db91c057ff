//! Aggregate functions: found while a SELECT's expressions are bound, collected on its level.

use engine::error::{Error, Result};
use engine::types::{Length, SqlType};

use super::scope::{Level, Place};
use super::{Binder, implicit};
use crate::ast::FunctionCall;
use crate::messages;
use crate::plan::{AggregateCall, AggregateFunction, Expr, ExprKind};
use crate::scalar::data_type::{byte_length, string_type};

/// What an aggregate is over, and the keys of WITHIN GROUP with whether each descends.
pub(super) type Arguments = (Vec<Expr>, Vec<(Expr, bool)>);

pub(super) fn function_of(name: &str) -> Option<AggregateFunction> {
    let deviation = |population, root| AggregateFunction::Deviation { population, root };
    Some(match name {
        "count" | "count_big" | "approx_count_distinct" => AggregateFunction::Count,
        "sum" => AggregateFunction::Sum,
        "avg" => AggregateFunction::Average,
        "min" => AggregateFunction::Minimum,
        "max" => AggregateFunction::Maximum,
        "stdev" => deviation(false, true),
        "stdevp" => deviation(true, true),
        "var" => deviation(false, false),
        "varp" => deviation(true, false),
        "string_agg" => AggregateFunction::Concatenate,
        "checksum_agg" => AggregateFunction::Checksum,
        "json_arrayagg" => AggregateFunction::JsonArray,
        "json_objectagg" => AggregateFunction::JsonObject,
        _ => return None,
    })
}

/// Whether one of the values that an element or member is made of is of type json.
fn has_json(part: &Expr) -> bool {
    let mut found = false;
    part.for_each_child(&mut |child| found |= child.sql_type == SqlType::Json);
    found
}

impl<'a> Binder<'a> {
    /// Binds a call of an aggregate function; `None` when the name is none.
    pub(super) fn aggregate(&mut self, name: &str, call: &'a FunctionCall) -> Result<Option<Expr>> {
        let Some(function) = function_of(name) else {
            return Ok(None);
        };
        let makes_json = matches!(function, AggregateFunction::JsonArray | AggregateFunction::JsonObject);
        let is_asked = makes_json && self.json_clauses(&call.arguments)?.1;
        let captured = self.capture_counts();
        let (arguments, order) = self.aggregate_arguments(call)?;
        let is_json = is_asked || makes_json && arguments.iter().any(has_json);
        if let Some(outer) = self.outer_column(arguments.iter().chain(order.iter().map(|(key, _)| key)))? {
            let value = self.outer_aggregate(name, function, call, (arguments, order), (&outer, &captured))?;
            return Ok(Some(super::function::json_answer(function, value, is_json)));
        }
        let aggregate = typed_call(name, function, call, arguments, order)?;
        let Some(list) = self.select_level().and_then(|level| level.aggregates.as_mut()) else {
            return Err(self.aggregate_refused());
        };
        let value = collected(list, aggregate);
        Ok(Some(super::function::json_answer(function, value, is_json)))
    }

    /// The call of an aggregate with OVER, with its argument bound.
    pub(super) fn aggregate_call(
        &mut self,
        name: &str,
        function: AggregateFunction,
        call: &'a FunctionCall,
    ) -> Result<AggregateCall> {
        let (arguments, order) = self.aggregate_arguments(call)?;
        typed_call(name, function, call, arguments, order)
    }

    /// What an aggregate is over, and the order within its groups. No aggregate and no window function may stand in them.
    fn aggregate_arguments(&mut self, call: &'a FunctionCall) -> Result<Arguments> {
        let saved = self
            .select_level()
            .map(|level| (level.aggregates.take(), level.windows.take()));
        let bound = self.in_place(Place::Aggregate, |binder| {
            let arguments = binder.expressions(&call.arguments)?;
            let arguments = super::function::json_part(call.name.object(), arguments)?;
            let order = call.within_group.iter().map(|item| {
                let key = binder.expression(&item.expression)?;
                super::select::check_sortable(key.sql_type)?;
                Ok((key, item.descending))
            });
            Ok((arguments, order.collect::<Result<Vec<_>>>()?))
        });
        if let (Some((aggregates, windows)), Some(level)) = (saved, self.select_level()) {
            (level.aggregates, level.windows) = (aggregates, windows);
        }
        bound
    }

    /// Binds with aggregates and window functions allowed or not.
    pub(super) fn allowing<T>(
        &mut self,
        aggregates: bool,
        windows: bool,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let taken = match self.levels.last_mut() {
            Some(Level::Select(level)) => (
                if aggregates { None } else { level.aggregates.take() },
                if windows { None } else { level.windows.take() },
            ),
            _ => (None, None),
        };
        let result = work(self);
        if let Some(Level::Select(level)) = self.levels.last_mut() {
            if taken.0.is_some() {
                level.aggregates = taken.0;
            }
            if taken.1.is_some() {
                level.windows = taken.1;
            }
        }
        result
    }
}

/// The call of an aggregate whose argument is bound.
pub(super) fn typed_call(
    name: &str,
    function: AggregateFunction,
    call: &FunctionCall,
    arguments: Vec<Expr>,
    order: Vec<(Expr, bool)>,
) -> Result<AggregateCall> {
    let mut arguments = arguments.into_iter();
    let (argument, separator) = (arguments.next(), arguments.next());
    // APPROX_COUNT_DISTINCT may be off by 2%, and is not: the values are counted.
    let is_approximate = name == "approx_count_distinct";
    let count_type = if name == "count_big" || is_approximate {
        SqlType::BigInt
    } else {
        SqlType::Int
    };
    if is_approximate && (call.star || call.distinct) {
        return Err(messages::incorrect_syntax_near(if call.star {
            "*"
        } else {
            "distinct"
        }));
    }
    let empty = AggregateCall {
        function,
        argument: None,
        separator: None,
        distinct: call.distinct || is_approximate,
        sql_type: count_type,
        order,
    };
    if call.star || argument.is_none() {
        return match function {
            AggregateFunction::Count if call.star => Ok(AggregateCall {
                function: AggregateFunction::CountRows,
                ..empty
            }),
            _ => Err(messages::function_requires(name, 1)),
        };
    }
    let argument = argument.map_or_else(|| Err(messages::function_requires(name, 1)), Ok)?;
    if empty.distinct && (matches!(argument.sql_type, SqlType::Json | SqlType::XML) || argument.sql_type.is_spatial()) {
        return Err(messages::invalid_operand_type(argument.sql_type.name(), name));
    }
    let (argument, sql_type) = typed_argument(name, function, argument, count_type)?;
    Ok(AggregateCall {
        argument: Some(argument),
        separator,
        sql_type,
        ..empty
    })
}

/// Whether two calls have the same value of every group: the second need not be computed, and a key of ORDER BY that is an aggregate is
/// found in the select list. Calls with an order are not compared.
fn is_same_call(one: &AggregateCall, other: &AggregateCall) -> bool {
    let is_same = |one: &Option<Expr>, other: &Option<Expr>| match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => one.same_as(other) && is_repeatable(one),
        _ => false,
    };
    one.function == other.function
        && one.sql_type == other.sql_type
        && one.distinct == other.distinct
        && one.order.is_empty()
        && other.order.is_empty()
        && is_same(&one.argument, &other.argument)
        && is_same(&one.separator, &other.separator)
}

fn is_repeatable(expression: &Expr) -> bool {
    let is_value = matches!(expression.kind, ExprKind::Variable(_) | ExprKind::Parameter(_));
    let mut is_repeatable = is_value || super::computed::is_deterministic(expression);
    expression.for_each_child(&mut |child| is_repeatable = is_repeatable && self::is_repeatable(child));
    is_repeatable
}

/// An aggregate is looked for among so many: a SELECT of very many, each compared with all before it, would be bound for minutes.
const COMPARED_MAX: usize = 1_024;

/// Puts an aggregate on the list of its SELECT, unless an equal one stands there; answers what stands for its value there.
pub(super) fn collected(list: &mut Vec<AggregateCall>, aggregate: AggregateCall) -> Expr {
    let is_count = matches!(
        aggregate.function,
        AggregateFunction::Count | AggregateFunction::CountRows
    );
    let (sql_type, label) = (aggregate.sql_type, aggregate.label());
    let known = list
        .iter()
        .take(COMPARED_MAX)
        .position(|known| is_same_call(known, &aggregate));
    let place = known.unwrap_or_else(|| {
        list.push(aggregate);
        list.len() - 1
    });
    Expr {
        kind: ExprKind::Aggregate(place),
        sql_type,
        nullable: !is_count,
        label,
    }
}

/// An aggregate over an argument that is already bound.
pub(super) fn aggregate_of(name: &str, function: AggregateFunction, argument: Expr) -> Result<AggregateCall> {
    let count_type = if name == "count_big" {
        SqlType::BigInt
    } else {
        SqlType::Int
    };
    let (argument, sql_type) = typed_argument(name, function, argument, count_type)?;
    Ok(AggregateCall {
        function,
        argument: Some(argument),
        separator: None,
        distinct: false,
        sql_type,
        order: Vec::new(),
    })
}

/// Refuses `geometry` and `geography` where they are not only counted.
fn require_taken(name: &str, function: AggregateFunction, own: SqlType) -> Result<()> {
    match function {
        AggregateFunction::CountRows | AggregateFunction::Count => Ok(()),
        AggregateFunction::Minimum | AggregateFunction::Maximum => Err(messages::not_fully_comparable(own.name())),
        AggregateFunction::Sum
        | AggregateFunction::Average
        | AggregateFunction::Deviation { .. }
        | AggregateFunction::Checksum
        | AggregateFunction::JsonArray
        | AggregateFunction::JsonObject
        | AggregateFunction::Concatenate => Err(messages::invalid_operand_type(own.name(), name)),
    }
}

/// The argument in the type it is summed in, and the result's type (SQL Server docs of each function).
fn typed_argument(
    name: &str,
    function: AggregateFunction,
    argument: Expr,
    count_type: SqlType,
) -> Result<(Expr, SqlType)> {
    let own = argument.sql_type;
    let invalid = || messages::invalid_operand_type(own.name(), name);
    if own.is_large_object() {
        return Err(invalid());
    }
    let takes_json = matches!(
        function,
        AggregateFunction::CountRows
            | AggregateFunction::Count
            | AggregateFunction::JsonArray
            | AggregateFunction::JsonObject
    );
    if matches!(own, SqlType::Json | SqlType::XML) && !takes_json {
        return Err(invalid());
    }
    if own.is_spatial() {
        require_taken(name, function, own)?;
    }
    match function {
        AggregateFunction::CountRows | AggregateFunction::Count => Ok((argument, count_type)),
        AggregateFunction::Minimum | AggregateFunction::Maximum if own == SqlType::Bit => Err(invalid()),
        AggregateFunction::Minimum | AggregateFunction::Maximum => Ok((argument, own)),
        AggregateFunction::Sum | AggregateFunction::Average => {
            let sum_type = match own {
                SqlType::TinyInt | SqlType::SmallInt | SqlType::Int => SqlType::Int,
                SqlType::BigInt => SqlType::BigInt,
                SqlType::Money | SqlType::SmallMoney => SqlType::Money,
                SqlType::Real | SqlType::Float => SqlType::Float,
                SqlType::Decimal { scale, .. } if function == AggregateFunction::Sum => {
                    SqlType::Decimal { precision: 38, scale }
                }
                SqlType::Decimal { scale, .. } => SqlType::Decimal {
                    precision: 38,
                    scale: scale.max(6),
                },
                _ => return Err(invalid()),
            };
            let argument = match sum_type {
                SqlType::Float | SqlType::Money => argument.converted(sum_type),
                _ => argument,
            };
            Ok((argument, sum_type))
        }
        _ if own == SqlType::SqlVariant => Err(invalid()),
        AggregateFunction::Deviation { .. } => Ok((implicit(argument, SqlType::Float)?, SqlType::Float)),
        AggregateFunction::Checksum => Ok((implicit(argument, SqlType::Int)?, SqlType::Int)),
        AggregateFunction::JsonArray | AggregateFunction::JsonObject => Ok((argument, own)),
        AggregateFunction::Concatenate => {
            let unicode = !own.is_character() || own.is_unicode();
            // Strings that are not `max` make one of 8,000 bytes (SQL Server docs, "STRING_AGG").
            let length = match byte_length(own) {
                Length::Max if own.is_character() => Length::Max,
                _ => Length::Limited(8_000),
            };
            let target = string_type(unicode, length);
            let argument = if own.is_character() {
                argument
            } else {
                argument.converted(target)
            };
            Ok((argument, target))
        }
    }
}

/// The error for GROUP BY and ORDER BY together with columns that neither names.
pub(super) fn not_in_select_list() -> Error {
    let text = "ORDER BY items must appear in the select list if SELECT DISTINCT is specified.";
    Error::new(145, 15, 1, text)
}
