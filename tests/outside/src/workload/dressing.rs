//! What a table of the workload has beside rows and plain indexes, and what must hold of it after every restart.
//!
//! | dressing | made of | what must hold |
//! |---|---|---|
//! | computed column | a persisted one with an index | each row has twice its value, by the column and by the index |
//! | filtered index | an index of values over 25 | it has exactly those rows |
//! | indexed view | counts and sums by value | it has what its query answers |
//! | trigger | one row of count and sum, kept by an AFTER trigger | they are those of the table |
//! | sequence | a default that numbers rows, with a cache | no number is there twice |
//! | default and rule | two objects bound to a column | each row has the default |
//! | partitions | ten, by a function and a scheme | each row is in its partition, and as many are counted as there are |
//! | shape | a geometry in each row | it is whole |
//!
//! Objects of a dressing are named after their table, with a letter before it, and come and go with it in the same transaction.

/// What a table has beside rows and plain indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dressing {
    Plain,
    Computed,
    Filtered,
    View,
    Trigger,
    Sequence,
    Bound,
    Partitioned,
    Shape,
}

/// Answers how many objects of dressings are there without their table.
pub const LEFT_OVER: &str = "select count(*) from (\
     select name from sys.objects where parent_object_id = 0 and type in ('V', 'SO', 'D', 'R', 'U') \
     union all select name from sys.partition_functions union all select name from sys.partition_schemes) o \
     where o.name like '[a-z][_]c[0-9][_]%' and not exists (select 1 from sys.tables t where t.name = substring(o.name, 3, 100))";

/// A statement that must be alone in its batch.
fn alone(statement: &str) -> String {
    format!("exec ('{}')\n", statement.replace('\'', "''"))
}

impl Dressing {
    pub const ALL: [Dressing; 9] = [
        Dressing::Plain,
        Dressing::Computed,
        Dressing::Filtered,
        Dressing::View,
        Dressing::Trigger,
        Dressing::Sequence,
        Dressing::Bound,
        Dressing::Partitioned,
        Dressing::Shape,
    ];

    /// How many columns of the table are its own.
    pub fn column_count(self) -> usize {
        match self {
            Dressing::Computed | Dressing::Sequence | Dressing::Bound | Dressing::Shape => 1,
            Dressing::Plain | Dressing::Filtered | Dressing::View | Dressing::Trigger | Dressing::Partitioned => 0,
        }
    }

    /// How many indexes of the table are its own.
    pub fn index_count(self) -> usize {
        usize::from(matches!(self, Dressing::Computed | Dressing::Filtered))
    }

    /// Whether TRUNCATE TABLE is allowed, and leaves what must hold.
    pub fn may_be_truncated(self) -> bool {
        !matches!(self, Dressing::View | Dressing::Trigger)
    }

    /// Statements before CREATE TABLE.
    pub fn before(self, name: &str) -> String {
        match self {
            Dressing::Sequence => {
                format!("create sequence s_{name} as int start with 1 increment by 1 cache 20\n")
            }
            Dressing::Bound => {
                alone(&format!("create default d_{name} as 7")) + &alone(&format!("create rule r_{name} as @v > 5"))
            }
            Dressing::Partitioned => format!(
                "create partition function f_{name} (int) as range right for values (10, 50, 100, 200, 400, 800, 1600, 3200, 6400)\n\
                 create partition scheme p_{name} as partition f_{name} all to ([primary])\n"
            ),
            Dressing::Trigger => {
                format!("create table n_{name} (n bigint not null, s bigint not null)\ninsert n_{name} values (0, 0)\n")
            }
            Dressing::Plain | Dressing::Computed | Dressing::Filtered | Dressing::View | Dressing::Shape => {
                String::new()
            }
        }
    }

    /// Its columns in CREATE TABLE, with a comma before them.
    pub fn columns(self, name: &str) -> String {
        match self {
            Dressing::Computed => ", twice as (value * 2) persisted".into(),
            Dressing::Sequence => format!(", number int not null default (next value for s_{name})"),
            Dressing::Bound => ", bound int not null".into(),
            Dressing::Shape => ", shape geometry not null default (cast('POINT (3 4)' as geometry))".into(),
            Dressing::Plain | Dressing::Filtered | Dressing::View | Dressing::Trigger | Dressing::Partitioned => {
                String::new()
            }
        }
    }

    /// What stands behind the columns of CREATE TABLE.
    pub fn place(self, name: &str) -> String {
        match self {
            Dressing::Partitioned => format!(" on p_{name} (id)"),
            _ => String::new(),
        }
    }

    /// Statements after CREATE TABLE.
    pub fn after(self, name: &str) -> String {
        match self {
            Dressing::Computed => format!("\ncreate index by_twice on {name} (twice)"),
            Dressing::Filtered => format!("\ncreate index over_25 on {name} (value) where value > 25"),
            Dressing::View => {
                let view = format!(
                    "create view v_{name} with schemabinding as select value, count_big(*) as n, sum(cast(id as bigint)) as s \
                     from dbo.{name} group by value"
                );
                format!(
                    "\n{}create unique clustered index by_value on v_{name} (value)",
                    alone(&view)
                )
            }
            Dressing::Trigger => {
                let trigger = format!(
                    "create trigger t_{name} on {name} after insert, update, delete as begin set nocount on \
                     update n_{name} set n += (select count(*) from inserted) - (select count(*) from deleted), \
                     s += isnull((select sum(value) from inserted), 0) - isnull((select sum(value) from deleted), 0) end"
                );
                format!("\n{}", alone(&trigger).trim_end())
            }
            Dressing::Bound => {
                format!("\nexec sp_bindefault 'd_{name}', '{name}.bound'\nexec sp_bindrule 'r_{name}', '{name}.bound'")
            }
            Dressing::Plain | Dressing::Sequence | Dressing::Partitioned | Dressing::Shape => String::new(),
        }
    }

    /// DROP TABLE, with all that is the table's alone.
    pub fn drop_table(self, name: &str) -> String {
        let drop = format!("drop table {name}");
        match self {
            Dressing::View => format!("drop view v_{name}\n{drop}"),
            Dressing::Trigger => format!("{drop}\ndrop table n_{name}"),
            Dressing::Sequence => format!("{drop}\ndrop sequence s_{name}"),
            Dressing::Bound => format!("{drop}\ndrop default d_{name}\ndrop rule r_{name}"),
            Dressing::Partitioned => {
                format!("{drop}\ndrop partition scheme p_{name}\ndrop partition function f_{name}")
            }
            Dressing::Plain | Dressing::Computed | Dressing::Filtered | Dressing::Shape => drop,
        }
    }

    /// A query that answers how much of what must hold does not; none where there is nothing to ask.
    pub fn violations(self, name: &str) -> Option<String> {
        Some(match self {
            Dressing::Plain => return None,
            Dressing::Computed => format!(
                "select (select count(*) from {name} where twice <> value * 2) \
                 + abs((select count(*) from {name}) - (select count(*) from {name} with (index (by_twice)) where twice >= 0))"
            ),
            Dressing::Filtered => format!(
                "select abs((select count(*) from {name} with (index (over_25)) where value > 25) \
                 - (select count(*) from {name} with (forcescan, index (0)) where value > 25))"
            ),
            Dressing::View => format!(
                "select count(*) from v_{name} v with (noexpand) full join \
                 (select value, count_big(*) as n, sum(cast(id as bigint)) as s from {name} group by value) t \
                 on t.value = v.value where v.n is null or t.n is null or v.n <> t.n or v.s <> t.s"
            ),
            Dressing::Trigger => format!(
                "select count(*) from n_{name} where n <> (select count(*) from {name}) \
                 or s <> isnull((select sum(value) from {name}), 0)"
            ),
            Dressing::Sequence => format!("select count(*) - count(distinct number) from {name}"),
            Dressing::Bound => format!("select count(*) from {name} where bound <> 7"),
            Dressing::Partitioned => format!(
                "select abs((select count(*) from {name}) - (select sum(rows) from sys.partitions \
                 where object_id = object_id('{name}') and index_id in (0, 1))) \
                 + abs((select count(*) from {name} where $partition.f_{name}(id) = 2) \
                 - (select count(*) from {name} where id >= 10 and id < 50))"
            ),
            Dressing::Shape => {
                format!("select count(*) from {name} where cast(shape as varchar(100)) <> 'POINT (3 4)'")
            }
        })
    }
}
