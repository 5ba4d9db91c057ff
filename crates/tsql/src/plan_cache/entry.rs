//! One entry of the plan cache.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

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
    /// Where its statements stand, once it was asked.
    places: OnceLock<Vec<Place>>,
}

/// Where the statement of a line stands: on a line of several it is the first that has rows.
#[derive(Clone, Copy, Debug)]
struct Place {
    line: u32,
    /// Bytes of the text.
    start: usize,
    end: usize,
    /// `statement_start_offset` and `statement_end_offset`.
    offsets: (i32, i32),
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
            } => (*database, text.text().clone(), declarations.is_empty()),
            PlanKey::Template {
                database,
                declarations,
                text,
                ..
            } => (*database, Arc::from(format!("{declarations}{}", text.text())), false),
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
            places: OnceLock::new(),
        }
    }

    /// The same text under another number, without plans.
    pub(super) fn renewed(&self, number: u64) -> CachedPlan {
        CachedPlan {
            key: self.key.clone(),
            kind: self.kind,
            database_id: self.database_id,
            object_id: self.object_id,
            text: self.text.clone(),
            lead: self.lead,
            code: self.code.clone(),
            module: self.module.clone(),
            sql_handle: self.sql_handle,
            plan_handle: self.plan_handle.numbered(number),
            uses: AtomicU64::new(0),
            uses_seen: AtomicU64::new(0),
            has_left: AtomicBool::new(false),
            whole: Arc::default(),
            plans: Mutex::default(),
            places: OnceLock::new(),
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
            } if declarations.is_empty() => Some((text.text(), *quoted_identifier)),
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
        let places = self.places.get().map_or(0, |places| size_of_val(places.as_slice()));
        let own = ENTRY_BYTES + self.code.bytes() + (self.text.len() + places) as u64;
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
        let places = self.places();
        let shared: Vec<(AnyPlan, u64, u32)> = {
            let plans = self.plans.lock();
            let statements = plans.by_node.values().filter_map(|one| {
                let (plan, bytes) = one.shared.as_ref()?;
                let line = one.statistics.totals().line;
                begins(self.place_in(places, line).offsets.0).then(|| (plan.clone(), *bytes, line))
            });
            statements.collect()
        };
        shared
            .iter()
            .enumerate()
            .map(|(place, (plan, bytes, line))| plan.element(place + 1, self.statement_text(*line), *bytes))
            .collect()
    }

    /// The part of the text in which a statement stands.
    pub(crate) fn statement_text(&self, line: u32) -> &str {
        let Place { start, end, .. } = self.place(line);
        self.text.get(start..end).unwrap_or_default().trim()
    }

    /// `statement_start_offset` and `statement_end_offset`: bytes of UTF-16, -1 for the end of the text.
    pub(crate) fn offsets(&self, line: u32) -> (i32, i32) {
        self.place(line).offsets
    }

    fn place(&self, line: u32) -> Place {
        self.place_in(self.places(), line)
    }

    /// The place of a line's statement; all of the text if there is none.
    fn place_in(&self, places: &[Place], line: u32) -> Place {
        if let ([only], true) = (places, self.is_single()) {
            return *only;
        }
        let found = places.binary_search_by_key(&line, |place| place.line);
        let whole = Place {
            line,
            start: 0,
            end: self.text.len(),
            offsets: (0, -1),
        };
        found.map_or(whole, |found| places[found])
    }

    /// Whether it is one statement: its place is all of the text behind what declares parameters.
    fn is_single(&self) -> bool {
        self.code.statements.len() == 1 && self.object_id.is_none()
    }

    /// Found by one walk over the statements and one over the text: a procedure may have thousands of statements, each of which is asked for.
    fn places(&self) -> &[Place] {
        self.places.get_or_init(|| {
            let mut spans = BTreeMap::new();
            crate::grammar::walk(&self.code.statements, &mut |statement| {
                let has_rows = statement.kind.facts().family == StatementFamily::Rows;
                let known = spans.entry(statement.line).or_insert((statement.span, has_rows));
                if has_rows && !known.1 {
                    *known = (statement.span, true);
                }
            });
            if self.is_single() {
                let line = 1;
                spans = BTreeMap::from([(line, ((self.lead as u32, u32::MAX), true))]);
            }
            let range = |(start, end): (u32, u32)| (start as usize, (end as usize).min(self.text.len()));
            let ranges: Vec<(u32, (usize, usize))> =
                spans.into_iter().map(|(line, (span, _))| (line, range(span))).collect();
            let units = units_before(&self.text, ranges.iter().flat_map(|(_, (start, end))| [*start, *end]));
            let offset = |at: &usize| units.get(at).copied().unwrap_or(i32::MAX);
            let place = |(line, (start, end)): (u32, (usize, usize))| Place {
                line,
                start,
                end,
                offsets: (
                    offset(&start),
                    if end == self.text.len() { -1 } else { offset(&end) - 2 },
                ),
            };
            ranges.into_iter().map(place).collect()
        })
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

/// For each of these places in a text, how many bytes of UTF-16 stand before it.
fn units_before(text: &str, places: impl Iterator<Item = usize>) -> BTreeMap<usize, i32> {
    let mut units: BTreeMap<usize, i32> = places.map(|place| (place, 0)).collect();
    let (mut at, mut count) = (0, 0);
    for (place, before) in &mut units {
        count += text.get(at..*place).unwrap_or_default().encode_utf16().count();
        at = *place;
        *before = i32::try_from(count * 2).unwrap_or(i32::MAX);
    }
    units
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Each question walked all statements, and counted the text before the one that it was about: a list of what the statements of a
    /// procedure cost took the square of their number, minutes for sp_Blitz, and could not be stopped.
    #[test]
    fn statements_are_found_by_their_lines() {
        let text = "select 'ä'\nif 1 = 1 begin\n  set nocount on select '€', 2\n  print 'x' end\nselect 3";
        let key = PlanKey::Text {
            database: 5,
            quoted_identifier: true,
            declarations: "".into(),
            text: text.into(),
        };
        let parsed = crate::parser::parse_to_keep(text, true).unwrap();
        let none = crate::modules::UserTypes::none();
        let code = Code::new(parsed, crate::modules::VariableScope::default(), none).map_err(|(_, error)| error);
        let plan = CachedPlan::of_text(1, key, Arc::new(code.unwrap()));
        let units: Vec<u16> = text.encode_utf16().collect();
        let shown = |line: u32| {
            let (start, end) = plan.offsets(line);
            let end = usize::try_from(end).map_or(units.len(), |end| end / 2 + 1);
            let by_offsets = String::from_utf16(&units[usize::try_from(start).unwrap() / 2..end]).unwrap();
            assert_eq!(by_offsets.trim(), plan.statement_text(line), "line {line}");
            by_offsets.trim().to_owned()
        };
        assert_eq!(shown(1), "select 'ä'");
        assert_eq!(shown(3), "select '€', 2", "the first with rows");
        assert_eq!(shown(4), "print 'x'");
        assert_eq!(shown(5), "select 3");
        assert_eq!(
            plan.offsets(9),
            (0, -1),
            "a line without a statement is all of the text"
        );
        assert!(plan.bytes() > plan.text().len() as u64);
    }
}
