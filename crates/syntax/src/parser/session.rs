//! SET: variables and session options.

use super::{Parsed, Parser};
use crate::ast::{
    AssignmentOperator, Expression, ExpressionKind, IsolationLevel, Literal, SetOption, StatementKind, UnaryOperator,
    VariableAssignment,
};
use crate::error::ParseError;
use crate::grammar::{Place, SET_OFFSETS, SET_STATISTICS, SET_SWITCHES, SET_VALUES};
use crate::lexer::TokenKind;

impl Parser<'_> {
    pub(super) fn set(&mut self) -> Parsed<StatementKind> {
        self.expect_word("SET")?;
        if self.token.kind == TokenKind::Variable {
            return self.set_variable();
        }
        if self.eat_word("TRANSACTION")? {
            self.expect_word("ISOLATION")?;
            self.expect_word("LEVEL")?;
            return self
                .isolation_level()
                .map(|level| StatementKind::SetOption(SetOption::IsolationLevel(level)));
        }
        if self.eat_word("IDENTITY_INSERT")? {
            let table = self.name()?;
            let on = self.on_or_off()?;
            return Ok(StatementKind::SetOption(SetOption::IdentityInsert { table, on }));
        }
        for (word, place) in [("STATISTICS", &SET_STATISTICS), ("OFFSETS", &SET_OFFSETS)] {
            if self.eat_word(word)? {
                let options = self.list(|parser| {
                    let what = parser.any_word()?;
                    match place.word(&what) {
                        Some(known) => Ok(format!("{word} {}", known.name)),
                        None => Err(place.unknown(parser.previous.line, &what)),
                    }
                })?;
                return self.switch(options);
            }
        }
        if self.at_word_of(&SET_VALUES) {
            let option = self.any_word()?;
            let value = self.set_value_of(&option)?;
            return Ok(StatementKind::SetOption(SetOption::Value { option, value }));
        }
        let options = self.list(|parser| {
            if parser.at_word_of(&SET_SWITCHES) {
                return parser.any_word();
            }
            Err(parser.unknown_set_option()?)
        })?;
        self.switch(options)
    }

    fn at_word_of(&self, place: &Place) -> bool {
        self.token.kind == TokenKind::Word && place.word(&self.current().to_ascii_uppercase()).is_some()
    }

    /// 195 for a name that is not an option; its state shows what follows. With nothing behind it the name is a syntax
    /// error.
    fn unknown_set_option(&self) -> Parsed<ParseError> {
        if !self.at_identifier() {
            return Ok(self.unexpected());
        }
        let error = SET_SWITCHES.unknown(self.line(), self.current());
        let next = self.peek(1)?;
        Ok(match next.kind {
            TokenKind::End | TokenKind::Symbol(b';', 0) => ParseError::near(self.line(), self.current()),
            TokenKind::Symbol(b',', 0) => error,
            TokenKind::Word
                if ["ON", "OFF"]
                    .iter()
                    .any(|word| self.slice(next).eq_ignore_ascii_case(word)) =>
            {
                error
            }
            _ => ParseError { state: 7, ..error },
        })
    }

    /// `ON` or `OFF`. QUOTED_IDENTIFIER takes effect while the batch is parsed (SQL Server docs, "SET
    /// QUOTED_IDENTIFIER"), so it is put in force before the token after ON or OFF is cut. A module keeps the one it was created with.
    fn switch(&mut self, options: Vec<String>) -> Parsed<StatementKind> {
        let is_heard = !self.is_in_module && options.iter().any(|option| option == "QUOTED_IDENTIFIER");
        if is_heard && self.at_any(&["ON", "OFF"]) {
            self.lexer.quoted_identifier = self.at_word("ON");
        }
        if !self.at_any(&["ON", "OFF"]) && !self.at_end() {
            let error = ParseError::near(self.previous.line, self.slice(self.previous));
            return Err(ParseError { state: 4, ..error });
        }
        let on = self.on_or_off()?;
        Ok(StatementKind::SetOption(SetOption::Switch { options, on }))
    }

    /// The value of an option. Some have no place in the grammar for anything but a whole number.
    fn set_value_of(&mut self, option: &str) -> Parsed<Expression> {
        let line = self.line();
        let misplaced = |text: &str| ParseError {
            state: 3,
            ..ParseError::near(line, text)
        };
        match option {
            "LOCK_TIMEOUT" | "QUERY_GOVERNOR_COST_LIMIT" => {
                let value = self.option_value()?;
                match whole(&value) {
                    Some(number) if number >= -1 => Ok(value),
                    _ => Err(misplaced(option)),
                }
            }
            "TEXTSIZE" => {
                let token = self.token;
                let value = self.option_value()?;
                match whole(&value) {
                    Some(number) if number >= -1 => Ok(value),
                    _ => Err(ParseError::near(line, &self.plain(token))),
                }
            }
            "ROWCOUNT" => self.row_count(),
            "FIPS_FLAGGER" => {
                let token = self.token;
                let value = self.set_value()?;
                let text = crate::grammar::value_text(&value);
                if ["OFF", "ENTRY", "INTERMEDIATE", "FULL"].contains(&text.as_str()) {
                    Ok(value)
                } else {
                    Err(misplaced(&self.plain(token)))
                }
            }
            _ => self.set_value(),
        }
    }

    /// ROWCOUNT takes a whole number without sign, or a variable.
    fn row_count(&mut self) -> Parsed<Expression> {
        match self.token.kind {
            TokenKind::Variable => self.option_value(),
            TokenKind::Number | TokenKind::Float => {
                let (line, token) = (self.line(), self.token);
                let value = self.option_value()?;
                if whole(&value).is_some() {
                    return Ok(value);
                }
                let text = format!("The integer value {} is out of range.", self.slice(token));
                Err(ParseError::new(1080, line, text))
            }
            _ => Err(self.unexpected()),
        }
    }

    fn set_value(&mut self) -> Parsed<Expression> {
        let line = self.line();
        if self.token.kind == TokenKind::Word || self.token.kind == TokenKind::Bracketed {
            let text = if self.token.kind == TokenKind::Word {
                self.take_identifier()?
            } else {
                self.identifier()?
            }
            .text;
            return Ok(Expression::new(line, ExpressionKind::Literal(Literal::Text(text))));
        }
        self.option_value()
    }

    fn set_variable(&mut self) -> Parsed<StatementKind> {
        let line = self.line();
        if self.peek_symbol(1, b'.')? && self.peek_symbol(3, b'(')? {
            let token = self.advance()?;
            let variable = self.slice(token).to_owned();
            self.advance()?;
            let method = self.take_identifier()?;
            let value = self.mutator_argument(line, &method)?;
            return Ok(StatementKind::SetVariable(Box::new(VariableAssignment {
                variable,
                operator: AssignmentOperator::Assign,
                value,
                is_modified: true,
            })));
        }
        let variable = self.variable()?;
        if self.at(b'.') && self.peek_symbol(2, b'=')? {
            let property = self.slice(self.peek(1)?);
            return Err(crate::error::ParseError::not_supported(
                line,
                &format!("property {property}"),
            ));
        }
        let Some(operator) = self.assignment_operator_at(0)? else {
            return Err(self.unexpected());
        };
        self.advance()?;
        if self.at_word("CURSOR") {
            let cursor = self.cursor_definition(variable, Vec::new())?;
            return Ok(StatementKind::SetCursorVariable(Box::new(cursor)));
        }
        let value = self.expression()?;
        Ok(StatementKind::SetVariable(Box::new(VariableAssignment {
            variable,
            operator,
            value,
            is_modified: false,
        })))
    }

    fn isolation_level(&mut self) -> Parsed<IsolationLevel> {
        if self.eat_word("READ")? {
            if self.eat_word("UNCOMMITTED")? {
                return Ok(IsolationLevel::ReadUncommitted);
            }
            self.expect_word("COMMITTED")?;
            return Ok(IsolationLevel::ReadCommitted);
        }
        if self.eat_word("REPEATABLE")? {
            self.expect_word("READ")?;
            return Ok(IsolationLevel::RepeatableRead);
        }
        if self.eat_word("SNAPSHOT")? {
            return Ok(IsolationLevel::Snapshot);
        }
        self.expect_word("SERIALIZABLE")?;
        Ok(IsolationLevel::Serializable)
    }
}

/// A constant whole number.
fn whole(value: &Expression) -> Option<i64> {
    match &value.kind {
        ExpressionKind::Literal(Literal::Integer(number)) => Some(i64::from(*number)),
        ExpressionKind::Unary {
            operator: UnaryOperator::Minus,
            operand,
        } => whole(operand).map(|number| -number),
        _ => None,
    }
}
