//! msdb is a database that keeps the history of backups and restores.
#![allow(clippy::unwrap_used)]

use crate::story;

use disk::Disk;
use engine::instance::SETS_KEPT;
use std::path::Path;
use story::{Again, Story};

fn with_database() -> Story {
    let mut story = Story::begin();
    story.run("create database d");
    story.run("use d create table t (x int) insert t values (1)");
    story.run("use master alter database d set recovery full");
    story
}

/// Only `msdb.dbo.backupset` and its kin were found, by just these three parts; `msdb..backupset`, `use msdb` and OBJECT_ID were not.
#[test]
fn tables_of_msdb_are_found_by_every_name_of_a_table() {
    let mut story = with_database();
    story.run("backup database d to disk = 'd.bak'");
    assert_eq!(story.rows("select count(*) from msdb.dbo.backupset"), ["1"]);
    assert_eq!(story.rows("select count(*) from msdb..backupset"), ["1"]);
    assert_eq!(story.rows("select count(*) from msdb..sysjobs"), ["0"]);
    story.run("use msdb");
    assert_eq!(story.rows("select count(*) from dbo.backupset"), ["1"]);
    assert_eq!(story.rows("select count(*) from backupset"), ["1"]);
    assert_eq!(story.rows("select count(*) from suspect_pages"), ["0"]);
    assert_eq!(
        story.rows("select name, type from sys.objects where object_id = object_id('msdb.dbo.backupset')"),
        ["backupset U"]
    );
    story.run("use master");
    assert_eq!(
        story.rows("select case when object_id('msdb.dbo.backupset') > 0 then 1 end"),
        ["1"]
    );
    assert_eq!(
        story.errors("select count(*) from dbo.backupset"),
        [208],
        "master has none"
    );
    // Its tables are tables: who keeps notes in them finds them again.
    story.run("insert msdb.dbo.suspect_pages values (5, 1, 7, 2, 1, '20260101')");
    story.again(Again::StopStart, "d");
    assert_eq!(story.rows("select page_id from msdb.dbo.suspect_pages"), ["7"]);
}

/// The columns are those of sql-docs, "backupset". It has `last_recovery_fork_guid`; `recovery_fork_guid` is a column of
/// sys.database_recovery_status and none of this table.
#[test]
fn a_set_has_what_headeronly_says_of_it() {
    let mut story = with_database();
    story.run("backup database d to disk = 'd.bak' with name = 'first', description = 'why', checksum, copy_only");
    story.run("backup database d to disk = 'd.bak' with compression");
    story.run("use d insert t values (2) use master backup log d to disk = 'd.bak'");
    assert_eq!(
        story.rows(
            "select backup_set_id, media_set_id, position, type, name, description, is_copy_only, has_backup_checksums, is_damaged,
             begins_log_chain, database_name, recovery_model, is_snapshot, is_force_offline from msdb.dbo.backupset order by 1"
        ),
        [
            "1 1 1 D first why 1 1 0 1 d FULL 0 0",
            "2 1 2 D NULL NULL 0 0 0 1 d FULL 0 0",
            "3 1 3 L NULL NULL 0 0 0 0 d FULL 0 0",
        ]
    );
    assert_eq!(
        story.rows(
            "select count(*) from msdb.dbo.backupset s join msdb.dbo.backupmediafamily f on f.media_set_id = s.media_set_id
             where s.first_lsn <= s.last_lsn and s.backup_size > 0 and s.compressed_backup_size > 0 and s.differential_base_lsn is null
               and s.database_guid = s.family_guid and s.first_recovery_fork_guid = s.last_recovery_fork_guid
               and f.physical_device_name like '%/d.bak' and f.device_type = 2 and s.backup_start_date <= s.backup_finish_date"
        ),
        ["3"]
    );
    assert_eq!(
        story.rows(
            "select case when l.first_lsn = d.last_lsn then 'follows' end from msdb..backupset l, msdb..backupset d
            where l.backup_set_id = 3 and d.backup_set_id = 2"
        ),
        ["follows"]
    );
    assert_eq!(
        story.rows("select compression_algorithm from msdb..backupset order by backup_set_id"),
        ["NULL", "ZSTD", "NULL"]
    );
    // What HEADERONLY says, by the guid of the set.
    let headers = story.answer("restore headeronly from disk = 'd.bak'");
    for guid in story.rows("select lower(backup_set_uuid) from msdb..backupset") {
        assert!(headers.to_lowercase().contains(&guid), "{guid}: {headers}");
    }
    assert_eq!(
        story.rows("select file_number, file_type, logical_name, is_present from msdb.dbo.backupfile where backup_set_id = 3 order by 1"),
        ["1 D d 0", "2 L d_log 1"]
    );
    assert_eq!(
        story.rows("select media_set_id, media_family_count from msdb..backupmediaset"),
        ["1 1"]
    );
    assert_eq!(story.errors("select recovery_fork_guid from msdb..backupset"), [207]);
    story.is_sound("msdb");
}

/// History was what the boot record of each database says of its last two backups: the others were forgotten, and so were all
/// backups of a database that is dropped.
#[test]
fn history_is_kept_in_full_whatever_becomes_of_database_and_server() {
    for again in [Again::StopStart, Again::Kill] {
        let mut story = with_database();
        for _ in 0..4 {
            story.run("backup database d to disk = 'nul'");
            story.run("backup log d to disk = 'nul'");
        }
        let sets = "select backup_set_id, type from msdb..backupset order by 1";
        let expected = ["1 D", "2 L", "3 D", "4 L", "5 D", "6 L", "7 D", "8 L"];
        assert_eq!(story.rows(sets), expected);
        story.run("drop database d");
        story.again(again, "d");
        assert_eq!(story.rows(sets), expected, "{again:?}");
        assert_eq!(
            story.rows("select distinct physical_device_name from msdb..backupmediafamily"),
            ["NUL"]
        );
    }
}

#[test]
fn a_restore_is_noted_with_its_set_and_files() {
    let mut story = with_database();
    story.run("backup database d to disk = 'd.bak'");
    story.run("backup log d to disk = 'd.bak'");
    story.run("restore database e from disk = 'd.bak' with norecovery, move 'd' to 'e.mdf', move 'd_log' to 'e.ldf'");
    story.run("restore log e from disk = 'd.bak' with file = 2, replace");
    assert_eq!(
        story.rows(
            "select restore_history_id, destination_database_name, backup_set_id, restore_type, recovery, replace
             from msdb..restorehistory order by 1"
        ),
        ["1 e 1 D 0 0", "2 e 2 L 1 1"]
    );
    assert_eq!(
        story.rows("select count(*) from msdb..restorefile where destination_phys_name like '%e.mdf' or destination_phys_name like '%e.ldf'"),
        ["4"]
    );
    assert_eq!(
        story.rows("select restore_history_id, filegroup_name from msdb..restorefilegroup order by 1"),
        ["1 PRIMARY", "2 PRIMARY"]
    );
    assert_eq!(
        story.rows("select backup_set_id, name, type, type_desc, is_default from msdb..backupfilegroup order by 1"),
        ["1 PRIMARY FG ROWS_FILEGROUP 1", "2 PRIMARY FG ROWS_FILEGROUP 1"]
    );
    // A set that was made elsewhere, or whose history is gone, is noted when it is restored.
    story.run("exec msdb.dbo.sp_delete_database_backuphistory 'd'");
    assert_eq!(story.rows("select count(*) from msdb..restorehistory"), ["0"]);
    story.run("restore database f from disk = 'd.bak' with move 'd' to 'f.mdf', move 'd_log' to 'f.ldf'");
    assert_eq!(
        story.rows(
            "select s.database_name, h.destination_database_name from msdb..restorehistory h
            join msdb..backupset s on s.backup_set_id = h.backup_set_id"
        ),
        ["d f"]
    );
}

#[test]
fn history_is_deleted_by_date_and_by_database_with_all_that_belongs_to_it() {
    let mut story = with_database();
    story.run("create database e");
    story.run("backup database d to disk = 'both.bak'");
    story.run("backup database e to disk = 'both.bak'");
    story.run("backup database d to disk = 'd.bak'");
    story.run("exec msdb..sp_delete_database_backuphistory @database_name = 'D'");
    assert_eq!(
        story.rows("select backup_set_id, database_name from msdb..backupset"),
        ["2 e"]
    );
    // The medium of both stays for the one.
    assert_eq!(story.rows("select media_set_id from msdb..backupmediaset"), ["1"]);
    assert_eq!(story.rows("select media_set_id from msdb..backupmediafamily"), ["1"]);
    assert_eq!(story.rows("select distinct backup_set_id from msdb..backupfile"), ["2"]);
    story.run("begin tran exec msdb..sp_delete_backuphistory '20990101' rollback");
    assert_eq!(
        story.rows("select count(*) from msdb..backupset"),
        ["1"],
        "it is part of the transaction"
    );
    story.run("declare @before datetime = dateadd(year, -1, getdate()) exec msdb..sp_delete_backuphistory @before");
    assert_eq!(
        story.rows("select count(*) from msdb..backupset"),
        ["1"],
        "nothing is so old"
    );
    story.run("exec msdb..sp_delete_backuphistory '20990101'");
    for table in ["backupset", "backupfile", "backupmediaset", "backupmediafamily"] {
        assert_eq!(
            story.rows(&format!("select count(*) from msdb..{table}")),
            ["0"],
            "{table}"
        );
    }
    story.is_sound("msdb");
}

/// The newest sets are kept, and no more of them than there is room for.
#[test]
fn the_oldest_sets_go_when_there_are_too_many() {
    let mut story = with_database();
    for _ in 0..5 {
        story.run("backup database d to disk = 'nul'");
    }
    story.run(&format!(
        "dbcc checkident ('msdb.dbo.backupset', reseed, {})",
        SETS_KEPT + 2
    ));
    story.run("backup database d to disk = 'nul'");
    let first = format!("{}", SETS_KEPT + 3);
    assert_eq!(
        story.rows("select backup_set_id from msdb..backupset order by 1"),
        ["3", "4", "5", &first],
        "two went for the one that came"
    );
    assert_eq!(story.rows("select count(*) from msdb..backupmediaset"), ["4"]);
}

/// A backup is made whatever becomes of its history (3009): it neither waits for a session that has locked msdb nor
/// fails because its tables were dropped.
#[test]
fn a_backup_is_good_when_its_history_cannot_be_written() {
    let mut story = with_database();
    story.run("use msdb drop table backupfile");
    assert_eq!(story.errors("backup database d to disk = 'd.bak'"), [3009]);
    story.run("restore verifyonly from disk = 'd.bak'");
    assert_eq!(
        story.rows("select count(*) from msdb..backupset"),
        ["0"],
        "all or nothing"
    );
    assert!(
        Disk::len(&story.disk, Path::new("/instance/data/d.bak"))
            .unwrap()
            .is_some()
    );
    // The next start makes what is missing.
    story.again(Again::StopStart, "d");
    story.run("backup database d to disk = 'd.bak'");
    assert_eq!(story.rows("select count(*) from msdb..backupfile"), ["2"]);
}

#[test]
fn statements_that_differ_by_constants_share_a_query_hash() {
    let mut story = with_database();
    story.run("use d");
    for number in 1..=3 {
        story.rows(&format!("select x from t where x > {number} and x < {}", number + 10));
    }
    story.rows("select x from t where x between 1 and 2 order by x");
    let hashes = "select count(*), count(distinct s.query_hash), count(distinct s.query_plan_hash) from sys.dm_exec_query_stats s
        cross apply sys.dm_exec_sql_text(s.sql_handle) q where q.text like '%from%t%where%' and q.text not like '%dm_exec%'";
    let answer = story.rows(hashes);
    let numbers: Vec<i32> = answer[0].split(' ').map(|number| number.parse().unwrap()).collect();
    assert!(numbers[0] >= 2, "{answer:?}");
    assert_eq!(numbers[1..], [2, 2], "{answer:?}");
    assert_eq!(
        story.rows("select top 1 datalength(query_hash), datalength(query_plan_hash) from sys.dm_exec_query_stats"),
        ["8 8"]
    );
}

#[test]
fn a_transaction_counts_its_log_records() {
    let mut story = with_database();
    let count = "select database_transaction_log_record_count from sys.dm_tran_database_transactions where database_id = db_id('d')";
    story.run("use d begin tran insert t values (1)");
    let one: i64 = story.rows(count)[0].parse().unwrap();
    story.run("insert t values (2), (3), (4)");
    let four: i64 = story.rows(count)[0].parse().unwrap();
    assert_eq!(four - one, 3);
    assert!(one >= 2, "its begin and a row: {one}");
    story.run("rollback");
}

/// DIFFERENTIAL was 40517. The base is the last full backup, COPY_ONLY leaves it, and what a set says of itself msdb says too.
#[test]
fn a_differential_backup_is_told_by_its_base_everywhere() {
    let mut story = with_database();
    assert_eq!(
        story.errors("backup database d to disk = 'd.bak' with differential"),
        [3035, 3013]
    );
    assert_eq!(
        story.errors("backup database master to disk = 'm.bak' with differential"),
        [3024, 3013]
    );
    assert_eq!(story.errors("backup log d to disk = 'l.bak' with differential"), [3032]);
    assert_eq!(
        story.rows("select count(*) from sys.master_files where differential_base_lsn is not null"),
        ["0"]
    );
    story.run("backup database d to disk = 'd.bak'");
    story.run("use d insert t values (2) use master");
    story.run("backup database d to disk = 'd.bak' with differential, copy_only");
    story.run("backup database d to disk = 'c.bak' with copy_only");
    story.run("backup database d to disk = 'd.bak' with differential");
    assert_eq!(
        story.rows(
            "select s.position, s.type, s.is_copy_only from msdb.dbo.backupset s join msdb.dbo.backupset b
             on b.backup_set_uuid = s.differential_base_guid and b.checkpoint_lsn = s.differential_base_lsn and b.type = 'D' and b.position = 1"
        ),
        ["2 I 0", "3 I 0"]
    );
    assert_eq!(
        story.rows(
            "select f.file_id from sys.master_files f join msdb.dbo.backupset b on b.backup_set_uuid = f.differential_base_guid
             and b.checkpoint_lsn = f.differential_base_lsn and b.is_copy_only = 0 and f.differential_base_time >= b.backup_start_date"
        ),
        ["1"]
    );
    story.run("use d");
    assert_eq!(
        story.rows(
            "select count(case when modified_extent_page_count > 0 and modified_extent_page_count <= allocated_extent_page_count then 1 end)
             from sys.dm_db_file_space_usage"
        ),
        ["1"]
    );
    story.run("use master restore database d from disk = 'd.bak' with replace, norecovery");
    story.run("restore database d from disk = 'd.bak' with file = 3");
    assert_eq!(story.rows("select count(*) from d.dbo.t"), ["2"]);
    assert_eq!(
        story.rows("select restore_type from msdb.dbo.restorehistory order by restore_history_id"),
        ["D", "I"]
    );
}
