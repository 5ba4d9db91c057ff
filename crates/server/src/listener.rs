//! Accepting connections, and ending them.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use rustix::net::sockopt;
use tsql::stack;

use crate::backend::Backend;
use crate::connection::Connection;
use crate::credentials::PasswordChecker;
use crate::encryption::Encryption;
use crate::inbox::Signals;
use crate::throttle::Throttle;
use crate::watcher::Watcher;

/// Connections accepted beyond the limit, only to refuse them with a reason.
const CONNECTIONS_TO_REFUSE_MAX: usize = 16;

/// How long [`Server::stop`] waits for sessions whose sockets are closed and whose requests are cancelled.
const ABANDONED_WAIT_MAX: Duration = Duration::from_secs(10);

/// How long the listener may take to wake up and see the server stopping.
const WAKE_UP_MAX: Duration = Duration::from_millis(200);

/// A silent client is asked after so long whether it is still there, and then every second (SQL Server's own "Keep Alive" and
/// "Keep Alive Interval" of its network configuration).
const KEEP_ALIVE_AFTER: Duration = Duration::from_secs(30);
const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(1);

/// Clients that may wait to be accepted.
const WAITING_CLIENTS_MAX: i32 = 4096;

/// The pause after a failed accept (out of file handles, mostly), so that the failure is not met in a busy loop.
const ACCEPT_FAILURE_PAUSE: Duration = Duration::from_millis(50);

#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Where; port 0 takes any free one.
    pub address: SocketAddr,
    /// User connections at once (SQL Server: 32,767).
    pub connections_max: usize,
    /// The time a client has from connecting to its LOGIN7.
    pub login_timeout: Duration,
    /// What is demanded of clients, and by which certificate.
    pub encryption: Encryption,
    /// What checks their passwords.
    pub passwords: Arc<PasswordChecker>,
}

impl ServerOptions {
    /// SQL Server's own limits at `address`, and no encryption.
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            connections_max: 32_767,
            login_timeout: Duration::from_secs(30),
            encryption: Encryption::off(),
            passwords: Arc::default(),
        }
    }
}

/// A connection as the listener sees it.
struct Open {
    stream: TcpStream,
    signals: Arc<Signals>,
}

#[derive(Default)]
struct Registry {
    open: Mutex<BTreeMap<u64, Open>>,
    last_number: AtomicU64,
    changed: Condvar,
    stopping: AtomicBool,
    watcher: Arc<Watcher>,
    throttle: Throttle,
}

impl Registry {
    /// Gives a new connection its number. None when the server stops or is full to the last refusal.
    fn enter(&self, stream: &TcpStream, limit: usize) -> Option<(u64, Arc<Signals>, bool)> {
        let mut open = self.open.lock();
        if self.stopping.load(Ordering::SeqCst) || open.len() >= limit + CONNECTIONS_TO_REFUSE_MAX {
            return None;
        }
        let over = open.len() >= limit;
        let signals = Arc::new(Signals::default());
        let stream = stream.try_clone().ok()?;
        let number = self.last_number.fetch_add(1, Ordering::Relaxed) + 1;
        open.insert(
            number,
            Open {
                stream,
                signals: Arc::clone(&signals),
            },
        );
        Some((number, signals, over))
    }

    fn leave(&self, number: u64) {
        if let Some(open) = self.open.lock().remove(&number) {
            // The session holds the socket too until it is dropped. A socket already closed needs no closing.
            let _ = open.stream.shutdown(Shutdown::Both);
        }
        self.changed.notify_all();
    }

    /// Waits until no connection is open; false at the timeout.
    fn wait_empty(&self, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        let mut open = self.open.lock();
        while !open.is_empty() {
            if self.changed.wait_until(&mut open, deadline).timed_out() {
                return open.is_empty();
            }
        }
        true
    }
}

/// A running server. Dropping it stops it at once.
pub struct Server {
    registry: Arc<Registry>,
    local_address: SocketAddr,
    accepting: Option<JoinHandle<()>>,
    watching: Option<JoinHandle<()>>,
}

impl Server {
    /// Binds the address and starts to accept.
    pub fn start<B: Backend>(options: ServerOptions, backend: Arc<B>) -> io::Result<Self> {
        let listener = bind(options.address)?;
        Server::start_on(listener, options, backend)
    }

    /// Starts to accept on an address bound already; who has connected by then has waited.
    pub fn start_on<B: Backend>(listener: TcpListener, options: ServerOptions, backend: Arc<B>) -> io::Result<Self> {
        let local_address = listener.local_addr()?;
        let registry = Arc::new(Registry::default());
        let watching = registry.watcher.start()?;
        let shared = Arc::clone(&registry);
        let accepting = thread::Builder::new()
            .name("tds-accept".to_owned())
            .spawn(move || accept_loop(&listener, &options, &backend, &shared))?;
        Ok(Self {
            registry,
            local_address,
            accepting: Some(accepting),
            watching: Some(watching),
        })
    }

    pub fn local_address(&self) -> SocketAddr {
        self.local_address
    }

    pub fn connection_count(&self) -> usize {
        self.registry.open.lock().len()
    }

    /// Stops accepting, lets running requests finish for up to `grace`, then cancels what is left. True when every
    /// session has ended.
    pub fn stop(&mut self, grace: Duration) -> bool {
        self.begin_stop();
        self.wait_until_ended(grace) || self.abandon(ABANDONED_WAIT_MAX)
    }

    /// Stops accepting and ends idle connections; running requests go on to their end.
    pub fn begin_stop(&mut self) {
        self.registry.stopping.store(true, Ordering::SeqCst);
        if let Some(accepting) = self.accepting.take() {
            // The accept call has no timeout: a connection of our own wakes it, and sees the server stopping. Should
            // that fail, the thread stays behind in accept and refuses everyone.
            if TcpStream::connect_timeout(&reachable(self.local_address), WAKE_UP_MAX).is_ok() {
                let _ = accepting.join();
            }
        }
        for open in self.registry.open.lock().values() {
            open.signals.close_after_request();
            // The other side may be gone already.
            let _ = open.stream.shutdown(Shutdown::Read);
        }
    }

    /// Waits until every session has ended; false at the timeout.
    pub fn wait_until_ended(&self, timeout: Duration) -> bool {
        self.registry.wait_empty(timeout)
    }

    /// Cancels what still runs, closes its connection and waits for its end; false at the timeout.
    pub fn abandon(&self, timeout: Duration) -> bool {
        for open in self.registry.open.lock().values() {
            open.signals.abandon();
            let _ = open.stream.shutdown(Shutdown::Both);
        }
        self.registry.wait_empty(timeout)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.accepting.is_some() {
            self.stop(Duration::ZERO);
        }
        self.registry.watcher.stop();
        if let Some(watching) = self.watching.take() {
            // A watcher that failed has nothing more to tell.
            let _ = watching.join();
        }
    }
}

/// Binds an address with room for a rush of clients: who finds none tries again after a second, as TCP does.
///
/// # Errors
/// The address cannot be had.
pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    // Once more, with more room than the library asks for; the operating system has a limit of its own (net.core.somaxconn).
    rustix::net::listen(&listener, WAITING_CLIENTS_MAX)?;
    Ok(listener)
}

/// An address that reaches a listener bound to `bound`, from the machine that it is on.
pub fn reachable(bound: SocketAddr) -> SocketAddr {
    let ip = match bound.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, bound.port())
}

fn accept_loop<B: Backend>(
    listener: &TcpListener,
    options: &ServerOptions,
    backend: &Arc<B>,
    registry: &Arc<Registry>,
) {
    loop {
        let accepted = listener.accept();
        if registry.stopping.load(Ordering::SeqCst) {
            return;
        }
        match accepted {
            Ok((stream, address)) => admit(stream, address, options, backend, registry),
            Err(error) => {
                backend.write_errorlog("Server", &format!("A connection could not be accepted: {error}."));
                thread::sleep(ACCEPT_FAILURE_PAUSE);
            }
        }
    }
}

fn admit<B: Backend>(
    stream: TcpStream,
    address: SocketAddr,
    options: &ServerOptions,
    backend: &Arc<B>,
    registry: &Arc<Registry>,
) {
    let Some((number, signals, over)) = registry.enter(&stream, options.connections_max) else {
        return;
    };
    let (backend, owner) = (Arc::clone(backend), Arc::clone(registry));
    let (login_timeout, connections_max) = (options.login_timeout, options.connections_max);
    let (encryption, passwords) = (options.encryption.clone(), Arc::clone(&options.passwords));
    let spawned = thread::Builder::new()
        .name(format!("tds-session-{number}"))
        .stack_size(stack::THREAD_BYTES)
        .spawn(move || {
            stack::begin_thread(stack::THREAD_BYTES);
            let served = catch_unwind(AssertUnwindSafe(|| {
                // Without it answers still arrive, only later.
                let _ = stream.set_nodelay(true);
                keep_alive(&stream);
                Connection {
                    backend: backend.as_ref(),
                    stream,
                    address: address.ip().to_canonical(),
                    signals,
                    watcher: &owner.watcher,
                    passwords: &passwords,
                    throttle: &owner.throttle,
                    encryption: &encryption,
                    login_timeout,
                    over_limit: over.then_some(connections_max),
                }
                .serve();
            }));
            if served.is_err() {
                backend.write_errorlog("Logon", "The connection ended in a failed assertion.");
            }
            owner.leave(number);
        });
    if spawned.is_err() {
        registry.leave(number);
    }
}

/// Has the operating system notice a client whose machine or network is gone. Without it the session would wait forever; with
/// an operating system that refuses it, it does.
fn keep_alive(stream: &TcpStream) {
    let _ = sockopt::set_socket_keepalive(stream, true)
        .and_then(|()| sockopt::set_tcp_keepidle(stream, KEEP_ALIVE_AFTER))
        .and_then(|()| sockopt::set_tcp_keepintvl(stream, KEEP_ALIVE_EVERY));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const RUSH: i32 = 300;
    /// TCP sends again what had no room after a second.
    const LESS_THAN_A_SECOND: Duration = Duration::from_millis(900);

    /// Sixty threads that connected and closed made every login wait for a second: 128 clients may wait, and the next is not answered.
    #[test]
    fn a_rush_of_clients_finds_room_to_wait() {
        let limit = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap_or_default();
        if limit.trim().parse().unwrap_or(0) < RUSH {
            println!("skipped: a rush of clients: net.core.somaxconn is {}", limit.trim());
            return;
        }
        // Nobody accepts.
        let listener = bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
        let address = listener.local_addr().unwrap();
        let connect = |_| TcpStream::connect_timeout(&address, LESS_THAN_A_SECOND);
        let waiting: Result<Vec<TcpStream>, _> = (0..RUSH).map(connect).collect();
        assert_eq!(waiting.unwrap().len(), 300);
    }
}
