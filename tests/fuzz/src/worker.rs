//! One process that gives inputs to one target, on a thread with the stack of a session, and tells what it sees.
//!
//! It writes lines: `finding SEED NUMBER WHAT`, `slow SEED NUMBER MILLISECONDS`, `history SEED INPUTS TAKEN BYTES`. Which input is under
//! way stands in a file, so that who watches knows it even if the process is gone.

use crate::target::{Description, Reached, Target};
use outside::random::Random;
use parking_lot::Mutex;
use peak_alloc::PeakAlloc;
use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

/// Processor time of one input that is worth telling.
const SLOW_MS: u64 = 1_000;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// Panics of all threads since the last input.
static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The input of a target by its numbers.
pub fn input(target: &dyn Target, name: &str, seed: u64, number: u64) -> Vec<u8> {
    let mixed = name.bytes().fold(seed ^ number.rotate_left(40), |mixed, byte| {
        mixed.wrapping_mul(31).wrapping_add(byte.into())
    });
    // The first draws of near seeds are as different as any.
    let mut random = Random::new(Random::new(mixed).draw());
    target.make(&mut random)
}

/// Notes panics in place of printing them.
pub fn note_panics() {
    std::panic::set_hook(Box::new(|panic| PANICS.lock().push(panic.to_string())));
}

/// Runs `work` on a thread with the stack of a session.
///
/// # Errors
/// The system has no thread for it.
pub fn on_a_sessions_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> std::io::Result<T> {
    let bytes = tsql::stack::THREAD_BYTES;
    let thread = std::thread::Builder::new().stack_size(bytes).spawn(move || {
        tsql::stack::begin_thread(bytes);
        work()
    })?;
    thread
        .join()
        .map_err(|_| std::io::Error::other("the worker's thread panicked by itself"))
}

/// What became of one input.
#[derive(Debug)]
pub struct Judged {
    /// Taken or refused.
    pub reached: Reached,
    /// What is wrong with it.
    pub finding: Option<String>,
    /// Processor time of its thread.
    pub cpu_ms: u64,
    /// Memory that it took at once.
    pub bytes: usize,
}

fn cpu_ms() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000 + time.tv_nsec as u64 / 1_000_000
}

/// Gives one input and judges it.
pub fn judge(target: &mut dyn Target, input: &[u8]) -> Judged {
    let prepared = catch_unwind(AssertUnwindSafe(|| target.prepare()));
    let before_bytes = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    let before_ms = cpu_ms();
    let outcome = prepared.and_then(|()| catch_unwind(AssertUnwindSafe(|| target.take(input))));
    let cpu_ms = cpu_ms() - before_ms;
    let taken_bytes = ALLOCATOR.peak_usage().saturating_sub(before_bytes);
    let panics = std::mem::take(&mut *PANICS.lock());
    let finding = if !panics.is_empty() || outcome.is_err() {
        Some(panics.join(" / ").replace('\n', " "))
    } else if taken_bytes > target.memory_bytes_max() + 100 * input.len() {
        Some(format!("{} MB of memory", taken_bytes >> 20))
    } else {
        None
    };
    Judged {
        reached: outcome.unwrap_or(Reached::Refused),
        finding,
        cpu_ms,
        bytes: taken_bytes,
    }
}

/// Where the worker is: seed and number of the input.
pub struct Progress(File);

impl Progress {
    /// Opens the file, new.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn create(path: &Path) -> std::io::Result<Progress> {
        File::create(path).map(Progress)
    }

    fn set(&self, seed: u64, number: u64) {
        let bytes = [seed.to_le_bytes(), number.to_le_bytes()].concat();
        // A worker whose place is not known is still watched by its end.
        let _ = self.0.write_all_at(&bytes, 0);
    }

    /// Reads the file of a worker.
    pub fn read(path: &Path) -> Option<(u64, u64)> {
        let bytes = std::fs::read(path).ok()?;
        let number = |from: usize| Some(u64::from_le_bytes(bytes.get(from..from + 8)?.try_into().ok()?));
        Some((number(0)?, number(8)?))
    }
}

fn tell(line: &str) {
    let mut out = std::io::stdout().lock();
    // Nobody listens any more: then nobody wants to know.
    let _ = writeln!(out, "{line}");
    let _ = out.flush();
}

/// Runs histories of a target from a seed on.
///
/// # Errors
/// Its place cannot be written, or there is no thread.
pub fn work(
    target: &'static Description,
    first: u64,
    histories: u64,
    inputs: u64,
    progress: &Path,
) -> std::io::Result<()> {
    note_panics();
    let progress = Arc::new(Progress::create(progress)?);
    for seed in first..first + histories {
        let progress = progress.clone();
        on_a_sessions_stack(move || history(target, seed, inputs, &progress))?;
    }
    Ok(())
}

/// One history: it ends at the first finding.
fn history(description: &Description, seed: u64, inputs: u64, progress: &Progress) {
    let mut target = (description.build)();
    let (mut given, mut taken, mut bytes_max) = (0, 0, 0);
    for number in 0..inputs {
        progress.set(seed, number);
        let input = input(target.as_ref(), description.name, seed, number);
        let judged = judge(target.as_mut(), &input);
        given += 1;
        taken += u64::from(judged.reached == Reached::Taken);
        bytes_max = bytes_max.max(judged.bytes);
        if judged.cpu_ms >= SLOW_MS {
            tell(&format!("slow {seed} {number} {}", judged.cpu_ms));
        }
        if let Some(what) = judged.finding {
            tell(&format!("finding {seed} {number} {what}"));
            break;
        }
    }
    // What a panic left locked must not be waited for.
    if given < inputs {
        std::mem::forget(target);
    }
    tell(&format!("history {seed} {given} {taken} {bytes_max}"));
}

#[cfg(test)]
mod tests {
    use super::{judge, note_panics};
    use crate::target::{MEMORY_BYTES, Reached, Target};
    use outside::random::Random;

    /// Does with an input what the input says.
    struct Obedient;

    impl Target for Obedient {
        fn make(&self, _: &mut Random) -> Vec<u8> {
            Vec::new()
        }

        fn take(&mut self, input: &[u8]) -> Reached {
            match input {
                b"panic" => panic!("as it was told"),
                b"thread" => {
                    // Its end is seen by the hook alone.
                    let _ = std::thread::spawn(|| panic!("on a thread of its own")).join();
                }
                b"memory" => drop(std::hint::black_box(Vec::<u8>::with_capacity(MEMORY_BYTES + 1_000))),
                _ => {}
            }
            Reached::Taken
        }
    }

    #[test]
    fn panics_of_any_thread_and_too_much_memory_are_found() {
        note_panics();
        let found = |input: &[u8]| judge(&mut Obedient, input).finding;
        assert!(found(b"panic").is_some_and(|what| what.contains("as it was told")));
        assert!(found(b"thread").is_some_and(|what| what.contains("on a thread of its own")));
        assert!(found(b"memory").is_some_and(|what| what.contains("MB of memory")));
        assert_eq!(found(b"nothing"), None);
    }
}
