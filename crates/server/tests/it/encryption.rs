//! TLS over real sockets, against a client that keeps every byte: every demand with every wish, handshakes cut anywhere,
//! forged records, garbage, stalls, and what strangers can do before they log in.
//!
//! The client speaks TLS by itself and verifies the certificate as any would; what passes on the wire is kept and searched.
#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
use crate::support;

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, ClientConnection, RootCertStore, SupportedProtocolVersion};
use server::Server;
use server::encryption::{Certificate, Encryption, SelfSigned, ServerEncryption, pem};
use support::{PASSWORD, Words, eventually, start};
use tds::PacketReader;
use tds_protocol::{EncryptionLevel, Login7, PreLogin, SqlBatch, Token, TokenParser};

const ROW_TEXT: &str = "some text in the row";

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// A server that demands it, and the certificate to trust.
fn serve(demand: ServerEncryption, login_timeout: Duration) -> (Server, Arc<Words>, CertificateDer<'static>) {
    let (certificate, key) = SelfSigned {
        names: vec!["localhost".to_owned()],
        addresses: vec![IpAddr::V4(Ipv4Addr::LOCALHOST)],
        not_before: now() - 3600,
        not_after: now() + 3600,
    }
    .make()
    .unwrap();
    let chain = pem("CERTIFICATE", &certificate);
    let made = Certificate::from_pem(chain.as_bytes(), pem("PRIVATE KEY", &key).as_bytes()).unwrap();
    let encryption = Encryption::new(demand, &made).unwrap();
    let (server, words) = start(|options| {
        options.encryption = encryption;
        options.login_timeout = login_timeout;
    });
    (server, words, CertificateDer::from_pem_slice(chain.as_bytes()).unwrap())
}

fn patient(demand: ServerEncryption) -> (Server, Arc<Words>, CertificateDer<'static>) {
    serve(demand, Duration::from_secs(30))
}

/// A client of TDS 7 or 8, and all that passed on its wire.
struct Wire {
    stream: TcpStream,
    tls: Option<ClientConnection>,
    plain: Vec<u8>,
    packets: PacketReader,
    captured: Vec<u8>,
}

fn connection(
    root: &CertificateDer<'static>,
    version: &'static SupportedProtocolVersion,
    strict: bool,
) -> ClientConnection {
    let mut roots = RootCertStore::empty();
    roots.add(root.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut configuration = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[version])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    if strict {
        configuration.alpn_protocols = vec![b"tds/8.0".to_vec()];
    }
    let name = ServerName::try_from("127.0.0.1").unwrap();
    ClientConnection::new(Arc::new(configuration), name).unwrap()
}

impl Wire {
    fn connect(server: &Server) -> Wire {
        let stream = TcpStream::connect(server.local_address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.set_nodelay(true).unwrap();
        Wire {
            stream,
            tls: None,
            plain: Vec::new(),
            packets: PacketReader::default(),
            captured: Vec::new(),
        }
    }

    fn put(&mut self, bytes: &[u8]) {
        self.captured.extend_from_slice(bytes);
        self.stream.write_all(bytes).unwrap();
    }

    /// False at the end of the stream.
    fn get(&mut self) -> Option<Vec<u8>> {
        let mut buffer = [0; 16_384];
        match self.stream.read(&mut buffer) {
            Ok(0) => None,
            Ok(count) => {
                self.captured.extend_from_slice(&buffer[..count]);
                Some(buffer[..count].to_vec())
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => None,
            Err(error) => panic!("{error}"),
        }
    }

    /// A message of one packet, encrypted if there is TLS.
    fn send(&mut self, kind: u8, payload: &[u8]) {
        let length = u16::try_from(payload.len() + 8).unwrap().to_be_bytes();
        let packet = [&[kind, 1, length[0], length[1], 0, 0, 1, 0], payload].concat();
        let Some(tls) = &mut self.tls else {
            return self.put(&packet);
        };
        tls.writer().write_all(&packet).unwrap();
        let mut sealed = Vec::new();
        while tls.wants_write() {
            tls.write_tls(&mut sealed).unwrap();
        }
        self.put(&sealed);
    }

    /// The payload of the next message; None at the end of the stream.
    fn receive(&mut self) -> Option<Vec<u8>> {
        loop {
            let mut rest = self.plain.as_slice();
            let found = self.packets.next(&mut rest).unwrap();
            self.plain = rest.to_vec();
            if let Some(message) = found {
                return Some(message.payload);
            }
            let read = self.get()?;
            let Some(tls) = &mut self.tls else {
                self.plain.extend_from_slice(&read);
                continue;
            };
            let mut read = read.as_slice();
            while !read.is_empty() {
                tls.read_tls(&mut read).unwrap();
                let state = tls.process_new_packets().unwrap();
                let mut part = vec![0; state.plaintext_bytes_to_read()];
                tls.reader().read_exact(&mut part).unwrap();
                self.plain.extend_from_slice(&part);
            }
        }
    }

    /// What the server answers to a wish.
    fn pre_login(&mut self, wish: EncryptionLevel) -> EncryptionLevel {
        self.send(0x12, &PreLogin::new().with_encryption(wish).encode());
        PreLogin::decode(self.receive().unwrap().as_slice()).unwrap().encryption
    }

    /// The handshake within packets of PRELOGIN, of at most `piece` bytes each.
    fn handshake_in_packets(&mut self, mut tls: ClientConnection, piece: usize) {
        while tls.is_handshaking() {
            let mut out = Vec::new();
            while tls.wants_write() {
                tls.write_tls(&mut out).unwrap();
            }
            for piece in out.chunks(piece) {
                self.send(0x12, piece);
            }
            if tls.is_handshaking() {
                let answer = self.receive().unwrap();
                let mut answer = answer.as_slice();
                while !answer.is_empty() {
                    tls.read_tls(&mut answer).unwrap();
                    tls.process_new_packets().unwrap();
                }
            }
        }
        self.tls = Some(tls);
    }

    fn handshake_first(&mut self, mut tls: ClientConnection) {
        while tls.is_handshaking() || tls.wants_write() {
            let mut out = Vec::new();
            while tls.wants_write() {
                tls.write_tls(&mut out).unwrap();
            }
            self.put(&out);
            if tls.is_handshaking() {
                let read = self.get().unwrap();
                let mut read = read.as_slice();
                while !read.is_empty() {
                    tls.read_tls(&mut read).unwrap();
                    tls.process_new_packets().unwrap();
                }
            }
        }
        self.tls = Some(tls);
    }

    fn send_login(&mut self) {
        let login = Login7::new().with_sql_auth("sa", PASSWORD).encode();
        self.send(0x10, &login);
    }

    fn batch(&mut self, text: &str) -> Vec<Token> {
        self.send(1, &SqlBatch::new(text).encode());
        tokens(self.receive().unwrap())
    }

    /// Whether a text of the conversation can be read off the wire.
    fn shows(&self, text: &str) -> bool {
        let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        // LOGIN7 swaps the halves of a password's bytes and inverts some bits, which hides nothing.
        let swapped: Vec<u8> = units.iter().map(|byte| byte.rotate_left(4) ^ 0xA5).collect();
        let has = |part: &[u8]| self.captured.windows(part.len()).any(|window| window == part);
        has(&units) || has(&swapped) || has(text.as_bytes())
    }
}

fn tokens(payload: Vec<u8>) -> Vec<Token> {
    let mut parser = TokenParser::new(payload.into());
    let (mut columns, mut tokens) = (None, Vec::new());
    while let Some(token) = parser.next_token_with_metadata(columns.as_ref()).unwrap() {
        if let Token::ColMetaData(found) = &token {
            columns = Some(found.clone());
        }
        tokens.push(token);
    }
    tokens
}

/// Logs in and reads rows; what can be read of password and rows.
fn converse(wire: &mut Wire) -> (bool, bool) {
    wire.send_login();
    let answer = tokens(wire.receive().unwrap());
    assert!(
        answer.iter().any(|token| matches!(token, Token::LoginAck(_))),
        "{answer:?}"
    );
    assert_eq!(support::row_count(&wire.batch("rows 3000")), 3000);
    assert_eq!(support::errors(&wire.batch("fail 50000")), [50_000]);
    (wire.shows(PASSWORD), wire.shows(ROW_TEXT))
}

#[test]
fn what_was_agreed_to_be_encrypted_cannot_be_read_off_the_wire() {
    use EncryptionLevel::{NotSupported, Off, On, Required};
    use ServerEncryption as Server;
    let walks = [
        (Server::Off, Off, NotSupported, (true, true)),
        (Server::On, NotSupported, NotSupported, (true, true)),
        (Server::On, Off, Off, (false, true)),
        (Server::On, On, On, (false, false)),
        (Server::Required, Off, Required, (false, false)),
        (Server::Required, On, On, (false, false)),
        (Server::Required, Required, On, (false, false)),
    ];
    for (demand, wish, answer, readable) in walks {
        let (server, _, root) = patient(demand);
        // Whole flights, and flights cut anywhere.
        for piece in [usize::MAX, 7] {
            let mut wire = Wire::connect(&server);
            assert_eq!(wire.pre_login(wish), answer, "{demand:?} {wish:?}");
            if answer != NotSupported {
                wire.handshake_in_packets(connection(&root, &TLS12, false), piece);
            }
            if answer == Off {
                wire.send_login();
                wire.tls = None;
                assert!(matches!(tokens(wire.receive().unwrap()).last(), Some(Token::Done(_))));
                assert_eq!(support::row_count(&wire.batch("rows 3")), 3);
                assert_eq!((wire.shows(PASSWORD), wire.shows(ROW_TEXT)), readable);
            } else {
                assert_eq!(converse(&mut wire), readable, "{demand:?} {wish:?}");
            }
        }
    }
}

#[test]
fn a_strict_client_encrypts_from_the_first_byte() {
    for demand in [
        ServerEncryption::On,
        ServerEncryption::Required,
        ServerEncryption::Strict,
    ] {
        for version in [&TLS12, &TLS13] {
            let (server, _, root) = patient(demand);
            let mut wire = Wire::connect(&server);
            wire.handshake_first(connection(&root, version, true));
            let tls = wire.tls.as_ref().unwrap();
            assert_eq!(tls.protocol_version(), Some(version.version));
            assert_eq!(tls.alpn_protocol(), Some(&b"tds/8.0"[..]));
            wire.pre_login(EncryptionLevel::On);
            assert_eq!(converse(&mut wire), (false, false));
            assert!(!wire.shows("Microsoft"), "the answer to the login");
        }
    }
}

#[test]
fn who_does_not_do_what_is_demanded_is_let_go_and_told() {
    let (server, words, _) = patient(ServerEncryption::Required);
    let mut wire = Wire::connect(&server);
    assert_eq!(wire.pre_login(EncryptionLevel::NotSupported), EncryptionLevel::Required);
    assert_eq!(wire.receive(), None);
    eventually("17835", || words.logged("Error: 17835, Severity: 20, State: 1."));
    // TDS 7.1 without PRELOGIN.
    let mut wire = Wire::connect(&server);
    wire.send_login();
    assert_eq!(wire.receive(), None);
    // LOGIN7 as it is, after encryption was agreed on.
    let mut wire = Wire::connect(&server);
    assert_eq!(wire.pre_login(EncryptionLevel::On), EncryptionLevel::On);
    wire.send_login();
    assert_eq!(wire.receive(), None);
    // TDS 7, encrypted, where TDS 8.0 is demanded: it learns why.
    let (server, _, root) = patient(ServerEncryption::Strict);
    let mut wire = Wire::connect(&server);
    assert_eq!(wire.pre_login(EncryptionLevel::Off), EncryptionLevel::Required);
    wire.handshake_in_packets(connection(&root, &TLS12, false), usize::MAX);
    wire.send_login();
    let answer = tokens(wire.receive().unwrap());
    assert_eq!(support::errors(&answer), [17_835]);
    assert!(!answer.iter().any(|token| matches!(token, Token::LoginAck(_))));
}

/// An answer that fills the socket's buffers is cancelled while the client does not read; what was sealed by then arrives whole.
#[test]
fn an_encrypted_answer_is_cancelled_in_the_middle() {
    let (server, _, root) = patient(ServerEncryption::On);
    let mut wire = Wire::connect(&server);
    wire.pre_login(EncryptionLevel::On);
    wire.handshake_in_packets(connection(&root, &TLS12, false), usize::MAX);
    wire.send_login();
    wire.receive().unwrap();
    wire.send(1, &SqlBatch::new("rows 1000000").encode());
    std::thread::sleep(Duration::from_millis(300));
    wire.send(6, &[]);
    let interrupted = tokens(wire.receive().unwrap());
    assert!(support::row_count(&interrupted) < 1_000_000);
    let acknowledged = tokens(wire.receive().unwrap());
    assert!(matches!(&acknowledged[..], [Token::Done(done)] if done.status.attn));
    assert_eq!(support::row_count(&wire.batch("rows 2")), 2);
}

/// A record that was changed on its way ends the session, and the server goes on.
#[test]
fn a_forged_record_ends_the_session() {
    let (server, _, root) = patient(ServerEncryption::On);
    for forged in [
        &b"\x17\x03\x03\x00\x20................................"[..],
        b"\x01\x01\x00\x08\0\0\x01\0",
    ] {
        let mut wire = Wire::connect(&server);
        wire.pre_login(EncryptionLevel::On);
        wire.handshake_in_packets(connection(&root, &TLS12, false), usize::MAX);
        assert_eq!(converse(&mut wire), (false, false));
        wire.put(forged);
        while wire.get().is_some() {}
    }
    eventually("the sessions end", || server.connection_count() == 0);
}

/// Clients that stop anywhere in a handshake, many at once, are let go at the deadline; others get in beside them.
#[test]
fn handshakes_that_stall_end_at_the_deadline_and_hinder_nobody() {
    let (server, words, root) = serve(ServerEncryption::Required, Duration::from_secs(2));
    let mut hello = Vec::new();
    connection(&root, &TLS13, true).write_tls(&mut hello).unwrap();
    let begun = Instant::now();
    let mut stalled: Vec<Wire> = (0..120)
        .map(|number| {
            let mut wire = Wire::connect(&server);
            match number % 4 {
                // A record's header, half a first message, a whole one and no more, half of one within PRELOGIN.
                0 => wire.put(&hello[..5]),
                1 => wire.put(&hello[..hello.len() / 2]),
                2 => wire.put(&hello),
                _ => {
                    wire.pre_login(EncryptionLevel::On);
                    wire.send(0x12, &hello[..hello.len() / 2]);
                }
            }
            wire
        })
        .collect();
    let mut wire = Wire::connect(&server);
    wire.pre_login(EncryptionLevel::On);
    wire.handshake_in_packets(connection(&root, &TLS12, false), usize::MAX);
    assert_eq!(converse(&mut wire), (false, false));
    for wire in &mut stalled {
        while wire.get().is_some() {}
    }
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    eventually("17830", || words.logged("Error: 17830, Severity: 20, State: 11."));
    drop(wire);
    eventually("all are gone", || server.connection_count() == 0);
}

/// Anything but TLS where TLS was agreed on closes the connection at once.
#[test]
fn garbage_for_a_handshake_closes_the_connection() {
    let (server, _, root) = patient(ServerEncryption::On);
    let mut hello = Vec::new();
    connection(&root, &TLS12, false).write_tls(&mut hello).unwrap();
    let mut damaged = hello.clone();
    damaged[9] ^= 0xFF;
    let long = [&[22_u8, 3, 1, 0xFF, 0xFF][..], &[0; 65_535]].concat();
    for garbage in [
        &[0_u8; 100][..],
        b"GET / HTTP/1.1\r\n\r\n",
        &damaged,
        &long,
        &[22, 3, 1, 0, 0],
    ] {
        for first in [true, false] {
            let mut wire = Wire::connect(&server);
            if first {
                // The server may hang up while the bytes are on their way.
                let _ = wire.stream.write_all(garbage);
            } else {
                wire.pre_login(EncryptionLevel::On);
                for piece in garbage.chunks(4000) {
                    let length = u16::try_from(piece.len() + 8).unwrap().to_be_bytes();
                    let header = [0x12, 1, length[0], length[1], 0, 0, 1, 0];
                    let _ = wire.stream.write_all(&[&header, piece].concat());
                }
            }
            let _ = wire.stream.shutdown(std::net::Shutdown::Write);
            while wire.get().is_some() {}
        }
    }
    let mut wire = Wire::connect(&server);
    wire.pre_login(EncryptionLevel::NotSupported);
    assert_eq!(converse(&mut wire), (true, true));
}
