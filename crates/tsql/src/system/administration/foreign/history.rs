//! The rows in msdb for a restore of a SQL Server backup: `restorehistory` with its files, and the backup set itself, from another server.
//!
//! They describe the set as RESTORE HEADERONLY and FILELISTONLY do ([`super::media`]). A value that is not read from the file is NULL.

use engine::error::Result;
use engine::instance::{ForeignFile, HistoryRow, HistorySet, RestoredSet};
use engine::types::{Decimal, Value};
use genuine::PAGE_BYTES;
use genuine::container::{BackedUpFile, Backup, BackupSet, Media, SetKind, TapeDate};

use super::chain::path_of;
use super::media::{given, ticks_of};
use super::{Given, Work, files_of};
use crate::views::{datetime, lsn_number};

/// `software_vendor_id` of SQL Server.
const SOFTWARE_VENDOR: i32 = 4608;
/// `device_type` of a file.
const DEVICE_DISK: u8 = 2;

impl Work<'_> {
    /// Notes that a set was restored. History cannot undo that: a failure to write it is said, no more.
    pub(super) fn note(&mut self, restored: &Given<'_>) -> Result<()> {
        let instance = self.context.instance;
        let set = described(restored, &|device| instance.device_path(device));
        let noted = instance.note_restore(&RestoredSet {
            database: self.name,
            request: self.request,
            set: &set,
            finished: instance.env.clock.wall_ticks(),
            files: &self.files_made(restored.set()),
        });
        match noted {
            Ok(()) => Ok(()),
            Err(untold) => self.host.message(&untold),
        }
    }

    /// The files that the database has; or, while it is RESTORING and has none, those that it will have.
    fn files_made(&self, set: &BackupSet) -> Vec<(u16, String)> {
        let entry = self.context.slot(self.name).map(|slot| slot.entry());
        let (files, waiting) = entry.map_or((Vec::new(), None), |entry| (entry.files, entry.foreign));
        if !files.is_empty() {
            let files = files.into_iter();
            return files.map(|file| (file.file_id, file.physical_name)).collect();
        }
        // The statement that began the restore may have named their places.
        let moves = waiting.map_or_else(|| self.request.moves.clone(), |restore| restore.moves);
        let to_make = files_of(set, &moves);
        let (data, logs): (Vec<_>, Vec<_>) = set.configuration.files.iter().partition(|file| !file.is_log());
        let specs = data
            .into_iter()
            .zip(to_make.data)
            .chain(logs.into_iter().zip(to_make.log));
        specs
            .map(|(file, spec)| {
                (
                    u16::try_from(file.id).unwrap_or(u16::MAX),
                    spec.filename.unwrap_or_default(),
                )
            })
            .collect()
    }
}

/// The set as the history has it. `place_of` says where a device lies.
fn described(restored: &Given<'_>, place_of: &dyn Fn(&str) -> String) -> HistorySet {
    let set = restored.set();
    let media = restored.backup.media();
    HistorySet {
        set_guid: set.header.guid,
        letter: letter_of(set.header.kind),
        set: set_row(restored),
        files: set.configuration.files.iter().map(file_row).collect(),
        filegroups: set.configuration.filegroups.iter().map(filegroup_row).collect(),
        media_guid: media.first().map_or([0; 16], |media| media.header.set_guid),
        media: media_row(restored.backup),
        families: media
            .iter()
            .zip(restored.paths)
            .map(|(media, path)| family_row(media, &place_of(path)))
            .collect(),
    }
}

fn letter_of(kind: SetKind) -> &'static str {
    match kind {
        SetKind::Full | SetKind::Other(_) => "D",
        SetKind::Differential => "I",
        SetKind::Log => "L",
    }
}

fn date(date: Option<TapeDate>) -> Value {
    date.and_then(ticks_of).map_or(Value::Null, datetime)
}

fn number(number: u64, precision: u8) -> Value {
    Value::Decimal(Decimal::new(i128::from(number), precision, 0))
}

fn set_row(restored: &Given<'_>) -> HistoryRow {
    let set = restored.set();
    let (header, found) = (&set.header, &set.configuration);
    let (major, minor, build) = found.server_version;
    let path = path_of(set).since(found.first_lsn);
    let compressed = match found.compressed_bytes {
        0 => found.backup_bytes,
        compressed => compressed,
    };
    let mut row = vec![
        ("backup_set_uuid", Value::UniqueIdentifier(header.guid)),
        ("first_family_number", Value::TinyInt(1)),
        ("first_media_number", Value::SmallInt(1)),
        ("last_family_number", Value::TinyInt(family_count(restored.backup))),
        ("last_media_number", Value::SmallInt(1)),
        ("catalog_family_number", Value::TinyInt(1)),
        ("catalog_media_number", Value::SmallInt(1)),
        (
            "position",
            Value::Int(i32::try_from(restored.position()).unwrap_or(i32::MAX)),
        ),
        ("software_vendor_id", Value::Int(SOFTWARE_VENDOR)),
        ("name", given(&header.name)),
        ("description", given(&header.description)),
        ("user_name", given(&header.user)),
        ("software_major_version", Value::TinyInt(major)),
        ("software_minor_version", Value::TinyInt(minor)),
        (
            "software_build_version",
            Value::SmallInt(i16::try_from(build).unwrap_or(i16::MAX)),
        ),
        ("mtf_minor_version", Value::TinyInt(0)),
        ("first_lsn", lsn_number(found.first_lsn)),
        ("last_lsn", lsn_number(found.last_lsn)),
        ("checkpoint_lsn", lsn_number(found.checkpoint_lsn)),
        ("database_backup_lsn", lsn_number(found.database_backup_lsn)),
        ("database_creation_date", date(found.database_created)),
        ("backup_start_date", date(found.started)),
        ("backup_finish_date", date(found.finished)),
        ("type", letter_of(header.kind).into()),
        ("code_page", Value::SmallInt(0)),
        ("compatibility_level", Value::TinyInt(found.compatibility_level)),
        ("database_version", Value::Int(i32::from(found.database_version))),
        ("backup_size", number(found.backup_bytes, 20)),
        ("database_name", found.database.as_str().into()),
        ("server_name", given(&found.server)),
        ("machine_name", given(&found.server)),
        ("flags", Value::Int(512 * i32::from(header.copy_only))),
        ("unicode_locale", Value::Int(i32::try_from(found.locale).unwrap_or(0))),
        ("is_password_protected", Value::Bit(false)),
        ("is_snapshot", Value::Bit(false)),
        ("is_damaged", Value::Bit(!set.is_complete)),
        ("is_copy_only", Value::Bit(header.copy_only)),
        ("first_recovery_fork_guid", Value::UniqueIdentifier(path.first_fork().0)),
        ("last_recovery_fork_guid", Value::UniqueIdentifier(found.fork)),
        (
            "fork_point_lsn",
            path.origin.map_or(Value::Null, |origin| lsn_number(origin.point)),
        ),
        ("database_guid", Value::UniqueIdentifier(found.binding_guid)),
        ("family_guid", Value::UniqueIdentifier(found.family_guid)),
        ("compressed_backup_size", number(compressed, 20)),
    ];
    if header.kind == SetKind::Differential {
        row.push(("differential_base_lsn", lsn_number(found.database_backup_lsn)));
        row.push(("differential_base_guid", Value::UniqueIdentifier(found.base_guid)));
    }
    row
}

fn file_row(file: &BackedUpFile) -> HistoryRow {
    let page_bytes = if file.is_log() { 0 } else { PAGE_BYTES };
    vec![
        ("first_family_number", Value::TinyInt(1)),
        ("first_media_number", Value::SmallInt(1)),
        ("filegroup_name", given(&file.filegroup_name)),
        ("page_size", Value::Int(i32::try_from(page_bytes).unwrap_or(i32::MAX))),
        ("file_number", number(u64::from(file.id), 10)),
        (
            "backed_up_page_count",
            number(file.backup_bytes / PAGE_BYTES as u64, 10),
        ),
        ("file_type", if file.is_log() { "L" } else { "D" }.into()),
        ("source_file_block_size", number(512, 10)),
        ("file_size", number(file.file_bytes, 20)),
        ("logical_name", file.logical_name.as_str().into()),
        ("physical_name", file.path.as_str().into()),
        ("state", Value::TinyInt(0)),
        ("state_desc", "ONLINE".into()),
        ("backup_size", number(file.backup_bytes, 20)),
        ("is_present", Value::Bit(true)),
    ]
}

fn filegroup_row((id, name): &(u16, String)) -> HistoryRow {
    vec![
        ("name", given(name)),
        ("filegroup_id", Value::Int(i32::from(*id))),
        ("type", "FG".into()),
        ("type_desc", "ROWS_FILEGROUP".into()),
    ]
}

fn family_count(backup: &Backup<ForeignFile>) -> u8 {
    u8::try_from(backup.missing_families().0).unwrap_or(u8::MAX)
}

fn media_row(backup: &Backup<ForeignFile>) -> HistoryRow {
    let mut row = vec![
        ("media_family_count", Value::TinyInt(family_count(backup))),
        ("software_vendor_id", Value::Int(SOFTWARE_VENDOR)),
        ("MTF_major_version", Value::TinyInt(1)),
        ("is_password_protected", Value::Bit(false)),
        (
            "is_compressed",
            Value::Bit(backup.media().iter().any(Media::is_compressed)),
        ),
        ("is_encrypted", Value::Bit(false)),
    ];
    if let Some(media) = backup.media().first() {
        row.extend([
            ("media_uuid", Value::UniqueIdentifier(media.header.set_guid)),
            ("name", given(&media.header.name)),
            ("description", given(&media.header.description)),
            ("software_name", given(&media.header.software)),
        ]);
    }
    row
}

fn family_row(media: &Media<ForeignFile>, path: &str) -> HistoryRow {
    vec![
        (
            "family_sequence_number",
            Value::TinyInt(u8::try_from(media.header.family).unwrap_or(u8::MAX)),
        ),
        ("media_count", Value::Int(1)),
        ("physical_device_name", path.into()),
        ("device_type", Value::TinyInt(DEVICE_DISK)),
        ("mirror", Value::TinyInt(0)),
    ]
}
