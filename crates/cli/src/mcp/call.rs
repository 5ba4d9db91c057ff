//! Running tool calls: each runs this program as a child process whose output is the answer.
//!
//! A child reads its input from a pipe or has none, so it never sees the protocol's own input and never asks for a password. It ends by
//! itself, or is killed by the time limit or by its client's cancellation. A client that closes its input first still gets the answers of
//! running calls.
//!
//! - Invariant: a call's slot is free before its answer is written, so a client that waits for an answer is never refused the next call.
//! - Invariant: [`Calls::end`] returns after the last child has ended and the last answer is written.

use super::tools::Command as ToolCommand;
use serde_json::Value;
use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The most output of a tool that is kept: a snapshot of a thousand databases has a tenth of it.
const OUTPUT_BYTES_MAX: u64 = 64 << 20;
/// How often a child is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// How a call ended.
pub(super) enum Outcome {
    /// With what the tool printed; whether that is an error.
    Done { text: String, is_error: bool },
    /// By its client, which needs no answer.
    Cancelled,
}

#[derive(Default)]
struct State {
    /// The ids of calls under way, and whether each is to be cancelled.
    under_way: Vec<(Value, bool)>,
    /// Threads of calls, of those too that are writing their answer.
    threads: usize,
}

/// The calls under way.
pub(super) struct Calls {
    state: Arc<(Mutex<State>, Condvar)>,
    letters: Vec<String>,
    most: usize,
    limit: Duration,
}

impl Calls {
    /// `letters` are added to the command lines of tools that connect to a server; `most` calls run at a time, each for `limit` at most.
    pub(super) fn new(letters: Vec<String>, most: usize, limit: Duration) -> Calls {
        Calls {
            state: Arc::default(),
            letters,
            most,
            limit,
        }
    }

    /// Runs a command line in a thread of its own, which ends with `answered`.
    ///
    /// # Errors
    /// Too many calls, or an id that is under way, in a sentence.
    pub(super) fn begin(
        &self,
        id: &Value,
        mut command: ToolCommand,
        answered: impl FnOnce(Outcome) + Send + 'static,
    ) -> Result<(), String> {
        let (lock, ended) = &*self.state;
        let mut state = lock.lock().unwrap_or_else(PoisonError::into_inner);
        if state.under_way.iter().any(|(other, _)| other == id) {
            return Err(format!("a call with the id {id} is under way"));
        }
        if state.under_way.len() >= self.most {
            return Err(format!("{} calls are under way: wait for one of them", self.most));
        }
        if command.reaches {
            // Behind the subcommand.
            command.words.splice(1..1, self.letters.iter().cloned());
        }
        state.under_way.push((id.clone(), false));
        state.threads += 1;
        drop(state);
        let (shared, own, limit) = (Arc::clone(&self.state), id.clone(), self.limit);
        let started = thread::Builder::new().name("mcp-call".to_owned()).spawn(move || {
            let is_cancelled = || {
                let state = shared.0.lock().unwrap_or_else(PoisonError::into_inner);
                state
                    .under_way
                    .iter()
                    .any(|(id, is_cancelled)| *is_cancelled && *id == own)
            };
            let outcome = run(&command, limit, is_cancelled);
            let lock = || shared.0.lock().unwrap_or_else(PoisonError::into_inner);
            lock().under_way.retain(|(id, _)| *id != own);
            answered(outcome);
            lock().threads -= 1;
            shared.1.notify_all();
        });
        if let Err(error) = started {
            let mut state = lock.lock().unwrap_or_else(PoisonError::into_inner);
            state.under_way.retain(|(other, _)| other != id);
            state.threads -= 1;
            ended.notify_all();
            return Err(format!("no thread for the call: {error}"));
        }
        Ok(())
    }

    /// Ends a call without an answer; one that is over is none.
    pub(super) fn cancel(&self, id: &Value) {
        let mut state = self.state.0.lock().unwrap_or_else(PoisonError::into_inner);
        state
            .under_way
            .iter_mut()
            .filter(|(other, _)| other == id)
            .for_each(|(_, is_cancelled)| *is_cancelled = true);
    }

    /// Waits for the calls under way.
    pub(super) fn end(&self) {
        let (lock, ended) = &*self.state;
        let mut state = lock.lock().unwrap_or_else(PoisonError::into_inner);
        while state.threads > 0 {
            state = ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn failed(text: String) -> Outcome {
    Outcome::Done { text, is_error: true }
}

fn run(command: &ToolCommand, limit: Duration, is_cancelled: impl Fn() -> bool) -> Outcome {
    match start(command) {
        Ok(child) => attended(child, command, limit, is_cancelled),
        Err(error) => failed(format!("the tool cannot be started: {error}")),
    }
}

fn start(command: &ToolCommand) -> io::Result<Child> {
    Command::new(std::env::current_exe()?)
        .args(&command.words)
        .stdin(if command.input.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
}

/// Feeds a child, reads what it prints, and ends it when it is to end.
fn attended(mut child: Child, command: &ToolCommand, limit: Duration, is_cancelled: impl Fn() -> bool) -> Outcome {
    let begin = Instant::now();
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        scope.spawn(move || {
            if let (Some(mut stdin), Some(input)) = (stdin, &command.input) {
                // A child that reads no further has said why.
                let _ = stdin.write_all(input.as_bytes());
            }
        });
        let printed = scope.spawn(move || read(stdout));
        let complained = scope.spawn(move || read(stderr));
        let mut why = None;
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break Ok(status),
                Ok(None) => {}
                Err(error) => break Err(error),
            }
            if why.is_none() {
                if is_cancelled() {
                    why = Some(Outcome::Cancelled);
                } else if begin.elapsed() > limit {
                    why = Some(failed(format!(
                        "the tool took longer than {} s and was ended",
                        limit.as_secs()
                    )));
                }
                if why.is_some() {
                    // One that has ended meanwhile cannot be killed, and need not.
                    let _ = child.kill();
                }
            }
            thread::sleep(LOOK);
        };
        let (printed, complained) = (
            printed.join().unwrap_or_default(),
            complained.join().unwrap_or_default(),
        );
        match (why, status) {
            (Some(why), _) => why,
            (None, Err(error)) => failed(error.to_string()),
            // Findings (5), gaps (6) and damage (4) are answers, not errors of the tool.
            (None, Ok(status)) if matches!(status.code(), Some(0 | 4 | 5 | 6)) => Outcome::Done {
                text: printed,
                is_error: false,
            },
            (None, Ok(_)) => failed([complained, printed].join("\n").trim().to_owned()),
        }
    })
}

/// Everything that is printed, up to the bound; what is more is read and dropped, so that the child does not wait.
fn read(from: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut from) = from {
        let is_read = from.by_ref().take(OUTPUT_BYTES_MAX).read_to_end(&mut bytes).is_ok();
        if is_read
            && bytes.len() as u64 == OUTPUT_BYTES_MAX
            && io::copy(&mut from, &mut io::sink()).is_ok_and(|more| more > 0)
        {
            bytes.extend_from_slice(b"\n(cut here: the output is longer)");
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
