//! Reading stored rows: scans of tables, and system views. Index searches are in `search`.
//!
//! A scan copies a page's rows under its latch and then works on the copy. It decodes only the columns that the plan uses. Bitmaps of hash
//! joins are tested first, then conditions; for a rejected row, only the columns of these tests are decoded.
//!
//! *The target of UPDATE and DELETE* under READ COMMITTED ([`Locking::tests_before_locking`]): a row is tested as it is committed. One that
//! passes is locked and read again. If others have changed it meanwhile, it is tested again; if it passes no longer, its lock stays. Rows that
//! do not qualify are not locked: their locks would keep others from them to the end of the transaction, and become a lock of the table beyond
//! the threshold of escalation.
//!
//! [`Locking::tests_before_locking`]: crate::plan::Locking::tests_before_locking

use std::rc::Rc;

use engine::cancel;
use engine::database::Database;
use engine::error::{Error, Result};
use engine::instance::TEMPDB;
use engine::lock::{LockOwner, Mode, Resource};
use engine::memory::Charge;
use engine::session::{Isolation, RowReader, TableScan};
use engine::store::{PageSample, ReadMode, RowLocator, unnamed_table};
use engine::types::{RowColumns, Value};
use engine::versions::SnapshotState;

use super::cursor_row::CursorRow;
use super::cursor_walk::CursorWalk;
use super::key_bitmap::KeyBitmap;
use super::pointed::Pointed;
use super::search::{Search, Union};
use super::{Operator, computed, evaluate, test};
use crate::context::Context;
use crate::messages;
use crate::plan::{Access, Condition, CursorScan, ScanNode, SnapshotOf, TableLocks, ViewNode};
use crate::scalar::compare::push_group_key;
use crate::scalar::row_place::{locator_value, row_place};
use crate::state::{SessionState, StatementLock};
use crate::views::{RowStream, Source, Withheld};

/// How a scan reads, by its hints, the isolation level, and whether its database keeps versions of rows.
pub(super) fn read_mode(scan: &ScanNode, context: &Context<'_>) -> ReadMode {
    locks_of(scan, context).rows
}

fn locks_of(scan: &ScanNode, context: &Context<'_>) -> TableLocks {
    let session = context.session;
    let isolation = session.options().isolation;
    let database = scan.table.table.database();
    let reads_versions = database.storage.versions.are_read_by_default();
    let snapshot = match scan.locking.snapshot_wanted(isolation, reads_versions) {
        // Temporary tables are the session's own.
        Some(SnapshotOf::Transaction) if database.id != TEMPDB => session.transaction_snapshot(),
        Some(SnapshotOf::Statement) => session.statement_snapshot(),
        _ => return scan.locking.locks(isolation, scan.has_key()),
    };
    scan.locking.by_versions(isolation, snapshot)
}

/// Locks the table for what the scan does.
///
/// # Errors
/// 650, 3952, 8622 for hints and levels that cannot be followed; those of waiting.
pub(super) fn lock_table(scan: &ScanNode, context: &Context<'_>) -> Result<()> {
    let (table, session) = (&scan.table.table, context.session);
    let isolation = scan.locking.isolation(session.options().isolation);
    check_isolation(session, isolation, table.database())?;
    if scan.locking.read_past && !matches!(isolation, Isolation::ReadCommitted | Isolation::RepeatableRead) {
        return Err(messages::readpast_isolation());
    }
    let asks_for_part = match scan.access {
        Access::Index(place) => table
            .definition()
            .indexes
            .get(place)
            .is_some_and(|index| index.filter.is_some()),
        _ => false,
    };
    // An index with a filter that the conditions do not imply does not have all rows.
    if (scan.access == Access::Seek || asks_for_part) && scan.seek.is_none() {
        return Err(messages::no_plan_for_hints());
    }
    let wanted = locks_of(scan, context);
    let resource = Resource::Object(table.database().id, table.definition().object_id);
    let before = session.locks.mode_of(&resource);
    within_timeout(scan, context, || table.lock(&session.locks, wanted.table))?;
    if wanted.for_statement && before != Some(wanted.table) {
        session.transaction.statement_locks.borrow_mut().push(StatementLock {
            resource,
            taken: wanted.table,
            before,
        });
    }
    if let ReadMode::Ranges(_) = wanted.rows {
        // What a lock of the whole table covers is not locked again: then that lock is kept as the ranges would be.
        let mut of_statement = session.transaction.statement_locks.borrow_mut();
        of_statement.retain(|lock| lock.resource != resource || lock.taken == Mode::IS);
    }
    match isolation {
        Isolation::Snapshot => check_definition(session, table.database(), table.definition().object_id),
        _ => Ok(()),
    }
}

/// What SNAPSHOT asks of a database, before a table of it is locked. Temporary tables are the session's own.
///
/// # Errors
/// 3951, 3952, 3956 and 3957.
pub(crate) fn check_isolation(session: &SessionState, isolation: Isolation, database: &Database) -> Result<()> {
    if database.id == TEMPDB {
        return Ok(());
    }
    let began_under_snapshot = session.began_under_snapshot();
    if isolation != Isolation::Snapshot {
        return Ok(());
    }
    if !began_under_snapshot {
        return Err(messages::snapshot_too_late(&database.name()));
    }
    let versions = &database.storage.versions;
    let is_new = session.engine.borrow().snapshot().is_none();
    match versions.state() {
        SnapshotState::Off => Err(messages::snapshot_not_allowed(&database.name())),
        SnapshotState::TurningOff if is_new => Err(messages::snapshot_not_allowed(&database.name())),
        SnapshotState::TurningOn => Err(messages::snapshot_not_yet_allowed(&database.name())),
        SnapshotState::On | SnapshotState::TurningOff => {
            match versions.is_complete_for(session.transaction_snapshot()) {
                true => Ok(()),
                false => Err(messages::snapshot_was_not_allowed(&database.name())),
            }
        }
    }
}

/// Definitions have no versions: a table that SNAPSHOT reads or writes, locked by now, is as it was when the snapshot was taken.
///
/// # Errors
/// 3961.
pub(crate) fn check_definition(session: &SessionState, database: &Database, object_id: u32) -> Result<()> {
    let Some(snapshot) = session.engine.borrow().snapshot() else {
        return Ok(());
    };
    let store = database.storage.versions.store();
    match store.is_redefined(snapshot, database.id, object_id) {
        true => Err(messages::redefined_since_snapshot(&database.name())),
        false => Ok(()),
    }
}

/// An error of the version store with the table's name in place of its id.
pub(super) fn named(scan: &ScanNode, error: Error) -> Error {
    let unnamed = unnamed_table(scan.table.table.definition().object_id);
    match error.number {
        3958 | 3960 => Error {
            message: error.message.replace(&unnamed, &scan.table.full_name),
            ..error
        },
        _ => error,
    }
}

/// Under NOWAIT, waits for no lock of the table.
pub(super) fn within_timeout<T>(scan: &ScanNode, context: &Context<'_>, work: impl FnOnce() -> Result<T>) -> Result<T> {
    context.session.within_no_wait(scan.locking.no_wait, work)
}

/// Whether a scan can test its rows by a condition before it reads all columns that are asked for.
pub(super) fn can_test(scan: &ScanNode, condition: &Condition, context: &Context<'_>) -> bool {
    let reads_stored = || {
        let end = scan.offset + scan.table.table.layout().column_count();
        let mut used = vec![false; scan.row_place.map_or(end, |place| end.max(place + 1))];
        condition.mark_columns(&mut used);
        let mut places = used.iter().enumerate();
        !places.any(|(place, is_used)| *is_used && (scan.is_computed(place) || scan.row_place == Some(place)))
    };
    (scan.virtual_columns.is_empty() && scan.row_place.is_none() || reads_stored())
        && scan.seek.is_none()
        && scan.text_row.is_none()
        && scan.cursor.is_none()
        && !matches!(read_mode(scan, context), ReadMode::LockedPast(_))
        && !condition.contains_query()
}

/// Rows on a page of a table whose rows were not counted since the start: of 100 bytes each.
const ROWS_PER_PAGE_GUESS: u64 = 80;

/// Begins to read a table's rows: of a sample of its pages, if the scan has one.
///
/// # Errors
/// Those of waiting for the table and of reading it.
pub(super) fn begin<'p>(
    scan: &'p ScanNode,
    locks: &'p LockOwner,
    mode: ReadMode,
    context: &Context<'_>,
) -> Result<TableScan<'p>> {
    let table = &scan.table.table;
    let mut rows = table.scan(locks, mode)?;
    if let Some(sample) = scan.sample {
        let row_count = table
            .row_count()
            .unwrap_or_else(|| table.page_count() * ROWS_PER_PAGE_GUESS) as f64;
        let seed = sample
            .seed
            .map_or_else(|| context.session.random.next_bits(), |seed| seed as u64);
        rows.keep_to_sample(PageSample::new(seed, sample.share(row_count)));
    }
    Ok(rows)
}

/// Opens a scan or a search. A condition is for scans that can test it ([`can_test`]).
pub(super) fn open<'p>(
    scan: &'p ScanNode,
    condition: Option<&'p Condition>,
    locks: &'p LockOwner,
    context: &Context<'_>,
) -> Result<Box<dyn Operator + 'p>> {
    lock_table(scan, context)?;
    let mode = read_mode(scan, context);
    if let Some(row) = &scan.text_row {
        return Ok(computed::around(scan, Box::new(Pointed::new(scan, row, locks, mode))));
    }
    match scan.cursor {
        None => {}
        Some(CursorScan::Row(place)) => {
            return Ok(computed::around(
                scan,
                Box::new(CursorRow::new(scan, place, locks, mode)),
            ));
        }
        Some(CursorScan::Walk) => {
            return Ok(computed::around(scan, Box::new(CursorWalk::new(scan, locks, mode))));
        }
    }
    let Some(seek) = &scan.seek else {
        if let ReadMode::LockedPast(_) = mode {
            let rows = begin(scan, locks, ReadMode::Uncommitted, context)?;
            return Ok(computed::around(scan, Box::new(OneByOne::new(scan, mode, rows))));
        }
        return open_rows(scan, condition, (locks, mode), context);
    };
    Ok(match seek.union.is_empty() {
        true => computed::around(scan, Box::new(Search::new(scan, seek, locks, mode)?)),
        false => computed::around(scan, Box::new(Union::new(scan, seek, locks, mode)?)),
    })
}

/// Opens a scan of all rows.
fn open_rows<'p>(
    scan: &'p ScanNode,
    condition: Option<&'p Condition>,
    (locks, mode): (&'p LockOwner, ReadMode),
    context: &Context<'_>,
) -> Result<Box<dyn Operator + 'p>> {
    let table = &scan.table.table;
    let mode = table.effective_mode(locks, mode);
    let tests_first = condition.is_some() && scan.locking.tests_before_locking(context.session.options().isolation);
    let (committed, candidates) = match mode {
        ReadMode::Locked(lock) if tests_first => {
            let reader = table.row_reader(locks, mode)?;
            (ReadMode::Committed, Some(Candidates { reader, lock }))
        }
        _ => (mode, None),
    };
    let mut rows = begin(scan, locks, committed, context)?;
    if scan.columns.is_empty() {
        rows.leave_out_bytes();
    }
    let scan_of_all = Scan::new(scan, condition, rows, candidates);
    Ok(computed::around(scan, Box::new(scan_of_all)))
}

/// What fetching a row by its locator comes to.
pub(super) const STEPS_PER_FETCH: usize = 4;

/// Decodes the columns that the plan reads.
pub(super) fn decode(node: &ScanNode, bytes: &[u8], row: &mut [Value]) -> Result<()> {
    match open_row(node, bytes)? {
        Some(values) => decode_columns(node, &node.columns, &values, row),
        None => Ok(()),
    }
}

/// A row to be decoded. If no column is needed, rows may come without their bytes.
#[inline]
fn open_row<'r>(node: &'r ScanNode, bytes: &'r [u8]) -> Result<Option<RowColumns<'r, 'r>>> {
    match node.columns.is_empty() {
        true => Ok(None),
        false => node.table.table.layout().columns(bytes).map(Some),
    }
}

#[inline]
fn decode_columns(node: &ScanNode, columns: &[usize], values: &RowColumns<'_, '_>, row: &mut [Value]) -> Result<()> {
    if !node.held.is_empty() {
        return decode_holding(node, columns, values, row);
    }
    for &column in columns {
        if let Some(target) = row.get_mut(node.offset + column) {
            *target = values.value(column)?;
        }
    }
    Ok(())
}

/// As [`decode_columns`], with long values of some columns unread.
#[inline(never)]
fn decode_holding(node: &ScanNode, columns: &[usize], values: &RowColumns<'_, '_>, row: &mut [Value]) -> Result<()> {
    for &column in columns {
        if let Some(target) = row.get_mut(node.offset + column) {
            *target = match node.held.contains(&column) {
                true => values.value_or_held(column)?,
                false => values.value(column)?,
            };
        }
    }
    Ok(())
}

/// Writes a row's locator to its place, and where the row is stored, if the plan has places for them.
///
/// # Errors
/// Those of reading the page of the row.
pub(super) fn place_locator(node: &ScanNode, locator: &RowLocator, row: &mut [Value]) -> Result<()> {
    if let Some(target) = node.row_place.and_then(|place| row.get_mut(place)) {
        *target = node.table.table.place_of(locator)?.map_or(Value::Null, row_place);
    }
    if let Some(target) = node.locator.and_then(|place| row.get_mut(place)) {
        *target = locator_value(locator);
    }
    Ok(())
}

/// Rows of a heap or a range of a tree; of those that a bitmap or a condition leaves out, no more is decoded than shows it.
struct Scan<'p> {
    node: &'p ScanNode,
    tests: Tests<'p>,
    rows: TableScan<'p>,
    /// Locks rows that have passed the tests, where these come first.
    candidates: Option<Candidates<'p>>,
    /// The row that was read again.
    locked: Vec<u8>,
    /// How many rows the batch read last has.
    batch_rows: usize,
    next: usize,
    /// Whether the plan asks where rows are.
    shows_rows: bool,
}

/// Reads rows that have passed the tests again, with their lock.
struct Candidates<'p> {
    reader: RowReader<'p>,
    lock: Mode,
}

impl Candidates<'_> {
    fn hold_table(&self) -> bool {
        self.reader.holds_table(self.lock)
    }
}

/// What a scan tests its rows by.
struct Tests<'p> {
    node: &'p ScanNode,
    bitmaps: Vec<Probe>,
    conditions: Vec<Test<'p>>,
    /// Columns that the plan reads and no test does.
    others: Vec<usize>,
    /// The key of the row at hand.
    key: Vec<u8>,
}

/// Rows after which a bitmap has to have left some out.
const PROBES_TRIED: u32 = 4_096;
/// One in so many of the rows tested so far.
const PROBES_PER_ROW_LEFT_OUT: u32 = 8;

/// A bitmap that rows are tested by, as long as it pays.
struct Probe {
    bitmap: Rc<KeyBitmap>,
    /// Columns of its keys that no bitmap before it reads.
    columns: Vec<usize>,
    rows_tested: u32,
    rows_left_out: u32,
}

impl Probe {
    /// Whether a row, which has the keys decoded, may have a partner.
    #[inline]
    fn passes(&mut self, row: &[Value], key: &mut Vec<u8>) -> bool {
        if self.rows_tested >= PROBES_TRIED {
            if self.rows_left_out < PROBES_TRIED / PROBES_PER_ROW_LEFT_OUT {
                return true;
            }
        } else {
            self.rows_tested += 1;
        }
        key.clear();
        let mut is_filled = true;
        for place in self.bitmap.places() {
            match row.get(*place) {
                Some(value) if !value.is_null() => push_group_key(std::slice::from_ref(value), key),
                _ => is_filled = false,
            }
        }
        // NULL equals nothing.
        let passes = is_filled && self.bitmap.may_have(key);
        if !passes && self.rows_tested < PROBES_TRIED {
            self.rows_left_out += 1;
        }
        passes
    }
}

/// One of the conditions that have to hold all.
struct Test<'p> {
    condition: &'p Condition,
    /// Columns that it reads and the tests before it do not.
    columns: Vec<usize>,
}

impl<'p> Scan<'p> {
    fn new(
        node: &'p ScanNode,
        condition: Option<&'p Condition>,
        rows: TableScan<'p>,
        candidates: Option<Candidates<'p>>,
    ) -> Scan<'p> {
        Scan {
            node,
            tests: Tests::new(node, condition),
            rows,
            candidates,
            locked: Vec::new(),
            batch_rows: 0,
            next: 0,
            shows_rows: node.shows_rows(),
        }
    }

    /// Locks a row of the batch that has passed the tests, and decodes it as it is then; false when it is gone, or passes no longer. One that
    /// is as it was is not tested again: by NEWID(), fewer would pass twice than once.
    fn lock(&mut self, position: usize, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        let Some(Candidates { reader, .. }) = &self.candidates else {
            return Ok(true);
        };
        cancel::spend(STEPS_PER_FETCH)?;
        let Some(locator) = self.rows.locator(position) else {
            return Ok(false);
        };
        let bytes = &mut self.locked;
        let is_there = within_timeout(self.node, context, || reader.read(&locator, bytes));
        if !is_there.map_err(|error| named(self.node, error))? {
            return Ok(false);
        }
        let is_as_it_was = self.rows.row(position) == Some(bytes.as_slice());
        // A place outside of the row may have been given up meanwhile, and have another value by now.
        if is_as_it_was && self.node.table.table.layout().places(bytes)?.is_empty() {
            return Ok(true);
        }
        self.tests.take(bytes, context, row)
    }
}

impl<'p> Tests<'p> {
    fn new(node: &'p ScanNode, condition: Option<&'p Condition>) -> Tests<'p> {
        let conditions = match condition {
            Some(Condition::And(parts)) => parts.as_slice(),
            Some(condition) => std::slice::from_ref(condition),
            None => &[],
        };
        let mut others = node.columns.clone();
        let mut test_of = |condition: &'p Condition| {
            let mut used = vec![false; node.offset + node.table.table.layout().column_count()];
            condition.mark_columns(&mut used);
            let is_used = |column: &usize| used.get(node.offset + column).copied().unwrap_or_default();
            let (columns, rest) = others.iter().partition(|column| is_used(column));
            others = rest;
            Test { condition, columns }
        };
        Tests {
            node,
            bitmaps: Vec::new(),
            conditions: conditions.iter().map(&mut test_of).collect(),
            others,
            key: Vec::new(),
        }
    }

    /// Decodes a row; false when its tests leave it out. They are tested as one condition of AND is.
    fn take(&mut self, bytes: &[u8], context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        let values = open_row(self.node, bytes)?;
        for probe in &mut self.bitmaps {
            if let Some(values) = &values {
                decode_columns(self.node, &probe.columns, values, row)?;
            }
            if !probe.passes(row, &mut self.key) {
                return Ok(false);
            }
        }
        let mut is_unknown = false;
        for one in &self.conditions {
            if let Some(values) = &values {
                decode_columns(self.node, &one.columns, values, row)?;
            }
            match test(one.condition, row, context)? {
                Some(true) => {}
                Some(false) => return Ok(false),
                None => is_unknown = true,
            }
        }
        if is_unknown {
            return Ok(false);
        }
        if let Some(values) = &values {
            decode_columns(self.node, &self.others, values, row)?;
        }
        Ok(true)
    }
}

impl Operator for Scan<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        loop {
            while self.next >= self.batch_rows {
                // A lock of the whole table, by escalation say, is as good as that of each row.
                if let Some(candidates) = self.candidates.take_if(|candidates| candidates.hold_table()) {
                    self.rows.lock_rows(candidates.lock);
                }
                let batch = within_timeout(self.node, context, || self.rows.next_batch());
                if !batch.map_err(|error| named(self.node, error))? {
                    (self.next, self.batch_rows) = (0, 0);
                    return Ok(false);
                }
                (self.next, self.batch_rows) = (0, self.rows.len());
            }
            cancel::spend(1)?;
            let position = self.next;
            self.next += 1;
            let bytes = self.rows.row(position).unwrap_or_default();
            if !self.tests.take(bytes, context, row)? || !self.lock(position, context, row)? {
                continue;
            }
            if self.shows_rows
                && let Some(locator) = self.rows.locator(position)
            {
                place_locator(self.node, &locator, row)?;
            }
            return Ok(true);
        }
    }

    fn leave_out(&mut self, bitmap: &Rc<KeyBitmap>) -> bool {
        if !self.node.bitmaps.iter().any(|places| places == bitmap.places()) {
            return false;
        }
        let mut columns = Vec::new();
        for column in bitmap.places().iter().map(|place| place - self.node.offset) {
            // It is decoded only for the bitmap.
            let in_tests = self.tests.conditions.iter_mut().map(|test| &mut test.columns);
            for later in in_tests.chain([&mut self.tests.others]) {
                if let Some(position) = later.iter().position(|other| *other == column) {
                    columns.push(later.remove(position));
                }
            }
        }
        self.tests.bitmaps.push(Probe {
            bitmap: bitmap.clone(),
            columns,
            rows_tested: 0,
            rows_left_out: 0,
        });
        true
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
                place_locator(self.node, &locator, row)?;
                return Ok(true);
            }
        }
    }
}

/// Rows of a system view. Its arguments may use the row around it, so it is asked at the first row.
pub(super) struct ViewRows<'p> {
    node: &'p ViewNode,
    rows: Option<Made>,
}

/// Where the rows of a view come from, once it is asked.
enum Made {
    /// All of them, and their memory.
    Whole {
        rows: std::vec::IntoIter<Vec<Value>>,
        _charge: Charge,
    },
    Streamed(Box<dyn RowStream>),
    /// There are no more.
    Ended,
}

impl<'p> ViewRows<'p> {
    pub(super) fn new(node: &'p ViewNode) -> ViewRows<'p> {
        ViewRows { node, rows: None }
    }

    fn ask(&self, context: &Context<'_>, row: &[Value]) -> Result<Made> {
        let view = self.node.view;
        let arguments = self.node.arguments.iter();
        let arguments = arguments.map(|argument| Ok(evaluate(argument, row, context)?.into_owned()));
        let arguments = arguments.collect::<Result<Vec<_>>>()?;
        Withheld::check(&context.session.instance, view.name)?;
        let database = context.session.instance.database_by_id(self.node.database_id);
        let database = database.unwrap_or_else(|| context.session.database());
        let asking = context.session.system_context(database);
        match view.rows {
            Source::Whole(produce) => {
                let rows = produce(&asking, &arguments)?;
                let row_bytes = size_of::<Vec<Value>>() + view.columns.len() * size_of::<Value>();
                Ok(Made::Whole {
                    _charge: Charge::of_large(rows.len() * row_bytes)?,
                    rows: rows.into_iter(),
                })
            }
            Source::Streamed(open) => Ok(Made::Streamed(open(&asking, &arguments)?)),
        }
    }
}

impl Operator for ViewRows<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        let made = match self.rows.take() {
            Some(made) => made,
            None => self.ask(context, row)?,
        };
        let made = self.rows.insert(made);
        let values = match made {
            Made::Whole { rows, .. } => rows.next(),
            Made::Streamed(rows) => rows.next()?,
            Made::Ended => None,
        };
        match values {
            Some(values) => {
                cancel::spend(1)?;
                super::derived::place(row, self.node.offset, values);
                Ok(true)
            }
            None => {
                *made = Made::Ended;
                Ok(false)
            }
        }
    }
}
