//! The open units of large values: found through the unit of their rows, and created with the first value.

use super::super::StoreContext;
use super::super::change::{Author, Planned, Subject, damaged, log_and_apply, read, write};
use super::super::ghosts::under_pressure;
use super::super::space::{ExtentId, ObjectRoot, SpaceMap};
use super::pages::{EntryAt, PageCounts, PageMap, TakenPage};
use super::{Readers, Reading};
use crate::buffer::DatabaseStorage;
use crate::error::{Error, Result};
use crate::page::{ObjectId, PageId, PageKind};
use foldhash::fast::RandomState;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use vlf::Lsn;

/// What a unit holds. The numbers are those of `sys.allocation_units`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LargeKind {
    /// Values of `max` types and large objects.
    Lob = 2,
    /// Values of types with a limited length.
    RowOverflow = 3,
}

impl LargeKind {
    /// By the level of a unit's first list.
    pub fn from_level(level: u8) -> Option<LargeKind> {
        match level {
            2 => Some(LargeKind::Lob),
            3 => Some(LargeKind::RowOverflow),
            _ => None,
        }
    }

    /// As `sys.allocation_units.type_desc` has it.
    pub fn name(self) -> &'static str {
        match self {
            LargeKind::Lob => "LOB_DATA",
            LargeKind::RowOverflow => "ROW_OVERFLOW_DATA",
        }
    }
}

/// A unit of large values, open.
pub struct LargeUnit {
    root: ObjectRoot,
    kind: LargeKind,
    map: Mutex<PageMap>,
    /// One thread at a time frees pages and gives extents back; none when the unit is gone.
    upkeep: Mutex<Upkeep>,
}

/// Whether a unit is kept up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Upkeep {
    Open,
    /// Its extents are another's.
    Gone,
}

impl LargeUnit {
    pub(super) fn load(storage: &DatabaseStorage, root: ObjectRoot, kind: LargeKind) -> Result<LargeUnit> {
        // Who gave up what is found given up is not known: nobody who is under way now has to want it.
        let given_up_at = storage.log.end();
        let mut map = PageMap::default();
        let mut list = root.first_iam;
        while !list.is_none() {
            let page = read(storage, list)?;
            list = map.add_list(storage, &page, root.object, given_up_at)?;
        }
        Ok(LargeUnit {
            root,
            kind,
            map: Mutex::new(map),
            upkeep: Mutex::new(Upkeep::Open),
        })
    }

    /// Its extents are given back, or it is read again: what has it open leaves it alone from here on.
    fn leave(&self) {
        *self.upkeep.lock() = Upkeep::Gone;
    }

    pub fn root(&self) -> ObjectRoot {
        self.root
    }

    pub fn kind(&self) -> LargeKind {
        self.kind
    }

    /// Its pages, by purpose.
    pub fn counts(&self) -> PageCounts {
        self.map.lock().counts()
    }

    /// The pages with parts of values.
    pub(super) fn used_pages(&self) -> Vec<PageId> {
        self.map.lock().used_pages()
    }

    /// Takes a free page: one of those there are, one that was given up and may go, or one of a fresh extent. No latch is held.
    pub(super) fn take_page(&self, ctx: &mut StoreContext<'_>) -> Result<TakenPage> {
        under_pressure(ctx, |ctx| self.take_page_now(ctx))
    }

    fn take_page_now(&self, ctx: &mut StoreContext<'_>) -> Result<TakenPage> {
        let (found, may_free) = {
            let mut map = self.map.lock();
            (map.take(), map.has_given_up())
        };
        if let Some(taken) = found {
            return Ok(taken);
        }
        if may_free {
            self.free_given_up(ctx.storage, &ctx.space.large.readers)?;
        }
        let mut map = self.map.lock();
        loop {
            if let Some(taken) = map.take() {
                return Ok(taken);
            }
            let entry = map.next_entry()?;
            let allocated = ctx
                .space
                .allocate_for_large(ctx.storage, ctx.chain, self.root.object, entry)?;
            map.add_extent(allocated.0, allocated.1);
        }
    }

    /// A page that was taken is not used.
    pub(super) fn put_back(&self, page: PageId) {
        self.map.lock().put_back(page);
    }

    pub(super) fn note_given_up(&self, pages: &[PageId], lsn: Lsn) {
        self.map.lock().note_given_up(pages, lsn);
    }

    pub(super) fn note_kept(&self, pages: &[PageId]) {
        self.map.lock().note_kept(pages);
    }

    /// The pages of a value by the entries of their extents.
    pub(super) fn by_extent(&self, pages: Vec<PageId>) -> Result<BTreeMap<EntryAt, Vec<PageId>>> {
        let map = self.map.lock();
        let mut found: BTreeMap<EntryAt, Vec<PageId>> = BTreeMap::new();
        for page in pages {
            let at = map
                .at(ExtentId::of(page))
                .ok_or_else(|| Error::damaged_row("the place of a large value leads out of its unit"))?;
            found.entry(at).or_default().push(page);
        }
        Ok(found)
    }

    /// Makes pages free that were given up and that nobody can want back or read. Answers how many.
    ///
    /// # Errors
    /// 823 and 824 when a list cannot be read. A full log leaves the pages for another time.
    pub(super) fn free_given_up(&self, storage: &DatabaseStorage, readers: &Readers) -> Result<u64> {
        let upkeep = self.upkeep.lock();
        if *upkeep == Upkeep::Gone {
            return Ok(0);
        }
        let due = self.map.lock().given_up_before(readers.horizon(storage));
        let mut freed = 0;
        for (at, (extent, pages)) in due {
            let mut list = write(storage, at.list)?;
            let before = at.read(storage, &list, self.root.object)?;
            let after = before.freeing(pages);
            if before == after {
                continue;
            }
            let bytes = (before.to_bytes(), after.to_bytes());
            let mut planned = [Planned {
                page: &mut list,
                operation: at.set(&bytes.0, &bytes.1),
            }];
            match log_and_apply(
                storage,
                Author::System,
                Subject::structure(self.root.object),
                &mut planned,
            ) {
                Err(error) if error.is_log_full() => return Ok(freed),
                outcome => drop(outcome?),
            }
            drop(list);
            let mut map = self.map.lock();
            for page in super::pages::pages_of(extent, before.used & !after.used) {
                map.put_back(page);
                freed += 1;
            }
        }
        Ok(freed)
    }

    /// Gives extents without pages in use back to their files, until a check wants pages to stay. Answers how many.
    ///
    /// # Errors
    /// 823 and 824 when a list cannot be read. A full log leaves the extents for another time.
    fn give_back_extents(&self, storage: &DatabaseStorage, space: &SpaceMap) -> Result<u64> {
        let mut count = 0;
        loop {
            // Taken for each: who wants a page, or pages to stay, waits no longer than that.
            let upkeep = self.upkeep.lock();
            if *upkeep == Upkeep::Gone {
                return Ok(count);
            }
            let Some(_moves) = space.may_move() else {
                return Ok(count);
            };
            let object = self.root.object;
            let given_back = self
                .map
                .lock()
                .give_back_one(|extent, at| space.give_back(storage, object, extent, (at.list, at.entry)));
            match given_back {
                Ok(true) => count += 1,
                Err(error) if !error.is_log_full() => return Err(error),
                Ok(false) | Err(_) => return Ok(count),
            }
        }
    }
}

/// The space of a unit of large values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LargeSpace {
    pub kind: LargeKind,
    pub root: ObjectRoot,
    pub pages: PageCounts,
}

/// The units beside the unit of a table's rows.
#[derive(Default)]
pub struct UnitsBeside {
    units: Mutex<Vec<Arc<LargeUnit>>>,
    has_any: AtomicBool,
    /// One session at a time makes one.
    making: Mutex<()>,
}

impl UnitsBeside {
    /// Whether there is one.
    pub fn has_any(&self) -> bool {
        self.has_any.load(Ordering::Acquire)
    }

    pub fn all(&self) -> Vec<Arc<LargeUnit>> {
        self.units.lock().clone()
    }

    pub fn of_kind(&self, kind: LargeKind) -> Option<Arc<LargeUnit>> {
        self.units.lock().iter().find(|unit| unit.kind == kind).cloned()
    }

    /// What the pages of their values have as their object.
    pub fn ids(&self) -> Vec<ObjectId> {
        self.units.lock().iter().map(|unit| unit.root.object).collect()
    }

    fn push(&self, unit: Arc<LargeUnit>) {
        self.units.lock().push(unit);
        self.has_any.store(true, Ordering::Release);
    }
}

/// The units of large values of a database that are open.
#[derive(Default)]
pub struct LargeUnits {
    /// By the unit of the rows.
    beside: Mutex<HashMap<ObjectId, Arc<UnitsBeside>, RandomState>>,
    pub(super) readers: Arc<Readers>,
}

impl LargeUnits {
    /// A statement begins to read rows that may have large values.
    pub fn begin_reading(&self, storage: &DatabaseStorage) -> Reading {
        self.readers.begin(storage)
    }

    /// The units beside the one of a table's rows.
    ///
    /// # Errors
    /// 823 and 824 when their lists cannot be read.
    pub fn beside(&self, storage: &DatabaseStorage, rows: ObjectRoot) -> Result<Arc<UnitsBeside>> {
        let mut beside = self.beside.lock();
        if let Some(units) = beside.get(&rows.object) {
            return Ok(units.clone());
        }
        let found = UnitsBeside::default();
        for (root, kind) in units_beside(storage, rows)? {
            found.push(Arc::new(LargeUnit::load(storage, root, kind)?));
        }
        let found = Arc::new(found);
        beside.insert(rows.object, found.clone());
        Ok(found)
    }

    /// A unit that is open, by its id.
    pub(super) fn loaded(&self, object: ObjectId) -> Option<Arc<LargeUnit>> {
        let beside = self.beside.lock();
        let mut units = beside.values().flat_map(|units| units.all());
        units.find(|unit| unit.root.object == object)
    }

    /// The unit for values of a kind, made if there is none, in a filegroup or in that of the rows; `new_unit` gives its id and says in the
    /// boot record that there are units.
    ///
    /// # Errors
    /// 1101, 1105, 9002 for want of space; those of `new_unit`.
    pub fn open_or_make(
        &self,
        ctx: &mut StoreContext<'_>,
        (rows, filegroup): (ObjectRoot, Option<u16>),
        kind: LargeKind,
        new_unit: impl FnOnce() -> Result<u32>,
    ) -> Result<Arc<LargeUnit>> {
        let beside = self.beside(ctx.storage, rows)?;
        if let Some(unit) = beside.of_kind(kind) {
            return Ok(unit);
        }
        let _one_at_a_time = beside.making.lock();
        if let Some(unit) = beside.of_kind(kind) {
            return Ok(unit);
        }
        let object = ObjectId(new_unit()?);
        let filegroup = filegroup.unwrap_or_else(|| ctx.storage.files.filegroup_of(rows.first_iam.file));
        let last = beside.all().last().map_or(rows, |unit| unit.root);
        let root = ctx
            .space
            .create_beside(ctx.storage, ctx.chain, (object, filegroup), kind as u8, last.first_iam)?;
        let unit = Arc::new(LargeUnit::load(ctx.storage, root, kind)?);
        beside.push(unit.clone());
        Ok(unit)
    }

    /// A unit of rows is gone, and those beside it with it.
    pub(in crate::store) fn forget(&self, rows: ObjectId) {
        let units = self.beside.lock().remove(&rows);
        units.iter().flat_map(|units| units.all()).for_each(|unit| unit.leave());
    }

    /// All units are read again when they are next wanted.
    pub(in crate::store) fn forget_all(&self) {
        let units = std::mem::take(&mut *self.beside.lock());
        units
            .values()
            .flat_map(|units| units.all())
            .for_each(|unit| unit.leave());
    }

    fn all(&self) -> Vec<Arc<LargeUnit>> {
        self.beside.lock().values().flat_map(|units| units.all()).collect()
    }

    /// Whether a unit that is open has an extent without pages in use.
    pub fn has_empty_extents(&self) -> bool {
        self.all().iter().any(|unit| unit.map.lock().has_empty())
    }

    /// Makes pages free that were given up, in all units that are open. Answers how many.
    ///
    /// # Errors
    /// 823 and 824 when a list cannot be read.
    pub fn free_given_up(&self, storage: &DatabaseStorage) -> Result<u64> {
        let mut freed = 0;
        for unit in self.all() {
            if unit.map.lock().has_given_up() && !storage.files.is_read_only_file(unit.root.first_iam.file) {
                freed += unit.free_given_up(storage, &self.readers)?;
            }
        }
        Ok(freed)
    }
}

/// The units beside the one of a table's rows, by the links of the first lists.
///
/// # Errors
/// 823 and 824 when a list cannot be read or is none.
pub fn units_beside(storage: &DatabaseStorage, rows: ObjectRoot) -> Result<Vec<(ObjectRoot, LargeKind)>> {
    let mut found: Vec<(ObjectRoot, LargeKind)> = Vec::new();
    let mut list = read(storage, rows.first_iam)?.view().previous();
    while !list.is_none() {
        let page = read(storage, list)?;
        let view = page.view();
        let kind = LargeKind::from_level(view.level()).filter(|_| view.kind() == Some(PageKind::ExtentList));
        // There is one of each kind at most, so a chain that is damaged ends.
        let kind = kind.filter(|kind| found.iter().all(|(_, other)| other != kind));
        let kind =
            kind.ok_or_else(|| damaged(storage, list, "the first list of a unit of large values was expected"))?;
        let root = ObjectRoot {
            object: view.object(),
            first_iam: list,
        };
        found.push((root, kind));
        list = view.previous();
    }
    Ok(found)
}

impl SpaceMap {
    /// Makes pages of large values free that nobody can need, and gives extents back to their files where the boot record says so. Answers
    /// how many pages, and how many extents.
    ///
    /// # Errors
    /// 823 and 824 when a list cannot be read.
    pub fn free_large_values(&self, storage: &DatabaseStorage) -> Result<(u64, u64)> {
        let pages = self.large.free_given_up(storage)?;
        let mut extents = 0;
        if storage.may_free_large_extents.load(Ordering::Relaxed) {
            let all = self.large.all().into_iter();
            for unit in all.filter(|unit| !storage.files.is_read_only_file(unit.root.first_iam.file)) {
                extents += unit.give_back_extents(storage, self)?;
            }
        }
        Ok((pages, extents))
    }

    /// The pages in use of each unit of large values beside the one of a table's rows.
    ///
    /// # Errors
    /// 823 and 824 when a list cannot be read.
    pub(in super::super) fn large_pages(
        &self,
        storage: &DatabaseStorage,
        rows: ObjectRoot,
    ) -> Result<Vec<(ObjectRoot, LargeKind, Vec<PageId>)>> {
        let units = self.large.beside(storage, rows)?.all().into_iter();
        let pages = units.map(|unit| (unit.root, unit.kind, unit.map.lock().used_pages()));
        Ok(pages.collect())
    }

    /// The units of large values beside the one of a table's rows, with their pages.
    ///
    /// # Errors
    /// 823 and 824 when a list cannot be read.
    pub fn large_space(&self, storage: &DatabaseStorage, rows: ObjectRoot) -> Result<Vec<LargeSpace>> {
        let units = self.large.beside(storage, rows)?.all().into_iter();
        let space = units.map(|unit| LargeSpace {
            kind: unit.kind,
            root: unit.root,
            pages: unit.counts(),
        });
        Ok(space.collect())
    }

    /// The roots of some units, each followed by those beside it.
    ///
    /// # Errors
    /// 823 and 824 when a list cannot be read.
    pub fn with_units_beside(&self, storage: &DatabaseStorage, roots: &[ObjectRoot]) -> Result<Vec<ObjectRoot>> {
        let mut all = Vec::with_capacity(roots.len());
        for &root in roots {
            all.push(root);
            all.extend(units_beside(storage, root)?.into_iter().map(|(beside, _)| beside));
        }
        Ok(all)
    }
}
