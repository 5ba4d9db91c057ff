//! Figures and text as the report writes them.
//!
//! A measurement's unit is the end of its name: `_s`, `_ms`, `_us` times, `_bytes`, `_kb`, `_mb` sizes, `_per_s` rates,
//! `_percent` shares, anything else a number.

/// What a measurement's name says about its values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Unit {
    /// A time; so many seconds make one.
    Time(f64),
    /// A size; so many bytes make one.
    Size(f64),
    /// So many in a second.
    Rate,
    /// Of a hundred.
    Percent,
    Number,
}

const KILOBYTE: f64 = 1024.0;
const MEGABYTE: f64 = 1024.0 * KILOBYTE;
const GIGABYTE: f64 = 1024.0 * MEGABYTE;

/// Ends of names, the longer before those they end with; what the unit is called in exported files.
const UNITS: [(&str, Unit, &str); 8] = [
    ("_per_s", Unit::Rate, "per second"),
    ("_s", Unit::Time(1.0), "s"),
    ("_ms", Unit::Time(1e-3), "ms"),
    ("_us", Unit::Time(1e-6), "us"),
    ("_bytes", Unit::Size(1.0), "bytes"),
    ("_kb", Unit::Size(KILOBYTE), "KB"),
    ("_mb", Unit::Size(MEGABYTE), "MB"),
    ("_percent", Unit::Percent, "percent"),
];

/// The unit of a measurement.
pub(crate) fn unit(name: &str) -> Unit {
    let found = UNITS.iter().find(|(end, _, _)| name.ends_with(end));
    found.map_or(Unit::Number, |(_, unit, _)| *unit)
}

/// The unit's name in exported files: `s`, `count`.
pub(super) fn unit_name(name: &str) -> &'static str {
    let found = UNITS.iter().find(|(end, _, _)| name.ends_with(end));
    found.map_or("count", |(_, _, text)| text)
}

/// Text for HTML, in content and in quoted attributes.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

/// At most so many characters, the last of them a sign that there were more.
pub(super) fn shortened(text: &str, characters_max: usize) -> String {
    if text.chars().count() <= characters_max {
        return text.to_string();
    }
    let kept: String = text.chars().take(characters_max.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
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

/// A size in the unit that suits it.
pub(super) fn bytes(value: f64) -> String {
    match value.abs() {
        large if large >= 10.0 * GIGABYTE => format!("{} GB", plain(value / GIGABYTE)),
        middle if middle >= MEGABYTE => format!("{} MB", plain(value / MEGABYTE)),
        small if small >= KILOBYTE => format!("{} KB", plain(value / KILOBYTE)),
        _ => format!("{value:.0} bytes"),
    }
}

/// Two values of a kind, the unit of the first left out where it is the second's.
pub(crate) fn range(name: &str, min: f64, max: f64) -> String {
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

/// A number: whole ones as they are, others with three significant digits.
fn plain(value: f64) -> String {
    if value == value.round() {
        thousands(value)
    } else if value.abs() < 0.01 {
        format!("{value:.5}")
    } else {
        significant(value)
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
pub(crate) fn value(name: &str, value: f64) -> String {
    match (unit(name), value) {
        // Phases are logged in whole milliseconds.
        (Unit::Time(_), 0.0) => "<1 ms".into(),
        (Unit::Time(factor), _) => seconds(value * factor),
        (Unit::Size(factor), _) => bytes(value * factor),
        (Unit::Rate, _) => format!("{} /s", plain(value)),
        (Unit::Percent, _) => format!("{} %", plain(value)),
        (Unit::Number, _) => plain(value),
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

/// Names whose words alone would not tell.
const LABELS: [(&str, &str); 19] = [
    ("vlf_count", "VLFs"),
    ("vlf_count_before", "VLFs before the statements"),
    ("vlf_count_after_doublings", "VLFs after the doublings"),
    ("fill_s", "filling the log"),
    ("growth_s", "growing the log"),
    ("growth_by_hand_s", "growing the log by ALTER DATABASE"),
    ("pregrow_s", "growing the log beforehand"),
    ("reach_s", "filling the log to the published size"),
    (
        "published_volume_s",
        "doublings, and filling the log to the published size",
    ),
    ("write_through_s", "writing log through every VLF"),
    ("log_mb_after_doublings", "size of the log after the doublings"),
    ("log_used_mb", "log written by the doublings"),
    ("data_mb_after_doublings", "size of the data file after the doublings"),
    ("log_backup_pages", "log backed up, pages of 8 KB"),
    ("transactions", "committed updates"),
    ("recovery_s", "recovery, all phases"),
    (
        "rolled_forward",
        "transactions rolled forward since the last checkpoint, by the error log",
    ),
    ("restart_s", "server start to first query"),
    ("elapsed_s", "elapsed"),
];

/// A measurement's name for readers: `discovery_s` is "discovery".
pub(super) fn label(name: &str) -> String {
    if let Some((_, text)) = LABELS.iter().find(|(known, _)| *known == name) {
        return (*text).into();
    }
    let bare = match unit(name) {
        Unit::Rate => name.replace("_per_s", "_per_second"),
        Unit::Number => name.trim_end_matches("_count").to_string(),
        _ => UNITS
            .iter()
            .find_map(|(end, _, _)| name.strip_suffix(end))
            .unwrap_or(name)
            .to_string(),
    };
    let words = bare
        .replace("_ms_per_1000_vlfs", ", ms per 1,000 VLFs")
        .replace('_', " ");
    words
        .split(' ')
        .map(|word| match word {
            "vlf" => "VLF",
            "vlfs" => "VLFs",
            other => other,
        })
        .collect::<Vec<_>>()
        .join(" ")
}

/// `1 run`, `3 runs`.
pub(super) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{} {}", thousands(count as f64), if count == 1 { one } else { many })
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
    fn the_end_of_a_name_is_the_unit() {
        for (name, figure, text) in [
            ("insert_ms", 13_177.0, "13.2 s"),
            ("commit_us", 93.0, "93.0 µs"),
            ("discovery_s", 0.0, "<1 ms"),
            ("log_bytes", 33_554_432.0, "32 MB"),
            ("log_mb", 31_996.0, "31.2 GB"),
            ("updates_per_s", 7_400.0, "7,400 /s"),
            ("share_percent", 72.22, "72.2 %"),
            ("vlf_count", 126_399.0, "126,399"),
            ("discovery_ms_per_1000_vlfs", 0.25, "0.25"),
        ] {
            assert_eq!(value(name, figure), text, "{name}");
        }
    }

    #[test]
    fn names_become_words() {
        for (name, text) in [
            ("vlf_count", "VLFs"),
            ("log_backup_s", "log backup"),
            ("reach_s", "filling the log to the published size"),
            ("log_mb_after_doublings", "size of the log after the doublings"),
            ("updates_per_s", "updates per second"),
            ("discovery_ms_per_1000_vlfs", "discovery, ms per 1,000 VLFs"),
        ] {
            assert_eq!(label(name), text);
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
        assert_eq!(escape("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
    }

    #[test]
    fn long_text_is_cut_at_a_character() {
        assert_eq!(shortened("größer", 6), "größer");
        assert_eq!(shortened("größer", 4), "grö…");
    }
}
