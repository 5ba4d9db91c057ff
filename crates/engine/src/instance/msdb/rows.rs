//! The rows of a backup set in msdb's history, without the numbers that msdb assigns.
//!
//! ```text
//!   media set  1 --- n  families (files)            backupmediaset, backupmediafamily
//!      1
//!      |
//!      n
//!   set        1 --- n  files, filegroups           backupset, backupfile, backupfilegroup
//! ```
//!
//! This module describes vlflab's own sets. The reader of another server's backups describes theirs ([`HistorySet`]).

use crate::backup::{BackupFile, MediaLabel, SetDescription, SetKind};
use crate::catalog::FilegroupEntry;
use crate::page::PAGE_BYTES;
use crate::recovery::BootRecord;
use crate::seams::DateTimeTicks;
use crate::types::{Collation, Decimal, Value};
use vlf::Lsn;

/// A row of a table: names of columns and their values. The other columns are NULL.
pub type HistoryRow = Vec<(&'static str, Value)>;

/// A set with its media.
#[derive(Debug, Clone, Default)]
pub struct HistorySet {
    /// `backup_set_uuid`, by which a set is known.
    pub set_guid: [u8; 16],
    /// `type` of the set, `restore_type` of its restores: D, I or L.
    pub letter: &'static str,
    /// Its row of `backupset`.
    pub set: HistoryRow,
    /// Its rows of `backupfile`.
    pub files: Vec<HistoryRow>,
    /// Its rows of `backupfilegroup`.
    pub filegroups: Vec<HistoryRow>,
    /// `media_uuid`, by which a media set is known.
    pub media_guid: [u8; 16],
    /// The row of `backupmediaset`.
    pub media: HistoryRow,
    /// Rows of `backupmediafamily`, by file.
    pub families: Vec<HistoryRow>,
}

/// `device_type` of a file.
const DEVICE_DISK: u8 = 2;
/// `software_vendor_id`: the one that media of ours have (RESTORE HEADERONLY).
const SOFTWARE_VENDOR: i32 = 4608;
/// `database_version`, as RESTORE HEADERONLY says it.
const DATABASE_VERSION: i32 = 957;
/// `physical_block_size` of disks.
const BLOCK_BYTES: i32 = 512;

pub(super) fn text(text: &str) -> Value {
    Value::text(text)
}

fn text_or_null(text: Option<&String>) -> Value {
    text.map_or(Value::Null, |text| Value::text(text.as_str()))
}

pub(super) fn time(time: DateTimeTicks) -> Value {
    Value::DateTime {
        days: time.days,
        ticks: time.ticks,
    }
}

pub(super) fn lsn(lsn: Lsn) -> Value {
    Value::Decimal(Decimal::new(
        i128::try_from(lsn.to_numeric()).unwrap_or(i128::MAX),
        25,
        0,
    ))
}

pub(super) fn number(number: u64, precision: u8) -> Value {
    Value::Decimal(Decimal::new(i128::from(number), precision, 0))
}

/// The drive of a path of Windows; NULL of another one.
pub(super) fn drive_of(path: &str) -> Value {
    let mut characters = path.chars();
    match (characters.next(), characters.next()) {
        (Some(letter), Some(':')) if letter.is_ascii_alphabetic() => text(&format!("{}:", letter.to_ascii_uppercase())),
        _ => Value::Null,
    }
}

fn recovery_model(number: u8) -> &'static str {
    match number {
        1 => "FULL",
        2 => "BULK-LOGGED",
        _ => "SIMPLE",
    }
}

/// The columns of `backupset` that are the same for every set.
fn same_of_every_set() -> [(&'static str, Value); 20] {
    [
        ("first_family_number", Value::TinyInt(1)),
        ("first_media_number", Value::SmallInt(1)),
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

/// The row of `backupset`.
fn set_row(set: &SetDescription) -> HistoryRow {
    let boot = BootRecord::decode(&set.boot, &set.database_name).ok();
    let is_read_only = boot.as_ref().is_some_and(|boot| boot.is_read_only);
    let collation = boot
        .and_then(|boot| Collation::from_number(boot.collation))
        .unwrap_or_default();
    let flags = 512 * i32::from(set.copy_only) + 16 * i32::from(set.checksum);
    let mut row = vec![
        ("backup_set_uuid", Value::UniqueIdentifier(set.set_guid)),
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
        (
            "compression_algorithm",
            if set.compressed { text("ZSTD") } else { Value::Null },
        ),
    ];
    if let Some(base) = set.differential_base {
        row.push(("differential_base_lsn", lsn(base.lsn)));
        row.push(("differential_base_guid", Value::UniqueIdentifier(base.guid)));
    }
    row.extend(same_of_every_set());
    row
}

fn file_row(set: &SetDescription, file: &BackupFile) -> HistoryRow {
    let base = set.differential_base.filter(|_| !file.file.log);
    let is_in_set = file.file.log || set.kind != SetKind::Log;
    let page_count = file.backup_bytes / PAGE_BYTES as u64;
    let mut guid = [0; 16];
    guid[14..].copy_from_slice(&file.file.file_id.to_be_bytes());
    vec![
        ("first_family_number", Value::TinyInt(1)),
        ("first_media_number", Value::SmallInt(1)),
        (
            "filegroup_name",
            set.filegroup_of(&file.file)
                .map_or(Value::Null, |filegroup| text(&filegroup.name)),
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
        ("physical_drive", drive_of(&file.file.physical_name)),
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

fn filegroup_row(filegroup: &FilegroupEntry) -> HistoryRow {
    vec![
        ("name", text(&filegroup.name)),
        ("filegroup_id", Value::Int(i32::from(filegroup.id))),
        ("type", text("FG")),
        ("type_desc", text("ROWS_FILEGROUP")),
        ("is_default", Value::Bit(filegroup.is_default)),
        ("is_readonly", Value::Bit(filegroup.is_read_only)),
    ]
}

impl HistorySet {
    /// A set of ours. `devices` are the media files, in the order of their families.
    pub(in crate::instance) fn of(set: &SetDescription, label: &MediaLabel, devices: &[String]) -> HistorySet {
        let families = Value::TinyInt(u8::try_from(label.families).unwrap_or(u8::MAX));
        let last_family = ("last_family_number", families.clone());
        let uuid = Value::UniqueIdentifier(label.guid);
        let name = Some(&label.name).filter(|name| !name.is_empty());
        HistorySet {
            set_guid: set.set_guid,
            letter: set.kind.letter(),
            set: set_row(set).into_iter().chain([last_family]).collect(),
            files: set.files.iter().map(|file| file_row(set, file)).collect(),
            filegroups: match set.filegroups.is_empty() {
                true => vec![filegroup_row(&FilegroupEntry::primary(set.family_guid))],
                false => set.filegroups.iter().map(filegroup_row).collect(),
            },
            media_guid: label.guid,
            media: vec![
                ("media_uuid", uuid),
                ("media_family_count", families),
                ("name", text_or_null(name)),
                ("software_name", text("vlflab")),
                ("software_vendor_id", Value::Int(SOFTWARE_VENDOR)),
                ("MTF_major_version", Value::TinyInt(1)),
                ("mirror_count", Value::TinyInt(1)),
                ("is_password_protected", Value::Bit(false)),
                ("is_compressed", Value::Bit(set.compressed)),
                ("is_encrypted", Value::Bit(false)),
            ],
            families: devices
                .iter()
                .zip(1..)
                .map(|(device, family)| family_row(label, device, family))
                .collect(),
        }
    }
}

/// The row of `backupmediafamily` of one file of the media.
fn family_row(label: &MediaLabel, device: &str, family: u16) -> HistoryRow {
    let number = u8::try_from(family).unwrap_or(u8::MAX);
    vec![
        ("family_sequence_number", Value::TinyInt(number)),
        ("media_family_id", Value::UniqueIdentifier(label.family_guid(family))),
        ("media_count", Value::Int(1)),
        ("physical_device_name", text(device)),
        ("device_type", Value::TinyInt(DEVICE_DISK)),
        ("physical_block_size", Value::Int(BLOCK_BYTES)),
        ("mirror", Value::TinyInt(0)),
    ]
}
