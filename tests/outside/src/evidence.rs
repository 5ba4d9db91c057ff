//! What is kept of a failure: enough to study it without repeating it.
//!
//! ```text
//!   <folder>/what.txt       what went wrong, and how to repeat the history
//!           /ledger.txt     intentions, acknowledgements, draws
//!           /changes.txt    the last changes of the volume
//!           /error-log.txt  the server's
//!           /server-output.txt
//!           /before-durable/  the files before the last end, what was durable of them
//!           /before-written/  the same as programs saw them
//!           /after/           the files the server then started on
//! ```

use crate::power_cuts::Failure;
use std::fs;
use std::io;
use std::path::Path;

/// How many failures are kept with their volumes.
const VOLUMES_MAX: usize = 12;

/// Writes everything of a failure below `folder`.
/// The volumes only for the first few failures: they take tens of megabytes each.
///
/// # Errors
/// The folder cannot be written.
pub fn keep(failure: &Failure, folder: &Path, how_to_repeat: &str) -> io::Result<()> {
    let kept_before = folder
        .parent()
        .map_or(0, |all| fs::read_dir(all).map_or(0, Iterator::count));
    fs::create_dir_all(folder)?;
    let what = format!("cycle {}: {}\n\nrepeat: {how_to_repeat}\n", failure.cycle, failure.what);
    fs::write(folder.join("what.txt"), what)?;
    fs::write(folder.join("ledger.txt"), &failure.ledger)?;
    fs::write(folder.join("error-log.txt"), &failure.error_log)?;
    fs::write(folder.join("server-output.txt"), &failure.server_output)?;
    if let Some(before) = &failure.before {
        let changes: Vec<&str> = before.trace().collect();
        fs::write(folder.join("changes.txt"), changes.join("\n"))?;
    }
    if kept_before >= VOLUMES_MAX {
        return Ok(());
    }
    if let Some(before) = &failure.before {
        before.durable_alone().save(&folder.join("before-durable"))?;
        before.save(&folder.join("before-written"))?;
    }
    if let Some(after) = &failure.after {
        after.save(&folder.join("after"))?;
    }
    Ok(())
}
