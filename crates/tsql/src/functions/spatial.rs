//! The methods and properties of `geometry` and `geography` (sql-docs, "OGC Methods on Geometry Instances", "Extended Static Geometry Methods" and
//! those of `geography`). The first argument of a member is the value; of NULL all are NULL.

use engine::error::Result;
use engine::types::{Length, SqlType, Value};

use super::Call;
use crate::messages;
use crate::plan::Implementation;
use crate::scalar::spatial::{Kind, SPATIAL_TEXT, Spatial, Surface, Validity};

/// The type of names of types (sql-docs, "STGeometryType (geometry Data Type)").
const NAME: SqlType = SqlType::NVarChar(Length::Limited(4_000));
const BYTES: SqlType = SqlType::VarBinary(Length::Max);

/// What a member answers.
#[derive(Clone, Copy)]
pub(crate) enum Answer {
    Type(SqlType),
    /// A value of the type that it is asked of.
    Own,
}

/// A method or a property in an expression.
pub(crate) struct SpatialMember {
    /// As it is written; the name tells case.
    pub(crate) name: &'static str,
    /// It is written without parentheses.
    pub(crate) is_property: bool,
    /// The one type that has it; `None` for both.
    pub(crate) only: Option<Surface>,
    pub(crate) argument: Option<SqlType>,
    pub(crate) answer: Answer,
    /// `None` for what is not supported.
    pub(crate) implementation: Option<Implementation>,
}

const fn property(name: &'static str, sql_type: SqlType, implementation: Implementation) -> SpatialMember {
    SpatialMember {
        is_property: true,
        ..method(name, Answer::Type(sql_type), implementation)
    }
}

const fn method(name: &'static str, answer: Answer, implementation: Implementation) -> SpatialMember {
    SpatialMember {
        name,
        is_property: false,
        only: None,
        argument: None,
        answer,
        implementation: Some(implementation),
    }
}

const fn numbered(name: &'static str, implementation: Implementation) -> SpatialMember {
    SpatialMember {
        argument: Some(SqlType::Int),
        ..method(name, Answer::Own, implementation)
    }
}

const fn only(surface: Surface, member: SpatialMember) -> SpatialMember {
    SpatialMember {
        only: Some(surface),
        ..member
    }
}

const fn lacking(name: &'static str) -> SpatialMember {
    SpatialMember {
        implementation: None,
        ..method(name, Answer::Own, srid)
    }
}

const PLANE: Surface = Surface::Plane;
const EARTH: Surface = Surface::Earth;
const INT: Answer = Answer::Type(SqlType::Int);
const BIT: Answer = Answer::Type(SqlType::Bit);
const TEXT: Answer = Answer::Type(SPATIAL_TEXT);
const FLOAT: SqlType = SqlType::Float;

/// All members; those that compute something of the shapes are not supported.
static MEMBERS: &[SpatialMember] = &[
    property("STSrid", SqlType::Int, srid),
    property("IsNull", SqlType::Bit, is_null),
    property("HasZ", SqlType::Bit, has_z),
    property("HasM", SqlType::Bit, has_m),
    property("Z", FLOAT, z),
    property("M", FLOAT, m),
    only(PLANE, property("STX", FLOAT, x)),
    only(PLANE, property("STY", FLOAT, y)),
    only(EARTH, property("Long", FLOAT, x)),
    only(EARTH, property("Lat", FLOAT, y)),
    method("ToString", TEXT, text_with_z_and_m),
    method("AsTextZM", TEXT, text_with_z_and_m),
    method("STAsText", TEXT, text),
    method("STAsBinary", Answer::Type(BYTES), binary),
    method("AsBinaryZM", Answer::Type(BYTES), binary_with_z_and_m),
    method("STGeometryType", Answer::Type(NAME), type_name),
    method("STDimension", INT, dimension),
    method("STNumPoints", INT, points_count),
    method("STNumGeometries", INT, geometries_count),
    method("STIsEmpty", BIT, is_empty),
    method("STIsClosed", BIT, is_closed),
    method("STIsValid", BIT, is_valid),
    method("STStartPoint", Answer::Own, start),
    method("STEndPoint", Answer::Own, end),
    numbered("STPointN", point),
    numbered("STGeometryN", geometry),
    method("MinDbCompatibilityLevel", INT, compatibility_level_min),
    only(PLANE, method("STExteriorRing", Answer::Own, exterior_ring)),
    only(PLANE, method("STNumInteriorRing", INT, interior_rings_count)),
    only(PLANE, numbered("STInteriorRingN", interior_ring)),
    only(EARTH, method("NumRings", INT, rings_count)),
    only(EARTH, numbered("RingN", ring)),
    lacking("AsGml"),
    lacking("BufferWithCurves"),
    lacking("BufferWithTolerance"),
    lacking("CurveToLineWithTolerance"),
    lacking("Filter"),
    lacking("InstanceOf"),
    lacking("IsValidDetailed"),
    lacking("MakeValid"),
    lacking("Reduce"),
    lacking("ShortestLineTo"),
    lacking("STArea"),
    lacking("STBuffer"),
    lacking("STContains"),
    lacking("STConvexHull"),
    lacking("STCurveN"),
    lacking("STCurveToLine"),
    lacking("STDifference"),
    lacking("STDisjoint"),
    lacking("STDistance"),
    lacking("STEquals"),
    lacking("STIntersection"),
    lacking("STIntersects"),
    lacking("STLength"),
    lacking("STNumCurves"),
    lacking("STOverlaps"),
    lacking("STSymDifference"),
    lacking("STUnion"),
    lacking("STWithin"),
    only(PLANE, lacking("STBoundary")),
    only(PLANE, lacking("STCentroid")),
    only(PLANE, lacking("STCrosses")),
    only(PLANE, lacking("STEnvelope")),
    only(PLANE, lacking("STIsRing")),
    only(PLANE, lacking("STIsSimple")),
    only(PLANE, lacking("STPointOnSurface")),
    only(PLANE, lacking("STRelate")),
    only(PLANE, lacking("STTouches")),
    only(EARTH, lacking("EnvelopeAngle")),
    only(EARTH, lacking("EnvelopeCenter")),
    only(EARTH, lacking("ReorientObject")),
];

/// A member of a type by its name and the way it is written.
pub(crate) fn member(name: &str, is_property: bool, surface: Surface) -> Option<&'static SpatialMember> {
    MEMBERS.iter().find(|member| {
        let is_here = member.only.is_none_or(|only| only == surface);
        member.name == name && member.is_property == is_property && is_here
    })
}

/// A static method: what makes a value.
#[derive(Clone, Copy)]
pub(crate) enum Constructor {
    Parse,
    /// Its arguments are a text and a reference system, or bytes and one.
    Of(SqlType, Implementation),
    Point,
    /// It is not supported.
    Lacking,
}

/// Of text and of well-known binary, each for one kind of shape or all.
const KINDS: [(&str, &str, Implementation, Implementation); 8] = [
    ("STGeomFromText", "STGeomFromWKB", from_text::<0>, from_binary::<0>),
    ("STPointFromText", "STPointFromWKB", from_text::<1>, from_binary::<1>),
    ("STLineFromText", "STLineFromWKB", from_text::<2>, from_binary::<2>),
    ("STPolyFromText", "STPolyFromWKB", from_text::<3>, from_binary::<3>),
    ("STMPointFromText", "STMPointFromWKB", from_text::<4>, from_binary::<4>),
    ("STMLineFromText", "STMLineFromWKB", from_text::<5>, from_binary::<5>),
    ("STMPolyFromText", "STMPolyFromWKB", from_text::<6>, from_binary::<6>),
    (
        "STGeomCollFromText",
        "STGeomCollFromWKB",
        from_text::<7>,
        from_binary::<7>,
    ),
];

/// A static method by its name, and the name as it stands here.
pub(crate) fn constructor(name: &str) -> Option<(&'static str, Constructor)> {
    const LACKING: [&str; 5] = [
        "GeomFromGml",
        "UnionAggregate",
        "EnvelopeAggregate",
        "CollectionAggregate",
        "ConvexHullAggregate",
    ];
    match name {
        "Parse" => return Some(("Parse", Constructor::Parse)),
        "Point" => return Some(("Point", Constructor::Point)),
        _ => {}
    }
    let of_kind = KINDS.iter().find_map(|&(text, binary, from_text, from_binary)| {
        let of_text = (text == name).then_some((text, Constructor::Of(SPATIAL_TEXT, from_text)));
        of_text.or((binary == name).then_some((binary, Constructor::Of(BYTES, from_binary))))
    });
    let lacking = LACKING.into_iter().find(|lacking| *lacking == name);
    of_kind.or(lacking.map(|name| (name, Constructor::Lacking)))
}

fn surface_of_result(call: &Call<'_>) -> Surface {
    Surface::of(call.result).unwrap_or(PLANE)
}

/// The kind of a number, 0 for any.
fn kind(number: u8) -> Option<Kind> {
    Kind::from_number(number)
}

/// The reference system, which is the last argument.
fn srid_of(call: &Call<'_>, method: &str, ordinal: usize) -> Result<i32> {
    match call.value(ordinal - 1) {
        Value::Int(srid) => Ok(*srid),
        _ => Err(null_argument(call, method, ordinal)),
    }
}

fn null_argument(call: &Call<'_>, method: &str, ordinal: usize) -> engine::error::Error {
    messages::method_argument_null(call.result.name(), method, ordinal)
}

fn from_text<const KIND: u8>(call: &Call<'_>) -> Result<Value> {
    let names = KINDS[usize::from(KIND)];
    let srid = srid_of(call, names.0, 2)?;
    let value = call.value(0).clone().whole()?;
    match value.as_str() {
        Some(text) => Spatial::from_text(surface_of_result(call), text, srid, kind(KIND))?.to_value(),
        None => Ok(Value::Null),
    }
}

fn from_binary<const KIND: u8>(call: &Call<'_>) -> Result<Value> {
    let names = KINDS[usize::from(KIND)];
    let srid = srid_of(call, names.1, 2)?;
    match call.value(0).clone().whole()? {
        Value::Binary(bytes) => {
            Spatial::from_well_known_binary(surface_of_result(call), &bytes, srid, kind(KIND))?.to_value()
        }
        _ => Ok(Value::Null),
    }
}

/// `Point(x, y, srid)`, of `geography` `Point(latitude, longitude, srid)`.
pub(crate) fn point_of(call: &Call<'_>) -> Result<Value> {
    let number = |ordinal: usize| match call.value(ordinal - 1) {
        Value::Float(number) => Ok(*number),
        _ => Err(null_argument(call, "Point", ordinal)),
    };
    let (first, second) = (number(1)?, number(2)?);
    let srid = srid_of(call, "Point", 3)?;
    Spatial::of_point(surface_of_result(call), first, second, srid)?.to_value()
}

fn value_of(call: &Call<'_>) -> Result<Option<Spatial>> {
    let own = call.expressions.first().map_or(SqlType::Geometry, |own| own.sql_type);
    Spatial::of(Surface::of(own).unwrap_or(PLANE), call.value(0))
}

/// What is said of a value.
fn said(call: &Call<'_>, of: impl FnOnce(&Spatial) -> Result<Value>) -> Result<Value> {
    value_of(call)?.map_or(Ok(Value::Null), |value| of(&value))
}

/// What is said of a value unless it is marked as invalid (sql-docs, "STIsValid (geometry Data Type)").
fn said_of_valid(call: &Call<'_>, of: impl FnOnce(&Spatial) -> Result<Value>) -> Result<Value> {
    said(call, |value| {
        value.require_valid()?;
        of(value)
    })
}

fn count(count: usize) -> Value {
    Value::Int(i32::try_from(count).unwrap_or(i32::MAX))
}

fn part(part: Option<Spatial>) -> Result<Value> {
    part.map_or(Ok(Value::Null), |part| part.to_value())
}

/// The number of a part; `None` for NULL.
fn number(call: &Call<'_>) -> Option<i32> {
    match call.value(1) {
        Value::Int(number) => Some(*number),
        _ => None,
    }
}

fn numbered_part(call: &Call<'_>, of: impl FnOnce(&Spatial, i32) -> Result<Option<Spatial>>) -> Result<Value> {
    said_of_valid(call, |value| match number(call) {
        Some(number) => part(of(value, number)?),
        None => Ok(Value::Null),
    })
}

/// One of the four numbers of a point; NULL when it lacks that, and of what is not a point.
fn ordinate(call: &Call<'_>, index: usize) -> Result<Value> {
    said(call, |value| {
        let number = value
            .place()
            .map(|place| place[index])
            .filter(|number| !number.is_nan());
        Ok(number.map_or(Value::Null, Value::Float))
    })
}

fn srid(call: &Call<'_>) -> Result<Value> {
    said(call, |value| Ok(Value::Int(value.srid())))
}

/// SQL Server does not ask NULL for its properties: of a value it is always 0.
fn is_null(call: &Call<'_>) -> Result<Value> {
    said(call, |_| Ok(Value::Bit(false)))
}

fn has_z(call: &Call<'_>) -> Result<Value> {
    said(call, |value| Ok(Value::Bit(value.has_elevations())))
}

fn has_m(call: &Call<'_>) -> Result<Value> {
    said(call, |value| Ok(Value::Bit(value.has_measures())))
}

fn x(call: &Call<'_>) -> Result<Value> {
    ordinate(call, 0)
}

fn y(call: &Call<'_>) -> Result<Value> {
    ordinate(call, 1)
}

fn z(call: &Call<'_>) -> Result<Value> {
    ordinate(call, 2)
}

fn m(call: &Call<'_>) -> Result<Value> {
    ordinate(call, 3)
}

fn text(call: &Call<'_>) -> Result<Value> {
    said(call, |value| value.to_text(false))
}

fn text_with_z_and_m(call: &Call<'_>) -> Result<Value> {
    said(call, |value| value.to_text(true))
}

fn binary(call: &Call<'_>) -> Result<Value> {
    said(call, |value| value.to_well_known_binary(false))
}

fn binary_with_z_and_m(call: &Call<'_>) -> Result<Value> {
    said(call, |value| value.to_well_known_binary(true))
}

fn type_name(call: &Call<'_>) -> Result<Value> {
    said_of_valid(call, |value| Ok(Value::text(value.type_name())))
}

fn dimension(call: &Call<'_>) -> Result<Value> {
    said_of_valid(call, |value| Ok(Value::Int(value.dimension())))
}

fn points_count(call: &Call<'_>) -> Result<Value> {
    said_of_valid(call, |value| Ok(count(value.points_count())))
}

fn geometries_count(call: &Call<'_>) -> Result<Value> {
    said_of_valid(call, |value| Ok(count(value.geometries_count())))
}

fn is_empty(call: &Call<'_>) -> Result<Value> {
    said(call, |value| Ok(Value::Bit(value.is_empty())))
}

fn is_closed(call: &Call<'_>) -> Result<Value> {
    said_of_valid(call, |value| Ok(Value::Bit(value.is_closed())))
}

/// What is marked as invalid is so, and what is marked as valid may hang on what is not computed.
fn is_valid(call: &Call<'_>) -> Result<Value> {
    said(call, |value| match value.validity()? {
        _ if value.require_valid().is_err() => Ok(Value::Bit(false)),
        Validity::Valid => Ok(Value::Bit(true)),
        Validity::Invalid => Ok(Value::Bit(false)),
        Validity::Unknown => {
            let method = format!(
                "method STIsValid of {} {}",
                value.surface().sql_type().name(),
                value.type_name()
            );
            Err(messages::not_supported(&method))
        }
    })
}

fn compatibility_level_min(call: &Call<'_>) -> Result<Value> {
    said(call, |value| Ok(Value::Int(value.compatibility_level_min())))
}

fn start(call: &Call<'_>) -> Result<Value> {
    said_of_valid(call, |value| part(value.start()))
}

fn end(call: &Call<'_>) -> Result<Value> {
    said_of_valid(call, |value| part(value.end()))
}

fn point(call: &Call<'_>) -> Result<Value> {
    numbered_part(call, |value, number| value.point(number))
}

fn geometry(call: &Call<'_>) -> Result<Value> {
    numbered_part(call, |value, number| value.geometry(number))
}

fn exterior_ring(call: &Call<'_>) -> Result<Value> {
    said_of_valid(call, |value| part(value.ring(0)?))
}

fn interior_rings_count(call: &Call<'_>) -> Result<Value> {
    said_of_valid(call, |value| {
        let rings = value.rings_count();
        Ok(rings.map_or(Value::Null, |rings| count(rings.saturating_sub(1))))
    })
}

fn interior_ring(call: &Call<'_>) -> Result<Value> {
    numbered_part(call, |value, number| value.ring(value.ring_index(number, 1)?))
}

fn rings_count(call: &Call<'_>) -> Result<Value> {
    said_of_valid(call, |value| Ok(value.rings_count().map_or(Value::Null, count)))
}

fn ring(call: &Call<'_>) -> Result<Value> {
    numbered_part(call, |value, number| value.ring(value.ring_index(number, 0)?))
}
