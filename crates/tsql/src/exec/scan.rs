//! Reading stored rows: scans of tables, searches in indexes, system views.
//!
//! A scan copies a page's rows under its latch and then works on the copy; only the columns that the plan reads are decoded.

use std::ops::Bound;

use engine::cancel;
use engine::catalog::{IndexDefinition, TableDefinition};
use engine::database::Database;
use engine::error::{Error, Result};
use engine::lock::{LockOwner, Mode, Resource};
use engine::page::PageId;
use engine::session::{Isolation, KeyRange, TableScan};
use engine::store::{ReadMode, Rid, RowLocator};
use engine::types::{KeyDirection, Value, encode_stored_key_part};

use super::{Operator, evaluate};
use crate::context::Context;
use crate::messages;
use crate::plan::{Access, Expr, IndexSeek, ScanNode};
use crate::scalar::convert::convert;
use crate::state::StatementLock;
use crate::views::SystemView;

/// How a scan reads, by its hints and the isolation level.
pub(super) fn read_mode(scan: &ScanNode, context: &Context<'_>) -> ReadMode {
    scan.locking.locks(context.session.options().isolation).rows
}

/// Locks the table for what the scan does.
///
/// # Errors
/// 650, 3952, 8622 for hints and levels that cannot be followed; those of waiting.
pub(super) fn lock_table(scan: &ScanNode, context: &Context<'_>) -> Result<()> {
    let (table, session) = (&scan.table.table, context.session);
    let isolation = scan.locking.isolation(session.options().isolation);
    check_isolation(isolation, table.database())?;
    if scan.locking.read_past && !matches!(isolation, Isolation::ReadCommitted | Isolation::RepeatableRead) {
        return Err(messages::readpast_isolation());
    }
    if scan.access == Access::Seek && scan.seek.is_none() {
        return Err(messages::no_plan_for_hints());
    }
    let wanted = scan.locking.locks(session.options().isolation);
    let resource = Resource::Object(table.database().id, table.definition().object_id);
    let before = session.locks.mode_of(&resource);
    within_timeout(scan, context, || table.lock(&session.locks, wanted.table))?;
    if wanted.for_statement && before.is_none_or(|before| before != Mode::S) {
        session.transaction.statement_locks.borrow_mut().push(StatementLock {
            resource,
            taken: wanted.table,
            before,
        });
    }
    Ok(())
}

/// SNAPSHOT reads versions of rows, which no database keeps: 3952. Temporary tables are the session's own.
///
/// # Errors
/// 3952.
pub(crate) fn check_isolation(isolation: Isolation, database: &Database) -> Result<()> {
    let name = database.name();
    match isolation {
        Isolation::Snapshot if !name.eq_ignore_ascii_case("tempdb") => Err(messages::snapshot_not_allowed(&name)),
        _ => Ok(()),
    }
}

/// Under NOWAIT, waits for no lock of the table.
fn within_timeout<T>(scan: &ScanNode, context: &Context<'_>, work: impl FnOnce() -> Result<T>) -> Result<T> {
    context.session.within_no_wait(scan.locking.no_wait, work)
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
        if let ReadMode::LockedPast(_) = mode {
            let rows = table.scan(locks, ReadMode::Uncommitted)?;
            return Ok(Box::new(OneByOne::new(scan, mode, rows)));
        }
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
    let Some(range) = key_range(scan, seek, context)? else {
        return Ok(Box::new(super::derived::Empty));
    };
    if index.index_id == 1 {
        if let ReadMode::LockedPast(_) = mode {
            let rows = table.seek(locks, ReadMode::Uncommitted, range, false)?;
            return Ok(Box::new(OneByOne::new(scan, mode, rows)));
        }
        let rows = table.seek(locks, mode, range, false)?;
        return Ok(Box::new(Scan {
            node: scan,
            rows,
            next: 0,
        }));
    }
    let mut found = Vec::new();
    within_timeout(scan, context, || {
        table.seek_index(seek.index, locks, mode, range, &mut found)
    })?;
    Ok(Box::new(Lookup {
        node: scan,
        mode,
        found: found.into_iter(),
        row: Vec::new(),
    }))
}

/// Room for a key of a few numbers.
const KEY_BYTES: usize = 32;

/// A bound of a search, if there is one: its key, and whether the key itself counts.
type EncodedBound = Option<(Vec<u8>, bool)>;

/// The encoded range of a search; `None` when a bound is NULL, which nothing equals.
fn key_range(scan: &ScanNode, seek: &IndexSeek, context: &Context<'_>) -> Result<Option<KeyRange>> {
    let definition = scan.table.table.definition();
    let Some(index) = definition.indexes.get(seek.index) else {
        return Ok(None);
    };
    let mut prefix = Vec::with_capacity(KEY_BYTES);
    for (position, equal) in seek.equal.iter().enumerate() {
        if !push_key_part(definition, index, (position, equal), context, &mut prefix)? {
            return Ok(None);
        }
    }
    let position = seek.equal.len();
    let encode = |bound: &Option<(Expr, bool)>| -> Result<Option<EncodedBound>> {
        let Some((bound, inclusive)) = bound else {
            return Ok(Some(None));
        };
        let mut key = prefix.clone();
        let is_value = push_key_part(definition, index, (position, bound), context, &mut key)?;
        Ok(is_value.then_some(Some((key, *inclusive))))
    };
    let (Some(low), Some(high)) = (encode(&seek.low)?, encode(&seek.high)?) else {
        return Ok(None);
    };
    let (low, high) = if index.direction(position) == KeyDirection::Descending {
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

/// Appends the part of a key that a bound gives; false when the bound is NULL.
fn push_key_part(
    definition: &TableDefinition,
    index: &IndexDefinition,
    (position, bound): (usize, &Expr),
    context: &Context<'_>,
    key: &mut Vec<u8>,
) -> Result<bool> {
    let value = evaluate(bound, &[], context)?;
    if value.is_null() {
        return Ok(false);
    }
    let column = index.keys.get(position);
    let column = column.and_then(|(column, _)| definition.columns.get(*column));
    let direction = index.direction(position);
    match column {
        // Strings are searched as they are: cutting them to the column's length would find too much or too little.
        Some(column) if !column.sql_type.is_character() && column.sql_type != bound.sql_type => {
            let value = convert(&value, bound.sql_type, column.sql_type, None)?;
            encode_stored_key_part(&value, column.collation, direction, key);
            Ok(!value.is_null())
        }
        _ => {
            let collation = column.map(|column| column.collation).unwrap_or_default();
            encode_stored_key_part(&value, collation, direction, key);
            Ok(true)
        }
    }
}

/// The first key after all that begin with these bytes; `None` when there is none.
pub(crate) fn after_prefix(mut key: Vec<u8>) -> Option<Vec<u8>> {
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
pub(crate) fn locator_value(locator: &RowLocator) -> Value {
    match locator {
        RowLocator::Rid(rid) => {
            let number = u64::from(rid.page.file) << 48 | u64::from(rid.page.page) << 16 | u64::from(rid.slot);
            Value::BigInt(number as i64)
        }
        RowLocator::Key(key) => Value::binary(key.clone()),
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
        Value::Binary(key) => Ok(RowLocator::Key(key.to_arc())),
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
            if !within_timeout(self.node, context, || self.rows.next_batch())? {
                return Ok(false);
            }
            self.next = 0;
        }
        cancel::spend(1)?;
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

/// Rows of a heap or a range of a tree, each locked when it is asked for if nobody else has it: what READPAST finds first, it
/// leaves the rest of for others.
struct OneByOne<'p> {
    node: &'p ScanNode,
    mode: ReadMode,
    rows: TableScan<'p>,
    next: usize,
    row: Vec<u8>,
}

impl<'p> OneByOne<'p> {
    fn new(node: &'p ScanNode, mode: ReadMode, rows: TableScan<'p>) -> OneByOne<'p> {
        OneByOne {
            node,
            mode,
            rows,
            next: 0,
            row: Vec::new(),
        }
    }
}

impl Operator for OneByOne<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        let table = &self.node.table.table;
        loop {
            while self.next >= self.rows.len() {
                if !self.rows.next_batch()? {
                    return Ok(false);
                }
                self.next = 0;
            }
            cancel::spend(STEPS_PER_FETCH)?;
            let position = self.next;
            self.next += 1;
            let Some(locator) = self.rows.locator(position) else {
                continue;
            };
            if table.fetch(&context.session.locks, self.mode, &locator, &mut self.row)? {
                decode(self.node, &self.row, row)?;
                if let Some(target) = self.node.locator.and_then(|place| row.get_mut(place)) {
                    *target = locator_value(&locator);
                }
                return Ok(true);
            }
        }
    }
}

/// What fetching a row by its locator comes to.
const STEPS_PER_FETCH: usize = 4;

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
            cancel::spend(STEPS_PER_FETCH)?;
            self.row.clear();
            let (table, locks) = (&self.node.table.table, &context.session.locks);
            let fetched = within_timeout(self.node, context, || {
                table.fetch(locks, self.mode, &locator, &mut self.row)
            })?;
            if !fetched {
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
                cancel::spend(1)?;
                super::derived::place(row, self.offset, values);
                Ok(true)
            }
            None => Ok(false),
        }
    }
}
