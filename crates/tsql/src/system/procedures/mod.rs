//! System procedures: `sp_*` and `xp_*`, found by name in every database.
//!
//! Parameters are matched and converted before a procedure runs; one that is left out is NULL.

mod absent;
mod alias_type;
mod application_lock;
mod backup_history;
mod bindings;
mod catalog;
mod catalog_modules;
mod columns_100;
mod configuration;
mod database;
mod depends;
mod errorlog;
mod extended_property;
mod files;
mod help;
mod help_constraint;
mod help_jobs;
mod jobs;
mod odbc2;
mod principals;
mod privileges;
mod protections;
mod refresh;
mod registry;
mod rename;
mod server_version;
mod session_context;
mod sessions;
mod space;
mod statistics;
mod temporal;
mod triggers;
mod xml_documents;

pub(crate) use absent::unknown;
pub(crate) use jobs::WITHOUT_COUNTS;

use engine::error::{Error, Result};
use engine::types::{Length, SqlType, Value};

use super::{Host, SystemContext};

#[derive(Debug)]
pub struct SystemProcedure {
    /// In lower case.
    pub name: &'static str,
    /// Its parameters in order.
    pub parameters: &'static [Parameter],
    /// Runs it; answers the return status.
    pub run: fn(&SystemContext<'_>, &mut dyn Host, &[Value]) -> Result<i32>,
}

impl SystemProcedure {
    /// Runs it; answers the return status.
    ///
    /// # Errors
    /// Its own; 15250 for a catalog procedure that is to tell of another database.
    pub fn call(&self, context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
        let qualifiers = self
            .parameters
            .iter()
            .zip(arguments)
            .filter(|((name, ..), _)| name.ends_with("_qualifier"));
        let own = context.database.name();
        // `%` asks `sp_tables` for the names of databases.
        let is_other = |value: &Value| {
            value
                .as_str()
                .is_some_and(|name| !name.is_empty() && name != "%" && !name.eq_ignore_ascii_case(&own))
        };
        if qualifiers.into_iter().any(|(_, value)| is_other(value)) {
            let text = "The database name component of the object qualifier must be the name of the current database.";
            return Err(Error::new(15_250, 16, 1, text));
        }
        (self.run)(context, host, arguments)
    }
}

/// A parameter: its name with `@`, the type its value is converted to, and whether it must be given.
pub type Parameter = (&'static str, SqlType, bool);

const TEXT: SqlType = SqlType::NVarChar(Length::Limited(4000));
const NAME: SqlType = SqlType::NVarChar(Length::Limited(776));
const INT: SqlType = SqlType::Int;

const TABLES: [&[SystemProcedure]; 31] = [
    session_context::PROCEDURES,
    application_lock::PROCEDURES,
    errorlog::PROCEDURES,
    configuration::PROCEDURES,
    database::PROCEDURES,
    space::PROCEDURES,
    sessions::PROCEDURES,
    catalog::PROCEDURES,
    catalog_modules::PROCEDURES,
    columns_100::PROCEDURES,
    privileges::PROCEDURES,
    principals::PROCEDURES,
    protections::PROCEDURES,
    help::PROCEDURES,
    help_constraint::PROCEDURES,
    depends::PROCEDURES,
    statistics::PROCEDURES,
    triggers::PROCEDURES,
    refresh::PROCEDURES,
    rename::PROCEDURES,
    temporal::PROCEDURES,
    alias_type::PROCEDURES,
    bindings::PROCEDURES,
    extended_property::PROCEDURES,
    backup_history::PROCEDURES,
    jobs::PROCEDURES,
    help_jobs::PROCEDURES,
    files::PROCEDURES,
    registry::PROCEDURES,
    server_version::PROCEDURES,
    xml_documents::PROCEDURES,
];

/// The procedure of that name, without its schema.
pub fn find(name: &str) -> Option<&'static SystemProcedure> {
    every().find(|procedure| procedure.name.eq_ignore_ascii_case(name))
}

pub fn every() -> impl Iterator<Item = &'static SystemProcedure> {
    TABLES.into_iter().flatten()
}

/// Changes the catalog in the session's transaction, or in one of its own when there is none.
fn in_transaction<T>(
    context: &SystemContext<'_>,
    change: impl FnOnce(&mut engine::session::Session) -> Result<T>,
) -> Result<T> {
    let mut session = context.engine.borrow_mut();
    let own = !session.in_transaction();
    let outcome = change(&mut session);
    if !own {
        return outcome;
    }
    match outcome {
        Ok(answer) => session.commit().map(|()| answer),
        Err(error) => {
            session.roll_back()?;
            Err(error)
        }
    }
}

/// An argument as text; `None` for NULL and beyond the last.
fn text(arguments: &[Value], index: usize) -> Option<&str> {
    arguments.get(index)?.as_str()
}

/// An argument as a whole number.
fn integer(arguments: &[Value], index: usize) -> Option<i64> {
    arguments.get(index)?.as_i64()
}
