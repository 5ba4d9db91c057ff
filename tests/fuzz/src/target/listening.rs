//! A server that listens, and clients that reach it over the network.

use crate::{catalog, wire};
use engine::instance::Instance;
use server::encryption::Encryption;
use server::sql::SqlBackend;
use server::{Server, ServerOptions};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A server that says nothing for so long on a conversation that is over has lost it.
pub const SILENT_AT_MOST: Duration = Duration::from_secs(20);
/// The password of `sa`.
pub const PASSWORD: &str = crate::tls::script::PASSWORD;

/// An instance and what serves it.
pub struct Listening {
    servers: Vec<Server>,
    _instance: Arc<Instance>,
}

impl Listening {
    /// One listener for each kind of encryption, all of one instance.
    ///
    /// # Panics
    /// No port can be had, or no randomness.
    pub fn start(encryptions: &[Encryption]) -> Listening {
        let (instance, _) = catalog::filled();
        let record = server::credentials::hash_password(PASSWORD).unwrap_or_else(|error| panic!("{error}"));
        let backend = Arc::new(SqlBackend::new(instance.clone(), record, Arc::new(|_| {})));
        let listener = |encryption: &Encryption| {
            let options = ServerOptions {
                encryption: encryption.clone(),
                ..ServerOptions::new(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
            };
            Server::start(options, backend.clone())
                .unwrap_or_else(|error| panic!("the server does not listen: {error}"))
        };
        Listening {
            servers: encryptions.iter().map(listener).collect(),
            _instance: instance,
        }
    }

    /// Where the listener of a number is.
    pub fn address(&self, number: usize) -> SocketAddr {
        self.servers[number].local_address()
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        for server in &mut self.servers {
            server.stop(Duration::from_secs(5));
        }
    }
}

/// A batch without headers of a transaction.
fn batch(text: &str) -> Vec<u8> {
    let mut payload = 4_u32.to_le_bytes().to_vec();
    payload.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
    wire::packets(0x01, &payload, 4_088)
}

/// What is asked of a server that must serve.
pub fn select_1() -> Vec<u8> {
    batch("select 1")
}

/// A ROW token of one int, 1.
pub fn holds_row(answer: &[u8]) -> bool {
    answer.windows(5).any(|bytes| bytes == [0xD1, 1, 0, 0, 0])
        || answer.windows(6).any(|bytes| bytes == [0xD1, 4, 1, 0, 0, 0])
}

/// What a client got that was not served, in words.
pub fn told(answer: &[u8]) -> String {
    let letters = answer.iter().filter(|byte| (b' '..=b'~').contains(byte));
    let text: String = letters.map(|byte| char::from(*byte)).collect();
    format!("another client was not served: {} bytes came: {text}", answer.len())
}

/// A connection to a server, which must take it.
pub fn connected(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap_or_else(|error| panic!("the server takes no connection: {error}"));
    let _ = stream.set_read_timeout(Some(SILENT_AT_MOST));
    let _ = stream.set_write_timeout(Some(SILENT_AT_MOST));
    let _ = stream.set_nodelay(true);
    stream
}

pub fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Sends all and reads: to the end after it has said that nothing more comes, or until what it waits for has come. A client that
/// says so while its statement runs is taken for gone, and its statement stopped, if the server sees it: it looks every 5 ms.
pub fn converse(address: SocketAddr, input: &[u8], awaited: Option<fn(&[u8]) -> bool>) -> Vec<u8> {
    let mut stream = connected(address);
    let mut sender = stream.try_clone().unwrap_or_else(|error| panic!("{error}"));
    let bytes = input.to_vec();
    let sending = std::thread::spawn(move || {
        // A server that closes early refuses the rest: that is its right.
        let _ = sender.write_all(&bytes);
        if awaited.is_none() {
            let _ = sender.shutdown(std::net::Shutdown::Write);
        }
    });
    let since = Instant::now();
    let mut answer = Vec::new();
    let mut buffer = [0; 16 << 10];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => {
                answer.extend_from_slice(&buffer[..count]);
                if awaited.is_some_and(|awaited| awaited(&answer)) {
                    break;
                }
            }
            Err(error) if is_timeout(&error) => {
                panic!("the server was silent for {} s", since.elapsed().as_secs());
            }
            Err(_) => break,
        }
    }
    // The sending thread only writes; it has nothing to tell.
    let _ = sending.join();
    answer
}

#[cfg(test)]
mod tests {
    use super::{Listening, PASSWORD, converse, holds_row};
    use crate::{tls::readable, wire};
    use outside::random::Random;
    use server::encryption::Encryption;

    /// "Another client was not served" came of clients that said at once that nothing more comes. The server takes such a one for
    /// gone: a statement that still runs when it looks is stopped. Most end before the first look, so this was seen five times in
    /// 240,000; here the statement is a long one, and it is seen each time.
    #[test]
    fn who_says_that_nothing_more_comes_does_not_get_the_end_of_a_long_statement() {
        let listening = Listening::start(&[Encryption::off()]);
        let mut said = wire::packets(0x12, &wire::prelogin_wishing(2), 4_088);
        said.extend(wire::packets(
            0x10,
            &wire::login(&mut Random::new(1), "sa", PASSWORD),
            4_088,
        ));
        let long = "declare @i int = 0 while @i < 30000 set @i += 1 select 1";
        said.extend(super::batch(long));
        let hung_up = converse(listening.address(0), &said, None);
        assert!(readable::names_the_server(&hung_up), "it was let in");
        assert!(!holds_row(&hung_up), "its statement went on for nobody");
        assert!(holds_row(&converse(listening.address(0), &said, Some(holds_row))));
    }
}
