//! The text of a statement with parameters in place of constants, which is the same for statements that differ only in their constants.
//!
//! ```text
//! PARAMETERIZATION SIMPLE   (@1 tinyint)SELECT [c] FROM [t] WHERE [a]=@1          words in capitals, names in brackets, few blanks
//!                  FORCED   (@0 int)select c from t where a = @0                  words in small letters, a blank between all tokens
//! ```
//! Both as SQL Server writes them (sql-docs, "sp_get_query_template", for the second one). Comments and line ends are left out.

use engine::types::{Length, SqlType, Value};
use syntax::keywords::is_reserved;
use syntax::lexer::{Lexer, Token, TokenKind};

use super::literals::Replaced;

/// How deep a statement's parentheses go that is made a template, and how many operators it has: its tree is walked and copied.
const DEPTH_MAX: usize = 50;
const OPERATORS_MAX: usize = 250;

/// The tokens of a statement.
pub(super) struct Tokens<'t> {
    text: &'t str,
    tokens: Vec<Token>,
}

impl<'t> Tokens<'t> {
    /// The tokens of a part of a text; none where there are variables in it, which are no constants, or it is deep or long.
    pub(super) fn of(text: &'t str, (start, end): (u32, u32), quoted_identifier: bool) -> Option<Tokens<'t>> {
        let text = text.get(..end as usize)?;
        let mut lexer = Lexer::starting_at(text, start as usize, quoted_identifier);
        let (mut depth, mut operators) = (0_usize, 0_usize);
        let mut tokens = Vec::new();
        loop {
            let token = lexer.next_token().ok()?;
            match token.kind {
                TokenKind::End => break,
                TokenKind::Variable => return None,
                TokenKind::Symbol(b'(', _) => depth += 1,
                TokenKind::Symbol(b')', _) => depth = depth.saturating_sub(1),
                TokenKind::Symbol(b'+' | b'-' | b'*' | b'/' | b'%' | b'&' | b'|' | b'^' | b'~', _) => operators += 1,
                TokenKind::Word if is(text, token, "NOT") || is(text, token, "CASE") => operators += 1,
                _ => {}
            }
            if depth > DEPTH_MAX || operators > OPERATORS_MAX {
                return None;
            }
            tokens.push(token);
        }
        Some(Tokens { text, tokens })
    }

    fn slice(&self, token: Token) -> &'t str {
        self.text.get(token.start..token.end).unwrap_or_default()
    }

    /// The names in it, without their quotes.
    pub(super) fn names(&self) -> Vec<&'t str> {
        let names = self.tokens.iter().filter_map(|&token| match token.kind {
            TokenKind::Word => Some(self.slice(token)),
            TokenKind::Bracketed | TokenKind::DoubleQuoted => self.text.get(token.start + 1..token.end - 1),
            _ => None,
        });
        names.collect()
    }

    /// Whether a word stands in it more than once.
    pub(super) fn has_twice(&self, word: &str) -> bool {
        let words = self.tokens.iter();
        words.filter(|&&token| is(self.text, token, word)).count() > 1
    }

    /// As PARAMETERIZATION SIMPLE writes it: the declarations, and the statement.
    pub(super) fn simple(&self, replaced: &[Replaced]) -> (String, String) {
        let declared = declarations(replaced, 1, simple_type);
        let mut written = Writer::default();
        let mut replaced = replaced.iter().zip(1..).peekable();
        for (place, &token) in self.tokens.iter().enumerate() {
            let own = self.slice(token);
            if let Some((_, number)) = replaced.next_if(|(one, _)| one.start == token.start) {
                written.name(&format!("@{number}"));
                continue;
            }
            let next = self.tokens.get(place + 1).map(|next| next.kind);
            let before = place.checked_sub(1).and_then(|before| self.tokens.get(before));
            let is_target = before.is_some_and(|&before| is(self.text, before, "INTO"));
            match token.kind {
                TokenKind::Word if is_reserved(own) => written.keyword(&own.to_ascii_uppercase()),
                // A function, and what may mean something without quotes among its arguments.
                TokenKind::Word if !is_target && (next == Some(TokenKind::Symbol(b'(', 0)) || written.depth > 0) => {
                    written.name(own);
                }
                TokenKind::Word => written.name(&format!("[{own}]")),
                TokenKind::DoubleQuoted => {
                    let inner = own.get(1..own.len() - 1).unwrap_or_default().replace("\"\"", "\"");
                    written.name(&format!("[{}]", inner.replace(']', "]]")));
                }
                TokenKind::Symbol(..) => written.symbol(own),
                _ => written.name(own),
            }
        }
        (declared, written.text)
    }

    /// As PARAMETERIZATION FORCED writes it.
    pub(super) fn forced(&self, replaced: &[Replaced]) -> (String, String) {
        let declared = declarations(replaced, 0, forced_type);
        let mut text = String::new();
        let mut replaced = replaced.iter().zip(0..).peekable();
        for &token in &self.tokens {
            if !text.is_empty() {
                text.push(' ');
            }
            let own = self.slice(token);
            match replaced.next_if(|(one, _)| one.start == token.start) {
                Some((_, number)) => text.push_str(&format!("@{number}")),
                None if token.kind == TokenKind::Word && is_reserved(own) => text.push_str(&own.to_ascii_lowercase()),
                None => text.push_str(own),
            }
        }
        (declared, text)
    }
}

fn is(text: &str, token: Token, word: &str) -> bool {
    let own = text.get(token.start..token.end).unwrap_or_default();
    token.kind == TokenKind::Word && own.eq_ignore_ascii_case(word)
}

/// Puts blanks where words would run together, and where a symbol stands beside a reserved word.
#[derive(Default)]
struct Writer {
    text: String,
    last: Last,
    /// Parentheses around the cursor.
    depth: usize,
}

/// What was written last.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Last {
    #[default]
    Nothing,
    Keyword,
    Name,
    /// `)` and `*`, which end something.
    End,
    Symbol,
}

impl Writer {
    fn put(&mut self, own: &str, has_blank: bool, last: Last) {
        if has_blank {
            self.text.push(' ');
        }
        self.text.push_str(own);
        self.last = last;
    }

    fn keyword(&mut self, own: &str) {
        let has_blank = matches!(self.last, Last::Keyword | Last::Name | Last::End);
        self.put(own, has_blank, Last::Keyword);
    }

    fn name(&mut self, own: &str) {
        let has_blank = matches!(self.last, Last::Keyword | Last::Name | Last::End);
        self.put(own, has_blank, Last::Name);
    }

    fn symbol(&mut self, own: &str) {
        match own {
            "(" => self.depth += 1,
            ")" => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        let last = if matches!(own, ")" | "*") {
            Last::End
        } else {
            Last::Symbol
        };
        let has_blank = self.last == Last::Keyword && !matches!(own, "," | ")" | ".");
        self.put(own, has_blank, last);
    }
}

/// `(@1 tinyint,@2 varchar(8000))`
fn declarations(replaced: &[Replaced], first: usize, name: impl Fn(&Replaced) -> String) -> String {
    let declared = replaced.iter().zip(first..);
    let declared: Vec<String> = declared
        .map(|(one, number)| format!("@{number} {}", name(one)))
        .collect();
    format!("({})", declared.join(","))
}

/// The least type of whole numbers; else as [`type_name`].
fn simple_type(replaced: &Replaced) -> String {
    match replaced.value {
        Value::Int(0..=255) => "tinyint".to_owned(),
        Value::Int(256..=32_767) => "smallint".to_owned(),
        _ => type_name(replaced.sql_type),
    }
}

fn forced_type(replaced: &Replaced) -> String {
    match replaced.sql_type {
        SqlType::Float => "float(53)".to_owned(),
        other => type_name(other),
    }
}

/// The type of a constant as it is written. Exact numbers have their own precision in both ways, where FORCED of SQL Server gives those that are
/// compared the greatest one: so no comparison rounds for it.
fn type_name(sql_type: SqlType) -> String {
    let sized = |name: &str, length: Length| match length {
        Length::Limited(length) => format!("{name}({length})"),
        Length::Max => format!("{name}(max)"),
        Length::LargeObject | Length::Xml => sql_type.name().to_owned(),
    };
    match sql_type {
        SqlType::Decimal { precision, scale } => format!("numeric({precision},{scale})"),
        SqlType::VarChar(length) => sized("varchar", length),
        SqlType::NVarChar(length) => sized("nvarchar", length),
        SqlType::VarBinary(length) => sized("varbinary", length),
        SqlType::Money => "money".to_owned(),
        SqlType::Float => "float".to_owned(),
        _ => "int".to_owned(),
    }
}
