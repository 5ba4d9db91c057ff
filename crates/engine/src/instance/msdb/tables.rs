//! The tables of msdb: names, types and order of their columns are SQL Server's (sql-docs, "Backup and restore tables", "SQL Server
//! Agent tables", "Log shipping tables").
//!
//! Backups and restores write the first eight ([`super::history`]). The others are empty: there are no jobs, no log shipping, and damaged
//! pages are named in the error log.

use crate::catalog::{
    Bindings, ColumnDefinition, Identity, IndexDefinition, IndexOptions, LockEscalation, ModuleDefinition, ModuleKind,
    NUMERIC_TYPE_ID, ObjectDefinition, StorageRoot, TableDefinition,
};
use crate::seams::DateTimeTicks;
use crate::types::{COLLATION_VERSION, Collation, Length, SqlType};

const INT: SqlType = SqlType::Int;
const BIGINT: SqlType = SqlType::BigInt;
const SMALLINT: SqlType = SqlType::SmallInt;
const TINYINT: SqlType = SqlType::TinyInt;
const BIT: SqlType = SqlType::Bit;
const DATETIME: SqlType = SqlType::DateTime;
const GUID: SqlType = SqlType::UniqueIdentifier;
const NAME: SqlType = SqlType::SYSNAME;
const LETTER: SqlType = SqlType::Char(1);
const LONG: SqlType = SqlType::NVarChar(Length::Max);
const SID: SqlType = SqlType::VarBinary(Length::Limited(85));
const THUMBPRINT: SqlType = SqlType::VarBinary(Length::Limited(20));
const LSN: SqlType = SqlType::Decimal {
    precision: 25,
    scale: 0,
};
const BYTES: SqlType = SqlType::Decimal {
    precision: 20,
    scale: 0,
};
const NUMBER: SqlType = SqlType::Decimal {
    precision: 10,
    scale: 0,
};

const fn nvarchar(length: u16) -> SqlType {
    SqlType::NVarChar(Length::Limited(length))
}

/// Storage that is chosen when the table is made.
const NO_STORAGE: StorageRoot = StorageRoot {
    unit: 0,
    first_iam: (0, 0),
};

/// A column that may be NULL.
fn plain_column((name, sql_type): &(&str, SqlType)) -> ColumnDefinition {
    ColumnDefinition {
        name: (*name).to_string(),
        sql_type: *sql_type,
        collation: Collation::default(),
        alias_type: matches!(sql_type, SqlType::Decimal { .. }).then_some(u32::from(NUMERIC_TYPE_ID)),
        nullable: true,
        identity: None,
        default: None,
        is_row_guid: false,
        computed: None,
        generated: None,
        mask: None,
        bound: Bindings::default(),
    }
}

/// A table as it is made.
pub(super) struct MsdbTable {
    pub name: &'static str,
    /// How many of the first columns are the clustered key; the table is a heap without any.
    key_columns: usize,
    /// The first column counts by itself, and is the primary key.
    is_numbered: bool,
    /// Names and columns of its other indexes.
    indexes: &'static [(&'static str, &'static str)],
    columns: &'static [(&'static str, SqlType)],
}

pub(super) const TABLES: &[MsdbTable] = &[
    MsdbTable {
        name: "backupmediaset",
        key_columns: 1,
        is_numbered: true,
        indexes: &[("backupmediasetuuid", "media_uuid")],
        columns: &[
            ("media_set_id", INT),
            ("media_uuid", GUID),
            ("media_family_count", TINYINT),
            ("name", nvarchar(128)),
            ("description", nvarchar(255)),
            ("software_name", nvarchar(128)),
            ("software_vendor_id", INT),
            ("MTF_major_version", TINYINT),
            ("mirror_count", TINYINT),
            ("is_password_protected", BIT),
            ("is_compressed", BIT),
            ("is_encrypted", BIT),
        ],
    },
    MsdbTable {
        name: "backupmediafamily",
        key_columns: 2,
        is_numbered: false,
        indexes: &[],
        columns: &[
            ("media_set_id", INT),
            ("family_sequence_number", TINYINT),
            ("media_family_id", GUID),
            ("media_count", INT),
            ("logical_device_name", nvarchar(128)),
            ("physical_device_name", nvarchar(260)),
            ("device_type", TINYINT),
            ("physical_block_size", INT),
            ("mirror", TINYINT),
        ],
    },
    MsdbTable {
        name: "backupset",
        key_columns: 1,
        is_numbered: true,
        indexes: &[
            ("backupsetuuid", "backup_set_uuid"),
            ("backupsetMediaSetId", "media_set_id"),
        ],
        columns: &[
            ("backup_set_id", INT),
            ("backup_set_uuid", GUID),
            ("media_set_id", INT),
            ("first_family_number", TINYINT),
            ("first_media_number", SMALLINT),
            ("last_family_number", TINYINT),
            ("last_media_number", SMALLINT),
            ("catalog_family_number", TINYINT),
            ("catalog_media_number", SMALLINT),
            ("position", INT),
            ("expiration_date", DATETIME),
            ("software_vendor_id", INT),
            ("name", nvarchar(128)),
            ("description", nvarchar(255)),
            ("user_name", nvarchar(128)),
            ("software_major_version", TINYINT),
            ("software_minor_version", TINYINT),
            ("software_build_version", SMALLINT),
            ("time_zone", SMALLINT),
            ("mtf_minor_version", TINYINT),
            ("first_lsn", LSN),
            ("last_lsn", LSN),
            ("checkpoint_lsn", LSN),
            ("database_backup_lsn", LSN),
            ("database_creation_date", DATETIME),
            ("backup_start_date", DATETIME),
            ("backup_finish_date", DATETIME),
            ("type", LETTER),
            ("sort_order", SMALLINT),
            ("code_page", SMALLINT),
            ("compatibility_level", TINYINT),
            ("database_version", INT),
            ("backup_size", BYTES),
            ("database_name", nvarchar(128)),
            ("server_name", nvarchar(128)),
            ("machine_name", nvarchar(128)),
            ("flags", INT),
            ("unicode_locale", INT),
            ("unicode_compare_style", INT),
            ("collation_name", nvarchar(128)),
            ("is_password_protected", BIT),
            ("recovery_model", nvarchar(60)),
            ("has_bulk_logged_data", BIT),
            ("is_snapshot", BIT),
            ("is_readonly", BIT),
            ("is_single_user", BIT),
            ("has_backup_checksums", BIT),
            ("is_damaged", BIT),
            ("begins_log_chain", BIT),
            ("has_incomplete_metadata", BIT),
            ("is_force_offline", BIT),
            ("is_copy_only", BIT),
            ("first_recovery_fork_guid", GUID),
            ("last_recovery_fork_guid", GUID),
            ("fork_point_lsn", LSN),
            ("database_guid", GUID),
            ("family_guid", GUID),
            ("differential_base_lsn", LSN),
            ("differential_base_guid", GUID),
            ("compressed_backup_size", BYTES),
            ("key_algorithm", nvarchar(32)),
            ("encryptor_thumbprint", THUMBPRINT),
            ("encryptor_type", nvarchar(32)),
            ("last_valid_restore_time", DATETIME),
            ("compression_algorithm", nvarchar(32)),
        ],
    },
    MsdbTable {
        name: "backupfile",
        key_columns: 1,
        is_numbered: false,
        indexes: &[],
        columns: &[
            ("backup_set_id", INT),
            ("first_family_number", TINYINT),
            ("first_media_number", SMALLINT),
            ("filegroup_name", nvarchar(128)),
            ("page_size", INT),
            ("file_number", NUMBER),
            ("backed_up_page_count", NUMBER),
            ("file_type", LETTER),
            ("source_file_block_size", NUMBER),
            ("file_size", BYTES),
            ("logical_name", nvarchar(128)),
            ("physical_drive", nvarchar(260)),
            ("physical_name", nvarchar(260)),
            ("state", TINYINT),
            ("state_desc", nvarchar(64)),
            ("create_lsn", LSN),
            ("drop_lsn", LSN),
            ("file_guid", GUID),
            ("read_only_lsn", LSN),
            ("read_write_lsn", LSN),
            ("differential_base_lsn", LSN),
            ("differential_base_guid", GUID),
            ("backup_size", BYTES),
            ("filegroup_guid", GUID),
            ("is_readonly", BIT),
            ("is_present", BIT),
        ],
    },
    MsdbTable {
        name: "backupfilegroup",
        key_columns: 1,
        is_numbered: false,
        indexes: &[],
        columns: &[
            ("backup_set_id", INT),
            ("name", NAME),
            ("filegroup_id", INT),
            ("filegroup_guid", GUID),
            ("type", SqlType::Char(2)),
            ("type_desc", nvarchar(60)),
            ("is_default", BIT),
            ("is_readonly", BIT),
            ("log_filegroup_guid", GUID),
        ],
    },
    MsdbTable {
        name: "restorehistory",
        key_columns: 1,
        is_numbered: true,
        indexes: &[("restorehistorybackupset", "backup_set_id")],
        columns: &[
            ("restore_history_id", INT),
            ("restore_date", DATETIME),
            ("destination_database_name", nvarchar(128)),
            ("user_name", nvarchar(128)),
            ("backup_set_id", INT),
            ("restore_type", LETTER),
            ("replace", BIT),
            ("recovery", BIT),
            ("restart", BIT),
            ("stop_at", DATETIME),
            ("device_count", TINYINT),
            ("stop_at_mark_name", nvarchar(128)),
            ("stop_before", BIT),
        ],
    },
    MsdbTable {
        name: "restorefile",
        key_columns: 1,
        is_numbered: false,
        indexes: &[],
        columns: &[
            ("restore_history_id", INT),
            ("file_number", NUMBER),
            ("destination_phys_drive", nvarchar(260)),
            ("destination_phys_name", nvarchar(260)),
        ],
    },
    MsdbTable {
        name: "restorefilegroup",
        key_columns: 1,
        is_numbered: false,
        indexes: &[],
        columns: &[("restore_history_id", INT), ("filegroup_name", nvarchar(128))],
    },
    MsdbTable {
        name: "logmarkhistory",
        key_columns: 0,
        is_numbered: false,
        indexes: &[],
        columns: &[
            ("database_name", nvarchar(128)),
            ("mark_name", nvarchar(128)),
            ("description", nvarchar(255)),
            ("user_name", nvarchar(128)),
            ("lsn", LSN),
            ("mark_time", DATETIME),
        ],
    },
    MsdbTable {
        name: "suspect_pages",
        key_columns: 0,
        is_numbered: false,
        indexes: &[],
        columns: &[
            ("database_id", INT),
            ("file_id", INT),
            ("page_id", BIGINT),
            ("event_type", INT),
            ("error_count", INT),
            ("last_update_date", DATETIME),
        ],
    },
    MsdbTable {
        name: "sysjobs",
        key_columns: 0,
        is_numbered: false,
        indexes: &[],
        columns: &[
            ("job_id", GUID),
            ("originating_server_id", INT),
            ("name", NAME),
            ("enabled", TINYINT),
            ("description", nvarchar(512)),
            ("start_step_id", INT),
            ("category_id", INT),
            ("owner_sid", SID),
            ("notify_level_eventlog", INT),
            ("notify_level_email", INT),
            ("notify_level_netsend", INT),
            ("notify_level_page", INT),
            ("notify_email_operator_id", INT),
            ("notify_netsend_operator_id", INT),
            ("notify_page_operator_id", INT),
            ("delete_level", INT),
            ("date_created", DATETIME),
            ("date_modified", DATETIME),
            ("version_number", INT),
        ],
    },
    MsdbTable {
        name: "sysjobsteps",
        key_columns: 0,
        is_numbered: false,
        indexes: &[],
        columns: &[
            ("job_id", GUID),
            ("step_id", INT),
            ("step_name", NAME),
            ("subsystem", nvarchar(40)),
            ("command", LONG),
            ("flags", INT),
            ("additional_parameters", LONG),
            ("cmdexec_success_code", INT),
            ("on_success_action", TINYINT),
            ("on_success_step_id", INT),
            ("on_fail_action", TINYINT),
            ("on_fail_step_id", INT),
            ("server", NAME),
            ("database_name", NAME),
            ("database_user_name", NAME),
            ("retry_attempts", INT),
            ("retry_interval", INT),
            ("os_run_priority", INT),
            ("output_file_name", nvarchar(200)),
            ("last_run_outcome", INT),
            ("last_run_duration", INT),
            ("last_run_retries", INT),
            ("last_run_date", INT),
            ("last_run_time", INT),
            ("proxy_id", INT),
            ("step_uid", GUID),
        ],
    },
    MsdbTable {
        name: "sysjobservers",
        key_columns: 0,
        is_numbered: false,
        indexes: &[],
        columns: &[
            ("job_id", GUID),
            ("server_id", INT),
            ("last_run_outcome", TINYINT),
            ("last_outcome_message", nvarchar(4000)),
            ("last_run_date", INT),
            ("last_run_time", INT),
            ("last_run_duration", INT),
        ],
    },
    MsdbTable {
        name: "sysjobschedules",
        key_columns: 0,
        is_numbered: false,
        indexes: &[],
        columns: &[
            ("schedule_id", INT),
            ("job_id", GUID),
            ("next_run_date", INT),
            ("next_run_time", INT),
        ],
    },
    MsdbTable {
        name: "sysschedules",
        key_columns: 0,
        is_numbered: false,
        indexes: &[],
        columns: &[
            ("schedule_id", INT),
            ("schedule_uid", GUID),
            ("originating_server_id", INT),
            ("name", NAME),
            ("owner_sid", SID),
            ("enabled", INT),
            ("freq_type", INT),
            ("freq_interval", INT),
            ("freq_subday_type", INT),
            ("freq_subday_interval", INT),
            ("freq_relative_interval", INT),
            ("freq_recurrence_factor", INT),
            ("active_start_date", INT),
            ("active_end_date", INT),
            ("active_start_time", INT),
            ("active_end_time", INT),
            ("date_created", DATETIME),
            ("date_modified", DATETIME),
            ("version_number", INT),
        ],
    },
    MsdbTable {
        name: "sysjobhistory",
        key_columns: 0,
        is_numbered: false,
        indexes: &[],
        columns: &[
            ("instance_id", INT),
            ("job_id", GUID),
            ("step_id", INT),
            ("step_name", NAME),
            ("sql_message_id", INT),
            ("sql_severity", INT),
            ("message", nvarchar(4000)),
            ("run_status", INT),
            ("run_date", INT),
            ("run_time", INT),
            ("run_duration", INT),
            ("operator_id_emailed", INT),
            ("operator_id_netsent", INT),
            ("operator_id_paged", INT),
            ("retries_attempted", INT),
            ("server", NAME),
        ],
    },
    MsdbTable {
        name: "sysjobactivity",
        key_columns: 0,
        is_numbered: false,
        indexes: &[],
        columns: &[
            ("session_id", INT),
            ("job_id", GUID),
            ("run_requested_date", DATETIME),
            ("run_requested_source", NAME),
            ("queued_date", DATETIME),
            ("start_execution_date", DATETIME),
            ("last_executed_step_id", INT),
            ("last_executed_step_date", DATETIME),
            ("stop_execution_date", DATETIME),
            ("job_history_id", INT),
            ("next_scheduled_run_date", DATETIME),
        ],
    },
    MsdbTable {
        name: "syscategories",
        key_columns: 0,
        is_numbered: false,
        indexes: &[],
        columns: &[
            ("category_id", INT),
            ("category_class", INT),
            ("category_type", TINYINT),
            ("name", NAME),
        ],
    },
    MsdbTable {
        name: "sysoperators",
        key_columns: 0,
        is_numbered: false,
        indexes: &[],
        columns: &[
            ("id", INT),
            ("name", NAME),
            ("enabled", TINYINT),
            ("email_address", nvarchar(100)),
            ("last_email_date", INT),
            ("last_email_time", INT),
            ("pager_address", nvarchar(100)),
            ("last_pager_date", INT),
            ("last_pager_time", INT),
            ("weekday_pager_start_time", INT),
            ("weekday_pager_end_time", INT),
            ("saturday_pager_start_time", INT),
            ("saturday_pager_end_time", INT),
            ("sunday_pager_start_time", INT),
            ("sunday_pager_end_time", INT),
            ("pager_days", TINYINT),
            ("netsend_address", nvarchar(100)),
            ("last_netsend_date", INT),
            ("last_netsend_time", INT),
            ("category_id", INT),
        ],
    },
    MsdbTable {
        name: "sysalerts",
        key_columns: 0,
        is_numbered: false,
        indexes: &[],
        columns: &[
            ("id", INT),
            ("name", NAME),
            ("event_source", nvarchar(100)),
            ("event_category_id", INT),
            ("event_id", INT),
            ("message_id", INT),
            ("severity", INT),
            ("enabled", TINYINT),
            ("delay_between_responses", INT),
            ("last_occurrence_date", INT),
            ("last_occurrence_time", INT),
            ("last_response_date", INT),
            ("last_response_time", INT),
            ("notification_message", nvarchar(512)),
            ("include_event_description", TINYINT),
            ("database_name", nvarchar(512)),
            ("event_description_keyword", nvarchar(100)),
            ("occurrence_count", INT),
            ("count_reset_date", INT),
            ("count_reset_time", INT),
            ("job_id", GUID),
            ("has_notification", INT),
            ("flags", INT),
            ("performance_condition", nvarchar(512)),
            ("category_id", INT),
        ],
    },
    MsdbTable {
        name: "log_shipping_primary_databases",
        key_columns: 0,
        is_numbered: false,
        indexes: &[],
        columns: &[
            ("primary_id", GUID),
            ("primary_database", NAME),
            ("backup_directory", nvarchar(500)),
            ("backup_share", nvarchar(500)),
            ("backup_retention_period", INT),
            ("backup_job_id", GUID),
            ("monitor_server", NAME),
            ("monitor_server_security_mode", BIT),
            ("last_backup_file", nvarchar(500)),
            ("last_backup_date", DATETIME),
            ("user_specified_monitor", BIT),
            ("backup_compression", TINYINT),
        ],
    },
    MsdbTable {
        name: "log_shipping_secondary_databases",
        key_columns: 0,
        is_numbered: false,
        indexes: &[],
        columns: &[
            ("secondary_database", NAME),
            ("secondary_id", GUID),
            ("restore_delay", INT),
            ("restore_all", BIT),
            ("restore_mode", BIT),
            ("disconnect_users", BIT),
            ("block_size", INT),
            ("buffer_count", INT),
            ("max_transfer_size", INT),
            ("last_restored_file", nvarchar(500)),
            ("last_restored_date", DATETIME),
        ],
    },
];

impl MsdbTable {
    /// The definition, of a table that is made at `created`.
    pub fn definition(&self, created: DateTimeTicks) -> TableDefinition {
        let column = |(ordinal, column): (usize, &(&str, SqlType))| ColumnDefinition {
            nullable: ordinal >= self.key_columns,
            identity: (self.is_numbered && ordinal == 0).then_some(Identity { seed: 1, increment: 1 }),
            ..plain_column(column)
        };
        let place_of = |name: &str| self.columns.iter().position(|(other, _)| *other == name);
        let clustered = (self.key_columns > 0).then(|| {
            let keys = (0..self.key_columns).map(|ordinal| (ordinal, false)).collect();
            self.index(1, format!("PK_{}", self.name), keys)
        });
        let others = self.indexes.iter().zip(2..).filter_map(|((name, column), index_id)| {
            let keys = vec![(place_of(column)?, false)];
            Some(self.index(index_id, (*name).to_string(), keys))
        });
        TableDefinition {
            object_id: 0,
            schema: "dbo".to_string(),
            name: self.name.to_string(),
            columns: self.columns.iter().enumerate().map(column).collect(),
            heap: None,
            other_partitions: Vec::new(),
            partitioning: None,
            data_space: crate::catalog::PRIMARY_FILEGROUP,
            text_space: None,
            indexes: clustered.into_iter().chain(others).collect(),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            disabled_indexes: Vec::new(),
            lock_escalation: LockEscalation::default(),
            triggers: Vec::new(),
            versioning: None,
            history_of: None,
            indexed_views: Vec::new(),
            created: (created.days, created.ticks),
        }
    }

    /// The definition of a table of an older version with the columns that it lacks at its end; `None` when it lacks none, or is another.
    pub(super) fn extended(&self, stored: &ObjectDefinition) -> Option<TableDefinition> {
        let ObjectDefinition::Table(stored) = stored else {
            return None;
        };
        let names = stored.columns.iter().map(|column| column.name.as_str());
        let is_older = stored.columns.len() < self.columns.len()
            && names.eq(self.columns.iter().map(|(name, _)| *name).take(stored.columns.len()));
        is_older.then(|| {
            let mut extended = stored.clone();
            let own = self.definition(DateTimeTicks::default()).columns;
            extended.columns.extend(own.into_iter().skip(stored.columns.len()));
            extended
        })
    }

    fn index(&self, index_id: u32, name: String, keys: Vec<(usize, bool)>) -> IndexDefinition {
        let is_primary = index_id == 1 && self.is_numbered;
        IndexDefinition {
            index_id,
            name,
            keys,
            included: Vec::new(),
            carried: Vec::new(),
            unique: is_primary,
            primary_key: is_primary,
            unique_constraint: false,
            constraint_id: 0,
            is_system_named: false,
            options: IndexOptions::default(),
            collation_version: COLLATION_VERSION,
            is_disabled: false,
            filter: None,
            data_space: crate::catalog::PRIMARY_FILEGROUP,
            storage: NO_STORAGE,
            other_partitions: Vec::new(),
        }
    }
}

/// The view that has the jobs with the name of their server.
pub(super) const JOBS_VIEW: &str = "sysjobs_view";

/// The columns of [`JOBS_VIEW`], with what each is computed as; SQL Server's names and order (sql-docs has no page for it; Glenn Berry's
/// queries and SQL Server Management Studio read it).
const JOBS_VIEW_COLUMNS: &[(&str, SqlType, &str)] = &[
    ("job_id", GUID, "job_id"),
    (
        "originating_server",
        NAME,
        "convert(sysname, serverproperty('ServerName'))",
    ),
    ("name", NAME, "name"),
    ("enabled", TINYINT, "enabled"),
    ("description", nvarchar(512), "description"),
    ("start_step_id", INT, "start_step_id"),
    ("category_id", INT, "category_id"),
    ("owner_sid", SID, "owner_sid"),
    ("notify_level_eventlog", INT, "notify_level_eventlog"),
    ("notify_level_email", INT, "notify_level_email"),
    ("notify_level_netsend", INT, "notify_level_netsend"),
    ("notify_level_page", INT, "notify_level_page"),
    ("notify_email_operator_id", INT, "notify_email_operator_id"),
    ("notify_netsend_operator_id", INT, "notify_netsend_operator_id"),
    ("notify_page_operator_id", INT, "notify_page_operator_id"),
    ("delete_level", INT, "delete_level"),
    ("date_created", DATETIME, "date_created"),
    ("date_modified", DATETIME, "date_modified"),
    ("version_number", INT, "version_number"),
    ("originating_server_id", INT, "originating_server_id"),
    ("master_server", BIT, "convert(bit, 0)"),
];

/// The view as it is made.
pub(super) fn jobs_view(object_id: u32, created: DateTimeTicks) -> ObjectDefinition {
    let items: Vec<String> = JOBS_VIEW_COLUMNS
        .iter()
        .map(|(name, _, text)| format!("{text} as {name}"))
        .collect();
    let columns: Vec<(&str, SqlType)> = JOBS_VIEW_COLUMNS.iter().map(|(name, of, _)| (*name, *of)).collect();
    ObjectDefinition::Module(ModuleDefinition {
        object_id,
        schema: "dbo".to_owned(),
        name: JOBS_VIEW.to_owned(),
        kind: ModuleKind::View,
        text: format!(
            "create view dbo.{JOBS_VIEW} as select {} from dbo.sysjobs",
            items.join(", ")
        ),
        uses_ansi_nulls: true,
        uses_quoted_identifier: true,
        columns: columns.iter().map(plain_column).collect(),
        parent: 0,
        triggers: Vec::new(),
        definition_trigger: None,
        rows: None,
        created: (created.days, created.ticks),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_definition_has_the_columns_that_its_keys_name() {
        for table in TABLES {
            let definition = table.definition(DateTimeTicks::default());
            assert_eq!(
                definition.clustered().is_some(),
                table.key_columns > 0,
                "{}",
                table.name
            );
            assert_eq!(
                definition.indexes.len(),
                usize::from(table.key_columns > 0) + table.indexes.len(),
                "{}",
                table.name
            );
            let mut names: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), table.columns.len(), "{}: a column twice", table.name);
        }
    }

    /// A folder of an older version kept its `backupset`, which had no `compression_algorithm`, for ever.
    #[test]
    fn a_table_of_an_older_version_gets_the_columns_that_it_lacks_and_another_table_none() {
        let sets = TABLES
            .iter()
            .find(|table| table.name == "backupset")
            .expect("it is listed");
        let full = sets.definition(DateTimeTicks::default());
        let extended = |change: &dyn Fn(&mut TableDefinition)| {
            let mut stored = full.clone();
            change(&mut stored);
            sets.extended(&ObjectDefinition::Table(stored))
        };
        let shorter = extended(&|stored| stored.columns.truncate(full.columns.len() - 2));
        assert_eq!(shorter.map(|table| table.columns), Some(full.columns.clone()));
        assert_eq!(extended(&|_| {}), None, "it lacks none");
        assert_eq!(extended(&|stored| stored.columns[3].name.push('x')), None);
        let users = extended(&|stored| {
            stored.columns.truncate(5);
            stored.columns[4].name = "note".to_owned();
        });
        assert_eq!(users, None, "a user made it another one");
    }
}
