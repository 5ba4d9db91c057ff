//! Defaults and rules that are objects of their own: CREATE DEFAULT, CREATE RULE.
//!
//! `sp_bindefault` and `sp_bindrule` bind one to columns and to alias types. A column keeps the id of what is bound to it with a copy of its
//! expression: the object cannot be changed, and not be dropped while it is bound anywhere (3716), so copies never differ from it. A column
//! that is declared by an alias type gets what is bound to the type.

use super::ColumnDefinition;
use crate::types::SqlType;
use serde::{Deserialize, Serialize};

/// Which of the two an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StandaloneKind {
    /// CREATE DEFAULT.
    Default,
    /// CREATE RULE.
    Rule,
}

/// A default or a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandaloneDefinition {
    /// Unique within the database.
    pub object_id: u32,
    /// Schema name as declared.
    pub schema: String,
    /// Name as declared.
    pub name: String,
    /// Which of the two it is.
    pub kind: StandaloneKind,
    /// The batch that made it, for `sys.sql_modules`.
    pub text: String,
    /// The value of a default, or the condition of a rule with its variable as a name in brackets. It is read with QUOTED_IDENTIFIER on,
    /// whatever the setting was.
    pub expression: String,
    /// Days and ticks of creation.
    pub created: (i32, u32),
}

/// A default or rule as a column or alias type has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundExpression {
    /// The id of the object that is bound.
    pub object_id: u32,
    /// A copy of the object's expression.
    pub expression: String,
}

/// What is bound to a column or to an alias type.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Bindings {
    /// By `sp_bindefault`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<BoundExpression>,
    /// By `sp_bindrule`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<BoundExpression>,
}

impl Bindings {
    /// Whether nothing is bound.
    pub fn is_empty(&self) -> bool {
        self.default.is_none() && self.rule.is_none()
    }

    /// What is bound of one kind.
    pub fn of(&self, kind: StandaloneKind) -> Option<&BoundExpression> {
        match kind {
            StandaloneKind::Default => self.default.as_ref(),
            StandaloneKind::Rule => self.rule.as_ref(),
        }
    }

    /// Binds something of one kind in place of what was bound, or nothing.
    pub fn set(&mut self, kind: StandaloneKind, bound: Option<BoundExpression>) {
        match kind {
            StandaloneKind::Default => self.default = bound,
            StandaloneKind::Rule => self.rule = bound,
        }
    }

    /// Whether an object is bound.
    pub fn has(&self, object_id: u32) -> bool {
        let mut all = self.default.iter().chain(&self.rule);
        all.any(|bound| bound.object_id == object_id)
    }
}

impl ColumnDefinition {
    /// Whether a default or rule can be bound to a column of this kind: not to a computed one, nor to most types of long values (sql-docs,
    /// "sp_bindefault", "CREATE RULE").
    pub fn has_type_to_bind(&self, kind: StandaloneKind) -> bool {
        let is_refused = matches!(
            self.sql_type,
            SqlType::RowVersion | SqlType::HierarchyId | SqlType::Json
        );
        let is_long = match kind {
            StandaloneKind::Default => self.sql_type.is_max() && !self.sql_type.is_large_object(),
            StandaloneKind::Rule => self.sql_type.is_max(),
        };
        !is_refused && !self.sql_type.is_spatial() && !is_long && !self.is_xml() && self.computed.is_none()
    }

    /// Whether the column gets what is bound to its type.
    pub fn takes(&self, kind: StandaloneKind) -> bool {
        let has_value = self.default.is_some() || self.identity.is_some();
        self.has_type_to_bind(kind) && !(kind == StandaloneKind::Default && has_value)
    }
}
