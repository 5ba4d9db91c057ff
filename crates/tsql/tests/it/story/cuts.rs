//! Power cuts while a story goes on: the disks that are found afterwards.
//!
//! ```text
//!   begin -- run ----x----x----x----x----> end      one run; each x is a cut that the disk keeps
//!   begin -- run --------------X                    the one in the middle happens: the instance meets a disk without power
//! ```

use disk::sim::{CutPolicy, SimDisk};
use tsql::session::Session;

use super::Story;

/// One power cut.
pub struct Cut {
    /// The change that it came in, from 1.
    pub number: u64,
    /// How many answers there had been by then.
    pub answered: usize,
    /// The disk, without power.
    pub left: SimDisk,
}

impl Cut {
    /// What is found when the power is back, by a policy that goes with the number.
    pub fn found(&self) -> SimDisk {
        let fate = [CutPolicy::AllKept, CutPolicy::AllLost, CutPolicy::RandomSectors][self.number as usize % 3];
        self.left.after_power_cut(fate, self.number)
    }
}

/// A story that goes on, a session beside its own if it has one, and how far the disk was at each answer.
pub struct Run<'r> {
    pub story: &'r mut Story,
    pub beside: &'r mut Option<Session>,
    changes_at_answers: Vec<u64>,
}

impl Run<'_> {
    /// Something was answered. In a run whose power is cut this may be said behind the cut; it does not count then.
    pub fn is_answered(&mut self) {
        self.changes_at_answers.push(self.story.disk.operation_count());
    }
}

/// Runs a story from where `begin` leaves it. Answers the changes of the disk before it, and after each answer.
fn run_once(
    begin: &impl Fn() -> (Story, Option<Session>),
    prepare: impl Fn(&SimDisk),
    run: &impl Fn(&mut Run<'_>),
) -> (Story, u64, Vec<u64>) {
    let (mut story, mut beside) = begin();
    let begun_at = story.disk.operation_count();
    prepare(&story.disk);
    let mut one = Run {
        story: &mut story,
        beside: &mut beside,
        changes_at_answers: Vec::new(),
    };
    run(&mut one);
    let changes_at_answers = one.changes_at_answers;
    std::mem::forget(beside);
    (story, begun_at, changes_at_answers)
}

/// Cuts the power at changes of the disk while `run` goes on, at the first and every `one_in`-th behind it. Answers the story at its end, for
/// [`Story::start_on`], and the cuts.
///
/// # Panics
/// If there is no change, or the run whose power is cut is not as the other.
pub fn cuts(
    one_in: usize,
    begin: impl Fn() -> (Story, Option<Session>),
    run: impl Fn(&mut Run<'_>),
) -> (Story, Vec<Cut>) {
    let (story, begun_at, answers) = run_once(&begin, |disk| disk.keep_cuts(one_in as u64), &run);
    let mut kept = story.disk.take_kept_cuts();
    let middle = kept.len() / 2;
    let at = kept[middle].operation_number;
    let (cut_off, begun_again_at, answers_until_then) = run_once(&begin, |disk| disk.power_cut_at(at), &run);
    assert!(cut_off.disk.power_is_cut() && begun_again_at == begun_at);
    let before = |answers: &[u64], at: u64| answers.iter().filter(|changes| **changes < at).count();
    assert_eq!(
        before(&answers, at),
        before(&answers_until_then, at),
        "one run is as the other"
    );
    kept[middle].disk = cut_off.disk.clone();
    std::mem::forget(cut_off);
    let cuts = kept.into_iter().map(|cut| Cut {
        number: cut.operation_number - begun_at,
        answered: before(&answers, cut.operation_number),
        left: cut.disk,
    });
    (story, cuts.collect())
}
