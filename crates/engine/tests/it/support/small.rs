//! A table of small rows, and the ways to look at them and to change one.
#![allow(clippy::unwrap_used, dead_code)]

use super::{column, table_definition};
use engine::catalog::{IndexDefinition, IndexOptions, StorageRoot, TableDefinition};
use engine::error::Result;
use engine::lock::LockOwner;
use engine::session::{Session, Table};
use engine::store::{ReadMode, RowLocator};
use engine::types::{COLLATION_VERSION, SqlType, Value};

/// Small rows, many on a page: a heap, or a table clustered by `a`; `c` may be indexed.
pub fn small_rows(is_clustered: bool, is_indexed: bool) -> TableDefinition {
    let mut table = table_definition("t");
    table.columns = vec![column("a", SqlType::Int), column("c", SqlType::Int)];
    let index = |index_id, key: usize, name: &str| IndexDefinition {
        index_id,
        name: name.into(),
        keys: vec![(key, false)],
        included: vec![],
        carried: vec![],
        unique: index_id == 1,
        primary_key: index_id == 1,
        unique_constraint: false,
        constraint_id: 0,
        is_system_named: false,
        collation_version: COLLATION_VERSION,
        is_disabled: false,
        filter: None,
        options: IndexOptions::default(),
        data_space: engine::catalog::PRIMARY_FILEGROUP,
        storage: StorageRoot {
            unit: 0,
            first_iam: (0, 0),
        },
        other_partitions: Vec::new(),
    };
    if is_indexed {
        table.indexes.push(index(2, 1, "by_c"));
    }
    if is_clustered {
        table.indexes.insert(0, index(1, 0, "pk"));
    }
    table
}

pub fn pair(a: i32, c: i32) -> [Value; 2] {
    [Value::Int(a), Value::Int(c)]
}

pub fn numbers(table: &Table, row: &[u8]) -> (i32, i32) {
    let number = |column| table.layout().column(row, column).unwrap().as_i64().unwrap() as i32;
    (number(0), number(1))
}

pub fn content(table: &Table, locks: &LockOwner, mode: ReadMode) -> Result<Vec<(i32, i32)>> {
    let mut scan = table.scan(locks, mode)?;
    let mut rows = Vec::new();
    while scan.next_batch()? {
        rows.extend((0..scan.len()).map(|index| numbers(table, scan.row(index).unwrap())));
    }
    rows.sort_unstable();
    Ok(rows)
}

/// Finds the row with that `a` without locks, and calls `work` with its place and its values.
pub fn with_row<T>(
    table: &Table,
    session: &mut Session,
    a: i32,
    work: impl FnOnce(&mut Session, &RowLocator, [Value; 2]) -> T,
) -> T {
    let locks = session.locks().clone();
    let mut scan = table.scan(&locks, ReadMode::Uncommitted).unwrap();
    while scan.next_batch().unwrap() {
        for index in 0..scan.len() {
            let found = numbers(table, scan.row(index).unwrap());
            if found.0 == a {
                let place = scan.locator(index).unwrap();
                drop(scan);
                return work(session, &place, pair(found.0, found.1));
            }
        }
    }
    panic!("no row {a}");
}

pub fn set(table: &Table, session: &mut Session, a: i32, c: i32) -> Result<bool> {
    with_row(table, session, a, |session, place, old| {
        table.update(session, place, &old, &pair(a, c))
    })
}
