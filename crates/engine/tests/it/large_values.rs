//! Columns outside of their rows: against a model with random changes, under power cuts, and the pages that come back.
//!
//! - Random inserts, updates that change lengths, deletes, savepoints and rollbacks, in a heap and in two trees; after each round the rows are
//!   those of the model and DBCC CHECKDB finds nothing. 40 rounds a table.
//! - Long values come in memory or, by chance, as held values, which are written while they are read; one that cannot be read to its end leaves no
//!   page.
//! - The power is cut at the writes, syncs and growths of a small workload under both log policies.
//!
//! Depth: one operation in 5; deep: every one.
#![allow(clippy::unwrap_used)]

use crate::support;

use disk::sim::SimDisk;
use engine::catalog::{ColumnDefinition, IndexDefinition, IndexOptions, StorageRoot, TableDefinition};
use engine::database::Database;
use engine::error::{Error, Result};
use engine::instance::Instance;
use engine::log::LogPolicy;
use engine::recovery::RecoveryModel;
use engine::session::{Session, Table};
use engine::store::{Placement, ReadMode, RowLocator};
use engine::types::{COLLATION_VERSION, Collation, HeldForm, HeldSource, HeldValue, Length, SqlType, Value};
use std::collections::BTreeMap;
use std::sync::Arc;
use support::*;

type Model = BTreeMap<i32, Vec<Value>>;

/// xorshift64*: the same changes on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % limit
    }

    /// Lengths on both sides of every border.
    fn length(&mut self, most: usize) -> usize {
        let borders = [
            0, 24, 25, 3_000, 8_000, 8_060, 8_088, 8_089, 16_176, 40_440, 40_441, 90_000,
        ];
        let near = borders[self.below(borders.len())] + self.below(3);
        if self.below(3) == 0 {
            self.below(most)
        } else {
            near.min(most)
        }
    }

    fn row(&mut self, id: i32) -> Vec<Value> {
        let mut text = |most: usize| {
            let (length, letter) = (self.length(most), b'a' + self.below(26) as u8);
            String::from_utf8(vec![letter; length]).unwrap()
        };
        let (big, short) = (text(120_000), text(5_000));
        let blob = text(8_000).into_bytes();
        let (is_null, note) = (self.below(5) == 0, self.below(1_000) as i32);
        vec![
            Value::Int(id),
            Value::Int(note),
            if is_null { Value::Null } else { Value::text(big) },
            Value::binary(blob),
            Value::text(short),
        ]
    }
}

/// Bytes that are read in parts, up to a place where reading fails.
#[derive(Debug)]
struct Elsewhere {
    bytes: Vec<u8>,
    readable: usize,
}

impl HeldSource for Elsewhere {
    fn read(&self, at: u64, into: &mut [u8]) -> Result<()> {
        let at = at as usize;
        if at + into.len() > self.readable {
            return Err(Error::new(823, 24, 2, "not to be read"));
        }
        into.copy_from_slice(&self.bytes[at..at + into.len()]);
        Ok(())
    }
}

fn held(bytes: Vec<u8>, form: HeldForm, readable: usize) -> Value {
    let count = bytes.len() as u64;
    let source = Arc::new(Elsewhere { bytes, readable });
    Value::Held(Arc::new(HeldValue::new(source, count, form, Collation::default())))
}

/// The row as it is written: a value that fits no row may be held.
fn sent(random: &mut Random, row: &[Value]) -> Vec<Value> {
    let one = |value: &Value| match value {
        Value::Text(text) if text.len() > 9_000 && random.below(2) == 0 => {
            held(text.as_bytes().to_vec(), HeldForm::CodePage, usize::MAX)
        }
        value => value.clone(),
    };
    row.iter().map(one).collect()
}

fn index(index_id: u32, keys: &[usize], included: &[usize]) -> IndexDefinition {
    IndexDefinition {
        index_id,
        name: format!("i{index_id}"),
        keys: keys.iter().map(|key| (*key, false)).collect(),
        included: included.to_vec(),
        carried: Vec::new(),
        unique: index_id == 1,
        primary_key: false,
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
    }
}

fn definition(name: &str, indexes: Vec<IndexDefinition>) -> TableDefinition {
    let nullable = |name: &str, sql_type| ColumnDefinition {
        nullable: true,
        ..column(name, sql_type)
    };
    TableDefinition {
        columns: vec![
            column("id", SqlType::Int),
            column("note", SqlType::Int),
            nullable("big", SqlType::VarChar(Length::Max)),
            nullable("blob", SqlType::VarBinary(Length::Limited(8_000))),
            nullable("short", SqlType::NVarChar(Length::Limited(4_000))),
        ],
        indexes,
        ..table_definition(name)
    }
}

/// Every row with its locator, values read through the table.
fn content(session: &Session, table: &Table) -> Result<BTreeMap<i32, (RowLocator, Vec<Value>)>> {
    let locks = session.locks().clone();
    let mut scan = table.scan(&locks, ReadMode::Committed)?;
    let mut found = BTreeMap::new();
    while scan.next_batch()? {
        for place in 0..scan.len() {
            let mut values = Vec::new();
            table.layout().decode_into(scan.row(place).unwrap(), &mut values)?;
            let id = values[0].as_i64().unwrap() as i32;
            assert!(found.insert(id, (scan.locator(place).unwrap(), values)).is_none());
        }
    }
    Ok(found)
}

fn one_change(random: &mut Random, session: &mut Session, table: &Table, model: &mut Model) -> Result<()> {
    let id = random.below(12) as i32;
    let Some((locator, old)) = content(session, table)?.remove(&id) else {
        let row = random.row(id);
        table.insert(session, &sent(random, &row), Placement::Anywhere)?;
        model.insert(id, row);
        return Ok(());
    };
    if random.below(4) == 0 {
        assert!(table.delete(session, &locator, &old)?);
        model.remove(&id);
        return Ok(());
    }
    let mut new = random.row(id);
    for column in 1..new.len() {
        if random.below(2) == 0 {
            new[column] = old[column].clone();
        }
    }
    assert!(table.update(session, &locator, &old, &changed(random, &old, &new))?);
    model.insert(id, new);
    Ok(())
}

/// As [`sent`], what stays as it is excepted: a statement hands on what it has read.
fn changed(random: &mut Random, old: &[Value], new: &[Value]) -> Vec<Value> {
    let sent = sent(random, new);
    let columns = sent.into_iter().zip(old.iter().zip(new));
    columns
        .map(|(sent, (old, new))| if old == new { new.clone() } else { sent })
        .collect()
}

fn matches(session: &Session, table: &Table, model: &Model) -> Result<bool> {
    let found: Model = content(session, table)?
        .into_iter()
        .map(|(id, (_, row))| (id, row))
        .collect();
    Ok(found == *model)
}

fn large_pages_used(database: &Database, table: &Table) -> u64 {
    let definition = table.definition();
    let root = definition
        .heap
        .or(definition.clustered().map(|index| index.storage))
        .unwrap();
    let space = database
        .space
        .large_space(&database.storage, engine::database::object_root(&root))
        .unwrap();
    space.iter().map(|unit| unit.pages.used + unit.pages.given_up).sum()
}

fn rounds(random: &mut Random, database: &Arc<Database>, session: &mut Session, table: &Table, count: usize) {
    let mut model = Model::new();
    for round in 0..count {
        let before = model.clone();
        for _ in 0..1 + random.below(4) {
            one_change(random, session, table, &mut model).unwrap();
        }
        let (mark, at_mark) = (session.mark(), model.clone());
        one_change(random, session, table, &mut model).unwrap();
        if random.below(3) == 0 {
            session.roll_back_to(&mark).unwrap();
            model = at_mark;
        }
        match random.below(4) {
            0 => {
                session.roll_back().unwrap();
                model = before;
            }
            _ => session.commit().unwrap(),
        }
        assert!(matches(session, table, &model).unwrap(), "round {round}");
        session.commit().unwrap();
        let report = database.check().unwrap();
        assert!(report.is_empty(), "round {round}: {report:#?}");
    }
    for (locator, old) in content(session, table).unwrap().into_values() {
        assert!(table.delete(session, &locator, &old).unwrap());
    }
    session.commit().unwrap();
    database.free_large_values().unwrap();
    assert_eq!(large_pages_used(database, table), 0, "every page has come back");
    assert!(database.check().unwrap().is_empty());
}

#[test]
fn random_changes_leave_what_the_model_has_and_give_every_page_back() {
    let count = 40;
    for (place, policy) in [LogPolicy::native(), LogPolicy::classic()].into_iter().enumerate() {
        let disk = SimDisk::new(5);
        let instance = start(&disk, policy);
        let database = instance.create_database(&statement("vlf", 1 << 20, 512 << 20)).unwrap();
        let mut session = instance.open_session().unwrap();
        let tables = [
            ("heap", vec![index(2, &[1], &[2, 4])]),
            ("tree", vec![index(1, &[0], &[])]),
            ("keyed", vec![index(1, &[0, 1], &[]), index(2, &[1], &[2])]),
        ];
        for (number, (name, indexes)) in tables.into_iter().enumerate() {
            let object = session.create_table(&database, definition(name, indexes)).unwrap();
            session.commit().unwrap();
            let table = Table::open(&database, &object).unwrap();
            let mut random = Random(77 + (10 * place + number) as u64);
            rounds(&mut random, &database, &mut session, &table, count);
        }
    }
}

#[test]
fn a_value_that_cannot_be_read_to_its_end_is_not_there_and_leaves_no_page() {
    for policy in [LogPolicy::native(), LogPolicy::classic()] {
        let disk = SimDisk::new(5);
        let instance = start(&disk, policy);
        let database = instance.create_database(&statement("vlf", 1 << 20, 512 << 20)).unwrap();
        let mut session = instance.open_session().unwrap();
        let object = session
            .create_table(&database, definition("t", vec![index(1, &[0], &[])]))
            .unwrap();
        session.commit().unwrap();
        let table = Table::open(&database, &object).unwrap();
        let bytes: Vec<u8> = (0..1_000_000u32).map(|place| b'a' + (place % 23) as u8).collect();
        let row = |readable| {
            let big = held(bytes.clone(), HeldForm::CodePage, readable);
            vec![Value::Int(1), Value::Int(1), big, Value::Null, Value::Null]
        };
        let refused = table
            .insert(&mut session, &row(700_000), Placement::Anywhere)
            .unwrap_err();
        assert_eq!(refused.number, 823);
        assert!(large_pages_used(&database, &table) > 0, "some pages were written");
        session.roll_back().unwrap();
        table
            .insert(&mut session, &row(usize::MAX), Placement::Anywhere)
            .unwrap();
        session.commit().unwrap();
        let found = content(&session, &table).unwrap().remove(&1).unwrap().1;
        assert_eq!(found[2], Value::text(String::from_utf8(bytes.clone()).unwrap()));
        session.commit().unwrap();
        database.free_large_values().unwrap();
        // 124 pages of the value and the branch above them.
        assert_eq!(large_pages_used(&database, &table), 125);
        assert!(database.check().unwrap().is_empty());
    }
}

/// What must be there: the last state whose commit returned, or the one whose commit was under way.
#[derive(Default)]
struct Promised {
    settled: Model,
    under_way: Option<Model>,
}

/// Runs until the end or the first error.
fn run(instance: &Arc<Instance>, promised: &mut Promised) -> Result<()> {
    let database = instance.create_database(&statement("vlf", 1 << 20, 8 << 20))?;
    database.set_recovery_model(RecoveryModel::Simple)?;
    let mut session = instance.open_session()?;
    let object = session.create_table(&database, definition("t", vec![index(1, &[0], &[])]))?;
    let table = Table::open(&database, &object)?;
    session.commit()?;
    let mut random = Random(99);
    let mut model = Model::new();
    for round in 0..14 {
        let before = model.clone();
        for _ in 0..2 {
            one_change(&mut random, &mut session, &table, &mut model)?;
        }
        if round % 4 == 3 {
            session.roll_back()?;
            model = before;
        } else {
            promised.under_way = Some(model.clone());
            session.commit()?;
            promised.settled = promised.under_way.take().unwrap();
        }
        match round % 5 {
            1 => database.checkpoint()?,
            3 => drop(database.free_large_values()?),
            _ => {}
        }
    }
    Ok(())
}

/// Pages in use after recovery: none is left over, or CHECKDB would find it.
fn state_after(disk: &SimDisk, policy: LogPolicy) -> Option<Model> {
    let instance = start(disk, policy);
    let database = match instance.database("vlf") {
        Ok(database) => database,
        Err(error) if error.number == 911 => return None,
        Err(error) => panic!("{error}: {:#?}", instance.env.errorlog.lines()),
    };
    let table = open_table_if_there(&database, "t")?;
    let mut session = instance.open_session().unwrap();
    let report = database.check().unwrap();
    assert!(report.is_empty(), "not sound after recovery: {report:#?}");
    let found = content(&session, &table).unwrap();
    let model = found.iter().map(|(id, (_, row))| (*id, row.clone())).collect();
    session.commit().unwrap();
    for (locator, old) in found.into_values() {
        assert!(table.delete(&mut session, &locator, &old).unwrap());
    }
    session.commit().unwrap();
    database.free_large_values().unwrap();
    assert_eq!(large_pages_used(&database, &table), 0, "a crash leaves no page behind");
    Some(model)
}

fn cut_everywhere(policy: LogPolicy) -> (usize, usize) {
    let whole = SimDisk::new(11);
    let instance = start(&whole, policy);
    let before = whole.operation_count();
    run(&instance, &mut Promised::default()).unwrap();
    let total = whole.operation_count();
    drop(instance);
    let (mut points, mut with_data) = (0, 0);
    let sample = workbench::sample("operations with large values and a power cut", 5);
    for cut in (before + 1..=total).step_by(sample.one_in) {
        let disk = SimDisk::new(11);
        let instance = start(&disk, policy);
        disk.power_cut_at(cut);
        let mut promised = Promised::default();
        let outcome = run(&instance, &mut promised);
        assert!(
            outcome.is_err() || disk.power_is_cut(),
            "the power was not cut at {cut} of {total}"
        );
        std::mem::forget(instance);
        let fate = cut_policy(cut);
        match state_after(&disk.after_power_cut(fate, cut), policy) {
            Some(found) => assert!(
                found == promised.settled || Some(&found) == promised.under_way.as_ref(),
                "cut {cut} ({fate:?})"
            ),
            None => assert!(promised.settled.is_empty(), "cut {cut} ({fate:?}): the table is gone"),
        }
        with_data += usize::from(!promised.settled.is_empty());
        points += 1;
    }
    sample.count(points as u64);
    (points, with_data)
}

#[test]
fn every_cut_recovers_large_values_native() {
    let (points, with_data) = cut_everywhere(LogPolicy::native());
    println!("power cut at {points} points (native), {with_data} of them with committed values at stake");
    assert!(with_data > 8);
}

#[test]
fn every_cut_recovers_large_values_classic() {
    let (points, with_data) = cut_everywhere(LogPolicy::classic());
    println!("power cut at {points} points (classic), {with_data} of them with committed values at stake");
    assert!(with_data > 8);
}
