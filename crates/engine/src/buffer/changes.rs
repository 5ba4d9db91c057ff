//! Change maps: which extents of the data files were written since the base of differential backups, the last full backup.
//!
//! ```text
//! page 6 or 7 of each 64,000 extents of a data file, kind 16
//!   96 one bit per extent: 1 = written since the base   8096 u64 generation | 8104 guid of the base (16) | 8120 lsn (10)
//! ```
//! SQL Server has its differential changed map in page 6 of such an interval too, with a bit for each extent (SQL Server docs, "Pages and
//! extents architecture guide"). The guid is that of the backup set that is the base. The LSN is the end of the log when the map began:
//! everything logged before it is in the base.
//!
//! **Extents are marked when pages are written**, not when they change, and marks are not logged. An extent is marked before the first byte
//! of one of its pages reaches a file. Changes that recovery would redo need no mark on disk: redo marks the extent of every page in the
//! log, whether or not the page needs redo. So the map on disk only has to cover changes before the start of redo, and is written before
//! the boot record advances that position.
//!
//! **Two copies.** A map is written completely, to page 6 if its generation is even and to page 7 if it is odd. The boot record names the
//! base and the current generation, so a torn map is never used. If the page of an interval does not match the boot record, the interval
//! was added since or is damaged, and all its extents count as written.
//!
//! A database without a base has no map, and its pages are written without marks.
//!
//! **A full backup begins a second map** once its checkpoint is written; it replaces the first map when the set is durable. A change logged
//! before that moment is in the set's log, whose end is read later. A change logged after it is written, and marked, later still.
//!
//! Invariant: a page whose bytes in the file have an LSN at or after the map's is in a marked extent (DBCC CHECKDB checks this with
//! [`ChangeMap::lacks`]).

use super::files::DataFiles;
use crate::error::{Error, Result};
use crate::page::{
    EXTENT_PAGES, HEADER_BYTES, INTERVAL_EXTENTS, ObjectId, PAGE_BYTES, PageBytes, PageId, PageKind, PageOperation,
    PageRef, apply,
};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use vlf::Lsn;

/// The two places of a map in its interval.
const PLACES: [u32; 2] = [6, 7];
const AT_GENERATION: usize = HEADER_BYTES + INTERVAL_EXTENTS as usize / 8;
const AT_GUID: usize = AT_GENERATION + 8;
const AT_SINCE: usize = AT_GUID + 16;
const INTERVAL_WORDS: usize = INTERVAL_EXTENTS as usize / 64;

/// Whether a page is a place of a change map: such a page goes past the pool, and no backup set has one that counts.
pub fn is_change_map(page: PageId) -> bool {
    PLACES.contains(&(page.page % (INTERVAL_EXTENTS * EXTENT_PAGES)))
}

/// Extents, by file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExtentSet(BTreeMap<u16, Vec<u64>>);

impl ExtentSet {
    /// Adds the extent of a page; true when it was not there.
    pub fn insert(&mut self, page: PageId) -> bool {
        let extent = page.page / EXTENT_PAGES;
        let words = self.0.entry(page.file).or_default();
        let (word, bit) = (extent as usize / 64, 1 << (extent % 64));
        if word >= words.len() {
            words.resize(word + 1, 0);
        }
        let is_new = words[word] & bit == 0;
        words[word] |= bit;
        is_new
    }

    /// Whether the extent of a page is one of them.
    pub fn contains(&self, page: PageId) -> bool {
        let extent = page.page / EXTENT_PAGES;
        let words = self.0.get(&page.file);
        let word = words.and_then(|words| words.get(extent as usize / 64));
        word.is_some_and(|word| word >> (extent % 64) & 1 == 1)
    }

    fn words(&self, file: u16, interval: usize) -> &[u64] {
        let words = self.0.get(&file).map_or(&[][..], Vec::as_slice);
        let from = words.len().min(interval * INTERVAL_WORDS);
        &words[from..words.len().min(from + INTERVAL_WORDS)]
    }

    fn put_words(&mut self, file: u16, interval: usize, bits: &[u64]) {
        let words = self.0.entry(file).or_default();
        let from = interval * INTERVAL_WORDS;
        if words.len() < from + bits.len() {
            words.resize(from + bits.len(), 0);
        }
        words[from..from + bits.len()].copy_from_slice(bits);
    }
}

/// Since when extents are marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeBase {
    /// Of the backup set.
    pub guid: [u8; 16],
    /// What was logged before it is in the set.
    pub since: Lsn,
}

struct Kept {
    base: ChangeBase,
    extents: ExtentSet,
    /// The files do not have all of it.
    is_unsaved: bool,
}

/// A map that a backup under way has begun.
struct Begun {
    number: u64,
    since: Lsn,
    extents: ExtentSet,
}

#[derive(Default)]
struct State {
    kept: Option<Kept>,
    begun: Vec<Begun>,
    last_begun: u64,
}

/// The change map of a database, in memory.
#[derive(Default)]
pub struct ChangeMap {
    state: Mutex<State>,
}

/// A map that was begun; forgotten when dropped, unless it took its place by then.
pub struct BegunMap<'m> {
    map: &'m ChangeMap,
    number: u64,
}

impl Drop for BegunMap<'_> {
    fn drop(&mut self) {
        self.map.state.lock().begun.retain(|begun| begun.number != self.number);
    }
}

impl ChangeMap {
    /// Marks the extents of pages that are about to be written, or that redo has met.
    pub(crate) fn mark(&self, pages: impl Iterator<Item = PageId>) {
        let mut state = self.state.lock();
        let State { kept, begun, .. } = &mut *state;
        if kept.is_none() && begun.is_empty() {
            return;
        }
        for page in pages {
            if let Some(kept) = kept {
                kept.is_unsaved |= kept.extents.insert(page);
            }
            begun.iter_mut().for_each(|begun| {
                begun.extents.insert(page);
            });
        }
    }

    /// Begins another map. `log_end` tells where the log ends: no page with a change from there on is written before marks are made.
    pub fn begin(&self, log_end: impl FnOnce() -> Lsn) -> BegunMap<'_> {
        let mut state = self.state.lock();
        let since = log_end();
        state.last_begun += 1;
        let number = state.last_begun;
        state.begun.push(Begun {
            number,
            since,
            extents: ExtentSet::default(),
        });
        BegunMap { map: self, number }
    }

    /// From now on extents are marked since this base alone; without one not at all.
    pub fn keep(&self, base: Option<ChangeBase>) {
        self.state.lock().kept = base.map(|base| Kept {
            base,
            extents: ExtentSet::default(),
            is_unsaved: true,
        });
    }

    /// The base, and the extents written since; `None` without a base.
    pub fn changed(&self) -> Option<(ChangeBase, ExtentSet)> {
        let state = self.state.lock();
        state.kept.as_ref().map(|kept| (kept.base, kept.extents.clone()))
    }

    /// Whether a page that was just read from its file, with this LSN, should be in a marked extent and is not.
    pub fn lacks(&self, page: PageId, lsn: Lsn) -> bool {
        let state = self.state.lock();
        let kept = state.kept.as_ref();
        kept.is_some_and(|kept| lsn >= kept.base.since && !kept.extents.contains(page))
    }
}

impl DataFiles {
    /// Reads the map that the boot record names. What the files do not have of it counts as written.
    pub fn load_changes(&self, guid: [u8; 16], generation: u64) {
        let mut extents = ExtentSet::default();
        let mut since = Lsn::MAX;
        for file in self.file_ids() {
            let page_count = self.page_count(file);
            for interval in 0..intervals(page_count) {
                let id = map_page(file, interval, generation);
                match self.read_map(id, page_count, (guid, generation)) {
                    Some((bits, of_page)) => {
                        extents.put_words(file, interval, &bits);
                        since = since.min(of_page);
                    }
                    None => extents.put_words(file, interval, &[u64::MAX; INTERVAL_WORDS]),
                }
            }
        }
        self.changes().state.lock().kept = Some(Kept {
            base: ChangeBase { guid, since },
            extents,
            is_unsaved: false,
        });
    }

    fn read_map(&self, id: PageId, page_count: u32, of: ([u8; 16], u64)) -> Option<(Vec<u64>, Lsn)> {
        let page = (id.page < page_count).then(|| self.read_page(id).ok()).flatten()?;
        let is_map = PageRef::new(&page).kind() == Some(PageKind::ChangeMap);
        let generation = u64::from_le_bytes(*page[AT_GENERATION..].first_chunk()?);
        if !is_map || (*page[AT_GUID..].first_chunk::<16>()?, generation) != of {
            return None;
        }
        let (words, _) = page[HEADER_BYTES..AT_GENERATION].as_chunks::<8>();
        let bits = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        Some((bits, Lsn::read(&page[..], AT_SINCE)?))
    }

    /// Writes the map if the files do not have all of it. Answers the generation that they have then, for the boot record; `current` is
    /// the one that it names. Nobody else may write it meanwhile.
    ///
    /// # Errors
    /// 823.
    pub fn save_changes(&self, current: u64) -> Result<u64> {
        let (base, extents) = {
            let mut state = self.changes().state.lock();
            match &mut state.kept {
                Some(kept) if kept.is_unsaved => {
                    kept.is_unsaved = false;
                    (kept.base, kept.extents.clone())
                }
                _ => return Ok(current),
            }
        };
        let saved = self.write_map(base, &extents, current + 1);
        if saved.is_err()
            && let Some(kept) = &mut self.changes().state.lock().kept
        {
            kept.is_unsaved = true;
        }
        saved.map(|()| current + 1)
    }

    /// Writes the map that a backup has begun, as that of its set, and then has it take the place of the one before. `store` makes the
    /// boot record name it, by the generation; when that fails the one before stays.
    ///
    /// # Errors
    /// 823, and those of `store`.
    pub fn adopt_changes(
        &self,
        begun: &BegunMap<'_>,
        guid: [u8; 16],
        current: u64,
        store: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<()> {
        let is_meant = |one: &&Begun| one.number == begun.number;
        let found = {
            let state = self.changes().state.lock();
            let found = state.begun.iter().find(is_meant);
            found.map(|begun| (begun.since, begun.extents.clone()))
        };
        let (since, extents) = found.ok_or_else(|| Error::assertion("a change map was begun and is lost"))?;
        let base = ChangeBase { guid, since };
        self.write_map(base, &extents, current + 1)?;
        store(current + 1)?;
        let mut state = self.changes().state.lock();
        if let Some(begun) = state.begun.iter_mut().find(|one| one.number == begun.number) {
            let extents = std::mem::take(&mut begun.extents);
            state.kept = Some(Kept {
                base,
                extents,
                // Of what was marked since it was written the files have nothing.
                is_unsaved: true,
            });
        }
        Ok(())
    }

    fn write_map(&self, base: ChangeBase, extents: &ExtentSet, generation: u64) -> Result<()> {
        for file in self.file_ids() {
            let page_count = self.page_count(file);
            for interval in 0..intervals(page_count) {
                let id = map_page(file, interval, generation);
                // A file that ends before it has only pages without an owner there.
                if id.page < page_count {
                    let mut page = encode(id, extents.words(file, interval), (base, generation))?;
                    self.write_page(id, &mut page)?;
                }
            }
        }
        Ok(())
    }
}

fn intervals(page_count: u32) -> usize {
    page_count.div_ceil(INTERVAL_EXTENTS * EXTENT_PAGES) as usize
}

fn map_page(file: u16, interval: usize, generation: u64) -> PageId {
    let place = PLACES[(generation % 2) as usize];
    PageId::new(file, interval as u32 * INTERVAL_EXTENTS * EXTENT_PAGES + place)
}

fn encode(id: PageId, bits: &[u64], (base, generation): (ChangeBase, u64)) -> Result<Box<PageBytes>> {
    let mut page: Box<PageBytes> = Box::new([0; PAGE_BYTES]);
    let format = PageOperation::Format {
        kind: PageKind::ChangeMap,
        level: 0,
        object: ObjectId(0),
        next: PageId::NONE,
        previous: PageId::NONE,
    };
    apply(id, &mut page, &format, Lsn::ZERO).map_err(|found| Error::assertion(found.0))?;
    let (words, _) = page[HEADER_BYTES..AT_GENERATION].as_chunks_mut::<8>();
    words
        .iter_mut()
        .zip(bits)
        .for_each(|(place, word)| *place = word.to_le_bytes());
    page[AT_GENERATION..AT_GUID].copy_from_slice(&generation.to_le_bytes());
    page[AT_GUID..AT_SINCE].copy_from_slice(&base.guid);
    page[AT_SINCE..AT_SINCE + 10].copy_from_slice(&base.since.to_bytes());
    Ok(page)
}
