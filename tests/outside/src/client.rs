//! A client that keeps all of the server's answers.

use lab::client::{ClientError, Connection, Event, ServerMessage};
use std::time::{Duration, Instant};

/// A statement that takes longer hangs. The slowest here, a restore on a busy machine, takes a few seconds.
const PATIENCE: Duration = Duration::from_secs(45);

/// Everything a batch answered.
#[derive(Debug, Default)]
pub struct Answer {
    /// The rows of all its results.
    pub rows: Vec<Vec<Option<String>>>,
    pub errors: Vec<ServerMessage>,
    /// Why the connection is gone, if it is.
    pub lost: Option<String>,
}

impl Answer {
    pub fn numbers(&self) -> Vec<i32> {
        self.errors.iter().map(|error| error.number).collect()
    }

    /// Whether it succeeded.
    pub fn is_good(&self) -> bool {
        self.errors.is_empty() && self.lost.is_none()
    }

    /// What went wrong in words.
    pub fn failure(&self) -> String {
        let errors: Vec<String> = self.errors.iter().map(ToString::to_string).collect();
        let lost = self.lost.as_ref().map(|reason| format!("connection lost: {reason}"));
        errors.into_iter().chain(lost).collect::<Vec<_>>().join("; ")
    }
}

/// Runs a batch and keeps all of its answer. A batch without an answer in good time loses its connection.
pub fn ask(connection: &mut Connection, batch: &str) -> Answer {
    let mut answer = Answer::default();
    let begin = Instant::now();
    let outcome = connection.run_watched(batch, &mut || begin.elapsed() < PATIENCE, &mut |event| match event {
        Event::Row(values) => answer.rows.push(values.to_vec()),
        Event::Error(message) => answer.errors.push(message.clone()),
        _ => {}
    });
    match outcome {
        Ok(()) => {}
        Err(ClientError::Server(message)) => answer.errors.push(message),
        Err(ClientError::Interrupted) => answer.lost = Some(format!("no answer within {PATIENCE:?}")),
        Err(error) => answer.lost = Some(error.to_string()),
    }
    answer
}

/// Runs a batch that has to succeed; its rows, or what went wrong.
///
/// # Errors
/// The batch with its errors in words.
pub fn rows(connection: &mut Connection, batch: &str) -> Result<Vec<Vec<Option<String>>>, String> {
    let answer = ask(connection, batch);
    if answer.is_good() {
        Ok(answer.rows)
    } else {
        Err(format!("{batch:.300}: {}", answer.failure()))
    }
}
