//! Batches, lists of statements, and the choice of a statement by its first word.

use super::core::place;
use super::{Parsed, Parser};
use crate::ast::{Statement, StatementKind};
use crate::error::ParseError;
use crate::lexer::TokenKind;

/// The first words of statements that are refused by name.
const FOREIGN_STARTS: &[&str] = &[
    "ADD", "ALTER", "COPY", "DROP", "END", "GET", "LINENO", "MOVE", "RECEIVE", "RENAME", "SEND",
];

/// What a statement takes on average, in bytes, without its expressions.
const STATEMENT_BYTES: u64 = 700;

impl Parser<'_> {
    pub(super) fn batch(&mut self) -> Parsed<Vec<Statement>> {
        let mut statements = Vec::new();
        self.statements_into(&mut statements, &[], true)?;
        self.expect_end()?;
        Ok(statements)
    }

    /// Statements up to the end of the text or one of the words.
    pub(super) fn statements(&mut self, ends: &[&str]) -> Parsed<Vec<Statement>> {
        let mut statements = Vec::new();
        self.statements_into(&mut statements, ends, false)?;
        Ok(statements)
    }

    fn statements_into(&mut self, statements: &mut Vec<Statement>, ends: &[&str], first_of_batch: bool) -> Parsed<()> {
        let mut terminated = true;
        loop {
            while self.eat(b';')? {
                terminated = true;
            }
            if self.at_end() || self.at_any(ends) && !self.at_words(&["END", "CONVERSATION"])? {
                return Ok(());
            }
            if self.at_word("WITH") && !terminated {
                return Err(self.unexpected());
            }
            let statement = self.statement(first_of_batch && statements.is_empty())?;
            terminated = matches!(statement.kind, StatementKind::Label(_));
            statements.push(statement);
        }
    }

    /// One statement; only the first of a batch may be a procedure's name alone.
    pub(super) fn statement(&mut self, first_of_batch: bool) -> Parsed<Statement> {
        let (line, start) = (self.line(), self.token.start);
        let around = std::mem::take(&mut self.nested_changes);
        self.charge(STATEMENT_BYTES)?;
        self.height = 0;
        self.xml_namespaces = None;
        let kind = match self.token.kind {
            TokenKind::Word => match self.keyword_statement()? {
                Some(kind) => kind,
                None => self.unnamed_statement(first_of_batch)?,
            },
            TokenKind::Symbol(b'(', 0) => StatementKind::Select(Box::new(self.query(Vec::new())?)),
            _ => self.unnamed_statement(first_of_batch)?,
        };
        self.refuse_nested_changes(&kind, line)?;
        self.nested_changes = around;
        let span = (place(start), place(self.previous.end));
        Ok(Statement { line, span, kind })
    }

    /// A label, or a procedure called without EXECUTE.
    fn unnamed_statement(&mut self, first_of_batch: bool) -> Parsed<StatementKind> {
        if !self.at_identifier() {
            return Err(self.unexpected());
        }
        if self.peek_symbol(1, b':')? {
            let label = self.identifier()?;
            self.expect(b':')?;
            return Ok(StatementKind::Label(label));
        }
        if !first_of_batch {
            return Err(self.unexpected());
        }
        self.execute().map(|execute| StatementKind::Execute(Box::new(execute)))
    }

    /// The statement that starts with the word under the cursor; `None` if no statement does.
    fn keyword_statement(&mut self) -> Parsed<Option<StatementKind>> {
        if self.at_any(FOREIGN_STARTS) {
            self.refuse_foreign_statement()?;
        }
        let mut buffer = [0_u8; 16];
        let word = self.current().as_bytes();
        let Some(upper) = buffer.get_mut(..word.len()) else {
            return Ok(None);
        };
        upper.copy_from_slice(word);
        upper.make_ascii_uppercase();
        let kind = match &*upper {
            b"SELECT" => StatementKind::Select(Box::new(self.query(Vec::new())?)),
            b"WITH" => self.with_statement()?,
            b"INSERT" => self.insert(Vec::new())?,
            b"UPDATE" => self.update(Vec::new())?,
            b"DELETE" => self.delete(Vec::new())?,
            b"TRUNCATE" => self.truncate()?,
            b"BULK" => self.bulk_insert()?,
            b"CREATE" => self.create()?,
            b"ALTER" => self.alter()?,
            b"DROP" => self.drop_statement()?,
            b"USE" => {
                self.advance()?;
                StatementKind::Use(self.identifier()?)
            }
            b"BACKUP" => self.backup()?,
            b"RESTORE" => self.restore()?,
            b"DBCC" => self.dbcc()?,
            b"CHECKPOINT" => self.checkpoint()?,
            b"SHUTDOWN" => self.shutdown()?,
            b"KILL" => self.kill()?,
            b"RECONFIGURE" => self.reconfigure()?,
            b"GRANT" | b"DENY" | b"REVOKE" => self.permission()?,
            _ => return self.flow_statement(),
        };
        Ok(Some(kind))
    }

    /// The same for control of flow, variables and cursors.
    fn flow_statement(&mut self) -> Parsed<Option<StatementKind>> {
        let kind = match self.current().to_ascii_uppercase().as_str() {
            "BEGIN" => self.begin()?,
            "COMMIT" => self.commit()?,
            "ROLLBACK" => self.rollback()?,
            "SAVE" => self.save()?,
            "DECLARE" => self.declare()?,
            "SET" => self.set()?,
            "IF" => self.if_statement()?,
            "WHILE" => self.while_statement()?,
            "BREAK" => self.one_word(StatementKind::Break)?,
            "CONTINUE" => self.one_word(StatementKind::Continue)?,
            "RETURN" => self.return_statement()?,
            "GOTO" => {
                self.advance()?;
                StatementKind::Goto(self.identifier()?)
            }
            "THROW" if !self.peek_symbol(1, b':')? => self.throw()?,
            "RAISERROR" => self.raise_error()?,
            "PRINT" => {
                self.advance()?;
                StatementKind::Print(self.expression()?)
            }
            "WAITFOR" => self.wait_for()?,
            "EXEC" | "EXECUTE" => {
                self.advance()?;
                match self.eat_word("AS")? {
                    true => self.execute_as()?,
                    false => StatementKind::Execute(Box::new(self.execute()?)),
                }
            }
            "REVERT" => self.revert()?,
            "OPEN" => {
                self.advance()?;
                self.refuse(&["MASTER", "SYMMETRIC"])?;
                StatementKind::OpenCursor(self.cursor_reference()?)
            }
            "FETCH" => self.fetch()?,
            "CLOSE" => {
                self.advance()?;
                self.refuse(&["MASTER", "SYMMETRIC", "ALL"])?;
                StatementKind::CloseCursor(self.cursor_reference()?)
            }
            "DEALLOCATE" => {
                self.advance()?;
                StatementKind::DeallocateCursor(self.cursor_reference()?)
            }
            "ENABLE" | "DISABLE" if self.peek_word(1, "TRIGGER")? => {
                let enable = self.any_word()? == "ENABLE";
                self.switch_triggers(enable)?
            }
            "MERGE" => self.merge(Vec::new())?,
            "READTEXT" => self.read_text()?,
            "WRITETEXT" => self.write_text()?,
            "UPDATETEXT" => self.update_text()?,
            "SETUSER" | "DUMP" | "LOAD" => {
                return Err(ParseError::not_supported(self.line(), &self.any_word()?));
            }
            _ => return Ok(None),
        };
        Ok(Some(kind))
    }

    fn one_word(&mut self, kind: StatementKind) -> Parsed<StatementKind> {
        self.advance()?;
        Ok(kind)
    }

    /// A statement with common table expressions.
    fn with_statement(&mut self) -> Parsed<StatementKind> {
        if self.peek_word(1, "CHANGE_TRACKING_CONTEXT")? {
            return Err(ParseError::not_supported(self.line(), self.slice(self.peek(1)?)));
        }
        let ctes = self.optional_with()?;
        if self.at_word("INSERT") {
            return self.insert(ctes);
        }
        if self.at_word("UPDATE") {
            return self.update(ctes);
        }
        if self.at_word("DELETE") {
            return self.delete(ctes);
        }
        if self.at_word("MERGE") {
            return self.merge(ctes);
        }
        Ok(StatementKind::Select(Box::new(self.query(ctes)?)))
    }
}
