//! Numbers as people paste them: with separators between thousands, with a decimal comma.

/// What stands between thousands: comma, point, apostrophes, and the blanks of other languages.
const GROUPERS: [char; 7] = [',', '.', '\'', '\u{2019}', ' ', '\u{a0}', '\u{202f}'];

/// A whole number: `253952`, `253,952`, `253.952`, `253 952`.
pub(super) fn whole(text: &str) -> Option<u64> {
    let text = text.trim();
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let grouper = text.chars().find(|c| GROUPERS.contains(c))?;
    let mut groups = text.split(grouper);
    let first = groups.next().filter(|group| (1..=3).contains(&group.len()))?;
    let mut digits = first.to_owned();
    for group in groups {
        if group.len() != 3 {
            return None;
        }
        digits.push_str(group);
    }
    let all_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| all_digits)
}

/// A number with two digits behind its point or comma: `1.93`, `1,93`, `1,024.50`, `1.024,50`, `.24`. Where one separator alone stands, it
/// is the decimal one: sizes in MB have few digits behind it, and below 1,000 MB none between thousands.
pub(super) fn decimal(text: &str) -> Option<f64> {
    let text: String = text
        .trim()
        .chars()
        .filter(|c| !matches!(c, ' ' | '\u{a0}' | '\u{202f}' | '\'' | '\u{2019}'))
        .collect();
    let Some(at) = text.rfind([',', '.']) else {
        return text.parse().ok();
    };
    let (before, behind) = (&text[..at], &text[at + 1..]);
    let before: String = before.chars().filter(|c| !matches!(c, ',' | '.')).collect();
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let sound = digits(&before) && digits(behind) && !(before.is_empty() && behind.is_empty());
    format!("0{before}.{behind}0").parse().ok().filter(|_| sound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_of_every_language() {
        for text in [
            "253952",
            "253,952",
            "253.952",
            "253 952",
            "253\u{a0}952",
            "253\u{202f}952",
            "253'952",
            " 253952 ",
        ] {
            assert_eq!(whole(text), Some(253_952), "{text}");
        }
        assert_eq!(whole("1,073,741,824"), Some(1_073_741_824));
        for text in [
            "",
            "x",
            "25,39",
            "1,2345",
            ",253",
            "253,95x",
            "-1",
            "1.5",
            "253,952.123",
        ] {
            assert_eq!(whole(text), None, "{text}");
        }
    }

    #[test]
    fn decimals_of_every_language() {
        for (text, number) in [
            ("1.93", 1.93),
            ("1,93", 1.93),
            (".24", 0.24),
            ("1,024.50", 1024.5),
            ("1.024,50", 1024.5),
            ("1 024,50", 1024.5),
            ("248", 248.0),
            ("0,9375", 0.9375),
        ] {
            assert_eq!(decimal(text), Some(number), "{text}");
        }
        for text in ["", ".", "x", "1.x", "-1.5", "1e3x"] {
            assert_eq!(decimal(text), None, "{text}");
        }
    }
}
