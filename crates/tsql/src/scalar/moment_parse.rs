//! Text as dates and times: ISO 8601, separated numbers in the order month day year, months by name, times alone.
//!
//! The text is cut into numbers, words and signs first; what they mean follows from their order and widths, not from one
//! fixed pattern, as SQL Server does it (SQL Server docs, "CAST and CONVERT", "datetime", "SET DATEFORMAT").

use engine::types::calendar::{DAY_OF_1900, TICKS_PER_DAY, TICKS_PER_SECOND, days_from_date};

use super::moment::Moment;
use super::moment_format::MONTHS;

/// The order of three plain numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DateOrder {
    /// us_english's order.
    MonthDayYear,
    /// British and most European.
    DayMonthYear,
    /// ISO's.
    YearMonthDay,
}

/// The order that a style of CONVERT prescribes.
pub fn order_of_style(style: i32) -> DateOrder {
    match style % 100 {
        3 | 4 | 5 | 6 | 13 if style != 0 => DateOrder::DayMonthYear,
        2 | 11 | 12 | 20 | 21 | 23 | 26 | 27 if style != 0 => DateOrder::YearMonthDay,
        _ => DateOrder::MonthDayYear,
    }
}

/// What the text holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// The moment; 1900-01-01 when there was a time alone, midnight when there was a date alone.
    pub moment: Moment,
    /// Whether an offset was written.
    pub has_offset: bool,
}

/// Why text is no date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseFailure {
    /// Not the form of a date.
    Syntax,
    /// The form of a date, but no such date or time.
    Range,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Number(&'a str),
    Word(&'a str),
    Sign(char),
    Blank,
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut rest = text.trim();
    while let Some(first) = rest.chars().next() {
        let length_while = |matches: fn(char) -> bool| rest.find(|character| !matches(character)).unwrap_or(rest.len());
        let (token, length) = if first.is_ascii_digit() {
            let length = length_while(|character| character.is_ascii_digit());
            (Token::Number(&rest[..length]), length)
        } else if first.is_alphabetic() {
            let length = length_while(char::is_alphabetic);
            (Token::Word(&rest[..length]), length)
        } else if first.is_whitespace() {
            (Token::Blank, length_while(char::is_whitespace))
        } else {
            (Token::Sign(first), first.len_utf8())
        };
        found.push(token);
        rest = &rest[length..];
    }
    found
}

/// Reads a date, a time, or both.
///
/// # Errors
/// Whether the text has no such form, or names no moment that exists.
pub fn parse(text: &str, order: DateOrder) -> Result<Parsed, ParseFailure> {
    let tokens = tokens(text);
    if tokens.is_empty() {
        return Ok(Parsed {
            moment: Moment::new(DAY_OF_1900, 0),
            has_offset: false,
        });
    }
    let mut reader = Reader { tokens: &tokens, at: 0 };
    let days = if reader.starts_with_time() {
        None
    } else {
        Some(reader.date(order)?)
    };
    reader.skip_blank();
    if matches!(reader.peek(0), Some(Token::Word("T" | "t"))) {
        reader.at += 1;
    }
    let ticks = if reader.done() { 0 } else { reader.time()? };
    reader.skip_blank();
    let offset = if reader.done() { None } else { Some(reader.offset()?) };
    reader.skip_blank();
    if !reader.done() {
        return Err(ParseFailure::Syntax);
    }
    let moment = Moment {
        days: days.unwrap_or(DAY_OF_1900),
        ticks,
        offset_minutes: offset.unwrap_or(0),
    };
    Ok(Parsed {
        moment,
        has_offset: offset.is_some(),
    })
}

struct Reader<'t, 'a> {
    tokens: &'t [Token<'a>],
    at: usize,
}

impl<'a> Reader<'_, 'a> {
    fn peek(&self, ahead: usize) -> Option<Token<'a>> {
        self.tokens.get(self.at + ahead).copied()
    }

    fn done(&self) -> bool {
        self.at >= self.tokens.len()
    }

    fn skip_blank(&mut self) {
        while self.peek(0) == Some(Token::Blank) {
            self.at += 1;
        }
    }

    fn number(&mut self) -> Result<&'a str, ParseFailure> {
        match self.peek(0) {
            Some(Token::Number(digits)) => {
                self.at += 1;
                Ok(digits)
            }
            _ => Err(ParseFailure::Syntax),
        }
    }

    fn sign(&mut self, signs: &[char]) -> Option<char> {
        match self.peek(0) {
            Some(Token::Sign(sign)) if signs.contains(&sign) => {
                self.at += 1;
                Some(sign)
            }
            _ => None,
        }
    }

    /// `10:30` or `3PM`: a number followed by a colon or a half of the day.
    fn starts_with_time(&self) -> bool {
        let next = if self.peek(1) == Some(Token::Blank) {
            self.peek(2)
        } else {
            self.peek(1)
        };
        matches!(self.peek(0), Some(Token::Number(_)))
            && (self.peek(1) == Some(Token::Sign(':'))
                || matches!(next, Some(Token::Word(word)) if half_of_day(word).is_some()))
    }

    fn date(&mut self, order: DateOrder) -> Result<i32, ParseFailure> {
        if let Some(Token::Word(_)) = self.peek(0) {
            return self.date_name_first();
        }
        let first = self.number()?;
        if let Some(separator) = self.sign(&['-', '/', '.']) {
            if matches!(self.peek(0), Some(Token::Word(_))) {
                let month = self.month()?;
                self.sign(&[separator]).ok_or(ParseFailure::Syntax)?;
                return build(year(self.number()?)?, month, plain(first)?);
            }
            let second = self.number()?;
            self.sign(&[separator]).ok_or(ParseFailure::Syntax)?;
            let third = self.number()?;
            return ordered(first, second, third, order);
        }
        match first.len() {
            8 => return build(plain(&first[..4])? as i32, plain(&first[4..6])?, plain(&first[6..])?),
            6 => return build(year(&first[..2])?, plain(&first[2..4])?, plain(&first[4..])?),
            4 if self.done() => return build(plain(first)? as i32, 1, 1),
            _ => {}
        }
        self.skip_blank();
        let month = self.month()?;
        self.skip_separators();
        build(year(self.number()?)?, month, plain(first)?)
    }

    /// `Mar 7 2024`, `March 7, 2024`.
    fn date_name_first(&mut self) -> Result<i32, ParseFailure> {
        let month = self.month()?;
        self.skip_separators();
        let day = self.number()?;
        self.skip_separators();
        if day.len() == 4 {
            return build(plain(day)? as i32, month, 1);
        }
        build(year(self.number()?)?, month, plain(day)?)
    }

    fn skip_separators(&mut self) {
        while matches!(self.peek(0), Some(Token::Blank | Token::Sign(',' | '-' | '.'))) {
            self.at += 1;
        }
    }

    fn month(&mut self) -> Result<u32, ParseFailure> {
        let Some(Token::Word(word)) = self.peek(0) else {
            return Err(ParseFailure::Syntax);
        };
        let found = MONTHS.iter().position(|name| {
            name.eq_ignore_ascii_case(word) || name.get(..3).is_some_and(|short| short.eq_ignore_ascii_case(word))
        });
        self.at += 1;
        found
            .and_then(|index| u32::try_from(index + 1).ok())
            .ok_or(ParseFailure::Syntax)
    }

    fn time(&mut self) -> Result<u64, ParseFailure> {
        let mut hour = u64::from(plain(self.number()?)?);
        let (mut minute, mut second, mut fraction) = (0, 0, 0);
        let mut has_minute = false;
        if self.sign(&[':']).is_some() {
            has_minute = true;
            minute = u64::from(plain(self.number()?)?);
            if self.sign(&[':']).is_some() {
                second = u64::from(plain(self.number()?)?);
                fraction = self.fraction()?;
            }
        }
        let before = self.at;
        self.skip_blank();
        let half = match self.peek(0) {
            Some(Token::Word(word)) => half_of_day(word),
            _ => None,
        };
        match half {
            Some(afternoon) => {
                self.at += 1;
                if afternoon && hour < 12 {
                    hour += 12;
                } else if !afternoon && hour == 12 {
                    hour = 0;
                }
            }
            None if !has_minute => return Err(ParseFailure::Syntax),
            None => self.at = before,
        }
        if hour > 23 || minute > 59 || second > 59 {
            return Err(ParseFailure::Range);
        }
        Ok(((hour * 60 + minute) * 60 + second) * TICKS_PER_SECOND + fraction.min(TICKS_PER_DAY))
    }

    /// The fraction of a second: after a point decimal digits, after a colon milliseconds.
    fn fraction(&mut self) -> Result<u64, ParseFailure> {
        let Some(sign) = self.sign(&['.', ':']) else {
            return Ok(0);
        };
        let digits = self.number()?;
        if digits.len() > 9 {
            return Err(ParseFailure::Syntax);
        }
        if sign == ':' {
            return Ok(u64::from(plain(digits)?) * 10_000);
        }
        let padded: String = digits.chars().chain("0000000".chars()).take(7).collect();
        Ok(u64::from(plain(&padded)?))
    }

    /// `Z`, `+05:30`, `-0800`.
    fn offset(&mut self) -> Result<i16, ParseFailure> {
        if matches!(self.peek(0), Some(Token::Word("Z" | "z"))) {
            self.at += 1;
            return Ok(0);
        }
        let sign = self.sign(&['+', '-']).ok_or(ParseFailure::Syntax)?;
        let digits = self.number()?;
        let (hours, minutes) = if self.sign(&[':']).is_some() {
            (plain(digits)?, plain(self.number()?)?)
        } else if digits.len() == 4 {
            (plain(&digits[..2])?, plain(&digits[2..])?)
        } else {
            return Err(ParseFailure::Syntax);
        };
        let total = hours.saturating_mul(60).saturating_add(minutes);
        if minutes > 59 || total > 840 {
            return Err(ParseFailure::Range);
        }
        let total = total as i16;
        Ok(if sign == '-' { -total } else { total })
    }
}

fn half_of_day(word: &str) -> Option<bool> {
    if word.eq_ignore_ascii_case("AM") {
        Some(false)
    } else if word.eq_ignore_ascii_case("PM") {
        Some(true)
    } else {
        None
    }
}

fn plain(digits: &str) -> Result<u32, ParseFailure> {
    digits.parse().map_err(|_| ParseFailure::Range)
}

/// A year of four digits, or of two with the window 1950 to 2049.
fn year(digits: &str) -> Result<i32, ParseFailure> {
    let number = plain(digits)?;
    match digits.len() {
        1 | 2 if number < 50 => Ok(2000 + number as i32),
        1 | 2 => Ok(1900 + number as i32),
        4 => Ok(number as i32),
        _ => Err(ParseFailure::Syntax),
    }
}

/// Three plain numbers: four digits are the year wherever they stand, the others follow the order.
fn ordered(first: &str, second: &str, third: &str, order: DateOrder) -> Result<i32, ParseFailure> {
    if first.len() == 4 {
        return build(year(first)?, plain(second)?, plain(third)?);
    }
    match order {
        DateOrder::MonthDayYear => build(year(third)?, plain(first)?, plain(second)?),
        DateOrder::DayMonthYear => build(year(third)?, plain(second)?, plain(first)?),
        DateOrder::YearMonthDay if third.len() == 4 => build(year(third)?, plain(first)?, plain(second)?),
        DateOrder::YearMonthDay => build(year(first)?, plain(second)?, plain(third)?),
    }
}

fn build(year: i32, month: u32, day: u32) -> Result<i32, ParseFailure> {
    days_from_date(year, month, day).ok_or(ParseFailure::Range)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::scalar::moment_format::format;
    use engine::types::SqlType;

    #[test]
    fn many_forms_are_one_moment() {
        let forms = [
            "2024-03-07 13:05:09.007",
            "2024-03-07T13:05:09.007",
            "20240307 13:05:09.007",
            "03/07/2024 1:05:09.007PM",
            "3-7-24 13:05:09:007",
            "Mar 7 2024 1:05:09:007PM",
            "March 7, 2024 1:05:09.007 pm",
            "7 Mar 2024 13:05:09.007",
            " 07-Mar-2024  13:05:09.007 ",
            "2024/03/07 13:05:09.007",
            "240307 13:05:09.007",
        ];
        for form in forms {
            let parsed = parse(form, DateOrder::MonthDayYear).unwrap();
            let text = format(parsed.moment, SqlType::DateTime2 { scale: 3 }, 121).unwrap();
            assert_eq!(text, "2024-03-07 13:05:09.007", "{form}");
        }
        let european = parse("07.03.2024", DateOrder::DayMonthYear).unwrap();
        assert_eq!(european, parse("20240307", DateOrder::MonthDayYear).unwrap());
        let zoned = parse("2024-03-07T13:05:09+05:30", DateOrder::MonthDayYear).unwrap();
        assert_eq!((zoned.moment.offset_minutes, zoned.has_offset), (330, true));
        let noon = parse("12PM", DateOrder::MonthDayYear).unwrap().moment;
        assert_eq!((noon.days, noon.ticks), (DAY_OF_1900, 12 * 3_600 * TICKS_PER_SECOND));
    }

    #[test]
    fn what_is_no_date_is_refused() {
        for text in [
            "hello",
            "2024-03",
            "1/2",
            "12:",
            "2024-03-07 x",
            "2024-03-07 10",
            "99999",
            "T",
            "-1",
        ] {
            assert_eq!(
                parse(text, DateOrder::MonthDayYear),
                Err(ParseFailure::Syntax),
                "{text}"
            );
        }
        for text in ["2024-02-30", "13/13/2024", "25:00", "20241301", "10:61"] {
            assert_eq!(parse(text, DateOrder::MonthDayYear), Err(ParseFailure::Range), "{text}");
        }
    }
}
