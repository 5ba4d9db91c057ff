//! Small changes of the product that its tests must notice: see [`HELP`].
//!
//! ```text
//!   campaign, report     traced, judged, confirmed, counted
//!      |
//!   suite                test processes: limits of time and memory, failures
//!      |
//!   workshop             a copy with all drawn changes, built once
//!      |
//!   rewrite              the text of a source with its changes behind questions
//!      |
//!   sites                where a source can be changed, and to what
//! ```

mod campaign;
mod report;
mod rewrite;
mod sites;
mod suite;
mod workshop;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use suite::Test;

const HELP: &str = "\
Draws small changes of crates/tsql/src/{bind,modify,exec} and tells which of them the tests notice. To be run in the workspace's root.

  vlflab-mutants prepare      copies the workspace, draws, writes all changes into the copy, each behind a question
  vlflab-mutants trace        builds the copy's tests; runs each alone to see which changes it comes by
  vlflab-mutants run          judges all changes that are not judged yet by the tests that come by them, quickest first
  vlflab-mutants survivors    judges those that were not caught by the tests of --tests alone
  vlflab-mutants differential judges those that were not caught by random statements beside SQLite
  vlflab-mutants confirm      runs the tests that caught something again, unchanged
  vlflab-mutants report       counts, and all changes that were not caught
  vlflab-mutants take-tests   takes the workspace's tests as they are now into the copy (then: trace, survivors)

  --count N          how many to draw (default 500)
  --seed N           of the draw (default 1)
  --mutants N,N,...  judges these again
  --tests NAME,...   programs of tests: trace runs theirs again, whatever their age
  --statements N     of the differential test (default 600)
  --folder DIR       copy, build, results (default target/mutants)";

struct Options {
    count: usize,
    seed: u64,
    mutants: Vec<u32>,
    tests: Vec<String>,
    statements: u64,
    folder: PathBuf,
}

fn parse(arguments: &[String]) -> Result<Options, String> {
    let mut options = Options {
        count: 500,
        seed: 1,
        mutants: Vec::new(),
        tests: Vec::new(),
        statements: 600,
        folder: "target/mutants".into(),
    };
    let mut rest = arguments.iter();
    while let Some(name) = rest.next() {
        let value = rest.next().ok_or_else(|| format!("{name} needs a value"))?;
        let wrong = |_| format!("{name} {value}: not a number");
        match name.as_str() {
            "--count" => options.count = value.parse().map_err(wrong)?,
            "--seed" => options.seed = value.parse().map_err(wrong)?,
            "--mutants" => {
                let numbers = value.split(',').map(|number| number.parse().map_err(wrong));
                options.mutants = numbers.collect::<Result<_, _>>()?;
            }
            "--tests" => options.tests = value.split(',').map(str::to_string).collect(),
            "--statements" => options.statements = value.parse().map_err(wrong)?,
            "--folder" => options.folder = value.into(),
            _ => return Err(format!("there is no option {name}; see vlflab-mutants --help")),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let command = arguments.first().map_or("--help", String::as_str);
    let options = parse(arguments.get(1..).unwrap_or_default());
    let done = options.map_err(Into::into).and_then(|options| act(command, &options));
    done.map_or_else(
        |error| {
            eprintln!("vlflab-mutants: {error}");
            ExitCode::from(2)
        },
        |()| ExitCode::SUCCESS,
    )
}

fn act(command: &str, options: &Options) -> Result<(), Box<dyn Error>> {
    let folder = &options.folder;
    match command {
        "prepare" => {
            std::fs::create_dir_all(folder)?;
            let plan = workshop::prepare(folder, options.count, options.seed)?;
            println!(
                "{} of {} changes drawn, {} refused",
                plan.mutants.len(),
                plan.sites,
                plan.refused
            );
        }
        "trace" => campaign::trace(folder, &workshop::build(folder)?, &options.tests)?,
        "run" => campaign::run(folder, &options.mutants)?,
        "survivors" => campaign::judge_survivors_by(folder, &options.tests)?,
        "differential" => differential(options)?,
        "confirm" => campaign::confirm(folder)?,
        "report" => print!("{}", report::report(folder)?),
        "take-tests" => workshop::take_tests(folder)?,
        "--help" | "-h" | "help" => println!("{HELP}"),
        other => return Err(format!("there is no command {other}; see vlflab-mutants --help").into()),
    }
    Ok(())
}

/// The survivors, judged by the differential test alone.
fn differential(options: &Options) -> Result<(), Box<dyn Error>> {
    let folder = &options.folder;
    let (server, program) = workshop::build_differential(folder)?;
    let evidence = std::fs::canonicalize(folder)?.join("scratch/differential");
    let statements = options.statements.to_string();
    let told = ["run", "--judges", "sqlite", "--statements", &statements];
    let mut arguments: Vec<String> = told.map(str::to_string).into();
    for (name, path) in [("--server", &server), ("--folder", &evidence)] {
        arguments.extend([name.to_string(), path.display().to_string()]);
    }
    let test = Test {
        binary: "differential".to_string(),
        name: "run".to_string(),
        program,
        arguments: Some(arguments),
        ms: 0,
        reached: Vec::new(),
        passes: false,
    };
    campaign::judge_survivors_alone(folder, test)
}
