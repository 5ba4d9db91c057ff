//! PERCENTILE_CONT and PERCENTILE_DISC (sql-docs, the pages of these names): one value for a partition, of those that are not NULL.
//!
//! ```text
//! CONT    the place 1 + p * (n - 1) between two values, in proportion
//! DISC    the first value whose share of rows up to it is p at least
//! ```

use engine::cancel;
use engine::error::{Error, Result};
use engine::types::{SqlType, Value};

use super::evaluate;
use super::window::Partition;
use crate::context::Context;
use crate::messages;
use crate::plan::{WindowCall, WindowFunction};
use crate::scalar::convert::convert;

/// # Errors
/// 8727 for a fraction outside of 0 to 1; those of the expressions.
pub(super) fn percentile(call: &WindowCall, partition: &Partition<'_>, context: &Context<'_>) -> Result<Value> {
    let WindowFunction::Percentile {
        fraction,
        value,
        is_continuous,
    } = &call.function
    else {
        return Err(Error::assertion("another function as a percentile"));
    };
    let first = partition.row(0).unwrap_or_default();
    let fraction = match evaluate(fraction, first, context)?.into_owned() {
        Value::Float(fraction) if (0.0..=1.0).contains(&fraction) => fraction,
        _ => return Err(messages::percentile_out_of_range()),
    };
    let mut values = Vec::with_capacity(partition.len());
    for position in 0..partition.len() {
        cancel::spend(1)?;
        let value = evaluate(value, partition.row(position).unwrap_or_default(), context)?;
        if !value.is_null() {
            values.push(value.into_owned());
        }
    }
    let Some(last) = values.len().checked_sub(1) else {
        return Ok(Value::Null);
    };
    if !is_continuous {
        let place = (fraction * values.len() as f64).ceil() as usize;
        return Ok(values.swap_remove(place.saturating_sub(1).min(last)));
    }
    let place = fraction * last as f64;
    let below = (place.floor() as usize).min(last);
    let number = |index: usize| match values
        .get(index)
        .map(|own| convert(own, value.sql_type, SqlType::Float, None))
    {
        Some(Ok(Value::Float(number))) => Ok(number),
        Some(Err(error)) => Err(error),
        _ => Ok(f64::NAN),
    };
    let (low, share) = (number(below)?, place - below as f64);
    if share == 0.0 {
        return Ok(Value::Float(low));
    }
    let high = number((below + 1).min(last))?;
    Ok(Value::Float(low + (high - low) * share))
}
