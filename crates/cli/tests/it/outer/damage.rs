//! Log and data files cut, missing, or with a flipped byte, and a second server on the folder: the damaged database is
//! refused with SQL Server's number and named in the error log, damage is never taken for the end of the log, the other
//! databases go on.

use crate::outer::support::{Answer, Folder, Served, ask, assert_sound, run, value};
use lab::client::Connection;
use std::fs;
use std::path::Path;

/// 945 inaccessible files, 926 suspect, 9004 damaged log.
const NOT_USABLE: [i32; 3] = [945, 926, 9004];
/// Rows are found in the files by this text.
const MARK: &str = "find-me-";

/// An instance with the databases `victim` and `healthy`, each with committed rows, some only in the log.
fn two_databases(name: &str) -> Served {
    let mut served = Served::unstarted(Folder::new(name));
    // VLFs of 256 KB, so that the log enters several.
    served.launch.sql_version = "2005".into();
    served.start();
    let mut connection = served.connect();
    for database in ["victim", "healthy"] {
        run(
            &mut connection,
            &format!(
                "create database {database} on (name = {database}, filename = 'd:\\{database}.mdf', size = 4MB)
                 log on (name = {database}_log, filename = 'd:\\{database}.ldf', size = 1MB, filegrowth = 1MB)"
            ),
        );
        run(
            &mut connection,
            &format!("use {database} create table t (id int not null primary key, text varchar(4000) not null)"),
        );
        run(
            &mut connection,
            &format!(
                "declare @i int = 1
                 while @i <= 400 begin
                   insert t values (@i, '{MARK}' + cast(@i as varchar(10)) + replicate('.', 3000))
                   set @i = @i + 1
                   if @i = 300 checkpoint
                 end"
            ),
        );
    }
    served
}

fn assert_healthy(served: &mut Served) {
    let mut connection = served.connect();
    assert_eq!(value(&mut connection, "use healthy select count(*) from t"), "400");
    assert_sound(&mut connection, "healthy");
    run(&mut connection, "update t set text = 'still writable' where id = 7");
    assert!(served.is_up());
}

fn state_of_victim(connection: &mut Connection) -> String {
    value(connection, "select state_desc from sys.databases where name = 'victim'")
}

/// The victim cannot be used, in words of SQL Server, and is in one of `states`.
fn assert_not_usable(served: &mut Served, states: &[&str]) {
    let mut connection = served.connect();
    let answer = ask(&mut connection, "use victim select count(*) from t");
    assert!(answer.has_any(&NOT_USABLE), "{answer:?}");
    assert!(answer.rows.is_empty(), "{answer:?}");
    let state = state_of_victim(&mut served.connect());
    assert!(states.contains(&state.as_str()), "{state}");
}

fn assert_logged(served: &Served, numbers: &[i32]) {
    let log = served.error_log();
    assert!(
        numbers.iter().any(|number| log.contains(&format!("Error: {number},"))),
        "none of {numbers:?} in the error log:\n{log}"
    );
}

#[test]
fn a_log_file_cut_in_half_makes_its_database_unusable() {
    let mut served = two_databases("cut-log");
    served.kill();
    let log = served.file("d/victim.ldf");
    let bytes = fs::metadata(&log).unwrap().len();
    assert!(bytes >= 1 << 20, "{bytes}");
    fs::OpenOptions::new()
        .write(true)
        .open(&log)
        .unwrap()
        .set_len(bytes / 2)
        .unwrap();
    served.start();
    assert_not_usable(&mut served, &["RECOVERY_PENDING", "SUSPECT"]);
    assert_logged(&served, &[9004, 9003, 5172, 17207, 824]);
    assert_healthy(&mut served);
}

#[test]
fn a_missing_log_file_leaves_its_database_waiting_for_it() {
    let mut served = two_databases("missing-log");
    served.kill();
    let (log, aside) = (served.file("d/victim.ldf"), served.file("d/aside.ldf"));
    fs::rename(&log, &aside).unwrap();
    served.start();
    assert_not_usable(&mut served, &["RECOVERY_PENDING"]);
    assert_logged(&served, &[17204, 17207, 5120]);
    assert!(!log.exists(), "a log file was made up");
    assert_healthy(&mut served);
    // Nothing was lost: with the file back, the database recovers.
    served.kill();
    fs::rename(&aside, &log).unwrap();
    served.start();
    let mut connection = served.connect();
    assert_eq!(value(&mut connection, "use victim select count(*) from t"), "400");
    assert_sound(&mut connection, "victim");
}

/// Flips one bit of the first byte of the last `mark` in a file; tells where.
fn flip_a_byte(path: &Path, mark: &str) -> usize {
    let mut bytes = fs::read(path).unwrap();
    let found = bytes.windows(mark.len()).rposition(|window| window == mark.as_bytes());
    let position = found.unwrap_or_else(|| panic!("{mark} is not in {}", path.display()));
    bytes[position] ^= 0x10;
    fs::write(path, bytes).unwrap();
    position
}

fn all_rows(served: &Served) -> Answer {
    ask(
        &mut served.connect(),
        "use victim select max(text) from t where id between 1 and 400",
    )
}

#[test]
fn a_flipped_byte_in_a_data_page_is_824_and_found_by_checkdb() {
    let mut served = two_databases("flip-page");
    run(
        &mut served.connect(),
        "use victim create table sound (id int not null primary key) insert sound values (1)",
    );
    served.shut_down();
    let position = flip_a_byte(&served.file("d/victim.mdf"), &format!("{MARK}200"));
    served.start();
    let answer = all_rows(&served);
    assert_eq!(answer.numbers(), [824], "{answer:?}");
    let log = served.error_log();
    assert!(log.contains("Error: 824, Severity: 24, State: "), "{log}");
    assert_eq!(answer.errors[0].severity, 24);
    let page = format!("(1:{})", position / 8_192);
    assert!(answer.errors[0].text.contains(&page), "{page}: {}", answer.errors[0]);
    let answer = ask(&mut served.connect(), "dbcc checkdb ('victim') with no_infomsgs");
    assert!(answer.has_any(&[8928, 8939, 8978, 824]), "{answer:?}");
    // The rest of the database still answers.
    assert_eq!(
        value(&mut served.connect(), "use victim select count(*) from sound"),
        "1"
    );
    assert_healthy(&mut served);
}

#[test]
fn a_flipped_byte_in_a_log_block_stops_recovery_of_its_database() {
    let mut served = two_databases("flip-log");
    served.kill();
    // A row logged after the checkpoint, in a VLF that the log has left since.
    let position = flip_a_byte(&served.file("d/victim.ldf"), &format!("{MARK}301"));
    let last = fs::read(served.file("d/victim.ldf")).unwrap();
    let mark = format!("{MARK}400");
    let end = last
        .windows(mark.len())
        .rposition(|window| window == mark.as_bytes())
        .unwrap();
    assert!(end.abs_diff(position) > 256 << 10, "one VLF holds both");
    served.start();
    assert_not_usable(&mut served, &["RECOVERY_PENDING", "SUSPECT"]);
    assert_logged(&served, &[9004, 9003, 824]);
    assert_healthy(&mut served);
}

#[test]
fn a_flipped_byte_among_the_last_commits_is_not_taken_for_the_end_of_the_log() {
    let mut served = two_databases("flip-last");
    served.kill();
    // Blocks behind it are in the same VLF: only their own writes tell that this one was durable.
    flip_a_byte(&served.file("d/victim.ldf"), &format!("{MARK}399"));
    served.start();
    assert_not_usable(&mut served, &["RECOVERY_PENDING", "SUSPECT"]);
    assert_logged(&served, &[9004]);
    assert_healthy(&mut served);
}

#[test]
fn a_missing_data_file_leaves_its_database_waiting_for_it() {
    let mut served = two_databases("missing-data");
    served.kill();
    let (data, aside) = (served.file("d/victim.mdf"), served.file("d/aside.mdf"));
    fs::rename(&data, &aside).unwrap();
    served.start();
    assert_not_usable(&mut served, &["RECOVERY_PENDING"]);
    assert_logged(&served, &[17204, 5120]);
    assert_healthy(&mut served);
}

#[test]
fn a_second_server_on_the_same_folder_is_refused() {
    let served = Served::new("twice");
    let second = std::process::Command::new(&served.launch.program)
        .args(["serve", "--port", "0", "--data"])
        .arg(&served.launch.data)
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    assert!(!second.status.success());
    let said = String::from_utf8_lossy(&second.stderr).to_lowercase();
    assert!(said.contains("in use"), "{said}");
    assert_eq!(value(&mut served.connect(), "select 1"), "1");
}
