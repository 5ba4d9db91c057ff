//! Making a database from backup sets: files first, then redo, then, if wanted, the rest of recovery.
//!
//! ```text
//! full set: create data files, pages | log blocks in their places | boot record: RESTORING, restored to the set's end
//! differential: boot record: under way | pages over those there | log blocks in their places | boot record: restored to the set's end
//! log set:  grow data files          | log blocks in their places | boot record: restored to its end
//! then:     analysis, redo, all pages written | boot record: redo starts behind the set
//! RECOVERY: boot record: no longer RESTORING | undo, and the other steps of startup
//! ```
//! Redo may find changes of pages that are not in the set, because their extent was freed before it was copied. Such pages are recorded as
//! damaged, and forgotten once the space maps, after redo, show that they have no owner.
//!
//! Invariants:
//! - The boot record says RESTORING until every page is redone. From then on, any startup of the instance completes the recovery.
//! - While the boot record says that a differential set is being restored, only that set, or another one, can continue.
//! - `redo_start` is a block of the last set, or the end of the restored log.

use super::Database;
use super::open::{DatabaseFiles, OpenContext, Opened, OpenedData, Recovering};
use crate::backup::format::{ChunkKind, SET_FORMAT};
use crate::backup::{
    AfterRestore, Chunk, LogImage, LogRestorer, Progress, RestoredLog, SetDescription, SetKind, SetReader, StopPoint,
};
use crate::buffer::{ChangeBase, DataFiles, DatabaseId, is_change_map};
use crate::cancel;
use crate::error::{Error, Result};
use crate::log::{Continuation, Opening, ScanMode, create_restored};
use crate::page::{PAGE_BYTES, PageId};
use crate::recovery::{self, Analysis, BootRecord, RecoveryModel};
use crate::store::{BOOT_PAGES, SpaceMap};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use vlf::Lsn;

/// A set to be restored.
pub struct RestoreSource<'a> {
    pub set: &'a mut SetReader,
    /// What it says of itself.
    pub description: &'a SetDescription,
    /// Where the log ends that is restored.
    pub stop_at: Option<&'a StopPoint>,
}

/// What a set has brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restored {
    /// The point in time lies in the set, or none was asked for.
    pub stop_point_reached: bool,
}

impl Database {
    /// Creates the files from a full set and leaves them RESTORING.
    ///
    /// # Errors
    /// 3189 and 3203 for the set; errors of file creation. Files made before the error are deleted by the caller.
    pub fn restore_full(
        context: &OpenContext,
        files: &DatabaseFiles,
        source: &mut RestoreSource<'_>,
        progress: &mut Progress<'_, '_>,
    ) -> Result<Restored> {
        let description = source.description;
        let mut boot = boot_of(description, &files.entry.name)?;
        boot.restoring = true;
        boot.clean = false;
        boot.redo_start = description.redo_start;
        boot.full_backup = description.checkpoint_lsn;
        boot.full_backup_time = description.log_end;
        boot.differential_under_way = false;
        // A copy-only backup cannot be a base (SQL Server docs, "Copy-Only Backups").
        boot.change_base = if description.copy_only {
            [0; 16]
        } else {
            description.set_guid
        };
        boot.change_generation = 0;
        boot.nothing_but_base = !description.copy_only;
        let data = OpenedData::create(context, files, &boot)?;
        restore_set(
            context,
            files,
            data,
            source,
            (description.first_lsn, description.redo_start),
            progress,
        )
    }

    /// Adds a log set to a database that is RESTORING.
    ///
    /// # Errors
    /// 3154 when the set is of another database, 4305, 4326 and 4330 when it does not follow, 4335 when the database is behind
    /// the point in time already; and those of [`Database::restore_full`].
    pub fn restore_log(
        context: &OpenContext,
        files: &DatabaseFiles,
        source: &mut RestoreSource<'_>,
        progress: &mut Progress<'_, '_>,
    ) -> Result<Restored> {
        let description = source.description;
        let mut data = OpenedData::open(context, files)?;
        check_whole(&data.boot, files)?;
        if data.boot.redo_start < data.boot.restored_to {
            // A crash came between the set before and its redo, and this set may overwrite the log that redo needs.
            drop(data);
            Database::roll_forward(context, files, AfterRestore::NoRecovery)?;
            data = OpenedData::open(context, files)?;
        }
        check_follows(&data.boot, &files.entry.name, description, source.stop_at)?;
        let from = data.boot.restored_to;
        restore_set(context, files, data, source, (from, from), progress)
    }

    /// Puts a differential set over a database that is RESTORING and has its base.
    ///
    /// # Errors
    /// 3154 when the set is of another database, 3136 when it has another base or the database has left the set's path or is behind
    /// the set already; and those of [`Database::restore_full`]. What fails once pages are being copied leaves a database that takes nothing but a
    /// differential set (4319).
    pub fn restore_differential(
        context: &OpenContext,
        files: &DatabaseFiles,
        source: &mut RestoreSource<'_>,
        progress: &mut Progress<'_, '_>,
    ) -> Result<Restored> {
        let (description, name) = (source.description, &files.entry.name);
        let mut data = OpenedData::open(context, files)?;
        if data.boot.redo_start < data.boot.restored_to && !data.boot.differential_under_way {
            // Pages that the set does not have are as the sets before it have left them, once these are redone.
            drop(data);
            Database::roll_forward(context, files, AfterRestore::NoRecovery)?;
            data = OpenedData::open(context, files)?;
        }
        check_differential(&data.boot, name, description)?;
        if let Some(stop) = source.stop_at {
            stop.check_data_set(description.last_lsn, description.log_end)?;
        }
        data.boot.differential_under_way = true;
        data.boot_page.write(&data.files, &data.boot.encode())?;
        let newest = boot_of(description, name)?;
        data.boot.checkpoint = newest.checkpoint;
        data.boot.catalog_root = newest.catalog_root;
        data.boot.catalog_object = newest.catalog_object;
        data.boot.next_transaction = data.boot.next_transaction.max(newest.next_transaction);
        data.boot.needs_upgrade = newest.needs_upgrade;
        let places = (description.first_lsn, description.redo_start);
        restore_set(context, files, data, source, places, progress)
    }

    /// Whether a log or differential set may be put over a database that is RESTORING, before anything of it is changed.
    ///
    /// # Errors
    /// Those of [`check_follows`] and [`check_differential`]; 4319 after a differential set that was not copied to its end.
    pub fn check_set(
        context: &OpenContext,
        files: &DatabaseFiles,
        description: &SetDescription,
        stop_at: Option<&StopPoint>,
    ) -> Result<()> {
        let (data, name) = (OpenedData::open(context, files)?, &files.entry.name);
        match description.kind {
            SetKind::Differential => check_differential(&data.boot, name, description),
            SetKind::Database | SetKind::Log => {
                check_whole(&data.boot, files)?;
                check_follows(&data.boot, name, description, stop_at)
            }
        }
    }

    /// Creates the files that a database gets with a log set, those of its entry from the place `first` on: data files in their size,
    /// log files as far as they say whose they are.
    ///
    /// # Errors
    /// Those of file creation.
    pub fn create_new_files(context: &OpenContext, files: &DatabaseFiles, first: usize) -> Result<()> {
        let data = OpenedData::open(context, &files.without_files_from(first))?;
        for (entry, file) in files.entry.files.iter().zip(&files.files).skip(first) {
            if entry.log {
                create_restored(&context.env, entry.file_id, files.entry.guid, &file.path)?;
            }
        }
        let is_new = |id: u16| files.entry.files.iter().skip(first).any(|entry| entry.file_id == id);
        let specifications = files.data_specifications();
        let mut new = specifications.iter().filter(|specification| is_new(specification.id));
        new.try_for_each(|specification| data.files.add(specification))
    }

    /// Writes every page and makes the boot record say RESTORING, restored to the end of the log. Nobody may be using it.
    ///
    /// No checkpoint is written: its records would lie where the next set's begin.
    pub fn leave_restoring(&self) -> Result<()> {
        // A checkpoint that is under way would say in the boot record that the database begins elsewhere.
        let _no_checkpoint = self.checkpointing.lock();
        self.storage.pool.flush_database(self.storage.id, None)?;
        let end = self.storage.log.flushed().with_slot(1);
        let change_generation = self.storage.files.save_changes(self.boot().change_generation)?;
        self.change_boot(|boot| {
            boot.change_generation = change_generation;
            boot.nothing_but_base = false;
            boot.restoring = true;
            boot.restored_to = end;
            boot.restore_position = end;
            boot.redo_start = end;
        })?;
        self.storage.log.close();
        Ok(())
    }

    /// Redo, and with RECOVERY everything that startup does. An error leaves the database RESTORING, unless undo has begun.
    /// Requests to stop do not end it: a recovery cut off in the middle would be taken for a damaged database.
    pub fn roll_forward(context: &OpenContext, files: &DatabaseFiles, after: AfterRestore) -> Result<Opened> {
        let id = DatabaseId(files.entry.database_id);
        let outcome = cancel::shield(|| roll_forward(context, files, after));
        if !matches!(outcome, Ok(Opened::Online(_))) {
            context.pool.forget_database(id);
        }
        outcome
    }
}

/// The boot record in a set.
///
/// # Errors
/// 3169 for one of a version that is not read, 3189 for one that is damaged.
fn boot_of(description: &SetDescription, name: &str) -> Result<BootRecord> {
    BootRecord::decode(&description.boot, name).map_err(|error| match error.number {
        948 | 950 => Error::set_of_another_format(SET_FORMAT + 1, SET_FORMAT),
        _ => Error::damaged_set(),
    })
}

/// Whether the pages of a database that is RESTORING are all of one moment.
///
/// # Errors
/// 4319 when a differential set was not copied to its end.
fn check_whole(boot: &BootRecord, files: &DatabaseFiles) -> Result<()> {
    let file = files.entry.files.first().map_or("", |file| file.name.as_str());
    match boot.differential_under_way {
        true => Err(Error::restore_was_interrupted(file)),
        false => Ok(()),
    }
}

/// Whether a differential set may be put over a database that is restored as far as its boot record says. See
/// [`Database::restore_differential`].
pub fn check_differential(boot: &BootRecord, name: &str, description: &SetDescription) -> Result<()> {
    if boot.guid != description.family_guid {
        return Err(Error::set_of_another_database(name));
    }
    let base = description.differential_base.ok_or_else(Error::damaged_set)?;
    let path = boot_of(description, name)?.path;
    let position = boot.restore_position;
    // Behind the base only the way counts: what was restored since must be part of what the set has changed.
    let is_on_the_way =
        position <= description.last_lsn && path.fork_before(position) == boot.path.fork_before(position);
    match boot.change_base == base.guid && (boot.nothing_but_base || is_on_the_way) {
        true => Ok(()),
        false => Err(Error::not_the_base_of_differential()),
    }
}

/// Whether a log set is the next one of a database that is restored as far as its boot record says. See
/// [`Database::restore_log`].
pub fn check_follows(
    boot: &BootRecord,
    name: &str,
    description: &SetDescription,
    stop_at: Option<&StopPoint>,
) -> Result<()> {
    if boot.guid != description.family_guid {
        return Err(Error::set_of_another_database(name));
    }
    let (first, last, position) = (description.first_lsn, description.last_lsn, boot.restore_position);
    match boot.path.continuation(position, &description.path, first, last) {
        Continuation::Applies => {}
        Continuation::TooRecent => return Err(Error::log_too_recent(first, position)),
        Continuation::TooEarly => return Err(Error::log_too_early(last, position)),
        Continuation::OtherPath => return Err(Error::inconsistent_recovery_path()),
    }
    let time = boot.full_backup_time.max(boot.log_backup_time);
    stop_at.map_or(Ok(()), |stop| stop.check_passed(position, time))
}

/// `from` = the first block wanted, and where redo starts when it is in the set.
fn restore_set(
    context: &OpenContext,
    files: &DatabaseFiles,
    data: OpenedData,
    source: &mut RestoreSource<'_>,
    (from, redo_start): (Lsn, Lsn),
    progress: &mut Progress<'_, '_>,
) -> Result<Restored> {
    let description = source.description;
    grow_data_files(&data.files, files, description)?;
    let places = (from, data.boot.restore_position);
    let log = copy_chunks(context, files, &data.files, source, places, progress)?;
    data.files.sync_all()?;
    if description.kind == SetKind::Database {
        let base = (!description.copy_only).then_some(ChangeBase {
            guid: description.set_guid,
            since: description.last_lsn,
        });
        data.files.changes().keep(base);
    }
    if !log.stopped && log.end.with_slot(0) != description.last_lsn.with_slot(0) {
        return Err(Error::damaged_set());
    }
    let newest = boot_of(description, &files.entry.name)?;
    let mut boot = data.boot.clone();
    take_over(&mut boot, &newest);
    boot.change_generation = data.files.save_changes(boot.change_generation)?;
    boot.differential_under_way = false;
    boot.nothing_but_base &= description.kind == SetKind::Database;
    boot.checkpoint = log.checkpoint.unwrap_or(boot.checkpoint);
    boot.redo_start = match (description.kind, log.first) {
        (SetKind::Database | SetKind::Differential, _) | (_, None) => redo_start,
        (SetKind::Log, Some(first)) => first,
    };
    boot.restored_to = log.end;
    boot.restore_position = log.position;
    boot.path = boot.path.continued(&newest.path, log.position);
    boot.next_transaction = boot.next_transaction.max(log.transaction_max + 1);
    // The log is cut at a point in time, what the set's boot record knows is not: too high does no harm.
    boot.ids = boot.ids.max(newest.ids).max(log.ids);
    let reached = source
        .stop_at
        .is_none_or(|stop| log.is_reached || stop.is_reached_by(description.last_lsn, description.log_end));
    if description.kind != SetKind::Database {
        boot.log_backup_time = match source.stop_at.filter(|_| log.stopped) {
            Some(stop) => stop.time().or(log.newest_commit).unwrap_or(boot.log_backup_time),
            None => description.log_end,
        };
    }
    data.boot_page.write(&data.files, &boot.encode())?;
    Ok(Restored {
        stop_point_reached: reached,
    })
}

/// What the set's boot record says of options and features, which no log record says.
pub(super) fn take_over(boot: &mut BootRecord, newest: &BootRecord) {
    boot.recovery_model = newest.recovery_model;
    boot.compatibility_level = newest.compatibility_level;
    boot.collation = newest.collation;
    boot.has_collations |= newest.has_collations;
    boot.has_statistics |= newest.has_statistics;
    boot.statistics_options = newest.statistics_options;
    boot.is_parameterization_forced = newest.is_parameterization_forced;
    boot.has_recursive_triggers = newest.has_recursive_triggers;
    boot.reads_committed_versions = newest.reads_committed_versions;
    boot.allows_snapshots = newest.allows_snapshots;
    boot.is_read_only = newest.is_read_only;
    boot.is_recovery_accelerated = newest.is_recovery_accelerated;
    boot.has_carried_changes |= newest.has_carried_changes;
    boot.has_links |= newest.has_links;
    boot.has_temporal_tables |= newest.has_temporal_tables;
    boot.has_indexed_views |= newest.has_indexed_views;
    boot.has_json |= newest.has_json;
    boot.further = boot.further.with(newest.further);
    boot.is_clone = newest.is_clone;
    boot.is_verified_clone = newest.is_verified_clone;
    boot.has_carried_columns |= newest.has_carried_columns;
    boot.has_row_versions |= newest.has_row_versions;
    boot.has_lock_information |= newest.has_lock_information;
    boot.has_large_values |= newest.has_large_values;
    boot.has_triggers |= newest.has_triggers;
    boot.has_freed_pages |= newest.has_freed_pages;
    boot.has_freed_large_extents |= newest.has_freed_large_extents;
    boot.has_sequences |= newest.has_sequences;
    boot.has_computed_columns |= newest.has_computed_columns;
    boot.has_filtered_indexes |= newest.has_filtered_indexes;
    boot.has_xml_schemas |= newest.has_xml_schemas;
    boot.has_database_triggers |= newest.has_database_triggers;
    boot.has_synonyms |= newest.has_synonyms;
    boot.has_disabled_indexes |= newest.has_disabled_indexes;
    boot.has_decisions |= newest.has_decisions;
    boot.has_referential_actions |= newest.has_referential_actions;
    boot.has_table_types |= newest.has_table_types;
    boot.has_extended_properties |= newest.has_extended_properties;
}

/// Every data file gets at least the size it has in the set; files the database got since then are created.
fn grow_data_files(data: &DataFiles, files: &DatabaseFiles, description: &SetDescription) -> Result<()> {
    let known = data.file_ids();
    for specification in files.data_specifications() {
        let in_set = description
            .files
            .iter()
            .find(|file| file.file.file_id == specification.id);
        let bytes = in_set.map_or(0, |file| file.bytes);
        match known.contains(&specification.id) {
            true => data.grow_to(specification.id, bytes)?,
            false => data.add(&crate::buffer::DataFileSpecification { bytes, ..specification })?,
        }
    }
    Ok(())
}

fn copy_chunks(
    context: &OpenContext,
    files: &DatabaseFiles,
    data: &DataFiles,
    source: &mut RestoreSource<'_>,
    (from, position): (Lsn, Lsn),
    progress: &mut Progress<'_, '_>,
) -> Result<RestoredLog> {
    let paths: BTreeMap<u16, PathBuf> = files
        .entry
        .files
        .iter()
        .zip(&files.files)
        .filter(|(entry, _)| entry.log)
        .map(|(entry, file)| (entry.file_id, file.path.clone()))
        .collect();
    let mut layout = Vec::new();
    let mut log: Option<LogRestorer> = None;
    let begin = |layout: &[u8]| {
        let mut image = LogImage::decode(layout)?;
        for file in &mut image.files {
            file.page.database_id = files.entry.guid;
        }
        // The log of a full or differential set is restored as a whole.
        let stop_at = source.stop_at.filter(|_| source.description.kind == SetKind::Log);
        let stop_at = stop_at.map(|stop| (stop.clone(), position));
        LogRestorer::begin(&context.env, context.policy, image, &paths, (from, stop_at))
    };
    while let Some(chunk) = source.set.next_chunk()? {
        progress.add(chunk.stored_bytes)?;
        let payload = source.set.payload(&chunk);
        match chunk.kind {
            ChunkKind::Pages => restore_pages(data, &chunk, payload)?,
            ChunkKind::LogLayout => layout.extend_from_slice(payload),
            ChunkKind::LogBlocks => {
                let mut restorer = match log.take() {
                    Some(restorer) => restorer,
                    None => begin(&layout)?,
                };
                let goes_on = restorer.apply(chunk.address, payload)?;
                log = Some(restorer);
                if !goes_on {
                    break;
                }
            }
            ChunkKind::Description => return Err(Error::damaged_set()),
        }
    }
    match log {
        Some(restorer) => restorer.finish(),
        None => begin(&layout)?.finish(),
    }
}

/// Writes pages to their places, but for those that every file has of its own.
fn restore_pages(data: &DataFiles, chunk: &Chunk, payload: &[u8]) -> Result<()> {
    let (file, first) = ((chunk.address >> 32) as u16, chunk.address as u32);
    let (pages, rest) = payload.as_chunks::<PAGE_BYTES>();
    let end = u64::from(first) + pages.len() as u64;
    if !rest.is_empty() || end > u64::from(data.page_count(file)) {
        return Err(Error::damaged_set());
    }
    let is_own = |page: u32| {
        let id = PageId::new(file, page);
        page == 0 || BOOT_PAGES.contains(&id) || is_change_map(id)
    };
    let mut at = 0;
    while at < pages.len() {
        let left = first + at as u32..first + pages.len() as u32;
        let count = left.clone().take_while(|page| !is_own(*page)).count();
        if count > 0 {
            let bytes = &payload[at * PAGE_BYTES..(at + count) * PAGE_BYTES];
            data.restore_run(PageId::new(file, left.start), bytes)?;
        }
        at += count + 1;
    }
    Ok(())
}

fn roll_forward(context: &OpenContext, files: &DatabaseFiles, after: AfterRestore) -> Result<Opened> {
    let data = OpenedData::open(context, files)?;
    check_whole(&data.boot, files)?;
    let mut recovering = Recovering::begin(context, files, data)?;
    let analysis = analyse_and_redo(context, &mut recovering);
    if analysis.is_err() {
        recovering.storage.log.close();
    }
    let analysis = analysis?;
    let storage = recovering.storage.clone();
    let boot = &mut recovering.boot;
    boot.redo_start = boot.restored_to;
    boot.change_generation = storage.files.save_changes(boot.change_generation)?;
    if after == AfterRestore::NoRecovery {
        recovering.boot_page.write(&storage.files, &recovering.boot.encode())?;
        storage.log.close();
        return Ok(Opened::Restoring);
    }
    boot.restoring = false;
    boot.nothing_but_base = false;
    if files.entry.standby.is_none() {
        // A standby database has not left the path yet: the next set goes on from its undo file.
        boot.path = boot.path.forked_at(boot.restore_position, &context.env);
    }
    boot.log_backup_start = match boot.recovery_model {
        RecoveryModel::Simple => Lsn::ZERO,
        RecoveryModel::Full | RecoveryModel::BulkLogged => boot.restored_to,
    };
    recovering.boot_page.write(&storage.files, &recovering.boot.encode())?;
    Ok(Opened::Online(Arc::new(
        recovering.finish(&analysis, Opening::AfterUndo)?,
    )))
}

/// Analysis, redo and the writing of every page; in one pass over the log where it is read in large pieces.
fn analyse_and_redo(context: &OpenContext, recovering: &mut Recovering<'_>) -> Result<Analysis> {
    let (analysis, damaged) = match context.policy.scan {
        ScanMode::LargeReads => {
            let (analysis, damaged) = recovering.analyse_and_redo_noting_damage()?;
            (analysis, Some(damaged))
        }
        ScanMode::BlockReads => {
            let analysis = recovering.analyse()?;
            let redo_start = recovering.boot.redo_start;
            let redone = (redo_start < analysis.end.next)
                .then(|| recovery::redo_noting_damage(&recovering.storage, redo_start, Lsn::MAX, &mut |_| {}));
            (analysis, redone.transpose()?.map(|(_, damaged)| damaged))
        }
    };
    let storage = &recovering.storage;
    if let Some(mut damaged) = damaged {
        let space = SpaceMap::open(storage)?;
        damaged.retain(|page| space.is_in_use(page));
        damaged.into_result()?;
    }
    storage.pool.flush_database(storage.id, None)?;
    recovering.boot.next_transaction = recovering.boot.next_transaction.max(analysis.transaction_max + 1);
    Ok(analysis)
}
