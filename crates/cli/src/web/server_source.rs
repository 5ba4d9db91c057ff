//! A server that is polled as a source ([`advisor::live::polled`]).

use super::hub::Source;
use advisor::live::polled::Polled;
use advisor::live::{Frame, Stand};
use lab::client::ClientError;
use lab::collect::Watch;
use std::time::{SystemTime, UNIX_EPOCH};

pub struct ServerSource {
    watch: Watch,
    polled: Polled,
    /// Why it did not answer the last time.
    silent: Option<String>,
}

impl ServerSource {
    /// Reads the server for the first time.
    ///
    /// # Errors
    /// The server does not answer, or refuses the login.
    pub fn begin(mut watch: Watch, interval_ms: u64) -> Result<(ServerSource, Stand), ClientError> {
        let snapshot = watch.read()?;
        let mut polled = Polled::default();
        let stand = polled.begin(&snapshot, unix_micros(), interval_ms);
        let source = ServerSource {
            watch,
            polled,
            silent: None,
        };
        Ok((source, stand))
    }
}

impl Source for ServerSource {
    fn observe(&mut self) -> Frame {
        let read = self.watch.read();
        let at = unix_micros();
        let (mut frame, silent) = match read {
            Ok(snapshot) => (self.polled.take(&snapshot, at), None),
            Err(error) => {
                let frame = Frame { at, ..Frame::default() };
                (frame, Some(format!("The server does not answer: {error}")))
            }
        };
        if silent != self.silent {
            frame.progress = Some(silent.iter().cloned().collect());
            self.silent = silent;
        }
        frame
    }
}

/// This machine's clock.
fn unix_micros() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}
