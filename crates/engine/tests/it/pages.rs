//! Pages against a model: rows in a vector of options, and the rules of reserved space.

use engine::page::*;
use vlf::Lsn;

const ID: PageId = PageId::new(1, 42);

/// A small generator of our own (xorshift64*), so that a failing seed replays.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn row(&mut self, bytes_max: usize) -> Vec<u8> {
        let mut row: Vec<u8> = (0..1 + self.below(bytes_max)).map(|_| self.next() as u8).collect();
        row[0] = 0;
        row
    }
}

fn lsn(number: u32) -> Lsn {
    Lsn::new(1, number, 1)
}

fn formatted(kind: PageKind) -> Box<PageBytes> {
    let mut page = Box::new([0xEE; PAGE_BYTES]);
    let format = PageOperation::Format {
        kind,
        level: 0,
        object: ObjectId(7),
        next: PageId::NONE,
        previous: PageId::new(1, 41),
    };
    apply(ID, &mut page, &format, lsn(1)).unwrap();
    page
}

fn model_rows(model: &[Option<Vec<u8>>]) -> Vec<(u16, &[u8])> {
    let row = |(slot, row): (usize, &'_ Option<Vec<u8>>)| row.as_ref().map(|row| (slot as u16, row.len()));
    let slots: Vec<(u16, usize)> = model.iter().enumerate().filter_map(row).collect();
    slots
        .into_iter()
        .map(|(slot, _)| (slot, model[usize::from(slot)].as_deref().unwrap()))
        .collect()
}

/// The model's own idea of what an operation does; `None` when the operation must fail.
fn step_model(model: &mut Vec<Option<Vec<u8>>>, operation: &PageOperation<'_>, is_heap: bool) -> Option<()> {
    match *operation {
        PageOperation::InsertAt { slot, row } => {
            let slot = usize::from(slot);
            if slot == model.len() {
                model.push(None);
            }
            let empty = model.get_mut(slot).filter(|row| row.is_none())?;
            *empty = Some(row.to_vec());
        }
        PageOperation::InsertShift { slot, row } => {
            (usize::from(slot) <= model.len()).then(|| model.insert(usize::from(slot), Some(row.to_vec())))?;
        }
        PageOperation::RemoveAt { slot, .. } => drop(model.get_mut(usize::from(slot))?.take()?),
        PageOperation::RemoveShift { slot, .. } => {
            (usize::from(slot) < model.len()).then(|| model.remove(usize::from(slot)))?;
        }
        PageOperation::SetStatus { slot, after, .. } => model.get_mut(usize::from(slot))?.as_mut()?[0] = after,
        PageOperation::ReplaceRow { slot, after, .. } => *model.get_mut(usize::from(slot))?.as_mut()? = after.to_vec(),
        PageOperation::PatchRow {
            slot,
            offset,
            before,
            after,
        } => {
            let row = model.get_mut(usize::from(slot))?.as_mut()?;
            let offset = usize::from(offset);
            row.splice(offset..offset + before.len(), after.iter().copied());
        }
        PageOperation::FlipBits {
            slot,
            offset,
            bit,
            bitmap,
        } => {
            let row = model.get_mut(usize::from(slot))?.as_mut()?;
            for (place, byte) in row.iter_mut().skip(usize::from(offset)).enumerate() {
                let flips = bitmap.get(place / 8).is_some_and(|bits| bits >> (place % 8) & 1 == 1);
                *byte ^= if flips { bit } else { 0 };
            }
        }
        PageOperation::PurgeGhosts if is_heap => {
            let is_ghost = |row: &Option<Vec<u8>>| row.as_ref().is_some_and(|row| row[0] & ROW_GHOST != 0);
            model.iter_mut().filter(|row| is_ghost(row)).for_each(|row| *row = None);
        }
        PageOperation::PurgeGhosts => model.retain(|row| row.as_ref().is_none_or(|row| row[0] & ROW_GHOST == 0)),
        _ => unreachable!("the walk makes no such operation"),
    }
    Some(())
}

/// One random operation for the page as it is, with parts owned by `parts`.
fn random_operation<'a>(
    random: &mut Random,
    model: &[Option<Vec<u8>>],
    parts: &'a mut (Vec<u8>, Vec<u8>),
    is_heap: bool,
) -> PageOperation<'a> {
    let slot = random.below(model.len() + 1);
    let current = model.get(slot).cloned().flatten().unwrap_or_default();
    let offset = if current.len() > 1 {
        1 + random.below(current.len() - 1)
    } else {
        0
    };
    let removed = if current.is_empty() {
        0
    } else {
        random.below(current.len() - offset + 1)
    };
    let choice = random.below(20);
    *parts = (current.clone(), random.row(if choice == 0 { 3000 } else { 150 }));
    let status = current.first().copied().unwrap_or(0);
    let slot = slot as u16;
    match (choice, is_heap) {
        (0..=6, true) => PageOperation::InsertAt { slot, row: &parts.1 },
        (0..=6, false) => PageOperation::InsertShift { slot, row: &parts.1 },
        (7..=9, true) => PageOperation::RemoveAt { slot, before: &parts.0 },
        (7..=9, false) => PageOperation::RemoveShift { slot, before: &[] },
        (10..=12, _) => PageOperation::SetStatus {
            slot,
            before: status,
            after: status ^ ROW_GHOST,
        },
        (13..=15, _) => PageOperation::ReplaceRow {
            slot,
            before: &parts.0,
            after: &parts.1,
        },
        (18, _) if !current.is_empty() && offset > 0 => {
            let bitmap_bytes = ((current.len() - offset) / 8).min(parts.1.len());
            PageOperation::FlipBits {
                slot,
                offset: offset as u16,
                bit: 1 << (offset % 8),
                bitmap: &parts.1[..bitmap_bytes],
            }
        }
        (16..=17, _) if !current.is_empty() && offset > 0 => {
            let before = &parts.0[offset..offset + removed];
            PageOperation::PatchRow {
                slot,
                offset: offset as u16,
                before,
                after: &parts.1[..parts.1.len() / 4],
            }
        }
        _ => PageOperation::PurgeGhosts,
    }
}

/// Walks random operations, checks each against the model, its encoding, its redo and its inverse.
fn walk(seed: u64, kind: PageKind) -> usize {
    let mut random = Random(seed);
    let is_heap = kind == PageKind::Heap;
    let mut page = formatted(kind);
    let mut model: Vec<Option<Vec<u8>>> = Vec::new();
    let mut applied = 0;
    for step in 2..600 {
        let mut parts = Default::default();
        let operation = random_operation(&mut random, &model, &mut parts, is_heap);
        let before = page.clone();
        let mut expected = model.clone();
        let is_possible = step_model(&mut expected, &operation, is_heap).is_some();
        match apply(ID, &mut page, &operation, lsn(step)) {
            Ok(()) => {
                assert!(is_possible, "seed {seed}: {operation:?}");
                model = expected;
                applied += 1;
            }
            Err(_) => assert!(page == before, "seed {seed}: a refused operation changed the page"),
        }
        assert_eq!(
            verify_page(ID, &page),
            Vec::<String>::new(),
            "seed {seed}: {operation:?}"
        );
        let rows: Vec<(u16, &[u8])> = PageRef::new(&page).rows().collect();
        assert!(rows == model_rows(&model), "seed {seed} step {step}: {operation:?}");
        check_encoding_redo_and_inverse(&before, &page, &operation, lsn(step));
    }
    applied
}

fn check_encoding_redo_and_inverse(before: &PageBytes, after: &PageBytes, operation: &PageOperation<'_>, at: Lsn) {
    let mut encoded = Vec::new();
    operation.encode(&mut encoded);
    assert_eq!(encoded.len(), operation.encoded_bytes());
    let (decoded, rest) = PageOperation::decode(&encoded).unwrap();
    assert_eq!((&decoded, rest.len()), (operation, 0));
    if PageRef::new(after).lsn() != at {
        return;
    }
    let mut redone = *before;
    apply(ID, &mut redone, &decoded, at).unwrap();
    assert!(redone == *after, "redo made another page: {operation:?}");
    if let Some(inverse) = operation.inverse() {
        let mut undone = *after;
        assert!(operation.undo_bytes() > 0);
        apply(ID, &mut undone, &inverse, lsn(9_999)).unwrap();
        let rows = |page| {
            PageRef::new(page)
                .rows()
                .map(|(slot, row)| (slot, row.to_vec()))
                .collect::<Vec<_>>()
        };
        assert_eq!(rows(before), rows(&undone), "{operation:?}");
    }
}

#[test]
fn random_operations_match_the_model_their_redo_and_their_inverse() {
    let applied: usize = (1..=40)
        .map(|seed| walk(seed, PageKind::Heap) + walk(seed, PageKind::TreeLeaf))
        .sum();
    assert!(applied > 20_000, "most operations of the walk apply: {applied}");
}

#[test]
fn garbage_pages_and_garbage_operations_are_refused_without_panic() {
    let mut random = Random(4711);
    let mut refused = 0;
    for _ in 0..20_000 {
        let mut page = *formatted(PageKind::Heap);
        for _ in 0..random.below(40) {
            let at = if random.below(2) == 0 {
                random.below(96)
            } else {
                random.below(PAGE_BYTES)
            };
            page[at] = random.next() as u8;
        }
        let model = vec![Some(vec![0, 1, 2]); random.below(6)];
        let mut parts = Default::default();
        let is_heap = random.below(2) == 0;
        let operation = random_operation(&mut random, &model, &mut parts, is_heap);
        refused += usize::from(apply(ID, &mut page, &operation, lsn(5)).is_err());
        verify_page(ID, &page);
        PageRef::new(&page).rows().count();
        PageRef::new(&page).image_into(&mut Vec::new());
        let mut encoded = Vec::new();
        operation.encode(&mut encoded);
        let at = random.below(encoded.len());
        encoded[at] ^= 1 << random.below(8);
        encoded.truncate(1 + random.below(encoded.len()));
        if let Ok((decoded, _)) = PageOperation::decode(&encoded) {
            refused += usize::from(apply(ID, &mut page, &decoded, lsn(6)).is_err());
        }
    }
    assert!(refused > 10_000, "{refused}");
}

#[test]
fn bytes_freed_by_a_live_row_stay_reserved_until_its_transaction_is_over() {
    let mut page = formatted(PageKind::TreeLeaf);
    let row = [0; 1000];
    apply(
        ID,
        &mut page,
        &PageOperation::InsertShift { slot: 0, row: &row },
        lsn(2),
    )
    .unwrap();
    let free = PageRef::new(&page).usable_free(lsn(3));
    let shrink = PageOperation::ReplaceRow {
        slot: 0,
        before: &[],
        after: &row[..400],
    };
    apply(ID, &mut page, &shrink, lsn(10)).unwrap();
    let view = PageRef::new(&page);
    assert_eq!((view.reserved_bytes(), view.reclaim_lsn()), (600, lsn(10)));
    assert_eq!(
        view.usable_free(lsn(10)),
        free,
        "the transaction of LSN 10 is still active"
    );
    assert_eq!(view.usable_free(lsn(11)), free + 600);
    PageMut::new(&mut page).release_reserved(lsn(10));
    assert_eq!(PageRef::new(&page).reserved_bytes(), 600);
    PageMut::new(&mut page).release_reserved(lsn(11));
    assert_eq!(PageRef::new(&page).reserved_bytes(), 0);
}

#[test]
fn removing_a_ghost_reserves_nothing_and_making_one_moves_reclaim_lsn() {
    let mut page = formatted(PageKind::Heap);
    for slot in 0..3 {
        apply(ID, &mut page, &PageOperation::InsertAt { slot, row: &[0; 50] }, lsn(2)).unwrap();
    }
    for slot in [0, 2] {
        apply(
            ID,
            &mut page,
            &PageOperation::SetStatus {
                slot,
                before: 0,
                after: ROW_GHOST,
            },
            lsn(20),
        )
        .unwrap();
    }
    let view = PageRef::new(&page);
    assert_eq!(
        (view.ghost_count(), view.reclaim_lsn(), view.is_reclaimable(lsn(20))),
        (2, lsn(20), false)
    );
    apply(ID, &mut page, &PageOperation::PurgeGhosts, lsn(30)).unwrap();
    let view = PageRef::new(&page);
    assert_eq!(
        (view.ghost_count(), view.hole_bytes(), view.reserved_bytes()),
        (0, 104, 0)
    );
    assert_eq!(view.rows().map(|(slot, _)| slot).collect::<Vec<_>>(), [1]);
    assert_eq!(view.first_empty_slot(), 0);
}

#[test]
fn the_longest_row_fits_and_one_byte_more_does_not() {
    let mut page = formatted(PageKind::Heap);
    let row = [0; ROW_BYTES_MAX + 1];
    assert!(apply(ID, &mut page, &PageOperation::InsertAt { slot: 0, row: &row }, lsn(2)).is_err());
    assert!(PageRef::new(&page).fits(ROW_BYTES_MAX, lsn(2)));
    apply(
        ID,
        &mut page,
        &PageOperation::InsertAt {
            slot: 0,
            row: &row[1..],
        },
        lsn(2),
    )
    .unwrap();
    assert_eq!(PageRef::new(&page).usable_free(lsn(3)), 0);
}

#[test]
fn a_fill_and_an_image_make_the_page_the_rows_make_one_by_one() {
    let (mut random, mut packed, mut rows) = (Random(99), PackedRows::new(), Vec::new());
    loop {
        let row = random.row(120);
        if !packed.push(&row) {
            break;
        }
        rows.push(row);
    }
    let mut filled = Box::new([0xAA; PAGE_BYTES]);
    let fill = PageOperation::Fill {
        kind: PageKind::Heap,
        object: ObjectId(7),
        next: PageId::NONE,
        previous: PageId::new(1, 41),
        rows: packed.as_bytes(),
    };
    apply(ID, &mut filled, &fill, lsn(3)).unwrap();
    let mut one_by_one = formatted(PageKind::Heap);
    for (slot, row) in rows.iter().enumerate() {
        apply(
            ID,
            &mut one_by_one,
            &PageOperation::InsertAt { slot: slot as u16, row },
            lsn(3),
        )
        .unwrap();
    }
    assert!(filled == one_by_one && rows.len() == packed.row_count());
    let mut image = Vec::new();
    PageRef::new(&filled).image_into(&mut image);
    let mut restored = Box::new([0x55; PAGE_BYTES]);
    apply(ID, &mut restored, &PageOperation::Image { bytes: &image }, lsn(3)).unwrap();
    assert!(restored == filled);
    for cut in [0, 95, 96, image.len() - 1] {
        let short = PageOperation::Image { bytes: &image[..cut] };
        assert!(apply(ID, &mut restored, &short, lsn(4)).is_err());
    }
}

#[test]
fn set_bytes_reaches_links_and_raw_content_only() {
    let mut heap = formatted(PageKind::Heap);
    let link = PageId::new(1, 77).to_bytes();
    apply(
        ID,
        &mut heap,
        &PageOperation::SetBytes {
            offset: 36,
            before: &[0; 6],
            after: &link,
        },
        lsn(2),
    )
    .unwrap();
    assert_eq!(PageRef::new(&heap).next(), PageId::new(1, 77));
    let mut map = formatted(PageKind::SpaceMap);
    for (offset, heap_takes, map_takes) in [
        (0, false, false),
        (35, false, false),
        (43, false, false),
        (96, false, true),
        (8187, false, false),
    ] {
        let operation = PageOperation::SetBytes {
            offset,
            before: &[],
            after: &link,
        };
        assert_eq!(apply(ID, &mut heap, &operation, lsn(3)).is_ok(), heap_takes, "{offset}");
        assert_eq!(apply(ID, &mut map, &operation, lsn(3)).is_ok(), map_takes, "{offset}");
    }
    let wrong = PageOperation::SetBytes {
        offset: 96,
        before: &[1],
        after: &[2],
    };
    assert!(apply(ID, &mut map, &wrong, lsn(4)).is_err());
    assert!(apply(ID, &mut map, &PageOperation::InsertAt { slot: 0, row: &[0] }, lsn(4)).is_err());
    let mut image = Vec::new();
    PageRef::new(&map).image_into(&mut image);
    assert_eq!(image, *map, "a page without rows is imaged whole");
}

#[test]
fn the_checksum_covers_every_byte_and_zeros_have_none() {
    let mut page = formatted(PageKind::Heap);
    seal(&mut page);
    assert!(checksum_holds(&page) && !checksum_holds(&[0; PAGE_BYTES]));
    for at in 0..PAGE_BYTES {
        page[at] ^= 0x10;
        assert!(!checksum_holds(&page), "byte {at}");
        page[at] ^= 0x10;
    }
}

#[test]
fn damage_is_found_by_the_structural_check() {
    let mut sound = formatted(PageKind::TreeLeaf);
    for slot in 0..3 {
        apply(
            ID,
            &mut sound,
            &PageOperation::InsertShift { slot, row: &[0; 50] },
            lsn(2),
        )
        .unwrap();
    }
    assert!(verify_page(ID, &sound).is_empty());
    assert_eq!(verify_page(PageId::new(1, 43), &sound).len(), 1);
    for (at, value, words) in [
        (0, 9, "version"),
        (1, 99, "kind is unknown"),
        (14, 255, "empty slot in a tree"),
        (15, 255, "overlap"),
        (28, 1, "add up"),
        (30, 1, "ghosts"),
        (PAGE_BYTES - 2, 148, "overlap"),
        (PAGE_BYTES - 1, 90, "outside"),
    ] {
        let mut page = sound.clone();
        page[at] = value;
        let problems = verify_page(ID, &page).join("; ");
        assert!(problems.contains(words), "byte {at}: {problems}");
    }
}

#[test]
fn changes_round_trip_and_refuse_to_end_early() {
    let entries = [
        (PageId::new(1, 9), PageOperation::PurgeGhosts),
        (PageId::new(1, 9), PageOperation::InsertShift { slot: 3, row: b"row" }),
        (
            PageId::new(3, 70_000),
            PageOperation::SetBytes {
                offset: 96,
                before: b"a",
                after: b"b",
            },
        ),
    ];
    let mut encoded = Vec::new();
    Change::encode(ObjectId(5), UndoKind::TreeInsert, b"key", &entries, &mut encoded);
    assert_eq!(encoded.len(), Change::encoded_bytes(b"key", &entries));
    let change = Change::decode(&encoded).unwrap();
    assert_eq!(
        (change.object, change.undo, change.key),
        (ObjectId(5), UndoKind::TreeInsert, &b"key"[..])
    );
    assert_eq!(change.entries().collect::<Result<Vec<_>, _>>().unwrap(), entries);
    let ends: Vec<usize> = (0..=encoded.len())
        .filter(|end| Change::decode(&encoded[..*end]).is_ok_and(|change| change.entries().all(|entry| entry.is_ok())))
        .collect();
    assert_eq!(ends, [10, 17, 17 + 6 + 8, encoded.len()], "only whole entries are read");
}

/// Operations on rows, and what their records are called.
fn row_operations() -> [(PageOperation<'static>, &'static str); 9] {
    let (row, slot): (&[u8], u16) = (&[0, 1, 2], 5);
    let status = |before, after| PageOperation::SetStatus { slot, before, after };
    let replace = PageOperation::ReplaceRow {
        slot,
        before: row,
        after: &[9],
    };
    let patch = PageOperation::PatchRow {
        slot,
        offset: 1,
        before: &[1],
        after: &[2, 3],
    };
    let flip = PageOperation::FlipBits {
        slot,
        offset: 1,
        bit: 2,
        bitmap: &[3],
    };
    [
        (PageOperation::InsertAt { slot, row }, "LOP_INSERT_ROWS"),
        (PageOperation::InsertShift { slot, row }, "LOP_INSERT_ROWS"),
        (PageOperation::RemoveAt { slot, before: row }, "LOP_DELETE_ROWS"),
        (PageOperation::RemoveShift { slot, before: row }, "LOP_DELETE_ROWS"),
        (status(0, ROW_GHOST), "LOP_DELETE_ROWS"),
        (status(ROW_GHOST, 0), "LOP_INSERT_ROWS"),
        (replace, "LOP_MODIFY_ROW"),
        (patch, "LOP_MODIFY_ROW"),
        (flip, "LOP_MODIFY_ROW"),
    ]
}

/// Operations on whole pages, and what their records are called.
fn whole_operations() -> [(PageOperation<'static>, &'static str); 6] {
    let (object, next, previous) = (ObjectId(7), PageId::new(1, 8), PageId::new(1, 9));
    let (kind, row): (PageKind, &[u8]) = (PageKind::TreeLeaf, &[0, 1, 2]);
    let format = PageOperation::Format {
        kind,
        level: 0,
        object,
        next,
        previous,
    };
    let fill = PageOperation::Fill {
        kind,
        object,
        next,
        previous,
        rows: &[3, 0, 1, 2, 3],
    };
    let set = |offset, before| PageOperation::SetBytes {
        offset,
        before,
        after: row,
    };
    [
        (format, "LOP_FORMAT_PAGE"),
        (fill, "LOP_FORMAT_PAGE"),
        (PageOperation::Image { bytes: row }, "LOP_FORMAT_PAGE"),
        (set(36, &[]), "LOP_MODIFY_HEADER"),
        (set(96, row), "LOP_SET_BITS"),
        (PageOperation::PurgeGhosts, "LOP_EXPUNGE_ROWS"),
    ]
}

/// The walker of `vlf`, by which records get their names, reads every operation as the engine writes it.
#[test]
fn every_operation_is_a_step_of_its_record() {
    for (operation, name) in row_operations().into_iter().chain(whole_operations()) {
        let page = PageId::new(3, 70_000);
        let mut record = vec![0; 22];
        let entries = [(page, operation), (PageId::new(1, 9), PageOperation::PurgeGhosts)];
        Change::encode(ObjectId(7), UndoKind::TreeInsert, b"key", &entries, &mut record);
        let length = record.len() as u16;
        record[..2].copy_from_slice(&length.to_le_bytes());
        record[2] = vlf::own_record::CHANGE;
        let steps: Vec<_> = vlf::own_record::Steps::of(&record).collect();
        assert_eq!(steps.len(), 2, "{operation:?}");
        assert_eq!(
            (steps[0].file, steps[0].page, steps[0].slot),
            (3, 70_000, operation.slot())
        );
        assert_eq!(
            vlf::own_record::operation_name(&record).as_deref(),
            Some(name),
            "{operation:?}"
        );
    }
}
