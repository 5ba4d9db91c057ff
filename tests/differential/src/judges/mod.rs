//! The engines that answer statements: vlflab, and those it is compared with.

pub mod postgres;
pub mod sqlite;
pub mod vlflab;

use crate::dialect::Dialect;
use crate::print::Script;
use crate::schema::Row;
use serde::Deserialize;

/// Why a statement was refused.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Failure {
    /// Whether a rule of a table was broken: NOT NULL, a key, a unique index.
    pub is_constraint: bool,
    /// In the judge's words.
    pub text: String,
}

/// What one of them says to a statement.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Answer {
    pub rows: Vec<Row>,
    /// How many rows it changed, if it says so.
    pub count: Option<u64>,
    /// Why it did nothing.
    pub failure: Option<Failure>,
}

/// Among the places of rules that are off: PARAMETERIZATION of the database is FORCED.
pub const FORCED_PARAMETERIZATION: u64 = 1 << 63;

/// One who answers statements.
pub trait Judge: Send {
    fn dialect(&self) -> Dialect;

    /// What to call it.
    fn name(&self) -> &str;

    /// Switches optimizer rules off: those whose places among its rules are set in `off`; all others are on. [`FORCED_PARAMETERIZATION`] is
    /// not a rule.
    ///
    /// # Errors
    /// It does not answer any more.
    fn switch_rules(&mut self, _off: u64) -> Result<(), String> {
        Ok(())
    }

    /// The statement that switches these off, for people.
    fn rules_off_in_words(&self, _off: u64) -> String {
        String::new()
    }

    /// Runs scripts in order, each whole or not at all; the answer to each is that of its first statement.
    ///
    /// # Errors
    /// It does not answer any more.
    fn ask(&mut self, scripts: &[Script]) -> Result<Vec<Answer>, String>;
}
