//! `vlflab sql`: scripts, a query or a prompt, on a folder or against a server, like sqlcmd.
//!
//! ```text
//! options      the command line                  command      which line is a command
//! interpreter  lines to batches and commands     batch        T-SQL collected since the last GO
//! variables    $(name)                           script       files of scripts
//! channel      a server, or (embedded) a folder  interrupts   Ctrl-C and -t
//! output       rows and messages, in every form  plan         --plan
//! prompt       the editor                        history      batches of earlier sessions
//! completion   Tab completion                    names        names on the server
//! ```
//!
//! Files, pipes and the prompt feed the interpreter the same way. Only `syntax::batches` and `command` decide which text is a command,
//! where a string is open and which `$(name)` counts.
//!
//! Invariant: text collected for one server is never run on another; a `:connect` that fails leaves no connection. Invariant: a password
//! goes only to the server for which it was given, and into no file. Invariant: the user's session never waits for a completion query and
//! never fails because of one; completion has a separate connection and thread.

mod batch;
mod channel;
mod command;
mod completion;
mod document;
mod embedded;
mod help;
mod history;
mod interpreter;
mod interrupts;
mod names;
mod options;
mod output;
mod plan;
mod prompt;
mod script;
mod shell;
mod variables;

use crate::exit::Failure;
pub use channel::host_and_port;
use interpreter::{Flow, Interpreter};
pub use options::{SQL_EXAMPLES, SqlOptions};
use std::io::{self, BufRead, IsTerminal};

/// Runs the subcommand.
///
/// # Errors
/// The exit code is not 0.
pub fn sql(options: &SqlOptions) -> Result<(), Failure> {
    let input = &options.input;
    if let Some(missing) = input.files.iter().find(|path| !path.exists()) {
        let text = format!("{}: No such file or directory", missing.display());
        return Err(Failure::Failed(text));
    }
    let mut interpreter = Interpreter::new(options)?;
    let is_prompt = input.query.is_none() && input.files.is_empty();
    let has_terminal = is_prompt && io::stdin().is_terminal();
    if options.has_environment() && interpreter.startup()? == Flow::End {
        return interpreter.outcome();
    }
    match (&input.query, &input.first_query) {
        (Some(query), _) => {
            interpreter.text(query)?;
            interpreter.outcome()
        }
        (None, _) if !is_prompt => {
            for file in &input.files {
                if interpreter.file(file)? != Flow::Next {
                    break;
                }
            }
            interpreter.outcome()
        }
        (None, first) if has_terminal => prompt::prompt(&mut interpreter, first.as_deref(), !options.login.no_names),
        (None, first) => {
            let flow = first.as_ref().map_or(Ok(Flow::Next), |query| interpreter.text(query))?;
            if flow == Flow::Next {
                standard_input(&mut interpreter)?;
            }
            interpreter.outcome()
        }
    }
}

/// Lines of standard input, each as it comes, so that a program at the other end of a pipe is answered.
fn standard_input(interpreter: &mut Interpreter) -> Result<(), Failure> {
    /// A longer line is not text.
    const LINE_BYTES_MAX: u64 = 512 << 20;
    let mut input = io::stdin().lock();
    let mut is_first = true;
    loop {
        let mut bytes = Vec::new();
        let taken = io::Read::take(&mut input, LINE_BYTES_MAX).read_until(b'\n', &mut bytes)?;
        if taken == 0 {
            return interpreter.rest().map(|_| ());
        }
        if std::mem::take(&mut is_first) && bytes.starts_with(&[0xFF, 0xFE]) {
            // Lines of UTF-16 end otherwise; such a script is read whole.
            io::Read::read_to_end(&mut io::Read::take(&mut input, LINE_BYTES_MAX), &mut bytes)?;
            let text = script::text_of(&mut bytes.as_slice())?;
            return interpreter.text(&text).map(|_| ());
        }
        let line = script::text_of(&mut bytes.as_slice())?;
        if interpreter.feed(line.trim_end_matches(['\n', '\r']))? != Flow::Next {
            return Ok(());
        }
    }
}
