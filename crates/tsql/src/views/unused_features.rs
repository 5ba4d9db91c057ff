//! More views of missing features, as in `unused`: assemblies, audits, Service Broker, full-text search, Query Store, external languages and
//! libraries, keys, availability groups, events. Columns are those of sql-docs, "System catalog views" and "System dynamic management views".

use engine::types::{Length, SqlType};

use super::unused::{ADDRESS, BYTES, CODE, DESCRIPTION, LONG, MOMENT, ZONED, unused};
use super::{BIGINT, BIT, DATETIME, FLOAT, GUID, INT, NAME, SID, SMALLINT, SystemView, TINYINT, nvarchar};

pub(super) const VIEWS: &[SystemView] = unused! {
    "sys":
    "assembly_files"() {
        "assembly_id" INT, "name" nvarchar(260), "file_id" INT, "content" BYTES,
    }
    "assembly_modules"() {
        "object_id" INT, "assembly_id" INT, "assembly_class" NAME, "assembly_method" NAME, "null_on_null_input" BIT,
        "execute_as_principal_id" INT,
    }
    "assembly_references"() {
        "assembly_id" INT, "referenced_assembly_id" INT,
    }
    "availability_group_listener_ip_addresses"() {
        "listener_id" nvarchar(36), "ip_address" nvarchar(48), "ip_subnet_mask" nvarchar(15), "is_dhcp" BIT,
        "network_subnet_ip" nvarchar(48), "network_subnet_prefix_length" INT, "network_subnet_ipv4_mask" nvarchar(45),
        "state" TINYINT, "state_desc" DESCRIPTION,
    }
    "availability_groups_cluster"() {
        "group_id" GUID, "name" NAME, "resource_id" nvarchar(40), "resource_group_id" nvarchar(40),
        "failure_condition_level" INT, "health_check_timeout" INT, "automated_backup_preference" TINYINT,
        "automated_backup_preference_desc" DESCRIPTION,
    }
    "availability_read_only_routing_lists"() {
        "replica_id" GUID, "routing_priority" INT, "read_only_replica_id" GUID,
    }
    "backup_devices"() {
        "name" NAME, "type" TINYINT, "type_desc" DESCRIPTION, "physical_name" nvarchar(260),
    }
    "column_encryption_key_values"() {
        "column_encryption_key_id" INT, "column_master_key_id" INT,
        "encrypted_value" SqlType::VarBinary(Length::Limited(8000)), "encryption_algorithm_name" NAME,
    }
    "column_encryption_keys"() {
        "name" NAME, "column_encryption_key_id" INT, "create_date" DATETIME, "modify_date" DATETIME,
    }
    "conversation_endpoints"() {
        "conversation_handle" GUID, "conversation_id" GUID, "is_initiator" TINYINT, "service_contract_id" INT,
        "conversation_group_id" GUID, "service_id" INT, "lifetime" DATETIME, "state" CODE, "state_desc" DESCRIPTION,
        "far_service" nvarchar(256), "far_broker_instance" nvarchar(128), "principal_id" INT, "far_principal_id" INT,
        "outbound_session_key_identifier" GUID, "inbound_session_key_identifier" GUID, "security_timestamp" DATETIME,
        "dialog_timer" DATETIME, "send_sequence" BIGINT, "last_send_tran_id" SqlType::Binary(6),
        "end_dialog_sequence" BIGINT, "receive_sequence" BIGINT, "receive_sequence_frag" INT,
        "system_sequence" BIGINT, "first_out_of_order_sequence" BIGINT, "last_out_of_order_sequence" BIGINT,
        "last_out_of_order_frag" INT, "is_system" BIT, "priority" TINYINT,
    }
    "conversation_groups"() {
        "conversation_group_id" GUID, "service_id" INT, "is_system" BIT,
    }
    "conversation_priorities"() {
        "priority_id" INT, "name" NAME, "service_contract_id" INT, "local_service_id" INT,
        "remote_service_name" nvarchar(256), "priority" TINYINT,
    }
    "crypt_properties"() {
        "class" TINYINT, "class_desc" DESCRIPTION, "major_id" INT,
        "thumbprint" SqlType::VarBinary(Length::Limited(32)), "crypt_type" SqlType::Char(4),
        "crypt_type_desc" DESCRIPTION, "crypt_property" BYTES,
    }
    "cryptographic_providers"() {
        "provider_id" INT, "name" NAME, "guid" GUID, "version" nvarchar(50), "dll_path" nvarchar(512),
        "is_enabled" BIT,
    }
    "database_audit_specification_details"() {
        "database_specification_id" INT, "audit_action_id" SqlType::Char(4), "audit_action_name" NAME,
        "class" TINYINT, "class_desc" DESCRIPTION, "major_id" INT, "minor_id" INT, "audited_principal_id" INT,
        "audited_result" DESCRIPTION, "is_group" BIT,
    }
    "database_event_sessions"() {
        "event_session_id" INT, "name" NAME, "event_retention_mode" SqlType::NChar(1),
        "event_retention_mode_desc" NAME, "max_dispatch_latency" INT, "max_memory" INT, "max_event_size" INT,
        "memory_partition_mode" SqlType::NChar(1), "memory_partition_mode_desc" NAME, "track_causality" BIT,
        "startup_state" BIT,
    }
    "database_scoped_credentials"() {
        "name" NAME, "credential_id" INT, "principal_id" INT, "credential_identity" nvarchar(4000),
        "create_date" DATETIME, "modify_date" DATETIME, "target_type" nvarchar(100), "target_id" INT,
    }
    "dm_broker_connections"() {
        "connection_id" GUID, "transport_stream_id" GUID, "state" SMALLINT, "state_desc" DESCRIPTION,
        "connect_time" DATETIME, "login_time" DATETIME, "authentication_method" nvarchar(128),
        "principal_name" nvarchar(128), "remote_user_name" nvarchar(128), "last_activity_time" DATETIME,
        "is_accept" BIT, "login_state" SMALLINT, "login_state_desc" DESCRIPTION, "peer_certificate_id" INT,
        "encryption_algorithm" SMALLINT, "encryption_algorithm_desc" DESCRIPTION, "receives_posted" SMALLINT,
        "is_receive_flow_controlled" BIT, "sends_posted" SMALLINT, "is_send_flow_controlled" BIT,
        "total_bytes_sent" BIGINT, "total_bytes_received" BIGINT, "total_fragments_sent" BIGINT,
        "total_fragments_received" BIGINT, "total_sends" BIGINT, "total_receives" BIGINT, "peer_arbitration_id" GUID,
    }
    "dm_broker_forwarded_messages"() {
        "conversation_id" GUID, "is_initiator" BIT, "to_service_name" nvarchar(512),
        "to_broker_instance" nvarchar(512), "from_service_name" nvarchar(512), "from_broker_instance" nvarchar(512),
        "adjacent_broker_address" nvarchar(512), "message_sequence_number" BIGINT, "message_fragment_number" INT,
        "hops_remaining" TINYINT, "time_to_live" INT, "time_consumed" INT, "message_id" GUID,
    }
    "dm_broker_queue_monitors"() {
        "database_id" INT, "queue_id" INT, "state" nvarchar(32), "last_empty_rowset_time" DATETIME,
        "last_activated_time" DATETIME, "tasks_waiting" INT,
    }
    "dm_clr_appdomains"() {
        "appdomain_address" ADDRESS, "appdomain_id" INT, "appdomain_name" SqlType::VarChar(Length::Limited(386)),
        "creation_time" DATETIME, "db_id" INT, "user_id" INT, "state" nvarchar(128), "strong_refcount" INT,
        "weak_refcount" INT, "cost" INT, "value" INT, "total_processor_time_ms" BIGINT,
        "total_allocated_memory_kb" BIGINT, "survived_memory_kb" BIGINT,
    }
    "dm_clr_tasks"() {
        "task_address" ADDRESS, "sos_task_address" ADDRESS, "appdomain_address" ADDRESS, "state" nvarchar(128),
        "abort_state" nvarchar(128), "type" nvarchar(128), "affinity_count" INT, "forced_yield_count" INT,
    }
    "dm_column_store_object_pool"() {
        "database_id" INT, "object_id" INT, "index_id" INT, "partition_number" BIGINT, "column_id" INT,
        "row_group_id" INT, "object_type" SMALLINT, "object_type_desc" DESCRIPTION, "access_count" INT,
        "memory_used_in_bytes" BIGINT, "object_load_time" DATETIME,
    }
    "dm_db_fts_index_physical_stats"() {
        "object_id" INT, "fulltext_index_page_count" BIGINT, "keyphrase_index_page_count" BIGINT,
        "similarity_index_page_count" BIGINT,
    }
    "dm_db_xtp_object_stats"() {
        "object_id" BIGINT, "row_insert_attempts" BIGINT, "row_update_attempts" BIGINT, "row_delete_attempts" BIGINT,
        "write_conflicts" BIGINT, "unique_constraint_violations" BIGINT, "object_address" ADDRESS,
    }
    "dm_fts_active_catalogs"() {
        "database_id" INT, "catalog_id" INT, "memory_address" ADDRESS, "name" nvarchar(128), "is_paused" BIT,
        "status" INT, "status_description" nvarchar(120), "previous_status" INT,
        "previous_status_description" nvarchar(120), "worker_count" INT, "active_fts_index_count" INT,
        "auto_population_count" INT, "manual_population_count" INT, "full_incremental_population_count" INT,
        "row_count_in_thousands" INT, "is_importing" BIT,
    }
    "dm_fts_fdhosts"() {
        "fdhost_id" INT, "fdhost_name" nvarchar(120), "fdhost_process_id" INT, "fdhost_type" nvarchar(120),
        "max_thread" INT, "batch_count" INT,
    }
    "dm_fts_memory_pools"() {
        "pool_id" INT, "buffer_size" INT, "min_buffer_limit" INT, "max_buffer_limit" INT, "buffer_count" INT,
    }
    "dm_fts_population_ranges"() {
        "memory_address" ADDRESS, "parent_memory_address" ADDRESS, "is_retry" BIT, "session_id" SMALLINT,
        "processed_row_count" INT, "error_count" INT,
    }
    "dm_hadr_availability_replica_cluster_nodes"() {
        "group_name" nvarchar(256), "replica_server_name" nvarchar(256), "node_name" nvarchar(256),
    }
    "dm_hadr_instance_node_map"() {
        "ag_resource_id" nvarchar(256), "instance_name" nvarchar(256), "node_name" nvarchar(256),
    }
    "dm_hadr_name_id_map"() {
        "ag_name" nvarchar(256), "ag_id" GUID, "ag_resource_id" nvarchar(256), "ag_group_id" nvarchar(256),
    }
    "dm_resource_governor_external_resource_pool_affinity"() {
        "pool_id" INT, "processor_group" SMALLINT, "cpu_mask" BIGINT,
    }
    "dm_resource_governor_external_resource_pools"() {
        "external_pool_id" INT, "name" NAME, "pool_version" INT, "max_cpu_percent" INT, "max_processes" INT,
        "max_memory_percent" INT, "statistics_start_time" DATETIME, "peak_memory_kb" BIGINT, "write_io_count" INT,
        "read_io_count" INT, "total_cpu_kernel_ms" BIGINT, "total_cpu_user_ms" BIGINT, "active_processes_count" INT,
    }
    "dm_resource_governor_resource_pool_volumes"() {
        "pool_id" INT, "volume_name" NAME, "read_io_queued_total" INT, "read_io_issued_total" INT,
        "read_ios_completed_total" INT, "read_ios_throttled_total" INT, "read_bytes_total" BIGINT,
        "read_io_stall_total_ms" BIGINT, "read_io_stall_queued_ms" BIGINT, "write_io_queued_total" INT,
        "write_io_issued_total" INT, "write_io_completed_total" INT, "write_io_throttled_total" INT,
        "write_bytes_total" BIGINT, "write_io_stall_total_ms" BIGINT, "write_io_stall_queued_ms" BIGINT,
        "io_issue_violations_total" INT, "io_issue_delay_total_ms" BIGINT,
    }
    "dm_xe_session_event_actions"() {
        "event_session_address" ADDRESS, "action_name" nvarchar(256), "action_package_guid" GUID,
        "event_name" nvarchar(256), "event_package_guid" GUID,
    }
    "dm_xe_session_events"() {
        "event_session_address" ADDRESS, "event_name" nvarchar(256), "event_package_guid" GUID,
        "event_predicate" nvarchar(3072),
    }
    "dm_xe_session_object_columns"() {
        "event_session_address" ADDRESS, "column_name" nvarchar(256), "column_id" INT, "column_value" nvarchar(3072),
        "object_type" DESCRIPTION, "object_name" nvarchar(256), "object_package_guid" GUID,
    }
    "edge_constraint_clauses"() {
        "object_id" INT, "from_object_id" INT, "to_object_id" INT, "clause_number" INT,
    }
    "external_file_formats"() {
        "file_format_id" INT, "name" NAME, "format_type" TINYINT, "field_terminator" nvarchar(10),
        "string_delimiter" nvarchar(10), "date_format" nvarchar(50), "use_type_default" BIT,
        "serde_method" nvarchar(255), "row_terminator" nvarchar(10), "encoding" nvarchar(10),
        "data_compression" nvarchar(255),
    }
    "external_language_files"() {
        "external_language_id" INT, "content" BYTES, "file_name" nvarchar(266), "platform" TINYINT,
        "platform_desc" DESCRIPTION, "parameters" nvarchar(4000), "environment_variables" nvarchar(4000),
    }
    "external_languages"() {
        "external_language_id" INT, "language" NAME, "create_date" MOMENT, "principal_id" INT,
    }
    "external_libraries"() {
        "external_library_id" INT, "name" NAME, "principal_id" INT, "language" NAME, "scope" INT,
        "scope_desc" SqlType::VarChar(Length::Limited(7)),
    }
    "external_library_files"() {
        "external_library_id" INT, "content" BYTES, "platform" TINYINT, "platform_desc" DESCRIPTION,
    }
    "fulltext_index_catalog_usages"() {
        "object_id" INT, "index_id" INT, "fulltext_catalog_id" INT,
    }
    "fulltext_index_columns"() {
        "object_id" INT, "column_id" INT, "type_column_id" INT, "language_id" INT, "statistical_semantics" INT,
    }
    "fulltext_languages"() {
        "lcid" INT, "name" NAME,
    }
    "fulltext_semantic_language_statistics_database"() {
        "database_id" INT, "register_date" DATETIME, "registered_by" INT, "version" nvarchar(128),
    }
    "fulltext_semantic_languages"() {
        "lcid" INT, "name" NAME,
    }
    "fulltext_stoplists"() {
        "stoplist_id" INT, "name" NAME, "create_date" DATETIME, "modify_date" DATETIME, "principal_id" INT,
    }
    "fulltext_stopwords"() {
        "stoplist_id" INT, "stopword" nvarchar(64), "language" NAME, "language_id" INT,
    }
    "fulltext_system_stopwords"() {
        "stopword" nvarchar(64), "language_id" INT,
    }
    "function_order_columns"() {
        "object_id" INT, "order_column_id" INT, "column_id" INT, "is_descending" BIT,
    }
    "key_encryptions"() {
        "key_id" INT, "thumbprint" SqlType::VarBinary(Length::Limited(32)), "crypt_type" SqlType::Char(4),
        "crypt_type_desc" DESCRIPTION, "crypt_property" BYTES,
    }
    "master_key_passwords"() {
        "credential_id" INT, "family_guid" GUID,
    }
    "memory_optimized_tables_internal_attributes"() {
        "object_id" INT, "xtp_object_id" BIGINT, "type" INT, "type_desc" DESCRIPTION, "minor_id" INT,
    }
    "message_type_xml_schema_collection_usages"() {
        "message_type_id" INT, "xml_collection_id" INT,
    }
    "module_assembly_usages"() {
        "object_id" INT, "assembly_id" INT,
    }
    "openkeys"() {
        "database_id" INT, "database_name" NAME, "key_id" INT, "key_name" NAME, "key_guid" BYTES,
        "opened_date" DATETIME, "status" INT,
    }
    "query_context_settings"() {
        "context_settings_id" BIGINT, "set_options" ADDRESS, "language_id" SMALLINT, "date_format" SMALLINT,
        "date_first" TINYINT, "status" SqlType::VarBinary(Length::Limited(2)), "required_cursor_options" INT,
        "acceptable_cursor_options" INT, "merge_action_type" SMALLINT, "default_schema_id" INT,
        "is_replication_specific" BIT, "is_contained" SqlType::VarBinary(Length::Limited(1)),
    }
    "query_store_runtime_stats"() {
        "runtime_stats_id" BIGINT, "plan_id" BIGINT, "runtime_stats_interval_id" BIGINT, "execution_type" TINYINT,
        "execution_type_desc" nvarchar(128), "first_execution_time" ZONED, "last_execution_time" ZONED,
        "count_executions" BIGINT, "avg_duration" FLOAT, "last_duration" BIGINT, "min_duration" BIGINT,
        "max_duration" BIGINT, "stdev_duration" FLOAT, "avg_cpu_time" FLOAT, "last_cpu_time" BIGINT,
        "min_cpu_time" BIGINT, "max_cpu_time" BIGINT, "stdev_cpu_time" FLOAT, "avg_logical_io_reads" FLOAT,
        "last_logical_io_reads" BIGINT, "min_logical_io_reads" BIGINT, "max_logical_io_reads" BIGINT,
        "stdev_logical_io_reads" FLOAT, "avg_logical_io_writes" FLOAT, "last_logical_io_writes" BIGINT,
        "min_logical_io_writes" BIGINT, "max_logical_io_writes" BIGINT, "stdev_logical_io_writes" FLOAT,
        "avg_physical_io_reads" FLOAT, "last_physical_io_reads" BIGINT, "min_physical_io_reads" BIGINT,
        "max_physical_io_reads" BIGINT, "stdev_physical_io_reads" FLOAT, "avg_clr_time" FLOAT, "last_clr_time" BIGINT,
        "min_clr_time" BIGINT, "max_clr_time" BIGINT, "stdev_clr_time" FLOAT, "avg_dop" FLOAT, "last_dop" BIGINT,
        "min_dop" BIGINT, "max_dop" BIGINT, "stdev_dop" FLOAT, "avg_query_max_used_memory" FLOAT,
        "last_query_max_used_memory" BIGINT, "min_query_max_used_memory" BIGINT, "max_query_max_used_memory" BIGINT,
        "stdev_query_max_used_memory" FLOAT, "avg_rowcount" FLOAT, "last_rowcount" BIGINT, "min_rowcount" BIGINT,
        "max_rowcount" BIGINT, "stdev_rowcount" FLOAT, "avg_log_bytes_used" FLOAT, "last_log_bytes_used" BIGINT,
        "min_log_bytes_used" BIGINT, "max_log_bytes_used" BIGINT, "stdev_log_bytes_used" FLOAT,
        "avg_tempdb_space_used" FLOAT, "last_tempdb_space_used" BIGINT, "min_tempdb_space_used" BIGINT,
        "max_tempdb_space_used" BIGINT, "stdev_tempdb_space_used" FLOAT, "avg_page_server_io_reads" FLOAT,
        "last_page_server_io_reads" BIGINT, "min_page_server_io_reads" BIGINT, "max_page_server_io_reads" BIGINT,
        "stdev_page_server_io_reads" FLOAT,
    }
    "query_store_runtime_stats_interval"() {
        "runtime_stats_interval_id" BIGINT, "start_time" ZONED, "end_time" ZONED, "comment" nvarchar(32),
    }
    "query_store_wait_stats"() {
        "wait_stats_id" BIGINT, "plan_id" BIGINT, "runtime_stats_interval_id" BIGINT, "wait_category" TINYINT,
        "wait_category_desc" nvarchar(128), "execution_type" TINYINT, "execution_type_desc" nvarchar(128),
        "total_query_wait_time_ms" BIGINT, "avg_query_wait_time_ms" FLOAT, "last_query_wait_time_ms" BIGINT,
        "min_query_wait_time_ms" BIGINT, "max_query_wait_time_ms" BIGINT, "stdev_query_wait_time_ms" FLOAT,
    }
    "registered_search_properties"() {
        "property_list_id" INT, "property_set_guid" GUID, "property_int_id" INT, "property_name" nvarchar(64),
        "property_description" nvarchar(512), "property_id" INT,
    }
    "registered_search_property_lists"() {
        "property_list_id" INT, "name" NAME, "create_date" DATETIME, "modify_date" DATETIME, "principal_id" INT,
    }
    "remote_logins"() {
        "server_id" INT, "remote_name" NAME, "local_principal_id" INT, "modify_date" DATETIME,
    }
    "remote_service_bindings"() {
        "name" NAME, "remote_service_binding_id" INT, "principal_id" INT, "remote_service_name" nvarchar(256),
        "service_contract_id" INT, "remote_principal_id" INT, "is_anonymous_on" BIT,
    }
    "resource_governor_external_resource_pools"() {
        "external_pool_id" INT, "name" NAME, "max_cpu_percent" INT, "max_memory_percent" INT, "max_processes" INT,
        "version" BIGINT,
    }
    "routes"() {
        "name" NAME, "route_id" INT, "principal_id" INT, "remote_service_name" nvarchar(256),
        "broker_instance" nvarchar(128), "lifetime" DATETIME, "address" nvarchar(256), "mirror_address" nvarchar(256),
    }
    "security_predicates"() {
        "object_id" INT, "security_predicate_id" INT, "target_object_id" INT, "predicate_definition" LONG,
        "predicate_type" INT, "predicate_type_desc" DESCRIPTION, "operation" INT, "operation_desc" DESCRIPTION,
    }
    "selective_xml_index_paths"() {
        "object_id" INT, "index_id" INT, "path_id" INT, "path" nvarchar(4000), "name" NAME, "path_type" TINYINT,
        "path_type_desc" NAME, "xml_component_id" INT, "xquery_type_description" nvarchar(4000),
        "is_xquery_type_inferred" BIT, "xquery_max_length" SMALLINT, "is_xquery_max_length_inferred" BIT,
        "is_node" BIT, "system_type_id" TINYINT, "user_type_id" TINYINT, "max_length" SMALLINT, "precision" TINYINT,
        "scale" TINYINT, "collation_name" NAME, "is_singleton" BIT,
    }
    "server_assembly_modules"() {
        "object_id" INT, "assembly_id" INT, "assembly_class" NAME, "assembly_method" NAME,
        "execute_as_principal_id" INT,
    }
    "server_audit_specification_details"() {
        "server_specification_id" INT, "audit_action_id" INT, "audit_action_name" NAME, "class" TINYINT,
        "class_desc" DESCRIPTION, "major_id" INT, "minor_id" INT, "audited_principal_id" INT,
        "audited_result" DESCRIPTION, "is_group" BIT,
    }
    "server_audit_specifications"() {
        "server_specification_id" INT, "name" NAME, "create_date" DATETIME, "modify_date" DATETIME, "audit_guid" GUID,
        "is_state_enabled" BIT,
    }
    "server_audits"() {
        "audit_id" INT, "name" NAME, "audit_guid" GUID, "create_date" DATETIME, "modify_date" DATETIME,
        "principal_id" INT, "type" CODE, "type_desc" DESCRIPTION, "on_failure" TINYINT, "on_failure_desc" DESCRIPTION,
        "is_state_enabled" TINYINT, "queue_delay" INT, "predicate" nvarchar(3000),
    }
    "server_event_notifications"() {
        "name" NAME, "object_id" INT, "parent_class" TINYINT, "parent_class_desc" DESCRIPTION, "parent_id" INT,
        "create_date" DATETIME, "modify_date" DATETIME, "service_name" nvarchar(256), "broker_instance" nvarchar(128),
        "creator_sid" SID, "principal_id" INT,
    }
    "server_event_session_actions"() {
        "event_session_id" INT, "event_id" INT, "name" NAME, "package" NAME, "module" NAME,
    }
    "server_event_session_events"() {
        "event_session_id" INT, "event_id" INT, "name" NAME, "package" NAME, "module" NAME,
        "predicate" nvarchar(3000), "predicate_xml" nvarchar(3000),
    }
    "server_sql_modules"() {
        "object_id" INT, "definition" LONG, "uses_ansi_nulls" BIT, "uses_quoted_identifier" BIT,
        "execute_as_principal_id" INT,
    }
    "service_contract_message_usages"() {
        "service_contract_id" INT, "message_type_id" INT, "is_sent_by_initiator" BIT, "is_sent_by_target" BIT,
    }
    "service_contract_usages"() {
        "service_id" INT, "service_contract_id" INT,
    }
    "service_contracts"() {
        "name" NAME, "service_contract_id" INT, "principal_id" INT,
    }
    "service_message_types"() {
        "name" NAME, "message_type_id" INT, "principal_id" INT, "validation" CODE, "validation_desc" DESCRIPTION,
        "xml_collection_id" INT,
    }
    "service_queue_usages"() {
        "service_id" INT, "service_queue_id" INT,
    }
    "services"() {
        "name" NAME, "service_id" INT, "principal_id" INT, "service_queue_id" INT,
    }
    "transmission_queue"() {
        "conversation_handle" GUID, "to_service_name" nvarchar(256), "to_broker_instance" nvarchar(128),
        "from_service_name" nvarchar(256), "service_contract_name" nvarchar(256), "enqueue_time" DATETIME,
        "message_sequence_number" BIGINT, "message_type_name" nvarchar(256), "is_conversation_error" BIT,
        "is_end_of_dialog" BIT, "message_body" BYTES, "transmission_status" nvarchar(4000), "priority" TINYINT,
    }
    "trusted_assemblies"() {
        "hash" SqlType::VarBinary(Length::Limited(8000)), "description" nvarchar(4000), "create_date" MOMENT,
        "created_by" nvarchar(128),
    }
    "type_assembly_usages"() {
        "user_type_id" INT, "assembly_id" INT,
    }
};
