//! Advice as one self-contained HTML page: no script, no font, no file beside it. It follows the reader's choice of light or dark, fits a
//! telephone and a wall screen, and prints with every finding open.

use std::fmt::Write;

use super::advice::{AdviceText, Shown, summary};
use crate::advice::{Advice, Cost, Finding, Outcome, Verdict};
use crate::html::{STYLE, escape};
use crate::size::{format_bytes, group_digits};
use crate::snapshot::Origin;

/// Servers whose logs are listed without being asked; of more, each list opens by a click.
const OPEN_SERVERS_MAX: usize = 8;
/// Logs listed of all servers; JSON and CSV have every one.
const LOGS_MAX: usize = 5_000;
/// Share of a log from which its bar has the colour of a warning.
const MUCH_USED: f64 = 0.5;

/// What this page needs beside the style of all pages.
const ADVICE_STYLE: &str = "
:root { --urgent:#b3261e; --soon:#b35c00; --later:#33658a; --fine:#2f7d4f }
@media (prefers-color-scheme: dark) { :root { --urgent:#ff8078; --soon:#f0a040; --later:#7fb2e0; --fine:#6cc794 } }
body { font-size:clamp(15px, 0.35vw + 11px, 22px) } main { max-width:72rem } h1 { font-size:1.5em } h2 { font-size:1.15em }
table { font-size:0.9em } footer, .legend { font-size:0.86em }
.counts { display:flex; flex-wrap:wrap; gap:12px; margin:0 0 8px } .counts div { flex:1 1 8.5em }
.counts b { display:block; font-size:1.7em; line-height:1.2; font-variant-numeric:tabular-nums }
.finding { margin:12px 0; border-left:5px solid var(--later) } .finding.urgent { border-left-color:var(--urgent) }
.finding.soon { border-left-color:var(--soon) } .finding.fine { border-left-color:var(--fine) }
.finding h3 { font-size:1.02em; margin:0 0 2px; overflow-wrap:anywhere } .finding p { margin:6px 0; overflow-wrap:anywhere }
.where { color:var(--soft); font-size:0.88em } .finding ul { margin:6px 0; padding-left:1.3em } .finding li { overflow-wrap:anywhere }
.costs { display:flex; flex-wrap:wrap; gap:4px 24px; margin:8px 0 } .costs span { color:var(--soft) }
pre { overflow-x:auto; font-size:0.86em; margin:8px 0 0; padding:10px 12px; background:var(--page); border:1px solid var(--line); border-radius:6px }
summary { cursor:pointer; font-weight:600; padding:4px 0 } td.used { min-width:8.5em }
.track { height:0.55em; border-radius:3px; background:var(--unused) } .track i { display:block; height:100%; border-radius:3px; background:var(--active) }
.track i.much { background:var(--soon) } td.verdict { white-space:normal; min-width:18em; font-size:inherit; color:inherit }
@media (max-width:600px) { main { padding:16px 12px 40px } .card { padding:12px } pre { white-space:pre-wrap; overflow-wrap:anywhere } .logs, .logs tbody, .logs tr { display:block }
  .logs tr { padding:8px 0; border-bottom:1px solid var(--line) } .logs tr:first-child { display:none } .logs tr:last-child { border-bottom:0 }
  .logs td, .logs td.verdict { display:flex; gap:10px; min-width:0; padding:1px 0; border:0; text-align:left; white-space:normal; overflow-wrap:anywhere }
  .logs td::before { content:attr(data-of); flex:0 0 5.5em; color:var(--soft) } .logs td.used { align-items:center } .logs .track { flex:1 } }
@media print { :root { --page:#fff; --card:#fff; --ink:#000; --soft:#444; --line:#bbb } main { max-width:none; padding:0 }
  .finding, tr { break-inside:avoid } pre { white-space:pre-wrap; overflow-wrap:anywhere } .scroll { overflow:visible } td { white-space:normal } }
";

/// The page.
pub(super) fn advice_html(text: AdviceText<'_>) -> String {
    let title = match text.servers {
        [one] if text.unreached.is_empty() => format!("Transaction logs of {}", one.name),
        _ => format!(
            "Transaction logs of {} servers",
            group_digits((text.servers.len() + text.unreached.len()) as u64)
        ),
    };
    let name = escape(&title);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" content=\"light dark\">\
         <title>{name} - vlflab advise</title><style>{STYLE}{ADVICE_STYLE}</style></head><body><main>\n<h1>{name}</h1>\n\
         <p class=\"verdict\">{}</p>\n",
        escape(&summary(text))
    );
    counts(text, &mut out);
    let shown = text.shown();
    section(text, &shown, Outcome::Act, "What is to be done", &mut out);
    section(
        text,
        &shown,
        Outcome::NothingToDo,
        "Looks like a fault, and is none",
        &mut out,
    );
    not_checked(text, &shown, &mut out);
    unreached(text, &mut out);
    logs(text, &mut out);
    let disks: std::collections::BTreeSet<&str> = text.servers.iter().map(|advice| advice.disk.as_str()).collect();
    let disks: Vec<&str> = disks.into_iter().collect();
    let _ = write!(
        out,
        "<footer>Seconds are computed for {}, unless they are called the server's own. Nothing was changed: the T-SQL is for you to read and \
         run. What could not be read is listed as not checked, never as healthy.</footer>\n</main></body></html>\n",
        escape(&match disks.as_slice() {
            [] => "no disk".to_owned(),
            disks => disks.join(", "),
        })
    );
    out
}

fn counts(text: AdviceText<'_>, out: &mut String) {
    let urgent = |priority: u8| {
        let findings = text.servers.iter().flat_map(Advice::to_do);
        findings.filter(|finding| finding.priority <= priority).count()
    };
    let (now, soon, all) = (urgent(URGENT), urgent(SOON), urgent(u8::MAX));
    let cards = [
        ("urgent", now, "var(--urgent)"),
        ("soon", soon - now, "var(--soon)"),
        ("when there is time", all - soon, "var(--later)"),
        ("not checked", text.gaps(), "var(--soft)"),
        ("not reached", text.unreached.len(), "var(--soft)"),
    ];
    out.push_str("<div class=\"counts\">");
    for (label, count, colour) in cards {
        let colour = if count == 0 { "var(--soft)" } else { colour };
        let _ = write!(
            out,
            "<div class=\"card\"><b style=\"color:{colour}\">{}</b>{label}</div>",
            group_digits(count as u64)
        );
    }
    out.push_str("</div>\n");
}

/// Priorities up to this are urgent, as they are critical for a monitor.
const URGENT: u8 = super::advice::CRITICAL_PRIORITY;
/// Priorities up to this do not wait for a quiet week.
const SOON: u8 = 60;

fn section(text: AdviceText<'_>, shown: &[Shown<'_>], outcome: Outcome, title: &str, out: &mut String) {
    let of_outcome = shown.iter().filter(|shown| shown.finding.outcome == outcome);
    let mut of_outcome = of_outcome.peekable();
    if of_outcome.peek().is_none() {
        if outcome == Outcome::Act {
            out.push_str("<h2>What to do</h2>\n<p>Nothing.</p>\n");
        }
        return;
    }
    let _ = writeln!(out, "<h2>{title}</h2>");
    for Shown { server, finding } in of_outcome {
        one(server, finding, text.is_estate(), out);
    }
}

fn one(server: &str, finding: &Finding, names_server: bool, out: &mut String) {
    let class = match (finding.outcome, finding.priority) {
        (Outcome::NothingToDo, _) => "fine",
        (_, ..=URGENT) => "urgent",
        (_, ..=SOON) => "soon",
        _ => "later",
    };
    let mut place = vec![format!("priority {}", finding.priority), finding.id.to_owned()];
    place.extend(names_server.then(|| server.to_owned()));
    place.extend(finding.database.clone());
    let _ = writeln!(
        out,
        "<section class=\"card finding {class}\"><h3>{}</h3><div class=\"where\">{}</div>",
        escape(&finding.headline),
        escape(&place.join(" · "))
    );
    costs(finding, out);
    if !finding.evidence.is_empty() {
        out.push_str("<ul>");
        for line in &finding.evidence {
            let _ = write!(out, "<li>{}</li>", escape(line));
        }
        out.push_str("</ul>\n");
    }
    if !finding.otherwise.is_empty() {
        let _ = writeln!(out, "<p><b>If nothing is done:</b> {}</p>", escape(&finding.otherwise));
    }
    if let Some(tsql) = &finding.tsql {
        let _ = writeln!(out, "<pre>{}</pre>", escape(tsql));
    }
    out.push_str("</section>\n");
}

/// A line each: what is missing, and why, is all that there is to say.
fn not_checked(text: AdviceText<'_>, shown: &[Shown<'_>], out: &mut String) {
    let gaps = shown
        .iter()
        .filter(|shown| shown.finding.outcome == Outcome::NotChecked);
    let mut gaps = gaps.peekable();
    if gaps.peek().is_none() {
        return;
    }
    out.push_str("<h2>Not checked</h2>\n<section class=\"card finding\"><ul>");
    for Shown { server, finding } in gaps {
        let place = if text.is_estate() {
            format!("{server}: ")
        } else {
            String::new()
        };
        let of = match finding.evidence.as_slice() {
            [] => String::new(),
            lines => format!(" ({})", lines.join("; ")),
        };
        let _ = writeln!(out, "<li>{}</li>", escape(&format!("{place}{}{of}", finding.headline)));
    }
    out.push_str("</ul></section>\n");
}

fn costs(finding: &Finding, out: &mut String) {
    let cost = &finding.cost;
    let all = [
        ("now", &cost.now),
        ("a day", &cost.per_day),
        ("at a restart", &cost.at_restart),
    ];
    let known: Vec<(&str, &Cost)> = all
        .into_iter()
        .filter_map(|(when, cost)| Some((when, cost.as_ref()?)))
        .collect();
    if known.is_empty() {
        return;
    }
    out.push_str("<div class=\"costs\">");
    for (when, cost) in known {
        let _ = write!(out, "<div><span>{when}</span> {}</div>", escape(&cost.text));
    }
    out.push_str("</div>\n");
}

fn unreached(text: AdviceText<'_>, out: &mut String) {
    if text.unreached.is_empty() {
        return;
    }
    out.push_str(
        "<h2>Servers not reached</h2>\n<div class=\"card scroll\"><table><tr><th>server</th><th>because</th></tr>\n",
    );
    for server in text.unreached {
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td class=\"wide\">{}</td></tr>",
            escape(&server.name),
            escape(&server.reason)
        );
    }
    out.push_str("</table></div>\n");
}

fn logs(text: AdviceText<'_>, out: &mut String) {
    let with_logs: Vec<&Advice> = text
        .servers
        .iter()
        .filter(|advice| !advice.verdicts.is_empty())
        .collect();
    if with_logs.is_empty() {
        return;
    }
    out.push_str("<h2>Each log</h2>\n");
    let open = if with_logs.len() <= OPEN_SERVERS_MAX {
        " open"
    } else {
        ""
    };
    let mut left = LOGS_MAX;
    let mut left_out = 0;
    for advice in with_logs {
        let listed = advice.verdicts.len().min(left);
        left -= listed;
        left_out += advice.verdicts.len() - listed;
        if listed == 0 {
            continue;
        }
        let judged_by = match advice.origin {
            Origin::Server => "",
            Origin::Pasted | Origin::File => "; judged by its VLFs alone: a server was not asked",
        };
        let _ = writeln!(
            out,
            "<details{open}><summary>{}</summary><p class=\"legend\">{}{judged_by}</p><div class=\"card scroll\"><table class=\"logs\">\
             <tr><th>database</th><th class=\"n\">log</th><th>used</th><th>reuse wait</th><th>VLFs</th></tr>",
            escape(&advice.name),
            escape(&advice.product)
        );
        for verdict in advice.verdicts.iter().take(listed) {
            log(verdict, out);
        }
        out.push_str("</table></div></details>\n");
    }
    if left_out > 0 {
        let more = group_digits(left_out as u64);
        let _ = writeln!(
            out,
            "<p class=\"legend\">{more} more logs; --format csv and jsonl have their findings.</p>"
        );
    }
}

fn log(verdict: &Verdict, out: &mut String) {
    let used = verdict.used_share.map_or_else(
        || "-".to_owned(),
        |share| {
            let percent = (share * 100.0).clamp(0.0, 100.0);
            let class = if share >= MUCH_USED { " class=\"much\"" } else { "" };
            format!("{percent:.0} %<div class=\"track\"><i{class} style=\"width:{percent:.0}%\"></i></div>")
        },
    );
    let wait = if verdict.reuse_wait.is_empty() {
        "-"
    } else {
        &verdict.reuse_wait
    };
    let _ = writeln!(
        out,
        "<tr><td data-of=\"database\"><b>{}</b></td><td class=\"n\" data-of=\"log\">{}</td><td class=\"used\" data-of=\"used\">{used}</td>\
         <td data-of=\"reuse wait\">{}</td><td class=\"verdict\" data-of=\"VLFs\">{}</td></tr>",
        escape(&verdict.database),
        format_bytes(verdict.log_bytes),
        escape(wait),
        escape(&verdict.text)
    );
}
