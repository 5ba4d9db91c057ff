//! A `vlflab serve` as a child process: started, waited for, killed.
//!
//! Invariant: no child outlives this program. Dropping a [`ServerProcess`] kills it and waits for its end; and the child ends
//! by itself when its standard input closes, which the operating system does for a parent that died without dropping.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How to start a server.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The `vlflab` program.
    pub program: PathBuf,
    pub data: PathBuf,
    /// Version whose layout rules the server follows.
    pub sql_version: String,
    /// How the log does its work: `native`, `classic`, `native,discovery=classic`.
    pub log_policy: String,
    /// Whether data files grow without zeros being written.
    pub instant_file_initialization: bool,
    /// Its memory, MB, if not the default.
    pub max_server_memory_mb: Option<u32>,
    /// Password of `sa`.
    pub password: String,
    /// A modelled disk: its name, or its file.
    pub disk: Option<String>,
    /// Only that disk takes time.
    pub without_processor_time: bool,
    /// With its live page.
    pub has_page: bool,
}

pub struct ServerProcess {
    child: Child,
    ready: Ready,
    /// What it answers about the time of its modelled disk.
    clock: Mutex<Receiver<Option<ClockParts>>>,
}

/// What a server says when it is ready.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Ready {
    port: u16,
    /// Where its live page is.
    page: Option<String>,
}

/// The time of a server with a modelled disk, nanoseconds since it was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClockParts {
    /// What the device took.
    pub device_ns: u64,
    /// What processors took.
    pub processor_ns: u64,
}

/// Why a server is not ready.
#[derive(Debug)]
pub enum StartError {
    /// It could not be started at all.
    Io(io::Error),
    /// It ended before it was ready; with what it said.
    Ended(String),
    /// The caller wished to stop.
    Interrupted,
}

/// The error log in the instance folder.
pub const ERROR_LOG: &str = "log/ERRORLOG";
/// What the server's line on readiness says before its address.
pub const READY_MARK: &str = "Server=";
/// What its lines on the time of a modelled disk begin with; two numbers follow, as in [`ClockParts`].
pub const CLOCK_MARK: &str = "clock: ";
/// An answer about the time comes at once, or never.
const CLOCK_PATIENCE: Duration = Duration::from_secs(60);

const POLL_INTERVAL: Duration = Duration::from_millis(50);
const STDERR_FILE: &str = "server-stderr.txt";

/// The server that this process started last, and whether it may start others.
struct Last {
    id: Option<u32>,
    is_over: bool,
}

static LAST: Mutex<Last> = Mutex::new(Last {
    id: None,
    is_over: false,
});

/// Ends the server that was started last, if it still runs, and lets no other start: for a caller that is about to end this process as it
/// stands, with nothing left writing behind it.
pub fn end_for_good() {
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    last.is_over = true;
    let Some(id) = last.id.filter(|id| is_running_child(*id)) else {
        return;
    };
    let process = i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw);
    if process.is_some_and(|process| rustix::process::kill_process(process, rustix::process::Signal::KILL).is_ok()) {
        while is_running_child(id) {
            std::thread::yield_now();
        }
    }
}

/// Whether a process is a child of this one and has not ended. The id of a child that has ended may be another process's by now.
fn is_running_child(id: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    // `id (name) state parent ...`, where the name may hold anything (proc_pid_stat(5)).
    let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let (state, parent) = (fields.next(), fields.next());
    parent == Some(&std::process::id().to_string()) && state != Some("Z")
}

impl ServerProcess {
    /// Starts a server on a free port and waits until it takes connections.
    ///
    /// # Errors
    /// See [`StartError`]; the child is gone then.
    pub fn start(launch: &Launch, go_on: &dyn Fn() -> bool) -> Result<ServerProcess, StartError> {
        let stderr_path = launch.data.join(STDERR_FILE);
        let child = {
            let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
            if last.is_over {
                return Err(StartError::Interrupted);
            }
            fs::create_dir_all(&launch.data).map_err(StartError::Io)?;
            let child = spawn(launch, &stderr_path).map_err(StartError::Io)?;
            last.id = Some(child.id());
            child
        };
        let (told, clock) = mpsc::channel();
        let mut server = ServerProcess {
            child,
            ready: Ready::default(),
            clock: Mutex::new(clock),
        };
        server.ready = server.wait_until_ready(go_on, &stderr_path, told)?;
        Ok(server)
    }

    /// The port it listens on, on this machine's own address 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.ready.port
    }

    /// Where its live page is, if it was started with one.
    pub fn page(&self) -> Option<&str> {
        self.ready.page.as_deref()
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The time of its modelled disk.
    ///
    /// # Errors
    /// It has none, or does not answer.
    pub fn clock(&mut self) -> io::Result<ClockParts> {
        let input = self.child.stdin.as_mut();
        let input = input.ok_or_else(|| io::Error::other("the server is being stopped"))?;
        input.write_all(b"?")?;
        let answers = self.clock.get_mut().unwrap_or_else(PoisonError::into_inner);
        let answer = answers.recv_timeout(CLOCK_PATIENCE).ok().flatten();
        answer.ok_or_else(|| io::Error::other("the server does not tell its disk's time"))
    }

    /// Whether it has ended without being asked to.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Ends it with SIGKILL, as a power cut would as far as the process can tell.
    ///
    /// # Errors
    /// The operating system refuses, which it does not for a child of one's own.
    pub fn kill(mut self) -> io::Result<()> {
        self.end()
    }

    /// Asks it to shut down and waits until it has; killed when that takes longer than `patience`.
    ///
    /// # Errors
    /// It had to be killed, or ended with a failure.
    pub fn stop(mut self, patience: Duration) -> io::Result<()> {
        drop(self.child.stdin.take());
        let begin = Instant::now();
        loop {
            match self.child.try_wait()? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(io::Error::other(format!("the server stopped with {status}"))),
                None if begin.elapsed() > patience => return Err(io::Error::other("the server does not stop")),
                None => std::thread::sleep(POLL_INTERVAL),
            }
        }
    }

    fn end(&mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait().map(|_| ())
    }

    fn wait_until_ready(
        &mut self,
        go_on: &dyn Fn() -> bool,
        stderr_path: &Path,
        clock: Sender<Option<ClockParts>>,
    ) -> Result<Ready, StartError> {
        let stdout = self
            .child
            .stdout
            .take()
            .ok_or_else(|| StartError::Ended("it has no output".into()))?;
        let (sender, receiver) = mpsc::channel();
        // Nobody listens to what is sent once the wait was given up; the server is then being killed. Reads on after the port was found, so that the server never waits for someone to take its output.
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if let Some(parts) = line.strip_prefix(CLOCK_MARK) {
                    let _ = clock.send(clock_parts(parts));
                } else if let Some(port) = port_of(&line) {
                    let page = page_of(&line).map(str::to_owned);
                    let _ = sender.send(Ready { port, page });
                }
            }
        });
        loop {
            match receiver.recv_timeout(POLL_INTERVAL) {
                Ok(ready) => return Ok(ready),
                Err(RecvTimeoutError::Disconnected) => return Err(self.why_it_ended(stderr_path)),
                Err(RecvTimeoutError::Timeout) if !go_on() => return Err(StartError::Interrupted),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn why_it_ended(&mut self, stderr_path: &Path) -> StartError {
        let status = self
            .child
            .wait()
            .map_or_else(|error| error.to_string(), |status| status.to_string());
        let said = fs::read_to_string(stderr_path).unwrap_or_default();
        let said = said.trim();
        StartError::Ended(if said.is_empty() {
            status
        } else {
            format!("{status}: {said}")
        })
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // Fails only for a child that has ended already.
        let _ = self.end();
    }
}

fn spawn(launch: &Launch, stderr_path: &Path) -> io::Result<Child> {
    let mut command = Command::new(&launch.program);
    command.arg("serve").arg("--data").arg(&launch.data);
    command.args(["--bind", "127.0.0.1", "--port", "0", "--until-stdin-closes"]);
    command.args(["--sql-version", &launch.sql_version, "--log-policy", &launch.log_policy]);
    let instant = launch.instant_file_initialization.to_string();
    command.args(["--instant-file-initialization", &instant]);
    if let Some(megabytes) = launch.max_server_memory_mb {
        command.args(["--max-server-memory", &megabytes.to_string()]);
    }
    if let Some(disk) = &launch.disk {
        command.args(["--disk", disk]);
    }
    if launch.without_processor_time {
        command.arg("--without-processor-time");
    }
    if launch.has_page {
        command.args(["--web", "0"]);
    }
    command.env("MSSQL_SA_PASSWORD", &launch.password);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(File::create(stderr_path)?);
    // A group of its own: Ctrl-C in the terminal is for the lab, which then ends the server itself.
    command.process_group(0).spawn()
}

/// `12 34`.
fn clock_parts(text: &str) -> Option<ClockParts> {
    let (device, processor) = text.trim().split_once(' ')?;
    Some(ClockParts {
        device_ns: device.parse().ok()?,
        processor_ns: processor.parse().ok()?,
    })
}

/// What the server's line on readiness says before the address of its live page.
const PAGE_MARK: &str = "live page ";

/// The address in a line that ends with `live page http://...`.
fn page_of(line: &str) -> Option<&str> {
    line.split_once(PAGE_MARK).map(|(_, page)| page.trim())
}

/// The port in a line that holds `Server=127.0.0.1,1433;`.
fn port_of(line: &str) -> Option<u16> {
    let (_, address) = line.split_once(READY_MARK)?;
    let (address, _) = address.split_once(';')?;
    address.rsplit_once(',')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn launch(program: &str) -> Launch {
        let folder = format!(
            "vlflab-server-process-{}-{}",
            std::process::id(),
            program.replace('/', "_")
        );
        Launch {
            program: program.into(),
            data: std::env::temp_dir().join(folder),
            sql_version: "2022".into(),
            log_policy: "native".into(),
            instant_file_initialization: true,
            max_server_memory_mb: None,
            password: String::new(),
            disk: None,
            without_processor_time: false,
            has_page: false,
        }
    }

    #[test]
    fn the_port_is_read_from_the_ready_line() {
        assert_eq!(port_of("ready: Server=127.0.0.1,49152;User Id=sa"), Some(49_152));
        let line = "ready: Server=127.0.0.1,1;User Id=sa, live page http://127.0.0.1:2/?token=3";
        assert_eq!(
            (port_of(line), page_of(line)),
            (Some(1), Some("http://127.0.0.1:2/?token=3"))
        );
        assert_eq!(port_of("recovering Server"), None);
        assert_eq!(port_of("Server=127.0.0.1;"), None);
    }

    #[test]
    fn the_clock_is_two_numbers() {
        let parts = ClockParts {
            device_ns: 12,
            processor_ns: 3,
        };
        assert_eq!(clock_parts("12 3"), Some(parts));
        assert_eq!(clock_parts("12"), None);
    }

    #[test]
    fn a_program_that_ends_at_once_is_told_with_its_status() {
        let launch = launch("/bin/false");
        let failure = ServerProcess::start(&launch, &|| true).err().unwrap();
        assert!(
            matches!(failure, StartError::Ended(ref text) if text.contains("exit status: 1")),
            "{failure:?}"
        );
        fs::remove_dir_all(&launch.data).unwrap();
    }

    #[test]
    fn a_program_that_is_not_there_is_an_io_error() {
        let launch = launch("/nonexistent/vlflab");
        assert!(matches!(
            ServerProcess::start(&launch, &|| true),
            Err(StartError::Io(_))
        ));
        fs::remove_dir_all(&launch.data).unwrap();
    }
}
