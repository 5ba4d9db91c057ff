//! Code pages of `char`, `varchar` and `text`: which one a collation has, and its characters.
//!
//! ```text
//! collation id, u32
//! 31        24 23                16 15      12 11      8 7         0
//! +-----------+--------------------+----------+---------+-----------+
//! | sort id   |                    | style    | 1 UTF-8 | language  |
//! +-----------+--------------------+----------+---------+-----------+
//! ```
//!
//! The sort id is that of collations whose names begin with `SQL_`, and decides where it is not 0 (sql-docs, "SQL Server Collation Name": sort ids, and
//! code pages in the names). Otherwise the language does: 14 of them are published, and tried, by a project that reads backups (`mssqlbak-tests`,
//! types of text). They count the languages of Windows in the order of their ids, so those between them are **inferred** from that order; 0x28 is that
//! of two databases made in Spain and Latin America. Public files have 0x01, 0x03, 0x0B, 0x15, 0x1A, 0x24 and 0x28, each in the language of its owner.
//! Style: 1 case, 2 accents, 4 width, 8 kana are ignored, as in \[MS-TDS\] 2.2.5.1.2 (inferred, from the ids 0x3400D008 and 0x0000D008 of the
//! collations `SQL_Latin1_General_CP1_CI_AS` and `Latin1_General_CI_AS`).

use encoding_rs::Encoding;

/// UTF-8, as a code page.
pub const UTF_8: u16 = 65_001;

/// Characters 0x80 to 0xFF of the code pages of IBM's PC, which encoding_rs lacks (Unicode Consortium, mapping tables CP437 and CP850).
const CP437: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";
const CP850: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐└┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u{ad}±‗¾¶§÷¸°¨·¹³²■\u{a0}";

/// The code page of a collation; `None` if it is not known, and then text is read as that of 1252.
pub fn code_page(collation: u32) -> Option<u16> {
    let language = collation & 0xFF;
    if collation & 0x100 != 0 && language != 0 {
        return Some(UTF_8);
    }
    match collation >> 24 {
        30..=39 => return Some(437),
        40..=49 | 55..=61 => return Some(850),
        50..=54 | 183..=186 | 210..=217 => return Some(1252),
        80..=99 => return Some(1250),
        104..=111 => return Some(1251),
        112..=127 => return Some(1253),
        128..=135 => return Some(1254),
        136..=143 => return Some(1255),
        144..=151 => return Some(1256),
        152..=160 => return Some(1257),
        _ => {}
    }
    Some(match language {
        // Czech, Hungarian, Polish, Romanian, Croatian, Slovak, Albanian, Slovenian.
        0x04 | 0x0D | 0x13 | 0x14 | 0x16..=0x18 | 0x1C => 1250,
        // Cyrillic, Ukrainian.
        0x15 | 0x1B => 1251,
        0x07 => 1253,
        0x1A => 1254,
        0x0C => 1255,
        0x01 => 1256,
        // Estonian, Latvian, Lithuanian.
        0x1D..=0x1F => 1257,
        0x20 => 1258,
        0x19 => 874,
        0x10 => 932,
        0x24 => 936,
        0x11 => 949,
        0x03 => 950,
        // No collation; Danish, German, Latin, Spanish, Finnish, French, Icelandic, Italian, Dutch, modern Spanish.
        0x00 | 0x05 | 0x06 | 0x08..=0x0B | 0x0E | 0x0F | 0x12 | 0x28 => 1252,
        _ => return None,
    })
}

/// What a collation tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    pub is_case_sensitive: bool,
    pub is_accent_sensitive: bool,
    /// It tells everything apart: a binary one, or one that is sensitive to width and kana too.
    pub is_exact: bool,
}

impl Style {
    /// The style of a collation.
    pub fn of(collation: u32) -> Style {
        let ignored = collation >> 12 & 0xF;
        Style {
            is_case_sensitive: ignored & 1 == 0,
            is_accent_sensitive: ignored & 2 == 0,
            is_exact: ignored == 0,
        }
    }
}

/// Text in the code page of `collation`. What no character is becomes U+FFFD.
pub(super) fn text(collation: u32, bytes: &[u8]) -> String {
    if bytes.is_ascii() {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    let page = code_page(collation).unwrap_or(1252);
    match page {
        437 => of_table(CP437, bytes),
        850 => of_table(CP850, bytes),
        _ => encoding(page).decode_without_bom_handling(bytes).0.into_owned(),
    }
}

fn of_table(table: &str, bytes: &[u8]) -> String {
    let characters: Vec<char> = table.chars().collect();
    let character = |byte: &u8| match byte {
        0x80.. => characters[usize::from(byte - 0x80)],
        _ => char::from(*byte),
    };
    bytes.iter().map(character).collect()
}

fn encoding(page: u16) -> &'static Encoding {
    match page {
        UTF_8 => encoding_rs::UTF_8,
        874 => encoding_rs::WINDOWS_874,
        932 => encoding_rs::SHIFT_JIS,
        936 => encoding_rs::GBK,
        949 => encoding_rs::EUC_KR,
        950 => encoding_rs::BIG5,
        1250 => encoding_rs::WINDOWS_1250,
        1251 => encoding_rs::WINDOWS_1251,
        1253 => encoding_rs::WINDOWS_1253,
        1254 => encoding_rs::WINDOWS_1254,
        1255 => encoding_rs::WINDOWS_1255,
        1256 => encoding_rs::WINDOWS_1256,
        1257 => encoding_rs::WINDOWS_1257,
        1258 => encoding_rs::WINDOWS_1258,
        _ => encoding_rs::WINDOWS_1252,
    }
}

#[cfg(test)]
mod tests {
    use super::{CP437, CP850, Style, code_page, text};

    /// A collation of SQL Server's own has the code page that its name says, whatever its language is.
    #[test]
    fn the_sort_id_decides_before_the_language() {
        for (sort_id, page) in [
            (32, 437),
            (42, 850),
            (52, 1252),
            (60, 850),
            (82, 1250),
            (106, 1251),
            (114, 1253),
        ] {
            assert_eq!(code_page(sort_id << 24 | 0xD008), Some(page), "sort id {sort_id}");
        }
        assert_eq!(code_page(0xD008), Some(1252));
        assert_eq!(code_page(0xD015), Some(1251));
        assert_eq!(code_page(0xD108), Some(super::UTF_8));
        assert_eq!(code_page(0xD0F0), None);
    }

    #[test]
    fn the_pages_of_the_pc_have_128_characters_each() {
        assert_eq!((CP437.chars().count(), CP850.chars().count()), (128, 128));
        assert_eq!(text(42 << 24 | 0xD008, &[b'a', 0x9B, 0xE1]), "a\u{f8}\u{df}");
        assert_eq!(text(32 << 24 | 0xD008, &[0x81, 0x9B]), "\u{fc}\u{a2}");
    }

    #[test]
    fn styles_are_the_bits_above_the_language() {
        let style = |collation| {
            let style = Style::of(collation);
            (style.is_case_sensitive, style.is_accent_sensitive, style.is_exact)
        };
        assert_eq!(style(0x3400_D008), (false, true, false));
        assert_eq!(style(0x3300_C008), (true, true, false));
        assert_eq!(style(0xF008), (false, false, false));
        assert_eq!(style(0x0008), (true, true, true));
    }
}
