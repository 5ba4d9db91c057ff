//! Logs that the test itself has written: transactions, rows before and after each change, what replay may not guess; and no bytes make the
//! reader panic.

use crate::support::log::{LogWriter, OBJECT, PagePlace, RecordWriter, log_file};
use crate::support::random::Random;
use crate::support::writer::{PageWriter, Protection};
use genuine::log::rows::RowChangeKind;
use genuine::log::{LogReader, Outcome, RowChange, RowChanges, RowImage, Unlogged};
use genuine::page::PageBytes;
use genuine::{Fault, PAGE_BYTES, PageId, PageSource};
use vlf::Lsn;
use vlf::record::SqlTransactionId;

const SID: [u8; 12] = [1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0];
const PAGE: u32 = 90;

/// Rows are not taken apart here, so any bytes do whose first is that of a data record.
fn row(text: &str) -> Vec<u8> {
    let mut row = vec![0x30];
    row.extend(text.as_bytes());
    row
}

/// A log of one page: each record names the LSN of the one before it.
struct Story {
    log: LogWriter,
    last: Lsn,
}

impl Story {
    fn new() -> Story {
        Story {
            log: LogWriter::new(7),
            last: Lsn::ZERO,
        }
    }

    fn add(&mut self, record: Vec<u8>) {
        self.log.block(&[record]);
    }

    fn page(&mut self, operation: u8, context: u8, transaction: u32, slot: u16) -> RecordWriter {
        let place = PagePlace {
            page: PAGE,
            slot,
            page_lsn_before: self.last,
        };
        self.last = self.log.next_lsn(1);
        RecordWriter::page(operation, context, transaction, place)
    }

    fn format(&mut self) {
        let record = self.page(1, 2, 1, 0).elements(&[]);
        self.add(record);
    }

    fn insert(&mut self, transaction: u32, slot: u16, new: &str) {
        let record = self.page(2, 2, transaction, slot).elements(&[&row(new), b"", b""]);
        self.add(record);
    }

    fn insert_over_ghost(&mut self, transaction: u32, slot: u16, new: &str) {
        let record = self
            .page(2, 2, transaction, slot)
            .put(0x3A, &[2, 0])
            .elements(&[&row(new), b"", b""]);
        self.add(record);
    }

    fn modify(&mut self, transaction: u32, slot: u16, offset: u8, before: &str, after: &str) {
        let record = self.page(4, 2, transaction, slot).put(0x38, &[offset, 0]);
        let record = record.elements(&[before.as_bytes(), after.as_bytes(), b"", b""]);
        self.add(record);
    }

    /// A ghost is made, and stays.
    fn delete(&mut self, transaction: u32, slot: u16, old: &str) {
        let record = self.page(3, 19, transaction, slot).elements(&[&row(old), b""]);
        self.add(record);
    }

    fn expunge(&mut self, transaction: u32, slot: u16) {
        let record = self.page(13, 2, transaction, slot).elements(&[]);
        self.add(record);
    }

    fn read(&self, pages: Option<&dyn PageSource>) -> RowChanges {
        let file = log_file(&self.log);
        let reader = LogReader::new(vec![&file]);
        RowChanges::read(&reader, pages, &|change| change.unit == u64::from(OBJECT) << 16).unwrap()
    }
}

/// A database of one page.
struct OnePage(Box<PageBytes>);

impl PageSource for OnePage {
    fn read_page(&self, id: PageId, bytes: &mut PageBytes) -> Result<(), Fault> {
        *bytes = *self.0;
        match id.page {
            PAGE => Ok(()),
            _ => Err(Fault::of_page(id, "there is no such page")),
        }
    }

    fn files(&self) -> &[genuine::page::FileOfPages] {
        &[]
    }
}

/// The page as a data file has it, with `rows`, last changed at `lsn`.
fn page(lsn: Lsn, rows: &[&str]) -> OnePage {
    let mut writer = PageWriter::new(PageId::new(1, PAGE), 1);
    writer.put(40, &lsn.to_bytes());
    rows.iter().for_each(|text| {
        writer.record(&row(text));
    });
    OnePage(writer.finish(Protection::Checksum))
}

fn texts(change: &RowChange) -> (RowChangeKind, Option<String>, Option<String>) {
    let text = |image: &RowImage| {
        let row = image.whole()?.get(1..)?;
        let end = row.iter().position(|byte| *byte == 0).unwrap_or(row.len());
        Some(String::from_utf8_lossy(&row[..end]).into_owned())
    };
    (change.kind, text(&change.before), text(&change.after))
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn story() -> Story {
    let mut story = Story::new();
    story.add(RecordWriter::begin(5, "load", &SID, 40_000));
    story.format();
    story.insert(5, 0, "alpha");
    story.insert(5, 0, "a first");
    story.insert(5, 2, "beta");
    story.add(RecordWriter::end(5, 129, 40_001));
    story.add(RecordWriter::begin(6, "DELETE", &SID, 40_002));
    story.modify(6, 1, 3, "ph", "PHPH");
    story.delete(6, 0, "a first");
    story.add(RecordWriter::end(6, 129, 40_003));
    story.add(RecordWriter::begin(7, "open one", &SID, 40_004));
    story.insert_over_ghost(7, 0, "a second");
    story
}

/// From the formatted page on every row is known, before and after.
#[test]
fn rows_are_rebuilt_forward_from_the_formatted_page() {
    let found = story().read(None);
    let changes: Vec<_> = found.changes.iter().map(texts).collect();
    assert_eq!(
        changes,
        [
            (RowChangeKind::Insert, None, some("alpha")),
            (RowChangeKind::Insert, None, some("a first")),
            (RowChangeKind::Insert, None, some("beta")),
            (RowChangeKind::Update, some("alpha"), some("alPHPHa")),
            (RowChangeKind::Delete, some("a first"), None),
            (RowChangeKind::Insert, None, some("a second")),
        ]
    );
    assert_eq!(found.in_pieces, 0);
    let outcomes: Vec<_> = found
        .transactions
        .all()
        .map(|each| (each.id.low, each.name.as_str(), each.outcome, each.sid == SID))
        .collect();
    let expected = [
        (1, "", Outcome::Open, false),
        (5, "load", Outcome::Committed, true),
        (6, "DELETE", Outcome::Committed, true),
        (7, "open one", Outcome::Open, true),
    ];
    assert_eq!(outcomes, expected);
    let delete = found.transactions.get(SqlTransactionId { high: 0, low: 6 }).unwrap();
    assert_eq!(
        (delete.began.unwrap().days, delete.ended.unwrap().days),
        (40_002, 40_003)
    );
}

/// A log that begins in the middle of the page's life has no formatted page: the rows come backward from the data file, across a ghost that
/// was taken away, and forward where the file is older than the log.
#[test]
fn rows_are_rebuilt_backward_from_the_data_file() {
    let mut story = Story::new();
    story.last = Lsn::new(6, 100, 1);
    story.modify(5, 1, 1, "old", "new");
    story.delete(5, 0, "gone");
    story.expunge(5, 0);
    story.modify(5, 0, 4, "", " and longer");
    let in_file = story.last;
    story.modify(5, 0, 1, "new", "newer");
    let found = story.read(Some(&page(in_file, &["new and longer one", "other"])));
    let changes: Vec<_> = found.changes.iter().map(texts).collect();
    assert_eq!(
        changes,
        [
            (RowChangeKind::Update, some("old one"), some("new one")),
            (RowChangeKind::Delete, some("gone"), None),
            (RowChangeKind::Update, some("new one"), some("new and longer one")),
            (
                RowChangeKind::Update,
                some("new and longer one"),
                some("newer and longer one")
            ),
        ]
    );
}

/// Where a record is missing, or the page is not the one that the records made, nothing is carried across: the changed bytes are all there is.
#[test]
fn what_does_not_fit_is_not_guessed() {
    let mut missing = story();
    missing.last = Lsn::new(7, 9, 9);
    missing.modify(7, 1, 1, "al", "AL");
    let found = missing.read(None);
    assert_eq!(found.in_pieces, 1);
    let pieces = RowImage::Pieces(vec![(1, b"al".to_vec())]);
    assert_eq!(found.changes.last().unwrap().before, pieces);

    let mut other = Story::new();
    other.last = Lsn::new(6, 100, 1);
    other.modify(5, 0, 1, "old", "new");
    let last = other.last;
    assert_eq!(
        other.read(Some(&page(last, &["something else"]))).in_pieces,
        1,
        "another row"
    );
    assert_eq!(
        other.read(Some(&page(Lsn::new(7, 50, 1), &["new one"]))).in_pieces,
        1,
        "another LSN"
    );
    assert_eq!(other.read(Some(&page(last, &["new one"]))).in_pieces, 0);
}

/// Two sources that overlap are one log.
#[test]
fn a_chain_of_logs_is_read_once() {
    let mut first = Story::new();
    first.add(RecordWriter::begin(5, "load", &SID, 40_000));
    first.format();
    let short = log_file(&first.log);
    first.insert(5, 0, "alpha");
    let long = log_file(&first.log);
    let reader = LogReader::new(vec![&long, &short]);
    let mut lsns = Vec::new();
    let extent = reader.each(&mut |record| lsns.push(record.lsn)).unwrap();
    assert_eq!(extent.records, 3);
    assert!(lsns.is_sorted() && lsns.len() == 3);
}

/// Whatever is changed in a log, and in the page beside it, reading ends, and ends without a panic.
#[test]
fn damaged_logs_end_in_less_and_not_in_panic() {
    let story = story();
    let good = log_file(&story.log);
    let mut random = Random(20_260_312);
    for _ in 0..300 {
        let mut file = good.clone();
        random.damage(&mut file);
        let mut bytes: Vec<u8> = page(story.last, &["a second", "alPHPHa", "beta"]).0.to_vec();
        random.damage(&mut bytes);
        bytes.resize(PAGE_BYTES, 0);
        let pages = OnePage(Box::new(bytes.try_into().unwrap()));
        let reader = LogReader::new(vec![&file]);
        let _ = RowChanges::read(&reader, Some(&pages), &|_| true);
    }
}

/// Records of any bytes in sound blocks: lengths and offsets in them lead nowhere.
#[test]
fn damaged_records_in_sound_blocks() {
    let mut random = Random(20_260_313);
    for _ in 0..300 {
        let mut log = LogWriter::new(7);
        let mut place = PagePlace {
            page: PAGE,
            slot: 0,
            page_lsn_before: Lsn::ZERO,
        };
        for operation in [1, 2, 4, 6, 3, 13, 11, 2] {
            let record = RecordWriter::page(operation, 2, 5, place).elements(&[
                &row("abcdef"),
                b"abc",
                b"",
                b"",
                b"xyz",
                b"uvw",
            ]);
            place.page_lsn_before = log.next_lsn(1);
            let mut record = record;
            if random.below(2) == 0 {
                random.damage(&mut record);
                record.resize(record.len().clamp(64, 2000), 0);
            }
            log.block(&[record]);
        }
        let file = log_file(&log);
        let pages = page(place.page_lsn_before, &["abcdef", "abc"]);
        let reader = LogReader::new(vec![&file]);
        RowChanges::read(&reader, Some(&pages), &|_| true).unwrap();
    }
}

/// SELECT INTO in the simple recovery model allocates an extent and says nothing of what it writes there; in the bulk-logged one it marks the extent as
/// well. An extent of which a page is formatted is fully logged, one that is freed again is not in use.
#[test]
fn extents_that_were_filled_without_a_record_are_counted() {
    const GAM: u8 = 8;
    const ML_MAP: u8 = 25;
    /// The bit of extent 40, behind those of the record's header.
    const FIRST: u16 = 72;
    let found = |records: &[(u8, u8, u32, u16, u16)]| {
        let mut log = LogWriter::new(7);
        for (operation, context, page, first, value) in records {
            let place = PagePlace {
                page: *page,
                slot: 1,
                page_lsn_before: Lsn::ZERO,
            };
            let record = RecordWriter::page(*operation, *context, 5, place);
            let record = record
                .put(0x30, &first.to_le_bytes())
                .put(0x32, &[2, 0])
                .put(0x34, &value.to_le_bytes());
            log.block(&[record.elements(&[])]);
        }
        let file = log_file(&log);
        let mut unlogged = Unlogged::default();
        LogReader::new(vec![&file])
            .each(&mut |record| unlogged.add(record))
            .unwrap();
        (unlogged.unformatted_extents(), unlogged.marked_extents())
    };
    let allocated = (7, GAM, 2, FIRST, 0);
    assert_eq!(found(&[allocated]), (2, 0));
    // A page of the second extent, 41.
    assert_eq!(found(&[allocated, (1, 2, 41 * 8 + 3, 0, 0)]), (1, 0));
    assert_eq!(found(&[allocated, (7, GAM, 2, FIRST, 1)]), (0, 0));
    // The same bits of the map behind 4 GB are other extents.
    assert_eq!(found(&[allocated, (7, GAM, 511_232, FIRST, 1)]), (2, 0));
    assert_eq!(
        found(&[allocated, (7, ML_MAP, 7, FIRST, 1), (7, ML_MAP, 7, FIRST, 0)]),
        (2, 2)
    );
    assert_eq!(
        found(&[(7, GAM, 2, u16::MAX, 0)]),
        (2, 0),
        "no bit is out of reach of the arithmetic"
    );
}
