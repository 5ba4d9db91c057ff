//! The reverse question: which growth steps lead to a log of this size with (about) this many VLFs?
//!
//! Two beginnings are tried, the log as it is and the log after a shrink, and from each the steps in a family that holds
//! what DBAs do by hand: up to [`PHASE_STEPS_MAX`] equal steps to some size, then equal steps to the target. Every step
//! ends at a whole megabyte, because that is what `SIZE = nMB` can say. Of all candidates the one nearest to the wished
//! number of VLFs wins; then smaller largest VLFs, then no shrink, then fewer steps. Within the family the answer is
//! exact; a layout outside of it could be nearer.

use vlf::growth::{self, RuleError, growth_warning};
use vlf::{LogLayout, ServerVersion};

use crate::plan::{Plan, PlanError, PlanRequest, Start};
use crate::size::{GB, Growth, MB};

/// Steps of one phase at most.
pub const PHASE_STEPS_MAX: u64 = 96;
/// What `DBCC SHRINKFILE (log, 1)` asks for: 1 MB.
const SHRINK_TARGET_BYTES: u64 = MB;

/// What is searched for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchRequest {
    /// Whose growth rules apply.
    pub version: ServerVersion,
    /// The log as it is, or as it is created.
    pub start: Start,
    /// The size the log shall have, rounded up to a whole megabyte.
    pub target_file_bytes: u64,
    /// The number of VLFs it shall have; without one, [`advised_vlf_count`].
    pub target_vlfs: Option<u64>,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The steps, from the log as it is after the shrink.
    pub plan: Plan,
    /// VLFs wished for.
    pub target_vlfs: u64,
    /// VLFs left by a shrink that has to come first; `None` = no shrink.
    pub shrink_to_vlfs: Option<usize>,
}

/// A good number of VLFs for a log: the fewest that keep each at 512 MB or less (Kimberly Tripp's advice of 8 GB steps),
/// but 4 up to 64 MB, 8 up to 1 GB and 16 up to 8 GB, so that some can be cleared while others are in use.
pub fn advised_vlf_count(file_bytes: u64) -> u64 {
    match file_bytes {
        0..=0x400_0000 => 4,
        0x400_0001..=0x4000_0000 => 8,
        _ => file_bytes.div_ceil(512 * MB).max(16),
    }
}

/// VLFs that a shrink to 1 MB leaves of `layout`: those that begin below 1 MB, two at least. (Error 9007: the size asked
/// for cannot be larger than the start of the last VLF; error 9006: some VLFs always stay.) Assumes that the tail of the
/// log can be moved to the front of the file, which takes a log backup or two.
pub fn vlfs_after_shrink(layout: &LogLayout) -> usize {
    let below = layout
        .vlfs()
        .iter()
        .filter(|vlf| vlf.span.offset < SHRINK_TARGET_BYTES)
        .count();
    below.max(2).min(layout.vlf_count())
}

/// Finds the steps.
///
/// # Errors
/// A size the rules refuse, or one that no steps reach.
pub fn search(request: &SearchRequest) -> Result<Found, PlanError> {
    let target_bytes = request.target_file_bytes.next_multiple_of(MB);
    let target_vlfs = request.target_vlfs.unwrap_or_else(|| advised_vlf_count(target_bytes));
    let mut current = match &request.start {
        Start::Create(file_bytes) => LogLayout::create(request.version, *file_bytes)?,
        Start::Existing(layout) => layout.clone(),
    };
    current.set_version(request.version);
    let mut shrunk = current.clone();
    shrunk.truncate(vlfs_after_shrink(&current));
    let as_it_is = Candidate::best(&current, false, target_bytes, target_vlfs);
    let after_shrink = (shrunk != current).then(|| Candidate::best(&shrunk, true, target_bytes, target_vlfs));
    let best = as_it_is
        .into_iter()
        .chain(after_shrink.flatten())
        .min_by_key(Candidate::rank)
        .ok_or(PlanError::NotFound {
            file_bytes: target_bytes,
        })?;
    let start = if best.shrink { shrunk } else { current };
    let growths = best
        .growths(start.file_bytes(), target_bytes)
        .map(Growth::Bytes)
        .collect();
    let shrink_to_vlfs = best.shrink.then(|| start.vlf_count());
    let start = match (&request.start, best.shrink) {
        (Start::Create(file_bytes), false) => Start::Create(*file_bytes),
        _ => Start::Existing(start),
    };
    let plan = Plan::of(&PlanRequest {
        version: request.version,
        start,
        growths,
        autogrowth: None,
        to_bytes: None,
    })?;
    Ok(Found {
        plan,
        target_vlfs,
        shrink_to_vlfs,
    })
}

/// Steps to a size and how good they are.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    shrink: bool,
    /// Size after the first phase.
    middle_bytes: u64,
    first_steps: u64,
    second_steps: u64,
    /// VLFs too many or too few.
    off_by: u64,
    vlf_bytes_max: u64,
}

impl Candidate {
    fn rank(&self) -> (u64, u64, bool, u64) {
        // VLFs of up to 512 MB are all alike.
        let size = self.vlf_bytes_max.max(512 * MB) / (64 * MB);
        (self.off_by, size, self.shrink, self.first_steps + self.second_steps)
    }

    /// The best candidate from `layout`; `None` when the log is already larger than the target.
    fn best(layout: &LogLayout, shrink: bool, target_bytes: u64, target_vlfs: u64) -> Option<Candidate> {
        let from = layout.file_bytes();
        let existing_max = layout.vlfs().iter().map(|vlf| vlf.span.bytes).max().unwrap_or(0);
        let existing = layout.vlf_count() as u64;
        if from >= target_bytes {
            return (from == target_bytes).then(|| Candidate {
                shrink,
                middle_bytes: from,
                first_steps: 0,
                second_steps: 0,
                off_by: existing.abs_diff(target_vlfs),
                vlf_bytes_max: existing_max,
            });
        }
        let mut best: Option<Candidate> = None;
        let mut consider = |middle_bytes, first_steps, second_steps| {
            let Some((added, added_max)) = outcome(
                layout.version(),
                from,
                middle_bytes,
                target_bytes,
                first_steps,
                second_steps,
            ) else {
                return;
            };
            let candidate = Candidate {
                shrink,
                middle_bytes,
                first_steps,
                second_steps,
                off_by: (existing + added).abs_diff(target_vlfs),
                vlf_bytes_max: existing_max.max(added_max),
            };
            if best.is_none_or(|best| candidate.rank() < best.rank()) {
                best = Some(candidate);
            }
        };
        // One phase, up to a step per megabyte or per wished VLF.
        let steps_max = (target_bytes / MB).min(target_vlfs.max(PHASE_STEPS_MAX)).max(1);
        (1..=steps_max.min(20_000)).for_each(|steps| consider(target_bytes, steps, 0));
        for middle_bytes in middles(from, target_bytes) {
            let rest_mb = (target_bytes - middle_bytes) / MB;
            for first_steps in 1..=PHASE_STEPS_MAX.min((middle_bytes - from).div_ceil(MB)) {
                (1..=PHASE_STEPS_MAX.min(rest_mb)).for_each(|second| consider(middle_bytes, first_steps, second));
                // Beyond that, the numbers of steps that would be right if each added 1, 4, 8 or 16 VLFs.
                let wished = target_vlfs.saturating_sub(existing + first_steps);
                let guesses = [1, 4, 8, 16].map(|per_step| wished / per_step);
                let more = guesses
                    .into_iter()
                    .filter(|second| (PHASE_STEPS_MAX + 1..=rest_mb).contains(second));
                more.for_each(|second| consider(middle_bytes, first_steps, second));
            }
        }
        best
    }

    /// The growths in bytes, in order.
    fn growths(self, from: u64, target_bytes: u64) -> impl Iterator<Item = u64> {
        let first = targets(from, self.middle_bytes, self.first_steps);
        let second = targets(self.middle_bytes, target_bytes, self.second_steps);
        let mut before = from;
        first.chain(second).map(move |after| {
            let growth_bytes = after - before;
            before = after;
            growth_bytes
        })
    }
}

/// Sizes at which the first phase may end: 1/16, 2/16 ... of the way, at whole megabytes.
fn middles(from: u64, target_bytes: u64) -> impl Iterator<Item = u64> {
    (1..16)
        .map(move |part| (from + (target_bytes - from) / 16 * part).next_multiple_of(MB))
        .filter(move |middle| from < *middle && *middle < target_bytes)
}

/// The size of each of `steps` equal steps in whole megabytes; the last step takes what is left.
fn step_bytes(from: u64, to: u64, steps: u64) -> u64 {
    ((to - from) / steps.max(1)).next_multiple_of(MB)
}

/// File sizes after each step of a phase. The first step also brings the file to a whole megabyte.
fn targets(from: u64, to: u64, steps: u64) -> impl Iterator<Item = u64> {
    let step = step_bytes(from, to, steps).max(MB);
    let base = from / MB * MB;
    let full = (1..steps)
        .map(move |index| base + index * step)
        .take_while(move |size| *size < to);
    full.chain((steps > 0).then_some(to))
}

/// VLFs that both phases add, and the largest of them; `None` when a step is refused or hits the fault of 4 GB multiples.
fn outcome(
    version: ServerVersion,
    from: u64,
    middle_bytes: u64,
    target_bytes: u64,
    first_steps: u64,
    second_steps: u64,
) -> Option<(u64, u64)> {
    let mut total = (0, 0);
    let phases = [
        (from, middle_bytes, first_steps),
        (middle_bytes, target_bytes, second_steps),
    ];
    for (from, to, steps) in phases.into_iter().filter(|phase| phase.2 > 0) {
        let (added, vlf_bytes_max) = phase_outcome(version, from, to, steps).ok()??;
        total = (total.0 + added, total.1.max(vlf_bytes_max));
    }
    Some(total)
}

/// The same for one phase, in constant time: its first step, its equal steps, its last step.
fn phase_outcome(version: ServerVersion, from: u64, to: u64, steps: u64) -> Result<Option<(u64, u64)>, RuleError> {
    let step = step_bytes(from, to, steps).max(MB);
    let base = from / MB * MB;
    let first_end = (base + step).min(to);
    // As many full steps as `targets` yields below `to`.
    let full_steps = (steps - 1).min((to - base - 1) / step);
    let mut sizes = Vec::with_capacity(4);
    let mut added = 0;
    let last_from = if full_steps == 0 {
        from
    } else {
        base + full_steps * step
    };
    if full_steps > 0 {
        let first = growth::grow_plan(version, from, first_end - from)?;
        added += u64::from(first.vlf_count) + growth::count_of_equal_growths(version, first_end, step, full_steps - 1)?;
        sizes.push((first_end - from, first.last_vlf_bytes));
        if full_steps > 1 {
            // The last of the equal growths has the largest VLFs: the 1/8 rule only sets in later.
            let last_equal = growth::grow_plan(version, last_from - step, step)?;
            sizes.push((step, last_equal.last_vlf_bytes));
        }
    }
    let last = growth::grow_plan(version, last_from, to - last_from)?;
    added += u64::from(last.vlf_count);
    sizes.push((to - last_from, last.last_vlf_bytes));
    let faulty = sizes
        .iter()
        .any(|(growth_bytes, _)| growth_warning(version, *growth_bytes).is_some());
    let vlf_bytes_max = sizes.iter().map(|(_, vlf_bytes)| *vlf_bytes).max().unwrap_or(0);
    Ok((!faulty).then_some((added, vlf_bytes_max)))
}

/// The automatic growth to leave in place: 64 MB since 2022, where it skips the zeroing; before, what keeps VLFs few.
pub fn advised_autogrowth_bytes(version: ServerVersion, file_bytes: u64) -> u64 {
    if version >= ServerVersion::V2022 || file_bytes < GB {
        64 * MB
    } else {
        512 * MB
    }
}
