//! Log files grow, shrink, are added and are discovered.

use super::*;
use std::path::Path;
use vlf::LogLayout;

/// Appends until the log has `growths` growths behind it.
fn write_until_grown(log: &LogManager, growths: u64) {
    let mut chain = TransactionChain::new(TransactionId(1));
    while log.counters().growths < growths {
        log.append(&mut chain, RecordKind::Change, &[&[5; 50_000]], 0).unwrap();
        log.forget(&mut chain);
    }
    log.flush_to(Lsn::MAX).unwrap();
}

fn spans(log: &LogManager) -> Vec<(u64, u64)> {
    log.vlfs().iter().map(|vlf| (vlf.offset, vlf.bytes)).collect()
}

#[test]
fn a_log_that_grew_by_itself_has_the_layout_of_the_rules() {
    for policy in policies() {
        for (version, per_growth) in [(ServerVersion::V2005, 4), (ServerVersion::V2022, 1)] {
            let bench = Bench::new(file(MB, MB, 100 * MB), policy);
            let files = std::slice::from_ref(&bench.spec);
            let log = LogManager::create(&bench.env, "test", files, version, policy, 1).unwrap();
            write_until_grown(&log, 12);
            let mut layout = LogLayout::create(version, MB).unwrap();
            layout.grow_until(13 * MB, MB).unwrap();
            assert_eq!(layout.vlf_count(), 4 + 12 * per_growth);
            let expected: Vec<_> = layout
                .vlfs()
                .iter()
                .map(|laid| (laid.span.offset, laid.span.bytes))
                .collect();
            assert_eq!(spans(&log), expected);
            let vlfs = log.vlfs();
            assert!(vlfs[..4].iter().all(|vlf| vlf.create_lsn == Lsn::ZERO));
            assert!(vlfs[4..].iter().all(|vlf| vlf.create_lsn != Lsn::ZERO));
            drop(log);
            for discovery in [DiscoveryMode::Walk, DiscoveryMode::Directory] {
                let policy = LogPolicy { discovery, ..policy };
                let (log, found) = LogManager::open(&bench.env, "test", files, version, policy).unwrap();
                assert_eq!((log.vlfs(), found.vlf_count), (vlfs.clone(), vlfs.len()));
            }
        }
    }
}

#[test]
fn growth_by_percent_ends_at_maxsize_and_then_9002() {
    let spec = LogFileSpec {
        growth: FileGrowth::Percent(50),
        ..file(MB, 0, 3 * MB)
    };
    let bench = Bench::new(spec, LogPolicy::native());
    let log = bench.create();
    let mut chain = TransactionChain::new(TransactionId(1));
    while log.append(&mut chain, RecordKind::Change, &[&[5; 9_000]], 0).is_ok() {}
    // 1 MB, 1.5 MB, 2.25 MB, and the last step is cut to what MAXSIZE leaves.
    assert_eq!((log.files()[0].bytes, log.counters().growths), (3 * MB, 3));
    log.set_file_limits(2, 4 * MB, FileGrowth::Bytes(300 * KB)).unwrap();
    assert_eq!(
        log.files()[0].growth,
        FileGrowth::Bytes(320 * KB),
        "rounded up to 64 KB"
    );
    log.append(&mut chain, RecordKind::Change, &[&[5; 9_000]], 0).unwrap();
    assert_eq!(log.files()[0].bytes, 3 * MB + 320 * KB);
}

#[test]
fn growing_by_hand_checks_its_size() {
    let bench = Bench::new(file(MB, 0, MB), LogPolicy::native());
    let log = bench.create();
    let number = |result: Result<()>| result.unwrap_err().number;
    assert_eq!(number(log.grow_file(2, MB)), 5039);
    assert_eq!(number(log.grow_file(9, 5 * MB)), 5020);
    assert_eq!(number(log.grow_file(2, 3 << 40)), 5150);
    log.grow_file(2, 100 * MB).unwrap();
    assert_eq!((log.files()[0].bytes, log.vlfs().len()), (100 * MB, 12));
    assert_eq!(log.space().total_bytes, 100 * MB - 8192);
}

#[test]
fn a_shrink_stops_where_it_must_and_says_why() {
    let bench = Bench::new(file(MB, MB, 100 * MB), LogPolicy::native());
    let log = bench.create();
    log.grow_file(2, 5 * MB).unwrap();
    let mut chain = TransactionChain::new(TransactionId(1));
    while log.end().vlf < 42 {
        log.append(&mut chain, RecordKind::Change, &[&[5; 9_000]], 0).unwrap();
    }
    log.forget(&mut chain);
    let refusal = |target: u64| log.shrink_file(2, target).unwrap().refusal.map(|error| error.number);
    assert_eq!(refusal(5 * MB), None);
    assert_eq!(refusal(4 * MB + 8192), Some(9007), "inside the last VLF");
    assert_eq!(log.files()[0].bytes, 5 * MB);
    assert_eq!(refusal(2 * MB), None);
    assert_eq!((log.files()[0].bytes, log.vlfs().len()), (2 * MB, 5));
    assert_eq!(refusal(0), Some(9008), "the log stands in VLF 3");
    assert_eq!((log.files()[0].bytes, log.vlfs().len()), (8192 + 3 * 248 * KB, 3));
    log.flush_to(Lsn::MAX).unwrap();
    let vlfs = log.vlfs();
    drop(log);
    assert_eq!(bench.open().unwrap().vlfs(), vlfs);
}

#[test]
fn a_shrink_keeps_two_vlfs_and_the_reserve_of_rollbacks() {
    let bench = Bench::new(file(MB, MB, 100 * MB), LogPolicy::native());
    let log = bench.create();
    let mut chain = TransactionChain::new(TransactionId(1));
    log.append(&mut chain, RecordKind::Change, &[b"x"], 60_000).unwrap();
    for _ in 0..8 {
        log.append(&mut chain, RecordKind::Change, &[b"x"], 60_000).unwrap();
    }
    assert_eq!(log.shrink_file(2, 0).unwrap().refusal.unwrap().number, 9009);
    log.forget(&mut chain);
    let outcome = log.shrink_file(2, 0).unwrap();
    assert_eq!(outcome.refusal.unwrap().number, 9006);
    assert_eq!(log.vlfs().len(), 2);
    assert!(log.shrink_file(7, 0).is_err());
}

/// Two files: all of the first, then all of the second, then around again.
#[test]
fn the_log_moves_through_its_files_in_turn() {
    let bench = Bench::new(file(504 * KB, 0, 504 * KB), LogPolicy::native());
    let log = bench.create();
    let second = LogFileSpec {
        database_guid: [0; 16],
        file_id: 4,
        path: "/log/second.ldf".into(),
        logical_name: "second".into(),
        ..bench.spec.clone()
    };
    log.add_file(&second, &mut || Ok(())).unwrap();
    let mut chain = TransactionChain::new(TransactionId(1));
    let mut entered = vec![2];
    while log.end().vlf < 50 {
        let lsn = log.append(&mut chain, RecordKind::Change, &[&[5; 9_000]], 0).unwrap();
        log.flush_to(lsn).unwrap();
        log.forget(&mut chain);
        log.truncate(lsn);
        let current = log.vlfs().into_iter().max_by_key(|vlf| vlf.sequence).unwrap();
        if (current.sequence - 40) as usize == entered.len() {
            entered.push(current.file_id);
        }
    }
    assert_eq!(entered, [2, 2, 4, 4, 2, 2, 4, 4, 2, 2, 4]);
    assert_eq!(
        log.remove_file(4, &mut || Ok(())).unwrap_err().error.number,
        5042,
        "the log stands in it"
    );
    assert_eq!(log.remove_file(2, &mut || Ok(())).unwrap_err().error.number, 5020);
    log.flush_to(Lsn::MAX).unwrap();
    let (vlfs, oldest_lsn) = (log.vlfs(), oldest(&log));
    drop(log);

    let files = [bench.spec.clone(), second];
    let (log, _) = LogManager::open(&bench.env, "test", &files, ServerVersion::V2008, bench.policy).unwrap();
    assert_eq!(
        log.vlfs().iter().map(|vlf| vlf.sequence).collect::<Vec<_>>(),
        vlfs.iter().map(|vlf| vlf.sequence).collect::<Vec<_>>()
    );
    let (_, end) = read_all(&log, oldest_lsn).unwrap();
    log.resume(end).unwrap();
    while log.vlfs().iter().max_by_key(|vlf| vlf.sequence).unwrap().file_id == 4 {
        let lsn = log.append(&mut chain, RecordKind::Change, &[&[5; 9_000]], 0).unwrap();
        log.forget(&mut chain);
        log.flush_to(lsn).unwrap();
        log.truncate(lsn);
    }
    log.remove_file(4, &mut || Ok(())).unwrap();
    assert_eq!((log.files().len(), log.vlfs().len()), (1, 2));
    assert!(
        bench.disk.len(Path::new("/log/second.ldf")).unwrap().is_some(),
        "its owner deletes it"
    );
}

#[test]
fn missing_cut_and_damaged_files_are_named() {
    let bench = Bench::new(file(MB, MB, 100 * MB), LogPolicy::native());
    let log = bench.create();
    write_until_grown(&log, 3);
    drop(log);
    let path = Path::new("/log/test_log.ldf");
    for policy in [LogPolicy::native(), LogPolicy::classic()] {
        let opened = |damage: &dyn Fn(&SimDisk)| {
            let disk = bench.disk.snapshot();
            damage(&disk);
            Bench::on(disk, bench.spec.clone(), policy).open().map(|log| log.vlfs())
        };
        let sound = opened(&|_| {}).unwrap();
        let error = opened(&|disk| disk.delete(path).unwrap()).unwrap_err();
        assert_eq!(error.number, 5120);
        let error = opened(&|disk| disk.truncate_behind(path, 2 * MB).unwrap()).unwrap_err();
        assert!(error.number == 9004 && error.message.contains("was cut"), "{error}");
        let error = opened(&|disk| disk.truncate_behind(path, 100).unwrap()).unwrap_err();
        assert!(
            error.number == 9004 && error.message.contains("less than a page"),
            "{error}"
        );
        for (at, bit) in [
            (sound[5].offset, 0),
            (sound[0].offset + 4, 1),
            (sound[9].offset + 0x10, 5),
        ] {
            let error = opened(&|disk| disk.flip_bit(path, at, bit).unwrap()).unwrap_err();
            let vlf = sound.iter().rev().find(|vlf| vlf.offset <= at).unwrap();
            assert!(
                error.number == 9004 && error.message.contains(&format!("at byte {}", vlf.offset)),
                "{error}"
            );
        }
        let in_both = |disk: &SimDisk, at: u64| {
            disk.flip_bit(path, at, 0).unwrap();
            disk.flip_bit(path, 4096 + at, 0).unwrap();
        };
        let foreign = opened(&|disk| in_both(disk, 0x60)).unwrap_err();
        assert!(foreign.message.contains("not written by vlflab"), "{foreign}");
        let renumbered = Bench::on(
            bench.disk.snapshot(),
            LogFileSpec {
                database_guid: [0; 16],
                file_id: 3,
                ..bench.spec.clone()
            },
            policy,
        );
        assert!(
            renumbered
                .open()
                .is_err_and(|error| error.message.contains("it is file 2"))
        );
        // One copy of page 0 is as good as two. With both gone the headers would have to tell, and some VLFs have none.
        for at in [0x60, 0xA2, 4096 + 0x60, 4096 + 0xA2] {
            assert_eq!(opened(&|disk| disk.flip_bit(path, at, 0).unwrap()).unwrap(), sound);
        }
        let never_entered = sound.iter().find(|vlf| vlf.parity == 0).unwrap();
        let error = opened(&|disk| in_both(disk, 0xA2)).unwrap_err();
        let named = format!("at byte {}", never_entered.offset);
        assert!(error.number == 9004 && error.message.contains(&named), "{error}");
        // A growth that was cut short leaves a longer file.
        let longer = |disk: &SimDisk| disk.open(path, disk::Access::Direct).unwrap().set_len(9 * MB).unwrap();
        assert_eq!(opened(&longer).unwrap(), sound);
    }
}
