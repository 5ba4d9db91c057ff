//! How long steps take: by this machine's clock, or by the time of a modelled disk.

use super::{LabError, OneRun};
use crate::results::ConfigurationResults;
use crate::server_process::{ClockParts, ServerProcess};
use std::time::Instant;

#[derive(Debug, Clone, Copy)]
pub(super) enum Begin {
    /// On this machine's clock.
    Wall(Instant),
    /// In the time of the server's modelled disk.
    Modelled(ClockParts),
}

/// How long it took.
#[derive(Debug, Clone, Copy)]
pub(super) struct Elapsed {
    pub seconds: f64,
    /// What a modelled device took of it.
    pub device_s: Option<f64>,
}

impl OneRun<'_> {
    pub(super) fn begin_timing(&mut self) -> Result<Begin, LabError> {
        match self.is_modelled() {
            true => self.server_clock().map(Begin::Modelled),
            false => Ok(Begin::Wall(Instant::now())),
        }
    }

    /// A server is started: time on a modelled disk begins with it.
    pub(super) fn begin_with_server(&self) -> Begin {
        match self.is_modelled() {
            true => Begin::Modelled(ClockParts::default()),
            false => Begin::Wall(Instant::now()),
        }
    }

    /// How long it is since `begin`.
    pub(super) fn elapsed(&mut self, begin: Begin) -> Result<Elapsed, LabError> {
        let then = match begin {
            Begin::Wall(begin) => {
                return Ok(Elapsed {
                    seconds: begin.elapsed().as_secs_f64(),
                    device_s: None,
                });
            }
            Begin::Modelled(then) => then,
        };
        let now = self.server_clock()?;
        let seconds = |now: u64, then: u64| now.saturating_sub(then) as f64 / 1e9;
        let device_s = seconds(now.device_ns, then.device_ns);
        Ok(Elapsed {
            seconds: device_s + seconds(now.processor_ns, then.processor_ns),
            device_s: Some(device_s),
        })
    }

    pub(super) fn measure_elapsed(&mut self, found: &mut ConfigurationResults, name: &str, elapsed: Elapsed) {
        self.values.insert(name.to_string(), elapsed.seconds);
        found.measure_with_device(name, elapsed.seconds, elapsed.device_s);
    }

    pub(super) fn is_modelled(&self) -> bool {
        self.setup.disk.is_some()
    }

    fn server_clock(&mut self) -> Result<ClockParts, LabError> {
        let clock = self.server.as_mut().map(ServerProcess::clock);
        match clock {
            Some(Ok(parts)) => Ok(parts),
            Some(Err(error)) => Err(LabError::Io(self.data.clone(), error)),
            None => Err(LabError::Unexpected("the server is not running".into())),
        }
    }
}
