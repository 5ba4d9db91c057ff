//! Column values of a row as text, in the form `sqlcmd` prints them.

use tds_protocol::TypeId;
use tds_protocol::token::ColumnData;

/// On which side a column's values stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alignment {
    /// Text and the like.
    Left,
    /// Numbers.
    Right,
}

/// What a column's values are, as far as showing them depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// Exact and approximate numbers.
    Number,
    Bit,
    /// Characters, of a length that is bounded.
    Text,
    /// Characters without a bound: `(max)`, `text`, `ntext`, `xml`.
    LargeText,
    /// Bytes, of a length that is bounded.
    Binary,
    /// Bytes without a bound: `varbinary(max)`, `image`.
    LargeBinary,
    Variant,
    /// Dates, times, identifiers: all values take about the same room.
    Other,
}

/// A column of a result set, as far as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// Name, empty when it has none.
    pub name: String,
    /// Characters its widest value takes.
    pub width: usize,
    /// On which side values stand.
    pub alignment: Alignment,
    pub kind: ColumnKind,
}

/// A column of a result set, as far as its values are decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WireColumn {
    pub(super) name: String,
    pub(super) type_id: TypeId,
    /// Bytes at most, where the type says so.
    pub(super) length: u32,
    pub(super) precision: u8,
    pub(super) scale: u8,
    pub(super) is_max: bool,
    /// As it travels: LCID and flags, then the sort order.
    pub(super) collation: [u8; 5],
    encoding: &'static encoding_rs::Encoding,
}

/// Width given to types without a limit, as `sqlcmd` does.
const UNLIMITED_WIDTH: usize = 256;
const MAX_LENGTH: u32 = 0xFFFF;

impl Heading {
    pub(super) fn from_wire(column: &ColumnData) -> Heading {
        let alignment = if is_numeric(column.type_id) {
            Alignment::Right
        } else {
            Alignment::Left
        };
        Heading {
            name: column.name.clone(),
            width: width(column),
            alignment,
            kind: kind(column),
        }
    }
}

fn kind(column: &ColumnData) -> ColumnKind {
    use TypeId::*;
    let is_max = column.type_info.max_length == Some(MAX_LENGTH);
    match column.type_id {
        Bit | BitN => ColumnKind::Bit,
        type_id if is_numeric(type_id) => ColumnKind::Number,
        Text | NText | Xml => ColumnKind::LargeText,
        Image => ColumnKind::LargeBinary,
        Char | VarChar | BigChar | BigVarChar | NChar | NVarChar if is_max => ColumnKind::LargeText,
        Char | VarChar | BigChar | BigVarChar | NChar | NVarChar => ColumnKind::Text,
        Binary | VarBinary | BigBinary | BigVarBinary | Udt if is_max => ColumnKind::LargeBinary,
        Binary | VarBinary | BigBinary | BigVarBinary | Udt => ColumnKind::Binary,
        Variant => ColumnKind::Variant,
        _ => ColumnKind::Other,
    }
}

impl WireColumn {
    pub(super) fn from_wire(column: &ColumnData) -> WireColumn {
        let info = &column.type_info;
        let is_utf8 = info.collation.as_ref().is_some_and(|collation| collation.is_utf8());
        let code_page = info.collation.as_ref().and_then(|collation| collation.encoding());
        let fallback = if is_utf8 {
            encoding_rs::UTF_8
        } else {
            encoding_rs::WINDOWS_1252
        };
        let mut collation = [0; 5];
        if let Some(of) = &info.collation {
            let [first, second, third, fourth] = of.lcid.to_le_bytes();
            collation = [first, second, third, fourth, of.sort_id];
        }
        WireColumn {
            name: column.name.clone(),
            type_id: column.type_id,
            length: info.max_length.unwrap_or_default(),
            precision: info.precision.unwrap_or_default(),
            scale: info.scale.unwrap_or_default(),
            is_max: info.max_length == Some(MAX_LENGTH),
            collation,
            encoding: code_page.unwrap_or(fallback),
        }
    }
}

fn is_numeric(type_id: TypeId) -> bool {
    use TypeId::*;
    matches!(
        type_id,
        Int1 | Int2
            | Int4
            | Int8
            | IntN
            | Bit
            | BitN
            | Float4
            | Float8
            | FloatN
            | Money
            | Money4
            | MoneyN
            | Decimal
            | Numeric
            | DecimalN
            | NumericN
    )
}

/// Display width by type, as `sqlcmd` has it.
fn width(column: &ColumnData) -> usize {
    use TypeId::*;
    let length = column.type_info.max_length.unwrap_or_default();
    let characters = |per_byte: usize| {
        if length >= MAX_LENGTH {
            UNLIMITED_WIDTH
        } else {
            (length as usize / per_byte).max(1)
        }
    };
    match (column.type_id, length) {
        (Bit | BitN, _) => 1,
        (Int1, _) | (IntN, 1) => 3,
        (Int2, _) | (IntN, 2) => 6,
        (Int4, _) | (IntN, 4) => 11,
        (Int8, _) | (IntN, _) => 20,
        (Float4, _) | (FloatN, 4) => 14,
        (Float8, _) | (FloatN, _) => 24,
        (Money4, _) | (MoneyN, 4) => 12,
        (Money, _) | (MoneyN, _) => 21,
        (Decimal | Numeric | DecimalN | NumericN, _) => usize::from(column.type_info.precision.unwrap_or(38)) + 2,
        (DateTime4, _) | (DateTimeN, 4) => 19,
        (DateTime, _) | (DateTimeN, _) => 23,
        (Date, _) => 16,
        (Time, _) => 22,
        (DateTime2, _) => 38,
        (DateTimeOffset, _) => 45,
        (Guid, _) => 36,
        (NChar | NVarChar, _) => characters(2),
        (Char | VarChar | BigChar | BigVarChar, _) => characters(1),
        (Binary | VarBinary | BigBinary | BigVarBinary, _) => characters(1) * 2 + 2,
        _ => UNLIMITED_WIDTH,
    }
}

/// Takes a row apart; `None` when its bytes end too soon.
pub(super) fn decode_row(
    columns: &[WireColumn],
    data: &[u8],
    is_null: impl Fn(usize) -> bool,
) -> Option<Vec<Option<String>>> {
    let mut reader = Reader(data);
    let mut values = Vec::with_capacity(columns.len());
    for (index, column) in columns.iter().enumerate() {
        values.push(if is_null(index) { None } else { reader.value(column)? });
    }
    Some(values)
}

pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn value(&mut self, column: &WireColumn) -> Option<Option<String>> {
        Some(self.bytes(column)?.map(|bytes| text(column, &bytes)))
    }

    /// The outer option is for bytes that end too soon, the inner one is NULL.
    pub(super) fn bytes(&mut self, column: &WireColumn) -> Option<Option<Vec<u8>>> {
        use TypeId::*;
        Some(match column.type_id {
            Null => None,
            Int1 | Bit => Some(self.take(1)?.to_vec()),
            Int2 => Some(self.take(2)?.to_vec()),
            Int4 | Float4 | Money4 | DateTime4 => Some(self.take(4)?.to_vec()),
            Int8 | Float8 | Money | DateTime => Some(self.take(8)?.to_vec()),
            BigVarChar | BigVarBinary | NVarChar if column.is_max => self.chunks()?,
            Text | NText | Image | Xml | Udt => self.chunks()?,
            BigVarChar | BigVarBinary | NVarChar | BigChar | BigBinary | NChar => self.two_byte_length()?,
            Variant => self.variant()?,
            Char | VarChar | Binary | VarBinary => self.one_byte_length(0xFF)?,
            _ => self.one_byte_length(0)?,
        })
    }

    /// A value after one byte of length, of which `null` means NULL.
    fn one_byte_length(&mut self, null: u8) -> Option<Option<Vec<u8>>> {
        let length = *self.take(1)?.first()?;
        if length == null || length == 0xFF {
            return Some(None);
        }
        Some(Some(self.take(usize::from(length))?.to_vec()))
    }

    fn two_byte_length(&mut self) -> Option<Option<Vec<u8>>> {
        let length = u16::from_le_bytes(self.take(2)?.try_into().ok()?);
        if length == u16::MAX {
            return Some(None);
        }
        Some(Some(self.take(usize::from(length))?.to_vec()))
    }

    /// A `sql_variant`: its bytes as they are.
    fn variant(&mut self) -> Option<Option<Vec<u8>>> {
        let length = u32::from_le_bytes(self.take(4)?.try_into().ok()?);
        if length == 0 || length == u32::MAX {
            return Some(None);
        }
        Some(Some(self.take(length as usize)?.to_vec()))
    }

    /// A large value: total length, then chunks up to an empty one.
    fn chunks(&mut self) -> Option<Option<Vec<u8>>> {
        if u64::from_le_bytes(self.take(8)?.try_into().ok()?) == u64::MAX {
            return Some(None);
        }
        let mut bytes = Vec::new();
        loop {
            let length = u32::from_le_bytes(self.take(4)?.try_into().ok()?);
            if length == 0 {
                return Some(Some(bytes));
            }
            bytes.extend_from_slice(self.take(length as usize)?);
        }
    }
}

fn text(column: &WireColumn, bytes: &[u8]) -> String {
    use TypeId::*;
    match column.type_id {
        Int1 | Int2 | Int4 | Int8 | IntN if bytes.len() == 1 => unsigned(bytes).to_string(),
        Int1 | Int2 | Int4 | Int8 | IntN => signed(bytes).to_string(),
        Bit | BitN => unsigned(bytes).to_string(),
        Float4 | Float8 | FloatN => float(bytes),
        Money | Money4 | MoneyN => scaled(money(bytes), 4),
        Decimal | Numeric | DecimalN | NumericN => decimal(bytes, column.scale),
        DateTime | DateTime4 | DateTimeN => datetime(bytes),
        Date => date_text(days_from_year_one(bytes)),
        Time => time_text(unsigned(bytes), column.scale),
        DateTime2 => datetime2(bytes, column.scale),
        DateTimeOffset => datetimeoffset(bytes, column.scale),
        Guid => guid(bytes),
        NChar | NVarChar | NText | Xml => utf16(bytes),
        Char | VarChar | BigChar | BigVarChar | Text => {
            column.encoding.decode_without_bom_handling(bytes).0.into_owned()
        }
        _ => hexadecimal(bytes),
    }
}

fn unsigned(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .take(8)
        .rev()
        .fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn signed(bytes: &[u8]) -> i64 {
    let unused = 64 - 8 * bytes.len().clamp(1, 8) as u32;
    ((unsigned(bytes) << unused) as i64) >> unused
}

fn float(bytes: &[u8]) -> String {
    match bytes.len() {
        4 => f32::from_bits(unsigned(bytes) as u32).to_string(),
        _ => f64::from_bits(unsigned(bytes)).to_string(),
    }
}

/// Ten-thousandths. Eight bytes come with the upper half first.
fn money(bytes: &[u8]) -> i128 {
    match bytes.split_at_checked(4) {
        Some((high, low)) if low.len() == 4 => i128::from(signed(high)) << 32 | i128::from(unsigned(low)),
        _ => i128::from(signed(bytes)),
    }
}

/// A sign byte (1 is positive), then the magnitude.
fn decimal(bytes: &[u8], scale: u8) -> String {
    let Some((sign, magnitude)) = bytes.split_first() else {
        return String::new();
    };
    let magnitude = magnitude
        .iter()
        .take(16)
        .rev()
        .fold(0_u128, |value, byte| value << 8 | u128::from(*byte));
    let value = i128::try_from(magnitude).unwrap_or(i128::MAX);
    scaled(if *sign == 0 { -value } else { value }, scale)
}

/// As T-SQL prints it: `.50`, `-.50`, `3.25`.
pub(crate) fn scaled(value: i128, scale: u8) -> String {
    let sign = if value < 0 { "-" } else { "" };
    let digits = value.unsigned_abs().to_string();
    let scale = usize::from(scale);
    if scale == 0 {
        return format!("{sign}{digits}");
    }
    let padded = format!("{digits:0>scale$}");
    let (whole, fraction) = padded.split_at(padded.len() - scale);
    format!("{sign}{whole}.{fraction}")
}

/// Days from 0001-01-01 to 1900-01-01.
const DAYS_TO_1900: i64 = 693_595;

fn days_from_year_one(bytes: &[u8]) -> i64 {
    unsigned(bytes.get(..3).unwrap_or(bytes)) as i64
}

fn datetime(bytes: &[u8]) -> String {
    if let [day_low, day_high, minute_low, minute_high] = bytes {
        let minutes = u16::from_le_bytes([*minute_low, *minute_high]);
        let days = u16::from_le_bytes([*day_low, *day_high]);
        return format!(
            "{} {:02}:{:02}:00",
            date_text(DAYS_TO_1900 + i64::from(days)),
            minutes / 60,
            minutes % 60
        );
    }
    let (days, ticks) = bytes.split_at_checked(4).unwrap_or((bytes, &[]));
    let milliseconds = (unsigned(ticks) * 10 + 1) / 3;
    format!(
        "{} {}",
        date_text(DAYS_TO_1900 + signed(days)),
        time_text(milliseconds, 3)
    )
}

fn datetime2(bytes: &[u8], scale: u8) -> String {
    let (time, date) = bytes
        .split_at_checked(bytes.len().saturating_sub(3))
        .unwrap_or((bytes, &[]));
    format!(
        "{} {}",
        date_text(days_from_year_one(date)),
        time_text(unsigned(time), scale)
    )
}

/// The time on the wire is UTC; what is shown is local to the offset.
fn datetimeoffset(bytes: &[u8], scale: u8) -> String {
    let (moment, offset) = bytes
        .split_at_checked(bytes.len().saturating_sub(2))
        .unwrap_or((bytes, &[]));
    let (time, date) = moment
        .split_at_checked(moment.len().saturating_sub(3))
        .unwrap_or((moment, &[]));
    let offset = signed(offset);
    let per_second = 10_i64.pow(u32::from(scale.min(7)));
    let per_day = 86_400 * per_second;
    let local = unsigned(time) as i64 + offset * 60 * per_second;
    let day = days_from_year_one(date) + local.div_euclid(per_day);
    let sign = if offset < 0 { '-' } else { '+' };
    let (hours, minutes) = (offset.abs() / 60, offset.abs() % 60);
    format!(
        "{} {} {sign}{hours:02}:{minutes:02}",
        date_text(day),
        time_text(local.rem_euclid(per_day) as u64, scale)
    )
}

/// `units` of 10^-scale seconds since midnight.
pub(crate) fn time_text(units: u64, scale: u8) -> String {
    let per_second = 10_u64.pow(u32::from(scale.min(7)));
    let (seconds, fraction) = (units / per_second, units % per_second);
    let clock = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if scale == 0 {
        return clock;
    }
    format!("{clock}.{fraction:0width$}", width = usize::from(scale))
}

/// A count of days since 0001-01-01 in the proleptic Gregorian calendar.
pub(crate) fn date_text(days: i64) -> String {
    // Years are counted from March, so that the leap day is the last of its year.
    let shifted = days + 306;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// The first three groups are stored with their lowest byte first.
fn guid(bytes: &[u8]) -> String {
    let order = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    let mut out = String::with_capacity(36);
    for (position, index) in order.into_iter().enumerate() {
        if [4, 6, 8, 10].contains(&position) {
            out.push('-');
        }
        out.push_str(&format!("{:02X}", bytes.get(index).copied().unwrap_or_default()));
    }
    out
}

fn utf16(bytes: &[u8]) -> String {
    let units: Vec<u16> = bytes
        .chunks_exact(2)
        .map(|pair| pair.iter().rev().fold(0, |unit, byte| unit << 8 | u16::from(*byte)))
        .collect();
    String::from_utf16_lossy(&units)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::from("0x"), |text, byte| text + &format!("{byte:02X}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(type_id: TypeId, scale: u8) -> WireColumn {
        WireColumn {
            name: String::new(),
            type_id,
            length: 0,
            precision: 0,
            scale,
            is_max: false,
            collation: [0; 5],
            encoding: encoding_rs::WINDOWS_1252,
        }
    }

    fn shown(type_id: TypeId, scale: u8, data: &[u8]) -> Option<String> {
        decode_row(&[column(type_id, scale)], data, |_| false).and_then(|mut row| row.remove(0))
    }

    #[test]
    fn values_as_sqlcmd_prints_them() {
        for (type_id, scale, data, text) in [
            (TypeId::IntN, 0, &[4, 0xFE, 0xFF, 0xFF, 0xFF][..], "-2"),
            (TypeId::IntN, 0, &[1, 0xFF], "255"),
            (TypeId::Int2, 0, &[0x00, 0x80], "-32768"),
            (TypeId::BitN, 0, &[1, 1], "1"),
            (TypeId::MoneyN, 0, &[8, 0, 0, 0, 0, 0x88, 0x13, 0, 0], ".5000"),
            (
                TypeId::MoneyN,
                0,
                &[8, 0xFF, 0xFF, 0xFF, 0xFF, 0xF0, 0xD8, 0xFF, 0xFF],
                "-1.0000",
            ),
            (TypeId::DecimalN, 2, &[5, 0, 0x45, 0x01, 0, 0], "-3.25"),
            (TypeId::FloatN, 0, &[8, 0, 0, 0, 0, 0, 0, 0xF8, 0x3F], "1.5"),
            (
                TypeId::DateTimeN,
                0,
                &[8, 0, 0, 0, 0, 1, 0, 0, 0],
                "1900-01-01 00:00:00.003",
            ),
            (TypeId::DateTimeN, 0, &[4, 1, 0, 61, 0], "1900-01-02 01:01:00"),
            (TypeId::Date, 0, &[3, 0, 0, 0], "0001-01-01"),
            (TypeId::Date, 0, &[3, 0xDA, 0xB9, 0x37], "9999-12-31"),
            (
                TypeId::DateTime2,
                0,
                &[6, 59, 0, 0, 0x5B, 0x95, 0x0A],
                "1900-01-01 00:00:59",
            ),
            (TypeId::NVarChar, 0, &[2, 0, 0xE9, 0x00], "é"),
            (TypeId::BigVarChar, 0, &[1, 0, 0xE9], "é"),
            (TypeId::BigVarBinary, 0, &[2, 0, 0xCA, 0xFE], "0xCAFE"),
        ] {
            assert_eq!(shown(type_id, scale, data).as_deref(), Some(text), "{type_id:?}");
        }
    }

    #[test]
    fn null_is_not_empty() {
        assert_eq!(shown(TypeId::IntN, 0, &[0]), None);
        assert_eq!(shown(TypeId::NVarChar, 0, &[0xFF, 0xFF]), None);
        assert_eq!(shown(TypeId::NVarChar, 0, &[0, 0]), Some(String::new()));
    }

    #[test]
    fn bytes_that_end_too_soon_are_noticed() {
        assert_eq!(decode_row(&[column(TypeId::Int4, 0)], &[1, 2], |_| false), None);
    }
}
