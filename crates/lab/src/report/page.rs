//! The page around the sections: head, style, script, machine and raw results.

use super::format::{counted, escape};
use super::method;
use crate::results::{ConfigurationResults, RunFile};

const STYLE: &str = include_str!("style.css");
const LIGHT: &str = include_str!("light.css");
const DARK: &str = include_str!("dark.css");
const SCRIPT: &str = include_str!("page.js");
/// Nothing may be loaded from anywhere, whatever the page's text says.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// Everything up to the header.
pub(super) fn opening(file: &RunFile) -> String {
    opening_of(&title(file))
}

/// The same of a page with this title.
pub(super) fn opening_of(title: &str) -> String {
    let mut html = String::with_capacity(256 * 1024);
    html.push_str("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    html.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    html.push_str("<meta name=\"color-scheme\" content=\"light dark\">\n");
    html.push_str(&format!(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n<title>{} · vlflab</title>\n<style>\n{}</style>\n</head>\n<body>\n<main>\n",
        escape(title),
        style()
    ));
    html
}

/// Title and warnings.
pub(super) fn header(file: &RunFile) -> String {
    let title = title(file);
    let mut html = String::from("<header>\n");
    html.push_str("<button id=\"theme\" type=\"button\" hidden>dark</button>\n");
    html.push_str(&format!(
        "<p class=\"kicker\">vlflab {} · {} · scale {} · {}</p>\n<h1>{}</h1>\n",
        escape(&file.product_version),
        counted(file.experiments.len(), "experiment", "experiments"),
        escape(&file.scale),
        escape(&file.started),
        escape(&title),
    ));
    for warning in warnings(file) {
        html.push_str(&format!("<p class=\"warning\">{}</p>\n", escape(&warning)));
    }
    html + "</header>\n"
}

/// The words without which no figure below can be read, as far as they occur.
pub(super) fn terms(file: &RunFile) -> Vec<(&'static str, String)> {
    let configurations = || file.experiments.iter().flat_map(|results| &results.configurations);
    let is_used = |policy: &str| {
        let mut policies = configurations().filter_map(|each| each.settings.get("log_policy"));
        policies.any(|used| {
            used.split(',')
                .any(|part| part == policy || part.ends_with(&format!("={policy}")))
        })
    };
    let mut terms = Vec::new();
    for (term, text) in [("classic", CLASSIC), ("native", NATIVE)] {
        if is_used(term) {
            terms.push((term, text.to_string()));
        }
    }
    let is_modelled = |each: &&ConfigurationResults| each.modelled_disk().is_some();
    if configurations().any(|each| is_modelled(&each)) {
        terms.push(("modelled", MODELLED.to_string()));
    }
    if configurations().any(|each| !is_modelled(&each)) {
        let where_to = match &file.target {
            Some(target) => format!("{}.", target.address),
            None if file.environment.cpu.is_empty() => "this machine.".into(),
            None => format!(
                "this machine: {}, {}.",
                file.environment.cpu, file.environment.filesystem
            ),
        };
        terms.push(("measured", format!("{MEASURED} {where_to}")));
    }
    terms
}

const CLASSIC: &str = "the log works as SQL Server's of 2005 to 2012 is known to: a growth is written with zeros and headers while a session waits, every VLF is read one after the other when the server starts, and each VLF that is entered costs a durable write of its own.";
const NATIVE: &str = "the same log file with this engine's mechanisms: space is reserved, a directory knows the VLFs, headers ride with the first log block.";
const MODELLED: &str = "every statement was executed, and the time of the disk was computed from the figures of the disk that is named; nothing waited. Processors' time is this machine's.";
const MEASURED: &str = "by the clock, on";

/// The same as HTML.
pub(super) fn terms_html(file: &RunFile) -> String {
    let rows: String = terms(file)
        .iter()
        .map(|(term, text)| format!("<dt>{term}</dt><dd>{}</dd>\n", escape(text)))
        .collect();
    if rows.is_empty() {
        return rows;
    }
    format!("<dl class=\"terms\">\n{rows}</dl>\n")
}

/// The colours by the reader's setting alone, for a picture.
pub(super) fn colours() -> String {
    format!(":root {{\n{LIGHT}}}\n@media (prefers-color-scheme: dark) {{ :root {{\n{DARK}}} }}\n")
}

/// The colours of light and dark, by the reader's setting unless the page's button says otherwise; paper is light.
fn style() -> String {
    format!(
        ":root {{\n{LIGHT}}}\n@media (prefers-color-scheme: dark) {{ :root {{\n{DARK}}} }}\n:root[data-theme=light] {{\n{LIGHT}}}\n:root[data-theme=dark] {{\n{DARK}}}\n{STYLE}@media print {{ :root, :root[data-theme] {{\n{LIGHT}--paper: #fff;\n}} }}\n"
    )
}

fn title(file: &RunFile) -> String {
    match file.experiments.as_slice() {
        [only] if !only.title.is_empty() => only.title.clone(),
        [only] => only.experiment.clone(),
        _ => "What virtual log files cost".into(),
    }
}

/// What a reader must know before anything else.
pub(super) fn warnings(file: &RunFile) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(reason) = &file.stopped {
        warnings.push(format!(
            "This run stopped early ({reason}); what follows is what it had measured by then."
        ));
    }
    if !file.environment.optimized_build {
        warnings.push("Measured with a build without optimisation: do not quote these times.".into());
    }
    warnings
}

/// Machine, raw results, script, end.
pub(super) fn foot(file: &RunFile) -> String {
    let mut html = format!(
        "<section id=\"machine\">\n<h2>Machine and versions</h2>\n{}<p class=\"small\">One machine, one disk. Small log growths cost their file system calls and flushes: where a durable write takes microseconds, a disk of the published experiments took milliseconds, and their ratios need not come out here.</p>\n</section>\n",
        method::machine(file).html()
    );
    html.push_str("<section id=\"raw\">\n<h2>Raw results</h2>\n<p class=\"screen\"><a id=\"download\" hidden download=\"results.json\" href=\"#raw\">Download results.json</a></p>\n<p class=\"small\">Every run's every figure, the experiments' texts and scripts are in this file: results.json is embedded in its source, and was written beside it.</p>\n</section>\n</main>\n");
    html.push_str(&format!(
        "<script type=\"application/json\" id=\"results-json\">{}</script>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        embedded(&compact_json(file))
    ));
    html
}

fn compact_json(file: &RunFile) -> String {
    serde_json::to_string(file).expect("maps with text keys, text and numbers always have a JSON form")
}

/// JSON that cannot end the element it stands in, whatever its texts are: `<` and `>` only occur in strings.
fn embedded(json: &str) -> String {
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embedded_results_cannot_end_their_element_and_stay_the_same() {
        let file = RunFile {
            scale: "</script><script>alert(1)</script>&<!--".into(),
            ..RunFile::default()
        };
        let text = embedded(&compact_json(&file));
        assert!(!text.contains('<') && !text.contains('>'));
        let read: RunFile = serde_json::from_str(&text).unwrap_or_default();
        assert_eq!(read, file);
    }
}
