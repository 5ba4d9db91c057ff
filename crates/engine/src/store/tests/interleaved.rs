//! Several open transactions on the same pages, ended in any order by commit or rollback: each finds the room that its undo
//! needs.

use super::*;

const SESSIONS: usize = 3;

/// A key or row identifier, and the row it leads to afterwards.
type Changed = (Vec<u8>, Option<Vec<u8>>);

/// What one session has done since it began: rows as they will be if it commits.
struct Open {
    work: Work,
    changed: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

/// Runs random steps of several sessions; `step` does one on the rows a session may touch and reports what it changed.
fn run(
    bench: &Bench,
    random: &mut Random,
    step: &mut dyn FnMut(&mut Work, &mut Random, &Visible<'_>) -> Option<Changed>,
) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut committed: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    let mut sessions: [Option<Open>; SESSIONS] = std::array::from_fn(|_| None);
    for _ in 0..2_500 {
        let index = random.below(SESSIONS as u64) as usize;
        let others: Vec<Vec<u8>> = sessions
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != index)
            .flat_map(|(_, open)| open.iter().flat_map(|open| open.changed.keys().cloned()))
            .collect();
        let open = sessions[index].get_or_insert_with(|| {
            let work = bench.begin();
            // One thread plays all sessions: nobody would end a wait.
            work.locks.set_timeout_ms(0);
            let changed = BTreeMap::new();
            Open { work, changed }
        });
        if random.below(25) > 0 {
            let visible = Visible {
                committed: &committed,
                mine: &open.changed,
                others: &others,
            };
            if let Some((key, row)) = step(&mut open.work, random, &visible) {
                open.changed.insert(key, row);
            }
            continue;
        }
        let Some(ended) = sessions[index].take() else { continue };
        if random.below(2) == 0 {
            bench.roll_back(ended.work);
            continue;
        }
        bench.commit(ended.work);
        for (key, row) in ended.changed {
            match row {
                Some(row) => committed.insert(key, row),
                None => committed.remove(&key),
            };
        }
    }
    for open in sessions.into_iter().flatten() {
        bench.roll_back(open.work);
    }
    committed
}

/// The rows a session sees.
struct Visible<'a> {
    committed: &'a BTreeMap<Vec<u8>, Vec<u8>>,
    mine: &'a BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    others: &'a [Vec<u8>],
}

impl Visible<'_> {
    fn is_free(&self, key: &[u8]) -> bool {
        !self.others.iter().any(|other| other == key)
    }

    fn row(&self, key: &[u8]) -> Option<Vec<u8>> {
        match self.mine.get(key) {
            Some(row) => row.clone(),
            None => self.committed.get(key).cloned(),
        }
    }

    fn is_there(&self, key: &[u8]) -> bool {
        self.row(key).is_some()
    }

    /// A row that exists for the session and that nobody else has changed.
    fn pick(&self, random: &mut Random) -> Option<Vec<u8>> {
        let keys: Vec<&Vec<u8>> = self.committed.keys().chain(self.mine.keys()).collect();
        let key = keys.get(random.below(keys.len().max(1) as u64) as usize)?;
        (self.is_there(key) && self.is_free(key)).then(|| key.to_vec())
    }
}

fn tree_step(
    bench: &Bench,
    tree: &Tree,
    work: &mut Work,
    random: &mut Random,
    visible: &Visible<'_>,
) -> Option<Changed> {
    let row = random.row();
    if random.below(2) == 0 {
        let key = (random.below(300) as u32).to_be_bytes().to_vec();
        if !visible.is_free(&key) {
            return None;
        }
        let inserted = tree.insert(&mut bench.ctx(work), &key, &row).unwrap();
        assert_eq!(inserted, !visible.is_there(&key));
        let row = if inserted { row } else { visible.row(&key)? };
        return Some((key, Some(row)));
    }
    let key = visible.pick(random)?;
    if random.below(3) == 0 {
        assert!(tree.delete(&mut bench.ctx(work), &key).unwrap());
        return Some((key, None));
    }
    assert!(tree.update(&mut bench.ctx(work), &key, &row).unwrap());
    Some((key, Some(row)))
}

fn heap_step(
    bench: &Bench,
    heap: &Heap,
    work: &mut Work,
    random: &mut Random,
    visible: &Visible<'_>,
) -> Option<Changed> {
    let row = random.row();
    if random.below(3) == 0 {
        let rid = heap.insert(&mut bench.ctx(work), &row, Placement::Anywhere).unwrap();
        return Some((rid.to_bytes().to_vec(), Some(row)));
    }
    let key = visible.pick(random)?;
    let rid = Rid::from_bytes(&key).unwrap();
    if random.below(3) == 0 {
        assert!(heap.delete(&mut bench.ctx(work), rid).unwrap());
        return Some((key, None));
    }
    assert!(heap.update(&mut bench.ctx(work), rid, &row).unwrap());
    Some((key, Some(row)))
}

#[test]
fn on_a_tree() {
    for seed in 0..8 {
        let policy = if seed % 2 == 0 {
            LogPolicy::native()
        } else {
            LogPolicy::classic()
        };
        let bench = Bench::new(32, policy);
        let tree = bench.tree(1);
        let mut random = Random(seed);
        let committed = run(&bench, &mut random, &mut |work, random, visible| {
            tree_step(&bench, &tree, work, random, visible)
        });
        let expected: Vec<_> = committed.into_iter().collect();
        assert_eq!(
            tree_model::tree_rows(&bench, &tree, ReadMode::Committed, false),
            expected,
            "seed {seed}"
        );
        bench.assert_sound(&[(tree.root(), ObjectKind::Tree)]);
        bench.assert_redo_makes_the_same_pages();
    }
}

#[test]
fn on_a_heap() {
    for seed in 0..8 {
        let policy = if seed % 2 == 0 {
            LogPolicy::native()
        } else {
            LogPolicy::classic()
        };
        let bench = Bench::new(32, policy);
        let heap = bench.heap(1);
        let mut random = Random(seed);
        let committed = run(&bench, &mut random, &mut |work, random, visible| {
            heap_step(&bench, &heap, work, random, visible)
        });
        let rows = heap_rows(&bench, &heap, ReadMode::Committed).into_iter();
        let rows: BTreeMap<Vec<u8>, Vec<u8>> = rows.map(|(rid, row)| (rid.to_bytes().to_vec(), row)).collect();
        assert_eq!(rows, committed, "seed {seed}");
        bench.assert_sound(&[(heap.root(), ObjectKind::Heap)]);
        bench.assert_redo_makes_the_same_pages();
    }
}
