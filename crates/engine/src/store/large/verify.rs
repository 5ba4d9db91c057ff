//! The check of large values: every page in use belongs to one value of one row, and every value is complete.
//!
//! | check | error |
//! |---|---|
//! | the pages of a value exist and add up to its length | 8929 |
//! | a page belongs to one value | 8974 |
//! | a page of a value is marked as in use, and not as given up | 8965 |
//! | a page in use belongs to a value | 8964 |

use super::units::LargeUnit;
use super::{LargeKind, Part, Place, units_beside, walk};
use crate::buffer::DatabaseStorage;
use crate::error::Result;
use crate::page::PageId;
use crate::store::space::{EXTENT_PAGES, ExtentId, ObjectRoot};
use crate::store::verify::Verdict;
use std::collections::HashMap;

/// Finds the places in a row's bytes.
pub type PlacesOf<'c> = &'c dyn Fn(&[u8]) -> Result<PlacesOfRow>;

/// The places in a row, with the unit of each.
pub type PlacesOfRow = Vec<(LargeKind, Vec<u8>)>;

/// A check under way: rows are shown to it one after the other.
pub struct LargeCheck<'c> {
    storage: &'c DatabaseStorage,
    places_of: PlacesOf<'c>,
    units: Vec<Checked>,
    /// Of the page of rows that is being looked at: the row and the place.
    met: Vec<(u16, LargeKind, Vec<u8>)>,
    broken: Vec<u16>,
}

struct Checked {
    root: ObjectRoot,
    kind: LargeKind,
    /// Pages in use, as the lists have it; by extent a bit for each.
    used: HashMap<ExtentId, u8>,
    /// Pages of values that were met.
    seen: HashMap<ExtentId, u8>,
}

fn bit(page: PageId) -> u8 {
    1 << (page.page % EXTENT_PAGES)
}

impl<'c> LargeCheck<'c> {
    /// A check of the units beside the one of a table's rows; `None` when there are none.
    ///
    /// # Errors
    /// 823 and 824 when a list cannot be read.
    pub fn new(
        storage: &'c DatabaseStorage,
        rows: ObjectRoot,
        places_of: PlacesOf<'c>,
    ) -> Result<Option<LargeCheck<'c>>> {
        let mut units = Vec::new();
        for (root, kind) in units_beside(storage, rows)? {
            let mut used: HashMap<ExtentId, u8> = HashMap::new();
            for page in LargeUnit::load(storage, root, kind)?.used_pages() {
                *used.entry(ExtentId::of(page)).or_default() |= bit(page);
            }
            units.push(Checked {
                root,
                kind,
                used,
                seen: HashMap::new(),
            });
        }
        let check = LargeCheck {
            storage,
            places_of,
            units,
            met: Vec::new(),
            broken: Vec::new(),
        };
        Ok((!check.units.is_empty()).then_some(check))
    }

    /// A row of the page that is being looked at.
    pub fn row(&mut self, slot: u16, payload: &[u8]) {
        match (self.places_of)(payload) {
            Ok(places) => self
                .met
                .extend(places.into_iter().map(|(kind, place)| (slot, kind, place))),
            Err(_) => self.broken.push(slot),
        }
    }

    /// The page has been looked at, and is let go.
    pub fn end_of_page(&mut self, page: PageId, verdict: &mut Verdict) {
        for slot in std::mem::take(&mut self.broken) {
            let text = format!("Table error: page {page}, row {slot}. Test (its columns add up) failed.");
            verdict.add(8939, crate::page::ObjectId(0), page, text);
        }
        for (slot, kind, place) in std::mem::take(&mut self.met) {
            self.value((page, slot), kind, &place, verdict);
        }
    }

    fn value(&mut self, (page, slot): (PageId, u16), kind: LargeKind, place: &[u8], verdict: &mut Verdict) {
        let storage = self.storage;
        let Some(unit) = self.units.iter_mut().find(|unit| unit.kind == kind) else {
            let text = format!(
                "Table error: a column of the row at page {page}, slot {slot} lies in a unit {} that its table does not have.",
                kind.name()
            );
            verdict.add(8929, crate::page::ObjectId(0), page, text);
            return;
        };
        let object = unit.root.object;
        let about = format!("Table error: Object ID {object} (type {}).", kind.name());
        let mut pages = Vec::new();
        let walked = match Place::decode(place) {
            Some(place) => walk(storage, &[object], &place, &mut |id, _: Part<'_>| {
                pages.push(id);
                Ok(())
            })
            .map_err(|error| error.message),
            None => Err("its place cannot be read".to_string()),
        };
        if let Err(reason) = walked {
            let text =
                format!("{about} Errors found in off-row data owned by the row at page {page}, slot {slot}: {reason}");
            verdict.add(8929, object, page, text);
        }
        for id in pages {
            verdict.pages += 1;
            let (extent, bit) = (ExtentId::of(id), bit(id));
            let seen = unit.seen.entry(extent).or_default();
            if *seen & bit != 0 {
                let text = format!(
                    "{about} The off-row data node at page {id}, slot 0 is pointed to by page {page}, slot {slot} and by another row."
                );
                verdict.add(8974, object, id, text);
            }
            *seen |= bit;
            if unit.used.get(&extent).is_none_or(|used| used & bit == 0) {
                let text = format!(
                    "{about} The off-row data node at page {id}, slot 0 is referenced by page {page}, slot {slot}, but was not seen in the scan."
                );
                verdict.add(8965, object, id, text);
            }
        }
    }

    /// All rows have been shown.
    pub fn finish(self, verdict: &mut Verdict) {
        for unit in self.units {
            let mut extents: Vec<_> = unit.used.iter().collect();
            extents.sort_unstable();
            for (extent, used) in extents {
                let unseen = used & !unit.seen.get(extent).copied().unwrap_or(0);
                for page in super::pages::pages_of(*extent, unseen) {
                    let object = unit.root.object;
                    let text = format!(
                        "Table error: Object ID {object} (type {}). The off-row data node at page {page}, slot 0 is not referenced.",
                        unit.kind.name()
                    );
                    verdict.add(8964, object, page, text);
                }
            }
        }
    }
}
