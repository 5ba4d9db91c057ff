//! Simulates a growth plan: the layout after each step, and the result of the same steps on every other version.
//!
//! Automatic growth and `ALTER DATABASE ... MODIFY FILE` follow the same rule (Kimberly Tripp: "per chunk added"), so one
//! kind of step serves both. A plan with an automatic growth and a size to reach grows until the file has *at least* that
//! size, as SQL Server would: the last growth is not cut short.

use std::fmt;

use vlf::growth::{self, ChunkPlan, RuleError};
use vlf::{LogLayout, PAGE_BYTES, ServerVersion};

use crate::size::{Growth, format_bytes, group_digits};
use crate::warning::{self, Warning};

/// Growths of one plan at most: 2 TB by 2 MB. The largest published log layout has 31,596.
pub const GROWTHS_MAX: usize = 1_048_576;

/// What a plan begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// A new log file of so many bytes.
    Create(u64),
    /// A log as it is now.
    Existing(LogLayout),
}

/// A plan to be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanRequest {
    /// Whose growth rules apply.
    pub version: ServerVersion,
    /// What it begins with.
    pub start: Start,
    /// Growths to do first, one after the other.
    pub growths: Vec<Growth>,
    /// Then: this growth again and again ...
    pub autogrowth: Option<Growth>,
    /// ... until the file has at least so many bytes.
    pub to_bytes: Option<u64>,
}

/// One step of a plan. The first one is the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanStep {
    /// Bytes added; the whole file in the first step.
    pub growth_bytes: u64,
    /// Size of the file after it.
    pub file_bytes: u64,
    pub vlfs_added: u32,
    /// Its largest VLF.
    pub vlf_bytes_max: u64,
    /// The log grew by itself.
    pub is_automatic: bool,
}

/// What the same steps give on one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionTotal {
    pub version: ServerVersion,
    /// VLFs at the end.
    pub vlf_count: u64,
    /// The smallest VLF at the end.
    pub vlf_bytes_min: u64,
    /// The largest VLF at the end.
    pub vlf_bytes_max: u64,
    /// Size of the file at the end.
    pub file_bytes: u64,
}

/// A plan carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Whose growth rules applied.
    pub version: ServerVersion,
    /// The growth setting it leaves in place, when one was given.
    pub autogrowth: Option<Growth>,
    /// It began with a log that exists.
    pub from_existing: bool,
    /// The start and every growth.
    pub steps: Vec<PlanStep>,
    /// The layout at the end.
    pub layout: LogLayout,
    /// The same steps on every version, oldest first.
    pub totals: Vec<VersionTotal>,
    /// What a DBA should know before doing it.
    pub warnings: Vec<Warning>,
}

impl Plan {
    /// Carries `request` out.
    ///
    /// # Errors
    /// A size the rules refuse, a growth without a size to reach (or the reverse), or more than [`GROWTHS_MAX`] growths.
    pub fn of(request: &PlanRequest) -> Result<Plan, PlanError> {
        request.check()?;
        let (mut layout, from_existing) = match &request.start {
            Start::Create(file_bytes) => (LogLayout::create(request.version, *file_bytes)?, false),
            Start::Existing(layout) => (layout.clone(), true),
        };
        layout.set_version(request.version);
        let mut steps = vec![PlanStep {
            growth_bytes: layout.file_bytes(),
            file_bytes: layout.file_bytes(),
            vlfs_added: u32::try_from(layout.vlf_count()).unwrap_or(u32::MAX),
            vlf_bytes_max: layout.vlfs().iter().map(|vlf| vlf.span.bytes).max().unwrap_or(0),
            is_automatic: false,
        }];
        each_growth(request, layout.file_bytes(), |growth_bytes, is_automatic| {
            let added = layout.grow(growth_bytes)?;
            steps.push(PlanStep {
                growth_bytes,
                file_bytes: layout.file_bytes(),
                vlfs_added: u32::try_from(added.len()).unwrap_or(u32::MAX),
                vlf_bytes_max: layout.vlfs()[added].iter().map(|vlf| vlf.span.bytes).max().unwrap_or(0),
                is_automatic,
            });
            Ok(())
        })?;
        let totals = ServerVersion::ALL
            .into_iter()
            .map(|version| total_on(version, request))
            .collect::<Result<Vec<_>, _>>()?;
        let mut plan = Plan {
            version: request.version,
            autogrowth: request.autogrowth,
            from_existing,
            steps,
            layout,
            totals,
            warnings: Vec::new(),
        };
        plan.warnings = warning::of_plan(&plan);
        let automatic_to = request
            .to_bytes
            .filter(|_| request.autogrowth.is_some() && plan.steps.len() > 1);
        plan.warnings
            .extend(automatic_to.and_then(|to_bytes| warning::overshoot(plan.layout.file_bytes(), to_bytes)));
        Ok(plan)
    }

    /// The growths, without the start.
    pub fn growths(&self) -> &[PlanStep] {
        self.steps.get(1..).unwrap_or(&[])
    }

    /// What the same steps give on `version`.
    pub fn total(&self, version: ServerVersion) -> Option<&VersionTotal> {
        self.totals.iter().find(|total| total.version == version)
    }

    /// The largest VLF.
    pub fn vlf_bytes_max(&self) -> u64 {
        self.layout.vlfs().iter().map(|vlf| vlf.span.bytes).max().unwrap_or(0)
    }
}

/// Calls `grow` with the bytes of every growth of `request` and whether it is automatic, beginning at a file of `file_bytes`.
fn each_growth(
    request: &PlanRequest,
    mut file_bytes: u64,
    mut grow: impl FnMut(u64, bool) -> Result<(), RuleError>,
) -> Result<(), PlanError> {
    let mut growths = 0;
    let mut step = |growth: Growth, is_automatic: bool, file_bytes: &mut u64| -> Result<(), PlanError> {
        growths += 1;
        if growths > GROWTHS_MAX {
            return Err(PlanError::TooManyGrowths);
        }
        let refused = |rule| PlanError::Growth {
            option: if is_automatic { "--growth" } else { "--grow" },
            growth,
            file_bytes: *file_bytes,
            rule,
        };
        let growth_bytes = match growth {
            Growth::Bytes(bytes) => bytes,
            Growth::Percent(percent) => growth::percent_growth(*file_bytes, percent).map_err(refused)? - *file_bytes,
        };
        grow(growth_bytes, is_automatic).map_err(refused)?;
        *file_bytes += growth_bytes;
        Ok(())
    };
    for growth in &request.growths {
        step(*growth, false, &mut file_bytes)?;
    }
    let reached = |to_bytes| Err(PlanError::AlreadyReached { file_bytes, to_bytes });
    match (request.autogrowth, request.to_bytes) {
        (Some(_), Some(to_bytes)) if to_bytes <= file_bytes => reached(to_bytes),
        (Some(growth), Some(to_bytes)) => {
            while file_bytes < to_bytes {
                step(growth, true, &mut file_bytes)?;
            }
            Ok(())
        }
        (Some(_), None) => Err(PlanError::NoSizeToReach),
        (None, Some(to_bytes)) if file_bytes < to_bytes => Err(PlanError::NoGrowth { file_bytes, to_bytes }),
        (None, Some(to_bytes)) if to_bytes < file_bytes => reached(to_bytes),
        (None, _) => Ok(()),
    }
}

/// What makes a size impossible for an option, if anything does. `bytes_min` is the least, and `action` says what to do about less.
pub(crate) fn check_size(
    option: &'static str,
    bytes: u64,
    bytes_min: u64,
    least: &str,
    action: &str,
) -> Result<(), PlanError> {
    let refused = |cause: String, action: String| {
        Err(PlanError::Refused {
            option,
            given: format_bytes(bytes),
            cause,
            action,
        })
    };
    if bytes < bytes_min {
        return refused(format!("{least} {}", format_bytes(bytes_min)), action.to_owned());
    }
    if bytes > growth::FILE_BYTES_MAX {
        let cause = "a single log file cannot be larger than 2 TB (error 5150)".to_owned();
        return refused(cause, "give 2TB or less; more takes a second log file".to_owned());
    }
    if !bytes.is_multiple_of(PAGE_BYTES) {
        let whole = bytes.next_multiple_of(PAGE_BYTES) / 1024;
        return refused(
            "a log file has whole pages of 8 KB".to_owned(),
            format!("give {whole}KB"),
        );
    }
    Ok(())
}

const NO_GROWTH: &str = "give a size (64MB) or a percentage (10%), or leave it out for a log that does not grow";

impl PlanRequest {
    /// Names the first option whose value no log can have.
    fn check(&self) -> Result<(), PlanError> {
        if let Start::Create(bytes) = self.start {
            let least = "the smallest log file has";
            check_size("--initial", bytes, growth::FILE_BYTES_MIN, least, "give 504KB or more")?;
        }
        let steps = self.growths.iter().map(|growth| ("--grow", growth));
        for (option, growth) in steps.chain(self.autogrowth.iter().map(|growth| ("--growth", growth))) {
            match growth {
                Growth::Bytes(bytes) => {
                    check_size(
                        option,
                        *bytes,
                        growth::VLF_BYTES_MIN,
                        "the smallest growth is one VLF of",
                        NO_GROWTH,
                    )?;
                }
                Growth::Percent(0) => {
                    return Err(PlanError::Refused {
                        option,
                        given: growth.to_string(),
                        cause: "the smallest growth is 1 %".to_owned(),
                        action: NO_GROWTH.to_owned(),
                    });
                }
                Growth::Percent(_) => {}
            }
        }
        if let Some(to_bytes) = self.to_bytes {
            let least = "the smallest log file has";
            check_size(
                "--to",
                to_bytes,
                growth::FILE_BYTES_MIN,
                least,
                "give the size that the log shall reach",
            )?;
        }
        Ok(())
    }
}

/// The totals of `request` under the rules of `version`, without building its layout.
fn total_on(version: ServerVersion, request: &PlanRequest) -> Result<VersionTotal, PlanError> {
    let mut total = match &request.start {
        Start::Create(file_bytes) => {
            let chunk = growth::create_plan(version, *file_bytes)?;
            let (vlf_bytes_min, vlf_bytes_max) = sizes_of(chunk);
            VersionTotal {
                version,
                vlf_count: u64::from(chunk.vlf_count),
                vlf_bytes_min,
                vlf_bytes_max,
                file_bytes: *file_bytes,
            }
        }
        Start::Existing(layout) => {
            let sizes = layout.vlfs().iter().map(|vlf| vlf.span.bytes);
            VersionTotal {
                version,
                vlf_count: layout.vlf_count() as u64,
                vlf_bytes_min: sizes.clone().min().unwrap_or(0),
                vlf_bytes_max: sizes.max().unwrap_or(0),
                file_bytes: layout.file_bytes(),
            }
        }
    };
    each_growth(request, total.file_bytes, |growth_bytes, _| {
        let chunk = growth::grow_plan(version, total.file_bytes, growth_bytes)?;
        total.vlf_count += u64::from(chunk.vlf_count);
        let (vlf_bytes_min, vlf_bytes_max) = sizes_of(chunk);
        total.vlf_bytes_min = total.vlf_bytes_min.min(vlf_bytes_min);
        total.vlf_bytes_max = total.vlf_bytes_max.max(vlf_bytes_max);
        total.file_bytes += growth_bytes;
        Ok(())
    })?;
    Ok(total)
}

/// Smallest and largest VLF of a chunk; a chunk of one VLF has only its last.
fn sizes_of(chunk: ChunkPlan) -> (u64, u64) {
    let others = if chunk.vlf_count > 1 {
        chunk.vlf_bytes
    } else {
        chunk.last_vlf_bytes
    };
    (others.min(chunk.last_vlf_bytes), others.max(chunk.last_vlf_bytes))
}

/// Why a plan cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanError {
    /// The growth rules refuse a size.
    Rule(RuleError),
    /// A value that no log can have.
    Refused {
        /// The option it was given for.
        option: &'static str,
        given: String,
        /// Why not.
        cause: String,
        action: String,
    },
    /// A growth that the rules refuse for a log of this size.
    Growth {
        /// The option that has it.
        option: &'static str,
        growth: Growth,
        /// What the file has before it.
        file_bytes: u64,
        rule: RuleError,
    },
    /// A size to reach that the log has already.
    AlreadyReached {
        /// What the file has, after the growths to do first.
        file_bytes: u64,
        /// What it should reach.
        to_bytes: u64,
    },
    /// A size to reach, and nothing to reach it with.
    NoGrowth {
        /// What the file has.
        file_bytes: u64,
        /// What it should have.
        to_bytes: u64,
    },
    /// An automatic growth, and no size at which it ends.
    NoSizeToReach,
    /// More than [`GROWTHS_MAX`] growths.
    TooManyGrowths,
    /// A search without the size the log shall have.
    NoTargetSize,
    /// No steps were found that lead to the size asked for.
    NotFound {
        /// The size asked for.
        file_bytes: u64,
        /// What a shrink leaves of the log.
        least_bytes: u64,
    },
}

impl From<RuleError> for PlanError {
    fn from(error: RuleError) -> PlanError {
        PlanError::Rule(error)
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::Rule(error) => error.fmt(f),
            PlanError::Refused {
                option,
                given,
                cause,
                action,
            } => write!(f, "{option} {given}: {cause}; {action}"),
            PlanError::Growth {
                option,
                growth,
                file_bytes,
                rule: RuleError::TooLarge { .. },
            } => write!(
                f,
                "{option} {growth}: a log of {} would grow beyond 2 TB, and a single log file cannot be larger (error 5150); give a smaller \
                 growth, or a smaller size to reach",
                format_bytes(*file_bytes)
            ),
            PlanError::Growth {
                option,
                growth,
                file_bytes,
                rule,
            } => write!(
                f,
                "{option} {growth}: a log of {} cannot grow so: {rule}",
                format_bytes(*file_bytes)
            ),
            PlanError::AlreadyReached { file_bytes, to_bytes } => write!(
                f,
                "--to {}: the log has {} before it grows by itself, so there is nothing left to reach; give a larger size",
                format_bytes(*to_bytes),
                format_bytes(*file_bytes)
            ),
            PlanError::NoGrowth { file_bytes, to_bytes } => write!(
                f,
                "the log has {} and shall have {}: say by how much it grows with --growth (64MB, 10%)",
                format_bytes(*file_bytes),
                format_bytes(*to_bytes)
            ),
            PlanError::NoSizeToReach => {
                f.write_str("--growth is repeated until the log has a size: say which with --to (64GB)")
            }
            PlanError::TooManyGrowths => write!(
                f,
                "more than {} growths: use a larger growth increment",
                group_digits(GROWTHS_MAX as u64)
            ),
            PlanError::NoTargetSize => {
                f.write_str("say which size the log shall have with --target-size (or --to, or --from an existing log)")
            }
            PlanError::NotFound {
                file_bytes,
                least_bytes,
            } => write!(
                f,
                "--target-size {}: no growth steps lead to it, because a shrink leaves {} of this log at least; give more",
                format_bytes(*file_bytes),
                format_bytes(*least_bytes)
            ),
        }
    }
}

impl std::error::Error for PlanError {}
