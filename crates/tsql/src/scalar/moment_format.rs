//! Dates and times as text: the styles of CONVERT (SQL Server docs, "Date and time styles").

use engine::types::SqlType;
use engine::types::calendar::date_from_days;

use super::moment::{DatePart, Moment, part_of};
use super::served::served;

/// How the date of a style is written.
#[derive(Clone, Copy)]
enum DateForm {
    None,
    /// month day year, separated
    MonthFirst(char),
    DayFirst(char),
    YearFirst(char),
    /// `Mon dd yyyy`
    NameFirst,
    /// `Mon dd, yyyy`
    NameFirstComma,
    /// `dd Mon yyyy`
    DayName,
    Compact,
}

/// How the time of a style is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TimeForm {
    None,
    /// `hh:mmAM`
    HalfDay,
    /// `hh:mm:ss:mmmAM`
    HalfDayLong,
    Seconds,
    /// with the fraction after a colon
    ColonFraction,
    /// with the fraction after a point
    Fraction,
}

/// Writes a moment of the given type in a style; `None` when the style does not exist.
pub fn format(moment: Moment, sql_type: SqlType, style: i32) -> Option<String> {
    let (date, time, separator, century) = style_forms(style)?;
    let has_date = !matches!(sql_type, SqlType::Time { .. });
    let has_time = sql_type != SqlType::Date;
    let mut text = String::with_capacity(34);
    if has_date {
        text.push_str(&format_date(moment, date, century));
    }
    if has_time {
        // "When the value for milliseconds (mmm) is 0, the millisecond decimal fraction value won't be displayed" (sql-docs, "CAST and
        // CONVERT", styles 126 and 127).
        let is_whole = matches!(style, 126 | 127) && fraction_text(moment, sql_type).bytes().all(|digit| digit == b'0');
        let time = if is_whole { TimeForm::Seconds } else { time };
        let written = format_time(moment, time, sql_type);
        if !text.is_empty() && !written.is_empty() {
            text.push_str(separator);
        }
        text.push_str(&written);
    }
    if matches!(sql_type, SqlType::DateTimeOffset { .. }) && time != TimeForm::None {
        let sign = if moment.offset_minutes < 0 { '-' } else { '+' };
        let minutes = moment.offset_minutes.unsigned_abs();
        let blank = if style == 126 || style == 127 { "" } else { " " };
        text.push_str(&format!("{blank}{sign}{:02}:{:02}", minutes / 60, minutes % 60));
    } else if style == 127 {
        text.push('Z');
    }
    Some(text)
}

fn style_forms(style: i32) -> Option<(DateForm, TimeForm, &'static str, bool)> {
    use {DateForm as D, TimeForm as T};
    let century = style >= 100 || matches!(style, 0 | 9 | 13 | 20 | 21 | 25);
    let (date, time, separator) = match style {
        0 | 100 => (D::NameFirst, T::HalfDay, " "),
        1 | 101 => (D::MonthFirst('/'), T::None, " "),
        2 | 102 => (D::YearFirst('.'), T::None, " "),
        3 | 103 => (D::DayFirst('/'), T::None, " "),
        4 | 104 => (D::DayFirst('.'), T::None, " "),
        5 | 105 => (D::DayFirst('-'), T::None, " "),
        6 | 106 => (D::DayName, T::None, " "),
        7 | 107 => (D::NameFirstComma, T::None, " "),
        8 | 24 | 108 => (D::None, T::Seconds, " "),
        9 | 109 => (D::NameFirst, T::HalfDayLong, " "),
        10 | 110 => (D::MonthFirst('-'), T::None, " "),
        11 | 111 => (D::YearFirst('/'), T::None, " "),
        12 | 112 => (D::Compact, T::None, " "),
        13 | 113 => (D::DayName, T::ColonFraction, " "),
        14 | 114 => (D::None, T::ColonFraction, " "),
        20 | 120 => (D::YearFirst('-'), T::Seconds, " "),
        21 | 25 | 121 => (D::YearFirst('-'), T::Fraction, " "),
        23 => (D::YearFirst('-'), T::None, " "),
        126 | 127 => (D::YearFirst('-'), T::Fraction, "T"),
        _ => return None,
    };
    Some((date, time, separator, century || style == 23))
}

fn format_date(moment: Moment, form: DateForm, century: bool) -> String {
    let (year, month, day) = date_from_days(moment.days);
    let name = served().dates.language().short_month(month as usize);
    let year = if century {
        format!("{year:04}")
    } else {
        format!("{:02}", year % 100)
    };
    match form {
        DateForm::None => String::new(),
        DateForm::MonthFirst(separator) => format!("{month:02}{separator}{day:02}{separator}{year}"),
        DateForm::DayFirst(separator) => format!("{day:02}{separator}{month:02}{separator}{year}"),
        DateForm::YearFirst(separator) => format!("{year}{separator}{month:02}{separator}{day:02}"),
        DateForm::NameFirst => format!("{name} {day:2} {year}"),
        DateForm::NameFirstComma => format!("{name} {day:02}, {year}"),
        DateForm::DayName => format!("{day:02} {name} {year}"),
        DateForm::Compact => format!("{year}{month:02}{day:02}"),
    }
}

fn format_time(moment: Moment, form: TimeForm, sql_type: SqlType) -> String {
    let hour = part_of(DatePart::Hour, moment);
    let minute = part_of(DatePart::Minute, moment);
    let second = part_of(DatePart::Second, moment);
    let half = if hour < 12 { "AM" } else { "PM" };
    let hour_of_half = if hour % 12 == 0 { 12 } else { hour % 12 };
    let fraction = fraction_text(moment, sql_type);
    let after = |separator: &str| {
        if fraction.is_empty() {
            String::new()
        } else {
            format!("{separator}{fraction}")
        }
    };
    match form {
        TimeForm::None => String::new(),
        TimeForm::HalfDay => format!("{hour_of_half:2}:{minute:02}{half}"),
        TimeForm::HalfDayLong => format!("{hour_of_half:2}:{minute:02}:{second:02}{}{half}", after(":")),
        TimeForm::Seconds => format!("{hour:02}:{minute:02}:{second:02}"),
        TimeForm::ColonFraction => format!("{hour:02}:{minute:02}:{second:02}{}", after(":")),
        TimeForm::Fraction => format!("{hour:02}:{minute:02}:{second:02}{}", after(".")),
    }
}

/// The digits after the second: three for datetime, the declared scale for the newer types.
fn fraction_text(moment: Moment, sql_type: SqlType) -> String {
    let ticks = moment.ticks % 10_000_000;
    match sql_type {
        SqlType::SmallDateTime | SqlType::DateTime => format!("{:03}", part_of(DatePart::Millisecond, moment)),
        _ => format!("{ticks:07}")
            .get(..usize::from(sql_type.scale()))
            .unwrap_or("")
            .to_owned(),
    }
}

/// The style used when none is given: `Mon dd yyyy hh:mmAM` for datetime, ISO for the newer types.
pub fn default_style(sql_type: SqlType) -> i32 {
    match sql_type {
        SqlType::DateTime | SqlType::SmallDateTime => 0,
        _ => 121,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use engine::types::calendar::days_from_date;

    #[test]
    fn styles_are_sql_servers() {
        let ticks = (13 * 3_600 + 5 * 60 + 9) * 10_000_000 + 70_000;
        let moment = Moment::new(days_from_date(2024, 3, 7).unwrap(), ticks);
        let cases = [
            (0, "Mar  7 2024  1:05PM"),
            (1, "03/07/24"),
            (101, "03/07/2024"),
            (102, "2024.03.07"),
            (103, "07/03/2024"),
            (104, "07.03.2024"),
            (106, "07 Mar 2024"),
            (107, "Mar 07, 2024"),
            (108, "13:05:09"),
            (109, "Mar  7 2024  1:05:09:007PM"),
            (110, "03-07-2024"),
            (112, "20240307"),
            (12, "240307"),
            (113, "07 Mar 2024 13:05:09:007"),
            (114, "13:05:09:007"),
            (120, "2024-03-07 13:05:09"),
            (121, "2024-03-07 13:05:09.007"),
            (126, "2024-03-07T13:05:09.007"),
            (127, "2024-03-07T13:05:09.007Z"),
            (23, "2024-03-07"),
        ];
        for (style, text) in cases {
            assert_eq!(format(moment, SqlType::DateTime, style).unwrap(), text, "style {style}");
        }
        assert_eq!(format(moment, SqlType::DateTime, 99), None);
        assert_eq!(format(moment, SqlType::Date, 121).unwrap(), "2024-03-07");
        assert_eq!(
            format(moment, SqlType::Time { scale: 7 }, 121).unwrap(),
            "13:05:09.0070000"
        );
        assert_eq!(
            format(moment, SqlType::DateTime2 { scale: 0 }, 121).unwrap(),
            "2024-03-07 13:05:09"
        );
        let offset = Moment {
            offset_minutes: -330,
            ..moment
        };
        let zoned = format(offset, SqlType::DateTimeOffset { scale: 0 }, 121).unwrap();
        assert_eq!(zoned, "2024-03-07 13:05:09 -05:30");
    }
}
