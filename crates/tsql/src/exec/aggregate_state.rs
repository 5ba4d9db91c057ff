//! The running state of one aggregate over one group or frame.

use std::cmp::Ordering;
use std::collections::HashSet;

use engine::error::Result;
use engine::types::{Decimal, SqlType, Text, Value, string_room};

use super::evaluate;
use crate::context::Context;
use crate::grant::{Grant, row_bytes};
use crate::messages;
use crate::plan::{AggregateCall, AggregateFunction};
use crate::scalar::compare::{GroupKey, order};
use crate::scalar::convert::{as_float, integer, text_length};
use crate::scalar::data_type::byte_length;

/// What a text of STRING_AGG takes beside its characters.
const TEXT_BYTES: u64 = 96;

/// What has been seen so far.
#[derive(Clone, Debug)]
pub(super) struct AggregateState {
    count: u64,
    accumulator: Accumulator,
    distinct: Option<HashSet<GroupKey>>,
}

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
    /// Values with their order keys, for STRING_AGG.
    Texts(Vec<(Vec<Value>, String, String)>),
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
            AggregateFunction::Concatenate => Accumulator::Texts(Vec::new()),
            AggregateFunction::Checksum => Accumulator::Checksum(0),
            AggregateFunction::CountRows | AggregateFunction::Count => Accumulator::None,
        };
        AggregateState {
            count: 0,
            accumulator,
            distinct: call.distinct.then(HashSet::new),
        }
    }

    /// Takes in one row; texts and values of DISTINCT are charged to a grant each. A value of DISTINCT that may be new and does not fit into memory comes back: it must be given to
    /// [`AggregateState::take_distinct`] once, after the last row.
    ///
    /// # Errors
    /// Those of the expressions; 701 when texts do not fit into memory.
    pub(super) fn add(
        &mut self,
        call: &AggregateCall,
        row: &[Value],
        (grant, distinct_grant): (&mut Grant, &mut Grant),
        context: &Context<'_>,
    ) -> Result<Option<Value>> {
        let Some(argument) = &call.argument else {
            self.count += 1;
            return Ok(None);
        };
        let value = evaluate(argument, row, context)?;
        if value.is_null() {
            return Ok(None);
        }
        if let Some(seen) = &mut self.distinct {
            let key = GroupKey(vec![value.clone().into_owned()]);
            if seen.contains(&key) {
                return Ok(None);
            }
            if !distinct_grant.has_room(row_bytes(&key.0)) {
                return Ok(key.0.into_iter().next());
            }
            seen.insert(key);
        }
        self.count += 1;
        if let Accumulator::Texts(texts) = &mut self.accumulator {
            let keys = call
                .order
                .iter()
                .map(|(key, _)| Ok(evaluate(key, row, context)?.into_owned()));
            let separator = match &call.separator {
                Some(separator) => evaluate(separator, row, context)?.as_str().unwrap_or("").to_owned(),
                None => String::new(),
            };
            let (keys, text) = (
                keys.collect::<Result<Vec<_>>>()?,
                value.as_str().unwrap_or("").to_owned(),
            );
            grant.require(row_bytes(&keys) + (separator.len() + 2 * text.len()) as u64 + TEXT_BYTES)?;
            texts.push((keys, separator, text));
            return Ok(None);
        }
        self.accumulate(call, &value)?;
        Ok(None)
    }

    /// Forgets which values of DISTINCT were seen.
    pub(super) fn forget_distinct(&mut self) {
        if let Some(seen) = &mut self.distinct {
            *seen = HashSet::new();
        }
    }

    /// Takes in a value of DISTINCT that is not among those seen.
    ///
    /// # Errors
    /// Overflow of a sum.
    pub(super) fn take_distinct(&mut self, call: &AggregateCall, value: &Value) -> Result<()> {
        self.count += 1;
        self.accumulate(call, value)
    }

    fn accumulate(&mut self, call: &AggregateCall, value: &Value) -> Result<()> {
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
    pub(super) fn finish(self, call: &AggregateCall) -> Result<Value> {
        let overflow = || messages::overflow_converting("expression", messages::type_name(call.sql_type));
        if matches!(call.function, AggregateFunction::CountRows | AggregateFunction::Count) {
            return integer(i128::from(self.count), call.sql_type).ok_or_else(overflow);
        }
        if self.count == 0 {
            return Ok(Value::Null);
        }
        Ok(match self.accumulator {
            Accumulator::Exact(sum) if call.function == AggregateFunction::Average => {
                average(sum, self.count, call).ok_or_else(overflow)?
            }
            Accumulator::Exact(sum) => exact_value(sum, call.sql_type).ok_or_else(overflow)?,
            Accumulator::Float(sum) if call.function == AggregateFunction::Average => {
                Value::Float(sum / self.count as f64)
            }
            Accumulator::Float(sum) => Value::Float(sum),
            Accumulator::Extreme(value) => value,
            Accumulator::Moments { squares, .. } => deviation(squares, self.count, call.function),
            Accumulator::Texts(texts) => concatenate(texts, call)?,
            Accumulator::Checksum(sum) => Value::Int(sum),
            Accumulator::None => Value::Null,
        })
    }
}

/// A number without its point.
fn exact(value: &Value) -> Option<i128> {
    Some(match value {
        Value::Decimal(number) => number.coefficient(),
        Value::Money(number) => i128::from(*number),
        Value::SmallMoney(number) => i128::from(*number),
        other => i128::from(other.as_i64()?),
    })
}

fn exact_value(number: i128, sql_type: SqlType) -> Option<Value> {
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

/// Texts and separators in order, joined. What STRING_AGG of `varchar(8000)` or `nvarchar(4000)` cannot hold is 9829.
fn concatenate(mut texts: Vec<(Vec<Value>, String, String)>, call: &AggregateCall) -> Result<Value> {
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
    let bytes = separators.chain(texts.iter().map(|(_, _, text)| text.len())).sum();
    let charge = string_room(bytes)?;
    let mut joined = String::with_capacity(bytes);
    for (index, (_, separator, text)) in texts.iter().enumerate() {
        if index > 0 {
            joined.push_str(separator);
        }
        joined.push_str(text);
    }
    let is_unicode = call.sql_type.is_unicode();
    if text_length(&joined, is_unicode) > byte_length(call.sql_type).units_max() {
        return Err(messages::string_agg_too_long());
    }
    Ok(Value::Text(
        Text::charged(joined, charge).collated(call.label().collation()),
    ))
}
