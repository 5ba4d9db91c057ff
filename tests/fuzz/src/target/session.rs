//! Binder, module compilation and execution: a session in an instance of its own.

use super::{Reached, Target};
use crate::catalog::{Counter, DECLARATIONS, filled};
use crate::grammar::{Grammar, Manner, TSQL, write};
use crate::mutate;
use engine::instance::Instance;
use outside::random::Random;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tsql::session::{BatchOutcome, Session};
use tsql::state::Execution;

/// A statement that runs so long is stopped, as by an ATTENTION.
const RUNS_AT_MOST: Duration = Duration::from_secs(2);
/// How often the watch looks.
const LOOKS_EVERY: Duration = Duration::from_millis(100);
/// Of 100 inputs so many may have mistakes.
const WRONG_PERCENT: u64 = 25;

/// Tells a session's statements to stop when they run long.
struct Watch {
    since: Arc<Mutex<Option<Instant>>>,
    over: Arc<AtomicBool>,
}

impl Watch {
    fn of(flag: Arc<AtomicBool>) -> Watch {
        let since: Arc<Mutex<Option<Instant>>> = Arc::default();
        let over = Arc::new(AtomicBool::new(false));
        let (seen, ends) = (since.clone(), over.clone());
        std::thread::spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                std::thread::sleep(LOOKS_EVERY);
                if seen.lock().is_some_and(|since| since.elapsed() > RUNS_AT_MOST) {
                    flag.store(true, Ordering::SeqCst);
                }
            }
        });
        Watch { since, over }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// A session that executes batches, or binds them only.
pub(super) struct Client {
    // Before the instance, which outlives its sessions.
    pub(super) session: Session,
    _instance: Arc<Instance>,
    watch: Watch,
}

impl Client {
    pub(super) fn new() -> Client {
        let (instance, session) = filled();
        let watch = Watch::of(session.cancel_flag());
        Client {
            session,
            _instance: instance,
            watch,
        }
    }

    /// Does something with the session under the watch. A session that is over is replaced with all that belongs to it.
    pub(super) fn work(&mut self, work: impl FnOnce(&mut Session, &mut Counter) -> BatchOutcome) -> Counter {
        let mut counter = Counter::default();
        *self.watch.since.lock() = Some(Instant::now());
        let outcome = work(&mut self.session, &mut counter);
        *self.watch.since.lock() = None;
        let is_over = matches!(outcome, BatchOutcome::Disconnected | BatchOutcome::Shutdown(_));
        if is_over || self.session.has_ended() {
            *self = Client::new();
        }
        counter
    }
}

struct Batches {
    client: Option<Client>,
    grammar: Grammar,
    executes: bool,
}

/// Batches that are bound but not executed: under NOEXEC, and under FMTONLY, which describes them.
pub fn binding() -> Box<dyn Target> {
    Box::new(Batches {
        client: None,
        grammar: Grammar::read(TSQL),
        executes: false,
    })
}

/// Batches that are executed.
pub fn running() -> Box<dyn Target> {
    Box::new(Batches {
        client: None,
        grammar: Grammar::read(TSQL),
        executes: true,
    })
}

impl Target for Batches {
    fn make(&self, random: &mut Random) -> Vec<u8> {
        let manner = if random.percent(WRONG_PERCENT) {
            Manner::Wrong
        } else {
            Manner::Right
        };
        // What is not executed is mostly bound where it is a query or a change.
        let rule = match random.below(10) {
            0 => "module",
            1 => "batch",
            2 if self.executes => "batch",
            2 | 3 => "update",
            4 => "insert",
            5 => "delete",
            _ => "select_statement",
        };
        let text = write(&self.grammar, rule, random, manner);
        let text = if random.below(40) == 0 {
            mutate::nest(&text, random)
        } else {
            text
        };
        if rule == "module" {
            return text.into_bytes();
        }
        (DECLARATIONS.to_owned() + &text).into_bytes()
    }

    fn take(&mut self, input: &[u8]) -> Reached {
        let text = String::from_utf8_lossy(input);
        let executes = self.executes;
        let client = self.client.get_or_insert_with(Client::new);
        let counter = client.work(|session, counter| {
            if !executes {
                // Described are queries alone; a byte of the text decides, so that the input alone says what is done with it.
                let option = if text.len().is_multiple_of(4) {
                    "fmtonly"
                } else {
                    "noexec"
                };
                let wanted = if option == "fmtonly" {
                    Execution::Described
                } else {
                    Execution::Bound
                };
                if session.state().options().execution() != wanted {
                    let script = format!("set parseonly off; set noexec off; set fmtonly off; set {option} on");
                    session.execute(&script, &mut Counter::default());
                }
            }
            session.execute(&text, counter)
        });
        if counter.errors.is_empty() {
            Reached::Taken
        } else {
            Reached::Refused
        }
    }
}
