//! The stack limit: how much stack a thread has left, measured wherever code recurses.
//!
//! ```text
//! top of the stack                                                     lowest address
//! |-- used --| here ......... may still be used ......... | RESERVE_BYTES |
//! ```
//! SQL Server's workers have 2 MB of stack (sql-docs, "max worker threads", on 64 bits), and a statement that needs more fails with 8631,
//! or with 191 in the parser. vlflab does the same: every recursion over nested input checks the stack (parser, binder, evaluation, opening
//! of operators, blocks and modules), so there is one limit and no counting of levels. Dropping a tree needs less stack per level than
//! building it, so every tree that was built can be dropped.
//!
//! Invariant: no code checks below the reserve. The reserve is for the storage engine and formatting, whose nesting does not depend on the
//! statement.

use std::cell::Cell;

use engine::error::Result;

use crate::messages;

/// Stack of a thread that runs statements, as SQL Server's workers have it.
pub const THREAD_BYTES: usize = 2 << 20;
/// What is left for code that does not ask.
const RESERVE_BYTES: usize = 256 << 10;
/// What an unregistered thread is taken to have left where it asks first: half of what Rust gives its threads.
const UNKNOWN_BYTES: usize = 1 << 20;

thread_local! {
    /// The lowest address that may be used; 0 when the thread's stack is not known.
    static FLOOR: Cell<usize> = const { Cell::new(0) };
}

/// An address at the stack's end as it is.
#[inline(always)]
fn here() -> usize {
    let mark = 0_u8;
    std::ptr::from_ref(&mark) as usize
}

/// Tells that this thread, near its start, has so many bytes of stack in all.
pub fn begin_thread(bytes: usize) {
    FLOOR.set(here().saturating_sub(bytes.saturating_sub(RESERVE_BYTES)));
}

/// Whether there is stack to go one level deeper.
#[inline]
pub fn has_room() -> bool {
    has_room_above(0)
}

/// Whether there is stack to go deeper with so many bytes left besides.
#[inline]
fn has_room_above(bytes: usize) -> bool {
    let floor = FLOOR.get();
    if floor == 0 {
        FLOOR.set(here().saturating_sub(UNKNOWN_BYTES));
        return true;
    }
    here() > floor + bytes
}

/// Asks for one level more.
///
/// # Errors
/// 8631 when there is no stack for it.
#[inline]
pub fn require() -> Result<()> {
    if has_room() {
        Ok(())
    } else {
        Err(messages::stack_limit())
    }
}

/// Asks for one level more of operators that are opened: a quarter of the stack must be left, because running them nests as
/// deep as opening them, with larger steps.
///
/// # Errors
/// 8631 when there is no stack for it.
#[inline]
pub fn require_for_operator() -> Result<()> {
    if has_room_above(THREAD_BYTES / 4) {
        Ok(())
    } else {
        Err(messages::stack_limit())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn deepest(level: u64) -> u64 {
        let filled = std::hint::black_box([level; 16]);
        match require() {
            Ok(()) => deepest(level + 1).max(filled[0]),
            Err(error) => {
                assert_eq!((error.number, error.severity), (8631, 17));
                level
            }
        }
    }

    #[test]
    fn a_recursion_ends_before_the_stack_does_whatever_the_thread_has() {
        let levels: Vec<u64> = [THREAD_BYTES, 4 * THREAD_BYTES]
            .into_iter()
            .map(|bytes| {
                let thread = std::thread::Builder::new().stack_size(bytes);
                let levels = thread.spawn(move || {
                    begin_thread(bytes);
                    deepest(0)
                });
                levels.unwrap().join().unwrap()
            })
            .collect();
        assert!(levels[0] > 1_000, "{levels:?}");
        assert!(levels[1] > 3 * levels[0], "{levels:?}");
        // An unregistered thread has Rust's 2 MB, and is taken to have one.
        let untold = std::thread::spawn(|| deepest(0)).join().unwrap();
        assert!(untold > 500 && untold < levels[0], "{untold} {levels:?}");
    }
}
