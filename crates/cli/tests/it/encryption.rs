//! The program against its own server through a tap on the wire, and its message for every certificate and server that it
//! does not trust.
#![allow(clippy::unwrap_used)]

use server::encryption::{SelfSigned, pem};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

const PROGRAM: &str = env!("CARGO_BIN_EXE_vlflab");
const PASSWORD: &str = workbench::SA_PASSWORD;
const SECRET: &str = "the row that nobody else may read";
const DAY: u64 = 86_400;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    /// A certificate for `names`, valid from so many days from now until so many: its file and its key's.
    fn certificate(&self, name: &str, names: &[&str], days: (i64, i64)) -> [String; 2] {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let (certificate, key) = SelfSigned {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            addresses: names
                .iter()
                .filter(|name| **name == "localhost")
                .map(|_| IpAddr::V4(Ipv4Addr::LOCALHOST))
                .collect(),
            not_before: now.saturating_add_signed(days.0 * DAY as i64),
            not_after: now.saturating_add_signed(days.1 * DAY as i64),
        }
        .make()
        .unwrap();
        let files = [self.file(&format!("{name}.pem")), self.file(&format!("{name}.key"))];
        fs::write(&files[0], pem("CERTIFICATE", &certificate)).unwrap();
        fs::write(&files[1], pem("PRIVATE KEY", &key)).unwrap();
        files
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A server; killed when dropped.
struct Serving {
    child: Child,
    port: u16,
    ready: String,
}

impl Serving {
    fn start(data: &str, more: &[&str]) -> Serving {
        workbench::store_sa_password(data.as_ref());
        let mut command = Command::new(PROGRAM);
        command
            .args(["serve", "--port", "0", "--until-stdin-closes", "--data", data])
            .args(more)
            .env("MSSQL_SA_PASSWORD", PASSWORD)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut ready)
            .unwrap();
        let (_, address) = ready.split_once("Server=").unwrap();
        let (address, _) = address.split_once(';').unwrap();
        let port = address.rsplit_once(',').unwrap().1.parse().unwrap();
        Serving { child, port, ready }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Passes bytes on between clients and a server, and keeps them.
struct Tap {
    port: u16,
    captured: Arc<Mutex<Vec<u8>>>,
}

impl Tap {
    fn on(server: u16) -> Tap {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let captured = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&captured);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let server = TcpStream::connect(("127.0.0.1", server)).unwrap();
                for (from, to) in [
                    (client.try_clone().unwrap(), server.try_clone().unwrap()),
                    (server, client),
                ] {
                    let kept = Arc::clone(&kept);
                    thread::spawn(move || pass(from, to, &kept));
                }
            }
        });
        Tap { port, captured }
    }

    /// What was heard since the last time.
    fn heard(&self) -> Vec<u8> {
        std::mem::take(&mut *self.captured.lock().unwrap())
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, kept: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 16_384];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        kept.lock().unwrap().extend_from_slice(&buffer[..count]);
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

/// Whether a text can be read in what was heard: as it is, as UTF-16, and as LOGIN7 garbles passwords.
fn is_in(heard: &[u8], text: &str) -> bool {
    let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let garbled: Vec<u8> = units.iter().map(|byte| byte.rotate_left(4) ^ 0xA5).collect();
    [text.as_bytes(), &units, &garbled]
        .iter()
        .any(|part| heard.windows(part.len()).any(|window| window == *part))
}

fn sql(server: &str, letters: &[&str]) -> Output {
    let query = format!("select N'{SECRET}', encrypt_option from sys.dm_exec_connections where session_id = @@spid");
    Command::new(PROGRAM)
        .args(["sql", "-W", "-h", "-1", "-S", server, "-Q", &query])
        .args(letters)
        .env("SQLCMDPASSWORD", PASSWORD)
        .env_remove("SSL_CERT_FILE")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// The version that the server chose: in its first message of the handshake, or in the extension that says 1.3.
fn is_tls_1_3(heard: &[u8]) -> bool {
    // supported_versions (43), two bytes long, 3.4.
    heard.windows(6).any(|window| window == [0, 43, 0, 2, 3, 4])
}

#[test]
fn a_wire_that_is_listened_to_shows_what_was_agreed_on() {
    let folder = Folder::new("encryption-wire");
    let serving = Serving::start(&folder.file("data"), &[]);
    let tap = Tap::on(serving.port);
    let server = format!("127.0.0.1,{}", tap.port);
    let own = folder.file("data/server.certificate.pem");
    let pinned = ["-J", own.as_str()];
    for (letters, readable, version) in [
        (&["-N", "disable"][..], (true, true), None),
        (&["-N", "o", "-C"], (false, true), Some(false)),
        (&["-N", "m", "-C"], (false, false), Some(false)),
        (&["-N", "-J", &own], (false, false), Some(false)),
        (&pinned, (false, false), Some(false)),
        (&["-N", "s", "-J", &own], (false, false), Some(true)),
    ] {
        let output = sql(&server, letters);
        assert!(output.status.success(), "{letters:?}: {}", said(&output));
        let everything = readable == (false, false);
        let option = if everything { "TRUE" } else { "FALSE" };
        assert!(
            said(&output).contains(&format!("{SECRET} {option}")),
            "{}",
            said(&output)
        );
        let heard = tap.heard();
        assert_eq!(
            (is_in(&heard, PASSWORD), is_in(&heard, SECRET)),
            readable,
            "{letters:?}"
        );
        if let Some(version) = version {
            assert_eq!(is_tls_1_3(&heard), version, "{letters:?}");
        }
    }
    // Kept for the next start, the key for its owner alone, and named in the line that tells of readiness.
    let certificate = fs::read(&own).unwrap();
    let key = folder.file("data/server.key.pem");
    for file in [&own, &key] {
        let mode = fs::metadata(file).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{file} is {mode:o}");
    }
    let (_, fingerprint) = serving.ready.trim().split_once("certificate SHA-256 ").unwrap();
    assert_eq!(fingerprint.len(), 64);
    let fingerprint = fingerprint.to_owned();
    drop(serving);
    let again = Serving::start(&folder.file("data"), &["--encrypt", "strict"]);
    assert!(again.ready.contains(&fingerprint) && again.ready.contains("Encrypt=strict"));
    assert_eq!(fs::read(&own).unwrap(), certificate);
    let server = format!("127.0.0.1,{}", again.port);
    let output = sql(&server, &["-N", "m", "-C"]);
    assert!(
        said(&output).contains("Encryption is required to connect to this server"),
        "{}",
        said(&output)
    );
    assert!(sql(&server, &["-N", "s", "-J", &own]).status.success());
}

/// Connects with letters, where the file `trusted` holds all authorities: success, or code 3 and a sentence with these words.
fn expect(folder: &Folder, serving: &Serving, letters: &[&str], trusted: Option<&str>, words: &[&str]) {
    let mut command = Command::new(PROGRAM);
    let server = format!("localhost,{}", serving.port);
    command.args(["sql", "-S", &server, "-W", "-h", "-1", "-Q", "select 42"]);
    command
        .args(letters)
        .env("SQLCMDPASSWORD", PASSWORD)
        .stdin(Stdio::null());
    // A client that trusts nothing trusts an empty file.
    let nothing = folder.file("nothing.pem");
    fs::write(&nothing, "").unwrap();
    command.env("SSL_CERT_FILE", trusted.unwrap_or(&nothing));
    let output = command.env_remove("SSL_CERT_DIR").output().unwrap();
    let text = said(&output);
    if words.is_empty() {
        assert!(output.status.success() && text.contains("42"), "{letters:?}: {text}");
    } else {
        assert_eq!(output.status.code(), Some(3), "{letters:?}: {text}");
        assert!(words.iter().all(|word| text.contains(word)), "{letters:?}: {text}");
    }
}

#[test]
fn a_server_that_is_not_believed_is_named_with_the_remedy() {
    let folder = Folder::new("encryption-sentences");
    let fits = folder.certificate("fits", &["localhost"], (-1, 1));
    let expired = folder.certificate("expired", &["localhost"], (-3, -1));
    let early = folder.certificate("early", &["localhost"], (2, 3));
    let elsewhere = folder.certificate("elsewhere", &["db1.example"], (-1, 1));
    let with = |name: &str, files: &[String; 2]| {
        let data = folder.file(name);
        Serving::start(&data, &["--certificate", &files[0], "--key", &files[1]])
    };
    let check = |serving: &Serving, letters: &[&str], trusted: Option<&str>, words: &[&str]| {
        expect(&folder, serving, letters, trusted, words);
    };
    let serving = with("fits", &fits);
    for letters in [&["-N"][..], &["-N", "s"]] {
        check(&serving, letters, Some(&fits[0]), &[]);
        check(
            &serving,
            letters,
            None,
            &["of no authority", "-J FILE", "SSL_CERT_FILE"],
        );
    }
    check(
        &serving,
        &["-N", "-J", &elsewhere[0]],
        None,
        &["another certificate than the one of -J"],
    );
    check(&serving, &["-N", "-J", &fits[1]], None, &["neither PEM nor DER"]);
    check(
        &serving,
        &["-N", "-F", "db1.example"],
        Some(&fits[0]),
        &["another name than \"db1.example\""],
    );
    check(&serving, &["-C"], None, &[]);
    let serving = with("expired", &expired);
    check(&serving, &["-N"], Some(&expired[0]), &["has expired", "-J FILE", "-C"]);
    check(&serving, &["-N", "-J", &expired[0]], None, &[]);
    let serving = with("early", &early);
    check(&serving, &["-N"], Some(&early[0]), &["not valid yet", "clocks"]);
    let serving = with("elsewhere", &elsewhere);
    check(
        &serving,
        &["-N"],
        Some(&elsewhere[0]),
        &["another name than \"localhost\"", "-F NAME"],
    );
    check(&serving, &["-N", "-F", "db1.example"], Some(&elsewhere[0]), &[]);
}

#[test]
fn demands_that_do_not_meet_are_named() {
    let folder = Folder::new("encryption-demands");
    let [certificate, _] = folder.certificate("fits", &["localhost"], (-1, 1));
    let check = |serving: &Serving, letters: &[&str], words: &[&str]| expect(&folder, serving, letters, None, words);
    let serving = Serving::start(&folder.file("off"), &["--encrypt", "off"]);
    check(&serving, &["-N"], &["has no encryption", "-N disable"]);
    check(
        &serving,
        &["-N", "s", "-J", &certificate],
        &["does not begin with TLS", "-N m"],
    );
    check(&serving, &[], &[]);
    let serving = Serving::start(&folder.file("required"), &["--encrypt", "required"]);
    check(&serving, &["-N", "disable"], &["requires encryption", "-N m"]);
    check(&serving, &[], &[]);
}

/// What a server of before TLS 1.2 does with the first message of TLS.
enum OldServer {
    GoesAway,
    /// The alert protocol_version (70), as OpenSSL sends it.
    Alerts,
    /// ServerHello of TLS 1.0 (3.1) with TLS_RSA_WITH_AES_128_CBC_SHA, as Windows answers a client that names 1.2 as its newest version.
    ChoosesTls10,
}

impl OldServer {
    /// Its answer, as a record of TLS.
    fn answer(&self) -> Vec<u8> {
        let hello: Vec<u8> = [&[2, 0, 0, 38, 3, 1][..], &[7; 32], &[0, 0, 0x2F, 0]].concat();
        match self {
            OldServer::GoesAway => Vec::new(),
            OldServer::Alerts => vec![21, 3, 1, 0, 2, 2, 70],
            OldServer::ChoosesTls10 => [&[22, 3, 1, 0, hello.len() as u8][..], &hello].concat(),
        }
    }

    /// The port it listens on. It answers PRELOGIN that it encrypts.
    fn start(self) -> u16 {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let message = |kind: u8, bytes: &[u8]| [&[kind, 1, 0, 8 + bytes.len() as u8, 0, 0, 1, 0][..], bytes].concat();
        thread::spawn(move || {
            for mut client in listener.incoming().map_while(Result::ok) {
                let mut buffer = [0; 4096];
                let _ = client.read(&mut buffer);
                // Version and encryption (on) at their offsets.
                let options = [0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xFF, 10, 0, 0, 0, 0, 0, 1];
                let _ = client.write_all(&message(4, &options));
                let _ = client.read(&mut buffer);
                let answer = self.answer();
                if !answer.is_empty() {
                    let _ = client.write_all(&message(0x12, &answer));
                    let _ = client.read(&mut buffer);
                }
            }
        });
        port
    }
}

/// Whichever way it does so, the cause is named; `advise` prints the script whose output it reads instead.
#[test]
fn a_server_without_tls_1_2_is_named_as_such() {
    for (server, words) in [
        (OldServer::GoesAway, "broke off the TLS handshake"),
        (OldServer::Alerts, "no version or cipher of TLS in common"),
        (OldServer::ChoosesTls10, "no version or cipher of TLS in common"),
    ] {
        let address = format!("127.0.0.1,{}", server.start());
        let advise = Command::new(PROGRAM)
            .args(["advise", "-S", &address, "-C"])
            .env("MSSQL_PASSWORD", PASSWORD)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        for output in [sql(&address, &["-N", "m", "-C"]), advise] {
            let text = said(&output);
            assert_eq!(output.status.code(), Some(3), "{text}");
            assert!(
                text.contains(words) && text.contains("TLS 1.2") && text.contains("2005 to 2014"),
                "{text}"
            );
        }
        let script = Command::new(PROGRAM)
            .args(["advise", "--paste-script"])
            .output()
            .unwrap()
            .stdout;
        let printed = Command::new(PROGRAM)
            .args(["advise", "-S", &address, "-C"])
            .env("MSSQL_PASSWORD", PASSWORD)
            .output()
            .unwrap();
        let script = String::from_utf8(script).unwrap();
        assert!(said(&printed).contains(script.trim()), "{}", said(&printed));
    }
}
