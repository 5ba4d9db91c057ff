//! The command line of the harness: see [`HELP`].

use outside::evidence;
use outside::hostile;
use outside::machine::Site;
use outside::power_cuts::{Base, Counts, Ends, Failure, Plan, Workload, run_history};
use outside::steps::{Victim, run_subject};
use outside::tally::{Finding, Tally, build_of};
use parking_lot::Mutex;
use std::error::Error;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const HELP: &str = "\
The shipped server on a file system that loses power, against a ledger outside of it.

  vlflab-outside power-cuts [OPTIONS]   the power goes again and again under a workload
  vlflab-outside kills [OPTIONS]        the process is killed again and again under it
  vlflab-outside rivals [OPTIONS]       the power goes while administrators work on the same databases at once
  vlflab-outside steps [OPTIONS]        every statement that touches files, cut off at each of its changes
  vlflab-outside hostile [OPTIONS]      clients that mean harm, beside one that does not
  vlflab-outside control [OPTIONS]      power cuts with syncs that do nothing: must find losses
  vlflab-outside summary                what the runs so far add up to

  --server FILE    the program (default target/release/vlflab)
  --count N        how many cuts, kills or hostile clients in this run (default 100)
  --cycles N       cycles of one history (default 10)
  --points N       the most changes at which one statement is cut off (default 1000: all)
  --jobs N         histories side by side (default 2)
  --seed N         first seed of a kind of run that was never run before (default 1)
  --repeat N       runs the history of that seed alone, and adds it to no count
  --goes-on        goes on after a failure
  --folder DIR     tally, evidence, mounts (default target/outside)

Needs root and /dev/fuse; mounts live in a mount namespace of this run alone.";

/// Set in the process that runs in a mount namespace of its own.
const INSIDE: &str = "VLFLAB_OUTSIDE_NAMESPACE";
/// The exit code where nothing could be run.
const UNAVAILABLE: u8 = 77;

struct Options {
    server: PathBuf,
    count: u64,
    cycles: u64,
    points: u64,
    jobs: usize,
    seed: u64,
    repeat: Option<u64>,
    goes_on: bool,
    folder: PathBuf,
}

fn parse(arguments: &[String]) -> Result<Options, String> {
    let mut options = Options {
        server: "target/release/vlflab".into(),
        count: 100,
        cycles: 10,
        points: 1_000,
        jobs: 2,
        seed: 1,
        repeat: None,
        goes_on: false,
        folder: "target/outside".into(),
    };
    let mut rest = arguments.iter();
    while let Some(name) = rest.next() {
        if name == "--goes-on" {
            options.goes_on = true;
            continue;
        }
        let value = rest.next().ok_or_else(|| format!("{name} needs a value"))?;
        let number = || {
            value
                .parse::<u64>()
                .map_err(|_| format!("{name} {value}: not a number"))
        };
        match name.as_str() {
            "--server" => options.server = value.into(),
            "--folder" => options.folder = value.into(),
            "--count" => options.count = number()?,
            "--cycles" => options.cycles = number()?.max(1),
            "--points" => options.points = number()?,
            "--jobs" => options.jobs = number()?.clamp(1, 16) as usize,
            "--seed" => options.seed = number()?,
            "--repeat" => options.repeat = Some(number()?),
            _ => return Err(format!("there is no option {name}; see vlflab-outside --help")),
        }
    }
    Ok(options)
}

/// Why nothing can be run here, if so.
fn missing() -> Option<&'static str> {
    if !rustix::process::geteuid().is_root() {
        return Some("it needs root, to mount");
    }
    if !Path::new("/dev/fuse").exists() {
        return Some("there is no /dev/fuse");
    }
    None
}

/// Runs this program again in a mount namespace of its own; returns only when that fails.
fn enter_namespace(arguments: &[String]) -> Box<dyn Error> {
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return error.into(),
    };
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "--propagation", "private", "--"])
        .arg(program)
        .args(arguments);
    command.env(INSIDE, "1").exec().into()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let kind = arguments.first().map_or("--help", String::as_str);
    let histories = |ends, workload, syncs_do_nothing, cycles| {
        Work::Histories(Plan {
            ends,
            workload,
            cycles,
            syncs_do_nothing,
        })
    };
    let outcome = parse(arguments.get(1..).unwrap_or_default())
        .map_err(Into::into)
        .and_then(|options| {
            let work = match kind {
                "power-cuts" => histories(Ends::PowerCuts, Workload::Clients, false, options.cycles),
                "rivals" => histories(Ends::PowerCuts, Workload::Rivals, false, options.cycles),
                "kills" => histories(Ends::Kills, Workload::Clients, false, options.cycles),
                "control" => histories(Ends::PowerCuts, Workload::Clients, true, options.cycles),
                "steps" => Work::Steps {
                    points_max: options.points,
                },
                "hostile" => Work::Hostile { cycles: options.cycles },
                "summary" => {
                    print!(
                        "{}",
                        Tally::<Counts>::open(&options.folder.join("tally.json"))?.summary()
                    );
                    return Ok(true);
                }
                "--help" | "-h" | "help" => {
                    println!("{HELP}");
                    return Ok(true);
                }
                other => return Err(format!("there is no command {other}; see vlflab-outside --help").into()),
            };
            if let Some(reason) = missing() {
                println!("skipped: {reason}");
                std::process::exit(i32::from(UNAVAILABLE));
            }
            if std::env::var_os(INSIDE).is_none() {
                return Err(enter_namespace(&arguments));
            }
            Run::new(kind, work, options)?.go()
        });
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("vlflab-outside: {error}");
            ExitCode::from(2)
        }
    }
}

/// What one seed stands for.
enum Work {
    /// A history of cuts or kills.
    Histories(Plan),
    /// One statement, cut off at many points.
    Steps { points_max: u64 },
    /// A history of hostile clients.
    Hostile { cycles: u64 },
}

impl Work {
    /// Whether something has to be found.
    fn is_control(&self) -> bool {
        matches!(
            self,
            Work::Histories(Plan {
                syncs_do_nothing: true,
                ..
            })
        )
    }
}

/// What a thread runs seeds on.
enum Ground {
    Histories(Base, Plan),
    Steps(Victim, u64),
    Hostile(u64),
}

impl Ground {
    fn new(site: &Site, work: &Work) -> Result<Ground, String> {
        Ok(match work {
            Work::Histories(plan) => Ground::Histories(Base::new(site)?, plan.clone()),
            Work::Steps { points_max } => Ground::Steps(Victim::new(site)?, *points_max),
            Work::Hostile { cycles } => Ground::Hostile(*cycles),
        })
    }

    fn run(&self, site: &Site, seed: u64) -> (Counts, Option<Failure>) {
        match self {
            Ground::Histories(base, plan) => run_history(site, base, plan, seed),
            Ground::Steps(victim, points_max) => run_subject(site, victim, seed, *points_max),
            Ground::Hostile(cycles) => hostile::run(site, seed, *cycles),
        }
    }
}

/// One run of the program: histories by several threads, until enough ends were seen.
struct Run<'a> {
    kind: &'a str,
    work: Work,
    options: Options,
    build: String,
    tally: Mutex<Tally<Counts>>,
    ends: AtomicU64,
    found: AtomicU64,
    stop: AtomicBool,
}

impl Run<'_> {
    fn new(kind: &str, work: Work, options: Options) -> Result<Run<'_>, Box<dyn Error>> {
        std::fs::create_dir_all(&options.folder)?;
        let build = build_of(&options.server).map_err(|error| format!("{}: {error}", options.server.display()))?;
        let tally = Mutex::new(Tally::open(&options.folder.join("tally.json"))?);
        Ok(Run {
            kind,
            work,
            options,
            build,
            tally,
            ends: AtomicU64::new(0),
            found: AtomicU64::new(0),
            stop: AtomicBool::new(false),
        })
    }

    /// True when the run ended as it has to: without a finding, or with one when syncs do nothing.
    fn go(&self) -> Result<bool, Box<dyn Error>> {
        let jobs = if self.options.repeat.is_some() {
            1
        } else {
            self.options.jobs
        };
        let failed = Mutex::new(None);
        std::thread::scope(|scope| {
            for job in 0..jobs {
                let failed = &failed;
                scope.spawn(move || {
                    if let Err(error) = self.run_seeds(job) {
                        self.stop.store(true, Ordering::Relaxed);
                        *failed.lock() = Some(error.to_string());
                    }
                });
            }
        });
        if let Some(error) = failed.into_inner() {
            return Err(error.into());
        }
        let found = self.found.load(Ordering::Relaxed);
        println!(
            "{}: {}, {found} failed histories",
            self.kind,
            self.ends.load(Ordering::Relaxed)
        );
        print!("{}", self.tally.lock().summary());
        Ok((found > 0) == self.work.is_control())
    }

    fn run_seeds(&self, job: usize) -> Result<(), Box<dyn Error>> {
        let folder = self.options.folder.join(format!("run-{}-{job}", std::process::id()));
        let site = Site::new(&self.options.server, &folder)?;
        let ground = Ground::new(&site, &self.work)?;
        if let Some(seed) = self.options.repeat {
            let (counts, failure) = ground.run(&site, seed);
            self.report(seed, &counts, failure.as_ref())?;
        } else {
            while !self.stop.load(Ordering::Relaxed) && self.ends.load(Ordering::Relaxed) < self.options.count {
                let seed = self.next_seed();
                let (counts, failure) = ground.run(&site, seed);
                let finding = failure.as_ref().map(|failure| Finding {
                    seed,
                    what: failure.what.clone(),
                });
                self.tally.lock().add(self.kind, &self.build, &counts, finding)?;
                self.report(seed, &counts, failure.as_ref())?;
            }
        }
        std::fs::remove_dir_all(folder)?;
        Ok(())
    }

    fn next_seed(&self) -> u64 {
        let mut tally = self.tally.lock();
        let row = tally.row(self.kind, &self.build, self.options.seed);
        row.seed_next += 1;
        row.seed_next - 1
    }

    fn report(&self, seed: u64, counts: &Counts, failure: Option<&Failure>) -> Result<(), Box<dyn Error>> {
        let ends = self.ends.fetch_add(counts.ends + counts.attacks, Ordering::Relaxed) + counts.ends + counts.attacks;
        println!(
            "{} seed {seed}: {} of them, {} acknowledged, {ends} so far",
            self.kind,
            counts.ends + counts.attacks,
            counts.acknowledged
        );
        let Some(failure) = failure else { return Ok(()) };
        self.found.fetch_add(1, Ordering::Relaxed);
        let folder = self
            .options
            .folder
            .join("failures")
            .join(format!("{}-{}-{seed}", self.kind, self.build));
        let server = self.options.server.display();
        let cycles = self.options.cycles;
        let repeat = format!(
            "vlflab-outside {} --server {server} --cycles {cycles} --repeat {seed}",
            self.kind
        );
        println!(
            "FAILED, cycle {}: {}\n  evidence: {}\n  repeat: {repeat}",
            failure.cycle,
            failure.what,
            folder.display()
        );
        if !self.work.is_control() {
            evidence::keep(failure, &folder, &repeat)?;
        }
        if !self.options.goes_on {
            self.stop.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}
