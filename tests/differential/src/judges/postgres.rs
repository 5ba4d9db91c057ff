//! PostgreSQL: a server of this run alone, in a temporary folder, spoken to over its socket.
//!
//! Its simple query protocol takes a page of code, and several connections' worth of libraries less to build (PostgreSQL
//! documentation, "Message Formats"):
//!
//! ```text
//!   message: type (1 byte, not for the first one) | length with itself (4, big-endian) | body
//!   asked:   Q text 0
//!   answers: T columns, D row: count (2), then length (4, -1 is NULL) and text for each column,
//!            C tag 0 ("UPDATE 3"), E fields: letter, text 0, ...; Z ready
//! ```

use super::{Answer, Failure, Judge};
use crate::dialect::Dialect;
use crate::print::Script;
use crate::schema::{Cell, Row};
use std::fs;
use std::io::{BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PROTOCOL: u32 = 196_608;
const READY_PATIENCE: Duration = Duration::from_secs(60);
/// It is thrown away afterwards.
const SETTINGS: [&str; 6] = [
    "listen_addresses=",
    "fsync=off",
    "full_page_writes=off",
    "synchronous_commit=off",
    "jit=off",
    "max_connections=10",
];

/// A running server and a connection to it.
pub struct Postgres {
    child: Child,
    folder: PathBuf,
    /// There is one as soon as it is ready.
    wire: Option<Wire>,
}

/// The folder of PostgreSQL's programs: the newest of Debian's, else that of the path.
fn programs() -> Option<PathBuf> {
    let debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = debian.map(|entry| entry.path().join("bin")).collect();
    found.sort();
    found.reverse();
    let path = std::env::var_os("PATH").unwrap_or_default();
    found.extend(std::env::split_paths(&path));
    found.into_iter().find(|folder| folder.join("initdb").is_file())
}

/// A command that does not run as root, which PostgreSQL refuses, and that ends with its parent.
fn command(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "INT"]);
    if rustix::process::geteuid().is_root() {
        command.args(["--reuid", "postgres", "--regid", "postgres", "--init-groups"]);
    }
    command.arg(program);
    command.stdin(Stdio::null());
    command
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)))
}

impl Postgres {
    /// Makes a cluster and starts a server on it.
    ///
    /// # Errors
    /// PostgreSQL is not here, or does not come up.
    pub fn start() -> Result<Postgres, String> {
        let programs = programs().ok_or("PostgreSQL is not installed (initdb in no known place)")?;
        let folder = std::env::temp_dir().join(format!("vlflab-differential-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        if rustix::process::geteuid().is_root() {
            run(Command::new("chown").arg("postgres").arg(&folder))?;
        }
        let data = folder.join("data");
        run(command(&programs.join("initdb"))
            .arg("--pgdata")
            .arg(&data)
            .args(["--username=postgres", "--auth=trust", "--locale=C"])
            .args(["--encoding=UTF8", "--no-sync"]))?;
        let mut server = command(&programs.join("postgres"));
        server.arg("-D").arg(&data).arg("-k").arg(&folder);
        for setting in SETTINGS {
            server.args(["-c", setting]);
        }
        let output = fs::File::create(folder.join("output.txt")).map_err(|error| error.to_string())?;
        let child = server
            .stdout(Stdio::null())
            .stderr(output)
            .spawn()
            .map_err(|error| format!("{server:?}: {error}"))?;
        let mut postgres = Postgres {
            child,
            folder,
            wire: None,
        };
        let begin = Instant::now();
        loop {
            match Wire::open(&postgres.folder) {
                Ok(wire) => {
                    postgres.wire = Some(wire);
                    return Ok(postgres);
                }
                // It is starting up.
                Err(_) if begin.elapsed() < READY_PATIENCE => std::thread::sleep(Duration::from_millis(20)),
                Err(error) => {
                    let words = fs::read_to_string(postgres.folder.join("output.txt")).unwrap_or_default();
                    return Err(format!("PostgreSQL did not come up: {error}: {words}"));
                }
            }
        }
    }
}

struct Wire(BufReader<UnixStream>);

impl Wire {
    fn open(folder: &Path) -> Result<Wire, String> {
        let stream = UnixStream::connect(folder.join(".s.PGSQL.5432")).map_err(|error| error.to_string())?;
        let mut wire = Wire(BufReader::new(stream));
        let mut body = PROTOCOL.to_be_bytes().to_vec();
        body.extend(b"user\0postgres\0database\0postgres\0\0");
        wire.send(None, &body)?;
        let answer = wire.answer()?;
        answer.failure.map_or(Ok(wire), |failure| Err(failure.text))
    }

    fn send(&mut self, kind: Option<u8>, body: &[u8]) -> Result<(), String> {
        let length = u32::try_from(body.len() + 4).map_err(|error| error.to_string())?;
        let mut message: Vec<u8> = kind.into_iter().collect();
        message.extend(length.to_be_bytes());
        message.extend(body);
        let stream = self.0.get_mut();
        stream
            .write_all(&message)
            .map_err(|error| format!("PostgreSQL: {error}"))
    }

    fn query(&mut self, text: &str) -> Result<Answer, String> {
        let mut body = text.as_bytes().to_vec();
        body.push(0);
        self.send(Some(b'Q'), &body)?;
        self.answer()
    }

    /// Several statements in a transaction: the first answer, or the first failure.
    fn all_or_nothing(&mut self, texts: &[String]) -> Result<Answer, String> {
        self.query("begin")?;
        let mut first = None;
        for text in texts {
            let answer = self.query(text)?;
            if answer.failure.is_some() {
                self.query("rollback")?;
                return Ok(answer);
            }
            first.get_or_insert(answer);
        }
        let end = self.query("commit")?;
        Ok(if end.failure.is_some() {
            end
        } else {
            first.unwrap_or_default()
        })
    }

    fn message(&mut self) -> Result<(u8, Vec<u8>), String> {
        let mut head = [0; 5];
        let lost = |error| format!("PostgreSQL: {error}");
        self.0.read_exact(&mut head).map_err(lost)?;
        let [kind, length @ ..] = head;
        let mut body = vec![0; (u32::from_be_bytes(length) as usize).saturating_sub(4)];
        self.0.read_exact(&mut body).map_err(lost)?;
        Ok((kind, body))
    }

    /// Everything up to "ready".
    fn answer(&mut self) -> Result<Answer, String> {
        let mut answer = Answer::default();
        loop {
            let (kind, body) = self.message()?;
            match kind {
                b'D' => answer.rows.push(row(&body).ok_or("PostgreSQL: a row that is none")?),
                b'C' => {
                    let tag = String::from_utf8_lossy(&body);
                    let count = tag.trim_end_matches('\0').rsplit(' ').next();
                    answer.count = count.and_then(|count| count.parse().ok());
                }
                b'E' => answer.failure = Some(failure(&body)),
                b'Z' => return Ok(answer),
                _ => {}
            }
        }
    }
}

fn row(body: &[u8]) -> Option<Row> {
    let (count, mut rest) = body.split_first_chunk::<2>()?;
    let mut row = Row::new();
    for _ in 0..u16::from_be_bytes(*count) {
        let (length, after) = rest.split_first_chunk::<4>()?;
        rest = after;
        let cell: Cell = match i32::from_be_bytes(*length) {
            -1 => None,
            length => {
                let (text, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
                rest = after;
                Some(String::from_utf8_lossy(text).into_owned())
            }
        };
        row.push(cell);
    }
    Some(row)
}

/// Fields `C` (SQLSTATE; class 23 is about constraints) and `M` (in words).
fn failure(body: &[u8]) -> Failure {
    let fields = body.split(|byte| *byte == 0).filter_map(|field| field.split_first());
    let (mut state, mut words) = (String::new(), String::new());
    for (letter, text) in fields {
        match letter {
            b'C' => state = String::from_utf8_lossy(text).into_owned(),
            b'M' => words = String::from_utf8_lossy(text).into_owned(),
            _ => {}
        }
    }
    Failure {
        is_constraint: state.starts_with("23"),
        text: format!("{state}: {words}"),
    }
}

impl Judge for Postgres {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn name(&self) -> &str {
        "PostgreSQL"
    }

    fn ask(&mut self, scripts: &[Script]) -> Result<Vec<Answer>, String> {
        let wire = self.wire.as_mut().ok_or("PostgreSQL: not connected")?;
        let mut answers = Vec::with_capacity(scripts.len());
        for script in scripts {
            answers.push(match script.as_slice() {
                [text] => wire.query(text)?,
                texts => wire.all_or_nothing(texts)?,
            });
        }
        Ok(answers)
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // Nothing in its folder is wanted any more; failures leave it in the system's temporary folder.
        if let Some(pid) = rustix::process::Pid::from_raw(self.child.id() as i32) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::QUIT);
        }
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
