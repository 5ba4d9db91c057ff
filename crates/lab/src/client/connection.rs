//! One connection: packets in, packets out, tokens to events.

use super::browser::{BROWSER_PORT, instance_port};
use super::kerberos::{Kerberos, Negotiation};
use super::security::{self, Encrypt, Security};
use super::value::{Heading, WireColumn, decode_row};
use super::wire::Wire;
use super::{ClientError, Event, ServerMessage, WireRow, lost};
use bytes::{Bytes, BytesMut};
use rustls::ClientConnection;
use std::io::ErrorKind;
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tds_protocol::login7::{FeatureExtension, FeatureId};
use tds_protocol::token::{ColMetaData, DoneStatus, EnvChangeType, EnvChangeValue, ServerError, ServerInfo};
use tds_protocol::{
    EncryptionLevel, Login7, PacketHeader, PacketStatus, PacketType, PreLogin, ProtocolError, SqlBatch,
};
use tds_protocol::{TdsVersion, Token, TokenParser};

/// Whom to connect to, and as whom.
#[derive(Debug, Clone)]
pub struct Target {
    /// Name or address; `host\instance` asks the host's SQL Server Browser for the port.
    pub host: String,
    /// Port, usually 1433.
    pub port: u16,
    /// SQL login.
    pub user: String,
    pub password: String,
    /// A token of Microsoft Entra ID for the resource `https://database.windows.net/`; user and password are then not sent.
    pub access_token: Option<String>,
    /// A Windows login by the ticket of this session; user, password and token are then not sent.
    pub kerberos: Option<Kerberos>,
    /// Database to begin in; the login's default without.
    pub database: Option<String>,
    /// How long connecting may take, and how long the login after it.
    pub timeout: Duration,
    /// What is encrypted, and who is believed.
    pub security: Security,
}

/// What clients of SQL Server usually wait for a login.
pub const LOGIN_TIMEOUT: Duration = Duration::from_secs(15);

const HEADER_BYTES: usize = 8;
/// What DONE tokens call a SELECT.
const SELECT: u16 = 0xC1;
/// Until the server names another size.
const PACKET_BYTES: usize = 4096;
/// A whole ATTENTION packet: type 6, end of message, eight bytes.
const ATTENTION: [u8; HEADER_BYTES] = [6, 1, 0, 8, 0, 0, 0, 0];
/// How often a waiting caller is asked whether to go on waiting.
const WATCH_INTERVAL: Duration = Duration::from_millis(100);

/// What a client says of itself when it logs in.
#[derive(Debug, Clone)]
pub struct Identity {
    /// `program_name` of sys.dm_exec_sessions.
    pub application: String,
    /// `host_name` there; empty where the client does not say.
    pub workstation: String,
    /// The packet size to ask for, 512 to 32,767 bytes.
    pub packet_bytes: u16,
}

impl Default for Identity {
    fn default() -> Identity {
        Identity {
            application: "vlflab".to_owned(),
            workstation: String::new(),
            packet_bytes: PACKET_BYTES as u16,
        }
    }
}

/// What a server said of itself at the login, and where its session is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionInfo {
    /// Its name for itself, such as `Microsoft SQL Server`.
    pub program: String,
    /// `16.0.1000`.
    pub version: String,
    pub database: String,
    /// What of the connection is encrypted and by what, in words.
    pub encryption: String,
}

/// What PRELOGIN came to.
struct Agreed {
    /// The login alone is encrypted.
    login_only: bool,
    /// The server has read that a token comes, and wants that said again.
    echoes_token: bool,
}

/// How often a login is sent on to another server at most, as by Microsoft's own client (SqlClient).
const ROUTES_MAX: usize = 10;
/// The token's library is "security token" ([MS-TDS] 2.2.6.4, FEDAUTH: bFedAuthLibrary, above the bit of fFedAuthEcho).
const SECURITY_TOKEN: u8 = 1 << 1;

/// The login, by a name and a password, by a token, or by the first token of a Windows login.
fn login7(target: &Target, identity: &Identity, echoes_token: bool, kerberos: Option<Vec<u8>>) -> Login7 {
    let mut login = Login7::new()
        .with_app_name(&identity.application)
        .with_hostname(&identity.workstation)
        .with_packet_size(identity.packet_bytes.into())
        .with_server_name(&target.host);
    login = match (&target.access_token, kerberos) {
        (_, Some(token)) => login.with_integrated_auth(token),
        (None, None) => login.with_sql_auth(&target.user, &target.password),
        (Some(token), None) => {
            let token: Vec<u8> = token.encode_utf16().flat_map(u16::to_le_bytes).collect();
            let length = u32::try_from(token.len()).unwrap_or(u32::MAX);
            let mut data = vec![SECURITY_TOKEN | u8::from(echoes_token)];
            data.extend_from_slice(&length.to_le_bytes());
            data.extend_from_slice(&token);
            login.with_feature(FeatureExtension {
                feature_id: FeatureId::FedAuth,
                data: data.into(),
            })
        }
    };
    if let Some(database) = &target.database {
        login = login.with_database(database);
    }
    match target.security.encrypt {
        Encrypt::Strict => login.with_tds_version(TdsVersion::V8_0),
        _ => login,
    }
}

/// The target with the port of its instance, where it names one.
fn resolved(target: &Target) -> Result<Target, ClientError> {
    let mut found = target.clone();
    if let Some((host, instance)) = target.host.split_once('\\') {
        let port = instance_port(host, instance, BROWSER_PORT, target.timeout);
        found.port = port.map_err(|reason| ClientError::Unreachable {
            address: target.host.clone(),
            reason,
        })?;
        found.host = host.to_owned();
    }
    Ok(found)
}

/// A connection that is logged in.
pub struct Connection {
    wire: Arc<Wire>,
    packet_bytes: usize,
    info: SessionInfo,
    /// Where the server sent the login on to.
    routed: Option<(String, u16)>,
    /// What the server sent for a Windows login that goes on.
    sspi: Option<Vec<u8>>,
    /// The server has let us in.
    is_logged_in: bool,
    /// Bytes read from the socket that are not yet a whole packet.
    unread: BytesMut,
}

/// Asks a server to stop the batch that a connection runs; usable while the connection waits for its answer.
pub struct Attention(Arc<Wire>);

impl Attention {
    /// Sends an ATTENTION. The server acknowledges it: [`Connection::acknowledgement`].
    ///
    /// # Errors
    /// [`ClientError::Lost`].
    pub fn send(&self) -> Result<(), ClientError> {
        self.0.write(&ATTENTION)
    }

    /// Breaks the connection off, as the end of the client's process does.
    pub fn hang_up(&self) {
        self.0.hang_up();
    }
}

impl Connection {
    /// Connects and logs in.
    ///
    /// # Errors
    /// [`ClientError::Unreachable`] or [`ClientError::LoginFailed`].
    pub fn open(target: &Target) -> Result<Connection, ClientError> {
        Connection::open_as(target, &Identity::default())
    }

    /// Connects and logs in as a client that has a name.
    ///
    /// # Errors
    /// As [`Connection::open`].
    pub fn open_as(target: &Target, identity: &Identity) -> Result<Connection, ClientError> {
        let mut target = resolved(target)?;
        for _ in 0..ROUTES_MAX {
            // The server is not kept waiting for a ticket.
            let mut ticket = ticket(&target)?;
            let mut connection = Connection::new(connect(&target)?);
            let begin = Instant::now();
            let mut patience = || begin.elapsed() < target.timeout;
            let logged_in = connection.pre_login(&target, &mut patience).and_then(|agreed| {
                let login_only = agreed.login_only;
                let (negotiation, first) = ticket.take().unzip();
                let login = login7(&target, identity, agreed.echoes_token, first);
                connection.log_in(&target, &login, login_only, negotiation, &mut patience)
            });
            match logged_in.map_err(|error| refused(error, &target))? {
                None => return Ok(connection),
                Some((host, port)) => (target.host, target.port) = (host, port),
            }
        }
        Err(unreachable(&target, "it was routed on and on"))
    }

    /// Has the server answer PRELOGIN and leaves: its version, as it tells everybody. No login, no password, no line in its error log.
    ///
    /// # Errors
    /// [`ClientError::Unreachable`] when no connection comes about, [`ClientError::Interrupted`] when one does and nobody answers in
    /// time, [`ClientError::Lost`] when it breaks off.
    pub fn greet(host: &str, port: u16, timeout: Duration) -> Result<String, ClientError> {
        let target = Target {
            host: host.to_owned(),
            port,
            user: String::new(),
            password: String::new(),
            access_token: None,
            kerberos: None,
            database: None,
            timeout,
            security: Security::none(),
        };
        let target = resolved(&target)?;
        let begin = Instant::now();
        let mut connection = Connection::new(connect(&target)?);
        // Every server takes this wish, one that requires encryption too.
        let request = PreLogin::new().with_encryption(EncryptionLevel::On);
        connection.send(PacketType::PreLogin, &request.encode())?;
        let answer = connection.message(&mut || begin.elapsed() < timeout)?;
        let answer = PreLogin::decode(answer.freeze()).map_err(garbled)?;
        Ok(answer
            .server_version
            .map_or_else(String::new, |version| version.to_string()))
    }

    fn new(stream: TcpStream) -> Connection {
        Connection {
            wire: Arc::new(Wire::new(stream)),
            packet_bytes: PACKET_BYTES,
            info: SessionInfo::default(),
            routed: None,
            sspi: None,
            is_logged_in: false,
            unread: BytesMut::new(),
        }
    }

    /// Agrees on encryption and begins it.
    fn pre_login(&mut self, target: &Target, patience: &mut dyn FnMut() -> bool) -> Result<Agreed, ClientError> {
        let security = &target.security;
        let wish = match security.encrypt {
            Encrypt::Disable => EncryptionLevel::NotSupported,
            Encrypt::Optional => EncryptionLevel::Off,
            Encrypt::Mandatory | Encrypt::Strict => EncryptionLevel::On,
        };
        let tls = || {
            let connection = security.connection(&target.host);
            connection.map_err(|reason| unreachable(target, &reason))
        };
        if security.encrypt == Encrypt::Strict {
            self.wire.handshake_first(tls()?, target, patience)?;
        }
        let has_token = target.access_token.is_some() && target.kerberos.is_none();
        let request = PreLogin::new().with_encryption(wish).with_fed_auth_required(has_token);
        self.send(PacketType::PreLogin, &request.encode())?;
        let answer = PreLogin::decode(self.message(patience)?.freeze()).map_err(garbled)?;
        let agreed = |login_only| {
            Ok(Agreed {
                login_only,
                echoes_token: answer.fed_auth_required,
            })
        };
        let has = matches!(answer.encryption, EncryptionLevel::On | EncryptionLevel::Required);
        let refused = |reason| Err(unreachable(target, reason));
        match (security.encrypt, answer.encryption) {
            (Encrypt::Strict, _) => return agreed(false),
            (Encrypt::Disable, _) if has => return refused(security::ENCRYPTION_REQUIRED),
            (Encrypt::Disable, _) | (Encrypt::Optional, EncryptionLevel::NotSupported) if has_token => {
                return refused("a token is sent over an encrypted connection only; say -N m");
            }
            (Encrypt::Disable, _) | (Encrypt::Optional, EncryptionLevel::NotSupported) => return agreed(false),
            (Encrypt::Mandatory, _) if !has => return refused(security::NO_ENCRYPTION),
            _ => {}
        }
        self.handshake(tls()?, target, patience)?;
        agreed(!has)
    }

    /// The TLS handshake within packets of PRELOGIN.
    fn handshake(
        &mut self,
        mut tls: ClientConnection,
        target: &Target,
        patience: &mut dyn FnMut() -> bool,
    ) -> Result<(), ClientError> {
        let broken_off = || unreachable(target, security::HANDSHAKE_BROKEN_OFF);
        while tls.is_handshaking() {
            self.send_handshake(&mut tls)?;
            if !tls.is_handshaking() {
                break;
            }
            let answer = match self.message(patience) {
                Err(ClientError::Lost(_)) => return Err(broken_off()),
                answer => answer?,
            };
            let mut answer = answer.as_ref();
            while !answer.is_empty() {
                tls.read_tls(&mut answer).map_err(|_| broken_off())?;
                if let Err(error) = tls.process_new_packets() {
                    // The server gets the reason; whether it listens does not matter.
                    let _ = self.send_handshake(&mut tls);
                    return Err(unreachable(target, &security::sentence(&error, target)));
                }
            }
        }
        self.wire.encrypt(tls);
        Ok(())
    }

    fn send_handshake(&mut self, tls: &mut ClientConnection) -> Result<(), ClientError> {
        let mut out = Vec::new();
        while tls.wants_write() {
            tls.write_tls(&mut out).map_err(|error| lost(&error.to_string()))?;
        }
        match out.is_empty() {
            true => Ok(()),
            false => self.send(PacketType::PreLogin, &out),
        }
    }

    /// The payload of one message.
    fn message(&mut self, patience: &mut dyn FnMut() -> bool) -> Result<BytesMut, ClientError> {
        let mut message = BytesMut::new();
        let mut watch = Watch::new(patience);
        while !self.receive(&mut message, &mut watch)? {}
        Ok(message)
    }

    /// Sends the login and reads what the server says to it; where it is sent on to, if it is.
    fn log_in(
        &mut self,
        target: &Target,
        login: &Login7,
        login_only: bool,
        mut negotiation: Option<Negotiation>,
        patience: &mut dyn FnMut() -> bool,
    ) -> Result<Option<(String, u16)>, ClientError> {
        self.send(PacketType::Tds7Login, &login.encode())?;
        self.info.encryption = match self.wire.cipher() {
            None => "not encrypted".to_owned(),
            Some(cipher) if login_only => format!("the login alone encrypted by {cipher}"),
            Some(cipher) => format!("encrypted by {cipher}"),
        };
        if login_only {
            self.wire.stop_encrypting();
        }
        loop {
            let mut refused = None;
            self.read_answer(patience, &mut |event| {
                if let Event::Error(message) = event {
                    refused.get_or_insert_with(|| message.clone());
                }
            })
            .map(|_| ())
            .or_else(|error| if refused.is_some() { Ok(()) } else { Err(error) })?;
            if let Some(message) = refused {
                return Err(ClientError::LoginFailed(message));
            }
            let reply = self.negotiated(&mut negotiation);
            match reply.map_err(|reason| unreachable(target, &reason))? {
                Some(token) => self.send(PacketType::Sspi, &token)?,
                None => return Ok(self.routed.take()),
            }
        }
    }

    /// What a Windows login has to send now; none once the server has let us in. A server that asks for nothing more than its token gets
    /// an empty one, as from SqlClient.
    fn negotiated(&mut self, negotiation: &mut Option<Negotiation>) -> Result<Option<Vec<u8>>, String> {
        let token = self.sspi.take();
        let Some(negotiation) = negotiation else {
            return Ok(None);
        };
        let reply = token.map(|token| negotiation.next(&token)).transpose()?;
        let is_over = self.is_logged_in || self.routed.is_some();
        match (is_over, negotiation.is_complete()) {
            (false, _) if reply.is_none() => Err("the server answered the Windows login with nothing".to_owned()),
            (true, false) if self.routed.is_none() => {
                Err("the server accepted the login without authenticating itself".to_owned())
            }
            (true, _) => Ok(None),
            (false, _) => Ok(reply),
        }
    }

    /// The socket, which waits as long as it takes, and what encrypts it: for callers that speak the protocol themselves from
    /// here on.
    ///
    /// # Errors
    /// [`ClientError::Lost`]: another thread holds the connection ([`Connection::attention`]), or the socket is broken.
    pub fn into_parts(self) -> Result<(TcpStream, Option<ClientConnection>), ClientError> {
        let wire = Arc::into_inner(self.wire).ok_or_else(|| lost("another thread holds it"))?;
        let (stream, tls) = wire.into_parts();
        let unlimited = stream.set_read_timeout(None);
        unlimited.map_err(|error| lost(&error.to_string()))?;
        Ok((stream, tls))
    }

    /// What the server said of itself, with the database that is the current one.
    pub fn info(&self) -> &SessionInfo {
        &self.info
    }

    /// Runs a batch; errors of the server are events, not failures of this call.
    ///
    /// # Errors
    /// [`ClientError::Lost`] only.
    pub fn run(&mut self, batch: &str, on_event: &mut dyn FnMut(Event<'_>)) -> Result<(), ClientError> {
        self.run_watched(batch, &mut || true, on_event)
    }

    /// Like [`Connection::run`]; `watch` is called a few times a second and ends the wait by answering false. The
    /// connection cannot be used again after that.
    ///
    /// # Errors
    /// [`ClientError::Lost`] and [`ClientError::Interrupted`].
    pub fn run_watched(
        &mut self,
        batch: &str,
        watch: &mut dyn FnMut() -> bool,
        on_event: &mut dyn FnMut(Event<'_>),
    ) -> Result<(), ClientError> {
        self.send(PacketType::SqlBatch, &SqlBatch::new(batch).encode())?;
        self.read_answer(watch, on_event).map(|_| ())
    }

    /// Like [`Connection::run`]; when `cancel` is set, the server is asked to stop the batch. The flag is cleared then, and
    /// the connection goes on being usable.
    ///
    /// # Errors
    /// [`ClientError::Lost`], and [`ClientError::Interrupted`] once the server has stopped the batch.
    pub fn run_cancellable(
        &mut self,
        batch: &str,
        cancel: &AtomicBool,
        on_event: &mut dyn FnMut(Event<'_>),
    ) -> Result<(), ClientError> {
        let attention = self.attention()?;
        let mut asked = false;
        let mut ask_if_cancelled = || {
            if cancel.swap(false, Ordering::SeqCst) {
                // When this fails the connection is broken, which the read then tells.
                asked = attention.send().is_ok();
            }
            true
        };
        self.send(PacketType::SqlBatch, &SqlBatch::new(batch).encode())?;
        let mut acknowledged = self.read_answer(&mut ask_if_cancelled, on_event)?;
        while asked && !acknowledged {
            acknowledged = self.read_answer(&mut || true, on_event)?;
        }
        if acknowledged {
            Err(ClientError::Interrupted)
        } else {
            Ok(())
        }
    }

    /// Like [`Connection::run`]; after `limit` the server is asked to stop the batch, and it has as long again to say that it did.
    ///
    /// # Errors
    /// [`ClientError::Interrupted`] when the server stopped it, and the connection goes on being usable. [`ClientError::Lost`] when it
    /// did not, or the connection broke.
    pub fn run_within(
        &mut self,
        batch: &str,
        limit: Duration,
        on_event: &mut dyn FnMut(Event<'_>),
    ) -> Result<(), ClientError> {
        let attention = self.attention()?;
        let begin = Instant::now();
        let mut asked = false;
        let mut watch = || {
            if !asked && begin.elapsed() >= limit {
                asked = true;
                // When this fails the connection is broken, which the read then tells.
                let _ = attention.send();
            }
            begin.elapsed() < limit * 2
        };
        self.send(PacketType::SqlBatch, &SqlBatch::new(batch).encode())?;
        let acknowledged = self.read_answer(&mut watch, on_event).map_err(|error| match error {
            ClientError::Interrupted => lost("no answer, and none to the request to stop"),
            other => other,
        })?;
        if !asked {
            return Ok(());
        }
        let mut acknowledged = acknowledged;
        while !acknowledged {
            let mut patience = || begin.elapsed() < limit * 2;
            acknowledged = match self.read_answer(&mut patience, on_event) {
                Err(ClientError::Interrupted) => return Err(lost("no answer to the request to stop")),
                answer => answer?,
            };
        }
        Err(ClientError::Interrupted)
    }

    /// For another thread to stop a batch of this connection with.
    ///
    /// # Errors
    /// [`ClientError::Lost`].
    pub fn attention(&self) -> Result<Attention, ClientError> {
        Ok(Attention(Arc::clone(&self.wire)))
    }

    /// Sends a batch and reads nothing of its answer; [`Connection::acknowledgement`] does after an ATTENTION.
    ///
    /// # Errors
    /// [`ClientError::Lost`].
    pub fn start(&mut self, batch: &str) -> Result<(), ClientError> {
        self.send(PacketType::SqlBatch, &SqlBatch::new(batch).encode())
    }

    /// Reads until the server acknowledges an ATTENTION; answers in between are passed over.
    ///
    /// # Errors
    /// [`ClientError::Lost`].
    pub fn acknowledgement(&mut self) -> Result<(), ClientError> {
        while !self.read_answer(&mut || true, &mut |_| {})? {}
        Ok(())
    }

    /// Runs a batch that has to succeed and answers the rows of all its result sets.
    ///
    /// # Errors
    /// The first error of the server, or a broken connection.
    pub fn rows(&mut self, batch: &str) -> Result<Vec<Vec<Option<String>>>, ClientError> {
        let mut rows = Vec::new();
        let mut failure = None;
        self.run(batch, &mut |event| match event {
            Event::Row(values) => rows.push(values.to_vec()),
            Event::Error(message) => {
                failure.get_or_insert_with(|| message.clone());
            }
            _ => {}
        })?;
        failure.map_or(Ok(rows), |message| Err(ClientError::Server(message)))
    }

    /// Runs a batch that has to answer one number.
    ///
    /// # Errors
    /// As [`Connection::rows`], and [`ClientError::Lost`] when the answer is not one number.
    pub fn number(&mut self, batch: &str) -> Result<f64, ClientError> {
        let rows = self.rows(batch)?;
        let first = rows.first().and_then(|row| row.first()).and_then(Option::as_deref);
        let number = first.and_then(|text| text.parse().ok());
        number.ok_or_else(|| ClientError::Lost(format!("a number was expected from {batch:?}, not {first:?}")))
    }

    /// Runs a query whose rows come as [`Event::WireRow`], in the bytes they travel in. `watch` as in [`Connection::run_watched`].
    ///
    /// # Errors
    /// The first error of the server, [`ClientError::Lost`], [`ClientError::Interrupted`].
    pub fn wire_rows(
        &mut self,
        batch: &str,
        watch: &mut dyn FnMut() -> bool,
        on_row: &mut dyn FnMut(WireRow<'_>) -> Result<(), ClientError>,
    ) -> Result<(), ClientError> {
        self.send(PacketType::SqlBatch, &SqlBatch::new(batch).encode())?;
        let mut outcome = Ok(());
        let reader = TokenReader {
            keeps_bytes: true,
            ..TokenReader::default()
        };
        self.read_answer_by(reader, watch, &mut |event| match event {
            Event::WireRow(row) if outcome.is_ok() => outcome = on_row(row),
            Event::Error(message) if outcome.is_ok() => outcome = Err(ClientError::Server(message.clone())),
            _ => {}
        })?;
        outcome
    }

    /// Loads rows: `announcement` is INSERT BULK, `message` what [`super::BulkMessage`] made of them. Answers how many the server took.
    ///
    /// # Errors
    /// The first error of the server; none of these rows is there then. [`ClientError::Lost`].
    pub fn bulk_load(&mut self, announcement: &str, message: &[u8]) -> Result<u64, ClientError> {
        self.rows(announcement)?;
        self.send(PacketType::BulkLoad, message)?;
        let mut loaded = 0;
        let mut failure = None;
        self.read_answer(&mut || true, &mut |event| match event {
            Event::Done { rows: Some(rows) } => loaded = rows,
            Event::Error(message) => {
                failure.get_or_insert_with(|| message.clone());
            }
            _ => {}
        })?;
        failure.map_or(Ok(loaded), |message| Err(ClientError::Server(message)))
    }

    fn send(&mut self, kind: PacketType, payload: &[u8]) -> Result<(), ClientError> {
        let chunk_bytes = self.packet_bytes - HEADER_BYTES;
        let chunks = payload.len().div_ceil(chunk_bytes).max(1);
        let mut out = BytesMut::with_capacity(payload.len() + chunks * HEADER_BYTES);
        for index in 0..chunks {
            let end = payload.len().min((index + 1) * chunk_bytes);
            let chunk = payload.get(index * chunk_bytes..end).unwrap_or_default();
            let last = index + 1 == chunks;
            let status = if last {
                PacketStatus::END_OF_MESSAGE
            } else {
                PacketStatus::NORMAL
            };
            let length = u16::try_from(chunk.len() + HEADER_BYTES).map_err(|_| lost("a packet is too long"))?;
            let mut header = PacketHeader::new(kind, status, length);
            header.packet_id = (index % 256) as u8;
            header.encode(&mut out);
            out.extend_from_slice(chunk);
        }
        self.wire.write(&out)
    }

    /// Appends the next packet's payload to `message`; true when it was the last one.
    fn receive(&mut self, message: &mut BytesMut, watch: &mut Watch<'_>) -> Result<bool, ClientError> {
        let mut header_bytes: &[u8] = self.fill(HEADER_BYTES, watch)?;
        let header = PacketHeader::decode(&mut header_bytes).map_err(garbled)?;
        let length = usize::from(header.length).max(HEADER_BYTES);
        self.fill(length, watch)?;
        let packet = self.unread.split_to(length);
        message.extend_from_slice(packet.get(HEADER_BYTES..).unwrap_or_default());
        Ok(header.status.contains(PacketStatus::END_OF_MESSAGE))
    }

    /// Reads until `count` bytes are there.
    fn fill(&mut self, count: usize, watch: &mut Watch<'_>) -> Result<&[u8], ClientError> {
        watch.look()?;
        while self.unread.len() < count {
            self.wire.read(&mut self.unread)?;
            watch.look()?;
        }
        Ok(self.unread.get(..count).unwrap_or_default())
    }

    /// Reads one whole answer, handing over each token as soon as its bytes are there. True when it acknowledges an
    /// ATTENTION.
    fn read_answer(
        &mut self,
        watch: &mut dyn FnMut() -> bool,
        on_event: &mut dyn FnMut(Event<'_>),
    ) -> Result<bool, ClientError> {
        self.read_answer_by(TokenReader::default(), watch, on_event)
    }

    fn read_answer_by(
        &mut self,
        mut reader: TokenReader,
        watch: &mut dyn FnMut() -> bool,
        on_event: &mut dyn FnMut(Event<'_>),
    ) -> Result<bool, ClientError> {
        let mut pending = BytesMut::new();
        let mut watch = Watch::new(watch);
        loop {
            let last = self.receive(&mut pending, &mut watch)?;
            let bytes = pending.split().freeze();
            let read = reader.read(&bytes, last, on_event)?;
            if last {
                break;
            }
            pending.extend_from_slice(bytes.get(read..).unwrap_or_default());
        }
        if let Some(bytes) = reader.packet_bytes {
            self.packet_bytes = bytes.clamp(512, 32_767);
        }
        if reader.routed.is_some() {
            self.routed = reader.routed;
        }
        self.sspi = reader.sspi;
        if let Some(database) = reader.database {
            self.info.database = database;
        }
        if let Some((program, version)) = reader.server {
            (self.info.program, self.info.version) = (program, version);
            self.is_logged_in = true;
        }
        Ok(reader.acknowledged)
    }
}

/// Asks a caller whether to go on, a few times a second, be it that nothing comes or that it never ends.
struct Watch<'a> {
    goes_on: &'a mut dyn FnMut() -> bool,
    asked: Instant,
}

impl<'a> Watch<'a> {
    fn new(goes_on: &'a mut dyn FnMut() -> bool) -> Watch<'a> {
        Watch {
            goes_on,
            asked: Instant::now(),
        }
    }

    fn look(&mut self) -> Result<(), ClientError> {
        if self.asked.elapsed() >= WATCH_INTERVAL {
            self.asked = Instant::now();
            if !(self.goes_on)() {
                return Err(ClientError::Interrupted);
            }
        }
        Ok(())
    }
}

/// What has to be remembered from token to token.
#[derive(Default)]
struct TokenReader {
    metadata: Option<ColMetaData>,
    columns: Vec<WireColumn>,
    /// Rows are handed over as bytes.
    keeps_bytes: bool,
    /// Columns were announced whose statement is not over.
    is_in_result_set: bool,
    packet_bytes: Option<usize>,
    database: Option<String>,
    server: Option<(String, String)>,
    routed: Option<(String, u16)>,
    sspi: Option<Vec<u8>>,
    acknowledged: bool,
}

impl TokenReader {
    /// Hands over every whole token of `bytes` and answers how many bytes they took.
    fn read(&mut self, bytes: &Bytes, last: bool, on_event: &mut dyn FnMut(Event<'_>)) -> Result<usize, ClientError> {
        let mut parser = TokenParser::new(bytes.clone());
        let mut read = 0;
        loop {
            match parser.next_token_with_metadata(self.metadata.as_ref()) {
                Ok(Some(token)) => {
                    self.take(token, on_event)?;
                    read = parser.position();
                }
                Ok(None) => return Ok(bytes.len()),
                // A token cut off by the end of its packet; the next packet brings the rest.
                Err(_) if !last => return Ok(read),
                Err(error) => return Err(garbled(error)),
            }
        }
    }

    fn take(&mut self, token: Token, on_event: &mut dyn FnMut(Event<'_>)) -> Result<(), ClientError> {
        match token {
            Token::ColMetaData(metadata) => {
                let headings: Vec<Heading> = metadata.columns.iter().map(Heading::from_wire).collect();
                self.columns = metadata.columns.iter().map(WireColumn::from_wire).collect();
                self.metadata = Some(metadata);
                self.is_in_result_set = true;
                if !headings.is_empty() {
                    on_event(Event::Columns(&headings));
                }
            }
            Token::Row(row) if self.keeps_bytes => {
                on_event(Event::WireRow(WireRow::new(&self.columns, &row.data, None)));
            }
            Token::NbcRow(row) if self.keeps_bytes => {
                on_event(Event::WireRow(WireRow::new(
                    &self.columns,
                    &row.data,
                    Some(&row.null_bitmap),
                )));
            }
            Token::Row(row) => self.take_row(&row.data, |_| false, on_event)?,
            Token::NbcRow(row) => self.take_row(&row.data, |index| row.is_null(index), on_event)?,
            Token::Done(done) => {
                self.acknowledged |= done.status.attn;
                self.take_done((done.status, done.cur_cmd), done.row_count, on_event);
            }
            Token::DoneInProc(done) => self.take_done((done.status, done.cur_cmd), done.row_count, on_event),
            Token::Error(error) => on_event(Event::Error(&error_message(error))),
            Token::Info(info) => on_event(Event::Information(&information(info))),
            Token::EnvChange(change) => match (change.env_type, change.new_value) {
                (EnvChangeType::PacketSize, EnvChangeValue::String(size)) => self.packet_bytes = size.parse().ok(),
                (EnvChangeType::Database, EnvChangeValue::String(name)) => self.database = Some(name),
                (_, EnvChangeValue::Routing { host, port }) => self.routed = Some((host, port)),
                _ => {}
            },
            Token::LoginAck(server) => {
                let version = version_text(server.prog_version);
                self.server = Some((server.prog_name.trim_end_matches('\0').to_owned(), version));
            }
            Token::Sspi(sspi) => self.sspi = Some(sspi.data.to_vec()),
            _ => {}
        }
        Ok(())
    }

    fn take_row(
        &self,
        data: &Bytes,
        is_null: impl Fn(usize) -> bool,
        on_event: &mut dyn FnMut(Event<'_>),
    ) -> Result<(), ClientError> {
        let values = decode_row(&self.columns, data, is_null).ok_or_else(|| lost("a row ends too soon"))?;
        on_event(Event::Row(&values));
        Ok(())
    }

    /// The end of a statement. An assignment counts a row as a SELECT does, and has no columns: nobody wants to hear of it.
    fn take_done(&mut self, (status, command): (DoneStatus, u16), row_count: u64, on_event: &mut dyn FnMut(Event<'_>)) {
        let is_assignment = !std::mem::take(&mut self.is_in_result_set) && command == SELECT;
        on_event(Event::Done {
            rows: (status.count && !is_assignment).then_some(row_count),
        });
    }
}

/// What a Windows login begins with; nothing for other logins.
fn ticket(target: &Target) -> Result<Option<(Negotiation, Vec<u8>)>, ClientError> {
    let begin = |kerberos| Negotiation::begin(kerberos, &target.host, target.port, target.timeout);
    let begun = target.kerberos.as_ref().map(begin).transpose();
    begun.map_err(|reason| unreachable(target, &reason))
}

/// Major, minor and build, as they stand in LOGINACK ([MS-TDS] 2.2.7.14).
fn version_text(version: u32) -> String {
    let [major, minor, high, low] = version.to_le_bytes();
    format!("{major}.{minor}.{}", u16::from_be_bytes([high, low]))
}

fn connect(target: &Target) -> Result<TcpStream, ClientError> {
    let unreachable = |reason: String| unreachable(target, &reason);
    let resolved = (target.host.as_str(), target.port).to_socket_addrs();
    let mut failure = "the name has no address".to_string();
    let no_such_name = |error| unreachable(format!("the name cannot be resolved ({error})"));
    for socket_address in resolved.map_err(no_such_name)? {
        match TcpStream::connect_timeout(&socket_address, target.timeout) {
            Ok(stream) => {
                let set = stream
                    .set_nodelay(true)
                    .and_then(|()| stream.set_read_timeout(Some(WATCH_INTERVAL)));
                return set.map(|()| stream).map_err(|error| unreachable(error.to_string()));
            }
            Err(error) => failure = connect_reason(&error, target.timeout),
        }
    }
    Err(unreachable(failure))
}

/// Why the login failed, as one sentence about the address.
fn refused(error: ClientError, target: &Target) -> ClientError {
    let reason = match error {
        ClientError::Interrupted => format!(
            "something takes the connection but does not answer the login within {} s; is it a SQL Server?",
            target.timeout.as_secs_f64()
        ),
        ClientError::Lost(reason) => format!("the login broke off ({reason}); is it a SQL Server?"),
        other => return other,
    };
    unreachable(target, &reason)
}

pub(super) fn unreachable(target: &Target, reason: &str) -> ClientError {
    ClientError::Unreachable {
        address: format!("{}:{}", target.host, target.port),
        reason: reason.to_owned(),
    }
}

/// Why no connection came about, in words.
fn connect_reason(error: &std::io::Error, timeout: Duration) -> String {
    match error.kind() {
        ErrorKind::ConnectionRefused => "no server listens there (connection refused)".into(),
        ErrorKind::TimedOut | ErrorKind::WouldBlock => format!("no answer within {} s", timeout.as_secs_f64()),
        _ => error.to_string(),
    }
}

fn garbled(error: ProtocolError) -> ClientError {
    ClientError::Lost(format!("the server's answer cannot be read: {error}"))
}

fn error_message(error: ServerError) -> ServerMessage {
    ServerMessage {
        number: error.number,
        severity: error.class,
        state: error.state,
        line: error.line,
        server: error.server,
        procedure: error.procedure,
        text: error.message,
    }
}

fn information(info: ServerInfo) -> ServerMessage {
    ServerMessage {
        number: info.number,
        severity: info.class,
        state: info.state,
        line: info.line,
        server: info.server,
        procedure: info.procedure,
        text: info.message,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// [MS-TDS] 2.2.6.4: the extension holds the place of the features; FEDAUTH is 2, then its length, the library and echo, the token's
    /// length, the token in UTF-16.
    #[test]
    fn a_token_travels_as_the_feature_fedauth_and_no_login_beside_it() {
        let target = Target {
            host: "db1".to_owned(),
            port: 1433,
            user: "reader".to_owned(),
            password: "secret".to_owned(),
            access_token: Some("eyJ0".to_owned()),
            kerberos: None,
            database: None,
            timeout: LOGIN_TIMEOUT,
            security: Security::default(),
        };
        for (echoes, library) in [(false, 2), (true, 3)] {
            let bytes = login7(&target, &Identity::default(), echoes, None).encode();
            let short = |place: usize| usize::from(u16::from_le_bytes([bytes[place], bytes[place + 1]]));
            let long = |place: usize| u32::from_le_bytes(bytes[place..place + 4].try_into().unwrap()) as usize;
            assert_eq!((short(42), short(46)), (0, 0), "neither user nor password");
            let features = long(short(56));
            let expected = [
                2, 13, 0, 0, 0, library, 8, 0, 0, 0, b'e', 0, b'y', 0, b'J', 0, b'0', 0, 0xFF,
            ];
            assert_eq!(&bytes[features..], &expected);
        }
    }
}
