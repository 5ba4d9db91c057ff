//! The reverse question: which growth steps lead to a log of this size with (about) this many VLFs?
//!
//! Two beginnings are tried, the log as it is and the log after a shrink, and from each the steps in a family that holds
//! what DBAs do by hand: steps of one round size ([`ROUND_STEPS_MB`]), or up to [`PHASE_STEPS_MAX`] equal steps to some size,
//! then equal steps to the target. Every step ends at a whole megabyte, because that is what `SIZE = nMB` can say.
//!
//! A requested number of VLFs gets the candidate nearest to it. The advised number is not a law: candidates within
//! a quarter of it are alike. Then smaller largest VLFs win, then no shrink, then steps that a person would type: of one
//! round size, of one size, of two. Within the family the answer is exact; a layout outside of it could be nearer.

use vlf::growth::{self, RuleError, growth_warning};
use vlf::{LogLayout, ServerVersion};

use crate::plan::{Plan, PlanError, PlanRequest, Start, check_size};
use crate::size::{GB, Growth, MB, format_bytes};

/// Steps of one phase at most.
pub const PHASE_STEPS_MAX: u64 = 96;
/// Sizes of steps that a person would type, in MB. The multiples of 1,000 avoid the fault of 4 GB multiples
/// (`vlf::growth::growth_warning`), which is why 8,000 MB is what Kimberly Tripp advises.
pub const ROUND_STEPS_MB: [u64; 23] = [
    1, 2, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100, 128, 200, 256, 500, 512, 1000, 1024, 2000, 4000, 8000, 8192,
];
/// Candidates within this share of an advised number of VLFs are alike.
const ADVISED_TOLERANCE: u64 = 4;
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The steps, from the log as it is after the shrink.
    pub plan: Plan,
    /// The log as it is, which a shrink comes to first.
    pub existing: LogSize,
    /// VLFs wished for.
    pub target_vlfs: u64,
    /// That number is [`advised_vlf_count`], because none was requested.
    pub is_advised: bool,
    /// VLFs left by a shrink that has to come first; `None` = no shrink.
    pub shrink_to_vlfs: Option<usize>,
}

/// How large a log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogSize {
    /// Size of the file.
    pub file_bytes: u64,
    pub vlf_count: u64,
    /// The largest of them.
    pub vlf_bytes_max: u64,
}

impl LogSize {
    fn of(layout: &LogLayout) -> LogSize {
        LogSize {
            file_bytes: layout.file_bytes(),
            vlf_count: layout.vlf_count() as u64,
            vlf_bytes_max: layout.vlfs().iter().map(|vlf| vlf.span.bytes).max().unwrap_or(0),
        }
    }
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
    request.check()?;
    let target_bytes = request.target_file_bytes.next_multiple_of(MB);
    let wish = Wish::of(request.target_vlfs, target_bytes);
    let mut current = match &request.start {
        Start::Create(file_bytes) => LogLayout::create(request.version, *file_bytes)?,
        Start::Existing(layout) => layout.clone(),
    };
    current.set_version(request.version);
    let existing = LogSize::of(&current);
    let mut shrunk = current.clone();
    shrunk.truncate(vlfs_after_shrink(&current));
    let as_it_is = Candidate::best(&current, false, target_bytes, wish);
    let after_shrink = (shrunk != current).then(|| Candidate::best(&shrunk, true, target_bytes, wish));
    let best = as_it_is
        .into_iter()
        .chain(after_shrink.flatten())
        .min_by_key(|candidate| candidate.rank(wish))
        .ok_or(PlanError::NotFound {
            file_bytes: target_bytes,
            least_bytes: shrunk.file_bytes(),
        })?;
    let start = if best.shrink { shrunk } else { current };
    let growths = best.growths(start.file_bytes()).map(Growth::Bytes).collect();
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
        existing,
        target_vlfs: wish.vlfs,
        is_advised: request.target_vlfs.is_none(),
        shrink_to_vlfs,
    })
}

impl SearchRequest {
    /// Names the first option whose value no log can have.
    fn check(&self) -> Result<(), PlanError> {
        let target_bytes = self.target_file_bytes;
        let whole_bytes = target_bytes.checked_next_multiple_of(MB).unwrap_or(u64::MAX);
        let least = "a log of whole megabytes has at least";
        check_size(
            "--target-size",
            whole_bytes,
            MB,
            least,
            "give the size that the log shall have",
        )?;
        if let Start::Create(file_bytes) = self.start {
            check_size(
                "--initial",
                file_bytes,
                growth::FILE_BYTES_MIN,
                "the smallest log file has",
                "give 504KB or more",
            )?;
            if file_bytes > whole_bytes {
                return Err(PlanError::Refused {
                    option: "--target-size",
                    given: format_bytes(target_bytes),
                    cause: format!("the log is created with {} (--initial)", format_bytes(file_bytes)),
                    action: "give a smaller --initial, or a larger target".to_owned(),
                });
            }
        }
        match self.target_vlfs {
            Some(vlfs @ 0..2) => Err(PlanError::Refused {
                option: "--target-vlfs",
                given: vlfs.to_string(),
                cause: "a log has at least 2 VLFs (error 9006)".to_owned(),
                action: "give 2 or more".to_owned(),
            }),
            _ => Ok(()),
        }
    }
}

/// The number of VLFs that is looked for.
#[derive(Clone, Copy, Debug)]
struct Wish {
    vlfs: u64,
    /// So many more or less are as good.
    tolerance: u64,
}

impl Wish {
    /// What was asked for, else what is advised.
    fn of(asked: Option<u64>, target_bytes: u64) -> Wish {
        let advised = advised_vlf_count(target_bytes);
        match asked {
            Some(vlfs) => Wish { vlfs, tolerance: 0 },
            None => Wish {
                vlfs: advised,
                tolerance: advised / ADVISED_TOLERANCE,
            },
        }
    }
}

/// How easily steps are typed and remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Simplicity {
    /// All of one round size, the last one perhaps smaller.
    Round,
    /// All of one size.
    Equal,
    /// Of two sizes.
    TwoPhases,
}

/// Equal steps from one size of the file to another; the last one takes what is left.
#[derive(Clone, Copy, Debug)]
struct Phase {
    to: u64,
    steps: u64,
    step_bytes: u64,
}

impl Phase {
    /// So many equal steps in whole megabytes.
    fn equal(from: u64, to: u64, steps: u64) -> Phase {
        let step_bytes = ((to - from) / steps.max(1)).next_multiple_of(MB).max(MB);
        Phase { to, steps, step_bytes }
    }

    /// As many steps of a size as it takes.
    fn of_size(from: u64, to: u64, step_bytes: u64) -> Phase {
        let steps = (to - Phase::base(from, step_bytes)).div_ceil(step_bytes);
        Phase { to, steps, step_bytes }
    }

    /// Where the steps are counted from. The first one brings the file to a whole megabyte; where the file is small beside
    /// a step, it brings it to the size of one step, so that the sizes of the file are multiples of it.
    fn base(from: u64, step_bytes: u64) -> u64 {
        if from < step_bytes / 8 { 0 } else { from / MB * MB }
    }

    /// File sizes after each step.
    fn targets(self, from: u64) -> impl Iterator<Item = u64> {
        let base = Phase::base(from, self.step_bytes);
        let full = (1..self.steps)
            .map(move |index| base + index * self.step_bytes)
            .take_while(move |size| *size < self.to);
        full.chain((self.steps > 0).then_some(self.to))
    }

    /// VLFs added and the largest of them; `None` when a step is refused or hits the fault of 4 GB multiples.
    fn added(self, version: ServerVersion, from: u64) -> Option<(u64, u64)> {
        self.outcome(version, from).ok().flatten()
    }

    /// VLFs added and the largest of them, in constant time: the first step, the equal steps, the last step. `None` when a
    /// step hits the fault of 4 GB multiples.
    fn outcome(self, version: ServerVersion, from: u64) -> Result<Option<(u64, u64)>, RuleError> {
        let Phase { to, steps, step_bytes } = self;
        let base = Phase::base(from, step_bytes);
        let first_end = (base + step_bytes).min(to);
        // As many full steps as `targets` yields below `to`.
        let full_steps = (steps - 1).min((to - base - 1) / step_bytes);
        let mut sizes = Vec::with_capacity(4);
        let mut added = 0;
        let last_from = if full_steps == 0 {
            from
        } else {
            base + full_steps * step_bytes
        };
        if full_steps > 0 {
            let first = growth::grow_plan(version, from, first_end - from)?;
            let equal = growth::count_of_equal_growths(version, first_end, step_bytes, full_steps - 1)?;
            added += u64::from(first.vlf_count) + equal;
            sizes.push((first_end - from, first.last_vlf_bytes));
            if full_steps > 1 {
                // The last of the equal growths has the largest VLFs: the 1/8 rule only sets in later.
                let last_equal = growth::grow_plan(version, last_from - step_bytes, step_bytes)?;
                sizes.push((step_bytes, last_equal.last_vlf_bytes));
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
}

/// Steps to a size and how good they are.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    shrink: bool,
    simplicity: Simplicity,
    first: Phase,
    second: Option<Phase>,
    /// VLFs too many or too few.
    off_by: u64,
    vlf_bytes_max: u64,
}

impl Candidate {
    fn rank(&self, wish: Wish) -> (u64, u64, bool, Simplicity, u64, u64) {
        // VLFs of up to 512 MB are all alike.
        let size = self.vlf_bytes_max.max(512 * MB) / (64 * MB);
        let beyond = self.off_by.saturating_sub(wish.tolerance);
        let steps = self.first.steps + self.second.map_or(0, |phase| phase.steps);
        (beyond, size, self.shrink, self.simplicity, self.off_by, steps)
    }

    /// The best candidate from `layout`; `None` when the log is already larger than the target.
    fn best(layout: &LogLayout, shrink: bool, target_bytes: u64, wish: Wish) -> Option<Candidate> {
        let (version, from) = (layout.version(), layout.file_bytes());
        let existing = LogSize::of(layout);
        let candidate = |simplicity, first, second, added: (u64, u64)| Candidate {
            shrink,
            simplicity,
            first,
            second,
            off_by: (existing.vlf_count + added.0).abs_diff(wish.vlfs),
            vlf_bytes_max: existing.vlf_bytes_max.max(added.1),
        };
        if from >= target_bytes {
            let nothing = Phase::equal(from, from, 0);
            return (from == target_bytes).then(|| candidate(Simplicity::Round, nothing, None, (0, 0)));
        }
        let mut best: Option<Candidate> = None;
        let mut consider = |simplicity, first: Phase, second: Option<Phase>, added| {
            let candidate = candidate(simplicity, first, second, added);
            if best.is_none_or(|best| candidate.rank(wish) < best.rank(wish)) {
                best = Some(candidate);
            }
        };
        // One phase, up to a step per megabyte or per wished VLF.
        let steps_max = (target_bytes / MB).min(wish.vlfs.max(PHASE_STEPS_MAX)).clamp(1, 20_000);
        let round = ROUND_STEPS_MB.map(|step_mb| Phase::of_size(from, target_bytes, step_mb * MB));
        let round = round.into_iter().filter(|phase| phase.steps <= steps_max);
        let round = round.map(|phase| (Simplicity::Round, phase));
        let equal = (1..=steps_max).map(|steps| (Simplicity::Equal, Phase::equal(from, target_bytes, steps)));
        for (simplicity, phase) in round.chain(equal) {
            if let Some(added) = phase.added(version, from) {
                consider(simplicity, phase, None, added);
            }
        }
        for middle_bytes in middles(from, target_bytes) {
            let rest_mb = (target_bytes - middle_bytes) / MB;
            let rest = |steps| {
                let second = Phase::equal(middle_bytes, target_bytes, steps);
                second.added(version, middle_bytes).map(|added| (second, added))
            };
            // What a phase adds does not depend on the one before it.
            let seconds: Vec<_> = (1..=PHASE_STEPS_MAX.min(rest_mb)).filter_map(rest).collect();
            for first_steps in 1..=PHASE_STEPS_MAX.min((middle_bytes - from).div_ceil(MB)) {
                let first = Phase::equal(from, middle_bytes, first_steps);
                let Some(added) = first.added(version, from) else {
                    continue;
                };
                // Beyond that, the numbers of steps that would be right if each added 1, 4, 8 or 16 VLFs.
                let wished = wish.vlfs.saturating_sub(existing.vlf_count + first_steps);
                let guesses = [1, 4, 8, 16].map(|per_step| wished / per_step);
                let more = guesses
                    .into_iter()
                    .filter(|second| (PHASE_STEPS_MAX + 1..=rest_mb).contains(second));
                for (second, more) in seconds.iter().copied().chain(more.filter_map(rest)) {
                    let both = (added.0 + more.0, added.1.max(more.1));
                    consider(Simplicity::TwoPhases, first, Some(second), both);
                }
            }
        }
        best
    }

    /// The growths in bytes, in order, of a file of `from` bytes.
    fn growths(self, from: u64) -> impl Iterator<Item = u64> {
        let first = self.first.targets(from);
        let second = self
            .second
            .into_iter()
            .flat_map(move |phase| phase.targets(self.first.to));
        let mut size = from;
        first.chain(second).map(move |after| {
            let growth_bytes = after - size;
            size = after;
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

/// The automatic growth to leave in place: see [`autogrowth_reason`].
pub fn advised_autogrowth_bytes(version: ServerVersion, file_bytes: u64) -> u64 {
    if version >= ServerVersion::V2022 || file_bytes < GB {
        64 * MB
    } else {
        512 * MB
    }
}

/// Why [`advised_autogrowth_bytes`] is what it is, as a comment of the script.
///
/// Source for 2022: Microsoft, "Instant file initialization": log growths of up to 64 MB write no zeros.
pub fn autogrowth_reason(version: ServerVersion, file_bytes: u64) -> &'static str {
    if version >= ServerVersion::V2022 {
        "64 MB is the most that 2022 grows by without writing zeros, so writers hardly wait"
    } else if file_bytes < GB {
        "64 MB of zeros are written quickly, and few growths of it make few VLFs"
    } else {
        "512 MB keeps VLFs few; while its zeros are written all writers wait, so it is for the unexpected alone"
    }
}
