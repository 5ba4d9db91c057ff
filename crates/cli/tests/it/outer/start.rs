//! Starting a server: a taken port, a password that no one would see, an unprotected address, foreign files, too little
//! memory, a second server. Each is refused with the remedy, and the folder stays as it was, byte for byte.

use crate::outer::support::{Folder, PASSWORD, Served, value};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Everything in a folder with what it holds.
fn content(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(content(&path)),
            false => drop(found.insert(path.clone(), fs::read(&path).unwrap())),
        }
    }
    found
}

fn serve(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vlflab"));
    command.arg("serve").arg("--data").arg(folder);
    command.args(["--until-stdin-closes", "--max-server-memory", "64"]);
    command.env_remove("MSSQL_SA_PASSWORD").stdin(Stdio::null());
    command
}

/// Runs a server that stops as soon as it is ready, for nobody writes to its standard input.
fn serve_once(command: &mut Command) -> Output {
    command.output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout)
}

/// The start fails with this exit code and these words, and the folder is what it was.
fn fails(folder: &Path, command: &mut Command, code: i32, words: &[&str]) {
    let (existed, before) = (folder.exists(), content(folder));
    let output = serve_once(command);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(code), "{said}");
    words
        .iter()
        .for_each(|word| assert!(said.contains(word), "{word}: {said}"));
    assert_eq!(folder.exists(), existed, "{said}");
    let after = content(folder);
    assert!(
        before.keys().eq(after.keys()) && before == after,
        "{:?} became {:?}",
        before.keys(),
        after.keys()
    );
}

/// A folder with an instance in it that is not running.
fn instance(name: &str) -> Folder {
    let folder = Folder::new(name);
    let output = serve_once(serve(&folder.0).args(["--port", "0", "--sa-password", PASSWORD]));
    assert!(output.status.success(), "{}", text(&output));
    folder
}

#[test]
fn a_port_that_is_taken_costs_nothing() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let parent = Folder::new("taken-new");
    let new = parent.0.join("made/by/it");
    fails(
        &new,
        serve(&new).args(["--port", &port]),
        1,
        &["cannot listen", "--port"],
    );
    assert!(!parent.0.join("made").exists());
    let folder = instance("taken");
    // A password given is not stored either.
    let other = serve(&folder.0)
        .args(["--port", &port, "--sa-password", "Another 1"])
        .output()
        .unwrap();
    assert_eq!(other.status.code(), Some(1));
    fails(
        &folder.0,
        serve(&folder.0).args(["--port", &port]),
        1,
        &["cannot listen"],
    );
}

#[test]
fn a_password_that_nobody_would_be_told_is_not_made_up() {
    let parent = Folder::new("untold");
    let new = parent.0.join("data");
    for target in ["/dev/full", "/dev/null"] {
        let (existed, output) = (new.exists(), File::options().write(true).open(target).unwrap());
        let mut command = serve(&new);
        let ended = command
            .args(["--port", "0"])
            .stdout(output)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!((ended.status.code(), existed), (Some(1), false), "{target}: {said}");
        assert!(
            said.contains("MSSQL_SA_PASSWORD") && said.contains("standard output"),
            "{target}: {said}"
        );
        assert!(!new.exists(), "{target}");
    }
    let mut shell = Command::new("sh");
    shell.args([
        "-c",
        "exec \"$0\" serve --data \"$1\" --port 0 --until-stdin-closes >&-",
    ]);
    shell
        .arg(env!("CARGO_BIN_EXE_vlflab"))
        .arg(&new)
        .env_remove("MSSQL_SA_PASSWORD")
        .stdin(Stdio::null());
    fails(&new, &mut shell, 1, &["standard output", "closed"]);
    // At a terminal a password is made up, shown and kept; later starts do not show it.
    let told = serve_once(serve(&new).args(["--port", "0"]));
    assert!(
        told.status.success() && text(&told).contains("password of sa, shown only now: "),
        "{}",
        text(&told)
    );
    let silent = serve(&new)
        .args(["--port", "0"])
        .stdout(Stdio::null())
        .output()
        .unwrap();
    assert!(silent.status.success());
}

/// A variable that was set to nothing gave sa the empty password, on a folder that had one too, and on an address that everybody
/// reaches; and any other one in a variable replaced the folder's without a word.
#[test]
fn a_password_is_neither_weak_nor_replaced_in_silence() {
    let parent = Folder::new("weak");
    let (new, old) = (parent.0.join("data"), instance("replaced"));
    let everywhere = |folder: &Path| {
        let mut command = serve(folder);
        command.args(["--port", "0", "--bind", "0.0.0.0"]);
        command
    };
    let faults = [
        ("", "too short"),
        ("Aa1!567", "too short"),
        ("password1", "not complex enough"),
    ];
    for (password, fault) in faults {
        for folder in [&new, &old.0] {
            let option = format!("--sa-password={password}");
            fails(
                folder,
                everywhere(folder).arg(&option),
                2,
                &["password policy requirements", fault],
            );
            fails(
                folder,
                everywhere(folder).args([&option, "--reset-sa-password"]),
                2,
                &[fault],
            );
            fails(
                folder,
                everywhere(folder).env("MSSQL_SA_PASSWORD", password),
                2,
                &[fault, "MSSQL_SA_PASSWORD"],
            );
        }
    }
    let other = ["--sa-password", "An0ther one"];
    let words = ["differs", "--reset-sa-password"];
    fails(&old.0, everywhere(&old.0).args(other), 1, &words);
    fails(&old.0, everywhere(&old.0).env("MSSQL_SA_PASSWORD", other[1]), 1, &words);
    let mut served = Served::unstarted(old);
    served.start();
    served.shut_down();
    let folder = served.launch.data.clone();
    let replaced = serve_once(everywhere(&folder).args(other).arg("--reset-sa-password"));
    assert!(replaced.status.success(), "{}", text(&replaced));
    fails(
        &folder,
        everywhere(&folder).args(["--sa-password", PASSWORD]),
        1,
        &words,
    );
    let made_up = serve_once(everywhere(&folder).arg("--reset-sa-password"));
    assert!(made_up.status.success(), "{}", text(&made_up));
    assert!(
        text(&made_up).contains("password of sa, shown only now: "),
        "{}",
        text(&made_up)
    );
    fails(&folder, everywhere(&folder).args(other), 1, &words);
    // A folder that was left with an empty one is not served with it.
    let empty = server::credentials::hash_password("").unwrap();
    fs::write(folder.join("sa.password"), empty).unwrap();
    fails(
        &folder,
        &mut everywhere(&folder),
        1,
        &["is empty", "--reset-sa-password"],
    );
}

#[test]
fn an_address_that_others_reach_is_asked_for_twice() {
    let parent = Folder::new("open-address");
    let new = parent.0.join("data");
    for address in ["0.0.0.0", "::", "192.0.2.1"] {
        for demand in ["on", "off"] {
            let mut command = serve(&new);
            fails(
                &new,
                command.args(["--port", "0", "--bind", address, "--encrypt", demand]),
                2,
                &["can be read on the way", "--allow-unencrypted"],
            );
        }
    }
    let encrypted = serve_once(serve(&new).args(["--port", "0", "--bind", "0.0.0.0", "--sa-password", PASSWORD]));
    assert!(encrypted.status.success(), "{}", text(&encrypted));
    assert!(
        !text(&encrypted).contains("can be read on the way"),
        "{}",
        text(&encrypted)
    );
    let mut command = serve(&new);
    command.args([
        "--port",
        "0",
        "--bind",
        "0.0.0.0",
        "--allow-unencrypted",
        "--encrypt",
        "off",
        "--sa-password",
        PASSWORD,
    ]);
    let output = serve_once(&mut command);
    assert!(output.status.success(), "{}", text(&output));
    assert!(String::from_utf8_lossy(&output.stderr).contains("passwords and data can be read on the way"));
    assert!(
        fs::read_to_string(new.join("log/ERRORLOG"))
            .unwrap()
            .contains("can be read on the way")
    );
    let quiet = serve_once(serve(&new).args(["--port", "0"]));
    assert!(!text(&quiet).contains("can be read on the way"), "{}", text(&quiet));
}

#[test]
fn a_folder_of_somebody_else_is_refused_and_one_of_ours_is_closed_to_others() {
    let foreign = Folder::new("foreign");
    fs::write(foreign.0.join("thesis.tex"), "years of work").unwrap();
    fails(
        &foreign.0,
        serve(&foreign.0).args(["--port", "0"]),
        1,
        &["thesis.tex", "--data"],
    );
    let file = foreign.0.join("thesis.tex");
    fails(&file, serve(&file).args(["--port", "0"]), 1, &["thesis.tex", "--data"]);
    let parent = Folder::new("modes");
    let new = parent.0.join("a/b");
    let mut shell = Command::new("sh");
    let script = "umask 0; exec \"$0\" serve --data \"$1\" --port 0 --until-stdin-closes --sa-password 'Outer tests 1'";
    shell
        .args(["-c", script, env!("CARGO_BIN_EXE_vlflab")])
        .arg(&new)
        .stdin(Stdio::null());
    let output = serve_once(&mut shell);
    assert!(output.status.success(), "{}", text(&output));
    let mut looked_at = 0;
    let mut folders = vec![parent.0.join("a")];
    while let Some(folder) = folders.pop() {
        assert_eq!(
            fs::metadata(&folder).unwrap().permissions().mode() & 0o777,
            0o700,
            "{}",
            folder.display()
        );
        for path in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            match path.is_dir() {
                true => folders.push(path),
                false => {
                    looked_at += 1;
                    let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
                    assert_eq!(mode, 0o600, "{}", path.display());
                }
            }
        }
    }
    assert!(looked_at > 8, "{looked_at} files");
    fs::set_permissions(&new, fs::Permissions::from_mode(0o777)).unwrap();
    let warned = serve_once(serve(&new).args(["--port", "0"]));
    assert!(
        warned.status.success() && text(&warned).contains("chmod o-w"),
        "{}",
        text(&warned)
    );
}

#[test]
fn memory_that_is_not_to_be_had_is_told_or_done_without() {
    let parent = Folder::new("addresses");
    let new = parent.0.join("data");
    let limited = |kilobytes: u32, more: &str| {
        let script =
            format!("ulimit -v {kilobytes}; exec \"$0\" serve --data \"$1\" --port 0 --until-stdin-closes {more}");
        let mut shell = Command::new("sh");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_vlflab")]).arg(&new);
        shell.env("MSSQL_SA_PASSWORD", PASSWORD).stdin(Stdio::null());
        shell
    };
    fails(
        &new,
        &mut limited(1_000_000, "--max-server-memory 2000"),
        1,
        &["2000 MB", "ulimit -v"],
    );
    fails(&new, &mut limited(200_000, ""), 1, &["64 MB", "ulimit -v"]);
    let smaller = serve_once(&mut limited(1_000_000, ""));
    assert!(smaller.status.success(), "{}", text(&smaller));
    assert!(text(&smaller).contains("max server memory is"), "{}", text(&smaller));
}

/// A folder made as 2005 with the classic policy spoke as 2022 with the native one when it was served without a word about it.
#[test]
fn a_folder_remembers_what_it_was_started_as() {
    let folder = Folder::new("remembered");
    let start = |more: &[&str]| {
        let output = serve_once(
            serve(&folder.0)
                .args(["--port", "0", "--sa-password", PASSWORD])
                .args(more),
        );
        assert!(output.status.success(), "{}", text(&output));
        text(&output)
    };
    assert!(start(&[]).contains("speaking as SQL Server 2022, log policy native, certificate SHA-256 "));
    let changed = start(&["--sql-version", "2005", "--log-policy", "classic,scan=native"]);
    assert!(
        changed.contains("speaking as SQL Server 2005, log policy classic,scan=native, certificate SHA-256 "),
        "{changed}"
    );
    assert!(
        changed.contains("this folder was SQL Server 2022, log policy native; from now on"),
        "{changed}"
    );
    let same = start(&[]);
    assert!(
        same.contains("speaking as SQL Server 2005, log policy classic,scan=native, certificate SHA-256 "),
        "{same}"
    );
    assert!(!same.contains("from now on"), "{same}");
    let half = start(&["--sql-version", "2012"]);
    assert!(
        half.contains("speaking as SQL Server 2012, log policy classic,scan=native, certificate SHA-256 "),
        "{half}"
    );
    let mut sql = Command::new(env!("CARGO_BIN_EXE_vlflab"));
    sql.arg("sql")
        .arg("--data")
        .arg(&folder.0)
        .args(["-Q", "select @@version"]);
    assert!(text(&sql.output().unwrap()).contains("2012"));
}

#[test]
fn a_second_server_changes_nothing_for_the_first() {
    let served = Served::new("twice");
    let before: Vec<_> = fs::read_dir(served.file("log"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    let output = serve_once(serve(&served.file("")).args(["--port", "0"]));
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output).contains("in use by another running instance"),
        "{}",
        text(&output)
    );
    let after: Vec<_> = fs::read_dir(served.file("log"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(before, after);
    assert_eq!(value(&mut served.connect(), "select 1"), "1");
}

/// The file of the folder's lock is a file that can be deleted; the lock of master's file goes with the server that has it.
#[test]
fn a_second_server_is_refused_although_the_lock_file_was_deleted() {
    let served = Served::new("unlocked");
    fs::remove_file(served.file(".lock")).unwrap();
    let output = serve_once(serve(&served.file("")).args(["--port", "0"]));
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output);
    assert!(
        said.contains("32(The process cannot access the file because it is being used by another process.)"),
        "{said}"
    );
    assert!(said.contains("master.mdf"), "{said}");
    assert_eq!(value(&mut served.connect(), "select 1"), "1");
}
