//! DBCC FREEPROCCACHE and FREESYSTEMCACHE: remove plans from the instance's cache.

use engine::error::Result;
use engine::types::Value;

use super::{Command, incorrect_parameter};
use crate::plan_cache::{PlanCache, PlanKind};

/// The pools of memory that there are (sql-docs, "DBCC FREEPROCCACHE").
const POOLS: [&str; 2] = ["default", "internal"];

/// `DBCC FREEPROCCACHE [(handle of a plan or text | pool)]`. What runs goes on with the plan that it has.
///
/// # Errors
/// 2560 for anything else.
pub(super) fn free_plans(command: &Command<'_>) -> Result<()> {
    let cache = PlanCache::of(command.context.instance);
    match command.argument(0) {
        Value::Null => cache.remove(|_| true),
        Value::Binary(handle) => cache.remove(|plan| plan.has_handle(handle)),
        pool if is_one_of(pool, &POOLS) => cache.remove(|_| true),
        _ => return Err(incorrect_parameter(0)),
    };
    Ok(())
}

/// `DBCC FREESYSTEMCACHE ('ALL' | cache [, pool])`. Of the caches that SQL Server names, there are those of plans here.
///
/// # Errors
/// 2560 for a cache or pool that does not exist.
pub(super) fn free_cache(command: &Command<'_>) -> Result<()> {
    let cache = PlanCache::of(command.context.instance);
    let pool = command.argument(1);
    if !pool.is_null() && !is_one_of(pool, &POOLS) {
        return Err(incorrect_parameter(1));
    }
    match command.argument(0) {
        all if is_one_of(all, &["ALL"]) => cache.remove(|_| true),
        objects if is_one_of(objects, &["Object Plans"]) => cache.remove(|plan| plan.kind() == PlanKind::Module),
        texts if is_one_of(texts, &["SQL Plans"]) => cache.remove(|plan| plan.kind() != PlanKind::Module),
        _ => return Err(incorrect_parameter(0)),
    };
    Ok(())
}

fn is_one_of(value: &Value, names: &[&str]) -> bool {
    let written = value.as_str().unwrap_or_default();
    names.iter().any(|name| name.eq_ignore_ascii_case(written))
}
