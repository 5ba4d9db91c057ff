//! The end of a transaction that has changed several databases, in the steps of `database::decisions`; and the mark of a marked one.
//!
//! A mark is a part of every Commit record of its transaction but tempdb's (`log::mark`). The log space for it is set aside as soon as the
//! transaction has both a mark and a first record in the database, so a full log does not keep it from committing.

use super::{Part, Session};
use crate::log::LogMark;

use crate::catalog::{DecidedPart, MASTER, ObjectDefinition, TEMPDB};
use crate::database::{Committed, Database, Decisions};
use crate::error::{Error, NotStored, Result};

/// A mark that a transaction has left in the log of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommittedMark {
    /// The database's name.
    pub database: String,
    pub mark: LogMark,
    /// The Commit record.
    pub committed: Committed,
}

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

    /// Sets log aside for what a mark makes its Commit longer.
    pub(super) fn make_room_for(&mut self, mark: Option<&LogMark>) {
        if let Some(mark) = mark.filter(|_| self.counts()) {
            let bytes = mark.encode().len() as u64;
            self.database.storage.log.set_aside(&mut self.chain, bytes);
        }
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
    /// Marks the transaction in every log that it writes to. False when it is marked already, or there is none.
    pub fn mark_in_log(&mut self, mark: LogMark) -> bool {
        if !self.in_transaction || self.log_mark.is_some() {
            return false;
        }
        self.parts.iter_mut().for_each(|part| part.make_room_for(Some(&mark)));
        self.log_mark = Some(mark);
        true
    }

    /// The marks that committed transactions have left since the last call.
    pub fn take_committed_marks(&mut self) -> Vec<CommittedMark> {
        std::mem::take(&mut self.committed_marks)
    }

    /// Says in the databases that the transaction has changed that their logs have marks, before they do.
    ///
    /// # Errors
    /// 823 when a boot record cannot be written.
    pub(super) fn note_mark(&self) -> Result<()> {
        let is_marked = self.log_mark.is_some();
        let mut parts = self.parts.iter().filter(|part| is_marked && part.counts());
        parts.try_for_each(|part| part.database.note_marks())
    }

    fn mark_of(&self, part: &Part) -> Vec<u8> {
        let mark = self.log_mark.as_ref().filter(|_| part.counts());
        mark.map_or_else(Vec::new, LogMark::encode)
    }

    /// Commits the part in its database.
    ///
    /// # Errors
    /// Those of writing the log.
    pub(super) fn commit_part(&mut self, part: &mut Part) -> Result<()> {
        let mark = self.mark_of(part);
        let (transactions, storage) = (&part.database.transactions, &part.database.storage);
        let committed = transactions.commit_marked(storage, &mut part.chain, &mark)?;
        self.keep_mark(&part.database, Some(committed));
        Ok(())
    }

    /// The database's log has the mark, if there is one.
    fn keep_mark(&mut self, database: &Database, committed: Option<Committed>) {
        if let (Some(mark), Some(committed)) = (&self.log_mark, committed)
            && database.id != TEMPDB
        {
            self.committed_marks.push(CommittedMark {
                database: database.name().to_string(),
                mark: mark.clone(),
                committed,
            });
        }
    }

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
                let mark = self.log_mark.as_ref().map_or_else(Vec::new, LogMark::encode);
                decisions.decide(&self.locks, (named, &mark), &are_intact)?
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
        let mark = self.log_mark.as_ref().map_or_else(Vec::new, LogMark::encode);
        let decision = Decisions::prepare(&master, named, &mark)?;
        let object_id = decision.object_id;
        let definition = ObjectDefinition::CommitDecision(decision.clone());
        self.write(&master, |ctx| master.catalog.insert(ctx, session, definition).map(drop))?;
        let mut chain = self.parts[place].chain.clone();
        let are_intact = || self.parts.iter().try_for_each(Part::is_intact);
        let mut committed = None;
        master.decisions.decide_by(decision, &are_intact, || {
            committed = Some(master.transactions.commit_marked(&master.storage, &mut chain, &mark)?);
            Ok(())
        })?;
        self.parts[place].chain = chain;
        self.keep_mark(&master, committed);
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
