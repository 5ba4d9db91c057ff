//! Lock escalation of a table: how many row locks become one table lock.

use serde::{Deserialize, Serialize};

/// LOCK_ESCALATION of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum LockEscalation {
    /// Many row locks become one of the table.
    #[default]
    Table,
    /// They become one of the partition; a table here is one partition.
    Auto,
    /// They stay.
    Disable,
}

impl LockEscalation {
    pub(super) fn is_default(&self) -> bool {
        *self == LockEscalation::default()
    }

    /// Number and name, as `sys.tables` has them.
    pub fn shown(self) -> (u8, &'static str) {
        match self {
            LockEscalation::Table => (0, "TABLE"),
            LockEscalation::Disable => (1, "DISABLE"),
            LockEscalation::Auto => (2, "AUTO"),
        }
    }
}
