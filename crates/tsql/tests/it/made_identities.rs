//! IDENTITY(type, seed, increment) in the list of a SELECT INTO. Expected answers are those of SQL Server's documentation ("IDENTITY (Function)",
//! "Database engine errors").
#![allow(clippy::unwrap_used)]

use crate::answers::{answers, rows, run};
use crate::transcript;

use tsql::session::Session;

fn refusal(session: &mut Session, batch: &str) -> String {
    let answers = answers(session, batch);
    let first = answers.errors.first();
    let (number, _, text) = first.unwrap_or_else(|| panic!("{batch} answered {:?}", answers.rows));
    format!("{number} {text}")
}

/// The column numbers the rows as they come, is NOT NULL, and goes on from there.
#[test]
fn select_into_makes_an_identity_column() {
    let mut session = transcript::session(&transcript::instance());
    run(
        &mut session,
        &[
            "create table t (a int, b varchar(5))",
            "insert t values (3, 'c'), (1, 'a'), (2, 'b')",
            "select identity(int, 10, 5) as id, t.*, identity_of = 1 into n from t order by a",
            "select a, n = identity(numeric(5, 0), -1, -1) into m from t group by a",
            "select id = identity(bigint) into o from t where a > 1",
        ],
    );
    assert_eq!(
        rows(&mut session, "select id, a, b from n order by id"),
        "10 1 a|15 2 b|20 3 c"
    );
    assert_eq!(rows(&mut session, "select @@identity"), "2");
    run(&mut session, &["insert n (a, b, identity_of) values (9, 'z', 0)"]);
    assert_eq!(rows(&mut session, "select max(id) from n"), "25");
    assert_eq!(rows(&mut session, "select n from m order by n"), "-3|-2|-1");
    assert_eq!(rows(&mut session, "select id from o order by id"), "1|2");
    assert_eq!(
        rows(
            &mut session,
            "select object_name(object_id), name, type_name(system_type_id), is_nullable, is_identity from sys.columns \
             where is_identity = 1 and object_id in (object_id('n'), object_id('m'), object_id('o')) order by 1"
        ),
        "m n numeric 0 1|n id int 0 1|o id bigint 0 1"
    );
}

/// "The IDENTITY property isn't inherited" by the columns of a join. Knex makes the table of its OUTPUT INTO so, and the join with a condition
/// that is never true was gone when the columns were looked at: every INSERT with OUTPUT failed with 213.
#[test]
fn select_into_of_a_join_inherits_no_identity() {
    let mut session = transcript::session(&transcript::instance());
    run(
        &mut session,
        &[
            "create table t (id int identity primary key, data int)",
            "insert t values (5)",
        ],
    );
    let froms = [
        "t left join t z on 0 = 1",
        "t left join t z on 1 = 1",
        "t join t z on t.id = z.id",
        "t cross join (select 1 as one) z",
        "t, (select 1 as one) z",
        "t cross apply (select 1 as one) z",
    ];
    for from in froms {
        run(
            &mut session,
            &[
                "drop table if exists n",
                &format!("select top (0) t.id, t.data into n from {from}"),
            ],
        );
        let query = "select count(*) from sys.identity_columns where object_id = object_id('n')";
        assert_eq!(rows(&mut session, query), "0", "{from}");
        run(
            &mut session,
            &["insert t (data) output inserted.id, inserted.data into n values (7)"],
        );
        assert_eq!(rows(&mut session, "select data from n"), "7", "{from}");
    }
    for from in ["t", "t where 1 = 1", "(select * from t) t"] {
        run(
            &mut session,
            &[
                "drop table if exists n",
                &format!("select t.id, t.data into n from {from}"),
            ],
        );
        let query = "select count(*) from sys.identity_columns where object_id = object_id('n')";
        assert_eq!(rows(&mut session, query), "1", "{from}");
    }
}

#[test]
fn where_it_cannot_stand() {
    let mut session = transcript::session(&transcript::instance());
    run(
        &mut session,
        &["create table t (a int identity, b int)", "insert t values (1), (2)"],
    );
    let elsewhere = "177 The IDENTITY function can only be used when the SELECT statement has an INTO clause.";
    for statement in [
        "select identity(int, 1, 1) as x from t",
        "select b into n from t where b = identity(int, 1, 1)",
        "select identity(int, 1, 1) + 1 as x into n from t",
        "select b, (select identity(int, 1, 1)) as x into n from t",
        "insert t select identity(int, 1, 1)",
    ] {
        assert_eq!(refusal(&mut session, statement), elsewhere, "{statement}");
    }
    for (statement, number) in [
        ("select identity(int, 1, 1) as x, a into n from t", "8108 "),
        (
            "select identity(int, 1, 1) as x, identity(int, 1, 1) as y into n from t",
            "8108 ",
        ),
        ("select identity(varchar(5), 1, 1) as x into n from t", "2749 "),
        ("select identity(int, 1, 0) as x into n from t", "2749 "),
        ("select identity(int, 1, 1), b into n from t", "1038 "),
    ] {
        assert!(refusal(&mut session, statement).starts_with(number), "{statement}");
    }
    assert_eq!(
        rows(&mut session, "select count(*) from sys.tables where name = 'n'"),
        "0"
    );
}
