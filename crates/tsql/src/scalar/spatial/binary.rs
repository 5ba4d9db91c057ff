//! Well-known binary (OGC Simple Features), both ways:
//!
//! ```text
//! u8 order of the bytes, 1 = little-endian | u32 kind, + 1000 with Z, + 2000 with M, + 3000 with both | content
//! Point: its numbers   LineString, CircularString: u32 points | points   Polygon: u32 rings | of each u32 points | points
//! all others: u32 count | values, each from its order of bytes on
//! ```
//! A point without a place has no form: it is written as a MultiPoint of none.

use engine::cancel;
use engine::error::{Error, Result};
use engine::types::{Bytes, Value, string_room};

use super::builder::Builder;
use super::{Joins, Kind, Point, Segment, Spatial, Surface};

/// The kind that FullGlobe has here.
const FULL_GLOBE: u32 = 126;
/// Bytes of a point without Z and M, and of the shortest value: its head and a count.
const POINT_BYTES: usize = 16;
const VALUE_BYTES_MIN: usize = 5;

impl Kind {
    fn number(self) -> u32 {
        match self {
            Kind::FullGlobe => FULL_GLOBE,
            kind => kind as u32,
        }
    }
}

impl Spatial {
    /// The value that well-known binary is.
    ///
    /// # Errors
    /// 6522 with 24115 for what is none; those of shapes that SQL Server refuses, see `builder`; 701.
    pub fn from_well_known_binary(surface: Surface, bytes: &[u8], srid: i32, wanted: Option<Kind>) -> Result<Spatial> {
        cancel::spend_bytes(bytes.len())?;
        let mut reader = Reader {
            rest: bytes,
            is_little: true,
            numbers: [false; 2],
            builder: Builder::new(surface, srid)?,
        };
        reader.values(wanted)?;
        match reader.rest {
            [] => reader.builder.finish(),
            _ => Err(reader.invalid()),
        }
    }

    /// As well-known binary, with elevations and measures or without.
    ///
    /// # Errors
    /// 7119 when it is longer than a string can be, 701 when there is no memory for it.
    pub fn to_well_known_binary(&self, with_z_and_m: bool) -> Result<Value> {
        // A point of a collection has a head of its own; one that two curves share is written twice.
        let bytes_max = self.points.len() * (2 * 32 + 9)
            + (self.shapes.len() + self.figures.len()) * 9
            + self.segments.len() * 9
            + 9;
        let charge = string_room(bytes_max)?;
        let mut writer = Writer {
            of: self,
            numbers: [with_z_and_m && self.has_z(), with_z_and_m && self.has_m()],
            out: Vec::with_capacity(bytes_max),
        };
        writer.shapes();
        cancel::spend_bytes(writer.out.len())?;
        drop(charge);
        let charge = string_room(writer.out.len())?;
        Ok(Value::Binary(Bytes::charged(writer.out, charge)))
    }
}

struct Reader<'b> {
    rest: &'b [u8],
    is_little: bool,
    /// Whether the points of the value that is read have Z and M.
    numbers: [bool; 2],
    builder: Builder,
}

impl Reader<'_> {
    fn invalid(&self) -> Error {
        self.builder
            .refused("24115: The well-known binary (WKB) input is not valid.")
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let Some((taken, rest)) = self.rest.split_first_chunk::<N>() else {
            return Err(self.invalid());
        };
        self.rest = rest;
        Ok(*taken)
    }

    fn int(&mut self) -> Result<u32> {
        let bytes = self.take()?;
        Ok(match self.is_little {
            true => u32::from_le_bytes(bytes),
            false => u32::from_be_bytes(bytes),
        })
    }

    fn double(&mut self) -> Result<f64> {
        let bytes = self.take()?;
        Ok(match self.is_little {
            true => f64::from_le_bytes(bytes),
            false => f64::from_be_bytes(bytes),
        })
    }

    /// A count of things of at least so many bytes, which must be there.
    fn count(&mut self, bytes: usize) -> Result<usize> {
        let count = self.int()? as usize;
        match count <= self.rest.len() / bytes {
            true => Ok(count),
            false => Err(self.invalid()),
        }
    }

    fn head(&mut self) -> Result<Kind> {
        let [order] = self.take()?;
        if order > 1 {
            return Err(self.invalid());
        }
        self.is_little = order == 1;
        let number = self.int()?;
        self.numbers = match number / 1_000 {
            0 => [false, false],
            1 => [true, false],
            2 => [false, true],
            3 => [true, true],
            _ => return Err(self.invalid()),
        };
        let number = number % 1_000;
        let found = Kind::ALL.into_iter().find(|kind| kind.number() == number);
        found.ok_or_else(|| self.invalid())
    }

    /// The value with all within it; the stack has the values that are still to come within each that is open.
    fn values(&mut self, mut wanted: Option<Kind>) -> Result<()> {
        let mut left: Vec<usize> = Vec::new();
        loop {
            let kind = self.head()?;
            let may_be = match self.builder.innermost() {
                Some(around) => around.holds().is_some_and(|kinds| kinds.contains(&kind)),
                None => wanted.take().is_none_or(|wanted| wanted == kind),
            };
            if !may_be {
                return Err(self.invalid());
            }
            self.builder.begin(kind)?;
            match kind.holds() {
                Some(_) => left.push(self.count(VALUE_BYTES_MIN)?),
                None => {
                    self.content(kind)?;
                    self.builder.end();
                }
            }
            while left.last() == Some(&0) {
                left.pop();
                self.builder.end();
            }
            match left.last_mut() {
                Some(left) => *left -= 1,
                None => return Ok(()),
            }
        }
    }

    fn content(&mut self, kind: Kind) -> Result<()> {
        match kind {
            Kind::Point => {
                let place = self.place()?;
                // What has no place is written so elsewhere.
                if place.x.is_nan() && place.y.is_nan() {
                    return Ok(());
                }
                self.builder.begin_figure(Joins::Lines)?;
                self.builder.point(place)
            }
            Kind::LineString => self.run(Joins::Lines),
            Kind::CircularString => self.run(Joins::Arcs),
            Kind::Polygon => {
                for ring in 0..self.count(4)? {
                    self.run(Joins::Lines)?;
                    self.require_ring(ring)?;
                }
                Ok(())
            }
            Kind::CompoundCurve => self.elements(),
            Kind::CurvePolygon => {
                for ring in 0..self.count(VALUE_BYTES_MIN)? {
                    match self.head()? {
                        Kind::LineString => self.run(Joins::Lines)?,
                        Kind::CircularString => self.run(Joins::Arcs)?,
                        Kind::CompoundCurve => self.elements()?,
                        _ => return Err(self.invalid()),
                    }
                    self.require_ring(ring)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn require_ring(&self, ring: usize) -> Result<()> {
        match self.builder.figure() {
            [] => Err(self.builder.short_ring(ring, self.builder.surface())),
            _ => self.builder.require_ring(ring),
        }
    }

    fn place(&mut self) -> Result<Point> {
        let (x, y) = (self.double()?, self.double()?);
        let [has_z, has_m] = self.numbers;
        let z = if has_z { self.double()? } else { f64::NAN };
        let m = if has_m { self.double()? } else { f64::NAN };
        Ok(Point { x, y, z, m })
    }

    /// A figure of lines or arcs; none for no points, but a ring must have some.
    fn run(&mut self, joins: Joins) -> Result<()> {
        let points = self.count(POINT_BYTES)?;
        let is_ring = !matches!(self.builder.innermost(), Some(Kind::LineString | Kind::CircularString));
        if points == 0 && is_ring {
            return Err(self.invalid());
        }
        if points == 0 {
            return Ok(());
        }
        if joins == Joins::Arcs && (points < 3 || points.is_multiple_of(2)) {
            return Err(self.invalid());
        }
        self.builder.begin_figure(joins)?;
        for _ in 0..points {
            let place = self.place()?;
            self.builder.point(place)?;
        }
        match joins {
            Joins::Lines if !is_ring => self.builder.require_line(points),
            _ => Ok(()),
        }
    }

    /// The curves of a figure that has lines and arcs: each begins where the last one ends, at a point that is written twice.
    fn elements(&mut self) -> Result<()> {
        let elements = self.count(VALUE_BYTES_MIN)?;
        if elements == 0 && self.builder.innermost() == Some(Kind::CurvePolygon) {
            return Err(self.invalid());
        }
        for element in 0..elements {
            let is_arc = match self.head()? {
                Kind::LineString => false,
                Kind::CircularString => true,
                _ => return Err(self.invalid()),
            };
            let points = self.count(POINT_BYTES)?;
            let step = if is_arc { 2 } else { 1 };
            if points <= step || (points - 1) % step != 0 {
                return Err(self.invalid());
            }
            if element == 0 {
                self.builder.begin_figure(Joins::Both)?;
            }
            let start = self.place()?;
            match self.builder.figure().last() {
                Some(last) if element > 0 && !last.is_same(&start) => return Err(self.invalid()),
                Some(_) if element > 0 => {}
                _ => self.builder.point(start)?,
            }
            for part in 0..(points - 1) / step {
                self.builder.segment(match (is_arc, part) {
                    (true, 0) => Segment::FirstArc,
                    (true, _) => Segment::Arc,
                    (false, 0) => Segment::FirstLine,
                    (false, _) => Segment::Line,
                });
                for _ in 0..step {
                    let place = self.place()?;
                    self.builder.point(place)?;
                }
            }
        }
        Ok(())
    }
}

struct Writer<'s> {
    of: &'s Spatial,
    numbers: [bool; 2],
    out: Vec<u8>,
}

impl Writer<'_> {
    fn shapes(&mut self) {
        let of = self.of;
        // How many shapes are within each.
        let mut within = vec![0_u32; of.shapes.len()];
        for parent in of.shapes.iter().filter_map(|shape| shape.parent) {
            within[parent] += 1;
        }
        for (at, shape) in of.shapes.iter().enumerate() {
            let figures = of.figures_between(at, at + 1);
            if shape.kind == Kind::Point && figures.is_empty() {
                self.head(Kind::MultiPoint);
                self.int(0);
                continue;
            }
            self.head(shape.kind);
            match shape.kind {
                Kind::Point => self.points(&of.points[of.figure_points(figures.start)]),
                Kind::LineString | Kind::CircularString | Kind::CompoundCurve if figures.is_empty() => self.int(0),
                Kind::LineString | Kind::CircularString => self.run(&of.points[of.figure_points(figures.start)]),
                Kind::CompoundCurve => self.elements(figures.start),
                Kind::Polygon => {
                    self.int(figures.len() as u32);
                    figures.for_each(|figure| self.run(&of.points[of.figure_points(figure)]));
                }
                Kind::CurvePolygon => {
                    self.int(figures.len() as u32);
                    figures.for_each(|figure| self.curve(figure));
                }
                Kind::FullGlobe => {}
                Kind::MultiPoint | Kind::MultiLineString | Kind::MultiPolygon | Kind::GeometryCollection => {
                    self.int(within[at]);
                }
            }
        }
    }

    fn int(&mut self, number: u32) {
        self.out.extend_from_slice(&number.to_le_bytes());
    }

    fn head(&mut self, kind: Kind) {
        let [has_z, has_m] = self.numbers.map(u32::from);
        self.out.push(1);
        self.int(kind.number() + 1_000 * has_z + 2_000 * has_m);
    }

    fn points(&mut self, points: &[Point]) {
        let [has_z, has_m] = self.numbers;
        for point in points {
            let numbers = [(true, point.x), (true, point.y), (has_z, point.z), (has_m, point.m)];
            for (_, number) in numbers.iter().filter(|(is_there, _)| *is_there) {
                self.out.extend_from_slice(&number.to_le_bytes());
            }
        }
    }

    fn run(&mut self, points: &[Point]) {
        self.int(points.len() as u32);
        self.points(points);
    }

    /// A ring with its head.
    fn curve(&mut self, figure: usize) {
        let of = self.of;
        match of.figures[figure].joins {
            Joins::Lines => self.head(Kind::LineString),
            Joins::Arcs => self.head(Kind::CircularString),
            Joins::Both => {
                self.head(Kind::CompoundCurve);
                return self.elements(figure);
            }
        }
        self.run(&of.points[of.figure_points(figure)]);
    }

    fn elements(&mut self, figure: usize) {
        let of = self.of;
        let points = &of.points[of.figure_points(figure)];
        let segments = of.segments_of(figure);
        let ends = |at: usize| {
            let next = segments.get(at + 1);
            next.is_none_or(|next| next.is_first() || next.is_arc() != segments[at].is_arc())
        };
        self.int((0..segments.len()).filter(|at| ends(*at)).count() as u32);
        let (mut start, mut end) = (0, 0);
        for (at, segment) in segments.iter().enumerate() {
            end += segment.points();
            if ends(at) {
                self.head(if segment.is_arc() {
                    Kind::CircularString
                } else {
                    Kind::LineString
                });
                self.run(points.get(start..=end).unwrap_or_default());
                start = end;
            }
        }
    }
}
