//! An instance on a simulated disk with a database whose tables, views, functions, procedures and types statements may name.

use crate::grammar::Kind::{self, Moment, Number, Other, Text};
use disk::sim::SimDisk;
use engine::errorlog::ErrorLog;
use engine::instance::{Instance, InstanceOptions};
use engine::log::LogPolicy;
use engine::seams::{Background, Environment, ManualClock};
use engine::types::{SqlType, Value};
use engine::waits::WaitStatistics;
use std::path::PathBuf;
use std::sync::Arc;
use tsql::scalar::convert::Units;
use tsql::session::{DoneKind, Login, Message, ResultColumn, ResultSink, Session, SinkClosed};
use vlf::ServerVersion;

/// `max server memory` of the instance.
const SERVER_MEMORY_BYTES: u64 = 16 << 20;
/// What the disk holds at most.
const DISK_BYTES: u64 = 256 << 20;
/// Rows after which a statement's answer is of no more interest.
const ROWS_MAX: u64 = 20_000;

/// A table that statements name.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    pub name: &'static str,
    /// Its columns and what they hold.
    pub columns: &'static [(&'static str, Kind)],
}

/// The tables and views of the database `fuzz`.
pub const TABLES: &[Table] = &[
    Table {
        name: "t1",
        columns: &[("i", Number), ("b", Number), ("s", Text), ("d", Moment)],
    },
    Table {
        name: "t2",
        columns: &[
            ("i", Number),
            ("n", Number),
            ("u", Text),
            ("e", Moment),
            ("f", Number),
            ("s", Text),
        ],
    },
    Table {
        name: "t3",
        columns: &[
            ("i", Number),
            ("b", Number),
            ("s", Text),
            ("c", Number),
            ("v", Other),
            ("o", Other),
            ("a", Other),
        ],
    },
    Table {
        name: "t4",
        columns: &[
            ("m", Number),
            ("y", Number),
            ("t", Number),
            ("w", Text),
            ("x", Text),
            ("z", Text),
            ("h", Moment),
            ("k", Moment),
            ("g", Moment),
        ],
    },
    Table {
        name: "other.t5",
        columns: &[("i", Number), ("r", Number), ("s", Text)],
    },
    Table {
        name: "t6",
        columns: &[("i", Number), ("n", Number), ("s", Text)],
    },
    Table {
        name: "#p",
        columns: &[("i", Number), ("s", Text), ("d", Moment)],
    },
    Table {
        name: "v1",
        columns: &[("i", Number), ("s", Text)],
    },
    Table {
        name: "v2",
        columns: &[("c1", Other), ("c2", Number)],
    },
];

/// The batches that make them.
const SCRIPT: &[&str] = &[
    "create database fuzz",
    "use fuzz",
    "create schema other",
    "create type ut1 from nvarchar(20) not null",
    "create table t1 (i int not null primary key, b bigint, s varchar(40), d date default getdate()) create index ix1 on t1 (b, s)
     create table t2 (i int identity, n decimal(18, 4) check (n > -100), u nvarchar(60) collate Latin1_General_CS_AS, e datetime, f float,
        s varchar(20) not null default 'x', unique (i))
     create table t3 (i int primary key nonclustered, b int references t1 (i), s varchar(10), c bigint, v varbinary(30), o uniqueidentifier, a sql_variant)
     create table t4 (m money, y tinyint, t bit, w varchar(max), x char(10), z varchar(30) collate Latin1_General_100_CI_AS_SC_UTF8,
        h datetimeoffset(3), k time(2), g smalldatetime)
     create table other.t5 (i int, r real, s nvarchar(max)) create clustered index cx on other.t5 (r)
     create table t6 (i int not null primary key, n bigint, s varchar(20), f datetime2 generated always as row start hidden,
        u datetime2 generated always as row end hidden, period for system_time (f, u)) with (system_versioning = on (history_table = dbo.t6_history))",
    "create view v6 as select i, s from t6 where n > 0",
    "create view v1 as select i, s from t1 where b > 0",
    "create view v7 with schemabinding as select b as c1, count_big(*) as c2, sum(i) as c3 from dbo.t1 group by b",
    "create unique clustered index ix7 on v7 (c1) create index jx7 on v7 (c3)",
    "create view v2 as select s as c1, count(*) as c2 from t2 group by s",
    "create function f1 (@x int) returns int as begin return @x * 2 end",
    "create function f2 (@x int) returns table as return select i as c1, s as c2 from t1 where i > @x",
    "create function f3 (@x int) returns @r table (c1 int, c2 varchar(20)) as begin insert @r values (@x, 'a') return end",
    "create procedure p1 @a1 int = 1, @a2 varchar(20) = null output as select @a1, @a2 return 3",
    "create procedure p2 as select 1 as a union select 2",
    "create type tt1 as table (i int not null primary key, s varchar(20) default 'x', n int check (n > 0))",
    "create procedure p3 @r tt1 readonly, @n int = 1 as select *, @n from @r",
    "insert t1 values (1, 10, 'abc', '2024-01-01'), (2, null, 'a%c', null), (3, -5, '', '1999-12-31'), (4, 10, 'ABC', '0001-01-01')
     insert t2 (n, u, e, f) values (1.5, N'\u{e4}\u{df}', '2020-02-29', 0.5), (null, N'\u{1F600}', null, 1e300), (-99, '', '1900-01-01', -0.0)
     insert t3 values (1, 1, 'x', 2, 0x41, newid(), 5), (2, null, null, null, null, null, 'text'), (3, 2, 'y', -1, 0x, newid(), getdate())
     insert t4 values ($1.5, 255, 1, replicate('w', 900), 'x', N'\u{20ac}', '2024-01-01T00:00:00+02:00', '12:00', '2024-01-01'),
        (null, null, null, null, null, null, null, null, null), (-$3, 0, 0, '', '', '', '9999-12-31', '23:59:59.99', '2079-06-06')
     insert other.t5 values (1, 1.5, 'a'), (2, null, 'b')
     insert t6 values (1, 2, 'a'), (2, null, 'b'), (3, 7, null) update t6 set n = n + 1 delete t6 where i = 2",
];

/// What a new session does first.
const SESSION_SCRIPT: &str = "use fuzz create table #p (i int, s varchar(20), d datetime) insert #p values (1, 'a', '2024-01-01'), (2, null, null)";

/// Variables that every batch by grammar may use.
pub const DECLARATIONS: &str = "declare @i int = 3, @n decimal(10, 2) = 1.25, @f float = 2.5, @s varchar(50) = 'abc', @u nvarchar(100) = N'\u{e4}x', \
    @d datetime = '2024-02-29', @v varbinary(20) = 0x41, @o uniqueidentifier = null, @a sql_variant = 7, @tv table (i int, s varchar(20)); ";

/// A sink that counts, takes no more than [`ROWS_MAX`] rows, and looks whether their values fit the columns announced.
#[derive(Debug, Default)]
pub struct Counter {
    rows: u64,
    types: Vec<SqlType>,
    /// Errors sent, of severity 11 and above.
    pub errors: Vec<i32>,
}

/// Whether a client that reserves what the column says can take the value.
fn fits(value: &Value, sql_type: SqlType) -> bool {
    let most = match sql_type {
        SqlType::Char(units) | SqlType::NChar(units) | SqlType::Binary(units) => usize::from(units),
        SqlType::VarChar(length) | SqlType::NVarChar(length) | SqlType::VarBinary(length) => length.units_max(),
        _ => usize::MAX,
    };
    let units = match value {
        Value::Text(text) => Units::of(sql_type, text.collation()).count(text),
        Value::Binary(bytes) => bytes.len(),
        _ => 0,
    };
    value.belongs_to(sql_type) && units <= most
}

impl ResultSink for Counter {
    fn columns(&mut self, columns: &[ResultColumn]) -> Result<(), SinkClosed> {
        self.types = columns.iter().map(|column| column.sql_type).collect();
        Ok(())
    }

    fn row(&mut self, row: &[Value]) -> Result<(), SinkClosed> {
        self.rows += 1;
        assert_eq!(row.len(), self.types.len(), "one value for each column");
        for (value, sql_type) in row.iter().zip(&self.types) {
            assert!(fits(value, *sql_type), "{value:?} in a column of {sql_type}");
        }
        if self.rows > ROWS_MAX { Err(SinkClosed) } else { Ok(()) }
    }

    fn done(&mut self, _: Option<u64>, _: DoneKind) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn message(&mut self, message: &Message) -> Result<(), SinkClosed> {
        if message.severity > 10 {
            self.errors.push(message.number);
        }
        Ok(())
    }

    fn output_parameter(&mut self, _: tsql::sink::OutputParameter<'_>) {}
}

/// A new instance with nothing in it.
///
/// # Panics
/// It does not start.
pub fn instance() -> Arc<Instance> {
    let clock = Arc::new(ManualClock::starting_at(1_700_000_000_000_000));
    let disk = SimDisk::new(7);
    disk.set_capacity_bytes(Some(DISK_BYTES));
    let environment = Environment {
        disk: Arc::new(disk),
        clock: clock.clone(),
        background: Background::Inline,
        waits: Arc::new(WaitStatistics::new()),
        activity: Arc::default(),
        errorlog: Arc::new(ErrorLog::new(clock)),
    };
    let options = InstanceOptions {
        folder: PathBuf::from("/instance"),
        server_name: "FUZZ".to_owned(),
        version: ServerVersion::V2025,
        policy: LogPolicy::native(),
        max_server_memory_bytes: SERVER_MEMORY_BYTES,
        instant_file_initialization: true,
    };
    Instance::start(options, environment).expect("an instance starts on an empty disk")
}

/// A session of `sa` in the instance.
///
/// # Panics
/// There is none to be had, or what it does first fails.
pub fn session(instance: &Arc<Instance>) -> Session {
    let login = Login {
        login: "sa".into(),
        host: "HOST".into(),
        application: "fuzz".into(),
        ..Login::default()
    };
    Session::new(instance.clone(), login).expect("a new instance has room for a session")
}

/// Runs a batch that must go through.
fn run(session: &mut Session, batch: &str) {
    let mut counter = Counter::default();
    session.execute(batch, &mut counter);
    assert!(counter.errors.is_empty(), "{batch}: {:?}", counter.errors);
}

/// Fills a new instance and opens a session in it.
///
/// # Panics
/// One of the batches fails.
pub fn filled() -> (Arc<Instance>, Session) {
    let instance = instance();
    let mut session = session(&instance);
    for batch in SCRIPT {
        run(&mut session, batch);
    }
    run(&mut session, SESSION_SCRIPT);
    (instance, session)
}

#[cfg(test)]
mod tests {
    use super::{Counter, DECLARATIONS, TABLES, filled};

    #[test]
    fn every_column_of_the_catalog_is_there() {
        let (_instance, mut session) = filled();
        for table in TABLES {
            let columns: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
            let mut counter = Counter::default();
            let batch = format!("{DECLARATIONS} select {} from {}", columns.join(", "), table.name);
            session.execute(&batch, &mut counter);
            assert!(counter.errors.is_empty(), "{batch}: {:?}", counter.errors);
        }
    }
}
