//! Several connections at once, each timed pass by pass.

use super::{LabError, OneRun, is_stopped};
use crate::client::{ClientError, Connection, Target};
use crate::experiment::{CLIENT_MEASUREMENTS, ExperimentError, Step};
use crate::plan;
use crate::results::{ConfigurationResults, Latencies};
use std::collections::BTreeMap;
use std::sync::Barrier;
use std::time::Instant;
use syntax::batches;

/// What one client is to do.
struct Client {
    target: Target,
    batches: Vec<batches::Batch>,
    repeat: u64,
}

impl OneRun<'_> {
    /// Runs the step's script in its connections; all begin together once each is logged in.
    pub(super) fn clients(&mut self, step: &Step, found: &mut ConfigurationResults) -> Result<(), LabError> {
        let Step::Clients {
            label,
            connections,
            file,
            repeat,
            measure,
        } = step
        else {
            return Ok(());
        };
        let clients = (1..=*connections)
            .map(|number| self.client(number, file, repeat))
            .collect::<Result<Vec<_>, _>>()?;
        let barrier = Barrier::new(clients.len() + 1);
        let stop = || is_stopped(self.options);
        let (seconds, outcomes) = std::thread::scope(|scope| {
            let running: Vec<_> = clients
                .iter()
                .map(|client| scope.spawn(|| client.run(&barrier, &stop)))
                .collect();
            barrier.wait();
            let begin = Instant::now();
            let outcomes: Vec<_> = running.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
            (begin.elapsed().as_secs_f64(), outcomes)
        });
        let mut passes_us = Vec::new();
        for outcome in outcomes {
            let outcome = outcome.map_err(|_| LabError::Unexpected(format!("a client of step '{label}' panicked")))?;
            passes_us.extend(outcome.map_err(|error| LabError::Step {
                label: label.clone(),
                error,
            })?);
        }
        let latencies = latencies_of(&mut passes_us);
        let values = [
            seconds,
            latencies.count as f64 / seconds,
            latencies.p50_us,
            latencies.p99_us,
            latencies.p999_us,
        ];
        for (end, value) in CLIENT_MEASUREMENTS.iter().zip(values) {
            self.measure(found, &format!("{measure}{end}"), value);
        }
        found.latencies.insert(measure.clone(), latencies);
        Ok(())
    }

    fn client(&self, number: usize, file: &str, repeat: &str) -> Result<Client, LabError> {
        let repeat = self.text(repeat)?;
        let repeat = repeat
            .parse()
            .map_err(|_| LabError::Experiment(ExperimentError(format!("repeat = {repeat:?} is not a number"))))?;
        let mut variables: BTreeMap<String, String> = self.setup.variables.clone();
        variables.insert("client".into(), number.to_string());
        let script = self.experiment.scripts.read(file).map_err(LabError::Unexpected)?;
        let script = plan::substitute(&script, &variables).map_err(LabError::Experiment)?;
        Ok(Client {
            target: self.target(Some(&self.experiment.database))?,
            batches: batches::split(&script),
            repeat,
        })
    }
}

impl Client {
    /// Answers how long each pass took, microseconds.
    fn run(&self, barrier: &Barrier, stop: &(dyn Fn() -> bool + Sync)) -> Result<Vec<f64>, ClientError> {
        let connection = Connection::open(&self.target);
        // Also a client that could not connect has to meet the others here, or they would wait forever.
        barrier.wait();
        let mut connection = connection?;
        let mut passes_us = Vec::new();
        for _ in 0..self.repeat {
            if stop() {
                return Err(ClientError::Interrupted);
            }
            let begin = Instant::now();
            for batch in &self.batches {
                for _ in 0..batch.repeat {
                    connection.rows(&batch.text)?;
                }
            }
            passes_us.push(begin.elapsed().as_secs_f64() * 1e6);
        }
        Ok(passes_us)
    }
}

fn latencies_of(passes_us: &mut [f64]) -> Latencies {
    passes_us.sort_by(f64::total_cmp);
    let at_share = |share: f64| {
        let rank = (passes_us.len() as f64 * share).ceil() as usize;
        passes_us.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    };
    Latencies {
        count: passes_us.len() as u64,
        p50_us: at_share(0.5),
        p95_us: at_share(0.95),
        p99_us: at_share(0.99),
        p999_us: at_share(0.999),
        max_us: at_share(1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_seen() {
        let mut passes: Vec<f64> = (1..=1000).rev().map(f64::from).collect();
        let latencies = latencies_of(&mut passes);
        assert_eq!(
            (
                latencies.p50_us,
                latencies.p95_us,
                latencies.p99_us,
                latencies.p999_us,
                latencies.max_us
            ),
            (500.0, 950.0, 990.0, 999.0, 1000.0)
        );
        assert_eq!(latencies_of(&mut [7.0]).p999_us, 7.0);
        assert_eq!(latencies_of(&mut []), Latencies::default());
    }
}
