//! Writes a small database as SQL Server 2019 does: file header, maps, boot page, the base tables that its catalog is read from, and tables
//! of users, each on one page.
//!
//! The base tables have the columns that SQL Server's have, and describe themselves in syscolpars, as its own do.

use super::writer::{PageWriter, Protection};
use genuine::PAGE_BYTES;
use genuine::PageId;
use genuine::page::PageBytes;
use std::collections::BTreeMap;
use vlf::Lsn;

/// Numbers of types (`sys.types.system_type_id`).
pub const TINYINT: u8 = 48;
pub const SMALLINT: u8 = 52;
pub const INT: u8 = 56;
pub const DATETIME: u8 = 61;
pub const SQL_VARIANT: u8 = 98;
pub const BIGINT: u8 = 127;
pub const VARBINARY: u8 = 165;
pub const BINARY: u8 = 173;
pub const CHAR: u8 = 175;
pub const VARCHAR: u8 = 167;
pub const NVARCHAR: u8 = 231;

/// Pages of a file that the writer makes.
pub const FILE_PAGES: u32 = 128;
/// The first page of the first table of users; each table has an extent.
pub const FIRST_TABLE_PAGE: u32 = 32;
/// The object part of the allocation unit of the first table, as the headers of pages and records of the log have it.
pub const FIRST_OBJECT: u32 = 900;
/// Of every page, unless it is said.
pub const WRITTEN_LSN: Lsn = Lsn::new(30, 16, 1);
const PROTECTION: Protection = Protection::Checksum;
const FIRST_ROWSET: i64 = 72_057_594_038_000_000;

/// A value of a row.
#[derive(Clone, Debug)]
pub enum Cell {
    Null,
    Number(i64),
    Bytes(Vec<u8>),
}

/// A column of a table, and how it came to be there.
#[derive(Clone, Debug)]
pub struct Column {
    pub name: String,
    pub system: u8,
    pub length: i16,
    pub is_nullable: bool,
    /// The id of its collation.
    pub collation: u32,
    /// What sysseobjvalues has for rows that are older than the column: `value` and `imageval`.
    pub older: Option<(Cell, Cell)>,
}

impl Column {
    pub fn new(name: &str, system: u8, length: i16) -> Column {
        Column {
            name: name.to_owned(),
            system,
            length,
            is_nullable: true,
            collation: 0,
            older: None,
        }
    }

    pub fn collated(mut self, collation: u32) -> Column {
        self.collation = collation;
        self
    }

    pub fn not_null(mut self) -> Column {
        self.is_nullable = false;
        self
    }

    /// A column that was added without writing the rows: what it is in them.
    pub fn added(mut self, value: Cell, image: Cell) -> Column {
        self.older = Some((value, image));
        self.not_null()
    }

    fn is_fixed(&self) -> bool {
        !matches!(self.system, SQL_VARIANT | VARBINARY | VARCHAR | NVARCHAR)
    }
}

/// A table of users.
#[derive(Clone, Debug)]
pub struct Table {
    pub name: String,
    pub is_heap: bool,
    pub columns: Vec<Column>,
    pub records: Vec<Vec<u8>>,
    /// Rows that the catalog counts and that who makes the table puts on pages of its own.
    pub rows_elsewhere: i64,
}

impl Table {
    pub fn new(name: &str, columns: Vec<Column>) -> Table {
        Table {
            name: name.to_owned(),
            is_heap: false,
            columns,
            records: Vec::new(),
            rows_elsewhere: 0,
        }
    }

    /// A row that has the first of the columns, as many as there are `cells`.
    pub fn row(mut self, cells: &[Cell]) -> Table {
        self.records.push(record(&self.columns, cells));
        self
    }
}

/// A database in the making: its name and the tables of its users.
#[derive(Clone, Debug, Default)]
pub struct Database {
    pub name: String,
    pub tables: Vec<Table>,
}

pub fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

pub fn text(text: &str) -> Cell {
    Cell::Bytes(utf16(text))
}

/// A record with the first of `columns`, as many as there are `cells`.
pub fn record(columns: &[Column], cells: &[Cell]) -> Vec<u8> {
    let mut fixed = Vec::new();
    let mut variable: Vec<Vec<u8>> = Vec::new();
    let mut nulls = vec![0u8; cells.len().div_ceil(8)];
    for (number, (column, cell)) in columns.iter().zip(cells).enumerate() {
        let bytes = match cell {
            Cell::Null => {
                nulls[number / 8] |= 1 << (number % 8);
                Vec::new()
            }
            Cell::Number(value) => value.to_le_bytes()[..(column.length as usize).min(8)].to_vec(),
            Cell::Bytes(bytes) => bytes.clone(),
        };
        match column.is_fixed() {
            true => {
                fixed.extend(&bytes);
                fixed.resize(fixed.len() + column.length as usize - bytes.len(), 0);
            }
            false => variable.push(bytes),
        }
    }
    let status = if variable.is_empty() { 0x10 } else { 0x30 };
    let mut out = vec![status, 0];
    out.extend((4 + fixed.len() as u16).to_le_bytes());
    out.extend(fixed);
    out.extend((cells.len() as u16).to_le_bytes());
    out.extend(nulls);
    if !variable.is_empty() {
        out.extend((variable.len() as u16).to_le_bytes());
        let mut end = out.len() + 2 * variable.len();
        for bytes in &variable {
            end += bytes.len();
            out.extend((end as u16).to_le_bytes());
        }
        variable.iter().for_each(|bytes| out.extend(bytes));
    }
    out
}

fn columns(declared: &[Declared]) -> Vec<Column> {
    let columns = declared.iter();
    columns
        .map(|(name, system, length)| Column::new(name, *system, *length))
        .collect()
}

fn number(value: impl Into<i64>) -> Cell {
    Cell::Number(value.into())
}

fn page_pointer(page: u32) -> Cell {
    let mut bytes = page.to_le_bytes().to_vec();
    bytes.extend(u16::from(page != 0).to_le_bytes());
    Cell::Bytes(bytes)
}

/// A column of a base table: name, type, bytes.
type Declared = (&'static str, u8, i16);

const UNITS: &[Declared] = &[
    ("auid", BIGINT, 8),
    ("type", TINYINT, 1),
    ("ownerid", BIGINT, 8),
    ("status", INT, 4),
    ("fgid", SMALLINT, 2),
    ("pgfirst", BINARY, 6),
    ("pgroot", BINARY, 6),
    ("pgfirstiam", BINARY, 6),
    ("pcused", BIGINT, 8),
    ("pcdata", BIGINT, 8),
    ("pcreserved", BIGINT, 8),
];

const ROWSETS: &[Declared] = &[
    ("rowsetid", BIGINT, 8),
    ("ownertype", TINYINT, 1),
    ("idmajor", INT, 4),
    ("idminor", INT, 4),
    ("numpart", INT, 4),
    ("status", INT, 4),
    ("fgidfs", SMALLINT, 2),
    ("rcrows", BIGINT, 8),
];

const COLUMNS: &[Declared] = &[
    ("id", INT, 4),
    ("number", SMALLINT, 2),
    ("colid", INT, 4),
    ("name", NVARCHAR, 256),
    ("xtype", TINYINT, 1),
    ("utype", INT, 4),
    ("length", SMALLINT, 2),
    ("prec", TINYINT, 1),
    ("scale", TINYINT, 1),
    ("collationid", INT, 4),
    ("status", INT, 4),
    ("maxinrow", SMALLINT, 2),
    ("xmlns", INT, 4),
    ("dflt", INT, 4),
    ("chk", INT, 4),
    ("idtval", VARBINARY, 64),
];

const STORED: &[Declared] = &[
    ("rsid", BIGINT, 8),
    ("rscolid", INT, 4),
    ("hbcolid", INT, 4),
    ("rcmodified", BIGINT, 8),
    ("ti", INT, 4),
    ("cid", INT, 4),
    ("ordkey", SMALLINT, 2),
    ("maxinrowlen", SMALLINT, 2),
    ("status", INT, 4),
    ("offset", INT, 4),
    ("nullbit", INT, 4),
    ("bitpos", SMALLINT, 2),
];

const VALUES: &[Declared] = &[
    ("valclass", TINYINT, 1),
    ("id", BIGINT, 8),
    ("subid", BIGINT, 8),
    ("valnum", INT, 4),
    ("value", SQL_VARIANT, 8016),
    ("imageval", VARBINARY, -1),
];

const OBJECTS: &[Declared] = &[
    ("id", INT, 4),
    ("name", NVARCHAR, 256),
    ("nsid", INT, 4),
    ("nsclass", TINYINT, 1),
    ("status", INT, 4),
    ("type", CHAR, 2),
    ("pid", INT, 4),
    ("pclass", TINYINT, 1),
    ("intprop", INT, 4),
    ("created", DATETIME, 8),
    ("modified", DATETIME, 8),
];

/// The id of a base table, its columns, and its page.
struct Base {
    id: i64,
    page: u32,
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Base {
    fn new(id: i64, page: u32, declared: &[Declared]) -> Base {
        Base {
            id,
            page,
            columns: columns(declared),
            rows: Vec::new(),
        }
    }
}

/// The base tables of a database, in the order of their pages.
struct BaseTables {
    allocation_units: Base,
    rowsets: Base,
    columns: Base,
    stored_columns: Base,
    values: Base,
    objects: Base,
}

impl BaseTables {
    fn new() -> BaseTables {
        BaseTables {
            allocation_units: Base::new(7, 16, UNITS),
            rowsets: Base::new(5, 17, ROWSETS),
            columns: Base::new(41, 18, COLUMNS),
            stored_columns: Base::new(3, 20, STORED),
            values: Base::new(9, 21, VALUES),
            objects: Base::new(34, 22, OBJECTS),
        }
    }

    fn all(&self) -> [&Base; 6] {
        [
            &self.allocation_units,
            &self.rowsets,
            &self.columns,
            &self.stored_columns,
            &self.values,
            &self.objects,
        ]
    }

    /// The base tables in themselves.
    fn describe_themselves(&mut self) {
        let described: Vec<(i64, u32, Vec<Column>)> = self
            .all()
            .iter()
            .map(|base| (base.id, base.page, base.columns.clone()))
            .collect();
        for (id, page, columns) in described {
            let unit = id << 16;
            self.add_rowset((unit, unit, unit), (id, 1), (page, 0), 0);
            self.add_columns(id, &columns);
        }
    }

    /// A rowset with its one allocation unit: ids of unit, rowset; table and index; first page and first IAM page.
    fn add_rowset(
        &mut self,
        (unit, rowset, _): (i64, i64, i64),
        (table, index): (i64, i64),
        (first, iam): (u32, u32),
        rows: i64,
    ) {
        let mut pages = vec![page_pointer(first), page_pointer(first), page_pointer(iam)];
        let mut row = vec![number(unit), number(1), number(rowset), number(0), number(1)];
        row.append(&mut pages);
        row.extend([number(1), number(1), number(1)]);
        self.allocation_units.rows.push(row);
        let ids = [rowset, 1, table, index, 1, 0, 0, rows];
        self.rowsets.rows.push(ids.map(number).to_vec());
    }

    fn add_columns(&mut self, table: i64, columns: &[Column]) {
        for (column, id) in columns.iter().zip(1i64..) {
            self.columns.rows.push(vec![
                number(table),
                number(0),
                number(id),
                text(&column.name),
                number(column.system),
                number(column.system),
                number(column.length),
                number(0),
                number(0),
                number(column.collation),
                number(!column.is_nullable),
                number(0),
                number(0),
                number(0),
                number(0),
                Cell::Null,
            ]);
        }
    }

    /// A table of users, with the place of its first page and the object part of its allocation unit.
    fn add_table(&mut self, table: &Table, at: usize) {
        let id = 2_000_000 + at as i64;
        let object = i64::from(FIRST_OBJECT) + at as i64;
        let rowset = FIRST_ROWSET + at as i64;
        let first = table_page(at);
        let iam = if table.is_heap { first + 1 } else { 0 };
        let rows = table.records.len() as i64 + table.rows_elsewhere;
        self.add_rowset(
            (object << 16, rowset, 0),
            (id, i64::from(!table.is_heap)),
            (first, iam),
            rows,
        );
        self.add_columns(id, &table.columns);
        let mut row = vec![number(id), text(&table.name), number(1), number(0), number(0)];
        row.extend([
            Cell::Bytes(b"U ".to_vec()),
            number(0),
            number(1),
            number(0),
            number(0),
            number(0),
        ]);
        self.objects.rows.push(row);
        let (mut offset, mut variable) = (4i64, 0i64);
        for (column, number_of) in table.columns.iter().zip(1i64..) {
            let place = match column.is_fixed() {
                true => {
                    offset += i64::from(column.length);
                    offset - i64::from(column.length)
                }
                false => {
                    variable -= 1;
                    variable & 0xFFFF
                }
            };
            // The number within the tree is another one than the column's id, as in SQL Server.
            let in_tree = number_of + 100;
            let fields = [rowset, number_of, in_tree, 0, 0, 0, 0, 0, 0, place, number_of, 0];
            self.stored_columns.rows.push(fields.map(number).to_vec());
            if let Some((value, image)) = &column.older {
                let mut row = vec![number(1), number(rowset), number(in_tree), number(0)];
                row.extend([value.clone(), image.clone()]);
                self.values.rows.push(row);
            }
        }
    }
}

/// The first page of the table with this place.
pub const fn table_page(at: usize) -> u32 {
    FIRST_TABLE_PAGE + 8 * at as u32
}

fn page_writer(page: u32, kind: u8, object: u32) -> PageWriter {
    let mut writer = PageWriter::new(PageId::new(1, page), kind);
    writer.put(24, &object.to_le_bytes()).put(40, &WRITTEN_LSN.to_bytes());
    writer
}

impl Database {
    pub fn new(name: &str, tables: Vec<Table>) -> Database {
        Database {
            name: name.to_owned(),
            tables,
        }
    }

    /// Its pages that are not empty.
    pub fn pages(&self) -> BTreeMap<u32, Box<PageBytes>> {
        let mut pages = BTreeMap::new();
        let mut base = BaseTables::new();
        base.describe_themselves();
        for (at, table) in self.tables.iter().enumerate() {
            base.add_table(table, at);
            let object = FIRST_OBJECT + at as u32;
            let mut writer = page_writer(table_page(at), 1, object);
            table.records.iter().for_each(|record| {
                writer.record(record);
            });
            pages.insert(table_page(at), writer.finish(PROTECTION));
            if table.is_heap {
                pages.insert(table_page(at) + 1, iam_page(table_page(at), object));
            }
        }
        for base in base.all() {
            write_base(base, &mut pages);
        }
        pages.insert(0, page_writer(0, 15, 0).finish(PROTECTION));
        pages.insert(9, self.boot_page());
        let used: Vec<u32> = pages.keys().copied().chain([1, 2]).collect();
        pages.insert(1, pfs_page(&used));
        pages.insert(2, gam_page(&used));
        pages
    }

    /// Its data file.
    pub fn file(&self) -> Vec<u8> {
        let mut bytes = vec![0; FILE_PAGES as usize * PAGE_BYTES];
        for (page, content) in self.pages() {
            bytes[page as usize * PAGE_BYTES..][..PAGE_BYTES].copy_from_slice(&content[..]);
        }
        bytes
    }

    fn boot_page(&self) -> Box<PageBytes> {
        let mut record = vec![0; 600];
        record[4..6].copy_from_slice(&904u16.to_le_bytes());
        record[6..8].copy_from_slice(&904u16.to_le_bytes());
        record[52..308].fill(b' ');
        let name = utf16(&self.name);
        record[52..52 + name.len()].copy_from_slice(&name);
        record[392..396].copy_from_slice(&0x3400_d008u32.to_le_bytes());
        record[516..520].copy_from_slice(&16u32.to_le_bytes());
        record[520..522].copy_from_slice(&1u16.to_le_bytes());
        let mut writer = page_writer(9, 13, 0);
        writer.record(&record);
        writer.finish(PROTECTION)
    }
}

/// The rows of a base table, on as many pages as they need, one behind the other.
fn write_base(base: &Base, pages: &mut BTreeMap<u32, Box<PageBytes>>) {
    let mut page = base.page;
    let mut writer = page_writer(page, 1, base.id as u32);
    let mut used = 96;
    for cells in &base.rows {
        let record = record(&base.columns, cells);
        if used + record.len() + 2 > PAGE_BYTES {
            let next = page + 1;
            writer.put(16, &next.to_le_bytes()).put(20, &1u16.to_le_bytes());
            pages.insert(page, writer.finish(PROTECTION));
            page = next;
            writer = page_writer(page, 1, base.id as u32);
            used = 96;
        }
        used += record.len() + 2;
        writer.record(&record);
    }
    pages.insert(page, writer.finish(PROTECTION));
}

/// An IAM page that owns the single page `page`.
fn iam_page(page: u32, object: u32) -> Box<PageBytes> {
    let mut header = vec![0; 94];
    header[2..4].copy_from_slice(&94u16.to_le_bytes());
    header[44..46].copy_from_slice(&1u16.to_le_bytes());
    header[46..50].copy_from_slice(&page.to_le_bytes());
    header[50..52].copy_from_slice(&1u16.to_le_bytes());
    let mut writer = page_writer(page + 1, 10, object);
    writer.record(&header).record(&[0; 4]);
    writer.finish(PROTECTION)
}

/// The map of extents that have changed since a full backup: page 6.
pub fn differential_map(changed: &[u32]) -> Box<PageBytes> {
    let mut bits = vec![0; 7990];
    changed
        .iter()
        .for_each(|extent| bits[*extent as usize / 8] |= 1 << (extent % 8));
    let mut writer = page_writer(6, 16, 0);
    writer.record(&[0; 94]).put(190, &[0; 4]).put(194, &bits);
    writer.finish(PROTECTION)
}

fn pfs_page(used: &[u32]) -> Box<PageBytes> {
    let mut record = vec![0; 4 + FILE_PAGES as usize];
    used.iter().for_each(|page| record[4 + *page as usize] = 0x40);
    let mut writer = page_writer(1, 11, 0);
    writer.record(&record);
    writer.finish(PROTECTION)
}

/// A bit is 1 for an extent that is free.
fn gam_page(used: &[u32]) -> Box<PageBytes> {
    let mut bits = vec![0xFF; 7992];
    used.iter()
        .for_each(|page| bits[*page as usize / 64] &= !(1 << (page / 8 % 8)));
    let mut writer = page_writer(2, 8, 0);
    writer.record(&[0; 94]).put(190, &[0; 4]).put(194, &bits[..7990]);
    writer.finish(PROTECTION)
}
