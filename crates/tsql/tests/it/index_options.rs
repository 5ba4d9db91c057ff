//! Options of indexes and tables that the catalog keeps and shows, and what ADD does for existing rows.
//!
//! sql-docs: "CREATE INDEX", "ALTER INDEX", "ALTER TABLE", "sys.indexes", "sys.tables", "ALTER TABLE column_definition" (WITH VALUES).
use std::sync::Arc;

use crate::transcript::{Transcript, instance, session};
use engine::instance::Instance;
use tsql::session::Session;

fn run(session: &mut Session, batch: &str) -> String {
    let mut transcript = Transcript::default();
    session.execute(batch, &mut transcript);
    transcript.text
}

fn started() -> (Arc<Instance>, Session) {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, "set nocount on create table t (a int not null, b int)");
    (instance, one)
}

/// The value of a query of one row and column.
fn value(session: &mut Session, query: &str) -> String {
    let answer = run(session, query);
    answer.lines().nth(1).unwrap_or(&answer).trim().to_owned()
}

/// FILLFACTOR, PAD_INDEX, ALLOW_ROW_LOCKS, ALLOW_PAGE_LOCKS and OPTIMIZE_FOR_SEQUENTIAL_KEY of an index.
fn shown(session: &mut Session, index: &str) -> String {
    value(
        session,
        &format!(
            "select concat(fill_factor, ' ', is_padded, ' ', allow_row_locks, ' ', allow_page_locks, ' ', \
             optimize_for_sequential_key) from sys.indexes where name = '{index}'"
        ),
    )
}

/// Django and HammerDB write these; each was refused by 40517.
#[test]
fn options_of_an_index_are_kept_and_shown() {
    let (_instance, mut one) = started();
    let made = [
        ("create index i on t (b)", "0 0 1 1 0"),
        (
            "drop index i on t create index i on t (b) with (fillfactor = 80, pad_index = on, allow_row_locks = off, \
             allow_page_locks = off, optimize_for_sequential_key = on)",
            "80 1 0 0 1",
        ),
        // What is not said stays as it is (sql-docs, ALTER INDEX).
        ("alter index i on t rebuild", "80 1 0 0 1"),
        (
            "alter index i on t rebuild with (fillfactor = 100, pad_index = off)",
            "100 0 0 0 1",
        ),
        (
            "alter index i on t set (allow_row_locks = on, allow_page_locks = on)",
            "100 0 1 1 1",
        ),
        (
            "alter index all on t set (optimize_for_sequential_key = off)",
            "100 0 1 1 0",
        ),
        // A rebuilt table keeps them.
        ("alter table t add c int not null default 7", "100 0 1 1 0"),
        (
            "drop index i on t create index i on t (b) with fillfactor = 50",
            "50 0 1 1 0",
        ),
        (
            "drop index i on t create index i on t (b) with pad_index, fillfactor = 60",
            "60 1 1 1 0",
        ),
    ];
    for (statement, wanted) in made {
        assert_eq!(run(&mut one, statement), "", "{statement}");
        assert_eq!(shown(&mut one, "i"), wanted, "{statement}");
    }
    run(
        &mut one,
        "create table k (a int constraint p primary key with (fillfactor = 70, allow_page_locks = off), b int unique with fillfactor = 30, \
         index x (b) with (pad_index = on))",
    );
    assert_eq!(shown(&mut one, "p"), "70 0 1 0 0");
    assert_eq!(shown(&mut one, "x"), "0 1 1 1 0");
    assert_eq!(
        value(&mut one, "select count(*) from sys.indexes where fill_factor = 30"),
        "1"
    );
    assert_eq!(run(&mut one, "alter table k rebuild with (fillfactor = 90)"), "");
    assert_eq!(shown(&mut one, "p"), "90 0 1 0 0");
}

#[test]
fn values_of_index_options_that_are_none_are_refused() {
    let (_instance, mut one) = started();
    run(&mut one, "create index i on t (b)");
    let refused = [
        ("create index j on t (b) with (fillfactor = 0)", "Msg 129"),
        ("create index j on t (b) with (fillfactor = 101)", "Msg 129"),
        ("create index j on t (b) with (pad_index = 5)", "Msg 102"),
        ("alter index i on t set (fillfactor = 50)", "Msg 155"),
        ("alter table t set (lock_escalation = row)", "Msg 102"),
        ("alter table t rebuild with (fillfactor = 50)", "Msg 40517"),
    ];
    for (statement, wanted) in refused {
        let answer = run(&mut one, statement);
        assert!(answer.contains(wanted), "{statement}: {answer}");
    }
}

#[test]
fn lock_escalation_is_shown() {
    let (_instance, mut one) = started();
    let shown = "select concat(lock_escalation, ' ', lock_escalation_desc) from sys.tables where name = 't'";
    assert_eq!(value(&mut one, shown), "0 TABLE");
    for (word, wanted) in [("auto", "2 AUTO"), ("disable", "1 DISABLE"), ("table", "0 TABLE")] {
        assert_eq!(
            run(&mut one, &format!("alter table t set (lock_escalation = {word})")),
            ""
        );
        assert_eq!(value(&mut one, shown), wanted);
    }
}

#[test]
fn row_locks_of_a_table_that_does_not_escalate_stay_row_locks() {
    let (_instance, mut one) = started();
    run(
        &mut one,
        "create table n (a int not null primary key) insert n values (1)",
    );
    for _ in 0..13 {
        run(&mut one, "insert n select a + (select max(a) from n) from n");
    }
    assert_eq!(value(&mut one, "select count(*) from n"), "8192");
    let locks = "begin tran update n set a = a select count(*) from sys.dm_tran_locks \
                 where request_session_id = @@spid and resource_type in ('KEY', 'RID') rollback";
    let count = |one: &mut Session| value(one, locks).parse::<u32>().unwrap();
    assert!(count(&mut one) < 5_000, "they became one");
    run(&mut one, "alter table n set (lock_escalation = disable)");
    assert!(count(&mut one) >= 8_192, "they stayed");
    run(&mut one, "alter table n set (lock_escalation = table)");
    assert!(count(&mut one) < 5_000, "they became one again");
}

/// WITH VALUES was refused, and a nullable column got its default without it: "If the added column allows null values and WITH VALUES
/// is not specified, NULL is stored" (sql-docs, ALTER TABLE column_definition).
#[test]
fn rows_that_are_there_get_a_default_where_with_values_or_not_null_asks_for_it() {
    let (_instance, mut one) = started();
    run(&mut one, "insert t values (1, 1)");
    let added = [
        ("add c1 int null default 5", "c1", "NULL"),
        ("add c2 int null default 5 with values", "c2", "5"),
        ("add c3 int not null default 5", "c3", "5"),
        ("add c4 int not null constraint d4 default 5 with values", "c4", "5"),
        ("add c5 int null, constraint d5 default 5 for c5 with values", "c5", "5"),
        ("add c6 int null, constraint d6 default 5 for c6", "c6", "NULL"),
        // The column was there before the statement: its rows stay.
        ("add constraint d7 default 5 for b with values", "b", "1"),
    ];
    for (addition, column, wanted) in added {
        assert_eq!(run(&mut one, &format!("alter table t {addition}")), "", "{addition}");
        assert_eq!(
            value(&mut one, &format!("select {column} from t")),
            wanted,
            "{addition}"
        );
    }
    run(&mut one, "insert t (a) values (2)");
    assert_eq!(
        value(&mut one, "select concat(c1, c2, c5, c6, b) from t where a = 2"),
        "55555"
    );
}

/// `INDEX` behind a column and among the elements of a table, of temporary tables and table variables as well (sql-docs, CREATE TABLE).
#[test]
fn indexes_are_made_with_their_table() {
    let (_instance, mut one) = started();
    run(
        &mut one,
        "create table i (a int not null index ia unique, b int index ib clustered, c int, index ic (c desc, a) include (b) with (fillfactor = 70))",
    );
    let indexes = "select string_agg(concat(name, ' ', type_desc, ' ', is_unique, ' ', fill_factor), ', ') within group (order by name) \
                   from sys.indexes where object_id = object_id('i')";
    assert_eq!(
        value(&mut one, indexes),
        "ia NONCLUSTERED 1 0, ib CLUSTERED 0 0, ic NONCLUSTERED 0 70"
    );
    assert!(run(&mut one, "insert i values (1, 1, 1), (1, 2, 2)").contains("Msg 2601"));
    let others = "create table #i (a int index ia, b int) insert #i values (1, 2) declare @v table (a int index ia, b int index ib (b, a)) \
                  insert @v select a, b from #i select count(*) from @v v join #i i on i.a = v.a";
    assert_eq!(value(&mut one, others), "1");
}

/// REORGANIZE keeps the rows, the options and the ids; 1943 without page locks (sql-docs, ALTER INDEX).
#[test]
fn indexes_are_reorganized() {
    let (_instance, mut one) = started();
    run(
        &mut one,
        "alter table t add primary key (a) create index i on t (b) with (fillfactor = 60) \
         insert t select n, n % 7 from (select top (500) row_number() over (order by object_id, column_id) as n from sys.all_columns) x delete t where a % 3 = 0",
    );
    run(&mut one, "insert t (a, b) values (1001, 1), (1002, 2)");
    let before = value(&mut one, "select concat(count(*), ' ', sum(b), ' ', max(a)) from t");
    for batch in [
        "alter index i on t reorganize",
        "alter index all on t reorganize with (lob_compaction = on)",
    ] {
        assert!(!run(&mut one, batch).contains("Msg"), "{batch}");
        assert_eq!(
            value(&mut one, "select concat(count(*), ' ', sum(b), ' ', max(a)) from t"),
            before
        );
        assert_eq!(
            value(&mut one, "select count(*) from t with (index (i)) where b >= 0"),
            value(&mut one, "select count(*) from t")
        );
        assert_eq!(shown(&mut one, "i"), "60 0 1 1 0");
    }
    run(&mut one, "alter index i on t set (allow_page_locks = off)");
    assert!(run(&mut one, "alter index i on t reorganize").contains("Msg 1943"));
}
