//! DBCC, SHUTDOWN, KILL, CHECKPOINT and RECONFIGURE.

use super::{Parsed, Parser};
use crate::ast::*;
use crate::lexer::TokenKind;

impl Parser<'_> {
    pub(super) fn dbcc(&mut self) -> Parsed<StatementKind> {
        self.expect_word("DBCC")?;
        let command = self.any_word()?;
        let mut arguments = Vec::new();
        if self.eat(b'(')? {
            if !self.at(b')') {
                arguments = self.list(Self::dbcc_argument)?;
            }
            self.expect(b')')?;
        }
        let options = if self.eat_word("WITH")? {
            self.list(Self::outer_option)?
        } else {
            Vec::new()
        };
        Ok(StatementKind::Dbcc(Box::new(Dbcc {
            command,
            arguments,
            options,
        })))
    }

    fn dbcc_argument(&mut self) -> Parsed<DbccArgument> {
        match self.token.kind {
            TokenKind::Word if !self.at_identifier() => {
                let word = self.take_identifier()?;
                Ok(DbccArgument::Word(Name { parts: vec![word] }))
            }
            TokenKind::Word | TokenKind::Bracketed | TokenKind::DoubleQuoted => self.name().map(DbccArgument::Word),
            _ => self.option_value().map(DbccArgument::Value),
        }
    }

    pub(super) fn shutdown(&mut self) -> Parsed<StatementKind> {
        self.expect_word("SHUTDOWN")?;
        let no_wait = self.eat_word("WITH")?;
        if no_wait {
            self.expect_word("NOWAIT")?;
        }
        Ok(StatementKind::Shutdown { no_wait })
    }

    pub(super) fn reconfigure(&mut self) -> Parsed<StatementKind> {
        self.expect_word("RECONFIGURE")?;
        let with_override = self.eat_word("WITH")?;
        if with_override {
            self.expect_word("OVERRIDE")?;
        }
        Ok(StatementKind::Reconfigure { with_override })
    }

    pub(super) fn checkpoint(&mut self) -> Parsed<StatementKind> {
        self.expect_word("CHECKPOINT")?;
        let seconds = self.token.kind == TokenKind::Number;
        Ok(StatementKind::Checkpoint(if seconds {
            Some(self.option_value()?)
        } else {
            None
        }))
    }

    pub(super) fn kill(&mut self) -> Parsed<StatementKind> {
        self.expect_word("KILL")?;
        self.refuse(&["STATS", "QUERY"])?;
        let session = self.option_value()?;
        let status_only = self.eat_words(&["WITH", "STATUSONLY"])?;
        Ok(StatementKind::Kill { session, status_only })
    }
}
