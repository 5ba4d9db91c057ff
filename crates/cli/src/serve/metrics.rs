//! `vlflab serve --metrics`: what a monitoring system reads from a running server, by HTTP/1.1.
//!
//! | path | 200 | 503 |
//! |---|---|---|
//! | `/metrics` | the page of [`super::exposition`] | |
//! | `/healthz` | the process answers | |
//! | `/readyz` | the server takes connections; a line for each database that is not recovered | it starts, with how far each recovery is, or it stops |
//!
//! It answers from before the first database is opened. Any other path is 404, any method but GET and HEAD 405; a malformed request is 400,
//! one with a longer head than [`HEAD_BYTES_MAX`] 431, one that takes longer than [`REQUEST_MAX`] 408. A connection is for one request.
//!
//! There are [`CLIENTS_MAX`] places. When all are taken, a new connection replaces the one that has been silent for longest: without a
//! whole request yet, or already answered. So silent connections block no one. If all are being answered, the new one gets 503.
//!
//! There is no login: anyone who can reach the port can read names of databases and counts, but no rows or statements. A request
//! takes no lock that a statement holds while it waits.

use super::exposition;
use super::recovery::unrecovered;
use engine::activity::Activity;
use engine::instance::Instance;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// A head that is longer is refused.
const HEAD_BYTES_MAX: usize = 8 * 1024;
/// A request has to be there within this time, and its answer taken within as much again.
const REQUEST_MAX: Duration = Duration::from_secs(5);
/// Connections at once.
const CLIENTS_MAX: usize = 64;
/// After a failure to accept, such as having no file handles left.
const ACCEPT_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// Where the server is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Starting,
    Serving,
    Stopping,
}

struct Life {
    activity: Arc<Activity>,
    instance: OnceLock<Arc<Instance>>,
    stage: Mutex<Stage>,
    clients: Mutex<Clients>,
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

/// Answers, if it was asked for.
pub struct Metrics(Option<(SocketAddr, Arc<Life>)>);

impl Metrics {
    /// Answers from now on where `listener` listens.
    ///
    /// # Errors
    /// No thread could be started for it.
    pub fn start(listener: Option<TcpListener>, activity: &Arc<Activity>) -> io::Result<Metrics> {
        let Some(listener) = listener else {
            return Ok(Metrics(None));
        };
        let address = listener.local_addr()?;
        let life = Arc::new(Life {
            activity: Arc::clone(activity),
            instance: OnceLock::new(),
            stage: Mutex::new(Stage::Starting),
            clients: Mutex::default(),
        });
        let shared = Arc::clone(&life);
        thread::Builder::new()
            .name("metrics".to_owned())
            .spawn(move || accept(&listener, &shared))?;
        Ok(Metrics(Some((address, life))))
    }

    pub fn address(&self) -> Option<SocketAddr> {
        self.0.as_ref().map(|(address, _)| *address)
    }

    /// From now on its databases can be asked for.
    pub fn set_instance(&self, instance: &Arc<Instance>) {
        if let Some((_, life)) = &self.0 {
            // Set once.
            let _ = life.instance.set(Arc::clone(instance));
        }
    }

    /// The server takes connections.
    pub fn ready(&self) {
        self.enter(Stage::Serving);
    }

    /// The server has a reason to stop.
    pub fn stopping(&self) {
        self.enter(Stage::Stopping);
    }

    fn enter(&self, stage: Stage) {
        if let Some((_, life)) = &self.0 {
            *life.stage.lock().unwrap_or_else(PoisonError::into_inner) = stage;
        }
    }
}

/// Takes connections until the process ends.
fn accept(listener: &TcpListener, life: &Arc<Life>) {
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            thread::sleep(ACCEPT_AGAIN_AFTER);
            continue;
        };
        let Some(number) = life.clients().enter(&stream) else {
            // Not waited for: a client that does not take it at once does not get it.
            let _ = stream.set_write_timeout(Some(Duration::from_millis(10)));
            let _ = send(&stream, &Answer::text(503, "too many requests at once\n"), false);
            continue;
        };
        let place = Place {
            life: Arc::clone(life),
            number,
        };
        // Without a thread the client is not answered, and its place is free again with the closure.
        let _ = thread::Builder::new().name("metrics-client".to_owned()).spawn(move || {
            // A client that went away has its answer.
            let _ = serve(&stream, &place);
        });
    }
}

/// A client's place; free again when this is dropped.
struct Place {
    life: Arc<Life>,
    number: u64,
}

impl Place {
    /// Whether this client is being answered from now on. False when it had to make room meanwhile.
    fn set_served(&self, is_served: bool) -> bool {
        let mut clients = self.life.clients();
        let client = clients.open.get_mut(&self.number);
        client.map(|client| client.is_served = is_served).is_some()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.life.clients().open.remove(&self.number);
    }
}

impl Life {
    fn clients(&self) -> MutexGuard<'_, Clients> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn serve(stream: &TcpStream, place: &Place) -> io::Result<()> {
    stream.set_write_timeout(Some(REQUEST_MAX))?;
    let head = read_head(stream)?;
    if !place.set_served(true) {
        return Ok(());
    }
    let (answer, with_body) = match head {
        Ok(head) => (answer(&head, &place.life), !head.starts_with("HEAD ")),
        Err(refusal) => (refusal, true),
    };
    send(stream, &answer, with_body)?;
    place.set_served(false);
    stream.shutdown(Shutdown::Write)?;
    // What the client still sends is read, or its system would take the answer back.
    let deadline = Instant::now() + Duration::from_secs(1);
    let mut rest = [0; 1024];
    let mut source = stream;
    while let Some(left) = deadline
        .checked_duration_since(Instant::now())
        .filter(|left| !left.is_zero())
    {
        stream.set_read_timeout(Some(left))?;
        if source.read(&mut rest)? == 0 {
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
        if head.windows(4).any(|end| end == b"\r\n\r\n") {
            let text = String::from_utf8(head);
            return Ok(text.map_err(|_| Answer::text(400, "this is not HTTP\n")));
        }
        if head.len() > HEAD_BYTES_MAX {
            return Ok(Err(Answer::text(431, "the head of this request is too long\n")));
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

/// What is said to a client.
struct Answer {
    status: u16,
    kind: &'static str,
    body: String,
}

impl Answer {
    fn text(status: u16, body: impl Into<String>) -> Answer {
        Answer {
            status,
            kind: "text/plain; charset=utf-8",
            body: body.into(),
        }
    }
}

fn answer(head: &str, life: &Life) -> Answer {
    let mut words = head.lines().next().unwrap_or_default().split(' ');
    let (method, target, version) = (words.next(), words.next(), words.next());
    let (Some(method), Some(target), Some("HTTP/1.1" | "HTTP/1.0"), None) = (method, target, version, words.next())
    else {
        return Answer::text(400, "this is not a request of HTTP/1.1\n");
    };
    let path = target.split('?').next().unwrap_or_default();
    match (method, path) {
        ("GET" | "HEAD", "/metrics") => Answer {
            kind: exposition::KIND,
            ..Answer::text(
                200,
                exposition::page(&life.activity, life.instance.get().map(Arc::as_ref)),
            )
        },
        ("GET" | "HEAD", "/healthz") => Answer::text(200, "healthy\n"),
        ("GET" | "HEAD", "/readyz") => readiness(life),
        ("GET" | "HEAD", "/") => Answer::text(200, "/metrics /healthz /readyz\n"),
        ("GET" | "HEAD", _) => Answer::text(404, "there are /metrics, /healthz and /readyz\n"),
        _ => Answer::text(405, "only GET and HEAD are answered\n"),
    }
}

/// Whether clients are taken, and what is not recovered.
fn readiness(life: &Life) -> Answer {
    let stage = *life.stage.lock().unwrap_or_else(PoisonError::into_inner);
    let (status, mut body) = match stage {
        Stage::Starting => (503, "starting\n".to_owned()),
        Stage::Serving => (200, "ready\n".to_owned()),
        Stage::Stopping => (503, "stopping\n".to_owned()),
    };
    for each in unrecovered(&life.activity, life.instance.get().map(Arc::as_ref)) {
        // A String takes whatever is written.
        let _ = writeln!(body, "{each}");
    }
    Answer::text(status, body)
}

fn send(mut stream: &TcpStream, answer: &Answer, with_body: bool) -> io::Result<()> {
    let reason = match answer.status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        431 => "Request Header Fields Too Large",
        _ => "Service Unavailable",
    };
    let allow = if answer.status == 405 {
        "Allow: GET, HEAD\r\n"
    } else {
        ""
    };
    let mut whole = format!(
        "HTTP/1.1 {} {reason}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n{allow}Connection: close\r\n\r\n",
        answer.status,
        answer.kind,
        answer.body.len()
    );
    if with_body {
        whole.push_str(&answer.body);
    }
    stream.write_all(whole.as_bytes())
}
