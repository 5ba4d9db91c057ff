//! DBCC, SHUTDOWN, KILL, CHECKPOINT, RECONFIGURE and permissions.

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

    /// `GRANT | DENY | REVOKE permissions [ON securable] TO principals`.
    pub(super) fn permission(&mut self) -> Parsed<StatementKind> {
        let action = match self.any_word()?.as_str() {
            "GRANT" => PermissionAction::Grant,
            "DENY" => PermissionAction::Deny,
            _ => PermissionAction::Revoke,
        };
        let mut grant_option = action == PermissionAction::Revoke
            && self.at_word("GRANT")
            && self.eat_words(&["GRANT", "OPTION", "FOR"])?;
        let permissions = self.list(|parser| {
            let mut words = parser.any_word()?;
            while parser.token.kind == TokenKind::Word && !parser.at_any(&["ON", "TO", "FROM"]) {
                words.push(' ');
                words.push_str(&parser.any_word()?);
            }
            Ok(words)
        })?;
        let securable = if self.eat_word("ON")? {
            Some(self.securable()?)
        } else {
            None
        };
        if !(action == PermissionAction::Revoke && self.eat_word("FROM")?) {
            self.expect_word("TO")?;
        }
        let principals = self.list(|parser| {
            if parser.at_word("PUBLIC") {
                parser.take_identifier()
            } else {
                parser.identifier()
            }
        })?;
        if self.at_word("WITH") && self.peek_word(1, "GRANT")? {
            self.advance()?;
            self.advance()?;
            self.expect_word("OPTION")?;
            grant_option = true;
        }
        let cascade = self.eat_word("CASCADE")?;
        self.refuse(&["AS"])?;
        let permission = Permission {
            action,
            permissions,
            securable,
            principals,
            grant_option,
            cascade,
        };
        Ok(StatementKind::Permission(Box::new(permission)))
    }

    fn securable(&mut self) -> Parsed<Securable> {
        let mut class = None;
        if self.token.kind == TokenKind::Word && self.peek(1)?.kind == TokenKind::Symbol(b':', b':') {
            class = Some(self.any_word()?);
            self.advance()?;
        }
        let name = self.name()?;
        let columns = self.optional_columns()?;
        Ok(Securable { class, name, columns })
    }
}
