//! A system that gives the server no more threads: work meant for several threads is done by one, completely.
//!
//! The fault is a limit of processes (RLIMIT_NPROC), set on the running server with `prlimit`. It counts for nobody who is root, so
//! the server runs as a user that nobody is.

use crate::outer::support::{Folder, Served, run, value};
use lab::client::Connection;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

/// A user without a name.
const USER: u32 = 54_321;
const ROWS: u32 = 20_000;

/// A command run as that user.
fn as_user(program: &str) -> Command {
    let mut command = Command::new("setpriv");
    let user = USER.to_string();
    command.args(["--reuid", &user, "--regid", &user, "--clear-groups", program]);
    command
}

/// A script in `folder` that runs a copy of the program as that user.
fn program_of_user(folder: &Path) -> std::path::PathBuf {
    let program = folder.join("vlflab");
    fs::copy(env!("CARGO_BIN_EXE_vlflab"), &program).unwrap();
    let script = folder.join("as-user");
    let text = format!(
        "#!/bin/sh\nexec setpriv --reuid {USER} --regid {USER} --clear-groups '{}' \"$@\"\n",
        program.display()
    );
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    script
}

fn no_more_threads(served: &Served) {
    let process = served.process();
    let pid = process.file_name().unwrap().to_str().unwrap();
    let set = as_user("prlimit").args(["--pid", pid, "--nproc=0:0"]).output().unwrap();
    assert!(set.status.success(), "{}", String::from_utf8_lossy(&set.stderr));
}

/// Where no worker could be started, the exchange had no producer: it was over at once, and the statement succeeded with no rows.
#[test]
fn a_parallel_insert_without_threads_reads_the_table_all_the_same() {
    if !as_user("prlimit").output().is_ok_and(|output| output.status.success()) {
        println!("skipped: no more threads: setpriv and prlimit as root are needed");
        return;
    }
    if std::thread::available_parallelism().unwrap().get() < 2 {
        println!("skipped: no more threads: with one processor no plan is parallel");
        return;
    }
    // The user has to reach it, which is not said of the folder of the build.
    let programs = Folder(std::env::temp_dir().join(format!("vlflab-threads-{}", std::process::id())));
    let data = programs.0.join("data");
    let mut served = Served::unstarted(Folder(data.clone()));
    for path in [data.join("sa.password"), data] {
        chown(path, Some(USER), Some(USER)).unwrap();
    }
    served.launch.program = program_of_user(&programs.0);
    served.start();
    let mut connection = served.connect();
    let prepare = format!(
        "exec sp_configure 'show advanced options', 1 reconfigure
         exec sp_configure 'cost threshold for parallelism', 0 reconfigure
         create database many
         use many
         create table source (id int not null, filler char(1000) not null)
         insert source select top ({ROWS}) row_number() over (order by (select null)), 'x'
         from sys.all_columns a cross join sys.all_columns b"
    );
    run(&mut connection, &prepare);
    let insert = |connection: &mut Connection, target: &str| {
        let text = format!(
            "create table {target} (id int not null, filler char(1000) not null)
             insert {target} with (tablock) select id, filler from source option (maxdop 2)"
        );
        run(connection, &text);
        value(connection, &format!("select count(*) from {target}"))
    };
    let waits = "select waiting_tasks_count from sys.dm_os_wait_stats where wait_type = 'CXPACKET'";
    assert_eq!(insert(&mut connection, "by_several"), ROWS.to_string());
    let several = value(&mut connection, waits);
    assert_ne!(several, "0", "the plan is parallel");
    no_more_threads(&served);
    assert!(
        Connection::open(&served.target()).is_err(),
        "a new session would need a thread"
    );
    assert_eq!(insert(&mut connection, "by_one"), ROWS.to_string());
    assert_eq!(value(&mut connection, waits), several, "there was nobody to wait for");
    let same = "select count(*) from (select id from by_one except select id from source) as missing";
    assert_eq!(value(&mut connection, same), "0");
}
