//! A full backup and its log backups as one database: the order of sets, redo and undo, and points in time.

use crate::support::database::{Cell, Column, Database, INT, Table, WRITTEN_LSN, differential_map, record, table_page};
use crate::support::media::{MediaWriter, SetWriter, VlfWriter};
use crate::support::story::{CLUSTERED, LogStory};
use genuine::catalog::Catalog;
use genuine::chain::{Chain, Ends, Progress, Unfit};
use genuine::container::Backup;
use genuine::recovery::Recovered;
use genuine::scan::Rows;
use genuine::types::Value;
use vlf::Lsn;
use vlf::record::RecordTime;

fn columns() -> Vec<Column> {
    vec![Column::new("id", INT, 4).not_null()]
}

fn row(id: i64) -> Vec<u8> {
    record(&columns(), &[Cell::Number(id)])
}

/// A full set with row 1, and two log sets: row 2 on day 2, row 3 on day 3. The second begins where the first ends.
fn sets() -> Vec<SetWriter> {
    let table = Table::new("Orders", columns()).row(&[Cell::Number(1)]);
    let file = Database::new("Sales", vec![table]).file();
    let mut story = LogStory::default();
    let mut places = vec![story.place()];
    for id in [2, 3] {
        let slot = id as u16 - 1;
        story
            .begin(id)
            .insert(CLUSTERED, id, (table_page(0), slot), &row(i64::from(id)))
            .commit_on(id, id);
        places.push(story.place());
    }
    let extents = file.chunks(65_536).map(<[u8]>::to_vec);
    let full = SetWriter {
        kind: 4,
        family: 7,
        database_version: 904,
        file_bytes: file.len() as u64,
        checkpoint_lsn: WRITTEN_LSN,
        last_lsn: places[0].1,
        data: vec![extents.filter(|extent| extent.iter().any(|byte| *byte != 0)).collect()],
        ..SetWriter::default()
    };
    let mut all = vec![full];
    for two in places.windows(2) {
        let ((from, first_lsn), (to, last_lsn)) = (two[0], two[1]);
        let (sequence, log) = story.log(from, to);
        all.push(SetWriter {
            letter: b'L',
            family: 7,
            database_version: 904,
            first_lsn,
            last_lsn,
            base_lsn: WRITTEN_LSN,
            vlfs: vec![VlfWriter {
                sequence,
                start: 8192,
                bytes: 262_144,
                format: 5,
                from: 16_384 + from as u64,
                log,
            }],
            ..SetWriter::default()
        });
    }
    all
}

fn backup(sets: &[SetWriter]) -> Backup<Vec<u8>> {
    let mut media = MediaWriter::new(1, 1);
    for (number, set) in (1..).zip(sets) {
        media.set(number, set);
    }
    Backup::open(vec![media.bytes]).unwrap()
}

/// The ids in the table after the chain is recovered up to `end`.
fn ids(backup: &Backup<Vec<u8>>, sets: &[usize], end: Option<Lsn>) -> Vec<i64> {
    let sets: Vec<(&Backup<Vec<u8>>, usize)> = sets.iter().map(|at| (backup, *at)).collect();
    let chain = Chain::open(&sets).unwrap();
    let recovered = Recovered::open(&chain, &chain.log().before(end)).unwrap();
    let catalog = Catalog::open(&recovered).unwrap();
    let rowset = &catalog.table("Orders").unwrap().rowsets[0];
    Rows::new(&recovered, rowset)
        .map(|row| match row.unwrap()[..] {
            [Value::Integer(id)] => id,
            ref other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn log_is_done_on_the_pages_of_the_full_set() {
    let backup = backup(&sets());
    assert_eq!(ids(&backup, &[0], None), [1]);
    assert_eq!(ids(&backup, &[0, 1], None), [1, 2]);
    assert_eq!(ids(&backup, &[0, 1, 2], None), [1, 2, 3]);
}

/// What was committed later than a time is undone, as if its log had never been written.
#[test]
fn a_point_in_time_is_the_first_commit_behind_it() {
    let backup = backup(&sets());
    let chain = Chain::open(&[(&backup, 0), (&backup, 1), (&backup, 2)]).unwrap();
    let ends = |days, ticks| Ends::in_log(&chain.log(), Some(RecordTime { days, ticks })).unwrap();
    let whole = Ends::in_log(&chain.log(), None).unwrap();
    assert_eq!((whole.first_after, whole.newest_before.unwrap().days), (None, 3));
    assert_eq!(ends(3, 0).first_after, None);
    assert_eq!(ends(1, 0).newest_before, None);
    let second = ends(2, 0);
    assert_eq!(second.newest_before.unwrap().days, 2);
    assert_eq!(ids(&backup, &[0, 1, 2], second.first_after), [1, 2]);
    assert_eq!(ids(&backup, &[0, 1, 2], ends(1, 5).first_after), [1]);
}

#[test]
fn a_set_follows_by_family_base_and_log() {
    let mut written = sets();
    let differential = SetWriter {
        kind: 8,
        last_lsn: written[2].last_lsn,
        base_lsn: WRITTEN_LSN,
        ..written[0].clone()
    };
    let of_another = |set: &SetWriter| SetWriter {
        family: 8,
        ..set.clone()
    };
    let on_another = SetWriter {
        base_lsn: Lsn::new(1, 1, 1),
        ..differential.clone()
    };
    let of_another_set = SetWriter {
        base_guid: 0x77,
        ..differential.clone()
    };
    written.extend([of_another(&written[1]), differential, on_another, of_another_set]);
    let backup = backup(&written);
    let sets = backup.sets();
    let full = Progress::of_full(&sets[0]);
    let then = |at: &[usize]| {
        let mut progress = full;
        at.iter().try_for_each(|at| progress.go_on(&sets[*at]))
    };
    assert_eq!(then(&[1, 2]), Ok(()));
    assert_eq!(then(&[4]), Ok(()));
    assert_eq!(then(&[1, 4]), Ok(()));
    assert_eq!(then(&[3]), Err(Unfit::OtherFamily));
    assert_eq!(then(&[5]), Err(Unfit::OtherBase));
    // The checkpoint is right, the set is not: a database that was taken back and went another way can have both.
    assert_eq!(then(&[6]), Err(Unfit::OtherBase));
    assert_eq!(then(&[0]), Err(Unfit::Kind));
}

/// A differential backup says by its maps which extents it has. One whose pages say that they are others would leave older rows behind.
#[test]
fn a_differential_set_without_a_changed_extent_is_not_laid_over_a_full_one() {
    let full = sets().remove(0);
    let table_extent = table_page(0) / 8;
    let laid_over = |marked: &[u32], first_page: u32| {
        let mut extents = full.data[0].clone();
        extents[0][6 * 8192..7 * 8192].copy_from_slice(&differential_map(marked)[..]);
        let of_table = |extent: &&mut Vec<u8>| extent[32..36] == table_page(0).to_le_bytes();
        extents.iter_mut().find(of_table).unwrap()[32..36].copy_from_slice(&first_page.to_le_bytes());
        extents.retain(|extent| extent[1] == 15 || extent[32..36] == first_page.to_le_bytes());
        let differential = SetWriter {
            kind: 8,
            base_lsn: WRITTEN_LSN,
            data: vec![extents],
            ..full.clone()
        };
        let backup = backup(&[full.clone(), differential]);
        Chain::open(&[(&backup, 0), (&backup, 1)]).map(|_| ())
    };
    assert_eq!(laid_over(&[0, table_extent], table_page(0)), Ok(()));
    // What changes while the set is written is marked, and is in its log.
    assert_eq!(laid_over(&[0, table_extent, table_extent + 1], table_page(0)), Ok(()));
    for elsewhere in [table_page(9), table_page(0) + 3] {
        let fault = laid_over(&[0, table_extent], elsewhere).unwrap_err();
        assert!(fault.reason.contains("has changed and is not in"), "{fault}");
    }
}
