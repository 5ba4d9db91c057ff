//! FORMAT for common patterns: .NET's standard and custom numeric and date patterns, en-US.

use engine::error::Result;
use engine::types::{SqlType, Value};

use super::Parameter::{Any, Name};
use super::{Call, LONG_NAME, Signature, signature};
use crate::scalar::convert::as_float;
use crate::scalar::language::LANGUAGES;
use crate::scalar::moment::{DatePart, Moment, part_of};
use crate::scalar::number::group_thousands;

pub(super) const FUNCTIONS: &[Signature] = &[signature("format", 2, &[Any, Name, Name], LONG_NAME, format_value)
    .told("value, pattern, culture: a number or a moment by a .NET pattern, in English")];

fn format_value(call: &Call<'_>) -> Result<Value> {
    let Some(pattern) = call.text(1) else {
        return Ok(Value::Null);
    };
    if call.value(0).is_null() {
        return Ok(Value::Null);
    }
    Ok(format(call.value(0), call.argument_type(0), pattern).map_or(Value::Null, Value::from))
}

/// The value in the pattern; `None` when the pattern does not apply to it.
fn format(value: &Value, sql_type: SqlType, pattern: &str) -> Option<String> {
    if sql_type.is_temporal() {
        let kind = match sql_type {
            SqlType::DateTimeOffset { .. } => MomentKind::WithOffset,
            _ => MomentKind::Unspecified,
        };
        return Some(format_moment((Moment::from_value(value)?, kind), pattern));
    }
    format_number(value, pattern)
}

fn format_number(value: &Value, pattern: &str) -> Option<String> {
    let mut characters = pattern.chars();
    let kind = characters.next()?;
    let digits: Option<usize> = characters.as_str().parse().ok().filter(|digits| *digits <= 99);
    let is_standard = kind.is_ascii_alphabetic() && (characters.as_str().is_empty() || digits.is_some());
    if !is_standard {
        return custom_number(value, pattern);
    }
    let number = as_float(value)?;
    let fixed = |places: usize| exact_text(value, places).unwrap_or_else(|| format!("{number:.places$}"));
    Some(match kind.to_ascii_uppercase() {
        'N' => grouped(&fixed(digits.unwrap_or(2))),
        'F' => fixed(digits.unwrap_or(2)),
        'D' => {
            let text = fixed(0);
            let (sign, plain) = text.strip_prefix('-').map_or(("", text.as_str()), |plain| ("-", plain));
            format!("{sign}{plain:0>width$}", width = digits.unwrap_or(0))
        }
        'C' => {
            let text = grouped(&fixed(digits.unwrap_or(2)));
            match text.strip_prefix('-') {
                Some(plain) => format!("-${plain}"),
                None => format!("${text}"),
            }
        }
        'P' => format!("{}%", grouped(&format!("{:.*}", digits.unwrap_or(2), number * 100.0))),
        'X' => format!("{:0>width$X}", value.as_i64()?, width = digits.unwrap_or(0)),
        'G' => value
            .as_i64()
            .map_or_else(|| number.to_string(), |number| number.to_string()),
        _ => return None,
    })
}

/// A number with so many digits after the point, without going through floating point where it need not.
fn exact_text(value: &Value, places: usize) -> Option<String> {
    let scale = u8::try_from(places).ok()?;
    let number = match value {
        Value::Decimal(number) => *number,
        Value::Money(number) => engine::types::Decimal::new(i128::from(*number), 38, 4),
        Value::SmallMoney(number) => engine::types::Decimal::new(i128::from(*number), 38, 4),
        other => engine::types::Decimal::new(i128::from(other.as_i64()?), 38, 0),
    };
    Some(number.rescaled(38, scale)?.to_string())
}

fn grouped(text: &str) -> String {
    let (sign, plain) = text.strip_prefix('-').map_or(("", text), |plain| ("-", plain));
    let (whole, fraction) = plain
        .split_once('.')
        .map_or((plain, None), |(whole, fraction)| (whole, Some(fraction)));
    let whole = group_thousands(whole);
    match fraction {
        Some(fraction) => format!("{sign}{whole}.{fraction}"),
        None => format!("{sign}{whole}"),
    }
}

/// `0`, `#`, `,` and `.`: digits wanted before and after the point.
fn custom_number(value: &Value, pattern: &str) -> Option<String> {
    let (whole, fraction) = pattern.split_once('.').unwrap_or((pattern, ""));
    let least = whole.chars().filter(|&character| character == '0').count();
    let places = fraction
        .chars()
        .filter(|character| matches!(character, '0' | '#'))
        .count();
    let kept = fraction.chars().filter(|&character| character == '0').count();
    let number = as_float(value)?;
    let text = exact_text(value, places).unwrap_or_else(|| format!("{number:.places$}"));
    let (sign, plain) = text.strip_prefix('-').map_or(("", text.as_str()), |plain| ("-", plain));
    let (digits, tail) = plain.split_once('.').unwrap_or((plain, ""));
    let mut tail = tail.to_owned();
    while tail.len() > kept && tail.ends_with('0') {
        tail.pop();
    }
    let digits = if least == 0 && digits == "0" { "" } else { digits };
    let padded = format!("{digits:0>least$}");
    let padded = if whole.contains(',') {
        group_thousands(&padded)
    } else {
        padded
    };
    Some(if tail.is_empty() {
        format!("{sign}{padded}")
    } else {
        format!("{sign}{padded}.{tail}")
    })
}

/// Whether a moment has an offset from UTC. To the others .NET gives the server's, which is UTC here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MomentKind {
    WithOffset,
    Unspecified,
}

fn format_moment((moment, kind): (Moment, MomentKind), pattern: &str) -> String {
    let pattern = match pattern {
        "d" => "M/d/yyyy",
        "D" => "dddd, MMMM d, yyyy",
        "t" => "h:mm tt",
        "T" => "h:mm:ss tt",
        "g" => "M/d/yyyy h:mm tt",
        "G" => "M/d/yyyy h:mm:ss tt",
        "s" => "yyyy-MM-ddTHH:mm:ss",
        other => other,
    };
    let characters: Vec<char> = pattern.chars().collect();
    let mut text = String::new();
    let mut at = 0;
    while let Some(&character) = characters.get(at) {
        if character == '\'' || character == '"' {
            let end = characters[at + 1..].iter().position(|&other| other == character);
            let end = end.map_or(characters.len(), |length| at + 1 + length);
            text.extend(&characters[at + 1..end]);
            at = end + 1;
            continue;
        }
        let width = characters[at..].iter().take_while(|&&other| other == character).count();
        match character {
            'z' => text.push_str(&offset_text(moment, width)),
            'K' if kind == MomentKind::WithOffset => text.push_str(&offset_text(moment, 3).repeat(width)),
            'K' => {}
            _ => text.push_str(&moment_field(moment, character, width)),
        }
        at += width;
    }
    text
}

/// The offset from UTC: its hours by one or two letters, and its minutes too by three (".NET: custom date and time format strings", "z").
fn offset_text(moment: Moment, width: usize) -> String {
    let minutes = moment.offset_minutes.unsigned_abs();
    let sign = if moment.offset_minutes < 0 { '-' } else { '+' };
    match width {
        1 => format!("{sign}{}", minutes / 60),
        2 => format!("{sign}{:02}", minutes / 60),
        _ => format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60),
    }
}

fn moment_field(moment: Moment, field: char, width: usize) -> String {
    let number = |part| part_of(part, moment);
    let padded = |number: i32| format!("{number:0width$}", width = width.min(2));
    let index = |part| usize::try_from(number(part)).unwrap_or(0);
    // The patterns are those of en-US, and so are the names.
    let month = || LANGUAGES[0].month(index(DatePart::Month)).to_owned();
    let day = || LANGUAGES[0].day_from_sunday(index(DatePart::WeekDay)).to_owned();
    let short = |name: String| name.get(..3).unwrap_or("").to_owned();
    match (field, width) {
        ('y', 1..=2) => format!("{:02}", number(DatePart::Year) % 100),
        ('y', _) => format!("{:04}", number(DatePart::Year)),
        ('M', 1..=2) => padded(number(DatePart::Month)),
        ('M', 3) => short(month()),
        ('M', _) => month(),
        ('d', 1..=2) => padded(number(DatePart::Day)),
        ('d', 3) => short(day()),
        ('d', _) => day(),
        ('H', _) => padded(number(DatePart::Hour)),
        ('h', _) => padded((number(DatePart::Hour) + 11) % 12 + 1),
        ('m', _) => padded(number(DatePart::Minute)),
        ('s', _) => padded(number(DatePart::Second)),
        ('f', _) => format!("{:07}", moment.ticks % 10_000_000)
            .get(..width.min(7))
            .unwrap_or("")
            .to_owned(),
        ('t', _) => if number(DatePart::Hour) < 12 { "AM" } else { "PM" }
            .get(..width.min(2))
            .unwrap_or("")
            .to_owned(),
        (other, _) => other.to_string().repeat(width),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use engine::types::calendar::days_from_date;

    #[test]
    fn patterns_are_dot_nets() {
        let cases = [
            (Value::Int(1_234_567), "N0", "1,234,567"),
            (Value::Int(7), "D3", "007"),
            (Value::Float(0.256), "P1", "25.6%"),
            (Value::Money(-12_345_600), "C", "-$1,234.56"),
            (Value::Float(2.5), "0.00", "2.50"),
            (Value::Int(1234), "#,##0", "1,234"),
        ];
        for (value, pattern, text) in cases {
            assert_eq!(
                format(&value, SqlType::Float, pattern).unwrap(),
                text,
                "{value:?} {pattern}"
            );
        }
        let moment = Moment::new(
            days_from_date(2024, 3, 7).unwrap(),
            (13 * 3_600 + 5 * 60 + 9) * 10_000_000,
        );
        let value = moment.to_value(SqlType::DateTime).unwrap();
        let text = format(&value, SqlType::DateTime, "ddd dd MMM yyyy hh:mm:ss tt 'at' H").unwrap();
        assert_eq!(text, "Thu 07 Mar 2024 01:05:09 PM at 13");
        let unspecified = format(&value, SqlType::DateTime, "HH:mmzzz|K|").unwrap();
        assert_eq!(unspecified, "13:05+00:00||");
        let with_offset = SqlType::DateTimeOffset { scale: 7 };
        for (minutes, expected) in [
            (330, "13:05:09+05:30 +05 +5 +05:30"),
            (-570, "13:05:09-09:30 -09 -9 -09:30"),
        ] {
            let moment = Moment {
                offset_minutes: minutes,
                ..moment
            };
            let text = format_moment((moment, MomentKind::WithOffset), "HH:mm:sszzz zz z K");
            assert_eq!(text, expected);
            let value = moment.to_value(with_offset).unwrap();
            assert_eq!(format(&value, with_offset, "HH:mm:sszzz zz z K").unwrap(), expected);
        }
    }
}
