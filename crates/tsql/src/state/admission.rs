//! Access checks for databases.

use engine::database::{AccessMode, Database};
use engine::error::{Error, Result};
use engine::instance::Instance;

/// Lets a session into a database, as far as SINGLE_USER allows: the first session to come has it until it leaves.
///
/// # Errors
/// 924 when another session is in it.
pub(crate) fn admit(instance: &Instance, session_id: u16, database: &Database) -> Result<()> {
    match database.access() {
        AccessMode::Single(owner) if owner != session_id => {
            if !instance.users_of(database.id, session_id).is_empty() {
                return Err(Error::single_user(&database.name()));
            }
            database.set_access(AccessMode::Single(session_id));
            Ok(())
        }
        _ => Ok(()),
    }
}
