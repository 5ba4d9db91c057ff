//! The history of backups and restores in msdb.
//!
//! | table | a row for |
//! |---|---|
//! | `backupmediaset`, `backupmediafamily` | a media file, when its first set is written or restored here |
//! | `backupset` | a set |
//! | `backupfile` | a file of the set's database |
//! | `restorehistory` | a RESTORE that restored a set |
//! | `restorefile` | a file that it created or filled |
//!
//! The rows of one statement are one transaction, which is durable when the statement ends. It comes last and changes neither the media
//! file nor the log chain: if the machine stops earlier, the set is there and only its history is missing. A failure gives 3009, "The
//! backup/restore operation was still successful".
//!
//! The newest [`SETS_KEPT`] sets are kept. Each new one deletes older ones, at most [`SETS_DELETED_AT_ONCE`].

use super::{Msdb, beginning_with, value_in};
use crate::backup::{BackupFile, MadeSet, MediaLabel, RestoreRequest, SetDescription, SetKind};
use crate::cancel;
use crate::error::{Error, Result};
use crate::instance::{Instance, MSDB};
use crate::lock::Mode;
use crate::page::PAGE_BYTES;
use crate::recovery::BootRecord;
use crate::seams::DateTimeTicks;
use crate::session::{Session, Table};
use crate::store::ReadMode;
use crate::types::{Collation, Decimal, Value};
use std::ops::Bound;
use vlf::Lsn;

/// Sets that the history holds: a backup a minute for ten weeks.
pub const SETS_KEPT: i32 = 100_000;
/// Sets that one statement deletes besides: twice as many as it makes, so that the history does not stay too long.
const SETS_DELETED_AT_ONCE: usize = 2;
/// `device_type` of a file.
const DEVICE_DISK: u8 = 2;
/// `software_vendor_id`: the one that media of ours have (RESTORE HEADERONLY).
const SOFTWARE_VENDOR: i32 = 4608;
/// `database_version`, as RESTORE HEADERONLY says it.
const DATABASE_VERSION: i32 = 957;
/// `physical_block_size` of disks.
const BLOCK_BYTES: i32 = 512;

fn text(text: &str) -> Value {
    Value::text(text)
}

fn text_or_null(text: Option<&String>) -> Value {
    text.map_or(Value::Null, |text| Value::text(text.as_str()))
}

fn time(time: DateTimeTicks) -> Value {
    Value::DateTime {
        days: time.days,
        ticks: time.ticks,
    }
}

fn lsn(lsn: Lsn) -> Value {
    Value::Decimal(Decimal::new(
        i128::try_from(lsn.to_numeric()).unwrap_or(i128::MAX),
        25,
        0,
    ))
}

fn number(number: u64, precision: u8) -> Value {
    Value::Decimal(Decimal::new(i128::from(number), precision, 0))
}

fn recovery_model(number: u8) -> &'static str {
    match number {
        1 => "FULL",
        2 => "BULK-LOGGED",
        _ => "SIMPLE",
    }
}

/// The columns of `backupset` that are the same for every set.
fn same_of_every_set() -> [(&'static str, Value); 21] {
    [
        ("first_family_number", Value::TinyInt(1)),
        ("first_media_number", Value::SmallInt(1)),
        ("last_family_number", Value::TinyInt(1)),
        ("last_media_number", Value::SmallInt(1)),
        ("catalog_family_number", Value::TinyInt(1)),
        ("catalog_media_number", Value::SmallInt(1)),
        ("software_vendor_id", Value::Int(SOFTWARE_VENDOR)),
        ("software_build_version", Value::SmallInt(0)),
        ("time_zone", Value::SmallInt(0)),
        ("mtf_minor_version", Value::TinyInt(0)),
        ("sort_order", Value::SmallInt(52)),
        ("code_page", Value::SmallInt(0)),
        ("database_version", Value::Int(DATABASE_VERSION)),
        ("unicode_locale", Value::Int(1033)),
        ("unicode_compare_style", Value::Int(196_609)),
        ("is_password_protected", Value::Bit(false)),
        ("has_bulk_logged_data", Value::Bit(false)),
        ("is_snapshot", Value::Bit(false)),
        ("is_single_user", Value::Bit(false)),
        ("is_damaged", Value::Bit(false)),
        ("has_incomplete_metadata", Value::Bit(false)),
    ]
}

/// The row of `backupset`, but for its own number.
fn set_row(media_set: i32, set: &SetDescription) -> Vec<(&'static str, Value)> {
    let boot = BootRecord::decode(&set.boot, &set.database_name).ok();
    let is_read_only = boot.as_ref().is_some_and(|boot| boot.is_read_only);
    let collation = boot
        .and_then(|boot| Collation::from_number(boot.collation))
        .unwrap_or_default();
    let flags = 512 * i32::from(set.copy_only) + 16 * i32::from(set.checksum);
    let mut row = vec![
        ("backup_set_uuid", Value::UniqueIdentifier(set.set_guid)),
        ("media_set_id", Value::Int(media_set)),
        ("position", Value::Int(i32::try_from(set.position).unwrap_or(i32::MAX))),
        ("name", text_or_null(set.name.as_ref())),
        ("description", text_or_null(set.description.as_ref())),
        ("user_name", text(&set.user_name)),
        ("software_major_version", Value::TinyInt(set.software_version.0)),
        ("software_minor_version", Value::TinyInt(set.software_version.1)),
        ("first_lsn", lsn(set.first_lsn)),
        ("last_lsn", lsn(set.last_lsn)),
        ("checkpoint_lsn", lsn(set.checkpoint_lsn)),
        ("database_backup_lsn", lsn(set.database_backup_lsn)),
        ("database_creation_date", time(set.database_created)),
        ("backup_start_date", time(set.started)),
        ("backup_finish_date", time(set.finished)),
        ("type", text(set.kind.letter())),
        (
            "compatibility_level",
            Value::TinyInt(u8::try_from(set.compatibility_level).unwrap_or(u8::MAX)),
        ),
        ("backup_size", number(set.backup_bytes, 20)),
        ("database_name", text(&set.database_name)),
        ("server_name", text(&set.server_name)),
        ("machine_name", text(&set.server_name)),
        ("flags", Value::Int(flags)),
        ("collation_name", text(collation.name())),
        ("recovery_model", text(recovery_model(set.recovery_model))),
        ("is_readonly", Value::Bit(is_read_only)),
        ("has_backup_checksums", Value::Bit(set.checksum)),
        ("begins_log_chain", Value::Bit(set.begins_log_chain)),
        ("is_force_offline", Value::Bit(set.no_recovery)),
        ("is_copy_only", Value::Bit(set.copy_only)),
        (
            "first_recovery_fork_guid",
            Value::UniqueIdentifier(set.path.first_fork().0),
        ),
        ("last_recovery_fork_guid", Value::UniqueIdentifier(set.path.fork.0)),
        (
            "fork_point_lsn",
            set.path.origin.map_or(Value::Null, |origin| lsn(origin.point)),
        ),
        ("database_guid", Value::UniqueIdentifier(set.family_guid)),
        ("family_guid", Value::UniqueIdentifier(set.family_guid)),
        ("compressed_backup_size", number(set.stored_bytes, 20)),
    ];
    if let Some(base) = set.differential_base {
        row.push(("differential_base_lsn", lsn(base.lsn)));
        row.push(("differential_base_guid", Value::UniqueIdentifier(base.guid)));
    }
    row.extend(same_of_every_set());
    row
}

fn file_row(set_id: i32, set: &SetDescription, file: &BackupFile) -> Vec<(&'static str, Value)> {
    let base = set.differential_base.filter(|_| !file.file.log);
    let is_in_set = file.file.log || set.kind != SetKind::Log;
    let page_count = file.backup_bytes / PAGE_BYTES as u64;
    let mut guid = [0; 16];
    guid[14..].copy_from_slice(&file.file.file_id.to_be_bytes());
    vec![
        ("backup_set_id", Value::Int(set_id)),
        ("first_family_number", Value::TinyInt(1)),
        ("first_media_number", Value::SmallInt(1)),
        (
            "filegroup_name",
            if file.file.log { Value::Null } else { text("PRIMARY") },
        ),
        (
            "page_size",
            Value::Int(if file.file.log { 0 } else { PAGE_BYTES as i32 }),
        ),
        ("file_number", number(u64::from(file.file.file_id), 10)),
        ("backed_up_page_count", number(page_count, 10)),
        ("file_type", text(if file.file.log { "L" } else { "D" })),
        ("source_file_block_size", number(BLOCK_BYTES as u64, 10)),
        ("file_size", number(file.bytes, 20)),
        ("logical_name", text(&file.file.name)),
        ("physical_name", text(&file.file.physical_name)),
        ("state", Value::TinyInt(0)),
        ("state_desc", text("ONLINE")),
        ("create_lsn", lsn(Lsn::ZERO)),
        ("drop_lsn", lsn(Lsn::ZERO)),
        ("file_guid", Value::UniqueIdentifier(guid)),
        ("read_only_lsn", lsn(Lsn::ZERO)),
        ("read_write_lsn", lsn(Lsn::ZERO)),
        ("backup_size", number(file.backup_bytes, 20)),
        ("differential_base_lsn", base.map_or(Value::Null, |base| lsn(base.lsn))),
        (
            "differential_base_guid",
            base.map_or(Value::Null, |base| Value::UniqueIdentifier(base.guid)),
        ),
        ("is_readonly", Value::Bit(false)),
        ("is_present", Value::Bit(is_in_set)),
    ]
}

impl Msdb<'_> {
    /// The number of the media set; made if it is not known.
    fn media_set(&mut self, label: &MediaLabel, device: &str, is_compressed: bool) -> Result<i32> {
        let sets = self.table("backupmediaset")?;
        let uuid = Value::UniqueIdentifier(label.guid);
        if let Some((_, row)) = self
            .rows(&sets, "backupmediasetuuid", std::slice::from_ref(&uuid))?
            .first()
        {
            return Ok(value_in(&sets, row, "media_set_id").as_i64().unwrap_or(0) as i32);
        }
        let name = Some(&label.name).filter(|name| !name.is_empty());
        let media_set = self.insert(
            &sets,
            vec![
                ("media_uuid", uuid.clone()),
                ("media_family_count", Value::TinyInt(1)),
                ("name", text_or_null(name)),
                ("software_name", text("vlflab")),
                ("software_vendor_id", Value::Int(SOFTWARE_VENDOR)),
                ("MTF_major_version", Value::TinyInt(1)),
                ("mirror_count", Value::TinyInt(1)),
                ("is_password_protected", Value::Bit(false)),
                ("is_compressed", Value::Bit(is_compressed)),
                ("is_encrypted", Value::Bit(false)),
            ],
        )?;
        let families = self.table("backupmediafamily")?;
        self.insert(
            &families,
            vec![
                ("media_set_id", Value::Int(media_set)),
                ("family_sequence_number", Value::TinyInt(1)),
                ("media_family_id", uuid),
                ("media_count", Value::Int(1)),
                ("physical_device_name", text(device)),
                ("device_type", Value::TinyInt(DEVICE_DISK)),
                ("physical_block_size", Value::Int(BLOCK_BYTES)),
                ("mirror", Value::TinyInt(0)),
            ],
        )?;
        Ok(media_set)
    }

    /// Notes a set, with its media and files.
    fn note_set(&mut self, set: &SetDescription, label: &MediaLabel, device: &str) -> Result<i32> {
        let media_set = self.media_set(label, device, set.compressed)?;
        let sets = self.table("backupset")?;
        let set_id = self.insert(&sets, set_row(media_set, set))?;
        let files = self.table("backupfile")?;
        for file in &set.files {
            self.insert(&files, file_row(set_id, set, file))?;
        }
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
    fn known_set(&self, set: &SetDescription) -> Result<Option<i32>> {
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
        let files = self.table("backupfile")?;
        self.delete(&files, "PK_backupfile", &key)?;
        let (restores, restored) = (self.table("restorehistory")?, self.table("restorefile")?);
        for restore in self.delete(&restores, "restorehistorybackupset", &key)? {
            let number = value_in(&restores, &restore, "restore_history_id").clone();
            self.delete(&restored, "PK_restorefile", &[number])?;
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
        let history = self.table("restorehistory")?;
        let number_of_restore = self.insert(
            &history,
            vec![
                ("restore_date", time(restored.finished)),
                ("destination_database_name", text(restored.database)),
                ("user_name", text(&request.user)),
                ("backup_set_id", Value::Int(set_id)),
                ("restore_type", text(restored.set.kind.letter())),
                ("replace", Value::Bit(request.replace)),
                (
                    "recovery",
                    Value::Bit(request.after == crate::backup::AfterRestore::Recovery),
                ),
                ("restart", Value::Bit(false)),
                ("stop_at", request.stop_at.map_or(Value::Null, time)),
                ("device_count", Value::TinyInt(1)),
            ],
        )?;
        let files = self.table("restorefile")?;
        for (file_id, path) in restored.files {
            self.insert(
                &files,
                vec![
                    ("restore_history_id", Value::Int(number_of_restore)),
                    ("file_number", number(u64::from(*file_id), 10)),
                    ("destination_phys_name", text(path)),
                ],
            )?;
        }
        Ok(())
    }
}

/// A set that was restored.
pub(in crate::instance) struct RestoredSet<'a> {
    pub database: &'a str,
    pub request: &'a RestoreRequest,
    pub set: &'a SetDescription,
    pub label: &'a MediaLabel,
    pub device: &'a str,
    pub finished: DateTimeTicks,
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
    /// Notes a set that was made. `device` is the media file.
    pub(in crate::instance) fn note_backup(&self, made: &MadeSet, device: &str) -> Result<()> {
        self.told_if_not_noted(self.in_msdb(|msdb| msdb.note_set(&made.description, &made.label, device).map(|_| ())))
    }

    /// Notes a set that was restored; and the set, if it was made elsewhere.
    pub(in crate::instance) fn note_restore(&self, restored: &RestoredSet<'_>) -> Result<()> {
        self.told_if_not_noted(self.in_msdb(|msdb| {
            let set_id = match msdb.known_set(restored.set)? {
                Some(known) => known,
                None => msdb.note_set(restored.set, restored.label, restored.device)?,
            };
            msdb.note_restore(set_id, restored)
        }))
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
        let (restores, files) = (self.table("restorehistory")?, self.table("restorefile")?);
        let is_old = |row: &[Value]| is_before(value_in(&restores, row, "restore_date"), moment);
        for number in self.numbers_where(&restores, "restore_history_id", &is_old)? {
            cancel::look()?;
            self.delete(&files, "PK_restorefile", std::slice::from_ref(&number))?;
            self.delete(&restores, "PK_restorehistory", &[number])?;
        }
        Ok(())
    }
}
