//! Values of `hierarchyid`: the path from the root to a node as bits, its text, and what its methods compute.
//!
//! A path has levels; a level has one label or several, as in `/1/2.5/`. Each label is a run of bits, and the runs follow one another:
//!
//! ```text
//! L...  prefix: the range of the label           1110
//! O...  the label less the first of its range,   VVV0VVV0V1VVV   (V: a bit of it; 0 and 1 stand for themselves)
//! F     1: the last label of its level; 0: the label is one less than said, and another follows in the level
//! W...  at the end of all, fewer than eight: 0
//! ```
//! ([MS-SSCLRT] 2.2.3 and 3.2; the ranges as SQL Server's own bytes show them: adammil.net, "how the SQL Server hierarchyid data type works";
//! dotMorten/Microsoft.SqlServer.Types; RyanLamansky/sql-server-simulator, `docs/claude/hierarchyid.md`, probed on SQL Server 2025.)
//!
//! Invariants: bytes order as the nodes do in a walk that goes into the depth first; a node is an ancestor of another exactly if its bits begin
//! those of the other; a path has one form in bytes, and no other bytes are a path.

use engine::error::{Error, Result};
use engine::types::{HIERARCHY_BYTES_MAX, Length, SqlType, Text, Value, string_room};

use crate::messages;

/// The type of a path's text (sql-docs, "ToString (Database Engine)").
pub const HIERARCHY_TEXT: SqlType = SqlType::NVarChar(Length::Limited(4_000));

/// Bytes of the longest path.
const BYTES_MAX: usize = HIERARCHY_BYTES_MAX as usize;
/// Characters of the longest text that is a path: that of [`HIERARCHY_TEXT`].
const TEXT_CHARACTERS_MAX: usize = 4_000;

/// A range of labels, and how they are written.
struct Range {
    /// The lowest label.
    first: i64,
    /// Bits that are the same in all labels, and where these are. Both end with the lowest bit.
    fixed: u64,
    mask: u64,
    bits: u32,
    /// How many of them say the label.
    label_bits: u32,
}

impl Range {
    const fn new(first: i64, form: &str) -> Range {
        let form = form.as_bytes();
        let (mut fixed, mut mask, mut label_bits, mut at) = (0, 0, 0, 0);
        while at < form.len() {
            fixed <<= 1;
            mask <<= 1;
            match form[at] {
                b'V' => label_bits += 1,
                digit => {
                    mask |= 1;
                    fixed |= (digit - b'0') as u64;
                }
            }
            at += 1;
        }
        Range {
            first,
            fixed,
            mask,
            bits: form.len() as u32,
            label_bits,
        }
    }

    fn holds(&self, label: i64) -> bool {
        let offset = label.checked_sub(self.first).filter(|offset| *offset >= 0);
        offset.is_some_and(|offset| offset >> self.label_bits == 0)
    }

    /// The bits of a label of the range.
    fn bits_of(&self, label: i64) -> u64 {
        let (mut offset, mut bits) = ((label - self.first) as u64, self.fixed);
        for place in (0..self.bits).filter(|place| self.mask >> place & 1 == 0) {
            bits |= (offset & 1) << place;
            offset >>= 1;
        }
        bits
    }

    /// The label of bits of the range.
    fn label_of(&self, bits: u64) -> i64 {
        let places = (0..self.bits).rev().filter(|place| self.mask >> place & 1 == 0);
        self.first + places.fold(0, |label, place| label << 1 | (bits >> place & 1) as i64)
    }
}

/// From the lowest labels to the highest; no prefix begins another.
const RANGES: [Range; 13] = [
    Range::new(
        -281_479_271_682_120,
        "000100VVVVVVVVVVVVVV0VVVVVVVVVVVVVVVVVVVVV0VVVVVV0VVV0V1VVV",
    ),
    Range::new(-4_294_971_464, "000101VVVVVVVVVVVVVVVVVVV0VVVVVV0VVV0V1VVV"),
    Range::new(-4_168, "000110VVVVV0VVV0V1VVV"),
    Range::new(-72, "0010VV0V1VVV"),
    Range::new(-8, "00111VVV"),
    Range::new(0, "01VV"),
    Range::new(4, "100VV"),
    Range::new(8, "101VVV"),
    Range::new(16, "110VV0V1VVV"),
    Range::new(80, "1110VVV0VVV0V1VVV"),
    Range::new(1_104, "11110VVVVV0VVV0V1VVV"),
    Range::new(5_200, "111110VVVVVVVVVVVVVVVVVVV0VVVVVV0VVV0V1VVV"),
    Range::new(
        4_294_972_496,
        "111111VVVVVVVVVVVVVV0VVVVVVVVVVVVVVVVVVVVV0VVVVVV0VVV0V1VVV",
    ),
];

/// A label, and whether its level ends with it.
type Label = (i64, bool);

/// The bits of a path as they are read.
struct BitReader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl BitReader<'_> {
    /// The next 64 bits, zeros behind the last.
    fn window(&self) -> u64 {
        let byte = |index: usize| u128::from(self.bytes.get(self.at / 8 + index).copied().unwrap_or(0));
        let nine = (0..9).fold(0_u128, |bits, index| bits << 8 | byte(index));
        (nine >> (8 - self.at % 8)) as u64
    }

    /// The next label; `Ok(None)` at the end of the path.
    fn label(&mut self) -> std::result::Result<Option<Label>, ()> {
        let left = self.bytes.len() * 8 - self.at;
        let window = self.window();
        if left < 8 && window == 0 {
            return Ok(None);
        }
        let found = RANGES
            .iter()
            .find(|range| window >> (64 - range.bits) & range.mask == range.fixed);
        let range = found.filter(|range| (range.bits as usize) < left).ok_or(())?;
        let ends = window >> (63 - range.bits) & 1 == 1;
        let label = range.label_of(window >> (64 - range.bits)) - i64::from(!ends);
        self.at += range.bits as usize + 1;
        Ok(Some((label, ends)))
    }
}

/// The bits of a path as they are written.
#[derive(Default)]
struct BitWriter {
    bytes: Vec<u8>,
    /// Bits in the last byte that are free.
    free: u32,
}

impl BitWriter {
    fn push(&mut self, bits: u64, count: u32) {
        for place in (0..count).rev() {
            if self.free == 0 {
                self.bytes.push(0);
                self.free = 8;
            }
            self.free -= 1;
            if let Some(last) = self.bytes.last_mut() {
                *last |= ((bits >> place & 1) as u8) << self.free;
            }
        }
    }

    /// Appends a label; `None` when no range holds it, or when the path becomes too long.
    fn label(&mut self, (label, ends): Label) -> Option<()> {
        let written = label.checked_add(i64::from(!ends))?;
        let range = RANGES.iter().find(|range| range.holds(written))?;
        self.push(range.bits_of(written), range.bits);
        self.push(u64::from(ends), 1);
        (self.bytes.len() <= BYTES_MAX).then_some(())
    }
}

/// A path, label by label.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hierarchy {
    labels: Vec<Label>,
}

impl Hierarchy {
    /// The path that a stored value is; `None` for NULL.
    ///
    /// # Errors
    /// Those of [`Hierarchy::from_bytes`].
    pub fn of(value: &Value) -> Result<Option<Hierarchy>> {
        match value {
            Value::Binary(bytes) => Hierarchy::from_bytes(bytes).map(Some),
            _ => Ok(None),
        }
    }

    /// The path that bytes are.
    ///
    /// # Errors
    /// 6522 with 24000 for bytes that are none.
    pub fn from_bytes(bytes: &[u8]) -> Result<Hierarchy> {
        if bytes.len() > BYTES_MAX {
            return Err(invalid_bytes());
        }
        let mut reader = BitReader { bytes, at: 0 };
        let mut labels = Vec::new();
        while let Some(label) = reader.label().map_err(|()| invalid_bytes())? {
            labels.push(label);
        }
        let found = Hierarchy { labels };
        // There is no other form: a path that ends within a level, or a label outside of all ranges, is not written so.
        match found.bytes() {
            Some(written) if written == bytes && found.is_whole() => Ok(found),
            _ => Err(invalid_bytes()),
        }
    }

    /// The path of a text like `/1/2.5/`.
    ///
    /// # Errors
    /// 6522 with 24001 for a text that is none.
    pub fn from_text(text: &str) -> Result<Hierarchy> {
        let invalid = || {
            let text: String = text.chars().take(TEXT_CHARACTERS_MAX).collect();
            let words = format!(
                "24001: SqlHierarchyId.Parse failed because the input string '{text}' is not a valid string representation of a SqlHierarchyId node."
            );
            raised(&words, Method::Parse)
        };
        let inner = match text {
            "/" => return Ok(Hierarchy::default()),
            // A path is in ASCII. What is longer than any of them may be as long as a value can be.
            _ if text.len() > TEXT_CHARACTERS_MAX => None,
            _ => text.strip_prefix('/').and_then(|text| text.strip_suffix('/')),
        };
        let mut labels = Vec::new();
        for level in inner.ok_or_else(invalid)?.split('/') {
            let parts = level.split('.').count();
            for (index, part) in level.split('.').enumerate() {
                labels.push((label_of(part).ok_or_else(invalid)?, index + 1 == parts));
            }
        }
        let found = Hierarchy { labels };
        match found.bytes() {
            Some(_) => Ok(found),
            None => Err(invalid()),
        }
    }

    fn is_whole(&self) -> bool {
        self.labels.last().is_none_or(|(_, ends)| *ends)
    }

    fn bytes(&self) -> Option<Vec<u8>> {
        let mut writer = BitWriter::default();
        self.labels.iter().try_for_each(|label| writer.label(*label))?;
        Some(writer.bytes)
    }

    /// The value that a column stores.
    ///
    /// # Errors
    /// 6522 with 24006 for a label outside of all ranges, and for more than 892 bytes.
    pub fn to_value(&self, method: Method) -> Result<Value> {
        let too_big = || {
            raised(
                "24006: SqlHierarchyId.WriteOrd failed because its result is too big.",
                method,
            )
        };
        self.bytes().map(Value::binary).ok_or_else(too_big)
    }

    /// Levels below the root.
    pub fn level(&self) -> usize {
        self.labels.iter().filter(|(_, ends)| *ends).count()
    }

    /// The node so many levels above; `None` above the root.
    pub fn ancestor(&self, levels: usize) -> Option<Hierarchy> {
        let kept = self.level().checked_sub(levels)?;
        Some(Hierarchy {
            labels: self.labels[..self.labels_of(kept)].to_vec(),
        })
    }

    /// How many labels the first levels have.
    fn labels_of(&self, levels: usize) -> usize {
        let ends = self.labels.iter().enumerate().filter(|(_, (_, ends))| *ends);
        let last = levels
            .checked_sub(1)
            .and_then(|index| ends.map(|(at, _)| at + 1).nth(index));
        last.unwrap_or(0)
    }

    /// Whether a node is this one or above it.
    pub fn is_descendant_of(&self, ancestor: &Hierarchy) -> bool {
        self.labels.starts_with(&ancestor.labels)
    }

    /// This node with the path to `new` in place of the path to `old`.
    ///
    /// # Errors
    /// 6522 with 24009 when `old` is not above it.
    pub fn reparented(&self, old: &Hierarchy, new: &Hierarchy) -> Result<Hierarchy> {
        let Some(below) = self.labels.strip_prefix(old.labels.as_slice()) else {
            let words = format!(
                "24009: SqlHierarchyId.GetReparentedValue failed because 'oldRoot' was not an ancestor node of 'this'.  'oldRoot' was '{old}', and 'this' was '{self}'."
            );
            return Err(raised(&words, Method::GetReparentedValue));
        };
        Ok(Hierarchy {
            labels: [new.labels.as_slice(), below].concat(),
        })
    }

    /// The labels of a child of this node.
    ///
    /// # Errors
    /// 6522 with 24008 when it is none.
    fn child<'c>(&self, name: &str, child: &'c Hierarchy) -> Result<&'c [Label]> {
        let below = child.labels.strip_prefix(self.labels.as_slice());
        let is_child = child.level() == self.level() + 1;
        below.filter(|_| is_child).ok_or_else(|| {
            let words = format!(
                "24008: SqlHierarchyId.GetDescendant failed because '{name}' must be a child of 'this'.  '{name}' was '{child}' and 'this' was '{self}'."
            );
            raised(&words, Method::GetDescendant)
        })
    }

    /// A child of this node behind `child1` and before `child2`.
    ///
    /// # Errors
    /// 6522 with 24008 when one is not a child of this node, with 24007 when the first is not before the second.
    pub fn descendant(&self, child1: Option<&Hierarchy>, child2: Option<&Hierarchy>) -> Result<Hierarchy> {
        let low = child1.map(|child| self.child("child1", child)).transpose()?;
        let high = child2.map(|child| self.child("child2", child)).transpose()?;
        let next = match (low, high) {
            (None, None) => vec![1],
            (Some(low), None) => moved(low, 1),
            (None, Some(high)) => moved(high, -1),
            (Some(low), Some(high)) => between(low, high).ok_or_else(|| {
                let shown = |child: Option<&Hierarchy>| child.map(Hierarchy::to_string).unwrap_or_default();
                let words = format!(
                    "24007: SqlHierarchyId.GetDescendant failed because 'child1' must be less than 'child2'.  'child1' was '{}' and 'child2' was '{}'.",
                    shown(child1),
                    shown(child2)
                );
                raised(&words, Method::GetDescendant)
            })?,
        };
        let last = next.len().saturating_sub(1);
        let next = next
            .into_iter()
            .enumerate()
            .map(|(index, label)| (label, index == last));
        Ok(Hierarchy {
            labels: self.labels.iter().copied().chain(next).collect(),
        })
    }

    /// The text as a value.
    ///
    /// # Errors
    /// 701 when there is no memory for it.
    pub fn to_text(&self) -> Result<Value> {
        let text = self.to_string();
        let charge = string_room(text.len())?;
        Ok(Value::Text(Text::charged(text, charge)))
    }
}

impl std::fmt::Display for Hierarchy {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("/")?;
        for (label, ends) in &self.labels {
            write!(formatter, "{label}{}", if *ends { '/' } else { '.' })?;
        }
        Ok(())
    }
}

/// A text or bytes as a path.
///
/// # Errors
/// 6522 with 24000 or 24001 for what is none.
pub fn to_hierarchy(value: &Value) -> Result<Value> {
    match value {
        Value::Text(text) => Hierarchy::from_text(text)?.to_value(Method::Parse),
        Value::Binary(bytes) => Hierarchy::from_bytes(bytes).map(|_| value.clone()),
        _ => Ok(Value::Null),
    }
}

/// A label as it is written: "Nodes cannot have leading zeros" (sql-docs, "hierarchyid data type method reference").
fn label_of(part: &str) -> Option<i64> {
    let digits = part.strip_prefix('-').unwrap_or(part);
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && (part == "0" || !digits.starts_with('0'));
    part.parse().ok().filter(|_| is_plain)
}

/// Labels whose last is the next or the one before.
fn moved(labels: &[Label], by: i64) -> Vec<i64> {
    let mut moved: Vec<i64> = labels.iter().map(|(label, _)| *label).collect();
    if let Some(last) = moved.last_mut() {
        *last += by;
    }
    moved
}

/// Labels behind `low` and before `high`: the next whole step where there is one, else one label more. `None` when `low` is not before `high`.
///
/// | low, high | between |
/// |---|---|
/// | `1`, `3` | `2` |
/// | `1`, `2` | `1.1` |
/// | `1.1`, `2` | `1.2` |
/// | `1`, `1.1` | `1.0` |
/// | `1.0`, `1.1` | `1.0.1` |
///
/// (dotMorten/Microsoft.SqlServer.Types, tests; efcore/EFCore.SqlServer.HierarchyId#17 with SQL Server's answers.)
fn between(low: &[Label], high: &[Label]) -> Option<Vec<i64>> {
    let plain = |labels: &[Label]| labels.iter().map(|(label, _)| *label).collect::<Vec<i64>>();
    let (low, high) = (plain(low), plain(high));
    let same = low.iter().zip(&high).take_while(|(low, high)| low == high).count();
    let mut between = low.get(..same)?.to_vec();
    match (low.get(same), high.get(same)) {
        (None, Some(above)) => between.push(above - 1),
        (Some(below), Some(above)) if below < above => match low.get(same + 1) {
            _ if below + 1 < *above => between.push(below + 1),
            None => between.extend([*below, 1]),
            Some(next) => between.extend([*below, next + 1]),
        },
        _ => return None,
    }
    Some(between)
}

/// A method that can fail, as the frames of .NET show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    GetAncestor,
    GetDescendant,
    GetReparentedValue,
    Parse,
    Read,
}

impl Method {
    fn signature(self) -> &'static str {
        match self {
            Method::GetAncestor => "GetAncestor(Int32 n)",
            Method::GetDescendant => "GetDescendant(SqlHierarchyId child1, SqlHierarchyId child2)",
            Method::GetReparentedValue => "GetReparentedValue(SqlHierarchyId oldRoot, SqlHierarchyId newRoot)",
            Method::Parse => "Parse(SqlString input)",
            Method::Read => "Read(BinaryReader r)",
        }
    }
}

/// 6522 with the exception that the method of `SqlHierarchyId` throws. Numbers and words as public posts show them: 24001, 24006, 24011. The words
/// of the other ones are those of Entity Framework's `HierarchyId`, which says the same.
fn raised(words: &str, method: Method) -> Error {
    messages::hierarchy_exception(words, method.signature())
}

/// 6522 with 24000: bytes that are no path.
pub fn invalid_bytes() -> Error {
    let words = "24000: SqlHierarchyId operation failed because HierarchyId object was constructed from an invalid binary string.";
    raised(words, Method::Read)
}

/// 6522 with 24011: an ancestor below the node.
pub fn negative_ancestor() -> Error {
    raised(
        "24011: SqlHierarchyId.GetAncestor failed because 'n' was negative.",
        Method::GetAncestor,
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn bytes_of(text: &str) -> String {
        let bytes = Hierarchy::from_text(text).unwrap().bytes().unwrap();
        bytes.iter().map(|byte| format!("{byte:02X}")).collect()
    }

    /// From files and SQL Server's answers: the sources are at the head of the module.
    const KNOWN: [(&str, &str); 46] = [
        ("/", ""),
        ("/0/", "48"),
        ("/1/", "58"),
        ("/3/", "78"),
        ("/4/", "84"),
        ("/7/", "9C"),
        ("/8/", "A2"),
        ("/15/", "BE"),
        ("/16/", "C110"),
        ("/79/", "DBF0"),
        ("/80/", "E00440"),
        ("/100/", "E02640"),
        ("/1103/", "EEEFC0"),
        ("/1104/", "F00088"),
        ("/2000/", "F1C088"),
        ("/5199/", "F7DDF8"),
        ("/5200/", "F80000000220"),
        ("/4294972495/", "FBFFFFBF77E0"),
        ("/4294972496/", "FC00000000000110"),
        ("/281479271683151/", "FFFFF7FFFFDFBBF0"),
        ("/-1/", "3F80"),
        ("/-8/", "3880"),
        ("/-9/", "2DF8"),
        ("/-72/", "2088"),
        ("/-73/", "1BEEFC"),
        ("/-200/", "1BE044"),
        ("/-1096/", "1B0044"),
        ("/-1097/", "1AEEFC"),
        ("/-4168/", "180044"),
        ("/-4169/", "17FFFFBF77E0"),
        ("/-4294971464/", "140000000220"),
        ("/-281479271682120/", "1000000000000110"),
        ("/1/1/3/", "5ADE"),
        ("/1/2/", "5B40"),
        ("/1/2/3/4/", "5B5F08"),
        ("/3/4/7/8/15/16/79/", "7C33D1BF823B7E"),
        ("/1/-1/", "59FC"),
        ("/1/-2.18/", "59FB0540"),
        ("/0.1/", "52C0"),
        ("/1.5/", "6460"),
        ("/1/2.5/3/", "5BA378"),
        ("/1.2.3/", "639E"),
        ("/-1.5/", "4460"),
        ("/1000000/-1000000/5200/", "F8003C9B7222FFF86380C7E00000000880"),
        ("/281479271683150.1/", "FFFFF7FFFFDFBBE580"),
        ("/1.281479271683151/", "67FFFFBFFFFEFDDF80"),
    ];

    #[test]
    fn paths_have_the_bytes_of_sql_server() {
        for (text, bytes) in KNOWN {
            assert_eq!(bytes_of(text), bytes, "{text}");
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        for (text, _) in KNOWN {
            let path = Hierarchy::from_text(text).unwrap();
            assert_eq!(path.to_string(), text);
            assert_eq!(Hierarchy::from_bytes(&path.bytes().unwrap()).unwrap(), path, "{text}");
        }
    }

    #[test]
    fn ranges_follow_one_another_without_gaps() {
        for pair in RANGES.windows(2) {
            assert_eq!(pair[0].first + (1 << pair[0].label_bits), pair[1].first);
            assert!(!pair[0].holds(pair[1].first) && pair[0].holds(pair[1].first - 1));
        }
    }

    #[test]
    fn bytes_order_as_a_walk_into_the_depth() {
        let walk = [
            "/",
            "/-281479271682120/",
            "/-4169/",
            "/-200/",
            "/-1/",
            "/-1.5/",
            "/0/",
            "/1/",
            "/1/-1/",
            "/1/1/",
            "/1/1/1/",
            "/1/2/",
            "/1/2.5/",
            "/1/3/",
            "/1.0/",
            "/1.1/",
            "/1.1/4/",
            "/2/",
            "/16/",
            "/80/",
            "/100/",
            "/1104/",
            "/5200/",
            "/4294972496/",
        ];
        for pair in walk.windows(2) {
            let bytes = |text| Hierarchy::from_text(text).unwrap().bytes().unwrap();
            assert!(bytes(pair[0]) < bytes(pair[1]), "{pair:?}");
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        let deep = format!("/{}", "1/".repeat(1_428));
        for text in [
            "",
            "1/",
            "/1",
            "//",
            "/1//2/",
            "/a/",
            "/01/",
            "/1.01/",
            "/-0/",
            "/+1/",
            "/9223372036854775807/",
            "/9223372036854775807.1/",
            "/-9223372036854775808/",
            "/-9223372036854775808.1/",
            "/1/ ",
            " /1/",
            "/1./",
            "/./",
            "/281479271683152/",
            "/-281479271682121/",
            "/281479271683151.1/",
            "/9223372036854775808/",
            &deep,
        ] {
            assert!(Hierarchy::from_text(text).is_err(), "{text}");
        }
        for bytes in [
            &[0x59][..],
            &[0x5A],
            &[0xFF],
            &[0xFF, 0xFF],
            &[0],
            &[1],
            &[0x48, 0xFF],
            &[0x58, 0x42],
            &[0x58, 0],
            &[0x64],
            &[0x30],
        ] {
            assert!(Hierarchy::from_bytes(bytes).is_err(), "{bytes:X?}");
        }
        let error = Hierarchy::from_text("/1/1").unwrap_err();
        assert_eq!((error.number, error.state), (6522, 2));
        assert!(
            error
                .message
                .contains("24001: SqlHierarchyId.Parse failed because the input string '/1/1' is not"),
            "{}",
            error.message
        );
    }

    /// Its labels were gathered whatever its length, sixteen bytes each, before the path was found to be too long; and the error had all of it.
    #[test]
    fn a_text_longer_than_every_path_is_refused_before_it_is_read() {
        let long = format!("/{}", "1/".repeat(1_000_000));
        let refused = Hierarchy::from_text(&long).unwrap_err();
        assert_eq!(refused.number, 6522);
        assert!(refused.message.len() < 5_000, "{}", refused.message.len());
    }

    #[test]
    fn any_bytes_are_a_path_or_refused_and_none_panics() {
        let mut state = 1_u64;
        for _ in 0..20_000 {
            let mut bytes = Vec::new();
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            for index in 0..(state >> 60) {
                bytes.push((state >> (index % 7 * 8)) as u8);
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            }
            if let Ok(path) = Hierarchy::from_bytes(&bytes) {
                assert_eq!(Hierarchy::from_text(&path.to_string()).unwrap(), path);
            }
        }
    }

    #[test]
    fn a_child_between_two_is_between_them() {
        let path = |text: &str| Hierarchy::from_text(text).unwrap();
        let optional = |text: &str| (!text.is_empty()).then(|| path(text));
        for (parent, low, high, found) in [
            ("/", "", "", "/1/"),
            ("/3/1/", "", "", "/3/1/1/"),
            ("/", "/1/", "", "/2/"),
            ("/", "", "/1/", "/0/"),
            ("/9/", "/9/1/", "/9/3/", "/9/2/"),
            ("/9/", "/9/1.1/", "/9/2/", "/9/1.2/"),
            ("/1/", "/1/1/", "/1/1.1/", "/1/1.0/"),
            ("/2/", "/2/1.0/", "/2/1.1/", "/2/1.0.1/"),
            ("/9/", "/9/1/", "/9/2/", "/9/1.1/"),
            ("/", "/9/", "/20/", "/10/"),
            ("/42/1/33.1/", "/42/1/33.1/1.5/", "/42/1/33.1/1.6/", "/42/1/33.1/1.5.1/"),
            ("/", "/-1/", "/0/", "/-1.1/"),
            ("/", "/1.5.2/", "/3/", "/2/"),
            ("/", "/1/", "/2.5/", "/1.1/"),
        ] {
            let (parent, low, high) = (path(parent), optional(low), optional(high));
            let between = parent.descendant(low.as_ref(), high.as_ref()).unwrap();
            assert_eq!(between.to_string(), found);
            let bytes = |path: &Hierarchy| path.bytes().unwrap();
            assert!(low.is_none_or(|low| bytes(&low) < bytes(&between)), "{found}");
            assert!(high.is_none_or(|high| bytes(&between) < bytes(&high)), "{found}");
        }
        for (parent, low, high) in [
            ("/", "/1/", "/1/"),
            ("/1/", "/1/3/", "/1/2/"),
            ("/1/", "/2/", ""),
            ("/", "/1/1/", ""),
            ("/1/", "", "/1/"),
            ("/", "/1.1/", "/1/"),
        ] {
            let (parent, low, high) = (path(parent), optional(low), optional(high));
            assert_eq!(parent.descendant(low.as_ref(), high.as_ref()).unwrap_err().number, 6522);
        }
        let last = path("/281479271683151/");
        let beyond = Hierarchy::default().descendant(Some(&last), None).unwrap();
        let error = beyond.to_value(Method::GetDescendant).unwrap_err();
        assert!(
            error.message.contains("24006: SqlHierarchyId.WriteOrd failed"),
            "{}",
            error.message
        );
    }

    #[test]
    fn nodes_move_with_what_is_below_them() {
        let path = |text: &str| Hierarchy::from_text(text).unwrap();
        let node = path("/1/2.5/3/");
        assert_eq!(node.level(), 3);
        assert_eq!(node.ancestor(1).unwrap(), path("/1/2.5/"));
        assert_eq!(node.ancestor(3).unwrap(), path("/"));
        assert_eq!(node.ancestor(4), None);
        assert!(node.is_descendant_of(&path("/1/")) && node.is_descendant_of(&node));
        assert!(!node.is_descendant_of(&path("/1/2/")) && !path("/").is_descendant_of(&node));
        assert_eq!(
            node.reparented(&path("/1/"), &path("/7/8/")).unwrap(),
            path("/7/8/2.5/3/")
        );
        assert_eq!(node.reparented(&path("/2/"), &path("/7/")).unwrap_err().number, 6522);
    }
}
