//! Dates and times put together from their parts, and moved between time zones.

use engine::error::{Error, Result};
use engine::types::calendar::days_from_date;
use engine::types::{SqlType, Value};

use super::Answer::{Computed, Fixed};
use super::Parameter::{Any, Int, LongMoment};
use super::{Call, Signature, signature};
use crate::plan::{Expr, ExprKind};
use crate::scalar::moment::Moment;

const TICKS_PER_SECOND: i64 = 10_000_000;
/// Minutes that a time zone is at most away from UTC (sql-docs, "datetimeoffset").
const OFFSET_MINUTES_MAX: i64 = 14 * 60;

pub(super) const FUNCTIONS: &[Signature] = &[
    signature(
        "datetime2fromparts",
        8,
        &[Int; 8],
        Computed(datetime2_type),
        datetime2fromparts,
    )
    .told("year, month, day, hour, minute, second, fraction, scale: a datetime2"),
    signature(
        "datetimeoffsetfromparts",
        10,
        &[Int; 10],
        Computed(datetimeoffset_type),
        datetimeoffsetfromparts,
    )
    .told("year, month, day, hour, minute, second, fraction, zone_hours, zone_minutes, scale: a datetimeoffset"),
    signature(
        "smalldatetimefromparts",
        5,
        &[Int; 5],
        Fixed(SqlType::SmallDateTime),
        smalldatetimefromparts,
    )
    .told("year, month, day, hour, minute: a smalldatetime"),
    signature("switchoffset", 2, &[LongMoment, Any], Computed(zoned), switchoffset)
        .told("moment, zone: the same moment in another time zone"),
    signature("timefromparts", 5, &[Int; 5], Computed(time_type), timefromparts)
        .told("hour, minute, second, fraction, scale: a time"),
    signature(
        "todatetimeoffset",
        2,
        &[LongMoment, Any],
        Computed(zoned),
        todatetimeoffset,
    )
    .told("moment, zone: a datetimeoffset of a local time and its zone"),
];

/// The last argument says the scale of the result, so it must be a constant.
fn scale_of(arguments: &[Expr], kind: &str) -> Result<u8> {
    let constant = match arguments.last().map(|argument| &argument.kind) {
        Some(ExprKind::Constant(value)) => value.as_i64(),
        _ => None,
    };
    constant
        .and_then(|scale| u8::try_from(scale).ok())
        .filter(|scale| *scale <= 7)
        .ok_or_else(|| {
            let text = format!(
                "Scale argument is not valid. Valid expressions for data type {kind} scale argument are integer constants and integer constant expressions."
            );
            Error::new(10760, 16, 1, text)
        })
}

fn time_type(arguments: &[Expr]) -> Result<SqlType> {
    Ok(SqlType::Time {
        scale: scale_of(arguments, "time")?,
    })
}

fn datetime2_type(arguments: &[Expr]) -> Result<SqlType> {
    Ok(SqlType::DateTime2 {
        scale: scale_of(arguments, "datetime2")?,
    })
}

fn datetimeoffset_type(arguments: &[Expr]) -> Result<SqlType> {
    Ok(SqlType::DateTimeOffset {
        scale: scale_of(arguments, "datetimeoffset")?,
    })
}

/// A datetimeoffset of the scale that the first argument has.
fn zoned(arguments: &[Expr]) -> Result<SqlType> {
    let scale = match arguments.first().map(|argument| argument.sql_type) {
        Some(SqlType::DateTime2 { scale } | SqlType::DateTimeOffset { scale }) => scale,
        Some(SqlType::DateTime) => 3,
        Some(SqlType::SmallDateTime | SqlType::Date) => 0,
        _ => 7,
    };
    Ok(SqlType::DateTimeOffset { scale })
}

/// The arguments, unless one is NULL.
fn numbers<const N: usize>(call: &Call<'_>) -> Option<[i64; N]> {
    let mut numbers = [0; N];
    for (index, number) in numbers.iter_mut().enumerate() {
        *number = call.integer(index)?;
    }
    Some(numbers)
}

fn days([year, month, day]: [i64; 3]) -> Option<i32> {
    days_from_date(
        i32::try_from(year).ok()?,
        u32::try_from(month).ok()?,
        u32::try_from(day).ok()?,
    )
}

/// Ticks of 100 ns since midnight; `fraction` counts units of the scale.
fn ticks([hour, minute, second]: [i64; 3], fraction: i64, scale: u8) -> Option<u64> {
    let unit = 10i64.pow(7 - u32::from(scale));
    let in_range = (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..60).contains(&second)
        && (0..TICKS_PER_SECOND / unit).contains(&fraction);
    if !in_range {
        return None;
    }
    u64::try_from(((hour * 60 + minute) * 60 + second) * TICKS_PER_SECOND + fraction * unit).ok()
}

fn built(moment: Option<Moment>, call: &Call<'_>) -> Result<Value> {
    moment.and_then(|moment| moment.to_value(call.result)).ok_or_else(|| {
        let kind = call.result.name();
        let text = format!("Cannot construct data type {kind}, some of the arguments have values which are not valid.");
        Error::new(289, 16, 1, text)
    })
}

fn timefromparts(call: &Call<'_>) -> Result<Value> {
    let Some([hour, minute, second, fraction]) = numbers(call) else {
        return Ok(Value::Null);
    };
    let ticks = ticks([hour, minute, second], fraction, call.result.scale());
    built(ticks.map(|ticks| Moment::new(0, ticks)), call)
}

fn datetime2fromparts(call: &Call<'_>) -> Result<Value> {
    let Some([year, month, day, hour, minute, second, fraction]) = numbers(call) else {
        return Ok(Value::Null);
    };
    let ticks = ticks([hour, minute, second], fraction, call.result.scale());
    let moment = days([year, month, day]).zip(ticks);
    built(moment.map(|(days, ticks)| Moment::new(days, ticks)), call)
}

fn smalldatetimefromparts(call: &Call<'_>) -> Result<Value> {
    let Some([year, month, day, hour, minute]) = numbers(call) else {
        return Ok(Value::Null);
    };
    let moment = days([year, month, day]).zip(ticks([hour, minute, 0], 0, 0));
    built(moment.map(|(days, ticks)| Moment::new(days, ticks)), call)
}

fn datetimeoffsetfromparts(call: &Call<'_>) -> Result<Value> {
    let Some([year, month, day, hour, minute, second, fraction, hours, minutes]) = numbers(call) else {
        return Ok(Value::Null);
    };
    let ticks = ticks([hour, minute, second], fraction, call.result.scale());
    // Both parts of an offset have its sign.
    let one_sign = hours.signum() * minutes.signum() >= 0 && (-59..=59).contains(&minutes);
    let offset = i16::try_from(hours.saturating_mul(60).saturating_add(minutes))
        .ok()
        .filter(|offset| one_sign && i64::from(offset.unsigned_abs()) <= OFFSET_MINUTES_MAX);
    let moment = days([year, month, day]).zip(ticks).zip(offset);
    let moment = moment.map(|((days, ticks), offset_minutes)| Moment {
        days,
        ticks,
        offset_minutes,
    });
    built(moment, call)
}

/// A time zone: minutes, or text such as `+02:00`.
fn offset_of(call: &Call<'_>, function: &str) -> Result<Option<i16>> {
    let minutes = match call.value(1) {
        Value::Null => return Ok(None),
        Value::Text(text) => minutes_of(text.trim()),
        value => value.as_i64(),
    };
    minutes
        .filter(|minutes| (-OFFSET_MINUTES_MAX..=OFFSET_MINUTES_MAX).contains(minutes))
        .and_then(|minutes| i16::try_from(minutes).ok())
        .map(Some)
        .ok_or_else(|| {
            let text = format!("The timezone provided to builtin function {function} is invalid.");
            Error::new(9812, 16, 0, text)
        })
}

fn minutes_of(text: &str) -> Option<i64> {
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes) = text.get(1..)?.split_once(':')?;
    let is_number = |part: &str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(hours) || !is_number(minutes) {
        return None;
    }
    let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
    (minutes < 60).then_some(sign * (hours * 60 + minutes))
}

/// SWITCHOFFSET: the same moment, written in another time zone.
fn switchoffset(call: &Call<'_>) -> Result<Value> {
    let (Some(moment), Some(offset_minutes)) = (Moment::from_value(call.value(0)), offset_of(call, "switchoffset")?)
    else {
        return Ok(Value::Null);
    };
    let local = moment
        .in_utc()
        .plus_ticks(i128::from(offset_minutes) * 60 * i128::from(TICKS_PER_SECOND));
    built(
        local.map(|local| Moment {
            offset_minutes,
            ..local
        }),
        call,
    )
}

/// TODATETIMEOFFSET: the same date and time, said to be of a time zone.
fn todatetimeoffset(call: &Call<'_>) -> Result<Value> {
    let (Some(moment), Some(offset_minutes)) =
        (Moment::from_value(call.value(0)), offset_of(call, "todatetimeoffset")?)
    else {
        return Ok(Value::Null);
    };
    built(
        Some(Moment {
            offset_minutes,
            ..moment
        }),
        call,
    )
}
