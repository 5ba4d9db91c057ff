//! Charts as inline SVG, coloured by the page's style sheet so that they follow light and dark.
//!
//! ```text
//! bad-classic   20,480 VLFs  [discovery][analysis][    redo    ][undo]  3.2 s
//! good-classic      16 VLFs  [][analysis][    redo    ]                 2.1 s
//!                            0        1 s        2 s        3 s
//! ```

use super::format::{escape, label, seconds};

/// One bar.
pub(super) struct Bar {
    /// Left of it.
    pub name: String,
    /// Below the name, smaller.
    pub detail: String,
    /// Its parts, seconds: class of the style sheet, name of the measurement, length.
    pub parts: Vec<(usize, String, f64)>,
    /// Smallest and largest total, where runs were repeated.
    pub range: Option<(f64, f64)>,
}

const WIDTH: f64 = 960.0;
const LABEL_WIDTH: f64 = 178.0;
const VALUE_WIDTH: f64 = 80.0;
const ROW_HEIGHT: f64 = 44.0;
const BAR_HEIGHT: f64 = 22.0;
const AXIS_HEIGHT: f64 = 30.0;
/// Shorter parts would not be seen.
const PART_WIDTH_MIN: f64 = 0.75;

impl Bar {
    fn total(&self) -> f64 {
        self.parts.iter().map(|(_, _, length)| length).sum()
    }

    fn longest(&self) -> f64 {
        self.range.map_or(self.total(), |(_, max)| max.max(self.total()))
    }
}

/// A panel of bars with one time axis.
pub(super) fn panel(description: &str, bars: &[Bar]) -> String {
    let longest = bars.iter().map(Bar::longest).fold(0.0, f64::max);
    let step = tick_step(longest);
    let axis_max = (longest / step).ceil().max(1.0) * step;
    let plot_width = WIDTH - LABEL_WIDTH - VALUE_WIDTH;
    let x = |value: f64| LABEL_WIDTH + value / axis_max * plot_width;
    let bottom = bars.len() as f64 * ROW_HEIGHT + 6.0;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"{}\">\n",
        bottom + AXIS_HEIGHT,
        escape(description)
    );
    let ticks = (axis_max / step).round() as usize;
    for tick in 0..=ticks {
        let value = tick as f64 * step;
        let at = x(value);
        svg.push_str(&format!(
            "<line class=\"grid\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"0\" y2=\"{bottom:.1}\"/>"
        ));
        svg.push_str(&format!(
            "<text class=\"tick\" x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n",
            bottom + 17.0,
            tick_text(value, axis_max)
        ));
    }
    for (row, bar) in bars.iter().enumerate() {
        svg.push_str(&bar_svg(bar, row as f64 * ROW_HEIGHT + 6.0, &x));
    }
    svg.push_str("</svg>\n");
    svg
}

fn bar_svg(bar: &Bar, top: f64, x: &dyn Fn(f64) -> f64) -> String {
    let middle = top + ROW_HEIGHT / 2.0 - 3.0;
    let mut svg = format!(
        "<text class=\"name\" x=\"{0:.1}\" y=\"{1:.1}\" text-anchor=\"end\">{2}</text><text class=\"detail\" x=\"{0:.1}\" y=\"{3:.1}\" text-anchor=\"end\">{4}</text>\n",
        LABEL_WIDTH - 12.0,
        middle - 2.0,
        escape(&bar.name),
        middle + 13.0,
        escape(&bar.detail)
    );
    let mut from = 0.0;
    for (class, name, length) in &bar.parts {
        let width = (x(from + length) - x(from)).max(if *length > 0.0 { PART_WIDTH_MIN } else { 0.0 });
        svg.push_str(&format!(
            "<rect class=\"part{class}\" x=\"{:.2}\" y=\"{:.1}\" width=\"{width:.2}\" height=\"{BAR_HEIGHT}\"><title>{}: {}</title></rect>",
            x(from),
            middle - BAR_HEIGHT / 2.0,
            escape(&label(name)),
            seconds(*length)
        ));
        from += length;
    }
    if let Some((min, max)) = bar.range {
        svg.push_str(&spread_svg(x(min), x(max), middle));
    }
    svg.push_str(&format!(
        "<text class=\"value\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\n",
        x(bar.longest()) + 8.0,
        middle + 4.5,
        seconds(bar.total())
    ));
    svg
}

fn spread_svg(min: f64, max: f64, middle: f64) -> String {
    let (top, bottom) = (middle - 5.0, middle + 5.0);
    format!(
        "<path class=\"spread\" d=\"M{min:.2} {middle:.1}H{max:.2}M{min:.2} {top:.1}V{bottom:.1}M{max:.2} {top:.1}V{bottom:.1}\"/>"
    )
}

/// The legend of a stacked chart.
pub(super) fn legend(measures: &[String]) -> String {
    let items = measures.iter().enumerate().map(|(class, name)| {
        format!(
            "<li><span class=\"swatch part{class}\"></span>{}</li>",
            escape(&label(name))
        )
    });
    format!("<ul class=\"legend\">{}</ul>\n", items.collect::<String>())
}

/// A step of 1, 2 or 5 times a power of ten that makes at most six steps of `longest`.
fn tick_step(longest: f64) -> f64 {
    if longest <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf((longest / 6.0).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    steps
        .into_iter()
        .find(|step| longest / step <= 6.0)
        .unwrap_or(power * 10.0)
}

/// All ticks of an axis share the unit of its end.
fn tick_text(value: f64, axis_max: f64) -> String {
    let (scaled, unit) = match axis_max {
        small if small < 0.001 => (value * 1e6, "µs"),
        small if small < 1.0 => (value * 1e3, "ms"),
        _ => (value, "s"),
    };
    let rounded = (scaled * 1e6).round() / 1e6;
    if rounded == 0.0 {
        "0".into()
    } else {
        format!("{rounded} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        for (longest, step) in [
            (0.0, 1.0),
            (6.0, 1.0),
            (6.1, 2.0),
            (213.5, 50.0),
            (0.004, 0.001),
            (0.0031, 0.001),
        ] {
            assert!(
                (tick_step(longest) - step).abs() < 1e-12,
                "{longest}: {}",
                tick_step(longest)
            );
        }
        assert_eq!(tick_text(0.05, 0.2), "50 ms");
        assert_eq!(tick_text(100.0, 200.0), "100 s");
    }

    #[test]
    fn a_bars_parts_follow_each_other_in_proportion() {
        let parts = vec![(0, "discovery_s".to_string(), 1.0), (1, "analysis_s".to_string(), 3.0)];
        let bar = Bar {
            name: "n".into(),
            detail: String::new(),
            parts,
            range: None,
        };
        let svg = panel("chart", &[bar]);
        let plot = WIDTH - LABEL_WIDTH - VALUE_WIDTH;
        assert!(svg.contains(&format!("x=\"{LABEL_WIDTH:.2}\"")));
        assert!(svg.contains(&format!("x=\"{:.2}\"", LABEL_WIDTH + plot / 4.0)));
        assert!(svg.contains("discovery: 1.00 s") && svg.contains(">4.00 s<"));
    }
}
