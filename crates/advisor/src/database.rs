//! Inspects a SQL Server database without SQL Server: the contents of its data files or its backup, and their integrity.

use genuine::catalog::Catalog;
use genuine::container::BackupSet;
use genuine::survey::{self, Faults, PageSurvey, TableSurvey};
use genuine::{Fault, PageSource};

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

/// Reads a whole database: every allocated page, and every row of every table.
pub fn inspect_database(source: &dyn PageSource) -> DatabaseInspection {
    let catalog = Catalog::open(source);
    let tables = match &catalog {
        Ok(catalog) => survey::tables(source, catalog),
        Err(_) => Vec::new(),
    };
    DatabaseInspection {
        sets: Vec::new(),
        set: None,
        is_differential: false,
        catalog,
        pages: survey::pages(source),
        tables,
        container: Faults::default(),
    }
}

/// Reads every page of a differential backup.
pub fn inspect_differential(source: &dyn PageSource) -> DatabaseInspection {
    DatabaseInspection {
        sets: Vec::new(),
        set: None,
        is_differential: true,
        catalog: Err(Fault::whole("a differential backup has parts of a catalog")),
        pages: survey::pages(source),
        tables: Vec::new(),
        container: Faults::default(),
    }
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
