//! Collations: which strings are equal, and their order.
//!
//! | collation | weights | capital | accent | kana, width | code page | sort order |
//! |---|---|---|---|---|---|---|
//! | SQL_Latin1_General_CP1_CI_AS, the default | `sql` | ignored | counts | ignored | 1252 | 52 |
//! | SQL_Latin1_General_CP1_CS_AS | `sql` | counts | counts | ignored | 1252 | 51 |
//! | Latin1_General_CI_AS | `windows` | ignored | counts | ignored | 1252 | |
//! | Latin1_General_CS_AS | `windows` | counts | counts | ignored | 1252 | |
//! | Latin1_General_CI_AI | `windows` | ignored | ignored | ignored | 1252 | |
//! | Latin1_General_CS_AI | `windows` | counts | ignored | ignored | 1252 | |
//! | Latin1_General_BIN | `binary` | counts | counts | count | 1252 | |
//! | Latin1_General_BIN2 | `binary` | counts | counts | count | 1252 | |
//! | Latin1_General_100_CI_AS, _CS_AS, _CI_AI, _CS_AI, _BIN, _BIN2 | as without 100 | | | | 1252 | |
//! | Latin1_General_100_CI_AS_SC_UTF8, _CS_AS_SC_UTF8, _CI_AI_SC_UTF8, _CS_AI_SC_UTF8 | `windows` | as the name says | | ignored | 65001 | |
//! | Latin1_General_100_BIN2_UTF8 | `binary` | counts | counts | count | 65001 | |
//!
//! There are no others: names with `_KS`, `_WS` or another language are refused with 448, and so is the default of another server. Each
//! module of weights gives their source and the doubtful points.
//!
//! A string in memory carries its collation ([`super::Text`]), so comparing, hashing, grouping and sorting need no other source. Binding
//! ensures that values compared with each other carry the same one.
//!
//! Invariants: for every collation, two strings are equal under [`Collation::compare`] exactly when their keys are the same bytes,
//! and the unsigned order of keys is the order of the strings; no key is the beginning of another, so keys of several columns may
//! follow each other; equal strings hash alike. Trailing blanks never count.
//!
//! Other rooms rely on this: a text is searched by its forms ([`Collation::push_search_form`]), so that equal texts have equal
//! bytes and CHARINDEX, REPLACE and the fixed parts of LIKE and PATINDEX take linear time; keys hold weights of the column's
//! collation, whatever the value carries; `varchar` under UTF-8 holds UTF-8 in the row and on the wire, and its lengths are
//! bytes; keys of the default collation are those of format 2, byte for byte.
//!
//! An index records the version of the weights that its keys are ordered by. If that is not the program's, the error log says
//! so when the database opens, and the table is refused (8655) until the index is dropped.

mod binary;
mod sql;
mod windows;

use std::cmp::Ordering;
use std::hash::Hasher;

use windows::Levels;

/// The version of all the weights. A change to the order of a collation, even of one character, counts this up and is noted in
/// [`Collation::changed_in`]: an index keeps the version that its keys were ordered by, and one of another order is not searched.
pub const COLLATION_VERSION: u32 = 1;

/// A collation, by the number that rows kept on disk by queries know it by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Collation {
    /// SQL_Latin1_General_CP1_CI_AS
    #[default]
    SqlCiAs,
    /// SQL_Latin1_General_CP1_CS_AS
    SqlCsAs,
    /// Latin1_General_CI_AS
    CiAs,
    /// Latin1_General_CS_AS
    CsAs,
    /// Latin1_General_CI_AI
    CiAi,
    /// Latin1_General_CS_AI
    CsAi,
    /// Latin1_General_BIN
    Bin,
    /// Latin1_General_BIN2
    Bin2,
    /// Latin1_General_100_CI_AS_SC_UTF8
    Utf8CiAs,
    /// Latin1_General_100_CI_AS
    CiAs100,
    /// Latin1_General_100_CS_AS
    CsAs100,
    /// Latin1_General_100_CI_AI
    CiAi100,
    /// Latin1_General_100_CS_AI
    CsAi100,
    /// Latin1_General_100_BIN
    Bin100,
    /// Latin1_General_100_BIN2
    Bin2Of100,
    /// Latin1_General_100_CS_AS_SC_UTF8
    Utf8CsAs,
    /// Latin1_General_100_CI_AI_SC_UTF8
    Utf8CiAi,
    /// Latin1_General_100_CS_AI_SC_UTF8
    Utf8CsAi,
    /// Latin1_General_100_BIN2_UTF8
    Utf8Bin2,
}

/// Where the order of a collation comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Weights {
    SqlCiAs,
    SqlCsAs,
    Windows,
    Bin,
    Bin2,
}

/// `COLLATIONPROPERTY(..., 'ComparisonStyle')` and the flags of TDS (sql-docs, "COLLATIONPROPERTY").
const IGNORE_CASE: u32 = 1;
const IGNORE_ACCENT: u32 = 2;
const IGNORE_KANA: u32 = 65_536;
const IGNORE_WIDTH: u32 = 131_072;

impl Collation {
    /// All there are, by number.
    pub const ALL: [Collation; 19] = [
        Collation::SqlCiAs,
        Collation::SqlCsAs,
        Collation::CiAs,
        Collation::CsAs,
        Collation::CiAi,
        Collation::CsAi,
        Collation::Bin,
        Collation::Bin2,
        Collation::Utf8CiAs,
        Collation::CiAs100,
        Collation::CsAs100,
        Collation::CiAi100,
        Collation::CsAi100,
        Collation::Bin100,
        Collation::Bin2Of100,
        Collation::Utf8CsAs,
        Collation::Utf8CiAi,
        Collation::Utf8CsAi,
        Collation::Utf8Bin2,
    ];

    /// SQL Server's name for it.
    pub fn name(self) -> &'static str {
        match self {
            Collation::SqlCiAs => "SQL_Latin1_General_CP1_CI_AS",
            Collation::SqlCsAs => "SQL_Latin1_General_CP1_CS_AS",
            Collation::CiAs => "Latin1_General_CI_AS",
            Collation::CsAs => "Latin1_General_CS_AS",
            Collation::CiAi => "Latin1_General_CI_AI",
            Collation::CsAi => "Latin1_General_CS_AI",
            Collation::Bin => "Latin1_General_BIN",
            Collation::Bin2 => "Latin1_General_BIN2",
            Collation::Utf8CiAs => "Latin1_General_100_CI_AS_SC_UTF8",
            Collation::CiAs100 => "Latin1_General_100_CI_AS",
            Collation::CsAs100 => "Latin1_General_100_CS_AS",
            Collation::CiAi100 => "Latin1_General_100_CI_AI",
            Collation::CsAi100 => "Latin1_General_100_CS_AI",
            Collation::Bin100 => "Latin1_General_100_BIN",
            Collation::Bin2Of100 => "Latin1_General_100_BIN2",
            Collation::Utf8CsAs => "Latin1_General_100_CS_AS_SC_UTF8",
            Collation::Utf8CiAi => "Latin1_General_100_CI_AI_SC_UTF8",
            Collation::Utf8CsAi => "Latin1_General_100_CS_AI_SC_UTF8",
            Collation::Utf8Bin2 => "Latin1_General_100_BIN2_UTF8",
        }
    }

    /// The collation of that name, in whatever case it is written.
    pub fn from_name(name: &str) -> Option<Collation> {
        Collation::ALL
            .into_iter()
            .find(|collation| collation.name().eq_ignore_ascii_case(name))
    }

    /// The collation of a number.
    pub fn from_number(number: u8) -> Option<Collation> {
        Collation::ALL.get(usize::from(number)).copied()
    }

    /// `description` of `sys.fn_helpcollations()`.
    pub fn description(self) -> String {
        let family = match self.family_version() {
            0 => "Latin1-General",
            _ => "Latin1-General-100",
        };
        match self.weights() {
            Weights::Bin => return format!("{family}, binary sort"),
            Weights::Bin2 if self.is_utf8() => return format!("{family}, binary code point comparison sort, UTF8"),
            Weights::Bin2 => return format!("{family}, binary code point comparison sort"),
            _ => {}
        }
        let style = self.comparison_style();
        let told = |bit: u32| if style & bit == 0 { "sensitive" } else { "insensitive" };
        let (case, accent) = (told(IGNORE_CASE), told(IGNORE_ACCENT));
        let start = format!("{family}, case-{case}, accent-{accent}, kanatype-insensitive, width-insensitive");
        match self.sort_id() {
            0 if self.is_utf8() => format!("{start}, supplementary characters, UTF8"),
            0 => start,
            order => format!(
                "{start} for Unicode Data, SQL Server Sort Order {order} on Code Page 1252 for non-Unicode Data"
            ),
        }
    }

    /// What comparisons ignore: 1 case, 2 accents, 65536 kana, 131072 width; 0 for the binary ones.
    pub fn comparison_style(self) -> u32 {
        let loose = IGNORE_KANA | IGNORE_WIDTH;
        match self {
            Collation::SqlCiAs | Collation::CiAs | Collation::CiAs100 | Collation::Utf8CiAs => loose | IGNORE_CASE,
            Collation::SqlCsAs | Collation::CsAs | Collation::CsAs100 | Collation::Utf8CsAs => loose,
            Collation::CiAi | Collation::CiAi100 | Collation::Utf8CiAi => loose | IGNORE_CASE | IGNORE_ACCENT,
            Collation::CsAi | Collation::CsAi100 | Collation::Utf8CsAi => loose | IGNORE_ACCENT,
            Collation::Bin | Collation::Bin2 | Collation::Bin100 | Collation::Bin2Of100 | Collation::Utf8Bin2 => 0,
        }
    }

    /// The module of weights that it compares by.
    #[inline]
    fn weights(self) -> Weights {
        match self {
            Collation::SqlCiAs => Weights::SqlCiAs,
            Collation::SqlCsAs => Weights::SqlCsAs,
            Collation::Bin | Collation::Bin100 => Weights::Bin,
            Collation::Bin2 | Collation::Bin2Of100 | Collation::Utf8Bin2 => Weights::Bin2,
            Collation::CiAs | Collation::CsAs | Collation::CiAi | Collation::CsAi => Weights::Windows,
            Collation::CiAs100 | Collation::CsAs100 | Collation::CiAi100 | Collation::CsAi100 => Weights::Windows,
            Collation::Utf8CiAs | Collation::Utf8CsAs | Collation::Utf8CiAi | Collation::Utf8CsAi => Weights::Windows,
        }
    }

    /// Windows' number of the language: English of the United States for all.
    pub fn lcid(self) -> u32 {
        1_033
    }

    /// `COLLATIONPROPERTY(..., 'Version')`: 0 for those of SQL Server 2000, 2 for those with 100 in their names.
    pub fn family_version(self) -> u32 {
        // Those of SQL Server 2000 were there first.
        if (self as u8) < Collation::Utf8CiAs as u8 { 0 } else { 2 }
    }

    /// The number of SQL Server's own sort order; 0 for the collations of Windows.
    pub fn sort_id(self) -> u8 {
        match self {
            Collation::SqlCiAs => 52,
            Collation::SqlCsAs => 51,
            _ => 0,
        }
    }

    /// The code page of `char` and `varchar`.
    pub fn code_page(self) -> u32 {
        if self.is_utf8() { 65_001 } else { 1_252 }
    }

    /// Whether `char` and `varchar` hold UTF-8.
    pub fn is_utf8(self) -> bool {
        use Collation::{Utf8Bin2, Utf8CiAi, Utf8CiAs, Utf8CsAi, Utf8CsAs};
        matches!(self, Utf8CiAs | Utf8CsAs | Utf8CiAi | Utf8CsAi | Utf8Bin2)
    }

    /// As TDS has it: language, flags and version in four bytes, the lowest first, then the sort order (\[MS-TDS\] 2.2.5.1.2).
    pub fn wire_bytes(self) -> [u8; 5] {
        let style = self.comparison_style();
        let flag = |is_set: bool, bit: u32| u32::from(is_set) << bit;
        let packed = self.lcid()
            | flag(style & IGNORE_CASE != 0, 20)
            | flag(style & IGNORE_ACCENT != 0, 21)
            | flag(style & IGNORE_WIDTH != 0, 22)
            | flag(style & IGNORE_KANA != 0, 23)
            | flag(self.weights() == Weights::Bin, 24)
            | flag(self.weights() == Weights::Bin2, 25)
            | flag(self.is_utf8(), 26)
            | self.family_version() << 28;
        let [a, b, c, d] = packed.to_le_bytes();
        [a, b, c, d, self.sort_id()]
    }

    /// The first [`COLLATION_VERSION`] with the order it has.
    fn changed_in(self) -> u32 {
        1
    }

    /// Whether keys of that version are in its order.
    pub fn has_order_of(self, version: u32) -> bool {
        (self.changed_in()..=COLLATION_VERSION).contains(&version)
    }

    /// The levels of a Windows collation.
    fn levels(self) -> Levels {
        let style = self.comparison_style();
        Levels {
            accents: style & IGNORE_ACCENT == 0,
            case: style & IGNORE_CASE == 0,
        }
    }

    pub fn compare(self, left: &str, right: &str) -> Ordering {
        match self.weights() {
            Weights::SqlCiAs => sql::compare(left, right),
            Weights::SqlCsAs => sql::compare_cased(left, right),
            Weights::Bin => binary::compare(left, right, true),
            Weights::Bin2 => binary::compare(left, right, false),
            _ => windows::compare(left, right, self.levels()),
        }
    }

    /// Whether two strings are equal.
    pub fn equal(self, left: &str, right: &str) -> bool {
        self.compare(left, right) == Ordering::Equal
    }

    /// Compares two characters: what a range in a LIKE pattern needs. Blanks count.
    pub fn compare_characters(self, left: char, right: char) -> Ordering {
        match self.weights() {
            _ if left == right => Ordering::Equal,
            Weights::SqlCiAs => sql::compare_characters(left, right),
            Weights::SqlCsAs => sql::compare_cased_characters(left, right),
            Weights::Bin | Weights::Bin2 => binary::compare_characters(left, right),
            _ => windows::compare_characters(left, right, self.levels()),
        }
    }

    /// Whether two characters are equal: what LIKE and the searching functions compare by.
    pub fn equal_characters(self, left: char, right: char) -> bool {
        left == right
            || match self.weights() {
                Weights::SqlCiAs => sql::equal_characters(left, right),
                Weights::SqlCsAs | Weights::Bin | Weights::Bin2 => false,
                _ => windows::compare_characters(left, right, self.levels()) == Ordering::Equal,
            }
    }

    /// Appends what a character is searched by: characters that are equal, one by one or several to one (`ae` and `æ` where the
    /// collation has them equal), have the same bytes. No character's bytes begin those of another that is unlike it; those of
    /// several characters can be found within one, so what is found counts only from a character's beginning to another's end.
    pub fn push_search_form(self, character: char, output: &mut Vec<u8>) {
        match self.weights() {
            Weights::SqlCiAs => sql::push_weight(character, output),
            _ if self.is_searched_as_written() => {
                output.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            _ => windows::push_search_form(character, self.levels(), output),
        }
    }

    /// Appends the forms of all characters of a text.
    pub fn push_search_forms(self, text: &str, output: &mut Vec<u8>) {
        match self.weights() {
            Weights::SqlCiAs => sql::push_prefix(text, output),
            _ if self.is_searched_as_written() => output.extend_from_slice(text.as_bytes()),
            _ => text
                .chars()
                .for_each(|character| windows::push_search_form(character, self.levels(), output)),
        }
    }

    /// Whether only the same character is equal to a character: then a text is searched as it is.
    pub fn is_searched_as_written(self) -> bool {
        matches!(self.weights(), Weights::SqlCsAs | Weights::Bin | Weights::Bin2)
    }

    /// Whether one character can be equal to several.
    pub fn has_expansions(self) -> bool {
        self.weights() != Weights::SqlCiAs && !self.is_searched_as_written()
    }

    /// Appends the weights of a string and its end. Unsigned byte order of the result is the order of the strings.
    pub fn push_key(self, text: &str, output: &mut Vec<u8>) {
        match self.weights() {
            Weights::SqlCiAs => sql::push_key(text, output),
            Weights::SqlCsAs => sql::push_cased_key(text, output),
            Weights::Bin => binary::push_key(text, true, output),
            Weights::Bin2 => binary::push_key(text, false, output),
            _ => windows::push_key(text, self.levels(), output),
        }
    }

    /// Appends bytes that begin the key of every string which begins with characters equal to those of `text`, one by one. Keys of
    /// other strings may begin with them, too. (Blanks at the end of `text` are left out: those of a string do not count in its key.)
    pub fn push_prefix(self, text: &str, output: &mut Vec<u8>) {
        let text = text.trim_end_matches(' ');
        match self.weights() {
            Weights::SqlCiAs | Weights::SqlCsAs => sql::push_prefix(text, output),
            Weights::Bin => binary::push_prefix(text, true, output),
            Weights::Bin2 => binary::push_prefix(text, false, output),
            _ => windows::push_prefix(text, output),
        }
    }

    /// Feeds a hasher so that equal strings hash alike.
    pub fn hash(self, text: &str, hasher: &mut impl Hasher) {
        match self.weights() {
            Weights::SqlCiAs => sql::hash(text, hasher),
            Weights::SqlCsAs | Weights::Bin | Weights::Bin2 => hasher.write(text.trim_end_matches(' ').as_bytes()),
            _ => windows::hash(text, self.levels(), hasher),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Collation;

    #[test]
    fn the_first_eight_stand_for_all_as_others_compare_like_one_of_them() {
        let mut found: Vec<Collation> = Vec::new();
        for collation in Collation::ALL {
            let orders = |other: &Collation| (other.weights() as u8, other.comparison_style());
            if !found.iter().any(|other| orders(other) == orders(&collation)) {
                found.push(collation);
            }
        }
        assert_eq!(found, Collation::ALL[..8]);
    }
}
