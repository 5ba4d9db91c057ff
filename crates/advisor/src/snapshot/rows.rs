//! Converts rows to facts. A missing or invalid cell is "not known"; it is not an error.

use std::collections::BTreeMap;

use vlf::Lsn;

use super::gather::Rows;
use super::query::Source;
use super::{
    DatabaseFacts, ErrorLogLine, FileGrowth, GrowthSeen, JobFacts, LogFile, MirroringFacts, Moment,
    PersistentVersionFacts, ReplicaFacts, SessionFacts, Snapshot, SnapshotTransactionFacts, TransactionFacts, VlfFacts,
    Volume, WaitFacts, WorkFacts, WriteFacts,
};

const PAGE_BYTES: u64 = 8192;
const KB: u64 = 1024;
const MB: f64 = 1_048_576.0;
/// Pages of the largest log file; sys.master_files shows it where MAXSIZE is UNLIMITED.
const LOG_PAGES_MAX: i64 = 268_435_456;

/// Rows kept until all are there.
#[derive(Debug, Default)]
pub(super) struct Parts {
    /// Of `dm_tran_active_transactions`, by transaction: name, type, state, unit of work.
    active: BTreeMap<i64, (String, i64, i64, Option<String>)>,
    /// Session by transaction.
    session_of: BTreeMap<i64, i64>,
    sessions: BTreeMap<i64, SessionFacts>,
    /// Server and availability mode by replica.
    replica_names: BTreeMap<String, (String, String)>,
    /// The replica of each row, as the replicas of the databases stand.
    replica_ids: Vec<(i64, usize, String)>,
}

/// One row, its cells by name.
struct Cells<'a> {
    columns: &'a [String],
    row: &'a [Option<String>],
}

impl Cells<'_> {
    fn text(&self, name: &str) -> Option<&str> {
        let index = self
            .columns
            .iter()
            .position(|column| column.eq_ignore_ascii_case(name))?;
        self.row.get(index)?.as_deref()
    }

    fn owned(&self, name: &str) -> String {
        self.text(name).unwrap_or_default().trim_end().to_owned()
    }

    fn number(&self, name: &str) -> Option<i64> {
        let text = self.text(name)?.trim();
        let whole = text.split(['.', ',']).next()?;
        whole.parse().ok()
    }

    fn count(&self, name: &str) -> u64 {
        self.number(name)
            .and_then(|number| u64::try_from(number).ok())
            .unwrap_or(0)
    }

    fn decimal(&self, name: &str) -> Option<f64> {
        self.text(name)?
            .trim()
            .parse()
            .ok()
            .filter(|number: &f64| number.is_finite())
    }

    fn flag(&self, name: &str) -> bool {
        self.number(name).is_some_and(|number| number != 0)
    }

    fn moment(&self, name: &str) -> Option<Moment> {
        Moment::parse(self.text(name)?)
    }

    /// Any of the three forms of an LSN; none for zero.
    fn lsn(&self, name: &str) -> Option<Lsn> {
        let text = self.text(name)?.trim();
        let lsn = match text.contains(':') {
            true => text.parse().ok()?,
            false => Lsn::from_numeric(text.parse().ok()?).ok()?,
        };
        (lsn != Lsn::ZERO).then_some(lsn)
    }

    fn megabytes(&self, name: &str) -> Option<u64> {
        self.decimal(name)
            .filter(|number| *number >= 0.0)
            .map(|number| (number * MB) as u64)
    }
}

/// Enters the rows of an answer.
pub(super) fn take(source: Source, database: Option<i64>, answer: &Rows, snapshot: &mut Snapshot, parts: &mut Parts) {
    for row in &answer.rows {
        let cells = Cells {
            columns: &answer.columns,
            row,
        };
        match source {
            Source::Server => server(&cells, snapshot),
            Source::Databases => snapshot.databases.push(database_of(&cells)),
            Source::SystemInformation => snapshot.server.started = cells.moment("sqlserver_start_time"),
            Source::Services => service(&cells, snapshot),
            Source::Files => file(&cells, snapshot),
            Source::Counters => counter(&cells, snapshot),
            Source::LogSpace => log_space(&cells, snapshot),
            Source::FileIo | Source::Volumes => of_file(source, &cells, snapshot),
            Source::RecoveryStatus => {
                if let Some(database) = by_id(snapshot, &cells) {
                    database.marks.chain_has_begun = Some(cells.flag("chain_has_begun"));
                    database.marks.last_log_backup_lsn = cells.text("last_log_backup_lsn").map(str::to_owned);
                }
            }
            Source::Transactions => snapshot.transactions.push(transaction(&cells)),
            Source::ActiveTransactions | Source::SessionTransactions | Source::Sessions | Source::ReplicaNames => {
                part(source, &cells, parts);
            }
            Source::Requests => request(&cells, snapshot, parts),
            Source::Waits => snapshot.waits.push(WaitFacts {
                wait_type: cells.owned("wait_type"),
                waits: cells.count("waiting_tasks_count"),
                milliseconds: cells.count("wait_time_ms"),
            }),
            Source::Backups => backup(&cells, snapshot),
            Source::BackupDevices => backup_device(&cells, snapshot),
            Source::Mirroring => mirroring(&cells, snapshot),
            Source::Replicas => replica(&cells, snapshot, parts),
            Source::Jobs => snapshot.jobs.push(job(&cells)),
            Source::Growths => snapshot.growths.extend(growth_seen(&cells)),
            Source::ErrorLog => snapshot.error_log.extend(error_log_line(&cells)),
            Source::PersistentVersions | Source::AbortedTransactions | Source::VersionStore => {
                versions(source, &cells, snapshot);
            }
            Source::SnapshotTransactions => snapshot.snapshot_transactions.push(snapshot_transaction(&cells)),
            Source::LogStatistics => marks(database, &cells, snapshot),
            Source::LogInfo | Source::LogInfoCommand => vlf(database, &cells, snapshot),
            Source::Catalog => {}
        }
    }
    if source == Source::Backups {
        snapshot
            .databases
            .iter_mut()
            .for_each(|database| database.backups.is_known = true);
    }
    if source == Source::LogInfo {
        sizes_from_offsets(database, snapshot);
    }
}

impl Parts {
    /// Joins what came apart: transactions with their sessions, replicas with their names.
    pub(super) fn join(self, snapshot: &mut Snapshot) {
        for transaction in &mut snapshot.transactions {
            if let Some((name, kind, state, unit_of_work)) = self.active.get(&transaction.transaction_id) {
                transaction.name.clone_from(name);
                transaction.kind = *kind;
                transaction.state = *state;
                transaction.unit_of_work.clone_from(unit_of_work);
            }
            let session = self.session_of.get(&transaction.transaction_id);
            transaction.session = session.map(|id| {
                self.sessions.get(id).cloned().unwrap_or_else(|| SessionFacts {
                    session_id: *id,
                    ..SessionFacts::default()
                })
            });
        }
        let readers = snapshot.snapshot_transactions.iter_mut();
        for session in readers.filter_map(|reader| reader.session.as_mut()) {
            if let Some(known) = self.sessions.get(&session.session_id) {
                session.clone_from(known);
            }
        }
        for (database, index, id) in &self.replica_ids {
            let database = snapshot.databases.iter_mut().find(|each| each.database_id == *database);
            let replica = database.and_then(|database| database.replicas.get_mut(*index));
            if let (Some(replica), Some((server, mode))) = (replica, self.replica_names.get(id)) {
                replica.server.clone_from(server);
                replica.availability_mode.clone_from(mode);
            }
        }
    }
}

fn by_id<'s>(snapshot: &'s mut Snapshot, cells: &Cells<'_>) -> Option<&'s mut DatabaseFacts> {
    let id = cells.number("database_id")?;
    snapshot
        .databases
        .iter_mut()
        .find(|database| database.database_id == id)
}

fn by_name<'s>(snapshot: &'s mut Snapshot, name: &str) -> Option<&'s mut DatabaseFacts> {
    snapshot.databases.iter_mut().find(|database| database.name == name)
}

fn server(cells: &Cells<'_>, snapshot: &mut Snapshot) {
    let server = &mut snapshot.server;
    server.name = cells.owned("server_name");
    server.product_version = cells.owned("product_version");
    server.edition = cells.owned("edition");
    server.engine_edition = cells.number("engine_edition");
    server.clock = cells.moment("clock");
    server.login = cells.owned("login_name");
}

fn database_of(cells: &Cells<'_>) -> DatabaseFacts {
    DatabaseFacts {
        database_id: cells.number("database_id").unwrap_or(0),
        // Blanks at the end belong to a name.
        name: cells.text("name").unwrap_or_default().to_owned(),
        state: cells.owned("state_desc"),
        recovery_model: cells.owned("recovery_model_desc"),
        reuse_wait: cells.owned("log_reuse_wait_desc"),
        source_database_id: cells.number("source_database_id"),
        is_read_only: cells.flag("is_read_only"),
        is_in_standby: cells.flag("is_in_standby"),
        is_auto_shrink_on: cells.flag("is_auto_shrink_on"),
        is_published: cells.flag("is_published"),
        is_cdc_enabled: cells.flag("is_cdc_enabled"),
        is_accelerated_recovery_on: cells.flag("is_accelerated_database_recovery_on"),
        delayed_durability: cells.owned("delayed_durability_desc"),
        is_in_availability_group: cells.flag("is_in_group"),
        is_accessible: cells.number("is_accessible").map(|number| number != 0),
        ..DatabaseFacts::default()
    }
}

fn service(cells: &Cells<'_>, snapshot: &mut Snapshot) {
    if cells.owned("servicename").starts_with("SQL Server (")
        && let Some(flag) = cells.text("instant_file_initialization_enabled")
    {
        snapshot.server.instant_initialization = Some(flag.trim().eq_ignore_ascii_case("Y"));
    }
}

fn file(cells: &Cells<'_>, snapshot: &mut Snapshot) {
    let Some(database) = by_id(snapshot, cells) else { return };
    let pages = |name: &str| cells.count(name).saturating_mul(PAGE_BYTES);
    if cells.number("type") != Some(1) {
        database.data_bytes = Some(database.data_bytes.unwrap_or(0).saturating_add(pages("size")));
        database.data_paths.push(cells.owned("physical_name"));
        return;
    }
    let growth = match (cells.number("growth"), cells.flag("is_percent_growth")) {
        (None, _) => FileGrowth::NotKnown,
        (Some(0), _) => FileGrowth::None,
        (Some(percent), true) => FileGrowth::Percent(u32::try_from(percent).unwrap_or(u32::MAX)),
        (Some(_), false) => FileGrowth::Bytes(pages("growth")),
    };
    let is_limited = cells
        .number("max_size")
        .is_some_and(|pages| (0..LOG_PAGES_MAX).contains(&pages));
    database.log_files.push(LogFile {
        file_id: cells.number("file_id").unwrap_or(0),
        name: cells.text("name").unwrap_or_default().to_owned(),
        path: cells.owned("physical_name"),
        bytes: pages("size"),
        bytes_max: is_limited.then(|| pages("max_size")).filter(|bytes| *bytes > 0),
        growth,
        ..LogFile::default()
    });
}

fn counter(cells: &Cells<'_>, snapshot: &mut Snapshot) {
    let Some(database) = by_name(snapshot, &cells.owned("database_name")) else {
        return;
    };
    let value = cells.count("cntr_value");
    let space = &mut database.space;
    match cells.owned("counter").as_str() {
        "Log File(s) Size (KB)" => space.total_bytes = Some(value.saturating_mul(KB)),
        "Log File(s) Used Size (KB)" => space.used_bytes = Some(value.saturating_mul(KB)),
        "Log Growths" => space.growths = Some(value),
        "Log Shrinks" => space.shrinks = Some(value),
        _ => {}
    }
}

/// `DBCC SQLPERF(LOGSPACE)`: the size in MB, and how much of it is used in percent.
fn log_space(cells: &Cells<'_>, snapshot: &mut Snapshot) {
    let total = cells.megabytes("Log Size (MB)");
    let percent = cells.decimal("Log Space Used (%)");
    let name = cells.text("Database Name").unwrap_or_default().to_owned();
    let Some(database) = by_name(snapshot, &name) else {
        return;
    };
    database.space.total_bytes = total;
    database.space.used_bytes = total
        .zip(percent)
        .map(|(total, percent)| (total as f64 * percent / 100.0) as u64);
}

fn of_file(source: Source, cells: &Cells<'_>, snapshot: &mut Snapshot) {
    let file_id = cells.number("file_id");
    let Some(database) = by_id(snapshot, cells) else { return };
    let Some(file) = database.log_files.iter_mut().find(|file| Some(file.file_id) == file_id) else {
        return;
    };
    match source {
        Source::Volumes => {
            file.volume = Some(Volume {
                mount_point: cells.owned("volume_mount_point"),
                total_bytes: cells.count("total_bytes"),
                free_bytes: cells.count("available_bytes"),
            });
        }
        _ => {
            file.writes = Some(WriteFacts {
                writes: cells.count("num_of_writes"),
                bytes: cells.count("num_of_bytes_written"),
                stall_ms: cells.count("io_stall_write_ms"),
            });
        }
    }
}

fn transaction(cells: &Cells<'_>) -> TransactionFacts {
    TransactionFacts {
        transaction_id: cells.number("transaction_id").unwrap_or(0),
        database_id: cells.number("database_id").unwrap_or(0),
        begun: cells.moment("database_transaction_begin_time"),
        begin_lsn: cells.lsn("database_transaction_begin_lsn"),
        log_bytes: cells.count("database_transaction_log_bytes_used"),
        reserved_bytes: cells.count("database_transaction_log_bytes_reserved"),
        ..TransactionFacts::default()
    }
}

fn part(source: Source, cells: &Cells<'_>, parts: &mut Parts) {
    let session = cells.number("session_id").unwrap_or(0);
    let transaction = cells.number("transaction_id").unwrap_or(0);
    match source {
        Source::ActiveTransactions => {
            let number = |name| cells.number(name).unwrap_or(0);
            let unit_of_work = cells.text("transaction_uow").map(str::to_owned);
            let row = (
                cells.owned("name"),
                number("transaction_type"),
                number("transaction_state"),
                unit_of_work,
            );
            parts.active.insert(transaction, row);
        }
        Source::SessionTransactions => {
            parts.session_of.insert(transaction, session);
        }
        Source::ReplicaNames => {
            let names = (
                cells.owned("replica_server_name"),
                cells.owned("availability_mode_desc"),
            );
            parts.replica_names.insert(cells.owned("replica_id"), names);
        }
        _ => {
            let facts = SessionFacts {
                session_id: session,
                login: cells.owned("login_name"),
                host: cells.owned("host_name"),
                program: cells.owned("program_name"),
                status: cells.owned("status"),
                last_request_end: cells.moment("last_request_end_time"),
                ..SessionFacts::default()
            };
            parts.sessions.insert(session, facts);
        }
    }
}

/// Work that takes long by its nature, and what each session does.
fn request(cells: &Cells<'_>, snapshot: &mut Snapshot, parts: &mut Parts) {
    let session_id = cells.number("session_id").unwrap_or(0);
    let command = cells.owned("command");
    let is_long = [
        "BACKUP",
        "RESTORE",
        "DBCC",
        "KILLED",
        "ROLLBACK",
        "DB STARTUP",
        "ALTER",
        "CREATE INDEX",
    ];
    if is_long.iter().any(|word| command.starts_with(word)) {
        snapshot.works.push(WorkFacts {
            session_id,
            database_id: cells.number("database_id").unwrap_or(0),
            command: command.clone(),
            begun: cells.moment("start_time"),
            percent: cells.decimal("percent_complete").unwrap_or(0.0),
            milliseconds_left: cells.count("estimated_completion_time"),
        });
    }
    if let Some(session) = parts.sessions.get_mut(&session_id) {
        session.command = Some(command);
        session.wait_type = cells.text("wait_type").map(str::to_owned);
        session.blocked_by = cells.number("blocking_session_id").filter(|id| *id != 0);
    }
}

fn backup(cells: &Cells<'_>, snapshot: &mut Snapshot) {
    let name = cells.text("database_name").unwrap_or_default().to_owned();
    let Some(database) = by_name(snapshot, &name) else {
        return;
    };
    let backups = &mut database.backups;
    match cells.owned("type").as_str() {
        "D" => backups.last_full = cells.moment("last_finish"),
        "L" => {
            backups.last_log = cells.moment("last_finish");
            backups.log_backups_7d = cells.count("backups_7d");
            backups.log_bytes_7d = cells.count("bytes_7d");
            backups.log_bytes_largest_7d = cells.count("largest_7d");
        }
        _ => {}
    }
}

fn backup_device(cells: &Cells<'_>, snapshot: &mut Snapshot) {
    let name = cells.text("database_name").unwrap_or_default().to_owned();
    let Some(database) = by_name(snapshot, &name) else {
        return;
    };
    let device = cells.text("device").map(str::to_owned);
    match cells.owned("type").as_str() {
        "D" => database.backups.last_full_device = device,
        _ => database.backups.last_log_device = device,
    }
}

fn mirroring(cells: &Cells<'_>, snapshot: &mut Snapshot) {
    if let Some(database) = by_id(snapshot, cells) {
        database.mirroring = Some(MirroringFacts {
            state: cells.owned("mirroring_state_desc"),
            role: cells.owned("mirroring_role_desc"),
            partner: cells.owned("mirroring_partner_instance"),
        });
    }
}

fn replica(cells: &Cells<'_>, snapshot: &mut Snapshot, parts: &mut Parts) {
    let Some(database) = by_id(snapshot, cells) else { return };
    parts
        .replica_ids
        .push((database.database_id, database.replicas.len(), cells.owned("replica_id")));
    database.replicas.push(ReplicaFacts {
        is_local: cells.flag("is_local"),
        is_primary: cells.number("is_primary_replica").map(|number| number != 0),
        synchronization: cells.owned("synchronization_state_desc"),
        is_suspended: cells.flag("is_suspended"),
        send_queue_bytes: cells.count("log_send_queue_size").saturating_mul(KB),
        redo_queue_bytes: cells.count("redo_queue_size").saturating_mul(KB),
        last_hardened: cells.lsn("last_hardened_lsn"),
        ..ReplicaFacts::default()
    });
}

fn job(cells: &Cells<'_>) -> JobFacts {
    let started = cells.moment("started");
    JobFacts {
        name: cells.owned("name"),
        category: cells.owned("category"),
        is_enabled: cells.flag("is_enabled"),
        is_running: started.is_some() && cells.text("stopped").is_none(),
        last_run: started,
        last_outcome: cells.number("run_status"),
    }
}

/// Event classes 92 and 93 are growths of data and log, 94 and 95 shrinks.
fn growth_seen(cells: &Cells<'_>) -> Option<GrowthSeen> {
    let class = cells.number("event_class")?;
    Some(GrowthSeen {
        database: cells.owned("database_name"),
        is_log: matches!(class, 93 | 95),
        is_shrink: matches!(class, 94 | 95),
        bytes: cells.count("pages").saturating_mul(PAGE_BYTES),
        microseconds: cells.count("microseconds"),
        at: cells.moment("started"),
    })
}

fn error_log_line(cells: &Cells<'_>) -> Option<ErrorLogLine> {
    Some(ErrorLogLine {
        at: cells.moment("LogDate"),
        text: cells.text("Text")?.trim_end().to_owned(),
    })
}

/// Row versions of a database, and what its cleaner has left to do.
fn versions(source: Source, cells: &Cells<'_>, snapshot: &mut Snapshot) {
    let Some(database) = by_id(snapshot, cells) else { return };
    match source {
        Source::PersistentVersions => {
            database.persistent_versions = Some(PersistentVersionFacts {
                bytes: cells.count("persistent_version_store_size_kb").saturating_mul(KB),
                aborted: cells.count("current_aborted_transaction_count"),
                oldest_aborted_begun: None,
                cleaner_begun: cells.moment("aborted_version_cleaner_start_time"),
                cleaner_ended: cells.moment("aborted_version_cleaner_end_time"),
            });
        }
        Source::AbortedTransactions => {
            if let Some(persistent) = &mut database.persistent_versions {
                persistent.oldest_aborted_begun = cells.moment("oldest_begin_time");
            }
        }
        _ => database.version_store_bytes = Some(cells.count("reserved_space_kb").saturating_mul(KB)),
    }
}

fn snapshot_transaction(cells: &Cells<'_>) -> SnapshotTransactionFacts {
    SnapshotTransactionFacts {
        transaction_id: cells.number("transaction_id").unwrap_or(0),
        elapsed_s: cells.count("elapsed_time_seconds"),
        session: cells.number("session_id").map(|session_id| SessionFacts {
            session_id,
            ..SessionFacts::default()
        }),
    }
}

fn marks(database: Option<i64>, cells: &Cells<'_>, snapshot: &mut Snapshot) {
    let Some(database) = snapshot
        .databases
        .iter_mut()
        .find(|each| Some(each.database_id) == database)
    else {
        return;
    };
    let marks = &mut database.marks;
    marks.minimum = cells.lsn("log_min_lsn");
    marks.end = cells.lsn("log_end_lsn");
    marks.checkpoint = cells.lsn("log_checkpoint_lsn");
    marks.recovery = cells.lsn("log_recovery_lsn");
    marks.recovery_bytes = cells.megabytes("log_recovery_size_mb");
    marks.since_checkpoint_bytes = cells.megabytes("log_since_last_checkpoint_mb");
    marks.since_log_backup_bytes = cells.megabytes("log_since_last_log_backup_mb");
    marks.log_backup = cells.moment("log_backup_time");
    let count = |name: &str| cells.number(name).and_then(|number| u64::try_from(number).ok());
    marks.vlf_count = count("total_vlf_count");
    marks.active_vlf_count = count("active_vlf_count");
}

/// A row of the view or of the command, whose columns have names of their own.
fn vlf(database: Option<i64>, cells: &Cells<'_>, snapshot: &mut Snapshot) {
    let Some(database) = snapshot
        .databases
        .iter_mut()
        .find(|each| Some(each.database_id) == database)
    else {
        return;
    };
    let either = |view: &str, command: &str| cells.number(view).or_else(|| cells.number(command)).unwrap_or(0);
    let file_id = either("file_id", "FileId");
    let text = cells.text("vlf_create_lsn").or_else(|| cells.text("CreateLSN"));
    let row = VlfFacts {
        offset: u64::try_from(either("vlf_begin_offset", "StartOffset")).unwrap_or(0),
        bytes: cells
            .megabytes("vlf_size_mb")
            .unwrap_or_else(|| cells.count("FileSize")),
        sequence: u32::try_from(either("vlf_sequence_number", "FSeqNo")).unwrap_or(0),
        status: u8::try_from(either("vlf_status", "Status")).unwrap_or(u8::MAX),
        create_lsn: text.unwrap_or_default().trim().to_owned(),
    };
    // Two columns may have one name, FileId and file_id, for a reader that ignores case; of two files each has its own list.
    if !database.log_files.iter().any(|file| file.file_id == file_id) {
        database.log_files.push(LogFile {
            file_id,
            ..LogFile::default()
        });
    }
    if let Some(file) = database.log_files.iter_mut().find(|file| file.file_id == file_id) {
        file.vlfs.push(row);
    }
}

/// The view cuts sizes to two decimals of a megabyte: a VLF ends where the next one begins, and the last one where the file does.
fn sizes_from_offsets(database: Option<i64>, snapshot: &mut Snapshot) {
    let Some(database) = snapshot
        .databases
        .iter_mut()
        .find(|each| Some(each.database_id) == database)
    else {
        return;
    };
    for file in &mut database.log_files {
        file.vlfs.sort_by_key(|vlf| vlf.offset);
        let ends: Vec<u64> = file
            .vlfs
            .iter()
            .skip(1)
            .map(|vlf| vlf.offset)
            .chain([file.bytes])
            .collect();
        for (vlf, end) in file.vlfs.iter_mut().zip(ends) {
            if end > vlf.offset {
                vlf.bytes = end - vlf.offset;
            }
        }
    }
}
