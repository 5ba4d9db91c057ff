//! A served instance in a separate folder, and a client that keeps every message.

use lab::client::{ClientError, Connection, Event, LOGIN_TIMEOUT, Security, ServerMessage, Target};
use lab::server_process::{ERROR_LOG, Launch, ServerProcess, StartError};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub const PASSWORD: &str = workbench::SA_PASSWORD;
const END_WAIT_MAX: Duration = Duration::from_secs(30);

/// A folder that is removed when the test is over.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("outer-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder in use by nobody can be removed; what is left is in the target folder anyway.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A folder with the real server on it, or between two servers.
pub struct Served {
    pub launch: Launch,
    server: Option<ServerProcess>,
    folder: Folder,
}

impl Served {
    /// A new instance, started.
    pub fn new(name: &str) -> Served {
        let mut served = Served::unstarted(Folder::new(name));
        served.start();
        served
    }

    /// An instance on `folder`, not started.
    pub fn unstarted(folder: Folder) -> Served {
        workbench::store_sa_password(&folder.0);
        let launch = Launch {
            program: env!("CARGO_BIN_EXE_vlflab").into(),
            data: folder.0.clone(),
            sql_version: "2022".into(),
            log_policy: "native".into(),
            instant_file_initialization: true,
            max_server_memory_mb: Some(64),
            password: PASSWORD.into(),
            disk: None,
            without_processor_time: false,
            has_page: false,
        };
        Served {
            launch,
            server: None,
            folder,
        }
    }

    pub fn start(&mut self) {
        self.server = Some(ServerProcess::start(&self.launch, &|| true).unwrap());
    }

    /// Starts it and kills it after `delay`; true when it was not ready before that.
    pub fn start_and_kill(&mut self, delay: Duration) -> bool {
        let begin = Instant::now();
        match ServerProcess::start(&self.launch, &|| begin.elapsed() < delay) {
            Ok(server) => {
                server.kill().unwrap();
                false
            }
            Err(StartError::Interrupted) => true,
            Err(error) => panic!("{error:?}"),
        }
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        self.server.take().unwrap().kill().unwrap();
    }

    /// A clean end by SHUTDOWN.
    pub fn shut_down(&mut self) {
        // The connection may break before or after the answer.
        let _ = self.connect().run("shutdown", &mut |_| {});
        let mut server = self.server.take().unwrap();
        let begin = Instant::now();
        while !server.has_ended() {
            assert!(begin.elapsed() < END_WAIT_MAX, "SHUTDOWN did not end the server");
            std::thread::yield_now();
        }
    }

    /// Sends SIGTERM.
    pub fn terminate(&self) {
        let id = self.server.as_ref().unwrap().id().to_string();
        let sent = std::process::Command::new("kill")
            .args(["-TERM", &id])
            .status()
            .unwrap();
        assert!(sent.success());
    }

    /// Waits until the server has ended by itself; how long that took.
    pub fn wait_for_end(&mut self) -> Duration {
        let begin = Instant::now();
        let mut server = self.server.take().unwrap();
        while !server.has_ended() {
            assert!(begin.elapsed() < END_WAIT_MAX, "the server does not end");
            std::thread::sleep(Duration::from_millis(1));
        }
        begin.elapsed()
    }

    pub fn is_up(&mut self) -> bool {
        !self.server.as_mut().unwrap().has_ended()
    }

    pub fn port(&self) -> u16 {
        self.server.as_ref().unwrap().port()
    }

    /// The most memory the server ever held, MB (`VmHWM`).
    pub fn memory_mb_max(&self) -> u64 {
        self.status_kb("VmHWM:") / 1_024
    }

    /// A number of the server's `/proc/PID/status`.
    pub fn status_kb(&self, name: &str) -> u64 {
        let status = fs::read_to_string(self.process().join("status")).unwrap();
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// The server's folder in `/proc`.
    pub fn process(&self) -> PathBuf {
        let folder = self.folder.0.to_str().unwrap();
        let is_ours = |path: &Path| {
            let line = fs::read(path.join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(folder)
        };
        let entries = fs::read_dir("/proc").unwrap().map_while(Result::ok);
        entries.map(|entry| entry.path()).find(|path| is_ours(path)).unwrap()
    }

    pub fn target(&self) -> Target {
        Target {
            host: "127.0.0.1".into(),
            port: self.port(),
            user: "sa".into(),
            password: PASSWORD.into(),
            database: None,
            access_token: None,
            kerberos: None,
            timeout: LOGIN_TIMEOUT,
            security: Security::none(),
        }
    }

    pub fn connect(&self) -> Connection {
        Connection::open(&self.target()).unwrap()
    }

    /// A file of a database created with a path such as `d:\victim.mdf`.
    pub fn file(&self, path: &str) -> PathBuf {
        self.folder.0.join(path)
    }

    /// The error log of the current start.
    pub fn error_log(&self) -> String {
        fs::read_to_string(self.folder.0.join(ERROR_LOG)).unwrap()
    }
}

/// Everything a batch answered.
#[derive(Debug, Default)]
pub struct Answer {
    pub rows: Vec<Vec<Option<String>>>,
    pub errors: Vec<ServerMessage>,
    /// The connection was lost on the way, as it is after errors of severity 20 and above.
    pub lost: bool,
}

impl Answer {
    pub fn numbers(&self) -> Vec<i32> {
        self.errors.iter().map(|error| error.number).collect()
    }

    /// Whether one of these errors is among the answer's.
    pub fn has_any(&self, numbers: &[i32]) -> bool {
        self.errors.iter().any(|error| numbers.contains(&error.number))
    }
}

/// Runs a batch and keeps all of its answer.
pub fn ask(connection: &mut Connection, batch: &str) -> Answer {
    let mut answer = Answer::default();
    let outcome = connection.run(batch, &mut |event| match event {
        Event::Row(values) => answer.rows.push(values.to_vec()),
        Event::Error(message) => answer.errors.push(message.clone()),
        _ => {}
    });
    match outcome {
        Ok(()) => {}
        Err(ClientError::Server(message)) if answer.errors.is_empty() => answer.errors.push(message),
        Err(ClientError::Server(_)) => {}
        Err(ClientError::Lost(_)) => answer.lost = true,
        Err(other) => panic!("{other}"),
    }
    answer
}

/// Runs a batch that must not fail.
pub fn run(connection: &mut Connection, batch: &str) -> Vec<Vec<Option<String>>> {
    let answer = ask(connection, batch);
    assert!(
        answer.errors.is_empty() && !answer.lost,
        "{batch:.200}: {:?} lost: {}",
        answer.errors,
        answer.lost
    );
    answer.rows
}

/// The one value of a query.
pub fn value(connection: &mut Connection, query: &str) -> String {
    let rows = run(connection, query);
    let value = rows.first().and_then(|row| row.first()).cloned().flatten();
    value.unwrap_or_else(|| panic!("{query}: {rows:?}"))
}

/// DBCC CHECKDB finds nothing.
pub fn assert_sound(connection: &mut Connection, database: &str) {
    let answer = ask(connection, &format!("dbcc checkdb ('{database}') with no_infomsgs"));
    assert!(answer.errors.is_empty() && !answer.lost, "{:?}", answer.errors);
}

/// SplitMix64 (Steele, Lea, Flood 2014): one seed, one sequence.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// A number from the environment, such as the count of kills.
pub fn number_from_environment(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}
