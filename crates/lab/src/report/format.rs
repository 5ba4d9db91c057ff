//! Figures and text as the report writes them.

/// Text for HTML, in content and in quoted attributes.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            other => out.push(other),
        }
    }
    out
}

/// A time in the unit that suits it, three significant digits.
pub(super) fn seconds(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        small if small < 0.001 => format!("{} µs", significant(value * 1e6)),
        small if small < 1.0 => format!("{} ms", significant(value * 1e3)),
        _ => format!("{} s", significant(value)),
    }
}

/// Two values of a kind, the unit of the first left out where it is the second's.
pub(super) fn range(name: &str, min: f64, max: f64) -> String {
    let (min, max) = (value(name, min), value(name, max));
    match (min.split_once(' '), max.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number}–{max}"),
        _ => format!("{min}–{max}"),
    }
}

/// Three significant digits, thousands separated.
fn significant(value: f64) -> String {
    match value.abs() {
        large if large >= 99.95 => thousands(value.round()),
        middle if middle >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// A whole number with its thousands separated by commas.
pub(super) fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    if value < 0.0 { format!("-{out}") } else { out }
}

/// A value in the unit its name ends with.
pub(super) fn value(name: &str, value_: f64) -> String {
    match (name.ends_with("_s"), value_) {
        // Phases are logged in whole milliseconds.
        (true, 0.0) => "<1 ms".into(),
        (true, _) => seconds(value_),
        (false, _) => thousands(value_),
    }
}

/// A ratio: `17`, `2.4`, `0.98`.
pub(super) fn ratio(value: f64) -> String {
    match value {
        large if large >= 99.5 => thousands(large),
        middle if middle >= 9.95 => format!("{middle:.0}"),
        small if small >= 1.95 => format!("{small:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// A measurement's name for readers: `discovery_s` is "discovery".
pub(super) fn label(name: &str) -> String {
    match name {
        "vlf_count" => "VLFs".into(),
        "fill_s" => "filling the log".into(),
        "transactions" => "committed updates".into(),
        "recovery_s" => "recovery, all phases".into(),
        "rolled_forward" => "transactions rolled forward, by the error log".into(),
        "restart_s" => "server start to first query".into(),
        other => other.trim_end_matches("_s").replace('_', " "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_take_the_unit_that_suits_them() {
        for (value, text) in [
            (0.0, "0"),
            (0.000_012_3, "12.3 µs"),
            (0.004_2, "4.20 ms"),
            (0.291, "291 ms"),
            (6.35, "6.35 s"),
            (106.31, "106 s"),
            (5_613.0, "5,613 s"),
        ] {
            assert_eq!(seconds(value), text);
        }
    }

    #[test]
    fn thousands_are_separated() {
        for (value, text) in [
            (0.0, "0"),
            (999.0, "999"),
            (20_480.0, "20,480"),
            (-1_234_567.0, "-1,234,567"),
        ] {
            assert_eq!(thousands(value), text);
        }
    }

    #[test]
    fn markup_in_text_stays_text() {
        assert_eq!(escape("<a href=\"x\">&"), "&lt;a href=&quot;x&quot;&gt;&amp;");
    }
}
