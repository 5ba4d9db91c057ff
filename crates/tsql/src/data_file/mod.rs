//! Files of rows, as bulk copy programs write them: what BULK INSERT and OPENROWSET(BULK ...) read.
//!
//! ```text
//! options.rs      what WITH (...) says                      format_text.rs, format_xml.rs   format files -> Format
//! layout.rs       the fields of a row, in the order of the file, and where each goes
//! source.rs       the bytes of a file, through a window of 64 KB
//! rowset.rs       what OPENROWSET reads of a file, and a file as one value
//! reader.rs       fields by prefix, length or terminator    quoted.rs   fields of FORMAT = 'CSV'
//! value.rs        the bytes of a field -> a value of its column      native.rs   the binary forms of bcp
//! ```
//! A row is a sequence of fields, and each field says by itself where it ends:
//!
//! ```text
//! terminated   bytes ... terminator                     char and widechar; the last terminator ends the row
//! prefixed     length (1, 2, 4 or 8 bytes) | bytes      native; a length of all ones is NULL
//! fixed        bytes                                    as many as the format file, or the type, says
//! ```
//! So a terminator inside of a field is looked for by that field alone: a row that has too few fields takes the next line as a part of it, as
//! in SQL Server. Only FORMAT = 'CSV' knows where a row ends before its last field.
//!
//! Invariant: memory is bounded by a window, and by a row: a field of a column that is not `max` has at most [`FIELD_BYTES_MAX`] bytes (4866),
//! a `max` one is charged as it grows (701). Fields that go nowhere are passed over.
//! Invariant: reading looks for cancellation at every piece of a field.
//!
//! Sources: sql-docs, "BULK INSERT", "Format files", "Specify field and row terminators", "Specify prefix length in data files", "Use native
//! format", and the errors from 4820 on.

mod format_text;
mod format_xml;
mod layout;
mod native;
mod options;
mod quoted;
mod reader;
mod rowset;
mod source;
mod value;

pub use layout::{Destination, FIELD_BYTES_MAX, Format, FormatColumn, Layout, read_format};
pub use options::{DataFileType, Options, Single};
pub use reader::{Fault, FaultKind, Read, Reader, ends_load, fault_error};
pub use rowset::{FileRowset, FormattedRows, RowsetContent, whole_value};
pub use source::{FileBytes, whole_text};
