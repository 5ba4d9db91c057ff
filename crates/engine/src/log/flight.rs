//! Which writes of the log are in flight, what is durable, and when another write may begin.
//!
//! ```text
//!   durable            1         2         3          number of the write, 1 = the first since the log was opened
//!   ...............|=========|---------|=========|......... queue
//!                  ^ done, but not the one before: durable stays here
//! ```
//! Writes begin in log order, several at once, and end in any order. `durable` advances over finished writes up to the first unfinished
//! one. Every write carries *durable before*: the start of the oldest write that was unfinished when this one was prepared (its own start,
//! if there was none). So whatever part of that write a later reader finds, the log below this position was durable: see [`super::end`].
//!
//! Invariant: a write begins only while fewer writes than the limit are not durable. So each carries the end of the write that many before
//! it, or a later position.
//!
//! Within the limit, another write begins:
//!
//! | in flight | a full write is queued | commits wait that no write covers | |
//! |---|---|---|---|
//! | one in preparation | - | - | no |
//! | none | - | - | yes |
//! | some | yes | - | yes: the device writes one while the next is assembled |
//! | some | no | [`COMMITS_PER_WRITE`], and as many as the last write took | yes |
//! | some | no | fewer | no: they share the one that begins when one of these ends |
//!
//! The last two rows prevent many small writes. A write costs about as much processor time as three commits. With many clients on a busy
//! processor, small writes would cost more time than they save in waiting.
//!
//! Why several writes: commits of a few clients, and bulk loads, would lose time if writes waited for each other. The price: damage within
//! the last four writes of a log looks the same as a power cut in the middle of them. Under the classic policy, only one write is in flight
//! at a time.

use super::state::LogPosition;
use vlf::Lsn;

/// Writes that are not durable at most, under any policy. SQL Server keeps 32 log writes of a database under way, since 2012
/// 112 (Paul Randal, "Trimming More Transaction Log Fat", sqlperformance.com 2013/01); each costs recovery what it may leave
/// behind to be looked at and cleared, and the device here gains little beyond four.
pub(super) const WRITES_MAX: usize = 4;
/// Commits that are worth a write of their own while others are under way.
pub(super) const COMMITS_PER_WRITE: u32 = 4;
/// One for each write that may be under way, and one for the next.
pub(super) const GATES: usize = WRITES_MAX + 1;

/// A write that was begun and is not durable yet.
#[derive(Debug, Clone, Copy)]
struct Begun {
    start: Lsn,
    end: LogPosition,
    done: bool,
}

/// See the module. Behind the log's mutex.
#[derive(Debug)]
pub(crate) struct Flight {
    /// Number of the last write that is durable, with all before it.
    durable: u64,
    /// Number of the last write begun.
    begun: u64,
    /// By number.
    writes: [Begun; WRITES_MAX],
    /// Where the log ends once all that was begun is done.
    end: LogPosition,
    /// A write is being put together.
    preparing: bool,
    /// Writes that the disk has not answered.
    under_way: usize,
    /// The first write that failed: neither it nor what is behind it ever becomes durable.
    failed: Option<u64>,
    /// How many have begun to wait at each gate since it was opened last; some may have gone to wait at another.
    waiting: [u32; GATES],
    /// How many waited for the write begun last, its leader included.
    last_commits: u32,
}

impl Flight {
    pub(super) fn new() -> Flight {
        let none = Begun {
            start: Lsn::ZERO,
            end: LogPosition(0),
            done: true,
        };
        Flight {
            durable: 0,
            begun: 0,
            writes: [none; WRITES_MAX],
            end: LogPosition(0),
            preparing: false,
            under_way: 0,
            failed: None,
            waiting: [0; GATES],
            last_commits: 0,
        }
    }

    /// The log is opened at `end`, where all is durable.
    pub(super) fn start_at(&mut self, end: LogPosition) {
        self.end = end;
    }

    /// Where the log ends once all that was begun is done.
    pub(super) fn end(&self) -> LogPosition {
        self.end
    }

    /// Nothing is being written or put together.
    pub(super) fn is_idle(&self) -> bool {
        !self.preparing && self.under_way == 0
    }

    /// The table of the module. `limit` = writes not durable at most, `commits` = those that wait for the next write.
    pub(super) fn may_begin(&self, limit: usize, has_full_write: bool, commits: u32) -> bool {
        let not_durable = self.begun - self.durable;
        if self.preparing || not_durable >= limit.min(WRITES_MAX) as u64 {
            return false;
        }
        self.under_way == 0 || has_full_write || commits >= COMMITS_PER_WRITE.max(self.last_commits)
    }

    /// Begins a write of the log from `start` to `end`: it is put together from now on. Answers its number, and what it shall
    /// say was durable before.
    pub(super) fn begin(&mut self, start: Lsn, end: LogPosition) -> (u64, Lsn) {
        self.begun += 1;
        self.writes[slot_of(self.begun)] = Begun {
            start,
            end,
            done: false,
        };
        (self.end, self.preparing) = (end, true);
        self.last_commits = self.waiting_for(self.begun) + 1;
        (self.begun, self.writes[slot_of(self.durable + 1)].start)
    }

    /// The write begun last is put together and goes to the disk.
    pub(super) fn prepared(&mut self) {
        self.preparing = false;
        self.under_way += 1;
    }

    /// The disk has answered. The numbers of the writes that are durable by that, and where the log is durable now, if it has
    /// moved.
    pub(super) fn ended(
        &mut self,
        number: u64,
        succeeded: bool,
    ) -> (std::ops::RangeInclusive<u64>, Option<LogPosition>) {
        self.under_way -= 1;
        match succeeded {
            true => self.writes[slot_of(number)].done = true,
            false => self.failed = Some(self.failed.map_or(number, |failed| failed.min(number))),
        }
        let first = self.durable + 1;
        let mut moved = None;
        while self.durable < self.begun && self.writes[slot_of(self.durable + 1)].done {
            self.durable += 1;
            moved = Some(self.writes[slot_of(self.durable)].end);
        }
        (first..=self.durable, moved)
    }

    /// The write that will make `target` durable, if it was begun and no failure stands before it. `target` is not durable.
    pub(super) fn covering(&self, target: LogPosition) -> Option<u64> {
        let number = (self.durable + 1..=self.begun).find(|number| target < self.writes[slot_of(*number)].end)?;
        self.failed.is_none_or(|failed| number < failed).then_some(number)
    }

    /// The write to be begun next.
    pub(super) fn next(&self) -> u64 {
        self.begun + 1
    }

    /// Begins to wait for the end of a write; answers at which gate.
    pub(super) fn wait_for(&mut self, number: u64) -> usize {
        let gate = gate_of(number);
        self.waiting[gate] += 1;
        gate
    }

    /// How many wait for the end of a write.
    pub(super) fn waiting_for(&self, number: u64) -> u32 {
        self.waiting[gate_of(number)]
    }

    /// The gate of a write is opened for all; whether anybody waited there.
    pub(super) fn release(&mut self, gate: usize) -> bool {
        std::mem::take(&mut self.waiting[gate]) > 0
    }
}

fn slot_of(number: u64) -> usize {
    (number % WRITES_MAX as u64) as usize
}

/// Which gate the end of a write opens. Those of the writes under way and of the next differ.
pub(super) fn gate_of(number: u64) -> usize {
    (number % GATES as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(at: u64) -> LogPosition {
        LogPosition(at)
    }

    /// A flight in which the numbered writes have ended, each of one place of the log.
    fn flight(begun: u64, ended: &[u64]) -> Flight {
        let mut flight = Flight::new();
        for number in 1..=begun {
            flight.begin(Lsn::new(1, number as u32, 1), position(number));
            flight.prepared();
        }
        for number in ended {
            let _ = flight.ended(*number, true);
        }
        flight
    }

    /// Every row of the table, with every limit and every number of writes under way.
    #[test]
    fn another_write_begins_by_the_table() {
        let mut allowed = 0;
        for limit in 1..=WRITES_MAX {
            for under_way in 0..=limit {
                for (preparing, has_full_write) in [(false, false), (false, true), (true, false), (true, true)] {
                    for commits in 0..=COMMITS_PER_WRITE + 2 {
                        for last_commits in [1, COMMITS_PER_WRITE + 1] {
                            let mut flight = flight(under_way as u64, &[]);
                            (flight.preparing, flight.last_commits) = (preparing, last_commits);
                            let enough = commits >= COMMITS_PER_WRITE && commits >= last_commits;
                            let expected = match (preparing, under_way) {
                                (true, _) => false,
                                (false, 0) => true,
                                (false, under_way) => under_way < limit && (has_full_write || enough),
                            };
                            let may_begin = flight.may_begin(limit, has_full_write, commits);
                            assert_eq!(may_begin, expected, "{limit} {under_way} {has_full_write} {commits}");
                            allowed += usize::from(may_begin);
                        }
                    }
                }
            }
        }
        assert!(allowed > 100, "{allowed}");
    }

    /// Four writes end in every order: the log is durable up to the first that has not ended, and a caller waits for the write
    /// that holds its record.
    #[test]
    fn durable_moves_over_what_has_ended_without_a_gap() {
        let mut orders = vec![vec![]];
        for number in 1..=4u64 {
            let insert = |order: Vec<u64>| {
                (0..=order.len()).map(move |at| {
                    let mut order = order.clone();
                    order.insert(at, number);
                    order
                })
            };
            orders = orders.into_iter().flat_map(insert).collect();
        }
        assert_eq!(orders.len(), 24);
        for order in orders {
            let mut flight = flight(4, &[]);
            let mut durable = 0;
            for (count, number) in order.iter().enumerate() {
                let (numbers, moved) = flight.ended(*number, true);
                let ended = &order[..=count];
                let prefix = (1..=4).take_while(|number| ended.contains(number)).count() as u64;
                assert_eq!(moved.map_or(durable, |moved| moved.0), prefix, "{order:?}");
                assert_eq!(numbers, durable + 1..=prefix);
                durable = prefix;
                for target in durable..4 {
                    assert_eq!(flight.covering(position(target)), Some(target + 1), "{order:?}");
                }
                assert_eq!(flight.covering(position(4)), None);
            }
            assert!(flight.is_idle());
        }
    }

    /// Each write carries the begin of the oldest that is not durable; the window keeps that within the limit.
    #[test]
    fn a_write_knows_what_was_durable_when_it_was_begun() {
        let mut flight = flight(3, &[1]);
        assert_eq!(flight.begin(Lsn::new(1, 4, 1), position(4)), (4, Lsn::new(1, 2, 1)));
        flight.prepared();
        let _ = flight.ended(3, true);
        assert!(
            flight.may_begin(WRITES_MAX, true, 0) && !flight.may_begin(3, true, 0),
            "2 to 4 are not durable"
        );
        let _ = flight.ended(2, true);
        assert_eq!(flight.begin(Lsn::new(1, 5, 1), position(5)), (5, Lsn::new(1, 4, 1)));
        flight.prepared();
        let _ = flight.ended(4, true);
        let _ = flight.ended(5, true);
        assert_eq!(
            flight.begin(Lsn::new(1, 6, 1), position(6)),
            (6, Lsn::new(1, 6, 1)),
            "itself"
        );
    }

    /// Behind a failed write nothing is durable any more, whether it has ended or will.
    #[test]
    fn nobody_waits_for_what_is_behind_a_failed_write() {
        let mut flight = flight(4, &[3]);
        assert_eq!(flight.ended(2, false).1, None);
        assert_eq!(flight.covering(position(0)), Some(1));
        for target in 1..4 {
            assert_eq!(flight.covering(position(target)), None);
        }
        assert_eq!(flight.ended(1, true).1, Some(position(1)));
        assert_eq!(flight.ended(4, true).1, None);
    }
}
