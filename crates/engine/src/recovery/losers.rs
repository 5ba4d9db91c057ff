//! The locks that each transaction to be undone keeps until its undo, so that a database can open before undo.
//!
//! The last checkpoint lists the locks for writing that the transaction held then. The transaction's own records since that checkpoint,
//! read backward, give its later changes. Transactions that change definitions, and transactions that the checkpoint listed without locks,
//! have no such list: they are undone before users can connect.
//!
//! A transaction that is undone page by page needs no guard: its changes are taken back by who comes across them (`crate::marked`), but for those of
//! definitions, which are undone before users can connect.
//!
//! | first record | changed the catalog since the checkpoint | listed with locks | then |
//! |---|---|---|---|
//! | any | yes | any | undone before opening |
//! | before the checkpoint | no | no | undone before opening |
//! | before the checkpoint | no | yes | guarded by the list and by its records since |
//! | at or behind the checkpoint | no | any | the same |

use super::analysis::{ActiveEntry, Analysis};
use crate::buffer::DatabaseStorage;
use crate::error::{Error, Result};
use crate::lock::{ESCALATION_THRESHOLD, WriteLock};
use crate::log::{RecordKind, TransactionChain, TransactionId, Undoing};
use crate::page::{Change, Damage, ObjectId, UndoKind};
use crate::store::{self, Touched};
use std::collections::{BTreeMap, BTreeSet};
use vlf::Lsn;

/// A transaction to be undone.
#[derive(Debug)]
pub struct Loser {
    pub chain: TransactionChain,
    /// What keeps others from what it changed; `None` when it has to be undone before anybody gets in.
    pub guard: Option<Guard>,
    /// Log space that its rollback needs at most, in bytes, if it is undone page by page.
    pub reserve_bytes: u64,
}

/// What a transaction to be undone has changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Guard {
    /// Locks the checkpoint listed.
    pub locks: Vec<WriteLock>,
    /// Rows changed since, by heap or tree; `None` stands for all of it.
    pub rows: BTreeMap<u32, Option<BTreeSet<u64>>>,
    /// Log space that its rollback needs, in bytes.
    pub reserve_bytes: u64,
}

impl Guard {
    fn add(&mut self, touched: Touched) {
        match touched {
            Touched::Nothing => {}
            Touched::Everything(ObjectId(unit)) => {
                self.rows.insert(unit, None);
            }
            Touched::Rows(ObjectId(unit), rows) => {
                let known = self.rows.entry(unit).or_insert_with(|| Some(BTreeSet::new()));
                if let Some(known) = known {
                    known.extend(rows);
                }
                // So many rows would be one lock on the table anyway.
                known.take_if(|rows| rows.len() > ESCALATION_THRESHOLD as usize);
            }
        }
    }

    fn has_all_of(&self, ObjectId(unit): ObjectId) -> bool {
        self.rows.get(&unit).is_some_and(Option::is_none)
    }
}

/// The transactions to be undone, each with its guard if `with_guards`. The pages are redone. `checkpoint` is where analysis began; `catalog` holds
/// the definitions.
///
/// # Errors
/// 9004 for records that cannot be read, 823 and 824 for pages.
pub fn survey(
    storage: &DatabaseStorage,
    analysis: &Analysis,
    checkpoint: Lsn,
    catalog: ObjectId,
    with_guards: bool,
) -> Result<Vec<Loser>> {
    let losers = analysis.losers.iter();
    let loser = |entry: &ActiveEntry| {
        let listed = analysis.locks.get(&entry.id).cloned();
        let guard = match (entry.first < checkpoint, listed) {
            _ if entry.undoing != Undoing::InOrder => None,
            (true, None) => None,
            _ if !with_guards => None,
            (_, listed) => guard_of(storage, entry, listed.unwrap_or_default(), checkpoint, catalog)?,
        };
        Ok(Loser {
            chain: chain_of(entry, analysis),
            guard,
            reserve_bytes: entry.reserved_bytes + entry.undo_bytes_since,
        })
    };
    losers.map(loser).collect()
}

fn chain_of(entry: &ActiveEntry, analysis: &Analysis) -> TransactionChain {
    let mut chain = TransactionChain::recovered(TransactionId(entry.id), entry.first, entry.last);
    chain.set_undoing(entry.undoing);
    if let Some(undone_first) = analysis.undone_first.get(&entry.id)
        && entry.undoing == Undoing::PartlyByPage
    {
        chain.end.set_undone_first(undone_first.clone());
    }
    if entry.needed_from != entry.first {
        chain.end.set_needed_from(entry.needed_from);
    }
    chain
}

/// Reads the transaction's records back to the checkpoint; `None` when one changed the catalog.
fn guard_of(
    storage: &DatabaseStorage,
    entry: &ActiveEntry,
    locks: Vec<WriteLock>,
    checkpoint: Lsn,
    catalog: ObjectId,
) -> Result<Option<Guard>> {
    let mut guard = Guard {
        locks,
        reserve_bytes: entry.reserved_bytes,
        ..Guard::default()
    };
    let mut next = entry.last;
    while next >= checkpoint && next != Lsn::ZERO {
        let record = storage.log.read_record(next)?;
        // A change from before the checkpoint is in its list.
        if record.stands_for().is_some_and(|change| change < checkpoint) {
            next = record.header.previous;
            continue;
        }
        let record = match record.header.kind {
            RecordKind::Carried => match record.into_carried_change() {
                Some(change) => change,
                None => {
                    return Err(Error::log_damaged(
                        &storage.name,
                        &format!("record {next} carries no change"),
                    ));
                }
            },
            _ => record,
        };
        next = match record.header.kind {
            RecordKind::Compensation => record.header.undo_next,
            RecordKind::Change => {
                let damage = |found: Damage| Error::log_damaged(&storage.name, &format!("record {next}: {}", found.0));
                let change = Change::decode(&record.payload).map_err(damage)?;
                if change.object == catalog && change.undo != UndoKind::None {
                    return Ok(None);
                }
                guard.reserve_bytes +=
                    store::undo_reserve_bytes(&change, !record.links().is_empty()).map_err(damage)?;
                if !guard.has_all_of(change.object) {
                    guard.add(store::touched(storage, &change)?);
                }
                record.header.previous
            }
            _ => record.header.previous,
        };
    }
    Ok(Some(guard))
}
