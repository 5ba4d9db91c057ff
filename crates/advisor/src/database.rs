//! Inspects a SQL Server database without SQL Server: the contents of its data files or its backup, and their integrity.

use genuine::catalog::Catalog;
use genuine::container::{Backup, BackupSet, LogImage, is_backup};
use genuine::survey::{self, Faults, PageSurvey, TableSurvey};
use genuine::verdicts::Verdicts;
use genuine::{Fault, PageSource};
use vlf::{PAGE_BYTES, ReadAt};

use crate::inspection::{Depth, Inspection, inspect};

/// What kind of file this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A log, or nothing known: the reader of logs says more.
    Log,
    /// A data file of SQL Server.
    Data,
    /// A backup of SQL Server.
    Backup,
}

/// What the header page of a data file or a log file begins with.
const HEADER_PAGE: [u8; 2] = [1, 15];

/// Tells files apart by their first pages: behind its header page a data file has a PFS page, a log file a VLF.
pub fn kind_of<S: ReadAt + ?Sized>(source: &S) -> FileKind {
    /// The kind of a PFS page in its header.
    const PFS: u8 = 11;
    let mut first = [0; 8];
    let mut second = [0; 2];
    if source.read_at(0, &mut first).is_ok() && is_backup(&first) {
        return FileKind::Backup;
    }
    let has_second = source.read_at(PAGE_BYTES, &mut second).is_ok();
    match has_second && first.starts_with(&HEADER_PAGE) && second == [1, PFS] {
        true => FileKind::Data,
        false => FileKind::Log,
    }
}

/// The first bytes are those of a file header page, so this is a database's file and no text.
pub fn begins_with_page_zero<S: ReadAt + ?Sized>(source: &S) -> bool {
    let mut first = [0; 2];
    source.read_at(0, &mut first).is_ok() && first == HEADER_PAGE
}

/// What was found in a database.
#[derive(Clone, Debug)]
pub struct DatabaseInspection {
    /// The sets of the backup that it was read from; none for data files.
    pub sets: Vec<BackupSet>,
    /// Which of the sets the rest is of, from 1.
    pub set: Option<usize>,
    /// It is what has changed since a full backup, and not a database: that it has no catalog is not damage.
    pub is_differential: bool,
    /// Its catalog, or why that cannot be read.
    pub catalog: Result<Catalog, Fault>,
    pub pages: PageSurvey,
    /// In the order of the catalog's tables.
    pub tables: Vec<TableSurvey>,
    /// Damage of the container.
    pub container: Faults,
}

/// Reads a whole database: every allocated page that has no verdict yet, and every row of every table.
pub fn inspect_database(source: &dyn PageSource, mut verdicts: Verdicts) -> DatabaseInspection {
    let pages = survey::pages(source, &mut verdicts);
    let catalog = Catalog::open(source);
    let tables = match &catalog {
        Ok(catalog) => survey::tables(source, catalog, &verdicts),
        Err(_) => Vec::new(),
    };
    DatabaseInspection {
        sets: Vec::new(),
        set: None,
        is_differential: false,
        catalog,
        pages,
        tables,
        container: Faults::default(),
    }
}

/// Reads every page of a differential backup that has no verdict yet.
pub fn inspect_differential(source: &dyn PageSource, mut verdicts: Verdicts) -> DatabaseInspection {
    DatabaseInspection {
        sets: Vec::new(),
        set: None,
        is_differential: true,
        catalog: Err(Fault::whole("a differential backup has parts of a catalog")),
        pages: survey::pages(source, &mut verdicts),
        tables: Vec::new(),
        container: Faults::default(),
    }
}

/// The log files of set `set`, from 0: their ids, and what of them is in the backup.
///
/// # Errors
/// The set's log cannot be found, or the backup cannot be read.
pub fn logs_of_backup<S: ReadAt>(backup: &Backup<S>, set: usize) -> Result<Vec<(u32, Inspection)>, Fault> {
    let logs = backup.logs(set)?;
    logs.iter()
        .map(|image| Ok((image.file_id(), present(image)?)))
        .collect()
}

/// What the inspector finds in `image`, without the damage that a missing part of a log file would be.
fn present<S: ReadAt>(image: &LogImage<'_, S>) -> Result<Inspection, Fault> {
    let mut found = inspect(image, Depth::Blocks)?;
    found.damage.retain(|damage| image.is_present(damage.offset));
    found.damage_count = found.damage.len() as u64;
    for vlf in &mut found.vlfs {
        let span = vlf.header.span();
        let is_within = |offset: u64| (span.offset..span.end()).contains(&offset);
        vlf.damaged = found.damage.iter().any(|damage| is_within(damage.offset));
    }
    Ok(found)
}

impl DatabaseInspection {
    /// Everything that is damaged: faults that were kept, and how many there are.
    pub fn damage(&self) -> (Vec<&Fault>, u64) {
        let of_tables = self.tables.iter().map(|table| &table.faults);
        let all = [&self.container, &self.pages.faults].into_iter().chain(of_tables);
        let of_catalog = self.catalog.as_ref().err().filter(|_| !self.is_differential);
        let mut kept: Vec<&Fault> = of_catalog.into_iter().collect();
        let mut count = kept.len() as u64;
        for faults in all {
            kept.extend(&faults.kept);
            count += faults.count;
        }
        // A page that is damaged is met by more than one reader.
        let mut distinct: Vec<&Fault> = Vec::new();
        for fault in kept {
            if distinct.contains(&fault) {
                count -= 1;
            } else {
                distinct.push(fault);
            }
        }
        (distinct, count)
    }

    /// The backup set that it was read from.
    pub fn backup_set(&self) -> Option<&BackupSet> {
        self.sets.get(self.set?.checked_sub(1)?)
    }

    /// Tables whose rows are not as many as the catalog says.
    pub fn miscounted(&self) -> usize {
        let Ok(catalog) = &self.catalog else { return 0 };
        let tables = catalog.tables.iter().zip(&self.tables);
        tables
            .filter(|(table, found)| {
                table.unreadable.is_none() && i64::try_from(found.rows) != Ok(table.catalog_rows())
            })
            .count()
    }
}
