//! Reading stored rows: scans of tables, searches in indexes, system views.
//!
//! A scan copies a page's rows under its latch and then works on the copy; only the columns that the plan reads are decoded.

use std::ops::Bound;

use engine::error::{Error, Result};
use engine::lock::{LockOwner, Mode};
use engine::page::PageId;
use engine::session::{Isolation, KeyRange, TableScan};
use engine::store::{ReadMode, Rid, RowLocator};
use engine::types::{KeyDirection, Value};

use super::{Context, Operator, evaluate};
use crate::plan::{Expr, IndexSeek, ScanNode};
use crate::scalar::convert::convert;
use crate::views::SystemView;

/// How a scan reads, by its hints and the isolation level.
pub(super) fn read_mode(scan: &ScanNode, context: &Context<'_>) -> ReadMode {
    if scan.for_update {
        return ReadMode::Locked(Mode::U);
    }
    match context.session.options().isolation {
        _ if scan.dirty => ReadMode::Uncommitted,
        Isolation::ReadUncommitted => ReadMode::Uncommitted,
        Isolation::ReadCommitted => ReadMode::Committed,
        Isolation::RepeatableRead | Isolation::Serializable => ReadMode::Locked(Mode::S),
    }
}

/// Locks the table for what the scan does.
pub(super) fn lock_table(scan: &ScanNode, context: &Context<'_>) -> Result<()> {
    let is_serializable = context.session.options().isolation == Isolation::Serializable;
    let mode = match (scan.for_update, scan.dirty, is_serializable) {
        (true, _, false) => Mode::IX,
        (true, _, true) => Mode::X,
        (false, true, _) => Mode::SchS,
        (false, false, true) => Mode::S,
        (false, false, false) => Mode::IS,
    };
    scan.table.table.lock(&context.session.locks, mode)
}

/// Opens a scan or a search.
pub(super) fn open<'p>(
    scan: &'p ScanNode,
    locks: &'p LockOwner,
    context: &Context<'_>,
) -> Result<Box<dyn Operator + 'p>> {
    lock_table(scan, context)?;
    let mode = read_mode(scan, context);
    let table = &scan.table.table;
    let Some(seek) = &scan.seek else {
        let mut rows = table.scan(locks, table.effective_mode(locks, mode))?;
        if scan.columns.is_empty() {
            rows.leave_out_bytes();
        }
        return Ok(Box::new(Scan {
            node: scan,
            rows,
            next: 0,
        }));
    };
    let index = table
        .definition()
        .indexes
        .get(seek.index)
        .ok_or_else(|| Error::assertion("an index that is gone"))?;
    let Some(range) = key_range(scan, seek, &index.directions(), context)? else {
        return Ok(Box::new(super::derived::Empty));
    };
    if index.index_id == 1 {
        let rows = table.seek(locks, mode, range, false)?;
        return Ok(Box::new(Scan {
            node: scan,
            rows,
            next: 0,
        }));
    }
    let mut found = Vec::new();
    table.seek_index(seek.index, locks, range, &mut found)?;
    Ok(Box::new(Lookup {
        node: scan,
        mode,
        found: found.into_iter(),
        row: Vec::new(),
    }))
}

/// A bound of a search, if there is one: its key, and whether the key itself counts.
type EncodedBound = Option<(Vec<u8>, bool)>;

/// The encoded range of a search; `None` when a bound is NULL, which nothing equals.
fn key_range(
    scan: &ScanNode,
    seek: &IndexSeek,
    directions: &[KeyDirection],
    context: &Context<'_>,
) -> Result<Option<KeyRange>> {
    let definition = scan.table.table.definition();
    let Some(index) = definition.indexes.get(seek.index) else {
        return Ok(None);
    };
    let mut prefix = Vec::new();
    let value_of = |bound: &Expr, position: usize| -> Result<Value> {
        let value = evaluate(bound, &[], context)?.into_owned();
        let column = index
            .keys
            .get(position)
            .and_then(|(column, _)| definition.columns.get(*column));
        match column {
            // Strings are searched as they are: cutting them to the column's length would find too much or too little.
            Some(column) if !column.sql_type.is_character() => convert(&value, bound.sql_type, column.sql_type, None),
            _ => Ok(value),
        }
    };
    for (position, equal) in seek.equal.iter().enumerate() {
        let value = value_of(equal, position)?;
        if value.is_null() {
            return Ok(None);
        }
        engine::types::encode_key_part(&value, direction(directions, position), &mut prefix);
    }
    let position = seek.equal.len();
    let encode = |bound: &Option<(Expr, bool)>| -> Result<Option<EncodedBound>> {
        let Some((bound, inclusive)) = bound else {
            return Ok(Some(None));
        };
        let value = value_of(bound, position)?;
        if value.is_null() {
            return Ok(None);
        }
        let mut key = prefix.clone();
        engine::types::encode_key_part(&value, direction(directions, position), &mut key);
        Ok(Some(Some((key, *inclusive))))
    };
    let (Some(low), Some(high)) = (encode(&seek.low)?, encode(&seek.high)?) else {
        return Ok(None);
    };
    let (low, high) = if direction(directions, position) == KeyDirection::Descending {
        (high, low)
    } else {
        (low, high)
    };
    let start = match low {
        Some((key, true)) => Bound::Included(key),
        Some((key, false)) => after_prefix(key).map_or(Bound::Unbounded, Bound::Included),
        None => Bound::Included(prefix.clone()),
    };
    let end = match high {
        Some((key, true)) => after_prefix(key).map_or(Bound::Unbounded, Bound::Excluded),
        Some((key, false)) => Bound::Excluded(key),
        None => after_prefix(prefix).map_or(Bound::Unbounded, Bound::Excluded),
    };
    Ok(Some((start, end)))
}

fn direction(directions: &[KeyDirection], position: usize) -> KeyDirection {
    directions.get(position).copied().unwrap_or(KeyDirection::Ascending)
}

/// The first key after all that begin with these bytes; `None` when there is none.
fn after_prefix(mut key: Vec<u8>) -> Option<Vec<u8>> {
    while let Some(last) = key.pop() {
        if last < u8::MAX {
            key.push(last + 1);
            return Some(key);
        }
    }
    None
}

/// Decodes the columns that the plan reads.
fn decode(node: &ScanNode, bytes: &[u8], row: &mut [Value]) -> Result<()> {
    let layout = node.table.table.layout();
    for &column in &node.columns {
        if let Some(target) = row.get_mut(node.offset + column) {
            *target = layout.column(bytes, column)?;
        }
    }
    Ok(())
}

/// A row's locator as a value of the wide row: a heap's as one number, a tree's as its key.
fn locator_value(locator: &RowLocator) -> Value {
    match locator {
        RowLocator::Rid(rid) => {
            let number = u64::from(rid.page.file) << 48 | u64::from(rid.page.page) << 16 | u64::from(rid.slot);
            Value::BigInt(number as i64)
        }
        RowLocator::Key(key) => Value::binary(&key[..]),
    }
}

/// The locator that a value of the wide row stands for.
///
/// # Errors
/// 3624 when it is none.
pub fn locator_of(value: &Value) -> Result<RowLocator> {
    match value {
        Value::BigInt(number) => {
            let number = *number as u64;
            let page = PageId {
                file: (number >> 48) as u16,
                page: (number >> 16) as u32,
            };
            Ok(RowLocator::Rid(Rid {
                page,
                slot: number as u16,
            }))
        }
        Value::Binary(key) => Ok(RowLocator::Key(key[..].into())),
        _ => Err(Error::assertion("a row without a locator")),
    }
}

/// Rows of a heap or a range of a tree.
struct Scan<'p> {
    node: &'p ScanNode,
    rows: TableScan<'p>,
    next: usize,
}

impl Operator for Scan<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        while self.next >= self.rows.len() {
            context.check_cancelled()?;
            if !self.rows.next_batch()? {
                return Ok(false);
            }
            self.next = 0;
        }
        let position = self.next;
        self.next += 1;
        decode(self.node, self.rows.row(position).unwrap_or_default(), row)?;
        if let Some(place) = self.node.locator
            && let (Some(target), Some(locator)) = (row.get_mut(place), self.rows.locator(position))
        {
            *target = locator_value(&locator);
        }
        Ok(true)
    }
}

/// Rows found by a nonclustered index, fetched one by one.
struct Lookup<'p> {
    node: &'p ScanNode,
    mode: ReadMode,
    found: std::vec::IntoIter<RowLocator>,
    row: Vec<u8>,
}

impl Operator for Lookup<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        for locator in self.found.by_ref() {
            self.row.clear();
            if !self
                .node
                .table
                .table
                .fetch(&context.session.locks, self.mode, &locator, &mut self.row)?
            {
                continue;
            }
            decode(self.node, &self.row, row)?;
            if let Some(target) = self.node.locator.and_then(|place| row.get_mut(place)) {
                *target = locator_value(&locator);
            }
            return Ok(true);
        }
        Ok(false)
    }
}

/// Rows of a system view. Its arguments may use the row around it, so it is asked at the first row.
pub(super) struct ViewRows<'p> {
    view: &'static SystemView,
    database_id: u16,
    arguments: &'p [Expr],
    offset: usize,
    rows: Option<std::vec::IntoIter<Vec<Value>>>,
}

impl<'p> ViewRows<'p> {
    pub(super) fn new(
        view: &'static SystemView,
        database_id: u16,
        arguments: &'p [Expr],
        offset: usize,
    ) -> ViewRows<'p> {
        ViewRows {
            view,
            database_id,
            arguments,
            offset,
            rows: None,
        }
    }
}

impl Operator for ViewRows<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        if self.rows.is_none() {
            let arguments = self
                .arguments
                .iter()
                .map(|argument| Ok(evaluate(argument, row, context)?.into_owned()));
            let arguments = arguments.collect::<Result<Vec<_>>>()?;
            let database = context.session.instance.database_by_id(self.database_id);
            let database = database.unwrap_or_else(|| context.session.database());
            let rows = (self.view.rows)(&context.session.system_context(database), &arguments)?;
            self.rows = Some(rows.into_iter());
        }
        match self.rows.as_mut().and_then(Iterator::next) {
            Some(values) => {
                super::derived::place(row, self.offset, values);
                Ok(true)
            }
            None => Ok(false),
        }
    }
}
