//! `vlflab replay`: plays a recording in the terminal.

use crate::exit::Failure;
use advisor::live::recording::{RECORDING_BYTES_MAX, Recording};
use advisor::live::terminal;
use clap::Args;
use std::fs::File;
use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// Shown under `vlflab replay --help`.
pub const REPLAY_EXAMPLES: &str = "Examples:
  vlflab replay vlflab-recording.html
  vlflab replay vlflab-recording.html --database sales --speed 16

A browser plays the same file with the ring, a slider and arrow keys.";

/// A pause of the session is shortened to this.
const PAUSE_MAX: Duration = Duration::from_millis(1_500);

/// Options of `vlflab replay`.
#[derive(Debug, Args)]
pub struct ReplayOptions {
    /// The recording: a file that the live page, vlflab watch --record or vlflab lesson has written.
    pub file: PathBuf,
    /// Only this database.
    #[arg(long, value_name = "NAME")]
    pub database: Option<String>,
    /// How many times as fast as it was; pauses are cut short. 0 prints everything at once [default: 1 on a terminal, else 0].
    #[arg(long, value_name = "FACTOR", value_parser = clap::value_parser!(u16))]
    pub speed: Option<u16>,
}

/// Runs `vlflab replay`.
pub fn replay(options: &ReplayOptions) -> Result<(), Failure> {
    let recording = read(&options.file)?;
    let is_terminal = std::io::stdout().is_terminal();
    let speed = options.speed.unwrap_or(u16::from(is_terminal));
    show(&recording, options.database.as_deref(), speed)
}

/// Prints a recording.
pub fn show(recording: &Recording, database: Option<&str>, speed: u16) -> Result<(), Failure> {
    let mut out = std::io::stdout();
    let mut stand = recording.first.clone();
    let greeting = &stand.greeting;
    writeln!(out, "{} ({})", greeting.title, greeting.server)?;
    for frame in &recording.frames {
        if speed > 0 {
            let pause = Duration::from_micros(frame.at.saturating_sub(stand.at) / u64::from(speed));
            thread::sleep(pause.min(PAUSE_MAX));
        }
        stand.take(frame);
        if let Some(lines) = terminal::lines(&stand, frame, database) {
            out.write_all(lines.as_bytes())?;
            out.flush()?;
        }
    }
    if let Some(question) = &recording.question {
        writeln!(out, "\n{}\n  {}", question.text, question.answer)?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<Recording, Failure> {
    let wrong = |reason: String| Failure::Usage(format!("{}: {reason}", path.display()));
    let file = File::open(path).map_err(|error| wrong(error.to_string()))?;
    let mut text = String::new();
    // One that a browser has saved holds the session as it was, however long.
    let limit = 64 * RECORDING_BYTES_MAX as u64;
    file.take(limit)
        .read_to_string(&mut text)
        .map_err(|error| wrong(error.to_string()))?;
    Recording::from_html(&text).map_err(wrong)
}
