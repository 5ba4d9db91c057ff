//! Reading a whole table, page by page, on one or several threads.
//!
//! ```text
//! worker:  part of the table -> pages -> rows -> Producer -> packet --\
//! worker:  part of the table -> pages -> rows -> Producer -> packet ---> exchange -> consumer
//! ```
//! The scan uses one thread if the plan costs less than `cost threshold for parallelism`, if the isolation level locks rows, or if the
//! environment does background work inline (so that a simulation repeats exactly). Otherwise it uses as many threads as MAXDOP or
//! `max degree of parallelism` allows. The cost of a scan is SQL Server's own unit for a page read in sequence, 1/1350 second (Craig
//! Freedman and Joe Chang on the optimizer's cost model).
//!
//! Workers take no locks. Pages that may be changing are left to the session's thread, which reads them last.

use engine::cancel;
use engine::error::Result;
use engine::memory;
use engine::session::{PutAside, TableParts, TableScan};
use engine::store::ReadMode;

use super::exchange::Exchange;
use super::measured::{ByWorkers, Counted};
use super::scan::{begin, lock_table, named, read_mode};
use crate::context::Context;
use crate::plan::ScanNode;
use crate::scalar::served;

/// Pages read in sequence that cost one unit.
const PAGES_PER_COST_UNIT: u64 = 1_350;
/// SQL Server's limit of threads for one operator (SQL Server docs, "max degree of parallelism").
const DEGREE_MAX: usize = 64;

/// Makes packets of rows.
pub(crate) trait Producer {
    /// What goes to the consumer.
    type Packet;

    /// Takes a stored row.
    ///
    /// # Errors
    /// Those of the expressions computed from it.
    fn take(&mut self, row: &[u8]) -> Result<()>;

    /// A packet, if one is full. Asked after each page.
    fn full(&mut self) -> Option<Self::Packet>;

    /// What is left at the end.
    fn rest(&mut self) -> Option<Self::Packet>;
}

/// What workers send.
enum Sent<T> {
    Packet(T),
    Aside(Vec<PutAside>),
}

/// How many threads read a table.
pub(crate) fn degree(scan: &ScanNode, context: &Context<'_>) -> usize {
    let instance = &context.session.instance;
    let (session, forgives) = {
        let options = context.session.options();
        (options.isolation, !options.ansi_warnings && !options.arithabort)
    };
    let locks_rows = matches!(
        scan.locking.locks(session, scan.has_key()).rows,
        ReadMode::Locked(_) | ReadMode::LockedPast(_) | ReadMode::CommittedPast | ReadMode::Ranges(_)
    );
    let threshold = instance.configuration.in_use("cost threshold for parallelism");
    let cost = scan.table.table.page_count() / PAGES_PER_COST_UNIT;
    let is_cheap = cost < u64::try_from(threshold).unwrap_or(0);
    let is_inline = matches!(instance.env.background, engine::seams::Background::Inline);
    // Arithmetic errors that are passed over are reported at the end of the statement, by the thread that runs it.
    let is_part = scan.table.table.is_partitioned()
        || scan.sample.is_some()
        || scan.seek.is_some()
        || scan.text_row.is_some()
        || scan.cursor.is_some();
    if is_inline || is_cheap || locks_rows || forgives || scan.locking.no_wait || is_part {
        return 1;
    }
    let configured = instance.configuration.in_use("max degree of parallelism");
    let allowed = scan
        .degree_max
        .unwrap_or_else(|| usize::try_from(configured).unwrap_or(0));
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    match allowed {
        0 => processors.min(DEGREE_MAX),
        allowed => allowed.min(processors).min(DEGREE_MAX),
    }
}

/// Reads a table on this thread; `consume` answers false when it wants no more.
///
/// # Errors
/// Those of reading, of the producer and of `consume`.
pub(crate) fn gather_here<P: Producer>(
    scan: &ScanNode,
    context: &Context<'_>,
    mut producer: P,
    consume: &mut dyn FnMut(P::Packet) -> Result<bool>,
) -> Result<()> {
    lock_table(scan, context)?;
    let counted = Counted::of(scan, context);
    let table = &scan.table.table;
    let mode = table.effective_mode(context.locks(), read_mode(scan, context));
    let mut rows = begin(scan, context.locks(), mode, context)?;
    while counted
        .reading(|| rows.next_batch())
        .map_err(|error| named(scan, error))?
    {
        counted.add_rows(rows.len());
        take_page(&rows, &mut producer)?;
        if let Some(packet) = producer.full()
            && !consume(packet)?
        {
            return Ok(());
        }
    }
    match producer.rest() {
        Some(packet) => consume(packet).map(|_| ()),
        None => Ok(()),
    }
}

/// Reads a table on `degree` threads; `consume` runs on this one, and answers false when it wants no more. The order of
/// packets is anyone's.
///
/// # Errors
/// The first error that anyone of them meets.
pub(crate) fn gather<P, M>(
    scan: &ScanNode,
    context: &Context<'_>,
    degree: usize,
    make: &M,
    consume: &mut dyn FnMut(P::Packet) -> Result<bool>,
) -> Result<()>
where
    P: Producer,
    P::Packet: Send,
    M: Fn() -> P + Sync,
{
    if degree < 2 {
        return gather_here(scan, context, make(), consume);
    }
    lock_table(scan, context)?;
    let counted = Counted::of(scan, context);
    let clock = &*context.session.instance.env.clock;
    let by_workers = counted.is_wanted().then(ByWorkers::default);
    let parts = scan.table.table.parts(context.locks(), read_mode(scan, context))?;
    let request = cancel::served();
    let conversions = served::served();
    let exchange = Exchange::new(degree, &context.session.instance.env);
    let workspace = &context.session.instance.workspace;
    let mut aside = Vec::new();
    let mut started = 0;
    let wants_more = std::thread::scope(|threads| {
        // Whatever ends this closure, a panic too: who waits for room must not wait without end.
        let _closing = exchange.closing();
        while started < degree {
            let run = || {
                let _working = memory::enter(workspace.clone());
                crate::stack::begin_thread(crate::stack::THREAD_BYTES);
                served::serve(conversions);
                exchange.produce(|| {
                    ByWorkers::counting(by_workers.as_ref(), clock, |counts| {
                        work(&parts, request.clone(), make(), &exchange, counts)
                    })
                });
            };
            let thread = std::thread::Builder::new().stack_size(crate::stack::THREAD_BYTES);
            if thread.spawn_scoped(threads, run).is_err() {
                exchange.absent(degree - started);
                break;
            }
            started += 1;
        }
        receive_all(&exchange, &mut aside, consume)
    })?;
    if started == 0 {
        // The system gives no thread, so nobody has read anything: this one does.
        return gather_here(scan, context, make(), consume);
    }
    context.session.note_degree(started as u64);
    counted.take_over(by_workers);
    if !wants_more {
        return Ok(());
    }
    read_aside(&parts, aside, make(), &counted, consume)
}

/// Reads on this thread what workers have put aside.
fn read_aside<P: Producer>(
    parts: &TableParts<'_>,
    aside: Vec<PutAside>,
    mut producer: P,
    counted: &Counted,
    consume: &mut dyn FnMut(P::Packet) -> Result<bool>,
) -> Result<()> {
    for page in aside {
        let mut rows = parts.scan_put_aside(page)?;
        while counted.reading(|| rows.next_batch())? {
            counted.add_rows(rows.len());
            take_page(&rows, &mut producer)?;
            if let Some(packet) = producer.full()
                && !consume(packet)?
            {
                return Ok(());
            }
        }
    }
    match producer.rest() {
        Some(packet) => consume(packet).map(|_| ()),
        None => Ok(()),
    }
}

/// Hands packets to the consumer until there are no more; false when it wants no more.
fn receive_all<T>(
    exchange: &Exchange<'_, Sent<T>>,
    aside: &mut Vec<PutAside>,
    consume: &mut dyn FnMut(T) -> Result<bool>,
) -> Result<bool> {
    while let Some(sent) = exchange.receive() {
        cancel::look()?;
        match sent? {
            Sent::Aside(pages) => aside.extend(pages),
            Sent::Packet(packet) => {
                if !consume(packet)? {
                    return Ok(false);
                }
            }
        }
    }
    Ok(true)
}

/// A worker's share: parts of the table until none is left or nobody wants more.
fn work<P: Producer>(
    parts: &TableParts<'_>,
    request: Option<cancel::Flag>,
    mut producer: P,
    exchange: &Exchange<'_, Sent<P::Packet>>,
    counts: Option<&ByWorkers>,
) -> Result<()> {
    let _serving = cancel::serve(request);
    while let Some(part) = parts.take() {
        let mut rows = parts.scan(part)?;
        while rows.next_batch()? {
            if let Some(counts) = counts {
                counts.add_rows(rows.len());
            }
            take_page(&rows, &mut producer)?;
            if let Some(packet) = producer.full()
                && !exchange.send(Ok(Sent::Packet(packet)))
            {
                return Ok(());
            }
        }
        let aside = rows.take_put_aside();
        if !aside.is_empty() && !exchange.send(Ok(Sent::Aside(aside))) {
            return Ok(());
        }
    }
    if let Some(packet) = producer.rest() {
        exchange.send(Ok(Sent::Packet(packet)));
    }
    Ok(())
}

fn take_page<P: Producer>(rows: &TableScan<'_>, producer: &mut P) -> Result<()> {
    (0..rows.len()).try_for_each(|index| {
        cancel::spend(1)?;
        producer.take(rows.row(index).unwrap_or_default())
    })
}
