//! Recovery of a small database from logs that the tests write: redo, undo, and unrecoverable pages with the reason.

use crate::support::database::{Cell, Column, Database, FIRST_OBJECT, INT, NVARCHAR, Table, record, table_page, utf16};
use crate::support::random::Random;
use crate::support::story::{CLUSTERED, HEAP, IAM, LogStory, MODIFY_HEADER, MODIFY_ROW, PFS};
use genuine::catalog::Catalog;
use genuine::log::LogReader;
use genuine::recovery::{Done, Recovered};
use genuine::scan::Rows;
use genuine::types::Value;
use genuine::{DataFiles, Fault};

const PAGE: u32 = table_page(0);
const NEXT_PAGE: u32 = PAGE + 2;

fn columns() -> Vec<Column> {
    vec![Column::new("id", INT, 4).not_null(), Column::new("name", NVARCHAR, 40)]
}

fn row(id: i64, name: &str) -> Vec<u8> {
    record(&columns(), &[Cell::Number(id), Cell::Bytes(utf16(name))])
}

fn ghost(id: i64, name: &str) -> Vec<u8> {
    let mut row = row(id, name);
    row[0] |= 0x0C;
    row
}

fn database(is_heap: bool) -> Vec<u8> {
    let mut table = Table::new("Orders", columns());
    table.is_heap = is_heap;
    table.records = vec![row(1, "one"), row(2, "two"), row(3, "three")];
    Database::new("Sales", vec![table]).file()
}

/// The rows of a database after recovery by the log of `story`, or the first fault.
fn recovered(is_heap: bool, story: &LogStory) -> Result<(Vec<String>, Done), Fault> {
    let files = DataFiles::open(vec![database(is_heap)]).unwrap();
    let log = story.file();
    let recovered = Recovered::open(&files, &LogReader::new(vec![&log]))?;
    let catalog = Catalog::open(&recovered)?;
    let rowset = &catalog.table("Orders").unwrap().rowsets[0];
    let mut rows = Vec::new();
    for row in Rows::new(&recovered, rowset) {
        match &row?[..] {
            [Value::Integer(id), Value::Text(name)] => rows.push(format!("{id} {name}")),
            other => panic!("{other:?}"),
        }
    }
    Ok((rows, recovered.done()))
}

fn rows(is_heap: bool, story: &LogStory) -> Vec<String> {
    recovered(is_heap, story).unwrap().0
}

#[test]
fn a_log_without_changes_leaves_the_files_as_they_are() {
    let (rows, done) = recovered(false, LogStory::default().begin(5).commit(5)).unwrap();
    assert_eq!(rows, ["1 one", "2 two", "3 three"]);
    assert!(done.is_nothing());
}

/// The server was killed between a commit and the next checkpoint: rows are inserted, changed and deleted, and a page follows the first one.
#[test]
fn what_was_committed_and_not_written_is_done() {
    let mut story = LogStory::default();
    story
        .begin(5)
        .insert(CLUSTERED, 5, (PAGE, 1), &row(9, "nine"))
        .replace((MODIFY_ROW, CLUSTERED), 5, (PAGE, 0), (4, &[1], &[11]))
        .delete(5, (PAGE, 2), &row(2, "two"))
        .commit(5)
        .begin(6)
        .format(6, NEXT_PAGE, FIRST_OBJECT, PAGE)
        .replace(
            (MODIFY_HEADER, HEAP),
            6,
            (PAGE, 0),
            (16, &[0; 6], &[NEXT_PAGE as u8, 0, 0, 0, 1, 0]),
        )
        .insert(CLUSTERED, 6, (NEXT_PAGE, 0), &row(20, "twenty"))
        .commit(6);
    let (rows, done) = recovered(false, &story).unwrap();
    assert_eq!(rows, ["11 one", "9 nine", "3 three", "20 twenty"]);
    assert_eq!((done.pages, done.records_redone, done.transactions_undone), (2, 6, 0));
}

/// What a page has already is not done again.
#[test]
fn a_page_that_is_newer_than_the_log_stays() {
    let mut story = LogStory::default();
    story
        .begin(5)
        .insert(CLUSTERED, 5, (PAGE, 0), &row(9, "nine"))
        .commit(5);
    let files = DataFiles::open(vec![database(false)]).unwrap();
    let log = story.file();
    let once = Recovered::open(&files, &LogReader::new(vec![&log])).unwrap();
    let twice = Recovered::open(&once, &LogReader::new(vec![&log])).unwrap();
    assert_eq!((once.done().pages, twice.done().pages), (1, 0));
}

/// Transaction 6 never ended. What it did is taken back, wherever transaction 7 has shifted its rows meanwhile.
#[test]
fn what_was_never_committed_is_taken_back() {
    let mut story = LogStory::default();
    story
        .begin(6)
        .insert(CLUSTERED, 6, (PAGE, 1), &row(6, "open"))
        .replace((MODIFY_ROW, CLUSTERED), 6, (PAGE, 0), (4, &[1], &[99]))
        .begin(7)
        .insert(CLUSTERED, 7, (PAGE, 0), &row(7, "seven"))
        .delete(6, (PAGE, 3), &row(2, "two"))
        .insert(CLUSTERED, 7, (PAGE, 2), &row(8, "eight"))
        .commit(7)
        .insert(CLUSTERED, 6, (PAGE, 5), &row(6, "open too"));
    let (rows, done) = recovered(false, &story).unwrap();
    assert_eq!(rows, ["7 seven", "1 one", "8 eight", "2 two", "3 three"]);
    assert_eq!((done.transactions_undone, done.records_undone), (1, 4));
}

/// A heap finds its pages by the IAM page and the PFS: both come from the log too.
#[test]
fn a_heap_gets_its_new_page_by_the_maps_in_the_log() {
    let mut story = LogStory::default();
    story
        .begin(5)
        .set_free_space(NEXT_PAGE as u16 + 4, 0, 0x61)
        .replace(
            (MODIFY_ROW, IAM),
            5,
            (PAGE + 1, 0),
            (52, &[0; 6], &[NEXT_PAGE as u8, 0, 0, 0, 1, 0]),
        )
        .format(5, NEXT_PAGE, FIRST_OBJECT, 0)
        .insert(HEAP, 5, (NEXT_PAGE, 0), &row(20, "twenty"))
        .insert(HEAP, 5, (NEXT_PAGE, 1), &row(21, "more"))
        .commit(5);
    assert_eq!(
        rows(true, &story),
        ["1 one", "2 two", "3 three", "20 twenty", "21 more"]
    );
    // The page is freed: its bit goes.
    let bit = (NEXT_PAGE as u16 + 4) * 8 + 6;
    story.set_bits(PFS, (1, 0), bit, 0);
    assert_eq!(rows(true, &story), ["1 one", "2 two", "3 three"]);
    // It was still open: the slot of its row is empty.
    story
        .set_bits(PFS, (1, 0), bit, 1)
        .begin(6)
        .insert(HEAP, 6, (NEXT_PAGE, 2), &row(22, "open"));
    assert_eq!(rows(true, &story).len(), 5);
}

/// Nothing is guessed: each of these is a fault of the page, with what is wrong, when the page is read.
#[test]
fn what_cannot_be_brought_forward_or_back_is_lost_by_name() {
    let mut missing = LogStory::default();
    missing
        .begin(5)
        .lose(PAGE)
        .insert(CLUSTERED, 5, (PAGE, 0), &row(9, "nine"))
        .commit(5);
    let mut other = LogStory::default();
    other
        .begin(5)
        .replace((MODIFY_ROW, CLUSTERED), 5, (PAGE, 0), (4, &[77], &[78]))
        .commit(5);
    let mut unknown = LogStory::default();
    unknown
        .begin(5)
        .replace((20, CLUSTERED), 5, (PAGE, 0), (4, &[1], &[2]))
        .commit(5);
    let mut moved = LogStory::default();
    moved
        .begin(6)
        .replace((MODIFY_ROW, CLUSTERED), 6, (PAGE, 2), (4, &[3], &[33]))
        .begin(7)
        .split(7, (PAGE, 1))
        .commit(7);
    for (story, reason) in [
        (missing, "log is missing between"),
        (other, "what the log changes on it is not what is there"),
        (unknown, "what the log changes on it is not what is there"),
        (moved, "a row that it changed has left the page"),
    ] {
        let fault = recovered(false, &story).unwrap_err().to_string();
        assert!(fault.contains(reason) && fault.contains("page (1:32)"), "{fault}");
    }
}

/// The beginning of what has to be undone is not in the log: that is said before anything is read.
#[test]
fn a_transaction_without_beginning_and_end_is_refused() {
    let mut story = LogStory::default();
    story.insert(CLUSTERED, 5, (PAGE, 0), &row(9, "nine"));
    let fault = recovered(false, &story).unwrap_err().to_string();
    assert!(fault.contains("0000:00000005 has no end in the log"), "{fault}");
}

/// Whatever is changed in the log and in the database, recovery ends, and reading ends.
#[test]
fn damaged_logs_and_pages_end_in_rows_or_faults() {
    let mut story = LogStory::default();
    story
        .begin(5)
        .insert(CLUSTERED, 5, (PAGE, 1), &row(9, "nine"))
        .delete(5, (PAGE, 2), &ghost(2, "two"))
        .format(5, NEXT_PAGE, FIRST_OBJECT, PAGE)
        .insert(CLUSTERED, 5, (NEXT_PAGE, 0), &row(20, "twenty"))
        .commit(5)
        .begin(6)
        .insert(CLUSTERED, 6, (PAGE, 1), &row(6, "open"))
        .replace((MODIFY_ROW, CLUSTERED), 6, (PAGE, 0), (4, &[1], &[99]));
    let (good, log) = (database(false), story.file());
    let mut random = Random(20_261_127);
    for _ in 0..300 {
        let (mut file, mut log) = (good.clone(), log.clone());
        random.damage(&mut log);
        if random.below(2) == 0 {
            random.damage(&mut file);
        }
        let Ok(files) = DataFiles::open(vec![file]) else {
            continue;
        };
        let Ok(recovered) = Recovered::open(&files, &LogReader::new(vec![&log])) else {
            continue;
        };
        let Ok(catalog) = Catalog::open(&recovered) else {
            continue;
        };
        for table in &catalog.tables {
            for rowset in &table.rowsets {
                assert!(Rows::new(&recovered, rowset).count() < 100_000);
            }
        }
    }
}
