//! Statements about databases and the server: effects and errors.
#![allow(clippy::unwrap_used)]

use crate::support;

use engine::error::{Error, Result};
use engine::session::Table;
use engine::store::ReadMode;
use engine::types::Value;
use support::{Answers, Machine, by_system};
use tsql::ast::Expression;
use tsql::session::{ClientRows, ResultColumn};
use tsql::system::Host;
use vlf::ServerVersion;

#[test]
fn databases_are_created_and_dropped() {
    let machine = Machine::start(ServerVersion::V2022);
    machine.done("create database one");
    assert_eq!(machine.failed("create database ONE"), [1801]);
    assert_eq!(
        machine.failed("create database two log on (name = l, filename = 'c:\\l.ldf', size = 100 KB)"),
        [5174, 1802]
    );
    assert_eq!(
        machine.failed("create database two on (name = d, filename = 'c:\\..\\d.mdf')"),
        [5105, 1802]
    );
    machine.done("drop database one");
    assert_eq!(machine.failed("drop database one"), [3701]);
    machine.done("drop database if exists one");
    assert_eq!(machine.failed("drop database master"), [3702]);
    assert_eq!(machine.failed("drop database model"), [3708]);
    assert!(machine.instance.database("two").is_err());
    machine.done("create database one");
}

#[test]
fn statements_about_databases_stay_out_of_transactions() {
    let machine = Machine::start(ServerVersion::V2022);
    for (batch, number) in [
        ("create database one", 226),
        ("drop database one", 226),
        ("alter database master set recovery simple", 226),
        ("reconfigure", 574),
        ("kill 60", 6115),
    ] {
        let answers = Answers {
            transactions: 1,
            ..Answers::default()
        };
        let (_, outcome) = machine.run_with(batch, answers);
        assert_eq!(outcome.unwrap_err().number, number, "{batch}");
    }
}

/// BACKUP and RESTORE answered 226, as the statements that make databases; they have a number of their own, and say that they end.
#[test]
fn backups_stay_out_of_transactions_and_media_may_be_read_in_them() {
    let machine = Machine::start(ServerVersion::V2022);
    machine.done("create database one");
    machine.done("backup database one to disk = 'one.bak'");
    for batch in [
        "backup database one to disk = 'nul'",
        "backup log one to disk = 'nul'",
        "restore database one from disk = 'one.bak' with replace",
        "restore log one from disk = 'one.bak'",
        "restore database one with recovery",
    ] {
        let answers = Answers {
            transactions: 1,
            ..Answers::default()
        };
        let (told, outcome) = machine.run_with(batch, answers);
        let command = batch.split(' ').take(2).collect::<Vec<_>>().join(" ").to_uppercase();
        let text = outcome.unwrap_err().message;
        assert_eq!(text, format!("{command} is terminating abnormally."), "{batch}");
        let within = "Cannot perform a backup or restore operation within a transaction.";
        assert_eq!(
            told.messages
                .iter()
                .map(|error| (error.number, error.message.as_str()))
                .collect::<Vec<_>>(),
            [(3021, within)]
        );
    }
    for batch in ["headeronly", "filelistonly", "labelonly", "verifyonly"] {
        let answers = Answers {
            transactions: 1,
            ..Answers::default()
        };
        let batch = format!("restore {batch} from disk = 'one.bak'");
        assert!(machine.run_with(&batch, answers).1.is_ok(), "{batch}");
    }
}

#[test]
fn files_change_as_alter_database_says() {
    let mut machine = Machine::start(ServerVersion::V2022);
    machine.done("create database vlf");
    machine.done("alter database vlf modify file (name = vlf_log, size = 128 MB, filegrowth = 512 MB)");
    assert_eq!(
        machine.failed("alter database vlf modify file (name = vlf_log, size = 64 MB)"),
        [5039]
    );
    assert_eq!(
        machine.failed("alter database vlf modify file (name = nothing, size = 64 MB)"),
        [5041]
    );
    assert_eq!(
        machine.failed("alter database vlf modify file (name = vlf_log, maxsize = 1 MB)"),
        [5040]
    );
    machine.done("alter database vlf add log file (name = second, filename = 'l:\\second.ldf', size = 8 MB)");
    assert_eq!(
        machine.failed("alter database vlf add log file (name = second, filename = 'l:\\x.ldf')"),
        [1828]
    );
    machine.database = "vlf".into();
    let files = machine.view("sys.database_files", &[]);
    assert_eq!(files.column("name"), ["vlf", "vlf_log", "second"]);
    assert_eq!(files.column("size"), ["1024", "16384", "1024"]);
    assert_eq!(files.column("growth"), ["8192", "65536", "10"]);
    assert_eq!(machine.done("alter database vlf remove file second").numbers(), [5044]);
    machine.done("alter database vlf add file (name = more, filename = 'c:\\more.ndf', size = 8 MB)");
    assert_eq!(
        machine.view("sys.database_files", &[]).column("name"),
        ["vlf", "vlf_log", "more"]
    );
    assert_eq!(machine.done("alter database vlf remove file more").numbers(), [5044]);
    assert_eq!(machine.failed("alter database vlf remove file vlf"), [5020]);
    let path = machine.instance.resolve("c:\\more.ndf").unwrap();
    assert_eq!(
        machine.instance.env.disk.len(&path).unwrap(),
        None,
        "the file is deleted"
    );
    let renamed = machine.done("alter database vlf modify file (name = vlf_log, newname = other_log)");
    assert_eq!(renamed.messages[0].message, "The file name 'other_log' has been set.");
    machine.done("alter database vlf modify file (name = other_log, newname = vlf_log)");
    assert_eq!(machine.failed("alter database vlf remove file vlf_log"), [5020]);
    assert_eq!(machine.view("sys.database_files", &[]).rows.len(), 2);
    assert_eq!(
        machine.failed("alter database nothing set recovery simple"),
        [5011, 5069]
    );
}

#[test]
fn options_are_obeyed_or_refused() {
    let machine = Machine::start(ServerVersion::V2022);
    machine.done("create database vlf");
    machine.done("alter database vlf set compatibility_level = 110");
    assert_eq!(
        machine.view("sys.databases", &[]).column("compatibility_level")[4],
        "110"
    );
    assert_eq!(
        machine.failed("alter database vlf set compatibility_level = 95"),
        [15048]
    );
    machine.done("alter database vlf set read_committed_snapshot on");
    machine.done("alter database vlf set allow_snapshot_isolation on");
    for option in [
        "allow_snapshot_isolation off",
        "read_committed_snapshot off",
        "encryption off",
        "hadr off",
    ] {
        machine.done(&format!("alter database vlf set {option}"));
    }
    machine.done("alter database vlf set auto_update_statistics off");
    machine.done("alter database vlf set offline with rollback immediate");
    assert_eq!(machine.view("sys.databases", &[]).column("state_desc")[4], "OFFLINE");
    assert_eq!(machine.instance.database("vlf").err().unwrap().number, 942);
    machine.done("alter database vlf set online");
    machine.done("alter database vlf modify name = other");
    assert!(machine.instance.database("other").is_ok());
}

#[test]
fn the_server_is_told_to_end() {
    let machine = Machine::start(ServerVersion::V2022);
    for batch in ["shutdown", "shutdown with nowait"] {
        let (answers, outcome) = machine.run(batch);
        assert_eq!(outcome, Ok(()));
        assert_eq!(answers.numbers(), [6006]);
    }
}

#[test]
fn the_error_log_is_read_and_filtered() {
    let machine = Machine::start(ServerVersion::V2022);
    machine.done("create database vlf");
    let all = machine.call("sp_readerrorlog", &[]);
    assert!(all.rows.len() >= 2);
    let some = machine.call(
        "sp_readerrorlog",
        &[Value::Int(0), Value::Int(1), "starting UP".into(), "model".into()],
    );
    assert_eq!(some.rows.len(), 0, "a new model was created, not started");
    let disk = machine.disk.clone();
    machine.instance.shutdown(false).unwrap();
    drop(machine);
    let machine = Machine::start_on(&disk, ServerVersion::V2022);
    let some = machine.call(
        "xp_readerrorlog",
        &[Value::Int(0), Value::Int(1), "starting UP".into(), "'vlf'".into()],
    );
    assert_eq!(some.column("Text"), ["Starting up database 'vlf'."]);
    let former = machine.call("sp_readerrorlog", &[Value::Int(1)]);
    assert_eq!(
        former.rows.last().map(|row| support::shown(&row[2])).unwrap(),
        "SQL Server is terminating because of a system shutdown."
    );
    assert_eq!(
        machine
            .try_call("sp_readerrorlog", &[Value::Int(9)])
            .err()
            .unwrap()
            .number,
        22004
    );
}

#[test]
fn sessions_are_killed() {
    let machine = Machine::start(ServerVersion::V2022);
    let other = machine.instance.open_session().unwrap();
    assert_eq!(machine.failed(&format!("kill {} with statusonly", other.id)), [6120]);
    assert!(other.check_cancelled().is_ok());
    machine.done(&format!("kill {}", other.id));
    assert_eq!(other.check_cancelled().unwrap_err().number, 3617);
    assert_eq!(machine.failed("kill 51"), [6104]);
    assert_eq!(machine.failed("kill 999"), [6106]);
    assert_eq!(machine.failed("kill 999 with statusonly"), [6106]);
    assert_eq!(machine.failed("kill 1"), [6107]);
}

#[test]
fn a_check_finds_a_sound_database_sound() {
    let machine = Machine::start(ServerVersion::V2022);
    machine.done("create database vlf");
    let answers = machine.done("dbcc checkdb ('vlf')");
    assert_eq!(answers.messages.last().unwrap().number, 2528);
    let verdict = &answers.messages[answers.messages.len() - 2];
    assert_eq!(
        (verdict.number, verdict.message.as_str()),
        (
            8989,
            "CHECKDB found 0 allocation errors and 0 consistency errors in database 'vlf'."
        )
    );
    assert!(machine.done("dbcc checkdb (vlf) with no_infomsgs").messages.is_empty());
    assert_eq!(machine.failed("dbcc checkdb ('nothing')"), [2520]);
    assert_eq!(machine.failed("dbcc checktable ('nothing')"), [2501]);
}

#[test]
fn logs_shrink_by_free_vlfs_at_their_end() {
    let mut machine = Machine::start(ServerVersion::V2022);
    machine.done("create database vlf");
    machine.done("alter database vlf modify file (name = vlf_log, size = 100 MB)");
    machine.database = "vlf".into();
    let answers = machine.done("dbcc shrinkfile (vlf_log, 16)");
    assert_eq!(answers.column("FileId"), ["2"]);
    let pages: u32 = answers.column("CurrentSize")[0].parse().unwrap();
    assert!(pages < 12_800, "{pages}");
    assert_eq!(machine.failed("dbcc shrinkfile (nothing, 1)"), [8985]);
}

#[test]
fn dbcc_commands_answer_as_they_do() {
    let machine = Machine::start(ServerVersion::V2022);
    assert_eq!(machine.failed("dbcc nothing"), [2526]);
    assert_eq!(machine.done("dbcc opentran").numbers(), [7969, 2528]);
    machine.done("dbcc traceon (3004, 3605, -1)");
    assert_eq!(
        machine.done("dbcc tracestatus (3004, 1222)").column("Status"),
        ["0", "1"]
    );
    machine.done("dbcc traceoff (3004, 3605, -1)");
    assert_eq!(
        machine.done("dbcc sqlperf (logspace)").column("Database Name"),
        ["master", "tempdb", "model", "msdb"]
    );
    machine.done("dbcc sqlperf ('sys.dm_os_wait_stats', clear)");
    machine.done("dbcc dropcleanbuffers");
    assert_eq!(machine.failed("dbcc sqlperf ('nonsense')"), [2560]);
}

#[test]
fn a_database_goes_into_a_file_and_comes_back() {
    let machine = Machine::start(ServerVersion::V2022);
    machine.done("create database vlf");
    let answers =
        machine.done("backup database vlf to disk = 'c:\\b.bak' with format, name = N'one', checksum, stats = 50");
    assert_eq!(answers.messages.last().unwrap().number, 3014);
    assert!(answers.numbers().contains(&3211));
    machine.done("backup log vlf to disk = N'c:\\b.bak' with noformat, noinit, skip, norewind, nounload");
    let headers = machine.done("restore headeronly from disk = 'c:\\b.bak'");
    assert_eq!(headers.column("BackupTypeDescription"), ["Database", "Transaction Log"]);
    assert_eq!(headers.column("BackupName"), ["one", "NULL"]);
    assert_eq!(headers.column("Position"), ["1", "2"]);
    let files = machine.done("restore filelistonly from disk = 'c:\\b.bak' with file = 1");
    assert_eq!(files.column("LogicalName"), ["vlf", "vlf_log"]);
    assert_eq!(files.column("Type"), ["D", "L"]);
    machine.done("restore labelonly from disk = 'c:\\b.bak'");
    assert!(
        machine
            .done("restore verifyonly from disk = 'c:\\b.bak'")
            .numbers()
            .contains(&3262)
    );
    let restore = "restore database copy from disk = 'c:\\b.bak' with file = 1, norecovery, \
                   move 'vlf' to 'c:\\copy.mdf', move 'vlf_log' to 'c:\\copy.ldf'";
    machine.done(restore);
    assert_eq!(machine.view("sys.databases", &[]).column("state_desc")[5], "RESTORING");
    machine.done("restore log copy from disk = 'c:\\b.bak' with file = 2, recovery");
    assert_eq!(machine.view("sys.databases", &[]).column("state_desc")[5], "ONLINE");
    assert_eq!(history(&machine), ["D", "L"]);
}

#[test]
fn a_backup_to_nul_is_told_and_remembered_like_any_other() {
    let machine = Machine::start(ServerVersion::V2022);
    machine.done("create database vlf");
    for (batch, position) in [
        ("backup database vlf to disk = 'NUL' with init, stats = 50", 0),
        ("backup log vlf to disk = N'nul:' with compression", 1),
    ] {
        let answers = machine.done(batch);
        assert_eq!(answers.messages.last().unwrap().number, 3014, "{batch}");
        assert_eq!(history(&machine)[position], ["D", "L"][position], "{batch}");
    }
}

#[test]
fn backups_fail_with_sql_servers_numbers() {
    let machine = Machine::start(ServerVersion::V2022);
    machine.done("create database vlf");
    for (batch, numbers) in [
        ("backup log vlf to disk = 'c:\\b.bak'", &[4214, 3013][..]),
        ("backup database nothing to disk = 'c:\\b.bak'", &[911, 3013]),
        ("backup database vlf to disk = 'c:\\b.bak' with nonsense", &[155]),
        (
            "backup database vlf to disk = 'c:\\b.bak' with differential",
            &[3035, 3013],
        ),
        (
            "backup database vlf to disk = 'c:\\b.bak' mirror to disk = 'c:\\c.bak'",
            &[40517],
        ),
        ("backup database vlf to device", &[3206]),
        ("restore database vlf from disk = 'c:\\nothing.bak'", &[3201, 3013]),
        ("restore headeronly from disk = 'c:\\nothing.bak'", &[3201, 3013]),
        ("restore database vlf from disk = 'NUL'", &[3254, 3013]),
        (
            "restore database vlf from disk = 'c:\\b.bak' with stopatmark = 'here'",
            &[4334, 3013],
        ),
    ] {
        assert_eq!(machine.failed(batch), numbers, "{batch}");
    }
}

#[test]
fn settings_are_configured_then_installed() {
    let machine = Machine::start(ServerVersion::V2022);
    let parallelism = [Value::from("max degree"), Value::Int(2)];
    assert_eq!(
        machine.try_call("sp_configure", &parallelism).err().unwrap().number,
        15123,
        "it is an advanced one"
    );
    machine.call("sp_configure", &["show advanced options".into(), Value::Int(1)]);
    machine.done("reconfigure with override");
    assert_eq!(machine.call("sp_configure", &parallelism).numbers(), [15457]);
    let shown = machine.call("sp_configure", &[parallelism[0].clone()]);
    assert_eq!(
        (shown.column("config_value"), shown.column("run_value")),
        (vec!["2".into()], vec!["0".into()])
    );
    machine.done("reconfigure");
    assert_eq!(
        machine
            .call("sp_configure", &[parallelism[0].clone()])
            .column("run_value"),
        ["2"]
    );
    let rows = machine.view("sys.configurations", &[]);
    let place = rows
        .column("name")
        .iter()
        .position(|name| name == "max degree of parallelism")
        .unwrap();
    assert_eq!(rows.column("value_in_use")[place], "2");
}

#[test]
fn procedures_about_databases_answer() {
    let mut machine = Machine::start(ServerVersion::V2022);
    machine.done("create database vlf");
    assert_eq!(
        machine.call("sp_helpdb", &["vlf".into()]).column("usage"),
        ["data only", "log only"]
    );
    assert_eq!(
        machine.try_call("sp_helpdb", &["nothing".into()]).err().unwrap().number,
        15010
    );
    assert_eq!(machine.call("sp_databases", &[]).rows.len(), 5);
    machine.call("sp_renamedb", &["vlf".into(), "other".into()]);
    machine.database = "other".into();
    assert_eq!(machine.call("sp_helpfile", &[]).column("name"), ["vlf", "vlf_log"]);
    assert_eq!(machine.call("sp_spaceused", &[]).column("reserved"), ["0 KB"]);
    assert_eq!(
        machine
            .try_call("sp_spaceused", &["nothing".into()])
            .err()
            .unwrap()
            .number,
        15009
    );
    let option = machine.call("sp_dboption", &["other".into(), "single user".into(), "true".into()]);
    assert_eq!(option.batches, ["ALTER DATABASE [other] SET SINGLE_USER"]);
    assert_eq!(machine.call("sp_msforeachdb", &["use [?]".into()]).batches.len(), 5);
    assert_eq!(machine.call("sp_who", &[]).column("spid"), ["51"]);
    assert_eq!(machine.call("sp_who2", &[]).rows.len(), 1);
}

/// What drivers read at connect: codes of ODBC 3 for varchar, nvarchar, binary types and datetime2.
#[test]
fn drivers_find_the_types_they_ask_for() {
    let machine = Machine::start(ServerVersion::V2022);
    for (code, name) in [
        (12, "varchar"),
        (-9, "nvarchar"),
        (-3, "varbinary"),
        (93, "datetime2"),
        (2, "numeric"),
        (4, "int"),
    ] {
        let types = machine.call("sp_datatype_info_100", &[Value::Int(code), Value::TinyInt(3)]);
        assert_eq!(types.column("TYPE_NAME")[0], name, "{code}");
        assert!(types.column("DATA_TYPE").iter().all(|found| *found == code.to_string()));
    }
    assert_eq!(machine.call("sp_datatype_info", &[]).rows.len(), 29);
    assert_eq!(
        machine
            .call("sp_server_info", &[Value::Int(1)])
            .column("attribute_value"),
        ["Microsoft SQL Server"]
    );
}

/// Hears what a statement says, and looks at its request at that moment.
struct Watcher<'m> {
    machine: &'m Machine,
    answers: Answers,
    seen: Vec<(String, i32, f32)>,
}

impl Host for Watcher<'_> {
    fn is_given(&self, parameter: usize) -> bool {
        self.answers.is_given(parameter)
    }

    fn output(&mut self, _parameter: usize, _value: Value) {}

    fn rules_off(&self) -> tsql::state::RulesOff {
        tsql::state::RulesOff::default()
    }

    fn switch_rules(&mut self, _: &[tsql::state::Rule], _: bool) {}

    fn raise(&mut self, error: Error) -> Result<()> {
        self.answers.raise(error)
    }

    fn set_session_context(&mut self, _: &str, _: Value, _: bool) -> Result<()> {
        Ok(())
    }

    fn prepare_xml_document(&mut self, _: &str, _: &str) -> Result<i32> {
        Ok(1)
    }

    fn remove_xml_document(&mut self, _: i32) -> Result<()> {
        Ok(())
    }

    fn evaluate(&mut self, expression: &Expression) -> Result<Value> {
        self.answers.evaluate(expression)
    }

    fn result_set(&mut self, columns: &[ResultColumn], rows: &[Vec<Value>]) -> Result<()> {
        self.answers.result_set(columns, rows)
    }

    fn stream(&mut self, columns: &[ResultColumn], rows: &mut dyn tsql::views::RowStream) -> Result<()> {
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            all.push(row);
        }
        self.result_set(columns, &all)
    }

    fn message(&mut self, message: &Error) -> Result<()> {
        let requests = self.machine.view("sys.dm_exec_requests", &[]);
        let percent: f32 = requests.column("percent_complete")[0].parse().unwrap();
        let command = requests.column("command")[0].clone();
        self.seen.push((command, message.number, percent));
        self.answers.message(message)
    }

    fn load(&mut self, announcement: &str, _: &mut dyn ClientRows) -> Result<()> {
        panic!("{announcement}: this host loads nothing")
    }

    fn clean_history(&mut self, batch: &str) -> Result<i64> {
        self.answers.clean_history(batch)
    }

    fn execute(&mut self, batch: &str) -> Result<()> {
        self.answers.execute(batch)
    }

    fn user_options(&self) -> Vec<(String, String)> {
        self.answers.user_options()
    }

    fn transaction_count(&self) -> u32 {
        0
    }

    fn value_of(&mut self, text: &str) -> Result<Value> {
        self.answers.value_of(text)
    }

    fn refresh_module(&mut self, _name: &str) -> Result<()> {
        Ok(())
    }

    fn change_database(&mut self, name: &str) -> Result<()> {
        self.answers.change_database(name)
    }
}

/// Command and percentage of the request at each "n percent processed" of a statement.
fn watched(machine: &Machine, batch: &str) -> Vec<(String, f32)> {
    let mut watcher = Watcher {
        machine,
        answers: Answers::default(),
        seen: Vec::new(),
    };
    machine.instance.env.activity.begin_request(machine.session.borrow().id);
    let statements = tsql::parser::parse_batch(batch).unwrap();
    machine.with_context(|context| {
        by_system(context, &mut watcher, &statements[0].kind).unwrap();
    });
    machine.instance.env.activity.end_request();
    let percents = watcher.seen.into_iter().filter(|(_, number, _)| *number == 3211);
    percents.map(|(command, _, percent)| (command, percent)).collect()
}

#[test]
fn a_request_shows_how_far_its_backup_or_restore_is() {
    let machine = Machine::start(ServerVersion::V2022);
    machine.done("create database vlf");
    let restore = "restore database copy from disk = 'c:\\b.bak' with stats = 1, \
                   move 'vlf' to 'c:\\copy.mdf', move 'vlf_log' to 'c:\\copy.ldf'";
    for (batch, command) in [
        (
            "backup database vlf to disk = 'c:\\b.bak' with stats = 1",
            "BACKUP DATABASE",
        ),
        (restore, "RESTORE DATABASE"),
    ] {
        let seen = watched(&machine, batch);
        assert!(seen.len() > 1, "{batch}: {seen:?}");
        assert!(
            seen.iter().all(|(shown, percent)| shown == command && *percent > 0.0),
            "{seen:?}"
        );
        assert!(seen.is_sorted_by(|a, b| a.1 <= b.1), "{seen:?}");
        assert_eq!(seen.last().unwrap().1, 100.0);
        assert!(machine.instance.env.activity.works().is_empty(), "it is over");
    }
    let silent = machine.done("backup database vlf to disk = 'c:\\b.bak'");
    assert!(!silent.numbers().contains(&3211), "nobody asked for STATS");
}

#[test]
fn trace_flags_let_the_error_log_tell_of_zeroing_and_backups() {
    let machine = Machine::start(ServerVersion::V2022);
    machine.done("create database vlf");
    let told = |begin: &str| {
        let lines = machine.instance.env.errorlog.lines().into_iter();
        lines.filter(|line| line.text.starts_with(begin)).count()
    };
    let grow = |megabytes: u32| {
        machine.done(&format!(
            "alter database vlf modify file (name = vlf_log, size = {megabytes} MB)"
        ))
    };
    grow(10);
    assert_eq!(told("Zeroing"), 0, "no flag is on");
    machine.done("dbcc traceon (3004, 3605)");
    assert_eq!(
        machine.done("dbcc tracestatus (-1)").rows.len(),
        0,
        "they are the session's"
    );
    assert_eq!(machine.done("dbcc tracestatus ()").column("Session"), ["1", "1"]);
    grow(11);
    assert_eq!(told("Zeroing"), 0, "this thread serves no session's request");
    machine.done("dbcc traceon (3004, 3605, -1)");
    assert_eq!(machine.done("dbcc tracestatus (3605)").column("Global"), ["1"]);
    grow(12);
    assert_eq!(told("Zeroing completed on "), 1);
    let lines = machine.instance.env.errorlog.lines();
    let zeroing = lines.iter().find(|line| line.text.starts_with("Zeroing ")).unwrap();
    let range = "from page 1408 to 1536 (0xb00000 to 0xc00000)";
    assert!(zeroing.text.ends_with(range), "{}", zeroing.text);
    machine.done("backup database vlf to disk = 'c:\\b.bak'");
    assert_eq!(
        (told("BackupDatabase: Database vlf"), told("BackupDatabase: Finished")),
        (1, 1)
    );
    machine.done("dbcc traceoff (3004, 3605, -1)");
    grow(13);
    assert_eq!(told("Zeroing completed on "), 1);
}

#[test]
fn a_standby_database_is_read_only_and_says_so() {
    let mut machine = Machine::start(ServerVersion::V2022);
    machine.done("create database vlf");
    machine.done("backup database vlf to disk = 'c:\\b.bak'");
    machine.done("backup log vlf to disk = 'c:\\b.bak'");
    let restore = "restore database copy from disk = 'c:\\b.bak' with file = 1, standby = 'c:\\undo.dat', \
                   move 'vlf' to 'c:\\copy.mdf', move 'vlf_log' to 'c:\\copy.ldf'";
    machine.done(restore);
    let shown = |machine: &Machine| {
        let databases = machine.view("sys.databases", &[]);
        ["state_desc", "is_in_standby", "is_read_only"].map(|name| databases.column(name)[5].clone())
    };
    assert_eq!(shown(&machine), ["ONLINE", "1", "1"]);
    assert_eq!(
        machine.failed("backup database copy to disk = 'c:\\c.bak'"),
        [3036, 3013]
    );
    machine.done("restore log copy from disk = 'c:\\b.bak' with file = 2, norecovery");
    assert_eq!(shown(&machine)[0], "RESTORING");
    machine.done("restore database copy with standby = 'c:\\undo.dat'");
    assert_eq!(shown(&machine), ["ONLINE", "1", "1"]);
    machine.done("restore database copy with recovery");
    assert_eq!(shown(&machine), ["ONLINE", "0", "0"]);
    machine.database = "copy".into();
    assert_eq!(machine.view("sys.database_files", &[]).rows.len(), 2);
}

/// sp_cycle_errorlog answered 0 and did nothing.
#[test]
fn the_error_log_is_cycled() {
    let machine = Machine::start(ServerVersion::V2022);
    machine.done("create database vlf");
    let before = machine.call("sp_readerrorlog", &[]);
    for number in 1..=8 {
        machine.done("dbcc errorlog");
        let texts = machine.call("sp_readerrorlog", &[]).column("Text");
        assert_eq!(texts.len(), 2, "{texts:?}");
        assert_eq!(
            texts[1],
            "The error log has been reinitialized. See the previous log for older entries."
        );
        let former = machine.call("sp_readerrorlog", &[Value::Int(1)]).column("Text");
        let attempt =
            "Attempting to cycle error log. This is an informational message only; no user action is required.";
        assert_eq!(former.last().map(String::as_str), Some(attempt));
        if number <= 6 {
            let first = machine.call("sp_readerrorlog", &[Value::Int(number)]);
            assert_eq!(
                first.rows.len(),
                before.rows.len() + 1,
                "what was written before the first cycle"
            );
        }
    }
    let listed = machine.call("xp_enumerrorlogs", &[]);
    assert_eq!(listed.column("Archive #"), ["0", "1", "2", "3", "4", "5", "6"]);
    let disk = &machine.instance.env.disk;
    for (number, row) in listed.rows.iter().enumerate() {
        let bytes = disk.len(&machine.instance.errorlog_path(number)).unwrap().unwrap();
        assert_eq!(support::shown(&row[2]), bytes.to_string());
        let date = support::shown(&row[1]);
        assert!(
            date.len() == 17 && &date[2..3] == "/" && &date[10..12] == "  ",
            "{date}"
        );
    }
    let missing = machine.try_call("sp_readerrorlog", &[Value::Int(7)]).err().unwrap();
    assert_eq!(missing.number, 22004, "the seventh is gone");
    assert_eq!(machine.call("sp_cycle_errorlog", &[]).batches, ["dbcc errorlog"]);
}

/// The types of the sets in the history of backups, in order.
fn history(machine: &Machine) -> Vec<String> {
    let msdb = machine.instance.database("msdb").unwrap();
    let table = Table::open(&msdb, &msdb.catalog.find("dbo", "backupset", 0).unwrap()).unwrap();
    let ordinal = table.definition().column("type").unwrap();
    let session = machine.instance.open_session().unwrap();
    let locks = session.locks().clone();
    let mut scan = table.scan(&locks, ReadMode::Uncommitted).unwrap();
    let mut types = Vec::new();
    while scan.next_batch().unwrap() {
        for row in (0..scan.len()).filter_map(|row| scan.row(row)) {
            let value = table.layout().column(row, ordinal).unwrap();
            types.push(value.as_str().unwrap().to_string());
        }
    }
    machine.instance.close_session(session.id);
    types
}
