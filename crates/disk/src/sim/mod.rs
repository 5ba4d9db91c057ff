//! A disk in memory that loses power and fails on demand, the same way for the same seed.
//!
//! The model, as strict as a real drive with a volatile cache is:
//!
//! * Bytes written are unsynced until `sync()`, in sectors of 512 bytes; `write_durable_at` makes its own sectors and
//!   the length they need durable and leaves other unsynced changes unsynced. Length changes are unsynced as well.
//! * Names are durable when the call returns, as the traits promise. Only the call in flight when the power goes may
//!   have happened or not.
//! * [`SimDisk::power_cut_at`] ends the life of the disk at a chosen change; [`SimDisk::after_power_cut`] is the disk
//!   found when the power is back, by a [`CutPolicy`] and a seed. It also works without a cut: "what if now".
//!   [`SimDisk::keep_cuts`] lets the disk live on and keeps it as cuts at many changes would have left it: one run stands for many.
//! * A write that fails with an I/O error leaves some of its first sectors written and unsynced. A sync that fails
//!   drops the unsynced data: some sectors are on the device, the rest shows the old bytes again, and the open file
//!   repeats the error for every later sync.
//!
//! Operations are numbered from 1 in the order they get hold of the disk, so a run of one thread is repeatable; with
//! several threads the order is theirs.

mod file;
mod hold;
mod inode;
mod random;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::{Access, DeferredSyncs, Disk, DiskError, DiskErrorKind, File, FileIdentity, FileKind, Found};
use file::SimFile;
pub use hold::Held;
use hold::Hold;
use inode::Inode;
use random::Random;

/// The unit in bytes in which the simulated device writes all or nothing.
pub const SECTOR_BYTES: usize = 512;
/// What a disk without a capacity says it has left.
const AVAILABLE_BYTES_UNLIMITED: u64 = 1 << 40;
/// EIO of Linux.
const OS_ERROR_IO: i32 = 5;
/// EACCES of Linux.
const OS_ERROR_ACCESS: i32 = 13;
/// ENOSPC of Linux.
const OS_ERROR_NO_SPACE: i32 = 28;

/// The operations of the traits, as faults and counters tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OperationKind {
    /// `Disk::open`. Changes nothing, so it has no operation number.
    Open,
    /// `File::read_at`. Changes nothing, so it has no operation number.
    Read,
    /// `File::write_at` and `File::write_vectored_at`.
    Write,
    /// `File::write_durable_at`.
    WriteDurable,
    /// `File::sync`.
    Sync,
    /// `File::grow_reserved`.
    Grow,
    /// `File::set_len`.
    SetLen,
    /// `Disk::create`.
    Create,
    /// `Disk::rename` and `Disk::rename_new`; faults match the old name.
    Rename,
    /// `Disk::delete`.
    Delete,
    /// `Disk::create_directories`, when a directory is missing.
    CreateDirectories,
}

impl OperationKind {
    /// Whether the operation changes the disk, so that it is numbered and a power cut can hit it.
    pub fn is_change(self) -> bool {
        !matches!(self, OperationKind::Open | OperationKind::Read)
    }

    fn verb(self) -> &'static str {
        match self {
            OperationKind::Open => "open",
            OperationKind::Read => "read",
            OperationKind::Write | OperationKind::WriteDurable => "write",
            OperationKind::Sync => "sync",
            OperationKind::Grow => "grow",
            OperationKind::SetLen => "set the length of",
            OperationKind::Create => "create",
            OperationKind::Rename => "rename",
            OperationKind::Delete => "delete",
            OperationKind::CreateDirectories => "create directory",
        }
    }
}

/// The error an injected fault reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultError {
    /// EIO: `DiskErrorKind::Io`.
    Io,
    /// ENOSPC: `DiskErrorKind::DiskFull`.
    NoSpace,
    /// EACCES: `DiskErrorKind::PermissionDenied`.
    Denied,
}

/// How often an injected fault strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repetition {
    /// The chosen operation alone.
    Once,
    /// The chosen operation and every later one that matches.
    Forever,
}

/// What a power cut leaves of the unsynced changes. Synced ones always stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutPolicy {
    /// Nothing unsynced survives, nor the operation in flight.
    AllLost,
    /// Everything unsynced survives, and the operation in flight completes.
    AllKept,
    /// Each sector of each unsynced write survives or not by itself, so writes may be torn and reordered.
    RandomSectors,
    /// Each unsynced write survives whole or not at all, in any combination.
    RandomWrites,
    /// All unsynced changes survive but for the last write of the disk, of which the first sectors survive.
    TornLastWrite {
        /// How many sectors of 512 bytes of the last write survive.
        sectors_kept: usize,
    },
    /// Each sector of each unsynced write survives, is lost, or holds random bytes.
    GarbageSectors,
}

/// The change of names that was in flight when the power went.
#[derive(Debug, Clone)]
enum NameInFlight {
    Create(PathBuf),
    Delete(PathBuf),
    Rename(PathBuf, PathBuf),
    CreateDirectories(PathBuf),
}

#[derive(Debug, Clone)]
struct Fault {
    kind: OperationKind,
    path_part: String,
    /// Matching operations to let pass before striking.
    passes_left: u64,
    error: FaultError,
    repetition: Repetition,
}

#[derive(Debug, Clone)]
struct State {
    names: BTreeMap<PathBuf, u64>,
    directories: BTreeSet<PathBuf>,
    inodes: BTreeMap<u64, Inode>,
    next_inode: u64,
    /// How many open files each inode has; an inode without any and without a name is forgotten.
    open_files: BTreeMap<u64, u64>,
    /// Inodes that are locked, by an open file or an instance.
    locked_inodes: BTreeSet<u64>,
    capacity_bytes: Option<u64>,
    faults: Vec<Fault>,
    holds: Vec<Hold>,
    fault_count: u64,
    operation_count: u64,
    counts: BTreeMap<OperationKind, u64>,
    cut_at: Option<u64>,
    kept_cuts: Option<KeptCuts>,
    power_is_cut: bool,
    /// While syncs are put off ([`Disk::defer_syncs`]): the inodes they were for.
    deferred: Option<BTreeSet<u64>>,
    in_flight: Option<NameInFlight>,
    random: Random,
}

/// Cuts that have not happened ([`SimDisk::keep_cuts`]).
#[derive(Debug, Clone)]
struct KeptCuts {
    every: u64,
    /// The number of the next change that is kept.
    next: u64,
    cuts: Vec<KeptCut>,
}

/// The disk as a power cut during one change would have left it.
#[derive(Debug, Clone)]
pub struct KeptCut {
    /// The number of the change (see [`SimDisk::operation_count`]).
    pub operation_number: u64,
    /// Without power: [`SimDisk::after_power_cut`] is what it is for.
    pub disk: SimDisk,
}

/// What the disk answers when an operation begins.
enum Gate {
    Pass,
    /// An injected fault strikes.
    Fault(DiskError),
    /// The power goes during this operation, which is in flight, or is gone already.
    Dead(DiskError),
}

/// A simulated disk. Clones are handles of the same disk; [`SimDisk::snapshot`] makes an independent one.
#[derive(Debug, Clone)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
}

/// The path without `.` components and doubled slashes.
fn normalized(path: &Path) -> PathBuf {
    path.components()
        .filter(|component| !matches!(component, std::path::Component::CurDir))
        .collect()
}

/// The simulated machine has one file system.
fn identity_of(inode: u64) -> FileIdentity {
    FileIdentity { device: 1, inode }
}

fn injected(error: FaultError, kind: OperationKind, path: &Path) -> DiskError {
    let (error_kind, os_error) = match error {
        FaultError::Io => (DiskErrorKind::Io, OS_ERROR_IO),
        FaultError::NoSpace => (DiskErrorKind::DiskFull, OS_ERROR_NO_SPACE),
        FaultError::Denied => (DiskErrorKind::PermissionDenied, OS_ERROR_ACCESS),
    };
    DiskError::new(error_kind, kind.verb(), path).with_os_error(os_error)
}

impl State {
    fn new(seed: u64) -> State {
        State {
            names: BTreeMap::new(),
            directories: BTreeSet::from([PathBuf::new(), PathBuf::from("/")]),
            inodes: BTreeMap::new(),
            next_inode: 1,
            open_files: BTreeMap::new(),
            locked_inodes: BTreeSet::new(),
            capacity_bytes: None,
            faults: Vec::new(),
            holds: Vec::new(),
            fault_count: 0,
            operation_count: 0,
            counts: BTreeMap::new(),
            cut_at: None,
            kept_cuts: None,
            power_is_cut: false,
            deferred: None,
            in_flight: None,
            random: Random::new(seed),
        }
    }

    /// What keeps an operation from beginning, if a test wants it held; each holds one.
    fn take_hold(&mut self, kind: OperationKind, path: &Path) -> Option<Hold> {
        let place = self.holds.iter().position(|hold| hold.matches(kind, path))?;
        Some(self.holds.remove(place))
    }

    /// Whether the sync of an inode is put off; it is noted then.
    fn puts_off(&mut self, inode: u64) -> bool {
        match &mut self.deferred {
            Some(deferred) => {
                deferred.insert(inode);
                true
            }
            None => false,
        }
    }

    /// Counts an operation and tells whether it may happen. `leave_in_flight` leaves it on a disk whose power goes during it.
    fn begin(&mut self, kind: OperationKind, path: &Path, leave_in_flight: impl Fn(&mut State)) -> Gate {
        let cut = || DiskError::new(DiskErrorKind::PowerCut, kind.verb(), path);
        if self.power_is_cut {
            return Gate::Dead(cut());
        }
        *self.counts.entry(kind).or_default() += 1;
        if kind.is_change() {
            self.operation_count += 1;
            if self.cut_at.is_some_and(|number| self.operation_count >= number) {
                self.power_is_cut = true;
                leave_in_flight(self);
                return Gate::Dead(cut());
            }
            self.keep_cut(leave_in_flight);
        }
        let text = path.to_string_lossy();
        let mut striking = None;
        for (index, fault) in self.faults.iter_mut().enumerate() {
            if fault.kind != kind || !text.contains(&fault.path_part) {
                continue;
            }
            if fault.passes_left > 0 {
                fault.passes_left -= 1;
            } else if striking.is_none() {
                striking = Some(index);
            }
        }
        let Some(index) = striking else {
            return Gate::Pass;
        };
        self.fault_count += 1;
        let error = self.faults[index].error;
        if self.faults[index].repetition == Repetition::Once {
            self.faults.remove(index);
        }
        Gate::Fault(injected(error, kind, path))
    }

    /// Keeps the disk as a cut during the change that begins would leave it, when its turn has come.
    fn keep_cut(&mut self, leave_in_flight: impl Fn(&mut State)) {
        let number = self.operation_count;
        let Some(mut kept) = self.kept_cuts.take() else {
            return;
        };
        if number >= kept.next {
            let mut cut = self.clone();
            cut.power_is_cut = true;
            leave_in_flight(&mut cut);
            kept.next = number + kept.every;
            kept.cuts.push(KeptCut {
                operation_number: number,
                disk: SimDisk::of(cut),
            });
        }
        self.kept_cuts = Some(kept);
    }

    /// `begin` for changes of names: a disk that loses power remembers the one in flight.
    fn begin_name(&mut self, kind: OperationKind, path: &Path, in_flight: &NameInFlight) -> Result<(), DiskError> {
        match self.begin(kind, path, |cut| cut.in_flight = Some(in_flight.clone())) {
            Gate::Pass => Ok(()),
            Gate::Fault(error) | Gate::Dead(error) => Err(error),
        }
    }

    fn check_power(&self, operation: &'static str, path: &Path) -> Result<(), DiskError> {
        if self.power_is_cut {
            return Err(DiskError::new(DiskErrorKind::PowerCut, operation, path));
        }
        Ok(())
    }

    fn available_bytes(&self) -> u64 {
        let Some(capacity) = self.capacity_bytes else {
            return AVAILABLE_BYTES_UNLIMITED;
        };
        let used: u64 = self
            .names
            .values()
            .filter_map(|id| self.inodes.get(id))
            .map(Inode::allocated_bytes)
            .sum();
        capacity.saturating_sub(used)
    }

    fn has_directory_for(&self, path: &Path) -> bool {
        path.parent().is_none_or(|parent| self.directories.contains(parent))
    }

    fn apply_create(&mut self, path: PathBuf) -> u64 {
        let id = self.next_inode;
        self.next_inode += 1;
        self.inodes.insert(id, Inode::default());
        self.names.insert(path, id);
        id
    }

    fn apply_rename(&mut self, from: &Path, to: PathBuf) {
        if let Some(id) = self.names.remove(from)
            && let Some(replaced) = self.names.insert(to, id)
        {
            self.forget_unused(replaced);
        }
    }

    fn apply_delete(&mut self, path: &Path) {
        if let Some(id) = self.names.remove(path) {
            self.forget_unused(id);
        }
    }

    fn is_named(&self, id: u64) -> bool {
        self.names.values().any(|named| *named == id)
    }

    /// Drops an inode that has neither a name nor an open file.
    fn forget_unused(&mut self, id: u64) {
        if !self.is_named(id) && !self.open_files.contains_key(&id) {
            self.inodes.remove(&id);
        }
    }

    fn close(&mut self, id: u64) {
        if let Some(count) = self.open_files.get_mut(&id) {
            *count -= 1;
            if *count == 0 {
                self.open_files.remove(&id);
                self.forget_unused(id);
            }
        }
    }

    fn apply_create_directories(&mut self, path: &Path) {
        self.directories.extend(path.ancestors().map(Path::to_path_buf));
    }

    fn apply_in_flight(&mut self, change: NameInFlight) {
        match change {
            NameInFlight::Create(path) => {
                self.apply_create(path);
            }
            NameInFlight::Delete(path) => self.apply_delete(&path),
            NameInFlight::Rename(from, to) => self.apply_rename(&from, to),
            NameInFlight::CreateDirectories(path) => self.apply_create_directories(&path),
        }
    }

    fn inode_at(&mut self, operation: &'static str, path: &Path) -> Result<&mut Inode, DiskError> {
        let missing = || DiskError::new(DiskErrorKind::NotFound, operation, path);
        let id = self.names.get(&normalized(path)).ok_or_else(missing)?;
        self.inodes.get_mut(id).ok_or_else(missing)
    }
}

impl SimDisk {
    /// An empty disk. The seed decides what the disk itself chooses: how much of a failed write or sync happens.
    pub fn new(seed: u64) -> SimDisk {
        SimDisk::of(State::new(seed))
    }

    fn of(state: State) -> SimDisk {
        SimDisk {
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// An independent copy of the disk as it is, unsynced changes, faults and counters included. Shares unchanged
    /// bytes. Open files, locks and held operations stay with the original.
    pub fn snapshot(&self) -> SimDisk {
        let mut state = self.state.lock().clone();
        state.holds.clear();
        state.locked_inodes.clear();
        state.deferred = None;
        state.kept_cuts = None;
        state.open_files.clear();
        let linked: BTreeSet<u64> = state.names.values().copied().collect();
        state.inodes.retain(|id, _| linked.contains(id));
        SimDisk::of(state)
    }

    /// Cuts the power during the change with this number (see [`SimDisk::operation_count`]; a number already passed
    /// means the next change). That operation and all later ones, reads included, fail with `PowerCut`.
    pub fn power_cut_at(&self, operation_number: u64) {
        self.state.lock().cut_at = Some(operation_number);
    }

    /// From now on keeps, for the next change and every `every`-th after it, the disk as a power cut during that change would leave it;
    /// the disk itself lives on. Kept cuts share unchanged bytes.
    ///
    /// # Panics
    /// When `every` is 0.
    pub fn keep_cuts(&self, every: u64) {
        assert!(every > 0, "every change or fewer can be kept");
        let state = &mut *self.state.lock();
        state.kept_cuts = Some(KeptCuts {
            every,
            next: state.operation_count + 1,
            cuts: Vec::new(),
        });
    }

    /// The cuts kept since [`SimDisk::keep_cuts`], in order; none are kept from here on.
    pub fn take_kept_cuts(&self) -> Vec<KeptCut> {
        let kept = self.state.lock().kept_cuts.take();
        kept.map_or_else(Vec::new, |kept| kept.cuts)
    }

    /// The disk found when the power is back: all that was synced, and of the rest what the policy and the seed let
    /// survive. Faults and counters start again, the capacity stays. This disk is not changed.
    pub fn after_power_cut(&self, policy: CutPolicy, seed: u64) -> SimDisk {
        let old = self.state.lock();
        let mut random = Random::new(seed);
        let mut new = State::new(random.next());
        new.directories = old.directories.clone();
        new.capacity_bytes = old.capacity_bytes;
        new.names = old.names.clone();
        new.next_inode = old.next_inode;
        let last_write = new
            .names
            .values()
            .filter_map(|id| old.inodes.get(id)?.last_sequence())
            .max();
        for id in new.names.values() {
            if let Some(inode) = old.inodes.get(id) {
                let left = inode.after_power_cut(policy, &mut random, last_write);
                new.inodes.insert(*id, left);
            }
        }
        if let Some(change) = old.in_flight.clone() {
            let happened = match policy {
                CutPolicy::AllLost => false,
                CutPolicy::AllKept => true,
                _ => random.coin(),
            };
            if happened {
                new.apply_in_flight(change);
            }
        }
        SimDisk::of(new)
    }

    /// Makes the `nth` operation (from 1, counted from now) of this kind on a path that contains `path_part` fail.
    pub fn fail_next(&self, kind: OperationKind, path_part: &str, nth: u64, error: FaultError, repetition: Repetition) {
        self.state.lock().faults.push(Fault {
            kind,
            path_part: path_part.to_owned(),
            passes_left: nth.saturating_sub(1),
            error,
            repetition,
        });
    }

    /// Makes the next operation of this kind on an open file whose path contains `path_part` wait until the answer is dropped. It
    /// gets hold of the disk, and its number, after that.
    pub fn hold_next(&self, kind: OperationKind, path_part: &str) -> Held {
        let (hold, held) = Hold::new(kind, path_part);
        self.state.lock().holds.push(hold);
        held
    }

    /// Removes all injected faults that have not struck yet or strike forever.
    pub fn clear_faults(&self) {
        self.state.lock().faults.clear();
    }

    /// Limits the disk to this many bytes, or lifts the limit. A file takes space up to the highest byte written or
    /// reserved, in blocks of 4096 bytes; writes and growth beyond fail with `DiskFull` and change nothing.
    pub fn set_capacity_bytes(&self, capacity_bytes: Option<u64>) {
        self.state.lock().capacity_bytes = capacity_bytes;
    }

    /// Flips one bit (0..=7) of a stored byte, as a failing medium does. `UnexpectedEnd` behind the end of the file.
    pub fn flip_bit(&self, path: &Path, byte: u64, bit: u32) -> Result<(), DiskError> {
        let mut state = self.state.lock();
        let inode = state.inode_at("damage", path)?;
        if byte >= inode.len() {
            return Err(DiskError::new(DiskErrorKind::UnexpectedEnd, "damage", path).at(byte));
        }
        inode.flip_bit(byte, bit % 8);
        Ok(())
    }

    /// Loses what lies behind `len` in a file, durable content included. Open files see it. What the file still holds
    /// counts as synced afterwards.
    pub fn truncate_behind(&self, path: &Path, len: u64) -> Result<(), DiskError> {
        self.state.lock().inode_at("damage", path)?.truncate_behind(len);
        Ok(())
    }

    /// How many changes were begun so far; the next change has this number plus one.
    pub fn operation_count(&self) -> u64 {
        self.state.lock().operation_count
    }

    /// How many operations of one kind were begun so far.
    pub fn count(&self, kind: OperationKind) -> u64 {
        self.state.lock().counts.get(&kind).copied().unwrap_or(0)
    }

    /// How many injected faults have struck so far.
    pub fn fault_count(&self) -> u64 {
        self.state.lock().fault_count
    }

    /// Whether the power cut has happened.
    pub fn power_is_cut(&self) -> bool {
        self.state.lock().power_is_cut
    }

    /// Whether a file has changes that a power cut could lose. `NotFound` when there is no such file.
    pub fn has_unsynced(&self, path: &Path) -> Result<bool, DiskError> {
        Ok(self.state.lock().inode_at("inspect", path)?.has_pending())
    }

    /// Moves a folder and all that is in it, as another program may. Open files stay open.
    ///
    /// # Errors
    /// `NotFound` when there is no such folder, `AlreadyExists` when the new name is taken.
    pub fn move_directory(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        let mut state = self.state.lock();
        let (from, to) = (normalized(from), normalized(to));
        if !state.directories.contains(&from) {
            return Err(DiskError::new(DiskErrorKind::NotFound, "rename", &from));
        }
        if state.directories.contains(&to) || state.names.contains_key(&to) {
            return Err(DiskError::new(DiskErrorKind::AlreadyExists, "rename", &to));
        }
        let moved = |path: &Path| match path.strip_prefix(&from) {
            Ok(rest) if rest.as_os_str().is_empty() => to.clone(),
            Ok(rest) => to.join(rest),
            Err(_) => path.to_path_buf(),
        };
        state.names = state.names.iter().map(|(path, id)| (moved(path), *id)).collect();
        state.directories = state.directories.iter().map(|path| moved(path)).collect();
        Ok(())
    }

    /// Renames when `allowed`, given whether the new name is taken, says so.
    fn rename_if(&self, from: &Path, to: &Path, allowed: impl FnOnce(bool) -> bool) -> Result<(), DiskError> {
        let mut state = self.state.lock();
        state.check_power("rename", from)?;
        let (source, target) = (normalized(from), normalized(to));
        if state.directories.contains(&target) {
            return Err(DiskError::new(DiskErrorKind::NotAFile, "rename", from));
        }
        if !allowed(state.names.contains_key(&target)) {
            return Err(DiskError::new(DiskErrorKind::AlreadyExists, "rename", from));
        }
        if !state.names.contains_key(&source) || !state.has_directory_for(&target) {
            return Err(DiskError::new(DiskErrorKind::NotFound, "rename", from));
        }
        let change = NameInFlight::Rename(source.clone(), target.clone());
        state.begin_name(OperationKind::Rename, from, &change)?;
        state.apply_rename(&source, target);
        Ok(())
    }

    fn handle(&self, state: &mut State, path: &Path, inode: u64) -> Arc<dyn File> {
        *state.open_files.entry(inode).or_default() += 1;
        Arc::new(SimFile::new(path, inode, Arc::clone(&self.state)))
    }
}

/// Syncs of a simulated disk that are put off. Each still is an operation, at which the power may be cut and a fault strike; names stay
/// durable at once.
struct Deferred(Arc<Mutex<State>>);

impl DeferredSyncs for Deferred {
    /// One operation, a sync of the root directory: cut off, it has made nothing durable.
    fn finish(self: Box<Self>) -> Result<(), DiskError> {
        let state = &mut *self.0.lock();
        let deferred = state.deferred.take().unwrap_or_default();
        match state.begin(OperationKind::Sync, Path::new("/"), |_| {}) {
            Gate::Pass => {
                let inodes = state.inodes.iter_mut().filter(|(id, _)| deferred.contains(id));
                inodes.for_each(|(_, inode)| inode.sync());
                Ok(())
            }
            Gate::Fault(error) | Gate::Dead(error) => Err(error),
        }
    }
}

impl Drop for Deferred {
    fn drop(&mut self) {
        self.0.lock().deferred = None;
    }
}

impl Disk for SimDisk {
    fn defer_syncs(&self) -> Option<Box<dyn DeferredSyncs>> {
        let mut state = self.state.lock();
        if state.deferred.is_some() {
            return None;
        }
        state.deferred = Some(BTreeSet::new());
        Some(Box::new(Deferred(Arc::clone(&self.state))))
    }

    fn open(&self, path: &Path, _access: Access) -> Result<Arc<dyn File>, DiskError> {
        let mut state = self.state.lock();
        match state.begin(OperationKind::Open, path, |_| {}) {
            Gate::Pass => {}
            Gate::Fault(error) | Gate::Dead(error) => return Err(error),
        }
        match state.names.get(&normalized(path)).copied() {
            Some(id) => Ok(self.handle(&mut state, path, id)),
            None if state.directories.contains(&normalized(path)) => {
                Err(DiskError::new(DiskErrorKind::NotAFile, "open", path))
            }
            None => Err(DiskError::new(DiskErrorKind::NotFound, "open", path)),
        }
    }

    fn create(&self, path: &Path, _access: Access) -> Result<Arc<dyn File>, DiskError> {
        let mut state = self.state.lock();
        state.check_power("create", path)?;
        let name = normalized(path);
        if state.names.contains_key(&name) || state.directories.contains(&name) {
            return Err(DiskError::new(DiskErrorKind::AlreadyExists, "create", path));
        }
        if !state.has_directory_for(&name) {
            return Err(DiskError::new(DiskErrorKind::NotFound, "create", path));
        }
        let change = NameInFlight::Create(name.clone());
        state.begin_name(OperationKind::Create, path, &change)?;
        let id = state.apply_create(name);
        Ok(self.handle(&mut state, path, id))
    }

    fn delete(&self, path: &Path) -> Result<(), DiskError> {
        let mut state = self.state.lock();
        state.check_power("delete", path)?;
        let name = normalized(path);
        if !state.names.contains_key(&name) {
            return Err(DiskError::new(DiskErrorKind::NotFound, "delete", path));
        }
        state.begin_name(OperationKind::Delete, path, &NameInFlight::Delete(name.clone()))?;
        state.apply_delete(&name);
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        self.rename_if(from, to, |_| true)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        self.rename_if(from, to, |taken| !taken)
    }

    fn create_directories(&self, path: &Path) -> Result<(), DiskError> {
        let mut state = self.state.lock();
        state.check_power("create directory", path)?;
        let name = normalized(path);
        if state.directories.contains(&name) {
            return Ok(());
        }
        if name.ancestors().any(|ancestor| state.names.contains_key(ancestor)) {
            return Err(DiskError::new(DiskErrorKind::AlreadyExists, "create directory", path));
        }
        let change = NameInFlight::CreateDirectories(name.clone());
        state.begin_name(OperationKind::CreateDirectories, path, &change)?;
        state.apply_create_directories(&name);
        Ok(())
    }

    fn list(&self, directory: &Path) -> Result<Vec<PathBuf>, DiskError> {
        let state = self.state.lock();
        state.check_power("list", directory)?;
        let wanted = normalized(directory);
        if !state.directories.contains(&wanted) {
            return Err(DiskError::new(DiskErrorKind::NotFound, "list", directory));
        }
        let mut paths: Vec<PathBuf> = state
            .names
            .keys()
            .chain(&state.directories)
            .filter(|path| path.parent() == Some(&wanted))
            .filter_map(|path| Some(directory.join(path.file_name()?)))
            .collect();
        paths.sort();
        Ok(paths)
    }

    fn len(&self, path: &Path) -> Result<Option<u64>, DiskError> {
        let mut state = self.state.lock();
        state.check_power("measure", path)?;
        match state.inode_at("measure", path) {
            Ok(inode) => Ok(Some(inode.len())),
            Err(_) => Ok(None),
        }
    }

    fn look(&self, path: &Path) -> Result<Option<Found>, DiskError> {
        let mut state = self.state.lock();
        state.check_power("measure", path)?;
        let name = normalized(path);
        if state.directories.contains(&name) {
            // A directory has no inode here; its name stands in for one.
            let number = name.to_string_lossy().bytes().fold(u64::MAX / 2, |number, byte| {
                number.wrapping_mul(31).wrapping_add(u64::from(byte)) | 1 << 63
            });
            return Ok(Some(Found {
                kind: FileKind::Directory,
                identity: identity_of(number),
                len: 0,
            }));
        }
        let Some(id) = state.names.get(&name).copied() else {
            return Ok(None);
        };
        Ok(Some(Found {
            kind: FileKind::Regular,
            identity: identity_of(id),
            len: state.inode_at("measure", path)?.len(),
        }))
    }

    fn available_bytes(&self, path: &Path) -> Result<u64, DiskError> {
        let state = self.state.lock();
        state.check_power("measure free space of", path)?;
        Ok(state.available_bytes())
    }

    fn lock_exclusive(&self, path: &Path) -> Result<Box<dyn Send + Sync>, DiskError> {
        let mut state = self.state.lock();
        state.check_power("lock", path)?;
        let name = normalized(path);
        if !state.has_directory_for(&name) {
            return Err(DiskError::new(DiskErrorKind::NotFound, "lock", path));
        }
        let inode = match state.names.get(&name) {
            Some(inode) => *inode,
            None => state.apply_create(name),
        };
        if !state.locked_inodes.insert(inode) {
            return Err(DiskError::new(DiskErrorKind::InUse, "lock", path));
        }
        Ok(Box::new(LockGuard {
            inode,
            state: Arc::clone(&self.state),
        }))
    }
}

/// Holds the lock of an instance until dropped.
struct LockGuard {
    inode: u64,
    state: Arc<Mutex<State>>,
}

impl Drop for LockGuard {
    fn drop(&mut self) {
        self.state.lock().locked_inodes.remove(&self.inode);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
