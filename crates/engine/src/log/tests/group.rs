//! Group flush on a disk with slow durable writes: no wake-up is lost, and every commit is in the next write to begin.

use super::*;
use crate::log::flight::WRITES_MAX;
use crate::seams::SystemClock;
use disk::{Access, DiskError, File};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::mpsc;
use std::time::Duration;

/// Longer than any machine needs; a thread that is not done by then never will be.
const HANG: Duration = Duration::from_secs(60);

/// What the durable writes of the log were, and how long each takes.
#[derive(Default)]
struct Pace {
    slow: AtomicBool,
    begun: AtomicUsize,
    /// End of each write in the file, in the order they began.
    ends: Mutex<Vec<u64>>,
}

struct SlowDisk {
    disk: SimDisk,
    pace: Arc<Pace>,
}

struct SlowFile {
    file: Arc<dyn File>,
    pace: Arc<Pace>,
}

impl SlowDisk {
    fn slow(&self, file: Arc<dyn File>) -> Arc<dyn File> {
        let pace = self.pace.clone();
        Arc::new(SlowFile { file, pace })
    }
}

impl Disk for SlowDisk {
    fn open(&self, path: &Path, access: Access) -> std::result::Result<Arc<dyn File>, DiskError> {
        self.disk.open(path, access).map(|file| self.slow(file))
    }
    fn create(&self, path: &Path, access: Access) -> std::result::Result<Arc<dyn File>, DiskError> {
        self.disk.create(path, access).map(|file| self.slow(file))
    }
    fn delete(&self, path: &Path) -> std::result::Result<(), DiskError> {
        self.disk.delete(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> std::result::Result<(), DiskError> {
        self.disk.rename(from, to)
    }
    fn rename_new(&self, from: &Path, to: &Path) -> std::result::Result<(), DiskError> {
        self.disk.rename_new(from, to)
    }
    fn look(&self, path: &Path) -> std::result::Result<Option<disk::Found>, DiskError> {
        self.disk.look(path)
    }
    fn create_directories(&self, path: &Path) -> std::result::Result<(), DiskError> {
        self.disk.create_directories(path)
    }
    fn list(&self, directory: &Path) -> std::result::Result<Vec<PathBuf>, DiskError> {
        self.disk.list(directory)
    }
    fn len(&self, path: &Path) -> std::result::Result<Option<u64>, DiskError> {
        self.disk.len(path)
    }
    fn available_bytes(&self, path: &Path) -> std::result::Result<u64, DiskError> {
        self.disk.available_bytes(path)
    }
    fn lock_exclusive(&self, path: &Path) -> std::result::Result<Box<dyn Send + Sync>, DiskError> {
        self.disk.lock_exclusive(path)
    }
}

impl File for SlowFile {
    fn path(&self) -> &Path {
        self.file.path()
    }
    fn identity(&self) -> std::result::Result<disk::FileIdentity, DiskError> {
        self.file.identity()
    }
    fn lock(&self) -> std::result::Result<(), DiskError> {
        self.file.lock()
    }
    fn unlock(&self) {
        self.file.unlock();
    }
    fn len(&self) -> std::result::Result<u64, DiskError> {
        self.file.len()
    }
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> std::result::Result<(), DiskError> {
        self.file.read_at(offset, buffer)
    }
    fn write_at(&self, offset: u64, bytes: &[u8]) -> std::result::Result<(), DiskError> {
        self.file.write_at(offset, bytes)
    }
    fn write_durable_at(&self, offset: u64, bytes: &[u8]) -> std::result::Result<(), DiskError> {
        if self.pace.slow.load(Ordering::SeqCst) {
            let number = self.pace.begun.fetch_add(1, Ordering::SeqCst);
            self.pace.ends.lock().push(offset + bytes.len() as u64);
            // From nothing to a few times what a session does between two commits.
            std::thread::sleep(Duration::from_micros([0, 20, 100, 300][number % 4]));
        }
        self.file.write_durable_at(offset, bytes)
    }
    fn write_vectored_at(&self, offset: u64, parts: &[&[u8]]) -> std::result::Result<(), DiskError> {
        self.file.write_vectored_at(offset, parts)
    }
    fn sync(&self) -> std::result::Result<(), DiskError> {
        self.file.sync()
    }
    fn grow_reserved(&self, new_len: u64) -> std::result::Result<(), DiskError> {
        self.file.grow_reserved(new_len)
    }
    fn set_len(&self, len: u64) -> std::result::Result<(), DiskError> {
        self.file.set_len(len)
    }
    fn sector_bytes(&self) -> u32 {
        self.file.sector_bytes()
    }
}

/// A log in one VLF after another, each used once: later blocks lie at higher offsets of the file.
fn slow_log(background: Background) -> (Arc<Pace>, Arc<LogManager>) {
    let pace = Arc::<Pace>::default();
    let disk = SimDisk::new(3);
    disk.create_directories(Path::new("/log")).unwrap();
    let slow = SlowDisk {
        disk,
        pace: pace.clone(),
    };
    let env = Environment {
        clock: Arc::new(SystemClock::new()),
        background,
        ..environment(Arc::new(slow))
    };
    let spec = [file(64 * MB, 0, 64 * MB)];
    let log = LogManager::create(&env, "test", &spec, ServerVersion::V2022, LogPolicy::native(), 1).unwrap();
    pace.slow.store(true, Ordering::SeqCst);
    (pace, log)
}

/// Runs sessions; fails when one of them is still waiting long after it should be done.
fn run_sessions<T: Send + 'static>(count: u64, session: impl Fn(u64) -> T + Clone + Send + 'static) -> Vec<T> {
    let (done, ended) = mpsc::channel();
    for id in 1..=count {
        let (session, done) = (session.clone(), done.clone());
        std::thread::spawn(move || done.send(session(id)));
    }
    let wait = |_| {
        ended
            .recv_timeout(HANG)
            .expect("a session waits for a wake-up that never comes")
    };
    (0..count).map(wait).collect()
}

#[test]
fn no_wake_up_is_lost_and_everybody_is_in_the_next_write() {
    const SESSIONS: u64 = 12;
    const COMMITS: u64 = 60;
    for background in [Background::Threads, Background::Inline] {
        let (pace, log) = slow_log(background);
        let (its_pace, its_log) = (pace.clone(), log.clone());
        let commits = run_sessions(SESSIONS, move |id| {
            let commit = |number: u64| {
                let mut chain = TransactionChain::new(TransactionId(id << 32 | number));
                let lsn = its_log.append(&mut chain, RecordKind::Commit, &[], 0).unwrap();
                let begun = its_pace.begun.load(Ordering::SeqCst);
                its_log.flush_to(lsn).unwrap();
                assert!(its_log.flushed() > lsn);
                (lsn, begun)
            };
            (0..COMMITS).map(commit).collect::<Vec<_>>()
        });
        let vlfs = log.vlfs();
        let mut ends = pace.ends.lock().clone();
        // Writes that are under way together may reach the disk in any order.
        ends.sort_unstable();
        for (lsn, begun) in commits.into_iter().flatten() {
            let vlf = vlfs.iter().find(|vlf| vlf.sequence == lsn.vlf).unwrap();
            let offset = vlf.offset + lsn.offset_in_vlf();
            let written_by = ends.partition_point(|end| *end <= offset);
            // As many as may be under way can have their blocks already without having begun on the disk.
            assert!(
                written_by <= begun + WRITES_MAX,
                "{lsn}: write {written_by}, {begun} begun before"
            );
        }
        assert!((ends.len() as u64) < SESSIONS * COMMITS, "writes were shared");
    }
}

/// A log closed under its waiting sessions lets each of them go, with its commit or with 9001.
#[test]
fn closing_the_log_leaves_nobody_waiting() {
    for background in [Background::Threads, Background::Inline] {
        let (_, log) = slow_log(background);
        let its_log = log.clone();
        let (begun, begins) = mpsc::channel();
        let closer = std::thread::spawn(move || {
            (0..40).for_each(|_| begins.recv_timeout(HANG).expect("sessions commit"));
            log.close();
        });
        let outcomes = run_sessions(8, move |id| {
            loop {
                let mut chain = TransactionChain::new(TransactionId(id));
                let appended = its_log.append(&mut chain, RecordKind::Commit, &[], 0);
                // Nobody listens any more once the log is being closed.
                let _ = begun.send(());
                if let Err(error) = appended.and_then(|lsn| its_log.flush_to(lsn)) {
                    break error;
                }
            }
        });
        closer.join().unwrap();
        let closed = Error::log_not_available("test");
        assert!(outcomes.iter().all(|error| *error == closed));
    }
}
