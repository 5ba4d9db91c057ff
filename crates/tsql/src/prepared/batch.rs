//! A parsed batch with the plans of its statements.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;

use engine::error::Error;
use engine::memory::Charge;
use engine::types::Collation;

use super::hasher::OwnKeys;
use super::parse_only::{ParseOnly, parseonly_of};
use crate::ast::NodeNumber;
use crate::bind::{BoundDelete, BoundInsert, BoundQuery, BoundUpdate, VariableScope};
use crate::failure::Failure;
use crate::messages;
use crate::modules::Code;
use crate::optimize::{Logical, Optimizer};
use crate::parser::ParsedBatch;
use crate::plan::{Condition, Expr};
use crate::state::{Dependencies, PlanOptions, SessionState};

/// What a plan takes beside its expressions and sources.
const PLAN_BYTES: u64 = 512;

/// What a statement was bound to.
pub(crate) enum Bound {
    Query(BoundQuery),
    Insert(BoundInsert),
    Update(BoundUpdate),
    Delete(BoundDelete),
    Condition(Condition),
    Expressions(Vec<Expr>),
}

impl Logical for Bound {
    fn optimize(&mut self, optimizer: &mut Optimizer<'_>) -> Result<(), Error> {
        match self {
            Bound::Query(query) => query.optimize(optimizer),
            Bound::Insert(insert) => insert.optimize(optimizer),
            Bound::Update(update) => update.optimize(optimizer),
            Bound::Delete(delete) => delete.optimize(optimizer),
            Bound::Condition(condition) => condition.optimize(optimizer),
            Bound::Expressions(expressions) => expressions.optimize(optimizer),
        }
    }
}

impl Bound {
    /// Whether it changes nothing.
    fn is_query(&self) -> bool {
        matches!(self, Bound::Query(_) | Bound::Condition(_) | Bound::Expressions(_))
    }
}

/// A plan and what it was bound against.
struct Kept {
    bound: Rc<Bound>,
    database: u16,
    /// The database's default then: constants have it.
    collation: Collation,
    options: PlanOptions,
    /// IDENTITY_INSERT at the time: it decides which columns an INSERT may give.
    identity_insert: Option<(u16, u32)>,
    dependencies: Dependencies,
    /// How often temporary tables that are still there were hidden.
    hidden: u64,
    /// What it takes, estimated.
    bytes: u64,
}

/// A parsed batch or procedure body with this session's plans.
pub struct CompiledBatch {
    /// Its statements and variables, which others may share.
    code: Arc<Code>,
    /// What its SET PARSEONLY statements say, if it has any.
    pub(crate) parseonly: Option<ParseOnly>,
    plans: RefCell<HashMap<NodeNumber, Kept, OwnKeys>>,
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
pub fn compile(text: &str, quoted_identifier: bool, scope: VariableScope) -> Result<CompiledBatch, Box<Failure>> {
    let parsed = crate::parser::parse_to_keep(text, quoted_identifier).map_err(failed)?;
    crate::grammar::check(&parsed.statements).map_err(failed)?;
    CompiledBatch::new(parsed, scope)
}

/// The failure of a batch that is not run at all.
fn failed(error: crate::error::ParseError) -> Failure {
    let line = error.line;
    Failure {
        reach: crate::failure::Reach::Batch,
        ..Failure::new(messages::syntax(error), line, "")
    }
}

impl CompiledBatch {
    /// A batch of parsed statements; `scope` holds the parameters it sees.
    ///
    /// # Errors
    /// Those of its declarations.
    pub(crate) fn new(parsed: ParsedBatch, scope: VariableScope) -> Result<CompiledBatch, Box<Failure>> {
        let code = Code::new(parsed, scope).map_err(|(line, error)| Failure::new(error, line, ""))?;
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
            owns_code: false,
            size: RefCell::default(),
        }
    }

    /// The kept plan of a piece of syntax, if the catalogs it was bound against are as they were when all it is bound to is locked.
    ///
    /// # Errors
    /// Those of waiting for a lock.
    pub(crate) fn plan(&self, key: NodeNumber, session: &SessionState) -> Result<Option<Rc<Bound>>, Error> {
        let plans = self.plans.borrow();
        let Some(kept) = plans.get(&key) else { return Ok(None) };
        let is_valid = kept.database == session.database_id()
            && kept.collation == session.database_collation()
            && kept.options == session.options().of_plans()
            && kept.identity_insert == session.options().identity_insert
            && kept.hidden == session.hidden_temporary_tables()
            && kept.dependencies.are_current(session);
        if !is_valid {
            return Ok(None);
        }
        session.hold_all(&kept.dependencies, kept.bound.is_query())?;
        Ok(kept.dependencies.are_current(session).then(|| kept.bound.clone()))
    }

    /// What the plans take, and the tree if it is the batch's own, in bytes, estimated.
    pub fn bytes(&self) -> u64 {
        let tree = if self.owns_code { self.code.bytes() } else { 0 };
        self.size.borrow().bytes + tree
    }

    /// Keeps a plan that takes so many bytes, if there is memory to keep it.
    pub(crate) fn keep(
        &self,
        key: NodeNumber,
        bound: Rc<Bound>,
        bytes: u64,
        dependencies: Dependencies,
        session: &SessionState,
    ) {
        let bytes = bytes + PLAN_BYTES;
        let mut plans = self.plans.borrow_mut();
        {
            // The former plan of the node is out of date: its room is the new one's.
            let mut size = self.size.borrow_mut();
            size.bytes -= plans.remove(&key).map_or(0, |former| former.bytes);
            let wanted = size.bytes + bytes;
            if size.charge.grow_to(wanted).is_err() {
                return;
            }
            size.bytes = wanted;
        }
        let kept = Kept {
            bound,
            database: session.database().id,
            collation: session.database_collation(),
            options: session.options().of_plans(),
            identity_insert: session.options().identity_insert,
            dependencies,
            hidden: session.hidden_temporary_tables(),
            bytes,
        };
        plans.insert(key, kept);
    }
}
