//! Whether a value of `geography` is larger than a hemisphere, which its bytes say.
//!
//! It is when its points are 90 degrees or more from the direction of their sum, or when a polygon has more than half of the earth at its left
//! (RyanLamansky/sql-server-simulator, `docs/claude/spatial.md`, probed on SQL Server 2025: "EnvelopeAngle"). On a sphere, as there.

use std::f64::consts::PI;

use super::{Kind, Point, Spatial};

/// A sum of directions shorter than this has none itself.
const DIRECTION_MIN: f64 = 1e-8;

type Direction = [f64; 3];

fn direction(point: &Point) -> Direction {
    let (longitude, latitude) = (point.x.to_radians(), point.y.to_radians());
    [
        latitude.cos() * longitude.cos(),
        latitude.cos() * longitude.sin(),
        latitude.sin(),
    ]
}

fn dot(one: Direction, other: Direction) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// The part of the unit sphere at the left of a ring, 0 to 4 pi.
fn area_at_left(ring: &[Point]) -> f64 {
    let (mut below, mut turned) = (0.0, 0.0);
    for edge in ring.windows(2) {
        let [from, to] = edge else { continue };
        let mut turn = (to.x - from.x).to_radians() % (2.0 * PI);
        if turn > PI {
            turn -= 2.0 * PI;
        } else if turn < -PI {
            turn += 2.0 * PI;
        }
        let (from, to) = ((from.y.to_radians() / 2.0).tan(), (to.y.to_radians() / 2.0).tan());
        below += 2.0 * ((turn / 2.0).tan() * (from + to)).atan2(1.0 + from * to);
        turned += turn;
    }
    // A ring around a pole has the pole at its left, or the other one.
    let area = if turned.abs() > PI { 2.0 * PI - below } else { -below };
    match area {
        _ if area < 0.0 => area + 4.0 * PI,
        _ => area,
    }
}

impl Spatial {
    /// See the head of the module.
    pub(super) fn leaves_hemisphere(&self) -> bool {
        if self.points.is_empty() {
            return self.whole() == Kind::FullGlobe;
        }
        let mut sum = [0.0; 3];
        for figure in 0..self.figures.len() {
            let points = &self.points[self.figure_points(figure)];
            let is_closed = points.len() > 1 && points.first().zip(points.last()).is_some_and(|(a, b)| a.is_at(b));
            let counted = points.len() - usize::from(is_closed);
            for point in points.iter().take(counted) {
                let towards = direction(point);
                sum.iter_mut().zip(towards).for_each(|(sum, part)| *sum += part);
            }
        }
        if dot(sum, sum).sqrt() < DIRECTION_MIN || self.points.iter().any(|point| dot(sum, direction(point)) <= 0.0) {
            return true;
        }
        let polygons = self
            .shapes
            .iter()
            .enumerate()
            .filter(|(_, shape)| shape.kind.is_polygon());
        let mut exteriors = polygons.filter_map(|(_, shape)| shape.first_figure);
        exteriors.any(|ring| area_at_left(&self.points[self.figure_points(ring)]) > 2.0 * PI)
    }
}
