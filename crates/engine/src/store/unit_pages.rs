//! The pages of a heap or index one by one, with their extent lists, for DBCC IND and views of allocated pages.

use super::large::LargeKind;
use super::space::{ExtentId, ObjectRoot, Position, SpaceMap, extents_of};
use crate::buffer::DatabaseStorage;
use crate::error::Result;
use crate::memory::{self, Charge};
use crate::page::PageId;
use std::collections::{HashMap, HashSet};

/// The pages of one allocation unit.
pub struct UnitPages {
    pub root: ObjectRoot,
    /// What large values it holds; `None` where it holds rows.
    pub large: Option<LargeKind>,
    /// Its extent list pages, in their order.
    pub lists: Vec<PageId>,
    /// The other pages in use, each with the list that names its extent.
    pub pages: Vec<(PageId, PageId)>,
    _charge: Charge,
}

impl SpaceMap {
    /// The units of a heap or index: that of its rows, then those of its large values. The caller keeps it from being dropped.
    ///
    /// # Errors
    /// 823 and 824 when a list cannot be read; 701 when there is no memory for the pages.
    pub fn pages_of_units(&self, storage: &DatabaseStorage, root: ObjectRoot) -> Result<Vec<UnitPages>> {
        let space = self.open_object(storage, root)?;
        let _pages_stay = space.pin();
        let (all, ..) = space.page_counts();
        let charge = memory::require(usize::try_from(all).unwrap_or(usize::MAX) * size_of::<(PageId, PageId)>())?;
        let mut in_use = Vec::new();
        let (mut at, end) = (Position { extent: 0, page: 0 }, space.frontier());
        while let Some((page, position)) = space.page_from(at, end) {
            if !space.is_free(position) {
                in_use.push(page);
            }
            at = Position {
                page: position.page + 1,
                ..position
            };
        }
        let mut units = vec![unit(storage, (root, None), in_use, charge)?];
        for (root, kind, in_use) in self.large_pages(storage, root)? {
            let charge = memory::require(in_use.len() * size_of::<(PageId, PageId)>())?;
            units.push(unit(storage, (root, Some(kind)), in_use, charge)?);
        }
        Ok(units)
    }
}

fn unit(
    storage: &DatabaseStorage,
    (root, large): (ObjectRoot, Option<LargeKind>),
    in_use: Vec<PageId>,
    charge: Charge,
) -> Result<UnitPages> {
    let found = extents_of(storage, root)?;
    let mut lists = Vec::with_capacity(found.lists.len());
    let mut list_of: HashMap<ExtentId, PageId> = HashMap::with_capacity(found.extents.len());
    let mut list = root.first_iam;
    for (place, extent) in found.extents.iter().enumerate() {
        if found.lists.binary_search(&place).is_ok() {
            list = extent.page(0);
            lists.push(list);
        }
        list_of.insert(*extent, list);
    }
    let is_list: HashSet<PageId> = lists.iter().copied().collect();
    let pages = in_use.into_iter().filter(|page| !is_list.contains(page));
    let pages = pages.map(|page| {
        (
            page,
            list_of.get(&ExtentId::of(page)).copied().unwrap_or(root.first_iam),
        )
    });
    Ok(UnitPages {
        root,
        large,
        pages: pages.collect(),
        lists,
        _charge: charge,
    })
}
