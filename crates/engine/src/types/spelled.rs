//! Values as shown in messages: the key in 2601, 2627 and 1505.
//!
//! They look like a conversion to `varchar` without a style, except that NULL is `<NULL>`, and that hexadecimal digits of binary strings
//! and identifiers are in lower case, as in published messages of SQL Server such as `(0xb81300155d36c9, Mar 1 2019 5:37PM)`,
//! `(2019-04-01)`, `(200.055)` and `(00000000-0000-0000-53c8-ffe06310fde6)`.

use std::fmt::Write as _;

use super::calendar::{DATETIME_TICKS_PER_DAY, DAY_OF_1900, TICKS_PER_DAY, TICKS_PER_SECOND, date_from_days};
use super::{SqlType, Value};

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Significant digits of a floating point number that is converted without a style.
const FLOAT_DIGITS: usize = 6;

/// The values of a key, as a message lists them: `(1, abc, <NULL>)`.
pub fn key_text<'v>(parts: impl Iterator<Item = (&'v Value, SqlType)>) -> String {
    let parts: Vec<String> = parts.map(|(value, sql_type)| part_text(value, sql_type)).collect();
    format!("({})", parts.join(", "))
}

fn part_text(value: &Value, sql_type: SqlType) -> String {
    match value {
        Value::Null => "<NULL>".to_owned(),
        Value::Bit(bit) => u8::from(*bit).to_string(),
        Value::TinyInt(number) => number.to_string(),
        Value::SmallInt(number) => number.to_string(),
        Value::Int(number) => number.to_string(),
        Value::BigInt(number) => number.to_string(),
        Value::Decimal(number) => number.to_string(),
        Value::Money(number) => money_text(*number),
        Value::SmallMoney(number) => money_text(i64::from(*number)),
        Value::Real(number) => float_text(f64::from(*number), FLOAT_DIGITS),
        Value::Float(number) => float_text(*number, FLOAT_DIGITS),
        Value::Date(days) => date_text(*days),
        Value::Time(ticks) => time_text(*ticks, sql_type.scale()),
        Value::DateTime { days, ticks } => {
            let minutes = ticks % DATETIME_TICKS_PER_DAY / (300 * 60);
            half_day_text(days.saturating_add(DAY_OF_1900), minutes)
        }
        Value::SmallDateTime { days, minutes } => {
            half_day_text(i32::from(*days).saturating_add(DAY_OF_1900), u32::from(*minutes))
        }
        Value::DateTime2 { days, ticks } => format!("{} {}", date_text(*days), time_text(*ticks, sql_type.scale())),
        Value::DateTimeOffset {
            days,
            ticks,
            offset_minutes,
        } => offset_text(*days, *ticks, *offset_minutes, sql_type.scale()),
        Value::Text(text) => text.to_string(),
        Value::Binary(bytes) => format!("0x{}", hexadecimal(bytes.iter().copied())),
        Value::UniqueIdentifier(bytes) => identifier_text(bytes),
        Value::Variant(variant) => part_text(&variant.value, variant.sql_type),
        // Columns of `max` types are no keys, so no message names a held value.
        Value::Held(_) => {
            debug_assert!(false, "a held value in a key");
            String::new()
        }
    }
}

/// A floating point number with at most so many significant digits, as C's `%g` has it and SQL Server converts by default
/// (6 digits): plain between 1e-4 and the precision, else with an exponent of at least three digits.
pub fn float_text(number: f64, digits: usize) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{:.*e}", digits.saturating_sub(1), number);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if exponent < -4 || exponent >= i32::try_from(digits).unwrap_or(i32::MAX) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:03}", trim_fraction(mantissa), exponent.unsigned_abs());
    }
    let places = usize::try_from(i32::try_from(digits).unwrap_or(0) - 1 - exponent).unwrap_or(0);
    trim_fraction(&format!("{number:.places$}")).to_owned()
}

fn trim_fraction(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}

fn money_text(ten_thousandths: i64) -> String {
    let sign = if ten_thousandths < 0 { "-" } else { "" };
    let cents = (ten_thousandths.unsigned_abs() + 50) / 100;
    format!("{sign}{}.{:02}", cents / 100, cents % 100)
}

fn date_text(days: i32) -> String {
    let (year, month, day) = date_from_days(days);
    format!("{year:04}-{month:02}-{day:02}")
}

fn time_text(ticks: u64, scale: u8) -> String {
    let seconds = ticks / TICKS_PER_SECOND;
    let mut text = format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let fraction = format!("{:07}", ticks % TICKS_PER_SECOND);
    if let Some(shown) = fraction.get(..usize::from(scale)).filter(|shown| !shown.is_empty()) {
        text.push('.');
        text.push_str(shown);
    }
    text
}

/// `Mar  1 2019  5:37PM`
fn half_day_text(days: i32, minutes: u32) -> String {
    let (year, month, day) = date_from_days(days);
    let name = MONTHS.get(month as usize - 1).copied().unwrap_or_default();
    let (hour, minute) = (minutes / 60, minutes % 60);
    let half = if hour < 12 { "AM" } else { "PM" };
    let hour_of_half = if hour % 12 == 0 { 12 } else { hour % 12 };
    format!("{name} {day:2} {year} {hour_of_half:2}:{minute:02}{half}")
}

/// A moment in UTC as the clock at its offset shows it.
fn offset_text(days: i32, ticks: u64, offset_minutes: i16, scale: u8) -> String {
    let offset = i64::from(offset_minutes) * 60 * TICKS_PER_SECOND as i64;
    let local = i64::from(days) * TICKS_PER_DAY as i64 + ticks as i64 + offset;
    let (days, ticks) = (
        local.div_euclid(TICKS_PER_DAY as i64),
        local.rem_euclid(TICKS_PER_DAY as i64),
    );
    let sign = if offset_minutes < 0 { '-' } else { '+' };
    let minutes = offset_minutes.unsigned_abs();
    format!(
        "{} {} {sign}{:02}:{:02}",
        date_text(days as i32),
        time_text(ticks as u64, scale),
        minutes / 60,
        minutes % 60
    )
}

fn hexadecimal(bytes: impl Iterator<Item = u8>) -> String {
    bytes.fold(String::new(), |mut text, byte| {
        let written = write!(text, "{byte:02x}");
        debug_assert!(written.is_ok());
        text
    })
}

/// Its first three groups are stored little-endian.
fn identifier_text(bytes: &[u8; 16]) -> String {
    let group = |order: &[usize]| hexadecimal(order.iter().map(|&place| bytes[place]));
    let groups: [&[usize]; 5] = [&[3, 2, 1, 0], &[5, 4], &[7, 6], &[8, 9], &[10, 11, 12, 13, 14, 15]];
    groups.map(group).join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_six_digits() {
        let cases = [
            (0.0, "0"),
            (1.0, "1"),
            (0.1, "0.1"),
            (123_456.0, "123456"),
            (1_234_567.0, "1.23457e+006"),
            (0.000_012_345_678, "1.23457e-005"),
            (1e300, "1e+300"),
            (-2.5, "-2.5"),
        ];
        for (number, text) in cases {
            assert_eq!(float_text(number, 6), text, "{number}");
        }
    }
}
