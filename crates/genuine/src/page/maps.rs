//! Maps of allocation: a bit for each extent, or a byte for each page.
//!
//! ```text
//! GAM, SGAM, IAM, differential map, map of minimally logged extents: two records
//! 96                         136             142                190          192      194                        8184
//! +--------------------------+---------------+------------------+------------+--------+--------------------------+
//! | record 0: its header,    | IAM: first    | IAM: 8 single    | ...        | header | record 1: one bit an     |
//! | IAM: next, sequence ...  | page covered  | pages, u32, u16  |            | of 1   | extent, lowest bit first |
//! +--------------------------+---------------+------------------+------------+--------+--------------------------+
//! ```
//!
//! A map covers 63,904 extents (4 GB). A bit of a GAM is 1 while its extent is free; of an SGAM, while it is a mixed extent with a free
//! page; of an IAM, while the extent belongs to the allocation unit. (Randal, "Inside the Storage Engine: GAM, SGAM, PFS and other
//! allocation maps"; the offsets are measured.)
//!
//! The pages of these maps: PFS at page 1 and then at every multiple of 8,088; GAM at 2 and SGAM at 3, then at every multiple of 511,232 and
//! the page after it; the differential map 6 pages behind page 0 and each of these multiples, the map of minimally logged extents behind it.
//! Behind the first stretch of a file the extents of these pages are free by the GAM until a table gets the rest of them, and
//! a backup has them all the same (measured: 16 PFS pages in each of two backups of files of 1 GB, SQL Server 2016).
//!
//! A byte of a PFS page: 0x40 allocated, 0x20 in a mixed extent, 0x10 IAM page, 0x08 has ghosts, the lowest three bits how full it is.

use super::{EXTENT_PAGES, Page, PageId, PageKind, PageSource};
use crate::fault::{Fault, Result};

/// Extents that one map covers.
pub const MAP_EXTENTS: u32 = 63_904;
/// Pages that one map covers.
pub const MAP_PAGES: u32 = MAP_EXTENTS * EXTENT_PAGES;
/// Pages that one PFS page covers.
pub const PFS_PAGES: u32 = 8_088;

/// Where the differential map lies in what it covers.
const DIFFERENTIAL_MAP_PAGE: u32 = 6;

/// Where the two records of a map begin.
pub(crate) const RECORD_OFFSET: usize = 96;
pub(crate) const BITMAP_RECORD_OFFSET: usize = 190;
pub(crate) const FIRST_COVERED_OFFSET: usize = 136;
const SINGLE_PAGES_OFFSET: usize = 142;
const SINGLE_PAGES: usize = 8;
const BITMAP_OFFSET: usize = 194;
const PFS_OFFSET: usize = 100;

/// The bitmap of a map page.
fn bit(page: &Page, extent_in_map: u32) -> bool {
    let at = BITMAP_OFFSET + (extent_in_map / 8) as usize;
    page.bytes()
        .get(at)
        .is_some_and(|byte| byte >> (extent_in_map % 8) & 1 == 1)
}

/// The GAM page that covers `page`.
pub fn gam_page_of(page: PageId) -> PageId {
    match page.page / MAP_PAGES {
        0 => PageId::new(page.file, 2),
        interval => PageId::new(page.file, interval * MAP_PAGES),
    }
}

/// The PFS page that covers `page`.
pub fn pfs_page_of(page: PageId) -> PageId {
    match page.page / PFS_PAGES {
        0 => PageId::new(page.file, 1),
        interval => PageId::new(page.file, interval * PFS_PAGES),
    }
}

/// Whether a map has its place on `page`, in any file: such a page is in use, whatever the GAM says of its extent.
pub fn is_place_of_map(page: PageId) -> bool {
    /// GAM, SGAM, differential map, map of minimally logged extents, from the beginning of a stretch on.
    const IN_STRETCH: [u32; 4] = [0, 1, DIFFERENTIAL_MAP_PAGE, DIFFERENTIAL_MAP_PAGE + 1];
    let is_later_stretch = page.page >= MAP_PAGES;
    page == pfs_page_of(page)
        || page == gam_page_of(page)
        || is_later_stretch && IN_STRETCH.contains(&(page.page % MAP_PAGES))
}

/// A page of the map that says which extents are allocated.
pub struct Gam(Page);

impl Gam {
    /// The GAM that covers `page`.
    ///
    /// # Errors
    /// It cannot be read, or another kind of page is in its place.
    pub fn covering(source: &dyn PageSource, page: PageId) -> Result<Gam> {
        let id = gam_page_of(page);
        read_kind(source, id, PageKind::Gam).map(Gam)
    }

    /// The extent of `page`, which this map covers, is allocated.
    pub fn is_allocated(&self, page: PageId) -> bool {
        !bit(&self.0, page.page % MAP_PAGES / EXTENT_PAGES)
    }
}

/// A page of the map that says which extents have changed since the last full backup.
pub struct DifferentialMap(Page);

impl DifferentialMap {
    /// The differential map that covers `page`.
    ///
    /// # Errors
    /// It cannot be read, or another kind of page is in its place.
    pub fn covering(source: &dyn PageSource, page: PageId) -> Result<DifferentialMap> {
        let id = PageId::new(page.file, page.page / MAP_PAGES * MAP_PAGES + DIFFERENTIAL_MAP_PAGE);
        read_kind(source, id, PageKind::DifferentialMap).map(DifferentialMap)
    }

    /// The extent of `page`, which this map covers, has changed.
    pub fn is_changed(&self, page: PageId) -> bool {
        bit(&self.0, page.page % MAP_PAGES / EXTENT_PAGES)
    }
}

/// A page that says of each page whether it is allocated.
pub struct Pfs(Page);

impl Pfs {
    /// The PFS page that covers `page`.
    ///
    /// # Errors
    /// It cannot be read, or another kind of page is in its place.
    pub fn covering(source: &dyn PageSource, page: PageId) -> Result<Pfs> {
        read_kind(source, pfs_page_of(page), PageKind::Pfs).map(Pfs)
    }

    /// What it says of `page`, which it covers.
    pub fn byte(&self, page: PageId) -> PfsByte {
        let at = PFS_OFFSET + (page.page % PFS_PAGES) as usize;
        PfsByte(self.0.bytes().get(at).copied().unwrap_or(0))
    }
}

/// What a PFS page says of one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PfsByte(pub u8);

impl PfsByte {
    /// The page is allocated.
    pub fn is_allocated(self) -> bool {
        self.0 & 0x40 != 0
    }
}

/// One page of the chain of maps that says which pages belong to an allocation unit.
pub struct Iam(Page);

impl Iam {
    /// The IAM page `id`.
    ///
    /// # Errors
    /// It cannot be read, or another kind of page is in its place.
    pub fn read(source: &dyn PageSource, id: PageId) -> Result<Iam> {
        read_kind(source, id, PageKind::Iam).map(Iam)
    }

    /// The next IAM page of the allocation unit.
    pub fn next(&self) -> Option<PageId> {
        self.0.next()
    }

    /// It maps the pages of the allocation unit `unit`.
    pub fn belongs_to(&self, unit: u64) -> bool {
        self.0.belongs_to(unit)
    }

    /// The single pages in mixed extents. Only the first IAM page of a unit has any.
    pub fn single_pages(&self) -> impl Iterator<Item = PageId> + '_ {
        (0..SINGLE_PAGES)
            .filter_map(|slot| PageId::read(self.0.bytes(), SINGLE_PAGES_OFFSET + 6 * slot))
            .filter(|page| !page.is_none())
    }

    /// The first pages of the extents, in the order of the file.
    pub fn extents(&self) -> impl Iterator<Item = PageId> + '_ {
        let first = PageId::read(self.0.bytes(), FIRST_COVERED_OFFSET).unwrap_or_default();
        (0..MAP_EXTENTS)
            .filter(|extent| bit(&self.0, *extent))
            .filter_map(move |extent| {
                let page = first.page.checked_add(extent * EXTENT_PAGES)?;
                Some(PageId::new(first.file, page))
            })
    }
}

fn read_kind(source: &dyn PageSource, id: PageId, kind: PageKind) -> Result<Page> {
    let page = Page::read(source, id)?;
    match page.kind() == kind {
        true => Ok(page),
        false => Err(Fault::of_page(
            id,
            format!("{kind:?} was expected here, and it is {:?}", page.kind()),
        )),
    }
}
