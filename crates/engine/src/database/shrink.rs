//! Returns the free end of a data file to the disk (DBCC SHRINKFILE, SHRINKDATABASE).

use super::Database;
use crate::error::Result;
use crate::seams::Background;

/// How long a table's lock is waited for before its pages move, while newcomers wait behind, in milliseconds.
const LOCK_WAIT_MS: i64 = 100;

impl Database {
    /// How long the session that moves pages waits for a table's lock, in milliseconds. Where everything happens on one thread nobody would
    /// release it meanwhile.
    pub(crate) fn lock_wait_ms_of_moves(&self) -> i64 {
        match self.storage.env.background {
            Background::Inline => 0,
            Background::Threads => LOCK_WAIT_MS,
        }
    }

    /// The pages that a data file needs at least for what is in use of it, were all of that at its begin.
    pub fn pages_packed(&self, file_id: u16) -> u32 {
        self.space.pages_packed(file_id)
    }

    /// Cuts a data file to `pages` pages, or to what objects have of it if that is more; durable on return. The checkpoint puts behind it
    /// what redo could want of the pages that go.
    ///
    /// # Errors
    /// 3140 when the operating system refuses; those of a checkpoint.
    pub fn cut_data_file(&self, file_id: u16, pages: u32) -> Result<()> {
        let pages = pages.max(self.space.pages_needed(file_id));
        if pages >= self.storage.files.page_count(file_id) {
            return Ok(());
        }
        self.space.keep_end_free(file_id, pages);
        // What is taken back later may be logged of a page that redo would not find.
        let cut = self
            .take_back_all_marked()
            .and_then(|()| self.checkpoint())
            .and_then(|()| self.space.cut_file(&self.storage, file_id, pages));
        self.space.use_end_again(file_id);
        cut
    }
}
