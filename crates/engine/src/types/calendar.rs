//! Arithmetic of days in the proleptic Gregorian calendar, as `date`, `datetime` and `datetime2` use it.
//!
//! Day 0 is 0001-01-01, the first day of `date`; `datetime` counts from 1900-01-01, which is day [`DAY_OF_1900`].

/// Days from 0001-01-01 to 1900-01-01, the origin of `datetime` and `smalldatetime`.
pub const DAY_OF_1900: i32 = 693_595;
/// Days from 0001-01-01 to 9999-12-31, the last day of every date type.
pub const DAY_MAX: i32 = 3_652_058;
/// Ticks of 1/300 second in a day: the unit of `datetime`.
pub const DATETIME_TICKS_PER_DAY: u32 = 300 * 86_400;
/// Ticks of 100 nanoseconds in a second: the unit of `time` and `datetime2` in memory.
pub const TICKS_PER_SECOND: u64 = 10_000_000;
/// Ticks of 100 nanoseconds in a day.
pub const TICKS_PER_DAY: u64 = TICKS_PER_SECOND * 86_400;

/// Whether February has 29 days in `year`.
pub fn is_leap_year(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days in the month (1..=12) of a year; 0 for a month that does not exist.
pub fn days_in_month(year: i32, month: u32) -> u32 {
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap_year(year) => 29,
        2 => 28,
        _ => 0,
    }
}

/// Days since 0001-01-01, or `None` when there is no such date in the years 1 to 9999.
pub fn days_from_date(year: i32, month: u32, day: u32) -> Option<i32> {
    if !(1..=9999).contains(&year) || day == 0 || day > days_in_month(year, month) {
        return None;
    }
    // Years are counted from March, so that the leap day is the last day of a year.
    let shifted_year = if month <= 2 { year - 1 } else { year };
    let shifted_month = (month + 9) % 12;
    let day_of_year = i32::try_from((153 * shifted_month + 2) / 5 + day - 1).ok()?;
    let days = shifted_year * 365 + shifted_year / 4 - shifted_year / 100 + shifted_year / 400 + day_of_year;
    Some(days - 306)
}

/// Year, month (1..=12) and day (1..=31) of a count of days since 0001-01-01.
pub fn date_from_days(days: i32) -> (i32, u32, u32) {
    let shifted = days.clamp(0, DAY_MAX) + 306;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = era * 400 + year_of_era + i32::from(month <= 2);
    (year, month.unsigned_abs(), day.unsigned_abs())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn days_and_dates_are_inverse_over_the_whole_range() {
        assert_eq!(days_from_date(1, 1, 1), Some(0));
        assert_eq!(days_from_date(1900, 1, 1), Some(DAY_OF_1900));
        assert_eq!(days_from_date(9999, 12, 31), Some(DAY_MAX));
        let mut previous = (0, 12, 31);
        for days in 0..=DAY_MAX {
            let (year, month, day) = date_from_days(days);
            assert_eq!(days_from_date(year, month, day), Some(days));
            assert!((year, month, day) > previous);
            previous = (year, month, day);
        }
    }

    #[test]
    fn dates_that_do_not_exist_are_refused() {
        for (year, month, day) in [
            (1900, 2, 29),
            (2023, 4, 31),
            (2024, 13, 1),
            (2024, 0, 1),
            (0, 1, 1),
            (10_000, 1, 1),
        ] {
            assert_eq!(days_from_date(year, month, day), None, "{year}-{month}-{day}");
        }
        assert!(days_from_date(2000, 2, 29).is_some());
    }
}
