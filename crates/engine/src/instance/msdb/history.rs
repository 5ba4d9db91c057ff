//! The history of backups and restores in msdb.
//!
//! | table | a row for |
//! |---|---|
//! | `backupmediaset`, `backupmediafamily` | a media set and each of its files, when the first set is written or restored here |
//! | `backupset` | a set |
//! | `backupfile`, `backupfilegroup` | a file of the set's database, a filegroup |
//! | `restorehistory` | a RESTORE that restored a set |
//! | `logmarkhistory` | a mark, in each database whose log has it (SQL Server docs, "logmarkhistory") |
//! | `restorefile`, `restorefilegroup` | a file that it created or filled, a filegroup of the set |
//!
//! The rows of one statement are one transaction, which is durable when the statement ends. It comes last and changes neither the media
//! file nor the log chain: if the machine stops earlier, the set is there and only its history is missing. A failure gives 3009, "The
//! backup/restore operation was still successful".
//!
//! The newest [`SETS_KEPT`] sets are kept. Each new one deletes older ones, at most [`SETS_DELETED_AT_ONCE`].

use super::rows::{HistoryRow, HistorySet, drive_of, lsn, number, text, time};
use super::{Msdb, beginning_with, value_in};
use crate::backup::{MadeSet, RestoreRequest, StopPoint};
use crate::cancel;
use crate::error::{Error, Result};
use crate::instance::{Instance, MSDB};
use crate::lock::Mode;
use crate::seams::DateTimeTicks;
use crate::session::{CommittedMark, Session, Table};
use crate::store::ReadMode;
use crate::types::Value;
use std::ops::Bound;

/// Sets that the history holds: a backup a minute for ten weeks.
pub const SETS_KEPT: i32 = 100_000;
/// Sets that one statement deletes besides: twice as many as it makes, so that the history does not stay too long.
const SETS_DELETED_AT_ONCE: usize = 2;
/// Tables with rows of a restore.
const RESTORED_PARTS: [&str; 2] = ["restorefile", "restorefilegroup"];

impl Msdb<'_> {
    /// The number of the media set; made if it is not known.
    fn media_set(&mut self, set: &HistorySet) -> Result<i32> {
        let sets = self.table("backupmediaset")?;
        let uuid = Value::UniqueIdentifier(set.media_guid);
        if let Some((_, row)) = self.rows(&sets, "backupmediasetuuid", &[uuid])?.first() {
            return Ok(value_in(&sets, row, "media_set_id").as_i64().unwrap_or(0) as i32);
        }
        let media_set = self.insert(&sets, set.media.clone())?;
        self.insert_all("backupmediafamily", ("media_set_id", media_set), &set.families)?;
        Ok(media_set)
    }

    /// Rows that belong to the one with this number.
    fn insert_all(&mut self, table: &str, owner: (&'static str, i32), rows: &[HistoryRow]) -> Result<()> {
        let table = self.table(table)?;
        for row in rows {
            let number = (owner.0, Value::Int(owner.1));
            self.insert(&table, row.iter().cloned().chain([number]).collect())?;
        }
        Ok(())
    }

    /// Notes a set, with its media, files and filegroups.
    fn note_set(&mut self, set: &HistorySet) -> Result<i32> {
        let media_set = ("media_set_id", Value::Int(self.media_set(set)?));
        let sets = self.table("backupset")?;
        let set_id = self.insert(&sets, set.set.iter().cloned().chain([media_set]).collect())?;
        self.insert_all("backupfile", ("backup_set_id", set_id), &set.files)?;
        self.insert_all("backupfilegroup", ("backup_set_id", set_id), &set.filegroups)?;
        for number in self.sets_before(&sets, set_id.saturating_sub(SETS_KEPT))? {
            self.delete_set(&number)?;
        }
        Ok(set_id)
    }

    /// The oldest sets up to a number, as many as go at once.
    fn sets_before(&self, sets: &Table, last: i32) -> Result<Vec<Value>> {
        if last < 1 {
            return Ok(Vec::new());
        }
        let locks = self.session.locks().clone();
        let (_, end) = beginning_with(&[Value::Int(last)]);
        let mut scan = sets.seek(&locks, ReadMode::Locked(Mode::U), (Bound::Unbounded, end), false)?;
        let (mut found, mut row) = (Vec::new(), Vec::new());
        if scan.next_batch()? {
            let oldest = (0..scan.len()).filter_map(|index| scan.row(index));
            for bytes in oldest.take(SETS_DELETED_AT_ONCE) {
                sets.layout().decode_into(bytes, &mut row)?;
                found.push(value_in(sets, &row, "backup_set_id").clone());
            }
        }
        Ok(found)
    }

    /// The number of a set that is known.
    fn known_set(&self, set: &HistorySet) -> Result<Option<i32>> {
        let sets = self.table("backupset")?;
        let rows = self.rows(&sets, "backupsetuuid", &[Value::UniqueIdentifier(set.set_guid)])?;
        let number = rows
            .first()
            .and_then(|(_, row)| value_in(&sets, row, "backup_set_id").as_i64());
        Ok(number.map(|number| number as i32))
    }

    /// Deletes a set with all that refers to it, and its media if no other set is on them.
    fn delete_set(&mut self, number: &Value) -> Result<()> {
        let (sets, key) = (self.table("backupset")?, [number.clone()]);
        let deleted = self.delete(&sets, "PK_backupset", &key)?;
        self.delete_parts(&["backupfile", "backupfilegroup"], &key)?;
        let restores = self.table("restorehistory")?;
        for restore in self.delete(&restores, "restorehistorybackupset", &key)? {
            let number = value_in(&restores, &restore, "restore_history_id").clone();
            self.delete_parts(&RESTORED_PARTS, &[number])?;
        }
        for set in deleted {
            let media_set = [value_in(&sets, &set, "media_set_id").clone()];
            if self.rows(&sets, "backupsetMediaSetId", &media_set)?.is_empty() {
                let (media, families) = (self.table("backupmediaset")?, self.table("backupmediafamily")?);
                self.delete(&families, "PK_backupmediafamily", &media_set)?;
                self.delete(&media, "PK_backupmediaset", &media_set)?;
            }
        }
        Ok(())
    }

    /// Deletes the rows of these tables whose owner has this number.
    fn delete_parts(&mut self, tables: &[&str], owner: &[Value]) -> Result<()> {
        for name in tables {
            let table = self.table(name)?;
            self.delete(&table, &format!("PK_{name}"), owner)?;
        }
        Ok(())
    }

    /// The numbers, in a column, of the rows that are meant.
    fn numbers_where(&self, table: &Table, column: &str, meant: &dyn Fn(&[Value]) -> bool) -> Result<Vec<Value>> {
        let locks = self.session.locks().clone();
        let mut scan = table.scan(&locks, ReadMode::Locked(Mode::U))?;
        let (mut found, mut row) = (Vec::new(), Vec::new());
        while scan.next_batch()? {
            cancel::look()?;
            for bytes in (0..scan.len()).filter_map(|index| scan.row(index)) {
                table.layout().decode_into(bytes, &mut row)?;
                if meant(&row) {
                    found.push(value_in(table, &row, column).clone());
                }
            }
        }
        Ok(found)
    }

    fn note_restore(&mut self, set_id: i32, restored: &RestoredSet<'_>) -> Result<()> {
        let request = restored.request;
        let stop = request.stop_at.as_ref();
        let history = self.table("restorehistory")?;
        let number_of_restore = self.insert(
            &history,
            vec![
                ("restore_date", time(restored.finished)),
                ("destination_database_name", text(restored.database)),
                ("user_name", text(&request.user)),
                ("backup_set_id", Value::Int(set_id)),
                ("restore_type", text(restored.set.letter)),
                ("replace", Value::Bit(request.replace)),
                (
                    "recovery",
                    Value::Bit(request.after == crate::backup::AfterRestore::Recovery),
                ),
                ("restart", Value::Bit(false)),
                ("stop_at", stop.and_then(StopPoint::time).map_or(Value::Null, time)),
                (
                    "stop_at_mark_name",
                    stop.and_then(StopPoint::mark).map_or(Value::Null, text),
                ),
                (
                    "stop_before",
                    stop.map_or(Value::Null, |stop| Value::Bit(stop.is_before())),
                ),
                (
                    "device_count",
                    Value::TinyInt(u8::try_from(restored.set.families.len()).unwrap_or(u8::MAX)),
                ),
            ],
        )?;
        let owner = ("restore_history_id", number_of_restore);
        let file = |(file_id, path): &(u16, String)| {
            vec![
                ("file_number", number(u64::from(*file_id), 10)),
                ("destination_phys_drive", drive_of(path)),
                ("destination_phys_name", text(path)),
            ]
        };
        let files: Vec<HistoryRow> = restored.files.iter().map(file).collect();
        self.insert_all("restorefile", owner, &files)?;
        let names = restored.set.filegroups.iter().flatten();
        let names = names.filter(|(column, _)| *column == "name");
        let filegroups: Vec<HistoryRow> = names.map(|(_, name)| vec![("filegroup_name", name.clone())]).collect();
        self.insert_all("restorefilegroup", owner, &filegroups)
    }
}

/// A set that was restored.
pub struct RestoredSet<'a> {
    pub database: &'a str,
    pub request: &'a RestoreRequest,
    pub set: &'a HistorySet,
    pub finished: DateTimeTicks,
    /// The files that it made or filled: their ids, and their paths as the statement has them.
    pub files: &'a [(u16, String)],
}

/// Which sets' history goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OldHistory {
    /// What ended before a moment: sets and restores.
    Before(DateTimeTicks),
    /// The sets of a database and what was restored of them.
    OfDatabase(String),
}

impl Instance {
    /// Notes a set that was made. `devices` are the media files, in the order of their families.
    pub(in crate::instance) fn note_backup(&self, made: &MadeSet, devices: &[String]) -> Result<()> {
        let set = HistorySet::of(&made.description, &made.label, devices);
        self.told_if_not_noted(self.in_msdb(|msdb| msdb.note_set(&set).map(|_| ())))
    }

    /// Notes a set that was restored; and the set, if it was made elsewhere.
    ///
    /// # Errors
    /// 3009: the history could not be written, and the error log says why.
    pub fn note_restore(&self, restored: &RestoredSet<'_>) -> Result<()> {
        self.told_if_not_noted(self.in_msdb(|msdb| {
            let set_id = match msdb.known_set(restored.set)? {
                Some(known) => known,
                None => msdb.note_set(restored.set)?,
            };
            msdb.note_restore(set_id, restored)
        }))
    }

    /// Notes the marks that a transaction has left in logs; what keeps them from being noted goes into the error log.
    pub fn note_marks(&self, marks: &[CommittedMark], user: &str) {
        let noted = self.in_msdb(|msdb| {
            let history = msdb.table("logmarkhistory")?;
            for CommittedMark {
                database,
                mark,
                committed,
            } in marks
            {
                let description = Some(mark.description()).filter(|description| !description.is_empty());
                let row = vec![
                    ("database_name", text(database)),
                    ("mark_name", text(mark.name())),
                    ("description", description.map_or(Value::Null, text)),
                    ("user_name", text(user)),
                    ("lsn", lsn(committed.lsn)),
                    ("mark_time", time(committed.time)),
                ];
                msdb.insert(&history, row)?;
            }
            Ok(())
        });
        if let Err(error) = noted {
            self.env.errorlog.write_error("Server", &error);
        }
    }

    /// 3009 in the place of what kept history from being written, which the error log has.
    fn told_if_not_noted(&self, noted: Result<()>) -> Result<()> {
        noted.map_err(|error| {
            self.env.errorlog.write_error("Backup", &error);
            Error::history_not_written()
        })
    }

    /// Deletes history in the session's transaction: sp_delete_backuphistory and sp_delete_database_backuphistory. Answers the number
    /// of sets.
    ///
    /// # Errors
    /// 208 when a table of it was dropped; those of changing rows, and of waiting for locks.
    pub fn delete_history(&self, session: &mut Session, old: &OldHistory) -> Result<usize> {
        let database = self.database_by_id(MSDB).ok_or_else(|| Error::inaccessible("msdb"))?;
        let mut msdb = Msdb { database, session };
        let sets = msdb.table("backupset")?;
        let is_old = |row: &[Value]| match old {
            OldHistory::Before(moment) => is_before(value_in(&sets, row, "backup_finish_date"), *moment),
            OldHistory::OfDatabase(name) => value_in(&sets, row, "database_name")
                .as_str()
                .is_some_and(|database| database.eq_ignore_ascii_case(name)),
        };
        let numbers = msdb.numbers_where(&sets, "backup_set_id", &is_old)?;
        for number in &numbers {
            cancel::look()?;
            msdb.delete_set(number)?;
        }
        if let OldHistory::Before(moment) = old {
            msdb.delete_restores_before(*moment)?;
        }
        Ok(numbers.len())
    }
}

fn is_before(value: &Value, moment: DateTimeTicks) -> bool {
    matches!(value, Value::DateTime { days, ticks } if (*days, *ticks) < (moment.days, moment.ticks))
}

impl Msdb<'_> {
    /// Restores of sets that are kept.
    fn delete_restores_before(&mut self, moment: DateTimeTicks) -> Result<()> {
        let restores = self.table("restorehistory")?;
        let is_old = |row: &[Value]| is_before(value_in(&restores, row, "restore_date"), moment);
        for number in self.numbers_where(&restores, "restore_history_id", &is_old)? {
            cancel::look()?;
            self.delete_parts(&RESTORED_PARTS, std::slice::from_ref(&number))?;
            self.delete(&restores, "PK_restorehistory", &[number])?;
        }
        Ok(())
    }
}
