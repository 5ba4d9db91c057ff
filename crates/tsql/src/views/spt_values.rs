//! `master.dbo.spt_values`: numbers and the names of codes, which scripts read although it is not in Microsoft's documentation.
//!
//! Rows of type `P` have the numbers from 0 to 2047, with the byte and the bit of a bitmap that each stands for: `low` is the number of the
//! byte, from 1, and `high` the value of the bit. Names and codes of the other types are those of the script that makes SQL Server's system
//! tables (`u_tables.sql`, which SQL Server installs and which is public): of types `A`, `B`, `D`, `I`, `L`, `LO`, `LR` and `LS`. The types that
//! describe tables of SQL Server 6.5 are not here.

use engine::types::{SqlType, Value};

use super::{INT, Rows, SystemView, all, nvarchar, system_row, view};
use crate::views::SystemContext;

pub(super) const VIEWS: &[SystemView] = &[view::<SptValue>("sys", NAME_OF_VIEW, values)];

/// Found in `dbo` of master, and nowhere else.
pub(super) const NAME_OF_VIEW: &str = "spt_values";

/// Numbers of type `P`.
const NUMBERS: i32 = 2048;

/// Names with their numbers, by type.
type Codes = (&'static str, &'static [(&'static str, i32)]);

const CODES: [Codes; 8] = [
    (
        "A",
        &[
            ("rpc", 1),
            ("pub", 2),
            ("sub", 4),
            ("dist", 8),
            ("dpub", 16),
            ("rpc out", 64),
            ("data access", 128),
            ("collation compatible", 256),
            ("system", 512),
            ("use remote collation", 1024),
            ("lazy schema validation", 2048),
        ],
    ),
    ("B", &[("YES OR NO", -1), ("no", 0), ("yes", 1), ("none", 2)]),
    (
        "D",
        &[
            ("DATABASE STATUS", 0),
            ("autoclose", 1),
            ("select into/bulkcopy", 4),
            ("trunc. log on chkpt.", 8),
            ("torn page detection", 16),
            ("loading", 32),
            ("pre recovery", 64),
            ("recovering", 128),
            ("not recovered", 256),
            ("offline", 512),
            ("read only", 1024),
            ("dbo use only", 2048),
            ("single user", 4096),
            ("emergency mode", 32_768),
            ("missing files", 0x4_0000),
            ("autoshrink", 4_194_304),
            ("ALL SETTABLE OPTIONS", 4_202_013),
            ("cleanly shutdown", 0x4000_0000),
        ],
    ),
    (
        "I",
        &[
            ("INDEX TYPES", 0),
            ("nonclustered", 0),
            ("ignore duplicate keys", 1),
            ("unique", 2),
            ("ignore duplicate rows", 4),
            ("clustered", 16),
            ("hypothetical", 32),
            ("statistics", 64),
            ("primary key", 2048),
            ("unique key", 4096),
            ("auto create", 8_388_608),
            ("stats no recompute", 16_777_216),
        ],
    ),
    (
        "L",
        &[
            ("LOCK TYPES", 0),
            ("NULL", 1),
            ("Sch-S", 2),
            ("Sch-M", 3),
            ("S", 4),
            ("U", 5),
            ("X", 6),
            ("IS", 7),
            ("IU", 8),
            ("IX", 9),
            ("SIU", 10),
            ("SIX", 11),
            ("UIX", 12),
            ("BU", 13),
            ("RangeS-S", 14),
            ("RangeS-U", 15),
            ("RangeIn-Null", 16),
            ("RangeIn-S", 17),
            ("RangeIn-U", 18),
            ("RangeIn-X", 19),
            ("RangeX-S", 20),
            ("RangeX-U", 21),
            ("RangeX-X", 22),
        ],
    ),
    (
        "LO",
        &[
            ("LOCK OWNER", 0),
            ("Xact", 1),
            ("Crsr", 2),
            ("Sess", 3),
            ("STWS", 4),
            ("XTWS", 5),
            ("WFR", 6),
        ],
    ),
    (
        "LR",
        &[
            ("LOCK RESOURCES", 0),
            ("NUL", 1),
            ("DB", 2),
            ("FIL", 3),
            ("TAB", 5),
            ("PAG", 6),
            ("KEY", 7),
            ("EXT", 8),
            ("RID", 9),
            ("APP", 10),
            ("MD", 11),
            ("HBT", 12),
            ("AU", 13),
        ],
    ),
    (
        "LS",
        &[
            ("LOCK REQ STATUS", 0),
            ("GRANT", 1),
            ("CNVT", 2),
            ("WAIT", 3),
            ("RELN", 4),
            ("BLCKN", 5),
        ],
    ),
];

struct SptValue {
    name: Option<&'static str>,
    number: i32,
    code: &'static str,
    low: Option<i32>,
    high: Option<i32>,
}

system_row!(SptValue {
    "name" nvarchar(35) => |row| row.name.into();
    "number" INT => |row| row.number.into();
    "type" SqlType::NChar(3) => |row| format!("{:<3}", row.code).into();
    "low" INT => |row| row.low.into();
    "high" INT => |row| row.high.into();
    "status" INT => |_| 0.into();
});

/// Options whose values are said to be 0 or 1.
const WITH_RANGE: [(&str, &str); 3] = [("D", "offline"), ("I", "primary key"), ("I", "unique key")];

fn values(_context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    let codes = CODES.into_iter().flat_map(|(code, names)| {
        names.iter().map(move |&(name, number)| {
            let has_range = WITH_RANGE.contains(&(code, name));
            SptValue {
                name: Some(name),
                number,
                code,
                low: has_range.then_some(0),
                high: has_range.then_some(1),
            }
        })
    });
    let numbers = (0..NUMBERS).map(|number| SptValue {
        name: None,
        number,
        code: "P",
        low: Some(number / 8 + 1),
        high: Some(1 << (number % 8)),
    });
    all(codes.chain(numbers))
}
