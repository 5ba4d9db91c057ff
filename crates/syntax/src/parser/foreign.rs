//! Statements of T-SQL that are known by their words and not done: each is refused by name, so that none is a syntax error (sql-docs,
//! "Transact-SQL statements", the table of contents).

use super::{Parsed, Parser};
use crate::ast::{FunctionCall, Name};
use crate::error::ParseError;
use crate::lexer::TokenKind;

/// The words that such a statement begins with, none of them reserved but what SQL Server reserves.
const STATEMENTS: [&[&str]; 16] = [
    &["ADD", "SENSITIVITY", "CLASSIFICATION"],
    &["ADD", "SIGNATURE"],
    &["ADD", "COUNTER", "SIGNATURE"],
    &["ALTER", "DATABASE", "AUDIT", "SPECIFICATION"],
    &["ALTER", "DATABASE", "ENCRYPTION", "KEY"],
    &["ALTER", "DATABASE", "SCOPED", "CREDENTIAL"],
    &["COPY", "INTO"],
    &["DROP", "DATABASE", "AUDIT", "SPECIFICATION"],
    &["DROP", "DATABASE", "ENCRYPTION", "KEY"],
    &["DROP", "DATABASE", "SCOPED", "CREDENTIAL"],
    &["END", "CONVERSATION"],
    &["GET", "CONVERSATION", "GROUP"],
    &["GET", "TRANSMISSION", "STATUS"],
    &["MOVE", "CONVERSATION"],
    &["RENAME", "OBJECT"],
    &["SEND", "ON", "CONVERSATION"],
];

/// Functions with words of their own between their parentheses, and REGEXP_LIKE, which is a condition.
const CALLS: [&str; 7] = [
    "AI_GENERATE_CHUNKS",
    "AI_GENERATE_EMBEDDINGS",
    "REGEXP_LIKE",
    "SEMANTICKEYPHRASETABLE",
    "SEMANTICSIMILARITYDETAILSTABLE",
    "SEMANTICSIMILARITYTABLE",
    "VECTOR_SEARCH",
];

impl Parser<'_> {
    /// # Errors
    /// 40517 at the words of a statement that is not done.
    pub(super) fn refuse_foreign_statement(&self) -> Parsed<()> {
        for words in STATEMENTS {
            if self.at_words(words)? {
                return Err(ParseError::not_supported(self.line(), &words.join(" ")));
            }
        }
        let is_receive = self.at_word("RECEIVE") && self.receives()?;
        match is_receive || self.at_word("LINENO") {
            true => Err(ParseError::not_supported(
                self.line(),
                &self.current().to_ascii_uppercase(),
            )),
            false => Ok(()),
        }
    }

    /// # Errors
    /// 40517 at a function with a syntax of its own that is not done. No function of a user's has such a name: those are called by two parts.
    pub(super) fn refuse_foreign_call(&self, name: &Name) -> Parsed<()> {
        let is_foreign = |call: &&&str| name.parts.len() == 1 && name.object().eq_ignore_ascii_case(call);
        match CALLS.iter().find(is_foreign) {
            Some(call) => Err(ParseError::not_supported(self.previous.line, call)),
            None => Ok(()),
        }
    }

    /// # Errors
    /// 40517 at RETURNING of JSON_VALUE, behind an argument.
    pub(super) fn refuse_json_words(&self, call: &FunctionCall) -> Parsed<()> {
        let name = call.name.object();
        match name.eq_ignore_ascii_case("JSON_VALUE") {
            true => self.refuse(&["RETURNING"]),
            false => Ok(()),
        }
    }

    /// Whether what follows RECEIVE are columns, and not the arguments of a procedure of that name.
    fn receives(&self) -> Parsed<bool> {
        let first = self.peek(1)?;
        let is_column = self.is_identifier(first) || first.kind == TokenKind::Variable;
        Ok(self.peek_word(1, "TOP")?
            || self.peek_word(1, "CASE")?
            || self.peek_symbol(1, b'*')?
            || self.peek_symbol(1, b'(')?
            || first.kind == TokenKind::Variable && self.peek_symbol(2, b'=')?
            || is_column && (self.peek_word(2, "FROM")? || self.peek_word(2, "AS")? || self.peek_symbol(2, b',')?))
    }

    /// True at these words, one after the other.
    pub(super) fn at_words(&self, words: &[&str]) -> Parsed<bool> {
        for (ahead, word) in words.iter().enumerate() {
            if !self.peek_word(ahead, word)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
