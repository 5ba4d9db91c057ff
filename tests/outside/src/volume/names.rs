//! The names of a volume: which are durable, which programs see, and the changes in between.
//!
//! Two models, drawn for each run, because POSIX promises less than any one file system keeps:
//!
//! | model | what makes a change of names durable | what a power cut leaves of the others |
//! |---|---|---|
//! | `Journal`, as ext4 orders it | fsync of its directory, or of the file it names, and with it all earlier changes | a prefix of them |
//! | `Weakest` | fsync of its directory alone, and only the changes there | any of them, each by itself |
//!
//! A rename inside one directory is one change in both models: it happens or does not. A rename between directories is one
//! change in a journal; in the weakest model it is two, and a power cut may leave both names or none.

use super::fate::Draws;
use std::collections::{BTreeMap, BTreeSet};

/// Number of an inode; the root is 1.
pub type InodeNumber = u64;

/// A name in a directory.
pub type Place = (InodeNumber, String);

/// How names become durable; see the module's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameModel {
    Journal,
    Weakest,
}

type Entries = BTreeMap<Place, InodeNumber>;

#[derive(Debug, Clone)]
struct Pending {
    /// What each place holds after the change.
    places: Vec<(Place, Option<InodeNumber>)>,
    number: u64,
}

/// All names of a volume.
#[derive(Debug, Clone)]
pub struct Names {
    model: NameModel,
    current: Entries,
    durable: Entries,
    pending: Vec<Pending>,
}

fn apply(places: &[(Place, Option<InodeNumber>)], entries: &mut Entries) {
    for (place, inode) in places {
        match inode {
            Some(inode) => entries.insert(place.clone(), *inode),
            None => entries.remove(place),
        };
    }
}

impl Names {
    /// No names.
    pub fn new(model: NameModel) -> Names {
        Names {
            model,
            current: Entries::new(),
            durable: Entries::new(),
            pending: Vec::new(),
        }
    }

    /// The inode at `place`.
    pub fn get(&self, directory: InodeNumber, name: &str) -> Option<InodeNumber> {
        self.current.get(&(directory, name.to_string())).copied()
    }

    /// The names in `directory` in order.
    pub fn list(&self, directory: InodeNumber) -> impl Iterator<Item = (&str, InodeNumber)> {
        let from = (directory, String::new());
        let entries = self.current.range(from..);
        entries
            .take_while(move |((parent, _), _)| *parent == directory)
            .map(|((_, name), inode)| (name.as_str(), *inode))
    }

    /// Puts an inode at a place, in place of the one that may be there.
    pub fn set(&mut self, place: Place, inode: InodeNumber, number: u64) {
        self.change(vec![(place, Some(inode))], number);
    }

    pub fn remove(&mut self, place: Place, number: u64) {
        self.change(vec![(place, None)], number);
    }

    /// Moves an inode from place to place.
    pub fn rename(&mut self, from: Place, to: Place, inode: InodeNumber, number: u64) {
        if self.model == NameModel::Weakest && from.0 != to.0 {
            self.set(to, inode, number);
            self.remove(from, number);
        } else {
            self.change(vec![(from, None), (to, Some(inode))], number);
        }
    }

    fn change(&mut self, places: Vec<(Place, Option<InodeNumber>)>, number: u64) {
        apply(&places, &mut self.current);
        self.pending.push(Pending { places, number });
    }

    /// fsync of a directory.
    pub fn sync_directory(&mut self, directory: InodeNumber) {
        self.sync(|pending| pending.places.iter().any(|((parent, _), _)| *parent == directory));
    }

    /// fsync of a file, which in a journal takes along the changes that gave it its name.
    pub fn sync_file(&mut self, inode: InodeNumber) {
        if self.model == NameModel::Journal {
            self.sync(|pending| pending.places.iter().any(|(_, named)| *named == Some(inode)));
        }
    }

    fn sync(&mut self, concerns: impl Fn(&Pending) -> bool) {
        let last = self.pending.iter().rposition(&concerns);
        let Some(last) = last else { return };
        let all_before = self.model == NameModel::Journal;
        let mut index = 0;
        self.pending.retain(|pending| {
            let durable = index <= last && (all_before || concerns(pending));
            index += 1;
            if durable {
                apply(&pending.places, &mut self.durable);
            }
            !durable
        });
    }

    /// Every inode that has a name, or may have one after a power cut.
    pub fn reachable(&self) -> BTreeSet<InodeNumber> {
        let pending = self.pending.iter().flat_map(|pending| &pending.places);
        let pending = pending.filter_map(|(_, inode)| *inode);
        let named = self.current.values().chain(self.durable.values()).copied();
        named.chain(pending).collect()
    }

    /// Number of the first change that is not durable.
    pub fn first_pending(&self) -> Option<u64> {
        self.pending.first().map(|pending| pending.number)
    }

    /// The names as a power cut leaves them, from then on by `model`.
    pub fn after_power_cut(&self, draws: &mut Draws, model: NameModel) -> Names {
        let mut entries = self.durable.clone();
        for pending in &self.pending {
            if draws.keeps_change(pending.number) {
                apply(&pending.places, &mut entries);
            } else if self.model == NameModel::Journal {
                break;
            }
        }
        Names {
            model,
            current: entries.clone(),
            durable: entries,
            pending: Vec::new(),
        }
    }

    /// The same names, all of them durable.
    pub fn settle(&mut self) {
        self.durable = self.current.clone();
        self.pending.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::super::fate::{Draws, Fate};
    use super::{NameModel, Names, Place};
    use crate::random::Random;

    fn place(directory: u64, name: &str) -> Place {
        (directory, name.to_string())
    }

    fn left(names: &Names, fate: Fate) -> Vec<(u64, String)> {
        let mut draws = Draws::of(fate, Random::new(1));
        let after = names.after_power_cut(&mut draws, NameModel::Journal);
        after.current.into_keys().collect()
    }

    #[test]
    fn a_name_is_durable_after_fsync_of_its_directory() {
        for model in [NameModel::Journal, NameModel::Weakest] {
            let mut names = Names::new(model);
            names.set(place(1, "a"), 2, 1);
            assert_eq!(left(&names, Fate::AllLost), []);
            names.sync_directory(1);
            names.rename(place(1, "a"), place(1, "b"), 2, 2);
            assert_eq!(left(&names, Fate::AllLost), [place(1, "a")]);
            assert_eq!(left(&names, Fate::AllKept), [place(1, "b")]);
            names.sync_directory(1);
            assert_eq!(left(&names, Fate::AllLost), [place(1, "b")]);
        }
    }

    #[test]
    fn fsync_of_a_file_keeps_its_name_in_a_journal_only() {
        for (model, kept) in [(NameModel::Journal, 2), (NameModel::Weakest, 0)] {
            let mut names = Names::new(model);
            names.set(place(1, "before"), 2, 1);
            names.set(place(1, "file"), 3, 2);
            names.set(place(1, "later"), 4, 3);
            names.sync_file(3);
            assert_eq!(left(&names, Fate::AllLost).len(), kept);
        }
    }

    #[test]
    fn a_rename_between_directories_may_leave_both_names_where_nothing_orders_it() {
        let mut names = Names::new(NameModel::Weakest);
        names.set(place(1, "a"), 2, 1);
        names.settle();
        names.rename(place(1, "a"), place(9, "a"), 2, 2);
        names.sync_directory(9);
        assert_eq!(left(&names, Fate::AllLost), [place(1, "a"), place(9, "a")]);
    }
}
