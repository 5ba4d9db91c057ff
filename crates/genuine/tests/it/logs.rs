//! Public pairs of a data file and its log. See `support::public` for where they are looked for.

use crate::support::public;
use genuine::log::record::PageChange;
use genuine::log::replay::{rebuilt, whole_rows};
use genuine::log::{LogReader, LogRecord, Transactions};
use genuine::{DataFiles, Page, PageId};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use vlf::{FormatVersion, Lsn};

/// The log of a data file, by the names that SQL Server and its users give it.
fn log_of(path: &Path) -> Option<PathBuf> {
    let stem = path.file_stem()?.to_string_lossy().into_owned();
    ["_log.ldf", "_log.LDF", "_Log.ldf", ".ldf", ".LDF"]
        .iter()
        .map(|end| path.with_file_name(format!("{stem}{end}")))
        .find(|log| log.exists())
}

/// A page that the log formats, and of which it has every record since, is in the data file as replay makes it: as many slots, the same
/// rows, byte for byte.
#[test]
fn pages_replayed_from_the_log_are_those_of_the_data_file() {
    let (mut equal, mut different, mut modified, mut known) = (0, 0, 0, 0);
    for path in public::files(&["mdf"]) {
        let Some(log) = log_of(&path) else { continue };
        let log = std::fs::read(log).unwrap();
        let files = DataFiles::open(vec![std::fs::read(&path).unwrap()]).unwrap();
        let reader = LogReader::new(vec![&log]);
        let mut records: BTreeMap<PageId, Vec<(Lsn, FormatVersion, Vec<u8>)>> = BTreeMap::new();
        let mut transactions = Transactions::default();
        let extent = reader
            .each(&mut |record| {
                transactions.add(record);
                if let Some(change) = PageChange::read(record) {
                    let kept = (record.lsn, record.format, record.bytes.to_vec());
                    records.entry(change.page).or_default().push(kept);
                }
            })
            .unwrap();
        let mut of_file = (0, 0, 0, 0);
        for (id, kept) in &records {
            let changes: Vec<PageChange<'_>> = kept
                .iter()
                .filter_map(|(lsn, format, bytes)| {
                    PageChange::read(LogRecord {
                        lsn: *lsn,
                        format: *format,
                        bytes,
                    })
                })
                .collect();
            let Ok(page) = Page::read(&files, *id) else { continue };
            for (change, both) in changes.iter().zip(whole_rows(&changes, Some(&page))) {
                if matches!(change.change, genuine::log::Change::Modify(_)) {
                    of_file.2 += 1;
                    of_file.3 += u32::from(both.before.is_some());
                }
            }
            let up_to = changes.partition_point(|change| change.lsn <= page.lsn());
            let Some(state) = rebuilt(&changes[..up_to]).filter(|_| changes[up_to - 1].lsn == page.lsn()) else {
                continue;
            };
            let in_file = genuine::log::replay::PageState::of(&page);
            let same = state.rows().count() == in_file.rows().count()
                && state.rows().zip(in_file.rows()).all(|rows| match rows {
                    (Some(replayed), Some(stored)) => stored.starts_with(replayed) || replayed.starts_with(stored),
                    (replayed, stored) => replayed.is_none() && stored.is_none(),
                });
            match same {
                true => of_file.0 += 1,
                false => {
                    println!("   page {id} differs");
                    of_file.1 += 1;
                }
            }
        }
        println!(
            "{}: {} records ({} unread, {} gaps), {} transactions; pages equal {}, different {}; modifications {}, whole {}",
            path.display(),
            extent.records,
            extent.unread,
            extent.gaps,
            transactions.all().count(),
            of_file.0,
            of_file.1,
            of_file.2,
            of_file.3
        );
        equal += of_file.0;
        different += of_file.1;
        modified += of_file.2;
        known += of_file.3;
    }
    println!("pages equal {equal}, different {different}; modifications {modified}, of which whole {known}");
    assert_eq!(different, 0);
}
