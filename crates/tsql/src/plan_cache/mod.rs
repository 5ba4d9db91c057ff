//! The plans that an instance keeps: one entry for a text, a set of parameters or a module, shared by all sessions.
//!
//! ```text
//! PlanKey: text, parameters, QUOTED_IDENTIFIER, database      -> CachedPlan: tree, plans of its statements, uses, execution statistics
//!          statement with parameters for its constants, ...
//!          definition of a module
//! session (prepared): the same, found without a lock; it takes plans from the entry and adds plans that it has compiled
//! ```
//! Entries age by bytes ([`crate::modules`] has the aging cache). An evicted entry, by age or on request (DBCC FREEPROCCACHE,
//! sp_recompile), is marked: a session that still uses it enters its text again and recompiles its plans.
//!
//! A shared plan was compiled outside a transaction, from committed definitions, and without temporary tables, so any session would get the
//! same plan (`prepared::batch`). Each use checks whether it is still valid.
//!
//! The cache charges all of its memory, and evicts the oldest entries before a request for memory is refused ([`Keeper`]).
//!
//! Invariant: no thread requests memory while it holds the lock on an entry's plans, because freeing memory may need that lock. Invariant:
//! this room knows entries but not plans: bound statements are opaque to it.

mod entry;
mod handle;
mod optimizations;
mod statistics;
mod text;

pub(crate) use entry::{CachedPlan, PlanKind, SharedPlan};
pub(crate) use optimizations::{ChangeStatement, CountedHints, OptimizationCounters};
pub(crate) use statistics::{Execution, QueryStatistics, Totals};

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::instance::Instance;
use engine::memory::Keeper;
use parking_lot::Mutex;

use crate::modules::{AgingCache, Footprint, Module};
use text::DigestedText;

/// Most that the plans of an instance take together, with their trees and texts.
const BYTES_MAX: u64 = 64 << 20;
/// The part of `max server memory` that they take at most.
const MEMORY_SHARE: u64 = 32;

/// What an entry is found by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum PlanKey {
    /// A batch, or a text with parameters.
    Text {
        /// The database in which it is run.
        database: u16,
        quoted_identifier: bool,
        /// As the client has written them; empty for a batch.
        declarations: Arc<str>,
        text: DigestedText,
    },
    /// A statement whose constants parameters stand for.
    Template {
        /// The database in which it is run.
        database: u16,
        quoted_identifier: bool,
        /// Of the parameters, in parentheses.
        declarations: Arc<str>,
        text: DigestedText,
    },
    /// A module, by the address of what was made of its definition. The entry keeps that.
    Module(usize),
}

impl PlanKey {
    /// The key of a module.
    pub(crate) fn module(module: &Arc<Module>) -> PlanKey {
        PlanKey::Module(Arc::as_ptr(module) as usize)
    }

    /// What it takes itself, in bytes.
    fn bytes(&self) -> u64 {
        match self {
            PlanKey::Text { declarations, text, .. } | PlanKey::Template { declarations, text, .. } => {
                (declarations.len() + text.text().len()) as u64
            }
            PlanKey::Module(_) => 0,
        }
    }
}

/// An entry in the cache: when the cache drops it, its remaining users can see that.
struct InCache(Arc<CachedPlan>);

impl Drop for InCache {
    fn drop(&mut self) {
        self.0.leave();
    }
}

impl Footprint for InCache {
    fn bytes(&self) -> u64 {
        self.0.bytes()
    }

    fn was_used(&self) -> bool {
        self.0.was_used()
    }
}

pub(crate) struct PlanCache {
    kept: Mutex<AgingCache<PlanKey, InCache>>,
    /// The number of the entry made last.
    numbers: AtomicU64,
    /// What making plans has come to, kept or not.
    optimizations: OptimizationCounters,
}

impl Keeper for PlanCache {
    fn give_up(&self, bytes: u64) {
        // The request for memory may come from this cache itself.
        if let Some(mut kept) = self.kept.try_lock() {
            kept.give_up(bytes);
        }
    }
}

impl PlanCache {
    /// The cache of an instance, the same one for all of its sessions.
    pub(crate) fn of(instance: &Instance) -> Arc<PlanCache> {
        let share = instance.options.max_server_memory_bytes / MEMORY_SHARE;
        instance.kept_above(|| PlanCache::new(share.min(BYTES_MAX)))
    }

    fn new(bytes_max: u64) -> PlanCache {
        PlanCache {
            kept: Mutex::new(AgingCache::new(bytes_max)),
            numbers: AtomicU64::new(0),
            optimizations: OptimizationCounters::default(),
        }
    }

    /// The counters of what the optimizer does.
    pub(crate) fn optimizations(&self) -> &OptimizationCounters {
        &self.optimizations
    }

    /// The entry of a key.
    pub(crate) fn find(&self, key: &PlanKey) -> Option<Arc<CachedPlan>> {
        self.kept.lock().find(key).map(|kept| kept.0.clone())
    }

    /// The entry of a key: as it is kept, or made and kept if there is room for it.
    pub(crate) fn enter(&self, key: &PlanKey, make: impl FnOnce(u64) -> CachedPlan) -> Arc<CachedPlan> {
        let mut kept = self.kept.lock();
        if let Some(found) = kept.find(key) {
            return found.0.clone();
        }
        let made = Arc::new(make(self.numbers.fetch_add(1, Ordering::Relaxed) + 1));
        kept.keep(key.clone(), InCache(made.clone()), key.bytes());
        made
    }

    /// Puts back an evicted entry, without its plans; returns the current one.
    pub(crate) fn renew(&self, left: &CachedPlan) -> Arc<CachedPlan> {
        self.enter(left.key(), |number| left.renewed(number))
    }

    /// An entry has grown: others may have to go.
    pub(crate) fn grew(&self, plan: &CachedPlan) {
        self.kept.lock().measure(plan.key());
    }

    /// All entries, the oldest first.
    pub(crate) fn all(&self) -> Vec<Arc<CachedPlan>> {
        self.kept.lock().values().map(|kept| kept.0.clone()).collect()
    }

    /// Evicts entries; returns their number.
    pub(crate) fn remove(&self, is_meant: impl Fn(&CachedPlan) -> bool) -> usize {
        self.kept.lock().retain(|kept| !is_meant(&kept.0))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn key(text: &str) -> PlanKey {
        PlanKey::Text {
            database: 5,
            quoted_identifier: true,
            declarations: "".into(),
            text: text.into(),
        }
    }

    fn entered(cache: &PlanCache, text: &str) -> Arc<CachedPlan> {
        cache.enter(&key(text), |number| CachedPlan::for_test(number, key(text), 1_000))
    }

    #[test]
    fn who_enters_a_text_second_finds_the_entry_of_the_first() {
        let cache = PlanCache::new(1 << 20);
        let first = entered(&cache, "select 1");
        assert!(Arc::ptr_eq(&first, &entered(&cache, "select 1")));
        assert!(!Arc::ptr_eq(&first, &entered(&cache, "select 2")));
        assert_eq!(cache.all().len(), 2);
    }

    #[test]
    fn an_entry_that_is_let_go_of_says_so_and_is_entered_again_under_another_number() {
        let cache = PlanCache::new(1 << 20);
        let first = entered(&cache, "select 1");
        entered(&cache, "select 2");
        assert_eq!(cache.remove(|plan| Arc::ptr_eq(plan.text(), first.text())), 1);
        assert!(first.has_left());
        let again = cache.renew(&first);
        assert!(!again.has_left());
        assert_ne!(again.plan_handle(), first.plan_handle());
        assert_eq!(again.sql_handle(), first.sql_handle());
        assert_eq!(cache.remove(|_| true), 2);
    }

    #[test]
    fn what_is_used_outlives_what_is_not_and_all_of_it_stays_within_the_bound() {
        let cache = PlanCache::new(10_000);
        let used = entered(&cache, "select 0");
        for n in 1..100 {
            used.use_once();
            entered(&cache, &format!("select {n}"));
            assert!(cache.all().iter().map(|plan| plan.bytes()).sum::<u64>() <= 10_000);
        }
        assert!(!used.has_left());
        assert!(cache.find(&key("select 1")).is_none());
    }
}
