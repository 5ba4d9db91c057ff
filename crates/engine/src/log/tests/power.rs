//! The power is cut at every operation of a workload that grows, switches, wraps and truncates its log.
//!
//! After each cut the log must open, and reading it must yield exactly a prefix of what was appended that includes
//! everything acknowledged. Then the log goes on, and a second restart must see both parts and nothing left over from the
//! interrupted write.
//!
//! Depth: one operation in 3; deep: every one.

use super::*;
use disk::sim::CutPolicy;

/// What the workload knows, as a recovery would from its boot page and a user from acknowledgements.
#[derive(Default)]
struct Ledger {
    appended: Vec<Lsn>,
    acknowledged: usize,
    /// Where recovery would start: durable before the log is truncated to it.
    from: usize,
}

/// 240 records of changing size; flushes in between, some covering many blocks; truncation now and then.
fn run(log: &LogManager, ledger: &mut Ledger) -> Result<()> {
    let mut chain = TransactionChain::new(TransactionId(1));
    for number in 0..240u32 {
        let bytes = [40, 700, 9_000, 30_000][number as usize % 4];
        ledger
            .appended
            .push(log.append(&mut chain, RecordKind::Change, &[&payload(number, bytes)], 0)?);
        log.forget(&mut chain);
        if [2, 9, 10, 30, 33, 34, 35, 60, 61, 90, 118].contains(&number) || number % 11 == 0 {
            log.flush_to(ledger.appended[number as usize])?;
            ledger.acknowledged = number as usize + 1;
        }
        if number % 80 == 78 {
            ledger.from = ledger.acknowledged - 1;
            log.truncate(ledger.appended[ledger.from]);
            // As a checkpoint does.
            log.save_directory();
        }
    }
    Ok(())
}

fn bench(policy: LogPolicy) -> Bench {
    Bench::new(file(504 * KB, 256 * KB, 2 * MB), policy)
}

/// Restarts after the cut, checks, goes on, restarts again and checks again.
fn check_after_cut(disk: SimDisk, policy: LogPolicy, ledger: &Ledger, what: &str) {
    let restarted = Bench::on(disk, file(504 * KB, 256 * KB, 2 * MB), policy);
    let from = ledger.appended[ledger.from];
    let log = restarted.open().unwrap_or_else(|error| panic!("{what}: {error}"));
    super::directory::assert_needed_as_headers_say(&log, &restarted, what);
    let (records, end) = read_all(&log, from).unwrap_or_else(|error| panic!("{what}: {error}"));
    let survived = ledger.from + records.len();
    assert!(
        survived >= ledger.acknowledged,
        "{what}: {survived} survived, {} acknowledged",
        ledger.acknowledged
    );
    for (index, record) in records.iter().enumerate() {
        let number = ledger.from + index;
        assert_eq!(number_of(record) as usize, number, "{what}");
        if let Some(lsn) = ledger.appended.get(number) {
            assert_eq!(record.lsn, *lsn, "{what}");
        }
    }
    let (twice, survivors) = (restarted.disk.snapshot(), ledger.from as u32..survived as u32);
    check_second_cut(twice, policy, from, survivors, what);
    log.truncate(from);
    log.resume(end).unwrap();
    let mut chain = TransactionChain::new(TransactionId(2));
    for number in 0..6u32 {
        let lsn = log
            .append(&mut chain, RecordKind::Change, &[&payload(1_000 + number, 20_000)], 0)
            .unwrap();
        log.flush_to(lsn).unwrap();
    }
    drop(log);
    let log = restarted
        .open()
        .unwrap_or_else(|error| panic!("{what}, second restart: {error}"));
    let (again, _) = read_all(&log, from).unwrap_or_else(|error| panic!("{what}, second restart: {error}"));
    let numbers: Vec<u32> = again.iter().map(number_of).collect();
    let expected: Vec<u32> = (ledger.from as u32..survived as u32).chain(1_000..1_006).collect();
    assert_eq!(numbers, expected, "{what}, second restart");
}

/// The power goes again while the log goes on after the first restart.
fn check_second_cut(disk: SimDisk, policy: LogPolicy, from: Lsn, survivors: std::ops::Range<u32>, what: &str) {
    for cut in [CutPolicy::RandomSectors, CutPolicy::RandomWrites] {
        let cut_at = disk.operation_count() + 2 + u64::from(survivors.end % 9);
        let restarted = Bench::on(disk.snapshot(), file(504 * KB, 256 * KB, 2 * MB), policy);
        restarted.disk.power_cut_at(cut_at);
        let log = restarted.open().unwrap();
        let (_, end) = read_all(&log, from).unwrap();
        log.truncate(from);
        let mut acknowledged = 1_000;
        if log.resume(end).is_ok() {
            let mut chain = TransactionChain::new(TransactionId(2));
            for number in 1_000..1_012u32 {
                let appended = log.append(&mut chain, RecordKind::Change, &[&payload(number, 25_000)], 0);
                match appended.and_then(|lsn| log.flush_to(lsn)) {
                    Ok(()) => acknowledged = number + 1,
                    Err(_) => break,
                }
            }
        }
        drop(log);
        let disk = restarted.disk.after_power_cut(cut, cut_at);
        let log = Bench::on(disk, restarted.spec.clone(), policy).open().unwrap();
        let (records, _) = read_all(&log, from).unwrap_or_else(|error| panic!("{what}, second cut: {error}"));
        let numbers: Vec<u32> = records.iter().map(number_of).collect();
        let continued = numbers.len() as u32 - (survivors.end - survivors.start);
        assert!(
            1_000 + continued >= acknowledged,
            "{what}, second cut lost acknowledged records"
        );
        let expected: Vec<u32> = survivors.clone().chain(1_000..1_000 + continued).collect();
        assert_eq!(numbers, expected, "{what}, second cut");
    }
}

/// Answers how many cuts a run that tries all of them has, near enough.
fn cut_everywhere(policy: LogPolicy, cuts: &[CutPolicy]) -> usize {
    let whole = bench(policy);
    let log = whole.create();
    let created_at = whole.disk.operation_count();
    let mut ledger = Ledger::default();
    run(&log, &mut ledger).unwrap();
    let counters = log.counters();
    assert!(counters.growths >= 2 && counters.truncations >= 2, "{counters:?}");
    assert!(log.vlfs().iter().any(|vlf| vlf.parity == 128), "no VLF was used twice");
    let last = whole.disk.operation_count();
    let sample = workbench::sample("operations of a log with a power cut", 3);
    let mut tried = 0;
    for at in (created_at + 1..=last).step_by(sample.one_in) {
        for cut in cuts {
            let bench = bench(policy);
            let log = bench.create();
            bench.disk.power_cut_at(at);
            let mut ledger = Ledger::default();
            // A cut during growth ahead of need may be the last thing that happens: nobody waited for it.
            let outcome = run(&log, &mut ledger);
            assert!(bench.disk.power_is_cut() && (outcome.is_err() || at > last - 12));
            if ledger.appended.is_empty() {
                continue;
            }
            let disk = bench.disk.after_power_cut(*cut, at);
            check_after_cut(disk, policy, &ledger, &format!("{policy:?}, {cut:?} at operation {at}"));
            tried += 1;
        }
    }
    sample.count(tried as u64);
    tried * sample.one_in
}

const CUTS: [CutPolicy; 6] = [
    CutPolicy::AllLost,
    CutPolicy::AllKept,
    CutPolicy::RandomSectors,
    CutPolicy::RandomWrites,
    CutPolicy::TornLastWrite { sectors_kept: 1 },
    CutPolicy::TornLastWrite { sectors_kept: 33 },
];

#[test]
fn every_cut_of_the_native_log_leaves_a_prefix_with_everything_acknowledged() {
    let tried = cut_everywhere(LogPolicy::native(), &CUTS);
    println!("{tried} cuts");
    assert!(tried > 200);
}

#[test]
fn every_cut_of_the_classic_log_leaves_a_prefix_with_everything_acknowledged() {
    let tried = cut_everywhere(LogPolicy::classic(), &CUTS);
    println!("{tried} cuts");
    assert!(tried > 200);
}

#[test]
fn every_cut_of_mixed_policies_leaves_a_prefix_with_everything_acknowledged() {
    let tried: usize = policies()[2..]
        .iter()
        .map(|policy| cut_everywhere(*policy, &[CutPolicy::RandomSectors]))
        .sum();
    println!("{tried} cuts");
    assert!(tried > 300);
}
