//! The running state of one aggregate over one group or frame.

use std::cmp::Ordering;

use engine::error::Result;
use engine::types::{Decimal, SqlType, Text, Value, string_room};

use super::evaluate;
use crate::context::Context;
use crate::grant::{Grant, row_bytes};
use crate::messages;
use crate::plan::{AggregateCall, AggregateFunction};
use crate::scalar::compare::order;
use crate::scalar::convert::{as_float, integer, text_length};
use crate::scalar::data_type::byte_length;

/// What a text of STRING_AGG takes beside its characters: its place in a list that may move to one of twice its size, where it is sorted, and
/// what an allocation takes.
const TEXT_BYTES: u64 = 3 * size_of::<AggregatedText>() as u64 + 64;

/// What has been seen so far.
#[derive(Clone, Debug)]
pub(super) struct AggregateState {
    count: u64,
    accumulator: Accumulator,
}

/// Keys of its order, the separator before it, the text.
type AggregatedText = (Vec<Value>, String, String);

#[derive(Clone, Debug)]
enum Accumulator {
    None,
    /// Sum of whole numbers, money and decimals, without their point.
    Exact(i128),
    Float(f64),
    /// Least or greatest value.
    Extreme(Value),
    /// Count, mean and sum of squares, by Welford's method.
    Moments {
        mean: f64,
        squares: f64,
    },
    /// Values with their order keys, for STRING_AGG and the aggregates that make JSON.
    Texts(Vec<AggregatedText>),
    Checksum(i32),
}

impl AggregateState {
    pub(super) fn new(call: &AggregateCall) -> AggregateState {
        let is_float = matches!(call.sql_type, SqlType::Float | SqlType::Real);
        let accumulator = match call.function {
            AggregateFunction::Sum | AggregateFunction::Average if is_float => Accumulator::Float(0.0),
            AggregateFunction::Sum | AggregateFunction::Average => Accumulator::Exact(0),
            AggregateFunction::Minimum | AggregateFunction::Maximum => Accumulator::Extreme(Value::Null),
            AggregateFunction::Deviation { .. } => Accumulator::Moments {
                mean: 0.0,
                squares: 0.0,
            },
            AggregateFunction::Concatenate | AggregateFunction::JsonArray | AggregateFunction::JsonObject => {
                Accumulator::Texts(Vec::new())
            }
            AggregateFunction::Checksum => Accumulator::Checksum(0),
            AggregateFunction::CountRows | AggregateFunction::Count => Accumulator::None,
        };
        AggregateState { count: 0, accumulator }
    }

    /// Takes in one row; texts are charged to the grant.
    ///
    /// # Errors
    /// Those of the expressions and of [`AggregateState::take`]; 701 when texts do not fit into memory.
    pub(super) fn add(
        &mut self,
        call: &AggregateCall,
        row: &[Value],
        grant: &mut Grant,
        context: &Context<'_>,
    ) -> Result<()> {
        let Some(argument) = &call.argument else {
            self.count += 1;
            return Ok(());
        };
        let value = evaluate(argument, row, context)?;
        if value.is_null() {
            // What is left out of JSON is a row all the same: JSON of no rows is NULL, that of rows left out is empty.
            self.count += u64::from(brackets_of(call.function).is_some());
            return Ok(());
        }
        if let Accumulator::Texts(texts) = &mut self.accumulator {
            self.count += 1;
            let keys = call
                .order
                .iter()
                .map(|(key, _)| Ok(evaluate(key, row, context)?.into_owned()));
            let separator = match &call.separator {
                Some(separator) => evaluate(separator, row, context)?.as_str().unwrap_or("").to_owned(),
                None if brackets_of(call.function).is_some() => ",".to_owned(),
                None => String::new(),
            };
            let (keys, text) = (
                keys.collect::<Result<Vec<_>>>()?,
                value.as_str().unwrap_or("").to_owned(),
            );
            grant.require(row_bytes(&keys) + (separator.len() + 2 * text.len()) as u64 + TEXT_BYTES)?;
            texts.push((keys, separator, text));
            return Ok(());
        }
        self.take(call, &value)
    }

    /// Takes in a value that is not NULL.
    ///
    /// # Errors
    /// Overflow of a sum.
    pub(super) fn take(&mut self, call: &AggregateCall, value: &Value) -> Result<()> {
        self.count += 1;
        let overflow = || messages::overflow_converting("expression", messages::type_name(call.sql_type));
        match &mut self.accumulator {
            Accumulator::Exact(sum) => {
                let number = exact(value).ok_or_else(overflow)?;
                *sum = sum.checked_add(number).ok_or_else(overflow)?;
            }
            Accumulator::Float(sum) => *sum += as_float(value).unwrap_or(0.0),
            Accumulator::Extreme(extreme) => {
                let wanted = match call.function {
                    AggregateFunction::Minimum => Ordering::Less,
                    _ => Ordering::Greater,
                };
                if extreme.is_null() || order(value, extreme) == wanted {
                    *extreme = value.clone();
                }
            }
            Accumulator::Moments { mean, squares } => {
                let number = as_float(value).unwrap_or(0.0);
                let delta = number - *mean;
                *mean += delta / self.count as f64;
                *squares += delta * (number - *mean);
            }
            Accumulator::Checksum(sum) => *sum ^= value.as_i64().unwrap_or(0) as i32,
            Accumulator::None | Accumulator::Texts(_) => {}
        }
        Ok(())
    }

    /// The result.
    ///
    /// # Errors
    /// Overflow; 9829 for texts that are too long together.
    pub(super) fn finish(&self, call: &AggregateCall) -> Result<Value> {
        let overflow = || messages::overflow_converting("expression", messages::type_name(call.sql_type));
        if matches!(call.function, AggregateFunction::CountRows | AggregateFunction::Count) {
            return integer(i128::from(self.count), call.sql_type).ok_or_else(overflow);
        }
        if self.count == 0 {
            return Ok(Value::Null);
        }
        Ok(match &self.accumulator {
            Accumulator::Exact(sum) if call.function == AggregateFunction::Average => {
                average(*sum, self.count, call).ok_or_else(overflow)?
            }
            Accumulator::Exact(sum) => exact_value(*sum, call.sql_type).ok_or_else(overflow)?,
            Accumulator::Float(sum) if call.function == AggregateFunction::Average => {
                Value::Float(sum / self.count as f64)
            }
            Accumulator::Float(sum) => Value::Float(*sum),
            Accumulator::Extreme(value) => value.clone(),
            Accumulator::Moments { squares, .. } => deviation(*squares, self.count, call.function),
            Accumulator::Texts(texts) => concatenate(texts, call)?,
            Accumulator::Checksum(sum) => Value::Int(*sum),
            Accumulator::None => Value::Null,
        })
    }
}

/// A number without its point.
pub(crate) fn exact(value: &Value) -> Option<i128> {
    Some(match value {
        Value::Decimal(number) => number.coefficient(),
        Value::Money(number) => i128::from(*number),
        Value::SmallMoney(number) => i128::from(*number),
        other => i128::from(other.as_i64()?),
    })
}

/// A number as a value of an exact type, whose scale it has; `None` out of its range.
pub(crate) fn exact_value(number: i128, sql_type: SqlType) -> Option<Value> {
    match sql_type {
        SqlType::Decimal { precision, scale } => {
            Decimal::fits(number, precision).then(|| Value::Decimal(Decimal::new(number, precision, scale)))
        }
        SqlType::Money => i64::try_from(number).ok().map(Value::Money),
        _ => integer(number, sql_type),
    }
}

/// AVG: whole numbers are cut; decimals have at least six digits after the point, for which the sum is widened.
fn average(sum: i128, count: u64, call: &AggregateCall) -> Option<Value> {
    // A sum beyond the type of the result is an error (sql-docs, "AVG"), even where the average would fit.
    exact_value(sum, call.sql_type)?;
    let count = i128::from(count);
    let argument_scale = call.argument.as_ref().map_or(0, |argument| argument.sql_type.scale());
    match call.sql_type {
        SqlType::Decimal { scale, .. } => {
            let mut digits = i32::from(scale) - i32::from(argument_scale);
            let (mut quotient, mut remainder) = (sum / count, sum % count);
            while digits > 0 {
                remainder *= 10;
                quotient = quotient.checked_mul(10)?.checked_add(remainder / count)?;
                remainder %= count;
                digits -= 1;
            }
            exact_value(quotient, call.sql_type)
        }
        _ => exact_value(sum / count, call.sql_type),
    }
}

fn deviation(squares: f64, count: u64, function: AggregateFunction) -> Value {
    let AggregateFunction::Deviation { population, root } = function else {
        return Value::Null;
    };
    let divisor = if population { count } else { count - 1 };
    if divisor == 0 {
        return Value::Null;
    }
    let variance = squares / divisor as f64;
    Value::Float(if root { variance.sqrt() } else { variance })
}

/// What stands around the parts of an aggregate that makes JSON.
fn brackets_of(function: AggregateFunction) -> Option<(&'static str, &'static str)> {
    match function {
        AggregateFunction::JsonArray => Some(("[", "]")),
        AggregateFunction::JsonObject => Some(("{", "}")),
        AggregateFunction::CountRows
        | AggregateFunction::Count
        | AggregateFunction::Sum
        | AggregateFunction::Average
        | AggregateFunction::Minimum
        | AggregateFunction::Maximum
        | AggregateFunction::Deviation { .. }
        | AggregateFunction::Concatenate
        | AggregateFunction::Checksum => None,
    }
}

/// Texts and separators in order, joined. What STRING_AGG of `varchar(8000)` or `nvarchar(4000)` cannot hold is 9829.
fn concatenate(texts: &[AggregatedText], call: &AggregateCall) -> Result<Value> {
    let mut texts: Vec<&AggregatedText> = texts.iter().collect();
    texts.sort_by(|left, right| {
        let pairs = left.0.iter().zip(&right.0).zip(&call.order);
        pairs
            .map(|((left, right), (_, descending))| {
                if *descending {
                    order(right, left)
                } else {
                    order(left, right)
                }
            })
            .find(|found| *found != Ordering::Equal)
            .unwrap_or(Ordering::Equal)
    });
    let separators = texts.iter().skip(1).map(|(_, separator, _)| separator.len());
    let (open, close) = brackets_of(call.function).unwrap_or_default();
    let bytes: usize = separators.chain(texts.iter().map(|(_, _, text)| text.len())).sum();
    let bytes = bytes + open.len() + close.len();
    let charge = string_room(bytes)?;
    let mut joined = String::with_capacity(bytes);
    joined.push_str(open);
    for (index, (_, separator, text)) in texts.iter().enumerate() {
        if index > 0 {
            joined.push_str(separator);
        }
        joined.push_str(text);
    }
    joined.push_str(close);
    let is_unicode = call.sql_type.is_unicode();
    if text_length(&joined, is_unicode) > byte_length(call.sql_type).units_max() {
        return Err(messages::string_agg_too_long());
    }
    Ok(Value::Text(
        Text::charged(joined, charge).collated(call.label().collation()),
    ))
}
