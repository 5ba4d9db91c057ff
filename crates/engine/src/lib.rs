//! The database engine: log, pages, buffer pool, transactions, recovery, backup.
