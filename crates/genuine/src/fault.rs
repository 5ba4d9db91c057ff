//! What is said of bytes that do not fit: where they are, and what is wrong with them.

use crate::page::PageId;
use std::fmt;
use vlf::ReadFault;

/// Where a fault was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file, or the set of files, as a whole.
    Whole,
    /// A byte of a file.
    Offset(u64),
    /// A page as a whole, or what leads to it.
    Page(PageId),
    /// A record of a page.
    Slot(PageId, u16),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Whole => write!(f, "the file"),
            Place::Offset(offset) => write!(f, "offset {offset}"),
            Place::Page(page) => write!(f, "page {page}"),
            Place::Slot(page, slot) => write!(f, "page {page}, slot {slot}"),
        }
    }
}

/// Bytes that do not fit, or that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub place: Place,
    /// A clause that follows the place: `its checksum is not that of its bytes`.
    pub reason: String,
}

/// What reading a foreign file answers.
pub type Result<T> = std::result::Result<T, Fault>;

impl Fault {
    /// A fault of the files as a whole.
    pub fn whole(reason: impl Into<String>) -> Fault {
        Fault {
            place: Place::Whole,
            reason: reason.into(),
        }
    }

    /// A fault at a byte of a file.
    pub fn at_offset(offset: u64, reason: impl Into<String>) -> Fault {
        Fault {
            place: Place::Offset(offset),
            reason: reason.into(),
        }
    }

    /// A fault of a page.
    pub fn of_page(page: PageId, reason: impl Into<String>) -> Fault {
        Fault {
            place: Place::Page(page),
            reason: reason.into(),
        }
    }

    /// A fault of a record.
    pub fn of_slot(page: PageId, slot: u16, reason: impl Into<String>) -> Fault {
        Fault {
            place: Place::Slot(page, slot),
            reason: reason.into(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.reason)
    }
}

impl std::error::Error for Fault {}

impl From<ReadFault> for Fault {
    fn from(fault: ReadFault) -> Fault {
        Fault::at_offset(fault.offset, fault.reason)
    }
}
