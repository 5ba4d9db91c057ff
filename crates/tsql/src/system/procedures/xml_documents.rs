//! `sp_xml_preparedocument` and `sp_xml_removedocument` (sql-docs, the pages of these names).
//!
//! Their errors do not end the batch, and they answer 1 behind one.

use engine::error::Result;
use engine::types::{Length, SqlType, Value};

use super::super::{Host, SystemContext};
use super::{INT, SystemProcedure, integer, text};

const LONG: SqlType = SqlType::NVarChar(Length::Max);
const FAILED: i32 = 1;

pub(super) const PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure {
        name: "sp_xml_preparedocument",
        parameters: &[
            ("@hdoc", INT, true),
            ("@xmltext", LONG, false),
            ("@xpath_namespaces", LONG, false),
        ],
        run: prepare,
    },
    SystemProcedure {
        name: "sp_xml_removedocument",
        parameters: &[("@hdoc", INT, true)],
        run: remove,
    },
];

fn prepare(_context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let (document, prefixes) = (
        text(arguments, 1).unwrap_or_default(),
        text(arguments, 2).unwrap_or_default(),
    );
    match host.prepare_xml_document(document, prefixes) {
        Ok(handle) => {
            host.output(0, Value::Int(handle));
            Ok(0)
        }
        Err(error) if error.number == 6602 => host.raise(error).map(|()| FAILED),
        Err(error) => Err(error),
    }
}

fn remove(_context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let handle = integer(arguments, 0).and_then(|handle| i32::try_from(handle).ok());
    match host.remove_xml_document(handle.unwrap_or(0)) {
        Ok(()) => Ok(0),
        Err(error) if error.number == 8179 => host.raise(error).map(|()| FAILED),
        Err(error) => Err(error),
    }
}
