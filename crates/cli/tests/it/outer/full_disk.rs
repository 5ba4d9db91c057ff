//! A small tmpfs that is full when a log (9002) or data file (1101, 1105) is to grow: nothing is lost, a restart on the full
//! disk works, and so does the database once there is space. Needs root; skipped with the reason elsewhere.
//!
//! The disk is a small tmpfs, mounted where the instance keeps drive `F:`; that takes root.

use crate::outer::support::{Served, ask, assert_sound, run, value};
use crate::small_disk::{BALLAST_BYTES, DISK_BYTES, SmallDisk};
use lab::client::Connection;
use std::fs;

const STATEMENTS_MAX: usize = 100_000;

/// Runs `statement` with each number until it fails; how many succeeded, and the failure's numbers.
fn until_it_fails(connection: &mut Connection, statement: impl Fn(usize) -> String) -> (usize, Vec<i32>) {
    for done in 0..STATEMENTS_MAX {
        let answer = ask(connection, &statement(done + 1));
        if answer.lost || !answer.errors.is_empty() {
            return (done, answer.numbers());
        }
    }
    panic!("the disk never filled up");
}

#[test]
fn a_log_that_cannot_grow_is_9002_and_works_again_with_space() {
    let mut served = Served::new("full-log");
    let Some(disk) = SmallDisk::mount(&served.file("f")) else {
        return;
    };
    disk.add_ballast();
    let mut connection = served.connect();
    run(
        &mut connection,
        "create database victim on (name = victim, filename = 'd:\\victim.mdf', size = 8MB)
         log on (name = victim_log, filename = 'f:\\victim.ldf', size = 1MB, filegrowth = 1MB)",
    );
    run(&mut connection, "backup database victim to disk = 'd:\\victim.bak'");
    run(
        &mut connection,
        "use victim create table t (id int not null, filler char(7000) not null) insert t values (0, 'x')",
    );
    let update = |done: usize| {
        let filler = if done.is_multiple_of(2) { "y" } else { "z" };
        format!("update t set id = {done}, filler = replicate('{filler}', 7000)")
    };
    let (done, numbers) = until_it_fails(&mut connection, update);
    assert!(numbers.contains(&9002), "{numbers:?} after {done} updates");
    let log_bytes = fs::metadata(served.file("f/victim.ldf")).unwrap().len();
    println!("full disk: 9002 after {done} updates, log file {log_bytes} bytes");
    assert!(
        log_bytes > 10 << 20 && log_bytes + BALLAST_BYTES as u64 > DISK_BYTES - (2 << 20),
        "{log_bytes}"
    );
    let error_log = served.error_log();
    assert!(error_log.contains("Error: 9002,"), "{error_log}");
    assert!(
        error_log.contains("112(") && error_log.contains("victim.ldf"),
        "{error_log}"
    );
    assert!(served.is_up());
    // Reading goes on, and so do other databases; nothing acknowledged is gone.
    let mut other = served.connect();
    assert_eq!(value(&mut other, "use victim select id from t"), done.to_string());
    run(
        &mut other,
        "use tempdb create table elsewhere (a int) insert elsewhere values (1)",
    );
    // A restart on the full disk, and then space again.
    served.kill();
    served.start();
    let mut connection = served.connect();
    assert_eq!(value(&mut connection, "use victim select id from t"), done.to_string());
    disk.remove_ballast();
    run(&mut connection, &update(done + 1));
    assert_eq!(value(&mut connection, "select id from t"), (done + 1).to_string());
    assert_sound(&mut connection, "victim");
    // SHUTDOWN leaves no process on the mount.
    served.shut_down();
}

#[test]
fn a_data_file_that_cannot_grow_is_1101_or_1105_and_works_again_with_space() {
    let mut served = Served::new("full-data");
    let Some(disk) = SmallDisk::mount(&served.file("f")) else {
        return;
    };
    disk.add_ballast();
    let mut connection = served.connect();
    run(
        &mut connection,
        "create database victim on (name = victim, filename = 'f:\\victim.mdf', size = 4MB, filegrowth = 1MB)
         log on (name = victim_log, filename = 'd:\\victim.ldf', size = 4MB, filegrowth = 4MB)",
    );
    run(
        &mut connection,
        "use victim create table t (id int not null primary key, filler char(7000) not null)",
    );
    let insert = |done: usize| format!("insert t values ({done}, 'x')");
    let (done, numbers) = until_it_fails(&mut connection, insert);
    assert!(
        numbers.contains(&1105) || numbers.contains(&1101),
        "{numbers:?} after {done} inserts"
    );
    println!("full disk: {numbers:?} after {done} inserts");
    let data_bytes = fs::metadata(served.file("f/victim.mdf")).unwrap().len();
    assert!(data_bytes > 10 << 20, "{data_bytes}");
    assert!(served.is_up());
    assert_eq!(value(&mut connection, "select count(*) from t"), done.to_string());
    served.kill();
    served.start();
    let mut connection = served.connect();
    assert_eq!(
        value(&mut connection, "use victim select count(*) from t"),
        done.to_string()
    );
    disk.remove_ballast();
    run(&mut connection, &insert(done + 1));
    assert_eq!(value(&mut connection, "select max(id) from t"), (done + 1).to_string());
    assert_sound(&mut connection, "victim");
    served.shut_down();
}

/// RESTORE over a database that filled more than half of its disk found no room: the former files, deleted by then, were still open, in
/// the statement itself and in plans of queries. What it left was a database that is RESTORING.
#[test]
fn a_database_that_fills_its_disk_is_restored_over_itself() {
    let served = Served::new("restored-in-place");
    let Some(_disk) = SmallDisk::mount(&served.file("f")) else {
        return;
    };
    let mut connection = served.connect();
    run(
        &mut connection,
        "create database victim on (name = victim, filename = 'd:\\victim.mdf', size = 8MB)
         log on (name = victim_log, filename = 'f:\\victim.ldf', size = 16MB)",
    );
    run(
        &mut connection,
        "create table victim..t (id int not null primary key) insert victim..t values (1)",
    );
    run(&mut connection, "backup database victim to disk = 'd:\\victim.bak'");
    for round in 0..2 {
        let mut other = served.connect();
        assert_eq!(
            value(&mut other, "select id from victim..t where id = 1"),
            "1",
            "{round}"
        );
        assert_eq!(value(&mut connection, "select count(*) from victim..t"), "1", "{round}");
        run(
            &mut connection,
            "restore database victim from disk = 'd:\\victim.bak' with replace",
        );
    }
    assert_sound(&mut connection, "victim");
}
