//! What is refused of partitions, each by its number: functions, schemes, tables and indexes that cannot be, and tables that SWITCH does not take.
#![allow(clippy::unwrap_used)]

use crate::partitions::with_functions;

use engine::log::LogPolicy;

/// Statements, with the number of the first error of each.
const REFUSED: &[(&str, i32)] = &[
    ("create partition function l (int) as range for values (1)", 2714),
    ("create partition function x (int, int) as range for values (1)", 7703),
    (
        "create partition function x (varchar(max)) as range for values ('a')",
        7704,
    ),
    ("create partition function x (int) as range for values (1, 2, 1)", 7708),
    ("create partition function x (int) as range for values ('a')", 7705),
    (
        "create partition function x (char(2)) as range for values ('abc')",
        7720,
    ),
    ("create partition scheme x as partition nowhere all to (a)", 208),
    ("create partition scheme x as partition l to (a, b)", 7707),
    ("create partition scheme x as partition l all to (a, b)", 7723),
    ("create partition scheme x as partition l all to (nowhere)", 1921),
    ("create partition scheme sl as partition l all to (a)", 2714),
    ("drop partition function l", 7706),
    ("drop partition scheme sl", 7717),
    ("drop partition function x", 15151),
    ("drop partition scheme x", 15151),
    ("alter partition function x () merge range (1)", 15151),
    ("alter partition scheme x next used a", 15151),
    ("alter partition function l () merge range (11)", 7715),
    ("alter partition function l () split range (20)", 7721),
    ("create table x (id int) on nowhere (id)", 1921),
    ("create table x (id int) on sl (nothing)", 1911),
    ("create table x (id smallint) on sl (id)", 7726),
    ("create table x (k int, id as k + 1) on sl (id)", 7724),
    (
        "create table x (id int not null, k int not null primary key) on sl (id)",
        1908,
    ),
    (
        "create table x (id int not null, v varchar(max)) on sl (id) textimage_on a",
        1707,
    ),
    ("create unique index x on t (v)", 1908),
    ("create index x on t (v) on a", 40517),
    ("create index x on e (v) on sl (id)", 40517),
    (
        "create table x (id int not null primary key on a, k int) on sl (id)",
        40517,
    ),
    ("alter table t drop column id", 4922),
    ("alter table t alter column id bigint", 4922),
    ("alter table t switch to e", 4911),
    ("alter table e switch to t", 4911),
    ("alter table t switch partition 9 to e", 4950),
    ("alter table t switch partition 2 to e", 4939),
    ("alter table w switch to t partition 3", 4939),
    ("alter table w switch to t partition 2", 4982),
    ("alter table e switch to t partition 1", 4982),
    ("alter table t switch partition 1 to t partition 2", 4955),
    ("alter table t switch partition 1 to nowhere", 4902),
];

/// Columns of tables that the partitioned one is not like, with the number of the error of SWITCH.
const UNLIKE: &[(&str, i32)] = &[
    ("id int not null, s smallint, v varchar(10)", 4943),
    ("id int not null, x smallint, v varchar(10), c as id + 1", 4942),
    ("id int not null, s int, v varchar(10), c as id + 1", 4944),
    ("id int not null, s smallint not null, v varchar(10), c as id + 1", 4985),
    (
        "id int not null, s smallint, v varchar(10) collate Latin1_General_BIN2, c as id + 1",
        4945,
    ),
    ("id int not null, s smallint, v varchar(10), c as id + 2", 4966),
    (
        "id int not null, s smallint, v varchar(10), c as id + 1, index c clustered (id)",
        4913,
    ),
    (
        "id int not null, s smallint, v varchar(10), c as id + 1, index n (s)",
        4947,
    ),
    (
        "id int not null, s smallint, v varchar(10), c as id + 1, check (s > 1)",
        4971,
    ),
];

#[test]
fn partitions_are_refused_by_number() {
    let mut story = with_functions(LogPolicy::native());
    story.run("use d create table t (id int not null, s smallint, v varchar(10), c as id + 1) on sl (id)
               create table e (id int not null, s smallint, v varchar(10), c as id + 1) on a
               create table w (id int not null, s smallint, v varchar(10), c as id + 1, constraint cw check (id > 10)) on b
               insert t (id) values (1), (11)");
    let mut wrong = Vec::new();
    for &(batch, number) in REFUSED {
        // 1750 may follow.
        let found = story.errors(&format!("use d {batch}"));
        if found.first() != Some(&number) {
            wrong.push((batch, number, found));
        }
    }
    assert_eq!(wrong, []);
    for &(columns, number) in UNLIKE {
        story.run(&format!("use d create table x ({columns}) on a"));
        assert_eq!(
            story.errors("use d alter table t switch partition 1 to x"),
            [number],
            "{columns}"
        );
        story.run("use d drop table x");
    }
    story.run(
        "use d create table f (id int not null, s smallint, v varchar(10), c as id + 1) on a insert f (id) values (1)",
    );
    assert_eq!(story.errors("use d alter table t switch partition 1 to f"), [4905]);
    story.run("use d alter table f add constraint cf check (id <= 10)");
    assert_eq!(story.errors("use d alter table f switch to t partition 1"), [4904]);
    story.run("use d drop table t drop partition scheme sl drop partition function l");
    assert_eq!(story.rows("select name from d.sys.partition_functions"), ["r"]);
    assert_eq!(
        story.rows("select name, type from d.sys.data_spaces order by data_space_id"),
        ["PRIMARY FG", "a FG", "b FG", "sr PS"]
    );
    story.is_sound("d");
}
