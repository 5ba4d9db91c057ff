//! Lines in a plane: the frame that curves and growth share.
//!
//! Invariant: a line has at most [`POINTS_MAX`] points.

use super::axis::Axis;
use super::{WIDTH, style_class, svg, text};
use crate::report::format::escape;

pub(in crate::report) struct Line {
    pub name: String,
    /// Colour and dash.
    pub style: usize,
    /// Its points in order.
    pub points: Vec<Point>,
}

/// One point with its spread.
#[derive(Debug, Clone, Copy)]
pub(in crate::report) struct Point {
    pub x: f64,
    pub y: f64,
    /// Smallest and largest of several runs.
    pub spread: Option<(f64, f64)>,
}

/// How a plane is drawn.
pub(in crate::report) struct Plane<'a> {
    pub title: &'a str,
    /// Names of the measurements on both axes, for their units.
    pub names: (&'a str, &'a str),
    /// What the axes show, in words.
    pub labels: (&'a str, &'a str),
    /// Whether both axes are logarithmic.
    pub logarithmic: bool,
    /// Whether values hold until the next point rather than change evenly.
    pub stepped: bool,
}

const HEIGHT: f64 = 256.0;
const LEFT: f64 = 62.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = HEIGHT - 42.0;
const RIGHT: f64 = WIDTH - 26.0;
/// More would not be seen.
const POINTS_MAX: usize = 240;
/// Lines of more points get no dots.
const DOTS_MAX: usize = 40;

/// The lines in their plane.
pub(in crate::report) fn plane(plane: &Plane<'_>, lines: &[Line]) -> String {
    let (x, y) = axes(plane, lines);
    let mut body = String::new();
    for tick in x.ticks() {
        let at = x.at(tick);
        body.push_str(&format!("<path class=\"grid\" d=\"M{at:.1} {TOP}V{BOTTOM}\"/>"));
        body.push_str(&text(
            "tick",
            "middle",
            (at, BOTTOM + 15.0),
            &x.tick_text(plane.names.0, tick),
        ));
    }
    for tick in y.ticks() {
        let at = y.at(tick);
        body.push_str(&format!("<path class=\"grid\" d=\"M{LEFT} {at:.1}H{RIGHT}\"/>"));
        body.push_str(&text(
            "tick",
            "end",
            (LEFT - 6.0, at + 4.0),
            &y.tick_text(plane.names.1, tick),
        ));
    }
    body.push_str(&text("tick", "end", (RIGHT, HEIGHT - 8.0), plane.labels.0));
    for line in lines {
        body.push_str(&line_svg(line, plane.stepped, &x, &y));
    }
    let names: Vec<&str> = lines.iter().map(|line| line.name.as_str()).collect();
    let description = format!(
        "{} over {}, lines: {}",
        plane.labels.1,
        plane.labels.0,
        names.join(", ")
    );
    svg(HEIGHT, plane.title, &description, &body)
}

fn axes(plane: &Plane<'_>, lines: &[Line]) -> (Axis, Axis) {
    let points = || lines.iter().flat_map(|line| &line.points);
    let ys = || points().flat_map(|point| [Some(point.y), point.spread.map(|(_, max)| max)]);
    if plane.logarithmic {
        return (
            Axis::logarithmic(points().map(|point| point.x), (LEFT, RIGHT)),
            Axis::logarithmic(ys().flatten(), (BOTTOM, TOP)),
        );
    }
    let max = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
    (
        Axis::linear(plane.names.0, max(&mut points().map(|point| point.x)), (LEFT, RIGHT)),
        Axis::linear(plane.names.1, max(&mut ys().flatten()), (BOTTOM, TOP)),
    )
}

fn line_svg(line: &Line, stepped: bool, x: &Axis, y: &Axis) -> String {
    let style = style_class(line.style);
    let points = thinned(&line.points);
    let mut path = String::new();
    for (index, point) in points.iter().enumerate() {
        let (at_x, at_y) = (x.at(point.x), y.at(point.y));
        match (index, stepped) {
            (0, _) => path.push_str(&format!("M{at_x:.1} {at_y:.1}")),
            (_, true) => path.push_str(&format!("H{at_x:.1}V{at_y:.1}")),
            (_, false) => path.push_str(&format!("L{at_x:.1} {at_y:.1}")),
        }
    }
    let mut body = format!(
        "<path class=\"line {style}\" d=\"{path}\"><title>{}</title></path>",
        escape(&line.name)
    );
    if points.len() > DOTS_MAX {
        return body + "\n";
    }
    for point in points {
        let at_x = x.at(point.x);
        if let Some((min, max)) = point.spread {
            body.push_str(&format!(
                "<path class=\"whisker {style}\" d=\"M{at_x:.1} {:.1}V{:.1}\"/>",
                y.at(min),
                y.at(max)
            ));
        }
        body.push_str(&format!(
            "<circle class=\"area {style}\" cx=\"{at_x:.1}\" cy=\"{:.1}\" r=\"2.6\"/>",
            y.at(point.y)
        ));
    }
    body + "\n"
}

/// At most [`POINTS_MAX`] points, evenly picked, the last always among them.
fn thinned(points: &[Point]) -> Vec<Point> {
    if points.len() <= POINTS_MAX {
        return points.to_vec();
    }
    let last = points.len() - 1;
    let picked = (0..POINTS_MAX).filter_map(|index| points.get(index * last / (POINTS_MAX - 1)));
    picked.copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_thinned_and_keep_their_end() {
        let points: Vec<Point> = (0..31_596)
            .map(|index| Point {
                x: f64::from(index),
                y: f64::from(index * 2),
                spread: None,
            })
            .collect();
        let thinned = thinned(&points);
        assert_eq!(thinned.len(), POINTS_MAX);
        assert_eq!((thinned[0].x, thinned[POINTS_MAX - 1].x), (0.0, 31_595.0));
    }

    #[test]
    fn a_value_of_zero_lies_on_a_logarithmic_floor() {
        let line = |points: &[(f64, f64)]| Line {
            name: "a<b".into(),
            style: 0,
            points: points.iter().map(|&(x, y)| Point { x, y, spread: None }).collect(),
        };
        let shape = Plane {
            title: "t",
            names: ("vlf_count", "discovery_s"),
            labels: ("VLFs", "discovery"),
            logarithmic: true,
            stepped: false,
        };
        let svg = plane(&shape, &[line(&[(10.0, 0.0), (1000.0, 0.1)])]);
        assert!(
            svg.contains(&format!(
                "M{LEFT:.1} {BOTTOM:.1}L{RIGHT:.1} {:.1}",
                BOTTOM + (TOP - BOTTOM) * 0.0
            )) || svg.contains(&format!("M{LEFT:.1} {BOTTOM:.1}")),
            "{svg}"
        );
        assert!(svg.contains("a&lt;b") && !svg.contains("NaN"));
    }
}
