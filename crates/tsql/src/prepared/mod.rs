//! What a session has ready to be executed: the one home of parsed texts with their plans, plans of modules, and handles.
//!
//! ```text
//! handle (sp_prepare)  -> text and declarations          handles
//! text, declarations   -> Callable                       cache      batches, sp_executesql, sp_execute, EXECUTE of a text
//! module               -> this session's plans of it     cache      procedures and functions; their trees are the instance's
//! Callable             =  CompiledBatch and parameters   callable
//! CompiledBatch        =  statements, variables, plans   batch      a plan is kept with what it was bound against
//! ```
//! A session's statements reach it through `Executor::prepared`, functions of the user through their caller.

mod batch;
mod cache;
mod callable;
mod handles;
mod hasher;
mod parse_only;

pub(crate) use batch::Bound;
pub use batch::{CompiledBatch, compile};
pub use callable::Callable;
pub(crate) use handles::PreparedText;

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use engine::error::{Error, Result};

use crate::failure::Failure;
use crate::modules::{Module, VariableScope};
use cache::StatementCache;
use handles::Handles;

/// A session's texts, modules and handles. See the module.
#[derive(Default)]
pub struct Prepared {
    cache: RefCell<StatementCache>,
    handles: RefCell<Handles>,
    /// An empty batch, from which calls by the client are made.
    empty: OnceCell<Rc<CompiledBatch>>,
}

impl Prepared {
    /// A text ready to be executed: as it was kept, or compiled now.
    ///
    /// # Errors
    /// Syntax errors.
    pub(crate) fn text(
        &self,
        quoted_identifier: bool,
        declarations: &str,
        text: &str,
    ) -> std::result::Result<Rc<Callable>, Box<Failure>> {
        let kept = self.cache.borrow_mut().text(quoted_identifier, declarations, text);
        if let Some(kept) = kept {
            return Ok(kept);
        }
        let callable = Rc::new(Callable::text(text, declarations, quoted_identifier)?);
        let mut cache = self.cache.borrow_mut();
        cache.keep_text(quoted_identifier, declarations, text, callable.clone());
        Ok(callable)
    }

    /// A module with statements, ready to be called by this session.
    ///
    /// # Errors
    /// When it has no statements.
    pub(crate) fn callable(&self, module: &Arc<Module>) -> Result<Callable> {
        let batch = self.cache.borrow_mut().module(module);
        Ok(Callable {
            batch: batch.ok_or_else(|| Error::assertion("a module without statements is called"))?,
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
        let empty = Rc::new(compile("", true, VariableScope::default())?);
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

    /// Lets go of a handle; false when there is none of that number.
    pub(crate) fn unprepare(&self, handle: i32) -> bool {
        self.handles.borrow_mut().remove(handle)
    }

    /// Lets go of all handles.
    pub(crate) fn unprepare_all(&self) {
        self.handles.take();
    }
}
