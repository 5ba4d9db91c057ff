//! The smallest input that still shows the finding.
//!
//! Every try runs in a process of its own: what is looked for may end it.

use crate::target::Description;
use crate::worker;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Tries of one finding at most, in number and in time.
const TRIES_MAX: u32 = 400;
const TRIES_FOR: Duration = Duration::from_secs(60);
/// A try that takes longer has no end.
const TRY_FOR: Duration = Duration::from_secs(20);
/// How often a try is looked at.
const LOOKS_EVERY: Duration = Duration::from_millis(5);
/// The exit code of a try that found something.
pub const FOUND: u8 = 1;

struct Tries<'a> {
    program: &'a Path,
    target: &'a Description,
    file: PathBuf,
    left: u32,
    until: Instant,
}

impl Tries<'_> {
    /// Whether an input alone, on a new target, is a finding.
    fn is_found(&mut self, input: &[u8]) -> Result<bool, Box<dyn Error>> {
        self.left = self.left.saturating_sub(1);
        std::fs::write(&self.file, input)?;
        let mut child = Command::new(self.program)
            .args(["try", self.target.name])
            .arg(&self.file)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .stdin(Stdio::null())
            .spawn()?;
        let since = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if since.elapsed() > TRY_FOR {
                child.kill()?;
                break child.wait()?;
            }
            std::thread::sleep(LOOKS_EVERY);
        };
        Ok(!status.success())
    }

    fn goes_on(&self) -> bool {
        self.left > 0 && Instant::now() < self.until
    }
}

/// Makes the input of a finding smaller and keeps it in `file`; in words.
///
/// # Errors
/// No try can be started, or the file not be written.
pub fn smallest(
    program: &Path,
    target: &'static Description,
    seed: u64,
    number: u64,
    file: &Path,
) -> Result<String, Box<dyn Error>> {
    let made =
        worker::on_a_sessions_stack(move || worker::input((target.build)().as_ref(), target.name, seed, number))?;
    let mut tries = Tries {
        program,
        target,
        file: file.with_extension("try"),
        left: TRIES_MAX,
        until: Instant::now() + TRIES_FOR,
    };
    if !tries.is_found(&made)? {
        std::fs::rename(&tries.file, file)?;
        return Ok(format!(
            "It does nothing alone, only after its history.\n{}",
            shown(&made)
        ));
    }
    let mut input = made;
    let mut width = input.len().div_ceil(2);
    while width > 0 && tries.goes_on() {
        let mut place = 0;
        let mut is_smaller = false;
        while place < input.len() && tries.goes_on() {
            let mut less = input.clone();
            less.drain(place..(place + width).min(input.len()));
            if tries.is_found(&less)? {
                input = less;
                is_smaller = true;
            } else {
                place += width;
            }
        }
        if !is_smaller || width > 1 {
            width /= 2;
        }
    }
    std::fs::write(file, &input)?;
    std::fs::remove_file(&tries.file)?;
    Ok(format!(
        "{} bytes, kept in {}:\n{}",
        input.len(),
        file.display(),
        shown(&input)
    ))
}

/// Text as it is, other bytes as hexadecimal.
fn shown(input: &[u8]) -> String {
    const SHOWN_BYTES: usize = 2_000;
    let part = &input[..input.len().min(SHOWN_BYTES)];
    match std::str::from_utf8(part) {
        Ok(text) if !text.contains('\0') => text.to_owned(),
        _ => part
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<Vec<_>>()
            .join(" "),
    }
}
