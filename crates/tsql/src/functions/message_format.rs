//! The placeholders of RAISERROR and FORMATMESSAGE: `%d`, `%s`, `%x`, `%o`, `%u`, with flags, width and precision as C has
//! them.

use engine::error::Result;
use engine::types::{Length, SqlType, Value};

use super::Answer::Fixed;
use super::Parameter::{Any, Text};
use super::{Call, Signature, variadic};

pub(super) const FUNCTIONS: &[Signature] = &[variadic(
    "formatmessage",
    1,
    &[Text, Any],
    Fixed(SqlType::NVarChar(Length::Limited(2048))),
    formatmessage,
)
.told("message, argument: a message's text with its arguments put in")];

fn formatmessage(call: &Call<'_>) -> Result<Value> {
    let Some(text) = call.text(0) else {
        return Ok(Value::Null);
    };
    let arguments = call.values.get(1..).unwrap_or_default();
    Ok(Value::from(format_message(text, arguments)))
}

/// Puts arguments in the place of placeholders; a missing argument is shown as `(null)`.
pub(crate) fn format_message(text: &str, arguments: &[Value]) -> String {
    let mut result = String::with_capacity(text.len());
    let mut arguments = arguments.iter();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if character != '%' {
            result.push(character);
            continue;
        }
        if characters.peek() == Some(&'%') {
            characters.next();
            result.push('%');
            continue;
        }
        let mut specification = String::new();
        while let Some(next) = characters
            .peek()
            .copied()
            .filter(|next| "-+0# .*123456789".contains(*next))
        {
            characters.next();
            if next == '*' {
                let width = arguments.next().and_then(Value::as_i64).unwrap_or(0);
                specification.push_str(&width.to_string());
            } else {
                specification.push(next);
            }
        }
        while characters
            .peek()
            .is_some_and(|next| matches!(next, 'l' | 'h' | 'I' | '6' | '4'))
        {
            characters.next();
        }
        match characters.next() {
            Some(kind) => result.push_str(&one(kind, &specification, arguments.next())),
            None => result.push('%'),
        }
    }
    result
}

fn one(kind: char, specification: &str, argument: Option<&Value>) -> String {
    let flags: String = specification
        .chars()
        .take_while(|character| "-+0# ".contains(*character))
        .collect();
    let rest = &specification[flags.len()..];
    let (width, precision) = rest
        .split_once('.')
        .map_or((rest, None), |(width, precision)| (width, precision.parse().ok()));
    let width: usize = width.parse().unwrap_or(0);
    let precision: Option<usize> = precision;
    let number = argument.and_then(Value::as_i64);
    let text = match (kind, number) {
        ('d' | 'i', Some(number)) if flags.contains('+') && number >= 0 => format!("+{number}"),
        ('d' | 'i', Some(number)) => number.to_string(),
        ('u', Some(number)) => (number as u32).to_string(),
        ('x', Some(number)) => format!("{:x}", number as u32),
        ('X', Some(number)) => format!("{:X}", number as u32),
        ('o', Some(number)) => format!("{:o}", number as u32),
        ('s' | 'S', _) => {
            let text = argument.map_or("(null)", |value| value.as_str().unwrap_or("(null)"));
            text.chars().take(precision.unwrap_or(usize::MAX)).collect()
        }
        _ => "(null)".to_owned(),
    };
    let missing = width.min(1000).saturating_sub(text.chars().count());
    if flags.contains('-') {
        format!("{text}{}", " ".repeat(missing))
    } else if flags.contains('0') && kind != 's' {
        format!("{}{text}", "0".repeat(missing))
    } else {
        format!("{}{text}", " ".repeat(missing))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn placeholders_are_filled_as_printf_fills_them() {
        let cases = [
            ("%d of %s", vec![Value::Int(3), "x".into()], "3 of x"),
            (
                "[%5d][%-5d][%05d]",
                vec![Value::Int(7), Value::Int(7), Value::Int(7)],
                "[    7][7    ][00007]",
            ),
            ("100%% %.2s", vec!["abc".into()], "100% ab"),
            (
                "%x %X %o",
                vec![Value::Int(255), Value::Int(255), Value::Int(8)],
                "ff FF 10",
            ),
            ("%*d", vec![Value::Int(4), Value::Int(1)], "   1"),
            ("%s", vec![], "(null)"),
            ("%I64d", vec![Value::BigInt(5)], "5"),
        ];
        for (text, arguments, expected) in cases {
            assert_eq!(format_message(text, &arguments), expected, "{text}");
        }
    }
}
