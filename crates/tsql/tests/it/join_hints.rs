//! Join hints: LOOP, HASH and MERGE in OPTION and at a join; FORCE ORDER and SET FORCEPLAN. Plans are read by their shown
//! operators.
#![allow(clippy::unwrap_used)]

use crate::answers;
use crate::transcript;

use answers::{rows, run};
use transcript::{Transcript, instance, session};
use tsql::session::Session;

/// `small` comes first by cost wherever it is written; `big` has an index that a loop can search.
const TABLES: &[&str] = &[
    "create table small (a int not null, b int not null)
     create table big (a int not null constraint pk_big primary key, b int not null)
     create table other (b int not null, c int not null)",
    "declare @i int = 0 while @i < 300 begin
       insert big values (@i, @i % 20)
       if @i < 5 insert small values (@i, @i)
       if @i < 40 insert other values (@i, @i % 3)
       set @i += 1
     end",
];

fn started() -> Session {
    let mut one = session(&instance());
    run(&mut one, TABLES);
    one
}

fn answer(session: &mut Session, batch: &str) -> String {
    let mut transcript = Transcript::default();
    session.execute(batch, &mut transcript);
    transcript.text
}

/// The joins and tables of a plan, from the top.
fn plan(session: &mut Session, query: &str) -> String {
    answer(session, "set showplan_text on");
    let text = answer(session, query);
    answer(session, "set showplan_text off");
    let words = [
        "Nested Loops",
        "Hash Match",
        "Merge Join",
        "[small]",
        "[big]",
        "[other]",
    ];
    let lines = text.lines().filter(|line| line.contains("|--"));
    let found = lines.filter_map(|line| {
        let operator = line.split("|--").nth(1).unwrap();
        let own = operator
            .split(", SEEK")
            .next()
            .unwrap()
            .split(", WHERE")
            .next()
            .unwrap();
        let is_join = own.starts_with("Nested") || own.starts_with("Hash") || own.starts_with("Merge");
        let is_table = own.contains("Scan(") || own.contains("Seek(");
        if !is_join && !is_table {
            return None;
        }
        words
            .iter()
            .filter(|word| is_join != word.starts_with('['))
            .find(|word| own.contains(**word))
    });
    found
        .map(|word| word.trim_matches(['[', ']']))
        .collect::<Vec<_>>()
        .join(" ")
}

const JOINED: &str = "select count(*), sum(big.b) from big join other on other.b = big.b join small on small.a = big.a";

#[test]
fn option_leaves_the_methods_it_names() {
    let mut one = started();
    let wanted = rows(&mut one, JOINED);
    for (option, has_loop, has_hash, has_merge) in [
        ("loop join", true, false, false),
        ("hash join", false, true, false),
        ("merge join", false, false, true),
        ("loop join, force order", true, false, false),
        ("hash join, force order", false, true, false),
        ("merge join, force order", false, false, true),
    ] {
        let query = format!("{JOINED} option ({option})");
        let plan = plan(&mut one, &query);
        assert_eq!(plan.contains("Nested"), has_loop, "{option}: {plan}");
        assert_eq!(plan.contains("Hash"), has_hash, "{option}: {plan}");
        assert_eq!(plan.contains("Merge"), has_merge, "{option}: {plan}");
        assert_eq!(rows(&mut one, &query), wanted, "{option}");
    }
    let either = format!("{JOINED} option (loop join, hash join)");
    assert_eq!(plan(&mut one, &either), plan(&mut one, JOINED));
    let either = plan(&mut one, &format!("{JOINED} option (merge join, hash join)"));
    assert!(!either.contains("Nested"), "{either}");
}

#[test]
fn force_order_and_forceplan_keep_what_is_written() {
    let mut one = started();
    let query = "select count(*) from big join other on other.b = big.b join small on small.a = big.a";
    let wanted = rows(&mut one, query);
    let free = plan(&mut one, query);
    let forced = plan(&mut one, &format!("{query} option (force order)"));
    assert_ne!(free, forced);
    let tables = |plan: &str| {
        let names = plan.split(' ').filter(|word| ["big", "other", "small"].contains(word));
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(answer(&mut one, "set forceplan on"), "");
    let by_plan = plan(&mut one, query);
    assert_eq!(tables(&by_plan), ["big", "other", "small"], "{by_plan}");
    assert!(!by_plan.contains("Hash"), "FORCEPLAN asks for loops: {by_plan}");
    assert_eq!(rows(&mut one, query), wanted);
    // A hint goes before it, and what no loop can do is done otherwise.
    assert!(!plan(&mut one, &format!("{query} option (hash join)")).contains("Nested"));
    let full = "select count(*) from big full join other on other.b = big.a";
    assert_eq!(rows(&mut one, full), "300");
    assert_eq!(answer(&mut one, "set forceplan off"), "");
    assert_eq!(plan(&mut one, query), free, "the plan kept was of the other setting");
}

#[test]
fn a_hint_at_a_join_says_its_method_and_keeps_the_order() {
    let mut one = started();
    let wanted = rows(&mut one, JOINED);
    let hinted = JOINED
        .replace("big join other", "big inner hash join other")
        .replace(" join small", " inner loop join small");
    let shown = plan(&mut one, &hinted);
    assert_eq!(shown, "Nested Loops Hash Match other big small", "{shown}");
    assert_eq!(rows(&mut one, &hinted), wanted);
    // Joins in parentheses are done first.
    let nested = "select count(*), sum(big.b) from small inner hash join (big inner loop join other on other.b = big.b) on small.a = big.a";
    let shown = plan(&mut one, nested);
    assert_eq!(shown, "Hash Match Nested Loops big other small", "{shown}");
    assert_eq!(rows(&mut one, nested), wanted);
    // REMOTE says where, and there is one place; as every hint it keeps the order.
    let remote = JOINED.replace("big join other", "big inner remote join other");
    assert_eq!(rows(&mut one, &remote), wanted);
    // In a derived table it is that one's.
    let derived = format!(
        "select * from (select a from small) s join ({}) d on d.n = s.a",
        hinted
            .replace("count(*),", "count(*) n,")
            .replace("sum(big.b)", "sum(big.b) m")
    );
    assert_eq!(
        answer(&mut one, &derived),
        answer(
            &mut one,
            &derived.replace(" hash join", " join").replace(" loop join", " join")
        )
    );
}

#[test]
fn outer_joins_obey_hints_too() {
    let mut one = started();
    let query = "select count(*), sum(o.c) from big left join other o on o.b = big.b and o.c < 2";
    let wanted = rows(&mut one, query);
    for (hint, operator) in [
        ("loop", "Nested Loops"),
        ("hash", "Hash Match"),
        ("merge", "Merge Join"),
    ] {
        let at_join = query.replace("left join", &format!("left {hint} join"));
        let by_option = format!("{query} option ({hint} join)");
        for hinted in [at_join, by_option] {
            let shown = plan(&mut one, &hinted);
            assert!(shown.starts_with(operator), "{hinted}: {shown}");
            assert_eq!(rows(&mut one, &hinted), wanted, "{hinted}");
        }
    }
    let semi = "select count(*) from other right hash join big on other.b = big.b and other.c < 2";
    assert_eq!(rows(&mut one, semi), wanted.split(' ').next().unwrap());
}

#[test]
fn hints_that_leave_no_plan_are_refused() {
    let mut one = started();
    for query in [
        "select count(*) from big inner hash join other on other.b < big.b",
        "select count(*) from big, other option (hash join)",
        "select count(*) from big full loop join other on other.b = big.b",
        "select count(*) from big right loop join other on other.b = big.b",
        "select count(*) from big full join other on other.b = big.b option (loop join)",
        "select count(*) from big full join other on other.b < big.b option (hash join)",
        "select count(*) from big inner loop join other on other.b = big.b option (hash join)",
        "select count(*) from big inner merge join other on other.b < big.b",
        "select count(*) from big, other option (merge join)",
        "select count(*) from big inner loop join other on other.b = big.b option (merge join)",
        "select count(*) from big inner merge join other on other.b = big.b option (hash join, loop join)",
        "select count(*) from big cross apply (select top 1 c from other where other.b = big.b) q option (hash join)",
    ] {
        let text = answer(&mut one, query);
        assert!(text.contains("8622"), "{query}: {text}");
    }
}
