//! Advice as text: for a terminal, a ticket, a program, a monitor.
//!
//! | form | what it holds |
//! |---|---|
//! | table, md | findings by priority, then each with its evidence, T-SQL and what happens otherwise, then a line for each database |
//! | jsonl | a finding a line, as an object; its names are a contract |
//! | csv | a finding a line: Priority, CheckID, Id, Outcome, Server, Database, Finding, ... |
//! | html | one page for a browser, in `advice_html` |
//! | nagios | one line, `VLFLAB state - text | label=value`, for a monitor's plugin |
//! | junit | a test case for each finding and a failure for each that asks for something |

use std::fmt::Write;
use std::str::FromStr;

use serde::Serialize;

use super::advice_html::advice_html;
use super::table::{Align, Table};
use crate::advice::{Advice, Check, Cost, Finding, Outcome};
use crate::html::escape;
use crate::size::{format_bytes, group_digits};
use crate::snapshot::Origin;

/// How advice is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AdviceFormat {
    #[default]
    Table,
    JsonLines,
    Csv,
    Markdown,
    Html,
    Nagios,
    Junit,
}

impl AdviceFormat {
    /// The names the command line takes.
    pub const NAMES: [&str; 7] = ["table", "jsonl", "csv", "md", "html", "nagios", "junit"];
}

impl FromStr for AdviceFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<AdviceFormat, String> {
        Ok(match text {
            "table" => AdviceFormat::Table,
            "jsonl" => AdviceFormat::JsonLines,
            "csv" => AdviceFormat::Csv,
            "md" => AdviceFormat::Markdown,
            "html" => AdviceFormat::Html,
            "nagios" => AdviceFormat::Nagios,
            "junit" => AdviceFormat::Junit,
            other => {
                let names = AdviceFormat::NAMES.join(", ");
                return Err(format!("'{other}' is not a format; formats are {names}"));
            }
        })
    }
}

/// A server that could not be read at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreached {
    pub name: String,
    pub reason: String,
}

/// Advice for an estate: servers that were read, and those that were not.
#[derive(Clone, Copy, Debug)]
pub struct AdviceText<'a> {
    pub servers: &'a [Advice],
    pub unreached: &'a [Unreached],
    /// Show also what needs nothing done, and what a server does not have.
    pub all: bool,
}

/// What is shown of a finding, with its server.
pub(super) struct Shown<'a> {
    pub(super) server: &'a str,
    pub(super) finding: &'a Finding,
}

impl<'a> AdviceText<'a> {
    /// The findings shown, the most urgent first; within a priority, those that cost the most seconds at a restart.
    pub(super) fn shown(&self) -> Vec<Shown<'a>> {
        let of_server = |advice: &'a Advice| {
            advice.findings.iter().map(|finding| Shown {
                server: &advice.name,
                finding,
            })
        };
        let is_gap = |finding: &Finding| finding.outcome == Outcome::NotChecked && finding.id == "not-checked";
        let mut shown: Vec<Shown<'a>> = self
            .servers
            .iter()
            .flat_map(of_server)
            .filter(|shown| self.all || shown.finding.outcome == Outcome::Act || is_gap(shown.finding))
            .collect();
        let seconds = |finding: &Finding| {
            let seconds = finding.cost.at_restart.as_ref().and_then(|cost| cost.seconds);
            seconds.map_or(0.0, |seconds| seconds.typical_s)
        };
        shown.sort_by(|one, other| {
            let by_priority = one.finding.priority.cmp(&other.finding.priority);
            by_priority.then_with(|| seconds(other.finding).total_cmp(&seconds(one.finding)))
        });
        shown
    }

    pub(super) fn is_estate(&self) -> bool {
        self.servers.len() + self.unreached.len() > 1
    }

    /// Gaps: what was not checked for want of a right, an answer or a connection.
    pub(super) fn gaps(&self) -> usize {
        let findings = self.servers.iter().flat_map(|advice| &advice.findings);
        findings.filter(|finding| finding.id == "not-checked").count()
    }

    pub(super) fn counted(&self, outcome: Outcome) -> usize {
        self.servers
            .iter()
            .map(|advice| advice.of_outcome(outcome).count())
            .sum()
    }
}

/// In the form that was asked for.
pub fn advice_text(text: AdviceText<'_>, format: AdviceFormat) -> String {
    match format {
        AdviceFormat::Table => table(text),
        AdviceFormat::Markdown => markdown(text),
        AdviceFormat::Html => advice_html(text),
        AdviceFormat::JsonLines => json_lines(text),
        AdviceFormat::Csv => csv(text),
        AdviceFormat::Nagios => nagios(text).1,
        AdviceFormat::Junit => junit(text),
    }
}

fn cost_text(cost: Option<&Cost>) -> String {
    cost.map_or_else(|| "-".to_owned(), |cost| cost.text.clone())
}

fn findings_table(text: AdviceText<'_>, shown: &[Shown<'_>]) -> Table {
    let mut columns = vec![("priority", Align::Right), ("id", Align::Left)];
    if text.is_estate() {
        columns.push(("server", Align::Left));
    }
    columns.extend([
        ("database", Align::Left),
        ("now", Align::Left),
        ("a day", Align::Left),
        ("at a restart", Align::Left),
    ]);
    let mut table = Table::new(&columns);
    for Shown { server, finding } in shown {
        let mut cells = vec![finding.priority.to_string(), finding.id.to_owned()];
        if text.is_estate() {
            cells.push((*server).to_owned());
        }
        let cost = &finding.cost;
        cells.push(finding.database.clone().unwrap_or_else(|| "-".to_owned()));
        cells.extend([&cost.now, &cost.per_day, &cost.at_restart].map(|cost| cost_text(cost.as_ref())));
        table.row(cells);
    }
    table
}

fn verdicts_table(advice: &Advice) -> Table {
    let mut table = Table::new(&[
        ("database", Align::Left),
        ("log", Align::Right),
        ("used", Align::Right),
        ("reuse wait", Align::Left),
        ("VLFs", Align::Left),
    ]);
    for verdict in &advice.verdicts {
        let used = verdict
            .used_share
            .map_or_else(|| "-".to_owned(), |share| format!("{:.0} %", share * 100.0));
        let wait = if verdict.reuse_wait.is_empty() {
            "-"
        } else {
            verdict.reuse_wait.as_str()
        };
        table.row(vec![
            verdict.database.clone(),
            format_bytes(verdict.log_bytes),
            used,
            wait.to_owned(),
            verdict.text.clone(),
        ]);
    }
    table
}

/// `2 findings, 3 not checked on 1 server`.
pub(super) fn summary(text: AdviceText<'_>) -> String {
    let counted = |count: usize, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
    let gaps = text.gaps();
    let mut words = vec![counted(text.counted(Outcome::Act), "finding", "findings")];
    words.push(format!(
        "{} that look like one and need nothing done",
        text.counted(Outcome::NothingToDo)
    ));
    words.push(format!("{gaps} not checked"));
    if !text.unreached.is_empty() {
        words.push(counted(
            text.unreached.len(),
            "server not reached",
            "servers not reached",
        ));
    }
    let databases: usize = text.servers.iter().map(|advice| advice.verdicts.len()).sum();
    format!(
        "{}; {} on {}",
        words.join(", "),
        counted(databases, "database", "databases"),
        counted(text.servers.len(), "server", "servers")
    )
}

fn table(text: AdviceText<'_>) -> String {
    let shown = text.shown();
    let mut out = String::new();
    for advice in text.servers {
        let judged_by = match advice.origin {
            Origin::Server => "",
            Origin::Pasted | Origin::File => "; judged by its VLFs alone: a server was not asked",
        };
        let _ = writeln!(
            out,
            "{}: {}; seconds are computed for {}{judged_by}",
            advice.name, advice.product, advice.disk
        );
    }
    for unreached in text.unreached {
        let _ = writeln!(out, "{}: not reached: {}", unreached.name, unreached.reason);
    }
    if !shown.is_empty() {
        let _ = write!(out, "\n{}", findings_table(text, &shown).text());
    }
    for Shown { server, finding } in &shown {
        let place = if text.is_estate() {
            format!("{server}, ")
        } else {
            String::new()
        };
        let database = finding
            .database
            .as_ref()
            .map_or_else(String::new, |name| format!("{name}: "));
        let _ = writeln!(out, "\n{} ({place}{database}{})", finding.id, finding.headline);
        for line in &finding.evidence {
            let _ = writeln!(out, "    {line}");
        }
        if !finding.otherwise.is_empty() {
            let _ = writeln!(out, "  if nothing is done: {}", finding.otherwise);
        }
        if let Some(tsql) = &finding.tsql {
            for line in tsql.lines() {
                let _ = writeln!(out, "  | {line}");
            }
        }
    }
    for advice in text.servers.iter().filter(|advice| !advice.verdicts.is_empty()) {
        let of = if text.is_estate() {
            format!(" on {}", advice.name)
        } else {
            String::new()
        };
        let _ = write!(out, "\nEach log{of}:\n{}", verdicts_table(advice).text());
    }
    let _ = writeln!(out, "\n{}", summary(text));
    out
}

fn markdown(text: AdviceText<'_>) -> String {
    let shown = text.shown();
    let mut out = String::from("# Transaction logs\n\n");
    let _ = writeln!(out, "{}.\n", summary(text));
    for unreached in text.unreached {
        let _ = writeln!(out, "- {}: not reached: {}", unreached.name, unreached.reason);
    }
    if !shown.is_empty() {
        let _ = writeln!(out, "{}", findings_table(text, &shown).markdown());
    }
    for Shown { server, finding } in &shown {
        let database = finding.database.as_deref().unwrap_or("the server");
        let _ = writeln!(
            out,
            "## {} ({server}, {database})\n\n{}.\n",
            finding.id, finding.headline
        );
        for line in &finding.evidence {
            let _ = writeln!(out, "- {line}");
        }
        if !finding.otherwise.is_empty() {
            let _ = writeln!(out, "\nIf nothing is done: {}", finding.otherwise);
        }
        if let Some(tsql) = &finding.tsql {
            let _ = writeln!(out, "\n```sql\n{tsql}\n```");
        }
        out.push('\n');
    }
    for advice in text.servers {
        let _ = writeln!(
            out,
            "## {}\n\n{}, seconds on {}\n\n{}",
            advice.name,
            advice.product,
            advice.disk,
            verdicts_table(advice).markdown()
        );
    }
    out
}

#[derive(Serialize)]
struct Line<'a> {
    server: &'a str,
    #[serde(flatten)]
    finding: &'a Finding,
}

#[derive(Serialize)]
struct UnreachedLine<'a> {
    server: &'a str,
    id: &'static str,
    outcome: Outcome,
    headline: &'a str,
}

fn json_lines(text: AdviceText<'_>) -> String {
    let mut out = String::new();
    let mut line = |value: Result<String, serde_json::Error>| {
        out.push_str(&value.expect("findings are texts and finite numbers"));
        out.push('\n');
    };
    for Shown { server, finding } in text.shown() {
        line(serde_json::to_string(&Line { server, finding }));
    }
    for unreached in text.unreached {
        line(serde_json::to_string(&UnreachedLine {
            server: &unreached.name,
            id: "not-checked",
            outcome: Outcome::NotChecked,
            headline: &unreached.reason,
        }));
    }
    out
}

pub(super) fn csv_cell(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

fn csv(text: AdviceText<'_>) -> String {
    let mut out = String::from(
        "Priority,CheckID,Id,Outcome,Server,Database,Finding,Now,PerDay,AtRestart,AtRestartSeconds,Details,Sql,Otherwise\n",
    );
    for Shown { server, finding } in text.shown() {
        let outcome = match finding.outcome {
            Outcome::Act => "act",
            Outcome::NothingToDo => "nothing_to_do",
            Outcome::NotChecked => "not_checked",
        };
        let cost = &finding.cost;
        let words = |cost: &Option<Cost>| cost.as_ref().map_or_else(String::new, |cost| cost.text.clone());
        let seconds = cost.at_restart.as_ref().and_then(|cost| cost.seconds);
        let cells = [
            finding.priority.to_string(),
            finding.check_id.to_string(),
            finding.id.to_owned(),
            outcome.to_owned(),
            server.to_owned(),
            finding.database.clone().unwrap_or_default(),
            finding.headline.clone(),
            words(&cost.now),
            words(&cost.per_day),
            words(&cost.at_restart),
            seconds.map_or_else(String::new, |seconds| format!("{:.6}", seconds.typical_s)),
            finding.evidence.join("; "),
            finding.tsql.clone().unwrap_or_default(),
            finding.otherwise.clone(),
        ];
        let cells: Vec<String> = cells.iter().map(|cell| csv_cell(cell)).collect();
        let _ = writeln!(out, "{}", cells.join(","));
    }
    for unreached in text.unreached {
        let (name, reason) = (csv_cell(&unreached.name), csv_cell(&unreached.reason));
        let _ = writeln!(out, "200,90,not-checked,not_checked,{name},,{reason},,,,,,,");
    }
    out
}

/// Findings of this priority and more urgent ones are critical for a monitor.
pub(super) const CRITICAL_PRIORITY: u8 = 20;

/// A monitor's exit code and line (Monitoring Plugins Development Guidelines): 0 OK, 1 warning, 2 critical, 3 unknown. What could not be
/// read is unknown, never OK.
pub fn nagios(text: AdviceText<'_>) -> (u8, String) {
    let findings: Vec<&Finding> = text.servers.iter().flat_map(Advice::to_do).collect();
    let critical = findings
        .iter()
        .filter(|finding| finding.priority <= CRITICAL_PRIORITY)
        .count();
    let has_gaps = text.servers.iter().any(Advice::has_gaps) || !text.unreached.is_empty();
    let (code, state) = match (critical, findings.len(), has_gaps) {
        (1.., ..) => (2, "CRITICAL"),
        (0, _, true) => (3, "UNKNOWN"),
        (0, 1.., false) => (1, "WARNING"),
        _ => (0, "OK"),
    };
    let worst = findings.iter().min_by_key(|finding| finding.priority);
    let said = match (worst, has_gaps) {
        (Some(worst), _) => {
            let database = worst
                .database
                .as_ref()
                .map_or_else(String::new, |name| format!("{name}: "));
            format!("{database}{}", worst.headline)
        }
        (None, true) => "something could not be read".to_owned(),
        (None, false) => "nothing need be done".to_owned(),
    };
    // The bar separates the text from the figures.
    let said = said.replace(['|', '\n', '\r'], "/");
    let vlfs: u64 = text
        .servers
        .iter()
        .flat_map(|advice| &advice.verdicts)
        .map(|verdict| verdict.vlf_count)
        .sum();
    let fullest = text
        .servers
        .iter()
        .flat_map(|advice| &advice.verdicts)
        .filter_map(|verdict| verdict.used_share)
        .fold(0.0_f64, f64::max);
    let line = format!(
        "VLFLAB {state} - {said} | findings={};;;0 critical={critical};;;0 vlfs={vlfs};;;0 fullest={:.0}%;;;0;100\n",
        findings.len(),
        fullest * 100.0
    );
    (code, line)
}

fn junit(text: AdviceText<'_>) -> String {
    let shown = text.shown();
    let failures = shown
        .iter()
        .filter(|shown| shown.finding.outcome == Outcome::Act)
        .count();
    let skipped = shown
        .iter()
        .filter(|shown| shown.finding.outcome == Outcome::NotChecked)
        .count();
    let errors = text.unreached.len();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let tests = shown.len() + errors;
    let _ = writeln!(
        out,
        "<testsuites><testsuite name=\"vlflab advise\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\">"
    );
    for Shown { server, finding } in &shown {
        let name = format!("{} {}", finding.id, finding.database.as_deref().unwrap_or(""));
        let _ = write!(
            out,
            "<testcase classname=\"{}\" name=\"{}\"",
            escape(server),
            escape(name.trim())
        );
        let headline = escape(&finding.headline);
        let _ = match finding.outcome {
            Outcome::Act => writeln!(
                out,
                "><failure message=\"{headline}\">{}</failure></testcase>",
                escape(&finding.evidence.join("\n"))
            ),
            Outcome::NotChecked => writeln!(out, "><skipped message=\"{headline}\"/></testcase>"),
            Outcome::NothingToDo => writeln!(out, "/>"),
        };
    }
    for unreached in text.unreached {
        let _ = writeln!(
            out,
            "<testcase classname=\"{}\" name=\"connect\"><error message=\"{}\"/></testcase>",
            escape(&unreached.name),
            escape(&unreached.reason)
        );
    }
    out.push_str("</testsuite></testsuites>\n");
    out
}

/// A check explained.
pub fn explanation(check: &Check) -> String {
    format!(
        "{} (CheckID {}, priority {}): {}\n\n{}\n",
        check.id,
        check.check_id,
        check.priority,
        check.title,
        check.explanation.replace('\n', "\n\n")
    )
}

/// Every check in one table.
pub fn checks_table(checks: &[Check]) -> String {
    let mut table = Table::new(&[
        ("CheckID", Align::Right),
        ("id", Align::Left),
        ("priority", Align::Right),
        ("what", Align::Left),
    ]);
    for check in checks {
        table.row(vec![
            group_digits(check.check_id.into()),
            check.id.to_owned(),
            check.priority.to_string(),
            check.title.to_owned(),
        ]);
    }
    table.text()
}
