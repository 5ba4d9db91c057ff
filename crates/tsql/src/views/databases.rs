//! `sys.databases` and what belongs to a database as a whole.

use engine::database::{AccessMode, StatisticsOptions};
use engine::instance::TEMPDB;
use engine::recovery::RecoveryModel;
use engine::types::{Collation, SqlType, Value};
use engine::versions::SnapshotState;

use super::listed::ListedDatabase;
use super::values::stored_datetime;
use super::{BIT, DATETIME, GUID, INT, NAME, SID, SMALLINT, SystemView, TINYINT, all, nvarchar, system_row, view};

pub(super) const VIEWS: &[SystemView] = &[
    view::<ListedDatabase>("sys", "databases", |context, _| all(ListedDatabase::every(context))),
    view::<RecoveryStatus>("sys", "database_recovery_status", |context, _| {
        all(ListedDatabase::every(context).into_iter().map(RecoveryStatus))
    }),
    view::<Mirroring>("sys", "database_mirroring", |context, _| {
        all(ListedDatabase::every(context).into_iter().map(Mirroring))
    }),
];

const DESCRIPTION: SqlType = nvarchar(60);

impl ListedDatabase {
    /// `user_access` and its description.
    pub(crate) fn user_access(&self) -> (u8, &'static str) {
        match self.database.as_ref().map(|database| database.access()) {
            Some(AccessMode::Single(_)) => (1, "SINGLE_USER"),
            Some(AccessMode::Restricted) => (2, "RESTRICTED_USER"),
            Some(AccessMode::Multiple) | None => (0, "MULTI_USER"),
        }
    }

    /// The recovery model; FULL while the database cannot be asked.
    pub(crate) fn recovery_model(&self) -> RecoveryModel {
        self.database
            .as_ref()
            .map_or(RecoveryModel::Full, |database| database.recovery_model())
    }

    fn is_standby(&self) -> bool {
        self.database.as_ref().is_some_and(|database| database.is_standby())
    }

    /// A database that is EMERGENCY "is marked READ_ONLY" (sql-docs, "ALTER DATABASE SET options").
    fn is_read_only(&self) -> bool {
        self.database.as_ref().is_some_and(|database| database.is_read_only())
    }

    fn target_recovery_seconds(&self) -> i32 {
        let seconds = self
            .database
            .as_ref()
            .map_or(0, |database| database.target_recovery_seconds());
        seconds as i32
    }

    fn statistics_options(&self) -> Option<StatisticsOptions> {
        Some(self.database.as_ref()?.statistics_options())
    }

    fn snapshot_state(&self) -> SnapshotState {
        let database = self.database.as_ref();
        database.map_or(SnapshotState::Off, |database| database.storage.versions.state())
    }

    fn reads_committed_versions(&self) -> bool {
        let database = self.database.as_ref();
        database.is_some_and(|database| database.storage.versions.are_read_by_default())
    }

    fn reuse_wait(&self) -> (u8, &'static str) {
        let wait = self.database.as_ref().map(|database| database.reuse_wait());
        wait.map_or((0, "NOTHING"), |wait| (wait as u8, wait.name()))
    }

    /// The default collation; that of the instance while the database cannot be asked.
    pub(crate) fn collation(&self) -> Collation {
        self.database
            .as_ref()
            .map_or_else(Collation::default, |database| database.collation())
    }

    pub(crate) fn compatibility_level(&self) -> u16 {
        self.database
            .as_ref()
            .map_or(0, |database| database.boot().compatibility_level)
    }
}

system_row!(ListedDatabase {
    "name" NAME => |row| row.entry.name.as_str().into();
    "database_id" INT => |row| i32::from(row.entry.database_id).into();
    "source_database_id" INT => |row| row.entry.snapshot_of.map(|base| i32::from(base.database_id)).into();
    "owner_sid" SID => |_| Value::binary(&[1][..]);
    "create_date" DATETIME => |row| stored_datetime(row.entry.created);
    "compatibility_level" TINYINT => |row| Value::TinyInt(row.compatibility_level() as u8);
    "collation_name" NAME => |row| row.database.as_ref().map(|database| database.collation().name()).into();
    "user_access" TINYINT => |row| Value::TinyInt(row.user_access().0);
    "user_access_desc" DESCRIPTION => |row| row.user_access().1.into();
    "is_read_only" BIT => |row| row.is_read_only().into();
    "is_auto_close_on" BIT => |_| false.into();
    "is_auto_shrink_on" BIT => |_| false.into();
    "state" TINYINT => |row| Value::TinyInt(row.state.number_and_name().0);
    "state_desc" DESCRIPTION => |row| row.state.number_and_name().1.into();
    "is_in_standby" BIT => |row| row.is_standby().into();
    "is_cleanly_shutdown" BIT => |_| false.into();
    "is_supplemental_logging_enabled" BIT => |_| false.into();
    "snapshot_isolation_state" TINYINT => |row| Value::TinyInt(row.snapshot_state() as u8);
    "snapshot_isolation_state_desc" DESCRIPTION => |row| row.snapshot_state().name().into();
    "is_read_committed_snapshot_on" BIT => |row| row.reads_committed_versions().into();
    "recovery_model" TINYINT => |row| Value::TinyInt(row.recovery_model().number());
    "recovery_model_desc" DESCRIPTION => |row| row.recovery_model().name().into();
    "page_verify_option" TINYINT => |_| Value::TinyInt(2);
    "page_verify_option_desc" DESCRIPTION => |_| "CHECKSUM".into();
    "is_auto_create_stats_on" BIT => |row| row.statistics_options().is_none_or(|options| options.auto_create).into();
    "is_auto_create_stats_incremental_on" BIT => |_| false.into();
    "is_auto_update_stats_on" BIT => |row| row.statistics_options().is_none_or(|options| options.auto_update).into();
    "is_auto_update_stats_async_on" BIT => |row| row.statistics_options().is_some_and(|options| options.auto_update_async).into();
    "is_ansi_null_default_on" BIT => |_| false.into();
    "is_ansi_nulls_on" BIT => |_| false.into();
    "is_ansi_padding_on" BIT => |_| false.into();
    "is_ansi_warnings_on" BIT => |_| false.into();
    "is_arithabort_on" BIT => |_| false.into();
    "is_concat_null_yields_null_on" BIT => |_| false.into();
    "is_numeric_roundabort_on" BIT => |_| false.into();
    "is_quoted_identifier_on" BIT => |_| false.into();
    "is_recursive_triggers_on" BIT => |row| row.database.as_ref().is_some_and(|database| database.has_recursive_triggers()).into();
    "is_cursor_close_on_commit_on" BIT => |_| false.into();
    "is_local_cursor_default" BIT => |_| false.into();
    "is_fulltext_enabled" BIT => |_| false.into();
    "is_trustworthy_on" BIT => |_| false.into();
    "is_db_chaining_on" BIT => |row| (row.entry.database_id == TEMPDB).into();
    "is_parameterization_forced" BIT => |row| row.database.as_ref().is_some_and(|database| database.is_parameterization_forced()).into();
    "is_master_key_encrypted_by_server" BIT => |_| false.into();
    "is_query_store_on" BIT => |_| false.into();
    "is_published" BIT => |_| false.into();
    "is_subscribed" BIT => |_| false.into();
    "is_merge_published" BIT => |_| false.into();
    "is_distributor" BIT => |_| false.into();
    "is_sync_with_backup" BIT => |_| false.into();
    "service_broker_guid" GUID => |row| Value::UniqueIdentifier(row.entry.guid);
    "is_broker_enabled" BIT => |_| false.into();
    "log_reuse_wait" TINYINT => |row| Value::TinyInt(row.reuse_wait().0);
    "log_reuse_wait_desc" DESCRIPTION => |row| row.reuse_wait().1.into();
    "is_date_correlation_on" BIT => |_| false.into();
    "is_cdc_enabled" BIT => |_| false.into();
    "is_encrypted" BIT => |_| false.into();
    "is_honor_broker_priority_on" BIT => |_| false.into();
    "replica_id" GUID => |_| Value::Null;
    "group_database_id" GUID => |_| Value::Null;
    "resource_pool_id" INT => |_| Value::Null;
    "default_language_lcid" SMALLINT => |_| Value::Null;
    "default_language_name" NAME => |_| Value::Null;
    "containment" TINYINT => |_| Value::TinyInt(0);
    "containment_desc" DESCRIPTION => |_| "NONE".into();
    "target_recovery_time_in_seconds" INT => |row| row.target_recovery_seconds().into();
    "delayed_durability" INT => |_| 0.into();
    "delayed_durability_desc" DESCRIPTION => |_| "DISABLED".into();
    "is_memory_optimized_elevate_to_snapshot_on" BIT => |_| false.into();
    "is_remote_data_archive_enabled" BIT => |_| false.into();
    "is_mixed_page_allocation_on" BIT => |_| false.into();
    "is_temporal_history_retention_enabled" BIT => |_| false.into();
    "is_result_set_caching_on" BIT => |_| false.into();
    "is_accelerated_database_recovery_on" BIT => |row| row.database.as_ref().is_some_and(|database| database.is_recovery_accelerated()).into();
    "is_tempdb_spill_to_remote_store" BIT => |_| false.into();
    "is_stale_page_detection_on" BIT => |_| false.into();
    "is_memory_optimized_enabled" BIT => |_| false.into();
    "is_data_retention_enabled" BIT => |_| false.into();
    "is_ledger_on" BIT => |_| false.into();
    "is_change_feed_enabled" BIT => |_| false.into();
});

struct RecoveryStatus(ListedDatabase);

impl RecoveryStatus {
    /// The recovery path; `None` while the database cannot be asked.
    fn path(&self) -> Option<engine::log::LogPath> {
        Some(self.0.database.as_ref()?.boot().path)
    }
}

system_row!(RecoveryStatus {
    "database_id" INT => |row| i32::from(row.0.entry.database_id).into();
    "database_guid" GUID => |row| Value::UniqueIdentifier(row.0.entry.guid);
    "family_guid" GUID => |row| Value::UniqueIdentifier(row.0.entry.guid);
    "last_log_backup_lsn" super::LSN => |row| {
        let database = row.0.database.as_ref().filter(|database| database.keeps_log_for_backup());
        database.map_or(Value::Null, |database| super::values::lsn_number(database.boot().log_backup_start))
    };
    "recovery_fork_guid" GUID => |row| row.path().map_or(Value::Null, |path| Value::UniqueIdentifier(path.fork.0));
    "first_recovery_fork_guid" GUID => |row| {
        row.path().map_or(Value::Null, |path| Value::UniqueIdentifier(path.first_fork().0))
    };
    "fork_point_lsn" super::LSN => |row| {
        let origin = row.path().and_then(|path| path.origin);
        origin.map_or(Value::Null, |origin| super::values::lsn_number(origin.point))
    };
});

/// No database is mirrored: "if the database is not online or database mirroring is not enabled, the values of all columns except database_id
/// will be NULL" (sql-docs, "sys.database_mirroring").
struct Mirroring(ListedDatabase);

system_row!(Mirroring {
    "database_id" INT => |row| i32::from(row.0.entry.database_id).into();
    "mirroring_guid" GUID => |_| Value::Null;
    "mirroring_state" TINYINT => |_| Value::Null;
    "mirroring_state_desc" DESCRIPTION => |_| Value::Null;
    "mirroring_role" TINYINT => |_| Value::Null;
    "mirroring_role_desc" DESCRIPTION => |_| Value::Null;
    "mirroring_role_sequence" INT => |_| Value::Null;
    "mirroring_safety_level" TINYINT => |_| Value::Null;
    "mirroring_safety_level_desc" DESCRIPTION => |_| Value::Null;
    "mirroring_safety_sequence" INT => |_| Value::Null;
    "mirroring_partner_name" nvarchar(128) => |_| Value::Null;
    "mirroring_partner_instance" nvarchar(128) => |_| Value::Null;
    "mirroring_witness_name" nvarchar(128) => |_| Value::Null;
    "mirroring_witness_state" TINYINT => |_| Value::Null;
    "mirroring_witness_state_desc" DESCRIPTION => |_| Value::Null;
    "mirroring_failover_lsn" SqlType::Decimal { precision: 25, scale: 0 } => |_| Value::Null;
    "mirroring_connection_timeout" INT => |_| Value::Null;
    "mirroring_redo_queue" INT => |_| Value::Null;
    "mirroring_redo_queue_type" DESCRIPTION => |_| Value::Null;
    "mirroring_end_of_log_lsn" SqlType::Decimal { precision: 25, scale: 0 } => |_| Value::Null;
    "mirroring_replication_lsn" SqlType::Decimal { precision: 25, scale: 0 } => |_| Value::Null;
});
