//! RESTORE: a database made again from backup sets.

use super::Instance;
use super::registry::DatabaseState;
use crate::buffer::DatabaseId;
use crate::database::Database;
use crate::error::Result;

impl Instance {
    /// Takes an open database out of use and leaves it waiting for log. Nobody else may use it.
    pub(super) fn leave_restoring(&self, database: &Database) -> Result<()> {
        let end = database.storage.log.flushed().with_slot(1);
        database.change_boot(|boot| {
            boot.restoring = true;
            boot.restored_to = end;
        })?;
        if let Some(slot) = self.registry.by_id(database.id) {
            slot.set_state(DatabaseState::Restoring);
        }
        database.storage.log.close();
        self.pool.forget_database(DatabaseId(database.id));
        Ok(())
    }
}
