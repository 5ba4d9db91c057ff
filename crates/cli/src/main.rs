//! `vlflab`: the database engine's server, its SQL prompt, and the lab, in one program.
//!
//! This file parses the command line, hands over to the subcommand and turns its outcome into the exit code.

mod arguments;
mod exit;
mod instance;
mod progress;
mod run;
mod serve;
mod sql;

use arguments::{Arguments, Command};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match arguments.command {
        Command::Serve(options) => serve::serve(&options),
        Command::Sql(options) => sql::sql(&options),
        Command::Run(options) => run::run(&options),
    };
    exit::code(outcome)
}
