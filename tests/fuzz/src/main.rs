//! Random inputs for everything that reads what a client sends: see [`HELP`].

use fuzzing::runner::{self, Options};
use fuzzing::shrink::FOUND;
use fuzzing::target::{self, Description};
use fuzzing::worker;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

const HELP: &str = "\
Random inputs for lexer, parser, binder, execution, functions, the protocol and TLS.

  vlflab-fuzz run [OPTIONS]                 goes on with the seeds after the last ones
  vlflab-fuzz repeat TARGET SEED NUMBER     the history up to this input, which is printed
  vlflab-fuzz try TARGET FILE               one input alone
  vlflab-fuzz summary                       what the runs so far add up to
  vlflab-fuzz targets                       what there is

  --inputs N         how many in this run (default 100000), in the shares of the targets
  --targets NAMES    only these, with commas between, each the same number
  --seed N           first seed of a target that was never run with this build (default 1)
  --history N        inputs of a history, in place of the target's own
  --goes-on          goes on after a finding
  --folder DIR       tally and findings (default target/fuzz)";

fn options(arguments: &[String]) -> Result<Options, Box<dyn Error>> {
    let mut options = Options {
        program: std::env::current_exe()?,
        inputs: 100_000,
        targets: Vec::new(),
        seed: 1,
        history: None,
        goes_on: false,
        folder: "target/fuzz".into(),
    };
    let mut rest = arguments.iter();
    while let Some(name) = rest.next() {
        if name == "--goes-on" {
            options.goes_on = true;
            continue;
        }
        let value = rest.next().ok_or_else(|| format!("{name} needs a value"))?;
        let number = || value.parse().map_err(|_| format!("{name} {value}: not a number"));
        match name.as_str() {
            "--inputs" => options.inputs = number()?,
            "--seed" => options.seed = number()?,
            "--history" => options.history = Some(number()?),
            "--folder" => options.folder = value.into(),
            "--targets" => options.targets = value.split(',').map(str::to_owned).collect(),
            _ => return Err(format!("there is no option {name}; see vlflab-fuzz --help").into()),
        }
    }
    for name in &options.targets {
        described(name)?;
    }
    Ok(options)
}

fn described(name: &str) -> Result<&'static Description, String> {
    target::find(name).ok_or_else(|| format!("there is no target {name}; see vlflab-fuzz targets"))
}

fn number(text: Option<&String>, what: &str) -> Result<u64, String> {
    let text = text.ok_or_else(|| format!("{what} is missing"))?;
    text.parse().map_err(|_| format!("{what} {text}: not a number"))
}

fn argument<'a>(arguments: &'a [String], place: usize, what: &str) -> Result<&'a str, String> {
    arguments
        .get(place)
        .map(String::as_str)
        .ok_or_else(|| format!("{what} is missing"))
}

fn found(is_found: bool) -> ExitCode {
    if is_found {
        ExitCode::from(FOUND)
    } else {
        ExitCode::SUCCESS
    }
}

/// The inputs of a history up to one.
fn repeat(arguments: &[String]) -> Result<ExitCode, Box<dyn Error>> {
    let described = described(argument(arguments, 1, "TARGET")?)?;
    let (seed, last) = (number(arguments.get(2), "SEED")?, number(arguments.get(3), "NUMBER")?);
    worker::note_panics();
    let is_found = worker::on_a_sessions_stack(move || {
        let mut target = (described.build)();
        let mut is_found = false;
        for number in 0..=last {
            let input = worker::input(target.as_ref(), described.name, seed, number);
            let judged = worker::judge(target.as_mut(), &input);
            if number == last || judged.finding.is_some() {
                println!("{}\n{judged:?}", String::from_utf8_lossy(&input));
                is_found |= judged.finding.is_some();
            }
        }
        is_found
    })?;
    Ok(found(is_found))
}

fn attempt(arguments: &[String]) -> Result<ExitCode, Box<dyn Error>> {
    let described = described(argument(arguments, 1, "TARGET")?)?;
    let input = std::fs::read(argument(arguments, 2, "FILE")?)?;
    worker::note_panics();
    let is_found = worker::on_a_sessions_stack(move || {
        let judged = worker::judge((described.build)().as_mut(), &input);
        println!("{judged:?}");
        judged.finding.is_some()
    })?;
    Ok(found(is_found))
}

fn work(arguments: &[String]) -> Result<ExitCode, Box<dyn Error>> {
    let described = described(argument(arguments, 1, "TARGET")?)?;
    let first = number(arguments.get(2), "SEED")?;
    let histories = number(arguments.get(3), "HISTORIES")?;
    let inputs = number(arguments.get(4), "INPUTS")?;
    worker::work(
        described,
        first,
        histories,
        inputs,
        Path::new(argument(arguments, 5, "FILE")?),
    )?;
    Ok(ExitCode::SUCCESS)
}

fn command(arguments: &[String]) -> Result<ExitCode, Box<dyn Error>> {
    match arguments.first().map_or("--help", String::as_str) {
        "run" => Ok(found(!runner::run(&options(&arguments[1..])?)?)),
        "summary" => {
            print!("{}", runner::summary(&options(&arguments[1..])?.folder)?);
            Ok(ExitCode::SUCCESS)
        }
        "targets" => {
            for target in target::TARGETS {
                println!(
                    "{:18} {:4} of 1000 inputs, {} in a history",
                    target.name, target.share, target.history
                );
            }
            Ok(ExitCode::SUCCESS)
        }
        "repeat" => repeat(arguments),
        "try" => attempt(arguments),
        // What `run` starts.
        "work" => work(arguments),
        "--help" | "-h" | "help" => {
            println!("{HELP}");
            Ok(ExitCode::SUCCESS)
        }
        other => Err(format!("there is no command {other}; see vlflab-fuzz --help").into()),
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    command(&arguments).unwrap_or_else(|error| {
        eprintln!("vlflab-fuzz: {error}");
        ExitCode::from(2)
    })
}
