//! A snapshot of a server's logs: the input of [`crate::advice`], from any source.
//!
//! ```text
//! live server --> Gathering (queries as data, answers) --.
//! pasted rows --------------------------------------------> Snapshot --> advice
//! .ldf --> Inspection ------------------------------------'    |
//!                                                              `--> one JSON file, and back
//! ```
//! Everything that could not be read is part of it, with the reason ([`NotRead`]): a missing row is never taken as a result.
//!
//! The JSON file has a version, and its names are a contract: fields are added, never renamed. There is no text of statements, no password
//! and no row of a user's table in it; names of servers, databases, files, logins, hosts and programs are.
//!
//! - [`query`]: the queries, as data
//! - [`gather`]: their order, and the evaluation of the answers
//! - `rows`: rows to facts
//! - [`Moment`]: the server's clock

pub mod gather;
mod moment;
mod offline;
pub mod query;
mod rows;

use serde::{Deserialize, Serialize};
use vlf::{LogLayout, Lsn, ServerVersion};

pub use gather::{Answer, Counts, Gathering, Refusal, Request, Rows};
pub use moment::Moment;
pub use offline::{of_inspection, of_text};
pub use query::Source;

use crate::pasted::layout_of_vlfs;
use crate::size::format_bytes;

/// Version of the JSON file. A file of a later one is refused.
pub const SNAPSHOT_VERSION: u32 = 1;

/// A server's logs at one time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// [`SNAPSHOT_VERSION`].
    pub snapshot_version: u32,
    pub origin: Origin,
    /// `host:port`, or the file that was read.
    pub name: String,
    pub server: ServerFacts,
    pub databases: Vec<DatabaseFacts>,
    /// Transactions under way that have logged something.
    #[serde(default)]
    pub transactions: Vec<TransactionFacts>,
    /// Transactions under way that read row versions, the oldest of which keeps them.
    #[serde(default)]
    pub snapshot_transactions: Vec<SnapshotTransactionFacts>,
    /// Long work under way: backups, restores, rollbacks, checks.
    #[serde(default)]
    pub works: Vec<WorkFacts>,
    /// Accumulated since the server started, the wait types that tell of logs.
    #[serde(default)]
    pub waits: Vec<WaitFacts>,
    /// Lines of the error log that tell of logs.
    #[serde(default)]
    pub error_log: Vec<ErrorLogLine>,
    /// Growths and shrinks that the server remembers.
    #[serde(default)]
    pub growths: Vec<GrowthSeen>,
    /// Jobs that read logs: change data capture, log readers of replication.
    #[serde(default)]
    pub jobs: Vec<JobFacts>,
    /// What could not be read.
    #[serde(default)]
    pub not_read: Vec<NotRead>,
}

/// Where a snapshot came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    #[default]
    Server,
    /// Pasted or saved rows.
    Pasted,
    /// A log file on disk.
    File,
}

/// The server itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerFacts {
    /// `@@SERVERNAME`.
    pub name: String,
    /// `16.0.4135.4`; empty = not known.
    pub product_version: String,
    pub edition: String,
    /// `SERVERPROPERTY('EngineEdition')`: 5 Azure SQL Database, 8 Managed Instance.
    pub engine_edition: Option<i64>,
    /// Its clock when the snapshot began.
    pub clock: Option<Moment>,
    pub started: Option<Moment>,
    /// The login that asked.
    pub login: String,
    /// Whether the service may grow data files without writing zeros; a log's growths up to 64 MB need no such right from 2022 on.
    pub instant_initialization: Option<bool>,
}

/// Which kind of service a server is, as far as its logs are run differently there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    SqlServer,
    AzureSqlDatabase,
    ManagedInstance,
    /// Amazon RDS, known by its name or by the database `rdsadmin`.
    Rds,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DatabaseFacts {
    pub database_id: i64,
    pub name: String,
    /// `state_desc`; empty = not known.
    pub state: String,
    pub recovery_model: String,
    /// `log_reuse_wait_desc`: the last known reason.
    pub reuse_wait: String,
    /// Set for a database snapshot.
    pub source_database_id: Option<i64>,
    pub is_read_only: bool,
    pub is_in_standby: bool,
    pub is_auto_shrink_on: bool,
    pub is_published: bool,
    pub is_cdc_enabled: bool,
    pub is_accelerated_recovery_on: bool,
    /// `delayed_durability_desc`; empty = not known.
    pub delayed_durability: String,
    /// Whether it belongs to an availability group.
    pub is_in_availability_group: bool,
    /// `HAS_DBACCESS`.
    pub is_accessible: Option<bool>,
    pub log_files: Vec<LogFile>,
    /// Size of its data files.
    pub data_bytes: Option<u64>,
    /// Folders and names of its data files.
    #[serde(default)]
    pub data_paths: Vec<String>,
    pub marks: LogMarks,
    pub space: LogSpace,
    pub backups: BackupFacts,
    #[serde(default)]
    pub replicas: Vec<ReplicaFacts>,
    pub mirroring: Option<MirroringFacts>,
    /// Of accelerated database recovery; `None` = it is off, or not known.
    #[serde(default)]
    pub persistent_versions: Option<PersistentVersionFacts>,
    /// Its part of the version store in tempdb.
    #[serde(default)]
    pub version_store_bytes: Option<u64>,
}

/// What a database keeps for accelerated recovery (`sys.dm_tran_persistent_version_store_stats`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PersistentVersionFacts {
    pub bytes: u64,
    /// Transactions that were rolled back and are not cleaned up.
    pub aborted: u64,
    /// When the oldest of these began (`sys.dm_tran_aborted_transactions`).
    pub oldest_aborted_begun: Option<Moment>,
    /// When the cleaner's last sweep through aborted transactions began.
    pub cleaner_begun: Option<Moment>,
    /// When it ended; `None` beside a begin = it goes on.
    pub cleaner_ended: Option<Moment>,
}

/// A transaction that reads row versions (`sys.dm_tran_active_snapshot_database_transactions`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SnapshotTransactionFacts {
    pub transaction_id: i64,
    /// Seconds since its first snapshot.
    pub elapsed_s: u64,
    pub session: Option<SessionFacts>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LogFile {
    pub file_id: i64,
    /// Logical name.
    pub name: String,
    pub path: String,
    pub bytes: u64,
    /// MAXSIZE; `None` = as far as the volume has room.
    pub bytes_max: Option<u64>,
    pub growth: FileGrowth,
    /// In the order of the file; empty = not read.
    #[serde(default)]
    pub vlfs: Vec<VlfFacts>,
    pub volume: Option<Volume>,
    pub writes: Option<WriteFacts>,
    /// What reading the file itself found.
    pub inspection: Option<InspectionFacts>,
}

/// FILEGROWTH.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileGrowth {
    #[default]
    NotKnown,
    /// It does not grow by itself.
    None,
    Bytes(u64),
    Percent(u32),
}

impl std::fmt::Display for FileGrowth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FileGrowth::NotKnown => f.write_str("not known"),
            FileGrowth::None => f.write_str("off"),
            FileGrowth::Bytes(bytes) => f.write_str(&format_bytes(*bytes)),
            FileGrowth::Percent(percent) => write!(f, "{percent} %"),
        }
    }
}

/// A VLF as views show it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VlfFacts {
    pub offset: u64,
    pub bytes: u64,
    /// `FSeqNo`; 0 = never used, or not known.
    pub sequence: u32,
    /// 0 reusable, 1 never used, 2 active, 4 growth not yet redone on a secondary replica.
    pub status: u8,
    /// What tells growths apart.
    #[serde(default)]
    pub create_lsn: String,
}

/// The room a file's volume has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volume {
    pub mount_point: String,
    pub total_bytes: u64,
    pub free_bytes: u64,
}

/// Writes to a file since the server started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteFacts {
    pub writes: u64,
    pub bytes: u64,
    /// Milliseconds that writers waited in all.
    pub stall_ms: u64,
}

/// What [`crate::Inspection`] found, as far as a snapshot keeps it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InspectionFacts {
    pub damage_count: u64,
    pub blocks: u64,
    pub records: u64,
    #[serde(with = "lsn_text")]
    pub last_record: Option<Lsn>,
    #[serde(with = "lsn_text")]
    pub last_checkpoint: Option<Lsn>,
}

/// Places in the log that matter (`sys.dm_db_log_stats`, `sys.database_recovery_status`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LogMarks {
    /// The oldest record that is needed.
    #[serde(with = "lsn_text")]
    pub minimum: Option<Lsn>,
    #[serde(with = "lsn_text")]
    pub end: Option<Lsn>,
    #[serde(with = "lsn_text")]
    pub checkpoint: Option<Lsn>,
    #[serde(with = "lsn_text")]
    pub recovery: Option<Lsn>,
    /// What recovery would read.
    pub recovery_bytes: Option<u64>,
    pub since_checkpoint_bytes: Option<u64>,
    pub since_log_backup_bytes: Option<u64>,
    /// The time of the last log backup, as the database itself knows it.
    pub log_backup: Option<Moment>,
    /// Whether its chain of log backups has begun (`last_log_backup_lsn` is there); `None` = not known.
    pub chain_has_begun: Option<bool>,
    /// Where that chain is, as the database itself knows it; it changes with each log backup.
    #[serde(default)]
    pub last_log_backup_lsn: Option<String>,
    /// VLFs, and those of them in use, by the server's own count.
    #[serde(default)]
    pub vlf_count: Option<u64>,
    #[serde(default)]
    pub active_vlf_count: Option<u64>,
}

/// How much of the log is used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogSpace {
    pub total_bytes: Option<u64>,
    pub used_bytes: Option<u64>,
    /// Growths since the server started.
    pub growths: Option<u64>,
    /// Shrinks since the server started.
    pub shrinks: Option<u64>,
}

/// What msdb remembers of a database's backups.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BackupFacts {
    /// Whether msdb was read: no row is then no backup.
    pub is_known: bool,
    pub last_full: Option<Moment>,
    pub last_log: Option<Moment>,
    /// Log backups of the last seven days.
    pub log_backups_7d: u64,
    pub log_bytes_7d: u64,
    /// The largest of them.
    pub log_bytes_largest_7d: u64,
    /// Where the last log backup went.
    pub last_log_device: Option<String>,
    pub last_full_device: Option<String>,
}

/// A transaction under way in one database.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TransactionFacts {
    pub transaction_id: i64,
    pub database_id: i64,
    pub name: String,
    pub begun: Option<Moment>,
    #[serde(with = "lsn_text")]
    pub begin_lsn: Option<Lsn>,
    pub log_bytes: u64,
    /// Kept free for its rollback.
    pub reserved_bytes: u64,
    /// `transaction_type`: 1 read/write, 2 read-only, 3 the system's, 4 distributed.
    pub kind: i64,
    /// `transaction_state`: 5 = prepared, waiting for its coordinator.
    pub state: i64,
    /// The unit of work of a distributed transaction.
    pub unit_of_work: Option<String>,
    pub session: Option<SessionFacts>,
}

/// The session of a transaction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionFacts {
    pub session_id: i64,
    pub login: String,
    pub host: String,
    pub program: String,
    /// `running`, `sleeping`, ...
    pub status: String,
    pub last_request_end: Option<Moment>,
    /// The command of its request, when it has one.
    pub command: Option<String>,
    pub wait_type: Option<String>,
    /// The session it waits for.
    pub blocked_by: Option<i64>,
}

/// A request that does long work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkFacts {
    pub session_id: i64,
    pub database_id: i64,
    pub command: String,
    pub begun: Option<Moment>,
    pub percent: f64,
    pub milliseconds_left: u64,
}

/// A replica of a database.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplicaFacts {
    pub server: String,
    pub is_local: bool,
    pub is_primary: Option<bool>,
    /// `SYNCHRONIZED`, `NOT SYNCHRONIZING`, ...
    pub synchronization: String,
    /// `SYNCHRONOUS_COMMIT` or `ASYNCHRONOUS_COMMIT`; empty = not known.
    pub availability_mode: String,
    pub is_suspended: bool,
    /// Log the primary has still to send, and the replica to redo.
    pub send_queue_bytes: u64,
    pub redo_queue_bytes: u64,
    #[serde(with = "lsn_text")]
    pub last_hardened: Option<Lsn>,
}

/// Mirroring of a database.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MirroringFacts {
    pub state: String,
    pub role: String,
    pub partner: String,
}

/// A wait type's totals.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitFacts {
    pub wait_type: String,
    pub waits: u64,
    pub milliseconds: u64,
}

/// A line of the error log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ErrorLogLine {
    pub at: Option<Moment>,
    pub text: String,
}

/// A growth or a shrink that the default trace has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GrowthSeen {
    pub database: String,
    pub is_log: bool,
    pub is_shrink: bool,
    pub bytes: u64,
    pub microseconds: u64,
    pub at: Option<Moment>,
}

/// A job of the Agent that reads a log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobFacts {
    pub name: String,
    /// `REPL-LogReader` has both log readers and change data capture.
    pub category: String,
    pub is_enabled: bool,
    pub is_running: bool,
    pub last_run: Option<Moment>,
    /// `run_status`: 0 failed, 1 succeeded, 3 cancelled.
    pub last_outcome: Option<i64>,
}

/// Something that could not be read, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotRead {
    /// What: [`Source::word`].
    pub source: String,
    pub database: Option<String>,
    /// SQL Server's error number, where that is the reason.
    pub number: Option<i64>,
    pub reason: String,
}

impl NotRead {
    /// Whether the server, by its version or service, or another source does not have it: no right, time or connection was missing.
    pub fn is_absent(&self) -> bool {
        let is_of_another_source = [NOT_IN_ROWS, NOT_IN_A_FILE].contains(&self.reason.as_str());
        matches!(self.number, Some(102 | 156 | 195 | 207 | 208 | 2812))
            || self.reason.starts_with(NOT_THERE)
            || is_of_another_source
    }
}

/// The reason where the snapshot is of pasted rows, or of a log file.
const NOT_IN_ROWS: &str = "pasted rows of VLFs do not have it";
const NOT_IN_A_FILE: &str = "a log file does not have it";
/// How the reason of what a server does not have begins.
const NOT_THERE: &str = "this server does not have it";

/// An LSN that may be there, as `20:217:747` in JSON.
mod lsn_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use vlf::Lsn;

    pub(super) fn serialize<S: Serializer>(lsn: &Option<Lsn>, serializer: S) -> Result<S::Ok, S::Error> {
        match lsn {
            Some(lsn) => serializer.serialize_some(&lsn.to_decimal()),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Lsn>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        let lsn = |text: String| Lsn::parse_decimal(&text).map_err(|error| D::Error::custom(error.to_string()));
        text.map(lsn).transpose()
    }
}

impl Snapshot {
    /// The JSON file.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self)
            .expect("a snapshot has no map with keys that are no text, and numbers that are finite")
    }

    /// Reads the JSON file.
    ///
    /// # Errors
    /// No JSON, no snapshot, or one of a later version.
    pub fn from_json(text: &str) -> Result<Snapshot, String> {
        #[derive(Deserialize)]
        struct Version {
            snapshot_version: u32,
        }
        let text = text.trim_start_matches('\u{feff}');
        let version: Version = serde_json::from_str(text).map_err(|error| format!("no snapshot of vlflab: {error}"))?;
        match version.snapshot_version {
            1..=SNAPSHOT_VERSION => serde_json::from_str(text).map_err(|error| format!("a damaged snapshot: {error}")),
            other => Err(format!(
                "a snapshot of version {other}; this program reads versions up to {SNAPSHOT_VERSION}"
            )),
        }
    }

    /// Whether a text claims to be the JSON file.
    pub fn is_json_of_one(text: &str) -> bool {
        let text = text.trim_start_matches('\u{feff}').trim_start();
        text.starts_with('{') && text.contains("\"snapshot_version\"")
    }

    /// The database of an id.
    pub fn database(&self, id: i64) -> Option<&DatabaseFacts> {
        self.databases.iter().find(|database| database.database_id == id)
    }

    /// Which kind of service it is.
    pub fn service(&self) -> Service {
        let is_rds = |database: &DatabaseFacts| database.name.eq_ignore_ascii_case("rdsadmin");
        match self.server.engine_edition {
            Some(5) => Service::AzureSqlDatabase,
            Some(8) => Service::ManagedInstance,
            _ if self.databases.iter().any(is_rds) || self.name.contains(".rds.amazonaws.com") => Service::Rds,
            _ => Service::SqlServer,
        }
    }

    /// The version whose rules its logs grow by; `None` = not known.
    ///
    /// Azure SQL Database and Managed Instance call themselves 12.0 and grow their logs by the newest rules (SQL Server docs, transaction
    /// log architecture and management guide).
    pub fn version(&self) -> Option<ServerVersion> {
        if matches!(self.service(), Service::AzureSqlDatabase | Service::ManagedInstance) {
            return Some(ServerVersion::V2022);
        }
        let mut numbers = self.server.product_version.split('.');
        let major = numbers.next()?.trim().parse().ok()?;
        let minor: u8 = numbers.next().and_then(|minor| minor.parse().ok()).unwrap_or(0);
        ServerVersion::from_product_version(major, minor).or_else(|| ServerVersion::from_product_version(major, 0))
    }

    /// Seconds since the server started.
    pub fn uptime_s(&self) -> Option<u64> {
        Some(self.server.clock?.seconds_since(self.server.started?)).filter(|seconds| *seconds > 0)
    }

    /// Seconds from `then` to the snapshot.
    pub fn age_s(&self, then: Moment) -> Option<u64> {
        self.server.clock.map(|clock| clock.seconds_since(then))
    }
}

impl DatabaseFacts {
    /// Size of its log files.
    pub fn log_bytes(&self) -> u64 {
        self.log_files.iter().map(|file| file.bytes).sum()
    }

    /// How much of its log is used, from 0 to 1.
    pub fn used_share(&self) -> Option<f64> {
        let total = self.space.total_bytes.filter(|total| *total > 0)?;
        Some(self.space.used_bytes? as f64 / total as f64)
    }

    /// VLFs of all its log files; 0 = not read.
    pub fn vlf_count(&self) -> u64 {
        self.log_files.iter().map(|file| file.vlfs.len() as u64).sum()
    }

    /// The sequence of the oldest VLF that cannot be reused. The mark of `dm_db_log_stats` comes first: on a primary replica VLFs that are
    /// free stay marked active until the log comes round (Paul Randal, "Lazy log truncation").
    pub fn oldest_needed_vlf(&self) -> Option<u32> {
        let active = self.log_files.iter().flat_map(|file| &file.vlfs);
        let oldest_active = active
            .filter(|vlf| vlf.status == 2 && vlf.sequence > 0)
            .map(|vlf| vlf.sequence)
            .min();
        match (self.marks.minimum, oldest_active) {
            (Some(minimum), Some(oldest)) => Some(minimum.vlf.max(oldest)),
            (minimum, oldest) => minimum.map(|minimum| minimum.vlf).or(oldest),
        }
    }

    /// Whether backups and truncation are its own affair: neither a snapshot nor read-only, and online.
    pub fn is_ordinary(&self) -> bool {
        self.source_database_id.is_none() && !self.is_read_only && self.is_online()
    }

    /// Its state is ONLINE, or not known.
    pub fn is_online(&self) -> bool {
        self.state.is_empty() || self.state == "ONLINE"
    }

    /// Whether it is one of the four that every server has, or the one that RDS adds.
    pub fn is_system(&self) -> bool {
        ["master", "model", "msdb", "tempdb", "rdsadmin"]
            .iter()
            .any(|name| self.name.eq_ignore_ascii_case(name))
    }

    /// Whether log backups clear its log.
    pub fn needs_log_backups(&self) -> bool {
        matches!(self.recovery_model.as_str(), "FULL" | "BULK_LOGGED") && !self.name.eq_ignore_ascii_case("tempdb")
    }
}

impl LogFile {
    /// Its VLFs as a layout; `None` where they were not read, or do not follow one another.
    pub fn layout(&self, version: ServerVersion) -> Option<LogLayout> {
        let mut growth = 0_u32;
        let mut last = "";
        let steps = self.vlfs.iter().enumerate().map(|(index, vlf)| {
            if index > 0 && vlf.create_lsn != last {
                growth += 1;
            }
            last = &vlf.create_lsn;
            (vlf.offset, vlf.bytes, growth)
        });
        let steps: Vec<(u64, u64, u32)> = steps.collect();
        layout_of_vlfs(steps.into_iter(), version).ok()
    }
}
