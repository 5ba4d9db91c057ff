//! Errors found while a batch is parsed, with SQL Server's numbers and texts.
//!
//! All of them have severity 15 and state 1 unless said otherwise (SQL Server docs, "Database Engine events and errors").
//! A batch with such an error runs nothing.

use std::fmt;

/// What every step of parsing and checking returns.
pub type Parsed<T> = Result<T, ParseError>;

/// Longest piece of source text quoted in a message, in characters.
const QUOTED_CHARACTERS_MAX: usize = 128;

/// An error found before a batch runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// SQL Server's error number.
    pub number: i32,
    /// The severity: 15 for syntax errors.
    pub severity: u8,
    pub state: u8,
    /// The line in the parsed text, from 1.
    pub line: u32,
    pub message: String,
}

impl ParseError {
    /// An error of severity 15 and state 1.
    pub fn new(number: i32, line: u32, message: impl Into<String>) -> Self {
        Self {
            number,
            severity: 15,
            state: 1,
            line,
            message: message.into(),
        }
    }

    /// 3617: the client wants the batch to end while it is parsed.
    pub fn cancelled(line: u32) -> Self {
        Self {
            severity: 11,
            state: 0,
            ..Self::new(3617, line, "Operation cancelled by user.")
        }
    }

    /// Error 102, near any text.
    pub fn near(line: u32, text: &str) -> Self {
        Self::new(102, line, format!("Incorrect syntax near '{}'.", shortened(text)))
    }

    /// Error 156, near a reserved word; error 319 if that word is WITH.
    pub fn near_keyword(line: u32, keyword: &str) -> Self {
        if keyword.eq_ignore_ascii_case("WITH") {
            let text = "Incorrect syntax near the keyword 'with'. If this statement is a common table expression, an \
                        xmlnamespaces clause or a change tracking context clause, the previous statement must be \
                        terminated with a semicolon.";
            return Self::new(319, line, text);
        }
        Self::new(156, line, format!("Incorrect syntax near the keyword '{keyword}'."))
    }

    /// Error 105.
    pub fn unclosed_quote(line: u32, text: &str) -> Self {
        let text = shortened(text);
        Self::new(
            105,
            line,
            format!("Unclosed quotation mark after the character string '{text}'."),
        )
    }

    /// Error 191.
    pub fn nested_too_deeply(line: u32) -> Self {
        Self::new(
            191,
            line,
            "Some part of your SQL statement is nested too deeply. Rewrite the query or break it up into smaller queries.",
        )
    }

    /// Error 701, of severity 17 and state 123.
    pub fn insufficient_memory(line: u32) -> Self {
        let message = "There is insufficient system memory in resource pool 'default' to run this query.";
        Self {
            number: 701,
            severity: 17,
            state: 123,
            line,
            message: message.to_owned(),
        }
    }

    /// Error 6868, of severity 16: FOR XML of a kind that WITH XMLNAMESPACES has no effect on.
    pub fn namespaces_unsupported(line: u32) -> Self {
        let text = "The following FOR XML features are not supported with WITH XMLNAMESPACES list: EXPLICIT mode, XMLSCHEMA and XMLDATA \
                    directives.";
        Self {
            severity: 16,
            ..Self::new(6868, line, text)
        }
    }

    /// Error 6873, of severity 16: the prefix that XSINIL declares.
    pub fn xsi_redefined(line: u32) -> Self {
        let text =
            "Redefinition of 'xsi' XML namespace prefix is not supported with ELEMENTS XSINIL option of FOR XML.";
        Self {
            severity: 16,
            ..Self::new(6873, line, text)
        }
    }

    /// Error 40517 (Azure SQL's "keyword or statement option is not supported in this version"), for what this engine
    /// knows of but does not do; of severity 16.
    pub fn not_supported(line: u32, what: &str) -> Self {
        let text = format!("Keyword or statement option '{what}' is not supported in this version of vlflab.");
        Self {
            severity: 16,
            ..Self::new(40517, line, text)
        }
    }
}

/// The start of `text`, short enough for a message.
fn shortened(text: &str) -> &str {
    match text.char_indices().nth(QUOTED_CHARACTERS_MAX) {
        Some((end, _)) => text.get(..end).unwrap_or(text),
        None => text,
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Msg {}, Level {}, State {}, Line {}: {}",
            self.number, self.severity, self.state, self.line, self.message
        )
    }
}

impl std::error::Error for ParseError {}
