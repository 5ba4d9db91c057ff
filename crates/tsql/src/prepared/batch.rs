//! A parsed batch with the plans of its statements.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::{Arc, Weak};

use engine::error::Error;
use engine::memory::Charge;
use engine::types::Collation;

use super::hasher::OwnKeys;
use super::parse_only::{ParseOnly, parseonly_of};
use super::template::{self, Setting, Template};
use super::uses::PlanUses;
use crate::ast::{NodeNumber, Statement};
use crate::bind::{BoundDelete, BoundInsert, BoundMerge, BoundQuery, BoundUpdate, VariableScope};
use crate::failure::Failure;
use crate::messages;
use crate::modules::{Code, UserTypes};
use crate::optimize::estimate::{Estimator, Expectations, Premises};
use crate::optimize::shown::{ShownOperator, ShownStatement};
use crate::optimize::{Logical, Optimizer};
use crate::parser::ParsedBatch;
use crate::plan::{Condition, Expr, hold_long_columns};
use crate::plan_cache::{CachedPlan, ChangeStatement, PlanCache, QueryStatistics, SharedPlan};
use crate::state::{Dependencies, PlanOptions, SessionState};

/// What a plan takes beside its expressions and sources.
const PLAN_BYTES: u64 = 512;

/// What a statement was bound to.
pub(crate) enum Bound {
    Query(BoundQuery),
    Insert(BoundInsert),
    Update(BoundUpdate),
    Delete(BoundDelete),
    Merge(Box<BoundMerge>),
    Condition(Condition),
    Expressions(Vec<Expr>),
}

impl Logical for Bound {
    fn optimize(&mut self, optimizer: &mut Optimizer<'_>) -> Result<(), Error> {
        match self {
            Bound::Query(query) => {
                query.optimize(optimizer)?;
                if query.assignments.is_none() {
                    hold_long_columns(&mut query.plan);
                }
                Ok(())
            }
            Bound::Insert(insert) => {
                insert.optimize(optimizer)?;
                insert.hold_long_columns();
                Ok(())
            }
            Bound::Update(update) => {
                update.optimize(optimizer)?;
                update.hold_long_columns();
                Ok(())
            }
            Bound::Delete(delete) => delete.optimize(optimizer),
            Bound::Merge(merge) => merge.optimize(optimizer),
            Bound::Condition(condition) => condition.optimize(optimizer),
            Bound::Expressions(expressions) => expressions.optimize(optimizer),
        }
    }

    fn expected(&self, estimator: &Estimator<'_>) -> Expectations {
        let root = self.root();
        root.map_or_else(Expectations::default, |root| Expectations::of(root, estimator))
    }
}

impl Bound {
    /// The change that it is, for the optimizer's counters.
    pub(crate) fn change(&self) -> Option<ChangeStatement> {
        match self {
            Bound::Insert(_) => Some(ChangeStatement::Insert),
            Bound::Update(_) => Some(ChangeStatement::Update),
            Bound::Delete(_) => Some(ChangeStatement::Delete),
            Bound::Merge(_) => Some(ChangeStatement::Merge),
            Bound::Query(_) | Bound::Condition(_) | Bound::Expressions(_) => None,
        }
    }

    /// Whether it changes nothing.
    fn is_query(&self) -> bool {
        matches!(self, Bound::Query(_) | Bound::Condition(_) | Bound::Expressions(_))
    }
}

/// A plan and what it was bound against.
struct Kept {
    bound: Bound,
    /// What was expected of its operators when it was made.
    expectations: Expectations,
    /// Until when the statistics are in date that it was made from.
    premises: Premises,
    database: u16,
    /// The database's default then: constants have it.
    collation: Collation,
    options: PlanOptions,
    /// IDENTITY_INSERT at the time: it decides which columns an INSERT may give.
    identity_insert: Option<(u16, u32)>,
    dependencies: Dependencies,
    /// How often temporary tables that are still there were hidden, if it has to do with such tables.
    hidden: Option<u64>,
    /// Where its executions are counted, if its text is kept.
    statistics: Option<Arc<QueryStatistics>>,
    /// What an execution uses of indexes.
    uses: PlanUses,
}

impl SharedPlan for Kept {
    fn depends_on(&self, database_id: u16, object_id: u32) -> bool {
        self.dependencies.names_object(database_id, object_id)
    }

    fn element(&self, number: usize, text: &str, plan_bytes: u64) -> String {
        let shown = ShownStatement {
            text: text.to_owned(),
            kind: self.bound.word(),
            root: self.bound.shown(&self.expectations),
            plan_bytes,
            ..ShownStatement::default()
        };
        shown.element(number)
    }
}

/// The plan of a statement, ready to run.
#[derive(Clone)]
pub(crate) struct Planned(Arc<Kept>);

impl Deref for Planned {
    type Target = Bound;

    fn deref(&self) -> &Bound {
        &self.0.bound
    }
}

impl Planned {
    /// Its operators, with what was expected of them; none of a condition or value.
    pub(crate) fn shown(&self) -> Option<ShownOperator> {
        self.0.bound.shown(&self.0.expectations)
    }

    /// Where its executions are counted.
    pub(crate) fn statistics(&self) -> Option<&Arc<QueryStatistics>> {
        self.0.statistics.as_ref()
    }

    /// Counts what an execution uses of indexes, at a time in microseconds since 1970.
    #[inline]
    pub(crate) fn note_uses(&self, unix_micros: u64) {
        self.0.uses.note(unix_micros);
    }
}

impl Kept {
    /// Whether it may be used by a session as that is: nothing that it depends on is another one, or out of date.
    fn is_valid(&self, session: &SessionState) -> bool {
        self.database == session.database_id()
            && self.collation == session.database_collation()
            && self.options == session.options().of_plans()
            && self.identity_insert == session.options().identity_insert
            && self
                .hidden
                .is_none_or(|hidden| hidden == session.hidden_temporary_tables())
            && self.dependencies.are_current(session)
            && self.premises.hold()
    }
}

/// A plan that this batch has in hand.
enum InHand {
    /// Its own, of so many bytes, estimated.
    Own(Arc<Kept>, u64),
    /// One that the instance keeps, and may let go of.
    Shared(Weak<Kept>),
}

impl InHand {
    fn kept(&self) -> Option<Arc<Kept>> {
        match self {
            InHand::Own(kept, _) => Some(kept.clone()),
            InHand::Shared(kept) => kept.upgrade(),
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            InHand::Own(_, bytes) => *bytes,
            InHand::Shared(_) => 0,
        }
    }
}

/// The entry of the plan cache that a batch belongs to.
struct Entered {
    cache: Arc<PlanCache>,
    entry: RefCell<Arc<CachedPlan>>,
}

/// A statement's template, or that it has none, and what was asked under.
type Looked = (Setting, Option<Rc<Template>>);

/// A parsed batch or procedure body with this session's plans.
pub struct CompiledBatch {
    /// Its statements and variables, which others may share.
    code: Arc<Code>,
    /// What its SET PARSEONLY statements say, if it has any.
    pub(crate) parseonly: Option<ParseOnly>,
    plans: RefCell<HashMap<NodeNumber, InHand, OwnKeys>>,
    /// Its place among what the instance keeps; none of a text that is not kept.
    entered: Option<Entered>,
    /// Statements with parameters in place of their constants, as far as they were asked for.
    templates: RefCell<HashMap<NodeNumber, Looked, OwnKeys>>,
    /// What these take.
    template_bytes: Cell<u64>,
    /// Whether it is a text without parameters, whose statements may have templates.
    is_batch: bool,
    /// Whether the tree is this batch's alone.
    owns_code: bool,
    size: RefCell<Size>,
}

impl Deref for CompiledBatch {
    type Target = Code;

    fn deref(&self) -> &Code {
        &self.code
    }
}

/// What the plans of a batch take.
#[derive(Default)]
struct Size {
    bytes: u64,
    charge: Charge,
}

/// Parses a batch.
///
/// # Errors
/// Syntax errors, variables declared twice, unknown types: nothing of the batch runs then.
pub(crate) fn compile(
    text: &str,
    quoted_identifier: bool,
    scope: VariableScope,
    types: UserTypes<'_>,
) -> Result<CompiledBatch, Box<Failure>> {
    let parsed = crate::parser::parse_to_keep(text, quoted_identifier).map_err(failed)?;
    crate::grammar::check(&parsed.statements).map_err(failed)?;
    CompiledBatch::new(parsed, scope, types)
}

/// The failure of a batch that is not run at all.
fn failed(error: crate::error::ParseError) -> Failure {
    let line = error.line;
    Failure::new(messages::syntax(error), line, "")
}

impl CompiledBatch {
    /// A batch of parsed statements; `scope` holds the parameters it sees.
    ///
    /// # Errors
    /// Those of its declarations.
    pub(crate) fn new(
        parsed: ParsedBatch,
        scope: VariableScope,
        types: UserTypes<'_>,
    ) -> Result<CompiledBatch, Box<Failure>> {
        let code = Code::new(parsed, scope, types).map_err(|(line, error)| Failure::new(error, line, ""))?;
        Ok(CompiledBatch {
            parseonly: parseonly_of(&code.statements),
            owns_code: true,
            ..CompiledBatch::of(Arc::new(code))
        })
    }

    /// This session's side of code that others share.
    pub(crate) fn of(code: Arc<Code>) -> CompiledBatch {
        CompiledBatch {
            code,
            // Modules do not say how they are parsed.
            parseonly: None,
            plans: RefCell::default(),
            entered: None,
            templates: RefCell::default(),
            template_bytes: Cell::default(),
            is_batch: false,
            owns_code: false,
            size: RefCell::default(),
        }
    }

    /// A text that the instance keeps.
    pub(crate) fn of_text(code: Arc<Code>) -> CompiledBatch {
        CompiledBatch {
            parseonly: parseonly_of(&code.statements),
            owns_code: true,
            ..CompiledBatch::of(code)
        }
    }

    /// The same batch as the owner of plans that the instance keeps.
    pub(crate) fn entered(self, cache: &Arc<PlanCache>, entry: Arc<CachedPlan>) -> CompiledBatch {
        let is_batch = entry.batch_text().is_some();
        let (cache, entry) = (cache.clone(), RefCell::new(entry));
        CompiledBatch {
            is_batch,
            entered: Some(Entered { cache, entry }),
            ..self
        }
    }

    /// Its tree, for others to share.
    pub(crate) fn code(&self) -> &Arc<Code> {
        &self.code
    }

    /// Notes that it is executed once more. If the instance has let go of it since, it is entered again, and its plans are recompiled.
    pub(crate) fn use_once(&self) {
        if let Some(entered) = &self.entered {
            if entered.entry.borrow().has_left() {
                self.enter_again(entered);
            }
            entered.entry.borrow().use_once();
        }
    }

    fn enter_again(&self, entered: &Entered) {
        let renewed = entered.cache.renew(&entered.entry.borrow());
        entered.entry.replace(renewed);
        self.plans.borrow_mut().clear();
        self.size.take();
    }

    /// Where executions of all of it are counted, if it is a module that the instance keeps.
    pub(crate) fn whole_statistics(&self, session: &SessionState) -> Option<Arc<QueryStatistics>> {
        let entry = self.entered.as_ref()?.entry.borrow();
        entry.whole_statistics(|| session.instance.env.clock.unix_micros())
    }

    /// One of its statements with parameters in place of constants, if that is how this session is to execute it.
    #[inline]
    pub(crate) fn template(&self, statement: &Statement, session: &SessionState) -> Option<Rc<Template>> {
        match self.is_batch {
            true => self.template_of(statement, session),
            false => None,
        }
    }

    fn template_of(&self, statement: &Statement, session: &SessionState) -> Option<Rc<Template>> {
        let number = template::number_of(&statement.kind)?;
        let setting = Setting::of(session);
        if let Some((made_under, template)) = self.templates.borrow().get(&number)
            && *made_under == setting
        {
            return template.clone();
        }
        let entered = self.entered.as_ref()?;
        let entry = entered.entry.borrow().clone();
        let text = entry.batch_text()?;
        let made = template::template(session, setting, (text.0.as_ref(), text.1), statement, &entered.cache);
        let made = made.map(Rc::new);
        let bytes_of = |template: &Option<Rc<Template>>| template.as_ref().map_or(0, |template| template.batch.bytes());
        let former = self.templates.borrow_mut().insert(number, (setting, made.clone()));
        let former_bytes = former.map_or(0, |(_, template)| bytes_of(&template));
        self.template_bytes
            .set((self.template_bytes.get() + bytes_of(&made)).saturating_sub(former_bytes));
        made
    }

    /// The kept plan of a piece of syntax, if the catalogs it was bound against are as they were when all it is bound to is locked.
    ///
    /// # Errors
    /// Those of waiting for a lock.
    pub(crate) fn plan(&self, key: NodeNumber, session: &SessionState) -> Result<Option<Planned>, Error> {
        let in_hand = self.plans.borrow().get(&key).and_then(InHand::kept);
        let valid = in_hand.filter(|kept| kept.is_valid(session));
        let Some(kept) = valid.or_else(|| self.adopted(key, session)) else {
            return Ok(None);
        };
        session.hold_all(&kept.dependencies, kept.bound.is_query())?;
        Ok(kept.dependencies.are_current(session).then_some(Planned(kept)))
    }

    /// A plan that another session has made, if it is what this one would make.
    fn adopted(&self, key: NodeNumber, session: &SessionState) -> Option<Arc<Kept>> {
        let entered = self.entered.as_ref()?;
        if session.may_have_uncommitted_definitions() {
            return None;
        }
        let shared: Arc<dyn Any + Send + Sync> = entered.entry.borrow().plan(key)?;
        let kept = shared.downcast::<Kept>().ok()?;
        if !kept.is_valid(session) {
            return None;
        }
        self.take_in_hand(key, InHand::Shared(Arc::downgrade(&kept)));
        Some(kept)
    }

    /// What the plans take, and the tree if it is the batch's own, in bytes, estimated.
    pub fn bytes(&self) -> u64 {
        let tree = if self.owns_code { self.code.bytes() } else { 0 };
        self.size.borrow().bytes + tree + self.template_bytes.get()
    }

    /// Has a plan in hand in place of the node's former one, if there is memory for it.
    fn take_in_hand(&self, key: NodeNumber, plan: InHand) {
        let mut plans = self.plans.borrow_mut();
        let mut size = self.size.borrow_mut();
        // The former plan of the node is out of date: its room is the new one's.
        size.bytes -= plans.remove(&key).map_or(0, |former| former.bytes());
        let wanted = size.bytes + plan.bytes();
        if size.charge.grow_to(wanted).is_ok() {
            size.bytes = wanted;
            plans.insert(key, plan);
        }
    }

    /// A plan that was made just now for a node, which stands at a line.
    pub(crate) fn planned(
        &self,
        (key, line): (NodeNumber, u32),
        (bound, expectations, premises): (Bound, Expectations, Premises),
        dependencies: Dependencies,
        session: &SessionState,
    ) -> Planned {
        let entered = self.entered.as_ref().filter(|_| key.is_given());
        let statistics = entered.map(|entered| {
            // A loop goes on with an entry that is kept.
            if entered.entry.borrow().has_left() {
                self.enter_again(entered);
            }
            let now = session.instance.env.clock.unix_micros();
            entered.entry.borrow().planned(key, now, line)
        });
        Planned(Arc::new(Kept {
            uses: PlanUses::of(&bound),
            bound,
            expectations,
            premises,
            database: session.database().id,
            collation: session.database_collation(),
            options: session.options().of_plans(),
            identity_insert: session.options().identity_insert,
            hidden: dependencies.has_temporary().then(|| session.hidden_temporary_tables()),
            dependencies,
            statistics,
        }))
    }

    /// Keeps a plan that takes so many bytes, if there is memory to keep it: for all sessions, if each would make the same.
    pub(crate) fn keep(&self, key: NodeNumber, planned: &Planned, bytes: u64, session: &SessionState) {
        let bytes = bytes + PLAN_BYTES;
        let is_private = planned.0.hidden.is_some() || session.may_have_uncommitted_definitions();
        let Some(entered) = self.entered.as_ref().filter(|_| !is_private) else {
            return self.take_in_hand(key, InHand::Own(planned.0.clone(), bytes));
        };
        let entry = entered.entry.borrow().clone();
        if entry.share(key, planned.0.clone(), bytes) {
            self.take_in_hand(key, InHand::Shared(Arc::downgrade(&planned.0)));
            entered.cache.grew(&entry);
        }
    }
}
