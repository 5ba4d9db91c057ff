//! Converts times, sizes, counts and log positions to values of views.

use engine::seams::DateTimeTicks;
use engine::types::{Decimal, Value};
use vlf::Lsn;

/// Bytes of a page, the unit of file sizes.
pub(crate) const PAGE_BYTES: u64 = 8192;

pub(crate) fn pages(bytes: u64) -> i32 {
    i32::try_from(bytes / PAGE_BYTES).unwrap_or(i32::MAX)
}

pub(crate) fn datetime(time: DateTimeTicks) -> Value {
    Value::DateTime {
        days: time.days,
        ticks: time.ticks,
    }
}

/// A `datetime` of the catalog.
pub(crate) fn stored_datetime((days, ticks): (i32, u32)) -> Value {
    Value::DateTime { days, ticks }
}

/// A `datetime`, NULL when nothing has happened yet.
pub(crate) fn past_datetime(time: DateTimeTicks) -> Value {
    if (time.days, time.ticks) == (0, 0) {
        Value::Null
    } else {
        datetime(time)
    }
}

/// An LSN as `numeric(25,0)`.
pub(crate) fn lsn_number(lsn: Lsn) -> Value {
    let number = i128::try_from(lsn.to_numeric()).unwrap_or(i128::MAX);
    Value::Decimal(Decimal::new(number, 25, 0))
}

/// A count as bigint.
pub(crate) fn big(count: u64) -> Value {
    Value::BigInt(i64::try_from(count).unwrap_or(i64::MAX))
}

/// Bytes as megabytes, rounded to two decimals as the log views round them.
pub(crate) fn megabytes(bytes: u64) -> Value {
    Value::Float((bytes as f64 / 1_048_576.0 * 100.0).floor() / 100.0)
}

/// The time at the begin of an error log line, `2008-05-16 13:22:47.97`.
pub(crate) fn parse_time(text: &str) -> Option<DateTimeTicks> {
    let parsed = crate::scalar::moment_parse::parse(text, crate::scalar::moment_parse::Reading::of_server()).ok()?;
    match parsed.moment.to_value(engine::types::SqlType::DateTime)? {
        Value::DateTime { days, ticks } => Some(DateTimeTicks { days, ticks }),
        _ => None,
    }
}
