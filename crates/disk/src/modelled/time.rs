//! Virtual time: the modelled time of the device and the measured time of the processor, added up separately.
//!
//! ```text
//! thread     | computes | request ................. | computes |
//! processor  +----------+                           +----------+     measured (CLOCK_THREAD_CPUTIME_ID), if it is counted at all
//! device                +--- as the model says -----+                nobody waits for it
//! idle                                                             +--- as long as a caller says that it waits ---+
//! now = device + processor + idle
//! ```
//! All threads share one time: a later request starts later. So it is correct only for one session that does its work on its own thread.
//! For two concurrent sessions it would add up work that runs in parallel. Idle time passes only through [`VirtualTime::pass`], and
//! instantly.
//!
//! Invariant: without the processor's part, one history of requests has one time, to the nanosecond.

use device::Moment;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Device time and processor time of all its users, and idle time.
#[derive(Debug)]
pub struct VirtualTime {
    /// Tells the threads' marks of several times in one process apart.
    id: u64,
    counts_processor: bool,
    device_ns: AtomicU64,
    processor_ns: AtomicU64,
    idle_ns: AtomicU64,
    processes_before: AtomicU64,
}

/// The two parts of working time, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TimeParts {
    /// What the device took.
    pub device_ns: u64,
    /// What processors took.
    pub processor_ns: u64,
}

thread_local! {
    /// The time this thread last had to do with, and its own processor time then.
    static MARK: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

impl VirtualTime {
    /// Begins at zero. Without `counts_processor` nothing but the device takes time.
    pub fn new(counts_processor: bool) -> VirtualTime {
        VirtualTime {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            counts_processor,
            device_ns: AtomicU64::new(0),
            processor_ns: AtomicU64::new(0),
            idle_ns: AtomicU64::new(0),
            processes_before: AtomicU64::new(0),
        }
    }

    /// Whether processors take time.
    pub fn counts_processor(&self) -> bool {
        self.counts_processor
    }

    /// How many processes had this time's disk before this one; 0 as long as the disk was not opened.
    pub fn processes_before(&self) -> u64 {
        self.processes_before.load(Ordering::SeqCst)
    }

    /// So many processes had the disk.
    pub(super) fn follows(&self, processes: u64) {
        self.processes_before.store(processes, Ordering::SeqCst);
    }

    /// Both parts, with what the calling thread computed since it was last here.
    pub fn parts(&self) -> TimeParts {
        self.count_thread();
        self.counted()
    }

    /// Both parts as they were last counted.
    pub fn counted(&self) -> TimeParts {
        TimeParts {
            device_ns: self.device_ns.load(Ordering::SeqCst),
            processor_ns: self.processor_ns.load(Ordering::SeqCst),
        }
    }

    /// Nanoseconds since the beginning.
    pub fn now_ns(&self) -> u64 {
        self.count_thread();
        self.moment().0
    }

    /// Lets this many nanoseconds of idle time pass.
    pub fn pass(&self, ns: u64) {
        self.idle_ns.fetch_add(ns, Ordering::SeqCst);
    }

    /// Now, as it was last counted.
    pub(super) fn moment(&self) -> Moment {
        let parts = self.counted();
        Moment(parts.device_ns + parts.processor_ns + self.idle_ns.load(Ordering::SeqCst))
    }

    /// The device is done at `then`.
    pub(super) fn device_works(&self, since: Moment, then: Moment) {
        let waited = then.0.saturating_sub(since.0);
        self.device_ns.fetch_add(waited, Ordering::SeqCst);
    }

    /// What the calling thread computed since it was last here counts for nothing: it was the model's own work.
    pub(super) fn leave_out(&self) {
        if self.counts_processor {
            MARK.set((self.id, thread_ns()));
        }
    }

    fn count_thread(&self) {
        if !self.counts_processor {
            return;
        }
        let here = thread_ns();
        // A thread that comes for the first time begins now.
        if let (id, before) = MARK.replace((self.id, here))
            && id == self.id
        {
            self.processor_ns
                .fetch_add(here.saturating_sub(before), Ordering::SeqCst);
        }
    }
}

/// Nanoseconds that the calling thread spent on a processor.
fn thread_ns() -> u64 {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    u64::try_from(spent.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(spent.tv_nsec).unwrap_or(0)
}
