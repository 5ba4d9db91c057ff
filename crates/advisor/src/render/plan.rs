//! A plan as text.

use std::fmt::Write;
use std::io;

use serde::Serialize;

use super::price::{PriceRow, price_notes, price_row, price_table, price_title};
use super::table::{Align, Table};
use crate::map;
use crate::plan::{Plan, PlanStep, VersionTotal};
use crate::price::PlanPrice;
use crate::search::Found;
use crate::size::{format_bytes, format_column, group_digits};
use crate::warning::Warning;

/// What is shown of a plan.
#[derive(Clone, Copy, Debug)]
pub struct PlanText<'a> {
    pub plan: &'a Plan,
    /// How it was found, if it was searched for.
    pub found: Option<&'a Found>,
    /// The script of a plan that was searched for.
    pub tsql: Option<&'a str>,
    /// What it costs on a disk.
    pub price: Option<&'a PlanPrice>,
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

/// One row of the table of steps.
struct StepLine {
    name: String,
    /// How often the growth is repeated; 0 = no growth.
    times: u64,
    growth_bytes: u64,
    file_bytes: u64,
    vlfs_added: String,
    vlf_count: u64,
    vlf_bytes_max: u64,
}

/// The rows of the table of steps: the log as it is, a shrink if one comes first, the growths.
fn step_lines(plan: &Plan, found: Option<&Found>) -> Vec<StepLine> {
    let shrunk = found.filter(|found| found.shrink_to_vlfs.is_some());
    let existing = shrunk.map(|found| StepLine {
        name: "now".to_owned(),
        times: 0,
        growth_bytes: 0,
        file_bytes: found.existing.file_bytes,
        vlfs_added: String::new(),
        vlf_count: found.existing.vlf_count,
        vlf_bytes_max: found.existing.vlf_bytes_max,
    });
    let steps = step_runs(plan).into_iter().map(|run| {
        let times = (run.last - run.first + 1) as u64;
        let name = match (run.first, times) {
            (0, _) if shrunk.is_some() => "shrink".to_owned(),
            (0, _) if plan.from_existing => "now".to_owned(),
            (0, _) => "create".to_owned(),
            (first, 1) => first.to_string(),
            (first, _) => format!("{first}-{}", run.last),
        };
        StepLine {
            name,
            times: if run.first == 0 { 0 } else { times },
            growth_bytes: if run.first == 0 { 0 } else { run.step.growth_bytes },
            file_bytes: run.step.file_bytes,
            vlfs_added: match (run.first, times) {
                (0, _) if plan.from_existing => String::new(),
                (_, 1) => run.step.vlfs_added.to_string(),
                (_, times) => format!("{} x {}", group_digits(times), run.step.vlfs_added),
            },
            vlf_count: run.vlf_count,
            vlf_bytes_max: run.step.vlf_bytes_max,
        }
    });
    existing.into_iter().chain(steps).collect()
}

pub(super) fn steps_table(plan: &Plan, found: Option<&Found>) -> (Table, Option<usize>) {
    let mut table = Table::new(&[
        ("step", Align::Right),
        ("growth", Align::Right),
        ("log size", Align::Right),
        ("VLFs added", Align::Right),
        ("VLFs", Align::Right),
        ("largest VLF", Align::Right),
    ]);
    let mut lines = step_lines(plan, found);
    let left_out = lines.len().saturating_sub(STEP_ROWS_MAX);
    if left_out > 0 {
        lines.drain(STEP_ROWS_MAX / 2..STEP_ROWS_MAX / 2 + left_out);
    }
    let column = |value: fn(&StepLine) -> u64| format_column(&lines.iter().map(value).collect::<Vec<_>>());
    let growths = column(|line| line.growth_bytes);
    let sizes = column(|line| line.file_bytes);
    let largest = column(|line| line.vlf_bytes_max);
    for (index, line) in lines.iter().enumerate() {
        let growth = match line.times {
            0 => String::new(),
            1 => format!("+{}", growths[index]),
            times => format!("{} x +{}", group_digits(times), growths[index]),
        };
        table.row(vec![
            line.name.clone(),
            growth,
            sizes[index].clone(),
            line.vlfs_added.clone(),
            group_digits(line.vlf_count),
            largest[index].clone(),
        ]);
    }
    (table, (left_out > 0).then_some(left_out))
}

pub(super) fn totals_table(plan: &Plan) -> Table {
    let mut table = Table::new(&[
        ("SQL Server", Align::Left),
        ("VLFs", Align::Right),
        ("smallest", Align::Right),
        ("largest", Align::Right),
        ("log size", Align::Right),
        ("", Align::Left),
    ]);
    let column = |value: fn(&VersionTotal) -> u64| format_column(&plan.totals.iter().map(value).collect::<Vec<_>>());
    let smallest = column(|total| total.vlf_bytes_min);
    let largest = column(|total| total.vlf_bytes_max);
    let sizes = column(|total| total.file_bytes);
    for (index, total) in plan.totals.iter().enumerate() {
        table.row(vec![
            total.version.to_string(),
            group_digits(total.vlf_count),
            smallest[index].clone(),
            largest[index].clone(),
            sizes[index].clone(),
            if total.version == plan.version {
                "<- this plan".to_owned()
            } else {
                String::new()
            },
        ]);
    }
    table
}

pub(super) fn title(plan: &Plan) -> String {
    format!(
        "SQL Server {}: {} VLFs in {}",
        plan.version,
        group_digits(plan.layout.vlf_count() as u64),
        format_bytes(plan.layout.file_bytes())
    )
}

pub(super) fn search_line(found: &Found) -> String {
    let got = found.plan.layout.vlf_count() as u64;
    let verdict = if got == found.target_vlfs {
        "exactly".to_owned()
    } else if found.is_advised {
        format!("these steps make {}", group_digits(got))
    } else {
        format!("the nearest found is {}", group_digits(got))
    };
    let shrink = match found.shrink_to_vlfs {
        Some(vlfs) => format!(
            "after a shrink of {} VLFs to {vlfs}",
            group_digits(found.existing.vlf_count)
        ),
        None => "without a shrink".to_owned(),
    };
    let about = if found.is_advised {
        "Advised: about"
    } else {
        "Wished for:"
    };
    format!("{about} {} VLFs; {verdict}, {shrink}.", group_digits(found.target_vlfs))
}

/// For a terminal.
pub fn plan_table(text: PlanText<'_>) -> String {
    let PlanText {
        plan,
        found,
        tsql,
        price,
        map,
    } = text;
    let mut out = format!("{}\n", title(plan));
    if let Some(found) = found {
        let _ = writeln!(out, "{}", search_line(found));
    }
    let (steps, left_out) = steps_table(plan, found);
    let _ = write!(out, "\nSteps\n{}", steps.text());
    if let Some(left_out) = left_out {
        let _ = writeln!(
            out,
            "  ({left_out} rows in the middle left out; --format csv has them all)"
        );
    }
    if let Some(price) = price {
        let _ = write!(out, "\n{}\n{}", price_title(price), price_table(price).text());
        for note in price_notes(price) {
            let _ = writeln!(out, "  {note}");
        }
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
    let PlanText {
        plan,
        found,
        tsql,
        price,
        map,
    } = text;
    let mut out = format!("# {}\n\n", title(plan));
    if let Some(found) = found {
        let _ = writeln!(out, "{}\n", search_line(found));
    }
    let (steps, left_out) = steps_table(plan, found);
    let _ = write!(out, "## Steps\n\n{}", steps.markdown());
    if let Some(left_out) = left_out {
        let _ = writeln!(out, "\n{left_out} rows in the middle left out.");
    }
    if let Some(price) = price {
        let _ = write!(out, "\n## {}\n\n{}", price_title(price), price_table(price).markdown());
        for note in price_notes(price) {
            let _ = write!(out, "\n{note}\n");
        }
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
    #[serde(skip_serializing_if = "Option::is_none")]
    price: Option<PriceRow<'a>>,
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
    existing_file_bytes: u64,
    existing_vlf_count: u64,
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
            existing_file_bytes: found.existing.file_bytes,
            existing_vlf_count: found.existing.vlf_count,
            shrink_to_vlfs: found.shrink_to_vlfs,
        }),
        tsql: text.tsql,
        price: text.price.map(price_row),
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
