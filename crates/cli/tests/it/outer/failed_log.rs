//! A limit of file sizes makes the log of one database fail under many users: 9001 for committers, waiters and dirty
//! readers, RECOVERY_PENDING, other databases go on, and SET ONLINE brings it back once the log takes writes again.
//!
//! The fault is the operating system's: a limit of file sizes (RLIMIT_FSIZE, set on the running server with `prlimit`) below the
//! place where the log stands and above all that other databases write.

use crate::outer::support::{Answer, Served, ask, run, value};
use lab::client::Connection;
use std::process::Command;

/// No file may be written behind this.
const LIMIT_BYTES: u64 = 12 << 20;

/// Sets the limit on the running server; false without `prlimit`.
fn limit_file_size(served: &Served, bytes: &str) -> bool {
    let process = served.process();
    let pid = process.file_name().unwrap().to_str().unwrap();
    let set = Command::new("prlimit")
        .args(["--pid", pid, &format!("--fsize={bytes}:unlimited")])
        .output();
    match set {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            true
        }
        Err(error) => {
            println!("skipped: failing log: prlimit: {error}");
            false
        }
    }
}

fn is_closed(answer: &Answer) -> bool {
    answer.numbers().contains(&9001) && answer.errors.iter().any(|error| error.severity == 21)
}

/// A database whose log stands behind the limit while its data file does not reach it, and another one.
fn prepare(served: &Served) -> Connection {
    let mut connection = served.connect();
    run(
        &mut connection,
        "create database victim on (name = victim, filename = 'd:\\victim.mdf', size = 8MB)
         log on (name = victim_log, filename = 'd:\\victim.ldf', size = 64MB)",
    );
    run(&mut connection, "backup database victim to disk = 'd:\\victim.bak'");
    run(&mut connection, "create database other");
    run(&mut connection, "create table other.dbo.t (id int not null)");
    let fill = "use victim
        create table t (id int not null primary key, filler char(7000) not null)
        insert t values (0, 'x')
        declare @n int = 0
        while @n < 3000 begin set @n = @n + 1 update t set filler = replicate(char(65 + @n % 26), 7000) end";
    run(&mut connection, fill);
    run(&mut connection, "checkpoint");
    connection
}

#[test]
fn a_log_that_takes_no_writes_closes_its_database_until_it_is_set_online() {
    let served = Served::new("failed-log");
    let mut committer = prepare(&served);
    let used = value(
        &mut committer,
        "select used_log_space_in_bytes from sys.dm_db_log_space_usage",
    );
    assert!(
        used.parse::<u64>().unwrap() > LIMIT_BYTES + (1 << 20),
        "the log stands before the limit"
    );
    let mut readers: Vec<Connection> = (0..4).map(|_| served.connect()).collect();
    readers.iter_mut().for_each(|reader| drop(run(reader, "use victim")));
    let mut open = served.connect();
    run(&mut open, "use victim begin tran insert t values (50, 'open')");
    if !limit_file_size(&served, &LIMIT_BYTES.to_string()) {
        return;
    }
    let failed = ask(&mut committer, "insert t values (1, 'lost')");
    assert!(is_closed(&failed), "{failed:?}");
    // By locks, without them, without a table, and of the definitions.
    let questions = [
        "select id from t",
        "select id from t with (nolock)",
        "select 1",
        "select name from sys.tables",
    ];
    for (reader, question) in readers.iter_mut().zip(questions) {
        let answer = ask(reader, question);
        assert!(is_closed(&answer), "{question}: {answer:?}");
        assert!(answer.rows.is_empty(), "{question}: {answer:?}");
    }
    let mut another = served.connect();
    let answer = ask(&mut another, "select id from victim.dbo.t with (nolock)");
    assert!(is_closed(&answer) && answer.rows.is_empty(), "{answer:?}");
    assert!(is_closed(&ask(&mut open, "commit")), "what was open cannot commit");
    others_go_on(&served, 1);
    let error_log = served.error_log();
    for told in [
        "Error: 17053,",
        "Error: 9001, Severity: 21",
        "Database victim was shutdown due to error 9001",
    ] {
        assert!(error_log.contains(told), "{told}: {error_log}");
    }
    comes_back(&served);
}

fn others_go_on(served: &Served, number: u32) {
    let mut connection = served.connect();
    let state = "select state_desc from sys.databases where name = 'victim'";
    assert_eq!(value(&mut connection, state), "RECOVERY_PENDING");
    run(&mut connection, &format!("insert other.dbo.t values ({number})"));
    assert_eq!(
        value(&mut connection, "select count(*) from other.dbo.t"),
        number.to_string()
    );
}

/// SET ONLINE fails while the fault lasts, works afterwards, and ends who was in the database all the time.
fn comes_back(served: &Served) {
    let mut idle = served.connect();
    let online = "alter database victim set online";
    let refused = ask(&mut served.connect(), online);
    assert!(
        !refused.errors.is_empty(),
        "the log cannot be written, and the database is online: {refused:?}"
    );
    others_go_on(served, 2);
    assert!(limit_file_size(served, "unlimited"));
    run(&mut idle, online);
    let rows = run(&mut idle, "use victim select id from t order by id");
    let ids: Vec<_> = rows.iter().map(|row| row[0].clone().unwrap()).collect();
    // Whether the failed write reached the disk is unknown; that the open transaction is gone is not.
    assert!(ids == ["0"] || ids == ["0", "1"], "{ids:?}");
    run(&mut idle, "insert t values (2, 'after')");
    assert!(
        ask(&mut idle, "dbcc checkdb (victim) with no_infomsgs")
            .errors
            .is_empty()
    );
    run(&mut idle, "checkpoint");
}
