//! BACKUP DATABASE and BACKUP LOG of an open database.
//!
//! ```text
//! full   hold the log | checkpoint | extents in use | pages ... | flush: end | log layout | log blocks | checkpoint | finish | boot record
//! diff   the same, of the extents that were written since the base; in the boot record at most the log chain begins
//! log    flush: end | log layout | log blocks | finish | boot record | truncate
//! ```
//! Invariant: the boot record advances the log chain only after the backup set is durable.

use super::Database;
use crate::backup::{
    BackupFile, BackupKind, BackupRequest, BackupSummary, DifferentialBase, LogImage, LogTail, MadeSet, MediaOptions,
    MediaPlace, Progress, Report, SetDescription, SetKind, SetWriter, copy_log, copy_pages, format::ChunkKind,
    plan_pages,
};
use crate::buffer::BegunMap;
use crate::error::{Error, Result};
use crate::page::PAGE_BYTES;
use crate::recovery::{BootRecord, RecoveryModel};
use crate::seams::{DateTimeTicks, LogEventKind, TRACE_FILE_WORK};
use vlf::Lsn;

/// Where a backup goes, and what it says about its maker.
pub struct BackupPlace<'a> {
    /// The devices as the statement gives them, and the media on this machine.
    pub media: Vec<(String, MediaPlace)>,
    pub server_name: &'a str,
    /// SoftwareVersionMajor and Minor.
    pub software_version: (u8, u8),
    /// A new guid.
    pub set_guid: [u8; 16],
}

/// What a set covers.
struct Extent {
    first: Lsn,
    end: Lsn,
    log_end: DateTimeTicks,
    log_pages: u64,
    pages: Vec<(u16, u64)>,
    boot: BootRecord,
}

fn noun(kind: BackupKind) -> &'static str {
    match kind {
        BackupKind::Database => "Database",
        BackupKind::Log => "Log",
    }
}

fn set_kind(request: &BackupRequest) -> SetKind {
    match request.kind {
        BackupKind::Log => SetKind::Log,
        BackupKind::Database if request.differential => SetKind::Differential,
        BackupKind::Database => SetKind::Database,
    }
}

/// A backup based on the last full one moves nothing that COPY_ONLY would leave, so it is none (SQL Server docs, "BACKUP": "When
/// DIFFERENTIAL and COPY_ONLY are used together, COPY_ONLY is ignored").
fn is_copy_only(request: &BackupRequest) -> bool {
    request.copy_only && set_kind(request) != SetKind::Differential
}

impl Database {
    /// Makes a backup set.
    ///
    /// # Errors
    /// 3201, 3202, 3241 of the media; 4208 and 4214 when there is no log chain; 3035 for a differential backup without a base; 3043 for a damaged page; 9004 for a damaged
    /// log; what `report` answers. The media and the log chain are then as they were.
    pub fn back_up(
        &self,
        request: &BackupRequest,
        mut place: BackupPlace<'_>,
        report: &mut Report<'_>,
    ) -> Result<(BackupSummary, MadeSet)> {
        if self.is_standby() {
            return Err(Error::no_backup_of_standby(&self.name()));
        }
        let log_backups = (request.kind == BackupKind::Log).then(|| self.backing_up_log.lock());
        if log_backups.is_some() {
            self.check_log_chain()?;
        }
        if set_kind(request) == SetKind::Differential && self.storage.files.changes().changed().is_none() {
            return Err(Error::no_base_of_differential(&self.name()));
        }
        let env = &self.storage.env;
        let (started, started_micros) = (env.clock.wall_ticks(), env.clock.now_micros());
        let options = MediaOptions {
            init: request.init,
            format: request.format,
            compression: request.compression,
            media_name: request.media_name.as_deref().unwrap_or_default(),
            set_guid: place.set_guid,
        };
        self.tell(|| format!("Backup{}: Database {}", noun(request.kind), self.name()));
        let media = std::mem::take(&mut place.media);
        let mut set = SetWriter::open(env, media, &options)?;
        self.tell(|| "Backup: Media open".to_string());
        let position = set.position();
        let mut progress = Progress::new(report, request.stats_percent, 0);
        let mut begun = None;
        let extent = match set_kind(request) {
            SetKind::Log => self.copy_log_chain(&mut set, &mut progress)?,
            kind => {
                let makes_base = kind == SetKind::Database && !request.copy_only;
                self.copy_database(&mut set, (kind, makes_base.then_some(&mut begun)), &mut progress)?
            }
        };
        let mut description = self.describe(request, &place, &extent, started);
        let (label, devices) = (set.label().clone(), set.devices());
        let stored_bytes = set.finish(&mut description)?;
        progress.finish()?;
        self.storage.log.tell(LogEventKind::BackedUp {
            log: request.kind == BackupKind::Log,
            first: extent.first,
            end: extent.end,
            micros: env.clock.now_micros().saturating_sub(started_micros),
        });
        self.move_chain_on(request, &extent, begun.as_ref().map(|begun| (begun, place.set_guid)))?;
        if request.kind == BackupKind::Database {
            // Nothing more of the log is freed, but the backup is no longer what holds it.
            self.truncate_log();
        }
        drop(log_backups);
        let summary = BackupSummary {
            pages: extent.log_pages + extent.pages.iter().map(|(_, pages)| pages).sum::<u64>(),
            micros: env.clock.now_micros().saturating_sub(started_micros),
            position,
            stored_bytes,
        };
        self.report_pages(&description, &summary, &mut progress)?;
        self.tell(|| format!("Backup{}: Finished", noun(request.kind)));
        let made = MadeSet {
            description,
            label,
            devices,
        };
        Ok((summary, made))
    }

    /// A step, shown under trace flag 3004.
    fn tell(&self, text: impl FnOnce() -> String) {
        self.storage.env.trace(TRACE_FILE_WORK, text);
    }

    fn check_log_chain(&self) -> Result<()> {
        let boot = self.boot();
        if boot.recovery_model == RecoveryModel::Simple {
            return Err(Error::no_log_backup_in_simple());
        }
        if boot.log_backup_start == Lsn::ZERO {
            return Err(Error::no_current_backup());
        }
        Ok(())
    }

    /// `begun` is where the change map goes that begins with a full backup.
    fn copy_database<'d>(
        &'d self,
        set: &mut SetWriter,
        (kind, begun): (SetKind, Option<&mut Option<BegunMap<'d>>>),
        progress: &mut Progress<'_, '_>,
    ) -> Result<Extent> {
        // Held from before the checkpoint, which would free what the set needs.
        let _hold = self.hold_log(self.truncation_point().0);
        let turn = self.wait_for_checkpoint_turn()?;
        self.checkpoint_in_turn(&turn)?;
        self.tell(|| "BackupDatabase: Checkpoint done".to_string());
        // In this order: a transaction that is not in the table yet begins behind this checkpoint.
        let boot = self.boot();
        let changes = self.storage.files.changes();
        if let Some(begun) = begun {
            *begun = Some(changes.begin(|| self.storage.log.end()));
        }
        // The base moves by turns too, so these extents are those since the base that the boot record names.
        let changed = changes.changed().filter(|_| kind == SetKind::Differential);
        drop(turn);
        let first = self
            .transactions
            .log_needed_from()
            .map_or(boot.redo_start, |oldest| oldest.min(boot.redo_start));
        let runs = plan_pages(&self.storage, &self.space, changed.as_ref().map(|(_, extents)| extents));
        let page_bytes: u64 = runs
            .iter()
            .map(|run| u64::from(run.page_count) * PAGE_BYTES as u64)
            .sum();
        progress.expect_more(page_bytes);
        let pages = copy_pages(&self.storage, &runs, set, progress)?;
        self.tell(|| "Backup: Database files done".to_string());
        let (end, log_end, log_pages) = self.copy_log_to_end(first, set, progress)?;
        // Of a database that nobody uses the next log backup would end where this one does, and be refused behind it as nothing new.
        self.indirect_checkpoint(0)?;
        Ok(Extent {
            first,
            end,
            log_end,
            log_pages,
            pages,
            boot,
        })
    }

    fn copy_log_chain(&self, set: &mut SetWriter, progress: &mut Progress<'_, '_>) -> Result<Extent> {
        let first = self.boot().log_backup_start;
        let (end, log_end, log_pages) = self.copy_log_to_end(first, set, progress)?;
        Ok(Extent {
            first,
            end,
            log_end,
            log_pages,
            pages: Vec::new(),
            boot: self.boot(),
        })
    }

    fn copy_log_to_end(
        &self,
        first: Lsn,
        set: &mut SetWriter,
        progress: &mut Progress<'_, '_>,
    ) -> Result<(Lsn, DateTimeTicks, u64)> {
        let log = &self.storage.log;
        // A transaction that commits after this moment takes a time that is not earlier, and a place behind the end.
        let log_end = self.storage.env.clock.wall_ticks();
        log.flush_to(log.end())?;
        let end = log.flushed().with_slot(1);
        let image = LogImage { files: log.images() };
        set.append_long(ChunkKind::LogLayout, &image.encode())?;
        progress.expect_more(log.used_since(first));
        let copied = copy_log(log, first.with_slot(1), end, set, progress)?;
        self.tell(|| "Backup: Log files done".to_string());
        Ok((end, log_end, copied.div_ceil(PAGE_BYTES as u64)))
    }

    fn describe(
        &self,
        request: &BackupRequest,
        place: &BackupPlace<'_>,
        extent: &Extent,
        started: DateTimeTicks,
    ) -> SetDescription {
        let boot = &extent.boot;
        let pages: u64 = extent.pages.iter().map(|(_, pages)| pages).sum();
        SetDescription {
            kind: set_kind(request),
            name: request.name.clone(),
            description: request.description.clone(),
            compressed: request.compression,
            position: 0,
            user_name: request.user.clone(),
            server_name: place.server_name.to_string(),
            database_name: self.name(),
            database_created: boot.created,
            backup_bytes: (pages + extent.log_pages) * PAGE_BYTES as u64,
            stored_bytes: 0,
            first_lsn: extent.first.with_slot(1),
            last_lsn: extent.end,
            checkpoint_lsn: boot.checkpoint,
            database_backup_lsn: boot.full_backup,
            redo_start: boot.redo_start,
            started,
            finished: self.storage.env.clock.wall_ticks(),
            log_end: extent.log_end,
            compatibility_level: boot.compatibility_level,
            software_version: place.software_version,
            recovery_model: boot.recovery_model.number(),
            copy_only: is_copy_only(request),
            checksum: request.checksum,
            begins_log_chain: request.kind == BackupKind::Database && boot.log_backup_start == Lsn::ZERO,
            no_recovery: request.tail == LogTail::NoRecovery,
            family_guid: boot.guid,
            // "For data backups, FirstRecoveryForkID equals RecoveryForkID" (SQL Server docs): they are what they end as.
            path: boot.path.since(match request.kind {
                BackupKind::Database => extent.end,
                BackupKind::Log => extent.first.with_slot(1),
            }),
            set_guid: place.set_guid,
            files: self.backup_files(&extent.pages),
            filegroups: self.entry().filegroups,
            differential_base: (set_kind(request) == SetKind::Differential).then_some(DifferentialBase {
                guid: boot.change_base,
                lsn: boot.full_backup,
            }),
            boot: boot.encode().to_vec(),
            log_pages: extent.log_pages,
        }
    }

    /// Every file with its size now: at least what it was at any moment of the backup.
    fn backup_files(&self, pages: &[(u16, u64)]) -> Vec<BackupFile> {
        let log_files = self.storage.log.files();
        let describe = |file: &crate::catalog::FileEntry| {
            let copied = pages.iter().find(|(id, _)| *id == file.file_id);
            let log_bytes = log_files.iter().find(|log| log.file_id == file.file_id);
            BackupFile {
                bytes: match file.log {
                    true => log_bytes.map_or(0, |log| log.bytes),
                    false => u64::from(self.storage.files.page_count(file.file_id)) * PAGE_BYTES as u64,
                },
                backup_bytes: copied.map_or(0, |(_, pages)| pages * PAGE_BYTES as u64),
                file: file.clone(),
            }
        };
        self.entry().files.iter().map(describe).collect()
    }

    /// `begun` is the change map that begins with a full backup, and the guid of the set.
    fn move_chain_on(
        &self,
        request: &BackupRequest,
        extent: &Extent,
        begun: Option<(&BegunMap<'_>, [u8; 16])>,
    ) -> Result<()> {
        let now = self.storage.env.clock.wall_ticks();
        let begin_chain = |boot: &mut BootRecord| {
            if boot.recovery_model != RecoveryModel::Simple && boot.log_backup_start == Lsn::ZERO {
                boot.log_backup_start = extent.end;
            }
        };
        match request.kind {
            BackupKind::Database if is_copy_only(request) => Ok(()),
            BackupKind::Database => match begun {
                Some((begun, guid)) => {
                    // Checkpoints write the map that is kept.
                    let _turn = self.checkpointing.lock();
                    let current = self.boot().change_generation;
                    let files = &self.storage.files;
                    files.adopt_changes(begun, guid, current, &mut |generation| {
                        self.change_boot(|boot| {
                            boot.full_backup = extent.boot.checkpoint;
                            boot.full_backup_time = now;
                            boot.change_base = guid;
                            boot.change_generation = generation;
                            begin_chain(boot);
                        })
                    })
                }
                // A differential backup bridges a gap of the log chain as a full one does.
                None => self.change_boot(begin_chain),
            },
            BackupKind::Log if request.copy_only || request.tail == LogTail::NoTruncate => Ok(()),
            BackupKind::Log => {
                self.change_boot(|boot| {
                    boot.log_backup_time = now;
                    // The chain may have been broken meanwhile by SET RECOVERY SIMPLE.
                    if boot.log_backup_start == extent.first {
                        boot.log_backup_start = extent.end;
                    }
                })?;
                self.truncate_log();
                self.ask_for_checkpoint();
                Ok(())
            }
        }
    }

    fn report_pages(
        &self,
        description: &SetDescription,
        summary: &BackupSummary,
        progress: &mut Progress<'_, '_>,
    ) -> Result<()> {
        let is_first_log = |file: &&BackupFile| file.file.log;
        let first_log = description
            .files
            .iter()
            .find(is_first_log)
            .map(|file| file.file.file_id);
        for file in &description.files {
            let pages = match file.file.log {
                true if Some(file.file.file_id) == first_log => description.log_pages,
                true => continue,
                false if description.kind == SetKind::Log => continue,
                false => file.backup_bytes / PAGE_BYTES as u64,
            };
            let message = Error::pages_processed(pages, &self.name(), &file.file.name, description.position);
            progress.message(message)?;
        }
        let statement = format!("BACKUP {}", description.kind.backup_noun());
        progress.message(Error::successfully_processed(&statement, summary.pages, summary.micros))
    }
}
