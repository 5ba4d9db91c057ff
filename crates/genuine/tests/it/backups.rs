//! Public backups of SQL Server. See `support::public` for where they are looked for.

use crate::support::public;
use genuine::container::{Backup, SetKind};
use genuine::page::maps::{Gam, Pfs, is_place_of_map};
use genuine::{Page, PageId, PageSource};
use vlf::{ReadAt, VlfBlocks, WalkStep};

/// Every page of every set is the one its place says, and as it was written; the extents of a set are those that its own allocation map calls
/// allocated; and the log of the set begins and ends where the set says.
#[test]
fn pages_and_log_of_a_set_are_whole() {
    for path in public::files(&["bak", "trn"]) {
        let bytes = std::fs::read(&path).unwrap();
        if !genuine::container::is_backup(&bytes) {
            continue;
        }
        let backup = Backup::open(vec![bytes]).unwrap();
        println!(
            "{}: {} sets, faults {:?}",
            path.display(),
            backup.sets().len(),
            backup.faults()
        );
        if !backup.missing_families().1.is_empty() {
            println!("   {}", backup.pages(0, &mut |_, _| {}).err().unwrap());
            continue;
        }
        assert!(backup.faults().is_empty(), "{}: {:?}", path.display(), backup.faults());
        for set in backup.sets() {
            let files = &set.configuration.files;
            let kinds: Vec<bool> = files.iter().map(|file| file.is_log()).collect();
            assert!(kinds.contains(&true) && kinds.contains(&false), "{files:?}");
        }
        for set in 0..backup.sets().len() {
            check_pages(&backup, set);
            check_log(&backup, set);
        }
    }
}

/// Whether one of the pages of an extent is a map.
fn has_map(first: PageId) -> bool {
    (first.page..first.page + 8).any(|page| is_place_of_map(PageId::new(first.file, page)))
}

fn check_pages<S: ReadAt + Sync>(backup: &Backup<S>, set: usize) {
    let mut seen = 0u32;
    let mut damaged = Vec::new();
    let pages = backup
        .pages(set, &mut |id, bytes| {
            seen += 1;
            let page = Page::of(Box::new(*bytes));
            if page.soundness().is_damaged() {
                damaged.push(id);
            }
        })
        .unwrap();
    let pass = pages.pass();
    println!(
        "   {seen} pages shown, {} damaged {:?}, {pass:?}, files {:?}",
        damaged.len(),
        damaged.first(),
        pages.files()
    );
    damaged.retain(|id| Pfs::covering(&pages, *id).unwrap().byte(*id).is_allocated());
    assert_eq!(damaged, []);
    let in_set: Vec<PageId> = pages.extents().collect();
    for file in pages.files() {
        let allocated: Vec<PageId> = (0..file.pages / 8)
            .map(|extent| PageId::new(file.id, extent * 8))
            .filter(|first| has_map(*first) || Gam::covering(&pages, *first).unwrap().is_allocated(*first))
            .collect();
        let mine: Vec<PageId> = in_set.iter().copied().filter(|page| page.file == file.id).collect();
        println!(
            "   file {}: {} extents in the set, {} allocated",
            file.id,
            mine.len(),
            allocated.len()
        );
        // A differential set has those that have changed.
        match backup.sets()[set].header.kind {
            SetKind::Differential => pages.check_changed().unwrap(),
            _ => assert_eq!(mine, allocated, "extents in the set, and those that are allocated"),
        }
    }
    for extent in in_set {
        for number in 0..8 {
            let id = PageId::new(extent.file, extent.page + number);
            if !Pfs::covering(&pages, id).unwrap().byte(id).is_allocated() {
                continue;
            }
            let page = Page::read_unchecked(&pages, id).unwrap();
            assert!(page.bytes()[1] == 0 || page.id() == id, "{id}");
        }
    }
}

fn check_log<S: ReadAt>(backup: &Backup<S>, set: usize) {
    let configuration = &backup.sets()[set].configuration;
    for log in backup.logs(set).unwrap() {
        let survey = vlf::survey(&log).unwrap();
        assert!(survey.gaps.is_empty(), "{:?}", survey.gaps);
        let (mut blocks, mut records, mut first, mut last) = (0, 0u32, None, None);
        for vlf in survey.in_sequence() {
            let mut walk = VlfBlocks::new(&log, &vlf);
            while let WalkStep::Block(_) | WalkStep::Gap { .. } = {
                let step = walk.next_step().unwrap();
                if let WalkStep::Block(block) = &step {
                    blocks += 1;
                    records += u32::from(block.header().slot_count);
                    first = first.or(Some(block.header().lsn));
                    last = Some(block.header().lsn.with_slot(block.header().slot_count));
                }
                step
            } {}
        }
        match first {
            Some(first) => assert_eq!(
                first.block, configuration.first_lsn.block,
                "the log begins where the set says"
            ),
            // Nothing was written between two log backups.
            None => assert_eq!(configuration.first_lsn, configuration.last_lsn),
        }
        println!(
            "   log file {}: {} bytes, {} VLFs, {blocks} blocks, {records} records {first:?} to {last:?}; set {} to {}",
            log.file_id(),
            log.len(),
            survey.vlfs.len(),
            configuration.first_lsn,
            configuration.last_lsn
        );
    }
}
