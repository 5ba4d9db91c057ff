//! The walk over VLF headers, in log files of our own format, sound and damaged, built in memory.
#![allow(clippy::unwrap_used)]

use crate::support;

use support::Random;
use vlf::record::SqlRecord;
use vlf::walk::{ReadFault, VlfBlocks, WalkStep, survey};
use vlf::{
    BLOCK_BYTES_MAX, BlockBuilder, BlockFault, BlockHeader, BlockOrigin, FileCut, FileHeader, FileHeaderFault,
    FormatVersion, LayoutSteps, LogLayout, Lsn, ServerVersion, VlfHeader, VlfHeaderFault, VlfSequence,
};

/// A log of three VLFs (768 KB): the first two full, the third with `tail_blocks` blocks. Answers the file's bytes and how
/// many blocks each VLF holds.
fn log_file(tail_blocks: usize) -> (Vec<u8>, Vec<usize>) {
    let layout = LogLayout::create(ServerVersion::V2022, 768 * 1024).unwrap();
    let mut bytes = vec![0; layout.file_bytes() as usize];
    let mut page = FileHeader {
        file_id: 2,
        database_id: [7; 16],
        created_ticks: 1,
        server_version: ServerVersion::V2022,
        sector_bytes: 512,
        generation: 1,
        file_bytes: 0,
        headers_when_entered: false,
        runs: Vec::new(),
        growths: Vec::new(),
    };
    page.set_layout(&LayoutSteps::of(&layout));
    bytes[..8192].copy_from_slice(&page.encode());
    let mut random = Random::new(9);
    let mut counts = Vec::new();
    let mut previous = (0u16, 0u32);
    for (index, vlf) in layout.vlfs().iter().enumerate() {
        let header = VlfHeader::unused(vlf.span, Lsn::ZERO).entered(VlfSequence(30 + index as u32));
        let start = vlf.span.offset as usize;
        bytes[start..start + 512].copy_from_slice(&header.encode());
        let blocks_max = if index == 2 { tail_blocks } else { usize::MAX };
        let (mut lsn, mut count) = (Lsn::new(header.sequence.0, 16, 1), 0);
        while count < blocks_max && lsn.offset_in_vlf() < vlf.span.bytes {
            let at = lsn.offset_in_vlf() as usize;
            let origin = BlockOrigin {
                lsn,
                parity: header.parity,
                previous_block_bytes: previous.0,
                sector_bytes: 512,
                bytes_max: vlf.span.bytes as usize - at,
            };
            let mut block = BlockBuilder::new(vec![0; BLOCK_BYTES_MAX], origin).unwrap();
            for _ in 0..1 + random.below(20) {
                let record_bytes = 1 + random.below(900) as usize;
                let record = random.bytes(record_bytes);
                if block.try_push(&record).is_none() {
                    break;
                }
            }
            let sealed = block.finish(previous.1, 0);
            bytes[start + at..start + at + sealed.bytes].copy_from_slice(&sealed.buffer[..sealed.bytes]);
            previous = (sealed.bytes as u16, sealed.crc);
            lsn = lsn.next_block(sealed.bytes);
            count += 1;
        }
        counts.push(count);
    }
    (bytes, counts)
}

/// Blocks, gaps and the end of a walk over one VLF.
type Walked = (Vec<BlockHeader>, Vec<(u64, u64, BlockFault)>, Option<BlockFault>);

fn walk(bytes: &[u8], vlf: &VlfHeader, previous: Option<&BlockHeader>) -> Walked {
    let mut blocks = VlfBlocks::new(bytes, vlf);
    if let Some(previous) = previous {
        blocks = blocks.following(previous);
    }
    steps(blocks)
}

fn steps<S: vlf::ReadAt + ?Sized>(mut blocks: VlfBlocks<'_, S>) -> Walked {
    let (mut headers, mut gaps) = (Vec::new(), Vec::new());
    loop {
        match blocks.next_step().unwrap() {
            WalkStep::Block(block) => headers.push(*block.header()),
            WalkStep::Gap { offset, bytes, fault } => gaps.push((offset, bytes, fault)),
            WalkStep::End { fault, .. } => return (headers, gaps, fault),
        }
    }
}

#[test]
fn a_sound_file_walks_without_gaps() {
    let (bytes, counts) = log_file(5);
    let found = survey(&bytes).unwrap();
    assert_eq!(found.gaps, []);
    let directory = found.file_header.as_ref().unwrap().layout().unwrap();
    assert!(directory.vlfs().iter().map(|vlf| vlf.span).eq(found.spans()));
    let mut previous: Option<BlockHeader> = None;
    for (index, vlf) in found.in_sequence().iter().enumerate() {
        let (headers, gaps, end) = walk(&bytes, vlf, previous.as_ref());
        assert_eq!(headers.len(), counts[index]);
        assert_eq!(gaps, []);
        let expected_end = (index == 2).then_some(BlockFault::NotABlock { stamp: 0 });
        assert_eq!(end, expected_end);
        previous = headers.last().copied();
    }
    assert_eq!(previous.unwrap().lsn.vlf, 32);
}

#[test]
fn a_block_that_follows_another_is_reported_and_still_read() {
    let (bytes, counts) = log_file(5);
    let vlfs = survey(&bytes).unwrap().vlfs;
    let (first, _, _) = walk(&bytes, &vlfs[0], None);
    // The second VLF's first block follows the last of the first VLF, not its first.
    let (headers, gaps, _) = walk(&bytes, &vlfs[1], Some(&first[0]));
    assert_eq!(headers.len(), counts[1]);
    assert_eq!(gaps.len(), 1);
    assert_eq!((gaps[0].0, gaps[0].1), (vlfs[1].start_offset + 8192, 0));
    assert!(gaps[0].2.is_link_fault());
}

#[test]
fn reads_on_behind_damaged_blocks() {
    let (good, counts) = log_file(5);
    let vlf = survey(&good).unwrap().vlfs[0];
    let (headers, _, _) = walk(&good, &vlf, None);
    for victim in [0, 3, counts[0] - 1] {
        let header = &headers[victim];
        let offset = vlf.start_offset + header.lsn.offset_in_vlf();
        let mut bytes = good.clone();
        bytes[offset as usize..offset as usize + 64].fill(0xEE);
        let (read, gaps, end) = walk(&bytes, &vlf, None);
        assert_eq!(read.len(), counts[0] - 1, "block {victim}");
        if victim + 1 == counts[0] {
            assert_eq!((gaps.len(), end), (0, Some(BlockFault::NotABlock { stamp: 0xEE })));
        } else {
            let skipped = u64::from(header.block_bytes);
            assert_eq!(gaps, [(offset, skipped, BlockFault::NotABlock { stamp: 0xEE })]);
        }
    }
}

#[test]
fn reads_on_behind_a_damaged_vlf_header() {
    let (good, _) = log_file(5);
    let vlfs = survey(&good).unwrap().vlfs;
    for victim in 0..3 {
        let mut bytes = good.clone();
        bytes[vlfs[victim].start_offset as usize + 4] ^= 1;
        let found = survey(&bytes).unwrap();
        let expected: Vec<VlfHeader> = vlfs
            .iter()
            .copied()
            .filter(|vlf| vlf.sequence != vlfs[victim].sequence)
            .collect();
        assert_eq!(found.vlfs, expected);
        assert_eq!(found.gaps.len(), 1);
        assert_eq!(found.gaps[0].offset, vlfs[victim].start_offset);
        assert_eq!(found.gaps[0].bytes, vlfs[victim].vlf_bytes);
        assert_eq!(found.gaps[0].fault, VlfHeaderFault::Checksum);
    }
}

#[test]
fn cut_files_are_reported() {
    let (good, _) = log_file(5);
    let vlfs = survey(&good).unwrap().vlfs;
    let empty: [u8; 0] = [];
    let found = survey(&empty[..]).unwrap();
    assert_eq!(found.file_header, Err(FileHeaderFault::Short));
    assert_eq!((found.vlfs.len(), found.gaps.len()), (0, 0));
    for length in [100, 8192, 8193, 8192 + 512, 262_144 + 700, good.len() - 1] {
        let found = survey(&good[..length]).unwrap();
        // Page 0 knows the size, once it is there.
        let whole = FileCut {
            whole_bytes: good.len() as u64,
            is_exact: true,
        };
        assert_eq!(found.cut, (length >= 8192).then_some(whole), "{length}");
        let begun = vlfs
            .iter()
            .filter(|vlf| vlf.start_offset + 512 <= length as u64)
            .count();
        assert_eq!(
            found.vlfs,
            vlfs[..begun],
            "{length}: the VLF that is cut off is one of them"
        );
        // Of 8193 bytes, one is the begin of a header.
        let gaps: Vec<_> = found.gaps.iter().map(|gap| (gap.offset, gap.fault)).collect();
        let short = (8192, VlfHeaderFault::Short);
        assert_eq!(gaps, if length == 8193 { vec![short] } else { vec![] }, "{length}");
    }
}

/// A file that knows its holes: runs of 4 KB of zeros.
struct Sparse(Vec<u8>);

impl vlf::ReadAt for Sparse {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ReadFault> {
        vlf::ReadAt::read_at(&self.0, offset, buffer)
    }

    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn next_data(&self, offset: u64) -> u64 {
        let zeros = self.0[offset as usize..].iter().take_while(|byte| **byte == 0).count() as u64;
        // A hole ends where a 4 KB block begins that is not all zeros.
        if zeros < 4096 {
            offset
        } else {
            (offset + zeros) / 4096 * 4096
        }
    }
}

/// Stepping over holes finds the same headers, blocks and gaps as reading their zeros, damage included.
#[test]
fn holes_change_nothing() {
    let (good, _) = log_file(5);
    let mut random = Random::new(5);
    for round in 0..40 {
        let mut bytes = good.clone();
        for _ in 0..round % 8 {
            let position = random.below(bytes.len() as u64 - 40_000) as usize;
            let length = random.below(40_000) as usize;
            bytes[position..position + length].fill(0);
        }
        let sparse = Sparse(bytes.clone());
        let (dense_survey, sparse_survey) = (survey(&bytes).unwrap(), survey(&sparse).unwrap());
        assert_eq!(dense_survey, sparse_survey, "round {round}");
        for vlf in &dense_survey.vlfs {
            let dense = steps(VlfBlocks::new(&bytes, vlf));
            assert_eq!(dense, steps(VlfBlocks::new(&sparse, vlf)), "round {round}");
        }
    }
}

/// Files with random damage, and random bytes as records: answers, never a panic, and the walks end.
#[test]
fn random_damage_never_panics() {
    let mut random = Random::new(21);
    let (good, _) = log_file(5);
    for _ in 0..60 {
        let mut bytes = good.clone();
        for _ in 0..random.below(30) {
            let position = random.below(bytes.len() as u64) as usize;
            let length = (random.below(600) as usize).min(bytes.len() - position);
            let noise = random.bytes(length);
            bytes[position..position + length].copy_from_slice(&noise);
        }
        let found = survey(&bytes).unwrap();
        for vlf in &found.vlfs {
            let (blocks, gaps, _) = walk(&bytes, vlf, None);
            let read: u64 = blocks.iter().map(|block| u64::from(block.block_bytes)).sum();
            let skipped: u64 = gaps.iter().map(|gap| gap.1).sum();
            assert!(read + skipped <= vlf.body_bytes());
        }
    }
    for _ in 0..20_000 {
        let length = random.below(200) as usize;
        let bytes = random.bytes(length);
        for format in FormatVersion::ALL {
            if let Some(record) = SqlRecord::decode(format, &bytes) {
                assert!(format != FormatVersion::Vlflab);
                let elements: usize = record.elements().iter().map(|part| part.len()).sum();
                assert!(elements <= bytes.len());
                let _ = (record.transaction_name(), record.operation.to_string());
            }
        }
    }
}
