//! What the optimizer has done since the instance started: the counters of `sys.dm_exec_query_optimizer_info`.

use parking_lot::Mutex;

/// Hints whose uses are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CountedHints {
    /// A join method, in FROM or in OPTION.
    pub(crate) joins: bool,
    /// FORCE ORDER
    pub(crate) order: bool,
    /// HASH GROUP, ORDER GROUP
    pub(crate) groups: bool,
}

/// The statements that are counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeStatement {
    Insert,
    Update,
    Delete,
    Merge,
}

/// All optimizations so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Optimizations {
    pub(crate) count: u64,
    pub(crate) elapsed_micros: u64,
    pub(crate) inserts: u64,
    pub(crate) updates: u64,
    pub(crate) deletes: u64,
    pub(crate) merges: u64,
    /// Statements with any of the counted hints.
    pub(crate) hints: u64,
    pub(crate) join_hints: u64,
    pub(crate) order_hints: u64,
}

/// See the module. Shared by all sessions of the instance.
#[derive(Debug, Default)]
pub(crate) struct OptimizationCounters(Mutex<Optimizations>);

impl OptimizationCounters {
    /// Notes that the optimized statement is a change.
    pub(crate) fn add_change(&self, change: ChangeStatement) {
        let mut all = self.0.lock();
        match change {
            ChangeStatement::Insert => all.inserts += 1,
            ChangeStatement::Update => all.updates += 1,
            ChangeStatement::Delete => all.deletes += 1,
            ChangeStatement::Merge => all.merges += 1,
        }
    }

    /// Notes that a statement was optimized, and how long that took.
    pub(crate) fn add(&self, elapsed_micros: u64, hints: CountedHints) {
        let mut all = self.0.lock();
        all.count += 1;
        all.elapsed_micros += elapsed_micros;
        all.hints += u64::from(hints != CountedHints::default());
        all.join_hints += u64::from(hints.joins);
        all.order_hints += u64::from(hints.order);
    }

    /// All optimizations so far.
    pub(crate) fn so_far(&self) -> Optimizations {
        *self.0.lock()
    }
}
