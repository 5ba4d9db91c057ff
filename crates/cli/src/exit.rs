//! Exit codes, the same for every subcommand.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | a batch or a run failed |
//! | 2 | wrong usage |
//! | 3 | cannot connect, or the login was refused |
//! | 4 | damaged data was found |
//! | 5 | `vlflab advise` found something to do |
//! | 6 | `vlflab advise` found nothing, but could not read everything; `vlflab inspect -S` could not read VLFs |
//! | 7 | `vlflab advise --apply` stopped at something that it may not do itself, and can be run again |
//! | 8 | running `vlflab sweep` again is useless: the request is impossible, a configuration fails every time, or a check failed; `vlflab export`: the destination lacks a feature that the source uses |
//! | 99 | a threshold of an experiment was missed |
//! | 130 | interrupted |
//! | any | an exit code set by a script of `vlflab sql`: `:exit(query)`, `-V`, an error of state 127; a monitor's code: `advise --format nagios` |

use lab::client::ClientError;
use lab::driver::LabError;
use std::io::{self, Write};
use std::process::ExitCode;

/// Why a subcommand did not succeed, with what is left to say about it.
#[derive(Debug)]
pub enum Failure {
    /// Something was asked for that is not there.
    Usage(String),
    /// A batch or a run failed; the text may be empty when everything has been said already.
    Failed(String),
    /// The server does not answer, or refuses the login.
    CannotConnect(String),
    /// Damaged data was found.
    Corruption,
    /// Doing the same again ends in the same way.
    Useless(String),
    /// A threshold was missed.
    ThresholdMissed(String),
    /// Ctrl-C.
    Interrupted(String),
    /// The connection broke; why, in a sentence.
    Lost(String),
    /// What a script has as its exit code; everything has been said.
    Code(u8),
    /// Reading or writing failed; a closed pipe is not a failure.
    Io(io::Error),
}

impl Failure {
    /// Its exit code, and what is left to say.
    pub fn code_and_text(&self) -> (u8, String) {
        match self {
            Failure::Usage(text) => (2, text.clone()),
            Failure::Failed(text) => (1, text.clone()),
            Failure::CannotConnect(text) => (3, text.clone()),
            Failure::Corruption => (4, String::new()),
            Failure::Useless(text) => (8, text.clone()),
            Failure::ThresholdMissed(text) => (99, text.clone()),
            Failure::Interrupted(text) => (130, text.clone()),
            Failure::Lost(text) => (1, text.clone()),
            Failure::Code(code) => (*code, String::new()),
            Failure::Io(error) if error.kind() == io::ErrorKind::BrokenPipe => (0, String::new()),
            Failure::Io(error) => (1, error.to_string()),
        }
    }
}

impl Failure {
    /// The same with exit code 1, as SQL Server's tools have it, but for a code that a script asked for and a closed pipe.
    pub fn with_code_one(self) -> Failure {
        match self {
            Failure::Code(_) | Failure::Io(_) => self,
            other => Failure::Failed(other.code_and_text().1),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Io(error)
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Failure {
        match error {
            ClientError::Unreachable { .. } | ClientError::LoginFailed(_) => Failure::CannotConnect(error.to_string()),
            ClientError::Interrupted => Failure::Interrupted(error.to_string()),
            ClientError::Lost(_) | ClientError::Server(_) => Failure::Failed(error.to_string()),
        }
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Failure {
        let text = error.to_string();
        Failure::of_run(error, text)
    }
}

impl Failure {
    /// The kind of failure that ended a run, with the words for it.
    pub fn of_run(error: LabError, text: String) -> Failure {
        match error {
            LabError::Experiment(_) => Failure::Usage(text),
            LabError::Step {
                error: ClientError::Unreachable { .. } | ClientError::LoginFailed(_),
                ..
            } => Failure::CannotConnect(text),
            _ => Failure::Failed(text),
        }
    }
}

/// Says what is left to say and answers the exit code.
pub fn code(outcome: Result<(), Failure>) -> ExitCode {
    let Err(failure) = outcome else {
        return ExitCode::SUCCESS;
    };
    let (code, text) = failure.code_and_text();
    if !text.is_empty() {
        // When standard error is gone too, the code still tells.
        let _ = writeln!(io::stderr(), "vlflab: {text}");
    }
    ExitCode::from(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_pipe_is_success_and_other_failures_are_not() {
        let of = |kind| Failure::Io(io::Error::from(kind)).code_and_text().0;
        assert_eq!(of(io::ErrorKind::BrokenPipe), 0);
        assert_eq!(of(io::ErrorKind::StorageFull), 1);
    }
}
