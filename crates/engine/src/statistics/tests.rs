//! Counts against truth: what a histogram says of ranges and values, whole and from samples, and that stored statistics come back.
#![allow(clippy::unwrap_used)]

use super::{Collector, Content, Plan, STEPS_MAX, StoredContent};
use crate::types::{Collation, Length, RowLayout, SqlType, Value};

fn counted(values: &[Value], sql_type: SqlType, rows: u64) -> Content {
    let layout = RowLayout::new(&[sql_type]);
    let mut collector = Collector::new(&Plan::of(vec![0]), &layout);
    let mut row = Vec::new();
    for value in values {
        layout.encode(std::slice::from_ref(value), &mut row).unwrap();
        collector.add(&layout, &row).unwrap();
    }
    collector.finish(rows, (1, 2)).unwrap()
}

/// The n-th of numbers that look random.
fn drawn(n: u64) -> u64 {
    let mut number = n.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x1234_5678;
    number = (number ^ (number >> 31)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    number ^ (number >> 29)
}

/// Some values are very frequent: value v comes about 50,000 / (v + 1) times.
fn skewed() -> Vec<Value> {
    let values = (0..2_000).flat_map(|value| std::iter::repeat_n(value, 50_000 / (value as usize + 1)));
    let mut values: Vec<(u64, i32)> = values.enumerate().map(|(n, value)| (drawn(n as u64), value)).collect();
    values.sort_unstable();
    values.into_iter().map(|(_, value)| Value::Int(value)).collect()
}

#[test]
fn steps_add_up_to_the_rows_and_hold_the_extremes() {
    let values = skewed();
    let content = counted(&values, SqlType::Int, values.len() as u64);
    assert_eq!(content.steps.len(), STEPS_MAX);
    let sum: f64 = content.steps.iter().map(|step| step.range_rows + step.equal_rows).sum();
    assert!((sum - values.len() as f64).abs() < 1e-6);
    assert_eq!(content.distinct(1), 2_000.0);
    assert_eq!(content.steps[0].high, Value::Int(0));
    assert_eq!(content.steps[STEPS_MAX - 1].high, Value::Int(1_999));
    let frequent = (0..20).all(|value| content.steps.iter().any(|step| step.high == Value::Int(value)));
    assert!(frequent, "the twenty most frequent values have steps of their own");
}

#[test]
fn a_sample_tells_about_what_the_whole_does() {
    let values = skewed();
    let rows = values.len() as u64;
    let sample: Vec<Value> = values.iter().step_by(20).cloned().collect();
    let content = counted(&sample, SqlType::Int, rows);
    let distinct = content.distinct(1);
    assert!((1_000.0..4_000.0).contains(&distinct), "2,000 values, {distinct} told");
    let sum: f64 = content.steps.iter().map(|step| step.range_rows + step.equal_rows).sum();
    assert!((sum / rows as f64 - 1.0).abs() < 0.02, "{sum} of {rows}");
    let first = &content.steps[0];
    assert!((first.equal_rows / 50_000.0 - 1.0).abs() < 0.1, "{first:?}");
}

#[test]
fn the_sample_of_a_key_tells_that_every_row_has_its_own() {
    let sample: Vec<Value> = (0..10_000).map(|n| Value::Int(n * 37)).collect();
    let content = counted(&sample, SqlType::Int, 370_000);
    assert!(
        (content.distinct(1) / 370_000.0 - 1.0).abs() < 0.01,
        "{}",
        content.distinct(1)
    );
    assert!(content.steps.iter().all(|step| step.equal_rows <= 1.01));
}

#[test]
fn stored_statistics_come_back() {
    let text = |text: &str| Value::text(text);
    let string = SqlType::VarChar(Length::Limited(20));
    let values = [Value::Null, text("b"), text("a"), text("b"), Value::Null, text("")];
    let content = counted(&values, string, 6);
    assert_eq!(content.null_rows, 2.0);
    assert_eq!(content.steps[0].high, Value::Null);
    let stored = StoredContent::new(&content, string, Collation::default());
    let text = serde_json::to_string(&stored).unwrap();
    let again: StoredContent = serde_json::from_str(&text).unwrap();
    assert_eq!(again.content(string, Collation::default()).unwrap(), content);
    let damaged = text.replace("\"steps\":[[\"", "\"steps\":[[\"zz");
    let damaged: StoredContent = serde_json::from_str(&damaged).unwrap();
    assert!(damaged.content(string, Collation::default()).is_err());
}
