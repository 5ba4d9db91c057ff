//! The definitions to which a statement is bound: locked from binding to the end of the statement.
//!
//! Binding locks every table, view and function that it finds (Sch-S, as SQL Server's compilation does), and then checks that they are
//! unchanged, because another session may have altered or dropped an object during the wait for the lock. A cached plan locks the same
//! objects again before it runs, and is used only if the catalogs are unchanged once all of them are locked.
//!
//! Invariant: when the first row of a statement is read, every object that its plan was built from is locked and unchanged. So sent rows
//! and assigned variables never have to be undone because of a definition.

use std::sync::Arc;

use engine::catalog::CatalogObject;
use engine::database::Database;
use engine::error::{Error, Result};
use engine::instance::TEMPDB;
use engine::lock::{Mode, Resource};
use engine::session::Isolation;

use super::SessionState;

/// What a plan depends on.
#[derive(Default)]
pub(crate) struct Dependencies {
    /// The databases that binding has looked into, with their catalogs' versions then.
    versions: Vec<(Arc<Database>, u64)>,
    definitions: Vec<Definition>,
}

/// A lock that a statement has taken for no longer than itself.
pub struct StatementLock {
    pub resource: Resource,
    /// The mode it was taken in. Whatever makes it stronger keeps it.
    pub taken: Mode,
    /// The mode that was held before.
    pub before: Option<Mode>,
}

/// An object that something is bound to.
struct Definition {
    database: Arc<Database>,
    object_id: u32,
    reading: Reading,
}

/// How a table is read that something is bound to.
#[derive(Clone, Copy, Default, PartialEq)]
pub(crate) struct Reading {
    /// The level that a hint sets.
    pub(crate) isolation: Option<Isolation>,
    /// Without hints that ask for more than a level does.
    pub(crate) is_plain: bool,
    /// NOWAIT.
    pub(crate) no_wait: bool,
    /// UPDATE or DELETE changes the rows.
    pub(crate) is_target: bool,
}

impl Reading {
    /// The lock that a statement begins with: that of its scan, if it is the weakest one of a reader in a query, or of a target.
    fn mode(self, session: Isolation, is_query: bool) -> Mode {
        match self.isolation.unwrap_or(session) {
            _ if !self.is_plain => Mode::SchS,
            Isolation::ReadCommitted | Isolation::RepeatableRead if is_query => Mode::IS,
            Isolation::ReadUncommitted | Isolation::ReadCommitted | Isolation::RepeatableRead if self.is_target => {
                Mode::IX
            }
            _ => Mode::SchS,
        }
    }
}

impl Definition {
    /// Whether READ COMMITTED is read by versions of rows.
    fn is_read_by_versions(&self, session: Isolation) -> bool {
        let isolation = self.reading.isolation.unwrap_or(session);
        isolation == Isolation::ReadCommitted && self.database.storage.versions.are_read_by_default()
    }

    /// Whether a statement that holds one holds the other.
    fn is_same(&self, other: &Definition) -> bool {
        let is_same_object = self.object_id == other.object_id && Arc::ptr_eq(&self.database, &other.database);
        is_same_object && self.reading == other.reading
    }
}

impl Dependencies {
    /// Notes that a catalog is about to be asked.
    pub(super) fn looks_into(&mut self, database: &Arc<Database>) {
        let version = database.catalog.version();
        let is_it = |(known, then): &(Arc<Database>, u64)| Arc::ptr_eq(known, database) && *then == version;
        if !self.versions.iter().any(is_it) {
            self.versions.push((database.clone(), version));
        }
    }

    /// Whether an object is among what was found.
    pub(crate) fn has_object(&self, database: &Arc<Database>, object_id: u32) -> bool {
        let is_it =
            |definition: &Definition| Arc::ptr_eq(&definition.database, database) && definition.object_id == object_id;
        self.definitions.iter().any(is_it)
    }

    /// Whether an object of the database of this id is among what was found.
    pub(crate) fn names_object(&self, database_id: u16, object_id: u32) -> bool {
        let mut definitions = self.definitions.iter();
        definitions.any(|one| one.database.id == database_id && one.object_id == object_id)
    }

    /// Whether it has to do with temporary tables: names begin again there in each session.
    pub(crate) fn has_temporary(&self) -> bool {
        self.versions.iter().any(|(database, _)| database.id == TEMPDB)
    }

    /// Whether every catalog is as it was.
    pub(crate) fn are_current(&self, session: &SessionState) -> bool {
        let is_current = |(database, version): &(Arc<Database>, u64)| {
            session.is_open(database) && database.catalog.version() == *version
        };
        self.versions.iter().all(is_current)
    }
}

impl SessionState {
    /// Whether a database is still the one that its name or id leads to: it may have been closed, or restored.
    fn is_open(&self, database: &Arc<Database>) -> bool {
        let is_it = |open: Arc<Database>| Arc::ptr_eq(&open, database);
        self.is_in(database) || self.instance.database_by_id(database.id).is_some_and(is_it)
    }

    /// Holds a definition that was found in the catalog until the end of the statement.
    ///
    /// # Errors
    /// 2801 when it is not the current one any more: the statement is to be bound again. Those of waiting for the lock.
    pub(crate) fn hold(&self, database: &Arc<Database>, object: &Arc<CatalogObject>, reading: Reading) -> Result<()> {
        let definition = Definition {
            database: database.clone(),
            object_id: object.definition.object_id(),
            reading,
        };
        self.lock(&definition, Mode::SchS)?;
        if !self.is_open(database) || !database.catalog.is_current(object, self.id) {
            let name = object.definition.qualified_name().map_or("", |(_, name)| name);
            return Err(Error::definition_changed(name));
        }
        let mut dependencies = self.lookup.dependencies.borrow_mut();
        if !dependencies.definitions.iter().any(|known| known.is_same(&definition)) {
            dependencies.definitions.push(definition);
        }
        Ok(())
    }

    /// Holds everything that a plan is bound to. `is_query` says that the plan changes nothing: its tables are locked as its scans lock
    /// them then, so that they find the lock there, and so is the target of a change. A stronger lock is left to the scan, and waited
    /// for with no more than Sch-S in hand.
    ///
    /// # Errors
    /// Those of waiting for a lock.
    pub(crate) fn hold_all(&self, dependencies: &Dependencies, is_query: bool) -> Result<()> {
        let isolation = self.options().isolation;
        dependencies.definitions.iter().try_for_each(|definition| {
            let mode = match definition.reading.mode(isolation, is_query) {
                // Who reads by versions keeps no writer of the whole table out, and waits for none.
                Mode::IS if definition.is_read_by_versions(isolation) => Mode::SchS,
                mode => mode,
            };
            self.lock(definition, mode)
        })
    }

    /// Notes how the statement that is being bound reads the object that it changes, which was found as one of its sources.
    pub(crate) fn note_target(&self, database: u16, object_id: u32, reading: Reading) {
        let mut dependencies = self.lookup.dependencies.borrow_mut();
        let is_it = |one: &&mut Definition| one.database.id == database && one.object_id == object_id;
        let same = dependencies.definitions.iter_mut().filter(is_it);
        same.for_each(|one| one.reading = reading);
    }

    /// Locks an object, unless some lock of it is held already: each of them keeps its definition as it is.
    fn lock(&self, definition: &Definition, mode: Mode) -> Result<()> {
        let database = definition.database.id;
        let resource = Resource::Object(database, definition.object_id);
        let before = self.locks.mode_of(&resource);
        if before.is_some() {
            return Ok(());
        }
        self.within_no_wait(definition.reading.no_wait, || {
            self.locks.lock(Resource::Database(database), Mode::S)?;
            self.locks.lock(resource, mode)
        })?;
        // REPEATABLE READ keeps its lock of the table, and a change that of its target.
        let isolation = definition.reading.isolation.unwrap_or(self.options().isolation);
        if mode == Mode::SchS || mode == Mode::IS && isolation == Isolation::ReadCommitted {
            self.transaction.statement_locks.borrow_mut().push(StatementLock {
                resource,
                taken: mode,
                before,
            });
        }
        Ok(())
    }

    /// Does something, under NOWAIT without waiting for any lock.
    pub(crate) fn within_no_wait<T>(&self, no_wait: bool, work: impl FnOnce() -> Result<T>) -> Result<T> {
        if !no_wait {
            return work();
        }
        let timeout_ms = self.locks.timeout_ms();
        self.locks.set_timeout_ms(0);
        let result = work();
        self.locks.set_timeout_ms(timeout_ms);
        result
    }

    /// Whether this session may see definitions that others do not: it has a transaction open, or a statement under way.
    pub(crate) fn may_have_uncommitted_definitions(&self) -> bool {
        self.transaction_count() > 0 || self.is_in_unit()
    }

    /// What binding has depended on since this was last asked.
    pub(crate) fn take_dependencies(&self) -> Dependencies {
        self.lookup.dependencies.take()
    }

    /// Ends the locks that are held for a statement and not for its transaction.
    pub(crate) fn end_statement_locks(&self) {
        drop(self.transaction.statement_snapshot.take());
        // The next statement uses the list's memory again.
        let mut locks = self.transaction.statement_locks.borrow_mut();
        for lock in locks.drain(..).rev() {
            self.locks.end_of_statement(lock.resource, lock.taken, lock.before);
        }
    }

    /// Ends a statement, or a condition: what it has locked goes, unless a transaction keeps it, or a statement around it.
    pub(crate) fn end_statement(&self) {
        if self.is_in_unit() {
            return;
        }
        self.locks.end_of_reading();
        self.end_statement_locks();
        if self.transaction_count() == 0 {
            self.engine.borrow_mut().release_outside_transaction();
        }
    }
}
