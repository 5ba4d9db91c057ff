//! Reads a script line by line: collects T-SQL, executes commands, and runs the collected batch at GO.
//!
//! Errors and their effects:
//!
//! | error | in a script | at the prompt |
//! |---|---|---|
//! | a T-SQL error | continues; ends with `-b` or `:on error exit` | the same |
//! | a malformed command, a missing variable or file | ends, exit code 1 | is reported |
//! | `:connect` fails | ends, exit code 3 | is reported; there is no connection then |
//! | Ctrl-C | ends, exit code 130 | the batch is stopped |
//! | the connection breaks | ends, exit code 1 | is reported, and the batch is kept |
//!
//! sqlcmd continues with the old connection if `:connect` fails, and could then run a batch on the wrong server.

use super::batch::Batch;
use super::channel::{Channel, Connector};
use super::command::{self, Command, Line, OnError};
use super::interrupts::Interrupts;
use super::options::{PlanForm, SqlOptions};
use super::output::{BatchEnd, Format, Output, Sink, Style};
use super::plan::Plans;
use super::script::Reading;
use super::variables::{self, Variables};
use super::{help, plan, shell};
use crate::exit::Failure;
use crate::wrap;
use lab::client::ClientError;
use std::borrow::Cow;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// What happens after a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    Next,
    /// No more of this script; at the prompt, the next line.
    Stop,
    /// Nothing any more.
    End,
}

pub(super) struct Interpreter {
    channel: Option<Box<dyn Channel>>,
    connector: Connector,
    interrupts: Interrupts,
    output: Output,
    variables: Variables,
    batch: Batch,
    /// The last batch that was run, for `:ed`.
    last_batch: String,
    reading: Reading,
    /// Where plans are shown instead of rows: how, and those of the batch at hand.
    plans: Option<(PlanForm, Plans)>,
    choices: Choices,
    /// Whether a person types.
    is_interactive: bool,
    has_timing: bool,
    /// Where the line stands that is being taken: in its file, in `-Q`, in standard input; at the prompt, in the batch.
    line: u32,
    outcome: Outcome,
}

/// What the command line and `:on error` say.
struct Choices {
    terminator: String,
    stop_at_error: bool,
    ignores_errors: bool,
    /// `-V`.
    severity_min: Option<u8>,
    has_variables: bool,
    has_echo: bool,
    /// `-X`: None, or whether a command that is refused ends the script.
    disabled_commands: Option<bool>,
    is_utf16: bool,
    /// `-p`: None, or whether in one line.
    statistics: Option<bool>,
    trim: bool,
    controls: super::output::Controls,
    estimated: bool,
    /// `-I`.
    quoted_identifiers: bool,
}

/// What is left to say at the end.
#[derive(Default)]
struct Outcome {
    /// An error, or a complaint of ours.
    has_failed: bool,
    /// What `:exit(query)`, `-V` or state 127 made the exit code.
    code: Option<u8>,
}

const DISABLED: &str = "ED and !!<command> commands, startup script, and environment variables are disabled";

impl Interpreter {
    /// Connects.
    ///
    /// # Errors
    /// It cannot connect; the output cannot be opened; a plan cannot be asked for.
    pub(super) fn new(options: &SqlOptions) -> Result<Interpreter, Failure> {
        let mut variables = options.variables()?;
        let mut connector = Connector::new(options);
        let channel = connector.open(options, &mut variables)?;
        let (input, output) = (&options.input, &options.output);
        let sink = match &output.file {
            None => Sink::stdout(),
            Some(path) => Sink::file(path, output.is_utf16)
                .map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))?,
        };
        let style = Style::new(&variables, sink.terminal_width());
        let mut interpreter = Interpreter {
            interrupts: Interrupts::new()?,
            channel: None,
            connector,
            output: Output::new(sink, style, output.stderr_severity_min()),
            variables,
            batch: Batch::default(),
            last_batch: String::new(),
            reading: Reading::default(),
            plans: options.plan.map(|form| (form, Plans::default())),
            choices: Choices {
                terminator: input.terminator.clone(),
                stop_at_error: input.stop_at_error,
                ignores_errors: options.as_sqlcmd && !input.stop_at_error && input.severity_min.is_none(),
                severity_min: input.severity_min,
                has_variables: !input.no_variables,
                has_echo: input.echo,
                disabled_commands: input.disabled_commands.map(|choice| choice == 1),
                is_utf16: output.is_utf16,
                statistics: output.statistics.map(|choice| choice == 1),
                trim: output.trim,
                controls: output.controls(),
                estimated: options.estimated,
                quoted_identifiers: input.quoted_identifiers,
            },
            is_interactive: false,
            has_timing: false,
            line: 0,
            outcome: Outcome::default(),
        };
        interpreter.begin_channel(channel)?;
        Ok(interpreter)
    }

    /// From here on a person types.
    pub(super) fn become_interactive(&mut self) {
        self.is_interactive = true;
        self.has_timing = true;
        self.interrupts.become_interactive();
    }

    /// The words of welcome.
    pub(super) fn about(&self) -> Vec<String> {
        self.channel.as_ref().map_or_else(Vec::new, |channel| channel.about())
    }

    /// The channel, unless its connection broke.
    pub(super) fn channel(&self) -> Option<&dyn Channel> {
        self.channel.as_deref()
    }

    /// Lines of the batch so far.
    pub(super) fn batch_lines(&self) -> usize {
        self.batch.lines()
    }

    /// The batch so far.
    pub(super) fn batch_text(&self) -> &str {
        self.batch.text()
    }

    /// What the line would be.
    pub(super) fn classify(&self, line: &str) -> Line {
        match self.batch.is_open() {
            true => Line::Text,
            false => command::parse(line, &self.choices.terminator),
        }
    }

    /// Forgets the batch so far.
    pub(super) fn reset(&mut self) {
        self.batch.clear();
    }

    /// The startup script (SQLCMDINI), if there is one.
    ///
    /// # Errors
    /// As [`Interpreter::feed`].
    pub(super) fn startup(&mut self) -> Result<Flow, Failure> {
        let path = self.variables.own(variables::STARTUP_SCRIPT).to_owned();
        match path.is_empty() {
            true => Ok(Flow::Next),
            false => self.file(Path::new(&path)),
        }
    }

    /// A whole file, with what follows its last GO.
    ///
    /// # Errors
    /// As [`Interpreter::feed`].
    pub(super) fn file(&mut self, path: &Path) -> Result<Flow, Failure> {
        match self.include(path)? {
            Flow::Next => self.rest(),
            other => Ok(other),
        }
    }

    /// A whole text, with what follows its last GO.
    ///
    /// # Errors
    /// As [`Interpreter::feed`].
    pub(super) fn text(&mut self, text: &str) -> Result<Flow, Failure> {
        match self.lines(text)? {
            Flow::Next => self.rest(),
            other => Ok(other),
        }
    }

    /// Runs what no GO has followed.
    ///
    /// # Errors
    /// As [`Interpreter::feed`].
    pub(super) fn rest(&mut self) -> Result<Flow, Failure> {
        self.go("")
    }

    /// Takes a line.
    ///
    /// # Errors
    /// What ends the program: see the table above, and output that cannot be written.
    pub(super) fn feed(&mut self, line: &str) -> Result<Flow, Failure> {
        self.line = match self.is_interactive {
            true => self.prompt_line(),
            false => self.line.saturating_add(1),
        };
        self.take(line)
    }

    /// The number that the prompt shows.
    fn prompt_line(&self) -> u32 {
        u32::try_from(self.batch.lines() + 1).unwrap_or(u32::MAX)
    }

    /// Takes the line that has been counted.
    fn take(&mut self, line: &str) -> Result<Flow, Failure> {
        match self.classify(line) {
            Line::Text => {
                self.batch.push(line);
                Ok(Flow::Next)
            }
            Line::Command(command) => self.execute(command),
            Line::Wrong(name) => self.wrong(&name),
        }
    }

    /// How it went.
    ///
    /// # Errors
    /// The exit code is not 0.
    pub(super) fn outcome(&self) -> Result<(), Failure> {
        if let Some(code) = self.outcome.code {
            return if code == 0 { Ok(()) } else { Err(Failure::Code(code)) };
        }
        match (self.output.saw_corruption(), self.outcome.has_failed) {
            (true, _) => Err(Failure::Corruption),
            (false, true) => Err(Failure::Failed(String::new())),
            (false, false) => Ok(()),
        }
    }

    /// A line of our own among the answers.
    ///
    /// # Errors
    /// It cannot be printed.
    pub(super) fn say(&mut self, text: &str) -> Result<(), Failure> {
        self.output.line(text).map_err(Failure::Io)
    }

    /// The lines of a text, which are counted from its first. Those of what reads it go on behind it.
    fn lines(&mut self, text: &str) -> Result<Flow, Failure> {
        let outer = std::mem::take(&mut self.line);
        let mut flow = Ok(Flow::Next);
        for line in text.split_inclusive('\n') {
            self.line = self.line.saturating_add(1);
            flow = self.take(line.strip_suffix('\n').unwrap_or(line));
            if !matches!(flow, Ok(Flow::Next)) {
                break;
            }
        }
        self.line = outer;
        flow
    }

    /// A file's lines; what follows its last GO stays.
    fn include(&mut self, path: &Path) -> Result<Flow, Failure> {
        let text = match self.reading.begin(path) {
            Ok(text) => text,
            Err(reason) => return self.complain(&reason),
        };
        let flow = self.lines(&text);
        self.reading.end();
        flow
    }

    fn wrong(&mut self, name: &str) -> Result<Flow, Failure> {
        let hint = if self.is_interactive {
            " :help lists the commands."
        } else {
            ""
        };
        let file = self.reading.innermost();
        let file = file.map_or_else(String::new, |path| format!(" in file '{}'", path.display()));
        let text = format!("Syntax error at line {} near command '{name}'{file}.{hint}", self.line);
        self.complain(&text)
    }

    /// Says what this program, not the server, has against a script.
    fn complain(&mut self, text: &str) -> Result<Flow, Failure> {
        self.output.complain(&format!("Sqlcmd: Error: {text}"))?;
        self.outcome.has_failed |= !self.is_interactive;
        Ok(Flow::Stop)
    }

    fn execute(&mut self, command: Command) -> Result<Flow, Failure> {
        let done = |()| Flow::Next;
        match command {
            Command::Go(count) => self.go(&count),
            Command::Quit | Command::Exit(None) => Ok(Flow::End),
            Command::Exit(Some(query)) => self.exit(&query),
            Command::Reset => {
                self.batch.clear();
                Ok(Flow::Next)
            }
            Command::List if self.batch.text().is_empty() => Ok(Flow::Next),
            Command::List => {
                let text = self.batch.text().trim_end_matches('\n').to_owned();
                self.say(&text).map(done)
            }
            Command::ListVariables => self.say(&self.variables.listed().join("\n")).map(done),
            Command::Set(name, value) => match self.variables.set(&name, &value) {
                Ok(()) => Ok(Flow::Next),
                Err(reason) => self.complain(&reason),
            },
            Command::Read(name) => match self.substituted(&name) {
                Ok(name) => self.include(Path::new(name.as_ref())),
                Err(reason) => self.complain(&reason),
            },
            Command::Out(name) => self.redirect(&name, Output::set_rows_to),
            Command::Error(name) => self.redirect(&name, Output::set_errors_to),
            Command::Connect(words) => self.connect(&words),
            Command::Shell(command) => self.shell(&command),
            Command::Edit => self.edit(),
            Command::OnError(choice) => {
                self.choices.stop_at_error = choice == OnError::Exit;
                self.choices.ignores_errors = choice == OnError::Ignore;
                Ok(Flow::Next)
            }
            Command::Xml(is_on) => {
                self.output.set_xml(is_on);
                Ok(Flow::Next)
            }
            Command::Format(name) => self.set_format(&name),
            Command::Timing(is_on) => {
                self.has_timing = is_on;
                Ok(Flow::Next)
            }
            Command::Help => self.say(&help::text(wrap::width())).map(done),
            Command::Refused(reason) => self.complain(reason),
        }
    }

    fn set_format(&mut self, name: &str) -> Result<Flow, Failure> {
        match Format::of_name(name) {
            Ok(_) => {
                self.variables.put(variables::FORMAT, name);
                Ok(Flow::Next)
            }
            Err(reason) => self.complain(&reason),
        }
    }

    fn redirect(&mut self, name: &str, set: fn(&mut Output, Sink)) -> Result<Flow, Failure> {
        let sink = self.substituted(name);
        match sink.and_then(|name| Sink::of_name(&name, self.choices.is_utf16)) {
            Ok(sink) => {
                self.output.rows_to().flush()?;
                set(&mut self.output, sink);
                Ok(Flow::Next)
            }
            Err(reason) => self.complain(&reason),
        }
    }

    fn substituted<'t>(&self, text: &'t str) -> Result<Cow<'t, str>, String> {
        match self.choices.has_variables {
            true => self.variables.substitute(text),
            false => Ok(text.into()),
        }
    }

    fn connect(&mut self, words: &str) -> Result<Flow, Failure> {
        let words = match self.substituted(words) {
            Ok(words) => words.into_owned(),
            Err(reason) => return self.complain(&reason),
        };
        match self.connector.reopen(&words, &mut self.variables) {
            Ok(channel) => {
                self.begin_channel(channel)?;
                if self.is_interactive {
                    let about = self.about().join("\n");
                    self.say(&about)?;
                }
                Ok(Flow::Next)
            }
            Err(Failure::Usage(reason)) if reason.is_empty() => self.wrong(":connect"),
            Err(Failure::Usage(reason)) => self.complain(&reason),
            Err(Failure::CannotConnect(reason)) if self.is_interactive => {
                self.end_channel();
                self.complain(&reason)
            }
            Err(other) => Err(other),
        }
    }

    /// Takes up a channel.
    fn begin_channel(&mut self, channel: Box<dyn Channel>) -> Result<(), Failure> {
        self.interrupts.cancel_by(channel.cancel_flag())?;
        self.channel = Some(channel);
        if self.choices.quoted_identifiers {
            self.run("SET QUOTED_IDENTIFIER ON")?;
            self.output.end_of_batch()?;
        }
        if self.plans.is_some() {
            // From here on the server answers with plans.
            let option = if self.choices.estimated {
                "SHOWPLAN_XML"
            } else {
                "STATISTICS XML"
            };
            self.run(&format!("SET {option} ON"))?;
            self.output.end_of_batch()?;
        }
        Ok(())
    }

    fn end_channel(&mut self) {
        self.channel = None;
    }

    fn shell(&mut self, command: &str) -> Result<Flow, Failure> {
        if let Some(is_fatal) = self.choices.disabled_commands {
            return self.refuse(is_fatal);
        }
        let command = match self.substituted(command) {
            Ok(command) => command.into_owned(),
            Err(reason) => return self.complain(&reason),
        };
        let ran = self
            .interrupts
            .left_to_child(|| shell::run(&command, self.output.rows_to()));
        match ran {
            Ok(()) => Ok(Flow::Next),
            Err(error) => self.complain(&format!("!!{command}: {error}")),
        }
    }

    fn edit(&mut self) -> Result<Flow, Failure> {
        if let Some(is_fatal) = self.choices.disabled_commands {
            return self.refuse(is_fatal);
        }
        let text = match self.batch.text().is_empty() {
            true => self.last_batch.clone(),
            false => self.batch.text().to_owned(),
        };
        let editor = self.variables.own(variables::EDITOR).to_owned();
        match self.interrupts.left_to_child(|| shell::edit(&editor, &text)) {
            Ok(text) => {
                self.batch.clear();
                self.edited(&text)
            }
            Err(error) => self.complain(&format!("the editor: {error}")),
        }
    }

    /// Takes the lines of an editor, which have the numbers of the prompt.
    fn edited(&mut self, text: &str) -> Result<Flow, Failure> {
        let outer = self.line;
        let mut flow = Ok(Flow::Next);
        for line in text.lines() {
            self.line = self.prompt_line();
            self.say(&format!("{}> {line}", self.line))?;
            flow = self.take(line);
            if !matches!(flow, Ok(Flow::Next)) {
                break;
            }
        }
        self.line = outer;
        flow
    }

    fn refuse(&mut self, is_fatal: bool) -> Result<Flow, Failure> {
        self.output.complain(DISABLED)?;
        if is_fatal {
            self.outcome.has_failed = true;
            return Ok(Flow::End);
        }
        Ok(Flow::Next)
    }

    /// `:exit(query)`: what was collected and the query are one batch.
    fn exit(&mut self, query: &str) -> Result<Flow, Failure> {
        let has_query = !query.is_empty();
        if has_query {
            self.batch.push(query);
        }
        let batch = match self.substituted(self.batch.text()) {
            Ok(batch) => batch.into_owned(),
            Err(reason) => return self.complain(&reason).map(|_| Flow::End),
        };
        self.batch.clear();
        if batch.trim().is_empty() {
            return Ok(Flow::End);
        }
        self.interrupts.begin();
        let ran = self.run_once(&batch);
        self.interrupts.end();
        let end = ran?;
        if let Some(number) = end.last_word {
            self.outcome.code = Some(low_byte(number));
        }
        if has_query && self.outcome.code.is_none() {
            self.outcome.code = Some(exit_code(&end));
        }
        Ok(Flow::End)
    }

    /// Runs what was collected, so often.
    fn go(&mut self, count: &str) -> Result<Flow, Failure> {
        let count = match self.substituted(count).map(|count| count.trim().to_owned()) {
            Ok(count) => count,
            Err(reason) => return self.complain(&reason),
        };
        let times = match count.as_str() {
            "" => 1,
            count => match count.parse::<u32>() {
                Ok(times) if times > 0 => times,
                _ => {
                    let name = self.choices.terminator.clone();
                    return self.wrong(&name);
                }
            },
        };
        if self.batch.is_blank() {
            self.batch.clear();
            return Ok(Flow::Next);
        }
        if self.channel.is_none() {
            return self.complain("Not connected; :connect connects. The batch is kept.");
        }
        let text = self.batch.text().to_owned();
        let batch = match self.substituted(&text) {
            Ok(batch) => batch.into_owned(),
            Err(reason) => {
                self.batch.clear();
                return self.complain(&reason);
            }
        };
        if self.choices.has_echo {
            self.say(text.trim_end_matches('\n'))?;
        }
        let flow = self.run_times(&batch, times);
        // What the broken connection did not run can be run once there is another one.
        if self.channel.is_some() {
            self.last_batch = text;
            self.batch.clear();
        }
        flow
    }

    fn run_times(&mut self, batch: &str, times: u32) -> Result<Flow, Failure> {
        self.interrupts.begin();
        let mut flow = Ok(Flow::Next);
        for _ in 0..times {
            flow = match self.run_once(batch) {
                Ok(end) => Ok(self.weigh(&end)),
                Err(failure) => self.lighten(failure),
            };
            if !matches!(flow, Ok(Flow::Next)) {
                break;
            }
            if self.interrupts.is_interrupted() {
                flow = self.lighten(ClientError::Interrupted.into());
                break;
            }
        }
        self.interrupts.end();
        flow
    }

    /// What a failure of a batch means at the prompt.
    fn lighten(&mut self, failure: Failure) -> Result<Flow, Failure> {
        match failure {
            Failure::Interrupted(_) if self.is_interactive => {
                self.say("The batch was stopped.")?;
                Ok(Flow::Stop)
            }
            Failure::Lost(reason) if self.is_interactive => {
                self.end_channel();
                self.complain(&format!(
                    "{reason}. The batch is kept: :connect connects again, then GO runs it, :reset forgets it."
                ))
            }
            other => Err(other),
        }
    }

    /// What the errors of a batch mean for what follows.
    fn weigh(&mut self, end: &BatchEnd) -> Flow {
        if let Some(number) = end.last_word {
            self.outcome.code = Some(low_byte(number));
            return Flow::End;
        }
        let counts = match self.choices.severity_min {
            Some(severity_min) => end.severity_max >= severity_min,
            None => end.has_error,
        };
        if !counts || self.choices.ignores_errors {
            return Flow::Next;
        }
        // The user has seen it, and may have fixed it since.
        let is_last = self.choices.stop_at_error;
        if is_last || !self.is_interactive {
            self.outcome.has_failed = true;
            self.outcome.code = self.choices.severity_min.map(|_| end.severity_max);
        }
        match is_last {
            true => Flow::End,
            false => Flow::Next,
        }
    }

    /// Runs a batch once, shows what comes back, and what it took.
    fn run_once(&mut self, batch: &str) -> Result<BatchEnd, Failure> {
        let width = self.output.rows_to().terminal_width();
        let mut style = Style::new(&self.variables, width);
        style.trim = self.choices.trim;
        style.controls = self.choices.controls;
        let is_document = style.is_document();
        self.output
            .set_style(style, self.variables.number(variables::ERROR_LEVEL));
        let limit = self.variables.number(variables::QUERY_TIMEOUT).unsigned_abs();
        let timeout = self.interrupts.timeout((limit > 0).then(|| Duration::from_secs(limit)));
        let begin = Instant::now();
        let ran = self.run(batch);
        let took = begin.elapsed();
        let has_timed_out = timeout.is_some_and(|timeout| timeout.has_passed());
        self.show_plans()?;
        let mut end = self.output.end_of_batch()?;
        match ran {
            Err(ClientError::Interrupted) if has_timed_out => {
                self.output.complain("Timeout expired")?;
                end.has_error = true;
                end.severity_max = end.severity_max.max(16);
            }
            Err(ClientError::Lost(reason)) => return Err(Failure::Lost(ClientError::Lost(reason).to_string())),
            other => other?,
        }
        self.show_times(took, is_document)?;
        Ok(end)
    }

    fn run(&mut self, batch: &str) -> Result<(), ClientError> {
        let Some(channel) = &mut self.channel else {
            return Err(ClientError::Lost("there is none".to_owned()));
        };
        let (output, plans) = (&mut self.output, &mut self.plans);
        channel.run(batch, &mut |event| {
            let is_taken = plans.as_mut().is_some_and(|(_, plans)| plans.take(&event));
            if !is_taken {
                output.event(&event);
            }
        })
    }

    fn show_times(&mut self, took: Duration, is_document: bool) -> Result<(), Failure> {
        let milliseconds = took.as_secs_f64() * 1e3;
        if let Some(in_one_line) = self.choices.statistics {
            let packet = self.variables.own(variables::PACKET_SIZE);
            let per_second = 1e3 / milliseconds.max(1e-3);
            let text = match in_one_line {
                true => format!("{packet}:1:{milliseconds:.0}:{milliseconds:.2}:{per_second:.2}"),
                false => format!(
                    "\nNetwork packet size (bytes): {packet}\n1 xact[s]:\n\
                     Clock Time (ms.): total {milliseconds:9.0}  avg   {milliseconds:.1} ({per_second:.1} xacts per sec.)"
                ),
            };
            self.say(&text)?;
        }
        if self.has_timing && !is_document {
            self.say(&format!("Elapsed: {}", elapsed(took)))?;
        }
        Ok(())
    }

    /// Shows the plans of the batch. A document that is none of a plan is shown as it came.
    fn show_plans(&mut self) -> Result<(), Failure> {
        let Some((form, plans)) = &mut self.plans else {
            return Ok(());
        };
        let width = terminal_size::terminal_size().map_or(usize::MAX, |(width, _)| usize::from(width.0));
        let mut text = String::new();
        for document in plans.documents() {
            let drawn = match form {
                PlanForm::Tree => plan::draw(&document, width),
                PlanForm::Xml => None,
            };
            let between = if *form == PlanForm::Tree { "\n" } else { "" };
            let shown = drawn.as_deref().unwrap_or(&document).trim_end_matches('\n');
            text.push_str(&format!("{shown}\n{between}"));
        }
        match text.strip_suffix('\n') {
            Some(text) => self.say(text),
            None => Ok(()),
        }
    }
}

/// The exit code of `:exit(query)`: its value's low byte, as the system passes on no more.
fn exit_code(end: &BatchEnd) -> u8 {
    /// What sqlcmd returns for a result that is not a number.
    const FAILED: i32 = -100;
    const NO_ROW: i32 = -101;
    const NO_NUMBER: i32 = -102;
    let value = match &end.value {
        _ if end.has_error => FAILED,
        None => NO_ROW,
        Some(value) => value
            .as_deref()
            .and_then(|text| text.trim().parse().ok())
            .unwrap_or(NO_NUMBER),
    };
    value.to_le_bytes()[0]
}

/// The low byte of a message's number; never that of success.
fn low_byte(number: i32) -> u8 {
    match number.to_le_bytes()[0] {
        0 => 1,
        byte => byte,
    }
}

/// A duration as people read it.
fn elapsed(took: Duration) -> String {
    let seconds = took.as_secs_f64();
    match seconds {
        seconds if seconds < 1.0 => format!("{:.1} ms", seconds * 1e3),
        seconds if seconds < 60.0 => format!("{seconds:.2} s"),
        seconds => format!("{} min {:.0} s", took.as_secs() / 60, seconds % 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_exit() {
        let end = |value: Option<Option<&str>>| BatchEnd {
            value: value.map(|value| value.map(str::to_owned)),
            ..BatchEnd::default()
        };
        for (value, code) in [
            (Some(Some("7")), 7),
            (Some(Some("-1")), 255),
            (Some(Some("256")), 0),
            (None, 155),
            (Some(Some("seven")), 154),
            (Some(None), 154),
        ] {
            assert_eq!(exit_code(&end(value)), code, "{value:?}");
        }
        let failed = BatchEnd {
            has_error: true,
            ..end(Some(Some("7")))
        };
        assert_eq!(exit_code(&failed), 156);
        assert_eq!((low_byte(50_001), low_byte(256)), (81, 1));
    }

    #[test]
    fn durations_as_people_read_them() {
        for (milliseconds, text) in [(12, "12.0 ms"), (1_500, "1.50 s"), (61_000, "1 min 1 s")] {
            assert_eq!(elapsed(Duration::from_millis(milliseconds)), text);
        }
    }
}
