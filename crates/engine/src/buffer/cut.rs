//! Truncates a data file behind the last extent of any object.
//!
//! The order: snapshots copy the pages behind the new end. The length in memory shrinks, so that no session reads there. The length on disk
//! shrinks, durably. Frames with pages behind the end are freed; they hold nothing to write. After a power cut the file has its old or its
//! new length. The next start restores pages behind the end from the double-write file, and they lie in free extents then.

use super::files::DataFiles;
use super::{BufferPool, DatabaseId};
use crate::error::{Error, Result};
use crate::page::PageId;

impl DataFiles {
    /// Makes a file end behind its first `pages` pages, durably. Nobody may use pages behind, nor grow the file meanwhile; none of them
    /// may be dirty.
    ///
    /// # Errors
    /// 3140 when the operating system refuses, and the file is as long as it was; 823 when it is not known how long it is.
    pub fn cut(&self, file: u16, pages: u32) -> Result<()> {
        let Some(file) = self.file(file) else { return Ok(()) };
        let former = file.page_count();
        if pages >= former {
            return Ok(());
        }
        // Most of it is kept while others write; what these overwrite meanwhile they keep themselves.
        self.keep_for_snapshots(&[(file.id, pages..former)])?;
        let _same_length = self.stop_growth();
        let _nothing_written = self.lock_batch();
        self.check_open()?;
        self.keep_for_snapshots(&[(file.id, pages..former)])?;
        file.cut(pages)
            .map_err(|_| Error::cannot_shrink_file(&file.settings.lock().logical_name))?;
        file.sync().map_err(|error| self.close_after(error))
    }
}

impl BufferPool {
    /// The pages of a file behind its first `pages` leave memory without being written.
    pub fn forget_end_of_file(&self, database: DatabaseId, file: u16, pages: u32) {
        let is_behind = |page: PageId| page.file == file && page.page >= pages;
        self.forget_pages(|of, page| of == database && is_behind(page));
    }
}
