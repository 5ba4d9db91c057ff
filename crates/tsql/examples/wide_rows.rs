//! 50,000 rows of about 5,000 characters in a heap: INSERT ... SELECT, UPDATE of three columns by UPPER, DELETE, each one
//! statement, each timed with its processor time: `cargo run --release -p vlflab-tsql --example wide_rows [rows]`.

mod support;

use support::{cpu_micros, timed, with_session};
use tsql::session::Session;

fn main() {
    with_session("wide_rows", measure);
}

const COLUMNS: &str = "(id int identity(1,1) not null, comment varchar(8000) not null, name varchar(20) not null,
    surname varchar(40) not null, dob date not null, acc int not null, joindate datetime not null)";

fn measure(session: &mut Session) {
    let rows: u32 = std::env::args()
        .nth(1)
        .map_or(50_000, |rows| rows.parse().expect("ROWS is a number"));
    timed(
        session,
        "create database bench on (name = d, filename = 'c:\\bench.mdf', size = 1500MB)
         log on (name = l, filename = 'c:\\bench.ldf', size = 4GB)",
    );
    timed(
        session,
        &format!(
            "use bench create table vlftab_source {COLUMNS} create table vlftab {COLUMNS}
             declare @i int = 0, @text varchar(8000) = ''
             while @i < 250 begin
               set @text = @text + substring('qwertyuiopasdfghjklzxcvbnm', 1 + @i % 20, 1) + 'abcdefghijklmnopqrs' set @i += 1
             end
             insert vlftab_source (comment, name, surname, dob, acc, joindate)
             select top ({rows}) left(@text, 4800 + a.number % 400), 'name' + convert(varchar(9), a.number), 'surname',
               '1999-01-05', a.number, '2001-02-03' from (select row_number() over (order by (select null)) number
               from sys.all_columns x cross join sys.all_columns y) a checkpoint",
        ),
    );
    let statements = [
        (
            "insert",
            "insert into vlftab select comment, name, surname, dob, acc, joindate from vlftab_source",
        ),
        (
            "update",
            "update vlftab set comment = upper(comment), name = upper(name), surname = upper(surname)",
        ),
        ("delete", "delete from vlftab"),
    ];
    for round in 1..=3 {
        for (name, statement) in statements {
            let cpu_before = cpu_micros();
            let micros = timed(session, statement);
            let cpu = cpu_micros() - cpu_before;
            println!(
                "{round} {name:7} {:7.0} ms, processor time {:7.0} ms, {:6.1} us per row",
                micros / 1e3,
                cpu / 1e3,
                cpu / f64::from(rows)
            );
        }
        timed(session, "checkpoint");
    }
}
