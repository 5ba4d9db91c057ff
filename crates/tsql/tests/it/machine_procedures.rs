//! Procedures that ask the machine: folders and files, drives, the values of the registry. Expected answers are those of the scripts that
//! ask (Ola Hallengren's maintenance solution, First Responder Kit) and of published outputs.

use crate::answers::{answers, rows, run};
use crate::transcript;

use transcript::Transcript;
use tsql::session::Session;

fn told(session: &mut Session, batch: &str) -> String {
    let mut transcript = Transcript::default();
    session.execute(batch, &mut transcript);
    transcript.text
}

/// Scripts that make backups ask where files go, make folders, and look at what is in them (Ola Hallengren's DatabaseBackup).
#[test]
fn folders_are_made_listed_and_looked_at() {
    let instance = transcript::instance();
    let mut one = transcript::session(&instance);
    let numbers = |session: &mut Session, batch: &str| -> Vec<i32> {
        answers(session, batch)
            .errors
            .iter()
            .map(|(number, ..)| *number)
            .collect()
    };
    let made = "declare @r int exec @r = master.dbo.xp_create_subdir N'c:\\backups\\shop\\full' select @r \
        exec @r = master.sys.xp_create_subdir N'C:\\Backups\\Shop\\Full' select @r";
    assert_eq!(rows(&mut one, made), "0|0");
    run(
        &mut one,
        &["backup database model to disk = 'c:\\backups\\shop\\m.bak'"],
    );
    assert_eq!(rows(&mut one, "exec master..xp_dirtree 'c:\\backups'"), "shop 1|full 2");
    assert_eq!(rows(&mut one, "exec xp_dirtree 'c:\\backups', 1, 1"), "shop 1 0");
    assert_eq!(
        rows(&mut one, "exec xp_dirtree 'c:\\backups', 0, 1"),
        "shop 1 0|full 2 0|m.bak 2 1"
    );
    let kept = "create table #d (subdirectory nvarchar(512), depth int, [file] bit) insert #d exec master.dbo.xp_dirtree N'c:\\backups\\shop', 1, 1 \
        select subdirectory from #d where [file] = 1";
    assert_eq!(rows(&mut one, kept), "m.bak");
    assert_eq!(rows(&mut one, "exec xp_dirtree 'c:\\nowhere'"), "");
    assert_eq!(
        rows(&mut one, "exec xp_dirtree '/etc'"),
        "",
        "nothing is there outside of the allowed folders"
    );
    assert_eq!(rows(&mut one, "exec xp_fileexist 'c:\\backups\\shop\\m.bak'"), "1 0 1");
    assert_eq!(rows(&mut one, "exec xp_fileexist 'c:\\backups\\shop'"), "0 1 1");
    assert_eq!(rows(&mut one, "exec xp_fileexist '/etc/passwd'"), "0 0 0");
    // The root of a drive and an allowed folder itself are folders, too.
    assert_eq!(rows(&mut one, "exec xp_fileexist 'C:\\'"), "0 1 1");
    assert_eq!(rows(&mut one, "exec xp_dirtree 'C:\\', 1"), "backups 1");
    let folder = instance.options.folder.display().to_string();
    assert_eq!(rows(&mut one, &format!("exec xp_fileexist '{folder}'")), "0 1 1");
    let output = "declare @e int exec master..xp_fileexist 'c:\\backups\\shop\\m.bak', @e output select @e";
    assert_eq!(rows(&mut one, output), "1");
    assert_eq!(
        numbers(&mut one, "exec xp_create_subdir 'c:\\backups\\shop\\m.bak'"),
        [22_048]
    );
    assert_eq!(numbers(&mut one, "exec xp_create_subdir '/etc/made'"), [22_048]);
    // Where the instance names its own files, a folder of such a name would keep it from starting.
    for own in [
        "log/ERRORLOG.7",
        "server.key.pem",
        "data/x.dwb",
        "data/spill/x",
        "elsewhere/x",
    ] {
        let made = format!("exec xp_create_subdir '{folder}/{own}'");
        assert_eq!(numbers(&mut one, &made), [22_048], "{own}");
    }
    assert_eq!(
        numbers(&mut one, &format!("exec xp_create_subdir '{folder}/data/shop/full'")),
        <[i32; 0]>::default()
    );
    assert_eq!(numbers(&mut one, "exec xp_dirtree"), [201]);
    assert!(rows(&mut one, "exec xp_fixeddrives").starts_with("C "));
}

/// Cleanup tasks delete what is older than a date: backups with an extension, in a folder and in those right inside of it; files that are
/// no backups, that are younger, or lie elsewhere stay ("Experiments with master.sys.xp_delete_file").
#[test]
fn old_backups_are_deleted_and_nothing_else() {
    let instance = transcript::instance();
    let mut one = transcript::session(&instance);
    run(
        &mut one,
        &[
            "exec xp_create_subdir 'c:\\old\\inner\\deep'",
            "backup database model to disk = 'c:\\old\\a.bak' with init",
            "backup database model to disk = 'c:\\old\\b.trn'",
            "backup database model to disk = 'c:\\old\\inner\\c.bak'",
            "backup database model to disk = 'c:\\old\\inner\\deep\\d.bak'",
            "create database kept on (name = k, filename = 'c:\\old\\kept.bak') log on (name = l, filename = 'c:\\old\\kept.ldf')",
        ],
    );
    let left = |session: &mut Session| rows(session, "exec xp_dirtree 'c:\\old', 0, 1");
    let before = left(&mut one);
    run(
        &mut one,
        &["declare @yesterday datetime = getdate() - 1 exec xp_delete_file 0, 'c:\\old', 'bak', @yesterday, 1"],
    );
    assert_eq!(left(&mut one), before, "all of them are younger");
    run(
        &mut one,
        &["declare @tomorrow datetime = getdate() + 1 exec master.dbo.xp_delete_file 0, N'c:\\old', N'bak', @tomorrow"],
    );
    assert_eq!(
        left(&mut one),
        "b.trn 1 1|inner 1 0|c.bak 2 1|deep 2 0|d.bak 3 1|kept.bak 1 1|kept.bak.dwb 1 1|kept.ldf 1 1|kept.ldf.vlfs 1 1"
    );
    run(
        &mut one,
        &["exec xp_delete_file 0, 'c:\\old', '.bak', '2999-01-01T00:00:00', 1"],
    );
    assert_eq!(
        left(&mut one),
        "b.trn 1 1|inner 1 0|deep 2 0|d.bak 3 1|kept.bak 1 1|kept.bak.dwb 1 1|kept.ldf 1 1|kept.ldf.vlfs 1 1"
    );
    // One file by its name.
    run(
        &mut one,
        &["exec xp_delete_file 0, 'c:\\old\\b.trn', 'trn', '2999-01-01'"],
    );
    assert!(!left(&mut one).contains("b.trn"));
    assert_eq!(
        rows(
            &mut one,
            "declare @r int exec @r = xp_delete_file 0, '/etc', 'conf', '2999-01-01' select @r"
        ),
        "1"
    );
    let number = |session: &mut Session, call: &str| answers(session, call).errors.first().map(|error| error.0);
    assert_eq!(
        number(&mut one, "exec xp_delete_file 1, 'c:\\old', 'txt', '2999-01-01'"),
        Some(40517)
    );
    assert_eq!(
        number(&mut one, "exec xp_delete_file 7, 'c:\\old', 'txt', '2999-01-01'"),
        Some(22_049)
    );
    run(&mut one, &["dbcc checkdb (kept) with no_infomsgs"]);
}

/// What scripts read of the registry: into a variable, and as rows.
#[test]
fn the_registry_tells_of_the_server() {
    let mut one = transcript::session(&transcript::instance());
    let key = "N'HKEY_LOCAL_MACHINE', N'Software\\Microsoft\\MSSQLServer\\MSSQLServer'";
    let read = format!(
        "declare @d nvarchar(4000), @m int exec master.dbo.xp_instance_regread {key}, N'BackupDirectory', @d output, 'no_output' \
         exec xp_regread {key}, N'LoginMode', @m output \
         select case when @d + '/' = serverproperty('InstanceDefaultDataPath') then 'there' end, @m"
    );
    assert_eq!(rows(&mut one, &read), "there 2");
    assert_eq!(
        rows(&mut one, &format!("exec xp_instance_regread {key}, N'LoginMode'")),
        "LoginMode 2"
    );
    let instances = "create table #i (number nvarchar(100), name nvarchar(100), data nvarchar(100)) \
        insert #i exec master.sys.xp_regread @rootkey = 'HKEY_LOCAL_MACHINE', @key = 'SOFTWARE\\Microsoft\\Microsoft SQL Server', \
          @value_name = 'InstalledInstances' select name from #i";
    assert_eq!(rows(&mut one, instances), "MSSQLSERVER");
    let missing = format!(
        "declare @v nvarchar(99) = N'former', @r int exec @r = xp_regread {key}, N'NoSuchValue', @v output, N'no_output' select isnull(@v, '-'), @r \
         set @v = N'former' exec @r = xp_regread N'HKEY_LOCAL_MACHINE', N'SOFTWARE\\NoSuchKey', N'x', @v output, N'no_output' select isnull(@v, '-'), @r"
    );
    assert_eq!(rows(&mut one, &missing), "- 1|- 1");
    // Without the name of a value, whether the key is there (BPCheck looks for PowerShell so).
    assert_eq!(rows(&mut one, &format!("exec xp_regread {key}")), "1");
    let missing = "exec master.sys.xp_regread N'HKEY_LOCAL_MACHINE', N'SOFTWARE\\Microsoft\\PowerShell\\1'";
    assert_eq!(rows(&mut one, missing), "0");
    let told = told(&mut one, &format!("exec xp_regread {key}, N'NoSuchValue'"));
    assert!(
        told.contains("22001") && told.contains("RegQueryValueEx() returned error 2"),
        "{told}"
    );
}
