//! Cursors of every kind: WHERE CURRENT OF in every kind of table, keysets and dynamic cursors beside changes of others and against a model,
//! what a declaration becomes, the locks and comparisons of concurrency, cursor variables and parameters.
#![allow(clippy::unwrap_used)]

use crate::story;

use std::collections::BTreeMap;

use disk::sim::SimDisk;
use engine::log::LogPolicy;
use story::{Again, Story, numbers, told};

fn begin() -> Story {
    let mut story = Story::on(SimDisk::new(7), LogPolicy::native());
    story.run("create database d");
    story.run("use d");
    story
}

/// The rows of all results of a batch, which has no error.
fn values(story: &mut Story, batch: &str) -> Vec<String> {
    let text = story.answer(&format!("set nocount on {batch}"));
    assert!(numbers(&text).is_empty(), "{batch}: {text}");
    let lines = text.lines().map(str::trim);
    let rows = lines.filter(|line| !line.starts_with('[') && !line.starts_with('(') && !line.starts_with("Msg"));
    rows.map(|row| row.replace(" | ", " ")).collect()
}

/// The tables that a row is found again in: by its key, by a key that is not unique, by a key beside its place, by its place alone.
const TABLES: [&str; 5] = [
    "create table t (id int not null primary key, v int, w int default 0)",
    "create table t (id int not null, v int, w int default 0) create clustered index i on t (v)",
    "create table t (id int not null primary key nonclustered, v int, w int default 0)",
    "create table t (id int not null, v int, w int default 0) create index i on t (v)",
    "create table t (id int not null, v int, w int default 0)",
];

/// A loop over a cursor changes the rows it is at, and those alone; what it deletes is gone. So it is after a restart.
#[test]
fn the_row_that_a_cursor_is_at_is_changed() {
    for table in TABLES {
        for cursor in ["c", "global c", "@c"] {
            let mut story = begin();
            story.run(table);
            story.run("insert t (id, v) values (1, 10), (2, 20), (3, 30), (4, 40), (5, 50)");
            let declared = match cursor {
                "@c" => "declare @c cursor set @c = cursor for select id from t where v < 50",
                _ => "declare c cursor for select id from t where v < 50",
            };
            story.run(&format!(
                "{declared} declare @id int open {cursor} fetch next from {cursor} into @id
                 while @@fetch_status = 0 begin
                     if @id = 3 delete from t where current of {cursor}
                     else update t set w = w + @id output deleted.w, inserted.w where current of {cursor}
                     fetch next from {cursor} into @id
                 end
                 close {cursor} deallocate {cursor}"
            ));
            let expected = ["1 1", "2 2", "4 4", "5 0"];
            assert_eq!(
                story.rows("select id, w from t order by id"),
                expected,
                "{table} {cursor}"
            );
            story.again(Again::Kill, "d");
            story.run("use d");
            assert_eq!(
                story.rows("select id, w from t order by id"),
                expected,
                "{table} {cursor}"
            );
            story.is_sound("d");
        }
    }
}

/// A change through a cursor that fails is undone whole, and the cursor stays at its row.
#[test]
fn a_change_through_a_cursor_is_undone_with_its_transaction() {
    let mut story = begin();
    story.run("create table t (id int primary key, v int check (v < 100))");
    story.run("insert t values (1, 1), (2, 2)");
    story.run("declare c cursor scroll for select id, v from t order by id open c fetch c");
    assert_eq!(story.errors("update t set v = 100 where current of c"), [547]);
    story.run("begin tran update t set v = 7 where current of c rollback");
    assert_eq!(values(&mut story, "fetch relative 0 from c"), ["1 1"]);
    story.run("begin tran delete t where current of c rollback");
    assert_eq!(values(&mut story, "fetch first from c"), ["1 1"]);
    story.run("update t set v = 8 where current of c");
    assert_eq!(values(&mut story, "fetch first from c"), ["1 8"]);
}

/// Batches with the errors that they fail with.
const REFUSED: &[(&str, &[i32])] = &[
    ("delete t where current of c", &[16916]),
    ("declare @c cursor delete t where current of @c", &[16950]),
    ("declare @c int delete t where current of @c", &[16948]),
    (
        "declare c cursor static for select id from t open c fetch c delete t where current of c",
        &[16929],
    ),
    (
        "declare c cursor fast_forward for select id from t open c fetch c update t set v = 1 where current of c",
        &[16929],
    ),
    (
        "declare c cursor for select id from t for read only open c fetch c delete t where current of c",
        &[16929],
    ),
    (
        "declare c cursor for select id from t delete t where current of c",
        &[16917],
    ),
    (
        "declare c cursor for select id from t open c delete t where current of c",
        &[16931],
    ),
    (
        "declare c cursor for select id from t where id = 9 open c fetch c delete t where current of c",
        &[16931],
    ),
    (
        "declare c cursor for select id from t open c fetch c delete u where current of c",
        &[16933],
    ),
    (
        "declare c cursor for select id from t for update of v open c fetch c update t set id = 5 where current of c",
        &[16932],
    ),
    (
        "declare c cursor for select t.id from t join u on t.id = u.id for update of w open c fetch c delete t where current of c",
        &[16933],
    ),
    (
        "declare c cursor for select id from t with (nolock) open c fetch c delete t where current of c",
        &[16941],
    ),
    (
        "declare c cursor for select t.id, u.w from t left join u on t.id = u.id where t.id = 2 open c fetch c delete u where current of c",
        &[16947],
    ),
    (
        "declare c cursor scroll for select id from t order by id open c delete t where id = 1 fetch c delete t where current of c",
        &[16947],
    ),
    (
        "declare c cursor for select id from t open c fetch c delete t where id = 1 delete t where current of c",
        &[16947],
    ),
    (
        "declare c cursor for select id from t open c fetch c delete t where current of c delete t where current of c",
        &[16947],
    ),
    (
        "declare c cursor for select id from t open c fetch c update t set v = 0 where id = 1 update t set v = 1 where current of c",
        &[16947],
    ),
    ("declare c cursor for select id from t group by id for update", &[16957]),
    ("declare c cursor for select id from t for update of nowhere", &[207]),
    ("declare c cursor for select id into n from t", &[154]),
    (
        "declare c cursor for select id from t open c fetch absolute 1 from c",
        &[16925],
    ),
    (
        "declare c cursor for select id from t open c fetch prior from c",
        &[16911],
    ),
    ("declare c cursor for select id from t open c open c", &[16905]),
    ("declare c cursor for select id from t close c", &[16917]),
    ("declare c cursor for select id from t fetch c", &[16917]),
    (
        "declare c cursor for select id from t declare c cursor for select 1",
        &[16915],
    ),
    (
        "declare @x int, @y int declare c cursor for select id from t open c fetch c into @x, @y",
        &[16924],
    ),
    ("declare @c cursor select @c", &[16949]),
    ("declare @c cursor open @c", &[16950]),
    ("declare @c cursor, @c int", &[134]),
    ("open @c", &[137]),
    ("declare c cursor local global for select 1", &[1048]),
    ("declare c cursor static scroll_locks for select 1", &[1048]),
    ("declare c cursor fast_forward for select id from t for update", &[1048]),
    ("declare c scroll cursor static for select 1", &[1049]),
    ("declare c cursor read_only for select 1 for read only", &[1058]),
    ("declare c cursor insensitive for select 1", &[153]),
];

/// Each error with what leads to it, in the order in which they come.
#[test]
fn what_cannot_be_changed_through_a_cursor_is_an_error_of_its_own() {
    let mut story = begin();
    story.run("create table t (id int primary key, v int) create table u (id int primary key, w int)");
    for (batch, expected) in REFUSED {
        story.run("delete t delete u insert t values (1, 1), (2, 2) insert u values (1, 1)");
        assert_eq!(story.errors(batch), *expected, "{batch}");
        story.answer("deallocate c");
    }
}

/// What others change between FETCH and WHERE CURRENT OF is not overwritten: 16947 ends the statement, and 16934 says why.
#[test]
fn an_optimistic_cursor_refuses_a_row_that_has_changed() {
    for table in TABLES {
        let mut story = begin();
        story.run(table);
        story.run("insert t (id, v) values (1, 10), (2, 20)");
        let mut other = story.beside();
        told(&mut other, "use d");
        story.run("declare c cursor dynamic optimistic for select id from t open c fetch c");
        told(&mut other, "update t set w = 11 where id = 1");
        let text = story.answer("update t set w = 12 where current of c");
        assert_eq!(numbers(&text), [16947], "{table} {text}");
        assert!(text.contains("Msg 16934, Level 10"), "{text}");
        assert!(text.contains("statement has been terminated"), "{text}");
        // What is fetched again is what it is.
        story.run("fetch relative 0 from c update t set w = 13 where current of c");
        told(&mut other, "delete t where id = 1");
        assert_eq!(story.errors("delete t where current of c"), [16947], "{table}");
        assert_eq!(story.rows("select id, v from t"), ["2 20"], "{table}");
    }
}

/// Under SCROLL_LOCKS nobody else changes the row that a cursor is at, as long as its transaction goes on; the others are free.
#[test]
fn scroll_locks_keep_others_off_the_row() {
    for kind in ["keyset", "dynamic"] {
        let mut story = begin();
        story.run("create table t (id int primary key, v int) insert t values (1, 10), (2, 20)");
        let mut other = story.beside();
        told(&mut other, "use d set lock_timeout 0");
        story.run(&format!(
            "declare c cursor {kind} scroll_locks for select id, v from t order by id begin tran open c fetch c"
        ));
        assert_eq!(
            numbers(&told(&mut other, "update t set v = 11 where id = 1")),
            [1222],
            "{kind}"
        );
        assert!(
            numbers(&told(&mut other, "update t set v = 21 where id = 2")).is_empty(),
            "{kind}"
        );
        story.run("update t set v = 12 where current of c commit");
        assert!(
            numbers(&told(&mut other, "update t set v = 13 where id = 1")).is_empty(),
            "{kind}"
        );
        // Outside of a transaction the row is compared.
        story.run("fetch first from c");
        assert!(
            numbers(&told(&mut other, "update t set v = 14 where id = 1")).is_empty(),
            "{kind}"
        );
        assert_eq!(
            story.errors("update t set v = 15 where current of c"),
            [16947],
            "{kind}"
        );
        assert_eq!(
            story.rows("select id, v from t order by id"),
            ["1 14", "2 21"],
            "{kind}"
        );
    }
}

/// A keyset has the rows of the moment when it is opened, in that order, with the values that they have when they are fetched. One that is
/// gone, or whose key is another one, is -2; a key that is changed through the cursor is followed.
#[test]
fn a_keyset_keeps_its_members() {
    for table in [TABLES[0], TABLES[2]] {
        let mut story = begin();
        story.run(table);
        story.run("insert t (id, v) values (1, 30), (2, 20), (3, 10), (4, 5)");
        story.run("declare c cursor keyset for select id, v, v * 2 as x from t where v < 100 order by v desc open c");
        assert_eq!(story.rows("select @@cursor_rows"), ["4"]);
        story.run("insert t (id, v) values (0, 50) update t set v = 500 where id = 2 delete t where id = 3 update t set id = 40 where id = 4");
        let fetch = "fetch next from c select @@fetch_status";
        assert_eq!(values(&mut story, fetch), ["1 30 60", "0"], "{table}");
        assert_eq!(values(&mut story, fetch), ["2 500 1000", "0"], "{table}");
        assert_eq!(values(&mut story, fetch), ["0 NULL NULL", "-2"], "{table}");
        assert_eq!(values(&mut story, fetch), ["0 NULL NULL", "-2"], "{table}");
        assert_eq!(values(&mut story, fetch), ["-1"], "{table}");
        assert_eq!(values(&mut story, "fetch absolute 2 from c"), ["2 500 1000"], "{table}");
        story.run("update t set id = 22, v = 7 where current of c");
        assert_eq!(values(&mut story, "fetch relative 0 from c"), ["22 7 14"], "{table}");
        assert_eq!(
            values(&mut story, "fetch prior from c fetch last from c"),
            ["1 30 60", "0 NULL NULL"],
            "{table}"
        );
    }
}

/// The rows of a join are found again by all of its tables, and changed in each of them.
#[test]
fn a_keyset_of_a_join_finds_all_tables_again() {
    let mut story = begin();
    story.run("create table a (id int primary key, v int) create table b (id int primary key, a int, w int)");
    story.run("insert a values (1, 10), (2, 20), (3, 30) insert b values (7, 1, 70), (8, 1, 80), (9, 2, 90)");
    story.run(
        "declare c cursor scroll for select a.id, a.v, b.w from a left join b on b.a = a.id order by a.id, b.id open c",
    );
    assert_eq!(values(&mut story, "fetch c fetch c"), ["1 10 70", "1 10 80"]);
    story.run("update a set v = 11 where current of c update b set w = 81 where current of c");
    assert_eq!(values(&mut story, "fetch first from c fetch c"), ["1 11 70", "1 11 81"]);
    story.run("delete b where current of c");
    assert_eq!(
        values(&mut story, "fetch relative 0 from c select @@fetch_status"),
        ["0 NULL NULL", "-2"]
    );
    assert_eq!(
        values(&mut story, "fetch last from c select @@fetch_status"),
        ["3 30 NULL", "0"]
    );
    assert_eq!(story.errors("update b set w = 1 where current of c"), [16947]);
    story.run("delete a where current of c");
    assert_eq!(story.rows("select id, v from a order by id"), ["1 11", "2 20"]);
    // The first of several instances of a table is meant.
    story.run("declare s cursor scroll for select x.id, y.id from a x cross join a y where x.id <> y.id order by x.id open s fetch s");
    let text = story.answer("update a set v = 5 where current of s");
    assert!(
        text.contains("Msg 16961, Level 10") && numbers(&text).is_empty(),
        "{text}"
    );
    assert_eq!(story.rows("select id, v from a order by id"), ["1 5", "2 20"]);
}

/// A dynamic cursor meets rows that come before it gets there, and passes over those that go; it goes both ways.
#[test]
fn a_dynamic_cursor_sees_what_comes_and_goes() {
    let mut story = begin();
    story.run("create table t (id int primary key, v int) insert t values (10, 1), (20, 2), (30, 3)");
    story.run("declare c cursor dynamic for select id, v from t order by id open c");
    assert_eq!(values(&mut story, "fetch c select @@cursor_rows"), ["10 1", "-1"]);
    story.run("insert t values (15, 5), (5, 0) delete t where id = 20");
    assert_eq!(
        values(&mut story, "fetch c fetch c fetch c select @@fetch_status"),
        ["15 5", "30 3", "-1"]
    );
    assert_eq!(
        values(&mut story, "fetch prior from c fetch prior from c"),
        ["30 3", "15 5"]
    );
    assert_eq!(
        values(&mut story, "fetch first from c fetch last from c"),
        ["5 0", "30 3"]
    );
    assert_eq!(
        values(&mut story, "fetch relative -2 from c fetch relative 1 from c"),
        ["10 1", "15 5"]
    );
    story.run("delete t where id = 15");
    assert_eq!(
        values(&mut story, "fetch relative 0 from c select @@fetch_status"),
        ["0 NULL", "-2"]
    );
    assert_eq!(values(&mut story, "fetch next from c"), ["30 3"]);
    assert_eq!(
        values(&mut story, "fetch relative 5 from c select @@fetch_status"),
        ["-1"]
    );
    assert_eq!(values(&mut story, "close c open c fetch prior from c fetch c"), ["5 0"]);
}

/// Columns of a table, the order of a cursor over it, the column that it follows, and whether from the highest value on.
const WALKED: [(&str, &str, &str, bool); 3] = [
    ("id int primary key, v int", "", "id", false),
    ("id int primary key, v int, index i (v)", "order by v desc", "v", true),
    (
        "id int primary key nonclustered, v int, index i (v)",
        "order by v",
        "v",
        false,
    ),
];

/// A dynamic cursor against a model, over a clustered index, another index in both directions, and a heap, with rows that come, go and move.
#[test]
fn dynamic_cursors_walk_as_a_model_does() {
    for (columns, order, key, is_descending) in WALKED {
        let mut story = begin();
        story.run(&format!("create table t ({columns})"));
        story.run(&format!(
            "declare c cursor dynamic for select id from t where v % 7 <> 3 {order}"
        ));
        story.run("open c");
        // By the key that the cursor follows: the id.
        let mut model: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
        let sign = if is_descending { -1 } else { 1 };
        let mut state = 88_172_645_463_325_252_u64;
        let mut next = |bound: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % bound
        };
        let mut place: Option<i64> = None;
        let mut is_behind = false;
        let mut fetched = 0;
        for step in 0..600_i64 {
            match next(4) {
                0 => {
                    let v = next(100_000) as i64;
                    let at = if key == "v" { v } else { step };
                    if model.insert(sign * at, (step, v)).is_none() {
                        story.run(&format!("insert t values ({step}, {v})"));
                    } else {
                        story.run(&format!("delete t where {key} = {at} insert t values ({step}, {v})"));
                    }
                }
                1 if !model.is_empty() => {
                    let nth = next(model.len() as u64) as usize;
                    let at = *model.keys().nth(nth).unwrap();
                    model.remove(&at);
                    story.run(&format!("delete t where {key} = {}", sign * at));
                }
                direction => {
                    let is_back = direction == 2 && next(3) == 0;
                    let counts = |entry: &(&i64, &(i64, i64))| entry.1.1 % 7 != 3;
                    let found = match (is_back, place, is_behind) {
                        (false, _, true) | (true, None, false) => None,
                        (false, Some(place), _) => model.range(place + 1..).find(counts),
                        (false, None, false) => model.iter().find(counts),
                        (true, Some(place), _) => model.range(..place).rev().find(counts),
                        (true, None, true) => model.iter().rev().find(counts),
                    };
                    let found = found.map(|(at, (id, _))| (*at, *id));
                    let word = if is_back { "prior" } else { "next" };
                    let told = values(&mut story, &format!("fetch {word} from c"));
                    let expected: Vec<String> = found.iter().map(|(_, id)| id.to_string()).collect();
                    assert_eq!(told, expected, "{columns} {order} step {step} {word}");
                    fetched += expected.len();
                    place = found.map(|(at, _)| at);
                    is_behind = found.is_none() && !is_back;
                }
            }
        }
        assert!(fetched > 60, "{fetched}");
        story.is_sound("d");
    }
}

/// A heap of many pages is walked to its end and back, past rows that are deleted and pages that are given up.
#[test]
fn a_dynamic_cursor_walks_a_heap_of_many_pages() {
    let mut story = begin();
    story.run("create table t (id int, v char(900))");
    story.run("insert t select value, 'x' from generate_series(1, 400)");
    story.run("declare c cursor dynamic for select id from t open c");
    let forward = "declare @id int, @all varchar(max) = '', @n int = 0 fetch next from c into @id
         while @@fetch_status = 0 begin
             set @n += 1 set @all += concat(@id, ',')
             if @id % 3 = 0 delete t where current of c
             fetch next from c into @id
         end select @n, sum(cast(value as int)) from string_split(@all, ',') where value <> ''";
    let all = story.rows(forward);
    assert_eq!(all.len(), 1);
    assert!(all[0].starts_with("400 ") && all[0].ends_with(" 80200"), "{all:?}");
    let backward = forward.replace("next", "prior").replace("% 3", "% 5");
    let left = story.rows(&backward);
    assert!(left[0].starts_with("267 "), "{left:?}");
    let left = (1..=400).filter(|id| id % 3 != 0 && id % 5 != 0).count();
    assert_eq!(story.rows("select count(*) from t"), [left.to_string()]);
    story.is_sound("d");
}

/// What a declaration becomes, told by TYPE_WARNING (16956) and by the count of rows: -1 of a dynamic cursor.
#[test]
fn a_cursor_becomes_what_its_query_allows() {
    let mut story = begin();
    story.run("create table k (id int primary key, v int, w int, index i (v)) insert k values (1, 1, 1), (2, 2, 2)");
    story.run("create table h (id int, v int) insert h values (1, 1)");
    story.run("create view x as select id from k");
    let cases = [
        ("", "select id from k", false, -1),
        ("dynamic", "select id from k where v > 0", false, -1),
        ("dynamic", "select id from k order by id desc", false, -1),
        ("dynamic", "select id from k order by v", false, -1),
        ("dynamic", "select id from h", false, -1),
        ("dynamic", "select id from k order by w", true, 2),
        ("dynamic", "select top (1) id from k", true, 1),
        ("", "select id from k order by id offset 1 rows", true, 1),
        ("dynamic", "select id from h order by v", true, 1),
        ("scroll", "select id from k", false, 2),
        ("scroll", "select id from h", true, 1),
        ("keyset", "select k.id from k join h on h.id = k.id", true, 1),
        ("keyset", "select a.id from k a join k b on a.id = b.id", false, 2),
        ("keyset", "select distinct v from k", true, 2),
        ("keyset", "select count(*) from k", true, 1),
        ("dynamic", "select row_number() over (order by id) from k", true, 2),
        ("dynamic", "select id from k union all select id from h", true, 3),
        ("keyset", "select 1 as one", true, 1),
        ("keyset", "select id from x", true, 2),
        ("static", "select id from k", false, 2),
        ("fast_forward", "select id from k", false, -1),
        ("forward_only read_only", "select id from k", false, -1),
    ];
    for (options, query, warns, count) in cases {
        let text = story.answer(&format!("declare c cursor {options} type_warning for {query}"));
        assert_eq!(text.contains("Msg 16956, Level 10"), warns, "{options} {query}: {text}");
        assert_eq!(
            story.rows("open c select @@cursor_rows"),
            [count.to_string()],
            "{options} {query}"
        );
        story.run("fetch c close c open c deallocate c");
    }
}

/// The variables of a cursor's query have the values that they had at DECLARE, whatever they are set to, and wherever it is opened.
#[test]
fn a_cursor_keeps_the_variables_of_its_declaration() {
    let mut story = begin();
    story.run("create table t (id int primary key) insert t values (1), (2), (3)");
    for options in ["static", "keyset", "dynamic"] {
        let declared = format!(
            "declare @x int = 1 declare c cursor {options} for select id, @x from t where id > @x order by id set @x = 9 open c fetch c"
        );
        assert_eq!(values(&mut story, &declared), ["2 1"], "{options}");
        assert_eq!(
            values(&mut story, "declare @y varchar(5) = 'y' fetch c close c open c fetch c"),
            ["3 1", "2 1"]
        );
        story.run("deallocate c");
    }
    // The batch has its own values again behind each FETCH, and behind one that fails.
    let own = "declare @x int = 1 declare d cursor dynamic for select 6 / (id - 3) from t where id > @x set @x = 9 open d fetch d
         select @x begin try fetch d end try begin catch end catch select @x deallocate d";
    assert_eq!(values(&mut story, own), ["-6", "9", "9"]);
    story.run("declare @t table (a int) insert @t values (1) declare c cursor global static for select a from @t open c fetch c close c");
    assert_eq!(story.errors("open c"), [16946]);
}

/// A keyset and a dynamic cursor fail when a table of theirs is redefined, and go on past any other definition.
#[test]
fn a_table_that_is_redefined_ends_a_cursor_over_it() {
    for options in ["keyset", "dynamic"] {
        let mut story = begin();
        story.run("create table t (id int primary key, v int) insert t values (1, 1), (2, 2), (3, 3)");
        story.run(&format!(
            "declare c cursor {options} for select id from t open c fetch c"
        ));
        story.run("create table other (a int)");
        assert_eq!(values(&mut story, "fetch c"), ["2"], "{options}");
        story.run("alter table t add w int");
        assert_eq!(story.errors("fetch c"), [16943], "{options}");
        assert_eq!(values(&mut story, "close c open c fetch c"), ["1"], "{options}");
    }
}

/// Variables share a cursor with its position, and it goes with the last of them.
#[test]
fn cursor_variables_share_a_cursor() {
    let mut story = begin();
    story.run("create table t (id int primary key) insert t values (1), (2), (3)");
    let told = values(
        &mut story,
        "declare @a cursor, @b cursor select cursor_status('variable', '@a')
         set @a = cursor local static for select id from t order by id set @b = @a
         select cursor_status('variable', '@b') open @a select cursor_status('variable', '@b')
         fetch @a fetch @b deallocate @a select cursor_status('variable', '@a') fetch @b close @b
         select cursor_status('variable', '@b') deallocate @b
         declare g cursor for select id from t set @a = g open g fetch @a deallocate g fetch @a",
    );
    assert_eq!(told, ["-2", "-1", "1", "1", "2", "-2", "3", "-1", "1", "2"]);
    assert_eq!(story.rows("select cursor_status('global', 'g')"), ["-3"]);
    assert_eq!(
        story.rows("declare c cursor static for select 1 where 1 = 0 open c select cursor_status('global', 'c')"),
        ["0"]
    );
}

/// A procedure gives its caller a cursor, if that is open, and no other way.
#[test]
fn a_procedure_gives_a_cursor_to_its_caller() {
    let mut story = begin();
    story.run("create table t (id int primary key, v int) insert t values (1, 1), (2, 2), (3, 3)");
    story.run(
        "create procedure p @from int, @c cursor varying output as
         set @c = cursor scroll for select id from t where id >= @from order by id open @c fetch next from @c",
    );
    let loops = "declare @x cursor, @id int exec p 2, @x output
         fetch next from @x into @id while @@fetch_status = 0 begin
             update t set v = 9 where current of @x fetch next from @x into @id end select cursor_status('variable', '@x')";
    assert_eq!(values(&mut story, loops), ["2", "1"]);
    assert_eq!(story.rows("select id, v from t order by id"), ["1 1", "2 2", "3 9"]);
    let by_name = "declare @x cursor exec p @c = @x output, @from = 3 select cursor_status('variable', '@x')";
    assert_eq!(values(&mut story, by_name), ["3", "1"]);
    let text = "declare @x cursor exec sp_executesql N'set @c = cursor for select 7 open @c', N'@c cursor varying output', @x output fetch @x";
    assert_eq!(values(&mut story, text), ["7"]);
    // Without OUTPUT, and closed, none comes back.
    assert_eq!(
        values(
            &mut story,
            "declare @x cursor exec p 3, @x select cursor_status('variable', '@x')"
        ),
        ["3", "-2"]
    );
    story.run("create procedure q @c cursor varying output as set @c = cursor for select 1");
    assert_eq!(
        values(
            &mut story,
            "declare @x cursor exec q @x output select cursor_status('variable', '@x')"
        ),
        ["-2"]
    );
    let cases = [
        ("declare @x int exec p 1, @x output", vec![206]),
        ("exec p 1", vec![201]),
        (
            "declare @x cursor set @x = cursor for select 1 exec p 1, @x output",
            vec![16951],
        ),
        ("declare @x cursor exec p @x, @x output", vec![16949]),
        ("create procedure r @c cursor as return", vec![1051]),
        ("create procedure r @c cursor output varying as return", vec![1051]),
        (
            "create function f (@c cursor varying output) returns int as begin return 1 end",
            vec![40517],
        ),
    ];
    for (batch, expected) in cases {
        assert_eq!(story.errors(batch), expected, "{batch}");
    }
    let cursors =
        "select is_cursor_ref, is_output from sys.parameters where object_id = object_id('p') order by parameter_id";
    assert_eq!(story.rows(cursors), ["0 0", "1 1"]);
}

/// Triggers, computed columns, checks and foreign keys see a change through a cursor as any other.
#[test]
fn a_change_through_a_cursor_passes_all_stations() {
    let mut story = begin();
    story.run("create table p (id int primary key) insert p values (1), (2)");
    story.run("create table t (id int primary key, v int references p, w as v * 10 persisted, r rowversion) create table seen (what varchar(9), v int)");
    story.run("create trigger tr on t after update, delete as insert seen select 'new', v from inserted insert seen select 'old', v from deleted");
    story.run("insert t (id, v) values (1, 1), (2, 2)");
    story.run("declare c cursor for select id from t for update of v open c fetch c");
    assert_eq!(story.errors("update t set v = 3 where current of c"), [547]);
    story.run("update t set v = 2 where current of c");
    assert_eq!(story.rows("select id, v, w from t order by id"), ["1 2 20", "2 2 20"]);
    story.run("delete t where current of c");
    assert_eq!(story.rows("select what, v from seen"), ["new 2", "old 1", "old 2"]);
}

/// `sp_cursor_list` and `sp_describe_cursor` tell what each cursor is, through a cursor of their own.
#[test]
fn procedures_tell_of_cursors() {
    let mut story = begin();
    story.run("create table t (id int primary key, v int) insert t values (1, 1), (2, 2)");
    let told = "declare @told cursor exec sp_describe_cursor @told output, 'global', 'G' fetch @told";
    story.run("declare G cursor keyset scroll_locks for select id, v from t");
    assert_eq!(values(&mut story, told), ["G G 2 -1 2 2 1 0 0 -9 0 0 0 0"]);
    story.run("open g fetch last from g");
    assert_eq!(values(&mut story, told), ["G G 2 1 2 2 1 1 2 0 2 1 2 0"]);
    story.run("update t set v = 3 where current of g");
    assert_eq!(values(&mut story, told), ["G G 2 1 2 2 1 1 2 0 2 1 4 0"]);
    let list = "declare @a cursor, @told cursor set @a = cursor local dynamic for select id from t open @a
         declare l cursor local fast_forward for select 1 exec sp_cursor_list @cursor_return = @told output, @cursor_scope = %
         fetch @told while @@fetch_status = 0 fetch @told";
    let global = "G G 2 1 2 2 1 1 2 0 2 1 4 0";
    let locals = ["@a @a 1 1 3 3 1 1 -1 -9 1 0 1 0", "l l 1 -1 4 1 0 0 0 -9 0 0 0 0"];
    assert_eq!(values(&mut story, &list.replace('%', "1")), locals);
    assert_eq!(values(&mut story, &list.replace('%', "2")), [global]);
    assert_eq!(
        values(&mut story, &list.replace('%', "3")),
        [locals[0], global, locals[1]]
    );
    let cases = [
        ("exec sp_cursor_list", vec![201]),
        ("declare @x cursor exec sp_cursor_list @x output, 4", vec![16902]),
        (
            "declare @x cursor exec sp_describe_cursor @x output, 'nowhere', 'g'",
            vec![16902],
        ),
        (
            "declare @x cursor exec sp_describe_cursor @x output, 'local', 'g'",
            vec![16916],
        ),
        (
            "declare @x int exec sp_describe_cursor @x output, 'global', 'g'",
            vec![206],
        ),
    ];
    for (batch, expected) in cases {
        assert_eq!(story.errors(batch), expected, "{batch}");
    }
}

/// FETCH reads by the session's level: it waits for a row that another transaction has changed, keeps the lock of a row it has read, or
/// reads the row's version.
#[test]
fn a_fetch_reads_by_the_level_of_its_session() {
    for kind in ["keyset", "dynamic"] {
        let mut story = begin();
        story.run("create table t (id int primary key, v int) insert t values (1, 10), (2, 20)");
        let mut other = story.beside();
        told(&mut other, "use d set lock_timeout 0");
        story.run(&format!(
            "set lock_timeout 0 declare c cursor {kind} for select id, v from t order by id open c"
        ));
        told(&mut other, "begin tran update t set v = 11 where id = 1");
        assert_eq!(story.errors("fetch first from c"), [1222], "{kind}");
        assert_eq!(
            values(
                &mut story,
                "set transaction isolation level read uncommitted fetch first from c"
            ),
            ["1 11"],
            "{kind}"
        );
        told(&mut other, "rollback");
        story.run("set transaction isolation level repeatable read begin tran fetch first from c");
        assert_eq!(
            numbers(&told(&mut other, "update t set v = 12 where id = 1")),
            [1222],
            "{kind}"
        );
        story.run("commit set transaction isolation level read committed close c");
        assert!(
            numbers(&told(&mut other, "update t set v = 12 where id = 1")).is_empty(),
            "{kind}"
        );
        drop(other);
        story.run("alter database d set read_committed_snapshot on open c");
        let mut other = story.beside();
        told(&mut other, "use d begin tran update t set v = 13 where id = 1");
        assert_eq!(values(&mut story, "fetch first from c"), ["1 12"], "{kind}");
        told(&mut other, "commit");
        assert_eq!(values(&mut story, "fetch first from c"), ["1 13"], "{kind}");
    }
}

/// A trigger of a change through a cursor may fetch from that cursor, or close it: what the cursor is at afterwards is what the trigger left.
#[test]
fn a_trigger_may_move_the_cursor_that_its_change_came_through() {
    let mut story = begin();
    story.run("create table t (id int primary key, v int) insert t values (1, 1), (2, 2), (3, 3)");
    story.run("create trigger tr on t after update as declare @id int, @v int fetch next from c into @id, @v");
    story.run("declare c cursor global scroll for select id, v from t order by id open c fetch c update t set v = 10 where current of c");
    assert_eq!(values(&mut story, "fetch relative 0 from c"), ["2 2"]);
    story.run("delete t where current of c");
    assert_eq!(story.rows("select id, v from t order by id"), ["1 10", "3 3"]);
    story.run("alter trigger tr on t after update as close c");
    story.run("close c open c fetch last from c update t set v = 30 where current of c");
    assert_eq!(story.errors("update t set v = 31 where current of c"), [16917]);
    assert_eq!(story.errors("open c delete t where current of c"), [16931]);
    assert_eq!(story.rows("select id, v from t order by id"), ["1 10", "3 30"]);
}

/// A long value that another session changes in place is a change of the row.
#[test]
fn a_long_value_changed_outside_is_noticed() {
    let mut story = begin();
    story.run("create table t (id int primary key, x varchar(max)) insert t values (1, replicate(cast('a' as varchar(max)), 100000))");
    let mut other = story.beside();
    told(&mut other, "use d");
    story.run("declare c cursor for select id from t open c fetch c");
    assert!(numbers(&told(&mut other, "update t set x.write('b', 50000, 1) where id = 1")).is_empty());
    assert_eq!(story.errors("update t set x = 'short' where current of c"), [16947]);
    assert_eq!(story.rows("select datalength(x) from t"), ["100000"]);
}

/// A row that SCROLL_LOCKS has locked in a transaction that has ended, or in none, is compared: in a heap its place may be another row's.
#[test]
fn scroll_locks_of_a_transaction_that_has_ended_protect_nothing() {
    for fetch in ["fetch c", "begin tran fetch c commit"] {
        for change in [
            "update t set v = 100 where id = 1",
            "delete t where id = 1 insert t values (9, 9)",
        ] {
            let mut story = begin();
            story.run("create table t (id int not null, v int) insert t values (1, 10)");
            let mut other = story.beside();
            told(&mut other, "use d");
            story.run(&format!(
                "declare c cursor scroll_locks dynamic for select v from t open c {fetch}"
            ));
            told(&mut other, change);
            let before = story.rows("select id, v from t");
            assert_eq!(
                story.errors("begin tran update t set v = 7 where current of c"),
                [16947],
                "{fetch} {change}"
            );
            assert_eq!(story.errors("delete t where current of c"), [16947], "{fetch} {change}");
            story.run("commit");
            assert_eq!(story.rows("select id, v from t"), before, "{fetch} {change}");
        }
    }
}

/// Where a trigger runs in place of the change, the cursor stays at its row, whatever key the statement has named.
#[test]
fn an_instead_of_trigger_leaves_the_cursor_where_it_is() {
    for kind in ["keyset", "dynamic"] {
        let mut story = begin();
        story.run("create table t (id int primary key, v int) insert t values (1, 1), (2, 2)");
        story.run("create trigger i on t instead of update as return");
        story.run(&format!("declare c cursor {kind} for select id from t order by id open c fetch c update t set id = 2 where current of c"));
        assert_eq!(values(&mut story, "fetch relative 0 from c"), ["1"], "{kind}");
        story.run("delete t where current of c");
        assert_eq!(story.rows("select id from t"), ["2"], "{kind}");
    }
}

/// Under another definition a locator leads to another row, or to none: the change fails by 16943.
#[test]
fn a_redefined_table_is_not_changed_through_a_cursor() {
    let cases = [
        (
            "create table t (id int not null primary key nonclustered, v int not null)",
            "create clustered index x on t (v)",
        ),
        (
            "create table t (id int not null constraint pk primary key, v int not null)",
            "alter table t drop constraint pk alter table t add primary key (v)",
        ),
    ];
    for (table, redefinition) in cases {
        let mut story = begin();
        story.run(table);
        story.run("insert t values (2, 1), (1, 2)");
        story.run("declare c cursor dynamic scroll_locks for select id from t where id = 2 open c begin tran fetch c");
        story.run(redefinition);
        assert_eq!(story.errors("delete t where current of c"), [16943], "{table}");
        assert_eq!(
            story.errors("update t set v = 5 where current of c"),
            [16943],
            "{table}"
        );
        story.run("commit");
        assert_eq!(story.rows("select id, v from t order by id"), ["1 2", "2 1"], "{table}");
    }
}

/// A row that has changed since the snapshot cannot be locked under it: 3960, not a wait for a state that never comes.
#[test]
fn scroll_locks_under_snapshot_fail_for_a_changed_row() {
    for kind in ["keyset", "dynamic"] {
        let mut story = begin();
        story.run("create table t (id int primary key, v int) insert t values (1, 1), (2, 2)");
        story.run("alter database d set allow_snapshot_isolation on");
        let mut other = story.beside();
        told(&mut other, "use d");
        story.run(&format!(
            "declare c cursor {kind} scroll_locks for select id from t order by id open c"
        ));
        story.run("set transaction isolation level snapshot begin tran select count(*) from t");
        told(&mut other, "update t set v = 5 where id = 1");
        assert_eq!(story.errors("fetch c"), [3960], "{kind}");
    }
}

/// A FETCH that fails leaves the cursor at its place: the next one gets the row that it did not. There is no row to be changed meanwhile.
#[test]
fn a_fetch_that_fails_passes_over_no_row() {
    for kind in ["keyset", "dynamic"] {
        let mut story = begin();
        story.run("create table t (id int primary key, v int) insert t select value, 0 from generate_series(1, 3)");
        let mut other = story.beside();
        story.run(&format!(
            "set lock_timeout 0 declare c cursor {kind} for select id from t order by id open c fetch c"
        ));
        told(&mut other, "use d begin tran update t set v = 1");
        assert_eq!(story.errors("fetch c"), [1222], "{kind}");
        assert_eq!(story.errors("delete t where current of c"), [16931], "{kind}");
        told(&mut other, "rollback");
        assert_eq!(values(&mut story, "fetch c fetch c"), ["2", "3"], "{kind}");
    }
}
