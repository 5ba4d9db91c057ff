//! Pages made by the tests: protection, slots, sources.
//!
//! Depth: bytes in memory, one page at a time; every rule of `page` is met by what keeps it and what breaks it.

use crate::support::writer::{PageWriter, Protection};
use genuine::page::{Soundness, checksum};
use genuine::{DataFiles, PAGE_BYTES, Page, PageId, PageKind, PageSource};

/// The rule of the checksum, a second time and bit by bit: 512 rows of 32 bits, one rotation a sector.
#[test]
fn the_checksum_is_the_published_rotation_of_sectors() {
    let mut bytes = Box::new([0; PAGE_BYTES]);
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = (at * 7 + at / 512) as u8;
    }
    let mut expected = 0u32;
    for sector in 0..16 {
        for bit in 0..32 {
            let mut parity = false;
            for word in 0..128 {
                let at = sector * 512 + word * 4;
                let is_field = at == 60;
                parity ^= !is_field && bytes[at + bit / 8] >> (bit % 8) & 1 == 1;
            }
            expected ^= u32::from(parity) << ((bit + 15 - sector) % 32);
        }
    }
    assert_eq!(checksum(&bytes), expected);
}

#[test]
fn a_changed_byte_is_found_by_the_checksum() {
    let mut writer = PageWriter::new(PageId::new(1, 0), 15);
    let good = writer.record(b"one").finish(Protection::Checksum);
    assert_eq!(Page::of(good.clone()).soundness(), Soundness::Sound);
    let mut bad = good;
    bad[5000] ^= 1;
    let page = Page::of(bad);
    assert!(page.soundness().is_damaged());
    let files = DataFiles::open(vec![page.bytes().to_vec()]).unwrap();
    let fault = Page::read(&files, PageId::new(1, 0)).err().unwrap();
    assert!(
        fault.to_string().starts_with("page (1:0): its checksum is 0x"),
        "{fault}"
    );
}

#[test]
fn torn_bits_go_back_into_their_sectors() {
    let mut writer = PageWriter::new(PageId::new(1, 7), 1);
    for sector in 1..16 {
        writer.put(sector * 512 + 511, &[0xA0 | (sector & 3) as u8]);
    }
    let plain = writer.finish(Protection::None);
    let written = writer.finish(Protection::TornBits(2));
    let page = Page::of(written.clone());
    assert_eq!(page.soundness(), Soundness::Sound);
    assert_eq!(page.bytes()[64..], plain[64..]);
    let mut torn = written;
    torn[9 * 512 + 511] ^= 3;
    assert_eq!(Page::of(torn).soundness(), Soundness::Torn);
}

#[test]
fn a_slot_leads_to_its_record_or_to_a_fault() {
    let mut writer = PageWriter::new(PageId::new(1, 7), 1);
    let bytes = writer.record(b"first").record(b"second").finish(Protection::None);
    let page = Page::of(bytes.clone());
    assert_eq!(page.kind(), PageKind::Data);
    assert_eq!(&page.record(1).unwrap().unwrap()[..6], b"second");
    assert_eq!(
        page.record(2).unwrap_err().to_string(),
        "page (1:7), slot 2: there are 2 slots"
    );
    let mut astray = bytes;
    astray[PAGE_BYTES - 2..].copy_from_slice(&[9, 0]);
    assert_eq!(
        Page::of(astray.clone()).record(0).unwrap_err().to_string(),
        "page (1:7), slot 0: its record begins at byte 9 of the page"
    );
    astray[22..24].copy_from_slice(&[0xFF, 0xFF]);
    assert!(Page::of(astray).record(0).is_err());
}

#[test]
fn a_source_knows_its_files_by_their_first_pages() {
    let file = |id| {
        PageWriter::new(PageId::new(id, 0), 15)
            .finish(Protection::None)
            .to_vec()
    };
    let files = DataFiles::open(vec![file(3), file(1)]).unwrap();
    let ids: Vec<u16> = files.files().iter().map(|file| file.id).collect();
    assert_eq!(ids, [1, 3]);
    let missing = Page::read(&files, PageId::new(2, 0)).err().unwrap();
    assert_eq!(missing.to_string(), "page (2:0): file 2 of the database is missing");
    let beyond = Page::read(&files, PageId::new(1, 1)).err().unwrap();
    assert_eq!(beyond.to_string(), "page (1:1): the file ends after 1 pages");
    let twice = DataFiles::open(vec![file(1), file(1)]).err().unwrap();
    assert_eq!(twice.to_string(), "the file: two of the files have the id 1");
    assert!(DataFiles::open(vec![vec![0; PAGE_BYTES]]).is_err());
    assert!(DataFiles::open(vec![vec![1, 15]]).is_err());
}
