//! Blocks, IF, WHILE, TRY, transactions, errors, DECLARE and cursors.

use super::{Parsed, Parser};
use crate::ast::*;
use crate::error::ParseError;
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// BEGIN in all its meanings.
    pub(super) fn begin(&mut self) -> Parsed<StatementKind> {
        self.expect_word("BEGIN")?;
        if self.at_any(&["TRAN", "TRANSACTION"]) {
            return self.begin_transaction();
        }
        self.refuse(&["DISTRIBUTED"])?;
        if self.at_word("DIALOG") || self.at_word("CONVERSATION") || self.at_word("ATOMIC") {
            return Err(ParseError::not_supported(self.line(), &self.any_word()?));
        }
        if self.eat_word("TRY")? {
            return self.try_catch();
        }
        let statements = self.block_statements()?;
        self.expect_word("END")?;
        Ok(StatementKind::Block(statements))
    }

    /// The statements up to END, at least one.
    fn block_statements(&mut self) -> Parsed<Vec<Statement>> {
        let statements = self.nested(|parser| parser.statements(&["END"]))?;
        if statements.is_empty() {
            return Err(self.unexpected());
        }
        Ok(statements)
    }

    fn try_catch(&mut self) -> Parsed<StatementKind> {
        let attempt = self.block_statements()?;
        self.expect_word("END")?;
        self.expect_word("TRY")?;
        self.eat(b';')?;
        self.expect_word("BEGIN")?;
        self.expect_word("CATCH")?;
        let handler = self.nested(|parser| parser.statements(&["END"]))?;
        self.expect_word("END")?;
        self.expect_word("CATCH")?;
        Ok(StatementKind::TryCatch { attempt, handler })
    }

    fn begin_transaction(&mut self) -> Parsed<StatementKind> {
        self.advance()?;
        let name = self.optional_transaction_name()?;
        let mut mark = None;
        if self.at_word("WITH") && self.eat_words(&["WITH", "MARK"])? {
            let has_description = self.at_string() || self.token.kind == TokenKind::Variable;
            let description = has_description.then(|| self.text_or_variable()).transpose()?;
            mark = Some(TransactionMark { description });
        }
        Ok(StatementKind::BeginTransaction { name, mark })
    }

    fn optional_transaction_name(&mut self) -> Parsed<Option<TransactionName>> {
        if self.token.kind == TokenKind::Variable {
            return self.variable().map(|name| Some(TransactionName::Variable(name)));
        }
        if self.at_identifier() && !self.peek_symbol(1, b':')? && !self.at_word("THROW") {
            let line = self.line();
            let name = self.identifier()?;
            if name.text.chars().count() > TRANSACTION_NAME_CHARACTERS_MAX {
                let shown: String = name.text.chars().take(TRANSACTION_NAME_CHARACTERS_MAX).collect();
                let text = format!("The identifier that starts with '{shown}' is too long. Maximum length is 32.");
                let error = ParseError::new(103, line, text);
                return Err(ParseError { state: 2, ..error });
            }
            return Ok(Some(TransactionName::Name(name)));
        }
        Ok(None)
    }

    /// The words after COMMIT and ROLLBACK, and a name if TRANSACTION stands.
    fn ended_transaction(&mut self) -> Parsed<Option<TransactionName>> {
        if self.eat_word("TRAN")? || self.eat_word("TRANSACTION")? {
            return self.optional_transaction_name();
        }
        self.eat_word("WORK")?;
        Ok(None)
    }

    pub(super) fn commit(&mut self) -> Parsed<StatementKind> {
        self.expect_word("COMMIT")?;
        let name = self.ended_transaction()?;
        let mut delayed_durability = None;
        if self.at_word("WITH") && self.peek_symbol(1, b'(')? {
            self.advance()?;
            self.advance()?;
            self.expect_word("DELAYED_DURABILITY")?;
            self.expect(b'=')?;
            delayed_durability = Some(self.on_or_off()?);
            self.expect(b')')?;
        }
        Ok(StatementKind::CommitTransaction {
            name,
            delayed_durability,
        })
    }

    pub(super) fn rollback(&mut self) -> Parsed<StatementKind> {
        self.expect_word("ROLLBACK")?;
        Ok(StatementKind::RollbackTransaction {
            name: self.ended_transaction()?,
        })
    }

    pub(super) fn save(&mut self) -> Parsed<StatementKind> {
        self.expect_word("SAVE")?;
        if !self.eat_word("TRAN")? {
            self.expect_word("TRANSACTION")?;
        }
        match self.optional_transaction_name()? {
            Some(name) => Ok(StatementKind::SaveTransaction(name)),
            None => Err(self.unexpected()),
        }
    }

    pub(super) fn if_statement(&mut self) -> Parsed<StatementKind> {
        self.expect_word("IF")?;
        let condition = self.condition()?;
        let then = self.controlled_statement()?;
        // One semicolon may end the first statement before ELSE.
        if self.at(b';') && self.peek_word(1, "ELSE")? {
            self.advance()?;
        }
        let otherwise = if self.eat_word("ELSE")? {
            Some(self.controlled_statement()?)
        } else {
            None
        };
        Ok(StatementKind::If(Box::new(If {
            condition,
            then,
            otherwise,
        })))
    }

    pub(super) fn while_statement(&mut self) -> Parsed<StatementKind> {
        self.expect_word("WHILE")?;
        let condition = self.condition()?;
        let body = self.controlled_statement()?;
        Ok(StatementKind::While(Box::new(While { condition, body })))
    }

    /// The one statement an IF, ELSE or WHILE governs.
    fn controlled_statement(&mut self) -> Parsed<Statement> {
        self.nested(|parser| parser.statement(false))
    }

    pub(super) fn return_statement(&mut self) -> Parsed<StatementKind> {
        self.expect_word("RETURN")?;
        let value = match self.token.kind {
            TokenKind::End => false,
            TokenKind::Symbol(symbol, _) => matches!(symbol, b'(' | b'-' | b'+' | b'~'),
            TokenKind::Word => {
                let functions = [
                    "NULL",
                    "CASE",
                    "CONVERT",
                    "COALESCE",
                    "NULLIF",
                    "LEFT",
                    "RIGHT",
                    "CURRENT_TIMESTAMP",
                ];
                (self.at_identifier() && !self.peek_symbol(1, b':')?) || self.at_any(&functions)
            }
            _ => true,
        };
        Ok(StatementKind::Return(if value {
            Some(self.expression()?)
        } else {
            None
        }))
    }

    pub(super) fn throw(&mut self) -> Parsed<StatementKind> {
        self.expect_word("THROW")?;
        let arguments = matches!(self.token.kind, TokenKind::Number | TokenKind::Variable);
        if !arguments {
            return Ok(StatementKind::Throw(None));
        }
        let number = self.option_value()?;
        self.expect(b',')?;
        let message = self.text_or_variable()?;
        self.expect(b',')?;
        let state = self.option_value()?;
        Ok(StatementKind::Throw(Some(Box::new(Throw { number, message, state }))))
    }

    pub(super) fn raise_error(&mut self) -> Parsed<StatementKind> {
        self.expect_word("RAISERROR")?;
        self.expect(b'(')?;
        let message = self.option_value()?;
        self.expect(b',')?;
        let severity = self.option_value()?;
        self.expect(b',')?;
        let state = self.option_value()?;
        let mut arguments = Vec::new();
        while self.eat(b',')? {
            arguments.push(self.argument_value()?);
        }
        self.expect(b')')?;
        let mut error = RaiseError {
            message,
            severity,
            state,
            arguments,
            no_wait: false,
            log: false,
            set_error: false,
        };
        if self.at_word("WITH") && !self.peek_word(2, "AS")? {
            self.advance()?;
            self.list(|parser| {
                match parser.any_word()?.as_str() {
                    "NOWAIT" => error.no_wait = true,
                    "LOG" => error.log = true,
                    "SETERROR" => error.set_error = true,
                    _ => {
                        return Err(crate::error::ParseError::near(
                            parser.previous.line,
                            parser.slice(parser.previous),
                        ));
                    }
                }
                Ok(())
            })?;
        }
        Ok(StatementKind::RaiseError(Box::new(error)))
    }

    pub(super) fn wait_for(&mut self) -> Parsed<StatementKind> {
        self.expect_word("WAITFOR")?;
        if self.at(b'(') {
            return Err(ParseError::not_supported(self.line(), "WAITFOR (statement)"));
        }
        let kind = if self.eat_word("DELAY")? {
            WaitForKind::Delay
        } else {
            self.expect_word("TIME")?;
            WaitForKind::Time
        };
        Ok(StatementKind::WaitFor {
            kind,
            value: self.text_or_variable()?,
        })
    }

    pub(super) fn declare(&mut self) -> Parsed<StatementKind> {
        self.expect_word("DECLARE")?;
        if self.at_identifier() {
            return self.declare_cursor();
        }
        self.list(Self::declaration).map(StatementKind::Declare)
    }

    fn declaration(&mut self) -> Parsed<Declaration> {
        let line = self.line();
        let variable = self.variable()?;
        self.eat_word("AS")?;
        let kind = if self.eat_word("TABLE")? {
            DeclarationKind::Table(self.table_elements()?)
        } else if self.eat_word("CURSOR")? {
            DeclarationKind::Cursor
        } else {
            let data_type = self.data_type()?;
            let initial = if self.eat(b'=')? {
                Some(self.expression()?)
            } else {
                None
            };
            DeclarationKind::Scalar { data_type, initial }
        };
        Ok(Declaration { line, variable, kind })
    }

    fn declare_cursor(&mut self) -> Parsed<StatementKind> {
        let name = self.identifier()?.text;
        // The ISO form has INSENSITIVE and SCROLL before the word CURSOR.
        let mut options = Vec::new();
        while self.at_any(&["INSENSITIVE", "SCROLL"]) {
            options.push(self.any_word()?);
        }
        self.cursor_definition(name, options)
            .map(|cursor| StatementKind::DeclareCursor(Box::new(cursor)))
    }

    /// `CURSOR options FOR query [FOR READ ONLY | UPDATE [OF columns]] [OPTION (hints)]`.
    pub(super) fn cursor_definition(&mut self, name: String, mut options: Vec<String>) -> Parsed<DeclareCursor> {
        let options_before = options.len();
        self.expect_word("CURSOR")?;
        while self.token.kind == TokenKind::Word && self.at_identifier() {
            options.push(self.any_word()?);
        }
        self.expect_word("FOR")?;
        let ctes = self.optional_with()?;
        let query = self.query(ctes)?;
        let mut cursor = DeclareCursor {
            name,
            options,
            options_before,
            query,
            for_update: false,
            update_columns: Vec::new(),
            read_only: false,
        };
        if self.eat_word("FOR")? {
            if self.eat_word("UPDATE")? {
                cursor.for_update = true;
                if self.eat_word("OF")? {
                    cursor.update_columns = self.list(Self::updated_column)?;
                }
            } else {
                self.expect_word("READ")?;
                self.expect_word("ONLY")?;
                cursor.read_only = true;
            }
            // Beside FOR UPDATE OF, hints stand behind it (sql-docs, DECLARE CURSOR).
            if self.at_word("OPTION") && cursor.query.hints.is_empty() {
                cursor.query.hints = self.optional_query_hints()?;
            }
        }
        Ok(cursor)
    }

    /// A column of FOR UPDATE OF, of which the last part counts.
    fn updated_column(&mut self) -> Parsed<Identifier> {
        let mut name = self.name()?;
        Ok(name.parts.pop().unwrap_or(Identifier::new("")))
    }

    /// `[GLOBAL] name` or `@name`.
    pub(super) fn cursor_reference(&mut self) -> Parsed<CursorReference> {
        if self.token.kind == TokenKind::Variable {
            return Ok(CursorReference {
                name: self.variable()?,
                global: false,
            });
        }
        let global = self.at_word("GLOBAL") && self.is_identifier(self.peek(1)?);
        if global {
            self.advance()?;
        }
        Ok(CursorReference {
            name: self.identifier()?.text,
            global,
        })
    }

    pub(super) fn fetch(&mut self) -> Parsed<StatementKind> {
        self.expect_word("FETCH")?;
        let mut direction = FetchDirection::Next;
        let from = self.at_word("FROM");
        let directed = !from && (self.peek_word(1, "FROM")? || self.at_any(&["ABSOLUTE", "RELATIVE"]));
        if directed {
            direction = match self.any_word()?.as_str() {
                "NEXT" => FetchDirection::Next,
                "PRIOR" => FetchDirection::Prior,
                "FIRST" => FetchDirection::First,
                "LAST" => FetchDirection::Last,
                "ABSOLUTE" => FetchDirection::Absolute(self.option_value()?),
                "RELATIVE" => FetchDirection::Relative(self.option_value()?),
                _ => {
                    return Err(crate::error::ParseError::near(
                        self.previous.line,
                        self.slice(self.previous),
                    ));
                }
            };
        }
        if from || directed {
            self.expect_word("FROM")?;
        }
        let cursor = self.cursor_reference()?;
        let into = if self.eat_word("INTO")? {
            self.list(Self::variable)?
        } else {
            Vec::new()
        };
        Ok(StatementKind::FetchCursor(Box::new(FetchCursor {
            direction,
            cursor,
            into,
        })))
    }
}
