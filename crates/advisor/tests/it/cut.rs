//! Truncated log files: the inspector reports the end of the file and the missing parts, and reads everything before it.

use crate::support::{log_file, real_file};
use advisor::html::inspection_html;
use advisor::render::inspection_table;
use advisor::{Depth, Inspection, inspect};

fn read(bytes: &[u8]) -> Inspection {
    inspect(bytes, Depth::Blocks).unwrap()
}

/// One damage, at the end of the file, in these words.
#[track_caller]
fn assert_cut(found: &Inspection, missing_bytes: u64, words: &str) {
    let damage: Vec<(u64, u64, &str)> = found
        .damage
        .iter()
        .map(|damage| (damage.offset, damage.bytes, damage.what.as_str()))
        .collect();
    assert_eq!(damage, [(found.file_bytes, missing_bytes, words)]);
}

/// "impossible VLF size" was said of the VLF in which the file ends.
#[test]
fn a_log_of_ours_cut_in_a_vlf() {
    let whole = log_file(768 * 1024, &[(5, 40), (6, 40), (4, 9)]);
    let found = read(&whole[..300_000]);
    assert_cut(
        &found,
        486_432,
        "the file ends here, in the VLF that begins at offset 262144: it has 300,000 of 786,432 bytes, 486,432 are missing",
    );
    assert_eq!(found.vlfs.len(), 2);
    assert!(found.vlfs[1].damaged && !found.vlfs[0].damaged);
    // What is left of the second VLF is read: its header and 29,664 bytes of blocks.
    assert_eq!((found.vlfs[0].blocks, found.vlfs[1].blocks), (40, 40));
    let table = inspection_table(&found, "cut.ldf", true);
    assert!(
        table.contains("486,432 are missing") && !table.contains("impossible"),
        "{table}"
    );
    assert!(inspection_html(&found, "cut.ldf").contains("486,432 are missing"));
    // In the middle of a block.
    let found = read(&whole[..262_144 + 8192 + 5 * 512 + 100]);
    assert_eq!((found.vlfs[1].blocks, found.damage_count), (5, 1));
}

/// A cut between two VLFs leaves a file whose headers follow one another to its end.
#[test]
fn a_log_of_ours_cut_between_vlfs() {
    let whole = log_file(768 * 1024, &[(5, 40), (6, 40), (4, 9)]);
    assert_cut(
        &read(&whole[..262_144]),
        524_288,
        "the file ends here: it has 262,144 of 786,432 bytes, 524,288 are missing",
    );
    assert_eq!(read(&whole).damage, []);
}

/// A wrong size in a header is not a cut: the VLFs behind it are there.
#[test]
fn a_wrong_size_is_told_from_a_cut() {
    let Some(mut bytes) = real_file("full-northwind-v2.ldf") else {
        return;
    };
    let second = vlf::survey(&bytes).unwrap().vlfs[1];
    let place = second.start_offset as usize + 0x10;
    bytes[place..place + 8].copy_from_slice(&(2u64 << 30).to_le_bytes());
    let found = read(&bytes);
    assert!(
        found.damage[0].what.contains("impossible VLF size"),
        "{:?}",
        found.damage
    );
    assert_eq!(found.vlfs.len(), 3);
}

/// SQL Server's page 0 says how large the file was.
#[test]
fn a_log_of_sql_server_cut_in_a_vlf() {
    let Some(bytes) = real_file("full-mvcmusic-v5.ldf") else {
        return;
    };
    let found = read(&bytes[..600_000]);
    assert_cut(
        &found,
        448_576,
        "the file ends here, in the VLF that begins at offset 516096: it has 600,000 of 1,048,576 bytes, 448,576 are missing",
    );
    // Without it, the last VLF alone says what is missing at least.
    let mut blank = bytes[..600_000].to_vec();
    blank[96..8192].fill(0);
    let found = read(&blank);
    assert!(
        found.damage[0]
            .what
            .contains("of at least 770,048 bytes, 170,048 or more are missing"),
        "{:?}",
        found.damage
    );
}
