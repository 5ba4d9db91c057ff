//! Dates and times of every type through one form: days, ticks of 100 ns, offset.
//!
//! Invariant: `ticks` is below one day, `days` between 0001-01-01 and 9999-12-31 (as counted by
//! [`engine::types::calendar`]). Arithmetic that would leave this range answers `None`.

use engine::types::calendar::{
    DATETIME_TICKS_PER_DAY, DAY_MAX, DAY_OF_1900, TICKS_PER_DAY, TICKS_PER_SECOND, date_from_days, days_from_date,
    days_in_month,
};
use engine::types::{SqlType, Value};

/// A point in time, local to its offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// Days since 0001-01-01.
    pub days: i32,
    /// Ticks of 100 ns since midnight.
    pub ticks: u64,
    /// Minutes that local time is ahead of UTC.
    pub offset_minutes: i16,
}

/// Days of `datetime`, counted from 1900-01-01: 1753-01-01 to 9999-12-31.
pub const DATETIME_DAYS: std::ops::RangeInclusive<i32> = -53_690..=DAY_MAX - DAY_OF_1900;

const TICKS_PER_MINUTE: i64 = 60 * TICKS_PER_SECOND as i64;

impl Moment {
    /// A moment without offset.
    pub fn new(days: i32, ticks: u64) -> Moment {
        Moment {
            days,
            ticks,
            offset_minutes: 0,
        }
    }

    /// From microseconds since 1970.
    pub fn from_unix_micros(micros: u64) -> Moment {
        // 1970-01-01 is day 719,162 from 0001-01-01.
        let days = 719_162 + i32::try_from(micros / 86_400_000_000).unwrap_or(0);
        Moment::new(days, micros % 86_400_000_000 * 10)
    }

    /// From a value of any date or time type; a time alone lies on 1900-01-01.
    pub fn from_value(value: &Value) -> Option<Moment> {
        Some(match *value {
            Value::Date(days) => Moment::new(days, 0),
            Value::Time(ticks) => Moment::new(DAY_OF_1900, ticks),
            Value::DateTime { days, ticks } => {
                // Shown and compared to the millisecond: .000, .003, .007.
                Moment::new(days.checked_add(DAY_OF_1900)?, (u64::from(ticks) * 10 + 1) / 3 * 10_000)
            }
            Value::SmallDateTime { days, minutes } => Moment::new(
                i32::from(days) + DAY_OF_1900,
                u64::from(minutes) * TICKS_PER_MINUTE as u64,
            ),
            Value::DateTime2 { days, ticks } => Moment::new(days, ticks),
            Value::DateTimeOffset {
                days,
                ticks,
                offset_minutes,
            } => {
                let utc = Moment {
                    days,
                    ticks,
                    offset_minutes,
                };
                utc.plus_ticks(i128::from(offset_minutes) * i128::from(TICKS_PER_MINUTE))?
            }
            _ => return None,
        })
    }

    /// As a value of a date or time type, rounded to its precision; `None` out of its range.
    pub fn to_value(self, target: SqlType) -> Option<Value> {
        Some(match target {
            SqlType::Date => Value::Date(self.days),
            SqlType::Time { scale } => Value::Time(self.rounded(scale)?.ticks),
            SqlType::DateTime => {
                let ticks = ((self.ticks * 3 + 50_000) / 100_000) as u32;
                let carry = i32::from(ticks >= DATETIME_TICKS_PER_DAY);
                let days = self.days + carry - DAY_OF_1900;
                if !DATETIME_DAYS.contains(&days) {
                    return None;
                }
                Value::DateTime {
                    days,
                    ticks: ticks % DATETIME_TICKS_PER_DAY,
                }
            }
            SqlType::SmallDateTime => {
                // Seconds up to 29.998 round down, above they round up.
                let ticks = self.ticks as i64 + 30 * TICKS_PER_SECOND as i64 - i64::from(self.ticks % 2 == 1);
                let minutes = ticks / TICKS_PER_MINUTE;
                let days = u16::try_from(self.days - DAY_OF_1900 + i32::from(minutes >= 1_440)).ok()?;
                Value::SmallDateTime {
                    days,
                    minutes: (minutes % 1_440) as u16,
                }
            }
            SqlType::DateTime2 { scale } => {
                let rounded = self.rounded(scale)?;
                Value::DateTime2 {
                    days: rounded.days,
                    ticks: rounded.ticks,
                }
            }
            SqlType::DateTimeOffset { scale } => {
                let rounded = self.rounded(scale)?;
                let utc = rounded.plus_ticks(-i128::from(self.offset_minutes) * i128::from(TICKS_PER_MINUTE))?;
                Value::DateTimeOffset {
                    days: utc.days,
                    ticks: utc.ticks,
                    offset_minutes: self.offset_minutes,
                }
            }
            _ => return None,
        })
    }

    /// The same point in time, local to UTC.
    pub fn in_utc(self) -> Moment {
        let utc = self.plus_ticks(-i128::from(self.offset_minutes) * i128::from(TICKS_PER_MINUTE));
        utc.map_or(self, |utc| Moment::new(utc.days, utc.ticks))
    }

    /// Rounded to so many digits of a second.
    fn rounded(self, scale: u8) -> Option<Moment> {
        let unit = 10u64.pow(7 - u32::from(scale.min(7)));
        let ticks = (self.ticks + unit / 2) / unit * unit;
        if ticks < TICKS_PER_DAY {
            return Some(Moment { ticks, ..self });
        }
        (self.days < DAY_MAX).then_some(Moment {
            days: self.days + 1,
            ticks: 0,
            ..self
        })
    }

    /// Moved by ticks of 100 ns.
    pub fn plus_ticks(self, ticks: i128) -> Option<Moment> {
        let total = i128::from(self.days) * i128::from(TICKS_PER_DAY) + i128::from(self.ticks) + ticks;
        let days = i32::try_from(total.div_euclid(i128::from(TICKS_PER_DAY))).ok()?;
        let ticks = total.rem_euclid(i128::from(TICKS_PER_DAY)) as u64;
        (0..=DAY_MAX).contains(&days).then_some(Moment { days, ticks, ..self })
    }

    /// Moved by months; a day that the month does not have becomes its last.
    pub fn plus_months(self, months: i64) -> Option<Moment> {
        let (year, month, day) = date_from_days(self.days);
        let total = i64::from(year) * 12 + i64::from(month) - 1;
        let total = total.checked_add(months)?;
        let year = i32::try_from(total.div_euclid(12)).ok()?;
        let month = total.rem_euclid(12) as u32 + 1;
        let days = days_from_date(year, month, day.min(days_in_month(year, month)))?;
        Some(Moment { days, ..self })
    }
}

/// Functions whose first argument is the bare name of a part of a date.
pub const DATE_PART_FUNCTIONS: [&str; 7] = [
    "dateadd",
    "datediff",
    "datediff_big",
    "datepart",
    "datename",
    "datetrunc",
    "date_bucket",
];

/// The parts of a date that DATEADD, DATEDIFF, DATEPART and DATENAME know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DatePart {
    Year,
    Quarter,
    Month,
    DayOfYear,
    Day,
    Week,
    WeekDay,
    Hour,
    Minute,
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
    TimeZoneOffset,
    IsoWeek,
}

impl DatePart {
    /// From its name or one of its abbreviations.
    pub fn from_name(name: &str) -> Option<DatePart> {
        Some(match name.to_ascii_lowercase().as_str() {
            "year" | "yy" | "yyyy" => DatePart::Year,
            "quarter" | "qq" | "q" => DatePart::Quarter,
            "month" | "mm" | "m" => DatePart::Month,
            "dayofyear" | "dy" | "y" => DatePart::DayOfYear,
            "day" | "dd" | "d" => DatePart::Day,
            "week" | "wk" | "ww" => DatePart::Week,
            "weekday" | "dw" | "w" => DatePart::WeekDay,
            "hour" | "hh" => DatePart::Hour,
            "minute" | "mi" | "n" => DatePart::Minute,
            "second" | "ss" | "s" => DatePart::Second,
            "millisecond" | "ms" => DatePart::Millisecond,
            "microsecond" | "mcs" => DatePart::Microsecond,
            "nanosecond" | "ns" => DatePart::Nanosecond,
            "tzoffset" | "tz" => DatePart::TimeZoneOffset,
            "iso_week" | "isowk" | "isoww" => DatePart::IsoWeek,
            _ => return None,
        })
    }

    /// Every part, in the order of its number.
    const ALL: [DatePart; 15] = [
        DatePart::Year,
        DatePart::Quarter,
        DatePart::Month,
        DatePart::DayOfYear,
        DatePart::Day,
        DatePart::Week,
        DatePart::WeekDay,
        DatePart::Hour,
        DatePart::Minute,
        DatePart::Second,
        DatePart::Millisecond,
        DatePart::Microsecond,
        DatePart::Nanosecond,
        DatePart::TimeZoneOffset,
        DatePart::IsoWeek,
    ];

    /// A number that stands for the part in a bound call.
    pub fn number(self) -> i32 {
        self as i32
    }

    /// The part of a number.
    pub fn from_number(number: i64) -> Option<DatePart> {
        Self::ALL.get(usize::try_from(number).ok()?).copied()
    }

    pub fn name(self) -> &'static str {
        match self {
            DatePart::Year => "year",
            DatePart::Quarter => "quarter",
            DatePart::Month => "month",
            DatePart::DayOfYear => "dayofyear",
            DatePart::Day => "day",
            DatePart::Week => "week",
            DatePart::WeekDay => "weekday",
            DatePart::Hour => "hour",
            DatePart::Minute => "minute",
            DatePart::Second => "second",
            DatePart::Millisecond => "millisecond",
            DatePart::Microsecond => "microsecond",
            DatePart::Nanosecond => "nanosecond",
            DatePart::TimeZoneOffset => "tzoffset",
            DatePart::IsoWeek => "iso_week",
        }
    }

    /// Length in ticks of 100 ns; `None` for parts without a fixed length, and nanoseconds, which are shorter than a tick.
    fn ticks(self) -> Option<i128> {
        let second = i128::from(TICKS_PER_SECOND);
        Some(match self {
            DatePart::Day | DatePart::DayOfYear | DatePart::WeekDay => 86_400 * second,
            DatePart::Week => 7 * 86_400 * second,
            DatePart::Hour => 3_600 * second,
            DatePart::Minute => 60 * second,
            DatePart::Second => second,
            DatePart::Millisecond => second / 1_000,
            DatePart::Microsecond => second / 1_000_000,
            _ => return None,
        })
    }
}

/// `DATEADD(part, number, moment)`; `None` on overflow or for a part that cannot be added.
pub fn add(part: DatePart, number: i64, moment: Moment) -> Option<Moment> {
    match part {
        DatePart::Year => moment.plus_months(number.checked_mul(12)?),
        DatePart::Quarter => moment.plus_months(number.checked_mul(3)?),
        DatePart::Month => moment.plus_months(number),
        DatePart::Nanosecond => moment.plus_ticks((i128::from(number) + 50).div_euclid(100)),
        _ => moment.plus_ticks(part.ticks()?.checked_mul(i128::from(number))?),
    }
}

/// `DATEDIFF(part, from, to)`: how many borders of the part lie between.
pub fn difference(part: DatePart, from: Moment, to: Moment) -> i128 {
    let months = |moment: Moment| {
        let (year, month, _) = date_from_days(moment.days);
        i128::from(year) * 12 + i128::from(month) - 1
    };
    let units = |moment: Moment, unit: i128| {
        (i128::from(moment.days) * i128::from(TICKS_PER_DAY) + i128::from(moment.ticks)).div_euclid(unit)
    };
    match part {
        DatePart::Year => months(to).div_euclid(12) - months(from).div_euclid(12),
        DatePart::Quarter => months(to).div_euclid(3) - months(from).div_euclid(3),
        DatePart::Month => months(to) - months(from),
        // Day 0 was a Monday; weeks begin on Sunday.
        DatePart::Week | DatePart::IsoWeek => {
            i128::from((to.days + 1).div_euclid(7)) - i128::from((from.days + 1).div_euclid(7))
        }
        DatePart::Nanosecond => (units(to, 1) - units(from, 1)) * 100,
        DatePart::TimeZoneOffset => 0,
        _ => {
            let unit = part.ticks().unwrap_or(1);
            units(to, unit) - units(from, unit)
        }
    }
}

/// DATEFIRST of us_english: weeks begin on Sunday.
pub const SUNDAY: u8 = 7;

/// The day of the week, from 0 for the day that begins it: from 1 (Monday) to 7.
fn day_of_week(days: i32, date_first: u8) -> i32 {
    // Day 0 is a Monday.
    (days + 1 - i32::from(date_first)).rem_euclid(7)
}

/// `DATEPART(part, moment)` where weeks begin on Sunday.
pub fn part_of(part: DatePart, moment: Moment) -> i32 {
    part_of_week(part, moment, SUNDAY)
}

/// `DATEPART(part, moment)` where weeks begin on the day that DATEFIRST says.
pub fn part_of_week(part: DatePart, moment: Moment, date_first: u8) -> i32 {
    let (year, month, day) = date_from_days(moment.days);
    let first = days_from_date(year, 1, 1).unwrap_or(0);
    let day_of_year = moment.days - first + 1;
    let seconds = moment.ticks / TICKS_PER_SECOND;
    let fraction = (moment.ticks % TICKS_PER_SECOND) as i32;
    match part {
        DatePart::Year => year,
        DatePart::Quarter => (month as i32 + 2) / 3,
        DatePart::Month => month as i32,
        DatePart::DayOfYear => day_of_year,
        DatePart::Day => day as i32,
        DatePart::Week => (day_of_year - 1 + day_of_week(first, date_first)) / 7 + 1,
        DatePart::WeekDay => day_of_week(moment.days, date_first) + 1,
        DatePart::Hour => (seconds / 3_600) as i32,
        DatePart::Minute => (seconds / 60 % 60) as i32,
        DatePart::Second => (seconds % 60) as i32,
        DatePart::Millisecond => fraction / 10_000,
        DatePart::Microsecond => fraction / 10,
        DatePart::Nanosecond => fraction * 100,
        DatePart::TimeZoneOffset => i32::from(moment.offset_minutes),
        DatePart::IsoWeek => iso_week(moment.days),
    }
}

/// The week of the ISO 8601 year: the one that holds the week's Thursday.
fn iso_week(days: i32) -> i32 {
    let thursday = days - days.rem_euclid(7) + 3;
    let (year, _, _) = date_from_days(thursday);
    let first = days_from_date(year, 1, 1).unwrap_or(0);
    (thursday - first) / 7 + 1
}

/// The last moment that a datetime2 of so many decimal places can have.
pub fn last_moment(scale: u8) -> Value {
    let unit = 10_u64.pow(7 - u32::from(scale.min(7)));
    Value::DateTime2 {
        days: DAY_MAX,
        ticks: TICKS_PER_DAY - unit,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn moment(year: i32, month: u32, day: u32, seconds: u64) -> Moment {
        Moment::new(days_from_date(year, month, day).unwrap(), seconds * TICKS_PER_SECOND)
    }

    #[test]
    fn numbers_stand_for_their_parts() {
        for part in DatePart::ALL {
            assert_eq!(DatePart::from_number(i64::from(part.number())), Some(part));
            assert_eq!(DatePart::from_name(part.name()), Some(part));
        }
    }

    #[test]
    fn borders_are_counted_not_spans() {
        let (old, new) = (moment(2011, 12, 31, 86_399), moment(2012, 1, 1, 0));
        for part in [
            DatePart::Year,
            DatePart::Quarter,
            DatePart::Month,
            DatePart::Day,
            DatePart::Hour,
            DatePart::Second,
        ] {
            assert_eq!(difference(part, old, new), 1, "{part:?}");
        }
        assert_eq!(
            difference(DatePart::Week, moment(2024, 1, 6, 0), moment(2024, 1, 7, 0)),
            1
        );
        assert_eq!(
            difference(DatePart::Week, moment(2024, 1, 7, 0), moment(2024, 1, 13, 0)),
            0
        );
    }

    #[test]
    fn months_are_cut_to_their_last_day() {
        assert_eq!(
            add(DatePart::Month, 1, moment(2024, 1, 31, 0)),
            Some(moment(2024, 2, 29, 0))
        );
        assert_eq!(
            add(DatePart::Year, -1, moment(2024, 2, 29, 0)),
            Some(moment(2023, 2, 28, 0))
        );
        assert_eq!(add(DatePart::Year, 8000, moment(2024, 2, 29, 0)), None);
        assert_eq!(
            add(DatePart::Second, -1, moment(2024, 1, 1, 0)),
            Some(moment(2023, 12, 31, 86_399))
        );
    }

    #[test]
    fn parts_of_known_days() {
        let day = moment(2007, 10, 30, 12 * 3_600 + 15 * 60 + 32);
        let expected = [
            (DatePart::Year, 2007),
            (DatePart::Quarter, 4),
            (DatePart::Month, 10),
            (DatePart::DayOfYear, 303),
            (DatePart::Day, 30),
            (DatePart::Week, 44),
            (DatePart::WeekDay, 3),
            (DatePart::Hour, 12),
            (DatePart::Minute, 15),
            (DatePart::Second, 32),
            (DatePart::IsoWeek, 44),
        ];
        for (part, number) in expected {
            assert_eq!(part_of(part, day), number, "{part:?}");
        }
        assert_eq!(part_of(DatePart::IsoWeek, moment(2021, 1, 3, 0)), 53);
    }

    #[test]
    fn datetime_rounds_to_thirds_of_a_hundredth() {
        let at = |milliseconds: u64| Moment::new(DAY_OF_1900, milliseconds * 10_000);
        for (milliseconds, shown) in [(999, 0), (995, 997), (991, 990), (992, 993), (998, 997), (1, 0), (2, 3)] {
            let value = at(milliseconds).to_value(SqlType::DateTime).unwrap();
            let back = Moment::from_value(&value).unwrap();
            assert_eq!(part_of(DatePart::Millisecond, back), shown, "{milliseconds}");
        }
    }
}
