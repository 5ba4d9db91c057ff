//! Every figure in long form, for spreadsheets and scripts.
//!
//! ```text
//! experiment,configuration,variant,measurement,unit,run,value
//! recovery,bad,classic,fill_s,s,1,61.2
//! ```
//! Fields follow RFC 4180: quoted where they hold a comma, a quote or an end of line. `run` is a number from 1, or `last` for
//! what is kept of the last run only: waits and latencies.

use super::format::unit_name;
use crate::results::{ConfigurationResults, Results, RunFile};

const HEAD: &str = "experiment,configuration,variant,measurement,unit,run,value\r\n";

/// The results as comma-separated values.
pub fn csv(file: &RunFile) -> String {
    let mut text = String::from(HEAD);
    for results in &file.experiments {
        for configuration in &results.configurations {
            add_configuration(&mut text, results, configuration);
        }
    }
    text
}

fn add_configuration(text: &mut String, results: &Results, configuration: &ConfigurationResults) {
    let mut add = |measurement: &str, unit: &str, run: &str, value: f64| {
        let fields = [
            results.experiment.as_str(),
            &configuration.base,
            configuration.variant(),
            measurement,
            unit,
            run,
        ];
        for each in fields {
            text.push_str(&field(each));
            text.push(',');
        }
        text.push_str(&format!("{value}\r\n"));
    };
    for (name, measurement) in &configuration.measurements {
        for (index, value) in measurement.values.iter().enumerate() {
            add(name, unit_name(name), &(index + 1).to_string(), *value);
        }
    }
    for wait in &configuration.waits {
        let name = format!("wait_time {}", wait.wait_type);
        add(&name, "ms", "last", wait.wait_time_ms as f64);
    }
    for (name, latencies) in &configuration.latencies {
        for (percentile, value) in [
            ("p50", latencies.p50_us),
            ("p95", latencies.p95_us),
            ("p99", latencies.p99_us),
            ("p999", latencies.p999_us),
            ("max", latencies.max_us),
        ] {
            add(&format!("{name} {percentile}"), "us", "last", value);
        }
    }
}

pub(super) fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into()
    }
}
