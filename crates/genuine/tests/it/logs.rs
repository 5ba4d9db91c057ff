//! Public pairs of a data file and its log. See `support::public` for where they are looked for.

use crate::support::public;
use genuine::log::record::PageChange;
use genuine::log::replay::{PageState, rebuilt, whole_rows};
use genuine::log::{LogReader, LogRecord};
use genuine::{DataFiles, Page, PageId};
use std::collections::BTreeMap;
use vlf::{FormatVersion, Lsn};

/// What a pair of files showed.
#[derive(Default)]
struct Counts {
    equal: u32,
    different: u32,
    modifications: u32,
    whole: u32,
}

type Kept = (Lsn, FormatVersion, Vec<u8>);

/// A page that the log formats, and of which it has every record since, is in the data file as replay makes it: as many slots, the same
/// rows, byte for byte.
#[test]
fn pages_replayed_from_the_log_are_those_of_the_data_file() {
    let mut all = Counts::default();
    for (path, log) in public::data_files_with_logs() {
        let log = std::fs::read(log).unwrap();
        let files = DataFiles::open(vec![std::fs::read(&path).unwrap()]).unwrap();
        let mut records: BTreeMap<PageId, Vec<Kept>> = BTreeMap::new();
        let extent = LogReader::new(vec![&log])
            .each(&mut |record| {
                if let Some(change) = PageChange::read(record) {
                    let kept = (record.lsn, record.format, record.bytes.to_vec());
                    records.entry(change.page).or_default().push(kept);
                }
            })
            .unwrap();
        let mut counts = Counts::default();
        for (id, kept) in &records {
            if let Ok(page) = Page::read(&files, *id) {
                compare(&page, kept, &mut counts);
            }
        }
        println!(
            "{}: {} records ({} unread, {} gaps); pages equal {}, different {}; modifications {}, whole {}",
            path.display(),
            extent.records,
            extent.unread,
            extent.gaps,
            counts.equal,
            counts.different,
            counts.modifications,
            counts.whole
        );
        all.equal += counts.equal;
        all.different += counts.different;
        all.modifications += counts.modifications;
        all.whole += counts.whole;
    }
    println!(
        "pages equal {}, different {}; modifications {}, of which whole {}",
        all.equal, all.different, all.modifications, all.whole
    );
    assert_eq!(all.different, 0);
}

fn compare(page: &Page, kept: &[Kept], counts: &mut Counts) {
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
    for (change, both) in changes.iter().zip(whole_rows(&changes, Some(page))) {
        if matches!(change.change, genuine::log::Change::Modify(_)) {
            counts.modifications += 1;
            counts.whole += u32::from(both.before.is_some());
        }
    }
    let up_to = changes.partition_point(|change| change.lsn <= page.lsn());
    let Some(replayed) = rebuilt(&changes[..up_to]).filter(|_| changes[up_to - 1].lsn == page.lsn()) else {
        return;
    };
    let stored = PageState::of(page);
    let same = replayed.rows().count() == stored.rows().count()
        && replayed.rows().zip(stored.rows()).all(|rows| match rows {
            (Some(replayed), Some(stored)) => stored.starts_with(replayed) || replayed.starts_with(stored),
            (replayed, stored) => replayed.is_none() && stored.is_none(),
        });
    match same {
        true => counts.equal += 1,
        false => {
            println!("   page {} differs", page.id());
            counts.different += 1;
        }
    }
}
