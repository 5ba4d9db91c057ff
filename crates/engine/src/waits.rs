//! Wait statistics under SQL Server's names, measured at the wait itself.
//!
//! A wait is recorded when it is over: count, total, longest and signal time, as `sys.dm_os_wait_stats` shows them (sql-docs:
//! only completed waits are shown; `wait_time_ms` includes signal time). Preemptive waits are time inside the operating
//! system's own call. Recording is a few atomic additions, so it may stand on hot paths.

use crate::clock::Clock;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! wait_types {
    ($($variant:ident => $name:literal, $meaning:literal;)+) => {
        /// A kind of wait, named as SQL Server names it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(usize)]
        pub enum WaitType { $(#[doc = $meaning] $variant,)+ }

        impl WaitType {
            /// Every kind, in the order of their names.
            pub const ALL: &'static [WaitType] = &[$(WaitType::$variant,)+];

            /// SQL Server's name.
            pub fn name(self) -> &'static str {
                match self { $(WaitType::$variant => $name,)+ }
            }
        }
    };
}

wait_types! {
    AsyncIoCompletion => "ASYNC_IO_COMPLETION", "A task waits for its own asynchronous I/O (backup, restore, file creation).";
    AsyncNetworkIo => "ASYNC_NETWORK_IO", "The client does not take its results fast enough.";
    BackupIo => "BACKUPIO", "A backup waits for its output.";
    CheckpointQueue => "CHECKPOINT_QUEUE", "The checkpoint task waits for its next request.";
    CxPacket => "CXPACKET", "Workers of one parallel operator wait for each other.";
    IoCompletion => "IO_COMPLETION", "I/O other than data pages, such as the log's own reads.";
    LatchEx => "LATCH_EX", "An exclusive latch that does not guard a page.";
    LatchSh => "LATCH_SH", "A shared latch that does not guard a page.";
    LockMIntentExclusive => "LCK_M_IX", "An intent-exclusive lock.";
    LockMIntentShared => "LCK_M_IS", "An intent-shared lock.";
    LockMRangeInsertNone => "LCK_M_RIn_NL", "The gap before a key, for an insert.";
    LockMRangeInsertShared => "LCK_M_RIn_S", "The gap before a key for an insert, the key shared.";
    LockMRangeInsertUpdate => "LCK_M_RIn_U", "The gap before a key for an insert, the key for update.";
    LockMRangeInsertExclusive => "LCK_M_RIn_X", "The gap before a key for an insert, the key exclusively.";
    LockMRangeSharedShared => "LCK_M_RS_S", "A key and the gap before it, shared.";
    LockMRangeSharedUpdate => "LCK_M_RS_U", "A key for update and the gap before it, shared.";
    LockMRangeExclusiveShared => "LCK_M_RX_S", "The gap before a key exclusively, the key shared.";
    LockMRangeExclusiveUpdate => "LCK_M_RX_U", "The gap before a key exclusively, the key for update.";
    LockMRangeExclusiveExclusive => "LCK_M_RX_X", "A key and the gap before it, exclusively.";
    LockMSchemaModification => "LCK_M_SCH_M", "A schema modification lock.";
    LockMSchemaStability => "LCK_M_SCH_S", "A schema stability lock.";
    LockMShared => "LCK_M_S", "A shared lock.";
    LockMSharedIntentExclusive => "LCK_M_SIX", "A shared lock with intent to take exclusive ones.";
    LockMUpdate => "LCK_M_U", "An update lock.";
    LockMExclusive => "LCK_M_X", "An exclusive lock.";
    LogBuffer => "LOGBUFFER", "Room in the log cache for one more record.";
    LogManager => "LOGMGR", "Outstanding log writes before the log is closed.";
    LogManagerQueue => "LOGMGR_QUEUE", "The log's background worker waits for work.";
    PageIoLatchExclusive => "PAGEIOLATCH_EX", "A page being read in, wanted exclusively.";
    PageIoLatchShared => "PAGEIOLATCH_SH", "A page being read in, wanted shared.";
    PageLatchExclusive => "PAGELATCH_EX", "A page in memory, wanted exclusively.";
    PageLatchShared => "PAGELATCH_SH", "A page in memory, wanted shared.";
    PreemptiveFileOps => "PREEMPTIVE_OS_FILEOPS", "Opening, sizing and closing files in the operating system.";
    PreemptiveFlushFileBuffers => "PREEMPTIVE_OS_FLUSHFILEBUFFERS", "The operating system makes a file durable.";
    PreemptiveWriteFileGather => "PREEMPTIVE_OS_WRITEFILEGATHER", "The operating system writes zeros over new file space.";
    WaitFor => "WAITFOR", "A WAITFOR statement.";
    WriteCompletion => "WRITE_COMPLETION", "A write of pages in progress.";
    WriteLog => "WRITELOG", "A log flush, commonly of a commit.";
}

#[derive(Default)]
struct Counter {
    waiting_tasks: AtomicU64,
    wait_micros: AtomicU64,
    wait_micros_max: AtomicU64,
    signal_micros: AtomicU64,
}

/// One line of `sys.dm_os_wait_stats`. Times in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitRow {
    pub wait_type: WaitType,
    /// Waits that ended.
    pub waiting_tasks: u64,
    /// Total time, signal time included.
    pub wait_micros: u64,
    pub wait_micros_max: u64,
    /// Time between being signalled and running again.
    pub signal_micros: u64,
}

/// The instance's wait statistics.
pub struct WaitStatistics {
    counters: Vec<Counter>,
}

thread_local! {
    static WAITED_MICROS: Cell<u64> = const { Cell::new(0) };
    /// The waits of the session whose request this thread serves.
    static OF_SESSION: RefCell<Option<Arc<WaitStatistics>>> = const { RefCell::new(None) };
}

/// How long this thread has waited since it began, as far as its waits were recorded, in microseconds.
pub fn waited_micros() -> u64 {
    WAITED_MICROS.get()
}

/// This thread's waits are, besides the instance's, those of a session from now on; of none with `None`.
pub fn serve_session(waits: Option<Arc<WaitStatistics>>) {
    OF_SESSION.replace(waits);
}

impl WaitStatistics {
    /// All zero.
    pub fn new() -> WaitStatistics {
        WaitStatistics {
            counters: WaitType::ALL.iter().map(|_| Counter::default()).collect(),
        }
    }

    /// Records one wait that is over.
    pub fn record(&self, wait_type: WaitType, wait_micros: u64, signal_micros: u64) {
        WAITED_MICROS.set(WAITED_MICROS.get() + wait_micros);
        OF_SESSION.with_borrow(|session| {
            if let Some(session) = session {
                session.count(wait_type, wait_micros, signal_micros);
            }
        });
        self.count(wait_type, wait_micros, signal_micros);
    }

    fn count(&self, wait_type: WaitType, wait_micros: u64, signal_micros: u64) {
        let counter = &self.counters[wait_type as usize];
        counter.waiting_tasks.fetch_add(1, Ordering::Relaxed);
        counter.wait_micros.fetch_add(wait_micros, Ordering::Relaxed);
        counter.wait_micros_max.fetch_max(wait_micros, Ordering::Relaxed);
        counter.signal_micros.fetch_add(signal_micros, Ordering::Relaxed);
    }

    /// Runs `work` and records its duration as one wait.
    pub fn time<T>(&self, clock: &dyn Clock, wait_type: WaitType, work: impl FnOnce() -> T) -> T {
        let start = clock.now_micros();
        let result = work();
        self.record(wait_type, clock.now_micros().saturating_sub(start), 0);
        result
    }

    /// A copy of all counters, every wait type once.
    pub fn rows(&self) -> Vec<WaitRow> {
        let row = |&wait_type: &WaitType| {
            let counter = &self.counters[wait_type as usize];
            WaitRow {
                wait_type,
                waiting_tasks: counter.waiting_tasks.load(Ordering::Relaxed),
                wait_micros: counter.wait_micros.load(Ordering::Relaxed),
                wait_micros_max: counter.wait_micros_max.load(Ordering::Relaxed),
                signal_micros: counter.signal_micros.load(Ordering::Relaxed),
            }
        };
        WaitType::ALL.iter().map(row).collect()
    }

    /// `DBCC SQLPERF('sys.dm_os_wait_stats', CLEAR)`.
    pub fn clear(&self) {
        for counter in &self.counters {
            counter.waiting_tasks.store(0, Ordering::Relaxed);
            counter.wait_micros.store(0, Ordering::Relaxed);
            counter.wait_micros_max.store(0, Ordering::Relaxed);
            counter.signal_micros.store(0, Ordering::Relaxed);
        }
    }
}

impl Default for WaitStatistics {
    fn default() -> Self {
        WaitStatistics::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_add_up_and_clear() {
        let waits = WaitStatistics::new();
        waits.record(WaitType::WriteLog, 100, 3);
        waits.record(WaitType::WriteLog, 250, 4);
        let row = waits.rows()[WaitType::WriteLog as usize];
        assert_eq!(row.wait_type.name(), "WRITELOG");
        assert_eq!(
            (
                row.waiting_tasks,
                row.wait_micros,
                row.wait_micros_max,
                row.signal_micros
            ),
            (2, 350, 250, 7)
        );
        waits.clear();
        assert!(
            waits
                .rows()
                .iter()
                .all(|row| row.waiting_tasks == 0 && row.wait_micros == 0)
        );
    }
}
