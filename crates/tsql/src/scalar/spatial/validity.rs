//! Whether a value of `geometry` is valid (sql-docs, "Point", "LineString", "MultiLineString", "Polygon", "MultiPolygon", "GeometryCollection" and
//! "IsValidDetailed (geometry Data Type)").
//!
//! Lines are valid when no two edges lie upon each other, polygons when no two edges do or cross, and each ring lies where it belongs. The signs of
//! orientation are exact or not known: what hangs on one that is not known is [`Validity::Unknown`]. So are arcs, edges on the earth, rings that
//! touch (whether the interior stays in one piece is not computed), and values with more edges side by side than are compared.

use engine::cancel;
use engine::error::Result;

use super::{Kind, Point, Spatial, Surface};

/// What is known of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Validity {
    Valid,
    Invalid,
    /// It is not computed.
    Unknown,
}

/// Comparisons of edges of a value: beyond them nothing is known.
const COMPARISONS_MAX: u64 = 8_000_000;

/// After so many comparisons it is asked whether the statement goes on.
const SPENT_COMPARISONS: u64 = 4_096;

/// A product below this may have lost bits that [`product`] cannot give back.
const EXACT_MIN: f64 = 1e-250;

/// The relative error of an orientation in double precision (Shewchuk, "Adaptive Precision Floating-Point Arithmetic", the bound A of ORIENT2D).
const ORIENTATION_ERROR: f64 = (3.0 + 8.0 * f64::EPSILON) * (f64::EPSILON / 2.0);

/// A difference, if it is exact.
fn difference(one: f64, other: f64) -> Option<f64> {
    let rounded = one - other;
    let subtracted = one - rounded;
    let lost = (one - (rounded + subtracted)) + (subtracted - other);
    (lost == 0.0 && rounded.is_finite()).then_some(rounded)
}

/// A product and what rounding took from it; `None` where that is not a double.
fn product(one: f64, other: f64) -> Option<(f64, f64)> {
    let rounded = one * other;
    if rounded == 0.0 && (one == 0.0 || other == 0.0) {
        return Some((0.0, 0.0));
    }
    let is_exact = rounded.is_finite() && rounded.abs() > EXACT_MIN;
    is_exact.then(|| (rounded, one.mul_add(other, -rounded)))
}

/// Where `c` lies of the line from `a` to `b`: 1 at the left, -1 at the right, 0 upon it; `None` where doubles do not tell.
fn orientation(a: &Point, b: &Point, c: &Point) -> Option<i32> {
    let sign = |is_more: bool, is_less: bool| i32::from(is_more) - i32::from(is_less);
    let (left, right) = ((a.x - c.x) * (b.y - c.y), (a.y - c.y) * (b.x - c.x));
    let found = left - right;
    if found.abs() > ORIENTATION_ERROR * (left.abs() + right.abs()) && found.is_finite() && found.abs() > EXACT_MIN {
        return Some(sign(found > 0.0, found < 0.0));
    }
    let (left, left_rest) = product(difference(a.x, c.x)?, difference(b.y, c.y)?)?;
    let (right, right_rest) = product(difference(a.y, c.y)?, difference(b.x, c.x)?)?;
    // Rounding keeps the order: what differs rounded, differs the same way.
    Some(match left == right {
        true => sign(left_rest > right_rest, left_rest < right_rest),
        false => sign(left > right, left < right),
    })
}

/// An edge that has a length, in a ring or line.
struct Edge {
    from: Point,
    to: Point,
    ring: usize,
    /// Its place in the ring.
    at: usize,
}

impl Edge {
    fn x_min(&self) -> f64 {
        self.from.x.min(self.to.x)
    }

    fn x_max(&self) -> f64 {
        self.from.x.max(self.to.x)
    }

    fn is_apart_in_y(&self, other: &Edge) -> bool {
        self.from.y.max(self.to.y) < other.from.y.min(other.to.y)
            || other.from.y.max(other.to.y) < self.from.y.min(self.to.y)
    }

    /// Of two edges on one line: whether they share more than a point.
    fn shares_length(&self, other: &Edge) -> bool {
        let is_wide = (self.to.x - self.from.x).abs() >= (self.to.y - self.from.y).abs();
        let along = |point: &Point| if is_wide { point.x } else { point.y };
        let range = |edge: &Edge| {
            let (from, to) = (along(&edge.from), along(&edge.to));
            (from.min(to), from.max(to))
        };
        let (one, two) = (range(self), range(other));
        one.0.max(two.0) < one.1.min(two.1)
    }
}

/// How two edges meet.
#[derive(PartialEq)]
enum Meeting {
    Apart,
    /// In one point, which is an end of one of them.
    Touching,
    Crossing,
    Overlapping,
    Unknown,
}

fn meeting(one: &Edge, other: &Edge) -> Meeting {
    let of_other = [&other.from, &other.to].map(|point| orientation(&one.from, &one.to, point));
    let of_one = [&one.from, &one.to].map(|point| orientation(&other.from, &other.to, point));
    let is_aside = |signs: [Option<i32>; 2]| matches!(signs, [Some(a), Some(b)] if a * b > 0);
    let is_through = |signs: [Option<i32>; 2]| matches!(signs, [Some(a), Some(b)] if a * b < 0);
    let is_on_line = |signs: [Option<i32>; 2]| signs == [Some(0), Some(0)];
    match () {
        () if is_aside(of_other) || is_aside(of_one) => Meeting::Apart,
        () if is_through(of_other) && is_through(of_one) => Meeting::Crossing,
        () if is_on_line(of_other) || is_on_line(of_one) => match one.shares_length(other) {
            true => Meeting::Overlapping,
            false => Meeting::Touching,
        },
        () if of_other.contains(&None) || of_one.contains(&None) => Meeting::Unknown,
        () => Meeting::Touching,
    }
}

/// What is known so far, and how much was looked at for that.
struct Judge {
    validity: Validity,
    comparisons: u64,
}

impl Judge {
    /// Counts comparisons; `false` when there have been too many.
    fn may_compare(&mut self, count: u64) -> Result<bool> {
        let before = self.comparisons / SPENT_COMPARISONS;
        self.comparisons += count;
        let spent = self.comparisons / SPENT_COMPARISONS - before;
        if spent > 0 {
            cancel::spend_bytes(usize::try_from(spent * SPENT_COMPARISONS).unwrap_or(usize::MAX))?;
        }
        if self.comparisons <= COMPARISONS_MAX {
            return Ok(true);
        }
        self.validity = Validity::Unknown;
        Ok(false)
    }

    /// Compares all edges that may meet; `judge` says what two that do mean. It ends at the first that is invalid.
    fn compare(&mut self, edges: &mut [Edge], judge: impl Fn(&Edge, &Edge, Meeting) -> Validity) -> Result<()> {
        edges.sort_by(|one, other| one.x_min().total_cmp(&other.x_min()));
        for (at, one) in edges.iter().enumerate() {
            for other in &edges[at + 1..] {
                if other.x_min() > one.x_max() {
                    break;
                }
                if !self.may_compare(1)? {
                    return Ok(());
                }
                if one.is_apart_in_y(other) {
                    continue;
                }
                match judge(one, other, meeting(one, other)) {
                    Validity::Valid => {}
                    Validity::Invalid => {
                        self.validity = Validity::Invalid;
                        return Ok(());
                    }
                    Validity::Unknown => self.validity = Validity::Unknown,
                }
            }
        }
        Ok(())
    }
}

/// A ring of a polygon in the list of edges' rings.
struct Ring<'p> {
    polygon: usize,
    is_exterior: bool,
    points: &'p [Point],
}

impl Ring<'_> {
    /// Whether a point that is not upon the ring lies within it; `None` where doubles do not tell.
    fn holds(&self, point: &Point) -> Option<bool> {
        let mut is_within = false;
        for edge in self.points.windows(2) {
            let [from, to] = edge else { continue };
            if (from.y > point.y) == (to.y > point.y) {
                continue;
            }
            let side = orientation(from, to, point)?;
            if side == 0 {
                return None;
            }
            // A rising edge with the point at its left, or a falling one with the point at its right, is passed by the ray to the right.
            is_within ^= (side > 0) == (to.y > from.y);
        }
        Some(is_within)
    }
}

impl Spatial {
    /// Whether it is valid.
    ///
    /// # Errors
    /// 3617 when the request is to stop, 701.
    pub fn validity(&self) -> Result<Validity> {
        let mut judge = Judge {
            validity: Validity::Valid,
            comparisons: 0,
        };
        let mut at = 0;
        while let Some(shape) = self.shapes.get(at) {
            if shape.kind == Kind::GeometryCollection {
                at += 1;
                continue;
            }
            let end = self.end_of(at);
            self.judge_part(at, end, shape.kind, &mut judge)?;
            if judge.validity == Validity::Invalid {
                break;
            }
            at = end;
        }
        Ok(judge.validity)
    }

    /// The same of a part of a collection, or the whole.
    fn judge_part(&self, at: usize, end: usize, kind: Kind, judge: &mut Judge) -> Result<()> {
        match kind {
            Kind::Point | Kind::MultiPoint | Kind::FullGlobe => Ok(()),
            _ if self.surface == Surface::Earth => {
                judge.validity = Validity::Unknown;
                Ok(())
            }
            Kind::LineString | Kind::MultiLineString => self.judge_lines(at, end, judge),
            Kind::Polygon | Kind::MultiPolygon => self.judge_polygons(at, end, judge),
            Kind::CircularString | Kind::CompoundCurve | Kind::CurvePolygon | Kind::GeometryCollection => {
                judge.validity = Validity::Unknown;
                Ok(())
            }
        }
    }

    /// The edges of figures; `None` when one of them is a single place.
    fn edges(&self, figures: std::ops::Range<usize>) -> Option<Vec<Edge>> {
        let mut edges = Vec::new();
        for (ring, figure) in figures.enumerate() {
            let before = edges.len();
            for pair in self.points[self.figure_points(figure)].windows(2) {
                let [from, to] = pair else { continue };
                if !from.is_at(to) {
                    let at = edges.len() - before;
                    let (from, to) = (*from, *to);
                    edges.push(Edge { from, to, ring, at });
                }
            }
            if edges.len() == before {
                return None;
            }
        }
        Some(edges)
    }

    fn judge_lines(&self, at: usize, end: usize, judge: &mut Judge) -> Result<()> {
        let figures = self.figures_between(at, end);
        let _room = self.edges_room(&figures)?;
        let Some(mut edges) = self.edges(figures) else {
            judge.validity = Validity::Invalid;
            return Ok(());
        };
        judge.compare(&mut edges, |_, _, meeting| match meeting {
            Meeting::Overlapping => Validity::Invalid,
            Meeting::Unknown => Validity::Unknown,
            Meeting::Apart | Meeting::Touching | Meeting::Crossing => Validity::Valid,
        })
    }

    fn judge_polygons(&self, at: usize, end: usize, judge: &mut Judge) -> Result<()> {
        let figures = self.figures_between(at, end);
        let _room = self.edges_room(&figures)?;
        let Some(mut edges) = self.edges(figures.clone()) else {
            judge.validity = Validity::Invalid;
            return Ok(());
        };
        let mut counts = vec![0; figures.len()];
        edges.iter().for_each(|edge| counts[edge.ring] += 1);
        let is_next = |one: &Edge, other: &Edge| {
            let apart = one.at.abs_diff(other.at);
            one.ring == other.ring && (apart == 1 || apart + 1 == counts[one.ring])
        };
        judge.compare(&mut edges, |one, other, meeting| match meeting {
            Meeting::Overlapping | Meeting::Crossing => Validity::Invalid,
            Meeting::Touching if !is_next(one, other) => Validity::Unknown,
            Meeting::Unknown => Validity::Unknown,
            Meeting::Apart | Meeting::Touching => Validity::Valid,
        })?;
        if judge.validity == Validity::Valid {
            self.judge_places(&self.rings(at, end), judge)?;
        }
        Ok(())
    }

    /// Memory for the edges of figures.
    fn edges_room(&self, figures: &std::ops::Range<usize>) -> Result<engine::memory::Charge> {
        let points = |figure: usize| self.figure_points(figure).len();
        let edges = figures.clone().map(points).sum::<usize>();
        engine::types::string_room(edges.saturating_mul(2 * size_of::<Edge>()).min(i32::MAX as usize))
    }

    /// The rings of the polygons between two shapes.
    fn rings(&self, at: usize, end: usize) -> Vec<Ring<'_>> {
        let polygons = (at..end).filter(|shape| self.shapes[*shape].kind.is_polygon());
        let of_polygon = |polygon: usize| {
            let figures = self.figures_between(polygon, polygon + 1);
            figures.clone().map(move |figure| Ring {
                polygon,
                is_exterior: figure == figures.start,
                points: &self.points[self.figure_points(figure)],
            })
        };
        polygons.flat_map(of_polygon).collect()
    }

    /// Of rings that do not meet: whether each lies where it belongs.
    fn judge_places(&self, rings: &[Ring<'_>], judge: &mut Judge) -> Result<()> {
        for one in rings {
            let Some(place) = one.points.first() else { continue };
            // Of each polygon around the place: whether one of its holes is, too.
            let (mut around, mut holes) = (Vec::new(), Vec::new());
            for other in rings.iter().filter(|other| !std::ptr::eq(*other, one)) {
                if !judge.may_compare(other.points.len() as u64 + 1)? {
                    return Ok(());
                }
                match other.holds(place) {
                    None => {
                        judge.validity = Validity::Unknown;
                        return Ok(());
                    }
                    Some(true) if other.is_exterior => around.push(other.polygon),
                    Some(true) => holes.push(other.polygon),
                    Some(false) => {}
                }
            }
            let own = one.polygon;
            let is_placed = match one.is_exterior {
                // A hole of its own around it would be outside of it.
                true => !holes.contains(&own),
                false => around.contains(&own) && !holes.contains(&own),
            };
            let is_in_others = around
                .iter()
                .any(|polygon| *polygon != own && one.is_exterior && !holes.contains(polygon));
            if !is_placed || is_in_others {
                judge.validity = Validity::Invalid;
                return Ok(());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::{Validity, orientation};
    use crate::scalar::spatial::{Point, Spatial, Surface};

    fn validity(text: &str) -> Validity {
        let value = Spatial::from_text(Surface::Plane, text, 0, None).unwrap();
        let validity = value.validity().unwrap();
        assert_eq!(value.require_valid().is_err(), validity == Validity::Invalid, "{text}");
        validity
    }

    /// Texts of sql-docs, "LineString", "MultiLineString", "Polygon", "MultiPolygon", "STIsValid", "MakeValid", and others.
    #[test]
    fn what_is_valid_is_known() {
        let valid = [
            "POINT EMPTY",
            "MULTIPOINT((1 1), (1 1))",
            "LINESTRING(0 0, 2 2, 1 0)",
            "LINESTRING(1 1, 3 3, 2 4, 2 0)",
            "LINESTRING(1 1, 3 3, 2 4, 2 0, 1 1)",
            "LINESTRING(0 0, 0 0, 1 1)",
            "MULTILINESTRING((0 2, 1 1), (1 0, 1 1))",
            "MULTILINESTRING((1 1, 5 5), (1 3, 3 1))",
            "POLYGON((0 0, 3 0, 3 3, 0 3, 0 0), (1 1, 1 2, 2 2, 2 1, 1 1))",
            "POLYGON((-20 -20, -20 20, 20 20, 20 -20, -20 -20), (10 0, 0 10, 0 -10, 10 0))",
            "POLYGON EMPTY",
            "MULTIPOLYGON(((0 0, 0 3, 3 3, 3 0, 0 0), (1 1, 1 2, 2 1, 1 1)), ((9 9, 9 10, 10 9, 9 9)))",
            "MULTIPOLYGON(((0 0, 0 9, 9 9, 9 0, 0 0), (1 1, 1 8, 8 8, 8 1, 1 1)), ((2 2, 2 3, 3 2, 2 2)))",
            "GEOMETRYCOLLECTION(POINT(1 1), POLYGON((0 0, 3 0, 3 3, 0 0)), LINESTRING(0 0, 3 3))",
        ];
        for text in valid {
            assert_eq!(validity(text), Validity::Valid, "{text}");
        }
        let invalid = [
            "LINESTRING(1 1, 1 1)",
            "LINESTRING(1 4, 3 4, 2 4, 2 0)",
            "LINESTRING(0 2, 1 1, 1 0, 1 1, 2 2)",
            "MULTILINESTRING((1 1, 3 3), (2 2, 4 4))",
            "POLYGON((0 0, 10 10, 10 0, 0 10, 0 0))",
            "POLYGON((0 0, 1 1, 0 0, 1 1, 0 0))",
            "POLYGON((1 1, 1 1, 1 1, 1 1))",
            "POLYGON((0 0, 3 0, 3 3, 0 3, 0 0), (4 4, 5 4, 5 5, 4 4))",
            "POLYGON((0 0, 9 0, 9 9, 0 9, 0 0), (1 1, 8 1, 8 8, 1 1), (3 2, 4 2, 4 3, 3 2))",
            "POLYGON((1 1, 2 1, 2 2, 1 1), (0 0, 9 0, 9 9, 0 9, 0 0))",
            "POLYGON((0 0, 3 0, 3 3, 0 3, 0 0), (1 1, 5 1, 2 2, 1 1))",
            "MULTIPOLYGON(((0 0, 9 0, 9 9, 0 9, 0 0)), ((1 1, 2 1, 2 2, 1 1)))",
            "MULTIPOLYGON(((1 1, 2 1, 2 2, 1 1)), ((0 0, 9 0, 9 9, 0 9, 0 0)))",
            "MULTIPOLYGON(((0 0, 1 0, 1 1, 0 1, 0 0)), ((1 0, 2 0, 2 1, 1 1, 1 0)))",
            "GEOMETRYCOLLECTION(POINT(1 1), GEOMETRYCOLLECTION(LINESTRING(1 1, 1 1)))",
        ];
        for text in invalid {
            assert_eq!(validity(text), Validity::Invalid, "{text}");
        }
        let unknown = [
            "POLYGON((-20 -20, -20 20, 20 20, 20 -20, -20 -20), (20 0, 0 10, 0 -20, 20 0))",
            "CIRCULARSTRING(0 0, 1 1, 2 0)",
            "CURVEPOLYGON((0 0, 3 0, 3 3, 0 0))",
        ];
        for text in unknown {
            assert_eq!(validity(text), Validity::Unknown, "{text}");
        }
        let line = Spatial::from_text(Surface::Earth, "LINESTRING(0 0, 1 1)", 4326, None).unwrap();
        assert_eq!(line.validity().unwrap(), Validity::Unknown);
        let point = Spatial::from_text(Surface::Earth, "POINT(1 1)", 4326, None).unwrap();
        assert_eq!(point.validity().unwrap(), Validity::Valid);
    }

    /// A comb whose edges are all side by side: every pair of them would have to be compared.
    #[test]
    fn too_many_comparisons_leave_it_unknown() {
        let points: Vec<String> = (0..20_000)
            .map(|at| format!("{} {}", if at % 2 == 0 { 0 } else { 9 }, at))
            .collect();
        let text = format!("LINESTRING({})", points.join(", "));
        assert_eq!(validity(&text), Validity::Unknown);
    }

    /// What doubles do not tell is not guessed: 0.1, 0.2 and 0.3 are not upon one line, and their differences are not exact.
    #[test]
    fn orientation_is_exact_or_not_known() {
        let at = |x: f64, y: f64| Point {
            x,
            y,
            z: f64::NAN,
            m: f64::NAN,
        };
        let next = 1.0 + f64::EPSILON;
        assert_eq!(orientation(&at(0.0, 0.0), &at(2.0, 2.0), &at(1.0, next)), Some(1));
        assert_eq!(orientation(&at(0.0, 0.0), &at(2.0, 2.0), &at(next, 1.0)), Some(-1));
        assert_eq!(orientation(&at(0.0, 0.0), &at(2.0, 2.0), &at(1.0, 1.0)), Some(0));
        let big = 9_007_199_254_740_991.0;
        assert_eq!(
            orientation(&at(0.0, 0.0), &at(big, big - 1.0), &at(big - 1.0, big - 2.0)),
            Some(-1)
        );
        assert_eq!(orientation(&at(0.1, 0.1), &at(0.7, 0.7), &at(1e17, 1e17)), None);
        assert_eq!(
            orientation(&at(0.0, 0.0), &at(1e-200, 1e-200), &at(2e-200, 2e-200)),
            None
        );
    }
}
