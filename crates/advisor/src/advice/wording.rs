//! Figures and names in the words of findings and scripts.

use crate::size::format_bytes;

/// Names listed at most.
const NAMES_MAX: usize = 20;

/// Names, the first of many.
pub(super) fn listed(names: &[&str]) -> String {
    let shown: Vec<&str> = names.iter().take(NAMES_MAX).copied().collect();
    match names.len().saturating_sub(NAMES_MAX) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// An age or a time to come: `3 s`, `12 min`, `5.2 h`, `3.1 days`.
pub(super) fn duration(seconds: u64) -> String {
    let exact = seconds as f64;
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{:.1} h", exact / 3_600.0),
        _ => format!("{:.1} days", exact / 86_400.0),
    }
}

/// `once`, `3 times`.
pub(super) fn times(count: usize) -> String {
    match count {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    }
}

/// A share as a percentage.
pub(super) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// `2.1 GB (34 % of the log)`.
pub(super) fn held(bytes: u64, log_bytes: u64) -> String {
    match log_bytes {
        0 => format_bytes(bytes),
        _ => format!(
            "{} ({} of the log)",
            format_bytes(bytes),
            percent(bytes as f64 / log_bytes as f64)
        ),
    }
}

/// A name in brackets.
pub(super) fn identifier(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

/// A name as a string.
pub(super) fn literal(name: &str) -> String {
    format!("N'{}'", name.replace('\'', "''"))
}

/// A text that ends no comment line early.
pub(super) fn comment(text: &str) -> String {
    text.replace(['\r', '\n'], " ")
}
