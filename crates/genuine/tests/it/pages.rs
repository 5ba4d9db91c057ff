//! Pages made by the tests: protection, slots, sources.
//!
//! Depth: bytes in memory, one page at a time; every rule of `page` is met by what keeps it and what breaks it.

use crate::support::writer::{PageWriter, Protection};
use genuine::page::maps::{MAP_PAGES, is_place_of_map};
use genuine::page::{FileOfPages, PageBytes};
use genuine::page::{Soundness, checksum};
use genuine::verdicts::Verdicts;
use genuine::{DataFiles, Fault, PAGE_BYTES, Page, PageId, PageKind, PageSource, survey};
use std::sync::atomic::{AtomicU32, Ordering};

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

/// PFS pages at every multiple of 8,088; the four other maps at the beginning of every stretch, of which the first has them behind page 0.
#[test]
fn maps_have_their_places() {
    let places = |pages: std::ops::Range<u32>| -> Vec<u32> {
        pages.filter(|page| is_place_of_map(PageId::new(1, *page))).collect()
    };
    assert_eq!(places(0..8), [1, 2]);
    assert_eq!(places(8..20_000), [8_088, 16_176]);
    let second = [0, 1, 6, 7].map(|page| MAP_PAGES + page);
    assert_eq!(places(MAP_PAGES - 9..MAP_PAGES + 9), second);
}

/// The second PFS page of a file lies in an extent that the GAM calls free: it is in use all the same, is read, and its damage is found.
#[test]
fn a_map_in_an_extent_that_is_free_is_in_use() {
    let mut file = vec![0; 8_096 * PAGE_BYTES];
    let mut put = |page: PageWriter, number: usize| {
        file[number * PAGE_BYTES..][..PAGE_BYTES].copy_from_slice(&page.finish(Protection::Checksum)[..]);
    };
    let page = |number, kind| PageWriter::new(PageId::new(1, number), kind);
    put(page(0, 15), 0);
    let (mut first_pfs, mut second_pfs, mut gam) = (page(1, 11), page(8_088, 11), page(2, 8));
    first_pfs.record(&[[0; 4], [0x40; 4]].concat());
    second_pfs.record(&[[0; 4], [0x40, 0x40, 0, 0]].concat());
    gam.record(&[0; 94]).put(194, &[0xFF; 7_990]).put(194, &[0xFE]);
    put(first_pfs, 1);
    put(gam, 2);
    put(page(3, 9), 3);
    put(second_pfs, 8_088);
    let found = survey::pages(
        &DataFiles::open(vec![file.as_slice()]).unwrap(),
        &mut Verdicts::default(),
    );
    let file_found = &found.files[0];
    // Page 8,089 is what the two maps do not agree on.
    assert_eq!((file_found.allocated, file_found.in_free_extents), (5, 1));
    assert_eq!(found.faults.count, 0);
    file[8_088 * PAGE_BYTES + 5_000] ^= 1;
    let found = survey::pages(
        &DataFiles::open(vec![file.as_slice()]).unwrap(),
        &mut Verdicts::default(),
    );
    assert_eq!(found.faults.kept[0].place.to_string(), "page (1:8088)");
}

/// Pages of which the verdict is known are not read again, and what is found is the same: sound ones of every protection, a damaged one, one in
/// another's place, one that was never formatted.
#[test]
fn verdicts_find_what_reading_finds() {
    let mut pfs = PageWriter::new(PageId::new(1, 1), 11);
    pfs.record(&[&[0; 4][..], &[0x40; 8_000]].concat());
    let mut gam = PageWriter::new(PageId::new(1, 2), 8);
    gam.record(&[0; 94]).put(190, &[0; 4]).put(194, &[0; 7_990]);
    let mut pages = vec![
        PageWriter::new(PageId::new(1, 0), 15).finish(Protection::Checksum),
        pfs.finish(Protection::Checksum),
        gam.finish(Protection::Checksum),
    ];
    let mut put = |place: u32, id: u32, kind: u8, protection: Protection, spoiled: bool| {
        let mut bytes = PageWriter::new(PageId::new(1, id), kind).finish(protection);
        bytes[700] ^= u8::from(spoiled);
        assert_eq!(place as usize, pages.len());
        pages.push(bytes);
    };
    put(3, 3, 1, Protection::Checksum, false);
    put(4, 4, 2, Protection::TornBits(1), false);
    put(5, 5, 3, Protection::None, false);
    put(6, 6, 1, Protection::Checksum, true);
    put(7, 9, 1, Protection::Checksum, false);
    pages.push(Box::new([0; PAGE_BYTES]));
    let bytes: Vec<u8> = pages.iter().flat_map(|page| page.iter().copied()).collect();
    let files = DataFiles::open(vec![bytes]).unwrap();
    let mut looked = Verdicts::default();
    for (page, number) in pages.iter().zip(0..) {
        looked.look(PageId::new(1, number), page);
    }
    let read = survey::pages(&files, &mut Verdicts::default());
    let known = survey::pages(&files, &mut looked);
    assert_eq!(format!("{read:?}"), format!("{known:?}"));
    let file = &read.files[0];
    assert_eq!((file.data, file.index, file.text, file.system), (1, 1, 1, 3));
    assert_eq!((file.checksummed, file.torn_bits, file.unprotected), (4, 1, 1));
    let places: Vec<String> = read.faults.kept.iter().map(|fault| fault.place.to_string()).collect();
    assert_eq!(places, ["page (1:6)", "page (1:7)", "page (1:8)"]);
}

/// A file that says that it is 32 TB, of which only the first pages are there. Whether it is a whole database or a part of one.
struct Huge {
    files: [FileOfPages; 1],
    is_part: bool,
    asked: AtomicU32,
}

impl PageSource for Huge {
    fn read_page(&self, id: PageId, bytes: &mut PageBytes) -> Result<(), Fault> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let mut page = PageWriter::new(id, if id.page == 1 { 11 } else { 8 });
        if id.page > 2 {
            return Err(Fault::of_page(id, "it is not there"));
        }
        bytes.copy_from_slice(&page.record(&[0; 100]).finish(Protection::Checksum)[..]);
        Ok(())
    }

    fn files(&self) -> &[FileOfPages] {
        &self.files
    }

    fn should_have(&self, id: PageId) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed);
        !self.is_part || id.page < 8
    }
}

/// The size of a file is what the configuration of a backup says of it. One changed byte made it 4 thousand million pages, and each was looked for: a
/// quarter of an hour for 300 KB.
#[test]
fn a_size_that_cannot_be_true_costs_no_time() {
    for is_part in [false, true] {
        let huge = Huge {
            files: [FileOfPages { id: 1, pages: u32::MAX }],
            is_part,
            asked: AtomicU32::new(0),
        };
        let found = survey::pages(&huge, &mut Verdicts::default());
        let stretches = u32::MAX / MAP_PAGES;
        let asked = huge.asked.into_inner();
        assert!(asked < 4 * stretches + 20_000, "{asked}");
        assert_eq!(
            found.faults.count > u64::from(stretches),
            !is_part,
            "a map that is missing is a fault"
        );
    }
}
