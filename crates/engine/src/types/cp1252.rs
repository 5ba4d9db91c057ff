//! Windows code page 1252: the bytes of `char` and `varchar` under SQL_Latin1_General_CP1_CI_AS.
//!
//! A character outside the page is stored as `?`, as SQL Server does. The five bytes the page leaves undefined map to the
//! control character of the same number, so that every byte survives a round trip.

/// The characters of bytes 0x80 to 0x9F; all others are Latin-1.
const HIGH: [char; 32] = [
    '\u{20AC}', '\u{81}', '\u{201A}', '\u{0192}', '\u{201E}', '\u{2026}', '\u{2020}', '\u{2021}', '\u{02C6}',
    '\u{2030}', '\u{0160}', '\u{2039}', '\u{0152}', '\u{8D}', '\u{017D}', '\u{8F}', '\u{90}', '\u{2018}', '\u{2019}',
    '\u{201C}', '\u{201D}', '\u{2022}', '\u{2013}', '\u{2014}', '\u{02DC}', '\u{2122}', '\u{0161}', '\u{203A}',
    '\u{0153}', '\u{9D}', '\u{017E}', '\u{0178}',
];

/// The character of one byte.
pub fn decode_byte(byte: u8) -> char {
    match byte {
        0x80..=0x9F => HIGH[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

/// The byte of one character, or `None` when the code page has none.
pub fn encode_char(character: char) -> Option<u8> {
    let code = u32::from(character);
    match code {
        0..=0x7F | 0xA0..=0xFF => u8::try_from(code).ok(),
        _ => HIGH
            .iter()
            .position(|&high| high == character)
            .and_then(|index| u8::try_from(index + 0x80).ok()),
    }
}

/// Whether the code page has every character of a string.
pub fn holds(text: &str) -> bool {
    text.is_ascii() || text.chars().all(|character| encode_char(character).is_some())
}

/// Appends the bytes of a string; characters outside the page become `?`.
pub fn encode_into(text: &str, output: &mut Vec<u8>) {
    if text.is_ascii() {
        output.extend_from_slice(text.as_bytes());
    } else {
        output.extend(text.chars().map(|character| encode_char(character).unwrap_or(b'?')));
    }
}

/// Decodes bytes into a string. Pure ASCII, the common case, is one check and one copy.
pub fn decode(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if bytes.is_ascii() => text.to_owned(),
        _ => bytes.iter().map(|&byte| decode_byte(byte)).collect(),
    }
}

/// Length in bytes that [`encode_into`] would append: one per character.
pub fn encoded_bytes(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.chars().count()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_byte_survives_a_round_trip() {
        for byte in 0..=255u8 {
            assert_eq!(encode_char(decode_byte(byte)), Some(byte));
        }
        let mut output = Vec::new();
        encode_into("€ grüß 漢", &mut output);
        assert_eq!(output, b"\x80 gr\xFC\xDF ?");
        assert_eq!(decode(&output), "€ grüß ?");
    }
}
