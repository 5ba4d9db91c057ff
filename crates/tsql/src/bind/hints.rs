//! Table hints and query hints, and their effects. No hint is accepted without effect; unsupported hints are refused by name.

use engine::catalog::TableDefinition;
use engine::error::Result;
use engine::lock::Mode;
use engine::session::Isolation;

use super::{Binder, not_supported};
use crate::ast::{Join, JoinAlgorithm, JoinKind, QueryHint, TableHint, TableSource};
use crate::grammar::{QUERY_HINTS, USE_HINTS};
use crate::messages;
use crate::plan::{Access, Aging, GroupMethod, JoinMethods, Locking};

/// Highest MAXRECURSION (sql-docs, "Query hints").
const MAXRECURSION_MAX: u32 = 32_767;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// At a source of FROM.
    Source,
    /// At the target of UPDATE or DELETE.
    Target,
    /// At the target of INSERT.
    Insert,
}

/// Adds what hints say about locks.
///
/// # Errors
/// 1047, 1065, 1069, 8171; 40517 for what there is not.
pub(super) fn add_locking(locking: &mut Locking, hints: &[TableHint], place: Place, table: &str) -> Result<()> {
    for hint in hints {
        match hint.name.as_str() {
            "NOLOCK" | "READUNCOMMITTED" if place != Place::Source => return Err(messages::nolock_at_target()),
            "INDEX" | "FORCESEEK" | "FORCESCAN" if place != Place::Source => {
                return Err(messages::index_hint_misplaced());
            }
            "READPAST" if place == Place::Insert => return Err(messages::invalid_hint("readpast", table)),
            "NOLOCK" | "READUNCOMMITTED" => set(&mut locking.isolation, Isolation::ReadUncommitted)?,
            "READCOMMITTED" => set(&mut locking.isolation, Isolation::ReadCommitted)?,
            "READCOMMITTEDLOCK" => {
                set(&mut locking.isolation, Isolation::ReadCommitted)?;
                locking.keeps_to_locks = true;
            }
            "REPEATABLEREAD" => set(&mut locking.isolation, Isolation::RepeatableRead)?,
            "HOLDLOCK" | "SERIALIZABLE" => set(&mut locking.isolation, Isolation::Serializable)?,
            "ROWLOCK" => set(&mut locking.whole_table, false)?,
            "TABLOCK" => set(&mut locking.whole_table, true)?,
            "TABLOCKX" => {
                set(&mut locking.whole_table, true)?;
                locking.rows = Some(Mode::X);
            }
            "UPDLOCK" => locking.rows = locking.rows.or(Some(Mode::U)),
            "XLOCK" => locking.rows = Some(Mode::X),
            "READPAST" => locking.read_past = true,
            "NOWAIT" => locking.no_wait = true,
            "INDEX" | "FORCESEEK" | "FORCESCAN" => {}
            // What these ask for concerns views with indexes, and rows out of OPENROWSET(BULK ...).
            "NOEXPAND" | "KEEPIDENTITY" | "KEEPDEFAULTS" | "IGNORE_CONSTRAINTS" | "IGNORE_TRIGGERS" => {
                return Err(messages::invalid_hint(&hint.name.to_lowercase(), table));
            }
            other => return Err(not_supported(&format!("table hint {other}"))),
        }
    }
    let is_dirty = locking.isolation == Some(Isolation::ReadUncommitted);
    if is_dirty && (locking.rows.is_some() || locking.whole_table.is_some() || locking.read_past) {
        return Err(messages::conflicting_locking_hints());
    }
    Ok(())
}

/// One hint of each group (sql-docs, "Table hints").
fn set<T: PartialEq + Copy>(place: &mut Option<T>, value: T) -> Result<()> {
    match place.replace(value) {
        Some(other) if other != value => Err(messages::conflicting_locking_hints()),
        _ => Ok(()),
    }
}

/// The way to a table's rows that hints ask for.
///
/// # Errors
/// 307 and 308 for an index that is not there, 8622 for hints that contradict each other.
pub(super) fn access(definition: &TableDefinition, hints: &[TableHint]) -> Result<Access> {
    let mut access = Access::Any;
    for hint in hints {
        let wanted = match hint.name.as_str() {
            "INDEX" => match hint.arguments.as_slice() {
                [index] => index_access(definition, index)?,
                _ => return Err(not_supported("several indexes in a table hint")),
            },
            "FORCESEEK" if hint.arguments.is_empty() => Access::Seek,
            "FORCESEEK" => return Err(not_supported("FORCESEEK with an index")),
            "FORCESCAN" => Access::Scan,
            _ => continue,
        };
        if access != Access::Any && access != wanted {
            return Err(messages::no_plan_for_hints());
        }
        access = wanted;
    }
    Ok(access)
}

fn index_access(definition: &TableDefinition, index: &str) -> Result<Access> {
    let table = format!("{}.{}", definition.schema, definition.name);
    let place = match index.parse::<u32>() {
        Ok(0) => return Ok(Access::Scan),
        Ok(number) => definition
            .indexes
            .iter()
            .position(|index| index.index_id == number)
            .ok_or_else(|| messages::no_index_of_id(number, &table))?,
        Err(_) => {
            let name = index.trim_matches(['[', ']', '"']);
            definition
                .indexes
                .iter()
                .position(|index| index.name.to_lowercase() == name.to_lowercase())
                .ok_or_else(|| {
                    match definition
                        .disabled_indexes
                        .iter()
                        .any(|one| one.name.to_lowercase() == name.to_lowercase())
                    {
                        true => messages::hinted_index_is_disabled(name, &table),
                        false => messages::no_index_of_name(name, &table),
                    }
                })?
        }
    };
    Ok(Access::Index(place))
}

/// Several hints together leave all methods they name.
fn add_method(methods: &mut Option<JoinMethods>, named: JoinMethods) {
    *methods = Some(methods.map_or(named, |so_far| so_far.or(named)));
}

/// Whether a join in a FROM has a hint, which keeps the order of all of it as it is written (SQL Server docs, "Join hints").
pub(super) fn has_join_hint(sources: &[TableSource]) -> bool {
    let mut open: Vec<&TableSource> = sources.iter().collect();
    while let Some(source) = open.pop() {
        if let TableSource::Join(join) = source {
            if join.algorithm.is_some() {
                return true;
            }
            open.extend([&join.left, &join.right]);
        }
    }
    false
}

/// The methods that the hint at a join leaves. REMOTE says where a join is done, and there is one place.
///
/// # Errors
/// 8622 for LOOP at a RIGHT or FULL join.
pub(super) fn methods(join: &Join) -> Result<JoinMethods> {
    match join.algorithm {
        None | Some(JoinAlgorithm::Remote) => Ok(JoinMethods::ANY),
        Some(JoinAlgorithm::Loop) if matches!(join.kind, JoinKind::Right | JoinKind::Full) => {
            Err(messages::no_plan_for_hints())
        }
        Some(JoinAlgorithm::Loop) => Ok(JoinMethods::LOOPS),
        Some(JoinAlgorithm::Hash) => Ok(JoinMethods::HASHES),
        Some(JoinAlgorithm::Merge) => Ok(JoinMethods::MERGES),
    }
}

impl Binder<'_> {
    /// Applies OPTION (...).
    ///
    /// # Errors
    /// 102 and 10715 for a hint that does not exist, 310 for a MAXRECURSION out of range; 40517 for what is known and not done.
    pub(super) fn obey_query_hints(&mut self, hints: &[QueryHint]) -> Result<()> {
        let mut joins = None;
        for hint in hints {
            let value = hint.value.as_deref().unwrap_or_default().trim();
            match hint.name.as_str() {
                "MAXRECURSION" => {
                    let rounds = value.parse().ok().filter(|rounds| *rounds <= MAXRECURSION_MAX);
                    self.rounds_max = rounds.ok_or_else(|| messages::maxrecursion_out_of_range(value))?;
                }
                "MAXDOP" => {
                    let degree = value.parse().map_err(|_| messages::incorrect_syntax_near("MAXDOP"))?;
                    self.degree_max = Some(degree);
                }
                "USE HINT" => {
                    for text in value.split(',') {
                        let name = text.trim().trim_start_matches(['N', 'n']).trim_matches('\'');
                        USE_HINTS
                            .admit(1, &name.to_ascii_uppercase(), None)
                            .map_err(messages::syntax)?;
                        self.advice.is_unknown |= name.eq_ignore_ascii_case("DISABLE_PARAMETER_SNIFFING");
                        self.advice.is_without_goals |= name.eq_ignore_ascii_case("DISABLE_OPTIMIZER_ROWGOAL");
                    }
                }
                "RECOMPILE" => self.advice.recompile = true,
                // Execution answers what flags ask for. SQL Server passes over flags that it does not know here.
                "QUERYTRACEON" => {
                    let flag = value.parse::<u16>();
                    flag.map_err(|_| messages::incorrect_syntax_near("QUERYTRACEON"))?;
                }
                "OPTIMIZE FOR UNKNOWN" => self.advice.is_unknown = true,
                "OPTIMIZE FOR" => self.advise_values(value)?,
                "FAST" => self.advise_first_rows(value)?,
                "HASH GROUP" => self.advice.groups = self.advice.groups.or(GroupMethod::Hash),
                "ORDER GROUP" => self.advice.groups = self.advice.groups.or(GroupMethod::Order),
                "KEEP PLAN" if self.advice.aging == Aging::Usual => self.advice.aging = Aging::TemporaryAsOthers,
                "KEEP PLAN" => {}
                "KEEPFIXED PLAN" => self.advice.aging = Aging::Never,
                "FORCE ORDER" => self.is_order_forced = true,
                "LOOP JOIN" => add_method(&mut joins, JoinMethods::LOOPS),
                "HASH JOIN" => add_method(&mut joins, JoinMethods::HASHES),
                "MERGE JOIN" => add_method(&mut joins, JoinMethods::MERGES),
                name => QUERY_HINTS.admit(1, name, None).map_err(messages::syntax)?,
            }
        }
        let named = |name: &str| hints.iter().any(|hint| hint.name == name);
        self.advice.has_join_hint |= joins.is_some();
        self.advice.has_order_hint |= named("FORCE ORDER");
        self.advice.has_group_hint |= named("HASH GROUP") || named("ORDER GROUP");
        self.join_methods = joins.unwrap_or(self.join_methods);
        Ok(())
    }
}
