//! Dropping temporary objects at the end of the module that created them, or of the session ([`crate::state`] knows their owners).

use engine::error::Result;
use engine::instance::TEMPDB;

use super::executor::Executor;
use crate::state::{SessionState, TemporaryObject};

impl Executor<'_> {
    /// Drops the temporary tables of the module or text that ends, however it ends: inside of a transaction as part of it. What cannot
    /// be dropped now (in a transaction that can only be rolled back, for a client that is gone) nobody sees any more, and the next
    /// request's end drops it.
    pub(super) fn end_temporary_tables(&mut self) {
        let made = self.session.end_temporary_tables();
        if made.is_empty() {
            return;
        }
        let is_dropped = !self.session.is_doomed()
            && self
                .as_unit(true, |executor| drop_objects(executor.session, &made))
                .is_ok();
        if !is_dropped {
            self.session.hide_temporary_tables();
        }
    }

    /// Drops the session's temporary objects, at its end.
    pub(crate) fn drop_temporary_tables(session: &SessionState) -> Result<()> {
        let all = session.lookup.temporary.borrow_mut().take_all();
        drop_in_own_transactions(session, &all)
    }

    /// Drops what the ends of modules have left over, once no transaction is open.
    pub(crate) fn drop_left_over_tables(session: &SessionState) -> Result<()> {
        if session.transaction_count() > 0 || session.lookup.temporary.borrow().is_empty() {
            return Ok(());
        }
        session.forget_dropped_tables();
        let left_over = session.lookup.temporary.borrow().left_over();
        drop_in_own_transactions(session, &left_over)
    }
}

fn drop_in_own_transactions(session: &SessionState, objects: &[TemporaryObject]) -> Result<()> {
    for object in objects {
        session.engine.borrow_mut().begin();
        match drop_objects(session, std::slice::from_ref(object)) {
            Ok(()) => session.engine.borrow_mut().commit()?,
            Err(error) => {
                session.engine.borrow_mut().roll_back()?;
                return Err(error);
            }
        }
    }
    Ok(())
}

/// Drops those that are still there.
fn drop_objects(session: &SessionState, objects: &[TemporaryObject]) -> Result<()> {
    let Some(tempdb) = session.instance.database_by_id(TEMPDB) else {
        return Ok(());
    };
    for object in objects {
        let found = tempdb.catalog.find("dbo", &object.stored, session.id);
        if let Some(found) = found.filter(|found| found.definition.object_id() == object.object_id) {
            session.engine.borrow_mut().drop_object(&tempdb, &found)?;
        }
    }
    Ok(())
}
