//! Calendar arithmetic on day numbers, and the text a client below TDS 7.3 gets for the date types.
//!
//! Days count from 0001-01-01 = 0 in the proleptic Gregorian calendar, as `date` does on the wire.
//! A `time` is a count of 10^-scale second units since midnight.

/// The last day SQL Server knows, 9999-12-31.
pub const LAST_DAY: u32 = 3_652_058;

/// Days from 0001-01-01 to 1900-01-01, where `datetime` starts.
pub const DAYS_TO_1900: u32 = 693_595;

/// Units of a `time(scale)` in one second; scales above 7 count as 7.
pub fn units_per_second(scale: u8) -> u64 {
    10u64.pow(u32::from(scale.min(7)))
}

/// Bytes of a `time(scale)` on the wire (MS-TDS 2.2.5.5.1.8: 3, 4 or 5).
pub fn time_bytes(scale: u8) -> usize {
    match scale {
        0..=2 => 3,
        3 | 4 => 4,
        _ => 5,
    }
}

/// Year, month and day of a day number; days beyond [`LAST_DAY`] count as that day.
pub fn civil(days: u32) -> (u32, u32, u32) {
    // Years are counted from 1 March of year 0, so that the leap day is the last of its year.
    let shifted = days.min(LAST_DAY) + 306;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_shifted + 2) / 5 + 1;
    let month = if month_shifted < 10 {
        month_shifted + 3
    } else {
        month_shifted - 9
    };
    let year = era * 400 + year_of_era + u32::from(month <= 2);
    (year, month, day)
}

/// `2026-11-20`.
pub fn date_text(days: u32) -> String {
    let (year, month, day) = civil(days);
    format!("{year:04}-{month:02}-{day:02}")
}

/// `12:34:56.1234567` with `scale` digits after the point, none (and no point) for scale 0.
pub fn time_text(units: u64, scale: u8) -> String {
    let per_second = units_per_second(scale);
    let seconds = units / per_second % 86_400;
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let mut text = format!("{hour:02}:{minute:02}:{second:02}");
    if scale > 0 {
        let width = usize::from(scale.min(7));
        text.push_str(&format!(".{:0width$}", units % per_second));
    }
    text
}

/// Day and time of a UTC instant in a zone `offset_minutes` ahead of UTC.
pub fn local(days: u32, units: u64, scale: u8, offset_minutes: i16) -> (u32, u64) {
    let per_day = i64::try_from(86_400 * units_per_second(scale)).unwrap_or(i64::MAX);
    let per_minute = per_day / 1_440;
    let shifted = i64::try_from(units).unwrap_or(0) + i64::from(offset_minutes) * per_minute;
    let day = i64::from(days) + shifted.div_euclid(per_day);
    let day = u32::try_from(day.clamp(0, i64::from(LAST_DAY))).unwrap_or(0);
    (day, shifted.rem_euclid(per_day).unsigned_abs())
}

/// `2026-11-20 14:34:56.12 +02:00` of a UTC instant and its offset.
pub fn offset_text(days: u32, units: u64, scale: u8, offset_minutes: i16) -> String {
    let (day, time) = local(days, units, scale, offset_minutes);
    let sign = if offset_minutes < 0 { '-' } else { '+' };
    let minutes = offset_minutes.unsigned_abs();
    format!(
        "{} {} {sign}{:02}:{:02}",
        date_text(day),
        time_text(time, scale),
        minutes / 60,
        minutes % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_days() {
        let walks = [
            (0, "0001-01-01"),
            (58, "0001-02-28"),
            (59, "0001-03-01"),
            (DAYS_TO_1900, "1900-01-01"),
            (730_119, "2000-01-01"),
            (730_178, "2000-02-29"),
            (730_179, "2000-03-01"),
            (LAST_DAY, "9999-12-31"),
        ];
        for (days, text) in walks {
            assert_eq!(date_text(days), text);
        }
    }

    #[test]
    fn every_day_follows_the_one_before() {
        let mut before = civil(0);
        for day in 1..=LAST_DAY {
            let now = civil(day);
            let next_day = now.0 == before.0 && now.1 == before.1 && now.2 == before.2 + 1;
            let next_month = now.2 == 1 && before.2 >= 28;
            assert!(next_day || next_month, "{before:?} then {now:?}");
            before = now;
        }
    }

    #[test]
    fn times_and_offsets() {
        assert_eq!(time_text(452_961_234_567, 7), "12:34:56.1234567");
        assert_eq!(time_text(45_296, 0), "12:34:56");
        assert_eq!(offset_text(730_119, 0, 0, -90), "1999-12-31 22:30:00 -01:30");
        assert_eq!(offset_text(730_119, 8_639_999, 2, 120), "2000-01-02 01:59:59.99 +02:00");
    }
}
