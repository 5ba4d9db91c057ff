//! Pages read ahead: for readers that mostly want the page behind the one they have.
//!
//! ```text
//!   asked for    7        8         9          10         300       301
//!   read         7        8 9                  10 .. 13   300       301 302        twice as many each time, while the pages follow one another
//! ```

use super::{PAGE_BYTES, PageBytes, PageId, PageSource};
use crate::fault::Result;

/// Pages that are read at once: 512 KB.
const PAGES_MAX: usize = 64;
/// A page that is so many behind the last one still follows it: maps lie between pages of a table.
const GAP_PAGES: u32 = 8;

/// The pages that were read last.
pub(crate) struct PageWindow {
    first: PageId,
    filled: usize,
    pages: Vec<PageBytes>,
}

impl PageWindow {
    pub(crate) fn new() -> PageWindow {
        PageWindow {
            first: PageId::default(),
            filled: 0,
            pages: vec![[0; PAGE_BYTES]],
        }
    }

    /// The bytes of page `id`, as [`PageSource::read_page`] fills them.
    ///
    /// # Errors
    /// Those of reading that page.
    pub(crate) fn page(&mut self, source: &dyn PageSource, id: PageId) -> Result<&PageBytes> {
        let at = id.page.wrapping_sub(self.first.page) as usize;
        if id.file != self.first.file || at >= self.filled {
            self.fill(source, id)?;
            return Ok(&self.pages[0]);
        }
        Ok(&self.pages[at])
    }

    fn fill(&mut self, source: &dyn PageSource, id: PageId) -> Result<()> {
        let behind = id.page.wrapping_sub(self.first.page);
        let follows = id.file == self.first.file && behind <= self.filled as u32 + GAP_PAGES && self.filled > 0;
        let wanted = match follows {
            true => (2 * self.filled).clamp(1, PAGES_MAX),
            false => 1,
        };
        self.filled = 0;
        self.pages.resize(wanted.max(self.pages.len()), [0; PAGE_BYTES]);
        let mut filled = 0;
        if wanted > 1 {
            filled = source.read_run(id, &mut self.pages[..wanted]);
        }
        if filled == 0 {
            source.read_page(id, &mut self.pages[0])?;
            filled = 1;
        }
        (self.first, self.filled) = (id, filled);
        Ok(())
    }
}
