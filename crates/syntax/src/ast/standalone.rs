//! Defaults and rules that are objects of their own.

use super::{Expression, Name};

/// `CREATE DEFAULT name AS expression` or `CREATE RULE name AS condition`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateStandalone {
    pub name: Name,
    /// Whether a rule is made, not a default.
    pub is_rule: bool,
    /// The value or the condition.
    pub expression: Expression,
    /// The same as a text that is read with QUOTED_IDENTIFIER on. The variable of a rule is a name in brackets there, `[@name]`.
    pub stored: String,
    /// How many variables a rule has.
    pub variables: usize,
    /// The whole batch.
    pub text: String,
}

impl CreateStandalone {
    /// The statement's name.
    pub fn statement(&self) -> &'static str {
        if self.is_rule { "CREATE RULE" } else { "CREATE DEFAULT" }
    }
}
