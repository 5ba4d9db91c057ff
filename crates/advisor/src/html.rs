//! An inspection as one self-contained HTML page: no scripts, fonts or other files.
//!
//! The ring is drawn as a ring: the file's bytes run clockwise from the top, one arc per VLF (or per half degree, where
//! VLFs are too many), and the end of the log is marked where it lies.

use std::fmt::Write;

use crate::inspection::{Inspection, VlfState};
use crate::render::{create_lsn_text, inspection_facts, versions_text};
use crate::size::{format_bytes, group_digits};

/// Rows of a table at most; JSON has them all.
const ROWS_MAX: usize = 2_000;
/// Arcs of the ring at most: one per half degree.
const ARCS_MAX: usize = 720;

pub(crate) const STYLE: &str = "
:root { --ink:#1c2430; --soft:#5c6675; --line:#d9dee6; --page:#f6f7f9; --card:#fff;
  --unused:#dfe4ea; --old:#a9b8cc; --linked:#a5c3e4; --active:#4f81bd; --tail:#e08a1e; --damaged:#c62f3a; }
@media (prefers-color-scheme: dark) { :root { --ink:#e6eaf0; --soft:#9aa5b5; --line:#333d4b; --page:#12161c;
  --card:#1b212a; --unused:#38424f; --old:#5b6b80; --linked:#3a618f; --active:#5b93d6; --tail:#f0a040; --damaged:#f0606a; } }
* { box-sizing:border-box } body { margin:0; background:var(--page); color:var(--ink); font:15px/1.5 system-ui,sans-serif }
main { max-width:1080px; margin:0 auto; padding:28px 20px 60px } h1 { font-size:22px; margin:0 0 2px; overflow-wrap:anywhere }
h2 { font-size:17px; margin:34px 0 10px } .verdict { font-size:16px; margin:0 0 18px; color:var(--soft) }
.verdict.bad { color:var(--damaged); font-weight:600 } .top { display:flex; flex-wrap:wrap; gap:24px; align-items:flex-start }
.card { background:var(--card); border:1px solid var(--line); border-radius:10px; padding:16px 18px }
.top dl { flex:1 1 420px; margin:0; display:grid; grid-template-columns:max-content 1fr; gap:6px 18px }
dt { color:var(--soft) } dd { margin:0; overflow-wrap:anywhere } .ring { flex:0 0 340px; text-align:center }
.ring svg { width:300px; height:300px } .legend { font-size:13px; color:var(--soft) } .legend span { margin-right:10px; white-space:nowrap }
i.key { display:inline-block; width:11px; height:11px; border-radius:2px; margin-right:4px; vertical-align:-1px }
.scroll { overflow-x:auto } table { border-collapse:collapse; width:100%; font-variant-numeric:tabular-nums; font-size:13.5px }
th { text-align:left; color:var(--soft); font-weight:600; border-bottom:1px solid var(--line); padding:5px 10px; white-space:nowrap }
td { padding:4px 10px; border-bottom:1px solid var(--line); white-space:nowrap } td.wide { white-space:normal }
.n { text-align:right } td.bar { width:45%; min-width:120px } td.bar div { height:11px; border-radius:2px; background:var(--active); min-width:1px }
text { fill:var(--ink); font:13px system-ui,sans-serif } text.big { font-size:26px; font-weight:600 } text.soft { fill:var(--soft) }
footer { margin-top:36px; font-size:13px; color:var(--soft) }
";

/// The page; `name` is the file's.
pub fn inspection_html(inspection: &Inspection, name: &str) -> String {
    let mut out = String::with_capacity(64 * 1024);
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{name} - vlflab inspect</title><style>{STYLE}</style></head><body><main>\n<h1>{name}</h1>\n",
        name = escape(name)
    );
    verdict(inspection, &mut out);
    out.push_str("<div class=\"top\"><dl class=\"card\">\n");
    for (label, value) in inspection_facts(inspection) {
        let _ = writeln!(out, "<dt>{}</dt><dd>{}</dd>", escape(label), escape(&value));
    }
    out.push_str("</dl>\n<div class=\"card ring\">");
    ring(inspection, &mut out);
    out.push_str("</div></div>\n");
    out.push_str(&inspection_tables_html(inspection));
    out.push_str(
        "<footer>Read from the file alone, read-only. Linked blocks can be read without a break up to the end of the log; \
         active is what recovery needs at least, from the last complete checkpoint on. What an older transaction or a log backup \
         to come needs is in the database, not here.</footer>\n</main></body></html>\n",
    );
    out
}

/// The tables of the page, as a part of another one: damage, growths, records, VLFs.
pub fn inspection_tables_html(inspection: &Inspection) -> String {
    let mut out = String::with_capacity(64 * 1024);
    damage(inspection, &mut out);
    growths(inspection, &mut out);
    records(inspection, &mut out);
    vlfs(inspection, &mut out);
    out
}

pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

fn verdict(inspection: &Inspection, out: &mut String) {
    let size = format_bytes(inspection.file_bytes);
    let vlfs = group_digits(inspection.vlfs.len() as u64);
    let _ = match inspection.damage_count {
        0 => writeln!(out, "<p class=\"verdict\">{vlfs} VLFs in {size}; no damage found.</p>"),
        count => writeln!(
            out,
            "<p class=\"verdict bad\">{vlfs} VLFs in {size}; damage in {} place{}.</p>",
            group_digits(count),
            if count == 1 { "" } else { "s" }
        ),
    };
}

const STATES: [(&str, &str); 6] = [
    ("unused", "never used"),
    ("old", "old"),
    ("linked", "linked"),
    ("active", "active"),
    ("tail", "end of log"),
    ("damaged", "damaged"),
];

/// Arcs as begin, end (parts of the file) and state (index into [`STATES`]).
fn arcs(inspection: &Inspection) -> Vec<(f64, f64, usize)> {
    let file_bytes = inspection.file_bytes.max(1) as f64;
    let state_of = |vlf: &crate::inspection::InspectedVlf| match (vlf.damaged, vlf.state) {
        (true, _) => 5,
        (_, VlfState::Tail) => 4,
        (_, VlfState::Active) => 3,
        (_, VlfState::Linked) => 2,
        (_, VlfState::Old) => 1,
        (_, VlfState::Unused) => 0,
    };
    // What a cut file lacks lies behind its end.
    let part = |bytes: u64| (bytes as f64 / file_bytes).min(1.0);
    let vlfs = inspection.vlfs.iter().map(|vlf| {
        let span = vlf.header.span();
        (part(span.offset), part(span.end()), state_of(vlf))
    });
    // Where no VLF header was found, damage is all there is to draw.
    let inside = |offset: u64, bytes: u64| bytes > 0 && offset < inspection.file_bytes;
    let damage = inspection
        .damage
        .iter()
        .filter(|damage| inside(damage.offset, damage.bytes));
    let damage = damage.map(|damage| (part(damage.offset), part(damage.offset.saturating_add(damage.bytes)), 5));
    let single = vlfs.chain(damage);
    if inspection.vlfs.len() + inspection.damage.len() <= ARCS_MAX {
        return single.collect();
    }
    let mut states = [None; ARCS_MAX];
    for (begin, end, state) in single {
        let slot = |part: f64| ((part * ARCS_MAX as f64) as usize).min(ARCS_MAX - 1);
        for shared in states.iter_mut().take(slot(end) + 1).skip(slot(begin)) {
            *shared = (*shared).max(Some(state));
        }
    }
    let width = 1.0 / ARCS_MAX as f64;
    let with_state = states
        .iter()
        .enumerate()
        .filter_map(|(index, state)| Some((index as f64, (*state)?)));
    with_state
        .map(|(index, state)| (index * width, (index + 1.0) * width, state))
        .collect()
}

/// A point of the ring: `part` of the way round, clockwise from the top.
fn point(part: f64, radius: f64) -> (f64, f64) {
    let angle = (part - 0.25) * std::f64::consts::TAU;
    (radius * angle.cos(), radius * angle.sin())
}

fn ring(inspection: &Inspection, out: &mut String) {
    out.push_str("<svg viewBox=\"-150 -150 300 300\" role=\"img\" aria-label=\"The ring of VLFs\">");
    let arcs = arcs(inspection);
    let gap = if arcs.len() <= 120 { 0.0012 } else { 0.0 };
    for (begin, end, state) in arcs {
        // An arc of the whole circle would begin where it ends.
        let end = (end - gap).max(begin + 0.0004).min(begin + 0.9999);
        let large = i32::from(end - begin > 0.5);
        let ((x1, y1), (x2, y2)) = (point(begin, 132.0), point(end, 132.0));
        let ((x3, y3), (x4, y4)) = (point(end, 92.0), point(begin, 92.0));
        let _ = write!(
            out,
            "<path fill=\"var(--{})\" d=\"M{x1:.2} {y1:.2}A132 132 0 {large} 1 {x2:.2} {y2:.2}L{x3:.2} {y3:.2}\
             A92 92 0 {large} 0 {x4:.2} {y4:.2}Z\"/>",
            STATES.get(state).map_or("unused", |state| state.0)
        );
    }
    if let Some(end) = inspection.log_end {
        let part = end.offset as f64 / inspection.file_bytes.max(1) as f64;
        let ((x1, y1), (x2, y2)) = (point(part, 84.0), point(part, 142.0));
        let _ = write!(
            out,
            "<line x1=\"{x1:.2}\" y1=\"{y1:.2}\" x2=\"{x2:.2}\" y2=\"{y2:.2}\" stroke=\"var(--ink)\" stroke-width=\"2.5\"/>"
        );
    }
    let _ = write!(
        out,
        "<text class=\"big\" text-anchor=\"middle\" y=\"2\">{}</text><text class=\"soft\" text-anchor=\"middle\" y=\"24\">VLFs in \
         {}</text></svg>\n<div class=\"legend\">",
        group_digits(inspection.vlfs.len() as u64),
        format_bytes(inspection.file_bytes)
    );
    for (class, label) in STATES {
        let _ = write!(
            out,
            "<span><i class=\"key\" style=\"background:var(--{class})\"></i>{label}</span>"
        );
    }
    out.push_str("</div>");
}

fn left_out(shown: usize, all: u64, out: &mut String) {
    if all > shown as u64 {
        let more = group_digits(all - shown as u64);
        let _ = writeln!(out, "<p class=\"legend\">{more} more; the JSON has them.</p>");
    }
}

fn damage(inspection: &Inspection, out: &mut String) {
    if inspection.damage.is_empty() {
        return;
    }
    out.push_str(
        "<h2>Damage</h2><div class=\"card scroll\"><table><tr><th class=\"n\">offset</th><th class=\"n\">bytes</th><th>what</th></tr>\n",
    );
    for damage in &inspection.damage {
        let _ = writeln!(
            out,
            "<tr><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"wide\">{}</td></tr>",
            group_digits(damage.offset),
            group_digits(damage.bytes),
            escape(&damage.what)
        );
    }
    out.push_str("</table></div>\n");
    left_out(inspection.damage.len(), inspection.damage_count, out);
}

fn growths(inspection: &Inspection, out: &mut String) {
    out.push_str(
        "<h2>Growth history</h2><div class=\"card scroll\"><table><tr><th>growth</th><th class=\"n\">added</th>\
         <th class=\"n\">log size</th><th class=\"n\">VLFs</th><th>create LSN</th><th>as made by SQL Server</th></tr>\n",
    );
    for (index, event) in inspection.growths.iter().enumerate().take(ROWS_MAX) {
        let name = if event.file_bytes_before == 0 {
            "created".to_owned()
        } else {
            index.to_string()
        };
        let _ = writeln!(
            out,
            "<tr><td>{name}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td><td class=\"wide\">{}</td></tr>",
            format_bytes(event.growth_bytes()),
            format_bytes(event.file_bytes_after),
            group_digits(event.vlf_count as u64),
            create_lsn_text(event.create_lsn),
            versions_text(event)
        );
    }
    out.push_str("</table></div>\n");
    left_out(ROWS_MAX, inspection.growths.len() as u64, out);
}

fn records(inspection: &Inspection, out: &mut String) {
    let most = inspection
        .records_by_kind
        .iter()
        .map(|kind| kind.count)
        .max()
        .unwrap_or(0);
    if most == 0 {
        return;
    }
    out.push_str(
        "<h2>Records</h2><div class=\"card scroll\"><table><tr><th>record</th><th class=\"n\">count</th><th class=\"n\">bytes</th><th></th></tr>\n",
    );
    for kind in &inspection.records_by_kind {
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"bar\"><div style=\"width:{:.1}%\"></div></td></tr>",
            escape(&kind.operation),
            group_digits(kind.count),
            group_digits(kind.bytes),
            kind.count as f64 * 100.0 / most as f64
        );
    }
    out.push_str("</table></div>\n");
}

fn vlfs(inspection: &Inspection, out: &mut String) {
    out.push_str(
        "<h2>VLFs</h2><div class=\"card scroll\"><table><tr><th class=\"n\">VLF</th><th class=\"n\">offset</th><th class=\"n\">size</th>\
         <th class=\"n\">sequence</th><th class=\"n\">parity</th><th class=\"n\">uses</th><th>create LSN</th><th>state</th>\
         <th class=\"n\">blocks</th><th class=\"n\">records</th></tr>\n",
    );
    for (index, vlf) in inspection.vlfs.iter().enumerate().take(ROWS_MAX) {
        let header = &vlf.header;
        let class = if vlf.damaged { "damaged" } else { vlf.state.word() };
        let _ = writeln!(
            out,
            "<tr><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td><td>{}</td><td><i class=\"key\" style=\"background:var(--{class})\"></i>{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td></tr>",
            index + 1,
            group_digits(header.start_offset),
            format_bytes(header.vlf_bytes),
            header.sequence,
            header.parity.byte(),
            header.use_count,
            create_lsn_text(vlf.create_lsn),
            vlf.state.word(),
            group_digits(vlf.blocks),
            group_digits(vlf.records)
        );
    }
    out.push_str("</table></div>\n");
    left_out(ROWS_MAX, inspection.vlfs.len() as u64, out);
}
