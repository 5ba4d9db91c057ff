//! DBCC PAGE: one page as it is in memory, undocumented, in SQL Server's arrangement (blogs.msdn "Using DBCC PAGE"; Paul Randal, "How to
//! use DBCC PAGE").
//!
//! | level | shown |
//! |---|---|
//! | 0 | the header, and whether its extent is in use |
//! | 1 | each row's bytes as well |
//! | 2 | all bytes of the page, and the slots |
//! | 3 | each row's bytes and columns; of an index its keys |
//!
//! The text goes to the client if trace flag 3604 is on, as in SQL Server; WITH TABLERESULTS sends rows without it. Fields have SQL
//! Server's names if our header has an equivalent (`page/mod.rs` of the engine draws it). Instead of the page's address in memory, its
//! place in the file is shown.

use std::fmt::Write as _;
use std::sync::Arc;

use engine::database::Database;
use engine::error::{Error, Result};
use engine::page::{PAGE_BYTES, PageBytes, PageId, PageKind, PageRef, ROW_FORWARDED, ROW_GHOST, ROW_STUB, checksums};
use engine::session::Table as StoredTable;
use engine::store::StoredRow;
use engine::types::{Length, RowLayout, SqlType, Stored, Value};

use super::super::{Host, Table};
use super::Command;
use crate::scalar::convert::convert;
use crate::views::units::{Unit, UnitKind, Units, page_type};

/// Trace flag: what DBCC prints goes to the client.
const TO_CLIENT: u16 = 3604;
const TEXT: SqlType = SqlType::NVarChar(Length::Limited(4000));
/// Fields of the header in one line.
const FIELDS_PER_LINE: usize = 3;
const FIELD_WIDTH: usize = 36;
/// Bytes in one line of a dump.
const DUMP_BYTES: usize = 20;
/// A message that is longer is sent in pieces.
const MESSAGE_BYTES: usize = 8_000;

/// What is shown, in order.
#[derive(Default)]
pub(super) struct Shown {
    parent: String,
    object: String,
    entries: Vec<Entry>,
}

struct Entry {
    parent: String,
    object: String,
    /// Empty for a line of a dump.
    field: String,
    value: String,
}

impl Shown {
    pub(super) fn under(&mut self, parent: &str, object: String) {
        parent.clone_into(&mut self.parent);
        self.object = object;
    }

    pub(super) fn field(&mut self, field: &str, value: impl std::fmt::Display) {
        self.entries.push(Entry {
            parent: self.parent.clone(),
            object: self.object.clone(),
            field: field.to_owned(),
            value: value.to_string(),
        });
    }

    /// Bytes in lines of their own: place, words in hexadecimal, characters.
    fn dump(&mut self, bytes: &[u8]) {
        for (line, bytes) in bytes.chunks(DUMP_BYTES).enumerate() {
            let mut text = format!("{:016X}:   ", line * DUMP_BYTES);
            for word in bytes.chunks(4) {
                word.iter().for_each(|byte| {
                    let _ = write!(text, "{byte:02x}");
                });
                text.push(' ');
            }
            let width = 20 + DUMP_BYTES / 4 * 9;
            let characters = bytes.iter().map(|byte| match byte {
                0x20..=0x7E => char::from(*byte),
                _ => '.',
            });
            let text = format!("{text:<width$}{}", characters.collect::<String>());
            self.field("", text);
        }
    }

    fn text(&self) -> String {
        let (mut text, mut parent, mut object, mut in_line) = (String::new(), "", "", 0);
        for entry in &self.entries {
            if entry.parent != parent {
                let _ = write!(text, "\n\n{}\n\n", entry.parent);
                (parent, object, in_line) = (&entry.parent, "", 0);
            }
            if entry.object != object {
                let _ = write!(text, "\n{}\n\n", entry.object);
                (object, in_line) = (&entry.object, 0);
            }
            if entry.field.is_empty() {
                let _ = writeln!(text, "{}", entry.value);
                continue;
            }
            let field = format!("{} = {}", entry.field, entry.value);
            in_line += 1;
            match in_line % FIELDS_PER_LINE {
                0 => {
                    let _ = writeln!(text, "{field}");
                }
                _ => {
                    let _ = write!(text, "{field:<FIELD_WIDTH$}");
                }
            }
        }
        text
    }
}

/// `DBCC PAGE (database, file, page [, level]) [WITH TABLERESULTS]`.
pub(super) fn show(command: &Command<'_>, host: &mut dyn Host) -> Result<()> {
    if command.arguments.len() < 3 {
        return Err(crate::messages::dbcc_argument_count());
    }
    let number = |place: usize| command.integer(place).ok_or_else(|| super::incorrect_parameter(place));
    let level = if command.arguments.len() > 3 { number(3)? } else { 0 };
    if !(0..=3).contains(&level) {
        return Err(super::incorrect_parameter(3));
    }
    let database = command.database(0)?;
    let (file, page) = (number(1)?, number(2)?);
    let in_range = u16::try_from(file).ok().zip(u32::try_from(page).ok());
    let id = in_range
        .map(|(file, page)| PageId::new(file, page))
        .filter(|id| id.page < database.storage.files.page_count(id.file))
        .ok_or_else(|| out_of_range(file, page, &database))?;
    let _in_use = command.context.engine.borrow().hold(&database)?;
    // A copy: large values are read while the page may change.
    let bytes: Box<PageBytes> = {
        let read = database.storage.pool.read(database.storage.id, id)?;
        Box::new(*read.view().bytes())
    };
    let mut units = Units::of(&database, command.context.session_id);
    let unit = units.find(PageRef::new(&bytes).object())?.cloned();
    let page = Page {
        id,
        view: PageRef::new(&bytes),
        unit,
    };
    let has_rows = command
        .statement
        .options
        .iter()
        .any(|option| option.name == "TABLERESULTS");
    if level == 3 && page.is_index() {
        let shown = page.shown(&database, 0)?;
        send(&shown, has_rows, command, host)?;
        return page.send_keys(host);
    }
    send(&page.shown(&database, level)?, has_rows, command, host)
}

/// 8968 (sql-docs, list of system messages).
fn out_of_range(file: i64, page: i64, database: &Database) -> Error {
    let text = format!(
        "Table error: DBCC PAGE page ({file}:{page}) (object ID 0, index ID 0, partition ID 0, alloc unit ID 0) is out of the range of \
         database '{}'.",
        database.name()
    );
    Error::new(8968, 16, 1, text)
}

pub(super) fn send(shown: &Shown, has_rows: bool, command: &Command<'_>, host: &mut dyn Host) -> Result<()> {
    if has_rows {
        let mut table = Table::new(&[
            ("ParentObject", TEXT),
            ("Object", TEXT),
            ("Field", TEXT),
            ("VALUE", TEXT),
        ]);
        for entry in &shown.entries {
            table.push(vec![
                entry.parent.as_str().into(),
                entry.object.as_str().into(),
                entry.field.as_str().into(),
                entry.value.chars().take(4000).collect::<String>().into(),
            ]);
        }
        return table.send(host);
    }
    if !command.context.instance.env.activity.is_on(TO_CLIENT) {
        return Ok(());
    }
    let text = shown.text();
    let mut piece = String::new();
    for line in text.lines() {
        if piece.len() + line.len() > MESSAGE_BYTES {
            host.message(&Error::new(0, 0, 1, std::mem::take(&mut piece)))?;
        }
        piece.push_str(line);
        piece.push('\n');
    }
    host.message(&Error::new(0, 0, 1, piece))
}

/// A page, and whose it is.
struct Page<'p> {
    id: PageId,
    view: PageRef<'p>,
    unit: Option<Unit>,
}

impl Page<'_> {
    /// Whether its rows are keys of an index rather than rows of a table.
    fn is_index(&self) -> bool {
        let is_nonclustered = self
            .unit
            .as_ref()
            .is_some_and(|unit| unit.kind == UnitKind::Nonclustered);
        match self.view.kind() {
            Some(PageKind::TreeBranch) => true,
            Some(PageKind::TreeLeaf) => is_nonclustered,
            _ => false,
        }
    }

    fn shown(&self, database: &Arc<Database>, level: i64) -> Result<Shown> {
        let mut shown = Shown {
            parent: String::new(),
            object: String::new(),
            entries: Vec::new(),
        };
        self.header(database, &mut shown);
        match level {
            1 => self.rows(None, &mut shown)?,
            2 => {
                shown.under("DATA:", "Memory Dump".to_owned());
                shown.dump(self.view.bytes());
                self.slots(&mut shown);
            }
            3 => {
                let object = self.unit.as_ref().and_then(|unit| unit.table.clone());
                let is_of_table = matches!(self.view.kind(), Some(PageKind::Heap | PageKind::TreeLeaf));
                let table = match object.filter(|_| is_of_table) {
                    Some(object) => Some(StoredTable::open(database, &object)?),
                    None => None,
                };
                self.rows(table.as_ref(), &mut shown)?;
            }
            _ => {}
        }
        Ok(shown)
    }

    fn header(&self, database: &Database, shown: &mut Shown) {
        let (view, id) = (self.view, self.id);
        shown.under("BUFFER:", format!("BUF @{id}"));
        shown.field("bpageno", id);
        shown.field("bdbid", database.id);
        shown.under("PAGE HEADER:", format!("Page @{id}"));
        let kind = self.unit.as_ref().map(|unit| unit.kind);
        let (index, object) = self
            .unit
            .as_ref()
            .map_or((0, 0), |unit| (unit.index_id, unit.object_id()));
        shown.field("m_pageId", view.id());
        shown.field("m_headerVersion", view.version());
        shown.field("m_type", page_type(view.kind(), kind));
        shown.field("m_typeFlagBits", "0x0");
        shown.field("m_level", view.level());
        // Every page has a checksum.
        shown.field("m_flagBits", "0x200");
        shown.field("m_objId (AllocUnitId.idObj)", view.object());
        shown.field("m_indexId (AllocUnitId.idInd)", index);
        if let Some(unit) = &self.unit {
            shown.field("Metadata: AllocUnitId", unit.id);
            shown.field("Metadata: PartitionId", unit.partition);
            shown.field("Metadata: IndexId", index);
            shown.field("Metadata: ObjectId", object);
        }
        shown.field("m_prevPage", view.previous());
        shown.field("m_nextPage", view.next());
        shown.field("m_slotCnt", view.slot_count());
        shown.field("m_freeCnt", view.contiguous_free() + usize::from(view.hole_bytes()));
        shown.field("m_freeData", view.free_offset());
        shown.field("m_reservedCnt", view.reserved_bytes());
        shown.field("m_lsn", format!("({})", view.lsn().to_decimal()));
        shown.field("m_ghostRecCnt", view.ghost_count());
        shown.field("m_tornBits", checksums(view.bytes()).0 as i32);
        shown.under("PAGE HEADER:", "Allocation Status".to_owned());
        let state = if database.space.is_in_use(id) {
            "ALLOCATED"
        } else {
            "NOT ALLOCATED"
        };
        shown.field("GAM", state);
    }

    fn slots(&self, shown: &mut Shown) {
        shown.under("OFFSET TABLE:", "Row - Offset".to_owned());
        let bytes = self.view.bytes();
        for slot in (0..self.view.slot_count()).rev() {
            let at = PAGE_BYTES - 2 * (usize::from(slot) + 1);
            let offset = u16::from_le_bytes([bytes[at], bytes[at + 1]]);
            shown.field("", format!("{slot} (0x{slot:x}) - {offset} (0x{offset:x})"));
        }
    }

    /// Each row's bytes; with a table its columns too.
    fn rows(&self, table: Option<&StoredTable>, shown: &mut Shown) -> Result<()> {
        let page = self.view.bytes().as_ptr() as usize;
        for (slot, row) in self.view.rows() {
            engine::cancel::spend(1)?;
            let offset = (row.as_ptr() as usize).saturating_sub(page);
            let object = format!("Slot {slot} Offset 0x{offset:x} Length {}", row.len());
            shown.under("DATA:", object.clone());
            let status = row.first().copied().unwrap_or_default();
            shown.field("Record Type", record_type(status, self.view.kind()));
            shown.field("Record Size", row.len());
            shown.dump(row);
            let kind = self.view.kind().unwrap_or(PageKind::Free);
            let payload = match (table, StoredRow::parse(kind, row)) {
                (Some(_), Some(StoredRow::Heap(payload) | StoredRow::Tree(_, payload))) => payload,
                (Some(_), Some(StoredRow::Forwarded(home, payload))) => {
                    shown.field(
                        "Forwarded from",
                        format!("file {} page {} slot {}", home.page.file, home.page.page, home.slot),
                    );
                    payload
                }
                (Some(_), Some(StoredRow::Stub(target))) => {
                    shown.field(
                        "Forwarding to",
                        format!(
                            "file {} page {} slot {}",
                            target.page.file, target.page.page, target.slot
                        ),
                    );
                    continue;
                }
                _ => continue,
            };
            if let Some(table) = table {
                columns(table, (row, payload), &object, shown)?;
            }
        }
        Ok(())
    }

    /// Level 3 of an index: rows of keys, as SQL Server answers it.
    fn send_keys(&self, host: &mut dyn Host) -> Result<()> {
        let mut table = Table::new(&[
            ("FileId", SqlType::Int),
            ("PageId", SqlType::Int),
            ("Row", SqlType::Int),
            ("Level", SqlType::Int),
            ("ChildFileId", SqlType::Int),
            ("ChildPageId", SqlType::Int),
            ("Key", SqlType::VarBinary(Length::Limited(8000))),
            ("Row Size", SqlType::Int),
        ]);
        let kind = self.view.kind().unwrap_or(PageKind::Free);
        for (slot, row) in self.view.rows() {
            let Some(StoredRow::Tree(key, payload)) = StoredRow::parse(kind, row) else {
                continue;
            };
            let child = match kind {
                PageKind::TreeBranch => payload.first_chunk().map(|bytes| PageId::from_bytes(*bytes)),
                _ => None,
            };
            let whole = |number: u32| Value::from(i32::try_from(number).unwrap_or(i32::MAX));
            table.push(vec![
                i32::from(self.id.file).into(),
                whole(self.id.page),
                i32::from(slot).into(),
                i32::from(self.view.level()).into(),
                child.map_or(Value::Null, |child| i32::from(child.file).into()),
                child.map_or(Value::Null, |child| whole(child.page)),
                Value::binary(key),
                whole(row.len() as u32),
            ]);
        }
        table.send(host)
    }
}

fn record_type(status: u8, kind: Option<PageKind>) -> &'static str {
    match kind {
        Some(PageKind::TreeBranch) => "INDEX_RECORD",
        Some(PageKind::LargeData | PageKind::LargeBranch) => "BLOB_FRAGMENT",
        _ if status & ROW_GHOST != 0 => "GHOST_DATA_RECORD",
        _ if status & ROW_STUB != 0 => "FORWARDING_STUB",
        _ if status & ROW_FORWARDED != 0 => "FORWARDED_RECORD",
        _ => "PRIMARY_RECORD",
    }
}

fn columns(table: &StoredTable, (row, payload): (&[u8], &[u8]), object: &str, shown: &mut Shown) -> Result<()> {
    let layout: &RowLayout = table.layout();
    let values = layout.columns(payload)?;
    for (place, column) in table.definition().columns.iter().enumerate() {
        let Some(sql_type) = layout.column_type(place) else {
            continue;
        };
        let (offset, length) = match values.stored(place)? {
            Stored::InRow(bytes) => (
                (bytes.as_ptr() as usize).saturating_sub(row.as_ptr() as usize),
                bytes.len(),
            ),
            Stored::OffRow(bytes) => (
                (bytes.as_ptr() as usize).saturating_sub(row.as_ptr() as usize),
                bytes.len(),
            ),
            Stored::Null => (0, 0),
        };
        let value = values.value(place)?;
        let text = match value {
            Value::Null => "[NULL]".to_owned(),
            value => {
                let text = convert(&value, sql_type, SqlType::NVarChar(Length::Max), None);
                let text = text.ok().and_then(|text| text.as_str().map(str::to_owned));
                text.unwrap_or_else(|| "(cannot be shown)".to_owned())
            }
        };
        shown.under(
            object,
            format!(
                "Slot {} Column {} Offset 0x{offset:x} Length {length} Length (physical) {length}",
                object.split(' ').nth(1).unwrap_or_default(),
                place + 1
            ),
        );
        shown.field(&column.name, text);
    }
    Ok(())
}
