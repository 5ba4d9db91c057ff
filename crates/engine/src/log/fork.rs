//! Recovery forks: the recovery path to which a section of log belongs.
//!
//! ```text
//!           F       L1      L2
//! fork A  --|-------|---p---|----->      RESTORE F, L1 ... STOPAT p ... WITH RECOVERY begins fork B at p:
//!                       |                LSNs behind p mean one thing on A and another on B
//! fork B                +---L2'---->
//! ```
//! Every RESTORE that ends with recovery begins a fork (SQL Server docs: "Recovery paths"). A fork has its own identity and one origin, so
//! a fork and a position on it determine all earlier log. Before its first restore, a database is on the fork named by its backup family.
//!
//! [`LogPath::continuation`] decides whether a set of log continues a database. `p` is the database's position:
//!
//! | the set's log | it belongs to | |
//! |---|---|---|
//! | begins after p | a fork that the database left before the set begins | 4330 |
//! | | any other: the log in between may lead there | 4305 |
//! | ends at or before p, and is not empty | a fork that the database is known not to have been on there | 4330 |
//! | | any other | 4326 |
//! | reaches p | at p, the fork that the database is on | applies |
//! | | at p, any other | 4330 |
//!
//! A set that crosses a fork point is on the fork's parent up to that point and on the fork after it. The fork point itself is still on the
//! parent, because nothing of the fork has been restored yet.
//!
//! Invariant: positions and fork points are exact to the record, not to the block. STOPAT cuts inside blocks, and two cuts of
//! one block have restored different records.

use crate::seams::{Background, Environment};
use serde::{Deserialize, Serialize};
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};
use vlf::Lsn;

/// The GUID of a recovery fork.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ForkId(pub [u8; 16]);

/// Where a fork began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkOrigin {
    /// The fork it left.
    pub parent: ForkId,
    /// The first LSN that is not the parent's any more (`fork_point_lsn`).
    #[serde(with = "super::lsn_text")]
    pub point: Lsn,
}

/// The end of a recovery path: the last fork, and where it left the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogPath {
    /// The fork of the newest log (`RecoveryForkID`, `recovery_fork_guid`).
    pub fork: ForkId,
    /// Where it began; `None` for the fork on which the database was created.
    pub origin: Option<ForkOrigin>,
}

/// What a set of log is to a database that waits for some.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Continuation {
    /// It goes on from where the database is.
    Applies,
    /// 4305: log in between is missing.
    TooRecent,
    /// 4326: all of it is restored already.
    TooEarly,
    /// 4330: it belongs to another path.
    OtherPath,
}

impl LogPath {
    /// The path of a database that was never restored.
    pub fn of_new_database(family_guid: [u8; 16]) -> LogPath {
        LogPath {
            fork: ForkId(family_guid),
            origin: None,
        }
    }

    /// The fork to which the record before `position` belongs, as far back as the path is known.
    pub fn fork_before(&self, position: Lsn) -> ForkId {
        match self.origin {
            Some(origin) if position <= origin.point => origin.parent,
            _ => self.fork,
        }
    }

    /// The first fork that is known of it (`FirstRecoveryForkID`, `first_recovery_fork_guid`).
    pub fn first_fork(&self) -> ForkId {
        self.origin.map_or(self.fork, |origin| origin.parent)
    }

    /// The path of log that begins at `first`: an origin that lies before it does not concern it.
    pub fn since(&self, first: Lsn) -> LogPath {
        LogPath {
            origin: self.origin.filter(|origin| origin.point >= first),
            ..*self
        }
    }

    /// The path after recovery at `point`.
    pub fn forked_at(&self, point: Lsn, environment: &Environment) -> LogPath {
        let parent = self.fork_before(point);
        LogPath {
            fork: new_fork(parent, point, environment),
            origin: Some(ForkOrigin { parent, point }),
        }
    }

    /// The path of a database on this path, once log of the path `newer` has been restored up to `end`.
    pub fn continued(&self, newer: &LogPath, end: Lsn) -> LogPath {
        match newer.origin {
            Some(origin) if end <= origin.point => *self,
            _ => *newer,
        }
    }

    /// What the log from `first` to before `last`, on the path `set`, is to a database on this path at `position`. The table of
    /// the module.
    pub fn continuation(&self, position: Lsn, set: &LogPath, first: Lsn, last: Lsn) -> Continuation {
        if first > position {
            let has_left = self
                .origin
                .is_some_and(|origin| origin.parent == set.fork_before(first));
            return match has_left && position > self.origin.map_or(Lsn::ZERO, |origin| origin.point) {
                true => Continuation::OtherPath,
                false => Continuation::TooRecent,
            };
        }
        if last < position || last == position && first < last {
            let is_known = self.origin.is_none_or(|origin| last > origin.point);
            return match is_known && set.fork_before(last) != self.fork {
                true => Continuation::OtherPath,
                false => Continuation::TooEarly,
            };
        }
        match set.fork_before(position) == self.fork_before(position) {
            true => Continuation::Applies,
            false => Continuation::OtherPath,
        }
    }
}

/// An identity that no fork has. Where nothing may depend on chance (simulation), it depends on where and when alone.
fn new_fork(parent: ForkId, point: Lsn, environment: &Environment) -> ForkId {
    let what = (parent, point.to_bytes(), environment.clock.unix_micros());
    let halves = [0u8, 1].map(|half| match environment.background {
        Background::Threads => RandomState::new().hash_one((what, half)),
        Background::Inline => {
            let mut hasher = DefaultHasher::new();
            (what, half).hash(&mut hasher);
            hasher.finish()
        }
    });
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&halves[0].to_le_bytes());
    bytes[8..].copy_from_slice(&halves[1].to_le_bytes());
    // A random identifier says that it is one (RFC 9562, version 4); the third group is stored little-endian.
    bytes[7] = bytes[7] & 0x0F | 0x40;
    bytes[8] = bytes[8] & 0x3F | 0x80;
    ForkId(bytes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::Continuation::{Applies, OtherPath, TooEarly, TooRecent};
    use super::*;

    /// Positions on a line: tens are blocks, ones are records in them.
    fn at(place: u32) -> Lsn {
        Lsn::new(20, place / 10, (place % 10) as u16 + 1)
    }

    /// The whole truth about a path: every fork with the place where it begins.
    #[derive(Debug, Clone)]
    struct History(Vec<(u8, u32)>);

    impl History {
        fn fork_before(&self, place: u32) -> u8 {
            let found = self.0.iter().rev().find(|(_, begin)| *begin < place);
            found.unwrap_or(&self.0[0]).0
        }

        /// What a database, or a set that ends there, knows of it.
        fn path(&self, end: u32) -> LogPath {
            let known: Vec<&(u8, u32)> = self.0.iter().filter(|(_, begin)| *begin < end).collect();
            let id = |fork: u8| ForkId([fork; 16]);
            let (fork, begin) = **known.last().unwrap_or(&&self.0[0]);
            let parent = known.len().checked_sub(2).and_then(|index| known.get(index));
            LogPath {
                fork: id(fork),
                origin: parent.map(|(parent, _)| ForkOrigin {
                    parent: id(*parent),
                    point: at(begin),
                }),
            }
        }

        fn shares_everything_before(&self, other: &History, place: u32) -> bool {
            (1..=place).all(|place| self.fork_before(place) == other.fork_before(place))
        }
    }

    /// Every path of a family with five forks: A, B from A at 30, C from A inside a block at 34, D from B at 50, E from B at 30,
    /// where B itself begins: a fork of A.
    fn histories() -> Vec<History> {
        vec![
            History(vec![(1, 0)]),
            History(vec![(1, 0), (2, 30)]),
            History(vec![(1, 0), (3, 34)]),
            History(vec![(1, 0), (2, 30), (4, 50)]),
            History(vec![(1, 0), (5, 30)]),
        ]
    }

    /// Every position on every path against every stretch of log of every path that a backup could hold: what is accepted is
    /// exactly what continues the same history, and what is refused is refused for a reason that is true.
    #[test]
    fn every_combination_of_database_and_set_is_decided_by_its_history() {
        let (mut applied, mut seen) = (0, std::collections::BTreeMap::<String, u32>::new());
        for database in histories() {
            for position in 1..=70 {
                let mine = database.path(position);
                for set in histories() {
                    for first in (0..=60).step_by(10) {
                        for last in (first..=70).step_by(10) {
                            // Backups reach over one fork point at most.
                            let crossed = set.0.iter().skip(1).filter(|(_, b)| *b >= first && *b < last);
                            if crossed.count() > 1 {
                                continue;
                            }
                            let theirs = set.path(last).since(at(first));
                            let found = mine.continuation(at(position), &theirs, at(first), at(last));
                            let shares = |place| database.shares_everything_before(&set, place);
                            let reaches = first <= position && (last > position || last == position && first == last);
                            let story = format!("{database:?} at {position}, {set:?} {first}..{last}: {found:?}");
                            assert_eq!(found == Applies, reaches && shares(position), "{story}");
                            match found {
                                Applies => applied += 1,
                                TooRecent => assert!(first > position, "{story}"),
                                TooEarly => assert!(last <= position, "{story}"),
                                OtherPath => assert!(!shares(position.min(last)), "{story}"),
                            }
                            *seen.entry(format!("{found:?}")).or_default() += 1;
                        }
                    }
                }
            }
        }
        assert!(applied > 1_000 && seen.len() == 4, "{seen:?}");
    }

    /// The story of the module's picture, row by row.
    #[test]
    fn the_table_says_what_it_says() {
        let a = History(vec![(1, 0)]);
        let b = History(vec![(1, 0), (2, 34)]);
        let rows = [
            ("L1 after F", &a, 10, &a, 10, 30, Applies),
            ("L2 after L1", &a, 30, &a, 30, 50, Applies),
            ("L2 after F: L1 is missing", &a, 10, &a, 30, 50, TooRecent),
            ("L1 again", &a, 30, &a, 10, 30, TooEarly),
            ("L2' after F and L1", &a, 30, &b, 30, 60, Applies),
            (
                "L2' after L1 stopped in L2 before the fork",
                &a,
                32,
                &b,
                30,
                60,
                Applies,
            ),
            ("L2' at the fork point itself", &a, 34, &b, 30, 60, Applies),
            ("L2' one record behind the fork point", &a, 35, &b, 30, 60, OtherPath),
            ("L2' after L2", &a, 50, &b, 30, 60, OtherPath),
            ("L2 onto the new path", &b, 36, &a, 30, 50, OtherPath),
            ("L2, already passed, onto the new path", &b, 60, &a, 30, 50, OtherPath),
            ("L3 onto the new path, with a gap", &b, 40, &a, 50, 70, OtherPath),
            ("L1 onto the new path", &b, 60, &a, 10, 30, TooEarly),
            ("L3' after L1: L2' is missing", &a, 30, &b, 60, 70, TooRecent),
            ("an empty log backup where it was made", &a, 30, &a, 30, 30, Applies),
            ("an empty log backup of the other path", &b, 40, &a, 40, 40, OtherPath),
        ];
        for (story, database, position, set, first, last, expected) in rows {
            let theirs = set.path(last).since(at(first));
            let found = database
                .path(position)
                .continuation(at(position), &theirs, at(first), at(last));
            assert_eq!(found, expected, "{story}");
        }
    }

    /// Log restored up to a fork point leaves a database on the parent, one record more brings it to the fork.
    #[test]
    fn a_path_changes_forks_at_the_fork_point() {
        let (a, b) = (History(vec![(1, 0)]).path(30), History(vec![(1, 0), (2, 34)]).path(60));
        assert_eq!(a.continued(&b, at(34)), a);
        assert_eq!(a.continued(&b, at(35)), b);
        assert_eq!(b.since(at(30)).fork_before(at(30)), ForkId([1; 16]));
        assert_eq!(b.since(at(40)).fork_before(at(40)), ForkId([2; 16]));
        assert_eq!(b.since(at(40)).origin, None);
    }
}
