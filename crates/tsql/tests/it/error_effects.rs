//! What an error ends, for each class of error, XACT_ABORT, place of TRY and kind of scope: the table of `tsql::failure`
//! through real sessions. The expectations are written out here.
#![allow(clippy::unwrap_used)]

use crate::transcript;

use tsql::session::Session;

use transcript::{Transcript, instance, session};

/// Statements that fail, by what is expected of them.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Statement,
    Binding,
    Batch,
    BatchAlone,
    Raised,
}

/// The number and a statement that fails with it.
const FAILING: &[(Kind, i32, &str)] = &[
    (Kind::Statement, 8134, "insert t select 1 / z from zero"),
    (Kind::Statement, 547, "insert t values (-1)"),
    (Kind::Statement, 2627, "insert t values (7)"),
    (Kind::Statement, 515, "insert t values (null)"),
    (Kind::Statement, 2628, "insert word values ('longer than it is')"),
    (
        Kind::Statement,
        8115,
        "insert t select 2147483647 + o.z + 1 from zero o",
    ),
    (Kind::Statement, 512, "insert t select (select a from two)"),
    (Kind::Statement, 2812, "exec nowhere"),
    (Kind::Statement, 201, "exec takes"),
    (Kind::Statement, 8144, "exec takes 1, 2"),
    (Kind::Statement, 8145, "exec takes @other = 1"),
    (Kind::Statement, 544, "insert numbered (id) values (1)"),
    (Kind::Statement, 102, "exec ('select 1 +')"),
    (Kind::Statement, 208, "exec ('select * from nowhere')"),
    (Kind::Binding, 208, "select * from nowhere"),
    (Kind::Binding, 208, "insert nowhere values (1)"),
    (Kind::Binding, 207, "select nothing from t"),
    (Kind::Binding, 209, "select a from t cross join two"),
    (Kind::Binding, 4104, "select x.a from t"),
    (Kind::Binding, 137, "select @nothing"),
    (Kind::Binding, 1087, "insert @nothing values (1)"),
    (Kind::Binding, 213, "insert t values (1, 2)"),
    (Kind::Binding, 8120, "select a, count(*) from t"),
    (Kind::Binding, 206, "select cast('2020-01-01' as date) + 1"),
    (Kind::Binding, 195, "select nothing(1)"),
    (Kind::Binding, 207, "if exists (select nothing from t) print 'never'"),
    (Kind::Batch, 245, "insert t select cast(w as int) from word"),
    (Kind::Batch, 241, "select cast(w as datetime) from word"),
    (Kind::Batch, 8114, "select cast(w as decimal(9, 2)) from word"),
    (Kind::Batch, 8169, "select cast(w as uniqueidentifier) from word"),
    (Kind::Batch, 2714, "create table t (a int)"),
    (Kind::Batch, 3726, "drop table two"),
    (
        Kind::Batch,
        547,
        "alter table negative add constraint positive check (a > 0)",
    ),
    (Kind::BatchAlone, 50001, "throw 50001, 'thrown', 1"),
    (Kind::Raised, 50000, "raiserror ('raised', 16, 1)"),
    (Kind::Raised, 50000, "raiserror ('raised', 18, 1)"),
    (Kind::Raised, 3701, "drop table nowhere"),
];

const TABLES: &str = "create table two (a int primary key) insert two values (1), (2)
create table of_two (a int references two)
create table zero (z int) insert zero values (0)
create table negative (a int) insert negative values (-1)
create table word (w varchar(9)) insert word values ('word')
create table numbered (id int identity)
create table t (a int not null constraint pk primary key constraint ck check (a >= 0)) insert t values (7)";

/// How the statement is reached from the batch.
const SCOPES: &[&str] = &["", "procedure", "EXEC", "sp_executesql"];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Try {
    None,
    /// Around the statement, in its scope.
    Inside,
    /// Around the call of its scope.
    Outside,
}

/// What is seen of one run.
#[derive(Debug, PartialEq)]
struct Seen {
    /// The statement behind runs.
    behind: bool,
    /// CATCH in the scope runs, and what XACT_STATE says there.
    inside: Option<i16>,
    /// CATCH around the call runs.
    outside: Option<i16>,
    /// The statement behind the call runs.
    behind_call: bool,
    /// Whether the change made before is there behind the batch, in a transaction that is open.
    stays: bool,
    told: Vec<i32>,
}

/// What the table says. `called` is whether the scope is called by another.
fn expected(kind: Kind, number: i32, xact_abort: bool, around: Try, called: bool) -> Seen {
    let aborts = xact_abort && kind != Kind::Raised;
    let dooms = aborts || kind == Kind::Batch;
    let state = if dooms { -1 } else { 1 };
    let is_caught_inside = around == Try::Inside && kind != Kind::Binding;
    let is_caught = is_caught_inside || around == Try::Outside && (called || kind != Kind::Binding);
    if is_caught {
        return Seen {
            // Behind END CATCH, which is what stands behind the statement.
            behind: is_caught_inside,
            inside: is_caught_inside.then_some(state),
            outside: (!is_caught_inside).then_some(state),
            behind_call: true,
            stays: !dooms,
            told: if dooms { vec![3998] } else { Vec::new() },
        };
    }
    let (behind, behind_call) = match kind {
        Kind::Statement => (!aborts, !aborts),
        Kind::Raised => (true, true),
        Kind::Binding => (false, !aborts && called),
        Kind::Batch | Kind::BatchAlone => (false, false),
    };
    Seen {
        behind,
        inside: None,
        outside: None,
        behind_call,
        stays: !dooms,
        told: vec![number],
    }
}

fn quoted(text: &str) -> String {
    format!("N'{}'", text.replace('\'', "''"))
}

fn script(statement: &str, xact_abort: bool, around: Try, scope: &str) -> String {
    let guarded = |inner: &str, whose: &str| {
        format!(
            "begin try\n{inner}\nend try\nbegin catch\nprint '{whose} ' + cast(xact_state() as varchar)\nend catch\n"
        )
    };
    let inner = match around {
        Try::Inside => guarded(statement, "inside"),
        _ => statement.to_owned(),
    };
    let inner = format!("{inner}\nprint 'behind'");
    let call = match scope {
        "" => inner,
        "procedure" => "exec failing".to_owned(),
        "EXEC" => format!("exec ({})", quoted(&inner)),
        _ => format!("exec sp_executesql {}", quoted(&inner)),
    };
    let call = match around {
        Try::Outside => guarded(&call, "outside"),
        _ => call,
    };
    let switch = if xact_abort { "on" } else { "off" };
    format!("set xact_abort {switch}\nbegin transaction\ninsert t values (100)\n{call}\nprint 'behind call'")
}

fn answer(session: &mut Session, batch: &str) -> String {
    let mut transcript = Transcript::default();
    session.execute(batch, &mut transcript);
    transcript.text
}

fn run(session: &mut Session, (statement, xact_abort, around, scope): (&str, bool, Try, &str)) -> Seen {
    let batch = script(statement, xact_abort, around, scope);
    if scope == "procedure" {
        let inner = match around {
            Try::Inside => script(statement, xact_abort, around, ""),
            _ => script(statement, xact_abort, Try::None, ""),
        };
        let begin = inner.find("insert t values (100)\n").unwrap() + "insert t values (100)\n".len();
        let body = inner[begin..].replace("\nprint 'behind call'", "");
        assert_eq!(
            answer(session, &format!("create or alter procedure failing as\n{body}")),
            ""
        );
    }
    let text = answer(session, &batch);
    let state = |whose: &str| {
        let line = text
            .lines()
            .find_map(|line| line.trim().strip_prefix(whose)?.strip_prefix(' '));
        line.map(|state| state.parse().unwrap())
    };
    let told = text.split("Msg ").skip(1);
    let is_there = answer(
        session,
        "if @@trancount = 1 and exists (select * from t where a = 100) print 'open' ",
    );
    let seen = Seen {
        behind: text.lines().any(|line| line.trim() == "behind"),
        inside: state("inside"),
        outside: state("outside"),
        behind_call: text.lines().any(|line| line.trim() == "behind call"),
        stays: is_there.contains("open"),
        told: told
            .map(|message| message.split(',').next().unwrap().parse().unwrap())
            .collect(),
    };
    answer(session, "if @@trancount > 0 rollback");
    seen
}

#[test]
fn every_error_ends_what_the_table_says() {
    let instance = instance();
    let mut session = session(&instance);
    answer(&mut session, TABLES);
    answer(&mut session, "create procedure takes @one int as select @one one");
    let mut wrong = Vec::new();
    for &(kind, number, statement) in FAILING {
        for xact_abort in [false, true] {
            for around in [Try::None, Try::Inside, Try::Outside] {
                for &scope in SCOPES {
                    // No procedure is made with such a body: only objects may be missing when it is.
                    let cannot_be_made = kind == Kind::Binding && number != 208;
                    if cannot_be_made && scope == "procedure" {
                        continue;
                    }
                    let is_called = !scope.is_empty();
                    let expected = expected(kind, number, xact_abort, around, is_called);
                    let seen = run(&mut session, (statement, xact_abort, around, scope));
                    if seen != expected {
                        wrong.push(format!(
                            "{statement} XACT_ABORT {xact_abort}, TRY {around:?}, scope {scope:?}:\n  seen     {seen:?}\n  expected {expected:?}"
                        ));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// The numbers of the messages, and what is printed.
fn told(session: &mut Session, batch: &str) -> String {
    let text = answer(session, batch);
    let lines = text.lines().map(|line| match line.trim().strip_prefix("Msg ") {
        Some(message) => message.split(',').next().unwrap(),
        None => line.trim(),
    });
    lines
        .filter(|line| !line.starts_with('('))
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn what_a_procedure_leaves_behind_reaches_its_caller() {
    let instance = instance();
    let mut session = session(&instance);
    answer(&mut session, TABLES);
    // The scope is over with its transaction open: 266 is sent, and the caller goes on.
    answer(
        &mut session,
        "create procedure begins as begin transaction select * from nowhere commit",
    );
    assert_eq!(
        told(&mut session, "exec begins print @@trancount rollback"),
        "208 266 1"
    );
    // XACT_ABORT of a procedure ends the batch of a caller that has it off.
    answer(
        &mut session,
        "create procedure strict as set xact_abort on insert t values (7)",
    );
    assert_eq!(
        told(&mut session, "begin transaction exec strict print 'never'"),
        "2627"
    );
    assert_eq!(told(&mut session, "print @@trancount"), "0");
    // A return status is not assigned by what did not return.
    let status = "declare @r int = 5 exec @r = begins print @r rollback";
    assert_eq!(told(&mut session, status), "208 266 5");
}

#[test]
fn a_doomed_transaction_takes_no_change_and_does_not_outlive_its_batch() {
    let instance = instance();
    let mut session = session(&instance);
    answer(&mut session, TABLES);
    let doomed = "begin transaction begin try select cast(w as int) x from word end try begin catch ";
    let cases = [
        ("print xact_state() end catch", "-1 3998"),
        ("insert t values (5) end catch", "3930"),
        ("commit end catch", "3930"),
        ("save transaction s end catch", "3930"),
        ("rollback print xact_state() end catch", "0"),
        ("throw end catch print 'never'", "245 3998"),
        ("select count(*) n from t rollback end catch print 'on'", "[n int] 1 on"),
    ];
    for (handler, expected) in cases {
        let seen = told(&mut session, &format!("{doomed}{handler}"));
        assert_eq!(seen.replace("[x int] ", ""), expected, "{handler}");
        assert_eq!(told(&mut session, "print @@trancount"), "0", "{handler}");
    }
}

#[test]
fn a_transaction_of_the_client_outlives_what_is_refused() {
    let instance = instance();
    let mut session = session(&instance);
    answer(&mut session, TABLES);
    let refused = [
        "selec 1 +",
        "select nothing from t",
        "select * from nowhere",
        "select x.a from t",
        "select @a",
    ];
    for xact_abort in ["off", "on"] {
        for batch in refused {
            answer(&mut session, &format!("set xact_abort {xact_abort} begin transaction"));
            let outcome = session.execute_with_parameters(batch, "", &[], &mut Transcript::default());
            assert_eq!(outcome, tsql::session::BatchOutcome::Failed, "{batch}");
            let is_parsed = !batch.ends_with('+');
            let expected = if xact_abort == "on" && is_parsed { "0" } else { "1" };
            assert_eq!(
                told(&mut session, "print @@trancount"),
                expected,
                "{xact_abort} {batch}"
            );
            answer(&mut session, "if @@trancount > 0 rollback");
        }
    }
}

#[test]
fn severity_20_ends_the_session_and_no_try_block_catches_it() {
    let instance = instance();
    let mut session = session(&instance);
    let batch = "begin try raiserror ('the end', 20, 1) with log end try begin catch print 'never' end catch";
    let mut transcript = Transcript::default();
    assert_eq!(
        session.execute(batch, &mut transcript),
        tsql::session::BatchOutcome::Disconnected
    );
    assert!(!transcript.text.contains("never"), "{}", transcript.text);
}
