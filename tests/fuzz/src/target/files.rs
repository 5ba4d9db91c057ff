//! SQL Server's own files: data files, logs, backups, each a small one with bytes changed or cut off, read to the end.
//!
//! ```text
//! input    which file u8 | bits u8: 1 pages lose their protection, 2 the file is cut | where it is cut u32 | changes: place u32, byte u8 ...
//! ```
//!
//! The files are made by the writers of the tests of `genuine`. A place is taken modulo the length of the file, so that every input is one.

use super::{Reached, Target};
use crate::genuine_files::database::{
    Cell, Column, Database, INT, NVARCHAR, Table, WRITTEN_LSN, differential_map, record, table_page, utf16,
};
use crate::genuine_files::media::{MediaWriter, SetWriter, VlfWriter, pack_huffman, pack_zstandard};
use crate::genuine_files::story::{CLUSTERED, HEAP, IAM, LogStory, MODIFY_HEADER, MODIFY_ROW};
use genuine::catalog::Catalog;
use genuine::chain::{Chain, Ends, Progress};
use genuine::container::Backup;
use genuine::log::{LogReader, Names, RowChanges};
use genuine::recovery::Recovered;
use genuine::schema::{Dialect, after_rows, before_rows, left_out};
use genuine::verdicts::Verdicts;
use genuine::{DataFiles, PAGE_BYTES, PageSource, survey};
use outside::random::Random;
use vlf::ReadAt;
use vlf::record::RecordTime;

/// Changes of an input at most.
const CHANGES_MAX: u64 = 12;
const CHANGE_BYTES: usize = 5;
const HEAD_BYTES: usize = 6;

/// The files that inputs change.
#[derive(Default)]
struct Files {
    data: Vec<u8>,
    log: Vec<u8>,
    backups: Vec<Vec<u8>>,
    /// Where bytes of each file are that are not zero: changes go there mostly.
    places: Vec<Vec<u32>>,
}

/// Containers, pages, catalogs, rows, and records of the log.
pub fn build() -> Box<dyn Target> {
    let mut files = Files {
        data: database().file(),
        log: story().file(),
        ..Files::default()
    };
    let extents = files.data.chunks(65_536).map(<[u8]>::to_vec);
    let set = SetWriter {
        kind: 4,
        name: "full".to_owned(),
        database: "Sales".to_owned(),
        database_version: 904,
        file_bytes: files.data.len() as u64,
        data: vec![extents.filter(|extent| extent.iter().any(|byte| *byte != 0)).collect()],
        ..SetWriter::default()
    };
    let mut media = MediaWriter::new(1, 1);
    media.set(1, &set);
    files.backups = vec![
        media.bytes.clone(),
        media.compressed(2, pack_huffman),
        media.compressed(2, pack_zstandard),
        chain(&set),
    ];
    files.places = (0..FILES).map(|which| used(files.file(which))).collect();
    Box::new(files)
}

/// The data file, the log beside it, and backups.
const FILES: usize = 6;

fn columns() -> Vec<Column> {
    vec![Column::new("id", INT, 4).not_null(), Column::new("name", NVARCHAR, 40)]
}

fn row(id: i64, name: &str) -> Vec<u8> {
    record(&columns(), &[Cell::Number(id), Cell::Bytes(utf16(name))])
}

fn database() -> Database {
    let mut tree = Table::new("Orders", columns());
    tree.records = (1..40).map(|id| row(id, "an order")).collect();
    let mut heap = tree.clone();
    heap.name = "Heap".to_owned();
    heap.is_heap = true;
    Database::new("Sales", vec![tree, heap])
}

/// What is done and what is taken back.
fn story() -> LogStory {
    let (tree, heap) = (table_page(0), table_page(1));
    let mut story = LogStory::default();
    story
        .begin(5)
        .insert(CLUSTERED, 5, (tree, 1), &row(90, "ninety"))
        .replace((MODIFY_ROW, CLUSTERED), 5, (tree, 0), (4, &[1], &[2]))
        .delete(5, (tree, 2), &row(2, "an order"))
        .format(5, tree + 2, 900, tree)
        .replace((MODIFY_HEADER, HEAP), 5, (tree, 0), (16, &[0; 6], &[34, 0, 0, 0, 1, 0]))
        .insert(CLUSTERED, 5, (tree + 2, 0), &row(91, "more"))
        .set_free_space(heap as u16 + 6, 0, 0x61)
        .replace((MODIFY_ROW, IAM), 5, (heap + 1, 0), (52, &[0; 6], &[42, 0, 0, 0, 1, 0]))
        .format(5, heap + 2, 901, 0)
        .insert(HEAP, 5, (heap + 2, 0), &row(92, "in a heap"))
        .commit(5)
        .begin(6)
        .insert(CLUSTERED, 6, (tree, 1), &row(93, "open"))
        .delete(6, (tree, 4), &row(4, "an order"));
    story
}

/// A full set, a differential one on it, and log.
fn chain(full: &SetWriter) -> Vec<u8> {
    let story = story();
    let ((_, begins), (end, last)) = (LogStory::default().place(), story.place());
    let (sequence, log) = story.log(0, end);
    let full = SetWriter {
        checkpoint_lsn: WRITTEN_LSN,
        last_lsn: begins,
        ..full.clone()
    };
    let mut first = full.data[0][0].clone();
    first[6 * PAGE_BYTES..7 * PAGE_BYTES].copy_from_slice(&differential_map(&[0])[..]);
    let differential = SetWriter {
        kind: 8,
        base_lsn: WRITTEN_LSN,
        data: vec![vec![first]],
        ..full.clone()
    };
    let log = SetWriter {
        letter: b'L',
        first_lsn: begins,
        last_lsn: last,
        data: Vec::new(),
        vlfs: vec![VlfWriter {
            sequence,
            start: 8192,
            bytes: 262_144,
            format: 5,
            from: 16_384,
            log,
        }],
        ..full.clone()
    };
    let mut media = MediaWriter::new(1, 1);
    media.set(1, &full).set(2, &differential).set(3, &log);
    media.bytes
}

/// Where a file has bytes that are not zero, one in several of them.
fn used(file: &[u8]) -> Vec<u32> {
    let all = file.iter().zip(0u32..).filter(|(byte, _)| **byte != 0);
    all.map(|(_, place)| place).collect()
}

impl Files {
    fn file(&self, which: usize) -> &[u8] {
        match which {
            0 => &self.data,
            1 => &self.log,
            other => &self.backups[(other - 2) % self.backups.len()],
        }
    }
}

/// The file that an input describes.
fn changed(file: &[u8], input: &[u8]) -> Vec<u8> {
    let mut file = file.to_vec();
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | usize::from(*byte));
    let (loses_protection, is_cut) = (input[1] & 1 != 0, input[1] & 2 != 0);
    for change in input[HEAD_BYTES..].chunks_exact(CHANGE_BYTES) {
        let place = word(&change[..4]) % file.len();
        file[place] = change[4];
        let page = place / PAGE_BYTES * PAGE_BYTES;
        if loses_protection && file.len() > page + 5 {
            file[page + 5] &= !3;
        }
    }
    if is_cut {
        let length = word(&input[2..HEAD_BYTES]) % file.len();
        file.truncate(length);
    }
    file
}

/// Reads everything that there is of a database.
fn read_database(source: &dyn PageSource, reader: &LogReader<'_>) -> Reached {
    let _ = survey::pages(source, &mut Verdicts::default());
    if let Ok(names) = Names::open(source) {
        let _ = RowChanges::read(reader, Some(source), &|change| {
            names.table(change.unit, change.rowset).is_some()
        });
    }
    let Ok(recovered) = Recovered::open(source, reader) else {
        return Reached::Refused;
    };
    let Ok(catalog) = Catalog::open(&recovered) else {
        return Reached::Refused;
    };
    for table in &catalog.tables {
        let _ = survey::table(&recovered, table, &Verdicts::default());
    }
    for dialect in [Dialect::SqlServer, Dialect::Vlflab] {
        let _ = (before_rows(&catalog, dialect), after_rows(&catalog, dialect));
    }
    let _ = left_out(&catalog);
    Reached::Taken
}

fn read_backup(file: Vec<u8>) -> Reached {
    let Ok(backup) = Backup::open(vec![file]) else {
        return Reached::Refused;
    };
    let mut reached = Reached::Refused;
    for set in 0..backup.sets().len().min(4) {
        let logs = backup.logs(set).unwrap_or_default();
        let logs: Vec<&dyn ReadAt> = logs.iter().map(|log| log as &dyn ReadAt).collect();
        if let Ok(pages) = backup.pages(set, &mut |_, _| {}) {
            let _ = pages.check_changed();
            reached = read_database(&pages, &LogReader::new(logs));
        }
    }
    if backup.sets().len() > 1 {
        reached = read_chain(&backup);
    }
    reached
}

/// The sets that follow one another, as one database, up to a point in time.
fn read_chain(backup: &Backup<Vec<u8>>) -> Reached {
    let mut progress = Progress::of_full(&backup.sets()[0]);
    let mut sets = vec![(backup, 0)];
    for (at, set) in backup.sets().iter().enumerate().take(8) {
        if progress.go_on(set).is_ok() {
            sets.push((backup, at));
        }
    }
    let Ok(chain) = Chain::open(&sets) else {
        return Reached::Refused;
    };
    let time = RecordTime { days: 40_000, ticks: 0 };
    match Ends::in_log(&chain.log(), Some(time)) {
        Ok(ends) => {
            let _ = read_database(&chain, &chain.log().before(ends.first_after));
            read_database(&chain, &chain.log())
        }
        Err(_) => Reached::Refused,
    }
}

impl Target for Files {
    fn make(&self, random: &mut Random) -> Vec<u8> {
        let which = random.below(FILES as u64) as usize;
        let bits = (random.below(4) != 0) as u8 | ((random.below(12) == 0) as u8) << 1;
        let mut input = vec![which as u8, bits];
        input.extend((random.draw() as u32).to_le_bytes());
        for _ in 0..random.below(CHANGES_MAX + 1) {
            let near = *random.choose(&self.places[which]);
            let place = match random.below(8) {
                0 => random.draw() as u32,
                1 => near.saturating_add(random.below(16) as u32),
                _ => near,
            };
            input.extend(place.to_le_bytes());
            input.push(match random.below(4) {
                0 => *random.choose(&[0, 1, 0x7F, 0x80, 0xFE, 0xFF]),
                _ => random.draw() as u8,
            });
        }
        input
    }

    fn take(&mut self, input: &[u8]) -> Reached {
        if input.len() < HEAD_BYTES {
            return Reached::Refused;
        }
        let which = usize::from(input[0]) % FILES;
        let file = changed(self.file(which), input);
        match which {
            0 | 1 => {
                let (data, log) = match which {
                    0 => (&file, &self.log),
                    _ => (&self.data, &file),
                };
                match DataFiles::open(vec![data.as_slice()]) {
                    Ok(files) => read_database(&files, &LogReader::new(vec![log])),
                    Err(_) => Reached::Refused,
                }
            }
            _ => read_backup(file),
        }
    }
}
