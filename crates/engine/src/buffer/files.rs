//! The data files of one database: opening, growing, reading, and writing batches so that no page can be lost to a torn write.

use super::before_images::BeforeImages;
use super::changes::ChangeMap;
use super::data_file::{DataFile, DataFileInformation, DataFileSpecification, FileGrowth, Settings};
use super::double_write::{Batch, DoubleWriteFile, TornReport, is_whole};
use super::filegroups::Filegroup;
use super::snapshot::SnapshotFiles;
use crate::error::{Error, NotStored, Result};
use crate::page::{PAGE_BYTES, PageBytes, PageId, PageRef, checksums};
use crate::seams::Environment;
use crate::waits::WaitType;
use disk::{AlignedBuffer, DiskErrorKind};
use parking_lot::{Mutex, MutexGuard, RwLock};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Pages that the last growth of a file added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grown {
    pub file: u16,
    /// Its size in pages before.
    pub pages_before: u32,
    /// Its size in pages after.
    pub pages_after: u32,
}

/// What ties files to their database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseIdentity {
    /// Its number in the instance, for messages.
    pub id: u16,
    /// For messages.
    pub name: String,
    /// The same in every file of the database.
    pub guid: [u8; 16],
}

/// How files are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileOptions {
    /// New space is reserved, not written with zeros (SQL Server: "instant file initialization").
    pub instant_initialization: bool,
    /// Torn pages are survived. Off only for a database that is made again at every start, as tempdb is.
    pub double_write: bool,
}

impl Default for FileOptions {
    /// Instant initialization and double write.
    fn default() -> FileOptions {
        FileOptions {
            instant_initialization: true,
            double_write: true,
        }
    }
}

/// The open data files of one database.
pub struct DataFiles {
    identity: DatabaseIdentity,
    options: FileOptions,
    environment: Environment,
    before_images: RwLock<Option<Arc<BeforeImages>>>,
    changes: ChangeMap,
    /// Snapshots of the database, which keep pages before they are overwritten; `has_snapshots` says whether there is one.
    snapshots: RwLock<Vec<Arc<SnapshotFiles>>>,
    has_snapshots: AtomicBool,
    /// The snapshot or the copy that these are the files of.
    of_snapshot: Option<Arc<SnapshotFiles>>,
    pub(super) files: RwLock<BTreeMap<u16, Arc<DataFile>>>,
    /// PRIMARY alone while it is empty.
    pub(super) filegroups: RwLock<Vec<Filegroup>>,
    pub(super) has_read_only_filegroups: AtomicBool,
    double_write: Option<DoubleWriteFile>,
    batch: Mutex<Batch>,
    growth: Mutex<()>,
    failed: OnceLock<Error>,
}

impl DataFiles {
    /// Creates the files, durable on return. The first specification is the primary file's. When one cannot be made, those made
    /// before it are deleted.
    pub fn create(
        environment: &Environment,
        identity: DatabaseIdentity,
        specifications: &[DataFileSpecification],
        options: FileOptions,
    ) -> Result<DataFiles> {
        let files = DataFiles::with_no_file(environment, identity, options);
        let made = specifications
            .iter()
            .try_for_each(|specification| files.add(specification));
        let made = made.and_then(|()| files.primary_path(specifications));
        let double_write = made.and_then(|primary| match options.double_write {
            true => DoubleWriteFile::create(environment, &files.identity, &primary).map(Some),
            false => Ok(None),
        });
        match double_write {
            Ok(double_write) => Ok(DataFiles { double_write, ..files }),
            Err(error) => {
                files.delete_quietly();
                Err(error)
            }
        }
    }

    /// Opens existing files. Call [`DataFiles::recover_torn`] before any page is read.
    pub fn open(
        environment: &Environment,
        identity: DatabaseIdentity,
        specifications: &[DataFileSpecification],
        options: FileOptions,
    ) -> Result<DataFiles> {
        let mut files = DataFiles::with_no_file(environment, identity, options);
        for specification in specifications {
            let file = DataFile::open(environment, &files.identity, specification)?;
            files.files.write().insert(specification.id, Arc::new(file));
        }
        let primary = files.primary_path(specifications)?;
        if options.double_write {
            files.double_write = Some(DoubleWriteFile::open(environment, &files.identity, &primary)?);
        }
        Ok(files)
    }

    /// The files of a database snapshot. They have no double-write file: what is written to them is written before they are a database's.
    pub fn of_snapshot(
        environment: &Environment,
        identity: DatabaseIdentity,
        specifications: &[DataFileSpecification],
        snapshot: &Arc<SnapshotFiles>,
    ) -> Result<DataFiles> {
        let options = FileOptions {
            double_write: false,
            ..FileOptions::default()
        };
        DataFiles::sparse(environment, identity, specifications, snapshot, options)
    }

    /// The files of a copy, with a double-write file that `is_new` or was made with them.
    pub fn of_copy(
        environment: &Environment,
        identity: DatabaseIdentity,
        specifications: &[DataFileSpecification],
        (copy, is_new): (&Arc<SnapshotFiles>, bool),
        options: FileOptions,
    ) -> Result<DataFiles> {
        let files = DataFiles::sparse(environment, identity, specifications, copy, options)?;
        let primary = files.primary_path(specifications)?;
        let double_write = match is_new {
            true => DoubleWriteFile::create(environment, &files.identity, &primary)?,
            false => DoubleWriteFile::open(environment, &files.identity, &primary)?,
        };
        Ok(DataFiles {
            double_write: Some(double_write),
            ..files
        })
    }

    fn sparse(
        environment: &Environment,
        identity: DatabaseIdentity,
        specifications: &[DataFileSpecification],
        snapshot: &Arc<SnapshotFiles>,
        options: FileOptions,
    ) -> Result<DataFiles> {
        let mut files = DataFiles::with_no_file(environment, identity, options);
        for (id, handle) in snapshot.handles() {
            let specification = specifications.iter().find(|one| one.id == id);
            let specification =
                specification.ok_or_else(|| Error::assertion("a snapshot has a file that is not its"))?;
            let file = DataFile::of_snapshot(environment, &files.identity, specification, handle)?;
            files.files.write().insert(id, Arc::new(file));
        }
        files.of_snapshot = Some(snapshot.clone());
        Ok(files)
    }

    /// Before a change of these pages is logged: they count as a copy's own. Where that exceeds its bound, `is_refused` says whether it is
    /// an error.
    ///
    /// # Errors
    /// 40544.
    pub fn claim(&self, pages: impl Iterator<Item = PageId> + Clone, is_refused: bool) -> Result<()> {
        match &self.of_snapshot {
            Some(files) => files.claim(pages, is_refused),
            None => Ok(()),
        }
    }

    /// The snapshot or the copy that these are the files of.
    pub fn snapshot(&self) -> Option<&Arc<SnapshotFiles>> {
        self.of_snapshot.as_ref()
    }

    fn with_no_file(environment: &Environment, identity: DatabaseIdentity, options: FileOptions) -> DataFiles {
        DataFiles {
            identity,
            options,
            environment: environment.clone(),
            before_images: RwLock::new(None),
            changes: ChangeMap::default(),
            snapshots: RwLock::default(),
            has_snapshots: AtomicBool::new(false),
            of_snapshot: None,
            files: RwLock::new(BTreeMap::new()),
            filegroups: RwLock::default(),
            has_read_only_filegroups: AtomicBool::new(false),
            double_write: None,
            batch: Mutex::new(Batch::new()),
            growth: Mutex::new(()),
            failed: OnceLock::new(),
        }
    }

    fn primary_path(&self, specifications: &[DataFileSpecification]) -> Result<PathBuf> {
        let primary = specifications
            .first()
            .ok_or_else(|| Error::assertion("a database has a data file"))?;
        Ok(primary.path.clone())
    }

    fn delete_quietly(&self) {
        // A file that cannot be deleted now stays behind unreferenced; the error that led here matters more.
        for path in self.paths() {
            let _ = self.environment.disk.delete(&path);
        }
    }

    /// Every file on disk that belongs to the data files, the double-write file included: what DROP DATABASE deletes.
    pub fn paths(&self) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> = self.files.read().values().map(|file| file.path.clone()).collect();
        paths.extend(self.double_write.as_ref().map(|file| file.path().to_path_buf()));
        paths
    }

    /// Which extents were written since the base of differential backups.
    pub fn changes(&self) -> &ChangeMap {
        &self.changes
    }

    pub fn open_files(&self) -> Vec<Arc<dyn disk::File>> {
        self.files.read().values().map(|file| file.handle().clone()).collect()
    }

    /// Gives up the locks of the files: they are not used any more, although a snapshot may still have them open.
    pub fn unlock(&self) {
        self.files.read().values().for_each(|file| file.handle().unlock());
    }

    /// Creates one more file.
    pub fn add(&self, specification: &DataFileSpecification) -> Result<()> {
        Ok(self.add_when(specification, &mut || Ok(()))?)
    }

    /// ALTER DATABASE ADD FILE: creates one more file, which holds pages only when `store` has made durable that it is the
    /// database's. When that fails the file is left and belongs to no database.
    pub fn add_when(
        &self,
        specification: &DataFileSpecification,
        store: &mut dyn FnMut() -> std::result::Result<(), NotStored>,
    ) -> std::result::Result<(), NotStored> {
        let instant = self.options.instant_initialization;
        let file = DataFile::create(&self.environment, &self.identity, specification, instant)?;
        store()?;
        self.files.write().insert(specification.id, Arc::new(file));
        Ok(())
    }

    /// ALTER DATABASE REMOVE FILE: closes a file. No page of it may be in the pool.
    pub fn detach(&self, file: u16) {
        self.files.write().remove(&file);
    }

    /// ALTER DATABASE MODIFY FILE: replaces name, MAXSIZE and FILEGROWTH. False when there is no such file.
    pub fn modify(&self, file: u16, logical_name: &str, bytes_max: Option<u64>, growth: FileGrowth) -> bool {
        let Some(file) = self.file(file) else { return false };
        *file.settings.lock() = Settings {
            logical_name: logical_name.to_string(),
            bytes_max,
            growth,
        };
        true
    }

    pub(super) fn file(&self, id: u16) -> Option<Arc<DataFile>> {
        self.files.read().get(&id).cloned()
    }

    /// What ties the files to their database.
    pub fn identity(&self) -> &DatabaseIdentity {
        &self.identity
    }

    /// File ids in order.
    pub fn file_ids(&self) -> Vec<u16> {
        self.files.read().keys().copied().collect()
    }

    /// Size of a file in pages; 0 when there is none.
    pub fn page_count(&self, file: u16) -> u32 {
        self.file(file).map_or(0, |file| file.page_count())
    }

    /// Path of a file for messages; `file 7` when there is none.
    pub fn path_text(&self, file: u16) -> String {
        self.file(file)
            .map_or_else(|| format!("file {file}"), |file| file.path.display().to_string())
    }

    /// All files as system views show them.
    pub fn information(&self) -> Vec<DataFileInformation> {
        let sparse_bytes = |id| {
            self.of_snapshot
                .as_ref()
                .and_then(|snapshot| snapshot.bytes_on_disk(id))
        };
        let files = self.files.read();
        let of_file = |file: &Arc<DataFile>| DataFileInformation {
            sparse_bytes: sparse_bytes(file.id),
            ..file.information()
        };
        files.values().map(of_file).collect()
    }

    /// Grows one file by its FILEGROWTH, by `pages_needed` at least, durable on return. `None` when FILEGROWTH or MAXSIZE forbid
    /// it: the caller reports 1105 with the object's name.
    ///
    /// # Errors
    /// 1101 when the disk is full; 5149 when the operating system fails otherwise.
    pub fn grow(&self, file: u16, pages_needed: u32) -> Result<Option<Grown>> {
        let _one_at_a_time = self.growth.lock();
        let Some(file) = self.file(file) else { return Ok(None) };
        let pages_before = file.page_count();
        let Some(pages_after) = file.next_page_count(pages_needed) else {
            return Ok(None);
        };
        let pages_after = match &self.of_snapshot {
            Some(copy) => pages_before + copy.growth(pages_needed, pages_after - pages_before)?,
            None => pages_after,
        };
        self.extend(&file, pages_after)?;
        Ok(Some(Grown {
            file: file.id,
            pages_before,
            pages_after: file.page_count(),
        }))
    }

    /// ALTER DATABASE MODIFY FILE (SIZE = ...): makes a file at least this long, whatever its FILEGROWTH.
    pub fn grow_to(&self, file: u16, bytes: u64) -> Result<()> {
        let _one_at_a_time = self.growth.lock();
        let pages = u32::try_from(bytes.div_ceil(PAGE_BYTES as u64)).unwrap_or(u32::MAX);
        match self.file(file) {
            Some(file) if pages > file.page_count() => {
                let more = pages - file.page_count();
                if let Some(copy) = &self.of_snapshot {
                    copy.growth(more, more)?;
                }
                self.extend(&file, pages)
            }
            _ => Ok(()),
        }
    }

    fn extend(&self, file: &DataFile, pages: u32) -> Result<()> {
        self.check_open()?;
        file.extend(pages, self.options.instant_initialization)
            .map_err(|error| {
                let path = file.path.display().to_string();
                match (error.kind, error.operation) {
                    (DiskErrorKind::DiskFull, _) => {
                        Error::disk_full_for_page(&self.identity.name, &self.filegroup_name(file.filegroup))
                    }
                    (_, "sync") => self.close_after(Error::cannot_grow_file(&path, &Error::cause(&error))),
                    _ => Error::cannot_grow_file(&path, &Error::cause(&error)),
                }
            })
    }

    /// Remembers the first failure; from then on nothing is written any more.
    pub(super) fn close_after(&self, error: Error) -> Error {
        self.environment.errorlog.write_error("spid7s", &error);
        self.failed.get_or_init(|| error).clone()
    }

    /// The failure that closed the files, if one did.
    pub fn failure(&self) -> Option<&Error> {
        self.failed.get()
    }

    pub(super) fn check_open(&self) -> Result<()> {
        self.failed.get().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// 824 for a page that contradicts itself.
    pub(crate) fn damaged(&self, id: PageId, what: &str) -> Error {
        let path = self.path_text(id.file);
        Error::damaged_page(what, &id.to_string(), self.identity.id, id.file_offset(), &path)
    }

    /// Reads consecutive pages from `first` on until the buffer is full, and checks none of them.
    pub(super) fn read_run(&self, first: PageId, buffer: &mut [u8]) -> Result<()> {
        let file = self
            .file(first.file)
            .ok_or_else(|| self.damaged(first, "the file does not exist"))?;
        let end = u64::from(first.page) + (buffer.len() / PAGE_BYTES) as u64;
        if end > u64::from(file.page_count()) {
            return Err(self.damaged(first, "the page is behind the end of the file"));
        }
        file.read(first.page, buffer)
    }

    /// Reads consecutive pages as they lie on disk, for a backup, and answers which of them are not whole: a page that is being
    /// written at this moment may be torn, and is whole in the pool.
    pub fn copy_run(&self, first: PageId, buffer: &mut [u8]) -> Result<Vec<PageId>> {
        let (waits, clock) = (&self.environment.waits, self.environment.clock.as_ref());
        waits.time(clock, WaitType::AsyncIoCompletion, || self.read_run(first, buffer))?;
        let (pages, _) = buffer.as_chunks::<PAGE_BYTES>();
        let numbered = pages.iter().zip(first.page..);
        let torn = numbered.filter_map(|(page, number)| {
            let id = PageId::new(first.file, number);
            self.check_page(id, page).is_err().then_some(id)
        });
        Ok(torn.collect())
    }

    /// Writes consecutive sealed pages, for a restore; durable after [`DataFiles::sync_all`]. No page of the pool may be in them.
    pub fn restore_run(&self, first: PageId, bytes: &[u8]) -> Result<()> {
        self.check_open()?;
        let file = self
            .file(first.file)
            .ok_or_else(|| self.damaged(first, "the file does not exist"))?;
        let pages = first.page..first.page + (bytes.len() / PAGE_BYTES) as u32;
        self.changes
            .mark(pages.clone().map(|page| PageId::new(first.file, page)));
        self.keep_for_snapshots(&[(first.file, pages)])?;
        let (waits, clock) = (&self.environment.waits, self.environment.clock.as_ref());
        let written = waits.time(clock, WaitType::AsyncIoCompletion, || file.write(first.page, bytes));
        written.map_err(|error| self.close_after(error))
    }

    /// Makes everything written to every file durable.
    pub fn sync_all(&self) -> Result<()> {
        for file in self.files.read().values() {
            file.sync().map_err(|error| self.close_after(error))?;
        }
        Ok(())
    }

    /// 824 unless the bytes are the page `id` with its checksum, or a page never formatted (all zeros).
    pub(super) fn check_page(&self, id: PageId, page: &PageBytes) -> Result<()> {
        if PageRef::new(page).version() == 0 && page.iter().all(|byte| *byte == 0) {
            return Ok(());
        }
        let (stored, computed) = checksums(page);
        if stored != computed {
            let what = format!("incorrect checksum (expected: {stored:#010x}; actual: {computed:#010x})");
            return Err(self.damaged(id, &what));
        }
        let found = PageRef::new(page).id();
        if found != id {
            let what = format!("incorrect pageid (expected {id}; actual {found})");
            return Err(self.damaged(id, &what));
        }
        Ok(())
    }

    /// Reads one page past the pool and checks it: for pages the pool never holds.
    pub fn read_page(&self, id: PageId) -> Result<Box<PageBytes>> {
        let mut buffer = AlignedBuffer::with_len(PAGE_BYTES);
        self.read_run(id, &mut buffer)?;
        let mut page = Box::new([0; PAGE_BYTES]);
        page.copy_from_slice(&buffer);
        self.check_page(id, &page)?;
        Ok(page)
    }

    /// Seals and writes one page past the pool, durable on return. A power cut may tear it: callers keep two copies.
    pub fn write_page(&self, id: PageId, page: &mut PageBytes) -> Result<()> {
        self.check_open()?;
        crate::page::seal(page);
        let file = self
            .file(id.file)
            .ok_or_else(|| self.damaged(id, "the file does not exist"))?;
        self.keep_for_snapshots(&[(id.file, id.page..id.page + 1)])?;
        let mut buffer = AlignedBuffer::with_len(PAGE_BYTES);
        buffer.copy_from_slice(page);
        let outcome = file.write(id.page, &buffer).and_then(|()| file.sync());
        outcome.map_err(|error| self.close_after(error))
    }

    /// The one batch that may be on its way to the files.
    pub(super) fn lock_batch(&self) -> MutexGuard<'_, Batch> {
        self.batch.lock()
    }

    /// Writes a batch: copies durable, then every page in its place, then synced.
    pub(super) fn write_batch(&self, batch: &mut Batch) -> Result<()> {
        self.check_open()?;
        let pages = batch.copied.ids().iter().chain(batch.rebuildable.ids());
        self.changes.mark(pages.copied());
        batch.seal_all();
        if self.has_snapshots.load(Ordering::SeqCst) {
            let runs = batch.copied.runs().chain(batch.rebuildable.runs());
            let pages = |(first, bytes): (PageId, &[u8])| {
                let count = (bytes.len() / PAGE_BYTES) as u32;
                (first.file, first.page..first.page + count)
            };
            self.keep_for_snapshots(&runs.map(pages).collect::<Vec<_>>())?;
        }
        self.write_sealed(batch).map_err(|error| self.close_after(error))
    }

    fn write_sealed(&self, batch: &mut Batch) -> Result<()> {
        let (waits, clock) = (&self.environment.waits, self.environment.clock.as_ref());
        match &self.double_write {
            Some(file) if !batch.copied.ids().is_empty() => {
                waits.time(clock, WaitType::IoCompletion, || file.write(&mut batch.copied))?;
            }
            _ => {}
        }
        if let Some(images) = self.before_images() {
            self.keep_before_images(&images, batch)?;
        }
        let mut touched: BTreeMap<u16, Arc<DataFile>> = BTreeMap::new();
        for (first, bytes) in batch.copied.runs().chain(batch.rebuildable.runs()) {
            let file = self
                .file(first.file)
                .ok_or_else(|| self.damaged(first, "the file does not exist"))?;
            waits.time(clock, WaitType::WriteCompletion, || file.write(first.page, bytes))?;
            touched.insert(first.file, file);
        }
        touched.values().try_for_each(|file| file.sync())
    }

    /// Has every snapshot keep the pages of these runs, as they are in the files; durable on return. One that cannot is given up.
    pub(super) fn keep_for_snapshots(&self, runs: &[(u16, Range<u32>)]) -> Result<()> {
        if !self.has_snapshots.load(Ordering::SeqCst) {
            return Ok(());
        }
        let snapshots = self.snapshots.read().clone();
        for snapshot in snapshots.iter().filter(|snapshot| !snapshot.is_loss_told()) {
            let keep = |(file, pages): &(u16, Range<u32>)| match self.file(*file) {
                Some(file) => snapshot.keep(&file, pages.clone()),
                None => Ok(()),
            };
            let kept = match snapshot.is_lost() {
                true => Err(snapshot.unkept()),
                false => runs.iter().try_for_each(keep).and_then(|()| snapshot.settle()),
            };
            if let Err(cause) = kept {
                snapshot.lose(&self.environment, &cause).map_err(|error| {
                    let path = error.path.display().to_string();
                    self.close_after(Error::data_file_io("write", 0, &path, &Error::cause(&error)))
                })?;
            }
        }
        Ok(())
    }

    /// From now on a snapshot keeps pages as they are in the files before they are overwritten. `at_begin` is called while no page is
    /// written.
    pub fn add_snapshot<T>(&self, snapshot: &Arc<SnapshotFiles>, at_begin: impl FnOnce() -> T) -> T {
        let _nothing_written = self.batch.lock();
        let files = self.files.read();
        files
            .iter()
            .for_each(|(id, file)| snapshot.set_base(*id, file.handle()));
        drop(files);
        self.snapshots.write().push(snapshot.clone());
        self.has_snapshots.store(true, Ordering::SeqCst);
        at_begin()
    }

    /// A snapshot is dropped, or was not finished.
    pub fn remove_snapshot(&self, guid: [u8; 16]) {
        let _nothing_written = self.batch.lock();
        let mut snapshots = self.snapshots.write();
        snapshots.retain(|snapshot| snapshot.guid != guid);
        self.has_snapshots.store(!snapshots.is_empty(), Ordering::SeqCst);
    }

    /// Nobody makes a file longer until the answer is dropped.
    pub(super) fn stop_growth(&self) -> MutexGuard<'_, ()> {
        self.growth.lock()
    }

    /// Keeps every file as long as it is until the answer is dropped: its specification and its pages.
    pub fn keep_lengths(&self) -> (MutexGuard<'_, ()>, BTreeMap<u16, u32>) {
        let still = self.growth.lock();
        let files = self.files.read();
        let lengths = files.iter().map(|(id, file)| (*id, file.page_count())).collect();
        (still, lengths)
    }

    /// From now on pages are kept as they are before they are overwritten, or, with `None`, no longer.
    pub fn set_before_images(&self, images: Option<Arc<BeforeImages>>) {
        *self.before_images.write() = images;
    }

    /// Where pages are kept before they are overwritten.
    pub fn before_images(&self) -> Option<Arc<BeforeImages>> {
        self.before_images.read().clone()
    }

    fn keep_before_images(&self, images: &BeforeImages, batch: &Batch) -> Result<()> {
        let failed = |error: disk::DiskError| {
            let path = error.path.display().to_string();
            Error::data_file_io("write", 0, &path, &Error::cause(&error))
        };
        let mut former = AlignedBuffer::with_len(PAGE_BYTES);
        for (first, bytes) in batch.copied.runs().chain(batch.rebuildable.runs()) {
            let pages = first.page..first.page + (bytes.len() / PAGE_BYTES) as u32;
            for id in pages.map(|page| PageId::new(first.file, page)) {
                // A page behind the end of the file was nothing before.
                if !images.has(id) && id.page < self.page_count(id.file) {
                    self.read_run(id, &mut former)?;
                    images.keep(id, &former).map_err(failed)?;
                }
            }
        }
        images.sync().map_err(failed)
    }

    /// Puts back what a power cut tore: every page of the last batch that is not whole in its place gets its copy. Durable on
    /// return, harmless to repeat.
    pub fn recover_torn(&self) -> Result<TornReport> {
        let mut report = TornReport::default();
        let Some(double_write) = &self.double_write else {
            return Ok(report);
        };
        for (id, copy) in double_write.copies()? {
            let Some(file) = self.file(id.file) else { continue };
            report.pages_checked += 1;
            let mut place = AlignedBuffer::with_len(PAGE_BYTES);
            let is_inside = id.page < file.page_count();
            if is_inside {
                file.read(id.page, &mut place)?;
            }
            if !is_whole(id, &place) {
                file.write(id.page, &copy).map_err(|error| self.close_after(error))?;
                report.pages_restored.push(id);
            }
        }
        for file in self.files.read().values() {
            file.sync().map_err(|error| self.close_after(error))?;
        }
        Ok(report)
    }
}
