//! Counts the rows, time and pages of operators: a shell around each operator of a statement whose figures were requested. `exec::open`
//! decides once for each operator whether it needs a shell, so there is no check per row.

use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use engine::buffer::{add_page_use, page_use};
use engine::error::Result;
use engine::lock::LockOwner;
use engine::seams::Clock;
use engine::types::Value;

use super::key_bitmap::KeyBitmap;
use super::{Operator, open_bare};
use crate::context::Context;
use crate::measure::{Figures, Measures, NodeAddress, Spent};
use crate::plan::{Condition, Node, ScanNode, SeekKey, SeekRange};

/// An operator with its figures. Without a clock only its pages are counted.
struct Measured<'p> {
    inner: Box<dyn Operator + 'p>,
    figures: Rc<Figures>,
    clock: Option<Arc<dyn Clock>>,
    scans: u64,
}

/// Counts a stretch of an operator's work; `rows` says how many it gave.
fn counted<T>(
    figures: &Figures,
    clock: Option<&dyn Clock>,
    rows: impl FnOnce(&T) -> u64,
    work: impl FnOnce() -> T,
) -> T {
    let now = || clock.map_or(0, Clock::now_micros);
    let (start, pages) = (now(), page_use());
    let outcome = figures.spilling(work);
    let spent = Spent {
        elapsed_micros: now().saturating_sub(start),
        cpu_micros: 0,
        reads: page_use() - pages,
    };
    figures.add(spent, rows(&outcome));
    outcome
}

impl Operator for Measured<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        let rows = |found: &Result<bool>| u64::from(matches!(found, Ok(true)));
        counted(&self.figures, self.clock.as_deref(), rows, || {
            self.inner.next(context, row)
        })
    }

    fn rewind(&mut self) -> bool {
        let can = counted(&self.figures, self.clock.as_deref(), |_| 0, || self.inner.rewind());
        if can {
            self.figures.execute(self.scans);
        }
        can
    }

    fn leave_out(&mut self, bitmap: &Rc<KeyBitmap>) -> bool {
        self.inner.leave_out(bitmap)
    }
}

/// Opens an operator in its shell, if it has one: every operator where rows are counted, else those that read tables.
pub(super) fn open<'p>(
    node: &'p Node,
    locks: &'p LockOwner,
    context: &Context<'_>,
    measures: &Measures,
) -> Result<Box<dyn Operator + 'p>> {
    let make = || open_bare(node, locks, context);
    if let Node::Scan(scan) = node {
        return around_scan(scan, measures, make);
    }
    around(node, measures, make)
}

/// Puts the shell of a node around the operator that `make` opens for it.
pub(super) fn around<'p>(
    node: &Node,
    measures: &Measures,
    make: impl FnOnce() -> Result<Box<dyn Operator + 'p>>,
) -> Result<Box<dyn Operator + 'p>> {
    match measures.counts_rows {
        true => shell(measures.of(NodeAddress::of(node), || None), 0, measures, make),
        false => make(),
    }
}

fn around_scan<'p>(
    scan: &ScanNode,
    measures: &Measures,
    make: impl FnOnce() -> Result<Box<dyn Operator + 'p>>,
) -> Result<Box<dyn Operator + 'p>> {
    shell(of_scan(scan, measures), scans_begun(scan), measures, make)
}

/// Opens a scan that tests its rows itself. Where rows are counted it does not: those it reads are counted before they are tested.
pub(super) fn open_testing<'p>(
    scan: &'p ScanNode,
    condition: &'p Condition,
    locks: &'p LockOwner,
    context: &Context<'_>,
) -> Result<Box<dyn Operator + 'p>> {
    let make = || super::scan::open(scan, Some(condition), locks, context);
    match context.session.measures() {
        None => make(),
        Some(measures) => around_scan(scan, &measures, make),
    }
}

fn shell<'p>(
    figures: Rc<Figures>,
    scans: u64,
    measures: &Measures,
    make: impl FnOnce() -> Result<Box<dyn Operator + 'p>>,
) -> Result<Box<dyn Operator + 'p>> {
    let clock = measures.counts_rows.then(|| measures.clock.clone());
    figures.execute(scans);
    let inner = counted(&figures, clock.as_deref(), |_| 0, make)?;
    Ok(Box::new(Measured {
        inner,
        figures,
        clock,
        scans,
    }))
}

/// The figures of a scan: kept by the scan rather than the surrounding node, so that code that reads a table without an operator finds
/// them.
pub(super) fn of_scan(scan: &ScanNode, measures: &Measures) -> Rc<Figures> {
    let name = || Some(scan.table.table.definition().name.clone());
    measures.of(NodeAddress::of(scan), name)
}

/// "Scan count is 0 if the index used is a unique index or clustered index on a primary key and you're seeking for only one value"; else
/// each search of one execution counts (sql-docs, "SET STATISTICS IO").
pub(super) fn scans_begun(scan: &ScanNode) -> u64 {
    let Some(seek) = &scan.seek else { return 1 };
    let definition = scan.table.table.definition();
    let Some(index) = definition.indexes.get(seek.index) else {
        return 1;
    };
    let is_one_row = |range: &SeekRange| {
        let is_value = |key: &SeekKey| matches!(key, SeekKey::Value(_));
        index.unique && range.equal.len() == index.keys.len() && range.equal.iter().all(is_value)
    };
    seek.ranges.iter().filter(|range| !is_one_row(range)).count() as u64
}

/// The figures of a table that is read without an operator, if they are wanted.
pub(super) struct Counted(Option<(Rc<Figures>, Arc<dyn Clock>)>);

impl Counted {
    pub(super) fn of(scan: &ScanNode, context: &Context<'_>) -> Counted {
        Counted(context.session.measures().map(|measures| {
            let figures = of_scan(scan, &measures);
            figures.execute(scans_begun(scan));
            (figures, measures.clock.clone())
        }))
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.0.is_some()
    }

    /// Counts a stretch of reading.
    pub(super) fn reading<T>(&self, read: impl FnOnce() -> T) -> T {
        let Some((figures, clock)) = &self.0 else { return read() };
        counted(figures, Some(&**clock), |_| 0, read)
    }

    pub(super) fn add_rows(&self, rows: usize) {
        if let Some((figures, _)) = &self.0 {
            figures.add(Spent::default(), rows as u64);
        }
    }

    /// What other threads have read for this one.
    pub(super) fn take_over(&self, counts: Option<ByWorkers>) {
        let Some(counts) = counts else { return };
        let spent = counts.spent.into_inner().unwrap_or_else(PoisonError::into_inner);
        add_page_use(spent.reads);
        if let Some((figures, _)) = &self.0 {
            figures.add(spent, counts.rows.into_inner());
        }
    }
}

/// What the threads of a parallel plan came to together.
#[derive(Default)]
pub(super) struct ByWorkers {
    spent: Mutex<Spent>,
    rows: AtomicU64,
}

impl ByWorkers {
    pub(super) fn add_rows(&self, rows: usize) {
        self.rows.fetch_add(rows as u64, Ordering::Relaxed);
    }

    /// Does a thread's work, and counts what it came to if that is wanted.
    pub(super) fn counting<T>(
        counts: Option<&ByWorkers>,
        clock: &dyn Clock,
        work: impl FnOnce(Option<&ByWorkers>) -> T,
    ) -> T {
        let outcome = work(counts);
        if let Some(counts) = counts {
            counts.add_thread(clock);
        }
        outcome
    }

    /// All that the calling thread, which is about to end, has done.
    fn add_thread(&self, clock: &dyn Clock) {
        let spent = Spent {
            elapsed_micros: 0,
            cpu_micros: clock.thread_micros(),
            reads: page_use(),
        };
        *self.spent.lock().unwrap_or_else(PoisonError::into_inner) += spent;
    }
}
