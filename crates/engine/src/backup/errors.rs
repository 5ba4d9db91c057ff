//! Errors and messages of BACKUP and RESTORE by number (texts: SQL Server docs, "Database engine events and errors").

use crate::error::Error;
use vlf::Lsn;

fn numeric(lsn: Lsn) -> String {
    lsn.to_numeric().to_string()
}

impl Error {
    crate::messages! { pub fn;
        /// 1834: a file to be restored belongs to another database.
        file_in_use_by_database(path: &str, database: &str) = 1834, 16, 1, "The file '{path}' cannot be overwritten.  It is being used by database '{database}'.";
        /// 3002: a snapshot goes into no backup.
        no_backup_of_snapshot() = 3002, 16, 1, "Cannot BACKUP or RESTORE a database snapshot.";
        /// 3009: beside a backup or restore that is done.
        history_not_written() = 3009, 16, 1, "Could not insert a backup or restore history/detail record in the msdb database. This may indicate a problem with the msdb database. The backup/restore operation was still successful.";
        /// 3013: ends every failed statement.
        terminating_abnormally(statement: &str) = 3013, 16, 1, "{statement} is terminating abnormally.";
        /// 3024: master is restored from full backups alone. The state is not documented.
        master_is_backed_up_in_full() = 3024, 16, 0, "You can only perform a full backup of the master database. Use BACKUP DATABASE to back up the entire master database.";
        /// 3035: there is no full backup that a differential one could be based on.
        no_base_of_differential(database: &str) = 3035, 16, 1, "Cannot perform a differential backup for database \"{database}\", because a current database backup does not exist. Perform a full database backup by reissuing BACKUP DATABASE, omitting the WITH DIFFERENTIAL option.";
        /// 3036: a standby database is the copy of another one.
        no_backup_of_standby(database: &str) = 3036, 16, 1, "The database \"{database}\" is in warm-standby state (set by executing RESTORE WITH STANDBY) and cannot be backed up until the entire restore sequence is completed.";
        /// 3043: a page of the database is damaged, and is not backed up as if it were not.
        page_not_backed_up(database: &str, page: &str, path: &str) = 3043, 16, 1, "BACKUP '{database}' detected an error on page {page} in file '{path}'.";
        /// 3101: the database is in use.
        no_exclusive_access() = 3101, 16, 1, "Exclusive access could not be obtained because the database is in use.";
        /// 3102: the session itself uses the database.
        in_use_by_this_session(statement: &str, database: &str) = 3102, 16, 1, "{statement} cannot process database '{database}' because it is in use by this session. It is recommended that the master database be used when performing this operation.";
        /// 3108: master is restored in single-user mode only.
        system_database_not_restored() = 3108, 16, 1, "To restore the master database, the server must be running in single-user mode. For information on starting in single-user mode, see \"How to: Start an Instance of SQL Server (sqlservr.exe)\" in Books Online.";
        /// 3117: log for a database that is not waiting for any.
        nothing_to_roll_forward() = 3117, 16, 1, "The log or differential backup cannot be restored because no files are ready to rollforward.";
        /// 3118: log for a database that does not exist.
        no_database_to_restore(database: &str) = 3118, 16, 1, "The database \"{database}\" does not exist. RESTORE can only create a database when restoring either a full backup or a file backup of the primary file.";
        /// 3119: the errors before it keep a restore from beginning.
        restore_planning_failed() = 3119, 16, 1, "Problems were identified while planning for the RESTORE statement. Previous messages provide details.";
        /// 3132: a backup that was dealt out to several files is read without all of them.
        media_families_missing(families: u16, given: usize) = 3132, 16, 1, "The media set has {families} media families but only {given} are provided. All members must be provided.";
        /// 3136: the base of a differential backup is not what was restored.
        not_the_base_of_differential() = 3136, 16, 1, "This differential backup cannot be restored because the database has not been restored to the correct earlier state.";
        /// 3137: RESTORE ... FROM DATABASE_SNAPSHOT of what is not the one snapshot of the database.
        cannot_be_reverted() = 3137, 16, 4, "Database cannot be reverted. Either the primary or the snapshot names are improperly specified, all other snapshots have not been dropped, or there are missing files.";
        /// 3147: tempdb.
        no_backup_of_tempdb() = 3147, 16, 1, "Backup and restore operations are not allowed on database tempdb.";
        /// 3154: the set is of another database than the one of that name.
        set_of_another_database(database: &str) = 3154, 16, 4, "The backup set holds a backup of a database other than the existing '{database}' database.";
        /// 3156: a file cannot be made where it should be.
        file_cannot_be_restored(name: &str, path: &str) = 3156, 16, 3, "File '{name}' cannot be restored to '{path}'. Use WITH MOVE to identify a valid location for the file.";
        /// 3159: log would be lost.
        tail_not_backed_up(database: &str) = 3159, 16, 1, "The tail of the log for the database \"{database}\" has not been backed up. Use BACKUP LOG WITH NORECOVERY to backup the log if it contains work you do not want to lose. Use the WITH REPLACE or WITH STOPAT clause of the RESTORE statement to just overwrite the contents of the log.";
        /// 3169: the set was written by another version of this program. `format` is the set's, `readable` ours.
        set_of_another_format(format: u32, readable: u32) = 3169, 16, 1, "The database was backed up on a server running version 'backup format {format}'. That version is incompatible with this server, which is running version 'backup format {readable}'. Either restore the database on a server that supports the backup, or use a backup that is compatible with this server.";
        /// 3189: a checksum or a length of the set does not hold.
        damaged_set() = 3189, 16, 1, "Damage to the backup set was detected.";
        /// 3201: the media file cannot be opened or made.
        cannot_open_device(path: &str, cause: &str) = 3201, 16, 1, "Cannot open backup device '{path}'. Operating system error {cause}.";
        /// 3202: writing failed.
        write_failed(path: &str, cause: &str) = 3202, 16, 1, "Write on \"{path}\" failed: {cause}";
        /// 3203: reading failed, or gave what cannot have been written.
        read_failed(path: &str, cause: &str) = 3203, 16, 1, "Read on \"{path}\" failed: {cause}";
        /// 3211: progress.
        percent_processed(percent: u64) = 3211, 10, 1, "{percent} percent processed.";
        /// 3205: more files than a media set can have.
        too_many_devices(devices_max: u16) = 3205, 16, 2, "Too many backup devices specified for backup or restore; only {devices_max} are allowed.";
        /// 3227: a file of a media set twice.
        family_given_twice(path: &str, family: u16, other: &str) = 3227, 16, 1, "The backup media on \"{path}\" is part of media family {family} which has already been processed on \"{other}\". Ensure that backup devices are correctly specified. For tape devices, ensure that the correct volumes are loaded.";
        /// 3231: more files are given than the media set has.
        other_family_count(path: &str, families: u16, given: usize) = 3231, 16, 1, "The media loaded on \"{path}\" is formatted to support {families} media families, but {given} media families are expected according to the backup device specification.";
        /// 3234: MOVE of a file that the set does not have.
        no_such_logical_file(name: &str, database: &str) = 3234, 16, 2, "Logical file '{name}' is not part of database '{database}'. Use RESTORE FILELISTONLY to list the logical file names.";
        /// 3241: not a media file of ours.
        incorrect_media(path: &str) = 3241, 16, 0, "The media family on device '{path}' is incorrectly formed. SQL Server cannot process this media family.";
        /// 3242: the set's own header or description is damaged.
        invalid_set(path: &str) = 3242, 16, 2, "The file on device '{path}' is not a valid Microsoft Tape Format backup set.";
        /// 3254: the device holds nothing, as the null device always does.
        empty_device(path: &str) = 3254, 16, 1, "The volume on device '{path}' is empty.";
        /// 3258: a file of another media set among those of one.
        of_another_media_set(path: &str) = 3258, 16, 1, "The volume on the device \"{path}\" is not part of the media set that is currently being processed. Ensure that the backup devices are loaded with the correct media.";
        /// 3262: VERIFYONLY found nothing.
        set_is_valid(position: u32) = 3262, 10, 1, "The backup set on file {position} is valid.";
        /// 3287: the media file has no set with that number.
        no_such_set(position: u32, path: &str) = 3287, 16, 1, "The file ID {position} on device '{path}' is incorrectly formed and can not be read.";
        /// 3445: the undo file is none, or not the one of this database. The quote that SQL Server's sentence opens stays open.
        not_an_undo_file(database: &str, id: u16, path: &str) = 3445, 21, 1, "File '{path}' is not a valid undo file for database '{database} (database ID {id}). Verify the file path, and specify the correct file.";
        /// 3906: a standby or READ_ONLY database can only be read.
        database_is_read_only(database: &str) = 3906, 16, 1, "Failed to update database \"{database}\" because the database is read-only.";
        /// 3908: nothing is changed in a database that is EMERGENCY.
        database_in_emergency(database: &str) = 3908, 16, 1, "Could not run BEGIN TRANSACTION in database '{database}' because the database is in emergency mode or is damaged and must be restarted.";
        /// 4035: pages of one file.
        pages_processed(pages: u64, database: &str, file: &str, position: u32) = 4035, 10, 1, "Processed {pages} pages for database '{database}', file '{file}' on file {position}.";
        /// 4208: SIMPLE has no log backups.
        no_log_backup_in_simple() = 4208, 16, 1, "The statement BACKUP LOG is not allowed while the recovery model is SIMPLE. Use BACKUP DATABASE or change the recovery model using ALTER DATABASE.";
        /// 4214: there is no full backup that the log could continue.
        no_current_backup() = 4214, 16, 1, "BACKUP LOG cannot be performed because there is no current database backup.";
        /// 4319: a RESTORE has removed the files of the database and not made those of the set. `file` is a logical name. The
        /// documentation gives no state.
        restore_was_interrupted(file: &str) = 4319, 16, 1, "A previous restore operation was interrupted and did not complete processing on file '{file}'. Either restore the backup set that was interrupted or restart the restore sequence.";
        /// 4322: STOPAT lies behind the set.
        stop_point_not_reached() = 4322, 10, 1, "This backup set contains records that were logged before the designated point in time. The database is being left in the restoring state so that more roll forward can be performed.";
        /// 4329: STOPATMARK or STOPBEFOREMARK lies behind the set.
        mark_not_reached() = 4329, 10, 1, "This log file contains records logged before the designated mark. The database is being left in the Restoring state so you can apply another log file.";
        /// 4330: the database has taken another path of recovery than the set.
        inconsistent_recovery_path() = 4330, 16, 1, "This backup set cannot be applied because it is on a recovery path that is inconsistent with the database. The recovery path is the sequence of data and log backups that have brought the database to a particular recovery point. Find a compatible backup to restore, or restore the rest of the database to match a recovery point within this backup set, which will restore the database to a different point in time.  For more information about recovery paths, see SQL Server Books Online.";
        /// 4334: what follows 'lsn:' cannot be read as an LSN; or a name where only an LSN can stand, in RESTORE DATABASE. SQL Server's documentation gives neither
        /// the cases nor the state.
        mark_is_no_lsn() = 4334, 16, 1, "The named mark does not identify a valid LSN.";
        /// 4335: the database is rolled forward beyond STOPAT already.
        stop_point_passed() = 4335, 16, 2, "The specified STOPAT time is too early. All or part of the database is already rolled forward beyond that point.";
        /// 4338: STOPAT lies before the end of a full backup.
        stop_point_too_early() = 4338, 16, 1, "The STOPAT clause specifies a point too early to allow this backup set to be restored. Choose a different stop point or use RESTORE DATABASE WITH RECOVERY to recover at the current point.";
        /// 5133: a folder cannot be made or looked into.
        directory_lookup_failed(path: &str, cause: &str) = 5133, 16, 1, "Directory lookup for the file \"{path}\" failed with the operating system error {cause}.";
    }

    /// 3014: ends every successful statement. `micros` is how long it took.
    pub fn successfully_processed(statement: &str, pages: u64, micros: u64) -> Error {
        let millis = micros.div_ceil(1_000).max(1);
        let thousandths_of_mb = pages * 8 * 1_000_000 / 1_024 / millis;
        let text = format!(
            "{statement} successfully processed {pages} pages in {}.{:03} seconds ({}.{:03} MB/sec).",
            millis / 1_000,
            millis % 1_000,
            thousandths_of_mb / 1_000,
            thousandths_of_mb % 1_000
        );
        Error::new(3014, 10, 1, text)
    }

    /// 3257: not enough space for the files.
    pub fn no_space_to_restore(volume: &str, needed_bytes: u64, available_bytes: u64) -> Error {
        let text = format!(
            "There is insufficient free space on disk volume '{volume}' to create the database. The database requires {} additional free bytes, while only {available_bytes} bytes are available.",
            needed_bytes
        );
        Error::new(3257, 16, 1, text)
    }

    /// 3441: the undo file cannot be read.
    pub fn standby_file_inaccessible(database: &str, id: u16, path: &str, cause: &Error) -> Error {
        let text = format!(
            "During startup of warm standby database '{database}' (database ID {id}), its standby file ('{path}') was inaccessible to the RESTORE statement. The operating system error was '{}'. Diagnose the operating system error, correct the problem, and retry startup.",
            cause.message
        );
        Error::new(3441, 21, 1, text)
    }

    /// 4305: log between is missing.
    pub fn log_too_recent(first: Lsn, needed: Lsn) -> Error {
        let text = format!(
            "The log in this backup set begins at LSN {}, which is too recent to apply to the database. An earlier log backup that includes LSN {} can be restored.",
            numeric(first),
            numeric(needed)
        );
        Error::new(4305, 16, 1, text)
    }

    /// 4326: everything in the set is restored already.
    pub fn log_too_early(last: Lsn, needed: Lsn) -> Error {
        let text = format!(
            "The log in this backup set terminates at LSN {}, which is too early to apply to the database. A more recent log backup that includes LSN {} can be restored.",
            numeric(last),
            numeric(needed)
        );
        Error::new(4326, 16, 1, text)
    }
}
