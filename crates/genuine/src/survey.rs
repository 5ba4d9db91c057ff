//! Whether a database is sound: its pages against their checksums, its maps against each other, its rows against the catalog.
//!
//! - Every page that GAM and PFS call allocated is read: its kind, its checksum or torn bits, and whether it is the page it says it is.
//! - Of a differential backup, the pages that it has are read, as far as it has the maps that say which of them are in use.
//! - Pages that a PFS calls allocated, in an extent that the GAM calls free, are counted and not read. Public files have none but maps, which have
//!   their fixed places and are read.
//! - Every row of every table is read and counted.
//! - A page that was looked at once is not checked again ([`Verdicts`]): what reads a backup from its first byte to its last looks at all of them.

use crate::catalog::{Catalog, Table};
use crate::fault::{Fault, Result};
use crate::page::maps::{Gam, MAP_PAGES, PFS_PAGES, Pfs, gam_page_of, is_place_of_map, pfs_page_of};
use crate::page::{Page, PageId, PageSource, PageWindow};
use crate::scan::check_rows;
use crate::verdicts::{Content, Protection, Verdict, Verdicts};

/// Faults that are kept; more are counted.
pub const FAULTS_KEPT: usize = 100;

/// Faults found, the first of them kept.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    pub kept: Vec<Fault>,
    pub count: u64,
}

impl Faults {
    /// Counts one more.
    pub fn add(&mut self, fault: Fault) {
        self.count += 1;
        if self.kept.len() < FAULTS_KEPT {
            self.kept.push(fault);
        }
    }
}

/// What the pages of one file are.
#[derive(Clone, Debug, Default)]
pub struct FileSurvey {
    pub id: u16,
    pub pages: u32,
    /// Pages that GAM and PFS call allocated.
    pub allocated: u64,
    pub data: u64,
    pub index: u64,
    /// Of large values.
    pub text: u64,
    /// Maps, headers, the boot page.
    pub system: u64,
    /// With a checksum that fits.
    pub checksummed: u64,
    /// With torn bits that fit.
    pub torn_bits: u64,
    /// With neither.
    pub unprotected: u64,
    /// The PFS calls them allocated, in an extent that the GAM calls free.
    pub in_free_extents: u64,
}

/// The pages of a database.
#[derive(Clone, Debug, Default)]
pub struct PageSurvey {
    pub files: Vec<FileSurvey>,
    pub faults: Faults,
}

/// Reads every allocated page that has no verdict yet, and gives it one. Where a map is missing, the pages that it covers are left out at once: what a file says of its own size may be
/// anything.
pub fn pages(source: &dyn PageSource, verdicts: &mut Verdicts) -> PageSurvey {
    let mut survey = PageSurvey::default();
    let mut window = PageWindow::new();
    for file in source.files() {
        let mut of_file = FileSurvey {
            id: file.id,
            pages: file.pages,
            ..FileSurvey::default()
        };
        let mut maps = Maps::default();
        let mut number = 0;
        while number < file.pages {
            let id = PageId::new(file.id, number);
            number = match maps.of(source, id, &mut survey.faults) {
                Ok((gam, pfs)) => {
                    let known = (&mut *verdicts, &mut window);
                    if let Err(fault) = page(source, id, (gam, pfs), known, &mut of_file) {
                        survey.faults.add(fault);
                    }
                    number + 1
                }
                Err(next) => next,
            };
        }
        survey.files.push(of_file);
    }
    survey
}

/// The maps of the stretch that is being read, `None` if they are not there.
#[derive(Default)]
struct Maps {
    gam: Option<(PageId, Option<Gam>)>,
    pfs: Option<(PageId, Option<Pfs>)>,
}

impl Maps {
    /// The maps that cover a page; or, where one is not there, the first page behind what it covers. A map that cannot be read is a fault once.
    fn of(
        &mut self,
        source: &dyn PageSource,
        id: PageId,
        faults: &mut Faults,
    ) -> std::result::Result<(&Gam, &Pfs), u32> {
        let next = |covered: u32| (id.page / covered + 1).saturating_mul(covered);
        let gam = gam_page_of(id);
        if self.gam.as_ref().is_none_or(|(known, _)| *known != gam) {
            self.gam = Some((gam, map(source, gam, || Gam::covering(source, id), faults)));
        }
        let pfs = pfs_page_of(id);
        if self.pfs.as_ref().is_none_or(|(known, _)| *known != pfs) {
            self.pfs = Some((pfs, map(source, pfs, || Pfs::covering(source, id), faults)));
        }
        match (&self.gam, &self.pfs) {
            (Some((_, Some(gam))), Some((_, Some(pfs)))) => Ok((gam, pfs)),
            (Some((_, None)), _) => Err(next(MAP_PAGES)),
            _ => Err(next(PFS_PAGES)),
        }
    }
}

/// A map, if the source should have it and it can be read.
fn map<T>(source: &dyn PageSource, id: PageId, read: impl FnOnce() -> Result<T>, faults: &mut Faults) -> Option<T> {
    if !source.should_have(id) {
        return None;
    }
    read().map_err(|fault| faults.add(fault)).ok()
}

fn page(
    source: &dyn PageSource,
    id: PageId,
    (gam, pfs): (&Gam, &Pfs),
    (verdicts, window): (&mut Verdicts, &mut PageWindow),
    file: &mut FileSurvey,
) -> Result<()> {
    if !source.should_have(id) {
        return Ok(());
    }
    let in_pfs = pfs.byte(id).is_allocated();
    if !in_pfs || !is_place_of_map(id) && !gam.is_allocated(id) {
        file.in_free_extents += u64::from(in_pfs);
        return Ok(());
    }
    file.allocated += 1;
    let verdict = match verdicts.get(id) {
        Some(verdict) => verdict,
        None => {
            let page = Page::of(Box::new(*window.page(source, id)?)).checked(id)?;
            let verdict = Verdict::of_page(&page);
            verdicts.put(id, Some(verdict));
            verdict
        }
    };
    match verdict.content {
        Content::Rows => file.data += 1,
        Content::Index => file.index += 1,
        Content::LargeValues => file.text += 1,
        Content::System => file.system += 1,
    }
    match verdict.protection {
        Protection::Checksum => file.checksummed += 1,
        Protection::TornBits => file.torn_bits += 1,
        Protection::None => file.unprotected += 1,
    }
    Ok(())
}

/// One table, read from its first row to its last.
#[derive(Clone, Debug, Default)]
pub struct TableSurvey {
    /// Rows that could be read.
    pub rows: u64,
    pub faults: Faults,
}

/// Reads all rows of a table.
pub fn table(source: &dyn PageSource, table: &Table, verdicts: &Verdicts) -> TableSurvey {
    let mut survey = TableSurvey::default();
    if table.unreadable.is_some() {
        return survey;
    }
    for rowset in &table.rowsets {
        survey.rows += check_rows(source, rowset, verdicts, &mut |fault| survey.faults.add(fault));
    }
    survey
}

/// Every table of a catalog, in its order.
pub fn tables(source: &dyn PageSource, catalog: &Catalog, verdicts: &Verdicts) -> Vec<TableSurvey> {
    let tables = catalog.tables.iter();
    tables.map(|each| table(source, each, verdicts)).collect()
}
