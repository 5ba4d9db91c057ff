//! Runs on modelled disks: their description in reports, and their limits.
//!
//! The engine's clock is the device's time plus its own processor time (`seams::VirtualClock`). All work is inline; automatic checkpoints
//! come between two statements. The lab asks the server for both parts of the time, over its standard input, before and after each step.
//! All threads share the virtual time, so it is correct for one session at a time, and an experiment with several clients is refused.
//!
//! Invariant: nothing waits for a modelled disk. Invariant: without processor time a run has the same times whenever it is run.
//! So dates, and identities made of them, do not come from this machine's clock then: the catalog keeps them as text. It keeps
//! paths as text too, so two runs agree only if their folders' names are equally long.

use super::{Job, RunOptions};
use crate::experiment::Step;

/// Why an experiment cannot be run on a modelled disk.
pub(super) fn objection(job: &Job<'_>) -> Option<String> {
    let mut steps = job.experiment.step.iter();
    let has_clients = steps.any(|step| matches!(step, Step::Clients { .. }));
    (has_clients && job.has_modelled()).then(|| {
        "it has several clients at once, and the time of a modelled disk is that of one session: it is not run there".into()
    })
}

/// What a reader of such results has to know.
pub(super) fn notes(job: &Job<'_>, options: &RunOptions) -> Vec<String> {
    if !job.has_modelled() {
        return Vec::new();
    }
    let mut names: Vec<&str> = Vec::new();
    for disk in job.setups.iter().filter_map(|setup| setup.disk.as_ref()) {
        if !names.contains(&disk.name.as_str()) {
            names.push(&disk.name);
        }
    }
    let whose = match job.setups.iter().all(|setup| setup.disk.is_some()) {
        true => "Modelled, not measured: the log and data files lay",
        false => "Modelled, not measured, where a disk is named: the log and data files of these runs lay",
    };
    let processor = match options.without_processor_time {
        true => {
            "Processor time was left out: these are the device's times alone, and the same run gives the same again."
        }
        false => "Processor time is this machine's, measured and added; each time is given with both parts.",
    };
    vec![
        format!(
            "{whose} on models of {}. Every statement was executed, with every byte; what its reads, writes and flushes would have taken was computed from the disk's figures ('vlflab disks NAME' shows them with their sources). {processor}",
            names.join(", ")
        ),
        "Left out of modelled times: several clients at once, parallel plans (MAXDOP is 1), growth and writes of pages in the background, and whatever else waits for no session; automatic checkpoints are made between two statements, whose time they add to; waits that are no disk's (WAITFOR) take no time. The log is not watched while it fills.".into(),
    ]
}
