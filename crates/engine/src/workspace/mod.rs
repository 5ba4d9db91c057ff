//! Memory for queries: the limits for sorts, hash tables and buffered rows, and the files to which they spill.
//!
//! ```text
//! max server memory   |--------------- pages ---------------|-- lent ---|
//! workspace                                                 |- taken -|     at most 3/4 of it all
//! one query                                                 |-|             at most 1/4 of that if it can spill; operators
//!                                                                           that can spill leave 1/8 of it to the others
//! ```
//! The shares are SQL Server's (sql-docs, "Memory management architecture guide" and "resource governor": a query's grant is at most 25 %
//! of workspace memory by default; the workspace is some three quarters of the target). As there, the workspace is part of
//! `max server memory`: the buffer pool lends it memory, and evicts pages for it when the pool is full.
//!
//! A small reserve of returned memory stays lent, so that the next query need not evict pages.
//!
//! It is the instance's memory accountant ([`crate::memory`]): parse trees and plans, long strings, messages in transit and rows buffered
//! by operators all take their memory from it.
//!
//! Before a request is refused, holders of memory that can be rebuilt (plan caches, [`crate::memory::Keeper`]) are asked to free it.
//!
//! Invariant: granted memory never exceeds the limit. A refused operator spills to a [`SpillFile`], or fails with 701. Only memory that
//! already existed is recorded beyond the limit, and counts against the next request.
//!
//! Invariant: at every moment the pool has lent at least as much as is taken: both change under one lock.
//!
//! Invariant: spill files lie in one folder next to tempdb, and none outlives the instance: startup empties the folder, and reports files
//! that it could not delete.

mod spill;

pub use spill::{Extent, SpillFile, SpillKind, SpillUse, SpillUses, Spilling, replace_spill_uses};

use crate::buffer::BufferPool;
use crate::error::{Error, Result};
use crate::memory::{Accountant, Keeper};
use crate::page::PAGE_BYTES;
use crate::seams::Environment;
use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// SQL Server's least `max server memory` (sql-docs): the workspace is never sized for less.
const SERVER_MEMORY_BYTES_MIN: u64 = 128 << 20;
/// The query that can spill takes at most one part in so many of the workspace.
const QUERY_SHARE_DIVISOR: u64 = 4;
/// Operators that can spill leave one part in so many of the workspace to those who cannot.
const UNSPILLABLE_DIVISOR: u64 = 8;
/// What the pool lends at a time.
const LENT_STEP_BYTES: u64 = 4 << 20;
/// The maximum reserve: unused memory that stays lent.
const RESERVE_BYTES_MAX: u64 = 32 << 20;
/// The same as a part of the workspace: one in so many.
const RESERVE_DIVISOR: u64 = 16;

/// What queries have, and what the pool lends for it.
#[derive(Default)]
struct Amounts {
    used_bytes: u64,
    /// Whole steps.
    lent_bytes: u64,
}

/// Query memory of an instance.
pub struct Workspace {
    env: Environment,
    folder: PathBuf,
    pool: Arc<BufferPool>,
    limit_bytes: AtomicU64,
    amounts: Mutex<Amounts>,
    /// What gives up memory before a request is refused.
    keepers: Mutex<Vec<Weak<dyn Keeper>>>,
    files_made: AtomicU64,
    spilled_bytes: AtomicU64,
}

impl Workspace {
    /// A workspace for an instance of so much memory, of which the pool lends what is taken, and whose spill files go to
    /// `folder`. Files left there by a crash are deleted.
    pub fn new(env: Environment, folder: PathBuf, pool: Arc<BufferPool>, server_memory_bytes: u64) -> Workspace {
        empty(&env, &folder);
        Workspace {
            env,
            folder,
            pool,
            limit_bytes: AtomicU64::new(limit_of(server_memory_bytes)),
            amounts: Mutex::default(),
            keepers: Mutex::default(),
            files_made: AtomicU64::new(0),
            spilled_bytes: AtomicU64::new(0),
        }
    }

    /// Bytes that all queries together may take.
    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes.load(Ordering::Relaxed)
    }

    /// The instance has so much memory from now on. What queries have taken already stays theirs.
    pub fn resize(&self, server_memory_bytes: u64) {
        self.limit_bytes.store(limit_of(server_memory_bytes), Ordering::Relaxed);
    }

    /// Bytes that one query may take before it spills.
    pub fn query_limit_bytes(&self) -> u64 {
        self.limit_bytes() / QUERY_SHARE_DIVISOR
    }

    pub fn used_bytes(&self) -> u64 {
        self.amounts.lock().used_bytes
    }

    /// Bytes written to spill files since the start.
    pub fn spilled_bytes(&self) -> u64 {
        self.spilled_bytes.load(Ordering::Relaxed)
    }

    /// Takes memory; false when there is not so much left, nor after keepers have given up what they can.
    pub fn take(&self, bytes: u64) -> bool {
        let limit = self.limit_bytes();
        let take = || self.change(|used| used.checked_add(bytes).filter(|&sum| sum <= limit));
        if take() {
            return true;
        }
        if bytes > limit {
            return false;
        }
        let keepers = self.keepers.lock().clone();
        keepers.iter().filter_map(Weak::upgrade).any(|keeper| {
            let missing = (self.used_bytes() + bytes).saturating_sub(limit);
            keeper.give_up(missing);
            take()
        })
    }

    /// `keeper` is asked to give up memory before anybody is refused.
    pub fn add_keeper(&self, keeper: Weak<dyn Keeper>) {
        self.keepers.lock().push(keeper);
    }

    /// Takes memory for an operator that can go on in a file: what may be needed by who cannot is left.
    pub fn take_to_spill_later(&self, bytes: u64) -> bool {
        let left = self.limit_bytes().saturating_sub(self.used_bytes());
        left >= bytes.saturating_add(self.reserve_bytes()) && self.take(bytes)
    }

    /// What operators that can spill leave to strings, trees and rows that cannot.
    pub fn reserve_bytes(&self) -> u64 {
        self.limit_bytes() / UNSPILLABLE_DIVISOR
    }

    pub fn give_back(&self, bytes: u64) {
        self.change(|used| {
            debug_assert!(used >= bytes, "{bytes} bytes come back of {used}");
            Some(used.saturating_sub(bytes))
        });
    }

    /// Notes memory that is in use already.
    pub fn take_beyond(&self, bytes: u64) {
        self.change(|used| Some(used.saturating_add(bytes)));
    }

    /// Changes what is taken, unless `to` refuses, and with it what is lent: the pool lends what is missing, and has back what
    /// is lent beyond the reserve. Its pages give way outside the lock.
    fn change(&self, to: impl FnOnce(u64) -> Option<u64>) -> bool {
        let reserve = RESERVE_BYTES_MAX.min(self.limit_bytes() / RESERVE_DIVISOR);
        let mut amounts = self.amounts.lock();
        let Some(used) = to(amounts.used_bytes) else {
            return false;
        };
        amounts.used_bytes = used;
        let lent = lent_for(used, amounts.lent_bytes, reserve);
        let lends_more = lent > amounts.lent_bytes;
        if lent != amounts.lent_bytes {
            amounts.lent_bytes = lent;
            self.pool.set_lent((lent / PAGE_BYTES as u64) as usize);
        }
        drop(amounts);
        if lends_more {
            self.pool.give_way();
        }
        true
    }

    /// A new, empty spill file, deleted when it is dropped.
    ///
    /// # Errors
    /// 1105 for tempdb when the disk is full, 823 for other failures.
    pub fn spill_file(self: &Arc<Workspace>, why: Spilling) -> Result<SpillFile> {
        let number = self.files_made.fetch_add(1, Ordering::Relaxed);
        SpillFile::create(self.clone(), self.folder.join(format!("{number}.spill")), why)
    }

    fn failed(&self, error: &disk::DiskError) -> Error {
        if error.kind == disk::DiskErrorKind::DiskFull {
            return Self::full();
        }
        let path = error.path.display().to_string();
        Error::data_file_io(error.operation, error.offset.unwrap_or(0), &path, &Error::cause(error))
    }

    /// 1105: there is no room for what does not fit into memory.
    fn full() -> Error {
        Error::filegroup_full("<temporary system object>", "tempdb", "PRIMARY")
    }
}

impl Accountant for Workspace {
    fn take(&self, bytes: u64) -> bool {
        Workspace::take(self, bytes)
    }

    fn take_beyond(&self, bytes: u64) {
        Workspace::take_beyond(self, bytes);
    }

    fn give_back(&self, bytes: u64) {
        Workspace::give_back(self, bytes);
    }
}

/// What is to be lent when so much is used and so much is lent: whole steps, enough, and not much more than the reserve.
fn lent_for(used_bytes: u64, lent_bytes: u64, reserve_bytes: u64) -> u64 {
    let least = used_bytes.next_multiple_of(LENT_STEP_BYTES);
    let most = (used_bytes + reserve_bytes).next_multiple_of(LENT_STEP_BYTES);
    lent_bytes.clamp(least, most)
}

/// Three quarters of what the server may use.
fn limit_of(server_memory_bytes: u64) -> u64 {
    server_memory_bytes.max(SERVER_MEMORY_BYTES_MIN) / 4 * 3
}

/// Deletes what a former run left. A file that cannot be deleted, or found, takes space but disturbs nothing, so it is only
/// logged.
fn empty(env: &Environment, folder: &Path) {
    let left = match env.disk.list(folder) {
        Ok(left) => left,
        // Nothing has been spilled yet.
        Err(error) if error.kind == disk::DiskErrorKind::NotFound => return,
        Err(error) => {
            let text = format!("Spill files of a former run may be left over: {error}.");
            return env.errorlog.write("Server", text);
        }
    };
    for path in left {
        if let Err(error) = env.disk.delete(&path) {
            env.errorlog
                .write("Server", format!("A spill file is left over: {error}."));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::errorlog::ErrorLog;
    use crate::seams::{Background, ManualClock};
    use crate::waits::{WaitStatistics, WaitType};
    use disk::sim::SimDisk;
    use disk::{Access, Disk};

    fn environment(disk: &SimDisk) -> Environment {
        let clock = Arc::new(ManualClock::starting_at(0));
        Environment {
            disk: Arc::new(disk.clone()),
            errorlog: Arc::new(ErrorLog::new(clock.clone())),
            clock,
            background: Background::Inline,
            waits: Arc::new(WaitStatistics::new()),
            activity: Arc::default(),
        }
    }

    fn workspace(disk: &SimDisk, server_memory_bytes: u64) -> Arc<Workspace> {
        let env = environment(disk);
        let pool = Arc::new(BufferPool::new(env.clone(), server_memory_bytes));
        Arc::new(Workspace::new(env, "/spill".into(), pool, server_memory_bytes))
    }

    #[test]
    fn no_more_is_taken_than_the_limit() {
        let workspace = workspace(&SimDisk::new(1), 1 << 30);
        assert_eq!(workspace.limit_bytes(), 768 << 20);
        assert_eq!(workspace.query_limit_bytes(), 192 << 20);
        assert!(workspace.take(700 << 20));
        assert!(!workspace.take(69 << 20));
        assert!(!workspace.take(u64::MAX));
        workspace.give_back(700 << 20);
        assert!(workspace.take(768 << 20));
        assert!(!workspace.take(1));
        workspace.give_back(768 << 20);
        workspace.resize(1);
        assert_eq!(workspace.limit_bytes(), 96 << 20);
    }

    /// Keeps so many bytes of a workspace.
    struct Hoard(Weak<Workspace>, AtomicU64);

    impl Keeper for Hoard {
        fn give_up(&self, bytes: u64) {
            let kept = self.1.load(Ordering::Relaxed);
            let given = kept.min(bytes);
            self.1.store(kept - given, Ordering::Relaxed);
            self.0.upgrade().unwrap().give_back(given);
        }
    }

    #[test]
    fn what_can_be_made_again_is_given_up_before_anybody_is_refused_and_no_more_than_is_missing() {
        let workspace = workspace(&SimDisk::new(1), 1 << 30);
        let hoards = [100 << 20, 50 << 20].map(|bytes| {
            assert!(workspace.take(bytes));
            Arc::new(Hoard(Arc::downgrade(&workspace), AtomicU64::new(bytes)))
        });
        for hoard in &hoards {
            let hoard: Arc<dyn Keeper> = hoard.clone();
            workspace.add_keeper(Arc::downgrade(&hoard));
        }
        let left = || hoards.each_ref().map(|hoard| hoard.1.load(Ordering::Relaxed) >> 20);
        assert!(workspace.take(600 << 20));
        assert_eq!(left(), [100, 50], "there was room");
        assert!(workspace.take(60 << 20));
        assert_eq!(left(), [58, 50]);
        assert!(workspace.take(80 << 20));
        assert_eq!(left(), [0, 28]);
        assert!(!workspace.take(u64::MAX));
        assert_eq!(left(), [0, 28], "nobody could give up so much");
        assert!(!workspace.take(29 << 20));
        assert!(workspace.take(28 << 20));
    }

    #[test]
    fn what_is_lent_covers_what_is_used_and_not_much_more() {
        const MB: u64 = 1 << 20;
        // used, lent before, reserve -> lent
        let table = [
            (0, 0, 32 * MB, 0),
            (1, 0, 32 * MB, 4 * MB),
            (4 * MB, 4 * MB, 32 * MB, 4 * MB),
            (4 * MB + 1, 4 * MB, 32 * MB, 8 * MB),
            (4 * MB, 36 * MB, 32 * MB, 36 * MB),
            (MB, 40 * MB, 32 * MB, 36 * MB),
            (0, 40 * MB, 32 * MB, 32 * MB),
            (0, 40 * MB, 0, 0),
        ];
        for (used, lent, reserve, wanted) in table {
            assert_eq!(lent_for(used, lent, reserve), wanted, "{used} {lent} {reserve}");
            assert!(wanted >= used && wanted <= used + reserve + LENT_STEP_BYTES);
        }
    }

    #[test]
    fn the_pool_lends_what_queries_take_and_has_it_back_but_for_the_reserve() {
        let workspace = workspace(&SimDisk::new(1), 1 << 30);
        let frames = |bytes: u64| (bytes / PAGE_BYTES as u64) as usize;
        assert_eq!(workspace.pool.frame_limit(), frames(1 << 30));
        assert!(workspace.take(700 << 20));
        assert_eq!(workspace.pool.frame_limit(), frames((1024 - 700) << 20));
        assert!(workspace.take(68 << 20));
        assert_eq!(workspace.pool.frame_limit(), frames(256 << 20));
        assert!(!workspace.take(1));
        assert_eq!(workspace.pool.frame_limit(), frames(256 << 20));
        workspace.give_back(768 << 20);
        assert_eq!(workspace.pool.frame_limit(), frames((1024 - 32) << 20));
    }

    #[test]
    fn threads_that_take_and_give_back_leave_no_memory_lent_to_nobody() {
        let workspace = workspace(&SimDisk::new(1), 256 << 20);
        std::thread::scope(|scope| {
            for thread in 1..=4_u64 {
                let workspace = &workspace;
                scope.spawn(move || {
                    for step in 0..2_000 {
                        let bytes = ((step * thread * 7_919) % 40 + 1) << 20;
                        if workspace.take(bytes) {
                            let amounts = workspace.amounts.lock();
                            assert!(amounts.used_bytes >= bytes);
                            assert!(amounts.lent_bytes >= amounts.used_bytes);
                            drop(amounts);
                            workspace.give_back(bytes);
                        }
                    }
                });
            }
        });
        assert_eq!(workspace.used_bytes(), 0);
        let reserve = workspace.amounts.lock().lent_bytes;
        assert!(reserve <= 256 << 20 >> 4, "{reserve}");
        let frames = ((256 << 20) - reserve) / PAGE_BYTES as u64;
        assert_eq!(workspace.pool.frame_limit(), frames as usize);
    }

    const WHY: Spilling = Spilling {
        kind: SpillKind::Worktable,
        level: 2,
        granted_bytes: 7_000,
        used_bytes: 6_000,
    };

    #[test]
    fn spilled_bytes_come_back_and_the_file_goes() {
        let disk = SimDisk::new(1);
        let workspace = workspace(&disk, 1 << 30);
        replace_spill_uses(SpillUses::default());
        let mut file = workspace.spill_file(WHY).unwrap();
        let first = file.append(b"abc").unwrap();
        let second = file.append(b"defgh").unwrap();
        let mut bytes = vec![0; second.bytes as usize];
        file.read(second.offset, &mut bytes).unwrap();
        assert_eq!(bytes, b"defgh");
        assert_eq!((first.offset, first.bytes), (0, 3));
        assert_eq!(workspace.spilled_bytes(), 8);
        file.note_scan();
        let worktables = SpillUse {
            level: 2,
            granted_bytes: 7_000,
            used_bytes: 6_000,
            pages_written: 2,
            pages_read: 1,
            reads: 1,
            scans: 1,
        };
        let counted = replace_spill_uses(SpillUses::default());
        assert_eq!(
            (counted.worktables, counted.workfiles),
            (worktables, SpillUse::default())
        );
        assert_eq!(replace_spill_uses(counted), SpillUses::default());
        assert_eq!(replace_spill_uses(SpillUses::default()), counted);
        assert_eq!(disk.list(Path::new("/spill")).unwrap().len(), 1);
        drop(file);
        assert!(disk.list(Path::new("/spill")).unwrap().is_empty());
        let waits = workspace.env.waits.rows();
        let io = waits.iter().find(|row| row.wait_type == WaitType::IoCompletion);
        assert_eq!(io.unwrap().waiting_tasks, 3);
    }

    /// A folder that could not be listed was taken for an empty one, and the remaining files were not reported.
    #[test]
    fn files_that_cannot_be_found_are_told_and_a_missing_folder_is_not() {
        let told = |disk: &SimDisk| {
            let workspace = workspace(disk, 1 << 30);
            let lines = workspace.env.errorlog.lines().into_iter();
            lines.map(|line| line.text).collect::<Vec<_>>()
        };
        let disk = SimDisk::new(1);
        assert_eq!(told(&disk), Vec::<String>::new());
        disk.create_directories(Path::new("/spill")).unwrap();
        assert_eq!(told(&disk), Vec::<String>::new());
        // The one fault that listing has.
        disk.power_cut_at(0);
        disk.create_directories(Path::new("/other")).unwrap_err();
        let lines = told(&disk);
        assert!(
            lines.len() == 1 && lines[0].starts_with("Spill files of a former run may be left over: "),
            "{lines:?}"
        );
    }

    #[test]
    fn a_crash_leaves_files_that_the_next_start_deletes() {
        let disk = SimDisk::new(1);
        disk.create_directories(Path::new("/spill")).unwrap();
        disk.create(Path::new("/spill/0.spill"), Access::Buffered).unwrap();
        let workspace = workspace(&disk, 1 << 30);
        assert!(disk.list(Path::new("/spill")).unwrap().is_empty());
        workspace.spill_file(WHY).unwrap().append(b"x").unwrap();
    }
}
