//! The store against a model: what every snapshot sees of every row, whichever transactions end before or after it, and whichever versions
//! are removed meanwhile.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::seams::ManualClock;
use std::collections::BTreeMap;

const DATABASE: u16 = 5;
const UNIT: u32 = 1_001;
const KEYS: u8 = 12;

fn store() -> (Arc<VersionStore>, DatabaseVersions) {
    let errorlog = Arc::new(ErrorLog::new(Arc::new(ManualClock::starting_at(0))));
    let store = Arc::new(VersionStore::new(errorlog, 1 << 30));
    let database = DatabaseVersions::open(&store, DATABASE);
    (store, database)
}

/// xorshift64*
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % limit
    }
}

type Rows = BTreeMap<u8, u64>;

/// A transaction under way: who keeps its versions, and what it has changed, with what was there.
struct Open {
    writer: Arc<Writer>,
    before: BTreeMap<u8, Option<u64>>,
}

struct Model {
    store: Arc<VersionStore>,
    database: DatabaseVersions,
    /// What is on the pages, committed or not.
    pages: Rows,
    committed: Rows,
    open: Vec<Open>,
    snapshots: Vec<(HeldSnapshot, Rows)>,
    random: Random,
    next_value: u64,
}

impl Model {
    fn new(seed: u64) -> Model {
        let (store, database) = store();
        Model {
            store,
            database,
            pages: Rows::new(),
            committed: Rows::new(),
            open: Vec::new(),
            snapshots: Vec::new(),
            random: Random(seed),
            next_value: 1,
        }
    }

    fn begin(&mut self) {
        let writer = Arc::new(Writer::new(self.store.new_transaction(), 51, 0));
        let first = Lsn::new(1, 100 + writer.number() as u32, 1);
        self.store.begin_part(&writer, DATABASE, first);
        let before = BTreeMap::new();
        self.open.push(Open { writer, before });
    }

    /// Changes a row that no other open transaction has changed.
    fn change(&mut self) {
        let (place, key) = (
            self.random.below(self.open.len() as u64) as usize,
            self.random.below(KEYS.into()) as u8,
        );
        if (self.open.iter().enumerate()).any(|(other, open)| other != place && open.before.contains_key(&key)) {
            return;
        }
        let open = &mut self.open[place];
        let now = self.pages.get(&key).copied();
        let bytes = now.map(u64::to_le_bytes);
        self.store.keep(
            &open.writer,
            (DATABASE, UNIT),
            &[key],
            bytes.as_ref().map(|bytes| &bytes[..]),
        );
        open.before.entry(key).or_insert(now);
        match self.random.below(3) {
            0 => _ = self.pages.remove(&key),
            _ => _ = self.pages.insert(key, self.next_value),
        }
        self.next_value += 1;
    }

    fn end(&mut self) {
        let place = self.random.below(self.open.len() as u64) as usize;
        let Open { writer, before } = self.open.remove(place);
        let is_committed = self.random.below(3) > 0;
        for (key, value) in before {
            let (from, to) = match is_committed {
                true => (self.pages.get(&key).copied(), &mut self.committed),
                false => (value, &mut self.pages),
            };
            match from {
                Some(value) => _ = to.insert(key, value),
                None => _ = to.remove(&key),
            }
        }
        self.store.end(&writer, is_committed, &[]);
    }

    /// What a snapshot sees, by the pages and the versions.
    fn seen(&self, snapshot: Snapshot) -> Rows {
        let mut rows = Rows::new();
        for key in 0..KEYS {
            let mut bytes = Vec::new();
            let unit = self.store.unit(DATABASE, UNIT);
            let seen = unit.map_or(Seen::Current, |unit| unit.find(snapshot, &[key], &mut bytes));
            let value = match seen {
                Seen::Current => self.pages.get(&key).copied(),
                Seen::Nothing => None,
                Seen::Version => Some(u64::from_le_bytes(bytes[..].try_into().unwrap())),
            };
            value.into_iter().for_each(|value| _ = rows.insert(key, value));
        }
        rows
    }

    fn check(&self) {
        for (held, rows) in &self.snapshots {
            assert_eq!(&self.seen(held.snapshot()), rows);
        }
        for open in &self.open {
            // A transaction that reads now sees what is committed, and its own.
            let held = self.store.take_snapshot(open.writer.number(), 51, 0, false);
            let mut expected = self.committed.clone();
            for key in open.before.keys() {
                match self.pages.get(key) {
                    Some(value) => _ = expected.insert(*key, *value),
                    None => _ = expected.remove(key),
                }
            }
            assert_eq!(self.seen(held.snapshot()), expected);
        }
        let oldest = self
            .open
            .iter()
            .flat_map(|open| open.writer.parts())
            .map(|(_, first)| first)
            .min();
        assert!(
            oldest.is_none_or(|oldest| self.database.horizon() <= oldest),
            "who is under way holds the horizon"
        );
    }
}

#[test]
fn every_snapshot_sees_one_state_for_as_long_as_it_lives() {
    for seed in 1..=60 {
        let mut model = Model::new(seed);
        for _ in 0..300 {
            match model.random.below(10) {
                0 | 1 if model.open.len() < 4 => model.begin(),
                2 if !model.open.is_empty() => model.end(),
                3 if model.snapshots.len() < 5 => {
                    let held = model.store.take_snapshot(u64::MAX, 52, 0, true);
                    model.snapshots.push((held, model.committed.clone()));
                }
                4 if !model.snapshots.is_empty() => {
                    let place = model.random.below(model.snapshots.len() as u64) as usize;
                    drop(model.snapshots.remove(place));
                }
                5 => _ = model.store.clean(model.random.below(5) as usize),
                _ if !model.open.is_empty() => model.change(),
                _ => {}
            }
            model.check();
        }
        while !model.open.is_empty() {
            model.end();
            model.check();
        }
        model.snapshots.clear();
        model.store.clean_all();
        assert_eq!((model.store.bytes(), model.database.bytes()), (0, 0), "seed {seed}");
        assert_eq!(model.database.horizon(), Lsn::MAX.with_slot(0));
        assert!(model.store.units.read().is_empty() && model.store.book.lock().writers.is_empty());
    }
}

fn writer(store: &Arc<VersionStore>) -> Arc<Writer> {
    let writer = Arc::new(Writer::new(store.new_transaction(), 51, 0));
    store.begin_part(&writer, DATABASE, Lsn::new(1, 7, 1));
    writer
}

#[test]
fn a_range_says_that_none_of_its_rows_was_there_and_stands_at_its_time_in_their_chains() {
    let (store, _database) = store();
    let unit = (DATABASE, UNIT);
    let seen = |held: &HeldSnapshot, key: u8| {
        let mut out = Vec::new();
        let seen = store
            .unit(DATABASE, UNIT)
            .unwrap()
            .find(held.snapshot(), &[key], &mut out);
        (seen, out)
    };
    // One that is rolled back leaves versions in the range.
    let oldest = store.take_snapshot(0, 52, 0, true);
    let undone = writer(&store);
    store.keep(&undone, unit, &[5], None);
    store.end(&undone, false, &[]);
    let filler = writer(&store);
    assert!(store.keep_range(&filler, unit, (&[1], &[4]), true));
    assert!(store.keep_range(&filler, unit, (&[5], &[9]), true));
    assert!(
        !store.keep_range(&filler, unit, (&[9], &[12]), true),
        "it would overlap"
    );
    store.keep(&filler, unit, &[3], Some(b"filled"));
    assert_eq!(seen(&oldest, 3).0, Seen::Nothing);
    assert_eq!(seen(&oldest, 10).0, Seen::Current);
    store.end(&filler, true, &[]);
    let between = store.take_snapshot(0, 52, 0, true);
    assert_eq!([3, 5, 9].map(|key| seen(&between, key).0), [Seen::Current; 3]);
    let later = writer(&store);
    store.keep(&later, unit, &[5], Some(b"five"));
    store.end(&later, true, &[]);
    assert_eq!(seen(&between, 5), (Seen::Version, b"five".to_vec()));
    assert_eq!([3, 5, 9].map(|key| seen(&oldest, key).0), [Seen::Nothing; 3]);
    drop((oldest, between));
    store.clean_all();
    assert_eq!(store.bytes(), 0);
}

/// One who keeps thousands of versions of one row under an old snapshot must not overflow a stack when they go.
#[test]
fn a_long_chain_goes_without_recursion() {
    let (store, _database) = store();
    let old = store.take_snapshot(0, 52, 0, true);
    for round in 0..100_000_u32 {
        let writer = writer(&store);
        store.keep(&writer, (DATABASE, UNIT), b"key", Some(&round.to_le_bytes()));
        store.end(&writer, true, &[]);
    }
    let mut out = Vec::new();
    let unit = store.unit(DATABASE, UNIT).unwrap();
    assert_eq!(unit.find(old.snapshot(), b"key", &mut out), Seen::Version);
    assert_eq!(out, 0_u32.to_le_bytes());
    drop((old, unit));
    store.clean_all();
    assert_eq!(store.bytes(), 0);
}

#[test]
fn what_a_definition_change_means_is_known_as_long_as_an_older_snapshot_lives() {
    let (store, _database) = store();
    let old = store.take_snapshot(0, 52, 0, true);
    let definer = writer(&store);
    store.end(&definer, true, &[(DATABASE, 77)]);
    let new = store.take_snapshot(0, 52, 0, true);
    assert!(store.is_redefined(old.snapshot(), DATABASE, 77) && !store.is_redefined(old.snapshot(), DATABASE, 78));
    assert!(!store.is_redefined(new.snapshot(), DATABASE, 77));
    drop(old);
    assert!(store.book.lock().defined.is_empty());
}
