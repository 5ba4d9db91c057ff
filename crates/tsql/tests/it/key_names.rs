//! Names of keys, indexes and statistics of a table are unique; a duplicate is refused and the session lives on.
#![allow(clippy::unwrap_used)]

use crate::story;

use disk::Disk;
use disk::sim::SimDisk;
use engine::page::{PAGE_BYTES, seal};
use std::path::PathBuf;
use story::{Again, Story};

const TABLE: &str = "use d create table k (a int not null, b int not null constraint k_default default 1)
    create index k_index on k (a) create statistics k_statistics on k (b)
    alter table k add constraint k_key unique (b)";

fn with_table() -> Story {
    let mut story = Story::begin();
    story.run("create database d");
    story.run(TABLE);
    story
}

/// A key named as an index of its table ended in a failed assertion (3624), and the session with it: the new index was searched by
/// its name among those that were there.
#[test]
fn a_key_named_as_an_index_is_refused_and_the_session_goes_on() {
    let mut story = with_table();
    let answer = story.answer("alter table k add constraint k_index primary key (a)");
    let name_is_taken = "Msg 1913, Level 16, State 1, Line 1: The operation failed because an index or statistics with name 'k_index' already exists on table 'k'.";
    let not_made = "Msg 1750, Level 16, State 0, Line 1: Could not create constraint or index. See previous errors.";
    assert!(answer.contains(name_is_taken) && answer.contains(not_made), "{answer}");
    assert_eq!(story.rows("select count(*) from sys.key_constraints"), ["1"]);
    story.is_sound("d");
}

#[test]
fn every_pair_of_names_on_one_table() {
    let mut story = with_table();
    for (batch, expected) in [
        (
            "alter table k add constraint k_index primary key (a)",
            &[1913, 1750][..],
        ),
        ("alter table k add constraint K_INDEX unique (a)", &[1913, 1750]),
        (
            "alter table k add constraint k_index primary key clustered (a)",
            &[1913, 1750],
        ),
        (
            "alter table k add constraint k_statistics primary key (a)",
            &[1913, 1750],
        ),
        ("alter table k add constraint k_statistics unique (a)", &[1913, 1750]),
        ("alter table k add constraint k_key primary key (a)", &[2714, 1750]),
        ("alter table k add c int constraint k_index unique", &[1913, 1750]),
        (
            "alter table k add constraint one unique (a), constraint one unique (b)",
            &[2714, 1750],
        ),
        ("create index k_index on k (b)", &[1913]),
        ("create index k_statistics on k (b)", &[1913]),
        ("create index k_key on k (b)", &[1913]),
        ("create statistics k_index on k (b)", &[1927]),
        ("create statistics k_key on k (a)", &[1927]),
        ("create statistics k_statistics on k (a)", &[1927]),
        ("exec sp_rename 'k.k_index', 'k_key', 'INDEX'", &[15335]),
        ("exec sp_rename 'k.k_index', 'k_statistics', 'INDEX'", &[15335]),
        ("create table t (a int, index i (a), index I (a))", &[1913, 1750]),
        (
            "create table t (a int constraint i primary key, index i (a))",
            &[1913, 1750],
        ),
        (
            "create table t (a int, index i (a), constraint i unique (a))",
            &[1913, 1750],
        ),
        (
            "create table t (a int constraint i primary key, b int constraint i unique)",
            &[2714, 1750],
        ),
        ("declare @t table (a int, index i (a), index i (a))", &[1913]),
        (
            "create type t as table (a int, index i (a), index i (a))",
            &[1913, 1750],
        ),
    ] {
        assert_eq!(story.errors(batch), expected, "{batch}");
    }
    // Nothing of what was refused is left.
    assert_eq!(
        story.rows("select name from sys.indexes where object_id = object_id('k') and index_id > 0 order by name"),
        ["k_index", "k_key"]
    );
    assert_eq!(
        story.rows("select count(*) from sys.columns where object_id = object_id('k')"),
        ["2"]
    );
    assert_eq!(story.rows("select isnull(object_id('t'), 0)"), ["0"]);
    story.run("alter table k add constraint k_primary primary key (a)");
    story.is_sound("d");
}

/// What a table variable was declared with was dropped in silence: a second column of a name, unique indexes.
#[test]
fn a_table_variable_has_the_columns_and_unique_indexes_it_is_declared_with() {
    let mut story = with_table();
    for (batch, expected) in [
        ("declare @t table (a int, A int)", [2705]),
        ("declare @t table (a int, index i (b))", [207]),
        (
            "declare @t table (a int, index i unique (a)) insert @t values (1), (1)",
            [2627],
        ),
    ] {
        assert_eq!(story.errors(batch), expected, "{batch}");
    }
}

/// Each version of a table in a transaction has its names, and removing one looked at all others: the end of thousands of changes took time by
/// their square. They are counted: a name is free when the last version that has it is gone, whichever way they go.
#[test]
fn a_name_is_taken_as_long_as_any_version_of_its_table_has_it() {
    for (end, c_is_taken, d_is_taken) in [("rollback", true, false), ("commit", false, true)] {
        let mut story = with_table();
        story.run("alter table k add constraint c check (a > 0) create table other (a int)");
        story.run("begin transaction");
        for _ in 0..20 {
            story.run("alter table k drop constraint c alter table k add constraint d check (a > 1)");
            story.run(
                "save transaction point alter table k drop constraint d alter table k add constraint c check (a > 2)",
            );
            story.run("rollback transaction point alter table k drop constraint d alter table k add constraint c check (a > 3)");
        }
        story.run("alter table k drop constraint c alter table k add constraint d check (a > 4)");
        // The names of versions that may come back are not given away.
        let mut beside = story.beside();
        for name in ["c", "d"] {
            let wanted = format!("set lock_timeout 0 use d alter table other add constraint {name} check (a > 0)");
            assert_eq!(story::numbers(&story::told(&mut beside, &wanted)), [1222], "{name}");
        }
        story.run(end);
        for (name, is_taken) in [("c", c_is_taken), ("d", d_is_taken)] {
            let wanted = format!("alter table other add constraint {name} check (a > 0)");
            let expected: &[i32] = if is_taken { &[2714, 1750] } else { &[] };
            assert_eq!(story.errors(&wanted), expected, "{name} behind {end}");
        }
        story.is_sound("d");
    }
}

/// "While the temp table name is uniquified, the constraint names are not" (Arvind Shyamsundar, "Named constraints: two sides to the story!").
/// "If a temporary table is created with a named constraint and the temporary table is created within the scope of a user-defined
/// transaction, only one user at a time can execute the statement that creates the temp table" (sql-docs, "CREATE TABLE").
#[test]
fn temporary_tables_of_two_sessions_have_no_two_constraints_of_one_name() {
    let mut story = with_table();
    story.run("create table #t (a int constraint pk_t primary key, b int unique, c int default 1)");
    let mut other = story.beside();
    let made = "create table #t (a int constraint pk_t primary key)";
    assert_eq!(story::numbers(&story::told(&mut other, made)), [2714, 1750]);
    let unnamed = "create table #t (a int primary key, b int unique, c int default 1)";
    assert_eq!(story::numbers(&story::told(&mut other, unnamed)), [0; 0]);
    let added = "alter table #t add constraint pk_t check (a > 0)";
    assert_eq!(story::numbers(&story::told(&mut other, added)), [2714, 1750]);
    story.run("drop table #t");
    assert_eq!(story::numbers(&story::told(&mut other, added)), [0; 0]);
    // While a transaction that has made a name goes on, others that want the name wait for its end.
    story.run("begin transaction create table e (a int constraint pk_e primary key)");
    let timed = "set lock_timeout 0 use d create table f (a int constraint pk_e primary key)";
    assert_eq!(story::numbers(&story::told(&mut other, timed)), [1222]);
    story.run("rollback");
    assert_eq!(story::numbers(&story::told(&mut other, timed)), [0; 0]);
    story.is_sound("d");
}

/// Writes another name over one in the definitions that a closed database has.
fn rename_in_file(disk: &SimDisk, file: &str, from: &[u8], to: &[u8]) {
    let file = disk
        .open(&PathBuf::from("/instance/data").join(file), disk::Access::Buffered)
        .unwrap();
    let mut changed = 0;
    for at in (0..file.len().unwrap()).step_by(PAGE_BYTES) {
        let mut page = [0; PAGE_BYTES];
        file.read_at(at, &mut page).unwrap();
        while let Some(place) = page.windows(from.len()).position(|bytes| bytes == from) {
            page[place..place + to.len()].copy_from_slice(to);
            seal(&mut page);
            file.write_at(at, &page).unwrap();
            changed += 1;
        }
    }
    file.sync().unwrap();
    assert!(changed > 0);
}

/// Names of constraints were once looked at in their own table alone: databases of that time have some twice, and even that of a table.
#[test]
fn a_database_that_has_a_name_twice_goes_on() {
    let mut story = with_table();
    story.run("create table one (a int constraint c_aaaa check (a > 0)) insert one values (1)");
    story.run("create table two (a int constraint c_bbbb check (a > 1), b smallint) insert two values (2, 2)");
    story.run("use master");
    story.instance.shutdown(false).unwrap();
    let disk = story.disk.snapshot();
    rename_in_file(&disk, "d.mdf", b"c_bbbb", b"c_aaaa");
    story.start_on(disk);
    story.run("use d");
    let names = "select name from sys.check_constraints order by object_id";
    assert_eq!(story.rows(names), ["c_aaaa", "c_aaaa"]);
    // Each table keeps its own, and can be changed.
    assert_eq!(story.errors("insert two values (1, 1)"), [547]);
    story.run("alter table two add c int constraint c_cccc default 1 alter table two alter column b int");
    story.run("truncate table two alter table two drop constraint c_aaaa");
    assert_eq!(
        story.errors("alter table two add constraint c_aaaa check (a > 1)"),
        [2714, 1750]
    );
    story.run("alter table one drop constraint c_aaaa");
    story.run("alter table two add constraint c_aaaa check (a > 1)");
    story.again(Again::StopStart, "d");
    story.run("use d");
    assert_eq!(story.rows(names), ["c_aaaa"]);
    story.is_sound("d");
}
