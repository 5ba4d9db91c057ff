//! Texts, bytes and well-known binary of shapes against SQL Server's own, each way and damaged.
#![allow(clippy::unwrap_used)]
use super::*;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

fn parsed(surface: Surface, text: &str) -> Spatial {
    Spatial::from_text(surface, text, surface.default_srid(), None).unwrap()
}

fn text_of(value: &Spatial) -> String {
    value.to_text(true).unwrap().as_str().unwrap().to_owned()
}

/// Bytes put together from the numbers of an example.
fn bytes_of(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

fn ints(numbers: &[i32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn doubles(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// SQL Server's own bytes: RyanLamansky/sql-server-simulator, `SpatialValueTests` (SQL Server 2025); the address is the first row of Person.Address.
#[test]
fn bytes_are_those_of_sql_server() {
    let cases = [
        (
            Surface::Earth,
            "POINT (1 2)",
            "E6100000010C0000000000000040000000000000F03F",
        ),
        (
            Surface::Plane,
            "POINT EMPTY",
            "000000000104000000000000000001000000FFFFFFFFFFFFFFFF01",
        ),
        (
            Surface::Plane,
            "POINT (1 2 3)",
            "00000000010D000000000000F03F00000000000000400000000000000840",
        ),
        (
            Surface::Earth,
            "LINESTRING (0 0, 1 1, 2 2)",
            "E610000001040300000000000000000000000000000000000000000000000000F03F000000000000F03F0000000000000040000000000000004001000000010000000001000000FFFFFFFF0000000002",
        ),
        (
            Surface::Plane,
            "GEOMETRYCOLLECTION (GEOMETRYCOLLECTION (POINT (1 2)))",
            "00000000010401000000000000000000F03F000000000000004001000000010000000003000000FFFFFFFF0000000007000000000000000007010000000000000001",
        ),
        (
            Surface::Plane,
            "POINT (-0 -0)",
            "00000000010C00000000000000000000000000000000",
        ),
    ];
    for (surface, text, bytes) in cases {
        let value = parsed(surface, text);
        assert_eq!(hex(&value.to_bytes()), bytes, "{text}");
        assert_eq!(
            Spatial::from_bytes(surface, &value.to_bytes()).unwrap().unwrap(),
            value,
            "{text}"
        );
    }
}

/// The examples of [MS-SSCLRT] 3.1, as dotMorten/Microsoft.SqlServer.Types notes them.
#[test]
fn examples_of_the_specification_are_read() {
    let line = bytes_of(&[
        &ints(&[4326]),
        &[1, 5],
        &ints(&[3]),
        &doubles(&[0.0, 1.0, 3.0, 2.0, 4.0, 5.0, 1.0, 2.0, f64::NAN]),
        &ints(&[1]),
        &[1],
        &ints(&[0, 1, -1, 0]),
        &[2],
    ]);
    let read = Spatial::from_bytes(Surface::Plane, &line).unwrap().unwrap();
    assert_eq!(text_of(&read), "LINESTRING (0 1 1, 3 2 2, 4 5)");
    assert_eq!(read.to_bytes(), line);
}

/// Likewise: its collection.
#[test]
fn the_collection_of_the_specification_is_read() {
    let points = [
        0.0, 4.0, 2.0, 4.0, 3.0, 5.0, 0.0, 0.0, 0.0, 3.0, 3.0, 3.0, 3.0, 0.0, 0.0, 0.0, 1.0, 1.0, 2.0, 1.0, 2.0, 2.0,
        1.0, 2.0, 1.0, 1.0,
    ];
    let collection = bytes_of(&[
        &ints(&[4326]),
        &[1, 4],
        &ints(&[13]),
        &doubles(&points),
        &ints(&[4]),
        &[1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 2, 3, 0, 0, 0, 0, 8, 0, 0, 0],
        &ints(&[4, -1, 0]),
        &[7],
        &ints(&[0, 0]),
        &[1],
        &ints(&[0, 1]),
        &[2],
        &ints(&[0, 2]),
        &[3],
    ]);
    let read = Spatial::from_bytes(Surface::Plane, &collection).unwrap().unwrap();
    assert_eq!(
        text_of(&read),
        "GEOMETRYCOLLECTION (POINT (0 4), LINESTRING (2 4, 3 5), POLYGON ((0 0, 0 3, 3 3, 3 0, 0 0), (1 1, 2 1, 2 2, 1 2, 1 1)))"
    );
    assert_eq!(read.to_bytes(), collection);
}

/// Likewise: its curve polygon of version 2.
#[test]
fn the_curve_polygon_of_the_specification_is_read() {
    let curve = bytes_of(&[
        &ints(&[4326]),
        &[2, 0x24],
        &ints(&[5]),
        &doubles(&[0.0, 0.0, 2.0, 0.0, 2.0, 2.0, 0.0, 1.0, 0.0, 0.0]),
        &ints(&[1]),
        &[3],
        &ints(&[0, 1, -1, 0]),
        &[10],
        &ints(&[3]),
        &[2, 0, 3],
    ]);
    let read = Spatial::from_bytes(Surface::Earth, &curve).unwrap().unwrap();
    assert_eq!(
        text_of(&read),
        "CURVEPOLYGON (COMPOUNDCURVE ((0 0, 0 2, 2 2), CIRCULARSTRING (2 2, 1 0, 0 0)))"
    );
    assert_eq!(read.to_bytes(), curve);
}

/// Texts of every kind, which are read, written, and read again as bytes and as well-known binary.
const TEXTS: [&str; 18] = [
    "POINT (1 2)",
    "POINT (1 2 NULL 4)",
    "LINESTRING (0 0, 1 1)",
    "LINESTRING (0 0 1 2, 1 1 3 4)",
    "LINESTRING EMPTY",
    "POLYGON ((0 0, 3 0, 3 3, 0 3, 0 0), (1 1, 1 2, 2 2, 2 1, 1 1))",
    "MULTIPOINT ((0 0), (1 1))",
    "MULTILINESTRING ((0 0, 1 1), EMPTY, (2 2, 3 3, 4 4))",
    "MULTIPOLYGON (((0 0, 1 0, 1 1, 0 0)), ((5 5, 6 5, 6 6, 5 5)))",
    "MULTIPOLYGON EMPTY",
    "GEOMETRYCOLLECTION EMPTY",
    "GEOMETRYCOLLECTION (POINT (1 2), GEOMETRYCOLLECTION (LINESTRING (0 0, 1 1), POLYGON EMPTY), GEOMETRYCOLLECTION EMPTY, POINT (3 4))",
    "CIRCULARSTRING (0 0, 1 1, 2 0)",
    "CIRCULARSTRING EMPTY",
    "COMPOUNDCURVE ((0 0, 1 0, 2 0), CIRCULARSTRING (2 0, 3 1, 4 0), CIRCULARSTRING (4 0, 5 1, 6 0, 7 1, 8 0), (8 0, 9 0))",
    "CURVEPOLYGON (CIRCULARSTRING (0 0, 1 1, 2 0, 1 -1, 0 0), (0.5 0, 1 0.5, 1 0, 0.5 0))",
    "CURVEPOLYGON (COMPOUNDCURVE ((0 0, 2 0), CIRCULARSTRING (2 0, 1 1, 0 0)), COMPOUNDCURVE (CIRCULARSTRING (1 0.1, 1.1 0.2, 1.2 0.1), (1.2 0.1, 1 0.1)))",
    "GEOMETRYCOLLECTION (COMPOUNDCURVE ((0 0, 1 0)), CURVEPOLYGON (COMPOUNDCURVE ((0 0, 2 0), CIRCULARSTRING (2 0, 1 1, 0 0))))",
];

#[test]
fn texts_survive_bytes_and_well_known_binary() {
    for surface in [Surface::Plane, Surface::Earth] {
        for text in TEXTS {
            let value = parsed(surface, text);
            assert_eq!(text_of(&value), text);
            let bytes = value.to_bytes();
            let read = Spatial::from_bytes(surface, &bytes).unwrap().unwrap();
            assert_eq!((&read, text_of(&read).as_str()), (&value, text));
            let Value::Binary(binary) = value.to_well_known_binary(true).unwrap() else {
                panic!("{text}");
            };
            let again = Spatial::from_well_known_binary(surface, &binary, surface.default_srid(), None).unwrap();
            assert_eq!(text_of(&again), text);
            assert_eq!(again.to_bytes(), bytes, "{text}");
            for number in 1..=value.geometries_count() as i32 {
                let part = value.geometry(number).unwrap().unwrap();
                let read = Spatial::from_bytes(surface, &part.to_bytes()).unwrap().unwrap();
                assert_eq!(read, part, "{number} of {text}");
            }
        }
    }
}

/// Every byte of every value is changed in turn, and every value is cut everywhere: it is refused, or it is a value that can be written again.
#[test]
fn damaged_bytes_are_refused_or_are_values() {
    let mut refused = 0;
    for text in TEXTS.iter().chain(&["FULLGLOBE"]) {
        let bytes = parsed(Surface::Earth, text).to_bytes();
        let cut = (0..bytes.len()).map(|end| bytes[..end].to_vec());
        let changed = (0..bytes.len()).flat_map(|at| {
            [0x00, 0x01, 0x07, 0x7F, 0x80, 0xFF].map(|byte| {
                let mut changed = bytes.clone();
                changed[at] = byte;
                changed
            })
        });
        for damaged in cut.chain(changed) {
            match Spatial::from_bytes(Surface::Earth, &damaged) {
                Ok(Some(value)) => {
                    let text = value.to_text(true).unwrap();
                    assert!(!text.as_str().unwrap().is_empty());
                    let binary = value.to_well_known_binary(false).unwrap();
                    let Value::Binary(binary) = binary else { panic!() };
                    // What it refuses is an error, whichever.
                    let _read = Spatial::from_well_known_binary(Surface::Earth, &binary, 4326, None);
                    let _part = value.geometry(1).unwrap();
                }
                Ok(None) => {}
                Err(error) => {
                    assert_eq!(error.number, 6522);
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 1_000, "{refused}");
}

/// A count that promises more than there is takes no memory.
#[test]
fn counts_beyond_the_end_are_refused() {
    let bytes = bytes_of(&[&ints(&[0]), &[1, 4], &ints(&[i32::MAX])]);
    assert_eq!(Spatial::from_bytes(Surface::Plane, &bytes).unwrap_err().number, 6522);
    let binary = bytes_of(&[&[1], &ints(&[2, i32::MAX])]);
    let error = Spatial::from_well_known_binary(Surface::Plane, &binary, 0, None).unwrap_err();
    assert!(error.message.contains("24115:"), "{}", error.message);
}

/// Collections within each other are no recursion, and neither are the ways back.
#[test]
fn deep_collections_take_no_stack() {
    let depth = 200_000;
    let text = format!(
        "{}POINT (1 2){}",
        "GEOMETRYCOLLECTION (".repeat(depth),
        ")".repeat(depth)
    );
    let value = parsed(Surface::Plane, &text);
    assert_eq!(text_of(&value), text);
    let read = Spatial::from_bytes(Surface::Plane, &value.to_bytes()).unwrap().unwrap();
    assert_eq!(read.geometry(1).unwrap().unwrap().geometries_count(), 1);
    let Value::Binary(binary) = read.to_well_known_binary(false).unwrap() else {
        panic!();
    };
    let again = Spatial::from_well_known_binary(Surface::Plane, &binary, 0, None).unwrap();
    assert_eq!(text_of(&again), text);
}

/// The words and positions that SQL Server says: `SpatialValueTests` as above, dotMorten/Microsoft.SqlServer.Types `WktTests`, and
/// sqlskills.com/blogs/conor, "SQL 2008 Geometry type tidbits".
const WRONG_TEXTS: [(&str, &str); 30] = [
    ("", "24112: The well-known text (WKT) input is empty."),
    (
        "NONSENSE(1 2) EXTRA",
        "24114: The label NONSENSE(1 2) EXTRA in the input",
    ),
    ("  BAD (1 2)", "24114: The label BAD (1 2) in the input"),
    (
        "POINT(1)",
        "24141: A number is expected at position 7 of the input. The input has ).",
    ),
    (
        "POINT(1 X)",
        "24141: A number is expected at position 9 of the input. The input has X.",
    ),
    (
        "POINT(1,2)",
        "24141: A number is expected at position 9 of the input. The input has ,2.",
    ),
    (
        "POINT(10,20)",
        "24141: A number is expected at position 11 of the input. The input has ,20.",
    ),
    (
        "POINT()",
        "24141: A number is expected at position 6 of the input. The input has ).",
    ),
    (
        "LINESTRING(funky chicken)",
        "24141: A number is expected at position 16 of the input. The input has funky.",
    ),
    (
        "LINESTRING (0 1 1, 3 2 2, 4 ABC 9)",
        "24141: A number is expected at position 31 of the input. The input has ABC.",
    ),
    (
        "LINESTRING(0 0,)",
        "24141: A number is expected at position 15 of the input. The input has ).",
    ),
    (
        "POINT(1e400 0)",
        "24141: A number is expected at position 11 of the input. The input has 1e400.",
    ),
    (
        "POINT(NaN 0)",
        "24141: A number is expected at position 9 of the input. The input has NaN.",
    ),
    (
        "POINTX(1 2)",
        "24142: Expected \"(\" at position 5. The input has \"X\".",
    ),
    (
        "POINT:10 20",
        "24142: Expected \"(\" at position 5. The input has \":\".",
    ),
    (
        "MULTIPOINT((0 0), 1 1)",
        "24142: Expected \"(\" at position 18. The input has \"1\".",
    ),
    (
        "CIRCULARSTRING(0 0, 1 1)",
        "24142: Expected \",\" at position 23. The input has \")\".",
    ),
    ("CIRCULARSTRING(0 0)", "24212: The CircularString input is not valid"),
    (
        "CIRCULARSTRING(0 0 1, 1 1 2, 2 0 1)",
        "24214: Circular arc segments with Z values",
    ),
    (
        "COMPOUNDCURVE((0 0, 1 0), (2 0, 3 0))",
        "24134: Sequential parts of a compound curve",
    ),
    (
        "COMPOUNDCURVE(LINESTRING(0 0, 1 0))",
        "24142: Expected \"(\" at position 14.",
    ),
    ("POINT(1 2", "24209: Unexpected end of input."),
    ("GEOMETRYCOLLECTION(POINT(1 2)", "24209: Unexpected end of input."),
    ("POINT(1 2)X", "24111: The well-known text (WKT) input is not valid."),
    (
        "LINESTRING(0 0)",
        "24117: The LineString input is not valid because it does not have enough points.",
    ),
    (
        "POLYGON((0 0,0 1,1 1))",
        "24118: The Polygon input is not valid because the exterior ring does not have enough points.",
    ),
    (
        "POLYGON((0 0,0 1,1 1,1 0))",
        "24119: The Polygon input is not valid because the start and end points of the exterior ring",
    ),
    (
        "POLYGON ((10 20, 15 25, 20 30, 10 20), (15 25, 20 30, 25 35, 15 25), EMPTY, (5 5, 6 6, 7 7, 5 5))",
        "24120: The Polygon input is not valid because the interior ring number 2 does not have enough points.",
    ),
    (
        "POLYGON((0 0,0 3,3 3,3 0,0 0),(1 1,1 2,2 2,2 1,1 9))",
        "24121: The Polygon input is not valid because the start and end points of the interior ring number 1",
    ),
    (
        "FULLGLOBE",
        "24303: The OpenGisGeometryType provided, FullGlobe, is not valid.",
    ),
];

/// Those of `geography` alone.
const WRONG_ON_EARTH: [(&str, &str); 6] = [
    (
        "POINT(2 200)",
        "24201: Latitude values must be between -90 and 90 degrees.",
    ),
    (
        "POINT(15070 2)",
        "24202: Longitude values must be between -15069 and 15069 degrees.",
    ),
    (
        "LINESTRING(0 0, 180 0)",
        "24206: The specified input cannot be accepted",
    ),
    ("GEOMETRYCOLLECTION(FULLGLOBE)", "24150: FullGlobe instances cannot be"),
    (
        "POLYGON((0 0,0 1,1 1))",
        "24305: The Polygon input is not valid because the ring number 1 does not have enough points.",
    ),
    (
        "POLYGON((0 0,0 1,1 1,1 0))",
        "24306: The Polygon input is not valid because the start and end points of the ring number 1",
    ),
];

#[test]
fn what_is_wrong_with_a_text_is_said_in_sql_servers_words() {
    let of = |surface: Surface| move |(text, words): &(&'static str, &'static str)| (surface, *text, *words);
    let plane = WRONG_TEXTS.iter().map(of(Surface::Plane));
    for (surface, text, words) in plane.chain(WRONG_ON_EARTH.iter().map(of(Surface::Earth))) {
        let error = Spatial::from_text(surface, text, surface.default_srid(), None).unwrap_err();
        assert!(
            error.message.contains(&format!(": {words}")),
            "{text}: {}",
            error.message
        );
    }
}

#[test]
fn a_text_of_another_kind_than_wanted_is_refused() {
    let cases = [
        (
            "LINESTRING(0 0,1 1)",
            Kind::Point,
            "Expected \"POINT\" at position 1. The input has \"LINES\".",
        ),
        (
            "PO",
            Kind::Point,
            "Expected \"POINT\" at position 0. The input has \"P\".",
        ),
        (
            "POINT(1 2)",
            Kind::LineString,
            "Expected \"LINESTRING\" at position 0. The input has \"POINT(1 2)\".",
        ),
        (
            "POINT(1 2)",
            Kind::Polygon,
            "Expected \"POLYGON\" at position 1. The input has \"POINT(1\".",
        ),
        (
            "POINT(1 2)",
            Kind::GeometryCollection,
            "Expected \"GEOMETRYCOLLECTION\" at position 0. The input has \"P\".",
        ),
    ];
    for (text, wanted, words) in cases {
        let error = Spatial::from_text(Surface::Plane, text, 0, Some(wanted)).unwrap_err();
        assert!(error.message.contains(&format!("24142: {words}")), "{}", error.message);
    }
}

/// A ring with the small square at its right has all but that at its left (the same source: "a clockwise geography square serializes as version 2
/// with properties 0x24").
#[test]
fn what_no_hemisphere_holds_is_marked() {
    let properties = |text: &str| {
        let bytes = parsed(Surface::Earth, text).to_bytes();
        (bytes[4], bytes[5])
    };
    assert_eq!(properties("POLYGON ((0 0, 1 0, 1 1, 0 1, 0 0))"), (1, 4));
    assert_eq!(properties("POLYGON ((0 0, 0 1, 1 1, 1 0, 0 0))"), (2, 0x24));
    assert_eq!(properties("POLYGON ((0 80, 120 80, 240 80, 0 80))"), (1, 4));
    assert_eq!(properties("POLYGON ((0 80, 240 80, 120 80, 0 80))"), (2, 0x24));
    assert_eq!(properties("POLYGON ((179 0, -179 0, -179 1, 179 1, 179 0))"), (1, 4));
    assert_eq!(properties("LINESTRING (0 0, 100 0)"), (1, 0x14));
    assert_eq!(properties("MULTIPOINT ((0 0), (120 0), (240 0))"), (2, 0x24));
    assert_eq!(properties("FULLGLOBE"), (2, 0x24));
}

/// mssql-jdbc 13.2 counts the segments of values that have none; a count of others is refused.
#[test]
fn version_2_may_count_no_segments() {
    let bytes = |segments: &[i32]| {
        bytes_of(&[
            &ints(&[4326]),
            &[2, 4],
            &ints(&[3]),
            &doubles(&[0.0, 0.0, 1.0, 1.0, 0.0, 2.0]),
            &ints(&[1]),
            &[2],
            &ints(&[0, 1, -1, 0]),
            &[8],
            &ints(segments),
        ])
    };
    for segments in [&[][..], &[0]] {
        let value = Spatial::from_bytes(Surface::Earth, &bytes(segments)).unwrap().unwrap();
        assert_eq!(text_of(&value), "CIRCULARSTRING (0 0, 1 1, 2 0)");
    }
    for segments in [&[1][..], &[0, 0], &[-1]] {
        let error = Spatial::from_bytes(Surface::Earth, &bytes(segments)).unwrap_err();
        assert_eq!(error.number, 6522);
    }
}
