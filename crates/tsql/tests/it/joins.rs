//! Joins in every written order, by any method and under FORCE ORDER: the same rows, in bounded time.
#![allow(clippy::unwrap_used)]

use crate::answers;
use crate::transcript;

use answers::{rows, run};
use transcript::{instance, session};

/// Parents with an indexed key, children that refer to them with and without an index, and a third table.
const TABLES: &[&str] = &[
    "create table p (id int primary key, kind int, name varchar(10))",
    "create table c (id int primary key, parent int null, amount int)",
    "create index by_parent on c (parent)",
    "create table k (kind int, word varchar(10))",
    "insert k values (0, 'even'), (1, 'odd'), (null, 'none')",
    "declare @i int = 0 while @i < 60 begin
       insert p values (@i, @i % 2, 'p' + cast(@i as varchar(10)))
       insert c values (@i * 2, @i / 3, @i), (@i * 2 + 1, case when @i % 5 = 0 then null else @i end, @i * 10)
       set @i += 1
     end",
];

const QUERIES: &[&str] = &[
    "select p.id, c.id, k.word from k, c, p where p.id = c.parent and k.kind = p.kind and p.id between 3 and 5 order by 1, 2",
    "select p.id, c.id from c join p on p.id = c.parent where p.id = 7 order by 1, 2",
    "select p.id, c.id from p left join c on c.parent = p.id and c.amount > 100 where p.id < 9 order by 1, 2",
    "select p.id, c.id, k.word from p left join c on c.parent = p.id join k on k.kind = p.kind where p.id < 4 order by 1, 2, 3",
    "select p.id, c.id, k.word from p left join c on c.parent = p.id left join k on k.kind = c.amount order by 1, 2, 3",
    "select p.id, c.id from p left join c on c.parent = p.id and c.amount = p.kind where c.id is null and p.id < 9 order by 1",
    "select p.id, c.id from c right join p on c.parent = p.id where p.id in (1, 2, 59) order by 1, 2",
    "select p.id, c.id from p full join c on c.parent = p.id and c.amount > 400 where p.id is null or p.id > 57 order by 1, 2",
    "select count(*) from p a, p b where a.id < b.id and a.kind = 1",
    "select a.id, b.id from p a join c b on b.parent >= a.id and b.parent < a.id + 2 where a.id < 4 order by 1, 2",
    "select a.id, b.id from p a left join p b on b.id > a.id and b.id <= a.id + a.kind where a.id > 55 order by 1, 2",
    "select p.id, c.id from p join c on c.parent = p.id and c.id between p.id * 6 and p.id * 6 + 2 where p.id < 9 order by 1, 2",
    "select p.id, c.id from p, c where p.id = c.parent and p.id < 4 or p.id = c.parent and c.amount > 400 order by 1, 2",
    "select p.id, c.id from p, c where (p.id = c.parent and c.amount > 580) or (c.parent = p.id and p.kind is null) or p.id = c.parent order by 1, 2",
    "select a.id, k.kind, c.id from p a, k, c where c.id = a.id * 2 + k.kind and a.id < 9 order by 1, 2, 3",
    "select count(*) from p a, k, p b where a.id = b.id and a.kind = k.kind",
    "select a.id, q.n from p a cross apply (select count(*) n from c where c.parent = a.id) q join k on k.kind = a.kind where a.id < 5 order by 1",
    "select a.id, q.id from k join p a on a.kind = k.kind outer apply (select top 1 c.id from c where c.parent = a.id order by c.id) q order by 1, 2",
    "select p.id, c.id from (p join k on k.kind = p.kind) left join (c join k x on x.kind = c.amount) on c.parent = p.id where p.id < 3 order by 1, 2",
    "select p.id, c.id, k.word from p outer apply (c join k on k.kind = c.amount) where p.id < 3 order by 1, 2, 3",
    "select p.id, c.id, k.word from p outer apply (c join k on k.kind = c.amount and c.amount < 0) where p.id < 3 order by 1, 2, 3",
];

#[test]
fn the_order_of_joins_changes_no_answer() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, TABLES);
    for query in QUERIES {
        let chosen = rows(&mut one, query);
        let forced = rows(&mut one, &format!("{query} option (force order)"));
        assert_eq!(chosen, forced, "{query}");
        assert!(!chosen.is_empty(), "{query}");
    }
}

/// A chain of tables, FROM in another order than the chain, so that what is written next to each other has no condition in common.
#[test]
fn a_chain_of_64_tables_is_no_product() {
    let instance = instance();
    let mut one = session(&instance);
    for table in 0..64 {
        let text = format!(
            "create table t{table} (a int, b int) insert t{table} values (0,1),(1,2),(2,3),(3,4),(4,5),(5,6),(6,7),(7,8),(8,9),(9,0)"
        );
        run(&mut one, &[text.as_str()]);
    }
    let shuffled: Vec<String> = (0..64).map(|place| format!("t{}", place * 37 % 64)).collect();
    let links: Vec<String> = (1..64).map(|table| format!("t{}.b = t{table}.a", table - 1)).collect();
    let query = format!(
        "select count(*), sum(t63.b) from {} where {}",
        shuffled.join(", "),
        links.join(" and ")
    );
    assert_eq!(rows(&mut one, &query), "10 45");
}

/// A condition between tables that may fail is not tested for rows that a table written before it leaves out.
#[test]
fn a_condition_that_may_fail_waits_for_what_is_written_before() {
    let instance = instance();
    let mut one = session(&instance);
    let script = [
        "create table n (id int primary key, is_number int)",
        "create table v (id int, text varchar(10))",
        "create table w (number int)",
        "insert n values (1, 1), (2, 0)",
        "insert v values (1, '7'), (2, 'seven')",
        "insert w values (7)",
    ];
    run(&mut one, &script);
    let query =
        "select w.number from n join v on v.id = n.id and n.is_number = 1 join w on w.number = cast(v.text as int)";
    assert_eq!(rows(&mut one, query), "7");
}

/// More outer joins in one FROM than are ordered together ended the server, or answered nothing: they come as one unit, however many there are.
#[test]
fn any_number_of_outer_joins_is_joined() {
    let mut one = session(&instance());
    run(
        &mut one,
        &[
            "create table t (k int not null primary key, a int)",
            "insert t values (1, 1), (2, 2), (3, 4), (4, null)",
        ],
    );
    let chain = |joins: usize, kind: &str| {
        let next = |n: usize| format!(" {kind} join t d{n} on d{n}.k = d{}.a", n - 1);
        (1..=joins).fold("t d0".to_owned(), |chain, n| chain + &next(n))
    };
    for joins in [62, 63, 64, 65, 127, 128, 129] {
        let left = chain(joins, "left");
        let query = format!("select d0.k, d{joins}.a, d{}.k from {left} order by d0.k", joins / 2);
        for hint in ["", " option (force order)"] {
            assert_eq!(
                rows(&mut one, &(query.clone() + hint)),
                "1 1 1|2 2 2|3 NULL NULL|4 NULL NULL",
                "{joins}{hint}"
            );
        }
        let query = format!("select d0.k, d{joins}.a from {} order by d0.k", chain(joins, "inner"));
        assert_eq!(rows(&mut one, &query), "1 1|2 2", "{joins}");
        let both = format!(
            "select x.k, y.k from (select d0.k, d{joins}.a as z from {left}) x join (select d0.k, d9.a as z from {left}) y on y.k = x.z order by 1"
        );
        assert_eq!(rows(&mut one, &both), "1 1|2 2", "{joins}");
    }
}
