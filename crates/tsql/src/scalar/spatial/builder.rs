//! Shapes put together, from text, from well-known binary or from coordinates, and what SQL Server refuses of them.

use engine::cancel;
use engine::error::{Error, Result};
use engine::memory::Charge;

use super::{FORMAT, Figure, Joins, Kind, Point, Segment, Shape, Spatial, Surface, Validity, raised, reference};

/// After so many points, figures and shapes it is asked whether the statement goes on, and for memory.
const SPENT_ITEMS: usize = 4_096;

/// The longitudes that there are, in degrees ([MS-SSCLRT] 2.1.5).
const LONGITUDE_MAX: f64 = 15_069.0;

/// Refuses places that are none on the surface.
///
/// # Errors
/// 6522 with 24201 and 24202 of `geography`, and for what is not a number or has no end.
pub(super) fn require_place(surface: Surface, point: &Point) -> Result<()> {
    let has_end = |number: f64| number.is_finite() || number.is_nan();
    let words = match surface {
        _ if !point.x.is_finite() || !point.y.is_finite() || !has_end(point.z) || !has_end(point.m) => {
            "One of the identified items was in an invalid format."
        }
        Surface::Earth if point.y.abs() > 90.0 => "24201: Latitude values must be between -90 and 90 degrees.",
        Surface::Earth if point.x.abs() > LONGITUDE_MAX => {
            "24202: Longitude values must be between -15069 and 15069 degrees."
        }
        _ => return Ok(()),
    };
    Err(raised(surface, FORMAT, words))
}

/// Puts a value together, shape by shape in the order of their beginnings.
pub(super) struct Builder {
    made: Spatial,
    /// Shapes that have not ended, the innermost last.
    open: Vec<usize>,
    spent: usize,
}

impl Builder {
    /// # Errors
    /// 6522 when there is no such reference system.
    pub(super) fn new(surface: Surface, srid: i32) -> Result<Builder> {
        reference::require_srid(surface, srid)?;
        let made = Spatial {
            surface,
            srid,
            is_valid: true,
            is_large: false,
            points: Vec::new(),
            figures: Vec::new(),
            shapes: Vec::new(),
            segments: Vec::new(),
            room: Charge::default(),
        };
        Ok(Builder {
            made,
            open: Vec::new(),
            spent: 0,
        })
    }

    pub(super) fn refused(&self, words: &str) -> Error {
        raised(self.made.surface, FORMAT, words)
    }

    pub(super) fn surface(&self) -> Surface {
        self.made.surface
    }

    /// The kind of the innermost shape that has not ended.
    pub(super) fn innermost(&self) -> Option<Kind> {
        self.open.last().map(|shape| self.made.shapes[*shape].kind)
    }

    /// A shape begins.
    ///
    /// # Errors
    /// 6522 with 24303 for FullGlobe in a plane, 24150 for one within a collection; 701.
    pub(super) fn begin(&mut self, kind: Kind) -> Result<()> {
        if kind == Kind::FullGlobe && self.made.surface == Surface::Plane {
            return Err(self.refused("24303: The OpenGisGeometryType provided, FullGlobe, is not valid."));
        }
        if kind == Kind::FullGlobe && !self.open.is_empty() {
            return Err(self.refused(
                "24150: FullGlobe instances cannot be objects in the GeometryCollection. GeometryCollections can contain the following instances: \
                 Points, MultiPoints, LineStrings, MultiLineStrings, Polygons, MultiPolygons, CircularStrings, CompoundCurves, CurvePolygons and \
                 GeometryCollections.",
            ));
        }
        self.made.shapes.push(Shape {
            kind,
            parent: self.open.last().copied(),
            first_figure: None,
        });
        self.open.push(self.made.shapes.len() - 1);
        self.spend()
    }

    /// The innermost shape ends.
    pub(super) fn end(&mut self) {
        self.open.pop();
    }

    /// A figure of the innermost shape begins.
    ///
    /// # Errors
    /// 701
    pub(super) fn begin_figure(&mut self, joins: Joins) -> Result<()> {
        let figure = self.made.figures.len();
        for shape in self.open.iter().rev() {
            let first = &mut self.made.shapes[*shape].first_figure;
            // What is around it has a figure since its own first one.
            if first.is_some() {
                break;
            }
            *first = Some(figure);
        }
        self.made.figures.push(Figure {
            joins,
            first_point: self.made.points.len(),
            first_segment: self.made.segments.len(),
        });
        self.spend()
    }

    /// A point of the figure. Negative zeros become zeros.
    ///
    /// # Errors
    /// Those of [`require_place`]; 701.
    pub(super) fn point(&mut self, point: Point) -> Result<()> {
        require_place(self.made.surface, &point)?;
        self.made.points.push(Point {
            x: point.x + 0.0,
            y: point.y + 0.0,
            z: point.z + 0.0,
            m: point.m + 0.0,
        });
        self.spend()
    }

    pub(super) fn segment(&mut self, segment: Segment) {
        self.made.segments.push(segment);
    }

    /// The points of the figure so far.
    pub(super) fn figure(&self) -> &[Point] {
        let first = self.made.figures.last().map_or(0, |figure| figure.first_point);
        &self.made.points[first..]
    }

    /// Refuses a line of a single point.
    ///
    /// # Errors
    /// 6522 with 24117.
    pub(super) fn require_line(&self, points: usize) -> Result<()> {
        match points {
            0 | 1 => Err(self.refused(
                "24117: The LineString input is not valid because it does not have enough points. A LineString must have at least two points.",
            )),
            _ => Ok(()),
        }
    }

    /// Refuses a ring of lines that has fewer than four points or does not end where it begins; `ring` counts from 0, the exterior one.
    ///
    /// # Errors
    /// 6522 with 24118 to 24121 of `geometry`, 24305 and 24306 of `geography`.
    pub(super) fn require_ring(&self, ring: usize) -> Result<()> {
        let points = self.figure();
        if self
            .made
            .figures
            .last()
            .is_some_and(|figure| figure.joins == Joins::Lines)
            && points.len() < 4
        {
            return Err(self.short_ring(ring, self.made.surface));
        }
        let is_closed = match (points.first(), points.last()) {
            (Some(first), Some(last)) => first.is_at(last),
            _ => false,
        };
        if is_closed {
            return Ok(());
        }
        let (number, which) = self.ring_words(ring, self.made.surface, [24119, 24121, 24306]);
        Err(self.refused(&format!(
            "{number}: The Polygon input is not valid because the start and end points of the {which} are not the same. Each ring of a polygon must \
             have the same start and end points."
        )))
    }

    /// 6522 for a ring without enough points, with the number and words of a surface.
    pub(super) fn short_ring(&self, ring: usize, surface: Surface) -> Error {
        let (number, which) = self.ring_words(ring, surface, [24118, 24120, 24305]);
        self.refused(&format!(
            "{number}: The Polygon input is not valid because the {which} does not have enough points. Each ring of a polygon must contain at least \
             four points."
        ))
    }

    /// The number of the exception for the exterior ring, an interior one, and a ring of `geography`; and the ring's name.
    fn ring_words(&self, ring: usize, surface: Surface, [exterior, interior, earth]: [i32; 3]) -> (i32, String) {
        match (surface, ring) {
            (Surface::Earth, _) => (earth, format!("ring number {}", ring + 1)),
            (Surface::Plane, 0) => (exterior, "exterior ring".to_owned()),
            (Surface::Plane, _) => (interior, format!("interior ring number {ring}")),
        }
    }

    /// The value.
    ///
    /// # Errors
    /// 6522 with 24206 for an edge between opposite points of the earth, 24214 for an arc whose points have several elevations.
    pub(super) fn finish(mut self) -> Result<Spatial> {
        self.made.require_edges()?;
        self.made.is_large = self.made.surface == Surface::Earth && self.made.leaves_hemisphere();
        self.made.is_valid = self.made.validity()? != Validity::Invalid;
        Ok(self.made)
    }

    fn spend(&mut self) -> Result<()> {
        self.spent += 1;
        if !self.spent.is_multiple_of(SPENT_ITEMS) {
            return Ok(());
        }
        cancel::spend_bytes(SPENT_ITEMS * size_of::<Point>())?;
        let made = &mut self.made;
        let bytes = made.points.capacity() * size_of::<Point>()
            + made.figures.capacity() * size_of::<Figure>()
            + made.shapes.capacity() * size_of::<Shape>()
            + made.segments.capacity()
            + self.open.capacity() * size_of::<usize>();
        // A list that grows is there twice for a while.
        made.room.grow_to(2 * bytes as u64)
    }
}

impl Spatial {
    /// A point, of `geography` by its latitude and longitude.
    ///
    /// # Errors
    /// 6522 with 24100 and 24204 for a reference system that is none, 24201 and 24202 for a place that is none.
    pub fn of_point(surface: Surface, first: f64, second: f64, srid: i32) -> Result<Spatial> {
        let (x, y) = match surface {
            Surface::Plane => (first, second),
            Surface::Earth => (second, first),
        };
        let mut builder = Builder::new(surface, srid)?;
        builder.begin(Kind::Point)?;
        builder.begin_figure(Joins::Lines)?;
        builder.point(Point {
            x,
            y,
            z: f64::NAN,
            m: f64::NAN,
        })?;
        builder.end();
        builder.finish()
    }

    /// Refuses edges of the earth that say no way, and arcs that are not level.
    fn require_edges(&self) -> Result<()> {
        let mut segments = self.segments.iter();
        for (at, figure) in self.figures.iter().enumerate() {
            let points = &self.points[self.figure_points(at)];
            let mut start = 0;
            while start + 1 < points.len() {
                let is_arc = match figure.joins {
                    Joins::Lines => false,
                    Joins::Arcs => true,
                    Joins::Both => segments.next().is_some_and(|segment| segment.is_arc()),
                };
                let end = (start + if is_arc { 2 } else { 1 }).min(points.len() - 1);
                self.require_edge(&points[start..=end])?;
                start = end;
            }
        }
        Ok(())
    }

    fn require_edge(&self, points: &[Point]) -> Result<()> {
        let (first, rest) = match points.split_first() {
            Some((first, rest)) => (first, rest),
            None => return Ok(()),
        };
        let is_level = |point: &Point| point.z == first.z || point.z.is_nan() && first.z.is_nan();
        if points.len() > 2 && !rest.iter().all(is_level) {
            let words = "24214: Circular arc segments with Z values must have equal Z value for all 3 points.";
            return Err(raised(self.surface, FORMAT, words));
        }
        let is_opposite = |point: &Point| {
            let turns = (point.x - first.x).abs() % 360.0 == 180.0 || first.y.abs() == 90.0;
            point.y == -first.y && turns
        };
        if self.surface == Surface::Earth && points.len() == 2 && rest.iter().any(is_opposite) {
            return Err(raised(
                self.surface,
                "Microsoft.SqlServer.Types.GLArgumentException",
                "24206: The specified input cannot be accepted because it contains an edge with antipodal points. For information about using spatial \
                 methods with FullGlobe objects, see Types of Spatial Data in SQL Server Books Online.",
            ));
        }
        Ok(())
    }
}
