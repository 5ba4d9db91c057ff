//! Histograms and densities, whole and sampled, against true counts of skewed rows: errors are bounded, and printed with
//! `--nocapture`.

use engine::statistics::{Collector, Column, Content, Plan, STEPS_MAX, StoredContent};
use engine::types::{Collation, Length, RowLayout, SqlType, Value};

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

/// How far an estimate is from the truth, as a factor; both at least one row.
fn q_error(told: f64, rows: f64) -> f64 {
    let (told, rows) = (told.max(1.0), rows.max(1.0));
    (told / rows).max(rows / told)
}

/// The median and the 95th percentile.
fn spread(mut errors: Vec<f64>) -> (f64, f64) {
    errors.sort_by(f64::total_cmp);
    (errors[errors.len() / 2], errors[errors.len() * 95 / 100])
}

#[test]
fn estimates_of_values_and_ranges_are_near_the_truth() {
    let values = skewed();
    let rows = values.len() as f64;
    let numbers: Vec<i32> = values.iter().map(|value| value.as_i64().unwrap() as i32).collect();
    let sample: Vec<Value> = values.iter().step_by(10).cloned().collect();
    for (what, given, bounds) in [("whole", &values, (1.05, 1.5)), ("sampled", &sample, (1.3, 3.0))] {
        let content = counted(given, SqlType::Int, values.len() as u64);
        let column = Column {
            content: &content,
            collation: Collation::default(),
        };
        let mut counts = vec![0usize; 2_100];
        numbers.iter().for_each(|number| counts[*number as usize] += 1);
        let equal =
            (0..2_000).map(|value| q_error(column.equal(&Value::Int(value)) * rows, counts[value as usize] as f64));
        let (median, high) = spread(equal.collect());
        println!("{what}: = value: q-error median {median:.3}, 95th percentile {high:.3}");
        assert!(median < bounds.0 && high < bounds.1);
        let ranges = (0..2_000).map(|n| {
            let (low, width) = ((drawn(n) % 2_000) as i32, (drawn(n + 7_000) % 400) as i32);
            let told = column.below(&Value::Int(low + width), true) - column.below(&Value::Int(low), false);
            let truth: usize = counts[low as usize..=((low + width) as usize).min(2_099)].iter().sum();
            q_error(told * rows, truth as f64)
        });
        let (median, high) = spread(ranges.collect());
        println!("{what}: ranges: q-error median {median:.3}, 95th percentile {high:.3}");
        assert!(median < bounds.0 && high < bounds.1);
    }
}

#[test]
fn estimates_of_joins_are_near_the_truth() {
    let skewed = skewed();
    let key: Vec<Value> = (0..2_000).map(Value::Int).collect();
    let half: Vec<Value> = (1_000..3_000).map(Value::Int).collect();
    let few: Vec<Value> = (0..5_000).map(|n| Value::Int((drawn(n) % 50) as i32)).collect();
    let apart: Vec<Value> = (9_000..9_100).map(Value::Int).collect();
    let sides = [&skewed, &key, &half, &few, &apart];
    let mut errors = Vec::new();
    for left in sides {
        for right in sides {
            let told = [left, right].map(|side| counted(side, SqlType::Int, side.len() as u64));
            let [left_column, right_column] = [&told[0], &told[1]].map(|content| Column {
                content,
                collation: Collation::default(),
            });
            let count = |side: &[Value]| {
                let mut counts = vec![0f64; 10_000];
                side.iter()
                    .for_each(|value| counts[value.as_i64().unwrap() as usize] += 1.0);
                counts
            };
            let truth: f64 = count(left)
                .iter()
                .zip(count(right))
                .map(|(left, right)| left * right)
                .sum();
            let pairs = left.len() as f64 * right.len() as f64;
            errors.push(q_error(left_column.joined(right_column) * pairs, truth));
        }
    }
    let (median, high) = spread(errors);
    println!("joins: q-error median {median:.3}, 95th percentile {high:.3}");
    assert!(median < 1.1 && high < 2.0);
}

#[test]
fn strings_and_nulls_have_their_parts() {
    let string = SqlType::VarChar(Length::Limited(20));
    let values: Vec<Value> = (0..10_000)
        .map(|n| match n % 10 {
            0 => Value::Null,
            _ => Value::text(format!("name {:05}", drawn(n) % 90_000)),
        })
        .collect();
    let content = counted(&values, string, 10_000);
    let column = Column {
        content: &content,
        collation: Collation::default(),
    };
    assert!((column.null() - 0.1).abs() < 1e-9 && (column.known() - 0.9).abs() < 1e-9);
    let below = column.below(&Value::text("name 45000"), false);
    assert!((below - 0.45).abs() < 0.03, "{below}");
    assert!(column.equal(&Value::text("zebra")) <= 0.0001);
    assert_eq!(column.below(&Value::text("zebra"), false), column.known());
    assert_eq!(column.equal(&Value::Null), 0.0);
    let part = column.matching(|value| value.as_str().is_some_and(|text| text.contains(" 1")));
    assert!((part - 0.1).abs() < 0.03, "a ninth of the names begins so: {part}");
}
