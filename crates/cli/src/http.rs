//! HTTP/1.1 for `--metrics` and the live page, with one request per connection.
//!
//! A malformed request gets 400, a head longer than [`HEAD_BYTES_MAX`] 431, a request that takes longer than [`REQUEST_MAX`] 408, a method
//! other than GET and HEAD
//! 405. The body of a request is ignored.
//!
//! At most [`CLIENTS_MAX`] connections are open. When the limit is reached, a new connection replaces the one that has been silent for
//! longest, without a complete request or already answered. So silent connections block no one. If all are being answered, the new one gets 503.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// A head that is longer is refused.
pub const HEAD_BYTES_MAX: usize = 8 * 1024;
/// A request has to be there within this time, and its answer taken within as much again.
pub const REQUEST_MAX: Duration = Duration::from_secs(5);
/// Connections at once.
pub const CLIENTS_MAX: usize = 64;
/// After a failure to accept, such as having no file handles left.
const ACCEPT_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// A request, as far as it is looked at.
#[derive(Debug, PartialEq, Eq)]
pub struct Request<'h> {
    pub path: &'h str,
    /// What follows the `?`.
    pub query: &'h str,
    head: &'h str,
}

impl<'h> Request<'h> {
    /// The value of a header. `None` if it is given twice, because programs disagree on which one counts.
    pub fn header(&self, name: &str) -> Option<&'h str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        let mut values = lines.filter(|(own, _)| own.trim().eq_ignore_ascii_case(name));
        let (_, value) = values.next()?;
        values.next().is_none().then(|| value.trim())
    }

    /// The value of a parameter.
    pub fn parameter(&self, name: &str) -> Option<&'h str> {
        let pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.filter(|(own, _)| *own == name).map(|(_, value)| value).next()
    }

    /// The value of a parameter, its percent signs decoded (RFC 3986, section 2.1). `None` also where it is not UTF-8 then.
    pub fn decoded(&self, name: &str) -> Option<String> {
        let mut rest = self.parameter(name)?.as_bytes();
        let mut bytes = Vec::with_capacity(rest.len());
        while let Some((byte, behind)) = rest.split_first() {
            let digits = behind.first_chunk::<2>();
            let digits = digits.filter(|digits| *byte == b'%' && digits.iter().all(u8::is_ascii_hexdigit));
            let escaped = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
            bytes.push(escaped.unwrap_or(*byte));
            rest = if escaped.is_some() { &behind[2..] } else { behind };
        }
        String::from_utf8(bytes).ok()
    }
}

/// The answer to a client.
pub struct Answer {
    pub status: u16,
    pub kind: &'static str,
    /// Further headers, each with its end of line.
    pub headers: String,
    pub body: String,
}

impl Answer {
    pub fn text(status: u16, body: impl Into<String>) -> Answer {
        Answer {
            status,
            kind: "text/plain; charset=utf-8",
            headers: String::new(),
            body: body.into(),
        }
    }
}

/// Writes a stream until it fails or is over.
pub type Writing = Box<dyn FnOnce(&TcpStream) -> io::Result<()> + Send>;

/// What a request is answered by.
pub enum Reply {
    Whole(Answer),
    /// A stream without a length.
    Stream(Writing),
}

/// What answers.
pub trait Site: Send + Sync + 'static {
    fn reply(&self, request: &Request<'_>) -> Reply;
}

/// The connections, by their numbers in the order in which they came.
#[derive(Default)]
struct Clients {
    last_number: u64,
    open: BTreeMap<u64, Client>,
}

struct Client {
    stream: TcpStream,
    /// It has asked, and does not have its answer.
    is_served: bool,
}

impl Clients {
    /// The number of a new connection; None while all are being answered. A connection that makes room is cut off, which ends its thread.
    fn enter(&mut self, stream: &TcpStream) -> Option<u64> {
        if self.open.len() >= CLIENTS_MAX {
            let silent = self.open.iter().find(|(_, client)| !client.is_served);
            let client = silent
                .map(|(number, _)| *number)
                .and_then(|number| self.open.remove(&number))?;
            // One that has gone by itself is cut off already.
            let _ = client.stream.shutdown(Shutdown::Both);
        }
        let stream = stream.try_clone().ok()?;
        self.last_number += 1;
        let client = Client {
            stream,
            is_served: false,
        };
        self.open.insert(self.last_number, client);
        Some(self.last_number)
    }
}

fn hold(clients: &Mutex<Clients>) -> MutexGuard<'_, Clients> {
    clients.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers from now on where `listener` listens, until the process ends. Its threads bear `name`.
///
/// # Errors
/// No thread could be started for it.
pub fn start(listener: TcpListener, name: &str, site: Arc<dyn Site>) -> io::Result<()> {
    let thread_name = format!("{name}-client");
    thread::Builder::new().name(name.to_owned()).spawn(move || {
        let clients: Arc<Mutex<Clients>> = Arc::default();
        for stream in listener.incoming() {
            match stream {
                Ok(stream) => take(stream, &clients, &site, &thread_name),
                Err(_) => thread::sleep(ACCEPT_AGAIN_AFTER),
            }
        }
    })?;
    Ok(())
}

fn take(stream: TcpStream, clients: &Arc<Mutex<Clients>>, site: &Arc<dyn Site>, thread_name: &str) {
    let Some(number) = hold(clients).enter(&stream) else {
        // Not waited for: a client that does not take it at once does not get it.
        let _ = stream.set_write_timeout(Some(Duration::from_millis(10)));
        let _ = send(&stream, &Answer::text(503, "too many requests at once\n"), false);
        return;
    };
    let place = Place {
        clients: Arc::clone(clients),
        number,
    };
    let site = Arc::clone(site);
    // Without a thread the client is not answered, and its place is free again with the closure.
    let _ = thread::Builder::new().name(thread_name.to_owned()).spawn(move || {
        // A client that went away has its answer.
        let _ = serve(&stream, &place, &*site);
    });
}

/// A client's place; free again when this is dropped.
struct Place {
    clients: Arc<Mutex<Clients>>,
    number: u64,
}

impl Place {
    /// Whether this client is being answered from now on. False when it had to make room meanwhile.
    fn set_served(&self, is_served: bool) -> bool {
        let mut clients = hold(&self.clients);
        let client = clients.open.get_mut(&self.number);
        client.map(|client| client.is_served = is_served).is_some()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        hold(&self.clients).open.remove(&self.number);
    }
}

fn serve(stream: &TcpStream, place: &Place, site: &dyn Site) -> io::Result<()> {
    stream.set_write_timeout(Some(REQUEST_MAX))?;
    let head = read_head(stream)?;
    if !place.set_served(true) {
        return Ok(());
    }
    match head {
        Err(refusal) => send(stream, &refusal, true)?,
        Ok(head) => match request_of(&head).map(|request| site.reply(&request)) {
            Err(refusal) => send(stream, &refusal, true)?,
            Ok(Reply::Whole(answer)) => send(stream, &answer, !head.starts_with("HEAD "))?,
            Ok(Reply::Stream(write)) => {
                write(stream)?;
                return stream.shutdown(Shutdown::Both);
            }
        },
    }
    place.set_served(false);
    stream.shutdown(Shutdown::Write)?;
    read_rest(stream)
}

/// What the client still sends is read, or its system would take the answer back.
fn read_rest(mut stream: &TcpStream) -> io::Result<()> {
    let deadline = Instant::now() + Duration::from_secs(1);
    let mut rest = [0; 1024];
    while let Some(left) = deadline
        .checked_duration_since(Instant::now())
        .filter(|left| !left.is_zero())
    {
        stream.set_read_timeout(Some(left))?;
        if stream.read(&mut rest)? == 0 {
            break;
        }
    }
    Ok(())
}

/// Reads to the end of a request's head; a request that is none is answered.
fn read_head(mut stream: &TcpStream) -> io::Result<Result<String, Answer>> {
    let deadline = Instant::now() + REQUEST_MAX;
    let mut head = Vec::new();
    let mut buffer = [0; 1024];
    loop {
        if head.len() > HEAD_BYTES_MAX {
            return Ok(Err(Answer::text(431, "the head of this request is too long\n")));
        }
        if head.windows(4).any(|end| end == b"\r\n\r\n") {
            let text = String::from_utf8(head);
            return Ok(text.map_err(|_| Answer::text(400, "this is not HTTP\n")));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(Err(Answer::text(408, "the request did not come\n")));
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(Err(Answer::text(400, "the request ends early\n"))),
            Ok(count) => head.extend_from_slice(&buffer[..count]),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The request of a head.
fn request_of(head: &str) -> Result<Request<'_>, Answer> {
    let head = head.split_once("\r\n\r\n").map_or(head, |(head, _)| head);
    let mut words = head.lines().next().unwrap_or_default().split(' ');
    let (method, target, version) = (words.next(), words.next(), words.next());
    let (Some(method), Some(target), Some("HTTP/1.1" | "HTTP/1.0"), None) = (method, target, version, words.next())
    else {
        return Err(Answer::text(400, "this is not a request of HTTP/1.1\n"));
    };
    if !matches!(method, "GET" | "HEAD") {
        return Err(Answer::text(405, "only GET and HEAD are answered\n"));
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    Ok(Request { path, query, head })
}

/// The first lines of an answer, up to the headers of its own.
pub fn status_line(status: u16, kind: &str) -> String {
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        431 => "Request Header Fields Too Large",
        _ => "Service Unavailable",
    };
    format!("HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\nCache-Control: no-store\r\nConnection: close\r\n")
}

fn send(mut stream: &TcpStream, answer: &Answer, with_body: bool) -> io::Result<()> {
    let allow = if answer.status == 405 {
        "Allow: GET, HEAD\r\n"
    } else {
        ""
    };
    let mut whole = format!(
        "{}Content-Length: {}\r\n{allow}{}\r\n",
        status_line(answer.status, answer.kind),
        answer.body.len(),
        answer.headers
    );
    if with_body {
        whole.push_str(&answer.body);
    }
    stream.write_all(whole.as_bytes())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_taken_apart() {
        let head = "GET /a?b=c&token=x%20y HTTP/1.1\r\nHOST:  here \r\nX: 1\r\nx: 2\r\n\r\nHost: there";
        let request = request_of(head).ok().unwrap();
        assert_eq!((request.path, request.query), ("/a", "b=c&token=x%20y"));
        assert_eq!(
            (request.header("host"), request.header("x"), request.header("y")),
            (Some("here"), None, None)
        );
        assert_eq!(
            (request.parameter("token"), request.parameter("to")),
            (Some("x%20y"), None)
        );
        assert_eq!(request.decoded("token").as_deref(), Some("x y"));
        let decoded = |text: &str| {
            let head = format!("GET /?a={text} HTTP/1.1\r\n\r\n");
            request_of(&head).ok().unwrap().decoded("a")
        };
        assert_eq!(decoded("%C3%A4%3a%").as_deref(), Some("ä:%"));
        assert_eq!(decoded("%zz%+1").as_deref(), Some("%zz%+1"));
        assert_eq!(decoded("%ff"), None);
        let refused = |head: &str| request_of(head).err().map(|answer| answer.status);
        assert_eq!(refused("POST / HTTP/1.1\r\n\r\n"), Some(405));
        assert_eq!(refused("GET / HTTP/2\r\n\r\n"), Some(400));
        assert_eq!(refused("GET  / HTTP/1.1\r\n\r\n"), Some(400));
    }
}
