//! The reference systems that a value may name.

use engine::error::Result;

use super::{ARGUMENT, Spatial, Surface, raised};

/// The highest number of a reference system of `geometry` (sql-docs, "STSrid (geometry Data Type)").
const SRID_MAX: i32 = 999_999;

/// `spatial_reference_id` of `sys.spatial_reference_systems`, as runs from a first to a last. The numbers are those that Babelfish takes from
/// SQL Server (babelfish-for-postgresql/babelfish_extensions, `geography_valid_srids`).
const EARTHS: [(i32, i32); 77] = [
    (4_120, 4_124),
    (4_127, 4_139),
    (4_141, 4_171),
    (4_173, 4_176),
    (4_178, 4_184),
    (4_188, 4_216),
    (4_218, 4_225),
    (4_227, 4_227),
    (4_229, 4_232),
    (4_236, 4_259),
    (4_261, 4_263),
    (4_265, 4_286),
    (4_288, 4_289),
    (4_292, 4_293),
    (4_295, 4_295),
    (4_297, 4_304),
    (4_306, 4_319),
    (4_322, 4_322),
    (4_324, 4_324),
    (4_326, 4_326),
    (4_600, 4_630),
    (4_632, 4_633),
    (4_636, 4_644),
    (4_646, 4_646),
    (4_657, 4_680),
    (4_682, 4_684),
    (4_686, 4_730),
    (4_732, 4_758),
    (4_801, 4_811),
    (4_813, 4_818),
    (4_820, 4_821),
    (4_895, 4_895),
    (4_898, 4_898),
    (4_900, 4_904),
    (4_907, 4_907),
    (4_909, 4_909),
    (4_921, 4_921),
    (4_923, 4_923),
    (4_925, 4_925),
    (4_927, 4_927),
    (4_929, 4_929),
    (4_931, 4_931),
    (4_933, 4_933),
    (4_935, 4_935),
    (4_937, 4_937),
    (4_939, 4_939),
    (4_941, 4_941),
    (4_943, 4_943),
    (4_945, 4_945),
    (4_947, 4_947),
    (4_949, 4_949),
    (4_951, 4_951),
    (4_953, 4_953),
    (4_955, 4_955),
    (4_957, 4_957),
    (4_959, 4_959),
    (4_961, 4_961),
    (4_963, 4_963),
    (4_965, 4_965),
    (4_967, 4_967),
    (4_971, 4_971),
    (4_973, 4_973),
    (4_975, 4_975),
    (4_977, 4_977),
    (4_979, 4_979),
    (4_981, 4_981),
    (4_983, 4_983),
    (4_985, 4_985),
    (4_987, 4_987),
    (4_989, 4_989),
    (4_991, 4_991),
    (4_993, 4_993),
    (4_995, 4_995),
    (4_997, 4_997),
    (4_999, 4_999),
    (7_843, 7_844),
    (UNIT_SPHERE, UNIT_SPHERE),
];

/// What is publicly documented of a reference system.
pub struct Described {
    pub srid: i32,
    /// Its text, as SQL Server has it.
    pub text: &'static str,
    /// Name and metres of its unit of length; `None` for the unit sphere.
    pub unit: Option<(&'static str, f64)>,
}

macro_rules! geogcs {
    ($name:literal, $datum:literal, $ellipsoid:literal) => {
        concat!(
            "GEOGCS[\"",
            $name,
            "\", DATUM[\"",
            $datum,
            "\", ELLIPSOID[",
            $ellipsoid,
            "]], PRIMEM[\"Greenwich\", 0], UNIT[\"Degree\", 0.0174532925199433]]"
        )
    };
}

/// Rows of `sys.spatial_reference_systems` that are documented publicly (colinmackay.scot, "Spatial References in SQL Server 2008"; of the unit
/// sphere sql-docs, "Spatial Data Types Overview").
const DESCRIBED: [Described; 8] = [
    Described {
        srid: 4157,
        text: geogcs!(
            "Mount Dillon",
            "Mount Dillon",
            "\"Clarke 1858\", 6378293.64520876, 294.260676369261"
        ),
        unit: Some(("Clarke's Foot", 0.304_797_265)),
    },
    Described {
        srid: 4243,
        text: geogcs!(
            "Kalianpur 1880",
            "Kalianpur 1880",
            "\"Everest (1830 Definition)\", 6377299.36559538, 300.8017"
        ),
        unit: Some(("Indian Foot", 0.304_799_518)),
    },
    Described {
        srid: 4268,
        text: geogcs!(
            "NAD27 Michigan",
            "NAD Michigan",
            "\"Clarke 1866 Michigan\", 6378450.0475489, 294.978697164674"
        ),
        unit: Some(("US Survey Foot", 0.304_800_61)),
    },
    Described {
        srid: 4277,
        text: geogcs!("OSGB 1936", "OSGB 1936", "\"Airy 1830\", 6377563.396, 299.3249646"),
        unit: Some(("metre", 1.0)),
    },
    Described {
        srid: 4293,
        text: geogcs!(
            "Schwarzeck",
            "Schwarzeck",
            "\"Bessel Namibia (GLM)\", 6377483.86528042, 299.1528128"
        ),
        unit: Some(("German legal metre", 1.000_013_597)),
    },
    Described {
        srid: 4326,
        text: geogcs!(
            "WGS 84",
            "World Geodetic System 1984",
            "\"WGS 84\", 6378137, 298.257223563"
        ),
        unit: Some(("metre", 1.0)),
    },
    Described {
        srid: 4748,
        text: geogcs!(
            "Vanua Levu 1915",
            "Vanua Levu 1915",
            "\"Clarke 1880 (international foot)\", 6378306.3696, 293.46630765563"
        ),
        unit: Some(("foot", 0.3048)),
    },
    Described {
        srid: UNIT_SPHERE,
        text: "GEOGCS[\"Unit Sphere\", DATUM[\"Unit Sphere\", SPHEROID[\"Sphere\", 1.0, 0.0]], PRIMEM[\"Greenwich\",0.0], UNIT[\"Degree\", 0.0174532925199433]]",
        unit: None,
    },
];

/// The one reference system that is Microsoft's own and not of EPSG.
pub const UNIT_SPHERE: i32 = 104_001;

/// The reference systems of `geography`, in the order of their numbers.
pub fn earths() -> impl Iterator<Item = i32> {
    EARTHS.iter().flat_map(|(first, last)| *first..=*last)
}

/// What is documented of a reference system; `None` where that is its number alone.
pub fn described(srid: i32) -> Option<&'static Described> {
    DESCRIBED.iter().find(|described| described.srid == srid)
}

/// Refuses a number that is not a reference system of the type.
///
/// # Errors
/// 6522 with 24100 of `geometry`, 24204 of `geography`.
pub(super) fn require_srid(surface: Surface, srid: i32) -> Result<()> {
    let (is_known, words) = match surface {
        Surface::Plane => (
            (0..=SRID_MAX).contains(&srid),
            "24100: The spatial reference identifier (SRID) is not valid. SRIDs must be between 0 and 999999.",
        ),
        Surface::Earth => (
            EARTHS.iter().any(|(first, last)| (*first..=*last).contains(&srid)),
            "24204: The spatial reference identifier (SRID) is not valid. The specified SRID must match one of the supported SRIDs displayed in the \
             sys.spatial_reference_systems catalog view.",
        ),
    };
    match is_known {
        true => Ok(()),
        false => Err(raised(surface, ARGUMENT, words)),
    }
}

impl Spatial {
    /// `STSrid`
    pub fn srid(&self) -> i32 {
        self.srid
    }
}
