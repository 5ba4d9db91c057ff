//! System-versioned temporal tables in the catalog.
//!
//! ```text
//! temporal table                                     history table
//! columns: generated = RowStart, RowEnd              columns of the same names and types, nothing generated
//! versioning = { history: id of the history table,   history_of = id of the temporal table
//!                retention }
//! ```
//! A table with both generated columns has the period SYSTEM_TIME, with or without a history table.
//!
//! Invariant: `versioning` of one table and `history_of` of the other name each other. A database that has a generated column or a history
//! table says so in its boot record.

use super::{ColumnDefinition, TableDefinition};
use serde::{Deserialize, Serialize};

/// Which end of the period SYSTEM_TIME a column is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PeriodEnd {
    /// GENERATED ALWAYS AS ROW START.
    RowStart,
    /// GENERATED ALWAYS AS ROW END.
    RowEnd,
}

/// What a column of a period says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeneratedColumn {
    pub end: PeriodEnd,
    /// HIDDEN: SELECT * leaves it out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_hidden: bool,
}

/// The unit of HISTORY_RETENTION_PERIOD.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RetentionUnit {
    Day,
    Week,
    Month,
    Year,
}

impl RetentionUnit {
    /// `history_retention_period_unit` and its name, as `sys.tables` shows them (sql-docs, "sys.tables").
    pub fn shown(self) -> (i32, &'static str) {
        match self {
            RetentionUnit::Day => (3, "DAY"),
            RetentionUnit::Week => (4, "WEEK"),
            RetentionUnit::Month => (5, "MONTH"),
            RetentionUnit::Year => (6, "YEAR"),
        }
    }
}

/// How long rows of a history table are shown and kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retention {
    /// More than zero.
    pub count: u32,
    pub unit: RetentionUnit,
}

/// SYSTEM_VERSIONING = ON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemVersioning {
    /// Object id of the history table.
    pub history: u32,
    /// `None` for INFINITE.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention: Option<Retention>,
}

impl ColumnDefinition {
    /// Whether SELECT * leaves it out.
    pub fn is_hidden(&self) -> bool {
        self.generated.is_some_and(|generated| generated.is_hidden)
    }
}

impl TableDefinition {
    /// The column at an end of the period SYSTEM_TIME.
    pub fn period_column(&self, end: PeriodEnd) -> Option<usize> {
        let mut columns = self.columns.iter();
        columns.position(|column| column.generated.is_some_and(|generated| generated.end == end))
    }

    /// The columns of the period SYSTEM_TIME: its start and its end.
    pub fn period(&self) -> Option<(usize, usize)> {
        self.period_column(PeriodEnd::RowStart)
            .zip(self.period_column(PeriodEnd::RowEnd))
    }

    /// Whether a reader of the table must know temporal tables.
    pub fn is_temporal(&self) -> bool {
        let has_generated = self.columns.iter().any(|column| column.generated.is_some());
        has_generated || self.versioning.is_some() || self.history_of.is_some()
    }
}
