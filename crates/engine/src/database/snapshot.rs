//! Database snapshots: a database as of one moment, read from its base except for pages written since ([`crate::buffer::SnapshotFiles`]).
//!
//! ```text
//! base:      checkpoint -- the log is kept from here -- no page is written: the moment -- continues, copying pages before it overwrites them
//! snapshot:                                              redo from the checkpoint to the moment, undo, checkpoint -- closed, opened
//! ```
//! A snapshot is recovered like a database after a crash at that moment, on the snapshot's own pages: log that the base's files lacked is
//! redone, and open transactions are undone. No session waits for it. It takes as long as a recovery after a checkpoint, however large the
//! base is. (sql-docs, "Database snapshots": "uncommitted transactions are rolled back in a newly created database snapshot".)
//!
//! **Its log.** Undo is logged as always, in the snapshot's own log, which continues the base's ([`LogManager::follow`]). This file is
//! deleted once the snapshot is complete. After that the log stays empty: each opening creates one in memory.
//!
//! Invariant: while no page is written, the pages in the base's files have no change beyond the end of the log that is durable then.

use super::Database;
use super::open::{DatabaseFiles, OpenContext, OpenedData, Recovering};
use crate::buffer::{DataFiles, DatabaseId, SnapshotFiles, SparseBase, SparseKind};
use crate::cancel;
use crate::error::Result;
use crate::log::{EndOfLog, FileGrowth, LogFileSpec, LogManager, Opening};
use crate::recovery::{self, Analysis, BootRecord};
use crate::seams::Environment;
use crate::store::{BootPage, IdCounters};
use disk::MemoryDisk;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use vlf::{FIRST_BLOCK, Lsn};

/// `file_id` of the log.
const LOG_FILE: u16 = 2;
const LOG_BYTES: u64 = 1 << 20;
const LOG_GROWTH_BYTES: u64 = 16 << 20;
/// What the log of an open snapshot may take in memory. Nothing but its first blocks is ever written.
const MEMORY_LOG_BYTES_MAX: u64 = 4 << 20;

/// A snapshot that is being made: its base keeps pages for it.
pub(crate) struct BegunSnapshot {
    pub files: Arc<SnapshotFiles>,
    /// What the base's boot record said.
    boot: BootRecord,
    /// Where the base's log was durable.
    pub end: Lsn,
}

impl Database {
    /// Makes a snapshot of this database: its files and what differs from the base's. `log_path` is where its log is until then. Closed on
    /// return; [`Database::open_snapshot`] opens it. After an error the caller ends it by [`Database::end_snapshot`].
    ///
    /// # Errors
    /// 5123 for files, 3617 when the request is to stop, those of a checkpoint and of a recovery.
    pub(crate) fn make_snapshot(
        &self,
        context: &OpenContext,
        files: &DatabaseFiles,
        log_path: &Path,
    ) -> Result<Arc<SnapshotFiles>> {
        if !self.boot().has_snapshots {
            self.change_boot(|boot| boot.has_snapshots = true)?;
        }
        self.make_sparse(context, files, (SparseKind::Snapshot, None), |begun| {
            self.recover_snapshot(context, files, begun, log_path)
        })
    }

    /// Begins a snapshot or a copy with a bound of bytes, and has it recovered.
    pub(super) fn make_sparse(
        &self,
        context: &OpenContext,
        files: &DatabaseFiles,
        what: (SparseKind, Option<u64>),
        recover: impl FnOnce(&BegunSnapshot) -> Result<()>,
    ) -> Result<Arc<SnapshotFiles>> {
        let turn = self.wait_for_checkpoint_turn()?;
        self.checkpoint_in_turn(&turn)?;
        let boot = self.boot();
        let needed = self
            .transactions
            .log_needed_from()
            .into_iter()
            .fold(boot.redo_start, Lsn::min);
        let _held = self.hold_log_for_snapshot(needed.min(boot.checkpoint));
        drop(turn);
        let begun = self.begin_snapshot(context, files, boot, what)?;
        let recovered = recover(&begun);
        context.pool.forget_database(DatabaseId(files.entry.database_id));
        recovered.map(|()| begun.files)
    }

    /// The moment.
    fn begin_snapshot(
        &self,
        context: &OpenContext,
        files: &DatabaseFiles,
        boot: BootRecord,
        (kind, bytes_max): (SparseKind, Option<u64>),
    ) -> Result<BegunSnapshot> {
        let (lengths_stay, lengths) = self.storage.files.keep_lengths();
        let specifications = files.data_specifications().into_iter();
        let of_base = specifications.filter_map(|one| Some((lengths.get(&one.id).copied()?, one)));
        let sized: Vec<_> = of_base.map(|(pages, one)| (one, pages)).collect();
        let base = SparseBase {
            kind,
            database_id: self.id,
            guid: self.entry().guid,
            bytes_max,
        };
        let made = SnapshotFiles::create(&context.env, &files.identity(), base, &sized)?;
        let made = Arc::new(made);
        let log = &self.storage.log;
        let end = self.storage.files.add_snapshot(&made, || log.flushed());
        drop(lengths_stay);
        Ok(BegunSnapshot { files: made, boot, end })
    }

    fn recover_snapshot(
        &self,
        context: &OpenContext,
        files: &DatabaseFiles,
        begun: &BegunSnapshot,
        log_path: &Path,
    ) -> Result<()> {
        let data = DataFiles::of_snapshot(
            &context.env,
            files.identity(),
            &files.data_specifications(),
            &begun.files,
        )?;
        let first_sequence = begun.end.vlf + 1;
        let log = new_log(context, &context.env, files, log_path, first_sequence)?;
        let snapshot = self.recover_sparse(context, files, begun, (data, log))?;
        snapshot.checkpoint()?;
        snapshot.storage.log.close();
        Ok(())
    }

    /// Redo and undo of the base's log on the pages of a snapshot or a copy, whose own log is new.
    pub(super) fn recover_sparse(
        &self,
        context: &OpenContext,
        files: &DatabaseFiles,
        begun: &BegunSnapshot,
        (data, log): (DataFiles, Arc<LogManager>),
    ) -> Result<Database> {
        let boot = BootRecord {
            clean: false,
            log_backup_start: Lsn::ZERO,
            change_base: [0; 16],
            change_generation: 0,
            // Where the path of a base that is reverted forks.
            restore_position: begun.end,
            ..begun.boot.clone()
        };
        let data = OpenedData {
            boot_page: BootPage::create(&data, &boot.encode())?,
            files: data,
            started_micros: context.env.clock.now_micros(),
            boot,
        };
        log.follow(self.storage.log.clone(), begun.end.vlf + 1);
        let places = (data.boot.redo_start, data.boot.checkpoint);
        let recovering = Recovering::with_new_log(context, files, data, log);
        let analysis = recovery::analyse_and_redo_of_base(&recovering.storage, &self.storage.log, places, begun.end)?;
        cancel::shield(|| recovering.finish(&analysis, Opening::AfterUndo))
    }

    /// A snapshot is no more, or was not finished: nothing is kept for it from now on.
    pub(crate) fn end_snapshot(&self, guid: [u8; 16]) {
        self.storage.files.remove_snapshot(guid);
    }

    /// Opens a snapshot whose base is open, or was since the start.
    ///
    /// # Errors
    /// 823 and 824 for its pages.
    pub(crate) fn open_snapshot(
        context: &OpenContext,
        files: &DatabaseFiles,
        snapshot: &Arc<SnapshotFiles>,
    ) -> Result<Database> {
        let data = DataFiles::of_snapshot(&context.env, files.identity(), &files.data_specifications(), snapshot)?;
        let (boot_page, bytes) = BootPage::open(&data)?;
        let boot = BootRecord {
            // Nothing is ever left to be recovered.
            clean: true,
            ..BootRecord::decode(&bytes, &files.entry.name)?
        };
        let first_sequence = boot.checkpoint.vlf + 1;
        let data = OpenedData {
            boot_page,
            files: data,
            started_micros: context.env.clock.now_micros(),
            boot,
        };
        let folder = PathBuf::from("/snapshot");
        let memory = MemoryDisk::new(folder.clone(), context.env.disk.clone(), MEMORY_LOG_BYTES_MAX);
        let env = Environment {
            disk: Arc::new(memory),
            ..context.env.clone()
        };
        let log = new_log(context, &env, files, &folder.join("log.ldf"), first_sequence)?;
        Recovering::with_new_log(context, files, data, log).finish(&nothing_from(first_sequence), Opening::AfterUndo)
    }

    /// Makes the files of a database that is closed what its snapshot shows, gives it an empty log, and opens it. Cut off in the middle it
    /// is done again, from the begin.
    ///
    /// # Errors
    /// 823, 5120 and 5123 for files.
    pub(crate) fn revert_to_snapshot(
        context: &OpenContext,
        files: &DatabaseFiles,
        snapshot: &SnapshotFiles,
        first_sequence: u32,
    ) -> Result<Database> {
        snapshot.copy_to_base(&context.env, &files.data_specifications())?;
        let data = OpenedData::open(context, files)?;
        let first_sequence = first_sequence.max(data.boot.checkpoint.vlf + 1);
        let boot = BootRecord {
            clean: true,
            path: data.boot.path.forked_at(data.boot.restore_position, &context.env),
            ..data.boot.clone()
        };
        let log = LogManager::create(
            &context.env,
            &files.entry.name,
            &files.log_specifications(),
            context.version,
            context.policy,
            first_sequence,
        )
        .inspect_err(|_| data.files.unlock())?;
        let data = OpenedData { boot, ..data };
        Recovering::with_new_log(context, files, data, log).finish(&nothing_from(first_sequence), Opening::AfterUndo)
    }
}

/// Of a log without a record.
fn nothing_from(first_sequence: u32) -> Analysis {
    Analysis {
        losers: Vec::new(),
        locks: HashMap::new(),
        undone_first: HashMap::new(),
        committed: 0,
        transaction_max: 0,
        ids: IdCounters::default(),
        end: EndOfLog {
            next: Lsn::new(first_sequence, FIRST_BLOCK, 1),
            fault: None,
            previous_block_bytes: 0,
            previous_crc: 0,
        },
        records: 0,
    }
}

fn new_log(
    context: &OpenContext,
    env: &Environment,
    files: &DatabaseFiles,
    path: &Path,
    first_sequence: u32,
) -> Result<Arc<LogManager>> {
    let specification = LogFileSpec {
        file_id: LOG_FILE,
        database_guid: files.entry.guid,
        path: path.to_path_buf(),
        logical_name: format!("{}_log", files.entry.name),
        bytes: LOG_BYTES,
        max_bytes: u64::MAX,
        growth: FileGrowth::Bytes(LOG_GROWTH_BYTES),
    };
    LogManager::create(
        env,
        &files.entry.name,
        &[specification],
        context.version,
        context.policy,
        first_sequence,
    )
}
