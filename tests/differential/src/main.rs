//! Random statements on vlflab, SQLite and PostgreSQL at once: see [`HELP`].
//!
//! ```text
//!   history                what is asked, in which order; counts; what differs becomes a case
//!    |       \
//!   generate  shrink       a tape of draws -> a statement; the same tape with less in it
//!    |   \      |
//!    |    tape  |
//!   ast -- print           the statement, free of any dialect; its three spellings
//!    |       |
//!   bench -- compare, known   all parties asked at once; what counts as the same, what is intended
//!    |
//!   judges                 vlflab over TDS; SQLite of Python over a pipe; PostgreSQL over its socket
//! ```

mod ast;
mod bench;
mod compare;
mod dialect;
mod generate;
mod history;
mod judges;
mod known;
mod print;
mod schema;
mod shrink;
mod tape;

use bench::Bench;
use history::{Counts, Difference};
use judges::Judge;
use judges::postgres::Postgres;
use judges::sqlite::Sqlite;
use judges::vlflab::Vlflab;
use outside::tally::{Finding, Tally, build_of};
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

const HELP: &str = "\
Random statements on vlflab, SQLite and PostgreSQL, whose answers must be the same.

  vlflab-differential run [OPTIONS]     goes on with the seed after the last one
  vlflab-differential summary           what the runs so far add up to

  --server FILE      the program (default target/release/vlflab)
  --statements N     how many in this run (default 10000)
  --history N        how many in one history (default 200)
  --judges NAMES     sqlite, postgres, or both with a comma between (default: those that are here)
  --seed N           first seed of a kind of run that was never run before (default 1)
  --repeat N         runs the history of that seed alone, and adds it to no count
  --goes-on          goes on after a difference
  --folder DIR       tally, evidence, instance (default target/differential)

SQLite is that of python3; PostgreSQL is started for the run from the machine's own package.";

/// The exit code where there is nobody to compare with.
const UNAVAILABLE: u8 = 77;

struct Options {
    server: PathBuf,
    statements: u64,
    history: u64,
    judges: Option<String>,
    seed: u64,
    repeat: Option<u64>,
    goes_on: bool,
    folder: PathBuf,
}

fn parse(arguments: &[String]) -> Result<Options, String> {
    let mut options = Options {
        server: "target/release/vlflab".into(),
        statements: 10_000,
        history: 200,
        judges: None,
        seed: 1,
        repeat: None,
        goes_on: false,
        folder: "target/differential".into(),
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
            "--server" => options.server = value.into(),
            "--folder" => options.folder = value.into(),
            "--judges" => options.judges = Some(value.clone()),
            "--statements" => options.statements = number()?,
            "--history" => options.history = number()?,
            "--seed" => options.seed = number()?,
            "--repeat" => options.repeat = Some(number()?),
            _ => return Err(format!("there is no option {name}; see vlflab-differential --help")),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let command = arguments.first().map_or("--help", String::as_str);
    let outcome = parse(arguments.get(1..).unwrap_or_default())
        .map_err(Into::into)
        .and_then(|options| match command {
            "run" => run(&options),
            "summary" => {
                print!(
                    "{}",
                    Tally::<Counts>::open(&options.folder.join("tally.json"))?.summary()
                );
                Ok(ExitCode::SUCCESS)
            }
            "--help" | "-h" | "help" => {
                println!("{HELP}");
                Ok(ExitCode::SUCCESS)
            }
            other => Err(format!("there is no command {other}; see vlflab-differential --help").into()),
        });
    outcome.unwrap_or_else(|error: Box<dyn Error>| {
        eprintln!("vlflab-differential: {error}");
        ExitCode::from(2)
    })
}

/// Those to compare with: all wanted ones, or all that are here.
fn judges(wanted: Option<&str>) -> Result<Vec<Box<dyn Judge>>, String> {
    let mut judges: Vec<Box<dyn Judge>> = Vec::new();
    for name in wanted.unwrap_or("sqlite,postgres").split(',') {
        let started: Result<Box<dyn Judge>, String> = match name {
            "sqlite" => Sqlite::start().map(|judge| Box::new(judge) as Box<dyn Judge>),
            "postgres" => Postgres::start().map(|judge| Box::new(judge) as Box<dyn Judge>),
            other => return Err(format!("there is no judge {other}: sqlite, postgres")),
        };
        match started {
            Ok(judge) => judges.push(judge),
            Err(reason) => println!("skipped: {name}: {reason}"),
        }
    }
    Ok(judges)
}

fn run(options: &Options) -> Result<ExitCode, Box<dyn Error>> {
    let judges = judges(options.judges.as_deref())?;
    if judges.is_empty() {
        return Ok(ExitCode::from(UNAVAILABLE));
    }
    std::fs::create_dir_all(&options.folder)?;
    let server = options.server.canonicalize()?;
    let mut run = Run {
        build: build_of(&server)?,
        bench: Bench { parties: judges },
        server,
        starts: 0,
        options,
        former: None,
        differences: 0,
    };
    let own = run.start()?;
    run.bench.parties.insert(0, own);
    let outcome = run.go();
    let instance = run.instance();
    drop(run);
    std::fs::remove_dir_all(instance)?;
    Ok(if outcome? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

struct Run<'a> {
    build: String,
    server: PathBuf,
    /// How often it was started: each time on a new folder.
    starts: u32,
    bench: Bench,
    options: &'a Options,
    /// The tables of the history before.
    former: Option<schema::Schema>,
    differences: u64,
}

impl Run<'_> {
    /// The folder of the running server.
    fn instance(&self) -> PathBuf {
        let name = format!("run-{}-{}", std::process::id(), self.starts);
        self.options.folder.join(name)
    }

    fn start(&mut self) -> Result<Box<dyn Judge>, Box<dyn Error>> {
        self.starts += 1;
        let instance = self.instance();
        std::fs::create_dir_all(&instance)?;
        Ok(Box::new(Vlflab::start(&self.server, &instance)?))
    }

    /// A history that ended because an engine stopped answering: a finding, and a new server.
    fn lost(&mut self, tally: &mut Tally<Counts>, seed: u64, error: String) -> Result<(), Box<dyn Error>> {
        if !error.starts_with("vlflab") {
            return Err(error.into());
        }
        self.differences += 1;
        println!("LOST, seed {seed}: {error}\nevidence: {}", self.instance().display());
        let finding = Finding { seed, what: error };
        tally.add("statements", &self.build, &Counts::default(), Some(finding))?;
        self.bench.parties[0] = self.start()?;
        Ok(())
    }

    /// True when nobody differed.
    fn go(&mut self) -> Result<bool, Box<dyn Error>> {
        if let Some(seed) = self.options.repeat {
            let (_, difference) = history::run(&mut self.bench, &mut self.former, seed, self.options.history)?;
            if let Some(difference) = difference {
                self.report(seed, &difference)?;
            }
            return Ok(self.differences == 0);
        }
        let path = self.options.folder.join("tally.json");
        let mut tally = Tally::<Counts>::open(&path)?;
        let mut asked = 0;
        while asked < self.options.statements {
            let row = tally.row("statements", &self.build, self.options.seed);
            let seed = row.seed_next;
            row.seed_next += 1;
            let outcome = history::run(&mut self.bench, &mut self.former, seed, self.options.history);
            let (counts, difference) = match outcome {
                Ok(outcome) => outcome,
                Err(error) => {
                    self.lost(&mut tally, seed, error)?;
                    if self.options.goes_on {
                        continue;
                    }
                    break;
                }
            };
            asked += counts.statements;
            let finding = difference.as_ref().map(|difference| Finding {
                seed,
                what: difference.what.clone(),
            });
            tally.add("statements", &self.build, &counts, finding)?;
            if let Some(difference) = difference {
                self.report(seed, &difference)?;
                if !self.options.goes_on {
                    break;
                }
            }
        }
        print!("{}", tally.summary());
        Ok(self.differences == 0)
    }

    /// Prints the smallest case and keeps it.
    fn report(&mut self, seed: u64, difference: &Difference) -> Result<(), Box<dyn Error>> {
        self.differences += 1;
        let repeat = format!(
            "vlflab-differential run --server {} --history {} --repeat {seed}",
            self.options.server.display(),
            self.options.history
        );
        let smallest = match shrink::smallest(&mut self.bench, &difference.case) {
            Ok(smallest) => smallest,
            Err(error) if error.starts_with("vlflab") => {
                self.bench.parties[0] = self.start()?;
                Some(format!("It was not made smaller: {error}"))
            }
            Err(error) => return Err(error.into()),
        };
        self.former = Some(difference.case.schema.clone());
        let smallest = smallest.unwrap_or_else(|| "It does not differ alone, on tables just filled.".into());
        let text = format!(
            "seed {seed}, statement {}: {}\nrepeat: {repeat}\n\n{smallest}",
            difference.number, difference.what
        );
        let folder = self.options.folder.join("differences");
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join(format!("{}-{seed}.txt", self.build)), &text)?;
        println!("DIFFERENCE, {text}");
        Ok(())
    }
}
