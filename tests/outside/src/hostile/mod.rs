//! Many malicious clients at once, and one that works as usual.
//!
//! ```text
//!   history:  server with little memory in a plain folder, a table, a bystander's connection
//!   cycle:    some hostile clients side by side, each in a way it draws | the bystander commits and reads meanwhile
//!             then: the server runs, the table is as the bystander left it, every session of the others is gone
//!   end:      CHECKDB, the most memory the process had
//! ```
//! Invariant: hostile clients log in as an administrator, as everyone who may run statements does, but name neither the
//! bystander's database nor the instance's settings: what is harmed there is harmed by a defect.

mod relay;
mod statements;

use crate::client::{ask, rows};
use crate::machine::{INSTANCE, Setting, Site};
use crate::power_cuts::{Counts, Failure};
use crate::random::Random;
use crate::server::{Launch, Server, Wait};
use lab::client::{Connection, Target};
use std::io::Write;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The server's memory, MB, and what the process may have beside it.
const MEMORY_MB: u32 = 128;
const BESIDE_MB: u64 = 200;
const READY_PATIENCE: Duration = Duration::from_secs(60);
/// Hostile clients at once, at most.
const CLIENTS_MAX: u64 = 12;
/// Batches that one of them sends, at most.
const BATCHES_MAX: u64 = 6;
/// How long sessions whose clients are gone may take to end.
const ENDED_PATIENCE: Duration = Duration::from_secs(20);
/// What the bystander leaves of the machine to others.
const BYSTANDER_PAUSE: Duration = Duration::from_millis(5);
/// How long a hostile client waits for an answer.
const HOSTILE_PATIENCE: Duration = Duration::from_millis(400);

/// How a client means harm.
#[derive(Debug, Clone, Copy)]
enum Way {
    /// Bytes of chance instead of a login.
    Noise,
    /// A connection that says little or nothing, and then leaves.
    Silence,
    /// A real client through the relay that spoils what it sends.
    Relay,
    /// Statements built to use up what there is, stopped by ATTENTION.
    Attention,
    /// The same, the client leaving in the middle of it.
    Leave,
}

const WAYS: [Way; 5] = [Way::Noise, Way::Silence, Way::Relay, Way::Attention, Way::Leave];

/// Runs one history; its counts, and what went wrong if anything did.
pub fn run(site: &Site, seed: u64, cycles: u64) -> (Counts, Option<Failure>) {
    let mut random = Random::new(seed);
    let mut counts = Counts::default();
    let setting = Setting {
        max_server_memory_mb: MEMORY_MB,
        ..Setting::draw(&mut random)
    };
    let folder = site.folder.join(format!("hostile-{seed}"));
    let mut cycle = 0;
    let failure = start(site, &folder, setting)
        .and_then(|server| {
            let mut history = History {
                server,
                random,
                committed: 0,
            };
            history.run(cycles, &mut cycle, &mut counts)
        })
        .err()
        .map(|what| failure_of(site, &folder, cycle, what));
    // The folder of a history that could not begin is not there.
    let _ = std::fs::remove_dir_all(&folder);
    (counts, failure)
}

/// A server on a new folder, ready.
fn start(site: &Site, folder: &Path, setting: Setting) -> Result<Server, String> {
    std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    let mut server = Server::spawn(&Launch {
        program: site.program.clone(),
        data: folder.join(INSTANCE),
        output: site.server_output(),
        sql_version: setting.sql_version,
        log_policy: setting.log_policy,
        max_server_memory_mb: setting.max_server_memory_mb,
    })
    .map_err(|error| error.to_string())?;
    match server.wait_until_ready(READY_PATIENCE) {
        Wait::Ready => Ok(server),
        Wait::Ended(said) => Err(format!("the server does not start: {said}")),
        Wait::TimedOut => Err(format!("not ready after {READY_PATIENCE:?}")),
    }
}

fn failure_of(site: &Site, folder: &Path, cycle: u64, what: String) -> Failure {
    let read = |path: PathBuf| std::fs::read_to_string(path).unwrap_or_default();
    Failure {
        what,
        cycle,
        before: None,
        after: None,
        error_log: read(folder.join(INSTANCE).join("log").join("ERRORLOG")),
        server_output: read(site.server_output()),
        ledger: String::new(),
    }
}

/// One server and what its bystander knows.
struct History {
    server: Server,
    random: Random,
    /// Rows the bystander has committed.
    committed: u64,
}

impl History {
    /// All cycles; `cycle` tells in which it failed.
    fn run(&mut self, cycles: u64, cycle: &mut u64, counts: &mut Counts) -> Result<(), String> {
        let mut bystander = self.server.connect().map_err(|error| error.to_string())?;
        let table = "create table calm.dbo.t (id bigint not null primary key, f char(200) not null)";
        for statement in ["create database calm", table] {
            rows(&mut bystander, statement)?;
        }
        for number in 0..cycles {
            *cycle = number;
            counts.attacks += self.attack(&mut bystander)?;
            self.check(&mut bystander)?;
            counts.checks += 1;
        }
        counts.acknowledged += self.committed;
        for database in ["calm", "master", "tempdb"] {
            rows(&mut bystander, &format!("dbcc checkdb ('{database}') with no_infomsgs"))?;
        }
        let (most, limit) = (self.server.memory_mb_max(), u64::from(MEMORY_MB) + BESIDE_MB);
        match most {
            Some(most) if most > limit => Err(format!("{most} MB were resident, {limit} are allowed")),
            Some(_) => Ok(()),
            None => Err("the server's memory cannot be read".into()),
        }
    }

    /// Some hostile clients at once; how many. The bystander goes on meanwhile.
    fn attack(&mut self, bystander: &mut Connection) -> Result<u64, String> {
        let target = self.server.target();
        let count = 1 + self.random.below(CLIENTS_MAX);
        let clients: Vec<Random> = (0..count).map(|_| self.random.fork()).collect();
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let hostile: Vec<_> = clients
                .into_iter()
                .map(|random| scope.spawn(|| harm(&target, random)))
                .collect();
            let waiting = scope.spawn(|| {
                let ended = hostile.into_iter().map(thread::ScopedJoinHandle::join);
                let all = ended.fold(true, |all, one| all & one.is_ok());
                is_over.store(true, Ordering::Release);
                all
            });
            let mut outcome = Ok(());
            while outcome.is_ok() && !is_over.load(Ordering::Acquire) {
                outcome = self.go_on(bystander);
                thread::sleep(BYSTANDER_PAUSE);
            }
            match waiting.join() {
                Ok(true) => outcome,
                _ => Err("a client of the harness panicked".into()),
            }
        })?;
        Ok(count)
    }

    /// The bystander commits a row and reads it.
    fn go_on(&mut self, bystander: &mut Connection) -> Result<(), String> {
        let id = self.committed + 1;
        let answer = ask(bystander, &format!("insert calm.dbo.t values ({id}, 'row {id}')"));
        // Memory that is short for all may be short for the bystander: it gets the error, and the row is not there
        // then.
        if answer.numbers() == [NO_MEMORY] && answer.lost.is_none() {
            return Ok(());
        }
        if !answer.is_good() {
            return Err(format!("the bystander's insert: {}", answer.failure()));
        }
        self.committed = id;
        let answer = ask(bystander, &format!("select f from calm.dbo.t where id = {id}"));
        let expected = format!("row {id}");
        let is_there = matches!(&answer.rows[..], [row] if row[0].as_deref().map(str::trim_end) == Some(&expected));
        match is_there || answer.numbers() == [NO_MEMORY] {
            true => Ok(()),
            false => Err(format!(
                "the bystander's row {id} is {:?} {}",
                answer.rows,
                answer.failure()
            )),
        }
    }

    /// The server runs, the table is whole, nobody of the others is left.
    fn check(&mut self, bystander: &mut Connection) -> Result<(), String> {
        if !self.server.is_up() {
            return Err("the server has ended".into());
        }
        let begin = Instant::now();
        let others = "select session_id from sys.dm_exec_sessions where is_user_process = 1 and session_id <> @@spid";
        loop {
            let left = rows(bystander, others)?;
            if left.is_empty() {
                break;
            }
            if begin.elapsed() > ENDED_PATIENCE {
                return Err(format!("sessions whose clients are gone are still there: {left:?}"));
            }
            thread::sleep(Duration::from_millis(5));
        }
        let counted = rows(bystander, "select count(*), sum(id) from calm.dbo.t")?;
        let count = self.committed;
        let sum = (count > 0).then(|| (count * (count + 1) / 2).to_string());
        match counted[..] == [vec![Some(count.to_string()), sum]] {
            true => Ok(()),
            false => Err(format!(
                "the bystander committed rows 1 to {count}, there are {counted:?}"
            )),
        }
    }
}

/// The error of a server that has no memory left for a statement.
const NO_MEMORY: i32 = 701;

/// One hostile client, from its first byte to its end.
fn harm(target: &Target, mut random: Random) {
    match random.choose(&WAYS) {
        Way::Noise => send_noise(target, &mut random),
        Way::Silence => be_silent(target, &mut random),
        Way::Relay => {
            let Ok(port) = relay::open(target.port, &mut random) else {
                return;
            };
            let spoiled = Target {
                port,
                timeout: HOSTILE_PATIENCE * 5,
                ..target.clone()
            };
            // Whatever comes of it is the server's to bear.
            if let Ok(connection) = Connection::open(&spoiled) {
                send_statements(connection, &mut random, false);
            }
        }
        Way::Attention => open_and_send(target, &mut random, false),
        Way::Leave => open_and_send(target, &mut random, true),
    }
}

fn open_and_send(target: &Target, random: &mut Random, leaves: bool) {
    if let Ok(connection) = Connection::open(target) {
        send_statements(connection, random, leaves);
    }
}

/// Some batches; each is stopped when it takes long, or left alone with its answer.
fn send_statements(mut connection: Connection, random: &mut Random, leaves: bool) {
    let count = 1 + random.below(BATCHES_MAX);
    for number in 1..=count {
        let batch = statements::draw(random);
        let patience = HOSTILE_PATIENCE.mul_f64(random.below(100) as f64 / 100.0);
        if leaves && number == count {
            // It has left before an answer can come: the line is closed with the connection.
            let _ = connection.start(&batch);
            thread::sleep(patience);
            return;
        }
        let cancel = AtomicBool::new(false);
        let is_done = AtomicBool::new(false);
        let outcome = thread::scope(|scope| {
            scope.spawn(|| {
                let begin = Instant::now();
                while begin.elapsed() < patience && !is_done.load(Ordering::Acquire) {
                    thread::sleep(Duration::from_millis(2));
                }
                cancel.store(true, Ordering::Release);
            });
            let outcome = connection.run_cancellable(&batch, &cancel, &mut |_| {});
            is_done.store(true, Ordering::Release);
            outcome
        });
        if matches!(outcome, Err(lab::client::ClientError::Lost(_))) {
            return;
        }
    }
}

/// Bytes that begin like a packet, or not even that.
fn send_noise(target: &Target, random: &mut Random) {
    const KINDS: [u8; 9] = [0x01, 0x02, 0x03, 0x06, 0x07, 0x0E, 0x10, 0x12, 0x16];
    let Ok(mut stream) = TcpStream::connect((target.host.as_str(), target.port)) else {
        return;
    };
    let mut bytes: Vec<u8> = (0..random.of_any_magnitude(100_000))
        .map(|_| random.draw() as u8)
        .collect();
    if random.percent(70) {
        bytes[0] = *random.choose(&KINDS);
    }
    if let (true, [_, status, ..]) = (random.percent(50), &mut bytes[..]) {
        *status = random.below(2) as u8;
    }
    // The server may have hung up.
    let _ = stream.write_all(&bytes);
}

/// A part of a header, or nothing, and a while of silence.
fn be_silent(target: &Target, random: &mut Random) {
    let Ok(mut stream) = TcpStream::connect((target.host.as_str(), target.port)) else {
        return;
    };
    let prelude = [0x12, 0x01, 0x00, 0x2F, 0x00, 0x00, 0x01, 0x00];
    let _ = stream.write_all(&prelude[..random.below(9) as usize]);
    thread::sleep(HOSTILE_PATIENCE.mul_f64(random.below(100) as f64 / 100.0));
}
