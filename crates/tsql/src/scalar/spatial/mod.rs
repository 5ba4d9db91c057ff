//! Values of `geometry` and `geography`: shapes with their points, as bytes, as well-known text and as well-known binary.
//!
//! A value is the bytes of [MS-SSCLRT] 2.1. They are read into four flat lists, which is how they are written, too:
//!
//! ```text
//! shapes    each with its parent and its first figure; a shape follows its parent, and what is within it follows it
//! figures   runs of points: a point, a line, a ring, arcs, or lines and arcs by turns
//! points    x y z m; of geography x is the longitude, y the latitude, as well-known text writes them
//! segments  lines and arcs of the figures that have both
//! ```
//! | module | what it does |
//! |---|---|
//! | `bytes` | the bytes of a value |
//! | `builder` | shapes put together, and what refuses them |
//! | `text` | well-known text read |
//! | `words` | well-known text written, with and without Z and M |
//! | `binary` | well-known binary, both ways |
//! | `hemisphere` | whether a hemisphere holds a value, which its bytes say |
//! | `members` | what methods answer |
//! | `reference` | which reference systems there are |
//! | `validity` | whether a value of `geometry` is valid |
//!
//! Nothing is computed of the shapes but validity, and that where doubles tell: no distance, no area. What is made from text is marked as invalid
//! when it is known to be; what bytes say of that is kept, and [`Spatial::require_valid`] goes by it.
//!
//! Invariants: no text and no bytes make these functions take more memory than a multiple of their own length, or more stack; a value of the
//! type in the engine is bytes that [`Spatial::from_bytes`] reads.

mod binary;
mod builder;
mod bytes;
mod hemisphere;
mod members;
pub mod reference;
mod text;
mod validity;
mod words;

use engine::error::{Error, Result};
use engine::memory::Charge;
use engine::types::{Bytes, Length, SqlType, Value, string_room};

pub use validity::Validity;

use crate::messages;

/// The type of a value's text (sql-docs, "ToString (geometry Data Type)").
pub const SPATIAL_TEXT: SqlType = SqlType::NVarChar(Length::Max);

/// Which of the two types a value has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surface {
    /// `geometry`: a plane.
    Plane,
    /// `geography`: the earth.
    Earth,
}

impl Surface {
    /// The surface of a type; `None` for a type that is neither.
    pub fn of(sql_type: SqlType) -> Option<Surface> {
        match sql_type {
            SqlType::Geometry => Some(Surface::Plane),
            SqlType::Geography => Some(Surface::Earth),
            _ => None,
        }
    }

    /// The type of values on it.
    pub fn sql_type(self) -> SqlType {
        match self {
            Surface::Plane => SqlType::Geometry,
            Surface::Earth => SqlType::Geography,
        }
    }

    /// The name of its class in .NET.
    pub fn class(self) -> &'static str {
        match self {
            Surface::Plane => "SqlGeometry",
            Surface::Earth => "SqlGeography",
        }
    }

    /// The reference system of a text that names none (sql-docs, "Parse (geometry Data Type)", "Parse (geography Data Type)").
    pub fn default_srid(self) -> i32 {
        match self {
            Surface::Plane => 0,
            Surface::Earth => 4326,
        }
    }
}

/// A place, with its elevation and measure; what it lacks is NaN.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) z: f64,
    pub(crate) m: f64,
}

impl Point {
    /// Whether two points are at one place; elevation and measure may differ.
    fn is_at(&self, other: &Point) -> bool {
        (self.x, self.y) == (other.x, other.y)
    }

    /// Whether they are the same in all that they have and lack.
    fn is_same(&self, other: &Point) -> bool {
        let same = |one: f64, other: f64| one == other || one.is_nan() && other.is_nan();
        self.is_at(other) && same(self.z, other.z) && same(self.m, other.m)
    }
}

/// What a shape is; the numbers are those of [MS-SSCLRT] 2.1.4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Point = 1,
    LineString,
    Polygon,
    MultiPoint,
    MultiLineString,
    MultiPolygon,
    GeometryCollection,
    CircularString,
    CompoundCurve,
    CurvePolygon,
    FullGlobe,
}

impl Kind {
    const ALL: [Kind; 11] = [
        Kind::Point,
        Kind::LineString,
        Kind::Polygon,
        Kind::MultiPoint,
        Kind::MultiLineString,
        Kind::MultiPolygon,
        Kind::GeometryCollection,
        Kind::CircularString,
        Kind::CompoundCurve,
        Kind::CurvePolygon,
        Kind::FullGlobe,
    ];

    /// The kind of a number; `None` for another number.
    pub fn from_number(number: u8) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| *kind as u8 == number)
    }

    /// What `STGeometryType` answers.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Point => "Point",
            Kind::LineString => "LineString",
            Kind::Polygon => "Polygon",
            Kind::MultiPoint => "MultiPoint",
            Kind::MultiLineString => "MultiLineString",
            Kind::MultiPolygon => "MultiPolygon",
            Kind::GeometryCollection => "GeometryCollection",
            Kind::CircularString => "CircularString",
            Kind::CompoundCurve => "CompoundCurve",
            Kind::CurvePolygon => "CurvePolygon",
            Kind::FullGlobe => "FullGlobe",
        }
    }

    /// What it may hold; `None` when it has figures itself.
    fn holds(self) -> Option<&'static [Kind]> {
        match self {
            Kind::MultiPoint => Some(&[Kind::Point]),
            Kind::MultiLineString => Some(&[Kind::LineString]),
            Kind::MultiPolygon => Some(&[Kind::Polygon]),
            Kind::GeometryCollection => Some(&Kind::ALL),
            _ => None,
        }
    }

    fn is_polygon(self) -> bool {
        matches!(self, Kind::Polygon | Kind::CurvePolygon)
    }

    /// Whether version 1 of the bytes lacks it.
    fn is_curved(self) -> bool {
        matches!(
            self,
            Kind::CircularString | Kind::CompoundCurve | Kind::CurvePolygon | Kind::FullGlobe
        )
    }
}

/// How a figure joins its points; the numbers are those of version 2, [MS-SSCLRT] 2.1.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Joins {
    /// A figure of a single point, too.
    Lines = 1,
    Arcs,
    Both,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Figure {
    pub(crate) joins: Joins,
    /// It ends where the next one begins.
    pub(crate) first_point: usize,
    /// Of a figure that has lines and arcs: where these begin in the list.
    pub(crate) first_segment: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) kind: Kind,
    /// The shape that it is within.
    pub(crate) parent: Option<usize>,
    /// The first figure of it and of all within it; `None` when these have none.
    pub(crate) first_figure: Option<usize>,
}

/// A part of a figure that has lines and arcs; the numbers are those of [MS-SSCLRT] 2.1.7.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Segment {
    Line = 0,
    Arc,
    /// The first line behind an arc or at the beginning, as text wrote it.
    FirstLine,
    FirstArc,
}

impl Segment {
    /// How many points it adds to the one where it begins.
    fn points(self) -> usize {
        match self {
            Segment::Line | Segment::FirstLine => 1,
            Segment::Arc | Segment::FirstArc => 2,
        }
    }

    fn is_first(self) -> bool {
        matches!(self, Segment::FirstLine | Segment::FirstArc)
    }

    fn is_arc(self) -> bool {
        matches!(self, Segment::Arc | Segment::FirstArc)
    }
}

/// A value that was read. The first shape is the whole.
#[derive(Debug)]
pub struct Spatial {
    surface: Surface,
    srid: i32,
    is_valid: bool,
    /// Of geography: no hemisphere holds it.
    is_large: bool,
    points: Vec<Point>,
    figures: Vec<Figure>,
    shapes: Vec<Shape>,
    segments: Vec<Segment>,
    /// For the lists.
    room: Charge,
}

impl PartialEq for Spatial {
    fn eq(&self, other: &Spatial) -> bool {
        let same_points = |one: &[Point], other: &[Point]| {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.is_same(other))
        };
        (self.surface, self.srid, self.is_valid, self.is_large)
            == (other.surface, other.srid, other.is_valid, other.is_large)
            && same_points(&self.points, &other.points)
            && (&self.figures, &self.shapes, &self.segments) == (&other.figures, &other.shapes, &other.segments)
    }
}

impl Spatial {
    /// The shapes of a value; `None` for NULL.
    ///
    /// # Errors
    /// Those of [`Spatial::from_bytes`] and of reading a value that lies outside of its row.
    pub fn of(surface: Surface, value: &Value) -> Result<Option<Spatial>> {
        match value {
            Value::Binary(bytes) => Spatial::from_bytes(surface, bytes),
            Value::Held(_) => Spatial::of(surface, &value.clone().whole()?),
            _ => Ok(None),
        }
    }

    /// The value that a column stores.
    ///
    /// # Errors
    /// 7119 when it is longer than a string can be, 701 when there is no memory for it.
    pub fn to_value(&self) -> Result<Value> {
        let charge = string_room(self.bytes_count())?;
        Ok(Value::Binary(Bytes::charged(self.to_bytes(), charge)))
    }

    /// The type that it is a value of.
    pub fn surface(&self) -> Surface {
        self.surface
    }

    fn whole(&self) -> Kind {
        self.shapes.first().map_or(Kind::GeometryCollection, |shape| shape.kind)
    }

    /// Where the points of a figure lie in the list.
    fn figure_points(&self, figure: usize) -> std::ops::Range<usize> {
        let start = |at: usize| {
            self.figures
                .get(at)
                .map_or(self.points.len(), |figure| figure.first_point)
        };
        start(figure)..start(figure + 1)
    }

    /// The segments of a figure that has lines and arcs.
    fn segments_of(&self, figure: usize) -> &[Segment] {
        let from = self.figures[figure].first_segment;
        let rest = self.segments.get(from..).unwrap_or_default();
        let (mut points, mut count) = (self.figure_points(figure).len().saturating_sub(1), 0);
        while let Some(segment) = rest.get(count).filter(|_| points > 0) {
            points = points.saturating_sub(segment.points());
            count += 1;
        }
        &rest[..count]
    }

    /// Behind the last shape that is within one.
    fn end_of(&self, shape: usize) -> usize {
        let within = |at: &usize| self.shapes[*at].parent.is_some_and(|parent| parent >= shape);
        (shape + 1..self.shapes.len())
            .take_while(within)
            .last()
            .map_or(shape + 1, |last| last + 1)
    }

    /// The figures of the shapes from one to another.
    fn figures_between(&self, shape: usize, end: usize) -> std::ops::Range<usize> {
        let Some(first) = self.shapes.get(shape).and_then(|shape| shape.first_figure) else {
            return 0..0;
        };
        let next = self.shapes.get(end..).unwrap_or_default();
        let next = next.iter().find_map(|shape| shape.first_figure);
        first..next.unwrap_or(self.figures.len())
    }

    /// Refuses what is marked as invalid.
    ///
    /// # Errors
    /// 6522 with 24144.
    pub fn require_valid(&self) -> Result<()> {
        match self.is_valid {
            true => Ok(()),
            false => Err(raised(
                self.surface,
                ARGUMENT,
                "24144: This operation cannot be completed because the instance is not valid. Use MakeValid to convert the instance to a valid instance. \
                 Note that MakeValid may cause the points of a geometry instance to shift slightly.",
            )),
        }
    }
}

/// Makes a value of a type from a text or from bytes; one of the type stays.
///
/// # Errors
/// 6522 for what is none; 206 for what is neither text nor bytes.
pub fn to_spatial(value: &Value, from: SqlType, surface: Surface) -> Result<Value> {
    match value {
        _ if from == surface.sql_type() => Ok(value.clone()),
        _ if value.is_null() => Ok(Value::Null),
        _ if !from.is_character() && !from.is_binary() => {
            Err(messages::operand_type_clash(from.name(), surface.sql_type().name()))
        }
        Value::Text(text) => Spatial::from_text(surface, text, surface.default_srid(), None)?.to_value(),
        // What was read stays as it was written.
        Value::Binary(bytes) => Ok(Spatial::from_bytes(surface, bytes)?.map_or(Value::Null, |_| value.clone())),
        Value::Held(_) => to_spatial(&value.clone().whole()?, from, surface),
        _ => Ok(Value::Null),
    }
}

/// Whether bytes are a value of a type, as DBCC CHECKDB asks; those of other types are not looked at.
///
/// # Errors
/// 701 and those of a request that is to stop.
pub fn is_value(sql_type: SqlType, bytes: &[u8]) -> Result<bool> {
    let Some(surface) = Surface::of(sql_type) else {
        return Ok(true);
    };
    match Spatial::from_bytes(surface, bytes) {
        // A column has NULL in its bitmap, and not the bytes that other programs send for it.
        Ok(read) => Ok(read.is_some()),
        Err(error) if error.number == EXCEPTION => Ok(false),
        Err(error) => Err(error),
    }
}

/// The number of an exception of .NET.
const EXCEPTION: i32 = 6522;

/// The names of the exceptions of .NET.
pub(crate) const FORMAT: &str = "System.FormatException";
pub(crate) const ARGUMENT: &str = "System.ArgumentException";

/// 6522 with the exception that the class throws. The frames of .NET, which SQL Server shows behind it, are not there.
pub(crate) fn raised(surface: Surface, exception: &str, words: &str) -> Error {
    messages::spatial_exception(surface.sql_type().name(), exception, words)
}

/// 6522 for bytes that end too early or contradict themselves.
pub(crate) fn invalid_bytes(surface: Surface) -> Error {
    raised(surface, FORMAT, "One of the identified items was in an invalid format.")
}

#[cfg(test)]
mod tests;
