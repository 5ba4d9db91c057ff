//! Every collation: keys against comparison for every pair of hard strings, and orders against their published sources.

use engine::types::collation::*;
use std::cmp::Ordering;
use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;

fn key(collation: Collation, text: &str) -> Vec<u8> {
    let mut key = Vec::new();
    collation.push_key(text, &mut key);
    key
}

fn hash_of(collation: Collation, text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    collation.hash(text, &mut hasher);
    hasher.finish()
}

/// One of those that compare alike: the tests of the module itself see to it that these stand for all.
fn unlike() -> [Collation; 8] {
    std::array::from_fn(|number| Collation::ALL[number])
}

/// Name, ComparisonStyle, CodePage, Version and the five bytes of each, by number.
const FACTS: &[(&str, u32, u32, u32, [u8; 5])] = &[
    // ComparisonStyle and CodePage: sql-docs, "COLLATIONPROPERTY"; the five bytes: MS-TDS 2.2.5.1.2.
    ("SQL_Latin1_General_CP1_CI_AS", 196_609, 1_252, 0, [9, 4, 0xD0, 0, 52]),
    ("SQL_Latin1_General_CP1_CS_AS", 196_608, 1_252, 0, [9, 4, 0xC0, 0, 51]),
    ("Latin1_General_CI_AS", 196_609, 1_252, 0, [9, 4, 0xD0, 0, 0]),
    ("Latin1_General_CS_AS", 196_608, 1_252, 0, [9, 4, 0xC0, 0, 0]),
    ("Latin1_General_CI_AI", 196_611, 1_252, 0, [9, 4, 0xF0, 0, 0]),
    ("Latin1_General_CS_AI", 196_610, 1_252, 0, [9, 4, 0xE0, 0, 0]),
    ("Latin1_General_BIN", 0, 1_252, 0, [9, 4, 0, 1, 0]),
    ("Latin1_General_BIN2", 0, 1_252, 0, [9, 4, 0, 2, 0]),
    (
        "Latin1_General_100_CI_AS_SC_UTF8",
        196_609,
        65_001,
        2,
        [9, 4, 0xD0, 0x24, 0],
    ),
    ("Latin1_General_100_CI_AS", 196_609, 1_252, 2, [9, 4, 0xD0, 0x20, 0]),
    ("Latin1_General_100_CS_AS", 196_608, 1_252, 2, [9, 4, 0xC0, 0x20, 0]),
    ("Latin1_General_100_CI_AI", 196_611, 1_252, 2, [9, 4, 0xF0, 0x20, 0]),
    ("Latin1_General_100_CS_AI", 196_610, 1_252, 2, [9, 4, 0xE0, 0x20, 0]),
    ("Latin1_General_100_BIN", 0, 1_252, 2, [9, 4, 0, 0x21, 0]),
    ("Latin1_General_100_BIN2", 0, 1_252, 2, [9, 4, 0, 0x22, 0]),
    (
        "Latin1_General_100_CS_AS_SC_UTF8",
        196_608,
        65_001,
        2,
        [9, 4, 0xC0, 0x24, 0],
    ),
    (
        "Latin1_General_100_CI_AI_SC_UTF8",
        196_611,
        65_001,
        2,
        [9, 4, 0xF0, 0x24, 0],
    ),
    (
        "Latin1_General_100_CS_AI_SC_UTF8",
        196_610,
        65_001,
        2,
        [9, 4, 0xE0, 0x24, 0],
    ),
    ("Latin1_General_100_BIN2_UTF8", 0, 65_001, 2, [9, 4, 0, 0x26, 0]),
];

/// What the table of the contract says, as COLLATIONPROPERTY and TDS show it.
#[test]
fn facts_of_the_collations() {
    for (&(name, style, code_page, version, bytes), (number, collation)) in FACTS.iter().zip((0..).zip(Collation::ALL))
    {
        assert_eq!(Collation::from_name(&name.to_uppercase()), Some(collation));
        assert_eq!(
            (collation.name(), Collation::from_number(number)),
            (name, Some(collation))
        );
        assert_eq!(collation.comparison_style(), style, "{name}");
        assert_eq!(
            (collation.code_page(), collation.family_version()),
            (code_page, version),
            "{name}"
        );
        assert_eq!(collation.wire_bytes(), bytes, "{name}");
        assert!(collation.has_order_of(COLLATION_VERSION) && !collation.has_order_of(COLLATION_VERSION + 1));
    }
    for name in [
        "Latin1_General_CI_AS_KS_WS",
        "German_PhoneBook_CI_AS",
        "Latin1_General_100_CI_AS_KS",
        "",
    ] {
        assert_eq!(Collation::from_name(name), None, "{name}");
    }
}

/// Orders with their sources; `·` is a blank.
const TOLD: [(Collation, &str); 14] = [
    // Microsoft, KB 305704, "Windows Collations Ignore Single Quote and Hyphen When Ordering".
    (Collation::CiAi, "carps < cars < car's < car-s"),
    (Collation::CsAs, "carps < cars < car's < car-s"),
    // Windows, winnls.h, "WORD Sort", and the same list under "STRING Sort", as which the SQL collations sort.
    (
        Collation::CiAs,
        "co_op < coat < comb < coop < co-op < cork < went < were < we're",
    ),
    (
        Collation::SqlCiAs,
        "co-op < co_op < coat < comb < coop < cork < we're < went < were",
    ),
    // rsql.ch, "Problem with Case-Sensitive Collation Sort Order".
    (
        Collation::CsAs,
        "g < G < goodbye < Goodbye < GOODBYE < h < H < he < hE < He < HE < hello < i < I",
    ),
    // dba.stackexchange.com 335859 for ß; superscripts, width and kana: sql-docs, "Collation and Unicode support".
    (Collation::CiAs, "a < b < ss = ß = SS = ｓｓ < st"),
    (Collation::CiAs, "2 = ² = ２ < ae = æ = Æ < カ = か = ｶ"),
    (
        Collation::CiAs,
        "resume < résumé = RÉSUMÉ = re\u{301}sume\u{301} < resumes",
    ),
    (Collation::CiAi, "resume = résumé = RESUME = Resumé· < resumes"),
    (Collation::CsAi, "resume = résumé < Resume = Résumé"),
    // The units as numbers; BIN compares all but the first as bytes, the low one first: U+0100 is 00 01.
    (Collation::Bin2, "A < B < a = a· < b < é < Ā < 😀 < \u{FFFD}"),
    (Collation::Bin, "a\u{100} < aa = aa· < é < Āa"),
    (Collation::SqlCsAs, "A < a < Ab < aB < ab < B < b"),
    (Collation::Utf8CiAs, "0 < ¼ < 1 < 9 < a = A < z < α = Α < я = Я < 漢"),
];

#[test]
fn strings_order_as_told() {
    for (collation, told) in TOLD {
        let classes = told.split(" < ").enumerate();
        let strings: Vec<(usize, String)> = classes
            .flat_map(|(place, class)| class.split(" = ").map(move |text| (place, text.replace('·', " "))))
            .collect();
        for (left_place, left) in &strings {
            for (right_place, right) in &strings {
                let order = collation.compare(left, right);
                let expected = left_place.cmp(right_place);
                assert_eq!(order, expected, "{left:?} and {right:?} under {}", collation.name());
            }
        }
    }
}

/// Random strings of what is hard: marks, expansions, specials, blanks at the end, control characters, all planes.
fn hard_strings(count: usize) -> Vec<String> {
    const PARTS: [&str; 60] = [
        "a", "A", "b", "B", "z", "Z", "é", "É", "e\u{301}", "\u{301}", "\u{308}", "ß", "ss", "æ", "AE", "ö", "ø", "Þ",
        "th", " ", "  ", "-", "'", "\u{AD}", "\u{2013}", "\t", "\u{1}", "\u{1F}", "\0", "_", "!", "0", "9", "²", "½",
        "€", "\u{80}", "ÿ", "Ā", "Ǆ", "ǅ", "ǆ", "α", "Α", "ж", "Ж", "か", "カ", "ｶ", "が", "漢", "ﬀ", "Ｚ", "😀", "𐐀",
        "\u{FFFD}", "\u{1FFF}", "\u{1F00}", "\u{FF1F}", "\u{2028}",
    ];
    let mut seed = 0x9E37_79B9_7F4A_7C15u64;
    let mut next = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below as u64) as usize
    };
    let mut strings: Vec<String> = PARTS.iter().map(|part| (*part).to_owned()).collect();
    strings.push(String::new());
    while strings.len() < count {
        let parts = 1 + next(5);
        strings.push((0..parts).map(|_| PARTS[next(PARTS.len())]).collect());
    }
    strings
}

#[test]
fn keys_order_exactly_as_strings_compare_and_equal_strings_hash_alike() {
    let strings = hard_strings(700);
    for collation in unlike() {
        let keys: Vec<Vec<u8>> = strings.iter().map(|text| key(collation, text)).collect();
        let hashes: Vec<u64> = strings.iter().map(|text| hash_of(collation, text)).collect();
        let mut equal = 0;
        for (left, left_key) in keys.iter().enumerate() {
            for (right, right_key) in keys.iter().enumerate() {
                let order = collation.compare(&strings[left], &strings[right]);
                let texts = (&strings[left], &strings[right]);
                assert_eq!(order, left_key.cmp(right_key), "{texts:?} under {}", collation.name());
                if order == Ordering::Equal {
                    equal += 1;
                    assert_eq!(hashes[left], hashes[right], "{texts:?} under {}", collation.name());
                } else {
                    assert!(!right_key.starts_with(left_key), "{texts:?} under {}", collation.name());
                }
            }
        }
        assert!(
            equal > strings.len(),
            "no two different strings were equal under {}",
            collation.name()
        );
    }
}

/// What LIKE 'prefix%' is searched by: every string whose first characters are equal to those of the prefix has a key that begins so.
#[test]
fn keys_begin_with_the_prefix_of_what_their_strings_begin_with() {
    let mut met = 0;
    for collation in unlike() {
        for text in hard_strings(300) {
            for prefix in hard_strings(300) {
                let (mut own, mut wanted) = (text.chars(), prefix.chars());
                let begins = wanted.all(|wanted| own.next().is_some_and(|own| collation.equal_characters(own, wanted)));
                if begins {
                    let mut bytes = vec![];
                    collation.push_prefix(&prefix, &mut bytes);
                    assert!(
                        key(collation, &text).starts_with(&bytes),
                        "{collation:?}: {text:?} begins with {prefix:?}"
                    );
                    met += usize::from(!bytes.is_empty() && text != prefix);
                }
            }
        }
    }
    assert!(met > 1_000, "{met}");
}

/// LIKE and the functions that search go character by character: each must agree with strings of one character.
#[test]
fn characters_compare_as_strings_of_one_character() {
    let characters: Vec<char> = (0x21..0x250)
        .chain([0x301, 0x391, 0x3B1, 0x3042, 0x30A2, 0x6F22, 0xFF21, 0x1F600])
        .filter_map(char::from_u32)
        .collect();
    for collation in unlike().into_iter().filter(|collation| *collation != Collation::Bin) {
        for &left in &characters {
            for &right in &characters {
                let order = collation.compare(&left.to_string(), &right.to_string());
                assert_eq!(
                    collation.compare_characters(left, right),
                    order,
                    "{left} {right} {}",
                    collation.name()
                );
                assert_eq!(collation.equal_characters(left, right), order == Ordering::Equal);
            }
        }
    }
}

/// Databases of former versions hold these keys: the default's may not change by a byte.
#[test]
fn keys_of_the_default_collation_are_kept() {
    let told: [(&str, &[u8]); 4] = [
        ("", &[0x21]),
        ("abc XYZ", &[0x88, 0x90, 0x91, 0x22, 0xBF, 0xC0, 0xC3, 0x21]),
        (
            "Ünïcode-ß'9 ",
            &[0xBC, 0xA7, 0xA2, 0x91, 0xA9, 0x93, 0x95, 0x2F, 0xB6, 0x29, 0x87, 0x21],
        ),
        ("漢ж", &[0xFF, 0, 0x6F, 0x22, 0xFF, 0, 0x04, 0x36, 0x21]),
    ];
    for (text, bytes) in told {
        assert_eq!(key(Collation::SqlCiAs, text), bytes, "{text}");
    }
}

/// Characters are searched by forms: they are equal exactly when their forms are.
#[test]
fn equal_characters_have_one_search_form() {
    // Latin letters with all their forms, kana, wide and raised letters, a few of other scripts.
    let ranges = [
        0x20..0x250,
        0x300..0x310,
        0x1E00..0x1F00,
        0x2070..0x2120,
        0x3041..0x3100,
        0xFB00..0xFB07,
        0xFF01..0xFF9F,
    ];
    let characters: Vec<char> = ranges.into_iter().flatten().filter_map(char::from_u32).collect();
    for collation in unlike() {
        let form = |character: char| {
            let mut form = Vec::new();
            collation.push_search_form(character, &mut form);
            form
        };
        let forms: Vec<Vec<u8>> = characters.iter().map(|&character| form(character)).collect();
        for (left, left_form) in characters.iter().zip(&forms) {
            for (right, right_form) in characters.iter().zip(&forms) {
                // A string without weights compares equal to a blank, as trailing blanks do not count.
                if left_form.is_empty() || right_form.is_empty() {
                    continue;
                }
                let equal = collation.equal_characters(*left, *right);
                assert_eq!(
                    left_form == right_form,
                    equal,
                    "{left:?} and {right:?} under {}",
                    collation.name()
                );
            }
        }
        assert_eq!(
            collation.has_expansions(),
            form('æ') == [form('a'), form('e')].concat(),
            "{}",
            collation.name()
        );
    }
}
