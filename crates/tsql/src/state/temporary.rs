//! Temporary objects of a session: every level of nesting can create its own object under the same `#name`.
//!
//! ```text
//! #o ->  level 0: "#o______...0000000007D1"   made by the batch
//!        level 1: "#o______...0000000007D3"   made by the procedure it calls: dropped when that ends
//! ```
//! A name refers to the innermost existing object. A module's local temporary table is dropped when the module ends (sql-docs, CREATE
//! TABLE: "A local temporary table created in a stored procedure is dropped automatically when the stored procedure is finished. The table
//! can be referenced by any nested stored procedures executed by the stored procedure that created the table. The table can't be referenced
//! by the process that called the stored procedure that created the table"). Temporary procedures and global tables stay until the session
//! ends.
//!
//! Invariant: an object exists if tempdb's catalog shows it to the session. An entry without an object stays until no transaction is open,
//! because a rollback restores dropped tables and removes created ones.

use std::collections::HashMap;

use engine::catalog::{Catalog, CatalogObject, ObjectDefinition};
use engine::database::Database;
use engine::error::Result;
use engine::instance::TEMPDB;

use super::SessionState;
use crate::ast::Name;
use crate::messages;

/// Characters of a temporary table's own name at most (sql-docs, "Database identifiers"): tempdb adds twelve hexadecimal digits.
const NAME_CHARACTERS_MAX: usize = 116;

/// Where a temporary object was made, and what it is in tempdb.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TemporaryObject {
    /// The level of nesting that made it.
    pub(crate) level: u32,
    /// Its name in tempdb.
    pub(crate) stored: String,
    /// Its id in tempdb.
    pub(crate) object_id: u32,
    /// Its level has ended, but it could not be dropped then: it is no longer visible.
    pub(crate) ended: bool,
}

impl TemporaryObject {
    fn is_there(&self, tempdb: &Catalog, session: u16) -> bool {
        tempdb
            .find("dbo", &self.stored, session)
            .is_some_and(|object| object.definition.object_id() == self.object_id)
    }
}

/// See the module. Names are in lower case.
#[derive(Debug, Default)]
pub(crate) struct TemporaryObjects {
    by_name: HashMap<String, Vec<TemporaryObject>>,
}

impl TemporaryObjects {
    /// The innermost object of a name that is there.
    pub(crate) fn find(&self, name: &str, tempdb: &Catalog, session: u16) -> Option<&TemporaryObject> {
        let made = self.by_name.get(&name.to_lowercase())?;
        let mut innermost_first = made.iter().rev();
        innermost_first.find(|object| !object.ended && object.is_there(tempdb, session))
    }

    /// Notes an object that was made.
    pub(crate) fn note(&mut self, name: &str, object: TemporaryObject) {
        self.by_name.entry(name.to_lowercase()).or_default().push(object);
    }

    /// The objects that do not outlive a level, newest first. They are seen no more.
    pub(crate) fn end_level(&mut self, level: u32) -> Vec<TemporaryObject> {
        let mut ended = Vec::new();
        for object in self.by_name.values_mut().flatten() {
            if object.level >= level && !object.ended {
                object.ended = true;
                ended.push(object.clone());
            }
        }
        ended.sort_by_key(|object| std::cmp::Reverse(object.object_id));
        ended
    }

    /// Objects whose level is over and which are still there.
    pub(crate) fn left_over(&self) -> Vec<TemporaryObject> {
        let all = self.by_name.values().flatten();
        all.filter(|object| object.ended).cloned().collect()
    }

    pub(crate) fn take_all(&mut self) -> Vec<TemporaryObject> {
        std::mem::take(&mut self.by_name).into_values().flatten().collect()
    }

    /// Forgets what is not there, while no transaction is open that could bring it back.
    pub(crate) fn forget_dropped(&mut self, tempdb: &Catalog, session: u16) {
        self.by_name.retain(|_, made| {
            made.retain(|object| object.is_there(tempdb, session));
            !made.is_empty()
        });
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }
}

/// Whether a name is that of an object which only its session sees.
pub(crate) fn is_private(name: &str) -> bool {
    name.starts_with('#') && !name.starts_with("##")
}

/// The schema that a name means: what is temporary is in dbo, whatever is written.
pub(crate) fn schema_of(name: &Name) -> &str {
    match name.schema() {
        Some(schema) if !name.object().starts_with('#') => schema,
        _ => "dbo",
    }
}

impl SessionState {
    /// What a table is called in its catalog: temporary ones have a name of their own.
    pub fn stored_name(&self, name: &str) -> String {
        let tempdb = is_private(name).then(|| self.instance.database_by_id(TEMPDB)).flatten();
        let stored = tempdb.and_then(|tempdb| {
            let temporary = self.lookup.temporary.borrow();
            let found = temporary.find(name, &tempdb.catalog, self.id);
            found.map(|object| object.stored.clone())
        });
        stored.unwrap_or_else(|| name.to_owned())
    }

    /// What an object that is created now is called in its catalog: private ones get a name that no other has or has had, their own
    /// and twelve hexadecimal digits, with underscores between, as SQL Server names them.
    ///
    /// # Errors
    /// 193 for a name that is too long for it; 2714 when this level of nesting has a table of that name; no ids left.
    pub(crate) fn name_to_store(&self, database: &Database, name: &str) -> Result<String> {
        if !is_private(name) {
            return Ok(name.to_owned());
        }
        if name.chars().count() > NAME_CHARACTERS_MAX {
            return Err(messages::temporary_name_too_long(name, NAME_CHARACTERS_MAX));
        }
        if self.transaction_count() == 0 {
            self.forget_dropped_tables();
        }
        let temporary = self.lookup.temporary.borrow();
        match temporary.find(name, &database.catalog, self.id) {
            Some(object) if object.level == self.nest_level() => Err(messages::object_exists(name)),
            _ => {
                let number = database.new_object_id()?;
                Ok(format!("{name:_<NAME_CHARACTERS_MAX$}{number:012X}"))
            }
        }
    }

    /// Notes a temporary object that was made: private tables go when the module that made them ends, everything else when the
    /// session does.
    pub(crate) fn note_temporary(&self, name: &str, object: &CatalogObject) {
        let Some((_, stored)) = object.definition.qualified_name() else {
            return;
        };
        if !name.starts_with('#') {
            return;
        }
        let goes_with_module = is_private(name) && matches!(object.definition, ObjectDefinition::Table(_));
        let made = TemporaryObject {
            level: if goes_with_module { self.nest_level() } else { 0 },
            stored: stored.to_owned(),
            object_id: object.definition.object_id(),
            ended: false,
        };
        self.lookup.temporary.borrow_mut().note(name, made);
    }

    /// The temporary tables of the ending level, which are no longer visible.
    pub(crate) fn end_temporary_tables(&self) -> Vec<TemporaryObject> {
        self.lookup.temporary.borrow_mut().end_level(self.nest_level())
    }

    /// Puts all temporary objects out of sight, to be dropped once no transaction is open.
    pub(crate) fn hide_all_temporary_tables(&self) {
        let hidden = self.lookup.temporary.borrow_mut().end_level(0);
        if !hidden.is_empty() {
            self.hide_temporary_tables();
        }
    }

    /// Notes that temporary tables are out of sight though the catalog still has them: plans that name them are out of date.
    pub(crate) fn hide_temporary_tables(&self) {
        self.lookup
            .hidden_temporary_tables
            .set(self.hidden_temporary_tables() + 1);
    }

    /// How often that was.
    pub(crate) fn hidden_temporary_tables(&self) -> u64 {
        self.lookup.hidden_temporary_tables.get()
    }

    /// Forgets temporary objects that are dropped for good: to be called while no transaction is open.
    pub(crate) fn forget_dropped_tables(&self) {
        if let Some(tempdb) = self.instance.database_by_id(TEMPDB) {
            self.lookup
                .temporary
                .borrow_mut()
                .forget_dropped(&tempdb.catalog, self.id);
        }
    }
}
