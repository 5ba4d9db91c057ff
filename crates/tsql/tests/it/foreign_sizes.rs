//! Backups of SQL Server that say absurd sizes: of files, pages, streams and log. Each ends in one error of SQL Server's, soon, and leaves nothing behind.
//!
//! Depth: every size that a set says, at 0, around its own value, 16 TB, and at the ends of its type.
#![allow(clippy::unwrap_used)]

use crate::foreign_files::{answer, extents, put, sales, set_of, start};
use crate::genuine_support::media::{MediaWriter, SetWriter, VlfWriter};

use disk::Disk;
use disk::sim::SimDisk;
use engine::instance::Instance;
use std::sync::Arc;
use vlf::Lsn;

const TERABYTE: u64 = 1 << 40;
const MOVES: &str = "move 'data' to 'c:\\new\\d.mdf', move 'log' to 'c:\\new\\d.ldf'";

/// An instance on a disk of 64 MB, whose backup is that of `set`.
fn prepared(set: &SetWriter) -> (SimDisk, Arc<Instance>) {
    let mut media = MediaWriter::new(1, 1);
    media.set(1, set);
    prepared_of(&media.bytes)
}

fn prepared_of(bytes: &[u8]) -> (SimDisk, Arc<Instance>) {
    let disk = SimDisk::new(3);
    disk.set_capacity_bytes(Some(64 << 20));
    let instance = start(&disk);
    put(&disk, &instance, "c:\\foreign\\sales.bak", bytes);
    (disk, instance)
}

fn set() -> SetWriter {
    let file = sales().file();
    set_of(extents(&file), file.len())
}

fn restore(instance: &Arc<Instance>, options: &str) -> String {
    answer(
        instance,
        &format!("restore database sales from disk = 'c:\\foreign\\sales.bak' with {MOVES}{options}"),
    )
}

/// Neither a database nor a file is left.
fn left_nothing(disk: &SimDisk, instance: &Arc<Instance>, which: &str) {
    let names: Vec<String> = instance.slots().iter().map(|slot| slot.entry().name).collect();
    assert_eq!(names.len(), 4, "{which}: {names:?}");
    for file in ["d.mdf", "d.ldf"] {
        let path = instance.resolve(&format!("c:\\new\\{file}")).unwrap();
        assert_eq!(disk.len(&path).unwrap_or(None), None, "{which}: {file}");
    }
}

/// Numbers of the errors in an answer.
fn numbers(said: &str) -> Vec<u32> {
    let parts = said.split("Msg ").skip(1).filter(|part| part.contains(", Level 16,"));
    parts.filter_map(|part| part.split(',').next()?.parse().ok()).collect()
}

#[test]
fn a_database_that_no_disk_has_room_for_is_refused_before_anything_is_made() {
    for bytes in [128 << 20, 16 * TERABYTE, 1 << 63, u64::MAX - 8192, u64::MAX] {
        for is_log in [false, true] {
            for options in ["", ", norecovery", ", replace"] {
                let which = format!("{bytes} bytes, log {is_log}{options}");
                let mut set = set();
                match is_log {
                    true => set.log_file_bytes = bytes,
                    false => set.file_bytes = bytes,
                }
                let (disk, instance) = prepared(&set);
                let said = restore(&instance, options);
                assert_eq!(numbers(&said), [3257, 3119, 3013], "{which}: {said}");
                assert!(
                    said.contains("There is insufficient free space on disk volume"),
                    "{said}"
                );
                left_nothing(&disk, &instance, &which);
            }
        }
    }
}

/// What a file says of its own size is no more than that: a database comes of all that can be, whatever the size.
#[test]
fn small_and_odd_sizes_are_no_hindrance() {
    for bytes in [0, 1, 8191, 600_000, 1_048_577] {
        let mut set = set();
        (set.file_bytes, set.log_file_bytes) = (bytes.max(1 << 20), bytes);
        let (_disk, instance) = prepared(&set);
        let said = restore(&instance, "");
        assert_eq!(numbers(&said), [0u32; 0], "{bytes}: {said}");
        let found = answer(
            &instance,
            "set nocount on select name from sales.dbo.Orders where id = 2",
        );
        assert!(found.contains("second"), "{found}");
    }
}

fn resummed(bytes: &mut [u8], header: usize) {
    let sum = bytes[header..header + 20]
        .chunks_exact(2)
        .fold(0, |sum, pair| sum ^ u16::from_le_bytes([pair[0], pair[1]]));
    bytes[header + 20..header + 22].copy_from_slice(&sum.to_le_bytes());
}

/// Each stream of the media says how long it is. The checksum of its header fits: it is said on purpose.
#[test]
fn lengths_of_streams_that_cannot_be_are_one_error() {
    let mut media = MediaWriter::new(1, 1);
    media.set(1, &set());
    let mut tried = 0;
    for tag in [b"RAID", b"SPAD", b"MQCI", b"APAD", b"MQDA"] {
        let header = media.bytes.windows(4).position(|four| four == tag).unwrap();
        let own = u64::from_le_bytes(media.bytes[header + 8..header + 16].try_into().unwrap());
        for length in [0, own + 1, own + (1 << 20), 16 * TERABYTE, i64::MAX as u64, u64::MAX] {
            let which = format!("{} of {length} bytes", String::from_utf8_lossy(tag));
            let mut bytes = media.bytes.clone();
            bytes[header + 8..header + 16].copy_from_slice(&length.to_le_bytes());
            resummed(&mut bytes, header);
            let (disk, instance) = prepared_of(&bytes);
            for statement in ["headeronly", "filelistonly", "labelonly", "verifyonly"] {
                let said = answer(
                    &instance,
                    &format!("restore {statement} from disk = 'c:\\foreign\\sales.bak'"),
                );
                assert!(numbers(&said).len() <= 3, "{which}, {statement}: {said}");
            }
            let said = restore(&instance, "");
            // A padding may be as long as it likes, and a stream without an id has none.
            if numbers(&said).is_empty() {
                continue;
            }
            let found = numbers(&said);
            assert!(
                matches!(found[..], [3203 | 3234 | 3241 | 3257 | 3287 | 40_517, .., 3013]),
                "{which}: {said}"
            );
            left_nothing(&disk, &instance, &which);
            tried += 1;
        }
    }
    assert!(tried > 15, "{tried}");
}

/// A VLF says where it lies, how long it is and what of its log the set has.
#[test]
fn log_that_cannot_be_is_one_error() {
    let vlf = VlfWriter {
        sequence: 30,
        start: 8192,
        bytes: 262_144,
        format: 5,
        from: 16_384,
        log: vec![0; 512],
    };
    let absurd = [
        VlfWriter {
            bytes: u64::MAX,
            ..vlf.clone()
        },
        VlfWriter {
            bytes: 16 * TERABYTE,
            ..vlf.clone()
        },
        VlfWriter {
            bytes: 1,
            ..vlf.clone()
        },
        VlfWriter {
            start: u64::MAX - 8192,
            ..vlf.clone()
        },
        VlfWriter {
            from: u64::MAX - 512,
            ..vlf.clone()
        },
        VlfWriter {
            sequence: u32::MAX,
            ..vlf
        },
    ];
    for (number, vlf) in absurd.into_iter().enumerate() {
        let set = SetWriter {
            first_lsn: Lsn::new(30, 16, 1),
            last_lsn: Lsn::new(30, 17, 1),
            vlfs: vec![vlf],
            ..set()
        };
        let (disk, instance) = prepared(&set);
        let said = restore(&instance, "");
        assert!(
            matches!(numbers(&said)[..], [3203 | 40_517, .., 3013]),
            "{number}: {said}"
        );
        left_nothing(&disk, &instance, &number.to_string());
    }
}
