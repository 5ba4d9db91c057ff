//! A self-signed certificate, for a server that was given none.
//!
//! ```text
//! Certificate ::= SEQUENCE { TBSCertificate, ecdsa-with-SHA256, BIT STRING signature }        (RFC 5280, 4.1; RFC 5758, 3.2)
//! TBSCertificate ::= SEQUENCE { [0] version 3, serial number, ecdsa-with-SHA256, issuer, validity, subject, public key on P-256,
//!                               [3] extensions: key usage, extended key usage (a server), other names (DNS names, addresses) }
//! ```
//! Every value is DER: a tag, the length in as few bytes as there can be, the contents.
//!
//! SQL Server makes itself such a certificate, too, with an RSA key, at every start; this one is kept, so that a client can pin it.

use std::net::IpAddr;

use engine::seams::civil_from_days;
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};

use super::EncryptionError;

const BOOLEAN: u8 = 0x01;
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;
const OBJECT_IDENTIFIER: u8 = 0x06;
const UTF8_STRING: u8 = 0x0C;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
/// `[2]` and `[7]` of GeneralName: a DNS name, an address.
const DNS_NAME: u8 = 0x82;
const IP_ADDRESS: u8 = 0x87;
/// `[0]` and `[3]` of TBSCertificate.
const VERSION: u8 = 0xA0;
const EXTENSIONS: u8 = 0xA3;

/// 1.2.840.10045.4.3.2, ecdsa-with-SHA256.
const ECDSA_WITH_SHA256: [u8; 8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02];
/// 1.2.840.10045.2.1, a public key on an elliptic curve.
const EC_PUBLIC_KEY: [u8; 7] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01];
/// 1.2.840.10045.3.1.7, the curve P-256.
const P256: [u8; 8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07];
/// 2.5.4.3, a common name.
const COMMON_NAME: [u8; 3] = [0x55, 0x04, 0x03];
/// 2.5.29.15, .17 and .37.
const KEY_USAGE: [u8; 3] = [0x55, 0x1D, 0x0F];
const OTHER_NAMES: [u8; 3] = [0x55, 0x1D, 0x11];
const EXTENDED_KEY_USAGE: [u8; 3] = [0x55, 0x1D, 0x25];
/// 1.3.6.1.5.5.7.3.1, proof of being a server.
const SERVER_AUTHENTICATION: [u8; 8] = [0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01];

const SERIAL_NUMBER_BYTES: usize = 16;
const SECONDS_PER_DAY: u64 = 86_400;

/// What a certificate is to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelfSigned {
    /// The DNS names of the server, the first of them also its common name.
    pub names: Vec<String>,
    pub addresses: Vec<IpAddr>,
    /// From when on it is valid, in seconds since 1970.
    pub not_before: u64,
    /// Until when.
    pub not_after: u64,
}

impl SelfSigned {
    /// Makes the certificate under a new key: both as DER, the key as PKCS #8.
    ///
    /// # Errors
    /// There is no randomness.
    pub fn make(&self) -> Result<(Vec<u8>, Vec<u8>), EncryptionError> {
        let failed = |what: &str| EncryptionError::new(format!("no certificate can be made: {what}"));
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_ASN1_SIGNING;
        let key = EcdsaKeyPair::generate_pkcs8(algorithm, &random).map_err(|_| failed("there is no randomness"))?;
        let pair =
            EcdsaKeyPair::from_pkcs8(algorithm, key.as_ref(), &random).map_err(|_| failed("the key is refused"))?;
        let mut serial = [0; SERIAL_NUMBER_BYTES];
        random.fill(&mut serial).map_err(|_| failed("there is no randomness"))?;
        let body = self.body(serial, pair.public_key().as_ref());
        let signature = pair.sign(&random, &body).map_err(|_| failed("it cannot be signed"))?;
        let certificate = value(SEQUENCE, &[&body, &algorithm_of_signature(), &bits(signature.as_ref())]);
        Ok((certificate, key.as_ref().to_vec()))
    }

    fn body(&self, mut serial: [u8; SERIAL_NUMBER_BYTES], public_key: &[u8]) -> Vec<u8> {
        // Positive, and without a leading zero byte.
        serial[0] = serial[0] & 0x3F | 0x40;
        let common_name = self.names.first().map_or("vlflab", String::as_str);
        let name = value(
            SEQUENCE,
            &[&value(
                SET,
                &[&value(
                    SEQUENCE,
                    &[
                        &value(OBJECT_IDENTIFIER, &[&COMMON_NAME]),
                        &value(UTF8_STRING, &[common_name.as_bytes()]),
                    ],
                )],
            )],
        );
        let validity = value(SEQUENCE, &[&time(self.not_before), &time(self.not_after)]);
        let curve = value(
            SEQUENCE,
            &[
                &value(OBJECT_IDENTIFIER, &[&EC_PUBLIC_KEY]),
                &value(OBJECT_IDENTIFIER, &[&P256]),
            ],
        );
        value(
            SEQUENCE,
            &[
                // Version 3 is written as 2.
                &value(VERSION, &[&value(INTEGER, &[&[2]])]),
                &value(INTEGER, &[&serial]),
                &algorithm_of_signature(),
                &name,
                &validity,
                &name,
                &value(SEQUENCE, &[&curve, &bits(public_key)]),
                &value(EXTENSIONS, &[&self.extensions()]),
            ],
        )
    }

    fn extensions(&self) -> Vec<u8> {
        let mut names: Vec<u8> = Vec::new();
        for name in &self.names {
            names.extend(value(DNS_NAME, &[name.as_bytes()]));
        }
        for address in &self.addresses {
            names.extend(match address {
                IpAddr::V4(address) => value(IP_ADDRESS, &[&address.octets()]),
                IpAddr::V6(address) => value(IP_ADDRESS, &[&address.octets()]),
            });
        }
        // Bit 0, digital signature, of a string whose last seven bits are unused.
        let key_usage = value(BIT_STRING, &[&[7, 0x80]]);
        let server = value(SEQUENCE, &[&value(OBJECT_IDENTIFIER, &[&SERVER_AUTHENTICATION])]);
        value(
            SEQUENCE,
            &[
                &extension(&KEY_USAGE, true, &key_usage),
                &extension(&EXTENDED_KEY_USAGE, false, &server),
                &extension(&OTHER_NAMES, false, &value(SEQUENCE, &[&names])),
            ],
        )
    }
}

fn extension(identifier: &[u8], critical: bool, contents: &[u8]) -> Vec<u8> {
    let critical = match critical {
        true => value(BOOLEAN, &[&[0xFF]]),
        // The default is left out.
        false => Vec::new(),
    };
    let parts: [&[u8]; 3] = [
        &value(OBJECT_IDENTIFIER, &[identifier]),
        &critical,
        &value(OCTET_STRING, &[contents]),
    ];
    value(SEQUENCE, &parts)
}

fn algorithm_of_signature() -> Vec<u8> {
    value(SEQUENCE, &[&value(OBJECT_IDENTIFIER, &[&ECDSA_WITH_SHA256])])
}

/// A string of whole bytes as bits: none of the last byte is unused.
fn bits(bytes: &[u8]) -> Vec<u8> {
    value(BIT_STRING, &[&[0], bytes])
}

/// Seconds since 1970 as UTCTime, from 2050 on as GeneralizedTime (RFC 5280, 4.1.2.5).
fn time(unix_seconds: u64) -> Vec<u8> {
    let days = i64::try_from(unix_seconds / SECONDS_PER_DAY).unwrap_or(i64::MAX);
    let (year, month, day) = civil_from_days(days);
    let second = unix_seconds % SECONDS_PER_DAY;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let rest = format!("{month:02}{day:02}{hour:02}{minute:02}{second:02}Z");
    match year < 2050 {
        true => value(UTC_TIME, &[format!("{:02}{rest}", year % 100).as_bytes()]),
        false => value(GENERALIZED_TIME, &[format!("{year:04}{rest}").as_bytes()]),
    }
}

/// A tag, the length of the parts together, and the parts.
fn value(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let mut out = vec![tag];
    let bytes = length.to_be_bytes();
    let significant = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len() - 1);
    let significant = &bytes[significant..];
    if length >= 0x80 {
        // At most eight of them, so that the count has its place below the bit.
        out.push(0x80 | significant.len() as u8);
    }
    out.extend_from_slice(significant);
    parts.iter().for_each(|part| out.extend_from_slice(part));
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn lengths_take_as_few_bytes_as_they_can() {
        for (length, begins) in [
            (0, &[4_u8, 0][..]),
            (0x7F, &[4, 0x7F]),
            (0x80, &[4, 0x81, 0x80]),
            (0xFF, &[4, 0x81, 0xFF]),
            (0x100, &[4, 0x82, 1, 0]),
        ] {
            let made = value(OCTET_STRING, &[&vec![9; length]]);
            assert_eq!(made.len(), begins.len() + length);
            assert!(made.starts_with(begins), "{length}");
        }
    }

    #[test]
    fn times_before_and_after_2050() {
        assert_eq!(time(0), [&[UTC_TIME, 13][..], b"700101000000Z"].concat());
        assert_eq!(time(2_524_607_999), [&[UTC_TIME, 13][..], b"491231235959Z"].concat());
        assert_eq!(
            time(2_524_608_000),
            [&[GENERALIZED_TIME, 15][..], b"20500101000000Z"].concat()
        );
    }
}
