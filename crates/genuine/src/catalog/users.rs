//! The users of a database, and the SIDs of the logins they belong to.
//!
//! ```text
//! sysowners (27): id, name, type, sid, ...      a row for each user, role and application role
//! ```
//!
//! The login's own name is in `master`, not here. The columns are those that the base table names itself.

use super::base::{BaseTables, id};
use super::boot::BootRecord;
use crate::fault::Result;
use crate::page::PageSource;

/// A user of the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    pub name: String,
    /// Of the login; empty for a user without one.
    pub sid: Vec<u8>,
}

/// All users and roles of the database.
///
/// # Errors
/// A page or record of the catalog does not fit.
pub fn users(source: &dyn PageSource) -> Result<Vec<User>> {
    let boot = BootRecord::read(source)?;
    let mut found = Vec::new();
    BaseTables::open(source, &boot)?.each(id::SYSOWNERS, &mut |row| {
        found.push(User {
            name: row.text("name"),
            sid: row.bytes("sid").to_vec(),
        });
    })?;
    Ok(found)
}
