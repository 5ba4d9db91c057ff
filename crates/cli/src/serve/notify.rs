//! Notifications to a service manager by the protocol of sd_notify(3): datagrams to the socket that `NOTIFY_SOCKET`
//! names.
//!
//! | message | when |
//! |---|---|
//! | `STATUS=...` | whenever it changes: the database being recovered and its progress, the address, running undo, stopping |
//! | `EXTEND_TIMEOUT_USEC=...` | every second until it is ready and while it stops, so that `TimeoutStartSec` or `TimeoutStopSec` does not interrupt a recovery or checkpoint, which would only have to start again |
//! | `READY=1` | databases are open and the `ready:` line is printed |
//! | `STOPPING=1` | when it begins to stop |
//! | `WATCHDOG=1` | three times in `WATCHDOG_USEC`, if that is set for this process |
//!
//! Before the server is ready, `WATCHDOG=1` means that the process runs. Afterwards it is withheld if the server accepts our own connection
//! but does not answer PRELOGIN. If the connection itself fails (a firewall, no file handles left), nothing is known, and the server is not
//! killed for that.
//!
//! A service manager that does not listen costs a second at each notification, and nothing else.

use super::recovery::{Unrecovered, unrecovered};
use engine::activity::Activity;
use engine::instance::Instance;
use lab::client::{ClientError, Connection};
use server::listener::reachable;
use std::ffi::OsStr;
use std::io;
use std::net::SocketAddr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixDatagram};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

/// How often it is looked for something new to tell.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A manager that wants to hear more often than this wants too much.
const ALIVE_EVERY_MIN: Duration = Duration::from_millis(20);
/// For so long the manager is to wait for the next sign of life.
const EXTENSION: Duration = Duration::from_secs(60);
/// How long a manager has to take a datagram.
const TELL_MAX: Duration = Duration::from_secs(1);
/// Databases that a status names.
const NAMED_MAX: usize = 3;

/// Where the server is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Starting,
    Serving(SocketAddr),
    Stopping,
}

/// The manager's address, and the time within which it wants to hear that the server lives.
struct Wish {
    address: UnixAddress,
    watchdog: Option<Duration>,
}

impl Wish {
    /// What these values of `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID` ask for; `None` without a manager.
    fn of(socket: Option<&OsStr>, usec: Option<&OsStr>, pid: Option<&OsStr>) -> Result<Option<Wish>, String> {
        let Some(name) = socket.map(OsStr::as_bytes).filter(|name| !name.is_empty()) else {
            return Ok(None);
        };
        let address = match name {
            [b'@', abstract_name @ ..] => UnixAddress::from_abstract_name(abstract_name),
            [b'/', ..] => UnixAddress::from_pathname(OsStr::from_bytes(name)),
            _ => Err(io::Error::other("it is neither a path nor begins with @")),
        };
        let shown = String::from_utf8_lossy(name);
        let address = address.map_err(|error| format!("NOTIFY_SOCKET={shown} cannot be used: {error}"))?;
        let number = |value: Option<&OsStr>| value.and_then(OsStr::to_str).and_then(|text| text.parse::<u64>().ok());
        let is_ours = pid.is_none() || number(pid) == Some(std::process::id().into());
        let watchdog = number(usec)
            .filter(|usec| *usec > 0 && is_ours)
            .map(Duration::from_micros);
        Ok(Some(Wish { address, watchdog }))
    }
}

struct Manager {
    socket: UnixDatagram,
    wish: Wish,
    stage: Mutex<Stage>,
    changed: Condvar,
    activity: Arc<Activity>,
    instance: OnceLock<Arc<Instance>>,
}

/// Notifies the service manager, if there is one. A failure to notify stops nothing.
pub struct Notifier(Option<Arc<Manager>>);

impl Notifier {
    /// Looks for a manager in the environment, and begins to report the startup. The sentence says why a requested
    /// notification cannot be sent.
    pub fn start(activity: &Arc<Activity>) -> (Notifier, Option<String>) {
        let variable = |name: &str| std::env::var_os(name);
        let (socket, usec, pid) = (
            variable("NOTIFY_SOCKET"),
            variable("WATCHDOG_USEC"),
            variable("WATCHDOG_PID"),
        );
        let wish = Wish::of(socket.as_deref(), usec.as_deref(), pid.as_deref());
        let begun = wish.and_then(|wish| wish.map(|wish| Manager::begin(wish, activity)).transpose());
        match begun {
            Ok(manager) => (Notifier(manager), None),
            Err(reason) => (
                Notifier(None),
                Some(format!("the service manager is not notified: {reason}")),
            ),
        }
    }

    /// From now on its databases can be asked for.
    pub fn set_instance(&self, instance: &Arc<Instance>) {
        if let Some(manager) = &self.0 {
            // Set once.
            let _ = manager.instance.set(Arc::clone(instance));
        }
    }

    /// The server is ready at `address`.
    pub fn ready(&self, address: SocketAddr) {
        self.enter(Stage::Serving(address), "READY=1");
    }

    /// The server has a reason to stop.
    pub fn stopping(&self) {
        self.enter(Stage::Stopping, "STOPPING=1");
    }

    fn enter(&self, stage: Stage, words: &str) {
        let Some(manager) = &self.0 else { return };
        let mut place = manager.stage();
        *place = stage;
        manager.tell(&format!("{words}\nSTATUS={}", manager.status(stage)));
        manager.changed.notify_all();
    }
}

impl Manager {
    fn begin(wish: Wish, activity: &Arc<Activity>) -> Result<Arc<Manager>, String> {
        let socket = || -> io::Result<UnixDatagram> {
            let socket = UnixDatagram::unbound()?;
            socket.set_write_timeout(Some(TELL_MAX))?;
            Ok(socket)
        };
        let manager = Arc::new(Manager {
            socket: socket().map_err(|error| error.to_string())?,
            wish,
            stage: Mutex::new(Stage::Starting),
            changed: Condvar::new(),
            activity: Arc::clone(activity),
            instance: OnceLock::new(),
        });
        let status = manager.status(Stage::Starting);
        let first = manager
            .socket
            .send_to_addr(format!("STATUS={status}").as_bytes(), &manager.wish.address);
        first.map_err(|error| format!("its socket takes nothing: {error}"))?;
        let telling = Arc::clone(&manager);
        let thread = thread::Builder::new().name("notify".into());
        let spawned = thread.spawn(move || telling.tell_on(status));
        spawned.map(|_| manager).map_err(|error| error.to_string())
    }

    /// No thread panics while it holds the lock.
    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, words: &str) {
        // A manager that is gone or does not listen needs nothing.
        let _ = self.socket.send_to_addr(words.as_bytes(), &self.wish.address);
    }

    /// Tells what changes, and that the server lives, until the process ends.
    fn tell_on(&self, mut told: String) {
        let alive_every = self.wish.watchdog.map(|watchdog| (watchdog / 3).max(ALIVE_EVERY_MIN));
        let every = alive_every.map_or(LOOK_EVERY, |alive| alive.min(LOOK_EVERY));
        loop {
            let before = self.stage();
            let waited = self.changed.wait_timeout(before, every);
            let stage = *waited.unwrap_or_else(PoisonError::into_inner).0;
            // Asked without the mutex: an answer may take its time.
            let lives = alive_every.is_some_and(|patience| lives(stage, patience));
            let place = self.stage();
            let status = self.status(*place);
            let mut words = Vec::new();
            if status != told {
                words.push(format!("STATUS={status}"));
                told = status;
            }
            if !matches!(*place, Stage::Serving(_)) {
                words.push(format!("EXTEND_TIMEOUT_USEC={}", EXTENSION.as_micros()));
            }
            if lives {
                words.push("WATCHDOG=1".to_owned());
            }
            if !words.is_empty() {
                self.tell(&words.join("\n"));
            }
        }
    }

    fn status(&self, stage: Stage) -> String {
        let waiting = unrecovered(&self.activity, self.instance.get().map(Arc::as_ref));
        status_text(stage, &waiting)
    }
}

/// Whether the server answers its own greeting, as far as that can be found out.
fn lives(stage: Stage, patience: Duration) -> bool {
    let Stage::Serving(address) = stage else { return true };
    let address = reachable(address);
    match Connection::greet(&address.ip().to_string(), address.port(), patience) {
        // The system has taken the connection, and the server has nothing to say in all that time.
        Err(ClientError::Interrupted) => false,
        Ok(_) | Err(_) => true,
    }
}

/// One line, as `systemctl status` shows it.
fn status_text(stage: Stage, waiting: &[Unrecovered]) -> String {
    let named: Vec<String> = waiting.iter().take(NAMED_MAX).map(Unrecovered::to_string).collect();
    let mut named = named.join("; ");
    if waiting.len() > NAMED_MAX {
        named += &format!("; and {} more", waiting.len() - NAMED_MAX);
    }
    // A database may be called anything.
    let named: String = named
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect();
    match (stage, named.is_empty()) {
        (Stage::Starting, true) => "Starting".to_owned(),
        (Stage::Starting, false) => format!("Recovering {named}"),
        (Stage::Serving(address), true) => format!("Serving on {address}"),
        (Stage::Serving(address), false) => format!("Serving on {address}; not recovered: {named}"),
        (Stage::Stopping, _) => "Stopping".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_status_is_one_line_and_names_a_few() {
        let one = |database: &str| Unrecovered {
            database: database.to_owned(),
            phase: "redo",
            fraction: Some(0.5),
        };
        let at = Stage::Serving("127.0.0.1:1433".parse().unwrap());
        assert_eq!(status_text(Stage::Starting, &[]), "Starting");
        assert_eq!(
            status_text(Stage::Starting, &[one("a\nREADY=1")]),
            "Recovering a READY=1: redo, 50 %"
        );
        assert_eq!(status_text(at, &[]), "Serving on 127.0.0.1:1433");
        let many: Vec<Unrecovered> = ["a", "b", "c", "d", "e"].map(one).into();
        assert_eq!(
            status_text(at, &many),
            "Serving on 127.0.0.1:1433; not recovered: a: redo, 50 %; b: redo, 50 %; c: redo, 50 %; and 2 more"
        );
    }

    /// A listener that accepts no connections hangs; no listener, or an invalid answer, proves nothing.
    #[test]
    fn a_server_that_does_not_answer_is_not_said_to_live() {
        let moment = Duration::from_millis(300);
        let hanging = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = hanging.local_addr().unwrap();
        assert!(lives(Stage::Starting, moment) && lives(Stage::Stopping, moment));
        assert!(!lives(Stage::Serving(address), moment));
        drop(hanging);
        assert!(lives(Stage::Serving(address), moment));
    }

    #[test]
    fn the_environment_says_whom_to_tell_and_how_often() {
        let wish = |socket: &str, usec: Option<&str>, pid: Option<&str>| {
            Wish::of(Some(socket.as_ref()), usec.map(OsStr::new), pid.map(OsStr::new))
        };
        assert!(Wish::of(None, Some("1".as_ref()), None).unwrap().is_none());
        assert!(wish("", None, None).unwrap().is_none());
        let path = wish("/run/notify", None, None).unwrap().unwrap();
        assert_eq!(path.address.as_pathname().unwrap().to_str(), Some("/run/notify"));
        assert_eq!(path.watchdog, None);
        let ours = std::process::id().to_string();
        let hidden = wish("@x/y", Some("3000000"), Some(&ours)).unwrap().unwrap();
        assert_eq!(hidden.address.as_abstract_name(), Some(b"x/y".as_slice()));
        assert_eq!(hidden.watchdog, Some(Duration::from_secs(3)));
        for (usec, pid) in [("0", ours.as_str()), ("soon", &ours), ("1", "1"), ("1", "")] {
            assert_eq!(
                wish("/n", Some(usec), Some(pid)).unwrap().unwrap().watchdog,
                None,
                "{usec} {pid}"
            );
        }
        for wrong in [
            "relative",
            "vsock:2:1",
            &format!("/{}", "x".repeat(200)),
            &format!("@{}", "x".repeat(200)),
        ] {
            assert!(wish(wrong, None, None).is_err(), "{wrong}");
        }
    }
}
