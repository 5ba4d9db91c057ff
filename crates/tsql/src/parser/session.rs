//! SET: variables and session options.

use super::{Parsed, Parser};
use crate::ast::{Expression, ExpressionKind, IsolationLevel, Literal, SetOption, StatementKind, VariableAssignment};
use crate::error::ParseError;
use crate::lexer::TokenKind;

/// Options that are ON or OFF.
const SWITCHES: &[&str] = &[
    "ANSI_DEFAULTS",
    "ANSI_NULLS",
    "ANSI_NULL_DFLT_OFF",
    "ANSI_NULL_DFLT_ON",
    "ANSI_PADDING",
    "ANSI_WARNINGS",
    "ARITHABORT",
    "ARITHIGNORE",
    "CONCAT_NULL_YIELDS_NULL",
    "CURSOR_CLOSE_ON_COMMIT",
    "FMTONLY",
    "FORCEPLAN",
    "IMPLICIT_TRANSACTIONS",
    "NOCOUNT",
    "NOEXEC",
    "NUMERIC_ROUNDABORT",
    "PARSEONLY",
    "QUOTED_IDENTIFIER",
    "REMOTE_PROC_TRANSACTIONS",
    "SHOWPLAN_ALL",
    "SHOWPLAN_TEXT",
    "SHOWPLAN_XML",
    "XACT_ABORT",
    "NO_BROWSETABLE",
    "DISABLE_DEF_CNST_CHK",
];

/// Options that take a value.
const VALUES: &[&str] = &[
    "CONTEXT_INFO",
    "DATEFIRST",
    "DATEFORMAT",
    "DEADLOCK_PRIORITY",
    "LANGUAGE",
    "LOCK_TIMEOUT",
    "QUERY_GOVERNOR_COST_LIMIT",
    "ROWCOUNT",
    "TEXTSIZE",
    "FIPS_FLAGGER",
];

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
        if self.eat_word("STATISTICS")? {
            let options = self.list(|parser| {
                if !parser.at_any(&["IO", "TIME", "XML", "PROFILE"]) {
                    return Err(parser.unexpected());
                }
                Ok(format!("STATISTICS {}", parser.any_word()?))
            })?;
            return self.switch(options);
        }
        if self.at_any(VALUES) {
            let option = self.any_word()?;
            let value = self.set_value()?;
            return Ok(StatementKind::SetOption(SetOption::Value { option, value }));
        }
        let line = self.line();
        let options = self.list(|parser| {
            if parser.at_any(SWITCHES) {
                return parser.any_word();
            }
            if !parser.at_identifier() {
                return Err(parser.unexpected());
            }
            let text = format!("'{}' is not a recognized SET option.", parser.current());
            Err(ParseError::new(195, line, text))
        })?;
        self.switch(options)
    }

    /// `ON` or `OFF`. QUOTED_IDENTIFIER takes effect while the batch is parsed (SQL Server docs, "SET
    /// QUOTED_IDENTIFIER"), so it is put in force before the token after ON or OFF is cut.
    fn switch(&mut self, options: Vec<String>) -> Parsed<StatementKind> {
        if options.iter().any(|option| option == "QUOTED_IDENTIFIER") && self.at_any(&["ON", "OFF"]) {
            self.lexer.quoted_identifier = self.at_word("ON");
        }
        let on = self.on_or_off()?;
        Ok(StatementKind::SetOption(SetOption::Switch { options, on }))
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
        let variable = self.variable()?;
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
