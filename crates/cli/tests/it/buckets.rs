//! `vlflab sweep --out s3://...` and its report, against a real S3 server (s3s-fs) behind a proxy that fails every tenth request: shards that
//! are killed and run again give the bytes of one machine; what a server refuses is useless to repeat. Skipped where there is no such server.

use crate::sweep::{
    Dice, Doomed, Folder, SMALL_DISKS, assert_same_reports, kill_each, results_in, rows_of, run, said, sweep_file,
    vlflab,
};
use std::fs;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const KEY: &str = "key";
const SECRET: &str = "secret";

/// Where `cargo install s3s-fs --features binary` puts it, if it is there: VLFLAB_S3_SERVER, or on the PATH.
fn server_program() -> Option<PathBuf> {
    let named = std::env::var_os("VLFLAB_S3_SERVER").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found = named
        .into_iter()
        .chain(std::env::split_paths(&path).map(|folder| folder.join("s3s-fs")));
    found.find(|program| program.is_file())
}

/// A server with one bucket, `results`, whose objects are files below a folder.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(program: &Path, folder: &Path) -> Server {
        fs::create_dir_all(folder.join("results")).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let child = Command::new(program)
            .args(["--host", "127.0.0.1", "--port", &port.to_string()])
            .args(["--access-key", KEY, "--secret-key", SECRET])
            .arg(folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Server { child, port };
        let patience = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < patience, "{} does not listen", program.display());
            thread::sleep(Duration::from_millis(5));
        }
        server
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How a request fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// The connection ends before the server has it.
    Unheard,
    /// The server is busy, and says so.
    Busy,
    /// The server does it, and its answer is lost.
    Unanswered,
    /// The answer breaks off.
    Broken,
}

const FAULTS: [Fault; 4] = [Fault::Unheard, Fault::Busy, Fault::Unanswered, Fault::Broken];
const EVERY: usize = 10;

/// Passes requests on, one for each connection, and fails every tenth, in turn in each of the ways.
struct Proxy {
    port: u16,
    failed: Arc<[AtomicUsize; FAULTS.len()]>,
}

impl Proxy {
    fn start(server: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let failed = Arc::new([const { AtomicUsize::new(0) }; FAULTS.len()]);
        let counts = Arc::clone(&failed);
        thread::spawn(move || {
            let requests = Arc::new(AtomicUsize::new(0));
            for client in listener.incoming().map_while(Result::ok) {
                let (requests, counts) = (Arc::clone(&requests), Arc::clone(&counts));
                // A client that was killed does not concern the proxy.
                thread::spawn(move || {
                    let _ = pass(client, server, &requests, &counts);
                });
            }
        });
        Proxy { port, failed }
    }

    fn counts(&self) -> Vec<usize> {
        self.failed.iter().map(|count| count.load(Ordering::SeqCst)).collect()
    }

    /// A program's environment, so that it finds the proxy.
    fn for_program<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command
            .env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", self.port))
            .env("AWS_ACCESS_KEY_ID", KEY)
            .env("AWS_SECRET_ACCESS_KEY", SECRET)
            .env_remove("AWS_PROFILE")
            .env_remove("AWS_ENDPOINT_URL_S3")
            .env_remove("AWS_SESSION_TOKEN")
            .env("NO_PROXY", "127.0.0.1")
    }
}

fn pass(
    mut client: TcpStream,
    server: u16,
    requests: &AtomicUsize,
    failed: &[AtomicUsize; FAULTS.len()],
) -> io::Result<()> {
    let request = read_request(&mut client)?;
    if request.is_empty() {
        return Ok(());
    }
    let ordinal = requests.fetch_add(1, Ordering::SeqCst) + 1;
    let way = (ordinal / EVERY) % FAULTS.len();
    let fault = ordinal.is_multiple_of(EVERY).then_some(FAULTS[way]);
    if fault.is_some() {
        failed[way].fetch_add(1, Ordering::SeqCst);
    }
    match fault {
        Some(Fault::Unheard) => return client.shutdown(Shutdown::Both),
        Some(Fault::Busy) => {
            const BUSY: &[u8] = b"HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            return client.write_all(BUSY);
        }
        Some(Fault::Unanswered | Fault::Broken) | None => {}
    }
    let mut upstream = TcpStream::connect(("127.0.0.1", server))?;
    upstream.write_all(&request)?;
    let mut answer = Vec::new();
    upstream.read_to_end(&mut answer)?;
    match fault {
        Some(Fault::Unanswered) => client.shutdown(Shutdown::Both),
        Some(Fault::Broken) => client.write_all(&answer[..answer.len() / 2]),
        Some(Fault::Unheard | Fault::Busy) | None => client.write_all(&answer),
    }
}

/// Head and body of a request, so changed that its connection ends with it.
fn read_request(client: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut read = Vec::new();
    let mut piece = [0; 16384];
    let head_length = loop {
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        match client.read(&mut piece)? {
            0 => return Ok(Vec::new()),
            length => read.extend_from_slice(&piece[..length]),
        }
    };
    let head = String::from_utf8_lossy(&read[..head_length]).into_owned();
    let of = |line: &str| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse::<usize>().ok())?
    };
    let body_length = head.lines().find_map(of).unwrap_or(0);
    let is_kept = |line: &&str| !line.is_empty() && !line.to_ascii_lowercase().starts_with("connection:");
    let lines: Vec<&str> = head.lines().filter(is_kept).collect();
    let mut request = (lines.join("\r\n") + "\r\nConnection: close\r\n\r\n").into_bytes();
    if head.to_ascii_lowercase().contains("expect: 100-continue") {
        client.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    while read.len() < head_length + body_length {
        match client.read(&mut piece)? {
            0 => return Ok(Vec::new()),
            length => read.extend_from_slice(&piece[..length]),
        }
    }
    request.extend_from_slice(&read[head_length..]);
    Ok(request)
}

fn skipped() -> Option<PathBuf> {
    let program = server_program();
    if program.is_none() {
        println!(
            "skipped: no s3s-fs on the PATH or in VLFLAB_S3_SERVER ('cargo install s3s-fs --features binary' makes one)"
        );
    }
    program
}

/// Where the sweep's results go.
const OUT: &str = "s3://results/vlfs/small";

/// Every fault happens, on lists, reads and writes, and nothing is lost or counted twice.
#[test]
fn shards_that_write_to_a_failing_bucket_give_the_bytes_of_one_machine() {
    let Some(program) = skipped() else { return };
    let depth = workbench::depth(
        "configurations of a sweep into a bucket that fails, by shards that are killed",
        32,
        2000,
    );
    let (shards, kills) = if depth.is_deep { (8, 3) } else { (4, 2) };
    let folder = Folder::new("bucket");
    let file = sweep_file(
        &folder,
        &format!("{SMALL_DISKS}rows = [{}]\n", rows_of(depth.units / 4)),
    );
    let one = folder.join("one");
    run(&["sweep", &file, "--out", &one, "--jobs", "2"], 0);
    let server = Server::start(&program, &folder.0.join("s3"));
    let proxy = Proxy::start(server.port);
    let objects = folder.0.join("s3/results/vlfs/small");
    let begin = |shard: usize| {
        let part = format!("{}/{shards}", shard + 1);
        let data = folder.join(&format!("data-{shard}"));
        let mut command = vlflab(&["sweep", &file, "--out", OUT, "--data", &data, "--shard", &part]);
        proxy.for_program(&mut command).spawn().unwrap()
    };
    let (mut dice, mut killed) = (Dice(depth.units), 0);
    let some = dice.some_below(kills, shards);
    let mut running: Vec<Child> = (0..shards).map(begin).collect();
    for round in 0..2 {
        let there = results_in(&objects);
        let left = depth.units as usize - there;
        let mut doomed = Vec::new();
        for (shard, child) in running.iter_mut().enumerate().filter(|(shard, _)| some.contains(shard)) {
            if round > 0 {
                *child = begin(shard);
            }
            doomed.push(Doomed {
                shard: child,
                results: objects.clone(),
                enough: there + 1 + dice.below((left / 2).max(1)),
            });
        }
        killed += kill_each(doomed);
    }
    assert!(killed > 0, "every shard had ended when it was to be killed");
    println!("shards killed: {killed} of {}", 2 * kills);
    for &shard in &some {
        running[shard] = begin(shard);
    }
    for child in running {
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    }
    assert_eq!(results_in(&objects), depth.units as usize);
    let merged = folder.join("merged");
    let mut report = vlflab(&["report", OUT, "--out", &merged]);
    let output = proxy.for_program(&mut report).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    run(&["report", &one], 0);
    assert_same_reports(&one, &merged);
    let counts = proxy.counts();
    assert!(
        counts.iter().all(|count| *count > 0),
        "a fault that did not happen: {counts:?}"
    );
    println!("requests that failed, in each of {FAULTS:?}: {counts:?}");
    depth.count();
}

/// Exit code 8 tells a scheduler what no repetition mends.
#[test]
fn what_a_server_refuses_is_useless_to_run_again() {
    let Some(program) = skipped() else { return };
    let folder = Folder::new("bucket-refused");
    let file = sweep_file(&folder, "disks = ['nvme-plp']\n");
    let server = Server::start(&program, &folder.0.join("s3"));
    let proxy = Proxy::start(server.port);
    let data = folder.join("data");
    for (out, secret, part) in [
        ("s3://nowhere/x", SECRET, "NoSuchBucket"),
        ("s3://results/x", "another", "SignatureDoesNotMatch"),
        ("s3:///x", SECRET, "s3://BUCKET/PREFIX"),
    ] {
        let mut command = vlflab(&["sweep", &file, "--out", out, "--data", &data]);
        let output = proxy
            .for_program(&mut command)
            .env("AWS_SECRET_ACCESS_KEY", secret)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(8), "{}", said(&output));
        assert!(said(&output).contains(part), "{part} in {}", said(&output));
    }
    let mut report = vlflab(&["report", "s3://results/empty", "--out", &folder.join("report")]);
    let output = proxy.for_program(&mut report).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("no results of a sweep"), "{}", said(&output));
}
