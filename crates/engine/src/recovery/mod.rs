//! From a crash to a consistent database: checkpoints before it, analysis, redo and undo after it (ARIES).
//!
//! ```text
//!        redo start      checkpoint                        end of log
//!  log ----|----------------|-------------------------------|
//!                           |---------- analysis ---------->|   who was under way, how far does the log reach
//!          |------------------- redo ---------------------->|   every page change not yet in its page
//!          |<------------------ undo -----------------------|   those under way, newest record first, with CLRs
//! ```
//! Invariants:
//! - Redo applies a change to a page exactly when the page's LSN is older, with the same code that made the change.
//! - After undo the log is open, a checkpoint is written, and no transaction from before the crash is left.
//! - After a crash at any point of recovery, a new recovery leads to the same state.

mod analysis;
mod boot;
mod checkpoint;
mod losers;
mod redo;

pub use analysis::{ActiveEntry, Analysis, analyse, analyse_and_redo, analyse_and_redo_of_base};
pub use boot::{BOOT_BYTES, BootRecord, FORMAT, FurtherFeatures, OLDEST_FORMAT, RecoveryModel};
pub use checkpoint::{Checkpointed, Purpose, checkpoint};
pub use losers::{Guard, Loser, survey};
pub use redo::{Redone, redo, redo_noting_damage};
