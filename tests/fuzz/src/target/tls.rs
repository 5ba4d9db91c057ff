//! TLS: handshakes and records of clients that live in this memory, and whole conversations with a listening server.

use super::listening::{Listening, SILENT_AT_MOST, connected, holds_row, is_timeout, select_1, told};
use super::{Reached, Target, tds};
use crate::tls::client::{Client, Clients, Trust, Turn};
use crate::tls::readable;
use crate::tls::script::{self, PASSWORD, Protocol, Script, USER};
use crate::wire;
use ::tds::{Login, Message, PacketReader, PacketType};
use outside::random::Random;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use server::Identity;
use server::door::{self, Guest, Line};
use server::encryption::{Certificate, Encryption, SelfSigned, ServerEncryption, pem};
use std::cell::RefCell;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Memory of a client that has not logged in, together with the one that plays it. Others may take sixteen times as much.
const MEMORY_BYTES: usize = 4 << 20;
/// Messages of an inside.
const MESSAGES_MAX: u64 = 3;
/// A server that has no reason to answer to what was changed gets no more time than this.
const ANSWERS_TO_CHANGED_WITHIN: Duration = Duration::from_millis(3);
/// The time a client has for its login; here nothing waits, so that it never passes.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(3_600);
const DEMANDS: [ServerEncryption; 3] = [
    ServerEncryption::On,
    ServerEncryption::Required,
    ServerEncryption::Strict,
];
/// How a client comes that must be served, and what it wishes of encryption.
const SOUND_WAYS: [(Protocol, u8); 4] = [
    (Protocol::Tds7, 1),
    (Protocol::Tds8, 4),
    (Protocol::Tds7, 0),
    (Protocol::Tds8Old, 4),
];

/// Handshakes, LOGIN7 and what follows, without a network.
pub fn handshakes() -> Box<dyn Target> {
    let (encryptions, _) = encryptions();
    Box::new(Handshakes {
        encryptions,
        clients: Clients::new(Trust::Blind),
    })
}

/// Connections to a server of its own.
pub fn conversation() -> Box<dyn Target> {
    let (encryptions, certificate) = encryptions();
    Box::new(Conversation {
        encryptions,
        hostile: Clients::new(Trust::Blind),
        drivers: Clients::new(Trust::Only(&certificate)),
        listening: None,
        given: 0,
    })
}

/// What servers encrypt by, one for each of [`DEMANDS`], and the certificate of all.
fn encryptions() -> (Vec<Encryption>, CertificateDer<'static>) {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let made = SelfSigned {
        names: vec!["localhost".to_owned()],
        addresses: vec![IpAddr::V4(Ipv4Addr::LOCALHOST)],
        not_before: now - 3_600,
        not_after: now + 30 * 24 * 3_600,
    }
    .make();
    let (certificate, key) = made.unwrap_or_else(|error| panic!("{error}"));
    let chain = pem("CERTIFICATE", &certificate);
    let shown = Certificate::from_pem(chain.as_bytes(), pem("PRIVATE KEY", &key).as_bytes())
        .unwrap_or_else(|error| panic!("{error}"));
    let encryption = |demand| Encryption::new(demand, &shown).unwrap_or_else(|error| panic!("{error}"));
    let root = CertificateDer::from_pem_slice(chain.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    (DEMANDS.map(encryption).to_vec(), root)
}

fn number_of(demand: ServerEncryption) -> usize {
    DEMANDS.iter().position(|known| *known == demand).unwrap_or_default()
}

struct Handshakes {
    encryptions: Vec<Encryption>,
    clients: Clients,
}

/// A client at the other end of a line in memory.
struct InMemory<'a> {
    client: Client<'a>,
    /// Bytes of a flight that arrive at once.
    piece: usize,
    to_server: Vec<u8>,
    /// Of these, read so far.
    read: usize,
    to_client: Vec<u8>,
    /// All that the server has sent.
    sent: Vec<u8>,
}

impl InMemory<'_> {
    /// Reads as a socket would; the client speaks when all it has said was read.
    fn read(&mut self, buffer: &mut [u8]) -> usize {
        while self.read == self.to_server.len() {
            let received = std::mem::take(&mut self.to_client);
            self.client.take(&received);
            match self.client.turn() {
                Turn::Send(bytes) => (self.to_server, self.read) = (bytes, 0),
                // The server waits for the client too: it reads.
                Turn::Wait => self.client.give_up(),
                Turn::End => return 0,
            }
        }
        let left = &self.to_server[self.read..];
        let count = buffer.len().min(self.piece).min(left.len());
        buffer[..count].copy_from_slice(&left[..count]);
        self.read += count;
        count
    }

    fn write(&mut self, bytes: &[u8]) {
        self.to_client.extend_from_slice(bytes);
        self.sent.extend_from_slice(bytes);
    }
}

struct InMemoryLine<'a>(RefCell<InMemory<'a>>);

impl Line for InMemoryLine<'_> {
    fn read(&self, buffer: &mut [u8], _: Duration) -> io::Result<usize> {
        Ok(self.0.borrow_mut().read(buffer))
    }

    fn write_all(&self, bytes: &[u8], _: Duration) -> io::Result<()> {
        self.0.borrow_mut().write(bytes);
        Ok(())
    }

    fn be_patient(&self) -> io::Result<()> {
        Ok(())
    }
}

fn identity() -> Identity {
    Identity {
        server_name: "FUZZ".to_owned(),
        version: (16, 0, 1_000),
    }
}

/// Serves a guest to the end of what it says.
fn serve(line: &InMemoryLine<'_>, guest: &mut Guest) -> Vec<Message> {
    let welcome = guest.welcome(&identity());
    line.0
        .borrow_mut()
        .write(&welcome.unwrap_or_else(|error| panic!("no welcome: {error}")));
    let mut messages = Vec::new();
    let mut buffer = [0; 16 << 10];
    // What came with the login is there already.
    let mut count = 0;
    loop {
        messages.extend(guest.receive(&buffer[..count]).into_iter().map_while(Result::ok));
        count = line.0.borrow_mut().read(&mut buffer);
        if count == 0 || guest.has_ended() {
            break;
        }
    }
    for message in &messages {
        tds::decode(message.kind.to_byte(), &message.payload);
    }
    messages
}

/// Whether the server has to refuse how a client comes, whatever it says.
fn must_refuse(script: &Script<'_>) -> bool {
    let demands = script.demand != ServerEncryption::On;
    script.protocol == Protocol::Tds7 && demands && script.wish == 2
}

/// The messages that a client says.
fn said(inside: &[u8]) -> Vec<Message> {
    let mut reader = PacketReader::new(128 << 10);
    let mut rest = inside;
    let mut messages = Vec::new();
    while let Ok(Some(message)) = reader.next(&mut rest) {
        messages.push(message);
    }
    messages
}

impl Target for Handshakes {
    fn make(&self, random: &mut Random) -> Vec<u8> {
        script::make(random, MESSAGES_MAX)
    }

    fn take(&mut self, input: &[u8]) -> Reached {
        let Some(script) = Script::read(input) else {
            return Reached::Refused;
        };
        let line = InMemoryLine(RefCell::new(InMemory {
            client: Client::new(&self.clients, &script),
            piece: if script.parts == 4 { script.piece } else { usize::MAX },
            to_server: Vec::new(),
            read: 0,
            to_client: Vec::new(),
            sent: Vec::new(),
        }));
        let encryption = &self.encryptions[number_of(script.demand)];
        let guest = door::let_in(&line, &identity(), encryption, LOGIN_TIMEOUT);
        let served = guest.map(|mut guest| serve(&line, &mut guest));
        let InMemory {
            mut client,
            to_client,
            sent,
            ..
        } = line.0.into_inner();
        client.take(&to_client);
        if let Some(leak) = readable::leaked(script.demand, &sent) {
            panic!("{leak}");
        }
        if script.is_sound() {
            check_sound(&script, &client, served.as_deref());
        }
        match served {
            Some(_) => Reached::Taken,
            None => Reached::Refused,
        }
    }

    fn memory_bytes_max(&self) -> usize {
        MEMORY_BYTES
    }
}

/// A client that comes as it should is understood, whatever it says inside, and understands.
fn check_sound(script: &Script<'_>, client: &Client<'_>, served: Option<&[Message]>) {
    if must_refuse(script) {
        assert!(served.is_none(), "a client without encryption was let in");
        return;
    }
    if let Some(reason) = &client.broken {
        panic!("a sound client does not understand the server: {reason}");
    }
    let said = said(script.inside);
    let Some((login, behind)) = said.split_first() else {
        assert!(served.is_none(), "what is no message was taken for a login");
        return;
    };
    // One that is withdrawn before the login is skipped, and where the login alone is encrypted it stands for it here.
    if login.ignored {
        return;
    }
    if login.kind == PacketType::Login7 && Login::parse(&login.payload).is_ok() {
        assert_eq!(served, Some(behind), "other messages came than were sent");
        assert!(
            readable::names_the_server(&client.answer),
            "the answer to the login was lost"
        );
    } else {
        assert!(served.is_none(), "what is no login was taken for one");
    }
}

struct Conversation {
    encryptions: Vec<Encryption>,
    hostile: Clients,
    drivers: Clients,
    listening: Option<Listening>,
    given: usize,
}

/// A client at the other end of the network.
struct Connected<'a> {
    client: Client<'a>,
    stream: TcpStream,
    sent: Vec<u8>,
}

impl Connected<'_> {
    /// Reads once; false when nothing came, or nothing more comes.
    fn read(&mut self, within: Duration) -> io::Result<bool> {
        let mut buffer = [0; 16 << 10];
        let count = self.stream.read(&mut buffer, within)?;
        self.sent.extend_from_slice(&buffer[..count]);
        self.client.take(&buffer[..count]);
        Ok(count > 0)
    }

    /// Says all it has to say. `is_sound` when the server must answer.
    fn speak(&mut self, is_sound: bool) {
        loop {
            match self.client.turn() {
                // A server that closes early refuses the rest: that is its right.
                Turn::Send(bytes) => drop(self.stream.write_all(&bytes, SILENT_AT_MOST)),
                Turn::End => return,
                Turn::Wait => {
                    let within = if is_sound {
                        SILENT_AT_MOST
                    } else {
                        ANSWERS_TO_CHANGED_WITHIN
                    };
                    match self.read(within) {
                        Ok(true) => {}
                        Err(error) if is_sound && is_timeout(&error) => panic!("the server was silent"),
                        Ok(false) | Err(_) => self.client.give_up(),
                    }
                }
            }
        }
    }

    /// Reads to the end, or until there is what it waits for.
    fn listen(&mut self, awaited: fn(&[u8]) -> bool) {
        let since = Instant::now();
        while !awaited(&self.client.answer) {
            match self.read(SILENT_AT_MOST) {
                Ok(true) => {}
                Err(error) if is_timeout(&error) => {
                    panic!("the server was silent for {} s", since.elapsed().as_secs());
                }
                Ok(false) | Err(_) => return,
            }
        }
    }
}

impl Conversation {
    fn connect<'a>(clients: &Clients, address: SocketAddr, script: &'a Script<'a>) -> Connected<'a> {
        Connected {
            client: Client::new(clients, script),
            stream: connected(address),
            sent: Vec::new(),
        }
    }

    /// Whatever one client did, the next one is served.
    fn serve_another(&self, address: SocketAddr, (protocol, wish): (Protocol, u8)) {
        let login = wire::packets(0x10, &wire::login(&mut Random::new(1), USER, PASSWORD), 4_088);
        let input = script::sound(protocol, wish, &[login, select_1()].concat());
        let script = Script::read(&input).unwrap_or_else(|| panic!("a script that cannot be read"));
        let mut driver = Self::connect(&self.drivers, address, &script);
        driver.speak(true);
        driver.listen(holds_row);
        if let Some(reason) = &driver.client.broken {
            panic!("a driver does not understand the server: {reason}");
        }
        assert!(holds_row(&driver.client.answer), "{}", told(&driver.client.answer));
    }
}

impl Target for Conversation {
    fn make(&self, random: &mut Random) -> Vec<u8> {
        script::make(random, 2 * MESSAGES_MAX)
    }

    /// The first login to a server takes the memory of the password's hash.
    fn prepare(&mut self) {
        if self.listening.is_none() {
            let listening = Listening::start(&self.encryptions);
            (0..DEMANDS.len()).for_each(|number| self.serve_another(listening.address(number), (Protocol::Tds8, 4)));
            self.listening = Some(listening);
        }
    }

    fn take(&mut self, input: &[u8]) -> Reached {
        let (Some(script), Some(listening)) = (Script::read(input), &self.listening) else {
            return Reached::Refused;
        };
        // Drivers come to the one that lets in everybody.
        let (address, open) = (listening.address(number_of(script.demand)), listening.address(0));
        let mut hostile = Self::connect(&self.hostile, address, &script);
        hostile.speak(script.is_sound() && !must_refuse(&script));
        let _ = hostile.stream.shutdown(Shutdown::Write);
        hostile.listen(|_| false);
        let leak = readable::leaked(script.demand, &hostile.sent);
        let is_taken = readable::names_the_server(&hostile.client.answer);
        drop(hostile);
        if let Some(leak) = leak {
            panic!("{leak}");
        }
        self.serve_another(open, SOUND_WAYS[self.given % SOUND_WAYS.len()]);
        self.given += 1;
        if is_taken { Reached::Taken } else { Reached::Refused }
    }
}
