//! DBCC, permissions, and the option lists many statements share.

use super::{Expression, Identifier, Name};

/// `DBCC command [(arguments)] [WITH options]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Dbcc {
    /// The command in upper case.
    pub command: String,
    /// The arguments: constants and variables; bare and quoted words come as [`DbccArgument::Word`].
    pub arguments: Vec<DbccArgument>,
    /// `WITH ...`: each option in upper case.
    pub options: Vec<OptionValue>,
}

/// One argument of DBCC.
#[derive(Debug, Clone, PartialEq)]
pub enum DbccArgument {
    /// A bare, bracketed or double-quoted name.
    Word(Name),
    /// A constant, with its sign if it has one, or a variable.
    Value(Expression),
}

impl DbccArgument {
    /// The text of a word or a string constant.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Word(name) => Some(name.object()),
            Self::Value(value) => match &value.kind {
                super::ExpressionKind::Literal(super::Literal::Text(text) | super::Literal::NationalText(text)) => {
                    Some(text)
                }
                _ => None,
            },
        }
    }
}

/// One option of a WITH list: `NAME`, `NAME = value`, `NAME (values)`, `NAME = value (inner)`.
#[derive(Debug, Clone, PartialEq)]
pub struct OptionValue {
    /// Line of the option.
    pub line: u32,
    /// The option in upper case; a string in its place (`'PhysicalName'`) as written.
    pub name: String,
    /// Its value. A bare word (`ON`, `PAGE`, `CHECKSUM`) comes as a column of one part.
    pub value: Option<Expression>,
    /// What stands in parentheses after it.
    pub arguments: Vec<OptionValue>,
}

impl OptionValue {
    /// A number with a unit behind it, which stands as the option's one argument.
    pub(crate) fn with_unit(line: u32, name: String, value: Option<Expression>, unit: (u32, String)) -> OptionValue {
        let unit = OptionValue {
            line: unit.0,
            name: unit.1,
            value: None,
            arguments: Vec::new(),
        };
        OptionValue {
            line,
            name,
            value,
            arguments: vec![unit],
        }
    }

    /// The value's bare word in upper case (`ON`, `OFF`, `NONE`, ...), if it is one.
    pub fn word(&self) -> Option<String> {
        match self.value.as_ref().map(|value| &value.kind) {
            Some(super::ExpressionKind::Column(name)) => Some(name.object().to_ascii_uppercase()),
            _ => None,
        }
    }

    /// ON (true) or OFF; the word alone is ON, as the old syntax of CREATE INDEX has it.
    pub fn switch(&self) -> Option<bool> {
        match (&self.value, self.word().as_deref()) {
            (None, _) | (_, Some("ON")) => Some(true),
            (_, Some("OFF")) => Some(false),
            _ => None,
        }
    }

    /// A whole number from 1 to 100.
    pub fn percentage(&self) -> Option<u8> {
        match self.value.as_ref().map(|value| &value.kind) {
            Some(super::ExpressionKind::Literal(super::Literal::Integer(number))) => {
                u8::try_from(*number).ok().filter(|number| (1..=100).contains(number))
            }
            _ => None,
        }
    }
}

/// Which permission statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermissionAction {
    Grant,
    Deny,
    Revoke,
}

/// `GRANT`, `DENY`, `REVOKE`.
#[derive(Debug, Clone, PartialEq)]
pub struct Permission {
    pub action: PermissionAction,
    pub permissions: Vec<PermissionWords>,
    /// `ON [class::]securable`.
    pub securable: Option<Securable>,
    /// `TO` or `FROM`.
    pub principals: Vec<Identifier>,
    /// `WITH GRANT OPTION` (or `GRANT OPTION FOR`).
    pub grant_option: bool,
    pub cascade: bool,
    /// `AS`: the principal that grants, denies or revokes.
    pub grantor: Option<Identifier>,
}

/// A permission as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionWords {
    pub line: u32,
    /// Its words in upper case: `SELECT`, `VIEW SERVER STATE`, `ALL`. `EXEC` is `EXECUTE`.
    pub words: String,
    /// The columns in parentheses after it.
    pub columns: Vec<Identifier>,
}

/// What a permission is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Securable {
    /// The class before `::`, in upper case.
    pub class: Option<String>,
    pub name: Name,
    /// The columns in parentheses after it.
    pub columns: Vec<Identifier>,
}
