//! How fast backups and restores go on this machine's disk: `cargo bench -p vlflab-engine --bench backup [folder]`.
//!
//! A table of 256 MB is filled, backed up plain and compressed, changed throughout, its log backed up, and the plain sets are
//! restored. Figures are MB of pages or log per second; files are synced before the clock stops.
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "../tests/support/mod.rs"]
mod support;

use engine::backup::{AfterRestore, BackupKind, BackupRequest, RestoreRequest};
use engine::errorlog::ErrorLog;
use engine::instance::Instance;
use engine::log::LogPolicy;
use engine::seams::{Background, Environment, SystemClock};
use engine::waits::WaitStatistics;
use std::path::PathBuf;
use std::sync::Arc;
use support::*;

const ROWS: i32 = 32_768;

fn instance(folder: PathBuf) -> Arc<Instance> {
    let clock = Arc::new(SystemClock::new());
    let env = Environment {
        disk: Arc::new(disk::OsDisk),
        errorlog: Arc::new(ErrorLog::new(clock.clone())),
        clock,
        background: Background::Threads,
        waits: Arc::new(WaitStatistics::new()),
        activity: Arc::default(),
    };
    let mut options = options(LogPolicy::native());
    options.folder = folder;
    options.max_server_memory_bytes = 1 << 30;
    Instance::start(options, env).unwrap()
}

fn main() {
    let folder = std::env::args().nth(1).filter(|argument| !argument.starts_with('-'));
    let folder = folder
        .map_or_else(std::env::temp_dir, PathBuf::from)
        .join("vlflab_backup_bench");
    std::fs::create_dir_all(&folder).unwrap();
    let instance = instance(folder.clone());
    let database = instance.create_database(&statement("vlf", 64 << 20, 4 << 30)).unwrap();
    let mut session = instance.open_session().unwrap();
    let table = create_table(&mut session, &database, "t");
    for number in 0..ROWS {
        insert(&mut session, &table, number, 0);
        if number % 1_024 == 0 {
            session.commit().unwrap();
        }
    }
    session.commit().unwrap();
    let request = |kind, path: &str, compression| BackupRequest {
        kind,
        path: path.into(),
        init: true,
        compression,
        ..BackupRequest::default()
    };
    let run = |what: &str, request: &BackupRequest| {
        let done = instance.backup("vlf", request, &session, &mut |_| Ok(())).unwrap();
        tell(what, done.pages, done.micros, done.stored_bytes);
    };
    run("BACKUP DATABASE", &request(BackupKind::Database, "full.bak", false));
    run(
        "BACKUP DATABASE WITH COMPRESSION",
        &request(BackupKind::Database, "small.bak", true),
    );
    let mut writer = instance.open_session().unwrap();
    for round in 1..=2 {
        update(&mut writer, &table, if round == 1 { "a" } else { "b" }, round).unwrap();
        writer.commit().unwrap();
    }
    run("BACKUP LOG", &request(BackupKind::Log, "log.bak", false));
    for (path, name, after) in [
        ("full.bak", "RESTORE DATABASE", AfterRestore::NoRecovery),
        ("log.bak", "RESTORE LOG", AfterRestore::Recovery),
    ] {
        let restore = RestoreRequest {
            path: Some(path.into()),
            moves: vec![("vlf".into(), "copy.mdf".into()), ("vlf_log".into(), "copy.ldf".into())],
            after,
            ..RestoreRequest::default()
        };
        let done = instance.restore("copy", &restore, &session, &mut |_| Ok(())).unwrap();
        tell(name, done.pages, done.micros, done.stored_bytes);
    }
    instance.shutdown(true).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
}

fn tell(what: &str, pages: u64, micros: u64, stored_bytes: u64) {
    let megabytes = pages as f64 * 8.0 / 1_024.0;
    let rate = megabytes / (micros as f64 / 1e6);
    println!(
        "{what}: {megabytes:.0} MB in {:.3} s = {rate:.0} MB/s, {} MB stored",
        micros as f64 / 1e6,
        stored_bytes >> 20
    );
}
