//! DBCC CLONEDATABASE, as a client sees it: the contents of a clone, the messages, the error numbers, and the clone after a stop and a
//! kill.
#![allow(clippy::unwrap_used)]

use crate::story;

use story::{Again, Story};

const CLONE: &str = "dbcc clonedatabase (d, c)";
const PROPERTIES: &str = "select databasepropertyex('c', 'IsClone'), databasepropertyex('c', 'IsVerifiedClone'), \
    databasepropertyex('c', 'Updateability'), databasepropertyex('c', 'Recovery')";

fn made() -> Story {
    let mut story = Story::begin();
    story.run("create database d");
    story.run("alter database d set recovery simple");
    story.run(
        "use d create table t (a int identity not null primary key, w char(100) not null default 'w' check (w <> 'x'), \
         b as a * 2, index i (w) include (a))",
    );
    story.run("create table h (n int, a int references t (a) on delete cascade)");
    for _ in 0..4 {
        story.run("insert t (w) select top (250) 'v' from sys.all_columns");
    }
    story.run("create statistics own on t (w) with fullscan");
    story.run("update statistics t with fullscan");
    story.run("insert h values (1, 1)");
    for module in [
        "create schema s",
        "create view v as select a, w from t",
        "create procedure p @x int as select w from t where a = @x",
        "create function f (@x int) returns int as begin return @x + 1 end",
        "create trigger g on t after insert as update t set w = 'u' where a in (select a from inserted)",
        "create sequence q start with 5",
        "create synonym y for t",
        "create type k from varchar(11) not null",
        "create type l as table (n int primary key)",
        "exec sp_addextendedproperty 'Owner', 'Ann', 'schema', 'dbo', 'table', 't'",
    ] {
        story.run(module);
    }
    story.run("use master");
    story
}

/// Every object with its id, its parent and its kind, every column, index and foreign key.
fn schema(story: &mut Story, database: &str) -> Vec<String> {
    let mut found = Vec::new();
    for query in [
        "select object_id, parent_object_id, name, type from D.sys.objects order by 1",
        "select object_id, name, column_id, user_type_id, is_identity, is_computed from D.sys.columns order by 1, 3",
        "select object_id, index_id, name, is_unique, is_primary_key from D.sys.indexes order by 1, 2",
        "select name, referenced_object_id, delete_referential_action_desc from D.sys.foreign_keys order by 1",
        "select object_id, definition from D.sys.sql_modules order by 1",
        "select name, value from D.sys.extended_properties order by 1",
        "select name, user_type_id from D.sys.types where is_user_defined = 1 order by 1",
    ] {
        found.extend(story.rows(&query.replace("D.", &format!("{database}."))));
    }
    found
}

#[test]
fn a_clone_has_the_schema_and_the_statistics_and_no_rows() {
    for again in [Again::StopStart, Again::Kill] {
        let mut story = made();
        let said = story.answer(CLONE);
        let order = [
            "Database cloning for 'd' has started with target as 'c'.",
            "Database cloning for 'd' has finished. Cloned database is 'c'.",
            "Database 'c' is a cloned database. This database should be used for diagnostic purposes only",
            "DBCC execution completed.",
        ];
        let places: Vec<_> = order
            .iter()
            .map(|text| said.find(text).unwrap_or_else(|| panic!("{text}: {said}")))
            .collect();
        assert!(places.is_sorted(), "{said}");
        let of_source = schema(&mut story, "d");
        for _ in 0..2 {
            assert_eq!(schema(&mut story, "c"), of_source);
            assert_eq!(story.rows("select count(*) from c.dbo.t"), ["0"]);
            assert_eq!(
                story.rows("select a from c.dbo.t where w = 'v'"),
                <[&str; 0]>::default()
            );
            assert_eq!(story.rows("select a from c.dbo.h"), <[&str; 0]>::default());
            assert_eq!(story.rows(PROPERTIES), ["1 0 READ_ONLY SIMPLE"]);
            let counted = "select s.name, p.rows, p.modification_counter from c.sys.stats s \
                cross apply c.sys.dm_db_stats_properties(s.object_id, s.stats_id) p where s.name = 'own'";
            assert_eq!(story.rows(counted), ["own 1000 0"]);
            let believed = "select rows from c.sys.partitions where object_id = object_id('c.dbo.t') and index_id = 1";
            assert_eq!(story.rows(believed), ["1000"]);
            assert_eq!(story.errors("insert c.dbo.t (w) values ('z')"), [3906]);
            story.is_sound("c");
            story.again(again, "d");
            story.run("use master");
        }
        // Written, it is a database like any other: what it makes has ids of its own.
        story.run("alter database c set read_write");
        story.run("use c insert t (w) values ('z') create table fresh (n int) use master");
        assert_eq!(
            story.rows("select w from c.dbo.t"),
            [format!("u{}", " ".repeat(99)).trim_end()]
        );
        let twice = "select count(*) from c.sys.objects f join d.sys.objects o on o.object_id = f.object_id where f.name = 'fresh'";
        assert_eq!(story.rows(twice), ["0"]);
        story.is_sound("c");
        assert_eq!(story.rows("select count(*) from d.dbo.t"), ["1000"]);
        story.run("drop database d");
        story.is_sound("c");
        story.run("drop database c");
    }
}

/// The optimizer goes by what the source has.
#[test]
fn a_clone_without_statistics_has_their_names() {
    let mut story = made();
    story.run("dbcc clonedatabase (d, c) with no_statistics, no_querystore, servicebroker, no_infomsgs");
    let named = "select count(*) from c.sys.stats where name = 'own'";
    assert_eq!(story.rows(named), ["1"]);
    let counted = "select p.rows from c.sys.stats s \
        cross apply c.sys.dm_db_stats_properties(s.object_id, s.stats_id) p where s.name = 'own' and p.rows is not null";
    assert_eq!(story.rows(counted), <[&str; 0]>::default());
    assert_eq!(
        story.answer("dbcc clonedatabase (d, e) with no_statistics, no_infomsgs"),
        ""
    );
}

#[test]
fn a_verified_clone_says_so_and_is_backed_up() {
    let mut story = made();
    let said = story.answer("dbcc clonedatabase (d, c) with verify_clonedb, backup_clonedb");
    for text in [
        "NO_STATISTICS and NO_QUERYSTORE options turned ON as part of VERIFY_CLONE.",
        "Clone database verification has passed.",
        "Clone backup succeeded and is stored in ",
        "Database 'c' is a cloned database.",
    ] {
        assert!(said.contains(text), "{text}: {said}");
    }
    assert_eq!(story.rows(PROPERTIES), ["1 1 READ_ONLY SIMPLE"]);
    let path = said.split("is stored in ").nth(1).unwrap();
    let path = path.split(".bak").next().unwrap();
    story.run("drop database c");
    story.run(&format!("restore database c from disk = '{path}.bak'"));
    assert_eq!(story.rows(PROPERTIES), ["1 1 READ_ONLY SIMPLE"]);
    assert_eq!(story.rows("select count(*) from c.dbo.t"), ["0"]);
    story.again(Again::StopStart, "d");
    story.run("use master");
    assert_eq!(story.rows(PROPERTIES), ["1 1 READ_ONLY SIMPLE"]);
    assert_eq!(story.rows("select databasepropertyex('d', 'IsClone')"), ["0"]);
}

#[test]
fn what_is_not_committed_is_not_cloned_and_nobody_waits() {
    let mut story = made();
    let mut other = story.beside();
    story::told(
        &mut other,
        "use d begin transaction create table pending (n int) alter table h add m int drop view v insert t (w) values ('p')",
    );
    story.run(CLONE);
    assert_eq!(story.rows("select name from c.sys.tables order by 1"), ["h", "t"]);
    assert_eq!(story.rows("select name from c.sys.views"), ["v"]);
    assert_eq!(
        story.rows("select count(*) from c.sys.columns where object_id = object_id('c.dbo.h')"),
        ["2"]
    );
    story::told(&mut other, "rollback");
    story.is_sound("c");
}

#[test]
fn what_cannot_be_cloned_has_a_number() {
    let mut story = made();
    story.run("create database s on (name = d, filename = 'c:\\s.ss') as snapshot of d");
    story.run("create database away alter database away set offline");
    let long = "n".repeat(124);
    let refused = [
        ("dbcc clonedatabase (nowhere, c)", &[911][..]),
        ("dbcc clonedatabase (master, c)", &[12603]),
        ("dbcc clonedatabase (msdb, c)", &[12603]),
        ("dbcc clonedatabase (s, c)", &[12605]),
        ("dbcc clonedatabase (away, c)", &[12604]),
        ("dbcc clonedatabase (d, s)", &[12608]),
        ("dbcc clonedatabase (d, D)", &[12608]),
        (&format!("dbcc clonedatabase (d, {long})"), &[12607]),
        ("dbcc clonedatabase (d)", &[2583]),
        ("dbcc clonedatabase (d, c, e)", &[2583]),
        ("dbcc clonedatabase (d, '')", &[2560]),
        ("dbcc clonedatabase (d, c) with verify_clonedb, servicebroker", &[12630]),
        ("dbcc checkdb (d) with no_statistics", &[2532]),
        ("begin transaction dbcc clonedatabase (d, c)", &[12601]),
    ];
    for (batch, numbers) in refused {
        assert_eq!(story.errors(batch), numbers, "{batch}");
        story.run("if @@trancount > 0 rollback");
    }
    assert_eq!(
        story.rows("select name from sys.databases where database_id > 4 order by 1"),
        ["away", "d", "s"]
    );
    story.run(CLONE);
    assert_eq!(story.errors(CLONE), [12608]);
    // A clone is a source like any other.
    story.run("dbcc clonedatabase (c, e)");
    assert_eq!(
        story.rows("select rows from e.sys.partitions where object_id = object_id('e.dbo.t') and index_id = 1"),
        ["1000"]
    );
}
