//! The fields of a row in the order of the file, and the columns that they go to.
//!
//! ```text
//! Format   fields | columns                    what a format file says, of either kind
//! Layout   fields, each with its destination   what the reader goes by: from a Format, or from the columns of a table
//! ```

use engine::error::Result;
use engine::types::{Collation, Length, SqlType, cp1252};

use super::format_text;
use super::format_xml;
use super::options::{CodePage, DataFileType, Mark, Options};
use super::source::{FileBytes, whole_text};
use crate::messages;

/// Most bytes of a field whose column is not `max`.
pub const FIELD_BYTES_MAX: u64 = 64 << 10;
/// Most fields of a format file: as many as a table has columns (sql-docs, "Maximum capacity specifications").
pub(super) const FIELDS_MAX: usize = 1_024;

/// How the bytes of a field are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Host {
    /// Characters of a code page, or of UTF-8.
    Char,
    /// Characters of UTF-16, little-endian.
    NChar,
    Binary,
    /// A value of this type, as bcp writes it.
    Native(SqlType),
}

impl Host {
    /// Bytes of what a terminator is a multiple of.
    pub(super) fn unit_bytes(self) -> u64 {
        match self {
            Host::NChar => 2,
            Host::Char | Host::Binary | Host::Native(_) => 1,
        }
    }
}

/// What ends a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Terminator {
    /// As it is in the file; empty without one.
    pub(super) bytes: Vec<u8>,
    /// Whether a carriage return before it belongs to it: `\n` of a statement.
    pub(super) with_return: bool,
    /// The same with a carriage return in front of its line feed: a longer text that ends in `\n` ends a row before either. Else empty.
    pub(super) returned: Vec<u8>,
}

/// A field of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) host: Host,
    /// 0, 1, 2, 4 or 8.
    pub(super) prefix_bytes: u8,
    /// Bytes that it has, or at most has before its terminator; 0 when nothing says so.
    pub(super) bytes_max: u64,
    pub(super) terminator: Terminator,
    /// The destination; `None` for a field that is passed over.
    pub(super) to: Option<usize>,
}

/// A column that fields go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    pub name: String,
    pub sql_type: SqlType,
    pub collation: Collation,
    /// Whether NULL may come from the file, as NULL or for the column's default.
    pub nullable: bool,
}

/// The fields of a row, for the reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    pub(super) fields: Vec<Field>,
}

/// What a format file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    pub(super) fields: Vec<Field>,
    /// The columns that fields go to.
    pub columns: Vec<FormatColumn>,
    /// Whether fields of bytes have the type of their column: XML says no other.
    pub(super) is_xml: bool,
}

/// A column of a format file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatColumn {
    /// The field that it gets, from 0.
    pub field: usize,
    /// The column of the table, from 1.
    pub place: usize,
    pub name: String,
    /// Its type in OPENROWSET; `None` where the file does not say it.
    pub sql_type: Option<SqlType>,
    pub nullable: bool,
}

/// Reads a format file, XML or not.
///
/// # Errors
/// 4820 to 4829, 4839 and 4855 to 4874 for what is wrong in it; 4862.
pub fn read_format(file: &dyn FileBytes) -> Result<Format> {
    let text = whole_text(file)?;
    match text.trim_start().starts_with('<') {
        true => format_xml::read(file.name(), &text),
        false => format_text::read(file.name(), &text),
    }
}

impl Layout {
    /// The fields of a format file, each with where `to` says that its column goes.
    pub fn of_format(
        format: &Format,
        destinations: &[Destination],
        to: impl Fn(&FormatColumn) -> Option<usize>,
    ) -> Layout {
        let mut fields = format.fields.clone();
        for column in &format.columns {
            let Some(field) = fields.get_mut(column.field) else {
                continue;
            };
            field.to = to(column);
            if format.is_xml {
                let own = field.to.and_then(|to| destinations.get(to)).map(|own| own.sql_type);
                // The bytes are those of the type in the file; the table's may be another.
                let in_file = column.sql_type.or(own);
                in_file
                    .into_iter()
                    .for_each(|sql_type| format_xml::set_native(field, sql_type));
            }
        }
        Layout { fields }
    }

    /// A field for each column of a table, in their order. `columns` has the type of each, whether it may be NULL, and its destination.
    ///
    /// # Errors
    /// 40517 for a type that has no native form here.
    pub fn of_columns(columns: &[(SqlType, bool, Option<usize>)], options: &Options) -> Result<Layout> {
        let last = columns.len().saturating_sub(1);
        let fields = columns.iter().enumerate().map(|(place, (sql_type, nullable, to))| {
            let field = match options.data_file_type {
                DataFileType::Char => text_field(Host::Char, place == last, options),
                DataFileType::WideChar => text_field(Host::NChar, place == last, options),
                DataFileType::Native => native_field(*sql_type, *nullable, Host::Char)?,
                DataFileType::WideNative => native_field(*sql_type, *nullable, Host::NChar)?,
            };
            Ok(Field { to: *to, ..field })
        });
        let fields = fields.collect::<Result<_>>()?;
        Ok(Layout { fields })
    }

    /// The same fields with characters of the other width: a file has shown which it has.
    pub fn widened(&mut self, options: &Options, wide: bool) {
        let last = self.fields.len().saturating_sub(1);
        let host = if wide { Host::NChar } else { Host::Char };
        for (place, field) in self.fields.iter_mut().enumerate() {
            *field = Field {
                to: field.to,
                ..text_field(host, place == last, options)
            };
        }
    }
}

fn text_field(host: Host, is_last: bool, options: &Options) -> Field {
    let mark = match is_last {
        true => options.row_terminator(),
        false => options.field_terminator(),
    };
    let with_return = is_last && mark == Mark::Text("\n".to_owned());
    let longer = match &mark {
        Mark::Text(text) if is_last && !with_return => text.strip_suffix('\n').filter(|rest| !rest.ends_with('\r')),
        Mark::Text(_) | Mark::Bytes(_) => None,
    };
    let returned = longer.map(|rest| encoded(&Mark::Text(format!("{rest}\r\n")), host, options.code_page));
    Field {
        host,
        prefix_bytes: 0,
        bytes_max: 0,
        terminator: Terminator {
            bytes: encoded(&mark, host, options.code_page),
            with_return,
            returned: returned.unwrap_or_default(),
        },
        to: None,
    }
}

/// A terminator as it is in a file. Where no code page is said, characters are those of 1252.
pub(super) fn encoded(mark: &Mark, host: Host, page: CodePage) -> Vec<u8> {
    match (mark, host) {
        (Mark::Bytes(bytes), Host::NChar) if !bytes.len().is_multiple_of(2) => {
            bytes.iter().flat_map(|byte| [*byte, 0]).collect()
        }
        (Mark::Bytes(bytes), _) => bytes.clone(),
        (Mark::Text(text), Host::NChar) => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        (Mark::Text(text), Host::Char | Host::Binary | Host::Native(_)) => match page {
            CodePage::Utf8 => text.as_bytes().to_vec(),
            CodePage::OfColumn | CodePage::Latin => {
                let mut bytes = Vec::with_capacity(text.len());
                cp1252::encode_into(text, &mut bytes);
                bytes
            }
        },
    }
}

fn native_field(sql_type: SqlType, nullable: bool, text: Host) -> Result<Field> {
    let of_length = |host, length| {
        let prefix_bytes = match length {
            Length::Limited(_) => 2,
            Length::Max | Length::Xml => 8,
            Length::LargeObject => 4,
        };
        (host, prefix_bytes)
    };
    let (host, prefix_bytes) = match sql_type {
        SqlType::Char(length) => of_length(text, Length::Limited(length)),
        SqlType::VarChar(length) => of_length(text, length),
        SqlType::NChar(length) => of_length(Host::NChar, Length::Limited(length)),
        SqlType::NVarChar(length) => of_length(Host::NChar, length),
        SqlType::Binary(length) => of_length(Host::Binary, Length::Limited(length)),
        SqlType::VarBinary(length) => of_length(Host::Binary, length),
        SqlType::RowVersion => (Host::Binary, 1),
        SqlType::HierarchyId | SqlType::Geometry | SqlType::Geography => (Host::Binary, 8),
        // "bcp's native format contains the json document as varchar or nvarchar" (sql-docs, "JSON data type").
        SqlType::Json => of_length(Host::NChar, Length::Max),
        SqlType::SqlVariant => return Err(messages::not_supported("sql_variant in files of native format")),
        SqlType::Decimal { .. } | SqlType::UniqueIdentifier => (Host::Native(sql_type), 1),
        SqlType::Bit
        | SqlType::TinyInt
        | SqlType::SmallInt
        | SqlType::Int
        | SqlType::BigInt
        | SqlType::Money
        | SqlType::SmallMoney
        | SqlType::Real
        | SqlType::Float
        | SqlType::Date
        | SqlType::Time { .. }
        | SqlType::DateTime
        | SqlType::SmallDateTime
        | SqlType::DateTime2 { .. }
        | SqlType::DateTimeOffset { .. } => (Host::Native(sql_type), u8::from(nullable)),
    };
    Ok(Field {
        host,
        prefix_bytes,
        bytes_max: 0,
        terminator: Terminator::default(),
        to: None,
    })
}
