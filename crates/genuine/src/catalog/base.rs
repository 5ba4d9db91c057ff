//! The base tables: the catalog's own, which SQL Server's system views are made from.
//!
//! Three of them are known here by their columns, and lead to all others:
//!
//! ```text
//! boot record --> sysallocunits (7): which pages does a rowset have
//!                    `--> sysrowsets (5): which rowsets does a table have
//!                            `--> syscolpars (41): the columns of every table, the base tables' own among them
//! ```
//!
//! **Since SQL Server 2005 the base tables describe themselves in syscolpars** (measured in the versions 611 to 957), so every other
//! base table is read by the columns that the file says it has, whatever the release. Values of fixed length follow one another from byte 4
//! in the order of the columns, those of variable length are counted in that order, and the null bitmap is in that order: base tables are
//! never altered, so nothing was dropped or moved in them.

use super::boot::BootRecord;
use super::stored::{ColumnPlace, Compression, RowSet, StoredColumn};
use crate::fault::{Fault, Result};
use crate::page::{PageId, PageSource};
use crate::scan::for_each_row;
use crate::types::{ColumnType, SystemType, Value};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// The ids of base tables.
pub(crate) mod id {
    pub const SYSRSCOLS: i64 = 3;
    /// Until SQL Server 2005, with syshobtcolumns in place of sysrscols.
    pub const SYSROWSETCOLUMNS: i64 = 4;
    pub const SYSROWSETS: i64 = 5;
    pub const SYSALLOCUNITS: i64 = 7;
    /// SQL Server 2012 and later.
    pub const SYSSEOBJVALUES: i64 = 9;
    pub const SYSHOBTCOLUMNS: i64 = 13;
    pub const SYSFTINDS: i64 = 25;
    pub const SYSOWNERS: i64 = 27;
    pub const SYSSCHOBJS: i64 = 34;
    pub const SYSCOLPARS: i64 = 41;
    pub const SYSXPROPS: i64 = 49;
    pub const SYSSCALARTYPES: i64 = 50;
    pub const SYSIDXSTATS: i64 = 54;
    pub const SYSISCOLS: i64 = 55;
    pub const SYSOBJVALUES: i64 = 60;
    pub const SYSCLSOBJS: i64 = 64;
    pub const SYSSINGLEOBJREFS: i64 = 74;
}

/// Bytes that a catalog may take: about a hundred times the largest ones in public files. A damaged file ends here, not the machine.
const CATALOG_BYTES_MAX: usize = 1 << 28;

/// A column of a base table: name, type, bytes if the type does not say.
type Declared = (&'static str, u8, i16);

const ALLOCUNITS_COLUMNS: [Declared; 11] = [
    ("auid", 127, 8),
    ("type", 48, 1),
    ("ownerid", 127, 8),
    ("status", 56, 4),
    ("fgid", 52, 2),
    ("pgfirst", 173, 6),
    ("pgroot", 173, 6),
    ("pgfirstiam", 173, 6),
    ("pcused", 127, 8),
    ("pcdata", 127, 8),
    ("pcreserved", 127, 8),
];

const ROWSETS_COLUMNS: [Declared; 8] = [
    ("rowsetid", 127, 8),
    ("ownertype", 48, 1),
    ("idmajor", 56, 4),
    ("idminor", 56, 4),
    ("numpart", 56, 4),
    ("status", 56, 4),
    ("fgidfs", 52, 2),
    ("rcrows", 127, 8),
];

const COLPARS_COLUMNS: [Declared; 16] = [
    ("id", 56, 4),
    ("number", 52, 2),
    ("colid", 56, 4),
    ("name", 231, 256),
    ("xtype", 48, 1),
    ("utype", 56, 4),
    ("length", 52, 2),
    ("prec", 48, 1),
    ("scale", 48, 1),
    ("collationid", 56, 4),
    ("status", 56, 4),
    ("maxinrow", 52, 2),
    ("xmlns", 56, 4),
    ("dflt", 56, 4),
    ("chk", 56, 4),
    ("idtval", 165, 64),
];

/// An allocation unit of a rowset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AllocationUnit {
    pub id: u64,
    /// 1 rows, 2 large values, 3 row overflow.
    pub kind: i64,
    pub first_page: Option<PageId>,
    pub first_iam: Option<PageId>,
    pub used_pages: i64,
}

/// A row of sysrowsets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowSetRow {
    pub id: u64,
    pub object: i64,
    pub index: i64,
    pub partition: i64,
    pub status: i64,
    pub rows: i64,
    pub compression_level: i64,
}

/// A row of syscolpars: a column, or a parameter of a module.
#[derive(Clone, Debug)]
pub(crate) struct ColumnRow {
    /// 0 for a column.
    pub number: i64,
    pub id: i64,
    pub name: String,
    pub kind: ColumnType,
    pub user_type: i64,
    pub status: i64,
    pub default: i64,
    pub identity: Vec<u8>,
}

/// A row of a base table, by the names of its columns.
pub(crate) struct BaseRow<'r> {
    names: &'r [StoredColumn],
    values: Vec<Value>,
}

impl BaseRow<'_> {
    fn value(&self, name: &str) -> Option<&Value> {
        let at = self.names.iter().position(|column| column.name == name)?;
        self.values.get(at)
    }

    /// A whole number; 0 for NULL and for a column that this version does not have.
    pub fn integer(&self, name: &str) -> i64 {
        self.value(name).and_then(Value::integer).unwrap_or(0)
    }

    /// A whole number in a `sql_variant`; 0 for anything else.
    pub fn variant_integer(&self, name: &str) -> i64 {
        match self.value(name) {
            Some(Value::Variant(_, value)) => value.integer().unwrap_or(0),
            _ => 0,
        }
    }

    /// A `sql_variant`: the type of its value, and the value.
    pub fn variant(&self, name: &str) -> Option<(&ColumnType, &Value)> {
        match self.value(name) {
            Some(Value::Variant(kind, value)) => Some((kind, value)),
            _ => None,
        }
    }

    /// Text without blanks at the end; empty for NULL.
    pub fn text(&self, name: &str) -> String {
        match self.value(name) {
            Some(Value::Text(text)) => text.trim_end_matches(' ').to_owned(),
            _ => String::new(),
        }
    }

    /// Bytes; empty for NULL.
    pub fn bytes(&self, name: &str) -> &[u8] {
        match self.value(name) {
            Some(Value::Bytes(bytes)) => bytes,
            _ => &[],
        }
    }

    fn page(&self, name: &str) -> Option<PageId> {
        PageId::read(self.bytes(name), 0).filter(|page| !page.is_none())
    }
}

/// The three base tables that lead to all others, and the way to those.
pub(crate) struct BaseTables<'s> {
    source: &'s dyn PageSource,
    /// By the id of the rowset.
    pub units: HashMap<u64, Vec<AllocationUnit>>,
    /// By the id of the table.
    pub rowsets: HashMap<i64, Vec<RowSetRow>>,
    /// By the id of the table, in the order of their ids.
    pub columns: HashMap<i64, Vec<ColumnRow>>,
    bytes_left: usize,
}

impl<'s> BaseTables<'s> {
    /// Reads the three.
    pub fn open(source: &'s dyn PageSource, boot: &BootRecord) -> Result<BaseTables<'s>> {
        let mut tables = BaseTables {
            source,
            units: HashMap::new(),
            rowsets: HashMap::new(),
            columns: HashMap::new(),
            bytes_left: CATALOG_BYTES_MAX,
        };
        tables.read_units(boot)?;
        tables.read_rowsets()?;
        tables.read_columns()?;
        Ok(tables)
    }

    fn read_units(&mut self, boot: &BootRecord) -> Result<()> {
        let first = Some(boot.first_allocation_units).filter(|page| !page.is_none());
        let first = first.ok_or_else(|| Fault::whole("the boot record does not say where sysallocunits is"))?;
        let rowset = built_in(unit_id(id::SYSALLOCUNITS), first, &ALLOCUNITS_COLUMNS);
        let mut units: HashMap<u64, Vec<AllocationUnit>> = HashMap::new();
        self.rows(&rowset, &mut |row| {
            let unit = AllocationUnit {
                id: row.integer("auid").cast_unsigned(),
                kind: row.integer("type"),
                first_page: row.page("pgfirst"),
                first_iam: row.page("pgfirstiam"),
                used_pages: row.integer("pcused"),
            };
            units
                .entry(row.integer("ownerid").cast_unsigned())
                .or_default()
                .push(unit);
        })?;
        self.units = units;
        Ok(())
    }

    fn read_rowsets(&mut self) -> Result<()> {
        let unit = unit_id(id::SYSROWSETS);
        let first = self.first_page(unit, "sysrowsets")?;
        // What the first eight columns are is known; later versions have more, of which one is wanted.
        let mut rowset = built_in(unit, first, &ROWSETS_COLUMNS);
        let level = stored("cmprlevel", ("cmprlevel", 48, 1), 39, 9);
        rowset.columns.push(level);
        let mut rowsets: HashMap<i64, Vec<RowSetRow>> = HashMap::new();
        self.rows(&rowset, &mut |row| {
            let rowset = RowSetRow {
                id: row.integer("rowsetid").cast_unsigned(),
                object: row.integer("idmajor"),
                index: row.integer("idminor"),
                partition: row.integer("numpart"),
                status: row.integer("status"),
                rows: row.integer("rcrows"),
                compression_level: row.integer("cmprlevel"),
            };
            rowsets.entry(rowset.object).or_default().push(rowset);
        })?;
        self.rowsets = rowsets;
        Ok(())
    }

    fn read_columns(&mut self) -> Result<()> {
        let rowset = self.located(id::SYSCOLPARS, declared(&COLPARS_COLUMNS))?;
        let mut columns: HashMap<i64, Vec<ColumnRow>> = HashMap::new();
        self.rows(&rowset, &mut |row| {
            let column = ColumnRow {
                number: row.integer("number"),
                id: row.integer("colid"),
                name: row.text("name"),
                kind: ColumnType {
                    system: SystemType::of(u8::try_from(row.integer("xtype")).unwrap_or(0)),
                    length_bytes: i16::try_from(row.integer("length")).unwrap_or(0),
                    precision: u8::try_from(row.integer("prec")).unwrap_or(0),
                    scale: u8::try_from(row.integer("scale")).unwrap_or(0),
                    collation: low_word(row.integer("collationid")),
                },
                user_type: row.integer("utype"),
                status: row.integer("status"),
                default: row.integer("dflt"),
                identity: row.bytes("idtval").to_vec(),
            };
            columns.entry(row.integer("id")).or_default().push(column);
        })?;
        for of_table in columns.values_mut() {
            of_table.sort_by_key(|column| (column.number, column.id));
        }
        self.columns = columns;
        Ok(())
    }

    /// Visits every row of the base table `table`. A version that does not have the table has no rows.
    pub fn each(&mut self, table: i64, visit: &mut dyn FnMut(&BaseRow<'_>)) -> Result<()> {
        if !self.rowsets.contains_key(&table) {
            return Ok(());
        }
        let Some(described) = self.columns.get(&table) else {
            return Err(Fault::whole(format!(
                "syscolpars has no columns of the base table {table}"
            )));
        };
        let columns = packed(described.iter().map(|column| (column.name.clone(), column.kind)));
        let rowset = self.located(table, columns)?;
        self.rows(&rowset, visit)
    }

    fn rows(&mut self, rowset: &RowSet, visit: &mut dyn FnMut(&BaseRow<'_>)) -> Result<()> {
        let mut wrong = None;
        let bytes_left = &mut self.bytes_left;
        for_each_row(self.source, rowset, &mut |row| {
            let row = row.and_then(|values| {
                let bytes = values.iter().map(kept_bytes).sum();
                *bytes_left = bytes_left
                    .checked_sub(bytes)
                    .ok_or_else(|| Fault::whole("the catalog is larger than any known one: it is taken for damaged"))?;
                Ok(values)
            });
            match row {
                Ok(values) => {
                    visit(&BaseRow {
                        names: &rowset.columns,
                        values,
                    });
                    ControlFlow::Continue(())
                }
                Err(fault) => {
                    wrong = Some(fault);
                    ControlFlow::Break(())
                }
            }
        });
        wrong.map_or(Ok(()), Err)
    }

    fn located(&self, table: i64, columns: Vec<StoredColumn>) -> Result<RowSet> {
        let rowset = self
            .rowsets
            .get(&table)
            .and_then(|rowsets| rowsets.iter().find(|row| row.index == 1));
        let rowset = rowset.ok_or_else(|| Fault::whole(format!("sysrowsets does not have the base table {table}")))?;
        Ok(self.rowset(rowset, columns))
    }

    /// A rowset with its pages.
    pub fn rowset(&self, row: &RowSetRow, columns: Vec<StoredColumn>) -> RowSet {
        let units = self.units.get(&row.id).map_or(&[][..], Vec::as_slice);
        let rows = units.iter().find(|unit| unit.kind == 1);
        RowSet {
            id: row.id,
            partition: row.partition,
            is_heap: row.index == 0,
            compression: Compression::of(row.compression_level),
            catalog_rows: row.rows,
            allocation_unit: rows.map_or(0, |unit| unit.id),
            first_page: rows.and_then(|unit| unit.first_page),
            first_iam: rows.and_then(|unit| unit.first_iam),
            used_pages: units.iter().map(|unit| unit.used_pages).fold(0, i64::saturating_add),
            columns,
        }
    }

    fn first_page(&self, unit: u64, name: &str) -> Result<PageId> {
        let units = self.units.values().flatten();
        let page = units.filter(|each| each.id == unit).find_map(|each| each.first_page);
        page.ok_or_else(|| Fault::whole(format!("sysallocunits does not say where {name} is")))
    }
}

/// Bytes that the catalog takes for a value.
fn kept_bytes(value: &Value) -> usize {
    size_of::<Value>()
        + match value {
            Value::Text(text) => text.len(),
            Value::Bytes(bytes) => bytes.len(),
            _ => 0,
        }
}

/// The collation of a column, or any other word that the catalog has as a number with a sign.
pub(crate) fn low_word(number: i64) -> u32 {
    (number & 0xFFFF_FFFF) as u32
}

/// The allocation unit of the base tables that come first is their id.
fn unit_id(table: i64) -> u64 {
    table.cast_unsigned() << 16
}

fn declared(columns: &[Declared]) -> Vec<StoredColumn> {
    packed(
        columns
            .iter()
            .map(|column| (column.0.to_owned(), declared_type(*column))),
    )
}

fn declared_type((_, number, length_bytes): Declared) -> ColumnType {
    ColumnType {
        system: SystemType::of(number),
        length_bytes,
        precision: 0,
        scale: 0,
        collation: 0,
    }
}

fn built_in(unit: u64, first_page: PageId, columns: &[Declared]) -> RowSet {
    RowSet {
        id: unit,
        partition: 1,
        is_heap: false,
        compression: Compression::None,
        catalog_rows: 0,
        allocation_unit: unit,
        first_page: Some(first_page),
        first_iam: None,
        used_pages: 0,
        columns: declared(columns),
    }
}

fn stored(name: &str, column: Declared, offset: u16, null_bit: u16) -> StoredColumn {
    StoredColumn {
        name: name.to_owned(),
        id: u32::from(null_bit),
        kind: declared_type(column),
        place: ColumnPlace::Fixed(offset),
        null_bit,
        value_of_older_rows: Some(Value::Null),
    }
}

/// Columns that follow one another: see the head of this file.
fn packed(columns: impl Iterator<Item = (String, ColumnType)>) -> Vec<StoredColumn> {
    let mut offset = 4u16;
    let mut variable = 0;
    let mut packed = Vec::new();
    for (number, (name, kind)) in (1u16..).zip(columns) {
        let place = match kind.fixed_bytes() {
            Some(length) => {
                let place = ColumnPlace::Fixed(offset);
                offset = offset.saturating_add(u16::try_from(length).unwrap_or(u16::MAX));
                place
            }
            None => {
                variable += 1;
                ColumnPlace::Variable(variable - 1)
            }
        };
        packed.push(StoredColumn {
            name,
            id: u32::from(number),
            kind,
            place,
            null_bit: number,
            value_of_older_rows: Some(Value::Null),
        });
    }
    packed
}
