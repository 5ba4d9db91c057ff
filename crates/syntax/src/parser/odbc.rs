//! ODBC's escapes in expressions: `{fn name(...)}`, `{d '...'}`, `{t '...'}`, `{ts '...'}`, `{guid '...'}` (sql-docs, "ODBC scalar
//! functions", "Date, time, and timestamp literals").
//!
//! A function that only ODBC has is read as what T-SQL has for it, so the tree holds no function of ODBC's. Its date and time parts and
//! names are those of DATEPART and DATENAME; CURDATE and CURTIME answer text, as in SQL Server.

use super::primary::call;
use super::{Parsed, Parser};
use crate::ast::{BinaryOperator, Convert, DataType, Expression, ExpressionKind, Literal, Name, TypeArgument};
use crate::lexer::TokenKind;

/// ODBC's function, T-SQL's function of a date part, and the part.
const PARTS: [(&str, &str, &str); 10] = [
    ("DAYNAME", "DATENAME", "weekday"),
    ("DAYOFMONTH", "DATEPART", "day"),
    ("DAYOFWEEK", "DATEPART", "weekday"),
    ("DAYOFYEAR", "DATEPART", "dayofyear"),
    ("HOUR", "DATEPART", "hour"),
    ("MINUTE", "DATEPART", "minute"),
    ("MONTHNAME", "DATENAME", "month"),
    ("QUARTER", "DATEPART", "quarter"),
    ("SECOND", "DATEPART", "second"),
    ("WEEK", "DATEPART", "week"),
];

/// ODBC's functions that T-SQL has by another name.
const NAMES: [(&str, &str); 7] = [
    ("DATABASE", "DB_NAME"),
    ("IFNULL", "ISNULL"),
    ("LCASE", "LOWER"),
    ("LOCATE", "CHARINDEX"),
    ("NOW", "GETDATE"),
    ("OCTET_LENGTH", "DATALENGTH"),
    ("UCASE", "UPPER"),
];

/// The styles of CONVERT for `yyyy-mm-dd` and `hh:mm:ss`.
const DATE_STYLE: i32 = 23;
const TIME_STYLE: i32 = 108;

/// How long a date and a time are as text: the latter without, and with the point and the digits of its fraction.
const DATE_CHARACTERS: u32 = 10;
const TIME_CHARACTERS: u32 = 8;

impl Parser<'_> {
    /// An escape, from its brace on.
    pub(super) fn odbc_escape(&mut self) -> Parsed<Expression> {
        self.expect(b'{')?;
        let is_function = self.eat_word("fn")?;
        if !is_function && !self.eat_word("d")? && !self.eat_word("t")? && !self.eat_word("guid")? {
            self.expect_word("ts")?;
        }
        let is_call = is_function && self.token.kind == TokenKind::Word && self.peek_symbol(1, b'(')?;
        let inner = match is_call {
            true => self.odbc_call()?,
            false => self.expression()?,
        };
        self.expect(b'}')?;
        Ok(inner)
    }

    /// A call whose name may be a reserved word, such as `TRUNCATE`.
    fn odbc_call(&mut self) -> Parsed<Expression> {
        let line = self.line();
        let word = self.current().to_ascii_uppercase();
        let is_clock = matches!(
            word.as_str(),
            "CURDATE" | "CURRENT_DATE" | "CURTIME" | "CURRENT_TIME" | "CURRENT_TIMESTAMP"
        );
        let is_known = is_clock
            || matches!(word.as_str(), "TRUNCATE" | "BIT_LENGTH")
            || PARTS.iter().any(|(name, ..)| *name == word)
            || NAMES.iter().any(|(name, _)| *name == word);
        if !is_known {
            return self.expression();
        }
        self.advance()?;
        let mut arguments = match self.peek_symbol(1, b')')? {
            true => {
                self.advance()?;
                self.advance()?;
                Vec::new()
            }
            false => self.enclosed(Self::expression)?,
        };
        if is_clock {
            return self.odbc_clock(line, &word, &arguments);
        }
        let kind = match word.as_str() {
            "TRUNCATE" if arguments.len() == 2 => {
                arguments.push(number(line, 1));
                call(Name::single("ROUND"), arguments)
            }
            "BIT_LENGTH" => ExpressionKind::Binary {
                operator: BinaryOperator::Multiply,
                left: Box::new(Expression::new(line, call(Name::single("DATALENGTH"), arguments))),
                right: Box::new(number(line, 8)),
            },
            _ => match PARTS.iter().find(|(name, ..)| *name == word) {
                Some((_, function, part)) => {
                    let part = ExpressionKind::Column(Name::single(*part));
                    arguments.insert(0, Expression::new(line, part));
                    call(Name::single(*function), arguments)
                }
                None => {
                    let named = NAMES.iter().find(|(name, _)| *name == word);
                    call(Name::single(named.map_or(word.as_str(), |(_, own)| own)), arguments)
                }
            },
        };
        Ok(Expression::new(line, kind))
    }

    /// The date or the time of now, as text; a time may say how many digits of its fraction it has.
    fn odbc_clock(&self, line: u32, word: &str, arguments: &[Expression]) -> Parsed<Expression> {
        let digits = match arguments {
            [] => 0,
            [one] => match one.kind {
                ExpressionKind::Literal(Literal::Integer(digits)) => u32::try_from(digits).unwrap_or(u32::MAX),
                _ => return Err(self.unexpected()),
            },
            _ => return Err(self.unexpected()),
        };
        let now = Expression::new(line, call(Name::single("SYSDATETIME"), Vec::new()));
        if word == "CURRENT_TIMESTAMP" {
            return Ok(Expression::new(
                line,
                call(Name::single("CURRENT_TIMESTAMP"), Vec::new()),
            ));
        }
        let is_date = matches!(word, "CURDATE" | "CURRENT_DATE");
        if is_date {
            return Ok(converted(line, now, ("varchar", DATE_CHARACTERS), Some(DATE_STYLE)));
        }
        let characters = match digits {
            0 => TIME_CHARACTERS,
            digits => TIME_CHARACTERS.saturating_add(1).saturating_add(digits),
        };
        let style = (digits == 0).then_some(TIME_STYLE);
        let time = converted(line, now, ("time", digits), None);
        Ok(converted(line, time, ("varchar", characters), style))
    }
}

fn number(line: u32, value: i32) -> Expression {
    Expression::new(line, ExpressionKind::Literal(Literal::Integer(value)))
}

/// `CONVERT(type(size), operand, style)`
fn converted(line: u32, operand: Expression, data_type: (&str, u32), style: Option<i32>) -> Expression {
    let (name, size) = data_type;
    let data_type = DataType {
        name: Name::single(name),
        arguments: vec![TypeArgument::Number(size)],
    };
    let convert = Convert {
        data_type,
        operand,
        style: style.map(|style| number(line, style)),
        or_null: false,
    };
    Expression::new(line, ExpressionKind::Convert(Box::new(convert)))
}
