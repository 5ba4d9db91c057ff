//! CREATE DEFAULT and CREATE RULE.

use super::{Parsed, Parser};
use crate::ast::{CreateStandalone, StatementKind};
use crate::error::ParseError;
use crate::lexer::{Lexer, TokenKind};

/// State of 111 for each of the two, as SQL Server 2025 sends it (probed by the SqlServerSimulator project).
const STATES: [u8; 2] = [13, 12];

impl Parser<'_> {
    /// A default or rule, from that word on; `start` is where its CREATE begins. It must be alone in its batch.
    ///
    /// # Errors
    /// 111 behind another statement.
    pub(super) fn create_standalone(&mut self, start: usize) -> Parsed<StatementKind> {
        let is_rule = self.at_word("RULE");
        self.advance()?;
        let statement = if is_rule { "CREATE RULE" } else { "CREATE DEFAULT" };
        self.require_first(start, statement).map_err(|error| ParseError {
            state: STATES[usize::from(is_rule)],
            ..error
        })?;
        let name = self.name()?;
        self.expect_word("AS")?;
        let from = self.token.start;
        let expression = match is_rule {
            true => self.condition()?,
            false => self.expression()?,
        };
        let written = self.text_between(from, self.previous.end);
        let mut variables = Vec::new();
        let stored = self.stored_text(written, is_rule.then_some(&mut variables))?;
        self.eat(b';')?;
        self.expect_end()?;
        Ok(StatementKind::CreateStandalone(Box::new(CreateStandalone {
            name,
            is_rule,
            expression,
            stored,
            variables: variables.len(),
            text: self.text.to_owned(),
        })))
    }

    /// A text as it means the same with QUOTED_IDENTIFIER on; of a rule, with variables as names in brackets, each of which is noted once.
    fn stored_text(&self, written: &str, mut variables: Option<&mut Vec<String>>) -> Parsed<String> {
        let mut lexer = Lexer::new(written, self.lexer.quoted_identifier);
        let (mut stored, mut copied) = (String::with_capacity(written.len()), 0);
        loop {
            let token = lexer.next_token()?;
            let own = written.get(token.start..token.end).unwrap_or_default();
            let changed = match token.kind {
                TokenKind::End => break,
                TokenKind::Variable => {
                    let Some(variables) = &mut variables else { continue };
                    let name = own.to_lowercase();
                    if !variables.contains(&name) {
                        variables.push(name.clone());
                    }
                    format!("[{name}]")
                }
                TokenKind::Text if own.starts_with('"') => {
                    let inner = own.get(1..own.len() - 1).unwrap_or_default();
                    format!("'{}'", inner.replace("\"\"", "\"").replace('\'', "''"))
                }
                _ => continue,
            };
            stored.push_str(written.get(copied..token.start).unwrap_or_default());
            stored.push_str(&changed);
            copied = token.end;
        }
        stored.push_str(written.get(copied..).unwrap_or_default());
        Ok(stored)
    }
}
