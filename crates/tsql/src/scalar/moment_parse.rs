//! Text as dates and times: ISO 8601, separated numbers in the order month day year, months by name, times alone.
//!
//! The text is cut into numbers, words and signs first; what they mean follows from their order and widths, not from one
//! fixed pattern, as SQL Server does it (SQL Server docs, "CAST and CONVERT", "datetime", "SET DATEFORMAT").

use engine::types::calendar::{DAY_OF_1900, TICKS_PER_DAY, TICKS_PER_SECOND, days_from_date};

use super::language::{LANGUAGES, Language, YEAR_CUTOFF};
use super::moment::Moment;
use super::served::served;

/// The order of three plain numbers (SQL Server docs, "SET DATEFORMAT").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DateOrder {
    /// us_english's order.
    MonthDayYear,
    /// British and most European.
    DayMonthYear,
    /// ISO's.
    YearMonthDay,
    YearDayMonth,
    MonthYearDay,
    DayYearMonth,
}

impl DateOrder {
    /// Every order with its name.
    const NAMES: [(DateOrder, &'static str); 6] = [
        (DateOrder::MonthDayYear, "mdy"),
        (DateOrder::DayMonthYear, "dmy"),
        (DateOrder::YearMonthDay, "ymd"),
        (DateOrder::YearDayMonth, "ydm"),
        (DateOrder::MonthYearDay, "myd"),
        (DateOrder::DayYearMonth, "dym"),
    ];

    /// The order with a name, ignoring case.
    pub fn named(name: &str) -> Option<DateOrder> {
        let found = DateOrder::NAMES.iter().find(|(_, own)| own.eq_ignore_ascii_case(name));
        found.map(|(order, _)| *order)
    }

    /// `mdy` and so on.
    pub fn name(self) -> &'static str {
        let found = DateOrder::NAMES.iter().find(|(order, _)| *order == self);
        found.map_or("mdy", |(_, name)| name)
    }

    /// Whether the day stands before the month.
    fn has_day_first(self) -> bool {
        matches!(
            self,
            DateOrder::DayMonthYear | DateOrder::YearDayMonth | DateOrder::DayYearMonth
        )
    }
}

/// How a text is read.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// The order of plain numbers.
    pub order: DateOrder,
    /// `datetime` and `smalldatetime` take the order for months and days even where a year of four digits stands first. The newer types
    /// read that as ISO does (SQL Server docs, "date": "YYYY-MM-DD ... is not affected by the SET LANGUAGE and SET DATEFORMAT settings").
    pub is_legacy: bool,
    /// Whose names of months are known.
    pub language: &'static Language,
    /// The last year that two digits may mean.
    pub year_cutoff: i32,
}

impl Reading {
    /// The reading of us_english, for text of the server's own.
    pub fn of_server() -> Reading {
        Reading {
            order: DateOrder::MonthDayYear,
            is_legacy: false,
            language: &LANGUAGES[0],
            year_cutoff: YEAR_CUTOFF,
        }
    }

    /// The reading that a style of CONVERT prescribes, of the session that the thread serves where it prescribes no order.
    pub fn of_style(style: i32, is_legacy: bool) -> Reading {
        let settings = served().dates;
        let order = match style % 100 {
            3 | 4 | 5 | 6 | 13 => DateOrder::DayMonthYear,
            2 | 11 | 12 | 20 | 21 | 23 | 26 | 27 => DateOrder::YearMonthDay,
            1 | 7 | 10 => DateOrder::MonthDayYear,
            _ => settings.order,
        };
        Reading {
            order,
            is_legacy,
            language: settings.language(),
            year_cutoff: settings.year_cutoff,
        }
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

/// Why text is not a date.
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
pub fn parse(text: &str, reading: Reading) -> Result<Parsed, ParseFailure> {
    let tokens = tokens(text);
    if tokens.is_empty() {
        return Ok(Parsed {
            moment: Moment::new(DAY_OF_1900, 0),
            has_offset: false,
        });
    }
    let mut reader = Reader {
        tokens: &tokens,
        at: 0,
        reading,
    };
    let days = if reader.starts_with_time() {
        None
    } else {
        Some(reader.date()?)
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
    reading: Reading,
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

    fn date(&mut self) -> Result<i32, ParseFailure> {
        if let Some(Token::Word(_)) = self.peek(0) {
            return self.date_name_first();
        }
        let first = self.number()?;
        if let Some(separator) = self.sign(&['-', '/', '.']) {
            if matches!(self.peek(0), Some(Token::Word(_))) {
                let month = self.month()?;
                self.sign(&[separator]).ok_or(ParseFailure::Syntax)?;
                return build(self.year()?, month, plain(first)?);
            }
            let second = self.number()?;
            self.sign(&[separator]).ok_or(ParseFailure::Syntax)?;
            let third = self.number()?;
            // `2024-03-07T13:05:09` is ISO 8601's, whatever the order.
            let is_iso =
                first.len() == 4 && (!self.reading.is_legacy || matches!(self.peek(0), Some(Token::Word("T" | "t"))));
            let order = if is_iso {
                DateOrder::YearMonthDay
            } else {
                self.reading.order
            };
            return ordered([first, second, third], order, self.reading.year_cutoff);
        }
        match first.len() {
            8 => return build(plain(&first[..4])? as i32, plain(&first[4..6])?, plain(&first[6..])?),
            6 => {
                return build(
                    year(&first[..2], self.reading.year_cutoff)?,
                    plain(&first[2..4])?,
                    plain(&first[4..])?,
                );
            }
            4 if self.done() => return build(plain(first)? as i32, 1, 1),
            _ => {}
        }
        self.skip_blank();
        let month = self.month()?;
        self.skip_separators();
        build(self.year()?, month, plain(first)?)
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
        build(self.year()?, month, plain(day)?)
    }

    fn year(&mut self) -> Result<i32, ParseFailure> {
        let digits = self.number()?;
        year(digits, self.reading.year_cutoff)
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
        let found = self.reading.language.month_named(word);
        self.at += 1;
        found
            .and_then(|number| u32::try_from(number).ok())
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

/// A year of four digits, or of two: the last one up to the cutoff that ends with them (SQL Server docs, "two digit year cutoff").
fn year(digits: &str, cutoff: i32) -> Result<i32, ParseFailure> {
    let number = plain(digits)? as i32;
    match digits.len() {
        1 | 2 if number <= cutoff % 100 => Ok(cutoff - cutoff % 100 + number),
        1 | 2 => Ok(cutoff - cutoff % 100 - 100 + number),
        4 => Ok(number),
        _ => Err(ParseFailure::Syntax),
    }
}

/// Three plain numbers: four digits are the year wherever they stand, the others follow the order.
fn ordered([first, second, third]: [&str; 3], order: DateOrder, cutoff: i32) -> Result<i32, ParseFailure> {
    let place_of_year = match [first, second, third].iter().position(|digits| digits.len() == 4) {
        Some(place) => place,
        None => match order {
            DateOrder::YearMonthDay | DateOrder::YearDayMonth => 0,
            DateOrder::MonthYearDay | DateOrder::DayYearMonth => 1,
            DateOrder::MonthDayYear | DateOrder::DayMonthYear => 2,
        },
    };
    let (own_year, former, latter) = match place_of_year {
        0 => (first, second, third),
        1 => (second, first, third),
        _ => (third, first, second),
    };
    let (month, day) = if order.has_day_first() {
        (latter, former)
    } else {
        (former, latter)
    };
    build(year(own_year, cutoff)?, plain(month)?, plain(day)?)
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

    /// Reads as a session of us_english does with another order.
    fn in_order(order: DateOrder) -> Reading {
        Reading {
            order,
            ..Reading::of_server()
        }
    }

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
            let parsed = parse(form, Reading::of_server()).unwrap();
            let text = format(parsed.moment, SqlType::DateTime2 { scale: 3 }, 121).unwrap();
            assert_eq!(text, "2024-03-07 13:05:09.007", "{form}");
        }
        let european = parse("07.03.2024", in_order(DateOrder::DayMonthYear)).unwrap();
        assert_eq!(european, parse("20240307", Reading::of_server()).unwrap());
        let zoned = parse("2024-03-07T13:05:09+05:30", Reading::of_server()).unwrap();
        assert_eq!((zoned.moment.offset_minutes, zoned.has_offset), (330, true));
        let noon = parse("12PM", Reading::of_server()).unwrap().moment;
        assert_eq!((noon.days, noon.ticks), (DAY_OF_1900, 12 * 3_600 * TICKS_PER_SECOND));
    }

    /// 2001-02-03 in every order, with years of two and of four digits.
    #[test]
    fn each_order_reads_its_own() {
        let orders = [
            (DateOrder::MonthDayYear, "02/03/01", "02/03/2001"),
            (DateOrder::DayMonthYear, "03/02/01", "03/02/2001"),
            (DateOrder::YearMonthDay, "01/02/03", "2001/02/03"),
            (DateOrder::YearDayMonth, "01/03/02", "2001/03/02"),
            (DateOrder::MonthYearDay, "02/01/03", "02/2001/03"),
            (DateOrder::DayYearMonth, "03/01/02", "03/2001/02"),
        ];
        let wanted = parse("20010203", Reading::of_server());
        for (order, short, long) in orders {
            let legacy = Reading {
                is_legacy: true,
                ..in_order(order)
            };
            for text in [short, long, "20010203", "2001-02-03T00:00:00"] {
                assert_eq!(parse(text, legacy), wanted, "{text} in {order:?}");
            }
            assert_eq!(parse("2001-02-03", in_order(order)), wanted, "{order:?}");
            assert_eq!(DateOrder::named(order.name()), Some(order));
        }
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
            assert_eq!(parse(text, Reading::of_server()), Err(ParseFailure::Syntax), "{text}");
        }
        for text in ["2024-02-30", "13/13/2024", "25:00", "20241301", "10:61"] {
            assert_eq!(parse(text, Reading::of_server()), Err(ParseFailure::Range), "{text}");
        }
    }
}
