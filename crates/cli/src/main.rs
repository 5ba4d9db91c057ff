//! `vlflab`: the database engine's server, its SQL prompt, the lab and the DBA's tools, in one program.
//!
//! This file parses the command line, calls the subcommand and turns its outcome into the exit code.

mod advise;
mod allocator;
mod apply;
mod arguments;
mod called;
mod compare;
mod disks;
mod exit;
mod export;
mod folder;
mod generate;
mod health;
mod http;
mod inspect;
mod instance;
mod lesson;
mod login;
mod mcp;
mod memory;
mod place;
mod plan;
mod probe;
mod progress;
mod reach;
mod replay;
mod report;
mod run;
mod sample;
mod serve;
mod snapshot;
mod sql;
mod stopping;
mod sweep;
mod target;
mod watch;
mod web;
mod wrap;

use arguments::{Arguments, Command};
use clap::Parser;
use exit::Failure;
use std::path::Path;
use std::process::ExitCode;
use std::thread::Builder;
use tsql::stack;

fn main() -> ExitCode {
    let environment =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let has_instance = |folder: &Path| folder.join("data/master.mdf").exists();
    let called = match called::called(std::env::args_os(), &environment.collect::<Vec<_>>(), &has_instance) {
        Ok(called) => called,
        Err(why) => return exit::code(Err(Failure::Failed(why))),
    };
    for note in &called.notes {
        eprintln!("{note}");
    }
    let arguments = match Arguments::try_parse_from(&called.arguments) {
        Ok(arguments) => arguments,
        Err(error) if called.fails_with_one && error.use_stderr() => {
            // What cannot be printed is not the reason.
            let _ = error.print();
            return ExitCode::FAILURE;
        }
        Err(error) => error.exit(),
    };
    if arguments.command.starts_instance() {
        memory::spare_addresses();
    }
    let outcome = match arguments.command {
        Command::Serve(options) => serve::serve(&options),
        Command::Health(options) => health::health(&options),
        Command::Sql(options) => on_statement_stack(move || sql::sql(&options)),
        Command::Run(options) => run::run(&options),
        Command::Sweep(options) => sweep::sweep(&options),
        Command::Export(options) => export::export(&options),
        Command::Disks(options) => disks::run(&options),
        Command::Compare(options) => compare::compare(&options),
        Command::Report(options) => report::report(&options),
        Command::Sample(options) => sample::sample(&options),
        Command::Plan(options) => plan::plan(&options),
        Command::Inspect(options) => inspect::inspect(&options),
        Command::Snapshot(options) => snapshot::snapshot(&options),
        Command::Advise(options) => advise::advise(&options),
        Command::Watch(options) => watch::watch(&options),
        Command::Replay(options) => replay::replay(&options),
        Command::Lesson(options) => on_statement_stack(move || lesson::lesson(&options)),
        Command::Mcp(options) => mcp::mcp(&options),
        Command::Completions(options) => generate::completions(&options),
        Command::Man(options) => generate::man(&options),
    };
    exit::code(match called.fails_with_one {
        true => outcome.map_err(Failure::with_code_one),
        false => outcome,
    })
}

/// Runs `work` on a thread with the stack that statements have in a server, whatever the shell's limit is.
fn on_statement_stack(work: impl FnOnce() -> Result<(), Failure> + Send + 'static) -> Result<(), Failure> {
    let thread = Builder::new().name("sql".to_owned()).stack_size(stack::THREAD_BYTES);
    let running = thread.spawn(move || {
        stack::begin_thread(stack::THREAD_BYTES);
        work()
    });
    match running.map(|running| running.join()) {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(panic)) => std::panic::resume_unwind(panic),
        Err(error) => Err(Failure::Io(error)),
    }
}
