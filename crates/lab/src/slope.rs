//! The cost of a thousand VLFs: the slope of the line through the medians of a measurement, for each variant.

use crate::experiment::Experiment;
use crate::results::{Results, Slope};

/// The variant that the others are held against.
const REFERENCE: &str = "native";

/// The slopes the experiment asks for, over every variant that ran with at least two different numbers of VLFs.
pub fn slopes(experiment: &Experiment, results: &Results) -> Vec<Slope> {
    let mut slopes = Vec::new();
    for wanted in &experiment.slope {
        let of_variant = |variant: &str| {
            let points = points(results, &wanted.measure, variant);
            line(&points).map(|(base_ms, rise_ms)| (base_ms, rise_ms, points))
        };
        let reference = of_variant(REFERENCE).map(|(_, rise_ms, _)| rise_ms);
        for variant in results.variants() {
            let Some((base_ms, rise_ms, points)) = of_variant(variant) else {
                continue;
            };
            let added_ms = reference
                .map(|reference| rise_ms - reference)
                .filter(|added| *added > 0.0);
            slopes.push(Slope {
                measure: wanted.measure.clone(),
                what: wanted.what.clone(),
                variant: variant.to_string(),
                ms_per_1000_vlfs: rise_ms * 1000.0,
                base_ms,
                points,
                vlfs_for_one_second: added_ms.map(|added| 1000.0 / added),
            });
        }
    }
    slopes
}

fn points(results: &Results, measure: &str, variant: &str) -> Vec<(f64, f64)> {
    let of_variant = results.configurations.iter().filter(|each| each.variant() == variant);
    let mut points: Vec<(f64, f64)> = of_variant
        .filter_map(|each| {
            let count = each.measurement("vlf_count")?.median;
            Some((count, each.measurement(measure)?.median * 1000.0))
        })
        .collect();
    points.sort_by(|left, right| left.0.total_cmp(&right.0));
    points
}

/// Least squares: `(value at zero, rise per unit)`. None when all points have the same place.
fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (mean_x, mean_y) = (mean(|point| point.0), mean(|point| point.1));
    let square: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    let product: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let rise = (square > 0.0).then(|| product / square)?;
    Some((mean_y - rise * mean_x, rise))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::catalogue;
    use crate::results::ConfigurationResults;

    #[test]
    fn a_line_through_points_known_by_hand() {
        assert_eq!(line(&[(0.0, 1.0), (2.0, 5.0), (4.0, 9.0)]), Some((1.0, 2.0)));
        assert_eq!(line(&[(1.0, 0.0), (2.0, 3.0), (3.0, 0.0)]), Some((1.0, 0.0)));
        assert_eq!(line(&[(3.0, 1.0), (3.0, 2.0)]), None);
        assert_eq!(line(&[]), None);
    }

    #[test]
    fn each_variant_gets_its_slope_and_what_it_adds_to_native() {
        let mut experiment = catalogue::load("recovery").unwrap();
        experiment.slope = vec![crate::experiment::SlopeOf {
            measure: "discovery_s".into(),
            what: "Discovery".into(),
        }];
        let configuration = |base: &str, variant: &str, vlf_count: f64, seconds: f64| {
            let mut found = ConfigurationResults {
                name: format!("{base}-{variant}"),
                base: base.into(),
                ..ConfigurationResults::default()
            };
            found.measure("vlf_count", vlf_count);
            found.measure("discovery_s", seconds);
            found
        };
        let results = Results {
            configurations: vec![
                configuration("bad", "native", 2000.0, 0.3),
                configuration("good", "native", 1000.0, 0.2),
                configuration("bad", "classic", 2000.0, 0.9),
                configuration("good", "classic", 1000.0, 0.6),
            ],
            ..Results::default()
        };
        let found = slopes(&experiment, &results);
        let rounded: Vec<(&str, f64, Option<f64>)> = found
            .iter()
            .map(|slope| {
                let vlfs = slope.vlfs_for_one_second.map(f64::round);
                (slope.variant.as_str(), slope.ms_per_1000_vlfs.round(), vlfs)
            })
            .collect();
        assert_eq!(rounded, [("native", 100.0, None), ("classic", 300.0, Some(5000.0))]);
        assert_eq!(found[0].points, [(1000.0, 200.0), (2000.0, 300.0)]);
    }
}
