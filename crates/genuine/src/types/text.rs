//! Values as text: as `CONVERT` to a string has them, dates and times in its style 121; bytes in hex.

use super::Value;
use std::fmt;

/// Year, month, day of a day counted from 0001-01-01, in the Gregorian calendar.
fn civil(days: i64) -> (i64, u32, u32) {
    // Days from 0000-03-01: years begin in March, so that the leap day is a year's last.
    let days = days + 306;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, next_year) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let narrow = |number: i64| u32::try_from(number).expect("months and days are small");
    (400 * era + year_of_era + next_year, narrow(month), narrow(day))
}

/// Days from 0001-01-01 to 1900-01-01.
const DAYS_TO_1900: i64 = 693_595;

fn write_date(f: &mut fmt::Formatter<'_>, days: i64) -> fmt::Result {
    let (year, month, day) = civil(days);
    write!(f, "{year:04}-{month:02}-{day:02}")
}

/// `units` of `10^-scale` seconds.
fn write_time(f: &mut fmt::Formatter<'_>, units: u64, scale: u8) -> fmt::Result {
    let per_second = 10u64.pow(u32::from(scale.min(7)));
    let seconds = units / per_second;
    write!(f, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)?;
    match scale {
        0 => Ok(()),
        _ => write!(f, ".{:0width$}", units % per_second, width = usize::from(scale)),
    }
}

fn write_decimal(f: &mut fmt::Formatter<'_>, is_negative: bool, digits: u128, scale: u8) -> fmt::Result {
    if is_negative && digits != 0 {
        f.write_str("-")?;
    }
    let power = 10u128.pow(u32::from(scale.min(38)));
    write!(f, "{}", digits / power)?;
    match scale {
        0 => Ok(()),
        _ => write!(f, ".{:0width$}", digits % power, width = usize::from(scale)),
    }
}

fn write_hex(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02X}"))
}

fn write_guid(f: &mut fmt::Formatter<'_>, bytes: &[u8; 16]) -> fmt::Result {
    let order = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    for (at, index) in order.into_iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            f.write_str("-")?;
        }
        write!(f, "{:02X}", bytes[index])?;
    }
    Ok(())
}

/// A wall clock: days and units moved by the offset.
fn local(days: u32, units: u64, scale: u8, offset_minutes: i16) -> (i64, u64) {
    let per_minute = 60 * 10i128.pow(u32::from(scale.min(7)));
    let per_day = 1440 * per_minute;
    let all = i128::from(days) * per_day + i128::from(units) + i128::from(offset_minutes) * per_minute;
    let narrow = |number: i128| i64::try_from(number).expect("a date's days and units are small");
    (
        narrow(all.div_euclid(per_day)),
        narrow(all.rem_euclid(per_day)).unsigned_abs(),
    )
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("NULL"),
            Value::Bit(bit) => write!(f, "{}", u8::from(*bit)),
            Value::Integer(number) => write!(f, "{number}"),
            Value::Decimal {
                is_negative,
                digits,
                scale,
            } => write_decimal(f, *is_negative, *digits, *scale),
            Value::Money(number) => write_decimal(f, *number < 0, u128::from(number.unsigned_abs()), 4),
            Value::Real(number) => write!(f, "{number:?}"),
            Value::Float(number) => write!(f, "{number:?}"),
            Value::DateTime { days_since_1900, ticks } => {
                write_date(f, i64::from(*days_since_1900) + DAYS_TO_1900)?;
                f.write_str(" ")?;
                // A tick is 3 1/3 ms, rounded to whole ones.
                write_time(f, (u64::from(*ticks) * 10 + 1) / 3, 3)
            }
            Value::SmallDateTime {
                days_since_1900,
                minutes,
            } => {
                write_date(f, i64::from(*days_since_1900) + DAYS_TO_1900)?;
                f.write_str(" ")?;
                write_time(f, u64::from(*minutes) * 60, 0)
            }
            Value::Date(days) => write_date(f, i64::from(*days)),
            Value::Time { units, scale } => write_time(f, *units, *scale),
            Value::DateTime2 { days, units, scale } => {
                write_date(f, i64::from(*days))?;
                f.write_str(" ")?;
                write_time(f, *units, *scale)
            }
            Value::DateTimeOffset {
                days,
                units,
                scale,
                offset_minutes,
            } => {
                let (local_days, local_units) = local(*days, *units, *scale, *offset_minutes);
                write_date(f, local_days)?;
                f.write_str(" ")?;
                write_time(f, local_units, *scale)?;
                let sign = if *offset_minutes < 0 { '-' } else { '+' };
                let minutes = offset_minutes.unsigned_abs();
                write!(f, " {sign}{:02}:{:02}", minutes / 60, minutes % 60)
            }
            Value::Text(text) => f.write_str(text),
            Value::Bytes(bytes) => {
                f.write_str("0x")?;
                write_hex(f, bytes)
            }
            Value::UniqueIdentifier(bytes) => write_guid(f, bytes),
            Value::Variant(_, value) => value.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Value;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let shown = |days| Value::Date(days).to_string();
        assert_eq!(shown(0), "0001-01-01");
        assert_eq!(shown(58), "0001-02-28");
        assert_eq!(shown(59), "0001-03-01");
        assert_eq!(shown(693_595), "1900-01-01");
        assert_eq!(shown(730_178), "2000-02-29");
        assert_eq!(shown(3_652_058), "9999-12-31");
    }

    #[test]
    fn times_are_rounded_as_the_server_does() {
        let shown = |ticks| {
            Value::DateTime {
                days_since_1900: -53_690,
                ticks,
            }
            .to_string()
        };
        assert_eq!(shown(0), "1753-01-01 00:00:00.000");
        assert_eq!(shown(1), "1753-01-01 00:00:00.003");
        assert_eq!(shown(2), "1753-01-01 00:00:00.007");
        assert_eq!(shown(86_400 * 300 - 1), "1753-01-01 23:59:59.997");
    }

    #[test]
    fn an_offset_moves_the_clock_and_the_day() {
        let value = Value::DateTimeOffset {
            days: 693_595,
            units: 0,
            scale: 0,
            offset_minutes: -330,
        };
        assert_eq!(value.to_string(), "1899-12-31 18:30:00 -05:30");
    }
}
