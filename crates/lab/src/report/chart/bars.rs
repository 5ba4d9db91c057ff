//! Bars: medians with their spread and every run, or the phases of one time after each other.
//!
//! ```text
//! bad-classic · 20,480 VLFs                    61.2 s
//! [==================================]--o-|
//! good-classic · 16 VLFs                       44.0 s
//! [========================]
//! 0         20 s        40 s        60 s
//! ```

use super::axis::Axis;
use super::{WIDTH, style_class, svg, text};
use crate::report::format::{escape, label, shortened, value};
use crate::statistics::Measurement;

pub(in crate::report) struct Bar {
    /// Above it.
    pub name: String,
    /// Behind the name, smaller.
    pub detail: String,
    /// Its parts: colour, name of the measurement, length.
    pub parts: Vec<(usize, String, f64)>,
    /// Every run, where the bar is one measurement of several runs.
    pub runs: Option<Measurement>,
}

const ROW_HEIGHT: f64 = 42.0;
const NAME_BASELINE: f64 = 14.0;
const BAR_TOP: f64 = 20.0;
const BAR_HEIGHT: f64 = 14.0;
const AXIS_HEIGHT: f64 = 24.0;
/// Room at both sides for the halves of the outer marks' texts.
const MARGIN: f64 = 22.0;
/// Shorter parts would not be seen.
const PART_WIDTH_MIN: f64 = 0.75;
/// Characters that fit between the panel's side and the value.
const NAME_CHARACTERS_MAX: usize = 50;

impl Bar {
    fn total(&self) -> f64 {
        self.parts.iter().map(|(_, _, length)| length).sum()
    }

    fn longest(&self) -> f64 {
        let max = self.runs.as_ref().map_or(0.0, |runs| runs.max);
        max.max(self.total())
    }
}

/// The longest of them with its spread: bars that are to be compared have an axis up to the longest of all.
pub(in crate::report) fn longest<'b>(bars: impl IntoIterator<Item = &'b Bar>) -> f64 {
    bars.into_iter().map(Bar::longest).fold(0.0, f64::max)
}

/// Bars above one axis that goes up to `longest`; the first part of the first bar names the unit.
pub(in crate::report) fn panel(title: &str, bars: &[Bar], longest: f64) -> String {
    let unit_name = bars
        .iter()
        .flat_map(|bar| &bar.parts)
        .map(|(_, name, _)| name.as_str())
        .next()
        .unwrap_or_default();
    let axis = Axis::linear(unit_name, longest, (1.0, WIDTH - MARGIN));
    let bottom = bars.len() as f64 * ROW_HEIGHT + 2.0;
    let mut body = String::new();
    for tick in axis.ticks() {
        let at = axis.at(tick);
        body.push_str(&format!(
            "<path class=\"grid\" d=\"M{at:.1} {NAME_BASELINE}V{bottom:.1}\"/>"
        ));
        let anchor = if tick == 0.0 { "start" } else { "middle" };
        let mark = axis.tick_text(unit_name, tick);
        body.push_str(&text(
            "tick",
            anchor,
            (if tick == 0.0 { 0.0 } else { at }, bottom + 15.0),
            &mark,
        ));
    }
    for (row, bar) in bars.iter().enumerate() {
        body.push_str(&bar_svg(bar, unit_name, row as f64 * ROW_HEIGHT, &axis));
    }
    let described: Vec<String> = bars
        .iter()
        .map(|bar| format!("{}: {}", bar.name, value(unit_name, bar.total())))
        .collect();
    svg(bottom + AXIS_HEIGHT, title, &described.join("; "), &body)
}

fn bar_svg(bar: &Bar, unit_name: &str, top: f64, axis: &Axis) -> String {
    let name = shortened(&bar.name, NAME_CHARACTERS_MAX);
    let room = NAME_CHARACTERS_MAX.saturating_sub(name.chars().count());
    let detail = if room > 8 {
        shortened(&bar.detail, room)
    } else {
        String::new()
    };
    let mut body = format!(
        "<text class=\"name halo\" x=\"0\" y=\"{:.1}\">{}<tspan class=\"detail\" dx=\"8\">{}</tspan></text>",
        top + NAME_BASELINE,
        escape(&name),
        escape(&detail)
    );
    let total = value(unit_name, bar.total());
    body.push_str(&text("value halo", "end", (WIDTH - 1.0, top + NAME_BASELINE), &total));
    let mut from = 0.0;
    for (style, part, length) in &bar.parts {
        let least = if *length > 0.0 { PART_WIDTH_MIN } else { 0.0 };
        let width = (axis.at(from + length) - axis.at(from)).max(least);
        body.push_str(&format!(
            "<rect class=\"area {}\" x=\"{:.2}\" y=\"{:.1}\" width=\"{width:.2}\" height=\"{BAR_HEIGHT}\"><title>{}: {}</title></rect>",
            style_class(*style),
            axis.at(from),
            top + BAR_TOP,
            escape(&label(part)),
            value(part, *length)
        ));
        from += length;
    }
    if let Some(runs) = bar.runs.as_ref().filter(|runs| runs.runs > 1) {
        body.push_str(&spread_svg(runs, top + BAR_TOP + BAR_HEIGHT / 2.0, axis));
    }
    body + "\n"
}

fn spread_svg(runs: &Measurement, middle: f64, axis: &Axis) -> String {
    let (min, max) = (axis.at(runs.min), axis.at(runs.max));
    let (top, bottom) = (middle - 5.0, middle + 5.0);
    let mut body = format!(
        "<path class=\"spread\" d=\"M{min:.2} {middle:.1}H{max:.2}M{min:.2} {top:.1}V{bottom:.1}M{max:.2} {top:.1}V{bottom:.1}\"/>"
    );
    for run in &runs.values {
        body.push_str(&format!(
            "<circle class=\"run\" cx=\"{:.2}\" cy=\"{middle:.1}\" r=\"2.6\"/>",
            axis.at(*run)
        ));
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bars_parts_follow_each_other_in_proportion() {
        let parts = vec![(0, "discovery_s".to_string(), 1.0), (1, "analysis_s".to_string(), 3.0)];
        let bar = Bar {
            name: "n".into(),
            detail: String::new(),
            parts,
            runs: None,
        };
        let svg = panel("chart", &[bar], 4.0);
        let second = 1.0 + (WIDTH - MARGIN - 1.0) / 4.0;
        assert!(svg.contains("x=\"1.00\""), "{svg}");
        assert!(svg.contains(&format!("x=\"{second:.2}\"")), "{svg}");
        assert!(svg.contains("discovery: 1.00 s") && svg.contains(">4.00 s<"));
    }

    #[test]
    fn every_run_is_a_dot() {
        let bar = Bar {
            name: "n".into(),
            detail: String::new(),
            parts: vec![(0, "fill_s".into(), 2.0)],
            runs: Some(Measurement::of(vec![1.0, 2.0, 4.0])),
        };
        let bars = [bar];
        let svg = panel("chart", &bars, longest(&bars));
        assert_eq!(svg.matches("class=\"run\"").count(), 3);
        assert_eq!(svg.matches("class=\"spread\"").count(), 1);
    }
}
