//! Recovery against public pairs of a data file and its log: pages that are taken out of the data file come back from the log as they were.

use crate::support::public;
use genuine::log::LogReader;
use genuine::log::replay::PageState;
use genuine::page::{FileOfPages, PageBytes, PageKind};
use genuine::recovery::Recovered;
use genuine::row::record_bytes;
use genuine::{DataFiles, Fault, Page, PageId, PageSource};
use std::collections::{BTreeMap, BTreeSet};
use vlf::record::SqlRecord;

/// A data file without some of its pages.
struct Without<'s> {
    source: &'s dyn PageSource,
    missing: BTreeSet<PageId>,
}

impl PageSource for Without<'_> {
    fn read_page(&self, id: PageId, bytes: &mut PageBytes) -> Result<(), Fault> {
        match self.missing.contains(&id) {
            true => Err(Fault::of_page(id, "it was taken out")),
            false => self.source.read_page(id, bytes),
        }
    }

    fn files(&self) -> &[FileOfPages] {
        self.source.files()
    }
}

/// The pages of rows, large values and IAM that the log formats.
fn formatted(log: &LogReader<'_>) -> BTreeSet<PageId> {
    let mut found = BTreeSet::new();
    log.each(&mut |record| {
        let header = SqlRecord::decode(record.format, record.bytes);
        let is_format =
            header.is_some_and(|header| header.operation.0 == 1 && [1, 2, 5, 6, 10].contains(&header.context.0));
        if is_format && let Some(page) = header.and_then(|header| header.page) {
            found.insert(PageId::new(page.file, page.page));
        }
    })
    .unwrap();
    found
}

/// What of a page recovery answers for: kind, level, links, owner; rows, or the map.
fn said(page: &Page) -> (Vec<u8>, Vec<Option<Vec<u8>>>) {
    let bytes = page.bytes();
    let header = [&bytes[1..4], &bytes[6..22], &bytes[24..28]].concat();
    let rows = match page.kind() {
        PageKind::Iam => vec![Some(bytes[136..190].to_vec()), Some(bytes[194..8184].to_vec())],
        _ => PageState::of(page).rows().map(|row| row.map(own_bytes)).collect(),
    };
    (header, rows)
}

/// A row without what lies behind its end.
fn own_bytes(row: &[u8]) -> Vec<u8> {
    let length = record_bytes(row).unwrap_or(row.len());
    row[..length.min(row.len())].to_vec()
}

#[test]
fn pages_that_the_log_formats_come_back_from_it() {
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    let mut different = 0;
    for (path, log) in public::data_files_with_logs() {
        let files = DataFiles::open(vec![std::fs::read(&path).unwrap()]).unwrap();
        let log = std::fs::read(log).unwrap();
        let log = LogReader::new(vec![&log]);
        let source = Without {
            source: &files,
            missing: formatted(&log),
        };
        let recovered = Recovered::open(&source, &log).unwrap();
        for id in &source.missing {
            let Ok(stored) = Page::read(&files, *id) else { continue };
            let outcome = match Page::read(&recovered, *id) {
                Err(fault) => fault.reason.split(" between").next().unwrap().to_owned(),
                Ok(page) if page.lsn() != stored.lsn() => "another LSN".to_owned(),
                Ok(page) => {
                    let ((header, rows), (stored_header, stored_rows)) = (said(&page), said(&stored));
                    // Counts of rows are not brought forward: sysrscols, sysrowsetcolumns, sysrowsets, sysallocunits.
                    let has_counts = [3, 4, 5, 7].contains(&stored.object_id());
                    let same = has_counts || header == stored_header && rows == stored_rows;
                    if !same {
                        if rows.len() == stored_rows.len() {
                            for (a, b) in rows.iter().zip(&stored_rows) {
                                if a != b {
                                    let (a, b) = (a.clone().unwrap_or_default(), b.clone().unwrap_or_default());
                                    let d: Vec<_> = (0..a.len().max(b.len()))
                                        .filter(|i| a.get(*i) != b.get(*i))
                                        .map(|i| (i, a.get(i).copied(), b.get(i).copied()))
                                        .take(6)
                                        .collect();
                                    println!(
                                        "  DIFF len {} {} {d:?} {:02x?}",
                                        a.len(),
                                        b.len(),
                                        &b[..b.len().min(60)]
                                    );
                                }
                            }
                        } else {
                            println!("  COUNT {} {}", rows.len(), stored_rows.len());
                        }
                        println!(
                            "{} page {id}: {:?}, header {header:02x?} and {stored_header:02x?}, rows {}",
                            path.display(),
                            stored.kind(),
                            rows == stored_rows
                        );
                        different += 1;
                    }
                    format!("{:?} {}", stored.kind(), if same { "the same" } else { "different" })
                }
            };
            *counts.entry(outcome).or_default() += 1;
        }
    }
    println!("{counts:#?}");
    assert_eq!(different, 0);
}
