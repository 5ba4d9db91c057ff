//! tiberius against the server; reports as ../harness.py says.

use std::env;
use std::error::Error;

use tiberius::numeric::Decimal;
use tiberius::time::chrono::NaiveDateTime;
use tiberius::{AuthMethod, Client, Config, EncryptionLevel, FromSql, IntoSql, Row, TokenRow, Uuid};
use tokio::net::TcpStream;
use tokio_util::compat::{Compat, TokioAsyncWriteCompatExt};

type Connection = Client<Compat<TcpStream>>;
type Outcome = Result<(), Box<dyn Error>>;

fn wish() -> String {
    env::var("VLFLAB_ENCRYPT").unwrap_or_default()
}

fn name() -> String {
    format!("tiberius {}", wish()).trim().to_owned()
}

/// A connection; without a wish its encryption is that of the library's NotSupported, with one its default.
async fn connect_with(password: &str) -> Result<Connection, Box<dyn Error>> {
    let mut config = Config::new();
    config.host("127.0.0.1");
    config.port(env::var("VLFLAB_PORT")?.parse()?);
    config.database("clients");
    config.authentication(AuthMethod::sql_server("sa", password));
    match wish().as_str() {
        "" => config.encryption(EncryptionLevel::NotSupported),
        "strict" => config.encryption(EncryptionLevel::Strict),
        _ => {}
    }
    config.trust_cert();
    let socket = TcpStream::connect(config.get_addr()).await?;
    socket.set_nodelay(true)?;
    Ok(Client::connect(config, socket.compat_write()).await?)
}

async fn connect() -> Result<Connection, Box<dyn Error>> {
    connect_with(&env::var("VLFLAB_PASSWORD")?).await
}

async fn row(connection: &mut Connection, query: &str) -> Result<Row, Box<dyn Error>> {
    let row = connection.simple_query(query).await?.into_row().await?;
    row.ok_or_else(|| format!("no row: {query}").into())
}

/// Whether the first value of a query is this; no value is NULL.
async fn is<T>(connection: &mut Connection, query: &str, expected: Option<T>) -> Outcome
where
    T: for<'a> FromSql<'a> + PartialEq + std::fmt::Debug,
{
    let row = row(connection, query).await?;
    let found: Option<T> = row.try_get(0)?;
    equal(found, expected, query)
}

async fn is_text(connection: &mut Connection, query: &str, expected: &str) -> Outcome {
    let row = row(connection, query).await?;
    equal(row.try_get::<&str, _>(0)?, Some(expected), query)
}

fn equal<T: PartialEq + std::fmt::Debug>(found: T, expected: T, what: &str) -> Outcome {
    if found == expected {
        return Ok(());
    }
    Err(format!("{what}: expected {expected:?}, found {found:?}").into())
}

async fn fails(connection: &mut Connection, statement: &str, number: u32) -> Outcome {
    let failure = match connection.simple_query(statement).await {
        Ok(stream) => stream.into_results().await.err(),
        Err(failure) => Some(failure),
    };
    let found = failure.as_ref().and_then(tiberius::error::Error::code);
    equal(found, Some(number), statement)
}

async fn connects() -> Outcome {
    let mut connection = connect().await?;
    is_text(&mut connection, "select db_name()", "clients").await?;
    match connect_with("wrong").await {
        Err(failure) if failure.to_string().contains("Login failed for user 'sa'") => Ok(()),
        Err(failure) => Err(failure),
        Ok(_) => Err("a wrong password is taken".into()),
    }
}

async fn says_what_was_negotiated() -> Outcome {
    let mut connection = connect().await?;
    let query = "select encrypt_option, protocol_version from sys.dm_exec_connections where session_id = @@spid";
    let row = row(&mut connection, query).await?;
    let encrypted: Option<&str> = row.try_get(0)?;
    let version: Option<i32> = row.try_get(1)?;
    println!("negotiated {}: encrypt_option {}, TDS {:#x}", name(), encrypted.unwrap_or("?"), version.unwrap_or(0));
    equal(encrypted, Some(if wish().is_empty() { "FALSE" } else { "TRUE" }), "encrypt_option")
}

async fn reads_types() -> Outcome {
    let c = &mut connect().await?;
    is(c, "select cast(1 as bit)", Some(true)).await?;
    is(c, "select cast(255 as tinyint)", Some(255_u8)).await?;
    is(c, "select cast(-5 as smallint)", Some(-5_i16)).await?;
    is(c, "select cast(2147483647 as int)", Some(i32::MAX)).await?;
    is(c, "select cast(-9223372036854775808 as bigint)", Some(i64::MIN)).await?;
    is(c, "select cast(-123.4500 as decimal(9, 4))", Some(Decimal::from_i128_with_scale(-1_234_500, 4))).await?;
    is(c, "select cast(12.5 as money)", Some(12.5_f64)).await?;
    is(c, "select cast(1.5e300 as float)", Some(1.5e300_f64)).await?;
    is(c, "select cast(-0.25 as real)", Some(-0.25_f32)).await?;
    is_text(c, "select cast('ab' as char(4))", "ab  ").await?;
    is_text(c, "select cast(N'\u{4e2d}' as nvarchar(9))", "\u{4e2d}").await?;
    is_text(c, "select replicate(cast('m' as varchar(max)), 20000)", &"m".repeat(20_000)).await?;
    is(c, "select cast(null as int)", None::<i32>).await?;
    let moment = "2026-02-28T12:34:56.790".parse::<NaiveDateTime>().map_err(|failure| failure.to_string())?;
    is(c, "select cast('2026-02-28 12:34:56.790' as datetime)", Some(moment)).await?;
    is(c, "select cast('2026-02-28 12:34:56.79' as datetime2(3))", Some(moment)).await?;
    is(c, "select cast('2026-02-28' as date)", Some(moment.date())).await?;
    let id = Uuid::parse_str("6F9619FF-8B86-D011-B42D-00C04FC964FF")?;
    is(c, "select cast('6F9619FF-8B86-D011-B42D-00C04FC964FF' as uniqueidentifier)", Some(id)).await?;
    let bytes = row(c, "select cast(0x0102 as varbinary(9))").await?;
    equal(bytes.try_get::<&[u8], _>(0)?, Some(&[1_u8, 2][..]), "varbinary")
}

async fn sends_parameters() -> Outcome {
    let c = &mut connect().await?;
    c.simple_query("drop table if exists tiberius create table tiberius (i int, n nvarchar(20), f float, v varbinary(9), z int)")
        .await?
        .into_results()
        .await?;
    for round in 0..4_i32 {
        let insert = "insert tiberius values (@P1, @P2, @P3, @P4, @P5)";
        let done = c.execute(insert, &[&round, &"te\u{4e2d}xt", &1.5_f64, &&[1_u8, 2][..], &None::<i32>]).await?;
        equal(done.total(), 1, "rows inserted")?;
    }
    let query = "select i, n, f, v, z from tiberius where n = @P1 and i >= @P2 order by i";
    let rows = c.query(query, &[&"te\u{4e2d}xt", &2_i32]).await?.into_first_result().await?;
    equal(rows.len(), 2, "rows")?;
    equal(rows[0].try_get::<i32, _>(0)?, Some(2), "int")?;
    equal(rows[0].try_get::<f64, _>(2)?, Some(1.5), "float")?;
    equal(rows[0].try_get::<i32, _>(4)?, None, "null")
}

async fn commits_and_rolls_back() -> Outcome {
    let (c, other) = (&mut connect().await?, &mut connect().await?);
    c.simple_query("drop table if exists tiberius_account create table tiberius_account (id int not null primary key, amount int)")
        .await?
        .into_results()
        .await?;
    c.begin_transaction().await?;
    c.execute("insert tiberius_account values (1, 10)", &[]).await?;
    c.commit_transaction().await?;
    c.begin_transaction().await?;
    c.execute("update tiberius_account set amount = 99", &[]).await?;
    c.rollback_transaction().await?;
    is(other, "select amount from tiberius_account", Some(10_i32)).await
}

async fn is_told_of_a_failed_commit() -> Outcome {
    let c = &mut connect().await?;
    c.begin_transaction().await?;
    c.execute("insert victim.dbo.committed values (1)", &[]).await?;
    match c.commit_transaction().await {
        Err(tiberius::error::Error::Server(error)) => equal(error.code(), 9001, "number"),
        other => Err(format!("expected error 9001, found {other:?}").into()),
    }
}

async fn is_told_errors() -> Outcome {
    let c = &mut connect().await?;
    fails(c, "select * from absent", 208).await?;
    fails(c, "insert tiberius_account values (1, 1)", 2627).await?;
    fails(c, "raiserror('mine', 16, 3)", 50000).await?;
    is(c, "select 5", Some(5_i32)).await
}

async fn reads_several_result_sets() -> Outcome {
    let c = &mut connect().await?;
    let sets = c.simple_query("select 1 select 2, 'x' select 3 where 1 = 0 select 4").await?.into_results().await?;
    equal(sets.iter().map(Vec::len).collect(), vec![1, 1, 0, 1], "rows of each")
}

async fn copies_in_bulk() -> Outcome {
    let c = &mut connect().await?;
    c.simple_query("drop table if exists tiberius_bulk create table tiberius_bulk (id int not null, n nvarchar(20) null)")
        .await?
        .into_results()
        .await?;
    let mut load = c.bulk_insert("tiberius_bulk").await?;
    for id in 0..2000_i32 {
        let mut row = TokenRow::new();
        row.push(id.into_sql());
        row.push((id % 2 == 0).then(|| format!("te\u{4e2d}{id}")).into_sql());
        load.send(row).await?;
    }
    equal(load.finalize().await?.total(), 2000, "rows")?;
    is(c, "select count(*) from tiberius_bulk where n like N'te\u{4e2d}%'", Some(1000_i32)).await
}

fn report(what: &str, outcome: Outcome, failed: &mut u32) {
    match outcome {
        Ok(()) => println!("ok {} {what}", name()),
        Err(failure) => {
            *failed += 1;
            println!("FAIL {} {what}: {}", name(), failure.to_string().replace('\n', " "));
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut failed = 0;
    if let Ok(alone) = std::env::var("VLFLAB_FAILED_COMMIT") {
        report(&alone, is_told_of_a_failed_commit().await, &mut failed);
        std::process::exit(i32::from(failed > 0));
    }
    report("connects", connects().await, &mut failed);
    report("says what was negotiated", says_what_was_negotiated().await, &mut failed);
    report("reads every type", reads_types().await, &mut failed);
    report("sends parameters", sends_parameters().await, &mut failed);
    report("commits and rolls back", commits_and_rolls_back().await, &mut failed);
    report("is told errors", is_told_errors().await, &mut failed);
    report("reads several result sets", reads_several_result_sets().await, &mut failed);
    report("copies in bulk", copies_in_bulk().await, &mut failed);
    // It does not read a message behind the one that was interrupted.
    println!("skip {} cancels: the library looks for the acknowledgement in the message that it interrupted", name());
    std::process::exit(i32::from(failed > 0));
}
