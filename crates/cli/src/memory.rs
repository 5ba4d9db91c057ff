//! The memory size of an instance, and whether the process can have it.
//!
//! The pool reserves all of its memory at startup as address space, which costs nothing before it is used. If the operating system limits
//! address space (`ulimit -v`, or no overcommit), that would end the process without a message, so the size is computed, or tried, first. A
//! default that does not fit is reduced, down to [`MB_MIN`]; an explicit size that does not fit is refused.
//!
//! With limited address space, the C library would reserve 64 MB of it for each thread that allocates (up to eight per processor) and leave
//! none for the threads' stacks. [`spare_addresses`] prevents this. The program's own memory comes from another allocator
//! ([`crate::allocator`]); threads and zstd still use the C library's.

use crate::exit::Failure;
use rustix::process::{Resource, getrlimit};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The least memory an instance works with, MB.
const MB_MIN: u32 = 64;
/// Addresses that everything but the pool needs, MB: the program, threads' stacks, the allocator.
const MB_BESIDE: u64 = 640;
/// Addresses that go with the pool's, in percent of it: 15 for what describes it, 75 for what queries borrow of it. Frames that were given
/// up to queries keep their addresses.
const PERCENT_BESIDE: u64 = 90;
/// The most of the machine's memory that is taken without being asked for, MB.
const MB_MAX: u64 = 4096;

/// Glibc's limit of heaps for threads, from the environment at the program's start.
const ARENAS: &str = "MALLOC_ARENA_MAX";
const ARENAS_MAX: &str = "2";
/// The settings of [`crate::allocator`] from the environment: without a thread of its own, whose stack and heaps need addresses.
const ALLOCATOR: &str = "_RJEM_MALLOC_CONF";
const ALLOCATOR_SPARING: &str = "background_thread:false,dirty_decay_ms:0";

/// Where addresses are limited, begins the program again with sparing allocators; returns at once where they are not. Settings that are
/// already in the environment stay. To be called before anything is open.
pub fn spare_addresses() {
    let is_limited = getrlimit(Resource::As).current.is_some();
    let unset: Vec<_> = [(ARENAS, ARENAS_MAX), (ALLOCATOR, ALLOCATOR_SPARING)]
        .into_iter()
        .filter(|(name, _)| std::env::var_os(name).is_none())
        .collect();
    if !is_limited || unset.is_empty() {
        return;
    }
    if let Ok(program) = std::env::current_exe() {
        let mut arguments = std::env::args_os();
        let mut again = Command::new(program);
        // Its name says what it is to be.
        if let Some(name) = arguments.next() {
            again.arg0(name);
        }
        // Comes back only with an error; then it is tried as it stands.
        let _ = again.args(arguments).envs(unset).exec();
    }
}

/// Memory for pages and queries, MB: the requested size or the default, and a message about it.
///
/// # Errors
/// The minimum does not fit, or the requested size does not.
pub fn settle(asked: Option<u32>) -> Result<(u32, Option<String>), Failure> {
    settle_where(asked, default_mb(), &may_have)
}

fn settle_where(
    asked: Option<u32>,
    default: u32,
    may_have: &dyn Fn(u32) -> bool,
) -> Result<(u32, Option<String>), Failure> {
    let remedy = "raise the limit of addresses (ulimit -v), or give less with --max-server-memory";
    if let Some(asked) = asked {
        return match may_have(asked) {
            true => Ok((asked, None)),
            false => Err(Failure::Failed(format!(
                "the operating system does not give {asked} MB of memory: {remedy}"
            ))),
        };
    }
    let halves = std::iter::successors(Some(default), |mb| (*mb > MB_MIN).then(|| (mb / 2).max(MB_MIN)));
    let Some(fits) = halves.into_iter().find(|mb| may_have(*mb)) else {
        return Err(Failure::Failed(format!(
            "the operating system does not give the {MB_MIN} MB of memory an instance needs at least: {remedy}"
        )));
    };
    let note = (fits < default).then(|| {
        format!("max server memory is {fits} MB instead of {default}, because the operating system gives no more (ulimit -v)")
    });
    Ok((fits, note))
}

/// Whether so much can be promised to the pool, with what is needed beside it.
fn may_have(mb: u32) -> bool {
    let megabytes = u64::from(mb) + u64::from(mb) * PERCENT_BESIDE / 100 + MB_BESIDE;
    let bytes = megabytes << 20;
    match getrlimit(Resource::As).current {
        Some(limit) => addresses_in_use().is_some_and(|used| used.saturating_add(bytes) <= limit),
        None => may_be_promised(bytes),
    }
}

/// Bytes of addresses that the process has, as the limit counts them.
fn addresses_in_use() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmSize:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}

/// Whether the operating system promises so much. Addresses only: it gives memory for them when they are first used.
fn may_be_promised(bytes: u64) -> bool {
    let mut trial: Vec<u8> = Vec::new();
    usize::try_from(bytes).is_ok_and(|bytes| trial.try_reserve_exact(bytes).is_ok())
}

/// What the files of an instance in memory may have together: half of what the machine, or the container, has.
pub fn bytes_for_files() -> u64 {
    const SHARE: u64 = 2;
    const BYTES_UNKNOWN: u64 = 1 << 30;
    let of_machine = total_kb().map_or(BYTES_UNKNOWN, |kilobytes| kilobytes << 10);
    let limit = std::fs::read_to_string("/sys/fs/cgroup/memory.max").unwrap_or_default();
    of_machine.min(limit.trim().parse().unwrap_or(u64::MAX)) / SHARE
}

/// A quarter of the machine's memory, at most 4 GB.
fn default_mb() -> u32 {
    const SHARE: u64 = 4;
    const MB_UNKNOWN: u64 = 256;
    let share = total_kb().map_or(MB_UNKNOWN, |kilobytes| kilobytes / 1024 / SHARE);
    share.clamp(u64::from(MB_MIN), MB_MAX) as u32
}

fn total_kb() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    text.lines().find_map(|line| {
        line.strip_prefix("MemTotal:")?
            .trim()
            .split(' ')
            .next()?
            .parse::<u64>()
            .ok()
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_default_shrinks_to_what_there_is_and_a_wish_does_not() {
        for (available, expected) in [
            (10_000, Some(4_096)),
            (4_095, Some(2_048)),
            (600, Some(512)),
            (64, Some(64)),
            (63, None),
        ] {
            let (fits, note) = match settle_where(None, 4_096, &|mb| mb <= available) {
                Ok((fits, note)) => (Some(fits), note),
                Err(_) => (None, None),
            };
            assert_eq!(fits, expected, "{available} MB");
            assert_eq!(note.is_some(), expected.is_some_and(|mb| mb < 4_096));
        }
        assert_eq!(settle_where(None, 64, &|_| true).unwrap().0, 64);
        assert_eq!(
            settle_where(Some(3_000), 4_096, &|mb| mb <= 3_000).unwrap(),
            (3_000, None)
        );
        let Err(Failure::Failed(text)) = settle_where(Some(3_001), 4_096, &|mb| mb <= 3_000) else {
            panic!("refused");
        };
        assert!(
            text.contains("3001 MB") && text.contains("ulimit -v") && text.contains("--max-server-memory"),
            "{text}"
        );
    }
}
