//! Values longer than the memory that is left: sent as parameters and in bulk loads, written while they are read from the message's file,
//! copied between tables, changed, rolled back, and read back byte for byte.
#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
use crate::support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::error::Error;
use engine::types::{Collation, HeldForm, HeldSource, HeldValue, Length, SqlType, Value};
use support::{Client, errors, start_sql_with};
use tds_protocol::Token;
use tsql::session::{DoneKind, Login, Message, Parameter, ResultColumn, ResultSink, Session, SinkClosed};
use tsql::stack;

const HEADERS: [u8; 22] = [22, 0, 0, 0, 18, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0];
/// The types of `max` values, in the order of [`Sent`]'s columns.
const VARBINARY_MAX: [u8; 3] = [0xA5, 0xFF, 0xFF];
const NVARCHAR_MAX: [u8; 8] = [0xE7, 0xFF, 0xFF, 9, 4, 0xD0, 0, 0x34];
const VARCHAR_MAX: [u8; 8] = [0xA7, 0xFF, 0xFF, 9, 4, 0xD0, 0, 0x34];

/// Memory that statements find left; each value is longer.
const LEFT_BYTES: u64 = 5 << 20;

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn name(text: &str) -> Vec<u8> {
    let units = utf16(text);
    [&[(units.len() / 2) as u8][..], &units].concat()
}

fn chunks(value: &[u8], bytes: usize) -> Vec<u8> {
    let mut out = (u64::MAX - 1).to_le_bytes().to_vec();
    for chunk in value.chunks(bytes) {
        out.extend((chunk.len() as u32).to_le_bytes());
        out.extend(chunk);
    }
    out.extend([0; 4]);
    out
}

/// sp_executesql with values of `max` types in chunks of so many bytes.
fn call(text: &str, declarations: &str, values: &[(&str, &[u8], &[u8], usize)]) -> Vec<u8> {
    let mut bytes = [&HEADERS[..], &[0xFF, 0xFF, 10, 0, 0, 0]].concat();
    for text in [text, declarations] {
        bytes.extend([0, 0]);
        bytes.extend(NVARCHAR_MAX);
        bytes.extend(chunks(&utf16(text), 4_000));
    }
    for (parameter, wire_type, value, chunk_bytes) in values {
        bytes.extend(name(parameter));
        bytes.push(0);
        bytes.extend(*wire_type);
        bytes.extend(chunks(value, *chunk_bytes));
    }
    bytes
}

fn pattern(count: usize, seed: usize) -> Vec<u8> {
    (0..count).map(|place| (place * 7 + place / 251 + seed) as u8).collect()
}

fn characters(count: usize, seed: usize) -> Vec<u8> {
    let one = |place: usize| b'a' + ((place + place / 100 + seed) % 26) as u8;
    (0..count).map(one).collect()
}

fn succeeds(client: &mut Client, batch: &str) {
    assert_eq!(errors(&client.batch(batch)), Vec::<i32>::new(), "{batch}");
}

fn called(client: &mut Client, call: &[u8]) -> Vec<i32> {
    client.send(3, 1, call);
    errors(&client.tokens())
}

/// The one value of an answer of one row with one column of a `max` type.
fn value_of(client: &mut Client, query: &str) -> Vec<u8> {
    let tokens = client.batch(query);
    assert_eq!(errors(&tokens), Vec::<i32>::new(), "{query}");
    let data = tokens.iter().find_map(|token| match token {
        Token::Row(row) => Some(row.data.to_vec()),
        _ => None,
    });
    let (data, mut value, mut at) = (data.unwrap(), Vec::new(), 8);
    loop {
        let length = u32::from_le_bytes(data[at..at + 4].try_into().unwrap()) as usize;
        at += 4;
        if length == 0 {
            assert_eq!(at, data.len());
            return value;
        }
        value.extend(&data[at..at + length]);
        at += length;
    }
}

#[test]
fn values_longer_than_the_memory_that_is_left_are_written_copied_changed_and_read_back() {
    let (server, instance) = start_sql_with(256 << 20);
    let mut client = Client::sa(&server);
    succeeds(&mut client, "create database big");
    succeeds(
        &mut client,
        "use big create table one (n int primary key, b varbinary(max), w nvarchar(max), v varchar(max), i image)
         create table heap (n int, b varbinary(max), w nvarchar(max))
         create table indexed (n int primary key, b varbinary(max), v varchar(max), m int unique)",
    );
    let workspace = &instance.workspace;
    let taken = workspace.limit_bytes() - workspace.used_bytes() - LEFT_BYTES;
    assert!(workspace.take(taken));
    let (b, w, v) = (
        pattern(12_000_001, 0),
        utf16(&"h\u{E9}\u{1F600}!".repeat(1_000_000)),
        characters(7_000_000, 3),
    );
    let values = [
        ("@b", &VARBINARY_MAX[..], &b[..], 5_000),
        ("@w", &NVARCHAR_MAX[..], &w[..], usize::MAX),
        ("@v", &VARCHAR_MAX[..], &v[..], 100_000),
    ];
    let declarations = "@b varbinary(max), @w nvarchar(max), @v varchar(max)";
    let insert = "insert one values (1, @b, @w, @v, @b) select datalength(@b), datalength(@w), datalength(@v)";
    assert_eq!(
        called(&mut client, &call(insert, declarations, &values)),
        Vec::<i32>::new()
    );
    succeeds(&mut client, "insert heap select n, b, w from one");
    succeeds(&mut client, "insert indexed (n, b, v) select n, b, v from one");
    for (query, expected) in [
        ("select b from one", &b),
        ("select w from one", &w),
        ("select v from one", &v),
        ("select b from heap", &b),
        ("select w from heap", &w),
        ("select b from indexed", &b),
        ("select v from indexed where n = 1", &v),
    ] {
        assert!(value_of(&mut client, query) == *expected, "{query}");
    }
    let lengths = "select cast(concat(datalength(b), ' ', datalength(w), ' ', datalength(v), ' ', datalength(i)) as varchar(max)) from one";
    assert_eq!(value_of(&mut client, lengths), b"12000001 10000000 7000000 12000001");

    // Changed and rolled back, then changed for good, in rows and where an index follows.
    let other = pattern(9_000_000, 77);
    let values = [("@b", &VARBINARY_MAX[..], &other[..], 1 << 20)];
    let update = "begin transaction update one set b = @b rollback";
    assert_eq!(
        called(&mut client, &call(update, "@b varbinary(max)", &values)),
        Vec::<i32>::new()
    );
    assert!(value_of(&mut client, "select b from one") == b);
    let update = "update one set b = @b where n = 1 update indexed set b = @b, m = 5 update heap set b = @b";
    assert_eq!(
        called(&mut client, &call(update, "@b varbinary(max)", &values)),
        Vec::<i32>::new()
    );
    for table in ["one", "indexed", "heap"] {
        assert!(
            value_of(&mut client, &format!("select b from {table}")) == other,
            "{table}"
        );
    }
    assert!(workspace.limit_bytes() - workspace.used_bytes() >= LEFT_BYTES - (1 << 20));
    workspace.give_back(taken);
    succeeds(&mut client, "dbcc checkdb (big) with no_infomsgs");
}

/// What looks at a value has it whole, and is refused when there is no memory for that; the statement leaves nothing, and the session goes on.
#[test]
fn who_needs_a_value_whole_is_refused_for_want_of_memory() {
    let (server, instance) = start_sql_with(256 << 20);
    let mut client = Client::sa(&server);
    succeeds(&mut client, "create database big");
    succeeds(
        &mut client,
        "use big create table judged (n int, b varbinary(max), check (b is null or datalength(b) > 3))",
    );
    let workspace = &instance.workspace;
    let taken = workspace.limit_bytes() - workspace.used_bytes() - LEFT_BYTES;
    assert!(workspace.take(taken));
    let b = pattern(8_000_000, 1);
    let values = [("@b", &VARBINARY_MAX[..], &b[..], 50_000)];
    for statement in ["insert judged values (1, @b)", "select len(reverse(@b))"] {
        let refused = called(&mut client, &call(statement, "@b varbinary(max)", &values));
        assert_eq!(refused, [701], "{statement}");
    }
    workspace.give_back(taken);
    let inserted = called(
        &mut client,
        &call("insert judged values (1, @b)", "@b varbinary(max)", &values),
    );
    assert_eq!(inserted, Vec::<i32>::new());
    assert!(value_of(&mut client, "select b from judged") == b);
}

/// A bulk load longer than the memory that is left: short rows, and rows with a long value each.
#[test]
fn a_bulk_load_longer_than_the_memory_that_is_left_goes_in() {
    let (server, instance) = start_sql_with(256 << 20);
    let mut client = Client::sa(&server);
    succeeds(&mut client, "create database big");
    succeeds(
        &mut client,
        "use big create table loaded (n int, b varbinary(max), v varchar(max))",
    );
    let workspace = &instance.workspace;
    let taken = workspace.limit_bytes() - workspace.used_bytes() - LEFT_BYTES;
    assert!(workspace.take(taken));
    succeeds(
        &mut client,
        "insert bulk loaded (n int, b varbinary(max), v varchar(max))",
    );
    let mut bytes = vec![0x81, 3, 0];
    for (column, wire_type) in [("n", &[0x26, 4][..]), ("b", &VARBINARY_MAX), ("v", &VARCHAR_MAX)] {
        bytes.extend([0, 0, 0, 0, 9, 0]);
        bytes.extend(wire_type);
        bytes.extend(name(column));
    }
    let long = [(pattern(6_000_000, 5), 4_000), (pattern(7_000_000, 9), usize::MAX)];
    for n in 0..3_000i32 {
        bytes.extend([0xD1, 4]);
        bytes.extend(n.to_le_bytes());
        match long.get(n as usize / 1_000).filter(|_| n % 1_000 == 500) {
            Some((value, chunk_bytes)) => bytes.extend(chunks(value, *chunk_bytes)),
            None => bytes.extend(chunks(&n.to_le_bytes(), 4)),
        }
        bytes.extend(chunks(&characters(500, n as usize), 77));
    }
    bytes.extend([0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    client.send(7, 1, &bytes);
    assert_eq!(errors(&client.tokens()), Vec::<i32>::new());
    for (place, (value, _)) in long.iter().enumerate() {
        let query = format!("select b from loaded where n = {}", place * 1_000 + 500);
        assert!(value_of(&mut client, &query) == *value, "{query}");
    }
    workspace.give_back(taken);
    let counted = value_of(
        &mut client,
        "select cast(concat(count(*), ' ', sum(datalength(v)), ' ', sum(cast(datalength(b) as bigint))) as varchar(max)) from loaded",
    );
    assert_eq!(counted, b"3000 1500000 13011992");
    let last = value_of(&mut client, "select v from loaded where n = 2999");
    assert_eq!(last, characters(500, 2_999));
}

/// What makes a call so long that it is put in a file, whatever memory there is.
const PADDING_BYTES: usize = 5_000_000;

/// Calls a text with one value, in a message that lies in a file.
fn called_from_a_file(client: &mut Client, text: &str, parameter: (&str, &[u8], &[u8])) -> Vec<Token> {
    let (declaration, wire_type, value) = parameter;
    let name = declaration.split(' ').next().unwrap();
    let padding = pattern(PADDING_BYTES, 0);
    let values = [
        (name, wire_type, value, 8_000),
        ("@padding", &VARBINARY_MAX[..], &padding[..], usize::MAX),
    ];
    let declarations = format!("{declaration}, @padding varbinary(max)");
    client.send(3, 1, &call(text, &declarations, &values));
    client.tokens()
}

/// A held value had an empty key: a row whose value the filter of an index compares missed its entry, or got one that was not its own.
#[test]
fn filters_of_indexes_compare_long_values() {
    let (server, _instance) = start_sql_with(256 << 20);
    let mut client = Client::sa(&server);
    succeeds(&mut client, "create database big");
    succeeds(
        &mut client,
        "use big create table a (n int primary key, v varchar(max))
         create table b (n int primary key, m int, v varchar(max))
         create index high on b (m) where v >= 'm' create index low on b (m) where v < 'm'
         insert a values (1, replicate(cast('z' as varchar(max)), 300000)), (2, replicate(cast('b' as varchar(max)), 300000))",
    );
    let found = |client: &mut Client, index: &str, filter: &str| {
        let query = format!(
            "select cast(string_agg(concat(n, ':', m), ' ') within group (order by n) as varchar(max)) from b with (index({index})) where {filter}"
        );
        String::from_utf8(value_of(client, &query)).unwrap()
    };
    // From a query, from a parameter, then another key beside a value that stays.
    succeeds(&mut client, "insert b (n, m, v) select n, n, v from a");
    let sent = vec![b'y'; 300_000];
    let tokens = called_from_a_file(
        &mut client,
        "insert b values (3, 3, @v)",
        ("@v varchar(max)", &VARCHAR_MAX, &sent),
    );
    assert_eq!(errors(&tokens), Vec::<i32>::new());
    assert_eq!(found(&mut client, "high", "v >= 'm'"), "1:1 3:3");
    assert_eq!(found(&mut client, "low", "v < 'm'"), "2:2");
    succeeds(
        &mut client,
        "update b set m = m + 10 update b set m = m + 10 where n = 3",
    );
    assert_eq!(found(&mut client, "high", "v >= 'm'"), "1:11 3:23");
    assert_eq!(found(&mut client, "low", "v < 'm'"), "2:12");
    succeeds(
        &mut client,
        "dbcc checkdb (big) with no_infomsgs delete b dbcc checkdb (big) with no_infomsgs",
    );
}

/// The text of sp_executesql was empty where it was a held value: nothing ran, and no error said so.
#[test]
fn a_long_text_of_statements_runs_and_is_described() {
    let (server, _instance) = start_sql_with(256 << 20);
    let mut client = Client::sa(&server);
    succeeds(&mut client, "create database big");
    succeeds(&mut client, "use big create table ran (n int)");
    let long = |text: &str| utf16(&format!("{text} -- {}", "long ".repeat(60_000)));
    let insert = long("insert ran values (@n)");
    let declaration = "@sql nvarchar(max)";
    let execute = "exec sp_executesql @sql, N'@n int', 7";
    let tokens = called_from_a_file(&mut client, execute, (declaration, &NVARCHAR_MAX, &insert));
    assert_eq!(errors(&tokens), Vec::<i32>::new());
    assert_eq!(
        value_of(
            &mut client,
            "select cast(concat(count(*), ' ', min(n)) as varchar(max)) from ran"
        ),
        b"1 7"
    );
    for (describe, text) in [
        ("exec sp_describe_first_result_set @sql", "select n from ran"),
        ("exec sp_describe_undeclared_parameters @sql", "insert ran values (@n)"),
    ] {
        let tokens = called_from_a_file(&mut client, describe, (declaration, &NVARCHAR_MAX, &long(text)));
        assert_eq!(errors(&tokens), Vec::<i32>::new(), "{describe}");
        let rows = tokens
            .iter()
            .filter(|token| matches!(token, Token::Row(_) | Token::NbcRow(_)));
        assert_eq!(rows.count(), 1, "{describe}");
    }
}

/// A value of a bulk load that is longer than its column is declared was cut without an error where its message lay in a file.
#[test]
fn a_long_value_of_a_bulk_load_does_not_go_into_a_shorter_column() {
    let (server, _instance) = start_sql_with(256 << 20);
    let mut client = Client::sa(&server);
    succeeds(&mut client, "create database big");
    succeeds(
        &mut client,
        "use big create table short (v varchar(100), w nvarchar(100), b varbinary(100))",
    );
    for (column, declared, wire_type) in [
        ("v", "varchar(100)", &VARCHAR_MAX[..]),
        ("w", "nvarchar(100)", &NVARCHAR_MAX),
        ("b", "varbinary(100)", &VARBINARY_MAX),
    ] {
        for rows in [1, 50_000] {
            succeeds(&mut client, &format!("insert bulk short ({column} {declared})"));
            let mut bytes = vec![0x81, 1, 0, 0, 0, 0, 0, 9, 0];
            bytes.extend(wire_type);
            bytes.extend(name(column));
            for place in 0..rows {
                bytes.push(0xD1);
                let length = if place == rows / 2 { 300_000 } else { 90 };
                bytes.extend(chunks(&characters(length, place), 8_000));
            }
            bytes.extend([0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
            assert_eq!(bytes.len() > 4 << 20, rows > 1, "one message in memory, one in a file");
            client.send(7, 1, &bytes);
            assert_eq!(errors(&client.tokens()), [4815], "{declared}, {rows} rows");
            assert_eq!(
                value_of(&mut client, "select cast(count(*) as varchar(max)) from short"),
                b"0"
            );
        }
    }
}

/// IGNORE_DUP_KEY concerns INSERT alone, and an UPDATE read each long value of the row, and wrote it again.
#[test]
fn an_update_beside_ignore_dup_key_leaves_long_values_where_they_are() {
    let (server, instance) = start_sql_with(256 << 20);
    let mut client = Client::sa(&server);
    succeeds(&mut client, "create database big");
    succeeds(
        &mut client,
        "use big create table t (n int primary key, m int, v varbinary(max))
         create unique index u on t (m) with (ignore_dup_key = on)",
    );
    let value = pattern(12_000_000, 3);
    let inserted = call(
        "insert t values (1, 1, @v)",
        "@v varbinary(max)",
        &[("@v", &VARBINARY_MAX, &value, 50_000)],
    );
    assert_eq!(called(&mut client, &inserted), Vec::<i32>::new());
    let workspace = &instance.workspace;
    let taken = workspace.limit_bytes() - workspace.used_bytes() - LEFT_BYTES;
    assert!(workspace.take(taken));
    succeeds(&mut client, "update t set m = m + 1");
    workspace.give_back(taken);
    assert!(value_of(&mut client, "select v from t where m = 2") == value);
    succeeds(&mut client, "dbcc checkdb (big) with no_infomsgs");
}

/// Bytes elsewhere, and how many of them were read.
#[derive(Debug)]
struct Counted {
    bytes: Vec<u8>,
    read: AtomicU64,
}

impl HeldSource for Counted {
    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), Error> {
        self.read.fetch_add(into.len() as u64, Ordering::Relaxed);
        let at = at as usize;
        into.copy_from_slice(&self.bytes[at..at + into.len()]);
        Ok(())
    }
}

/// The numbers of rows, and no errors.
#[derive(Default)]
struct Numbers(Vec<i64>);

impl ResultSink for Numbers {
    fn columns(&mut self, _columns: &[ResultColumn]) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn row(&mut self, row: &[Value]) -> Result<(), SinkClosed> {
        self.0.extend(row.iter().filter_map(Value::as_i64));
        Ok(())
    }

    fn done(&mut self, _row_count: Option<u64>, _kind: DoneKind) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn message(&mut self, message: &Message) -> Result<(), SinkClosed> {
        assert!(message.severity <= 10, "{message:?}");
        Ok(())
    }
}

/// A list of ids of 1 MB that a condition looks into was read again for each of the rows.
#[test]
fn a_variable_that_every_row_looks_into_is_read_once() {
    let (_server, instance) = start_sql_with(256 << 20);
    let counting = move || {
        let login = Login {
            login: "sa".into(),
            ..Login::default()
        };
        let mut session = Session::new(instance.clone(), login).unwrap();
        let list = characters(1_000_000, 1);
        let length = list.len() as u64;
        let source = Arc::new(Counted {
            bytes: list,
            read: AtomicU64::new(0),
        });
        let held = HeldValue::new(source.clone(), length, HeldForm::CodePage, Collation::default());
        let parameter = Parameter {
            name: "@list".to_owned(),
            sql_type: SqlType::VarChar(Length::Max),
            value: Value::Held(Arc::new(held)),
            output: false,
            is_default: false,
            table: None,
        };
        let mut found = Numbers::default();
        let query = "declare @rows table (n int not null, name varchar(10) not null)
            insert @rows select top (200) row_number() over (order by object_id, column_id), 'bcde' from sys.all_columns
            select count(*) from @rows where charindex(name, @list) > 0
            declare @turns int = 0 while @turns < 50 and @list like 'bcd%' set @turns += 1 select @turns";
        session.execute_with_parameters(query, "@list varchar(max)", &[parameter], &mut found);
        assert_eq!(found.0, [200, 50]);
        assert_eq!(source.read.load(Ordering::Relaxed), length);
    };
    on_a_sessions_stack(counting);
}

fn on_a_sessions_stack(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(stack::THREAD_BYTES);
    let running = thread.spawn(move || {
        stack::begin_thread(stack::THREAD_BYTES);
        work();
    });
    if let Err(panic) = running.unwrap().join() {
        std::panic::resume_unwind(panic);
    }
}
