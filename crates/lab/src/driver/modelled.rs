//! What a run on modelled disks says of itself, and what it cannot be.

use super::RunOptions;
use crate::experiment::{Experiment, Step};

/// Why an experiment cannot be run on a modelled disk.
pub(super) fn objection(experiment: &Experiment, options: &RunOptions) -> Option<String> {
    let has_clients = experiment.step.iter().any(|step| matches!(step, Step::Clients { .. }));
    (has_clients && !options.disks.is_empty()).then(|| {
        "it has several clients at once, and the time of a modelled disk is that of one session: it is not run there".into()
    })
}

/// What a reader of such results has to know.
pub(super) fn notes(options: &RunOptions) -> Vec<String> {
    if options.disks.is_empty() {
        return Vec::new();
    }
    let names: Vec<&str> = options.disks.iter().map(|disk| disk.name.as_str()).collect();
    let processor = match options.without_processor_time {
        true => {
            "Processor time was left out: these are the device's times alone, and the same run gives the same again."
        }
        false => "Processor time is this machine's, measured and added; each time is given with both parts.",
    };
    vec![
        format!(
            "Modelled, not measured: the log and data files lay on models of {}. Every statement was executed, with every byte; what its reads, writes and flushes would have taken was computed from the disk's figures ('vlflab disks NAME' shows them with their sources). {processor}",
            names.join(", ")
        ),
        "Left out of modelled times: several clients at once, parallel plans (MAXDOP is 1), growth and writes of pages in the background, and whatever else waits for no session; automatic checkpoints are made between two statements, whose time they add to; waits that are no disk's (WAITFOR) take no time. The log is not watched while it fills.".into(),
    ]
}
