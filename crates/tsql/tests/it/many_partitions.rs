//! REBUILD and REORGANIZE of one partition: which storage is another one, and what is refused. A table of many partitions: its statements and
//! views do not go over all partitions for each of them.
//!
//! Depth: 1,000 partitions, one operation in 2 with a power cut; deep: 15,000, the most there may be, and every one.
#![allow(clippy::unwrap_used)]

use crate::partitions::{counts, policies, with_functions};
use crate::story::{Again, Story, cut_everywhere};

use engine::log::LogPolicy;

fn with_tables(policy: LogPolicy) -> Story {
    let mut story = with_functions(policy);
    story.run(
        "use d create table t (id int not null, v int, constraint pk primary key (id)) on sl (id) create index i on t (v)
         create table h (id int not null, v int, index i (v)) on sr (id) create table w (id int primary key, index i (id))
         declare @i int = 0 while @i < 40 begin insert t values (@i, @i) insert h values (@i, @i) set @i += 1 end",
    );
    story
}

/// The storage of one partition of one index, or of all, is another one; that of the others stays.
#[test]
fn one_partition_is_written_again() {
    for policy in policies() {
        let mut story = with_tables(policy);
        let storage = |story: &mut Story| {
            story.rows("select object_name(object_id, db_id('d')), index_id, partition_number, hobt_id from d.sys.partitions where object_name(object_id, db_id('d')) in ('t', 'h') order by 1, 2, 3")
        };
        for (change, moved) in [
            ("alter table t rebuild partition = 2", vec!["t 1 2", "t 2 2"]),
            ("alter index pk on t rebuild partition = 4", vec!["t 1 4", "t 2 4"]),
            ("alter index i on t rebuild partition = 1", vec!["t 2 1"]),
            ("alter index i on t reorganize partition = 3", vec!["t 2 3"]),
            ("alter table h rebuild partition = 3", vec!["h 0 3", "h 2 3"]),
            ("alter index i on h rebuild partition = 1", vec!["h 2 1"]),
        ] {
            let before = storage(&mut story);
            story.run(&format!("use d {change}"));
            let after = storage(&mut story);
            let changed: Vec<&str> = before
                .iter()
                .zip(&after)
                .filter(|(before, after)| before != after)
                .map(|(_, after)| after.rsplit_once(' ').unwrap().0)
                .collect();
            assert_eq!(changed, moved, "{change}");
            assert_eq!(counts(&mut story, "t"), ["1 11", "2 10", "3 10", "4 9"], "{change}");
            let found = "select count(*), sum(v) from d.dbo.{} with (index (i)) where v between 0 and 40";
            for table in ["t", "h"] {
                assert_eq!(story.rows(&found.replace("{}", table)), ["40 780"], "{change}");
            }
            story.is_sound("d");
        }
        // A rollback gives the former storage back.
        let before = storage(&mut story);
        story.run("use d begin tran alter table h rebuild partition = 2 insert h values (15, 1) rollback");
        assert_eq!(storage(&mut story), before);
        story.again(Again::Kill, "d");
        story.is_sound("d");
    }
}

#[test]
fn partitions_that_are_not_there_and_options_of_all_are_refused() {
    let mut story = with_tables(LogPolicy::native());
    for (change, number) in [
        ("alter table t rebuild partition = 5", 7722),
        ("alter table t rebuild partition = 0", 7722),
        ("alter index i on t rebuild partition = -1", 7722),
        ("alter index i on t reorganize partition = 9", 7722),
        ("alter table w rebuild partition = 1", 7729),
        (
            "alter table t rebuild with (data_compression = none on partitions (2 to 5))",
            7722,
        ),
        (
            "alter table w rebuild with (data_compression = none on partitions (1))",
            7729,
        ),
        (
            "alter index i on t rebuild with (data_compression = none on partitions (0))",
            7722,
        ),
        (
            "alter index i on t rebuild with (data_compression = page on partitions (1))",
            40517,
        ),
        (
            "create index j on t (v, id) with (data_compression = none on partitions (9))",
            7722,
        ),
        (
            "create index j on w (id) with (data_compression = none on partitions (1))",
            7729,
        ),
        (
            "create table n (id int) on sl (id) with (data_compression = none on partitions (4, 5))",
            7722,
        ),
        ("alter index i on w rebuild partition = 1", 7729),
        ("alter index nosuch on t rebuild partition = 1", 2727),
        ("alter index i on t rebuild partition = 1 with (fillfactor = 50)", 155),
        (
            "alter index i on t rebuild partition = 1 with (data_compression = page)",
            40517,
        ),
        (
            "alter table t rebuild partition = 1 with (data_compression = row)",
            40517,
        ),
        (
            "alter index i on t disable alter index i on t rebuild partition = 1",
            1973,
        ),
    ] {
        assert_eq!(story.errors(&format!("use d {change}")), [number], "{change}");
    }
}

const REBUILDS: [&str; 3] = [
    "use d alter table t rebuild partition = 2",
    "use d alter index i on t reorganize partition = 3",
    "use d alter index all on h rebuild partition = 1",
];

/// Where the rows and entries of each partition are, and what is found there.
fn storage_and_rows(story: &mut Story) -> Vec<String> {
    let queries = [
        "select object_name(object_id, db_id('d')), index_id, partition_number, hobt_id, rows from d.sys.partitions where object_name(object_id, db_id('d')) in ('t', 'h') order by 1, 2, 3",
        "select count(*), sum(v) from d.dbo.t with (index (i)) where v between 0 and 40",
        "select count(*), sum(v) from d.dbo.h with (index (i)) where v between 0 and 40",
        "select count(*), sum(id) from d.dbo.t",
        "select count(*), sum(id) from d.dbo.h",
    ];
    queries.map(|query| story.rows(query).join("; ")).to_vec()
}

#[test]
fn a_power_cut_leaves_the_former_partition_or_the_new_one() {
    for policy in policies() {
        let begin = || {
            let mut story = with_tables(policy);
            story.run("checkpoint");
            story
        };
        let sample = workbench::sample("operations of rebuilt partitions with a power cut", 2);
        cut_everywhere(&REBUILDS, sample, begin, storage_and_rows, |story, _| {
            story.run("use d insert t values (1000, 1) delete t where id = 1000");
        });
    }
}

/// A table of many partitions, with an index: no statement and no view goes over all partitions for each of them, so that the most there may
/// be take seconds.
#[test]
fn many_partitions_are_made_used_and_dropped() {
    let depth = workbench::depth("partitions of a table of many", 1_000, 15_000);
    let count = depth.units.min(15_000);
    let mut story = with_functions(LogPolicy::native());
    let values: Vec<String> = (1..count).map(|value| value.to_string()).collect();
    let (last, middle) = (count - 1, count / 2);
    for batch in [
        format!(
            "use d create partition function many (int) as range right for values ({})",
            values.join(", ")
        ),
        "use d create partition scheme sm as partition many all to ([primary])".to_owned(),
        "use d create table m (id int not null primary key, v int) on sm (id) create index i on m (v)".to_owned(),
        format!("use d insert m values ({last}, 1), (20000, 2), (0, 3), (-5, 4), ({middle}, 5)"),
        format!("use d alter partition function many () merge range ({middle})"),
        "use d alter partition scheme sm next used [primary]".to_owned(),
        "use d alter partition function many () split range (17000)".to_owned(),
        format!("use d update m set v += 1 where id = {middle}"),
    ] {
        let begun = std::time::Instant::now();
        story.run(&batch);
        println!("{:?} {batch:.60}", begun.elapsed());
    }
    for (query, answer) in [
        (
            "select d.$partition.many(20000), d.$partition.many(16999), d.$partition.many(0)",
            format!("{count} {last} 1"),
        ),
        (
            "select partition_number, rows from d.sys.partitions where object_id = object_id('d.dbo.m') and index_id = 1 and rows > 0 order by 1",
            format!("1 2, {middle} 1, {last} 1, {count} 1"),
        ),
        (
            "select count(*) from d.sys.partitions where object_id = object_id('d.dbo.m')",
            (2 * count).to_string(),
        ),
        ("select id from d.dbo.m where v = 6", middle.to_string()),
        ("select count(*), sum(v) from d.dbo.m", "5 16".to_owned()),
        ("select v from d.dbo.m where id = 20000", "2".to_owned()),
    ] {
        let begun = std::time::Instant::now();
        assert_eq!(story.rows(query).join(", "), answer, "{query}");
        println!("{:?} {query:.60}", begun.elapsed());
    }
    story.again(Again::Kill, "d");
    for batch in [
        &format!("use d truncate table m with (partitions ({count}))"),
        "use d drop table m drop partition scheme sm drop partition function many",
    ] {
        let begun = std::time::Instant::now();
        story.run(batch);
        println!("{:?} {batch:.60}", begun.elapsed());
    }
    depth.count();
}
