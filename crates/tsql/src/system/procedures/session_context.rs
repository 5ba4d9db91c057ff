//! `sp_set_session_context` (sql-docs, the page of this name).

use engine::error::{Error, Result};
use engine::types::{SqlType, Value};

use super::super::{Host, SystemContext};
use super::{SystemProcedure, integer, text};

pub(super) const PROCEDURES: &[SystemProcedure] = &[SystemProcedure {
    name: "sp_set_session_context",
    parameters: &[
        ("@key", SqlType::SYSNAME, true),
        ("@value", SqlType::SqlVariant, true),
        ("@read_only", SqlType::Bit, false),
    ],
    run: set,
}];

fn set(_context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let Some(key) = text(arguments, 0) else {
        let text = "An invalid parameter or option was specified for procedure 'sp_set_session_context'.";
        return Err(Error::new(15_600, 15, 1, text));
    };
    let value = arguments.get(1).cloned().unwrap_or(Value::Null);
    let read_only = integer(arguments, 2).is_some_and(|flag| flag != 0);
    host.set_session_context(key, value, read_only).map(|()| 0)
}
