//! Windows code page 1252: the bytes of `char` and `varchar` under SQL_Latin1_General_CP1_CI_AS.
//!
//! A character outside the page is stored as the one that Windows holds for its like (*best fit*: `Ć` as `C`, `ł` as `l`), else as `?`,
//! one for each of its UTF-16 units, as SQL Server does (Unicode, "bestfit1252.txt"; captures of SQL Server 2025). The five
//! bytes the page leaves undefined map to the control character of the same number, so that every byte survives a round trip.

/// The characters of bytes 0x80 to 0x9F; all others are Latin-1.
const HIGH: [char; 32] = [
    '\u{20AC}', '\u{81}', '\u{201A}', '\u{0192}', '\u{201E}', '\u{2026}', '\u{2020}', '\u{2021}', '\u{02C6}',
    '\u{2030}', '\u{0160}', '\u{2039}', '\u{0152}', '\u{8D}', '\u{017D}', '\u{8F}', '\u{90}', '\u{2018}', '\u{2019}',
    '\u{201C}', '\u{201D}', '\u{2022}', '\u{2013}', '\u{2014}', '\u{02DC}', '\u{2122}', '\u{0161}', '\u{203A}',
    '\u{0153}', '\u{9D}', '\u{017E}', '\u{0178}',
];

/// What stands for characters that the page lacks: the first of a run of code points, and the characters for the run. The full-width forms of
/// ASCII (U+FF01 to U+FF5E) stand for themselves.
const BEST_FITS: &[(u32, &str)] = &[
    (0x0100, "AaAaAaCcCcCcCcDdÐdEeEeEeEeEeGgGgGgGgHhHhIiIiIiIiIi"),
    (0x0134, "JjKk"),
    (0x0139, "LlLlLl"),
    (0x0141, "LlNnNnNn"),
    (0x014C, "OoOoOo"),
    (0x0154, "RrRrRrSsSsSs"),
    (0x0162, "TtTtTtUuUuUuUuUuUuWwYy"),
    (0x0179, "ZzZz"),
    (0x0180, "b"),
    (0x0189, "Ð"),
    (0x0191, "ƒ"),
    (0x0197, "I"),
    (0x019A, "l"),
    (0x019F, "OOo"),
    (0x01AB, "t"),
    (0x01AE, "TUu"),
    (0x01B6, "z"),
    (0x01C0, "|"),
    (0x01C3, "!"),
    (0x01CD, "AaIiOoUuUuUuUuUu"),
    (0x01DE, "Aa"),
    (0x01E4, "GgGgKkOoOo"),
    (0x01F0, "j"),
    (0x0261, "g"),
    (0x02B9, "'\""),
    (0x02BC, "'"),
    (0x02C4, "^"),
    (0x02C8, "'¯´`"),
    (0x02CD, "_"),
    (0x02DA, "°"),
    (0x0300, "`´^~¯¯"),
    (0x0308, "¨"),
    (0x030A, "°"),
    (0x030E, "\""),
    (0x0327, "¸"),
    (0x0331, "__"),
    (0x037E, ";"),
    (0x0393, "G"),
    (0x0398, "T"),
    (0x03A3, "S"),
    (0x03A6, "F"),
    (0x03A9, "O"),
    (0x03B1, "a"),
    (0x03B4, "de"),
    (0x03BC, "µ"),
    (0x03C0, "p"),
    (0x03C3, "st"),
    (0x03C6, "f"),
    (0x04BB, "h"),
    (0x0589, ":"),
    (0x066A, "%"),
    (0x2000, "       "),
    (0x2010, "--"),
    (0x2017, "="),
    (0x2024, "·"),
    (0x2032, "'"),
    (0x2035, "`"),
    (0x2044, "/"),
    (0x2070, "°"),
    (0x2074, "45678"),
    (0x207F, "n0123456789"),
    (0x20A1, "¢"),
    (0x20A4, "£"),
    (0x20A7, "P"),
    (0x2102, "C"),
    (0x2107, "E"),
    (0x210A, "gHHHh"),
    (0x2110, "IILl"),
    (0x2115, "N"),
    (0x2118, "PPQRRR"),
    (0x2124, "Z"),
    (0x2128, "Z"),
    (0x212A, "KÅBCeeEF"),
    (0x2133, "Mo"),
    (0x2205, "Ø"),
    (0x2212, "-±"),
    (0x2215, "/\\*°·v"),
    (0x221E, "8"),
    (0x2223, "|"),
    (0x2229, "n"),
    (0x2236, ":"),
    (0x223C, "~"),
    (0x2248, "˜"),
    (0x2261, "="),
    (0x2264, "=="),
    (0x226A, "«»"),
    (0x22C5, "·"),
    (0x2302, "¦^"),
    (0x2310, "¬"),
    (0x2320, "()"),
    (0x2329, "<>"),
    (0x2500, "-"),
    (0x2502, "¦"),
    (0x250C, "+"),
    (0x2510, "+"),
    (0x2514, "+"),
    (0x2518, "+"),
    (0x251C, "+"),
    (0x2524, "¦"),
    (0x252C, "-"),
    (0x2534, "-"),
    (0x253C, "+"),
    (0x2550, "-¦++++++++++++¦¦¦¦¦¦------+++"),
    (0x2580, "¯"),
    (0x2584, "_"),
    (0x2588, "¦"),
    (0x258C, "¦"),
    (0x2590, "¦¦¦¦"),
    (0x25A0, "¦"),
    (0x263C, "¤"),
    (0x2758, "|"),
    (0x3000, " "),
    (0x3008, "<>«»"),
    (0x301A, "[]"),
    (0x30FB, "·"),
];

/// The character of the page that stands for one that it lacks.
pub fn best_fit(character: char) -> Option<char> {
    let code = u32::from(character);
    if (0xFF01..=0xFF5E).contains(&code) {
        return char::from_u32(code - 0xFF01 + 0x21);
    }
    let run = BEST_FITS.partition_point(|(first, _)| *first <= code).checked_sub(1)?;
    let (first, fits) = BEST_FITS.get(run)?;
    fits.chars().nth((code - first) as usize)
}

/// A text with what the page has for each of its characters.
pub fn fitted(text: &str) -> String {
    let mut fitted = String::with_capacity(text.len());
    for character in text.chars() {
        match encode_char(character) {
            Some(_) => fitted.push(character),
            None => match best_fit(character) {
                Some(fit) => fitted.push(fit),
                None => fitted.extend(std::iter::repeat_n('?', character.len_utf16())),
            },
        }
    }
    fitted
}

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

/// The byte of a character, of what stands for it, or of `?`.
pub fn encode_nearest(character: char) -> u8 {
    let fit = || best_fit(character).and_then(encode_char);
    encode_char(character).or_else(fit).unwrap_or(b'?')
}

/// Whether the code page has every character of a string.
pub fn holds(text: &str) -> bool {
    text.is_ascii() || text.chars().all(|character| encode_char(character).is_some())
}

/// Appends the bytes of a string, one for each character; see [`best_fit`] for those outside the page.
pub fn encode_into(text: &str, output: &mut Vec<u8>) {
    if text.is_ascii() {
        output.extend_from_slice(text.as_bytes());
    } else {
        output.extend(text.chars().map(encode_nearest));
    }
}

/// Decodes bytes into a string. Pure ASCII, the common case, is one check and one copy.
pub fn decode(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if bytes.is_ascii() => text.to_owned(),
        _ => bytes.iter().map(|&byte| decode_byte(byte)).collect(),
    }
}

/// Bytes that [`decode`] makes of these.
pub fn decoded_bytes(bytes: &[u8]) -> usize {
    match bytes.is_ascii() {
        true => bytes.len(),
        false => bytes.iter().map(|&byte| decode_byte(byte).len_utf8()).sum(),
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
    fn what_the_page_lacks_becomes_what_windows_holds_for_its_like() {
        assert_eq!(fitted("Ćłódź ＡＢ ∞ 漢 😀"), "Clódz AB 8 ? ??");
        for (first, fits) in BEST_FITS {
            for (offset, fit) in fits.chars().enumerate() {
                let own = char::from_u32(first + offset as u32).unwrap();
                assert_eq!(encode_char(own), None, "{own} is in the page");
                assert!(encode_char(fit).is_some(), "{fit} is not");
                assert_eq!(best_fit(own), Some(fit));
            }
        }
        assert!(BEST_FITS.is_sorted_by_key(|(first, _)| *first));
        assert_eq!(best_fit('漢'), None);
    }

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
