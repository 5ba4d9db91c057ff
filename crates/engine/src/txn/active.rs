//! The open transactions of a database, by number, and the position in the log where the oldest of them begins.
//!
//! A number is assigned before its Begin record is appended, and other transactions append in between. So the order of numbers is nearly,
//! but not exactly, that of first records. Every commit asks for the oldest transaction, so the first records have a separate order.
//!
//! Invariant: `first` of an entry is zero while its Begin is being appended, and its chain is in `beginning` just then.
//! Invariant: `firsts` has the first record of every other entry, ascending.

use super::ActiveTransaction;
use crate::log::{ChainEnd, TransactionId};
use vlf::Lsn;

/// See the module. Short transactions come and go at the ends, and the memory stays.
#[derive(Default)]
pub(super) struct Active {
    entries: Vec<(TransactionId, ActiveTransaction)>,
    firsts: Vec<Lsn>,
    beginning: Vec<(TransactionId, ChainEnd)>,
}

impl Active {
    fn place(&self, id: TransactionId) -> std::result::Result<usize, usize> {
        self.entries.binary_search_by_key(&id, |entry| entry.0)
    }

    /// Enters a transaction, in place of one of this number.
    pub(super) fn insert(&mut self, id: TransactionId, entry: ActiveTransaction) {
        self.remove(id);
        match entry.first {
            Lsn::ZERO => self.beginning.push((id, entry.end.clone())),
            first => self.add_first(first),
        }
        if let Err(place) = self.place(id) {
            self.entries.insert(place, (id, entry));
        }
    }

    /// Its Begin is in the log.
    pub(super) fn begun(&mut self, id: TransactionId, first: Lsn) {
        if let Ok(place) = self.place(id) {
            self.beginning.retain(|(other, _)| *other != id);
            self.entries[place].1.first = first;
            self.add_first(first);
        }
    }

    fn add_first(&mut self, first: Lsn) {
        let place = self.firsts.partition_point(|other| *other < first);
        self.firsts.insert(place, first);
    }

    pub(super) fn remove(&mut self, id: TransactionId) {
        let Ok(place) = self.place(id) else {
            return;
        };
        match self.entries.remove(place).1.first {
            Lsn::ZERO => self.beginning.retain(|(other, _)| *other != id),
            first => {
                if let Ok(place) = self.firsts.binary_search(&first) {
                    self.firsts.remove(place);
                }
            }
        }
    }

    pub(super) fn get(&self, id: TransactionId) -> Option<&ActiveTransaction> {
        self.place(id).ok().map(|place| &self.entries[place].1)
    }

    pub(super) fn get_mut(&mut self, id: TransactionId) -> Option<&mut ActiveTransaction> {
        self.place(id).ok().map(|place| &mut self.entries[place].1)
    }

    /// All of them, the oldest number first.
    pub(super) fn entries(&self) -> &[(TransactionId, ActiveTransaction)] {
        &self.entries
    }

    /// The first record of the oldest. One that is beginning counts as soon as its Begin is in the log.
    pub(super) fn oldest(&self) -> Option<Lsn> {
        let beginning = self.beginning.iter().filter_map(|(_, end)| end.first());
        beginning.chain(self.firsts.first().copied()).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::TransactionChain;

    fn lsn(block: u32) -> Lsn {
        Lsn::new(1, block, 1)
    }

    fn entry(chain: &TransactionChain, first: Lsn) -> ActiveTransaction {
        ActiveTransaction {
            first,
            end: chain.end.clone(),
            session: 0,
            name: "user_transaction".into(),
            begun: crate::seams::DateTimeTicks::default(),
            owner: std::sync::Weak::new(),
        }
    }

    /// The oldest is the one that began first, whatever its number is, in every order of beginning and of leaving.
    #[test]
    fn the_oldest_is_found_whatever_the_order_of_numbers() {
        const ORDERS: [[u64; 3]; 6] = [[1, 2, 3], [1, 3, 2], [2, 1, 3], [2, 3, 1], [3, 1, 2], [3, 2, 1]];
        for begins in ORDERS {
            for leaves in ORDERS {
                let mut active = Active::default();
                let mut model: Vec<(u64, Lsn)> = Vec::new();
                for id in 1..=3 {
                    let chain = TransactionChain::new(TransactionId(id));
                    active.insert(chain.id, entry(&chain, Lsn::ZERO));
                }
                assert_eq!(active.oldest(), None, "none has begun");
                for (block, id) in (10..).zip(begins) {
                    active.begun(TransactionId(id), lsn(block));
                    model.push((id, lsn(block)));
                    assert_eq!(active.oldest(), Some(lsn(10)));
                }
                for id in leaves {
                    active.remove(TransactionId(id));
                    model.retain(|(other, _)| *other != id);
                    assert_eq!(
                        active.oldest(),
                        model.iter().map(|(_, first)| *first).min(),
                        "{begins:?} {leaves:?}"
                    );
                }
                assert!(active.entries().is_empty() && active.firsts.is_empty() && active.beginning.is_empty());
            }
        }
    }
}
