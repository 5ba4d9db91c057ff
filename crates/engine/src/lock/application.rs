//! Application locks: names that mean nothing to the engine, locked by sessions on request (sql-docs, "sp_getapplock").
//!
//! A lock belongs to the session or to its transaction. Both are the same [`LockOwner`], so they never wait for each other, and a deadlock
//! through either is detected. This module counts the locks of each. A lock taken several times must be released as often; those of a
//! transaction are released at its end.
//!
//! Invariant: an owner's lock on a resource in the shared tables is the sum of its session lock and its transaction lock.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use super::{LockOwner, Mode, Resource, hash_bytes};
use crate::error::Result;

/// On whose account a lock is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Account {
    /// Until it is released or the session ends.
    Session,
    /// At most until the transaction ends.
    Transaction,
}

/// What is locked: a name in a database, apart for each principal that it was locked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplicationName {
    pub database: u16,
    /// The principal's id, 0 for public.
    pub principal: u16,
    /// The name, of which every character counts.
    pub name: String,
}

/// How many of a name's characters listings show (sql-docs, `sys.dm_tran_locks`).
const SHOWN_CHARACTERS: usize = 32;

impl ApplicationName {
    /// The resource in the lock tables.
    pub fn resource(&self) -> Resource {
        let mut bytes = self.principal.to_le_bytes().to_vec();
        bytes.extend_from_slice(self.name.as_bytes());
        Resource::Application(self.database, hash_bytes(&bytes))
    }

    /// `sys.dm_tran_locks.resource_description`: principal, the first characters of the name, and its hash.
    pub fn description(&self) -> String {
        let shown: String = self.name.chars().take(SHOWN_CHARACTERS).collect();
        let hash = match self.resource() {
            Resource::Application(_, hash) => hash as u32,
            _ => 0,
        };
        format!("{}:[{shown}]:({hash:08x})", self.principal)
    }
}

/// What one account holds.
#[derive(Debug, Clone, Copy, Default)]
struct Share {
    mode: Option<Mode>,
    /// How often it was asked for and not released.
    count: u32,
}

/// What one owner has to do with one name.
#[derive(Debug)]
struct Holding {
    name: ApplicationName,
    session: Share,
    transaction: Share,
    /// Asked for and not granted yet.
    waiting: Option<Account>,
}

impl Holding {
    fn share(&mut self, account: Account) -> &mut Share {
        match account {
            Account::Session => &mut self.session,
            Account::Transaction => &mut self.transaction,
        }
    }

    fn sum(&self) -> Option<Mode> {
        match (self.session.mode, self.transaction.mode) {
            (Some(one), Some(other)) => Some(one.joined_with(other)),
            (one, other) => one.or(other),
        }
    }
}

/// The holdings of all owners.
#[derive(Debug, Default)]
pub(super) struct Applications(Mutex<BTreeMap<(Resource, u64), Holding>>);

/// A line of `sys.dm_tran_locks` for an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplicationRow {
    /// What listings call the name.
    pub description: String,
    /// Whose the lock is.
    pub account: Account,
}

impl Applications {
    /// What listings tell of an owner's lock on a resource: the accounts and their modes; one without a mode waits.
    pub(super) fn rows(&self, resource: Resource, owner: u64) -> Vec<(ApplicationRow, Option<Mode>)> {
        let holdings = self.0.lock();
        let Some(holding) = holdings.get(&(resource, owner)) else {
            return Vec::new();
        };
        let row = |account| ApplicationRow {
            description: holding.name.description(),
            account,
        };
        let shares = [
            (Account::Session, holding.session),
            (Account::Transaction, holding.transaction),
        ];
        let held = shares
            .into_iter()
            .filter_map(|(account, share)| Some((row(account), Some(share.mode?))));
        let waiting = holding.waiting.map(|account| (row(account), None));
        held.chain(waiting).collect()
    }

    /// What is left to an owner when its transaction ends.
    pub(super) fn end_of_transaction(&self, resource: Resource, owner: u64) -> Option<Mode> {
        let mut holdings = self.0.lock();
        let holding = holdings.get_mut(&(resource, owner))?;
        holding.transaction = Share::default();
        let left = holding.sum();
        if left.is_none() && holding.waiting.is_none() {
            holdings.remove(&(resource, owner));
        }
        left
    }

    /// Forgets an owner that holds nothing any more.
    pub(super) fn forget(&self, resource: Resource, owner: u64) {
        self.0.lock().remove(&(resource, owner));
    }

    pub(super) fn forget_database(&self, database: u16) {
        self.0.lock().retain(|(resource, _), _| resource.database() != database);
    }
}

impl LockOwner {
    /// Locks a name on an account, waiting for at most `timeout_ms` (-1 forever, 0 not at all). True when it had to wait.
    ///
    /// # Errors
    /// As [`LockOwner::lock`]'s; the transaction goes on after each of them.
    pub fn lock_application(
        &self,
        name: &ApplicationName,
        mode: Mode,
        account: Account,
        timeout_ms: i64,
    ) -> Result<bool> {
        let resource = name.resource();
        let waits = !self.try_lock(resource, mode);
        if waits {
            self.wait_for_application(name, mode, account, timeout_ms)?;
        }
        let holdings = &self.applications().0;
        let mut holdings = holdings.lock();
        let holding = holdings
            .entry((resource, self.id()))
            .or_insert_with(|| Holding::of(name));
        let share = holding.share(account);
        share.mode = Some(share.mode.map_or(mode, |held| held.joined_with(mode)));
        share.count += 1;
        Ok(waits)
    }

    fn wait_for_application(
        &self,
        name: &ApplicationName,
        mode: Mode,
        account: Account,
        timeout_ms: i64,
    ) -> Result<()> {
        let key = (name.resource(), self.id());
        let waiting = |now: Option<Account>| {
            let mut holdings = self.applications().0.lock();
            let holding = holdings.entry(key).or_insert_with(|| Holding::of(name));
            holding.waiting = now;
            if now.is_none() && holding.sum().is_none() {
                holdings.remove(&key);
            }
        };
        waiting(Some(account));
        let usual = self.timeout_ms();
        self.set_timeout_ms(timeout_ms);
        let result = self.lock(key.0, mode);
        self.set_timeout_ms(usual);
        waiting(None);
        result
    }

    /// Gives back one request for a name. False when the account holds no lock on it.
    pub fn unlock_application(&self, name: &ApplicationName, account: Account) -> bool {
        let key = (name.resource(), self.id());
        let left = {
            let mut holdings = self.applications().0.lock();
            let Some(holding) = holdings.get_mut(&key) else {
                return false;
            };
            let share = holding.share(account);
            if share.count == 0 {
                return false;
            }
            share.count -= 1;
            if share.count > 0 {
                return true;
            }
            *share = Share::default();
            let left = holding.sum();
            if left.is_none() {
                holdings.remove(&key);
            }
            left
        };
        self.set_application(key.0, left);
        true
    }

    /// Gives back what the session holds on its own account.
    pub fn unlock_session_applications(&self) {
        let own: Vec<ApplicationName> = {
            let holdings = self.applications().0.lock();
            let own = holdings.iter().filter(|((_, owner), _)| *owner == self.id());
            own.map(|(_, holding)| holding.name.clone()).collect()
        };
        for name in own {
            while self.unlock_application(&name, Account::Session) {}
        }
    }

    /// The mode in which an account holds a name.
    pub fn application_mode(&self, name: &ApplicationName, account: Account) -> Option<Mode> {
        let mut holdings = self.applications().0.lock();
        holdings.get_mut(&(name.resource(), self.id()))?.share(account).mode
    }

    /// Whether a request would be granted at once.
    pub fn could_lock_application(&self, name: &ApplicationName, mode: Mode) -> bool {
        self.could_lock(name.resource(), mode)
    }
}

impl Holding {
    fn of(name: &ApplicationName) -> Holding {
        Holding {
            name: name.clone(),
            session: Share::default(),
            transaction: Share::default(),
            waiting: None,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::lock::LockManager;
    use crate::seams::SystemClock;
    use crate::waits::WaitStatistics;

    fn owner(manager: &Arc<LockManager>, session: u16) -> Arc<LockOwner> {
        let (clock, waits) = (Arc::new(SystemClock::new()), Arc::new(WaitStatistics::new()));
        let cancel = Arc::new(AtomicBool::new(false));
        Arc::new(LockOwner::new(manager.clone(), clock, waits, session, cancel))
    }

    fn name(name: &str) -> ApplicationName {
        ApplicationName {
            database: 5,
            principal: 0,
            name: name.to_owned(),
        }
    }

    #[test]
    fn two_accounts_of_a_session_share_a_lock_and_give_it_back_apart() {
        let manager = Arc::new(LockManager::new());
        let (one, other) = (owner(&manager, 51), owner(&manager, 52));
        let form = name("Form1");
        assert!(!one.lock_application(&form, Mode::S, Account::Session, 0).unwrap());
        assert!(!one.lock_application(&form, Mode::X, Account::Transaction, 0).unwrap());
        assert_eq!(one.application_mode(&form, Account::Session), Some(Mode::S));
        assert_eq!(one.application_mode(&form, Account::Transaction), Some(Mode::X));
        assert_eq!(manager.rows().len(), 2);
        assert!(!other.could_lock_application(&form, Mode::S));
        one.release_transaction(|_| false);
        assert!(other.could_lock_application(&form, Mode::S) && !other.could_lock_application(&form, Mode::X));
        assert_eq!(
            other
                .lock_application(&form, Mode::X, Account::Session, 0)
                .unwrap_err()
                .number,
            1222
        );
        assert!(one.unlock_application(&form, Account::Session) && !one.unlock_application(&form, Account::Session));
        assert!(manager.rows().is_empty());
        assert!(other.could_lock_application(&form, Mode::X));
    }

    #[test]
    fn a_lock_taken_twice_is_released_twice() {
        let manager = Arc::new(LockManager::new());
        let (one, other) = (owner(&manager, 51), owner(&manager, 52));
        for _ in 0..2 {
            one.lock_application(&name("a"), Mode::X, Account::Session, -1).unwrap();
        }
        assert!(one.unlock_application(&name("a"), Account::Session));
        assert!(!other.could_lock_application(&name("a"), Mode::S));
        assert!(
            other.could_lock_application(&name("A"), Mode::X),
            "names are compared by their bytes"
        );
        assert!(one.unlock_application(&name("a"), Account::Session));
        assert!(other.could_lock_application(&name("a"), Mode::X));
    }

    /// A session's own account and another's transaction: one circle.
    #[test]
    fn a_circle_through_both_accounts_is_found() {
        let manager = Arc::new(LockManager::new());
        let (one, other) = (owner(&manager, 51), owner(&manager, 52));
        one.lock_application(&name("a"), Mode::X, Account::Session, -1).unwrap();
        other
            .lock_application(&name("b"), Mode::X, Account::Transaction, -1)
            .unwrap();
        one.set_log_bytes(1_000);
        let waiting = other.clone();
        let thread = std::thread::spawn(move || waiting.lock_application(&name("a"), Mode::S, Account::Session, -1));
        while manager.rows().iter().all(|row| row.granted) {
            std::thread::yield_now();
        }
        let waiting = manager.rows().into_iter().find(|row| !row.granted).unwrap();
        assert_eq!(waiting.application.unwrap().account, Account::Session);
        let thread_one = std::thread::spawn(move || {
            let outcome = one.lock_application(&name("b"), Mode::S, Account::Transaction, -1);
            one.release_all();
            outcome
        });
        let outcome = thread.join().unwrap();
        assert_eq!(outcome.unwrap_err().number, 1205);
        other.release_all();
        assert!(thread_one.join().unwrap().unwrap());
        assert!(manager.rows().is_empty());
    }
}
