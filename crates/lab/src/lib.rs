//! Experiments, measurement, results and report.
