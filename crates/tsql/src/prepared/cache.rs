//! A session's cache of executed batches: texts by their characters, modules by their identity, each with the plans of its statements.
//! Unused entries age out ([`crate::modules`] has an overview).

use std::borrow::Borrow;
use std::hash::{Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;

use super::batch::CompiledBatch;
use super::callable::Callable;
use super::hasher::OwnKeys;
use crate::modules::{AgingCache, Code, Footprint, Module};

/// A text longer than this is not likely to be sent again as it is.
pub(crate) const TEXT_BYTES_MAX: usize = 256 << 10;
/// What the texts of a session may take together, with their plans, and what its plans of modules may.
const KEPT_BYTES_MAX: u64 = 4 << 20;

impl Footprint for Rc<Callable> {
    fn bytes(&self) -> u64 {
        self.batch.bytes()
    }
}

/// Under what a text means what it does: the database it is run in, and QUOTED_IDENTIFIER.
pub(crate) type Setting = (u16, bool);

/// What a text is known by: its setting, its parameters, itself.
trait Text {
    fn parts(&self) -> (Setting, &str, &str);
}

#[derive(Clone)]
struct OwnText(Setting, Rc<str>, Rc<str>);

impl Text for OwnText {
    fn parts(&self) -> (Setting, &str, &str) {
        (self.0, &self.1, &self.2)
    }
}

impl Text for (Setting, &str, &str) {
    fn parts(&self) -> (Setting, &str, &str) {
        *self
    }
}

impl Hash for dyn Text + '_ {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parts().hash(state);
    }
}

impl PartialEq for dyn Text + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for dyn Text + '_ {}

impl Hash for OwnText {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parts().hash(state);
    }
}

impl PartialEq for OwnText {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for OwnText {}

impl<'t> Borrow<dyn Text + 't> for OwnText {
    fn borrow(&self) -> &(dyn Text + 't) {
        self
    }
}

/// The session's plans of a module. The module is kept so that its address stays its own.
struct OfModule {
    batch: Rc<CompiledBatch>,
    _module: Arc<Module>,
}

impl Footprint for OfModule {
    fn bytes(&self) -> u64 {
        self.batch.bytes()
    }
}

pub(crate) struct StatementCache {
    texts: AgingCache<OwnText, Rc<Callable>, OwnKeys>,
    modules: AgingCache<usize, OfModule, OwnKeys>,
    /// The last text, found without hashing it.
    last: Option<(OwnText, Rc<Callable>)>,
}

impl Default for StatementCache {
    fn default() -> StatementCache {
        StatementCache {
            texts: AgingCache::new(KEPT_BYTES_MAX),
            modules: AgingCache::new(KEPT_BYTES_MAX),
            last: None,
        }
    }
}

impl StatementCache {
    /// A text that was executed before, with parameters of these declarations or none.
    pub(crate) fn text(&mut self, setting: Setting, declarations: &str, text: &str) -> Option<Rc<Callable>> {
        let wanted = (setting, declarations, text);
        if let Some((last, callable)) = &self.last
            && last.parts() == wanted
        {
            return Some(callable.clone());
        }
        let (key, found) = self.texts.find_with_key(&wanted as &dyn Text)?;
        let (key, found) = (key.clone(), found.clone());
        self.last = Some((key, found.clone()));
        Some(found)
    }

    pub(crate) fn keep_text(&mut self, setting: Setting, declarations: &str, text: &str, callable: Rc<Callable>) {
        let bytes = text.len() + declarations.len();
        let key = OwnText(setting, declarations.into(), text.into());
        self.texts.keep(key, callable, bytes as u64);
    }

    /// The session's own side of a module with statements: their plans, entered with the instance by `enter` when it is not there.
    pub(crate) fn module(
        &mut self,
        module: &Arc<Module>,
        enter: impl FnOnce(&Arc<Code>) -> CompiledBatch,
    ) -> Option<Rc<CompiledBatch>> {
        let key = Arc::as_ptr(module) as usize;
        if let Some(kept) = self.modules.find(&key) {
            return Some(kept.batch.clone());
        }
        let batch = Rc::new(enter(module.code()?));
        let kept = OfModule {
            batch: batch.clone(),
            _module: module.clone(),
        };
        self.modules.keep(key, kept, 0);
        Some(batch)
    }
}
