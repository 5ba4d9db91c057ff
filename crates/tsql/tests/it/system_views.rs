//! Every system view has rows of its columns' types, and the log's views agree with DBCC and with published figures.
#![allow(clippy::unwrap_used)]

use crate::support;

use engine::types::Value;
use support::Machine;
use vlf::ServerVersion;

const CREATE: &str = "create database vlf on (name = vlf, filename = 'c:\\vlf.mdf') \
                      log on (name = vlf_log, filename = 'c:\\vlf_log.ldf', size = 64 MB, maxsize = 5 GB, filegrowth = 1 MB)";

#[test]
fn every_view_has_rows_of_its_columns_types() {
    let machine = Machine::start(ServerVersion::V2022);
    machine.done(CREATE);
    for view in tsql::views::every() {
        let arguments = match view.name {
            // NULL is an error here: the first page of the first file of the database.
            "dm_db_page_info" => vec![Value::Int(5), Value::Int(1), Value::Int(0), Value::Null],
            "dm_db_database_page_allocations" => {
                vec![Value::Int(5), Value::Null, Value::Null, Value::Null, Value::Null]
            }
            _ => vec![Value::Null; view.parameters.len()],
        };
        let rows = machine
            .with_context(|context| view.rows.all(context, &arguments))
            .unwrap();
        for row in rows {
            assert_eq!(row.len(), view.columns.len(), "{}.{}", view.schema, view.name);
            for (value, (column, sql_type)) in row.iter().zip(view.columns) {
                assert!(
                    value.belongs_to(*sql_type),
                    "{}.{column}: {value:?} is no {sql_type:?}",
                    view.name
                );
            }
        }
    }
}

#[test]
fn names_of_views_are_unique_and_found() {
    let mut seen = std::collections::HashSet::new();
    for view in tsql::views::every() {
        assert!(
            seen.insert((view.schema, view.name)),
            "{}.{} twice",
            view.schema,
            view.name
        );
        for (place, (column, _)) in view.columns.iter().enumerate() {
            let twice = view.columns[..place]
                .iter()
                .any(|(other, _)| other.eq_ignore_ascii_case(column));
            assert!(!twice, "{}.{column} twice", view.name);
        }
    }
}

/// Which names mean a view, and which are a user's.
#[test]
fn views_are_found_by_sql_servers_rules() {
    for (name, found) in [
        ("sys.databases", true),
        ("SYS.Databases", true),
        ("master.sys.databases", true),
        ("master..sysdatabases", true),
        ("master.dbo.sysdatabases", true),
        ("sysfiles", true),
        ("dbo.sysobjects", true),
        ("databases", false),
        ("dbo.tables", false),
        ("sys.nothing", false),
    ] {
        let parts = name.split('.').map(tsql::ast::Identifier::new).collect();
        assert_eq!(tsql::views::find(&tsql::ast::Name { parts }).is_some(), found, "{name}");
    }
}

#[test]
fn a_database_is_shown_with_its_state() {
    let machine = Machine::start(ServerVersion::V2022);
    machine.done(CREATE);
    let databases = machine.view("sys.databases", &[]);
    assert_eq!(databases.column("name"), ["master", "tempdb", "model", "msdb", "vlf"]);
    assert_eq!(databases.column("recovery_model_desc")[4], "FULL");
    assert_eq!(databases.column("log_reuse_wait_desc")[4], "NOTHING");
    assert_eq!(databases.column("compatibility_level")[4], "160");
    machine.done("alter database vlf set recovery simple");
    machine.done("alter database vlf set single_user with rollback immediate");
    let databases = machine.view("sys.databases", &[]);
    assert_eq!(databases.column("recovery_model_desc")[4], "SIMPLE");
    assert_eq!(databases.column("user_access_desc")[4], "SINGLE_USER");
}

/// 64 MB make 4 VLFs, 16711680 x3 + 16965632 (published outputs; the rule is in the crate `vlf`).
#[test]
fn the_logs_views_agree_with_dbcc_loginfo() {
    let machine = Machine::start(ServerVersion::V2022);
    machine.done(CREATE);
    let loginfo = machine.done("dbcc loginfo ('vlf') with no_infomsgs");
    assert!(loginfo.messages.is_empty());
    assert_eq!(
        loginfo.column("FileSize"),
        ["16711680", "16711680", "16711680", "16965632"]
    );
    assert_eq!(loginfo.column("Status"), ["2", "0", "0", "0"]);
    assert_eq!(loginfo.column("Parity"), ["64", "0", "0", "0"]);
    let information = machine.view("sys.dm_db_log_info", &[Value::Int(5)]);
    assert_eq!(information.column("vlf_begin_offset"), loginfo.column("StartOffset"));
    assert_eq!(information.column("vlf_sequence_number"), loginfo.column("FSeqNo"));
    assert_eq!(information.column("vlf_status"), ["2", "1", "1", "1"]);
    assert_eq!(information.column("vlf_size_mb"), ["15.93", "15.93", "15.93", "16.17"]);
    let statistics = machine.view("sys.dm_db_log_stats", &[Value::Int(5)]);
    assert_eq!(statistics.column("total_vlf_count"), ["4"]);
    assert_eq!(statistics.column("active_vlf_count"), ["1"]);
    assert_eq!(
        statistics.column("current_vlf_sequence_number")[0],
        loginfo.column("FSeqNo")[0]
    );
    let bytes: u64 = loginfo
        .column("FileSize")
        .iter()
        .map(|bytes| bytes.parse::<u64>().unwrap())
        .sum();
    let mut machine = machine;
    machine.database = "vlf".into();
    let usage = machine.view("sys.dm_db_log_space_usage", &[]);
    assert_eq!(usage.column("total_log_size_in_bytes"), [bytes.to_string()]);
}

#[test]
fn dbcc_loginfo_has_seven_columns_before_2012() {
    for (version, columns) in [
        (ServerVersion::V2008R2, 7),
        (ServerVersion::V2012, 8),
        (ServerVersion::V2022, 8),
    ] {
        let machine = Machine::start(version);
        for form in [
            "dbcc loginfo",
            "dbcc loginfo ()",
            "dbcc loginfo (N'master')",
            "dbcc loginfo ([master])",
            "dbcc loginfo (1)",
        ] {
            let answers = machine.done(form);
            assert_eq!(answers.columns.len(), columns, "{version:?} {form}");
            assert_eq!(answers.numbers(), [2528]);
            assert_eq!(answers.columns[columns - 1].name, "CreateLSN");
        }
    }
}

#[test]
fn files_are_shown_in_pages() {
    let mut machine = Machine::start(ServerVersion::V2022);
    machine.done(CREATE);
    machine.database = "vlf".into();
    let files = machine.view("sys.database_files", &[]);
    assert_eq!(files.column("name"), ["vlf", "vlf_log"]);
    assert_eq!(files.column("type_desc"), ["ROWS", "LOG"]);
    assert_eq!(files.column("data_space_id"), ["1", "0"]);
    assert_eq!(files.column("size"), ["1024", "8192"]);
    assert_eq!(files.column("max_size"), ["-1", "655360"]);
    assert_eq!(files.column("growth"), ["8192", "128"]);
    assert_eq!(files.column("physical_name")[1], "c:\\vlf_log.ldf");
    let old = machine.view("sysfiles", &[]);
    assert_eq!(old.column("status"), ["2", "66"]);
}

/// `page_resource` of a request, taken apart (John Morehouse's example), and the logins.
#[test]
fn what_administrators_scripts_read_is_there() {
    let machine = Machine::start(ServerVersion::V2022);
    let resource = Value::binary(&[0x50, 0x01, 0, 0, 0x01, 0, 0x06, 0][..]);
    let page = machine.view("sys.fn_PageResCracker", &[resource]);
    assert_eq!(
        [page.column("db_id"), page.column("file_id"), page.column("page_id")],
        [["6"], ["1"], ["336"]]
    );
    let none = machine.view("sys.fn_PageResCracker", &[Value::Null]);
    assert_eq!(none.column("db_id"), Vec::<String>::new());
    let logins = machine.view("sys.sql_logins", &[]);
    assert_eq!(logins.column("name"), ["sa"]);
    assert_eq!(logins.column("type_desc"), ["SQL_LOGIN"]);
    let windows = machine.view("sys.dm_os_windows_info", &[]);
    assert_eq!(windows.column("windows_release").len(), usize::from(cfg!(windows)));
}
