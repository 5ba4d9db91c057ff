//! Log files that several versions of SQL Server have written in turn. The files are built here, with the traits found in
//! real ones.

use advisor::inspection::VlfState;
use advisor::pasted::layout_of_vlfs;
use advisor::render::{inspection_json, inspection_table};
use advisor::{Depth, Inspection, inspect};
use vlf::{FormatVersion, Lsn, Parity, ServerVersion, VlfHeader, VlfSequence, VlfSpan, stamp_block};

/// A VLF of a file to be built: its bytes, its header's sequence, parity and use count, the growth that made it, and its blocks: how many
/// of which format, one kind after the other.
struct BuiltVlf {
    vlf_bytes: u64,
    sequence: u32,
    parity: u8,
    use_count: u32,
    create_lsn: Lsn,
    blocks: &'static [(u16, usize)],
}

/// A log of SQL Server whose VLF headers have `format`.
fn log_of(format: FormatVersion, vlfs: &[BuiltVlf]) -> Vec<u8> {
    let mut bytes = vec![0; 8192];
    bytes[..2].copy_from_slice(&[1, 15]);
    let mut order: Vec<(u32, usize)> = Vec::new();
    let mut starts = Vec::new();
    for (index, vlf) in vlfs.iter().enumerate() {
        let header = VlfHeader {
            format,
            parity: Parity::from_byte(vlf.parity).unwrap(),
            sequence: VlfSequence(vlf.sequence),
            use_count: vlf.use_count,
            ..VlfHeader::unused(
                VlfSpan {
                    offset: bytes.len() as u64,
                    bytes: vlf.vlf_bytes,
                },
                vlf.create_lsn,
            )
        };
        starts.push(bytes.len());
        bytes.extend(header.encode());
        bytes.resize(starts[index] + vlf.vlf_bytes as usize, 0);
        order.push((vlf.sequence, index));
    }
    order.sort_unstable();
    let mut previous_bytes = 0;
    for (sequence, index) in order {
        let vlf = &vlfs[index];
        let formats = vlf.blocks.iter().flat_map(|(format, count)| vec![*format; *count]);
        for (number, format) in formats.enumerate() {
            let lsn = Lsn::new(sequence, 16 + number as u32, 1);
            let block = block_of(format, lsn, previous_bytes, Parity::from_byte(vlf.parity).unwrap());
            let at = starts[index] + 8192 + number * 512;
            bytes[at..at + 512].copy_from_slice(&block);
            previous_bytes = 512;
        }
    }
    bytes
}

/// A block of one sector with an insert and a commit, as a server writes it whose blocks have `format`.
fn block_of(format: u16, lsn: Lsn, previous_bytes: u16, parity: Parity) -> Vec<u8> {
    let header_bytes: usize = match format {
        2 => 24,
        3 => 28,
        4 => 40,
        5 => 48,
        _ => 72,
    };
    let mut block = vec![0; 512];
    let put = |block: &mut Vec<u8>, at: usize, value: &[u8]| block[at..at + value.len()].copy_from_slice(value);
    let offsets = [header_bytes, header_bytes + 64];
    for (offset, operation) in offsets.iter().zip([2u8, 129]) {
        // Format 2 has the operation of a record elsewhere.
        let place = if format == 2 { 0x0E } else { 0x16 };
        block[offset + place] = operation;
    }
    let used = header_bytes + 128 + 4;
    put(&mut block, 0x00, &format.to_le_bytes());
    put(&mut block, 0x02, &2u16.to_le_bytes());
    put(&mut block, 0x04, &(used as u16).to_le_bytes());
    put(&mut block, 0x06, &512u16.to_le_bytes());
    put(&mut block, 0x08, &1u16.to_le_bytes());
    put(&mut block, 0x0A, &previous_bytes.to_le_bytes());
    put(&mut block, 0x0C, &lsn.to_bytes());
    put(&mut block, used - 2, &(offsets[0] as u16).to_le_bytes());
    put(&mut block, used - 4, &(offsets[1] as u16).to_le_bytes());
    stamp_block(&mut block, parity);
    block
}

fn vlf_of(sequence: u32, parity: u8, use_count: u32, blocks: &'static [(u16, usize)]) -> BuiltVlf {
    BuiltVlf {
        vlf_bytes: 253_952,
        sequence,
        parity,
        use_count,
        create_lsn: Lsn::ZERO,
        blocks,
    }
}

fn counts(found: &Inspection) -> Vec<(&str, u64)> {
    let kinds = found.records_by_kind.iter();
    kinds.map(|kind| (kind.operation.as_str(), kind.count)).collect()
}

/// A log that 2017 began and 2019 went on with has blocks of two formats in one VLF; one of 2005 has blocks of format 3 in VLFs of format
/// 2. Both were called damaged, block by block, and none of their records was read.
#[test]
fn blocks_have_the_format_of_their_writer() {
    let sqlserver = [
        (
            FormatVersion::SqlServer2012,
            vlf_of(162, 64, 13, &[(5, 22), (6, 46)]),
            vlf_of(165, 128, 14, &[(6, 71)]),
            vec![(5, 22), (6, 117)],
            "5 (SQL Server 2012 to 2017): 22, 6 (SQL Server 2019 and later): 117",
        ),
        (
            FormatVersion::SqlServer2000,
            vlf_of(25, 64, 5, &[(2, 3), (3, 40)]),
            vlf_of(26, 128, 6, &[(3, 9)]),
            vec![(2, 3), (3, 49)],
            "2 (SQL Server 7.0, 2000): 3, 3 (SQL Server 2005): 49",
        ),
        (
            FormatVersion::SqlServer2012,
            vlf_of(31, 64, 1, &[(4, 5), (5, 5)]),
            vlf_of(32, 64, 1, &[(7, 2)]),
            vec![(4, 5), (5, 5), (7, 2)],
            "4 (SQL Server 2008, 2008 R2): 5, 5 (SQL Server 2012 to 2017): 5, 7 (SQL Server 2019 and later): 2",
        ),
    ];
    for (format, first, second, formats, words) in sqlserver {
        let blocks: u64 = formats.iter().map(|(_, blocks)| blocks).sum();
        let found = inspect(&log_of(format, &[first, second]), Depth::Blocks).unwrap();
        assert_eq!(found.damage, [], "{words}");
        assert_eq!(found.block_formats, formats);
        assert_eq!((found.blocks.total, found.records), (blocks, 2 * blocks));
        assert_eq!(
            counts(&found),
            [("LOP_COMMIT_XACT", blocks), ("LOP_INSERT_ROWS", blocks)]
        );
        let table = inspection_table(&found, "log.ldf", false);
        assert!(table.contains(words), "{words} in\n{table}");
        let mut json = Vec::new();
        inspection_json(&found, &mut json).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
        assert_eq!(json["block_formats"][0]["format_version"], formats[0].0);
        assert_eq!(json["block_formats"][0]["blocks"], formats[0].1);
    }
}

/// A block that no server writes into such a VLF is still damage.
#[test]
fn a_block_of_no_known_kind_is_damage() {
    for format in [0, 0x40, 0x0505] {
        let mut bytes = log_of(FormatVersion::SqlServer2012, &[vlf_of(7, 64, 1, &[(5, 3)])]);
        let mut block = block_of(5, Lsn::new(7, 17, 1), 512, Parity::Odd);
        let [low, high] = u16::to_le_bytes(format);
        (block[511], block[1]) = (low, high);
        bytes[8192 + 8192 + 512..][..512].copy_from_slice(&block);
        let found = inspect(&bytes, Depth::Blocks).unwrap();
        assert_eq!((found.damage_count, found.blocks.total), (1, 2), "{format}");
        assert!(found.damage[0].what.contains("format version 0x"), "{:?}", found.damage);
    }
}

type HeaderRow = (u32, u8, u32, u64, (u32, u32, u16));

/// The VLFs of a real Northwind log, 14 of them: sequence, parity, use count, bytes, and where the growth that made it began. A server made
/// all headers again in the second cycle and counted from 1 again, while parity went on: VLFs 8 to 14 had parity 128 in what counts as their
/// first use. They were taken for damaged headers, and `plan --from` refused the file.
const TAKEN_OVER: [HeaderRow; 14] = [
    (57, 128, 2, 253_952, (0, 0, 0)),
    (58, 128, 2, 253_952, (0, 0, 0)),
    (45, 64, 1, 270_336, (22, 149, 552)),
    (46, 64, 1, 262_144, (22, 389, 421)),
    (47, 64, 1, 262_144, (23, 162, 106)),
    (48, 64, 1, 262_144, (23, 184, 531)),
    (56, 64, 1, 262_144, (23, 328, 436)),
    (49, 128, 1, 262_144, (24, 136, 175)),
    (50, 128, 1, 262_144, (24, 241, 465)),
    (51, 128, 1, 262_144, (24, 364, 520)),
    (52, 128, 1, 262_144, (25, 16, 524)),
    (53, 128, 1, 327_680, (25, 136, 412)),
    (54, 128, 1, 327_680, (26, 16, 489)),
    (55, 128, 1, 393_216, (26, 136, 550)),
];

#[test]
fn a_use_count_says_nothing_of_the_parity() {
    let vlfs = TAKEN_OVER.map(
        |(sequence, parity, use_count, vlf_bytes, (vlf, block, slot))| BuiltVlf {
            vlf_bytes,
            sequence,
            parity,
            use_count,
            create_lsn: Lsn::new(vlf, block, slot),
            blocks: &[(5, 6)],
        },
    );
    let bytes = log_of(FormatVersion::SqlServer2012, &vlfs);
    assert_eq!(bytes.len(), 3_932_160);
    let found = inspect(&bytes, Depth::Blocks).unwrap();
    assert_eq!(found.damage, []);
    assert_eq!((found.vlfs.len(), found.blocks.total), (14, 84));
    let is_linked = |vlf: &advisor::inspection::InspectedVlf| vlf.state >= VlfState::Linked;
    assert!(found.vlfs.iter().all(is_linked), "45 to 58 without a gap");
    assert_eq!(found.growths.len(), 13);
    let layout = layout_of_vlfs(found.spans(), ServerVersion::V2012).unwrap();
    assert_eq!((layout.vlf_count(), layout.file_bytes()), (14, 3_932_160));
}
