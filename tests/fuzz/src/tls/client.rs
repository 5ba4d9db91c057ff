//! A client of TLS that does as its script says.
//!
//! It knows no sockets: it takes what the server has sent, and tells what it sends next or that it waits. What it cannot go on with, be
//! it that an edit spoilt a flight or that the server has refused, ends in its saying the rest in the clear, or nothing.

use super::edits::Layer;
use super::script::{Protocol, Script};
use super::suites;
use crate::wire;
use ::tds::{PacketReader, PacketType};
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// A handshake has a few flights; edits may make of it something that goes on.
const FLIGHTS_MAX: usize = 40;
const PRELOGIN: u8 = 0x12;
const PACKET_HEADER_BYTES: usize = 8;
/// The option of encryption in PRELOGIN's answer, and the answer that there is none, or for the login alone.
const NONE: u8 = 2;
const LOGIN_ALONE: u8 = 0;

/// Whether the server's certificate is looked at.
#[derive(Clone, Copy)]
pub enum Trust<'a> {
    /// Any will do: what is tried is the server.
    Blind,
    /// As a driver looks.
    Only(&'a CertificateDer<'static>),
}

/// Configurations for all ways of coming.
pub struct Clients {
    /// By suite and version: TLS 1.2, TLS 1.3.
    by_suite: Vec<[Arc<ClientConfig>; 2]>,
}

impl Clients {
    /// New ones.
    ///
    /// # Panics
    /// rustls refuses its own suites.
    pub fn new(trust: Trust<'_>) -> Clients {
        let provided = suites::providers().into_iter().map(|provider| {
            let provider = Arc::new(provider);
            [&TLS12, &TLS13].map(|version| configuration(&provider, version, trust))
        });
        Clients {
            by_suite: provided.collect(),
        }
    }

    fn connection(&self, script: &Script<'_>) -> ClientConnection {
        let version = usize::from(script.protocol == Protocol::Tds8);
        let mut configuration = (*self.by_suite[script.suite][version]).clone();
        if script.protocol != Protocol::Tds7 {
            configuration.alpn_protocols = script.name.iter().map(|name| name.to_vec()).collect();
        }
        let name = ServerName::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST).into());
        ClientConnection::new(Arc::new(configuration), name).unwrap_or_else(|error| panic!("no client: {error}"))
    }
}

fn configuration(
    provider: &Arc<CryptoProvider>,
    version: &'static rustls::SupportedProtocolVersion,
    trust: Trust<'_>,
) -> Arc<ClientConfig> {
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[version])
        .unwrap_or_else(|error| panic!("a suite without a version: {error}"));
    let mut configuration = match trust {
        Trust::Blind => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Blind(provider.clone())))
            .with_no_client_auth(),
        Trust::Only(certificate) => {
            let mut roots = RootCertStore::empty();
            roots
                .add(certificate.clone())
                .unwrap_or_else(|error| panic!("the certificate is none: {error}"));
            builder.with_root_certificates(roots).with_no_client_auth()
        }
    };
    configuration.resumption = Resumption::disabled();
    Arc::new(configuration)
}

/// Looks at no certificate and no signature.
#[derive(Debug)]
struct Blind(Arc<CryptoProvider>);

impl ServerCertVerifier for Blind {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// What a client does next.
pub enum Turn {
    /// It sends this, which may be nothing.
    Send(Vec<u8>),
    /// It waits for the server.
    Wait,
    /// It has said all.
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Begin,
    /// PRELOGIN was sent.
    Asked,
    Handshake,
    /// This part of the inside comes next.
    Inside(usize),
    Done,
}

/// A client under way.
pub struct Client<'a> {
    script: &'a Script<'a>,
    tls: ClientConnection,
    step: Step,
    /// What the server answered to PRELOGIN.
    agreed: Option<u8>,
    packets: PacketReader,
    incoming: Vec<u8>,
    flights: Vec<Vec<u8>>,
    /// Of the handshake, without the record's header.
    hello: Vec<u8>,
    /// What the server said, decrypted if need be.
    pub answer: Vec<u8>,
    /// Why the client does not understand the server.
    pub broken: Option<String>,
}

impl<'a> Client<'a> {
    /// One that has not begun.
    pub fn new(clients: &Clients, script: &'a Script<'a>) -> Client<'a> {
        suites::begin(&script.unsealed());
        Client {
            script,
            tls: clients.connection(script),
            step: Step::Begin,
            agreed: None,
            packets: PacketReader::default(),
            incoming: Vec::new(),
            flights: Vec::new(),
            hello: Vec::new(),
            answer: Vec::new(),
            broken: None,
        }
    }

    /// The handshake is over, as far as the client knows.
    pub fn is_encrypted(&self) -> bool {
        !self.tls.is_handshaking()
    }

    /// It began with TLS, or agreed on it.
    fn is_sealing(&self) -> bool {
        self.script.protocol != Protocol::Tds7 || self.agreed.is_some_and(|answer| answer != NONE)
    }

    /// After the login all is readable again.
    fn seals_login_alone(&self) -> bool {
        self.script.protocol == Protocol::Tds7 && self.agreed == Some(LOGIN_ALONE)
    }

    /// Takes what the server has sent.
    pub fn take(&mut self, received: &[u8]) {
        if self.broken.is_some() {
            return;
        }
        self.incoming.extend_from_slice(received);
        if let Err(reason) = self.understand() {
            self.broken = Some(reason);
        }
    }

    fn understand(&mut self) -> Result<(), String> {
        let is_wrapped = self.script.protocol == Protocol::Tds7 && matches!(self.step, Step::Asked | Step::Handshake);
        if !is_wrapped {
            let bytes = std::mem::take(&mut self.incoming);
            if self.is_sealing() && !self.seals_login_alone() {
                return self.feed(&bytes);
            }
            self.answer.extend(bytes);
            return Ok(());
        }
        let incoming = std::mem::take(&mut self.incoming);
        let mut rest = incoming.as_slice();
        while !rest.is_empty() {
            let found = self.packets.next(&mut rest).map_err(|error| error.to_string())?;
            match found {
                Some(message) if message.kind == PacketType::TabularResult => {
                    self.agreed = Some(encryption_of(&message.payload).ok_or("PRELOGIN was not answered")?);
                }
                Some(message) => self.feed(&message.payload)?,
                None => {}
            }
        }
        Ok(())
    }

    /// Takes records of TLS.
    fn feed(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        while !bytes.is_empty() {
            self.tls.read_tls(&mut bytes).map_err(|error| error.to_string())?;
            let state = self.tls.process_new_packets().map_err(|error| error.to_string())?;
            let before = self.answer.len();
            self.answer.resize(before + state.plaintext_bytes_to_read(), 0);
            self.tls
                .reader()
                .read_exact(&mut self.answer[before..])
                .map_err(|error| error.to_string())?;
            if state.peer_has_closed() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Nothing comes for which it waits.
    pub fn give_up(&mut self) {
        self.step = match self.script.says_it_in_the_clear {
            true => Step::Inside(usize::MAX),
            false => Step::Done,
        };
    }

    /// What it does next.
    pub fn turn(&mut self) -> Turn {
        if self.broken.is_some() && self.step != Step::Done && self.step != Step::Inside(usize::MAX) {
            self.give_up();
        }
        if self.flights.len() >= FLIGHTS_MAX {
            self.step = Step::Done;
        }
        let said = match self.step {
            Step::Begin => self.begin(),
            Step::Asked => match self.agreed {
                None => return Turn::Wait,
                Some(NONE) => self.inside(0),
                Some(_) => {
                    self.step = Step::Handshake;
                    self.handshake()
                }
            },
            Step::Handshake if self.tls.wants_write() => self.handshake(),
            Step::Handshake if self.tls.is_handshaking() => return Turn::Wait,
            Step::Handshake if self.script.protocol == Protocol::Tds7 => self.inside(0),
            Step::Handshake => {
                self.step = Step::Inside(0);
                let packets = wire::packets(PRELOGIN, &wire::prelogin_wishing(self.script.wish), 4_088);
                self.seal(&packets)
            }
            Step::Inside(part) => self.inside(part),
            Step::Done => return Turn::End,
        };
        Turn::Send(self.changed(said, Layer::Wire))
    }

    fn begin(&mut self) -> Vec<u8> {
        if self.script.protocol == Protocol::Tds7 {
            self.step = Step::Asked;
            return wire::packets(PRELOGIN, &wire::prelogin_wishing(self.script.wish), 4_088);
        }
        self.step = Step::Handshake;
        self.handshake()
    }

    /// A flight of the handshake.
    fn handshake(&mut self) -> Vec<u8> {
        let records = self.out();
        if self.hello.is_empty() {
            self.hello = records.get(5..).unwrap_or_default().to_vec();
        }
        let records = self.changed(records, Layer::Record);
        match self.script.protocol {
            Protocol::Tds7 => wire::packets(PRELOGIN, &records, self.script.piece),
            _ => records,
        }
    }

    /// What TLS has to send.
    fn out(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        while self.tls.wants_write() {
            // Memory takes all.
            let _ = self.tls.write_tls(&mut out);
        }
        out
    }

    /// Seals records of this flight that are forged, and then some bytes.
    fn seal(&mut self, bytes: &[u8]) -> Vec<u8> {
        let number = self.flights.len();
        let edits = self.script.edits.iter().filter(|edit| edit.layer() == Layer::Forged);
        let edits = edits.filter(|edit| edit.place_of_flight() == number);
        let forged: Vec<_> = edits.flat_map(|edit| edit.forged(&self.hello)).collect();
        let mut out = Vec::new();
        for (kind, contents) in forged {
            suites::forge(kind, contents);
            // Its contents were just set.
            let _ = self.tls.writer().write(&[0]);
            out.extend(self.out());
        }
        let mut left = bytes;
        while !left.is_empty() {
            let Ok(sealed @ 1..) = self.tls.writer().write(left) else {
                break;
            };
            left = &left[sealed..];
            out.extend(self.out());
        }
        self.changed(out, Layer::Record)
    }

    /// A part of the inside.
    fn inside(&mut self, part: usize) -> Vec<u8> {
        let inside = self.script.inside;
        if !self.is_sealing() || !self.is_encrypted() || part == usize::MAX {
            self.step = Step::Done;
            return inside.to_vec();
        }
        if self.seals_login_alone() {
            self.step = Step::Done;
            let (login, rest) = inside.split_at(first_message_bytes(inside));
            let mut flight = self.seal(login);
            flight.extend_from_slice(rest);
            return flight;
        }
        let bytes = inside.len().div_ceil(self.script.parts).max(1);
        let said = inside.chunks(bytes).nth(part).unwrap_or_default();
        self.step = match part + 1 < self.script.parts {
            true => Step::Inside(part + 1),
            false => Step::Done,
        };
        self.seal(said)
    }

    /// A flight with the changes of a layer; what goes over the wire is remembered.
    fn changed(&mut self, mut flight: Vec<u8>, layer: Layer) -> Vec<u8> {
        let number = self.flights.len();
        let edits = self.script.edits.iter().filter(|edit| edit.layer() == layer);
        for edit in edits.filter(|edit| edit.place_of_flight() == number) {
            edit.change_flight(&mut flight, &self.flights, self.script.inside);
        }
        if layer == Layer::Wire {
            self.flights.push(flight.clone());
        }
        flight
    }
}

/// The option of encryption in a PRELOGIN message.
fn encryption_of(payload: &[u8]) -> Option<u8> {
    ::tds::PreLogin::parse(payload)
        .ok()
        .map(|parsed| parsed.encryption.to_byte())
}

/// The packets of the first message.
fn first_message_bytes(packets: &[u8]) -> usize {
    let mut at = 0;
    while let Some(&[_, status, high, low]) = packets.get(at..).and_then(|rest| rest.first_chunk()) {
        at += usize::from(u16::from_be_bytes([high, low])).max(PACKET_HEADER_BYTES);
        if status & 1 != 0 {
            break;
        }
    }
    at.min(packets.len())
}
