//! The errors of a full version store (sql-docs, "Database Engine events and errors").

use crate::error::Error;
use crate::messages;

impl Error {
    messages! { pub(super) fn;
        /// 3958: a version that a reader needs was not kept.
        version_not_found(table: &str, database: &str) = 3958, 16, 1, "Transaction aborted when accessing versioned row in table '{table}' in database '{database}'. Requested versioned row was not found. Your tempdb is probably out of space. Please refer to BOL on how to configure tempdb for versioning.";
        /// 3959: for the error log.
        version_store_full() = 3959, 10, 1, "Version store is full. New version(s) could not be added. A transaction that needs to access the version store may be rolled back. Please refer to BOL on how to configure tempdb for versioning.";
        /// 3966: versions that a snapshot may need were taken away.
        snapshot_was_given_up() = 3966, 17, 1, "Transaction is rolled back when accessing version store. It was earlier marked as victim when the version store was shrunk due to insufficient space in tempdb. This transaction was marked as a victim earlier because it may need the row version(s) that have already been removed to make space in tempdb. Retry the transaction";
        /// 3967: for the error log.
        snapshot_given_up(session: u16) = 3967, 17, 1, "Insufficient space in tempdb to hold row versions. Need to shrink the version store to free up some space in tempdb. Transaction (spid={session}) has been marked as victim and it will be rolled back if it accesses the version store. If the problem persists, the likely cause is improperly sized tempdb or long running transactions. Please refer to BOL on how to configure tempdb for versioning.";
    }
}

pub(super) fn version_not_found(table: &str, database: &str) -> Error {
    Error::version_not_found(table, database)
}

pub(super) fn store_full() -> Error {
    Error::version_store_full()
}

pub(super) fn was_given_up() -> Error {
    Error::snapshot_was_given_up()
}

pub(super) fn given_up(session: u16) -> Error {
    Error::snapshot_given_up(session)
}
