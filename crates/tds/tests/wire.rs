//! Tokens against an independent decoder (`tds-protocol`), values against their round trip, and every decoder against
//! damaged messages.
#![allow(clippy::unwrap_used)]

use tds::bulk::BulkLoad;
use tds::request::{IsolationLevel, NewTransaction};
use tds::token::{Done, DoneKind, EnvironmentChange, ServerMessage, TokenWriter};
use tds::{
    Collation, Column, ColumnType, Encryption, Login, PacketReader, PacketType, PreLogin, PreLoginReply, Procedure,
    RowError, RpcBatch, SqlBatch, TdsVersion, TransactionRequest, Value,
};
use tds_protocol::{EnvChangeValue, Login7, RpcParam, RpcRequest, SqlBatch as PeerBatch, Token, TokenParser};

const VERSIONS: [TdsVersion; 6] = [
    TdsVersion::V7_1,
    TdsVersion::V7_1Revision1,
    TdsVersion::V7_2,
    TdsVersion::V7_3A,
    TdsVersion::V7_3B,
    TdsVersion::V7_4,
];

type Sample = (ColumnType, Value);

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// Each type with a value of it.
fn samples() -> Vec<Sample> {
    [numbers(), dates(), strings(), variants()].concat()
}

fn numbers() -> Vec<Sample> {
    vec![
        (ColumnType::Bit, Value::Bit(true)),
        (ColumnType::TinyInt, Value::TinyInt(255)),
        (ColumnType::SmallInt, Value::SmallInt(-300)),
        (ColumnType::Int, Value::Int(i32::MIN)),
        (ColumnType::BigInt, Value::BigInt(i64::MAX)),
        (ColumnType::Real, Value::Real(1.5)),
        (ColumnType::Float, Value::Float(-2.25e100)),
        (ColumnType::SmallMoney, Value::Money(-12_345)),
        (ColumnType::Money, Value::Money(-922_337_203_685_477)),
        (
            ColumnType::Decimal {
                precision: 38,
                scale: 4,
            },
            Value::Decimal {
                negative: true,
                magnitude: 10u128.pow(37) + 7,
                scale: 4,
            },
        ),
        (
            ColumnType::Numeric { precision: 9, scale: 2 },
            Value::Decimal {
                negative: false,
                magnitude: 12_345,
                scale: 2,
            },
        ),
    ]
}

fn dates() -> Vec<Sample> {
    vec![
        (ColumnType::Date, Value::Date(739_000)),
        (
            ColumnType::Time { scale: 7 },
            Value::Time {
                units: 863_999_999_999,
                scale: 7,
            },
        ),
        (
            ColumnType::Time { scale: 0 },
            Value::Time {
                units: 86_399,
                scale: 0,
            },
        ),
        (
            ColumnType::SmallDateTime,
            Value::SmallDateTime {
                days: 40_000,
                minutes: 1_439,
            },
        ),
        (
            ColumnType::DateTime,
            Value::DateTime {
                days: -53_690,
                ticks: 25_919_999,
            },
        ),
        (
            ColumnType::DateTime2 { scale: 3 },
            Value::DateTime2 {
                days: 739_000,
                units: 1_234_567,
                scale: 3,
            },
        ),
        (
            ColumnType::DateTimeOffset { scale: 5 },
            Value::DateTimeOffset {
                days: 1,
                units: 9,
                scale: 5,
                offset_minutes: -840,
            },
        ),
    ]
}

fn strings() -> Vec<Sample> {
    vec![
        (ColumnType::Char(3), Value::VarChar(b"abc".to_vec())),
        (ColumnType::VarChar(8000), Value::VarChar(vec![b'x'; 8000])),
        (ColumnType::VarCharMax, Value::VarChar(vec![b'y'; 20_000])),
        (ColumnType::NChar(2), Value::NVarChar(utf16("\u{4E2D}x"))),
        (ColumnType::NVarChar(4000), Value::NVarChar(Vec::new())),
        (ColumnType::NVarCharMax, Value::NVarChar(Vec::new())),
        (
            ColumnType::NVarCharMax,
            Value::NVarChar(utf16("\u{1F600} long").repeat(1000)),
        ),
        (ColumnType::Text, Value::VarChar(b"old".to_vec())),
        (ColumnType::NText, Value::NVarChar(utf16("old"))),
        (ColumnType::Image, Value::Binary(vec![0, 1, 2])),
        (ColumnType::Binary(2), Value::Binary(vec![1, 2])),
        (ColumnType::VarBinary(9), Value::Binary(Vec::new())),
        (ColumnType::VarBinaryMax, Value::Binary(vec![9; 9000])),
        (ColumnType::UniqueIdentifier, Value::UniqueIdentifier([7; 16])),
    ]
}

fn variants() -> Vec<Sample> {
    vec![
        (ColumnType::SqlVariant, Value::Int(5)),
        (ColumnType::SqlVariant, Value::BigInt(6)),
        (ColumnType::SqlVariant, Value::Float(0.5)),
        (ColumnType::SqlVariant, Value::Money(70_000)),
        (ColumnType::SqlVariant, Value::DateTime { days: 1, ticks: 2 }),
        (ColumnType::SqlVariant, Value::NVarChar(utf16("Developer Edition"))),
        (ColumnType::SqlVariant, Value::VarChar(b"v".to_vec())),
        (ColumnType::SqlVariant, Value::Binary(vec![1])),
        (ColumnType::SqlVariant, Value::UniqueIdentifier([8; 16])),
    ]
}

/// The payload of what was written: one message through the packet reader.
fn payload(writer: &mut TokenWriter) -> Vec<u8> {
    let mut wire = Vec::new();
    writer.write_full(&mut wire).unwrap();
    writer.finish(&mut wire).unwrap();
    let mut reader = PacketReader::default();
    let message = reader.next(&mut wire.as_slice()).unwrap().unwrap();
    assert_eq!(message.kind, PacketType::TabularResult);
    message.payload
}

/// The samples whose metadata the server and a bulk loading client write alike: all up to 7.1, later those without a
/// table name.
fn bulk_samples(version: TdsVersion) -> Vec<Sample> {
    let alike = |sample: &Sample| !version.is_2005_or_later() || !sample.0.is_large_object();
    samples().into_iter().filter(alike).collect()
}

/// A result set of the samples, the second row all NULL, as ROWs or NBCROWs.
fn result_set(version: TdsVersion, bitmap: bool, samples: &[Sample]) -> Vec<u8> {
    let columns: Vec<Column> = samples
        .iter()
        .enumerate()
        .map(|(at, (column_type, _))| Column::new(format!("c{at}"), *column_type))
        .collect();
    let mut writer = TokenWriter::new(version);
    writer.columns(&columns);
    for null in [false, true, false] {
        let mut row = if bitmap { writer.null_bitmap_row() } else { writer.row() };
        for (_, value) in samples {
            row.value(if null { &Value::Null } else { value });
        }
        row.finish().unwrap();
    }
    let done = Done {
        row_count: Some(3),
        command: Done::SELECT,
        ..Done::default()
    };
    writer.done(DoneKind::Done, &done);
    payload(&mut writer)
}

#[test]
fn rows_of_every_type_come_back_as_they_went() {
    for version in VERSIONS {
        let samples = bulk_samples(version);
        for bitmap in [false, true] {
            let bytes = result_set(version, bitmap, &samples);
            let mut load = BulkLoad::parse(&bytes, version).unwrap();
            let mut row = Vec::new();
            for null in [false, true, false] {
                assert!(load.next_row(&mut row).unwrap());
                for (at, (column_type, value)) in samples.iter().enumerate() {
                    let found = match &row[at] {
                        Value::Variant(variant) => variant.decoded().unwrap().1,
                        other => other.clone(),
                    };
                    if null {
                        assert_eq!(found, Value::Null, "{version:?} {column_type:?}");
                    } else if column_type.for_version(version) == *column_type {
                        assert_eq!(found, *value, "{version:?} {column_type:?}");
                    } else {
                        assert_ne!(row[at], Value::Null, "{version:?} {column_type:?}");
                    }
                }
            }
            assert!(!load.next_row(&mut row).unwrap());
        }
    }
}

#[test]
fn a_bulk_load_of_text_as_freetds_sends_it() {
    // COLMETADATA of one text column with its table's name, a row, a NULL, DONE.
    let mut bytes = vec![
        0x81, 1, 0, 0, 0, 0, 0, 9, 0, 0x23, 0xFF, 0xFF, 0, 0, 9, 4, 0xD0, 0, 0x34,
    ];
    bytes.extend_from_slice(&[1, 0, b't', 0, 1, b'c', 0]);
    bytes.extend_from_slice(&[0xD1, 16]);
    bytes.extend_from_slice(&[b'd'; 24]);
    bytes.extend_from_slice(&[2, 0, 0, 0, b'o', b'k', 0xD1, 0]);
    bytes.extend_from_slice(&[0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let mut load = BulkLoad::parse(&bytes, TdsVersion::V7_4).unwrap();
    assert_eq!(load.columns()[0].name, "c");
    let mut row = Vec::new();
    assert!(load.next_row(&mut row).unwrap());
    assert_eq!(row, [Value::VarChar(b"ok".to_vec())]);
    assert!(load.next_row(&mut row).unwrap());
    assert_eq!(row, [Value::Null]);
    assert!(!load.next_row(&mut row).unwrap());
}

#[test]
fn date_types_are_text_below_7_3() {
    let bytes = result_set(TdsVersion::V7_1, false, &samples());
    let mut load = BulkLoad::parse(&bytes, TdsVersion::V7_1).unwrap();
    let mut row = Vec::new();
    load.next_row(&mut row).unwrap();
    let texts: Vec<String> = samples()
        .iter()
        .zip(&row)
        .filter(|((column_type, _), _)| {
            matches!(
                column_type,
                ColumnType::Date
                    | ColumnType::Time { .. }
                    | ColumnType::DateTime2 { .. }
                    | ColumnType::DateTimeOffset { .. }
            )
        })
        .map(|(_, value)| value.text().unwrap())
        .collect();
    assert_eq!(
        texts,
        [
            "2024-04-25",
            "23:59:59.9999999",
            "23:59:59",
            "2024-04-25 00:20:34.567",
            "0001-01-01 10:00:00.00009 -14:00",
        ]
    );
}

#[test]
fn an_independent_decoder_reads_the_result_set() {
    for bitmap in [false, true] {
        let bytes = result_set(TdsVersion::V7_4, bitmap, &samples());
        let mut parser = TokenParser::new(bytes.into());
        let Some(Token::ColMetaData(meta)) = parser.next_token().unwrap() else {
            panic!("no COLMETADATA");
        };
        assert_eq!(meta.column_count(), samples().len());
        let (mut rows, mut nulls) = (0, 0);
        loop {
            match parser.next_token_with_metadata(Some(&meta)).unwrap().unwrap() {
                Token::Row(_) => rows += 1,
                Token::NbcRow(row) => {
                    rows += 1;
                    nulls += (0..meta.column_count()).filter(|&at| row.is_null(at)).count();
                }
                Token::Done(done) => {
                    assert_eq!((done.row_count, done.cur_cmd), (3, Done::SELECT));
                    assert!(done.status.count && !done.status.more);
                    break;
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!((rows, nulls), (3, if bitmap { meta.column_count() } else { 0 }));
        assert!(!parser.has_remaining());
    }
}

fn every_other_token() -> Vec<u8> {
    let mut writer = TokenWriter::new(TdsVersion::V7_4);
    writer.environment(EnvironmentChange::Database("vlf", "master"));
    writer.environment(EnvironmentChange::Collation(Collation::default()));
    writer.environment(EnvironmentChange::BeginTransaction(0x0102));
    writer.environment(EnvironmentChange::CommitTransaction(0x0102));
    writer.environment(EnvironmentChange::PacketBytes(8000, 4096));
    writer.login_ack("Microsoft SQL Server", (16, 0, 1000));
    writer.feature_ext_ack(true);
    writer.message(&ServerMessage {
        number: 9002,
        state: 4,
        severity: 17,
        text: "The transaction log is full.",
        server: "here",
        procedure: "p",
        line: 70_000,
    });
    writer.message(&ServerMessage {
        number: 5701,
        severity: 10,
        ..ServerMessage::default()
    });
    writer.order(&[1, 3]);
    writer.return_status(-4);
    let out = Column::new("@out", ColumnType::Int);
    writer.return_value(2, &out, &Value::Int(8)).unwrap();
    let done = Done {
        more: true,
        error: true,
        in_transaction: true,
        ..Done::default()
    };
    writer.done(DoneKind::DoneInProc, &done);
    writer.done(
        DoneKind::DoneProc,
        &Done {
            row_count: Some(5),
            ..Done::default()
        },
    );
    writer.done(
        DoneKind::Done,
        &Done {
            attention: true,
            ..Done::default()
        },
    );
    payload(&mut writer)
}

#[test]
fn an_independent_decoder_reads_every_other_token() {
    let mut parser = TokenParser::new(every_other_token().into());
    let mut tokens = Vec::new();
    while let Some(token) = parser.next_token().unwrap() {
        tokens.push(token);
    }
    let mut tokens = tokens.into_iter();
    let mut next = || tokens.next().unwrap();
    assert!(matches!(next(), Token::EnvChange(change) if change.new_database() == Some("vlf")));
    assert!(matches!(next(), Token::EnvChange(_)));
    assert!(matches!(next(), Token::EnvChange(change)
        if matches!(&change.new_value, EnvChangeValue::Binary(bytes) if bytes[..] == [2, 1, 0, 0, 0, 0, 0, 0])));
    assert!(matches!(next(), Token::EnvChange(_)));
    assert!(matches!(next(), Token::EnvChange(change)
        if matches!(&change.new_value, EnvChangeValue::String(text) if text == "8000")));
    assert!(matches!(next(), Token::LoginAck(ack)
        if ack.prog_name == "Microsoft SQL Server" && ack.tds_version.to_le_bytes() == [0x74, 0, 0, 4]));
    assert!(matches!(next(), Token::FeatureExtAck(ack) if ack.features.len() == 1));
    assert!(matches!(next(), Token::Error(error)
        if error.number == 9002 && error.line == 70_000 && error.class == 17
            && error.message == "The transaction log is full." && error.procedure == "p"));
    assert!(matches!(next(), Token::Info(info) if info.number == 5701));
    assert!(matches!(next(), Token::Order(order) if order.columns == [1, 3]));
    assert!(matches!(next(), Token::ReturnStatus(-4)));
    assert!(matches!(next(), Token::ReturnValue(value) if value.param_name == "@out"));
    assert!(matches!(next(), Token::DoneInProc(done)
        if done.status.more && done.status.error && done.status.in_xact && !done.status.count));
    assert!(matches!(next(), Token::DoneProc(done) if done.row_count == 5));
    assert!(matches!(next(), Token::Done(done) if done.status.attn));
    assert!(tokens.next().is_none());
}

#[test]
fn the_widths_of_7_1() {
    let mut writer = TokenWriter::new(TdsVersion::V7_1);
    writer.done(
        DoneKind::Done,
        &Done {
            row_count: Some(u64::MAX),
            ..Done::default()
        },
    );
    assert_eq!(payload(&mut writer), [0xFD, 0x10, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF]);
    writer.environment(EnvironmentChange::BeginTransaction(1));
    writer.message(&ServerMessage {
        number: 1,
        severity: 16,
        line: 7,
        ..ServerMessage::default()
    });
    assert_eq!(payload(&mut writer), [0xAA, 12, 0, 1, 0, 0, 0, 0, 16, 0, 0, 0, 0, 7, 0]);
    writer.columns(&[Column::new("", ColumnType::Int)]);
    assert_eq!(payload(&mut writer), [0x81, 1, 0, 0, 0, 9, 0, 0x26, 4, 0]);
}

#[test]
fn a_row_that_does_not_fit_is_withdrawn() {
    let mut writer = TokenWriter::new(TdsVersion::V7_4);
    writer.columns(&[
        Column::new("a", ColumnType::TinyInt),
        Column::new("b", ColumnType::NVarChar(2)),
    ]);
    let before = writer.pending();
    let mut attempt = |fill: &dyn Fn(&mut tds::RowWriter<'_>)| {
        let mut row = writer.row();
        fill(&mut row);
        row.finish()
    };
    assert_eq!(
        attempt(&|row| {
            row.int(256);
            row.text("ab");
        }),
        Err(RowError::TooLong(0))
    );
    assert_eq!(
        attempt(&|row| {
            row.int(1);
            row.text("abc");
        }),
        Err(RowError::TooLong(1))
    );
    assert_eq!(
        attempt(&|row| {
            row.text("a");
            row.text("a");
        }),
        Err(RowError::Mismatch(0))
    );
    assert_eq!(attempt(&|row| row.int(1)), Err(RowError::WrongCount(1)));
    assert_eq!(writer.pending(), before);
}

type Decode = fn(&[u8]);

/// Real requests, each with a decoder that must never panic on any damage to it.
fn requests() -> Vec<(Vec<u8>, Decode)> {
    let rpc = RpcRequest::execute_sql(
        "select @a, @b",
        vec![RpcParam::int("@a", 7), RpcParam::nvarchar("@b", "text")],
    )
    .encode_with_transaction(9);
    let login = Login7::new().with_sql_auth("sa", "secret").with_database("d").encode();
    let batch = PeerBatch::new("select 1").encode();
    let mut transaction = headers();
    transaction.extend_from_slice(&[7, 0, 2, b'n', 0, 1, 2, 4, b'a', 0, b'b', 0]);
    let mut reply = Vec::new();
    PreLoginReply {
        server_version: (16, 0, 1000),
        encryption: Encryption::NotSupported,
        mars: false,
    }
    .write(&mut reply);
    vec![
        (rpc.to_vec(), |bytes| drain_rpc(bytes, TdsVersion::V7_4)),
        (rpc.to_vec(), |bytes| drain_rpc(bytes, TdsVersion::V7_1)),
        (login.to_vec(), |bytes| drop(Login::parse(bytes))),
        (batch.to_vec(), |bytes| drop(SqlBatch::parse(bytes, TdsVersion::V7_4))),
        (transaction, |bytes| {
            drop(TransactionRequest::parse(bytes, TdsVersion::V7_4))
        }),
        (reply, |bytes| drop(PreLogin::parse(bytes))),
        (
            result_set(TdsVersion::V7_4, true, &bulk_samples(TdsVersion::V7_4)),
            |bytes| drain_bulk(bytes, TdsVersion::V7_4),
        ),
        (result_set(TdsVersion::V7_1, false, &samples()), |bytes| {
            drain_bulk(bytes, TdsVersion::V7_1)
        }),
        (vec![3, 1, 0, 12, 0, 0, 1, 0, 9, 9, 9, 9], |bytes| {
            let mut reader = PacketReader::new(1 << 16);
            let mut rest = bytes;
            while !rest.is_empty() && reader.next(&mut rest).is_ok() {}
        }),
    ]
}

fn headers() -> Vec<u8> {
    let mut bytes = vec![22, 0, 0, 0, 18, 0, 0, 0, 2, 0];
    bytes.extend_from_slice(&[0; 8]);
    bytes.extend_from_slice(&1u32.to_le_bytes());
    bytes
}

fn drain_rpc(bytes: &[u8], version: TdsVersion) {
    if let Ok(mut batch) = RpcBatch::parse(bytes, version) {
        while let Ok(Some(_)) = batch.next_request() {}
    }
}

fn drain_bulk(bytes: &[u8], version: TdsVersion) {
    if let Ok(mut load) = BulkLoad::parse(bytes, version) {
        let mut row = Vec::new();
        while let Ok(true) = load.next_row(&mut row) {}
    }
}

#[test]
fn drivers_requests_are_understood() {
    let rpc = RpcRequest::prepexec("select @a", vec![RpcParam::nvarchar("@a", "x\u{E9}")]).encode();
    let mut batch = RpcBatch::parse(&rpc[..], TdsVersion::V7_4).unwrap();
    let call = batch.next_request().unwrap().unwrap();
    assert_eq!(call.procedure, Procedure::PrepExec);
    assert!(call.parameters[0].output && call.execute);
    assert_eq!(call.parameters[2].value.text().unwrap(), "select @a");
    let last = &call.parameters[3];
    // sp_prepexec takes its arguments by position, so this driver leaves the names out.
    assert_eq!(
        (last.name.as_str(), last.value.text().unwrap().as_str()),
        ("", "x\u{E9}")
    );
    assert!(batch.next_request().unwrap().is_none());

    let bytes = PeerBatch::new("select N'\u{1F600}'").encode();
    let batch = SqlBatch::parse(&bytes, TdsVersion::V7_4).unwrap();
    assert_eq!(batch.text, "select N'\u{1F600}'");
}

#[test]
fn several_calls_and_the_forms_of_7_1() {
    let mut bytes = vec![2, 0, b's', 0, b'p', 0, 0, 0];
    // @p bigint null by value; then ntext; then a call by number that is not to be executed.
    bytes.extend_from_slice(&[2, b'@', 0, b'p', 0, 0, 0x26, 8, 0]);
    bytes.extend_from_slice(&[0, 1, 0x63, 6, 0, 0, 0, 9, 4, 0xD0, 0, 0x34, 2, 0, 0, 0, b'x', 0]);
    let mut modern = headers();
    modern.extend_from_slice(&bytes);
    for (front, separator, version) in [(bytes, 0x80, TdsVersion::V7_1), (modern, 0xFF, TdsVersion::V7_4)] {
        let mut message = front;
        message.push(separator);
        message.extend_from_slice(&[0xFF, 0xFF, 15, 0, 0, 0, 0, 0, 0x38, 5, 0, 0, 0]);
        let mut batch = RpcBatch::parse(&message, version).unwrap();
        let first = batch.next_request().unwrap().unwrap();
        assert_eq!(first.procedure, Procedure::Named("sp".to_owned()));
        assert_eq!(first.parameters[0].value, Value::Null);
        assert_eq!(first.parameters[1].value.text().unwrap(), "x");
        assert!(first.parameters[1].output);
        let second = batch.next_request().unwrap().unwrap();
        assert_eq!(second.procedure, Procedure::Unprepare);
        assert_eq!(second.parameters[0].value.integer(), Some(5));
        assert!(!batch.has_more());
    }
}

#[test]
fn transaction_requests() {
    let request = |body: &[u8]| {
        let mut bytes = headers();
        bytes.extend_from_slice(body);
        TransactionRequest::parse(&bytes, TdsVersion::V7_4)
    };
    let begun = |isolation, name: &str| NewTransaction {
        isolation,
        name: name.to_owned(),
    };
    assert_eq!(
        request(&[5, 0, 5, 0]).unwrap(),
        TransactionRequest::Begin(begun(IsolationLevel::Snapshot, ""))
    );
    assert_eq!(
        request(&[7, 0, 0, 1, 2, 2, b'x', 0]).unwrap(),
        TransactionRequest::Commit {
            name: String::new(),
            then_begin: Some(begun(IsolationLevel::ReadCommitted, "x")),
        }
    );
    assert_eq!(
        request(&[8, 0, 2, b's', 0, 0]).unwrap(),
        TransactionRequest::Rollback {
            name: "s".to_owned(),
            then_begin: None
        }
    );
    assert_eq!(
        request(&[9, 0, 2, b's', 0]).unwrap(),
        TransactionRequest::Save { name: "s".to_owned() }
    );
    assert!(request(&[6, 0]).is_err() && request(&[5, 0, 9, 0]).is_err());
}

#[test]
fn no_damage_makes_a_decoder_panic() {
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).unwrap()
    };
    for (original, decode) in requests() {
        decode(&original);
        for cut in 0..original.len().min(600) {
            decode(&original[..cut]);
        }
        for _ in 0..1500 {
            let mut damaged = original.clone();
            for _ in 0..=random(4) {
                let at = random(damaged.len().min(800));
                damaged[at] = match random(4) {
                    0 => 0xFF,
                    1 => 0,
                    _ => u8::try_from(random(256)).unwrap(),
                };
            }
            decode(&damaged);
        }
        for _ in 0..500 {
            let noise: Vec<u8> = (0..random(200)).map(|_| random(256) as u8).collect();
            decode(&noise);
        }
    }
}
