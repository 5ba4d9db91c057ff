//! One error type for the whole engine: SQL Server's number, severity, state and words.
//!
//! Every error is a row of this table, named for what happened and sorted by number, so that one file holds all sentences that a client can
//! read. Errors whose sentence needs more than their arguments are functions after the table. Texts follow Microsoft's list of "Database
//! Engine events and errors" (sql-docs). A text of ours without a counterpart there has a number of 50000 or above, and says what happened,
//! where, and what to do.
//!
//! Severity decides what happens to the batch: up to 10 is a message, 11 to 16 an error in the statement, 17 a lack of resources; 20 and
//! above ends the session.

use disk::{DiskError, DiskErrorKind};
use std::fmt;

/// The result of everything in the engine that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// An error as a client sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// SQL Server's error number.
    pub number: i32,
    /// SQL Server's severity (class), 0 to 25.
    pub severity: u8,
    /// SQL Server's state: tells apart the places that raise one number.
    pub state: u8,
    /// The sentence.
    pub message: String,
    /// What follows it: 1750 after the reason why a constraint was not made. CATCH sees the last one.
    pub after: Option<Box<Error>>,
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "Msg {}, Level {}, State {}: {}",
            self.number, self.severity, self.state, self.message
        )
    }
}

impl std::error::Error for Error {}

/// A table of errors: a name with its arguments, the number, the severity, the state, the sentence with the arguments in braces.
///
/// Each row is a function, so that a caller cannot pass the wrong arguments. A test reads the tables of all crates
/// (`xtask/tests/it/severities.rs`).
#[macro_export]
macro_rules! messages {
    ($visibility:vis fn; $($(#[$doc:meta])* $name:ident($($argument:ident: $kind:ty),*) = $number:literal, $severity:literal, $state:tt, $text:literal;)*) => {
        $(
            $(#[$doc])*
            $visibility fn $name($($argument: $kind),*) -> $crate::error::Error {
                $crate::error::Error::new($number, $severity, $state, format!($text))
            }
        )*
    };
}

impl Error {
    /// An error with every part given. Prefer a named constructor.
    pub fn new(number: i32, severity: u8, state: u8, message: impl Into<String>) -> Error {
        Error {
            number,
            severity,
            state,
            message: message.into(),
            after: None,
        }
    }

    messages! { pub fn;
        /// 208: no such table, view or other object.
        invalid_object(name: &str) = 208, 16, 1, "Invalid object name '{name}'.";
        /// 219: the name of a type is taken.
        type_exists(name: &str) = 219, 16, 1, "The type '{name}' already exists, or you do not have permission to create it.";
        /// 511: a row is longer than a page can hold.
        row_too_long(row_bytes: usize, limit_bytes: usize) = 511, 16, 1, "Cannot create a row of size {row_bytes} which is greater than the allowable maximum row size of {limit_bytes}.";
        /// 601: what a reader without locks was to read next is not there any more.
        data_movement() = 601, 12, 1, "Could not continue scan with NOLOCK due to data movement.";
        /// 701: every page frame is in use at once.
        insufficient_memory() = 701, 17, 123, "There is insufficient system memory in resource pool 'default' to run this query.";
        /// 823: the operating system failed a read or write of a data file.
        data_file_io(operation: &str, offset: u64, path: &str, cause: &str) = 823, 24, 2, "The operating system returned error {cause} to SQL Server during a {operation} at offset {offset:#016x} in file '{path}'. Additional messages in the SQL Server error log and operating system error log may provide more detail. This is a severe system-level error condition that threatens database integrity and must be corrected immediately. Complete a full database consistency check (DBCC CHECKDB). This error can be caused by many factors; for more information, see SQL Server Books Online.";
        /// 824: a page was read whose content contradicts itself (checksum, page id, structure). `offset` is where it begins in its file,
        /// in bytes.
        damaged_page(what: &str, page: &str, database_id: u16, offset: u64, path: &str) = 824, 24, 2, "SQL Server detected a logical consistency-based I/O error: {what}. It occurred during a read of page {page} in database ID {database_id} at offset {offset:#016x} in file '{path}'.  Additional messages in the SQL Server error log or operating system error log may provide more detail. This is a severe error condition that threatens database integrity and must be corrected immediately. Complete a full database consistency check (DBCC CHECKDB). This error can be caused by many factors; for more information, see SQL Server Books Online.";
        /// 824: what sound pages hold contradicts itself; which page it was is not known any more.
        damaged_content(what: &str) = 824, 24, 3, "SQL Server detected a logical consistency-based I/O error: {what}. Additional messages in the SQL Server error log or operating system error log may provide more detail. This is a severe error condition that threatens database integrity and must be corrected immediately. Complete a full database consistency check (DBCC CHECKDB). This error can be caused by many factors; for more information, see SQL Server Books Online.";
        /// 652: rows of a table, or entries of an index, in a filegroup that is READ_ONLY. The name of a heap is empty.
        filegroup_is_not_changed(index: &str, table: &str, rowset: i64, filegroup: &str) = 652, 16, 1, "The index \"{index}\" for table \"{table}\" (RowsetId {rowset}) resides on a read-only filegroup (\"{filegroup}\"), which cannot be modified.";
        /// 622: an extent is wanted in a filegroup without files.
        filegroup_has_no_files(filegroup: &str) = 622, 16, 3, "The filegroup \"{filegroup}\" has no files assigned to it. Tables, indexes, text columns, ntext columns, and image columns cannot be populated on this filegroup until a file is added.";
        /// 1924: something is to be made in a filegroup that is READ_ONLY.
        filegroup_is_read_only(filegroup: &str) = 1924, 16, 2, "Filegroup '{filegroup}' is read-only.";
        /// 3740: something that would be given back is in a filegroup that is READ_ONLY.
        part_is_read_only(kind: &str, name: &str) = 3740, 16, 1, "Cannot drop the {kind} '{name}' because at least part of the table resides on a read-only filegroup.";
        /// 911: there is no such database.
        no_such_database(name: &str) = 911, 16, 1, "Database '{name}' does not exist. Make sure that the name is entered correctly.";
        /// 924: SINGLE_USER, and another session is that user.
        single_user(name: &str) = 924, 14, 1, "Database '{name}' is already open and can only have one user at a time.";
        /// 926: recovery failed; the error log says why.
        suspect(name: &str) = 926, 14, 1, "Database '{name}' cannot be opened. It has been marked SUSPECT by recovery. See the SQL Server errorlog for more information.";
        /// 927: a restore is not finished.
        restoring(name: &str) = 927, 14, 2, "Database '{name}' cannot be opened. It is in the middle of a restore.";
        /// 942: set offline.
        offline(name: &str) = 942, 14, 4, "Database '{name}' cannot be opened because it is offline.";
        /// 945: files are missing or there is no room; the error log says which.
        inaccessible(name: &str) = 945, 14, 2, "Database '{name}' cannot be opened due to inaccessible files or insufficient memory or disk space.  See the SQL Server errorlog for details.";
        /// 948: the files were written by a later version of this program.
        database_too_new(name: &str, version: u32, newest: u32) = 948, 20, 1, "The database '{name}' cannot be opened because it is version {version}. This server supports version {newest} and earlier. A downgrade path is not supported.";
        /// 950: the files were written before the first release.
        database_too_old(name: &str, version: u32) = 950, 20, 1, "Database '{name}' cannot be upgraded because its non-release version ({version}) is not supported by this version of SQL Server. You cannot open a database that is incompatible with this version of sqlservr.exe. You must re-create the database.";
        /// 952: it was closed, or opened again, since the statement found it.
        in_transition(name: &str) = 952, 16, 1, "Database '{name}' is in transition. Try the statement later.";
        /// 1101: no page could be allocated because the disk is full.
        disk_full_for_page(database: &str, filegroup: &str) = 1101, 17, 12, "Could not allocate a new page for database '{database}' because of insufficient disk space in filegroup '{filegroup}'. Create the necessary space by dropping objects in the filegroup, adding additional files to the filegroup, or setting autogrowth on for existing files in the filegroup.";
        /// 1105: a filegroup is full and may not grow.
        filegroup_full(object: &str, database: &str, filegroup: &str) = 1105, 17, 2, "Could not allocate space for object '{object}' in database '{database}' because the '{filegroup}' filegroup is full. Create disk space by deleting unneeded files, dropping objects in the filegroup, adding additional files to the filegroup, or setting autogrowth on for existing files in the filegroup.";
        /// 1205: this transaction was chosen as the deadlock victim.
        deadlock_victim(session: u16) = 1205, 13, 51, "Transaction (Process ID {session}) was deadlocked on lock resources with another process and has been chosen as the deadlock victim. Rerun the transaction.";
        /// 1222: a lock was not granted within LOCK_TIMEOUT.
        lock_timeout() = 1222, 16, 51, "Lock request time out period exceeded.";
        /// 1801: the name is taken.
        database_exists(name: &str) = 1801, 16, 3, "Database '{name}' already exists. Choose a different database name.";
        /// 1802: CREATE DATABASE failed; the errors before say why.
        create_database_failed() = 1802, 16, 4, "CREATE DATABASE failed. Some file names listed could not be created. Check related errors.";
        /// 1803: the primary file cannot hold what every database holds.
        primary_file_too_small(megabytes: u64) = 1803, 16, 1, "The CREATE DATABASE statement failed. The primary file must be at least {megabytes} MB to accommodate a copy of the model database.";
        /// 1815: a size of a file of a database snapshot: it is as large as the base's.
        not_of_snapshot_files(property: &str) = 1815, 16, 1, "The {property} property cannot be used with database snapshot files.";
        /// 1816: a snapshot of master and its kin.
        no_snapshot_of_system_database(name: &str) = 1816, 16, 1, "Database snapshot on the system database {name} is not allowed.";
        /// 1821: a snapshot of a snapshot.
        no_snapshot_of_snapshot() = 1821, 16, 1, "Cannot create a database snapshot on another database snapshot.";
        /// 1815: a size of a file of a copy: it is as large as the source's.
        not_of_copy_files(property: &str) = 1815, 16, 2, "The {property} property cannot be used with database copy files.";
        /// 1816: a copy of master and its kin.
        no_copy_of_system_database(name: &str) = 1816, 16, 2, "Database copy on the system database {name} is not allowed.";
        /// 1821: a copy, or a snapshot, of what reads the pages of another database itself.
        no_copy_of_copy() = 1821, 16, 2, "Cannot create a database copy or a database snapshot on another database copy, or a copy on a snapshot.";
        /// 1822: the source of a copy is closed.
        copy_needs_online() = 1822, 16, 2, "The database must be online to have a database copy.";
        /// 1822: the base of a snapshot is closed.
        snapshot_needs_online() = 1822, 16, 1, "The database must be online to have a database snapshot.";
        /// 1825: COLLATE of a copy.
        copy_is_as_its_source() = 1825, 16, 2, "Filegroups and collations cannot be specified for database copies.";
        /// 1825: COLLATE, or a filegroup, of a snapshot.
        snapshot_is_as_its_base() = 1825, 16, 1, "Filegroups and collations cannot be specified for database snapshots.";
        /// 1828: two files of one database have one logical name.
        duplicate_file_name(name: &str) = 1828, 16, 3, "The logical file name \"{name}\" is already in use. Choose a different name.";
        /// 2714: the name of a constraint is taken (state 5: Arvind Shyamsundar, "Named constraints: two sides to the story").
        constraint_exists(name: &str) = 2714, 16, 5, "There is already an object named '{name}' in the database.";
        /// 2714: the name is taken.
        object_exists(name: &str) = 2714, 16, 6, "There is already an object named '{name}' in the database.";
        /// 3023: files change, and are backed up, one after the other.
        beside_backup() = 3023, 16, 2, "Backup, file manipulation operations (such as ALTER DATABASE ADD FILE) and encryption changes on a database must be serialized. Reissue the statement after the current backup or file manipulation operation is completed.";
        /// 3140: the operating system refused to make a file shorter.
        cannot_shrink_file(file: &str) = 3140, 16, 3, "Could not adjust the space allocation for file '{file}'.";
        /// 3314, after the error that ended a rollback. The LSN is that of the transaction's last record; SQL Server writes the record's that it was undoing.
        undo_failed(database: &str, lsn: vlf::Lsn) = 3314, 21, 3, "During undoing of a logged operation in database '{database}', an error occurred at log record ID ({lsn}). Typically, the specific failure is logged previously as an error in the operating system error log. Restore the database or file from a backup, or repair the database.";
        /// 3414, after the error that ended a database's recovery.
        recovery_failed(database: &str, database_id: u16) = 3414, 21, 1, "An error occurred during recovery, preventing the database '{database}' ({database_id}:0) from restarting. Diagnose the recovery errors and fix them, or restore from a known good backup. If errors are not corrected or expected, contact Technical Support.";
        /// 3420: a page could not be kept for a snapshot, which is of no use from then on.
        snapshot_is_lost(name: &str) = 3420, 21, 1, "Database snapshot '{name}' has failed an IO operation and is marked suspect. It must be dropped and recreated.";
        /// 3449: what failed was a system database's log; the instance stops.
        must_shut_down(database_id: u16) = 3449, 21, 1, "SQL Server must shut down in order to recover a database (database ID {database_id}). The database is either a user database that could not be shut down or a system database. Restart SQL Server. If the database fails to recover after another startup, repair or restore the database.";
        /// 3617: the client cancelled the batch, or the server is shutting down.
        cancelled() = 3617, 11, 0, "Operation cancelled by user.";
        /// 3624: a rule of our own code did not hold; the session ends, the server goes on. `what` stands behind SQL Server's words: no
        /// dump says it.
        assertion(what: &str) = 3624, 20, 1, "A system assertion check has failed. Check the SQL Server error log for details. Typically, an assertion failure is caused by a software bug or data corruption. To check for database corruption, consider running DBCC CHECKDB. ({what})";
        /// 3701: nothing to drop.
        cannot_drop(kind: &str, name: &str) = 3701, 11, 1, "Cannot drop the {kind} '{name}', because it does not exist or you do not have permission.";
        /// 3702: it is in use.
        database_in_use(name: &str) = 3702, 16, 3, "Cannot drop database \"{name}\" because it is currently in use.";
        /// 3708: system databases stay.
        cannot_drop_system_database(name: &str) = 3708, 16, 5, "Cannot drop the database '{name}' because it is a system database.";
        /// 3420: a page could not be kept for a copy, which is of no use from then on.
        copy_is_lost(name: &str) = 3420, 21, 2, "Database copy '{name}' has failed an IO operation and is marked suspect. It must be dropped and recreated.";
        /// 3709: a database that has snapshots stays.
        has_snapshot(what: &str, snapshot: &str) = 3709, 16, 1, "Cannot {what} the database while the database snapshot \"{snapshot}\" refers to it. Drop that database first.";
        /// 3709: a database that has copies stays.
        has_copy(what: &str, copy: &str) = 3709, 16, 2, "Cannot {what} the database while the database copy \"{copy}\" refers to it. Drop that database first.";
        /// 3960: a row was changed since the snapshot of the transaction that wants to change it.
        update_conflict(table: &str, database: &str) = 3960, 16, 2, "Snapshot isolation transaction aborted due to update conflict. You cannot use snapshot isolation to access table '{table}' directly or indirectly in database '{database}' to update, delete, or insert the row that has been modified or deleted by another transaction. Retry the transaction or change the isolation level for the update/delete statement.";
        /// 5009: REMOVE FILE of a file that the database does not have.
        no_file_to_remove() = 5009, 16, 9, "One or more files listed in the statement could not be found or could not be initialized.";
        /// 5011: there is no such database.
        no_database_to_alter(name: &str) = 5011, 14, 5, "User does not have permission to alter database '{name}', the database does not exist, or the database is not in a state that allows access checks.";
        /// 5014: a file that the base of a snapshot does not have.
        no_file_of_base(file: &str, database: &str) = 5014, 16, 3, "The file '{file}' does not exist in database '{database}'.";
        /// 5016: system databases keep their names.
        cannot_rename_system_database(name: &str) = 5016, 16, 1, "Cannot change the name of the system database {name}.";
        /// 5020: no log file has that number.
        no_such_log_file(file_id: u16) = 5020, 16, 1, "The database has no log file with ID {file_id}.";
        /// 5020: the first log file belongs to its database for good.
        primary_file_stays() = 5020, 16, 1, "The primary data or log file cannot be removed from a database.";
        /// 5039: MODIFY FILE makes a file larger, never smaller.
        size_not_larger() = 5039, 16, 1, "MODIFY FILE failed. Specified size is less than or equal to current size.";
        /// 5040: MODIFY FILE with a size above the file's MAXSIZE.
        size_above_maximum() = 5040, 16, 1, "MODIFY FILE failed. Size is greater than MAXSIZE.";
        /// 5041: no file of that name.
        no_such_file(file: &str) = 5041, 16, 1, "MODIFY FILE failed. File '{file}' does not exist.";
        /// 5031: what says no filegroup has to go somewhere.
        last_file_of_default_filegroup(file: &str) = 5031, 16, 1, "Cannot remove the file '{file}' because it is the only file in the DEFAULT filegroup.";
        /// 5048: the files of a filegroup that is READ_ONLY stay what they are.
        files_of_read_only_filegroup(filegroup: &str, state: u8) = 5048, 16, state, "Cannot add, remove, or modify files in filegroup '{filegroup}'. The filegroup is read-only.";
        /// 5055: a file of such a filegroup is to go, or to become shorter.
        file_is_read_only(file: &str) = 5055, 16, 3, "Cannot add, remove, or modify file '{file}'. The file is read-only.";
        /// 5042: a file still holds something.
        file_is_not_empty(file: &str) = 5042, 16, 1, "The file '{file}' cannot be removed because it is not empty.";
        /// 4860: a file of rows that is not there, or that may not be read.
        no_file_of_rows(path: &str) = 4860, 16, 1, "Cannot bulk load. The file \"{path}\" does not exist or you don't have file access rights.";
        /// 4861: a file of rows, or one for what is wrong in it, that could not be opened.
        cannot_open_file_of_rows(path: &str, cause: &str) = 4861, 16, 1, "Cannot bulk load because the file \"{path}\" could not be opened. Operating system error code {cause}.";
        /// 4862: a file of rows that could not be read.
        cannot_read_file_of_rows(path: &str, cause: &str) = 4862, 16, 1, "Cannot bulk load because the file \"{path}\" could not be read. Operating system error code {cause}.";
        /// 4870: the file for rows with errors could not be written.
        cannot_write_faulty_rows(path: &str, cause: &str) = 4870, 16, 1, "Cannot bulk load because of an error writing file \"{path}\". Operating system error code {cause}.";
        /// 5052: a restore is not finished.
        alter_while_restoring() = 5052, 16, 1, "ALTER DATABASE is not permitted while a database is in the Restoring state.";
        /// 5058: an option that a database cannot have.
        option_refused(database: &str, option: &str) = 5058, 16, 1, "Option '{option}' cannot be set in database '{database}'.";
        /// 5061: a session stays in a database that has to be left.
        database_not_locked(database: &str) = 5061, 16, 1, "ALTER DATABASE failed because a lock could not be placed on database '{database}'. Try again later.";
        /// 5093: a snapshot stays as it was made.
        not_on_a_snapshot() = 5093, 16, 1, "The operation cannot be performed on a database snapshot.";
        /// 5093: the files of a copy are those that it was made with.
        not_on_a_copy() = 5093, 16, 2, "The operation cannot be performed on a database copy, which reads unchanged pages from its source.";
        /// 5094: a database that has copies stays what they read.
        not_beside_copies() = 5094, 16, 2, "The operation cannot be performed on a database with database copies.";
        /// 5094: a database that has snapshots stays what they are of.
        not_beside_snapshots() = 5094, 16, 1, "The operation cannot be performed on a database with database snapshots or active DBCC replicas.";
        /// 5103: a new file whose SIZE is above its MAXSIZE.
        maximum_below_size(file: &str) = 5103, 16, 1, "MAXSIZE cannot be less than SIZE for file '{file}'.";
        /// 5105: a path that cannot be one.
        file_activation(path: &str) = 5105, 16, 2, "A file activation error occurred. The physical file name '{path}' may be incorrect. Diagnose and correct additional errors, and retry the operation.";
        /// 5123: a physical file could not be created.
        cannot_create_file(path: &str, cause: &str) = 5123, 16, 1, "CREATE FILE encountered operating system error {cause} while attempting to open or create the physical file '{path}'.";
        /// 5127: a file of the base for which a snapshot has none.
        missing_snapshot_file(file: &str) = 5127, 16, 1, "All files must be specified for database snapshot creation. Missing the file \"{file}\".";
        /// 5128: a page could not be kept for a snapshot.
        sparse_file_full(path: &str) = 5128, 17, 2, "Write to sparse file '{path}' failed due to lack of disk space.";
        /// 5144: a file did not grow because the request that needed it was stopped.
        cancelled_growth(file: &str, database: &str, elapsed_ms: u64) = 5144, 10, 2, "Autogrow of file '{file}' in database '{database}' was cancelled by user or timed out after {elapsed_ms} milliseconds. Use ALTER DATABASE to set a smaller FILEGROWTH value for this file or to explicitly set a new file size.";
        /// 5145: an automatic growth took long; for the error log.
        slow_growth(file: &str, database: &str, elapsed_ms: u64) = 5145, 10, 1, "Autogrow of file '{file}' in database '{database}' took {elapsed_ms} milliseconds. Consider using ALTER DATABASE to set a smaller FILEGROWTH for this file.";
        /// 5149: a file could not be grown.
        cannot_grow_file(path: &str, cause: &str) = 5149, 16, 3, "MODIFY FILE encountered operating system error {cause} while attempting to expand the physical file '{path}'.";
        /// 5150: a log file ends at 2 TB.
        log_file_too_large() = 5150, 16, 2, "The size of a single log file must not be greater than 2 TB.";
        /// 5169: FILEGROWTH above MAXSIZE.
        growth_above_maximum(file: &str) = 5169, 16, 1, "FILEGROWTH cannot be greater than MAXSIZE for file '{file}'.";
        /// 5170: the file is there already.
        file_exists(path: &str) = 5170, 16, 1, "Cannot create file '{path}' because it already exists. Change the file path or the file name, and retry the operation.";
        /// 5171: a file is not a data file of ours, or its header page is damaged.
        not_a_data_file(path: &str) = 5171, 16, 1, "{path} is not a primary database file.";
        /// 5173: a data file belongs to another database or has another file id.
        file_of_another_database() = 5173, 16, 1, "One or more files do not match the primary file of the database. If you are attempting to attach a database, retry the operation with the correct files. If this is an existing database, the file may be corrupted and should be restored from a backup.";
        /// 5174: a log file has a smallest size.
        log_file_too_small(kilobytes_min: u64) = 5174, 16, 1, "Each file size must be greater than or equal to {kilobytes_min} KB.";
        /// 5174: a file below the least size.
        file_too_small() = 5174, 16, 1, "Each file size must be greater than or equal to 512 KB.";
        /// 6005: what is not done by now is not done any more. The documentation lists it with severity 10, a message; here the statement has
        /// failed, so it is an error, of severity 14 as SQL Server raises it.
        shutdown_in_progress() = 6005, 14, 2, "SHUTDOWN is in progress.";
        /// 7119: a string would be longer than 2^31-1 bytes.
        string_too_long() = 7119, 16, 1, "Attempting to grow LOB beyond maximum allowed size of 2147483647 bytes.";
        /// 8115: a value too large for its type.
        arithmetic_overflow(from: &str, to: &str) = 8115, 16, 2, "Arithmetic overflow error converting {from} to data type {to}.";
        /// 8655: the index cannot be used.
        index_is_disabled(index: &str, table: &str) = 8655, 16, 1, "The query processor is unable to produce a plan because the index '{index}' on table or view '{table}' is disabled.";
        /// 9001: the log was closed after a failed write; the database must be restarted.
        log_not_available(database: &str) = 9001, 21, 1, "The log for database '{database}' is not available. Check the operating system error log for related error messages. Resolve any errors and restart the database.";
        /// 9002: the log is full; `reason` is the name in `log_reuse_wait_desc`.
        log_full(database: &str, reason: &str) = 9002, 17, 2, "The transaction log for database '{database}' is full due to '{reason}'.";
        /// 9003: a log position was asked for that the log does not hold.
        log_position_invalid(lsn: &str, database: &str) = 9003, 20, 9, "The log scan number ({lsn}) passed to log scan in database '{database}' is not valid. This error may indicate data corruption or that the log file (.ldf) does not match the data file (.mdf). If this error occurred during replication, re-create the publication. Otherwise, restore from backup if the problem results in a failure during startup.";
        /// 9004: the log's bytes contradict themselves. `detail` names the place and the fault.
        log_damaged(database: &str, detail: &str) = 9004, 21, 6, "An error occurred while processing the log for database '{database}'.  If possible, restore from backup. If a backup is not available, it might be necessary to rebuild the log. ({detail})";
        /// 15123: no such configuration option.
        no_such_option(name: &str) = 15123, 16, 1, "The configuration option '{name}' does not exist, or it may be an advanced option.";
        /// 15129: a value outside its option's range.
        option_value(value: i64, name: &str) = 15129, 16, 1, "'{value}' is not a valid value for configuration option '{name}'.";
        /// 17049: the files of the error log could not be cycled.
        cannot_cycle_errorlog(from: &str, to: &str, cause: &str) = 17049, 16, 1, "Unable to cycle error log file from '{from}' to '{to}' due to OS error '{cause}'. A process outside of SQL Server may be preventing SQL Server from reading the files. As a result, errorlog entries may be lost and it may not be possible to view some SQL Server errorlogs. Make sure no other processes have locked the file with write-only access.";
        /// 17053: the operating system failed a call; for the error log.
        operating_system(what: &str, cause: &str) = 17053, 16, 1, "{what}: Operating system error {cause} encountered.";
        /// 17113: master's file cannot be used at the start.
        master_not_usable(path: &str, cause: &str) = 17113, 16, 1, "Error {cause} occurred while opening file '{path}' to obtain configuration information at startup. An invalid startup option might have caused the error. Verify your startup options, and correct or remove them if necessary.";
        /// 17204: a file of a database could not be opened at startup; for the error log.
        file_open_failed(path: &str, file_id: u16, cause: &str) = 17204, 16, 1, "FCB::Open failed: Could not open file {path} for file number {file_id}.  OS error: {cause}.";
        /// 17809: every session number is in use.
        connection_limit(sessions_max: usize) = 17809, 20, 1, "Could not connect because the maximum number of '{sessions_max}' user connections has already been reached. The system administrator can use sp_configure to increase the maximum value. The connection has been closed.";
        /// 40544: a copy has as many pages of its own as its MAXSIZE allows (sql-docs, "Resource governance errors", Azure SQL Database).
        size_quota_reached(database: &str) = 40544, 17, 1, "The database '{database}' has reached its size quota. Partition or delete data, drop indexes, or consult the documentation for possible resolutions.";
    }

    /// With another error said behind all that is said of this one.
    #[must_use]
    pub fn followed_by(mut self, other: Error) -> Error {
        self.after = Some(Box::new(match self.after.take() {
            Some(after) => after.followed_by(other),
            None => other,
        }));
        self
    }

    /// 824: a row was read whose offsets contradict themselves, on a page whose checksum was right.
    pub fn damaged_row(what: &str) -> Error {
        Error::damaged_content(&format!("damaged row ({what})"))
    }

    /// 1946: the key of a row is longer than an index may hold.
    pub fn index_key_too_long(key_bytes: usize, index: &str, is_clustered: bool) -> Error {
        let (limit_bytes, kind) = if is_clustered {
            (900, "clustered")
        } else {
            (1_700, "nonclustered")
        };
        let text = format!(
            "Operation failed. The index entry of length {key_bytes} bytes for the index '{index}' exceeds the maximum length of \
             {limit_bytes} bytes for {kind} indexes."
        );
        Error::new(1946, 16, 3, text)
    }

    /// State of 1946 when a tree, which does not know its index's name, finds an entry too long.
    pub const STATE_OF_TREE: u8 = 4;

    /// 1946: an entry, with all that it holds to be found, is longer than a tree can hold.
    pub fn tree_entry_too_long(entry_bytes: usize, limit_bytes: usize) -> Error {
        let text = format!(
            "Operation failed. The index entry of length {entry_bytes} bytes for the index exceeds the maximum length of \
             {limit_bytes} bytes for index entries."
        );
        Error::new(1946, 16, Error::STATE_OF_TREE, text)
    }

    /// 2627 for a constraint, 2601 for a unique index: the key, as [`crate::types::key_text`] writes it, is there already.
    pub fn duplicate_key(primary: bool, constraint: bool, index: &str, table: &str, key: &str) -> Error {
        if !primary && !constraint {
            let text = format!(
                "Cannot insert duplicate key row in object '{table}' with unique index '{index}'. The duplicate key value is {key}."
            );
            return Error::new(2601, 14, 1, text);
        }
        let kind = if primary { "PRIMARY KEY" } else { "UNIQUE KEY" };
        let text = format!(
            "Violation of {kind} constraint '{index}'. Cannot insert duplicate key in object '{table}'. The duplicate key value is {key}."
        );
        Error::new(2627, 14, 1, text)
    }

    /// A duplicate key that an index under construction met is 1505 (Database engine errors, sql-docs).
    #[must_use]
    pub fn while_building_index(self, table: &str, index: &str) -> Error {
        if !matches!(self.number, 2601 | 2627) {
            return self;
        }
        let key = self
            .message
            .find("The duplicate key value is")
            .map_or("", |at| &self.message[at..]);
        let text = format!(
            "The CREATE UNIQUE INDEX statement terminated because a duplicate key was found for the object name '{table}' and the index name '{index}'. {key}"
        );
        Error::new(1505, 16, 1, text)
    }

    /// The number of [`Error::definition_changed`].
    pub const DEFINITION_CHANGED: i32 = 2801;

    /// 2801: what a statement was made from is not what the catalog has by now.
    pub fn definition_changed(name: &str) -> Error {
        let text = format!("The definition of object '{name}' has changed since it was compiled.");
        Error::new(Error::DEFINITION_CHANGED, 16, 1, text)
    }

    /// Whether this is [`Error::shutdown_in_progress`].
    pub fn is_shutdown_in_progress(&self) -> bool {
        self.number == 6005
    }

    /// 5120: a physical file could not be opened. `cause` as [`Error::cause`] writes it, its number first.
    pub fn cannot_open_file(path: &str, cause: &str) -> Error {
        let number = cause.split('(').next().unwrap_or_default();
        let text =
            format!("Unable to open the physical file \"{path}\". Operating system error {number}: \"{cause}\".");
        Error::new(5120, 16, 101, text)
    }

    /// 9006: a shrink stops at the smallest number of VLFs.
    pub fn shrink_needs_vlfs(file_id: u16, file: &str, vlfs_min: usize) -> Error {
        let why = format!("total number of logical log files cannot be fewer than {vlfs_min}");
        Error::shrink_refused(9006, file_id, file, &why)
    }

    /// 9007: the size asked for lies inside the last VLF.
    pub fn shrink_target_in_last_vlf(file_id: u16, file: &str, requested_kb: u64) -> Error {
        let why = format!("requested size ({requested_kb}KB) is larger than the start of the last logical log file");
        Error::shrink_refused(9007, file_id, file, &why)
    }

    /// 9008: the last VLF holds log still needed.
    pub fn shrink_end_in_use(file_id: u16, file: &str) -> Error {
        let why = "the logical log file located at the end of the file is in use";
        Error::shrink_refused(9008, file_id, file, why)
    }

    /// 9009: a rollback may need the space.
    pub fn shrink_needs_log_space(file_id: u16, file: &str) -> Error {
        Error::shrink_refused(9009, file_id, file, "of minimum log space required")
    }

    fn shrink_refused(number: i32, file_id: u16, file: &str, why: &str) -> Error {
        let text = format!("Cannot shrink log file {file_id} ({file}) because {why}.");
        Error::new(number, 10, 1, text)
    }

    /// The operating system's own error as SQL Server quotes it: `112(There is not enough space on the disk.)`.
    pub fn cause(error: &DiskError) -> String {
        match error.kind {
            DiskErrorKind::DiskFull => "112(There is not enough space on the disk.)".to_string(),
            DiskErrorKind::NotFound => "2(The system cannot find the file specified.)".to_string(),
            DiskErrorKind::Deleted => {
                "2(The system cannot find the file specified. It was deleted, moved or replaced while it was open.)".to_string()
            }
            DiskErrorKind::AlreadyExists => "80(The file exists.)".to_string(),
            DiskErrorKind::NotAFile => "5(Access is denied. What has this name is not a regular file.)".to_string(),
            DiskErrorKind::Outside => {
                "5(Access is denied. The path lies outside the folders this server may use: its own, and those named by --allow-path.)"
                    .to_string()
            }
            DiskErrorKind::PermissionDenied => "5(Access is denied.)".to_string(),
            DiskErrorKind::InUse => {
                "32(The process cannot access the file because it is being used by another process.)".to_string()
            }
            DiskErrorKind::UnexpectedEnd => "38(Reached the end of the file.)".to_string(),
            // ERROR_OPERATION_ABORTED
            DiskErrorKind::Cancelled => {
                "995(The I/O operation has been aborted because of either a thread exit or an application request.)"
                    .to_string()
            }
            DiskErrorKind::Io | DiskErrorKind::PowerCut => format!("1117({error})"),
        }
    }

    /// Of a 1105 that names the heap or tree which wants room by its number: the number.
    pub fn unit_without_room(&self) -> Option<u32> {
        let named = self.message.strip_prefix("Could not allocate space for object '")?;
        let named = named.split('\'').next().filter(|_| self.number == 1105)?;
        named.parse().ok()
    }

    /// True for 1101 and 1105: no data file has room.
    pub fn is_data_full(&self) -> bool {
        matches!(self.number, 1101 | 1105)
    }

    /// True for 9002, the one error that a rollback must never meet.
    pub fn is_log_full(&self) -> bool {
        self.number == 9002
    }
}

/// A step that failed, of which one must know whether it may have become durable all the same.
#[derive(Debug)]
pub struct NotStored {
    pub error: Error,
    /// True when only the next start can tell whether it is durable.
    pub is_unknown: bool,
}

impl From<NotStored> for Error {
    fn from(failed: NotStored) -> Error {
        failed.error
    }
}

impl From<Error> for NotStored {
    /// An error before anything could become durable.
    fn from(error: Error) -> NotStored {
        NotStored {
            error,
            is_unknown: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_log_names_the_database_and_the_reason() {
        let error = Error::log_full("vlf", "ACTIVE_TRANSACTION");
        assert!(error.is_log_full());
        assert_eq!(
            error.to_string(),
            "Msg 9002, Level 17, State 2: The transaction log for database 'vlf' is full due to 'ACTIVE_TRANSACTION'."
        );
    }
}
