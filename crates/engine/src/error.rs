//! One error type for the whole engine: SQL Server's number, severity, state and words.
//!
//! Every way to fail has a constructor here, named for what happened and sorted by number, so that one file holds all the
//! sentences a client can read. Texts follow Microsoft's list of "Database Engine events and errors" (sql-docs); where a
//! text of ours has no counterpart there, its number is 50000 or above and the sentence says what, where and what to do.
//!
//! Severity decides what happens to the batch: up to 10 is a message, 11 to 16 the statement's fault, 17 lack of resources,
//! 20 and above ends the session.

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

    /// With another error said behind all that is said of this one.
    #[must_use]
    pub fn followed_by(mut self, other: Error) -> Error {
        self.after = Some(Box::new(match self.after.take() {
            Some(after) => after.followed_by(other),
            None => other,
        }));
        self
    }

    /// 208: no such table, view or other object.
    pub fn invalid_object(name: &str) -> Error {
        Error::new(208, 16, 1, format!("Invalid object name '{name}'."))
    }

    /// 219: the name of a type is taken.
    pub fn type_exists(name: &str) -> Error {
        let text = format!("The type '{name}' already exists, or you do not have permission to create it.");
        Error::new(219, 16, 1, text)
    }

    /// 511: a row is longer than a page can hold.
    pub fn row_too_long(row_bytes: usize, limit_bytes: usize) -> Error {
        let text = format!(
            "Cannot create a row of size {row_bytes} which is greater than the allowable maximum row size of {limit_bytes}."
        );
        Error::new(511, 16, 1, text)
    }

    /// 701: every page frame is in use at once.
    pub fn insufficient_memory() -> Error {
        let text = "There is insufficient system memory in resource pool 'default' to run this query.";
        Error::new(701, 17, 123, text)
    }

    /// 7119: a string would be longer than 2^31-1 bytes.
    pub fn string_too_long() -> Error {
        let text = "Attempting to grow LOB beyond maximum allowed size of 2147483647 bytes.";
        Error::new(7119, 16, 1, text)
    }

    /// 823: the operating system failed a read or write of a data file.
    pub fn data_file_io(operation: &str, offset: u64, path: &str, cause: &str) -> Error {
        let text = format!(
            "The operating system returned error {cause} to SQL Server during a {operation} at offset {offset:#016x} in file \
             '{path}'. Additional messages in the SQL Server error log and operating system error log may provide more detail. \
             This is a severe system-level error condition that threatens database integrity and must be corrected immediately. \
             Complete a full database consistency check (DBCC CHECKDB). This error can be caused by many factors; for more \
             information, see SQL Server Books Online."
        );
        Error::new(823, 24, 2, text)
    }

    /// 824: a page was read whose content contradicts itself (checksum, page id, structure). `offset` is where it begins in its file,
    /// in bytes.
    pub fn damaged_page(what: &str, page: &str, database_id: u16, offset: u64, path: &str) -> Error {
        let text = format!(
            "SQL Server detected a logical consistency-based I/O error: {what}. It occurred during a read of page {page} in \
             database ID {database_id} at offset {offset:#016x} in file '{path}'.  Additional messages in the SQL Server error log \
             or operating system error log may provide more detail. This is a severe error condition that threatens database \
             integrity and must be corrected immediately. Complete a full database consistency check (DBCC CHECKDB). This error \
             can be caused by many factors; for more information, see SQL Server Books Online."
        );
        Error::new(824, 24, 2, text)
    }

    /// 601: what a reader without locks was to read next is not there any more.
    pub fn data_movement() -> Error {
        Error::new(601, 12, 1, "Could not continue scan with NOLOCK due to data movement.")
    }

    /// 824: a row was read whose offsets contradict themselves, on a page whose checksum was right.
    pub fn damaged_row(what: &str) -> Error {
        Error::damaged_content(&format!("damaged row ({what})"))
    }

    /// 824: what sound pages hold contradicts itself; which page it was is not known any more.
    pub fn damaged_content(what: &str) -> Error {
        let text = format!(
            "SQL Server detected a logical consistency-based I/O error: {what}. Additional messages in the SQL Server error log or \
             operating system error log may provide more detail. This is a severe error condition that threatens database \
             integrity and must be corrected immediately. Complete a full database consistency check (DBCC CHECKDB). This error \
             can be caused by many factors; for more information, see SQL Server Books Online."
        );
        Error::new(824, 24, 3, text)
    }

    /// 8655: the index cannot be used.
    pub fn index_is_disabled(index: &str, table: &str) -> Error {
        let text = format!(
            "The query processor is unable to produce a plan because the index '{index}' on table or view '{table}' is disabled."
        );
        Error::new(8655, 16, 1, text)
    }

    /// 911: there is no such database.
    pub fn no_such_database(name: &str) -> Error {
        let text = format!("Database '{name}' does not exist. Make sure that the name is entered correctly.");
        Error::new(911, 16, 1, text)
    }

    /// 924: SINGLE_USER, and another session is that user.
    pub fn single_user(name: &str) -> Error {
        let text = format!("Database '{name}' is already open and can only have one user at a time.");
        Error::new(924, 14, 1, text)
    }

    /// 948: the files were written by a later version of this program.
    pub fn database_too_new(name: &str, version: u32, newest: u32) -> Error {
        let text = format!(
            "The database '{name}' cannot be opened because it is version {version}. This server supports version {newest} and earlier. A downgrade path is not supported."
        );
        Error::new(948, 20, 1, text)
    }

    /// 950: the files were written before the first release.
    pub fn database_too_old(name: &str, version: u32) -> Error {
        let text = format!(
            "Database '{name}' cannot be upgraded because its non-release version ({version}) is not supported by this version of SQL Server. You cannot open a database that is incompatible with this version of sqlservr.exe. You must re-create the database."
        );
        Error::new(950, 20, 1, text)
    }

    /// 926: recovery failed; the error log says why.
    pub fn suspect(name: &str) -> Error {
        let text = format!(
            "Database '{name}' cannot be opened. It has been marked SUSPECT by recovery. See the SQL Server errorlog for more information."
        );
        Error::new(926, 14, 1, text)
    }

    /// 927: a restore is not finished.
    pub fn restoring(name: &str) -> Error {
        let text = format!("Database '{name}' cannot be opened. It is in the middle of a restore.");
        Error::new(927, 14, 2, text)
    }

    /// 942: set offline.
    pub fn offline(name: &str) -> Error {
        Error::new(
            942,
            14,
            4,
            format!("Database '{name}' cannot be opened because it is offline."),
        )
    }

    /// 945: files are missing or there is no room; the error log says which.
    pub fn inaccessible(name: &str) -> Error {
        let text = format!(
            "Database '{name}' cannot be opened due to inaccessible files or insufficient memory or disk space.  See the SQL Server errorlog for details."
        );
        Error::new(945, 14, 2, text)
    }

    /// 1101: no page could be allocated because the disk is full.
    pub fn disk_full_for_page(database: &str, filegroup: &str) -> Error {
        let text = format!(
            "Could not allocate a new page for database '{database}' because of insufficient disk space in filegroup \
             '{filegroup}'. Create the necessary space by dropping objects in the filegroup, adding additional files to the \
             filegroup, or setting autogrowth on for existing files in the filegroup."
        );
        Error::new(1101, 17, 12, text)
    }

    /// 1105: a filegroup is full and may not grow.
    pub fn filegroup_full(object: &str, database: &str, filegroup: &str) -> Error {
        let text = format!(
            "Could not allocate space for object '{object}' in database '{database}' because the '{filegroup}' filegroup is \
             full. Create disk space by deleting unneeded files, dropping objects in the filegroup, adding additional files to \
             the filegroup, or setting autogrowth on for existing files in the filegroup."
        );
        Error::new(1105, 17, 2, text)
    }

    /// 1205: this transaction was chosen as the deadlock victim.
    pub fn deadlock_victim(session: u16) -> Error {
        let text = format!(
            "Transaction (Process ID {session}) was deadlocked on lock resources with another process and has been chosen as \
             the deadlock victim. Rerun the transaction."
        );
        Error::new(1205, 13, 51, text)
    }

    /// 1222: a lock was not granted within LOCK_TIMEOUT.
    pub fn lock_timeout() -> Error {
        Error::new(1222, 16, 51, "Lock request time out period exceeded.")
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

    /// 1801: the name is taken.
    pub fn database_exists(name: &str) -> Error {
        let text = format!("Database '{name}' already exists. Choose a different database name.");
        Error::new(1801, 16, 3, text)
    }

    /// 1802: CREATE DATABASE failed; the errors before say why.
    pub fn create_database_failed() -> Error {
        let text = "CREATE DATABASE failed. Some file names listed could not be created. Check related errors.";
        Error::new(1802, 16, 4, text)
    }

    /// 1803: the primary file cannot hold what every database holds.
    pub fn primary_file_too_small(megabytes: u64) -> Error {
        let text = format!(
            "The CREATE DATABASE statement failed. The primary file must be at least {megabytes} MB to accommodate a copy of the model database."
        );
        Error::new(1803, 16, 1, text)
    }

    /// 1828: two files of one database have one logical name.
    pub fn duplicate_file_name(name: &str) -> Error {
        let text = format!("The logical file name \"{name}\" is already in use. Choose a different name.");
        Error::new(1828, 16, 3, text)
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

    /// 2714: the name is taken.
    pub fn object_exists(name: &str) -> Error {
        Error::new(
            2714,
            16,
            6,
            format!("There is already an object named '{name}' in the database."),
        )
    }

    /// 3624: a rule of our own code did not hold; the session ends, the server goes on. `what` stands behind SQL Server's words: no
    /// dump says it.
    pub fn assertion(what: &str) -> Error {
        let text = format!(
            "A system assertion check has failed. Check the SQL Server error log for details. Typically, an assertion failure is \
             caused by a software bug or data corruption. To check for database corruption, consider running DBCC CHECKDB. ({what})"
        );
        Error::new(3624, 20, 1, text)
    }

    /// 6005: what is not done by now is not done any more. The documentation lists it with severity 10, a message; here the statement has
    /// failed, so it is an error, of severity 14 as SQL Server raises it.
    pub fn shutdown_in_progress() -> Error {
        Error::new(6005, 14, 2, "SHUTDOWN is in progress.")
    }

    /// Whether this is [`Error::shutdown_in_progress`].
    pub fn is_shutdown_in_progress(&self) -> bool {
        self.number == 6005
    }

    /// 3617: the client cancelled the batch, or the server is shutting down.
    pub fn cancelled() -> Error {
        Error::new(3617, 11, 0, "Operation cancelled by user.")
    }

    /// 5020: no log file has that number.
    pub fn no_such_log_file(file_id: u16) -> Error {
        Error::new(5020, 16, 1, format!("The database has no log file with ID {file_id}."))
    }

    /// 5020: the first log file belongs to its database for good.
    pub fn primary_file_stays() -> Error {
        Error::new(
            5020,
            16,
            1,
            "The primary data or log file cannot be removed from a database.",
        )
    }

    /// 5042: a file still holds something.
    pub fn file_is_not_empty(file: &str) -> Error {
        Error::new(
            5042,
            16,
            1,
            format!("The file '{file}' cannot be removed because it is not empty."),
        )
    }

    /// 3701: nothing to drop.
    pub fn cannot_drop(kind: &str, name: &str) -> Error {
        let text = format!("Cannot drop the {kind} '{name}', because it does not exist or you do not have permission.");
        Error::new(3701, 11, 1, text)
    }

    /// 952: it was closed, or opened again, since the statement found it.
    pub fn in_transition(name: &str) -> Error {
        let text = format!("Database '{name}' is in transition. Try the statement later.");
        Error::new(952, 16, 1, text)
    }

    /// 3023: files change, and are backed up, one after the other.
    pub fn beside_backup() -> Error {
        let text = "Backup, file manipulation operations (such as ALTER DATABASE ADD FILE) and encryption changes on a database must be \
                    serialized. Reissue the statement after the current backup or file manipulation operation is completed.";
        Error::new(3023, 16, 2, text)
    }

    /// 5011: there is no such database.
    pub fn no_database_to_alter(name: &str) -> Error {
        let text = format!(
            "User does not have permission to alter database '{name}', the database does not exist, or the database is not in a state that allows access checks."
        );
        Error::new(5011, 14, 5, text)
    }

    /// 5052: a restore is not finished.
    pub fn alter_while_restoring() -> Error {
        let text = "ALTER DATABASE is not permitted while a database is in the Restoring state.";
        Error::new(5052, 16, 1, text)
    }

    /// 5016: system databases keep their names.
    pub fn cannot_rename_system_database(name: &str) -> Error {
        let text = format!("Cannot change the name of the system database {name}.");
        Error::new(5016, 16, 1, text)
    }

    /// 3702: it is in use.
    pub fn database_in_use(name: &str) -> Error {
        let text = format!("Cannot drop database \"{name}\" because it is currently in use.");
        Error::new(3702, 16, 3, text)
    }

    /// 3708: system databases stay.
    pub fn cannot_drop_system_database(name: &str) -> Error {
        let text = format!("Cannot drop the database '{name}' because it is a system database.");
        Error::new(3708, 16, 5, text)
    }

    /// 3414, after the error that ended a database's recovery.
    pub fn recovery_failed(database: &str, database_id: u16) -> Error {
        let text = format!(
            "An error occurred during recovery, preventing the database '{database}' ({database_id}:0) from restarting. Diagnose the recovery errors and fix them, or restore from a known good backup. If errors are not corrected or expected, contact Technical Support."
        );
        Error::new(3414, 21, 1, text)
    }

    /// 5039: MODIFY FILE makes a file larger, never smaller.
    pub fn size_not_larger() -> Error {
        let text = "MODIFY FILE failed. Specified size is less than or equal to current size.";
        Error::new(5039, 16, 1, text)
    }

    /// 5040: MODIFY FILE with a size above the file's MAXSIZE.
    pub fn size_above_maximum() -> Error {
        Error::new(5040, 16, 1, "MODIFY FILE failed. Size is greater than MAXSIZE.")
    }

    /// 5103: a new file whose SIZE is above its MAXSIZE.
    pub fn maximum_below_size(file: &str) -> Error {
        Error::new(
            5103,
            16,
            1,
            format!("MAXSIZE cannot be less than SIZE for file '{file}'."),
        )
    }

    /// 5041: no file of that name.
    pub fn no_such_file(file: &str) -> Error {
        Error::new(
            5041,
            16,
            1,
            format!("MODIFY FILE failed. File '{file}' does not exist."),
        )
    }

    /// 5009: REMOVE FILE of a file that the database does not have.
    pub fn no_file_to_remove() -> Error {
        let text = "One or more files listed in the statement could not be found or could not be initialized.";
        Error::new(5009, 16, 9, text)
    }

    /// 5105: a path that cannot be one.
    pub fn file_activation(path: &str) -> Error {
        Error::new(
            5105,
            16,
            2,
            format!(
                "A file activation error occurred. The physical file name '{path}' may be incorrect. Diagnose and correct \
                 additional errors, and retry the operation."
            ),
        )
    }

    /// 5120: a physical file could not be opened. `cause` as [`Error::cause`] writes it, its number first.
    pub fn cannot_open_file(path: &str, cause: &str) -> Error {
        let number = cause.split('(').next().unwrap_or_default();
        let text =
            format!("Unable to open the physical file \"{path}\". Operating system error {number}: \"{cause}\".");
        Error::new(5120, 16, 101, text)
    }

    /// 5123: a physical file could not be created.
    pub fn cannot_create_file(path: &str, cause: &str) -> Error {
        let text = format!(
            "CREATE FILE encountered operating system error {cause} while attempting to open or create the physical file '{path}'."
        );
        Error::new(5123, 16, 1, text)
    }

    /// 17049: the files of the error log could not be cycled.
    pub fn cannot_cycle_errorlog(from: &str, to: &str, cause: &str) -> Error {
        let text = format!(
            "Unable to cycle error log file from '{from}' to '{to}' due to OS error '{cause}'. A process outside of SQL Server may be \
             preventing SQL Server from reading the files. As a result, errorlog entries may be lost and it may not be possible to view \
             some SQL Server errorlogs. Make sure no other processes have locked the file with write-only access."
        );
        Error::new(17049, 16, 1, text)
    }

    /// 5145: an automatic growth took long; for the error log.
    pub fn slow_growth(file: &str, database: &str, elapsed_ms: u64) -> Error {
        let text = format!(
            "Autogrow of file '{file}' in database '{database}' took {elapsed_ms} milliseconds. Consider using ALTER DATABASE to \
             set a smaller FILEGROWTH for this file."
        );
        Error::new(5145, 10, 1, text)
    }

    /// 5144: a file did not grow because the request that needed it was stopped.
    pub fn cancelled_growth(file: &str, database: &str, elapsed_ms: u64) -> Error {
        let text = format!(
            "Autogrow of file '{file}' in database '{database}' was cancelled by user or timed out after {elapsed_ms} \
             milliseconds. Use ALTER DATABASE to set a smaller FILEGROWTH value for this file or to explicitly set a new file size."
        );
        Error::new(5144, 10, 2, text)
    }

    /// 5149: a file could not be grown.
    pub fn cannot_grow_file(path: &str, cause: &str) -> Error {
        let text = format!(
            "MODIFY FILE encountered operating system error {cause} while attempting to expand the physical file '{path}'."
        );
        Error::new(5149, 16, 3, text)
    }

    /// 5150: a log file ends at 2 TB.
    pub fn log_file_too_large() -> Error {
        Error::new(
            5150,
            16,
            2,
            "The size of a single log file must not be greater than 2 TB.",
        )
    }

    /// 5169: FILEGROWTH above MAXSIZE.
    pub fn growth_above_maximum(file: &str) -> Error {
        let text = format!("FILEGROWTH cannot be greater than MAXSIZE for file '{file}'.");
        Error::new(5169, 16, 1, text)
    }

    /// 5170: the file is there already.
    pub fn file_exists(path: &str) -> Error {
        let text = format!(
            "Cannot create file '{path}' because it already exists. Change the file path or the file name, and retry the operation."
        );
        Error::new(5170, 16, 1, text)
    }

    /// 5171: a file is not a data file of ours, or its header page is damaged.
    pub fn not_a_data_file(path: &str) -> Error {
        Error::new(5171, 16, 1, format!("{path} is not a primary database file."))
    }

    /// 5173: a data file belongs to another database or has another file id.
    pub fn file_of_another_database() -> Error {
        let text = "One or more files do not match the primary file of the database. If you are attempting to attach a database, \
                    retry the operation with the correct files. If this is an existing database, the file may be corrupted and \
                    should be restored from a backup.";
        Error::new(5173, 16, 1, text)
    }

    /// 5174: a log file has a smallest size.
    pub fn log_file_too_small(kilobytes_min: u64) -> Error {
        let text = format!("Each file size must be greater than or equal to {kilobytes_min} KB.");
        Error::new(5174, 16, 1, text)
    }

    /// 5174: a file below the least size.
    pub fn file_too_small() -> Error {
        Error::new(5174, 16, 1, "Each file size must be greater than or equal to 512 KB.")
    }

    /// 8115: a value too large for its type.
    pub fn arithmetic_overflow(from: &str, to: &str) -> Error {
        Error::new(
            8115,
            16,
            2,
            format!("Arithmetic overflow error converting {from} to data type {to}."),
        )
    }

    /// 9001: the log was closed after a failed write; the database must be restarted.
    pub fn log_not_available(database: &str) -> Error {
        let text = format!(
            "The log for database '{database}' is not available. Check the operating system error log for related error \
             messages. Resolve any errors and restart the database."
        );
        Error::new(9001, 21, 1, text)
    }

    /// 5058: an option that a database cannot have.
    pub fn option_refused(database: &str, option: &str) -> Error {
        let text = format!("Option '{option}' cannot be set in database '{database}'.");
        Error::new(5058, 16, 1, text)
    }

    /// 5061: a session stays in a database that has to be left.
    pub fn database_not_locked(database: &str) -> Error {
        let text = format!(
            "ALTER DATABASE failed because a lock could not be placed on database '{database}'. Try again later."
        );
        Error::new(5061, 16, 1, text)
    }

    /// 3449: what failed was a system database's log; the instance stops.
    pub fn must_shut_down(database_id: u16) -> Error {
        let text = format!(
            "SQL Server must shut down in order to recover a database (database ID {database_id}). The database is either a user \
             database that could not be shut down or a system database. Restart SQL Server. If the database fails to recover \
             after another startup, repair or restore the database."
        );
        Error::new(3449, 21, 1, text)
    }

    /// 9002: the log is full; `reason` is the name in `log_reuse_wait_desc`.
    pub fn log_full(database: &str, reason: &str) -> Error {
        let text = format!("The transaction log for database '{database}' is full due to '{reason}'.");
        Error::new(9002, 17, 2, text)
    }

    /// 9003: a log position was asked for that the log does not hold.
    pub fn log_position_invalid(lsn: &str, database: &str) -> Error {
        let text = format!(
            "The log scan number ({lsn}) passed to log scan in database '{database}' is not valid. This error may indicate data \
             corruption or that the log file (.ldf) does not match the data file (.mdf). If this error occurred during \
             replication, re-create the publication. Otherwise, restore from backup if the problem results in a failure during startup."
        );
        Error::new(9003, 20, 9, text)
    }

    /// 9004: the log's bytes contradict themselves. `detail` names the place and the fault.
    pub fn log_damaged(database: &str, detail: &str) -> Error {
        let text = format!(
            "An error occurred while processing the log for database '{database}'.  If possible, restore from backup. If a \
             backup is not available, it might be necessary to rebuild the log. ({detail})"
        );
        Error::new(9004, 21, 6, text)
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

    /// 15123: no such configuration option.
    pub fn no_such_option(name: &str) -> Error {
        let text = format!("The configuration option '{name}' does not exist, or it may be an advanced option.");
        Error::new(15123, 16, 1, text)
    }

    /// 15129: a value outside its option's range.
    pub fn option_value(value: i64, name: &str) -> Error {
        Error::new(
            15129,
            16,
            1,
            format!("'{value}' is not a valid value for configuration option '{name}'."),
        )
    }

    /// 17053: the operating system failed a call; for the error log.
    pub fn operating_system(what: &str, cause: &str) -> Error {
        Error::new(
            17053,
            16,
            1,
            format!("{what}: Operating system error {cause} encountered."),
        )
    }

    /// 17809: every session number is in use.
    pub fn connection_limit(sessions_max: usize) -> Error {
        let text = format!(
            "Could not connect because the maximum number of '{sessions_max}' user connections has already been reached. The system \
             administrator can use sp_configure to increase the maximum value. The connection has been closed."
        );
        Error::new(17809, 20, 1, text)
    }

    /// 17204: a file of a database could not be opened at startup; for the error log.
    pub fn file_open_failed(path: &str, file_id: u16, cause: &str) -> Error {
        let text =
            format!("FCB::Open failed: Could not open file {path} for file number {file_id}.  OS error: {cause}.");
        Error::new(17204, 16, 1, text)
    }

    /// 17113: master's file cannot be used at the start.
    pub fn master_not_usable(path: &str, cause: &str) -> Error {
        let text = format!(
            "Error {cause} occurred while opening file '{path}' to obtain configuration information at startup. An invalid startup \
             option might have caused the error. Verify your startup options, and correct or remove them if necessary."
        );
        Error::new(17113, 16, 1, text)
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
