//! Code page 1252, the one of SQL_Latin1_General_CP1_CI_AS: text between Rust and varchar bytes.
//!
//! Bytes 00-7F and A0-FF are their own code points; 80-9F are the table below (five of them are
//! unassigned and map to the C1 control of the same number, as Windows' best fit does).

const HIGH_CONTROLS: [char; 32] = [
    '\u{20AC}', '\u{81}', '\u{201A}', '\u{192}', '\u{201E}', '\u{2026}', '\u{2020}', '\u{2021}', '\u{2C6}', '\u{2030}',
    '\u{160}', '\u{2039}', '\u{152}', '\u{8D}', '\u{17D}', '\u{8F}', '\u{90}', '\u{2018}', '\u{2019}', '\u{201C}',
    '\u{201D}', '\u{2022}', '\u{2013}', '\u{2014}', '\u{2DC}', '\u{2122}', '\u{161}', '\u{203A}', '\u{153}', '\u{9D}',
    '\u{17E}', '\u{178}',
];

/// One byte of code page 1252 as a character.
pub fn decode_byte(byte: u8) -> char {
    match byte {
        0x80..=0x9F => HIGH_CONTROLS[usize::from(byte - 0x80)],
        other => char::from(other),
    }
}

/// One character as a byte, or None when the code page does not have it.
pub fn encode_char(character: char) -> Option<u8> {
    match u32::from(character) {
        code @ (0..=0x7F | 0xA0..=0xFF) => u8::try_from(code).ok(),
        _ => HIGH_CONTROLS
            .iter()
            .position(|&known| known == character)
            .and_then(|index| u8::try_from(index + 0x80).ok()),
    }
}

/// Bytes of code page 1252 as text.
pub fn decode(bytes: &[u8]) -> String {
    bytes.iter().map(|&byte| decode_byte(byte)).collect()
}

/// Appends `text` in code page 1252; a character outside it becomes `?`, as SQL Server does.
pub fn encode_into(out: &mut Vec<u8>, text: &str) {
    if text.is_ascii() {
        out.extend_from_slice(text.as_bytes());
    } else {
        out.extend(text.chars().map(|c| encode_char(c).unwrap_or(b'?')));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_survives_the_round_trip() {
        for byte in 0..=255u8 {
            assert_eq!(encode_char(decode_byte(byte)), Some(byte), "{byte:#x}");
        }
    }

    #[test]
    fn known_characters_and_the_unknown_one() {
        assert_eq!(decode(b"\x80 \xE4\x99"), "\u{20AC} \u{E4}\u{2122}");
        let mut out = Vec::new();
        encode_into(&mut out, "\u{20AC}\u{4E2D}x");
        assert_eq!(out, b"\x80?x");
    }
}
