//! `vlflab advise` and `vlflab snapshot` against the real server: what holds a log is made on purpose, and exactly that is found.

use lab::client::{Connection, LOGIN_TIMEOUT, Security, Target};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_vlflab");
pub(crate) const PASSWORD: &str = workbench::SA_PASSWORD;

/// A server of a test, killed with its folder when the test is over.
pub(crate) struct Serving {
    child: Child,
    pub(crate) port: u16,
    pub(crate) folder: PathBuf,
}

impl Serving {
    pub(crate) fn start(name: &str, more: &[&str]) -> Serving {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("advise-{name}-{}", std::process::id()));
        let data = folder.join("data");
        workbench::store_sa_password(&data);
        let mut command = Command::new(PROGRAM);
        command.args(["serve", "--port", "0", "--data"]).arg(data).args(more);
        command
            .env("MSSQL_SA_PASSWORD", PASSWORD)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let (_, address) = line.split_once("Server=").unwrap();
        let (address, _) = address.split_once(';').unwrap();
        let port = address.rsplit_once(',').unwrap().1.parse().unwrap();
        Serving { child, port, folder }
    }

    pub(crate) fn connection(&self) -> Connection {
        let target = Target {
            host: "127.0.0.1".to_owned(),
            port: self.port,
            user: "sa".to_owned(),
            password: PASSWORD.to_owned(),
            database: None,
            access_token: None,
            kerberos: None,
            timeout: LOGIN_TIMEOUT,
            security: Security::none(),
        };
        Connection::open(&target).unwrap()
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1,{}", self.port)
    }

    fn advise(&self, more: &[&str]) -> Output {
        let mut command = Command::new(PROGRAM);
        command.args(["advise", "-S", &self.address()]).args(more);
        command.env("MSSQL_PASSWORD", PASSWORD).output().unwrap()
    }

    /// Every finding, with its outcome and database.
    fn findings(&self) -> Vec<Value> {
        let output = self.advise(&["--all", "--format", "jsonl"]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The ids of an outcome.
    fn ids(&self, outcome: &str) -> Vec<String> {
        let findings = self.findings();
        let of_outcome = findings.iter().filter(|finding| finding["outcome"] == outcome);
        of_outcome
            .map(|finding| finding["id"].as_str().unwrap().to_owned())
            .collect()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

pub(crate) fn run(connection: &mut Connection, batch: &str) {
    connection
        .rows(batch)
        .unwrap_or_else(|error| panic!("{batch}: {error}"));
}

const FILL: &str =
    "declare @n int = 0 while @n < 900 begin insert held.dbo.t values (replicate('x', 7000)) set @n += 1 end";

/// A database whose log holds little, and 6 MB of log.
fn make(connection: &mut Connection, recovery: &str) {
    run(
        connection,
        "create database held on (name = held, filename = 'held.mdf') \
         log on (name = held_log, filename = 'held.ldf', size = 8MB, maxsize = 64MB, filegrowth = 1MB)",
    );
    run(
        connection,
        "create table held.dbo.t (x char(7000)) create table held.dbo.small (x int)",
    );
    run(connection, &format!("alter database held set recovery {recovery}"));
}

#[test]
fn a_sleeping_session_that_holds_the_log_is_named_and_is_gone_after_its_end() {
    let server = Serving::start("transaction", &[]);
    let mut holder = server.connection();
    let mut writer = server.connection();
    make(&mut writer, "simple");
    run(&mut holder, "use held begin tran insert small values (1)");
    run(&mut writer, FILL);
    run(&mut writer, "use held checkpoint");

    let session = holder.number("select @@spid").unwrap();
    let findings = server.findings();
    let found: Vec<&Value> = findings.iter().filter(|finding| finding["outcome"] == "act").collect();
    assert_eq!(found.len(), 1, "{found:#?}");
    let found = found[0];
    assert_eq!(
        (&found["id"], &found["database"]),
        (&"held-by-transaction".into(), &"held".into())
    );
    let headline = found["headline"].as_str().unwrap();
    assert!(
        headline.starts_with(&format!("session {session} (sleeping) of sa, vlflab")),
        "{headline}"
    );
    assert!(
        found["tsql"].as_str().unwrap().contains(&format!("KILL {session};")),
        "{found}"
    );
    assert_eq!(server.advise(&[]).status.code(), Some(5));
    let monitor = server.advise(&["--format", "nagios"]);
    assert_eq!(monitor.status.code(), Some(2));
    assert!(
        String::from_utf8(monitor.stdout)
            .unwrap()
            .starts_with("VLFLAB CRITICAL - held: session")
    );

    // The reason stays until the next look; its holder is gone.
    run(&mut holder, "commit");
    let findings = server.findings();
    assert!(
        findings.iter().all(|finding| finding["outcome"] != "act"),
        "{findings:#?}"
    );
    let remark = findings
        .iter()
        .find(|finding| finding["outcome"] == "nothing_to_do")
        .unwrap();
    assert!(remark["headline"].as_str().unwrap().contains("is gone"), "{remark}");
    run(&mut writer, "use held checkpoint");
    assert_eq!(server.ids("nothing_to_do"), [""; 0]);
    assert_eq!(server.advise(&[]).status.code(), Some(0));
}

#[test]
fn the_chain_of_log_backups_not_begun_waited_for_and_thrown_away() {
    let server = Serving::start("chain", &[]);
    let mut writer = server.connection();
    make(&mut writer, "full");
    assert_eq!(server.ids("act"), ["log-chain-not-begun"]);
    run(&mut writer, "backup database held to disk = 'held.bak'");
    assert_eq!(server.ids("act"), [""; 0]);
    run(&mut writer, FILL);
    run(&mut writer, "use held checkpoint");
    assert_eq!(server.ids("act"), ["held-by-log-backup"]);
    run(&mut writer, "backup log held to disk = 'nul'");
    let found = server.ids("act");
    assert!(found.contains(&"log-backup-to-nul".to_owned()), "{found:?}");
    assert!(!found.contains(&"held-by-log-backup".to_owned()), "{found:?}");
}

#[test]
fn a_log_that_has_reached_its_maxsize_is_full() {
    let server = Serving::start("full", &[]);
    let mut writer = server.connection();
    make(&mut writer, "full");
    run(
        &mut writer,
        "alter database held modify file (name = held_log, maxsize = 9MB)",
    );
    run(&mut writer, "backup database held to disk = 'held.bak'");
    let refused = writer.rows(&FILL.replace("900", "3000")).is_err();
    assert!(refused, "9002 was expected");
    let found = server.ids("act");
    assert_eq!(found.first().map(String::as_str), Some("log-full"), "{found:?}");
}

/// A snapshot says what the server says, wherever it is judged.
#[test]
fn a_snapshot_is_judged_as_its_server_is() {
    let server = Serving::start("snapshot", &[]);
    make(&mut server.connection(), "full");
    let file = server.folder.join("snapshot.json");
    let mut command = Command::new(PROGRAM);
    command.args(["snapshot", "-S", &server.address(), "--out"]).arg(&file);
    assert!(command.env("MSSQL_PASSWORD", PASSWORD).status().unwrap().success());
    let mut command = Command::new(PROGRAM);
    command.args(["advise", "--format", "csv", "--from"]).arg(&file);
    let judged = command.output().unwrap();
    assert_eq!(judged.status.code(), Some(5));
    let text = String::from_utf8(judged.stdout).unwrap();
    let second = text.lines().nth(1).unwrap();
    assert!(second.starts_with("10,31,log-chain-not-begun,act,127.0.0.1:"), "{text}");
}

/// Views that an older version lacks, and rights that a login lacks, are told apart.
#[test]
fn an_older_version_is_read_by_its_command_and_a_lesser_login_leaves_gaps() {
    let older = [
        "--withhold",
        "dm_db_log_info=208",
        "--withhold",
        "dm_db_log_stats=208",
        "--sql-version",
        "2005",
    ];
    let server = Serving::start("older", &older);
    make(&mut server.connection(), "simple");
    let read = String::from_utf8(server.advise(&[]).stdout).unwrap();
    assert!(read.contains("4 VLFs: "), "{read}");
    assert_eq!(server.advise(&[]).status.code(), Some(0), "{read}");
    assert!(server.ids("not_checked").iter().all(|id| id == "not-there"));

    let lesser = [
        "--withhold",
        "dm_db_log_info=300",
        "--withhold",
        "loginfo=2571",
        "--withhold",
        "dm_tran_database_transactions=300",
        "--withhold",
        "sp_readerrorlog=229",
    ];
    let server = Serving::start("lesser", &lesser);
    let output = server.advise(&[]);
    let read = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(6), "{read}");
    for part in [
        "VLFs not read",
        "DBCC LOGINFO of 4 databases was not checked, because the login lacks a right: sysadmin (error 2571",
        "(error 300",
        "(error 229",
    ] {
        assert!(read.contains(part), "{part}: {read}");
    }
    assert_eq!(server.advise(&["--format", "nagios"]).status.code(), Some(3));
}

/// `inspect -S`: a line for each log, the growths of one, and an exit code that tells unread VLFs from none.
#[test]
fn the_logs_of_a_server_are_inspected_over_the_wire() {
    let server = Serving::start("inspected", &["--sql-version", "2012"]);
    let mut writer = server.connection();
    make(&mut writer, "simple");
    run(
        &mut writer,
        "alter database held modify file (name = held_log, size = 12MB)",
    );
    let inspect = |server: &Serving, more: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.args(["inspect", "-S", &server.address()]).args(more);
        let output = command.env("MSSQL_PASSWORD", PASSWORD).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, text) = inspect(&server, &[]);
    assert_eq!(code, Some(0), "{text}");
    let line = text
        .lines()
        .find(|line| line.trim_start().starts_with("held "))
        .unwrap();
    assert!(
        line.contains(" 12 MB ") && line.contains(" 8 ") && line.contains(": leave it"),
        "{text}"
    );
    // Of one database its growths, and the ring.
    let (code, text) = inspect(&server, &["--database", "HELD", "--map"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("created") && text.contains("▓ active"), "{text}");
    let (_, csv) = inspect(&server, &["-d", "held", "--format", "csv"]);
    assert_eq!(csv.lines().count(), 9, "{csv}");
    assert!(csv.lines().nth(1).unwrap().starts_with("held,2,8192,"), "{csv}");
    let (_, json) = inspect(&server, &["--format", "json"]);
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap()["snapshot_version"], 1);
    assert_eq!(inspect(&server, &["-d", "elsewhere"]).0, Some(2));
    assert_eq!(inspect(&server, &["--map"]).0, Some(2));

    let withheld = ["--withhold", "dm_db_log_info=300", "--withhold", "loginfo=2571"];
    let server = Serving::start("inspected-lesser", &withheld);
    let (code, text) = inspect(&server, &[]);
    assert_eq!(code, Some(6), "{text}");
    assert!(
        text.contains("not read: DBCC LOGINFO of master: the login lacks a right: sysadmin"),
        "{text}"
    );
}

/// A column that an older version lacks is neither there nor listed; what needs it is left out, and nothing else.
#[test]
fn columns_of_later_versions_are_not_asked_for_where_they_are_not_there() {
    let withheld = [
        "--withhold",
        "databases.is_accelerated_database_recovery_on=207",
        "--withhold",
        "dm_server_services.instant_file_initialization_enabled=207",
        "--withhold",
        "databases.delayed_durability_desc=207",
    ];
    let server = Serving::start("columns", &withheld);
    let mut connection = server.connection();
    let refused = connection
        .rows("select delayed_durability_desc from sys.databases")
        .unwrap_err();
    assert!(refused.to_string().contains("Msg 207"), "{refused}");
    let listed = connection.rows("select name from sys.all_columns where name = 'delayed_durability_desc'");
    assert!(listed.unwrap().is_empty());
    assert!(
        !connection
            .rows("select name, state_desc from sys.databases")
            .unwrap()
            .is_empty()
    );
    let output = server.advise(&["--all"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(!text.contains("207"), "{text}");
}

#[test]
fn an_inventory_goes_on_past_a_server_that_is_not_there() {
    let server = Serving::start("inventory", &[]);
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = unused.local_addr().unwrap().port();
    drop(unused);
    let file = server.folder.join("servers.txt");
    let text = format!(
        "127.0.0.1,{nobody} group=all\n{} password=ADVISED group=all\nelsewhere,1 group=other\n",
        server.address()
    );
    fs::write(&file, text).unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(["advise", "--group", "all", "--inventory"]).arg(&file);
    let output = command
        .env("ADVISED", PASSWORD)
        .env("MSSQL_PASSWORD", "none")
        .output()
        .unwrap();
    let read = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(6), "{read}");
    assert!(
        read.contains(&format!("127.0.0.1,{nobody}: not reached: cannot connect")),
        "{read}"
    );
    assert!(read.contains(&format!("127.0.0.1:{}: ", server.port)), "{read}");
    assert!(read.contains("1 server not reached; 4 databases on 1 server"), "{read}");
}

#[test]
fn findings_are_explained_and_rows_are_judged_without_a_server() {
    let says = |arguments: &[&str]| {
        let output = Command::new(PROGRAM).args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, text) = says(&["advise", "--explain", "10"]);
    assert_eq!(code, Some(0));
    assert!(
        text.starts_with("held-by-transaction (CheckID 10, priority 10)"),
        "{text}"
    );
    assert!(says(&["advise", "--explain"]).1.contains("log-chain-not-begun"));
    assert_eq!(says(&["advise", "--explain", "nothing"]).0, Some(2));
    assert_eq!(says(&["advise"]).0, Some(2));

    let rows = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("advise-rows-{}.txt", std::process::id()));
    // pubs of SQL Server 2000 (databasejournal.com, "Retrieving the Transaction Log Information"), and the same once more.
    let pubs = "2 253952 8192 10 0 128 0\n2 253952 262144 11 0 64 0\n2 270336 516096 12 2 64 0\n";
    fs::write(
        &rows,
        format!("FileId FileSize StartOffset FSeqNo Status Parity CreateLSN\n{pubs}{pubs}"),
    )
    .unwrap();
    let (code, text) = says(&["advise", "--sql-version", "2005", "--from", rows.to_str().unwrap()]);
    fs::remove_file(&rows).unwrap();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("judged by its VLFs alone"), "{text}");
    assert_eq!(text.matches("3 VLFs: ").count(), 2, "{text}");
}
