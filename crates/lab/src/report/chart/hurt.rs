//! Where VLFs begin to hurt: a bar for each disk along the number of VLFs, in the colour of the seconds that they cost.
//!
//! ```text
//!                 1 s from     8,192  20,480     126,399
//! hdd-7200-2006        220  ....:::::|:::###|########|####
//! your disk          8,200  .........|:::::|::::::::|:####
//!                           100   1,000   10,000  100,000
//! ```

use super::axis::Axis;
use super::{WIDTH, svg, text};
use crate::report::format::{escape, shortened, thousands};

pub(in crate::report) struct Row {
    pub name: String,
    /// What it is, shown under the pointer.
    pub about: String,
    /// VLFs that cost a second there. The cost is proportional to their number.
    pub vlfs_for_one_second: f64,
    /// Whether it is the disk that the run measured.
    pub is_own: bool,
}

/// Seconds at which the next colour begins.
pub(in crate::report) const SECONDS: [f64; 3] = [1.0, 10.0, 60.0];

/// Numbers of VLFs along the axis.
const VLFS: [f64; 2] = [100.0, 1_000_000.0];
/// Where the bars begin and end.
const PLACE: (f64, f64) = (168.0, WIDTH - 4.0);
/// Where the numbers before the bars end.
const NUMBER_END: f64 = PLACE.0 - 8.0;
const ROW_HEIGHT: f64 = 19.0;
const BAR_HEIGHT: f64 = 13.0;
const HEAD_HEIGHT: f64 = 20.0;
const AXIS_HEIGHT: f64 = 20.0;
const NAME_CHARACTERS_MAX: usize = 17;

/// The panel; `marks` are numbers of VLFs to draw a line at.
pub(in crate::report) fn panel(title: &str, rows: &[Row], marks: &[f64]) -> String {
    let axis = Axis::logarithmic(VLFS.into_iter(), PLACE);
    let bottom = HEAD_HEIGHT + rows.len() as f64 * ROW_HEIGHT;
    let mut body = text("tick", "end", (NUMBER_END, HEAD_HEIGHT - 7.0), "1 s from");
    for (index, row) in rows.iter().enumerate() {
        body.push_str(&row_svg(row, HEAD_HEIGHT + index as f64 * ROW_HEIGHT, &axis));
    }
    for (index, mark) in marks.iter().enumerate() {
        let at = axis.at(*mark);
        body.push_str(&format!(
            "<path class=\"mark\" d=\"M{at:.1} {:.1}V{bottom:.1}\"/>",
            HEAD_HEIGHT - 4.0
        ));
        // The first two lie close to each other: one text ends where its line is, the others begin there.
        let anchor = if index == 0 { "end" } else { "start" };
        body.push_str(&text("tick", anchor, (at, HEAD_HEIGHT - 7.0), &thousands(*mark)));
    }
    for tick in axis.ticks().into_iter().filter(|tick| *tick < VLFS[1]) {
        let anchor = if tick == VLFS[0] { "start" } else { "middle" };
        body.push_str(&text("tick", anchor, (axis.at(tick), bottom + 14.0), &thousands(tick)));
    }
    body.push_str(&text("tick", "end", (PLACE.1, bottom + 14.0), "VLFs"));
    let described: Vec<String> = rows
        .iter()
        .map(|row| format!("{}: a second from {} VLFs", row.name, rounded(row.vlfs_for_one_second)))
        .collect();
    svg(bottom + AXIS_HEIGHT, title, &described.join("; "), &body)
}

fn row_svg(row: &Row, top: f64, axis: &Axis) -> String {
    let baseline = top + 11.0;
    let class = if row.is_own { "name" } else { "row" };
    let mut body = format!(
        "<g><title>{}</title>{}{}",
        escape(&row.about),
        text(
            class,
            "start",
            (0.0, baseline),
            &shortened(&row.name, NAME_CHARACTERS_MAX)
        ),
        text(class, "end", (NUMBER_END, baseline), &rounded(row.vlfs_for_one_second)),
    );
    let begins = SECONDS.map(|seconds| axis.at(seconds * row.vlfs_for_one_second));
    let from = [PLACE.0].into_iter().chain(begins);
    let to = begins.into_iter().chain([PLACE.1]);
    for (heat, (from, to)) in from.zip(to).enumerate() {
        if to > from {
            body.push_str(&format!(
                "<rect class=\"heatbar h{heat}\" x=\"{from:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{BAR_HEIGHT}\"/>",
                to - from
            ));
        }
    }
    body + "</g>\n"
}

/// A number of VLFs to two digits: it is no better known.
pub(in crate::report) fn rounded(count: f64) -> String {
    let digit = 10_f64.powf(count.max(1.0).log10().floor() - 1.0).max(1.0);
    thousands((count / digit).round() * digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(vlfs_for_one_second: f64) -> Row {
        Row {
            name: "a <disk>".into(),
            about: "what & why".into(),
            vlfs_for_one_second,
            is_own: false,
        }
    }

    /// A decade of the axis is a quarter of the bar: a colour begins where so many VLFs cost its seconds.
    #[test]
    fn colours_begin_where_the_seconds_do() {
        let svg = panel("map", &[row(1_000.0)], &[20_480.0]);
        let decade = (PLACE.1 - PLACE.0) / 4.0;
        for (heat, from, width) in [
            (0, PLACE.0, decade),
            (1, PLACE.0 + decade, decade),
            (2, PLACE.0 + 2.0 * decade, decade * 6_f64.log10()),
        ] {
            let part = format!("class=\"heatbar h{heat}\" x=\"{from:.1}\" y=\"20.0\" width=\"{width:.1}\"");
            assert!(svg.contains(&part), "{part} in {svg}");
        }
        assert!(svg.contains("heatbar h3"));
        assert!(
            svg.contains("a &lt;disk&gt;") && svg.contains(">20,480<") && svg.contains(">1,000<"),
            "{svg}"
        );
    }

    #[test]
    fn a_disk_on_which_no_number_of_vlfs_hurts_has_one_colour() {
        let svg = panel("map", &[row(1e9)], &[]);
        assert_eq!(svg.matches("heatbar").count(), 1);
        assert!(svg.contains("heatbar h0"));
        let svg = panel("map", &[row(0.5)], &[]);
        assert!(
            svg.contains("heatbar h3") && svg.matches("heatbar").count() == 1,
            "{svg}"
        );
    }

    #[test]
    fn numbers_have_two_digits() {
        for (count, text) in [(218.4, "220"), (1.2, "1"), (12_345.0, "12,000"), (7.0, "7")] {
            assert_eq!(rounded(count), text);
        }
    }
}
