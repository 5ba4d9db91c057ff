//! The ledger: what the server has promised, kept outside of it.
//!
//! ```text
//!   database -- gate: clients share it for each transaction, the administrator holds it alone where a statement
//!      |              would disturb them (restore, offline, drop)
//!      +-- share of each client: settled tables | tables once the transaction under way is committed
//!      +-- existence, backups
//!   derived database: what was made of one of them (restored backup, snapshot, clone, copy), and what it may hold
//!   pair of each client: the two databases of its transaction under way, which commits in both or in neither
//!   intent: the administrator's statement under way
//! ```
//!
//! Invariant: an entry is under way before its batch is sent, and settled after its answer has come and before anything
//! else is sent. So after a loss of power each share holds its settled tables or those under way, whole.

use super::model::{Author, Tables};
use crate::random::Random;
use parking_lot::{Mutex, RwLock};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How many databases there are.
pub const DATABASES: usize = 3;
/// How many clients run transactions.
pub const CLIENTS: usize = 3;
const LINES_MAX: usize = 20_000;

/// What one client has in one database.
#[derive(Debug, Clone, Default)]
pub struct Share {
    /// What was acknowledged.
    pub settled: Tables,
    /// What the transaction under way leads to.
    pub under_way: Option<Tables>,
}

/// The tables of every client, as they were at some moment.
pub type Snapshot = Vec<Tables>;

/// A backup file of a database.
#[derive(Debug, Clone, Default)]
pub struct BackupFile {
    /// What a restore of it may show: one snapshot, or two where a backup over it was cut off. None if there is no file.
    pub holds: Vec<Snapshot>,
}

/// Databases that are made of one of the workload's. There is at most one of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Derived {
    /// A backup that is restored beside its original.
    Restored,
    /// CREATE DATABASE ... AS SNAPSHOT OF.
    Snapshot,
    /// DBCC CLONEDATABASE: the tables without their rows.
    Clone,
    /// CREATE DATABASE ... AS COPY OF.
    Copy,
}

impl Derived {
    pub const ALL: [Derived; 4] = [Derived::Restored, Derived::Snapshot, Derived::Clone, Derived::Copy];

    /// The name of the database.
    pub fn name(self) -> &'static str {
        match self {
            Derived::Restored => "outside_restored",
            Derived::Snapshot => "outside_snapshot",
            Derived::Clone => "outside_clone",
            Derived::Copy => "outside_copy",
        }
    }

    /// Whether its source can be neither dropped, restored nor taken offline while it is there.
    pub fn holds_its_source(self) -> bool {
        match self {
            Derived::Snapshot | Derived::Copy => true,
            Derived::Restored | Derived::Clone => false,
        }
    }
}

/// A derived database.
#[derive(Clone)]
pub struct DerivedStanding {
    /// Which database it was made of.
    pub source: usize,
    /// The backup file of the source that it was restored from, if it was.
    pub file: Option<usize>,
    /// What it may hold: one snapshot, or several where its change was cut off.
    pub holds: Vec<Snapshot>,
}

impl std::fmt::Debug for DerivedStanding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "of database {}, backup {:?}", self.source, self.file)
    }
}

/// The state of one database.
#[derive(Debug, Clone)]
pub struct Standing {
    pub exists: bool,
    pub backups: [BackupFile; 2],
}

pub struct Database {
    pub name: String,
    /// See the module's picture.
    pub gate: RwLock<()>,
    /// One per client.
    pub shares: Vec<Mutex<Share>>,
    /// Changed by the administrator alone.
    pub standing: Mutex<Standing>,
}

/// What the administrator is about, where its being cut off leaves more than one right outcome.
#[derive(Debug, Clone)]
pub enum Intent {
    /// CREATE DATABASE, of the database with that index.
    Create(usize),
    /// DROP DATABASE.
    Drop(usize),
    /// SET OFFLINE, then SET ONLINE.
    TakeOffline(usize),
    /// BACKUP DATABASE into the file with that index, which then holds the snapshot.
    Backup(usize, usize, Snapshot),
    /// RESTORE WITH REPLACE from the file with that index.
    Restore(usize, usize),
    /// RESTORE FROM DATABASE_SNAPSHOT.
    Revert(usize),
    /// A derived database is made.
    Make(Derived, DerivedStanding),
    /// DROP DATABASE of a derived database.
    DropDerived(Derived),
    /// A change of the copy that leads to this.
    ChangeCopy(Snapshot),
    /// sp_configure 'cost threshold for parallelism' and RECONFIGURE.
    Configure(u32),
}

/// All that was promised.
pub struct Ledger {
    pub databases: Vec<Database>,
    /// The derived databases that exist, in the order of [`Derived::ALL`].
    derived: [Mutex<Option<DerivedStanding>>; 4],
    /// For each client, the two databases of its transaction under way, if it is in two.
    pub pairs: Vec<Mutex<Option<[usize; 2]>>>,
    /// The value of 'cost threshold for parallelism'.
    pub cost_threshold: Mutex<u32>,
    /// The administrator's statement under way.
    pub intent: Mutex<Option<Intent>>,
    /// One author per client.
    pub authors: Vec<Mutex<Author>>,
    /// Transactions and statements of the administrator that were acknowledged.
    pub acknowledged: AtomicU64,
    /// Checkpoints behind which the log had open transactions that were carried.
    pub carried: AtomicU64,
    /// Transactions over two databases that came to an end.
    pub in_two_databases: AtomicU64,
    /// Derived databases that were made, and snapshots that were gone back to.
    pub derived_made: AtomicU64,
    /// Set when the clients should come to an end.
    pub closing: AtomicBool,
    lines: Mutex<VecDeque<String>>,
    failures: Mutex<Vec<String>>,
}

impl Database {
    /// The settled tables of every client.
    pub fn snapshot(&self) -> Snapshot {
        self.shares.iter().map(|share| share.lock().settled.clone()).collect()
    }

    /// Makes `snapshot` what is settled.
    pub fn adopt(&self, snapshot: &Snapshot) {
        for (share, tables) in self.shares.iter().zip(snapshot) {
            *share.lock() = Share {
                settled: tables.clone(),
                under_way: None,
            };
        }
    }
}

impl Ledger {
    /// A ledger of databases that do not exist yet.
    pub fn new() -> Ledger {
        let database = |index: usize| Database {
            name: format!("outside_{}", index + 1),
            gate: RwLock::new(()),
            shares: (0..CLIENTS).map(|_| Mutex::default()).collect(),
            standing: Mutex::new(Standing {
                exists: false,
                backups: Default::default(),
            }),
        };
        Ledger {
            databases: (0..DATABASES).map(database).collect(),
            derived: Default::default(),
            pairs: (0..CLIENTS).map(|_| Mutex::default()).collect(),
            cost_threshold: Mutex::new(5),
            intent: Mutex::new(None),
            authors: (0..CLIENTS).map(|client| Mutex::new(Author::new(client))).collect(),
            acknowledged: AtomicU64::new(0),
            carried: AtomicU64::new(0),
            in_two_databases: AtomicU64::new(0),
            derived_made: AtomicU64::new(0),
            closing: AtomicBool::new(false),
            lines: Mutex::new(VecDeque::new()),
            failures: Mutex::new(Vec::new()),
        }
    }

    /// Writes a line: an intention, an acknowledgement, what was found.
    pub fn note(&self, who: &str, what: &str) {
        let mut lines = self.lines.lock();
        if lines.len() == LINES_MAX {
            lines.pop_front();
        }
        lines.push_back(format!("{who}: {what}"));
    }

    /// Notes something that must not happen.
    pub fn fail(&self, what: String) {
        self.note("FAILURE", &what);
        self.failures.lock().push(what);
    }

    /// What must not have happened and did.
    pub fn failures(&self) -> Vec<String> {
        self.failures.lock().clone()
    }

    /// The last lines as text.
    pub fn text(&self) -> String {
        let lines = self.lines.lock();
        let mut text = lines.iter().map(String::as_str).collect::<Vec<_>>().join("\n");
        text.push('\n');
        text
    }

    pub fn acknowledge(&self, who: &str) {
        self.acknowledged.fetch_add(1, Ordering::Relaxed);
        self.note(who, "acknowledged");
    }

    /// Whether clients should come to an end.
    pub fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed) || !self.failures.lock().is_empty()
    }

    /// The state of a derived database, if it exists.
    pub fn derived(&self, kind: Derived) -> &Mutex<Option<DerivedStanding>> {
        &self.derived[kind as usize]
    }

    /// Draws one of the databases.
    pub fn draw_database(&self, random: &mut Random) -> &Database {
        &self.databases[random.below(DATABASES as u64) as usize]
    }
}

impl Default for Ledger {
    fn default() -> Ledger {
        Ledger::new()
    }
}
