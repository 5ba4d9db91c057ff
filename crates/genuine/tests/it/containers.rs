//! Backups written by the tests: every container returns its contents, and no input makes the reader panic.

use crate::support::log::LogWriter;
use crate::support::media::{MediaWriter, SetWriter, VlfWriter, pack_huffman, pack_zstandard};
use crate::support::random::Random;
use crate::support::writer::{PageWriter, Protection};
use genuine::container::{Backup, SetKind, huffman};
use genuine::page::PageBytes;
use genuine::{PAGE_BYTES, PageId, PageSource};
use vlf::{Lsn, ReadAt, VlfBlocks, WalkStep};

/// An extent whose pages have `text` in their first record; every other page was never formatted.
fn extent(file: u16, extent: u32, text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for page in extent * 8..extent * 8 + 8 {
        match page % 2 {
            0 => bytes.extend([0; PAGE_BYTES]),
            _ => {
                let id = PageId::new(file, page);
                let mut writer = PageWriter::new(id, 1);
                writer.record(format!("{text} {page}").as_bytes());
                bytes.extend(writer.finish(Protection::Checksum).iter());
            }
        }
    }
    bytes
}

fn log() -> LogWriter {
    let mut log = LogWriter::new(7);
    log.block(&[vec![1; 60], vec![2; 1200]]).block(&[vec![3; 40]]);
    log
}

/// A set with three neighbouring extents, one far away, and one that changed during the backup.
fn set(name: &str, text: &str) -> SetWriter {
    let log = log();
    SetWriter {
        kind: 4,
        letter: 0,
        name: name.to_owned(),
        database: "Sales".to_owned(),
        database_version: 904,
        first_lsn: Lsn::new(7, 16, 2),
        last_lsn: Lsn::new(7, 22, 1),
        file_bytes: 4000 * PAGE_BYTES as u64,
        data: vec![
            [0, 1, 2, 400].map(|number| extent(1, number, text)).to_vec(),
            vec![extent(1, 1, "changed")],
        ],
        vlfs: vec![
            VlfWriter {
                sequence: 7,
                start: 8192,
                bytes: 262_144,
                format: 5,
                from: 16_384,
                log: log.bytes,
            },
            VlfWriter {
                sequence: 0,
                start: 270_336,
                bytes: 65_536,
                format: 5,
                from: 0,
                log: Vec::new(),
            },
        ],
        log_file_bytes: 335_872,
        ..SetWriter::default()
    }
}

fn two_sets() -> MediaWriter {
    let mut media = MediaWriter::new(1, 1);
    media.set(1, &set("first", "one")).set(2, &set("second", "two"));
    media
}

fn record(pages: &dyn PageSource, page: u32) -> Option<String> {
    let mut bytes: PageBytes = [0; PAGE_BYTES];
    pages.read_page(PageId::new(1, page), &mut bytes).ok()?;
    let end = bytes[96..].iter().position(|byte| *byte == 0)?;
    Some(String::from_utf8_lossy(&bytes[96..96 + end]).into_owned())
}

/// The sets of `media` are those of [`two_sets`].
fn check(media: Vec<u8>) {
    let backup = Backup::open(vec![media]).unwrap();
    assert_eq!(backup.faults(), []);
    let names: Vec<&str> = backup.sets().iter().map(|set| set.header.name.as_str()).collect();
    assert_eq!(names, ["first", "second"]);
    for (number, text) in ["one", "two"].into_iter().enumerate() {
        let set = &backup.sets()[number];
        assert!(set.is_complete);
        assert_eq!(set.header.kind, SetKind::Full);
        assert_eq!(set.configuration.database, "Sales");
        assert_eq!(set.configuration.server, "SERVER");
        assert_eq!(set.configuration.database_version, 904);
        assert_eq!(set.configuration.started.unwrap().to_string(), "2023-01-13 00:40:37");
        assert_eq!(set.configuration.finished, set.configuration.started);
        let files = &set.configuration.files;
        assert_eq!(files[0].path, "C:\\data.file");
        assert_eq!((files[0].filegroup_name.as_str(), files[1].is_log()), ("PRIMARY", true));
        let mut shown = Vec::new();
        let pages = backup.pages(number, &mut |id, _| shown.push(id.page)).unwrap();
        assert_eq!(shown.len(), 40, "each page once for each time it is in the set");
        assert_eq!(pages.pass().overridden, 1);
        assert_eq!(pages.files()[0].pages, 4000);
        let extents: Vec<u32> = pages.extents().map(|first| first.page / 8).collect();
        assert_eq!(extents, [0, 1, 2, 400]);
        assert_eq!(record(&pages, 7), Some(format!("{text} 7")));
        assert_eq!(record(&pages, 9), Some("changed 9".to_owned()));
        assert_eq!(record(&pages, 23), Some(format!("{text} 23")));
        assert_eq!(record(&pages, 3201), Some(format!("{text} 3201")));
        let missing = pages.read_page(PageId::new(1, 24), &mut [0; PAGE_BYTES]).unwrap_err();
        assert!(missing.to_string().contains("not allocated"), "{missing}");
        check_log(&backup, number);
    }
}

/// The log is where it came from: the reader of log files reads it, and finds nothing in the VLF that was never used.
fn check_log<S: ReadAt>(backup: &Backup<S>, set: usize) {
    let logs = backup.logs(set).unwrap();
    let image = &logs[0];
    assert_eq!((image.file_id(), image.len(), image.left_out_bytes()), (2, 335_872, 0));
    let survey = vlf::survey(image).unwrap();
    assert_eq!((survey.vlfs.len(), survey.gaps.len()), (2, 0));
    let used = survey.in_sequence();
    assert_eq!(used.len(), 1);
    let mut walk = VlfBlocks::new(image, &used[0]);
    let mut lengths = Vec::new();
    loop {
        match walk.next_step().unwrap() {
            WalkStep::Block(block) => lengths.extend(block.records().map(|(_, record)| record.len())),
            WalkStep::Gap { fault, .. } => panic!("{fault}"),
            WalkStep::End { .. } => break,
        }
    }
    assert_eq!(lengths, [60, 1200, 40]);
    assert!(image.is_present(16_384) && !image.is_present(8192) && !image.is_present(200_000));
}

#[test]
fn several_sets_of_a_plain_file() {
    check(two_sets().bytes);
}

#[test]
fn compressed_chunks_of_both_versions() {
    check(two_sets().compressed(2, pack_huffman));
    check(two_sets().compressed(1, pack_huffman));
    check(two_sets().compressed(2, pack_zstandard));
}

/// The example of MS-XCA 3.2: "abc" a hundred times is three letters and one copy whose length takes three bytes more.
#[test]
fn the_published_example_of_the_compression() {
    let mut input = vec![0; 256];
    for (at, lengths) in [(0x30, 0x30), (0x31, 0x23), (0x80, 0x02), (0x8F, 0x20)] {
        input[at] = lengths;
    }
    input.extend([0xA8, 0xDC, 0x00, 0x00, 0xFF, 0x26, 0x01]);
    assert_eq!(huffman::expand(&input, 300).unwrap(), b"abc".repeat(100));
    assert!(huffman::expand(&input[..200], 300).is_err(), "half a table");
    assert!(huffman::expand(&input, 65_537).is_err(), "more than a piece has");
    input[0x30] = 0x10;
    assert!(
        huffman::expand(&input, 300).is_err(),
        "more codes than there is room for"
    );
}

/// The extents of a striped backup are dealt to its files. All of them give the whole, in any order; without one there is an error that says
/// how many there are; a file of another backup is refused, and a mirror changes nothing.
#[test]
fn stripes_and_mirrors() {
    let whole = set("first", "one");
    let stripe = |family: u16| {
        let part = SetWriter {
            data: whole.data.iter().map(|extents| deal(extents, family)).collect(),
            vlfs: whole
                .vlfs
                .iter()
                .map(|vlf| VlfWriter {
                    log: if family == 1 { vlf.log.clone() } else { Vec::new() },
                    ..vlf.clone()
                })
                .collect(),
            ..whole.clone()
        };
        let mut media = MediaWriter::new(family, 2);
        media.set(1, &part);
        media.bytes
    };
    let backup = Backup::open(vec![stripe(2), stripe(1), stripe(2)]).unwrap();
    let pages = backup.pages(0, &mut |_, _| {}).unwrap();
    for (page, text) in [(7, "one 7"), (9, "changed 9"), (23, "one 23"), (3201, "one 3201")] {
        assert_eq!(record(&pages, page), Some(text.to_owned()));
    }
    check_log(&backup, 0);
    let alone = Backup::open(vec![stripe(2)]).unwrap();
    let fault = alone.pages(0, &mut |_, _| {}).err().unwrap().to_string();
    assert!(
        fault.contains("2 files") && fault.ends_with("number 1 is missing"),
        "{fault}"
    );
    let mut other = stripe(1);
    let guid = other.windows(4).position(|four| four == b"RAID").unwrap() + 22;
    other[guid] ^= 1;
    let fault = Backup::open(vec![stripe(2), other]).err().unwrap().to_string();
    assert!(fault.contains("do not belong together"), "{fault}");
}

fn deal(extents: &[Vec<u8>], family: u16) -> Vec<Vec<u8>> {
    let mine = extents
        .iter()
        .zip(1u16..)
        .filter(|(_, number)| 2 - number % 2 == family);
    mine.map(|(extent, _)| extent.clone()).collect()
}

/// A file that was cut off gives what is left of it, and says that its end is missing.
#[test]
fn a_file_that_was_cut_off() {
    let media = two_sets();
    let backup = Backup::open(vec![media.bytes[..media.bytes.len() - 300_000].to_vec()]).unwrap();
    assert_eq!(backup.sets().len(), 2);
    assert!(backup.sets()[0].is_complete && !backup.sets()[1].is_complete);
    assert!(backup.faults()[0].reason.contains("cut off"), "{:?}", backup.faults());
    let no_backup = Backup::open(vec![vec![7; 5000]]).err().unwrap().to_string();
    assert!(no_backup.contains("should begin here"), "{no_backup}");
}

/// Whatever is changed in a backup, reading it ends, and ends without a panic.
#[test]
fn damaged_backups_end_in_faults() {
    let plain = two_sets();
    let originals = [
        plain.bytes.clone(),
        plain.compressed(2, pack_huffman),
        plain.compressed(1, pack_huffman),
    ];
    let mut random = Random(20_260_311);
    let mut faults = 0;
    for round in 0..300 {
        let mut bytes = originals[round % originals.len()].clone();
        random.damage(&mut bytes);
        faults += usize::from(read_all(bytes).is_err());
    }
    assert!(faults > 20, "damage is noticed: {faults}");
}

fn read_all(bytes: Vec<u8>) -> genuine::fault::Result<()> {
    let backup = Backup::open(vec![bytes])?;
    for set in 0..backup.sets().len() {
        let mut page_count = 0u64;
        let pages = backup.pages(set, &mut |_, _| page_count += 1)?;
        for page in [0, 9, 3201, u32::MAX] {
            record(&pages, page);
        }
        for log in backup.logs(set)? {
            for vlf in vlf::survey(&log)?.in_sequence() {
                let mut walk = VlfBlocks::new(&log, &vlf);
                while !matches!(walk.next_step()?, WalkStep::End { .. }) {}
            }
        }
    }
    match backup.faults().first() {
        Some(fault) => Err(fault.clone()),
        None => Ok(()),
    }
}

/// A large set is read by a thread ahead of the one that looks at its pages: every page once, in the order of the media, and then by its id.
#[test]
fn a_large_set_is_read_ahead_in_order() {
    let extents: Vec<Vec<u8>> = (0..300).map(|number| extent(1, number * 2, "large")).collect();
    let set = SetWriter {
        kind: 4,
        database: "Large".to_owned(),
        database_version: 904,
        data: vec![extents, vec![extent(1, 4, "again")]],
        ..SetWriter::default()
    };
    let mut media = MediaWriter::new(1, 1);
    media.set(1, &set);
    let backup = Backup::open(vec![media.bytes.as_slice()]).unwrap();
    let mut seen = Vec::new();
    let pages = backup.pages(0, &mut |id, _| seen.push(id)).unwrap();
    let expected = (0..300)
        .map(|number| number * 2)
        .chain([4])
        .flat_map(|extent| extent * 8..extent * 8 + 8);
    assert!(seen.iter().copied().eq(expected.map(|page| PageId::new(1, page))));
    let mut bytes = [0; PAGE_BYTES];
    for (page, text) in [(4 * 8 + 1, "again"), (598 * 8 + 7, "large")] {
        pages.read_page(PageId::new(1, page), &mut bytes).unwrap();
        assert!(bytes[96..].starts_with(format!("{text} {page}").as_bytes()));
    }
    // A file that ends within its pages is a fault.
    let cut = &media.bytes[..17 << 20];
    let backup = Backup::open(vec![cut]).unwrap();
    assert!(!backup.faults().is_empty());
}
