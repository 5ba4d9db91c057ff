//! Skips configurations that would take too long on this machine's disk, if the experiment says so: a two-minute run stays two minutes on a
//! slow disk.
//!
//! The time of a growth is estimated as its zeros at the disk's rate plus [`DURABLE_WRITES_PER_GROWTH`] durable writes, as in the classic
//! log. A server that buffers them, or a policy that writes less, is faster. The run itself measures both figures, so on a busy machine
//! more is skipped.

use super::Job;
use crate::environment::Environment;
use crate::plan::Setup;

/// Zeros, four headers, page 0 and the file's length, each made durable.
const DURABLE_WRITES_PER_GROWTH: f64 = 7.0;
const MEGABYTE: f64 = 1024.0 * 1024.0;

/// Takes this machine's disk out of the job when its logs would take longer than the scale allows.
pub(super) fn leave_out_if_slow(job: &mut Job<'_>, scale: &str, environment: &Environment) {
    let limit_s = job.experiment.scale.get(scale).and_then(|scale| scale.own_disk_s_max);
    let Some(limit_s) = limit_s.filter(|_| job.has_modelled()) else {
        return;
    };
    let on_own = job.setups.iter().filter(|setup| setup.disk.is_none());
    let expected_s: f64 = on_own
        .map(|setup| expected_s(setup, environment) * job.runs as f64)
        .sum();
    if expected_s <= limit_s {
        return;
    }
    job.setups.retain(|setup| setup.disk.is_some());
    job.notes.push(format!(
        "This machine's disk was left out: making and growing the logs would take about {:.0} minutes there, as a durable write of 8 KB took {:.1} ms and {:.0} MB were written in a second. 'vlflab run {} --scale full' does it all the same; 'vlflab disks probe' says in a minute what VLFs cost there.",
        (expected_s / 60.0).max(1.0),
        environment.durable_write_us_median / 1e3,
        environment.sequential_write_mb_per_s,
        job.experiment.name
    ));
}

/// Seconds of making a setup's log and growing it by hand.
fn expected_s(setup: &Setup, environment: &Environment) -> f64 {
    let bytes = setup.log.grown_to.last().copied().unwrap_or(setup.log.start);
    let megabytes = bytes as f64 / MEGABYTE;
    let durable_s = environment.durable_write_us_median / 1e6;
    let growths = setup.log.grown_to.len() as f64;
    megabytes / environment.sequential_write_mb_per_s.max(1.0) + growths * DURABLE_WRITES_PER_GROWTH * durable_s
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::catalogue;
    use crate::driver::{RunOptions, job};
    use std::sync::Arc;

    fn setups_left(scale: &str, durable_write_us: f64, write_mb_per_s: f64) -> (usize, usize) {
        let experiment = catalogue::load("published").unwrap();
        let options = RunOptions {
            program: "vlflab".into(),
            out: "out".into(),
            scale: scale.into(),
            runs: None,
            only: Vec::new(),
            disks: Vec::new(),
            without_processor_time: false,
            target: None,
            environment: None,
            records: false,
            interrupt: Arc::default(),
        };
        let environment = Environment {
            durable_write_us_median: durable_write_us,
            sequential_write_mb_per_s: write_mb_per_s,
            ..Environment::default()
        };
        let mut job = job(&experiment, &options).unwrap();
        leave_out_if_slow(&mut job, scale, &environment);
        let own = job.setups.iter().filter(|setup| setup.disk.is_none()).count();
        (own, job.notes.len())
    }

    /// A disk of flash has room for it in two minutes, a rotating one of 8 ms a write has not; full scale, when asked for, runs
    /// all the same.
    #[test]
    fn a_slow_disk_is_left_out_and_that_is_said() {
        assert_eq!(setups_left("quick", 90.0, 1200.0), (4, 0));
        assert_eq!(setups_left("quick", 8_300.0, 100.0), (0, 1));
        assert_eq!(setups_left("full", 8_300.0, 100.0), (4, 0));
        assert_eq!(setups_left("tiny", 8_300.0, 100.0), (4, 0));
    }
}
