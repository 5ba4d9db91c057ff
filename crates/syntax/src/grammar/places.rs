//! Every place of the grammar where options stand, with all words that may stand there (SQL Server docs, the statement's own page).

use super::Fate::{self, Advice, Obeyed, Only, OnlyWhenRun, Refused};
use super::{Place, Unknown, Word};

const ON: Fate = Only(&["ON"]);
const OFF: Fate = Only(&["OFF"]);
/// ON of an option that no database here can have.
const OFF_WHEN_RUN: Fate = OnlyWhenRun(&["OFF"], 5058);
/// Written without a value.
const BARE: Fate = Only(&[""]);

macro_rules! words {
    ($($name:literal => $fate:expr),* $(,)?) => {
        &[$(Word { name: $name, fate: $fate }),*]
    };
}

/// Every place. DATEFORMAT, LANGUAGE and the other SETs with a value are judged when they run: the value may be a variable's.
pub const PLACES: &[&Place] = &[
    &SET_SWITCHES,
    &SET_VALUES,
    &SET_STATISTICS,
    &CREATE_STATISTICS,
    &UPDATE_STATISTICS,
    &SET_OFFSETS,
    &QUERY_HINTS,
    &USE_HINTS,
    &TABLE_HINTS,
    &INDEX_OPTIONS,
    &ALTER_INDEX_SET,
    &TABLE_OPTIONS,
    &SYSTEM_VERSIONING_OPTIONS,
    &ALTER_TABLE_SET,
    &ALTER_COLUMN_OPTIONS,
    &DROP_INDEX_OPTIONS,
    &REBUILD_OPTIONS,
    &REBUILD_PARTITION_OPTIONS,
    &REORGANIZE_OPTIONS,
    &DATABASE_WITH,
    &DATABASE_SET,
    &SCOPED_CONFIGURATIONS,
    &BACKUP_OPTIONS,
    &RESTORE_OPTIONS,
    &DBCC_COMMANDS,
    &DBCC_OPTIONS,
    &TRACE_FLAGS,
    &CURSOR_OPTIONS,
    &PROCEDURE_OPTIONS,
    &FUNCTION_OPTIONS,
    &VIEW_OPTIONS,
    &TRIGGER_OPTIONS,
    &INSERT_BULK_OPTIONS,
    &BULK_INSERT_OPTIONS,
    &OPENROWSET_OPTIONS,
];

/// SET options that are ON or OFF.
pub const SET_SWITCHES: Place = Place {
    name: "SET",
    unknown: Unknown::SetOption,
    joint: " ",
    words: words! {
        "ANSI_DEFAULTS" => Obeyed,
        "ANSI_NULLS" => Obeyed,
        "ANSI_NULL_DFLT_OFF" => Obeyed,
        "ANSI_NULL_DFLT_ON" => Obeyed,
        // OFF concerns new columns alone, and these are refused under it.
        "ANSI_PADDING" => Obeyed,
        "ANSI_WARNINGS" => Obeyed,
        "ARITHABORT" => Obeyed,
        "ARITHIGNORE" => Obeyed,
        "CONCAT_NULL_YIELDS_NULL" => Obeyed,
        "CURSOR_CLOSE_ON_COMMIT" => Obeyed,
        "DISABLE_DEF_CNST_CHK" => OFF,
        "FMTONLY" => Obeyed,
        "FORCEPLAN" => Obeyed,
        "IMPLICIT_TRANSACTIONS" => Obeyed,
        "NOCOUNT" => Obeyed,
        "NOEXEC" => Obeyed,
        "NO_BROWSETABLE" => OFF,
        "NUMERIC_ROUNDABORT" => Obeyed,
        "PARSEONLY" => Obeyed,
        "QUOTED_IDENTIFIER" => Obeyed,
        "REMOTE_PROC_TRANSACTIONS" => OFF,
        "SHOWPLAN_ALL" => Obeyed,
        "SHOWPLAN_TEXT" => Obeyed,
        "SHOWPLAN_XML" => Obeyed,
        "XACT_ABORT" => Obeyed,
    },
};

/// SET options that take a value.
pub const SET_VALUES: Place = Place {
    name: "SET with a value",
    unknown: Unknown::SetOption,
    joint: " ",
    words: words! {
        "CONTEXT_INFO" => Obeyed,
        "DATEFIRST" => Obeyed,
        "DATEFORMAT" => Obeyed,
        "DEADLOCK_PRIORITY" => Obeyed,
        "FIPS_FLAGGER" => OFF,
        "LANGUAGE" => Obeyed,
        "LOCK_TIMEOUT" => Obeyed,
        "QUERY_GOVERNOR_COST_LIMIT" => Only(&["0"]),
        "ROWCOUNT" => Obeyed,
        "TEXTSIZE" => Obeyed,
    },
};

pub const SET_STATISTICS: Place = Place {
    name: "SET STATISTICS",
    unknown: Unknown::Syntax,
    joint: " ",
    words: words! {
        "IO" => Obeyed,
        "PROFILE" => Obeyed,
        "TIME" => Obeyed,
        "XML" => Obeyed,
    },
};

/// SET OFFSETS: the keywords whose places a client asks for.
pub const SET_OFFSETS: Place = Place {
    name: "SET OFFSETS",
    unknown: Unknown::Syntax,
    joint: " ",
    words: words! {
        "COMPUTE" => OFF,
        "EXECUTE" => OFF,
        "FROM" => OFF,
        "ORDER" => OFF,
        "PARAM" => OFF,
        "PROCEDURE" => OFF,
        "SELECT" => OFF,
        "STATEMENT" => OFF,
        "TABLE" => OFF,
    },
};

/// OPTION (...). Those with a number or a text in parentheses differ by their names alone.
///
/// What is advice: unions are made in one way whatever method is named. ROBUST PLAN and NO_PERFORMANCE_SPOOL leave out plans that are
/// not made here; EXPAND VIEWS and IGNORE_NONCLUSTERED_COLUMNSTORE_INDEX indexes that do not exist.
pub const QUERY_HINTS: Place = Place {
    name: "OPTION",
    unknown: Unknown::Syntax,
    joint: " ",
    words: words! {
        "CONCAT UNION" => Advice,
        "DISABLE EXTERNALPUSHDOWN" => Refused,
        "EXPAND VIEWS" => Advice,
        "FAST" => Obeyed,
        "FORCE EXTERNALPUSHDOWN" => Refused,
        "FORCE ORDER" => Obeyed,
        "HASH GROUP" => Obeyed,
        "HASH JOIN" => Obeyed,
        "HASH UNION" => Advice,
        "IGNORE_NONCLUSTERED_COLUMNSTORE_INDEX" => Advice,
        "KEEP PLAN" => Obeyed,
        "KEEPFIXED PLAN" => Obeyed,
        "LOOP JOIN" => Obeyed,
        "MAXDOP" => Obeyed,
        "MAXRECURSION" => Obeyed,
        "MAX_GRANT_PERCENT" => Refused,
        "MERGE JOIN" => Obeyed,
        "MERGE UNION" => Advice,
        // Memory is taken as it is needed: none is held back for a query before.
        "MIN_GRANT_PERCENT" => Advice,
        "NO_PERFORMANCE_SPOOL" => Advice,
        "OPTIMIZE FOR" => Obeyed,
        "OPTIMIZE FOR UNKNOWN" => Obeyed,
        "ORDER GROUP" => Obeyed,
        "PARAMETERIZATION FORCED" => Refused,
        "PARAMETERIZATION SIMPLE" => Refused,
        "QUERYTRACEON" => Obeyed,
        "RECOMPILE" => Obeyed,
        "ROBUST PLAN" => Advice,
        "TABLE HINT" => Refused,
        "USE HINT" => Obeyed,
        "USE PLAN" => Refused,
    },
};

/// The texts of OPTION (USE HINT (...)).
pub const USE_HINTS: Place = Place {
    name: "USE HINT",
    unknown: Unknown::UseHint,
    joint: " ",
    words: words! {
        "ASSUME_JOIN_PREDICATE_DEPENDS_ON_FILTERS" => Advice,
        "ASSUME_MIN_SELECTIVITY_FOR_FILTER_ESTIMATES" => Advice,
        "DISABLE_BATCH_MODE_ADAPTIVE_JOINS" => Advice,
        "DISABLE_BATCH_MODE_MEMORY_GRANT_FEEDBACK" => Advice,
        "DISABLE_DEFERRED_COMPILATION_TV" => Advice,
        "DISABLE_INTERLEAVED_EXECUTION_TVF" => Advice,
        "DISABLE_OPTIMIZED_NESTED_LOOP" => Advice,
        "DISABLE_OPTIMIZER_ROWGOAL" => Obeyed,
        "DISABLE_PARAMETER_SNIFFING" => Obeyed,
        "DISABLE_ROW_MODE_MEMORY_GRANT_FEEDBACK" => Advice,
        "DISABLE_TSQL_SCALAR_UDF_INLINING" => Advice,
        "DISALLOW_BATCH_MODE" => Advice,
        "ENABLE_HIST_AMENDMENT_FOR_ASC_KEYS" => Advice,
        "ENABLE_QUERY_OPTIMIZER_HOTFIXES" => Advice,
        "FORCE_DEFAULT_CARDINALITY_ESTIMATION" => Advice,
        "FORCE_LEGACY_CARDINALITY_ESTIMATION" => Advice,
        "QUERY_PLAN_PROFILE" => Refused,
    },
};

/// Table hints, at a source and at a target.
pub const TABLE_HINTS: Place = Place {
    name: "WITH of a table",
    unknown: Unknown::TableHint,
    joint: " ",
    words: words! {
        "FORCESCAN" => Obeyed,
        "FORCESEEK" => Obeyed,
        "HOLDLOCK" => Obeyed,
        "IGNORE_CONSTRAINTS" => Obeyed,
        "IGNORE_TRIGGERS" => Obeyed,
        "INDEX" => Obeyed,
        "KEEPDEFAULTS" => Obeyed,
        "KEEPIDENTITY" => Obeyed,
        "NOEXPAND" => Obeyed,
        "NOLOCK" => Obeyed,
        "NOWAIT" => Obeyed,
        "PAGLOCK" => Refused,
        "READCOMMITTED" => Obeyed,
        "READCOMMITTEDLOCK" => Obeyed,
        "READPAST" => Obeyed,
        "READUNCOMMITTED" => Obeyed,
        "REPEATABLEREAD" => Obeyed,
        "ROWLOCK" => Obeyed,
        "SERIALIZABLE" => Obeyed,
        "SNAPSHOT" => Refused,
        "SPATIAL_WINDOW_MAX_CELLS" => Refused,
        "TABLOCK" => Obeyed,
        "TABLOCKX" => Obeyed,
        "UPDLOCK" => Obeyed,
        "XLOCK" => Obeyed,
    },
};

/// WITH of CREATE INDEX, and of the index behind a key.
pub const INDEX_OPTIONS: Place = Place {
    name: "CREATE INDEX WITH",
    unknown: Unknown::Option("CREATE INDEX"),
    joint: " = ",
    words: words! {
        "ALLOW_PAGE_LOCKS" => Obeyed,
        "ALLOW_ROW_LOCKS" => Obeyed,
        "COMPRESSION_DELAY" => Refused,
        "DATA_COMPRESSION" => Only(&["NONE"]),
        "DROP_EXISTING" => Obeyed,
        "FILLFACTOR" => Obeyed,
        "IGNORE_DUP_KEY" => Obeyed,
        "MAXDOP" => Advice,
        "MAX_DURATION" => Refused,
        "ONLINE" => OFF,
        "OPTIMIZE_FOR_SEQUENTIAL_KEY" => Obeyed,
        "PAD_INDEX" => Obeyed,
        "RESUMABLE" => OFF,
        "SORT_IN_TEMPDB" => Advice,
        "STATISTICS_INCREMENTAL" => OFF,
        "STATISTICS_NORECOMPUTE" => Obeyed,
        "XML_COMPRESSION" => OFF,
    },
};

/// SET of ALTER INDEX.
pub const ALTER_INDEX_SET: Place = Place {
    name: "ALTER INDEX SET",
    unknown: Unknown::Option("ALTER INDEX"),
    joint: " = ",
    words: words! {
        "ALLOW_PAGE_LOCKS" => Obeyed,
        "ALLOW_ROW_LOCKS" => Obeyed,
        "COMPRESSION_DELAY" => Refused,
        "IGNORE_DUP_KEY" => Obeyed,
        "OPTIMIZE_FOR_SEQUENTIAL_KEY" => Obeyed,
        "STATISTICS_NORECOMPUTE" => Obeyed,
    },
};

/// WITH of CREATE TABLE.
pub const TABLE_OPTIONS: Place = Place {
    name: "CREATE TABLE WITH",
    unknown: Unknown::Option("CREATE TABLE"),
    joint: " = ",
    words: words! {
        "DATA_COMPRESSION" => Only(&["NONE"]),
        "DATA_DELETION" => OFF,
        "DURABILITY" => Only(&["SCHEMA_AND_DATA"]),
        "FILETABLE_COLLATE_FILENAME" => Refused,
        "FILETABLE_DIRECTORY" => Refused,
        "LEDGER" => OFF,
        "MEMORY_OPTIMIZED" => OFF,
        "REMOTE_DATA_ARCHIVE" => OFF,
        "SYSTEM_VERSIONING" => Obeyed,
        "XML_COMPRESSION" => OFF,
    },
};

/// What stands in parentheses behind SYSTEM_VERSIONING = ON.
pub const SYSTEM_VERSIONING_OPTIONS: Place = Place {
    name: "SYSTEM_VERSIONING = ON",
    unknown: Unknown::Syntax,
    joint: " = ",
    words: words! {
        "DATA_CONSISTENCY_CHECK" => Obeyed,
        "HISTORY_RETENTION_PERIOD" => Obeyed,
        "HISTORY_TABLE" => Obeyed,
    },
};

pub const ALTER_TABLE_SET: Place = Place {
    name: "ALTER TABLE SET",
    unknown: Unknown::Option("ALTER TABLE"),
    joint: " = ",
    words: words! {
        "DATA_DELETION" => OFF,
        "FILESTREAM_ON" => Refused,
        "FILETABLE_DIRECTORY" => Refused,
        "LOCK_ESCALATION" => Obeyed,
        "REMOTE_DATA_ARCHIVE" => OFF,
        "SYSTEM_VERSIONING" => Obeyed,
    },
};

/// WITH of ALTER COLUMN.
pub const ALTER_COLUMN_OPTIONS: Place = Place {
    name: "ALTER COLUMN WITH",
    unknown: Unknown::Option("ALTER TABLE"),
    joint: " = ",
    words: words! {
        "ONLINE" => OFF,
    },
};

/// WITH of DROP INDEX, and of what ALTER TABLE drops.
pub const DROP_INDEX_OPTIONS: Place = Place {
    name: "DROP INDEX WITH",
    unknown: Unknown::Option("DROP INDEX"),
    joint: " = ",
    words: words! {
        "MAXDOP" => Advice,
        "MOVE" => Refused,
        "ONLINE" => OFF,
        "WAIT_AT_LOW_PRIORITY" => Refused,
    },
};

/// WITH of ALTER INDEX REORGANIZE.
pub const REORGANIZE_OPTIONS: Place = Place {
    name: "REORGANIZE WITH",
    unknown: Unknown::Syntax,
    joint: " = ",
    words: words! {
        "COMPRESS_ALL_ROW_GROUPS" => Refused,
        // Pages of large values are compacted with the others, or there are none.
        "LOB_COMPACTION" => Advice,
    },
};

/// WITH of REBUILD, of a table and of an index.
pub const REBUILD_OPTIONS: Place = Place {
    name: "REBUILD WITH",
    unknown: Unknown::Option("ALTER INDEX REBUILD"),
    joint: " = ",
    words: words! {
        "ALLOW_PAGE_LOCKS" => Obeyed,
        "ALLOW_ROW_LOCKS" => Obeyed,
        "DATA_COMPRESSION" => Only(&["NONE"]),
        "FILLFACTOR" => Obeyed,
        "IGNORE_DUP_KEY" => Obeyed,
        "MAXDOP" => Advice,
        "MAX_DURATION" => Refused,
        "ONLINE" => OFF,
        "PAD_INDEX" => Obeyed,
        "RESUMABLE" => OFF,
        "SORT_IN_TEMPDB" => Advice,
        "STATISTICS_INCREMENTAL" => OFF,
        "STATISTICS_NORECOMPUTE" => Obeyed,
        "XML_COMPRESSION" => OFF,
    },
};

/// WITH of REBUILD PARTITION = number (sql-docs, "ALTER INDEX", `single_partition_rebuild_index_option`).
pub const REBUILD_PARTITION_OPTIONS: Place = Place {
    name: "REBUILD PARTITION = number WITH",
    unknown: Unknown::Option("ALTER INDEX REBUILD PARTITION"),
    joint: " = ",
    words: words! {
        "DATA_COMPRESSION" => Only(&["NONE"]),
        "MAXDOP" => Advice,
        "MAX_DURATION" => Refused,
        "ONLINE" => OFF,
        "RESUMABLE" => OFF,
        "SORT_IN_TEMPDB" => Advice,
        "XML_COMPRESSION" => OFF,
    },
};

/// WITH of CREATE DATABASE.
pub const DATABASE_WITH: Place = Place {
    name: "CREATE DATABASE WITH",
    unknown: Unknown::Option("CREATE DATABASE"),
    joint: " = ",
    words: words! {
        "CATALOG_COLLATION" => Refused,
        "DB_CHAINING" => OFF,
        "DEFAULT_FULLTEXT_LANGUAGE" => Refused,
        "DEFAULT_LANGUAGE" => Refused,
        "ENABLE_BROKER" => Refused,
        "ERROR_BROKER_CONVERSATIONS" => Refused,
        "FILESTREAM" => Only(&["(NON_TRANSACTED_ACCESS = OFF)"]),
        "LEDGER" => OFF,
        "NESTED_TRIGGERS" => Refused,
        "NEW_BROKER" => Refused,
        "PERSISTENT_LOG_BUFFER" => Refused,
        "RESTRICTED_USER" => Refused,
        "TRANSFORM_NOISE_WORDS" => Refused,
        "TRUSTWORTHY" => OFF,
        "TWO_DIGIT_YEAR_CUTOFF" => Refused,
    },
};

/// SET of ALTER DATABASE.
pub const DATABASE_SET: Place = Place {
    name: "ALTER DATABASE SET",
    unknown: Unknown::Syntax,
    joint: " ",
    words: words! {
        "ACCELERATED_DATABASE_RECOVERY" => Obeyed,
        "ALLOW_SNAPSHOT_ISOLATION" => Obeyed,
        // What a session has not set for itself; every client sets these for itself.
        "ANSI_NULLS" => OFF,
        "ANSI_NULL_DEFAULT" => OFF,
        "ANSI_PADDING" => OFF,
        "ANSI_WARNINGS" => OFF,
        "ARITHABORT" => OFF,
        "AUTOMATIC_TUNING" => Refused,
        "AUTO_CLOSE" => OFF,
        "AUTO_CREATE_STATISTICS" => Obeyed,
        "AUTO_SHRINK" => OFF,
        "AUTO_UPDATE_STATISTICS" => Obeyed,
        "AUTO_UPDATE_STATISTICS_ASYNC" => Obeyed,
        "CHANGE_TRACKING" => OFF,
        "COMPATIBILITY_LEVEL" => Obeyed,
        "CONCAT_NULL_YIELDS_NULL" => OFF,
        "CONTAINMENT" => Only(&["NONE"]),
        "CURSOR_CLOSE_ON_COMMIT" => OFF,
        "CURSOR_DEFAULT" => Only(&["GLOBAL"]),
        "DATE_CORRELATION_OPTIMIZATION" => Advice,
        "DB_CHAINING" => OFF,
        "DEFAULT_FULLTEXT_LANGUAGE" => Refused,
        "DEFAULT_LANGUAGE" => Refused,
        "DELAYED_DURABILITY" => Only(&["DISABLED"]),
        "DISABLE_BROKER" => BARE,
        "EMERGENCY" => Obeyed,
        "ENABLE_BROKER" => Refused,
        "ENCRYPTION" => OFF_WHEN_RUN,
        "ERROR_BROKER_CONVERSATIONS" => Refused,
        "FILESTREAM" => Only(&["(NON_TRANSACTED_ACCESS = OFF)"]),
        "HADR" => OFF_WHEN_RUN,
        "HONOR_BROKER_PRIORITY" => OFF,
        "LEDGER" => OFF,
        "MEMORY_OPTIMIZED_ELEVATE_TO_SNAPSHOT" => OFF,
        "MIXED_PAGE_ALLOCATION" => OFF,
        "MULTI_USER" => Obeyed,
        "NESTED_TRIGGERS" => Refused,
        "NEW_BROKER" => Refused,
        "NUMERIC_ROUNDABORT" => OFF,
        "OFFLINE" => Obeyed,
        "ONLINE" => Obeyed,
        "OPTIMIZED_LOCKING" => OFF,
        "PAGE_VERIFY" => Only(&["CHECKSUM"]),
        "PARAMETERIZATION" => Obeyed,
        "PARTNER" => Refused,
        "PERSISTENT_LOG_BUFFER" => OFF,
        "QUERY_STORE" => OFF,
        "QUOTED_IDENTIFIER" => OFF,
        "READ_COMMITTED_SNAPSHOT" => Obeyed,
        "READ_ONLY" => Obeyed,
        "READ_WRITE" => Obeyed,
        "RECOVERY" => Obeyed,
        "RECURSIVE_TRIGGERS" => Obeyed,
        "REMOTE_DATA_ARCHIVE" => OFF,
        "RESTRICTED_USER" => Obeyed,
        "SINGLE_USER" => Obeyed,
        // What it is follows from the log policy (`system::administration::options` of tsql).
        "TARGET_RECOVERY_TIME" => OnlyWhenRun(&["= 60 SECONDS", "= 0 SECONDS"], 5058),
        // History whose retention is over goes when `sp_cleanup_temporal_history` is called, and not by itself.
        "TEMPORAL_HISTORY_RETENTION" => OFF,
        "TORN_PAGE_DETECTION" => OFF,
        "TRANSFORM_NOISE_WORDS" => Refused,
        "TRUSTWORTHY" => OFF,
        "TWO_DIGIT_YEAR_CUTOFF" => Refused,
        "WITNESS" => Refused,
    },
};

/// SET of ALTER DATABASE SCOPED CONFIGURATION, and CLEAR.
pub const SCOPED_CONFIGURATIONS: Place = Place {
    name: "ALTER DATABASE SCOPED CONFIGURATION",
    unknown: Unknown::Syntax,
    joint: " = ",
    words: words! {
        "ACCELERATED_PLAN_FORCING" => ON,
        "BATCH_MODE_ADAPTIVE_JOINS" => ON,
        "BATCH_MODE_MEMORY_GRANT_FEEDBACK" => ON,
        "BATCH_MODE_ON_ROWSTORE" => ON,
        "CLEAR PROCEDURE_CACHE" => Obeyed,
        "DEFERRED_COMPILATION_TV" => ON,
        "DOP_FEEDBACK" => OFF,
        "ELEVATE_ONLINE" => OFF,
        "ELEVATE_RESUMABLE" => OFF,
        "GLOBAL_TEMPORARY_TABLE_AUTO_DROP" => ON,
        "IDENTITY_CACHE" => ON,
        "INTERLEAVED_EXECUTION_TVF" => ON,
        "ISOLATE_SECURITY_POLICY_CARDINALITY" => OFF,
        "LAST_QUERY_PLAN_STATS" => OFF,
        "LEGACY_CARDINALITY_ESTIMATION" => OFF,
        "LIGHTWEIGHT_QUERY_PROFILING" => ON,
        "MAXDOP" => Only(&["0"]),
        "OPTIMIZE_FOR_AD_HOC_WORKLOADS" => OFF,
        "PARAMETER_SNIFFING" => ON,
        "PAUSED_RESUMABLE_INDEX_ABORT_DURATION_MINUTES" => Refused,
        "QUERY_OPTIMIZER_HOTFIXES" => OFF,
        "ROW_MODE_MEMORY_GRANT_FEEDBACK" => ON,
        "TSQL_SCALAR_UDF_INLINING" => ON,
        "VERBOSE_TRUNCATION_WARNINGS" => ON,
        "XTP_PROCEDURE_EXECUTION_STATISTICS" => OFF,
        "XTP_QUERY_EXECUTION_STATISTICS" => OFF,
    },
};

pub const BACKUP_OPTIONS: Place = Place {
    name: "BACKUP WITH",
    unknown: Unknown::Option("BACKUP"),
    joint: " = ",
    words: words! {
        "BLOCKSIZE" => Advice,
        "BUFFERCOUNT" => Advice,
        "CHECKSUM" => Obeyed,
        "COMPRESSION" => Obeyed,
        "CONTINUE_AFTER_ERROR" => Refused,
        "COPY_ONLY" => Obeyed,
        "CREDENTIAL" => Refused,
        "DESCRIPTION" => Obeyed,
        "DIFFERENTIAL" => Obeyed,
        "ENCRYPTION" => Refused,
        "EXPIREDATE" => Refused,
        "FORMAT" => Obeyed,
        "INIT" => Obeyed,
        "MAXTRANSFERSIZE" => Advice,
        "MEDIADESCRIPTION" => Refused,
        "MEDIANAME" => Obeyed,
        "MEDIAPASSWORD" => Refused,
        "NAME" => Obeyed,
        "NOFORMAT" => BARE,
        "NOINIT" => BARE,
        "NORECOVERY" => Obeyed,
        "NOREWIND" => BARE,
        "NORESTART" => BARE,
        "NOSKIP" => BARE,
        "NOUNLOAD" => BARE,
        "NO_CHECKSUM" => BARE,
        "NO_COMPRESSION" => Obeyed,
        "NO_TRUNCATE" => Obeyed,
        "PASSWORD" => Refused,
        // A backup that was broken off leaves nothing to go on with.
        "RESTART" => BARE,
        "RETAINDAYS" => Refused,
        // Tapes alone are rewound and unloaded.
        "REWIND" => BARE,
        "SKIP" => BARE,
        "STANDBY" => Refused,
        "STATS" => Obeyed,
        "STOP_ON_ERROR" => BARE,
        "UNLOAD" => BARE,
    },
};

/// WITH of RESTORE, all kinds.
pub const RESTORE_OPTIONS: Place = Place {
    name: "RESTORE WITH",
    unknown: Unknown::Option("RESTORE"),
    joint: " = ",
    words: words! {
        "BLOCKSIZE" => Advice,
        "BUFFERCOUNT" => Advice,
        "CHECKSUM" => Obeyed,
        "CONTINUE_AFTER_ERROR" => Refused,
        "CREDENTIAL" => Refused,
        "ENABLE_BROKER" => Refused,
        "ERROR_BROKER_CONVERSATIONS" => Refused,
        "FILE" => Obeyed,
        "KEEP_CDC" => Refused,
        "KEEP_REPLICATION" => Refused,
        "LOADHISTORY" => Refused,
        "MAXTRANSFERSIZE" => Advice,
        "MEDIANAME" => Refused,
        "MEDIAPASSWORD" => Refused,
        "METADATA_ONLY" => Refused,
        "NEW_BROKER" => Refused,
        "NORECOVERY" => Obeyed,
        "NOREWIND" => BARE,
        "NOUNLOAD" => BARE,
        "NO_CHECKSUM" => BARE,
        "PARTIAL" => Refused,
        "PASSWORD" => Refused,
        "RECOVERY" => Obeyed,
        "REPLACE" => Obeyed,
        "RESTART" => BARE,
        "RESTRICTED_USER" => Refused,
        "REWIND" => BARE,
        "STANDBY" => Obeyed,
        "STATS" => Obeyed,
        "STOPAT" => Obeyed,
        "STOPATMARK" => Obeyed,
        "STOPBEFOREMARK" => Obeyed,
        "STOP_ON_ERROR" => BARE,
        "UNLOAD" => BARE,
    },
};

pub const DBCC_COMMANDS: Place = Place {
    name: "DBCC",
    unknown: Unknown::Dbcc,
    joint: " ",
    words: words! {
        "CHECKALLOC" => Obeyed,
        "CHECKCATALOG" => Obeyed,
        "CHECKCONSTRAINTS" => Refused,
        "CHECKDB" => Obeyed,
        "CHECKFILEGROUP" => Obeyed,
        "CHECKIDENT" => Obeyed,
        "CHECKTABLE" => Obeyed,
        "CLEANTABLE" => Refused,
        "CLONEDATABASE" => Obeyed,
        "DBINFO" => Obeyed,
        "DBREINDEX" => Refused,
        "DBTABLE" => Refused,
        "DROPCLEANBUFFERS" => Obeyed,
        "ERRORLOG" => Obeyed,
        "EXTENTINFO" => Refused,
        "FILEHEADER" => Refused,
        "FLUSHAUTHCACHE" => Refused,
        "FREEPROCCACHE" => Obeyed,
        // Connections to other servers: there are none.
        "FREESESSIONCACHE" => Advice,
        "FREESYSTEMCACHE" => Obeyed,
        "HELP" => Refused,
        "IND" => Obeyed,
        "INDEXDEFRAG" => Refused,
        "INPUTBUFFER" => Obeyed,
        "LOG" => Obeyed,
        "LOGINFO" => Obeyed,
        "MEMORYSTATUS" => Refused,
        "OPENTRAN" => Obeyed,
        "OUTPUTBUFFER" => Refused,
        "PAGE" => Obeyed,
        "PROCCACHE" => Refused,
        // Undocumented, and the names of rules are our own.
        "RULEOFF" => Obeyed,
        "RULEON" => Obeyed,
        "SHOWCONTIG" => Refused,
        "SHOWFILESTATS" => Refused,
        "SHOWOFFRULES" => Obeyed,
        "SHOWONRULES" => Obeyed,
        "SHOW_STATISTICS" => Obeyed,
        "SHRINKDATABASE" => Obeyed,
        "SHRINKFILE" => Obeyed,
        "SQLPERF" => Obeyed,
        "TRACEOFF" => Obeyed,
        "TRACEON" => Obeyed,
        "TRACESTATUS" => Obeyed,
        // Counts of pages and rows are kept right as they change.
        "UPDATEUSAGE" => Advice,
        "USEROPTIONS" => Obeyed,
    },
};

pub const DBCC_OPTIONS: Place = Place {
    name: "DBCC WITH",
    unknown: Unknown::Syntax,
    joint: " = ",
    words: words! {
        "ALL_ERRORMSGS" => BARE,
        "BACKUP_CLONEDB" => Obeyed,
        "COUNT_ROWS" => Advice,
        "DATA_PURITY" => Refused,
        "DENSITY_VECTOR" => Obeyed,
        "ESTIMATEONLY" => Refused,
        "EXTENDED_LOGICAL_CHECKS" => Refused,
        "HISTOGRAM" => Obeyed,
        "MARK_IN_USE_FOR_REMOVAL" => Advice,
        "MAXDOP" => Advice,
        "NO_INFOMSGS" => Obeyed,
        // The query store keeps nothing in the database, so a clone never has any of it.
        "NO_QUERYSTORE" => Obeyed,
        "NO_STATISTICS" => Obeyed,
        // The whole check is made: it finds what the physical one finds.
        "PHYSICAL_ONLY" => Advice,
        // No database has objects of Service Broker, so a clone has them all.
        "SERVICEBROKER" => Obeyed,
        "STATS_STREAM" => Refused,
        "STAT_HEADER" => Obeyed,
        "TABLERESULTS" => Obeyed,
        // Tables are locked either way.
        "TABLOCK" => Advice,
        "VERIFY_CLONEDB" => Obeyed,
    },
};

pub const CREATE_STATISTICS: Place = Place {
    name: "CREATE STATISTICS WITH",
    unknown: Unknown::Option("CREATE STATISTICS"),
    joint: " = ",
    words: words! {
        // Statistics are dropped with a column that ALTER TABLE drops only where the server made them.
        "AUTO_DROP" => OFF,
        "FULLSCAN" => Obeyed,
        "INCREMENTAL" => OFF,
        "MAXDOP" => Advice,
        "NORECOMPUTE" => Obeyed,
        "PERSIST_SAMPLE_PERCENT" => OFF,
        "SAMPLE" => Obeyed,
        "STATS_STREAM" => Refused,
    },
};

pub const UPDATE_STATISTICS: Place = Place {
    name: "UPDATE STATISTICS WITH",
    unknown: Unknown::Option("UPDATE STATISTICS"),
    joint: " = ",
    words: words! {
        "ALL" => Obeyed,
        "AUTO_DROP" => OFF,
        "COLUMNS" => Obeyed,
        "FULLSCAN" => Obeyed,
        "INCREMENTAL" => OFF,
        "INDEX" => Obeyed,
        "MAXDOP" => Advice,
        "NORECOMPUTE" => Obeyed,
        "PAGECOUNT" => Obeyed,
        "PERSIST_SAMPLE_PERCENT" => OFF,
        "RESAMPLE" => Obeyed,
        "ROWCOUNT" => Obeyed,
        "SAMPLE" => Obeyed,
        "STATS_STREAM" => Refused,
    },
};

/// DBCC TRACEON: the flags that something here obeys (`engine::activity`).
pub const TRACE_FLAGS: Place = Place {
    name: "DBCC TRACEON",
    unknown: Unknown::TraceFlag,
    joint: " ",
    words: words! {
        "2536" => Obeyed,
        "2537" => Obeyed,
        "3004" => Obeyed,
        "3604" => Obeyed,
        "3605" => Obeyed,
        "8605" => Obeyed,
        "8606" => Obeyed,
        "8607" => Obeyed,
        "8619" => Obeyed,
        "8621" => Obeyed,
    },
};

/// DECLARE ... CURSOR, the words between CURSOR and FOR. Those of the ISO form stand before CURSOR.
pub const CURSOR_OPTIONS: Place = Place {
    name: "DECLARE CURSOR",
    unknown: Unknown::Option("CURSOR"),
    joint: " ",
    words: words! {
        "DYNAMIC" => Obeyed,
        "FAST_FORWARD" => Obeyed,
        "FORWARD_ONLY" => Obeyed,
        "GLOBAL" => BARE,
        "KEYSET" => Obeyed,
        "LOCAL" => Obeyed,
        "OPTIMISTIC" => Obeyed,
        "READ_ONLY" => Obeyed,
        "SCROLL" => Obeyed,
        "SCROLL_LOCKS" => Obeyed,
        "STATIC" => Obeyed,
        "TYPE_WARNING" => Obeyed,
    },
};

/// Whose rights a module has. There is one login, which is `dbo` everywhere and owns everything.
const EXECUTE_AS: &[&str] = &["CALLER", "OWNER", "SELF", "'dbo'"];

/// WITH of CREATE PROCEDURE.
pub const PROCEDURE_OPTIONS: Place = Place {
    name: "CREATE PROCEDURE WITH",
    unknown: Unknown::Option("CREATE PROCEDURE"),
    joint: " ",
    words: words! {
        "ENCRYPTION" => Refused,
        "EXECUTE AS" => Only(EXECUTE_AS),
        "NATIVE_COMPILATION" => Refused,
        "RECOMPILE" => Obeyed,
        "SCHEMABINDING" => Refused,
    },
};

/// WITH of CREATE FUNCTION.
pub const FUNCTION_OPTIONS: Place = Place {
    name: "CREATE FUNCTION WITH",
    unknown: Unknown::Option("CREATE FUNCTION"),
    joint: " ",
    words: words! {
        "CALLED ON NULL INPUT" => BARE,
        "ENCRYPTION" => Refused,
        "EXECUTE AS" => Only(EXECUTE_AS),
        "INLINE" => Advice,
        "NATIVE_COMPILATION" => Refused,
        "RETURNS NULL ON NULL INPUT" => Obeyed,
        "SCHEMABINDING" => Obeyed,
    },
};

/// WITH of CREATE TRIGGER.
pub const TRIGGER_OPTIONS: Place = Place {
    name: "CREATE TRIGGER WITH",
    unknown: Unknown::Option("CREATE TRIGGER"),
    joint: " ",
    words: words! {
        "ENCRYPTION" => Refused,
        "EXECUTE AS" => Only(EXECUTE_AS),
        "NATIVE_COMPILATION" => Refused,
        "SCHEMABINDING" => Refused,
    },
};

/// WITH of CREATE VIEW.
pub const VIEW_OPTIONS: Place = Place {
    name: "CREATE VIEW WITH",
    unknown: Unknown::Option("CREATE VIEW"),
    joint: " ",
    words: words! {
        "ENCRYPTION" => Refused,
        "SCHEMABINDING" => Obeyed,
        "VIEW_METADATA" => Refused,
    },
};

pub const INSERT_BULK_OPTIONS: Place = Place {
    name: "INSERT BULK",
    unknown: Unknown::Syntax,
    joint: " = ",
    words: words! {
        "CHECK_CONSTRAINTS" => Obeyed,
        "FIRE_TRIGGERS" => Obeyed,
        "KEEP_NULLS" => Obeyed,
        "KILOBYTES_PER_BATCH" => Advice,
        "ORDER" => Obeyed,
        "ROWS_PER_BATCH" => Advice,
        "TABLOCK" => Obeyed,
    },
};

/// The code pages that files of rows are read in.
const CODE_PAGES: &[&str] = &["ACP", "RAW", "1252", "65001"];

/// WITH of BULK INSERT.
pub const BULK_INSERT_OPTIONS: Place = Place {
    name: "BULK INSERT WITH",
    unknown: Unknown::Syntax,
    joint: " = ",
    words: words! {
        "BATCHSIZE" => Obeyed,
        "CHECK_CONSTRAINTS" => Obeyed,
        "CODEPAGE" => Only(CODE_PAGES),
        "DATAFILETYPE" => Obeyed,
        "DATA_SOURCE" => Refused,
        "ERRORFILE" => Obeyed,
        "ERRORFILE_DATA_SOURCE" => Refused,
        "FIELDQUOTE" => Obeyed,
        "FIELDTERMINATOR" => Obeyed,
        "FIRE_TRIGGERS" => Obeyed,
        "FIRSTROW" => Obeyed,
        "FORMAT" => Only(&["CSV"]),
        "FORMATFILE" => Obeyed,
        "FORMATFILE_DATA_SOURCE" => Refused,
        "KEEPIDENTITY" => Obeyed,
        "KEEPNULLS" => Obeyed,
        "KILOBYTES_PER_BATCH" => Advice,
        "LASTROW" => Obeyed,
        "MAXERRORS" => Obeyed,
        "ORDER" => Obeyed,
        "ROWS_PER_BATCH" => Advice,
        "ROWTERMINATOR" => Obeyed,
        "TABLOCK" => Obeyed,
    },
};

/// What stands behind the file of OPENROWSET(BULK ...).
pub const OPENROWSET_OPTIONS: Place = Place {
    name: "OPENROWSET(BULK ...)",
    unknown: Unknown::Syntax,
    joint: " = ",
    words: words! {
        "CODEPAGE" => Only(CODE_PAGES),
        "DATAFILETYPE" => Refused,
        "DATA_SOURCE" => Refused,
        "ERRORFILE" => Refused,
        "ERRORFILE_DATA_SOURCE" => Refused,
        "FIELDQUOTE" => Refused,
        "FIELDTERMINATOR" => Refused,
        "FIRSTROW" => Obeyed,
        "FORMAT" => Refused,
        "FORMATFILE" => Obeyed,
        "FORMATFILE_DATA_SOURCE" => Refused,
        "LASTROW" => Obeyed,
        "MAXERRORS" => Refused,
        "ORDER" => Refused,
        "ROWS_PER_BATCH" => Advice,
        "ROWTERMINATOR" => Refused,
        "SINGLE_BLOB" => Obeyed,
        "SINGLE_CLOB" => Obeyed,
        "SINGLE_NCLOB" => Obeyed,
    },
};
