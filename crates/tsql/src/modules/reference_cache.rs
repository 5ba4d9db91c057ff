//! What the texts of an instance's modules refer to, by the identity of their definitions, as [`super::cache`] keeps their trees: a text is
//! parsed for `sys.sql_expression_dependencies` once, not at every reading of it.
//!
//! Names alone are kept. What they stand for is looked up in the catalog at every reading, because others may create, drop and rename it.

use std::collections::HashSet;
use std::sync::Arc;

use engine::catalog::{CatalogObject, ModuleDefinition, ObjectDefinition};
use engine::instance::Instance;
use engine::memory::Keeper;
use parking_lot::Mutex;

use super::aging::{AgingCache, Footprint};
use super::names::{has_word, names_in};
use super::references::{NamedReference, references_in};
use super::usage::uses_of_module;

/// Most that the names of an instance's modules take together.
const BYTES_MAX: u64 = 8 << 20;
/// The part of `max server memory` that they take at most.
const MEMORY_SHARE: u64 = 32;
/// What a name takes beside its text.
const NAME_BYTES: usize = 32;

/// What the text of a module refers to.
#[derive(Debug, Default)]
pub(crate) struct ModuleReferences {
    /// The objects, each once, in the order in which the text names them.
    pub(crate) references: Vec<NamedReference>,
    /// Every name in the text, in lower case, where columns are looked for among them: of a schema-bound module.
    pub(crate) names: HashSet<String>,
    pub(crate) is_schema_bound: bool,
}

impl ModuleReferences {
    /// Reads a text; false where it may be read better another time, with more stack or memory.
    fn of(module: &ModuleDefinition) -> (ModuleReferences, bool) {
        let used = uses_of_module(module, &|_| None);
        let is_whole = used.as_ref().is_ok_and(|used| used.is_whole);
        let is_final = is_whole || used.as_ref().is_err_and(|is_final| *is_final);
        let references = match used {
            Ok(used) if is_whole => used.objects.iter().map(|one| one.reference()).collect(),
            // The tokens have every name, however deep the statements are nested.
            _ => references_in(&module.text),
        };
        let is_schema_bound = has_word(&module.text, "SCHEMABINDING");
        let names = match is_schema_bound {
            true => names_in(&module.text).into_iter().collect(),
            false => HashSet::new(),
        };
        let own = ModuleReferences {
            references,
            names,
            is_schema_bound,
        };
        (own, is_final)
    }
}

struct Kept {
    references: Arc<ModuleReferences>,
    /// Its address stays its own.
    _definition: Arc<CatalogObject>,
}

impl Footprint for Kept {
    fn bytes(&self) -> u64 {
        let parts = self.references.references.iter().flat_map(|reference| &reference.parts);
        let names = parts.chain(&self.references.names);
        let bytes: usize = names.map(|name| name.len() + NAME_BYTES).sum();
        (bytes + size_of::<ModuleReferences>() + self.references.references.len() * size_of::<NamedReference>()) as u64
    }
}

/// See the head of this file.
pub(crate) struct ReferenceCache {
    kept: Mutex<AgingCache<usize, Kept>>,
}

impl Keeper for ReferenceCache {
    fn give_up(&self, bytes: u64) {
        // The request for memory may come from this cache itself.
        if let Some(mut kept) = self.kept.try_lock() {
            kept.give_up(bytes);
        }
    }
}

impl ReferenceCache {
    /// The cache of an instance, the same one for all of its sessions.
    pub(crate) fn of(instance: &Instance) -> Arc<ReferenceCache> {
        let share = instance.options.max_server_memory_bytes / MEMORY_SHARE;
        instance.kept_above(|| ReferenceCache {
            kept: Mutex::new(AgingCache::new(share.min(BYTES_MAX))),
        })
    }

    /// What the text of a module refers to; `None` for what is not a module.
    pub(crate) fn references(&self, object: &Arc<CatalogObject>) -> Option<Arc<ModuleReferences>> {
        let ObjectDefinition::Module(module) = &object.definition else {
            return None;
        };
        let key = Arc::as_ptr(object) as usize;
        if let Some(kept) = self.kept.lock().find(&key) {
            return Some(kept.references.clone());
        }
        let (references, is_final) = ModuleReferences::of(module);
        let references = Arc::new(references);
        if is_final {
            let kept = Kept {
                references: references.clone(),
                _definition: object.clone(),
            };
            self.kept.lock().keep(key, kept, 0);
        }
        Some(references)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use engine::errorlog::ErrorLog;
    use engine::instance::InstanceOptions;
    use engine::seams::{Background, Environment, ManualClock};

    fn instance() -> Arc<Instance> {
        let clock = Arc::new(ManualClock::starting_at(1_700_000_000_000_000));
        let env = Environment {
            disk: Arc::new(disk::sim::SimDisk::new(7)),
            clock: clock.clone(),
            background: Background::Inline,
            waits: Arc::default(),
            activity: Arc::default(),
            errorlog: Arc::new(ErrorLog::new(clock)),
        };
        let options = InstanceOptions {
            folder: "/instance".into(),
            server_name: "VLFLAB".to_owned(),
            version: vlf::ServerVersion::V2022,
            policy: engine::log::LogPolicy::native(),
            max_server_memory_bytes: 64 << 20,
            instant_file_initialization: true,
        };
        Instance::start(options, env).unwrap()
    }

    /// A text is parsed at the first reading of its definition; a table has none.
    #[test]
    fn a_second_reading_parses_nothing() {
        let instance = instance();
        let cache = ReferenceCache::of(&instance);
        let objects = instance.database("msdb").unwrap().catalog.objects(0);
        let read = || {
            objects
                .iter()
                .filter_map(|object| cache.references(object))
                .collect::<Vec<_>>()
        };
        let (first, second) = (read(), read());
        let is_module = |object: &&Arc<CatalogObject>| matches!(object.definition, ObjectDefinition::Module(_));
        assert_eq!(first.len(), objects.iter().filter(is_module).count());
        assert!(!first.is_empty() && first.len() < objects.len());
        for (place, (first, second)) in first.iter().zip(&second).enumerate() {
            assert!(
                Arc::ptr_eq(first, second),
                "the text of module {place} was parsed again"
            );
        }
        cache.give_up(u64::MAX);
        assert!(
            !Arc::ptr_eq(&read()[0], &first[0]),
            "a second reading is not told from a first one"
        );
    }
}
