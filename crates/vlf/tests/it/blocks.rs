//! Log blocks of our format: written blocks are read back, and any change of their bytes is noticed.
#![allow(clippy::unwrap_used)]

use crate::support;

use support::Random;
use vlf::block::RECORD_BYTES_MAX;
use vlf::block::{parse_block, parse_block_in_place, peek_block_length};
use vlf::{
    BLOCK_BYTES_MAX, BlockBuilder, BlockFault, BlockOrigin, Expectations, FileHeader, FormatVersion, Lsn, Parity,
    TailVerdict, UsedBuffer, VlfHeader, VlfSequence, VlfSpan,
};

fn vlf_header() -> VlfHeader {
    let span = VlfSpan {
        offset: 8192,
        bytes: 1 << 20,
    };
    VlfHeader::unused(span, Lsn::ZERO).entered(VlfSequence(43))
}

fn origin(block: u32) -> BlockOrigin {
    BlockOrigin {
        lsn: Lsn::new(43, block, 1),
        parity: Parity::Odd,
        previous_block_bytes: 0,
        sector_bytes: 512,
        bytes_max: BLOCK_BYTES_MAX,
    }
}

fn sealed(records: &[Vec<u8>], origin: BlockOrigin, previous_crc: u32) -> (Vec<u8>, u32) {
    let mut builder = BlockBuilder::new(vec![0xEE; BLOCK_BYTES_MAX], origin).unwrap();
    for record in records {
        builder.try_push(record).unwrap();
    }
    let expected_bytes = builder.sealed_bytes();
    let block = builder.finish(previous_crc, 99);
    assert_eq!(block.bytes, expected_bytes);
    (block.buffer[..block.bytes].to_vec(), block.crc)
}

fn fault(bytes: &[u8], expected: &Expectations) -> BlockFault {
    parse_block(bytes, expected, &mut Vec::new()).unwrap_err()
}

/// Blocks of all lengths behind each other in one buffer: each is as in a buffer of its own, whatever the former ones have left.
#[test]
fn a_buffer_used_again_holds_the_same_block_as_a_new_one() {
    let mut random = Random::new(29);
    let mut buffer = UsedBuffer::zeroed(vec![0; BLOCK_BYTES_MAX]);
    for round in 0..1_500u32 {
        let origin = BlockOrigin {
            sector_bytes: if random.below(2) == 0 { 512 } else { 4096 },
            bytes_max: [4096, 8192 + 511, BLOCK_BYTES_MAX][random.below(3) as usize],
            ..origin(16)
        };
        let largest = 1 + random.below(if round % 7 == 0 { 4_000 } else { 200 });
        let mut builder = BlockBuilder::again(buffer, origin).unwrap();
        let mut records: Vec<Vec<u8>> = Vec::new();
        while random.below(12) > 0 {
            let record_bytes = 1 + random.below(largest) as usize;
            let record = random.bytes(record_bytes);
            if builder.try_push(&record).is_none() {
                break;
            }
            records.push(record);
        }
        let block = builder.finish(round, 99);
        let (expected, crc) = sealed(&records, origin, round);
        assert_eq!((block.bytes, block.crc), (expected.len(), crc), "{round}");
        assert!(block.buffer[..block.bytes] == expected, "{round}");
        buffer = block.buffer;
    }
}

#[test]
fn random_blocks_round_trip() {
    let mut random = Random::new(11);
    for round in 0..300 {
        let sector_bytes = if round % 2 == 0 { 512u16 } else { 4096 };
        let origin = BlockOrigin {
            sector_bytes,
            previous_block_bytes: 512 * (round % 100),
            ..origin(16)
        };
        let mut builder = BlockBuilder::new(vec![0xEE; BLOCK_BYTES_MAX], origin).unwrap();
        let mut records: Vec<Vec<u8>> = Vec::new();
        let largest = 1 + random.below(4000);
        loop {
            let record_bytes = 1 + random.below(largest) as usize;
            let record = random.bytes(record_bytes);
            let slot = builder.try_push(&record);
            assert_eq!(slot.is_some(), slot == Some(records.len() as u16 + 1));
            if slot.is_none() || random.below(60) == 0 {
                break;
            }
            records.push(record);
        }
        let pushed = builder.slot_count();
        let block = builder.finish(0xABCD, 1234);
        assert_eq!(block.bytes % usize::from(sector_bytes), 0);
        assert_eq!(peek_block_length(&block.buffer[..512]), Some(block.bytes));

        let expected = Expectations {
            previous_block_bytes: Some(512 * (round % 100)),
            previous_crc: Some(0xABCD),
            ..Expectations::first_of(&vlf_header())
        };
        let mut scratch = Vec::new();
        let parsed = parse_block(&block.buffer, &expected, &mut scratch).unwrap();
        assert_eq!(parsed.header().slot_count, pushed);
        assert_eq!(parsed.header().crc, block.crc);
        assert_eq!(parsed.header().write_ticks, 1234);
        assert_eq!(parsed.header().sector_bytes, sector_bytes);
        for (index, record) in records.iter().enumerate() {
            assert_eq!(parsed.record(index as u16 + 1), Some(record.as_slice()));
        }
        assert_eq!(parsed.record(0), None);
        assert_eq!(parsed.record(pushed + 1), None);
        let lsns: Vec<Lsn> = parsed.records().map(|(lsn, _)| lsn).collect();
        assert_eq!(lsns.len(), usize::from(pushed));
        assert!(
            lsns.iter()
                .zip(1u16..)
                .all(|(lsn, slot)| *lsn == Lsn::new(43, 16, slot))
        );

        let mut in_place = block.buffer[..block.bytes].to_vec();
        let parsed = parse_block_in_place(&mut in_place, &expected).unwrap();
        assert_eq!(parsed.bytes(), scratch);
    }
}

#[test]
fn the_largest_record_fits_and_one_byte_more_does_not() {
    let mut builder = BlockBuilder::new(vec![0; BLOCK_BYTES_MAX], origin(16)).unwrap();
    assert!(!builder.fits(RECORD_BYTES_MAX + 1));
    assert!(!builder.fits(0));
    assert!(!builder.fits(usize::MAX));
    assert_eq!(builder.try_push(&vec![7; RECORD_BYTES_MAX]), Some(1));
    assert!(!builder.fits(1));
    let block = builder.finish(0, 0);
    assert_eq!(block.bytes, BLOCK_BYTES_MAX);
    let mut scratch = Vec::new();
    let expected = Expectations::first_of(&vlf_header());
    let parsed = parse_block(&block.buffer, &expected, &mut scratch).unwrap();
    assert_eq!(parsed.record(1), Some(vec![7; RECORD_BYTES_MAX].as_slice()));
}

#[test]
fn builders_respect_their_room() {
    let short = |bytes_max| BlockOrigin {
        bytes_max,
        ..origin(16)
    };
    assert!(BlockBuilder::new(vec![0; 511], origin(16)).is_none());
    assert!(BlockBuilder::new(vec![0; 4096], short(511)).is_none());
    let odd = BlockOrigin {
        sector_bytes: 1000,
        ..origin(16)
    };
    assert!(BlockBuilder::new(vec![0; 4096], odd).is_none());
    let mut builder = BlockBuilder::new(vec![0; 4096], short(1024)).unwrap();
    while builder.try_push(&[1; 100]).is_some() {}
    assert_eq!(builder.sealed_bytes(), 1024);
    assert_eq!(builder.next_lsn().slot, builder.slot_count() + 1);
    assert_eq!(builder.into_buffer().len(), 4096);
}

/// A commit of one small record takes one sector, as SQL Server's single-row commits do.
#[test]
fn a_small_block_is_one_sector_and_a_filler_has_no_record() {
    assert_eq!(sealed(&[vec![1; 100]], origin(16), 0).0.len(), 512);
    let (filler, _) = sealed(&[], origin(16), 0);
    let mut scratch = Vec::new();
    let expected = Expectations::first_of(&vlf_header());
    let parsed = parse_block(&filler, &expected, &mut scratch).unwrap();
    assert_eq!(parsed.records().count(), 0);
}

#[test]
fn every_flipped_bit_is_noticed() {
    let mut random = Random::new(3);
    let records: Vec<Vec<u8>> = (0..7).map(|_| random.bytes(150)).collect();
    let (block, _) = sealed(&records, origin(16), 5);
    let expected = Expectations::first_of(&vlf_header());
    assert_eq!(block.len(), 1536);
    for bit in 0..block.len() * 8 {
        let mut bytes = block.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let sound = parse_block(&bytes, &expected, &mut Vec::new()).is_ok();
        assert!(!sound, "bit {bit} of byte {}", bit / 8);
    }
}

/// Writes that stopped after any number of sectors, over old bytes of each kind.
#[test]
fn torn_writes_end_the_log() {
    let mut random = Random::new(4);
    let records: Vec<Vec<u8>> = (0..20).map(|_| random.bytes(200)).collect();
    let (new, _) = sealed(&records, origin(16), 5);
    let others: Vec<Vec<u8>> = (0..20).map(|_| random.bytes(200)).collect();
    let other_use = BlockOrigin {
        parity: Parity::Even,
        ..origin(16)
    };
    let old_kinds = [
        ("zeros", vec![0; new.len()]),
        ("stamped free", vec![0xC0; new.len()]),
        ("one use ago", sealed(&others, other_use, 1).0),
        // Two uses ago the stamps are the same: only the checksums can tell.
        ("two uses ago", sealed(&others, origin(16), 1).0),
        ("random", random.bytes(new.len())),
    ];
    let expected = Expectations::first_of(&vlf_header());
    for (name, old) in old_kinds {
        for sectors in 1..new.len() / 512 {
            let mut torn = old.clone();
            torn[..sectors * 512].copy_from_slice(&new[..sectors * 512]);
            let found = fault(&torn, &expected);
            assert_eq!(
                found.verdict(false),
                TailVerdict::TornTail,
                "{name} {sectors}: {found:?}"
            );
            // Sectors may also reach the disk in another order.
            let mut reversed = old.clone();
            reversed[sectors * 512..].copy_from_slice(&new[sectors * 512..]);
            let found = fault(&reversed, &expected);
            assert_ne!(found.verdict(false), TailVerdict::ReadMore, "{name} {sectors}");
        }
    }
}

#[test]
fn each_fault_has_its_name() {
    let (block, _) = sealed(&[vec![1; 600], vec![2; 600]], origin(20), 5);
    let right = Expectations {
        block: 20,
        previous_block_bytes: Some(0),
        previous_crc: Some(5),
        ..Expectations::first_of(&vlf_header())
    };
    assert!(parse_block(&block, &right, &mut Vec::new()).is_ok());
    assert_eq!(fault(&block[..511], &right), BlockFault::Short { bytes_needed: 512 });
    assert_eq!(fault(&block[..1535], &right), BlockFault::Short { bytes_needed: 1536 });
    assert_eq!(fault(&[0; 512], &right), BlockFault::NotABlock { stamp: 0 });
    assert_eq!(fault(&[0xC0; 512], &right), BlockFault::NotABlock { stamp: 0xC0 });
    assert_eq!(fault(&[0xFF; 512], &right), BlockFault::NotABlock { stamp: 0xFF });
    assert_eq!(fault(&block[512..], &right), BlockFault::NotABlock { stamp: 0x40 });
    let other = |change: fn(&mut Expectations)| {
        let mut expected = right;
        change(&mut expected);
        fault(&block, &expected)
    };
    assert_eq!(
        other(|e| e.parity = Parity::Even),
        BlockFault::StaleParity { stamp: 0x50 }
    );
    assert_eq!(
        other(|e| e.sequence = VlfSequence(44)),
        BlockFault::WrongSequence { found: 43 }
    );
    assert_eq!(other(|e| e.block = 21), BlockFault::WrongOffset { found: 20 });
    assert_eq!(other(|e| e.bytes_max = 1024), BlockFault::Length { found: 1536 });
    let five = FormatVersion::SqlServer2012;
    assert!(matches!(
        parse_block(&block, &Expectations { format: five, ..right }, &mut Vec::new()),
        Err(BlockFault::WrongFormat { found: 0x5603 })
    ));
    assert_eq!(
        other(|e| e.previous_block_bytes = Some(512)),
        BlockFault::WrongPreviousLength { found: 0 }
    );
    assert_eq!(other(|e| e.previous_crc = Some(6)), BlockFault::Chain { found: 5 });
    let damaged = |offset: usize| {
        let mut bytes = block.clone();
        bytes[offset] ^= 1;
        fault(&bytes, &right)
    };
    assert_eq!(damaged(512), BlockFault::Torn { sector: 1 });
    assert_eq!(damaged(1024), BlockFault::Torn { sector: 2 });
    assert_eq!(damaged(700), BlockFault::Checksum);
    // The same word changed twice in one sector cancels out in an XOR: only the CRC sees it.
    let mut bytes = block.clone();
    bytes[600] ^= 1;
    bytes[604] ^= 1;
    assert_eq!(fault(&bytes, &right), BlockFault::Crc);
}

/// A crash tears block 2 of 3 while block 3 reached the disk. Recovery ends the log after block 1 and writes a new block 2
/// of the same length: the old block 3 fits in place, sequence, parity, length and checksums, but not in the chain.
#[test]
fn a_block_left_from_before_a_crash_does_not_follow_a_new_one() {
    let (first, first_crc) = sealed(&[vec![1; 300]], origin(16), 0);
    let follow = |block| BlockOrigin {
        previous_block_bytes: 512,
        ..origin(block)
    };
    let (_, old_second_crc) = sealed(&[vec![2; 300]], follow(17), first_crc);
    let (old_third, _) = sealed(&[vec![3; 300]], follow(18), old_second_crc);
    let (new_second, _) = sealed(&[vec![4; 300]], follow(17), first_crc);

    let log = [first, new_second, old_third].concat();
    let mut expected = Expectations {
        previous_block_bytes: Some(0),
        previous_crc: Some(0),
        ..Expectations::first_of(&vlf_header())
    };
    let mut scratch = Vec::new();
    for offset in [0, 512] {
        let block = parse_block(&log[offset..], &expected, &mut scratch).unwrap();
        expected = expected.after(block.header());
    }
    let found = fault(&log[1024..], &expected);
    assert_eq!(found, BlockFault::Chain { found: old_second_crc });
    assert_eq!(found.verdict(false), TailVerdict::EndOfLog);
    assert!(found.is_link_fault());
    assert!(parse_block(&log[1024..], &expected.skip(0), &mut scratch).is_ok());
}

/// Random bytes, and sound blocks with random bytes over them, into every decoder: errors, never a panic.
#[test]
fn random_bytes_never_panic() {
    let mut random = Random::new(5);
    let (block, _) = sealed(&[vec![1; 600], vec![2; 900]], origin(16), 5);
    for round in 0..20_000 {
        let mut bytes = if round % 2 == 0 {
            let count = random.below(3000) as usize;
            random.bytes(count)
        } else {
            let mut bytes = block.clone();
            for _ in 0..=random.below(4) {
                let position = random.below(80.min(bytes.len() as u64)) as usize;
                bytes[position] = random.below(256) as u8;
            }
            bytes
        };
        if round % 3 == 0 && !bytes.is_empty() {
            bytes[0] = 0x58;
        }
        let _ = peek_block_length(&bytes);
        let _ = VlfHeader::decode(&bytes);
        let _ = FileHeader::decode(&bytes);
        for format in FormatVersion::ALL {
            let expected = Expectations {
                format,
                ..Expectations::first_of(&vlf_header())
            };
            let _ = parse_block(&bytes, &expected, &mut Vec::new());
            // With the header's own idea of where it stands, the later checks are reached.
            if let Some(lsn) = Lsn::read(&bytes, 0x0C) {
                let sequence = lsn.sequence();
                let expected = Expectations {
                    sequence,
                    block: lsn.block,
                    ..expected
                };
                let mut copy = bytes.clone();
                if let Ok(block) = parse_block_in_place(&mut copy, &expected) {
                    assert!(block.records().count() <= usize::from(block.header().slot_count));
                }
            }
        }
    }
}
