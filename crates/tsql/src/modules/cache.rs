//! The modules of an instance, by the identity of their definitions.

use std::sync::Arc;

use engine::catalog::{CatalogObject, ObjectDefinition};
use engine::error::{Error, Result};
use engine::instance::Instance;
use engine::memory::Keeper;
use parking_lot::Mutex;

use super::aging::{AgingCache, Footprint};
use super::compile::Module;
use super::user_types::UserTypes;

/// Most that the trees of an instance's modules take together.
const BYTES_MAX: u64 = 16 << 20;
/// The part of `max server memory` that they take at most.
const MEMORY_SHARE: u64 = 16;

/// A module with the definition it was made of, which keeps the definition's address its own.
struct Kept {
    module: Arc<Module>,
    _definition: Arc<CatalogObject>,
}

impl Footprint for Kept {
    fn bytes(&self) -> u64 {
        self.module.bytes()
    }
}

/// See [`crate::modules`].
pub(crate) struct ModuleCache {
    kept: Mutex<AgingCache<usize, Kept>>,
}

impl Keeper for ModuleCache {
    fn give_up(&self, bytes: u64) {
        // The request for memory may come from this cache itself.
        if let Some(mut kept) = self.kept.try_lock() {
            kept.give_up(bytes);
        }
    }
}

impl ModuleCache {
    /// The cache of an instance, the same one for all of its sessions.
    pub(crate) fn of(instance: &Instance) -> Arc<ModuleCache> {
        let share = instance.options.max_server_memory_bytes / MEMORY_SHARE;
        instance.kept_above(|| ModuleCache {
            kept: Mutex::new(AgingCache::new(share.min(BYTES_MAX))),
        })
    }

    /// The module of a definition, parsed if it is not cached; `types` are those of its database.
    ///
    /// # Errors
    /// Those of a text that does not parse; 701 when there is no memory for its tree.
    pub(crate) fn module(&self, object: &Arc<CatalogObject>, types: UserTypes<'_>) -> Result<Arc<Module>> {
        let key = Arc::as_ptr(object) as usize;
        if let Some(kept) = self.kept.lock().find(&key) {
            return Ok(kept.module.clone());
        }
        let ObjectDefinition::Module(definition) = &object.definition else {
            return Err(Error::assertion("a module that is none"));
        };
        // Two sessions may parse the same text at once; the one that comes second is kept.
        let module = Arc::new(Module::parse(definition, types)?);
        let kept = Kept {
            module: module.clone(),
            _definition: object.clone(),
        };
        self.kept.lock().keep(key, kept, 0);
        Ok(module)
    }
}
