//! sys.dm_db_index_physical_stats and sys.dm_os_buffer_descriptors: how tables lie in their pages, and which pages are in
//! memory.
#![allow(clippy::unwrap_used)]

use crate::transcript;

use engine::instance::Instance;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use transcript::{Transcript, Whole, instance, session};
use tsql::session::Session;

fn run(session: &mut Session, batch: &str) -> String {
    let mut transcript = Transcript::default();
    session.execute(batch, &mut transcript);
    transcript.text
}

/// The first column of the rows.
fn values(session: &mut Session, query: &str) -> Vec<String> {
    let mut whole = Whole::default();
    session.execute(query, &mut whole);
    whole.0
}

fn started(instance: &Arc<Instance>) -> Session {
    let mut one = session(instance);
    run(&mut one, "create database d");
    let tables = "use d create table filled (a int not null constraint pk_filled primary key, b char(100) not null) \
        create table scattered (a int not null constraint pk_scattered primary key, b char(100) not null) \
        create index ix_b on scattered (b) create table heap (a int not null, b varchar(3000) not null) create table empty (a int)";
    run(&mut one, tables);
    let rows = "set nocount on begin tran declare @i int = 0 while @i < 6000 begin \
        insert filled values (@i, '') insert scattered values ((@i * 7919) % 6007, (@i * 7919) % 6007) set @i += 1 end \
        set @i = 0 while @i < 400 begin insert heap values (@i, replicate('x', 100)) set @i += 1 end commit";
    assert_eq!(run(&mut one, rows), "");
    one
}

/// Something of the levels of a table's indexes.
fn asked(what: &str, table: &str, index: &str, mode: &str) -> String {
    format!(
        "select {what} from sys.dm_db_index_physical_stats(db_id('d'), object_id('d.dbo.{table}'), {index}, null, {mode}) \
         order by index_id, index_level"
    )
}

#[test]
fn pages_and_rows_are_those_of_the_other_views() {
    let instance = instance();
    let mut one = started(&instance);
    for (table, index) in [("filled", 1), ("scattered", 1), ("scattered", 2), ("heap", 0)] {
        let pages = format!(
            "select concat(in_row_data_page_count, '') from sys.dm_db_partition_stats where object_id = object_id('{table}') and index_id = {index}"
        );
        let pages = values(&mut one, &pages);
        for mode in ["null", "'LIMITED'", "'sampled'", "'DETAILED'"] {
            let found = values(
                &mut one,
                &asked(
                    "concat(iif(index_level = 0, page_count, null), '')",
                    table,
                    &index.to_string(),
                    mode,
                ),
            );
            assert_eq!(found[..1], pages, "{table} {index} {mode}");
        }
        let count = values(&mut one, &format!("select concat(count(*), '') from {table}"));
        let records = values(
            &mut one,
            &asked(
                "concat(iif(index_level = 0, record_count, null), '')",
                table,
                &index.to_string(),
                "'detailed'",
            ),
        );
        assert_eq!(records[..1], count, "{table} {index}");
        let limited = asked(
            "concat(record_count, min_record_size_in_bytes, avg_page_space_used_in_percent, '-')",
            table,
            &index.to_string(),
            "default",
        );
        assert_eq!(values(&mut one, &limited), ["-"], "LIMITED reads no page with rows");
    }
}

#[test]
fn every_level_of_a_tree_is_told_and_its_records_are_the_pages_below() {
    let instance = instance();
    let mut one = started(&instance);
    let levels = values(
        &mut one,
        &asked(
            "concat(index_level, ' ', index_depth, ' ', page_count, ' ', record_count)",
            "scattered",
            "1",
            "'detailed'",
        ),
    );
    let numbers: Vec<Vec<u64>> = levels
        .iter()
        .map(|level| level.split(' ').map(|number| number.parse().unwrap()).collect())
        .collect();
    let depth = numbers.len() as u64;
    assert!(depth >= 2, "{levels:?}");
    for (level, found) in numbers.iter().enumerate() {
        assert_eq!((found[0], found[1]), (level as u64, depth));
        if level > 0 {
            assert_eq!(found[3], numbers[level - 1][2], "a separator for each page below");
        }
    }
    assert_eq!(numbers[numbers.len() - 1][2], 1, "the root");
}

/// Keys in order fill page after page; keys all over split pages, whose right halves are elsewhere. REBUILD puts them in order again.
#[test]
fn scattered_keys_leave_fragments_and_a_rebuild_none() {
    let instance = instance();
    let mut one = started(&instance);
    let percent = |session: &mut Session, table: &str, index: &str| -> (f64, f64, f64) {
        let what = "concat(avg_fragmentation_in_percent, ' ', fragment_count, ' ', avg_fragment_size_in_pages)";
        let found = values(session, &asked(what, table, index, "null"));
        let numbers: Vec<f64> = found[0].split(' ').map(|number| number.parse().unwrap()).collect();
        (numbers[0], numbers[1], numbers[2])
    };
    let (filled, fragments, size) = percent(&mut one, "filled", "1");
    assert!(
        filled < 5.0 && size > 3.0,
        "{filled} % in {fragments} fragments of {size} pages"
    );
    let (scattered, fragments, size) = percent(&mut one, "scattered", "1");
    assert!(
        scattered > 50.0 && size < 2.0,
        "{scattered} % in {fragments} fragments of {size} pages"
    );
    let used = asked(
        "iif(avg_page_space_used_in_percent < 85, 'loose', 'tight')",
        "scattered",
        "1",
        "'sampled'",
    );
    assert_eq!(values(&mut one, &used), ["loose"]);
    run(&mut one, "alter index all on scattered rebuild");
    let (rebuilt, fragments, size) = percent(&mut one, "scattered", "1");
    assert!(
        rebuilt < 5.0 && size > 3.0,
        "{rebuilt} % in {fragments} fragments of {size} pages"
    );
    assert_eq!(values(&mut one, &used), ["tight"]);
}

/// "A row may contain multiple records" (sql-docs): one that no longer fits its page leaves a stub there.
#[test]
fn rows_of_a_heap_that_have_moved_are_counted() {
    let instance = instance();
    let mut one = started(&instance);
    let what = "concat(index_type_desc, ' ', record_count, ' ', forwarded_record_count, ' ', max_record_size_in_bytes)";
    let before = values(&mut one, &asked(what, "heap", "0", "'detailed'"));
    assert!(before[0].starts_with("HEAP 400 0 1"), "{before:?}");
    run(&mut one, "update heap set b = replicate('y', 3000) where a % 10 = 0");
    let after = values(&mut one, &asked(what, "heap", "0", "'detailed'"));
    let numbers: Vec<u64> = after[0]
        .split(' ')
        .skip(1)
        .map(|number| number.parse().unwrap())
        .collect();
    let (records, forwarded, longest) = (numbers[0], numbers[1], numbers[2]);
    assert!(
        forwarded > 20 && records == 400 + forwarded && longest > 3000,
        "{after:?}"
    );
}

#[test]
fn what_does_not_exist_is_refused_and_all_is_everything() {
    let instance = instance();
    let mut one = started(&instance);
    for (arguments, error) in [
        ("db_id('d'), null, null, null, 'quick'", "Msg 2561"),
        ("null, 5, null, null, null", "Msg 2561"),
        ("99, null, null, null, null", "Msg 2520"),
        ("db_id('d'), 99, null, null, null", "Msg 2573"),
    ] {
        let told = run(
            &mut one,
            &format!("select * from sys.dm_db_index_physical_stats({arguments})"),
        );
        assert!(told.contains(error), "{arguments}: {told}");
    }
    let all = "select concat(count(distinct concat(database_id, ' ', object_id)), '') from sys.dm_db_index_physical_stats(null, null, null, null, null) \
        where database_id = db_id('d')";
    assert_eq!(values(&mut one, all), ["4"]);
    let none = "select concat(count(*), '') from sys.dm_db_index_physical_stats(db_id('d'), null, null, 2, null)";
    assert_eq!(values(&mut one, none), ["0"], "there is one partition");
    let empty = asked(
        "concat(page_count, ' ', fragment_count, ' ', record_count, ' ', avg_fragmentation_in_percent)",
        "empty",
        "null",
        "'detailed'",
    );
    assert_eq!(values(&mut one, &empty), ["0 0 0 0"]);
    let held = "select concat(count(*), '') from sys.dm_tran_locks where request_session_id = @@spid and resource_type <> 'DATABASE'";
    assert_eq!(values(&mut one, held), ["0"], "its locks are given back");
    run(&mut one, "begin tran insert empty values (1)");
    let empty = asked("concat(page_count, '')", "empty", "null", "null");
    assert_eq!(values(&mut one, &empty), ["1"]);
    let modes =
        "select request_mode from sys.dm_tran_locks where request_session_id = @@spid and resource_type = 'OBJECT'";
    assert_eq!(values(&mut one, modes), ["IX"], "and those of the transaction kept");
}

/// Pages split and the root grows during the walk.
#[test]
fn it_may_be_asked_while_others_write() {
    let instance = instance();
    let mut one = started(&instance);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut writer = session(&instance);
            run(&mut writer, "use d");
            for round in 0..20 {
                let rows = format!(
                    "set nocount on drop table if exists grows create table grows (a int not null primary key, b char(900) not null) \
                     declare @i int = 0 while @i < 300 begin insert grows values ((@i * 7919) % 6007 + {round}, '') set @i += 1 end"
                );
                assert_eq!(run(&mut writer, &rows), "");
            }
            done.store(true, Ordering::SeqCst);
        });
        let mut asked_times = 0;
        while !done.load(Ordering::SeqCst) {
            let told = run(
                &mut one,
                "select sum(page_count) from sys.dm_db_index_physical_stats(db_id('d'), null, null, null, 'detailed')",
            );
            assert!(!told.contains("Msg "), "{told}");
            asked_times += 1;
        }
        assert!(asked_times > 0);
    });
}

#[test]
fn pages_in_memory_are_told_and_whether_they_were_changed() {
    let instance = instance();
    let mut one = started(&instance);
    run(&mut one, "checkpoint dbcc dropcleanbuffers with no_infomsgs");
    let held = "select concat(count(*), ' ', sum(cast(d.is_modified as int))) from sys.dm_os_buffer_descriptors d \
        join sys.allocation_units u on u.allocation_unit_id = d.allocation_unit_id join sys.partitions p on p.hobt_id = u.container_id \
        where d.database_id = db_id('d') and d.page_type = 'DATA_PAGE' and p.object_id = object_id('filled')";
    let counted = |session: &mut Session| -> (u64, u64) {
        let found = values(session, held);
        let mut numbers = found[0].split(' ').map(|number| number.parse().unwrap_or(0));
        (numbers.next().unwrap(), numbers.next().unwrap_or(0))
    };
    let pages: u64 = values(&mut one, &asked("concat(page_count, '')", "filled", "1", "null"))[0]
        .parse()
        .unwrap();
    assert!(counted(&mut one).0 < pages, "they have left memory");
    run(&mut one, "select count(*) from filled where b = 'x'");
    assert_eq!(counted(&mut one), (pages, 0), "all are read");
    run(&mut one, "update filled set b = 'y' where a = 3000");
    assert_eq!(counted(&mut one), (pages, 1));
    run(&mut one, "checkpoint");
    assert_eq!(counted(&mut one), (pages, 0));
    let rows = "select concat(sum(row_count), '') from sys.dm_os_buffer_descriptors d join sys.allocation_units u \
        on u.allocation_unit_id = d.allocation_unit_id join sys.partitions p on p.hobt_id = u.container_id \
        where d.database_id = db_id('d') and d.page_type = 'DATA_PAGE' and p.object_id = object_id('filled')";
    assert_eq!(values(&mut one, rows), ["6000"]);
    let kinds = "select distinct page_type from sys.dm_os_buffer_descriptors where database_id = db_id('d') order by 1";
    let kinds = values(&mut one, kinds);
    assert!(kinds.contains(&"INDEX_PAGE".to_owned()), "{kinds:?}");
}
