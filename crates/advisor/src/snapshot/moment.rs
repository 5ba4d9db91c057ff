//! A server's own clock, to the second. Ages are differences of two readings of one clock, so neither this machine's clock nor a time
//! zone enters them.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Seconds since 1970-01-01 00:00 of the server's local time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(i64);

const DAY_S: i64 = 86_400;

impl Moment {
    /// Reads `2026-11-26 19:25:55`, with a `T` in the middle and a fraction behind it or without. `None` for anything else, and for years
    /// before 1970: SQL Server has 1900-01-01 where nothing ever happened.
    pub fn parse(text: &str) -> Option<Moment> {
        let (date, time) = text.trim().split_once([' ', 'T'])?;
        let [year, month, day] = numbers(date, '-')?;
        let time = time.split('.').next().unwrap_or(time);
        let [hour, minute, second] = numbers(time, ':')?;
        let is_possible = (1970..=9999).contains(&year)
            && (1..=12).contains(&month)
            && (1..=31).contains(&day)
            && hour < 24
            && minute < 60
            && second < 60;
        is_possible.then(|| Moment(days_of(year, month, day) * DAY_S + hour * 3600 + minute * 60 + second))
    }

    /// Seconds from `earlier` to this; 0 where the clock was set back in between.
    pub fn seconds_since(self, earlier: Moment) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0)
    }
}

/// Three whole numbers with a separator between them, none of them negative.
fn numbers(text: &str, separator: char) -> Option<[i64; 3]> {
    let mut parts = text.split(separator).map(|part| {
        let is_short = part.len() <= 4 && part.chars().all(|digit| digit.is_ascii_digit());
        is_short.then(|| part.parse::<i64>().ok()).flatten()
    });
    let all = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(all)
}

/// Days since 1970-01-01 in the Gregorian calendar: years are counted from March, so that a leap day is a year's last.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    365 * year + year / 4 - year / 100 + year / 400 + day_of_year - 719_468
}

/// The year, month and day of [`days_of`].
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = date_of(self.0.div_euclid(DAY_S));
        let second = self.0.rem_euclid(DAY_S);
        write!(
            f,
            "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}",
            second / 3600,
            second / 60 % 60,
            second % 60
        )
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Moment, D::Error> {
        let text = String::deserialize(deserializer)?;
        Moment::parse(&text).ok_or_else(|| serde::de::Error::custom(format!("'{text}' is not a date and time")))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_is_read_is_written_again() {
        for text in [
            "1970-01-01 00:00:00",
            "2024-02-29 23:59:59",
            "2000-03-01 00:00:00",
            "2026-11-26 19:25:55",
            "9999-12-31 23:59:59",
        ] {
            assert_eq!(Moment::parse(text).unwrap().to_string(), text);
        }
        let precise = Moment::parse("2026-11-26T19:25:55.123").unwrap();
        assert_eq!(precise.to_string(), "2026-11-26 19:25:55");
        for text in [
            "",
            "1900-01-01 00:00:00.000",
            "2026-13-01 00:00:00",
            "2026-11-26",
            "2026-11-26 19:25",
            "-1-1-1 0:0:0",
        ] {
            assert_eq!(Moment::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_clock_that_was_set_back_gives_no_age() {
        let at = |text| Moment::parse(text).unwrap();
        let (early, late) = (at("2026-02-28 23:00:00"), at("2026-03-01 01:00:00"));
        assert_eq!(late.seconds_since(early), 7_200);
        assert_eq!(early.seconds_since(late), 0);
    }
}
