//! Hashes of strings: HASHBYTES. Hashes of passwords: PWDENCRYPT, PWDCOMPARE.
//!
//! A hash of a password is 70 bytes: 0x0200, four random bytes, SHA-512 of the password in UTF-16 and of these four bytes. The older one
//! begins with 0x0100 and has SHA-1; a hash of SQL Server 2000 has a second one of the password in upper case behind it (sqlity.net, "How
//! does SQL Server store passwords?").

use digest::{Digest, DynDigest};
use engine::cancel;
use engine::error::Result;
use engine::types::{HeldValue, Length, SqlType, Value};

use super::Answer::{Computed, Fixed};
use super::Parameter::{Any, Int, Text};
use super::{Call, Signature, signature};
use crate::messages;
use crate::plan::Expr;
use crate::scalar::convert::convert;

/// Bytes of a long value that are read and hashed at once.
const PIECE_BYTES: usize = 64 << 10;

pub(super) const FUNCTIONS: &[Signature] = &[
    signature("hashbytes", 2, &[Text, Any], Computed(hash_type), hashbytes).told(
        "algorithm, value: hash of a string by MD2, MD4, MD5, SHA or SHA1, SHA2_256 or SHA2_512; NULL by any other",
    ),
    signature(
        "pwdcompare",
        2,
        &[Text, Any, Int],
        Fixed(SqlType::Int),
        compare_password,
    )
    .told("password, hash, version: 1 if the hash is one of the password, else 0; the version says nothing more"),
    signature(
        "pwdencrypt",
        1,
        &[Text],
        Fixed(SqlType::VarBinary(Length::Limited(128))),
        hash_password,
    )
    .told("password: a hash of it, each time another one"),
];

/// The first bytes of a hash of a password, of those with SHA-512 and of those with SHA-1.
const SHA2_PASSWORD: [u8; 2] = [2, 0];
const SHA1_PASSWORD: [u8; 2] = [1, 0];
const SALT_BYTES: usize = 4;

/// The hash of a password with a salt, as it is stored. `None` of a kind that there is not.
fn password_hash(kind: [u8; 2], salt: &[u8], password: &str) -> Option<Vec<u8>> {
    let mut algorithm: Box<dyn DynDigest> = match kind {
        SHA2_PASSWORD => Box::new(sha2::Sha512::new()),
        SHA1_PASSWORD => Box::new(sha1::Sha1::new()),
        _ => return None,
    };
    let units: Vec<u8> = password.encode_utf16().flat_map(u16::to_le_bytes).collect();
    algorithm.update(&units);
    algorithm.update(salt);
    Some([&kind, salt, &*algorithm.finalize()].concat())
}

fn hash_password(call: &Call<'_>) -> Result<Value> {
    let Some(password) = call.text(0) else {
        return Ok(Value::Null);
    };
    let salt = call.context.session.random.next_bits().to_le_bytes();
    Ok(password_hash(SHA2_PASSWORD, &salt[..SALT_BYTES], password).map_or(Value::Null, Value::binary))
}

/// NULL for a password or a hash that is NULL.
fn compare_password(call: &Call<'_>) -> Result<Value> {
    let bytes = convert(
        call.value(1),
        call.argument_type(1),
        SqlType::VarBinary(Length::Max),
        None,
    )?;
    let (Some(password), Value::Binary(hash)) = (call.text(0), bytes) else {
        return Ok(Value::Null);
    };
    let is_own = |hash: &[u8]| {
        let (kind, rest) = hash.split_first_chunk::<2>()?;
        let salt = rest.get(..SALT_BYTES)?;
        let own = password_hash(*kind, salt, password)?;
        // One of SQL Server 2000 goes on.
        let is_long_enough = hash.len() == own.len() || *kind == SHA1_PASSWORD && hash.len() == own.len() + 20;
        Some(is_long_enough && hash.starts_with(&own))
    };
    Ok(Value::Int(is_own(&hash).unwrap_or(false).into()))
}

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
