//! A log is deleted, and the whole folder moved, under a running server: the first commit into a deleted log is 9001, a
//! moved server stops and makes no second folder, and everything acknowledged is there once the folder is back.

use crate::outer::support::{Served, ask, run, value};
use std::fs;

/// The server acknowledged commits into a deleted log until it ended, and they were gone.
#[test]
fn a_deleted_log_takes_no_commit() {
    let served = Served::new("deleted-log");
    let mut connection = served.connect();
    run(&mut connection, "create database victim");
    run(
        &mut connection,
        "create table victim.dbo.t (id int not null primary key)",
    );
    run(&mut connection, "insert victim.dbo.t values (1)");
    let log = value(
        &mut connection,
        "select physical_name from sys.master_files where name = 'victim_log'",
    );
    let log = served.file("").join(log);
    assert!(log.exists(), "{log:?}");
    fs::remove_file(&log).unwrap();
    let answer = ask(&mut connection, "insert victim.dbo.t values (2)");
    assert!(answer.numbers().contains(&9001), "{answer:?}");
    let mut another = served.connect();
    let state = "select state_desc from sys.databases where name = 'victim'";
    assert_eq!(value(&mut another, state), "RECOVERY_PENDING");
    run(&mut another, "create database other");
    let said = served.error_log();
    for told in [
        "victim_log.ldf",
        "It was deleted, moved or replaced while it was open.",
        "Error: 9001, Severity: 21",
    ] {
        assert!(said.contains(told), "{told}: {said}");
    }
}

/// The server went on in a folder that was elsewhere, and made a second one for backups and new databases.
#[test]
fn a_moved_folder_ends_the_server_and_holds_all_that_was_acknowledged() {
    let mut served = Served::new("moved");
    let mut connection = served.connect();
    run(&mut connection, "create database kept");
    run(&mut connection, "create table kept.dbo.t (id int not null primary key)");
    let (place, elsewhere) = (served.file(""), served.file("").with_extension("elsewhere"));
    fs::rename(&place, &elsewhere).unwrap();
    // As long as the server answers, what it acknowledges is in the moved folder.
    let mut acknowledged = 0;
    loop {
        let answer = ask(
            &mut connection,
            &format!("insert kept.dbo.t values ({})", acknowledged + 1),
        );
        if answer.lost || !answer.errors.is_empty() {
            break;
        }
        acknowledged += 1;
    }
    served.wait_for_end();
    assert!(!place.exists(), "no second folder");
    let said = fs::read_to_string(elsewhere.join(lab::server_process::ERROR_LOG)).unwrap();
    for told in [
        "was deleted, moved or replaced while it was open",
        "SQL Server must shut down in order to recover a database",
    ] {
        assert!(said.contains(told), "{told}: {said}");
    }
    fs::rename(&elsewhere, &place).unwrap();
    served.start();
    let counted = value(&mut served.connect(), "select count(*) from kept.dbo.t");
    let counted: u32 = counted.parse().unwrap();
    assert!(counted >= acknowledged, "{counted} of {acknowledged}");
}
