//! What a one-row committed UPDATE in a WHILE loop costs, beside the flush: `cargo run --release --example one_row_update`.
//!
//! The same loop runs twice: with a commit for each update, and as one transaction whose only flush comes at its end. The
//! second figure is the price of everything but the flush.

mod support;

use support::{timed, with_session};
use tsql::session::Session;

fn main() {
    with_session("one_row_update", measure);
}

fn measure(session: &mut Session) {
    timed(
        session,
        "create database bench log on (name = l, filename = 'c:\\bench.ldf', size = 512MB)",
    );
    timed(
        session,
        "use bench create table heap (a int, b int not null) insert heap values (1, 0)",
    );
    timed(
        session,
        "create table tree (a int not null primary key, b int not null) insert tree values (1, 0), (2, 0), (3, 0)",
    );
    timed(
        session,
        "create table wide (a int identity, b char(8000) not null, c int not null) insert wide values ('x', 0)",
    );
    let count = 50_000;
    let loops = [
        ("heap, scan", "update heap set b = @i where a = 1"),
        ("tree, seek", "update tree set b = @i where a = 2"),
        ("8 KB row, scan", "update wide set b = @b, c = @i where a = 1"),
        ("nothing at all", "set @j = @i"),
    ];
    for (name, statement) in loops {
        let body = |begin: &str, end: &str| {
            format!(
                "set nocount on declare @i int = 0, @j int declare @b char(8000) = replicate('b', 8000) {begin} \
                 while @i < {count} begin {statement} set @i = @i + 1 end {end}"
            )
        };
        let one_transaction = timed(session, &body("begin tran", "commit")) / f64::from(count);
        let committed = timed(session, &body("", "")) / f64::from(count);
        println!("{name:16} {one_transaction:8.2} us without flush, {committed:8.2} us with a commit each");
    }
}
