//! The scalar types of T-SQL: the values of a column, and their form in memory, in a row and in an index key.
//!
//! * [`SqlType`] is the declared type with its length, precision and scale; [`Value`] is one value of it.
//! * [`RowLayout`] turns values into the bytes of a row and reads single columns back without touching the others.
//! * [`encode_key_part`] turns values into bytes whose unsigned order is the order of the values.
//! * [`collation`] holds the collations, [`calendar`] the arithmetic of days, [`cp1252`] the code page of
//!   `char` and `varchar`.
//!
//! Invariants: a value that went through [`RowLayout::encode`] comes back equal (character columns of fixed length come
//! back padded); two strings are equal under a collation exactly when their keys under it are the same bytes.

pub mod calendar;
pub mod collation;
pub mod cp1252;
mod decimal;
mod held;
mod joined;
mod key;
pub mod off_row;
mod row;
mod shared;
mod spelled;
mod sql_type;
mod transfer;
mod value;
mod variant;

pub use collation::{COLLATION_VERSION, Collation};
pub use decimal::{Decimal, POWERS_OF_TEN};
pub use held::{HELD_BYTES_MIN, HeldForm, HeldSource, HeldValue};
pub use joined::Joined;
pub use key::{
    KeyDirection, decode_key_part, encode_key_part, encode_key_prefix, encode_stored_key_part, is_read_back,
};
pub use row::{ROW_BYTES_MAX, RowColumns, RowLayout, Stored};
pub use shared::{Bytes, LARGE_BYTES_MIN, STRING_BYTES_MAX, Text, string_room};
pub use spelled::{float_text, key_text};
pub use sql_type::{GEOGRAPHY_TYPE_ID, GEOMETRY_TYPE_ID, HIERARCHY_BYTES_MAX, Length, SqlType, XML_TYPE_ID};
pub use transfer::{ColumnSource, EncodedRows, RowTransfer};
pub use value::Value;
pub use variant::{VARIANT_BYTES_MAX, Variant};
