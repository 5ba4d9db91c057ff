//! Bytes of log that a row costs, record by record, and the space reserved for taking it back, under both log policies:
//! `cargo run --release -p vlflab-tsql --example log_written [rows]`.
//!
//! The table is Credit's `charge` with its clustered key and its three nonclustered indexes, the recovery model is FULL. Rows are
//! inserted by one INSERT ... SELECT, then one column of each is updated, then all are deleted. Rows come in an order by which
//! the nonclustered indexes are entered all over, as in the sample.

mod support;

use engine::catalog::ObjectDefinition;
use engine::database::Database;
use engine::log::{LogPolicy, RecordKind};
use engine::page::{Change, UndoKind};
use std::collections::BTreeMap;
use support::{FIRST_ERROR, timed, with_instance};
use tsql::session::Session;
use vlf::Lsn;
use vlf::block::SLOT_BYTES;

const CHARGE: &str =
    "(charge_no int identity not null constraint ChargePK primary key clustered, member_no int not null,
     provider_no int not null, category_no int not null, charge_dt datetime not null, charge_amt money not null,
     statement_no int not null, charge_code char(2) not null)
     create index charge_category_link on charge (category_no)
     create index charge_provider_link on charge (provider_no)
     create index charge_statement_link on charge (statement_no)";

fn main() {
    let rows: u64 = std::env::args()
        .nth(1)
        .map_or(100_000, |rows| rows.parse().expect("ROWS is a number"));
    with_instance("log_written", |instance, session| {
        timed(
            session,
            "create database bench on (name = d, filename = 'c:\\bench.mdf', size = 200MB, filegrowth = 200MB)
             log on (name = l, filename = 'c:\\bench.ldf', size = 512MB, filegrowth = 512MB)",
        );
        timed(
            session,
            &format!(
                "use bench
                 create table source (n int not null primary key)
                 insert source select top ({rows}) row_number() over (order by x.object_id)
                 from sys.all_objects x cross join sys.all_objects y cross join sys.all_objects z"
            ),
        );
        let database = instance.database("bench").expect(FIRST_ERROR);
        for (name, policy) in [("classic", LogPolicy::classic()), ("native", LogPolicy::native())] {
            database.storage.log.set_policy(policy);
            timed(session, &format!("create table charge {CHARGE}"));
            measure(session, &database, name, rows);
            timed(session, "drop table charge");
        }
    });
}

fn measure(session: &mut Session, database: &Database, policy: &str, rows: u64) {
    let steps = [
        (
            "INSERT ... SELECT",
            "insert charge (member_no, provider_no, category_no, charge_dt, charge_amt, statement_no, charge_code)
             select n % 10000 * 7919 % 10000, n % 500 * 137 % 500, n % 10 * 7 % 10, '1999-07-20', n % 5000,
             n % 20000 * 6101 % 20000, '  ' from source",
        ),
        ("UPDATE of charge_amt", "update charge set charge_amt = charge_amt + 1"),
        ("DELETE", "delete charge"),
    ];
    for (step, statement) in steps {
        let from = database.storage.log.end();
        timed(session, &format!("begin tran {statement}"));
        let active = database.transactions.snapshot();
        assert_eq!(active.len(), 1, "{statement}");
        let reserved: u64 = active.iter().map(|(_, entry)| entry.end.reserved_bytes()).sum();
        timed(session, "commit");
        println!("\n{policy}, {step}, {rows} rows: bytes a row");
        print(&names(session, database), database, from, rows);
        println!(
            "{:>10.1}  reserved for rollback at the end of the statement",
            per(reserved, rows)
        );
    }
}

/// What each allocation unit of `charge` is.
fn names(session: &Session, database: &Database) -> BTreeMap<u32, String> {
    let mut names = BTreeMap::new();
    for object in database.catalog.objects(session.id()) {
        if let ObjectDefinition::Table(table) = &object.definition {
            let indexes = table.indexes.iter().filter(|_| table.name == "charge");
            names.extend(indexes.map(|index| (index.storage.unit, index.name.clone())));
        }
    }
    names
}

/// The log from a place to its end, by what its records are.
fn print(names: &BTreeMap<u32, String>, database: &Database, from: Lsn, rows: u64) {
    let log = &database.storage.log;
    let mut by_kind: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let (mut slots, mut records, mut locks) = (0, 0, 0);
    let mut scan = log.scan(from).expect(FIRST_ERROR);
    while let Some(record) = scan.next().expect(FIRST_ERROR) {
        let bytes = (record.header.kind.header_bytes() + record.payload.len()) as u64;
        let what = match record.header.kind {
            RecordKind::Change => {
                let change = Change::decode(record.payload).expect(FIRST_ERROR);
                let object = names.get(&change.object.0).map_or("other objects", String::as_str);
                match change.undo {
                    UndoKind::None => format!("{object}: allocation, splits"),
                    _ => format!("{object}: rows"),
                }
            }
            RecordKind::Begin | RecordKind::Commit => "begin, commit".to_owned(),
            kind => kind.operation_name().to_owned(),
        };
        let entry = by_kind.entry(what).or_default();
        *entry = (entry.0 + 1, entry.1 + bytes);
        slots += SLOT_BYTES as u64;
        locks += u64::from(record.header.lock_bytes);
        records += bytes;
    }
    for (what, (count, bytes)) in &by_kind {
        println!("{:>10.1}  {what} ({count} records)", per(*bytes, rows));
    }
    let blocks = log.used_since(from).saturating_sub(records + slots + locks);
    println!("{:>10.1}  lock information", per(locks, rows));
    println!("{:>10.1}  slots of the records", per(slots, rows));
    println!(
        "{:>10.1}  headers of blocks, stamps, rounding to sectors",
        per(blocks, rows)
    );
    println!("{:>10.1}  in all", per(records + slots + locks + blocks, rows));
}

fn per(bytes: u64, rows: u64) -> f64 {
    bytes as f64 / rows as f64
}
