//! COMPRESS and DECOMPRESS: bytes in the form of gzip; CRYPT_GEN_RANDOM.

use std::io::Read;

use engine::error::{Error, Result};
use engine::memory::Charge;
use engine::types::{Length, SqlType, Value, string_room};
use flate2::Compression;
use flate2::bufread::GzEncoder;
use flate2::bufread::MultiGzDecoder;

use super::Answer::{Computed, Fixed};
use super::Parameter::{Any, Int};
use super::{Call, Signature, signature};
use crate::messages;
use crate::plan::Expr;
use crate::scalar::convert::convert;

const MAX: SqlType = SqlType::VarBinary(Length::Max);
/// What is read at once.
const PIECE_BYTES: usize = 65_536;
/// Bytes that CRYPT_GEN_RANDOM makes at most (sql-docs, its page).
const RANDOM_BYTES_MAX: i64 = 8_000;

pub(super) const FUNCTIONS: &[Signature] = &[
    signature("compress", 1, &[Any], Computed(compressed_type), compress)
        .told("value: the bytes of a string, compressed by gzip"),
    signature(
        "crypt_gen_random",
        1,
        &[Int, Any],
        Fixed(SqlType::VarBinary(Length::Limited(8_000))),
        random,
    )
    .told("length, seed: so many random bytes, of the operating system; a seed adds nothing that could be guessed"),
    signature("decompress", 1, &[Any], Computed(decompressed_type), decompress)
        .told("bytes: what was compressed by COMPRESS or another gzip, as varbinary(max)"),
];

/// "nvarchar(n), nvarchar(max), varchar(n), varchar(max), varbinary(n), varbinary(max), char(n), nchar(n), or binary(n)" (sql-docs, COMPRESS).
fn compressed_type(arguments: &[Expr]) -> Result<SqlType> {
    match arguments.first() {
        Some(value) if !value.sql_type.is_character() && !value.sql_type.is_binary() && !value.is_null_constant() => {
            Err(messages::invalid_argument_type(value.sql_type.name(), 1, "Compress"))
        }
        _ => Ok(MAX),
    }
}

/// "varbinary(n), varbinary(max), or binary(n)" (sql-docs, DECOMPRESS).
fn decompressed_type(arguments: &[Expr]) -> Result<SqlType> {
    match arguments.first() {
        Some(value) if !value.sql_type.is_binary() && !value.is_null_constant() => {
            Err(messages::invalid_argument_type(value.sql_type.name(), 1, "Decompress"))
        }
        _ => Ok(MAX),
    }
}

/// All that a reader gives, with the memory for it asked piece by piece.
fn read_all(mut reader: impl Read) -> Result<Option<Vec<u8>>> {
    let (mut all, mut charge) = (Vec::new(), Charge::default());
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let Ok(count) = reader.read(&mut piece) else {
            return Ok(None);
        };
        if count == 0 {
            return Ok(Some(all));
        }
        engine::cancel::spend_bytes(count)?;
        // It is also bound by the length of a value.
        drop(string_room(all.len() + count)?);
        charge.grow_to((all.len() + count) as u64)?;
        all.extend_from_slice(piece.get(..count).unwrap_or_default());
    }
}

/// Text is compressed as it is stored: varchar in its code page, nvarchar in UTF-16.
fn compress(call: &Call<'_>) -> Result<Value> {
    let Value::Binary(bytes) = convert(call.value(0), call.argument_type(0), MAX, None)? else {
        return Ok(Value::Null);
    };
    let read = read_all(GzEncoder::new(&bytes[..], Compression::default()))?;
    read.map(Value::binary)
        .ok_or_else(|| Error::assertion("bytes in memory were not compressed"))
}

/// # Errors
/// 1023 for bytes that are no gzip.
fn decompress(call: &Call<'_>) -> Result<Value> {
    let Value::Binary(bytes) = call.value(0) else {
        return Ok(Value::Null);
    };
    let read = read_all(MultiGzDecoder::new(&bytes[..]))?;
    read.map(Value::binary)
        .ok_or_else(|| messages::invalid_parameter(1, "decompress"))
}

/// # Errors
/// 1023 for a length outside of 1 to 8000.
fn random(call: &Call<'_>) -> Result<Value> {
    let Some(length) = call.integer(0) else {
        return Ok(Value::Null);
    };
    let length = usize::try_from(length)
        .ok()
        .filter(|length| (1..=RANDOM_BYTES_MAX).contains(&(*length as i64)));
    let length = length.ok_or_else(|| messages::invalid_parameter(1, "crypt_gen_random"))?;
    let mut bytes = vec![0; length];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::assertion(&format!("the operating system gave no random bytes: {error}")))?;
    Ok(Value::binary(bytes))
}
