//! `sp_refreshview` and `sp_refreshsqlmodule`: refresh a module's columns in the catalog. `sp_recompile`: recompiles plans.

use engine::error::{Error, Result};
use engine::types::Value;

use super::super::{Host, SystemContext};
use super::help::find;
use super::{NAME, SystemProcedure, text};
use crate::plan_cache::PlanCache;

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
    SystemProcedure {
        name: "sp_recompile",
        parameters: &[("@objname", NAME, true)],
        run: recompile,
    },
];

fn refresh(_context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    match text(arguments, 0) {
        Some(name) => host.refresh_module(name).map(|()| 0),
        None => Ok(1),
    }
}

/// Lets go of the plans of a module, or of those that a table or view has a part in (sql-docs, "sp_recompile").
fn recompile(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let Some(name) = text(arguments, 0) else { return Ok(1) };
    let object = find(context, name)?;
    let (database_id, object_id) = (context.database.id, object.definition.object_id());
    PlanCache::of(context.instance).remove(|plan| plan.concerns(database_id, object_id));
    let text = format!("Object '{name}' was successfully marked for recompilation.");
    host.message(&Error::new(15070, 10, 1, text)).map(|()| 0)
}
