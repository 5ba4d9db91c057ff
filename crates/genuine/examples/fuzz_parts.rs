//! Many damaged inputs for the parts of the reader, each by itself: `fuzz_parts [EXECUTIONS] [SEED] [FIRST]`.
//!
//! | part | input |
//! |---|---|
//! | container | a small backup, plain or in chunks of both codecs: chain of blocks, sets, their configuration, pages, log |
//! | page | a page of a catalog, a table or a map: header, protection, slots, records, links, what is replayed on it |
//! | row | a record of a row with columns of every system type, plain, row or page compressed: its values; a pointer to a large value |
//! | record | a record of the log: what it changes, its transaction, what it allocates; done and undone on a page |
//!
//! Whole files with damage are in `tests/fuzz` (`genuine-files`), which is slower: here an input is a few hundred bytes of one part. Says how many
//! inputs each part had and how many were read to their end, the largest memory that one input took, and the slowest. A panic or more than 64 MB for one input
//! ends the run; `1 SEED EXECUTION` repeats it.

use genuine::catalog::Catalog;
use genuine::catalog::stored::{ColumnPlace, Compression, RowSet, StoredColumn};
use genuine::container::{Backup, Configuration, huffman};
use genuine::log::record::PageChange;
use genuine::log::replay::PageState;
use genuine::log::{LogReader, LogRecord, Transactions, Unlogged};
use genuine::page::PageBytes;
use genuine::row::compressed::PageCompression;
use genuine::row::lob::read_value;
use genuine::row::record_bytes;
use genuine::row::scsu::compressed_text;
use genuine::scan::values_of_record;
use genuine::types::{ColumnType, SystemType};
use genuine::verdicts::Verdicts;
use genuine::{DataFiles, PAGE_BYTES, Page, PageSource, survey};
use peak_alloc::PeakAlloc;
use std::time::{Duration, Instant};
use vlf::record::SqlRecord;
use vlf::{FormatVersion, Lsn};

#[allow(dead_code)]
#[allow(clippy::unwrap_used, reason = "shared with the tests")]
#[path = "../tests/it/support/mod.rs"]
mod support;

use support::database::{Cell, Column, Database, INT, NVARCHAR, Table, record, table_page, utf16};
use support::media::{MediaWriter, SetWriter, pack_huffman, pack_zstandard};
use support::random::Random;
use support::story::{CLUSTERED, LogStory, MODIFY_ROW};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// What one input may take of memory beside itself.
const MEMORY_BYTES_MAX: usize = 64 << 20;
const PARTS: [&str; 4] = ["container", "page", "row", "record"];

/// Numbers of system types, and one that is none.
const TYPES: [u8; 33] = [
    34, 35, 36, 40, 41, 42, 43, 48, 52, 56, 58, 59, 60, 61, 62, 98, 99, 104, 106, 108, 122, 127, 165, 167, 173, 175,
    189, 231, 239, 240, 241, 244, 255,
];

/// What the inputs begin as.
struct Seeds {
    file: Vec<u8>,
    backups: Vec<Vec<u8>>,
    pages: Vec<Vec<u8>>,
    rows: Vec<Vec<u8>>,
    records: Vec<(FormatVersion, Vec<u8>)>,
    rowset: RowSet,
}

fn columns() -> Vec<Column> {
    vec![Column::new("id", INT, 4).not_null(), Column::new("name", NVARCHAR, 40)]
}

fn row(id: i64, name: &str) -> Vec<u8> {
    record(&columns(), &[Cell::Number(id), Cell::Bytes(utf16(name))])
}

fn story() -> LogStory {
    let page = table_page(0);
    let mut story = LogStory::default();
    story
        .begin(5)
        .insert(CLUSTERED, 5, (page, 1), &row(90, "ninety"))
        .replace((MODIFY_ROW, CLUSTERED), 5, (page, 0), (4, &[1], &[2]))
        .delete(5, (page, 2), &row(2, "an order"))
        .format(5, page + 2, 900, page)
        .split(5, (page, 1))
        .set_bits(8, (2, 1), 5, 0)
        .set_free_space(40, 0, 0x61)
        .commit(5);
    story
}

impl Seeds {
    fn new() -> Seeds {
        let mut table = Table::new("Orders", columns());
        table.records = (1..40).map(|id| row(id, "an order")).collect();
        let database = Database::new("Sales", vec![table.clone()]);
        let file = database.file();
        let extents = file.chunks(65_536).take(1).map(<[u8]>::to_vec).collect();
        let set = SetWriter {
            kind: 4,
            name: "full".to_owned(),
            database: "Sales".to_owned(),
            database_version: 904,
            file_bytes: file.len() as u64,
            data: vec![extents],
            ..SetWriter::default()
        };
        let mut media = MediaWriter::new(1, 1);
        media.set(1, &set);
        let backups = vec![
            media.bytes.clone(),
            media.compressed(1, pack_huffman),
            media.compressed(2, pack_huffman),
            media.compressed(2, pack_zstandard),
        ];
        let log = story().file();
        let mut records = Vec::new();
        LogReader::new(vec![&log])
            .each(&mut |record| records.push((record.format, record.bytes.to_vec())))
            .expect("memory can always be read");
        let catalog = Catalog::open(&DataFiles::open(vec![file.as_slice()]).expect("it is a data file"));
        let rowset = catalog.expect("it has a catalog").tables[0].rowsets[0].clone();
        let pages = database.pages().into_values().map(|page| page.to_vec()).collect();
        Seeds {
            file,
            backups,
            pages,
            rows: table.records,
            records,
            rowset,
        }
    }

    /// Columns of random types at random places, as a damaged catalog may have them.
    fn rowset(&self, random: &mut Random) -> RowSet {
        let columns = (1..=1 + random.below(8) as u32).map(|id| StoredColumn {
            name: format!("c{id}"),
            id,
            kind: ColumnType {
                system: SystemType::of(TYPES[random.below(TYPES.len())]),
                length_bytes: [-1, 0, 1, 4, 8, 16, 40, 8_000][random.below(8)],
                precision: random.below(40) as u8,
                scale: random.below(40) as u8,
                collation: random.below(1 << 30) as u32,
            },
            place: match random.below(4) {
                0 => ColumnPlace::Fixed(random.below(64) as u16),
                1 => ColumnPlace::Bit {
                    offset: random.below(64) as u16,
                    bit: random.below(8) as u8,
                },
                2 => ColumnPlace::Sparse,
                _ => ColumnPlace::Variable(random.below(8) as u16),
            },
            null_bit: id as u16,
            value_of_older_rows: None,
        });
        RowSet {
            columns: columns.collect(),
            compression: [Compression::None, Compression::Row, Compression::Page][random.below(3)],
            ..self.rowset.clone()
        }
    }
}

/// Something short: of noise, or a part of what is there.
fn noise(random: &mut Random, length: usize) -> Vec<u8> {
    (0..1 + random.below(length)).map(|_| random.below(256) as u8).collect()
}

fn container(seeds: &Seeds, random: &mut Random) -> bool {
    if random.below(4) == 0 {
        let input = noise(random, 600);
        let _ = (
            huffman::expand(&input, 1 << 16),
            compressed_text(&input),
            Configuration::read(&input),
        );
        return false;
    }
    let mut bytes = seeds.backups[random.below(seeds.backups.len())].clone();
    random.damage(&mut bytes);
    let Ok(backup) = Backup::open(vec![bytes]) else {
        return false;
    };
    for set in 0..backup.sets().len().min(2) {
        let _ = backup.logs(set);
        let Ok(pages) = backup.pages(set, &mut |_, _| {}) else {
            return false;
        };
        let _ = (pages.check_changed(), survey::pages(&pages, &mut Verdicts::default()));
    }
    true
}

fn damaged_page(seeds: &Seeds, random: &mut Random) -> Page {
    let mut bytes = seeds.pages[random.below(seeds.pages.len())].clone();
    random.damage(&mut bytes);
    bytes.resize(PAGE_BYTES, 0);
    let bytes: Box<PageBytes> = bytes.try_into().expect("it has the bytes of a page");
    Page::of(bytes)
}

fn page(seeds: &Seeds, random: &mut Random) -> bool {
    let page = damaged_page(seeds, random);
    let _ = (
        page.soundness(),
        page.kind(),
        page.id(),
        page.next(),
        page.lsn(),
        page.belongs_to(900 << 16),
    );
    let mut is_whole = true;
    for slot in 0..page.slot_count().min(4_096) {
        match page.record(slot) {
            Ok(record) => {
                let _ = record.map(record_bytes);
            }
            Err(_) => is_whole = false,
        }
    }
    let _ = PageState::of(&page).rows().count();
    let _ = PageCompression::parse(page.bytes());
    is_whole
}

fn row_of(seeds: &Seeds, random: &mut Random) -> bool {
    let files = DataFiles::open(vec![seeds.file.as_slice()]).expect("it is a data file");
    let mut bytes = match random.below(3) {
        0 => noise(random, 300),
        _ => seeds.rows[random.below(seeds.rows.len())].clone(),
    };
    random.damage(&mut bytes);
    if random.below(8) == 0 {
        return read_value(&files, &bytes).is_ok();
    }
    let rowset = match random.below(2) {
        0 => seeds.rowset(random),
        _ => seeds.rowset.clone(),
    };
    let values = values_of_record(&files as &dyn PageSource, &rowset, &bytes);
    values.is_ok_and(|values| values.iter().all(Result::is_ok))
}

fn record_of(seeds: &Seeds, random: &mut Random) -> bool {
    let (format, mut bytes) = seeds.records[random.below(seeds.records.len())].clone();
    random.damage(&mut bytes);
    let record = LogRecord {
        lsn: Lsn::new(30, 20, 1),
        format,
        bytes: &bytes,
    };
    let _ = SqlRecord::decode(format, &bytes).map(|header| (header.elements().len(), header.transaction_name()));
    let (mut transactions, mut unlogged) = (Transactions::default(), Unlogged::default());
    transactions.add(record);
    unlogged.add(record);
    let Some(change) = PageChange::read(record) else {
        return false;
    };
    let mut state = PageState::of(&damaged_page(seeds, random));
    let done = state.apply(&change).is_some();
    done && state.undo(&change).is_some()
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (executions, seed, first) = (number(1_000_000), number(1), number(0));
    let seeds = Seeds::new();
    let (mut given, mut whole) = ([0u64; PARTS.len()], [0u64; PARTS.len()]);
    let (mut most, mut slowest) = ((0, 0), (Duration::ZERO, 0));
    let begun = Instant::now();
    for execution in first..first + executions {
        let mut random =
            Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ execution.wrapping_mul(0xD134_2543_DE82_EF95));
        // A container is larger than the others: one in sixteen.
        let part = match random.below(16) {
            0 => 0,
            other => 1 + other % 3,
        };
        ALLOCATOR.reset_peak_usage();
        let (before, one) = (ALLOCATOR.current_usage(), Instant::now());
        let is_whole = match part {
            0 => container(&seeds, &mut random),
            1 => page(&seeds, &mut random),
            2 => row_of(&seeds, &mut random),
            _ => record_of(&seeds, &mut random),
        };
        let (took, bytes) = (one.elapsed(), ALLOCATOR.peak_usage().saturating_sub(before));
        assert!(
            bytes <= MEMORY_BYTES_MAX,
            "execution {execution} took {bytes} bytes of memory"
        );
        given[part] += 1;
        whole[part] += u64::from(is_whole);
        most = most.max((bytes, execution));
        slowest = slowest.max((took, execution));
    }
    let parts = PARTS.iter().zip(given.iter().zip(whole));
    let parts: Vec<String> = parts
        .map(|(name, (given, whole))| format!("{given} of {name} ({whole} read)"))
        .collect();
    println!(
        "{executions} executions, seed {seed}, {:.0} s: no panic; {}; at most {} KB of memory (execution {}); slowest {:.1} ms (execution {})",
        begun.elapsed().as_secs_f64(),
        parts.join(", "),
        most.0 >> 10,
        most.1,
        slowest.0.as_secs_f64() * 1000.0,
        slowest.1
    );
}
