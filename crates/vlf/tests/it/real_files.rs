//! Real log files of SQL Server, down to every block and record. The files are not part of the repository: without them the
//! tests say so and pass.
//!
//! Depth: the folder `shared/ldf` beside the repository, if it is there; `VLFLAB_LDF_DIR` names another.
#![allow(clippy::unwrap_used)]

use crate::support::layouts;

use std::collections::BTreeMap;
use std::path::PathBuf;

use vlf::file_header::FileHeaderFault;
use vlf::record::{Operation, SqlRecord};
use vlf::walk::{VlfBlocks, WalkStep, survey};
use vlf::{BlockHeader, FormatVersion, Lsn};

fn real_file(name: &str) -> Option<Vec<u8>> {
    let beside_repository = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/ldf");
    let directory = std::env::var_os("VLFLAB_LDF_DIR").map_or_else(beside_repository, PathBuf::from);
    let path = directory.join(name);
    match std::fs::read(&path) {
        Ok(bytes) => Some(bytes),
        Err(error) => {
            println!("skipped: {}: {error}", path.display());
            None
        }
    }
}

#[test]
fn every_layout_walks_exactly() {
    for (name, file_bytes, format, vlfs) in layouts::REAL_FILES {
        let Some(bytes) = real_file(name) else { return };
        assert_eq!(bytes.len() as u64, file_bytes, "{name}");
        let found = survey(&bytes).unwrap();
        assert_eq!(found.gaps, [], "{name}");
        assert_eq!(found.spans().last().unwrap().end(), file_bytes, "{name}");
        let rows: Vec<_> = found
            .vlfs
            .iter()
            .map(|vlf| {
                assert_eq!(vlf.format.number(), format, "{name}");
                (
                    vlf.vlf_bytes,
                    vlf.start_offset,
                    vlf.sequence.0,
                    vlf.parity.byte(),
                    vlf.use_count,
                    vlf.create_lsn.to_string(),
                )
            })
            .collect();
        let expected: Vec<_> = vlfs
            .iter()
            .map(|vlf| (vlf.0, vlf.1, vlf.2, vlf.3, vlf.4, vlf.5.to_owned()))
            .collect();
        assert_eq!(rows, expected, "{name}");
    }
}

/// What a walk over all blocks of a file counts.
#[derive(Debug, Default, PartialEq)]
struct Census {
    /// Blocks of each VLF, in the order of their sequence.
    blocks: Vec<usize>,
    fillers: usize,
    with_checksum: usize,
    records: usize,
}

/// Walks every block of every VLF in sequence and hands each record on. Any gap fails, and so does any block that does not
/// follow its predecessor, across VLF borders too.
fn walk_all(bytes: &[u8], mut each: impl FnMut(&BlockHeader, Lsn, &[u8])) -> Census {
    let found = survey(bytes).unwrap();
    assert_eq!(found.file_header, Err(FileHeaderFault::Foreign));
    let mut census = Census::default();
    let mut previous: Option<BlockHeader> = None;
    for vlf in found.in_sequence() {
        let mut blocks = VlfBlocks::new(bytes, &vlf);
        if let Some(last) = previous.filter(|last| last.lsn.vlf + 1 == vlf.sequence.0) {
            blocks = blocks.following(&last);
        }
        let mut count = 0;
        loop {
            match blocks.next_step().unwrap() {
                WalkStep::Block(block) => {
                    count += 1;
                    let header = block.header();
                    census.fillers += usize::from(header.slot_count == 0);
                    census.with_checksum += usize::from(header.flags & 2 != 0);
                    census.records += usize::from(header.slot_count);
                    for (lsn, record) in block.records() {
                        each(header, lsn, record);
                    }
                    previous = Some(*header);
                }
                WalkStep::Gap { offset, bytes, fault } => {
                    panic!("gap of {bytes} bytes at {offset}: {fault}")
                }
                WalkStep::End { .. } => break,
            }
        }
        census.blocks.push(count);
    }
    census
}

/// Blocks whose slot array is empty are fillers: each is the last of its VLF and takes what no record fitted into.
#[test]
fn every_block_of_the_full_files() {
    let table = [
        (
            "full-northwind-v2.ldf",
            Census {
                blocks: vec![170, 182, 218, 202],
                fillers: 3,
                with_checksum: 0,
                records: 7_311,
            },
        ),
        (
            "full-northwind-v4.ldf",
            Census {
                blocks: vec![23, 280, 467, 496, 496, 624, 624, 528, 480, 480, 463, 496, 198],
                fillers: 1,
                with_checksum: 0,
                records: 10_956,
            },
        ),
        (
            "full-mvcmusic-v5.ldf",
            Census {
                blocks: vec![27, 83, 77],
                fillers: 0,
                with_checksum: 187,
                records: 3_370,
            },
        ),
    ];
    for (name, expected) in table {
        let Some(bytes) = real_file(name) else { return };
        assert_eq!(walk_all(&bytes, |_, _, _| {}), expected, "{name}");
    }
}

/// Records decode: each names an earlier record of its transaction, and its element list fills it to the byte.
#[test]
fn every_record_of_the_full_files() {
    for (name, begun, committed) in [
        ("full-northwind-v2.ldf", 795, 797),
        ("full-northwind-v4.ldf", 1_450, 1_451),
        ("full-mvcmusic-v5.ldf", 140, 140),
    ] {
        let Some(bytes) = real_file(name) else { return };
        let mut operations: BTreeMap<Operation, usize> = BTreeMap::new();
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        walk_all(&bytes, |block, lsn, bytes| {
            let record = SqlRecord::decode(block.format, bytes).unwrap();
            assert!(record.previous_lsn < lsn, "{name} {lsn}");
            if let Some(page) = record.page {
                assert!(page.page_lsn_before < lsn, "{name} {lsn} {page:?}");
                assert!(page.page < 10_000 && page.file == 1, "{name} {lsn} {page:?}");
            }
            if let Some(time) = record.time.filter(|time| time.days != 0) {
                // Between 1998 and 2020.
                assert!((35_794..43_829).contains(&time.days), "{name} {lsn} {time:?}");
                assert!(time.ticks < 300 * 86_400);
            }
            *operations.entry(record.operation).or_default() += 1;
            if let Some(transaction) = record.transaction_name() {
                *names.entry(transaction).or_default() += 1;
            }
        });
        assert_eq!(operations.get(&Operation::BEGIN_XACT), Some(&begun), "{name}");
        assert_eq!(operations.get(&Operation::COMMIT_XACT), Some(&committed), "{name}");
        println!("{name}: {operations:?} {names:?}");
    }
}

/// One flipped byte in a checksummed block: the walk reports that block and reads every other one.
#[test]
fn reads_on_behind_a_damaged_block() {
    let Some(mut bytes) = real_file("full-mvcmusic-v5.ldf") else {
        return;
    };
    let vlf = survey(&bytes).unwrap().vlfs[1];
    assert_eq!(vlf.format, FormatVersion::SqlServer2012);
    let mut walk = VlfBlocks::new(&bytes, &vlf);
    let mut offsets = Vec::new();
    while let WalkStep::Block(block) = walk.next_step().unwrap() {
        let header = block.header();
        offsets.push((vlf.start_offset + header.lsn.offset_in_vlf(), header.block_bytes));
    }
    let (damaged, block_bytes) = offsets[40];
    bytes[damaged as usize + 100] ^= 1;
    let mut walk = VlfBlocks::new(&bytes, &vlf);
    let (mut blocks, mut gaps) = (0, Vec::new());
    loop {
        match walk.next_step().unwrap() {
            WalkStep::Block(_) => blocks += 1,
            WalkStep::Gap { offset, bytes, .. } => gaps.push((offset, bytes)),
            WalkStep::End { .. } => break,
        }
    }
    assert_eq!(blocks, offsets.len() - 1);
    assert_eq!(gaps, [(damaged, u64::from(block_bytes))]);
}
