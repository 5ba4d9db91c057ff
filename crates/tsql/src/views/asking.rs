//! The session that queries a view, and the database it is in.

use std::cell::RefCell;
use std::sync::Arc;

use engine::database::Database;
use engine::instance::{DatabaseSlot, Instance};

/// The session that queries, and where.
pub struct SystemContext<'a> {
    pub instance: &'a Arc<Instance>,
    /// The session's locks and transaction.
    pub engine: &'a RefCell<engine::session::Session>,
    /// `@@SPID`
    pub session_id: u16,
    pub login: &'a str,
    /// From which machine.
    pub host: &'a str,
    pub application: &'a str,
    /// The database asked: the current one, or the one that a view's name begins with.
    pub database: Arc<Database>,
    /// The descriptor of its transaction; 0 without one.
    pub transaction: u64,
    /// Finds out what batches would answer.
    pub describer: &'a dyn super::Describer,
}

impl SystemContext<'_> {
    /// The types of the database asked.
    pub(crate) fn user_types(&self) -> crate::modules::UserTypes<'_> {
        crate::modules::UserTypes::of(&self.database, self.session_id, self.instance.options.version)
    }

    /// The database of that name, usable or not.
    pub fn slot(&self, name: &str) -> Option<Arc<DatabaseSlot>> {
        let folded = name.to_lowercase();
        let slots = self.instance.slots();
        slots
            .into_iter()
            .find(|slot| slot.entry().name.to_lowercase() == folded)
    }

    /// The database of that id, usable or not.
    pub fn slot_by_id(&self, id: i64) -> Option<Arc<DatabaseSlot>> {
        let slots = self.instance.slots();
        slots.into_iter().find(|slot| i64::from(slot.entry().database_id) == id)
    }
}
