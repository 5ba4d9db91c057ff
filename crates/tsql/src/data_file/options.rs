//! The options of BULK INSERT and OPENROWSET(BULK ...).
//!
//! | CODEPAGE | characters of `char` fields |
//! |---|---|
//! | not given, `RAW` | the code page of the column, 1252 or UTF-8 |
//! | `ACP`, `1252` | code page 1252 |
//! | `65001` | UTF-8 |
//! | `OEM`, any other | refused by its name (40517) |
//!
//! SQL Server takes the OEM code page of its machine where none is given. A machine without one has none to take.

use engine::error::{Error, Result};

use crate::ast::{ExpressionKind, Literal, OptionValue};
use crate::messages;

/// Errors in rows that are passed over where nothing else is said.
const ERRORS_MAX: u64 = 10;
/// Bytes of a terminator at most (sql-docs, "Specify field and row terminators": ten characters).
const TERMINATOR_CHARACTERS_MAX: usize = 10;

/// DATAFILETYPE: the form of characters and of other values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataFileType {
    #[default]
    Char,
    WideChar,
    Native,
    WideNative,
}

/// What OPENROWSET reads a file as, when it is one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Single {
    Blob,
    Clob,
    NClob,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum CodePage {
    /// That of the column.
    #[default]
    OfColumn,
    Latin,
    Utf8,
}

/// A terminator as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// Characters, which are in a file as its code page has them.
    Text(String),
    /// Bytes in hexadecimal notation, which are in a file as they are.
    Bytes(Vec<u8>),
}

/// The options of a statement, read once.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub data_file_type: DataFileType,
    pub(super) code_page: CodePage,
    field_terminator: Option<Mark>,
    row_terminator: Option<Mark>,
    /// FORMAT = 'CSV': what quotes a field.
    pub(super) quote: Option<char>,
    /// The first row to be read, from 1; 0 is the first, too.
    pub(super) first_row: u64,
    /// The last row to be read; `None` for all.
    pub(super) last_row: Option<u64>,
    pub format_file: Option<String>,
    /// Rows of a transaction; `None` for all.
    pub batch_rows: Option<u64>,
    errors_max: Option<u64>,
    pub error_file: Option<String>,
    pub keeps_identity: bool,
    pub keeps_nulls: bool,
    pub checks_constraints: bool,
    pub fires_triggers: bool,
    pub locks_table: bool,
    pub single: Option<Single>,
}

impl Options {
    /// Errors in rows that are passed over.
    pub fn errors_max(&self) -> u64 {
        self.errors_max.unwrap_or(ERRORS_MAX)
    }

    pub(super) fn field_terminator(&self) -> Mark {
        let of_kind = if self.quote.is_some() { "," } else { "\t" };
        self.field_terminator
            .clone()
            .unwrap_or_else(|| Mark::Text(of_kind.to_owned()))
    }

    pub(super) fn row_terminator(&self) -> Mark {
        self.row_terminator
            .clone()
            .unwrap_or_else(|| Mark::Text("\n".to_owned()))
    }

    /// Reads a WITH list whose words are known.
    ///
    /// # Errors
    /// 4840 for a value that an option cannot have; 4880; 4802; 40517 for code pages there are none of, and for options that exclude each other.
    pub fn read(list: &[OptionValue]) -> Result<Options> {
        let mut options = Options::default();
        let mut quote = None;
        let mut is_quoted = false;
        for option in list {
            match option.name.as_str() {
                "FIELDQUOTE" => quote = Some(one_character(option)?),
                "FORMAT" => is_quoted = true,
                name => options.take(name, option)?,
            }
        }
        match (is_quoted, quote) {
            (true, quote) => options.quote = Some(quote.unwrap_or('"')),
            (false, Some(_)) => return Err(messages::not_supported("FIELDQUOTE without FORMAT = 'CSV'")),
            (false, None) => {}
        }
        options.check(list.len())?;
        Ok(options)
    }

    fn take(&mut self, name: &str, option: &OptionValue) -> Result<()> {
        match name {
            "DATAFILETYPE" => {
                self.data_file_type = match text(option)?.to_ascii_lowercase().as_str() {
                    "char" => DataFileType::Char,
                    "widechar" => DataFileType::WideChar,
                    "native" => DataFileType::Native,
                    "widenative" => DataFileType::WideNative,
                    _ => return Err(invalid(option)),
                }
            }
            "CODEPAGE" => {
                let page = code_page(option)?;
                self.code_page = match page.to_ascii_uppercase().as_str() {
                    "RAW" => CodePage::OfColumn,
                    "ACP" | "1252" => CodePage::Latin,
                    "65001" => CodePage::Utf8,
                    _ => return Err(messages::not_supported(&format!("CODEPAGE = '{page}'"))),
                }
            }
            "FIELDTERMINATOR" => self.field_terminator = Some(terminator(option)?),
            "ROWTERMINATOR" => self.row_terminator = Some(terminator(option)?),
            "FIRSTROW" => self.first_row = number(option)?,
            "LASTROW" => self.last_row = Some(number(option)?).filter(|row| *row > 0),
            "BATCHSIZE" => self.batch_rows = Some(number(option)?).filter(|rows| *rows > 0),
            "MAXERRORS" => self.errors_max = Some(number(option)?),
            "FORMATFILE" => self.format_file = Some(text(option)?),
            "ERRORFILE" => self.error_file = Some(text(option)?),
            "KEEPIDENTITY" => self.keeps_identity = true,
            "KEEPNULLS" => self.keeps_nulls = true,
            "CHECK_CONSTRAINTS" => self.checks_constraints = true,
            "FIRE_TRIGGERS" => self.fires_triggers = true,
            "TABLOCK" => self.locks_table = true,
            "SINGLE_BLOB" => self.set_single(Single::Blob)?,
            "SINGLE_CLOB" => self.set_single(Single::Clob)?,
            "SINGLE_NCLOB" => self.set_single(Single::NClob)?,
            // Hints for plans, and ORDER, which the statement reads.
            "ROWS_PER_BATCH" | "KILOBYTES_PER_BATCH" => {
                number(option)?;
            }
            "ORDER" => {}
            other => return Err(Error::assertion(&format!("the option {other} is not admitted"))),
        }
        Ok(())
    }

    fn set_single(&mut self, single: Single) -> Result<()> {
        match self.single.replace(single) {
            None => Ok(()),
            Some(_) => Err(messages::single_excludes_others()),
        }
    }

    fn check(&self, count: usize) -> Result<()> {
        if self.single.is_some() && count > 1 {
            return Err(messages::single_excludes_others());
        }
        if self.last_row.is_some_and(|last| self.first_row > last) {
            return Err(messages::first_row_after_last());
        }
        let is_native = matches!(self.data_file_type, DataFileType::Native | DataFileType::WideNative);
        if is_native && (self.field_terminator.is_some() || self.row_terminator.is_some()) {
            return Err(messages::not_supported("terminators in files of native format"));
        }
        if self.quote.is_some() && is_native {
            return Err(messages::not_supported("FORMAT = 'CSV' in files of native format"));
        }
        if self.format_file.is_some() {
            // A format file says all of these itself.
            let said_twice = [
                (self.quote.is_some(), "FORMAT = 'CSV' with FORMATFILE"),
                (self.field_terminator.is_some(), "FIELDTERMINATOR with FORMATFILE"),
                (self.row_terminator.is_some(), "ROWTERMINATOR with FORMATFILE"),
                (
                    self.data_file_type != DataFileType::Char,
                    "DATAFILETYPE with FORMATFILE",
                ),
            ];
            if let Some((_, what)) = said_twice.into_iter().find(|(is_said, _)| *is_said) {
                return Err(messages::not_supported(what));
            }
        }
        Ok(())
    }
}

fn invalid(option: &OptionValue) -> Error {
    let value = match option.value.as_ref().map(|value| &value.kind) {
        Some(ExpressionKind::Literal(Literal::Text(text) | Literal::NationalText(text))) => text.clone(),
        Some(ExpressionKind::Literal(Literal::Integer(number))) => number.to_string(),
        _ => String::new(),
    };
    messages::bulk_option_value(&option.name, &value)
}

fn text(option: &OptionValue) -> Result<String> {
    match option.value.as_ref().map(|value| &value.kind) {
        Some(ExpressionKind::Literal(Literal::Text(text) | Literal::NationalText(text))) => Ok(text.clone()),
        _ => Err(messages::incorrect_syntax_near(&option.name)),
    }
}

/// A code page, which may be written as a number or a word as well.
fn code_page(option: &OptionValue) -> Result<String> {
    match (option.word(), number(option)) {
        (Some(word), _) => Ok(word),
        (None, Ok(page)) => Ok(page.to_string()),
        (None, Err(_)) => text(option),
    }
}

fn number(option: &OptionValue) -> Result<u64> {
    match option.value.as_ref().map(|value| &value.kind) {
        Some(ExpressionKind::Literal(Literal::Integer(number))) => u64::try_from(*number).map_err(|_| invalid(option)),
        Some(ExpressionKind::Literal(Literal::Decimal(decimal))) if decimal.scale == 0 => {
            u64::try_from(decimal.unscaled).map_err(|_| invalid(option))
        }
        _ => Err(messages::incorrect_syntax_near(&option.name)),
    }
}

fn one_character(option: &OptionValue) -> Result<char> {
    let text = text(option)?;
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (Some(quote), None) if quote.is_ascii() => Ok(quote),
        _ => Err(invalid(option)),
    }
}

fn terminator(option: &OptionValue) -> Result<Mark> {
    let terminator = mark_of(&text(option)?);
    let length = match &terminator {
        Mark::Text(text) => text.chars().count(),
        Mark::Bytes(bytes) => bytes.len(),
    };
    match length {
        1..=TERMINATOR_CHARACTERS_MAX => Ok(terminator),
        _ => Err(invalid(option)),
    }
}

/// A terminator with its escapes, or its bytes in hexadecimal notation (sql-docs, "Specify field and row terminators").
pub(super) fn mark_of(text: &str) -> Mark {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    if let Some(bytes) = digits.and_then(crate::scalar::convert::parse_hexadecimal)
        && !bytes.is_empty()
    {
        return Mark::Bytes(bytes);
    }
    let mut plain = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            plain.push(character);
            continue;
        }
        match characters.next() {
            Some('t') => plain.push('\t'),
            Some('n') => plain.push('\n'),
            Some('r') => plain.push('\r'),
            Some('0') => plain.push('\0'),
            Some('\\') | None => plain.push('\\'),
            Some(other) => plain.extend(['\\', other]),
        }
    }
    Mark::Text(plain)
}
