//! Warnings about a plan, each with a remedy.
//!
//! | code | fires when | source of the limit |
//! |---|---|---|
//! | `many-vlfs` | over 1,000 VLFs, or over 200 that average below 64 MB | sp_Blitz (999), Glenn Berry (200), error 9017 |
//! | `large-vlfs` | a VLF over 1 GB | Kimberly Tripp: log space is cleared a whole VLF at a time |
//! | `stalling-growth` | a growth of more than 1 GB, or of more than 64 MB every time the log fills | zeroing; SQL Server docs |
//! | `many-growths` | over 1,000 growths | each one stops the writers once |
//! | `percent-growth` | automatic growth in percent | grows with the file |
//! | `four-gigabyte-multiple` | such a growth up to 2008 R2 | fixed in 2012 |
//! | `upgrade-2014`, `upgrade-2022` | the same steps give another layout there | Paul Randal; SQL Server docs |
//! | `overshoot` | the last automatic growth passes the size asked for | |

use serde::Serialize;
use vlf::ServerVersion;
use vlf::growth::growth_warning;

use crate::plan::Plan;
use crate::price::INSTANT_GROWTH_BYTES_MAX;
use crate::size::{GB, Growth, MB, format_bytes, group_digits};

/// How much a warning matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Good to know.
    Note,
    /// Worth a change of the plan.
    Warning,
    /// Will hurt.
    Serious,
}

impl Severity {
    /// The label shown before the text.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Serious => "serious",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// A short name that stays the same between releases.
    pub code: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// What will happen.
    pub text: String,
    pub action: String,
}

/// Many VLFs by any standard (sp_Blitz reports 1,000 and more; so does error 9017 on 2008 R2).
const MANY_VLFS: u64 = 1_000;
/// VLFs at which error 9017 is logged since 2012.
const VERY_MANY_VLFS: u64 = 10_000;
/// Glenn Berry: under 200 in most cases.
const MORE_THAN_USUAL_VLFS: u64 = 200;

/// Every warning of a plan, the most severe first.
pub(crate) fn of_plan(plan: &Plan) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = [
        many_vlfs(plan),
        large_vlfs(plan),
        stalling_growth(plan),
        many_growths(plan),
        percent_growth(plan),
        four_gigabyte_multiple(plan),
        upgrade(plan, ServerVersion::V2014),
        upgrade(plan, ServerVersion::V2022),
    ]
    .into_iter()
    .flatten()
    .collect();
    warnings.sort_by_key(|warning| std::cmp::Reverse(warning.severity));
    warnings
}

/// The note of a plan whose last growth passes the size asked for.
pub(crate) fn overshoot(file_bytes: u64, to_bytes: u64) -> Option<Warning> {
    (file_bytes > to_bytes).then(|| Warning {
        code: "overshoot",
        severity: Severity::Note,
        text: format!(
            "the last growth takes the log to {}, past {}: automatic growth is never cut short",
            format_bytes(file_bytes),
            format_bytes(to_bytes)
        ),
        action: "set MAXSIZE if the log must not become larger".to_owned(),
    })
}

fn many_vlfs(plan: &Plan) -> Option<Warning> {
    let count = plan.layout.vlf_count() as u64;
    let average = plan.layout.file_bytes() / count.max(1);
    let severity = match count {
        _ if count > VERY_MANY_VLFS => Severity::Serious,
        _ if count >= MANY_VLFS => Severity::Warning,
        _ if count > MORE_THAN_USUAL_VLFS && average < 64 * MB => Severity::Note,
        _ => return None,
    };
    Some(Warning {
        code: "many-vlfs",
        severity,
        text: format!(
            "{} VLFs of {} on average: startup after a crash, restore, log backup and growth take longer with each one",
            group_digits(count),
            format_bytes(average)
        ),
        action: format!(
            "reach the size in fewer, larger growths: vlflab plan --sql-version {} --target-size {}MB prints the script",
            plan.version.name().replace(' ', ""),
            plan.layout.file_bytes().div_ceil(MB)
        ),
    })
}

fn large_vlfs(plan: &Plan) -> Option<Warning> {
    let largest = plan.vlf_bytes_max();
    if largest <= GB {
        return None;
    }
    let share = largest * 100 / plan.layout.file_bytes().max(1);
    let by_eighth = plan.version >= ServerVersion::V2014
        && plan
            .growths()
            .iter()
            .any(|step| step.vlfs_added == 1 && step.growth_bytes > GB);
    let cause = if by_eighth {
        "; since SQL Server 2014 a growth below one eighth of the log makes a single VLF"
    } else {
        ""
    };
    Some(Warning {
        code: "large-vlfs",
        severity: if share >= 12 { Severity::Warning } else { Severity::Note },
        text: format!(
            "the largest VLF has {} ({share} % of the log), and log space is cleared only a whole VLF at a time{cause}",
            format_bytes(largest)
        ),
        action: if by_eighth {
            "once the log is above 8 GB, grow by at most 1 GB at a time".to_owned()
        } else {
            "grow in steps of 8000 MB or less: 16 VLFs of 500 MB each".to_owned()
        },
    })
}

/// The growth the log will do by itself, as bytes at its final size.
fn automatic_growth_bytes(plan: &Plan) -> Option<u64> {
    match plan.autogrowth? {
        Growth::Bytes(bytes) => Some(bytes),
        Growth::Percent(percent) => Some((plan.layout.file_bytes() / 100).saturating_mul(u64::from(percent))),
    }
}

fn stalling_growth(plan: &Plan) -> Option<Warning> {
    let bytes = automatic_growth_bytes(plan)?;
    let instant = plan.version >= ServerVersion::V2022;
    if bytes <= INSTANT_GROWTH_BYTES_MAX {
        return None;
    }
    let since_2022 = if instant {
        "; from SQL Server 2022 on, growths up to 64 MB skip the zeroing, this one does not"
    } else {
        ""
    };
    Some(Warning {
        code: "stalling-growth",
        severity: if bytes > GB { Severity::Warning } else { Severity::Note },
        text: format!(
            "every automatic growth writes {} of zeros while all writers wait{since_2022}",
            format_bytes(bytes)
        ),
        action: if instant {
            "grow to the size needed beforehand and leave FILEGROWTH = 64MB for the unexpected".to_owned()
        } else {
            "grow to the size needed beforehand, at a quiet hour, and keep FILEGROWTH at what the disk zeroes in a second"
                .to_owned()
        },
    })
}

fn many_growths(plan: &Plan) -> Option<Warning> {
    let growths = plan.growths().len() as u64;
    (growths > 1_000).then(|| Warning {
        code: "many-growths",
        severity: Severity::Warning,
        text: format!(
            "the log grows {} times, and each growth makes all writers wait once",
            group_digits(growths)
        ),
        action: "create the log at the size it needs, or raise FILEGROWTH".to_owned(),
    })
}

fn percent_growth(plan: &Plan) -> Option<Warning> {
    let Some(Growth::Percent(percent)) = plan.autogrowth else {
        return None;
    };
    let (first, last) = (plan.growths().first()?, plan.growths().last()?);
    Some(Warning {
        code: "percent-growth",
        severity: Severity::Warning,
        text: format!(
            "{percent} % is {} at the first growth and {} at the last: small growths make many VLFs early, large ones stall \
             writers late",
            format_bytes(first.growth_bytes),
            format_bytes(last.growth_bytes)
        ),
        action: "set FILEGROWTH to a fixed size".to_owned(),
    })
}

fn four_gigabyte_multiple(plan: &Plan) -> Option<Warning> {
    let faulty = plan
        .growths()
        .iter()
        .find(|step| growth_warning(plan.version, step.growth_bytes).is_some())?;
    Some(Warning {
        code: "four-gigabyte-multiple",
        severity: Severity::Serious,
        text: format!(
            "a growth of {} is an exact multiple of 4 GB: up to SQL Server 2008 R2 the file then first grows by tiny steps and \
             gets very many VLFs (not simulated here; fixed in 2012)",
            format_bytes(faulty.growth_bytes)
        ),
        action: "grow by 4000 MB or 8000 MB instead".to_owned(),
    })
}

fn upgrade(plan: &Plan, to: ServerVersion) -> Option<Warning> {
    if plan.version >= to {
        return None;
    }
    // Over 2014 to 2022, only what 2022 itself changes is mentioned.
    let before = if to > ServerVersion::V2014 {
        plan.version.max(ServerVersion::V2014)
    } else {
        plan.version
    };
    let (now, then) = (plan.total(before)?, plan.total(to)?);
    if now.vlf_count == then.vlf_count {
        return None;
    }
    let (code, rule) = if to == ServerVersion::V2014 {
        ("upgrade-2014", "a growth below one eighth of the log makes one VLF")
    } else {
        ("upgrade-2022", "a growth up to 64 MB makes one VLF")
    };
    Some(Warning {
        code,
        severity: Severity::Note,
        text: format!(
            "from SQL Server {to} on {rule}: the same steps give {} VLFs there, the largest of {}, instead of {}",
            group_digits(then.vlf_count),
            format_bytes(then.vlf_bytes_max),
            group_digits(now.vlf_count)
        ),
        action: "an upgrade keeps the VLFs a log has; plan again before the log grows there".to_owned(),
    })
}
