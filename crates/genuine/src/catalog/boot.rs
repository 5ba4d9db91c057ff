//! The boot record: what a database says of itself before anything else can be read.
//!
//! It is the one record of page 9 of file 1. Offsets below are from the record's beginning.
//!
//! ```text
//! 4            6                52                    392           516
//! +------------+----------------+---------------------+-------------+------------------------------+
//! | version of | version it was | name, UTF-16,       | collation   | first page of sysallocunits  |
//! | now u16    | made with u16  | 256 bytes           | u32         | page u32, file u16           |
//! +------------+----------------+---------------------+-------------+------------------------------+
//! ```
//!
//! The fields are those of DBCC DBINFO; the offsets were measured on databases of the versions 611 to 957.

use crate::bytes::{u16_at, u32_at, utf16_text};
use crate::fault::{Fault, Result};
use crate::page::{Page, PageId, PageKind, PageSource};

const BOOT_PAGE: PageId = PageId::new(1, 9);
const NAME_BYTES: usize = 256;

/// The version of a database: the number that every release of SQL Server counts up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DatabaseVersion(pub u16);

/// First number, name. (Microsoft's and public lists of internal database versions.)
const RELEASES: [(u16, &str); 16] = [
    (515, "7.0"),
    (539, "2000"),
    (611, "2005"),
    (612, "2005 with vardecimal"),
    (655, "2008"),
    (660, "2008 R2"),
    (684, "2012"),
    (706, "2012"),
    (770, "2014"),
    (782, "2014"),
    (829, "2016"),
    (852, "2016"),
    (862, "2017"),
    (895, "2019"),
    (922, "2022"),
    (958, "2025"),
];

impl DatabaseVersion {
    /// The release of SQL Server: "2008 R2".
    pub fn release(self) -> &'static str {
        let release = RELEASES.iter().rev().find(|release| release.0 <= self.0);
        release.map_or("before 7.0", |release| release.1)
    }
}

/// What the boot record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootRecord {
    pub version: DatabaseVersion,
    /// The version that the database was made with.
    pub created_version: DatabaseVersion,
    pub name: String,
    /// The id of the collation of the database.
    pub collation: u32,
    pub(crate) first_allocation_units: PageId,
}

impl BootRecord {
    /// Reads the boot record.
    ///
    /// # Errors
    /// Page 9 cannot be read, or is a page of another kind.
    pub fn read(source: &dyn PageSource) -> Result<BootRecord> {
        let page = Page::read(source, BOOT_PAGE)?;
        if page.kind() != PageKind::Boot {
            return Err(Fault::of_page(
                BOOT_PAGE,
                format!("a boot page was expected here, and it is {:?}", page.kind()),
            ));
        }
        let record = page.record(0)?.unwrap_or(&[]);
        let short = || Fault::of_page(BOOT_PAGE, "its boot record is too short");
        let name = record.get(52..52 + NAME_BYTES).ok_or_else(short)?;
        Ok(BootRecord {
            version: DatabaseVersion(u16_at(record, 4).ok_or_else(short)?),
            created_version: DatabaseVersion(u16_at(record, 6).ok_or_else(short)?),
            // What is left of the 256 bytes is bytes of blanks, two of which are U+2020.
            name: utf16_text(name).trim_end_matches(['\u{2020}', ' ', '\0']).to_owned(),
            collation: u32_at(record, 392).ok_or_else(short)?,
            first_allocation_units: PageId::read(record, 516).ok_or_else(short)?,
        })
    }
}
