//! EXECUTE AS and REVERT: whose names a session has, what ends a context, and what others see of it. Expected answers are those of SQL
//! Server's documentation ("EXECUTE AS (Transact-SQL)", "REVERT (Transact-SQL)", "EXECUTE AS Clause", "Database engine errors").

use crate::answers::{answers, rows, run};
use crate::transcript;

use tsql::session::{Login, Reset, Session};

const NAMES: &str =
    "select suser_sname(), suser_name(), system_user, original_login(), user_name(), is_srvrolemember('sysadmin')";
const OWN: &str = "web web web web dbo 1";
const OTHER: &str = "sa sa sa web dbo 1";

/// A session that another login than sa has opened.
fn session_of_web() -> Session {
    let login = Login {
        login: "web".into(),
        ..Login::default()
    };
    Session::new(transcript::instance(), login).expect("an instance that is there")
}

fn numbers(session: &mut Session, batch: &str) -> Vec<i32> {
    let answers = answers(session, batch);
    answers.errors.iter().map(|(number, ..)| *number).collect()
}

#[test]
fn names_are_those_of_the_context_until_it_is_reverted() {
    let mut one = session_of_web();
    assert_eq!(rows(&mut one, NAMES), OWN);
    run(&mut one, &["execute as login = 'SA'"]);
    assert_eq!(rows(&mut one, NAMES), OTHER, "the context outlives its batch");
    run(&mut one, &["declare @n sysname = N'web' exec as login = @n"]);
    assert_eq!(rows(&mut one, NAMES), OWN);
    run(&mut one, &["revert"]);
    assert_eq!(rows(&mut one, NAMES), OTHER, "contexts nest");
    let seen = "select login_name, original_login_name from sys.dm_exec_sessions where session_id = @@spid";
    assert_eq!(rows(&mut one, seen), "sa web");
    run(&mut one, &["execute as caller"]);
    assert_eq!(rows(&mut one, NAMES), OTHER, "CALLER has no action outside of a module");
    run(&mut one, &["revert revert revert"]);
    assert_eq!(rows(&mut one, NAMES), OWN, "a REVERT of nothing does nothing");
    assert_eq!(rows(&mut one, seen), "web web");
}

#[test]
fn a_module_ends_its_own_contexts_and_no_other() {
    let mut one = session_of_web();
    let names = "concat(suser_sname(), '/', original_login())";
    run(
        &mut one,
        &[
            &format!("create procedure inside as select {names} execute as login = 'sa' select {names}"),
            &format!(
                "create procedure owned with execute as owner as select {names} execute as caller select {names} revert select {names}"
            ),
            "create procedure reverts as revert revert",
            &format!("create procedure tries with execute as owner as revert revert exec called select {names}"),
            &format!("create procedure called as select {names} execute as caller select {names}"),
            &format!("create function named() returns nvarchar(300) with execute as self as begin return {names} end"),
            "create table t (a int, name nvarchar(300))",
            &format!("create trigger filled on t with execute as owner after insert as update t set name = {names}"),
        ],
    );
    assert_eq!(rows(&mut one, "exec inside"), "web/web|sa/web");
    assert_eq!(rows(&mut one, NAMES), OWN);
    assert_eq!(rows(&mut one, "exec owned"), "sa/web|web/web|sa/web");
    assert_eq!(
        rows(&mut one, "exec tries"),
        "sa/web|sa/web|sa/web",
        "nobody reverts what a clause says"
    );
    assert_eq!(
        rows(&mut one, "exec('execute as login = ''sa''') select suser_sname()"),
        "web"
    );
    assert_eq!(
        rows(
            &mut one,
            "execute as login = 'sa' exec reverts select suser_sname() revert"
        ),
        "sa"
    );
    assert_eq!(rows(&mut one, "select dbo.named()"), "sa/web");
    assert_eq!(rows(&mut one, "insert t (a) values (1) select name from t"), "sa/web");
    let failing =
        "begin try exec('execute as login = ''sa'' select 1/0') end try begin catch select suser_sname() end catch";
    assert_eq!(
        rows(&mut one, failing),
        "web",
        "an error ends the contexts of its module as well"
    );
}

#[test]
fn a_context_with_a_cookie_is_reverted_with_it_and_one_without_revert_is_not() {
    let mut one = session_of_web();
    run(&mut one, &["create table kept (cookie varbinary(100))"]);
    let begun = "declare @c varbinary(100) execute as login = 'sa' with cookie into @c insert kept values (@c) select datalength(@c)";
    assert_eq!(rows(&mut one, begun), "32");
    assert_eq!(numbers(&mut one, "revert"), [15_591]);
    assert_eq!(numbers(&mut one, "revert with cookie = 0x00"), [15_591]);
    assert_eq!(
        numbers(&mut one, "declare @n varbinary(100) revert with cookie = @n"),
        [15_591]
    );
    assert_eq!(rows(&mut one, NAMES), OTHER);
    run(
        &mut one,
        &["declare @c varbinary(100) = (select cookie from kept) revert with cookie = @c"],
    );
    assert_eq!(rows(&mut one, NAMES), OWN);
    assert_eq!(numbers(&mut one, "revert with cookie = 0x00"), [15_591]);
    run(&mut one, &["execute as login = 'sa' with no revert"]);
    assert_eq!(numbers(&mut one, "revert"), [15_196]);
    assert_eq!(rows(&mut one, NAMES), OTHER);
    let reset = one.reset(Reset::default());
    assert_eq!(rows(&mut one, NAMES), OWN, "{reset:?}");
}

#[test]
fn what_cannot_be_impersonated_or_reverted_is_told() {
    let mut one = session_of_web();
    run(&mut one, &["create database other"]);
    let refused = [
        ("execute as login = 'nobody'", 15_406),
        ("execute as login = 'sysadmin'", 15_406),
        ("declare @n sysname execute as login = @n", 15_406),
        ("execute as user = 'nobody'", 15_517),
        ("execute as user = 'sys'", 15_517),
        ("execute as user = 'dbo'", 40_517),
        ("execute as login = 'sa' with cookie into @missing", 137),
        ("execute as login = sa", 102),
        ("execute as login", 102),
        ("exec('execute as login = ''sa'' with no revert')", 15_590),
        (
            "exec('declare @c varbinary(100) execute as login = ''sa'' with cookie into @c')",
            15_590,
        ),
        ("create function f() returns int as begin revert return 1 end", 443),
    ];
    for (batch, number) in refused {
        assert_eq!(numbers(&mut one, batch), [number], "{batch}");
        assert_eq!(rows(&mut one, NAMES), OWN, "{batch}");
    }
    run(&mut one, &["execute as login = 'sa' use other"]);
    assert_eq!(numbers(&mut one, "revert"), [15_199]);
    run(&mut one, &["use master revert"]);
    assert_eq!(rows(&mut one, NAMES), OWN);
    let deeper = "declare @i int = 0 while @i < 40 begin execute as login = 'sa' set @i += 1 end";
    assert_eq!(numbers(&mut one, deeper).first(), Some(&217));
}

/// `EXECUTE ('text') AS LOGIN | USER = 'name'` (sql-docs, "EXECUTE (Transact-SQL)"): the context is that of the text, from its beginning to its
/// end, and REVERT in the text does not end it.
#[test]
fn a_text_runs_in_the_context_that_it_is_given() {
    let mut one = session_of_web();
    let names = "select suser_sname()";
    for (batch, shown) in [
        (format!("exec ('{names}') as login = 'sa' {names}"), "sa|web"),
        (format!("exec ('{names}') as user = 'dbo' {names}"), "sa|web"),
        (
            format!("exec ('{names} revert {names}') as login = N'SA' {names}"),
            "sa|sa|web",
        ),
        (
            format!("exec ('{names} exec (''{names}'') as login = ''web'' {names}') as user = 'DBO '"),
            "sa|web|sa",
        ),
        (
            "exec ('select 1 as a') as login = 'sa' with result sets ((b int))".to_owned(),
            "1",
        ),
        (
            format!("begin try exec ('select 1/0') as login = 'sa' end try begin catch {names} end catch"),
            "web",
        ),
    ] {
        assert_eq!(rows(&mut one, &batch), shown, "{batch}");
    }
    for (batch, number) in [
        ("exec ('select 1') as login = 'nobody'", 15_406),
        ("exec ('select 1') as user = 'nobody'", 15_517),
        ("exec ('select 1') as user = 'guest'", 40_517),
        ("declare @n sysname = 'sa' exec ('select 1') as login = @n", 102),
        ("exec ('select 1') as caller", 102),
        ("exec ('select 1') as login = 'sa' at other", 40_517),
    ] {
        assert_eq!(numbers(&mut one, batch), [number], "{batch}");
        assert_eq!(rows(&mut one, NAMES), OWN, "{batch}");
    }
}
