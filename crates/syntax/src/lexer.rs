//! The lexer of T-SQL: cuts a batch into tokens, one at a time, in one forward walk.
//!
//! Contract:
//! - Tokens borrow nothing: each is a span of byte offsets into the text, with its line from 1. The lexer itself is a
//!   small copyable cursor, so looking ahead is a copy and costs no memory.
//! - All Unicode white space, U+200B, U+FEFF and control characters separate tokens. `/* */` comments nest.
//! - Each byte of the text is read a bounded number of times, so a batch of any size is tokenized in linear time.

use crate::error::ParseError;

/// Longest identifier, in characters (SQL Server docs, "Database identifiers").
const IDENTIFIER_CHARACTERS_MAX: usize = 128;

/// The undocumented name of the place where a row is stored (Paul Randal, "SQL Server 2008: New (undocumented) physical row locator
/// function").
pub const ROW_PLACE: &str = "%%physloc%%";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// The end of the text.
    End,
    /// An unquoted word: identifier, keyword, or `#temp` name.
    Word,
    /// `[name]`.
    Bracketed,
    /// `"name"`, when QUOTED_IDENTIFIER is on.
    DoubleQuoted,
    /// `@name`.
    Variable,
    /// `@@name`.
    GlobalVariable,
    /// `$name`.
    PseudoColumn,
    /// `%%physloc%%`: where a row is stored.
    RowPlace,
    /// `'text'` (and `"text"` when QUOTED_IDENTIFIER is off).
    Text,
    /// `N'text'`.
    NationalText,
    /// Digits with or without a point, no exponent.
    Number,
    /// A number with an exponent.
    Float,
    /// `$1.5`.
    Money,
    /// `0x...`.
    Binary,
    /// A symbol of one or two bytes; the second is 0 for one.
    Symbol(u8, u8),
}

/// A token: kind, span and line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    pub kind: TokenKind,
    /// Offset of its first byte.
    pub start: usize,
    /// Offset after its last byte.
    pub end: usize,
    /// Line of its first byte, from 1.
    pub line: u32,
}

#[derive(Debug, Clone, Copy)]
pub struct Lexer<'a> {
    text: &'a str,
    position: usize,
    line: u32,
    /// Whether `"x"` is an identifier (true) or a string.
    pub quoted_identifier: bool,
}

impl<'a> Lexer<'a> {
    /// A cursor at the start of `text`.
    pub fn new(text: &'a str, quoted_identifier: bool) -> Self {
        Self {
            text,
            position: 0,
            line: 1,
            quoted_identifier,
        }
    }

    /// A cursor at a token's first byte. Lines count from there.
    pub fn starting_at(text: &'a str, position: usize, quoted_identifier: bool) -> Self {
        Self {
            position,
            ..Self::new(text, quoted_identifier)
        }
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.position + ahead).copied().unwrap_or(0)
    }

    fn character(&self) -> Option<char> {
        self.text.get(self.position..)?.chars().next()
    }

    /// The next token; [`TokenKind::End`] forever once the text is used up.
    pub fn next_token(&mut self) -> Result<Token, ParseError> {
        self.skip_blanks()?;
        let start = self.position;
        let line = self.line;
        let kind = self.scan()?;
        Ok(Token {
            kind,
            start,
            end: self.position,
            line,
        })
    }

    fn scan(&mut self) -> Result<TokenKind, ParseError> {
        let first = self.byte(0);
        match first {
            0 if self.position >= self.text.len() => Ok(TokenKind::End),
            b'N' | b'n' if self.byte(1) == b'\'' => {
                self.position += 1;
                self.quoted(b'\'')?;
                Ok(TokenKind::NationalText)
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'#' => self.word(TokenKind::Word),
            b'0'..=b'9' => Ok(self.number()),
            b'.' if self.byte(1).is_ascii_digit() => Ok(self.number()),
            b'\'' => {
                self.quoted(b'\'')?;
                Ok(TokenKind::Text)
            }
            b'"' => {
                let start = self.position;
                self.quoted(b'"')?;
                if !self.quoted_identifier {
                    return Ok(TokenKind::Text);
                }
                self.check_length(start)?;
                Ok(TokenKind::DoubleQuoted)
            }
            b'[' => {
                let start = self.position;
                self.quoted(b']')?;
                self.check_length(start)?;
                Ok(TokenKind::Bracketed)
            }
            b'@' if self.byte(1) == b'@' => self.word(TokenKind::GlobalVariable),
            b'@' => self.word(TokenKind::Variable),
            b'$' => self.dollar(),
            b'%' if self.at_row_place() => {
                self.position += ROW_PLACE.len();
                Ok(TokenKind::RowPlace)
            }
            0x80.. => match self.character() {
                Some(letter) if letter.is_alphabetic() => self.word(TokenKind::Word),
                other => Err(ParseError::near(
                    self.line,
                    &other.map(String::from).unwrap_or_default(),
                )),
            },
            _ => self.symbol(),
        }
    }

    fn at_row_place(&self) -> bool {
        let rest = self.text.as_bytes().get(self.position..).unwrap_or_default();
        rest.get(..ROW_PLACE.len())
            .is_some_and(|word| word.eq_ignore_ascii_case(ROW_PLACE.as_bytes()))
    }

    /// Skips white space and comments.
    fn skip_blanks(&mut self) -> Result<(), ParseError> {
        loop {
            match self.byte(0) {
                b'\n' => {
                    self.line = self.line.saturating_add(1);
                    self.position += 1;
                }
                0 if self.position >= self.text.len() => return Ok(()),
                0..=b' ' | 0x7f => self.position += 1,
                b'-' if self.byte(1) == b'-' => {
                    let rest = self.text.as_bytes().get(self.position..).unwrap_or_default();
                    self.position += rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
                }
                b'/' if self.byte(1) == b'*' => self.block_comment()?,
                0x80.. => match self.character() {
                    Some(blank) if is_blank(blank) => self.position += blank.len_utf8(),
                    _ => return Ok(()),
                },
                _ => return Ok(()),
            }
        }
    }

    fn block_comment(&mut self) -> Result<(), ParseError> {
        let first_line = self.line;
        let mut depth = 0_usize;
        loop {
            match (self.byte(0), self.byte(1)) {
                (b'/', b'*') => {
                    depth += 1;
                    self.position += 2;
                }
                (b'*', b'/') => {
                    depth -= 1;
                    self.position += 2;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                (b'\n', _) => {
                    self.line = self.line.saturating_add(1);
                    self.position += 1;
                }
                (0, _) if self.position >= self.text.len() => {
                    return Err(ParseError::new(113, first_line, "Missing end comment mark '*/'."));
                }
                _ => self.position += 1,
            }
        }
    }

    /// Runs over a quoted piece whose opening quote is under the cursor; a doubled `close` stands for itself.
    fn quoted(&mut self, close: u8) -> Result<(), ParseError> {
        let (opened, line) = (self.position, self.line);
        self.position += 1;
        loop {
            match self.byte(0) {
                byte if byte == close => {
                    self.position += 1;
                    if self.byte(0) != close {
                        return Ok(());
                    }
                    self.position += 1;
                }
                b'\n' => {
                    self.line = self.line.saturating_add(1);
                    self.position += 1;
                }
                0 if self.position >= self.text.len() => {
                    return Err(ParseError::unclosed_quote(
                        line,
                        self.text.get(opened + 1..).unwrap_or_default(),
                    ));
                }
                _ => self.position += 1,
            }
        }
    }

    fn word(&mut self, kind: TokenKind) -> Result<TokenKind, ParseError> {
        let start = self.position;
        loop {
            match self.byte(0) {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'#' | b'@' | b'$' => self.position += 1,
                0x80.. => match self.character() {
                    Some(letter) if letter.is_alphanumeric() => self.position += letter.len_utf8(),
                    _ => break,
                },
                _ => break,
            }
        }
        self.check_length(start)?;
        Ok(kind)
    }

    /// Error 103 for names beyond 128 characters.
    fn check_length(&self, start: usize) -> Result<(), ParseError> {
        if self.position - start <= IDENTIFIER_CHARACTERS_MAX {
            return Ok(());
        }
        let name = self.text.get(start..self.position).unwrap_or_default();
        let quotes = if name.starts_with(['[', '"']) { 2 } else { 0 };
        if name.chars().count() - quotes <= IDENTIFIER_CHARACTERS_MAX {
            return Ok(());
        }
        let shown: String = name.chars().skip(quotes / 2).take(IDENTIFIER_CHARACTERS_MAX).collect();
        let text = format!("The identifier that starts with '{shown}' is too long. Maximum length is 128.");
        Err(ParseError::new(103, self.line, text))
    }

    fn digits(&mut self) {
        while self.byte(0).is_ascii_digit() {
            self.position += 1;
        }
    }

    fn number(&mut self) -> TokenKind {
        if self.byte(0) == b'0' && matches!(self.byte(1), b'x' | b'X') {
            self.position += 2;
            while self.byte(0).is_ascii_hexdigit() {
                self.position += 1;
            }
            return TokenKind::Binary;
        }
        self.digits();
        if self.byte(0) == b'.' {
            self.position += 1;
            self.digits();
        }
        if !matches!(self.byte(0), b'e' | b'E') {
            return TokenKind::Number;
        }
        self.position += 1;
        if matches!(self.byte(0), b'+' | b'-') {
            self.position += 1;
        }
        self.digits();
        TokenKind::Float
    }

    fn dollar(&mut self) -> Result<TokenKind, ParseError> {
        self.position += 1;
        match self.byte(0) {
            b'0'..=b'9' | b'.' => {
                self.digits();
                if self.byte(0) == b'.' {
                    self.position += 1;
                    self.digits();
                }
                Ok(TokenKind::Money)
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.word(TokenKind::PseudoColumn),
            b'(' => Err(ParseError::near(self.line, "$")),
            _ => Ok(TokenKind::Money),
        }
    }

    fn symbol(&mut self) -> Result<TokenKind, ParseError> {
        let (first, second) = (self.byte(0), self.byte(1));
        let pair = matches!(
            (first, second),
            (
                b'+' | b'-' | b'*' | b'/' | b'%' | b'&' | b'|' | b'^' | b'!' | b'<' | b'>',
                b'='
            ) | (b'!', b'<' | b'>')
                | (b'<', b'<' | b'>')
                | (b'>', b'>')
                | (b':', b':')
        );
        if pair {
            self.position += 2;
            return Ok(TokenKind::Symbol(first, second));
        }
        let known = matches!(
            first,
            b'+' | b'-' | b'*' | b'/' | b'%' | b'&' | b'|' | b'^' | b'~' | b'<' | b'>' | b'=' | b'!'
        ) || matches!(first, b'(' | b')' | b',' | b';' | b':' | b'.' | b'{' | b'}');
        if !known {
            return Err(ParseError::near(self.line, &char::from(first).to_string()));
        }
        self.position += 1;
        Ok(TokenKind::Symbol(first, 0))
    }
}

/// White space beyond ASCII, with the zero-width space and the byte order mark.
fn is_blank(character: char) -> bool {
    character.is_whitespace() || character.is_control() || matches!(character, '\u{200b}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind> {
        let mut lexer = Lexer::new(text, true);
        let mut found = Vec::new();
        loop {
            let token = lexer.next_token().unwrap();
            if token.kind == TokenKind::End {
                return found;
            }
            found.push(token.kind);
        }
    }

    #[test]
    fn tokens_are_cut_where_sql_server_cuts_them() {
        use TokenKind::*;
        let table: &[(&str, &[TokenKind])] = &[
            ("\u{feff}a\u{a0}b", &[Word, Word]),
            ("/* a /* b */ c */ x -- y\n z", &[Word, Word]),
            ("[a]]b] \"c\"\"d\"", &[Bracketed, DoubleQuoted]),
            ("'it''s' N'x' n'y'", &[Text, NationalText, NationalText]),
            (
                "100.*.5+1e3-1.5E-2",
                &[
                    Number,
                    Symbol(b'*', 0),
                    Number,
                    Symbol(b'+', 0),
                    Float,
                    Symbol(b'-', 0),
                    Float,
                ],
            ),
            (
                "$1.5 $ $identity 0x1F 0x",
                &[Money, Money, PseudoColumn, Binary, Binary],
            ),
            ("@a @@b #c ##d", &[Variable, GlobalVariable, Word, Word]),
            ("a..b", &[Word, Symbol(b'.', 0), Symbol(b'.', 0), Word]),
            (
                "<> != !< !> <= ^= ::",
                &[
                    Symbol(b'<', b'>'),
                    Symbol(b'!', b'='),
                    Symbol(b'!', b'<'),
                    Symbol(b'!', b'>'),
                    Symbol(b'<', b'='),
                    Symbol(b'^', b'='),
                    Symbol(b':', b':'),
                ],
            ),
            ("élan naïve", &[Word, Word]),
            (
                "t.%%PhysLoc%% 5%%physloc%%2 %",
                &[
                    Word,
                    Symbol(b'.', 0),
                    RowPlace,
                    Number,
                    RowPlace,
                    Number,
                    Symbol(b'%', 0),
                ],
            ),
        ];
        for (text, expected) in table {
            assert_eq!(&kinds(text), expected, "{text}");
        }
    }

    #[test]
    fn lines_count_inside_strings_and_comments() {
        let mut lexer = Lexer::new("'a\nb' /* \n */ x", true);
        assert_eq!(lexer.next_token().unwrap().line, 1);
        assert_eq!(lexer.next_token().unwrap().line, 3);
    }
}
