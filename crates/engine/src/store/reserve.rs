//! Log space that a change reserves for its rollback.
//!
//! Native reserves the size of the compensation record. Classic reserves as much as SQL Server if a larger figure is published, because the
//! reserve affects when a log grows. (S) marks a published figure, (I) one inferred from it:
//!
//! | change | classic | source |
//! |---|---|---|
//! | a row is inserted into a clustered index | [`ROW_BYTES`], whatever its size: a compensation record of 72 bytes and its slot | S: 20,000 rows of 1,000 bytes, no new page: 1,489,170 bytes reserved, 20,400,144 used; //! undoing one row releases 74 |
//! | a row is inserted into a nonclustered index or a heap | the same | I: it is undone by the same operation |
//! | an index gains a page after its last one | [`NEW_PAGE_BYTES`], until the transaction ends | S: 160,000 ascending rows, 20,000 new pages: 49,654,176 bytes, which is 74 a row and 1,890 a page |
//! | a heap gains a page | the same | I |
//! | a page is split | [`SPLIT_BYTES`], until the transaction ends | S: 20,000 rows, each splitting a page: 46,742,070 bytes, which is 74 a row and 2,263 a split |
//! | a row is changed or deleted | the size of the compensation record | no figure is published |
//!
//! The figures of 20,000 and 160,000 rows are outputs of `database_transaction_log_bytes_reserved` (sys.dm_tran_database_transactions) in a
//! public demonstration of page splits; the 74 released bytes are `Log Reserve` of `fn_dblog` (dba.stackexchange.com, on the reserve of
//! rollbacks). Both are of SQL Server 2012 or later, by the length of their records.
//!
//! Invariant: never less than the rollback needs. The rest is the log's *surplus*: it counts when the log grows, is shown in views, and is
//! released when the transaction ends.

use super::StoreContext;
use crate::buffer::DatabaseStorage;
use crate::log::TransactionChain;
use crate::page::UndoKind;

/// Of a row that comes, in bytes.
const ROW_BYTES: u64 = 74;
/// Of a page behind the last one.
const NEW_PAGE_BYTES: u64 = 1_890;
/// Of a page that is split.
const SPLIT_BYTES: u64 = 2_263;

/// How a structure gains a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gain {
    /// An empty one behind the last.
    NewPage,
    /// One that takes rows of another.
    Split,
}

/// A row has changed, and the payload of its compensation record may take `needed` bytes: classic sets aside what is missing to SQL
/// Server's reserve.
pub(super) fn set_aside_for_row(storage: &DatabaseStorage, chain: &mut TransactionChain, undo: UndoKind, needed: u32) {
    if matches!(undo, UndoKind::HeapInsert | UndoKind::TreeInsert) && storage.log_whole_rows() {
        let surplus = ROW_BYTES.saturating_sub(crate::log::undo_reserve_bytes(needed));
        storage.log.set_aside(chain, surplus);
    }
}

/// A structure has gained a page: classic sets log space aside for that until the transaction ends.
pub(super) fn set_aside_for_page(ctx: &mut StoreContext<'_>, gain: Gain) {
    if ctx.storage.log_whole_rows() {
        let bytes = match gain {
            Gain::NewPage => NEW_PAGE_BYTES,
            Gain::Split => SPLIT_BYTES,
        };
        ctx.storage.log.set_aside(ctx.chain, bytes);
    }
}
