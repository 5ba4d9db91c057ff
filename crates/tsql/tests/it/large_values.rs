//! Values longer than a row, through T-SQL: written, read back, changed, rolled back, recovered, backed up, given back. And rows whose
//! columns together are longer than a page.
#![allow(clippy::unwrap_used)]

use crate::story;

use disk::sim::SimDisk;
use engine::log::LogPolicy;
use story::{Again, Story};

/// Bytes around every border: a row, a page, five pages (the most that a place names), a branch.
const SIZES: [usize; 9] = [0, 1, 8_000, 8_001, 8_088, 8_089, 40_440, 40_441, 100_000];

fn begin(policy: LogPolicy) -> Story {
    let mut story = Story::on(SimDisk::new(7), policy);
    story.run("create database big");
    story.run("use big");
    story
}

/// What tells a value from others, without the value: length, both ends, a digest.
const DIGEST: &str = "datalength(v), left(v, 3), right(v, 3), convert(char(40), hashbytes('SHA1', v), 2)";

/// The same of a variable.
fn digest_of_variable() -> String {
    DIGEST.replace("(v", "(@v").replace(", v)", ", @v)")
}

fn value_of(bytes: usize) -> String {
    format!("left('b' + replicate(convert(varchar(max), 'large-{bytes}-'), {bytes} / 8 + 2), {bytes})")
}

/// Pages of values in use, by the catalog views of the table `t`.
fn large_pages(story: &mut Story) -> String {
    story
        .rows("select sum(lob_used_page_count), sum(row_overflow_used_page_count) from sys.dm_db_partition_stats where object_id = object_id('t')")
        .join("")
}

#[test]
fn values_of_every_size_come_back_in_every_type_and_table() {
    for policy in [LogPolicy::native(), LogPolicy::classic()] {
        let mut story = begin(policy);
        for (kind, key) in [
            ("varchar", ""),
            ("nvarchar", "primary key"),
            ("varbinary", "primary key nonclustered"),
        ] {
            story.run(&format!("create table t (id int not null {key}, v {kind}(max), n int)"));
            for bytes in SIZES {
                let value = value_of(bytes);
                story.run(&format!("insert t values ({bytes}, convert({kind}(max), {value}), 1)"));
            }
            let expected: Vec<String> = SIZES
                .iter()
                .map(|bytes| {
                    let value = value_of(*bytes);
                    let digest = digest_of_variable();
                    let select =
                        format!("declare @v {kind}(max) = convert({kind}(max), {value}) select {bytes}, {digest}");
                    story.rows(&select).remove(0)
                })
                .collect();
            let found = |story: &mut Story| story.rows(&format!("select id, {DIGEST} from t order by id"));
            assert_eq!(found(&mut story), expected, "{kind}");
            // A column beside it changes, and the value stays.
            story.run("update t set n = n + 1");
            assert_eq!(found(&mut story), expected, "{kind}");
            for again in Again::ALL {
                story.again(again, "big");
                story.run("use big");
                assert_eq!(found(&mut story), expected, "{kind} {again:?}");
            }
            let change = format!(
                "begin tran update t set v = convert({kind}(max), replicate(convert(varchar(max), 'z'), 50000)) delete t where id > 8000 rollback"
            );
            story.run(&change);
            assert_eq!(found(&mut story), expected, "{kind}: rolled back");
            story.is_sound("big");
            story.run("drop table t");
            story.is_sound("big");
        }
    }
}

#[test]
fn pages_come_back_and_a_table_of_constant_size_keeps_it() {
    let mut story = begin(LogPolicy::native());
    for key in ["", "primary key"] {
        story.run(&format!("create table t (id int not null {key}, v varchar(max))"));
        let mut sizes = Vec::new();
        for _ in 0..6 {
            story.run(&format!(
                "declare @i int = 0 while @i < 10 begin insert t values (@i, {}) set @i += 1 end",
                value_of(60_000)
            ));
            story.run("update t set v = v + 'x'");
            story.run("delete t");
            sizes.push(
                story
                    .rows("select sum(total_pages) from sys.allocation_units where type = 2")
                    .remove(0),
            );
        }
        assert_eq!(sizes[2], sizes[5], "{sizes:?}");
        assert_ne!(sizes[5], "NULL");
        story.instance.database("big").unwrap().free_large_values().unwrap();
        assert_eq!(large_pages(&mut story), "1 0", "the extent list alone");
        let reserved = "select sum(total_pages) from sys.allocation_units where type = 2";
        assert_eq!(
            story.rows(reserved),
            ["8"],
            "its extent; the others went back to the file"
        );
        story.run(&format!("insert t values (1, {})", value_of(100_000)));
        assert_eq!(
            large_pages(&mut story),
            "15 0",
            "its list, 13 pages of the value, and the page that lists them"
        );
        story.run("truncate table t");
        assert_eq!(large_pages(&mut story), "0 0");
        story.is_sound("big");
        story.run("drop table t");
    }
}

/// Entries of extents that went back are used again, behind a restart too: lists do not grow, and no page is anybody's twice.
#[test]
fn extents_go_back_and_their_entries_are_used_again() {
    for policy in [LogPolicy::native(), LogPolicy::classic()] {
        let mut story = begin(policy);
        story.run("create table t (id int not null primary key, v varchar(max)) create table u (v varchar(max))");
        let mut largest = Vec::new();
        for (round, again) in Again::ALL.into_iter().cycle().take(9).enumerate() {
            let fill = value_of(70_000 + 9_000 * (round % 3));
            story.run(&format!(
                "declare @i int = 0 while @i < 30 begin insert t values (@i, {fill}) set @i += 1 end"
            ));
            story.run(&format!("delete t where id % 10 <> {round}"));
            story.instance.database("big").unwrap().free_large_values().unwrap();
            // What went back belongs to the other table.
            story.run(&format!(
                "declare @i int = 0 while @i < 20 begin insert u values ({fill}) set @i += 1 end"
            ));
            story.again(again, "big");
            story.run("use big");
            let lengths = story.rows("select datalength(v) from t union select datalength(v) from u");
            assert_eq!(
                lengths,
                [(70_000 + 9_000 * (round % 3)).to_string()],
                "{policy:?}, round {round}"
            );
            story.is_sound("big");
            largest.push(
                story
                    .rows("select size from sys.database_files where file_id = 1")
                    .remove(0),
            );
            story.run("delete t delete u");
            story.instance.database("big").unwrap().free_large_values().unwrap();
        }
        assert_eq!(largest[3], largest[8], "the file does not grow: {largest:?}");
        story.is_sound("big");
    }
}

/// A session that gave up a value had the latch of an extent list and waited for the unit's map, and the map's holder waited for the latch, to
/// enter an extent: both waited for ever, and with them everybody who wanted the table.
#[test]
fn sessions_write_and_give_up_values_beside_each_other() {
    let mut story = begin(LogPolicy::native());
    story.run("create table t (id int not null primary key, v varchar(max))");
    let workers: Vec<_> = (0..4)
        .map(|number| {
            let instance = story.instance.clone();
            std::thread::spawn(move || {
                let mut session = crate::transcript::session(&instance);
                let fill = value_of(150_000);
                let batch = format!(
                    "use big declare @i int = 0 while @i < 100 begin insert t values ({number} * 1000 + @i, {fill}) \
                     delete t where id = {number} * 1000 + @i - 2 set @i += 1 end"
                );
                story::told(&mut session, &batch)
            })
        })
        .collect();
    for worker in workers {
        let answer = worker.join().unwrap();
        assert!(!answer.contains("Msg "), "{answer}");
    }
    assert_eq!(story.rows("select count(*), min(datalength(v)) from t"), ["8 150000"]);
    story.is_sound("big");
}

#[test]
fn rows_longer_than_a_page_move_their_longest_columns() {
    let mut story = begin(LogPolicy::native());
    story.run("create table t (id int primary key, a varchar(5000), b nvarchar(3000), c varbinary(6000), d char(100))");
    story.run("insert t values (1, replicate('a', 5000), replicate(N'b', 3000), convert(varbinary(6000), replicate('c', 6000)), 'd')");
    story.run("insert t values (2, 'a', N'b', 0x63, 'd')");
    let lengths = "select id, datalength(a), datalength(b), datalength(c), left(a, 1), right(b, 1), substring(c, 6000, 1) from t order by id";
    let expected = ["1 5000 6000 6000 a b 63", "2 1 2 1 a b"];
    let found: Vec<String> = story
        .rows(lengths)
        .iter()
        .map(|row| row.replace("0x", "").trim().to_owned())
        .collect();
    assert_eq!(found, expected);
    assert_eq!(
        story.rows("select sum(row_overflow_used_page_count), sum(lob_used_page_count) from sys.dm_db_partition_stats where object_id = object_id('t')"),
        ["3 0"],
        "the list and two columns"
    );
    story.run("update t set a = 'short' where id = 1");
    story
        .run("update t set b = replicate(N'x', 3000), c = convert(varbinary(6000), replicate('y', 6000)) where id = 2");
    assert_eq!(
        story.rows("select id, len(a), len(b), datalength(c) from t order by id"),
        ["1 5 3000 6000", "2 1 3000 6000"]
    );
    story.is_sound("big");
    // What cannot move is refused.
    story.run("create table wide (a char(8000), b varchar(8000))");
    assert_eq!(
        story.errors("insert wide values ('a', replicate('b', 8000))"),
        [] as [i32; 0]
    );
    story.run("create table fixed (a char(8000), b varchar(24), c varchar(24), d varchar(24))");
    assert_eq!(
        story.errors("insert fixed values ('a', replicate('b', 24), replicate('c', 24), replicate('d', 24))"),
        [511]
    );
    story.is_sound("big");
}

/// The catalog shows 16 bytes as the length of text and its kin, the length of SQL Server's pointer: values are as long as others.
#[test]
fn text_ntext_and_image_are_large_values() {
    let mut story = begin(LogPolicy::native());
    for key in ["primary key", ""] {
        story.run(&format!(
            "create table t (id int not null {key}, a text, b ntext, c image)"
        ));
        story.run(
            "insert t select n, replicate(convert(varchar(max), 'a'), n * 20000), replicate(convert(nvarchar(max), N'b'), n * 20000),
                convert(varbinary(max), replicate(convert(varchar(max), 'c'), n * 20000)) from (values (1), (2)) as v (n)",
        );
        story.run("update t set a = 'short' where id = 1");
        let lengths = "select id, datalength(a), datalength(b), datalength(c) from t order by id";
        let expected = ["1 5 40000 20000", "2 40000 80000 40000"];
        assert_eq!(story.rows(lengths), expected, "{key}");
        story.again(Again::ALL[0], "big");
        story.run("use big");
        assert_eq!(story.rows(lengths), expected, "{key}");
        story.is_sound("big");
        story.run("drop table t");
    }
}

/// A tree's row lies on its page with its key.
#[test]
fn a_long_key_and_a_long_column_go_together() {
    let mut story = begin(LogPolicy::native());
    story.run("create table t (k char(900) primary key, v varchar(7000))");
    story.run("insert t values ('a', replicate('v', 7000)), ('b', replicate('w', 100))");
    story.run("update t set v = replicate('x', 7000) where k = 'b'");
    assert_eq!(
        story.rows("select len(v), left(v, 1) from t order by k"),
        ["7000 v", "7000 x"]
    );
    story.is_sound("big");
}

#[test]
fn statements_of_every_kind_carry_them() {
    let mut story = begin(LogPolicy::native());
    story.run("create table t (id int primary key, v varchar(max))");
    story.run(&format!(
        "insert t values (1, {}), (2, null), (3, 'short')",
        value_of(100_000)
    ));
    let digest = story.rows(&format!("select {DIGEST} from t where id = 1"));
    for (name, make) in [
        ("into_new", "select * into into_new from t"),
        (
            "in_tree",
            "create table in_tree (id int primary key, v varchar(max)) insert in_tree select * from t",
        ),
        (
            "in_heap",
            "create table in_heap (id int, v varchar(max)) insert in_heap with (tablock) select * from t",
        ),
        (
            "numbered",
            "create table numbered (n int identity primary key, id int, v varchar(max)) insert numbered select id, v from t",
        ),
        (
            "#temp",
            "create table #temp (id int, v varchar(max)) insert #temp select * from t",
        ),
    ] {
        story.run(make);
        assert_eq!(
            story.rows(&format!("select {DIGEST} from {name} where id = 1")),
            digest,
            "{name}"
        );
        assert_eq!(
            story.rows(&format!("select count(*), count(v) from {name}")),
            ["3 2"],
            "{name}"
        );
    }
    let rows = story.rows(&format!(
        "declare @v table (id int, v varchar(max)) insert @v select * from t select {DIGEST} from @v where id = 1"
    ));
    assert_eq!(rows, digest);
    let rows = story.rows(&format!(
        "declare @p varchar(max) select @p = v from t where id = 1 exec sp_executesql N'insert t values (4, @v)', N'@v varchar(max)', @v = @p select {DIGEST} from t where id = 4"
    ));
    assert_eq!(rows, digest);
    story.is_sound("big");
}

/// Many rows fill pages; sorts, joins, indexes and changed definitions carry the values.
#[test]
fn operators_and_indexes_carry_them() {
    let mut story = begin(LogPolicy::native());
    story.run("create table t (id int primary key, v varchar(max))");
    story.run(&format!(
        "insert t values (1, {}), (2, null), (3, 'short')",
        value_of(100_000)
    ));
    story.run("create table in_heap (id int, v varchar(max)) insert in_heap with (tablock) select * from t");
    story.run("insert in_heap select t.id + n.n, t.v from t cross join (select top 80 row_number() over (order by (select 1)) * 10 n from sys.all_columns) n where t.id = 1");
    story.run("select * into many from in_heap");
    assert_eq!(
        story.rows("select count(*), sum(datalength(v)) from many"),
        ["83 8100005"]
    );
    assert_eq!(
        story.rows("select top 1 id, len(v) from many order by v desc, id desc"),
        ["3 5"]
    );
    assert_eq!(
        story.rows("select count(*) from many a join t on a.v = t.v and t.id = 1"),
        ["81"]
    );
    story.run("create index i on t (id) include (v)");
    assert_eq!(
        story.rows("select len(v) from t with (index(i)) where id = 1"),
        ["100000"]
    );
    story.run("update t set v = v + 'y' where id = 1");
    assert_eq!(
        story.rows("select len(v), right(v, 1) from t with (index(i)) where id = 1"),
        ["100001 y"]
    );
    story.run("alter table t add more int");
    story.run("update t set more = 1");
    story.run("alter table t alter column more bigint");
    assert_eq!(story.rows("select len(v), more from t where id = 1"), ["100001 1"]);
    story.is_sound("big");
}

#[test]
fn functions_work_on_all_of_a_value() {
    let mut story = begin(LogPolicy::native());
    story.run("create table t (id int primary key, v varchar(max), n nvarchar(max), b varbinary(max))");
    story.run(
        "declare @v varchar(max) = replicate(convert(varchar(max), 'abcdefghij'), 10000) + 'needle' + replicate(convert(varchar(max), 'x'), 20000)
         insert t values (1, @v, @v, convert(varbinary(max), @v))",
    );
    for (what, expected) in [
        (
            "len(v), len(n), datalength(v), datalength(n), datalength(b)",
            "120006 120006 120006 240012 120006",
        ),
        ("charindex('needle', v), charindex(N'needle', n)", "100001 100001"),
        (
            "substring(v, 99999, 10), substring(n, 99999, 10)",
            "ijneedlexx ijneedlexx",
        ),
        (
            "case when v like '%needle%' then 1 else 0 end, case when n like N'%nadel%' then 1 else 0 end",
            "1 0",
        ),
        ("len(replace(v, 'abcdefghij', 'k'))", "30006"),
        ("len(v + v), len(replicate(v, 3))", "240012 360018"),
        (
            "len(upper(v)), len(reverse(n)), left(reverse(v), 2), patindex('%needle%', v)",
            "120006 120006 xx 100001",
        ),
        ("convert(char(40), hashbytes('SHA1', v), 2)", "7B"),
        (
            "len(ltrim(stuff(v, 1, 100000, ''))), left(stuff(v, 1, 100000, ''), 6)",
            "20006 needle",
        ),
    ] {
        let found = story.rows(&format!("select {what} from t"));
        match what.contains("hashbytes") {
            true => {
                let same = "select case when hashbytes('SHA1', v) = hashbytes('SHA1', convert(varchar(max), b)) then 1 else 0 end from t";
                assert_eq!((found[0].len(), story.rows(same)), (40, vec!["1".to_owned()]));
            }
            false => assert_eq!(found, [expected], "{what}"),
        }
    }
}

#[test]
fn a_backup_and_its_log_chain_carry_large_values() {
    for policy in [LogPolicy::native(), LogPolicy::classic()] {
        let mut story = begin(policy);
        story.run("alter database big set recovery full");
        story.run("create table t (id int primary key, v varchar(max))");
        story.run(&format!("insert t values (1, {})", value_of(100_000)));
        story.run("backup database big to disk = 'big.bak' with init");
        story.run(&format!("insert t values (2, {})", value_of(50_000)));
        story.run("update t set v = v + 'tail' where id = 1");
        story.run("backup log big to disk = 'big.trn' with init");
        let expected = story.rows(&format!("select id, {DIGEST} from t order by id"));
        story.run("update t set v = 'gone'");
        story.run("use master");
        story.run("restore database big from disk = 'big.bak' with replace, norecovery");
        story.run("restore log big from disk = 'big.trn' with recovery");
        story.run("use big");
        assert_eq!(story.rows(&format!("select id, {DIGEST} from t order by id")), expected);
        story.is_sound("big");
        story.run("delete t where id = 1");
        story.run(&format!("insert t values (1, {})", value_of(90_000)));
        story.is_sound("big");
    }
}

#[test]
fn write_replaces_parts_of_long_values() {
    let mut story = begin(LogPolicy::native());
    for (kind, key) in [
        ("varchar", "primary key"),
        ("nvarchar", ""),
        ("varbinary", "primary key"),
    ] {
        story.run(&format!("create table t (id int not null {key}, v {kind}(max))"));
        let text = |text: &str| format!("convert({kind}(max), convert(varchar(max), {text}))");
        let long = text("replicate(convert(varchar(max), 'abcde'), 20000)");
        story.run(&format!(
            "insert t values (1, {long}), (2, null), (3, {})",
            text("'short'")
        ));
        for (arguments, expected) in [
            ("'XYZ', 50000, 3", "100000"),
            ("'XYZ', 0, 0", "100003"),
            ("'tail', null, 7", "100007"),
            ("'end', 100000, 1000", "100003"),
            ("null, 99999, 5", "99999"),
            ("'more', 9000, null", "9004"),
            ("null, null, null", "9004"),
        ] {
            let (part, rest) = arguments.split_once(',').unwrap();
            let part = if part == "null" { part.to_owned() } else { text(part) };
            story.run(&format!("update t set v.write({part},{rest}) where id = 1"));
            let units = if kind == "nvarchar" { 2 } else { 1 };
            let length = format!("select datalength(v) / {units} from t where id = 1");
            assert_eq!(story.rows(&length), [expected], "{kind}: {arguments}");
        }
        let ends = "select convert(varchar(9), left(convert(nvarchar(max), convert(varchar(max), v)), 5)) + convert(varchar(9), right(convert(nvarchar(max), convert(varchar(max), v)), 5)) from t where id = 1";
        assert_eq!(story.rows(ends), ["XYZabbmore"], "{kind}");
        for (number, write) in [
            (7116, "v.write(null, 9005, 1)"),
            (7116, "v.write(null, -1, 1)"),
            (7135, "v.write(v, 0, -1)"),
            (258, "id.write(null, 0, 0)"),
        ] {
            assert_eq!(
                story.errors(&format!("update t set {write} where id = 1")),
                [number],
                "{kind}: {write}"
            );
        }
        assert_eq!(
            story.errors("update t set v.write(null, 0, 0) where id = 2"),
            [5302],
            "{kind}"
        );
        story.is_sound("big");
        story.run("drop table t");
    }
}

/// Rows of a former format get their unit of large values with their first one.
#[test]
fn tables_of_format_2_take_large_values() {
    for policy in [LogPolicy::native(), LogPolicy::classic()] {
        let disk = SimDisk::new(3);
        Story::unpacked(include_bytes!("../format_2/stopped.zst"), &disk);
        let mut story = Story::on(disk, policy);
        story.run("use old");
        let before = story.rows("select id, parent, name, code from child order by id");
        story.run("alter table child add v varchar(max)");
        story.run(&format!("update child set v = {}", value_of(100_000)));
        let digest = story.rows(&format!("select {DIGEST} from child order by id"));
        for again in Again::ALL {
            story.again(again, "old");
            story.run("use old");
            assert_eq!(
                story.rows(&format!("select {DIGEST} from child order by id")),
                digest,
                "{again:?}"
            );
            assert_eq!(
                story.rows("select id, parent, name, code from child order by id"),
                before
            );
            story.is_sound("old");
        }
    }
}

/// A statement may have the place of a value that another session gives up, and still reads it.
#[test]
fn a_value_that_is_given_up_stays_for_the_statements_that_may_read_it() {
    let mut story = begin(LogPolicy::native());
    story.run("create table t (id int primary key, v varchar(max))");
    story.run(&format!("insert t values (1, {})", value_of(100_000)));
    let digest = story.rows(&format!("select {DIGEST} from t"));
    let database = story.instance.database("big").unwrap();
    let object = database.catalog.find("dbo", "t", 0).unwrap();
    let table = engine::session::Table::open(&database, &object).unwrap();
    let reader = story.instance.open_session().unwrap();
    let locks = reader.locks().clone();
    let mut scan = table.scan(&locks, engine::store::ReadMode::Committed).unwrap();
    assert!(scan.next_batch().unwrap());
    // The reader has the row, and has not looked at its value yet.
    for _ in 0..3 {
        story.run("update t set v = replicate(convert(varchar(max), 'other'), 30000)");
        database.free_large_values().unwrap();
    }
    let value = table.layout().column(scan.row(0).unwrap(), 1).unwrap();
    let text = value.as_str().unwrap().to_owned();
    let digest_of_text = digest_of_variable();
    let found = story.rows(&format!("declare @v varchar(max) = '{text}' select {digest_of_text}"));
    assert_eq!(found, digest);
    drop(scan);
    locks.end_of_reading();
    assert!(database.free_large_values().unwrap() > 0, "nobody reads any more");
    story.is_sound("big");
}

/// CHARINDEX, PATINDEX and LIKE '%x%' read a long value in parts. What lies across two parts is found all the same, and a value is searched
/// that is longer than the server's memory.
#[test]
fn long_texts_are_searched_in_parts() {
    let mut story = begin(LogPolicy::native());
    story.run("create table t (id int not null primary key, v varchar(max) null, n nvarchar(max) null)");
    // The parts meet behind 1,048,576 characters; a smile is two units of UTF-16.
    for (id, before) in [(1, 1_048_570), (2, 1_048_575), (3, 1_048_577)] {
        story.run(&format!(
            "insert t select {id}, replicate(cast('a' as varchar(max)), {before}) + 'Needle' + replicate(cast('b' as varchar(max)), 9000),
             replicate(cast(N'a' as nvarchar(max)), {before} - 1001) + replicate(N'😀', 500) + N'aNeedle' + replicate(cast(N'b' as nvarchar(max)), 9000)"
        ));
    }
    story.run("insert t values (4, null, null)");
    let searches = [
        "charindex('needle', {})",
        "charindex('needle', {}, 1048574)",
        "charindex('bbc', {})",
        "patindex('%n_e[d-f]l%', {})",
        "patindex('%b[^b]%', {})",
        "iif({} like '%NEEDLE%', 1, 0)",
        "iif({} like '%aN%b', 1, 0)",
        "iif({} not like '%needless%', 1, 0)",
    ];
    for column in ["v", "n"] {
        let shown: Vec<String> = searches.iter().map(|search| search.replace("{}", column)).collect();
        let held = story.rows(&format!("select {} from t order by id", shown[..5].join(", ")));
        let whole: Vec<String> = (1..=4)
            .map(|id| {
                let kind = if column == "v" { "varchar" } else { "nvarchar" };
                let searched: Vec<String> = searches[..5].iter().map(|search| search.replace("{}", "@x")).collect();
                let batch = format!(
                    "declare @x {kind}(max) = (select {column} from t where id = {id}) select {}",
                    searched.join(", ")
                );
                story.rows(&batch).remove(0)
            })
            .collect();
        assert_eq!(held, whole, "{column}");
        let place = if column == "v" { 1_048_576 } else { 1_048_076 };
        assert!(held[1].starts_with(&format!("{place} ")), "{column} {held:?}");
        for (like, expected) in [
            ("'%NEEDLE%'", "3"),
            ("'%aN%b'", "3"),
            ("'%needless%'", "0"),
            ("'%e'", "0"),
        ] {
            let found = story.rows(&format!("select id from t where {column} like {like}"));
            assert_eq!(found.len().to_string(), expected, "{column} {like}");
        }
        let found = story.rows(&format!(
            "select id from t where charindex('needle', {column}) > {place} and {column} is not null"
        ));
        assert_eq!(found, ["3"], "{column}");
    }
    story.is_sound("big");
}

/// Where accents do not count, marks without a weight may stand between the letters of an occurrence: it is found where the parts of other texts meet.
#[test]
fn marks_that_do_not_count_hide_no_occurrence() {
    let mut story = begin(LogPolicy::native());
    story.run("create table t (v nvarchar(max) collate Latin1_General_CI_AI)");
    story.run(
        "insert t values (replicate(cast(N'x' as nvarchar(max)), 1048575) + N'a' + replicate(nchar(769), 5) + N'b'
            + replicate(cast(N'x' as nvarchar(max)), 1000))",
    );
    let found = story.rows("select charindex(N'ab', v), patindex(N'%ab%', v) from t where v like N'%ab%'");
    assert_eq!(found, ["1048576 1048576"]);
}

/// A value that is longer than the server's memory is searched all the same.
#[test]
fn a_text_is_searched_that_does_not_fit_into_memory() {
    let mut story = begin(LogPolicy::native());
    story.run("create table long (v varchar(max) not null) insert long values ('begin')");
    story.run(
        "declare @i int = 0 while @i < 24 begin update long set v.write(replicate(cast('x' as varchar(max)), 1000000), null, null) set @i += 1 end
         update long set v.write('end', null, null)",
    );
    let found =
        story.rows("select charindex('xend', v), patindex('%_END%', v), datalength(v) from long where v like '%xe%'");
    assert_eq!(found, ["24000005 24000005 24000008"]);
    assert_eq!(
        story.rows("select count(*), max(1) from long where v like '%xe%' or v is null"),
        ["1 1"]
    );
    assert_eq!(story.errors("select upper(v) from long"), [701]);
    story.is_sound("big");
}
