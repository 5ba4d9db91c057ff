//! Rows with off-row columns, as a table writes them: which columns move off-row, and which pages an update keeps or frees.
//!
//! ```text
//! row fits                        as it is: nothing here has a part in it
//! row does not fit                the longest columns move until it does (511 when that is not enough)
//! an update leaves a column alone its place stays in the row
//! an update changes it, a delete  the row changes first, then the pages of the former value are given up
//! ```
//! A row must fit on its page together with its key. A row with off-row columns also leaves 14 bytes free for a version pointer.
//!
//! An index that carries an off-row column stores its place, too. The value belongs to the row, and every entry that refers to it changes
//! with the row.

use super::Session;
use super::table::{Rows, Table};
use crate::catalog::{IndexDefinition, TableDefinition};
use crate::database::Database;
use crate::error::{Error, Result};
use crate::lock::{LockOwner, Mode};
use crate::page::ObjectId;
use crate::store::{
    BuiltRow, LargeKind, LargeUnit, LargeValue, ObjectRoot, ReadMode, RowLocator, StoreContext, UnitsBeside,
    give_up_value, read_value, write_held, write_value,
};
use crate::types::off_row::{ReadOffRow, is_unlimited, may_move};
use crate::types::{HeldForm, HeldSource, HeldValue, ROW_BYTES_MAX, RowLayout, SqlType, Value};
use std::fmt;
use std::sync::Arc;

/// Bytes of a row on a page, less those of a version pointer and of what a tree's row has in front of its key.
const TREE_ROW_BYTES_MAX: usize = crate::page::ROW_BYTES_MAX - 14 - 3;
/// The status bytes that a row's length counts.
const STATUS_BYTES: usize = 2;

/// The number of the error for a row that is too long.
const TOO_LONG: i32 = 511;

/// The columns of a row that lie outside of it, by number, with their places.
pub(super) type Places = Vec<(usize, Vec<u8>)>;

/// A table whose rows may have columns outside of them.
pub(super) struct LargeColumns {
    beside: Arc<UnitsBeside>,
    /// TEXTIMAGE_ON: the filegroup of values of unlimited types.
    lob_filegroup: Option<u16>,
}

/// A row to be written, and what of it lies outside.
pub(super) struct Built {
    pub row: BuiltRow,
    pub places: Places,
}

/// Reads the values of one table.
struct Reader {
    database: Arc<Database>,
    /// Of every partition.
    beside: Vec<Arc<UnitsBeside>>,
}

impl Reader {
    fn units(&self) -> Vec<ObjectId> {
        self.beside.iter().flat_map(|beside| beside.ids()).collect()
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Reader")
            .field("database", &self.database.id)
            .finish_non_exhaustive()
    }
}

impl ReadOffRow for Reader {
    fn read(&self, place: &[u8]) -> Result<Vec<u8>> {
        read_value(&self.database.storage, &self.units(), place)
    }

    fn hold(&self, place: &[u8]) -> Result<Arc<dyn HeldSource>> {
        Ok(Arc::new(HeldOnPages {
            database: self.database.clone(),
            units: self.units(),
            value: LargeValue::at(&self.database.storage, place)?,
        }))
    }
}

/// A value that is read from its pages in parts.
struct HeldOnPages {
    database: Arc<Database>,
    units: Vec<ObjectId>,
    value: LargeValue,
}

impl fmt::Debug for HeldOnPages {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HeldOnPages")
            .field("database", &self.database.id)
            .finish_non_exhaustive()
    }
}

impl HeldSource for HeldOnPages {
    fn read(&self, at: u64, into: &mut [u8]) -> Result<()> {
        self.value.read(&self.database.storage, &self.units, at, into)
    }
}

/// The unit that the values of a column go to.
fn kind_of(sql_type: Option<SqlType>) -> LargeKind {
    match sql_type.is_some_and(is_unlimited) {
        true => LargeKind::Lob,
        false => LargeKind::RowOverflow,
    }
}

/// The bytes of the longest row of a table beside those of its fixed columns; `None` when there is no limit.
fn variable_bytes_max(definition: &TableDefinition) -> Option<usize> {
    let variable = definition
        .columns
        .iter()
        .filter(|column| column.sql_type.fixed_bytes().is_none());
    variable
        .map(|column| match is_unlimited(column.sql_type) {
            // What the catalog shows as the length of text and its kin is that of a pointer.
            true => None,
            false => usize::try_from(column.sql_type.max_length()).ok(),
        })
        .sum()
}

/// Whether rows of a table may have columns outside of them: there are such that may move, and the longest row does not fit.
fn may_exceed_page(definition: &TableDefinition, layout: &RowLayout) -> bool {
    let has_movable = definition.columns.iter().any(|column| may_move(column.sql_type));
    let Some(variable) = variable_bytes_max(definition).filter(|_| has_movable) else {
        return has_movable;
    };
    let row = layout.row_bytes_min() + variable;
    // Keys of strings are weights, which may be longer; they are never longer than a tree takes.
    let key = definition.clustered().map_or(0, |_| crate::store::KEY_BYTES_MAX);
    row + STATUS_BYTES > ROW_BYTES_MAX || row + key > TREE_ROW_BYTES_MAX
}

impl LargeColumns {
    /// Opens what a table has of large values, and gives its layout who reads them. `None` for a table that can have none.
    ///
    /// # Errors
    /// 823 and 824 when its units cannot be read.
    pub(super) fn open(
        database: &Arc<Database>,
        definition: &TableDefinition,
        rows: ObjectRoot,
        layout: RowLayout,
    ) -> Result<(RowLayout, Option<LargeColumns>)> {
        if !may_exceed_page(definition, &layout) {
            return Ok((layout, None));
        }
        let beside = database.space.large.beside(&database.storage, rows)?;
        let reader = Reader {
            database: database.clone(),
            beside: vec![beside.clone()],
        };
        let lob_filegroup = definition.text_space.and_then(|space| u16::try_from(space).ok());
        let large = LargeColumns { beside, lob_filegroup };
        Ok((layout.with_off_row(Arc::new(reader)), Some(large)))
    }

    /// The layout of a partitioned table, by which rows of all its partitions are read.
    pub(super) fn layout_over(database: &Arc<Database>, layout: RowLayout, partitions: &[Table]) -> RowLayout {
        let large = partitions.iter().filter_map(|table| table.large());
        let reader = Reader {
            database: database.clone(),
            beside: large.map(|large| large.beside.clone()).collect(),
        };
        layout.with_off_row(Arc::new(reader))
    }

    pub(super) fn beside(&self) -> &UnitsBeside {
        &self.beside
    }

    /// The filegroup of values of unlimited types, where it is not that of the rows.
    pub(super) fn lob_filegroup(&self) -> Option<u16> {
        self.lob_filegroup
    }

    /// A statement that reads such a table says so until it ends.
    pub(super) fn declare_reader(database: &Database, locks: &LockOwner) {
        locks.keep_reading(database.id, || {
            Box::new(database.space.large.begin_reading(&database.storage))
        });
    }
}

impl Table {
    /// A row that fits as it is; `None` when columns have to move.
    ///
    /// # Errors
    /// 511 when none can; 3624.
    pub(super) fn encoded_in_row(&self, values: &[Value]) -> Result<Option<BuiltRow>> {
        match BuiltRow::new(|row| self.layout().push(values, row)) {
            Err(error) if error.number == TOO_LONG && self.large().is_some() => Ok(None),
            outcome => outcome.map(Some),
        }
    }

    /// A row for a page that has a key of so many bytes beside it, with columns moved as far as need be.
    ///
    /// # Errors
    /// 511; those of writing values.
    pub(super) fn built(
        &self,
        ctx: &mut StoreContext<'_>,
        in_row: Option<BuiltRow>,
        values: &[Value],
        key_bytes: usize,
    ) -> Result<Built> {
        match in_row
            .filter(|row| self.large().is_none() || key_bytes == 0 || row.len() + key_bytes <= TREE_ROW_BYTES_MAX)
        {
            Some(row) => Ok(Built {
                row,
                places: Vec::new(),
            }),
            None => self.built_outside(ctx, values, key_bytes, Vec::new()),
        }
    }

    /// As [`Table::built`], for a row that has columns outside of it already, which stay there.
    pub(super) fn built_keeping(
        &self,
        ctx: &mut StoreContext<'_>,
        values: &[Value],
        key_bytes: usize,
        kept: Places,
    ) -> Result<Built> {
        match kept.is_empty() {
            true => {
                let in_row = self.encoded_in_row(values)?;
                self.built(ctx, in_row, values, key_bytes)
            }
            false => self.built_outside(ctx, values, key_bytes, kept),
        }
    }

    #[cold]
    fn built_outside(
        &self,
        ctx: &mut StoreContext<'_>,
        values: &[Value],
        key_bytes: usize,
        kept: Places,
    ) -> Result<Built> {
        let limit = match self.rows() {
            Rows::Heap(_) => ROW_BYTES_MAX,
            Rows::Tree(_) => ROW_BYTES_MAX.min((TREE_ROW_BYTES_MAX + STATUS_BYTES).saturating_sub(key_bytes)),
        };
        let clustered = self.definition().clustered();
        let stays = |column| clustered.is_some_and(|index| index.keys.iter().any(|(key, _)| *key == column));
        let moving = self.layout().choose_moving(values, &kept, stays, limit)?;
        let mut places = kept;
        for column in moving {
            let unit = self.unit_to_write(ctx, column)?;
            let value = values.get(column).unwrap_or(&Value::Null);
            let place = match value {
                Value::Held(held) if self.stores_as_held(column, held) => write_held(ctx, &unit, held)?,
                value => {
                    let bytes = self.layout().encoded_column(column, &value.clone().whole()?)?;
                    write_value(ctx, &unit, &bytes)?
                }
            };
            places.push((column, place));
        }
        let row = BuiltRow::new(|row| self.layout().push_with(values, |column| place_of(&places, column), row))?;
        Ok(Built { row, places })
    }

    /// Whether the bytes of a held value are those that a column stores.
    fn stores_as_held(&self, column: usize, held: &HeldValue) -> bool {
        let (own, collation) = (
            self.layout().column_type(column),
            self.layout().column_collation(column),
        );
        own.and_then(|own| HeldForm::of(own, collation)) == Some(held.form())
    }

    fn unit_to_write(&self, ctx: &mut StoreContext<'_>, column: usize) -> Result<Arc<LargeUnit>> {
        let database = self.database();
        let kind = kind_of(self.layout().column_type(column));
        self.check_large_filegroup(kind)?;
        let lob_filegroup = self.large().and_then(|large| large.lob_filegroup);
        let filegroup = lob_filegroup.filter(|_| kind == LargeKind::Lob);
        let rows = (self.rows_root(), filegroup);
        database.space.large.open_or_make(ctx, rows, kind, || {
            database.note_large_values()?;
            database.new_unit()
        })
    }

    /// The unit of the table's rows.
    pub(super) fn rows_root(&self) -> ObjectRoot {
        match self.rows() {
            Rows::Heap(heap) => heap.root(),
            Rows::Tree(tree) => tree.root(),
        }
    }

    /// The columns of a row that lie outside of it; its lock is the session's from then on, if there can be any.
    pub(super) fn places_of_row(&self, ctx: &StoreContext<'_>, locator: &RowLocator) -> Result<Places> {
        if !self.large().is_some_and(|large| large.beside().has_any()) {
            return Ok(Vec::new());
        }
        let mut row = Vec::new();
        match self.row_to_change(ctx, locator, &mut row)? {
            true => self.layout().places(&row),
            false => Ok(Vec::new()),
        }
    }

    fn row_to_change(&self, ctx: &StoreContext<'_>, locator: &RowLocator, row: &mut Vec<u8>) -> Result<bool> {
        let mode = ReadMode::Locked(Mode::X);
        match (self.rows(), locator) {
            (Rows::Heap(heap), RowLocator::Rid(rid)) => heap.fetch(ctx.storage, ctx.locks, mode, *rid, row),
            (Rows::Tree(tree), RowLocator::Key(key)) => tree.fetch(ctx.storage, ctx.locks, mode, key, row),
            _ => Err(Error::assertion("a locator of another kind of table")),
        }
    }

    /// Gives up values that their row does not have any more.
    pub(super) fn give_up(&self, ctx: &mut StoreContext<'_>, places: &[(usize, Vec<u8>)]) -> Result<()> {
        if !places.is_empty() {
            self.database().note_large_deletions()?;
        }
        for (column, place) in places {
            let kind = kind_of(self.layout().column_type(*column));
            self.check_large_filegroup(kind)?;
            let unit = self.large().and_then(|large| large.beside().of_kind(kind));
            let unit = unit.ok_or_else(|| {
                Error::damaged_row("a column lies outside of its row, and its table has no unit for it")
            })?;
            while !give_up_value(ctx, &unit, place)? {
                self.database().take_back_all_marked()?;
            }
        }
        Ok(())
    }

    /// [`Table::change`] of a row that has columns outside of it, or gets some, and of a row of a heap.
    pub(super) fn change_outside(
        &self,
        session: &mut Session,
        locator: &RowLocator,
        columns: &[usize],
        values: &[Value],
    ) -> Result<bool> {
        session.write(self.database(), |ctx| {
            self.claim(ctx, locator)?;
            let mut row = Vec::new();
            if !self.row_to_change(ctx, locator, &mut row)? {
                return Ok(false);
            }
            let mut all = Vec::new();
            self.layout().decode_in_row_into(&row, &mut all)?;
            for (&column, value) in columns.iter().zip(values) {
                let place = all.get_mut(column);
                *place.ok_or_else(|| Error::assertion("a column number beyond the table's"))? = value.clone();
            }
            let places = self.layout().places(&row)?;
            let (left, kept): (Places, Places) = places.into_iter().partition(|(column, _)| columns.contains(column));
            let is_there = match (self.rows(), locator) {
                (Rows::Heap(heap), RowLocator::Rid(rid)) => {
                    let built = self.built_keeping(ctx, &all, 0, kept)?;
                    heap.update(ctx, *rid, &built.row)?
                }
                (Rows::Tree(tree), RowLocator::Key(key)) => {
                    let built = self.built_keeping(ctx, &all, key.len(), kept)?;
                    tree.update(ctx, key, &built.row)?
                }
                _ => return Err(Error::assertion("a locator of another kind of table")),
            };
            if is_there {
                self.give_up(ctx, &left)?;
            }
            Ok(is_there)
        })
    }

    /// Whether the entries of two rows carry equal values, where these are too long to be compared as the entries have them.
    pub(super) fn carries_equal(index: &IndexDefinition, old: &[Value], new: &[Value]) -> bool {
        index.carried.iter().all(|&column| old.get(column) == new.get(column))
    }
}

/// The place of a column, if it lies outside.
pub(super) fn place_of(places: &[(usize, Vec<u8>)], column: usize) -> Option<&[u8]> {
    let found = places.iter().find(|(other, _)| *other == column);
    found.map(|(_, place)| &place[..])
}

/// What an update does with the columns of a row that lie outside of it: those to give up, and those that stay.
pub(super) fn left_and_kept(places: Places, old: &[Value], new: &[Value]) -> (Places, Places) {
    places
        .into_iter()
        .partition(|(column, _)| old.get(*column) != new.get(*column))
}

/// Whether an error says that a row is too long.
pub(super) fn is_too_long(error: &Error) -> bool {
    error.number == TOO_LONG
}
