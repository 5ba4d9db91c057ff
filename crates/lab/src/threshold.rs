//! Checks an experiment's limits: a measurement's median, or its ratio to another configuration's, against a minimum and a maximum.

use crate::experiment::Threshold;
use crate::results::{ConfigurationResults, Results, ThresholdResult};

/// Looks at every limit of every configuration it is for. One that was not measured is neither kept nor missed.
pub fn judge(thresholds: &[Threshold], results: &Results) -> Vec<ThresholdResult> {
    let mut judged = Vec::new();
    for threshold in thresholds {
        let named =
            |each: &&ConfigurationResults| threshold.configuration == each.name || threshold.configuration == each.base;
        let concerned = results.configurations.iter().filter(named);
        judged.extend(concerned.map(|each| judge_one(threshold, each, results)));
    }
    judged
}

fn judge_one(threshold: &Threshold, configuration: &ConfigurationResults, results: &Results) -> ThresholdResult {
    let value = value(threshold, configuration, results);
    let too_much = matches!((value, threshold.max), (Some(value), Some(max)) if value > max);
    let too_little = matches!((value, threshold.min), (Some(value), Some(min)) if value < min);
    let what = match &threshold.ratio_to {
        Some(other) => format!("{} of {} : {other}", threshold.measure, configuration.name),
        None => format!("{} of {}", threshold.measure, configuration.name),
    };
    let text = match value {
        None => format!(
            "{what} was not measured, its limit ({}) not judged",
            limit_text(threshold)
        ),
        Some(value) if too_much || too_little => {
            format!("{what} is {}, the limit is {}", figure(value), limit_text(threshold))
        }
        Some(value) => format!(
            "{what} is {}, within its limit ({})",
            figure(value),
            limit_text(threshold)
        ),
    };
    ThresholdResult {
        configuration: configuration.name.clone(),
        measure: threshold.measure.clone(),
        ratio_to: threshold.ratio_to.clone(),
        value,
        min: threshold.min,
        max: threshold.max,
        missed: too_much || too_little,
        text,
    }
}

fn value(threshold: &Threshold, configuration: &ConfigurationResults, results: &Results) -> Option<f64> {
    let median = configuration.measurement(&threshold.measure)?.median;
    let Some(other) = &threshold.ratio_to else {
        return Some(median);
    };
    let by_name = || results.configurations.iter().find(|each| each.name == *other);
    let other = results.find(other, configuration.variant()).or_else(by_name)?;
    let divisor = other.measurement(&threshold.measure)?.median;
    (divisor > 0.0).then(|| median / divisor)
}

fn limit_text(threshold: &Threshold) -> String {
    match (threshold.min, threshold.max) {
        (Some(min), Some(max)) => format!("{} to {}", figure(min), figure(max)),
        (Some(min), None) => format!("at least {}", figure(min)),
        (None, Some(max)) => format!("at most {}", figure(max)),
        (None, None) => "none".into(),
    }
}

/// Four significant digits are what a limit needs.
fn figure(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let whole_digits = value.abs().log10().floor() as i32 + 1;
    let decimals = usize::try_from(4 - whole_digits).unwrap_or_default().min(9);
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn results() -> Results {
        let configuration = |base: &str, variant: &str, seconds: f64| {
            let mut found = ConfigurationResults {
                name: format!("{base}-{variant}"),
                base: base.into(),
                ..ConfigurationResults::default()
            };
            found.measure("fill_s", seconds);
            found
        };
        Results {
            configurations: vec![
                configuration("bad", "classic", 6.0),
                configuration("bad", "native", 2.2),
                configuration("good", "classic", 2.0),
                configuration("good", "native", 2.0),
            ],
            ..Results::default()
        }
    }

    fn threshold(configuration: &str, ratio_to: Option<&str>, min: Option<f64>, max: Option<f64>) -> Threshold {
        Threshold {
            measure: "fill_s".into(),
            configuration: configuration.into(),
            ratio_to: ratio_to.map(str::to_string),
            min,
            max,
        }
    }

    #[test]
    fn limits_of_values_and_of_ratios() {
        for (limit, missed) in [
            (threshold("bad", None, None, Some(3.0)), &["bad-classic"][..]),
            (threshold("bad", None, None, Some(6.0)), &[]),
            (threshold("bad-native", None, None, Some(2.0)), &["bad-native"]),
            (threshold("bad", None, Some(3.0), None), &["bad-native"]),
            (
                threshold("bad", Some("good"), None, Some(1.05)),
                &["bad-classic", "bad-native"],
            ),
            (threshold("bad", Some("good"), None, Some(1.2)), &["bad-classic"]),
            (
                threshold("bad-native", Some("bad-classic"), Some(0.5), None),
                &["bad-native"],
            ),
            (threshold("absent", None, None, Some(0.0)), &[]),
        ] {
            let judged = judge(std::slice::from_ref(&limit), &results());
            let found: Vec<&str> = judged
                .iter()
                .filter(|each| each.missed)
                .map(|each| each.configuration.as_str())
                .collect();
            assert_eq!(found, missed, "{limit:?}");
        }
    }

    #[test]
    fn a_miss_names_the_figure_and_the_limit_and_what_was_not_measured_is_not_judged() {
        let limit = threshold("bad-classic", Some("good"), None, Some(1.25));
        let judged = judge(std::slice::from_ref(&limit), &results());
        assert_eq!(
            judged[0].text,
            "fill_s of bad-classic : good is 3, the limit is at most 1.25"
        );
        let mut without = results();
        without.configurations.truncate(2);
        let judged = judge(&[limit], &without);
        assert!(
            !judged[0].missed && judged[0].text.contains("not measured"),
            "{}",
            judged[0].text
        );
    }

    #[test]
    fn figures_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (3.0, "3"),
            (0.012_345_6, "0.01235"),
            (1.05, "1.05"),
            (123_456.7, "123457"),
        ] {
            assert_eq!(figure(value), text);
        }
    }
}
