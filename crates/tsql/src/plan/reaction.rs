//! What follows a change of rows: a target's plan holds it, [`crate::modify`] calls it.

use std::fmt;

use engine::error::Result;
use engine::types::Value;

use crate::context::Context;
use crate::grant::KeptRows;

/// The rows a statement has changed, as they were and as they are.
#[derive(Debug, Default)]
pub struct ChangedRows {
    pub(crate) deleted: KeptRows,
    pub(crate) inserted: KeptRows,
}

impl ChangedRows {
    /// Rows as they were: those deleted, and those updated before that.
    pub fn deleted(&self) -> &[Vec<Value>] {
        &self.deleted.rows
    }

    /// Rows as they are: those inserted, and those updated after that, in the order of [`ChangedRows::deleted`].
    pub fn inserted(&self) -> &[Vec<Value>] {
        &self.inserted.rows
    }
}

/// What follows a statement that has changed rows of a target: the place of triggers, and of foreign keys that cascade.
pub trait Reaction: fmt::Debug + Send + Sync {
    /// Called once, when all rows are written and judged, within the statement's unit. May change rows by pipelines of its own.
    ///
    /// # Errors
    /// What it fails with fails the statement.
    fn after(&self, context: &Context<'_>, rows: &ChangedRows) -> Result<()>;
}
