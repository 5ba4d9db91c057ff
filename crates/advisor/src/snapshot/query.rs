//! The queries to a server, as data.
//!
//! Each source is one view, function or command. The queries depend on what the server has, not on its version: Azure SQL Database calls
//! itself 12.0, and service packs add columns. So the first query lists the existing views and columns ([`Source::Catalog`]); a missing
//! column is omitted, a missing view is "not checked, because".
//!
//! Harmless by construction: SELECTs and two DBCC commands that read, with names of columns and never `*`, at READ UNCOMMITTED, with
//! LOCK_TIMEOUT and a low deadlock priority ([`PREAMBLE`]). `sys.dm_db_log_space_usage` is not read: up to SQL Server 2016 and 2017 it
//! crashed the server on database snapshots (KB4088901); the counters of the same figures are read instead.
//!
//! Dates come as text of style 121, binary values not at all, so that one client reads what another one wrote.

/// Run first on a connection. READ UNCOMMITTED, and no wait for a lock longer than two seconds: error 1222 is then the reason.
pub const PREAMBLE: &str = "SET NOCOUNT ON; SET LOCK_TIMEOUT 2000; SET DEADLOCK_PRIORITY LOW; \
                            SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;";

/// A view, function or command that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    Server,
    Catalog,
    Databases,
    SystemInformation,
    Services,
    Files,
    Counters,
    LogSpace,
    FileIo,
    Volumes,
    RecoveryStatus,
    Transactions,
    ActiveTransactions,
    SessionTransactions,
    Sessions,
    Requests,
    Waits,
    Backups,
    BackupDevices,
    Mirroring,
    Replicas,
    ReplicaNames,
    Jobs,
    Growths,
    ErrorLog,
    PersistentVersions,
    AbortedTransactions,
    VersionStore,
    SnapshotTransactions,
    LogStatistics,
    LogInfo,
    LogInfoCommand,
}

/// A column that is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name in the answer.
    pub name: &'static str,
    /// What makes it.
    pub expression: &'static str,
    /// The column that must exist, in the view of the query.
    pub needs: &'static str,
}

/// A column under its own name.
const fn plain(name: &'static str) -> Column {
    Column {
        name,
        expression: name,
        needs: name,
    }
}

/// A date as text.
const fn date(name: &'static str, expression: &'static str) -> Column {
    Column {
        name,
        expression,
        needs: name,
    }
}

/// Something computed that needs no column of the view.
const fn computed(name: &'static str, expression: &'static str) -> Column {
    Column {
        name,
        expression,
        needs: "",
    }
}

/// Whether a query is asked once, or of each database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Server,
    /// `{id}`, `{literal}` and `{identifier}` stand for the database.
    Database,
}

#[derive(Clone, Copy, Debug)]
pub struct Query {
    pub source: Source,
    /// As users know it: `sys.dm_tran_database_transactions`, `DBCC LOGINFO`.
    pub word: &'static str,
    /// The view or function in `sys` that must exist; empty where nothing can be looked up.
    pub object: &'static str,
    pub scope: Scope,
    pub columns: &'static [Column],
    /// What follows the columns; for a command, the command.
    pub from: &'static str,
    /// What a login needs, in words.
    pub right: &'static str,
}

const STATE: &str = "VIEW SERVER STATE (from 2022 on VIEW SERVER PERFORMANCE STATE)";
const MSDB: &str = "SELECT on the tables of msdb (db_datareader)";

/// A search of the current error log. Each is for one text: a search for less brings every failed login.
const fn error_log(from: &'static str) -> Query {
    Query {
        source: Source::ErrorLog,
        word: "sp_readerrorlog",
        object: "",
        scope: Scope::Server,
        columns: &[],
        from,
        right: "VIEW SERVER STATE (from 2022 on VIEW ANY ERROR LOG)",
    }
}

/// Every query but those of [`Source::Server`] and [`Source::Catalog`], in the order in which they are asked.
pub const QUERIES: &[Query] = &[
    Query {
        source: Source::Databases,
        word: "sys.databases",
        object: "databases",
        scope: Scope::Server,
        columns: &[
            plain("database_id"),
            plain("name"),
            plain("state_desc"),
            plain("recovery_model_desc"),
            plain("log_reuse_wait_desc"),
            plain("source_database_id"),
            plain("is_read_only"),
            plain("is_in_standby"),
            plain("is_auto_shrink_on"),
            plain("is_published"),
            plain("is_cdc_enabled"),
            plain("is_accelerated_database_recovery_on"),
            plain("delayed_durability_desc"),
            Column {
                name: "is_in_group",
                expression: "CASE WHEN replica_id IS NULL THEN 0 ELSE 1 END",
                needs: "replica_id",
            },
            computed("is_accessible", "HAS_DBACCESS(name)"),
        ],
        from: "sys.databases",
        right: "public",
    },
    Query {
        source: Source::SystemInformation,
        word: "sys.dm_os_sys_info",
        object: "dm_os_sys_info",
        scope: Scope::Server,
        columns: &[date(
            "sqlserver_start_time",
            "CONVERT(varchar(23), sqlserver_start_time, 121)",
        )],
        from: "sys.dm_os_sys_info",
        right: STATE,
    },
    Query {
        source: Source::Services,
        word: "sys.dm_server_services",
        object: "dm_server_services",
        scope: Scope::Server,
        columns: &[plain("servicename"), plain("instant_file_initialization_enabled")],
        from: "sys.dm_server_services",
        right: STATE,
    },
    Query {
        source: Source::Files,
        word: "sys.master_files",
        object: "master_files",
        scope: Scope::Server,
        columns: &[
            plain("database_id"),
            plain("file_id"),
            plain("type"),
            plain("name"),
            plain("physical_name"),
            plain("size"),
            plain("max_size"),
            plain("growth"),
            plain("is_percent_growth"),
        ],
        from: "sys.master_files",
        right: "VIEW ANY DEFINITION",
    },
    Query {
        source: Source::Counters,
        word: "sys.dm_os_performance_counters",
        object: "dm_os_performance_counters",
        scope: Scope::Server,
        columns: &[
            computed("counter", "RTRIM(counter_name)"),
            computed("database_name", "RTRIM(instance_name)"),
            plain("cntr_value"),
        ],
        from: "sys.dm_os_performance_counters WHERE object_name LIKE '%:Databases%' AND counter_name IN \
               ('Log File(s) Size (KB)', 'Log File(s) Used Size (KB)', 'Log Growths', 'Log Shrinks')",
        right: STATE,
    },
    Query {
        source: Source::LogSpace,
        word: "DBCC SQLPERF(LOGSPACE)",
        object: "",
        scope: Scope::Server,
        columns: &[],
        from: "DBCC SQLPERF(LOGSPACE) WITH NO_INFOMSGS",
        right: "VIEW SERVER STATE",
    },
    Query {
        source: Source::FileIo,
        word: "sys.dm_io_virtual_file_stats",
        object: "dm_io_virtual_file_stats",
        scope: Scope::Server,
        columns: &[
            plain("database_id"),
            plain("file_id"),
            plain("num_of_writes"),
            plain("num_of_bytes_written"),
            plain("io_stall_write_ms"),
        ],
        from: "sys.dm_io_virtual_file_stats(NULL, NULL)",
        right: STATE,
    },
    Query {
        source: Source::Volumes,
        word: "sys.dm_os_volume_stats",
        object: "dm_os_volume_stats",
        scope: Scope::Server,
        columns: &[
            computed("database_id", "f.database_id"),
            computed("file_id", "f.file_id"),
            computed("volume_mount_point", "v.volume_mount_point"),
            computed("total_bytes", "v.total_bytes"),
            computed("available_bytes", "v.available_bytes"),
        ],
        from: "sys.master_files AS f CROSS APPLY sys.dm_os_volume_stats(f.database_id, f.file_id) AS v WHERE f.type = 1",
        right: STATE,
    },
    Query {
        source: Source::RecoveryStatus,
        word: "sys.database_recovery_status",
        object: "database_recovery_status",
        scope: Scope::Server,
        columns: &[
            plain("database_id"),
            computed(
                "chain_has_begun",
                "CASE WHEN last_log_backup_lsn IS NULL THEN 0 ELSE 1 END",
            ),
            computed("last_log_backup_lsn", "CONVERT(varchar(30), last_log_backup_lsn)"),
        ],
        from: "sys.database_recovery_status",
        right: "VIEW ANY DEFINITION",
    },
    Query {
        source: Source::Transactions,
        word: "sys.dm_tran_database_transactions",
        object: "dm_tran_database_transactions",
        scope: Scope::Server,
        columns: &[
            plain("transaction_id"),
            plain("database_id"),
            date(
                "database_transaction_begin_time",
                "CONVERT(varchar(23), database_transaction_begin_time, 121)",
            ),
            plain("database_transaction_log_bytes_used"),
            plain("database_transaction_log_bytes_reserved"),
            date(
                "database_transaction_begin_lsn",
                "CONVERT(varchar(30), database_transaction_begin_lsn)",
            ),
        ],
        from: "sys.dm_tran_database_transactions WHERE database_transaction_begin_lsn IS NOT NULL",
        right: STATE,
    },
    Query {
        source: Source::ActiveTransactions,
        word: "sys.dm_tran_active_transactions",
        object: "dm_tran_active_transactions",
        scope: Scope::Server,
        columns: &[
            plain("transaction_id"),
            plain("name"),
            plain("transaction_type"),
            plain("transaction_state"),
            Column {
                name: "transaction_uow",
                expression: "CONVERT(varchar(36), transaction_uow)",
                needs: "transaction_uow",
            },
        ],
        from: "sys.dm_tran_active_transactions",
        right: STATE,
    },
    Query {
        source: Source::SessionTransactions,
        word: "sys.dm_tran_session_transactions",
        object: "dm_tran_session_transactions",
        scope: Scope::Server,
        columns: &[plain("session_id"), plain("transaction_id")],
        from: "sys.dm_tran_session_transactions",
        right: STATE,
    },
    Query {
        source: Source::Sessions,
        word: "sys.dm_exec_sessions",
        object: "dm_exec_sessions",
        scope: Scope::Server,
        columns: &[
            plain("session_id"),
            plain("login_name"),
            plain("host_name"),
            plain("program_name"),
            plain("status"),
            date(
                "last_request_end_time",
                "CONVERT(varchar(23), last_request_end_time, 121)",
            ),
        ],
        from: "sys.dm_exec_sessions",
        right: STATE,
    },
    Query {
        source: Source::Requests,
        word: "sys.dm_exec_requests",
        object: "dm_exec_requests",
        scope: Scope::Server,
        columns: &[
            plain("session_id"),
            plain("database_id"),
            plain("command"),
            date("start_time", "CONVERT(varchar(23), start_time, 121)"),
            plain("percent_complete"),
            plain("estimated_completion_time"),
            plain("wait_type"),
            plain("blocking_session_id"),
        ],
        from: "sys.dm_exec_requests",
        right: STATE,
    },
    Query {
        source: Source::Waits,
        word: "sys.dm_os_wait_stats",
        object: "dm_os_wait_stats",
        scope: Scope::Server,
        columns: &[plain("wait_type"), plain("waiting_tasks_count"), plain("wait_time_ms")],
        from: "sys.dm_os_wait_stats WHERE wait_type IN ('WRITELOG', 'LOGBUFFER', 'PREEMPTIVE_OS_WRITEFILEGATHER', \
               'HADR_SYNC_COMMIT', 'LOG_RATE_GOVERNOR', 'POOL_LOG_RATE_GOVERNOR', 'INSTANCE_LOG_RATE_GOVERNOR', \
               'HADR_THROTTLE_LOG_RATE_GOVERNOR')",
        right: STATE,
    },
    Query {
        source: Source::Backups,
        word: "msdb.dbo.backupset",
        object: "",
        scope: Scope::Server,
        columns: &[
            plain("database_name"),
            plain("type"),
            computed("last_finish", "CONVERT(varchar(23), MAX(backup_finish_date), 121)"),
            computed(
                "backups_7d",
                "SUM(CASE WHEN backup_finish_date > DATEADD(day, -7, GETDATE()) THEN 1 ELSE 0 END)",
            ),
            computed(
                "bytes_7d",
                "SUM(CASE WHEN backup_finish_date > DATEADD(day, -7, GETDATE()) THEN backup_size ELSE 0 END)",
            ),
            computed(
                "largest_7d",
                "MAX(CASE WHEN backup_finish_date > DATEADD(day, -7, GETDATE()) THEN backup_size ELSE 0 END)",
            ),
        ],
        from: "msdb.dbo.backupset GROUP BY database_name, type",
        right: MSDB,
    },
    Query {
        source: Source::BackupDevices,
        word: "msdb.dbo.backupmediafamily",
        object: "",
        scope: Scope::Server,
        columns: &[
            computed("database_name", "s.database_name"),
            computed("type", "s.type"),
            computed("device", "m.physical_device_name"),
        ],
        from: "msdb.dbo.backupset AS s INNER JOIN msdb.dbo.backupmediafamily AS m ON m.media_set_id = s.media_set_id \
               INNER JOIN (SELECT database_name, type, MAX(backup_set_id) AS newest FROM msdb.dbo.backupset WHERE type IN ('D', 'L') \
               GROUP BY database_name, type) AS n ON n.newest = s.backup_set_id",
        right: MSDB,
    },
    Query {
        source: Source::Mirroring,
        word: "sys.database_mirroring",
        object: "database_mirroring",
        scope: Scope::Server,
        columns: &[
            plain("database_id"),
            plain("mirroring_state_desc"),
            plain("mirroring_role_desc"),
            plain("mirroring_partner_instance"),
        ],
        from: "sys.database_mirroring WHERE mirroring_guid IS NOT NULL",
        right: "VIEW ANY DEFINITION",
    },
    Query {
        source: Source::Replicas,
        word: "sys.dm_hadr_database_replica_states",
        object: "dm_hadr_database_replica_states",
        scope: Scope::Server,
        columns: &[
            plain("database_id"),
            Column {
                name: "replica_id",
                expression: "CONVERT(varchar(36), replica_id)",
                needs: "replica_id",
            },
            plain("is_local"),
            plain("is_primary_replica"),
            plain("synchronization_state_desc"),
            plain("is_suspended"),
            plain("log_send_queue_size"),
            plain("redo_queue_size"),
            Column {
                name: "last_hardened_lsn",
                expression: "CONVERT(varchar(30), last_hardened_lsn)",
                needs: "last_hardened_lsn",
            },
        ],
        from: "sys.dm_hadr_database_replica_states",
        right: STATE,
    },
    Query {
        source: Source::ReplicaNames,
        word: "sys.availability_replicas",
        object: "availability_replicas",
        scope: Scope::Server,
        columns: &[
            Column {
                name: "replica_id",
                expression: "CONVERT(varchar(36), replica_id)",
                needs: "replica_id",
            },
            plain("replica_server_name"),
            plain("availability_mode_desc"),
        ],
        from: "sys.availability_replicas",
        right: "VIEW ANY DEFINITION",
    },
    Query {
        source: Source::Jobs,
        word: "msdb.dbo.sysjobs",
        object: "",
        scope: Scope::Server,
        columns: &[
            computed("name", "j.name"),
            computed("category", "c.name"),
            computed("is_enabled", "j.enabled"),
            computed("started", "CONVERT(varchar(23), a.start_execution_date, 121)"),
            computed("stopped", "CONVERT(varchar(23), a.stop_execution_date, 121)"),
            computed("run_status", "h.run_status"),
        ],
        from: "msdb.dbo.sysjobs AS j INNER JOIN msdb.dbo.syscategories AS c ON c.category_id = j.category_id \
               LEFT JOIN msdb.dbo.sysjobactivity AS a ON a.job_id = j.job_id AND a.session_id = (SELECT MAX(session_id) FROM \
               msdb.dbo.syssessions) LEFT JOIN msdb.dbo.sysjobhistory AS h ON h.instance_id = a.job_history_id \
               WHERE c.name IN ('REPL-LogReader', 'REPL-Snapshot')",
        right: MSDB,
    },
    Query {
        source: Source::Growths,
        word: "the default trace",
        object: "traces",
        scope: Scope::Server,
        columns: &[
            computed("database_name", "g.DatabaseName"),
            computed("event_class", "g.EventClass"),
            computed("pages", "g.IntegerData"),
            computed("microseconds", "g.Duration"),
            computed("started", "CONVERT(varchar(23), g.StartTime, 121)"),
        ],
        // The file named in sys.traces is the newest, log_123.trc; from the name without a number on all are read. Linux has that name alone.
        from: "sys.traces AS t CROSS APPLY sys.fn_trace_gettable(CASE WHEN t.path LIKE '%log[_][0-9]%.trc' THEN \
               LEFT(t.path, LEN(t.path) - CHARINDEX('_', REVERSE(t.path))) + '.trc' ELSE t.path END, DEFAULT) AS g \
               WHERE t.is_default = 1 AND g.EventClass IN (92, 93, 94, 95) AND g.StartTime > DATEADD(day, -7, GETDATE())",
        right: "ALTER TRACE",
    },
    // A log that is full (9002), and one with very many VLFs (9017).
    error_log("EXEC sp_readerrorlog 0, 1, N'transaction log for database'"),
    error_log("EXEC sp_readerrorlog 0, 1, N'virtual log files'"),
    // Backups that failed (3041), growths that took long or were cancelled (5145, 5144).
    error_log("EXEC sp_readerrorlog 0, 1, N'BACKUP failed'"),
    error_log("EXEC sp_readerrorlog 0, 1, N'Autogrow of file'"),
    // How far recovery is (3450), while a database is not online yet.
    error_log("EXEC sp_readerrorlog 0, 1, N'Recovery of database'"),
    // Log blocks that do not begin and end at a sector of the disk (9012).
    error_log("EXEC sp_readerrorlog 0, 1, N'misaligned log IOs'"),
    // Requests of a file that took longer than 15 seconds (833), and a log that could not be read (9004).
    error_log("EXEC sp_readerrorlog 0, 1, N'taking longer than'"),
    error_log("EXEC sp_readerrorlog 0, 1, N'processing the log for database'"),
    Query {
        source: Source::PersistentVersions,
        word: "sys.dm_tran_persistent_version_store_stats",
        object: "dm_tran_persistent_version_store_stats",
        scope: Scope::Server,
        columns: &[
            plain("database_id"),
            plain("persistent_version_store_size_kb"),
            plain("current_aborted_transaction_count"),
            date(
                "aborted_version_cleaner_start_time",
                "CONVERT(varchar(23), aborted_version_cleaner_start_time, 121)",
            ),
            date(
                "aborted_version_cleaner_end_time",
                "CONVERT(varchar(23), aborted_version_cleaner_end_time, 121)",
            ),
        ],
        from: "sys.dm_tran_persistent_version_store_stats",
        right: STATE,
    },
    Query {
        source: Source::AbortedTransactions,
        word: "sys.dm_tran_aborted_transactions",
        object: "dm_tran_aborted_transactions",
        scope: Scope::Server,
        columns: &[
            plain("database_id"),
            computed("oldest_begin_time", "CONVERT(varchar(23), MIN(begin_time), 121)"),
        ],
        from: "sys.dm_tran_aborted_transactions GROUP BY database_id",
        right: STATE,
    },
    Query {
        source: Source::VersionStore,
        word: "sys.dm_tran_version_store_space_usage",
        object: "dm_tran_version_store_space_usage",
        scope: Scope::Server,
        columns: &[plain("database_id"), plain("reserved_space_kb")],
        from: "sys.dm_tran_version_store_space_usage",
        right: STATE,
    },
    Query {
        source: Source::SnapshotTransactions,
        word: "sys.dm_tran_active_snapshot_database_transactions",
        object: "dm_tran_active_snapshot_database_transactions",
        scope: Scope::Server,
        columns: &[
            plain("transaction_id"),
            plain("session_id"),
            plain("elapsed_time_seconds"),
        ],
        // One that only writes versions has no snapshot.
        from: "sys.dm_tran_active_snapshot_database_transactions WHERE is_snapshot = 1 OR first_snapshot_sequence_num <> 0",
        right: STATE,
    },
    Query {
        source: Source::LogStatistics,
        word: "sys.dm_db_log_stats",
        object: "dm_db_log_stats",
        scope: Scope::Database,
        columns: &[
            plain("log_min_lsn"),
            plain("log_end_lsn"),
            plain("log_checkpoint_lsn"),
            plain("log_recovery_lsn"),
            plain("log_recovery_size_mb"),
            plain("log_since_last_checkpoint_mb"),
            plain("log_since_last_log_backup_mb"),
            date("log_backup_time", "CONVERT(varchar(23), log_backup_time, 121)"),
            plain("total_vlf_count"),
            plain("active_vlf_count"),
        ],
        from: "sys.dm_db_log_stats({id})",
        right: STATE,
    },
    Query {
        source: Source::LogInfo,
        word: "sys.dm_db_log_info",
        object: "dm_db_log_info",
        scope: Scope::Database,
        columns: &[
            plain("file_id"),
            plain("vlf_begin_offset"),
            plain("vlf_size_mb"),
            plain("vlf_sequence_number"),
            plain("vlf_status"),
            plain("vlf_create_lsn"),
        ],
        from: "sys.dm_db_log_info({id})",
        right: "VIEW SERVER STATE or VIEW DATABASE STATE (from 2022 on their PERFORMANCE STATE)",
    },
    Query {
        source: Source::LogInfoCommand,
        word: "DBCC LOGINFO",
        object: "",
        scope: Scope::Database,
        columns: &[],
        from: "DBCC LOGINFO ({literal}) WITH NO_INFOMSGS",
        right: "sysadmin",
    },
];

/// What the server says of itself; asked before anything else, and of nothing that a version lacks.
pub const SERVER_QUERY: &str = "SELECT CONVERT(nvarchar(256), @@SERVERNAME) AS server_name, \
     CONVERT(nvarchar(128), SERVERPROPERTY('ProductVersion')) AS product_version, \
     CONVERT(nvarchar(128), SERVERPROPERTY('Edition')) AS edition, \
     CONVERT(int, SERVERPROPERTY('EngineEdition')) AS engine_edition, \
     CONVERT(varchar(23), GETDATE(), 121) AS clock, SUSER_SNAME() AS login_name";

impl Source {
    /// As users know it.
    pub fn word(self) -> &'static str {
        match self {
            Source::Server => "SERVERPROPERTY",
            Source::Catalog => "sys.all_columns",
            other => other.query().map_or("", |query| query.word),
        }
    }

    /// How it is asked; `None` for the two that come first.
    pub fn query(self) -> Option<&'static Query> {
        QUERIES.iter().find(|query| query.source == self)
    }

    /// What a login needs to read it, in words.
    pub fn right(self) -> &'static str {
        self.query().map_or("public", |query| query.right)
    }
}

/// The views and functions of [`QUERIES`] that exist, with their columns.
pub fn catalog_query() -> String {
    let objects = QUERIES
        .iter()
        .map(|query| query.object)
        .filter(|object| !object.is_empty());
    let names: Vec<String> = objects.map(|object| format!("'{object}'")).collect();
    format!(
        "SELECT o.name AS object_name, c.name AS column_name FROM sys.all_objects AS o INNER JOIN sys.all_columns AS c \
         ON c.object_id = o.object_id WHERE o.schema_id = 4 AND o.name IN ({})",
        names.join(", ")
    )
}

/// A database whose name goes into a text.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    pub id: i64,
    pub name: &'a str,
}

impl Query {
    /// The text, with the columns for which `exists(column)` holds; `None` when a column that tells rows apart would be left out.
    pub fn text(&self, exists: &dyn Fn(&str) -> bool, database: Option<Named<'_>>) -> Option<String> {
        let wanted = self
            .columns
            .iter()
            .filter(|column| column.needs.is_empty() || exists(column.needs));
        let listed: Vec<String> = wanted
            .map(|column| format!("{} AS {}", column.expression, column.name))
            .collect();
        if listed.is_empty() && !self.columns.is_empty() {
            return None;
        }
        let text = match listed.is_empty() {
            true => self.from.to_owned(),
            false => format!("SELECT {} FROM {}", listed.join(", "), self.from),
        };
        Some(match database {
            None => text,
            Some(Named { id, name }) => {
                let literal = format!("N'{}'", name.replace('\'', "''"));
                text.replace("{id}", &id.to_string()).replace("{literal}", &literal)
            }
        })
    }
}
