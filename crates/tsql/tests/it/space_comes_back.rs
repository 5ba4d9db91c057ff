//! Space that comes back: a table of constant size, and a data file at MAXSIZE that is emptied, filled and truncated.
#![allow(clippy::unwrap_used)]

use crate::transcript;

use transcript::{Transcript, Whole, instance, session};
use tsql::session::Session;

fn run(session: &mut Session, batch: &str) -> String {
    let mut transcript = Transcript::default();
    session.execute(batch, &mut transcript);
    transcript.text
}

/// The first column of the only row.
fn number(session: &mut Session, query: &str) -> i64 {
    let mut whole = Whole::default();
    session.execute(query, &mut whole);
    whole.0[0].parse().unwrap()
}

/// 500 rows in, 500 out: the table grew by 63 pages a round, 632 to 3,152 in 50 rounds, heap and tree alike.
#[test]
fn a_table_of_constant_size_keeps_its_pages() {
    for key in ["", "primary key"] {
        let instance = instance();
        let mut one = session(&instance);
        run(&mut one, "create database d");
        run(&mut one, "use d");
        let table = format!("set nocount on create table t (id int not null {key}, p char(900) not null default 'x')");
        assert_eq!(run(&mut one, &table), "");
        let fill = "insert t (id) select value from generate_series(0, 4999)";
        assert_eq!(run(&mut one, fill), "");
        let mut pages = Vec::new();
        for round in 0..50 {
            let (first, next) = (round * 500, 5_000 + round * 500);
            let batch = format!(
                "declare @i int = 0 begin tran while @i < 500 begin insert t (id) values ({next} + @i) set @i += 1 end \
                 delete t where id < {first} + 500 commit"
            );
            assert_eq!(run(&mut one, &batch), "");
            instance.run_due_checkpoints();
            let reserved = "select concat(sum(reserved_page_count), '') from sys.dm_db_partition_stats where object_id = object_id('t')";
            pages.push(number(&mut one, reserved));
        }
        // Free pages are handed out before new ones, so what a round takes before its own deletions are cleaned is all that it may hold.
        let of_a_round = 64;
        assert!(
            pages[3..].iter().all(|now| *now <= pages[2] + of_a_round),
            "{key}: {pages:?}"
        );
        assert_eq!(number(&mut one, "select concat(count(*), '') from t"), 5_000);
        assert!(!run(&mut one, "dbcc checkdb (d) with no_infomsgs").contains("Msg"));
    }
}

/// The file takes rows again as soon as those in it are deleted, and TRUNCATE TABLE needs no room in it, even if it is rolled back.
#[test]
fn a_full_data_file_is_emptied_filled_and_truncated() {
    let instance = instance();
    let mut one = session(&instance);
    let database = "create database df on (name = df, filename = 'c:\\df.mdf', size = 3MB, filegrowth = 1MB, maxsize = 5MB) \
        log on (name = dfl, filename = 'c:\\df.ldf', size = 8MB)";
    run(&mut one, database);
    run(&mut one, "alter database df set recovery simple");
    run(
        &mut one,
        "use df set nocount on create table h (i int not null, p char(4000) default 'x')",
    );
    let mut counts = Vec::new();
    for round in 0..20 {
        let fill =
            "declare @i int = 0 while 1 = 1 begin insert h (i) values (@i) if @@error <> 0 break set @i += 1 end";
        let said = run(&mut one, fill);
        assert!(
            said.contains("1105") && said.contains("Could not allocate space for object 'dbo.h' in database 'df'"),
            "round {round}: {said}"
        );
        counts.push(number(&mut one, "select concat(count(*), '') from h"));
        if round % 2 == 0 {
            assert_eq!(run(&mut one, "delete h"), "", "round {round}");
            assert_eq!(run(&mut one, "insert h (i) values (1)"), "", "round {round}");
        } else {
            assert_eq!(
                run(&mut one, "begin tran truncate table h rollback"),
                "",
                "round {round}"
            );
            let kept = number(&mut one, "select concat(count(*), '') from h");
            assert_eq!(Some(&kept), counts.last());
        }
        assert_eq!(run(&mut one, "truncate table h"), "", "round {round}");
    }
    assert!(
        counts.iter().all(|count| *count >= counts[0] - 16 && *count > 700),
        "{counts:?}"
    );
    assert!(!run(&mut one, "dbcc checkdb (df) with no_infomsgs").contains("Msg"));
}

/// Values outside of their rows: their extents are free for another table as soon as they are deleted, again and again.
#[test]
fn a_full_data_file_takes_rows_where_another_table_had_long_values() {
    let instance = instance();
    let mut one = session(&instance);
    let database = "create database df on (name = df, filename = 'c:\\df.mdf', size = 3MB, filegrowth = 1MB, maxsize = 5MB) \
        log on (name = dfl, filename = 'c:\\df.ldf', size = 8MB)";
    run(&mut one, database);
    run(&mut one, "alter database df set recovery simple");
    run(
        &mut one,
        "use df set nocount on create table v (i int not null, p varchar(max)) create table h (i int not null, p char(4000) default 'x')",
    );
    let mut counts = Vec::new();
    for round in 0..20 {
        for (table, row) in [
            ("v", "@i, replicate(cast('v' as varchar(max)), 30000)"),
            ("h", "@i, 'x'"),
        ] {
            let fill = format!(
                "declare @i int = 0 while 1 = 1 begin insert {table} values ({row}) if @@error <> 0 break set @i += 1 end"
            );
            let said = run(&mut one, &fill);
            assert!(said.contains("1105"), "round {round}: {said}");
            counts.push(number(&mut one, &format!("select concat(count(*), '') from {table}")));
            assert_eq!(run(&mut one, &format!("delete {table}")), "", "round {round}");
        }
    }
    let (values, rows): (Vec<_>, Vec<_>) = counts.chunks(2).map(|pair| (pair[0], pair[1])).unzip();
    assert!(
        values.iter().all(|count| *count >= values[0] - 4 && *count > 80),
        "{values:?}"
    );
    assert!(
        rows.iter().all(|count| *count >= rows[0] - 16 && *count > 700),
        "{rows:?}"
    );
    assert!(!run(&mut one, "dbcc checkdb (df) with no_infomsgs").contains("Msg"));
}

/// A statement that reads its own target never meets the rows that it inserts, whatever holes there are before those still to be read.
#[test]
fn a_statement_does_not_meet_its_own_rows_in_holes() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, "create database d");
    run(
        &mut one,
        "use d set nocount on create table h (i int not null, p char(400) not null default 'x')",
    );
    run(&mut one, "insert h (i) select value from generate_series(1, 3000)");
    run(&mut one, "delete h where i % 3 <> 0");
    instance.run_due_checkpoints();
    assert_eq!(run(&mut one, "insert h (i) select i from h"), "");
    assert_eq!(number(&mut one, "select concat(count(*), '') from h"), 2_000);
    assert_eq!(run(&mut one, "insert h (i) select -i from h where i > 0"), "");
    assert_eq!(number(&mut one, "select concat(count(*), '') from h"), 4_000);
}
