//! The store of rows: space maps, heaps, b-trees, bulk fill, undo of each change, and the checks of `DBCC CHECKDB`.
//!
//! To this room a row is an opaque string of bytes. The store puts its own status byte before it:
//!
//! ```text
//! heap row        | status | payload ...                             |
//! forwarding stub | status | page u32 | file u16 | slot u16          |   where the row went
//! forwarded row   | status | page u32 | file u16 | slot u16 | payload |   where its stub is
//! tree leaf row   | status | key bytes u16 | key | payload ...        |
//! tree branch row | status | key bytes u16 | key | page u32 | file u16 |
//! ```
//!
//! The recipe of every logged change (quoted by step number in the code below):
//!
//! 1. lock the row;
//! 2. fix the page or pages with the exclusive latch;
//! 3. check that the change fits;
//! 4. encode the [`Change`](crate::page::Change);
//! 5. append it to the log (which may grow, and may fail with 9002: nothing has changed yet);
//! 6. apply the operations with its LSN, which stamps the pages and marks them dirty;
//! 7. unlatch.
//!
//! Latches are taken in this order, which rules out deadlocks among them: the latch on freeing an object's pages (`ghosts`), tree pages
//! from the root down and from left to right, the object's space, an IAM page, a GAM page. A heap never latches two data pages at once. No
//! thread waits for a lock while it holds a latch.
//!
//! Structural changes (a new extent, a fresh page, a split, the removal of ghosts, freeing a page or extent) have no undo: they stay when
//! the transaction that needed them rolls back.
//!
//! Step 3 counts the space that an open transaction may need for its undo as used. Step 5 also reserves log space for the undo.
//!
//! *A promised page is checked.* A child, a sibling, a forwarding stub, a row identifier, an extent list and the record of a rollback each
//! promise a page. The page must belong to that object and have that kind. Otherwise error 824 names it, and nothing on it changes; readers
//! without locks get 601. Scans in allocation order skip pages of other objects.

mod boot;
mod change;
mod fill;
mod ghosts;
mod heap;
mod ids;
mod large;
mod lock_information;
mod page_sample;
mod physical;
mod reserve;
mod revert;
mod row;
mod row_buffer;
mod scan;
mod space;
mod touched;
mod tree;
mod undo;
mod unit_pages;
mod verify;
mod versioned;

#[cfg(test)]
mod tests;

pub use crate::page::CATALOG_UNIT;
pub use boot::{BOOT_PAGES, BOOT_PAYLOAD_BYTES_MAX, BootPage};
pub use change::UndoneBy;
pub use fill::{HeapFill, TreeFill};
pub use ghosts::{Cleaned, Horizon};
pub use heap::{Heap, Placement, unit_of_page};
pub use ids::{IDS_PER_RANGE, IdCounters, ROW_VERSIONS_PER_RANGE};
pub use large::{
    LargeCheck, LargeKind, LargeSpace, LargeUnit, LargeUnits, LargeValue, PageCounts, PlacesOf, PlacesOfRow, Reading,
    UnitsBeside, give_up_value, read_value, write_held, write_value,
};
pub use lock_information::LoggedLock;
pub use page_sample::PageSample;
pub use physical::{PageContents, Physical, PhysicalLevel, PhysicalMode};
pub use revert::{note_taken_back, visit};
pub use row::{Rid, RowLocator, StoredRow};
pub use row_buffer::{BuiltRow, RowBuffer};
pub use scan::{HeapScan, ReadMode, RowBatch};
pub use space::{
    Begin, Claim, EXTENT_PAGES, ExtentId, FirstExtent, Goal, ObjectRoot, PageRun, Pin, Room, SpaceMap, SpaceUsage,
    Still, Vacating, is_space_map, space_map_of,
};
pub use touched::{Touched, touched, undo_reserve_bytes, undone_by};
pub use tree::{KEY_BYTES_MAX, Tree, TreeBatch, TreeScan};
pub use undo::{FilledPages, ReadDownward, is_undone_first, undo, undo_first, unit_added_to};
pub use unit_pages::UnitPages;
pub use verify::{Finding, ObjectKind, Verdict, verify_allocation, verify_object, verify_with_large};
pub use versioned::{Versioning, unnamed_table};

use crate::buffer::DatabaseStorage;
use crate::lock::LockOwner;
use crate::log::TransactionChain;

/// What a writer needs: the database, its space maps, and the transaction's log chain and locks.
pub struct StoreContext<'a> {
    /// The database's log, pages and files.
    pub storage: &'a DatabaseStorage,
    /// The database's space maps and the insert state of its objects.
    pub space: &'a SpaceMap,
    /// The transaction's log records.
    pub chain: &'a mut TransactionChain,
    pub locks: &'a LockOwner,
    /// What the transaction owes and is owed in versions of rows.
    pub versions: Versioning<'a>,
}
