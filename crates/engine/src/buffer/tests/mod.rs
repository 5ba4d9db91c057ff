//! The pool against a model of what its pages must hold, on a simulated disk.

#![allow(clippy::unwrap_used)]

mod durability;
mod pool;
mod redo;
mod stress;

use super::*;
use crate::error::Error;
use crate::errorlog::ErrorLog;
use crate::page::{ObjectId, PAGE_BYTES, PageKind, PageOperation, PageRef};
use crate::seams::{Background, Environment, ManualClock};
use crate::waits::WaitStatistics;
use disk::sim::SimDisk;
use parking_lot::Mutex;
use std::path::PathBuf;
use std::sync::Arc;

pub(super) const DATABASE: DatabaseId = DatabaseId(5);

pub(super) fn environment(disk: Arc<dyn disk::Disk>) -> Environment {
    let clock = Arc::new(ManualClock::starting_at(1_000_000));
    Environment {
        disk,
        clock: clock.clone(),
        background: Background::Inline,
        waits: Arc::new(WaitStatistics::new()),
        activity: Arc::default(),
        errorlog: Arc::new(ErrorLog::new(clock)),
    }
}

/// A log that hands out LSNs and remembers how far it was flushed.
#[derive(Default)]
pub(super) struct MockLog {
    state: Mutex<(u32, Lsn)>,
    refuse: Mutex<Option<Error>>,
}

impl MockLog {
    pub(super) fn next(&self) -> Lsn {
        let mut state = self.state.lock();
        state.0 += 1;
        Lsn::new(1, state.0, 1)
    }

    pub(super) fn refuse_flushes(&self, error: Option<Error>) {
        *self.refuse.lock() = error;
    }
}

impl LogFlush for MockLog {
    fn flush_to(&self, lsn: Lsn) -> Result<()> {
        if let Some(error) = &*self.refuse.lock() {
            return Err(error.clone());
        }
        let mut state = self.state.lock();
        state.1 = state.1.max(lsn);
        Ok(())
    }

    fn flushed(&self) -> Lsn {
        self.state.lock().1
    }
}

pub(super) fn identity() -> DatabaseIdentity {
    DatabaseIdentity {
        id: 5,
        name: "vlf".to_string(),
        guid: *b"0123456789abcdef",
    }
}

pub(super) fn primary_path() -> PathBuf {
    PathBuf::from("/vlf.mdf")
}

pub(super) fn specification(id: u16, path: &str, pages: u64) -> DataFileSpecification {
    DataFileSpecification {
        id,
        path: PathBuf::from(path),
        logical_name: format!("vlf{id}"),
        bytes: pages * PAGE_BYTES as u64,
        bytes_max: None,
        growth: FileGrowth::Bytes(1 << 20),
        filegroup: 1,
    }
}

pub(super) fn specifications() -> [DataFileSpecification; 2] {
    [specification(1, "/vlf.mdf", 64), specification(3, "/vlf2.ndf", 64)]
}

/// A pool with one database of two files.
pub(super) struct Bench {
    pub environment: Environment,
    pub disk: SimDisk,
    pub log: Arc<MockLog>,
    pub files: Arc<DataFiles>,
    pub pool: BufferPool,
}

impl Bench {
    pub(super) fn new(frames: u64) -> Bench {
        let disk = SimDisk::new(7);
        let environment = environment(Arc::new(disk.clone()));
        let files = DataFiles::create(&environment, identity(), &specifications(), FileOptions::default()).unwrap();
        Bench::with(environment, disk, files, Arc::default(), frames)
    }

    /// Lets the test open the files beside those that are open.
    pub(super) fn unlock_files(&self) {
        self.files.open_files().iter().for_each(|file| file.unlock());
    }

    /// The database as it is found on a disk after a restart.
    pub(super) fn open(disk: SimDisk, log: Arc<MockLog>, frames: u64) -> (Bench, TornReport) {
        let environment = environment(Arc::new(disk.clone()));
        let files = DataFiles::open(&environment, identity(), &specifications(), FileOptions::default()).unwrap();
        let report = files.recover_torn().unwrap();
        (Bench::with(environment, disk, files, log, frames), report)
    }

    fn with(environment: Environment, disk: SimDisk, files: DataFiles, log: Arc<MockLog>, frames: u64) -> Bench {
        let files = Arc::new(files);
        let pool = BufferPool::new(environment.clone(), frames * PAGE_BYTES as u64);
        pool.attach(DATABASE, files.clone(), log.clone());
        Bench {
            environment,
            disk,
            log,
            files,
            pool,
        }
    }

    /// Makes the page one with a single row of the given fill.
    pub(super) fn create(&self, id: PageId, fill: u8) -> Lsn {
        let lsn = self.log.next();
        let mut page = self.pool.fresh(DATABASE, id).unwrap();
        let format = PageOperation::Format {
            kind: PageKind::Heap,
            level: 0,
            object: ObjectId(9),
            next: PageId::NONE,
            previous: PageId::NONE,
        };
        page.apply(&format, lsn).unwrap();
        page.apply(
            &PageOperation::InsertAt {
                slot: 0,
                row: &row(fill),
            },
            lsn,
        )
        .unwrap();
        lsn
    }

    /// Replaces the page's row.
    pub(super) fn change(&self, id: PageId, fill: u8) -> Lsn {
        let lsn = self.log.next();
        let mut page = self.pool.write(DATABASE, id).unwrap();
        let replace = PageOperation::ReplaceRow {
            slot: 0,
            before: &[],
            after: &row(fill),
        };
        page.apply(&replace, lsn).unwrap();
        lsn
    }

    pub(super) fn fill_of(&self, id: PageId) -> Result<u8> {
        let page = self.pool.read(DATABASE, id)?;
        Ok(fill_of(page.view()))
    }
}

pub(super) fn row(fill: u8) -> Vec<u8> {
    let mut row = vec![fill; 7_000];
    row[0] = 0;
    row
}

/// The fill of the page's row, which must be one and the same from end to end.
pub(super) fn fill_of(page: PageRef<'_>) -> u8 {
    let row = page.row(0).unwrap();
    assert!(row[1..].iter().all(|byte| *byte == row[1]), "a row of two images");
    row[1]
}
