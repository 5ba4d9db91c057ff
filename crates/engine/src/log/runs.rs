//! Runs: consecutive records of one transaction that belong to one allocation unit and remove nothing from it (added rows, filled pages,
//! structure). A rollback that frees the unit skips from the end of a run to the record before it. For a large load, that skips nearly all
//! of its log.
//!
//! ```text
//! chain    Begin <- catalog row <- fill <- extent <- fill <- ... <- fill <- catalog row
//!                   ^ before       |________________ run _______________|
//! ```
//! Only long runs are kept, only the newest of them, and only in memory. Without a run, rollback reads the records one by one.

use std::collections::VecDeque;
use vlf::Lsn;

/// Shorter ones are as well read.
const RECORDS_MIN: u32 = 16;
/// Runs kept for a transaction.
const RUNS_MAX: usize = 4_096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Number of the allocation unit.
    pub unit: u32,
    /// The record before the first of the run.
    pub before: Lsn,
    last: Lsn,
    records: u32,
}

/// The runs of a transaction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Runs {
    /// In the order of the log.
    ended: VecDeque<Run>,
    growing: Option<Run>,
}

impl Runs {
    /// A record about a unit was appended behind `before`, the transaction's last one until then.
    pub fn note(&mut self, unit: u32, before: Lsn, lsn: Lsn) {
        if let Some(run) = &mut self.growing {
            if run.unit == unit && run.last == before {
                run.last = lsn;
                run.records = run.records.saturating_add(1);
                return;
            }
            if run.records >= RECORDS_MIN {
                if self.ended.len() == RUNS_MAX {
                    self.ended.pop_front();
                }
                self.ended.push_back(*run);
            }
        }
        self.growing = Some(Run {
            unit,
            before,
            last: lsn,
            records: 1,
        });
    }

    /// The run whose last record this is.
    pub fn ending_at(&self, lsn: Lsn) -> Option<Run> {
        let long = |run: &Run| run.last == lsn && run.records >= RECORDS_MIN;
        let ended = || {
            let place = self.ended.binary_search_by_key(&lsn, |run| run.last).ok()?;
            self.ended.get(place).copied()
        };
        self.growing.filter(long).or_else(ended)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn at(number: u32) -> Lsn {
        Lsn::new(1, number, 1)
    }

    /// Notes records of a unit from one number to another, each behind the one before it.
    fn noted(runs: &mut Runs, unit: u32, numbers: std::ops::RangeInclusive<u32>) {
        numbers.for_each(|number| runs.note(unit, at(number - 1), at(number)));
    }

    #[test]
    fn a_run_ends_where_another_unit_or_another_record_comes() {
        let mut runs = Runs::default();
        noted(&mut runs, 7, 10..=40);
        noted(&mut runs, 8, 41..=80);
        // Something that is in no run is between.
        noted(&mut runs, 8, 82..=100);
        let found = |last: u32| runs.ending_at(at(last)).map(|run| (run.unit, run.before));
        assert_eq!(found(40), Some((7, at(9))));
        assert_eq!(found(80), Some((8, at(40))));
        assert_eq!(found(100), Some((8, at(81))));
        assert_eq!((found(39), found(41), found(81), found(101)), (None, None, None, None));
    }

    #[test]
    fn short_runs_are_not_kept_and_of_many_the_newest_are() {
        let mut runs = Runs::default();
        noted(&mut runs, 1, 1..=RECORDS_MIN - 1);
        assert_eq!(runs.ending_at(at(RECORDS_MIN - 1)), None);
        let length = RECORDS_MIN;
        let count = RUNS_MAX as u32 + 10;
        for number in 1..=count {
            noted(&mut runs, number % 2, number * length..=(number + 1) * length - 1);
        }
        let last = |number: u32| at((number + 1) * length - 1);
        assert_eq!(runs.ending_at(last(1)), None);
        assert_eq!(runs.ending_at(last(count)).unwrap().before, at(count * length - 1));
        assert_eq!(runs.ending_at(last(count - 1)).unwrap().unit, (count - 1) % 2);
        assert!(runs.ended.len() <= RUNS_MAX);
    }
}
