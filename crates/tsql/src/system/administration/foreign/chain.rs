//! A full backup of SQL Server followed by differential and log backups: RESTORE ... WITH NORECOVERY, set by set, up to WITH RECOVERY.
//!
//! ```text
//! full, NORECOVERY   read once; the database is RESTORING, its entry has the paths        engine::instance::Instance::begin_foreign_restore
//! log, NORECOVERY    read once; the entry has one set more
//! RECOVERY           all sets are read again: pages, log, undo (genuine::chain), then the import, in place of the entry
//! ```
//!
//! SQL Server copies a set when it is restored. An import cannot do that, because tables can be created only from pages to which all log
//! has been applied. So the entry lists the restored sets, survives a restart, and until WITH RECOVERY the backup files must stay where
//! they are; each statement says so. Sets that were replaced by others in the meantime are refused.
//!
//! The family of a database shows which sets belong to it, the fork shows their recovery path: the rules are those of our own sets
//! (`engine::log::LogPath`).
//!
//! STOPAT stops at the first transaction that committed later. A set with pages must end before that time (4338). Times are those of the
//! server that wrote the log.

use engine::backup::{AfterRestore, StopPoint};
use engine::catalog::{ForeignPath, ForeignRestore, ForeignSet, StoredLsn};
use engine::clock::DateTimeTicks;
use engine::error::{Error, Result};
use engine::instance::{CreateDatabase, ForeignFile, Operation};
use engine::log::{Continuation, ForkId, ForkOrigin, LogPath};
use genuine::chain::{Chain, Ends, Progress, Unfit, check_log, logs_of};
use genuine::container::{Backup, BackupSet, LogImage, SetKind};
use genuine::log::LogReader;
use genuine::{Fault, PAGE_BYTES};
use vlf::record::RecordTime;
use vlf::{Lsn, ReadAt};

use super::super::let_go_of_plans;
use super::super::with_options::unsupported;
use super::import::{Place, Target};
use super::media::ticks_of;
use super::verify::read_pages;
use super::{Given, Work, check_moves, damaged, possible_files, recovered, set_at, sound_backup};

/// A full set: all of the database, or the first of its sets.
///
/// # Errors
/// 3234 for MOVE of another file, 4338 for a stop before its end, 3203 for damage; those of making the database, or its entry.
pub(super) fn begin(work: &mut Work<'_>, given: &Given<'_>) -> Result<()> {
    let set = given.set();
    check_moves(set, &work.request.moves)?;
    let create = possible_files(work, (given.path(), set), &work.request.moves)?;
    let logs = logs(given)?;
    let stop = stop_in(work, given, &logs, None)?;
    if work.waits_for_more(stop.is_reached)? {
        return begin_chain(work, given, &stop);
    }
    let of_family =
        |entry: &engine::catalog::DatabaseEntry| entry.foreign.is_some() && entry.guid == set.configuration.family_guid;
    // A chain that is begun anew is held until it is replaced: another session could make something else of its name meanwhile.
    let is_begun = |slot: &engine::instance::DatabaseSlot| of_family(&slot.entry());
    let held = match !work.request.replace && work.context.slot(work.name).is_some_and(|slot| is_begun(&slot)) {
        true => Some(work.context.instance.go_on_with_foreign_restore(work.name)?.0),
        false => None,
    };
    let target = Target {
        name: work.name.to_owned(),
        place: match &held {
            Some(held) if of_family(&held.entry()) => Place::Over(held),
            Some(_) => return Err(Error::set_of_another_database(work.name)),
            None if work.request.replace => Place::Replaced,
            None => Place::New,
        },
        stats_percent: work.request.stats_percent,
        create,
    };
    let pages = given.backup.pages(given.at, &mut |_, _| {});
    let pages = pages.map_err(|fault| damaged(given.path(), &fault))?;
    let recovered = recovered(&pages, &reader(&logs))?;
    work.import(&recovered, (given.path(), Some(given)), target)
}

fn begin_chain(work: &mut Work<'_>, given: &Given<'_>, stop: &Stop) -> Result<()> {
    let begun = work.context.instance.env.clock.now_micros();
    let progress = Progress::of_full(given.set());
    let restore = ForeignRestore {
        sets: vec![given.kept(stop)],
        moves: work.request.moves.clone(),
        base: stored(progress.base),
        reached: stored(progress.reached),
        path: stored_path(path_of(given.set())),
        newest: stop.newest,
    };
    read(work, given)?;
    let_go_of_plans(work.context);
    let which = (progress.family, work.request.replace);
    let instance = work.context.instance;
    instance.begin_foreign_restore(work.name, which, restore, &work.context.engine.borrow())?;
    work.tell_kept(given, begun)
}

/// A differential or a log set, on those that are restored.
///
/// # Errors
/// 3118, 3117, 3154 when the database does not wait for it; 3136, 4305, 4326, 4330 when it does not follow; 4335, 4338 for the stop; as [`begin`].
pub(super) fn go_on(work: &mut Work<'_>, given: &Given<'_>) -> Result<()> {
    if given.set().header.kind == SetKind::Log && given.set().page_bytes > 0 {
        return Err(unsupported(
            "a log backup of SQL Server with the pages of minimally logged work",
        ));
    }
    let begun = work.context.instance.env.clock.now_micros();
    let (operation, mut restore) = work.context.instance.go_on_with_foreign_restore(work.name)?;
    check_moves(given.set(), &work.request.moves)?;
    let reached = follow(&operation, &restore, given.set())?;
    let stop = stop_in(work, given, &logs(given)?, Some(&restore))?;
    restore.sets.push(given.kept(&stop));
    restore.moves.extend_from_slice(&work.request.moves);
    restore.reached = stop.at.unwrap_or_else(|| stored(reached));
    let path = path_from(&restore.path).continued(&path_of(given.set()), lsn_of(restore.reached));
    restore.path = stored_path(path);
    restore.newest = restore.newest.max(stop.newest);
    if work.waits_for_more(stop.is_reached)? {
        read(work, given)?;
        work.context.instance.update_entry(&operation, |entry| {
            entry.foreign = Some(restore);
            Ok(())
        })?;
        return work.tell_kept(given, begun);
    }
    finish(work, &operation, &restore, Some(given))
}

/// RESTORE DATABASE WITH RECOVERY, without a set; WITH NORECOVERY the database goes on waiting.
///
/// # Errors
/// 3117 when the database does not wait; 3201, 3203 for sets that are no longer what they were.
pub(super) fn recover(work: &mut Work<'_>) -> Result<()> {
    let (operation, restore) = work.context.instance.go_on_with_foreign_restore(work.name)?;
    if work.request.after == AfterRestore::NoRecovery {
        return Ok(());
    }
    finish(work, &operation, &restore, None)
}

/// Reads all sets, and imports what they come to. `last` is the set that the statement names.
fn finish(
    work: &mut Work<'_>,
    operation: &Operation,
    restore: &ForeignRestore,
    last: Option<&Given<'_>>,
) -> Result<()> {
    let mut backups = Vec::with_capacity(restore.sets.len());
    for set in &restore.sets {
        backups.push(opened(work, set)?);
    }
    let path = restore.sets[0].paths.first().map_or("", String::as_str);
    let sets: Vec<(&Backup<ForeignFile>, usize)> = backups.iter().map(|(backup, at)| (backup, *at)).collect();
    let mut all = sets.iter().map(|(backup, at)| &backup.sets()[*at]);
    let newest = all.rfind(|set| !set.configuration.files.is_empty());
    let create = match newest {
        Some(set) => possible_files(work, (path, set), &restore.moves)?,
        None => CreateDatabase::default(),
    };
    let chain = Chain::open(&sets).map_err(|fault| damaged(path, &fault))?;
    let end = restore.sets.last().and_then(|set| set.stop).map(lsn_of);
    let recovered = recovered(&chain, &chain.log().before(end))?;
    let target = Target {
        name: operation.entry().name,
        place: Place::Over(operation),
        stats_percent: work.request.stats_percent,
        create,
    };
    work.import(&recovered, (path, last), target)
}

/// A set that was restored, opened again.
fn opened(work: &Work<'_>, kept: &ForeignSet) -> Result<(Backup<ForeignFile>, usize)> {
    let files = kept.paths.iter().map(|path| work.context.instance.open_foreign(path));
    let backup = sound_backup(&kept.paths, files.collect::<Result<Vec<_>>>()?)?;
    let path = kept.paths.first().map_or("", String::as_str);
    let at = set_at(&backup, kept.position, path)?;
    match backup.sets()[at].header.guid == kept.guid {
        true => Ok((backup, at)),
        false => {
            let reason = format!("backup set {} is not the one that was restored from it", kept.position);
            Err(damaged(path, &Fault::whole(reason)))
        }
    }
}

/// Where a restore is once a set has been applied to it.
///
/// # Errors
/// 3154, 3136, 4305, 4326 and 4330 for a set that does not follow.
fn follow(operation: &Operation, restore: &ForeignRestore, set: &BackupSet) -> Result<Lsn> {
    let entry = operation.entry();
    let needed = lsn_of(restore.reached);
    let mut progress = Progress {
        family: entry.guid,
        base: lsn_of(restore.base),
        base_guid: restore.sets.first().map_or([0; 16], |full| full.guid),
        reached: needed,
    };
    progress.go_on(set).map_err(|unfit| refusal(unfit, &entry.name))?;
    let (path, of_set) = (path_from(&restore.path), path_of(set));
    let (first, last) = (set.configuration.first_lsn, set.configuration.last_lsn);
    if set.header.kind == SetKind::Differential {
        // Before the origin of its fork, nothing says which forks its path went over: that its base is the full set has to do.
        let is_known = of_set.origin.is_none_or(|origin| needed > origin.point);
        return match is_known && of_set.fork != path.fork_before(needed) {
            true => Err(Error::inconsistent_recovery_path()),
            false => Ok(progress.reached),
        };
    }
    match path.continuation(needed, &of_set, first, last) {
        Continuation::Applies => Ok(progress.reached),
        Continuation::TooRecent => Err(Error::log_too_recent(first, needed)),
        Continuation::TooEarly => Err(Error::log_too_early(last, needed)),
        Continuation::OtherPath => Err(Error::inconsistent_recovery_path()),
    }
}

/// The path that the log of a set is on.
pub(super) fn path_of(set: &BackupSet) -> LogPath {
    let origin = set.configuration.fork_origin;
    LogPath {
        fork: ForkId(set.configuration.fork),
        origin: origin.map(|(parent, point)| ForkOrigin {
            parent: ForkId(parent),
            point,
        }),
    }
}

fn path_from(stored: &ForeignPath) -> LogPath {
    LogPath {
        fork: ForkId(stored.fork),
        origin: stored.origin.map(|(parent, point)| ForkOrigin {
            parent: ForkId(parent),
            point: lsn_of(point),
        }),
    }
}

fn stored_path(path: LogPath) -> ForeignPath {
    ForeignPath {
        fork: path.fork.0,
        origin: path.origin.map(|origin| (origin.parent.0, stored(origin.point))),
    }
}

fn refusal(unfit: Unfit, database: &str) -> Error {
    match unfit {
        Unfit::OtherFamily => Error::set_of_another_database(database),
        Unfit::OtherBase => Error::not_the_base_of_differential(),
        Unfit::Kind => Error::nothing_to_roll_forward(),
    }
}

/// Where a set stops.
struct Stop {
    /// The first record that is not done; `None` for the end of the set.
    at: Option<StoredLsn>,
    /// What was asked for lies in the set, or nothing was.
    is_reached: bool,
    /// The newest transaction in the set that is committed before it.
    newest: Option<(i32, u32)>,
}

/// Finds STOPAT in a set. `before` is what is restored already.
fn stop_in(
    work: &Work<'_>,
    given: &Given<'_>,
    logs: &[LogImage<'_, ForeignFile>],
    before: Option<&ForeignRestore>,
) -> Result<Stop> {
    let set = given.set();
    let time = work.request.stop_at.as_ref().and_then(StopPoint::time);
    let ends = Ends::in_log(&reader(logs), time.map(record_time)).map_err(|fault| damaged(given.path(), &fault))?;
    let newest = ends.newest_before.map(|time| (time.days as i32, time.ticks));
    let at = ends.first_after.map(stored);
    let (Some(time), true) = (time, set.header.kind == SetKind::Log) else {
        let finished = set.configuration.finished.and_then(ticks_of);
        if time.is_some_and(|time| at.is_some() || finished.is_some_and(|finished| time < finished)) {
            return Err(Error::stop_point_too_early());
        }
        // Its log need not have a commit; that it was made then is certain.
        return Ok(Stop {
            at: None,
            is_reached: time.is_none(),
            newest: newest.max(finished.map(|finished| (finished.days, finished.ticks))),
        });
    };
    let reached = before.map(|before| before.reached);
    let is_done = before.and_then(|before| before.newest) > Some((time.days, time.ticks));
    if is_done || at.is_some_and(|at| Some(at) < reached) {
        return Err(Error::stop_point_passed());
    }
    // What was committed before the backup began is in it.
    let began = set.configuration.started.and_then(ticks_of);
    Ok(Stop {
        at,
        is_reached: at.is_some() || began.is_some_and(|began| time < began),
        newest,
    })
}

fn logs<'g>(given: &Given<'g>) -> Result<Vec<LogImage<'g, ForeignFile>>> {
    let logs = logs_of(given.backup, given.at)
        .map_err(|fault| unsupported(&format!("a backup whose log cannot be put together ({fault})")))?;
    match check_log(given.set(), &logs) {
        Ok(()) => Ok(logs),
        Err(fault) => Err(damaged(given.path(), &fault)),
    }
}

fn reader<'l>(logs: &'l [LogImage<'_, ForeignFile>]) -> LogReader<'l> {
    LogReader::new(logs.iter().map(|log| log as &dyn ReadAt).collect())
}

/// Reads the pages of a set that is kept for later, and says how far it is.
fn read(work: &mut Work<'_>, given: &Given<'_>) -> Result<()> {
    let step = work.request.stats_percent.map(u64::from);
    let pages = read_pages(work.host, given.backup, given.at, step)?;
    let checked = pages.and_then(|pages| pages.check_changed());
    checked.map_err(|fault| damaged(given.path(), &fault))
}

impl Given<'_> {
    fn kept(&self, stop: &Stop) -> ForeignSet {
        ForeignSet {
            paths: self.paths.to_vec(),
            position: self.position(),
            guid: self.set().header.guid,
            stop: stop.at,
        }
    }
}

impl Work<'_> {
    /// Whether the database stays RESTORING: it was asked for, or the stop is not reached, which is said.
    fn waits_for_more(&mut self, stop_is_reached: bool) -> Result<bool> {
        if self.request.after == AfterRestore::NoRecovery {
            return Ok(true);
        }
        if !stop_is_reached {
            self.host.message(&Error::stop_point_not_reached())?;
        }
        Ok(!stop_is_reached)
    }

    /// What is said of a set that is restored and not recovered.
    fn tell_kept(&mut self, given: &Given<'_>, begun_micros: u64) -> Result<()> {
        let set = given.set();
        let mut all = 0;
        for file in &set.configuration.files {
            let pages = pages_of(set, file.is_log(), file.backup_bytes);
            all += pages;
            let processed = Error::pages_processed(pages, self.name, &file.logical_name, given.position());
            self.host.message(&processed)?;
        }
        self.note(given)?;
        let kept = "The backup is read again when the database is recovered. Its files have to stay where they are until then.";
        self.host.message(&Error::new(0, 0, 1, kept.to_owned()))?;
        let micros = self
            .context
            .instance
            .env
            .clock
            .now_micros()
            .saturating_sub(begun_micros);
        let last = Error::successfully_processed(self.statement(), all, micros);
        self.host.message(&last)
    }
}

fn pages_of(set: &BackupSet, is_log: bool, backup_bytes: u64) -> u64 {
    let bytes = if is_log { set.log_bytes } else { backup_bytes };
    bytes.div_ceil(PAGE_BYTES as u64)
}

fn record_time(time: DateTimeTicks) -> RecordTime {
    RecordTime {
        days: u32::try_from(time.days).unwrap_or(0),
        ticks: time.ticks,
    }
}

fn stored(lsn: Lsn) -> StoredLsn {
    (lsn.vlf, lsn.block, lsn.slot)
}

fn lsn_of((vlf, block, slot): StoredLsn) -> Lsn {
    Lsn::new(vlf, block, slot)
}
