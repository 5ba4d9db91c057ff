//! Public databases of SQL Server. See `support::public` for where they are looked for.

use crate::support::public;
use genuine::page::maps::{Gam, Pfs};
use genuine::{DataFiles, Page, PageId, PageSource};

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
