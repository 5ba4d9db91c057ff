//! `sp_refreshview` and `sp_refreshsqlmodule`: what the catalog shows of a module's columns, found anew.

use engine::error::Result;
use engine::types::Value;

use super::super::{Host, SystemContext};
use super::{NAME, SystemProcedure, text};

pub(super) const PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure {
        name: "sp_refreshview",
        parameters: &[("@viewname", NAME, true)],
        run: refresh,
    },
    SystemProcedure {
        name: "sp_refreshsqlmodule",
        parameters: &[("@name", NAME, true)],
        run: refresh,
    },
];

fn refresh(_context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    match text(arguments, 0) {
        Some(name) => host.refresh_module(name).map(|()| 0),
        None => Ok(1),
    }
}
