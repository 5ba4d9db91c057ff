//! Numbers and text: how numbers are written, and what text counts as a number.

use engine::types::{Decimal, POWERS_OF_TEN};

/// Text as a whole number: blanks around, one sign, digits; empty text is zero. `None` when it is none; `Some(None)` when it
/// is one, but beyond 38 digits.
pub fn parse_integer(text: &str) -> Option<Option<i128>> {
    let text = text.trim();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest.trim_start()),
        None => (false, text.strip_prefix('+').map_or(text, str::trim_start)),
    };
    if digits.is_empty() {
        return text.is_empty().then_some(Some(0));
    }
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let magnitude: Option<i128> = digits.parse().ok();
    Some(magnitude.map(|magnitude| if negative { -magnitude } else { magnitude }))
}

/// Text as an exact number, with as many digits after the point as are written. `Err(true)` on overflow, `Err(false)` when it
/// is not a number.
pub fn parse_decimal(text: &str) -> Result<Decimal, bool> {
    let text = text.trim();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit());
    if !all_digits || whole.is_empty() && fraction.is_empty() {
        return Err(false);
    }
    let fraction = fraction.get(..fraction.len().min(38)).unwrap_or("");
    let mut coefficient = 0i128;
    let mut scale = 0u8;
    for byte in whole.bytes() {
        coefficient = push_digit(coefficient, byte).ok_or(true)?;
    }
    // Digits that no longer fit are dropped from the fraction's end.
    for byte in fraction.bytes() {
        match push_digit(coefficient, byte) {
            Some(next) => coefficient = next,
            None => break,
        }
        scale += 1;
    }
    Ok(Decimal::new(
        if negative { -coefficient } else { coefficient },
        38,
        scale,
    ))
}

fn push_digit(coefficient: i128, byte: u8) -> Option<i128> {
    let next = coefficient.checked_mul(10)?.checked_add(i128::from(byte - b'0'))?;
    (next < POWERS_OF_TEN[38]).then_some(next)
}

/// Text as money in ten-thousandths: a currency sign and thousands separators are allowed; empty text is zero.
pub fn parse_money(text: &str) -> Result<i128, bool> {
    let text = text.trim();
    // One sign, on either side of the currency's.
    let (before, rest) = signed(text);
    let (after, rest) = match rest.trim_start().strip_prefix(is_currency_sign) {
        Some(rest) if before.is_none() => signed(rest.trim_start()),
        Some(rest) => (None, rest.trim_start()),
        None => (None, rest.trim_start()),
    };
    let negative = before.or(after).unwrap_or(false);
    if rest.is_empty() {
        return Ok(0);
    }
    let plain: String = rest.chars().filter(|&character| character != ',').collect();
    if plain.is_empty() || plain == "." {
        return Ok(0);
    }
    if plain.starts_with(['+', '-']) {
        return Err(false);
    }
    let number = parse_decimal(&plain)?.rescaled(38, 4).ok_or(true)?.coefficient();
    Ok(if negative { -number } else { number })
}

/// Whether a text begins with a sign, and with which; and what stands behind it.
fn signed(text: &str) -> (Option<bool>, &str) {
    match (text.strip_prefix('-'), text.strip_prefix('+')) {
        (Some(rest), _) => (Some(true), rest),
        (_, Some(rest)) => (Some(false), rest),
        (None, None) => (None, text),
    }
}

/// The signs that money may have in front (sql-docs, "money and smallmoney"). The backslash is the yen of code page 932.
fn is_currency_sign(character: char) -> bool {
    matches!(
        character,
        '$' | '\\' | '¢' | '£' | '¤' | '¥' | '৲' | '৳' | '฿' | '៛' | '₠'
            ..='₱' | '﷼' | '﹩' | '＄' | '￠' | '￡' | '￥' | '￦'
    )
}

/// Whether a text is a number for ISNUMERIC: whether it converts to a whole number, to float, to decimal or to money
/// (sql-docs, "ISNUMERIC"). That makes a sign, a point, a comma or a currency sign alone a number, and a tab.
pub fn is_numeric_text(text: &str) -> bool {
    let text = text.trim_end_matches(' ');
    let rest = text.trim_start_matches(|character: char| {
        character == '\u{A0}' || character.is_ascii_whitespace() || character == '\u{B}'
    });
    if rest.is_empty() {
        return !text.trim_start_matches(' ').is_empty();
    }
    parse_float(rest).is_some() || parse_money(rest) != Err(false)
}

/// Text as a floating point number; empty text is zero.
pub fn parse_float(text: &str) -> Option<f64> {
    let text = text.trim();
    if text.is_empty() {
        return Some(0.0);
    }
    let plain = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E' | b'd' | b'D'));
    let number: f64 = match plain {
        true => text.replace(['d', 'D'], "e").parse().ok()?,
        false => return None,
    };
    number.is_finite().then_some(number)
}

/// A floating point number in the fixed scientific form of styles 1, 2 and 3.
pub fn format_scientific(number: f64, fraction_digits: usize) -> String {
    let scientific = format!("{number:.fraction_digits$e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:03}", exponent.unsigned_abs())
}

/// Money as text: style 0 two digits, 1 two digits and thousands separators, 2 four digits (SQL Server docs).
pub fn format_money(ten_thousandths: i64, style: i32) -> String {
    let sign = if ten_thousandths < 0 { "-" } else { "" };
    let magnitude = ten_thousandths.unsigned_abs();
    if style == 2 {
        return format!("{sign}{}.{:04}", magnitude / 10_000, magnitude % 10_000);
    }
    let cents = (magnitude + 50) / 100;
    let whole = cents / 100;
    let whole = if style == 1 {
        group_thousands(&whole.to_string())
    } else {
        whole.to_string()
    };
    format!("{sign}{whole}.{:02}", cents % 100)
}

/// Digits with a comma after every third from the right.
pub fn group_thousands(digits: &str) -> String {
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A floating point number as an exact one of its first 17 digits; digits beyond are zeros (sql-docs, "float and real":
/// conversion to decimal is "restricted to values of precision 17 digits only"). `None` beyond 38 digits.
pub fn float_to_decimal(number: f64) -> Option<Decimal> {
    let scientific = format!("{number:.16e}");
    let (mantissa, exponent) = scientific.split_once('e')?;
    let digits: i128 = mantissa.replace('.', "").parse().ok()?;
    let scale = 16 - exponent.parse::<i32>().ok()?;
    if scale < 0 {
        let power = POWERS_OF_TEN.get(usize::try_from(-scale).ok()?)?;
        return digits
            .checked_mul(*power)
            .filter(|&number| Decimal::fits(number, 38))
            .map(|number| Decimal::new(number, 38, 0));
    }
    // Below 10^-38 nothing is left; digits behind the 38th place are cut off before the caller rounds.
    let excess = usize::try_from(scale - 38).unwrap_or(0);
    let digits = POWERS_OF_TEN.get(excess).map_or(0, |power| digits / power);
    Some(Decimal::new(digits, 38, u8::try_from(scale.min(38)).unwrap_or(38)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// sql-docs, "ISNUMERIC": 1 where the text is valid as int, float, decimal or money, "for some characters that aren't
    /// numbers, such as plus (+), minus (-), and valid currency symbols such as the dollar sign ($)" too.
    #[test]
    fn what_isnumeric_takes() {
        for text in [
            "1", "-1.5", "1e5", "1d5", "$", "+", "-", ".", ",", "\\", "€1", "1,2,3", "$-1", " 1 ", "\t", "1.e5", "-$1",
            "+$1.12", "$+1.12", "+1", "+ $ 1", "- 1",
        ] {
            assert!(is_numeric_text(text), "{text:?}");
        }
        for text in [
            "", " ", "a", "0x1", "1 2", "e5", "1e", "--1", "(1)", "1.2.3", "inf", "nan", "+-1", "-$-1", "+$+1", "$$1",
            "1$",
        ] {
            assert!(!is_numeric_text(text), "{text:?}");
        }
    }

    #[test]
    fn floats_become_decimals_of_seventeen_digits() {
        let cases = [
            (std::f64::consts::PI, 20, "3.14159265358979310000"),
            (0.1, 18, "0.100000000000000010"),
            (1e22, 0, "10000000000000000000000"),
            (1.005, 2, "1.00"),
            (-2.5, 0, "-3"),
            (1e-40, 10, "0.0000000000"),
        ];
        for (number, scale, text) in cases {
            let found = float_to_decimal(number).unwrap().rescaled(38, scale).unwrap();
            assert_eq!(found.to_string(), text);
        }
        assert_eq!(float_to_decimal(1e39), None);
    }

    #[test]
    fn scientific_numbers_have_three_digits_of_exponent() {
        assert_eq!(format_scientific(1.5, 15), "1.500000000000000e+000");
    }

    #[test]
    fn money_and_numbers_are_read() {
        assert_eq!(parse_money("$1,234.5"), Ok(12_345_000));
        assert_eq!(parse_money("-$0.00005"), Ok(-1));
        assert_eq!(parse_money("abc"), Err(false));
        assert_eq!(format_money(12_345_678, 1), "1,234.57");
        assert_eq!(format_money(-5, 2), "-0.0005");
        assert_eq!(parse_integer(" -12 "), Some(Some(-12)));
        assert_eq!(parse_integer("1.5"), None);
        assert_eq!(parse_integer(""), Some(Some(0)));
        assert_eq!(parse_integer(&"9".repeat(60)), Some(None));
        assert_eq!(parse_decimal("-.5").unwrap().to_string(), "-0.5");
        assert_eq!(parse_decimal("."), Err(false));
        assert_eq!(parse_decimal(&"9".repeat(39)), Err(true));
        assert_eq!(parse_float("1e400"), None);
    }
}
