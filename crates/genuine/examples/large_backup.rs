//! Writes an uncompressed full backup of a database with one large table, as SQL Server lays it out: `large_backup FILE BYTES`.
//!
//! ```text
//!   extents 0 .. 15      maps, catalog, the first page of the table    as the tests' own writer makes them
//!   extents 16 ..        pages of the table, each naming the next; a PFS page at every multiple of 8,088
//! ```
//!
//! The file is written from beginning to end, so its size costs no memory. Every page has its checksum, and the catalog counts the rows that there are.

use genuine::PAGE_BYTES;
use genuine::PageId;
use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};

#[allow(dead_code)]
#[allow(clippy::unwrap_used, reason = "shared with the tests")]
#[path = "../tests/it/support/mod.rs"]
mod support;

use support::database::{
    Cell, Column, Database, FILE_PAGES, FIRST_OBJECT, INT, NVARCHAR, Table, record, table_page, utf16,
};
use support::media::{MediaWriter, SetWriter};
use support::writer::{PageWriter, Protection};

const EXTENT_BYTES: usize = 65_536;
const PFS_PAGES: u32 = 8_088;
/// Of rows of about 110 bytes.
const ROWS_OF_PAGE: u32 = 64;

fn columns() -> Vec<Column> {
    vec![Column::new("id", INT, 4).not_null(), Column::new("name", NVARCHAR, 80)]
}

fn is_pfs(page: u32) -> bool {
    page.is_multiple_of(PFS_PAGES)
}

/// The page of the table behind `page`, if there is one.
fn next_of(page: u32, pages: u32) -> Option<u32> {
    (page + 1..pages).find(|next| !is_pfs(*next))
}

/// A page of the table, or the PFS page in its place.
fn page_at(page: u32, pages: u32) -> Vec<u8> {
    if is_pfs(page) {
        let mut map = PageWriter::new(PageId::new(1, page), 11);
        map.record(&[&[0; 4][..], &[0x40; 8_080]].concat());
        return map.finish(Protection::Checksum).to_vec();
    }
    let mut writer = PageWriter::new(PageId::new(1, page), 1);
    writer.put(24, &FIRST_OBJECT.to_le_bytes());
    if let Some(next) = next_of(page, pages) {
        writer.put(16, &next.to_le_bytes()).put(20, &1u16.to_le_bytes());
    }
    for row in 0..ROWS_OF_PAGE {
        let number = u64::from(page) * u64::from(ROWS_OF_PAGE) + u64::from(row);
        let name = utf16(&format!("row number {number:>28}"));
        writer.record(&record(&columns(), &[Cell::Number(number as i64), Cell::Bytes(name)]));
    }
    writer.finish(Protection::Checksum).to_vec()
}

/// The first extents, with maps that say that all pages behind them are in use.
fn first_extents(pages: u32) -> Vec<Vec<u8>> {
    let mut table = Table::new("Orders", columns());
    table.rows_elsewhere = i64::from((FILE_PAGES..pages).filter(|page| !is_pfs(*page)).count() as u32 * ROWS_OF_PAGE);
    let made = Database::new("Large", vec![table]);
    let mut file = made.file();
    let used: Vec<u32> = made.pages().keys().copied().chain(FILE_PAGES..PFS_PAGES).collect();
    let mut put = |page: u32, writer: PageWriter| {
        let at = page as usize * PAGE_BYTES;
        file[at..at + PAGE_BYTES].copy_from_slice(&writer.finish(Protection::Checksum)[..]);
    };
    let mut pfs = vec![0; 4 + 8_080];
    for page in used.iter().filter(|page| **page < 8_080) {
        pfs[4 + *page as usize] = 0x40;
    }
    let mut writer = PageWriter::new(PageId::new(1, 1), 11);
    writer.record(&pfs);
    put(1, writer);
    // A bit is 1 for an extent that is free.
    let mut free = vec![0xFF; 7_990];
    for page in used.iter().copied().chain((PFS_PAGES..pages).step_by(8)) {
        free[page as usize / 64] &= !(1 << (page / 8 % 8));
    }
    let mut writer = PageWriter::new(PageId::new(1, 2), 8);
    writer.record(&[0; 94]).put(190, &[0; 4]).put(194, &free);
    put(2, writer);
    let mut writer = PageWriter::new(PageId::new(1, table_page(0)), 1);
    writer
        .put(24, &FIRST_OBJECT.to_le_bytes())
        .put(16, &FILE_PAGES.to_le_bytes())
        .put(20, &1u16.to_le_bytes());
    put(table_page(0), writer);
    file.chunks(EXTENT_BYTES).map(<[u8]>::to_vec).collect()
}

/// Where the stream of pages has its header in `bytes`.
fn page_stream(bytes: &[u8]) -> Option<usize> {
    let is_stream = |at: &usize| bytes[*at..].starts_with(b"MQDA") && bytes[at + 8..at + 16] != [0; 8];
    (0..bytes.len() - 22).find(is_stream)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("large_backup FILE BYTES")?;
    let bytes: u64 = arguments.next().ok_or("large_backup FILE BYTES")?.parse()?;
    let extents = u32::try_from(bytes / EXTENT_BYTES as u64)?.max(FILE_PAGES / 8 + 1);
    if extents > 63_904 {
        return Err("one allocation map covers 4 GB, and there is one".into());
    }
    let pages = extents * 8;
    let set = SetWriter {
        kind: 4,
        name: "large".to_owned(),
        database: "Large".to_owned(),
        database_version: 904,
        file_bytes: u64::from(pages) * PAGE_BYTES as u64,
        data: vec![first_extents(pages)],
        ..SetWriter::default()
    };
    let mut media = MediaWriter::new(1, 1);
    media.set(1, &set);
    let mut small = media.bytes;
    let header = page_stream(&small).ok_or("the small backup has no pages")?;
    let length = u64::from_le_bytes(small[header + 8..header + 16].try_into()?);
    let longer = 2 + u64::from(extents) * EXTENT_BYTES as u64;
    small[header + 8..header + 16].copy_from_slice(&longer.to_le_bytes());
    let words = small[header..header + 20].chunks_exact(2);
    let sum = words.fold(0, |sum, pair| sum ^ u16::from_le_bytes([pair[0], pair[1]]));
    small[header + 20..header + 22].copy_from_slice(&sum.to_le_bytes());
    let end = header + 22 + usize::try_from(length)?;
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    out.write_all(&small[..end])?;
    for page in FILE_PAGES..pages {
        out.write_all(&page_at(page, pages))?;
    }
    out.write_all(&small[end..])?;
    out.flush()?;
    Ok(())
}
