//! Partitioned tables beside tables of the same rows without partitions: random changes and queries answer alike. Partition functions and
//! schemes, SPLIT, MERGE, SWITCH, TRUNCATE of partitions, what is refused, and a power cut at every operation of the statements. Prints the counts.
//!
//! Depth: one operation in 8; deep: every one.
#![allow(clippy::unwrap_used)]

use crate::story::{Again, Story, cut_everywhere, numbers, told};
use crate::transcript;

use disk::sim::SimDisk;
use engine::log::LogPolicy;

const FUNCTIONS: &str = "use d create partition function l (int) as range left for values (10, 20, 30)
    create partition function r (int) as range right for values (10, 20, 30)
    create partition scheme sl as partition l to (a, b, a, [primary])
    create partition scheme sr as partition r all to (b)";

pub fn policies() -> [LogPolicy; 2] {
    [LogPolicy::native(), LogPolicy::classic()]
}

pub fn with_functions(policy: LogPolicy) -> Story {
    let mut story = Story::on(SimDisk::new(5), policy);
    story.run(
        "create database d on primary (name = d, filename = 'd.mdf', size = 2 MB),
         filegroup a (name = a1, filename = 'a1.ndf', size = 1 MB), filegroup b (name = b1, filename = 'b1.ndf', size = 1 MB)
         log on (name = d_log, filename = 'd.ldf', size = 4 MB)",
    );
    story.run(FUNCTIONS);
    story
}

/// The rows of each partition of a table's heap or clustered index.
pub fn counts(story: &mut Story, table: &str) -> Vec<String> {
    story.rows(&format!(
        "select partition_number, rows from d.sys.partitions where object_id = object_id('d.dbo.{table}') and index_id < 2 order by partition_number"
    ))
}

#[test]
fn rows_go_to_the_partition_of_their_value() {
    for policy in policies() {
        let mut story = with_functions(policy);
        story.run(
            "use d create table hl (id int, v varchar(20)) on sl (id)
             create table hr (id int, v varchar(20)) on sr (id)
             create table c (id int not null primary key, v varchar(20), index i (v)) on sl (id)
             create table n (k int not null, id int not null, v varchar(20), constraint pk primary key (k, id)) on sr (id)
             insert hl values (null, 'n'), (5, 'a'), (10, 'b'), (11, 'c'), (20, 'd'), (30, 'e'), (31, 'f')
             insert hr select * from hl insert c select * from hl where id is not null insert n select 100 - id, id, v from hl where id is not null",
        );
        assert_eq!(counts(&mut story, "hl"), ["1 3", "2 2", "3 1", "4 1"]);
        assert_eq!(counts(&mut story, "hr"), ["1 2", "2 2", "3 1", "4 2"]);
        assert_eq!(counts(&mut story, "c"), ["1 2", "2 2", "3 1", "4 1"]);
        assert_eq!(
            story.rows("select p.partition_number, f.name from d.sys.partitions p join d.sys.allocation_units u on u.container_id = p.hobt_id join d.sys.filegroups f on f.data_space_id = u.data_space_id where p.object_id = object_id('d.dbo.c') and p.index_id = 2 order by 1"),
            ["1 a", "2 b", "3 a", "4 PRIMARY"]
        );
        for how in Again::ALL {
            story.again(how, "d");
            assert_eq!(story.rows("select id, v from d.dbo.c where v = 'd'"), ["20 d"]);
            assert_eq!(
                story.rows("select id from d.dbo.n order by k"),
                ["31", "30", "20", "11", "10", "5"]
            );
            assert_eq!(
                story.rows("select id from d.dbo.c order by id desc"),
                ["31", "30", "20", "11", "10", "5"]
            );
            assert_eq!(
                story.rows("select id from d.dbo.c where id between 10 and 20 order by id"),
                ["10", "11", "20"]
            );
            assert_eq!(story.rows("select top 1 v from d.dbo.c order by v desc"), ["f"]);
            assert_eq!(counts(&mut story, "hr"), ["1 2", "2 2", "3 1", "4 2"]);
            story.is_sound("d");
        }
        // A row moves with its value; a rollback brings it back.
        story.run("use d begin transaction update c set id = 32 where id = 5 update hl set id = 15 where id is null");
        assert_eq!(counts(&mut story, "c"), ["1 1", "2 2", "3 1", "4 2"]);
        assert_eq!(counts(&mut story, "hl"), ["1 2", "2 3", "3 1", "4 1"]);
        story.run("use d rollback");
        assert_eq!(counts(&mut story, "hl"), ["1 3", "2 2", "3 1", "4 1"]);
        assert_eq!(story.errors("use d update c set id = 30 where id = 31"), [2627]);
        // All rows are found before the first moves.
        story.run("use d update hl set id = id + 10 update n set id = id + 10");
        assert_eq!(
            story.rows("select id from d.dbo.hl order by id"),
            ["NULL", "15", "20", "21", "30", "40", "41"]
        );
        assert_eq!(
            story.rows("select id from d.dbo.n order by id"),
            ["15", "20", "21", "30", "40", "41"]
        );
        story.run("use d delete c where id > 15 truncate table hr");
        assert_eq!(counts(&mut story, "c"), ["1 2", "2 1", "3 0", "4 0"]);
        assert_eq!(counts(&mut story, "hr"), ["1 0", "2 0", "3 0", "4 0"]);
        story.is_sound("d");
    }
}

/// Numbers that look random, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// The tables: how the partitioned one is made, and the other.
const TABLES: [(&str, &str); 5] = [
    (
        "(id int, k int not null, v varchar(300)) on sl (id)",
        "(id int, k int not null, v varchar(300))",
    ),
    (
        "(id int, k int not null, v varchar(300), index c clustered (k), index n (v, id)) on sr (id)",
        "(id int, k int not null, v varchar(300), index c clustered (k), index n (v, id))",
    ),
    (
        "(id int, k int not null, v varchar(300), index c clustered (id desc), index n (k)) on sl (id)",
        "(id int, k int not null, v varchar(300), index c clustered (id desc), index n (k))",
    ),
    (
        "(id int, k int not null, v varchar(300), index n (id, k) include (v), index m (k desc)) on sr (id)",
        "(id int, k int not null, v varchar(300), index n (id, k) include (v), index m (k desc))",
    ),
    (
        "(id int, k int not null, v varchar(max), w varchar(8000) default replicate('w', 5000), index c clustered (k, id), index n (id)) on sl (id)",
        "(id int, k int not null, v varchar(max), w varchar(8000) default replicate('w', 5000), index c clustered (k, id), index n (id))",
    ),
];

const QUERIES: [&str; 14] = [
    "select id, k, v from @ order by id, k, v",
    "select k from @ order by k",
    "select top 5 k, id from @ order by k desc, id desc",
    "select top 3 id from @ where id > 12 order by id",
    "select id, count(*), min(k), max(v) from @ group by id order by id",
    "select min(id), max(id), min(k), max(k) from @",
    "select count(*) from @ where id between 9 and 21",
    "select k from @ where id = 20 or id = 30 order by k",
    "select k from @ where id is null order by k",
    "select k, v from @ where k in (3, 5, 8, 13) order by k, v",
    "select count(*) from @ x join @ y on x.id = y.id where x.k < y.k",
    "select distinct v from @ order by v",
    "select count(*) from @ x where exists (select 1 from @ y where y.k = x.k + 1)",
    "select k, row_number() over (partition by id order by k, v) from @ order by id, k, v",
];

#[test]
fn partitioned_tables_answer_as_others() {
    for (seed, (parted, plain)) in TABLES.into_iter().enumerate() {
        let policy = policies()[seed % 2];
        let mut story = with_functions(policy);
        story.run(&format!("use d create table p {parted} create table q {plain}"));
        let mut numbers = Numbers(seed as u64 + 1);
        for round in 0..40 {
            let (id, k, delta) = (numbers.below(45), numbers.below(30), numbers.below(25) as i64 - 12);
            let id = if id == 44 { "null".to_owned() } else { id.to_string() };
            let change = match numbers.below(7) {
                0..=2 => format!(
                    "insert @ (id, k, v) values ({id}, {k}, replicate('{}', {})), ({}, {k} + 1, 'w')",
                    ["a", "b", "c"][round % 3],
                    numbers.below(280),
                    numbers.below(44)
                ),
                3 => format!("update @ set id = id + {delta} where k < {k}"),
                4 => format!("update @ set k = k + 1, v = 'changed' where id >= {id}"),
                5 => format!("delete @ where k = {k} or id = {id}"),
                _ => format!("insert @ (id, k, v) select top 7 id + 3, k, v from @ where k > {k} order by k, id, v"),
            };
            let whole = match numbers.below(5) {
                0 => format!("begin transaction {change} rollback"),
                _ => change,
            };
            for table in ["p", "q"] {
                story.run(&format!("use d {}", whole.replace('@', table)));
            }
            let query = QUERIES[round % QUERIES.len()];
            let answers = ["d.dbo.p", "d.dbo.q"].map(|table| story.rows(&query.replace('@', table)));
            assert_eq!(
                answers[0], answers[1],
                "{parted}, round {round}: {query}, after {whole}"
            );
            if round % 13 == 12 {
                story.again(Again::ALL[round % 3], "d");
                story.is_sound("d");
            }
        }
        story.run("use d alter partition scheme sl next used b alter partition function l () split range (15)");
        story
            .run("use d alter partition function r () merge range (20) alter partition function l () merge range (30)");
        for query in QUERIES {
            let answers = ["d.dbo.p", "d.dbo.q"].map(|table| story.rows(&query.replace('@', table)));
            assert_eq!(answers[0], answers[1], "{parted}: {query}");
        }
        story.run("use d alter table p rebuild");
        let all = ["d.dbo.p", "d.dbo.q"].map(|table| story.rows(&QUERIES[0].replace('@', table)));
        assert_eq!(all[0], all[1], "{parted}");
        story.is_sound("d");
    }
}

#[test]
fn split_and_merge_move_rows() {
    for policy in policies() {
        let mut story = with_functions(policy);
        story.run(
            "use d create table tl (id int not null primary key, v char(100)) on sl (id)
             create table tr (id int not null, v char(100), index i (v)) on sr (id)
             declare @i int = 0 while @i < 40 begin insert tl values (@i, 'x') insert tr values (@i, 'x') set @i += 1 end",
        );
        assert_eq!(counts(&mut story, "tl"), ["1 11", "2 10", "3 10", "4 9"]);
        assert_eq!(counts(&mut story, "tr"), ["1 10", "2 10", "3 10", "4 10"]);
        assert_eq!(
            story.errors("use d alter partition function l () split range (15)"),
            [7710]
        );
        story.run(
            "use d alter partition scheme sl next used b alter partition function l () split range (15)
                   alter partition function r () split range (25)",
        );
        assert_eq!(counts(&mut story, "tl"), ["1 11", "2 5", "3 5", "4 10", "5 9"]);
        assert_eq!(counts(&mut story, "tr"), ["1 10", "2 10", "3 5", "4 5", "5 10"]);
        assert_eq!(
            story.rows("select destination_id, data_space_id from d.sys.destination_data_spaces where partition_scheme_id = 65601 order by 1"),
            ["1 2", "2 3", "3 3", "4 2", "5 1"]
        );
        assert_eq!(
            story.rows("select boundary_id, cast(value as int) from d.sys.partition_range_values where function_id = 65536 order by 1"),
            ["1 10", "2 15", "3 20", "4 30"]
        );
        story.is_sound("d");
        story
            .run("use d alter partition function l () merge range (10) alter partition function r () merge range (30)");
        assert_eq!(counts(&mut story, "tl"), ["1 16", "2 5", "3 10", "4 9"]);
        assert_eq!(counts(&mut story, "tr"), ["1 10", "2 10", "3 5", "4 15"]);
        assert_eq!(story.rows("select count(*), sum(id) from d.dbo.tl"), ["40 780"]);
        assert_eq!(
            story.rows("select count(*), sum(id) from d.dbo.tr where v = 'x'"),
            ["40 780"]
        );
        story.is_sound("d");
        story.run("use d begin transaction alter partition function l () merge range (20)");
        assert_eq!(counts(&mut story, "tl").len(), 3);
        story.run("use d rollback");
        assert_eq!(counts(&mut story, "tl"), ["1 16", "2 5", "3 10", "4 9"]);
        story.again(Again::Kill, "d");
        assert_eq!(story.rows("select count(*), sum(id) from d.dbo.tl"), ["40 780"]);
        story.is_sound("d");
    }
}

#[test]
fn switch_exchanges_a_partition_without_reading_it() {
    for policy in policies() {
        let mut story = with_functions(policy);
        story.run(
            "use d create table t (id int not null primary key, v varchar(max)) on sl (id)
             create index i on t (id desc) include (v)
             create table s (id int not null primary key, v varchar(max), constraint ck check (id > 10 and id <= 20)) on b
             create index j on s (id desc) include (v) on b
             insert t values (5, 'a'), (25, 'c'), (35, replicate(cast('d' as varchar(max)), 20000))
             insert s values (11, 'x'), (20, replicate(cast('y' as varchar(max)), 20000))
             alter table s switch to t partition 2",
        );
        assert_eq!(counts(&mut story, "t"), ["1 1", "2 2", "3 1", "4 1"]);
        assert_eq!(counts(&mut story, "s"), ["1 0"]);
        assert_eq!(
            story.rows("select id, len(v) from d.dbo.t order by id"),
            ["5 1", "11 1", "20 20000", "25 1", "35 20000"]
        );
        story.is_sound("d");
        for how in Again::ALL {
            story.again(how, "d");
            // A table that the rows go to needs no CHECK of its own.
            story.run("use d create table o (id int not null primary key, v varchar(max)) on b create index k on o (id desc) include (v) on b");
            story.run("use d alter table t switch partition 2 to o");
            assert_eq!(
                story.rows("select id, len(v) from d.dbo.o order by id"),
                ["11 1", "20 20000"]
            );
            assert_eq!(counts(&mut story, "t"), ["1 1", "2 0", "3 1", "4 1"]);
            story.run("use d begin transaction insert t values (12, 'gone') rollback");
            story.run("use d alter table o add constraint co check (id between 11 and 20)");
            story.run("use d begin transaction alter table o switch to t partition 2 rollback");
            assert_eq!(counts(&mut story, "t"), ["1 1", "2 0", "3 1", "4 1"]);
            story.run("use d alter table o switch to t partition 2 drop table o");
            assert_eq!(counts(&mut story, "t"), ["1 1", "2 2", "3 1", "4 1"]);
            story.run("use d update t set v = 'z' where id = 11 insert t values (13, 'q') delete t where id = 13");
            story.is_sound("d");
        }
    }
}

#[test]
fn truncate_empties_partitions() {
    for policy in policies() {
        let mut story = with_functions(policy);
        story.run(
            "use d create table t (id int not null primary key, v int, index i (v)) on sl (id)
                   declare @i int = 0 while @i < 40 begin insert t values (@i, @i) set @i += 1 end
                   truncate table t with (partitions (1, 3 to 4))",
        );
        assert_eq!(counts(&mut story, "t"), ["1 0", "2 10", "3 0", "4 0"]);
        assert_eq!(
            story.rows("select count(*), min(id), max(v) from d.dbo.t"),
            ["10 11 20"]
        );
        story.run("use d begin transaction truncate table t with (partitions (2)) rollback insert t values (39, 1)");
        assert_eq!(counts(&mut story, "t"), ["1 0", "2 10", "3 0", "4 1"]);
        for (batch, number) in [
            ("truncate table t with (partitions (0))", 7722),
            ("truncate table t with (partitions (5))", 7722),
            ("truncate table t with (partitions (3 to 2))", 7728),
            ("truncate table t with (partitions (2, 1 to 3))", 7711),
            ("create table n (id int) truncate table n with (partitions (1))", 7729),
        ] {
            assert_eq!(story.errors(&format!("use d {batch}")), [number], "{batch}");
        }
        story.again(Again::Kill, "d");
        assert_eq!(counts(&mut story, "t"), ["1 0", "2 10", "3 0", "4 1"]);
        story.is_sound("d");
    }
}

#[test]
fn a_clustered_index_partitions_a_table() {
    let mut story = with_functions(LogPolicy::native());
    story.run("use d create table t (id int not null, v int) declare @i int = 0 while @i < 40 begin insert t values (@i, @i) set @i += 1 end
               create unique clustered index c on t (id) on sr (id) create index i on t (v)");
    assert_eq!(counts(&mut story, "t"), ["1 10", "2 10", "3 10", "4 10"]);
    assert_eq!(story.rows("select id from d.dbo.t where v = 25"), ["25"]);
    story.run("use d drop index i on t drop index c on t");
    assert_eq!(counts(&mut story, "t"), ["1 10", "2 10", "3 10", "4 10"]);
    story.run("use d alter table t add constraint pk primary key (id)");
    assert_eq!(story.rows("select p.rows from d.sys.partitions p where object_id = object_id('d.dbo.t') and index_id = 1 order by partition_number"), ["10", "10", "10", "10"]);
    story.is_sound("d");
}

#[test]
fn backups_keep_partitions() {
    let mut story = with_functions(LogPolicy::native());
    story.run("use d create table h (id int not null, v char(900), index i (v)) on sl (id) create table c (id int not null primary key, v char(900)) on sr (id)
               declare @i int = 0 while @i < 200 begin insert h values (@i % 40, 'x') insert c values (@i, 'x') set @i += 1 end");
    let rows = "select (select count(*) from d.dbo.h where v = 'x'), (select sum(id) from d.dbo.c), (select count(*) from d.dbo.c where id = 77)";
    assert_eq!(story.rows(rows), ["200 19900 1"]);
    story.is_sound("d");
    story.run("use master backup database d to disk = 'd.bak'
               restore database e from disk = 'd.bak' with move 'd' to 'e.mdf', move 'a1' to 'ea.ndf', move 'b1' to 'eb.ndf', move 'd_log' to 'e.ldf'");
    assert_eq!(story.rows(&rows.replace("d.dbo", "e.dbo")), ["200 19900 1"]);
    story.is_sound("e");
    story.run("use e alter partition function r () merge range (20) insert h values (15, 'y')");
    story.is_sound("e");
}

/// Two indexes of one table that are alike: each gets a tree of its own, and a table of {a, a, b} is not like one of {a, b, b}.
#[test]
fn switch_matches_indexes_one_for_one() {
    let mut story = with_functions(LogPolicy::native());
    story.run(
        "use d create table t (id int not null, x int, y int, index i (x), index j (x)) on sl (id)
         create table s (id int not null check (id <= 10), x int, y int, index k (x), index l (x)) on a
         insert s values (1, 1, 1), (2, 2, 2) alter table s switch to t partition 1
         insert t values (3, 3, 3) insert s values (4, 4, 4)",
    );
    story.is_sound("d");
    for index in ["i", "j"] {
        let found = story.rows(&format!(
            "select x from d.dbo.t with (index({index})) where x > 0 order by x"
        ));
        assert_eq!(found, ["1", "2", "3"], "{index}");
    }
    for index in ["k", "l"] {
        let found = story.rows(&format!(
            "select x from d.dbo.s with (index({index})) where x > 0 order by x"
        ));
        assert_eq!(found, ["4"], "{index}");
    }
    story.run(
        "use d create table o (id int not null, x int, y int, index i (x), index j (x), index k (y)) on sl (id)
         create table p (id int not null check (id <= 10), x int, y int, index i (x), index j (y), index k (y)) on a",
    );
    assert_eq!(story.errors("use d alter table p switch to o partition 1"), [4947]);
    story.is_sound("d");
}

/// A table that another transaction has made and not committed is not in the catalog yet: changes of its function and scheme wait for it, and
/// it waits for them.
#[test]
fn changes_of_functions_wait_for_open_transactions() {
    let mut story = with_functions(LogPolicy::native());
    let mut other = story.beside();
    for making in [
        "create table n (id int) on sl (id)",
        "create clustered index n on h (id) on sl (id)",
        "alter table h add constraint n primary key (id) on sl (id)",
    ] {
        story.run("use d if object_id('h') is null create table h (id int not null)");
        told(&mut other, &format!("use d begin transaction {making}"));
        for change in [
            "alter partition function l () merge range (10)",
            "alter partition scheme sl next used a",
            "drop partition scheme sl",
            "drop partition function l",
        ] {
            let found = story.errors(&format!("use d set lock_timeout 0 {change}"));
            assert_eq!(found, [1222], "{making}: {change}");
        }
        told(&mut other, "rollback");
    }
    story.run("use d begin transaction alter partition function l () merge range (10)");
    let refused = told(
        &mut other,
        "use d set lock_timeout 0 create table n (id int) on sl (id)",
    );
    assert_eq!(numbers(&refused).first(), Some(&1222), "{refused}");
    story.run("commit");
    told(
        &mut other,
        "create table n (id int) on sl (id) insert n values (5), (15), (25), (35)",
    );
    assert_eq!(counts(&mut story, "n"), ["1 2", "2 1", "3 1"]);
    story.run("use d alter partition scheme sl next used b alter partition function l () split range (10)");
    assert_eq!(counts(&mut story, "n"), ["1 1", "2 1", "3 1", "4 1"]);
    story.is_sound("d");
}

/// What UPDATE STATISTICS says of the number of rows does not make a table empty, nor do constraints whose comparison is another than the
/// function's bring rows into the wrong partition.
#[test]
fn switch_looks_at_rows() {
    let mut story = with_functions(LogPolicy::native());
    story.run(
        "use d create table t (id int not null) on sl (id) create table s (id int not null) on a insert s values (99)
         update statistics s with rowcount = 0",
    );
    assert_eq!(story.errors("use d alter table t switch partition 1 to s"), [4905]);
    story.run(
        "use d create table n (id int not null check (id <= null)) on a insert n values (99)
         create partition function v (varchar(10)) as range left for values ('20', 'b')
         create partition scheme sv as partition v all to (a)
         create table w (c varchar(10) collate Latin1_General_CI_AS not null) on a
         create table x (c varchar(10) not null) on sv (c)
         create table y (c varchar(10) not null check (c <= 20)) on a insert y values ('3')
         create table z (c varchar(10) not null check (c > '20' and c <= 'b' collate Latin1_General_BIN)) on a insert z values ('Z')
         create table u (c varchar(10) not null check (c > '20' and c <= 'b')) on a insert u values ('a')",
    );
    assert_eq!(story.errors("use d alter table n switch to t partition 1"), [4982]);
    assert_eq!(story.errors("use d alter table y switch to x partition 1"), [4982]);
    assert_eq!(story.errors("use d alter table z switch to x partition 2"), [4972]);
    story.run("use d alter table u switch to x partition 2");
    assert_eq!(story.rows("select c from d.dbo.x where c = 'a'"), ["a"]);
    // The table of a window that slides: emptied, it takes the next partition.
    story.run(
        "use d create table p (id int not null, f varchar(max)) on sl (id) insert p values (5, 'a'), (25, replicate(cast('b' as varchar(max)), 20000))
         create table stage (id int not null, f varchar(max)) on a
         alter table p switch partition 1 to stage truncate table stage
         alter table p switch partition 3 to stage",
    );
    assert_eq!(story.rows("select id, len(f) from d.dbo.stage"), ["25 20000"]);
    story.is_sound("d");
}

#[test]
fn the_number_of_rows_stays_right_beside_changes() {
    let mut story = with_functions(LogPolicy::native());
    story.run("use d create table t (id int not null) on sl (id) insert t values (1) select count(*) from t");
    let instance = story.instance.clone();
    let asking = std::thread::spawn(move || {
        told(
            &mut transcript::session(&instance),
            "use d declare @i int = 0, @n sql_variant while @i < 3000 begin set @n = objectpropertyex(object_id('t'), 'Cardinality') set @i += 1 end",
        )
    });
    story.run("use d declare @i int = 0 while @i < 2000 begin insert t values (2) set @i += 1 end");
    assert_eq!(numbers(&asking.join().unwrap()), [0; 0]);
    assert_eq!(counts(&mut story, "t")[0], "1 2001");
}

/// `$PARTITION`, in this and in another database, in queries and under GROUP BY; it follows SPLIT.
#[test]
fn the_partition_of_a_value_is_told() {
    let mut story = with_functions(LogPolicy::native());
    story.run(
        "use d create table t (id int, v varchar(5)) on sl (id) insert t values (null, 'a'), (10, 'b'), (11, 'c'), (31, 'd'), (25, 'e')
         create partition function v (varchar(5)) as range right for values ('b', 'd')
         exec ('create procedure number @value int as select d.$partition.l(@value), $PARTITION.r(@value)')",
    );
    assert_eq!(
        story.rows(
            "select $partition.l(10), $partition.r(10), $partition.L('11'), $partition.[l](null), $partition.v('B'), $partition.v(N'e')"
        ),
        ["1 2 2 1 2 3"]
    );
    story.run("use master");
    assert_eq!(
        story.rows("select d.$partition.l(id), count(*) from d.dbo.t group by d.$partition.l(id) order by 1"),
        ["1 2", "2 1", "3 1", "4 1"]
    );
    story.run("use d");
    assert_eq!(
        story.rows("select v from t where $partition.l(id) = 1 order by v"),
        ["a", "b"]
    );
    assert_eq!(story.rows("exec number 25"), ["3 3"]);
    assert_eq!(
        story.rows(
            "select count(*) from t where $partition.l(id) <> (select partition_number from sys.partitions p where p.object_id = object_id('t') and p.partition_number = $partition.l(id))"
        ),
        ["0"]
    );
    story.run("use d alter partition scheme sl next used b alter partition function l () split range (15)");
    assert_eq!(story.rows("exec number 25"), ["4 3"]);
    assert_eq!(
        story.rows("select $partition.l(id), v from t order by id"),
        ["1 a", "1 b", "2 c", "4 e", "5 d"]
    );
    for (batch, number) in [
        ("select $partition.nosuch(1)", 208),
        ("select d.$partition.nosuch(1)", 208),
        ("select nosuch.$partition.l(1)", 911),
        ("select $partition.l(1, 2)", 174),
        ("select $partition.l('x')", 245),
        ("select $partition.l", 102),
        ("alter table t add n as $partition.l(id) persisted", 4936),
        ("select [$partition].l(1)", 4121),
    ] {
        assert_eq!(
            story.errors(&format!("use d {batch}")).first(),
            Some(&number),
            "{batch}"
        );
    }
}

#[test]
fn a_version_that_does_not_know_partitions_refuses_them() {
    const AT_FURTHER_FEATURES: usize = 232;
    let mut story = Story::begin();
    let features = |story: &Story| {
        let found = std::cell::Cell::new(0);
        crate::story::change_boot_pages(&story.disk, "d.mdf", |payload| {
            let bytes = payload[AT_FURTHER_FEATURES..AT_FURTHER_FEATURES + 4]
                .try_into()
                .unwrap();
            found.set(found.get().max(u32::from_le_bytes(bytes)));
        });
        found.get()
    };
    story.run("create database d alter database d add filegroup g");
    assert_eq!(features(&story), 1);
    story.run("use d create partition function f (int) as range for values (1)");
    assert_eq!(features(&story), 3);
}

/// Queries of catalog views with their rows.
const VIEWS: &[(&str, &[&str])] = &[
    (
        "select name, function_id, type, type_desc, fanout, boundary_value_on_right, is_system from d.sys.partition_functions order by 2",
        &[
            "l 65536 R  RANGE 4 0 0",
            "r 65537 R  RANGE 4 1 0",
            "v 65538 R  RANGE 2 0 0",
        ],
    ),
    (
        "select function_id, parameter_id, system_type_id, max_length, precision, scale, collation_name, user_type_id from d.sys.partition_parameters order by 1",
        &[
            "65536 1 56 4 10 0 NULL 56",
            "65537 1 56 4 10 0 NULL 56",
            "65538 1 231 40 0 0 Latin1_General_BIN2 231",
        ],
    ),
    (
        "select name, data_space_id, type, type_desc, is_default, function_id from d.sys.partition_schemes order by 2",
        &[
            "sl 65601 PS PARTITION_SCHEME 0 65536",
            "sr 65602 PS PARTITION_SCHEME 0 65537",
        ],
    ),
    (
        "select function_id, boundary_id, parameter_id, value from d.sys.partition_range_values where function_id <> 65537 order by 1, 2",
        &["65536 1 1 10", "65536 2 1 20", "65536 3 1 30", "65538 1 1 m"],
    ),
    (
        "select partition_scheme_id, destination_id, data_space_id from d.sys.destination_data_spaces order by 1, 2",
        &[
            "65601 1 2",
            "65601 2 3",
            "65601 3 2",
            "65601 4 1",
            "65602 1 3",
            "65602 2 3",
            "65602 3 3",
            "65602 4 3",
            "65602 5 3",
        ],
    ),
    (
        "select index_id, partition_number, row_count, sign(used_page_count), sign(reserved_page_count) from d.sys.dm_db_partition_stats where object_id = object_id('d.dbo.t') order by 1, 2",
        &[
            "1 1 11 1 1",
            "1 2 10 1 1",
            "1 3 10 1 1",
            "1 4 8 1 1",
            "2 1 11 1 1",
            "2 2 10 1 1",
            "2 3 10 1 1",
            "2 4 8 1 1",
        ],
    ),
    (
        "select count(distinct partition_id) from d.sys.dm_db_partition_stats where object_id = object_id('d.dbo.t')",
        &["8"],
    ),
    (
        "select index_id, data_space_id from d.sys.indexes where object_id = object_id('d.dbo.t') order by 1",
        &["1 65601", "2 65601"],
    ),
];

/// What the catalog views say of functions, schemes and partitions.
#[test]
fn views_tell_of_partitions() {
    let mut story = with_functions(LogPolicy::native());
    story.run(
        "use d create partition function v (nvarchar(20) collate Latin1_General_BIN2) as range left for values (N'm')
         create table t (id int not null primary key, v char(100), index i (v)) on sl (id)
         declare @i int = 0 while @i < 40 begin insert t values (@i, 'x') set @i += 1 end delete t where id = 35",
    );
    let mut wrong = Vec::new();
    for (query, expected) in VIEWS {
        let found = story.rows(query);
        if found != *expected {
            wrong.push((query, found));
        }
    }
    assert_eq!(wrong, []);
}

/// A search by the partitioning column reads the partitions of its bounds alone; one by another column reads all of them.
#[test]
fn a_search_leaves_partitions_out() {
    let mut story = Story::begin();
    let values = (1..200)
        .map(|value| (value * 10).to_string())
        .collect::<Vec<_>>()
        .join(", ");
    story.run("create database d");
    story.run(&format!(
        "use d create partition function f (int) as range right for values ({values}) create partition scheme s as partition f all to ([primary])
         create table t (id int not null, k int not null, constraint pk primary key (id, k), index i (k)) on s (id)
         declare @i int = 0 while @i < 2000 begin insert t values (@i, 2000 - @i) set @i += 1 end"
    ));
    let mut reads = |condition: &str| {
        let answer = story.answer(&format!(
            "set statistics io on select count(*) from t where {condition} set statistics io off"
        ));
        let (_, rest) = answer.split_once("logical reads ").unwrap();
        rest.split(',').next().unwrap().trim().parse::<u32>().unwrap()
    };
    let (one, few, all, other) = (
        reads("id = 500"),
        reads("id between 500 and 519"),
        reads("id >= 0"),
        reads("k = 1500"),
    );
    assert!(one <= 3 && few <= 6, "{one} {few}");
    assert!(all >= 200 && other >= 200, "{all} {other}");
}

/// Indexes of views, and more partitions than there may be.
#[test]
fn what_partitions_are_not_for_is_refused() {
    let mut story = with_functions(LogPolicy::native());
    story.run("use d create table t (id int not null primary key, v int)");
    story.run("use d exec ('create view w with schemabinding as select id, v from dbo.t')");
    for index in [
        "unique clustered index i on w (id) on sl (id)",
        "unique clustered index i on w (id) on nowhere (nothing)",
    ] {
        assert_eq!(story.errors(&format!("use d create {index}")), [40517], "{index}");
    }
    story.run("use d create unique clustered index i on w (id)");
    assert_eq!(story.errors("use d create index j on w (v) on sl (v)"), [40517]);
    for (create, number) in [
        (
            "table c1 (id int not null primary key clustered on sl (id)) on nowhere",
            1921,
        ),
        (
            "table c2 (id int not null primary key clustered on sl (id)) on sr (id)",
            40517,
        ),
        (
            "table c3 (id int not null primary key clustered on sl (id)) on a",
            40517,
        ),
        ("table c4 (id int not null check ($partition.l(id) = 1))", 40517),
        (
            "table c5 (id int not null check (case when $partition.l(id) = 1 then 1 else 0 end = 1))",
            40517,
        ),
    ] {
        assert_eq!(story.errors(&format!("use d create {create}")), [number], "{create}");
    }
    assert_eq!(
        story.errors("use d alter table t add constraint k check (v > 0 and $partition.l(id) = 1)"),
        [40517]
    );
    let values = |count: usize| (0..count).map(|value| value.to_string()).collect::<Vec<_>>().join(", ");
    let many = |count| {
        format!(
            "use d create partition function many (int) as range for values ({})",
            values(count)
        )
    };
    assert_eq!(story.errors(&many(15_000)), [7719]);
    story.run(&many(14_999));
    assert_eq!(
        story.errors("use d alter partition function many () split range (50000)"),
        [7719]
    );
    assert_eq!(
        story.rows("select fanout from d.sys.partition_functions where name = 'many'"),
        ["15000"]
    );
    story.is_sound("d");
}

/// Values of the partitioning column that lie outside of their rows decide as others do.
#[test]
fn long_values_decide_about_partitions() {
    let mut story = with_functions(LogPolicy::native());
    story.run(
        "use d create partition function v (varchar(8000)) as range left for values ('b', 'd')
         create partition scheme sv as partition v all to (a)
         create table t (c varchar(8000), f char(4000), n int) on sv (c)
         insert t values (replicate('a', 7000), 'x', 1), (replicate('c', 7000), 'x', 2), (replicate('e', 7000), 'x', 3), (null, 'x', 4)",
    );
    assert_eq!(counts(&mut story, "t"), ["1 2", "2 1", "3 1"]);
    story.run("use d update t set n = n + 10 update t set c = replicate('d', 7000) where n = 12 delete t where n = 13");
    assert_eq!(counts(&mut story, "t"), ["1 2", "2 0", "3 1"]);
    story.run("use d alter partition scheme sv next used b alter partition function v () split range ('aaaa')");
    assert_eq!(counts(&mut story, "t"), ["1 1", "2 1", "3 0", "4 1"]);
    story.run("use d alter partition function v () merge range ('aaaa')");
    assert_eq!(counts(&mut story, "t"), ["1 2", "2 0", "3 1"]);
    assert_eq!(
        story.rows("select n, len(c), left(c, 1) from d.dbo.t order by n"),
        ["11 7000 a", "12 7000 d", "14 NULL NULL"]
    );
    story.is_sound("d");
}

/// DROP_EXISTING partitions a table by its clustered index; the index that goes is not judged.
#[test]
fn a_clustered_index_that_is_made_again_partitions_a_table() {
    let mut story = with_functions(LogPolicy::native());
    story.run(
        "use d create table t (id int not null, k int not null) create unique clustered index c on t (k)
         insert t values (5, 1), (15, 2), (25, 3), (35, 4)
         create unique clustered index c on t (k, id) with (drop_existing = on) on sl (id)",
    );
    assert_eq!(counts(&mut story, "t"), ["1 1", "2 1", "3 1", "4 1"]);
    story.run(
        "use d create table w (id int not null, twice as id * 2) create clustered index c on w (id) insert w values (5), (15)
         create clustered index c on w (id, twice) with (drop_existing = on) on sl (id)",
    );
    assert_eq!(counts(&mut story, "w"), ["1 1", "2 1", "3 0", "4 0"]);
    story.run("use d create clustered index c on w (id, twice) with (drop_existing = on) on sr (id)");
    assert_eq!(counts(&mut story, "w"), ["1 1", "2 1", "3 0", "4 0"]);
    story.run("use d create table u (id int not null, k int not null, index i (id)) insert u select * from t");
    let found = story.errors("use d create clustered index i on u (id) with (drop_existing = on) on sl (id)");
    assert_eq!(found, [40517]);
    story.is_sound("d");
}

/// Indexes of partitioned tables are made again, switched off and on, and dropped; a system-versioned table is partitioned and its history not.
#[test]
fn indexes_of_partitions_are_made_again() {
    for policy in policies() {
        let mut story = with_functions(policy);
        story.run(
            "use d create table t (id int not null, v int, w varchar(max), constraint pk primary key (id)) on sl (id) create index i on t (v)
             declare @i int = 0 while @i < 40 begin insert t values (@i, @i, replicate(cast('w' as varchar(max)), 9000)) set @i += 1 end",
        );
        for change in [
            "alter index i on t rebuild",
            "alter index all on t rebuild",
            "alter index pk on t rebuild",
            "create index i on t (v, id) with (drop_existing = on)",
            "create index i on t (v) include (id) with (drop_existing = on) on sl (id)",
            "alter index i on t disable alter index i on t rebuild",
            "alter index all on t disable alter index all on t rebuild",
            "alter table t add x int not null default 3",
            "alter table t alter column v bigint",
            "alter table t drop constraint pk alter table t add constraint pk primary key (id)",
            "alter table t rebuild",
            "create unique clustered index pk on t (id) with (drop_existing = on)",
            "update t set w = replicate(cast('x' as varchar(max)), 10000) where id < 5",
            "alter table t rebuild partition = 2",
            "alter table t rebuild partition = all with (data_compression = none on partitions (1, 2 to 3))",
            "alter index i on t rebuild partition = 3 with (sort_in_tempdb = on, maxdop = 2, data_compression = none)",
            "alter index pk on t rebuild partition = 1",
            "alter index i on t reorganize partition = 3 with (lob_compaction = on)",
            "alter index all on t reorganize partition = 4",
        ] {
            story.run(&format!("use d {change}"));
            assert_eq!(counts(&mut story, "t"), ["1 11", "2 10", "3 10", "4 9"], "{change}");
            assert_eq!(story.rows("select id from d.dbo.t where v = 25"), ["25"], "{change}");
            story.is_sound("d");
        }
        let space = story.rows("select distinct partition_number from d.sys.partitions where object_id = object_id('d.dbo.t') and index_id > 1 order by 1");
        assert_eq!(space, ["1", "2", "3", "4"]);
        story.run(
            "use d create table s (id int not null primary key, v int, f datetime2 generated always as row start, g datetime2 generated always as row end,
             period for system_time (f, g)) on sl (id) alter table s set (system_versioning = on (history_table = dbo.h))
             insert s (id, v) values (5, 1), (15, 2) update s set v = 3, id = 25 where id = 5 delete s where id = 15",
        );
        assert_eq!(counts(&mut story, "s"), ["1 0", "2 0", "3 1", "4 0"]);
        assert_eq!(story.rows("select id, v from d.dbo.h order by id"), ["5 1", "15 2"]);
        story.again(Again::Kill, "d");
        story.is_sound("d");
        story.run("use d drop table t");
        story.is_sound("d");
    }
}

/// A file that has partitions is emptied into the others of its filegroup.
#[test]
fn a_file_with_partitions_is_emptied() {
    let mut story = with_functions(LogPolicy::native());
    story.run("alter database d add file (name = a2, filename = 'a2.ndf', size = 2 MB) to filegroup a");
    story.run(
        "use d create table h (id int not null, v char(500), index i (v)) on sl (id)
         create table c (id int not null primary key, v varchar(900)) on sl (id)
         declare @i int = 0 while @i < 200 begin insert h values (@i % 40, 'x') insert c values (@i, replicate('y', 900)) set @i += 1 end",
    );
    story.run(
        "use d dbcc shrinkfile (a1, emptyfile) with no_infomsgs
         alter database d remove file a1",
    );
    story.is_sound("d");
    for how in Again::ALL {
        story.again(how, "d");
        assert_eq!(story.rows("select count(*), sum(len(v)) from d.dbo.c"), ["200 180000"]);
        assert_eq!(story.rows("select count(*) from d.dbo.h where v = 'x'"), ["200"]);
        assert_eq!(
            story.rows("select name from d.sys.database_files where name like 'a_'"),
            ["a2"]
        );
    }
    story.run("use d insert h values (5, 'z') insert c values (1000, 'z'), (-1, 'z')");
    story.is_sound("d");
}

const CHANGES: [&str; 9] = [
    "use d alter partition scheme sl next used b",
    "use d alter partition function l () split range (15)",
    "use d alter table s switch to t partition 5",
    "use d truncate table t with (partitions (1))",
    "use d alter partition function l () merge range (20)",
    "use d update t set id = id + 30 where id < 15",
    "use d create partition function z (int) as range for values (1)",
    "use d create partition scheme sz as partition z all to (a)",
    "use d create table n (id int) on sz (id)",
];

fn begin_changes(policy: LogPolicy) -> Story {
    let mut story = with_functions(policy);
    story.run(
        "use d create table t (id int not null primary key, v char(100), index i (v)) on sl (id)
         create table s (id int not null primary key, v char(100), index i (v), check (id > 30))
         declare @i int = 0 while @i < 30 begin insert t values (@i, 'x') set @i += 1 end
         insert s values (31, 'y'), (32, 'y') checkpoint",
    );
    story
}

/// What the statements change: the function, the scheme, where rows are.
fn partitioning(story: &mut Story) -> Vec<String> {
    let queries = [
        "select name, fanout from d.sys.partition_functions order by 1",
        "select function_id, boundary_id, cast(value as int) from d.sys.partition_range_values order by 1, 2",
        "select partition_scheme_id, destination_id, data_space_id from d.sys.destination_data_spaces order by 1, 2",
        "select object_name(object_id, db_id('d')), index_id, partition_number, rows from d.sys.partitions where object_id > 100 and object_name(object_id, db_id('d')) in ('t', 's', 'n') order by 1, 2, 3",
        "select count(*), sum(id), min(id), max(id) from d.dbo.t",
        "select count(*), sum(id) from d.dbo.s",
    ];
    queries.map(|query| story.rows(query).join("; ")).to_vec()
}

/// What was there is there, and the table takes rows.
fn cut_partitions(policy: LogPolicy) {
    let begin = || begin_changes(policy);
    let sample = workbench::sample("operations of statements of partitions with a power cut", 8);
    cut_everywhere(&CHANGES, sample, begin, partitioning, |story, _| {
        story.run("use d insert t values (1000, 'z') delete t where id = 1000");
    });
}

#[test]
fn a_power_cut_leaves_partitions_whole_by_the_native_policy() {
    cut_partitions(LogPolicy::native());
}

#[test]
fn a_power_cut_leaves_partitions_whole_by_the_classic_policy() {
    cut_partitions(LogPolicy::classic());
}
