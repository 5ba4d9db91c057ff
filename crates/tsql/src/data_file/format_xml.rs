//! Format files of XML (sql-docs, "XML format files").
//!
//! ```text
//! <BCPFORMAT xmlns="http://schemas.microsoft.com/sqlserver/2004/bulkload/format" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
//!   <RECORD> <FIELD ID="1" xsi:type="CharTerm" TERMINATOR="," MAX_LENGTH="12"/> ... </RECORD>
//!   <ROW>    <COLUMN SOURCE="1" NAME="id" xsi:type="SQLINT"/> ... </ROW>
//! </BCPFORMAT>
//! ```
//! | xsi:type of a field | bytes |
//! |---|---|
//! | NativeFixed, CharFixed, NCharFixed | LENGTH |
//! | NativePrefix, CharPrefix, NCharPrefix | behind a PREFIX_LENGTH of 1, 2, 4 or 8 bytes |
//! | CharTerm, NCharTerm | before a TERMINATOR |
//!
//! Fields without a column are passed over. The first column goes to the first one of the table, and so on.

use engine::error::{Error, Result};
use engine::types::{Length, SqlType};

use super::format_text::{check_collation, host_of};
use super::layout::{FIELDS_MAX, Field, Format, FormatColumn, Host, Terminator, encoded};
use super::native;
use super::options::{CodePage, mark_of};
use crate::messages;
use crate::scalar::xquery::{Document, NodeId, NodeKind};

/// The namespace of the elements.
const NAMESPACE: &str = "http://schemas.microsoft.com/sqlserver/2004/bulkload/format";

struct Reading<'d> {
    document: &'d Document,
    file: &'d str,
}

/// Reads the text of a format file.
///
/// # Errors
/// 4855 to 4859 and 4872 to 4874, each with the name of the file; those of XML that is not well formed.
pub(super) fn read(file: &str, text: &str) -> Result<Format> {
    let document = Document::read(text)?;
    let reading = Reading {
        document: &document,
        file,
    };
    let root = reading.elements(0, &["BCPFORMAT"])?;
    let [root] = root.as_slice() else {
        return Err(reading.unexpected("BCPFORMAT"));
    };
    let parts = reading.elements(*root, &["RECORD", "ROW"])?;
    let [record, row] = parts.as_slice() else {
        return Err(reading.unexpected("BCPFORMAT"));
    };
    if reading.name(*record) != "RECORD" || reading.name(*row) != "ROW" {
        return Err(reading.unexpected(reading.name(*record)));
    }
    let (fields, ids) = reading.fields(*record)?;
    let columns = reading.columns(*row, &ids, &fields)?;
    Ok(Format {
        fields,
        columns,
        is_xml: true,
    })
}

impl Reading<'_> {
    fn name(&self, node: NodeId) -> &str {
        self.document.node(node).local_name()
    }

    /// 4855. Which line it is, the tree does not say.
    fn unexpected(&self, element: &str) -> Error {
        messages::format_element(self.file, element)
    }

    fn missing(&self, attribute: &str) -> Error {
        messages::format_attribute_missing(self.file, attribute)
    }

    fn bad(&self, attribute: &str, value: &str) -> Error {
        messages::format_attribute_value(self.file, attribute, value)
    }

    /// The elements below a node, of these names alone.
    fn elements(&self, node: NodeId, names: &[&str]) -> Result<Vec<NodeId>> {
        let mut elements = Vec::new();
        for child in self.document.children(node) {
            engine::cancel::spend(1)?;
            let own = self.document.node(child);
            match own.kind {
                NodeKind::Element if own.namespace == NAMESPACE && names.contains(&own.local_name()) => {
                    elements.push(child);
                }
                NodeKind::Element => return Err(self.unexpected(own.local_name())),
                NodeKind::Text if !own.value.trim().is_empty() => return Err(self.unexpected("#text")),
                NodeKind::Text | NodeKind::Comment | NodeKind::Instruction => {}
                NodeKind::Document | NodeKind::Attribute => {}
            }
        }
        Ok(elements)
    }

    fn attribute(&self, node: NodeId, name: &str) -> Option<&str> {
        let mut attributes = self.document.attributes(node).map(|id| self.document.node(id));
        let found = attributes.find(|attribute| attribute.name == name)?;
        Some(&found.value)
    }

    fn required(&self, node: NodeId, name: &str) -> Result<&str> {
        self.attribute(node, name).ok_or_else(|| self.missing(name))
    }

    /// `xsi:type`, whatever the prefix is.
    fn kind(&self, node: NodeId) -> Result<&str> {
        let mut attributes = self.document.attributes(node).map(|id| self.document.node(id));
        let found = attributes.find(|attribute| attribute.name.contains(':') && attribute.local_name() == "type");
        found
            .map(|attribute| attribute.value.as_str())
            .ok_or_else(|| self.missing("xsi:type"))
    }

    fn number(&self, node: NodeId, name: &str) -> Result<Option<u64>> {
        let Some(value) = self.attribute(node, name) else {
            return Ok(None);
        };
        let number = value.trim().parse::<u64>().ok();
        let number = number.filter(|number| i32::try_from(*number).is_ok());
        number.map(Some).ok_or_else(|| self.bad(name, value))
    }

    fn fields(&self, record: NodeId) -> Result<(Vec<Field>, Vec<String>)> {
        let (mut fields, mut ids) = (Vec::new(), Vec::new());
        for node in self.elements(record, &["FIELD"])? {
            let id = self.required(node, "ID")?.to_owned();
            if ids.contains(&id) {
                return Err(messages::format_id_twice(self.file, &id));
            }
            check_collation(
                self.attribute(node, "COLLATION").unwrap_or_default(),
                fields.len() + 1,
                self.file,
            )?;
            fields.push(self.field(node)?);
            ids.push(id);
            if fields.len() > FIELDS_MAX {
                return Err(messages::format_column_count(self.file));
            }
        }
        match fields.is_empty() {
            true => Err(messages::format_column_count(self.file)),
            false => Ok((fields, ids)),
        }
    }

    fn field(&self, node: NodeId) -> Result<Field> {
        let kind = self.kind(node)?;
        let mut field = Field {
            host: Host::Char,
            prefix_bytes: 0,
            bytes_max: 0,
            terminator: Terminator::default(),
            to: None,
        };
        let (host, how) = match kind {
            "NativeFixed" => (Host::Binary, "LENGTH"),
            "NativePrefix" => (Host::Binary, "PREFIX_LENGTH"),
            "CharFixed" => (Host::Char, "LENGTH"),
            "CharPrefix" => (Host::Char, "PREFIX_LENGTH"),
            "CharTerm" => (Host::Char, "TERMINATOR"),
            "NCharFixed" => (Host::NChar, "LENGTH"),
            "NCharPrefix" => (Host::NChar, "PREFIX_LENGTH"),
            "NCharTerm" => (Host::NChar, "TERMINATOR"),
            other => return Err(self.bad("xsi:type", other)),
        };
        field.host = host;
        match how {
            "LENGTH" => {
                let length = self.number(node, "LENGTH")?.ok_or_else(|| self.missing("LENGTH"))?;
                if length == 0 {
                    return Err(self.bad("LENGTH", "0"));
                }
                field.bytes_max = length;
            }
            "PREFIX_LENGTH" => {
                let prefix = self.number(node, how)?.ok_or_else(|| self.missing(how))?;
                if ![1, 2, 4, 8].contains(&prefix) {
                    return Err(self.bad(how, &prefix.to_string()));
                }
                field.prefix_bytes = u8::try_from(prefix).unwrap_or(8);
                field.bytes_max = self.number(node, "MAX_LENGTH")?.unwrap_or(0);
            }
            _ => {
                let terminator = self.required(node, how)?;
                field.terminator.bytes = encoded(&mark_of(terminator), host, CodePage::Latin);
                if field.terminator.bytes.is_empty() {
                    return Err(self.bad(how, terminator));
                }
                field.bytes_max = self.number(node, "MAX_LENGTH")?.unwrap_or(0);
            }
        }
        Ok(field)
    }

    fn columns(&self, row: NodeId, ids: &[String], fields: &[Field]) -> Result<Vec<FormatColumn>> {
        let mut columns: Vec<FormatColumn> = Vec::new();
        for node in self.elements(row, &["COLUMN"])? {
            let source = self.required(node, "SOURCE")?;
            let field = ids.iter().position(|id| id == source);
            let field = field.ok_or_else(|| messages::format_id_unknown(self.file, source))?;
            if columns.iter().any(|other| other.field == field) {
                return Err(messages::format_id_used_twice(self.file, source));
            }
            let name = self.required(node, "NAME")?.to_owned();
            let sql_type = match self.kind(node) {
                Ok(kind) => self.column_type(node, kind, &fields[field])?,
                // A type that is not said is that of the characters.
                Err(_) if fields[field].host == Host::NChar => SqlType::NVarChar(Length::Max),
                Err(_) => SqlType::VarChar(Length::Max),
            };
            let bytes = fields[field].bytes_max;
            let is_fixed = fields[field].host == Host::Binary && fields[field].prefix_bytes == 0;
            if is_fixed && native::fixed_bytes(sql_type).is_some_and(|fixed| fixed != bytes) {
                return Err(self.bad("LENGTH", &bytes.to_string()));
            }
            let nullable = match self.attribute(node, "NULLABLE") {
                None => true,
                Some(word) if word.eq_ignore_ascii_case("YES") => true,
                Some(word) if word.eq_ignore_ascii_case("NO") => false,
                Some(other) => return Err(self.bad("NULLABLE", other)),
            };
            columns.push(FormatColumn {
                field,
                place: columns.len() + 1,
                name,
                sql_type: Some(sql_type),
                nullable,
            });
        }
        match columns.is_empty() {
            true => Err(messages::format_column_count(self.file)),
            false => Ok(columns),
        }
    }

    /// The type of a column, from `xsi:type` with LENGTH, PRECISION and SCALE.
    fn column_type(&self, node: NodeId, kind: &str, field: &Field) -> Result<SqlType> {
        let text_bytes = match field.host {
            Host::NChar => field.bytes_max / 2,
            Host::Char | Host::Binary | Host::Native(_) => field.bytes_max,
        };
        let length = self.number(node, "LENGTH")?.unwrap_or(text_bytes);
        let limited = |most: u64| match length {
            1.. if length <= most => Length::Limited(u16::try_from(length).unwrap_or(u16::MAX)),
            _ => Length::Max,
        };
        let fixed = |most: u64| u16::try_from(length.clamp(1, most)).unwrap_or(1);
        let scale = match self.number(node, "SCALE")? {
            None => None,
            Some(scale @ 0..=38) => u8::try_from(scale).ok(),
            Some(other) => return Err(self.bad("SCALE", &other.to_string())),
        };
        let fraction = scale.unwrap_or(7).min(7);
        Ok(match kind.to_ascii_uppercase().as_str() {
            "SQLCHAR" => SqlType::Char(fixed(8_000)),
            "SQLVARYCHAR" => SqlType::VarChar(limited(8_000)),
            "SQLNCHAR" => SqlType::NChar(fixed(4_000)),
            "SQLNVARCHAR" => SqlType::NVarChar(limited(4_000)),
            "SQLBINARY" => SqlType::Binary(fixed(8_000)),
            "SQLVARYBIN" => SqlType::VarBinary(limited(8_000)),
            "SQLIMAGE" | "SQLUDT" => SqlType::VarBinary(Length::Max),
            "SQLTEXT" => SqlType::VarChar(Length::Max),
            "SQLNTEXT" | "SQLXML" => SqlType::NVarChar(Length::Max),
            "SQLTIME" => SqlType::Time { scale: fraction },
            "SQLDATETIME2" => SqlType::DateTime2 { scale: fraction },
            "SQLDATETIMEOFFSET" => SqlType::DateTimeOffset { scale: fraction },
            "SQLDECIMAL" | "SQLNUMERIC" => {
                let precision = self.number(node, "PRECISION")?.unwrap_or(18);
                let precision = u8::try_from(precision).ok().filter(|digits| (1..=38).contains(digits));
                let precision = precision.ok_or_else(|| self.bad("PRECISION", ""))?;
                let scale = scale.unwrap_or(0);
                if scale > precision {
                    return Err(self.bad("SCALE", &scale.to_string()));
                }
                SqlType::Decimal { precision, scale }
            }
            other => match host_of(other) {
                Some((Host::Native(sql_type), _)) => sql_type,
                _ => return Err(self.bad("xsi:type", kind)),
            },
        })
    }
}

/// Gives the fields of native bytes the types of the columns that they go to: the fields of XML do not say theirs.
pub(super) fn set_native(field: &mut Field, to: SqlType) {
    let is_clr = to == SqlType::HierarchyId || to.is_spatial();
    if field.host == Host::Binary && !to.is_binary() && to != SqlType::RowVersion && !is_clr {
        field.host = match to {
            SqlType::Char(_) | SqlType::VarChar(_) => Host::Char,
            SqlType::NChar(_) | SqlType::NVarChar(_) => Host::NChar,
            other => Host::Native(other),
        };
    }
}
