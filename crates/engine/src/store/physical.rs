//! How heaps and trees lie in their pages: what `sys.dm_db_index_physical_stats` tells.
//!
//! | | pages of a level of a tree | pages of a heap |
//! |---|---|---|
//! | in which order | that of the keys | that of the file |
//! | a fragment | pages that lie one behind another | extents that do |
//! | out of order | a page whose successor is not the next one of its level in the file | an extent behind which another one's lies |
//!
//! Each file is judged by itself: "measured as a percentage and takes into account multiple files" (sql-docs,
//! "sys.dm_db_index_physical_stats", `avg_fragmentation_in_percent`). So extents that files take in turns are no fragments.
//!
//! A level is walked twice. The first walk marks its pages, a bit each by file: 16 MB for a terabyte. The second one goes through them in
//! order, and reads them if their contents are wanted. The leaves of a tree are known from the branches above them, so that nobody has
//! to read them to know how they lie. Where all leaves are read the second walk follows their links: a row that a split moves to the
//! right while it walks is met once.
//!
//! Invariant: at most one page is latched at a time, and one that others change meanwhile is seen as it is then. Pages are never freed
//! while their tree or heap is there, which the caller keeps so by a lock. So a walk ends: it follows no more pages than were handed
//! out when the level's walk ended.

use super::change::{foreign, read};
use super::heap::Heap;
use super::row::{HeapRow, is_ghost, parse_heap_row};
use super::space::{EXTENT_PAGES, Position};
use crate::buffer::{DatabaseStorage, PageRead};
use crate::cancel;
use crate::error::Result;
use crate::memory::{self, Charge};
use crate::page::{HEADER_BYTES, PAGE_BYTES, PageId, PageKind, PageRef};

/// Bytes of a page that rows and their slots can take.
const PAGE_SPACE_BYTES: usize = PAGE_BYTES - HEADER_BYTES;
/// With fewer pages a sample is all of them (sql-docs, "sys.dm_db_index_physical_stats").
const SAMPLED_PAGES_MIN: u64 = 10_000;
/// Of more pages, one in so many.
const SAMPLED_EVERY: u64 = 100;

/// How closely pages are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PhysicalMode {
    /// No page with rows is read: the order of leaves comes from their branches, that of a heap from its extents.
    Limited,
    /// Leaves, a sample of them where there are many.
    Sampled,
    /// All pages of all levels.
    Detailed,
}

/// What the pages looked at hold. Of a sample, counts are those of the sample times what it stands for.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PageContents {
    /// Rows that are not deleted; of a heap their stubs as well.
    pub rows: u64,
    /// Rows that are, and are kept until nobody can undo that.
    pub ghosts: u64,
    /// Rows that have moved to another page of their heap.
    pub forwarded: u64,
    /// Bytes of the shortest row, as it is stored.
    pub row_bytes_min: usize,
    /// Bytes of the longest.
    pub row_bytes_max: usize,
    /// Bytes of all rows.
    pub row_bytes: u64,
    /// Share of the pages' space that is in use, 0 to 1.
    pub used_share: f64,
}

/// A level of a tree, or a heap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PhysicalLevel {
    /// Height above the leaves.
    pub level: u8,
    /// Its pages.
    pub pages: u64,
    /// See the module; `None` where only a sample of a heap was looked at.
    pub fragments: Option<u64>,
    /// Share of pages, of a heap of extents, that are out of order, 0 to 1; `None` as above.
    pub out_of_order: Option<f64>,
    /// What the pages hold, if they were read.
    pub contents: Option<PageContents>,
}

/// A tree or heap.
#[derive(Debug, Clone, PartialEq)]
pub struct Physical {
    /// Levels of the tree, 1 for a heap.
    pub depth: u8,
    /// Leaves first; only these unless all were asked for.
    pub levels: Vec<PhysicalLevel>,
}

/// Numbers of pages or extents, a bit each by file.
#[derive(Default)]
pub(super) struct Marks {
    files: Vec<FileMarks>,
    pub(super) count: u64,
    charge: Charge,
}

struct FileMarks {
    file: u16,
    words: Vec<u64>,
    /// Where the walk in order is in this file.
    reached: Option<u32>,
}

const WORD_BITS: u32 = u64::BITS;

impl Marks {
    /// # Errors
    /// 701 when there is no memory for the marks of so high a number.
    pub(super) fn mark(&mut self, file: u16, number: u32) -> Result<()> {
        let word = (number / WORD_BITS) as usize;
        let place = self.place(file);
        if word >= self.files[place].words.len() {
            self.grow(place, word + 1)?;
        }
        let marks = &mut self.files[place].words[word];
        let bit = 1 << (number % WORD_BITS);
        self.count += u64::from(*marks & bit == 0);
        *marks |= bit;
        Ok(())
    }

    fn place(&mut self, file: u16) -> usize {
        self.files
            .iter()
            .position(|marks| marks.file == file)
            .unwrap_or_else(|| {
                self.files.push(FileMarks {
                    file,
                    words: Vec::new(),
                    reached: None,
                });
                self.files.len() - 1
            })
    }

    fn grow(&mut self, place: usize, words: usize) -> Result<()> {
        let words = words.next_power_of_two();
        let others = self.files.iter().map(|marks| marks.words.len()).sum::<usize>() - self.files[place].words.len();
        // Old and new are there at once while they are copied.
        self.charge = memory::require((others + 2 * words) * size_of::<u64>())?;
        let marks = &mut self.files[place].words;
        marks.reserve_exact(words - marks.len());
        marks.resize(words, 0);
        Ok(())
    }

    /// Runs of marked numbers, and in how many files.
    fn runs(&self) -> Result<(u64, u64)> {
        let (mut runs, mut files) = (0, 0);
        for marks in &self.files {
            let mut before = 0;
            for words in marks.words.chunks(WORDS_PER_STEP) {
                cancel::spend(1)?;
                for word in words {
                    runs += u64::from((word & !(word << 1 | before)).count_ones());
                    before = word >> (WORD_BITS - 1);
                }
            }
            files += 1;
        }
        Ok((runs, files))
    }
}

/// Words of marks that are looked at as fast as a row is.
const WORDS_PER_STEP: usize = 64;

impl FileMarks {
    /// The next marked number behind one.
    fn behind(&self, number: u32) -> Result<Option<u32>> {
        let Some(from) = number.checked_add(1) else {
            return Ok(None);
        };
        let first = (from / WORD_BITS) as usize;
        for (index, word) in self.words.iter().enumerate().skip(first) {
            if (index - first) % WORDS_PER_STEP == WORDS_PER_STEP - 1 {
                cancel::spend(1)?;
            }
            let word = match index == first {
                true => word & (u64::MAX << (from % WORD_BITS)),
                false => *word,
            };
            if word != 0 {
                return Ok(Some(index as u32 * WORD_BITS + word.trailing_zeros()));
            }
        }
        Ok(None)
    }
}

/// A walk through marked pages in the order of their level.
pub(super) struct Order {
    marks: Marks,
    pub(super) pages: u64,
    pub(super) fragments: u64,
    out_of_order: u64,
}

impl Order {
    pub(super) fn new(marks: Marks) -> Order {
        Order {
            marks,
            pages: 0,
            fragments: 0,
            out_of_order: 0,
        }
    }

    /// The page that comes next. One that was made since the marks were is marked first.
    pub(super) fn add(&mut self, page: PageId) -> Result<()> {
        self.marks.mark(page.file, page.page)?;
        let place = self.marks.place(page.file);
        let marks = &mut self.marks.files[place];
        self.pages += 1;
        match marks.reached.replace(page.page) {
            None => self.fragments += 1,
            Some(previous) => {
                self.fragments += u64::from(previous.checked_add(1) != Some(page.page));
                self.out_of_order += u64::from(marks.behind(previous)? != Some(page.page));
            }
        }
        Ok(())
    }

    /// Share of pages that are out of order.
    pub(super) fn out_of_order(&self) -> f64 {
        self.out_of_order as f64 / self.pages.max(1) as f64
    }
}

/// Adds up pages.
#[derive(Default)]
pub(super) struct Sum {
    contents: PageContents,
    pages: u64,
    used_bytes: u64,
}

impl Sum {
    pub(super) fn add(&mut self, page: PageRef<'_>) {
        self.pages += 1;
        let free = page.contiguous_free() + usize::from(page.hole_bytes());
        self.used_bytes += PAGE_SPACE_BYTES.saturating_sub(free) as u64;
        let is_heap = page.kind() == Some(PageKind::Heap);
        let contents = &mut self.contents;
        for (_, row) in page.rows() {
            if is_ghost(row) {
                contents.ghosts += 1;
                continue;
            }
            // "A row may contain multiple records" (sql-docs): one that has moved, and the stub that leads to it.
            if is_heap && matches!(parse_heap_row(row), Some(HeapRow::Forwarded(..))) {
                contents.forwarded += 1;
            }
            let is_first = contents.rows == 0;
            contents.rows += 1;
            contents.row_bytes += row.len() as u64;
            contents.row_bytes_max = contents.row_bytes_max.max(row.len());
            contents.row_bytes_min = match is_first {
                true => row.len(),
                false => contents.row_bytes_min.min(row.len()),
            };
        }
    }

    /// The sum, with counts of all pages that those added stand for.
    pub(super) fn finish(self, pages: u64) -> PageContents {
        let scaled = |count: u64| match self.pages {
            0 => 0,
            looked_at => (u128::from(count) * u128::from(pages) / u128::from(looked_at)) as u64,
        };
        let space = self.pages * PAGE_SPACE_BYTES as u64;
        PageContents {
            rows: scaled(self.contents.rows),
            ghosts: scaled(self.contents.ghosts),
            forwarded: scaled(self.contents.forwarded),
            row_bytes: scaled(self.contents.row_bytes),
            used_share: self.used_bytes as f64 / space.max(1) as f64,
            ..self.contents
        }
    }
}

/// How many pages there are to each that is read, of so many pages; `None` where none is read.
pub(super) fn read_every(mode: PhysicalMode, pages: u64) -> Option<u64> {
    match mode {
        PhysicalMode::Limited => None,
        PhysicalMode::Sampled if pages >= SAMPLED_PAGES_MIN => Some(SAMPLED_EVERY),
        PhysicalMode::Sampled | PhysicalMode::Detailed => Some(1),
    }
}

impl Heap {
    /// How it lies in its pages. The caller keeps it from being dropped.
    ///
    /// # Errors
    /// 823 and 824 when a page cannot be read; 701 when there is no memory for a mark of each extent; 3617 when the request is to stop.
    pub fn physical(&self, storage: &DatabaseStorage, mode: PhysicalMode) -> Result<Physical> {
        let space = self.object_space();
        let (mut at, end) = (Position { extent: 0, page: 0 }, space.frontier());
        let every = read_every(mode, space.page_counts().1);
        let (mut extents, mut sum, mut pages) = (Marks::default(), Sum::default(), 0);
        while let Some((page, position)) = space.page_from(at, end) {
            cancel::spend(1)?;
            extents.mark(page.file, page.page / EXTENT_PAGES)?;
            if every.is_some_and(|every| pages % every == 0) {
                cancel::spend(cancel::STEPS_PER_PAGE)?;
                if let Some(page) = self.open_page(storage, page)? {
                    sum.add(page.view());
                }
            }
            pages += 1;
            at = Position {
                page: position.page + 1,
                ..position
            };
        }
        let (fragments, files) = extents.runs()?;
        let out_of_order = (fragments - files) as f64 / extents.count.max(1) as f64;
        // "NULL for heaps when mode is SAMPLED" (sql-docs).
        let is_judged = mode != PhysicalMode::Sampled;
        let level = PhysicalLevel {
            level: 0,
            pages,
            fragments: is_judged.then_some(fragments),
            out_of_order: is_judged.then_some(out_of_order),
            contents: every.map(|_| sum.finish(pages)),
        };
        Ok(Physical {
            depth: 1,
            levels: vec![level],
        })
    }

    /// A page of it; `None` for one that was handed out and is not formatted yet.
    fn open_page<'s>(&self, storage: &'s DatabaseStorage, id: PageId) -> Result<Option<PageRead<'s>>> {
        let page = read(storage, id)?;
        let view = page.view();
        if view.version() == 0 {
            return Ok(None);
        }
        match view.kind() == Some(PageKind::Heap) && view.object() == self.root().object {
            true => Ok(Some(page)),
            false => Err(foreign(storage, id, view, self.root().object, "a heap page")),
        }
    }
}
