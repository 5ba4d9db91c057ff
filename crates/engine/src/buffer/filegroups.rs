//! Filegroups: which data files belong together, so that what is in one of them goes on in the others.
//!
//! Allocation asks here for the filegroup of a file, its name for messages, and for more space in it. What else a filegroup is, its database's
//! entry in master says (`catalog::FilegroupEntry`).

use super::DataFiles;
use crate::error::Result;
use std::sync::atomic::Ordering;

/// The number of the filegroup that the primary file is in.
pub const PRIMARY_FILEGROUP: u16 = 1;

/// A filegroup, as far as its files need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filegroup {
    /// `data_space_id`.
    pub id: u16,
    /// For messages.
    pub name: String,
    /// READ_ONLY.
    pub is_read_only: bool,
    /// AUTOGROW_ALL_FILES.
    pub grows_all_files: bool,
}

impl DataFiles {
    /// Says what filegroups there are; none of them for PRIMARY alone.
    pub fn set_filegroups(&self, filegroups: Vec<Filegroup>) {
        let has_read_only = filegroups.iter().any(|one| one.is_read_only);
        *self.filegroups.write() = filegroups;
        self.has_read_only_filegroups.store(has_read_only, Ordering::SeqCst);
    }

    /// The filegroup of a file; PRIMARY for one that is not there.
    pub fn filegroup_of(&self, file: u16) -> u16 {
        self.file(file).map_or(PRIMARY_FILEGROUP, |file| file.filegroup)
    }

    /// The files of a filegroup, in order.
    pub fn file_ids_in(&self, filegroup: u16) -> Vec<u16> {
        let files = self.files.read();
        let its = files.values().filter(|file| file.filegroup == filegroup);
        its.map(|file| file.id).collect()
    }

    /// The name of a filegroup, for messages.
    pub fn filegroup_name(&self, filegroup: u16) -> String {
        let filegroups = self.filegroups.read();
        let found = filegroups.iter().find(|one| one.id == filegroup);
        match found {
            Some(found) => found.name.clone(),
            None => "PRIMARY".to_owned(),
        }
    }

    /// Whether there is a filegroup in which nothing may be changed. Every change of a row asks.
    pub fn has_read_only_filegroup(&self) -> bool {
        self.has_read_only_filegroups.load(Ordering::Relaxed)
    }

    /// Whether nothing in a filegroup may be changed.
    pub fn is_read_only_filegroup(&self, filegroup: u16) -> bool {
        let filegroups = self.filegroups.read();
        filegroups.iter().any(|one| one.id == filegroup && one.is_read_only)
    }

    /// Grows the first file of a filegroup that may grow, or with AUTOGROW_ALL_FILES all that may. False when none may.
    ///
    /// # Errors
    /// Those of [`DataFiles::grow`].
    pub fn grow_in(&self, filegroup: u16, pages_needed: u32) -> Result<bool> {
        let grows_all = {
            let filegroups = self.filegroups.read();
            filegroups.iter().any(|one| one.id == filegroup && one.grows_all_files)
        };
        let mut has_grown = false;
        for file in self.file_ids_in(filegroup) {
            has_grown |= self.grow(file, pages_needed)?.is_some();
            if has_grown && !grows_all {
                break;
            }
        }
        Ok(has_grown)
    }

    /// Whether FILEGROWTH and MAXSIZE let a file of a filegroup grow by so many pages.
    pub fn may_grow_in(&self, filegroup: u16, pages_needed: u32) -> bool {
        let files = self.files.read();
        let mut its = files.values().filter(|file| file.filegroup == filegroup);
        its.any(|file| file.next_page_count(pages_needed).is_some())
    }
}
