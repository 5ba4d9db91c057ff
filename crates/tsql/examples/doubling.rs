//! How fast a table grows by INSERT ... SELECT from itself, and how fast it is read:
//! `cargo run --release -p vlflab-tsql --example doubling [rows [inserts]]`.

mod support;

use support::{cpu_micros, timed, with_session};
use tsql::session::Session;

fn main() {
    with_session("doubling", measure);
}

fn measure(session: &mut Session) {
    timed(
        session,
        "create database bench on (name = d, filename = 'c:\\bench.mdf', size = 200MB, filegrowth = 200MB)
         log on (name = l, filename = 'c:\\bench.ldf', size = 512MB, filegrowth = 512MB)",
    );
    timed(
        session,
        "use bench create table charge (charge_no int identity(1,1) not null primary key, member_no int not null,
         provider_no int not null, charge_dt datetime not null, charge_amt money not null, charge_code char(2) not null)
         insert charge (member_no, provider_no, charge_dt, charge_amt, charge_code) values (1, 2, '1999-01-05', 12.5, 'ab')",
    );
    let double = "insert charge (member_no, provider_no, charge_dt, charge_amt, charge_code)
         select member_no, provider_no, charge_dt + 30, charge_amt, charge_code from charge";
    let mut rows = 1.0;
    let rows_max: f64 = std::env::args()
        .nth(1)
        .map_or(1_500_000.0, |rows| rows.parse().expect("ROWS is a number"));
    while rows < rows_max {
        let before = cpu_micros();
        let micros = timed(session, double);
        if rows > 100_000.0 {
            let cpu_ns = (cpu_micros() - before) / rows * 1e3;
            println!(
                "{rows:9} rows inserted at {:10.0} rows/s, {cpu_ns:5.0} ns of processor time per row",
                rows / micros * 1e6
            );
        }
        rows *= 2.0;
    }
    if std::env::args().nth(2).is_some_and(|only| only == "inserts") {
        return;
    }
    let reads = [
        ("count", "declare @n int select @n = count(*) from charge"),
        (
            "filter",
            "declare @n int select @n = count(*) from charge where charge_amt > 20 and member_no = 7",
        ),
        ("sum", "declare @n money select @n = sum(charge_amt) from charge"),
        (
            "group",
            "declare @n int select @n = max(n) from (select count(*) n from charge group by charge_dt) x",
        ),
        (
            "sort",
            "declare @n int select @n = charge_no from charge order by charge_dt, member_no desc",
        ),
        (
            "window",
            "declare @n bigint select @n = row_number() over (order by charge_no) from charge",
        ),
        ("update", "update charge set charge_amt = charge_amt * 2"),
        ("delete", "delete charge where charge_no % 2 = 0"),
    ];
    for (name, statement) in reads {
        let micros = timed(session, statement);
        println!("{name:9} {:10.0} rows/s", rows / micros * 1e6);
    }
}
