//! Databases, backup sets and log chains of format 3 in which no row was deleted and no column lies outside of its row: kept files of an earlier
//! build are opened, recovered and restored, and their tables then give pages back and hold long values.
#![allow(clippy::unwrap_used)]

use crate::story;

use std::path::Path;

use disk::Disk;
use disk::sim::SimDisk;
use engine::log::LogPolicy;
use engine::page::{HEADER_BYTES, PAGE_BYTES};
use engine::store::BOOT_PAGES;
use story::{Again, Story};

const STOPPED: &[u8] = include_bytes!("../format_3/stopped.zst");
const KILLED: &[u8] = include_bytes!("../format_3/killed.zst");
const MEDIA: &[u8] = include_bytes!("../format_3/media.zst");

/// Feature bits of the boot record: values outside of rows, and extents of such values given back.
const LATER: u32 = 512 | 134_217_728;
/// Where a page has them: behind its header and the head of its row.
const AT_FEATURES: usize = HEADER_BYTES + 10 + 180;

fn unpacked(archive: &[u8]) -> SimDisk {
    let disk = SimDisk::new(3);
    Story::unpacked(archive, &disk);
    disk
}

/// The feature bits of both copies of the boot record.
fn features(disk: &SimDisk) -> u32 {
    let file = disk
        .open(Path::new("/instance/c/kept.mdf"), disk::Access::Buffered)
        .unwrap();
    let both = BOOT_PAGES.map(|id| {
        let mut page = [0; PAGE_BYTES];
        file.read_at(id.file_offset(), &mut page).unwrap();
        u32::from_le_bytes(*page[AT_FEATURES..].first_chunk().unwrap())
    });
    both[0] | both[1]
}

/// What kept.sql has put in, and `more` rows of the heap behind it.
fn has_its_rows(story: &mut Story, more: usize) {
    let sum: usize = (1..=600).map(|id| id % 400).sum();
    let rows = "select count(*), sum(len(text)) from tree with (index (by_n))";
    assert_eq!(story.rows(rows), [format!("600 {sum}")]);
    let heap = "select count(*) from heap with (index (by_id)) where id > 0";
    assert_eq!(story.rows(heap), [(600 + more).to_string()]);
    assert_eq!(
        story.rows("select sum(len(text)) from heap where id <= 600"),
        [sum.to_string()]
    );
}

/// Rows go and their pages come back; columns leave their rows, change and go.
fn goes_on(story: &mut Story) {
    story.run("use kept");
    let used = "select sum(used_page_count) from sys.dm_db_partition_stats where object_id in (object_id('heap'), object_id('tree'))";
    let before: u64 = story.rows(used)[0].parse().unwrap();
    story.run("alter table tree add large varchar(max) null, second varchar(8000) null");
    story.run("update tree set large = replicate(cast('l' as varchar(max)), 20000 + id), second = replicate('s', 7000) where id % 10 = 0");
    story.run(
        "delete heap where id % 50 <> 0 delete tree where id % 50 <> 0 update heap set text = replicate('x', 1500)",
    );
    for again in [Again::StopStart, Again::Kill] {
        story.again(again, "kept");
        story.run("use kept");
        let long = "select count(*), min(len(large)), min(len(second)) from tree";
        assert_eq!(story.rows(long), ["12 20050 7000"]);
        story.is_sound("kept");
    }
    story.run("delete tree delete heap");
    for _ in 0..3 {
        story.instance.run_due_checkpoints();
    }
    let after: u64 = story.rows(used)[0].parse().unwrap();
    assert!(after < before / 2, "{after} of {before} pages");
    story.is_sound("kept");
}

#[test]
fn a_database_is_opened_as_it_is_and_gives_back_pages_from_then_on() {
    for (archive, policy) in [
        (STOPPED, LogPolicy::native()),
        (STOPPED, LogPolicy::classic()),
        (KILLED, LogPolicy::native()),
        (KILLED, LogPolicy::classic()),
    ] {
        let disk = unpacked(archive);
        assert_eq!(features(&disk) & LATER, 0, "the kept file has none of it");
        let mut story = Story::on(disk, policy);
        story.run("use kept");
        // The full backup and its logs lie between the stopped one's rows.
        has_its_rows(&mut story, if archive == STOPPED { 2 } else { 0 });
        assert_eq!(story.rows("select count(*) from tree where id > 600"), ["0"]);
        story.is_sound("kept");
        assert_eq!(
            features(&story.disk) & LATER,
            0,
            "nothing is rewritten before it is used"
        );
        goes_on(&mut story);
        assert_eq!(features(&story.disk) & LATER, LATER, "{policy:?}");
    }
}

#[test]
fn a_backup_and_its_log_chain_are_restored_and_go_on() {
    let disk = unpacked(MEDIA);
    for logs in 0..=2 {
        let mut story = Story::on(disk.snapshot(), LogPolicy::native());
        story.run("restore database kept from disk = '/instance/kept.bak' with norecovery");
        for log in 1..=logs {
            story.run(&format!(
                "restore log kept from disk = '/instance/kept.bak' with file = {}, norecovery",
                log + 1
            ));
        }
        story.again(Again::StopStart, "kept");
        story.run("restore database kept with recovery");
        story.run("use kept");
        has_its_rows(&mut story, logs);
        goes_on(&mut story);
        // The chain of this build goes on from there.
        story.run("use master backup database kept to disk = 'new.bak' with init");
        story.run("insert kept.dbo.tree (id, n, text, large) values (1, 1, 'new', replicate(cast('n' as varchar(max)), 50000))");
        story.run("backup log kept to disk = 'new.trn' with init");
        story.run("restore database kept from disk = 'new.bak' with replace, norecovery restore log kept from disk = 'new.trn'");
        assert_eq!(
            story.rows("select count(*), max(len(large)) from kept.dbo.tree"),
            ["1 50000"]
        );
        story.is_sound("kept");
    }
}
