//! Where pages come from: data files, or whatever else has the pages of a database.

use super::{PAGE_BYTES, PageBytes, PageId};
use crate::fault::{Fault, Result};
use vlf::ReadAt;

/// The pages of one database. A set of data files and a backup both are one. Threads read it side by side.
pub trait PageSource: Sync {
    /// Fills `bytes` with page `id` as it was written: torn bits are still in it.
    ///
    /// # Errors
    /// The source does not have the page, or cannot read it.
    fn read_page(&self, id: PageId, bytes: &mut PageBytes) -> Result<()>;

    /// Fills `pages` with page `first` and those that follow it in its file, as far as one read has them. Answers how many these are: 0 where the
    /// source has no such reads, or that read fails, and [`PageSource::read_page`] says why.
    fn read_run(&self, _first: PageId, _pages: &mut [PageBytes]) -> usize {
        0
    }

    /// The data files of the database that the source has, by ascending id.
    fn files(&self) -> &[FileOfPages];

    /// Whether the source should have a page of its files, if the database uses it. A differential backup has what has changed; an extent of it
    /// of which no page lies where its own id has it cannot be told from one that is not there.
    fn should_have(&self, _id: PageId) -> bool {
        true
    }

    /// How many pages there can be: no chain of pages is longer. Of a source that does not have its files whole, those that it has, for the size
    /// of a file is only what it says.
    fn page_count(&self) -> u64 {
        self.files().iter().map(|file| u64::from(file.pages)).sum()
    }
}

/// One data file of a source of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileOfPages {
    /// Its id in the database.
    pub id: u16,
    /// Its size in pages. Pages that were never allocated can be missing in a backup.
    pub pages: u32,
}

/// The data files of a database, as they lie on a disk.
pub struct DataFiles<S> {
    files: Vec<FileOfPages>,
    sources: Vec<S>,
}

impl<S: ReadAt> DataFiles<S> {
    /// Data files in any order: page 0 of each says which file of the database it is.
    ///
    /// # Errors
    /// One of them is not a data file, two are the same file of the database, or one cannot be read.
    pub fn open(sources: Vec<S>) -> Result<DataFiles<S>> {
        let mut all = Vec::with_capacity(sources.len());
        for source in sources {
            all.push((file_of(&source)?, source));
        }
        all.sort_by_key(|(file, _)| file.id);
        if let Some(two) = all.windows(2).find(|two| two[0].0.id == two[1].0.id) {
            return Err(Fault::whole(format!("two of the files have the id {}", two[0].0.id)));
        }
        let (files, sources) = all.into_iter().unzip();
        Ok(DataFiles { files, sources })
    }
}

/// What page 0 says of its file. The size is that of the bytes there are: a file that was cut off is read up to its end.
fn file_of<S: ReadAt>(source: &S) -> Result<FileOfPages> {
    let mut bytes = [0; PAGE_BYTES];
    if source.len() < PAGE_BYTES as u64 {
        return Err(Fault::whole("shorter than a page: not a data file"));
    }
    source.read_at(0, &mut bytes)?;
    if bytes[..2] != [1, 15] {
        return Err(Fault::whole(
            "it does not begin with a file header page: not a data file",
        ));
    }
    let id = PageId::read(&bytes, 32).expect("the header is within the page");
    if id.page != 0 || id.is_none() {
        return Err(Fault::whole(format!("its first page says that it is page {id}")));
    }
    Ok(FileOfPages {
        id: id.file,
        pages: u32::try_from(source.len() / PAGE_BYTES as u64).unwrap_or(u32::MAX),
    })
}

/// Reads pages that lie one behind the other from `offset` on. Answers how many: all of them, or none.
pub(crate) fn read_pages(source: &dyn ReadAt, offset: u64, pages: &mut [PageBytes]) -> usize {
    match source.read_at(offset, pages.as_flattened_mut()) {
        Ok(()) => pages.len(),
        Err(_) => 0,
    }
}

impl<S: ReadAt + Sync> PageSource for DataFiles<S> {
    fn read_page(&self, id: PageId, bytes: &mut PageBytes) -> Result<()> {
        let at = self.files.iter().position(|file| file.id == id.file);
        let Some(at) = at else {
            return Err(Fault::of_page(
                id,
                format!("file {} of the database is missing", id.file),
            ));
        };
        if id.page >= self.files[at].pages {
            let pages = self.files[at].pages;
            return Err(Fault::of_page(id, format!("the file ends after {pages} pages")));
        }
        let offset = u64::from(id.page) * PAGE_BYTES as u64;
        self.sources[at]
            .read_at(offset, bytes)
            .map_err(|fault| Fault::of_page(id, fault.reason))
    }

    fn read_run(&self, first: PageId, pages: &mut [PageBytes]) -> usize {
        let Some(at) = self.files.iter().position(|file| file.id == first.file) else {
            return 0;
        };
        let left = self.files[at].pages.saturating_sub(first.page) as usize;
        let count = left.min(pages.len());
        read_pages(
            &self.sources[at],
            u64::from(first.page) * PAGE_BYTES as u64,
            &mut pages[..count],
        )
    }

    fn files(&self) -> &[FileOfPages] {
        &self.files
    }
}
