//! Fifty statements built to break the server, all at once: each is answered or refused by its number, memory stays bounded,
//! and another client is served meanwhile.
//!
//! Depth: 1 round; deep: 20.

use crate::outer::support::{Folder, Served, ask, run, value};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const MEMORY_MB: u64 = 512;
/// As in `memory.rs`: program, connections, stacks, buffers of log and files, and small blocks that threads keep.
const BESIDE_MB: u64 = 200;
/// How long another client may wait for a short answer while fifty threads want two processors: far more than the 100 ms it
/// takes on a quiet machine, which the test prints.
const ANSWER_SECONDS_MAX: u64 = 10;
const ROUNDS: u64 = 1;
const ROUNDS_DEEP: u64 = 20;

fn list(count: usize, between: &str, piece: impl Fn(usize) -> String) -> String {
    (0..count).map(piece).collect::<Vec<_>>().join(between)
}

/// The statements; with each the errors one of which it must end in, or none when it may succeed as well.
fn statements() -> Vec<(String, &'static [i32])> {
    let string = "declare @s varchar(max) = replicate(cast('a' as varchar(max)), 4000000)";
    let chain = |count: usize, next: &str| {
        let more = (1..count).map(|n| format!(", c{n} as ({})", next.replace('$', &format!("c{}", n - 1))));
        let more: String = more.collect();
        format!("with c0 as (select 1 a){more} select count(*) from c{}", count - 1)
    };
    let wide = "with n as (select 1 a, cast(replicate('x', 8000) as varchar(8000)) b
        union all select a + 1, b from n cross join (values (1), (2)) v(c))";
    let texts = list(40_000, ", ", |n| format!("@v{n} varchar(max) = replicate('x', 8000)"));
    vec![
        (list(20_000, " union all ", |_| "select 1".into()), &[]),
        (chain(400, "select a from $"), &[]),
        (chain(30, "select x.a from $ x cross join $ y"), &[8623, 8631]),
        (
            format!("select 1 where {}", list(100_000, " and ", |_| "1 = 1".into())),
            &[8632],
        ),
        (
            format!("select {}", list(1_000_000, ", ", |_| "1".into())),
            &[701, 1056],
        ),
        (
            format!("select {}1{}", "(".repeat(1_000_000), ")".repeat(1_000_000)),
            &[191, 701],
        ),
        (
            format!("select 1 where 1 in ({})", list(1_000_000, ", ", |n| n.to_string())),
            &[],
        ),
        (format!("declare {texts}"), &[701]),
        (format!("{string} select len(replace(@s, 'a', @s))"), &[701, 7119]),
        (format!("{string} while 1 = 1 set @s = @s + @s"), &[701, 7119]),
        (format!("{string} select len(replicate(@s, 500))"), &[701, 7119]),
        (
            format!("{string} declare @t table (a varchar(max)) while 1 = 1 insert @t values (@s + 'x')"),
            &[701],
        ),
        (
            "select len(replicate(cast('x' as varchar(max)), 2000000000))".into(),
            &[701],
        ),
        (
            "declare @t table (a varchar(8000)) insert @t values (replicate('x', 8000))
          while 1 = 1 insert @t select a from @t"
                .into(),
            &[701],
        ),
        (format!("{wide} select count(*) from n option (maxrecursion 0)"), &[701]),
        (
            format!(
                "{wide} select count(distinct b) from (select top 20000 b + cast(a as varchar(9)) b from n) t option (maxrecursion 0)"
            ),
            &[],
        ),
        (
            "select top 1 a.name from sys.all_columns a cross join (select top 400 name from sys.all_columns) b
             cross join (values (1), (2)) v(c) order by replicate(a.name, 30) desc, b.name"
                .into(),
            &[],
        ),
    ]
}

/// Another client: short questions, one after the other; the longest answer of each kind, in milliseconds.
fn neighbour(served: &Served, is_over: &AtomicBool) -> Vec<Duration> {
    let mut connection = served.connect();
    let mut answers = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        let begin = Instant::now();
        assert_eq!(
            value(&mut connection, "select sum(id) from calm.dbo.t where id < 100"),
            "4950"
        );
        run(&mut connection, "update calm.dbo.t set n += 1 where id = 7");
        answers.push(begin.elapsed() / 2);
        thread::sleep(Duration::from_millis(5));
    }
    answers
}

#[test]
fn fifty_statements_built_to_break_it_do_not() {
    let mut served = Served::unstarted(Folder::new("limits"));
    served.launch.max_server_memory_mb = Some(MEMORY_MB as u32);
    served.start();
    let mut connection = served.connect();
    run(&mut connection, "create database calm");
    run(
        &mut connection,
        "create table calm.dbo.t (id int not null primary key, n int not null)",
    );
    let rows = "with n as (select 0 id union all select id + 1 from n where id < 999)
        insert calm.dbo.t select id, 0 from n option (maxrecursion 1000)";
    run(&mut connection, rows);
    let depth = workbench::depth("rounds of 50 hostile statements", ROUNDS, ROUNDS_DEEP);
    let rounds = depth.units;
    let (statements, is_over) = (statements(), AtomicBool::new(false));
    let (answered, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let mut waits = thread::scope(|scope| {
        let calm = scope.spawn(|| neighbour(&served, &is_over));
        let hostile: Vec<_> = (0..50)
            .map(|client| {
                let (served, statements, answered, refused) = (&served, &statements, &answered, &refused);
                scope.spawn(move || {
                    let mut connection = served.connect();
                    for round in 0..rounds as usize {
                        let (text, errors) = &statements[(client + round * 7) % statements.len()];
                        let answer = ask(&mut connection, text);
                        let numbers = answer.numbers();
                        assert!(!answer.lost, "{text:.200}: the connection was lost");
                        // With fifty at once there may be no memory for any of them.
                        let is_known = |number: &i32| errors.contains(number) || [701, 8631].contains(number);
                        assert!(numbers.iter().all(is_known), "{text:.200}: {numbers:?}");
                        assert!(errors.is_empty() || !numbers.is_empty(), "{text:.200}: no error");
                        answered.fetch_add(1, Ordering::Relaxed);
                        refused.fetch_add(usize::from(!numbers.is_empty()), Ordering::Relaxed);
                    }
                })
            })
            .collect();
        let outcomes: Vec<_> = hostile.into_iter().map(thread::ScopedJoinHandle::join).collect();
        is_over.store(true, Ordering::Relaxed);
        let waits = calm.join().unwrap();
        outcomes.into_iter().for_each(|outcome| outcome.unwrap());
        waits
    });
    assert!(served.is_up());
    let most = served.memory_mb_max();
    waits.sort();
    let (half, longest) = (waits[waits.len() / 2], waits[waits.len() - 1]);
    let late = waits.iter().filter(|wait| wait.as_millis() > 100).count();
    println!(
        "{} statements, {} refused: {most} MB at most, max server memory {MEMORY_MB} MB; {} answers to others: half within {half:?}, \
         all within {longest:?}, {late} of them later than 100 ms",
        answered.load(Ordering::Relaxed),
        refused.load(Ordering::Relaxed),
        waits.len()
    );
    assert!(refused.load(Ordering::Relaxed) >= 10, "the statements reach limits");
    assert!(most < MEMORY_MB + BESIDE_MB, "{most} MB");
    assert!(longest < Duration::from_secs(ANSWER_SECONDS_MAX), "{longest:?}");
    let again = value(
        &mut connection,
        "select len(replicate(cast('x' as varchar(max)), 100000000))",
    );
    assert_eq!(again, "100000000", "all memory came back");
    depth.count();
}
