//! Sizes and growth settings as a DBA writes and reads them: `8MB`, `1.5 GB`, `10%`.
//!
//! A number without a unit counts megabytes, as `SIZE = 8` does in T-SQL. Units are binary: 1 MB = 1,048,576 bytes.

use std::fmt;
use std::str::FromStr;

/// 1024 bytes.
pub const KB: u64 = 1024;
pub const MB: u64 = 1024 * KB;
pub const GB: u64 = 1024 * MB;
const TB: u64 = 1024 * GB;

/// A text that is not a size or growth setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeError {
    text: String,
    expected: &'static str,
}

impl fmt::Display for SizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is not {}", self.text, self.expected)
    }
}

impl std::error::Error for SizeError {}

/// Reads a size in bytes: a number, fractions allowed, and `B`, `KB`, `MB`, `GB` or `TB` (also `K`, `M`, `G`, `T`).
///
/// # Errors
/// No number, another unit, a fraction of a byte, or more than 64 bits hold.
pub fn parse_bytes(text: &str) -> Result<u64, SizeError> {
    let error = || SizeError {
        text: text.to_owned(),
        expected: "a size of whole bytes; write 504KB, 8MB, 1.5GB or 2TB, with a decimal point (a bare number counts MB)",
    };
    let compact: String = text.chars().filter(|c| !c.is_whitespace() && *c != '_').collect();
    let unit_start = compact
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(compact.len());
    let (number, unit) = compact.split_at(unit_start);
    let unit_bytes = match unit.to_ascii_uppercase().as_str() {
        "B" | "BYTES" => 1,
        "K" | "KB" => KB,
        "" | "M" | "MB" => MB,
        "G" | "GB" => GB,
        "T" | "TB" => TB,
        _ => return Err(error()),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || fraction.len() > 12 {
        return Err(error());
    }
    let too_large = || SizeError {
        text: text.to_owned(),
        expected: "a size that a log file can have: it ends at 2TB",
    };
    if !whole.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(error());
    }
    let whole: u64 = whole.parse().map_err(|_| too_large())?;
    let bytes = whole.checked_mul(unit_bytes).ok_or_else(too_large)?;
    if fraction.is_empty() {
        return Ok(bytes);
    }
    let numerator: u64 = fraction.parse().map_err(|_| error())?;
    let denominator = 10u128.pow(u32::try_from(fraction.len()).unwrap_or(u32::MAX));
    let product = u128::from(numerator) * u128::from(unit_bytes);
    if product % denominator != 0 {
        return Err(error());
    }
    let part = u64::try_from(product / denominator).map_err(|_| error())?;
    bytes.checked_add(part).ok_or_else(error)
}

/// Shows a size in the largest unit that keeps it short: `8 MB`, `504 KB`, `1.94 MB`, `64 GB`.
pub fn format_bytes(bytes: u64) -> String {
    let (unit_bytes, unit) = match bytes {
        0..=0xF_FFFF => (KB, "KB"),
        0x10_0000..0x4000_0000 => (MB, "MB"),
        _ if bytes.is_multiple_of(GB) || bytes >= 1000 * GB => (GB, "GB"),
        _ if bytes.is_multiple_of(MB) => (MB, "MB"),
        _ => (GB, "GB"),
    };
    if bytes < KB {
        return format!("{bytes} B");
    }
    if bytes.is_multiple_of(unit_bytes) {
        return format!("{} {unit}", group_digits(bytes / unit_bytes));
    }
    format!("{:.2} {unit}", bytes as f64 / unit_bytes as f64)
}

/// Shows sizes that stand below each other in one unit: that of the smallest, but at least MB beside sizes of 100 MB and more,
/// and with two digits behind the point where one of them needs them.
pub fn format_column(sizes: &[u64]) -> Vec<String> {
    let smallest = sizes.iter().copied().filter(|bytes| *bytes > 0).min().unwrap_or(0);
    let largest = sizes.iter().copied().max().unwrap_or(0);
    let (unit_bytes, unit) = match smallest {
        GB.. if sizes.iter().all(|bytes| bytes.is_multiple_of(GB)) => (GB, "GB"),
        MB.. => (MB, "MB"),
        _ if largest >= 100 * MB => (MB, "MB"),
        _ => (KB, "KB"),
    };
    let whole = sizes.iter().all(|bytes| bytes.is_multiple_of(unit_bytes));
    let show = |bytes: &u64| {
        if whole {
            return format!("{} {unit}", group_digits(bytes / unit_bytes));
        }
        let hundredths = (bytes % unit_bytes * 100 + unit_bytes / 2) / unit_bytes;
        let (units, hundredths) = (bytes / unit_bytes + hundredths / 100, hundredths % 100);
        format!("{}.{hundredths:02} {unit}", group_digits(units))
    };
    sizes.iter().map(show).collect()
}

/// A count with commas between its thousands.
pub fn group_digits(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `FILEGROWTH`: by a fixed size or by a percentage of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// So many bytes each time.
    Bytes(u64),
    /// So many percent of the file's size each time.
    Percent(u32),
}

impl fmt::Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Growth::Bytes(bytes) => f.write_str(&format_bytes(*bytes)),
            Growth::Percent(percent) => write!(f, "{percent} %"),
        }
    }
}

impl FromStr for Growth {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Growth, SizeError> {
        let Some(number) = text.trim().strip_suffix('%') else {
            return parse_bytes(text).map(Growth::Bytes);
        };
        number.trim().parse().map(Growth::Percent).map_err(|_| SizeError {
            text: text.to_owned(),
            expected: "a percentage; write 10%",
        })
    }
}

/// Growths one after the other, as an option lists them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrowthList(pub Vec<Growth>);

impl FromStr for GrowthList {
    type Err = SizeError;

    /// `8000MB,8000MB,10%`. Where one has a unit, all have: `1,5GB` is taken for no two growths of 1 MB and 5 GB.
    fn from_str(text: &str) -> Result<GrowthList, SizeError> {
        let parts: Vec<&str> = text.split(',').collect();
        let has_unit = |part: &&&str| part.trim().ends_with(|c: char| !c.is_ascii_digit());
        let with_unit = parts.iter().filter(has_unit).count();
        if with_unit > 0 && with_unit < parts.len() {
            return Err(SizeError {
                text: text.to_owned(),
                expected: "a list of growths that all have a unit; write 1MB,5GB for two, 1.5GB for one",
            });
        }
        parts
            .into_iter()
            .map(str::parse)
            .collect::<Result<_, _>>()
            .map(GrowthList)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn sizes_are_read_in_every_unit() {
        let table = [
            ("8MB", 8 * MB),
            ("8", 8 * MB),
            (" 8 mb ", 8 * MB),
            ("504KB", 516_096),
            ("1.5GB", 1536 * MB),
            ("0.5MB", 524_288),
            ("2TB", 2048 * GB),
            ("516096B", 516_096),
            ("64g", 64 * GB),
        ];
        for (text, bytes) in table {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        for text in ["", "MB", "-8MB", "8XB", "1.3KB", "1,5GB", "1.2.3MB", ".5MB"] {
            assert!(parse_bytes(text).unwrap_err().to_string().contains("504KB"), "{text}");
        }
        for text in ["99999999999999999999", "99999999999TB"] {
            assert!(
                parse_bytes(text).unwrap_err().to_string().contains("ends at 2TB"),
                "{text}"
            );
        }
    }

    #[test]
    fn growth_is_a_size_or_a_percentage() {
        assert_eq!("10%".parse(), Ok(Growth::Percent(10)));
        assert_eq!("10 %".parse(), Ok(Growth::Percent(10)));
        assert_eq!("64MB".parse(), Ok(Growth::Bytes(64 * MB)));
        assert!("x%".parse::<Growth>().is_err());
        assert_eq!(Growth::Percent(10).to_string(), "10 %");
    }

    #[test]
    fn a_decimal_comma_makes_no_list() {
        let list = |text: &str| text.parse::<GrowthList>();
        let two = GrowthList(vec![Growth::Bytes(MB), Growth::Bytes(5 * GB)]);
        assert_eq!(list("1MB,5GB"), Ok(two));
        assert_eq!(
            list("1,5"),
            Ok(GrowthList(vec![Growth::Bytes(MB), Growth::Bytes(5 * MB)]))
        );
        assert_eq!(list("10%"), Ok(GrowthList(vec![Growth::Percent(10)])));
        assert!(list("1,5GB").unwrap_err().to_string().contains("1.5GB for one"));
        assert!(list("8MB,").is_err() && list("").is_err());
    }

    #[test]
    fn sizes_are_shown_short() {
        let table = [
            (100, "100 B"),
            (516_096, "504 KB"),
            (8 * MB, "8 MB"),
            (2_031_616, "1.94 MB"),
            (64 * GB, "64 GB"),
            (65_544 * MB, "65,544 MB"),
            (5 * GB + 8192, "5.00 GB"),
        ];
        for (bytes, text) in table {
            assert_eq!(format_bytes(bytes), text);
        }
        assert_eq!(group_digits(126_399), "126,399");
        assert_eq!(group_digits(1), "1");
    }

    #[test]
    fn a_column_has_one_unit() {
        let column = |sizes: &[u64]| format_column(sizes).join(" | ");
        assert_eq!(column(&[MB, 8 * MB, 64 * GB]), "1 MB | 8 MB | 65,536 MB");
        assert_eq!(column(&[504 * KB, 2 * MB]), "504 KB | 2,048 KB");
        assert_eq!(column(&[504 * KB, 64 * GB]), "0.49 MB | 65,536.00 MB");
        assert_eq!(column(&[2_031_616, 500 * MB]), "1.94 MB | 500.00 MB");
        assert_eq!(column(&[2 * MB - 1]), "2.00 MB");
        assert_eq!(column(&[2 * GB, 8 * GB]), "2 GB | 8 GB");
        assert_eq!(column(&[0, 8 * MB]), "0 MB | 8 MB");
        assert_eq!(column(&[]), "");
    }
}
