//! Runs workers one after the other, watches them, and keeps counts, seeds and findings.

use crate::shrink;
use crate::target::{self, Description};
use crate::worker::Progress;
use outside::tally::{Counted, Finding, Tally, build_of};
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// An input that is not done with after so long is a finding, and its worker is ended.
pub const STUCK_AFTER: Duration = Duration::from_secs(60);
/// How often the place of a worker is looked at.
const LOOKS_EVERY: Duration = Duration::from_secs(1);
/// Histories that one worker runs.
const HISTORIES_OF_A_WORKER: u64 = 10;

/// What is counted of a target.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub inputs: u64,
    pub taken: u64,
    /// Inputs that took a second of processor time and more.
    pub slow: u64,
    /// The most memory that one took at once.
    #[serde(default)]
    pub bytes_max: u64,
}

impl Counted for Counts {
    fn add(&mut self, other: &Self) {
        self.inputs += other.inputs;
        self.taken += other.taken;
        self.slow += other.slow;
        self.bytes_max = self.bytes_max.max(other.bytes_max);
    }

    fn words(&self) -> String {
        let kilobytes = self.bytes_max >> 10;
        format!(
            "{} inputs, {} taken, {} slow, {kilobytes} KB at most",
            self.inputs, self.taken, self.slow
        )
    }
}

/// What a run is to do.
#[derive(Debug, Clone)]
pub struct Options {
    pub program: PathBuf,
    /// Inputs of the run in all.
    pub inputs: u64,
    /// Names of targets; none means all, in their shares.
    pub targets: Vec<String>,
    /// The first seed of a target that was never run.
    pub seed: u64,
    /// Inputs of a history, in place of the target's own.
    pub history: Option<u64>,
    /// Whether to go on after a finding.
    pub goes_on: bool,
    /// For the tally and the findings.
    pub folder: PathBuf,
}

/// A line of a worker.
enum Told {
    Finding(u64, u64, String),
    Slow(u64, u64, u64),
    History(u64, Counts),
}

impl Told {
    fn read(line: &str) -> Option<Told> {
        let mut words = line.splitn(4, ' ');
        let kind = words.next()?;
        let (seed, number) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let rest = words.next()?;
        match kind {
            "finding" => Some(Told::Finding(seed, number, rest.to_owned())),
            "slow" => Some(Told::Slow(seed, number, rest.parse().ok()?)),
            "history" => {
                let (taken, bytes) = rest.split_once(' ')?;
                let counts = Counts {
                    inputs: number,
                    taken: taken.parse().ok()?,
                    slow: 0,
                    bytes_max: bytes.parse().ok()?,
                };
                Some(Told::History(seed, counts))
            }
            _ => None,
        }
    }
}

/// A running worker and what it says.
struct Worker {
    child: Child,
    lines: Receiver<String>,
    progress: PathBuf,
}

impl Worker {
    fn start(
        options: &Options,
        target: &Description,
        seed: u64,
        histories: u64,
        inputs: u64,
    ) -> Result<Worker, Box<dyn Error>> {
        let progress = options.folder.join(format!("progress-{}", std::process::id()));
        let mut child = Command::new(&options.program)
            .args(["work", target.name])
            .args([seed, histories, inputs].map(|number| number.to_string()))
            .arg(&progress)
            .stdout(Stdio::piped())
            .stdin(Stdio::null())
            .spawn()?;
        let out = child.stdout.take().ok_or("the worker has no output")?;
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let mut told = BufReader::new(out).lines().map_while(Result::ok);
            told.try_for_each(|line| sender.send(line))
        });
        Ok(Worker { child, lines, progress })
    }
}

/// A run under way.
struct Run<'a> {
    options: &'a Options,
    build: String,
    tally: Tally<Counts>,
    findings: u64,
}

/// The kind of run that a target's counts stand under.
fn kind(target: &Description) -> String {
    format!("{} inputs", target.name)
}

/// Runs as the options say; true when nothing was found.
///
/// # Errors
/// A worker cannot be started, or the tally not be written.
pub fn run(options: &Options) -> Result<bool, Box<dyn Error>> {
    std::fs::create_dir_all(&options.folder)?;
    let mut run = Run {
        options,
        build: build_of(&options.program)?,
        tally: Tally::open(&options.folder.join("tally.json"))?,
        findings: 0,
    };
    for target in target::TARGETS {
        let is_wanted = options.targets.is_empty() || options.targets.iter().any(|name| name == target.name);
        let inputs = if options.targets.is_empty() {
            (options.inputs * target.share).div_ceil(1_000)
        } else {
            options.inputs / options.targets.len() as u64
        };
        if is_wanted && !run.target(target, inputs)? {
            break;
        }
    }
    print!("{}", run.tally.summary());
    Ok(run.findings == 0)
}

impl Run<'_> {
    /// False when the run is to end.
    fn target(&mut self, target: &'static Description, inputs: u64) -> Result<bool, Box<dyn Error>> {
        let history = self.options.history.unwrap_or(target.history).min(inputs.max(1));
        let mut left = inputs;
        while left > 0 {
            let seed = self.tally.row(&kind(target), &self.build, self.options.seed).seed_next;
            let histories = left.div_ceil(history).min(HISTORIES_OF_A_WORKER);
            let worker = Worker::start(self.options, target, seed, histories, history)?;
            let before = self.findings;
            let given = self.listen(target, worker, seed)?;
            left = left.saturating_sub(given.max(1));
            if self.findings > before && !self.options.goes_on {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes what a worker tells until it ends; how many inputs it gave.
    fn listen(&mut self, target: &'static Description, mut worker: Worker, first: u64) -> Result<u64, Box<dyn Error>> {
        let (mut given, mut slow) = (0, 0);
        let mut found: Option<Finding> = None;
        let (mut place, mut since, mut is_stuck) = (None, Instant::now(), false);
        loop {
            let line = match worker.lines.recv_timeout(LOOKS_EVERY) {
                Ok(line) => line,
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    let now = Progress::read(&worker.progress);
                    if now != place {
                        (place, since) = (now, Instant::now());
                    } else if since.elapsed() > STUCK_AFTER {
                        is_stuck = true;
                        worker.child.kill()?;
                    }
                    continue;
                }
            };
            match Told::read(&line) {
                Some(Told::Finding(seed, number, what)) => found = Some(self.report(target, seed, number, what)?),
                Some(Told::Slow(seed, number, ms)) => {
                    slow += 1;
                    println!("slow: {} of seed {seed}, input {number}: {ms} ms", target.name);
                }
                Some(Told::History(seed, mut counts)) => {
                    counts.slow = std::mem::take(&mut slow);
                    given += counts.inputs;
                    self.tally.row(&kind(target), &self.build, self.options.seed).seed_next = seed + 1;
                    self.tally.add(&kind(target), &self.build, &counts, found.take())?;
                }
                None => println!("{}: {line}", target.name),
            }
        }
        let status = worker.child.wait()?;
        if !status.success() {
            let (seed, number) = Progress::read(&worker.progress).unwrap_or((first, 0));
            let what = if is_stuck {
                format!("no end within {} s", STUCK_AFTER.as_secs())
            } else {
                format!("the process ended: {status}")
            };
            let finding = self.report(target, seed, number, what)?;
            let counts = Counts {
                inputs: number + 1,
                ..Counts::default()
            };
            given += counts.inputs;
            self.tally.row(&kind(target), &self.build, self.options.seed).seed_next = seed + 1;
            self.tally.add(&kind(target), &self.build, &counts, Some(finding))?;
        }
        Ok(given)
    }

    /// Makes the input smaller, prints it and keeps it.
    fn report(
        &mut self,
        target: &'static Description,
        seed: u64,
        number: u64,
        what: String,
    ) -> Result<Finding, Box<dyn Error>> {
        self.findings += 1;
        let folder = self.options.folder.join("findings");
        std::fs::create_dir_all(&folder)?;
        let stem = format!("{}-{}-{seed}-{number}", target.name, self.build);
        let smallest = shrink::smallest(&self.options.program, target, seed, number, &folder.join(&stem))?;
        let repeat = format!("vlflab-fuzz repeat {} {seed} {number}", target.name);
        let text = format!(
            "{} of seed {seed}, input {number}: {what}\nrepeat: {repeat}\n{smallest}\n",
            target.name
        );
        std::fs::write(folder.join(stem + ".txt"), &text)?;
        println!("FOUND, {text}");
        Ok(Finding { seed, what })
    }
}

/// What all runs add up to.
///
/// # Errors
/// The tally cannot be read.
pub fn summary(folder: &Path) -> Result<String, Box<dyn Error>> {
    Ok(Tally::<Counts>::open(&folder.join("tally.json"))?.summary())
}
