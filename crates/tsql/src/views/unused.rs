//! Views of missing features. They have SQL Server's columns and no rows, as on a SQL Server that does not use the feature: scripts query
//! them first, and then skip the feature. Columns are those of sql-docs, "System catalog views" and "System dynamic management views".

use engine::types::{Length, SqlType};

use super::{BIGINT, BIT, DATETIME, FLOAT, GUID, INT, LSN, NAME, REAL, SID, SMALLINT, SystemView, TINYINT, nvarchar};

pub(super) const DESCRIPTION: SqlType = nvarchar(60);
pub(super) const HANDLE: SqlType = SqlType::VarBinary(Length::Limited(64));
pub(super) const LONG: SqlType = SqlType::NVarChar(Length::Max);
pub(super) const CODE: SqlType = SqlType::Char(2);
pub(super) const LETTER: SqlType = SqlType::Char(1);
pub(super) const VARIANT: SqlType = SqlType::SqlVariant;
pub(super) const ADDRESS: SqlType = SqlType::VarBinary(Length::Limited(8));
pub(super) const BYTES: SqlType = SqlType::VarBinary(Length::Max);
pub(super) const HASH: SqlType = SqlType::Binary(8);
pub(super) const VERSION: SqlType = SqlType::VarChar(Length::Limited(23));
pub(super) const MOMENT: SqlType = SqlType::DateTime2 { scale: 7 };
pub(super) const ZONED: SqlType = SqlType::DateTimeOffset { scale: 7 };
pub(super) const DURATION: SqlType = SqlType::Time { scale: 7 };

pub(super) const fn count(parameters: &[SqlType]) -> usize {
    parameters.len()
}

/// Views by name with their columns; functions have the types of their parameters between the parentheses.
macro_rules! unused {
    ($schema:literal: $($name:literal($($parameter:expr),*) { $($column:literal $sql_type:expr,)+ })+) => {
        &[$(SystemView {
            schema: $schema,
            name: $name,
            columns: &[$(($column, $sql_type)),+],
            is_function: crate::views::unused::count(&[$($parameter),*]) > 0,
            parameters: &[$($parameter),*],
            required: crate::views::unused::count(&[$($parameter),*]),
            rows: crate::views::Source::Whole(|_, _| Ok(Vec::new())),
        }),+]
    };
}
pub(super) use unused;

pub(super) const VIEWS: &[SystemView] = unused! {
    "sys":
    "availability_groups"() {
        "group_id" GUID, "name" NAME, "resource_id" nvarchar(40), "resource_group_id" nvarchar(40),
        "failure_condition_level" INT, "health_check_timeout" INT, "automated_backup_preference" TINYINT,
        "automated_backup_preference_desc" DESCRIPTION, "version" SMALLINT, "basic_features" BIT, "dtc_support" BIT,
        "db_failover" BIT, "is_distributed" BIT, "cluster_type" TINYINT, "cluster_type_desc" DESCRIPTION,
        "required_synchronized_secondaries_to_commit" INT, "sequence_number" BIGINT, "is_contained" BIT,
    }
    "availability_replicas"() {
        "replica_id" GUID, "group_id" GUID, "replica_metadata_id" INT, "replica_server_name" nvarchar(256),
        "owner_sid" SID, "endpoint_url" nvarchar(128), "availability_mode" TINYINT,
        "availability_mode_desc" DESCRIPTION, "failover_mode" TINYINT, "failover_mode_desc" DESCRIPTION,
        "session_timeout" INT, "primary_role_allow_connections" TINYINT,
        "primary_role_allow_connections_desc" DESCRIPTION, "secondary_role_allow_connections" TINYINT,
        "secondary_role_allow_connections_desc" DESCRIPTION, "create_date" DATETIME, "modify_date" DATETIME,
        "backup_priority" INT, "read_only_routing_url" nvarchar(256), "seeding_mode" TINYINT,
        "seeding_mode_desc" DESCRIPTION, "read_write_routing_url" nvarchar(256),
    }
    "availability_databases_cluster"() {
        "group_id" GUID, "group_database_id" GUID, "database_name" NAME, "truncation_lsn" LSN,
    }
    "availability_group_listeners"() {
        "group_id" GUID, "listener_id" nvarchar(36), "dns_name" nvarchar(63), "port" INT, "is_conformant" BIT,
        "ip_configuration_string_from_cluster" LONG, "is_distributed_network_name" BIT,
    }
    "dm_hadr_availability_group_states"() {
        "group_id" GUID, "primary_replica" NAME, "primary_recovery_health" TINYINT,
        "primary_recovery_health_desc" DESCRIPTION, "secondary_recovery_health" TINYINT,
        "secondary_recovery_health_desc" DESCRIPTION, "synchronization_health" TINYINT,
        "synchronization_health_desc" DESCRIPTION,
    }
    "dm_hadr_availability_replica_states"() {
        "replica_id" GUID, "group_id" GUID, "is_local" BIT, "role" TINYINT, "role_desc" DESCRIPTION,
        "operational_state" TINYINT, "operational_state_desc" DESCRIPTION, "connected_state" TINYINT,
        "connected_state_desc" DESCRIPTION, "recovery_health" TINYINT, "recovery_health_desc" DESCRIPTION,
        "synchronization_health" TINYINT, "synchronization_health_desc" DESCRIPTION, "last_connect_error_number" INT,
        "last_connect_error_description" nvarchar(1024), "last_connect_error_timestamp" DATETIME,
    }
    "dm_hadr_database_replica_states"() {
        "database_id" INT, "group_id" GUID, "replica_id" GUID, "group_database_id" GUID, "is_local" BIT,
        "is_primary_replica" BIT, "synchronization_state" TINYINT, "synchronization_state_desc" DESCRIPTION,
        "is_commit_participant" BIT, "synchronization_health" TINYINT, "synchronization_health_desc" DESCRIPTION,
        "database_state" TINYINT, "database_state_desc" DESCRIPTION, "is_suspended" BIT, "suspend_reason" TINYINT,
        "suspend_reason_desc" DESCRIPTION, "recovery_lsn" LSN, "truncation_lsn" LSN, "last_sent_lsn" LSN,
        "last_sent_time" DATETIME, "last_received_lsn" LSN, "last_received_time" DATETIME, "last_hardened_lsn" LSN,
        "last_hardened_time" DATETIME, "last_redone_lsn" LSN, "last_redone_time" DATETIME,
        "log_send_queue_size" BIGINT, "log_send_rate" BIGINT, "redo_queue_size" BIGINT, "redo_rate" BIGINT,
        "filestream_send_rate" BIGINT, "end_of_log_lsn" LSN, "last_commit_lsn" LSN, "last_commit_time" DATETIME,
        "low_water_mark_for_ghosts" BIGINT, "secondary_lag_seconds" BIGINT, "quorum_commit_lsn" LSN,
        "quorum_commit_time" DATETIME,
    }
    "dm_hadr_cluster"() {
        "cluster_name" nvarchar(128), "quorum_type" TINYINT, "quorum_type_desc" DESCRIPTION, "quorum_state" TINYINT,
        "quorum_state_desc" DESCRIPTION,
    }
    "dm_hadr_physical_seeding_stats"() {
        "local_physical_seeding_id" GUID, "remote_physical_seeding_id" GUID, "local_database_id" INT,
        "local_database_name" NAME, "remote_machine_name" NAME, "role_desc" DESCRIPTION,
        "internal_state_desc" DESCRIPTION, "transfer_rate_bytes_per_second" BIGINT, "transferred_size_bytes" BIGINT,
        "database_size_bytes" BIGINT, "start_time_utc" DATETIME, "end_time_utc" DATETIME,
        "estimate_time_complete_utc" DATETIME, "total_disk_io_wait_time_ms" BIGINT,
        "total_network_wait_time_ms" BIGINT, "failure_code" INT, "failure_message" nvarchar(1024),
        "failure_time_utc" DATETIME, "is_compression_enabled" BIT,
    }
    "dm_os_cluster_nodes"() {
        "NodeName" NAME, "status" INT, "status_description" nvarchar(20), "is_current_owner" BIT,
    }
    "credentials"() {
        "credential_id" INT, "name" NAME, "credential_identity" nvarchar(4000), "create_date" DATETIME,
        "modify_date" DATETIME, "target_type" nvarchar(100), "target_id" INT,
    }
    "certificates"() {
        "name" NAME, "certificate_id" INT, "principal_id" INT, "pvt_key_encryption_type" CODE,
        "pvt_key_encryption_type_desc" DESCRIPTION, "is_active_for_begin_dialog" BIT, "issuer_name" nvarchar(442),
        "cert_serial_number" nvarchar(64), "sid" SID, "string_sid" nvarchar(128), "subject" nvarchar(4000),
        "expiry_date" DATETIME, "start_date" DATETIME, "thumbprint" SqlType::VarBinary(Length::Limited(32)),
        "attested_by" nvarchar(260), "pvt_key_last_backup_date" DATETIME, "key_length" INT,
    }
    "asymmetric_keys"() {
        "name" NAME, "principal_id" INT, "asymmetric_key_id" INT, "pvt_key_encryption_type" CODE,
        "pvt_key_encryption_type_desc" DESCRIPTION, "thumbprint" SqlType::VarBinary(Length::Limited(32)),
        "algorithm" CODE, "algorithm_desc" DESCRIPTION, "key_length" INT, "sid" SID, "string_sid" nvarchar(128),
        "public_key" SqlType::VarBinary(Length::Max), "attested_by" nvarchar(260), "provider_type" nvarchar(120),
        "cryptographic_provider_guid" GUID,
    }
    "symmetric_keys"() {
        "name" NAME, "principal_id" INT, "symmetric_key_id" INT, "key_length" INT, "key_algorithm" CODE,
        "algorithm_desc" DESCRIPTION, "create_date" DATETIME, "modify_date" DATETIME, "key_guid" GUID,
        "key_thumbprint" VARIANT, "provider_type" nvarchar(120), "cryptographic_provider_guid" GUID,
        "cryptographic_provider_algid" VARIANT,
    }
    "dm_database_encryption_keys"() {
        "database_id" INT, "encryption_state" INT, "create_date" DATETIME, "regenerate_date" DATETIME,
        "modify_date" DATETIME, "set_date" DATETIME, "opened_date" DATETIME, "key_algorithm" nvarchar(32),
        "key_length" INT, "encryptor_thumbprint" SqlType::VarBinary(Length::Limited(20)),
        "encryptor_type" nvarchar(32), "percent_complete" REAL, "encryption_state_desc" nvarchar(32),
        "encryption_scan_state" INT, "encryption_scan_state_desc" nvarchar(32),
        "encryption_scan_modify_date" DATETIME,
    }
    "index_resumable_operations"() {
        "object_id" INT, "index_id" INT, "name" NAME, "sql_text" LONG, "last_max_dop_used" SMALLINT,
        "partition_number" INT, "state" TINYINT, "state_desc" DESCRIPTION, "start_time" DATETIME,
        "last_pause_time" DATETIME, "total_execution_time" INT, "percent_complete" FLOAT, "page_count" BIGINT,
    }
    "xml_indexes"() {
        "object_id" INT, "name" NAME, "index_id" INT, "type" TINYINT, "type_desc" DESCRIPTION, "is_unique" BIT,
        "data_space_id" INT, "is_primary_key" BIT, "is_unique_constraint" BIT, "fill_factor" TINYINT,
        "is_disabled" BIT, "using_xml_index_id" INT, "secondary_type" LETTER, "secondary_type_desc" DESCRIPTION,
        "xml_index_type" TINYINT, "xml_index_type_description" DESCRIPTION,
    }
    "spatial_indexes"() {
        "object_id" INT, "name" NAME, "index_id" INT, "type" TINYINT, "type_desc" DESCRIPTION, "is_unique" BIT,
        "data_space_id" INT, "ignore_dup_key" BIT, "is_primary_key" BIT, "is_unique_constraint" BIT,
        "fill_factor" TINYINT, "is_padded" BIT, "is_disabled" BIT, "is_hypothetical" BIT,
        "is_ignored_in_optimization" BIT, "allow_row_locks" BIT, "allow_page_locks" BIT, "spatial_index_type" TINYINT,
        "spatial_index_type_desc" DESCRIPTION, "tessellation_scheme" NAME, "has_filter" BIT,
        "filter_definition" LONG, "auto_created" BIT,
    }
    "spatial_index_tessellations"() {
        "object_id" INT, "index_id" INT, "tessellation_scheme" NAME, "bounding_box_xmin" FLOAT,
        "bounding_box_ymin" FLOAT, "bounding_box_xmax" FLOAT, "bounding_box_ymax" FLOAT, "level_1_grid" SMALLINT,
        "level_1_grid_desc" DESCRIPTION, "level_2_grid" SMALLINT, "level_2_grid_desc" DESCRIPTION,
        "level_3_grid" SMALLINT, "level_3_grid_desc" DESCRIPTION, "level_4_grid" SMALLINT,
        "level_4_grid_desc" DESCRIPTION, "cells_per_object" INT,
    }
    "fulltext_catalogs"() {
        "fulltext_catalog_id" INT, "name" NAME, "path" nvarchar(260), "is_default" BIT,
        "is_accent_sensitivity_on" BIT, "data_space_id" INT, "file_id" INT, "principal_id" INT, "is_importing" BIT,
    }
    "fulltext_indexes"() {
        "object_id" INT, "unique_index_id" INT, "fulltext_catalog_id" INT, "is_enabled" BIT,
        "change_tracking_state" LETTER, "change_tracking_state_desc" DESCRIPTION, "has_crawl_completed" BIT,
        "crawl_type" LETTER, "crawl_type_desc" DESCRIPTION, "crawl_start_date" DATETIME, "crawl_end_date" DATETIME,
        "incremental_timestamp" SqlType::Binary(8), "stoplist_id" INT, "data_space_id" INT, "property_list_id" INT,
    }
    "traces"() {
        "id" INT, "status" INT, "path" nvarchar(260), "max_size" BIGINT, "stop_time" DATETIME, "max_files" INT,
        "is_rowset" BIT, "is_rollover" BIT, "is_shutdown" BIT, "is_default" BIT, "buffer_count" INT, "buffer_size" INT,
        "file_position" BIGINT, "reader_spid" INT, "start_time" DATETIME, "last_event_time" DATETIME,
        "event_count" BIGINT, "dropped_event_count" INT,
    }
    "server_triggers"() {
        "name" NAME, "object_id" INT, "parent_class" TINYINT, "parent_class_desc" DESCRIPTION, "parent_id" INT,
        "type" CODE, "type_desc" DESCRIPTION, "create_date" DATETIME, "modify_date" DATETIME, "is_ms_shipped" BIT,
        "is_disabled" BIT,
    }
    "plan_guides"() {
        "plan_guide_id" INT, "name" NAME, "create_date" DATETIME, "modify_date" DATETIME, "is_disabled" BIT,
        "query_text" LONG, "scope_type" TINYINT, "scope_type_desc" DESCRIPTION, "scope_object_id" INT,
        "scope_batch" LONG, "parameters" LONG, "hints" LONG,
    }
    "linked_logins"() {
        "server_id" INT, "local_principal_id" INT, "uses_self_credential" BIT, "remote_name" NAME,
        "modify_date" DATETIME,
    }
    "change_tracking_databases"() {
        "database_id" INT, "is_auto_cleanup_on" BIT, "retention_period" INT, "retention_period_units" TINYINT,
        "retention_period_units_desc" DESCRIPTION, "max_cleanup_version" BIGINT,
    }
    "change_tracking_tables"() {
        "object_id" INT, "is_track_columns_updated_on" BIT, "min_valid_version" BIGINT, "begin_version" BIGINT,
        "cleanup_version" BIGINT,
    }
    "database_automatic_tuning_options"() {
        "name" nvarchar(128), "desired_state" SMALLINT, "desired_state_desc" DESCRIPTION, "actual_state" SMALLINT,
        "actual_state_desc" DESCRIPTION, "reason" SMALLINT, "reason_desc" DESCRIPTION,
    }
    "dm_broker_activated_tasks"() {
        "spid" INT, "database_id" SMALLINT, "queue_id" INT, "procedure_name" nvarchar(650), "execute_as" INT,
    }
    "dm_server_memory_dumps"() {
        "filename" nvarchar(256), "creation_time" SqlType::DateTimeOffset { scale: 7 }, "size_in_bytes" BIGINT,
    }
    "dm_server_accelerator_status"() {
        "accelerator" nvarchar(60), "accelerator_desc" DESCRIPTION, "config" nvarchar(60),
        "config_in_use" nvarchar(60), "mode" nvarchar(60), "mode_desc" DESCRIPTION, "mode_reason" nvarchar(60),
        "mode_reason_desc" DESCRIPTION, "accelerator_hardware_detected" BIT,
        "accelerator_library_version" nvarchar(60), "accelerator_driver_version" nvarchar(60),
    }
    "dm_db_missing_index_details"() {
        "index_handle" INT, "database_id" SMALLINT, "object_id" INT, "equality_columns" nvarchar(4000),
        "inequality_columns" nvarchar(4000), "included_columns" nvarchar(4000), "statement" nvarchar(4000),
    }
    "dm_db_missing_index_groups"() {
        "index_group_handle" INT, "index_handle" INT,
    }
    "dm_db_missing_index_group_stats"() {
        "group_handle" INT, "unique_compiles" BIGINT, "user_seeks" BIGINT, "user_scans" BIGINT,
        "last_user_seek" DATETIME, "last_user_scan" DATETIME, "avg_total_user_cost" FLOAT, "avg_user_impact" FLOAT,
        "system_seeks" BIGINT, "system_scans" BIGINT, "last_system_seek" DATETIME, "last_system_scan" DATETIME,
        "avg_total_system_cost" FLOAT, "avg_system_impact" FLOAT,
    }
    "dm_db_missing_index_group_stats_query"() {
        "group_handle" INT, "query_hash" SqlType::Binary(8), "query_plan_hash" SqlType::Binary(8),
        "last_sql_handle" HANDLE, "last_statement_start_offset" INT, "last_statement_end_offset" INT,
        "last_statement_sql_handle" HANDLE, "user_seeks" BIGINT, "user_scans" BIGINT, "last_user_seek" DATETIME,
        "last_user_scan" DATETIME, "avg_total_user_cost" FLOAT, "avg_user_impact" FLOAT, "system_seeks" BIGINT,
        "system_scans" BIGINT, "last_system_seek" DATETIME, "last_system_scan" DATETIME,
        "avg_total_system_cost" FLOAT, "avg_system_impact" FLOAT,
    }
    "column_store_dictionaries"() {
        "partition_id" BIGINT, "hobt_id" BIGINT, "column_id" INT, "dictionary_id" INT, "version" INT, "type" INT,
        "last_id" INT, "entry_count" BIGINT, "on_disk_size" BIGINT,
    }
    "column_store_row_groups"() {
        "object_id" INT, "index_id" INT, "partition_number" INT, "row_group_id" INT, "delta_store_hobt_id" BIGINT,
        "state" TINYINT, "state_description" DESCRIPTION, "total_rows" BIGINT, "deleted_rows" BIGINT, "size_in_bytes" BIGINT,
    }
    "column_store_segments"() {
        "partition_id" BIGINT, "hobt_id" BIGINT, "column_id" INT, "segment_id" INT, "version" INT, "encoding_type" INT,
        "row_count" INT, "has_nulls" INT, "base_id" BIGINT, "magnitude" FLOAT, "primary_dictionary_id" INT,
        "secondary_dictionary_id" INT, "min_data_id" BIGINT, "max_data_id" BIGINT, "null_value" BIGINT, "on_disk_size" BIGINT,
    }
    "dm_exec_query_memory_grants"() {
        "session_id" SMALLINT, "request_id" INT, "scheduler_id" INT, "dop" SMALLINT, "request_time" DATETIME,
        "grant_time" DATETIME, "requested_memory_kb" BIGINT, "granted_memory_kb" BIGINT, "required_memory_kb" BIGINT,
        "used_memory_kb" BIGINT, "max_used_memory_kb" BIGINT, "query_cost" FLOAT, "timeout_sec" INT,
        "resource_semaphore_id" SMALLINT, "queue_id" SMALLINT, "wait_order" INT, "is_next_candidate" BIT,
        "wait_time_ms" BIGINT, "plan_handle" HANDLE, "sql_handle" HANDLE, "group_id" INT, "pool_id" INT, "is_small" BIT,
        "ideal_memory_kb" BIGINT, "reserved_worker_count" INT, "used_worker_count" INT, "max_used_worker_count" INT,
        "reserved_node_bitmap" BIGINT,
    }
    "dm_exec_query_resource_semaphores"() {
        "resource_semaphore_id" SMALLINT, "target_memory_kb" BIGINT, "max_target_memory_kb" BIGINT, "total_memory_kb" BIGINT,
        "available_memory_kb" BIGINT, "granted_memory_kb" BIGINT, "used_memory_kb" BIGINT, "grantee_count" INT,
        "waiter_count" INT, "timeout_error_count" BIGINT, "forced_grant_count" BIGINT, "pool_id" INT,
    }
    "dm_server_audit_status"() {
        "audit_id" INT, "name" NAME, "status" SMALLINT, "status_desc" nvarchar(256),
        "status_time" SqlType::DateTime2 { scale: 7 }, "event_session_address" ADDRESS, "audit_file_path" nvarchar(256),
        "audit_file_size" BIGINT,
    }
    "dm_xe_sessions"() {
        "address" ADDRESS, "name" nvarchar(256), "pending_buffers" INT, "total_regular_buffers" INT,
        "regular_buffer_size" BIGINT, "total_large_buffers" INT, "large_buffer_size" BIGINT, "total_buffer_size" BIGINT,
        "buffer_policy_flags" INT, "buffer_policy_desc" nvarchar(256), "flags" INT, "flag_desc" nvarchar(256),
        "dropped_event_count" INT, "dropped_buffer_count" INT, "blocked_event_fire_time" INT, "create_time" DATETIME,
        "largest_event_dropped_size" INT, "session_source" nvarchar(256), "buffer_processed_count" BIGINT,
        "buffer_full_count" BIGINT, "total_bytes_generated" BIGINT, "total_target_memory" BIGINT,
    }
    "dm_xe_session_targets"() {
        "event_session_address" ADDRESS, "target_name" nvarchar(256), "target_package_guid" GUID, "execution_count" BIGINT,
        "execution_duration_ms" BIGINT, "target_data" LONG, "bytes_written" BIGINT, "failed_buffer_count" BIGINT,
    }
    "server_event_sessions"() {
        "event_session_id" INT, "name" NAME, "event_retention_mode" SqlType::NChar(1), "event_retention_mode_desc" NAME,
        "max_dispatch_latency" INT, "max_memory" INT, "max_event_size" INT, "memory_partition_mode" SqlType::NChar(1),
        "memory_partition_mode_desc" NAME, "track_causality" BIT, "startup_state" BIT, "has_long_running_target" BIT,
    }
    "server_event_session_targets"() {
        "event_session_id" INT, "target_id" INT, "name" NAME, "package" NAME, "module" NAME,
    }
    "server_event_session_fields"() {
        "event_session_id" INT, "object_id" INT, "name" NAME, "value" VARIANT,
    }
    "dm_os_ring_buffers"() {
        "ring_buffer_address" ADDRESS, "ring_buffer_type" DESCRIPTION, "timestamp" BIGINT,
        "record" nvarchar(3072),
    }
    "dm_os_server_diagnostics_log_configurations"() {
        "is_enabled" BIT, "path" nvarchar(260), "max_size" INT, "max_files" INT,
    }
    "event_notifications"() {
        "name" NAME, "object_id" INT, "parent_class" TINYINT, "parent_class_desc" DESCRIPTION, "parent_id" INT,
        "create_date" DATETIME, "modify_date" DATETIME, "service_name" nvarchar(256), "broker_instance" nvarchar(128),
        "creator_sid" SID, "principal_id" INT,
    }
    "service_queues"() {
        "name" NAME, "object_id" INT, "principal_id" INT, "schema_id" INT, "parent_object_id" INT, "type" CODE,
        "type_desc" DESCRIPTION, "create_date" DATETIME, "modify_date" DATETIME, "is_ms_shipped" BIT,
        "is_published" BIT, "is_schema_published" BIT, "max_readers" SMALLINT, "activation_procedure" nvarchar(776),
        "execute_as_principal_id" INT, "is_activation_enabled" BIT, "is_receive_enabled" BIT,
        "is_enqueue_enabled" BIT, "is_retention_enabled" BIT, "is_poison_message_handling_enabled" BIT,
    }
    "dm_db_incremental_stats_properties"(INT, INT) {
        "object_id" INT, "stats_id" INT, "partition_number" INT, "last_updated" SqlType::DateTime2 { scale: 7 },
        "rows" BIGINT, "rows_sampled" BIGINT, "steps" INT, "unfiltered_rows" BIGINT, "modification_counter" BIGINT,
    }
    "dm_exec_query_statistics_xml"(SMALLINT) {
        "session_id" SMALLINT, "request_id" INT, "sql_handle" HANDLE, "plan_handle" HANDLE, "query_plan" LONG,
    }
    "dm_db_column_store_row_group_physical_stats"() {
        "object_id" INT, "index_id" INT, "partition_number" INT, "row_group_id" INT, "delta_store_hobt_id" BIGINT,
        "state" TINYINT, "state_desc" DESCRIPTION, "total_rows" BIGINT, "deleted_rows" BIGINT,
        "size_in_bytes" BIGINT, "trim_reason" TINYINT, "trim_reason_desc" DESCRIPTION,
        "transition_to_compressed_state" TINYINT, "transition_to_compressed_state_desc" DESCRIPTION,
        "has_vertipaq_optimization" BIT, "generation" BIGINT, "created_time" SqlType::DateTime2 { scale: 7 },
        "closed_time" SqlType::DateTime2 { scale: 7 },
    }
    "dm_hadr_availability_replica_cluster_states"() {
        "replica_id" GUID, "replica_server_name" nvarchar(256), "group_id" GUID, "join_state" TINYINT,
        "join_state_desc" DESCRIPTION,
    }
    "dm_hadr_database_replica_cluster_states"() {
        "replica_id" GUID, "group_database_id" GUID, "database_name" NAME, "is_failover_ready" BIT,
        "is_pending_secondary_suspend" BIT, "is_database_joined" BIT, "recovery_lsn" LSN, "truncation_lsn" LSN,
    }
    "dm_hadr_cluster_members"() {
        "member_name" nvarchar(128), "member_type" TINYINT, "member_type_desc" DESCRIPTION, "member_state" TINYINT,
        "member_state_desc" DESCRIPTION, "number_of_quorum_votes" INT,
    }
    "dm_hadr_cluster_networks"() {
        "member_name" nvarchar(128), "network_subnet_ip" nvarchar(48), "network_subnet_ipv4_mask" nvarchar(45),
        "network_subnet_prefix_length" INT, "is_public" BIT, "is_ipv4" BIT,
    }
    "dm_hadr_auto_page_repair"() {
        "database_id" INT, "file_id" INT, "page_id" BIGINT, "error_type" INT, "page_status" INT,
        "modification_time" DATETIME,
    }
    "dm_db_mirroring_auto_page_repair"() {
        "database_id" INT, "file_id" INT, "page_id" BIGINT, "error_type" INT, "page_status" INT,
        "modification_time" DATETIME,
    }
    "database_mirroring_endpoints"() {
        "name" NAME, "endpoint_id" INT, "principal_id" INT, "protocol" TINYINT, "protocol_desc" DESCRIPTION,
        "type" TINYINT, "type_desc" DESCRIPTION, "state" TINYINT, "state_desc" DESCRIPTION, "is_admin_endpoint" BIT,
        "role" TINYINT, "role_desc" DESCRIPTION, "is_encryption_enabled" BIT, "connection_auth" TINYINT,
        "connection_auth_desc" DESCRIPTION, "certificate_id" INT, "encryption_algorithm" TINYINT,
        "encryption_algorithm_desc" DESCRIPTION,
    }
    "dm_io_cluster_shared_drives"() {
        "DriveName" SqlType::NChar(2),
    }
    "column_master_keys"() {
        "name" NAME, "column_master_key_id" INT, "create_date" DATETIME, "modify_date" DATETIME,
        "key_store_provider_name" NAME, "key_path" nvarchar(4000), "allow_enclave_computations" BIT,
        "signature" BYTES,
    }
    "database_audit_specifications"() {
        "name" NAME, "database_specification_id" INT, "create_date" DATETIME, "modify_date" DATETIME,
        "audit_guid" GUID, "is_state_enabled" BIT,
    }
    "dm_db_xtp_hash_index_stats"() {
        "object_id" INT, "xtp_object_id" BIGINT, "index_id" INT, "total_bucket_count" BIGINT,
        "empty_bucket_count" BIGINT, "avg_chain_length" BIGINT, "max_chain_length" BIGINT,
    }
    "dm_db_xtp_index_stats"() {
        "object_id" INT, "xtp_object_id" BIGINT, "index_id" INT, "scans_started" BIGINT, "scans_retries" BIGINT,
        "rows_returned" BIGINT, "rows_touched" BIGINT, "rows_expiring" BIGINT, "rows_expired" BIGINT,
        "rows_expired_removed" BIGINT, "phantom_scans_started" BIGINT, "phantom_scans_retries" BIGINT,
        "phantom_rows_touched" BIGINT,
    }
    "dm_db_xtp_memory_consumers"() {
        "memory_consumer_id" BIGINT, "memory_consumer_type" INT, "memory_consumer_type_desc" nvarchar(64),
        "memory_consumer_desc" nvarchar(64), "object_id" BIGINT, "xtp_object_id" BIGINT, "index_id" INT,
        "allocated_bytes" BIGINT, "used_bytes" BIGINT, "allocation_count" INT, "partition_count" INT,
        "sizeclass_count" INT, "min_sizeclass" INT, "max_sizeclass" INT, "memory_consumer_address" ADDRESS,
    }
    "dm_db_xtp_nonclustered_index_stats"() {
        "object_id" INT, "xtp_object_id" BIGINT, "index_id" INT, "delta_pages" BIGINT, "internal_pages" BIGINT,
        "leaf_pages" BIGINT, "outstanding_retired_nodes" BIGINT, "page_update_count" BIGINT,
        "page_update_retry_count" BIGINT, "page_consolidation_count" BIGINT, "page_consolidation_retry_count" BIGINT,
        "page_split_count" BIGINT, "page_split_retry_count" BIGINT, "key_split_count" BIGINT,
        "key_split_retry_count" BIGINT, "page_merge_count" BIGINT, "page_merge_retry_count" BIGINT,
        "key_merge_count" BIGINT, "key_merge_retry_count" BIGINT,
    }
    "dm_db_xtp_table_memory_stats"() {
        "object_id" INT, "memory_allocated_for_table_kb" BIGINT, "memory_used_by_table_kb" BIGINT,
        "memory_allocated_for_indexes_kb" BIGINT, "memory_used_by_indexes_kb" BIGINT,
    }
    "dm_xtp_transaction_stats"() {
        "total_count" BIGINT, "read_only_count" BIGINT, "total_aborts" BIGINT, "system_aborts" BIGINT,
        "user_aborts" BIGINT, "validation_failures" BIGINT, "dependencies_taken" BIGINT, "dependencies_failed" BIGINT,
        "savepoint_create" BIGINT, "savepoint_rollbacks" BIGINT, "savepoint_refreshes" BIGINT,
        "log_bytes_written" BIGINT, "log_IO_count" BIGINT, "phantom_scans_started" BIGINT,
        "phantom_scans_retries" BIGINT, "phantom_rows_touched" BIGINT, "phantom_rows_expiring" BIGINT,
        "phantom_rows_expired" BIGINT, "phantom_rows_expired_removed" BIGINT, "scans_started" BIGINT,
        "scans_retried" BIGINT, "rows_returned" BIGINT, "rows_touched" BIGINT, "rows_expiring" BIGINT,
        "rows_expired" BIGINT, "rows_expired_removed" BIGINT, "row_insert_attempts" BIGINT,
        "row_update_attempts" BIGINT, "row_delete_attempts" BIGINT, "write_conflicts" BIGINT,
        "unique_constraint_violations" BIGINT,
    }
    "dm_db_persisted_sku_features"() {
        "feature_name" NAME, "feature_id" INT,
    }
    "dm_db_tuning_recommendations"() {
        "name" nvarchar(4000), "type" nvarchar(4000), "reason" nvarchar(4000), "valid_since" MOMENT,
        "last_refresh" MOMENT, "state" nvarchar(4000), "is_executable_action" BIT, "is_revertable_action" BIT,
        "execute_action_start_time" MOMENT, "execute_action_duration" DURATION,
        "execute_action_initiated_by" nvarchar(4000), "execute_action_initiated_time" MOMENT,
        "revert_action_start_time" MOMENT, "revert_action_duration" DURATION,
        "revert_action_initiated_by" nvarchar(4000), "revert_action_initiated_time" MOMENT, "score" INT,
        "details" LONG,
    }
    "dm_os_latch_stats"() {
        "latch_class" nvarchar(60), "waiting_requests_count" BIGINT, "wait_time_ms" BIGINT, "max_wait_time_ms" BIGINT,
    }
    "dm_os_spinlock_stats"() {
        "name" nvarchar(512), "collisions" BIGINT, "spins" BIGINT, "spins_per_collision" REAL, "sleep_time" BIGINT,
        "backoffs" BIGINT,
    }
    "dm_os_loaded_modules"() {
        "base_address" ADDRESS, "file_version" VERSION, "product_version" VERSION, "debug" BIT, "patched" BIT,
        "prerelease" BIT, "private_build" BIT, "special_build" BIT, "language" INT, "company" nvarchar(256),
        "description" nvarchar(256), "name" nvarchar(255),
    }
    "dm_os_memory_cache_counters"() {
        "cache_address" ADDRESS, "name" nvarchar(256), "type" DESCRIPTION, "pages_kb" BIGINT,
        "pages_in_use_kb" BIGINT, "entries_count" BIGINT, "entries_in_use_count" BIGINT,
    }
    "dm_os_memory_cache_clock_hands"() {
        "cache_address" ADDRESS, "name" nvarchar(256), "type" DESCRIPTION, "clock_hand" DESCRIPTION,
        "clock_status" DESCRIPTION, "rounds_count" BIGINT, "removed_all_rounds_count" BIGINT,
        "updated_last_round_count" BIGINT, "removed_last_round_count" BIGINT, "last_tick_time" BIGINT,
        "round_start_time" BIGINT, "last_round_start_time" BIGINT,
    }
    "dm_os_memory_cache_hash_tables"() {
        "cache_address" ADDRESS, "name" nvarchar(256), "type" DESCRIPTION, "table_level" INT, "buckets_count" INT,
        "buckets_in_use_count" INT, "buckets_min_length" INT, "buckets_max_length" INT, "buckets_avg_length" INT,
        "buckets_max_length_ever" INT, "hits_count" BIGINT, "misses_count" BIGINT, "buckets_avg_scan_hit_length" INT,
        "buckets_avg_scan_miss_length" INT,
    }
    "dm_os_memory_objects"() {
        "memory_object_address" ADDRESS, "parent_address" ADDRESS, "pages_in_bytes" BIGINT, "creation_options" INT,
        "bytes_used" BIGINT, "type" DESCRIPTION, "name" NAME, "memory_node_id" SMALLINT, "creation_time" DATETIME,
        "page_size_in_bytes" INT, "max_pages_in_bytes" BIGINT, "page_allocator_address" ADDRESS,
        "creation_stack_address" ADDRESS, "sequence_num" INT, "partition_type" INT, "contention_factor" REAL,
        "waiting_tasks_count" BIGINT, "exclusive_access_count" BIGINT,
    }
    "dm_io_pending_io_requests"() {
        "io_completion_request_address" ADDRESS, "io_type" DESCRIPTION, "io_pending_ms_ticks" BIGINT,
        "io_pending" INT, "io_completion_routine_address" ADDRESS, "io_user_data_address" ADDRESS,
        "scheduler_address" ADDRESS, "io_handle" ADDRESS, "io_offset" BIGINT, "io_handle_path" nvarchar(256),
    }
    "dm_resource_governor_resource_pool_affinity"() {
        "pool_id" INT, "processor_group" SMALLINT, "scheduler_mask" BIGINT,
    }
    "dm_server_registry"() {
        "registry_key" nvarchar(256), "value_name" nvarchar(256), "value_data" VARIANT,
    }
    "extended_procedures"() {
        "name" NAME, "object_id" INT, "principal_id" INT, "schema_id" INT, "parent_object_id" INT, "type" CODE,
        "type_desc" DESCRIPTION, "create_date" DATETIME, "modify_date" DATETIME, "is_ms_shipped" BIT,
        "is_published" BIT, "is_schema_published" BIT, "dll_name" nvarchar(260),
    }
    "external_data_sources"() {
        "data_source_id" INT, "name" NAME, "location" nvarchar(4000), "type_desc" nvarchar(255), "type" TINYINT,
        "resource_manager_location" nvarchar(4000), "credential_id" INT, "database_name" NAME, "shard_map_name" NAME,
        "connection_options" nvarchar(4000), "pushdown" nvarchar(256),
    }
    "internal_tables"() {
        "name" NAME, "object_id" INT, "principal_id" INT, "schema_id" INT, "parent_object_id" INT, "type" CODE,
        "type_desc" DESCRIPTION, "create_date" DATETIME, "modify_date" DATETIME, "is_ms_shipped" BIT,
        "is_published" BIT, "is_schema_published" BIT, "internal_type" TINYINT, "internal_type_desc" DESCRIPTION,
        "parent_id" INT, "parent_minor_id" INT, "lob_data_space_id" INT, "filestream_data_space_id" INT,
    }
    "numbered_procedures"() {
        "object_id" INT, "procedure_number" SMALLINT, "definition" LONG,
    }
    "numbered_procedure_parameters"() {
        "object_id" INT, "procedure_number" SMALLINT, "name" NAME, "parameter_id" INT, "system_type_id" TINYINT,
        "user_type_id" INT, "max_length" SMALLINT, "precision" TINYINT, "scale" TINYINT, "is_output" BIT,
        "is_cursor_ref" BIT,
    }
    "query_store_query_text"() {
        "query_text_id" BIGINT, "query_sql_text" LONG, "statement_sql_handle" HANDLE,
        "is_part_of_encrypted_module" BIT, "has_restricted_text" BIT,
    }
    "query_store_query"() {
        "query_id" BIGINT, "query_text_id" BIGINT, "context_settings_id" BIGINT, "object_id" BIGINT,
        "batch_sql_handle" HANDLE, "query_hash" HASH, "is_internal_query" BIT, "query_parameterization_type" TINYINT,
        "query_parameterization_type_desc" DESCRIPTION, "initial_compile_start_time" ZONED,
        "last_compile_start_time" ZONED, "last_execution_time" ZONED, "last_compile_batch_sql_handle" HANDLE,
        "last_compile_batch_offset_start" BIGINT, "last_compile_batch_offset_end" BIGINT, "count_compiles" BIGINT,
        "avg_compile_duration" FLOAT, "last_compile_duration" BIGINT, "avg_bind_duration" FLOAT,
        "last_bind_duration" BIGINT, "avg_bind_cpu_time" FLOAT, "last_bind_cpu_time" BIGINT,
        "avg_optimize_duration" FLOAT, "last_optimize_duration" BIGINT, "avg_optimize_cpu_time" FLOAT,
        "last_optimize_cpu_time" BIGINT, "avg_compile_memory_kb" FLOAT, "last_compile_memory_kb" BIGINT,
        "max_compile_memory_kb" BIGINT, "is_clouddb_internal_query" BIT,
    }
    "query_store_plan"() {
        "plan_id" BIGINT, "query_id" BIGINT, "plan_group_id" BIGINT, "engine_version" nvarchar(32),
        "compatibility_level" SMALLINT, "query_plan_hash" HASH, "query_plan" LONG, "is_online_index_plan" BIT,
        "is_trivial_plan" BIT, "is_parallel_plan" BIT, "is_forced_plan" BIT, "is_natively_compiled" BIT,
        "force_failure_count" BIGINT, "last_force_failure_reason" INT, "last_force_failure_reason_desc" nvarchar(128),
        "count_compiles" BIGINT, "initial_compile_start_time" ZONED, "last_compile_start_time" ZONED,
        "last_execution_time" ZONED, "avg_compile_duration" FLOAT, "last_compile_duration" BIGINT,
        "plan_forcing_type" INT, "plan_forcing_type_desc" DESCRIPTION,
    }
    "security_policies"() {
        "name" NAME, "object_id" INT, "principal_id" INT, "schema_id" INT, "parent_object_id" INT, "type" CODE,
        "type_desc" DESCRIPTION, "create_date" DATETIME, "modify_date" DATETIME, "is_ms_shipped" BIT,
        "is_enabled" BIT, "is_not_for_replication" BIT, "uses_database_collation" BIT, "is_schema_bound" BIT,
    }
    "trace_categories"() {
        "category_id" SMALLINT, "name" nvarchar(128), "type" TINYINT,
    }
    "trace_columns"() {
        "trace_column_id" SMALLINT, "name" nvarchar(128), "type_name" nvarchar(128), "max_size" INT,
        "is_filterable" BIT, "is_repeatable" BIT, "is_repeated_base" BIT,
    }
    "trace_events"() {
        "trace_event_id" SMALLINT, "category_id" SMALLINT, "name" nvarchar(128),
    }
    "trace_event_bindings"() {
        "trace_event_id" SMALLINT, "trace_column_id" SMALLINT,
    }
    "trace_subclass_values"() {
        "trace_event_id" SMALLINT, "trace_column_id" SMALLINT, "subclass_name" nvarchar(128),
        "subclass_value" SMALLINT,
    }
    "dm_db_missing_index_columns"(INT) {
        "column_id" INT, "column_name" NAME, "column_usage" nvarchar(20),
    }
};
