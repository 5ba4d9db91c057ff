//! The interactive prompt: lines until GO, with history.
//!
//! ```text
//! 1> select 1
//! 2> go
//! ```
//! `exit` or `quit` ends it, `reset` drops the lines typed so far, Ctrl-C does too.

use super::SqlSession;
use crate::exit::Failure;
use rustyline::error::ReadlineError;
use rustyline::{Config, DefaultEditor};
use std::io;
use std::path::PathBuf;
use tsql::batches;

/// Name of the history file in the user's home folder.
const HISTORY_FILE: &str = ".vlflab_history";
const HISTORY_LINES_MAX: usize = 1000;

/// What a line means for the lines before it.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    Exit,
    Reset,
    Run,
    More,
}

/// Reads and runs until the user ends it.
pub(super) fn prompt(session: &mut SqlSession) -> Result<(), Failure> {
    let config = Config::builder()
        .max_history_size(HISTORY_LINES_MAX)
        .map(|builder| builder.auto_add_history(true).build());
    let mut editor = config.and_then(DefaultEditor::with_config).map_err(failure)?;
    let history = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(HISTORY_FILE));
    if let Some(path) = &history {
        // The first time there is none.
        let _ = editor.load_history(path);
    }
    let mut typed = String::new();
    loop {
        let number = typed.lines().count() + 1;
        match editor.readline(&format!("{number}> ")) {
            Ok(pasted) => {
                if take_lines(session, &mut typed, &pasted)? {
                    break;
                }
            }
            Err(ReadlineError::Interrupted) => typed.clear(),
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(failure(error)),
        }
    }
    if let Some(path) = &history {
        // A history that cannot be kept is not worth an error after everything has been done.
        let _ = editor.save_history(path);
    }
    Ok(())
}

/// Takes what was typed, or several lines pasted at once; true when it is time to leave.
fn take_lines(session: &mut SqlSession, typed: &mut String, pasted: &str) -> Result<bool, Failure> {
    for line in pasted.split('\n') {
        if typed.is_empty() && line.trim().is_empty() {
            continue;
        }
        match classify(typed, line) {
            Line::Exit => return Ok(true),
            Line::Reset => typed.clear(),
            Line::Run => run(session, &std::mem::take(typed))?,
            Line::More => {}
        }
    }
    Ok(false)
}

/// A batch stopped by Ctrl-C, or a variable without a value, is no reason to end the prompt.
fn run(session: &mut SqlSession, script: &str) -> Result<(), Failure> {
    match session.run_script(script) {
        Err(Failure::Interrupted(_)) => session.say("The batch was stopped."),
        Err(Failure::Usage(text)) => session.say(&text),
        other => other.map(|_| ()),
    }
}

/// Adds the line to those typed, and says what to do now.
fn classify(typed: &mut String, line: &str) -> Line {
    let word = line.trim().to_ascii_lowercase();
    match word.as_str() {
        "exit" | "quit" => return Line::Exit,
        "reset" => return Line::Reset,
        _ => {}
    }
    typed.push_str(line);
    typed.push('\n');
    if word.starts_with("go") && is_separator(typed, line) {
        Line::Run
    } else {
        Line::More
    }
}

/// Whether the last line of `typed` ended a batch, rather than being inside a comment or a string.
fn is_separator(typed: &str, line: &str) -> bool {
    let last = batches::split(typed).pop();
    last.is_none_or(|batch| !batch.text.trim_end().ends_with(line.trim()))
}

fn failure(error: ReadlineError) -> Failure {
    Failure::Io(io::Error::other(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(lines: &[&str]) -> Vec<Line> {
        let mut typed = String::new();
        lines.iter().map(|line| classify(&mut typed, line)).collect()
    }

    #[test]
    fn go_runs_what_was_typed_unless_it_is_quoted() {
        assert_eq!(kinds(&["select 1", "GO"]), [Line::More, Line::Run]);
        assert_eq!(kinds(&["select 1", "go 3"]), [Line::More, Line::Run]);
        assert_eq!(kinds(&["select '", "go"]), [Line::More, Line::More]);
        assert_eq!(
            kinds(&["/*", "go", "*/", "go"]),
            [Line::More, Line::More, Line::More, Line::Run]
        );
        assert_eq!(kinds(&["select goods from t"]), [Line::More]);
        assert_eq!(kinds(&["go"]), [Line::Run]);
    }

    #[test]
    fn words_that_end_or_reset() {
        assert_eq!(kinds(&["quit"]), [Line::Exit]);
        assert_eq!(kinds(&["select", " RESET "]), [Line::More, Line::Reset]);
    }
}
