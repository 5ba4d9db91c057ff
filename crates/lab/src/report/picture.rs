//! One picture of a run: what its first finding cost where it was published, on modelled disks and here.
//!
//! It is an SVG file that needs nothing else and follows the reader's choice of light or dark, small enough for a README.

use super::beside;
use super::chart::bars::{self, Bar};
use super::format::thousands;
use super::page;
use super::verdict::VariantName;
use crate::experiment::{Experiment, Finding};
use crate::results::{Results, RunFile};

/// Pixels; the panel's units are fewer.
const SHOWN_WIDTH: u32 = 720;
/// What the bars' classes of the report's style sheet mean here.
const STYLE: &str = "text { fill: var(--ink); font: 13.5px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif; } .tick, .detail { fill: var(--soft); font-size: 12px; } .name { font-weight: 600; } .detail { font-weight: 400; } .grid { stroke: var(--line); fill: none; } .area { fill: var(--c); } .spread { stroke: var(--ink); stroke-width: 1.3; fill: none; } .run { fill: var(--paper); stroke: var(--ink); } .c0 { --c: var(--s0); } .c1 { --c: var(--s1); } .c2 { --c: var(--s2); } .c3 { --c: var(--s3); } .c4 { --c: var(--s4); }";

/// The picture; none where no published figure stands beside one of ours of the same size.
pub fn picture(file: &RunFile) -> Option<String> {
    file.experiments.iter().find_map(|results| {
        let experiment = results.experiment().ok()?;
        if !beside::applies(&experiment, results) {
            return None;
        }
        let mut findings = experiment.finding.iter();
        findings.find_map(|finding| of_finding(finding, &experiment, results))
    })
}

fn of_finding(finding: &Finding, experiment: &Experiment, results: &Results) -> Option<String> {
    let (base, measure) = (finding.slow.as_str(), finding.measure.as_str());
    let published = *experiment.published_for(base)?.get(measure)?;
    let of_base = || results.configurations.iter().filter(|each| each.base == base);
    let vlf_count = of_base().find_map(|each| Some(each.measurement("vlf_count")?.median))?;
    let title = of_base().next().map(|each| each.title.clone()).unwrap_or_default();
    let mut bars = vec![Bar {
        name: "published".into(),
        detail: title,
        parts: vec![(0, measure.to_string(), published)],
        runs: None,
    }];
    for each in of_base() {
        let Some(found) = each.measurement(measure) else {
            continue;
        };
        let variant = VariantName::of(each.variant());
        let (name, style) = match variant.disk {
            Some(_) => ("modelled", 1),
            None => ("measured", 2),
        };
        bars.push(Bar {
            name: [name, variant.policy].join(" ").trim_end().to_string(),
            detail: variant.disk.unwrap_or("here").into(),
            parts: vec![(style, measure.to_string(), found.median)],
            runs: Some(found.clone()),
        });
    }
    let title = format!("{} ({} VLFs)", finding.what, thousands(vlf_count));
    (bars.len() > 1).then(|| standalone(&bars::panel(&title, &bars, bars::longest(&bars))))
}

/// A panel of the report as a file of its own.
fn standalone(panel: &str) -> String {
    let opening = format!("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{SHOWN_WIDTH}\" ");
    let ground = "<rect x=\"-12\" y=\"-8\" width=\"504\" height=\"100%\" fill=\"var(--paper)\"/>\n";
    let style = format!("<style>{}{STYLE}</style>\n{ground}", page::colours());
    // A panel's body begins behind its description.
    panel
        .replacen("<svg ", &opening, 1)
        .replacen("viewBox=\"0 0 480 ", "viewBox=\"-12 -8 504 ", 1)
        .replacen("</desc>\n", &format!("</desc>\n{style}"), 1)
        + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panel_becomes_a_file_of_its_own() {
        let bar = |name: &str, length| Bar {
            name: name.into(),
            detail: String::new(),
            parts: vec![(1, "discovery_s".into(), length)],
            runs: None,
        };
        let svg = standalone(&bars::panel(
            "what",
            &[bar("published", 106.0), bar("modelled", 94.0)],
            106.0,
        ));
        assert!(
            svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"720\" viewBox="),
            "{svg}"
        );
        for part in [
            "<style>",
            "--paper",
            ">106 s<",
            ">94.0 s<",
            "prefers-color-scheme: dark",
        ] {
            assert_eq!(svg.matches(part).count().min(1), 1, "{part} in {svg}");
        }
        assert!(!svg.contains("class=\"c4\""));
    }
}
