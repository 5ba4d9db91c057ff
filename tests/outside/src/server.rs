//! The shipped binary as a child process on a mounted volume: started, waited for, killed.
//!
//! Invariant: nothing here touches the mount, so that a file system that hangs holds up the server alone. No server
//! outlives the harness: it is killed with its handle, and ends by itself when its standard input closes.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use lab::client::{ClientError, Connection, LOGIN_TIMEOUT, Security, Target};

/// Password of `sa` on every instance of the harness.
pub const PASSWORD: &str = "Outside tests 1";
const READY_MARK: &str = "Server=";

/// How to start a server.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The `vlflab` program.
    pub program: PathBuf,
    /// The instance folder, on the volume.
    pub data: PathBuf,
    /// What the server says goes here, off the volume.
    pub output: PathBuf,
    /// Version whose layout rules the server follows.
    pub sql_version: &'static str,
    /// `native` or `classic`.
    pub log_policy: &'static str,
    pub max_server_memory_mb: u32,
}

pub struct Server {
    child: Child,
    ready: Receiver<u16>,
    output: PathBuf,
    port: u16,
}

/// How waiting for a server ended.
#[derive(Debug)]
pub enum Wait {
    /// It takes connections.
    Ready,
    /// It ended by itself, with what it said.
    Ended(String),
    /// The time is over.
    TimedOut,
}

impl Server {
    /// Starts the program; it is not ready yet.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn spawn(launch: &Launch) -> io::Result<Server> {
        let mut command = Command::new(&launch.program);
        command.arg("serve").arg("--data").arg(&launch.data);
        command.args(["--bind", "127.0.0.1", "--port", "0", "--until-stdin-closes"]);
        command.args(["--sql-version", launch.sql_version, "--log-policy", launch.log_policy]);
        command.args(["--max-server-memory", &launch.max_server_memory_mb.to_string()]);
        command.env("MSSQL_SA_PASSWORD", PASSWORD);
        let output = File::create(&launch.output)?;
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(output)
            .spawn()?;
        let stdout = child
            .stdout
            .take()
            .ok_or_else(|| io::Error::other("no standard output"))?;
        let (sender, ready) = mpsc::channel();
        // Reads to the end, so that the server never waits for someone to take its output.
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if let Some(port) = port_of(&line) {
                    // Nobody waits any more when the server is being killed.
                    let _ = sender.send(port);
                }
            }
        });
        Ok(Server {
            child,
            ready,
            output: launch.output.clone(),
            port: 0,
        })
    }

    /// Waits until it takes connections.
    pub fn wait_until_ready(&mut self, patience: Duration) -> Wait {
        match self.ready.recv_timeout(patience) {
            Ok(port) => {
                self.port = port;
                Wait::Ready
            }
            Err(RecvTimeoutError::Timeout) => Wait::TimedOut,
            Err(RecvTimeoutError::Disconnected) => Wait::Ended(self.last_words()),
        }
    }

    fn last_words(&mut self) -> String {
        let status = self
            .child
            .wait()
            .map_or_else(|error| error.to_string(), |status| status.to_string());
        let said = fs::read_to_string(&self.output).unwrap_or_default();
        format!("{status}: {}", said.trim())
    }

    pub fn is_up(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// The most memory that was ever resident, MB.
    pub fn memory_mb_max(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kilobytes: u64 = line.trim().split(' ').next()?.parse().ok()?;
        Some(kilobytes >> 10)
    }

    /// Sends SIGKILL; the process may wait in the file system until that lets it go.
    pub fn send_kill(&mut self) {
        // Fails only for a process that has ended.
        let _ = self.child.kill();
    }

    /// Waits for its end.
    pub fn reap(&mut self) {
        // Fails only for a process that was waited for already.
        let _ = self.child.wait();
    }

    /// Asks for a clean end and waits for it; false when it has not come within `patience`.
    pub fn stop(&mut self, patience: Duration) -> bool {
        drop(self.child.stdin.take());
        let begin = Instant::now();
        while begin.elapsed() < patience {
            if !self.is_up() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }

    /// Whom to connect to.
    pub fn target(&self) -> Target {
        Target {
            host: "127.0.0.1".into(),
            port: self.port,
            user: "sa".into(),
            password: PASSWORD.into(),
            database: None,
            access_token: None,
            kerberos: None,
            timeout: LOGIN_TIMEOUT,
            security: Security::none(),
        }
    }

    /// A new connection.
    ///
    /// # Errors
    /// As the client's.
    pub fn connect(&self) -> Result<Connection, ClientError> {
        Connection::open(&self.target())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.send_kill();
    }
}

/// The port in a line that holds `Server=127.0.0.1,1433;`.
fn port_of(line: &str) -> Option<u16> {
    let (_, address) = line.split_once(READY_MARK)?;
    let (address, _) = address.split_once(';')?;
    address.rsplit_once(',')?.1.parse().ok()
}
