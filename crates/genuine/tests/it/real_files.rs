//! Public databases of SQL Server. See `support::public` for where they are looked for.

use crate::support::public;
use genuine::catalog::Catalog;
use genuine::page::maps::{Gam, Pfs};
use genuine::scan::for_each_row;
use genuine::{DataFiles, Page, PageId, PageSource};
use std::ops::ControlFlow;

/// Every page that the maps call allocated is in its place, and as it was written.
#[test]
fn allocated_pages_are_sound() {
    for path in public::files(&["mdf"]) {
        let files = DataFiles::open(vec![std::fs::read(&path).unwrap()]).unwrap();
        let file = files.files()[0];
        let mut wrong = Vec::new();
        let mut allocated = 0;
        for number in 0..file.pages {
            let id = PageId::new(file.id, number);
            let in_extent = Gam::covering(&files, id).unwrap().is_allocated(id);
            if !in_extent || !Pfs::covering(&files, id).unwrap().byte(id).is_allocated() {
                continue;
            }
            allocated += 1;
            if let Err(fault) = Page::read(&files, id) {
                wrong.push(fault.to_string());
            }
        }
        println!(
            "{}: {allocated} pages, {} wrong: {:?}",
            path.display(),
            wrong.len(),
            wrong.first()
        );
        assert_eq!(wrong.len(), 0, "{}", path.display());
    }
}

/// Every table has as many rows as the catalog says, and every value of them can be read.
#[test]
fn tables_have_as_many_rows_as_the_catalog_says() {
    let mut all_wrong = Vec::new();
    for path in public::files(&["mdf"]) {
        let files = DataFiles::open(vec![std::fs::read(&path).unwrap()]).unwrap();
        let catalog = Catalog::open(&files).unwrap_or_else(|fault| panic!("{}: {fault}", path.display()));
        let mut wrong = Vec::new();
        let mut rows = 0;
        for table in &catalog.tables {
            for rowset in &table.rowsets {
                let mut counted = 0;
                for_each_row(&files, rowset, &mut |row| {
                    match row {
                        Ok(_) => counted += 1,
                        Err(fault) => wrong.push(format!("{}: {fault}", table.name)),
                    }
                    ControlFlow::Continue(())
                });
                rows += counted;
                if counted != rowset.catalog_rows || table.unreadable.is_some() {
                    let said = rowset.catalog_rows;
                    wrong.push(format!(
                        "{}: {counted} of {said} rows, {:?}",
                        table.name, table.unreadable
                    ));
                }
            }
        }
        println!(
            "{}: {} ({}) from {}, {} tables, {rows} rows, {} modules: {wrong:?}",
            path.file_name().unwrap().to_string_lossy(),
            catalog.boot.version.0,
            catalog.boot.version.release(),
            catalog.boot.created_version.0,
            catalog.tables.len(),
            catalog.modules.len()
        );
        all_wrong.extend(wrong);
    }
    assert!(all_wrong.is_empty(), "{all_wrong:#?}");
}
