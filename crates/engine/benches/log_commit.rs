//! What a commit costs beside the write it waits for, and what discovery, bulk append and scan do per second.
//!
//! `cargo bench -p vlflab-engine --bench log_commit [-- <directory>] [vlfs=126399] [only=commit|growth|steps|vlfs|bulk|start]`; the directory (default: the target directory's disk)
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
        database_guid: [0; 16],
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
        "{what:<58} {:>10.2} {unit:<10} ({low:.2} .. {high:.2})",
        figures[figures.len() / 2]
    );
}

fn rounds(mut round: impl FnMut() -> f64) -> Vec<f64> {
    (0..ROUNDS).map(|_| round()).collect()
}

/// The floor: durable writes of one size, one after another, into blocks written before.
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

/// What the commits of eight sessions waited, in microseconds.
struct Latencies(Vec<u64>);

impl Latencies {
    fn percentile(&self, percent: f64) -> f64 {
        let index = (self.0.len() as f64 * percent / 100.0) as usize;
        self.0.get(index.min(self.0.len() - 1)).copied().unwrap_or(0) as f64
    }
}

/// Eight sessions commit 4 KB each, again and again, until `until` says that it is enough.
fn commit_latencies(log: &LogManager, truncates: bool, until: impl Fn(u32) -> bool + Sync) -> Latencies {
    let payload = vec![7; 3_600];
    let session = |id: u64| {
        let mut waited = Vec::new();
        while until(waited.len() as u32) {
            let mut chain = TransactionChain::new(TransactionId(id));
            let start = Instant::now();
            log.append(&mut chain, RecordKind::Change, &[&payload], 60).unwrap();
            let lsn = log.append(&mut chain, RecordKind::Commit, &[], 0).unwrap();
            log.flush_to(lsn).unwrap();
            waited.push(start.elapsed().as_micros() as u64);
            if truncates && waited.len() % 64 == 0 {
                log.truncate(lsn);
            }
        }
        waited
    };
    let mut all: Vec<u64> = std::thread::scope(|scope| {
        let sessions: Vec<_> = (0..8).map(|id| scope.spawn(move || session(id + 1))).collect();
        sessions
            .into_iter()
            .flat_map(|session| session.join().unwrap())
            .collect()
    });
    all.sort_unstable();
    Latencies(all)
}

/// Commits while the log grows and while it does not, in turns: space written before, space only reserved, growth by 64 MB.
fn growth_under_commits(directory: &Path) {
    const PER_SESSION: u32 = 6_000;
    let path = directory.join("growing.ldf");
    let env = environment();
    let mut ratios = Vec::new();
    for round in 0..5 {
        let mut tails = Vec::new();
        for (what, bytes, growth) in [("not growing", 1024 * MB, 0), ("growing by 64 MB", 64 * MB, 64 * MB)] {
            let files = [spec(path.clone(), bytes, growth)];
            let policy = LogPolicy::native();
            let log = LogManager::create(&env, "bench", &files, ServerVersion::V2022, policy, 1).unwrap();
            let latencies = commit_latencies(&log, false, |done| done < PER_SESSION);
            let [half, most, tail] = [50.0, 99.0, 99.9].map(|percent| latencies.percentile(percent));
            let growths = log.counters().growths;
            println!(
                "8 sessions, {what:<20} round {round}: p50 {half:.0} us, p99 {most:.0} us, p99.9 {tail:.0} us, {growths} growths"
            );
            tails.push(tail);
            log.close();
            drop(log);
            engine::log::delete_directory(&OsDisk, &path).unwrap();
            OsDisk.delete(&path).unwrap();
        }
        ratios.push(tails[1] / tails[0].max(1.0));
    }
    report("p99.9 of a commit, growing : not growing", "times", ratios);
}

/// One session commits 8 KB, 300 MB of log in all, in a log made at once and in logs that grow by 1, 16 and 64 MB, in turns. Besides the
/// seconds: how much went to space never written before, and how many records found no room.
fn growth_steps(directory: &Path) {
    const BYTES: u64 = 300 * MB;
    let path = directory.join("steps.ldf");
    let env = environment();
    let payload = vec![7; 7_600];
    let layouts = [
        ("at once", BYTES + 64 * MB, 0),
        ("1 MB", MB, MB),
        ("16 MB", 16 * MB, 16 * MB),
        ("64 MB", 64 * MB, 64 * MB),
    ];
    let mut seconds = layouts.map(|_| Vec::new());
    for round in 0..ROUNDS {
        for turn in 0..layouts.len() {
            let which = (turn + round) % layouts.len();
            let (what, bytes, growth) = layouts[which];
            let files = [spec(path.clone(), bytes, growth)];
            let log = LogManager::create(&env, "bench", &files, ServerVersion::V2012, LogPolicy::native(), 1).unwrap();
            let start = Instant::now();
            while log.space().used_bytes < BYTES {
                let mut chain = TransactionChain::new(TransactionId(1));
                log.append(&mut chain, RecordKind::Change, &[&payload], 60).unwrap();
                let lsn = log.append(&mut chain, RecordKind::Commit, &[], 0).unwrap();
                log.flush_to(lsn).unwrap();
            }
            seconds[which].push(start.elapsed().as_secs_f64());
            let counters = log.counters();
            println!(
                "{what:<8} round {round}: {:.2} s, {} growths, {} waits for one, {:.1} MB of {} MB cold, {} us a write",
                start.elapsed().as_secs_f64(),
                counters.growths,
                counters.growth_waits,
                counters.cold_bytes as f64 / MB as f64,
                BYTES / MB,
                counters.flush_write_micros / counters.flushes.max(1),
            );
            log.close();
            drop(log);
            engine::log::delete_directory(&OsDisk, &path).unwrap();
            OsDisk.delete(&path).unwrap();
        }
    }
    let (at_once, steps) = seconds.split_first().unwrap();
    for ((what, ..), step) in layouts[1..].iter().zip(steps) {
        let ratios = step.iter().zip(at_once).map(|(step, at_once)| step / at_once);
        report(
            &format!("8 KB commits, growing by {what} : made at once"),
            "times",
            ratios.collect(),
        );
    }
}

/// The same work in a log of 16 VLFs and in one of many, both written before; in turns.
fn commits_by_vlf_count(directory: &Path, vlf_count: u64) {
    const PER_SESSION: u32 = 4_000;
    let env = environment();
    let many = directory.join("many.ldf");
    let few = directory.join("few.ldf");
    let policy = LogPolicy::native();
    let logs = [(&few, 512 * MB, 0), (&many, MB, vlf_count / 4)].map(|(path, bytes, growths)| {
        let files = [spec(path.clone(), bytes, MB)];
        let log = LogManager::create(&env, "bench", &files, ServerVersion::V2005, policy, 1).unwrap();
        for megabytes in 2..=growths {
            log.grow_file(2, megabytes * MB).unwrap();
        }
        log
    });
    let mut ratios = [Vec::new(), Vec::new()];
    for round in 0..ROUNDS {
        let mut figures = Vec::new();
        for log in &logs {
            let start = Instant::now();
            let latencies = commit_latencies(log, true, |done| done < PER_SESSION);
            figures.push([start.elapsed().as_secs_f64(), latencies.percentile(99.9)]);
        }
        if round > 0 {
            (0..2).for_each(|which| ratios[which].push(figures[1][which] / figures[0][which]));
        }
    }
    let [time, tail] = ratios;
    report(
        &format!("commits of 8 sessions, {vlf_count} VLFs : 8 VLFs"),
        "times",
        time,
    );
    report("the same, p99.9", "times", tail);
    drop(logs);
    for path in [many, few] {
        engine::log::delete_directory(&OsDisk, &path).unwrap();
        OsDisk.delete(&path).unwrap();
    }
}

/// 50,000 rows of 5,000 characters as a statement of many rows logs them, one record per page, in a log of 16 VLFs and in one
/// of many. Neither goes round, so that both write into space never written before. In turns.
fn bulk_by_vlf_count(directory: &Path, vlf_count: u64) {
    const RECORDS: u32 = 50_000;
    let env = environment();
    let many = directory.join("many.ldf");
    let few = directory.join("few.ldf");
    let rounds = ROUNDS as u64 + 1;
    let few_bytes = rounds * 300 * MB;
    let logs = [(&few, few_bytes, 0), (&many, MB, vlf_count / 4)].map(|(path, bytes, growths)| {
        let files = [spec(path.clone(), bytes, MB)];
        let log = LogManager::create(&env, "bench", &files, ServerVersion::V2012, LogPolicy::native(), 1).unwrap();
        for megabytes in 2..=growths {
            log.grow_file(2, megabytes * MB).unwrap();
        }
        log
    });
    let payload = vec![7; 5_050];
    let append = |log: &LogManager| {
        let (start, flushes) = (Instant::now(), log.counters().flushes);
        let mut chain = TransactionChain::new(TransactionId(1));
        for _ in 0..RECORDS {
            log.append(&mut chain, RecordKind::Change, &[&payload], 60).unwrap();
        }
        let lsn = log.append(&mut chain, RecordKind::Commit, &[], 0).unwrap();
        log.flush_to(lsn).unwrap();
        let seconds = start.elapsed().as_secs_f64();
        log.truncate(lsn);
        (seconds * 1e3, (log.counters().flushes - flushes) as f64)
    };
    let mut figures = [(); 2].map(|()| (Vec::new(), Vec::new()));
    for _ in 0..rounds {
        for (log, (times, writes)) in logs.iter().zip(&mut figures) {
            let (milliseconds, count) = append(log);
            times.push(milliseconds);
            writes.push(count);
        }
    }
    let [few_times, many_times] = [0, 1].map(|which: usize| figures[which].0.clone());
    for (name, (times, writes)) in ["16 VLFs", "many VLFs"].iter().zip(figures) {
        report(&format!("bulk append of 50,000 rows, {name}"), "ms", times);
        report(&format!("its writes, {name}"), "", writes);
    }
    let ratios = few_times.iter().zip(&many_times).skip(1).map(|(few, many)| many / few);
    report(
        &format!("bulk append, {vlf_count} VLFs : 16 VLFs"),
        "times",
        ratios.collect(),
    );
    drop(logs);
    for path in [many, few] {
        engine::log::delete_directory(&OsDisk, &path).unwrap();
        OsDisk.delete(&path).unwrap();
    }
}

/// Startup of a log grown by 1 MB under the rules of 2005, beside one of as few VLFs as its size gets: by header after header,
/// by the directory after a clean stop, by the directory with some VLFs entered since, and by all headers in parallel.
fn many_vlfs(directory: &Path, vlf_count: u64) {
    let path = directory.join("many.ldf");
    let env = environment();
    let files = [spec(path.clone(), MB, MB)];
    let start = Instant::now();
    let log = LogManager::create(&env, "bench", &files, ServerVersion::V2005, LogPolicy::native(), 1).unwrap();
    let growths = vlf_count.div_ceil(4).max(2);
    for megabytes in 2..=growths {
        log.grow_file(2, megabytes * MB).unwrap();
    }
    println!(
        "{:<58} {:>10.1} s",
        format!("native: growths of 1 MB to {} VLFs", growths * 4),
        start.elapsed().as_secs_f64()
    );
    let few = [spec(directory.join("few.ldf"), 512 * MB, 0)];
    let small = LogManager::create(&env, "bench", &few, ServerVersion::V2005, LogPolicy::native(), 1).unwrap();
    small.close();
    log.save_directory();
    let mut chain = TransactionChain::new(TransactionId(1));
    while log.end().vlf < 20 {
        log.append(&mut chain, RecordKind::Change, &[&[7; 50_000]], 0).unwrap();
    }
    log.flush_to(Lsn::MAX).unwrap();
    // As after a crash: the directory knows nothing of these VLFs.
    drop(log);
    let open = |files: &[LogFileSpec], discovery| {
        let policy = LogPolicy {
            discovery,
            ..LogPolicy::native()
        };
        let opened = LogManager::open(&env, "bench", files, ServerVersion::V2005, policy).unwrap();
        opened.1.micros as f64 / 1000.0
    };
    report(
        "discovery of 8 VLFs",
        "ms",
        rounds(|| open(&few, DiscoveryMode::Directory)),
    );
    report(
        "discovery of many, after a crash",
        "ms",
        rounds(|| open(&files, DiscoveryMode::Directory)),
    );
    engine::log::delete_directory(&OsDisk, &path).unwrap();
    report(
        "discovery of many, directory lost",
        "ms",
        vec![open(&files, DiscoveryMode::Directory)],
    );
    report("discovery of many, walk", "ms", vec![open(&files, DiscoveryMode::Walk)]);
    OsDisk.delete(&path).unwrap();
}

/// `vlfs=126399` on the command line.
fn vlf_count() -> u64 {
    let named = std::env::args().find_map(|argument| argument.strip_prefix("vlfs=")?.parse().ok());
    named.unwrap_or(20_480)
}

fn main() {
    let named = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-') && !argument.contains('='));
    let root = named.map_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")), PathBuf::from);
    let directory = root.join(format!("log-commit-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let only: Option<String> = std::env::args().find_map(|argument| argument.strip_prefix("only=").map(String::from));
    let wanted = |part: &str| only.as_deref().is_none_or(|only| only == part);
    if wanted("commit") {
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
    }
    if wanted("growth") {
        growth_under_commits(&directory);
    }
    if wanted("steps") {
        growth_steps(&directory);
    }
    if wanted("vlfs") {
        commits_by_vlf_count(&directory, vlf_count());
    }
    if wanted("bulk") {
        bulk_by_vlf_count(&directory, vlf_count());
    }
    if wanted("start") {
        many_vlfs(&directory, vlf_count());
    }
    std::fs::remove_dir_all(&directory).unwrap();
}
