//! msdb: an ordinary database whose tables the instance creates and writes.
//!
//! At startup the instance creates missing tables and the view: at the first start, in a folder of an older version, and after they were
//! dropped. A table of an older version gets the columns that it lacks at its end. Users may also change them, so rows are built by column
//! names. If a row no longer fits, the error is 3009, as for any other failure to write
//! history.

mod history;
mod rows;
mod tables;

use super::{Instance, MSDB};
use crate::cancel;
use crate::catalog::ObjectDefinition;
use crate::database::Database;
use crate::error::{Error, Result};
use crate::lock::Mode;
use crate::session::{KeyRange, Session, Table};
use crate::store::{Placement, ReadMode, RowLocator};
use crate::types::{KeyDirection, Value, encode_key_part};
pub use history::{OldHistory, RestoredSet, SETS_KEPT};
pub use rows::{HistoryRow, HistorySet};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tables::{JOBS_VIEW, TABLES};

/// The number of the session that writes to msdb. Users have 51 and above.
const SYSTEM_SESSION: u16 = 27;
/// How long it waits for a lock that a user has in msdb, in milliseconds: a backup that is made must not wait for him.
const LOCK_TIMEOUT_MS: i64 = 2_000;

/// msdb, with a session that writes to it.
struct Msdb<'s> {
    database: Arc<Database>,
    session: &'s mut Session,
}

/// The keys that begin with these values.
fn beginning_with(values: &[Value]) -> KeyRange {
    let mut first = Vec::new();
    values
        .iter()
        .for_each(|value| encode_key_part(value, KeyDirection::Ascending, &mut first));
    let mut behind = first.clone();
    while behind.last() == Some(&u8::MAX) {
        behind.pop();
    }
    let end = match behind.last_mut() {
        Some(last) => {
            *last += 1;
            Bound::Excluded(behind)
        }
        None => Bound::Unbounded,
    };
    (Bound::Included(first), end)
}

impl Msdb<'_> {
    /// # Errors
    /// 208 when it was dropped.
    fn table(&self, name: &str) -> Result<Table> {
        let object = self.database.catalog.find("dbo", name, self.session.id);
        let object = object.filter(|object| matches!(object.definition, ObjectDefinition::Table(_)));
        let object = object.ok_or_else(|| Error::invalid_object(&format!("msdb.dbo.{name}")))?;
        Table::open(&self.database, &object)
    }

    /// Inserts a row. Columns that are not given are NULL, but for one that counts by itself: the answer is its number.
    fn insert(&mut self, table: &Table, given: Vec<(&str, Value)>) -> Result<i32> {
        let definition = table.definition();
        let number = match definition.identity() {
            Some((_, identity)) => self
                .database
                .next_identity(definition, identity, self.session.locks())?,
            None => 0,
        };
        let number = i32::try_from(number).map_err(|_| Error::arithmetic_overflow("bigint", "int"))?;
        let mut given = given;
        let mut value_of = |name: &str| {
            let place = given.iter().position(|(other, _)| other.eq_ignore_ascii_case(name));
            place.map_or(Value::Null, |place| given.swap_remove(place).1)
        };
        let columns = definition.columns.iter();
        let values: Vec<Value> = columns
            .map(|column| match column.identity {
                Some(_) => Value::Int(number),
                None => value_of(&column.name),
            })
            .collect();
        table.insert(self.session, &values, Placement::Anywhere)?;
        Ok(number)
    }

    /// The rows whose keys in an index begin with these values.
    fn rows(&self, table: &Table, index: &str, key: &[Value]) -> Result<Vec<(RowLocator, Vec<Value>)>> {
        let place = table.definition().indexes.iter().position(|other| other.name == index);
        let place = place.ok_or_else(|| Error::invalid_object(index))?;
        let locks = self.session.locks().clone();
        let mut found = Vec::new();
        table.locators_in(place, &locks, beginning_with(key), &mut |locator| {
            found.push(locator);
            Ok(())
        })?;
        let mut rows = Vec::new();
        for locator in found {
            let (mut bytes, mut values) = (Vec::new(), Vec::new());
            if table.fetch(&locks, ReadMode::Locked(Mode::U), &locator, &mut bytes)? {
                table.layout().decode_into(&bytes, &mut values)?;
                rows.push((locator, values));
            }
        }
        Ok(rows)
    }

    /// Deletes them, and answers with what they were.
    fn delete(&mut self, table: &Table, index: &str, key: &[Value]) -> Result<Vec<Vec<Value>>> {
        let mut deleted = Vec::new();
        for (locator, values) in self.rows(table, index, key)? {
            if table.delete(self.session, &locator, &values)? {
                deleted.push(values);
            }
        }
        Ok(deleted)
    }
}

/// A value of a row, by the name of its column; NULL when there is no such column.
fn value_in<'r>(table: &Table, row: &'r [Value], column: &str) -> &'r Value {
    let ordinal = table.definition().column(column);
    ordinal.and_then(|ordinal| row.get(ordinal)).unwrap_or(&Value::Null)
}

impl Instance {
    /// Makes the tables that are not there. What keeps them from being made goes into the error log: the instance starts without.
    pub(super) fn make_msdb_tables(&self) {
        let Some(database) = self.database_by_id(MSDB) else {
            return;
        };
        let is_missing = |name: &str| database.catalog.find("dbo", name, 0).is_none();
        let missing: Vec<_> = TABLES.iter().filter(|table| is_missing(table.name)).collect();
        let shorter: Vec<_> = TABLES
            .iter()
            .filter_map(|table| Some((table, database.catalog.find("dbo", table.name, 0)?)))
            .filter_map(|(table, object)| Some((table.extended(&object.definition)?, object)))
            .collect();
        let lacks_view = is_missing(JOBS_VIEW);
        if missing.is_empty() && shorter.is_empty() && !lacks_view {
            return;
        }
        let made = self.in_msdb(|msdb| {
            for table in missing {
                let definition = table.definition(self.started);
                msdb.session.create_table(&msdb.database, definition)?;
            }
            for (definition, object) in shorter {
                let definition = ObjectDefinition::Table(definition);
                msdb.session.replace_object(&msdb.database, &object, definition)?;
            }
            if lacks_view {
                let view = tables::jobs_view(msdb.database.new_object_id()?, self.started);
                msdb.session.create_object(&msdb.database, view)?;
            }
            Ok(())
        });
        if let Err(error) = made {
            self.env.errorlog.write_error("spid8s", &error);
        }
    }

    /// Runs `work` in a separate transaction in msdb. It cannot be cancelled, and waits only briefly for locks.
    ///
    /// # Errors
    /// 945 when msdb is not open; those of `work` and of its commit.
    fn in_msdb<T>(&self, work: impl FnOnce(&mut Msdb<'_>) -> Result<T>) -> Result<T> {
        let cancel = Arc::new(AtomicBool::new(false));
        let locks = Arc::new(self.lock_owner(SYSTEM_SESSION, cancel.clone()));
        locks.set_timeout_ms(LOCK_TIMEOUT_MS);
        let mut session = Session::new(SYSTEM_SESSION, locks, cancel, &self.versions);
        let database = self.database_by_id(MSDB).ok_or_else(|| Error::inaccessible("msdb"))?;
        session.begin();
        let worked = cancel::shield(|| {
            work(&mut Msdb {
                database,
                session: &mut session,
            })
        });
        match worked {
            Ok(answer) => session.commit().map(|()| answer),
            Err(error) => {
                session.roll_back()?;
                Err(error)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_keys_holds_those_that_begin_with_its_values_and_no_other() {
        let key = |values: &[Value]| match beginning_with(values).0 {
            Bound::Included(key) => key,
            _ => Vec::new(),
        };
        for number in [0, 1, 255, 256, i32::MAX, -1] {
            let (Bound::Included(first), Bound::Excluded(end)) = beginning_with(&[Value::Int(number)]) else {
                panic!("a range without ends");
            };
            for other in [0, 1, 2, 255, 256, 257, i32::MAX, -1, -2] {
                let longer = key(&[Value::Int(other), Value::Int(7)]);
                assert_eq!(first <= longer && longer < end, other == number, "{number} {other}");
            }
        }
    }
}
