//! The upgrade from format 2 to format 3, once, when a database is opened: afterwards no id in use is assigned again.
//!
//! | | format 2 | format 3 |
//! |---|---|---|
//! | ids of allocation units and objects | the highest in the catalog plus one, after each start | reserved in ranges, never assigned twice |
//! | ids of constraints | follow from the table's id and the constraint's place | stored with the constraint |
//!
//! A page whose extent was freed keeps the id of its former unit. So the upgrade reads every page of the data files once, in use or not,
//! and moves the counters past the highest id found. Pages that format 2 has already mixed up stay as they are: a row of a dropped table
//! cannot be distinguished from a row of the table that took over its page. DBCC CHECKDB reports contradictions.
//!
//! The boot record decides everything: it says that an upgrade is due until one write of it sets the counters and clears that mark. So an
//! interrupted upgrade starts again from the beginning. A database restored from a set of format 2 is upgraded at the end of its recovery,
//! whatever log was restored before. A standby database is upgraded when it leaves that state; until then its constraints have no ids.
//!
//! The format of a database covers pages, rows, catalog and log records together. Backup sets have a number of their own
//! (`backup/format.rs`).
//!
//! | | written | also read | newer ones |
//! |---|---|---|---|
//! | database | 3 | 2 | 948 |
//! | backup set | 4, holds a database of format 3 | 3, holds one of format 2 | 3169 |
//!
//! Room is kept for later versions: in the boot record (bytes 200 to 255), for a version pointer in a row (`store/row.rs`), for
//! columns outside the row (`types/row.rs`) and for principals in the catalog (`catalog/definition.rs`).

use super::Database;
use super::system::SystemWork;
use crate::catalog::{ObjectDefinition, TableDefinition};
use crate::error::Result;
use crate::page::{PAGE_BYTES, PageBytes, PageId, PageRef};
use crate::recovery::{FORMAT, OLDEST_FORMAT};
use crate::store::IdCounters;
use crate::types::COLLATION_VERSION;
use disk::AlignedBuffer;

/// Pages read at once: 1 MB.
const RUN_PAGES: u32 = 128;

impl Database {
    /// Brings the database to the newest format, when it may be written and is not there. Nobody else is using it.
    ///
    /// # Errors
    /// 823 for a file that cannot be read or written.
    pub(super) fn upgrade(&self) -> Result<()> {
        self.tell_of_unknown_orders();
        if self.is_standby() {
            return Ok(());
        }
        if self.boot().needs_upgrade {
            self.upgrade_ids()?;
        }
        let boot = self.boot();
        if boot.is_recovery_accelerated && !boot.has_links && !boot.is_read_only {
            self.change_boot(|boot| boot.has_links = true)?;
        }
        match self.give_constraints_ids() {
            // They get them at the next start.
            Err(error) if error.is_log_full() || error.is_data_full() => Ok(()),
            outcome => outcome,
        }
    }

    /// Tables with an index that this version does not know the order of are there, and cannot be used until it is dropped.
    fn tell_of_unknown_orders(&self) {
        for object in self.catalog.objects(0) {
            let Some(table) = object.definition.table() else {
                continue;
            };
            if let Some(index) = table.index_of_unknown_order() {
                let text = format!(
                    "The index '{}' on table '{}' in database '{}' is ordered by version {} of its collation, and this server \
                     orders by version {COLLATION_VERSION}. The index is disabled. Drop it and create it again.",
                    index.name, table.name, self.storage.name, index.collation_version
                );
                self.say(text);
            }
        }
    }

    /// A line in the error log, as from the session in which SQL Server opens the database.
    fn say(&self, text: String) {
        self.storage.env.errorlog.write(&format!("spid{}s", 8 + self.id), text);
    }

    fn upgrade_ids(&self) -> Result<()> {
        let name = &self.storage.name;
        self.say(format!(
            "Converting database '{name}' from version {OLDEST_FORMAT} to the current version {FORMAT}."
        ));
        self.say(format!(
            "Database '{name}' running the upgrade step from version {OLDEST_FORMAT} to version {FORMAT}."
        ));
        self.storage.pool.flush_database(self.storage.id, None)?;
        let mut used = self.highest_ids_of_catalog();
        for file in self.storage.files.file_ids() {
            used.unit = used.unit.max(self.highest_unit_on_pages(file)?);
        }
        let ids = IdCounters {
            unit: used.unit.saturating_add(1),
            object: used.object.saturating_add(1),
            row_version: 0,
        };
        let ids = ids.max(IdCounters::FIRST).max(self.boot().ids);
        self.change_boot(|boot| {
            boot.ids = ids;
            boot.needs_upgrade = false;
        })?;
        self.skip_ids(ids);
        Ok(())
    }

    fn highest_ids_of_catalog(&self) -> IdCounters {
        let mut highest = IdCounters::default();
        for object in self.catalog.objects(0) {
            highest.object = highest.object.max(object.definition.object_id());
            if let ObjectDefinition::IdentityReserve { table, .. } = &object.definition {
                highest.object = highest.object.max(*table);
            }
            if let ObjectDefinition::SequenceReserve { sequence, .. } = &object.definition {
                highest.object = highest.object.max(*sequence);
            }
        }
        for root in self.catalog.storage_roots() {
            highest.unit = highest.unit.max(root.unit);
        }
        highest
    }

    /// The highest allocation unit that a page of the file names. Damaged pages are left out: the next reader of one gets the
    /// error.
    fn highest_unit_on_pages(&self, file: u16) -> Result<u32> {
        let page_count = self.storage.files.page_count(file);
        let mut buffer = AlignedBuffer::with_len(RUN_PAGES as usize * PAGE_BYTES);
        let mut highest = 0;
        for first in (0..page_count).step_by(RUN_PAGES as usize) {
            let count = RUN_PAGES.min(page_count - first) as usize;
            let run = &mut buffer[..count * PAGE_BYTES];
            let damaged = self.storage.files.copy_run(PageId::new(file, first), run)?;
            let (pages, _): (&[PageBytes], _) = run.as_chunks();
            for (page, number) in pages.iter().zip(first..) {
                if !damaged.contains(&PageId::new(file, number)) {
                    highest = highest.max(PageRef::new(page).object().0);
                }
            }
        }
        Ok(highest)
    }

    /// Stores an id with every constraint that has none.
    fn give_constraints_ids(&self) -> Result<()> {
        let turn = self.system_turn(&self.internal_locks)?;
        for object in self.catalog.objects(0) {
            let ObjectDefinition::Table(table) = &object.definition else {
                continue;
            };
            let mut table = table.clone();
            if table.constraint_ids_mut().all(|id| *id != 0) {
                continue;
            }
            self.change_catalog(&turn, SystemWork::ConstraintIds, |ctx| {
                self.number_constraints(&mut table)?;
                self.catalog.replace(ctx, 0, &object, ObjectDefinition::Table(table))
            })?;
        }
        Ok(())
    }

    /// Gives every constraint of a definition that has no id one of its own.
    ///
    /// # Errors
    /// As those of [`Database::new_object_id`].
    pub fn number_constraints(&self, table: &mut TableDefinition) -> Result<()> {
        for id in table.constraint_ids_mut().filter(|id| **id == 0) {
            *id = self.new_object_id()?;
        }
        Ok(())
    }
}
