//! KILL of every kind of change: all of it is rolled back. The time of each rollback is printed beside the time its
//! statement had worked.
//!
//! Depth: each statement is killed once; deep: 20 times.

use super::kinds::{Circumstance, changes};
use super::statements::{RUNNING, Stopped, Way, set_up, state_of, stop};
use crate::outer::support::{Served, assert_sound};
use std::time::Duration;

/// The least, the middle and the greatest, in milliseconds.
fn spread(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let ms = |place: usize| times[place].as_secs_f64() * 1_000.0;
    let last = times.len() - 1;
    format!("{:>8.1} {:>8.1} {:>8.1}", ms(0), ms(last / 2), ms(last))
}

#[test]
fn what_a_killed_statement_did_is_taken_back() {
    let depth = workbench::depth("rollbacks of each killed statement", 1, 20);
    let rounds = depth.units;
    let served = Served::new("stop-rollbacks");
    let mut observer = set_up(&served);
    let before = state_of(&mut observer);
    println!(
        "{:<34} {:^26} {:^26} longer",
        "ms: least, middle, most", "worked", "rollback"
    );
    for kind in changes().iter().filter(|kind| kind.circumstance == Circumstance::Plain) {
        let (mut worked, mut took) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let stopped: Stopped = stop(&served, &mut observer, kind, (Way::Kill, RUNNING));
            worked.push(stopped.worked);
            took.push(stopped.took);
            assert_eq!(state_of(&mut observer), before, "{}", kind.name);
        }
        let longer = worked.iter().zip(&took).filter(|(worked, took)| took > worked).count();
        println!(
            "{:<34} {} {} {longer} of {rounds}",
            kind.name,
            spread(worked),
            spread(took)
        );
    }
    assert_sound(&mut observer, "stopped");
    depth.count();
}
