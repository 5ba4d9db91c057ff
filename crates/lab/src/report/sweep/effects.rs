//! Differences beyond spread: one dimension of a sweep at a time, with all others held equal.
//!
//! A *comparison* is a set of configurations that differ in only one dimension. In each, a value's ratio is its median divided by the
//! fastest's, and the two differ beyond spread if no run of one is within the range of the other's runs. Times below a microsecond count as
//! one.

use crate::report::format::{counted, ratio, shortened};
use crate::report::table::{Cell, Look, Table};
use crate::statistics::Measurement;
use crate::sweep::plan::Labels;
use crate::sweep::rows::Found;
use std::collections::BTreeMap;

const SECONDS_MIN: f64 = 1e-6;

/// A dimension: its name, and its value in a configuration.
type Dimension = (&'static str, fn(&Labels) -> String);

const DIMENSIONS: [Dimension; 5] = [
    ("disk", |labels| labels.disk.clone()),
    ("layout", |labels| labels.layout.clone()),
    ("log policy", |labels| labels.log_policy.clone()),
    ("version", |labels| labels.sql_version.clone()),
    ("size", super::size),
];

/// What one dimension makes of a time.
pub(super) struct Effects {
    dimension: &'static str,
    comparisons: usize,
    /// By their ratio, the slowest first.
    values: Vec<Effect>,
}

struct Effect {
    value: String,
    /// Its ratio in every comparison it takes part in, sorted.
    ratios: Vec<f64>,
    beyond_spread: usize,
}

impl Effects {
    /// Whether any value differs beyond spread.
    pub(super) fn differs(&self) -> bool {
        self.values.iter().any(|effect| effect.beyond_spread > 0)
    }
}

impl Effect {
    fn median(&self) -> f64 {
        Measurement::of(self.ratios.clone()).median
    }
}

/// The effects of every dimension that has two values or more.
pub(super) fn effects(measure: &str, found: &[&Found]) -> Vec<Effects> {
    let of = |index: usize| {
        let (dimension, value) = DIMENSIONS.get(index)?;
        let others = |labels: &Labels| -> Vec<String> {
            let others = DIMENSIONS.iter().enumerate().filter(|(other, _)| *other != index);
            others.map(|(_, (_, value))| value(labels)).collect()
        };
        let mut comparisons: BTreeMap<Vec<String>, Vec<(String, &Measurement)>> = BTreeMap::new();
        for each in found {
            if let Some(measurement) = each.measurements.get(measure) {
                let set = comparisons.entry(others(&each.labels)).or_default();
                set.push((value(&each.labels), measurement));
            }
        }
        comparisons.retain(|_, set| set.len() > 1);
        (!comparisons.is_empty()).then(|| of_comparisons(dimension, comparisons.values()))
    };
    (0..DIMENSIONS.len()).filter_map(of).collect()
}

fn of_comparisons<'a>(
    dimension: &'static str,
    comparisons: impl ExactSizeIterator<Item = &'a Vec<(String, &'a Measurement)>>,
) -> Effects {
    let count = comparisons.len();
    let mut values: BTreeMap<&str, Effect> = BTreeMap::new();
    for set in comparisons {
        let Some((_, fastest)) = set
            .iter()
            .min_by(|(_, left), (_, right)| left.median.total_cmp(&right.median))
        else {
            continue;
        };
        for (value, measurement) in set {
            let effect = values.entry(value).or_insert_with(|| Effect {
                value: value.clone(),
                ratios: Vec::new(),
                beyond_spread: 0,
            });
            effect
                .ratios
                .push(measurement.median.max(SECONDS_MIN) / fastest.median.max(SECONDS_MIN));
            effect.beyond_spread += usize::from(!measurement.overlaps(fastest));
        }
    }
    let mut values: Vec<Effect> = values.into_values().collect();
    for effect in &mut values {
        effect.ratios.sort_by(f64::total_cmp);
    }
    // Equal ones stay in the order of their names.
    values.sort_by(|left, right| right.median().total_cmp(&left.median()));
    Effects {
        dimension,
        comparisons: count,
        values,
    }
}

/// The dimensions that differ, as a table.
pub(super) fn table(effects: &[Effects]) -> Table {
    let names = [
        "<dimension",
        "<value",
        "times the fastest",
        "from",
        "to",
        "beyond spread",
        "of comparisons",
    ];
    let mut table = Table::plain("What differs beyond spread", &names);
    for each in effects.iter().filter(|each| each.differs()) {
        for (index, effect) in each.values.iter().enumerate() {
            let first = if index == 0 { each.dimension } else { "" };
            let ends = [effect.ratios.first(), effect.ratios.last()].map(|end| ratio(end.copied().unwrap_or(1.0)));
            let [from, to] = ends.map(Cell::figure);
            table.push(vec![
                Cell::text(first),
                Cell::text(&effect.value),
                Cell::look(ratio(effect.median()), Look::Ratio),
                from,
                to,
                Cell::figure(effect.beyond_spread.to_string()),
                Cell::figure(effect.ratios.len().to_string()),
            ]);
        }
    }
    table
}

/// What matters most, and what does not matter.
pub(super) fn sentence(effects: &[Effects]) -> String {
    let slowest = |each: &Effects| each.values.first().map_or(1.0, Effect::median);
    let mut differing: Vec<&Effects> = effects.iter().filter(|each| each.differs()).collect();
    differing.sort_by(|left, right| slowest(right).total_cmp(&slowest(left)));
    let mut clauses: Vec<String> = differing
        .iter()
        .map(|each| {
            let first = each.values.first();
            let value = first.map_or("", |effect| effect.value.as_str());
            let most = first.and_then(|effect| effect.ratios.last()).copied().unwrap_or(1.0);
            let (value, median, most) = (shortened(value, 60), ratio(slowest(each)), ratio(most));
            match median == most {
                true => format!("{}: {value} takes {median} times the fastest", each.dimension),
                false => format!(
                    "{}: {value} takes {median} times the fastest, up to {most}",
                    each.dimension
                ),
            }
        })
        .collect();
    for each in effects.iter().filter(|each| !each.differs()) {
        let comparisons = counted(each.comparisons, "comparison", "comparisons");
        clauses.push(format!(
            "{}: no difference beyond spread in {comparisons}",
            each.dimension
        ));
    }
    match clauses.is_empty() {
        true => "One configuration, with nothing to compare it with.".to_owned(),
        false => clauses.join("; ") + ".",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::sweep::rows::tests::found;

    #[test]
    fn each_dimension_is_compared_with_all_others_equal() {
        let all = [
            found("fast", 10, &[("fill_s", 0.1)]),
            found("fast", 100, &[("fill_s", 0.1)]),
            found("slow", 10, &[("fill_s", 0.4)]),
            found("slow", 100, &[("fill_s", 0.8)]),
        ];
        let all: Vec<&Found> = all.iter().collect();
        let effects = effects("fill_s", &all);
        let names: Vec<&str> = effects.iter().map(|each| each.dimension).collect();
        assert_eq!(names, ["disk", "layout"]);
        let disk = &effects[0];
        assert_eq!((disk.comparisons, disk.values[0].value.as_str()), (2, "slow"));
        assert!((disk.values[0].ratios[0] - 4.0).abs() < 1e-9 && (disk.values[0].ratios[1] - 8.0).abs() < 1e-9);
        assert_eq!((disk.values[0].beyond_spread, disk.values[1].beyond_spread), (2, 0));
        // Ten times the VLFs make no difference on the fast disk, and one on the slow.
        assert_eq!(effects[1].values[0].beyond_spread, 1);
        assert!(
            sentence(&effects).contains("disk: slow takes 6.0 times the fastest, up to 8.0;"),
            "{}",
            sentence(&effects)
        );
    }

    /// A time of 0 is no reason to divide by it, and runs that overlap are no difference.
    #[test]
    fn nothing_is_made_of_nothing() {
        let all = [found("a", 10, &[("undo_s", 0.0)]), found("b", 10, &[("undo_s", 0.0)])];
        let all: Vec<&Found> = all.iter().collect();
        let effects = effects("undo_s", &all);
        assert!(!effects[0].differs() && effects[0].values[0].ratios == [1.0]);
        assert_eq!(sentence(&effects), "disk: no difference beyond spread in 1 comparison.");
        assert!(super::effects("fill_s", &all).is_empty());
    }
}
