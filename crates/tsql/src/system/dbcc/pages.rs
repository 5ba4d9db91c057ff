//! DBCC IND: the pages of a table's heap and indexes, undocumented, with the columns of published outputs (SQL Server Storage Engine blog,
//! "More undocumented fun: DBCC IND, DBCC PAGE, and off-row columns").
//!
//! | third argument | pages |
//! |---|---|
//! | 0 | the rows' own, and their allocation pages |
//! | 1 | all of the heap or clustered index, large values too |
//! | -1 | all of the table |
//! | -2 | allocation pages alone |
//! | another | all of that index |
//!
//! Extent lists are shown as what they are for: IAM pages, type 10.

use std::sync::Arc;

use engine::catalog::StorageRoot;
use engine::database::{Database, object_root};
use engine::error::Result;
use engine::page::{PageId, PageKind};
use engine::store::{LargeKind, UnitPages};
use engine::types::{Length, SqlType, Value};

use super::super::Host;
use super::Command;
use crate::sink::ResultColumn;
use crate::views::RowStream;
use crate::views::units::{Unit, page_type, roots};

const COLUMNS: [(&str, SqlType); 15] = [
    ("PageFID", SqlType::TinyInt),
    ("PagePID", SqlType::Int),
    ("IAMFID", SqlType::TinyInt),
    ("IAMPID", SqlType::Int),
    ("ObjectID", SqlType::Int),
    ("IndexID", SqlType::Int),
    ("PartitionNumber", SqlType::Int),
    ("PartitionID", SqlType::BigInt),
    ("iam_chain_type", SqlType::VarChar(Length::Limited(20))),
    ("PageType", SqlType::TinyInt),
    ("IndexLevel", SqlType::TinyInt),
    ("NextPageFID", SqlType::TinyInt),
    ("NextPagePID", SqlType::Int),
    ("PrevPageFID", SqlType::TinyInt),
    ("PrevPagePID", SqlType::Int),
];

/// Which pages are wanted.
#[derive(Clone, Copy)]
struct Wanted(i64);

impl Wanted {
    fn has_index(self, index_id: u32) -> bool {
        match self.0 {
            -1 | -2 => true,
            0 | 1 => index_id <= 1,
            other => other == i64::from(index_id),
        }
    }

    fn has_large(self) -> bool {
        self.0 != 0
    }

    fn has_pages(self) -> bool {
        self.0 != -2
    }

    fn has_level(self, level: u8) -> bool {
        self.0 != 0 || level == 0
    }
}

/// `DBCC IND (database, table, index)`.
pub(super) fn list(command: &Command<'_>, host: &mut dyn Host) -> Result<()> {
    if command.arguments.len() < 3 {
        return Err(crate::messages::dbcc_argument_count());
    }
    let wanted = command.integer(2).filter(|index| *index >= -2);
    let wanted = Wanted(wanted.ok_or_else(|| super::incorrect_parameter(2))?);
    let database = command.database(0)?;
    let written = command.text(1).unwrap_or_default();
    let session = command.context.session_id;
    let object = match written.parse::<u32>() {
        Ok(id) => database.catalog.by_id(id, session),
        Err(_) => {
            let name = crate::ast::Name::parse(&written).ok_or_else(|| super::no_object(&written))?;
            let schema = name.schema().unwrap_or("dbo");
            database.catalog.find(schema, name.object(), session)
        }
    };
    let object = object.ok_or_else(|| super::no_object(&written))?;
    let found: Vec<(StorageRoot, Unit)> = roots(&object)
        .into_iter()
        .filter(|(_, unit)| wanted.has_index(unit.index_id))
        .collect();
    if found.is_empty() {
        return Err(super::no_object(&written));
    }
    let columns: Vec<ResultColumn> = COLUMNS
        .iter()
        .map(|(name, sql_type)| ResultColumn::new(name, *sql_type))
        .collect();
    let _in_use = command.context.engine.borrow().hold(&database)?;
    let mut listed = Listed {
        database,
        wanted,
        roots: found.into_iter(),
        units: Vec::new().into_iter(),
        unit: None,
    };
    host.stream(&columns, &mut listed)
}

/// The rows to come.
struct Listed {
    database: Arc<Database>,
    wanted: Wanted,
    roots: std::vec::IntoIter<(StorageRoot, Unit)>,
    units: std::vec::IntoIter<(UnitPages, Unit)>,
    unit: Option<Listing>,
}

/// A unit being listed: its lists, then its pages.
struct Listing {
    of: Unit,
    large: Option<LargeKind>,
    pages: std::vec::IntoIter<(PageId, PageId)>,
}

impl RowStream for Listed {
    fn next(&mut self) -> Result<Option<Vec<Value>>> {
        loop {
            while let Some((page, list)) = self.unit.as_mut().and_then(|unit| unit.pages.next()) {
                if let Some(row) = self.row(page, list)? {
                    return Ok(Some(row));
                }
            }
            if !self.next_unit()? {
                return Ok(None);
            }
        }
    }
}

impl Listed {
    fn next_unit(&mut self) -> Result<bool> {
        loop {
            if let Some((mut pages, of)) = self.units.next() {
                let lists = std::mem::take(&mut pages.lists).into_iter();
                let mut all: Vec<(PageId, PageId)> = lists.map(|list| (list, PageId::NONE)).collect();
                if self.wanted.has_pages() {
                    all.append(&mut pages.pages);
                }
                self.unit = Some(Listing {
                    of,
                    large: pages.large,
                    pages: all.into_iter(),
                });
                return Ok(true);
            }
            let Some((root, of)) = self.roots.next() else {
                return Ok(false);
            };
            let (storage, space) = (&self.database.storage, &self.database.space);
            let mut units = space.pages_of_units(storage, object_root(&root))?;
            units.retain(|unit| unit.large.is_none() || self.wanted.has_large());
            let units: Vec<(UnitPages, Unit)> = units.into_iter().map(|unit| (unit, of.clone())).collect();
            self.units = units.into_iter();
        }
    }

    /// The row of a page; `None` for one that is not wanted, or not a page of the unit any more.
    fn row(&self, page: PageId, list: PageId) -> Result<Option<Vec<Value>>> {
        let Some(Listing { of, large, .. }) = &self.unit else {
            return Ok(None);
        };
        let storage = &self.database.storage;
        let read = storage.pool.read(storage.id, page)?;
        let view = read.view();
        let is_list = list.is_none();
        if view.kind() == Some(PageKind::Free) || !is_list && !self.wanted.has_level(view.level()) {
            return Ok(None);
        }
        let (file, number) = place(page);
        let (list_file, list_number) = match is_list {
            true => (Value::Null, Value::Null),
            false => place(list),
        };
        let (next_file, next) = place(view.next());
        // The link of a list to the one before it leads to the units beside it, which SQL Server's does not.
        let (previous_file, previous) = place(if is_list { PageId::NONE } else { view.previous() });
        let level = if is_list { 0 } else { view.level() };
        Ok(Some(vec![
            file,
            number,
            list_file,
            list_number,
            i32::try_from(of.object_id()).unwrap_or(i32::MAX).into(),
            i32::try_from(of.index_id).unwrap_or(i32::MAX).into(),
            1.into(),
            of.partition.into(),
            chain_type(*large).into(),
            Value::TinyInt(page_type(view.kind(), Some(of.kind))),
            Value::TinyInt(level),
            next_file,
            next,
            previous_file,
            previous,
        ]))
    }
}

fn chain_type(large: Option<LargeKind>) -> &'static str {
    match large {
        None => "In-row data",
        Some(LargeKind::Lob) => "LOB data",
        Some(LargeKind::RowOverflow) => "Row-overflow data",
    }
}

/// File and number of a page.
fn place(page: PageId) -> (Value, Value) {
    (
        Value::TinyInt(u8::try_from(page.file).unwrap_or(u8::MAX)),
        i32::try_from(page.page).unwrap_or(i32::MAX).into(),
    )
}
