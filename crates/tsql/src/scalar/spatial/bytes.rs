//! The bytes of a value ([MS-SSCLRT] 2.1.1 and 2.1.2), little-endian:
//!
//! ```text
//! 0 i32 reference system, -1 = NULL and nothing follows | 4 u8 version, 1 or 2
//! 5 u8 properties: 1 = Z, 2 = M, 4 = valid, 8 = a single point, 16 = a single line, 32 = larger than a hemisphere (version 2)
//! 6 u32 points, not for a single point or line | x y of each (f64; latitude and longitude of geography) | z of each | m of each
//! and, but for a single point or line:
//!   u32 figures | of each: u8 what it is, i32 its first point
//!   u32 shapes  | of each: i32 parent or -1, i32 first figure or -1, u8 kind
//!   u32 segments, if a figure has lines and arcs (others may count none in version 2) | u8 of each
//! ```
//! What a figure is: in version 1 an inner ring 0, a line or point 1, an outer ring 2; in version 2 a point 0, lines 1, arcs 2, both 3.

use engine::cancel;
use engine::error::Result;
use engine::types::string_room;

use super::builder::require_place;
use super::{FORMAT, Figure, Joins, Kind, Point, Segment, Shape, Spatial, Surface, invalid_bytes, raised, reference};

const HAS_Z: u8 = 1;
const HAS_M: u8 = 2;
const IS_VALID: u8 = 4;
const IS_POINT: u8 = 8;
const IS_LINE: u8 = 16;
const IS_LARGE: u8 = 32;

/// `attributes` of figures in version 1.
const INNER_RING: u8 = 0;
const STROKE: u8 = 1;
const OUTER_RING: u8 = 2;

/// Bytes of a point, of a figure, of a shape.
const POINT_BYTES: usize = 16;
const FIGURE_BYTES: usize = 5;
const SHAPE_BYTES: usize = 9;

/// Reads from the beginning. `None` is an end that comes too early.
struct Reader<'b> {
    rest: &'b [u8],
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn int(&mut self) -> Option<i32> {
        self.take().map(i32::from_le_bytes)
    }

    fn number(&mut self) -> Option<f64> {
        self.take().map(f64::from_le_bytes)
    }

    /// A count of things that take so many bytes each, which must be there.
    fn count(&mut self, bytes: usize) -> Option<usize> {
        let count = usize::try_from(self.int()?).ok()?;
        (count <= self.rest.len() / bytes).then_some(count)
    }
}

/// An offset, or -1 for none.
fn offset(number: i32) -> Option<Option<usize>> {
    match number {
        -1 => Some(None),
        _ => usize::try_from(number).ok().map(Some),
    }
}

/// How much memory the lists of a value take, at most. A point takes twice what it takes in the bytes; a figure, and a shape with the mark of the one
/// around it, less than seven times. A count of points that is too high is refused before anything is made of it.
fn lists_bytes(bytes: &[u8]) -> usize {
    let count = bytes.get(6..).and_then(|rest| rest.first_chunk::<4>());
    let points = count.map_or(0, |count| u32::from_le_bytes(*count) as usize);
    let others = bytes.len().saturating_sub(points.saturating_mul(POINT_BYTES));
    bytes.len().saturating_mul(2).saturating_add(others.saturating_mul(7))
}

impl Spatial {
    /// The value that bytes are; `None` for NULL.
    ///
    /// # Errors
    /// 6522: with 24210 for a later version, 24100 and 24204 for a reference system that is none, 24201 and 24202 for places that are none, and
    /// for bytes that end too early or contradict themselves. 701 when there is no memory.
    pub fn from_bytes(surface: Surface, bytes: &[u8]) -> Result<Option<Spatial>> {
        cancel::spend_bytes(bytes.len())?;
        let invalid = || invalid_bytes(surface);
        let mut reader = Reader { rest: bytes };
        let srid = reader.int().ok_or_else(invalid)?;
        if srid == -1 {
            return Ok(None);
        }
        reference::require_srid(surface, srid)?;
        let version = reader.byte().ok_or_else(invalid)?;
        if !(1..=2).contains(&version) {
            let name = match surface {
                Surface::Plane => "Geometry",
                Surface::Earth => "Geography",
            };
            let words = format!(
                "24210: {name} type with an unexpected version of {version} received; only versions up to 2 are accepted."
            );
            return Err(raised(surface, FORMAT, &words));
        }
        let room = string_room(lists_bytes(bytes).min(i32::MAX as usize))?;
        let read = Spatial {
            surface,
            srid,
            is_valid: false,
            is_large: false,
            points: Vec::new(),
            figures: Vec::new(),
            shapes: Vec::new(),
            segments: Vec::new(),
            room,
        };
        let read = read.filled(&mut reader, version).ok_or_else(invalid)?;
        if !reader.rest.is_empty() {
            return Err(invalid());
        }
        for point in &read.points {
            require_place(surface, point)?;
        }
        Ok(Some(read))
    }

    /// The lists behind the version.
    fn filled(mut self, reader: &mut Reader<'_>, version: u8) -> Option<Spatial> {
        let properties = reader.byte()?;
        let known = HAS_Z | HAS_M | IS_VALID | if version == 1 { IS_POINT | IS_LINE } else { IS_LARGE };
        if properties & !known != 0 || properties & (IS_POINT | IS_LINE) == IS_POINT | IS_LINE {
            return None;
        }
        self.is_valid = properties & IS_VALID != 0;
        self.is_large = properties & IS_LARGE != 0;
        let single = match properties & (IS_POINT | IS_LINE) {
            IS_POINT => Some((Kind::Point, 1)),
            IS_LINE => Some((Kind::LineString, 2)),
            _ => None,
        };
        let points = match single {
            Some((_, points)) => points,
            None => reader.count(POINT_BYTES)?,
        };
        self.read_points(reader, points, properties)?;
        if let Some((kind, _)) = single {
            self.figures.push(Figure {
                joins: Joins::Lines,
                first_point: 0,
                first_segment: 0,
            });
            self.shapes.push(Shape {
                kind,
                parent: None,
                first_figure: Some(0),
            });
            return Some(self);
        }
        self.read_figures(reader, version)?;
        self.read_shapes(reader)?;
        if self.figures.iter().any(|figure| figure.joins == Joins::Both) {
            self.read_segments(reader)?;
        } else if version == 2 && !reader.rest.is_empty() {
            // Microsoft's JDBC driver counts the segments of every value of version 2.
            reader.int().filter(|segments| *segments == 0)?;
        }
        let is_whole = self.is_owned() && (0..self.shapes.len()).all(|shape| self.is_whole(shape));
        is_whole.then_some(self)
    }

    fn read_points(&mut self, reader: &mut Reader<'_>, points: usize, properties: u8) -> Option<()> {
        self.points.reserve_exact(points);
        for _ in 0..points {
            let (first, second) = (reader.number()?, reader.number()?);
            let (x, y) = match self.surface {
                Surface::Plane => (first, second),
                Surface::Earth => (second, first),
            };
            let (z, m) = (f64::NAN, f64::NAN);
            self.points.push(Point { x, y, z, m });
        }
        if properties & HAS_Z != 0 {
            for point in &mut self.points {
                point.z = reader.number()?;
            }
        }
        if properties & HAS_M != 0 {
            for point in &mut self.points {
                point.m = reader.number()?;
            }
        }
        Some(())
    }

    fn read_figures(&mut self, reader: &mut Reader<'_>, version: u8) -> Option<()> {
        let figures = reader.count(FIGURE_BYTES)?;
        self.figures.reserve_exact(figures);
        for _ in 0..figures {
            let joins = match (version, reader.byte()?) {
                (1, INNER_RING..=OUTER_RING) | (2, 0 | 1) => Joins::Lines,
                (2, 2) => Joins::Arcs,
                (2, 3) => Joins::Both,
                _ => return None,
            };
            let first_point = usize::try_from(reader.int()?).ok()?;
            // Each has points of its own.
            let is_next = match self.figures.last() {
                Some(last) => first_point > last.first_point,
                None => first_point == 0,
            };
            if !is_next || first_point >= self.points.len() {
                return None;
            }
            self.figures.push(Figure {
                joins,
                first_point,
                first_segment: 0,
            });
        }
        (self.figures.is_empty() == self.points.is_empty()).then_some(())
    }

    fn read_shapes(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        let shapes = reader.count(SHAPE_BYTES)?;
        self.shapes.reserve_exact(shapes);
        let mut figures_seen = 0;
        for at in 0..shapes {
            let parent = offset(reader.int()?)?;
            let first_figure = offset(reader.int()?)?;
            let kind = Kind::from_number(reader.byte()?)?;
            let is_placed = match parent {
                None => at == 0 && (kind != Kind::FullGlobe || self.surface == Surface::Earth),
                Some(parent) => self.is_open(parent) && kind != Kind::FullGlobe,
            };
            let is_within = parent.is_none_or(|parent| {
                let around = self.shapes.get(parent);
                around.is_some_and(|around| around.kind.holds().is_some_and(|kinds| kinds.contains(&kind)))
            });
            let is_next = first_figure.is_none_or(|first| first >= figures_seen && first < self.figures.len());
            if !is_placed || !is_within || !is_next {
                return None;
            }
            figures_seen = first_figure.unwrap_or(figures_seen);
            self.shapes.push(Shape {
                kind,
                parent,
                first_figure,
            });
        }
        (!self.shapes.is_empty()).then_some(())
    }

    /// Whether the next shape may be within this one: it is the last one, or around it.
    fn is_open(&self, parent: usize) -> bool {
        // A shape behind `parent` that is not within it ends it. The last shape's line to the first one passes `parent` then, or not.
        let mut around = self.shapes.len().checked_sub(1);
        while let Some(shape) = around {
            if shape <= parent {
                return shape == parent;
            }
            around = self.shapes[shape].parent;
        }
        false
    }

    fn read_segments(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        let segments = reader.count(1)?;
        self.segments.reserve_exact(segments);
        for _ in 0..segments {
            self.segments.push(match reader.byte()? {
                0 => Segment::Line,
                1 => Segment::Arc,
                2 => Segment::FirstLine,
                3 => Segment::FirstArc,
                _ => return None,
            });
        }
        // Each figure uses those that lead from its first point to its last one.
        let mut used = 0;
        for figure in 0..self.figures.len() {
            self.figures[figure].first_segment = used;
            if self.figures[figure].joins != Joins::Both {
                continue;
            }
            let mut points = self.figure_points(figure).len() - 1;
            while points > 0 {
                points = points.checked_sub(self.segments.get(used)?.points())?;
                used += 1;
            }
        }
        (used == self.segments.len()).then_some(())
    }

    /// Whether each figure belongs to one shape, and each shape around others begins with the first figure within it.
    fn is_owned(&self) -> bool {
        let mut within = vec![None; self.shapes.len()];
        for (at, shape) in self.shapes.iter().enumerate().rev() {
            let is_right = match shape.kind.holds() {
                Some(_) => shape.first_figure == within[at],
                None => shape.first_figure.is_none() || !self.figures_between(at, at + 1).is_empty(),
            };
            if !is_right {
                return false;
            }
            if let (Some(parent), Some(_)) = (shape.parent, shape.first_figure) {
                within[parent] = shape.first_figure;
            }
        }
        let first = self.shapes.first().and_then(|shape| shape.first_figure);
        first == (!self.figures.is_empty()).then_some(0)
    }

    /// Whether the figures of a shape are such as its kind has.
    fn is_whole(&self, shape: usize) -> bool {
        let kind = self.shapes[shape].kind;
        if kind.holds().is_some() {
            return true;
        }
        let figures = self.figures_between(shape, shape + 1);
        let joins = |wanted: &[Joins]| {
            let mut all = figures.clone();
            all.all(|figure| wanted.contains(&self.figures[figure].joins))
        };
        let points = figures.clone().map(|figure| self.figure_points(figure).len());
        let is_single = figures.len() <= 1;
        match kind {
            Kind::Point => is_single && joins(&[Joins::Lines]) && points.sum::<usize>() == figures.len(),
            Kind::LineString => is_single && joins(&[Joins::Lines]) && points.clone().all(|count| count > 1),
            Kind::Polygon => joins(&[Joins::Lines]) && points.clone().all(|count| count > 3),
            Kind::CircularString => {
                is_single && joins(&[Joins::Arcs]) && points.clone().all(|count| count > 2 && count % 2 == 1)
            }
            Kind::CompoundCurve => is_single && joins(&[Joins::Both]) && points.clone().all(|count| count > 1),
            Kind::CurvePolygon => {
                let is_odd = |figure: usize| {
                    let is_arcs = self.figures[figure].joins == Joins::Arcs;
                    !is_arcs || self.figure_points(figure).len() % 2 == 1
                };
                points.clone().all(|count| count > 2) && figures.clone().all(is_odd)
            }
            Kind::FullGlobe => figures.is_empty(),
            Kind::MultiPoint | Kind::MultiLineString | Kind::MultiPolygon | Kind::GeometryCollection => true,
        }
    }

    pub(super) fn has_z(&self) -> bool {
        self.points.iter().any(|point| !point.z.is_nan())
    }

    pub(super) fn has_m(&self) -> bool {
        self.points.iter().any(|point| !point.m.is_nan())
    }

    /// Whether version 1 has no bytes for it.
    pub(super) fn needs_version_2(&self) -> bool {
        self.is_large || self.shapes.iter().any(|shape| shape.kind.is_curved())
    }

    fn is_single(&self, kind: Kind, points: usize) -> bool {
        !self.needs_version_2() && self.shapes.len() == 1 && self.whole() == kind && self.points.len() == points
    }

    /// How many bytes [`Spatial::to_bytes`] makes, at most.
    pub(super) fn bytes_count(&self) -> usize {
        18 + self.points.len() * 2 * POINT_BYTES
            + self.figures.len() * FIGURE_BYTES
            + self.shapes.len() * SHAPE_BYTES
            + 4
            + self.segments.len()
    }

    /// The value in the format of the head, in the lower version that has bytes for it.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let version = if self.needs_version_2() { 2 } else { 1 };
        let (is_point, is_line) = (self.is_single(Kind::Point, 1), self.is_single(Kind::LineString, 2));
        let flag = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        let properties = flag(self.has_z(), HAS_Z)
            | flag(self.has_m(), HAS_M)
            | flag(self.is_valid, IS_VALID)
            | flag(is_point, IS_POINT)
            | flag(is_line, IS_LINE)
            | flag(self.is_large, IS_LARGE);
        let mut out = Vec::with_capacity(self.bytes_count());
        out.extend_from_slice(&self.srid.to_le_bytes());
        out.extend_from_slice(&[version, properties]);
        if !is_point && !is_line {
            out.extend_from_slice(&(self.points.len() as u32).to_le_bytes());
        }
        self.put_points(&mut out, properties);
        if is_point || is_line {
            return out;
        }
        self.put_figures(&mut out, version);
        out.extend_from_slice(&(self.shapes.len() as u32).to_le_bytes());
        let number = |offset: Option<usize>| offset.map_or(-1, |offset| offset as i32).to_le_bytes();
        for shape in &self.shapes {
            out.extend_from_slice(&number(shape.parent));
            out.extend_from_slice(&number(shape.first_figure));
            out.push(shape.kind as u8);
        }
        if !self.segments.is_empty() {
            out.extend_from_slice(&(self.segments.len() as u32).to_le_bytes());
            out.extend(self.segments.iter().map(|segment| *segment as u8));
        }
        out
    }

    fn put_points(&self, out: &mut Vec<u8>, properties: u8) {
        for point in &self.points {
            let (first, second) = match self.surface {
                Surface::Plane => (point.x, point.y),
                Surface::Earth => (point.y, point.x),
            };
            out.extend_from_slice(&first.to_le_bytes());
            out.extend_from_slice(&second.to_le_bytes());
        }
        if properties & HAS_Z != 0 {
            self.points
                .iter()
                .for_each(|point| out.extend_from_slice(&point.z.to_le_bytes()));
        }
        if properties & HAS_M != 0 {
            self.points
                .iter()
                .for_each(|point| out.extend_from_slice(&point.m.to_le_bytes()));
        }
    }

    fn put_figures(&self, out: &mut Vec<u8>, version: u8) {
        out.extend_from_slice(&(self.figures.len() as u32).to_le_bytes());
        // The polygons, by their first figures.
        let polygons = self
            .shapes
            .iter()
            .enumerate()
            .filter(|(_, shape)| shape.kind.is_polygon());
        let mut rings = polygons
            .map(|(at, _)| self.figures_between(at, at + 1))
            .filter(|rings| !rings.is_empty());
        let mut ring = rings.next();
        for (at, figure) in self.figures.iter().enumerate() {
            while ring.as_ref().is_some_and(|ring| ring.end <= at) {
                ring = rings.next();
            }
            let attribute = match (version, &ring) {
                (2, _) => figure.joins as u8,
                (_, Some(ring)) if ring.start == at => OUTER_RING,
                (_, Some(ring)) if ring.contains(&at) => INNER_RING,
                _ => STROKE,
            };
            out.push(attribute);
            out.extend_from_slice(&(figure.first_point as u32).to_le_bytes());
        }
    }
}
