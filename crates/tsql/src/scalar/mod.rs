//! T-SQL's operators and conversions on values: pure functions over [`engine::types::Value`].
//!
//! The static type is passed with the value, because a value alone does not show whether its characters are single-byte or how long its
//! column is. Every function here is total: bad input is an error with SQL Server's number, never a panic.

pub mod arithmetic;
pub mod base64;
pub mod compare;
pub mod convert;
pub mod data_type;
pub mod hierarchy;
pub mod json;
pub mod json_type;
mod label;
pub mod language;
pub mod like;
pub mod moment;
pub mod moment_format;
pub mod moment_parse;
pub mod number;
pub mod row_place;
pub mod search;
pub mod served;
pub mod spatial;
pub mod text_pointer;
pub mod time_zone;
mod wide;
pub mod widening;
pub mod windows;
pub mod xml;
pub mod xml_text;
pub mod xquery;

pub use label::{Conflict, Label};
