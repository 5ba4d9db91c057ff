//! Actual figures of a statement, by operator: rows, executions, time, pages. They are counted only on request (SET STATISTICS IO, TIME,
//! PROFILE and XML); otherwise operators are opened without counters.
//!
//! ```text
//! statement --- begins ---> Measures --- an operator is opened ---> Figures of its place in the plan
//!                                                                   inclusive: what is below it counts for it as well
//! ```
//! Operators are identified by the address of their node in the plan, which does not move while the plan runs.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use engine::buffer::{PageUse, page_use};
use engine::seams::Clock;
use engine::workspace::{SpillUses, replace_spill_uses};

/// A node of a plan by where it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeAddress(usize);

impl NodeAddress {
    /// Of a node, for as long as its plan is not moved.
    pub fn of<T>(node: &T) -> NodeAddress {
        NodeAddress(std::ptr::from_ref(node).addr())
    }
}

/// A point of time and of pages read, from which a stretch of work is counted.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    micros: u64,
    thread_micros: u64,
    reads: PageUse,
}

/// What a stretch of work came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Time that went by.
    pub elapsed_micros: u64,
    /// Time on a processor.
    pub cpu_micros: u64,
    /// Pages fixed.
    pub reads: PageUse,
}

impl Start {
    /// Now, on this thread.
    pub fn now(clock: &dyn Clock) -> Start {
        Start {
            micros: clock.now_micros(),
            thread_micros: clock.thread_micros(),
            reads: page_use(),
        }
    }

    /// What was spent since, on the same thread.
    pub fn spent(self, clock: &dyn Clock) -> Spent {
        Spent {
            elapsed_micros: clock.now_micros().saturating_sub(self.micros),
            cpu_micros: clock.thread_micros().saturating_sub(self.thread_micros),
            reads: page_use() - self.reads,
        }
    }
}

impl std::ops::AddAssign for Spent {
    fn add_assign(&mut self, more: Spent) {
        self.elapsed_micros += more.elapsed_micros;
        self.cpu_micros += more.cpu_micros;
        self.reads = self.reads + more.reads;
    }
}

/// What one operator came to, with those below it.
#[derive(Debug, Default)]
pub struct Figures {
    /// The table, where it reads one.
    pub table: Option<String>,
    rows: Cell<u64>,
    executions: Cell<u64>,
    scans: Cell<u64>,
    spent: Cell<Spent>,
    spilled: Cell<SpillUses>,
}

impl Figures {
    /// Does a stretch of its work; what it spills counts as its own, not as its caller's.
    pub fn spilling<T>(&self, work: impl FnOnce() -> T) -> T {
        let outer = replace_spill_uses(SpillUses::default());
        let outcome = work();
        self.spilled.set(self.spilled.get() + replace_spill_uses(outer));
        outcome
    }

    /// What it has spilled, without those below it.
    pub fn spilled(&self) -> SpillUses {
        self.spilled.get()
    }

    /// Begins once more, with so many scans and searches of more than one row.
    pub fn execute(&self, scans: u64) {
        self.executions.set(self.executions.get() + 1);
        self.scans.set(self.scans.get() + scans);
    }

    /// A stretch of its work, which gave so many rows.
    pub fn add(&self, spent: Spent, rows: u64) {
        let mut sum = self.spent.get();
        sum += spent;
        self.spent.set(sum);
        self.rows.set(self.rows.get() + rows);
    }

    /// Rows it gave, over all executions.
    pub fn rows(&self) -> u64 {
        self.rows.get()
    }

    /// How often it began.
    pub fn executions(&self) -> u64 {
        self.executions.get()
    }

    /// How many scans and searches of more than one row it began.
    pub fn scans(&self) -> u64 {
        self.scans.get()
    }

    /// Time and pages.
    pub fn spent(&self) -> Spent {
        self.spent.get()
    }
}

pub struct Measures {
    /// What time is taken from.
    pub clock: Arc<dyn Clock>,
    /// Whether rows and time of each operator are counted, and not only pages of tables.
    pub counts_rows: bool,
    start: Start,
    operators: RefCell<HashMap<NodeAddress, Rc<Figures>>>,
    /// Those that read tables, in the order in which they were opened first.
    tables: RefCell<Vec<Rc<Figures>>>,
    /// What was spilled outside of operators that are counted.
    spilled: Cell<SpillUses>,
}

/// What a statement has read of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableReads {
    /// Its name, without schema.
    pub table: String,
    /// Scans, and searches that may find more than one row.
    pub scans: u64,
    pub reads: PageUse,
}

impl Measures {
    /// Counts from here on.
    pub fn begin(clock: Arc<dyn Clock>, counts_rows: bool) -> Measures {
        Measures {
            counts_rows,
            start: Start::now(&*clock),
            clock,
            operators: RefCell::default(),
            tables: RefCell::default(),
            spilled: Cell::default(),
        }
    }

    /// Takes note of what the thread has spilled for the statement outside of counted operators.
    pub fn add_spilled(&self, more: SpillUses) {
        self.spilled.set(self.spilled.get() + more);
    }

    /// What the statement has spilled so far.
    pub fn spilled(&self) -> SpillUses {
        let operators = self.operators.borrow();
        let by_operators = operators.values().map(|figures| figures.spilled());
        by_operators.fold(self.spilled.get(), |sum, more| sum + more)
    }

    /// What the whole statement came to so far.
    pub fn spent(&self) -> Spent {
        self.start.spent(&*self.clock)
    }

    /// The figures of an operator; `table` is asked when it is met for the first time.
    pub fn of(&self, node: NodeAddress, table: impl FnOnce() -> Option<String>) -> Rc<Figures> {
        let mut operators = self.operators.borrow_mut();
        let figures = operators.entry(node).or_insert_with(|| {
            let figures = Rc::new(Figures {
                table: table(),
                ..Figures::default()
            });
            if figures.table.is_some() {
                self.tables.borrow_mut().push(figures.clone());
            }
            figures
        });
        figures.clone()
    }

    /// The figures of an operator that was opened.
    pub fn find(&self, node: NodeAddress) -> Option<Rc<Figures>> {
        self.operators.borrow().get(&node).cloned()
    }

    /// What was read, by table. What `target`, which the statement changes, was read for is all that no operator has read.
    pub fn tables(&self, target: Option<&str>) -> Vec<TableReads> {
        let mut all: Vec<TableReads> = Vec::new();
        let mut add = |table: &str, scans: u64, reads: PageUse| match all.iter_mut().find(|one| one.table == table) {
            Some(one) => {
                one.scans += scans;
                one.reads = one.reads + reads;
            }
            None => all.push(TableReads {
                table: table.to_owned(),
                scans,
                reads,
            }),
        };
        let mut by_operators = PageUse::default();
        for figures in self.tables.borrow().iter() {
            let reads = figures.spent().reads;
            by_operators = by_operators + reads;
            add(figures.table.as_deref().unwrap_or_default(), figures.scans(), reads);
        }
        if let Some(target) = target {
            add(target, 0, self.spent().reads - by_operators);
        }
        all
    }
}
