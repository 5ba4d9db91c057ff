//! A plan as one self-contained HTML page: no script, no font, no file beside it.

use std::fmt::Write;

use super::plan::{PlanText, search_line, steps_table, title, totals_table};
use super::price::{price_notes, price_table, price_title};
use crate::html::{STYLE, escape};

/// What a page of a plan needs beside the style of all pages.
const PLAN_STYLE: &str = "pre { overflow-x:auto; font-size:13px; margin:0 } p.note { color:var(--soft); margin:6px 0 }";

/// The page.
pub fn plan_html(text: PlanText<'_>) -> String {
    let name = escape(&title(text.plan));
    let sections = plan_sections_html(text);
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{name} - vlflab plan</title><style>{STYLE}{PLAN_STYLE}</style></head><body><main>\n<h1>{name}</h1>\n\
         {sections}</main></body></html>\n"
    )
}

/// What the page has below its title, as a part of another one.
pub fn plan_sections_html(text: PlanText<'_>) -> String {
    let PlanText {
        plan,
        found,
        tsql,
        price,
        ..
    } = text;
    let mut out = String::new();
    if let Some(found) = found {
        let _ = writeln!(out, "<p class=\"verdict\">{}</p>", escape(&search_line(found)));
    }
    if let Some(price) = price {
        let _ = write!(
            out,
            "<h2>{}</h2>\n{}",
            escape(&price_title(price)),
            price_table(price).html()
        );
        for note in price_notes(price) {
            let _ = writeln!(out, "<p class=\"note\">{}</p>", escape(&note));
        }
    }
    let (steps, left_out) = steps_table(plan, found);
    let _ = write!(out, "<h2>Steps</h2>\n{}", steps.html());
    if let Some(left_out) = left_out {
        let _ = writeln!(out, "<p class=\"note\">{left_out} rows in the middle left out.</p>");
    }
    let _ = write!(
        out,
        "<h2>The same steps on every version</h2>\n{}",
        totals_table(plan).html()
    );
    if !plan.warnings.is_empty() {
        out.push_str("<h2>Before you do it</h2>\n");
    }
    for warning in &plan.warnings {
        let _ = writeln!(
            out,
            "<p><b>{}</b>: {}.<br>{}.</p>",
            warning.severity.word(),
            escape(&warning.text),
            escape(&warning.action)
        );
    }
    if let Some(tsql) = tsql {
        let _ = write!(
            out,
            "<h2>T-SQL</h2>\n<div class=\"card\"><pre>{}</pre></div>\n",
            escape(tsql)
        );
    }
    out
}
