//! The inspector on real log files and on our own: sound, damaged and random ones.
#![allow(clippy::unwrap_used)]

use crate::support;

use advisor::html::inspection_html;
use advisor::inspection::{PageZero, VlfState};
use advisor::map::of_inspection;
use advisor::pasted::{Choice, layout_from_text, layout_of_vlfs};
use advisor::render::{inspection_csv, inspection_json, inspection_markdown, inspection_table};
use advisor::{Depth, Inspection, inspect};
use serde_json::Value;
use support::{Random, log_file, log_file_with_checkpoint, mutate, real_directory, real_file};
use vlf::{FileHeader, FormatVersion, ServerVersion};

fn json(inspection: &Inspection) -> Value {
    let mut out = Vec::new();
    inspection_json(inspection, &mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

/// Every file that `golden.json` describes: same VLFs, by JSON as a program sees it; no damage; and the growth history
/// rebuilt by the rules.
#[test]
fn every_golden_layout() {
    let Some(directory) = real_directory() else { return };
    let golden: Value = serde_json::from_slice(&std::fs::read(directory.join("golden.json")).unwrap()).unwrap();
    let files = golden.as_array().unwrap();
    assert!(files.len() >= 13);
    for file in files {
        let name = file["file"].as_str().unwrap();
        let inspection = inspect(&real_file(name).unwrap(), Depth::Blocks).unwrap();
        let found = json(&inspection);
        assert_eq!(found["damage"], Value::Array(vec![]), "{name}");
        assert_eq!(found["file_bytes"], file["bytes"], "{name}");
        assert_eq!(found["format_version"], file["format_version"], "{name}");
        let rows = found["vlfs"].as_array().unwrap();
        let expected = file["vlfs"].as_array().unwrap();
        assert_eq!(rows.len(), expected.len(), "{name}");
        let names = [
            ("size", "FileSize"),
            ("offset", "StartOffset"),
            ("sequence", "FSeqNo"),
            ("parity", "Parity"),
            ("uses", "uses"),
            ("create_lsn", "CreateLSN"),
        ];
        for (row, golden) in rows.iter().zip(expected) {
            for (ours, theirs) in names {
                assert_eq!(row[ours], golden[theirs], "{name} {ours}");
            }
        }
        assert_eq!(inspection.page_zero, PageZero::SqlServer, "{name}");
        for event in &inspection.growths {
            assert!(event.versions.contains(&ServerVersion::V2012), "{name}: {event:?}");
        }
        // The JSON is itself a layout to plan from.
        let layout = layout_from_text(&found.to_string(), ServerVersion::V2022, Choice::default()).unwrap();
        assert_eq!(
            layout,
            layout_of_vlfs(inspection.spans(), ServerVersion::V2022).unwrap(),
            "{name}"
        );
        assert_eq!(layout.file_bytes(), inspection.file_bytes, "{name}");
    }
}

/// The three complete logs down to blocks and records: nothing that does not fit. A wrong LSN, previous length, checksum,
/// stamp or slot array would be damage.
#[test]
fn every_block_and_record_of_the_full_files() {
    let table = [
        (
            "full-northwind-v2.ldf",
            2,
            [170, 182, 218, 202].as_slice(),
            3,
            0,
            7_311,
            (795, 797),
        ),
        (
            "full-northwind-v4.ldf",
            4,
            &[23, 280, 467, 496, 496, 624, 624, 528, 480, 480, 463, 496, 198],
            1,
            0,
            10_956,
            (1_450, 1_451),
        ),
        ("full-mvcmusic-v5.ldf", 5, &[27, 83, 77], 0, 187, 3_370, (140, 140)),
    ];
    for (name, format, blocks, fillers, with_checksum, records, (begun, committed)) in table {
        let Some(bytes) = real_file(name) else { return };
        let inspection = inspect(&bytes, Depth::Blocks).unwrap();
        assert_eq!(inspection.damage, [], "{name}");
        let mut used: Vec<_> = inspection
            .vlfs
            .iter()
            .filter(|vlf| vlf.state != VlfState::Unused)
            .collect();
        used.sort_by_key(|vlf| vlf.header.sequence);
        assert_eq!(used.iter().map(|vlf| vlf.blocks).collect::<Vec<_>>(), blocks, "{name}");
        assert_eq!(inspection.blocks.total, blocks.iter().sum::<u64>(), "{name}");
        assert_eq!(inspection.blocks.fillers, fillers, "{name}");
        assert_eq!(inspection.blocks.with_checksum, with_checksum, "{name}");
        assert_eq!(inspection.records, records, "{name}");
        let found = json(&inspection);
        assert_eq!(found["format_version"], format, "{name}");
        assert_eq!(found["records_by_kind"]["LOP_BEGIN_XACT"], begun, "{name}");
        assert_eq!(found["records_by_kind"]["LOP_COMMIT_XACT"], committed, "{name}");
        let counted: u64 = inspection.records_by_kind.iter().map(|kind| kind.count).sum();
        assert_eq!(counted, records, "{name}");
        let linked = inspection.linked.unwrap();
        assert!(linked.first < linked.last);
        assert_eq!(linked.last, inspection.log_end.unwrap().last_record, "{name}");
        assert!(inspection.last_checkpoint.is_some(), "{name}");
    }
}

/// One flipped bit anywhere in a checksummed block is named with that block's offset, and all other blocks are read.
#[test]
fn damage_is_named_and_passed() {
    let Some(good) = real_file("full-mvcmusic-v5.ldf") else {
        return;
    };
    let sound = inspect(&good, Depth::Blocks).unwrap();
    let vlf = sound.vlfs.iter().find(|vlf| vlf.blocks == 83).unwrap();
    let first_block = vlf.header.start_offset + 8192;
    let mut bytes = good.clone();
    bytes[first_block as usize + 77] ^= 4;
    let found = inspect(&bytes, Depth::Blocks).unwrap();
    assert_eq!(found.damage_count, 1);
    assert_eq!(found.damage[0].offset, first_block);
    assert!(found.damage[0].what.contains("checksum"), "{:?}", found.damage);
    assert_eq!(found.blocks.total, sound.blocks.total - 1);
    assert_eq!(found.vlfs.iter().filter(|vlf| vlf.damaged).count(), 1);
    // A VLF header.
    let mut bytes = good.clone();
    bytes[vlf.header.start_offset as usize] = 0;
    let found = inspect(&bytes, Depth::Blocks).unwrap();
    assert_eq!(found.vlfs.len(), sound.vlfs.len() - 1);
    assert_eq!(
        (found.damage[0].offset, found.damage[0].bytes),
        (vlf.header.start_offset, vlf.header.vlf_bytes)
    );
}

#[test]
fn a_log_of_ours() {
    let bytes = log_file(8 << 20, &[(5, 40), (6, 40), (3, 10), (4, 2)]);
    let found = inspect(&bytes, Depth::Blocks).unwrap();
    assert_eq!(found.damage, []);
    assert_eq!(found.format, Some(FormatVersion::Vlflab));
    assert!(matches!(found.page_zero, PageZero::Vlflab(_)));
    assert_eq!((found.blocks.total, found.records), (92, 276));
    let value = json(&found);
    assert_eq!(value["format_version"], 0x5603);
    assert_eq!(value["records_by_kind"]["LOP_VLFLAB_CHANGE"], 92);
    assert_eq!(value["records_by_kind"]["LOP_COMMIT_XACT"], 92);
    let states: Vec<VlfState> = found.vlfs.iter().map(|vlf| vlf.state).collect();
    assert_eq!(
        states,
        [VlfState::Linked, VlfState::Tail, VlfState::Linked, VlfState::Linked]
    );
    let linked = found.linked.unwrap();
    assert_eq!((linked.first.vlf, linked.last.vlf, linked.vlf_count), (3, 6, 4));
    assert_eq!(linked.last.slot, 3);
    let end = found.log_end.unwrap();
    assert_eq!(end.offset, found.vlfs[1].header.start_offset + 8192 + 40 * 512);
    // Headers alone.
    let headers = inspect(&bytes, Depth::Headers).unwrap();
    assert_eq!((headers.vlfs.len(), headers.blocks.total), (4, 0));
}

/// A VLF that the log has not entered yet may have no header: page 0 says so and has its size.
#[test]
fn vlfs_without_a_header_are_shown_as_unused() {
    let mut bytes = log_file(8 << 20, &[(5, 40), (6, 4), (0, 0), (0, 0)]);
    let with_headers = inspect(&bytes, Depth::Blocks).unwrap();
    let mut page = FileHeader::decode(&bytes).unwrap();
    for vlf in &with_headers.vlfs[2..] {
        let at = vlf.header.start_offset as usize;
        bytes[at..at + 512].fill(0);
    }
    let damage = inspect(&bytes, Depth::Blocks).unwrap().damage;
    assert!(
        damage.iter().any(|damage| damage.bytes > 0),
        "page 0 does not say that they may be missing"
    );
    page.headers_when_entered = true;
    bytes[..8192].copy_from_slice(&page.encode());
    let found = inspect(&bytes, Depth::Blocks).unwrap();
    assert_eq!((&found.vlfs, &found.damage), (&with_headers.vlfs, &vec![]));
    assert_eq!(
        (found.vlfs[3].state, found.vlfs[3].header.sequence.0),
        (VlfState::Unused, 0)
    );
    let facts = inspection_table(&found, "native.ldf", false);
    assert!(facts.contains("headers of VLFs when entered"), "{facts}");
}

#[test]
fn gaps_in_the_sequence_end_what_is_linked() {
    let bytes = log_file(8 << 20, &[(5, 4), (6, 4), (3, 4), (0, 0)]);
    let found = inspect(&bytes, Depth::Blocks).unwrap();
    let states: Vec<VlfState> = found.vlfs.iter().map(|vlf| vlf.state).collect();
    assert_eq!(
        states,
        [VlfState::Linked, VlfState::Tail, VlfState::Old, VlfState::Unused]
    );
    assert_eq!(found.linked.unwrap().first.vlf, 5);
    // The block of 5 follows one that is not the last of 4, which is gone: nothing to compare, no damage.
    assert_eq!(found.damage, []);
}

/// A log whose VLFs can all be read is not one whose VLFs are all needed: `DBCC LOGINFO` shows one active VLF where the last
/// checkpoint began in the last one.
#[test]
fn recovery_needs_what_follows_the_last_checkpoint() {
    let uses = [(5, 4), (6, 4), (3, 4), (4, 4)];
    let states = |checkpoint| {
        let found = inspect(&log_file_with_checkpoint(8 << 20, &uses, checkpoint), Depth::Blocks).unwrap();
        assert_eq!(found.damage, []);
        found.vlfs.iter().map(|vlf| vlf.state.word()).collect::<Vec<_>>()
    };
    assert_eq!(states(Some(6)), ["linked", "tail", "linked", "linked"]);
    assert_eq!(states(Some(5)), ["active", "tail", "linked", "linked"]);
    assert_eq!(states(Some(3)), ["active", "tail", "active", "active"]);
    assert_eq!(states(None), ["linked", "tail", "linked", "linked"]);
    // Of the headers alone nobody can tell.
    let bytes = log_file_with_checkpoint(8 << 20, &uses, Some(3));
    let headers = inspect(&bytes, Depth::Headers).unwrap();
    assert!(headers.vlfs.iter().all(|vlf| vlf.state != VlfState::Active));
}

#[test]
fn a_file_that_is_no_log_is_told_from_a_damaged_one() {
    let text = "Neither a file header page nor a VLF. ".repeat(40_000).into_bytes();
    assert!(inspect(&text, Depth::Blocks).unwrap().is_no_log());
    assert!(inspect(&Vec::<u8>::new(), Depth::Blocks).unwrap().is_no_log());
    let mut damaged = log_file(8 << 20, &[(5, 4), (6, 4), (0, 0), (0, 0)]);
    damaged[..8192].fill(0);
    assert!(!inspect(&damaged, Depth::Blocks).unwrap().is_no_log());
}

#[test]
fn lost_and_doubled_vlfs_are_reported() {
    // The last blocks of VLF 5 are gone: its successor's first block shows it.
    let good = log_file(8 << 20, &[(5, 40), (6, 40), (0, 0), (0, 0)]);
    let sound = inspect(&good, Depth::Blocks).unwrap();
    let start = sound.vlfs[0].header.start_offset as usize;
    let mut bytes = good.clone();
    bytes[start + 8192 + 30 * 512..start + 8192 + 40 * 512].fill(0);
    let found = inspect(&bytes, Depth::Blocks).unwrap();
    assert_eq!(found.damage_count, 1);
    assert_eq!(found.damage[0].offset, sound.vlfs[1].header.start_offset + 8192);
    assert_eq!(found.blocks.total, 70);
    // A write that did not finish at the end of the log.
    let mut bytes = good.clone();
    let last = sound.log_end.unwrap().offset as usize - 512;
    bytes[last + 300] ^= 1;
    let found = inspect(&bytes, Depth::Blocks).unwrap();
    assert_eq!(found.damage_count, 1);
    assert!(
        found.damage[0].what.starts_with("the last write did not finish"),
        "{:?}",
        found.damage
    );
    // Page 0 says another layout than the headers.
    let other = log_file(4 << 20, &[(0, 0); 4]);
    let mut bytes = good;
    bytes[..8192].copy_from_slice(&other[..8192]);
    let found = inspect(&bytes, Depth::Blocks).unwrap();
    assert!(found.damage[0].what.contains("layout"), "{:?}", found.damage);
}

#[test]
fn texts_maps_and_pages() {
    let bytes = log_file(8 << 20, &[(5, 40), (6, 40), (3, 10), (0, 0)]);
    let found = inspect(&bytes, Depth::Blocks).unwrap();
    let table = inspection_table(&found, "a<b>.ldf", true);
    for part in [
        "a<b>.ldf",
        "0x5603",
        "tail",
        "LOP_VLFLAB_CHANGE",
        "created",
        "none found",
        "Growth history",
    ] {
        assert!(table.contains(part), "no {part} in\n{table}");
    }
    let map = of_inspection(&found);
    assert!(
        map.contains("█ tail 1  ▓ active 0  ▒ linked 1  ░ old 1  · unused 1"),
        "{map}"
    );
    let widths: Vec<usize> = map.lines().take(3).map(|line| line.chars().count()).collect();
    assert!(widths.iter().all(|width| *width < 100), "{map}");
    assert!(inspection_markdown(&found, "log", true).contains("|---:|"));
    let html = inspection_html(&found, "a<b>.ldf");
    assert!(html.contains("a&lt;b&gt;.ldf") && !html.contains("a<b>"));
    assert_eq!(html.matches("<path").count(), 4);
    let mut csv = Vec::new();
    inspection_csv(&found, &mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    assert_eq!(csv.lines().count(), 5);
    let layout = layout_from_text(&csv, ServerVersion::V2022, Choice::default()).unwrap();
    assert_eq!(layout.file_bytes(), 8 << 20);
}

/// Every form of output, whatever the file.
fn render_all(inspection: &Inspection) -> usize {
    let table = inspection_table(inspection, "log", true);
    let markdown = inspection_markdown(inspection, "log", true);
    let page = inspection_html(inspection, "log");
    let mut csv = Vec::new();
    inspection_csv(inspection, &mut csv).unwrap();
    table.len() + markdown.len() + page.len() + csv.len() + json(inspection).to_string().len()
}

/// No bytes make the reader panic, and whatever it reads and skips lies inside the file.
#[test]
fn mutated_and_random_files_are_answered() {
    let mut seeds = vec![
        log_file(768 * 1024, &[(5, 40), (6, 40), (4, 9)]),
        log_file(516_096, &[(1, 3), (0, 0)]),
    ];
    seeds.extend(
        ["full-northwind-v2.ldf", "full-mvcmusic-v5.ldf"]
            .into_iter()
            .filter_map(real_file),
    );
    let mut random = Random::new(77);
    for round in 0..400 {
        let mut bytes = seeds[round % seeds.len()].clone();
        mutate(&mut bytes, &mut random);
        let found = inspect(&bytes, Depth::Blocks).unwrap();
        // The last VLF alone may be cut off, and that is damage.
        let beyond = |vlf: &advisor::inspection::InspectedVlf| vlf.header.span().end() > found.file_bytes;
        let cut_off = found.vlfs.iter().filter(|vlf| beyond(vlf)).count();
        assert!(
            cut_off == usize::from(found.vlfs.last().is_some_and(beyond)),
            "round {round}"
        );
        assert!(cut_off == 0 || found.damage_count > 0, "round {round}");
        assert!(
            found.damage.iter().all(|damage| damage.offset <= found.file_bytes),
            "round {round}"
        );
        assert!(found.blocks.bytes <= found.file_bytes, "round {round}");
        if round % 8 == 0 {
            assert!(render_all(&found) > 0);
        }
        let _ = layout_of_vlfs(found.spans(), ServerVersion::V2022);
    }
    for length in [0, 1, 511, 512, 8191, 8192, 8193, 9000, 100_000] {
        let bytes: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
        let found = inspect(&bytes, Depth::Blocks).unwrap();
        assert!(found.damage_count > 0, "{length}");
        assert!(render_all(&found) > 0);
    }
}
