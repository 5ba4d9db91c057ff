//! `vlflab serve --in-memory` and `--restore`: a server that writes nothing and leaves nothing, and databases from their backups.

use crate::operations::support::{Folder, PASSWORD, Serving, said, serve, serve_new, vlflab};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A server in memory, in whose current folder nothing may appear.
fn in_memory(folder: &Path) -> Command {
    let mut command = Command::new(crate::operations::support::PROGRAM);
    command.args(["serve", "--in-memory", "--port", "0", "--max-server-memory", "64"]);
    command
        .env("MSSQL_SA_PASSWORD", PASSWORD)
        .stdin(std::process::Stdio::null())
        .current_dir(folder);
    command.env_remove("NOTIFY_SOCKET");
    command
}

/// What the process has written to disks, by the kernel's count (proc_pid_io(5)).
fn written_bytes(id: u32) -> u64 {
    let counts = fs::read_to_string(format!("/proc/{id}/io")).unwrap();
    let line = counts
        .lines()
        .find_map(|line| line.strip_prefix("write_bytes: "))
        .unwrap();
    line.parse().unwrap()
}

/// Every file is in memory: also those of tempdb, of a backup, and of a sort that spills.
#[test]
fn nothing_is_written_and_nothing_is_left_by_a_server_in_memory() {
    let folder = Folder::new("in-memory");
    let mut serving = Serving::start(&mut in_memory(&folder.0));
    assert!(
        serving.said.last().unwrap().contains(", in memory"),
        "{:?}",
        serving.said
    );
    assert!(
        serving
            .sql("set nocount on select @@version")
            .contains("in memory: nothing is kept")
    );
    serving.sql("create database shop");
    serving.sql(
        "create table shop.dbo.t (id int identity primary key, filler char(1000) not null)
         insert shop.dbo.t select top 20000 'x' from sys.all_objects a cross join sys.all_objects b
         select * into #copy from shop.dbo.t order by newid()
         checkpoint
         backup database shop to disk = 'shop.bak'
         restore database other from disk = 'shop.bak' with move 'shop' to 'other.mdf', move 'shop_log' to 'other.ldf'",
    );
    let counted = serving.sql("set nocount on select count(*) from other.dbo.t");
    assert_eq!(counted.trim(), "20000");
    assert_eq!(written_bytes(serving.id()), 0);
    let log = serving.sql("set nocount on exec sp_readerrorlog");
    assert!(log.contains("nothing is kept when the server ends"), "{log}");
    assert!(log.contains("SQL Server is now ready for client connections."), "{log}");
    serving.signal("KILL");
    serving.wait();
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 0, "files are left");
    // The next server knows nothing of it.
    let serving = Serving::start(&mut in_memory(&folder.0));
    assert_eq!(
        serving
            .sql("set nocount on select count(*) from sys.databases where name = 'shop'")
            .trim(),
        "0"
    );
}

/// The backup of a database with two data files and a name that needs quoting; the second set of the file is the newer one.
fn back_up(folder: &Path) -> String {
    let (data, backup) = (folder.join("source"), folder.join("it's.bak"));
    let shown = backup.to_str().unwrap().replace('\'', "''");
    let script = format!(
        "create database [sh]]op] on (name = 'first file', filename = 'a.mdf'), (name = second, filename = 'b.ndf')
             log on (name = 'the log', filename = 'c.ldf')
         go
         create table [sh]]op].dbo.t (id int); insert [sh]]op].dbo.t values (1)
         backup database [sh]]op] to disk = '{shown}'
         insert [sh]]op].dbo.t values (2)
         backup database [sh]]op] to disk = '{shown}'
         backup log [sh]]op] to disk = '{shown}'"
    );
    let file = folder.join("script.sql");
    fs::write(&file, script).unwrap();
    let paths = [&data, folder, &file].map(|path| path.to_str().unwrap());
    let output = vlflab(&["sql", "--data", paths[0], "--allow-path", paths[1], "-i", paths[2]]);
    assert!(output.status.success(), "{}", said(&output));
    backup.to_str().unwrap().to_owned()
}

#[test]
fn a_database_is_restored_before_the_server_is_ready_and_once() {
    let folder = Folder::new("restore");
    let backup = back_up(&folder.0);
    let rows = "set nocount on select count(*) from [sh]]op].dbo.t";
    let serving = Serving::start(in_memory(&folder.0).args(["--restore", &backup]));
    assert_eq!(serving.sql(rows).trim(), "2", "the last full backup");
    drop(serving);
    // In a folder, what was changed since stays.
    let data = folder.0.join("data");
    let mut serving = Serving::start(serve(&data).args(["--restore", &backup]));
    serving.sql("insert [sh]]op].dbo.t values (3)");
    serving.signal("TERM");
    assert!(serving.wait().success());
    let serving = Serving::start(serve(&data).args(["--restore", &backup]));
    assert_eq!(serving.sql(rows).trim(), "3");
}

#[test]
fn what_cannot_be_restored_ends_the_start_and_leaves_no_folder() {
    let folder = Folder::new("restore-fails");
    let file = folder.0.join("none.bak");
    fs::write(&file, "this is no backup").unwrap();
    let data = folder.0.join("data");
    for name in [file.to_str().unwrap(), "/nonexistent/x.bak"] {
        let output = serve_new(&data).args(["--restore", name]).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        assert!(
            said(&output).contains(&format!("--restore {name}: error 3")),
            "{}",
            said(&output)
        );
        assert!(!data.exists(), "a folder of a start that failed");
    }
    let output = serve_new(&data).arg("--in-memory").output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("--in-memory"), "{}", said(&output));
}
