//! Summaries of repeated runs: the median with its spread, and every value. Never a lone mean.

use serde::{Deserialize, Serialize};

/// One quantity, measured in one or more runs. The unit is the end of the quantity's name (`fill_s` is in seconds).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Measurement {
    /// The middle value; of an even number of runs, the mean of the two in the middle.
    pub median: f64,
    pub min: f64,
    pub max: f64,
    pub runs: usize,
    /// The values in the order of the runs.
    pub values: Vec<f64>,
    /// On a modelled disk: the median of what the device took of each value, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_s: Option<f64>,
    /// And of what processors took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor_s: Option<f64>,
    /// What the device took, in the order of the runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub device_values: Vec<f64>,
}

impl Measurement {
    /// The measurement of `values`; all zero when there are none.
    pub fn of(values: Vec<f64>) -> Measurement {
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        Measurement {
            median: median_of_sorted(&sorted),
            min: sorted.first().copied().unwrap_or_default(),
            max: sorted.last().copied().unwrap_or_default(),
            runs: values.len(),
            values,
            ..Measurement::default()
        }
    }

    /// Adds one run's value.
    pub fn add(&mut self, value: f64) {
        let mut values = std::mem::take(&mut self.values);
        values.push(value);
        *self = Measurement::of(values);
    }

    /// Adds one run's value, of which a modelled device took `device_s`.
    pub fn add_with_device(&mut self, value: f64, device_s: f64) {
        let mut device_values = std::mem::take(&mut self.device_values);
        self.add(value);
        device_values.push(device_s);
        let processor = self.values.iter().zip(&device_values).map(|(all, device)| all - device);
        self.processor_s = Some(Measurement::of(processor.collect()).median);
        self.device_s = Some(Measurement::of(device_values.clone()).median);
        self.device_values = device_values;
    }

    /// Whether the two ranges have a value in common: then the runs show no difference beyond their own spread.
    pub fn overlaps(&self, other: &Measurement) -> bool {
        self.min <= other.max && other.min <= self.max
    }
}

fn median_of_sorted(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    match (sorted.get(middle), sorted.len() % 2) {
        (None, _) => 0.0,
        (Some(value), 1) => *value,
        (Some(upper), _) => (sorted.get(middle - 1).unwrap_or(upper) + upper) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_odd_even_and_no_runs() {
        for (values, median) in [
            (vec![], 0.0),
            (vec![3.0], 3.0),
            (vec![9.0, 1.0], 5.0),
            (vec![9.0, 1.0, 2.0], 2.0),
        ] {
            assert_eq!(Measurement::of(values).median, median);
        }
    }

    #[test]
    fn adding_keeps_the_order_of_the_runs_and_widens_the_range() {
        let mut measurement = Measurement::default();
        for value in [5.0, 1.0, 3.0] {
            measurement.add(value);
        }
        assert_eq!(measurement.values, [5.0, 1.0, 3.0]);
        assert_eq!(
            (measurement.median, measurement.min, measurement.max, measurement.runs),
            (3.0, 1.0, 5.0, 3)
        );
    }

    #[test]
    fn what_a_device_took_is_kept_apart() {
        let mut measurement = Measurement::default();
        for (value, device_s) in [(5.0, 4.0), (9.0, 6.0), (7.0, 6.5)] {
            measurement.add_with_device(value, device_s);
        }
        assert_eq!(measurement.values, [5.0, 9.0, 7.0]);
        assert_eq!((measurement.device_s, measurement.processor_s), (Some(6.0), Some(1.0)));
    }

    #[test]
    fn ranges_overlap_when_they_share_a_value() {
        let of = |values: &[f64]| Measurement::of(values.to_vec());
        assert!(of(&[1.0, 2.0]).overlaps(&of(&[2.0, 3.0])));
        assert!(of(&[1.0, 9.0]).overlaps(&of(&[2.0, 3.0])));
        assert!(!of(&[1.0, 2.0]).overlaps(&of(&[2.1, 3.0])));
    }
}
