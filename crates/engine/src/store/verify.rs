//! The checks of `DBCC CHECKDB`: do all parts of an object agree with each other?
//!
//! | check | error |
//! |---|---|
//! | every extent has one owner, and the space maps mark exactly the owned ones | 8904, 8905, 8939 |
//! | every page can be read, has the right kind and owner, and its rows and slots are consistent | 8928, 8939, 2534 |
//! | stub and forwarded row point at each other | 8993, 8994 |
//! | keys rise, levels fall by one, children lie between their separators | 2511, 8931, 8933, 8934 |
//! | each level's pages are linked both ways in key order | 8936, 8976, 8978 |
//! | every formatted page of a tree is reached from its root | 2533 |
//! | every off-row value is complete, and every page of such values belongs to one row | see `large::verify` |
//!
//! Numbers and sentences follow SQL Server's messages if it has one for the fault. The caller keeps writers out, because data that change
//! during a check look damaged.

mod allocation;
mod heap;
mod tree;

use super::change::read;
use super::large::LargeCheck;
use super::space::{ObjectRoot, SpaceMap};
use crate::buffer::{DatabaseStorage, PageRead};
use crate::cancel::{self, STEPS_PER_PAGE};
use crate::page::{ObjectId, PageId, verify_page};
use crate::seams::Work;
use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ObjectKind {
    Heap,
    Tree,
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// SQL Server's message number; all are of severity 16.
    pub number: i32,
    /// The object, 0 when the fault is the database's.
    pub object: ObjectId,
    pub page: PageId,
    /// The sentence.
    pub text: String,
}

/// What a check has seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Faults, in the order found.
    pub findings: Vec<Finding>,
    /// Rows, deleted ones left out.
    pub rows: u64,
    /// Pages with rows.
    pub pages: u64,
    watch: Watch,
}

/// Counts each page looked at; knows nothing of the findings.
#[derive(Debug, Clone, Default)]
struct Watch(Option<Arc<Work>>);

impl PartialEq for Watch {
    fn eq(&self, _: &Watch) -> bool {
        true
    }
}

impl Eq for Watch {}

impl Verdict {
    pub(super) fn add(&mut self, number: i32, object: ObjectId, page: PageId, text: String) {
        self.findings.push(Finding {
            number,
            object,
            page,
            text,
        });
    }

    /// Fixes a page and checks it by itself; `None`, with findings, when it cannot be relied on, and when the request is to stop.
    fn open<'s>(&mut self, storage: &'s DatabaseStorage, object: ObjectId, id: PageId) -> Option<PageRead<'s>> {
        // A check that is asked to stop finds nothing on the pages that are left; no one reads its verdict.
        cancel::spend(STEPS_PER_PAGE).ok()?;
        if cancel::is_asked_to_stop() {
            return None;
        }
        if let Some(work) = &self.watch.0 {
            work.add_done(1);
        }
        let page = match read(storage, id) {
            Ok(page) => page,
            Err(error) => {
                let text = format!(
                    "Object ID {object}: Page {id} could not be processed. {}",
                    error.message
                );
                self.add(8928, object, id, text);
                return None;
            }
        };
        let problems = verify_page(id, &page);
        let is_sound = problems.is_empty();
        for problem in problems {
            let text = format!("Table error: Object ID {object}, page {id}. Test ({problem}) failed.");
            self.add(8939, object, id, text);
        }
        if page.view().object() != object {
            let owner = page.view().object();
            let text = format!(
                "Table error: page {id}, whose header indicates that it is allocated to object ID {owner}, is allocated by object ID {object}."
            );
            self.add(2534, object, id, text);
            return None;
        }
        is_sound.then_some(page)
    }
}

/// Checks the allocation of the whole database. `objects` are all there are.
pub fn verify_allocation(storage: &DatabaseStorage, space: &SpaceMap, objects: &[ObjectRoot]) -> Verdict {
    allocation::verify(storage, space, objects)
}

/// Checks one object; `work` counts its pages.
pub fn verify_object(
    storage: &DatabaseStorage,
    root: ObjectRoot,
    kind: ObjectKind,
    work: Option<&Arc<Work>>,
) -> Verdict {
    verify_with_large(storage, root, kind, work, None)
}

/// As [`verify_object`]; `large` is shown the rows, and says what is wrong with the values outside of them.
pub fn verify_with_large(
    storage: &DatabaseStorage,
    root: ObjectRoot,
    kind: ObjectKind,
    work: Option<&Arc<Work>>,
    large: Option<LargeCheck<'_>>,
) -> Verdict {
    let mut verdict = Verdict {
        watch: Watch(work.cloned()),
        ..Verdict::default()
    };
    let mut large = large;
    match kind {
        ObjectKind::Heap => heap::verify(storage, root, large.as_mut(), &mut verdict),
        ObjectKind::Tree => tree::verify(storage, root, large.as_mut(), &mut verdict),
    }
    if let Some(large) = large {
        large.finish(&mut verdict);
    }
    verdict
}
