//! Recovery: the pages of a database as they are when its log has been done and undone, in memory beside files that nobody writes.
//!
//! A backup's pages are copied while the database is used, and a server that was killed leaves pages that are older than its log, or that have
//! changes of transactions that never ended. SQL Server brings them in order when it opens the database (Microsoft, "SQL Server transaction log
//! architecture": write-ahead logging):
//!
//! ```text
//!   log, forward    each record that is newer than its page, if the page has the LSN that the record names, is done        redo
//!   log, backward   each record of a transaction without an end is taken back                                             undo
//! ```
//!
//! - [`step`]: what a record does to a page. Pages of indexes, and maps that rows are not read by, are left out.
//! - [`image`]: a page, and a step on it
//! - [`moves`]: in which slot a row is by now that a record is to be taken back of
//!
//! **Nothing is guessed.** A page is lost, with the reason, where a record names another LSN than the page has (log is missing), where the bytes that it replaces are
//! not there, where its operation is not known, and where a row of an open transaction has left its page. Reading a lost page is a fault, so what
//! does not need it can still be read. A later LOP_FORMAT_PAGE makes the page whole again.
//!
//! Rows of other transactions are in the way of none: what an open transaction has changed is locked until it ends. The counts of rows and pages
//! in the catalog are not brought forward.

mod image;
mod moves;
mod step;

use crate::fault::{Fault, Result};
use crate::log::{LogReader, LogRecord};
use crate::page::{FileOfPages, Page, PageBytes, PageId, PageSource};
use image::{Image, Way};
use moves::Moves;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use step::{Action, Step};
use vlf::record::{Operation, SqlRecord, SqlTransactionId};
use vlf::{FormatVersion, Lsn};

/// Pages that are kept: 256 MB.
const PAGES_MAX: usize = 32_768;
/// Records that are kept to be taken back.
const UNDO_BYTES_MAX: usize = 64 << 20;

/// What recovery has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Pages that are not as they are in their files.
    pub pages: usize,
    pub records_redone: u64,
    pub records_undone: u64,
    pub transactions_undone: usize,
}

impl Done {
    /// The files are the database.
    pub fn is_nothing(self) -> bool {
        self == Done::default()
    }
}

/// The pages of a database that has been recovered.
pub struct Recovered<'s> {
    source: &'s dyn PageSource,
    images: BTreeMap<PageId, Image>,
    files: Vec<FileOfPages>,
    done: Done,
}

impl<'s> Recovered<'s> {
    /// Recovers the database whose pages `source` has and whose log is `log`.
    ///
    /// # Errors
    /// The log cannot be read, changes more pages than are kept, or does not have the beginning of a transaction that it has no end of.
    pub fn open(source: &'s dyn PageSource, log: &LogReader<'_>) -> Result<Recovered<'s>> {
        let open = open_transactions(log)?;
        let mut recovery = Recovery {
            source,
            images: BTreeMap::new(),
            lsns: HashMap::new(),
            moves: open.values().flatten().map(|page| (*page, Moves::default())).collect(),
            to_undo: Vec::new(),
            undo_bytes: 0,
            done: Done::default(),
            fault: None,
        };
        log.each(&mut |record| recovery.take(record, &open))?;
        recovery.undo()?;
        Ok(recovery.finish(open.len()))
    }

    /// How much of its log was done, and undone.
    pub fn done(&self) -> Done {
        self.done
    }
}

impl PageSource for Recovered<'_> {
    fn read_page(&self, id: PageId, bytes: &mut PageBytes) -> Result<()> {
        match self.images.get(&id) {
            Some(Image::Whole(image)) => {
                bytes.copy_from_slice(&image[..]);
                Ok(())
            }
            Some(Image::Lost(reason)) => Err(Fault::of_page(id, reason.clone())),
            Some(Image::OfIndex) => Err(Fault::of_page(id, "the log makes it a page of an index")),
            None => self.source.read_page(id, bytes),
        }
    }

    fn files(&self) -> &[FileOfPages] {
        &self.files
    }

    fn page_count(&self) -> u64 {
        self.source.page_count() + self.images.len() as u64
    }
}

/// The transactions whose end is not in the log, and the pages with rows that they have changed.
fn open_transactions(log: &LogReader<'_>) -> Result<BTreeMap<SqlTransactionId, BTreeSet<PageId>>> {
    #[derive(Default)]
    struct Open {
        began: bool,
        pages: BTreeSet<PageId>,
    }
    let mut open: BTreeMap<SqlTransactionId, Open> = BTreeMap::new();
    let mut newest = 0;
    log.each(&mut |record| {
        // Between two VLFs that do not follow one another log was overwritten, and with it ends of transactions.
        if record.lsn.vlf > newest + 1 {
            open.clear();
        }
        newest = record.lsn.vlf;
        let Some(header) = SqlRecord::decode(record.format, record.bytes) else {
            return;
        };
        match header.operation {
            Operation::BEGIN_XACT => open.entry(header.transaction).or_default().began = true,
            Operation::COMMIT_XACT | Operation::ABORT_XACT => {
                open.remove(&header.transaction);
            }
            _ if header.transaction == SqlTransactionId::default() => {}
            _ => {
                if let Some(step) = Step::read(record).filter(|step| !matches!(step.action, Action::Nothing)) {
                    open.entry(header.transaction).or_default().pages.insert(step.page);
                }
            }
        }
    })?;
    open.retain(|_, transaction| !transaction.pages.is_empty());
    if let Some((id, _)) = open.iter().find(|(_, transaction)| !transaction.began) {
        return Err(Fault::whole(format!(
            "transaction {id} has no end in the log, and began before the log that there is: it cannot be undone"
        )));
    }
    Ok(open
        .into_iter()
        .map(|(id, transaction)| (id, transaction.pages))
        .collect())
}

/// A record that is kept.
type Kept = (Lsn, FormatVersion, Vec<u8>);

struct Recovery<'s> {
    source: &'s dyn PageSource,
    images: BTreeMap<PageId, Image>,
    /// The LSN that each page has, as far as the log has changes of it; `None` for one that the source does not have.
    lsns: HashMap<PageId, Option<Lsn>>,
    /// Of the pages that are undone.
    moves: HashMap<PageId, Moves>,
    to_undo: Vec<Kept>,
    undo_bytes: usize,
    done: Done,
    fault: Option<Fault>,
}

impl<'s> Recovery<'s> {
    /// Redo: the next record.
    fn take(&mut self, record: LogRecord<'_>, open: &BTreeMap<SqlTransactionId, BTreeSet<PageId>>) {
        let Some(step) = Step::read(record).filter(|_| self.fault.is_none()) else {
            return;
        };
        if open.contains_key(&step.transaction) {
            self.keep(record);
        }
        if let Some(moves) = self.moves.get_mut(&step.page) {
            match &step.action {
                Action::Format(_) => moves.clear(step.lsn),
                Action::Rows(change) => moves.note(change),
                _ => {}
            }
        }
        let source = self.source;
        let lsn = *self.lsns.entry(step.page).or_insert_with(|| lsn_in(source, step.page));
        if lsn.is_some_and(|lsn| lsn >= step.lsn) {
            return;
        }
        self.lsns.insert(step.page, Some(step.lsn));
        self.done.records_redone += 1;
        if let Action::Format(header) = &step.action {
            let image = Image::formatted(step.page, header, step.lsn);
            return self.put(step.page, image);
        }
        let mut image = self.image(step.page);
        if lsn != Some(step.page_lsn_before) && matches!(image, Image::Whole(_)) {
            let has = lsn.map_or_else(|| "nothing".to_owned(), |lsn| lsn.to_string());
            let wanted = step.page_lsn_before;
            image = Image::Lost(format!(
                "log is missing between {has} and {wanted}, and with it changes of this page"
            ));
        }
        if let Err(reason) = image.apply(&step.action, 0, Way::Redo) {
            image = Image::Lost(format!("the record of the log at {}: {reason}", step.lsn));
        }
        image.set_lsn(step.lsn);
        self.put(step.page, image);
    }

    /// The page as it is by now.
    fn image(&self, id: PageId) -> Image {
        self.images
            .get(&id)
            .cloned()
            .unwrap_or_else(|| match Page::read(self.source, id) {
                Ok(page) => Image::of(&page),
                Err(fault) => Image::Lost(fault.reason),
            })
    }

    fn put(&mut self, id: PageId, image: Image) {
        self.images.insert(id, image);
        if self.images.len() > PAGES_MAX {
            self.fault = Some(Fault::whole(format!(
                "the log changes more than {PAGES_MAX} pages that are older than it, and no more are brought forward"
            )));
        }
    }

    fn keep(&mut self, record: LogRecord<'_>) {
        self.undo_bytes += record.bytes.len();
        self.to_undo.push((record.lsn, record.format, record.bytes.to_vec()));
        if self.undo_bytes > UNDO_BYTES_MAX {
            self.fault = Some(Fault::whole(
                "transactions without an end have more than 64 MB of log, and no more is taken back",
            ));
        }
    }

    /// Takes back what was kept, from the last record to the first.
    fn undo(&mut self) -> Result<()> {
        for (lsn, format, bytes) in std::mem::take(&mut self.to_undo).into_iter().rev() {
            if let Some(fault) = self.fault.take() {
                return Err(fault);
            }
            let bytes = &bytes[..];
            if let Some(step) = Step::read(LogRecord { lsn, format, bytes }) {
                self.undo_step(&step);
            }
        }
        self.fault.take().map_or(Ok(()), Err)
    }

    fn undo_step(&mut self, step: &Step<'_>) {
        let mut image = self.image(step.page);
        let mut place = Some(0);
        if let (Some(change), Some(moves)) = (step.rows(), self.moves.get_mut(&step.page)) {
            let is_gone = matches!(change.change, crate::log::Change::Delete { is_ghost: false, .. });
            place = moves.place(step.lsn, usize::from(change.slot), is_gone);
            if let Some(place) = place {
                moves.note_undone(change, place);
            }
        }
        let undone = match place {
            Some(place) => image.apply(&step.action, place, Way::Undo),
            None => Err("a row that it changed has left the page".to_owned()),
        };
        if let Err(reason) = undone {
            image = Image::Lost(format!(
                "the record of the log at {}, of transaction {} without an end, cannot be taken back: {reason}",
                step.lsn, step.transaction
            ));
        }
        self.done.records_undone += 1;
        self.put(step.page, image);
    }

    fn finish(self, transactions_undone: usize) -> Recovered<'s> {
        let mut files = self.source.files().to_vec();
        for id in self.images.keys() {
            match files.iter_mut().find(|file| file.id == id.file) {
                Some(file) => file.pages = file.pages.max(id.page.saturating_add(1)),
                None => files.push(FileOfPages {
                    id: id.file,
                    pages: id.page.saturating_add(1),
                }),
            }
        }
        files.sort_by_key(|file| file.id);
        Recovered {
            source: self.source,
            done: Done {
                pages: self.images.len(),
                transactions_undone,
                ..self.done
            },
            images: self.images,
            files,
        }
    }
}

/// The LSN that a page has in its source; `None` if the source does not have it.
fn lsn_in(source: &dyn PageSource, id: PageId) -> Option<Lsn> {
    Page::read_unchecked(source, id).ok().map(|page| page.lsn())
}
