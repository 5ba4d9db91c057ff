//! EXECUTE, with or without the word.

use super::{Parsed, Parser};
use crate::ast::{
    Argument, Execute, ExecuteAs, ExecuteModule, ExecutionContext, Expression, ExpressionKind, Literal, Name,
    ResultSet, ResultSetColumn, Reversion, StatementKind,
};
use crate::error::ParseError;
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// What follows the word EXECUTE, or stands without it at the start of a batch.
    pub(super) fn execute(&mut self) -> Parsed<Execute> {
        if self.at(b'(') {
            return self.execute_text();
        }
        let mut return_variable = None;
        if self.token.kind == TokenKind::Variable && self.peek_symbol(1, b'=')? {
            return_variable = Some(self.variable()?);
            self.advance()?;
        }
        let module = if self.token.kind == TokenKind::Variable {
            ExecuteModule::Variable(self.variable()?)
        } else {
            ExecuteModule::Procedure(self.name()?)
        };
        self.refuse(&["AS"])?;
        self.refuse_procedure_number()?;
        let arguments = if self.at_argument() {
            self.list(Self::argument)?
        } else {
            Vec::new()
        };
        let (recompile, result_sets) = self.execute_options()?;
        Ok(Execute {
            return_variable,
            module,
            arguments,
            recompile,
            result_sets,
            execute_as: None,
        })
    }

    /// What follows EXECUTE AS in a statement of its own.
    pub(super) fn execute_as(&mut self) -> Parsed<StatementKind> {
        let context = if self.eat_word("CALLER")? {
            ExecutionContext::Caller
        } else if self.eat_word("LOGIN")? {
            ExecutionContext::Login(self.context_name()?)
        } else {
            self.expect_word("USER")?;
            ExecutionContext::User(self.context_name()?)
        };
        let reversion = if self.eat_words(&["WITH", "NO", "REVERT"])? {
            Reversion::Never
        } else if self.eat_words(&["WITH", "COOKIE", "INTO"])? {
            Reversion::Cookie(self.variable()?)
        } else {
            Reversion::Plain
        };
        Ok(StatementKind::ExecuteAs(Box::new(ExecuteAs { context, reversion })))
    }

    /// `= 'name'` or `= @name`.
    fn context_name(&mut self) -> Parsed<Expression> {
        self.expect(b'=')?;
        match self.token.kind {
            TokenKind::Text | TokenKind::NationalText | TokenKind::Variable => self.option_value(),
            _ => Err(self.unexpected()),
        }
    }

    /// `REVERT [WITH COOKIE = value]`
    pub(super) fn revert(&mut self) -> Parsed<StatementKind> {
        self.expect_word("REVERT")?;
        if !self.eat_words(&["WITH", "COOKIE"])? {
            return Ok(StatementKind::Revert(None));
        }
        self.expect(b'=')?;
        Ok(StatementKind::Revert(Some(self.option_value()?)))
    }

    /// `WITH RECOMPILE, RESULT SETS ...`, if it is here. UNDEFINED is the default (sql-docs, EXECUTE).
    fn execute_options(&mut self) -> Parsed<(bool, Option<Vec<ResultSet>>)> {
        let (mut recompile, mut result_sets) = (false, None);
        if !self.at_words(&["WITH", "RECOMPILE"])? && !self.at_words(&["WITH", "RESULT"])? {
            return Ok((recompile, result_sets));
        }
        self.expect_word("WITH")?;
        loop {
            if self.eat_word("RECOMPILE")? {
                recompile = true;
            } else {
                self.expect_word("RESULT")?;
                self.expect_word("SETS")?;
                result_sets = self.result_sets()?;
            }
            if !self.eat(b',')? {
                return Ok((recompile, result_sets));
            }
        }
    }

    fn result_sets(&mut self) -> Parsed<Option<Vec<ResultSet>>> {
        if self.eat_word("UNDEFINED")? {
            return Ok(None);
        }
        if self.eat_word("NONE")? {
            return Ok(Some(Vec::new()));
        }
        self.enclosed(Self::result_set).map(Some)
    }

    fn result_set(&mut self) -> Parsed<ResultSet> {
        if !self.eat_word("AS")? {
            return self.enclosed(Self::result_set_column).map(ResultSet::Columns);
        }
        if self.eat_word("OBJECT")? {
            return self.name().map(ResultSet::Object);
        }
        if self.eat_word("TYPE")? {
            return self.name().map(ResultSet::Type);
        }
        self.expect_word("FOR")?;
        self.expect_word("XML")?;
        Ok(ResultSet::Xml)
    }

    fn result_set_column(&mut self) -> Parsed<ResultSetColumn> {
        let name = self.identifier()?;
        let data_type = self.data_type()?;
        let collation = match self.eat_word("COLLATE")? {
            true => Some(self.identifier()?),
            false => None,
        };
        let nullable = self.optional_nullable()?;
        Ok(ResultSetColumn {
            name,
            data_type,
            collation,
            nullable,
        })
    }

    /// # Errors
    /// 40517 at `;number` behind the name of a procedure: one of several of that name.
    pub(super) fn refuse_procedure_number(&self) -> Parsed<()> {
        match self.at(b';') && self.peek(1)?.kind == TokenKind::Number {
            true => Err(ParseError::not_supported(self.line(), "number of a procedure")),
            false => Ok(()),
        }
    }

    fn execute_text(&mut self) -> Parsed<Execute> {
        self.expect(b'(')?;
        let text = self.expression()?;
        if self.at(b',') {
            // Values for the parameters of a text that runs AT another server, which is the only place for them.
            while self.eat(b',')? {
                self.argument()?;
            }
            self.expect(b')')?;
            self.refuse(&["AS", "AT"])?;
            return Err(self.unexpected());
        }
        self.expect(b')')?;
        let execute_as = self.text_context()?;
        let result_sets = match self.at_words(&["WITH", "RESULT"])? {
            true => self.execute_options()?.1,
            false => None,
        };
        self.refuse(&["AT"])?;
        let module = ExecuteModule::Text(text);
        Ok(Execute {
            return_variable: None,
            module,
            arguments: Vec::new(),
            recompile: false,
            result_sets,
            execute_as,
        })
    }

    /// `AS LOGIN = 'name'`, `AS USER = 'name'`, if it is here.
    fn text_context(&mut self) -> Parsed<Option<ExecutionContext>> {
        if !self.eat_word("AS")? {
            return Ok(None);
        }
        let of: fn(Expression) -> ExecutionContext = match self.eat_word("LOGIN")? {
            true => ExecutionContext::Login,
            false => {
                self.expect_word("USER")?;
                ExecutionContext::User
            }
        };
        // A variable may stand in the statement EXECUTE AS alone.
        match self.at(b'=') && self.peek(1)?.kind == TokenKind::Variable {
            true => Err(self.unexpected()),
            false => self.context_name().map(of).map(Some),
        }
    }

    /// True where an argument can start; anything else belongs to the next statement.
    fn at_argument(&self) -> bool {
        match self.token.kind {
            TokenKind::End | TokenKind::Symbol(_, _) => self.at(b'-') || self.at(b'+'),
            TokenKind::Word => self.at_identifier() || self.at_any(&["NULL", "DEFAULT", "ON", "OFF"]),
            _ => true,
        }
    }

    fn argument(&mut self) -> Parsed<Argument> {
        let mut name = None;
        if self.token.kind == TokenKind::Variable && self.peek_symbol(1, b'=')? {
            name = Some(self.variable()?);
            self.advance()?;
        }
        let value = self.argument_value()?;
        let output = self.eat_word("OUTPUT")? || self.eat_word("OUT")?;
        Ok(Argument { name, value, output })
    }

    /// A constant with or without sign, a variable, DEFAULT, or a bare word taken as text.
    pub(super) fn argument_value(&mut self) -> Parsed<Expression> {
        let line = self.line();
        let first = self.token.kind;
        let kind = match first {
            TokenKind::Word if self.eat_word("NULL")? => ExpressionKind::Literal(Literal::Null),
            TokenKind::Word if self.eat_word("DEFAULT")? => ExpressionKind::Literal(Literal::Default),
            TokenKind::Word if self.at_any(&["ON", "OFF"]) => {
                ExpressionKind::Literal(Literal::NationalText(self.take_identifier()?.text))
            }
            TokenKind::Word | TokenKind::Bracketed | TokenKind::DoubleQuoted => {
                let name: Name = self.name()?;
                ExpressionKind::Literal(Literal::NationalText(name.to_string()))
            }
            TokenKind::GlobalVariable => {
                let token = self.advance()?;
                ExpressionKind::GlobalVariable(self.slice(token).to_owned())
            }
            TokenKind::Symbol(b'+', 0) => {
                self.advance()?;
                ExpressionKind::Literal(self.literal()?)
            }
            _ => return self.option_value(),
        };
        Ok(self.numbered(Expression::new(line, kind)))
    }
}
