//! The ledger: what the server has promised, kept outside of it.
//!
//! ```text
//!   database -- gate: clients share it for each transaction, the administrator holds it alone where a statement
//!      |              would disturb them (restore, offline, drop)
//!      +-- share of each client: settled tables | tables once the transaction under way is committed
//!      +-- existence, backups
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
/// Name of the database that backups are restored to beside their original.
pub const COPY: &str = "outside_copy";
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
    /// RESTORE of a backup of the database as [`COPY`].
    MakeCopy(usize, usize),
    /// DROP DATABASE of [`COPY`].
    DropCopy,
    /// sp_configure 'cost threshold for parallelism' and RECONFIGURE.
    Configure(u32),
}

/// All that was promised.
pub struct Ledger {
    pub databases: Vec<Database>,
    /// What the copy may hold if it exists.
    pub copy: Mutex<Option<Vec<Snapshot>>>,
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
            copy: Mutex::new(None),
            cost_threshold: Mutex::new(5),
            intent: Mutex::new(None),
            authors: (0..CLIENTS).map(|client| Mutex::new(Author::new(client))).collect(),
            acknowledged: AtomicU64::new(0),
            carried: AtomicU64::new(0),
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
