//! `vlflab`: the database engine's server, its SQL prompt, the lab and the DBA's tools, in one program.
//!
//! This file parses the command line, hands over to the subcommand and turns its outcome into the exit code.

mod arguments;
mod compare;
mod exit;
mod folder;
mod generate;
mod inspect;
mod instance;
mod memory;
mod plan;
mod progress;
mod run;
mod sample;
mod serve;
mod sql;
mod stopping;
mod target;

use arguments::{Arguments, Command};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match arguments.command {
        Command::Serve(options) => serve::serve(&options),
        Command::Sql(options) => sql::sql(&options),
        Command::Run(options) => run::run(&options),
        Command::Compare(options) => compare::compare(&options),
        Command::Sample(options) => sample::sample(&options),
        Command::Plan(options) => plan::plan(&options),
        Command::Inspect(options) => inspect::inspect(&options),
        Command::Completions(options) => generate::completions(&options),
        Command::Man(options) => generate::man(&options),
    };
    exit::code(outcome)
}
