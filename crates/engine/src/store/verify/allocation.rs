//! Extents: owned once, and marked exactly when owned.

use super::Verdict;
use crate::buffer::DatabaseStorage;
use crate::page::{ObjectId, PageId};
use crate::store::large::units_beside;
use crate::store::space::{ExtentId, ObjectRoot, SpaceMap, extents_of};
use std::collections::BTreeMap;

pub fn verify(storage: &DatabaseStorage, space: &SpaceMap, objects: &[ObjectRoot]) -> Verdict {
    let mut verdict = Verdict::default();
    let mut owners: BTreeMap<ExtentId, ObjectId> = BTreeMap::new();
    for root in with_units_beside(storage, objects, &mut verdict) {
        match extents_of(storage, root) {
            Ok(lists) => {
                let filegroup = storage.files.filegroup_of(root.first_iam.file);
                for extent in lists.extents {
                    if storage.files.filegroup_of(extent.file) != filegroup {
                        note_stray(&mut verdict, extent, root.object);
                    }
                    note_owner(&mut verdict, &mut owners, extent, root.object);
                }
            }
            Err(error) => {
                let page = root.first_iam;
                let text = format!(
                    "Object ID {}: Page {page} could not be processed. {}",
                    root.object, error.message
                );
                verdict.add(8928, root.object, page, text);
            }
        }
    }
    compare_maps(storage, space, &owners, &mut verdict);
    verdict
}

/// Some units, each followed by those of large values beside it.
fn with_units_beside(storage: &DatabaseStorage, objects: &[ObjectRoot], verdict: &mut Verdict) -> Vec<ObjectRoot> {
    let mut all = Vec::with_capacity(objects.len());
    for &root in objects {
        all.push(root);
        match units_beside(storage, root) {
            Ok(beside) => all.extend(beside.into_iter().map(|(root, _)| root)),
            Err(error) => {
                let text = format!(
                    "Object ID {}: The units of large values beside page {} could not be found. {}",
                    root.object, root.first_iam, error.message
                );
                verdict.add(8928, root.object, root.first_iam, text);
            }
        }
    }
    all
}

/// An extent in another filegroup than the first list of its object.
fn note_stray(verdict: &mut Verdict, extent: ExtentId, object: ObjectId) {
    let page = extent.page(0);
    let text = format!(
        "Table error: Object ID {object}, page {page}. Test (the extent is in the filegroup of its object) failed."
    );
    verdict.add(8939, object, page, text);
}

fn note_owner(verdict: &mut Verdict, owners: &mut BTreeMap<ExtentId, ObjectId>, extent: ExtentId, object: ObjectId) {
    let page = extent.page(0);
    if extent.is_reserved() {
        let text = format!(
            "Table error: Object ID {object}, page {page}. Test (the extent belongs to the file itself) failed."
        );
        verdict.add(8939, object, page, text);
    }
    if let Some(other) = owners.insert(extent, object) {
        let text = format!("Extent {page} is allocated by more than one allocation object: {other} and {object}.");
        verdict.add(8904, object, page, text);
    }
}

/// Compares the owners with the space maps on their pages, and those with their copy in memory.
fn compare_maps(
    storage: &DatabaseStorage,
    space: &SpaceMap,
    owners: &BTreeMap<ExtentId, ObjectId>,
    verdict: &mut Verdict,
) {
    let database = ObjectId(0);
    let marked = match SpaceMap::open(storage) {
        Ok(on_pages) => on_pages.used_extents(),
        Err(error) => {
            let text = format!("A space map could not be processed. {}", error.message);
            verdict.add(8928, database, PageId::NONE, text);
            return;
        }
    };
    if marked != space.used_extents() {
        let text = "Table error: space maps. Test (pages and memory agree) failed.".to_string();
        verdict.add(8939, database, PageId::NONE, text);
    }
    let marked: std::collections::BTreeSet<ExtentId> = marked.into_iter().collect();
    for extent in marked.iter().filter(|extent| !owners.contains_key(extent)) {
        let page = extent.page(0);
        let text = format!("Extent {page} is marked allocated in the GAM, but no IAM has allocated it.");
        verdict.add(8905, database, page, text);
    }
    for (extent, object) in owners.iter().filter(|(extent, _)| !marked.contains(extent)) {
        let page = extent.page(0);
        let text = format!(
            "Table error: Object ID {object}, page {page}. Test (its extent is marked allocated in the GAM) failed."
        );
        verdict.add(8939, *object, page, text);
    }
}
