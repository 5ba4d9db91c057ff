//! Reads the phases of a database's recovery from a server's error log.
//!
//! ```text
//! 2008-05-16 13:22:47.97 spid18s     Starting up database 'vlf'.
//! ...                                Recovery completed for database vlf (database ID 5) in 3 second(s)
//!                                    (discovery 12 ms of 16 VLFs, analysis 40 ms, redo 2800 ms, undo 3 ms.) ...
//! ```
//! The words are SQL Server's (messages 3406, 3421 and "Starting up database"), except for discovery, about which SQL Server logs nothing:
//! there it counts as zero.

use std::time::Duration;

/// In the line about what of a recovery a modelled device took.
const DEVICE_MARK: &str = "The modelled device's part of the recovery";

/// The phases of one recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecoveryPhases {
    /// Finding the VLFs: before analysis.
    pub discovery: Duration,
    /// Reading the log forward to see what was under way.
    pub analysis: Duration,
    /// Repeating what had not reached the data pages.
    pub redo: Duration,
    /// Undoing what had not committed.
    pub undo: Duration,
    /// Of discovery, analysis, redo and undo what a modelled device took; none where it was a disk.
    pub device: Option<[Duration; 4]>,
    /// Transactions the log names as rolled forward: those since the last checkpoint.
    pub rolled_forward: u64,
}

impl RecoveryPhases {
    /// All phases together.
    pub fn total(&self) -> Duration {
        self.discovery + self.analysis + self.redo + self.undo
    }
}

/// The last recovery of `database` in an error log, and the lines that concern it; `None` when it is not complete.
pub fn last_recovery(log: &str, database: &str) -> Option<(RecoveryPhases, Vec<String>)> {
    let lines: Vec<&str> = log.lines().collect();
    let start = lines
        .iter()
        .rposition(|line| line.contains(&format!("Starting up database '{database}'")))?;
    let quoted = format!("'{database}'");
    let completed_for = format!("Recovery completed for database {database} ");
    let concerned = |line: &&&str| line.contains(&quoted) || line.contains(&completed_for);
    let ours: Vec<&str> = lines.get(start..)?.iter().filter(concerned).copied().collect();
    let completed = ours.iter().find(|line| line.contains(&completed_for))?;
    let time = |name: &str| milliseconds_after(completed, name);
    let device = ours.iter().find(|line| line.contains(DEVICE_MARK)).map(|line| {
        ["discovery ", "analysis ", "redo ", "undo "].map(|name| milliseconds_after(line, name).unwrap_or_default())
    });
    let rolled_forward = ours.iter().find(|line| line.contains("transactions rolled forward"));
    let phases = RecoveryPhases {
        discovery: time("(discovery ").unwrap_or_default(),
        analysis: time("analysis ")?,
        redo: time("redo ")?,
        undo: time("undo ")?,
        device,
        rolled_forward: rolled_forward
            .and_then(|line| number_before(line, " transactions"))
            .unwrap_or_default(),
    };
    Some((phases, ours.into_iter().map(str::to_string).collect()))
}

/// The time right after `name`, in milliseconds with or without decimals.
fn milliseconds_after(text: &str, name: &str) -> Option<Duration> {
    let (_, rest) = text.split_once(name)?;
    let (number, _) = rest.split_once(" ms")?;
    let milliseconds: f64 = number.parse().ok()?;
    Duration::try_from_secs_f64(milliseconds / 1000.0).ok()
}

/// The number right before `name`.
fn number_before(text: &str, name: &str) -> Option<u64> {
    let (before, _) = text.split_once(name)?;
    let from = before
        .rfind(|character: char| !character.is_ascii_digit())
        .map_or(0, |at| at + 1);
    before.get(from..)?.parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const LOG: &str = "\
2026-11-20 21:00:00.00 spid9s      Starting up database 'master'.
2026-11-20 21:00:00.01 spid9s      Recovery completed for database master (database ID 1) in 0 second(s) (analysis 1 ms, redo 2 ms, undo 3 ms.) This is an informational message only. No user action is required.
2026-11-20 21:00:00.02 spid18s     Starting up database 'vlf'.
2026-11-20 21:00:02.00 spid18s     Recovery of database 'vlf' (5) is 3% complete (approximately 8 seconds remain). Phase 2 of 3. This is an informational message only. No user action is required.
2026-11-20 21:00:03.00 spid18s     26533 transactions rolled forward in database 'vlf' (5). This is an informational message only. No user action is required.
2026-11-20 21:00:04.00 spid18s     Recovery completed for database vlf (database ID 5) in 3 second(s) (discovery 291.25 ms of 20480 VLFs, analysis 1200 ms, redo 1800 ms, undo 4 ms.) This is an informational message only. No user action is required.
";

    #[test]
    fn phases_of_the_database_asked_for() {
        let (phases, lines) = last_recovery(LOG, "vlf").unwrap();
        let micros = [phases.discovery, phases.analysis, phases.redo, phases.undo].map(|each| each.as_micros());
        assert_eq!(micros, [291_250, 1_200_000, 1_800_000, 4_000]);
        assert_eq!(phases.rolled_forward, 26_533);
        assert_eq!(lines.len(), 4);
        assert_eq!(last_recovery(LOG, "master").unwrap().0.total().as_millis(), 6);
    }

    #[test]
    fn what_a_modelled_device_took_is_read_beside_the_phases() {
        let line = "2026-11-20 21:00:04.00 spid18s     The modelled device's part of the recovery of database 'vlf' (5): discovery 290.5 ms, analysis 1000 ms, redo 1700.25 ms, undo 4 ms.\n";
        let (before, after) = LOG.split_at(LOG.rfind("2026").unwrap());
        let (phases, _) = last_recovery(&format!("{before}{line}{after}"), "vlf").unwrap();
        let micros = phases.device.unwrap().map(|each| each.as_micros());
        assert_eq!(micros, [290_500, 1_000_000, 1_700_250, 4_000]);
        assert_eq!(last_recovery(LOG, "vlf").unwrap().0.device, None);
    }

    #[test]
    fn the_last_start_counts_and_an_unfinished_one_is_none() {
        let again = format!("{LOG}2026-11-20 21:05:00.00 spid18s     Starting up database 'vlf'.\n");
        assert_eq!(last_recovery(&again, "vlf"), None);
        assert_eq!(last_recovery(LOG, "absent"), None);
    }
}
