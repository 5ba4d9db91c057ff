//! The cost of a plan on a disk: the current log compared with the planned one, in seconds, computed by [`device::layout`].
//!
//! ```text
//! Start --> LogLayout --.
//!                        >--> LogShape --> LayoutPrices
//! Plan  --> LogLayout --'         |
//!      `--> growths --------------+--> price of each growth, of the next automatic one
//! ```
//! Growths write zeros, but for automatic ones up to 64 MB since SQL Server 2022 (SQL Server docs, instant file initialization). The create
//! LSNs of an existing log show its growths, but not whether they were automatic. From 2022 on, growths of up to 64 MB that made one VLF
//! count as automatic.

use device::layout::{LayoutPrices, LogShape};
use device::parameter::Ranges;
use device::practice::Practice;
use device::price::{self, GrowthRun, Price, VlfRun};
use vlf::{LayoutRun, LogLayout, ServerVersion};

use crate::plan::{Plan, PlanStep};
use crate::size::{Growth, MB, group_digits};

/// Automatic growths up to this size write no zeros since SQL Server 2022.
pub(crate) const INSTANT_GROWTH_BYTES_MAX: u64 = 64 * MB;

/// The disk that a plan is priced on.
#[derive(Clone, Debug, PartialEq)]
pub struct PricedDisk {
    /// As `--disk` names it.
    pub name: String,
    pub title: String,
    /// Its figures.
    pub ranges: Ranges,
    /// If no disk was named: why this one is used, and the other ones. A line each.
    pub why: Vec<String>,
}

/// What one layout costs, and how much of what is paid for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogPrice {
    pub file_bytes: u64,
    pub vlf_count: u64,
    pub growth_count: u64,
    pub prices: LayoutPrices,
}

impl LogPrice {
    /// What a log costs as it is.
    pub fn of_layout(layout: &LogLayout, version: ServerVersion, ranges: &Ranges) -> LogPrice {
        LogPrice::of_shape(layout.file_bytes(), &shape_of_layout(layout, version), ranges, version)
    }

    fn of_shape(file_bytes: u64, shape: &LogShape, ranges: &Ranges, version: ServerVersion) -> LogPrice {
        LogPrice {
            file_bytes,
            vlf_count: shape.vlf_count(),
            growth_count: shape.growth_count(),
            prices: LayoutPrices::of(shape, ranges, practice(version)),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct PlanPrice {
    pub disk: PricedDisk,
    /// Whose way of working is priced.
    pub version: ServerVersion,
    /// The log as it is; `None` for one that is created.
    pub existing: Option<LogPrice>,
    /// The log as it is, grown on to the planned size without the plan; `None` where it has that size already. A small log beside a large
    /// one would look cheaper than it is.
    pub grown_on: Option<(LogPrice, UsualGrowth)>,
    pub planned: LogPrice,
    /// Each growth of the plan, in its order.
    pub growths: Vec<Price>,
    /// The next automatic growth, where the plan has a setting for it: bytes and seconds.
    pub automatic: Option<(u64, Price)>,
}

impl PlanPrice {
    /// Prices `plan`, and `existing` beside it.
    pub fn of(plan: &Plan, existing: Option<&LogLayout>, disk: PricedDisk) -> PlanPrice {
        let ranges = &disk.ranges;
        let of_layout = |layout: &LogLayout| LogPrice::of_layout(layout, plan.version, ranges);
        let planned_bytes = plan.layout.file_bytes();
        let grown_on = existing.and_then(|layout| grow_on(layout, plan.version, planned_bytes));
        PlanPrice {
            existing: existing.map(of_layout),
            grown_on: grown_on.map(|(layout, growth)| (of_layout(&layout), growth)),
            planned: LogPrice::of_shape(planned_bytes, &shape_of_plan(plan), ranges, plan.version),
            growths: growth_prices(plan, ranges),
            automatic: plan
                .autogrowth
                .and_then(|growth| automatic_growth(plan, growth))
                .map(|run| (run.step_bytes, price_of_growth(run, plan.layout.file_bytes(), ranges))),
            version: plan.version,
            disk,
        }
    }
}

/// How a server of this version goes about the work on its log.
pub fn practice(version: ServerVersion) -> Practice {
    match version >= ServerVersion::V2014 {
        true => Practice::UNPUBLISHED_DISCOVERY,
        false => Practice::SERIAL_DISCOVERY,
    }
}

/// Published facts about the startup of such a server beyond the model, with their source; `None` = its mechanism is known.
pub fn start_is_published_as(version: ServerVersion) -> Option<&'static str> {
    practice(version).published_vlf_s.map(|_| {
        "How SQL Server 2014 and later find their VLFs is not published. What is: 10,000 VLFs took 4 s longer than 20 did (Bob Ward, microsoft/bobsql, \
         2024, hardware not named). The range holds that figure; `vlflab run curve --target` measures it on your server."
    })
}

/// The growth of a log without a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsualGrowth {
    pub growth: Growth,
    /// Its last growth had this size; else it is what the version takes when nothing is set.
    pub is_of_last: bool,
}

/// Growths that are carried out to find the size of a log that grows on.
const GROWN_ON_MAX: u64 = 262_144;

/// The log after the growths that it would do by itself until it has `file_bytes`; `None` if it would never grow, or would
/// grow too often to list.
///
/// A log that has never grown takes the default of its version: 64 MB since 2016, 10 % before (SQL Server docs, ALTER DATABASE file and
/// filegroup options).
fn grow_on(layout: &LogLayout, version: ServerVersion, file_bytes: u64) -> Option<(LogLayout, UsualGrowth)> {
    let last = layout.growth_step();
    let of_last = layout.vlfs().iter().rev().take_while(|vlf| vlf.growth_step == last);
    let last_bytes: u64 = of_last.map(|vlf| vlf.span.bytes).sum();
    let growth = match last {
        0 if version >= ServerVersion::V2016 => Growth::Bytes(64 * MB),
        0 => Growth::Percent(10),
        _ => Growth::Bytes(last_bytes),
    };
    let missing_bytes = file_bytes
        .checked_sub(layout.file_bytes())
        .filter(|missing| *missing > 0)?;
    let mut grown = layout.clone();
    grown.set_version(version);
    match growth {
        Growth::Bytes(bytes) if missing_bytes.div_ceil(bytes.max(1)) <= GROWN_ON_MAX => {
            grown.grow_until(file_bytes, bytes).ok()?;
        }
        Growth::Bytes(_) => return None,
        Growth::Percent(percent) => {
            while grown.file_bytes() < file_bytes {
                grown.grow_percent(percent).ok()?;
            }
        }
    }
    let is_of_last = last > 0;
    Some((grown, UsualGrowth { growth, is_of_last }))
}

/// The log as it is: created, then grown.
fn shape_of_layout(layout: &LogLayout, version: ServerVersion) -> LogShape {
    let growth = |run: &LayoutRun| {
        let step_bytes = u64::from(run.vlf_count - 1) * run.vlf_bytes + run.last_vlf_bytes;
        GrowthRun {
            times: u64::from(run.repeat),
            step_bytes,
            vlfs: u64::from(run.vlf_count),
            // More VLFs are of an older version.
            is_zeroed: !(is_instant(version, step_bytes) && run.vlf_count == 1),
        }
    };
    let mut growths: Vec<GrowthRun> = layout.runs().iter().map(growth).collect();
    let created = growths.first().copied();
    if let Some(first) = growths.first_mut() {
        first.times -= 1;
    }
    LogShape {
        first_bytes: created.map_or(0, |created| created.step_bytes),
        growths: growths.into_iter().filter(|run| run.times > 0).collect(),
        vlfs: vlf_runs(layout),
    }
}

fn shape_of_plan(plan: &Plan) -> LogShape {
    let mut growths: Vec<GrowthRun> = Vec::new();
    for step in plan.growths() {
        let run = growth_run(plan.version, step);
        match growths.last_mut() {
            Some(last) if (GrowthRun { times: 1, ..*last }) == run => last.times += 1,
            _ => growths.push(run),
        }
    }
    LogShape {
        first_bytes: plan.steps.first().map_or(0, |step| step.file_bytes),
        growths,
        vlfs: vlf_runs(&plan.layout),
    }
}

fn vlf_runs(layout: &LogLayout) -> Vec<VlfRun> {
    let runs = layout.vlfs().chunk_by(|one, other| one.span.bytes == other.span.bytes);
    let run = |vlfs: &[vlf::LaidVlf]| VlfRun {
        count: vlfs.len() as u64,
        vlf_bytes: vlfs.first().map_or(0, |vlf| vlf.span.bytes),
    };
    runs.map(run).collect()
}

fn growth_run(version: ServerVersion, step: &PlanStep) -> GrowthRun {
    GrowthRun {
        times: 1,
        step_bytes: step.growth_bytes,
        vlfs: u64::from(step.vlfs_added),
        is_zeroed: !(step.is_automatic && is_instant(version, step.growth_bytes)),
    }
}

fn is_instant(version: ServerVersion, growth_bytes: u64) -> bool {
    version >= ServerVersion::V2022 && growth_bytes <= INSTANT_GROWTH_BYTES_MAX
}

fn growth_prices(plan: &Plan, ranges: &Ranges) -> Vec<Price> {
    let priced = |step: &PlanStep| {
        let before = step.file_bytes - step.growth_bytes;
        price_of_growth(growth_run(plan.version, step), before, ranges)
    };
    plan.growths().iter().map(priced).collect()
}

fn price_of_growth(run: GrowthRun, file_bytes: u64, ranges: &Ranges) -> Price {
    Price::of(ranges, |figures| price::growths_s(figures, run, file_bytes))
}

/// The growth that comes after the plan, if its size is one that the rules allow.
fn automatic_growth(plan: &Plan, growth: Growth) -> Option<GrowthRun> {
    let now = plan.layout.file_bytes();
    let step_bytes = match growth {
        Growth::Bytes(bytes) => bytes,
        Growth::Percent(percent) => vlf::percent_growth(now, percent).ok()?.checked_sub(now)?,
    };
    let chunk = vlf::growth::grow_plan(plan.version, now, step_bytes).ok()?;
    Some(GrowthRun {
        times: 1,
        step_bytes,
        vlfs: u64::from(chunk.vlf_count),
        is_zeroed: !is_instant(plan.version, step_bytes),
    })
}

/// Seconds with three digits, without their unit: all figures of a table have the same.
pub fn seconds_text(seconds: f64) -> String {
    match seconds {
        s if s >= 100.0 => group_digits(s.round() as u64),
        s if s >= 10.0 => format!("{s:.1}"),
        s if s >= 1.0 => format!("{s:.2}"),
        s if s >= 0.0005 => format!("{s:.3}"),
        _ => "<0.001".to_owned(),
    }
}

/// From the best to the worst figures of the disk.
pub fn range_text(price: Price) -> String {
    let (fast, slow) = (seconds_text(price.fast_s), seconds_text(price.slow_s));
    if fast == slow { fast } else { format!("{fast} - {slow}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_have_three_digits_and_one_unit() {
        for (seconds, text) in [
            (31_596.4, "31,596"),
            (94.2, "94.2"),
            (5.194, "5.19"),
            (0.0873, "0.087"),
            (0.000_02, "<0.001"),
            (0.0, "<0.001"),
        ] {
            assert_eq!(seconds_text(seconds), text);
        }
        let price = Price {
            fast_s: 83.0,
            typical_s: 94.0,
            slow_s: 112.0,
        };
        assert_eq!(range_text(price), "83.0 - 112");
    }
}
