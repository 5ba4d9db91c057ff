//! Space of files allocated and freed, against a model that keeps the owner of every cluster.
#![allow(clippy::unwrap_used)]

use device::volume::{CLUSTER_BYTES, FileSpace, Volume, VolumeFull};
use std::collections::BTreeMap;

const MB: u64 = 1 << 20;

#[test]
fn files_that_grow_by_turns_lie_in_pieces() {
    let mut volume = Volume::new(1_000 * MB, 2);
    let (mut data, mut log, mut alone) = (FileSpace::default(), FileSpace::default(), FileSpace::default());
    for size in 1..=8 {
        volume.grow(&mut data, size * MB).unwrap();
        volume.grow(&mut log, size * MB).unwrap();
    }
    for size in 1..=8 {
        volume.grow(&mut alone, size * MB).unwrap();
    }
    assert_eq!(
        (data.extents().len(), log.extents().len(), alone.extents().len()),
        (8, 8, 1)
    );
    // A read over a border is two requests.
    let places = log.places(MB - 4096, 8192);
    assert_eq!(places.len(), 2);
    assert_eq!(places[1].place - places[0].place, MB + 4096);
}

#[test]
fn a_full_volume_says_so_and_changes_nothing() {
    let mut volume = Volume::new(100 * MB, 2);
    let mut file = FileSpace::default();
    let free = volume.free_bytes();
    assert_eq!(volume.grow(&mut file, free + 1), Err(VolumeFull));
    assert_eq!((volume.free_bytes(), file.bytes()), (free, 0));
    volume.grow(&mut file, free).unwrap();
    assert_eq!(volume.free_bytes(), 0);
}

#[test]
fn the_journal_is_written_in_turns_and_the_table_in_place() {
    let mut volume = Volume::new(10_000 * MB, 3);
    let first = volume.metadata_writes();
    let second = volume.metadata_writes();
    assert_eq!(first.len(), 3);
    assert_eq!(second[0].place - first[0].place, first[0].bytes);
    assert_eq!(first[1..], second[1..]);
    assert!((0..100_000).any(|_| volume.metadata_writes()[0] == first[0]));
    assert_eq!(Volume::new(10_000 * MB, 1).metadata_writes().len(), 1);
    assert_eq!(Volume::new(10_000 * MB, 0).metadata_writes().len(), 0);
}

#[test]
fn every_cluster_has_one_owner_whatever_is_done() {
    let mut volume = Volume::new(64 * MB, 2);
    let total = volume.free_bytes();
    let mut files = vec![FileSpace::default(); 5];
    let mut state = 1_u64;
    for _ in 0..3_000 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let choice = state >> 33;
        let file = &mut files[(choice % 5) as usize];
        let bytes = (choice / 5) % (16 * MB);
        if bytes > file.bytes() {
            let before = file.clone();
            if volume.grow(file, bytes).is_err() {
                assert_eq!(*file, before);
            }
        } else {
            volume.shrink(file, bytes);
            assert_eq!(file.bytes(), bytes.div_ceil(CLUSTER_BYTES) * CLUSTER_BYTES);
        }
        let mut owners = BTreeMap::new();
        let mut owned = 0;
        for extent in files.iter().flat_map(|file| file.extents()) {
            assert!(owners.insert(extent.place, extent.place + extent.bytes).is_none());
            owned += extent.bytes;
        }
        let ends: Vec<(u64, u64)> = owners.into_iter().collect();
        assert!(
            ends.windows(2).all(|pair| pair[0].1 <= pair[1].0),
            "two files have one place"
        );
        assert_eq!(owned + volume.free_bytes(), total);
    }
}

#[test]
fn what_a_file_has_already_is_not_given_again() {
    let mut volume = Volume::new(100 * MB, 2);
    let mut file = FileSpace::default();
    volume.grow(&mut file, 10 * MB).unwrap();
    let mut again = Volume::new(100 * MB, 2);
    again.claim(file.extents());
    assert_eq!(again.free_bytes(), volume.free_bytes());
    let mut other = FileSpace::default();
    again.grow(&mut other, MB).unwrap();
    assert_eq!(other.extents()[0].place, file.extents()[0].place + 10 * MB);
}
