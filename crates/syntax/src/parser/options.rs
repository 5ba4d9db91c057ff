//! The option lists shared by WITH clauses of many statements.

use super::{Parsed, Parser};
use crate::ast::{Expression, ExpressionKind, Name, OptionValue, UnaryOperator};
use crate::error::ParseError;
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// `WITH (options)`, if it is here.
    pub(super) fn optional_with_options(&mut self) -> Parsed<Vec<OptionValue>> {
        if self.at_word("WITH") && self.peek_symbol(1, b'(')? {
            self.advance()?;
            return self.enclosed(Self::inner_option);
        }
        Ok(Vec::new())
    }

    /// An option inside parentheses, whose name may be several words.
    pub(super) fn inner_option(&mut self) -> Parsed<OptionValue> {
        self.nested(|parser| {
            let line = parser.line();
            let mut name = parser.option_name()?;
            while parser.token.kind == TokenKind::Word || parser.token.kind == TokenKind::Bracketed {
                let token = parser.advance()?;
                name.push(' ');
                name.push_str(&parser.plain(token).to_ascii_uppercase());
            }
            if name == "FILTER_PREDICATE" {
                return Err(ParseError::not_supported(line, &name));
            }
            let mut option = parser.option_rest(line, name)?;
            let is_number = |value: &Expression| matches!(value.kind, ExpressionKind::Literal(_));
            if option.arguments.is_empty()
                && option.value.as_ref().is_some_and(is_number)
                && parser.token.kind == TokenKind::Word
            {
                let unit = (parser.line(), parser.any_word()?);
                return Ok(OptionValue::with_unit(option.line, option.name, option.value, unit));
            }
            if parser.eat_words(&["ON", "PARTITIONS"])? {
                option.arguments.push(parser.option_of_partitions()?);
            }
            Ok(option)
        })
    }

    /// `(1, 3 TO 5)` behind ON PARTITIONS.
    fn option_of_partitions(&mut self) -> Parsed<OptionValue> {
        let line = self.line();
        let arguments = self.enclosed(|parser| {
            let (line, start) = (parser.line(), parser.token.start);
            parser.expression()?;
            if parser.eat_word("TO")? {
                parser.expression()?;
            }
            Ok(OptionValue {
                line,
                name: parser.text_between(start, parser.previous.end).to_ascii_uppercase(),
                value: None,
                arguments: Vec::new(),
            })
        })?;
        Ok(OptionValue {
            line,
            name: "ON PARTITIONS".to_owned(),
            value: None,
            arguments,
        })
    }

    /// An option outside parentheses: one word.
    pub(super) fn outer_option(&mut self) -> Parsed<OptionValue> {
        let line = self.line();
        let name = self.option_name()?;
        self.option_rest(line, name)
    }

    fn option_name(&mut self) -> Parsed<String> {
        match self.token.kind {
            TokenKind::Word => self.any_word(),
            TokenKind::Text | TokenKind::NationalText => self.string(),
            TokenKind::Bracketed | TokenKind::DoubleQuoted | TokenKind::Number | TokenKind::Variable => {
                let token = self.advance()?;
                Ok(self.plain(token))
            }
            _ => Err(self.unexpected()),
        }
    }

    fn option_rest(&mut self, line: u32, name: String) -> Parsed<OptionValue> {
        let mut value = None;
        if self.eat(b'=')? {
            if self.at(b'(') {
                let arguments = self.enclosed(Self::inner_option)?;
                return Ok(OptionValue {
                    line,
                    name,
                    value,
                    arguments,
                });
            }
            if name == "HISTORY_TABLE" {
                return self.history_table(line, name);
            }
            value = Some(self.option_value()?);
            if name == "HISTORY_RETENTION_PERIOD" && self.token.kind == TokenKind::Word {
                return self.retention(line, name, value);
            }
        }
        let arguments = if self.at(b'(') {
            self.enclosed(Self::inner_option)?
        } else {
            Vec::new()
        };
        Ok(OptionValue {
            line,
            name,
            value,
            arguments,
        })
    }

    /// The name behind `HISTORY_TABLE =`, of one part or more.
    fn history_table(&mut self, line: u32, name: String) -> Parsed<OptionValue> {
        let table = ExpressionKind::Column(self.name()?);
        Ok(OptionValue {
            line,
            name,
            value: Some(Expression::new(line, table)),
            arguments: Vec::new(),
        })
    }

    /// The unit behind `HISTORY_RETENTION_PERIOD = number`, as the option's one argument.
    fn retention(&mut self, line: u32, name: String, value: Option<Expression>) -> Parsed<OptionValue> {
        let unit = (self.line(), self.any_word()?);
        Ok(OptionValue::with_unit(line, name, value, unit))
    }

    /// A constant with or without sign, a variable, or a bare word.
    pub(super) fn option_value(&mut self) -> Parsed<Expression> {
        let line = self.line();
        let kind = match self.token.kind {
            TokenKind::Word | TokenKind::Bracketed | TokenKind::DoubleQuoted => ExpressionKind::Column(Name {
                parts: vec![self.take_identifier()?],
            }),
            TokenKind::Variable => ExpressionKind::Variable(self.variable()?),
            TokenKind::Symbol(b'-', 0) => {
                self.advance()?;
                let operand = Expression::new(line, ExpressionKind::Literal(self.literal()?));
                ExpressionKind::Unary {
                    operator: UnaryOperator::Minus,
                    operand: Box::new(operand),
                }
            }
            _ => ExpressionKind::Literal(self.literal()?),
        };
        Ok(self.numbered(Expression::new(line, kind)))
    }

    /// `ON` or `OFF`; true for ON.
    pub(super) fn on_or_off(&mut self) -> Parsed<bool> {
        if self.eat_word("ON")? {
            return Ok(true);
        }
        self.expect_word("OFF")?;
        Ok(false)
    }

    /// `NULL` (true), `NOT NULL` (false), or neither.
    pub(super) fn optional_nullable(&mut self) -> Parsed<Option<bool>> {
        if self.eat_word("NULL")? {
            return Ok(Some(true));
        }
        if self.at_word("NOT") && self.eat_words(&["NOT", "NULL"])? {
            return Ok(Some(false));
        }
        Ok(None)
    }

    /// `IF EXISTS`, if it is here.
    pub(super) fn if_exists(&mut self) -> Parsed<bool> {
        if !self.eat_word("IF")? {
            return Ok(false);
        }
        self.expect_word("EXISTS")?;
        Ok(true)
    }
}
