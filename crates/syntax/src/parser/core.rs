//! The parser's state, its small steps, and names.

use super::Parsed;
use crate::ast::{Expression, Identifier, Name, NodeNumber, XmlNamespaces};
use crate::error::ParseError;
use crate::keywords::is_reserved;
use crate::lexer::{Lexer, ROW_PLACE, Token, TokenKind};
use crate::resources::Resources;

/// Greatest height of a tree that is built without recursion: each operator of a chain such as `1 + 1 + 1`, each join of a
/// chain of joins. Such a tree takes no stack to build, but each level of it does wherever it is walked.
const HEIGHT_MAX: u32 = 1_000;

/// What a token adds to the tree beside its text, on average: names, lists and statements are made of tokens.
const TOKEN_BYTES: u64 = 64;

/// The function that answers text pointers.
const TEXT_POINTER: &[u8] = b"TEXTPTR";

/// A place in a text, as trees keep it.
pub(super) fn place(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// A parser over one text.
pub struct Parser<'a> {
    pub(super) text: &'a str,
    resources: &'a mut dyn Resources,
    pub(super) lexer: Lexer<'a>,
    /// The token under the cursor.
    pub(super) token: Token,
    /// The token before it.
    pub(super) previous: Token,
    /// Memory the tree so far takes, in bytes, estimated.
    tree_bytes: u64,
    /// Height of the tallest tree made since this was last put to 0.
    pub(super) height: u32,
    /// The last number given.
    last_number: u32,
    /// CASE and IIF around the cursor.
    case_level: u32,
    /// Whether the cursor is in a module's statements.
    pub(super) is_in_module: bool,
    /// Whether the cursor is in the query of a view or of an inline function.
    pub(super) is_inline_definition: bool,
    /// Whether the cursor is in a query inside of a statement.
    pub(super) is_in_subquery: bool,
    /// WITH XMLNAMESPACES of the statement that is read.
    pub(super) xml_namespaces: XmlNamespaces,
    /// Whether the text asks anywhere where rows are stored, by `%%physloc%%` or TEXTPTR.
    pub(super) shows_row_places: bool,
    /// Changes read as sources of FROM in the statement that is read, which no INSERT has taken yet.
    pub(super) nested_changes: u32,
    /// Whether the cursor is in a change that is a source of FROM.
    pub(super) is_in_nested_change: bool,
}

/// "SQL Server allows for only 10 levels of nesting in CASE expressions" (SQL Server docs, CASE), and IIF counts as one. The limit is
/// that of the written text: a CASE with many branches is one level.
const CASE_LEVEL_MAX: u32 = 10;

impl<'a> Parser<'a> {
    /// A parser at the start of `text`.
    pub fn new(text: &'a str, quoted_identifier: bool, resources: &'a mut dyn Resources) -> Parsed<Self> {
        let mut lexer = Lexer::new(text, quoted_identifier);
        let previous = Token {
            kind: TokenKind::End,
            start: 0,
            end: 0,
            line: 1,
        };
        let token = lexer.next_token()?;
        Ok(Self {
            text,
            resources,
            lexer,
            token,
            previous,
            tree_bytes: 0,
            height: 0,
            last_number: 0,
            case_level: 0,
            is_in_module: false,
            is_inline_definition: false,
            is_in_subquery: false,
            xml_namespaces: None,
            shows_row_places: has_row_place(text) || has_text_pointer(text),
            nested_changes: 0,
            is_in_nested_change: false,
        })
    }

    /// The next number of a node that may have a plan.
    pub(super) fn next_number(&mut self) -> NodeNumber {
        self.last_number += 1;
        NodeNumber::new(self.last_number)
    }

    /// The expression with a number.
    pub(super) fn numbered(&mut self, expression: Expression) -> Expression {
        Expression {
            number: self.next_number(),
            ..expression
        }
    }

    /// Runs a step that may come back to itself, one level deeper.
    pub(super) fn nested<T>(&mut self, step: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if !self.resources.has_stack() {
            return Err(ParseError::nested_too_deeply(self.token.line));
        }
        step(self)
    }

    /// Reads a CASE or IIF, whose parts may hold others; error 125 when there are too many in one another.
    pub(super) fn in_case<T>(&mut self, step: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.case_level == CASE_LEVEL_MAX {
            let error = ParseError::new(125, self.line(), "Case expressions may only be nested to level 10.");
            return Err(ParseError { state: 4, ..error });
        }
        self.case_level += 1;
        let read = step(self);
        self.case_level -= 1;
        read
    }

    /// Asks for so many bytes more of the tree; error 701 when there is no memory for them.
    pub(super) fn charge(&mut self, bytes: u64) -> Parsed<()> {
        self.tree_bytes = self.tree_bytes.saturating_add(bytes);
        if self.resources.grow_tree(self.tree_bytes) {
            Ok(())
        } else {
            Err(ParseError::insufficient_memory(self.token.line))
        }
    }

    /// What the tree takes, in bytes, estimated.
    pub(super) fn tree_bytes(&self) -> u64 {
        self.tree_bytes
    }

    /// Notes that the tree under construction grew by one level.
    pub(super) fn grow(&mut self) -> Parsed<()> {
        self.height += 1;
        if self.height > HEIGHT_MAX {
            return Err(ParseError::nested_too_deeply(self.token.line));
        }
        Ok(())
    }

    /// The bytes of a token.
    pub(super) fn slice(&self, token: Token) -> &'a str {
        self.text.get(token.start..token.end).unwrap_or_default()
    }

    /// The text under the cursor.
    pub(super) fn current(&self) -> &'a str {
        self.slice(self.token)
    }

    /// The line under the cursor.
    pub(super) fn line(&self) -> u32 {
        self.token.line
    }

    /// Moves on and returns the token passed.
    pub(super) fn advance(&mut self) -> Parsed<Token> {
        if !self.resources.spend_step() {
            return Err(ParseError::cancelled(self.token.line));
        }
        self.charge((self.token.end - self.token.start) as u64 + TOKEN_BYTES)?;
        self.previous = self.token;
        self.token = self.lexer.next_token()?;
        Ok(self.previous)
    }

    /// The token `ahead` places after the current one (1 is the next).
    pub(super) fn peek(&self, ahead: usize) -> Parsed<Token> {
        let mut lexer = self.lexer;
        let mut token = self.token;
        for _ in 0..ahead {
            token = lexer.next_token()?;
        }
        Ok(token)
    }

    /// True if the token `ahead` places on is this unquoted word.
    pub(super) fn peek_word(&self, ahead: usize, word: &str) -> Parsed<bool> {
        let token = self.peek(ahead)?;
        Ok(token.kind == TokenKind::Word && self.slice(token).eq_ignore_ascii_case(word))
    }

    /// True if the token `ahead` places on is this one-byte symbol.
    pub(super) fn peek_symbol(&self, ahead: usize, symbol: u8) -> Parsed<bool> {
        Ok(self.peek(ahead)?.kind == TokenKind::Symbol(symbol, 0))
    }

    /// True at the end of the text.
    pub(super) fn at_end(&self) -> bool {
        self.token.kind == TokenKind::End
    }

    /// True at this one-byte symbol.
    pub(super) fn at(&self, symbol: u8) -> bool {
        self.token.kind == TokenKind::Symbol(symbol, 0)
    }

    /// True at this unquoted word, in any letter case.
    pub(super) fn at_word(&self, word: &str) -> bool {
        self.token.kind == TokenKind::Word && self.current().eq_ignore_ascii_case(word)
    }

    /// True at any of these unquoted words.
    pub(super) fn at_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.at_word(word))
    }

    /// Passes this symbol if it is here.
    pub(super) fn eat(&mut self, symbol: u8) -> Parsed<bool> {
        let here = self.at(symbol);
        if here {
            self.advance()?;
        }
        Ok(here)
    }

    /// Passes this word if it is here.
    pub(super) fn eat_word(&mut self, word: &str) -> Parsed<bool> {
        let here = self.at_word(word);
        if here {
            self.advance()?;
        }
        Ok(here)
    }

    /// Passes these words if they are all here.
    pub(super) fn eat_words(&mut self, words: &[&str]) -> Parsed<bool> {
        for (ahead, word) in words.iter().enumerate() {
            if !self.peek_word(ahead, word)? {
                return Ok(false);
            }
        }
        for _ in words {
            self.advance()?;
        }
        Ok(true)
    }

    /// Passes this symbol or fails.
    pub(super) fn expect(&mut self, symbol: u8) -> Parsed<()> {
        if self.eat(symbol)? {
            Ok(())
        } else {
            Err(self.unexpected())
        }
    }

    /// Passes this word or fails.
    pub(super) fn expect_word(&mut self, word: &str) -> Parsed<()> {
        if self.eat_word(word)? {
            Ok(())
        } else {
            Err(self.unexpected())
        }
    }

    /// Fails unless the text is used up.
    pub(super) fn expect_end(&self) -> Parsed<()> {
        if self.at_end() { Ok(()) } else { Err(self.unexpected()) }
    }

    /// The syntax error of the token under the cursor. At the end of the text SQL Server names the last token, and calls
    /// it no keyword even if it is one.
    pub(super) fn unexpected(&self) -> ParseError {
        match self.token.kind {
            TokenKind::End => ParseError::near(self.previous.line, &self.plain(self.previous)),
            TokenKind::Word if is_reserved(self.current()) => ParseError::near_keyword(self.line(), self.current()),
            _ => ParseError::near(self.line(), &self.plain(self.token)),
        }
    }

    /// A token's text without its quotes.
    pub(super) fn plain(&self, token: Token) -> String {
        let text = self.slice(token);
        match token.kind {
            TokenKind::Bracketed => unquoted(text, 1, ']'),
            TokenKind::DoubleQuoted => unquoted(text, 1, '"'),
            TokenKind::Text if text.starts_with('"') => unquoted(text, 1, '"'),
            TokenKind::Text => unquoted(text, 1, '\''),
            TokenKind::NationalText => unquoted(text, 2, '\''),
            _ => text.to_owned(),
        }
    }

    /// True if the token can be an identifier.
    pub(super) fn is_identifier(&self, token: Token) -> bool {
        match token.kind {
            TokenKind::Bracketed | TokenKind::DoubleQuoted => true,
            TokenKind::Word => !is_reserved(self.slice(token)),
            _ => false,
        }
    }

    /// True at an identifier.
    pub(super) fn at_identifier(&self) -> bool {
        self.is_identifier(self.token)
    }

    /// True at an identifier that can be an alias; one before a colon is the label of the next statement, and
    /// WINDOW may begin a clause.
    pub(super) fn at_alias(&self) -> Parsed<bool> {
        Ok(self.at_identifier() && !self.peek_symbol(1, b':')? && !self.at_window_clause()?)
    }

    pub(super) fn identifier(&mut self) -> Parsed<Identifier> {
        if !self.at_identifier() {
            self.refuse_graph_column()?;
            return Err(self.unexpected());
        }
        self.take_identifier()
    }

    /// # Errors
    /// 40517 at a column of nodes and edges where a name is wanted, and at `$IDENTITY` and `$ROWGUID` behind the name of their table.
    fn refuse_graph_column(&self) -> Parsed<()> {
        let text = self.current().to_ascii_uppercase();
        let is_known = ["$EDGE_ID", "$FROM_ID", "$IDENTITY", "$NODE_ID", "$ROWGUID", "$TO_ID"].contains(&text.as_str());
        match self.token.kind == TokenKind::PseudoColumn && is_known {
            true => Err(ParseError::not_supported(self.line(), &text)),
            false => Ok(()),
        }
    }

    /// The token under the cursor as an identifier, whatever word it is.
    pub(super) fn take_identifier(&mut self) -> Parsed<Identifier> {
        let token = self.advance()?;
        let text = self.plain(token);
        if text.is_empty() {
            let message = "An object or column name is missing or empty. For SELECT INTO statements, verify each column \
                           has a name. For other statements, look for empty alias names. Aliases defined as \"\" or [] \
                           are not allowed. Change the alias to a valid name.";
            return Err(ParseError::new(1038, token.line, message));
        }
        Ok(Identifier {
            text,
            quoted: !matches!(token.kind, TokenKind::Word | TokenKind::RowPlace),
        })
    }

    /// An unquoted word of any kind, reserved or not, in upper case.
    pub(super) fn any_word(&mut self) -> Parsed<String> {
        if self.token.kind != TokenKind::Word {
            return Err(self.unexpected());
        }
        let token = self.advance()?;
        Ok(self.slice(token).to_ascii_uppercase())
    }

    /// A name of up to four parts; parts in the middle may be empty.
    pub(super) fn name(&mut self) -> Parsed<Name> {
        self.name_of(false)
    }

    /// The name of a column in an expression: its last part may be `%%physloc%%`.
    pub(super) fn column_name(&mut self) -> Parsed<Name> {
        self.name_of(true)
    }

    fn name_of(&mut self, is_column: bool) -> Parsed<Name> {
        let at_place = |parser: &Self| is_column && parser.token.kind == TokenKind::RowPlace;
        if at_place(self) {
            return Ok(Name {
                parts: vec![self.take_identifier()?],
            });
        }
        // `..t`: what is missing before the first dot is the default, as between two.
        let mut parts = match self.at(b'.') {
            true => vec![Identifier::new("")],
            false => vec![self.identifier()?],
        };
        while self.at(b'.') && !self.peek_symbol(1, b'*')? {
            self.advance()?;
            if at_place(self) {
                parts.push(self.take_identifier()?);
                break;
            } else if is_column && self.at_partition_scope() {
                parts.push(self.partition_scope()?);
            } else if self.at(b'.') {
                parts.push(Identifier::new(""));
            } else {
                parts.push(self.identifier()?);
            }
            if parts.len() > 4 {
                return Err(self.too_many_prefixes(&parts));
            }
        }
        Ok(Name { parts })
    }

    fn too_many_prefixes(&self, parts: &[Identifier]) -> ParseError {
        let prefixes: Vec<_> = parts
            .iter()
            .take(parts.len() - 1)
            .map(|part| part.text.as_str())
            .collect();
        let object = parts.last().map_or("", |part| part.text.as_str());
        let text = format!(
            "The object name '{}.{object}' contains more than the maximum number of prefixes. The maximum is 3.",
            prefixes.join(".")
        );
        ParseError::new(117, self.previous.line, text)
    }

    /// A variable's name, with its `@`.
    pub(super) fn variable(&mut self) -> Parsed<String> {
        if self.token.kind != TokenKind::Variable {
            return Err(self.unexpected());
        }
        let token = self.advance()?;
        if self.at(b'.') && self.is_identifier(self.peek(1)?) && self.peek_symbol(2, b'(')? {
            let method = self.slice(self.peek(1)?).to_owned();
            return Err(ParseError::not_supported(self.line(), &format!("method {method}")));
        }
        Ok(self.slice(token).to_owned())
    }

    /// True at a string constant.
    pub(super) fn at_string(&self) -> bool {
        matches!(self.token.kind, TokenKind::Text | TokenKind::NationalText)
    }

    /// The value of a string constant.
    pub(super) fn string(&mut self) -> Parsed<String> {
        if !self.at_string() {
            return Err(self.unexpected());
        }
        let token = self.advance()?;
        Ok(self.plain(token))
    }

    /// A whole number without sign that fits.
    pub(super) fn whole_number<N: std::str::FromStr>(&mut self) -> Parsed<N> {
        let value = match self.token.kind {
            TokenKind::Number => self.current().parse().ok(),
            _ => None,
        };
        match value {
            Some(value) => {
                self.advance()?;
                Ok(value)
            }
            None => Err(self.unexpected()),
        }
    }

    /// One or more items with commas between.
    pub(super) fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.eat(b',')? {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// One or more items with commas between, in parentheses.
    pub(super) fn enclosed<T>(&mut self, item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        self.expect(b'(')?;
        let items = self.list(item)?;
        self.expect(b')')?;
        Ok(items)
    }

    /// Identifiers in parentheses, if a parenthesis is here.
    pub(super) fn optional_columns(&mut self) -> Parsed<Vec<Identifier>> {
        if self.at(b'(') {
            self.enclosed(Self::identifier)
        } else {
            Ok(Vec::new())
        }
    }

    /// The source text between two offsets.
    pub(super) fn text_between(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }
}

/// The inside of a quoted piece: `open` bytes of opening, one byte of closing, doubled closings undone.
fn unquoted(text: &str, open: usize, close: char) -> String {
    let inner = text.get(open..text.len().saturating_sub(1)).unwrap_or_default();
    if !inner.contains(close) {
        return inner.to_owned();
    }
    let doubled: String = [close, close].iter().collect();
    inner.replace(&doubled, &close.to_string())
}

/// Whether `%%physloc%%` stands somewhere in a text, be it in a comment.
fn has_row_place(text: &str) -> bool {
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|byte| *byte == b'%') {
        rest = rest.get(at..).unwrap_or_default();
        let word = rest.get(..ROW_PLACE.len()).unwrap_or_default();
        if word.eq_ignore_ascii_case(ROW_PLACE.as_bytes()) {
            return true;
        }
        rest = rest.get(1..).unwrap_or_default();
    }
    false
}

/// Whether `TEXTPTR` stands somewhere in a text, be it in a comment.
fn has_text_pointer(text: &str) -> bool {
    let mut words = text.as_bytes().windows(TEXT_POINTER.len());
    words.any(|word| word.eq_ignore_ascii_case(TEXT_POINTER))
}
