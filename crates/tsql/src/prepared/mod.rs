//! A session's prepared batches: the only place for parsed texts with their plans, plans of modules, and handles.
//!
//! ```text
//! handle (sp_prepare)  -> text and declarations          handles
//! text, declarations   -> Callable                       cache      batches, sp_executesql, sp_execute, EXECUTE of a text
//! module               -> this session's plans of it     cache      procedures and functions; their trees are the instance's
//! Callable             =  CompiledBatch and parameters   callable
//! CompiledBatch        =  statements, variables, plans   batch      a plan is kept with the versions it was bound against
//! statement of a batch -> Template: a batch and values   template   parameters in place of constants
//! ```
//! Texts, modules and their plans belong to entries of the instance's plan cache ([`crate::plan_cache`]), which all sessions share. A
//! session keeps lock-free references to them, and its private plans.
//!
//! A session's statements reach it through `Executor::prepared`, user-defined functions through their caller.

mod batch;
mod cache;
mod callable;
mod handles;
mod hasher;
mod parse_only;
mod shown;
mod template;
mod uses;

pub use batch::CompiledBatch;
pub(crate) use batch::compile;
pub(crate) use batch::{Bound, Planned};
pub use callable::Callable;
pub(crate) use handles::PreparedText;
pub(crate) use template::Template;
pub(crate) use uses::PlanUses;

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use engine::database::Database;
use engine::error::{Error, Result};
use engine::instance::Instance;

use crate::failure::Failure;
use crate::modules::{Code, Module, UserTypes, VariableScope};
use crate::plan_cache::{CachedPlan, PlanCache, PlanKey};
use crate::state::SessionState;
use cache::{StatementCache, TEXT_BYTES_MAX};
use handles::Handles;

/// A session's texts, modules and handles. See the module.
pub struct Prepared {
    cache: RefCell<StatementCache>,
    /// What all sessions have prepared.
    plans: Arc<PlanCache>,
    handles: RefCell<Handles>,
    /// An empty batch, from which calls by the client are made.
    empty: OnceCell<Rc<CompiledBatch>>,
}

impl Prepared {
    /// Nothing yet, for a session of an instance.
    pub(crate) fn new(instance: &Instance) -> Prepared {
        Prepared {
            cache: RefCell::default(),
            plans: PlanCache::of(instance),
            handles: RefCell::default(),
            empty: OnceCell::new(),
        }
    }

    /// A text ready to be executed by a session as it is: as it was kept, or compiled now.
    ///
    /// # Errors
    /// Syntax errors.
    pub(crate) fn text(
        &self,
        session: &SessionState,
        declarations: &str,
        text: &str,
    ) -> std::result::Result<Rc<Callable>, Box<Failure>> {
        let quoted_identifier = session.options().quoted_identifier;
        let setting = (session.database_id(), quoted_identifier);
        let kept = self.cache.borrow_mut().text(setting, declarations, text);
        if let Some(kept) = kept {
            kept.batch.use_once();
            return Ok(kept);
        }
        let database = session.database();
        let types = UserTypes::of(&database, session.id, session.version());
        if text.len() > TEXT_BYTES_MAX {
            return Callable::text(text, declarations, quoted_identifier, types, None).map(Rc::new);
        }
        let key = PlanKey::Text {
            database: setting.0,
            quoted_identifier,
            declarations: declarations.into(),
            text: text.into(),
        };
        let callable = Callable::text(text, declarations, quoted_identifier, types, Some((&self.plans, key)))?;
        let callable = Rc::new(callable);
        if !callable.batch.scope.user_types().is_empty() {
            return Ok(callable);
        }
        callable.batch.use_once();
        let mut cache = self.cache.borrow_mut();
        cache.keep_text(setting, declarations, text, callable.clone());
        Ok(callable)
    }

    /// A module of a database with statements, ready to be called by this session.
    ///
    /// # Errors
    /// When it has no statements.
    pub(crate) fn callable(&self, module: &Arc<Module>, database: &Database) -> Result<Callable> {
        let enter = |code: &Arc<Code>| {
            let key = PlanKey::module(module);
            let make = |number| CachedPlan::of_module(number, module, code.clone(), database.id);
            let entry = self.plans.enter(&key, make);
            CompiledBatch::of(code.clone()).entered(&self.plans, entry)
        };
        let batch = self.cache.borrow_mut().module(module, enter);
        let batch = batch.ok_or_else(|| Error::assertion("a module without statements is called"))?;
        batch.use_once();
        Ok(Callable {
            batch,
            parameters: module.parameters.clone(),
        })
    }

    /// A batch without statements.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub(crate) fn empty_batch(&self) -> std::result::Result<Rc<CompiledBatch>, Box<Failure>> {
        if let Some(empty) = self.empty.get() {
            return Ok(empty.clone());
        }
        let empty = Rc::new(compile("", true, VariableScope::default(), UserTypes::none())?);
        Ok(self.empty.get_or_init(|| empty).clone())
    }

    /// Prepares a text; answers its handle.
    ///
    /// # Errors
    /// 701 when there is no memory to keep it.
    pub(crate) fn prepare(&self, text: PreparedText) -> Result<i32> {
        self.handles.borrow_mut().add(text)
    }

    /// The text of a handle.
    pub(crate) fn by_handle(&self, handle: i32) -> Option<PreparedText> {
        self.handles.borrow().find(handle).cloned()
    }

    /// Releases a handle; false if there is no such number.
    pub(crate) fn unprepare(&self, handle: i32) -> bool {
        self.handles.borrow_mut().remove(handle)
    }

    /// Releases all handles.
    pub(crate) fn unprepare_all(&self) {
        self.handles.take();
    }
}
