//! Date and time functions. Binding replaces the name of a datepart by a number.

use engine::error::Result;
use engine::types::calendar::{DAY_OF_1900, TICKS_PER_DAY, date_from_days, days_from_date, days_in_month};
use engine::types::{SqlType, Value};

use super::Answer::{Computed, Fixed};
use super::Parameter::{Any, BigInt, Int, LongMoment, Moment as MomentParameter};
use super::{Call, INT, NAME, Signature, signature};
use crate::messages;
use crate::plan::Expr;
use crate::scalar::convert::convert;
use crate::scalar::moment::{DatePart, Moment, add, difference, part_of, part_of_week};
use crate::scalar::served::served;

const DATETIME2: super::Answer = Fixed(SqlType::DateTime2 { scale: 7 });

pub(super) const FUNCTIONS: &[Signature] = &[
    signature("current_date", 0, &[], Fixed(SqlType::Date), now).told(": today"),
    signature("current_timestamp", 0, &[], Fixed(SqlType::DateTime), now).told(": now, as GETDATE"),
    signature(
        "date_bucket",
        3,
        &[Any, BigInt, MomentParameter, MomentParameter],
        Computed(added),
        date_bucket,
    )
    .told("part, width, moment, origin: when the bucket began that the moment lies in, of buckets so many parts wide that count from the origin, or from 1900"),
    signature("dateadd", 3, &[Any, BigInt, MomentParameter], Computed(added), dateadd)
        .told("part, count, moment: the moment moved by so many parts"),
    signature("datediff", 3, &[Any, LongMoment, LongMoment], INT, datediff)
        .told("part, start, end: how many borders of the part, such as midnights for day, lie between two moments"),
    signature(
        "datediff_big",
        3,
        &[Any, LongMoment, LongMoment],
        Fixed(SqlType::BigInt),
        datediff_big,
    )
    .told("part, start, end: the same as bigint"),
    signature(
        "datefromparts",
        3,
        &[Int, Int, Int],
        Fixed(SqlType::Date),
        datefromparts,
    )
    .told("year, month, day: a date"),
    signature("datename", 2, &[Any, LongMoment], NAME, datename).told("part, moment: the part as a word"),
    signature("datepart", 2, &[Any, LongMoment], INT, datepart).told("part, moment: the part as a number"),
    signature(
        "datetimefromparts",
        7,
        &[Int; 7],
        Fixed(SqlType::DateTime),
        datetimefromparts,
    )
    .told("year, month, day, hour, minute, second, milliseconds: a datetime"),
    signature(
        "datetrunc",
        2,
        &[Any, MomentParameter],
        Computed(added_second),
        datetrunc,
    )
    .told("part, moment: the moment at which its year, month, day or other part began"),
    signature("day", 1, &[LongMoment], INT, day).told("moment: day of the month"),
    signature("eomonth", 1, &[LongMoment, Int], Fixed(SqlType::Date), eomonth)
        .told("moment, months: last day of the month that lies so many months later"),
    signature("getdate", 0, &[], Fixed(SqlType::DateTime), now).told(": now, local time"),
    signature("getutcdate", 0, &[], Fixed(SqlType::DateTime), now).told(": now, UTC"),
    signature("isdate", 1, &[Any], INT, isdate).told("value: 1 if a text is a date that datetime can hold"),
    signature("month", 1, &[LongMoment], INT, month).told("moment: month of the year"),
    signature("sysdatetime", 0, &[], DATETIME2, now).told(": now, to 100 ns, local time"),
    signature(
        "sysdatetimeoffset",
        0,
        &[],
        Fixed(SqlType::DateTimeOffset { scale: 7 }),
        now,
    )
    .told(": now, to 100 ns, with the time zone"),
    signature("sysutcdatetime", 0, &[], DATETIME2, now).told(": now, to 100 ns, UTC"),
    signature("year", 1, &[LongMoment], INT, year).told("moment: the year"),
];

/// DATEADD keeps the type of its date.
fn added(arguments: &[Expr]) -> Result<SqlType> {
    Ok(arguments.get(2).map_or(SqlType::DateTime, |argument| argument.sql_type))
}

fn added_second(arguments: &[Expr]) -> Result<SqlType> {
    Ok(arguments.get(1).map_or(SqlType::DateTime, |argument| argument.sql_type))
}

/// The wall clock, which is kept in UTC. It stands still within a statement.
fn now(call: &Call<'_>) -> Result<Value> {
    let moment = call.context.session.now();
    Ok(moment.to_value(call.result).unwrap_or(Value::Null))
}

fn moment(call: &Call<'_>, index: usize) -> Option<Moment> {
    Moment::from_value(call.value(index))
}

fn part(call: &Call<'_>) -> DatePart {
    call.integer(0).and_then(DatePart::from_number).unwrap_or(DatePart::Day)
}

/// Which parts a function takes of which type: a date has none below the day, a time none above the hour, and only
/// datetimeoffset has an offset that can be asked for (sql-docs, each function's list of dateparts).
///
/// # Errors
/// 9806 for a part that the function never takes, 9810 for one that it does not take of this type.
pub(crate) fn check_part(part: DatePart, function: &str, arguments: &[Expr]) -> Result<()> {
    use DatePart as P;
    let changes = matches!(function, "dateadd" | "datetrunc");
    let never = match part {
        P::DayOfYear | P::WeekDay | P::Microsecond | P::Nanosecond | P::IsoWeek if function == "date_bucket" => true,
        P::TimeZoneOffset => !matches!(function, "datepart" | "datename"),
        P::IsoWeek => matches!(function, "dateadd" | "datediff" | "datediff_big"),
        P::WeekDay | P::Nanosecond => function == "datetrunc",
        _ => false,
    };
    if never {
        return Err(messages::datepart_never_supported(part.name(), function));
    }
    // DATEDIFF takes any part of any type: what is missing is midnight or 1900-01-01.
    if matches!(function, "datediff" | "datediff_big") {
        return Ok(());
    }
    let sql_type = arguments.last().map_or(SqlType::DateTime, |argument| argument.sql_type);
    let is_time = matches!(
        part,
        P::Hour | P::Minute | P::Second | P::Millisecond | P::Microsecond | P::Nanosecond
    );
    let wrong = match sql_type {
        SqlType::Date => is_time || part == P::TimeZoneOffset,
        SqlType::Time { .. } => !is_time,
        SqlType::DateTime | SqlType::SmallDateTime => {
            part == P::TimeZoneOffset || changes && matches!(part, P::Microsecond | P::Nanosecond)
        }
        _ => false,
    };
    if wrong {
        Err(messages::datepart_not_supported(part.name(), function, sql_type.name()))
    } else {
        Ok(())
    }
}

fn dateadd(call: &Call<'_>) -> Result<Value> {
    let (Some(number), Some(start)) = (call.integer(1), moment(call, 2)) else {
        return Ok(Value::Null);
    };
    let moved = add(part(call), number, start);
    let value = moved.and_then(|moved| moved.to_value(call.result));
    value.ok_or_else(|| messages::date_add_overflow(call.result.name()))
}

/// "The default origin is 1900-01-01 00:00:00.000" (sql-docs, DATE_BUCKET).
///
/// # Errors
/// 9834 for a width that is not positive, 517 for a bucket that begins before the calendar.
fn date_bucket(call: &Call<'_>) -> Result<Value> {
    let (Some(width), Some(at)) = (call.integer(1), moment(call, 2)) else {
        return Ok(Value::Null);
    };
    if width <= 0 {
        let text = "Invalid bucket width value passed to date_bucket function. Only positive values are allowed.";
        return Err(engine::error::Error::new(9834, 16, 1, text));
    }
    let origin = match call.values.len() {
        3 => Moment::new(DAY_OF_1900, 0),
        _ => match moment(call, 3) {
            Some(origin) => origin,
            None => return Ok(Value::Null),
        },
    };
    let overflow = || messages::date_add_overflow(call.result.name());
    let part = part(call);
    let months = match part {
        DatePart::Year => Some(12),
        DatePart::Quarter => Some(3),
        DatePart::Month => Some(1),
        _ => None,
    };
    let began = match months {
        Some(months) => {
            let width = width.checked_mul(months).ok_or_else(overflow)?;
            let apart = i64::try_from(difference(DatePart::Month, origin, at)).map_err(|_| overflow())?;
            let count = apart.div_euclid(width);
            let began = origin.plus_months(count * width).ok_or_else(overflow)?;
            // The day or time of day of the origin may not have come yet.
            match (began.days, began.ticks) > (at.days, at.ticks) {
                true => origin.plus_months((count - 1) * width),
                false => Some(began),
            }
        }
        None => {
            let zero = Moment::new(0, 0);
            let unit = add(part, 1, zero).map(|one| ticks_between(zero, one)).unwrap_or(1);
            let width = unit.checked_mul(i128::from(width)).ok_or_else(overflow)?;
            let count = ticks_between(origin, at).div_euclid(width);
            origin.plus_ticks(count.checked_mul(width).ok_or_else(overflow)?)
        }
    };
    let began = began.map(|began| Moment {
        offset_minutes: at.offset_minutes,
        ..began
    });
    began.and_then(|began| began.to_value(call.result)).ok_or_else(overflow)
}

fn ticks_between(from: Moment, to: Moment) -> i128 {
    (i128::from(to.days) - i128::from(from.days)) * i128::from(TICKS_PER_DAY) + i128::from(to.ticks)
        - i128::from(from.ticks)
}

fn datediff(call: &Call<'_>) -> Result<Value> {
    let (Some(from), Some(to)) = (moment(call, 1), moment(call, 2)) else {
        return Ok(Value::Null);
    };
    let number = difference(part(call), from.in_utc(), to.in_utc());
    i32::try_from(number)
        .map(Value::Int)
        .map_err(|_| messages::date_difference_overflow("datediff"))
}

fn datediff_big(call: &Call<'_>) -> Result<Value> {
    let (Some(from), Some(to)) = (moment(call, 1), moment(call, 2)) else {
        return Ok(Value::Null);
    };
    let number = difference(part(call), from.in_utc(), to.in_utc());
    i64::try_from(number)
        .map(Value::BigInt)
        .map_err(|_| messages::date_difference_overflow("datediff_big"))
}

fn datepart(call: &Call<'_>) -> Result<Value> {
    Ok(moment(call, 1).map_or(Value::Null, |moment| {
        Value::Int(part_of_week(part(call), moment, date_first(call)))
    }))
}

fn date_first(call: &Call<'_>) -> u8 {
    call.context.session.options().date_first
}

fn datename(call: &Call<'_>) -> Result<Value> {
    let Some(moment) = moment(call, 1) else {
        return Ok(Value::Null);
    };
    // A day has its name whatever day begins the week.
    let number = match part(call) {
        DatePart::WeekDay => part_of(DatePart::WeekDay, moment),
        part => part_of_week(part, moment, date_first(call)),
    };
    let index = usize::try_from(number).unwrap_or(0);
    Ok(match part(call) {
        DatePart::Month => Value::from(served().dates.language().month(index)),
        DatePart::WeekDay => Value::from(served().dates.language().day_from_sunday(index)),
        DatePart::TimeZoneOffset => {
            let sign = if number < 0 { '-' } else { '+' };
            Value::from(format!("{sign}{:02}:{:02}", number.abs() / 60, number.abs() % 60))
        }
        _ => Value::from(number.to_string()),
    })
}

fn on_moment(call: &Call<'_>, part: DatePart) -> Result<Value> {
    Ok(moment(call, 0).map_or(Value::Null, |moment| Value::Int(part_of(part, moment))))
}

fn year(call: &Call<'_>) -> Result<Value> {
    on_moment(call, DatePart::Year)
}

fn month(call: &Call<'_>) -> Result<Value> {
    on_moment(call, DatePart::Month)
}

fn day(call: &Call<'_>) -> Result<Value> {
    on_moment(call, DatePart::Day)
}

fn eomonth(call: &Call<'_>) -> Result<Value> {
    let Some(start) = moment(call, 0) else {
        return Ok(Value::Null);
    };
    let moved = start.plus_months(call.integer(1).unwrap_or(0));
    let moved = moved.ok_or_else(|| messages::date_add_overflow("date"))?;
    let (year, month, _) = date_from_days(moved.days);
    let last = days_from_date(year, month, days_in_month(year, month));
    Ok(last.map_or(Value::Null, Value::Date))
}

fn datefromparts(call: &Call<'_>) -> Result<Value> {
    let numbers: Option<Vec<i64>> = (0..3).map(|index| call.integer(index)).collect();
    let Some(numbers) = numbers else { return Ok(Value::Null) };
    days_of(&numbers).map(Value::Date).ok_or_else(|| invalid_parts("date"))
}

fn days_of(numbers: &[i64]) -> Option<i32> {
    let [year, month, day, ..] = *numbers else { return None };
    days_from_date(
        i32::try_from(year).ok()?,
        u32::try_from(month).ok()?,
        u32::try_from(day).ok()?,
    )
}

fn invalid_parts(kind: &str) -> engine::error::Error {
    let text = format!("Cannot construct data type {kind}, some of the arguments have values which are not valid.");
    engine::error::Error::new(289, 16, 1, text)
}

fn datetimefromparts(call: &Call<'_>) -> Result<Value> {
    let numbers: Option<Vec<i64>> = (0..7).map(|index| call.integer(index)).collect();
    let Some(numbers) = numbers else { return Ok(Value::Null) };
    let limits = [24, 60, 60, 1000];
    let time = numbers.get(3..).unwrap_or_default();
    if time
        .iter()
        .zip(limits)
        .any(|(&number, limit)| !(0..limit).contains(&number))
    {
        return Err(invalid_parts("datetime"));
    }
    let scales = [36_000_000_000, 600_000_000, 10_000_000, 10_000];
    let ticks = time
        .iter()
        .zip(scales)
        .map(|(&number, scale)| number as u64 * scale)
        .sum();
    let days = days_of(&numbers).ok_or_else(|| invalid_parts("datetime"))?;
    Moment::new(days, ticks)
        .to_value(SqlType::DateTime)
        .ok_or_else(|| invalid_parts("datetime"))
}

/// DATETRUNC: the start of the part.
fn datetrunc(call: &Call<'_>) -> Result<Value> {
    let Some(moment) = moment(call, 1) else {
        return Ok(Value::Null);
    };
    let (year, month, _) = date_from_days(moment.days);
    let start = |month: u32| days_from_date(year, month, 1).unwrap_or(moment.days);
    let (days, ticks) = match part(call) {
        DatePart::Year => (start(1), 0),
        DatePart::Quarter => (start((month - 1) / 3 * 3 + 1), 0),
        DatePart::Month => (start(month), 0),
        DatePart::Week => {
            let day = part_of_week(DatePart::WeekDay, moment, date_first(call));
            (moment.days - (day - 1), 0)
        }
        DatePart::IsoWeek => (moment.days - moment.days % 7, 0),
        DatePart::Hour => (moment.days, moment.ticks / 36_000_000_000 * 36_000_000_000),
        DatePart::Minute => (moment.days, moment.ticks / 600_000_000 * 600_000_000),
        DatePart::Second => (moment.days, moment.ticks / 10_000_000 * 10_000_000),
        DatePart::Millisecond => (moment.days, moment.ticks / 10_000 * 10_000),
        DatePart::Microsecond => (moment.days, moment.ticks / 10 * 10),
        _ => (moment.days, 0),
    };
    let truncated = Moment {
        days: days.max(0),
        ticks,
        ..moment
    };
    Ok(truncated.to_value(call.result).unwrap_or(Value::Null))
}

fn isdate(call: &Call<'_>) -> Result<Value> {
    let is_date = match call.value(0) {
        Value::Text(_) => convert(call.value(0), call.argument_type(0), SqlType::DateTime, None).is_ok(),
        Value::DateTime { .. } | Value::SmallDateTime { .. } => true,
        _ => false,
    };
    Ok(Value::Int(i32::from(is_date)))
}
