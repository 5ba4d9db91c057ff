//! The interactive prompt: lines until GO, with history and completion.
//!
//! ```text
//! 1> select 1
//! 2> go
//! ```
//! The history returns whole batches, with their GO. Ctrl-C discards the lines typed so far; on an empty line it exits.

use super::command::{Command, Line};
use super::completion;
use super::history::{BATCHES_MAX, History};
use super::interpreter::{Flow, Interpreter};
use super::names::{Names, Reader};
use crate::exit::Failure;
use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context, Editor, Helper};
use std::io;

/// Reads and runs until the user ends it. `first` is run before, names are asked for if `has_names`.
///
/// # Errors
/// The terminal cannot be read, the output not written; or a batch made the exit code another one than 0.
pub(super) fn prompt(interpreter: &mut Interpreter, first: Option<&str>, has_names: bool) -> Result<(), Failure> {
    interpreter.become_interactive();
    let mut names = Names::default();
    let mut editor = editor(&names).map_err(failure)?;
    let history = History::of_user();
    for batch in history.read() {
        editor.add_history_entry(batch).map_err(failure)?;
    }
    let about = interpreter.about().join("\n");
    interpreter.say(&format!(
        "{about}\nGO runs what was typed, :help lists the commands, Tab completes, exit leaves."
    ))?;
    if let Some(query) = first
        && interpreter.text(query)? == Flow::End
    {
        return interpreter.outcome();
    }
    let mut session = Session {
        interpreter,
        typed: String::new(),
        history,
    };
    let (mut may_leave, mut is_stale) = (false, true);
    loop {
        if is_stale && has_names {
            session
                .interpreter
                .channel()
                .into_iter()
                .for_each(|channel| names.refresh(channel));
        }
        let text = session.interpreter.batch_text().to_owned();
        if let Some(assistant) = editor.helper_mut() {
            assistant.batch = text;
        }
        let number = session.interpreter.batch_lines() + 1;
        is_stale = false;
        match editor.readline(&format!("{number}> ")) {
            Ok(lines) => {
                may_leave = false;
                for line in lines.split('\n') {
                    let (flow, ran) = session.take(line)?;
                    if let Some(batch) = ran {
                        is_stale |= may_change_names(&batch);
                        session.history.keep(&batch);
                        editor.add_history_entry(batch).map_err(failure)?;
                    }
                    if flow == Flow::End {
                        return session.interpreter.outcome();
                    }
                }
            }
            Err(ReadlineError::Interrupted) if session.forget() => may_leave = false,
            Err(ReadlineError::Interrupted) if may_leave => return Ok(()),
            Err(ReadlineError::Interrupted) => {
                may_leave = true;
                session.interpreter.say("(Ctrl-C again, Ctrl-D or exit leaves.)")?;
            }
            Err(ReadlineError::Eof) => return session.interpreter.outcome(),
            Err(error) => return Err(failure(error)),
        }
    }
}

/// What was typed since the last GO, as it will be in the history.
struct Session<'i> {
    interpreter: &'i mut Interpreter,
    typed: String,
    history: History,
}

impl Session<'_> {
    /// Takes a line; answers with what is to be kept of it if it ended something.
    fn take(&mut self, line: &str) -> Result<(Flow, Option<String>), Failure> {
        if self.typed.is_empty() && line.trim().is_empty() && self.interpreter.batch_lines() == 0 {
            return Ok((Flow::Next, None));
        }
        let kind = self.interpreter.classify(line);
        let flow = self.interpreter.feed(line)?;
        let ran = match kind {
            // What a file brings is part of the batch, too.
            Line::Text | Line::Command(Command::Read(_)) => {
                self.typed.push_str(line);
                self.typed.push('\n');
                None
            }
            Line::Command(Command::Go(_)) => {
                let batch = std::mem::take(&mut self.typed);
                // After a broken connection it can be run again.
                if self.interpreter.batch_lines() > 0 {
                    self.typed.clone_from(&batch);
                }
                (!batch.is_empty()).then(|| batch + line)
            }
            Line::Command(Command::Reset) => {
                self.typed.clear();
                Some(line.to_owned())
            }
            Line::Command(Command::Edit) => {
                self.typed = self.interpreter.batch_text().to_owned();
                Some(line.to_owned())
            }
            Line::Command(_) | Line::Wrong(_) => Some(line.to_owned()),
        };
        Ok((flow, ran))
    }

    /// Forgets what was typed since the last GO; false when there is nothing.
    fn forget(&mut self) -> bool {
        let had_lines = self.interpreter.batch_lines() > 0;
        self.interpreter.reset();
        self.typed.clear();
        had_lines
    }
}

/// Whether a batch may have made, changed or dropped something that has a name, or have gone to another database.
fn may_change_names(batch: &str) -> bool {
    let words = [
        "create",
        "alter",
        "drop",
        "use",
        "into",
        "restore",
        "sp_rename",
        ":connect",
        "truncate",
    ];
    let lower = batch.to_lowercase();
    words.iter().any(|word| lower.contains(word))
}

fn editor(names: &Names) -> rustyline::Result<Editor<Assistant, MemHistory>> {
    let config = Config::builder()
        .max_history_size(BATCHES_MAX)?
        .completion_type(CompletionType::List)
        .build();
    let history = MemHistory::with_config(&config);
    let mut editor = Editor::with_history(config, history)?;
    editor.set_helper(Some(Assistant {
        names: names.reader(),
        batch: String::new(),
        files: FilenameCompleter::new(),
    }));
    Ok(editor)
}

/// What helps with typing.
struct Assistant {
    names: Reader,
    /// The lines above the one that is typed.
    batch: String,
    files: FilenameCompleter,
}

impl Completer for Assistant {
    type Candidate = Pair;

    fn complete(&self, line: &str, position: usize, context: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let text = line.get(..position).unwrap_or(line);
        let takes_file = [":r ", ":out ", ":error "].iter().any(|command| {
            let start = text.get(..command.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(command))
        });
        if takes_file {
            return self.files.complete(line, position, context);
        }
        let (start, found) = completion::complete(&self.batch, text, &self.names.names());
        let pair = |name: String| Pair {
            display: name.clone(),
            replacement: name,
        };
        Ok((start, found.into_iter().map(pair).collect()))
    }
}

impl Hinter for Assistant {
    type Hint = String;
}

impl Highlighter for Assistant {}
impl Validator for Assistant {}
impl Helper for Assistant {}

fn failure(error: ReadlineError) -> Failure {
    Failure::Io(io::Error::other(error))
}
