//! The end of a transaction that has changed several databases, in the steps of `database::decisions`.

use super::{Part, Session};
use crate::catalog::{DecidedPart, MASTER, ObjectDefinition, TEMPDB};
use crate::database::Decisions;
use crate::error::{Error, NotStored, Result};

/// All parts commit, whatever happens from here on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Decided {
    object_id: u32,
    /// The decision was master's own Commit.
    pub(super) is_committed_in_master: bool,
}

impl Part {
    fn counts(&self) -> bool {
        self.database.id != TEMPDB
    }

    fn is_intact(&self) -> Result<()> {
        self.database.storage.log.check_intact()
    }

    fn named(&self) -> DecidedPart {
        DecidedPart {
            database_guid: self.database.boot().guid,
            fork: self.database.boot().path.fork.0,
            transaction: self.chain.id.0,
            first: self.chain.first.to_bytes(),
        }
    }
}

impl Session {
    /// Decides that the transaction commits in all databases that it has changed; `None` where that is one, whose Commit says so.
    ///
    /// # Errors
    /// 9001 where a log has failed; those of [`Decisions::decide`].
    pub(super) fn decide(&mut self) -> std::result::Result<Option<Decided>, NotStored> {
        if self.parts.len() < 2 || self.parts.iter().filter(|part| part.counts()).count() < 2 {
            return Ok(None);
        }
        let mut named = Vec::with_capacity(self.parts.len());
        for part in self.parts.iter().filter(|part| part.counts()) {
            part.database.storage.log.flush_to(part.chain.last)?;
            named.push(part.named());
        }
        let in_master = self.parts.iter().position(|part| part.database.id == MASTER);
        let object_id = match in_master {
            Some(place) => self.decide_in_master(place, named)?,
            None => {
                let decisions = &self.parts[0].database.decisions;
                let are_intact = || self.parts.iter().try_for_each(Part::is_intact);
                decisions.decide(&self.locks, named, &are_intact)?
            }
        };
        let is_committed_in_master = in_master.is_some();
        Ok(Some(Decided {
            object_id,
            is_committed_in_master,
        }))
    }

    fn decide_in_master(&mut self, place: usize, named: Vec<DecidedPart>) -> std::result::Result<u32, NotStored> {
        let (master, session) = (self.parts[place].database.clone(), self.id);
        let decision = Decisions::prepare(&master, named)?;
        let object_id = decision.object_id;
        let definition = ObjectDefinition::CommitDecision(decision.clone());
        self.write(&master, |ctx| master.catalog.insert(ctx, session, definition).map(drop))?;
        let mut chain = self.parts[place].chain.clone();
        let are_intact = || self.parts.iter().try_for_each(Part::is_intact);
        master.decisions.decide_by(decision, &are_intact, || {
            let committed = master.transactions.commit(&master.storage, &mut chain);
            committed.map(drop)
        })?;
        self.parts[place].chain = chain;
        Ok(object_id)
    }

    /// Every part has ended; `outcome` says whether each of them has its Commit.
    pub(super) fn complete(&self, decided: Option<Decided>, decisions: Option<&Decisions>, outcome: &Result<()>) {
        if let (Some(decided), Some(decisions), Ok(())) = (decided, decisions, outcome) {
            decisions.complete(decided.object_id);
        }
    }

    /// Nobody knows whether the transaction has committed: what it has locked stays so, until its databases are recovered.
    pub(super) fn end_undecided(&mut self, error: Error) -> Error {
        for mut part in std::mem::take(&mut self.parts) {
            // Each part ends with the error that it is given.
            let _ = self.end_part(&mut part, Err(error.clone()));
        }
        error
    }
}
