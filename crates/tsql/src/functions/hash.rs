//! Hashes of strings: HASHBYTES.

use digest::{Digest, DynDigest};
use engine::cancel;
use engine::error::Result;
use engine::types::{HeldValue, Length, SqlType, Value};

use super::Answer::Computed;
use super::Parameter::{Any, Text};
use super::{Call, Signature, signature};
use crate::messages;
use crate::plan::Expr;
use crate::scalar::convert::convert;

/// Bytes of a long value that are read and hashed at once.
const PIECE_BYTES: usize = 64 << 10;

pub(super) const FUNCTIONS: &[Signature] = &[signature("hashbytes", 2, &[Text, Any], Computed(hash_type), hashbytes)
    .told("algorithm, value: hash of a string by MD2, MD4, MD5, SHA or SHA1, SHA2_256 or SHA2_512; NULL by any other")];

/// "varchar, nvarchar, or varbinary" (SQL Server docs, "HASHBYTES").
fn hash_type(arguments: &[Expr]) -> Result<SqlType> {
    match arguments.get(1) {
        Some(hashed)
            if !hashed.sql_type.is_character() && !hashed.sql_type.is_binary() && !hashed.is_null_constant() =>
        {
            Err(messages::invalid_argument_type(hashed.sql_type.name(), 2, "hashbytes"))
        }
        _ => Ok(SqlType::VarBinary(Length::Limited(8000))),
    }
}

/// An algorithm by the name that HASHBYTES has for it.
fn algorithm(name: &str) -> Option<Box<dyn DynDigest>> {
    Some(match name.to_ascii_uppercase().as_str() {
        "MD2" => Box::new(md2::Md2::new()),
        "MD4" => Box::new(md4::Md4::new()),
        "MD5" => Box::new(md5::Md5::new()),
        "SHA" | "SHA1" => Box::new(sha1::Sha1::new()),
        "SHA2_256" => Box::new(sha2::Sha256::new()),
        "SHA2_512" => Box::new(sha2::Sha512::new()),
        _ => return None,
    })
}

/// Hashes a value that is read in parts.
fn hash_held(name: &str, held: &HeldValue) -> Result<Value> {
    let Some(mut algorithm) = algorithm(name) else {
        return Ok(Value::Null);
    };
    let (mut piece, mut at) = (Vec::new(), 0);
    while at < held.bytes() {
        held.read(at, PIECE_BYTES, &mut piece)?;
        cancel::spend_bytes(piece.len())?;
        algorithm.update(&piece);
        at += piece.len() as u64;
    }
    Ok(Value::Binary(algorithm.finalize().to_vec().into()))
}

/// Text is hashed as it is stored: varchar in its code page, nvarchar in UTF-16.
fn hashbytes(call: &Call<'_>) -> Result<Value> {
    let (Some(name), hashed) = (call.text(0), call.value(1)) else {
        return Ok(Value::Null);
    };
    if let Value::Held(held) = hashed {
        return hash_held(name, held);
    }
    let bytes = convert(hashed, call.argument_type(1), SqlType::VarBinary(Length::Max), None)?;
    Ok(match (algorithm(name), bytes) {
        (Some(mut algorithm), Value::Binary(bytes)) => {
            algorithm.update(&bytes);
            Value::Binary(algorithm.finalize().to_vec().into())
        }
        _ => Value::Null,
    })
}
