//! What the methods and properties answer that nothing is computed for (sql-docs, "OGC Methods on Geometry Instances", "Extended Methods on
//! Geometry Instances" and those of `geography`).

use engine::error::{Error, Result};
use engine::memory::Charge;
use engine::types::string_room;

use super::{Figure, Joins, Kind, Point, Shape, Spatial, raised};

impl Spatial {
    /// `STGeometryType`
    pub fn type_name(&self) -> &'static str {
        self.whole().name()
    }

    /// `STIsEmpty`: whether there is no place in it.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty() && self.whole() != Kind::FullGlobe
    }

    /// `STNumPoints`
    pub fn points_count(&self) -> usize {
        self.points.len()
    }

    /// `STDimension`: that of the widest part, -1 of an empty value.
    pub fn dimension(&self) -> i32 {
        let parts = self.shapes.iter().filter(|shape| shape.first_figure.is_some());
        let widest = parts.map(|shape| match shape.kind {
            Kind::Point => 0,
            Kind::LineString | Kind::CircularString | Kind::CompoundCurve => 1,
            Kind::Polygon | Kind::CurvePolygon | Kind::FullGlobe => 2,
            Kind::MultiPoint | Kind::MultiLineString | Kind::MultiPolygon | Kind::GeometryCollection => -1,
        });
        match self.whole() {
            Kind::FullGlobe => 2,
            _ => widest.max().unwrap_or(-1),
        }
    }

    /// `STIsClosed`: whether there are figures, and each ends where it begins; a point does not.
    pub fn is_closed(&self) -> bool {
        let is_closed = |figure: usize| {
            let points = &self.points[self.figure_points(figure)];
            points.len() > 1
                && points
                    .first()
                    .zip(points.last())
                    .is_some_and(|(first, last)| first.is_at(last))
        };
        !self.figures.is_empty() && (0..self.figures.len()).all(is_closed)
    }

    /// `STX` or `Long`, `STY` or `Lat`, `Z` and `M` of a point; `None` of anything else.
    pub fn place(&self) -> Option<[f64; 4]> {
        match (self.whole(), self.points.as_slice()) {
            (Kind::Point, [point]) => Some([point.x, point.y, point.z, point.m]),
            _ => None,
        }
    }

    /// `HasZ`
    pub fn has_elevations(&self) -> bool {
        self.has_z()
    }

    /// `HasM`
    pub fn has_measures(&self) -> bool {
        self.has_m()
    }

    /// `MinDbCompatibilityLevel`: version 2 of the bytes came with level 110.
    pub fn compatibility_level_min(&self) -> i32 {
        if self.needs_version_2() { 110 } else { 100 }
    }

    /// `STNumGeometries`
    pub fn geometries_count(&self) -> usize {
        match self.whole().holds() {
            Some(_) => self.shapes.iter().filter(|shape| shape.parent == Some(0)).count(),
            None => usize::from(!self.is_empty()),
        }
    }

    /// `STGeometryN`; `None` behind the last.
    ///
    /// # Errors
    /// 6522 with 24103 for a number below one; 701 when there is no memory for it.
    pub fn geometry(&self, number: i32) -> Result<Option<Spatial>> {
        let index = self.index(number, || {
            format!(
                "24103: The geometry index n ({number}) passed to STGeometryN is less than 1. The number must be greater than or equal to 1 and should \
                 be less than or equal to the number of instances returned by STNumGeometries."
            )
        })?;
        if self.whole().holds().is_none() {
            let is_whole = index == 0 && !self.is_empty();
            return is_whole.then(|| self.part(0, self.shapes.len())).transpose();
        }
        let mut within = (0..self.shapes.len()).filter(|shape| self.shapes[*shape].parent == Some(0));
        let found = within.nth(index);
        found.map(|shape| self.part(shape, self.end_of(shape))).transpose()
    }

    /// `STPointN`; `None` behind the last.
    ///
    /// # Errors
    /// 6522 with 24102 for a number below one.
    pub fn point(&self, number: i32) -> Result<Option<Spatial>> {
        let index = self.index(number, || {
            format!(
                "24102: The point index n ({number}) passed to STPointN is less than 1. This number must be greater than or equal to 1 and less than or \
                 equal to the number of points returned by STNumPoints."
            )
        })?;
        Ok(self.points.get(index).map(|point| self.single(*point)))
    }

    /// `STStartPoint`
    pub fn start(&self) -> Option<Spatial> {
        self.points.first().map(|point| self.single(*point))
    }

    /// `STEndPoint`
    pub fn end(&self) -> Option<Spatial> {
        self.points.last().map(|point| self.single(*point))
    }

    /// Rings of a polygon, the exterior one, too; `None` of anything else.
    pub fn rings_count(&self) -> Option<usize> {
        self.whole().is_polygon().then_some(self.figures.len())
    }

    /// A ring, 0 being the exterior one; `None` behind the last, and of what has no rings.
    ///
    /// # Errors
    /// 701 when there is no memory for it.
    pub fn ring(&self, ring: usize) -> Result<Option<Spatial>> {
        let Some(figure) = self.figures.get(ring).filter(|_| self.whole().is_polygon()) else {
            return Ok(None);
        };
        let kind = match figure.joins {
            Joins::Lines => Kind::LineString,
            Joins::Arcs => Kind::CircularString,
            Joins::Both => Kind::CompoundCurve,
        };
        let room = self.copy_room()?;
        let mut found = self.with_points(kind, self.points[self.figure_points(ring)].to_vec());
        found.room = room;
        found.figures[0].joins = figure.joins;
        if figure.joins == Joins::Both {
            found.segments = self.segments_of(ring).to_vec();
        }
        Ok(Some(found.marked()))
    }

    /// The place of a ring in the list, `first` being that of ring 1.
    ///
    /// # Errors
    /// 6522 with 24104 for a number below one. `RingN` says it of STInteriorRingN, too.
    pub fn ring_index(&self, number: i32, first: usize) -> Result<usize> {
        let index = self.index(number, || {
            format!(
                "24104: The ring index n ({number}) passed to STInteriorRingN is less than 1. The number must be greater than or equal to 1 and should be \
                 less than or equal to the number of rings returned by STNumInteriorRing."
            )
        })?;
        Ok(first + index)
    }

    fn index(&self, number: i32, words: impl FnOnce() -> String) -> Result<usize> {
        let below = |_| -> Error {
            let words = format!("{}\r\nParameter name: n", words());
            raised(self.surface, "System.ArgumentOutOfRangeException", &words)
        };
        usize::try_from(number.saturating_sub(1)).map_err(below)
    }

    fn single(&self, point: Point) -> Spatial {
        self.with_points(Kind::Point, vec![point]).marked()
    }

    /// A value of one figure.
    fn with_points(&self, kind: Kind, points: Vec<Point>) -> Spatial {
        Spatial {
            surface: self.surface,
            srid: self.srid,
            is_valid: true,
            is_large: false,
            points,
            figures: vec![Figure {
                joins: Joins::Lines,
                first_point: 0,
                first_segment: 0,
            }],
            shapes: vec![Shape {
                kind,
                parent: None,
                first_figure: Some(0),
            }],
            segments: Vec::new(),
            room: Charge::default(),
        }
    }

    /// Memory for lists as long as the value's own.
    fn copy_room(&self) -> Result<Charge> {
        let bytes = self.points.len() * size_of::<Point>()
            + self.figures.len() * size_of::<Figure>()
            + self.shapes.len() * size_of::<Shape>()
            + self.segments.len();
        string_room(bytes.min(i32::MAX as usize))
    }

    /// The shapes from one to another as a value.
    fn part(&self, shape: usize, end: usize) -> Result<Spatial> {
        let room = self.copy_room()?;
        let figures = self.figures_between(shape, end);
        let first_of = |at: usize| self.figures.get(at).copied();
        let first = first_of(figures.start);
        let (first_point, first_segment) = match first {
            Some(first) if !figures.is_empty() => (first.first_point, first.first_segment),
            _ => (0, 0),
        };
        let point_end = match figures.is_empty() {
            true => first_point,
            false => self.figure_points(figures.end - 1).end,
        };
        let segment_end = match first_of(figures.end) {
            _ if figures.is_empty() => first_segment,
            Some(next) => next.first_segment,
            None => self.segments.len(),
        };
        let mut part = self.with_points(Kind::Point, self.points[first_point..point_end].to_vec());
        part.room = room;
        part.segments = self.segments[first_segment..segment_end].to_vec();
        part.figures = self.figures[figures.clone()].to_vec();
        for figure in &mut part.figures {
            figure.first_point -= first_point;
            figure.first_segment -= first_segment;
        }
        part.shapes = self.shapes[shape..end].to_vec();
        for kept in &mut part.shapes {
            kept.parent = kept.parent.and_then(|parent| parent.checked_sub(shape));
            kept.first_figure = kept.first_figure.map(|first| first - figures.start);
        }
        Ok(part.marked())
    }

    /// Marked as larger than a hemisphere, or not.
    fn marked(mut self) -> Spatial {
        self.is_large = self.surface == super::Surface::Earth && self.leaves_hemisphere();
        self
    }
}
