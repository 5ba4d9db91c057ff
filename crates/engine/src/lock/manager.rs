//! The shared side: queues per resource, granting, waiting, cycles.

use super::application::{ApplicationRow, Applications};
use super::hasher::LockMap;
use super::ranges::RangeOwners;
use super::{Mode, Resource};
use crate::error::{Error, Result};
use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};
use smallvec::SmallVec;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Resources are spread over this many tables, each with a mutex of its own.
const SHARDS: usize = 64;

/// How a waiting request ended, or that it has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Waiting,
    Granted,
    Victim,
}

/// One waiting request's place to sleep.
pub(super) struct Waiter {
    pub(super) owner: u64,
    /// The owner whose thread waits, and that has granted locks to give up: see [`super::LockOwner::beside`].
    pub(super) waits_for: u64,
    pub(super) mode: Mode,
    pub(super) price: Price,
    pub(super) verdict: Mutex<Verdict>,
    pub(super) wake: Condvar,
}

/// What it costs to make an owner the victim: lower gives way first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Price {
    pub(super) priority: i8,
    pub(super) log_bytes: u64,
}

impl Waiter {
    fn decide(&self, verdict: Verdict) {
        *self.verdict.lock() = verdict;
        self.wake.notify_one();
    }
}

#[derive(Default)]
struct Queue {
    /// Most resources have one holder; tables have many.
    granted: SmallVec<[(u64, Mode); 1]>,
    waiting: VecDeque<Arc<Waiter>>,
}

impl Queue {
    fn held_by(&self, owner: u64) -> Option<Mode> {
        self.granted.iter().find(|entry| entry.0 == owner).map(|entry| entry.1)
    }

    /// Whether an owner holds it, and others neither hold it nor wait.
    fn is_held_by_alone(&self, owner: u64) -> bool {
        let is_own = matches!(self.granted.as_slice(), [(only, _)] if *only == owner);
        is_own && self.waiting.is_empty()
    }

    /// True when `mode` goes beside every lock granted to others.
    fn fits(&self, owner: u64, mode: Mode) -> bool {
        self.granted
            .iter()
            .all(|&(other, held)| other == owner || mode.compatible_with(held))
    }

    fn grant(&mut self, owner: u64, mode: Mode) {
        match self.granted.iter_mut().find(|entry| entry.0 == owner) {
            Some(entry) => entry.1 = mode,
            None => self.granted.push((owner, mode)),
        }
    }

    /// Grants from the front of the queue for as long as requests fit.
    fn advance(&mut self) {
        while let Some(next) = self.waiting.front() {
            if !self.fits(next.owner, next.mode) {
                return;
            }
            let next = self.waiting.pop_front().expect("the front was just looked at");
            self.grant(next.owner, next.mode);
            next.decide(Verdict::Granted);
        }
    }
}

type Shard = LockMap<Resource, Queue>;

/// One line of `sys.dm_tran_locks`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockRow {
    /// What is locked or waited for.
    pub resource: Resource,
    pub mode: Mode,
    /// The owner's id; of what waits, that of the owner whose thread waits.
    pub owner: u64,
    /// False while it waits.
    pub granted: bool,
    /// What an application lock has beside that.
    pub application: Option<ApplicationRow>,
}

/// All locks of an instance.
pub struct LockManager {
    shards: Vec<Mutex<Shard>>,
    /// Databases in which no lock is granted any more, and the error that requests get.
    refused: RwLock<BTreeMap<u16, Error>>,
    /// Whether there are any: what every request looks at.
    refuses: AtomicBool,
    /// Tables whose row locks stay row locks however many there are: LOCK_ESCALATION = DISABLE.
    unescalated: RwLock<BTreeSet<(u16, u32)>>,
    /// Whether there are any: what everybody who opens a table looks at.
    has_unescalated: AtomicBool,
    pub(super) applications: Applications,
    pub(super) range_owners: RangeOwners,
}

/// The answer to a request.
pub(super) enum Answer {
    Granted,
    Wait(Arc<Waiter>),
    Refused,
}

impl LockManager {
    /// No locks at all.
    pub fn new() -> LockManager {
        LockManager {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            refused: RwLock::default(),
            refuses: AtomicBool::new(false),
            unescalated: RwLock::default(),
            has_unescalated: AtomicBool::new(false),
            applications: Applications::default(),
            range_owners: RangeOwners::default(),
        }
    }

    /// Says whether many row locks of a table become one of the table. Every table that says nothing escalates.
    pub fn set_escalation(&self, database: u16, object: u32, escalates: bool) {
        if escalates && !self.has_unescalated.load(Ordering::Acquire) {
            return;
        }
        let is_known = self.unescalated.read().contains(&(database, object));
        if is_known != escalates {
            return;
        }
        let mut unescalated = self.unescalated.write();
        match escalates {
            true => unescalated.remove(&(database, object)),
            false => unescalated.insert((database, object)),
        };
        self.has_unescalated.store(!unescalated.is_empty(), Ordering::Release);
    }

    pub(super) fn escalates(&self, database: u16, object: u32) -> bool {
        !self.has_unescalated.load(Ordering::Acquire) || !self.unescalated.read().contains(&(database, object))
    }

    /// From now on every request for a lock in the database, waiting ones included, gets `error`. What is held stays
    /// held.
    pub fn refuse(&self, database: u16, error: Error) {
        self.refused.write().insert(database, error);
        self.refuses.store(true, Ordering::SeqCst);
    }

    /// Forgets every lock in a database that is no longer in use, and grants locks in it again.
    pub fn forget_database(&self, database: u16) {
        for shard in &self.shards {
            shard.lock().retain(|resource, _| resource.database() != database);
        }
        self.applications.forget_database(database);
        self.unescalated.write().retain(|(other, _)| *other != database);
        self.admit(database);
    }

    /// Locks are granted in a database again, if they were refused.
    pub fn admit(&self, database: u16) {
        let mut refused = self.refused.write();
        refused.remove(&database);
        self.refuses.store(!refused.is_empty(), Ordering::SeqCst);
    }

    /// Whether locks are granted in a database.
    ///
    /// # Errors
    /// What [`LockManager::refuse`] was given.
    #[inline]
    pub(super) fn check_granting(&self, database: u16) -> Result<()> {
        match self.refuses.load(Ordering::SeqCst) {
            false => Ok(()),
            true => self.check_refused(database),
        }
    }

    #[cold]
    fn check_refused(&self, database: u16) -> Result<()> {
        self.refused
            .read()
            .get(&database)
            .map_or(Ok(()), |error| Err(error.clone()))
    }

    /// What `from` holds on `resource` is `to`'s from now on.
    pub(super) fn hand_over(&self, from: u64, to: u64, resource: Resource) {
        let mut shard = self.shard(&resource);
        let granted = shard.get_mut(&resource).map(|queue| &mut queue.granted);
        for entry in granted.into_iter().flatten().filter(|entry| entry.0 == from) {
            entry.0 = to;
        }
    }

    fn shard(&self, resource: &Resource) -> MutexGuard<'_, Shard> {
        let mixed = match *resource {
            Resource::Database(database) => u64::from(database),
            Resource::Object(database, object) => u64::from(database) << 32 | u64::from(object),
            Resource::Name(database, hash) => hash ^ u64::from(database),
            Resource::Application(database, hash) => hash ^ u64::from(database) << 32,
            Resource::Row(database, object, row) => row ^ u64::from(object) << 20 ^ u64::from(database),
        };
        let index = (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize;
        self.shards[index % SHARDS].lock()
    }

    /// Asks for `mode` (already joined with what `owner` holds). With `wait` false a request that cannot be granted at once
    /// leaves no trace. The owner comes with the one whose thread waits.
    pub(super) fn request(
        &self,
        (owner, waits_for): (u64, u64),
        resource: Resource,
        mode: Mode,
        price: Price,
        wait: bool,
    ) -> Answer {
        let mut shard = self.shard(&resource);
        let queue = shard.entry(resource).or_default();
        let converts = queue.held_by(owner).is_some();
        if queue.fits(owner, mode) && (converts || queue.waiting.is_empty()) {
            queue.grant(owner, mode);
            return Answer::Granted;
        }
        if !wait {
            return Answer::Refused;
        }
        let waiter = Arc::new(Waiter {
            owner,
            waits_for,
            mode,
            price,
            verdict: Mutex::new(Verdict::Waiting),
            wake: Condvar::new(),
        });
        if converts {
            queue.waiting.push_front(waiter.clone());
        } else {
            queue.waiting.push_back(waiter.clone());
        }
        Answer::Wait(waiter)
    }

    /// Gives up a waiting request. Returns its verdict, which may have come in the meantime.
    pub(super) fn abandon(&self, resource: &Resource, waiter: &Arc<Waiter>) -> Verdict {
        let mut shard = self.shard(resource);
        let verdict = *waiter.verdict.lock();
        if verdict != Verdict::Granted
            && let Some(queue) = shard.get_mut(resource)
        {
            queue.waiting.retain(|other| !Arc::ptr_eq(other, waiter));
            queue.advance();
        }
        verdict
    }

    /// Sets what `owner` holds on `resource`: `None` releases it, a weaker mode downgrades it.
    pub(super) fn set(&self, owner: u64, resource: Resource, mode: Option<Mode>) {
        let mut shard = self.shard(&resource);
        let Entry::Occupied(mut entry) = shard.entry(resource) else {
            return;
        };
        let queue = entry.get_mut();
        if mode.is_none() && queue.is_held_by_alone(owner) {
            entry.remove();
            return;
        }
        match mode {
            Some(mode) => queue.grant(owner, mode),
            None => queue.granted.retain(|entry| entry.0 != owner),
        }
        queue.advance();
        if queue.granted.is_empty() && queue.waiting.is_empty() {
            entry.remove();
        }
    }

    /// Looks for cycles of waiters that include `start` and makes the cheapest member of each its victim. There may be several: who
    /// waits for two holders at once can close a cycle with each.
    pub(super) fn break_cycles(&self, start: u64) {
        // All shards in one order: rare, short, and the only way to see a graph that does not move.
        let shards: Vec<MutexGuard<'_, Shard>> = self.shards.iter().map(|shard| shard.lock()).collect();
        let mut edges: HashMap<u64, (Arc<Waiter>, Vec<u64>)> = HashMap::new();
        for queue in shards.iter().flat_map(|shard| shard.values()) {
            for (position, waiter) in queue.waiting.iter().enumerate() {
                // A victim waits no more.
                if *waiter.verdict.lock() != Verdict::Waiting {
                    continue;
                }
                let holders = queue.granted.iter();
                let blocked_by_grant = holders
                    .filter(|entry| entry.0 != waiter.owner && !waiter.mode.compatible_with(entry.1))
                    .map(|entry| entry.0);
                let ahead = queue.waiting.iter().take(position).map(|other| other.waits_for);
                edges.insert(
                    waiter.waits_for,
                    (waiter.clone(), blocked_by_grant.chain(ahead).collect()),
                );
            }
        }
        while let Some(cycle) = find_cycle(start, &edges) {
            let members = cycle.iter().filter_map(|owner| edges.get(owner));
            // Among equals the youngest gives way: it has the highest id.
            let victim = members.min_by_key(|(waiter, _)| (waiter.price, std::cmp::Reverse(waiter.owner)));
            let Some((waiter, _)) = victim else { return };
            waiter.decide(Verdict::Victim);
            let owner = waiter.waits_for;
            edges.remove(&owner);
        }
    }

    /// Every lock held and waited for, in the order of resources.
    pub fn rows(&self) -> Vec<LockRow> {
        let mut rows = Vec::new();
        for shard in &self.shards {
            for (&resource, queue) in shard.lock().iter() {
                let granted = queue.granted.iter().map(|&(owner, mode)| (owner, mode, true));
                let waiting = queue
                    .waiting
                    .iter()
                    .map(|waiter| (waiter.waits_for, waiter.mode, false));
                rows.extend(granted.chain(waiting).map(|(owner, mode, granted)| LockRow {
                    resource,
                    mode,
                    owner,
                    granted,
                    application: None,
                }));
            }
        }
        let mut rows: Vec<LockRow> = rows.into_iter().flat_map(|row| self.with_accounts(row)).collect();
        rows.sort_by_key(|row| (row.resource, !row.granted, row.owner));
        rows
    }
}

impl LockManager {
    /// A line for each account of an application lock; other locks have one line.
    fn with_accounts(&self, row: LockRow) -> Vec<LockRow> {
        if !matches!(row.resource, Resource::Application(..)) {
            return vec![row];
        }
        let accounts = self.applications.rows(row.resource, row.owner).into_iter();
        accounts
            .filter(|(_, held)| held.is_some() == row.granted)
            .map(|(application, held)| LockRow {
                mode: held.unwrap_or(row.mode),
                application: Some(application),
                ..row
            })
            .collect()
    }

    /// Whether `mode` would be granted to `owner` at once.
    pub(super) fn could_grant(&self, owner: u64, resource: Resource, mode: Mode) -> bool {
        let shard = self.shard(&resource);
        shard.get(&resource).is_none_or(|queue| {
            let held = queue.held_by(owner);
            let wanted = held.map_or(mode, |held| held.joined_with(mode));
            queue.fits(owner, wanted) && (held.is_some() || queue.waiting.is_empty())
        })
    }
}

impl LockManager {
    /// Whether `mode` goes beside every lock granted to others; requests that wait do not count.
    pub(super) fn fits(&self, owner: u64, resource: Resource, mode: Mode) -> bool {
        let shard = self.shard(&resource);
        shard.get(&resource).is_none_or(|queue| queue.fits(owner, mode))
    }
}

impl Default for LockManager {
    fn default() -> Self {
        LockManager::new()
    }
}

/// The owners on a cycle through `start`, if there is one. Depth first, each owner visited once.
fn find_cycle(start: u64, edges: &HashMap<u64, (Arc<Waiter>, Vec<u64>)>) -> Option<Vec<u64>> {
    let mut path = vec![(start, 0usize)];
    let mut seen = std::collections::HashSet::from([start]);
    while let Some(&mut (owner, ref mut next)) = path.last_mut() {
        let target = edges.get(&owner).and_then(|(_, targets)| targets.get(*next)).copied();
        *next += 1;
        match target {
            Some(target) if target == start => return Some(path.iter().map(|step| step.0).collect()),
            Some(target) if seen.insert(target) => path.push((target, 0)),
            Some(_) => {}
            None => {
                path.pop();
            }
        }
    }
    None
}
