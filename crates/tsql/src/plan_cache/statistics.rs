//! Execution statistics of one plan, or of a whole module, total and per execution: the counters of `sys.dm_exec_query_stats` and
//! `sys.dm_exec_procedure_stats`.

use engine::buffer::PageUse;
use parking_lot::Mutex;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Execution {
    /// When it began, in microseconds since 1970.
    pub(crate) began_unix_micros: u64,
    pub(crate) elapsed_micros: u64,
    /// The same without the time that was waited.
    pub(crate) worker_micros: u64,
    pub(crate) pages: PageUse,
    /// Rows that it has sent, or changed.
    pub(crate) rows: u64,
    /// Most threads that read a table for it; 1 without others than its own.
    pub(crate) degree: u64,
}

/// A quantity over all executions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Measured {
    pub(crate) total: u64,
    pub(crate) last: u64,
    pub(crate) min: u64,
    pub(crate) max: u64,
}

impl Measured {
    fn add(&mut self, is_first: bool, value: u64) {
        self.total += value;
        self.last = value;
        self.min = if is_first { value } else { self.min.min(value) };
        self.max = self.max.max(value);
    }
}

/// All executions so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// When the plan was made last, in microseconds since 1970.
    pub(crate) planned_unix_micros: u64,
    /// How often it was made.
    pub(crate) plans: u64,
    /// The line of the statement in its text.
    pub(crate) line: u32,
    pub(crate) executions: u64,
    /// When the last one began, in microseconds since 1970.
    pub(crate) last_unix_micros: u64,
    pub(crate) elapsed_micros: Measured,
    pub(crate) worker_micros: Measured,
    pub(crate) physical_reads: Measured,
    pub(crate) logical_writes: Measured,
    pub(crate) logical_reads: Measured,
    pub(crate) rows: Measured,
    pub(crate) degree: Measured,
    /// Threads beside its own that stood ready for it.
    pub(crate) threads: Measured,
}

/// See the module. Shared by all sessions that execute the statement.
#[derive(Debug, Default)]
pub(crate) struct QueryStatistics {
    totals: Mutex<Totals>,
}

impl QueryStatistics {
    /// Notes that the plan was made, or made again.
    pub(crate) fn planned(&self, unix_micros: u64, line: u32) {
        let mut totals = self.totals.lock();
        totals.planned_unix_micros = unix_micros;
        totals.plans += 1;
        totals.line = line;
    }

    /// Notes when it was entered, if it is new.
    pub(crate) fn entered(&self, unix_micros: impl FnOnce() -> u64) {
        let mut totals = self.totals.lock();
        if totals.plans == 0 {
            totals.plans = 1;
            totals.planned_unix_micros = unix_micros();
        }
    }

    pub(crate) fn add(&self, execution: Execution) {
        let mut totals = self.totals.lock();
        let is_first = totals.executions == 0;
        totals.executions += 1;
        totals.last_unix_micros = execution.began_unix_micros;
        totals.elapsed_micros.add(is_first, execution.elapsed_micros);
        totals.worker_micros.add(is_first, execution.worker_micros);
        let pages = execution.pages;
        totals.physical_reads.add(is_first, pages.physical + pages.read_ahead);
        totals.logical_writes.add(is_first, pages.dirtied);
        totals.logical_reads.add(is_first, pages.logical);
        totals.rows.add(is_first, execution.rows);
        totals.degree.add(is_first, execution.degree);
        let threads = if execution.degree > 1 { execution.degree } else { 0 };
        totals.threads.add(is_first, threads);
    }

    /// All executions so far.
    pub(crate) fn totals(&self) -> Totals {
        *self.totals.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_is_that_of_an_execution_and_not_nothing() {
        let statistics = QueryStatistics::default();
        for (elapsed_micros, rows) in [(30, 2), (10, 0), (20, 1)] {
            statistics.add(Execution {
                began_unix_micros: elapsed_micros,
                elapsed_micros,
                rows,
                ..Execution::default()
            });
        }
        let totals = statistics.totals();
        assert_eq!((totals.executions, totals.last_unix_micros), (3, 20));
        let elapsed = Measured {
            total: 60,
            last: 20,
            min: 10,
            max: 30,
        };
        assert_eq!(totals.elapsed_micros, elapsed);
        assert_eq!((totals.rows.total, totals.rows.min), (3, 0));
    }
}
