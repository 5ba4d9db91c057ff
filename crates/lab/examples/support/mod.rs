//! What the load generators share: a connection that is logged in, encrypted as far as it is asked for, and bytes on it.
//!
//! | level | what is encrypted |
//! |---|---|
//! | `off` | nothing; the level that is meant when none is given |
//! | `login` | the login, as clients of TDS 7 do that ask for no more; the server must not demand more |
//! | `on` | everything, TLS 1.2 within TDS 7 |
//! | `strict` | everything, TLS 1.3 before all else (TDS 8.0) |
//!
//! Any certificate is believed: what is measured is the server, which the caller has started.
#![allow(dead_code)] // Each of the programs uses a part of it.

use lab::client::{Connection, Encrypt, Identity, LOGIN_TIMEOUT, Security, Target, Trust};
use rustls::ClientConnection;
use std::io::{self, Read, Write};
use std::net::TcpStream;

/// The packet size that clients ask for mostly.
pub const PACKET_BYTES_DEFAULT: u16 = 4096;
/// Encrypted bytes that are read at once.
const SEALED_BYTES: usize = 64 * 1024;

/// The level of `--encrypt`, and the other arguments of the command line.
pub fn arguments() -> (Encrypt, Vec<String>) {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [option, level, rest @ ..] if option == "--encrypt" => (encrypt(level), rest.to_vec()),
        _ => (Encrypt::Disable, arguments),
    }
}

fn encrypt(level: &str) -> Encrypt {
    match level {
        "off" => Encrypt::Disable,
        "login" => Encrypt::Optional,
        "on" => Encrypt::Mandatory,
        "strict" => Encrypt::Strict,
        _ => {
            eprintln!("--encrypt {level}: off, login, on or strict");
            std::process::exit(2);
        }
    }
}

/// Where to connect to, as sa with the password of `MSSQL_SA_PASSWORD`.
pub struct Server {
    pub port: u16,
    pub database: String,
    pub encrypt: Encrypt,
}

impl Server {
    /// Logs in, as the lab's client does.
    pub fn open(&self, packet_bytes: u16) -> Connection {
        let target = Target {
            host: "127.0.0.1".into(),
            port: self.port,
            user: "sa".into(),
            password: std::env::var("MSSQL_SA_PASSWORD").expect("MSSQL_SA_PASSWORD is set"),
            database: Some(self.database.clone()).filter(|name| !name.is_empty()),
            access_token: None,
            kerberos: None,
            timeout: LOGIN_TIMEOUT,
            security: Security {
                encrypt: self.encrypt,
                trust: Trust::Anything,
            },
        };
        let identity = Identity {
            packet_bytes,
            ..Identity::default()
        };
        Connection::open_as(&target, &identity).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Logs in and leaves the protocol to the caller.
    pub fn connect(&self, packet_bytes: u16) -> Line {
        let parts = self.open(packet_bytes).into_parts();
        let (stream, tls) = parts.unwrap_or_else(|error| panic!("{error}"));
        let sealed = tls.iter().map(|_| [0; SEALED_BYTES]).collect();
        Line { stream, tls, sealed }
    }
}

/// Bytes to and from the server.
pub struct Line {
    stream: TcpStream,
    tls: Option<ClientConnection>,
    /// Room for what is read of TLS; none without.
    sealed: Vec<[u8; SEALED_BYTES]>,
}

impl Line {
    /// The socket, to wait for.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Sends all of it.
    pub fn write(&mut self, bytes: &[u8]) {
        let taken = match &mut self.tls {
            None => self.stream.write_all(bytes),
            Some(tls) => seal(tls, &mut self.stream, bytes),
        };
        taken.expect("the server takes the request");
    }

    /// Reads from the socket once. Of TLS what has come may be no whole record, and then reads as if nothing had come.
    pub fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let (Some(tls), Some(sealed)) = (&mut self.tls, self.sealed.first_mut()) else {
            return self.stream.read(into);
        };
        let count = self.stream.read(sealed)?;
        if count == 0 {
            return Ok(0);
        }
        let (mut bytes, mut plain) = (&sealed[..count], 0);
        while !bytes.is_empty() {
            tls.read_tls(&mut bytes)?;
            let state = tls.process_new_packets().map_err(io::Error::other)?;
            let ready = state.plaintext_bytes_to_read();
            tls.reader().read_exact(&mut into[plain..plain + ready])?;
            plain += ready;
        }
        match plain {
            0 => Err(io::ErrorKind::WouldBlock.into()),
            plain => Ok(plain),
        }
    }
}

fn seal(tls: &mut ClientConnection, stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    let mut left = bytes;
    while !left.is_empty() || tls.wants_write() {
        let taken = tls.writer().write(left)?;
        left = &left[taken..];
        tls.write_tls(stream)?;
    }
    Ok(())
}
