//! A server as an operator starts it: with options and an environment of his, its standard output read line by line.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_vlflab");
pub const PASSWORD: &str = workbench::SA_PASSWORD;
/// Nothing that is waited for takes this long, unless it does not come at all.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// A folder that is removed when the test is over.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("operations-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// `vlflab serve` on `data` and a free port, not started. The folder has its password already.
pub fn serve(data: &Path) -> Command {
    workbench::store_sa_password(data);
    serve_new(data)
}

/// The same on a folder that is not there yet, or has no password.
pub fn serve_new(data: &Path) -> Command {
    let mut command = Command::new(PROGRAM);
    command.arg("serve").arg("--data").arg(data);
    command.args(["--port", "0", "--max-server-memory", "64"]);
    command.env("MSSQL_SA_PASSWORD", PASSWORD).stdin(Stdio::null());
    for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"] {
        command.env_remove(name);
    }
    command
}

/// A running server, killed when dropped.
pub struct Serving {
    child: Child,
    lines: Receiver<String>,
    /// `127.0.0.1,PORT`
    pub address: String,
    /// What it said before it was ready, and the line with which it was.
    pub said: Vec<String>,
}

impl Serving {
    /// Starts it and waits until it is ready.
    pub fn start(command: &mut Command) -> Serving {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = mpsc::channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            output
                .lines()
                .map_while(Result::ok)
                .try_for_each(|line| sender.send(line))
        });
        let mut serving = Serving {
            child,
            lines,
            address: String::new(),
            said: Vec::new(),
        };
        while serving.address.is_empty() {
            let line = serving.lines.recv_timeout(PATIENCE).expect("the server became ready");
            if let Some((_, rest)) = line.split_once("Server=") {
                serving.address = rest.split(';').next().unwrap().to_owned();
            }
            serving.said.push(line);
        }
        serving
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by its name, such as `TERM`.
    pub fn signal(&self, name: &str) {
        let (signal, id) = (format!("-{name}"), self.id().to_string());
        assert!(Command::new("kill").args([&signal, &id]).status().unwrap().success());
    }

    /// Waits for its end; what it said until then is in `said`.
    pub fn wait(&mut self) -> ExitStatus {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                self.said.extend(self.lines.iter());
                return status;
            }
            assert!(begin.elapsed() < PATIENCE, "the server does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Runs a batch as sa; what it printed. It must not fail.
    pub fn sql(&self, batch: &str) -> String {
        let output = self.sql_as(PASSWORD, batch);
        assert!(output.status.success(), "{batch}: {}", said(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs a batch with this password.
    pub fn sql_as(&self, password: &str, batch: &str) -> Output {
        let arguments = [
            "sql",
            "-S",
            &self.address,
            "-P",
            password,
            "-W",
            "-h",
            "-1",
            "-Q",
            batch,
        ];
        vlflab(&arguments)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn vlflab(arguments: &[&str]) -> Output {
    Command::new(PROGRAM)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Both outputs of a program that has ended.
pub fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}
