#![allow(clippy::unwrap_used)]
//! Tests of the log as its users see it, on a simulated disk unless said otherwise.

mod borders;
mod concurrency;
mod directory;
mod faults;
mod files;
mod group;
mod headers;
mod in_flight;
mod panics;
mod power;
mod ring;
mod rollback;
mod round_trip;
mod shrink;
mod warming;

use super::*;
use crate::errorlog::ErrorLog;
use crate::seams::ManualClock;
use crate::waits::WaitStatistics;
use disk::Disk;
use disk::sim::SimDisk;
use std::path::PathBuf;

pub(super) const KB: u64 = 1024;
pub(super) const MB: u64 = 1024 * KB;

pub(super) fn environment(disk: Arc<dyn Disk>) -> Environment {
    let clock = Arc::new(ManualClock::starting_at(1_210_944_167_970_000));
    Environment {
        disk,
        clock: clock.clone(),
        background: Background::Inline,
        waits: Arc::new(WaitStatistics::new()),
        activity: Arc::default(),
        errorlog: Arc::new(ErrorLog::new(clock)),
    }
}

/// A log file of `bytes` that grows by `growth_bytes` (0 = not at all) up to `max_bytes`.
pub(super) fn file(bytes: u64, growth_bytes: u64, max_bytes: u64) -> LogFileSpec {
    LogFileSpec {
        database_guid: [0; 16],
        file_id: 2,
        path: PathBuf::from("/log/test_log.ldf"),
        logical_name: "test_log".to_string(),
        bytes,
        max_bytes,
        growth: if growth_bytes == 0 {
            FileGrowth::None
        } else {
            FileGrowth::Bytes(growth_bytes)
        },
    }
}

/// A database's log on a simulated disk.
pub(super) struct Bench {
    pub(super) disk: SimDisk,
    pub(super) env: Environment,
    pub(super) spec: LogFileSpec,
    pub(super) policy: LogPolicy,
}

impl Bench {
    pub(super) fn new(spec: LogFileSpec, policy: LogPolicy) -> Bench {
        let disk = SimDisk::new(7);
        disk.create_directories(std::path::Path::new("/log")).unwrap();
        Bench::on(disk, spec, policy)
    }

    pub(super) fn on(disk: SimDisk, spec: LogFileSpec, policy: LogPolicy) -> Bench {
        let env = environment(Arc::new(disk.clone()));
        Bench {
            disk,
            env,
            spec,
            policy,
        }
    }

    pub(super) fn create(&self) -> Arc<LogManager> {
        self.try_create().unwrap()
    }

    pub(super) fn try_create(&self) -> Result<Arc<LogManager>> {
        LogManager::create(
            &self.env,
            "test",
            std::slice::from_ref(&self.spec),
            ServerVersion::V2008,
            self.policy,
            40,
        )
    }

    pub(super) fn open(&self) -> Result<Arc<LogManager>> {
        LogManager::open(
            &self.env,
            "test",
            std::slice::from_ref(&self.spec),
            ServerVersion::V2008,
            self.policy,
        )
        .map(|(log, _)| log)
    }

    /// Opens the log, reads it from its oldest active VLF, and makes it appendable: what recovery does.
    pub(super) fn recover(&self) -> Result<(Arc<LogManager>, Vec<OwnedRecord>)> {
        let log = self.open()?;
        let from = oldest(&log);
        let (records, end) = read_all(&log, from)?;
        log.resume(end)?;
        Ok((log, records))
    }
}

/// Lets a test open the files of a log beside those that are open.
pub(super) fn unlock_files(log: &LogManager) {
    log.open_files().iter().for_each(|file| file.unlock());
}

/// Every way to do the log's work: classic, native, and native with one mechanism classic at a time.
pub(super) fn policies() -> Vec<LogPolicy> {
    let (classic, native) = (LogPolicy::classic(), LogPolicy::native());
    vec![
        classic,
        native,
        LogPolicy {
            growth: classic.growth,
            ..native
        },
        LogPolicy {
            initialization: classic.initialization,
            ..native
        },
        LogPolicy {
            vlf_headers: classic.vlf_headers,
            ..native
        },
        LogPolicy {
            vlf_switch: classic.vlf_switch,
            ..native
        },
        LogPolicy {
            discovery: classic.discovery,
            ..native
        },
        LogPolicy {
            scan: classic.scan,
            ..native
        },
        LogPolicy {
            commit_flush: classic.commit_flush,
            ..native
        },
    ]
}

/// First LSN of the oldest active VLF.
pub(super) fn oldest(log: &LogManager) -> Lsn {
    let vlfs = log.vlfs();
    let active = vlfs.iter().filter(|vlf| vlf.status == 2);
    active.min_by_key(|vlf| vlf.sequence).unwrap().first_lsn
}

pub(super) fn read_all(log: &Arc<LogManager>, from: Lsn) -> Result<(Vec<OwnedRecord>, EndOfLog)> {
    let mut scan = log.scan(from)?;
    let mut records = Vec::new();
    while let Some(record) = scan.next()? {
        records.push(record.to_owned());
    }
    Ok((records, scan.end()))
}

/// A payload that says which record it belongs to; its length varies with `number`.
pub(super) fn payload(number: u32, bytes: usize) -> Vec<u8> {
    let mut payload = number.to_le_bytes().to_vec();
    let bytes = bytes.max(payload.len());
    payload.reserve_exact(bytes - payload.len());
    // Each byte is one more than the one before it: whole rounds of all of them are copied.
    let round: [u8; 256] = std::array::from_fn(|index| (number as usize * 31 + 4 + index) as u8);
    while payload.len() < bytes {
        payload.extend_from_slice(&round[..round.len().min(bytes - payload.len())]);
    }
    payload
}

pub(super) fn number_of(record: &OwnedRecord) -> u32 {
    u32::from_le_bytes(*record.payload.first_chunk::<4>().unwrap())
}
