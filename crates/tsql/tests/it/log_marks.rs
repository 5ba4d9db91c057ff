//! Marked transactions: which logs have the mark, what msdb and `fn_dblog` say of it, and restores that stop at marks and at LSNs. A model takes
//! marks at random places among transactions of two databases, restores each database to each mark, at it and before it, and compares the
//! rows. The power is cut at operations of a marked transaction in two databases.
//!
//! Depth: 2 histories, one operation in 5 and one record in 9; deep: 40 and every one.
#![allow(clippy::unwrap_used)]

use crate::story::{Again, Story, cut_everywhere, numbers, told};

use std::collections::BTreeSet;

use vlf::Lsn;

/// The databases d, e and f with a row each, all of them backed up.
fn with_databases() -> Story {
    let mut story = Story::begin();
    for name in ["d", "e", "f"] {
        story.run(&format!("create database {name}"));
        story.run(&format!("alter database {name} set recovery full"));
        story.run(&format!("create table {name}.dbo.t (i int not null primary key)"));
        story.run(&format!("insert {name}.dbo.t values (1)"));
        story.run(&format!("backup database {name} to disk = '{name}.bak'"));
    }
    story
}

/// The marks of a database's log, oldest first: name and description.
fn marks(story: &mut Story, database: &str) -> Vec<String> {
    story.run(&format!("use {database}"));
    let found = story.rows(
        "select concat([Mark Name], '/', Description, '/', Operation) from fn_dblog(null, null) where [Mark Name] is not null
         order by [Current LSN]",
    );
    story.run("use master");
    found
}

fn history(story: &mut Story) -> Vec<String> {
    story.rows("select concat(database_name, '/', mark_name, '/', isnull(description, 'NULL'), '/', user_name) from msdb.dbo.logmarkhistory")
}

#[test]
fn a_mark_is_in_the_log_of_each_database_that_its_transaction_has_changed() {
    let mut story = with_databases();
    story.run(
        "begin tran Tx1 with mark 'not the mark name, just a description'
         insert d.dbo.t values (2) insert e.dbo.t values (2) select * from f.dbo.t commit",
    );
    let mark = ["Tx1/not the mark name, just a description/LOP_COMMIT_XACT"];
    assert_eq!(marks(&mut story, "d"), mark);
    assert_eq!(marks(&mut story, "e"), mark);
    assert!(marks(&mut story, "f").is_empty());
    let noted = ["d", "e"].map(|name| format!("{name}/Tx1/not the mark name, just a description/sa"));
    assert_eq!(history(&mut story), noted);
    // Its LSN is that of the Commit, its time the Commit's.
    story.run("use d");
    let same = "select count(*) from msdb.dbo.logmarkhistory as h join fn_dblog(null, null) as l on l.[Mark Name] = h.mark_name
        where h.database_name = 'd' and h.mark_time = cast(l.[End Time] as datetime)
          and h.lsn = cast(concat(convert(int, convert(varbinary, left(l.[Current LSN], 8), 2)),
              right(concat('0000000000', convert(int, convert(varbinary, substring(l.[Current LSN], 10, 8), 2))), 10),
              right(concat('00000', convert(int, convert(varbinary, right(l.[Current LSN], 4), 2))), 5)) as numeric(25))";
    assert_eq!(story.rows(same), ["1"]);
}

#[test]
fn what_changes_nothing_or_is_rolled_back_leaves_no_mark() {
    let mut story = with_databases();
    story.run("begin tran a with mark commit");
    story.run("begin tran b with mark 'b' select * from d.dbo.t commit");
    story.run("begin tran c with mark 'c' insert d.dbo.t values (2) rollback");
    story.run("begin tran x with mark 'x' create table #t (i int) insert #t values (1) commit");
    assert!(marks(&mut story, "d").is_empty());
    assert!(history(&mut story).is_empty());
    story.run("insert d.dbo.t values (3)");
    assert!(marks(&mut story, "d").is_empty(), "a mark ends with its transaction");
}

#[test]
fn names_and_descriptions_come_from_variables_and_long_ones_are_cut() {
    let mut story = with_databases();
    story.run(
        "declare @name nvarchar(100) = replicate(N'n', 40), @text varchar(500) = replicate('t', 300)
         begin tran @name with mark @text insert d.dbo.t values (2) commit tran @name",
    );
    story.run("declare @name varchar(9) = 'v' begin transaction @name with mark insert d.dbo.t values (3) commit");
    story.run("use d exec ('create procedure p as begin tran proc1 with mark N''in a procedure'' insert t values (4) commit')");
    story.run("use d exec p use master");
    let noted = story.rows("select concat(mark_name, ' ', len(description)) from msdb.dbo.logmarkhistory");
    assert_eq!(
        noted,
        [
            format!("{} 128", "n".repeat(32)),
            "v ".to_owned(),
            "proc1 14".to_owned()
        ]
        .map(|row| row.trim().to_owned())
    );
    assert_eq!(marks(&mut story, "d").len(), 3);
}

#[test]
fn a_mark_needs_a_name_and_the_first_of_a_transaction_counts() {
    let mut story = with_databases();
    assert_eq!(story.errors("begin tran with mark 'x'"), [3901]);
    assert_eq!(
        story.errors("declare @name varchar(9) begin tran @name with mark"),
        [3901]
    );
    assert_eq!(story.rows("select @@trancount"), ["0"]);
    // The first mark of a transaction counts, also when it comes with an inner BEGIN (sql-docs, BEGIN TRANSACTION, "Marked transactions").
    let text = story.answer(
        "begin tran T1 insert d.dbo.t values (2) begin tran M2 with mark insert e.dbo.t values (2) commit tran M2 insert f.dbo.t values (2) commit tran T1",
    );
    assert!(!text.contains("3920"), "{text}");
    let text = story
        .answer("begin tran T1 with mark 'one' begin tran T2 with mark 'two' insert d.dbo.t values (3) commit commit");
    assert!(text.contains("Msg 3920, Level 10"), "{text}");
    let noted = story.rows("select concat(database_name, ' ', mark_name) from msdb.dbo.logmarkhistory");
    assert_eq!(noted, ["d M2", "e M2", "f M2", "d T1"]);
    // What a trigger marks is the statement's own transaction.
    story.run("use d");
    story.run("create trigger g on t after insert as begin tran byTrigger with mark commit");
    story.run("insert t values (4)");
    assert_eq!(
        marks(&mut story, "d"),
        [
            "M2//LOP_COMMIT_XACT",
            "T1/one/LOP_COMMIT_XACT",
            "byTrigger//LOP_COMMIT_XACT"
        ]
    );
}

/// A history that cannot be written does not take the transaction back.
#[test]
fn a_transaction_commits_also_where_msdb_has_no_place_for_its_mark() {
    let mut story = with_databases();
    story.run("drop table msdb.dbo.logmarkhistory");
    story.run("begin tran m with mark insert d.dbo.t values (2) commit");
    assert_eq!(marks(&mut story, "d"), ["m//LOP_COMMIT_XACT"]);
    assert!(story.error_log().iter().any(|line| line.contains("logmarkhistory")));
    story.again(Again::StopStart, "d");
    story.run("begin tran n with mark insert d.dbo.t values (3) commit");
    assert_eq!(story.rows("select mark_name from msdb.dbo.logmarkhistory"), ["n"]);
}

/// Restores d as r from its full backup, ready for log.
fn begin_restore(story: &mut Story, database: &str) {
    story.run(&format!(
        "restore database r from disk = '{database}.bak' with move '{database}' to 'r.mdf', move '{database}_log' to 'r.ldf', replace, norecovery"
    ));
}

fn rows_of_r(story: &mut Story) -> String {
    story.is_sound("r");
    story.rows("select i from r.dbo.t order by i").join(" ")
}

fn state_of_r(story: &mut Story) -> String {
    story
        .rows("select state_desc from sys.databases where name = 'r'")
        .concat()
}

/// Log with the marks m (row 3), again (row 4) and again (row 6); in two backups, parted behind row 4.
fn with_marks() -> Story {
    let mut story = with_databases();
    story.run("insert d.dbo.t values (2)");
    story.run("begin tran m with mark insert d.dbo.t values (3) commit");
    story.run("begin tran again with mark 'first' insert d.dbo.t values (4) commit");
    story.run("backup log d to disk = 'd1.trn'");
    story.run("insert d.dbo.t values (5)");
    story.run("begin tran again with mark 'second' insert d.dbo.t values (6) commit");
    story.run("insert d.dbo.t values (7)");
    story.run("backup log d to disk = 'd2.trn'");
    story
}

#[test]
fn a_restore_stops_at_a_mark_or_before_it() {
    let mut story = with_marks();
    let second = story
        .rows("select convert(varchar(30), mark_time, 121) from msdb.dbo.logmarkhistory where description = 'second'")
        .concat();
    for (option, first_log, second_log) in [
        ("stopatmark = 'm'", Some("1 2 3"), None),
        ("stopbeforemark = 'm'", Some("1 2"), None),
        // The mark is the last record of the first log.
        ("stopatmark = 'again'", Some("1 2 3 4"), None),
        ("stopbeforemark = 'again'", Some("1 2 3"), None),
        (
            &*format!("stopatmark = 'again' after '{second}'"),
            None,
            Some("1 2 3 4 5 6"),
        ),
        (
            &format!("stopbeforemark = 'again' after '{second}'"),
            None,
            Some("1 2 3 4 5"),
        ),
        ("stopatmark = 'm' after '2099-01-01'", None, None),
        ("stopatmark = 'M'", None, None),
        ("stopatmark = 'other'", None, None),
    ] {
        begin_restore(&mut story, "d");
        for (log, expected) in [("d1.trn", first_log), ("d2.trn", second_log)] {
            let text = story.answer(&format!("restore log r from disk = '{log}' with {option}"));
            assert!(numbers(&text).is_empty(), "{option}: {text}");
            assert_eq!(
                text.contains("Msg 4329, Level 10"),
                expected.is_none(),
                "{option}: {text}"
            );
            assert_eq!(
                state_of_r(&mut story),
                if expected.is_some() { "ONLINE" } else { "RESTORING" },
                "{option}"
            );
            if let Some(expected) = expected {
                assert_eq!(rows_of_r(&mut story), expected, "{option}");
                break;
            }
        }
        if first_log.or(second_log).is_none() {
            story.run("restore database r with recovery");
            assert_eq!(rows_of_r(&mut story), "1 2 3 4 5 6 7", "{option}");
        }
    }
    let noted = "select stop_at_mark_name, stop_before, restore_type from msdb.dbo.restorehistory where stop_at_mark_name = 'm' and stop_before = 1";
    assert_eq!(story.rows(noted), ["m 1 L"]);
}

#[test]
fn a_restore_without_recovery_goes_on_from_the_mark() {
    let mut story = with_marks();
    begin_restore(&mut story, "d");
    story.run("restore log r from disk = 'd1.trn' with stopbeforemark = 'm', norecovery");
    assert_eq!(state_of_r(&mut story), "RESTORING");
    assert_eq!(
        story.errors("restore log r from disk = 'd2.trn' with norecovery"),
        [4305, 3013]
    );
    story.run("restore log r from disk = 'd1.trn' with stopatmark = 'm', norecovery");
    story.run("restore log r from disk = 'd1.trn' with stopatmark = 'again', norecovery");
    // The first of the name is restored already: the next one is meant.
    let text = story.answer("restore log r from disk = 'd2.trn' with stopatmark = 'again', standby = 'r.undo'");
    assert!(numbers(&text).is_empty(), "{text}");
    assert_eq!(story.rows("select i from r.dbo.t order by i").join(" "), "1 2 3 4 5 6");
    story.run("restore log r from disk = 'd2.trn' with norecovery");
    story.run("restore database r with recovery");
    assert_eq!(rows_of_r(&mut story), "1 2 3 4 5 6 7");
}

#[test]
fn a_restore_stops_at_an_lsn_or_before_it() {
    let mut story = with_marks();
    let lsn = "select cast(lsn as varchar(30)) from msdb.dbo.logmarkhistory where mark_name = 'm'";
    let decimal = story.rows(lsn).concat();
    let rest = ", default".repeat(63);
    let hexadecimal = format!(
        "select [Current LSN] from fn_dump_dblog(null, null, N'DISK', 1, N'd1.trn'{rest}) where [Mark Name] = 'm'"
    );
    let hexadecimal = story.rows(&hexadecimal).concat();
    for (option, expected) in [
        (format!("stopatmark = 'lsn:{decimal}'"), "1 2 3"),
        (format!("stopbeforemark = 'LSN:{decimal}'"), "1 2"),
        (format!("stopatmark = 'lsn:0x{hexadecimal}'"), "1 2 3"),
        (format!("stopbeforemark = 'lsn:0x{hexadecimal}'"), "1 2"),
    ] {
        begin_restore(&mut story, "d");
        story.run(&format!("restore log r from disk = 'd1.trn' with {option}"));
        assert_eq!(rows_of_r(&mut story), expected, "{option}");
    }
    // The database is beyond the LSN; nothing of the set is restored.
    begin_restore(&mut story, "d");
    story.run("restore log r from disk = 'd1.trn' with norecovery");
    let passed = format!("restore log r from disk = 'd2.trn' with stopatmark = 'lsn:{decimal}'");
    assert_eq!(story.errors(&passed), [4335, 3013]);
    story.run("restore log r from disk = 'd2.trn'");
    assert_eq!(rows_of_r(&mut story), "1 2 3 4 5 6 7");
    // A full backup has to end before it.
    let early = "restore database r from disk = 'd.bak' with replace, stopatmark = 'lsn:1000000000100001'";
    assert_eq!(story.errors(early), [4338, 3013]);
    let late = format!(
        "restore database r from disk = 'd.bak' with move 'd' to 'r.mdf', move 'd_log' to 'r.ldf', replace, stopatmark = 'lsn:{decimal}'"
    );
    let text = story.answer(&late);
    assert!(text.contains("Msg 4329, Level 10"), "{text}");
    assert_eq!(state_of_r(&mut story), "RESTORING");
}

#[test]
fn stops_that_contradict_themselves_are_refused() {
    let mut story = with_marks();
    begin_restore(&mut story, "d");
    for (statement, expected) in [
        (
            "restore log r from disk = 'd1.trn' with stopatmark = 'm', stopbeforemark = 'm'",
            &[3031, 3013][..],
        ),
        (
            "restore log r from disk = 'd1.trn' with stopat = '2099-01-01', stopatmark = 'm'",
            &[3031, 3013],
        ),
        (
            "restore log r from disk = 'd1.trn' with stopatmark = 'lsn:x'",
            &[4334, 3013],
        ),
        (
            "restore log r from disk = 'd1.trn' with stopatmark = 'lsn:'",
            &[4334, 3013],
        ),
        (
            "restore log r from disk = 'd1.trn' with stopatmark = 'm' after 'never'",
            &[241],
        ),
        (
            "restore database r from disk = 'd.bak' with stopatmark = 'm', replace",
            &[4334, 3013],
        ),
        (
            "restore log r from disk = 'd1.trn' with stopat = '2099-01-01' after '2099-01-01'",
            &[102],
        ),
        ("restore headeronly from disk = 'd1.trn' with stopatmark = 'm'", &[3032]),
        ("restore database r with stopatmark = 'lsn:1000000000100001'", &[40517]),
    ] {
        assert_eq!(story.errors(statement), expected, "{statement}");
        assert_eq!(state_of_r(&mut story), "RESTORING", "{statement}");
    }
    // What was refused has changed nothing.
    story.run("restore log r from disk = 'd1.trn' with stopatmark = 'm'");
    assert_eq!(rows_of_r(&mut story), "1 2 3");
}

/// A restore to any record of a log backup has the transactions whose Commit it includes, and no other.
#[test]
fn a_restore_stops_at_every_record_of_a_log() {
    let sample = workbench::sample("records that a restore stops at", 9);
    let mut story = with_databases();
    story.run("alter database d set accelerated_database_recovery = on");
    for row in 2..=9 {
        story.run(&format!(
            "begin tran m{row} with mark insert d.dbo.t values ({row}) commit"
        ));
        if row % 3 == 0 {
            story.run(&format!("begin tran insert d.dbo.t values ({}) rollback", row + 100));
            story.run("use d checkpoint use master");
        }
    }
    story.run("backup log d to disk = 'd1.trn'");
    let commits = story.rows("select lsn, substring(mark_name, 2, 9) from msdb.dbo.logmarkhistory");
    let commits: Vec<(Lsn, String)> = commits
        .iter()
        .map(|row| row.split_once(' ').unwrap())
        .map(|(lsn, row)| (lsn.parse().unwrap(), row.to_owned()))
        .collect();
    assert_eq!(commits.len(), 8);
    let rest = ", default".repeat(63);
    let records = story.rows(&format!(
        "select [Current LSN] from fn_dump_dblog(null, null, N'DISK', 1, N'd1.trn'{rest})"
    ));
    // The first records of the log are of before the full backup's end.
    let end_of_full = story
        .rows("select last_lsn from msdb.dbo.backupset where database_name = 'd' and type = 'D'")
        .concat();
    let end_of_full: Lsn = end_of_full.parse().unwrap();
    let records: Vec<Lsn> = records.iter().map(|record| record.parse().unwrap()).collect();
    let mut stops = 0;
    for lsn in records.iter().filter(|lsn| **lsn >= end_of_full).step_by(sample.one_in) {
        for (option, is_before) in [("stopatmark", false), ("stopbeforemark", true)] {
            begin_restore(&mut story, "d");
            story.run(&format!(
                "restore log r from disk = 'd1.trn' with {option} = 'lsn:{}'",
                lsn.to_numeric()
            ));
            assert_eq!(state_of_r(&mut story), "ONLINE", "{option} {lsn}");
            let is_restored = |commit: &Lsn| if is_before { commit < lsn } else { commit <= lsn };
            let rows = commits
                .iter()
                .filter(|(commit, _)| is_restored(commit))
                .map(|(_, row)| row.as_str());
            let expected: Vec<&str> = std::iter::once("1").chain(rows).collect();
            assert_eq!(rows_of_r(&mut story), expected.join(" "), "{option} {lsn}");
            stops += 1;
        }
    }
    println!("{stops} of {} stops", 2 * records.len());
    assert!(stops > 8, "{stops}");
    sample.count(stops);
}

/// xorshift, as in the other models.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

/// What a database has at a mark of it.
struct MarkedState {
    name: String,
    before: BTreeSet<usize>,
    at: BTreeSet<usize>,
}

#[derive(Default)]
struct Modelled {
    rows: BTreeSet<usize>,
    marks: Vec<MarkedState>,
    log_count: usize,
}

/// A transaction that stays open while others commit: its session, its database and its row.
struct Open {
    session: tsql::session::Session,
    database: usize,
    row: usize,
}

const NAMES: [&str; 2] = ["d", "e"];

/// One transaction of one or both databases, marked or not.
fn transact(story: &mut Story, random: &mut Random, models: &mut [Modelled; 2], number: usize) {
    let is_marked = random.below(2) == 0;
    let touched = [&[0][..], &[1], &[0, 1]][random.below(3)];
    let mut batch = match is_marked {
        true => format!("begin tran m{number} with mark 'mark {number}'"),
        false => "begin tran".to_owned(),
    };
    for database in touched {
        let (name, model) = (NAMES[*database], &mut models[*database]);
        let before = model.rows.clone();
        let gone = model
            .rows
            .iter()
            .nth(random.below(4))
            .copied()
            .filter(|_| random.below(3) == 0);
        if let Some(gone) = gone {
            batch.push_str(&format!(" delete {name}.dbo.t where i = {gone}"));
            model.rows.remove(&gone);
        }
        let count = 1 + random.below(60);
        let first = number * 100;
        batch.push_str(&format!(
            " insert {name}.dbo.t select {first} + value from generate_series(0, {})",
            count - 1
        ));
        model.rows.extend(first..first + count);
        if is_marked {
            model.marks.push(MarkedState {
                name: format!("m{number}"),
                before,
                at: model.rows.clone(),
            });
        }
    }
    batch.push_str(" commit");
    story.run(&batch);
}

/// An open transaction ends, or another one begins.
fn open_or_end(
    story: &mut Story,
    random: &mut Random,
    models: &mut [Modelled; 2],
    open: &mut Option<Open>,
    number: usize,
) {
    if let Some(Open {
        mut session,
        database,
        row,
    }) = open.take()
    {
        let is_committed = random.below(2) == 0;
        let text = told(&mut session, if is_committed { "commit" } else { "rollback" });
        assert!(numbers(&text).is_empty(), "{text}");
        if is_committed {
            models[database].rows.insert(row);
        }
        return;
    }
    let (mut session, database, row) = (story.beside(), random.below(2), number * 100 + 99);
    let text = told(
        &mut session,
        &format!("begin tran insert {}.dbo.t values ({row})", NAMES[database]),
    );
    assert!(numbers(&text).is_empty(), "{text}");
    *open = Some(Open { session, database, row });
}

fn back_up_log(story: &mut Story, models: &mut [Modelled; 2], database: usize) {
    let (name, count) = (NAMES[database], models[database].log_count);
    story.run(&format!("backup log {name} to disk = '{name}{count}.trn'"));
    models[database].log_count += 1;
}

/// Restores a database to one of its marks, log by log.
fn is_restored(story: &mut Story, database: usize, model: &Modelled, mark: &MarkedState, is_before: bool) {
    let name = NAMES[database];
    begin_restore(story, name);
    let option = if is_before { "stopbeforemark" } else { "stopatmark" };
    for log in 0..model.log_count {
        story.run(&format!(
            "restore log r from disk = '{name}{log}.trn' with {option} = '{}'",
            mark.name
        ));
        if state_of_r(story) == "ONLINE" {
            break;
        }
    }
    let expected = if is_before { &mark.before } else { &mark.at };
    let expected: Vec<String> = expected.iter().map(usize::to_string).collect();
    assert_eq!(state_of_r(story), "ONLINE", "{name} {option} {}", mark.name);
    assert_eq!(rows_of_r(story), expected.join(" "), "{name} {option} {}", mark.name);
}

#[test]
fn every_mark_of_two_databases_is_restored_to_as_a_model_says() {
    let depth = workbench::depth("histories of marked transactions", 2, 40);
    for seed in depth.seeds() {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let mut story = with_databases();
        let mut models = [Modelled::default(), Modelled::default()];
        for model in &mut models {
            model.rows.insert(1);
        }
        let mut open = None;
        for number in 1..=24 {
            match random.below(6) {
                0 => open_or_end(&mut story, &mut random, &mut models, &mut open, number),
                1 => back_up_log(&mut story, &mut models, number % 2),
                2 if open.is_none() => story.again([Again::StopStart, Again::Kill][random.below(2)], "d"),
                _ => transact(&mut story, &mut random, &mut models, number),
            }
        }
        drop(open);
        for database in 0..2 {
            back_up_log(&mut story, &mut models, database);
            let model = &models[database];
            for mark in &model.marks {
                for is_before in [false, true] {
                    is_restored(&mut story, database, model, mark, is_before);
                }
            }
        }
        let marks: usize = models.iter().map(|model| model.marks.len()).sum();
        println!("{marks} marks");
        assert!(marks > 2, "{marks}");
    }
    depth.count();
}

/// In every cut the two logs have the mark together with its rows, or neither.
#[test]
fn a_power_cut_leaves_the_mark_in_every_log_or_in_none() {
    let sample = workbench::sample("operations of marked transactions with a power cut", 5);
    let seen = |story: &mut Story| {
        let rows = "select i from d.dbo.t union all select i + 100 from e.dbo.t order by 1";
        let mut seen = story.rows(rows);
        seen.extend(marks(story, "d"));
        seen.extend(marks(story, "e"));
        seen
    };
    let statements = [
        "begin tran both with mark 'in two' insert d.dbo.t values (2) insert e.dbo.t values (2) commit",
        "begin tran one with mark insert d.dbo.t values (3) commit",
    ];
    cut_everywhere(&statements, sample, with_databases, seen, |story, cut| {
        let is_marked = !marks(story, "e").is_empty();
        story.run("backup log e to disk = 'e.trn'");
        begin_restore(story, "e");
        let text = story.answer("restore log r from disk = 'e.trn' with stopatmark = 'both'");
        assert_eq!(text.contains("Msg 4329"), !is_marked, "{cut}: {text}");
        if is_marked {
            assert_eq!(rows_of_r(story), "1 2", "{cut}");
        }
    });
}
