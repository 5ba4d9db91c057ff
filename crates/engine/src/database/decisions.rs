//! Transactions that have changed several databases commit in all of them, or in none.
//!
//! ```text
//! 1. every database    its log is durable up to the transaction's last record there: each part can be committed now
//! 2. master            a row that lists all parts, durable: the decision
//! 3. every database    Commit, durable
//! 4.                   the decision is over; its row is deleted with the next decision
//! ```
//! After a crash before the row is durable, there are transactions without a Commit and without a decision: they are rolled back
//! everywhere. After a later crash, every part without a Commit gets one when its database is opened, before undo. master is opened first,
//! so no transaction is in doubt while a database is open: no locks are held and no log is kept for an outcome. If a transaction has
//! changed master itself, it writes the row there, so that its Commit in master is the decision. tempdb does not count, because it is
//! recreated at startup. A part is identified by the database's guid, the recovery fork, and the transaction's number and first record. No
//! other transaction on any recovery path has all of these.
//!
//! | a database with a part | then |
//! |---|---|
//! | fails while its Commit is written | the others commit; its part commits when it is opened again (SET ONLINE, or the next start) |
//! | is offline, or cannot be opened, at startup | the decision is kept until a startup that opens it |
//! | is dropped | the decision is over for it |
//! | is restored from backups that hold the part without its Commit | the part commits if the decision is not over, otherwise it is rolled back: STOPAT in one database does not affect the others |
//! | is restored under another name | the part is rolled back: it is another database |
//! | master is lost, or restored from before the decision | the part is rolled back |
//!
//! A transaction that changed only one database needs none of this.
//!
//! Invariant: a decision becomes durable and known under one mutex, after a check that no part's log has failed. Recovery of a database
//! asks for decisions under the same mutex, and a database is opened again in a running instance only if its log has failed. So a part is
//! never rolled back by a recovery while its session commits it elsewhere.

use super::{Database, SystemWork};
use crate::catalog::{CommitDecision, DecidedPart, ObjectDefinition};
use crate::error::{Error, NotStored, Result};
use crate::lock::LockOwner;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock, Weak};

/// The decisions of an instance.
#[derive(Default)]
pub struct Decisions {
    master: OnceLock<Weak<Database>>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// Some part may be without its Commit.
    open: Vec<CommitDecision>,
    /// Rows of master that are no longer needed.
    over: BTreeSet<u32>,
}

impl Decisions {
    /// What master has, as soon as it is open.
    pub fn load(&self, master: &Arc<Database>) {
        let mut known = self.known.lock();
        let _ = self.master.set(Arc::downgrade(master));
        let objects = master.catalog.objects(0);
        known.open = objects
            .iter()
            .filter_map(|object| match &object.definition {
                ObjectDefinition::CommitDecision(decision) => Some(decision.clone()),
                _ => None,
            })
            .collect();
    }

    /// The databases have been opened: decisions without a part in a database that may still need them are over.
    pub fn look_through(&self, may_need: impl Fn(&[u8; 16]) -> bool) {
        let known = &mut *self.known.lock();
        known.open.retain(|decision| {
            let is_needed = decision.parts.iter().any(|part| may_need(&part.database_guid));
            if !is_needed {
                known.over.insert(decision.object_id);
            }
            is_needed
        });
    }

    /// Whether a transaction that recovery finds without an end has committed: then the mark that its Commit gets, empty for none.
    pub fn committed_mark(&self, part: &DecidedPart) -> Option<Vec<u8>> {
        let known = self.known.lock();
        let decision = known.open.iter().find(|decision| decision.parts.contains(part))?;
        Some(decision.mark.clone())
    }

    /// Makes a decision about these parts durable, with the mark of the transaction. Answers its number.
    ///
    /// # Errors
    /// Those of `are_intact`, of waiting for the turn in master, and of master's log.
    pub(crate) fn decide(
        &self,
        owner: &LockOwner,
        (parts, mark): (Vec<DecidedPart>, &[u8]),
        are_intact: &dyn Fn() -> Result<()>,
    ) -> std::result::Result<u32, NotStored> {
        let master = self.master()?;
        let decision = Decisions::prepare(&master, parts, mark)?;
        let object_id = decision.object_id;
        let patient = owner.beside();
        patient.set_timeout_ms(-1);
        let turn = master.system_turn(&patient)?;
        let mut known = self.known.lock();
        are_intact()?;
        let over = std::mem::take(&mut known.over);
        let changed = master.change_catalog(&turn, SystemWork::MasterRows, |ctx| {
            for object in master.catalog.objects(0) {
                let is_decision = matches!(object.definition, ObjectDefinition::CommitDecision(_));
                if is_decision && over.contains(&object.definition.object_id()) {
                    master.catalog.remove(ctx, 0, &object)?;
                }
            }
            let definition = ObjectDefinition::CommitDecision(decision.clone());
            master.catalog.insert(ctx, 0, definition).map(drop)
        });
        match changed {
            Ok(()) => known.open.push(decision),
            Err(_) => known.over = over,
        }
        changed.map(|()| object_id)
    }

    /// A decision that master's own part is to carry: the caller writes its row, and `commit` commits that part.
    ///
    /// # Errors
    /// Those of `are_intact`, and of `commit`; after the latter the outcome is unknown.
    pub(crate) fn decide_by(
        &self,
        decision: CommitDecision,
        are_intact: &dyn Fn() -> Result<()>,
        commit: impl FnOnce() -> Result<()>,
    ) -> std::result::Result<(), NotStored> {
        let mut known = self.known.lock();
        are_intact()?;
        let is_unknown = true;
        commit().map_err(|error| NotStored { error, is_unknown })?;
        known.open.push(decision);
        Ok(())
    }

    /// A decision that has no row yet.
    ///
    /// # Errors
    /// Those of writing master's boot record and of promising ids.
    pub(crate) fn prepare(master: &Database, parts: Vec<DecidedPart>, mark: &[u8]) -> Result<CommitDecision> {
        master.note_decisions()?;
        if !mark.is_empty() {
            master.note_marks()?;
        }
        let object_id = master.new_object_id()?;
        Ok(CommitDecision {
            object_id,
            parts,
            mark: mark.to_vec(),
        })
    }

    /// Every part has its Commit, durably.
    pub(crate) fn complete(&self, object_id: u32) {
        let known = &mut *self.known.lock();
        known.open.retain(|decision| decision.object_id != object_id);
        known.over.insert(object_id);
    }

    fn master(&self) -> Result<Arc<Database>> {
        let master = self.master.get().and_then(Weak::upgrade);
        master.ok_or_else(Error::shutdown_in_progress)
    }
}
