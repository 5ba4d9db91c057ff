//! `sp_addtype` and `sp_droptype`: alias types, through the statements that replaced these procedures.

use engine::error::Result;
use engine::types::{Length, SqlType, Value};

use super::super::{Host, SystemContext};
use super::{SystemProcedure, text};

pub(super) const PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure {
        name: "sp_addtype",
        parameters: &[
            ("@typename", SqlType::SYSNAME, true),
            ("@phystype", SqlType::SYSNAME, true),
            ("@nulltype", SqlType::VarChar(Length::Limited(8)), false),
            ("@owner", SqlType::SYSNAME, false),
        ],
        run: add_type,
    },
    SystemProcedure {
        name: "sp_droptype",
        parameters: &[("@typename", SqlType::SYSNAME, true)],
        run: drop_type,
    },
];

fn quoted(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

fn add_type(_context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let (Some(name), Some(physical)) = (text(arguments, 0), text(arguments, 1)) else {
        return Ok(1);
    };
    // `NONULL` is an old spelling of `NOT NULL` (sql-docs, sp_addtype).
    let nullable = match text(arguments, 2).map(|word| word.trim().to_uppercase()).as_deref() {
        Some("NOT NULL" | "NONULL") => "NOT NULL",
        _ => "NULL",
    };
    host.execute(&format!("CREATE TYPE {} FROM {physical} {nullable}", quoted(name)))
        .map(|()| 0)
}

fn drop_type(_context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    match text(arguments, 0) {
        Some(name) => host.execute(&format!("DROP TYPE {}", quoted(name))).map(|()| 0),
        None => Ok(1),
    }
}
