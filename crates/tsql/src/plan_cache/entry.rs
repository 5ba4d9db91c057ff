//! One entry of the plan cache.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

use super::PlanKey;
use super::handle::{PlanHandle, SqlHandle};
use super::statistics::{QueryStatistics, Totals};
use crate::ast::{NodeNumber, StatementFamily};
use crate::modules::{Code, Module};

/// What an entry takes beside its text, its tree and its plans.
const ENTRY_BYTES: u64 = 512;

/// `objtype` of `sys.dm_exec_cached_plans`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlanKind {
    Adhoc,
    /// A text with parameters, declared or found.
    Prepared,
    /// A procedure or function.
    Module,
}

impl PlanKind {
    /// The word for it (sql-docs, "sys.dm_exec_cached_plans").
    pub(crate) fn name(self) -> &'static str {
        match self {
            PlanKind::Adhoc => "Adhoc",
            PlanKind::Prepared => "Prepared",
            PlanKind::Module => "Proc",
        }
    }
}

/// A plan of a statement, as the rooms below keep it.
pub(crate) trait SharedPlan: Any + Send + Sync {
    /// Whether it was made from this table, view or function.
    fn depends_on(&self, database_id: u16, object_id: u32) -> bool;

    /// The statement of this number in its batch with its plan, which takes so many bytes, as an element of a document in XML.
    fn element(&self, number: usize, text: &str, plan_bytes: u64) -> String;
}

type AnyPlan = Arc<dyn SharedPlan>;

/// The cached plans of a statement.
#[derive(Default)]
struct OfStatement {
    /// The plan that sessions share, with the bytes that it takes.
    shared: Option<(AnyPlan, u64)>,
    statistics: Arc<QueryStatistics>,
}

/// The plans of the statements. What they take is charged to the cache.
#[derive(Default)]
struct Plans {
    by_node: BTreeMap<NodeNumber, OfStatement>,
    bytes: u64,
}

/// An entry. See the room.
pub(crate) struct CachedPlan {
    key: PlanKey,
    kind: PlanKind,
    database_id: u16,
    object_id: Option<u32>,
    text: Arc<str>,
    /// Bytes of the text before its first statement: declarations of parameters.
    lead: usize,
    code: Arc<Code>,
    /// Keeps the address in the key its own.
    module: Option<Arc<Module>>,
    sql_handle: SqlHandle,
    plan_handle: PlanHandle,
    uses: AtomicU64,
    /// The uses when the cache last asked.
    uses_seen: AtomicU64,
    has_left: AtomicBool,
    /// Executions of a module from its beginning to its end.
    whole: Arc<QueryStatistics>,
    plans: Mutex<Plans>,
}

impl CachedPlan {
    /// The entry of a text of this number in the cache.
    pub(crate) fn of_text(number: u64, key: PlanKey, code: Arc<Code>) -> CachedPlan {
        let (database, text, is_batch) = match &key {
            PlanKey::Text {
                database,
                declarations,
                text,
                ..
            } => (*database, text.clone(), declarations.is_empty()),
            PlanKey::Template {
                database,
                declarations,
                text,
                ..
            } => (*database, Arc::from(format!("{declarations}{text}")), false),
            PlanKey::Module(_) => (0, Arc::from(""), false),
        };
        let kind = if is_batch { PlanKind::Adhoc } else { PlanKind::Prepared };
        CachedPlan::new(number, key, (kind, database, None), text, code)
    }

    /// The entry of a module in its database.
    pub(crate) fn of_module(number: u64, module: &Arc<Module>, code: Arc<Code>, database: u16) -> CachedPlan {
        let what = (PlanKind::Module, database, Some(module.object_id));
        CachedPlan {
            module: Some(module.clone()),
            ..CachedPlan::new(number, PlanKey::module(module), what, module.text.clone(), code)
        }
    }

    fn new(
        number: u64,
        key: PlanKey,
        (kind, database_id, object_id): (PlanKind, u16, Option<u32>),
        text: Arc<str>,
        code: Arc<Code>,
    ) -> CachedPlan {
        let lead = match &key {
            PlanKey::Template { declarations, .. } => declarations.len(),
            PlanKey::Text { .. } | PlanKey::Module(_) => 0,
        };
        CachedPlan {
            lead,
            sql_handle: SqlHandle::new(object_id, database_id, &text),
            plan_handle: PlanHandle::new(object_id, database_id, &text, number),
            key,
            kind,
            database_id,
            object_id,
            text,
            code,
            module: None,
            uses: AtomicU64::new(0),
            uses_seen: AtomicU64::new(0),
            has_left: AtomicBool::new(false),
            whole: Arc::default(),
            plans: Mutex::default(),
        }
    }

    /// The same text under another number, without plans.
    pub(super) fn renewed(&self, number: u64) -> CachedPlan {
        let what = (self.kind, self.database_id, self.object_id);
        CachedPlan {
            module: self.module.clone(),
            ..CachedPlan::new(number, self.key.clone(), what, self.text.clone(), self.code.clone())
        }
    }

    pub(super) fn key(&self) -> &PlanKey {
        &self.key
    }

    pub(crate) fn kind(&self) -> PlanKind {
        self.kind
    }

    pub(crate) fn database_id(&self) -> u16 {
        self.database_id
    }

    /// The module's; none of a text.
    pub(crate) fn object_id(&self) -> Option<u32> {
        self.object_id
    }

    pub(crate) fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// The text of a batch, with QUOTED_IDENTIFIER as it was parsed under.
    pub(crate) fn batch_text(&self) -> Option<(&Arc<str>, bool)> {
        match &self.key {
            PlanKey::Text {
                declarations,
                text,
                quoted_identifier,
                ..
            } if declarations.is_empty() => Some((text, *quoted_identifier)),
            _ => None,
        }
    }

    pub(crate) fn code(&self) -> &Arc<Code> {
        &self.code
    }

    pub(crate) fn sql_handle(&self) -> SqlHandle {
        self.sql_handle
    }

    pub(crate) fn plan_handle(&self) -> PlanHandle {
        self.plan_handle
    }

    /// Whether a handle is that of its plan or of its text.
    pub(crate) fn has_handle(&self, handle: &[u8]) -> bool {
        self.plan_handle.0 == handle || self.sql_handle.0 == handle
    }

    /// How often it was looked up to be executed.
    pub(crate) fn uses(&self) -> u64 {
        self.uses.load(Ordering::Relaxed)
    }

    /// Notes that it is executed once more.
    pub(crate) fn use_once(&self) {
        self.uses.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether it was used since this was last asked.
    pub(super) fn was_used(&self) -> bool {
        let uses = self.uses();
        self.uses_seen.swap(uses, Ordering::Relaxed) != uses
    }

    /// Records that the cache has evicted it.
    pub(super) fn leave(&self) {
        self.has_left.store(true, Ordering::Release);
        *self.plans.lock() = Plans::default();
    }

    /// Whether the cache has evicted it: its plans must not be used any longer.
    pub(crate) fn has_left(&self) -> bool {
        self.has_left.load(Ordering::Acquire)
    }

    /// What it takes with its tree and plans, in bytes, estimated.
    pub(crate) fn bytes(&self) -> u64 {
        let own = ENTRY_BYTES + self.code.bytes() + self.text.len() as u64;
        own + self.plans.lock().bytes
    }

    /// The plan of a node that sessions share.
    pub(crate) fn plan(&self, node: NodeNumber) -> Option<AnyPlan> {
        let plans = self.plans.lock();
        let shared = plans.by_node.get(&node)?.shared.as_ref();
        shared.map(|(plan, _)| plan.clone())
    }

    /// Notes that a plan of a node was made, shared or not; answers where its executions are counted.
    pub(crate) fn planned(&self, node: NodeNumber, unix_micros: u64, line: u32) -> Arc<QueryStatistics> {
        let mut plans = self.plans.lock();
        let of_statement = plans.by_node.entry(node).or_default();
        of_statement.statistics.planned(unix_micros, line);
        of_statement.statistics.clone()
    }

    /// Shares a plan of so many bytes in place of the node's former one; false when the entry has left.
    pub(crate) fn share(&self, node: NodeNumber, plan: AnyPlan, bytes: u64) -> bool {
        let mut plans = self.plans.lock();
        let plans = &mut *plans;
        let of_statement = plans.by_node.entry(node).or_default();
        plans.bytes -= of_statement.shared.take().map_or(0, |(_, former)| former);
        if self.has_left() {
            return false;
        }
        plans.bytes += bytes;
        of_statement.shared = Some((plan, bytes));
        true
    }

    /// Whether it is of this object of a database, or one of its plans was made from it.
    pub(crate) fn concerns(&self, database_id: u16, object_id: u32) -> bool {
        let is_own = self.database_id == database_id && self.object_id == Some(object_id);
        let plans = self.plans.lock();
        let mut shared = plans.by_node.values().filter_map(|one| one.shared.as_ref());
        is_own || shared.any(|(plan, _)| plan.depends_on(database_id, object_id))
    }

    /// Its statements with the plans that sessions share, as elements of a document in XML; `begins` chooses among them by their offset.
    pub(crate) fn elements(&self, begins: impl Fn(i32) -> bool) -> Vec<String> {
        let shared: Vec<(AnyPlan, u64, u32)> = {
            let plans = self.plans.lock();
            let statements = plans.by_node.values().filter_map(|one| {
                let (plan, bytes) = one.shared.as_ref()?;
                Some((plan.clone(), *bytes, one.statistics.totals().line))
            });
            statements.collect()
        };
        let chosen = shared.iter().filter(|(_, _, line)| begins(self.offsets(*line).0));
        chosen
            .enumerate()
            .map(|(place, (plan, bytes, line))| plan.element(place + 1, self.statement_text(*line), *bytes))
            .collect()
    }

    /// The part of the text in which a statement stands.
    pub(crate) fn statement_text(&self, line: u32) -> &str {
        let range = self.text_range(line);
        self.text.get(range).unwrap_or_default().trim()
    }

    /// Where the statement of a line stands: all of the text if there is no other; on a line of several it is the first that has rows.
    fn text_range(&self, line: u32) -> std::ops::Range<usize> {
        if self.code.statements.len() == 1 && self.object_id.is_none() {
            return self.lead..self.text.len();
        }
        let (mut any, mut with_rows) = (None, None);
        crate::grammar::walk(&self.code.statements, &mut |statement| {
            if statement.line == line {
                any = any.or(Some(statement.span));
                let has_rows = statement.kind.facts().family == StatementFamily::Rows;
                with_rows = with_rows.or(has_rows.then_some(statement.span));
            }
        });
        let (start, end) = with_rows.or(any).unwrap_or((0, u32::MAX));
        start as usize..(end as usize).min(self.text.len())
    }

    /// `statement_start_offset` and `statement_end_offset`: bytes of UTF-16, -1 for the end of the text.
    pub(crate) fn offsets(&self, line: u32) -> (i32, i32) {
        let range = self.text_range(line);
        let bytes = |text: Option<&str>| {
            let units = text.unwrap_or_default().encode_utf16().count();
            i32::try_from(units * 2).unwrap_or(i32::MAX)
        };
        let end = match range.end == self.text.len() {
            true => -1,
            false => bytes(self.text.get(..range.end)) - 2,
        };
        (bytes(self.text.get(..range.start)), end)
    }

    /// The module that it is the entry of.
    pub(crate) fn module(&self) -> Option<&Arc<Module>> {
        self.module.as_ref()
    }

    /// Where executions of all of it are counted, if it is a module; one that is executed for the first time is entered now.
    pub(crate) fn whole_statistics(&self, unix_micros: impl FnOnce() -> u64) -> Option<Arc<QueryStatistics>> {
        self.module.as_ref()?;
        self.whole.entered(unix_micros);
        Some(self.whole.clone())
    }

    /// What executions of all of it have cost.
    pub(crate) fn whole(&self) -> Totals {
        self.whole.totals()
    }

    /// What the executions of its statements have cost, in the order of the text.
    pub(crate) fn statistics(&self) -> Vec<Arc<QueryStatistics>> {
        let plans = self.plans.lock();
        plans.by_node.values().map(|one| one.statistics.clone()).collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
impl CachedPlan {
    /// An entry of an empty batch that takes about so many bytes.
    pub(super) fn for_test(number: u64, key: PlanKey, bytes: u64) -> CachedPlan {
        let parsed = crate::parser::parse_to_keep("", true).unwrap();
        let code = Code::new(
            parsed,
            crate::modules::VariableScope::default(),
            crate::modules::UserTypes::none(),
        )
        .map_err(|(_, error)| error);
        let entry = CachedPlan::of_text(number, key, Arc::new(code.unwrap()));
        entry.plans.lock().bytes = bytes;
        entry
    }
}
