//! What a commit costs beside the write it waits for, and what discovery, bulk append and scan do per second.
//!
//! `cargo bench -p vlflab-engine --bench log_commit [-- <directory>]`; the directory (default: the target directory's disk)
//! should lie on the disk that is meant. Every figure is the median of several rounds, with the extremes beside it.

#![allow(clippy::unwrap_used, reason = "a benchmark stops at the first surprise")]

use disk::{Access, AlignedBuffer, Disk, OsDisk};
use engine::errorlog::ErrorLog;
use engine::log::{
    DiscoveryMode, FileGrowth, LogFileSpec, LogManager, LogPolicy, RecordKind, ScanMode, TransactionChain,
    TransactionId,
};
use engine::seams::{Background, Environment, SystemClock};
use engine::waits::WaitStatistics;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use vlf::{Lsn, ServerVersion};

const MB: u64 = 1 << 20;
const ROUNDS: usize = 7;
const COMMITS: u32 = 2_000;

fn environment() -> Environment {
    let clock = Arc::new(SystemClock::new());
    Environment {
        disk: Arc::new(OsDisk),
        clock: clock.clone(),
        background: Background::Threads,
        waits: Arc::new(WaitStatistics::new()),
        activity: Arc::default(),
        errorlog: Arc::new(ErrorLog::new(clock)),
    }
}

fn spec(path: PathBuf, bytes: u64, growth_bytes: u64) -> LogFileSpec {
    let growth = if growth_bytes == 0 {
        FileGrowth::None
    } else {
        FileGrowth::Bytes(growth_bytes)
    };
    LogFileSpec {
        file_id: 2,
        path,
        logical_name: "log".to_string(),
        bytes,
        max_bytes: u64::MAX,
        growth,
    }
}

fn report(what: &str, unit: &str, mut figures: Vec<f64>) {
    figures.sort_by(f64::total_cmp);
    let (low, high) = (figures[0], figures[figures.len() - 1]);
    println!(
        "{what:<58} {:>10.1} {unit:<10} ({low:.1} .. {high:.1})",
        figures[figures.len() / 2]
    );
}

fn rounds(mut round: impl FnMut() -> f64) -> Vec<f64> {
    (0..ROUNDS).map(|_| round()).collect()
}

/// The floor: durable writes of one size, one behind the other, into blocks written before.
fn raw_writes(directory: &Path, bytes: usize) {
    let path = directory.join("raw");
    let file = OsDisk.create(&path, Access::Direct).unwrap();
    let space = (COMMITS as usize * bytes) as u64;
    file.grow_reserved(space).unwrap();
    let zeros = AlignedBuffer::with_len(MB as usize);
    for offset in (0..space).step_by(MB as usize) {
        file.write_at(offset, &zeros[..MB.min(space - offset) as usize])
            .unwrap();
    }
    file.sync().unwrap();
    let buffer = AlignedBuffer::with_len(bytes);
    let figures = rounds(|| {
        let start = Instant::now();
        for number in 0..COMMITS as u64 {
            file.write_durable_at(number * bytes as u64, &buffer).unwrap();
        }
        start.elapsed().as_secs_f64() * 1e6 / f64::from(COMMITS)
    });
    report(&format!("raw durable write of {} KB", bytes / 1024), "us", figures);
    OsDisk.delete(&path).unwrap();
}

/// Commits of one block each by so many sessions; the log wraps, so that all but its first round goes to written space.
fn commits(directory: &Path, name: &str, policy: LogPolicy, block_bytes: usize, sessions: u32) {
    let path = directory.join("commit.ldf");
    let env = environment();
    let files = [spec(path.clone(), 64 * MB, 64 * MB)];
    let log = LogManager::create(&env, "bench", &files, ServerVersion::V2022, policy, 1).unwrap();
    let payload = vec![7; block_bytes - 400];
    let run = |commits: u32| {
        for number in 0..commits {
            let mut chain = TransactionChain::new(TransactionId(u64::from(number) + 1));
            log.append(&mut chain, RecordKind::Begin, &[], 0).unwrap();
            log.append(&mut chain, RecordKind::Change, &[&payload], 60).unwrap();
            let lsn = log.append(&mut chain, RecordKind::Commit, &[], 0).unwrap();
            log.flush_to(lsn).unwrap();
            if number % 64 == 0 {
                log.truncate(lsn);
            }
        }
    };
    while log.end().vlf < 6 {
        run(500);
    }
    let per_session = COMMITS / sessions;
    let mut shared = Vec::new();
    let figures = rounds(|| {
        let (start, flushes) = (Instant::now(), log.counters().flushes);
        std::thread::scope(|scope| (0..sessions).for_each(|_| drop(scope.spawn(|| run(per_session)))));
        shared.push(f64::from(per_session * sessions) / (log.counters().flushes - flushes) as f64);
        start.elapsed().as_secs_f64() * 1e6 / f64::from(per_session * sessions)
    });
    let what = format!("{name}: commit of {} KB, {sessions} session(s)", block_bytes / 1024);
    report(&what, "us/commit", figures);
    if sessions > 1 {
        report(&format!("{name}: commits per write, {sessions} sessions"), "", shared);
    }
    drop(log);
    OsDisk.delete(&path).unwrap();
}

/// Without any disk: what appending alone costs.
fn append_cost() {
    let disk = disk::sim::SimDisk::new(1);
    let env = Environment {
        disk: Arc::new(disk),
        background: Background::Inline,
        ..environment()
    };
    let files = [spec("/append.ldf".into(), 64 * MB, 0)];
    let log = LogManager::create(&env, "bench", &files, ServerVersion::V2022, LogPolicy::native(), 1).unwrap();
    const RECORDS: u32 = 10_000;
    let figures = rounds(|| {
        let mut chain = TransactionChain::new(TransactionId(1));
        let start = Instant::now();
        for _ in 0..RECORDS {
            log.append(&mut chain, RecordKind::Change, &[&[7; 200]], 60).unwrap();
        }
        let nanos = start.elapsed().as_secs_f64() * 1e9 / f64::from(RECORDS);
        log.forget(&mut chain);
        log.flush_to(Lsn::MAX).unwrap();
        log.truncate(log.end());
        nanos
    });
    report("append of a 200 byte record, no write", "ns", figures);
}

fn bulk_and_scan(directory: &Path) {
    let path = directory.join("bulk.ldf");
    let env = environment();
    let files = [spec(path.clone(), 1024 * MB, 0)];
    let log = LogManager::create(&env, "bench", &files, ServerVersion::V2022, LogPolicy::native(), 1).unwrap();
    let payload = vec![7; 8_000];
    let mut chain = TransactionChain::new(TransactionId(1));
    let start = Instant::now();
    while log.space().used_percent() < 80.0 {
        log.append(&mut chain, RecordKind::Change, &[&payload], 0).unwrap();
    }
    log.flush_to(Lsn::MAX).unwrap();
    let used_mb = log.space().used_bytes as f64 / MB as f64;
    report(
        "native: bulk append of 8 KB records",
        "MB/s",
        vec![used_mb / start.elapsed().as_secs_f64()],
    );
    for (name, scan) in [
        ("large reads", ScanMode::LargeReads),
        ("block reads", ScanMode::BlockReads),
    ] {
        log.set_policy(LogPolicy {
            scan,
            ..LogPolicy::native()
        });
        let start = Instant::now();
        let mut reader = log.scan(Lsn::new(1, vlf::FIRST_BLOCK, 1)).unwrap();
        let mut bytes = 0;
        while let Some(record) = reader.next().unwrap() {
            bytes += record.payload.len();
        }
        report(
            &format!("scan, {name}"),
            "MB/s",
            vec![bytes as f64 / MB as f64 / start.elapsed().as_secs_f64()],
        );
    }
    drop(log);
    OsDisk.delete(&path).unwrap();
}

/// 5 GB grown by 1 MB under the rules of 2005: 20,480 VLFs.
fn many_vlfs(directory: &Path) {
    let path = directory.join("many.ldf");
    let env = environment();
    let files = [spec(path.clone(), MB, MB)];
    let start = Instant::now();
    let log = LogManager::create(&env, "bench", &files, ServerVersion::V2005, LogPolicy::native(), 1).unwrap();
    for megabytes in 2..=5120 {
        log.grow_file(2, megabytes * MB).unwrap();
    }
    println!(
        "{:<58} {:>10.1} s",
        "native: 5119 growths of 1 MB, 20,480 VLFs",
        start.elapsed().as_secs_f64()
    );
    drop(log);
    for (name, discovery) in [("walk", DiscoveryMode::Walk), ("directory", DiscoveryMode::Directory)] {
        let policy = LogPolicy {
            discovery,
            ..LogPolicy::native()
        };
        let open = || {
            LogManager::open(&env, "bench", &files, ServerVersion::V2005, policy)
                .unwrap()
                .1
                .micros as f64
                / 1000.0
        };
        report(&format!("discovery of 20,480 VLFs, {name}"), "ms", rounds(open));
    }
    OsDisk.delete(&path).unwrap();
}

fn main() {
    let named = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let root = named.map_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")), PathBuf::from);
    let directory = root.join(format!("log-commit-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    append_cost();
    for block_bytes in [4096, 16384] {
        raw_writes(&directory, block_bytes);
        for (name, policy) in [("native", LogPolicy::native()), ("classic", LogPolicy::classic())] {
            commits(&directory, name, policy, block_bytes, 1);
        }
    }
    for (name, policy) in [("native", LogPolicy::native()), ("classic", LogPolicy::classic())] {
        commits(&directory, name, policy, 4096, 8);
    }
    bulk_and_scan(&directory);
    many_vlfs(&directory);
    std::fs::remove_dir_all(&directory).unwrap();
}
