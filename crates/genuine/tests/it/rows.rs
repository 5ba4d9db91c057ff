//! Rows, compressed rows and large values from the tests' own writer, and the errors for damaged ones.
//!
//! Depth: 20,000 mutations of pages with rows, compressed rows and large values from one seed: each ends in values or in faults, and in the same
//! faults where no values are made.

use crate::support::writer::{PageWriter, Protection};
use genuine::catalog::stored::{ColumnPlace, Compression, RowSet, StoredColumn};
use genuine::scan::{Rows, check_rows};
use genuine::types::{ColumnType, SystemType, Value};
use genuine::verdicts::Verdicts;
use genuine::{DataFiles, PAGE_BYTES, PageId};

const TABLE_PAGE: u32 = 1;
const TEXT_PAGE: u32 = 2;
const OBJECT: u32 = 77;

fn kind(system: SystemType, length_bytes: i16) -> ColumnType {
    ColumnType {
        system,
        length_bytes,
        precision: 9,
        scale: 2,
        collation: 0xF008,
    }
}

fn column(number: u16, system: SystemType, length_bytes: i16, place: ColumnPlace) -> StoredColumn {
    StoredColumn {
        name: format!("c{number}"),
        id: u32::from(number),
        kind: kind(system, length_bytes),
        place,
        null_bit: number,
        value_of_older_rows: Some(Value::Null),
    }
}

fn rowset(compression: Compression) -> RowSet {
    RowSet {
        id: 1,
        partition: 1,
        is_heap: false,
        compression,
        catalog_rows: 0,
        allocation_unit: 1 << 48 | u64::from(OBJECT) << 16,
        first_page: Some(PageId::new(1, TABLE_PAGE)),
        first_iam: None,
        used_pages: 1,
        columns: vec![
            column(1, SystemType::Int, 4, ColumnPlace::Fixed(4)),
            column(2, SystemType::Bit, 1, ColumnPlace::Bit { offset: 8, bit: 3 }),
            column(3, SystemType::VarChar, 20, ColumnPlace::Variable(0)),
            column(4, SystemType::NVarChar, -1, ColumnPlace::Variable(1)),
        ],
    }
}

/// A row of four columns: an int, a bit, and two values of variable length, the second of them complex if it is a pointer.
fn row(status: u8, number: i32, nulls: u8, text: &[u8], second: (&[u8], bool)) -> Vec<u8> {
    let mut bytes = vec![status, 0, 9, 0];
    bytes.extend(number.to_le_bytes());
    bytes.push(0b1000);
    bytes.extend([4, 0, nulls, 2, 0]);
    let first_end = u16::try_from(bytes.len() + 4 + text.len()).unwrap();
    let second_end = first_end + u16::try_from(second.0.len()).unwrap();
    bytes.extend(first_end.to_le_bytes());
    bytes.extend((second_end | if second.1 { 0x8000 } else { 0 }).to_le_bytes());
    bytes.extend(text);
    bytes.extend(second.0);
    bytes
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// A pointer to one record of the page with large values.
fn inline_root(length: u32, slot: u16) -> Vec<u8> {
    let mut bytes = vec![4, 0, 0, 0, 1, 0, 0, 0, 9, 9, 9, 9];
    bytes.extend(length.to_le_bytes());
    bytes.extend(TEXT_PAGE.to_le_bytes());
    bytes.extend([1, 0]);
    bytes.extend(slot.to_le_bytes());
    bytes
}

/// A record of a large value: its kind, and what follows.
fn piece(kind: u16, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(14 + content.len()).unwrap();
    let mut bytes = vec![8, 0];
    bytes.extend(length.to_le_bytes());
    bytes.extend([7; 8]);
    bytes.extend(kind.to_le_bytes());
    bytes.extend(content);
    bytes
}

/// An internal node with links of 16 bytes: ends, and slots of the same page.
fn node(links: &[(u64, u16)]) -> Vec<u8> {
    let count = u16::try_from(links.len()).unwrap().to_le_bytes();
    let mut content = [count, count, [0, 0]].concat();
    for (end, slot) in links {
        content.extend(end.to_le_bytes());
        content.extend(TEXT_PAGE.to_le_bytes());
        content.extend([1, 0]);
        content.extend(slot.to_le_bytes());
    }
    piece(2, &content)
}

fn data_page(kind: u8, id: u32) -> PageWriter {
    let mut writer = PageWriter::new(PageId::new(1, id), kind);
    writer.put(6, &1u16.to_le_bytes()).put(24, &OBJECT.to_le_bytes());
    writer
}

fn file(table: &PageWriter, text: &PageWriter) -> Vec<u8> {
    let header = PageWriter::new(PageId::new(1, 0), 15).finish(Protection::Checksum);
    let pages = [
        header,
        table.finish(Protection::Checksum),
        text.finish(Protection::Checksum),
    ];
    pages.iter().flat_map(|page| page.iter().copied()).collect()
}

/// The rows, and the faults among them. Looking at the rows finds as many, and the same faults.
fn read(bytes: Vec<u8>, rowset: &RowSet) -> Vec<Result<Vec<Value>, String>> {
    let files = DataFiles::open(vec![bytes]).unwrap();
    let rows = Rows::new(&files, rowset);
    let found: Vec<Result<Vec<Value>, String>> = rows.map(|row| row.map_err(|fault| fault.to_string())).collect();
    let mut faults = Vec::new();
    let count = check_rows(&files, rowset, &Verdicts::default(), &mut |fault| {
        faults.push(fault.to_string());
    });
    assert_eq!(count, found.iter().filter(|row| row.is_ok()).count() as u64);
    assert!(
        faults.iter().eq(found.iter().filter_map(|row| row.as_ref().err())),
        "{faults:?}"
    );
    found
}

/// A table of 1,500 pages is looked at by two threads, and each takes what the other has no time for. What is wrong is said in the order of the
/// pages all the same: a row on every third page, whose pointer to a large value is none.
#[test]
fn two_threads_find_the_faults_in_the_order_of_the_pages() {
    const PAGES: u32 = 1_500;
    let mut bytes = PageWriter::new(PageId::new(1, 0), 15)
        .finish(Protection::Checksum)
        .to_vec();
    for page in 1..=PAGES {
        let mut writer = data_page(1, page);
        if page < PAGES {
            writer.put(16, &(page + 1).to_le_bytes()).put(20, &1u16.to_le_bytes());
        }
        for number in 0..40 {
            let is_torn = page % 3 == 0 && number == 7;
            let second: (&[u8], bool) = if is_torn { (b"odd", true) } else { (b"", false) };
            writer.record(&row(0x30, number, 0, b"one", second));
        }
        bytes.extend_from_slice(&writer.finish(Protection::Checksum)[..]);
    }
    let large = RowSet {
        used_pages: i64::from(PAGES),
        ..rowset(Compression::None)
    };
    let found = read(bytes, &large);
    assert_eq!(found.len(), PAGES as usize * 40);
    assert_eq!(found.iter().filter(|row| row.is_err()).count(), PAGES as usize / 3);
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

#[test]
fn rows_of_every_form_are_read_or_left_out() {
    let mut table = data_page(1, TABLE_PAGE);
    table
        .record(&row(0x30, 1, 0, b"one", (&utf16("eins"), false)))
        .record(&row(0x30, -2, 0b1100, b"", (b"", false)))
        .record(&[0x04, 9, 0, 0, 0, 1, 0, 0, 0])
        .record(&row(0x3C, 3, 0, b"ghost", (b"", false)))
        .record(&row(0x32, 4, 0, b"moved", (&utf16("x"), false)));
    let found = read(file(&table, &data_page(3, TEXT_PAGE)), &rowset(Compression::None));
    let expected = [
        Ok(vec![Value::Integer(1), Value::Bit(true), text("one"), text("eins")]),
        Ok(vec![Value::Integer(-2), Value::Bit(true), Value::Null, Value::Null]),
        Ok(vec![Value::Integer(4), Value::Bit(true), text("moved"), text("x")]),
    ];
    assert_eq!(found, expected);
}

/// A row that was written before its table had the last column says so by its number of columns.
#[test]
fn a_column_that_is_younger_than_its_row_has_its_default() {
    let mut bytes = row(0x30, 5, 0, b"old", (b"", false));
    bytes[9] = 3;
    let mut table = data_page(1, TABLE_PAGE);
    table.record(&bytes);
    let mut rowset = rowset(Compression::None);
    rowset.columns[3].value_of_older_rows = Some(text("later"));
    let found = read(file(&table, &data_page(3, TEXT_PAGE)), &rowset);
    assert_eq!(
        found,
        [Ok(vec![
            Value::Integer(5),
            Value::Bit(true),
            text("old"),
            text("later")
        ])]
    );
}

/// A table of nothing but sparse columns had a row, and got another column later: the row has no null bitmap, and no number of columns. Its number
/// of variable values was taken for that, and the other column was looked for among them.
#[test]
fn a_row_of_sparse_columns_alone_has_no_null_bitmap() {
    let vector = [&[5, 0, 1, 0, 7, 0, 12, 0][..], &42i32.to_le_bytes()].concat();
    let mut bytes = vec![0x20, 0, 4, 0, 1, 0];
    bytes.extend(((8 + vector.len() as u16) | 0x8000).to_le_bytes());
    bytes.extend(vector);
    let mut table = data_page(1, TABLE_PAGE);
    table.record(&bytes);
    let mut rowset = rowset(Compression::None);
    rowset.columns = vec![
        column(7, SystemType::Int, 4, ColumnPlace::Sparse),
        column(8, SystemType::Int, 4, ColumnPlace::Sparse),
        column(1, SystemType::Int, 4, ColumnPlace::Fixed(4)),
    ];
    rowset.columns[0].null_bit = 0;
    rowset.columns[1].null_bit = 0;
    let found = read(file(&table, &data_page(3, TEXT_PAGE)), &rowset);
    assert_eq!(found, [Ok(vec![Value::Integer(42), Value::Null, Value::Null])]);
}

/// Types of fixed length in the variable part: a `char` that was declared under ANSI_PADDING OFF, and decimals of a table with vardecimal storage. Five
/// bytes of such a decimal were taken for the five of an ordinary one: 123.45 was -2,114,445.20.
#[test]
fn types_of_fixed_length_can_lie_in_the_variable_part() {
    // 123.45: a positive number, 10^2, and 123 and 450 of ten bits each; one digit more makes it five bytes.
    let decimal = |groups: [u32; 3]| {
        let bits = groups.iter().fold(0, |bits, group| bits << 10 | group) << 2;
        [&[0x80 | 66][..], &u32::to_be_bytes(bits)].concat()
    };
    let value = |digits| Value::Decimal {
        is_negative: false,
        digits,
        scale: 2,
    };
    let mut table = data_page(1, TABLE_PAGE);
    table
        .record(&row(0x30, 1, 0, b"ab", (&decimal([123, 450, 0]), false)))
        .record(&row(0x30, 2, 0, b"", (b"", false)))
        .record(&row(0x30, 3, 0, b"", (&decimal([123, 456, 0]), false)));
    let mut rowset = rowset(Compression::None);
    rowset.columns[2].kind = kind(SystemType::Char, 10);
    rowset.columns[3].kind = kind(SystemType::Decimal, 5);
    let found = read(file(&table, &data_page(3, TEXT_PAGE)), &rowset);
    let values = |row: usize| found[row].as_ref().map(|row| row[2..].to_vec());
    assert_eq!(values(0), Ok(vec![text("ab"), value(12_345)]));
    assert_eq!(values(1), Ok(vec![text(""), value(0)]));
    // 123.456 has more than two decimals.
    assert!(values(2).unwrap_err().contains("out of range"));
}

/// A table on 400 pages: a chain whose pages lie one behind another, then far apart, then backward; the page before its end is damaged.
#[test]
fn looking_at_rows_finds_what_reading_them_does_by_one_thread_or_two() {
    let order: Vec<u32> = (1..200).chain((200..300).step_by(3)).chain((300..400).rev()).collect();
    let header = PageWriter::new(PageId::new(1, 0), 15).finish(Protection::Checksum);
    let mut pages = vec![header];
    pages.extend((1..400).map(|_| PageWriter::new(PageId::new(1, 0), 1).finish(Protection::None)));
    for (at, page) in order.iter().enumerate() {
        let mut writer = data_page(1, *page);
        if let Some(next) = order.get(at + 1) {
            writer.put(16, &next.to_le_bytes()).put(20, &[1, 0]);
        }
        writer.record(&row(0x30, *page as i32, 0, b"a", (b"", false)));
        // An end of a variable value that leads out of the page.
        let mut wrong = row(0x30, 0, 0, b"b", (b"", false));
        wrong[15] = 0x7F;
        if at % 7 == 0 {
            writer.record(&wrong);
        }
        pages[*page as usize] = writer.finish(Protection::Checksum);
    }
    pages[301][500] ^= 1;
    let bytes: Vec<u8> = pages.iter().flat_map(|page| page.iter().copied()).collect();
    let mut rowset = rowset(Compression::None);
    for used_pages in [1, 400] {
        rowset.used_pages = used_pages;
        let found = read(bytes.clone(), &rowset);
        let (rows, faults): (Vec<_>, Vec<_>) = found.iter().partition(|row| row.is_ok());
        assert_eq!(
            (rows.len(), faults.len()),
            (order.len() - 2, order.len().div_ceil(7) + 1)
        );
        let last = faults.last().unwrap().as_ref().unwrap_err();
        assert!(last.contains("page (1:301)") && last.contains("checksum"), "{last}");
    }
}

#[test]
fn a_large_value_is_put_together_from_its_tree() {
    let (first, second) = (utf16("left, "), utf16("right"));
    let length = (first.len() + second.len()) as u64;
    let mut pieces = data_page(3, TEXT_PAGE);
    pieces
        .record(&piece(3, &first))
        .record(&piece(3, &second))
        .record(&node(&[(first.len() as u64, 0), (length, 1)]));
    let mut table = data_page(1, TABLE_PAGE);
    let pointer = inline_root(u32::try_from(length).unwrap(), 2);
    table.record(&row(0x30, 1, 0, b"", (&pointer, true)));
    let found = read(file(&table, &pieces), &rowset(Compression::None));
    assert_eq!(found[0].as_ref().unwrap()[3], text("left, right"));
}

/// A node that leads to itself, and nodes that lead to each other again and again with nothing in them, end.
#[test]
fn a_tree_that_runs_in_a_circle_is_one_fault() {
    let mut table = data_page(1, TABLE_PAGE);
    table.record(&row(0x30, 1, 0, b"", (&inline_root(0, 0), true)));
    let mut own = data_page(3, TEXT_PAGE);
    own.record(&node(&[(0, 0)]));
    let found = read(file(&table, &own), &rowset(Compression::None));
    let fault = found[0].as_ref().unwrap_err();
    assert!(fault.contains("more than 12 levels"), "{fault}");

    let mut wide = data_page(3, TEXT_PAGE);
    for slot in 1..=10 {
        wide.record(&node(&[(0, slot); 40]));
    }
    wide.record(&piece(3, b""));
    let found = read(file(&table, &wide), &rowset(Compression::None));
    let fault = found[0].as_ref().unwrap_err();
    assert!(fault.contains("more pieces than there can be"), "{fault}");
}

#[test]
fn a_chain_that_runs_in_a_circle_is_one_fault_behind_its_rows() {
    let mut table = data_page(1, TABLE_PAGE);
    table.put(16, &TABLE_PAGE.to_le_bytes()).put(20, &[1, 0]);
    table.record(&row(0x30, 1, 0, b"a", (b"", false)));
    let found = read(file(&table, &data_page(3, TEXT_PAGE)), &rowset(Compression::None));
    assert!(found.len() <= 4, "{}", found.len());
    let fault = found.last().unwrap().as_ref().unwrap_err();
    assert!(fault.contains("runs in a circle"), "{fault}");
}

/// A compressed record of four columns: descriptors, then the short values in order, then the long ones.
fn compressed(descriptors: [u8; 4], short: &[u8], long: &[&[u8]]) -> Vec<u8> {
    let header = if long.is_empty() { 1 } else { 0x21 };
    let mut bytes = vec![
        header,
        4,
        descriptors[0] | descriptors[1] << 4,
        descriptors[2] | descriptors[3] << 4,
    ];
    bytes.extend(short);
    if !long.is_empty() {
        bytes.push(1);
        bytes.extend(u16::try_from(long.len()).unwrap().to_le_bytes());
        let mut end = 0;
        for value in long {
            end += u16::try_from(value.len()).unwrap();
            bytes.extend(end.to_le_bytes());
        }
        long.iter().for_each(|value| bytes.extend(*value));
    }
    bytes
}

#[test]
fn compressed_rows_are_expanded() {
    let mut table = data_page(1, TABLE_PAGE);
    table
        // 300 takes two bytes, excess 32768; a bit that is 1; three letters; "Ж" as SCSU: a window, a letter, and the odd byte.
        .record(&compressed(
            [3, 11, 4, 4],
            &[0x81, 0x2C, b'a', b'b', b'c', 0x12, 0x96, 0x10],
            &[],
        ))
        .record(&compressed([1, 1, 0, 10], &[], &[&utf16("long enough to be long")]));
    let found = read(file(&table, &data_page(3, TEXT_PAGE)), &rowset(Compression::Row));
    let expected = [
        Ok(vec![Value::Integer(300), Value::Bit(true), text("abc"), text("Ж")]),
        Ok(vec![
            Value::Integer(0),
            Value::Bit(false),
            Value::Null,
            text("long enough to be long"),
        ]),
    ];
    assert_eq!(found, expected);
}

/// Anchor "abcdef" for the third column, and a dictionary of one entry: three bytes of the anchor, and "xyz".
#[test]
fn a_compressed_page_has_anchor_and_dictionary() {
    let anchor = compressed([0, 0, 7, 0], b"abcdef", &[]);
    let dictionary_at = 7 + anchor.len();
    let entry = b"\x03xyz";
    let entry_end = u16::try_from(4 + entry.len()).unwrap();
    let dictionary = [&[1, 0][..], &entry_end.to_le_bytes(), entry].concat();
    let size = dictionary_at + dictionary.len();
    let mut around = vec![6, 0, 0];
    around.extend(u16::try_from(dictionary_at).unwrap().to_le_bytes());
    around.extend(u16::try_from(size).unwrap().to_le_bytes());
    around.extend(&anchor);
    around.extend(&dictionary);
    let mut table = data_page(1, TABLE_PAGE);
    table
        .before_records(&around)
        .record(&compressed([2, 1, 1, 0], &[0x81], &[]))
        .record(&compressed([2, 1, 12, 0], &[0x82, 0], &[]))
        .record(&compressed([2, 1, 4, 0], &[0x83, 2, b'-', b'-'], &[]));
    let found = read(file(&table, &data_page(3, TEXT_PAGE)), &rowset(Compression::Page));
    let third = |row: usize| found[row].as_ref().unwrap()[2].clone();
    assert_eq!(
        [third(0), third(1), third(2)],
        [text("abcdef"), text("abcxyz"), text("ab--")]
    );
    assert_eq!(found[2].as_ref().unwrap()[0], Value::Integer(3));
}

/// Nobody can say what a mutated page holds, but reading it ends, in values or faults.
#[test]
fn any_bytes_end_in_values_or_faults() {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).unwrap()
    };
    let (first, second) = (utf16("left"), utf16("right"));
    let mut pieces = data_page(3, TEXT_PAGE);
    pieces
        .record(&piece(3, &first))
        .record(&piece(3, &second))
        .record(&node(&[(8, 0), (18, 1)]));
    let mut plain = data_page(1, TABLE_PAGE);
    plain
        .record(&row(0x30, 1, 0, b"one", (&utf16("eins"), false)))
        .record(&row(0x30, 2, 0, b"", (&inline_root(18, 2), true)));
    let mut packed = data_page(1, TABLE_PAGE);
    packed
        .before_records(&[2, 0, 0, 12, 0, 1, 4, 0, 0, 0x70, 0, 0])
        .record(&compressed(
            [3, 11, 4, 4],
            &[0x81, 0x2C, b'a', b'b', b'c', 0x12, 0x96, 0x10],
            &[],
        ))
        .record(&compressed([1, 1, 0, 10], &[], &[&utf16("long enough to be long")]));
    let plain = file(&plain, &pieces);
    let packed = file(&packed, &pieces);
    let (mut values, mut faults) = (0, 0);
    for turn in 0..20_000 {
        let compression = [Compression::None, Compression::Row, Compression::Page][turn % 3];
        let mut bytes = if turn % 3 == 0 { plain.clone() } else { packed.clone() };
        for _ in 0..=random(4) {
            let page = PAGE_BYTES * (1 + random(2));
            let at = match random(3) {
                0 => random(300),
                1 => 96 + random(200),
                _ => PAGE_BYTES - 1 - random(12),
            };
            bytes[page + at] = [0, 1, 0x7F, 0x80, 0xFF, random(256) as u8][random(6)];
        }
        // Without flags of protection every byte counts.
        bytes[PAGE_BYTES + 5] = 0;
        bytes[2 * PAGE_BYTES + 5] = 0;
        for row in read(bytes, &rowset(compression)) {
            match row {
                Ok(_) => values += 1,
                Err(_) => faults += 1,
            }
        }
    }
    assert!(values > 1_000 && faults > 1_000, "{values} rows, {faults} faults");
}
