//! `vlflab advise --apply` against the real server: through each state in which it has to stop, killed in the middle, and begun again.

use crate::advise::{PASSWORD, PROGRAM, Serving, run};
use crate::small_disk::SmallDisk;
use lab::client::Connection;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The figures of a disk that takes 200 ms for a request: a hundred VLFs are worth a rebuild there.
fn slow_disk(server: &Serving) -> PathBuf {
    let listed = Command::new(PROGRAM)
        .args(["disks", "azure-p30", "--toml"])
        .output()
        .unwrap();
    let toml = String::from_utf8(listed.stdout).unwrap();
    let mut figure = "";
    let lines: Vec<String> = toml
        .lines()
        .map(|line| {
            if line.starts_with('[') {
                figure = line;
            }
            let is_latency = ["[figure.read_us]", "[figure.write_us]"].contains(&figure);
            let key = line.split(' ').next().unwrap_or("");
            match is_latency && ["low", "typical", "high"].contains(&key) {
                true => format!("{key} = 200000"),
                false => line.to_owned(),
            }
        })
        .collect();
    let path = server.folder.join("slow.toml");
    fs::write(&path, lines.join("\n")).unwrap();
    path
}

struct Applied<'a> {
    server: &'a Serving,
    disk: PathBuf,
}

impl Applied<'_> {
    fn command(&self, more: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .args(["advise", "-S", &self.server.address(), "--apply", "held", "--disk"])
            .arg(&self.disk)
            .args(more)
            .current_dir(&self.server.folder)
            .env("MSSQL_PASSWORD", PASSWORD)
            .stdin(Stdio::null());
        if !more.contains(&"--wait") {
            command.args(["--wait", "0"]);
        }
        command
    }

    fn run(&self, more: &[&str]) -> (Option<i32>, String) {
        let output = self.command(more).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
        (output.status.code(), text)
    }

    fn task(&self) -> PathBuf {
        let name = format!("vlflab-apply-127_0_0_1-{}-held.json", self.server.port);
        self.server.folder.join(name)
    }
}

/// A log in steps of 1 MB, and a chain of backups.
fn make(connection: &mut Connection, megabytes: u32) {
    make_at(connection, "held.ldf", megabytes);
}

/// The same, whose log lies there.
fn make_at(connection: &mut Connection, log: &str, megabytes: u32) {
    run(
        connection,
        &format!(
            "create database held on (name = held, filename = 'held.mdf') \
             log on (name = held_log, filename = '{log}', size = 4MB, filegrowth = 1MB)"
        ),
    );
    run(connection, "alter database held set recovery full");
    run(
        connection,
        "create table held.dbo.t (x char(7000)) create table held.dbo.small (x int)",
    );
    run(connection, "backup database held to disk = 'held.bak'");
    for mb in 5..=megabytes {
        run(
            connection,
            &format!("alter database held modify file (name = held_log, size = {mb}MB)"),
        );
    }
}

fn vlfs(connection: &mut Connection) -> usize {
    connection.rows("dbcc loginfo('held') with no_infomsgs").unwrap().len()
}

const FILL: &str =
    "declare @n int = 0 while @n < 400 begin insert held.dbo.t values (replicate('x', 7000)) set @n += 1 end";
const BACKUP: &str = "backup log held to disk = 'held.trn'";

/// Without consent nothing is done, and a backup to NUL is never run.
fn is_refused(applied: &Applied<'_>) {
    let (code, text) = applied.run(&[]);
    assert_eq!(code, Some(2), "{text}");
    assert!(
        text.contains("DBCC SHRINKFILE (N'held_log', 1)") && text.contains("never on a SQL Server"),
        "{text}"
    );
    assert!(!applied.task().exists());
    let (code, text) = applied.run(&["--yes", "--log-backup", "backup log held to disk = 'NUL'"]);
    assert_eq!(code, Some(2), "{text}");
}

/// Held by an open transaction, then waiting for a log backup that does not come.
fn stops_twice(applied: &Applied<'_>, writer: &mut Connection) {
    let before = vlfs(writer);
    let mut holder = applied.server.connection();
    run(&mut holder, "use held begin tran insert small values (1)");
    run(writer, FILL);
    run(writer, BACKUP);
    let session = holder.number("select @@spid").unwrap();
    let (code, text) = applied.run(&["--yes"]);
    assert_eq!(code, Some(7), "{text}");
    assert!(
        text.contains(&format!("Stopped: the log is held: session {session} (sleeping) of sa")),
        "{text}"
    );
    assert_eq!(vlfs(writer), before, "{text}");
    run(&mut holder, "commit");

    let (code, text) = applied.run(&["--yes"]);
    assert_eq!(code, Some(7), "{text}");
    assert!(
        text.contains("waits for the usual log backup") && text.contains("no log backup came within 0 min"),
        "{text}"
    );
    assert!(applied.task().exists());
}

/// Between two runs the database was taken offline, and a log backup that the server refuses ends in the server's words.
fn stops_where_the_server_says_no(applied: &Applied<'_>, writer: &mut Connection) {
    let before = vlfs(writer);
    let (code, text) = applied.run(&["--yes", "--log-backup", "backup log nowhere to disk = 'held.trn'"]);
    assert_eq!(code, Some(7), "{text}");
    assert!(
        text.contains("Stopped: the server refused it: ") && text.contains("nowhere"),
        "{text}"
    );
    run(writer, "alter database held set offline");
    let (code, text) = applied.run(&["--yes", "--log-backup", BACKUP]);
    assert_eq!(code, Some(7), "{text}");
    assert!(text.contains("Stopped: the database is OFFLINE"), "{text}");
    run(writer, "alter database held set online");
    assert_eq!(vlfs(writer), before);
    assert!(applied.task().exists());
}

/// Killed behind its first growth.
fn is_killed(applied: &Applied<'_>) {
    let mut command = applied.command(&["--yes", "--log-backup", BACKUP]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut growth_began = lines.skip_while(|line| !line.starts_with("| ALTER DATABASE"));
    assert!(growth_began.next().is_some());
    assert!(growth_began.next().is_some(), "it took no second line");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(applied.task().exists());
}

#[test]
fn a_log_is_rebuilt_through_every_stop_killed_in_the_middle_and_taken_up() {
    let server = Serving::start("applied", &["--sql-version", "2012"]);
    let applied = Applied {
        server: &server,
        disk: slow_disk(&server),
    };
    let mut writer = server.connection();
    make(&mut writer, 100);
    let before = vlfs(&mut writer);
    assert!(before > 200, "{before}");
    is_refused(&applied);
    stops_twice(&applied, &mut writer);
    stops_where_the_server_says_no(&applied, &mut writer);
    is_killed(&applied);

    // Taken up, it reaches what was planned of the log as it was at first.
    let (code, text) = applied.run(&["--yes", "--log-backup", BACKUP]);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.starts_with("Continues with ") && text.contains("Done: the log has 100 MB in "),
        "{text}"
    );
    assert!(
        !text.contains("| USE [held]"),
        "it was shrunk by the run that was killed: {text}"
    );
    assert!(!applied.task().exists());
    let after = vlfs(&mut writer);
    assert!(after < 20, "{after}: {text}");
    let growth = writer.rows("select growth, is_percent_growth from held.sys.database_files where file_id = 2");
    assert_eq!(growth.unwrap()[0][0].as_deref(), Some("8192"));
    // The chain goes on, and nothing is left to do.
    run(&mut writer, BACKUP);
    let (code, text) = applied.run(&["--yes"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.starts_with("Nothing to do for the VLFs of held"), "{text}");
}

/// A log backup behind which the application writes until the log stands in the last VLF of the file.
const BACKUP_AND_WRITE: &str = "use held checkpoint backup log held to disk = 'held.trn' \
    declare @last bigint = (select max(vlf_begin_offset) from sys.dm_db_log_info(db_id('held'))), @end bigint = 0, @n int \
    while @end < @last begin \
        select top 1 @end = vlf_begin_offset from sys.dm_db_log_info(db_id('held')) order by vlf_sequence_number desc \
        set @n = 0 \
        while @end < @last and @n < 10 begin insert held.dbo.t values (replicate('x', 7000)) set @n += 1 end \
    end";

/// Nothing holds this log, and each shrink finds its end in use: four are tried, and a log that is still long is never grown. Begun again when
/// the application writes no more, it is mended.
#[test]
fn a_log_that_is_in_use_at_its_end_each_time_is_given_up_after_four_shrinks() {
    let server = Serving::start("in-use", &["--sql-version", "2012"]);
    let applied = Applied {
        server: &server,
        disk: slow_disk(&server),
    };
    let mut writer = server.connection();
    make(&mut writer, 28);
    run(&mut writer, BACKUP_AND_WRITE);
    let (code, text) = applied.run(&["--yes", "--log-backup", BACKUP_AND_WRITE]);
    assert_eq!(code, Some(7), "{text}");
    assert_eq!(
        text.matches("| USE [held]; CHECKPOINT; DBCC SHRINKFILE").count(),
        4,
        "{text}"
    );
    let left = vlfs(&mut writer);
    assert!(left > 90, "{left}");
    assert!(
        text.contains("Stopped: the log does not shrink: it has ")
            && text.contains(&format!("VLF {left} of {left} in the file is still active")),
        "{text}"
    );
    assert!(!text.contains("\n| ALTER DATABASE"), "{text}");
    let (code, text) = applied.run(&["--yes", "--log-backup", BACKUP]);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.starts_with("Continues with ") && text.contains("Done: the log has "),
        "{text}"
    );
}

/// Killed while it waits for the usual log backup, then begun again: the backup that another session makes lets it go on.
#[test]
fn the_usual_log_backup_is_waited_for() {
    let server = Serving::start("usual", &["--sql-version", "2012"]);
    let applied = Applied {
        server: &server,
        disk: slow_disk(&server),
    };
    let mut writer = server.connection();
    make(&mut writer, 100);
    run(&mut writer, FILL);
    let waiting = |killed: bool| {
        let mut command = applied.command(&["--yes", "--wait", "5"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        assert!(lines.any(|line| line.contains("waits for the usual log backup")));
        if killed {
            child.kill().unwrap();
        }
        (child, lines)
    };
    let (mut child, _) = waiting(true);
    child.wait().unwrap();
    assert!(applied.task().exists());

    let (mut child, lines) = waiting(false);
    let mut told = Vec::new();
    run(&mut writer, BACKUP);
    for line in lines {
        if line.contains("waits for the usual log backup") {
            run(&mut writer, BACKUP);
        }
        told.push(line);
    }
    assert!(child.wait().unwrap().success(), "{told:?}");
    assert!(
        told.iter().any(|line| line.contains("the log backup has come after ")),
        "{told:?}"
    );
    assert!(
        told.last().unwrap().starts_with("Done: the log has 100 MB in "),
        "{told:?}"
    );
    assert!(!applied.task().exists());
}

/// Whether the last VLF of the file is active.
fn ends_in_use(connection: &mut Connection) -> bool {
    let vlfs = connection.rows("dbcc loginfo('held') with no_infomsgs").unwrap();
    vlfs.last().unwrap().iter().rev().nth(2).unwrap().as_deref() == Some("2")
}

/// The log stands in its last VLF, and all others are free: a shrink gives nothing back, `advise` says so, and the statements that it names
/// shrink it.
#[test]
fn a_log_that_stands_in_its_last_vlf_cannot_be_shrunk_until_it_has_gone_on() {
    let server = Serving::start("unshrinkable", &["--sql-version", "2012"]);
    let mut writer = server.connection();
    make(&mut writer, 24);
    run(&mut writer, "alter database held set recovery simple");
    let some = "use held declare @n int = 0 \
                while @n < 20 begin insert t values (replicate('x', 7000)) set @n += 1 end checkpoint";
    let mut batches = 0;
    while !ends_in_use(&mut writer) {
        run(&mut writer, some);
        batches += 1;
        assert!(batches < 1_000, "the log never came to its end");
    }
    let before = vlfs(&mut writer);
    run(
        &mut writer,
        "use held dbcc shrinkfile(held_log, truncateonly) with no_infomsgs",
    );
    assert_eq!(vlfs(&mut writer), before, "nothing is free at the end");

    let advise = || {
        let mut command = Command::new(PROGRAM);
        command.args(["advise", "-S", &server.address(), "--format", "jsonl", "--disk"]);
        let output = command
            .arg(slow_disk(&server))
            .env("MSSQL_PASSWORD", PASSWORD)
            .output()
            .unwrap();
        let lines = String::from_utf8(output.stdout).unwrap();
        let findings = lines
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        findings
            .filter(|finding| finding["database"] == "held")
            .collect::<Vec<_>>()
    };
    let of = |id: &str| advise().into_iter().find(|finding| finding["id"] == id);
    assert!(of("many-vlfs").is_some());
    let found = of("log-cannot-shrink").expect("it is a finding");
    assert!(
        found["headline"].as_str().unwrap().contains("in the last VLF"),
        "{found}"
    );
    let tsql = found["tsql"].as_str().unwrap();
    assert_eq!(tsql.matches("DBCC SHRINKFILE").count(), 2, "{tsql}");
    for _ in 0..3 {
        run(&mut writer, &format!("{tsql}\n{some}"));
    }
    let after = vlfs(&mut writer);
    assert!(after < before / 2, "{after} of {before} VLFs: {tsql}");
    assert!(of("log-cannot-shrink").is_none());
}

/// A run that was stopped before its first statement, and then the shrink that it would have made: the log waits for its growth.
fn stop_and_shrink(applied: &Applied<'_>, writer: &mut Connection) {
    let mut holder = applied.server.connection();
    run(&mut holder, "use held begin tran insert small values (1)");
    run(writer, FILL);
    run(writer, BACKUP);
    let (code, text) = applied.run(&["--yes"]);
    assert_eq!(code, Some(7), "{text}");
    run(&mut holder, "commit");
    for _ in 0..8 {
        run(writer, "use held insert small values (1)");
        run(writer, BACKUP);
        run(
            writer,
            "use held checkpoint dbcc shrinkfile (N'held_log', 1) with no_infomsgs",
        );
    }
    assert!(vlfs(writer) < 12, "it was not shrunk");
    assert!(applied.task().exists());
}

/// The growth is refused, in the server's words, with how that leaves the log; the task stays.
fn growth_is_refused(applied: &Applied<'_>, error: &str, remedy: &str) {
    let (code, text) = applied.run(&["--yes", "--log-backup", BACKUP]);
    assert_eq!(code, Some(7), "{text}");
    assert!(
        text.contains("\n| ALTER DATABASE [held] MODIFY FILE (NAME = N'held_log', SIZE = "),
        "{text}"
    );
    for words in [
        &format!("Stopped: the server refused it: Msg {error}, Level 16, "),
        ". The log has ",
        ", and is to have 20 MB in ",
        remedy,
        "Run the same command again to continue.",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(
        !text.contains("FILEGROWTH = 64MB);\n  "),
        "nothing is done behind it: {text}"
    );
    assert!(applied.task().exists());
}

fn goes_on(applied: &Applied<'_>, writer: &mut Connection) {
    let (code, text) = applied.run(&["--yes", "--log-backup", BACKUP]);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.starts_with("Continues with ") && text.contains("Done: the log has 20 MB in "),
        "{text}"
    );
    assert!(vlfs(writer) < 12, "{text}");
    assert!(!applied.task().exists());
    run(writer, BACKUP);
}

/// Between two runs the log was given a MAXSIZE below what it is to have (5040).
#[test]
fn a_growth_beyond_maxsize_is_refused_and_made_when_there_is_room() {
    let server = Serving::start("maxsize", &["--sql-version", "2012"]);
    let applied = Applied {
        server: &server,
        disk: slow_disk(&server),
    };
    let mut writer = server.connection();
    make(&mut writer, 20);
    stop_and_shrink(&applied, &mut writer);
    run(
        &mut writer,
        "alter database held modify file (name = held_log, maxsize = 12MB)",
    );
    growth_is_refused(&applied, "5040", "; raise its MAXSIZE first.");
    run(
        &mut writer,
        "alter database held modify file (name = held_log, maxsize = 64MB)",
    );
    goes_on(&applied, &mut writer);
}

/// Between two runs the volume filled up (5149): nothing of the log is lost, the database is written to meanwhile, and the same command goes on
/// when there is room. Takes root.
#[test]
fn a_growth_on_a_full_volume_is_refused_and_made_when_there_is_room() {
    let server = Serving::start("full-volume", &["--sql-version", "2012"]);
    let Some(volume) = SmallDisk::mount(&server.folder.join("data/f")) else {
        return;
    };
    let applied = Applied {
        server: &server,
        disk: slow_disk(&server),
    };
    let mut writer = server.connection();
    make_at(&mut writer, "f:\\held.ldf", 20);
    stop_and_shrink(&applied, &mut writer);
    volume.add_ballast();
    let before = vlfs(&mut writer);
    growth_is_refused(&applied, "5149", "; make room on its volume first.");
    assert_eq!(vlfs(&mut writer), before, "a growth that failed leaves no VLF");
    run(&mut writer, "use held insert small values (1)");
    volume.remove_ballast();
    goes_on(&applied, &mut writer);
}

/// Between two runs the database was dropped, and at last the server is gone: each is said, and the task stays to be looked at.
#[test]
fn a_database_or_server_that_is_gone_stops_it() {
    let mut server = Serving::start("gone", &["--sql-version", "2012"]);
    let mut writer = server.connection();
    make(&mut writer, 20);
    let applied = Applied {
        server: &server,
        disk: slow_disk(&server),
    };
    stop_and_shrink(&applied, &mut writer);
    // The server may not have noticed yet that the first run's session is gone.
    run(
        &mut writer,
        "use master alter database held set single_user with rollback immediate drop database held",
    );
    let (code, text) = applied.run(&["--yes"]);
    assert_eq!(code, Some(7), "{text}");
    assert!(
        text.contains("Stopped: the database is gone, or cannot be seen any more."),
        "{text}"
    );
    let (task, mut command) = (applied.task(), applied.command(&["--yes"]));
    assert!(task.exists());
    server.kill();
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(task.exists());
}
