//! The rows of the Credit sample against the published figures, and the way they take through the program.
#![allow(clippy::unwrap_used)]

use super::credit::{BaseCharge, CHARGES, Credit};
use engine::types::Value;
use std::collections::BTreeSet;

const SEED: u64 = 1;

fn charges(count: u32) -> Vec<(u32, BaseCharge)> {
    let sample = Credit::new(SEED, count);
    (0..count).map(|place| sample.charge(place)).collect()
}

/// Smallest value, the nine deciles, largest value.
fn deciles(mut values: Vec<u32>) -> [u32; 11] {
    values.sort_unstable();
    std::array::from_fn(|decile| values[(values.len() * decile / 10).min(values.len() - 1)])
}

/// `found` is as published, give or take a share of the range.
fn near(what: &str, found: &[u32], published: &[u32], range: u32, tolerance: f64) {
    assert_eq!(found.len(), published.len());
    for (found, published) in found.iter().zip(published) {
        let distance = f64::from(found.abs_diff(*published)) / f64::from(range);
        assert!(distance <= tolerance, "{what}: {found}, published {published}");
    }
}

const MEMBER_DECILES: [u32; 9] = [4101, 5588, 6648, 7456, 8117, 8662, 9114, 9491, 9795];
const PROVIDER_DECILES: [u32; 9] = [335, 393, 427, 450, 466, 478, 487, 494, 498];
const STATEMENT_DECILES: [u32; 9] = [5416, 7419, 8677, 9527, 12_503, 17_610, 19_513, 25_624, 28_654];

/// What does not depend on the number of rows, within what that many draws scatter.
fn has_the_published_shape(rows: &[(u32, BaseCharge)], tolerance: f64) {
    let of = |field: fn(&BaseCharge) -> u32| rows.iter().map(|(_, charge)| field(charge)).collect::<Vec<u32>>();
    let mean = |values: &[u32]| values.iter().map(|value| f64::from(*value)).sum::<f64>() / values.len() as f64;
    let members = deciles(of(|charge| charge.member));
    near("member_no", &members[1..10], &MEMBER_DECILES, 10_000, tolerance);
    assert_eq!(members[10], 10_000);
    let providers = deciles(of(|charge| charge.provider));
    near("provider_no", &providers[1..10], &PROVIDER_DECILES, 500, tolerance);
    assert_eq!(providers[10], 500);
    let statements = deciles(of(|charge| charge.statement));
    near(
        "statement_no",
        &statements[1..10],
        &STATEMENT_DECILES,
        30_000,
        tolerance,
    );
    assert_eq!((statements[0], statements[10]), (0, 30_000));
    let categories = of(|charge| charge.category);
    assert!(
        (mean(&categories) - 5.996).abs() < 9.0 * tolerance,
        "{}",
        mean(&categories)
    );
    assert_eq!(categories.iter().copied().collect::<BTreeSet<_>>(), (1..=10).collect());
    let amounts = of(|charge| charge.dollars);
    assert!(
        (mean(&amounts) - 2501.95).abs() < 5000.0 * tolerance,
        "{}",
        mean(&amounts)
    );
    assert!(amounts.iter().all(|amount| (1..=5001).contains(amount)));
    assert_eq!(
        of(|charge| charge.day).into_iter().collect::<BTreeSet<_>>(),
        (0..=120).collect()
    );
}

#[test]
fn few_charges_have_the_published_shape() {
    let rows = charges(20_000);
    has_the_published_shape(&rows, 0.02);
    assert_eq!((rows[0].0, rows[1].0, rows[19_999].0), (1, 400_002, 420_000));
}

#[test]
#[ignore = "all 1.6 million rows; a second in an optimized build"]
fn all_charges_have_the_published_shape() {
    let rows = charges(CHARGES);
    has_the_published_shape(&rows, 0.012);
    assert_eq!(rows.len(), 1_600_000);
    let numbers = deciles(rows.iter().map(|row| row.0).collect());
    near(
        "charge_no",
        &numbers[1..4],
        &[560_000, 720_000, 880_000],
        2_000_000,
        1e-5,
    );
    assert_eq!((numbers[0], numbers[10]), (1, 2_000_000));
    let distinct =
        |field: fn(&BaseCharge) -> u32| rows.iter().map(|(_, charge)| field(charge)).collect::<BTreeSet<_>>();
    near(
        "members",
        &[distinct(|charge| charge.member).len() as u32],
        &[9114],
        9114,
        0.01,
    );
    near(
        "providers",
        &[distinct(|charge| charge.provider).len() as u32],
        &[455],
        455,
        0.02,
    );
    near(
        "statements",
        &[distinct(|charge| charge.statement).len() as u32],
        &[22_667],
        22_667,
        0.01,
    );
    let (first_member, first_provider) = (distinct(|charge| charge.member), distinct(|charge| charge.provider));
    near("lowest member", &[*first_member.first().unwrap()], &[63], 10_000, 0.01);
    near("lowest provider", &[*first_provider.first().unwrap()], &[24], 500, 0.02);
}

#[test]
fn charges_were_stored_within_seven_minutes_and_end_in_two_spaces() {
    let sample = Credit::new(SEED, CHARGES);
    let mut row = Vec::new();
    // 1999-06-15 is day 36,324 since 1900-01-01; 10:45 and 10:52 in 1/300 s.
    for place in [0, 99_999, 800_000, CHARGES - 1] {
        sample.charge_row(place, &mut row);
        let Value::DateTime { days, ticks } = row[4] else {
            panic!("{:?}", row[4])
        };
        assert!((36_324..36_324 + 121).contains(&days), "{days}");
        assert!((11_610_000..11_736_000).contains(&ticks), "{ticks}");
        assert_eq!(row[7], Value::from("  "));
        assert_eq!(row.len(), 8);
    }
}

#[test]
fn small_tables_have_the_published_rows() {
    let sample = Credit::new(SEED, 1);
    for (table, count, columns) in [
        ("status", 1, 2),
        ("region", 9, 9),
        ("category", 10, 3),
        ("corporation", 500, 11),
        ("provider", 500, 12),
        ("member", 10_000, 18),
        ("member2", 10_000, 18),
        ("statement", 20_000, 6),
        ("payment", 15_554, 6),
    ] {
        let rows = sample.rows(table).unwrap();
        assert_eq!(rows.len(), count, "{table}");
        assert!(rows.iter().all(|row| row.len() == columns), "{table}");
    }
    assert!(sample.rows("charge").is_none());
    let members = sample.rows("member").unwrap();
    let names: BTreeSet<&str> = members.iter().map(|row| row[1].as_str().unwrap()).collect();
    assert_eq!(
        (names.len(), names.first(), names.last()),
        (26, Some(&"ANDERSON"), Some(&"ZUCKER"))
    );
    assert_eq!(members.iter().filter(|row| row[14].is_null()).count(), 8_498);
    assert!(
        members
            .iter()
            .all(|row| (3..=15).contains(&row[2].as_str().unwrap().len()))
    );
    let amounts: Vec<i64> = sample
        .rows("statement")
        .unwrap()
        .iter()
        .map(|row| match row[4] {
            Value::Money(amount) => amount / 10_000,
            ref other => panic!("{other:?}"),
        })
        .collect();
    let mean = amounts.iter().sum::<i64>() / 20_000;
    assert!((9_000..9_600).contains(&mean), "mean {mean}, published 9,270");
    let largest = amounts.iter().max().unwrap();
    assert!(
        (100_000..170_000).contains(largest),
        "largest {largest}, published 129,829"
    );
}

#[test]
fn a_seed_gives_one_sample() {
    let rows = |seed| Credit::new(seed, 1).rows("member").unwrap();
    assert_eq!(rows(7), rows(7));
    assert_ne!(rows(7), rows(8));
    let (short, long) = (Credit::new(7, 10), Credit::new(7, 1_000));
    assert!((0..10).all(|place| short.charge(place) == long.charge(place)));
}
