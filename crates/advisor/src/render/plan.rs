//! A plan as text.

use std::fmt::Write;
use std::io;

use serde::Serialize;

use super::table::{Align, Table};
use crate::map;
use crate::plan::{Plan, PlanStep};
use crate::search::Found;
use crate::size::{format_bytes, group_digits};
use crate::warning::Warning;

/// What is shown of a plan.
#[derive(Clone, Copy, Debug)]
pub struct PlanText<'a> {
    pub plan: &'a Plan,
    /// How it was found, if it was searched for.
    pub found: Option<&'a Found>,
    /// The script of a plan that was searched for.
    pub tsql: Option<&'a str>,
    /// Draw the ring, in the forms for people.
    pub map: bool,
}

/// Step rows shown before the middle is left out.
const STEP_ROWS_MAX: usize = 40;

/// Equal steps next to each other are one row.
struct StepRun {
    first: usize,
    last: usize,
    step: PlanStep,
    vlf_count: u64,
}

fn step_runs(plan: &Plan) -> Vec<StepRun> {
    let mut runs: Vec<StepRun> = Vec::new();
    let mut vlf_count = 0;
    for (index, step) in plan.steps.iter().enumerate() {
        vlf_count += u64::from(step.vlfs_added);
        match runs.last_mut() {
            Some(run)
                if run.first > 0
                    && (run.step.growth_bytes, run.step.vlfs_added) == (step.growth_bytes, step.vlfs_added) =>
            {
                run.last = index;
                run.step = *step;
                run.vlf_count = vlf_count;
            }
            _ => runs.push(StepRun {
                first: index,
                last: index,
                step: *step,
                vlf_count,
            }),
        }
    }
    runs
}

fn steps_table(plan: &Plan) -> (Table, Option<usize>) {
    let mut table = Table::new(&[
        ("step", Align::Right),
        ("growth", Align::Right),
        ("log size", Align::Right),
        ("VLFs added", Align::Right),
        ("VLFs", Align::Right),
        ("largest added", Align::Right),
    ]);
    let runs = step_runs(plan);
    let left_out = runs.len().saturating_sub(STEP_ROWS_MAX);
    for (index, run) in runs.iter().enumerate() {
        let half = STEP_ROWS_MAX / 2;
        if left_out > 0 && (half..half + left_out).contains(&index) {
            continue;
        }
        let times = run.last - run.first + 1;
        let name = match (run.first, times) {
            (0, _) if plan.from_existing => "now".to_owned(),
            (0, _) => "create".to_owned(),
            (first, 1) => first.to_string(),
            (first, _) => format!("{first}-{}", run.last),
        };
        let repeated = if times > 1 {
            format!("{} x ", group_digits(times as u64))
        } else {
            String::new()
        };
        table.row(vec![
            name,
            if run.first == 0 {
                String::new()
            } else {
                format!("{repeated}+{}", format_bytes(run.step.growth_bytes))
            },
            format_bytes(run.step.file_bytes),
            format!("{repeated}{}", run.step.vlfs_added),
            group_digits(run.vlf_count),
            format_bytes(run.step.vlf_bytes_max),
        ]);
    }
    (table, (left_out > 0).then_some(left_out))
}

fn totals_table(plan: &Plan) -> Table {
    let mut table = Table::new(&[
        ("SQL Server", Align::Left),
        ("VLFs", Align::Right),
        ("smallest", Align::Right),
        ("largest", Align::Right),
        ("log size", Align::Right),
        ("", Align::Left),
    ]);
    for total in &plan.totals {
        table.row(vec![
            total.version.to_string(),
            group_digits(total.vlf_count),
            format_bytes(total.vlf_bytes_min),
            format_bytes(total.vlf_bytes_max),
            format_bytes(total.file_bytes),
            if total.version == plan.version {
                "<- this plan".to_owned()
            } else {
                String::new()
            },
        ]);
    }
    table
}

fn title(plan: &Plan) -> String {
    format!(
        "SQL Server {}: {} VLFs in {}",
        plan.version,
        group_digits(plan.layout.vlf_count() as u64),
        format_bytes(plan.layout.file_bytes())
    )
}

fn search_line(found: &Found) -> String {
    let got = found.plan.layout.vlf_count() as u64;
    let verdict = if got == found.target_vlfs {
        "exactly".to_owned()
    } else {
        format!("the nearest found is {}", group_digits(got))
    };
    let shrink = match found.shrink_to_vlfs {
        Some(vlfs) => format!("after a shrink to {vlfs} VLFs"),
        None => "without a shrink".to_owned(),
    };
    format!(
        "Wished for: {} VLFs; {verdict}, {shrink}.",
        group_digits(found.target_vlfs)
    )
}

/// For a terminal.
pub fn plan_table(text: PlanText<'_>) -> String {
    let PlanText { plan, found, tsql, map } = text;
    let mut out = format!("{}\n", title(plan));
    if let Some(found) = found {
        let _ = writeln!(out, "{}", search_line(found));
    }
    let (steps, left_out) = steps_table(plan);
    let _ = write!(out, "\nSteps\n{}", steps.text());
    if let Some(left_out) = left_out {
        let _ = writeln!(
            out,
            "  ({left_out} rows in the middle left out; --format csv has them all)"
        );
    }
    let _ = write!(out, "\nThe same steps on every version\n{}", totals_table(plan).text());
    if map {
        let _ = write!(out, "\nThe ring of VLFs\n{}", map::of_layout(&plan.layout));
    }
    if !plan.warnings.is_empty() {
        out.push_str("\nBefore you do it\n");
    }
    for warning in &plan.warnings {
        let _ = writeln!(
            out,
            "  {}: {}\n    -> {}",
            warning.severity.word(),
            warning.text,
            warning.action
        );
    }
    if let Some(tsql) = tsql {
        let _ = write!(out, "\nT-SQL\n\n{tsql}");
    }
    out
}

/// For a ticket or a wiki.
pub fn plan_markdown(text: PlanText<'_>) -> String {
    let PlanText { plan, found, tsql, map } = text;
    let mut out = format!("# {}\n\n", title(plan));
    if let Some(found) = found {
        let _ = writeln!(out, "{}\n", search_line(found));
    }
    let (steps, left_out) = steps_table(plan);
    let _ = write!(out, "## Steps\n\n{}", steps.markdown());
    if let Some(left_out) = left_out {
        let _ = writeln!(out, "\n{left_out} rows in the middle left out.");
    }
    let _ = write!(
        out,
        "\n## The same steps on every version\n\n{}",
        totals_table(plan).markdown()
    );
    if map {
        let _ = write!(
            out,
            "\n## The ring of VLFs\n\n```text\n{}```\n",
            map::of_layout(&plan.layout)
        );
    }
    if !plan.warnings.is_empty() {
        out.push_str("\n## Before you do it\n\n");
    }
    for warning in &plan.warnings {
        let _ = writeln!(
            out,
            "- **{}**: {}. *{}.*",
            warning.severity.word(),
            warning.text,
            warning.action
        );
    }
    if let Some(tsql) = tsql {
        let _ = write!(out, "\n## T-SQL\n\n```sql\n{tsql}```\n");
    }
    out
}

/// Every step, in bytes.
pub fn plan_csv(plan: &Plan) -> String {
    let mut out = String::from("step,growth_bytes,file_bytes,vlfs_added,vlf_count,vlf_bytes_max\n");
    let mut vlf_count = 0;
    for (index, step) in plan.steps.iter().enumerate() {
        vlf_count += u64::from(step.vlfs_added);
        let _ = writeln!(
            out,
            "{index},{},{},{},{vlf_count},{}",
            step.growth_bytes, step.file_bytes, step.vlfs_added, step.vlf_bytes_max
        );
    }
    out
}

#[derive(Serialize)]
struct PlanDocument<'a> {
    sql_version: &'a str,
    file_bytes: u64,
    vlf_count: usize,
    steps: Vec<StepRow>,
    totals: Vec<TotalRow<'a>>,
    warnings: &'a [Warning],
    #[serde(skip_serializing_if = "Option::is_none")]
    search: Option<SearchRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tsql: Option<&'a str>,
    vlfs: Vec<VlfRow>,
}

#[derive(Serialize)]
struct StepRow {
    growth_bytes: u64,
    file_bytes: u64,
    vlfs_added: u32,
}

#[derive(Serialize)]
struct TotalRow<'a> {
    sql_version: &'a str,
    vlf_count: u64,
    vlf_bytes_min: u64,
    vlf_bytes_max: u64,
    file_bytes: u64,
}

#[derive(Serialize)]
struct SearchRow {
    target_vlfs: u64,
    shrink_to_vlfs: Option<usize>,
}

#[derive(Serialize)]
struct VlfRow {
    offset: u64,
    size: u64,
    growth_step: u32,
}

/// One JSON object, ended by a line break.
///
/// # Errors
/// `out` refuses a write.
pub fn plan_json(text: PlanText<'_>, out: &mut dyn io::Write) -> io::Result<()> {
    let plan = text.plan;
    let document = PlanDocument {
        sql_version: plan.version.name(),
        file_bytes: plan.layout.file_bytes(),
        vlf_count: plan.layout.vlf_count(),
        steps: plan
            .steps
            .iter()
            .map(|step| StepRow {
                growth_bytes: step.growth_bytes,
                file_bytes: step.file_bytes,
                vlfs_added: step.vlfs_added,
            })
            .collect(),
        totals: plan
            .totals
            .iter()
            .map(|total| TotalRow {
                sql_version: total.version.name(),
                vlf_count: total.vlf_count,
                vlf_bytes_min: total.vlf_bytes_min,
                vlf_bytes_max: total.vlf_bytes_max,
                file_bytes: total.file_bytes,
            })
            .collect(),
        warnings: &plan.warnings,
        search: text.found.map(|found| SearchRow {
            target_vlfs: found.target_vlfs,
            shrink_to_vlfs: found.shrink_to_vlfs,
        }),
        tsql: text.tsql,
        vlfs: plan
            .layout
            .vlfs()
            .iter()
            .map(|vlf| VlfRow {
                offset: vlf.span.offset,
                size: vlf.span.bytes,
                growth_step: vlf.growth_step,
            })
            .collect(),
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    out.write_all(b"\n")
}
