//! DBCC, SHUTDOWN, KILL, CHECKPOINT, RECONFIGURE and permissions.

use super::{Parsed, Parser};
use crate::ast::*;
use crate::lexer::TokenKind;

/// `REMOTE SERVICE BINDING`, `SEARCH PROPERTY LIST` and `XML SCHEMA COLLECTION` are the longest classes of securables.
const CLASS_WORDS_MAX: usize = 3;

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
        let permissions = self.list(Self::permission_words)?;
        let securable = if self.eat_word("ON")? {
            Some(self.securable()?)
        } else {
            None
        };
        if !(action == PermissionAction::Revoke && self.eat_word("FROM")?) {
            self.expect_word("TO")?;
        }
        let principals = self.list(|parser| {
            if parser.at_any(&["PUBLIC", "NULL"]) {
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

    /// A permission: its words, and in parentheses the columns it is for.
    fn permission_words(&mut self) -> Parsed<String> {
        let mut words = self.any_word()?;
        while self.token.kind == TokenKind::Word && !self.at_any(&["ON", "TO", "FROM"]) {
            words.push(' ');
            words.push_str(&self.any_word()?);
        }
        let columns: Vec<String> = self.optional_columns()?.into_iter().map(|column| column.text).collect();
        match columns.is_empty() {
            true => Ok(words),
            false => Ok(format!("{words} ({})", columns.join(", "))),
        }
    }

    /// The words of a class and the `::` behind them, such as `XML SCHEMA COLLECTION::`.
    fn securable_class(&mut self) -> Parsed<Option<String>> {
        let mut count = 0;
        while count < CLASS_WORDS_MAX && self.peek(count)?.kind == TokenKind::Word {
            count += 1;
        }
        if count == 0 || self.peek(count)?.kind != TokenKind::Symbol(b':', b':') {
            return Ok(None);
        }
        let mut words = self.any_word()?;
        for _ in 1..count {
            words.push(' ');
            words.push_str(&self.any_word()?);
        }
        self.advance()?;
        Ok(Some(words))
    }

    fn securable(&mut self) -> Parsed<Securable> {
        let class = self.securable_class()?;
        let name = self.name()?;
        let columns = self.optional_columns()?;
        Ok(Securable { class, name, columns })
    }
}
