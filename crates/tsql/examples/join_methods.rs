//! What the methods of joining and grouping take, side by side: 250,000 orders and a million lines, both clustered by the order, joined and
//! grouped by each method that a hint names, three times each: `cargo run --release -p vlflab-tsql --example join_methods [orders]`.

mod support;

use support::{timed, with_session};
use tsql::session::Session;

fn main() {
    with_session("join_methods", measure);
}

const TABLES: &str = "create table orders (o int not null primary key, day int not null, pad char(40) not null)
    create table lines (o int not null, n int not null, amount int not null, pad char(60) not null, primary key (o, n))
    create table loose (o int not null, amount int not null, pad char(60) not null)";

const JOINED: &str = "select count(*), sum(l.amount), max(o.day) from orders o join";

fn measure(session: &mut Session) {
    let orders: u32 = std::env::args()
        .nth(1)
        .map_or(250_000, |orders| orders.parse().expect("ORDERS is a number"));
    let numbers =
        "select row_number() over (order by (select null)) number from sys.all_columns x cross join sys.all_columns y";
    timed(
        session,
        "create database bench on (name = d, filename = 'c:\\bench.mdf', size = 800MB)
         log on (name = l, filename = 'c:\\bench.ldf', size = 2GB)",
    );
    timed(session, &format!("use bench {TABLES}"));
    timed(
        session,
        &format!(
            "insert orders select top ({orders}) number, number % 2500, '' from ({numbers}) a
             insert lines select o, n, o % 50, '' from orders cross join (values (1), (2), (3), (4)) v (n)
             insert loose select o * 17 % {orders}, amount, '' from lines
             checkpoint"
        ),
    );
    for (name, query) in &questions() {
        let micros = (0..3).map(|_| timed(session, query)).fold(f64::INFINITY, f64::min);
        println!("{name:48} {:8.0} ms", micros / 1e3);
    }
}

/// What is asked, with a name.
fn questions() -> Vec<(&'static str, String)> {
    vec![
        (
            "orders with lines, loop",
            format!("{JOINED} lines l on l.o = o.o option (loop join)"),
        ),
        (
            "orders with lines, hash",
            format!("{JOINED} lines l on l.o = o.o option (hash join)"),
        ),
        (
            "orders with lines, merge",
            format!("{JOINED} lines l on l.o = o.o option (merge join)"),
        ),
        (
            "orders with lines out of order, hash",
            format!("{JOINED} loose l on l.o = o.o option (hash join)"),
        ),
        (
            "orders with lines out of order, sort and merge",
            format!("{JOINED} loose l on l.o = o.o option (merge join)"),
        ),
        (
            "lines with lines of the same order, hash",
            "select count(*), sum(x.amount) from lines x join lines y on x.o = y.o option (hash join)".to_owned(),
        ),
        (
            "lines with lines of the same order, merge",
            "select count(*), sum(x.amount) from lines x join lines y on x.o = y.o option (merge join)".to_owned(),
        ),
        (
            "lines by order, hash",
            "select count(*), max(s) from (select o, sum(amount) s from lines group by o) g option (hash group)"
                .to_owned(),
        ),
        (
            "lines by order, stream",
            "select count(*), max(s) from (select o, sum(amount) s from lines group by o) g".to_owned(),
        ),
        (
            "lines out of order by order, sort and stream",
            "select count(*), max(s) from (select o, sum(amount) s from loose group by o) g option (order group)"
                .to_owned(),
        ),
        (
            "lines out of order by order, hash",
            "select count(*), max(s) from (select o, sum(amount) s from loose group by o) g option (hash group)"
                .to_owned(),
        ),
        (
            "lines read",
            "select count(*), sum(amount), max(o) from lines option (maxdop 1)".to_owned(),
        ),
    ]
}
