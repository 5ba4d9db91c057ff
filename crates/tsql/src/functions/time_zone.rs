//! AT TIME ZONE, which has special syntax (`bind` creates the call); CURRENT_TIMEZONE and CURRENT_TIMEZONE_ID.

use engine::error::{Error, Result};
use engine::types::calendar::{DAY_MAX, TICKS_PER_DAY};
use engine::types::{Length, SqlType, Value};

use super::Answer::Fixed;
use super::{Call, NAME, Signature, signature};
use crate::messages;
use crate::plan::Expr;
use crate::scalar::moment::Moment;
use crate::scalar::time_zone::{offset_at, offset_of_local, zone};

/// The clock is kept in UTC.
pub(super) const FUNCTIONS: &[Signature] = &[
    signature(
        "current_timezone",
        0,
        &[],
        Fixed(SqlType::VarChar(Length::Limited(60))),
        |_| Ok(Value::from("(UTC) Coordinated Universal Time")),
    )
    .told(": what the time zone of the server is called to people"),
    signature("current_timezone_id", 0, &[], NAME, |_| Ok(Value::from("UTC")))
        .told(": the name of the server's time zone, for AT TIME ZONE"),
];

/// The type that AT TIME ZONE answers with.
///
/// # Errors
/// 8116 for what is neither a date with a time nor, on the right, a string.
pub(crate) fn zoned_type(moment: &Expr, zone: &Expr) -> Result<SqlType> {
    const FUNCTION: &str = "AT TIME ZONE";
    let scale = match moment.sql_type {
        SqlType::DateTime2 { scale } | SqlType::DateTimeOffset { scale } => scale,
        SqlType::DateTime => 3,
        SqlType::SmallDateTime => 0,
        _ if moment.is_null_constant() => 7,
        other => return Err(messages::invalid_argument_type(other.name(), 1, FUNCTION)),
    };
    if !zone.sql_type.is_character() && !zone.is_null_constant() {
        return Err(messages::invalid_argument_type(zone.sql_type.name(), 2, FUNCTION));
    }
    Ok(SqlType::DateTimeOffset { scale })
}

/// # Errors
/// 9820 for a zone that there is not, 9813 for a time beyond the calendar.
pub(crate) fn at_time_zone(call: &Call<'_>) -> Result<Value> {
    let (Some(moment), Some(name)) = (Moment::from_value(call.value(0)), call.text(1)) else {
        return Ok(Value::Null);
    };
    let zone = zone(name).ok_or_else(|| {
        let text = format!("The time zone parameter '{name}' provided to AT TIME ZONE clause is invalid.");
        Error::new(9820, 16, 1, text)
    })?;
    let overflow = || {
        let text = "The timezone provided to builtin function AT TIME ZONE would cause the datetimeoffset to overflow the range of valid \
                    date range in either UTC or local time.";
        Error::new(9813, 16, 1, text)
    };
    if let Value::DateTimeOffset { .. } = call.value(0) {
        let utc = moment.in_utc();
        let (offset_minutes, _) = offset_at(&zone, utc).ok_or_else(overflow)?;
        let local = utc.plus_ticks(i128::from(offset_minutes) * 600_000_000);
        // Beyond the calendar it is the first or last moment of it, in UTC.
        let shown = local.map_or_else(
            || end_of_calendar(utc, call.result.scale()),
            |local| Moment {
                offset_minutes,
                ..local
            },
        );
        return shown.to_value(call.result).ok_or_else(overflow);
    }
    let before = offset_of_local(&zone, moment).ok_or_else(overflow)?;
    let utc = moment
        .plus_ticks(-i128::from(before) * 600_000_000)
        .ok_or_else(overflow)?;
    let (offset_minutes, _) = offset_at(&zone, utc).ok_or_else(overflow)?;
    let local = utc
        .plus_ticks(i128::from(offset_minutes) * 600_000_000)
        .ok_or_else(overflow)?;
    Moment {
        offset_minutes,
        ..local
    }
    .to_value(call.result)
    .ok_or_else(overflow)
}

/// The first or last moment of the calendar that has so many digits of a second.
fn end_of_calendar(utc: Moment, scale: u8) -> Moment {
    match utc.days > DAY_MAX / 2 {
        true => Moment::new(DAY_MAX, TICKS_PER_DAY - 10u64.pow(7 - u32::from(scale.min(7)))),
        false => Moment::new(0, 0),
    }
}
