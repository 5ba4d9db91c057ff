//! Many sessions append and flush on the operating system's disk, with the background thread at work.

use super::*;
use crate::seams::SystemClock;
use disk::OsDisk;
use std::time::{SystemTime, UNIX_EPOCH};

/// A directory that is gone when the test ends.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let nanos = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
        let path = std::env::temp_dir().join(format!("vlflab-log-{name}-{}-{nanos}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn real_bench(scratch: &Scratch, spec: LogFileSpec, policy: LogPolicy) -> (Environment, LogFileSpec, Arc<LogManager>) {
    let clock = Arc::new(SystemClock::new());
    let env = Environment {
        disk: Arc::new(OsDisk),
        clock: clock.clone(),
        background: Background::Threads,
        waits: Arc::new(WaitStatistics::new()),
        activity: Arc::default(),
        errorlog: Arc::new(ErrorLog::new(clock)),
    };
    let spec = LogFileSpec {
        database_guid: [0; 16],
        path: scratch.0.join("log.ldf"),
        ..spec
    };
    let log = LogManager::create(
        &env,
        "test",
        std::slice::from_ref(&spec),
        ServerVersion::V2022,
        policy,
        1,
    )
    .unwrap();
    (env, spec, log)
}

const SESSIONS: u64 = 8;
const COMMITS: u64 = 150;

#[test]
fn sessions_that_commit_together_share_writes_and_all_come_back() {
    for policy in [LogPolicy::native(), LogPolicy::classic()] {
        let scratch = Scratch::new("group");
        let (env, spec, log) = real_bench(&scratch, file(MB, MB, 64 * MB), policy);
        std::thread::scope(|scope| {
            for session in 1..=SESSIONS {
                let log = &log;
                scope.spawn(move || {
                    for number in 0..COMMITS {
                        let mut chain = TransactionChain::new(TransactionId(session << 32 | number));
                        log.append(&mut chain, RecordKind::Begin, &[], 0).unwrap();
                        log.append(&mut chain, RecordKind::Change, &[&payload(number as u32, 300)], 300)
                            .unwrap();
                        let lsn = log.append(&mut chain, RecordKind::Commit, &[], 0).unwrap();
                        log.flush_to(lsn).unwrap();
                        assert!(log.flushed() > lsn);
                    }
                });
            }
        });
        let counters = log.counters();
        let commits = SESSIONS * COMMITS;
        assert!(
            counters.flushes * 3 < commits * 2,
            "{} writes for {commits} commits",
            counters.flushes
        );
        assert_eq!(log.space().reserved_bytes, 0);
        log.close();
        let refused = log.append_system(RecordKind::CheckpointBegin, &[]);
        assert_eq!(refused, Err(Error::log_not_available("test")));
        drop(log);
        let (log, _) = LogManager::open(&env, "test", &[spec], ServerVersion::V2022, policy).unwrap();
        let (records, _) = read_all(&log, oldest(&log)).unwrap();
        let ended = records
            .iter()
            .filter(|record| record.header.kind == RecordKind::Commit)
            .count();
        assert_eq!(ended as u64, commits);
    }
}

/// Bulk writers, growth ahead, warming, truncation and a reader all at once.
#[test]
fn a_busy_log_loses_nothing() {
    for policy in [LogPolicy::native(), LogPolicy::classic()] {
        let scratch = Scratch::new("busy");
        let (_, _, log) = real_bench(&scratch, file(2 * MB, 2 * MB, 256 * MB), policy);
        let mut scan = log.scan(oldest(&log)).unwrap();
        let total = 4 * 400;
        let mut seen = 0;
        std::thread::scope(|scope| {
            for writer in 0..4u64 {
                let log = &log;
                scope.spawn(move || {
                    let mut chain = TransactionChain::new(TransactionId(writer + 1));
                    for number in 0..400u32 {
                        let lsn = log
                            .append(&mut chain, RecordKind::Change, &[&payload(number, 12_000)], 0)
                            .unwrap();
                        if number % 50 == 49 {
                            log.flush_to(lsn).unwrap();
                        }
                    }
                    log.flush_to(chain.last).unwrap();
                    log.forget(&mut chain);
                });
            }
            while seen < total {
                while let Some(record) = scan.next().unwrap() {
                    seen += usize::from(record.header.kind == RecordKind::Change);
                }
                log.truncate(scan.position());
                std::thread::yield_now();
            }
        });
        assert_eq!(seen, total);
        assert_eq!(log.flushed(), scan.end().next.with_slot(0));
    }
}
