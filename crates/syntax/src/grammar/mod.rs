//! The words that statements take as options, and what becomes of each: nothing is taken and then ignored.
//!
//! The parser reads options as words and values. What they mean is said here, in one table for each place of the grammar where
//! options stand ([`PLACES`]). A batch is checked against the tables before anything of it runs ([`check()`]), so that a refused
//! option never leaves half a batch done.
//!
//! | fate | what happens |
//! |---|---|
//! | [`Fate::Obeyed`] | the option has SQL Server's effect |
//! | [`Fate::Only`] | the values that say what is so here anyway are taken; any other is refused by 40517 |
//! | [`Fate::OnlyWhenRun`] | as [`Fate::Only`]; any other value is refused by a number of SQL Server's when the statement runs |
//! | [`Fate::Advice`] | the option asks for a way to the same answer, and any way may be taken |
//! | [`Fate::Refused`] | 40517 |
//!
//! Invariant: a word that is not in the table of its place is refused, with SQL Server's number for it. A test walks the tables
//! and demands a proof for every word.

mod check;
mod definition;
mod events;
mod places;

pub use check::{check, walk};
pub use events::{EVENT_TYPES, EventType};
pub use places::*;

use crate::ast::{Expression, ExpressionKind, Literal, OptionValue, UnaryOperator};
use crate::error::{ParseError, Parsed};

/// What becomes of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It has SQL Server's effect.
    Obeyed,
    /// It says what is so here anyway if it has one of these values (the empty one: no value). Any other is refused.
    Only(&'static [&'static str]),
    /// The same, but the statement refuses other values by this number when it runs.
    OnlyWhenRun(&'static [&'static str], u16),
    /// It asks for a way to the answer, which is the same on any.
    Advice,
    /// It is refused by name.
    Refused,
}

/// A word of the grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    /// The word in upper case.
    pub name: &'static str,
    /// What becomes of it.
    pub fate: Fate,
}

/// How SQL Server refuses a word that it does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// 155, in the words of this kind of statement.
    Option(&'static str),
    /// 195.
    SetOption,
    /// 102.
    Syntax,
    /// 321.
    TableHint,
    /// 2526.
    Dbcc,
    /// 10715.
    UseHint,
    /// 40517: any number is a trace flag to SQL Server, and one that nothing here obeys is named.
    TraceFlag,
}

/// A place of the grammar where options stand.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// The statement and clause, as the documentation writes them.
    pub name: &'static str,
    /// What happens to words that are not in the table.
    pub unknown: Unknown,
    /// Between a word and its value.
    pub joint: &'static str,
    pub words: &'static [Word],
}

impl Place {
    /// The word of a name in upper case.
    pub fn word(&self, name: &str) -> Option<&'static Word> {
        self.words.iter().find(|word| word.name == name)
    }

    /// Whether an option may stand with a value, both in upper case; no value is `None`.
    ///
    /// # Errors
    /// The number of an unknown word; 40517 for a known one that is not done.
    pub fn admit(&self, line: u32, name: &str, value: Option<&str>) -> Parsed<()> {
        let Some(word) = self.word(name) else {
            return Err(self.unknown(line, name));
        };
        match word.fate {
            Fate::Obeyed | Fate::Advice | Fate::OnlyWhenRun(..) => Ok(()),
            Fate::Only(values) if values.contains(&value.unwrap_or_default()) => Ok(()),
            Fate::Only(_) => Err(ParseError::not_supported(line, &self.shown(name, value))),
            Fate::Refused => Err(ParseError::not_supported(line, name)),
        }
    }

    /// The same for an option of a WITH list.
    pub fn admit_option(&self, option: &OptionValue) -> Parsed<()> {
        let value = option_text(option);
        self.admit(option.line, &option.name.to_ascii_uppercase(), value.as_deref())
    }

    /// All options of a WITH list.
    pub fn admit_all(&self, options: &[OptionValue]) -> Parsed<()> {
        options.iter().try_for_each(|option| self.admit_option(option))
    }

    fn shown(&self, name: &str, value: Option<&str>) -> String {
        match value {
            Some(value) if !value.is_empty() => format!("{name}{}{value}", self.joint),
            _ => name.to_owned(),
        }
    }

    /// The error of a word that is not in the table.
    pub fn unknown(&self, line: u32, name: &str) -> ParseError {
        match self.unknown {
            Unknown::Option(statement) => {
                ParseError::new(155, line, format!("'{name}' is not a recognized {statement} option."))
            }
            Unknown::SetOption => ParseError {
                state: 5,
                ..ParseError::new(195, line, format!("'{name}' is not a recognized SET option."))
            },
            Unknown::Syntax => ParseError::near(line, name.split(' ').next().unwrap_or(name)),
            Unknown::TableHint => {
                let text = format!(
                    "\"{name}\" is not a recognized table hints option. If it is intended as a parameter to a table-valued function or to the CHANGETABLE function, ensure that your database compatibility mode is set to 90."
                );
                ParseError::new(321, line, text)
            }
            Unknown::Dbcc => ParseError {
                severity: 16,
                state: 3,
                ..ParseError::new(
                    2526,
                    line,
                    "Incorrect DBCC statement. Check the documentation for the correct DBCC syntax and options.",
                )
            },
            Unknown::UseHint => ParseError::new(10715, line, format!("'{name}' is not a valid hint.")),
            Unknown::TraceFlag => ParseError::not_supported(line, &format!("trace flag {name}")),
        }
    }
}

/// What stands behind an option's name: its value, and what is in parentheses, which changes what the value alone would mean.
fn option_text(option: &OptionValue) -> Option<String> {
    let value = option.value.as_ref().map(value_text);
    // Which partitions are compressed in a way is said beside it.
    let names_partitions = option.name.ends_with("_COMPRESSION")
        && matches!(option.arguments.as_slice(), [partitions] if partitions.name == "ON PARTITIONS");
    if option.arguments.is_empty() || names_partitions {
        return value;
    }
    let inner = |argument: &OptionValue| match option_text(argument) {
        Some(value) => format!("{} = {value}", argument.name.to_ascii_uppercase()),
        None => argument.name.to_ascii_uppercase(),
    };
    let inside: Vec<String> = option.arguments.iter().map(inner).collect();
    let text = format!("{} ({})", value.unwrap_or_default(), inside.join(", "));
    Some(text.trim_start().to_owned())
}

/// An option's value as written, in upper case: a word, a number with its sign, a string or a variable.
pub fn value_text(value: &Expression) -> String {
    match &value.kind {
        ExpressionKind::Column(name) => name.object().to_ascii_uppercase(),
        ExpressionKind::Variable(name) => name.to_ascii_uppercase(),
        ExpressionKind::Literal(Literal::Integer(number)) => number.to_string(),
        ExpressionKind::Literal(Literal::Text(text) | Literal::NationalText(text)) => text.to_ascii_uppercase(),
        ExpressionKind::Unary {
            operator: UnaryOperator::Minus,
            operand,
        } => format!("-{}", value_text(operand)),
        _ => "...".to_owned(),
    }
}
