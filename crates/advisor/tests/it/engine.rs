//! The planner against the engine: random growth histories give the same VLFs on paper, in the engine's table and in the
//! bytes of its log file.
//!
//! Depth: 40 histories of each version; deep: 200.
#![allow(clippy::unwrap_used)]

use crate::support;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use advisor::inspection::PageZero;
use advisor::size::{GB, Growth, KB, MB};
use advisor::{Depth, Plan, PlanRequest, Start, inspect, inspect_with};
use disk::sim::SimDisk;
use disk::{Access, Disk, File};
use engine::errorlog::ErrorLog;
use engine::log::{FileGrowth, LogFileSpec, LogManager, LogPolicy, RecordKind, TransactionChain, TransactionId};
use engine::seams::{Background, Environment, ManualClock};
use engine::waits::WaitStatistics;
use support::Random;
use vlf::{ReadAt, ReadFault, ServerVersion};

const LOG: &str = "/log/plan_log.ldf";
const PAGE: u64 = 8192;

/// A file of the simulated disk as the inspector's source.
struct SimSource(Arc<dyn File>);

impl ReadAt for SimSource {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ReadFault> {
        self.0.read_at(offset, buffer).map_err(|error| ReadFault {
            offset,
            reason: error.to_string(),
        })
    }

    fn len(&self) -> u64 {
        self.0.len().unwrap()
    }
}

fn environment() -> Environment {
    let disk = SimDisk::new(7);
    disk.create_directories(Path::new("/log")).unwrap();
    let clock = Arc::new(ManualClock::starting_at(1_210_944_167_970_000));
    Environment {
        disk: Arc::new(disk),
        clock: clock.clone(),
        background: Background::Inline,
        waits: Arc::new(WaitStatistics::new()),
        activity: Arc::default(),
        errorlog: Arc::new(ErrorLog::new(clock)),
    }
}

fn created(env: &Environment, version: ServerVersion, bytes: u64, growth: FileGrowth) -> Arc<LogManager> {
    let spec = LogFileSpec {
        database_guid: [0; 16],
        file_id: 2,
        path: PathBuf::from(LOG),
        logical_name: "plan_log".to_owned(),
        bytes,
        max_bytes: u64::MAX,
        growth,
    };
    LogManager::create(env, "plan", &[spec], version, LogPolicy::native(), 40).unwrap()
}

fn spans_of_engine(log: &LogManager) -> Vec<(u64, u64)> {
    log.vlfs().iter().map(|vlf| (vlf.offset, vlf.bytes)).collect()
}

fn spans_of_plan(plan: &Plan) -> Vec<(u64, u64)> {
    plan.layout
        .vlfs()
        .iter()
        .map(|vlf| (vlf.span.offset, vlf.span.bytes))
        .collect()
}

/// What the inspector finds in the engine's own file: the same VLFs, the same steps, no damage.
fn compare_with_file(env: &Environment, plan: &Plan, depth: Depth, context: &str) {
    let file = env.disk.open(Path::new(LOG), Access::Buffered).unwrap();
    let found = inspect(&SimSource(file), depth).unwrap();
    assert_eq!(found.damage, [], "{context}");
    let spans: Vec<(u64, u64)> = found.spans().map(|(offset, bytes, _)| (offset, bytes)).collect();
    assert_eq!(spans, spans_of_plan(plan), "{context}");
    assert_eq!(found.blocks.total > 0, depth == Depth::Blocks, "{context}");
}

/// A size in pages whose class is as likely as any other: small, up to 64 MB, up to 1 GB, above; often exactly on a border.
fn random_size(random: &mut Random, bytes_min: u64) -> u64 {
    let borders = [256 * KB, MB, 64 * MB, 65 * MB, GB, 1025 * MB];
    let bytes = match random.below(6) {
        0 => 248 * KB + random.below(100) * PAGE,
        1 => borders[random.below(6) as usize],
        2 => random.below(64) * MB + random.below(128) * PAGE,
        3 => random.below(1024) * MB,
        4 => GB + random.below(3 * 131_072) * PAGE,
        _ => (1 + random.below(256)) * 64 * KB,
    };
    bytes.max(bytes_min)
}

/// A growth, sometimes exactly one eighth of the log or just beside it.
fn random_growth(random: &mut Random, file_bytes: u64) -> u64 {
    let eighth = file_bytes / 8 / PAGE * PAGE;
    let bytes = match random.below(5) {
        0 => eighth,
        1 => eighth + PAGE,
        _ => random_size(random, 248 * KB),
    };
    bytes.max(248 * KB)
}

/// Histories of each version: a random creation and random growths.
#[test]
fn random_growths_are_the_engines_own() {
    let depth = workbench::depth("histories of growths of each version", 40, 200);
    for version in ServerVersion::ALL {
        let mut random = Random::new(u64::from(version.code()));
        for history in 0..depth.units {
            let context = format!("{version}, history {history}");
            let env = environment();
            let initial = random_size(&mut random, 504 * KB);
            let log = created(&env, version, initial, FileGrowth::None);
            let mut file_bytes = initial;
            let mut growths = Vec::new();
            for _ in 0..random.below(7) {
                let growth = random_growth(&mut random, file_bytes);
                file_bytes += growth;
                growths.push(Growth::Bytes(growth));
                log.grow_file(2, file_bytes).unwrap();
            }
            let request = PlanRequest {
                version,
                start: Start::Create(initial),
                growths,
                autogrowth: None,
                to_bytes: None,
            };
            let plan = Plan::of(&request).unwrap();
            assert_eq!(spans_of_engine(&log), spans_of_plan(&plan), "{context}: {request:?}");
            if history % 10 == 0 {
                compare_with_file(&env, &plan, Depth::Headers, &context);
            }
        }
    }
    depth.count();
}

/// Logs that grow by themselves, by a size and by a percentage, while a transaction fills them.
#[test]
fn automatic_growths_are_the_engines_own() {
    let settings = [
        (504 * KB, FileGrowth::Percent(10), Growth::Percent(10)),
        (528 * KB, FileGrowth::Percent(25), Growth::Percent(25)),
        (MB, FileGrowth::Bytes(MB), Growth::Bytes(MB)),
        (MB, FileGrowth::Bytes(256 * KB), Growth::Bytes(256 * KB)),
    ];
    let payload = vec![0x5A; 30_000];
    for version in [ServerVersion::V2005, ServerVersion::V2014, ServerVersion::V2022] {
        for (initial, setting, growth) in settings {
            let context = format!("{version}, {growth}");
            let env = environment();
            let log = created(&env, version, initial, setting);
            let mut chain = TransactionChain::new(TransactionId(1));
            log.append(&mut chain, RecordKind::Begin, &[], 0).unwrap();
            let mut records = 1;
            while log.files()[0].bytes < 4 * initial {
                log.append(&mut chain, RecordKind::Change, &[&payload], 0).unwrap();
                records += 1;
            }
            log.append(&mut chain, RecordKind::Commit, &[], 0).unwrap();
            log.flush_to(log.end()).unwrap();
            let plan = Plan::of(&PlanRequest {
                version,
                start: Start::Create(initial),
                growths: Vec::new(),
                autogrowth: Some(growth),
                to_bytes: Some(log.files()[0].bytes),
            })
            .unwrap();
            assert!(plan.growths().len() >= 3, "{context}");
            assert_eq!(spans_of_engine(&log), spans_of_plan(&plan), "{context}");
            compare_with_file(&env, &plan, Depth::Blocks, &context);
            let file = env.disk.open(Path::new(LOG), Access::Buffered).unwrap();
            let found = inspect(&SimSource(file), Depth::Blocks).unwrap();
            let growth_steps = plan.growths().len() + 1;
            assert_eq!(found.growths.len(), growth_steps, "{context}");
            assert!(
                found.growths.iter().all(|event| event.versions.contains(&version)),
                "{context}"
            );
            assert_eq!(found.records, records + 1, "{context}");
            let count = |name: &str| {
                found
                    .records_by_kind
                    .iter()
                    .find(|kind| kind.operation == name)
                    .map(|kind| kind.count)
            };
            assert_eq!(
                count(RecordKind::Change.operation_name()),
                Some(records - 1),
                "{context}"
            );
            assert_eq!(count(RecordKind::Commit.operation_name()), Some(1), "{context}");
        }
    }
}

/// A log of ours grown 299 times was reported as "created" with 284 MB "as a whole", and its create LSNs were 0: most of its VLFs were
/// never entered, so they have no header, and page 0 remembers the last growths alone. The directory beside the log has them all.
#[test]
fn the_growths_of_vlfs_without_headers_are_told_apart() {
    let env = environment();
    let log = created(&env, ServerVersion::V2022, 8 * MB, FileGrowth::None);
    let mut chain = TransactionChain::new(TransactionId(1));
    log.append(&mut chain, RecordKind::Begin, &[], 0).unwrap();
    for growth in 1..300u64 {
        log.append(&mut chain, RecordKind::Change, &[&[0x5A; 600]], 0).unwrap();
        log.flush_to(log.end()).unwrap();
        log.grow_file(2, 8 * MB + growth * MB).unwrap();
    }
    log.append(&mut chain, RecordKind::Commit, &[], 0).unwrap();
    log.flush_to(log.end()).unwrap();
    log.save_directory();
    let loginfo: Vec<_> = log.vlfs().iter().map(|vlf| vlf.create_lsn).collect();
    assert_eq!(loginfo.len(), 303);

    let file = env.disk.open(Path::new(LOG), Access::Buffered).unwrap();
    let source = SimSource(file);
    let alone = inspect(&source, Depth::Blocks).unwrap();
    assert_eq!(alone.damage, []);
    assert_eq!(alone.growths.len(), 300);
    let sizes: Vec<u64> = alone.growths.iter().map(|event| event.growth_bytes()).collect();
    assert_eq!((sizes[0], sizes[1..].iter().all(|bytes| *bytes == MB)), (8 * MB, true));
    assert!(
        alone
            .growths
            .iter()
            .all(|event| event.versions.contains(&ServerVersion::V2022))
    );
    let known: Vec<bool> = alone.vlfs.iter().map(|vlf| vlf.create_lsn.is_some()).collect();
    assert!(known[..4].iter().all(|known| *known), "the creation");
    assert_eq!(
        known.iter().filter(|known| !**known).count(),
        303 - 4 - 16,
        "what page 0 has forgotten"
    );
    let table = advisor::render::inspection_table(&alone, "log.ldf", false);
    assert!(table.contains("not known"), "{table}");

    let PageZero::Vlflab(page) = &alone.page_zero else {
        panic!("{:?}", alone.page_zero)
    };
    let recorded = engine::log::recorded_create_lsns(&*env.disk, Path::new(LOG), 2, page.created_ticks).unwrap();
    let beside = inspect_with(&source, Depth::Blocks, &recorded).unwrap();
    let found: Vec<_> = beside.vlfs.iter().map(|vlf| vlf.create_lsn.unwrap()).collect();
    assert_eq!(found, loginfo, "as DBCC LOGINFO has them");
    assert_eq!(beside.growths.len(), 300);
    // A directory of another file of the same name says nothing.
    let other = engine::log::recorded_create_lsns(&*env.disk, Path::new(LOG), 2, page.created_ticks + 1).unwrap();
    assert!(other.is_empty());
}

/// The names the inspector gives our records are the engine's, and the numbers of earlier releases are understood.
#[test]
fn record_names_are_the_engines() {
    let name_of = |number: u8| {
        let record = [4, 0, number, 0];
        advisor::record_kind::name_of(vlf::FormatVersion::Vlflab, &record).unwrap()
    };
    for kind in RecordKind::ALL {
        assert_eq!(name_of(kind as u8), kind.operation_name());
    }
    for (former, kind) in [(160, RecordKind::CheckpointLocks), (161, RecordKind::IdRange)] {
        assert_eq!(RecordKind::from_number(former), Some(kind));
        assert_eq!(name_of(former), kind.operation_name());
    }
}
