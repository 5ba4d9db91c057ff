//! ring's cipher suites with a hand in them: what a client seals can be changed before it is sealed. Such a record is wrong, and
//! still of the one who has the keys, so it comes to where nothing that was changed on its way does.

use super::edits::Edit;
use rustls::crypto::cipher::{
    AeadKey, Iv, KeyBlockShape, MessageDecrypter, MessageEncrypter, OutboundChunks, OutboundOpaqueMessage,
    OutboundPlainMessage, Tls12AeadAlgorithm, Tls13AeadAlgorithm, UnsupportedOperationError,
};
use rustls::crypto::ring::cipher_suite;
use rustls::crypto::{CipherSuiteCommon, CryptoProvider};
use rustls::{ConnectionTrafficSecrets, ContentType, SupportedCipherSuite, Tls12CipherSuite, Tls13CipherSuite};
use std::cell::RefCell;

/// What is to be done to the records that this thread's client seals.
#[derive(Default)]
struct Hand {
    /// Sealed so far.
    sealed: usize,
    edits: Vec<Edit>,
    /// Kind and contents of the next record, in place of its own.
    forged: Option<(u8, Vec<u8>)>,
}

thread_local! {
    static HAND: RefCell<Hand> = RefCell::default();
}

/// A new conversation of this thread begins; `edits` change what is sealed, each the record of its number.
pub fn begin(edits: &[Edit]) {
    HAND.set(Hand {
        edits: edits.to_vec(),
        ..Hand::default()
    });
}

/// The next record that is sealed has this kind and these contents.
pub fn forge(kind: u8, contents: Vec<u8>) {
    HAND.with_borrow_mut(|hand| hand.forged = Some((kind, contents)));
}

/// What becomes of a record; None when it stays as it is.
fn changed(message: &OutboundPlainMessage<'_>) -> Option<(ContentType, Vec<u8>)> {
    HAND.with_borrow_mut(|hand| {
        let number = hand.sealed;
        hand.sealed += 1;
        if let Some((kind, contents)) = hand.forged.take() {
            return Some((kind.into(), contents));
        }
        let mut edits = hand
            .edits
            .iter()
            .filter(|edit| edit.place_of_flight() == number)
            .peekable();
        edits.peek()?;
        let (mut kind, mut contents) = (u8::from(message.typ), message.payload.to_vec());
        edits.for_each(|edit| edit.change_unsealed(&mut kind, &mut contents));
        Some((kind.into(), contents))
    })
}

struct Encrypter(Box<dyn MessageEncrypter>);

impl MessageEncrypter for Encrypter {
    fn encrypt(
        &mut self,
        message: OutboundPlainMessage<'_>,
        number: u64,
    ) -> Result<OutboundOpaqueMessage, rustls::Error> {
        let Some((typ, contents)) = changed(&message) else {
            return self.0.encrypt(message, number);
        };
        let changed = OutboundPlainMessage {
            typ,
            version: message.version,
            payload: OutboundChunks::Single(&contents),
        };
        self.0.encrypt(changed, number)
    }

    fn encrypted_payload_len(&self, bytes: usize) -> usize {
        self.0.encrypted_payload_len(bytes)
    }
}

struct Aead12(&'static dyn Tls12AeadAlgorithm);

impl Tls12AeadAlgorithm for Aead12 {
    fn encrypter(&self, key: AeadKey, iv: &[u8], extra: &[u8]) -> Box<dyn MessageEncrypter> {
        Box::new(Encrypter(self.0.encrypter(key, iv, extra)))
    }

    fn decrypter(&self, key: AeadKey, iv: &[u8]) -> Box<dyn MessageDecrypter> {
        self.0.decrypter(key, iv)
    }

    fn key_block_shape(&self) -> KeyBlockShape {
        self.0.key_block_shape()
    }

    fn extract_keys(
        &self,
        key: AeadKey,
        iv: &[u8],
        explicit: &[u8],
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        self.0.extract_keys(key, iv, explicit)
    }
}

struct Aead13(&'static dyn Tls13AeadAlgorithm);

impl Tls13AeadAlgorithm for Aead13 {
    fn encrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageEncrypter> {
        Box::new(Encrypter(self.0.encrypter(key, iv)))
    }

    fn decrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageDecrypter> {
        self.0.decrypter(key, iv)
    }

    fn key_len(&self) -> usize {
        self.0.key_len()
    }

    fn extract_keys(&self, key: AeadKey, iv: Iv) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        self.0.extract_keys(key, iv)
    }
}

/// Those that fit a server whose key is on a curve.
const SUITES: [SupportedCipherSuite; 6] = [
    cipher_suite::TLS13_AES_256_GCM_SHA384,
    cipher_suite::TLS13_AES_128_GCM_SHA256,
    cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
    cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    cipher_suite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
];

fn common(of: &CipherSuiteCommon) -> CipherSuiteCommon {
    CipherSuiteCommon {
        suite: of.suite,
        hash_provider: of.hash_provider,
        confidentiality_limit: of.confidentiality_limit,
    }
}

/// A suite with the hand in it. rustls knows suites by references that live as long as the program.
fn with_a_hand(suite: SupportedCipherSuite) -> SupportedCipherSuite {
    match suite {
        SupportedCipherSuite::Tls12(inner) => SupportedCipherSuite::Tls12(Box::leak(Box::new(Tls12CipherSuite {
            common: common(&inner.common),
            prf_provider: inner.prf_provider,
            kx: inner.kx,
            sign: inner.sign,
            aead_alg: Box::leak(Box::new(Aead12(inner.aead_alg))),
        }))),
        SupportedCipherSuite::Tls13(inner) => SupportedCipherSuite::Tls13(Box::leak(Box::new(Tls13CipherSuite {
            common: common(&inner.common),
            hkdf_provider: inner.hkdf_provider,
            aead_alg: Box::leak(Box::new(Aead13(inner.aead_alg))),
            quic: None,
        }))),
    }
}

/// Providers of one suite for each version, three of them.
pub fn providers() -> Vec<CryptoProvider> {
    let [of_13, of_12] = [&SUITES[..3], &SUITES[3..]];
    let pairs = of_13.iter().zip(of_12);
    pairs
        .map(|(of_13, of_12)| CryptoProvider {
            cipher_suites: vec![with_a_hand(*of_13), with_a_hand(*of_12)],
            ..rustls::crypto::ring::default_provider()
        })
        .collect()
}
