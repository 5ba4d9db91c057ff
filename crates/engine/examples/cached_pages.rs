//! What a cached page costs: fixing it shared, fixing it exclusively, changing a few bytes of a row, on one thread and on two.
//!
//! `cargo run --release -p vlflab-engine --example cached_pages`

use disk::sim::SimDisk;
use engine::buffer::{
    BufferPool, DataFileSpecification, DataFiles, DatabaseId, DatabaseIdentity, FileGrowth, FileOptions, LogFlush,
};
use engine::error::Result;
use engine::errorlog::ErrorLog;
use engine::page::{ObjectId, PAGE_BYTES, PageId, PageKind, PageOperation, checksum_holds, seal};
use engine::seams::{Background, Environment, SystemClock};
use engine::waits::WaitStatistics;
use std::hint::black_box;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use vlf::Lsn;

const DATABASE: DatabaseId = DatabaseId(5);
const PAGES: u32 = 4_000;
const ROUNDS: u32 = 1_000_000;
const ROW_BYTES: usize = 100;

struct NoLog;

impl LogFlush for NoLog {
    fn flush_to(&self, _: Lsn) -> Result<()> {
        Ok(())
    }

    fn flushed(&self) -> Lsn {
        Lsn::MAX
    }
}

fn pool() -> Result<BufferPool> {
    let clock = Arc::new(SystemClock::new());
    let environment = Environment {
        disk: Arc::new(SimDisk::new(1)),
        clock: clock.clone(),
        background: Background::Inline,
        waits: Arc::new(WaitStatistics::new()),
        activity: Arc::default(),
        errorlog: Arc::new(ErrorLog::new(clock)),
    };
    let identity = DatabaseIdentity {
        id: 5,
        name: "bench".to_string(),
        guid: [0; 16],
    };
    let specification = DataFileSpecification {
        id: 1,
        path: PathBuf::from("/bench.mdf"),
        logical_name: "bench".to_string(),
        bytes: u64::from(PAGES) * PAGE_BYTES as u64,
        bytes_max: None,
        growth: FileGrowth::Bytes(0),
        filegroup: 1,
    };
    let files = DataFiles::create(&environment, identity, &[specification], FileOptions::default())?;
    let pool = BufferPool::new(environment, 2 * u64::from(PAGES) * PAGE_BYTES as u64);
    pool.attach(DATABASE, Arc::new(files), Arc::new(NoLog));
    Ok(pool)
}

fn prepare(pool: &BufferPool) -> Result<()> {
    let format = PageOperation::Format {
        kind: PageKind::Heap,
        level: 0,
        object: ObjectId(1),
        next: PageId::NONE,
        previous: PageId::NONE,
    };
    let row = [0; ROW_BYTES];
    for page in 1..PAGES {
        let mut page = pool.fresh(DATABASE, PageId::new(1, page))?;
        page.apply(&format, Lsn::new(1, 1, 1))?;
        for slot in 0..50 {
            page.apply(&PageOperation::InsertAt { slot, row: &row }, Lsn::new(1, 1, 1))?;
        }
    }
    Ok(())
}

fn nth(round: u32) -> PageId {
    PageId::new(1, 1 + round.wrapping_mul(2_654_435_761) % (PAGES - 1))
}

fn measure(name: &str, count: u32, mut work: impl FnMut(u32) -> Result<()>) -> Result<()> {
    let start = Instant::now();
    (0..count).try_for_each(&mut work)?;
    println!(
        "{name:<44} {:>8.1} ns",
        start.elapsed().as_nanos() as f64 / f64::from(count)
    );
    Ok(())
}

fn main() -> Result<()> {
    let pool = pool()?;
    prepare(&pool)?;
    let read = |round| {
        pool.read(DATABASE, nth(round)).map(|page| {
            black_box(page.view().lsn());
        })
    };
    measure("read, one thread", ROUNDS, read)?;
    let read_one = |_| {
        pool.read(DATABASE, nth(1)).map(|page| {
            black_box(page.view().lsn());
        })
    };
    measure("read of one and the same page", ROUNDS, read_one)?;
    std::thread::scope(|scope| {
        let other = scope.spawn(|| (0..ROUNDS).try_for_each(|round| read(round.wrapping_add(77))));
        measure("read, two threads", ROUNDS, read)?;
        other.join().unwrap_or(Ok(()))
    })?;
    measure("write without a change", ROUNDS, |round| {
        pool.write(DATABASE, nth(round)).map(drop)
    })?;
    measure("write and patch 4 bytes of a row", ROUNDS, |round| {
        let bytes = round.to_le_bytes();
        let mut page = pool.write(DATABASE, nth(round))?;
        let before: [u8; 4] = page
            .view()
            .row(7)
            .and_then(|row| row[8..].first_chunk().copied())
            .unwrap_or_default();
        page.apply(
            &PageOperation::PatchRow {
                slot: 7,
                offset: 8,
                before: &before,
                after: &bytes,
            },
            Lsn::new(1, 2, 1),
        )
    })?;
    let mut page = pool.read(DATABASE, nth(1))?.to_owned();
    measure("seal a page", 100_000, |_| {
        seal(&mut page);
        Ok(())
    })?;
    measure("verify a page's checksum", 100_000, |_| {
        black_box(checksum_holds(&page));
        Ok(())
    })
}
